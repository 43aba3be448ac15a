/*
 * Plans that are made and begun in one pass, and what that pass finds, next to the two public steps
 * on an equal heap. Pictures are explained in support/heap_map.h; "^" marks what a plan under way
 * holds.
 *
 * Looks inside, since only arenas make and begin a plan in one pass (heap/plan.h).
 */
#include "support/heap_rig.h"
#include "support/random.h"
#include "support/scale.h"

#include "heap/plan.h"

#include <stdio.h>
#include <string.h>

/* ---- Helpers ------------------------------------------------------------ */

static void start_apart(const cuarena_heap_plan_options_t *options, bool runs_apart)
{
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    expect_ok(cuai_plan_start(map.heap, options, runs_apart, &map_plan));
    expect_valid(map.heap);
}

static void start(void)
{
    cuarena_heap_plan_options_t options = all_the_way();
    ck_assert(cuai_plan_is_one_pass(map.heap, &options));
    start_apart(&options, false);
}

static void commit(void)
{
    expect_ok(cuarena_heap_plan_commit(map.heap, map_plan, 0));
    expect_valid(map.heap);
}

static void expect_start(const char *before, const char *held, const char *after)
{
    map_open(&map, before);
    start();
    expect_map(&map, held);
    commit();
    expect_map(&map, after);
}

/* ---- Pictures ----------------------------------------------------------- */

START_TEST(start_holds_windows)
{
    expect_start("-2 a3 -1 b4 c1 -5 d2", "-2^ a3^ -1^ b4^ c1^ -5^ d2^", "a3 b4 c1 d2 -8");
}
END_TEST

START_TEST(start_of_a_packed_heap_begins_nothing)
{
    map_open(&map, "a3 b4 -5");
    start();
    expect_u64(map_plan->count, 0);
    expect_status(cuarena_heap_plan_commit(map.heap, map_plan, 0), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a3 b4 -5");
    expect_ok(map_alloc(&map, 'c', 5));
}
END_TEST

START_TEST(start_of_an_empty_heap_begins_nothing)
{
    map_open(&map, "");
    start();
    expect_u64(map_plan->count, 0);
}
END_TEST

/* A range before a barrier, before another barrier, and the last one. */
START_TEST(start_leaves_ranges_that_nothing_moves_into)
{
    expect_start("a1 -2 p3! -4 q1!! -6 b1 r2! -3", "a1 -2 p3! -4 q1!! -6^ b1^ r2! -3",
                 "a1 -2 p3! -4 q1!! b1 -6 r2! -3");
}
END_TEST

START_TEST(start_stays_within_segments)
{
    expect_start("-2 a3 -1 | -3 b4 ~7 -1 c2 ~3 d1", "-2^ a3^ -1^ -3^ b4^ ~7 -1^ c2^ ~3 d1",
                 "a3 -3 b4 -3 ~7 c2 -1 ~3 d1");
}
END_TEST

START_TEST(start_minds_alignment)
{
    expect_start("-3 a1 -4 b2@4 -1 c1", "-3^ a1^ -4^ b2@4^ -1^ c1^", "a1 -3 b2@4 c1 -5");
}
END_TEST

START_TEST(start_and_abort_is_as_before)
{
    static const char picture[] = "a1 -2 p3! -4 b2 -1 c3 -5";
    map_open(&map, picture);
    start();
    expect_ok(cuarena_heap_plan_abort(map.heap, map_plan));
    expect_map(&map, picture);
    expect_ok(map_alloc(&map, 'd', 5));
    expect_ok(map_alloc(&map, 'e', 4));
}
END_TEST

START_TEST(start_takes_ranges_of_its_freelist_too)
{
    map_open(&map, "1:2 a3 -1 b4 2:3 c1 1:5 d2");
    cuarena_heap_plan_options_t options = all_the_way();
    options.freelist = map_freelist(&map, 1);
    ck_assert(cuai_plan_is_one_pass(map.heap, &options));
    start_apart(&options, false);
    expect_map(&map, "-2^ a3^ -1^ b4 2:3 c1 -5^ d2^");
    expect_ok(cuarena_heap_plan_commit(map.heap, map_plan, options.freelist));
    expect_map(&map, "a3 1:3 b4 2:3 c1 d2 1:5");
}
END_TEST

START_TEST(start_leaves_other_freelists_their_ranges)
{
    expect_start("2:1 a1 -2 b1 1:3 c1 -1 d1", "2:1 a1 -2 b1 1:3 c1 -1^ d1^",
                 "2:1 a1 -2 b1 1:3 c1 d1 -1");
}
END_TEST

/* ---- Meanwhile ---------------------------------------------------------- */

START_TEST(start_then_held_ranges_serve_nobody)
{
    map_open(&map, "a1 -2 p3! -4 b2 -5 c3");
    start();
    expect_status(map_alloc(&map, 'd', 3), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_alloc(&map, 'd', 2));
    expect_map(&map, "a1 d2 p3! -4^ b2^ -5^ c3^");
    commit();
    expect_ok(map_alloc(&map, 'e', 9));
}
END_TEST

/* The first window has landed when the second meets a stranger. */
START_TEST(commit_meets_a_neighbour_freed_meanwhile)
{
    map_open(&map, "-2 a3 -1 b4 c1! -5 d2 e1 x1! y2! -1 f1");
    start();
    expect_map(&map, "-2^ a3^ -1^ b4^ c1! -5^ d2^ e1^ x1! y2! -1^ f1^");
    expect_ok(map_free(&map, 'x'));
    expect_ok(map_free(&map, 'c'));
    expect_map(&map, "-2^ a3^ -1^ b4^ -1 -5^ d2^ e1^ -1 y2! -1^ f1^");
    commit();
    expect_map(&map, "a3 b4 -4 d2 e1 -6 y2! f1 -1");
}
END_TEST

START_TEST(commit_meets_a_stranger_of_another_freelist)
{
    map_open(&map, "-2 a3 -1 b4 c1 x1! -5 d2 e1 y1! -1 f1");
    start();
    expect_ok(map_free_to(&map, 'x', 2));
    expect_ok(map_free_to(&map, 'y', 2));
    expect_map(&map, "-2^ a3^ -1^ b4^ c1^ 2:1 -5^ d2^ e1^ 2:1 -1^ f1^");
    commit();
    expect_map(&map, "a3 b4 c1 -3 2:1 d2 e1 -5 2:1 f1 -1");
}
END_TEST

/* A block that a held range comes after may change places. */
START_TEST(start_then_the_block_before_a_window_is_exchanged)
{
    map_open(&map, "s1 -2 a3 z1! y1! -4 b2");
    start();
    expect_ok(map_exchange(&map, 's', 'z'));
    expect_map(&map, "z1! -2^ a3^ s1 y1! -4^ b2^");
    commit();
    expect_map(&map, "z1! a3 -2 s1 y1! b2 -4");
}
END_TEST

/* Where a block stays between windows, the look-up is made anew around it. */
START_TEST(commit_keeps_blocks_that_stay_in_the_look_up)
{
    map_open(&map, "s1! -2 a3 -1 t1! u1! b4 -5 d2 v1! -1 e1 -1 w2!");
    start();
    commit();
    for (const char *tag = "stuvwabde"; *tag != 0; tag++) {
        cuarena_block_t found = 0;
        expect_ok(cuarena_heap_find(map.heap, map_offset(&map, *tag), &found));
        expect_u64(found, map_id(&map, *tag));
    }
}
END_TEST

/* ---- What the pass finds ------------------------------------------------ */

static void expect_run(size_t at, uint64_t from, uint64_t to, uint64_t bytes)
{
    const cuai_move_t *run = &cuai_plan_runs(map_plan)[at];
    expect_u64(run->from, map_at(&map, from));
    expect_u64(run->to, map_at(&map, to));
    expect_u64(run->bytes, map_bytes(&map, bytes));
}

START_TEST(runs_are_the_moves_while_each_is_alone)
{
    map_open(&map, "-2 a3 -1 b4 -1 c1 d1!");
    start();
    ck_assert(!map_plan->runs_apart);
    ck_assert_ptr_eq(cuai_plan_runs(map_plan), map_plan->moves);
    expect_u64(map_plan->run_count, 3);
    expect_u64(map_plan->bytes, map_bytes(&map, 8));
    expect_run(2, 11, 7, 1);
}
END_TEST

static void expect_joined(void)
{
    expect_u64(map_plan->count, 6);
    expect_u64(map_plan->run_count, 3);
    ck_assert(map_plan->runs_apart);
    for (size_t i = 0; i < 3; i++)
        expect_u64(cuai_plan_runs(map_plan)[i].block, 0);
    expect_run(0, 2, 0, 3);
    expect_run(1, 6, 3, 8);
    expect_run(2, 15, 11, 1);
    expect_u64(map_plan->bytes, map_bytes(&map, 12));
}

START_TEST(runs_join_neighbours)
{
    map_open(&map, "-2 a3 -1 b4 c1 d1 e2 -1 f1");
    start();
    expect_joined();
}
END_TEST

START_TEST(runs_join_neighbours_in_steps_too)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.max_moves = 6;
    map_open(&map, "-2 a3 -1 b4 c1 d1 e2 -1 f1 ~9 -1 g1");
    ck_assert(!cuai_plan_is_one_pass(map.heap, &options));
    start_apart(&options, false);
    expect_joined();
}
END_TEST

/* Neighbours that an alignment draws apart are two runs. */
START_TEST(runs_do_not_join_over_an_alignment)
{
    map_open(&map, "-5 a3 b4@4 c1");
    start();
    expect_u64(map_plan->count, 3);
    expect_u64(map_plan->run_count, 2);
    expect_run(0, 5, 0, 3);
    expect_run(1, 8, 4, 5);
}
END_TEST

START_TEST(runs_are_apart_where_that_is_asked_for)
{
    map_open(&map, "-2 a3 -1 b4");
    cuarena_heap_plan_options_t options = all_the_way();
    start_apart(&options, true);
    expect_u64(map_plan->run_count, 2);
    ck_assert_ptr_ne(cuai_plan_runs(map_plan), map_plan->moves);
    expect_u64(cuai_plan_runs(map_plan)[0].block, 0);
    expect_u64(map_plan->moves[0].block, map_id(&map, 'a'));
    expect_run(0, 2, 0, 3);
    expect_run(1, 6, 3, 4);
}
END_TEST

START_TEST(pass_finds_the_largest_idle_range)
{
    map_open(&map, "-2 a3 1:9 b4! -7 c1 -3");
    start();
    expect_u64(map_plan->largest, map_bytes(&map, 7));
}
END_TEST

START_TEST(pass_tells_the_bits_of_attributes)
{
    map_open(&map, "-2 a3 -1 b4 c1! d1");
    cuai_record_t *a = cuai_record(map.heap, map_id(&map, 'a') & 0xffff);
    cuai_record_t *c = cuai_record(map.heap, map_id(&map, 'c') & 0xffff);
    a->owner = 5;
    a->flags = 4;
    c->owner = 8; /* stays */
    start();
    expect_u64(map_plan->some >> 56 & 127, 5);
    expect_u64(map_plan->every >> 56 & 127, 0);
    expect_u64(map_plan->some >> 40 & 255, 4);
    expect_u64(map_plan->every >> 40 & 255, 0);
}
END_TEST

START_TEST(one_pass_is_for_plans_without_limits)
{
    map_open(&map, "-2 a3 -1 b4");
    cuarena_heap_plan_options_t options = all_the_way();
    ck_assert(cuai_plan_is_one_pass(map.heap, &options));
    options.max_moves = 2;
    options.max_bytes = map_bytes(&map, 7);
    ck_assert(cuai_plan_is_one_pass(map.heap, &options));
    options.max_moves = 1;
    ck_assert(!cuai_plan_is_one_pass(map.heap, &options));
    options = all_the_way();
    options.max_bytes = map_bytes(&map, 6);
    ck_assert(!cuai_plan_is_one_pass(map.heap, &options));
    options = all_the_way();
    options.goal_bytes = 1;
    ck_assert(!cuai_plan_is_one_pass(map.heap, &options));
    options = all_the_way();
    expect_ok(map_alloc(&map, 'c', 1));
    expect_ok(map_alloc(&map, 'd', 1));
    expect_ok(map_free_to(&map, 'd', 1)); /* beside an idle range */
    ck_assert(map.heap->separators != 0);
    ck_assert(!cuai_plan_is_one_pass(map.heap, &options));
}
END_TEST

START_TEST(start_is_busy_while_a_plan_is_under_way)
{
    cuarena_heap_plan_t *other = NULL;
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-2 a3 -1 b4");
    start();
    expect_status(cuai_plan_start(map.heap, &options, false, &other), CUARENA_BUSY);
    ck_assert_ptr_null(other);
    commit();
}
END_TEST

/* ---- Against the two steps ---------------------------------------------- */

/* Two heaps to which the same is done. */
typedef struct twin {
    cuarena_heap_t *heap;
    cuarena_heap_plan_t *plan;
    cuarena_block_t blocks[200];
} twin_t;

static twin_t twins[2];

#define BLOCKS (sizeof twins[0].blocks / sizeof twins[0].blocks[0])

static void open_twins(void)
{
    cuarena_heap_config_t config = map_config();
    config.placement = CUARENA_PLACEMENT_DEFAULT;
    memset(twins, 0, sizeof twins);
    for (int i = 0; i < 2; i++) {
        uint32_t freelist;
        expect_ok(cuarena_heap_create(&config, &twins[i].heap));
        expect_ok(cuarena_heap_segment_add(twins[i].heap, MAP_BASE, 1000 * MAP_GRANULE));
        expect_ok(cuarena_heap_segment_add(twins[i].heap, MAP_BASE + 2000 * MAP_GRANULE,
                                           500 * MAP_GRANULE));
        expect_ok(cuarena_heap_freelist_create(twins[i].heap, &freelist));
    }
}

static void close_twins(void)
{
    for (int i = 0; i < 2; i++) {
        cuarena_heap_plan_destroy(twins[i].heap, &twins[i].plan);
        cuarena_heap_destroy(&twins[i].heap);
    }
}

/* What neither is under way nor freed. */
static cuarena_status_t change(twin_t *twin, random_state_t random)
{
    cuarena_block_t *block = &twin->blocks[random_below(&random, BLOCKS)];
    uint64_t what = random_below(&random, 10);
    if (*block == 0) {
        cuarena_heap_request_t request = {
            .size = (1 + random_below(&random, 12)) * MAP_GRANULE,
            .alignment = MAP_GRANULE << random_below(&random, 40) / 38,
            .pins = random_below(&random, 8) == 0,
        };
        uint64_t offset;
        return cuarena_heap_alloc(twin->heap, &request, block, &offset);
    }
    if (what == 0)
        return cuarena_heap_pin(twin->heap, *block);
    cuarena_status_t status = cuarena_heap_free(twin->heap, *block, what < 3 ? 1 : 0);
    if (status == CUARENA_OK)
        *block = 0;
    return status;
}

static void change_both(random_state_t *random, uint64_t count)
{
    while (count-- != 0) {
        cuarena_status_t status = change(&twins[0], *random);
        expect_status(change(&twins[1], *random), status);
        random_next(random);
    }
}

static void expect_same_block(cuarena_block_t a, cuarena_block_t b)
{
    if (a == 0 || b == 0) /* the ids differ by the heaps' names */
        expect_u64(a == 0, b == 0);
    else
        expect_u64(cuai_slot_in(twins[0].heap, a), cuai_slot_in(twins[1].heap, b));
}

static void expect_same_entry(const cuarena_heap_entry_t *a, const cuarena_heap_entry_t *b)
{
    expect_same_block(a->block, b->block);
    expect_u64(a->offset, b->offset);
    expect_u64(a->size, b->size);
    expect_u64(a->freelist, b->freelist);
    expect_u64(a->pins, b->pins);
    expect_u64(a->moving, b->moving);
}

static size_t walk(const cuarena_heap_t *heap, cuarena_heap_entry_t *entries)
{
    uint64_t cursor = 0;
    size_t count = 0;
    expect_ok(cuarena_heap_walk(heap, &cursor, entries, 3 * BLOCKS, &count));
    return count;
}

static void expect_same(void)
{
    static cuarena_heap_entry_t entries[2][3 * BLOCKS];
    size_t count = walk(twins[0].heap, entries[0]);
    expect_u64(walk(twins[1].heap, entries[1]), count);
    for (size_t i = 0; i < count; i++)
        expect_same_entry(&entries[0][i], &entries[1][i]);
    expect_valid(twins[0].heap);
    expect_valid(twins[1].heap);
}

static void expect_same_moves(void)
{
    expect_u64(twins[0].plan->count, twins[1].plan->count);
    for (size_t i = 0; i < twins[0].plan->count; i++) {
        expect_u64(twins[0].plan->moves[i].from, twins[1].plan->moves[i].from);
        expect_u64(twins[0].plan->moves[i].to, twins[1].plan->moves[i].to);
    }
}

/* No SEPARATOR stands in the way of one pass. */
static bool tidy_both(uint32_t freelist)
{
    for (int i = 0; i < 2; i++)
        if (freelist == 0)
            expect_ok(cuarena_heap_freelist_reclaim(twins[i].heap, 1));
        else
            expect_ok(cuarena_heap_freelist_absorb(twins[i].heap, freelist, UINT64_MAX));
    return twins[0].heap->separators == 0;
}

static void plan_both(const cuarena_heap_plan_options_t *options)
{
    uint64_t largest;
    expect_ok(cuarena_heap_largest(twins[1].heap, 0, &largest));
    expect_ok(cuarena_heap_plan_create(twins[0].heap, options, &twins[0].plan));
    expect_ok(cuai_plan_start(twins[1].heap, options, false, &twins[1].plan));
    if (cuai_plan_is_one_pass(twins[0].heap, options))
        expect_u64(twins[1].plan->largest, largest);
    if (twins[0].plan->count != 0)
        expect_ok(cuarena_heap_plan_begin(twins[0].heap, twins[0].plan));
    expect_same_moves();
    expect_same();
}

static void end_both(uint32_t freelist, bool commits)
{
    for (int i = 0; i < 2; i++) {
        if (twins[i].plan->count != 0 && commits)
            expect_ok(cuarena_heap_plan_commit(twins[i].heap, twins[i].plan, freelist));
        else if (twins[i].plan->count != 0)
            expect_ok(cuarena_heap_plan_abort(twins[i].heap, twins[i].plan));
        cuarena_heap_plan_destroy(twins[i].heap, &twins[i].plan);
    }
    expect_same();
}

/* Whether it was one pass. */
static bool compact_both(random_state_t *random)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.freelist = (uint32_t)random_below(random, 2);
    tidy_both(options.freelist);
    bool one_pass = cuai_plan_is_one_pass(twins[0].heap, &options);
    plan_both(&options);
    change_both(random, random_below(random, 12));
    expect_same();
    end_both(options.freelist, random_below(random, 6) != 0);
    return one_pass;
}

START_TEST(start_is_create_and_begin)
{
    uint64_t rounds = scale_pick(300, 3000, 30000);
    uint64_t passes = 0;
    random_state_t random = {scale_seed("check_heap_start")};
    open_twins();
    for (uint64_t i = 0; i < rounds; i++) {
        change_both(&random, random_below(&random, 150));
        passes += compact_both(&random);
    }
    close_twins();
    ck_assert_msg(passes > rounds / 4, "%llu of %llu in one pass", (unsigned long long)passes,
                  (unsigned long long)rounds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap start");
    TCase *tcase = suite_add_list(
        suite, "pictures",
        TEST_LIST(start_holds_windows, start_of_a_packed_heap_begins_nothing,
                  start_of_an_empty_heap_begins_nothing,
                  start_leaves_ranges_that_nothing_moves_into, start_stays_within_segments,
                  start_minds_alignment, start_and_abort_is_as_before,
                  start_takes_ranges_of_its_freelist_too, start_leaves_other_freelists_their_ranges,
                  start_then_held_ranges_serve_nobody, commit_meets_a_neighbour_freed_meanwhile,
                  commit_meets_a_stranger_of_another_freelist,
                  start_then_the_block_before_a_window_is_exchanged,
                  commit_keeps_blocks_that_stay_in_the_look_up));
    tcase_add_checked_fixture(tcase, NULL, close_map);
    tcase = suite_add_list(
        suite, "findings",
        TEST_LIST(runs_are_the_moves_while_each_is_alone, runs_join_neighbours,
                  runs_join_neighbours_in_steps_too, runs_do_not_join_over_an_alignment,
                  runs_are_apart_where_that_is_asked_for, pass_finds_the_largest_idle_range,
                  pass_tells_the_bits_of_attributes, one_pass_is_for_plans_without_limits,
                  start_is_busy_while_a_plan_is_under_way));
    tcase_add_checked_fixture(tcase, NULL, close_map);
    tcase = suite_add_list(suite, "twins", TEST_LIST(start_is_create_and_begin));
    tcase_set_timeout(tcase, scale_timeout(1800));
    return suite_main(suite);
}
