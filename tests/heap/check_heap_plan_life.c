/*
 * The life of a compaction plan: under way, commit, abort. Pictures are explained in
 * support/heap_map.h, steps in support/heap_rows.h; "^" marks what a plan under way holds.
 */
#include "support/heap_rows.h"

/* ---- Under way ---------------------------------------------------------- */

static void open_begun(const char *picture)
{
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, picture);
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_valid(map.heap);
}

static const map_row_t under_way_rows[] = {
    {"what it holds", "-2 a3 -1 b4 c1 -5 p2! -3 d1!",
     "plan; begin = -2^ a3^ -1^ b4^ c1^ -5^ p2! -3 d1!"},
    {"it holds blocks", "-2 a3 -1 b4 -5",
     "plan; begin = -2^ a3^ -1^ b4^ -5^; free a is BUSY; pin b is BUSY; resize a 1 is BUSY; "
     "resize b 5 is BUSY; exchange a b is BUSY"},
    {"it holds ranges", "-2 a3 -1 b4 -5",
     "plan; begin = -2^ a3^ -1^ b4^ -5^; alloc x 1 is OUT_OF_MEMORY; cut 10 5 is BUSY"},
    {"the rest works", "-2 a3 p1! q3! -4 r1!",
     "plan; begin = -2^ a3^ p1! q3! -4 r1!; alloc x 1; free p; resize q 2; free r "
     "= -2^ a3^ -1 q2! -1 x1 -4; commit 0 = a3 -3 q2! -1 x1 -4"},
    {"neighbours freed meanwhile do not merge", "p1! -2 a3 -1 q1! -4",
     "plan; begin = p1! -2^ a3^ -1^ q1! -4; free p; free q = -1 -2^ a3^ -1^ -5; "
     "commit 0 = -1 a3 -8"},
    {"neighbours freed to a free list meanwhile", "p1! -2 a3 q1!",
     "plan; begin; free p to 1; free q to 1 = 1:1 -2^ a3^ 1:1; commit 0 = 1:1 a3 -2 1:1"},
    {"twice", "-2 a3 -1", "plan; begin; begin is BAD_ARGUMENT = -2^ a3^ -1^"},
};

START_TEST(begin_of_a_second_plan_is_busy)
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

START_TEST(plan_made_under_way_leaves_out_what_is_held)
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
static const char *const changes[] = {
    "free c",       "alloc x 1",     "alloc x 1; free x", "pin c",   "unpin p",   "resize c 1",
    "exchange a c", "segment 100 1", "extend 0 1",        "cut 0 1", "reclaim 1", "destroy 1"};
#define CHANGES ((int)COUNT_OF(changes))

START_TEST(begin_after_a_change_is_busy)
{
    map_open(&map, "-2 a3 -1 c4 1:1 -1 p1!");
    map_run(changes[_i], "plan");
    map_run("the change", changes[_i]);
    map_run(changes[_i], "begin is BUSY; commit 0 is BAD_ARGUMENT; plan; begin; commit 0");
}
END_TEST

START_TEST(begin_after_looking_is_fine)
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

static const map_row_t commit_rows[] = {
    {"to a free list: it gets what was held", "-2 a3 -1 b4 -5 p1! -9",
     "plan; begin; commit 1 = a3 b4 1:8 p1! -9"},
    {"to a free list: it merges with it", "-2 a3 -1 b4 p1!",
     "plan; begin; free p to 1; commit 1 = a3 b4 1:4"},
    {"twice", "-2 a3 -1 b4",
     "plan; begin; commit 0 = a3 b4 -3; commit 0 is BAD_ARGUMENT; begin is BAD_ARGUMENT; "
     "abort is BAD_ARGUMENT"},
    {"an empty plan", "a3 -1", "plan; begin; commit 0 = a3 -1"},
};

START_TEST(commit_is_seen_by_info_find_and_free)
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

START_TEST(commit_keeps_ids_tags_pins_and_requests)
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

START_TEST(commit_to_an_unknown_freelist_is_bad)
{
    open_begun("-2 a3 -1 b4");
    expect_status(cuarena_heap_plan_commit(map.heap, map_plan, 77), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "-2^ a3^ -1^ b4^");
    expect_ok(commit_to(0));
}
END_TEST

START_TEST(commit_counts_stay)
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

static const map_row_t abort_rows[] = {
    {"all is as before", "-2 a3 -1 b4 c1 -5 p2! -3",
     "plan; begin; abort = -2 a3 -1 b4 c1 -5 p2! -3; free a = -6 b4 c1 -5 p2! -3"},
    {"what was freed meanwhile merges", "p1! -2 a3 -1 q1! -4",
     "plan; begin; free p; free q; abort = -3 a3 -6"},
    {"what is not under way", "-2 a3",
     "plan; abort is BAD_ARGUMENT; commit 0 is BAD_ARGUMENT; begin; abort; abort is BAD_ARGUMENT "
     "= -2 a3"},
    {"then another plan works", "-2 a3", "plan; begin; abort; plan; begin; commit 0 = a3 -2"},
};

START_TEST(destroy_of_a_begun_plan_aborts_it)
{
    open_begun("-2 a3 -1 b4");
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    ck_assert_ptr_null(map_plan);
    expect_map(&map, "-2 a3 -1 b4");
}
END_TEST

START_TEST(destroy_of_no_plan_is_fine)
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
    add_map_rows(suite, "under way", under_way_rows);
    TCase *tcase = add_tests(suite, "under way",
                             TEST_LIST(begin_of_a_second_plan_is_busy,
                                       plan_made_under_way_leaves_out_what_is_held,
                                       begin_after_looking_is_fine));
    tcase_add_loop_test(tcase, begin_after_a_change_is_busy, 0, CHANGES);
}

int main(void)
{
    Suite *suite = suite_create("heap plan life");
    add_under_way(suite);
    add_map_rows(suite, "commit", commit_rows);
    add_tests(suite, "commit",
              TEST_LIST(commit_is_seen_by_info_find_and_free,
                        commit_keeps_ids_tags_pins_and_requests,
                        commit_to_an_unknown_freelist_is_bad, commit_counts_stay));
    add_map_rows(suite, "abort", abort_rows);
    add_tests(suite, "abort",
              TEST_LIST(destroy_of_a_begun_plan_aborts_it, destroy_of_no_plan_is_fine));
    return suite_main(suite);
}
