/*
 * Where streams lag, by the arena's own mark; what comes of it is in check_growing_streams.c.
 *
 * Looks inside, since no public call says which streams lag (arena/streams.h).
 */
#include "growing.h"

#include "arena/streams.h"

static bool any_lags(const fixture_t *f)
{
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(f->arena, &n)) != NULL;)
        if (cuai_stream_lags(s))
            return true;
    return false;
}

static const struct {
    int32_t steal;
    bool lags;
} modes[] = {
    {CUARENA_STEAL_FIRST, false}, /* which is for holding less */
    {CUARENA_STEAL_WAIT, true},
    {CUARENA_STEAL_IDLE, true},
    {CUARENA_STEAL_NEVER, false}, /* where no stream gets another's bytes anyway */
};

START_TEST(streams_lag_where_they_share_and_do_not_wait)
{
    fixture_t *f = opened_growing(modes[_i].steal);
    work_on(f, A, C, false);
    ck_assert_int_eq(any_lags(f), modes[_i].lags);
    sim_run_all(&f->sim);
    work_on(f, A, C, true);
    ck_assert_int_eq(any_lags(f), false);
    expect_sound(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lagging_streams");
    suite_add_rows(suite, "modes", streams_lag_where_they_share_and_do_not_wait, COUNT_OF(modes));
    return suite_main(suite);
}
