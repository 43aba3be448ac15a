/*
 * Capture sessions, on streams that are simulated: whose private bytes are, how they are taken, and
 * what stays away from them.
 */
#include "support/base_support.h"
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/scale.h"

#include <pthread.h>
#include <stdio.h>

#define POOL KIB(64)

/* ---- Support ----------------------------------------------------------- */

/* Whether there is room; if not, there may be as many bytes apart. */
#define expect_room(is_there, call)                                                                \
    do {                                                                                           \
        cuarena_status_t came_ = (call);                                                           \
        if ((is_there) || came_ != CUARENA_FRAGMENTED)                                             \
            expect_status_at(came_, (is_there) ? CUARENA_OK : CUARENA_OUT_OF_MEMORY, #call,        \
                             __FILE__, __LINE__);                                                  \
    } while (0)
#define expect_no_room(call) expect_room(false, call)

/* ---- Whose bytes they are ---------------------------------------------- */

START_TEST(private_bytes_serve_the_same_stream_again)
{
    fixture_t *f = opened(SIMULATED, POOL);
    free_on(f, alloc_on(f, KIB(1), A), A); /* it is known */
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    sim_calls(&f->sim);
    void *p = alloc_on(f, KIB(32), A);
    free_on(f, p, A);
    ck_assert_ptr_eq(alloc_on(f, KIB(32), A), p);
    free_on(f, p, A);
    expect_no_calls(f);
    void *q = alloc_on(f, KIB(16), A); /* of what p left */
    ck_assert(q >= p && (char *)q < (char *)p + KIB(32));
    free_on(f, q, A);
    expect_u64(session_stats_of(f, session).capacity_bytes, KIB(32));
    capture(f, A, false);
    end_of(f, session);
    release_to(f, &session, A);
    ck_assert_ptr_nonnull(alloc_on(f, POOL, A));
    expect_untouched(f);
    fixture_close_forced(f);
}
END_TEST

/* On memory with pages that go back one by one: above the hole that x leaves lie private bytes with
 * room for the request. */
START_TEST(growth_does_not_count_on_private_bytes)
{
    const uint64_t page = KIB(64);
    cuarena_t *arena;
    cuarena_capture_t *session;
    cuarena_block_t x, y, z;
    expect_ok(cuarena_open("memory=none, pool=8MiB", &arena));
    expect_ok(cuarena_capture_begin(arena, A, &session));
    expect_ok(cuarena_block_alloc(arena, page * 31 / 2, &x));
    expect_ok(cuarena_block_alloc_on(arena, page * 25, A, NULL, &y));
    expect_ok(cuarena_block_free_on(arena, x, B));
    expect_ok(cuarena_block_free_on(arena, y, A));
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_ok(cuarena_block_alloc_on(arena, page * 57 / 4, B, NULL, &z));
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_block_free_on(arena, z, B));
    expect_ok(cuarena_capture_end(arena, session));
    expect_ok(cuarena_capture_release(arena, &session, A));
    expect_ok(cuarena_destroy_forced(&arena));
}
END_TEST

/* Each try for a request on a captured stream takes bytes for its session, and gives them back. */
START_TEST(a_captured_stream_is_told_of_the_limit_of_blocks)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.max_blocks = 2;
    fixture_create(f);
    cuarena_capture_t *session = begin_on(f, A);
    void *p = alloc_ok(f, KIB(1));
    void *q = alloc_ok(f, KIB(1));
    cuarena_block_t block;
    expect_status(cuarena_block_alloc_on(f->arena, KIB(1), A, NULL, &block), CUARENA_LIMIT);
    expect_sound(f);
    free_ok(f, p);
    free_ok(f, q);
    end_of(f, session);
    release_to(f, &session, A);
}
END_TEST

/* Rows: freed while open, and after the end. Columns: without a stream, on the block's own, on one
 * of the session's, on one that has nothing to do with it.
 */
START_TEST(whoever_frees_a_private_block_leaves_it_to_the_session)
{
    static const cuarena_stream_t on[] = {CUARENA_NO_STREAM, A, B, C};
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 4; column++) {
            fixture_t f;
            fixture_open(&f, SIMULATED, POOL);
            cuarena_capture_t *session = begin_on(&f, A);
            expect_ok(cuarena_capture_join(f.arena, session, B));
            void *p = alloc_on(&f, KIB(48), A);
            if (row == 1)
                end_of(&f, session);
            expect_ok(cuarena_free_on(f.arena, p, on[column]));
            expect_sound(&f);
            expect_u64(session_stats_of(&f, session).free_bytes, KIB(48));
            expect_no_room(try_on(&f, KIB(32), CUARENA_NO_STREAM, NULL));
            expect_no_room(try_on(&f, KIB(32), C, NULL));
            /* The stream that may have it again, while the session is open. */
            bool on_a = row == 0 && column < 2;
            bool on_b = row == 0 && column == 2;
            expect_room(on_a, try_on(&f, KIB(48), A, NULL));
            expect_room(on_b, try_on(&f, KIB(48), B, NULL));
            release_to(&f, &session, A);
            expect_ok(try_on(&f, POOL, A, NULL));
            fixture_close(&f);
        }
}
END_TEST

/* No block of anybody else comes from them, and none of theirs from others'. */
START_TEST(sessions_share_nothing)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *one = begin_on(f, A);
    cuarena_capture_t *other = begin_on(f, B);
    void *p = alloc_on(f, KIB(32), A);
    free_on(f, p, A);
    expect_no_room(try_on(f, KIB(33), B, NULL));
    void *q = alloc_on(f, KIB(32), B);
    ck_assert_ptr_ne(p, q);
    end_of(f, one);
    expect_no_room(try_on(f, KIB(1), A, NULL));
    release_to(f, &one, C);
    expect_ok(try_on(f, KIB(32), C, NULL));
    expect_u64(session_stats_of(f, other).live_bytes, KIB(32));
    free_on(f, q, B);
    release_to(f, &other, B); /* ends it too */
}
END_TEST

START_TEST(bytes_that_others_use_too_wait_for_the_release)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    expect_ok(cuarena_capture_join(f->arena, session, B));
    void *p = alloc_on(f, KIB(48), A);
    expect_ok(cuarena_record_use(f->arena, p, B));
    free_on(f, p, A);
    expect_no_room(try_on(f, KIB(48), A, NULL));
    expect_no_room(try_on(f, KIB(48), B, NULL));
    void *q = alloc_on(f, KIB(8), A);
    expect_ok(cuarena_record_use(f->arena, q, B));
    free_on(f, q, B); /* A alone used it besides: the caller ordered B */
    ck_assert_ptr_eq(alloc_on(f, KIB(8), B), q);
    free_on(f, q, B);
    release_to(f, &session, A);
}
END_TEST

/* The order of a stream does not bind the CPU, which may write to what it was just given while the
 * graph reads it. */
START_TEST(where_the_cpu_touches_nothing_is_reused)
{
    fixture_t *f = prepared(SIMULATED_HOST, POOL);
    fixture_create(f);
    cuarena_capture_t *session = begin_on(f, A);
    void *p = alloc_on(f, KIB(16), A);
    free_on(f, p, A);
    void *q = alloc_on(f, KIB(16), A);
    ck_assert_ptr_ne(p, q);
    free_on(f, q, A);
    release_to(f, &session, CUARENA_NO_STREAM);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

/* ---- How they are taken ------------------------------------------------ */

/* Requests of 1 KiB: stretches of 1, 1, 2, 4, ... until an eighth of what is idle is less. */
START_TEST(stretches_double_up_to_a_share_of_what_is_idle)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    static const uint64_t held[] = {1, 2, 4, 4, 8, 8, 8, 8, 15, 15};
    for (int i = 0; i < 10; i++) {
        alloc_on(f, KIB(1), A);
        expect_u64(session_stats_of(f, session).capacity_bytes >> 10, held[i]);
    }
    expect_u64(session_stats_of(f, session).largest_bytes, KIB(5));
    expect_u64(stats_of(f).captured_bytes, KIB(15));
    expect_u64(stats_of(f).captures, 1);
    end_of(f, session); /* what was never handed out goes back */
    expect_u64(session_stats_of(f, session).capacity_bytes, KIB(10));
    expect_u64(session_stats_of(f, session).largest_bytes, 0);
    void *rest = alloc_ok(f, POOL - KIB(10));
    free_ok(f, rest);
    fixture_close_forced(f);
}
END_TEST

START_TEST(what_was_handed_out_once_stays)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    void *p[4];
    for (int i = 0; i < 4; i++)
        p[i] = alloc_on(f, KIB(1), A);
    for (int i = 0; i < 4; i++)
        free_on(f, p[i], A);
    end_of(f, session);
    expect_u64(session_stats_of(f, session).capacity_bytes, KIB(4));
    expect_no_room(try_on(f, POOL - KIB(3), B, NULL));
    expect_ok(try_on(f, POOL - KIB(4), B, NULL));
    release_to(f, &session, B);
}
END_TEST

/* Before a request of somebody else finds no room. */
START_TEST(others_get_what_was_never_handed_out)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    for (int i = 0; i < 9; i++)
        alloc_on(f, KIB(1), A);
    expect_u64(session_stats_of(f, session).capacity_bytes, KIB(15));
    void *p = alloc_ok(f, POOL - KIB(9));
    expect_u64(session_stats_of(f, session).capacity_bytes, KIB(9));
    expect_no_room(try_on(f, KIB(1), A, NULL));
    free_ok(f, p);
    alloc_on(f, KIB(1), A);
    fixture_close_forced(f);
}
END_TEST

/* As much as a request needs, though a stretch would be longer. */
START_TEST(a_request_may_have_the_last_bytes)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    alloc_on(f, KIB(32), A);
    alloc_on(f, KIB(32), A);
    expect_u64(session_stats_of(f, session).capacity_bytes, POOL);
    fixture_close_forced(f);
}
END_TEST

START_TEST(sessions_grow_the_arena)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.preset = CUARENA_PRESET_GROW;
    fixture_create(f);
    expect_u64(stats_of(f).reserved_bytes, 0);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    alloc_on(f, KIB(12), A);
    alloc_on(f, KIB(12), A);
    void *p = alloc_on(f, KIB(4), A);
    expect_u64(stats_of(f).reserved_bytes, KIB(28));
    free_on(f, p, A);
    uint64_t given = 1;
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(given, 0);
    expect_untouched(f);
    capture(f, A, false);
    release_to(f, &session, CUARENA_NO_STREAM);
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(given, KIB(4));
    fixture_close_forced(f);
}
END_TEST

START_TEST(alignment_is_kept)
{
    fixture_t *f = opened(SIMULATED, POOL);
    alloc_ok(f, 256);
    cuarena_capture_t *session = begin_on(f, A);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.alignment = KIB(16);
    void *p = NULL;
    for (int i = 0; i < 2; i++) {
        expect_ok(cuarena_alloc_on(f->arena, KIB(1), A, &request, &p));
        expect_u64((uintptr_t)p % KIB(16), 0);
        expect_sound(f);
    }
    expect_between(session_stats_of(f, session).capacity_bytes, KIB(2), KIB(32));
    fixture_close_forced(f);
}
END_TEST

/* Stable requests: of the stable region, where there is one. */
START_TEST(stable_blocks_are_private_too)
{
    for (int region = 0; region < 2; region++) {
        fixture_t f;
        fixture_prepare(&f, SIMULATED, POOL);
        f.config.stable.value = region == 0 ? 0 : KIB(16);
        fixture_create(&f);
        cuarena_capture_t *session = begin_on(&f, A);
        cuarena_request_t request;
        cuarena_request_init(&request);
        request.region = CUARENA_REGION_STABLE;
        void *p = NULL;
        void *q = NULL;
        expect_ok(cuarena_alloc_on(f.arena, KIB(12), A, &request, &p));
        expect_sound(&f);
        free_on(&f, p, A);
        cuarena_status_t status = cuarena_alloc_with(f.arena, KIB(12), &request, &q);
        expect_status(status, region == 0 ? CUARENA_OK : CUARENA_OUT_OF_MEMORY);
        ck_assert_ptr_ne(p, q);
        expect_ok(cuarena_alloc_on(f.arena, KIB(12), A, &request, &q));
        ck_assert_ptr_eq(p, q);
        free_on(&f, q, A);
        release_to(&f, &session, A);
        expect_ok(cuarena_alloc_on(f.arena, KIB(12), A, &request, &q));
        expect_sound(&f);
        fixture_close_forced(&f);
    }
}
END_TEST

/* ---- What stays away from them ----------------------------------------- */

/* A row of eight: hole, a private block without a pin, hole, a block of nobody, hole, one that the
 * captured stream had before, two of nobody. The first of nobody moves, and when the stream is
 * ordinary again all after it do. */
START_TEST(compaction_leaves_alone_what_a_capture_holds)
{
    for (int on_stream = 0; on_stream < 2; on_stream++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        cuarena_stream_t stream = on_stream ? B : CUARENA_NO_STREAM;
        cuarena_block_t row[8];
        alloc_row_on(&f, row, 8, CUARENA_NO_STREAM);
        expect_ok(cuarena_block_free(f.arena, row[5]));
        cuarena_block_t own = alloc_block_on(&f, KIB(8), A);
        sim_host_write(&f.sim, address_of(&f, row[3]), KIB(8), 7);
        sim_write(&f.sim, A, address_of(&f, own), KIB(8), 70);
        expect_ok(cuarena_block_free(f.arena, row[1]));
        cuarena_capture_t *session = begin_on(&f, A);
        capture(&f, A, true);
        cuarena_block_t held = alloc_block_on(&f, KIB(8), A);
        for (int i = 0; i < 5; i += 2)
            expect_ok(cuarena_block_free(f.arena, row[i]));
        void *private_place = address_of(&f, held);
        cuarena_compact_report_t report;
        compact_on(&f, stream, &report);
        expect_u64(report.moves, 1);
        sim_read(&f.sim, B, address_of(&f, row[3]), KIB(8), 7);
        cuarena_inspection_t seen;
        cuarena_inspection_init(&seen);
        expect_ok(cuarena_inspect(f.arena, CUARENA_REGION_DYNAMIC, &seen));
        expect_u64(seen.pinned_bytes, KIB(8));
        expect_untouched(&f);
        capture(&f, A, false);
        end_of(&f, session);
        compact_on(&f, stream, &report);
        expect_u64(report.moves, 3);
        ck_assert_ptr_eq(address_of(&f, held), private_place);
        sim_read(&f.sim, B, address_of(&f, own), KIB(8), 70);
        sim_run_all(&f.sim);
        fixture_close_forced(&f);
    }
}
END_TEST

/* The upper half of the pool, without a stream, moved to the lower one on B. */
static cuarena_block_t move_on_b(fixture_t *f, uint64_t seed)
{
    cuarena_block_t row[2];
    cuarena_compact_report_t report;
    free_on(f, alloc_on(f, KIB(1), A), A); /* it is known */
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    alloc_row_on(f, row, 2, CUARENA_NO_STREAM);
    sim_host_write(&f->sim, address_of(f, row[1]), POOL / 2, seed);
    expect_ok(cuarena_block_free(f->arena, row[0]));
    compact_on(f, B, &report);
    expect_u64(report.moves, 1);
    return row[1];
}

/* An ordinary block whose copy A did not wait for is freed on A while that is captured: A has its
 * bytes when the session has ended, behind the copy. */
START_TEST(copies_that_a_captured_stream_missed_are_waited_for_at_the_end)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_block_t block = move_on_b(f, 5);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    expect_ok(cuarena_block_free_on(f->arena, block, A));
    expect_sound(f);
    expect_untouched(f);
    capture(f, A, false);
    uint64_t waits = f->sim.counts[SIM_WAIT];
    end_of(f, session);
    expect_u64(f->sim.counts[SIM_WAIT], waits + 1);
    void *p = alloc_on(f, POOL / 2, A);
    sim_write(&f->sim, A, p, POOL / 2, 6);
    sim_read(&f->sim, A, p, POOL / 2, 6);
    sim_sync_all(&f->sim);
    fixture_close_forced(f);
}
END_TEST

/* Bytes freed on a stream before its capture: nobody else has them until a event can be
 * recorded. */
START_TEST(work_from_before_is_waited_for_after_the_end)
{
    for (int eager = 0; eager < 2; eager++) {
        fixture_t f;
        fixture_prepare(&f, SIMULATED, POOL);
        f.config.events = eager ? CUARENA_EVENTS_EAGER : CUARENA_EVENTS_LATE;
        fixture_create(&f);
        void *p = alloc_on(&f, POOL / 2, A);
        void *q = alloc_on(&f, POOL / 2, A);
        sim_write(&f.sim, A, p, POOL / 2, 1);
        sim_write(&f.sim, A, q, POOL / 2, 2);
        free_on(&f, p, A);
        cuarena_capture_t *session = begin_on(&f, A);
        capture(&f, A, true);
        free_on(&f, q, A);
        expect_no_room(try_on(&f, POOL, B, NULL));
        expect_ok(cuarena_reclaim(f.arena, 1, NULL));
        expect_ok(cuarena_trim(f.arena, UINT64_MAX, NULL));
        expect_sound(&f);
        expect_untouched(&f);
        capture(&f, A, false);
        end_of(&f, session);
        void *all = alloc_on(&f, POOL, B);
        sim_write(&f.sim, B, all, POOL, 3);
        sim_run_all(&f.sim);
        expect_sound(&f);
        free_on(&f, all, B);
        release_to(&f, &session, B);
        fixture_close(&f);
    }
}
END_TEST

/* A warm-up left all bytes to the stream's free list: an event is recorded when the session begins,
 * unless the stream is captured already. */
START_TEST(what_a_warm_up_freed_serves_its_session)
{
    for (int late = 0; late < 2; late++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        void *p[2];
        for (int i = 0; i < 2; i++) {
            p[i] = alloc_on(&f, POOL / 2, A);
            sim_write(&f.sim, A, p[i], POOL / 2, 1);
        }
        free_on(&f, p[0], A);
        expect_ok(cuarena_reclaim(f.arena, 0, NULL)); /* has an event */
        free_on(&f, p[1], A);
        capture(&f, A, late);
        uint64_t events = f.sim.counts[SIM_RECORD];
        cuarena_capture_t *session = begin_on(&f, A);
        expect_u64(f.sim.counts[SIM_RECORD], events + (late ? 0 : 1));
        capture(&f, A, true);
        expect_room(!late, try_on(&f, POOL, A, NULL));
        expect_ok(try_on(&f, POOL / 2, A, NULL));
        expect_untouched(&f);
        capture(&f, A, false);
        release_to(&f, &session, B);
        void *q = alloc_on(&f, POOL, B);
        sim_write(&f.sim, B, q, POOL, 2);
        sim_run_all(&f.sim);
        free_on(&f, q, B);
        fixture_close(&f);
    }
}
END_TEST

/* Where an event was recorded before the capture, it is asked. */
START_TEST(events_from_before_serve_during_the_capture)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.events = CUARENA_EVENTS_EAGER;
    fixture_create(f);
    void *p = alloc_on(f, POOL, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    void *q = alloc_on(f, POOL, B);
    sim_write(&f->sim, B, q, POOL, 2);
    sim_sync_all(&f->sim);
    expect_untouched(f);
    free_on(f, q, B);
    capture(f, A, false);
    release_to(f, &session, A);
}
END_TEST

/* A block of B, used by A, is freed while A is captured. */
START_TEST(uses_by_a_captured_stream_are_recorded_after_the_end)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL, B);
    expect_ok(cuarena_record_use(f->arena, p, A));
    sim_write(&f->sim, A, p, POOL, 1);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    free_on(f, p, B);
    for (int wait = 0; wait < 2; wait++)
        expect_ok(cuarena_reclaim(f->arena, wait, NULL));
    expect_u64(stats_of(f).live_bytes, POOL);
    expect_no_room(try_on(f, KIB(1), B, NULL));
    expect_no_room(try_on(f, KIB(1), A, NULL));
    expect_untouched(f);
    capture(f, A, false);
    end_of(f, session);
    void *q = alloc_on(f, POOL, B);
    sim_write(&f->sim, B, q, POOL, 2);
    sim_sync_all(&f->sim);
    expect_sound(f);
    free_on(f, q, B);
    release_to(f, &session, B);
}
END_TEST

START_TEST(private_blocks_resize_in_place_or_not_at_all)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    void *p = alloc_on(f, KIB(8), A);
    void *q = NULL;
    expect_ok(cuarena_resize_on(f->arena, p, KIB(4), A, &q));
    ck_assert_ptr_eq(p, q);
    expect_sound(f);
    expect_u64(session_stats_of(f, session).free_bytes, KIB(4));
    expect_ok(cuarena_resize_on(f->arena, p, KIB(6), A, &q));
    expect_sound(f);
    expect_u64(session_stats_of(f, session).live_bytes, KIB(6));
    expect_status(cuarena_resize_on(f->arena, p, KIB(16), A, &q), CUARENA_BUSY);
    expect_status(cuarena_resize(f->arena, p, KIB(16), &q), CUARENA_BUSY);
    end_of(f, session);
    expect_status(cuarena_resize(f->arena, p, KIB(8), &q), CUARENA_BUSY);
    expect_message("capture session");
    expect_ok(cuarena_resize(f->arena, p, KIB(2), &q));
    expect_sound(f);
    expect_u64(session_stats_of(f, session).free_bytes, KIB(6));
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_of(f->arena, p, &block));
    expect_status(cuarena_block_resize(f->arena, block, 0), CUARENA_BUSY);
    release_to(f, &session, A);
    expect_ok(cuarena_resize_on(f->arena, p, KIB(32), A, &q));
    free_on(f, q, A);
}
END_TEST

/* A block of nobody, resized on a stream that is captured. */
START_TEST(a_copy_on_a_captured_stream_is_refused)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_block_t block = 0;
    cuarena_block_t next = 0;
    expect_ok(cuarena_block_alloc(f->arena, KIB(8), &block));
    expect_ok(cuarena_block_alloc(f->arena, KIB(8), &next));
    free_on(f, alloc_on(f, KIB(1), A), A);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    expect_status(cuarena_block_resize_on(f->arena, block, KIB(40), A), CUARENA_BUSY);
    expect_message("capture");
    expect_ok(cuarena_block_resize_on(f->arena, block, KIB(4), A));
    expect_ok(cuarena_block_resize(f->arena, block, KIB(40)));
    expect_untouched(f);
    expect_u64(session_stats_of(f, session).capacity_bytes, 0);
    fixture_close_forced(f);
}
END_TEST

START_TEST(what_would_move_or_end_private_bytes_is_busy)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    alloc_block_on(f, KIB(1), A);
    for (int ended = 0; ended < 2; ended++) {
        expect_status(cuarena_reset(f->arena), CUARENA_BUSY);
        expect_message("reset", "cuarena_capture_release");
        expect_status(cuarena_destroy(&f->arena), CUARENA_BUSY);
        expect_message("destroy", "1 capture session");
        expect_ok(cuarena_resize_pool(f->arena, POOL + KIB(4)));
        expect_ok(cuarena_resize_pool(f->arena, POOL));
        f->sim.ops.grow = NULL;
        expect_sound(f);
        if (!ended)
            end_of(f, session);
    }
    fixture_close_forced(f);
}
END_TEST

/* On a memory whose segments keep their length a pool moves as a whole. */
START_TEST(a_pool_that_would_have_to_move_is_busy)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->sim.ops.grow = NULL;
    f->sim.ops.shrink = NULL;
    fixture_create(f);
    cuarena_capture_t *session = begin_on(f, A);
    cuarena_block_t block = alloc_block_on(f, KIB(1), A);
    expect_ok(cuarena_block_free_on(f->arena, block, A));
    expect_status(cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_BUSY);
    expect_message("resize_pool", "capture session");
    expect_sound(f);
    release_to(f, &session, A);
    expect_ok(cuarena_resize_pool(f->arena, 2 * POOL));
}
END_TEST

/* The caller waits, since the stream cannot. */
START_TEST(a_pin_on_a_captured_stream_waits_on_the_host)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_block_t block = move_on_b(f, 3);
    begin_on(f, A);
    capture(f, A, true);
    void *p = NULL;
    uint64_t waits = f->sim.counts[SIM_WAIT_HOST];
    expect_ok(cuarena_block_pin_on(f->arena, block, A, &p));
    expect_u64(f->sim.counts[SIM_WAIT_HOST], waits + 1);
    sim_host_read(&f->sim, p, POOL / 2, 3);
    expect_untouched(f);
    fixture_close_forced(f);
}
END_TEST

/* ---- Threads ----------------------------------------------------------- */

typedef struct worker {
    fixture_t *f;
    cuarena_stream_t stream;
    bool captures;
    uint64_t rounds;
    char wrong[700]; /* the first call that came to what it must not; empty: none */
} worker_t;

#define note(w, call) note_of((w), #call, (call))
static void note_of(worker_t *w, const char *what, cuarena_status_t status)
{
    bool refused = status == CUARENA_OUT_OF_MEMORY || status == CUARENA_FRAGMENTED;
    if (status != CUARENA_OK && !refused && w->wrong[0] == '\0')
        snprintf(w->wrong, sizeof w->wrong, "%.60s: %s (%s)", what, cuarena_status_name(status),
                 last_error().message);
}

/* Some are freed on C, which waits for the stream unless that is captured. */
static void alloc_some(worker_t *w, bool captured)
{
    cuarena_t *arena = w->f->arena;
    cuarena_block_t blocks[6] = {0};
    for (int i = 0; i < 6; i++)
        note(w, cuarena_block_alloc_on(arena, KIB(i + 1), w->stream, NULL, &blocks[i]));
    if (!captured && w->stream != C)
        sim_order(&w->f->sim, C, w->stream);
    for (int i = 0; i < 6; i++)
        if (blocks[i] != 0)
            note(w, cuarena_block_free_on(arena, blocks[i], i % 3 == 0 ? C : w->stream));
}

/* Blocks of every kind, of which one lives beyond its session. */
static void capture_some(worker_t *w)
{
    cuarena_t *arena = w->f->arena;
    cuarena_capture_t *session = NULL;
    cuarena_block_t blocks[4] = {0};
    cuarena_request_t request;
    cuarena_request_init(&request);
    note(w, cuarena_capture_begin(arena, w->stream, &session));
    alloc_some(w, true);
    for (int i = 0; i < 4; i++) {
        request.zeroed = (i & ZEROED) != 0;
        request.dedicated = (i & DEDICATED) != 0;
        note(w, cuarena_block_alloc_on(arena, KIB(i + 1), w->stream, &request, &blocks[i]));
    }
    for (int i = 0; i < 4; i++)
        if (blocks[i] != 0 && i != DEDICATED)
            note(w, cuarena_block_free_on(arena, blocks[i], w->stream));
    note(w, cuarena_capture_end(arena, session));
    note(w, cuarena_capture_release(arena, &session, w->stream));
    if (blocks[DEDICATED] != 0)
        note(w, cuarena_block_free_on(arena, blocks[DEDICATED], w->stream));
}

static void *work(void *user)
{
    worker_t *w = user;
    for (uint64_t i = 0; i < w->rounds; i++) {
        if (w->captures)
            capture_some(w);
        alloc_some(w, false);
        if (!w->captures && i % 4 == 0)
            note(w, cuarena_compact(w->f->arena, NULL, NULL, NULL, NULL));
        if (!w->captures && i % 4 == 2)
            note(w, cuarena_reclaim(w->f->arena, 1, NULL));
    }
    return NULL;
}

START_TEST(sessions_of_several_threads)
{
    pthread_t threads[3];
    fixture_t *f = opened(SIMULATED, KIB(256));
    worker_t workers[3] = {{f, A, true, 0, ""}, {f, B, true, 0, ""}, {f, C, false, 0, ""}};
    for (int i = 0; i < 3; i++) {
        workers[i].rounds = scale_pick(40, 200, 5000);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        expect_text(workers[i].wrong, "");
    }
    sim_sync_all(&f->sim);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_u64(stats_of(f).captures, 0);
    expect_u64(stats_of(f).live_blocks, 0);
    expect_u64(reserved_bytes(f), KIB(256));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_capture");
    suite_add_list(suite, "whose",
                   TEST_LIST(private_bytes_serve_the_same_stream_again,
                             growth_does_not_count_on_private_bytes,
                             a_captured_stream_is_told_of_the_limit_of_blocks,
                             whoever_frees_a_private_block_leaves_it_to_the_session,
                             sessions_share_nothing, bytes_that_others_use_too_wait_for_the_release,
                             where_the_cpu_touches_nothing_is_reused));
    suite_add_list(suite, "taking",
                   TEST_LIST(stretches_double_up_to_a_share_of_what_is_idle,
                             what_was_handed_out_once_stays, others_get_what_was_never_handed_out,
                             a_request_may_have_the_last_bytes, sessions_grow_the_arena,
                             alignment_is_kept, stable_blocks_are_private_too));
    suite_add_list(
        suite, "apart",
        TEST_LIST(
            a_pin_on_a_captured_stream_waits_on_the_host,
            compaction_leaves_alone_what_a_capture_holds,
            copies_that_a_captured_stream_missed_are_waited_for_at_the_end,
            work_from_before_is_waited_for_after_the_end, what_a_warm_up_freed_serves_its_session,
            events_from_before_serve_during_the_capture,
            uses_by_a_captured_stream_are_recorded_after_the_end,
            private_blocks_resize_in_place_or_not_at_all, a_copy_on_a_captured_stream_is_refused,
            what_would_move_or_end_private_bytes_is_busy, a_pool_that_would_have_to_move_is_busy));
    suite_add_list(suite, "threads", TEST_LIST(sessions_of_several_threads));
    return suite_main(suite);
}
