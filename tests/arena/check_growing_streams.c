/*
 * Growth beside streams: what is taken where streams have freed bytes, and how looks at their
 * events keep the arena from growing.
 */
#include "growing.h"

/* ---- What is taken ----------------------------------------------------- */

/* The free end of the segment counts, whosever it is. */
START_TEST(growth_takes_what_freelists_together_lack)
{
    fixture_t *f = opened_growing(CUARENA_STEAL_FIRST);
    free_use(f, POOL / 2, A);
    uint64_t held = stats_of(f).reserved_bytes;
    free_use(f, held + POOL, B);
    expect_u64(stats_of(f).reserved_bytes, held + POOL);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
}
END_TEST

/* What a stream that is being captured has freed cannot be stolen: growth at the end of the segment
 * takes what the request lacks beside its own bytes there. */
START_TEST(growth_does_not_count_what_a_captured_stream_freed)
{
    fixture_t *f = opened_growing(CUARENA_STEAL_FIRST);
    void *c = alloc_on(f, POOL, C);
    void *a = alloc_on(f, POOL / 2, A);
    uint64_t held = stats_of(f).reserved_bytes;
    cuarena_capture_t *session;
    expect_ok(cuarena_capture_begin(f->arena, C, &session));
    free_on(f, c, C);
    free_on(f, a, A);
    free_use(f, POOL * 3 / 4, A);
    expect_u64(stats_of(f).reserved_bytes, held + POOL / 4);
    expect_sound(f);
    expect_ok(cuarena_capture_end(f->arena, session));
    expect_ok(cuarena_capture_release(f->arena, &session, C));
}
END_TEST

static const int32_t not_first[] = {CUARENA_STEAL_WAIT, CUARENA_STEAL_IDLE, CUARENA_STEAL_NEVER};

/* What the stream itself freed last, at the end of the segment, counts as well. */
START_TEST(growth_takes_what_the_own_freelist_lacks)
{
    fixture_t *f = opened_growing(not_first[_i]);
    free_use(f, POOL / 2, A);
    uint64_t held = stats_of(f).reserved_bytes;
    free_use(f, held + POOL, A);
    expect_u64(stats_of(f).reserved_bytes, held + POOL);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    expect_sound(f);
}
END_TEST

/* ---- Looks ------------------------------------------------------------- */

/* A has more to do by then, but not with those bytes. */
START_TEST(what_was_freed_long_ago_is_idle_when_it_is_needed)
{
    fixture_t *f = opened_growing(CUARENA_STEAL_WAIT);
    void *mine = alloc_on(f, PAGE, A);
    free_use(f, PAGE, B);
    free_use(f, PAGE, C);
    free_use(f, POOL, A);
    for (int i = 0; i < 16; i++) {
        free_use(f, PAGE, B);
        free_use(f, PAGE, C);
    }
    sim_run_all(&f->sim);
    sim_write(&f->sim, A, mine, PAGE, 1);
    uint64_t held = stats_of(f).reserved_bytes;
    free_use(f, POOL, B);
    expect_u64(stats_of(f).reserved_bytes, held);
    expect_u64(stats_of(f).stream_waits + stats_of(f).host_waits, 0);
    expect_sound(f);
    free_on(f, mine, A);
}
END_TEST

/* So many small ones that the program would feel a call of the memory for each. */
START_TEST(events_are_not_looked_at_for_each_request)
{
    fixture_t *f = opened_growing(CUARENA_STEAL_WAIT);
    free_use(f, 256, B);
    free_use(f, 256, C);
    free_use(f, POOL, A);
    sim_calls(&f->sim);
    for (int i = 0; i < 1000; i++) {
        free_use(f, 256, B);
        free_use(f, 256, C);
    }
    uint64_t looks = UINT64_C(2000) * 256 / (stats_of(f).reserved_bytes / 16);
    expect_between(f->sim.counts[SIM_QUERY], 1, 3 * looks);
    expect_between(f->sim.counts[SIM_RECORD], 1, 3 * looks);
}
END_TEST

/* ---- Streams that lag --------------------------------------------------- */

/* Two looks, by which all work is done. */
static void look_twice(fixture_t *f)
{
    for (int i = 0; i < 16; i++) {
        free_use(f, PAGE, B);
        free_use(f, PAGE, C);
        sim_run_all(&f->sim);
    }
}

/* A pool's bytes, freed on A, whose work was not done from one look to the next while it allocated
 * and freed. Now it is. */
static fixture_t *opened_lagging(void)
{
    fixture_t *f = opened_growing(CUARENA_STEAL_WAIT);
    void *p = alloc_on(f, POOL, A);
    work_on(f, A, C, false);
    free_on(f, p, A);
    look_twice(f);
    return f;
}

/* B needs a pool's bytes. */
static void expect_growth_for_b(fixture_t *f, bool grows)
{
    cuarena_stats_t before = stats_of(f);
    free_use(f, POOL, B);
    ck_assert_int_eq(stats_of(f).reserved_bytes > before.reserved_bytes, grows);
    expect_u64(stats_of(f).host_waits, before.host_waits);
    expect_sound(f);
}

START_TEST(what_a_stream_that_lags_freed_stays_its_own)
{
    fixture_t *f = opened_lagging();
    expect_growth_for_b(f, true);
    uint64_t held = stats_of(f).reserved_bytes;
    free_use(f, POOL, A);
    expect_u64(stats_of(f).reserved_bytes, held);
}
END_TEST

START_TEST(a_stream_that_keeps_up_again_shares)
{
    fixture_t *f = opened_lagging();
    work_on(f, A, B, true);
    expect_growth_for_b(f, false);
}
END_TEST

START_TEST(a_stream_that_has_nothing_more_to_do_shares)
{
    fixture_t *f = opened_lagging();
    work_on(f, B, C, true);
    expect_growth_for_b(f, false);
}
END_TEST

START_TEST(at_the_limit_a_stream_that_lags_shares)
{
    fixture_t *f = opened_lagging();
    cuarena_amount_t held = amount_of_bytes(stats_of(f).reserved_bytes);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, held, NULL));
    expect_growth_for_b(f, false);
    free_use(f, POOL, A);
    look_twice(f);
    uint64_t waits = stats_of(f).stream_waits;
    expect_growth_for_b(f, false);
    expect_u64(stats_of(f).stream_waits, waits);
}
END_TEST

START_TEST(a_trim_gives_back_what_lags)
{
    fixture_t *f = opened_lagging();
    expect_ok(cuarena_reclaim(f->arena, true, NULL));
    expect_ok(cuarena_trim(f->arena, 0, NULL));
    expect_u64(stats_of(f).reserved_bytes, 0);
    expect_sound(f);
}
END_TEST

START_TEST(a_stream_that_lags_is_released)
{
    fixture_t *f = opened_lagging();
    expect_ok(cuarena_release_stream(f->arena, A));
    expect_sound(f);
    sim_run_all(&f->sim);
    expect_growth_for_b(f, false);
}
END_TEST

START_TEST(a_reset_forgets_who_lagged)
{
    fixture_t *f = opened_lagging();
    expect_ok(cuarena_reset(f->arena));
    free_use(f, POOL, A);
    look_twice(f);
    expect_growth_for_b(f, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("growing_streams");
    suite_add_list(suite, "taken",
                   TEST_LIST(growth_takes_what_freelists_together_lack,
                             growth_does_not_count_what_a_captured_stream_freed));
    suite_add_rows(suite, "own", growth_takes_what_the_own_freelist_lacks, COUNT_OF(not_first));
    suite_add_list(suite, "looks",
                   TEST_LIST(what_was_freed_long_ago_is_idle_when_it_is_needed,
                             events_are_not_looked_at_for_each_request));
    suite_add_list(suite, "lag",
                   TEST_LIST(what_a_stream_that_lags_freed_stays_its_own,
                             a_stream_that_keeps_up_again_shares,
                             a_stream_that_has_nothing_more_to_do_shares,
                             at_the_limit_a_stream_that_lags_shares, a_trim_gives_back_what_lags,
                             a_stream_that_lags_is_released, a_reset_forgets_who_lagged));
    return suite_main(suite);
}
