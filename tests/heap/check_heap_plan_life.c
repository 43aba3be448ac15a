/*
 * The life of a compaction plan: under way, commit, abort. Pictures are explained in
 * support/heap_map.h; "^" marks what a plan under way holds.
 */
#include "support/heap_rig.h"

#include <string.h>

/* ---- Under way ---------------------------------------------------------- */

static void open_begun(const char *picture)
{
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, picture);
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_valid(map.heap);
}

START_TEST(test_begin_shows_what_it_holds)
{
    open_begun("-2 a3 -1 b4 c1 -5 p2! -3 d1!");
    expect_map(&map, "-2^ a3^ -1^ b4^ c1^ -5^ p2! -3 d1!");
}
END_TEST

START_TEST(test_begin_holds_blocks)
{
    open_begun("-2 a3 -1 b4 -5");
    expect_status(map_free(&map, 'a'), CUARENA_BUSY);
    expect_status(map_pin(&map, 'b'), CUARENA_BUSY);
    expect_status(map_resize(&map, 'a', 1), CUARENA_BUSY);
    expect_status(map_resize(&map, 'b', 5), CUARENA_BUSY);
    expect_status(map_exchange(&map, 'a', 'b'), CUARENA_BUSY);
    expect_map(&map, "-2^ a3^ -1^ b4^ -5^");
}
END_TEST

START_TEST(test_begin_holds_ranges)
{
    open_begun("-2 a3 -1 b4 -5");
    expect_status(map_alloc(&map, 'x', 1), CUARENA_OUT_OF_MEMORY);
    expect_status(map_cut(&map, 10, 5), CUARENA_BUSY);
    expect_map(&map, "-2^ a3^ -1^ b4^ -5^");
}
END_TEST

START_TEST(test_begin_leaves_the_rest_to_work)
{
    open_begun("-2 a3 p1! q3! -4 r1!");
    expect_map(&map, "-2^ a3^ p1! q3! -4 r1!");
    expect_ok(map_alloc(&map, 'x', 1));
    expect_ok(map_free(&map, 'p'));
    expect_ok(map_resize(&map, 'q', 2));
    expect_ok(map_free(&map, 'r'));
    expect_map(&map, "-2^ a3^ -1 q2! -1 x1 -4");
    expect_ok(commit_to(0));
    expect_map(&map, "a3 -3 q2! -1 x1 -4");
}
END_TEST

START_TEST(test_begin_neighbours_freed_meanwhile_do_not_merge)
{
    open_begun("p1! -2 a3 -1 q1! -4");
    expect_map(&map, "p1! -2^ a3^ -1^ q1! -4");
    expect_ok(map_free(&map, 'p'));
    expect_ok(map_free(&map, 'q'));
    expect_map(&map, "-1 -2^ a3^ -1^ -5");
    expect_ok(commit_to(0));
    expect_map(&map, "-1 a3 -8");
}
END_TEST

START_TEST(test_begin_neighbours_freed_to_a_freelist_meanwhile)
{
    open_begun("p1! -2 a3 q1!");
    expect_ok(map_free_to(&map, 'p', 1));
    expect_ok(map_free_to(&map, 'q', 1));
    expect_map(&map, "1:1 -2^ a3^ 1:1");
    expect_ok(commit_to(0));
    expect_map(&map, "1:1 a3 -2 1:1");
}
END_TEST

START_TEST(test_begin_twice_is_bad)
{
    open_begun("-2 a3 -1");
    expect_status(begin_plan(), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-2^ a3^ -1^");
}
END_TEST

START_TEST(test_begin_of_a_second_plan_is_busy)
{
    cuarena_heap_plan_t *other = NULL;
    cuarena_heap_plan_options_t options = all_the_way();
    open_begun("-2 a3 -1");
    expect_ok(cuarena_heap_plan_create(map.heap, &options, &other));
    expect_status(cuarena_heap_plan_begin(map.heap, other), CUARENA_BUSY);
    cuarena_heap_plan_destroy(map.heap, &other);
    expect_map(&map, "-2^ a3^ -1^");
}
END_TEST

START_TEST(test_plan_made_under_way_leaves_out_what_is_held)
{
    size_t count;
    cuarena_heap_plan_t *other = NULL;
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-2 a3 p1! -1 b2 -1");
    options.max_moves = 1;
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    options.max_moves = UINT64_MAX;
    expect_ok(cuarena_heap_plan_create(map.heap, &options, &other));
    expect_u64(cuarena_heap_plan_moves(other, &count)->block, map_id(&map, 'b'));
    expect_u64(count, 1);
    cuarena_heap_plan_destroy(map.heap, &other);
}
END_TEST

/* What is done between create and begin. */
static void free_c(void)
{
    expect_ok(map_free(&map, 'c'));
}

static void alloc_x(void)
{
    expect_ok(map_alloc(&map, 'x', 1));
}

static void alloc_and_free(void)
{
    expect_ok(map_alloc(&map, 'x', 1));
    expect_ok(map_free(&map, 'x'));
}

static void pin_c(void)
{
    expect_ok(map_pin(&map, 'c'));
}

static void unpin_p(void)
{
    expect_ok(map_unpin(&map, 'p'));
}

static void resize_c(void)
{
    expect_ok(map_resize(&map, 'c', 1));
}

static void exchange_a_c(void)
{
    expect_ok(map_exchange(&map, 'a', 'c'));
}

static void add_segment(void)
{
    expect_ok(map_segment(&map, 100, 1));
}

static void extend_segment(void)
{
    expect_ok(map_extend(&map, 0, 1));
}

static void cut_segment(void)
{
    expect_ok(map_cut(&map, 0, 1));
}

static void reclaim_freelist(void)
{
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
}

static void destroy_freelist(void)
{
    expect_ok(cuarena_heap_freelist_destroy(map.heap, map_freelist(&map, 1)));
}

static void (*const changes[])(void) = {
    free_c,       alloc_x,     alloc_and_free, pin_c,       unpin_p,          resize_c,
    exchange_a_c, add_segment, extend_segment, cut_segment, reclaim_freelist, destroy_freelist};
#define CHANGES ((int)(sizeof(changes) / sizeof(changes[0])))

START_TEST(test_begin_after_a_change_is_busy)
{
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-2 a3 -1 c4 1:1 -1 p1!");
    expect_ok(make_plan(&options));
    changes[_i]();
    expect_status(begin_plan(), CUARENA_BUSY);
    expect_status(commit_to(0), CUARENA_BAD_ARGUMENT);
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_ok(commit_to(0));
    expect_valid(map.heap);
}
END_TEST

START_TEST(test_begin_after_looking_is_fine)
{
    cuarena_block_t block;
    uint64_t bytes;
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-2 a3 -1 b4");
    expect_ok(make_plan(&options));
    expect_map(&map, "-2 a3 -1 b4");
    expect_ok(cuarena_heap_find(map.heap, map_at(&map, 2), &block));
    expect_ok(cuarena_heap_largest(map.heap, 0, &bytes));
    cuarena_heap_reset_peaks(map.heap);
    expect_status(map_alloc(&map, 'x', 9), CUARENA_OUT_OF_MEMORY);
    expect_ok(begin_plan());
}
END_TEST

/* ---- Commit ------------------------------------------------------------- */

START_TEST(test_commit_is_seen_by_info_find_and_free)
{
    cuarena_block_t block;
    open_begun("-2 a3 -1 b4");
    expect_ok(commit_to(0));
    expect_u64(map_offset(&map, 'b'), map_at(&map, 3));
    expect_ok(cuarena_heap_find(map.heap, map_at(&map, 3), &block));
    expect_u64(block, map_id(&map, 'b'));
    expect_status(cuarena_heap_find(map.heap, map_at(&map, 6), &block), CUARENA_STALE);
    expect_ok(map_free(&map, 'b'));
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-10");
}
END_TEST

START_TEST(test_commit_to_a_freelist_gives_it_what_was_held)
{
    open_begun("-2 a3 -1 b4 -5 p1! -9");
    expect_ok(commit_to(1));
    expect_map(&map, "a3 b4 1:8 p1! -9");
}
END_TEST

START_TEST(test_commit_to_a_freelist_merges_with_that_freelist)
{
    open_begun("-2 a3 -1 b4 p1!");
    expect_ok(map_free_to(&map, 'p', 1));
    expect_ok(commit_to(1));
    expect_map(&map, "a3 b4 1:4");
}
END_TEST

START_TEST(test_commit_keeps_ids_tags_pins_and_requests)
{
    cuarena_heap_entry_t before;
    cuarena_heap_entry_t after;
    map_open(&map, "-2 a3 -1 b4");
    cuarena_block_t id = map_id(&map, 'b');
    expect_ok(cuarena_heap_block_info(map.heap, id, &before));
    cuarena_heap_plan_options_t options = all_the_way();
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_ok(commit_to(0));
    expect_ok(cuarena_heap_block_info(map.heap, id, &after));
    before.offset = map_at(&map, 3);
    ck_assert_mem_eq(&before, &after, sizeof(before));
}
END_TEST

START_TEST(test_commit_to_an_unknown_freelist_is_bad)
{
    open_begun("-2 a3 -1 b4");
    expect_status(cuarena_heap_plan_commit(map.heap, map_plan, 77), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-2^ a3^ -1^ b4^");
    expect_ok(commit_to(0));
}
END_TEST

START_TEST(test_commit_twice_is_bad)
{
    open_begun("-2 a3 -1 b4");
    expect_ok(commit_to(0));
    expect_status(commit_to(0), CUARENA_BAD_ARGUMENT);
    expect_status(begin_plan(), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_plan_abort(map.heap, map_plan), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a3 b4 -3");
}
END_TEST

START_TEST(test_commit_of_an_empty_plan)
{
    open_begun("a3 -1");
    expect_ok(commit_to(0));
    expect_map(&map, "a3 -1");
}
END_TEST

START_TEST(test_commit_counts_stay)
{
    cuarena_heap_stats_t before;
    cuarena_heap_stats_t after;
    map_open(&map, "-2 a3 -1 b4");
    cuarena_heap_stats_init(&before);
    cuarena_heap_stats_init(&after);
    expect_ok(cuarena_heap_stats(map.heap, &before));
    cuarena_heap_plan_options_t options = all_the_way();
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_ok(commit_to(0));
    expect_ok(cuarena_heap_stats(map.heap, &after));
    expect_u64(after.live_bytes, before.live_bytes);
    expect_u64(after.requested_bytes, before.requested_bytes);
    expect_u64(after.free_bytes, before.free_bytes);
    expect_u64(after.allocs, before.allocs);
    expect_u64(after.frees, before.frees);
    expect_u64(after.ranges, 1);
    expect_u64(after.peak_live_bytes, before.peak_live_bytes);
}
END_TEST

/* ---- Abort -------------------------------------------------------------- */

START_TEST(test_abort_restores_all)
{
    open_begun("-2 a3 -1 b4 c1 -5 p2! -3");
    expect_ok(cuarena_heap_plan_abort(map.heap, map_plan));
    expect_map(&map, "-2 a3 -1 b4 c1 -5 p2! -3");
    expect_ok(map_free(&map, 'a'));
    expect_map(&map, "-6 b4 c1 -5 p2! -3");
}
END_TEST

START_TEST(test_abort_merges_what_was_freed_meanwhile)
{
    open_begun("p1! -2 a3 -1 q1! -4");
    expect_ok(map_free(&map, 'p'));
    expect_ok(map_free(&map, 'q'));
    expect_ok(cuarena_heap_plan_abort(map.heap, map_plan));
    expect_map(&map, "-3 a3 -6");
}
END_TEST

START_TEST(test_abort_of_what_is_not_under_way_is_bad)
{
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-2 a3");
    expect_ok(make_plan(&options));
    expect_status(cuarena_heap_plan_abort(map.heap, map_plan), CUARENA_BAD_ARGUMENT);
    expect_status(commit_to(0), CUARENA_BAD_ARGUMENT);
    expect_ok(begin_plan());
    expect_ok(cuarena_heap_plan_abort(map.heap, map_plan));
    expect_status(cuarena_heap_plan_abort(map.heap, map_plan), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-2 a3");
}
END_TEST

START_TEST(test_abort_then_another_plan_works)
{
    cuarena_heap_plan_options_t options = all_the_way();
    open_begun("-2 a3");
    expect_ok(cuarena_heap_plan_abort(map.heap, map_plan));
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_ok(commit_to(0));
    expect_map(&map, "a3 -2");
}
END_TEST

START_TEST(test_destroy_of_a_begun_plan_aborts_it)
{
    open_begun("-2 a3 -1 b4");
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    ck_assert_ptr_null(map_plan);
    expect_map(&map, "-2 a3 -1 b4");
}
END_TEST

START_TEST(test_destroy_of_no_plan_is_fine)
{
    map_open(&map, "-2");
    cuarena_heap_plan_destroy(map.heap, NULL);
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    ck_assert_ptr_null(map_plan);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_under_way(Suite *suite)
{
    TCase *tcase = add_tests(suite, "under way",
                             TEST_LIST(test_begin_shows_what_it_holds, test_begin_holds_blocks,
                                       test_begin_holds_ranges, test_begin_leaves_the_rest_to_work,
                                       test_begin_neighbours_freed_meanwhile_do_not_merge,
                                       test_begin_neighbours_freed_to_a_freelist_meanwhile,
                                       test_begin_twice_is_bad, test_begin_of_a_second_plan_is_busy,
                                       test_plan_made_under_way_leaves_out_what_is_held,
                                       test_begin_after_looking_is_fine));
    tcase_add_loop_test(tcase, test_begin_after_a_change_is_busy, 0, CHANGES);
}

static void add_commit(Suite *suite)
{
    add_tests(suite, "commit",
              TEST_LIST(test_commit_is_seen_by_info_find_and_free,
                        test_commit_to_a_freelist_gives_it_what_was_held,
                        test_commit_to_a_freelist_merges_with_that_freelist,
                        test_commit_keeps_ids_tags_pins_and_requests,
                        test_commit_to_an_unknown_freelist_is_bad, test_commit_twice_is_bad,
                        test_commit_of_an_empty_plan, test_commit_counts_stay));
}

static void add_abort(Suite *suite)
{
    add_tests(suite, "abort",
              TEST_LIST(test_abort_restores_all, test_abort_merges_what_was_freed_meanwhile,
                        test_abort_of_what_is_not_under_way_is_bad,
                        test_abort_then_another_plan_works, test_destroy_of_a_begun_plan_aborts_it,
                        test_destroy_of_no_plan_is_fine));
}

int main(void)
{
    Suite *suite = suite_create("heap plan life");
    add_under_way(suite);
    add_commit(suite);
    add_abort(suite);
    return suite_main(suite);
}
