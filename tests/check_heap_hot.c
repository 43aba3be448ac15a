/*
 * The short path of the arena's calls, heap/hot.h: the random calls of
 * check_heap_model, but allocations and frees take the short path wherever it
 * may be taken, as they do below an arena.
 *
 * Workload: 4 * 10^5 calls (CUARENA_TEST_SCALE=long: 5 * 10^6; under a
 * sanitizer 10^5) in episodes of 2000.
 */
#include "support/expect.h"
#include "support/heap_map.h"
#include "support/heap_model.h"
#include "support/scale.h"

#include "heap/hot.h"

#include <inttypes.h>
#include <stdio.h>

#define EPISODE 2000u

static uint64_t short_allocs;
static uint64_t short_frees;

/* ---- Standing in for the public calls ----------------------------------- */

static bool is_ordinary(const cuarena_heap_t *heap,
                        const cuarena_heap_request_t *request)
{
    return request->lane == 0 && request->low == 0 && request->size != 0 &&
           request->size < CUARENA_HEAP_MAX_SEGMENT / 2 &&
           request->alignment <= heap->granule_mask + 1 &&
           (request->alignment & (request->alignment - 1)) == 0;
}

static cuarena_status_t short_alloc(cuarena_heap_t *heap,
                                    const cuarena_heap_request_t *request,
                                    cuarena_block_t *block_out,
                                    uint64_t *offset_out)
{
    cuai_slot_t slot = 0;
    if (is_ordinary(heap, request)) {
        uint64_t mask = heap->granule_mask;
        slot = cuai_hot_take(
            heap, (request->size + mask) & ~mask, request->size,
            CUAI_NATURE(request->pins, CUAI_BLOCK, request->flags), offset_out);
    }
    if (slot == 0)
        return cuarena_heap_alloc(heap, request, block_out, offset_out);
    expect_u64(*offset_out, heap->records[slot].offset);
    short_allocs++;
    heap->records[slot].asked = cuai_asked(request->size, request->tag);
    *block_out = cuai_id(heap, slot);
    return CUARENA_OK;
}

static cuarena_status_t short_free(cuarena_heap_t *heap, cuarena_block_t block,
                                   uint32_t lane)
{
    cuai_slot_t slot = cuai_slot_of(heap, block);
    const cuai_record_t *r = &heap->records[slot];
    if (slot == 0 || !heap->plain || lane != 0 || r->kind != CUAI_BLOCK)
        return cuarena_heap_free(heap, block, lane);
    short_frees++;
    cuai_hot_give(heap,
                  cuai_table_link(&heap->table, heap->records, r->offset));
    return CUARENA_OK;
}

/* ---- The model ---------------------------------------------------------- */

/* Every other heap never has a second lane. */
static void run_episode(choice_t *choice, uint64_t steps, bool plain)
{
    model_t model;
    model_open(&model, choice);
    model.lane_most = plain ? 1 : model.lane_most;
    model.alloc = short_alloc;
    model.free = short_free;
    while (steps-- != 0)
        model_step(&model);
    model_close(&model);
}

START_TEST(test_hot_heap_is_what_the_reference_says)
{
    uint64_t steps = scale_pick(100000, 400000, 5000000);
    random_state_t seeds = {scale_seed("check_heap_hot")};
    for (uint64_t i = 0; i < steps / EPISODE; i++) {
        choice_t choice = {.random = {random_next(&seeds)}};
        run_episode(&choice, EPISODE, i % 2 == 0);
    }
    printf("check_heap_hot: %" PRIu64 " calls, %" PRIu64 " short allocations, "
           "%" PRIu64 " short frees\n",
           steps, short_allocs, short_frees);
    expect_between(short_allocs, steps / 50, steps);
    expect_between(short_frees, steps / 50, steps);
}
END_TEST

/* ---- Its limits --------------------------------------------------------- */

static map_t map;

static void close_map(void)
{
    map_close(&map);
}

static cuai_slot_t take(uint64_t granules)
{
    uint64_t bytes = map_bytes(&map, granules);
    uint64_t offset;
    cuai_slot_t slot = cuai_hot_take(map.heap, bytes, bytes,
                                     CUAI_NATURE(0, CUAI_BLOCK, 0), &offset);
    expect_valid(map.heap);
    return slot;
}

/* One slot lies ready. */
static void open_ready(uint64_t max_blocks, const char *picture)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = max_blocks;
    map_open_with(&map, &config, picture);
    expect_ok(map_segment(&map, 1000, 1));
    expect_ok(map_cut(&map, 1000, 1));
}

START_TEST(test_hot_take_serves_a_plain_heap)
{
    open_ready(4096, "-4");
    ck_assert_uint_ne(take(4), 0);
    expect_map(&map, "?4");
}
END_TEST

START_TEST(test_hot_take_leaves_max_blocks_to_the_long_path)
{
    open_ready(2, "a1 b1");
    expect_ok(map_extend(&map, 0, 4));
    ck_assert_uint_ne(map.heap->spare, 0);
    expect_u64(take(1), 0);
    expect_map(&map, "a1 b1 -4");
}
END_TEST

START_TEST(test_hot_take_leaves_a_refusal_to_the_long_path)
{
    open_ready(4096, "a1 -3 b1 -3");
    expect_u64(take(4), 0);
    expect_map(&map, "a1 -3 b1 -3");
}
END_TEST

START_TEST(test_hot_take_leaves_lanes_to_the_long_path)
{
    open_ready(4096, "a1 -3");
    map_lane(&map, 1);
    expect_u64(take(1), 0);
    expect_map(&map, "a1 -3");
}
END_TEST

START_TEST(test_hot_take_leaves_plans_to_the_long_path)
{
    open_ready(4096, "a1 -3");
    expect_ok(cuai_heap_hold(map.heap));
    expect_u64(take(1), 0);
    cuai_heap_release(map.heap);
    ck_assert_uint_ne(take(1), 0);
}
END_TEST

START_TEST(test_hot_take_leaves_splitting_to_the_long_path)
{
    cuarena_heap_config_t config = map_config();
    config.split_threshold = UINT64_MAX;
    map_open_with(&map, &config, "a1 -3");
    ck_assert_uint_ne(map.heap->spare, 0);
    expect_u64(take(1), 0);
    expect_map(&map, "a1 -3");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap short path");
    TCase *tcase = suite_add_list(
        suite, "model", TEST_LIST(test_hot_heap_is_what_the_reference_says));
    tcase_set_timeout(tcase, 1800);
    tcase = suite_add_list(
        suite, "limits",
        TEST_LIST(test_hot_take_serves_a_plain_heap,
                  test_hot_take_leaves_max_blocks_to_the_long_path,
                  test_hot_take_leaves_a_refusal_to_the_long_path,
                  test_hot_take_leaves_lanes_to_the_long_path,
                  test_hot_take_leaves_plans_to_the_long_path,
                  test_hot_take_leaves_splitting_to_the_long_path));
    tcase_add_checked_fixture(tcase, NULL, close_map);
    return suite_main(suite);
}
