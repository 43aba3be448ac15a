/*
 * The end of capture sessions, on streams that are simulated: what a release gives to whom, begin
 * and end beside the driver's capture, begin beside a compaction, failures of each.
 */
#include "support/base_support.h"
#include "support/capture_rig.h"

#include "base/host_test.h"

#include <check.h>
#include <pthread.h>
#include <stdbool.h>

#define POOL KIB(64)
#define STRANGER sim_handle(4) /* in no session */

/* ---- The release ------------------------------------------------------- */

/* The block is still written to on B when its bytes go to A. */
START_TEST(the_heir_waits_for_whoever_used_private_bytes)
{
    for (int how = 0; how < 3; how++) {
        rig_t rig;
        rig_open(&rig, POOL);
        cuarena_capture_t *session = begin_on(&rig, C);
        void *p = take_on(&rig, POOL, C);
        end_of(&rig, session);
        cuarena_stream_t user = how == 2 ? C : B;
        sim_write(&rig.sim, user, p, POOL, 1);
        if (how == 0) {
            free_on(&rig, p, B);
        } else if (how == 1) {
            expect_ok(cuarena_record_use(rig.arena, p, B));
            free_on(&rig, p, C);
        } else { /* it lives, and is the heir's then */
            release_to(&rig, &session, A);
            free_on(&rig, p, A);
        }
        if (how != 2)
            release_to(&rig, &session, A);
        expect_u64(rig.sim.counts[SIM_WAIT_HOST], 0);
        expect_u64(rig.sim.counts[SIM_WAIT], how == 2 ? 1 : 2);
        void *q = take_on(&rig, POOL, A);
        ck_assert_ptr_eq(p, q);
        sim_write(&rig.sim, A, q, POOL, 2);
        sim_read(&rig.sim, A, q, POOL, 2);
        sim_run_all(&rig.sim);
        expect_clean(&rig);
        free_on(&rig, q, A);
        rig_close(&rig);
    }
}
END_TEST

/* A private block that lives is still written to on B, in no session, when it becomes the heir's:
 * by pointer or pinned, and to another stream or to the one that was captured. */
START_TEST(the_heir_waits_for_users_of_blocks_that_live)
{
    for (int how = 0; how < 4; how++) {
        rig_t rig;
        void *p = NULL;
        cuarena_block_t block = 0;
        cuarena_stream_t heir = how & 2 ? C : A;
        rig_open(&rig, POOL);
        cuarena_capture_t *session = begin_on(&rig, C);
        if (how & 1)
            p = take_on(&rig, POOL, C);
        else
            block = take_block_on(&rig, POOL, C);
        end_of(&rig, session);
        if (p == NULL)
            expect_ok(cuarena_block_pin_on(rig.arena, block, B, &p));
        sim_write(&rig.sim, B, p, POOL, 1);
        if (how & 1)
            expect_ok(cuarena_record_use(rig.arena, p, B));
        else
            expect_ok(cuarena_block_unpin_on(rig.arena, block, B));
        release_to(&rig, &session, heir);
        expect_u64(rig.sim.counts[SIM_WAIT], how & 2 ? 1 : 2);
        expect_u64(rig.sim.counts[SIM_WAIT_HOST], 0);
        sim_read(&rig.sim, heir, p, POOL, 1);
        sim_write(&rig.sim, heir, p, POOL, 2);
        sim_run_all(&rig.sim);
        expect_clean(&rig);
        expect_ok(how & 1 ? cuarena_free_on(rig.arena, p, heir)
                          : cuarena_block_free_on(rig.arena, block, heir));
        rig_close(&rig);
    }
}
END_TEST

/* The segment waits for the stream of the release, and nobody has the pin any more. */
START_TEST(a_segment_that_was_freed_pinned_is_no_obstacle_to_a_reset)
{
    rig_t *rig = opened_rig(POOL);
    cuarena_request_t request;
    cuarena_block_t block;
    void *p;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_capture_t *session = begin_on(rig, A);
    expect_ok(cuarena_block_alloc_on(rig->arena, KIB(4), A, &request, &block));
    expect_ok(cuarena_block_pin(rig->arena, block, &p));
    expect_ok(cuarena_block_free_on(rig->arena, block, A));
    release_to(rig, &session, A);
    expect_clean(rig);
    expect_ok(cuarena_reset(rig->arena));
    expect_clean(rig);
}
END_TEST

START_TEST(the_only_stream_needs_no_call_at_its_release)
{
    rig_t *rig = opened_rig(POOL);
    cuarena_capture_t *session = begin_on(rig, A);
    free_on(rig, take_on(rig, KIB(4), A), A);
    end_of(rig, session);
    sim_calls(&rig->sim);
    release_to(rig, &session, A);
    expect_no_calls(rig);
}
END_TEST

START_TEST(live_blocks_become_the_heirs)
{
    static const cuarena_stream_t heirs[] = {CUARENA_NO_STREAM, A, B};
    for (int i = 0; i < 3; i++) {
        rig_t rig;
        rig_open(&rig, POOL);
        cuarena_block_t low = take_block_on(&rig, KIB(8), A);
        cuarena_capture_t *session = begin_on(&rig, A);
        cuarena_block_t block = take_block_on(&rig, KIB(8), A);
        void *p = take_on(&rig, KIB(8), A);
        release_to(&rig, &session, heirs[i]);
        uint64_t on_a = rig_stream_stats(&rig, A).live_bytes;
        expect_u64(on_a, KIB(8) + (i == 1 ? KIB(16) : 0));
        if (i == 2)
            expect_u64(rig_stream_stats(&rig, B).live_bytes, KIB(16));
        void *before = place_of(&rig, block);
        void *below = place_of(&rig, low);
        expect_ok(cuarena_block_free(rig.arena, low));
        cuarena_compact_report_t report;
        compact_on(&rig, CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, before > below ? 1 : 0);
        expect_u64(rig_stats(&rig).captured_bytes, 0);
        expect_u64(rig_stats(&rig).live_bytes, KIB(16));
        free_on(&rig, p, heirs[i]);
        expect_ok(cuarena_block_free_on(rig.arena, block, heirs[i]));
        rig_close(&rig);
    }
}
END_TEST

/* Streams that freed private bytes go before the session does. */
START_TEST(streams_may_be_released_before_the_session)
{
    rig_t *rig = opened_rig(POOL);
    cuarena_capture_t *session = begin_on(rig, A);
    void *p = take_on(rig, POOL, A);
    expect_status(cuarena_release_stream(rig->arena, A), CUARENA_BUSY);
    end_of(rig, session);
    sim_write(&rig->sim, B, p, POOL, 1);
    free_on(rig, p, B);
    for (int i = 0; i < 2; i++) {
        expect_ok(cuarena_release_stream(rig->arena, i == 0 ? A : B));
        sim_stream_kill(&rig->sim, i == 0 ? A : B);
        expect_clean(rig);
    }
    release_to(rig, &session, C);
    void *q = take_on(rig, POOL, C);
    sim_write(&rig->sim, C, q, POOL, 2);
    sim_run_all(&rig->sim);
    free_on(rig, q, C);
}
END_TEST

/* ---- Begin, end and the driver's capture ------------------------------- */

/* The first sight of a stream that is captured already. */
START_TEST(a_session_may_begin_after_the_capture)
{
    for (int known = 0; known < 2; known++) {
        rig_t rig;
        rig_open(&rig, POOL);
        if (known)
            free_on(&rig, take_on(&rig, KIB(1), A), A);
        capture(&rig, A, true);
        capture(&rig, B, true);
        cuarena_capture_t *session = begin_on(&rig, A);
        expect_ok(cuarena_capture_join(rig.arena, session, B));
        expect_ok(cuarena_capture_join(rig.arena, session, B));
        void *p = take_on(&rig, KIB(4), B);
        free_on(&rig, p, B);
        expect_status(cuarena_capture_end(rig.arena, session), CUARENA_BUSY);
        expect_message("cuStreamEndCapture");
        expect_status(cuarena_capture_release(rig.arena, &session, C), CUARENA_BUSY);
        ck_assert_ptr_nonnull(session);
        capture(&rig, A, false);
        expect_status(cuarena_capture_end(rig.arena, session), CUARENA_BUSY);
        ck_assert_ptr_eq(take_on(&rig, KIB(4), B), p); /* is open still */
        free_on(&rig, p, B);
        capture(&rig, B, false);
        expect_untouched(&rig);
        end_of(&rig, session);
        end_of(&rig, session);
        release_to(&rig, &session, C);
        expect_ok(cuarena_capture_release(rig.arena, &session, C));
        rig_close(&rig);
    }
}
END_TEST

/* A capture that no session covers, of a stream that is known: calls that have something for it to
 * do say BUSY or do without. */
START_TEST(captures_without_a_session_are_left_alone)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_on(rig, KIB(16), A);
    sim_write(&rig->sim, A, p, KIB(16), 1);
    void *of_b = take_on(rig, KIB(16), B);
    expect_ok(cuarena_record_use(rig->arena, of_b, A));
    cuarena_block_t block = take_block_on(rig, KIB(16), B);
    capture(rig, A, true);
    capture(rig, C, true);
    expect_status(try_on(rig, KIB(1), C, NULL), CUARENA_UNSUPPORTED);
    expect_message("cuarena_capture_begin");
    free_on(rig, p, A);
    free_on(rig, of_b, B);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    expect_clean(rig);
    expect_status(cuarena_release_stream(rig->arena, A), CUARENA_BUSY);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = A;
    cuarena_status_t status = cuarena_compact(rig->arena, &options, NULL, NULL, NULL);
    expect_status(status, CUARENA_BUSY);
    expect_clean(rig);
    capture(rig, A, false);
    capture(rig, C, false);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    expect_ok(cuarena_block_free(rig->arena, block));
    free_plain(rig, take_plain(rig, POOL));
}
END_TEST

START_TEST(wrong_uses_are_named)
{
    rig_t *rig = opened_rig(POOL);
    cuarena_t *arena = rig->arena;
    cuarena_capture_t *session = NULL;
    cuarena_capture_t *none = (cuarena_capture_t *)rig;
    expect_status(cuarena_capture_begin(NULL, A, &session), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_capture_begin(arena, A, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_capture_begin(arena, NULL, &session), CUARENA_BAD_ARGUMENT);
    expect_message("legacy");
    expect_status(cuarena_capture_begin(arena, CUARENA_STREAM_LEGACY, &session),
                  CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_capture_begin(arena, CUARENA_NO_STREAM, &session), CUARENA_BAD_ARGUMENT);
    expect_message("CUARENA_NO_STREAM");
    ck_assert_ptr_null(session);
    session = begin_on(rig, A);
    cuarena_capture_t *other = NULL;
    expect_status(cuarena_capture_begin(arena, A, &other), CUARENA_BUSY);
    expect_message("open capture session");
    other = begin_on(rig, B);
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
    end_of(rig, session);
    expect_status(cuarena_capture_join(arena, session, C), CUARENA_BAD_ARGUMENT);
    expect_message("has ended");
    expect_status(cuarena_capture_end(arena, NULL), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_capture_release(arena, NULL, C));
    cuarena_capture_t *stale = session;
    release_to(rig, &session, C);
    expect_status(cuarena_capture_release(arena, &stale, C), CUARENA_STALE);
    release_to(rig, &other, C);
}
END_TEST

START_TEST(what_would_be_work_on_a_captured_stream_is_refused)
{
    rig_t rig;
    rig_open(&rig, POOL);
    cuarena_capture_t *session = begin_on(&rig, A);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = A;
    expect_status(cuarena_compact(rig.arena, &options, NULL, NULL, NULL), CUARENA_BUSY);
    cuarena_stream_t named = A;
    options.stream = B;
    options.streams = &named;
    options.stream_count = 1;
    expect_status(cuarena_compact(rig.arena, &options, NULL, NULL, NULL), CUARENA_BUSY);
    expect_message("open capture session");
    release_to(&rig, &session, A);
    rig_close(&rig);
    rig_prepare(&rig, POOL, false);
    rig.config.zero = CUARENA_ZERO_FREE;
    rig_create(&rig);
    expect_status(cuarena_capture_begin(rig.arena, A, &session), CUARENA_UNSUPPORTED);
    expect_message("zero=free");
    rig_close(&rig);
}
END_TEST

/* ---- Failures ---------------------------------------------------------- */

static void put(cuarena_status_t *first, cuarena_status_t status)
{
    if (*first == CUARENA_OK)
        *first = status;
}

/* All of a session's life, but for the driver's part where zeros are for the stream: blocks of
 * every kind, those of one that joined, and a use by a member and by a stranger. Whatever fails,
 * what comes after it is legal. */
static cuarena_status_t live(rig_t *rig, cuarena_stream_t heir)
{
    static const int asks[] = {PLAIN, ZEROED, DEDICATED, ZEROED | DEDICATED, DEDICATED, PLAIN};
    cuarena_t *arena = rig->arena;
    cuarena_capture_t *session = NULL;
    void *p[6] = {NULL};
    cuarena_status_t status = cuarena_capture_begin(arena, A, &session);
    expect_clean(rig);
    if (status != CUARENA_OK)
        return status;
    put(&status, cuarena_capture_join(arena, session, B));
    expect_clean(rig);
    for (int i = 0; i < 6; i++)
        put(&status, try_ask(rig, asks[i], KIB(12), A, &p[i]));
    if (p[0] != NULL)
        put(&status, cuarena_record_use(arena, p[0], B));
    if (p[2] != NULL)
        put(&status, cuarena_record_use(arena, p[2], STRANGER));
    for (int i = 0; i < 4; i++) {
        expect_ok(cuarena_free_on(arena, p[i], A)); /* needs nothing */
        expect_clean(rig);
    }
    put(&status, cuarena_capture_end(arena, session));
    expect_clean(rig);
    if (heir == CUARENA_NO_STREAM)
        sim_sync_all(&rig->sim);
    put(&status, cuarena_capture_release(arena, &session, heir));
    expect_clean(rig);
    if (session != NULL)
        expect_ok(cuarena_capture_release(arena, &session, heir));
    for (int i = 4; i < 6; i++) {
        cuarena_status_t freed = cuarena_free_on(arena, p[i], i == 4 ? heir : CUARENA_NO_STREAM);
        put(&status, freed);
        if (freed != CUARENA_OK)
            expect_ok(cuarena_free_on(arena, p[i], heir));
        expect_clean(rig);
    }
    return status;
}

static void open_life(rig_t *rig)
{
    rig_open(rig, POOL);
    sim_stream_make(&rig->sim, STRANGER);
}

static void close_life(rig_t *rig)
{
    sim_run_all(&rig->sim);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    expect_clean(rig);
    expect_u64(rig_stats(rig).captures, 0);
    expect_u64(rig_stats(rig).live_blocks, 0);
    expect_u64(rig_reserved(rig), POOL);
    free_plain(rig, take_plain(rig, POOL));
    rig_close(rig);
}

START_TEST(without_host_memory_nothing_is_lost)
{
    bool ended = false;
    for (uint64_t nth = 1; !ended; nth++) {
        ck_assert_msg(nth < 200, "it never ends");
        rig_t rig;
        open_life(&rig);
        cuai_host_fail_at(nth);
        cuarena_status_t status = live(&rig, C);
        ended = cuai_host_calls() < nth;
        cuai_host_fail_at(0);
        ck_assert_msg(status == CUARENA_OK || (!ended && status == CUARENA_OUT_OF_MEMORY),
                      "call %d: %s", (int)nth, cuarena_status_name(status));
        close_life(&rig);
    }
}
END_TEST

START_TEST(a_memory_call_that_fails_leaves_nothing)
{
    static const int ops[] = {SIM_GET,  SIM_ZERO_CAPTURED, SIM_IDENTIFY,
                              SIM_MARK, SIM_WAIT,          SIM_QUERY};
    static const cuarena_stream_t heirs[] = {C, CUARENA_NO_STREAM};
    for (int op = 0; op < 6; op++)
        for (uint64_t nth = 1; nth < 12; nth++)
            for (int heir = 0; heir < 2; heir++) {
                rig_t rig;
                open_life(&rig);
                sim_fail(&rig.sim, ops[op], nth, CUARENA_DRIVER);
                live(&rig, heirs[heir]);
                if (heir == 0) /* not of what others look at */
                    (void)cuarena_reclaim(rig.arena, 1, NULL);
                sim_fail(&rig.sim, -1, 0, CUARENA_OK);
                expect_clean(&rig);
                close_life(&rig);
            }
}
END_TEST

START_TEST(sessions_of_a_lost_arena_end_without_the_memory)
{
    rig_t *rig = opened_rig(POOL);
    cuarena_capture_t *session = begin_on(rig, A);
    void *p = take_on(rig, KIB(4), A);
    sim_fail(&rig->sim, SIM_MARK, 1, CUARENA_LOST);
    void *q = take_on(rig, KIB(4), B);
    free_on(rig, q, B);
    expect_status(cuarena_reclaim(rig->arena, 0, NULL), CUARENA_LOST);
    sim_calls(&rig->sim);
    cuarena_capture_t *more = NULL;
    expect_status(cuarena_capture_begin(rig->arena, C, &more), CUARENA_LOST);
    expect_status(cuarena_capture_join(rig->arena, session, C), CUARENA_LOST);
    free_on(rig, p, A);
    end_of(rig, session);
    release_to(rig, &session, B);
    expect_no_calls(rig);
}
END_TEST

/* ---- A session that begins while blocks of its stream are to be moved -------- */

typedef struct meddler {
    rig_t *rig;
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
        m->status = cuarena_block_free_on(m->rig->arena, m->freed[i], i == 0 ? A : B);
    if (m->status == CUARENA_OK)
        m->status = cuarena_capture_begin(m->rig->arena, B, &m->session);
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

static two_t open_holes(rig_t *rig)
{
    cuarena_block_t row[8];
    two_t two;
    take_row_on(rig, row, COUNT_OF(row), CUARENA_NO_STREAM);
    expect_ok(cuarena_block_free(rig->arena, row[1]));
    two.of_a = take_block_on(rig, KIB(8), A);
    expect_ok(cuarena_block_free(rig->arena, row[3]));
    two.of_b = take_block_on(rig, KIB(8), B);
    write_block_on(rig, two.of_a, KIB(8), A, 1);
    write_block_on(rig, two.of_b, KIB(8), B, 2);
    expect_ok(cuarena_block_free(rig->arena, row[0]));
    expect_ok(cuarena_block_free(rig->arena, row[2]));
    for (int i = 4; i < 8; i++)
        expect_ok(cuarena_block_free(rig->arena, row[i]));
    return two;
}

static void compact_beside(meddler_t *m, cuarena_stream_t stream, cuarena_compact_report_t *report)
{
    m->rig->sim.hook = meddle;
    m->rig->sim.hook_user = m;
    compact_on(m->rig, stream, report);
    m->rig->sim.hook = NULL;
    ck_assert(m->done);
    expect_status(m->status, CUARENA_OK);
}

START_TEST(a_compaction_leaves_alone_what_a_session_takes_while_it_waits)
{
    for (int on = 0; on < 2; on++) {
        rig_t *rig = opened_rig(POOL);
        two_t two = open_holes(rig);
        void *place = place_of(rig, two.of_b);
        cuarena_compact_report_t report;
        meddler_t m = {.rig = rig, .at = on ? SIM_WAIT : SIM_WAIT_HOST};
        compact_beside(&m, on ? C : CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, 1);
        ck_assert_ptr_eq(place_of(rig, two.of_b), place);
        release_to(rig, &m.session, B);
        compact_on(rig, on ? C : CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, 1);
        read_block_on(rig, two.of_a, KIB(8), A, 1);
        read_block_on(rig, two.of_b, KIB(8), B, 2);
        expect_ok(cuarena_block_free_on(rig->arena, two.of_a, A));
        expect_ok(cuarena_block_free_on(rig->arena, two.of_b, B));
        rig_close(rig);
    }
}
END_TEST

START_TEST(a_session_that_begins_beside_the_copies_waits_for_them_at_its_end)
{
    rig_t *rig = opened_rig(POOL);
    two_t two = open_holes(rig);
    cuarena_compact_report_t report;
    meddler_t m = {.rig = rig, .at = SIM_RELOCATE};
    compact_beside(&m, C, &report);
    expect_u64(report.moves, 2);
    release_to(rig, &m.session, B);
    read_block_on(rig, two.of_a, KIB(8), A, 1);
    read_block_on(rig, two.of_b, KIB(8), B, 2);
    expect_ok(cuarena_block_free_on(rig->arena, two.of_a, A));
    expect_ok(cuarena_block_free_on(rig->arena, two.of_b, B));
}
END_TEST

/* Neither stream can be made to wait for the other: B is captured. */
START_TEST(blocks_freed_before_a_session_stops_their_move_are_their_streams)
{
    for (int on = 0; on < 2; on++) {
        rig_t *rig = opened_rig(POOL);
        two_t two = open_holes(rig);
        cuarena_compact_report_t report;
        meddler_t m = {
            .rig = rig, .at = on ? SIM_WAIT : SIM_WAIT_HOST, .freed = {two.of_a, two.of_b}};
        compact_beside(&m, on ? C : CUARENA_NO_STREAM, &report);
        expect_u64(report.moves, 0);
        expect_u64(rig_stats(rig).live_blocks, 0);
        expect_u64(rig_stream_stats(rig, A).free_bytes, KIB(8));
        expect_u64(rig_stream_stats(rig, B).free_bytes, KIB(8));
        release_to(rig, &m.session, B);
        use_anew(rig, POOL, C);
        rig_close(rig);
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
    suite_add_list(suite, "failures",
                   TEST_LIST(without_host_memory_nothing_is_lost,
                             a_memory_call_that_fails_leaves_nothing,
                             sessions_of_a_lost_arena_end_without_the_memory));
    return suite_main(suite);
}
