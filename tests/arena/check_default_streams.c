/*
 * What NULL means in code that is compiled for per-thread default streams: in this file it does.
 * tests/arena/check_streams.c is compiled without.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include "support/checks.h"
#include "support/fixture_streams.h"

#define POOL KIB(64)

/* Each call that takes a stream takes NULL for the thread's: the legacy stream stays unknown. */
START_TEST(null_is_the_threads_stream_in_every_call)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_t *arena = f->arena;
    void *p = NULL;
    cuarena_block_t block = 0;
    expect_ok(cuarena_alloc_on(arena, 1024, NULL, NULL, &p));
    expect_ok(cuarena_record_use(arena, p, NULL));
    expect_ok(cuarena_resize_on(arena, p, 512, NULL, &p));
    expect_ok(cuarena_block_alloc_on(arena, 1024, NULL, NULL, &block));
    void *at = NULL;
    expect_ok(cuarena_block_pin_on(arena, block, NULL, &at));
    expect_ok(cuarena_block_unpin_on(arena, block, NULL));
    expect_ok(cuarena_block_record_use(arena, block, NULL));
    expect_ok(cuarena_block_resize_on(arena, block, 2048, NULL));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = NULL;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, NULL));
    ck_assert_ptr_null(options.stream); /* the caller's stays as it is */
    expect_ok(cuarena_compact(arena, NULL, NULL, NULL, NULL));
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stream_stats(arena, NULL, &stats));
    expect_u64(stats.live_blocks, 2);
    expect_ok(cuarena_stream_stats(arena, CUARENA_STREAM_PER_THREAD, &stats));
    expect_status(cuarena_stream_stats(arena, CUARENA_STREAM_LEGACY, &stats), CUARENA_STALE);
    expect_ok(cuarena_block_free_on(arena, block, NULL));
    expect_ok(cuarena_free_on(arena, p, NULL));
    expect_ok(cuarena_release_stream(arena, NULL));
    sim_sync_all(&f->sim);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_status(cuarena_stream_stats(arena, NULL, &stats), CUARENA_STALE);
}
END_TEST

/* Other handles mean what they are. */
START_TEST(named_streams_are_themselves)
{
    fixture_t *f = opened(SIMULATED, POOL);
    static const cuarena_stream_t named[] = {A, CUARENA_STREAM_LEGACY, CUARENA_NO_STREAM};
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(cuarena_stream_meant(named[i]), named[i]);
    void *p = NULL;
    expect_ok(cuarena_alloc_on(f->arena, 256, CUARENA_STREAM_LEGACY, NULL, &p));
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_status(cuarena_stream_stats(f->arena, NULL, &stats), CUARENA_STALE);
    expect_ok(cuarena_free_on(f->arena, p, CUARENA_STREAM_LEGACY));
}
END_TEST

/* ---- The simulation ---------------------------------------------------- */

/* Another thread records all work for a default stream of a thread, and the thread then takes the
 * same event for its stream alone while the rest is still to run. The host waits for the latter. */
START_TEST(an_event_of_all_work_is_recorded_anew_on_one_stream)
{
    fixture_t *f = opened(SIMULATED, POOL);
    const cuarena_memory_ops_t *ops = &f->sim.ops;
    const cuarena_stream_t streams[] = {A, B, C};
    void *p = alloc_ok(f, 1024);
    void *event = NULL;
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        sim_read(&f->sim, streams[i], p, 256, 0);
    expect_ok(ops->record_event(&f->sim, CUARENA_NO_STREAM, &event));
    expect_ok(ops->record_event(&f->sim, streams[_i], &event));
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        expect_status(ops->query_event(&f->sim, event),
                      i <= (size_t)_i ? CUARENA_BUSY : CUARENA_OK);
        (void)sim_run_stream(&f->sim, streams[i]);
    }
    expect_ok(ops->wait_event(&f->sim, event, CUARENA_NO_STREAM, 1));
    ops->end_event(&f->sim, event);
    sim_sync_all(&f->sim);
    free_ok(f, p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_default");
    suite_add_list(
        suite, "null",
        TEST_LIST(null_is_the_threads_stream_in_every_call, named_streams_are_themselves));
    suite_add_rows(suite, "simulation", an_event_of_all_work_is_recorded_anew_on_one_stream, 3);
    return suite_main(suite);
}
