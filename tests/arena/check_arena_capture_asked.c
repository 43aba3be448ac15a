/*
 * What requests ask for beside bytes in a capture session, on streams that are simulated: zeros, at
 * each launch or once, and segments of their own, which stay until the release.
 */
#include "support/base_support.h"
#include "support/capture_rig.h"
#include "support/scale.h"
#include "support/waits.h"

#include <check.h>
#include <pthread.h>
#include <unistd.h>

#define POOL KIB(64)
#define OWN KIB(12) /* of a dedicated block */

/* ---- Support ----------------------------------------------------------- */

/* All of the pool has contents. */
static void dirty(rig_t *rig, cuarena_stream_t stream)
{
    void *p = take_on(rig, POOL, stream);
    sim_write(&rig->sim, stream, p, POOL, 99);
    sim_run_all(&rig->sim);
    sim_sync(&rig->sim, stream);
    expect_ok(cuarena_free(rig->arena, p));
}

static uint64_t graph_zeros(const rig_t *rig)
{
    return rig->sim.counts[SIM_ZERO_CAPTURED];
}

static void expect_graph_zero(rig_t *rig, uint64_t count, const void *at, uint64_t bytes)
{
    expect_u64(graph_zeros(rig), count);
    ck_assert_ptr_eq(rig->sim.graph_zero.to, at);
    expect_u64(rig->sim.graph_zero.bytes, bytes);
}

/* ---- Zeros ------------------------------------------------------------- */

/* A block of the graph in the place of an earlier one: both are set to 0, at each launch. */
START_TEST(zeros_are_part_of_the_graph)
{
    rig_t *rig = opened_rig(POOL);
    dirty(rig, A);
    cuarena_capture_t *session = begin_on(rig, A);
    capture(rig, A, true);
    void *p = ask_on(rig, ZEROED, KIB(4), A);
    expect_graph_zero(rig, 1, p, KIB(4));
    free_on(rig, p, A);
    void *q = ask_on(rig, ZEROED, KIB(3), A);
    ck_assert_ptr_eq(p, q);
    expect_graph_zero(rig, 2, q, KIB(3));
    free_on(rig, take_on(rig, KIB(1), A), A); /* was not asked for zeros */
    expect_u64(graph_zeros(rig), 2);
    expect_untouched(rig);
    expect_u64(rig->sim.counts[SIM_ZERO], 0);
    capture(rig, A, false);
    end_of(rig, session);
    for (uint64_t i = 0; i < 5; i++) { /* the graph, as captured */
        sim_zero(&rig->sim, B, p, KIB(4));
        sim_read_zero(&rig->sim, B, p, KIB(4));
        sim_write(&rig->sim, B, p, KIB(4), 1 + i);
        sim_zero(&rig->sim, B, q, KIB(3));
        sim_read_zero(&rig->sim, B, q, KIB(3));
        sim_write(&rig->sim, B, q, KIB(3), 10 + i);
        free_on(rig, take_on(rig, KIB(4), C), C); /* eager work beside it */
    }
    sim_run_all(&rig->sim);
    expect_clean(rig);
    free_on(rig, q, B);
    release_to(rig, &session, B);
}
END_TEST

/* A session that began before the capture: what is asked for then is done on the stream, once. And
 * after the end as ever. */
START_TEST(zeros_outside_the_capture_are_done_once)
{
    rig_t *rig = opened_rig(POOL);
    dirty(rig, A);
    cuarena_capture_t *session = begin_on(rig, A);
    void *p = ask_on(rig, ZEROED, KIB(4), A);
    sim_read_zero(&rig->sim, A, p, KIB(4));
    ck_assert_ptr_null(rig->sim.graph_zero.to);
    free_on(rig, p, A);
    end_of(rig, session);
    void *q = ask_on(rig, ZEROED, KIB(4), A);
    sim_read_zero(&rig->sim, A, q, KIB(4));
    expect_u64(graph_zeros(rig), 1);
    expect_u64(rig->sim.counts[SIM_ZERO], 1);
    sim_run_all(&rig->sim);
    free_on(rig, q, A);
    release_to(rig, &session, A);
}
END_TEST

/* The bytes read as 0 when the call returns, and the graph leaves alone what the CPU writes
 * then. */
START_TEST(where_the_cpu_touches_zeros_are_there_at_once)
{
    for (int ask = ZEROED; ask <= (ZEROED | DEDICATED); ask += DEDICATED) {
        rig_t rig;
        rig_prepare(&rig, POOL, true);
        rig_create(&rig);
        void *all = take_plain(&rig, POOL);
        sim_host_write(&rig.sim, all, POOL, 5);
        free_plain(&rig, all);
        cuarena_capture_t *session = begin_on(&rig, A);
        capture(&rig, A, true);
        void *p = ask_on(&rig, ask, KIB(8), A);
        sim_host_read_zero(&rig.sim, p, KIB(8));
        expect_u64(graph_zeros(&rig), 0);
        expect_untouched(&rig);
        sim_host_write(&rig.sim, p, KIB(8), 6);
        capture(&rig, A, false);
        end_of(&rig, session);
        for (int i = 0; i < 3; i++)
            sim_read(&rig.sim, A, p, KIB(8), 6);
        sim_run_all(&rig.sim);
        free_on(&rig, p, A);
        release_to(&rig, &session, A);
        rig_close(&rig);
    }
}
END_TEST

START_TEST(zeros_that_no_graph_can_write_are_refused)
{
    cuarena_capture_t *session = NULL;
    void *p = NULL;
    for (int cpu = 0; cpu < 2; cpu++) {
        rig_t rig;
        rig_prepare(&rig, POOL, cpu);
        rig.sim.ops.zero_captured = NULL;
        rig_create(&rig);
        session = begin_on(&rig, A);
        cuarena_status_t status = try_ask(&rig, ZEROED, KIB(1), A, &p);
        expect_status(status, cpu ? CUARENA_OK : CUARENA_UNSUPPORTED);
        if (!cpu)
            expect_message("zeroed 1", "'sim'");
        expect_u64(stats_of(&rig, session).live_blocks, (uint64_t)cpu);
        free_on(&rig, ask_on(&rig, ZEROED, KIB(1), B), B); /* is no member */
        rig_close_forced(&rig);
        rig_prepare(&rig, POOL, cpu);
        rig.sim.ops.zero_captured = NULL;
        rig.config.zero = CUARENA_ZERO_ALLOC;
        rig_create(&rig);
        session = NULL;
        status = cuarena_capture_begin(rig.arena, A, &session);
        expect_status(status, cpu ? CUARENA_OK : CUARENA_UNSUPPORTED);
        if (!cpu)
            expect_message("zero=alloc");
        rig_close_forced(&rig);
    }
}
END_TEST

START_TEST(an_arena_that_zeroes_all_does_so_in_graphs)
{
    rig_t *rig = prepared_rig(POOL, false);
    rig->config.zero = CUARENA_ZERO_ALLOC;
    rig_create(rig);
    cuarena_capture_t *session = begin_on(rig, A);
    capture(rig, A, true);
    void *p = take_on(rig, KIB(2), A);
    expect_graph_zero(rig, 1, p, KIB(2));
    cuarena_block_t block = take_block_on(rig, KIB(1), A);
    expect_graph_zero(rig, 2, place_of(rig, block), KIB(1));
    cuarena_block_t empty = 0;
    expect_ok(cuarena_block_alloc_on(rig->arena, 0, A, NULL, &empty));
    expect_u64(graph_zeros(rig), 2);
    expect_untouched(rig);
    capture(rig, A, false);
    release_to(rig, &session, A);
    rig_close_forced(rig);
}
END_TEST

/* Rows: of private bytes, and a segment of its own. */
START_TEST(zeros_that_fail_leave_nothing)
{
    static const cuarena_status_t with[] = {CUARENA_BUSY, CUARENA_DRIVER, CUARENA_OUT_OF_MEMORY,
                                            CUARENA_LOST};
    for (int ask = ZEROED; ask <= (ZEROED | DEDICATED); ask += DEDICATED)
        for (int i = 0; i < 4; i++) {
            rig_t rig;
            void *p = NULL;
            rig_open(&rig, POOL);
            cuarena_capture_t *session = begin_on(&rig, A);
            capture(&rig, A, true);
            uint64_t before = rig_reserved(&rig);
            sim_fail(&rig.sim, SIM_ZERO_CAPTURED, 1, with[i]);
            expect_status(try_ask(&rig, ask, OWN, A, &p), with[i]);
            ck_assert_ptr_null(p);
            expect_u64(rig_reserved(&rig), before);
            expect_u64(rig_stats(&rig).live_blocks, 0);
            expect_u64(rig_stats(&rig).allocs, 0);
            cuarena_stats_t stats = stats_of(&rig, session);
            expect_u64(stats.live_blocks, 0);
            expect_u64(stats.allocs, 0);
            expect_u64(stats.frees, 0);
            expect_u64(stats.free_bytes, ask & DEDICATED ? 0 : OWN);
            if (with[i] != CUARENA_LOST)
                free_on(&rig, ask_on(&rig, ask, OWN, A), A);
            capture(&rig, A, false);
            release_to(&rig, &session, CUARENA_NO_STREAM);
            expect_u64(rig_reserved(&rig), before);
            rig_close(&rig);
        }
}
END_TEST

/* A thread that is about to end a session while another one's call gives the stream something to
 * do. */
typedef struct ender {
    rig_t *rig;
    cuarena_capture_t *session;
    pthread_t thread;
    waiter_t waiter;
    cuarena_status_t status;
    bool began;
} ender_t;

static void *end_it(void *user)
{
    ender_t *ender = user;
    waiter_begin(&ender->waiter);
    ender->status = cuarena_capture_release(ender->rig->arena, &ender->session, B);
    waiter_end(&ender->waiter);
    return NULL;
}

static void end_meanwhile(sim_t *sim, sim_op_t op)
{
    ender_t *ender = sim->hook_user;
    if (op != SIM_ZERO_CAPTURED || ender->began)
        return;
    ender->began = true;
    ck_assert_int_eq(pthread_create(&ender->thread, NULL, end_it, ender), 0);
    expect_asleep(&ender->waiter, "the end of a session, until its stream is "
                                  "left alone");
}

START_TEST(a_session_ends_when_its_streams_are_left_alone)
{
    for (int fails = 0; fails < 2; fails++)
        for (int ask = ZEROED; ask <= (ZEROED | DEDICATED); ask += DEDICATED) {
            rig_t rig;
            void *p = NULL;
            rig_open(&rig, POOL);
            ender_t ender = {.rig = &rig, .session = begin_on(&rig, A)};
            rig.sim.hook = end_meanwhile;
            rig.sim.hook_user = &ender;
            if (fails)
                sim_fail(&rig.sim, SIM_ZERO_CAPTURED, 1, CUARENA_DRIVER);
            cuarena_request_t request;
            cuarena_request_init(&request);
            request.zeroed = 1;
            request.dedicated = (ask & DEDICATED) != 0;
            expect_status(cuarena_alloc_on(rig.arena, OWN, A, &request, &p),
                          fails ? CUARENA_DRIVER : CUARENA_OK);
            ck_assert_int_eq(pthread_join(ender.thread, NULL), 0);
            rig.sim.hook = NULL;
            expect_status(ender.status, CUARENA_OK);
            expect_clean(&rig);
            if (!fails)
                free_on(&rig, p, B);
            sim_run_all(&rig.sim);
            reclaim(&rig);
            expect_u64(rig_reserved(&rig), POOL);
            rig_close(&rig);
        }
}
END_TEST

/* ---- Segments of their own --------------------------------------------- */

/* The arena goes on without it until the release, and until the heir is done with what it was
 * given. */
START_TEST(a_dedicated_block_stays_until_the_release)
{
    rig_t *rig = opened_rig(POOL);
    cuarena_capture_t *session = begin_on(rig, A);
    capture(rig, A, true);
    void *p = ask_on(rig, DEDICATED, OWN, A);
    expect_untouched(rig);
    expect_u64(rig_reserved(rig), POOL + OWN);
    expect_u64(rig_stats(rig).captured_bytes, OWN);
    expect_u64(stats_of(rig, session).live_bytes, OWN);
    free_on(rig, p, A);
    expect_status(cuarena_free_on(rig->arena, p, A), CUARENA_STALE);
    cuarena_stats_t stats = stats_of(rig, session);
    expect_u64(stats.live_bytes, 0);
    expect_u64(stats.free_bytes, OWN);
    expect_u64(stats.allocs, 1);
    expect_u64(stats.frees, 1);
    void *q = ask_on(rig, DEDICATED, OWN, A); /* not in its place */
    ck_assert_ptr_ne(p, q);
    free_on(rig, q, A);
    capture(rig, A, false);
    end_of(rig, session);
    for (int i = 0; i < 4; i++) {
        sim_write(&rig->sim, B, p, OWN, 1); /* the graph is launched */
        free_on(rig, take_on(rig, KIB(8), C), C);
        expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
        expect_ok(cuarena_trim(rig->arena, UINT64_MAX, NULL));
    }
    expect_u64(rig->sim.counts[SIM_GIVE_BACK], 0);
    uint64_t waits = rig->sim.counts[SIM_WAIT_HOST];
    release_to(rig, &session, B);
    sim_write(&rig->sim, B, p, OWN, 2); /* queued before the event is */
    reclaim(rig);
    expect_u64(rig_reserved(rig), POOL + 2 * OWN);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], waits);
    sim_run_all(&rig->sim);
    reclaim(rig);
    expect_u64(rig_reserved(rig), POOL);
    expect_u64(rig->sim.counts[SIM_GIVE_BACK], 2);
}
END_TEST

/* Rows: freed while open, after the end, or it lives at the release. Columns: the heir. The last
 * launch of the graph is under way on it. */
START_TEST(whoever_frees_a_dedicated_block_leaves_it_to_the_session)
{
    static const cuarena_stream_t heirs[] = {CUARENA_NO_STREAM, A, B};
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            rig_t rig;
            rig_open(&rig, POOL);
            cuarena_stream_t heir = heirs[column];
            cuarena_capture_t *session = begin_on(&rig, A);
            void *p = ask_on(&rig, DEDICATED, OWN, A);
            if (row == 0)
                free_on(&rig, p, A);
            end_of(&rig, session);
            if (row == 1)
                expect_ok(cuarena_free(rig.arena, p));
            sim_write(&rig.sim, column == 0 ? C : heir, p, OWN, 3);
            if (column == 0) {
                sim_run_all(&rig.sim);
                sim_sync(&rig.sim, C);
            }
            expect_u64(rig_reserved(&rig), POOL + OWN);
            release_to(&rig, &session, heir);
            if (row == 2)
                free_on(&rig, p, heir);
            expect_u64(rig_reserved(&rig), POOL + (column == 0 ? 0 : OWN));
            reclaim(&rig);
            expect_u64(rig_reserved(&rig), POOL + (column == 0 ? 0 : OWN));
            sim_run_all(&rig.sim);
            reclaim(&rig);
            expect_u64(rig_reserved(&rig), POOL);
            expect_u64(rig_stats(&rig).live_blocks, 0);
            rig_close(&rig);
        }
}
END_TEST

/* B wrote to it, and frees it or is recorded; A gets it, and waits for B. */
START_TEST(the_heir_waits_for_whoever_used_a_dedicated_block)
{
    for (int recorded = 0; recorded < 2; recorded++) {
        rig_t rig;
        rig_open(&rig, POOL);
        cuarena_capture_t *session = begin_on(&rig, C);
        void *p = ask_on(&rig, DEDICATED, OWN, C);
        end_of(&rig, session);
        sim_write(&rig.sim, B, p, OWN, 1);
        if (recorded)
            expect_ok(cuarena_record_use(rig.arena, p, B));
        free_on(&rig, p, recorded ? C : B);
        release_to(&rig, &session, A);
        expect_u64(rig.sim.counts[SIM_WAIT], 2); /* for B and C */
        reclaim(&rig);
        sim_run_stream(&rig.sim, A);
        reclaim(&rig);
        expect_u64(rig_reserved(&rig), POOL + OWN);
        sim_run_all(&rig.sim);
        reclaim(&rig);
        expect_u64(rig_reserved(&rig), POOL);
        rig_close(&rig);
    }
}
END_TEST

/* Between the release and the event behind it the heir goes, or is captured again. */
START_TEST(what_becomes_of_the_heir_is_minded)
{
    for (int captured = 0; captured < 2; captured++) {
        rig_t rig;
        rig_open(&rig, POOL);
        cuarena_capture_t *session = begin_on(&rig, A);
        void *p = ask_on(&rig, DEDICATED, OWN, A);
        free_on(&rig, p, A);
        end_of(&rig, session);
        sim_write(&rig.sim, B, p, OWN, 1);
        release_to(&rig, &session, B);
        if (captured) {
            session = begin_on(&rig, B);
            capture(&rig, B, true);
        } else {
            expect_ok(cuarena_release_stream(rig.arena, B));
            sim_stream_kill(&rig.sim, B);
        }
        reclaim(&rig);
        expect_u64(rig_reserved(&rig), POOL + OWN);
        sim_run_all(&rig.sim);
        reclaim(&rig);
        expect_u64(rig_reserved(&rig), POOL + (captured ? OWN : 0));
        expect_untouched(&rig);
        if (captured) {
            capture(&rig, B, false);
            release_to(&rig, &session, B);
            reclaim(&rig);
            sim_run_all(&rig.sim);
            reclaim(&rig);
        }
        expect_u64(rig_reserved(&rig), POOL);
        rig_close(&rig);
    }
}
END_TEST

/* As a segment of a graph it counts toward what may be held. */
START_TEST(a_dedicated_block_counts_toward_the_limit)
{
    void *p = NULL;
    rig_t *rig = prepared_rig(POOL, false);
    rig->config.limit = (cuarena_amount_t){.value = POOL + OWN};
    rig_create(rig);
    cuarena_capture_t *session = begin_on(rig, A);
    free_on(rig, ask_on(rig, DEDICATED, OWN, A), A);
    expect_status(try_ask(rig, DEDICATED, KIB(4), A, &p), CUARENA_LIMIT);
    end_of(rig, session);
    expect_status(try_ask(rig, DEDICATED, KIB(4), A, &p), CUARENA_LIMIT);
    release_to(rig, &session, A);
    p = ask_on(rig, DEDICATED, OWN, A); /* idle on the way */
    free_on(rig, p, A);
    sim_run_all(&rig->sim);
}
END_TEST

START_TEST(what_cannot_be_done_to_a_dedicated_block)
{
    rig_t rig;
    rig_open(&rig, POOL);
    cuarena_capture_t *session = begin_on(&rig, A);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_alloc_on(rig.arena, OWN, A, &request, &block));
    expect_status(cuarena_block_resize_on(rig.arena, block, KIB(4), A), CUARENA_BUSY);
    expect_status(cuarena_block_resize(rig.arena, block, KIB(4)), CUARENA_UNSUPPORTED);
    cuarena_block_info_t info;
    expect_ok(cuarena_block_info(rig.arena, block, &info));
    expect_u64(info.dedicated, 1);
    expect_ok(cuarena_block_free_on(rig.arena, block, A));
    expect_status(cuarena_block_info(rig.arena, block, &info), CUARENA_STALE);
    expect_status(cuarena_reset(rig.arena), CUARENA_BUSY);
    expect_status(cuarena_destroy(&rig.arena), CUARENA_BUSY);
    rig_close_forced(&rig); /* and nothing is left */
    (void)session;
}
END_TEST

/* ---- Failures ---------------------------------------------------------- */

START_TEST(a_lost_arena_keeps_nothing_for_a_graph)
{
    rig_t *rig = opened_rig(POOL);
    cuarena_capture_t *session = begin_on(rig, A);
    void *p = ask_on(rig, DEDICATED, OWN, A);
    void *alive = ask_on(rig, DEDICATED, OWN, A);
    free_on(rig, p, A);
    free_on(rig, take_on(rig, KIB(4), B), B);
    sim_fail(&rig->sim, SIM_MARK, 1, CUARENA_LOST);
    expect_status(cuarena_reclaim(rig->arena, 0, NULL), CUARENA_LOST);
    sim_calls(&rig->sim);
    end_of(rig, session);
    release_to(rig, &session, B);
    expect_u64(rig_reserved(rig), POOL + OWN);
    free_on(rig, alive, B);
    expect_u64(sim_calls(&rig->sim), rig_stats(rig).reserved_bytes == POOL ? 2 : 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_capture_asked");
    suite_add_list(suite, "zeroed",
                   TEST_LIST(zeros_are_part_of_the_graph, zeros_outside_the_capture_are_done_once,
                             where_the_cpu_touches_zeros_are_there_at_once,
                             zeros_that_no_graph_can_write_are_refused,
                             an_arena_that_zeroes_all_does_so_in_graphs,
                             zeros_that_fail_leave_nothing,
                             a_session_ends_when_its_streams_are_left_alone));
    suite_add_list(suite, "dedicated",
                   TEST_LIST(a_dedicated_block_stays_until_the_release,
                             whoever_frees_a_dedicated_block_leaves_it_to_the_session,
                             the_heir_waits_for_whoever_used_a_dedicated_block,
                             what_becomes_of_the_heir_is_minded,
                             a_dedicated_block_counts_toward_the_limit,
                             what_cannot_be_done_to_a_dedicated_block));
    suite_add_list(suite, "failures", TEST_LIST(a_lost_arena_keeps_nothing_for_a_graph));
    return suite_main(suite);
}
