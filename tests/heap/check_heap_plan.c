/*
 * What compaction plans move. Pictures are explained in support/heap_map.h, steps in
 * support/heap_rows.h. Costs are compared with those of every window, tried by the reference in
 * support/heap_ref.h.
 */
#include "support/heap_ref.h"
#include "support/heap_rows.h"
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

/* ---- All the way -------------------------------------------------------- */

static const map_row_t all_the_way_rows[] = {
    {"blocks slide down", "-2 a3 -1 b4 c1 -5 d2", "plan; begin; commit 0 = a3 b4 c1 d2 -8"},
    {"the order stays", "-9 d1 c2 -1 b3 a4", "plan; begin; commit 0 = d1 c2 b3 a4 -10"},
    {"a compact heap", "a3 b4 -5", "plan; moves 0; begin; commit 0 = a3 b4 -5"},
    {"an empty heap", "", "plan; moves 0; begin; commit 0 ="},
    {"ranges only", "-3 ~1 -4", "plan; moves 0; begin; commit 0 = -3 ~1 -4"},
    {"a block may overlap itself", "-1 a100", "plan; begin; commit 0 = a100 -1"},
    {"within segments", "-2 a3 -1 | -3 b4 ~7 -1 c2",
     "plan; begin; commit 0 = a3 -3 b4 -3 ~7 c2 -1"},
    {"pins are barriers", "-2 a3 -1 p2! -3 b4 -1", "plan; begin; commit 0 = a3 -3 p2! b4 -4"},
    {"pinned blocks only", "-2 a3! -1 b2! -1", "plan; moves 0; begin; commit 0 = -2 a3! -1 b2! -1"},
    {"alignments are kept", "-2 c1 -13 a4@16 -4 b2@4 -1",
     "plan; begin; commit 0 = c1 -15 a4@16 b2@4 -5"},
    {"aligned blocks slide by their alignment", "-2 c1 -5 a4@4 -1 b1",
     "plan; begin; commit 0 = c1 -3 a4@4 b1 -5"},
    {"other free lists are barriers", "-2 a3 1:2 -3 b4 -1",
     "plan; begin; commit 0 = -2 a3 1:2 b4 -4"},
    {"into idle ranges only", "1:2 a3 -1 b4 -1", "plan; begin; commit 0 = 1:2 a3 b4 -2"},
};

START_TEST(plan_moves_are_described)
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

static const map_row_t limit_rows[] = {
    {"moves", "-2 a3 -1 b4 -1 c1 -1 d1", "plan moves 2; moves 2; plan moves 0; moves 0"},
    {"bytes may be spent to the last", "-2 a3 -1 b4",
     "plan bytes 1792; moves 2; plan bytes 1791; moves 1"},
    {"a goal beyond the bytes", "-2 a3 -2 b9 -5",
     "plan 4; moves 0; plan 6 bytes 2303 is FRAGMENTED; plan 6 bytes 2304; cost 9"},
    {"a goal beyond the moves", "-2 a1 -2 b1 c1 -2 d9",
     "plan 6 moves 2 is FRAGMENTED; plan 6 moves 3; moves 3"},
};

START_TEST(plan_all_max_bytes)
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

/* ---- Goals -------------------------------------------------------------- */

static const map_row_t goal_rows[] = {
    {"one that fits already", "-2 a3 -4 b1 -2",
     "plan 4; moves 0; begin; commit 0 = -2 a3 -4 b1 -2"},
    {"the fewest bytes", "-2 a9 -3 b2 -2 c9 -2",
     "plan 5; cost 2; begin; commit 0 = -2 a9 b2 -5 c9 -2"},
    {"rather fewer bytes than fewer moves", "-2 a9 -2 p1! -2 b1 -1 c1 -1 d1",
     "plan 4; cost 2; begin; commit 0 = -2 a9 -2 p1! b1 c1 -4 d1"},
    {"it does not reach over a pin", "-2 p1! -2 a1 -2 p1! -2",
     "plan 5 is FRAGMENTED; plan 4; cost 1"},
    {"it does not reach over a segment end", "-2 a1 -1 | -2 b1 -1", "plan 4 is FRAGMENTED"},
    {"it does not reach over another free list", "-2 a1 1:9 -2 b1 -1",
     "plan 4 is FRAGMENTED; plan 3; cost 1"},
    {"all that is free", "-1 a1 -1 b1 -1 c1 -1", "plan 4; begin; commit 0 = a1 b1 c1 -4"},
    {"an aligned one that fits already", "a16 -4 b1", "plan 4 @16; moves 0"},
    {"an aligned one gets room that is aligned", "a14 -2 b1 -40 c1",
     "plan 32 @16; begin; commit 0; alloc x 32 @16"},
};

START_TEST(plan_goal_rounds_up_to_the_granule)
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

START_TEST(plan_goal_of_huge_sizes_makes_no_plan)
{
    static const uint64_t goals[] = {CUARENA_HEAP_MAX_SEGMENT - 1, CUARENA_HEAP_MAX_SEGMENT,
                                     UINT64_C(1) << 63, UINT64_MAX - 254, UINT64_MAX};
    map_open(&map, "-2 a1 -2 b1 -1");
    for (size_t i = 0; i < COUNT_OF(goals); i++) {
        cuarena_heap_plan_options_t options = goal_of(0);
        options.goal_bytes = goals[i];
        ck_assert_int_ne(make_plan(&options), CUARENA_OK);
        ck_assert_ptr_null(map_plan);
    }
}
END_TEST

START_TEST(plan_goal_error_names_the_goal)
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

START_TEST(plan_goal_is_the_cheapest_of_all_windows)
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

START_TEST(plan_options_init_sets_documented_defaults)
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

START_TEST(plan_bad_options)
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

START_TEST(plan_null_is_bad)
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

static void add_goals(Suite *suite)
{
    add_map_rows(suite, "goals", goal_rows);
    add_tests(suite, "goals",
              TEST_LIST(plan_goal_rounds_up_to_the_granule, plan_goal_of_huge_sizes_makes_no_plan,
                        plan_goal_error_names_the_goal));
}

static void add_goals_every_window(Suite *suite)
{
    TCase *tcase = add_tests(suite, "goals: every window",
                             TEST_LIST(plan_goal_is_the_cheapest_of_all_windows));
    tcase_set_timeout(tcase, scale_timeout(600));
}

static void add_arguments(Suite *suite)
{
    add_tests(
        suite, "arguments",
        TEST_LIST(plan_options_init_sets_documented_defaults, plan_bad_options, plan_null_is_bad));
}

int main(void)
{
    Suite *suite = suite_create("heap plans");
    add_map_rows(suite, "all the way", all_the_way_rows);
    add_tests(suite, "all the way", TEST_LIST(plan_moves_are_described));
    add_map_rows(suite, "limits", limit_rows);
    add_tests(suite, "limits", TEST_LIST(plan_all_max_bytes));
    add_goals(suite);
    add_goals_every_window(suite);
    add_arguments(suite);
    return suite_main(suite);
}
