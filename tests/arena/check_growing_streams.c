/*
 * Growth beside streams: what is taken where streams have freed bytes, and how looks at their
 * events keep the arena from growing.
 */
#include "support/expect.h"
#include "support/fixture_streams.h"

#define POOL KIB(64)
#define PAGE KIB(4)

static fixture_t *opened_growing(int32_t steal)
{
    static const cuarena_stream_t all[] = {A, B, C};
    fixture_t *f = new_fixture(fixture_close);
    fixture_prepare(f, SIMULATED, POOL);
    f->config.steal = steal;
    f->config.preset = CUARENA_PRESET_GROW;
    f->config.limit = (cuarena_amount_t){.value = 4 * POOL};
    fixture_create(f);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        drop(f, take_on(f, 256, all[i]));
    sim_calls(&f->sim);
    return f;
}

/* A block with work on its stream, freed there. */
static void free_use(fixture_t *f, uint64_t bytes, cuarena_stream_t stream)
{
    static uint64_t seed = 1;
    void *p = take_on(f, bytes, stream);
    sim_write(&f->sim, stream, p, bytes, seed++);
    drop_on(f, p, stream);
}

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
    void *mine = take_on(f, PAGE, A);
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
    drop_on(f, mine, A);
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
    expect_between(f->sim.counts[SIM_MARK], 1, 3 * looks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("growing_streams");
    suite_add_list(suite, "taken", TEST_LIST(growth_takes_what_freelists_together_lack));
    suite_add_rows(suite, "own", growth_takes_what_the_own_freelist_lacks, COUNT_OF(not_first));
    suite_add_list(suite, "looks",
                   TEST_LIST(what_was_freed_long_ago_is_idle_when_it_is_needed,
                             events_are_not_looked_at_for_each_request));
    return suite_main(suite);
}
