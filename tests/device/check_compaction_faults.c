/*
 * What may happen around the copies of a compaction, on the stand-in: a call of the driver fails
 * once, or a stream of a moved block begins to be captured outside a session. The copies are good
 * then, so nothing is lost.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/graph_bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define POOL "memory=device,backing=malloc,pool=4MiB"
#define OPERATING_SYSTEM 304 /* a fault that does not stay */
#define SEED 7

/* A block of stream s with known contents, below which there is room that s left. */
static cuarena_block_t take_above_room(const graph_bench_t *b)
{
    cuarena_block_t room, block;
    void *p = NULL;
    expect_ok(cuarena_block_alloc_on(b->arena, BENCH_BYTES, b->s, NULL, &room));
    expect_ok(cuarena_block_alloc_on(b->arena, BENCH_BYTES, b->s, NULL, &block));
    expect_ok(cuarena_block_pin_on(b->arena, block, b->s, &p));
    fill(b, p, BENCH_BYTES, SEED, b->s);
    expect_ok(cuarena_block_unpin_on(b->arena, block, b->s));
    expect_ok(cuarena_block_free_on(b->arena, room, b->s));
    return block;
}

static void expect_contents(const graph_bench_t *b, cuarena_block_t block)
{
    void *p = NULL;
    expect_ok(cuarena_block_pin_on(b->arena, block, b->s, &p));
    check(b, p, BENCH_BYTES, SEED, b->s);
    expect_ok(cuarena_block_unpin_on(b->arena, block, b->s));
    wait_for(b, b->s);
    expect_no_bad_bytes(b);
    expect_sound_arena(b);
}

static cuarena_status_t compact_on(const graph_bench_t *b, cuarena_stream_t stream)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = stream;
    return cuarena_compact(b->arena, &options, NULL, NULL, NULL);
}

/* ---- Faults ------------------------------------------------------------ */

/* Whether the compaction came to the nth call of the driver, which failed. */
static bool survives_fault(const graph_bench_t *b, cuarena_stream_t stream, uint64_t nth)
{
    cuarena_block_t block = take_above_room(b);
    standin->standin_fail_any(nth, OPERATING_SYSTEM, 0);
    cuarena_status_t status = compact_on(b, stream);
    bool failed = standin->standin_failed() != 0;
    standin->standin_fail_clear();
    if (status != CUARENA_OK)
        expect_status(status, failed ? CUARENA_DRIVER : CUARENA_OK);
    expect_contents(b, block);
    expect_ok(cuarena_block_free(b->arena, block));
    expect_ok(cuarena_reclaim(b->arena, 1, NULL));
    return failed;
}

START_TEST(a_fault_of_any_call_of_a_compaction_loses_nothing)
{
    ck_assert(standin_is_here());
    graph_bench_t *b = opened_bench_with(POOL);
    cuarena_stream_t stream = _i == 0 ? b->e : CUARENA_NO_STREAM;
    uint64_t nth = 1;
    while (survives_fault(b, stream, nth))
        nth++;
    printf("%llu calls\n", (unsigned long long)nth - 1);
    ck_assert_uint_gt(nth, 10);
}
END_TEST

/* ---- Captures ---------------------------------------------------------- */

typedef struct job {
    const graph_bench_t *b;
    cuarena_status_t status;
} job_t;

static void *compact_beside(void *argument)
{
    job_t *job = argument;
    (void)cuda_test_use_device(0);
    job->status = compact_on(job->b, job->b->e);
    return NULL;
}

/* Stream s is captured from when the compaction is at the call on. */
static cuarena_status_t compact_with_capture_at(const graph_bench_t *b, const char *entry, int mode)
{
    pthread_t thread;
    job_t job = {b, CUARENA_OK};
    ck_assert_int_eq(standin->standin_hold(entry, 1), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, compact_beside, &job), 0);
    while (standin->standin_held(entry) == 0)
        sched_yield();
    begin_capture(b, b->s, mode);
    standin->standin_hold(entry, 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return job.status;
}

static const char *const entries[] = {"cuMemcpyDtoDAsync", "cuStreamWaitEvent"};

/* The stream cannot be made to wait for the copies, so the compaction has waited. */
START_TEST(a_capture_that_begins_beside_the_copies_loses_nothing)
{
    ck_assert(standin_is_here());
    graph_bench_t *b = opened_bench_with(POOL);
    cuarena_capture_t *session = NULL;
    cuarena_block_t block = take_above_room(b);
    wait_for(b, b->s);
    cuarena_status_t status =
        compact_with_capture_at(b, entries[_i / BENCH_MODES], _i % BENCH_MODES);
    if (status != CUARENA_OK)
        expect_status(status, CUARENA_BUSY);
    expect_ok(cuarena_capture_begin(b->arena, b->s, &session));
    (void)end_capture(b, b->s);
    expect_ok(cuarena_capture_release(b->arena, &session, b->s));
    expect_contents(b, block);
    expect_ok(cuarena_block_free(b->arena, block));
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
    return cuda_kinds_main(suite);
}
