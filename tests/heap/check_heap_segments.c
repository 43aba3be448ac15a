/*
 * Segments: adding, extending, cutting, joining. Pictures are explained in support/heap_map.h,
 * steps in support/heap_rows.h.
 */
#include "support/heap_rows.h"

#define SEGMENT_GRANULES (CUARENA_HEAP_MAX_SEGMENT / MAP_GRANULE)

/* ---- Segments: adding --------------------------------------------------- */

static const map_row_t adding_rows[] = {
    {"one idle range", "", "segment 0 16 = -16"},
    {"below, between and above others", "",
     "segment 40 4; segment 80 5; segment 60 6; segment 0 7 = -7 ~33 -4 ~16 -6 ~14 -5"},
    {"touching ranges stay apart", "",
     "segment 4 4; segment 0 4; segment 8 4 = -4 -4 -4; alloc a 5 is FRAGMENTED"},
};

START_TEST(segment_add_overlap_is_bad)
{
    static const uint64_t overlaps[][2] = {{8, 8},  {9, 1},  {15, 1}, {8, 1},  {7, 2}, {15, 2},
                                           {0, 40}, {7, 10}, {8, 40}, {0, 16}, {0, 9}};
    map_open(&map, "");
    expect_ok(map_segment(&map, 8, 8));
    for (size_t i = 0; i < COUNT_OF(overlaps); i++)
        expect_status(map_segment(&map, overlaps[i][0], overlaps[i][1]), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-8");
}
END_TEST

static void expect_add(uint64_t offset, uint64_t size, cuarena_status_t want)
{
    expect_status(cuarena_heap_segment_add(map.heap, offset, size), want);
    expect_valid(map.heap);
}

START_TEST(segment_add_misaligned_is_bad)
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

START_TEST(segment_add_just_below_2_to_the_48_bytes)
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

START_TEST(segment_add_ends_at_2_to_the_52_at_most)
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

START_TEST(segment_add_at_offset_0_serves_a_file)
{
    map_open(&map, "");
    expect_add(0, 1024, CUARENA_OK);
    expect_ok(map_alloc_aligned(&map, 'a', 4, SEGMENT_GRANULES / 2));
    expect_u64(map_offset(&map, 'a'), 0);
    expect_ok(map_free(&map, 'a'));
}
END_TEST

START_TEST(segment_add_many_in_descending_order)
{
    map_open(&map, "");
    for (uint64_t i = 300; i-- != 0;)
        expect_ok(map_segment(&map, 3 * i, 2));
    expect_u64(map_at(&map, 0) % 256, 0);
    expect_status(map_alloc(&map, 'a', 3), CUARENA_FRAGMENTED);
    expect_ok(map_alloc(&map, 'a', 2));
}
END_TEST

START_TEST(segment_calls_with_null_heap_are_bad)
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

START_TEST(segment_add_block_fills_a_segment)
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

/* A failed call changes nothing, so a plan that was made before may begin after it. */
START_TEST(segment_add_block_above_max_blocks_leaves_plans_good)
{
    cuarena_heap_plan_t *plan = NULL;
    cuarena_heap_plan_options_t options;
    cuarena_heap_config_t config = map_config();
    config.max_blocks = 2;
    cuarena_heap_plan_options_init(&options);
    map_open_with(&map, &config, "a4 -4");
    expect_ok(map_alloc(&map, 'b', 1));
    expect_ok(cuarena_heap_plan_create(map.heap, &options, &plan));
    expect_status(add_block(10, 3, 700), CUARENA_LIMIT);
    expect_map(&map, "a4 b1 -3");
    expect_ok(cuarena_heap_plan_begin(map.heap, plan));
    expect_ok(cuarena_heap_plan_abort(map.heap, plan));
    cuarena_heap_plan_destroy(map.heap, &plan);
}
END_TEST

START_TEST(segment_add_block_freed_is_a_idle_range)
{
    map_open(&map, "a4 -4");
    expect_ok(add_block(8, 3, 768));
    expect_ok(map_free(&map, 'z'));
    expect_map(&map, "a4 -4 -3");
    expect_ok(map_cut(&map, 8, 3));
    expect_map(&map, "a4 -4");
}
END_TEST

START_TEST(segment_add_block_request_of_0_or_beyond_is_bad)
{
    map_open(&map, "a4");
    expect_status(add_block(10, 3, 0), CUARENA_BAD_ARGUMENT);
    expect_status(add_block(10, 3, 769), CUARENA_BAD_ARGUMENT);
    expect_status(add_block(10, 3, UINT64_MAX), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a4");
}
END_TEST

START_TEST(segment_add_block_overlap_is_bad)
{
    map_open(&map, "a4");
    expect_status(add_block(3, 3, 768), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a4");
}
END_TEST

START_TEST(segment_add_block_null_is_bad)
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

START_TEST(segment_add_block_at_max_blocks_adds_nothing)
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

static const map_row_t extending_rows[] = {
    {"after a range it lengthens it", "a4 -4", "extend 0 3 = a4 -7"},
    {"after a block it makes a range", "a4", "extend 0 3 = a4 -3"},
    {"after a free list's range it stays apart", "a4 1:2", "extend 0 3 = a4 1:2 -3"},
    {"until it touches the next", "-4 ~3 b2", "extend 0 3 = -7 b2; extend 0 1 is BAD_ARGUMENT"},
    {"over the next", "-4 ~3 b2", "extend 0 4 is BAD_ARGUMENT; extend 0 100 is BAD_ARGUMENT"},
    {"where none begins", "-4 ~3 b2",
     "extend 1 1 is BAD_ARGUMENT; extend 4 1 is BAD_ARGUMENT; extend 9 1 is BAD_ARGUMENT"},
};

static cuarena_status_t extend_bytes(uint64_t bytes)
{
    return cuarena_heap_segment_extend(map.heap, MAP_BASE, bytes);
}

START_TEST(segment_extend_by_0_or_misaligned_is_bad)
{
    map_open(&map, "-4");
    expect_status(extend_bytes(0), CUARENA_BAD_ARGUMENT);
    expect_status(extend_bytes(1), CUARENA_BAD_ARGUMENT);
    expect_status(extend_bytes(255), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-4");
}
END_TEST

START_TEST(segment_extend_stays_below_2_to_the_48)
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

static const map_row_t cutting_rows[] = {
    {"whole", "a4 ~2 -4 ~2 b4", "cut 6 4 = a4 ~8 b4"},
    {"the only one leaves an empty heap", "-4", "cut 0 4 =; alloc a 1 is OUT_OF_MEMORY"},
    {"part of the front", "-4 a4 ~92 b1", "cut 0 3 = -1 a4 ~92 b1"},
    {"the front up to a block", "z1 ~3 -4 a4", "cut 4 4 = z1 ~7 a4"},
    {"part of the end", "a4 -4 ~2 b1", "cut 5 3 = a4 -1 ~5 b1"},
    {"the end up to a block", "a4 -4 ~2 b1", "cut 4 4 = a4 ~6 b1"},
    {"the middle leaves two segments", "a4 -9 b4",
     "cut 7 4 = a4 -3 ~4 -2 b4; extend 11 1 = a4 -3 ~4 -2 b4 -1"},
    {"the middle between two blocks", "a4 -9 b4", "cut 4 9 = a4 ~9 b4; free b; free a = -4 ~9 -4"},
    {"and given back it never merges", "-12",
     "cut 4 4; segment 4 4 = -4 -4 -4; join 4; join 8 = -12"},
    {"into a block", "a4 -9 b4",
     "cut 3 2 is BUSY; cut 12 2 is BUSY; cut 0 1 is BUSY; cut 0 17 is BUSY"},
    {"into a free list's range", "a4 -3 1:3 -3",
     "cut 7 3 is BUSY; cut 6 2 is BUSY; cut 9 2 is BUSY"},
    {"the end beside a free list's range", "a4 1:3 -3", "cut 7 3 = a4 1:3; free a to 1 = 1:7"},
    {"the front beside a free list's range", "z1 ~1 -3 1:3 a4",
     "cut 2 3 = z1 ~4 1:3 a4; free a to 1 = z1 ~4 1:7"},
    {"the middle between free lists' ranges", "a4 1:3 -3 1:2 b1",
     "cut 7 3 = a4 1:3 ~3 1:2 b1; free b to 1 = a4 1:3 ~3 1:3"},
    {"not within one segment", "-4 | -4 ~4 -4",
     "cut 0 5 is BAD_ARGUMENT; cut 2 6 is BAD_ARGUMENT; cut 8 1 is BAD_ARGUMENT; "
     "cut 7 6 is BAD_ARGUMENT; cut 99 1 is BAD_ARGUMENT = -4 -4 ~4 -4"},
};

static cuarena_status_t cut_bytes(uint64_t offset, uint64_t bytes)
{
    return cuarena_heap_segment_cut(map.heap, offset, bytes);
}

START_TEST(segment_cut_of_0_misaligned_or_overflowing_is_bad)
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

static const map_row_t joining_rows[] = {
    {"ranges merge", "a1 -4 | -4 b1", "join 5 = a1 -8 b1"},
    {"block to block, whose frees then merge", "a2 | b3", "join 2 = a2 b3; free a; free b = -5"},
    {"block to range, and range to block", "a2 | -3 ~1 -1 | c2",
     "join 2; join 7 = a2 -3 ~1 -1 c2; resize a 5 = a5 ~1 -1 c2"},
    {"ranges of different free lists stay apart", "1:2 | -3 | 2:4 | 2:1",
     "join 2; join 5 = 1:2 -3 2:4 2:1; join 9 = 1:2 -3 2:5"},
    {"where none touch", "-4 | -4 ~4 -4",
     "join 0 is BAD_ARGUMENT; join 2 is BAD_ARGUMENT; join 8 is BAD_ARGUMENT; "
     "join 12 is BAD_ARGUMENT; join 16 is BAD_ARGUMENT = -4 -4 ~4 -4"},
};

START_TEST(segment_join_to_2_to_the_48_is_bad)
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
    add_map_rows(suite, "adding", adding_rows);
    add_tests(suite, "adding",
              TEST_LIST(segment_add_overlap_is_bad, segment_add_misaligned_is_bad,
                        segment_add_just_below_2_to_the_48_bytes,
                        segment_add_ends_at_2_to_the_52_at_most,
                        segment_add_at_offset_0_serves_a_file, segment_add_many_in_descending_order,
                        segment_calls_with_null_heap_are_bad));
    add_tests(suite, "adding a block",
              TEST_LIST(segment_add_block_fills_a_segment,
                        segment_add_block_above_max_blocks_leaves_plans_good,
                        segment_add_block_freed_is_a_idle_range,
                        segment_add_block_request_of_0_or_beyond_is_bad,
                        segment_add_block_overlap_is_bad, segment_add_block_null_is_bad,
                        segment_add_block_at_max_blocks_adds_nothing));
}

int main(void)
{
    Suite *suite = suite_create("heap segments");
    add_adding(suite);
    add_map_rows(suite, "extending", extending_rows);
    add_tests(suite, "extending",
              TEST_LIST(segment_extend_by_0_or_misaligned_is_bad,
                        segment_extend_stays_below_2_to_the_48));
    add_map_rows(suite, "cutting", cutting_rows);
    add_tests(suite, "cutting", TEST_LIST(segment_cut_of_0_misaligned_or_overflowing_is_bad));
    add_map_rows(suite, "joining", joining_rows);
    add_tests(suite, "joining", TEST_LIST(segment_join_to_2_to_the_48_is_bad));
    return suite_main(suite);
}
