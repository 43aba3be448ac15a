/*
 * What compaction plans move. Pictures are explained in support/heap_map.h. Costs are compared with
 * those of every window, tried by the reference in support/heap_ref.h.
 */
#include "support/heap_ref.h"
#include "support/heap_rig.h"
#include "support/random.h"
#include "support/scale.h"

#include <stdio.h>
#include <string.h>

/* ---- Helpers ------------------------------------------------------------ */

static cuarena_heap_plan_options_t goal_of(uint64_t granules)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.goal_bytes = map_bytes(&map, granules);
    return options;
}

static void expect_moves(size_t want)
{
    size_t count = SIZE_MAX;
    cuarena_heap_plan_moves(map_plan, &count);
    expect_u64(count, want);
}

static uint64_t cost_of_plan(void)
{
    size_t count = 0;
    uint64_t bytes = 0;
    const cuarena_heap_move_t *moves = cuarena_heap_plan_moves(map_plan, &count);
    for (size_t i = 0; i < count; i++)
        bytes += moves[i].bytes;
    return bytes;
}

/* From one picture to another with these options. */
static void expect_plan(const char *before, const cuarena_heap_plan_options_t *options,
                        const char *after)
{
    map_open(&map, before);
    expect_ok(make_plan(options));
    expect_ok(begin_plan());
    expect_valid(map.heap);
    expect_ok(commit_to(0));
    expect_map(&map, after);
}

static void expect_goal(const char *before, uint64_t granules, const char *after)
{
    map.granule = MAP_GRANULE;
    cuarena_heap_plan_options_t options = goal_of(granules);
    expect_plan(before, &options, after);
}

static void expect_all(const char *before, const char *after)
{
    cuarena_heap_plan_options_t options = all_the_way();
    expect_plan(before, &options, after);
}

/* ---- All the way -------------------------------------------------------- */

START_TEST(test_plan_all_slides_blocks_down)
{
    expect_all("-2 a3 -1 b4 c1 -5 d2", "a3 b4 c1 d2 -8");
}
END_TEST

START_TEST(test_plan_all_keeps_the_order)
{
    expect_all("-9 d1 c2 -1 b3 a4", "d1 c2 b3 a4 -10");
}
END_TEST

START_TEST(test_plan_all_of_a_compact_heap_is_empty)
{
    expect_all("a3 b4 -5", "a3 b4 -5");
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_all_of_an_empty_heap_is_empty)
{
    expect_all("", "");
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_all_of_ranges_only_is_empty)
{
    expect_all("-3 ~1 -4", "-3 ~1 -4");
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_all_a_block_may_overlap_itself)
{
    expect_all("-1 a100", "a100 -1");
}
END_TEST

START_TEST(test_plan_all_stays_within_segments)
{
    expect_all("-2 a3 -1 | -3 b4 ~7 -1 c2", "a3 -3 b4 -3 ~7 c2 -1");
}
END_TEST

START_TEST(test_plan_all_pins_are_barriers)
{
    expect_all("-2 a3 -1 p2! -3 b4 -1", "a3 -3 p2! b4 -4");
}
END_TEST

START_TEST(test_plan_all_pinned_only_is_empty)
{
    expect_all("-2 a3! -1 b2! -1", "-2 a3! -1 b2! -1");
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_all_keeps_alignments)
{
    expect_all("-2 c1 -13 a4@16 -4 b2@4 -1", "c1 -15 a4@16 b2@4 -5");
}
END_TEST

START_TEST(test_plan_all_aligned_blocks_slide_by_their_alignment)
{
    expect_all("-2 c1 -5 a4@4 -1 b1", "c1 -3 a4@4 b1 -5");
}
END_TEST

START_TEST(test_plan_all_other_freelists_are_barriers)
{
    expect_all("-2 a3 1:2 -3 b4 -1", "-2 a3 1:2 b4 -4");
}
END_TEST

START_TEST(test_plan_all_moves_into_idle_ranges_only)
{
    expect_all("1:2 a3 -1 b4 -1", "1:2 a3 b4 -2");
}
END_TEST

START_TEST(test_plan_moves_are_described)
{
    size_t count;
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-2 a3 -1 b4");
    expect_ok(make_plan(&options));
    const cuarena_heap_move_t *moves = cuarena_heap_plan_moves(map_plan, &count);
    expect_u64(count, 2);
    cuarena_heap_move_t want[] = {{map_id(&map, 'a'), map_at(&map, 2), map_at(&map, 0), 3 * 256},
                                  {map_id(&map, 'b'), map_at(&map, 6), map_at(&map, 3), 4 * 256}};
    ck_assert_mem_eq(moves, want, sizeof(want));
}
END_TEST

/* ---- Limits ------------------------------------------------------------- */

START_TEST(test_plan_all_max_moves)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.max_moves = 2;
    map_open(&map, "-2 a3 -1 b4 -1 c1 -1 d1");
    expect_ok(make_plan(&options));
    expect_moves(2);
    options.max_moves = 0;
    expect_ok(make_plan(&options));
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_all_max_bytes)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.max_bytes = 7 * 256;
    map_open(&map, "-2 a3 -1 b4 -1 c1 -1 d1");
    expect_ok(make_plan(&options));
    expect_between(cost_of_plan(), 1, 7 * 256);
    options.max_bytes = 0;
    expect_ok(make_plan(&options));
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_all_max_bytes_may_be_spent_to_the_last)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.max_bytes = 7 * 256;
    map_open(&map, "-2 a3 -1 b4");
    expect_ok(make_plan(&options));
    expect_moves(2);
    options.max_bytes = 7 * 256 - 1;
    expect_ok(make_plan(&options));
    expect_moves(1);
}
END_TEST

START_TEST(test_plan_goal_beyond_max_bytes_is_fragmented)
{
    map_open(&map, "-2 a3 -2 b9 -5");
    cuarena_heap_plan_options_t options = goal_of(4);
    expect_ok(make_plan(&options));
    expect_moves(0);
    options = goal_of(6);
    options.max_bytes = 9 * 256 - 1;
    expect_status(make_plan(&options), CUARENA_FRAGMENTED);
    options.max_bytes = 9 * 256;
    expect_ok(make_plan(&options));
    expect_u64(cost_of_plan(), 9 * 256);
}
END_TEST

START_TEST(test_plan_goal_beyond_max_moves_is_fragmented)
{
    map_open(&map, "-2 a1 -2 b1 c1 -2 d9");
    cuarena_heap_plan_options_t options = goal_of(6);
    options.max_moves = 2;
    expect_status(make_plan(&options), CUARENA_FRAGMENTED);
    options.max_moves = 3;
    expect_ok(make_plan(&options));
    expect_moves(3);
}
END_TEST

/* ---- Goals -------------------------------------------------------------- */

START_TEST(test_plan_goal_that_fits_already_is_empty)
{
    expect_goal("-2 a3 -4 b1 -2", 4, "-2 a3 -4 b1 -2");
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_goal_moves_the_fewest_bytes)
{
    expect_goal("-2 a9 -3 b2 -2 c9 -2", 5, "-2 a9 b2 -5 c9 -2");
    expect_u64(cost_of_plan(), 2 * 256);
}
END_TEST

START_TEST(test_plan_goal_prefers_fewer_bytes_to_fewer_moves)
{
    expect_goal("-2 a9 -2 p1! -2 b1 -1 c1 -1 d1", 4, "-2 a9 -2 p1! b1 c1 -4 d1");
    expect_u64(cost_of_plan(), 2 * 256);
}
END_TEST

START_TEST(test_plan_goal_does_not_reach_over_a_pin)
{
    map_open(&map, "-2 p1! -2 a1 -2 p1! -2");
    cuarena_heap_plan_options_t options = goal_of(5);
    expect_status(make_plan(&options), CUARENA_FRAGMENTED);
    options = goal_of(4);
    expect_ok(make_plan(&options));
    expect_u64(cost_of_plan(), 256);
}
END_TEST

START_TEST(test_plan_goal_does_not_reach_over_a_segment_end)
{
    map_open(&map, "-2 a1 -1 | -2 b1 -1");
    cuarena_heap_plan_options_t options = goal_of(4);
    expect_status(make_plan(&options), CUARENA_FRAGMENTED);
}
END_TEST

START_TEST(test_plan_goal_does_not_reach_over_another_freelist)
{
    map_open(&map, "-2 a1 1:9 -2 b1 -1");
    cuarena_heap_plan_options_t options = goal_of(4);
    expect_status(make_plan(&options), CUARENA_FRAGMENTED);
    options = goal_of(3);
    expect_ok(make_plan(&options));
    expect_u64(cost_of_plan(), 256);
}
END_TEST

START_TEST(test_plan_goal_of_all_that_is_free)
{
    expect_goal("-1 a1 -1 b1 -1 c1 -1", 4, "a1 b1 c1 -4");
}
END_TEST

START_TEST(test_plan_goal_rounds_up_to_the_granule)
{
    map_open(&map, "-2 a1 -2 b1 -1");
    cuarena_heap_plan_options_t options = goal_of(0);
    options.goal_bytes = 4 * 256 + 1;
    expect_ok(make_plan(&options));
    expect_moves(2);
    options.goal_bytes = 5 * 256 + 1;
    expect_status(make_plan(&options), CUARENA_FRAGMENTED);
}
END_TEST

START_TEST(test_plan_goal_of_huge_sizes_makes_no_plan)
{
    static const uint64_t goals[] = {CUARENA_HEAP_MAX_SEGMENT - 1, CUARENA_HEAP_MAX_SEGMENT,
                                     UINT64_C(1) << 63, UINT64_MAX - 254, UINT64_MAX};
    map_open(&map, "-2 a1 -2 b1 -1");
    for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); i++) {
        cuarena_heap_plan_options_t options = goal_of(0);
        options.goal_bytes = goals[i];
        ck_assert_int_ne(make_plan(&options), CUARENA_OK);
        ck_assert_ptr_null(map_plan);
    }
}
END_TEST

START_TEST(test_plan_goal_aligned_that_fits_already_is_empty)
{
    map_open(&map, "a16 -4 b1");
    cuarena_heap_plan_options_t options = goal_of(4);
    options.goal_alignment = 16 * 256;
    expect_ok(make_plan(&options));
    expect_moves(0);
}
END_TEST

START_TEST(test_plan_goal_aligned_makes_room_that_is_aligned)
{
    map_open(&map, "a14 -2 b1 -40 c1");
    cuarena_heap_plan_options_t options = goal_of(32);
    options.goal_alignment = 16 * 256;
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_ok(commit_to(0));
    expect_ok(map_alloc_aligned(&map, 'x', 32, 16));
}
END_TEST

START_TEST(test_plan_goal_error_names_the_goal)
{
    cuarena_error_info_t info;
    map_open(&map, "-2 p1! -2");
    cuarena_heap_plan_options_t options = goal_of(3);
    expect_status(make_plan(&options), CUARENA_FRAGMENTED);
    cuarena_error_info_init(&info);
    expect_ok(cuarena_last_error_info(&info));
    expect_status(info.status, CUARENA_FRAGMENTED);
    expect_u64(info.asked_bytes, 3 * 256);
    expect_u64(info.free_bytes, 4 * 256);
    ck_assert_str_ne(info.message, "");
}
END_TEST

/* ---- Goals: every window ------------------------------------------------ */

/* Up to 24 entries; each third block is pinned in some pictures. */
static void random_picture(random_state_t *random, char *text)
{
    uint64_t pins = random_below(random, 6);
    size_t length = 0;
    for (uint64_t n = 1 + random_below(random, 24); n != 0; n--) {
        uint64_t kind = random_below(random, 16);
        int size = 1 + (int)random_below(random, 6);
        if (kind < 7)
            length += (size_t)sprintf(text + length, "-%d ", size);
        else if (kind < 14)
            length += (size_t)sprintf(text + length, "a%d%s ", size,
                                      pins != 0 && random_below(random, 6) < pins / 2 ? "!" : "");
        else if (kind < 15)
            length += (size_t)sprintf(text + length, "1:%d ", size);
        else
            length += (size_t)sprintf(text + length, "~%d z1 ", size);
    }
}

/* What a walk shows; segments of such pictures never touch. */
static void load(ref_t *ref, ref_entry_t *entries)
{
    cuarena_heap_entry_t walked[64];
    uint64_t cursor = 0;
    size_t count;
    bool opens = true;
    *ref = (ref_t){.entries = entries, .granule = MAP_GRANULE};
    expect_ok(cuarena_heap_walk(map.heap, &cursor, walked, 64, &count));
    for (size_t i = 0; i < count; i++) {
        bool gap = walked[i].kind == CUARENA_ENTRY_GAP;
        if (!gap)
            entries[ref->count++] = (ref_entry_t){walked[i], opens};
        opens = gap;
    }
}

static void expect_cheapest(const cuarena_heap_plan_options_t *options)
{
    ref_entry_t entries[64];
    ref_t ref;
    ref_cost_t cost;
    load(&ref, entries);
    bool found = ref_cheapest(&ref, options, &cost);
    expect_status(make_plan(options), found ? CUARENA_OK : CUARENA_FRAGMENTED);
    if (!found)
        return;
    size_t count;
    const cuarena_heap_move_t *moves = cuarena_heap_plan_moves(map_plan, &count);
    const char *reason = ref_check_plan(&ref, options, moves, count);
    ck_assert_msg(reason == NULL, "%s: %s", map.text, reason);
    ck_assert_msg(cost_of_plan() == cost.bytes, "%s: expected %d bytes, got %d", map_text(&map),
                  (int)cost.bytes, (int)cost_of_plan());
}

START_TEST(test_plan_goal_is_the_cheapest_of_all_windows)
{
    random_state_t random = {scale_seed("check_heap_plan")};
    char picture[MAP_TEXT];
    for (uint64_t i = scale_pick(300, 2000, 20000); i != 0; i--) {
        random_picture(&random, picture);
        map_open(&map, picture);
        for (uint64_t goal = 1; goal < 30; goal += 1 + goal / 8) {
            cuarena_heap_plan_options_t options = goal_of(goal);
            expect_cheapest(&options);
            options.max_moves = random_below(&random, 4);
            expect_cheapest(&options);
            options.max_moves = UINT64_MAX;
            options.max_bytes = map_bytes(&map, random_below(&random, 12));
            expect_cheapest(&options);
        }
        close_map();
    }
}
END_TEST

/* ---- Arguments ---------------------------------------------------------- */

START_TEST(test_plan_options_init_sets_documented_defaults)
{
    cuarena_heap_plan_options_t options;
    memset(&options, 0xff, sizeof(options));
    cuarena_heap_plan_options_init(&options);
    expect_u64(options.struct_size, sizeof(options));
    expect_u64(options.goal_bytes, 0);
    expect_u64(options.goal_alignment, 0);
    expect_u64(options.max_bytes, UINT64_MAX);
    expect_u64(options.max_moves, UINT64_MAX);
}
END_TEST

static void expect_bad_options(const cuarena_heap_plan_options_t *options)
{
    expect_status(make_plan(options), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_null(map_plan);
}

START_TEST(test_plan_bad_options)
{
    map_open(&map, "-2 a3");
    cuarena_heap_plan_options_t options = goal_of(2);
    options.goal_alignment = 3;
    expect_bad_options(&options);
    options = all_the_way();
    options.struct_size = 0;
    expect_bad_options(&options);
    options.struct_size = sizeof(options) - 1;
    expect_bad_options(&options);
    options.struct_size = sizeof(options) + 1;
    expect_bad_options(&options);
}
END_TEST

START_TEST(test_plan_null_is_bad)
{
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-2 a3");
    expect_status(cuarena_heap_plan_create(NULL, &options, &map_plan), bad);
    expect_status(cuarena_heap_plan_create(map.heap, &options, NULL), bad);
    expect_status(cuarena_heap_plan_begin(map.heap, NULL), bad);
    expect_status(cuarena_heap_plan_commit(map.heap, NULL, 0), bad);
    expect_status(cuarena_heap_plan_abort(map.heap, NULL), bad);
    expect_ok(make_plan(&options));
    expect_status(cuarena_heap_plan_begin(NULL, map_plan), bad);
    expect_status(cuarena_heap_plan_commit(NULL, map_plan, 0), bad);
    expect_status(cuarena_heap_plan_abort(NULL, map_plan), bad);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_all_the_way(Suite *suite)
{
    add_tests(
        suite, "all the way",
        TEST_LIST(test_plan_all_slides_blocks_down, test_plan_all_keeps_the_order,
                  test_plan_all_of_a_compact_heap_is_empty, test_plan_all_of_an_empty_heap_is_empty,
                  test_plan_all_of_ranges_only_is_empty, test_plan_all_a_block_may_overlap_itself,
                  test_plan_all_stays_within_segments, test_plan_all_pins_are_barriers,
                  test_plan_all_pinned_only_is_empty, test_plan_all_keeps_alignments,
                  test_plan_all_aligned_blocks_slide_by_their_alignment,
                  test_plan_all_other_freelists_are_barriers,
                  test_plan_all_moves_into_idle_ranges_only, test_plan_moves_are_described));
}

static void add_limits(Suite *suite)
{
    add_tests(suite, "limits",
              TEST_LIST(test_plan_all_max_moves, test_plan_all_max_bytes,
                        test_plan_all_max_bytes_may_be_spent_to_the_last,
                        test_plan_goal_beyond_max_bytes_is_fragmented,
                        test_plan_goal_beyond_max_moves_is_fragmented));
}

static void add_goals(Suite *suite)
{
    add_tests(suite, "goals",
              TEST_LIST(test_plan_goal_that_fits_already_is_empty,
                        test_plan_goal_moves_the_fewest_bytes,
                        test_plan_goal_prefers_fewer_bytes_to_fewer_moves,
                        test_plan_goal_does_not_reach_over_a_pin,
                        test_plan_goal_does_not_reach_over_a_segment_end,
                        test_plan_goal_does_not_reach_over_another_freelist,
                        test_plan_goal_of_all_that_is_free, test_plan_goal_rounds_up_to_the_granule,
                        test_plan_goal_of_huge_sizes_makes_no_plan,
                        test_plan_goal_aligned_that_fits_already_is_empty,
                        test_plan_goal_aligned_makes_room_that_is_aligned,
                        test_plan_goal_error_names_the_goal));
}

static void add_goals_every_window(Suite *suite)
{
    TCase *tcase = add_tests(suite, "goals: every window",
                             TEST_LIST(test_plan_goal_is_the_cheapest_of_all_windows));
    tcase_set_timeout(tcase, scale_timeout(600));
}

static void add_arguments(Suite *suite)
{
    add_tests(suite, "arguments",
              TEST_LIST(test_plan_options_init_sets_documented_defaults, test_plan_bad_options,
                        test_plan_null_is_bad));
}

int main(void)
{
    Suite *suite = suite_create("heap plans");
    add_all_the_way(suite);
    add_limits(suite);
    add_goals(suite);
    add_goals_every_window(suite);
    add_arguments(suite);
    return suite_main(suite);
}
