/*
 * Blocks: free, resize in place, exchange. Pictures are explained in support/heap_map.h; each step
 * validates.
 */
#include "support/heap_rig.h"

#include <string.h>

/* ---- Free --------------------------------------------------------------- */

START_TEST(test_free_between_blocks_makes_a_range)
{
    map_open(&map, "a2 b3 c2");
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "a2 -3 c2");
}
END_TEST

START_TEST(test_free_after_a_range_merges)
{
    map_open(&map, "a2 -4 b3 c2");
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "a2 -7 c2");
}
END_TEST

START_TEST(test_free_before_a_range_merges)
{
    map_open(&map, "a2 b3 -4 c2");
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "a2 -7 c2");
}
END_TEST

START_TEST(test_free_between_ranges_merges_three)
{
    map_open(&map, "a2 -5 b3 -4 c2");
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "a2 -12 c2");
}
END_TEST

START_TEST(test_free_at_segment_ends_does_not_merge_across)
{
    map_open(&map, "-1 | a2 | -3");
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-1 -2 -3");
}
END_TEST

START_TEST(test_free_first_and_last_of_a_segment)
{
    map_open(&map, "a2 -1 b3");
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-3 b3");
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "-6");
}
END_TEST

START_TEST(test_free_pins_do_not_keep_a_block_alive)
{
    map_open(&map, "a2!! b1");
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-2 b1");
}
END_TEST

START_TEST(test_free_twice_is_stale)
{
    map_open(&map, "a2 b2");
    expect_ok(map_free(&map, 'a'));
    expect_status(map_free(&map, 'a'), CUARENA_STALE);
    expect_map(&map, "-2 b2");
}
END_TEST

START_TEST(test_free_to_an_unknown_freelist_is_bad)
{
    map_open(&map, "a2 b2");
    cuarena_block_t block = map_id(&map, 'a');
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    expect_status(cuarena_heap_free(map.heap, block, 1), bad);
    expect_status(cuarena_heap_free(map.heap, block, CUARENA_HEAP_MAX_FREELISTS - 1), bad);
    expect_status(cuarena_heap_free(map.heap, block, CUARENA_HEAP_MAX_FREELISTS), bad);
    expect_status(cuarena_heap_free(map.heap, block, UINT32_MAX), bad);
    expect_status(cuarena_heap_free(NULL, block, 0), bad);
    expect_map(&map, "a2 b2");
}
END_TEST

START_TEST(test_free_in_every_order_gives_the_segment_back)
{
    for (unsigned order = 0; order < 24; order++) {
        char tags[5] = "abcd";
        map_open(&map, "a1 b2 c3 d4");
        for (unsigned i = 4, rest = order; i != 0; rest /= i--) {
            unsigned pick = rest % i;
            expect_ok(map_free(&map, tags[pick]));
            memmove(&tags[pick], &tags[pick + 1], 4 - pick);
        }
        expect_map(&map, "-10");
        map_close(&map);
    }
}
END_TEST

/* ---- Resize ------------------------------------------------------------- */

START_TEST(test_resize_grow_takes_from_the_next_range)
{
    map_open(&map, "a2 -5 b1");
    expect_ok(map_resize(&map, 'a', 4));
    expect_map(&map, "a4 -3 b1");
}
END_TEST

START_TEST(test_resize_grow_takes_all_of_the_next_range)
{
    map_open(&map, "a2 -5 b1");
    expect_ok(map_resize(&map, 'a', 7));
    expect_map(&map, "a7 b1");
}
END_TEST

START_TEST(test_resize_grow_one_granule_too_far_is_fragmented)
{
    map_open(&map, "-9 a2 -5 b1 -9");
    expect_status(map_resize(&map, 'a', 8), CUARENA_FRAGMENTED);
    expect_map(&map, "-9 a2 -5 b1 -9");
}
END_TEST

START_TEST(test_resize_grow_into_a_block_is_fragmented)
{
    map_open(&map, "a2 b1 -9");
    expect_status(map_resize(&map, 'a', 3), CUARENA_FRAGMENTED);
    expect_map(&map, "a2 b1 -9");
}
END_TEST

START_TEST(test_resize_grow_over_a_segment_end_is_fragmented)
{
    map_open(&map, "a2 | -9");
    expect_status(map_resize(&map, 'a', 3), CUARENA_FRAGMENTED);
    expect_map(&map, "a2 -9");
}
END_TEST

START_TEST(test_resize_shrink_before_a_block_makes_a_range)
{
    map_open(&map, "a6 b1");
    expect_ok(map_resize(&map, 'a', 2));
    expect_map(&map, "a2 -4 b1");
}
END_TEST

START_TEST(test_resize_shrink_before_a_range_lengthens_it)
{
    map_open(&map, "a6 -3 b1");
    expect_ok(map_resize(&map, 'a', 2));
    expect_map(&map, "a2 -7 b1");
}
END_TEST

START_TEST(test_resize_shrink_at_a_segment_end)
{
    map_open(&map, "a6 | -3");
    expect_ok(map_resize(&map, 'a', 2));
    expect_map(&map, "a2 -4 -3");
}
END_TEST

static cuarena_status_t resize_bytes(char tag, uint64_t bytes)
{
    cuarena_status_t status = cuarena_heap_resize(map.heap, map_id(&map, tag), bytes, 0);
    expect_valid(map.heap);
    return status;
}

START_TEST(test_resize_within_the_granule_changes_requested_only)
{
    cuarena_heap_entry_t entry;
    map_open(&map, "a2 b1");
    expect_ok(resize_bytes('a', 257));
    expect_map(&map, "a2 b1");
    expect_ok(cuarena_heap_block_info(map.heap, map_id(&map, 'a'), &entry));
    expect_u64(entry.requested, 257);
    expect_u64(entry.size, 512);
}
END_TEST

START_TEST(test_resize_to_0_is_bad)
{
    map_open(&map, "a2 b1");
    expect_status(resize_bytes('a', 0), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a2 b1");
}
END_TEST

START_TEST(test_resize_to_huge_sizes_changes_nothing)
{
    static const uint64_t sizes[] = {CUARENA_HEAP_MAX_SEGMENT, UINT64_C(1) << 63, UINT64_MAX - 255,
                                     UINT64_MAX - 254, UINT64_MAX};
    map_open(&map, "a2 -7");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        expect_status(resize_bytes('a', sizes[i]), CUARENA_OUT_OF_MEMORY);
    expect_map(&map, "a2 -7");
}
END_TEST

START_TEST(test_resize_pinned_block_keeps_pins_and_place)
{
    map_open(&map, "a2! -7");
    expect_ok(map_resize(&map, 'a', 5));
    expect_map(&map, "a5! -4");
    expect_ok(map_resize(&map, 'a', 1));
    expect_map(&map, "a1! -8");
}
END_TEST

START_TEST(test_resize_unknown_freelist_is_bad)
{
    map_open(&map, "a2 -7");
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    cuarena_block_t block = map_id(&map, 'a');
    expect_status(cuarena_heap_resize(map.heap, block, 256, 1), bad);
    expect_status(cuarena_heap_resize(map.heap, block, 256, UINT32_MAX), bad);
    expect_status(cuarena_heap_resize(NULL, block, 256, 0), bad);
    expect_map(&map, "a2 -7");
}
END_TEST

/* ---- Exchange ----------------------------------------------------------- */

START_TEST(test_exchange_apart)
{
    map_open(&map, "a2 -1 b4 -2 c3 -3");
    expect_ok(map_exchange(&map, 'a', 'c'));
    expect_map(&map, "c2 -1 b4 -2 a3 -3");
}
END_TEST

START_TEST(test_exchange_neighbours_low_with_high)
{
    map_open(&map, "-1 a2 b4 -3");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "-1 b2 a4 -3");
}
END_TEST

START_TEST(test_exchange_neighbours_high_with_low)
{
    map_open(&map, "-1 a2 b4 -3");
    expect_ok(map_exchange(&map, 'b', 'a'));
    expect_map(&map, "-1 b2 a4 -3");
}
END_TEST

START_TEST(test_exchange_neighbours_with_a_range_between)
{
    map_open(&map, "a2 -3 b4 -1");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "b2 -3 a4 -1");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "a2 -3 b4 -1");
}
END_TEST

START_TEST(test_exchange_with_one_block_between)
{
    map_open(&map, "a2 c1 b4");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "b2 c1 a4");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "a2 c1 b4");
}
END_TEST

START_TEST(test_exchange_across_segments)
{
    map_open(&map, "a2 -1 ~7 b4 | c1");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_ok(map_exchange(&map, 'a', 'c'));
    expect_map(&map, "b2 -1 ~7 c4 a1");
}
END_TEST

START_TEST(test_exchange_keeps_pins_tags_and_flags)
{
    map_open(&map, "a2!! -1 b4 -3");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "b2 -1 a4!! -3");
}
END_TEST

START_TEST(test_exchange_is_seen_by_find_and_free)
{
    cuarena_block_t found;
    map_open(&map, "a2 -1 b4 -3");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_ok(cuarena_heap_find(map.heap, map_at(&map, 3), &found));
    expect_u64(found, map_id(&map, 'a'));
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "b2 -8");
}
END_TEST

START_TEST(test_exchange_makes_a_moving_resize_that_keeps_the_id)
{
    map_open(&map, "a2 b1 -9");
    cuarena_block_t id = map_id(&map, 'a');
    expect_ok(map_alloc(&map, 't', 5));
    expect_ok(map_exchange(&map, 'a', 't'));
    expect_ok(map_free(&map, 't'));
    expect_map(&map, "-2 b1 a5 -4");
    expect_u64(map_id(&map, 'a'), id);
}
END_TEST

START_TEST(test_exchange_counts_stay)
{
    cuarena_heap_stats_t before;
    cuarena_heap_stats_t after;
    map_open(&map, "a2 -1 b4 -3");
    cuarena_heap_stats_init(&before);
    cuarena_heap_stats_init(&after);
    expect_ok(cuarena_heap_stats(map.heap, &before));
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_ok(cuarena_heap_stats(map.heap, &after));
    ck_assert_mem_eq(&before, &after, sizeof(before));
}
END_TEST

START_TEST(test_exchange_with_itself_changes_nothing)
{
    map_open(&map, "a2 -1 b4");
    expect_ok(map_exchange(&map, 'a', 'a'));
    expect_map(&map, "a2 -1 b4");
}
END_TEST

START_TEST(test_exchange_stale_is_stale)
{
    map_open(&map, "a2 b4 c1");
    expect_ok(map_free(&map, 'b'));
    expect_status(map_exchange(&map, 'a', 'b'), CUARENA_STALE);
    expect_status(map_exchange(&map, 'b', 'a'), CUARENA_STALE);
    expect_status(map_exchange(&map, 'b', 'b'), CUARENA_STALE);
    expect_status(cuarena_heap_exchange(NULL, 1, 2), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a2 -4 c1");
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_free(Suite *suite)
{
    add_tests(suite, "free",
              TEST_LIST(test_free_between_blocks_makes_a_range, test_free_after_a_range_merges,
                        test_free_before_a_range_merges, test_free_between_ranges_merges_three,
                        test_free_at_segment_ends_does_not_merge_across,
                        test_free_first_and_last_of_a_segment,
                        test_free_pins_do_not_keep_a_block_alive, test_free_twice_is_stale,
                        test_free_to_an_unknown_freelist_is_bad,
                        test_free_in_every_order_gives_the_segment_back));
}

static void add_resize(Suite *suite)
{
    add_tests(suite, "resize",
              TEST_LIST(test_resize_grow_takes_from_the_next_range,
                        test_resize_grow_takes_all_of_the_next_range,
                        test_resize_grow_one_granule_too_far_is_fragmented,
                        test_resize_grow_into_a_block_is_fragmented,
                        test_resize_grow_over_a_segment_end_is_fragmented,
                        test_resize_shrink_before_a_block_makes_a_range,
                        test_resize_shrink_before_a_range_lengthens_it,
                        test_resize_shrink_at_a_segment_end,
                        test_resize_within_the_granule_changes_requested_only,
                        test_resize_to_0_is_bad, test_resize_to_huge_sizes_changes_nothing,
                        test_resize_pinned_block_keeps_pins_and_place,
                        test_resize_unknown_freelist_is_bad));
}

static void add_exchange(Suite *suite)
{
    add_tests(
        suite, "exchange",
        TEST_LIST(test_exchange_apart, test_exchange_neighbours_low_with_high,
                  test_exchange_neighbours_high_with_low,
                  test_exchange_neighbours_with_a_range_between,
                  test_exchange_with_one_block_between, test_exchange_across_segments,
                  test_exchange_keeps_pins_tags_and_flags, test_exchange_is_seen_by_find_and_free,
                  test_exchange_makes_a_moving_resize_that_keeps_the_id, test_exchange_counts_stay,
                  test_exchange_with_itself_changes_nothing, test_exchange_stale_is_stale));
}

int main(void)
{
    Suite *suite = suite_create("heap resize");
    add_free(suite);
    add_resize(suite);
    add_exchange(suite);
    return suite_main(suite);
}
