/*
 * What may happen around copies, on the stand-in: a call of the driver fails once, or events fail
 * from then on, or a stream of a moved block begins to be captured outside a session. The copies of
 * a compaction are good then, so nothing is lost. Where something is lost, the error says so.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/graph_bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define POOL "memory=device,backing=malloc,pool=4MiB"
#define OPERATING_SYSTEM 304 /* a fault that does not stay */
#define SEED 7

/* A block of stream s with known contents, below which there is room that s left. */
static cuarena_block_t alloc_above_room(fixture_t *f)
{
    cuarena_block_t room, block;
    void *p = NULL;
    expect_ok(cuarena_block_alloc_on(f->arena, BENCH_BYTES, bench.s, NULL, &room));
    expect_ok(cuarena_block_alloc_on(f->arena, BENCH_BYTES, bench.s, NULL, &block));
    expect_ok(cuarena_block_pin_on(f->arena, block, bench.s, &p));
    fill(p, BENCH_BYTES, SEED, bench.s);
    expect_ok(cuarena_block_unpin_on(f->arena, block, bench.s));
    expect_ok(cuarena_block_free_on(f->arena, room, bench.s));
    return block;
}

static void expect_contents(fixture_t *f, cuarena_block_t block)
{
    void *p = NULL;
    expect_ok(cuarena_block_pin_on(f->arena, block, bench.s, &p));
    check(p, BENCH_BYTES, SEED, bench.s);
    expect_ok(cuarena_block_unpin_on(f->arena, block, bench.s));
    wait_for(bench.s);
    expect_no_bad_bytes();
    expect_sound(f);
}

static cuarena_status_t try_compact_on(fixture_t *f, cuarena_stream_t stream)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = stream;
    return cuarena_compact(f->arena, &options, NULL, NULL, NULL);
}

/* ---- Faults ------------------------------------------------------------ */

/* Whether the compaction came to the nth call of the driver, which failed. */
static bool survives_fault(fixture_t *f, cuarena_stream_t stream, uint64_t nth)
{
    cuarena_block_t block = alloc_above_room(f);
    standin->standin_fail_any(nth, OPERATING_SYSTEM, 0);
    cuarena_status_t status = try_compact_on(f, stream);
    bool failed = standin->standin_failed() != 0;
    standin->standin_fail_clear();
    if (status != CUARENA_OK)
        expect_status(status, failed ? CUARENA_DRIVER : CUARENA_OK);
    expect_contents(f, block);
    expect_ok(cuarena_block_free(f->arena, block));
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    return failed;
}

START_TEST(a_fault_of_any_call_of_a_compaction_loses_nothing)
{
    ck_assert(standin_is_here());
    fixture_t *f = opened_graphs_with(POOL);
    cuarena_stream_t stream = _i == 0 ? bench.e : CUARENA_NO_STREAM;
    uint64_t nth = 1;
    while (survives_fault(f, stream, nth))
        nth++;
    printf("%llu calls\n", (unsigned long long)nth - 1);
    ck_assert_uint_gt(nth, 10);
}
END_TEST

/* ---- Events that fail from then on ------------------------------------------ */

static const char *const moving_arenas[] = {
    POOL,
    POOL ",events=eager",
    "memory=device,backing=vmm,handle=2MiB,preset=grow",
    "memory=managed,pool=4MiB",
};

static const char *const event_entries[] = {"cuEventRecord", "cuEventSynchronize"};

#define BLOCKS 3

/* Moves several blocks of two streams while every call of the entry from the nth on fails. Whether
 * one did. */
static bool survives_no_events(fixture_t *f, const char *entry, cuarena_stream_t stream,
                               uint64_t nth)
{
    cuarena_block_t blocks[BLOCKS];
    void *p = NULL;
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_above_room(f);
    ck_assert_int_eq(standin->standin_fail(entry, nth, OPERATING_SYSTEM, 1), 0);
    expect_status(cuarena_alloc(NULL, 1, &p), CUARENA_BAD_ARGUMENT);
    cuarena_error_info_t before = last_error();
    cuarena_status_t status = try_compact_on(f, stream);
    if (status == CUARENA_OK)
        expect_text(last_error().message, before.message);
    bool failed = standin->standin_failed() != 0;
    standin->standin_fail_clear();
    if (status != CUARENA_OK)
        expect_status(status, failed ? CUARENA_DRIVER : CUARENA_OK);
    expect_status_at(cuarena_alloc_on(f->arena, 256, bench.s, NULL, &p), CUARENA_OK,
                     "a request after the compaction, which must lose nothing", __FILE__, __LINE__);
    expect_ok(cuarena_free_on(f->arena, p, bench.s));
    for (size_t i = 0; i < BLOCKS; i++) {
        expect_contents(f, blocks[i]);
        expect_ok(cuarena_block_free(f->arena, blocks[i]));
    }
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    return failed;
}

START_TEST(a_compaction_whose_events_fail_waits_for_its_stream)
{
    ck_assert(standin_is_here());
    const char *options = moving_arenas[_i / 4];
    const char *entry = event_entries[_i / 2 % 2];
    fixture_t *f = opened_graphs_with(options);
    cuarena_stream_t stream = _i % 2 == 0 ? CUARENA_NO_STREAM : bench.e;
    for (uint64_t nth = 1; survives_no_events(f, entry, stream, nth);)
        nth++;
}
END_TEST

/* ---- What is lost ------------------------------------------------------------ */

/* A block that cannot grow where it is. */
static void alloc_two(fixture_t *f, void **p, void **behind)
{
    expect_ok(cuarena_alloc_on(f->arena, BENCH_BYTES, bench.s, NULL, p));
    expect_ok(cuarena_alloc_on(f->arena, BENCH_BYTES, bench.s, NULL, behind));
}

static void expect_lost_in_words(const char *words)
{
    ck_assert_msg(strstr(last_error().message, words) != NULL, "expected '%s' in: %s", words,
                  last_error().message);
}

START_TEST(a_resize_that_cannot_zero_the_old_place_leaves_the_block)
{
    ck_assert(standin_is_here());
    void *p, *behind, *q = UNTOUCHED;
    fixture_t *f = opened_graphs_with(POOL ",zero=free");
    alloc_two(f, &p, &behind);
    fill(p, BENCH_BYTES, SEED, bench.s);
    standin->standin_fail("cuMemsetD32Async", 1, OPERATING_SYSTEM, 0);
    expect_status(cuarena_resize_on(f->arena, p, 2 * BENCH_BYTES, bench.s, &q), CUARENA_DRIVER);
    standin->standin_fail_clear();
    ck_assert_ptr_eq(q, UNTOUCHED);
    check(p, BENCH_BYTES, SEED, bench.s);
    wait_for(bench.s);
    expect_no_bad_bytes();
    expect_sound(f);
    expect_ok(cuarena_free_on(f->arena, p, bench.s));
    expect_ok(cuarena_free_on(f->arena, behind, bench.s));
}
END_TEST

START_TEST(a_resize_that_cannot_zero_the_copy_either_says_that_the_arena_is_lost)
{
    ck_assert(standin_is_here());
    void *p, *behind, *q = UNTOUCHED;
    fixture_t *f = opened_graphs_with(POOL ",zero=free");
    alloc_two(f, &p, &behind);
    standin->standin_fail("cuMemsetD32Async", 1, OPERATING_SYSTEM, 1);
    expect_status(cuarena_resize_on(f->arena, p, 2 * BENCH_BYTES, bench.s, &q), CUARENA_DRIVER);
    expect_lost_in_words("is lost: contents that were left, or copied, could not be set to 0");
    standin->standin_fail_clear();
    ck_assert_ptr_eq(q, UNTOUCHED);
    expect_status(cuarena_alloc_on(f->arena, 256, bench.s, NULL, &q), CUARENA_LOST);
    expect_ok(cuarena_free_on(f->arena, p, bench.s));
    expect_ok(cuarena_free_on(f->arena, behind, bench.s));
}
END_TEST

START_TEST(a_compaction_that_cannot_zero_what_it_left_says_what_failed)
{
    ck_assert(standin_is_here());
    fixture_t *f = opened_graphs_with(POOL ",zero=free");
    cuarena_block_t block = alloc_above_room(f);
    standin->standin_fail("cuMemsetD32Async", 1, OPERATING_SYSTEM, 1);
    expect_status(try_compact_on(f, bench.s), CUARENA_DRIVER);
    expect_lost_in_words("is lost: setting to 0 what they left failed after 1 of 1 copies");
    standin->standin_fail_clear();
    expect_ok(cuarena_block_free(f->arena, block));
}
END_TEST

/* Nobody may unmap the bytes of copies that are under way, and a lost arena waits for nothing. */
START_TEST(a_compaction_that_loses_the_arena_waits_for_its_copies)
{
    cuarena_block_t room, block;
    cuarena_compact_options_t options;
    ck_assert(standin_is_here());
    (void)cuda_test_use_device(0);
    cuarena_compact_options_init(&options);
    options.stream = cuda_test_stream();
    cuarena_t *arena = arena_of("memory=device,preset=grow,limit=8MiB,zero=free");
    expect_ok(cuarena_block_alloc_on(arena, BENCH_BYTES, options.stream, NULL, &room));
    expect_ok(cuarena_block_alloc_on(arena, BENCH_BYTES, options.stream, NULL, &block));
    expect_ok(cuarena_block_free_on(arena, room, options.stream));
    standin->standin_fail("cuMemsetD32Async", 1, OPERATING_SYSTEM, 1);
    expect_status(cuarena_compact(arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
    standin->standin_fail_clear();
    expect_lost_in_words("is lost: setting to 0 what they left failed");
    expect_ok(cuarena_destroy_forced(&arena));
    expect_cu(cuda_test()->cuStreamDestroy(options.stream));
    expect_nothing_left();
}
END_TEST

/* ---- Captures ---------------------------------------------------------- */

typedef struct job {
    fixture_t *f;
    cuarena_status_t status;
} job_t;

static void *compact_beside(void *argument)
{
    job_t *job = argument;
    (void)cuda_test_use_device(0);
    job->status = try_compact_on(job->f, bench.e);
    return NULL;
}

/* Stream s is captured from when the compaction is at the call on. */
static cuarena_status_t compact_with_capture_at(fixture_t *f, const char *entry, int mode)
{
    pthread_t thread;
    job_t job = {f, CUARENA_OK};
    ck_assert_int_eq(standin->standin_hold(entry, 1), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, compact_beside, &job), 0);
    while (standin->standin_held(entry) == 0)
        sched_yield();
    begin_capture(bench.s, mode);
    standin->standin_hold(entry, 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return job.status;
}

static const char *const entries[] = {"cuMemcpyDtoDAsync", "cuStreamWaitEvent"};

/* The stream cannot be made to wait for the copies, so the compaction has waited. */
START_TEST(a_capture_that_begins_beside_the_copies_loses_nothing)
{
    ck_assert(standin_is_here());
    fixture_t *f = opened_graphs_with(POOL);
    cuarena_capture_t *session = NULL;
    cuarena_block_t block = alloc_above_room(f);
    wait_for(bench.s);
    cuarena_status_t status =
        compact_with_capture_at(f, entries[_i / BENCH_MODES], _i % BENCH_MODES);
    if (status != CUARENA_OK)
        expect_status(status, CUARENA_BUSY);
    expect_ok(cuarena_capture_begin(f->arena, bench.s, &session));
    (void)end_capture(bench.s);
    expect_ok(cuarena_capture_release(f->arena, &session, bench.s));
    expect_contents(f, block);
    expect_ok(cuarena_block_free(f->arena, block));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("faults of compactions");
    cuda_kinds_ready();
    TCase *tcase = suite_add_case(suite, "after the copies");
    add_standin_test(tcase, a_fault_of_any_call_of_a_compaction_loses_nothing, 2);
    add_standin_test(tcase, a_capture_that_begins_beside_the_copies_loses_nothing,
                     BENCH_MODES * COUNT_OF(entries));
    TCase *events = suite_add_case(suite, "events");
    add_standin_test(events, a_compaction_whose_events_fail_waits_for_its_stream,
                     4 * COUNT_OF(moving_arenas));
    TCase *lost = suite_add_case(suite, "lost");
    add_standin_test(lost, a_resize_that_cannot_zero_the_old_place_leaves_the_block, 1);
    add_standin_test(lost, a_resize_that_cannot_zero_the_copy_either_says_that_the_arena_is_lost,
                     1);
    add_standin_test(lost, a_compaction_that_cannot_zero_what_it_left_says_what_failed, 1);
    add_standin_test(lost, a_compaction_that_loses_the_arena_waits_for_its_copies, 1);
    return cuda_kinds_main(suite);
}
