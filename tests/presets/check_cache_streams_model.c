/*
 * Random programs on several streams whose blocks are cached: no reuse is ever unordered, whatever
 * order the streams run in, and the validator agrees after each step.
 */
#include "support/expect.h"
#include "support/scale.h"
#include "support/stream_model.h"

#define STEPS 400

static stream_model_t model;

static uint64_t hits_of(cuarena_t *arena)
{
    cuarena_cache_stats_t now;
    cuarena_cache_stats_init(&now);
    expect_ok(cuarena_cache_stats(arena, &now));
    return now.hits;
}

static void run_program(uint64_t seed, model_ways_t ways, bool check)
{
    choice_t choice = {.random = {seed}};
    stream_model_open(&model, &choice, ways);
    for (int i = 0; i < STEPS && !model.stop; i++) {
        stream_model_step(&model);
        if (check)
            stream_model_check(&model);
    }
}

static void run_seeds(uint64_t base, uint64_t seeds, model_ways_t ways)
{
    uint64_t hits = 0;
    for (uint64_t i = 0; i < seeds; i++) {
        run_program(base + i, ways, true);
        hits += hits_of(model.arena);
        stream_model_close(&model);
        if (model.wrong[0] != '\0')
            ck_abort_msg("seed %llu: %s", (unsigned long long)(base + i), model.wrong);
    }
    ck_assert_uint_gt(hits, seeds * 2);
}

START_TEST(no_reuse_of_cached_blocks_is_unordered)
{
    run_seeds(scale_seed("cached"), scale_pick(40, 100, 2500), MODEL_CACHES);
}
END_TEST

START_TEST(programs_that_order_nothing_need_not)
{
    run_seeds(scale_seed("cached apart"), scale_pick(40, 100, 2500), MODEL_CACHES_APART);
}
END_TEST

START_TEST(failures_leave_no_reuse_unordered)
{
    run_seeds(scale_seed("cached, with failures"), scale_pick(40, 100, 2500), MODEL_CACHES_FAIL);
}
END_TEST

/* Leaves out the waits of streams, one program at a time: nearly every program shows one. */
static bool is_caught(uint64_t seed)
{
    bool caught = false;
    for (uint64_t in = 1; in <= 40 && !caught; in++) {
        choice_t choice = {.random = {seed}};
        stream_model_open(&model, &choice, MODEL_CACHES);
        model.sim.drop_wait = in;
        for (int i = 0; i < STEPS && !model.stop; i++)
            stream_model_step(&model);
        stream_model_close(&model);
        caught = model.sim.races != 0;
    }
    return caught;
}

START_TEST(a_wait_left_out_is_caught)
{
    uint64_t programs = scale_pick(8, 24, 200);
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++)
        caught += is_caught(seed);
    ck_assert_uint_ge(caught, programs * 3 / 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_streams_model");
    TCase *cases = suite_add_list(
        suite, "model",
        TEST_LIST(programs_that_order_nothing_need_not, no_reuse_of_cached_blocks_is_unordered,
                  failures_leave_no_reuse_unordered, a_wait_left_out_is_caught));
    tcase_set_timeout(cases, scale_timeout(600));
    return suite_main(suite);
}
