/*
 * The end of capture sessions, on streams that are simulated: what a release gives to whom, begin
 * and end beside the driver's capture, begin beside a compaction, failures of each.
 */
#include "support/base_support.h"
#include "support/checks.h"
#include "support/fixture_streams.h"

#include <pthread.h>
#include <stdbool.h>

#define POOL KIB(64)
#define STRANGER sim_handle(4) /* in no session */

/* ---- The release ------------------------------------------------------- */

/* The block is still written to on B when its bytes go to A. */
START_TEST(the_heir_waits_for_whoever_used_private_bytes)
{
    for (int how = 0; how < 3; how++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        cuarena_capture_t *session = begin_on(&f, C);
        void *p = alloc_on(&f, POOL, C);
        end_of(&f, session);
        cuarena_stream_t user = how == 2 ? C : B;
        sim_write(&f.sim, user, p, POOL, 1);
        if (how == 0) {
            free_on(&f, p, B);
        } else if (how == 1) {
            expect_ok(cuarena_record_use(f.arena, p, B));
            free_on(&f, p, C);
        } else { /* it lives, and is the heir's then */
            release_to(&f, &session, A);
            free_on(&f, p, A);
        }
        if (how != 2)
            release_to(&f, &session, A);
        expect_u64(f.sim.counts[SIM_WAIT_HOST], 0);
        expect_u64(f.sim.counts[SIM_WAIT], how == 2 ? 1 : 2);
        void *q = alloc_on(&f, POOL, A);
        ck_assert_ptr_eq(p, q);
        sim_write(&f.sim, A, q, POOL, 2);
        sim_read(&f.sim, A, q, POOL, 2);
        sim_run_all(&f.sim);
        expect_sound(&f);
        free_on(&f, q, A);
        fixture_close(&f);
    }
}
END_TEST

/* A private block that lives is still written to on B, in no session, when it becomes the heir's:
 * by pointer or pinned, and to another stream or to the one that was captured. */
START_TEST(the_heir_waits_for_users_of_blocks_that_live)
{
    for (int how = 0; how < 4; how++) {
        fixture_t f;
        void *p = NULL;
        cuarena_block_t block = 0;
        cuarena_stream_t heir = how & 2 ? C : A;
        fixture_open(&f, SIMULATED, POOL);
        cuarena_capture_t *session = begin_on(&f, C);
        if (how & 1)
            p = alloc_on(&f, POOL, C);
        else
            block = alloc_block_on(&f, POOL, C);
        end_of(&f, session);
        if (p == NULL)
            expect_ok(cuarena_block_pin_on(f.arena, block, B, &p));
        sim_write(&f.sim, B, p, POOL, 1);
        if (how & 1)
            expect_ok(cuarena_record_use(f.arena, p, B));
        else
            expect_ok(cuarena_block_unpin_on(f.arena, block, B));
        release_to(&f, &session, heir);
        expect_u64(f.sim.counts[SIM_WAIT], how & 2 ? 1 : 2);
        expect_u64(f.sim.counts[SIM_WAIT_HOST], 0);
        sim_read(&f.sim, heir, p, POOL, 1);
        sim_write(&f.sim, heir, p, POOL, 2);
        sim_run_all(&f.sim);
        expect_sound(&f);
        expect_ok(how & 1 ? cuarena_free_on(f.arena, p, heir)
                          : cuarena_block_free_on(f.arena, block, heir));
        fixture_close(&f);
    }
}
END_TEST

/* The segment waits for the stream of the release, and nobody has the pin any more. */
START_TEST(a_segment_that_was_freed_pinned_is_no_obstacle_to_a_reset)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_request_t request;
    cuarena_block_t block;
    void *p;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_capture_t *session = begin_on(f, A);
    expect_ok(cuarena_block_alloc_on(f->arena, KIB(4), A, &request, &block));
    expect_ok(cuarena_block_pin(f->arena, block, &p));
    expect_ok(cuarena_block_free_on(f->arena, block, A));
    release_to(f, &session, A);
    expect_sound(f);
    expect_ok(cuarena_reset(f->arena));
    expect_sound(f);
}
END_TEST

START_TEST(the_only_stream_needs_no_call_at_its_release)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    free_on(f, alloc_on(f, KIB(4), A), A);
    end_of(f, session);
    sim_calls(&f->sim);
    release_to(f, &session, A);
    expect_no_calls(f);
}
END_TEST

START_TEST(live_blocks_become_the_heirs)
{
    static const cuarena_stream_t heirs[] = {CUARENA_NO_STREAM, A, B};
    for (int i = 0; i < 3; i++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        cuarena_block_t low = alloc_block_on(&f, KIB(8), A);
        cuarena_capture_t *session = begin_on(&f, A);
        cuarena_block_t block = alloc_block_on(&f, KIB(8), A);
        void *p = alloc_on(&f, KIB(8), A);
        release_to(&f, &session, heirs[i]);
        uint64_t on_a = stream_stats_of(&f, A).live_bytes;
        expect_u64(on_a, KIB(8) + (i == 1 ? KIB(16) : 0));
        if (i == 2)
            expect_u64(stream_stats_of(&f, B).live_bytes, KIB(16));
        void *before = address_of(&f, block);
        void *below = address_of(&f, low);
        expect_ok(cuarena_block_free(f.arena, low));
        cuarena_compact_report_t report;
        compact_on(&f, CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, before > below ? 1 : 0);
        expect_u64(stats_of(&f).captured_bytes, 0);
        expect_u64(stats_of(&f).live_bytes, KIB(16));
        free_on(&f, p, heirs[i]);
        expect_ok(cuarena_block_free_on(f.arena, block, heirs[i]));
        fixture_close(&f);
    }
}
END_TEST

/* Streams that freed private bytes go before the session does. */
START_TEST(streams_may_be_released_before_the_session)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    void *p = alloc_on(f, POOL, A);
    expect_status(cuarena_release_stream(f->arena, A), CUARENA_BUSY);
    end_of(f, session);
    sim_write(&f->sim, B, p, POOL, 1);
    free_on(f, p, B);
    for (int i = 0; i < 2; i++) {
        expect_ok(cuarena_release_stream(f->arena, i == 0 ? A : B));
        sim_stream_kill(&f->sim, i == 0 ? A : B);
        expect_sound(f);
    }
    release_to(f, &session, C);
    void *q = alloc_on(f, POOL, C);
    sim_write(&f->sim, C, q, POOL, 2);
    sim_run_all(&f->sim);
    free_on(f, q, C);
}
END_TEST

/* ---- Begin, end and the driver's capture ------------------------------- */

/* The first sight of a stream that is captured already. */
START_TEST(a_session_may_begin_after_the_capture)
{
    for (int known = 0; known < 2; known++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        if (known)
            free_on(&f, alloc_on(&f, KIB(1), A), A);
        capture(&f, A, true);
        capture(&f, B, true);
        cuarena_capture_t *session = begin_on(&f, A);
        expect_ok(cuarena_capture_join(f.arena, session, B));
        expect_ok(cuarena_capture_join(f.arena, session, B));
        void *p = alloc_on(&f, KIB(4), B);
        free_on(&f, p, B);
        expect_status(cuarena_capture_end(f.arena, session), CUARENA_BUSY);
        expect_message("cuStreamEndCapture");
        expect_status(cuarena_capture_release(f.arena, &session, C), CUARENA_BUSY);
        ck_assert_ptr_nonnull(session);
        capture(&f, A, false);
        expect_status(cuarena_capture_end(f.arena, session), CUARENA_BUSY);
        ck_assert_ptr_eq(alloc_on(&f, KIB(4), B), p); /* is open still */
        free_on(&f, p, B);
        capture(&f, B, false);
        expect_untouched(&f);
        end_of(&f, session);
        end_of(&f, session);
        release_to(&f, &session, C);
        expect_ok(cuarena_capture_release(f.arena, &session, C));
        fixture_close(&f);
    }
}
END_TEST

/* A capture that no session covers, of a stream that is known: calls that have something for it to
 * do say BUSY or do without. */
START_TEST(captures_without_a_session_are_left_alone)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, KIB(16), A);
    sim_write(&f->sim, A, p, KIB(16), 1);
    void *of_b = alloc_on(f, KIB(16), B);
    expect_ok(cuarena_record_use(f->arena, of_b, A));
    cuarena_block_t block = alloc_block_on(f, KIB(16), B);
    capture(f, A, true);
    capture(f, C, true);
    expect_status(try_on(f, KIB(1), C, NULL), CUARENA_UNSUPPORTED);
    expect_message("cuarena_capture_begin");
    free_on(f, p, A);
    free_on(f, of_b, B);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_sound(f);
    expect_status(cuarena_release_stream(f->arena, A), CUARENA_BUSY);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = A;
    cuarena_status_t status = cuarena_compact(f->arena, &options, NULL, NULL, NULL);
    expect_status(status, CUARENA_BUSY);
    expect_sound(f);
    capture(f, A, false);
    capture(f, C, false);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_ok(cuarena_block_free(f->arena, block));
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

START_TEST(wrong_uses_are_named)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_t *arena = f->arena;
    cuarena_capture_t *session = NULL;
    cuarena_capture_t *none = (cuarena_capture_t *)f;
    expect_status(cuarena_capture_begin(NULL, A, &session), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_capture_begin(arena, A, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_capture_begin(arena, NULL, &session), CUARENA_BAD_ARGUMENT);
    expect_message("legacy");
    expect_status(cuarena_capture_begin(arena, CUARENA_STREAM_LEGACY, &session),
                  CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_capture_begin(arena, CUARENA_NO_STREAM, &session), CUARENA_BAD_ARGUMENT);
    expect_message("CUARENA_NO_STREAM");
    ck_assert_ptr_null(session);
    session = begin_on(f, A);
    cuarena_capture_t *other = NULL;
    expect_status(cuarena_capture_begin(arena, A, &other), CUARENA_BUSY);
    expect_message("open capture session");
    other = begin_on(f, B);
    expect_status(cuarena_capture_join(arena, other, A), CUARENA_BUSY);
    expect_status(cuarena_capture_join(arena, other, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_capture_join(arena, none, C), CUARENA_STALE);
    expect_status(cuarena_capture_end(arena, none), CUARENA_STALE);
    expect_message("no capture session");
    expect_status(cuarena_capture_release(arena, &none, C), CUARENA_STALE);
    expect_status(cuarena_capture_release(arena, &other, A), CUARENA_BUSY);
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_status(cuarena_capture_stats(arena, none, &stats), CUARENA_STALE);
    expect_status(cuarena_capture_stats(arena, session, NULL), CUARENA_BAD_ARGUMENT);
    end_of(f, session);
    expect_status(cuarena_capture_join(arena, session, C), CUARENA_BAD_ARGUMENT);
    expect_message("has ended");
    expect_status(cuarena_capture_end(arena, NULL), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_capture_release(arena, NULL, C));
    cuarena_capture_t *stale = session;
    release_to(f, &session, C);
    expect_status(cuarena_capture_release(arena, &stale, C), CUARENA_STALE);
    release_to(f, &other, C);
}
END_TEST

START_TEST(what_would_be_work_on_a_captured_stream_is_refused)
{
    fixture_t f;
    fixture_open(&f, SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(&f, A);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = A;
    expect_status(cuarena_compact(f.arena, &options, NULL, NULL, NULL), CUARENA_BUSY);
    cuarena_stream_t named = A;
    options.stream = B;
    options.streams = &named;
    options.stream_count = 1;
    expect_status(cuarena_compact(f.arena, &options, NULL, NULL, NULL), CUARENA_BUSY);
    expect_message("open capture session");
    release_to(&f, &session, A);
    fixture_close(&f);
    fixture_prepare(&f, SIMULATED, POOL);
    f.config.zero = CUARENA_ZERO_FREE;
    fixture_create(&f);
    expect_status(cuarena_capture_begin(f.arena, A, &session), CUARENA_UNSUPPORTED);
    expect_message("zero=free");
    fixture_close(&f);
}
END_TEST

/* ---- Loss -------------------------------------------------------------- */

START_TEST(sessions_of_a_lost_arena_end_without_the_memory)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    void *p = alloc_on(f, KIB(4), A);
    sim_fail(&f->sim, SIM_RECORD, 1, CUARENA_LOST);
    void *q = alloc_on(f, KIB(4), B);
    free_on(f, q, B);
    expect_status(cuarena_reclaim(f->arena, 0, NULL), CUARENA_LOST);
    sim_calls(&f->sim);
    cuarena_capture_t *more = NULL;
    expect_status(cuarena_capture_begin(f->arena, C, &more), CUARENA_LOST);
    expect_status(cuarena_capture_join(f->arena, session, C), CUARENA_LOST);
    free_on(f, p, A);
    end_of(f, session);
    release_to(f, &session, B);
    expect_no_calls(f);
}
END_TEST

/* ---- A session that begins while blocks of its stream are to be moved -------- */

typedef struct meddler {
    fixture_t *f;
    sim_op_t at;              /* during the first of these */
    cuarena_block_t freed[2]; /* on A and on B, before it begins; 0: none */
    cuarena_capture_t *session;
    cuarena_status_t status; /* of the first call that failed */
    bool done;
} meddler_t;

static void *begin_on_b(void *user)
{
    meddler_t *m = user;
    for (int i = 0; i < 2 && m->status == CUARENA_OK; i++)
        m->status = cuarena_block_free_on(m->f->arena, m->freed[i], i == 0 ? A : B);
    if (m->status == CUARENA_OK)
        m->status = cuarena_capture_begin(m->f->arena, B, &m->session);
    return NULL;
}

static void meddle(sim_t *sim, sim_op_t op)
{
    meddler_t *m = sim->hook_user;
    pthread_t thread;
    if (op != m->at || m->done)
        return;
    m->done = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, begin_on_b, m), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* Blocks of A and of B, each written to and above a hole. */
typedef struct two {
    cuarena_block_t of_a;
    cuarena_block_t of_b;
} two_t;

static two_t open_holes(fixture_t *f)
{
    cuarena_block_t row[8];
    two_t two;
    alloc_row_on(f, row, COUNT_OF(row), CUARENA_NO_STREAM);
    expect_ok(cuarena_block_free(f->arena, row[1]));
    two.of_a = alloc_block_on(f, KIB(8), A);
    expect_ok(cuarena_block_free(f->arena, row[3]));
    two.of_b = alloc_block_on(f, KIB(8), B);
    write_block_on(f, two.of_a, KIB(8), A, 1);
    write_block_on(f, two.of_b, KIB(8), B, 2);
    expect_ok(cuarena_block_free(f->arena, row[0]));
    expect_ok(cuarena_block_free(f->arena, row[2]));
    for (int i = 4; i < 8; i++)
        expect_ok(cuarena_block_free(f->arena, row[i]));
    return two;
}

static void compact_beside(meddler_t *m, cuarena_stream_t stream, cuarena_compact_report_t *report)
{
    m->f->sim.hook = meddle;
    m->f->sim.hook_user = m;
    compact_on(m->f, stream, report);
    m->f->sim.hook = NULL;
    ck_assert(m->done);
    expect_status(m->status, CUARENA_OK);
}

START_TEST(a_compaction_leaves_alone_what_a_session_takes_while_it_waits)
{
    for (int on = 0; on < 2; on++) {
        fixture_t *f = opened(SIMULATED, POOL);
        two_t two = open_holes(f);
        void *place = address_of(f, two.of_b);
        cuarena_compact_report_t report;
        meddler_t m = {.f = f, .at = on ? SIM_WAIT : SIM_WAIT_HOST};
        compact_beside(&m, on ? C : CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, 1);
        ck_assert_ptr_eq(address_of(f, two.of_b), place);
        release_to(f, &m.session, B);
        compact_on(f, on ? C : CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, 1);
        read_block_on(f, two.of_a, KIB(8), A, 1);
        read_block_on(f, two.of_b, KIB(8), B, 2);
        expect_ok(cuarena_block_free_on(f->arena, two.of_a, A));
        expect_ok(cuarena_block_free_on(f->arena, two.of_b, B));
        fixture_close(f);
    }
}
END_TEST

START_TEST(a_session_that_begins_beside_the_copies_waits_for_them_at_its_end)
{
    fixture_t *f = opened(SIMULATED, POOL);
    two_t two = open_holes(f);
    cuarena_compact_report_t report;
    meddler_t m = {.f = f, .at = SIM_RELOCATE};
    compact_beside(&m, C, &report);
    expect_u64(report.moves, 2);
    release_to(f, &m.session, B);
    read_block_on(f, two.of_a, KIB(8), A, 1);
    read_block_on(f, two.of_b, KIB(8), B, 2);
    expect_ok(cuarena_block_free_on(f->arena, two.of_a, A));
    expect_ok(cuarena_block_free_on(f->arena, two.of_b, B));
}
END_TEST

/* Neither stream can be made to wait for the other: B is captured. */
START_TEST(blocks_freed_before_a_session_stops_their_move_are_their_streams)
{
    for (int on = 0; on < 2; on++) {
        fixture_t *f = opened(SIMULATED, POOL);
        two_t two = open_holes(f);
        cuarena_compact_report_t report;
        meddler_t m = {.f = f, .at = on ? SIM_WAIT : SIM_WAIT_HOST, .freed = {two.of_a, two.of_b}};
        compact_beside(&m, on ? C : CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, 0);
        expect_u64(stats_of(f).live_blocks, 0);
        expect_u64(stream_stats_of(f, A).free_bytes, KIB(8));
        expect_u64(stream_stats_of(f, B).free_bytes, KIB(8));
        release_to(f, &m.session, B);
        use_anew(f, POOL, C);
        fixture_close(f);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture end");
    suite_add_list(suite, "release",
                   TEST_LIST(the_heir_waits_for_whoever_used_private_bytes,
                             the_heir_waits_for_users_of_blocks_that_live,
                             a_segment_that_was_freed_pinned_is_no_obstacle_to_a_reset,
                             the_only_stream_needs_no_call_at_its_release,
                             live_blocks_become_the_heirs,
                             streams_may_be_released_before_the_session));
    suite_add_list(suite, "life",
                   TEST_LIST(a_session_may_begin_after_the_capture,
                             captures_without_a_session_are_left_alone, wrong_uses_are_named,
                             what_would_be_work_on_a_captured_stream_is_refused));
    suite_add_list(suite, "meanwhile",
                   TEST_LIST(a_compaction_leaves_alone_what_a_session_takes_while_it_waits,
                             a_session_that_begins_beside_the_copies_waits_for_them_at_its_end,
                             blocks_freed_before_a_session_stops_their_move_are_their_streams));
    suite_add_list(suite, "loss", TEST_LIST(sessions_of_a_lost_arena_end_without_the_memory));
    return suite_main(suite);
}
