/*
 * zero=free: all bytes that leave a block read as 0 before they are anybody else's, whichever way
 * they leave it; and what becomes of a call whose memory cannot set them to 0. And of zero=alloc:
 * empty blocks that get bytes.
 */
#include "support/fixture.h"

#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

static fixture_t *open_zero_free(fixture_t *f, const arena_kind_t *kind)
{
    fixture_prepare(f, kind, POOL);
    fixture_zero_free(f);
    fixture_create(f);
    return f;
}

/* Every second block of a row ends. */
static fixture_t *open_holes(fixture_t *f, cuarena_block_t *row)
{
    open_zero_free(f, KIND_CUSTOM_POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    expect_free_is_zero(f);
    return f;
}

static void *alloc_painted(fixture_t *f, uint64_t bytes, uint64_t seed)
{
    void *pointer = alloc_ok(f, bytes);
    paint(f, pointer, bytes, seed);
    return pointer;
}

static void fail_zeroing(fixture_t *f, int32_t times)
{
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    f->memory.fail_again = times - 1;
    f->memory.fail_with = CUARENA_DRIVER;
}

/* ---- Ways to leave a block --------------------------------------------- */

START_TEST(zero_free_old_place_of_a_resize)
{
    void *now = NULL;
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    void *pointer = alloc_painted(f, EACH, 1);
    void *wall = alloc_ok(f, EACH);
    fill_with(f, wall, EACH, 0);
    step_ok(f, cuarena_resize(f->arena, pointer, 3 * EACH, &now));
    ck_assert_msg(now != pointer, "the resize was to move the block");
    expect_painted(f, now, EACH, 1);
    expect_free_is_zero(f);
    free_ok(f, wall);
    free_ok(f, now);
    expect_free_is_zero(f);
}
END_TEST

START_TEST(zero_free_tail_of_a_shrink_in_place)
{
    void *now = NULL;
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    void *pointer = alloc_painted(f, 2 * EACH, 2);
    step_ok(f, cuarena_resize(f->arena, pointer, EACH + 1, &now));
    expect_ptr(now, pointer);
    expect_painted(f, now, EACH + 1, 2);
    expect_free_is_zero(f);
    free_ok(f, now);
}
END_TEST

START_TEST(zero_free_block_resized_to_nothing)
{
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_block(f, EACH);
    paint(f, address_of(f, block), EACH, 3);
    step_ok(f, cuarena_block_resize(f->arena, block, 0));
    expect_free_is_zero(f);
    free_block(f, block);
}
END_TEST

START_TEST(zero_free_what_compaction_vacates)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = open_holes(new_fixture(fixture_close), row);
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_free_is_zero(f);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* With a block that stays between those that move. */
START_TEST(zero_free_what_limited_compactions_vacate)
{
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    void *pinned = NULL;
    fixture_t *f = open_holes(new_fixture(fixture_close), row);
    cuarena_compact_options_init(&options);
    options.max_moves = 1;
    expect_ok(cuarena_block_pin(f->arena, row[5], &pinned));
    for (int i = 0; i < 3; i++) {
        step_ok(f, cuarena_compact(f->arena, &options, NULL, NULL, NULL));
        expect_free_is_zero(f);
    }
    expect_ok(cuarena_block_unpin(f->arena, row[5]));
    options.max_moves = UINT64_MAX;
    options.goal_bytes = POOL / 2;
    step_ok(f, cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_free_is_zero(f);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* The test memory looks at what goes back to it. */
START_TEST(zero_free_pool_that_moves)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    fixture_zero_free(f);
    f->memory.ops.grow = NULL;
    f->memory.ops.shrink = NULL;
    fixture_create(f);
    cuarena_block_t block = alloc_block(f, EACH);
    paint(f, address_of(f, block), EACH, 4);
    step_ok(f, cuarena_resize_pool(f->arena, 2 * POOL));
    expect_painted(f, address_of(f, block), EACH, 4);
    expect_free_is_zero(f);
    free_block(f, block);
}
END_TEST

START_TEST(zero_free_dedicated_block)
{
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_GROW);
    void *pointer = alloc_dedicated(f, EACH);
    paint(f, pointer, EACH, 5);
    free_ok(f, pointer);
    expect_u64(f->memory.counts[OP_ZERO], 1);
}
END_TEST

START_TEST(zero_free_dedicated_block_of_a_memory_that_comes_zeroed)
{
    fixture_t *f = prepared(KIND_CUSTOM_GROW, POOL);
    fixture_zero_free(f);
    f->memory.wants_zeros = 0;
    f->memory.ops.properties |= CUARENA_MEMORY_COMES_ZEROED;
    fixture_create(f);
    void *pointer = alloc_dedicated(f, EACH);
    paint(f, pointer, EACH, 5);
    free_ok(f, pointer);
    expect_u64(f->memory.counts[OP_ZERO], 0);
}
END_TEST

START_TEST(zero_free_reset)
{
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_GROW);
    alloc_painted(f, EACH, 6);
    paint(f, alloc_dedicated(f, EACH), EACH, 7);
    step_ok(f, cuarena_reset(f->arena));
    expect_free_is_zero(f);
}
END_TEST

START_TEST(zero_free_leaves_adopted_bytes_alone)
{
    static _Alignas(4096) unsigned char ours[4096];
    cuarena_block_t block;
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    paint_bytes(ours, sizeof ours, 8);
    step_ok(f, cuarena_adopt(f->arena, ours, sizeof ours, 0, &block));
    free_block(f, block);
    expect_u64(painted_until(ours, sizeof ours, 8), sizeof ours);
}
END_TEST

/* ---- A memory that cannot ---------------------------------------------- */

START_TEST(zero_free_shrink_that_cannot_changes_nothing)
{
    void *now = UNTOUCHED;
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    void *pointer = alloc_painted(f, 2 * EACH, 1);
    fail_zeroing(f, 1);
    step(f, cuarena_resize(f->arena, pointer, EACH, &now), CUARENA_DRIVER);
    expect_ptr(now, UNTOUCHED);
    expect_painted(f, pointer, 2 * EACH, 1);
    free_ok(f, pointer);
}
END_TEST

/* The copy goes instead of the old place. */
START_TEST(zero_free_resize_that_cannot_once_changes_nothing)
{
    void *now = UNTOUCHED;
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    void *pointer = alloc_painted(f, EACH, 1);
    void *wall = alloc_ok(f, EACH);
    fill_with(f, wall, EACH, 0);
    fail_zeroing(f, 1);
    step(f, cuarena_resize(f->arena, pointer, 3 * EACH, &now), CUARENA_DRIVER);
    expect_ptr(now, UNTOUCHED);
    expect_painted(f, pointer, EACH, 1);
    expect_free_is_zero(f);
    free_ok(f, wall);
    free_ok(f, pointer);
}
END_TEST

/* Nobody is served contents, so nobody is served. */
START_TEST(zero_free_resize_that_cannot_again_loses_the_arena)
{
    void *now = UNTOUCHED;
    fixture_t *f = open_zero_free(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    f->memory.wants_zeros = 0;
    void *pointer = alloc_painted(f, EACH, 1);
    void *wall = alloc_ok(f, EACH);
    fail_zeroing(f, 2);
    step(f, cuarena_resize(f->arena, pointer, 3 * EACH, &now), CUARENA_DRIVER);
    expect_painted(f, pointer, EACH, 1);
    step(f, cuarena_alloc(f->arena, 1, &now), CUARENA_LOST);
    expect_ok(cuarena_free(f->arena, wall));
    expect_ok(cuarena_free(f->arena, pointer));
}
END_TEST

START_TEST(zero_free_compaction_that_cannot_loses_the_arena)
{
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = open_holes(new_fixture(fixture_close), row);
    f->memory.wants_zeros = 0;
    fail_zeroing(f, 1);
    step(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL), CUARENA_DRIVER);
    step(f, cuarena_alloc(f->arena, 1, &pointer), CUARENA_LOST);
    expect_ptr(pointer, UNTOUCHED);
    fixture_close_forced(f);
}
END_TEST

/* ---- zero=alloc -------------------------------------------------------- */

START_TEST(zero_alloc_empty_block_that_gets_bytes)
{
    cuarena_block_t block = 0;
    void *pointer = NULL;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.zero = CUARENA_ZERO_ALLOC;
    fixture_create(f);
    void *all = alloc_ok(f, POOL);
    fill_with(f, all, POOL, 0xee);
    free_ok(f, all);
    step_ok(f, cuarena_block_alloc(f->arena, 0, &block));
    for (int i = 0; i < 2; i++) {
        step_ok(f, cuarena_block_resize(f->arena, block, EACH));
        step_ok(f, cuarena_block_pin(f->arena, block, &pointer));
        expect_zero(f, pointer, EACH);
        fill_with(f, pointer, EACH, 0xee);
        step_ok(f, cuarena_block_unpin(f->arena, block));
        step_ok(f, cuarena_block_resize(f->arena, block, 0));
    }
    free_block(f, block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zero free");
    suite_add_list(suite, "leaves",
                   TEST_LIST(zero_free_old_place_of_a_resize, zero_free_tail_of_a_shrink_in_place,
                             zero_free_block_resized_to_nothing, zero_free_what_compaction_vacates,
                             zero_free_what_limited_compactions_vacate, zero_free_pool_that_moves,
                             zero_free_dedicated_block,
                             zero_free_dedicated_block_of_a_memory_that_comes_zeroed,
                             zero_free_reset, zero_free_leaves_adopted_bytes_alone));
    suite_add_list(suite, "cannot",
                   TEST_LIST(zero_free_shrink_that_cannot_changes_nothing,
                             zero_free_resize_that_cannot_once_changes_nothing,
                             zero_free_resize_that_cannot_again_loses_the_arena,
                             zero_free_compaction_that_cannot_loses_the_arena));
    suite_add_list(suite, "zero=alloc", TEST_LIST(zero_alloc_empty_block_that_gets_bytes));
    return suite_main(suite);
}
