/*
 * Free lists: ranges of different free lists side by side. Pictures are explained in
 * support/heap_map.h: "2:3" is a range of the second free list, 3 granules long; steps are in
 * support/heap_rows.h.
 */
#include "support/heap_rows.h"

#include <stdbool.h>
#include <string.h>

/* ---- Life --------------------------------------------------------------- */

START_TEST(freelist_create_gives_different_freelists)
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
START_TEST(freelist_create_up_to_the_most)
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

START_TEST(freelist_create_null_is_bad)
{
    uint32_t freelist;
    map_open(&map, "-8");
    expect_status(cuarena_heap_freelist_create(NULL, &freelist), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_freelist_create(map.heap, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

static const map_row_t life_rows[] = {
    {"destroy reclaims what it had", "-2 1:3 a1 1:4 b1", "destroy 1 = -5 a1 -4 b1"},
    {"one that was destroyed cannot be used", "a2 1:3",
     "destroy 1 = a2 -3; free a to 1 is BAD_ARGUMENT; alloc b 1 in 1 is BAD_ARGUMENT; "
     "resize a 1 in 1 is BAD_ARGUMENT; reclaim 1 is BAD_ARGUMENT; destroy 1 is BAD_ARGUMENT"},
    {"the idle one stays", "a2 -3", "destroy 0 is BAD_ARGUMENT"},
};

START_TEST(freelist_unknown_is_bad)
{
    static const uint32_t freelists[] = {1, CUARENA_HEAP_MAX_FREELISTS - 1,
                                         CUARENA_HEAP_MAX_FREELISTS, UINT32_MAX};
    map_open(&map, "a2 -3");
    for (size_t i = 0; i < COUNT_OF(freelists); i++) {
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
#define FREE_CASES ((int)COUNT_OF(free_cases))

START_TEST(free_to_a_freelist_merges_with_that_freelist_only)
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

START_TEST(free_to_the_idle_freelist_merges_with_it_only)
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

static const map_row_t free_rows[] = {
    {"alternating free lists fill a segment", "a1 b1 c1 d1 e1 f1",
     "free a; free b to 1; free c to 2; free d; free e to 1; free f to 2 = -1 1:1 2:1 -1 1:1 2:1; "
     "reclaim 1 = -2 2:1 -2 2:1; reclaim 2 = -6"},
};

/* ---- Reclaim ------------------------------------------------------------- */

static const map_row_t reclaim_rows[] = {
    {"it merges with idle neighbours", "-2 1:3 -4 a1 1:2 -1 b1 -5 1:1",
     "reclaim 1 = -9 a1 -3 b1 -6"},
    {"other free lists stay apart", "2:2 1:3 2:4 a1 1:2 2:1", "reclaim 1 = 2:2 -3 2:4 a1 -2 2:1"},
    {"it does not merge across segments", "-2 | 1:3 | -4",
     "reclaim 1 = -2 -3 -4; alloc a 5 is FRAGMENTED"},
    {"an empty one changes nothing", "a2 -3", "reclaim 1 = a2 -3"},
    {"one of many", "1:1 2:1 3:1 4:1 5:1 4:1 3:1 2:1 1:1",
     "reclaim 4; reclaim 5 = 1:1 2:1 3:1 -3 3:1 2:1 1:1"},
};

/* ---- Allocation and resize ---------------------------------------------- */

static const map_row_t block_rows[] = {
    {"a request sees its own free list only", "-9 1:3 a1 2:5",
     "alloc b 4 in 1 is OUT_OF_MEMORY; alloc b 3 in 1 = -9 b3 a1 2:5; "
     "alloc c 1 in 1 is OUT_OF_MEMORY"},
    {"a request of none does not see them", "-2 1:9 a1 2:9",
     "alloc b 3 is OUT_OF_MEMORY; alloc b 2 = b2 1:9 a1 2:9"},
    {"it is fragmented by its own ranges", "1:2 -4 1:2 a1 1:1",
     "alloc b 5 in 1 is FRAGMENTED; alloc b 6 in 1 is OUT_OF_MEMORY"},
    {"all of a range between those of others", "-2 1:3 -4 2:1 1:5 2:2",
     "alloc a 3 in 1; alloc b 5 in 1 = -2 a3 -4 2:1 b5 2:2; free a; free b to 2 = -9 2:8"},
    {"part of a range between those of others", "-2 1:9 -4",
     "alloc a 3 in 1 = -2 a3 1:6 -4; free a = -5 1:6 -4"},
    {"growing into its own free list only", "a2 1:5 -3",
     "resize a 3 is FRAGMENTED; resize a 3 in 2 is FRAGMENTED; resize a 8 in 1 is FRAGMENTED; "
     "resize a 3 in 1 = a3 1:4 -3; resize a 7 in 1 = a7 -3; resize a 10 = a10"},
    {"shrinking into a free list", "a9 -3",
     "resize a 7 in 1 = a7 1:2 -3; resize a 5 in 1 = a5 1:4 -3; "
     "resize a 4 in 2 = a4 2:1 1:4 -3; resize a 1 = a1 -3 2:1 1:4 -3"},
    {"an exchange beside ranges of free lists", "-1 a2 1:3 b4 2:1 -2",
     "exchange a b = -1 b2 1:3 a4 2:1 -2; free b to 1; free a to 2 = -1 1:5 2:5 -2"},
};

START_TEST(alloc_aligned_inside_a_freelist_range)
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
START_TEST(freelists_idle_leave_room_for_max_blocks)
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

START_TEST(freelist_create_beside_max_blocks)
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
    add_map_rows(suite, "life", life_rows);
    add_tests(suite, "life",
              TEST_LIST(freelist_create_gives_different_freelists, freelist_create_up_to_the_most,
                        freelist_create_null_is_bad, freelist_unknown_is_bad));
}

static void add_free(Suite *suite)
{
    TCase *tcase = add_tests(suite, "free", TEST_LIST(NULL));
    tcase_add_loop_test(tcase, free_to_a_freelist_merges_with_that_freelist_only, 0, FREE_CASES);
    tcase_add_loop_test(tcase, free_to_the_idle_freelist_merges_with_it_only, 0, FREE_CASES);
    add_map_rows(suite, "free", free_rows);
}

int main(void)
{
    Suite *suite = suite_create("heap free lists");
    add_life(suite);
    add_free(suite);
    add_map_rows(suite, "reclaim", reclaim_rows);
    add_map_rows(suite, "blocks", block_rows);
    add_tests(suite, "blocks", TEST_LIST(alloc_aligned_inside_a_freelist_range));
    add_tests(
        suite, "bookkeeping",
        TEST_LIST(freelists_idle_leave_room_for_max_blocks, freelist_create_beside_max_blocks));
    return suite_main(suite);
}
