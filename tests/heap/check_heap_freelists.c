/*
 * Free lists: ranges of different free lists side by side. Pictures are explained in
 * support/heap_map.h: "2:3" is a range of the second free list, 3 granules long.
 */
#include "support/heap_rig.h"

#include <stdbool.h>
#include <string.h>

/* ---- Life --------------------------------------------------------------- */

START_TEST(test_freelist_create_gives_different_freelists)
{
    map_open(&map, "-8");
    uint32_t first = map_freelist(&map, 1);
    uint32_t second = map_freelist(&map, 2);
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_ne(second, 0);
    ck_assert_uint_ne(first, second);
    expect_map(&map, "-8");
}
END_TEST

/* One number is what a walk shows for held ranges. */
START_TEST(test_freelist_create_up_to_the_most)
{
    uint32_t freelist = 0;
    unsigned count = 1;
    map_open(&map, "-8");
    while (cuarena_heap_freelist_create(map.heap, &freelist) == CUARENA_OK)
        count++;
    expect_between(count, CUARENA_HEAP_MAX_FREELISTS - 1, CUARENA_HEAP_MAX_FREELISTS);
    expect_status(cuarena_heap_freelist_create(map.heap, &freelist), CUARENA_LIMIT);
    expect_valid(map.heap);
    expect_ok(cuarena_heap_freelist_destroy(map.heap, freelist));
    expect_ok(cuarena_heap_freelist_create(map.heap, &freelist));
}
END_TEST

START_TEST(test_freelist_create_null_is_bad)
{
    uint32_t freelist;
    map_open(&map, "-8");
    expect_status(cuarena_heap_freelist_create(NULL, &freelist), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_freelist_create(map.heap, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(test_freelist_destroy_reclaims_what_it_had)
{
    map_open(&map, "-2 1:3 a1 1:4 b1");
    expect_ok(cuarena_heap_freelist_destroy(map.heap, map_freelist(&map, 1)));
    expect_map(&map, "-5 a1 -4 b1");
}
END_TEST

START_TEST(test_freelist_destroyed_cannot_be_used)
{
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    map_open(&map, "a2 1:3");
    uint32_t freelist = map_freelist(&map, 1);
    expect_ok(cuarena_heap_freelist_destroy(map.heap, freelist));
    expect_status(map_free_to(&map, 'a', 1), bad);
    expect_status(map_alloc_in(&map, 'b', 1, 1), bad);
    expect_status(map_resize_in(&map, 'a', 1, 1), bad);
    expect_status(cuarena_heap_freelist_reclaim(map.heap, freelist), bad);
    expect_status(cuarena_heap_freelist_destroy(map.heap, freelist), bad);
    expect_map(&map, "a2 -3");
}
END_TEST

START_TEST(test_freelist_0_stays)
{
    map_open(&map, "a2 -3");
    expect_status(cuarena_heap_freelist_destroy(map.heap, 0), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a2 -3");
}
END_TEST

START_TEST(test_freelist_unknown_is_bad)
{
    static const uint32_t freelists[] = {1, CUARENA_HEAP_MAX_FREELISTS - 1,
                                         CUARENA_HEAP_MAX_FREELISTS, UINT32_MAX};
    map_open(&map, "a2 -3");
    for (size_t i = 0; i < sizeof(freelists) / sizeof(freelists[0]); i++) {
        expect_status(cuarena_heap_freelist_destroy(map.heap, freelists[i]), CUARENA_BAD_ARGUMENT);
        expect_status(cuarena_heap_freelist_reclaim(map.heap, freelists[i]), CUARENA_BAD_ARGUMENT);
    }
    expect_status(cuarena_heap_freelist_reclaim(NULL, 1), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_freelist_destroy(NULL, 1), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- Free --------------------------------------------------------------- */

typedef struct free_case {
    const char *before; /* 'x' is freed to free list 1 */
    const char *after;
} free_case_t;

/* Each side: a block, an idle range, one of free list 1, one of free list 2. */
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

START_TEST(test_free_to_a_freelist_merges_with_that_freelist_only)
{
    map_open(&map, free_cases[_i].before);
    expect_ok(map_free_to(&map, 'x', 1));
    expect_map(&map, free_cases[_i].after);
}
END_TEST

/* The same with the idle free list in the place of free list 1. */
static void swap_freelists(char *text, const char *picture)
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

START_TEST(test_free_to_the_idle_freelist_merges_with_it_only)
{
    char before[64];
    char after[64];
    swap_freelists(before, free_cases[_i].before);
    swap_freelists(after, free_cases[_i].after);
    map_open(&map, before);
    expect_ok(map_free(&map, 'x'));
    expect_map(&map, after);
}
END_TEST

START_TEST(test_free_alternating_freelists_fills_a_segment)
{
    map_open(&map, "a1 b1 c1 d1 e1 f1");
    for (char tag = 'a'; tag <= 'f'; tag++)
        expect_ok(map_free_to(&map, tag, (unsigned)(tag - 'a') % 3));
    expect_map(&map, "-1 1:1 2:1 -1 1:1 2:1");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
    expect_map(&map, "-2 2:1 -2 2:1");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 2)));
    expect_map(&map, "-6");
}
END_TEST

/* ---- Reclaim ------------------------------------------------------------- */

START_TEST(test_reclaim_merges_with_idle_neighbours)
{
    map_open(&map, "-2 1:3 -4 a1 1:2 -1 b1 -5 1:1");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
    expect_map(&map, "-9 a1 -3 b1 -6");
}
END_TEST

START_TEST(test_reclaim_keeps_other_freelists_apart)
{
    map_open(&map, "2:2 1:3 2:4 a1 1:2 2:1");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
    expect_map(&map, "2:2 -3 2:4 a1 -2 2:1");
}
END_TEST

START_TEST(test_reclaim_does_not_merge_across_segments)
{
    map_open(&map, "-2 | 1:3 | -4");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
    expect_map(&map, "-2 -3 -4");
    expect_status(map_alloc(&map, 'a', 5), CUARENA_FRAGMENTED);
}
END_TEST

START_TEST(test_reclaim_an_empty_freelist_changes_nothing)
{
    map_open(&map, "a2 -3");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
    expect_map(&map, "a2 -3");
}
END_TEST

START_TEST(test_reclaim_one_of_many_freelists)
{
    map_open(&map, "1:1 2:1 3:1 4:1 5:1 4:1 3:1 2:1 1:1");
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 4)));
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 5)));
    expect_map(&map, "1:1 2:1 3:1 -3 3:1 2:1 1:1");
}
END_TEST

/* ---- Allocation and resize ---------------------------------------------- */

START_TEST(test_alloc_sees_its_own_freelist_only)
{
    map_open(&map, "-9 1:3 a1 2:5");
    expect_status(map_alloc_in(&map, 'b', 4, 1), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_alloc_in(&map, 'b', 3, 1));
    expect_map(&map, "-9 b3 a1 2:5");
    expect_status(map_alloc_in(&map, 'c', 1, 1), CUARENA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(test_alloc_idle_does_not_see_freelists)
{
    map_open(&map, "-2 1:9 a1 2:9");
    expect_status(map_alloc(&map, 'b', 3), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_alloc(&map, 'b', 2));
    expect_map(&map, "b2 1:9 a1 2:9");
}
END_TEST

START_TEST(test_alloc_in_a_freelist_is_fragmented_by_its_own_ranges)
{
    map_open(&map, "1:2 -4 1:2 a1 1:1");
    expect_status(map_alloc_in(&map, 'b', 5, 1), CUARENA_FRAGMENTED);
    expect_status(map_alloc_in(&map, 'b', 6, 1), CUARENA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(test_alloc_all_of_a_range_between_other_freelists)
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

START_TEST(test_alloc_part_of_a_range_between_other_freelists)
{
    map_open(&map, "-2 1:9 -4");
    expect_ok(map_alloc_in(&map, 'a', 3, 1));
    expect_map(&map, "-2 a3 1:6 -4");
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-5 1:6 -4");
}
END_TEST

START_TEST(test_alloc_aligned_inside_a_freelist_range)
{
    cuarena_heap_request_t request = {.size = 512, .alignment = 2048, .tag = 'a'};
    uint64_t offset;
    map_open(&map, "-2 1:13 -4");
    request.freelist = map_freelist(&map, 1);
    expect_ok(cuarena_heap_alloc(map.heap, &request, &map.ids['a'], &offset));
    expect_map(&map, "-2 1:6 a2@8 1:5 -4");
    expect_ok(map_free_to(&map, 'a', 2));
    expect_map(&map, "-2 1:6 2:2 1:5 -4");
}
END_TEST

START_TEST(test_resize_grows_into_its_own_freelist_only)
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

START_TEST(test_resize_shrinks_into_a_freelist)
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

START_TEST(test_exchange_beside_freelist_ranges)
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
        expect_ok(cuarena_heap_alloc(map.heap, &(cuarena_heap_request_t){.size = 256}, &blocks[i],
                                     &(uint64_t){0}));
    }
    expect_valid(map.heap);
}

/* Every odd block then meets another free list on both sides. */
static void free_to_two_freelists(const cuarena_block_t blocks[MANY])
{
    for (unsigned freelist = 1; freelist <= 2; freelist++) {
        for (unsigned i = freelist - 1; i < MANY; i += 2)
            expect_ok(cuarena_heap_free(map.heap, blocks[i], map_freelist(&map, freelist)));
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

/* What kept free lists apart must not use up the room for max_blocks. */
START_TEST(test_freelists_idle_leave_room_for_max_blocks)
{
    cuarena_block_t blocks[MANY];
    open_many();
    map_freelist(&map, 2);
    for (int round = 0; round < 4; round++) {
        fill(blocks);
        free_to_two_freelists(blocks);
        expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
        expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 2)));
        expect_map(&map, "-1000");
    }
}
END_TEST

START_TEST(test_freelist_create_beside_max_blocks)
{
    cuarena_block_t blocks[MANY];
    open_many();
    fill(blocks);
    map_freelist(&map, 2);
    free_to_two_freelists(blocks);
    map_freelist(&map, 3);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_life(Suite *suite)
{
    add_tests(suite, "life",
              TEST_LIST(test_freelist_create_gives_different_freelists,
                        test_freelist_create_up_to_the_most, test_freelist_create_null_is_bad,
                        test_freelist_destroy_reclaims_what_it_had,
                        test_freelist_destroyed_cannot_be_used, test_freelist_0_stays,
                        test_freelist_unknown_is_bad));
}

static void add_free(Suite *suite)
{
    TCase *tcase =
        add_tests(suite, "free", TEST_LIST(test_free_alternating_freelists_fills_a_segment));
    tcase_add_loop_test(tcase, test_free_to_a_freelist_merges_with_that_freelist_only, 0,
                        FREE_CASES);
    tcase_add_loop_test(tcase, test_free_to_the_idle_freelist_merges_with_it_only, 0, FREE_CASES);
}

static void add_reclaim(Suite *suite)
{
    add_tests(suite, "reclaim",
              TEST_LIST(test_reclaim_merges_with_idle_neighbours,
                        test_reclaim_keeps_other_freelists_apart,
                        test_reclaim_does_not_merge_across_segments,
                        test_reclaim_an_empty_freelist_changes_nothing,
                        test_reclaim_one_of_many_freelists));
}

static void add_blocks(Suite *suite)
{
    add_tests(suite, "blocks",
              TEST_LIST(test_alloc_sees_its_own_freelist_only,
                        test_alloc_idle_does_not_see_freelists,
                        test_alloc_in_a_freelist_is_fragmented_by_its_own_ranges,
                        test_alloc_all_of_a_range_between_other_freelists,
                        test_alloc_part_of_a_range_between_other_freelists,
                        test_alloc_aligned_inside_a_freelist_range,
                        test_resize_grows_into_its_own_freelist_only,
                        test_resize_shrinks_into_a_freelist, test_exchange_beside_freelist_ranges));
}

static void add_bookkeeping(Suite *suite)
{
    add_tests(suite, "bookkeeping",
              TEST_LIST(test_freelists_idle_leave_room_for_max_blocks,
                        test_freelist_create_beside_max_blocks));
}

int main(void)
{
    Suite *suite = suite_create("heap free lists");
    add_life(suite);
    add_free(suite);
    add_reclaim(suite);
    add_blocks(suite);
    add_bookkeeping(suite);
    return suite_main(suite);
}
