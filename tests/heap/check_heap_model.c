/*
 * Random calls on a heap and on a reference that knows no placement policy (support/heap_model.h),
 * compared after each call up to 64 live blocks and every 1000 calls beyond.
 *
 * Workload: 10^6 calls (CUARENA_TEST_SCALE=long: 10^7; under a sanitizer
 * 10^5) in episodes of 5000, each with its own granule, placement, split
 * rule, max_blocks and size. CUARENA_TEST_SEED repeats a run.
 */
#include "support/expect.h"
#include "support/heap_model.h"
#include "support/scale.h"

#include <inttypes.h>
#include <stdio.h>

#define EPISODE 5000u

static void run_episode(choice_t *choice, uint64_t steps)
{
    model_t model;
    model_open(&model, choice);
    while (steps-- != 0)
        model_step(&model);
    model_close(&model);
}

START_TEST(model_heap_is_what_the_reference_says)
{
    uint64_t steps = scale_pick(100000, 1000000, 10000000);
    random_state_t seeds = {scale_seed("check_heap_model")};
    for (uint64_t i = 0; i < steps / EPISODE; i++) {
        choice_t choice = {.random = {random_next(&seeds)}};
        run_episode(&choice, EPISODE);
    }
    printf("check_heap_model: %" PRIu64 " calls\n", steps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap model");
    TCase *tcase = suite_add_list(suite, "model", TEST_LIST(model_heap_is_what_the_reference_says));
    tcase_set_timeout(tcase, scale_timeout(1800));
    return suite_main(suite);
}
