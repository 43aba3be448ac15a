/*
 * Lanes: ranges of different lanes side by side. Pictures are explained in
 * support/heap_map.h: "2:3" is a range of the second lane, 3 granules long.
 */
#include "support/heap_map.h"

#include <stdbool.h>
#include <string.h>

static map_t map;

static void close_map(void)
{
    map_close(&map);
}

/* ---- Life --------------------------------------------------------------- */

START_TEST(test_lane_create_gives_different_lanes)
{
    map_open(&map, "-8");
    uint32_t first = map_lane(&map, 1);
    uint32_t second = map_lane(&map, 2);
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_ne(second, 0);
    ck_assert_uint_ne(first, second);
    expect_map(&map, "-8");
}
END_TEST

/* One number is what a walk shows for held ranges. */
START_TEST(test_lane_create_up_to_the_most)
{
    uint32_t lane = 0;
    unsigned count = 1;
    map_open(&map, "-8");
    while (cuarena_heap_lane_create(map.heap, &lane) == CUARENA_OK)
        count++;
    expect_between(count, CUARENA_HEAP_MAX_LANES - 1, CUARENA_HEAP_MAX_LANES);
    expect_status(cuarena_heap_lane_create(map.heap, &lane), CUARENA_LIMIT);
    expect_valid(map.heap);
    expect_ok(cuarena_heap_lane_destroy(map.heap, lane));
    expect_ok(cuarena_heap_lane_create(map.heap, &lane));
}
END_TEST

START_TEST(test_lane_create_null_is_bad)
{
    uint32_t lane;
    map_open(&map, "-8");
    expect_status(cuarena_heap_lane_create(NULL, &lane), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_lane_create(map.heap, NULL),
                  CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(test_lane_destroy_settles_what_it_had)
{
    map_open(&map, "-2 1:3 a1 1:4 b1");
    expect_ok(cuarena_heap_lane_destroy(map.heap, map_lane(&map, 1)));
    expect_map(&map, "-5 a1 -4 b1");
}
END_TEST

START_TEST(test_lane_destroyed_cannot_be_used)
{
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    map_open(&map, "a2 1:3");
    uint32_t lane = map_lane(&map, 1);
    expect_ok(cuarena_heap_lane_destroy(map.heap, lane));
    expect_status(map_free_to(&map, 'a', 1), bad);
    expect_status(map_alloc_in(&map, 'b', 1, 1), bad);
    expect_status(map_resize_in(&map, 'a', 1, 1), bad);
    expect_status(cuarena_heap_lane_settle(map.heap, lane), bad);
    expect_status(cuarena_heap_lane_destroy(map.heap, lane), bad);
    expect_map(&map, "a2 -3");
}
END_TEST

START_TEST(test_lane_0_stays)
{
    map_open(&map, "a2 -3");
    expect_status(cuarena_heap_lane_destroy(map.heap, 0), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a2 -3");
}
END_TEST

START_TEST(test_lane_unknown_is_bad)
{
    static const uint32_t lanes[] = {1, CUARENA_HEAP_MAX_LANES - 1,
                                     CUARENA_HEAP_MAX_LANES, UINT32_MAX};
    map_open(&map, "a2 -3");
    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
        expect_status(cuarena_heap_lane_destroy(map.heap, lanes[i]),
                      CUARENA_BAD_ARGUMENT);
        expect_status(cuarena_heap_lane_settle(map.heap, lanes[i]),
                      CUARENA_BAD_ARGUMENT);
    }
    expect_status(cuarena_heap_lane_settle(NULL, 1), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_lane_destroy(NULL, 1), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- Free --------------------------------------------------------------- */

typedef struct free_case {
    const char *before; /* 'x' is freed to lane 1 */
    const char *after;
} free_case_t;

/* Each side: a block, a settled range, one of lane 1, one of lane 2. */
static const free_case_t free_cases[] = {
    {"a1 x2 b1", "a1 1:2 b1"},
    {"a1 x2 -3 b1", "a1 1:2 -3 b1"},
    {"a1 x2 1:3 b1", "a1 1:5 b1"},
    {"a1 x2 2:3 b1", "a1 1:2 2:3 b1"},
    {"a1 -4 x2 b1", "a1 -4 1:2 b1"},
    {"a1 -4 x2 -3 b1", "a1 -4 1:2 -3 b1"},
    {"a1 -4 x2 1:3 b1", "a1 -4 1:5 b1"},
    {"a1 -4 x2 2:3 b1", "a1 -4 1:2 2:3 b1"},
    {"a1 1:4 x2 b1", "a1 1:6 b1"},
    {"a1 1:4 x2 -3 b1", "a1 1:6 -3 b1"},
    {"a1 1:4 x2 1:3 b1", "a1 1:9 b1"},
    {"a1 1:4 x2 2:3 b1", "a1 1:6 2:3 b1"},
    {"a1 2:4 x2 b1", "a1 2:4 1:2 b1"},
    {"a1 2:4 x2 -3 b1", "a1 2:4 1:2 -3 b1"},
    {"a1 2:4 x2 1:3 b1", "a1 2:4 1:5 b1"},
    {"a1 2:4 x2 2:3 b1", "a1 2:4 1:2 2:3 b1"},
    {"x2", "1:2"},
    {"1:1 | x2 | 1:3", "1:1 1:2 1:3"},
    {"2:1 -1 x2 -1 2:1", "2:1 -1 1:2 -1 2:1"},
    {"1:1 2:1 x2 2:1 1:1", "1:1 2:1 1:2 2:1 1:1"},
};
#define FREE_CASES ((int)(sizeof(free_cases) / sizeof(free_cases[0])))

START_TEST(test_free_to_a_lane_merges_with_that_lane_only)
{
    map_open(&map, free_cases[_i].before);
    expect_ok(map_free_to(&map, 'x', 1));
    expect_map(&map, free_cases[_i].after);
}
END_TEST

/* The same with the settled lane in the place of lane 1. */
static void swap_lanes(char *text, const char *picture)
{
    strcpy(text, picture);
    for (char *at = text; *at != '\0'; at++) {
        bool first = at == text || at[-1] == ' ';
        if (first && *at == '-') {
            memmove(at + 1, at, strlen(at) + 1);
            memcpy(at++, "3:", 2);
        } else if (first && *at == '1' && at[1] == ':') {
            memmove(at, at + 1, strlen(at));
            *at = '-';
        }
    }
}

START_TEST(test_free_to_the_settled_lane_merges_with_it_only)
{
    char before[64];
    char after[64];
    swap_lanes(before, free_cases[_i].before);
    swap_lanes(after, free_cases[_i].after);
    map_open(&map, before);
    expect_ok(map_free(&map, 'x'));
    expect_map(&map, after);
}
END_TEST

START_TEST(test_free_alternating_lanes_fills_a_segment)
{
    map_open(&map, "a1 b1 c1 d1 e1 f1");
    for (char tag = 'a'; tag <= 'f'; tag++)
        expect_ok(map_free_to(&map, tag, (unsigned)(tag - 'a') % 3));
    expect_map(&map, "-1 1:1 2:1 -1 1:1 2:1");
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 1)));
    expect_map(&map, "-2 2:1 -2 2:1");
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 2)));
    expect_map(&map, "-6");
}
END_TEST

/* ---- Settle ------------------------------------------------------------- */

START_TEST(test_settle_merges_with_settled_neighbours)
{
    map_open(&map, "-2 1:3 -4 a1 1:2 -1 b1 -5 1:1");
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 1)));
    expect_map(&map, "-9 a1 -3 b1 -6");
}
END_TEST

START_TEST(test_settle_keeps_other_lanes_apart)
{
    map_open(&map, "2:2 1:3 2:4 a1 1:2 2:1");
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 1)));
    expect_map(&map, "2:2 -3 2:4 a1 -2 2:1");
}
END_TEST

START_TEST(test_settle_does_not_merge_across_segments)
{
    map_open(&map, "-2 | 1:3 | -4");
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 1)));
    expect_map(&map, "-2 -3 -4");
    expect_status(map_alloc(&map, 'a', 5), CUARENA_FRAGMENTED);
}
END_TEST

START_TEST(test_settle_an_empty_lane_changes_nothing)
{
    map_open(&map, "a2 -3");
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 1)));
    expect_map(&map, "a2 -3");
}
END_TEST

START_TEST(test_settle_one_of_many_lanes)
{
    map_open(&map, "1:1 2:1 3:1 4:1 5:1 4:1 3:1 2:1 1:1");
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 4)));
    expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 5)));
    expect_map(&map, "1:1 2:1 3:1 -3 3:1 2:1 1:1");
}
END_TEST

/* ---- Allocation and resize ---------------------------------------------- */

START_TEST(test_alloc_sees_its_own_lane_only)
{
    map_open(&map, "-9 1:3 a1 2:5");
    expect_status(map_alloc_in(&map, 'b', 4, 1), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_alloc_in(&map, 'b', 3, 1));
    expect_map(&map, "-9 b3 a1 2:5");
    expect_status(map_alloc_in(&map, 'c', 1, 1), CUARENA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(test_alloc_settled_does_not_see_lanes)
{
    map_open(&map, "-2 1:9 a1 2:9");
    expect_status(map_alloc(&map, 'b', 3), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_alloc(&map, 'b', 2));
    expect_map(&map, "b2 1:9 a1 2:9");
}
END_TEST

START_TEST(test_alloc_in_a_lane_is_fragmented_by_its_own_ranges)
{
    map_open(&map, "1:2 -4 1:2 a1 1:1");
    expect_status(map_alloc_in(&map, 'b', 5, 1), CUARENA_FRAGMENTED);
    expect_status(map_alloc_in(&map, 'b', 6, 1), CUARENA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(test_alloc_all_of_a_range_between_other_lanes)
{
    map_open(&map, "-2 1:3 -4 2:1 1:5 2:2");
    expect_ok(map_alloc_in(&map, 'a', 3, 1));
    expect_ok(map_alloc_in(&map, 'b', 5, 1));
    expect_map(&map, "-2 a3 -4 2:1 b5 2:2");
    expect_ok(map_free(&map, 'a'));
    expect_ok(map_free_to(&map, 'b', 2));
    expect_map(&map, "-9 2:8");
}
END_TEST

START_TEST(test_alloc_part_of_a_range_between_other_lanes)
{
    map_open(&map, "-2 1:9 -4");
    expect_ok(map_alloc_in(&map, 'a', 3, 1));
    expect_map(&map, "-2 a3 1:6 -4");
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-5 1:6 -4");
}
END_TEST

START_TEST(test_alloc_aligned_inside_a_lane_range)
{
    cuarena_heap_request_t request = {
        .size = 512, .alignment = 2048, .tag = 'a'};
    uint64_t offset;
    map_open(&map, "-2 1:13 -4");
    request.lane = map_lane(&map, 1);
    expect_ok(cuarena_heap_alloc(map.heap, &request, &map.ids['a'], &offset));
    expect_map(&map, "-2 1:6 a2@8 1:5 -4");
    expect_ok(map_free_to(&map, 'a', 2));
    expect_map(&map, "-2 1:6 2:2 1:5 -4");
}
END_TEST

START_TEST(test_resize_grows_into_its_own_lane_only)
{
    map_open(&map, "a2 1:5 -3");
    expect_status(map_resize(&map, 'a', 3), CUARENA_FRAGMENTED);
    expect_status(map_resize_in(&map, 'a', 3, 2), CUARENA_FRAGMENTED);
    expect_status(map_resize_in(&map, 'a', 8, 1), CUARENA_FRAGMENTED);
    expect_ok(map_resize_in(&map, 'a', 3, 1));
    expect_map(&map, "a3 1:4 -3");
    expect_ok(map_resize_in(&map, 'a', 7, 1));
    expect_map(&map, "a7 -3");
    expect_ok(map_resize(&map, 'a', 10));
    expect_map(&map, "a10");
}
END_TEST

START_TEST(test_resize_shrinks_into_a_lane)
{
    map_open(&map, "a9 -3");
    expect_ok(map_resize_in(&map, 'a', 7, 1));
    expect_map(&map, "a7 1:2 -3");
    expect_ok(map_resize_in(&map, 'a', 5, 1));
    expect_map(&map, "a5 1:4 -3");
    expect_ok(map_resize_in(&map, 'a', 4, 2));
    expect_map(&map, "a4 2:1 1:4 -3");
    expect_ok(map_resize(&map, 'a', 1));
    expect_map(&map, "a1 -3 2:1 1:4 -3");
}
END_TEST

START_TEST(test_exchange_beside_lane_ranges)
{
    map_open(&map, "-1 a2 1:3 b4 2:1 -2");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "-1 b2 1:3 a4 2:1 -2");
    expect_ok(map_free_to(&map, 'b', 1));
    expect_ok(map_free_to(&map, 'a', 2));
    expect_map(&map, "-1 1:5 2:5 -2");
}
END_TEST

/* ---- Bookkeeping -------------------------------------------------------- */

#define MANY 1000

static void fill(cuarena_block_t blocks[MANY])
{
    for (int i = 0; i < MANY; i++) {
        expect_ok(cuarena_heap_alloc(map.heap,
                                     &(cuarena_heap_request_t){.size = 256},
                                     &blocks[i], &(uint64_t){0}));
    }
    expect_valid(map.heap);
}

/* Every odd block then meets another lane on both sides. */
static void free_to_two_lanes(const cuarena_block_t blocks[MANY])
{
    for (unsigned lane = 1; lane <= 2; lane++) {
        for (unsigned i = lane - 1; i < MANY; i += 2)
            expect_ok(
                cuarena_heap_free(map.heap, blocks[i], map_lane(&map, lane)));
    }
    expect_valid(map.heap);
}

static void open_many(void)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = MANY;
    map_open_with(&map, &config, "");
    expect_ok(map_segment(&map, 0, MANY));
}

/* What kept lanes apart must not use up the room for max_blocks. */
START_TEST(test_lanes_settled_leave_room_for_max_blocks)
{
    cuarena_block_t blocks[MANY];
    open_many();
    map_lane(&map, 2);
    for (int round = 0; round < 4; round++) {
        fill(blocks);
        free_to_two_lanes(blocks);
        expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 1)));
        expect_ok(cuarena_heap_lane_settle(map.heap, map_lane(&map, 2)));
        expect_map(&map, "-1000");
    }
}
END_TEST

START_TEST(test_lane_create_beside_max_blocks)
{
    cuarena_block_t blocks[MANY];
    open_many();
    fill(blocks);
    map_lane(&map, 2);
    free_to_two_lanes(blocks);
    map_lane(&map, 3);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static TCase *add(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = suite_add_list(suite, name, tests);
    tcase_add_checked_fixture(tcase, NULL, close_map);
    return tcase;
}

static void add_life(Suite *suite)
{
    add(suite, "life",
        TEST_LIST(test_lane_create_gives_different_lanes,
                  test_lane_create_up_to_the_most, test_lane_create_null_is_bad,
                  test_lane_destroy_settles_what_it_had,
                  test_lane_destroyed_cannot_be_used, test_lane_0_stays,
                  test_lane_unknown_is_bad));
}

static void add_free(Suite *suite)
{
    TCase *tcase = add(suite, "free",
                       TEST_LIST(test_free_alternating_lanes_fills_a_segment));
    tcase_add_loop_test(tcase, test_free_to_a_lane_merges_with_that_lane_only,
                        0, FREE_CASES);
    tcase_add_loop_test(tcase,
                        test_free_to_the_settled_lane_merges_with_it_only, 0,
                        FREE_CASES);
}

static void add_settle(Suite *suite)
{
    add(suite, "settle",
        TEST_LIST(test_settle_merges_with_settled_neighbours,
                  test_settle_keeps_other_lanes_apart,
                  test_settle_does_not_merge_across_segments,
                  test_settle_an_empty_lane_changes_nothing,
                  test_settle_one_of_many_lanes));
}

static void add_blocks(Suite *suite)
{
    add(suite, "blocks",
        TEST_LIST(test_alloc_sees_its_own_lane_only,
                  test_alloc_settled_does_not_see_lanes,
                  test_alloc_in_a_lane_is_fragmented_by_its_own_ranges,
                  test_alloc_all_of_a_range_between_other_lanes,
                  test_alloc_part_of_a_range_between_other_lanes,
                  test_alloc_aligned_inside_a_lane_range,
                  test_resize_grows_into_its_own_lane_only,
                  test_resize_shrinks_into_a_lane,
                  test_exchange_beside_lane_ranges));
}

static void add_bookkeeping(Suite *suite)
{
    add(suite, "bookkeeping",
        TEST_LIST(test_lanes_settled_leave_room_for_max_blocks,
                  test_lane_create_beside_max_blocks));
}

int main(void)
{
    Suite *suite = suite_create("heap lanes");
    add_life(suite);
    add_free(suite);
    add_settle(suite);
    add_blocks(suite);
    add_bookkeeping(suite);
    return suite_main(suite);
}
