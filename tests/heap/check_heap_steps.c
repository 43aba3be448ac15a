/*
 * How many steps calls take, and how many bytes the bookkeeping, from 2^10 to 2^22 live blocks
 * (CUARENA_TEST_SCALE=long: 2^24; under a sanitizer 2^16). Nothing here looks at a clock.
 *
 * Workload: blocks of 1 to 64 granules fill half of a segment; then blocks at random are freed and
 * as many others made.
 */
#include "support/expect.h"
#include "support/random.h"
#include "support/scale.h"

#include <cuarena/heap.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BASE UINT64_C(0x7f0000000000)
#define GRANULE UINT64_C(256)
#define MOST_GRANULES 64u
#define CHURN 100000u
/* Ranges that one request may look at while something serves it easily. */
#define MOST_STEPS 64u
#define MOST_PROBES 32u

typedef struct load {
    cuarena_heap_t *heap;
    random_state_t random;
    cuarena_block_t *blocks;
    uint64_t count;
    uint64_t allocs;     /* that were counted */
    uint64_t steps;      /* of all of them */
    uint64_t most_steps; /* of one of them */
} load_t;

static load_t load;

static cuarena_heap_stats_t stats_now(void)
{
    cuarena_heap_stats_t stats;
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_stats(load.heap, &stats));
    return stats;
}

static void open_load(uint64_t count, int32_t placement)
{
    cuarena_heap_config_t config;
    cuarena_heap_config_init(&config);
    config.placement = placement;
    load = (load_t){.random = {count}, .count = count};
    load.blocks = calloc(count, sizeof(load.blocks[0]));
    ck_assert_ptr_nonnull(load.blocks);
    expect_ok(cuarena_heap_create(&config, &load.heap));
    expect_ok(cuarena_heap_segment_add(load.heap, BASE, count * MOST_GRANULES * GRANULE));
}

static void close_load(void)
{
    cuarena_heap_destroy(&load.heap);
    free(load.blocks);
    load = (load_t){0};
}

static void make_block(uint64_t i)
{
    cuarena_heap_request_t request = {
        .size = GRANULE * (1 + random_below(&load.random, MOST_GRANULES)),
        .alignment = random_below(&load.random, 16) == 0 ? 16 * GRANULE : 0};
    uint64_t offset;
    expect_ok(cuarena_heap_alloc(load.heap, &request, &load.blocks[i], &offset));
}

static void count_steps(uint64_t steps)
{
    load.allocs++;
    load.steps += steps;
    load.most_steps = steps > load.most_steps ? steps : load.most_steps;
}

static void fill(void)
{
    for (uint64_t i = 0; i < load.count; i++)
        make_block(i);
}

static void churn(void)
{
    uint64_t before = stats_now().search_steps;
    for (unsigned n = 0; n < CHURN; n++) {
        uint64_t i = random_below(&load.random, load.count);
        expect_ok(cuarena_heap_free(load.heap, load.blocks[i], 0));
        make_block(i);
        uint64_t after = stats_now().search_steps;
        count_steps(after - before);
        before = after;
    }
}

static unsigned most_log2(void)
{
    return (unsigned)scale_pick(16, 20, 24);
}

/* ---- Steps -------------------------------------------------------------- */

static double steps_of(unsigned count_log2, int32_t placement)
{
    open_load(UINT64_C(1) << count_log2, placement);
    fill();
    churn();
    expect_valid(load.heap);
    cuarena_heap_stats_t stats = stats_now();
    double mean = (double)load.steps / (double)load.allocs;
    printf("2^%u blocks, placement %d: %.2f steps, at most %" PRIu64 "; longest probe %" PRIu64
           "\n",
           count_log2, placement, mean, load.most_steps, stats.longest_probe);
    expect_u64(stats.full_searches, 0);
    expect_between(load.most_steps, 1, MOST_STEPS);
    expect_between(stats.longest_probe, 0, MOST_PROBES);
    close_load();
    return mean;
}

START_TEST(steps_stay_flat_from_2_to_the_10_blocks_up)
{
    double first = steps_of(10, _i);
    for (unsigned count_log2 = 12; count_log2 <= most_log2(); count_log2 += 2) {
        double mean = steps_of(count_log2, _i);
        ck_assert_msg(mean <= 2 * first + 8, "%.2f steps, %.2f with 2^10", mean, first);
    }
}
END_TEST

/* Ranges of the request's own class that are all a granule short, and one
 * that is large enough at the far end of the heap. */
static void crowd(uint64_t count, uint64_t large)
{
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t granules = i == large ? 3000 : 1038;
        expect_ok(
            cuarena_heap_segment_add(load.heap, BASE + i * 4096 * GRANULE, granules * GRANULE));
    }
}

START_TEST(steps_stay_bounded_in_a_crowded_class)
{
    cuarena_block_t block;
    uint64_t offset;
    uint64_t count = scale_pick(1000, 20000, 20000);
    cuarena_heap_request_t request = {.size = 1039 * GRANULE};
    open_load(1, _i / 2);
    crowd(count, _i % 2 == 0 ? 1 : count);
    uint64_t before = stats_now().search_steps;
    expect_ok(cuarena_heap_alloc(load.heap, &request, &block, &offset));
    expect_between(stats_now().search_steps - before, 1, MOST_STEPS);
    close_load();
}
END_TEST

/* ---- Probes ------------------------------------------------------------- */

/* Offsets as regular as they can be: one stride, a power of two. */
START_TEST(probes_stay_short_for_every_stride)
{
    uint64_t count = scale_pick(4096, 65536, 65536);
    uint64_t stride = GRANULE << _i;
    open_load(1, CUARENA_PLACEMENT_LOW);
    expect_ok(cuarena_heap_segment_cut(load.heap, BASE, MOST_GRANULES * GRANULE));
    for (uint64_t i = 0; i < count; i++) {
        cuarena_block_t block;
        cuarena_heap_request_t request = {.size = GRANULE};
        expect_ok(cuarena_heap_segment_add_block(load.heap, GRANULE + i * stride, GRANULE, &request,
                                                 &block));
    }
    uint64_t longest = stats_now().longest_probe;
    printf("stride 2^%d granules: longest probe %" PRIu64 "\n", _i, longest);
    expect_between(longest, 0, MOST_PROBES);
    close_load();
}
END_TEST

/* ---- Bytes -------------------------------------------------------------- */

/* 64 B and 8 B for each block of the highest count, for the record of the segment, and what a heap
 * has however small. */
static uint64_t most_bookkeeping(uint64_t blocks, uint64_t empty)
{
    return empty + (64 + 8) * (blocks + 2) + 56;
}

START_TEST(bookkeeping_bytes_are_bounded_by_the_peak)
{
    open_load(UINT64_C(1) << (most_log2() - 4), CUARENA_PLACEMENT_DEFAULT);
    uint64_t empty = stats_now().bookkeeping_bytes;
    expect_between(empty, 1, 1 << 20);
    fill();
    uint64_t full = stats_now().bookkeeping_bytes;
    expect_between(full, empty, most_bookkeeping(load.count, empty));
    churn();
    expect_between(stats_now().bookkeeping_bytes, full, full);
    close_load();
}
END_TEST

START_TEST(bookkeeping_bytes_of_an_allocation_are_a_record_at_most)
{
    open_load(UINT64_C(1) << 14, CUARENA_PLACEMENT_DEFAULT);
    uint64_t before = stats_now().bookkeeping_bytes;
    for (uint64_t i = 0; i < load.count; i++) {
        make_block(i);
        uint64_t after = stats_now().bookkeeping_bytes;
        expect_between(after - before, 0, 64 + 8);
        before = after;
    }
    close_load();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap steps");
    TCase *tcase =
        suite_add_list(suite, "steps",
                       TEST_LIST(bookkeeping_bytes_are_bounded_by_the_peak,
                                 bookkeeping_bytes_of_an_allocation_are_a_record_at_most));
    tcase_add_loop_test(tcase, steps_stay_flat_from_2_to_the_10_blocks_up, 0, 3);
    tcase_add_loop_test(tcase, steps_stay_bounded_in_a_crowded_class, 0, 6);
    tcase_add_loop_test(tcase, probes_stay_short_for_every_stride, 0, 24);
    tcase_set_timeout(tcase, scale_timeout(900));
    return suite_main(suite);
}
