/*
 * cuarena_release_stream beside a call of another thread that has just given the memory the
 * stream's handle: it returns when that call of the memory has, and not before, whichever it is.
 * Each call is met in the middle, so nothing depends on time.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/waits.h"

#include <pthread.h>

#define POOL KIB(64)
#define PART (POOL / 4)

/* The call of the memory that is met, and the release of B meanwhile. */
typedef struct meeting {
    fixture_t f;
    sim_op_t op;
    uint64_t nth;               /* of these calls from now on; 0: it was met */
    void *(*meets)(void *user); /* instead of the release; NULL: none */
    cuarena_capture_t *session;
    pthread_t releaser;
    waiter_t waiter; /* the releaser */
    bool early;      /* it returned while the call was under way */
    cuarena_block_t row[4];
    void *pointer;
} meeting_t;

/* ---- The release ------------------------------------------------------- */

static void *release_b(void *user)
{
    meeting_t *m = user;
    waiter_begin(&m->waiter);
    expect_ok(cuarena_release_stream(m->f.arena, B));
    waiter_end(&m->waiter);
    sim_stream_kill(&m->f.sim, B);
    return NULL;
}

static void meet(sim_t *sim, sim_op_t op)
{
    meeting_t *m = sim->hook_user;
    if (op != m->op || m->nth == 0 || --m->nth != 0)
        return;
    pthread_create(&m->releaser, NULL, m->meets != NULL ? m->meets : release_b, m);
    m->early = !falls_asleep(&m->waiter);
}

/* ---- The calls --------------------------------------------------------- */

static void see_it_first(meeting_t *m)
{
    cuarena_alloc_on(m->f.arena, PART, B, NULL, &m->pointer);
}

static void alloc_on_b(meeting_t *m)
{
    m->pointer = alloc_on(&m->f, PART, B);
}

static void use_on_b(meeting_t *m)
{
    m->pointer = alloc_on(&m->f, PART, A);
    sim_write(&m->f.sim, B, m->pointer, PART, 1);
    expect_ok(cuarena_record_use(m->f.arena, m->pointer, B));
}

static void free_on_a(meeting_t *m)
{
    free_on(&m->f, m->pointer, A);
}

static void free_on_b(meeting_t *m)
{
    free_on(&m->f, m->pointer, B);
}

static void fill_and_free(meeting_t *m, cuarena_stream_t stream)
{
    alloc_row_on(&m->f, m->row, 4, stream);
    for (int i = 0; i < 4; i++)
        expect_ok(cuarena_block_free_on(m->f.arena, m->row[i], stream));
}

static void fill_by_a(meeting_t *m)
{
    fill_and_free(m, A);
    expect_ok(cuarena_free_on(m->f.arena, alloc_on(&m->f, PART, A), A));
}

static void fill_by_b(meeting_t *m)
{
    fill_and_free(m, B);
}

static void steal_on_a(meeting_t *m)
{
    cuarena_alloc_on(m->f.arena, PART, A, NULL, &m->pointer);
}

/* A hole of A before blocks of B. */
static void leave_a_hole(meeting_t *m)
{
    void *p = NULL;
    alloc_row_on(&m->f, m->row, 4, B);
    for (int i = 1; i < 4; i++) {
        expect_ok(cuarena_block_pin_on(m->f.arena, m->row[i], B, &p));
        sim_write(&m->f.sim, B, p, PART, 1);
        expect_ok(cuarena_block_unpin_on(m->f.arena, m->row[i], B));
    }
    expect_ok(cuarena_block_free_on(m->f.arena, m->row[0], A));
}

static void compact_all(meeting_t *m, cuarena_stream_t stream)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = stream;
    expect_ok(cuarena_compact(m->f.arena, &options, NULL, NULL, NULL));
}

static void compact_on_a(meeting_t *m)
{
    compact_all(m, A);
}

static void compact_on_b(meeting_t *m)
{
    compact_all(m, B);
}

static void reclaim_all(meeting_t *m)
{
    expect_ok(cuarena_reclaim(m->f.arena, 0, NULL));
}

static void ask_for_zeros_on_b(meeting_t *m)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    expect_ok(cuarena_alloc_on(m->f.arena, PART, B, &request, &m->pointer));
}

static void alloc_two_on_b(meeting_t *m)
{
    m->pointer = alloc_on(&m->f, PART, B);
    alloc_on(&m->f, 256, B);
}

static void resize_on_b(meeting_t *m)
{
    expect_ok(cuarena_resize_on(m->f.arena, m->pointer, 2 * PART, B, &m->pointer));
}

static void mark_b(meeting_t *m)
{
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(m->f.arena, B, &mark));
}

static const struct {
    const char *name;
    void (*before)(meeting_t *m);
    void (*call)(meeting_t *m);
    sim_op_t op;
    uint64_t nth;
    int32_t event;
} rows[] = {
    {"first sight", NULL, see_it_first, SIM_IDENTIFY, 1, 0},
    {"zeroing", alloc_on_b, ask_for_zeros_on_b, SIM_ZERO, 1, 0},
    {"a resize's copy", alloc_two_on_b, resize_on_b, SIM_RELOCATE, 1, 0},
    {"an eager free", alloc_on_b, free_on_b, SIM_RECORD, 1, 1},
    {"the free of a block it uses", use_on_b, free_on_a, SIM_RECORD, 1, 0},
    {"reclaiming", fill_by_b, reclaim_all, SIM_RECORD, 1, 0},
    {"a mark", fill_by_b, mark_b, SIM_RECORD, 1, 0},
    {"another takes its bytes", fill_by_b, steal_on_a, SIM_RECORD, 1, 0},
    {"it takes another's bytes", fill_by_a, see_it_first, SIM_WAIT, 1, 0},
    {"a compaction records it", leave_a_hole, compact_on_a, SIM_RECORD, 1, 0},
    {"it waits for a compaction", leave_a_hole, compact_on_a, SIM_WAIT, 2, 0},
    {"its compaction", leave_a_hole, compact_on_b, SIM_RELOCATE, 1, 0},
    {"its compaction's wait", leave_a_hole, compact_on_b, SIM_WAIT, 1, 0},
    {"its compaction's event", leave_a_hole, compact_on_b, SIM_RECORD, 2, 0},
};
#define ROWS ((int)COUNT_OF(rows))

START_TEST(a_release_waits_for_calls_that_use_the_handle)
{
    meeting_t m = {.op = rows[_i].op, .nth = rows[_i].nth};
    fixture_prepare(&m.f, SIMULATED, POOL);
    m.f.config.events = rows[_i].event;
    fixture_create(&m.f);
    if (rows[_i].before != NULL)
        rows[_i].before(&m);
    m.f.sim.hook_user = &m;
    m.f.sim.hook = meet;
    rows[_i].call(&m);
    ck_assert_msg(m.nth == 0, "%s: no such call of the memory", rows[_i].name);
    pthread_join(m.releaser, NULL);
    m.f.sim.hook = NULL;
    ck_assert_msg(!m.early, "%s: the release returned meanwhile", rows[_i].name);
    expect_sound(&m.f);
    fixture_close_forced(&m.f);
}
END_TEST

/* B was released before the copy: it has no stream, and waits for what B wrote. */
START_TEST(a_copy_comes_after_the_stream_that_was_released)
{
    meeting_t m = {.op = SIM_RECORD, .nth = 1};
    fixture_open(&m.f, SIMULATED, POOL);
    alloc_two_on_b(&m);
    sim_write(&m.f.sim, B, m.pointer, PART, 1);
    expect_ok(cuarena_record_use(m.f.arena, m.pointer, A));
    m.f.sim.hook_user = &m;
    m.f.sim.hook = meet;
    resize_on_b(&m);
    pthread_join(m.releaser, NULL);
    m.f.sim.hook = NULL;
    ck_assert(m.early);
    expect_sound(&m.f);
    fixture_close_forced(&m.f);
}
END_TEST

static void *capture_b(void *user)
{
    meeting_t *m = user;
    waiter_begin(&m->waiter);
    expect_ok(cuarena_capture_begin(m->f.arena, B, &m->session));
    waiter_end(&m->waiter);
    return NULL;
}

/* An event of all work ends captures. */
START_TEST(a_session_waits_for_calls_that_record_all_work)
{
    meeting_t m = {.op = SIM_RECORD_ALL, .nth = 1, .meets = capture_b};
    fixture_prepare(&m.f, SIMULATED, POOL);
    m.f.sim.ops.grow = NULL;
    m.f.sim.ops.shrink = NULL;
    fixture_create(&m.f);
    alloc_block_on(&m.f, PART, B);
    m.f.sim.hook_user = &m;
    m.f.sim.hook = meet;
    (void)cuarena_resize_pool(m.f.arena, 2 * POOL);
    expect_u64(m.nth, 0);
    pthread_join(m.releaser, NULL);
    m.f.sim.hook = NULL;
    ck_assert(!m.early);
    expect_ok(cuarena_capture_release(m.f.arena, &m.session, B));
    expect_sound(&m.f);
    fixture_close_forced(&m.f);
}
END_TEST

static meeting_t *met;
static cuarena_status_t (*record_as_ever)(void *user, cuarena_stream_t stream, void **event);

static void *write_and_free_on_b(void *user)
{
    meeting_t *m = user;
    waiter_begin(&m->waiter);
    sim_write(&m->f.sim, B, m->pointer, POOL, 1);
    free_on_b(m);
    waiter_end(&m->waiter);
    return NULL;
}

/* Another thread uses the stream on, behind the first event. */
static cuarena_status_t record_and_go_on(void *user, cuarena_stream_t stream, void **event)
{
    meeting_t *m = met;
    cuarena_status_t status = record_as_ever(user, stream, event);
    if (m->nth == 0)
        return status;
    m->nth = 0;
    pthread_create(&m->releaser, NULL, write_and_free_on_b, m);
    (void)falls_asleep(&m->waiter);
    return status;
}

/* The stream lives on, and the block is behind the event of the release. */
START_TEST(what_is_freed_during_a_release_is_not_behind_its_event)
{
    meeting_t m = {.nth = 1};
    met = &m;
    fixture_prepare(&m.f, SIMULATED, POOL);
    record_as_ever = m.f.sim.ops.record_event;
    m.f.sim.ops.record_event = record_and_go_on;
    fixture_create(&m.f);
    m.pointer = alloc_on(&m.f, POOL, B);
    expect_ok(cuarena_release_stream(m.f.arena, B));
    pthread_join(m.releaser, NULL);
    sim_run(&m.f.sim, 1);
    use_anew(&m.f, POOL, A);
    fixture_close(&m.f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("release_stream");
    TCase *cases = tcase_create("meetings");
    tcase_add_loop_test(cases, a_release_waits_for_calls_that_use_the_handle, 0, ROWS);
    tcase_add_test(cases, a_copy_comes_after_the_stream_that_was_released);
    tcase_add_test(cases, what_is_freed_during_a_release_is_not_behind_its_event);
    tcase_add_test(cases, a_session_waits_for_calls_that_record_all_work);
    suite_add_tcase(suite, cases);
    return suite_main(suite);
}
