/*
 * How the blocks of a device's memory are moved: lists longer than a launch, lists of several
 * threads and streams, kernels that are loaded once or do not run. Runs on the stand-in driver and
 * on a real one, where what needs control of the driver is left out.
 *
 * Looks inside, since only there a list of moves is the test's own (memory/memory.h).
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "memory/cuda/place.h"
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/log_lines.h"
#include "support/memory_bench.h"
#include "support/waits.h"

#define VMM "memory=device,backing=vmm,pool=16MiB"

/* More than a launch takes: each 64 bytes get closer to the first. */
#define LONG_COUNT 20000

static cuarena_relocation_t *long_list(const memory_bench_t *b, picture_t *picture)
{
    cuarena_relocation_t *list = calloc(LONG_COUNT, sizeof *list);
    ck_assert_ptr_nonnull(list);
    for (uint64_t i = 0; i < LONG_COUNT; i++)
        bench_move(b, picture, i * 64, MIB(2) + i * 128, 64, &list[i]);
    return list;
}

static cuai_cu_stream_t new_stream(void)
{
    cuai_cu_stream_t stream = NULL;
    expect_cu(cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

/* ---- Lists ------------------------------------------------------------- */

START_TEST(lists_longer_than_a_launch)
{
    memory_bench_t *b = opened_memory(VMM);
    bench_get(b, PLAYGROUND, PLAYGROUND);
    for (uint64_t i = 0; i < 2; i++) {
        size_t done = 0;
        picture_t picture = bench_draw(b, 7 + i);
        cuarena_relocation_t *list = long_list(b, &picture);
        expect_ok(
            b->memory.ops.relocate(b->memory.user, list, LONG_COUNT, CUARENA_NO_STREAM, &done));
        expect_u64(done, LONG_COUNT);
        expect_picture(b, &picture);
        free(list);
    }
    bench_give_back(b);
}
END_TEST

/* Calls that queue a list, or wait in the middle of one: what is told as done is done, and the rest
 * is as it was. */
static const char *const list_calls[] = {"cuLaunchKernel", "cuEventRecord", "cuEventSynchronize",
                                         "cuStreamWaitEvent"};

START_TEST(long_list_that_fails_tells_how_far_it_came)
{
    const char *call = list_calls[_i];
    uint64_t failed = 1;
    ck_assert(standin_is_here());
    memory_bench_t *b = opened_memory(VMM);
    bench_get(b, PLAYGROUND, PLAYGROUND);
    for (uint64_t nth = 1; failed != 0; nth++) {
        size_t done = 0;
        picture_t picture = bench_draw(b, nth);
        cuarena_relocation_t *list = long_list(b, &picture);
        standin->standin_fail(call, nth, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0);
        cuarena_status_t status =
            b->memory.ops.relocate(b->memory.user, list, LONG_COUNT, CUARENA_NO_STREAM, &done);
        failed = standin->standin_failed();
        standin->standin_fail_clear();
        ck_assert(status == CUARENA_OK || status == CUARENA_DRIVER);
        if (status == CUARENA_OK)
            expect_u64(done, LONG_COUNT);
        arena_reach->read(picture.got, bench_at(b, 0), 64 * done);
        ck_assert_int_eq(memcmp(picture.got, picture.want, 64 * done), 0);
        free(picture.want);
        free(picture.got);
        free(list);
        expect_no_report();
    }
    bench_give_back(b);
}
END_TEST

/* The list after it is on another stream, and behind it all the same; where
 * the call fails twice (`_i`), the first one has waited for its stream, and only
 * where it could not (2) the other is refused. */
START_TEST(list_whose_end_could_not_be_recorded)
{
    enum {
        COUNT = 300
    };
    static cuarena_relocation_t list[COUNT];
    memory_bench_t b;
    size_t done = 0;
    ck_assert(standin_is_here());
    standin->standin_configure("PACE", "0");
    (void)cuda_test_use_device(0);
    open_memory(&b, VMM);
    bench_get(&b, PLAYGROUND, PLAYGROUND);
    cuai_cu_stream_t streams[] = {new_stream(), new_stream()};
    picture_t picture = bench_draw(&b, 8);
    bool lost = _i == 2;
    for (int nth = 1; nth <= (_i == 0 ? 1 : 2); nth++)
        standin->standin_fail("cuEventRecord", (uint64_t)nth, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0);
    if (lost)
        standin->standin_fail("cuStreamSynchronize", 1, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0);
    for (uint64_t i = 0; i < COUNT; i++)
        bench_move(&b, &picture, i * 512, 2 * GRANULARITY + i * 1024, 512, &list[i]);
    expect_status(b.memory.ops.relocate(b.memory.user, list, COUNT, streams[0], &done),
                  lost ? CUARENA_DRIVER : CUARENA_OK);
    expect_u64(done, COUNT);
    expect_u64(standin->standin_failed(), 1 + (uint64_t)_i);
    standin->standin_fail_clear();
    cuarena_relocation_t more[2];
    picture_t without = {malloc(PLAYGROUND), NULL};
    memcpy(without.want, picture.want, PLAYGROUND);
    for (uint64_t i = 0; i < 2; i++)
        bench_move(&b, lost ? &without : &picture, GRANULARITY + i * 512,
                   3 * GRANULARITY + i * 1024, 512, &more[i]);
    free(without.want);
    expect_status(b.memory.ops.relocate(b.memory.user, more, 2, streams[1], &done),
                  lost ? CUARENA_LOST : CUARENA_OK);
    if (lost)
        expect_message("device 0", "nobody can tell");
    expect_u64(done, lost ? 0 : 2);
    for (int i = 0; i < 2; i++) {
        expect_cu(cuda_test()->cuStreamSynchronize(streams[i]));
        expect_cu(cuda_test()->cuStreamDestroy(streams[i]));
    }
    expect_no_report();
    expect_picture(&b, &picture);
    bench_give_back(&b);
    cuai_memory_close(&b.memory);
    expect_nothing_left();
}
END_TEST

/* ---- Threads ----------------------------------------------------------- */

typedef struct mover_thread {
    memory_bench_t *b;
    cuarena_relocation_t list[2];
    waiter_t waiter;
} mover_thread_t;

static void *move_two(void *argument)
{
    mover_thread_t *t = argument;
    size_t done = 0;
    waiter_begin(&t->waiter);
    expect_ok(t->b->memory.ops.relocate(t->b->memory.user, t->list, 2, CUARENA_NO_STREAM, &done));
    expect_u64(done, 2);
    waiter_end(&t->waiter);
    return NULL;
}

/* The scratch is one list's at a time. */
START_TEST(second_thread_waits_for_its_turn)
{
    static mover_thread_t movers[2];
    pthread_t threads[2];
    ck_assert(standin_is_here());
    memory_bench_t *b = opened_memory(VMM);
    bench_get(b, PLAYGROUND, PLAYGROUND);
    picture_t picture = bench_draw(b, 9);
    standin->standin_hold("cuLaunchKernel", 1);
    for (uint64_t i = 0; i < 2; i++) {
        movers[i].b = b;
        for (uint64_t j = 0; j < 2; j++)
            bench_move(b, &picture, i * GRANULARITY + j * KIB(64),
                       (4 + i) * GRANULARITY + j * KIB(128), KIB(8), &movers[i].list[j]);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, move_two, &movers[i]), 0);
        while (standin->standin_held("cuLaunchKernel") == 0)
            sched_yield();
    }
    expect_asleep(&movers[1].waiter, "the second list, for the first");
    expect_u64(standin->standin_held("cuLaunchKernel"), 1);
    standin->standin_hold("cuLaunchKernel", 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    expect_picture(b, &picture);
    bench_give_back(b);
}
END_TEST

/* ---- Kernels ----------------------------------------------------------- */

typedef struct opener {
    memory_bench_t b;
    waiter_t waiter;
} opener_t;

static void *open_and_close(void *argument)
{
    opener_t *opener = argument;
    waiter_begin(&opener->waiter);
    open_memory(&opener->b, VMM);
    ck_assert_int_eq(opener->b.memory.facts.relocation_kernel, 1);
    waiter_end(&opener->waiter);
    return NULL;
}

START_TEST(kernels_are_loaded_by_one_thread)
{
    static opener_t openers[2];
    pthread_t threads[2];
    cuai_place_t *place = NULL; /* one for both */
    ck_assert(standin_is_here());
    expect_ok(cuai_place_open_ordinal(0, &place));
    standin->standin_counts_clear();
    standin->standin_hold("cuModuleLoadDataEx", 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close, &openers[i]), 0);
        while (standin->standin_held("cuModuleLoadDataEx") == 0)
            sched_yield();
    }
    expect_asleep(&openers[1].waiter, "the second memory, for the kernels");
    standin->standin_hold("cuModuleLoadDataEx", 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    expect_u64(standin->standin_calls("cuModuleLoadDataEx"), 2);
    cuai_place_close(place);
    cuai_memory_close(&openers[0].b.memory);
    close_memory(&openers[1].b);
}
END_TEST

/* What a device without kernels does: the same by copies, and it says so. */
static const struct {
    const char *key; /* of the stand-in; NULL: an entry fails */
    const char *value;
    int code;
    int32_t kernel;
    const char *line;
} kernel_cases[] = {
    {NULL, "cuLaunchKernel", CUAI_CUDA_ERROR_NOT_SUPPORTED, 0,
     "the relocation kernel does not run"},
    {NULL, "cuModuleLoadDataEx", CUAI_CUDA_ERROR_INVALID_PTX, 0, "no relocation kernel"},
    {NULL, "cuModuleGetFunction", CUAI_CUDA_ERROR_UNKNOWN, 0, ""},
    {"CAPABILITY", "80", 0, 1, ""},
    {"CAPABILITY", "35", 0, 0, ""},
};

START_TEST(device_that_runs_not_all_kernels)
{
    cuarena_relocation_t list[3];
    size_t done = 0;
    ck_assert(standin_is_here());
    log_listen(CUARENA_LOG_INFO);
    if (kernel_cases[_i].key != NULL)
        standin->standin_configure(kernel_cases[_i].key, kernel_cases[_i].value);
    else
        standin->standin_fail(kernel_cases[_i].value, 1, kernel_cases[_i].code, 1);
    memory_bench_t *b = opened_memory(VMM);
    standin->standin_fail_clear();
    ck_assert_int_eq(b->memory.facts.relocation_kernel, kernel_cases[_i].kernel);
    ck_assert_ptr_nonnull(strstr(log_text(0, ""), kernel_cases[_i].line));
    bench_get(b, PLAYGROUND, PLAYGROUND);
    picture_t picture = bench_draw(b, 10);
    for (uint64_t i = 0; i < 3; i++)
        bench_move(b, &picture, i * KIB(64), KIB(256) + i * KIB(65), KIB(64), &list[i]);
    expect_ok(b->memory.ops.relocate(b->memory.user, list, 3, CUARENA_NO_STREAM, &done));
    expect_u64(done, 3);
    expect_picture(b, &picture);
    bench_give_back(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("CUDA mover");
    cuda_kinds_ready();
    TCase *lists = suite_add_list(suite, "lists", TEST_LIST(lists_longer_than_a_launch));
    tcase_set_tags(lists, "long"); /* and without threads */
    add_standin_test(lists, long_list_that_fails_tells_how_far_it_came, COUNT_OF(list_calls));
    add_standin_test(lists, list_whose_end_could_not_be_recorded, 3);
    TCase *threads = new_case(suite, "threads");
    add_standin_test(threads, second_thread_waits_for_its_turn, 1);
    add_standin_test(threads, kernels_are_loaded_by_one_thread, 1);
    add_standin_test(new_case(suite, "kernels"), device_that_runs_not_all_kernels,
                     COUNT_OF(kernel_cases));
    return cuda_kinds_main(suite);
}
