/*
 * Cached blocks and streams: who gets at once what a stream freed, who waits, and who goes without.
 * On simulated streams, so that an order that is missing shows.
 */
#include "support/fixture_streams.h"

static fixture_t f;

#define BYTES KIB(4)

static void prepare_cache(bool host_readable)
{
    fixture_prepare(&f, host_readable ? SIMULATED_HOST : SIMULATED, KIB(256));
    f.config.keep = CUARENA_KEEP_CACHE;
}

static void open_cache(int32_t steal)
{
    prepare_cache(false);
    f.config.steal = steal;
    fixture_create(&f);
}

static cuarena_cache_stats_t figures(void)
{
    cuarena_cache_stats_t now;
    cuarena_cache_stats_init(&now);
    expect_ok(cuarena_cache_stats(f.arena, &now));
    return now;
}

/* A block in the cache whose last use, a kernel of `stream`, is queued. */
static void *cache_one(cuarena_stream_t stream)
{
    void *at = use_anew(&f, BYTES, stream);
    expect_u64(figures().cached_bytes, BYTES);
    return at;
}

/* A kernel of the new owner: a race if it is not behind the old one. */
static void use(void *at, cuarena_stream_t stream)
{
    sim_write(&f.sim, stream, at, BYTES, 9);
    sim_run_stream(&f.sim, stream);
    expect_sound(&f);
}

static void end(void *at, cuarena_stream_t stream)
{
    free_on(&f, at, stream);
    fixture_close(&f);
}

START_TEST(a_stream_gets_what_it_freed_at_once)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *at = cache_one(A);
    sim_calls(&f.sim);
    void *again = alloc_on(&f, BYTES, A);
    ck_assert_ptr_eq(again, at);
    expect_no_calls(&f);
    use(again, A);
    end(again, A);
}
END_TEST

START_TEST(another_stream_waits_for_it)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *at = cache_one(A);
    void *again = alloc_on(&f, BYTES, B);
    ck_assert_ptr_eq(again, at);
    expect_u64(f.sim.counts[SIM_WAIT], 1);
    expect_u64(stats_of(&f).steals, 1);
    use(again, B);
    end(again, B);
}
END_TEST

/* One wait is for all that was freed before it. */
START_TEST(what_was_freed_before_a_wait_needs_no_other)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *a = alloc_on(&f, BYTES, A);
    void *b = alloc_on(&f, BYTES, A);
    free_on(&f, a, A);
    free_on(&f, b, A);
    void *c = alloc_on(&f, BYTES, B);
    sim_calls(&f.sim);
    void *d = alloc_on(&f, BYTES, B);
    expect_no_calls(&f);
    expect_u64(figures().hits, 2);
    free_on(&f, c, B);
    end(d, B);
}
END_TEST

START_TEST(what_is_freed_after_a_wait_needs_another)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *at = cache_one(A);
    void *kept = alloc_on(&f, BYTES, A);
    sim_write(&f.sim, A, kept, BYTES, 3);
    (void)at;
    free_on(&f, kept, A);
    void *first = alloc_on(&f, BYTES, B);
    use(first, B);
    void *later = use_anew(&f, BYTES, A);
    void *second = alloc_on(&f, BYTES, B);
    ck_assert_ptr_eq(second, later);
    expect_u64(f.sim.counts[SIM_WAIT], 2);
    use(second, B);
    free_on(&f, first, B);
    end(second, B);
}
END_TEST

START_TEST(of_equals_one_that_need_not_be_waited_for_is_taken)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *a = alloc_on(&f, BYTES, A);
    void *b = alloc_on(&f, BYTES, B);
    sim_write(&f.sim, A, a, BYTES, 1);
    free_on(&f, a, A);
    free_on(&f, b, B);
    void *again = alloc_on(&f, BYTES, B);
    ck_assert_ptr_eq(again, b);
    expect_u64(f.sim.counts[SIM_WAIT], 0);
    end(again, B);
}
END_TEST

START_TEST(with_idle_a_stream_gets_what_is_complete)
{
    open_cache(CUARENA_STEAL_IDLE);
    void *at = cache_one(A);
    void *other = alloc_on(&f, BYTES, B); /* A's event is on its way */
    ck_assert_ptr_ne(other, at);
    expect_u64(figures().misses, 2);
    sim_run_all(&f.sim);
    void *again = alloc_on(&f, BYTES, B);
    ck_assert_ptr_eq(again, at);
    expect_u64(f.sim.counts[SIM_WAIT], 0);
    free_on(&f, other, B);
    end(again, B);
}
END_TEST

START_TEST(with_never_a_stream_gets_only_its_own)
{
    open_cache(CUARENA_STEAL_NEVER);
    void *at = cache_one(A);
    sim_run_all(&f.sim);
    void *other = alloc_on(&f, BYTES, B);
    ck_assert_ptr_ne(other, at);
    void *again = alloc_on(&f, BYTES, A);
    ck_assert_ptr_eq(again, at);
    free_on(&f, other, B);
    end(again, A);
}
END_TEST

START_TEST(without_a_stream_a_block_is_had_once_its_work_is_done)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *at = cache_one(A);
    void *other = alloc_ok(&f, BYTES);
    ck_assert_ptr_ne(other, at);
    sim_run_all(&f.sim);
    void *again = alloc_ok(&f, BYTES);
    ck_assert_ptr_eq(again, at);
    free_ok(&f, other);
    free_ok(&f, again);
    fixture_close(&f);
}
END_TEST

START_TEST(where_the_cpu_touches_bytes_its_own_stream_waits_too)
{
    prepare_cache(true);
    fixture_create(&f);
    void *at = cache_one(A);
    void *other = alloc_on(&f, BYTES, A);
    ck_assert_ptr_ne(other, at);
    sim_run_all(&f.sim);
    void *again = alloc_on(&f, BYTES, A);
    ck_assert_ptr_eq(again, at);
    sim_host_write(&f.sim, again, BYTES, 4);
    free_on(&f, other, A);
    end(again, A);
}
END_TEST

START_TEST(a_released_stream_leaves_blocks_that_others_wait_for)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *at = cache_one(A);
    expect_ok(cuarena_release_stream(f.arena, A));
    expect_sound(&f);
    sim_stream_kill(&f.sim, A);
    void *again = alloc_on(&f, BYTES, B);
    ck_assert_ptr_eq(again, at);
    use(again, B);
    end(again, B);
}
END_TEST

START_TEST(a_released_streams_blocks_may_be_evicted)
{
    open_cache(CUARENA_STEAL_FIRST);
    cache_one(A);
    expect_ok(cuarena_release_stream(f.arena, A));
    sim_stream_kill(&f.sim, A);
    expect_ok(cuarena_cache_release(f.arena, BYTES, NULL));
    expect_sound(&f);
    sim_sync_all(&f.sim);
    expect_ok(cuarena_reclaim(f.arena, 0, NULL));
    expect_u64(stats_of(&f).free_bytes, KIB(256));
    fixture_close(&f);
}
END_TEST

START_TEST(an_eager_stream_has_a_event_behind_what_it_freed)
{
    prepare_cache(false);
    f.config.events = CUARENA_EVENTS_EAGER;
    fixture_create(&f);
    void *at = cache_one(A);
    uint64_t events = f.sim.counts[SIM_RECORD];
    expect_u64(events, 1);
    void *again = alloc_on(&f, BYTES, B);
    ck_assert_ptr_eq(again, at);
    expect_u64(f.sim.counts[SIM_RECORD], events);
    use(again, B);
    end(again, B);
}
END_TEST

/* It waits for the block, gives that up because it cannot be set to 0, and has no event of its own
 * behind the wait: who gets the bytes then waits for their last use all the same. */
START_TEST(a_block_that_cannot_be_zeroed_is_still_behind_its_last_use)
{
    prepare_cache(false);
    f.config.events = CUARENA_EVENTS_EAGER;
    fixture_create(&f);
    cache_one(A);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    void *none = NULL;
    sim_fail(&f.sim, SIM_ZERO, 1, CUARENA_DRIVER);
    expect_status(cuarena_alloc_on(f.arena, BYTES, B, &request, &none), CUARENA_DRIVER);
    void *all = alloc_on(&f, KIB(256), C);
    sim_write(&f.sim, C, all, KIB(256), 9);
    end(all, C);
}
END_TEST

START_TEST(a_block_that_others_use_is_not_cached)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *at = alloc_on(&f, BYTES, A);
    expect_ok(cuarena_record_use(f.arena, at, B));
    sim_write(&f.sim, B, at, BYTES, 7);
    free_on(&f, at, A);
    expect_u64(figures().cached_bytes, 0);
    fixture_close(&f);
}
END_TEST

START_TEST(clear_waits_for_the_streams_of_cached_blocks)
{
    open_cache(CUARENA_STEAL_FIRST);
    cache_one(A);
    uint64_t blocks = 0;
    expect_ok(cuarena_cache_clear(f.arena, &blocks));
    expect_sound(&f);
    expect_u64(blocks, 1);
    expect_u64(f.sim.counts[SIM_WAIT_HOST], 1);
    expect_u64(stats_of(&f).free_bytes, KIB(256));
    sim_calls(&f.sim);
    expect_ok(cuarena_cache_clear(f.arena, &blocks));
    expect_u64(blocks, 0);
    expect_no_calls(&f);
    fixture_close(&f);
}
END_TEST

/* What ends goes to the stream on which it was freed, behind its work. */
START_TEST(an_evicted_block_is_free_to_its_stream_first)
{
    open_cache(CUARENA_STEAL_NEVER);
    cache_one(A);
    expect_ok(cuarena_cache_release(f.arena, UINT64_MAX, NULL));
    expect_sound(&f);
    expect_u64(stream_stats_of(&f, A).free_bytes, BYTES);
    void *whole = alloc_on(&f, BYTES, A);
    use(whole, A);
    end(whole, A);
}
END_TEST

START_TEST(destroy_is_busy_while_work_behind_cached_blocks_is)
{
    open_cache(CUARENA_STEAL_FIRST);
    cache_one(A);
    expect_status(cuarena_destroy(&f.arena), CUARENA_BUSY);
    fixture_close(&f);
}
END_TEST

/* Cached blocks serve what fits in none of them. */
START_TEST(a_request_that_only_all_cached_bytes_serve_waits_for_them)
{
    open_cache(CUARENA_STEAL_FIRST);
    void *at[4];
    for (int i = 0; i < 4; i++)
        at[i] = alloc_on(&f, KIB(64), i % 2 == 0 ? A : B);
    for (int i = 0; i < 4; i++) {
        sim_write(&f.sim, i % 2 == 0 ? A : B, at[i], KIB(64), 3);
        free_on(&f, at[i], i % 2 == 0 ? A : B);
    }
    expect_u64(figures().cached_bytes, KIB(256));
    void *whole = alloc_on(&f, KIB(256), C);
    sim_write(&f.sim, C, whole, KIB(256), 4);
    sim_run_stream(&f.sim, C);
    expect_sound(&f);
    free_on(&f, whole, C);
    fixture_close(&f);
}
END_TEST

static uint64_t queries_left;

/* All work is done when an event is asked about for the so many-th time. */
static void run_at_query(sim_t *sim, sim_op_t op)
{
    if (op == SIM_QUERY && queries_left != 0 && --queries_left == 0)
        sim_run_all(sim);
}

START_TEST(a_part_of_an_evicted_block_whose_event_completes_late)
{
    for (uint64_t queries = 1; queries < 8; queries++) {
        prepare_cache(true);
        f.config.grow = CUARENA_GROW_EXACT;
        f.config.limit = (cuarena_amount_t){.value = KIB(256)};
        fixture_create(&f);
        use_anew(&f, KIB(256), A);
        queries_left = queries;
        f.sim.hook = run_at_query;
        void *part = alloc_on(&f, KIB(100), A);
        sim_host_write(&f.sim, part, KIB(100), 4);
        expect_sound(&f);
        f.sim.hook = NULL;
        end(part, A);
    }
}
END_TEST

/* An event that was recorded before the block ended is not behind its bytes. */
START_TEST(a_part_of_an_evicted_block_waits_for_its_own_stream)
{
    prepare_cache(true);
    fixture_create(&f);
    use_anew(&f, KIB(256), A);
    expect_u64(figures().cached_bytes, KIB(256));
    void *part = alloc_on(&f, KIB(100), A);
    sim_host_write(&f.sim, part, KIB(100), 4);
    expect_sound(&f);
    end(part, A);
}
END_TEST

/* An event was recorded while nothing was free: what ends then is behind it. */
START_TEST(a_request_waits_for_cached_bytes_that_the_cpu_touches)
{
    prepare_cache(true);
    fixture_create(&f);
    use_anew(&f, KIB(256), A);
    expect_u64(figures().cached_bytes, KIB(256));
    void *whole = alloc_on(&f, KIB(256), A);
    sim_host_write(&f.sim, whole, KIB(256), 4);
    end(whole, A);
}
END_TEST

/* What was cached after the event, which has nothing free behind it, ends on the other side of
 * it. */
START_TEST(a_request_waits_for_bytes_cached_behind_a_event)
{
    open_cache(CUARENA_STEAL_IDLE);
    void *first = alloc_on(&f, KIB(128), A);
    void *second = alloc_on(&f, KIB(128), A);
    sim_write(&f.sim, A, first, KIB(128), 7);
    free_on(&f, first, A);
    expect_ok(cuarena_reclaim(f.arena, 0, NULL)); /* the event */
    sim_write(&f.sim, A, second, KIB(128), 7);
    free_on(&f, second, A);
    expect_u64(figures().cached_bytes, KIB(256));
    void *whole = alloc_on(&f, KIB(256), B);
    sim_write(&f.sim, B, whole, KIB(256), 4);
    sim_run_stream(&f.sim, B);
    expect_sound(&f);
    end(whole, B);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_streams");
    suite_add_list(
        suite, "streams",
        TEST_LIST(
            a_stream_gets_what_it_freed_at_once, another_stream_waits_for_it,
            what_was_freed_before_a_wait_needs_no_other, what_is_freed_after_a_wait_needs_another,
            of_equals_one_that_need_not_be_waited_for_is_taken,
            with_idle_a_stream_gets_what_is_complete, with_never_a_stream_gets_only_its_own,
            without_a_stream_a_block_is_had_once_its_work_is_done,
            where_the_cpu_touches_bytes_its_own_stream_waits_too,
            a_released_stream_leaves_blocks_that_others_wait_for,
            a_released_streams_blocks_may_be_evicted,
            a_block_that_cannot_be_zeroed_is_still_behind_its_last_use,
            an_eager_stream_has_a_event_behind_what_it_freed, a_block_that_others_use_is_not_cached,
            clear_waits_for_the_streams_of_cached_blocks,
            an_evicted_block_is_free_to_its_stream_first,
            destroy_is_busy_while_work_behind_cached_blocks_is,
            a_request_that_only_all_cached_bytes_serve_waits_for_them,
            a_part_of_an_evicted_block_waits_for_its_own_stream,
            a_part_of_an_evicted_block_whose_event_completes_late,
            a_request_waits_for_cached_bytes_that_the_cpu_touches,
            a_request_waits_for_bytes_cached_behind_a_event));
    return suite_main(suite);
}
