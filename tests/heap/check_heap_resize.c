/*
 * Blocks: free, resize in place, exchange. Pictures are explained in support/heap_map.h, steps in
 * support/heap_rows.h.
 */
#include "support/heap_rows.h"

#include <string.h>

/* ---- Free --------------------------------------------------------------- */

static const map_row_t free_rows[] = {
    {"between blocks it makes a range", "a2 b3 c2", "free b = a2 -3 c2"},
    {"after a range it merges", "a2 -4 b3 c2", "free b = a2 -7 c2"},
    {"before a range it merges", "a2 b3 -4 c2", "free b = a2 -7 c2"},
    {"between ranges it merges three", "a2 -5 b3 -4 c2", "free b = a2 -12 c2"},
    {"at segment ends it does not merge across", "-1 | a2 | -3", "free a = -1 -2 -3"},
    {"first and last of a segment", "a2 -1 b3", "free a = -3 b3; free b = -6"},
    {"pins do not keep a block alive", "a2!! b1", "free a = -2 b1"},
    {"twice is stale", "a2 b2", "free a; free a is STALE = -2 b2"},
};

START_TEST(free_to_an_unknown_freelist_is_bad)
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

START_TEST(free_in_every_order_gives_the_segment_back)
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

static const map_row_t resize_rows[] = {
    {"growing takes from the next range", "a2 -5 b1", "resize a 4 = a4 -3 b1"},
    {"growing takes all of the next range", "a2 -5 b1", "resize a 7 = a7 b1"},
    {"growing one granule too far", "-9 a2 -5 b1 -9", "resize a 8 is FRAGMENTED"},
    {"growing into a block", "a2 b1 -9", "resize a 3 is FRAGMENTED"},
    {"growing over a segment end", "a2 | -9", "resize a 3 is FRAGMENTED = a2 -9"},
    {"shrinking before a block makes a range", "a6 b1", "resize a 2 = a2 -4 b1"},
    {"shrinking before a range lengthens it", "a6 -3 b1", "resize a 2 = a2 -7 b1"},
    {"shrinking at a segment end", "a6 | -3", "resize a 2 = a2 -4 -3"},
    {"a pinned block keeps pins and place", "a2! -7", "resize a 5 = a5! -4; resize a 1 = a1! -8"},
    {"to 0 bytes", "a2 b1", "resize a 0 is BAD_ARGUMENT"},
};

static cuarena_status_t resize_bytes(char tag, uint64_t bytes)
{
    cuarena_status_t status = cuarena_heap_resize(map.heap, map_id(&map, tag), bytes, 0);
    expect_valid(map.heap);
    return status;
}

START_TEST(resize_within_the_granule_changes_requested_only)
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

START_TEST(resize_to_huge_sizes_changes_nothing)
{
    static const uint64_t sizes[] = {CUARENA_HEAP_MAX_SEGMENT, UINT64_C(1) << 63, UINT64_MAX - 255,
                                     UINT64_MAX - 254, UINT64_MAX};
    map_open(&map, "a2 -7");
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        expect_status(resize_bytes('a', sizes[i]), CUARENA_OUT_OF_MEMORY);
    expect_map(&map, "a2 -7");
}
END_TEST

START_TEST(resize_unknown_freelist_is_bad)
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

static const map_row_t exchange_rows[] = {
    {"apart", "a2 -1 b4 -2 c3 -3", "exchange a c = c2 -1 b4 -2 a3 -3"},
    {"neighbours, low with high", "-1 a2 b4 -3", "exchange a b = -1 b2 a4 -3"},
    {"neighbours, high with low", "-1 a2 b4 -3", "exchange b a = -1 b2 a4 -3"},
    {"neighbours with a range between", "a2 -3 b4 -1",
     "exchange a b = b2 -3 a4 -1; exchange a b = a2 -3 b4 -1"},
    {"with one block between", "a2 c1 b4", "exchange a b = b2 c1 a4; exchange a b = a2 c1 b4"},
    {"across segments", "a2 -1 ~7 b4 | c1", "exchange a b; exchange a c = b2 -1 ~7 c4 a1"},
    {"pins and tags go with the ids", "a2!! -1 b4 -3", "exchange a b = b2 -1 a4!! -3"},
    {"with itself", "a2 -1 b4", "exchange a a = a2 -1 b4"},
    {"with a stale id", "a2 b4 c1",
     "free b; exchange a b is STALE; exchange b a is STALE; exchange b b is STALE = a2 -4 c1"},
};

START_TEST(exchange_is_seen_by_find_and_free)
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

START_TEST(exchange_makes_a_moving_resize_that_keeps_the_id)
{
    map_open(&map, "a2 b1 -9");
    cuarena_block_t id = map_id(&map, 'a');
    map_run("a moving resize", "alloc t 5; exchange a t; free t = -2 b1 a5 -4");
    expect_u64(map_id(&map, 'a'), id);
}
END_TEST

START_TEST(exchange_counts_stay)
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

START_TEST(exchange_null_is_bad)
{
    expect_status(cuarena_heap_exchange(NULL, 1, 2), CUARENA_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap resize");
    add_map_rows(suite, "free", free_rows);
    add_tests(
        suite, "free",
        TEST_LIST(free_to_an_unknown_freelist_is_bad, free_in_every_order_gives_the_segment_back));
    add_map_rows(suite, "resize", resize_rows);
    add_tests(suite, "resize",
              TEST_LIST(resize_within_the_granule_changes_requested_only,
                        resize_to_huge_sizes_changes_nothing, resize_unknown_freelist_is_bad));
    add_map_rows(suite, "exchange", exchange_rows);
    add_tests(suite, "exchange",
              TEST_LIST(exchange_is_seen_by_find_and_free,
                        exchange_makes_a_moving_resize_that_keeps_the_id, exchange_counts_stay,
                        exchange_null_is_bad));
    return suite_main(suite);
}
