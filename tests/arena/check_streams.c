/*
 * Streams of an arena, on streams that are simulated: what a free means, when bytes come to others,
 * events, handles, counts, zeroing, and what cannot be done. How streams and the arena end:
 * check_streams_end.c.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/scale.h"

#include <stdio.h>
#include <string.h>

#define POOL KIB(64)

static cuarena_config_t *prepare(fixture_t *f)
{
    fixture_prepare(f, SIMULATED, POOL);
    return &f->config;
}

/* ---- The table of streams.h -------------------------------------------- */

/* Rows: no stream, on A. Columns: free, free_on(A), free_on(B). Who gets the bytes at once, without
 * waiting: everybody, A alone, B alone. */
START_TEST(a_free_means_what_the_table_says)
{
    static const cuarena_stream_t at[] = {CUARENA_NO_STREAM, A, B};
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 3; column++) {
            fixture_t f;
            fixture_open(&f, SIMULATED, POOL);
            void *p = alloc_all_on(&f, at[row]);
            sim_write(&f.sim, column == 2 ? B : A, p, POOL, 7);
            if (column == 0)
                sim_sync(&f.sim, A);
            expect_ok(cuarena_free_on(f.arena, p, at[column]));
            sim_calls(&f.sim);
            for (uint32_t who = 1; who < 3 && column != 0; who++) {
                bool own = who == (uint32_t)column;
                if (!own)
                    continue;
                void *q = NULL;
                expect_ok(try_on(&f, POOL, at[who], &q));
                ck_assert_ptr_eq(q, p);
                expect_no_calls(&f);
            }
            uint64_t free_a = stats_of(&f).free_bytes;
            expect_u64(free_a, POOL);
            if (column == 0) {
                void *q = NULL;
                expect_ok(cuarena_alloc(f.arena, POOL, &q));
                expect_no_calls(&f);
                free_ok(&f, q);
            }
            fixture_close(&f);
        }
}
END_TEST

/* Another stream waits for the event; for a call without one the caller
 * does. Nobody gets the bytes before it is complete. */
START_TEST(other_freelists_get_bytes_when_the_event_is_complete)
{
    for (int plain = 0; plain < 2; plain++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        void *p = alloc_all_on(&f, A);
        sim_write(&f.sim, A, p, POOL, 7);
        free_on(&f, p, A);
        cuarena_stream_t who = plain ? CUARENA_NO_STREAM : B;
        void *q = alloc_on(&f, POOL, who);
        expect_u64(f.sim.counts[SIM_RECORD], 1);
        expect_u64(f.sim.counts[SIM_WAIT_HOST], (uint64_t)plain);
        expect_u64(f.sim.counts[SIM_WAIT], (uint64_t)!plain);
        sim_write(&f.sim, B, q, POOL, 8);
        sim_read(&f.sim, B, q, POOL, 8);
        expect_sound(&f);
        free_on(&f, q, B);
        fixture_close(&f);
    }
}
END_TEST

/* An event that is complete is found by asking: nobody waits. */
START_TEST(complete_events_cost_no_wait)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 7);
    free_on(f, p, A);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    sim_run_all(&f->sim);
    sim_calls(&f->sim);
    void *q = alloc_on(f, POOL, B);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    expect_u64(f->sim.counts[SIM_RECORD], 0);
    expect_u64(f->sim.counts[SIM_QUERY], 1);
    free_on(f, q, B);
}
END_TEST

/* A late event is behind work that came after the free; an eager one is not.
 */
START_TEST(late_events_cover_later_work_and_eager_ones_do_not)
{
    for (int eager = 0; eager < 2; eager++) {
        fixture_t f;
        prepare(&f)->events = eager ? CUARENA_EVENTS_EAGER : CUARENA_EVENTS_LATE;
        fixture_create(&f);
        void *p = alloc_on(&f, POOL / 2, A);
        void *kept = alloc_on(&f, POOL / 2, A);
        sim_write(&f.sim, A, p, POOL / 2, 7);
        free_on(&f, p, A);
        expect_u64(f.sim.counts[SIM_RECORD], (uint64_t)eager);
        sim_run_stream(&f.sim, A);
        sim_write(&f.sim, A, kept, POOL / 2, 8);
        sim_calls(&f.sim);
        uint64_t idle = 0;
        expect_ok(cuarena_reclaim(f.arena, 0, &idle));
        expect_u64(idle, eager ? POOL / 2 : 0);
        free_on(&f, kept, A);
        fixture_close(&f);
    }
}
END_TEST

/* What is freed on an eager stream after its last event needs one of its own: each free records. */
START_TEST(each_eager_free_has_its_event)
{
    fixture_t *f = new_fixture(fixture_close);
    prepare(f)->events = CUARENA_EVENTS_EAGER;
    fixture_create(f);
    void *p = alloc_on(f, POOL / 2, A);
    void *q = alloc_on(f, POOL / 2, A);
    sim_write(&f->sim, A, p, POOL / 2, 1);
    free_on(f, p, A);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL)); /* closes with its event */
    sim_write(&f->sim, A, q, POOL / 2, 2);
    free_on(f, q, A);
    use_anew(f, POOL, B);
}
END_TEST

/* ---- Own free lists --------------------------------------------------------- */

/* Rule 1: once the stream is known, its calls make none of the memory's. */
START_TEST(a_known_stream_costs_no_call)
{
    fixture_t *f = opened(SIMULATED, POOL);
    free_on(f, alloc_on(f, 256, A), A);
    sim_calls(&f->sim);
    void *held[16];
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 16; i++) {
            held[i] = alloc_on(f, KIB(1) + (uint64_t)i * 256, A);
            sim_write(&f->sim, A, held[i], 256, (uint64_t)i + 1);
        }
        for (int i = 0; i < 16; i++)
            free_on(f, held[(i * 7) % 16], A);
    }
    expect_no_calls(f);
}
END_TEST

/* Bytes freed before and after an event are in two free lists, which are one for the stream that
 * owns them. */
START_TEST(both_own_freelists_serve_together)
{
    for (int eager = 0; eager < 2; eager++) {
        fixture_t f;
        prepare(&f)->events = eager ? CUARENA_EVENTS_EAGER : CUARENA_EVENTS_LATE;
        fixture_create(&f);
        void *p = alloc_on(&f, POOL / 2, A);
        void *q = alloc_on(&f, POOL / 2, A);
        sim_write(&f.sim, A, p, POOL / 2, 1);
        free_on(&f, p, A);
        expect_ok(cuarena_reclaim(f.arena, 0, NULL));
        sim_write(&f.sim, A, q, POOL / 2, 2);
        free_on(&f, q, A);
        sim_calls(&f.sim);
        void *all = alloc_on(&f, POOL, A);
        expect_u64(f.sim.counts[SIM_WAIT_HOST], 0);
        sim_write(&f.sim, A, all, POOL, 3);
        free_on(&f, all, A);
        fixture_close(&f);
    }
}
END_TEST

/* Where own and idle ranges touch, a request may have of both. */
START_TEST(own_and_idle_bytes_serve_together)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL / 2, A);
    void *q = alloc_on(f, POOL / 2, A);
    sim_write(&f->sim, A, p, POOL / 2, 1);
    free_on(f, p, A);
    free_ok(f, q);
    sim_calls(&f->sim);
    void *all = alloc_on(f, POOL, A);
    expect_no_calls(f);
    free_on(f, all, A);
}
END_TEST

/* Its event has nothing free behind it any more; the open free list has. */
START_TEST(what_was_freed_behind_an_emptied_freelist_is_waited_for)
{
    fixture_t *f = new_fixture(fixture_close);
    prepare(f)->steal = CUARENA_STEAL_IDLE;
    fixture_create(f);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL)); /* the event */
    free_on(f, alloc_all_on(f, A), A);
    void *q = alloc_all_on(f, B);
    sim_write(&f->sim, B, q, POOL, 2);
    free_on(f, q, B);
}
END_TEST

/* A growing arena takes more rather than waits. */
START_TEST(growth_comes_before_waiting)
{
    fixture_t *f = new_fixture(fixture_close);
    prepare(f)->preset = CUARENA_PRESET_GROW;
    f->config.limit = (cuarena_amount_t){.value = 2 * POOL};
    f->config.steal = CUARENA_STEAL_IDLE;
    fixture_create(f);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    void *q = alloc_all_on(f, B);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    expect_u64(stats_of(f).reserved_bytes, 2 * POOL);
    sim_write(&f->sim, B, q, POOL, 2);
    void *r = alloc_all_on(f, B); /* now there is nothing but to wait */
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 1);
    expect_u64(stats_of(f).reserved_bytes, 2 * POOL);
    free_on(f, q, B);
    free_on(f, r, B);
}
END_TEST

/* ---- Memory that the CPU touches --------------------------------------- */

START_TEST(on_memory_of_the_host_even_the_own_stream_waits)
{
    for (int device_only = 0; device_only < 2; device_only++) {
        fixture_t f;
        fixture_prepare(&f, SIMULATED_HOST, POOL);
        f.config.device_only = device_only;
        fixture_create(&f);
        void *p = alloc_all_on(&f, A);
        sim_write(&f.sim, A, p, POOL, 1);
        free_on(&f, p, A);
        sim_calls(&f.sim);
        void *q = alloc_all_on(&f, A);
        expect_u64(f.sim.counts[SIM_WAIT_HOST], device_only ? 0 : 1);
        if (!device_only)
            sim_host_write(&f.sim, q, POOL, 2); /* the CPU may at once */
        expect_sound(&f);
        free_on(&f, q, A);
        fixture_close(&f);
    }
}
END_TEST

/* ---- Handles ----------------------------------------------------------- */

START_TEST(null_and_legacy_are_one_stream)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, NULL);
    sim_write(&f->sim, NULL, p, POOL, 1);
    free_on(f, p, CUARENA_STREAM_LEGACY);
    sim_calls(&f->sim);
    void *q = alloc_all_on(f, NULL);
    ck_assert_ptr_eq(p, q);
    expect_no_calls(f);
    expect_u64(stream_stats_of(f, CUARENA_STREAM_LEGACY).live_bytes, POOL);
    free_on(f, q, NULL);
}
END_TEST

static void *free_and_reclaim(void *user)
{
    fixture_t *f = user;
    void *p = NULL;
    cuarena_alloc_on(f->arena, POOL / 2, CUARENA_STREAM_PER_THREAD, NULL, &p);
    sim_write(&f->sim, CUARENA_STREAM_PER_THREAD, p, POOL / 2, 9);
    cuarena_free_on(f->arena, p, CUARENA_STREAM_PER_THREAD);
    return p;
}

/* Each thread's is a stream of its own: what one freed on it, another gets
 * only when it is idle. */
START_TEST(the_per_thread_stream_is_each_threads_own)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL / 2, CUARENA_STREAM_PER_THREAD);
    pthread_t thread;
    void *q = NULL;
    pthread_create(&thread, NULL, free_and_reclaim, f);
    pthread_join(thread, &q);
    sim_calls(&f->sim);
    void *r = alloc_on(f, POOL / 2, CUARENA_STREAM_PER_THREAD);
    ck_assert_ptr_eq(r, q);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    expect_u64(f->sim.counts[SIM_RECORD], 0); /* not on another's stream */
    sim_write(&f->sim, CUARENA_STREAM_PER_THREAD, r, POOL / 2, 10);
    free_on(f, r, CUARENA_STREAM_PER_THREAD);
    free_on(f, p, CUARENA_STREAM_PER_THREAD);
}
END_TEST

/* Threads come and go; their default streams cannot be released then. */
START_TEST(default_streams_of_threads_that_ended_need_no_number)
{
    fixture_t *f = opened(SIMULATED, POOL);
    for (int i = 0; i < CUARENA_MAX_STREAMS + 20; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, free_and_reclaim, f);
        pthread_join(thread, NULL);
        sim_run_all(&f->sim);
    }
    void *p = alloc_on(f, POOL / 2, A);
    free_on(f, p, A);
}
END_TEST

static void *alloc_on_the_threads_own(void *user)
{
    fixture_t *f = user;
    (void)alloc_on(f, 256, CUARENA_STREAM_PER_THREAD);
    expect_u64(stream_stats_of(f, CUARENA_STREAM_PER_THREAD).live_blocks, 1);
    return NULL;
}

/* Of addresses that nothing stands behind: any number is one, and its work is done. */
START_TEST(streams_of_no_memory_are_labels)
{
    static const cuarena_stream_t handles[] = {NULL, CUARENA_STREAM_LEGACY, A, B,
                                               CUARENA_STREAM_PER_THREAD};
    static const uint64_t live[] = {2, 2, 1, 1, 1};
    pthread_t thread;
    fixture_t *f = new_fixture(fixture_close_forced);
    fixture_open(f, KIND_NONE_POOL, POOL);
    for (size_t i = 0; i < COUNT_OF(handles); i++)
        (void)alloc_on(f, 256, handles[i]);
    pthread_create(&thread, NULL, alloc_on_the_threads_own, f);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < COUNT_OF(handles); i++)
        expect_u64(stream_stats_of(f, handles[i]).live_blocks, live[i]);
    free_on(f, alloc_on(f, POOL / 2, A), A);
    free_on(f, alloc_on(f, POOL / 2, B), B);
    reclaim_idle(f);
    expect_u64(stream_stats_of(f, B).free_bytes, 0);
    free_ok(f, alloc_ok(f, POOL / 2));
    expect_u64(stats_of(f).host_waits, 0);
    expect_u64(stats_of(f).driver_calls, 0);
}
END_TEST

START_TEST(streams_are_limited_and_released_ones_do_not_count)
{
    fixture_t *f = opened(SIMULATED, POOL);
    for (uint32_t i = 0; i <= CUARENA_MAX_STREAMS; i++)
        sim_stream_make(&f->sim, sim_handle(10 + i));
    for (uint32_t i = 0; i < CUARENA_MAX_STREAMS; i++) {
        void *p = alloc_on(f, 256, sim_handle(10 + i));
        sim_write(&f->sim, sim_handle(10 + i), p, 256, 1);
        free_on(f, p, sim_handle(10 + i));
    }
    cuarena_stream_t more = sim_handle(10 + CUARENA_MAX_STREAMS);
    void *p = NULL;
    expect_status(cuarena_alloc_on(f->arena, 256, more, NULL, &p), CUARENA_LIMIT);
    expect_u64(stats_of(f).failed, 1);
    expect_ok(cuarena_release_stream(f->arena, sim_handle(10)));
    expect_status(cuarena_alloc_on(f->arena, 256, more, NULL, &p),
                  CUARENA_LIMIT); /* its work is under way */
    sim_run_all(&f->sim);
    expect_ok(cuarena_alloc_on(f->arena, 256, more, NULL, &p));
    free_on(f, p, more);
}
END_TEST

START_TEST(a_released_stream_counts_while_a_block_of_it_lives)
{
    void *blocks[CUARENA_MAX_STREAMS];
    fixture_t *f = opened(SIMULATED, POOL);
    for (uint32_t i = 0; i < CUARENA_MAX_STREAMS; i++) {
        cuarena_stream_t s = sim_handle(10 + i);
        sim_stream_make(&f->sim, s);
        blocks[i] = alloc_on(f, 256, s);
        expect_ok(cuarena_release_stream(f->arena, s));
        sim_stream_kill(&f->sim, s);
    }
    cuarena_stream_t more = sim_handle(10 + CUARENA_MAX_STREAMS);
    sim_stream_make(&f->sim, more);
    void *p = NULL;
    expect_status(cuarena_alloc_on(f->arena, 256, more, NULL, &p), CUARENA_LIMIT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "released and have blocks"));
    free_ok(f, blocks[5]);
    sim_run_all(&f->sim);
    expect_ok(cuarena_alloc_on(f->arena, 256, more, NULL, &p));
    free_on(f, p, more);
    for (uint32_t i = 0; i < CUARENA_MAX_STREAMS; i++)
        if (i != 5)
            free_ok(f, blocks[i]);
}
END_TEST

/* ---- What cannot be done ----------------------------------------------- */

START_TEST(memories_without_streams_say_so)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->sim.ops.identify = NULL;
    f->sim.ops.record_event = NULL;
    f->sim.ops.query_event = NULL;
    f->sim.ops.wait_event = NULL;
    f->sim.ops.end_event = NULL;
    fixture_create(f);
    void *p = alloc_ok(f, 256);
    void *q = NULL;
    expect_status(cuarena_alloc_on(f->arena, 256, A, NULL, &q), CUARENA_UNSUPPORTED);
    ck_assert_ptr_null(q);
    expect_status(cuarena_free_on(f->arena, p, A), CUARENA_UNSUPPORTED);
    expect_status(cuarena_record_use(f->arena, p, A), CUARENA_UNSUPPORTED);
    expect_ok(cuarena_release_stream(f->arena, A)); /* is not known */
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_status(cuarena_stream_stats(f->arena, A, &stats), CUARENA_STALE);
    expect_ok(cuarena_alloc_on(f->arena, 256, CUARENA_NO_STREAM, NULL, &q));
    expect_ok(cuarena_free_on(f->arena, q, CUARENA_NO_STREAM));
    free_ok(f, p);
}
END_TEST

static void expect_message_names(const void *what)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    cuarena_last_error_info(&info);
    char text[32];
    snprintf(text, sizeof text, "%p", what);
    if (strstr(info.message, text) == NULL)
        ck_abort_msg("'%s' does not name %s", info.message, text);
}

START_TEST(streams_that_cannot_be_used_are_named)
{
    fixture_t *f = opened(SIMULATED, POOL);
    sim_stream_of(&f->sim, A)->capturing = true;
    sim_stream_of(&f->sim, B)->foreign = true;
    void *p = alloc_ok(f, 256);
    void *q = NULL;
    expect_status(cuarena_alloc_on(f->arena, 256, A, NULL, &q), CUARENA_UNSUPPORTED);
    expect_message_names((void *)A);
    expect_status(cuarena_free_on(f->arena, p, B), CUARENA_BAD_ARGUMENT);
    expect_message_names((void *)B);
    expect_u64(stats_of(f).live_blocks, 1);
    sim_stream_of(&f->sim, A)->capturing = false;
    free_on(f, p, A);
    expect_status(cuarena_alloc_on(NULL, 1, A, NULL, &q), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_alloc_on(f->arena, 1, A, NULL, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_free_on(NULL, p, A), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_free_on(f->arena, p, A), CUARENA_STALE);
    expect_ok(cuarena_free_on(f->arena, NULL, A));
    expect_status(cuarena_record_use(f->arena, p, A), CUARENA_STALE);
    expect_status(cuarena_block_record_use(f->arena, 12345, A), CUARENA_STALE);
    expect_status(cuarena_stream_stats(f->arena, A, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- Counts ------------------------------------------------------------ */

START_TEST(streams_have_counts)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, 1000, A);
    void *q = alloc_on(f, 3000, A);
    void *r = alloc_on(f, 500, B);
    free_on(f, q, B);
    cuarena_stats_t a = stream_stats_of(f, A);
    cuarena_stats_t b = stream_stats_of(f, B);
    expect_u64(a.live_bytes, 1024);
    expect_u64(a.requested_bytes, 1000);
    expect_u64(a.live_blocks, 1);
    expect_u64(a.peak_live_bytes, 1024 + 3072);
    expect_u64(a.peak_requested_bytes, 4000);
    expect_u64(a.peak_live_blocks, 2);
    expect_u64(a.allocs, 2);
    expect_u64(a.frees, 1);
    expect_u64(a.free_bytes, 0);
    expect_u64(b.live_bytes, 512);
    expect_u64(b.free_bytes, 3072);
    free_on(f, p, A);
    free_ok(f, r);
}
END_TEST

/* What a block gives up is for the stream that shortens it, and counts for the one that it was
 * allocated on; that one may have its own back. */
START_TEST(a_resize_in_place_costs_no_call)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL, A);
    void *q = NULL;
    void *of_b = NULL;
    sim_write(&f->sim, A, p, POOL, 1);
    (void)sim_calls(&f->sim);
    expect_ok(cuarena_resize_on(f->arena, p, POOL / 4 - 1, A, &q));
    ck_assert_ptr_eq(q, p);
    expect_u64(stream_stats_of(f, A).live_bytes, POOL / 4);
    expect_u64(stream_stats_of(f, A).requested_bytes, POOL / 4 - 1);
    expect_u64(stream_stats_of(f, A).free_bytes, POOL / 4 * 3);
    expect_ok(cuarena_resize_on(f->arena, p, POOL, A, &q));
    ck_assert_ptr_eq(q, p);
    expect_u64(stream_stats_of(f, A).live_bytes, POOL);
    expect_u64(stream_stats_of(f, A).peak_live_bytes, POOL);
    expect_u64(stream_stats_of(f, A).free_bytes, 0);
    expect_no_calls(f);
    sim_sync_all(&f->sim);
    for (uint64_t i = 1; i <= 2; i++) { /* at first sight, and later */
        expect_ok(cuarena_resize_on(f->arena, p, POOL / 2 / i, B, &q));
        ck_assert_ptr_eq(q, p);
        expect_u64(stream_stats_of(f, A).live_bytes, POOL / 2 / i);
        expect_u64(stream_stats_of(f, B).free_bytes, POOL - POOL / 2 / i);
    }
    expect_ok(cuarena_alloc_on(f->arena, POOL / 4 * 3, B, NULL, &of_b));
    expect_sound(f);
    free_on(f, of_b, B);
    free_on(f, p, B);
}
END_TEST

/* Dedicated blocks are the stream's too, but their segments are no free list's. */
START_TEST(dedicated_blocks_go_back_when_their_stream_is_done)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    void *p = NULL;
    expect_ok(cuarena_alloc_on(f->arena, KIB(8), A, &request, &p));
    expect_u64(stream_stats_of(f, A).live_bytes, KIB(8));
    sim_write(&f->sim, A, p, KIB(8), 1);
    free_on(f, p, A);
    expect_u64(f->sim.counts[SIM_GIVE_BACK], 0);
    expect_status(cuarena_free(f->arena, p), CUARENA_STALE);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    expect_u64(f->sim.counts[SIM_GIVE_BACK], 0);
    sim_run_all(&f->sim);
    uint64_t idle = 99;
    expect_ok(cuarena_reclaim(f->arena, 0, &idle));
    expect_u64(idle, 0); /* it went back; it is nobody's */
    expect_u64(f->sim.counts[SIM_GIVE_BACK], 1);
    expect_u64(stats_of(f).reserved_bytes, POOL);
}
END_TEST

/* ---- Zeroing ----------------------------------------------------------- */

/* Zeroed at allocation, on the stream: what the stream reads is 0, whatever
 * was there. */
START_TEST(zeroed_blocks_are_zero_on_their_stream)
{
    for (int always = 0; always < 2; always++) {
        fixture_t f;
        prepare(&f)->zero = always ? CUARENA_ZERO_ALLOC : CUARENA_ZERO_NEVER;
        fixture_create(&f);
        cuarena_request_t request;
        cuarena_request_init(&request);
        request.zeroed = !always;
        void *p = alloc_all_on(&f, A);
        sim_write(&f.sim, A, p, POOL, 1);
        free_on(&f, p, A);
        void *q = NULL;
        sim_calls(&f.sim);
        expect_ok(cuarena_alloc_on(f.arena, POOL, A, &request, &q));
        expect_u64(f.sim.counts[SIM_ZERO], 1);
        sim_read_zero(&f.sim, A, q, POOL);
        free_on(&f, q, A);
        fixture_close(&f);
    }
}
END_TEST

/* Zeroed when freed: whoever gets the bytes reads 0, with late and eager events. */
START_TEST(bytes_are_zero_before_others_have_them)
{
    for (int eager = 0; eager < 2; eager++)
        for (int used = 0; used < 2; used++)
            for (uint64_t run = 0; run < 5; run++) {
                fixture_t f;
                prepare(&f)->zero = CUARENA_ZERO_FREE;
                f.config.events = eager ? CUARENA_EVENTS_EAGER : CUARENA_EVENTS_LATE;
                fixture_create(&f);
                void *p = alloc_all_on(&f, A);
                sim_write(&f.sim, A, p, POOL, 1);
                if (used) {
                    sim_order(&f.sim, C, A);
                    sim_write(&f.sim, C, p, POOL, 2);
                    expect_ok(cuarena_record_use(f.arena, p, C));
                }
                free_on(&f, p, A);
                sim_run(&f.sim, run);
                void *q = alloc_all_on(&f, B);
                sim_read_zero(&f.sim, B, q, POOL);
                expect_sound(&f);
                sim_run_all(&f.sim);
                expect_ok(cuarena_free_on(f.arena, q, B));
                fixture_close(&f);
            }
}
END_TEST

/* ---- Failures ---------------------------------------------------------- */

static void small_program(fixture_t *f)
{
    void *p = NULL;
    void *q = NULL;
    cuarena_stream_t s[] = {A, B, C, CUARENA_STREAM_PER_THREAD};
    for (uint64_t i = 0; i < 24; i++) {
        cuarena_stream_t on = s[i % 4];
        if (cuarena_alloc_on(f->arena, KIB(12) + i * 512, on, NULL, &p) != CUARENA_OK)
            continue;
        sim_write(&f->sim, on, p, 256, i + 1);
        if (i % 3 == 0)
            cuarena_record_use(f->arena, p, s[(i + 1) % 4]);
        if (cuarena_resize_on(f->arena, p, KIB(4) + i * 1024, on, &q) == CUARENA_OK)
            p = q;
        expect_sound(f);
        if (cuarena_free_on(f->arena, p, on) != CUARENA_OK) {
            expect_sound(f);
            sim_sync_all(&f->sim);
            expect_ok(cuarena_free(f->arena, p));
        }
        if (i % 7 == 6)
            cuarena_reclaim(f->arena, i % 2, NULL);
        if (i % 11 == 10)
            cuarena_release_stream(f->arena, B);
        if (i % 5 == 4)
            cuarena_trim(f->arena, 0, NULL);
        sim_run(&f->sim, 2);
        expect_sound(f);
    }
}

/* Each call of the memory fails once: nothing is lost, and nothing unordered happens for it. */
START_TEST(a_call_that_fails_changes_nothing)
{
    static const sim_op_t ops[] = {SIM_IDENTIFY,  SIM_RECORD, SIM_QUERY,    SIM_WAIT,
                                   SIM_WAIT_HOST, SIM_ZERO,   SIM_RELOCATE, SIM_RECORD_ALL};
    int32_t zero = _i % 2 == 0 ? CUARENA_ZERO_NEVER : CUARENA_ZERO_ALLOC;
    int32_t event = _i / 2 == 0 ? CUARENA_EVENTS_LATE : CUARENA_EVENTS_EAGER;
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        bool fired = true;
        for (uint64_t in = 1; fired && in < 200; in++) {
            fixture_t f;
            prepare(&f)->zero = zero;
            f.config.events = event;
            fixture_create(&f);
            sim_fail(&f.sim, (int32_t)ops[op], in, CUARENA_DRIVER);
            small_program(&f);
            fired = f.sim.fail_in == 0;
            f.sim.fail_in = 0;
            expect_u64(stats_of(&f).live_blocks - (uint64_t)(stats_of(&f).live_blocks != 0), 0);
            sim_run_all(&f.sim);
            expect_ok(cuarena_reclaim(f.arena, 1, NULL));
            expect_u64(stats_of(&f).live_blocks, 0);
            free_ok(&f, alloc_ok(&f, POOL));
            fixture_close(&f);
        }
    }
}
END_TEST

/* A lost arena: frees, questions and destroy work, and ask nothing of it. */
START_TEST(a_lost_arena_ends_without_its_memory)
{
    fixture_t f;
    fixture_open(&f, SIMULATED, POOL);
    cuarena_block_t row[4];
    alloc_row_on(&f, row, 4, A);
    void *q = address_of(&f, row[3]);
    expect_ok(cuarena_block_record_use(f.arena, row[3], B));
    sim_write(&f.sim, B, q, KIB(4), 1);
    expect_ok(cuarena_block_free_on(f.arena, row[3], A));
    expect_ok(cuarena_block_free_on(f.arena, row[0], A));
    sim_fail(&f.sim, SIM_RELOCATE, 1, CUARENA_DRIVER);
    f.sim.fail_done = 1;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = A;
    expect_status(cuarena_compact(f.arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
    expect_status(cuarena_reclaim(f.arena, 1, NULL), CUARENA_LOST);
    void *none = NULL;
    expect_status(cuarena_alloc_on(f.arena, 256, A, NULL, &none), CUARENA_LOST);
    sim_calls(&f.sim);
    expect_ok(cuarena_block_free_on(f.arena, row[1], C)); /* unknown */
    expect_ok(cuarena_block_free_on(f.arena, row[2], A));
    stats_of(&f);
    expect_ok(cuarena_release_stream(f.arena, A));
    expect_no_calls(&f);
    sim_sync(&f.sim, A);
    sim_sync(&f.sim, B);
    fixture_close(&f);
    expect_u64(f.sim.counts[SIM_RECORD] + f.sim.counts[SIM_QUERY] + f.sim.counts[SIM_WAIT_HOST] +
                   f.sim.counts[SIM_RECORD_ALL],
               0);
}
END_TEST

/* ---- The lock ---------------------------------------------------------- */

static void *ask_arena(void *user)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    cuarena_stats(user, CUARENA_REGION_ALL, &stats);
    return NULL;
}

/* Deadlocks, until the test's time is over, if the lock is held. */
static void call_from_elsewhere(sim_t *sim, sim_op_t op)
{
    cuarena_t **arena = sim->hook_user;
    pthread_t thread;
    (void)op;
    if (*arena == NULL)
        return;
    pthread_create(&thread, NULL, ask_arena, *arena);
    pthread_join(thread, NULL);
}

START_TEST(no_call_of_the_memory_is_made_with_the_lock_held)
{
    fixture_t *f = new_fixture(fixture_close);
    prepare(f)->events = _i == 0 ? CUARENA_EVENTS_LATE : CUARENA_EVENTS_EAGER;
    f->config.zero = _i == 2 ? CUARENA_ZERO_FREE : CUARENA_ZERO_NEVER;
    fixture_create(f);
    f->sim.hook = call_from_elsewhere;
    f->sim.hook_user = &f->arena;
    small_program(f);
    cuarena_block_t block = alloc_block_on(f, KIB(8), A);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = B;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_ok(cuarena_block_free_on(f->arena, block, C));
    expect_ok(cuarena_reset(f->arena));
    f->sim.hook = NULL;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams");
    suite_add_list(
        suite, "frees",
        TEST_LIST(a_free_means_what_the_table_says,
                  other_freelists_get_bytes_when_the_event_is_complete,
                  complete_events_cost_no_wait, late_events_cover_later_work_and_eager_ones_do_not,
                  each_eager_free_has_its_event, a_known_stream_costs_no_call,
                  both_own_freelists_serve_together, own_and_idle_bytes_serve_together,
                  what_was_freed_behind_an_emptied_freelist_is_waited_for,
                  growth_comes_before_waiting, on_memory_of_the_host_even_the_own_stream_waits));
    suite_add_list(suite, "handles",
                   TEST_LIST(null_and_legacy_are_one_stream,
                             the_per_thread_stream_is_each_threads_own,
                             default_streams_of_threads_that_ended_need_no_number,
                             streams_of_no_memory_are_labels,
                             streams_are_limited_and_released_ones_do_not_count,
                             a_released_stream_counts_while_a_block_of_it_lives));
    suite_add_list(suite, "rest",
                   TEST_LIST(memories_without_streams_say_so, streams_that_cannot_be_used_are_named,
                             streams_have_counts, a_resize_in_place_costs_no_call,
                             dedicated_blocks_go_back_when_their_stream_is_done,
                             zeroed_blocks_are_zero_on_their_stream,
                             bytes_are_zero_before_others_have_them,
                             a_lost_arena_ends_without_its_memory));
    TCase *failures = suite_add_case(suite, "failures");
    tcase_set_timeout(failures, scale_timeout(120));
    tcase_set_tags(failures, "long"); /* and without threads */
    tcase_add_loop_test(failures, a_call_that_fails_changes_nothing, 0, 4);
    suite_add_rows(suite, "lock", no_call_of_the_memory_is_made_with_the_lock_held, 3);
    return suite_main(suite);
}
