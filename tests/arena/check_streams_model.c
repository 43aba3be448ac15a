/*
 * Random programs on several streams: no reuse is ever unordered, whatever order the streams run
 * in. The same programs with one wait of the arena left out are caught, so that this says
 * something.
 */
#include "support/expect.h"
#include "support/scale.h"
#include "support/stream_model.h"

#include <stdio.h>

#define STEPS 400

static stream_model_t model;

static void open_model(uint64_t seed, model_ways_t ways)
{
    choice_t choice = {.random = {seed}};
    stream_model_open(&model, &choice, ways);
}

static void run(bool check)
{
    for (int i = 0; i < STEPS && !model.stop; i++) {
        stream_model_step(&model);
        if (check)
            stream_model_check(&model);
    }
}

static void run_seeds(uint64_t base, uint64_t seeds, model_ways_t ways)
{
    uint64_t served = 0;
    uint64_t checked = 0;
    for (uint64_t i = 0; i < seeds; i++) {
        open_model(base + i, ways);
        run(true);
        stream_model_close(&model);
        served += model.served;
        checked += model.checked;
        if (model.wrong[0] != '\0')
            ck_abort_msg("seed %llu: %s", (unsigned long long)(base + i), model.wrong);
    }
    ck_assert_uint_gt(served, seeds * 20);
    ck_assert_uint_gt(checked, seeds / 8); /* a third of the programs sets free bytes to 0 */
}

START_TEST(no_reuse_is_ever_unordered)
{
    run_seeds(scale_seed("streams"), scale_pick(60, 200, 2500), MODEL_ORDERS);
}
END_TEST

/* Where all waits are the arena's. */
START_TEST(programs_that_order_nothing_need_not)
{
    run_seeds(scale_seed("streams apart"), scale_pick(30, 100, 2500), MODEL_APART);
}
END_TEST

/* Nor when calls of the memory fail. */
START_TEST(failures_leave_no_reuse_unordered)
{
    run_seeds(scale_seed("streams that fail"), scale_pick(60, 200, 2500), MODEL_MAY_FAIL);
}
END_TEST

/* Nor when, besides, streams are captured without a session. */
START_TEST(captures_outside_sessions_leave_no_reuse_unordered)
{
    run_seeds(scale_seed("streams that are captured"), scale_pick(60, 200, 2500), MODEL_CAPTURES);
}
END_TEST

/* Nor in arenas with guards and a quarantine, which find nothing where there is nothing. */
START_TEST(guards_find_nothing_and_order_their_bytes)
{
    run_seeds(scale_seed("streams guarded"), scale_pick(40, 150, 2500), MODEL_GUARDS);
}
END_TEST

START_TEST(guards_find_nothing_where_calls_fail)
{
    run_seeds(scale_seed("streams guarded that fail"), scale_pick(40, 150, 2500),
              MODEL_GUARDS_FAIL);
}
END_TEST

static uint64_t waits_so_far(void)
{
    return model.sim.counts[SIM_WAIT] + model.sim.counts[SIM_WAIT_HOST];
}

/* Leaves the `in`th wait of the program out: whether that was seen. */
static bool is_caught(uint64_t seed, uint64_t in, model_ways_t ways)
{
    open_model(seed, ways);
    model.sim.drop_wait = in;
    run(false);
    stream_model_close(&model);
    return model.sim.races != 0;
}

static void expect_most(uint64_t caught, uint64_t programs)
{
    printf("%llu of %llu caught\n", (unsigned long long)caught, (unsigned long long)programs);
    ck_assert_uint_gt(caught, programs * 3 / 4);
}

/* Not every wait matters: what it orders may be ordered by another. In nearly every program one of
 * the first does. */
START_TEST(a_wait_left_out_is_caught)
{
    uint64_t programs = scale_pick(12, 24, 200);
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        uint64_t in = 1;
        while (in <= 40 && !is_caught(seed, in, MODEL_ORDERS))
            in++;
        caught += in <= 40;
    }
    expect_most(caught, programs);
}
END_TEST

#define SAMPLED 12 /* waits of a program */

/* Of programs whose waits are all the arena's a sample, one at a time. What is left is needless as
 * the bytes come to be used, which an arena cannot know: events stand for all that was freed before
 * them. check_device_stealing.c
 * takes every wait of plain programs. */
START_TEST(most_waits_left_out_are_caught)
{
    uint64_t programs = scale_pick(3, 12, 100);
    uint64_t all = 0;
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        open_model(seed, MODEL_APART);
        run(false);
        uint64_t waits = waits_so_far();
        stream_model_close(&model);
        for (uint64_t in = 1; in <= waits; in += 1 + waits / SAMPLED) {
            bool seen = is_caught(seed, in, MODEL_APART);
            ck_assert_msg(!seen || !model.sim.needless,
                          "program %d: wait %d orders nothing new, and is "
                          "missed",
                          (int)seed, (int)in);
            caught += seen || model.sim.needless;
            all++;
        }
    }
    printf("of %llu waits %llu caught\n", (unsigned long long)all, (unsigned long long)caught);
    ck_assert_uint_ge(all, programs * 3);
    ck_assert_uint_ge(caught, all * 2 / 5);
}
END_TEST

START_TEST(a_event_believed_too_early_is_caught)
{
    uint64_t programs = scale_pick(10, 40, 200);
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        open_model(seed, MODEL_ORDERS);
        model.sim.lie = true;
        run(false);
        stream_model_close(&model);
        caught += model.sim.races != 0;
    }
    expect_most(caught, programs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_model");
    TCase *cases = suite_add_list(
        suite, "model",
        TEST_LIST(programs_that_order_nothing_need_not, no_reuse_is_ever_unordered,
                  failures_leave_no_reuse_unordered,
                  captures_outside_sessions_leave_no_reuse_unordered,
                  guards_find_nothing_and_order_their_bytes, guards_find_nothing_where_calls_fail,
                  a_wait_left_out_is_caught, most_waits_left_out_are_caught,
                  a_event_believed_too_early_is_caught));
    tcase_set_timeout(cases, scale_timeout(600));
    return suite_main(suite);
}
