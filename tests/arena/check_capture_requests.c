/*
 * What requests ask for beside bytes in a capture session, on streams that are simulated: zeros, at
 * each launch or once, and segments of their own, which stay until the release.
 */
#include "support/base_support.h"
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/scale.h"
#include "support/waits.h"

#include <pthread.h>
#include <unistd.h>

#define POOL KIB(64)
#define OWN KIB(12) /* of a dedicated block */

/* ---- Support ----------------------------------------------------------- */

/* All of the pool has contents. */
static void dirty(fixture_t *f, cuarena_stream_t stream)
{
    void *p = alloc_on(f, POOL, stream);
    sim_write(&f->sim, stream, p, POOL, 99);
    sim_run_all(&f->sim);
    sim_sync(&f->sim, stream);
    expect_ok(cuarena_free(f->arena, p));
}

static uint64_t graph_zeros(const fixture_t *f)
{
    return f->sim.counts[SIM_ZERO_CAPTURED];
}

static void expect_graph_zero(fixture_t *f, uint64_t count, const void *at, uint64_t bytes)
{
    expect_u64(graph_zeros(f), count);
    ck_assert_ptr_eq(f->sim.graph_zero.to, at);
    expect_u64(f->sim.graph_zero.bytes, bytes);
}

/* ---- Zeros ------------------------------------------------------------- */

/* A block of the graph in the place of an earlier one: both are set to 0, at each launch. */
START_TEST(zeros_are_part_of_the_graph)
{
    fixture_t *f = opened(SIMULATED, POOL);
    dirty(f, A);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    void *p = ask_on(f, ZEROED, KIB(4), A);
    expect_graph_zero(f, 1, p, KIB(4));
    free_on(f, p, A);
    void *q = ask_on(f, ZEROED, KIB(3), A);
    ck_assert_ptr_eq(p, q);
    expect_graph_zero(f, 2, q, KIB(3));
    free_on(f, alloc_on(f, KIB(1), A), A); /* was not asked for zeros */
    expect_u64(graph_zeros(f), 2);
    expect_untouched(f);
    expect_u64(f->sim.counts[SIM_ZERO], 0);
    capture(f, A, false);
    end_of(f, session);
    for (uint64_t i = 0; i < 5; i++) { /* the graph, as captured */
        sim_zero(&f->sim, B, p, KIB(4));
        sim_read_zero(&f->sim, B, p, KIB(4));
        sim_write(&f->sim, B, p, KIB(4), 1 + i);
        sim_zero(&f->sim, B, q, KIB(3));
        sim_read_zero(&f->sim, B, q, KIB(3));
        sim_write(&f->sim, B, q, KIB(3), 10 + i);
        free_on(f, alloc_on(f, KIB(4), C), C); /* eager work beside it */
    }
    sim_run_all(&f->sim);
    expect_sound(f);
    free_on(f, q, B);
    release_to(f, &session, B);
}
END_TEST

/* A session that began before the capture: what is asked for then is done on the stream, once. And
 * after the end as ever. */
START_TEST(zeros_outside_the_capture_are_done_once)
{
    fixture_t *f = opened(SIMULATED, POOL);
    dirty(f, A);
    cuarena_capture_t *session = begin_on(f, A);
    void *p = ask_on(f, ZEROED, KIB(4), A);
    sim_read_zero(&f->sim, A, p, KIB(4));
    ck_assert_ptr_null(f->sim.graph_zero.to);
    free_on(f, p, A);
    end_of(f, session);
    void *q = ask_on(f, ZEROED, KIB(4), A);
    sim_read_zero(&f->sim, A, q, KIB(4));
    expect_u64(graph_zeros(f), 1);
    expect_u64(f->sim.counts[SIM_ZERO], 1);
    sim_run_all(&f->sim);
    free_on(f, q, A);
    release_to(f, &session, A);
}
END_TEST

/* The bytes read as 0 when the call returns, and the graph leaves alone what the CPU writes
 * then. */
START_TEST(where_the_cpu_touches_zeros_are_there_at_once)
{
    for (int ask = ZEROED; ask <= (ZEROED | DEDICATED); ask += DEDICATED) {
        fixture_t f;
        fixture_prepare(&f, SIMULATED_HOST, POOL);
        fixture_create(&f);
        void *all = alloc_ok(&f, POOL);
        sim_host_write(&f.sim, all, POOL, 5);
        free_ok(&f, all);
        cuarena_capture_t *session = begin_on(&f, A);
        capture(&f, A, true);
        void *p = ask_on(&f, ask, KIB(8), A);
        sim_host_read_zero(&f.sim, p, KIB(8));
        expect_u64(graph_zeros(&f), 0);
        expect_untouched(&f);
        sim_host_write(&f.sim, p, KIB(8), 6);
        capture(&f, A, false);
        end_of(&f, session);
        for (int i = 0; i < 3; i++)
            sim_read(&f.sim, A, p, KIB(8), 6);
        sim_run_all(&f.sim);
        free_on(&f, p, A);
        release_to(&f, &session, A);
        fixture_close(&f);
    }
}
END_TEST

START_TEST(zeros_that_no_graph_can_write_are_refused)
{
    cuarena_capture_t *session = NULL;
    void *p = NULL;
    for (int cpu = 0; cpu < 2; cpu++) {
        fixture_t f;
        fixture_prepare(&f, cpu ? SIMULATED_HOST : SIMULATED, POOL);
        f.sim.ops.zero_captured = NULL;
        fixture_create(&f);
        session = begin_on(&f, A);
        cuarena_status_t status = try_ask(&f, ZEROED, KIB(1), A, &p);
        expect_status(status, cpu ? CUARENA_OK : CUARENA_UNSUPPORTED);
        if (!cpu)
            expect_message("zeroed 1", "'sim'");
        expect_u64(session_stats_of(&f, session).live_blocks, (uint64_t)cpu);
        free_on(&f, ask_on(&f, ZEROED, KIB(1), B), B); /* is no member */
        fixture_close_forced(&f);
        fixture_prepare(&f, cpu ? SIMULATED_HOST : SIMULATED, POOL);
        f.sim.ops.zero_captured = NULL;
        f.config.zero = CUARENA_ZERO_ALLOC;
        fixture_create(&f);
        session = NULL;
        status = cuarena_capture_begin(f.arena, A, &session);
        expect_status(status, cpu ? CUARENA_OK : CUARENA_UNSUPPORTED);
        if (!cpu)
            expect_message("zero=alloc");
        fixture_close_forced(&f);
    }
}
END_TEST

START_TEST(an_arena_that_zeroes_all_does_so_in_graphs)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.zero = CUARENA_ZERO_ALLOC;
    fixture_create(f);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    void *p = alloc_on(f, KIB(2), A);
    expect_graph_zero(f, 1, p, KIB(2));
    cuarena_block_t block = alloc_block_on(f, KIB(1), A);
    expect_graph_zero(f, 2, address_of(f, block), KIB(1));
    cuarena_block_t empty = 0;
    expect_ok(cuarena_block_alloc_on(f->arena, 0, A, NULL, &empty));
    expect_u64(graph_zeros(f), 2);
    expect_untouched(f);
    capture(f, A, false);
    release_to(f, &session, A);
    fixture_close_forced(f);
}
END_TEST

/* Rows: of private bytes, and a segment of its own. */
START_TEST(zeros_that_fail_leave_nothing)
{
    static const cuarena_status_t with[] = {CUARENA_BUSY, CUARENA_DRIVER, CUARENA_OUT_OF_MEMORY,
                                            CUARENA_LOST};
    for (int ask = ZEROED; ask <= (ZEROED | DEDICATED); ask += DEDICATED)
        for (int i = 0; i < 4; i++) {
            fixture_t f;
            void *p = NULL;
            fixture_open(&f, SIMULATED, POOL);
            cuarena_capture_t *session = begin_on(&f, A);
            capture(&f, A, true);
            uint64_t before = reserved_bytes(&f);
            sim_fail(&f.sim, SIM_ZERO_CAPTURED, 1, with[i]);
            expect_status(try_ask(&f, ask, OWN, A, &p), with[i]);
            ck_assert_ptr_null(p);
            expect_u64(reserved_bytes(&f), before);
            expect_u64(stats_of(&f).live_blocks, 0);
            expect_u64(stats_of(&f).allocs, 0);
            cuarena_stats_t stats = session_stats_of(&f, session);
            expect_u64(stats.live_blocks, 0);
            expect_u64(stats.allocs, 0);
            expect_u64(stats.frees, 0);
            expect_u64(stats.free_bytes, ask & DEDICATED ? 0 : OWN);
            if (with[i] != CUARENA_LOST)
                free_on(&f, ask_on(&f, ask, OWN, A), A);
            capture(&f, A, false);
            release_to(&f, &session, CUARENA_NO_STREAM);
            expect_u64(reserved_bytes(&f), before);
            fixture_close(&f);
        }
}
END_TEST

/* A thread that is about to end a session while another one's call gives the stream something to
 * do. */
typedef struct ender {
    fixture_t *f;
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
    ender->status = cuarena_capture_release(ender->f->arena, &ender->session, B);
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
            fixture_t f;
            void *p = NULL;
            fixture_open(&f, SIMULATED, POOL);
            ender_t ender = {.f = &f, .session = begin_on(&f, A)};
            f.sim.hook = end_meanwhile;
            f.sim.hook_user = &ender;
            if (fails)
                sim_fail(&f.sim, SIM_ZERO_CAPTURED, 1, CUARENA_DRIVER);
            cuarena_request_t request;
            cuarena_request_init(&request);
            request.zeroed = 1;
            request.dedicated = (ask & DEDICATED) != 0;
            expect_status(cuarena_alloc_on(f.arena, OWN, A, &request, &p),
                          fails ? CUARENA_DRIVER : CUARENA_OK);
            ck_assert_int_eq(pthread_join(ender.thread, NULL), 0);
            f.sim.hook = NULL;
            expect_status(ender.status, CUARENA_OK);
            expect_sound(&f);
            if (!fails)
                free_on(&f, p, B);
            sim_run_all(&f.sim);
            reclaim_idle(&f);
            expect_u64(reserved_bytes(&f), POOL);
            fixture_close(&f);
        }
}
END_TEST

/* ---- Segments of their own --------------------------------------------- */

/* The arena goes on without it until the release, and until the heir is done with what it was
 * given. */
START_TEST(a_dedicated_block_stays_until_the_release)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    capture(f, A, true);
    void *p = ask_on(f, DEDICATED, OWN, A);
    expect_untouched(f);
    expect_u64(reserved_bytes(f), POOL + OWN);
    expect_u64(stats_of(f).captured_bytes, OWN);
    expect_u64(session_stats_of(f, session).live_bytes, OWN);
    free_on(f, p, A);
    expect_status(cuarena_free_on(f->arena, p, A), CUARENA_STALE);
    cuarena_stats_t stats = session_stats_of(f, session);
    expect_u64(stats.live_bytes, 0);
    expect_u64(stats.free_bytes, OWN);
    expect_u64(stats.allocs, 1);
    expect_u64(stats.frees, 1);
    void *q = ask_on(f, DEDICATED, OWN, A); /* not in its place */
    ck_assert_ptr_ne(p, q);
    free_on(f, q, A);
    capture(f, A, false);
    end_of(f, session);
    for (int i = 0; i < 4; i++) {
        sim_write(&f->sim, B, p, OWN, 1); /* the graph is launched */
        free_on(f, alloc_on(f, KIB(8), C), C);
        expect_ok(cuarena_reclaim(f->arena, 1, NULL));
        expect_ok(cuarena_trim(f->arena, UINT64_MAX, NULL));
    }
    expect_u64(f->sim.counts[SIM_GIVE_BACK], 0);
    uint64_t waits = f->sim.counts[SIM_WAIT_HOST];
    release_to(f, &session, B);
    sim_write(&f->sim, B, p, OWN, 2); /* queued before the event is */
    reclaim_idle(f);
    expect_u64(reserved_bytes(f), POOL + 2 * OWN);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], waits);
    sim_run_all(&f->sim);
    reclaim_idle(f);
    expect_u64(reserved_bytes(f), POOL);
    expect_u64(f->sim.counts[SIM_GIVE_BACK], 2);
}
END_TEST

/* Rows: freed while open, after the end, or it lives at the release. Columns: the heir. The last
 * launch of the graph is under way on it. */
START_TEST(whoever_frees_a_dedicated_block_leaves_it_to_the_session)
{
    static const cuarena_stream_t heirs[] = {CUARENA_NO_STREAM, A, B};
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            fixture_t f;
            fixture_open(&f, SIMULATED, POOL);
            cuarena_stream_t heir = heirs[column];
            cuarena_capture_t *session = begin_on(&f, A);
            void *p = ask_on(&f, DEDICATED, OWN, A);
            if (row == 0)
                free_on(&f, p, A);
            end_of(&f, session);
            if (row == 1)
                expect_ok(cuarena_free(f.arena, p));
            sim_write(&f.sim, column == 0 ? C : heir, p, OWN, 3);
            if (column == 0) {
                sim_run_all(&f.sim);
                sim_sync(&f.sim, C);
            }
            expect_u64(reserved_bytes(&f), POOL + OWN);
            release_to(&f, &session, heir);
            if (row == 2)
                free_on(&f, p, heir);
            expect_u64(reserved_bytes(&f), POOL + (column == 0 ? 0 : OWN));
            reclaim_idle(&f);
            expect_u64(reserved_bytes(&f), POOL + (column == 0 ? 0 : OWN));
            sim_run_all(&f.sim);
            reclaim_idle(&f);
            expect_u64(reserved_bytes(&f), POOL);
            expect_u64(stats_of(&f).live_blocks, 0);
            fixture_close(&f);
        }
}
END_TEST

/* B wrote to it, and frees it or is recorded; A gets it, and waits for B. */
START_TEST(the_heir_waits_for_whoever_used_a_dedicated_block)
{
    for (int recorded = 0; recorded < 2; recorded++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        cuarena_capture_t *session = begin_on(&f, C);
        void *p = ask_on(&f, DEDICATED, OWN, C);
        end_of(&f, session);
        sim_write(&f.sim, B, p, OWN, 1);
        if (recorded)
            expect_ok(cuarena_record_use(f.arena, p, B));
        free_on(&f, p, recorded ? C : B);
        release_to(&f, &session, A);
        expect_u64(f.sim.counts[SIM_WAIT], 2); /* for B and C */
        reclaim_idle(&f);
        sim_run_stream(&f.sim, A);
        reclaim_idle(&f);
        expect_u64(reserved_bytes(&f), POOL + OWN);
        sim_run_all(&f.sim);
        reclaim_idle(&f);
        expect_u64(reserved_bytes(&f), POOL);
        fixture_close(&f);
    }
}
END_TEST

/* Between the release and the event behind it the heir goes, or is captured again. */
START_TEST(what_becomes_of_the_heir_is_minded)
{
    for (int captured = 0; captured < 2; captured++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        cuarena_capture_t *session = begin_on(&f, A);
        void *p = ask_on(&f, DEDICATED, OWN, A);
        free_on(&f, p, A);
        end_of(&f, session);
        sim_write(&f.sim, B, p, OWN, 1);
        release_to(&f, &session, B);
        if (captured) {
            session = begin_on(&f, B);
            capture(&f, B, true);
        } else {
            expect_ok(cuarena_release_stream(f.arena, B));
            sim_stream_kill(&f.sim, B);
        }
        reclaim_idle(&f);
        expect_u64(reserved_bytes(&f), POOL + OWN);
        sim_run_all(&f.sim);
        reclaim_idle(&f);
        expect_u64(reserved_bytes(&f), POOL + (captured ? OWN : 0));
        expect_untouched(&f);
        if (captured) {
            capture(&f, B, false);
            release_to(&f, &session, B);
            reclaim_idle(&f);
            sim_run_all(&f.sim);
            reclaim_idle(&f);
        }
        expect_u64(reserved_bytes(&f), POOL);
        fixture_close(&f);
    }
}
END_TEST

/* As a segment of a graph it counts toward what may be held. */
START_TEST(a_dedicated_block_counts_toward_the_limit)
{
    void *p = NULL;
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.limit = (cuarena_amount_t){.value = POOL + OWN};
    fixture_create(f);
    cuarena_capture_t *session = begin_on(f, A);
    free_on(f, ask_on(f, DEDICATED, OWN, A), A);
    expect_status(try_ask(f, DEDICATED, KIB(4), A, &p), CUARENA_LIMIT);
    end_of(f, session);
    expect_status(try_ask(f, DEDICATED, KIB(4), A, &p), CUARENA_LIMIT);
    release_to(f, &session, A);
    p = ask_on(f, DEDICATED, OWN, A); /* idle on the way */
    free_on(f, p, A);
    sim_run_all(&f->sim);
}
END_TEST

START_TEST(what_cannot_be_done_to_a_dedicated_block)
{
    fixture_t f;
    fixture_open(&f, SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(&f, A);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_alloc_on(f.arena, OWN, A, &request, &block));
    expect_status(cuarena_block_resize_on(f.arena, block, KIB(4), A), CUARENA_BUSY);
    expect_status(cuarena_block_resize(f.arena, block, KIB(4)), CUARENA_UNSUPPORTED);
    cuarena_block_info_t info;
    expect_ok(cuarena_block_info(f.arena, block, &info));
    expect_u64(info.dedicated, 1);
    expect_ok(cuarena_block_free_on(f.arena, block, A));
    expect_status(cuarena_block_info(f.arena, block, &info), CUARENA_STALE);
    expect_status(cuarena_reset(f.arena), CUARENA_BUSY);
    expect_status(cuarena_destroy(&f.arena), CUARENA_BUSY);
    fixture_close_forced(&f); /* and nothing is left */
    (void)session;
}
END_TEST

/* ---- Failures ---------------------------------------------------------- */

START_TEST(a_lost_arena_keeps_nothing_for_a_graph)
{
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_capture_t *session = begin_on(f, A);
    void *p = ask_on(f, DEDICATED, OWN, A);
    void *alive = ask_on(f, DEDICATED, OWN, A);
    free_on(f, p, A);
    free_on(f, alloc_on(f, KIB(4), B), B);
    sim_fail(&f->sim, SIM_RECORD, 1, CUARENA_LOST);
    expect_status(cuarena_reclaim(f->arena, 0, NULL), CUARENA_LOST);
    sim_calls(&f->sim);
    end_of(f, session);
    release_to(f, &session, B);
    expect_u64(reserved_bytes(f), POOL + OWN);
    free_on(f, alive, B);
    expect_u64(sim_calls(&f->sim), stats_of(f).reserved_bytes == POOL ? 2 : 1);
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
