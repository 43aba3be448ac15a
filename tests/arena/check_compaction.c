/*
 * Compaction: what moves, in which order, who hears of it, and what is left when it cannot. Rows of
 * equal blocks fill the pool, so that a layout is sure whatever the placement.
 */
#include "support/base_support.h"
#include "support/fixture.h"

#include <string.h>

/* Eight blocks of this size fill the pool. */
#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

typedef struct scene {
    fixture_t f;
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    cuarena_compact_report_t report;
    heard_t heard;
} scene_t;

/* A full pool from which the blocks of `freed`, a bit each, were freed. */
static void scene_open(scene_t *s, unsigned freed)
{
    memset(s, 0, sizeof *s);
    fixture_open(&s->f, KIND_CUSTOM_POOL, POOL);
    cuarena_compact_options_init(&s->options);
    cuarena_compact_report_init(&s->report);
    alloc_row(&s->f, s->row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i++)
        if (freed >> i & 1) {
            free_block(&s->f, s->row[i]);
            s->row[i] = 0;
        }
    test_memory_forget_calls(&s->f.memory);
}

static cuarena_status_t scene_compact(scene_t *s)
{
    return cuarena_compact(s->f.arena, &s->options, hear_relocations, &s->heard, &s->report);
}

static void scene_close(scene_t *s)
{
    expect_recount(&s->f);
    free_row(&s->f, s->row, COUNT, EACH);
    fixture_close(&s->f);
}

static scene_t scene;

static void end_scene(void)
{
    scene_close(&scene);
}

/* Closed after the test. */
static scene_t *scene_opened(unsigned freed)
{
    scene_open(&scene, freed);
    after_test(end_scene);
    return &scene;
}

static uint64_t place_of(scene_t *s, size_t i)
{
    void *base = NULL;
    uint64_t bytes = 0;
    expect_ok(cuarena_base(s->f.arena, &base, &bytes));
    return (uint64_t)((char *)address_of(&s->f, s->row[i]) - (char *)base);
}

/* Where the blocks are, as letters of the row's order; '-' for free. */
static const char *picture(scene_t *s)
{
    static char text[COUNT + 1];
    memset(text, '-', COUNT);
    for (size_t i = 0; i < COUNT; i++)
        if (s->row[i] != 0)
            text[place_of(s, i) / EACH] = (char)('a' + i);
    return text;
}

/* ---- What moves -------------------------------------------------------- */

START_TEST(compact_nothing)
{
    scene_t s;
    memset(&s, 0, sizeof s);
    fixture_open(&s.f, KIND_CUSTOM_POOL, POOL);
    cuarena_compact_options_init(&s.options);
    cuarena_compact_report_init(&s.report);
    step_ok(&s.f, scene_compact(&s));
    expect_u64(s.heard.batches, 0);
    expect_u64(s.report.moves + s.report.runs + s.report.bytes_moved, 0);
    expect_u64(s.report.largest_before, POOL);
    expect_u64(s.report.largest_after, POOL);
    ck_assert_int_eq(s.report.stopped, 0);
    fixture_close(&s.f);
}
END_TEST

START_TEST(compact_slides_all_together)
{
    scene_t *s = scene_opened(0x55);
    expect_text(picture(s), "-b-d-f-h");
    step_ok(&s->f, scene_compact(s));
    expect_text(picture(s), "bdfh----");
    expect_u64(s->report.moves, 4);
    expect_u64(s->report.bytes_moved, 4 * EACH);
    expect_u64(s->report.largest_before, EACH);
    expect_u64(s->report.largest_after, 4 * EACH);
    expect_u64(s->report.batches, 1);
    expect_u64(s->heard.count, 4);
    expect_u64(region_stats_of(&s->f, 0).largest_bytes, 4 * EACH);
}
END_TEST

START_TEST(compact_tells_each_block_old_and_new)
{
    void *before[COUNT];
    scene_t *s = scene_opened(0x0f);
    for (size_t i = 4; i < COUNT; i++)
        before[i] = address_of(&s->f, s->row[i]);
    step_ok(&s->f, scene_compact(s));
    for (size_t i = 4; i < COUNT; i++) {
        const cuarena_relocation_t *move = heard_of(&s->heard, s->row[i]);
        ck_assert_ptr_nonnull(move);
        expect_ptr(move->from, before[i]);
        expect_ptr(move->to, address_of(&s->f, s->row[i]));
        expect_u64(move->bytes, EACH);
    }
}
END_TEST

START_TEST(compact_neighbours_are_one_copy)
{
    scene_t *s = scene_opened(0x01);
    step_ok(&s->f, scene_compact(s));
    expect_text(picture(s), "bcdefgh-");
    expect_u64(s->report.moves, 7);
    expect_u64(s->report.runs, 1);
    expect_text(test_memory_sequence(&s->f.memory), "relocate");
    expect_u64(s->f.memory.calls[0].offset, 1);
    expect_u64(s->f.memory.calls[0].bytes, 7 * EACH);
}
END_TEST

START_TEST(compact_leaves_pinned_blocks)
{
    void *pinned = NULL;
    scene_t *s = scene_opened(0x55);
    step_ok(&s->f, cuarena_block_pin(s->f.arena, s->row[3], &pinned));
    step_ok(&s->f, scene_compact(s));
    expect_ptr(address_of(&s->f, s->row[3]), pinned);
    ck_assert_ptr_null(heard_of(&s->heard, s->row[3]));
    expect_text(picture(s), "b--dfh--");
    step_ok(&s->f, cuarena_block_unpin(s->f.arena, s->row[3]));
    step_ok(&s->f, scene_compact(s));
    expect_text(picture(s), "bdfh----");
}
END_TEST

START_TEST(compact_leaves_pointers_until_unpinned)
{
    heard_t heard = {.count = 0};
    void *row[4];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, row, 4, POOL / 4);
    free_ok(f, row[0]);
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.batches, 0);
    cuarena_block_t block = unpinned_block_of(f, row[1]);
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 1);
    expect_u64(heard.list[0].block, block);
    expect_ptr(heard.list[0].from, row[1]);
    expect_ptr(heard.list[0].to, row[0]);
    row[1] = heard.list[0].to;
    row[0] = NULL;
    free_pointer_row(f, row, 4, POOL / 4);
}
END_TEST

START_TEST(compact_takes_null_for_all_but_the_arena)
{
    scene_t *s = scene_opened(0x55);
    step(&s->f, cuarena_compact(NULL, NULL, NULL, NULL, NULL), CUARENA_BAD_ARGUMENT);
    step_ok(&s->f, cuarena_compact(s->f.arena, NULL, NULL, NULL, NULL));
    expect_text(picture(s), "bdfh----");
}
END_TEST

START_TEST(compact_twice_moves_nothing_more)
{
    scene_t *s = scene_opened(0xaa);
    step_ok(&s->f, scene_compact(s));
    size_t heard = s->heard.count;
    step_ok(&s->f, scene_compact(s));
    expect_u64(s->heard.count, heard);
    expect_u64(s->report.moves, 0);
}
END_TEST

START_TEST(compact_leaves_stable_dedicated_and_empty_blocks)
{
    heard_t heard = {.count = 0};
    cuarena_block_t stable[4], apart = 0;
    cuarena_request_t request;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.stable = amount_of_bytes(POOL / 2);
    fixture_create(f);
    cuarena_request_init(&request);
    request.region = CUARENA_REGION_STABLE;
    for (size_t i = 0; i < 4; i++)
        step_ok(f, cuarena_block_alloc_with(f->arena, POOL / 8, &request, &stable[i]));
    free_block(f, stable[0]);
    free_block(f, stable[2]);
    request = (cuarena_request_t){.struct_size = sizeof request, .dedicated = 1};
    step_ok(f, cuarena_block_alloc_with(f->arena, 5000, &request, &apart));
    alloc_block(f, 0);
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.batches, 0);
    expect_recount(f);
    fixture_close_forced(f);
}
END_TEST

/* ---- Limits and goals -------------------------------------------------- */

START_TEST(compact_to_a_goal_moves_the_least)
{
    scene_t s;
    scene_open(&s, 0x2d); /* -b--e-gh */
    expect_text(picture(&s), "-b--e-gh");
    s.options.goal_bytes = 3 * EACH;
    step_ok(&s.f, scene_compact(&s));
    expect_u64(s.report.bytes_moved, EACH);
    ck_assert_uint_ge(s.report.largest_after, 3 * EACH);
    cuarena_block_t block = alloc_block(&s.f, 3 * EACH);
    free_block(&s.f, block);
    scene_close(&s);
}
END_TEST

START_TEST(compact_to_a_goal_that_is_met)
{
    scene_t *s = scene_opened(0x0d);
    s->options.goal_bytes = 2 * EACH;
    step_ok(&s->f, scene_compact(s));
    expect_u64(s->report.moves, 0);
    expect_u64(s->heard.batches, 0);
}
END_TEST

START_TEST(compact_to_a_goal_out_of_reach)
{
    scene_t *s = scene_opened(0x55);
    s->options.goal_bytes = 5 * EACH;
    step(&s->f, scene_compact(s), CUARENA_FRAGMENTED);
    expect_text(picture(s), "-b-d-f-h");
    expect_u64(s->heard.batches, 0);
    expect_text(test_memory_sequence(&s->f.memory), "");
}
END_TEST

START_TEST(compact_to_a_goal_between_pinned_blocks)
{
    void *pinned = NULL;
    scene_t *s = scene_opened(0x55);
    step_ok(&s->f, cuarena_block_pin(s->f.arena, s->row[3], &pinned));
    s->options.goal_bytes = 3 * EACH;
    step(&s->f, scene_compact(s), CUARENA_FRAGMENTED);
    s->options.goal_bytes = 2 * EACH;
    step_ok(&s->f, scene_compact(s));
    expect_u64(s->report.moves, 1);
    step_ok(&s->f, cuarena_block_unpin(s->f.arena, s->row[3]));
}
END_TEST

START_TEST(compact_to_a_goal_beyond_the_limits)
{
    scene_t *s = scene_opened(0x55);
    s->options.goal_bytes = 4 * EACH;
    s->options.max_bytes = 2 * EACH;
    step(&s->f, scene_compact(s), CUARENA_FRAGMENTED);
    s->options.max_bytes = UINT64_MAX;
    s->options.max_moves = 2;
    step(&s->f, scene_compact(s), CUARENA_FRAGMENTED);
    expect_text(picture(s), "-b-d-f-h");
    s->options.max_moves = 4;
    step_ok(&s->f, scene_compact(s));
}
END_TEST

START_TEST(compact_with_an_aligned_goal)
{
    void *pointer = NULL;
    cuarena_request_t request;
    scene_t *s = scene_opened(0x55);
    s->options.goal_bytes = 2 * EACH;
    s->options.goal_alignment = 2 * EACH;
    step_ok(&s->f, scene_compact(s));
    cuarena_request_init(&request);
    request.alignment = 2 * EACH;
    step_ok(&s->f, cuarena_alloc_with(s->f.arena, 2 * EACH, &request, &pointer));
    free_ok(&s->f, pointer);
}
END_TEST

START_TEST(compact_stops_at_the_most_moves)
{
    scene_t *s = scene_opened(0x55);
    s->options.max_moves = 1;
    step_ok(&s->f, scene_compact(s));
    expect_u64(s->report.moves, 1);
    s->options.max_moves = UINT64_MAX;
    s->options.max_bytes = 2 * EACH;
    step_ok(&s->f, scene_compact(s));
    ck_assert_uint_le(s->report.bytes_moved, 2 * EACH);
    ck_assert_uint_ge(s->report.moves, 1);
}
END_TEST

static void bad_options_size(cuarena_compact_options_t *options)
{
    options->struct_size = 1;
}

static void bad_goal_alignment(cuarena_compact_options_t *options)
{
    options->goal_bytes = EACH;
    options->goal_alignment = 100;
}

static void bad_batch(cuarena_compact_options_t *options)
{
    options->batch_moves = 0;
}

static void bad_report_unmoved(cuarena_compact_options_t *options)
{
    options->report_unmoved = 2;
}

static void bad_zero(cuarena_compact_options_t *options)
{
    options->zero = 1;
}

static void (*const bad_options[])(cuarena_compact_options_t *options) = {
    bad_options_size, bad_goal_alignment, bad_batch, bad_report_unmoved, bad_zero};

START_TEST(compact_refuses_bad_options)
{
    scene_t *s = scene_opened(0x55);
    bad_options[_i](&s->options);
    step(&s->f, scene_compact(s), CUARENA_BAD_ARGUMENT);
    expect_text(picture(s), "-b-d-f-h");
    expect_u64(s->heard.batches, 0);
}
END_TEST

/* ---- Batches and the callback ------------------------------------------ */

START_TEST(compact_in_batches)
{
    scene_t *s = scene_opened(0x55);
    s->options.batch_moves = 1;
    step_ok(&s->f, scene_compact(s));
    expect_u64(s->heard.batches, 4);
    expect_u64(s->report.batches, 4);
    expect_u64(s->heard.largest_batch, 1);
    expect_text(picture(s), "bdfh----");
}
END_TEST

START_TEST(compact_stopped_by_its_callback)
{
    scene_t *s = scene_opened(0x55);
    s->options.batch_moves = 1;
    s->heard.stop_after = 1;
    step_ok(&s->f, scene_compact(s));
    ck_assert_int_eq(s->report.stopped, 1);
    expect_u64(s->report.batches, 1);
    expect_u64(s->report.moves, 1);
    expect_u64(s->heard.batches, 1);
    expect_ptr(address_of(&s->f, s->heard.list[0].block), s->heard.list[0].to);
}
END_TEST

START_TEST(compact_reports_the_unmoved_last)
{
    void *pinned = NULL;
    scene_t *s = scene_opened(0x0c);
    step_ok(&s->f, cuarena_block_pin(s->f.arena, s->row[7], &pinned));
    s->options.report_unmoved = 1;
    step_ok(&s->f, scene_compact(s));
    expect_text(picture(s), "abefg--h");
    expect_u64(s->heard.batches, 2);
    expect_u64(s->heard.count, 5);
    for (size_t i = 3; i < 5; i++)
        expect_ptr(s->heard.list[i].from, s->heard.list[i].to);
    ck_assert_ptr_nonnull(heard_of(&s->heard, s->row[0]));
    ck_assert_ptr_nonnull(heard_of(&s->heard, s->row[1]));
    ck_assert_ptr_null(heard_of(&s->heard, s->row[7]));
    expect_u64(s->report.moves, 3);
}
END_TEST

START_TEST(compact_counts_in_the_statistics)
{
    scene_t *s = scene_opened(0x55);
    step_ok(&s->f, scene_compact(s));
    cuarena_stats_t stats = stats_of(&s->f);
    expect_u64(stats.compactions, 1);
    expect_u64(stats.moves, 4);
    expect_u64(stats.bytes_moved, 4 * EACH);
}
END_TEST

START_TEST(compact_does_not_call_the_relocation_callback)
{
    heard_t other = {.count = 0};
    scene_t *s = scene_opened(0x55);
    expect_ok(cuarena_set_relocation_callback(s->f.arena, hear_relocations, &other));
    step_ok(&s->f, scene_compact(s));
    expect_u64(other.batches, 0);
    expect_u64(s->heard.batches, 1);
}
END_TEST

/* What is not legal inside, and a few of the calls that are. */
static int32_t try_everything(void *user, const cuarena_relocation_t *list, size_t count)
{
    scene_t *s = user;
    cuarena_t *arena = s->f.arena;
    uint64_t given = 0;
    void *pointer = NULL;
    expect_status(cuarena_compact(arena, NULL, NULL, NULL, NULL), CUARENA_REENTERED);
    expect_status(cuarena_reset(arena), CUARENA_REENTERED);
    expect_status(cuarena_resize_pool(arena, 2 * POOL), CUARENA_REENTERED);
    expect_status(cuarena_trim(arena, 0, &given), CUARENA_REENTERED);
    expect_status(cuarena_destroy(&arena), CUARENA_REENTERED);
    expect_status(cuarena_destroy_forced(&arena), CUARENA_REENTERED);
    for (size_t i = 0; i < count; i++)
        expect_ptr(address_of(&s->f, list[i].block), list[i].to);
    step_ok(&s->f, cuarena_block_pin(arena, list[0].block, &pointer));
    expect_ptr(pointer, list[0].to);
    step_ok(&s->f, cuarena_block_unpin(arena, list[0].block));
    free_ok(&s->f, alloc_ok(&s->f, EACH));
    s->heard.batches++;
    return 0;
}

/* A request that only growth can serve, and one that only a trim before growth can. */
static int32_t outgrow(void *user, const cuarena_relocation_t *list, size_t count)
{
    fixture_t *f = user;
    (void)list;
    (void)count;
    cuarena_block_t block = 0;
    step_ok(f, cuarena_block_alloc(f->arena, 4 * POOL, &block));
    step_ok(f, cuarena_block_free(f->arena, block));
    return 0;
}

static void compact_in_listener(void *user, const cuarena_event_t *event)
{
    fixture_t *f = user;
    if (event->kind != CUARENA_EVENT_COMPACT)
        return;
    expect_status(cuarena_compact(f->arena, NULL, NULL, NULL, NULL), CUARENA_REENTERED);
    expect_status(cuarena_trim(f->arena, 0, NULL), CUARENA_REENTERED);
    outgrow(f, NULL, 0);
}

/* A full row without every second block, in an arena that grows. */
static fixture_t *growing_row(fixture_t *f, cuarena_block_t *row)
{
    fixture_open(f, KIND_CUSTOM_GROW, 16 * POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    return f;
}

START_TEST(compact_callback_may_need_growth)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = growing_row(new_fixture(fixture_close), row);
    expect_ok(cuarena_compact(f->arena, NULL, outgrow, f, NULL));
    expect_recount(f);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(compact_listener_may_need_growth)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = growing_row(new_fixture(fixture_close), row);
    expect_ok(cuarena_set_event_listener(f->arena, compact_in_listener, f));
    expect_ok(cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_ok(cuarena_set_event_listener(f->arena, NULL, NULL));
    expect_recount(f);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(compact_callback_may_call_all_but_some)
{
    scene_t *s = scene_opened(0x55);
    step_ok(&s->f, cuarena_compact(s->f.arena, NULL, try_everything, s, NULL));
    expect_u64(s->heard.batches, 1);
    expect_text(picture(s), "bdfh----");
    step_ok(&s->f, cuarena_compact(s->f.arena, NULL, NULL, NULL, NULL));
}
END_TEST

static int32_t free_all_reported(void *user, const cuarena_relocation_t *list, size_t count)
{
    scene_t *s = user;
    for (size_t i = 0; i < count; i++)
        free_block(&s->f, list[i].block);
    return 0;
}

START_TEST(compact_callback_may_free_what_moved)
{
    scene_t *s = scene_opened(0x55);
    s->options.batch_moves = 2;
    step_ok(&s->f, cuarena_compact(s->f.arena, &s->options, free_all_reported, s, &s->report));
    expect_u64(live_blocks(&s->f), 0);
    memset(s->row, 0, sizeof s->row);
}
END_TEST

static int32_t compact_the_other(void *user, const cuarena_relocation_t *list, size_t count)
{
    scene_t *other = user;
    (void)list;
    (void)count;
    step_ok(&other->f, scene_compact(other));
    return 0;
}

START_TEST(compact_callback_may_compact_another_arena)
{
    scene_t s, other;
    scene_open(&s, 0x55);
    scene_open(&other, 0xaa);
    step_ok(&s.f, cuarena_compact(s.f.arena, NULL, compact_the_other, &other, NULL));
    expect_text(picture(&s), "bdfh----");
    expect_text(picture(&other), "aceg----");
    scene_close(&other);
    scene_close(&s);
}
END_TEST

/* ---- When it cannot ---------------------------------------------------- */

START_TEST(compact_on_a_memory_that_cannot_relocate)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    test_memory_make_plain(&f->memory);
    fixture_create(f);
    step(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL), CUARENA_UNSUPPORTED);
}
END_TEST

START_TEST(compact_refused_before_the_first_byte_changes_nothing)
{
    scene_t *s = scene_opened(0x55);
    s->f.memory.fail_in = 1;
    s->f.memory.fail_op = OP_RELOCATE;
    step(&s->f, scene_compact(s), CUARENA_DRIVER);
    expect_text(picture(s), "-b-d-f-h");
    expect_u64(s->heard.batches, 0);
    expect_recount(&s->f);
    step_ok(&s->f, scene_compact(s));
    expect_text(picture(s), "bdfh----");
}
END_TEST

/* Frees, queries and destroy work; the rest says so. */
static void expect_lost(fixture_t *f, cuarena_block_t block)
{
    void *pointer = NULL;
    uint64_t given = 0;
    expect_status(cuarena_alloc(f->arena, 256, &pointer), CUARENA_LOST);
    expect_status(cuarena_compact(f->arena, NULL, NULL, NULL, NULL), CUARENA_LOST);
    expect_status(cuarena_trim(f->arena, 0, &given), CUARENA_LOST);
    expect_status(cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_LOST);
    expect_status(cuarena_block_resize(f->arena, block, 1), CUARENA_LOST);
    ck_assert_uint_gt(live_blocks(f), 0);
    expect_ok(cuarena_block_free(f->arena, block));
    expect_status(cuarena_block_resize(f->arena, block, 1), CUARENA_STALE);
}

START_TEST(compact_that_fails_halfway_loses_the_arena)
{
    scene_t s;
    scene_open(&s, 0x55);
    s.f.memory.fail_in = 1;
    s.f.memory.fail_op = OP_RELOCATE;
    s.f.memory.fail_done = 2;
    cuarena_status_t status = scene_compact(&s);
    ck_assert_msg(status == CUARENA_LOST || status == CUARENA_DRIVER, "got %s",
                  cuarena_status_name(status));
    expect_u64(s.heard.batches, 0);
    expect_lost(&s.f, s.row[1]);
    expect_ok(cuarena_destroy_forced(&s.f.arena));
    fixture_release(&s.f);
}
END_TEST

/* Nothing moves there, so no pin is needed for what can still be saved. */
START_TEST(pins_in_a_lost_arena_can_only_end)
{
    void *pointer = NULL;
    void *pinned = NULL;
    cuarena_block_info_t info;
    scene_t s;
    scene_open(&s, 0x55);
    expect_ok(cuarena_block_pin(s.f.arena, s.row[7], &pinned));
    s.f.memory.fail_in = 1;
    s.f.memory.fail_op = OP_RELOCATE;
    s.f.memory.fail_done = 2;
    expect_status(scene_compact(&s), CUARENA_DRIVER);
    expect_status(cuarena_block_pin(s.f.arena, s.row[3], &pointer), CUARENA_LOST);
    expect_message("lost");
    ck_assert_ptr_null(pointer);
    expect_status(cuarena_block_pin(s.f.arena, s.row[7], &pointer), CUARENA_LOST);
    expect_ok(cuarena_block_info(s.f.arena, s.row[7], &info));
    ck_assert_ptr_eq(info.address, pinned);
    ck_assert_uint_eq(info.pins, 1);
    expect_ok(cuarena_block_unpin(s.f.arena, s.row[7]));
    expect_status(cuarena_block_unpin(s.f.arena, s.row[7]), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_block_info(s.f.arena, s.row[3], &info));
    ck_assert_ptr_nonnull(info.address);
    expect_ok(cuarena_destroy_forced(&s.f.arena));
    fixture_release(&s.f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compact");
    TCase *tcase = new_case(suite, "tables");
    tcase_add_loop_test(tcase, compact_refuses_bad_options, 0, COUNT_OF(bad_options));
    suite_add_list(suite, "what moves",
                   TEST_LIST(compact_nothing, compact_slides_all_together,
                             compact_tells_each_block_old_and_new, compact_neighbours_are_one_copy,
                             compact_leaves_pinned_blocks, compact_leaves_pointers_until_unpinned,
                             compact_takes_null_for_all_but_the_arena,
                             compact_twice_moves_nothing_more,
                             compact_leaves_stable_dedicated_and_empty_blocks));
    suite_add_list(suite, "goals",
                   TEST_LIST(compact_to_a_goal_moves_the_least, compact_to_a_goal_that_is_met,
                             compact_to_a_goal_out_of_reach,
                             compact_to_a_goal_between_pinned_blocks,
                             compact_to_a_goal_beyond_the_limits, compact_with_an_aligned_goal,
                             compact_stops_at_the_most_moves));
    suite_add_list(suite, "callback",
                   TEST_LIST(compact_in_batches, compact_stopped_by_its_callback,
                             compact_reports_the_unmoved_last, compact_counts_in_the_statistics,
                             compact_does_not_call_the_relocation_callback,
                             compact_callback_may_call_all_but_some,
                             compact_callback_may_need_growth, compact_listener_may_need_growth,
                             compact_callback_may_free_what_moved,
                             compact_callback_may_compact_another_arena));
    suite_add_list(suite, "failures",
                   TEST_LIST(compact_on_a_memory_that_cannot_relocate,
                             compact_refused_before_the_first_byte_changes_nothing,
                             compact_that_fails_halfway_loses_the_arena,
                             pins_in_a_lost_arena_can_only_end));
    return suite_main(suite);
}
