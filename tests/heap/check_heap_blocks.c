/*
 * Blocks: allocation, max_blocks, splitting, placement. Pictures are explained in
 * support/heap_map.h, steps in support/heap_rows.h.
 */
#include "support/heap_rows.h"

#define SEGMENT_GRANULES (CUARENA_HEAP_MAX_SEGMENT / MAP_GRANULE)

/* ---- Allocation --------------------------------------------------------- */

static const map_row_t allocation_rows[] = {
    {"an exact fit leaves no range", "a1 -4 b1", "alloc c 4 = a1 c4 b1"},
    {"one granule short", "a1 -4 b1", "alloc c 5 is OUT_OF_MEMORY"},
    {"best cuts from the low end", "a1 -4 b1", "alloc c 1 = a1 c1 -3 b1"},
    {"best takes the exact range", "-9 a1 -3 b1 -5 c1 -2",
     "alloc d 3 = -9 a1 d3 b1 -5 c1 -2; alloc e 5 = -9 a1 d3 b1 e5 c1 -2"},
    /* 4 and 5 granules are of one class, of which one range is looked at. */
    {"best goes up a class when the first range is too small", "-6 a1 -5 b1 -4",
     "alloc c 4; free c; alloc d 5 = d5 -1 a1 -5 b1 -4"},
    {"out of memory and fragmented are told apart", "-4 a1 -4 b1 -3",
     "alloc c 12 is OUT_OF_MEMORY; alloc c 11 is FRAGMENTED; alloc c 5 is FRAGMENTED"},
    {"an alignment above the granule leaves a range in front", "a1 -15",
     "alloc b 2 @8 = a1 -7 b2@8 -6"},
    {"an alignment that the range begins with", "a8 -8", "alloc b 2 @8 = a8 b2@8 -6"},
    {"aligned, it fits exactly behind the front", "a1 -9 b1", "alloc c 2 @8 = a1 -7 c2@8 b1"},
    {"aligned, it fits in the smaller range only", "a1 -12 b3 -4 c4",
     "alloc d 4 @16 = a1 -12 b3 d4@16 c4"},
};

static cuarena_status_t alloc_bytes(uint64_t size, uint64_t alignment)
{
    cuarena_heap_request_t request = {.size = size, .alignment = alignment, .tag = 'x'};
    uint64_t offset;
    cuarena_status_t status = cuarena_heap_alloc(map.heap, &request, &map.ids['x'], &offset);
    expect_valid(map.heap);
    return status;
}

START_TEST(alloc_rounds_up_to_the_granule)
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

START_TEST(alloc_size_0_is_bad)
{
    map_open(&map, "-8");
    expect_status(alloc_bytes(0, 0), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-8");
}
END_TEST

START_TEST(alloc_huge_sizes_are_out_of_memory)
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
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        expect_status(alloc_bytes(sizes[i], 0), CUARENA_OUT_OF_MEMORY);
        expect_status(alloc_bytes(sizes[i], 4096), CUARENA_OUT_OF_MEMORY);
    }
    expect_map(&map, "-8");
}
END_TEST

START_TEST(alloc_more_than_any_segment_can_have_is_out_of_memory)
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

START_TEST(alloc_alignment_not_a_power_of_two_is_bad)
{
    map_open(&map, "-8");
    expect_status(alloc_bytes(256, 3), CUARENA_BAD_ARGUMENT);
    expect_status(alloc_bytes(256, 768), CUARENA_BAD_ARGUMENT);
    expect_status(alloc_bytes(256, UINT64_MAX), CUARENA_BAD_ARGUMENT);
    expect_status(alloc_bytes(256, UINT64_C(1) << 63), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-8");
}
END_TEST

START_TEST(alloc_alignment_up_to_the_granule_is_the_granule)
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

START_TEST(alloc_alignment_that_nothing_has_is_fragmented)
{
    map_open(&map, "a1 -7 b1");
    expect_status(map_alloc_aligned(&map, 'c', 1, 8), CUARENA_FRAGMENTED);
    expect_status(alloc_bytes(256, UINT64_C(1) << 47), CUARENA_FRAGMENTED);
    expect_map(&map, "a1 -7 b1");
}
END_TEST

START_TEST(alloc_finds_the_one_aligned_range_among_many)
{
    map_open(&map, "");
    for (uint64_t i = 0; i < 40; i++)
        expect_ok(map_segment(&map, 64 * i + (i == 17 ? 0 : 1), 4));
    expect_ok(map_alloc_aligned(&map, 'a', 4, 64));
    expect_u64(map_offset(&map, 'a'), map_at(&map, 64 * 17));
    expect_status(map_alloc_aligned(&map, 'b', 4, 64), CUARENA_FRAGMENTED);
}
END_TEST

START_TEST(alloc_finds_the_one_large_range_of_a_crowded_class)
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

START_TEST(alloc_keeps_tag_flags_and_pins)
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

START_TEST(alloc_unknown_flags_or_zeros_that_are_not_are_bad)
{
    map_open(&map, "-8");
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .flags = 0x100});
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .low = 2});
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .zero = 1});
    expect_bad_request(&(cuarena_heap_request_t){.size = 256, .owner = 128});
}
END_TEST

START_TEST(alloc_unknown_freelist_is_bad)
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

START_TEST(alloc_null_is_bad)
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

START_TEST(alloc_each_granule_serves_its_own_sizes)
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

static const map_row_t max_blocks_rows[] = {
    {"at the limit", "{max_blocks 3} a1 b1 -8", "alloc c 1; alloc d 1 is LIMIT = a1 b1 c1 -7"},
    {"1 block is had", "{max_blocks 1} -8", "alloc a 8; free a; alloc a 1; alloc b 1 is LIMIT"},
    {"it holds after segments went", "{max_blocks 2}",
     "segment 0 4; segment 5 4; segment 10 4; segment 15 4; cut 0 4; cut 5 4; cut 10 4; "
     "alloc a 1; alloc b 1; alloc c 1 is LIMIT = a1 b1 -2"},
    {"it holds after a free list is idle", "{max_blocks 4} 1:1 -1 1:1 -5",
     "reclaim 1 = -8; alloc a 1; alloc b 1; alloc c 1; alloc d 1; alloc e 1 is LIMIT"},
};

START_TEST(alloc_below_max_blocks_again_after_a_free)
{
    map_open_row("{max_blocks 2} a1 -8");
    for (int i = 0; i < 1000; i++) {
        expect_ok(map_alloc(&map, 'b', 1));
        expect_status(map_alloc(&map, 'c', 1), CUARENA_LIMIT);
        expect_ok(map_free(&map, 'b'));
    }
    expect_map(&map, "a1 -8");
}
END_TEST

START_TEST(alloc_max_blocks_1_in_many_segments)
{
    map_open_row("{max_blocks 1}");
    for (uint64_t i = 0; i < 60; i++)
        expect_ok(map_segment(&map, 2 * i, 1));
    expect_ok(map_alloc(&map, 'a', 1));
    expect_status(map_alloc(&map, 'b', 1), CUARENA_LIMIT);
}
END_TEST

/* ---- Splitting ---------------------------------------------------------- */

static const map_row_t splitting_rows[] = {
    {"0 splits a granule off", "{split 0} -9", "alloc a 8 = a8 -1"},
    {"the most never splits", "{whole} -9", "alloc a 1 = a9; free a = -9"},
    {"a rest of the threshold is split off", "{split 1024} -14", "alloc a 10 = a10 -4"},
    {"a rest below it goes with the block", "{split 1024} -13", "alloc a 10 = a13"},
    {"a rest as large as the request is split off", "{split 1024} -4", "alloc a 2 = a2 -2"},
    {"a rest smaller than the request is not", "{split 1024} -5", "alloc a 3 = a5"},
    {"an aligned block leaves the front", "{whole} a1 -15", "alloc b 2 @8 = a1 -7 b8@8"},
};

START_TEST(split_unsplit_block_counts_what_it_takes)
{
    cuarena_heap_stats_t stats;
    map_open_row("{whole} -9");
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

static const map_row_t placement_rows[] = {
    {"small ones from the top", "{default} -1048576",
     "alloc a 1 = -1048575 a1; alloc b 1000 = -1047575 b1000 a1"},
    {"middle ones from the bottom", "{default} -1048576",
     "alloc a 65536 = a65536 -983040; alloc b 16384 = a65536 b16384 -966656"},
    {"giants from the top", "{default} -1048576", "alloc a 262144 = -786432 a262144"},
    {"aligned ones from the top", "{default} -1048575", "alloc a 1 @16 = -1048560 a1@16 -14"},
    {"a cramped class from the bottom, others from the top", "{default} -1048576",
     "alloc a 64 = -1048512 a64; resize a 65 is FRAGMENTED; alloc b 64 = b64 -1048448 a64; "
     "resize b 524288; alloc c 32; alloc d 128 = b524288 -524064 d128 c32 a64"},
    {"low is from the bottom for all", "{low} -1048576",
     "alloc a 1; alloc b 524288; alloc c 1 = a1 b524288 c1 -524286"},
    {"low takes the lowest part, not the best fit", "{low} -9 z1000 -3 y1",
     "alloc a 3 = a3 -6 z1000 -3 y1"},
};

START_TEST(placement_low_request_is_from_the_bottom)
{
    cuarena_heap_request_t request = {.size = 256, .tag = 'a', .low = 1};
    uint64_t offset;
    open_placed(CUARENA_PLACEMENT_DEFAULT, "-1048576");
    expect_ok(cuarena_heap_alloc(map.heap, &request, &map.ids['a'], &offset));
    expect_u64(offset, MAP_BASE);
}
END_TEST

START_TEST(placement_each_serves_until_nothing_is_left)
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
    add_map_rows(suite, "allocation", allocation_rows);
    add_tests(
        suite, "allocation",
        TEST_LIST(
            alloc_rounds_up_to_the_granule, alloc_size_0_is_bad, alloc_huge_sizes_are_out_of_memory,
            alloc_more_than_any_segment_can_have_is_out_of_memory,
            alloc_alignment_not_a_power_of_two_is_bad,
            alloc_alignment_up_to_the_granule_is_the_granule,
            alloc_alignment_that_nothing_has_is_fragmented,
            alloc_finds_the_one_aligned_range_among_many,
            alloc_finds_the_one_large_range_of_a_crowded_class, alloc_keeps_tag_flags_and_pins,
            alloc_unknown_flags_or_zeros_that_are_not_are_bad, alloc_unknown_freelist_is_bad,
            alloc_null_is_bad, alloc_each_granule_serves_its_own_sizes));
}

int main(void)
{
    Suite *suite = suite_create("heap blocks");
    add_allocation(suite);
    add_map_rows(suite, "max_blocks", max_blocks_rows);
    add_tests(
        suite, "max_blocks",
        TEST_LIST(alloc_below_max_blocks_again_after_a_free, alloc_max_blocks_1_in_many_segments));
    add_map_rows(suite, "splitting", splitting_rows);
    add_tests(suite, "splitting", TEST_LIST(split_unsplit_block_counts_what_it_takes));
    add_map_rows(suite, "placement", placement_rows);
    add_tests(suite, "placement",
              TEST_LIST(placement_low_request_is_from_the_bottom,
                        placement_each_serves_until_nothing_is_left));
    return suite_main(suite);
}
