/*
 * Segments: adding, extending, cutting, joining. Pictures are explained in support/heap_map.h; each
 * step validates.
 */
#include "support/heap_rig.h"

#include <inttypes.h>
#include <string.h>

#define SEGMENT_GRANULES (CUARENA_HEAP_MAX_SEGMENT / MAP_GRANULE)

/* ---- Segments: adding --------------------------------------------------- */

START_TEST(test_segment_add_is_one_idle_range)
{
    map_open(&map, "");
    expect_map(&map, "");
    expect_ok(map_segment(&map, 0, 16));
    expect_map(&map, "-16");
}
END_TEST

START_TEST(test_segment_add_below_between_and_above_others)
{
    map_open(&map, "");
    expect_ok(map_segment(&map, 40, 4));
    expect_ok(map_segment(&map, 80, 5));
    expect_ok(map_segment(&map, 60, 6));
    expect_ok(map_segment(&map, 0, 7));
    expect_map(&map, "-7 ~33 -4 ~16 -6 ~14 -5");
}
END_TEST

START_TEST(test_segment_add_touching_ranges_stay_apart)
{
    map_open(&map, "");
    expect_ok(map_segment(&map, 4, 4));
    expect_ok(map_segment(&map, 0, 4));
    expect_ok(map_segment(&map, 8, 4));
    expect_map(&map, "-4 -4 -4");
    expect_status(map_alloc(&map, 'a', 5), CUARENA_FRAGMENTED);
}
END_TEST

START_TEST(test_segment_add_overlap_is_bad)
{
    static const uint64_t overlaps[][2] = {{8, 8},  {9, 1},  {15, 1}, {8, 1},  {7, 2}, {15, 2},
                                           {0, 40}, {7, 10}, {8, 40}, {0, 16}, {0, 9}};
    map_open(&map, "");
    expect_ok(map_segment(&map, 8, 8));
    for (size_t i = 0; i < sizeof(overlaps) / sizeof(overlaps[0]); i++)
        expect_status(map_segment(&map, overlaps[i][0], overlaps[i][1]), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-8");
}
END_TEST

static void expect_add(uint64_t offset, uint64_t size, cuarena_status_t want)
{
    expect_status(cuarena_heap_segment_add(map.heap, offset, size), want);
    expect_valid(map.heap);
}

START_TEST(test_segment_add_misaligned_is_bad)
{
    map_open(&map, "");
    expect_add(MAP_BASE + 1, 256, CUARENA_BAD_ARGUMENT);
    expect_add(MAP_BASE + 128, 256, CUARENA_BAD_ARGUMENT);
    expect_add(MAP_BASE, 255, CUARENA_BAD_ARGUMENT);
    expect_add(MAP_BASE, 257, CUARENA_BAD_ARGUMENT);
    expect_add(MAP_BASE, 0, CUARENA_BAD_ARGUMENT);
    expect_map(&map, "");
}
END_TEST

START_TEST(test_segment_add_just_below_2_to_the_48_bytes)
{
    map_open(&map, "");
    expect_add(MAP_BASE, CUARENA_HEAP_MAX_SEGMENT, CUARENA_BAD_ARGUMENT);
    expect_add(MAP_BASE, UINT64_C(1) << 63, CUARENA_BAD_ARGUMENT);
    expect_add(MAP_BASE, UINT64_MAX - 255, CUARENA_BAD_ARGUMENT);
    expect_add(MAP_BASE, CUARENA_HEAP_MAX_SEGMENT - 256, CUARENA_OK);
    expect_ok(map_alloc(&map, 'a', SEGMENT_GRANULES - 1));
    expect_map(&map, "a1099511627775");
}
END_TEST

START_TEST(test_segment_add_ends_at_2_to_the_52_at_most)
{
    uint64_t top = CUARENA_HEAP_MAX_OFFSET;
    map_open(&map, "");
    expect_add(top, 256, CUARENA_BAD_ARGUMENT);
    expect_add(top - 256, 512, CUARENA_BAD_ARGUMENT);
    expect_add(UINT64_MAX - 255, 256, CUARENA_BAD_ARGUMENT);
    expect_add(UINT64_MAX - 255, 512, CUARENA_BAD_ARGUMENT);
    expect_add(top - 1024, 1024, CUARENA_OK);
    expect_ok(map_alloc(&map, 'a', 4));
    expect_u64(map_offset(&map, 'a'), top - 1024);
}
END_TEST

START_TEST(test_segment_add_at_offset_0_serves_a_file)
{
    map_open(&map, "");
    expect_add(0, 1024, CUARENA_OK);
    expect_ok(map_alloc_aligned(&map, 'a', 4, SEGMENT_GRANULES / 2));
    expect_u64(map_offset(&map, 'a'), 0);
    expect_ok(map_free(&map, 'a'));
}
END_TEST

START_TEST(test_segment_add_many_in_descending_order)
{
    map_open(&map, "");
    for (uint64_t i = 300; i-- != 0;)
        expect_ok(map_segment(&map, 3 * i, 2));
    expect_u64(map_at(&map, 0) % 256, 0);
    expect_status(map_alloc(&map, 'a', 3), CUARENA_FRAGMENTED);
    expect_ok(map_alloc(&map, 'a', 2));
}
END_TEST

START_TEST(test_segment_calls_with_null_heap_are_bad)
{
    expect_status(cuarena_heap_segment_add(NULL, MAP_BASE, 256), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_segment_extend(NULL, MAP_BASE, 256), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_segment_cut(NULL, MAP_BASE, 256), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_segment_join(NULL, MAP_BASE), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- Segments: adding a block ------------------------------------------- */

static cuarena_status_t add_block(uint64_t at, uint64_t granules, uint64_t requested)
{
    cuarena_heap_request_t request = {.size = requested, .tag = 'z', .pins = 2, .flags = 0x81};
    cuarena_status_t status = cuarena_heap_segment_add_block(
        map.heap, map_at(&map, at), map_bytes(&map, granules), &request, &map.ids['z']);
    expect_valid(map.heap);
    return status;
}

START_TEST(test_segment_add_block_fills_a_segment)
{
    cuarena_heap_entry_t entry;
    map_open(&map, "a4 -4");
    expect_ok(add_block(10, 3, 700));
    expect_map(&map, "a4 -4 ~2 z3!!");
    expect_ok(cuarena_heap_block_info(map.heap, map_id(&map, 'z'), &entry));
    expect_u64(entry.requested, 700);
    expect_u64(entry.tag, 'z');
    expect_u64(entry.flags, 0x81);
}
END_TEST

START_TEST(test_segment_add_block_freed_is_a_idle_range)
{
    map_open(&map, "a4 -4");
    expect_ok(add_block(8, 3, 768));
    expect_ok(map_free(&map, 'z'));
    expect_map(&map, "a4 -4 -3");
    expect_ok(map_cut(&map, 8, 3));
    expect_map(&map, "a4 -4");
}
END_TEST

START_TEST(test_segment_add_block_request_of_0_or_beyond_is_bad)
{
    map_open(&map, "a4");
    expect_status(add_block(10, 3, 0), CUARENA_BAD_ARGUMENT);
    expect_status(add_block(10, 3, 769), CUARENA_BAD_ARGUMENT);
    expect_status(add_block(10, 3, UINT64_MAX), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a4");
}
END_TEST

START_TEST(test_segment_add_block_overlap_is_bad)
{
    map_open(&map, "a4");
    expect_status(add_block(3, 3, 768), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a4");
}
END_TEST

START_TEST(test_segment_add_block_null_is_bad)
{
    cuarena_heap_request_t request = {.size = 256};
    cuarena_block_t block;
    map_open(&map, "");
    expect_status(cuarena_heap_segment_add_block(NULL, MAP_BASE, 256, &request, &block),
                  CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_segment_add_block(map.heap, MAP_BASE, 256, NULL, &block),
                  CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_segment_add_block(map.heap, MAP_BASE, 256, &request, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_map(&map, "");
}
END_TEST

START_TEST(test_segment_add_block_at_max_blocks_adds_nothing)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = 2;
    map_open_with(&map, &config, "a4 b4");
    expect_status(add_block(10, 3, 768), CUARENA_LIMIT);
    expect_map(&map, "a4 b4");
    expect_ok(map_segment(&map, 10, 3));
}
END_TEST

/* ---- Segments: extending ------------------------------------------------ */

START_TEST(test_segment_extend_after_a_range_lengthens_it)
{
    map_open(&map, "a4 -4");
    expect_ok(map_extend(&map, 0, 3));
    expect_map(&map, "a4 -7");
}
END_TEST

START_TEST(test_segment_extend_after_a_block_makes_a_range)
{
    map_open(&map, "a4");
    expect_ok(map_extend(&map, 0, 3));
    expect_map(&map, "a4 -3");
}
END_TEST

START_TEST(test_segment_extend_after_a_freelist_range_stays_apart)
{
    map_open(&map, "a4 1:2");
    expect_ok(map_extend(&map, 0, 3));
    expect_map(&map, "a4 1:2 -3");
}
END_TEST

START_TEST(test_segment_extend_until_it_touches_the_next)
{
    map_open(&map, "-4 ~3 b2");
    expect_ok(map_extend(&map, 0, 3));
    expect_map(&map, "-7 b2");
    expect_status(map_extend(&map, 0, 1), CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(test_segment_extend_over_the_next_is_bad)
{
    map_open(&map, "-4 ~3 b2");
    expect_status(map_extend(&map, 0, 4), CUARENA_BAD_ARGUMENT);
    expect_status(map_extend(&map, 0, 100), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-4 ~3 b2");
}
END_TEST

START_TEST(test_segment_extend_where_none_begins_is_bad)
{
    map_open(&map, "-4 ~3 b2");
    expect_status(map_extend(&map, 1, 1), CUARENA_BAD_ARGUMENT);
    expect_status(map_extend(&map, 4, 1), CUARENA_BAD_ARGUMENT);
    expect_status(map_extend(&map, 9, 1), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-4 ~3 b2");
}
END_TEST

static cuarena_status_t extend_bytes(uint64_t bytes)
{
    return cuarena_heap_segment_extend(map.heap, MAP_BASE, bytes);
}

START_TEST(test_segment_extend_by_0_or_misaligned_is_bad)
{
    map_open(&map, "-4");
    expect_status(extend_bytes(0), CUARENA_BAD_ARGUMENT);
    expect_status(extend_bytes(1), CUARENA_BAD_ARGUMENT);
    expect_status(extend_bytes(255), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-4");
}
END_TEST

START_TEST(test_segment_extend_stays_below_2_to_the_48)
{
    map_open(&map, "a4");
    expect_status(extend_bytes(CUARENA_HEAP_MAX_SEGMENT - 1024), CUARENA_BAD_ARGUMENT);
    expect_status(extend_bytes(CUARENA_HEAP_MAX_SEGMENT), CUARENA_BAD_ARGUMENT);
    expect_status(extend_bytes(UINT64_MAX - 255), CUARENA_BAD_ARGUMENT);
    expect_ok(extend_bytes(CUARENA_HEAP_MAX_SEGMENT - 1280));
    expect_map(&map, "a4 -1099511627771");
}
END_TEST

/* ---- Segments: cutting -------------------------------------------------- */

START_TEST(test_segment_cut_whole)
{
    map_open(&map, "a4 ~2 -4 ~2 b4");
    expect_ok(map_cut(&map, 6, 4));
    expect_map(&map, "a4 ~8 b4");
}
END_TEST

START_TEST(test_segment_cut_the_only_one_leaves_an_empty_heap)
{
    map_open(&map, "-4");
    expect_ok(map_cut(&map, 0, 4));
    expect_map(&map, "");
    expect_status(map_alloc(&map, 'a', 1), CUARENA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(test_segment_cut_part_of_the_front)
{
    map_open(&map, "-4 a4");
    expect_ok(map_cut(&map, 0, 3));
    map_add(&map, 100, "b1");
    expect_map(&map, "-1 a4 ~92 b1");
}
END_TEST

START_TEST(test_segment_cut_front_up_to_a_block)
{
    map_open(&map, "z1 ~3 -4 a4");
    expect_ok(map_cut(&map, 4, 4));
    expect_map(&map, "z1 ~7 a4");
}
END_TEST

START_TEST(test_segment_cut_part_of_the_end)
{
    map_open(&map, "a4 -4 ~2 b1");
    expect_ok(map_cut(&map, 5, 3));
    expect_map(&map, "a4 -1 ~5 b1");
}
END_TEST

START_TEST(test_segment_cut_end_up_to_a_block)
{
    map_open(&map, "a4 -4 ~2 b1");
    expect_ok(map_cut(&map, 4, 4));
    expect_map(&map, "a4 ~6 b1");
}
END_TEST

START_TEST(test_segment_cut_middle_leaves_two_segments)
{
    map_open(&map, "a4 -9 b4");
    expect_ok(map_cut(&map, 7, 4));
    expect_map(&map, "a4 -3 ~4 -2 b4");
    expect_ok(map_extend(&map, 11, 1));
    expect_map(&map, "a4 -3 ~4 -2 b4 -1");
}
END_TEST

START_TEST(test_segment_cut_middle_between_two_blocks)
{
    map_open(&map, "a4 -9 b4");
    expect_ok(map_cut(&map, 4, 9));
    expect_map(&map, "a4 ~9 b4");
    expect_ok(map_free(&map, 'b'));
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-4 ~9 -4");
}
END_TEST

START_TEST(test_segment_cut_and_given_back_never_merges)
{
    map_open(&map, "-12");
    expect_ok(map_cut(&map, 4, 4));
    expect_ok(map_segment(&map, 4, 4));
    expect_map(&map, "-4 -4 -4");
    expect_ok(map_join(&map, 4));
    expect_ok(map_join(&map, 8));
    expect_map(&map, "-12");
}
END_TEST

START_TEST(test_segment_cut_into_a_block_is_busy)
{
    map_open(&map, "a4 -9 b4");
    expect_status(map_cut(&map, 3, 2), CUARENA_BUSY);
    expect_status(map_cut(&map, 12, 2), CUARENA_BUSY);
    expect_status(map_cut(&map, 0, 1), CUARENA_BUSY);
    expect_status(map_cut(&map, 0, 17), CUARENA_BUSY);
    expect_map(&map, "a4 -9 b4");
}
END_TEST

START_TEST(test_segment_cut_into_a_freelist_range_is_busy)
{
    map_open(&map, "a4 -3 1:3 -3");
    expect_status(map_cut(&map, 7, 3), CUARENA_BUSY);
    expect_status(map_cut(&map, 6, 2), CUARENA_BUSY);
    expect_status(map_cut(&map, 9, 2), CUARENA_BUSY);
    expect_map(&map, "a4 -3 1:3 -3");
}
END_TEST

START_TEST(test_segment_cut_end_beside_a_freelist_range)
{
    map_open(&map, "a4 1:3 -3");
    expect_ok(map_cut(&map, 7, 3));
    expect_map(&map, "a4 1:3");
    expect_ok(map_free_to(&map, 'a', 1));
    expect_map(&map, "1:7");
}
END_TEST

START_TEST(test_segment_cut_front_beside_a_freelist_range)
{
    map_open(&map, "z1 ~1 -3 1:3 a4");
    expect_ok(map_cut(&map, 2, 3));
    expect_map(&map, "z1 ~4 1:3 a4");
    expect_ok(map_free_to(&map, 'a', 1));
    expect_map(&map, "z1 ~4 1:7");
}
END_TEST

START_TEST(test_segment_cut_middle_between_freelist_ranges)
{
    map_open(&map, "a4 1:3 -3 1:2 b1");
    expect_ok(map_cut(&map, 7, 3));
    expect_map(&map, "a4 1:3 ~3 1:2 b1");
    expect_ok(map_free_to(&map, 'b', 1));
    expect_map(&map, "a4 1:3 ~3 1:3");
}
END_TEST

START_TEST(test_segment_cut_not_within_one_segment_is_bad)
{
    map_open(&map, "-4 | -4 ~4 -4");
    expect_status(map_cut(&map, 0, 5), CUARENA_BAD_ARGUMENT);
    expect_status(map_cut(&map, 2, 6), CUARENA_BAD_ARGUMENT);
    expect_status(map_cut(&map, 8, 1), CUARENA_BAD_ARGUMENT);
    expect_status(map_cut(&map, 7, 6), CUARENA_BAD_ARGUMENT);
    expect_status(map_cut(&map, 99, 1), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-4 -4 ~4 -4");
}
END_TEST

static cuarena_status_t cut_bytes(uint64_t offset, uint64_t bytes)
{
    return cuarena_heap_segment_cut(map.heap, offset, bytes);
}

START_TEST(test_segment_cut_of_0_misaligned_or_overflowing_is_bad)
{
    map_open(&map, "-4");
    expect_status(cut_bytes(MAP_BASE, 0), CUARENA_BAD_ARGUMENT);
    expect_status(cut_bytes(MAP_BASE, 100), CUARENA_BAD_ARGUMENT);
    expect_status(cut_bytes(MAP_BASE + 8, 256), CUARENA_BAD_ARGUMENT);
    expect_status(cut_bytes(MAP_BASE, UINT64_MAX - 255), CUARENA_BAD_ARGUMENT);
    expect_status(cut_bytes(MAP_BASE + 256, 0 - MAP_BASE), CUARENA_BAD_ARGUMENT);
    expect_status(cut_bytes(UINT64_MAX - 255, 256), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-4");
}
END_TEST

/* ---- Segments: joining -------------------------------------------------- */

START_TEST(test_segment_join_merges_ranges)
{
    map_open(&map, "a1 -4 | -4 b1");
    expect_map(&map, "a1 -4 -4 b1");
    expect_ok(map_join(&map, 5));
    expect_map(&map, "a1 -8 b1");
}
END_TEST

START_TEST(test_segment_join_block_to_block_then_free_merges)
{
    map_open(&map, "a2 | b3");
    expect_ok(map_join(&map, 2));
    expect_map(&map, "a2 b3");
    expect_ok(map_free(&map, 'a'));
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "-5");
}
END_TEST

START_TEST(test_segment_join_block_to_range)
{
    map_open(&map, "a2 | -3 ~1 -1 | c2");
    expect_ok(map_join(&map, 2));
    expect_ok(map_join(&map, 7));
    expect_map(&map, "a2 -3 ~1 -1 c2");
    expect_ok(map_resize(&map, 'a', 5));
    expect_map(&map, "a5 ~1 -1 c2");
}
END_TEST

START_TEST(test_segment_join_freelists_stay_apart)
{
    map_open(&map, "1:2 | -3 | 2:4 | 2:1");
    expect_ok(map_join(&map, 2));
    expect_ok(map_join(&map, 5));
    expect_map(&map, "1:2 -3 2:4 2:1");
    expect_ok(map_join(&map, 9));
    expect_map(&map, "1:2 -3 2:5");
}
END_TEST

START_TEST(test_segment_join_where_none_touch_is_bad)
{
    map_open(&map, "-4 | -4 ~4 -4");
    expect_status(map_join(&map, 0), CUARENA_BAD_ARGUMENT);
    expect_status(map_join(&map, 2), CUARENA_BAD_ARGUMENT);
    expect_status(map_join(&map, 8), CUARENA_BAD_ARGUMENT);
    expect_status(map_join(&map, 12), CUARENA_BAD_ARGUMENT);
    expect_status(map_join(&map, 16), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-4 -4 ~4 -4");
}
END_TEST

START_TEST(test_segment_join_to_2_to_the_48_is_bad)
{
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, SEGMENT_GRANULES / 2));
    expect_ok(map_segment(&map, SEGMENT_GRANULES / 2, SEGMENT_GRANULES / 2));
    expect_status(map_join(&map, SEGMENT_GRANULES / 2), CUARENA_BAD_ARGUMENT);
    expect_ok(map_cut(&map, SEGMENT_GRANULES - 1, 1));
    expect_ok(map_join(&map, SEGMENT_GRANULES / 2));
    expect_map(&map, "-1099511627775");
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_adding(Suite *suite)
{
    add_tests(
        suite, "adding",
        TEST_LIST(
            test_segment_add_is_one_idle_range, test_segment_add_below_between_and_above_others,
            test_segment_add_touching_ranges_stay_apart, test_segment_add_overlap_is_bad,
            test_segment_add_misaligned_is_bad, test_segment_add_just_below_2_to_the_48_bytes,
            test_segment_add_ends_at_2_to_the_52_at_most,
            test_segment_add_at_offset_0_serves_a_file, test_segment_add_many_in_descending_order,
            test_segment_calls_with_null_heap_are_bad));
}

static void add_adding_a_block(Suite *suite)
{
    add_tests(suite, "adding a block",
              TEST_LIST(test_segment_add_block_fills_a_segment,
                        test_segment_add_block_freed_is_a_idle_range,
                        test_segment_add_block_request_of_0_or_beyond_is_bad,
                        test_segment_add_block_overlap_is_bad, test_segment_add_block_null_is_bad,
                        test_segment_add_block_at_max_blocks_adds_nothing));
}

static void add_extending(Suite *suite)
{
    add_tests(suite, "extending",
              TEST_LIST(test_segment_extend_after_a_range_lengthens_it,
                        test_segment_extend_after_a_block_makes_a_range,
                        test_segment_extend_after_a_freelist_range_stays_apart,
                        test_segment_extend_until_it_touches_the_next,
                        test_segment_extend_over_the_next_is_bad,
                        test_segment_extend_where_none_begins_is_bad,
                        test_segment_extend_by_0_or_misaligned_is_bad,
                        test_segment_extend_stays_below_2_to_the_48));
}

static void add_cutting(Suite *suite)
{
    add_tests(suite, "cutting",
              TEST_LIST(test_segment_cut_whole, test_segment_cut_the_only_one_leaves_an_empty_heap,
                        test_segment_cut_part_of_the_front, test_segment_cut_front_up_to_a_block,
                        test_segment_cut_part_of_the_end, test_segment_cut_end_up_to_a_block,
                        test_segment_cut_middle_leaves_two_segments,
                        test_segment_cut_middle_between_two_blocks,
                        test_segment_cut_and_given_back_never_merges,
                        test_segment_cut_into_a_block_is_busy,
                        test_segment_cut_into_a_freelist_range_is_busy,
                        test_segment_cut_end_beside_a_freelist_range,
                        test_segment_cut_front_beside_a_freelist_range,
                        test_segment_cut_middle_between_freelist_ranges,
                        test_segment_cut_not_within_one_segment_is_bad,
                        test_segment_cut_of_0_misaligned_or_overflowing_is_bad));
}

static void add_joining(Suite *suite)
{
    add_tests(suite, "joining",
              TEST_LIST(test_segment_join_merges_ranges,
                        test_segment_join_block_to_block_then_free_merges,
                        test_segment_join_block_to_range, test_segment_join_freelists_stay_apart,
                        test_segment_join_where_none_touch_is_bad,
                        test_segment_join_to_2_to_the_48_is_bad));
}

int main(void)
{
    Suite *suite = suite_create("heap segments");
    add_adding(suite);
    add_adding_a_block(suite);
    add_extending(suite);
    add_cutting(suite);
    add_joining(suite);
    return suite_main(suite);
}
