/*
 * Stealing: streams take bytes that others freed, and wait for them. What is taken, what it costs
 * in events and waits, what is remembered of waits, and how far the option `steal` lets it go.
 */
#include "support/expect.h"
#include "support/fixture_streams.h"
#include "support/random.h"

#include <string.h>

#define POOL KIB(64)
#define PAGE KIB(4)

#define expect_bad_argument(call) expect_status(call, CUARENA_BAD_ARGUMENT)

typedef struct costs {
    uint64_t events;
    uint64_t waits;
    uint64_t host_waits;
} costs_t;

/* Since the last time. */
static costs_t costs(fixture_t *f)
{
    costs_t now = {f->sim.counts[SIM_RECORD] + f->sim.counts[SIM_RECORD_ALL],
                   f->sim.counts[SIM_WAIT], f->sim.counts[SIM_WAIT_HOST]};
    sim_calls(&f->sim);
    return now;
}

#define expect_costs(f, m, w, h)                                                                   \
    do {                                                                                           \
        costs_t now = costs(f);                                                                    \
        expect_u64(now.events, m);                                                                 \
        expect_u64(now.waits, w);                                                                  \
        expect_u64(now.host_waits, h);                                                             \
    } while (0)

/* A block with work on its stream, freed there. */
static void use_and_free(fixture_t *f, void *p, uint64_t bytes, cuarena_stream_t stream)
{
    static uint64_t seed = 1;
    sim_write(&f->sim, stream, p, bytes, seed++);
    free_on(f, p, stream);
}

static void free_use(fixture_t *f, uint64_t bytes, cuarena_stream_t stream)
{
    use_and_free(f, alloc_on(f, bytes, stream), bytes, stream);
}

/* Quarters of the pool, in address order. */
static void alloc_quarters(fixture_t *f, void **quarters, cuarena_stream_t stream)
{
    for (int i = 0; i < 4; i++) {
        void *p = alloc_on(f, POOL / 4, stream);
        int at = i;
        for (; at > 0 && quarters[at - 1] > p; at--)
            quarters[at] = quarters[at - 1];
        quarters[at] = p;
    }
}

static void know_streams(fixture_t *f)
{
    cuarena_stream_t all[] = {A, B, C};
    for (int i = 0; i < 3; i++)
        free_ok(f, alloc_on(f, 256, all[i]));
    sim_calls(&f->sim);
}

static fixture_t *open_cheap(fixture_t *f)
{
    fixture_open(f, SIMULATED, POOL);
    know_streams(f);
    return f;
}

static fixture_t *open_with(fixture_t *f, int32_t steal, int32_t preset)
{
    fixture_prepare(f, SIMULATED, POOL);
    f->config.steal = steal;
    f->config.preset = preset;
    if (preset == CUARENA_PRESET_GROW)
        f->config.limit = (cuarena_amount_t){.value = 4 * POOL};
    fixture_create(f);
    know_streams(f);
    return f;
}

/* ---- One stealing ------------------------------------------------------ */

START_TEST(stealing_is_one_event_and_one_wait)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    costs(f);
    free_use(f, POOL, B);
    expect_costs(f, 1, 1, 0);
    expect_u64(stats_of(f).steals, 1);
    expect_u64(stats_of(f).stream_waits, 1);
    expect_u64(stats_of(f).host_waits, 0);
}
END_TEST

START_TEST(an_eager_event_serves_the_stealing)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.events = CUARENA_EVENTS_EAGER;
    fixture_create(f);
    know_streams(f);
    free_use(f, POOL, A);
    costs(f);
    void *p = alloc_on(f, POOL, B);
    expect_costs(f, 0, 1, 0);
    use_and_free(f, p, POOL, B);
}
END_TEST

/* The rest is the producer's still, without a call. */
START_TEST(no_more_steals_than_is_asked_for)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    void *p = alloc_on(f, POOL / 4, B);
    costs(f);
    void *q = alloc_on(f, POOL * 3 / 4, A);
    expect_no_calls(f);
    use_and_free(f, p, POOL / 4, B);
    use_and_free(f, q, POOL * 3 / 4, A);
}
END_TEST

static void run_before_query(sim_t *sim, sim_op_t op)
{
    if (op == SIM_QUERY)
        sim_run_all(sim);
}

/* The work is done before the event is asked about: nobody waits. */
START_TEST(a_event_that_is_complete_reclaims_instead)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    costs(f);
    f->sim.hook = run_before_query;
    void *q = alloc_on(f, POOL, B);
    f->sim.hook = NULL;
    expect_costs(f, 1, 0, 0);
    expect_u64(stats_of(f).steals, 0);
    use_and_free(f, q, POOL, B);
}
END_TEST

START_TEST(a_released_stream_is_waited_for_by_its_event)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A);
    costs(f);
    free_use(f, POOL, B);
    expect_costs(f, 0, 1, 0);
}
END_TEST

/* Small requests cross as well, when their own free list has no room. */
START_TEST(small_requests_steal_when_they_must)
{
    fixture_t *f = opened(SIMULATED, KIB(1024));
    know_streams(f);
    void *filler = alloc_ok(f, KIB(1024) - KIB(4));
    free_use(f, KIB(4), A);
    costs(f);
    void *p[8];
    for (int i = 0; i < 8; i++)
        p[i] = alloc_on(f, 512, B); /* below a 1024th of the pool */
    expect_costs(f, 1, 1, 0);
    for (int i = 0; i < 8; i++)
        use_and_free(f, p[i], 512, B);
    free_ok(f, filler);
}
END_TEST

/* ---- Several free lists ----------------------------------------------------- */

/* Idle, of A, of B, and C's own. */
START_TEST(ranges_of_all_kinds_that_touch_serve_together)
{
    void *q[4];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_quarters(f, q, A);
    sim_order(&f->sim, B, A);
    sim_order(&f->sim, C, A);
    free_ok(f, q[0]);
    use_and_free(f, q[1], POOL / 4, A);
    use_and_free(f, q[2], POOL / 4, B);
    use_and_free(f, q[3], POOL / 4, C);
    costs(f);
    void *all = alloc_on(f, POOL, C);
    expect_costs(f, 2, 2, 0);
    use_and_free(f, all, POOL, C);
}
END_TEST

START_TEST(each_of_several_streams_is_waited_for_once)
{
    void *q[4];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_quarters(f, q, A);
    sim_order(&f->sim, B, A);
    for (int i = 0; i < 4; i++)
        use_and_free(f, q[i], POOL / 4, i % 2 ? B : A);
    costs(f);
    void *all = alloc_on(f, POOL, C);
    expect_costs(f, 2, 2, 0);
    use_and_free(f, all, POOL, C);
}
END_TEST

START_TEST(foreign_and_idle_ranges_serve_together)
{
    void *q[4];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_quarters(f, q, A);
    use_and_free(f, q[1], POOL / 4, A);
    free_ok(f, q[2]);
    costs(f);
    void *p = alloc_on(f, POOL / 2, B);
    ck_assert_ptr_eq(p, q[1]);
    expect_costs(f, 1, 1, 0);
    use_and_free(f, p, POOL / 2, B);
    free_ok(f, q[0]);
    free_ok(f, q[3]);
}
END_TEST

/* Parts of ranges at both ends of a window: what is left stays whose it was. */
START_TEST(the_ends_of_a_run_stay_whose_they_were)
{
    void *q[4];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_quarters(f, q, A);
    sim_order(&f->sim, B, A);
    use_and_free(f, q[0], POOL / 4, A);
    use_and_free(f, q[1], POOL / 4, B);
    void *p = alloc_on(f, POOL * 3 / 8, C);
    costs(f);
    cuarena_stream_t owner = p == q[0] ? B : A;
    void *rest = alloc_on(f, POOL / 8, owner);
    expect_no_calls(f);
    use_and_free(f, rest, POOL / 8, owner);
    use_and_free(f, p, POOL * 3 / 8, C);
    free_ok(f, q[2]);
    free_ok(f, q[3]);
}
END_TEST

/* ---- What is remembered ------------------------------------------------ */

START_TEST(what_was_waited_for_needs_no_other_wait)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    void *p = alloc_on(f, POOL / 4, B);
    costs(f);
    void *q = alloc_on(f, POOL / 4, B);
    expect_no_calls(f);
    use_and_free(f, p, POOL / 4, B);
    use_and_free(f, q, POOL / 4, B);
}
END_TEST

/* Serials are of frees: a block that lived at the wait is not covered by it. */
START_TEST(what_is_freed_after_a_wait_needs_another)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    void *kept = alloc_on(f, POOL / 2, A);
    free_use(f, POOL / 2, A);
    void *p = alloc_on(f, POOL / 2, B);
    use_and_free(f, kept, POOL / 2, A); /* used after B's wait */
    costs(f);
    void *q = alloc_on(f, POOL / 2, B);
    expect_costs(f, 1, 1, 0);
    use_and_free(f, q, POOL / 2, B);
    use_and_free(f, p, POOL / 2, B);
}
END_TEST

START_TEST(waits_pass_on)
{
    void *q[4];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_quarters(f, q, A);
    use_and_free(f, q[0], POOL / 4, A);
    use_and_free(f, q[2], POOL / 4, A);
    void *p = alloc_on(f, POOL / 4, B); /* B waits for A */
    void *other = p == q[0] ? q[2] : q[0];
    use_and_free(f, p, POOL / 4, B);
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(f->arena, B, &mark));
    sim_order(&f->sim, C, B);
    expect_ok(cuarena_stream_waited(f->arena, C, B, mark));
    costs(f);
    void *r = alloc_on(f, POOL / 4, C);
    void *s = alloc_on(f, POOL / 4, C);
    expect_no_calls(f);
    ck_assert(r == other || s == other); /* A's */
    use_and_free(f, r, POOL / 4, C);
    use_and_free(f, s, POOL / 4, C);
    free_ok(f, q[1]);
    free_ok(f, q[3]);
}
END_TEST

/* A wait that a stream was given after its event does not pass on. */
START_TEST(waits_after_the_event_do_not_pass_on)
{
    void *q[4];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_quarters(f, q, A);
    sim_order(&f->sim, B, A);
    use_and_free(f, q[0], POOL / 4, B);
    cuarena_mark_t early;
    expect_ok(cuarena_stream_mark(f->arena, B, &early));
    sim_order(&f->sim, C, B);
    sim_write(&f->sim, A, q[1], POOL / 4, 77);
    free_on(f, q[1], A);
    cuarena_mark_t late;
    expect_ok(cuarena_stream_mark(f->arena, A, &late));
    sim_order(&f->sim, B, A);
    expect_ok(cuarena_stream_waited(f->arena, B, A, late));
    expect_ok(cuarena_stream_waited(f->arena, C, B, early));
    costs(f);
    void *p = alloc_on(f, POOL / 4, C);
    void *r = alloc_on(f, POOL / 4, C);
    expect_u64(f->sim.counts[SIM_WAIT], 1); /* for A */
    use_and_free(f, p, POOL / 4, C);
    use_and_free(f, r, POOL / 4, C);
    free_ok(f, q[2]);
    free_ok(f, q[3]);
}
END_TEST

/* ---- Waits of the program's own ---------------------------------------- */

START_TEST(a_wait_that_is_told_of_is_not_made_again)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    sim_order(&f->sim, B, A);
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    costs(f);
    void *p = alloc_on(f, POOL, B);
    expect_no_calls(f);
    use_and_free(f, p, POOL, B);
}
END_TEST

START_TEST(a_mark_is_of_what_was_freed_before_it)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    void *kept = alloc_on(f, POOL / 2, A);
    free_use(f, POOL / 2, A);
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    sim_order(&f->sim, B, A);
    use_and_free(f, kept, POOL / 2, A);
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    costs(f);
    void *p = alloc_on(f, POOL / 2, B);
    expect_no_calls(f);
    void *q = alloc_on(f, POOL / 2, B);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    use_and_free(f, p, POOL / 2, B);
    use_and_free(f, q, POOL / 2, B);
}
END_TEST

START_TEST(a_wait_of_the_caller_reclaims_without_a_call)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    sim_sync(&f->sim, A);
    sim_calls(&f->sim);
    expect_ok(cuarena_stream_waited(f->arena, CUARENA_NO_STREAM, A, mark));
    expect_u64(f->sim.counts[SIM_QUERY] + f->sim.counts[SIM_WAIT_HOST], 0);
    sim_calls(&f->sim);
    void *p = alloc_ok(f, POOL);
    expect_no_calls(f);
    sim_host_write(&f->sim, p, POOL, 5);
    free_ok(f, p);
}
END_TEST

START_TEST(marks_are_checked)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    cuarena_mark_t mark = 0;
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    expect_no_calls(f); /* nothing was freed */
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    expect_bad_argument(cuarena_stream_waited(f->arena, B, C, mark));
    expect_bad_argument(cuarena_stream_waited(f->arena, B, A, 0));
    expect_bad_argument(cuarena_stream_waited(f->arena, B, A, mark + 128));
    expect_bad_argument(cuarena_stream_waited(NULL, B, A, mark));
    expect_bad_argument(cuarena_stream_mark(f->arena, CUARENA_NO_STREAM, &mark));
    expect_bad_argument(cuarena_stream_mark(f->arena, A, NULL));
    expect_bad_argument(cuarena_stream_mark(NULL, A, &mark));
    expect_ok(cuarena_release_stream(f->arena, A));
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark)); /* is over */
    free_use(f, 256, C);
}
END_TEST

/* A stream whose number another had is not that other one. */
START_TEST(a_mark_does_not_pass_to_the_heir_of_a_number)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A);
    sim_stream_make(&f->sim, A);
    free_use(f, POOL, A);
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    costs(f);
    void *p = alloc_on(f, POOL, B);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    use_and_free(f, p, POOL, B);
}
END_TEST

/* ---- How far it goes --------------------------------------------------- */

START_TEST(growth_comes_before_a_wait)
{
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_WAIT, CUARENA_PRESET_GROW);
    free_use(f, POOL, A);
    uint64_t held = stats_of(f).reserved_bytes;
    costs(f);
    free_use(f, POOL, B);
    expect_costs(f, 1, 0, 0);
    expect_u64(stats_of(f).steals, 0);
    expect_between(stats_of(f).reserved_bytes, held + 1, held + POOL);
}
END_TEST

/* Idle pages elsewhere go back for those, and the stream must not wait for the other. */
START_TEST(an_aligned_request_gets_what_was_taken_for_it)
{
    void *mine[16], *others[4], *p = NULL;
    cuarena_request_t aligned;
    cuarena_request_init(&aligned);
    aligned.alignment = KIB(1);
    fixture_t *f =
        open_with(new_fixture(fixture_close_forced), CUARENA_STEAL_WAIT, CUARENA_PRESET_GROW);
    for (size_t i = 0; i < COUNT_OF(mine); i++)
        mine[i] = alloc_on(f, 2 * PAGE, A);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        others[i] = alloc_on(f, PAGE, B);
    for (size_t i = 0; i < COUNT_OF(mine); i += 2)
        free_ok(f, mine[i]);
    for (size_t i = 0; i < COUNT_OF(others); i += 2)
        use_and_free(f, others[i], PAGE, B);
    uint64_t grows = stats_of(f).grows;
    expect_ok(cuarena_alloc_on(f->arena, 8 * PAGE, A, &aligned, &p));
    expect_sound(f);
    expect_u64(stats_of(f).grows, grows + 1);
}
END_TEST

START_TEST(what_is_known_to_be_done_comes_before_growth)
{
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_WAIT, CUARENA_PRESET_GROW);
    free_use(f, POOL, A);
    uint64_t held = stats_of(f).reserved_bytes;
    expect_ok(cuarena_stream_mark(f->arena, A, &(uint64_t){0}));
    sim_run_all(&f->sim);
    costs(f);
    free_use(f, POOL, B);
    expect_costs(f, 0, 0, 0);
    expect_u64(stats_of(f).reserved_bytes, held);
}
END_TEST

START_TEST(what_the_stream_has_waited_for_comes_before_growth)
{
    uint64_t mark;
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_WAIT, CUARENA_PRESET_GROW);
    free_use(f, POOL, A);
    uint64_t held = stats_of(f).reserved_bytes;
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    sim_order(&f->sim, B, A);
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    free_use(f, POOL, B);
    expect_u64(stats_of(f).steals, 1);
    expect_u64(stats_of(f).reserved_bytes, held);
}
END_TEST

START_TEST(where_the_limit_forbids_growth_a_stream_waits)
{
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_WAIT, CUARENA_PRESET_GROW);
    free_use(f, 3 * POOL, A);
    uint64_t held = stats_of(f).reserved_bytes;
    costs(f);
    free_use(f, 3 * POOL, B);
    expect_costs(f, 1, 1, 0);
    expect_u64(stats_of(f).steals, 1);
    expect_u64(stats_of(f).reserved_bytes, held);
}
END_TEST

START_TEST(first_means_that_a_wait_comes_before_growth)
{
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_FIRST, CUARENA_PRESET_GROW);
    free_use(f, POOL, A);
    uint64_t held = stats_of(f).reserved_bytes;
    costs(f);
    free_use(f, POOL, B);
    expect_costs(f, 1, 1, 0);
    expect_u64(stats_of(f).reserved_bytes, held);
}
END_TEST

START_TEST(idle_means_that_nothing_is_stolen)
{
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_IDLE, CUARENA_PRESET_POOL);
    free_use(f, POOL, A);
    costs(f);
    free_use(f, POOL, B);
    expect_costs(f, 1, 0, 1);
    expect_u64(stats_of(f).steals, 0);
    expect_u64(stats_of(f).host_waits, 1);
}
END_TEST

/* What is idle and what the stream freed itself lie in turns, and no wait joins them but its own.
 */
START_TEST(idle_gets_a_whole_pool_that_is_free_on_several_streams)
{
    cuarena_stream_t streams[] = {A, B, C};
    void *p[16];
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_IDLE, CUARENA_PRESET_POOL);
    for (int i = 0; i < 16; i++)
        p[i] = alloc_on(f, POOL / 16, streams[i % 3]);
    for (int i = 0; i < 16; i++)
        free_on(f, p[i], streams[i % 3]);
    free_use(f, POOL, A);
    expect_u64(stats_of(f).steals, 0);
}
END_TEST

START_TEST(never_means_until_a_call_reclaims)
{
    void *p = NULL;
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_NEVER, CUARENA_PRESET_POOL);
    free_use(f, POOL, A);
    sim_run_all(&f->sim); /* that it is done is not asked */
    costs(f);
    expect_status(try_on(f, POOL, B, NULL), CUARENA_OUT_OF_MEMORY);
    expect_status(cuarena_alloc(f->arena, 256, &p), CUARENA_OUT_OF_MEMORY);
    expect_costs(f, 0, 0, 0);
    free_use(f, POOL, A);
    expect_costs(f, 0, 0, 0);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    free_use(f, POOL, B);
    expect_ok(cuarena_release_stream(f->arena, B));
    sim_run_all(&f->sim);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    free_use(f, POOL, A);
}
END_TEST

/* Uses of other streams end all the same, and a growing arena grows. */
START_TEST(never_keeps_freelists_apart_and_not_uses)
{
    fixture_t *f = open_with(new_fixture(fixture_close), CUARENA_STEAL_NEVER, CUARENA_PRESET_POOL);
    void *p = alloc_on(f, POOL, A);
    sim_write(&f->sim, A, p, POOL, 3);
    sim_order(&f->sim, B, A);
    expect_ok(cuarena_record_use(f->arena, p, B));
    sim_read(&f->sim, B, p, POOL, 3);
    free_on(f, p, A);
    expect_status(try_on(f, POOL, B, NULL), CUARENA_OUT_OF_MEMORY);
    free_use(f, POOL, A);
}
END_TEST

START_TEST(never_on_memory_of_the_host_reclaims_the_own_freelist)
{
    fixture_t *f = prepared(SIMULATED_HOST, POOL);
    f->config.steal = CUARENA_STEAL_NEVER;
    fixture_create(f);
    know_streams(f);
    free_use(f, POOL, A);
    expect_status(try_on(f, POOL, B, NULL), CUARENA_OUT_OF_MEMORY);
    costs(f);
    free_use(f, POOL, A);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 1);
}
END_TEST

START_TEST(calls_without_a_stream_do_not_steal)
{
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    free_use(f, POOL, A);
    costs(f);
    void *p = alloc_ok(f, POOL);
    expect_costs(f, 1, 0, 1);
    sim_host_write(&f->sim, p, POOL, 4);
    free_ok(f, p);
}
END_TEST

START_TEST(on_memory_of_the_host_nothing_is_stolen)
{
    fixture_t *f = prepared(SIMULATED_HOST, POOL);
    fixture_create(f);
    know_streams(f);
    free_use(f, POOL, A);
    costs(f);
    free_use(f, POOL, B);
    expect_costs(f, 1, 0, 1);
}
END_TEST

/* ---- Compaction -------------------------------------------------------- */

/* Free lists of other streams are no barrier to one on a stream, and nobody waits on the host. */
START_TEST(a_compaction_crosses_freelists_that_are_in_its_way)
{
    cuarena_block_t row[16];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_row_on(f, row, 16, A);
    sim_order(&f->sim, B, A);
    for (int i = 0; i < 16; i += 2)
        expect_ok(cuarena_block_free_on(f->arena, row[i], i % 4 ? B : A));
    costs(f);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = C;
    cuarena_compact_report_t report;
    cuarena_compact_report_init(&report);
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, &report));
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    ck_assert_uint_ge(report.moves, 7);
    free_use(f, POOL / 2, C);
    for (int i = 1; i < 16; i += 2)
        expect_ok(cuarena_block_free_on(f->arena, row[i], C));
}
END_TEST

/* A goal that needs no other free list leaves them alone. */
START_TEST(a_goal_within_reach_steals_nothing)
{
    cuarena_block_t row[16];
    fixture_t *f = open_cheap(new_fixture(fixture_close));
    alloc_row_on(f, row, 16, A);
    sim_sync_all(&f->sim);
    expect_ok(cuarena_block_free(f->arena, row[0]));
    expect_ok(cuarena_block_free(f->arena, row[2]));
    write_block_on(f, row[8], POOL / 16, B, 8);
    expect_ok(cuarena_block_free_on(f->arena, row[8], B));
    uint64_t before = stream_stats_of(f, B).free_bytes;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = C;
    options.goal_bytes = POOL / 8;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_u64(stream_stats_of(f, B).free_bytes, before);
    sim_sync_all(&f->sim);
    for (int i = 1; i < 16; i++)
        if (i != 2 && i != 8)
            expect_ok(cuarena_block_free(f->arena, row[i]));
}
END_TEST

/* ---- One stream -------------------------------------------------------- */

/* No call of the memory after the stream's first, whatever it does. */
START_TEST(one_stream_costs_no_call)
{
    fixture_t *f = opened(SIMULATED, KIB(1024));
    void *live[64] = {0};
    uint64_t bytes[64];
    random_state_t random = {17};
    free_on(f, alloc_on(f, 256, A), A);
    sim_calls(&f->sim);
    for (int i = 0; i < 20000; i++) {
        uint64_t at = random_below(&random, 64);
        if (live[at] == NULL) {
            bytes[at] = 256 * (1 + random_below(&random, 64));
            expect_ok(cuarena_alloc_on(f->arena, bytes[at], A, NULL, &live[at]));
        } else {
            expect_ok(cuarena_free_on(f->arena, live[at], A));
            live[at] = NULL;
        }
        expect_no_calls(f);
    }
    for (int i = 0; i < 64; i++)
        if (live[i] != NULL)
            free_on(f, live[i], A);
    expect_no_calls(f);
}
END_TEST

/* ---- When calls fail --------------------------------------------------- */

/* An event or wait that fails: another way is found, or the request fails, and nothing unordered is
 * handed out. */
START_TEST(steals_that_fail_change_nothing)
{
    static const sim_op_t ops[] = {SIM_RECORD, SIM_QUERY, SIM_WAIT, SIM_WAIT_HOST};
    for (size_t op = 0; op < COUNT_OF(ops); op++)
        for (uint64_t in = 1; in < 6; in++)
            for (int32_t event = 0; event < 2; event++) {
                fixture_t f;
                void *q[4];
                fixture_prepare(&f, SIMULATED, POOL);
                f.config.events = event;
                fixture_create(&f);
                know_streams(&f);
                alloc_quarters(&f, q, A);
                sim_order(&f.sim, B, A);
                for (int i = 0; i < 4; i++)
                    use_and_free(&f, q[i], POOL / 4, i % 2 ? B : A);
                sim_fail(&f.sim, (int32_t)ops[op], in, CUARENA_DRIVER);
                void *all = NULL;
                cuarena_status_t status = cuarena_alloc_on(f.arena, POOL, C, NULL, &all);
                f.sim.fail_in = 0;
                expect_sound(&f);
                if (status == CUARENA_OK)
                    use_and_free(&f, all, POOL, C);
                free_use(&f, POOL, C);
                fixture_close(&f);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_stealing");
    suite_add_list(suite, "one",
                   TEST_LIST(stealing_is_one_event_and_one_wait, an_eager_event_serves_the_stealing,
                             no_more_steals_than_is_asked_for,
                             a_event_that_is_complete_reclaims_instead,
                             a_released_stream_is_waited_for_by_its_event,
                             small_requests_steal_when_they_must));
    suite_add_list(suite, "several",
                   TEST_LIST(ranges_of_all_kinds_that_touch_serve_together,
                             each_of_several_streams_is_waited_for_once,
                             foreign_and_idle_ranges_serve_together,
                             the_ends_of_a_run_stay_whose_they_were));
    suite_add_list(suite, "remembered",
                   TEST_LIST(what_was_waited_for_needs_no_other_wait,
                             what_is_freed_after_a_wait_needs_another, waits_pass_on,
                             waits_after_the_event_do_not_pass_on));
    suite_add_list(suite, "told",
                   TEST_LIST(a_wait_that_is_told_of_is_not_made_again,
                             a_mark_is_of_what_was_freed_before_it,
                             a_wait_of_the_caller_reclaims_without_a_call, marks_are_checked,
                             a_mark_does_not_pass_to_the_heir_of_a_number));
    suite_add_list(
        suite, "steal",
        TEST_LIST(growth_comes_before_a_wait, an_aligned_request_gets_what_was_taken_for_it,
                  what_is_known_to_be_done_comes_before_growth,
                  what_the_stream_has_waited_for_comes_before_growth,
                  where_the_limit_forbids_growth_a_stream_waits,
                  first_means_that_a_wait_comes_before_growth, idle_means_that_nothing_is_stolen,
                  idle_gets_a_whole_pool_that_is_free_on_several_streams,
                  never_means_until_a_call_reclaims, never_keeps_freelists_apart_and_not_uses,
                  never_on_memory_of_the_host_reclaims_the_own_freelist,
                  calls_without_a_stream_do_not_steal, on_memory_of_the_host_nothing_is_stolen));
    suite_add_list(suite, "compaction",
                   TEST_LIST(a_compaction_crosses_freelists_that_are_in_its_way,
                             a_goal_within_reach_steals_nothing));
    suite_add_list(suite, "cost",
                   TEST_LIST(one_stream_costs_no_call, steals_that_fail_change_nothing));
    return suite_main(suite);
}
