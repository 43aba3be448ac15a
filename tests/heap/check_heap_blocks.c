/*
 * Blocks: allocation, max_blocks, splitting, placement. Pictures are explained in
 * support/heap_map.h; each step validates.
 */
#include "support/heap_rig.h"

#define SEGMENT_GRANULES (CUARENA_HEAP_MAX_SEGMENT / MAP_GRANULE)

/* ---- Allocation --------------------------------------------------------- */

START_TEST(test_alloc_exact_fit_leaves_no_range)
{
    map_open(&map, "a1 -4 b1");
    expect_ok(map_alloc(&map, 'c', 4));
    expect_map(&map, "a1 c4 b1");
}
END_TEST

START_TEST(test_alloc_one_granule_short_fails)
{
    map_open(&map, "a1 -4 b1");
    expect_status(map_alloc(&map, 'c', 5), CUARENA_OUT_OF_MEMORY);
    expect_map(&map, "a1 -4 b1");
}
END_TEST

START_TEST(test_alloc_best_cuts_from_the_low_end)
{
    map_open(&map, "a1 -4 b1");
    expect_ok(map_alloc(&map, 'c', 1));
    expect_map(&map, "a1 c1 -3 b1");
}
END_TEST

START_TEST(test_alloc_best_takes_the_exact_range)
{
    map_open(&map, "-9 a1 -3 b1 -5 c1 -2");
    expect_ok(map_alloc(&map, 'd', 3));
    expect_map(&map, "-9 a1 d3 b1 -5 c1 -2");
    expect_ok(map_alloc(&map, 'e', 5));
    expect_map(&map, "-9 a1 d3 b1 e5 c1 -2");
}
END_TEST

/* 4 and 5 granules are of one class, of which one range is looked at. */
START_TEST(test_alloc_best_goes_up_a_class_when_the_first_range_is_too_small)
{
    map_open(&map, "-6 a1 -5 b1 -4");
    expect_ok(map_alloc(&map, 'c', 4));
    expect_ok(map_free(&map, 'c'));
    expect_ok(map_alloc(&map, 'd', 5));
    expect_map(&map, "d5 -1 a1 -5 b1 -4");
}
END_TEST

START_TEST(test_alloc_out_of_memory_and_fragmented_are_told_apart)
{
    map_open(&map, "-4 a1 -4 b1 -3");
    expect_status(map_alloc(&map, 'c', 12), CUARENA_OUT_OF_MEMORY);
    expect_status(map_alloc(&map, 'c', 11), CUARENA_FRAGMENTED);
    expect_status(map_alloc(&map, 'c', 5), CUARENA_FRAGMENTED);
    expect_map(&map, "-4 a1 -4 b1 -3");
}
END_TEST

static cuarena_status_t alloc_bytes(uint64_t size, uint64_t alignment)
{
    cuarena_heap_request_t request = {.size = size, .alignment = alignment, .tag = 'x'};
    uint64_t offset;
    cuarena_status_t status = cuarena_heap_alloc(map.heap, &request, &map.ids['x'], &offset);
    expect_valid(map.heap);
    return status;
}

START_TEST(test_alloc_rounds_up_to_the_granule)
{
    cuarena_heap_entry_t entry;
    map_open(&map, "-8");
    expect_ok(alloc_bytes(257, 0));
    expect_map(&map, "x2 -6");
    expect_ok(cuarena_heap_block_info(map.heap, map_id(&map, 'x'), &entry));
    expect_u64(entry.requested, 257);
    expect_u64(entry.size, 512);
    expect_ok(alloc_bytes(1, 0));
    expect_ok(alloc_bytes(256, 0));
    expect_map(&map, "x2 x1 x1 -4");
}
END_TEST

START_TEST(test_alloc_size_0_is_bad)
{
    map_open(&map, "-8");
    expect_status(alloc_bytes(0, 0), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-8");
}
END_TEST

START_TEST(test_alloc_huge_sizes_are_out_of_memory)
{
    static const uint64_t sizes[] = {CUARENA_HEAP_MAX_SEGMENT - 256,
                                     CUARENA_HEAP_MAX_SEGMENT - 1,
                                     CUARENA_HEAP_MAX_SEGMENT,
                                     CUARENA_HEAP_MAX_OFFSET,
                                     UINT64_C(1) << 63,
                                     (UINT64_C(1) << 63) + 1,
                                     UINT64_MAX - 256,
                                     UINT64_MAX - 255,
                                     UINT64_MAX - 254,
                                     UINT64_MAX};
    map_open(&map, "-8");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        expect_status(alloc_bytes(sizes[i], 0), CUARENA_OUT_OF_MEMORY);
        expect_status(alloc_bytes(sizes[i], 4096), CUARENA_OUT_OF_MEMORY);
    }
    expect_map(&map, "-8");
}
END_TEST

START_TEST(test_alloc_more_than_any_segment_can_have_is_out_of_memory)
{
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, SEGMENT_GRANULES - 1));
    expect_ok(map_segment(&map, SEGMENT_GRANULES, SEGMENT_GRANULES - 2));
    expect_status(map_alloc(&map, 'a', SEGMENT_GRANULES), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_alloc(&map, 'a', SEGMENT_GRANULES - 1));
    expect_ok(map_alloc(&map, 'b', 1));
    expect_status(map_alloc(&map, 'c', SEGMENT_GRANULES - 2), CUARENA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(test_alloc_alignment_not_a_power_of_two_is_bad)
{
    map_open(&map, "-8");
    expect_status(alloc_bytes(256, 3), CUARENA_BAD_ARGUMENT);
    expect_status(alloc_bytes(256, 768), CUARENA_BAD_ARGUMENT);
    expect_status(alloc_bytes(256, UINT64_MAX), CUARENA_BAD_ARGUMENT);
    expect_status(alloc_bytes(256, UINT64_C(1) << 63), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-8");
}
END_TEST

START_TEST(test_alloc_alignment_up_to_the_granule_is_the_granule)
{
    cuarena_heap_entry_t entry;
    map_open(&map, "a1 -9");
    for (uint64_t alignment = 1; alignment <= 256; alignment *= 2) {
        expect_ok(alloc_bytes(256, alignment));
        expect_ok(cuarena_heap_block_info(map.heap, map_id(&map, 'x'), &entry));
        expect_u64(entry.alignment, 256);
    }
    expect_status(alloc_bytes(256, 1), CUARENA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(test_alloc_alignment_above_granule_leaves_front_range)
{
    map_open(&map, "a1 -15");
    expect_ok(map_alloc_aligned(&map, 'b', 2, 8));
    expect_map(&map, "a1 -7 b2@8 -6");
}
END_TEST

START_TEST(test_alloc_alignment_that_the_range_begins_with)
{
    map_open(&map, "a8 -8");
    expect_ok(map_alloc_aligned(&map, 'b', 2, 8));
    expect_map(&map, "a8 b2@8 -6");
}
END_TEST

START_TEST(test_alloc_aligned_fits_exactly_behind_the_front)
{
    map_open(&map, "a1 -9 b1");
    expect_ok(map_alloc_aligned(&map, 'c', 2, 8));
    expect_map(&map, "a1 -7 c2@8 b1");
}
END_TEST

START_TEST(test_alloc_aligned_fits_in_the_smaller_range_only)
{
    map_open(&map, "a1 -12 b3 -4 c4");
    expect_ok(map_alloc_aligned(&map, 'd', 4, 16));
    expect_map(&map, "a1 -12 b3 d4@16 c4");
}
END_TEST

START_TEST(test_alloc_alignment_that_nothing_has_is_fragmented)
{
    map_open(&map, "a1 -7 b1");
    expect_status(map_alloc_aligned(&map, 'c', 1, 8), CUARENA_FRAGMENTED);
    expect_status(alloc_bytes(256, UINT64_C(1) << 47), CUARENA_FRAGMENTED);
    expect_map(&map, "a1 -7 b1");
}
END_TEST

START_TEST(test_alloc_finds_the_one_aligned_range_among_many)
{
    map_open(&map, "");
    for (uint64_t i = 0; i < 40; i++)
        expect_ok(map_segment(&map, 64 * i + (i == 17 ? 0 : 1), 4));
    expect_ok(map_alloc_aligned(&map, 'a', 4, 64));
    expect_u64(map_offset(&map, 'a'), map_at(&map, 64 * 17));
    expect_status(map_alloc_aligned(&map, 'b', 4, 64), CUARENA_FRAGMENTED);
}
END_TEST

START_TEST(test_alloc_finds_the_one_large_range_of_a_crowded_class)
{
    map_open(&map, "");
    for (uint64_t i = 0; i < 40; i++)
        expect_ok(map_segment(&map, 4096 * i, i == 3 ? 1039 : 1024 + i % 15));
    expect_ok(map_alloc(&map, 'a', 1039));
    expect_u64(map_offset(&map, 'a'), map_at(&map, 4096 * 3));
    expect_status(map_alloc(&map, 'b', 1039), CUARENA_FRAGMENTED);
    expect_ok(map_alloc(&map, 'b', 1038));
}
END_TEST

START_TEST(test_alloc_keeps_tag_flags_and_pins)
{
    cuarena_heap_entry_t entry;
    cuarena_heap_request_t request = {.size = 256, .tag = 0xfedc, .pins = 0xffff, .flags = 0xff};
    cuarena_block_t block;
    uint64_t offset;
    map_open(&map, "-8");
    expect_ok(cuarena_heap_alloc(map.heap, &request, &block, &offset));
    expect_ok(cuarena_heap_block_info(map.heap, block, &entry));
    expect_u64(entry.tag, 0xfedc);
    expect_u64(entry.pins, 0xffff);
    expect_u64(entry.flags, 0xff);
    expect_u64(entry.moving, 0);
}
END_TEST

static void expect_bad_request(const cuarena_heap_request_t *request)
{
    cuarena_block_t block = 7;
    uint64_t offset = 7;
    expect_status(cuarena_heap_alloc(map.heap, request, &block, &offset), CUARENA_BAD_ARGUMENT);
    expect_u64(block, 7);
    expect_u64(offset, 7);
    expect_map(&map, "-8");
}

START_TEST(test_alloc_unknown_flags_or_zeros_that_are_not_are_bad)
{
    map_open(&map, "-8");
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .flags = 0x100});
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .low = 2});
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .zero = 1});
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .owner = 128});
}
END_TEST

START_TEST(test_alloc_unknown_freelist_is_bad)
{
    cuarena_heap_request_t request = {.size = 256, .freelist = 1};
    map_open(&map, "-8");
    expect_bad_request(&request);
    request.freelist = CUARENA_HEAP_MAX_FREELISTS - 1;
    expect_bad_request(&request);
    request.freelist = CUARENA_HEAP_MAX_FREELISTS;
    expect_bad_request(&request);
    request.freelist = UINT32_MAX;
    expect_bad_request(&request);
}
END_TEST

START_TEST(test_alloc_null_is_bad)
{
    cuarena_heap_request_t request = {.size = 256};
    cuarena_block_t block;
    uint64_t offset;
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    map_open(&map, "-8");
    expect_status(cuarena_heap_alloc(NULL, &request, &block, &offset), bad);
    expect_status(cuarena_heap_alloc(map.heap, NULL, &block, &offset), bad);
    expect_status(cuarena_heap_alloc(map.heap, &request, NULL, &offset), bad);
    expect_map(&map, "-8");
}
END_TEST

START_TEST(test_alloc_each_granule_serves_its_own_sizes)
{
    for (uint64_t granule = 8; granule <= UINT64_C(1) << 20; granule *= 2) {
        cuarena_heap_config_t config = map_config();
        config.granule = granule;
        map_open_with(&map, &config, "a3 -5 b2");
        expect_ok(map_alloc(&map, 'c', 5));
        expect_map(&map, "a3 c5 b2");
        map_close(&map);
    }
}
END_TEST

/* ---- max_blocks --------------------------------------------------------- */

static void open_limited(uint64_t max_blocks, const char *picture)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = max_blocks;
    map_open_with(&map, &config, picture);
}

START_TEST(test_alloc_at_max_blocks_is_limit)
{
    open_limited(3, "a1 b1 -8");
    expect_ok(map_alloc(&map, 'c', 1));
    expect_status(map_alloc(&map, 'd', 1), CUARENA_LIMIT);
    expect_map(&map, "a1 b1 c1 -7");
}
END_TEST

START_TEST(test_alloc_below_max_blocks_again_after_a_free)
{
    open_limited(2, "a1 -8");
    for (int i = 0; i < 1000; i++) {
        expect_ok(map_alloc(&map, 'b', 1));
        expect_status(map_alloc(&map, 'c', 1), CUARENA_LIMIT);
        expect_ok(map_free(&map, 'b'));
    }
    expect_map(&map, "a1 -8");
}
END_TEST

START_TEST(test_alloc_max_blocks_1_serves_one)
{
    open_limited(1, "-8");
    expect_ok(map_alloc(&map, 'a', 8));
    expect_ok(map_free(&map, 'a'));
    expect_ok(map_alloc(&map, 'a', 1));
    expect_status(map_alloc(&map, 'b', 1), CUARENA_LIMIT);
}
END_TEST

START_TEST(test_alloc_max_blocks_holds_after_segments_went)
{
    open_limited(2, "");
    for (uint64_t i = 0; i < 4; i++)
        expect_ok(map_segment(&map, 5 * i, 4));
    for (uint64_t i = 0; i < 3; i++)
        expect_ok(map_cut(&map, 5 * i, 4));
    expect_ok(map_alloc(&map, 'a', 1));
    expect_ok(map_alloc(&map, 'b', 1));
    expect_status(map_alloc(&map, 'c', 1), CUARENA_LIMIT);
    expect_map(&map, "a1 b1 -2");
}
END_TEST

START_TEST(test_alloc_max_blocks_holds_after_freelists_idle)
{
    open_limited(4, "1:1 -1 1:1 -5");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
    expect_map(&map, "-8");
    for (char tag = 'a'; tag <= 'd'; tag++)
        expect_ok(map_alloc(&map, tag, 1));
    expect_status(map_alloc(&map, 'e', 1), CUARENA_LIMIT);
}
END_TEST

START_TEST(test_alloc_max_blocks_1_in_many_segments)
{
    open_limited(1, "");
    for (uint64_t i = 0; i < 60; i++)
        expect_ok(map_segment(&map, 2 * i, 1));
    expect_ok(map_alloc(&map, 'a', 1));
    expect_status(map_alloc(&map, 'b', 1), CUARENA_LIMIT);
}
END_TEST

/* ---- Splitting ---------------------------------------------------------- */

static void open_split(uint64_t threshold, const char *picture)
{
    cuarena_heap_config_t config = map_config();
    config.split_threshold = threshold;
    map_open_with(&map, &config, picture);
}

START_TEST(test_split_0_splits_a_granule_off)
{
    open_split(0, "-9");
    expect_ok(map_alloc(&map, 'a', 8));
    expect_map(&map, "a8 -1");
}
END_TEST

START_TEST(test_split_max_never_splits)
{
    open_split(UINT64_MAX, "-9");
    expect_ok(map_alloc(&map, 'a', 1));
    expect_map(&map, "a9");
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-9");
}
END_TEST

START_TEST(test_split_rest_of_the_threshold_is_split_off)
{
    open_split(1024, "-14");
    expect_ok(map_alloc(&map, 'a', 10));
    expect_map(&map, "a10 -4");
}
END_TEST

START_TEST(test_split_rest_below_the_threshold_goes_with_the_block)
{
    open_split(1024, "-13");
    expect_ok(map_alloc(&map, 'a', 10));
    expect_map(&map, "a13");
}
END_TEST

START_TEST(test_split_rest_as_large_as_the_request_is_split_off)
{
    open_split(1024, "-4");
    expect_ok(map_alloc(&map, 'a', 2));
    expect_map(&map, "a2 -2");
}
END_TEST

START_TEST(test_split_rest_smaller_than_the_request_is_not)
{
    open_split(1024, "-5");
    expect_ok(map_alloc(&map, 'a', 3));
    expect_map(&map, "a5");
}
END_TEST

START_TEST(test_split_aligned_block_leaves_the_front)
{
    open_split(UINT64_MAX, "a1 -15");
    expect_ok(map_alloc_aligned(&map, 'b', 2, 8));
    expect_map(&map, "a1 -7 b8@8");
}
END_TEST

START_TEST(test_split_unsplit_block_counts_what_it_takes)
{
    cuarena_heap_stats_t stats;
    open_split(UINT64_MAX, "-9");
    expect_ok(alloc_bytes(300, 0));
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_stats(map.heap, &stats));
    expect_u64(stats.live_bytes, 9 * 256);
    expect_u64(stats.requested_bytes, 300);
    expect_u64(stats.free_bytes, 0);
}
END_TEST

/* ---- Placement ---------------------------------------------------- */

static void open_placed(int32_t placement, const char *picture)
{
    cuarena_heap_config_t config = map_config();
    config.placement = placement;
    map_open_with(&map, &config, picture);
}

#define PLACED 1048576u

static uint64_t place_of(char tag)
{
    return (map_offset(&map, tag) - MAP_BASE) / MAP_GRANULE;
}

START_TEST(test_placement_default_small_from_the_top)
{
    open_placed(CUARENA_PLACEMENT_DEFAULT, "-1048576");
    expect_ok(map_alloc(&map, 'a', 1));
    expect_u64(place_of('a'), PLACED - 1);
    expect_ok(map_alloc(&map, 'b', 1000));
    expect_u64(place_of('b'), PLACED - 1001);
}
END_TEST

START_TEST(test_placement_default_middle_from_the_bottom)
{
    open_placed(CUARENA_PLACEMENT_DEFAULT, "-1048576");
    expect_ok(map_alloc(&map, 'a', PLACED / 16));
    expect_u64(place_of('a'), 0);
    expect_ok(map_alloc(&map, 'b', PLACED / 64));
    expect_u64(place_of('b'), PLACED / 16);
}
END_TEST

START_TEST(test_placement_default_giant_from_the_top)
{
    open_placed(CUARENA_PLACEMENT_DEFAULT, "-1048576");
    expect_ok(map_alloc(&map, 'a', PLACED / 4));
    expect_u64(place_of('a'), PLACED / 4 * 3);
}
END_TEST

START_TEST(test_placement_default_aligned_from_the_top)
{
    open_placed(CUARENA_PLACEMENT_DEFAULT, "-1048575");
    expect_ok(map_alloc_aligned(&map, 'a', 1, 16));
    expect_u64(place_of('a'), PLACED - 16);
    expect_map(&map, "-1048560 a1@16 -14");
}
END_TEST

START_TEST(test_placement_low_is_from_the_bottom_for_all)
{
    open_placed(CUARENA_PLACEMENT_LOW, "-1048576");
    expect_ok(map_alloc(&map, 'a', 1));
    expect_ok(map_alloc(&map, 'b', PLACED / 2));
    expect_ok(map_alloc(&map, 'c', 1));
    expect_map(&map, "a1 b524288 c1 -524286");
}
END_TEST

START_TEST(test_placement_low_takes_the_lowest_part_not_the_best_fit)
{
    open_placed(CUARENA_PLACEMENT_LOW, "-9 z1000 -3 y1");
    expect_ok(map_alloc(&map, 'a', 3));
    expect_map(&map, "a3 -6 z1000 -3 y1");
}
END_TEST

START_TEST(test_placement_low_request_is_from_the_bottom)
{
    cuarena_heap_request_t request = {.size = 256, .tag = 'a', .low = 1};
    uint64_t offset;
    open_placed(CUARENA_PLACEMENT_DEFAULT, "-1048576");
    expect_ok(cuarena_heap_alloc(map.heap, &request, &map.ids['a'], &offset));
    expect_u64(offset, MAP_BASE);
}
END_TEST

START_TEST(test_placement_default_cramped_class_from_the_bottom)
{
    open_placed(CUARENA_PLACEMENT_DEFAULT, "-1048576");
    expect_ok(map_alloc(&map, 'a', 64));
    expect_u64(place_of('a'), PLACED - 64);
    expect_status(map_resize(&map, 'a', 65), CUARENA_FRAGMENTED);
    expect_ok(map_alloc(&map, 'b', 64)); /* of the class */
    expect_u64(place_of('b'), 0);
    expect_ok(map_resize(&map, 'b', PLACED / 2));
    expect_ok(map_alloc(&map, 'c', 32)); /* of others */
    expect_ok(map_alloc(&map, 'd', 128));
    expect_u64(place_of('c'), PLACED - 64 - 32);
    expect_u64(place_of('d'), PLACED - 64 - 32 - 128);
}
END_TEST

START_TEST(test_placement_each_serves_until_nothing_is_left)
{
    for (int32_t placement = 0; placement <= 2; placement++) {
        open_placed(placement, "-32");
        for (int i = 0; i < 8; i++)
            expect_ok(map_alloc_aligned(&map, 'a', 4, i % 2 == 0 ? 1 : 4));
        expect_status(map_alloc(&map, 'b', 1), CUARENA_OUT_OF_MEMORY);
        map_close(&map);
    }
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_allocation(Suite *suite)
{
    add_tests(suite, "allocation",
              TEST_LIST(test_alloc_exact_fit_leaves_no_range, test_alloc_one_granule_short_fails,
                        test_alloc_best_cuts_from_the_low_end,
                        test_alloc_best_takes_the_exact_range,
                        test_alloc_best_goes_up_a_class_when_the_first_range_is_too_small,
                        test_alloc_out_of_memory_and_fragmented_are_told_apart,
                        test_alloc_rounds_up_to_the_granule, test_alloc_size_0_is_bad,
                        test_alloc_huge_sizes_are_out_of_memory,
                        test_alloc_more_than_any_segment_can_have_is_out_of_memory,
                        test_alloc_alignment_not_a_power_of_two_is_bad,
                        test_alloc_alignment_up_to_the_granule_is_the_granule,
                        test_alloc_alignment_above_granule_leaves_front_range,
                        test_alloc_alignment_that_the_range_begins_with,
                        test_alloc_aligned_fits_exactly_behind_the_front,
                        test_alloc_aligned_fits_in_the_smaller_range_only,
                        test_alloc_alignment_that_nothing_has_is_fragmented,
                        test_alloc_finds_the_one_aligned_range_among_many,
                        test_alloc_finds_the_one_large_range_of_a_crowded_class,
                        test_alloc_keeps_tag_flags_and_pins,
                        test_alloc_unknown_flags_or_zeros_that_are_not_are_bad,
                        test_alloc_unknown_freelist_is_bad, test_alloc_null_is_bad,
                        test_alloc_each_granule_serves_its_own_sizes));
}

static void add_max_blocks(Suite *suite)
{
    add_tests(suite, "max_blocks",
              TEST_LIST(test_alloc_at_max_blocks_is_limit,
                        test_alloc_below_max_blocks_again_after_a_free,
                        test_alloc_max_blocks_1_serves_one,
                        test_alloc_max_blocks_holds_after_segments_went,
                        test_alloc_max_blocks_holds_after_freelists_idle,
                        test_alloc_max_blocks_1_in_many_segments));
}

static void add_splitting(Suite *suite)
{
    add_tests(suite, "splitting",
              TEST_LIST(test_split_0_splits_a_granule_off, test_split_max_never_splits,
                        test_split_rest_of_the_threshold_is_split_off,
                        test_split_rest_below_the_threshold_goes_with_the_block,
                        test_split_rest_as_large_as_the_request_is_split_off,
                        test_split_rest_smaller_than_the_request_is_not,
                        test_split_aligned_block_leaves_the_front,
                        test_split_unsplit_block_counts_what_it_takes));
}

static void add_placement(Suite *suite)
{
    add_tests(suite, "placement",
              TEST_LIST(test_placement_default_small_from_the_top,
                        test_placement_default_middle_from_the_bottom,
                        test_placement_default_giant_from_the_top,
                        test_placement_default_aligned_from_the_top,
                        test_placement_low_is_from_the_bottom_for_all,
                        test_placement_low_takes_the_lowest_part_not_the_best_fit,
                        test_placement_low_request_is_from_the_bottom,
                        test_placement_default_cramped_class_from_the_bottom,
                        test_placement_each_serves_until_nothing_is_left));
}

int main(void)
{
    Suite *suite = suite_create("heap blocks");
    add_allocation(suite);
    add_max_blocks(suite);
    add_splitting(suite);
    add_placement(suite);
    return suite_main(suite);
}
