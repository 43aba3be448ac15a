/*
 * Random programs on several streams: no reuse is ever unordered, whatever
 * order the streams run in. The same programs with one wait of the arena left
 * out are caught, so that this says something.
 */
#include "support/expect.h"
#include "support/scale.h"
#include "support/stream_model.h"

#include <stdio.h>

#define STEPS 400

static stream_model_t model;

static void open_model(uint64_t seed, bool may_fail)
{
    choice_t choice = {.random = {seed}};
    stream_model_open(&model, &choice, may_fail);
}

static void run(bool check)
{
    for (int i = 0; i < STEPS && !model.stop; i++) {
        stream_model_step(&model);
        if (check)
            stream_model_check(&model);
    }
}

static void run_seeds(uint64_t base, uint64_t seeds, bool may_fail)
{
    uint64_t served = 0;
    for (uint64_t i = 0; i < seeds; i++) {
        open_model(base + i, may_fail);
        run(true);
        stream_model_close(&model);
        served += model.served;
        if (model.wrong[0] != '\0')
            ck_abort_msg("seed %llu: %s", (unsigned long long)(base + i),
                         model.wrong);
    }
    ck_assert_uint_gt(served, seeds * 20);
}

START_TEST(no_reuse_is_ever_unordered)
{
    run_seeds(scale_seed("streams"), scale_pick(60, 200, 2500), false);
}
END_TEST

/* Nor when calls of the memory fail. */
START_TEST(failures_leave_no_reuse_unordered)
{
    run_seeds(scale_seed("streams that fail"), scale_pick(60, 200, 2500), true);
}
END_TEST

/* Leaves the `in`th wait of the program out: whether that was seen. */
static bool is_caught(uint64_t seed, uint64_t in)
{
    open_model(seed, false);
    model.sim.drop_wait = in;
    run(false);
    stream_model_close(&model);
    return model.sim.races != 0;
}

static void expect_most(uint64_t caught, uint64_t programs)
{
    printf("%llu of %llu caught\n", (unsigned long long)caught,
           (unsigned long long)programs);
    ck_assert_uint_gt(caught, programs * 3 / 4);
}

/* Not every wait matters: what it orders may be ordered by another. In nearly
 * every program one of the first does. */
START_TEST(a_wait_left_out_is_caught)
{
    uint64_t programs = scale_pick(8, 24, 200);
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        uint64_t in = 1;
        while (in <= 40 && !is_caught(seed, in))
            in++;
        caught += in <= 40;
    }
    expect_most(caught, programs);
}
END_TEST

START_TEST(a_marker_believed_too_early_is_caught)
{
    uint64_t programs = scale_pick(10, 40, 200);
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        open_model(seed, false);
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
        TEST_LIST(no_reuse_is_ever_unordered, failures_leave_no_reuse_unordered,
                  a_wait_left_out_is_caught,
                  a_marker_believed_too_early_is_caught));
    tcase_set_timeout(cases, 600);
    return suite_main(suite);
}
