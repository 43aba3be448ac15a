/*
 * What the library calls the driver for is counted, by arena: as often as the stand-in was called,
 * whatever an arena does, and on a device as often as handles need at least.
 */
#include "support/configs.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/random.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define HANDLES 1024
#define HANDLE MIB(2)

static const char *const memories[] = {
    "memory=device,backing=vmm,handle=2MiB",
    "memory=device,backing=malloc",
    "memory=device,backing=async",
    "memory=managed",
    "memory=pinned",
};
#define MEMORIES ((int)COUNT_OF(memories))

static cuarena_t *open_arena(const char *memory, const char *options)
{
    char all[128];
    snprintf(all, sizeof all, "%s,%s", memory, options);
    return arena_of(all);
}

/* The stand-in's count; 0 on a device. */
static uint64_t seen(void)
{
    return standin_is_here() ? standin->standin_calls(NULL) : 0;
}

typedef struct span {
    cuarena_t *arena;
    uint64_t counted;
    uint64_t seen;
} span_t;

static span_t begin(cuarena_t *arena)
{
    return (span_t){arena, arena_stats(arena).driver_calls, seen()};
}

/* How many calls there were since. */
static uint64_t end(const span_t *span, const char *what)
{
    uint64_t counted = arena_stats(span->arena).driver_calls - span->counted;
    uint64_t made = seen() - span->seen;
    if (driver_standin() != NULL && counted != made)
        ck_abort_msg("%s: %llu calls counted, expected %llu", what, (unsigned long long)counted,
                     (unsigned long long)made);
    return counted;
}

/* Each handle is made, mapped and let go of. */
START_TEST(a_pool_of_handles_is_thousands_of_calls)
{
    cuarena_t *arena = open_arena(memories[0], "preset=grow,limit=4GiB");
    void *pointer = NULL;
    uint64_t before = arena_stats(arena).memory_calls;
    span_t span = begin(arena);
    expect_ok(cuarena_alloc(arena, HANDLES * HANDLE, &pointer));
    uint64_t calls = end(&span, "growth");
    ck_assert_msg(calls >= 3 * HANDLES, "%llu calls, expected at least %d",
                  (unsigned long long)calls, 3 * HANDLES);
    ck_assert_uint_le(arena_stats(arena).memory_calls - before, 2);
    span = begin(arena);
    expect_ok(cuarena_free(arena, pointer));
    expect_u64(end(&span, "a free"), 0);
    expect_ok(cuarena_trim(arena, 0, NULL));
    ck_assert_uint_ge(end(&span, "trim"), 1);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* Two streams that take turns, and waits for both. */
static void work_on_streams(cuarena_t *arena)
{
    cuai_cu_stream_t streams[2];
    void *pointers[2];
    for (int i = 0; i < 2; i++)
        expect_cu(cuda_test()->cuStreamCreate(&streams[i], 1));
    span_t span = begin(arena);
    for (int i = 0; i < 8; i++) {
        expect_ok(cuarena_alloc_on(arena, MIB(3), streams[i % 2], NULL, &pointers[0]));
        expect_ok(cuarena_alloc_on(arena, MIB(1), streams[i % 2], NULL, &pointers[1]));
        expect_ok(cuarena_record_use(arena, pointers[1], streams[!(i % 2)]));
        for (int k = 0; k < 2; k++)
            expect_ok(cuarena_free_on(arena, pointers[k], streams[i % 2]));
    }
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_release_stream(arena, streams[i]));
    ck_assert_uint_ge(end(&span, "streams"), 4);
    for (int i = 0; i < 2; i++)
        expect_cu(cuda_test()->cuStreamDestroy(streams[i]));
}

static void compact(cuarena_t *arena)
{
    cuarena_block_t blocks[3];
    span_t span = begin(arena);
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_block_alloc(arena, MIB(1), &blocks[i]));
    expect_ok(cuarena_block_free(arena, blocks[1]));
    expect_ok(cuarena_compact(arena, NULL, NULL, NULL, NULL));
    expect_ok(cuarena_block_free(arena, blocks[0]));
    expect_ok(cuarena_block_free(arena, blocks[2]));
    (void)end(&span, "compaction");
}

START_TEST(every_call_of_an_arena_is_counted)
{
    cuarena_t *arena = open_arena(memories[_i], "preset=grow,limit=64MiB");
    void *pointer = NULL;
    (void)cuda_test_use_device(0);
    span_t span = begin(arena);
    expect_ok(cuarena_alloc(arena, MIB(3), &pointer));
    expect_ok(cuarena_free(arena, pointer));
    ck_assert_uint_ge(end(&span, "growth"), 1);
    work_on_streams(arena);
    compact(arena);
    span = begin(arena);
    expect_ok(cuarena_trim(arena, 0, NULL));
    ck_assert_uint_ge(end(&span, "trim"), 1);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

START_TEST(a_call_that_fails_counts)
{
    ck_assert(standin_is_here());
    cuarena_t *arena = open_arena(memories[1], "preset=grow,limit=64MiB");
    void *pointer = NULL;
    span_t span = begin(arena);
    standin->standin_fail("cuMemAlloc", 1, 2, 1);
    expect_status(cuarena_alloc(arena, MIB(1), &pointer), CUARENA_OUT_OF_MEMORY);
    standin->standin_fail_clear();
    ck_assert_uint_ge(end(&span, "failure"), 1);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

START_TEST(without_a_driver_there_are_none)
{
    cuarena_t *arena = open_arena("memory=none", "preset=grow,limit=64MiB");
    void *pointer = NULL;
    expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
    expect_ok(cuarena_free(arena, pointer));
    ck_assert_uint_ge(arena_stats(arena).memory_calls, 1);
    expect_u64(arena_stats(arena).driver_calls, 0);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* ---- From bytes that are held ------------------------------------------ */

#define OPERATIONS 2000
#define LIVE 24

/* Where the CPU reaches the bytes it is said not to use them. */
static cuarena_t *open_pool(int memory)
{
    bool reaches = memory >= MEMORIES - 2;
    return open_arena(memories[memory], reaches ? "pool=8MiB,device_only=1" : "pool=8MiB");
}

static cuarena_stream_t own_stream(void)
{
    cuai_cu_stream_t stream = NULL;
    expect_cu(cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

/* Random sizes in random order, on one stream or none; all are freed. */
static void alloc_and_free(cuarena_t *arena, cuarena_stream_t stream)
{
    random_state_t random = {7};
    void *live[LIVE] = {NULL};
    for (int i = 0; i < OPERATIONS; i++) {
        void **p = &live[random_below(&random, LIVE)];
        uint64_t bytes = 1 + random_below(&random, KIB(64));
        if (*p == NULL) {
            expect_ok(cuarena_alloc_on(arena, bytes, stream, NULL, p));
        } else {
            expect_ok(cuarena_free_on(arena, *p, stream));
            *p = NULL;
        }
    }
    for (int i = 0; i < LIVE; i++)
        expect_ok(cuarena_free_on(arena, live[i], stream));
}

static void expect_few(const span_t *span, const char *what, uint64_t most)
{
    uint64_t calls = end(span, what);
    ck_assert_msg(calls <= most, "%s: %llu calls of the driver, expected %llu", what,
                  (unsigned long long)calls, (unsigned long long)most);
}

static void see_first(cuarena_t *arena, cuarena_stream_t stream)
{
    void *p = NULL;
    span_t span = begin(arena);
    expect_ok(cuarena_alloc_on(arena, 1, stream, NULL, &p));
    expect_ok(cuarena_free_on(arena, p, stream));
    expect_few(&span, "first sight", 10);
}

/* A stream is asked about when it is first seen; nothing else is. */
static void expect_none(int memory, cuarena_stream_t stream, cuarena_stream_t known)
{
    cuarena_t *arena = open_pool(memory);
    see_first(arena, known);
    see_first(arena, stream);
    span_t span = begin(arena);
    alloc_and_free(arena, stream);
    expect_u64(end(&span, "alloc and free"), 0);
    expect_ok(cuarena_release_stream(arena,
                                     stream == CUARENA_NO_STREAM ? CUARENA_STREAM_LEGACY : stream));
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_destroy(&arena));
}

START_TEST(what_is_held_is_served_without_the_driver)
{
    (void)cuda_test_use_device(0);
    cuarena_stream_t own = own_stream();
    cuarena_stream_t other = own_stream();
    cuarena_stream_t streams[] = {CUARENA_NO_STREAM, own, CUARENA_STREAM_LEGACY,
                                  CUARENA_STREAM_PER_THREAD};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        expect_none(_i, streams[i], CUARENA_NO_STREAM);
        expect_none(_i, streams[i], other);
    }
    expect_cu(cuda_test()->cuStreamDestroy(own));
    expect_cu(cuda_test()->cuStreamDestroy(other));
}
END_TEST

/* ---- Default streams of threads ---------------------------------------- */

static uint64_t calls_of_work_on_default_stream(cuarena_t *arena)
{
    span_t span = begin(arena);
    alloc_and_free(arena, CUARENA_STREAM_PER_THREAD);
    return end(&span, "default stream");
}

static void *work_on_default_stream(void *arena)
{
    (void)cuda_test_use_device(0);
    see_first(arena, CUARENA_STREAM_PER_THREAD);
    expect_u64(calls_of_work_on_default_stream(arena), 0);
    return NULL;
}

static void *empty_the_pool(void *arena)
{
    void *p = NULL;
    (void)cuda_test_use_device(0);
    expect_ok(cuarena_alloc_on(arena, MIB(8), CUARENA_STREAM_PER_THREAD, NULL, &p));
    expect_ok(cuarena_free_on(arena, p, CUARENA_STREAM_PER_THREAD));
    return NULL;
}

static void on_another_thread(void *(*function)(void *), cuarena_t *arena)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, function, arena), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* Another thread cannot record on the stream, so it needs events at its frees then. */
START_TEST(frees_on_a_default_stream_are_recorded_once_another_thread_asked)
{
    cuarena_t *arena = open_pool(_i);
    (void)cuda_test_use_device(0);
    see_first(arena, CUARENA_STREAM_PER_THREAD);
    on_another_thread(work_on_default_stream, arena);
    expect_u64(calls_of_work_on_default_stream(arena), 0);
    on_another_thread(empty_the_pool, arena);
    ck_assert_uint_ge(calls_of_work_on_default_stream(arena), OPERATIONS / 2);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* What cuarena_stats_t says of the rest; the first time each stream is asked about besides. */
START_TEST(what_costs_calls_of_the_driver_costs_few)
{
    cuarena_t *arena = open_pool(_i);
    (void)cuda_test_use_device(0);
    cuarena_stream_t one = own_stream();
    cuarena_stream_t other = own_stream();
    cuarena_request_t zeroed;
    void *p = NULL;
    cuarena_request_init(&zeroed);
    zeroed.zeroed = 1;
    for (int i = 0; i < 3; i++) {
        span_t span = begin(arena);
        expect_ok(cuarena_alloc_on(arena, MIB(5), one, &zeroed, &p));
        expect_few(&span, "zeroed on a stream", i == 0 ? 30 : 20);
        expect_ok(cuarena_free_on(arena, p, one));
        span = begin(arena);
        expect_ok(cuarena_alloc_on(arena, MIB(5), other, NULL, &p));
        expect_few(&span, "bytes of another stream", i == 0 ? 40 : 30);
        expect_ok(cuarena_free_on(arena, p, other));
        expect_ok(cuarena_reclaim(arena, 1, NULL));
        span = begin(arena);
        expect_ok(cuarena_alloc_with(arena, MIB(5), &zeroed, &p));
        expect_few(&span, "zeroed", 20);
        expect_ok(cuarena_free(arena, p));
    }
    expect_ok(cuarena_release_stream(arena, one));
    expect_ok(cuarena_release_stream(arena, other));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* ---- Threads ----------------------------------------------------------- */

#define THREADS 4

static void *grow_and_trim(void *user)
{
    cuarena_t *arena = *(cuarena_t **)user;
    for (uint64_t i = 0; i < scale_pick(5, 30, 300); i++) {
        void *pointer = NULL;
        expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
        expect_ok(cuarena_free(arena, pointer));
        expect_ok(cuarena_trim(arena, 0, NULL));
    }
    return NULL;
}

/* Each arena has what its own thread called for. */
START_TEST(calls_of_other_threads_are_not_counted)
{
    pthread_t threads[THREADS];
    cuarena_t *arenas[THREADS];
    uint64_t counted = 0;
    for (int i = 0; i < THREADS; i++)
        arenas[i] = open_arena(memories[0], "preset=grow,limit=64MiB");
    for (int i = 0; i < THREADS; i++)
        counted -= arena_stats(arenas[i]).driver_calls;
    uint64_t before = seen();
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, grow_and_trim, &arenas[i]), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    uint64_t made = seen() - before;
    for (int i = 0; i < THREADS; i++)
        counted += arena_stats(arenas[i]).driver_calls;
    if (driver_standin() != NULL)
        expect_u64(counted, made);
    for (int i = 0; i < THREADS; i++)
        expect_ok(cuarena_destroy(&arenas[i]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("driver calls");
    TCase *tcase = suite_add_list(suite, "counts",
                                  TEST_LIST(a_pool_of_handles_is_thousands_of_calls,
                                            without_a_driver_there_are_none,
                                            calls_of_other_threads_are_not_counted));
    add_standin_test(tcase, a_call_that_fails_counts, 1);
    tcase_add_loop_test(tcase, every_call_of_an_arena_is_counted, 0, MEMORIES);
    tcase_add_loop_test(tcase, what_is_held_is_served_without_the_driver, 0, MEMORIES);
    tcase_add_loop_test(tcase, frees_on_a_default_stream_are_recorded_once_another_thread_asked, 0,
                        MEMORIES);
    tcase_add_loop_test(tcase, what_costs_calls_of_the_driver_costs_few, 0, MEMORIES);
    return cuda_kinds_main(suite);
}
