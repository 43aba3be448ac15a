/*
 * Arenas of many segments, and of many holes: their list after removals in the middle, and growth
 * where there are too many holes to look at each.
 */
#include "support/fixture.h"

#define GRANULARITY (UINT64_C(64) << 10)

#define BLOCKS 300u

static fixture_t *f;
static void *blocks[2 * BLOCKS];

/* Blocks live when the test is over. */
static void open_arena(const char *options)
{
    f = new_fixture(fixture_close_forced);
    fixture_open_text(f, options);
}

static const char *const keepers[] = {
    "preset=grow,memory=none,keep=none,in_place=0",
    "preset=grow,memory=pageable,keep=none,in_place=0",
    "preset=grow,memory=none,keep=none",
    "preset=grow,memory=pageable,keep=none",
    "preset=mlx-cpu,memory=none,in_place=0,cache_limit=1",
    "preset=mlx-cpu,memory=none,cache_limit=4MiB,cache_bound=late",
};
#define KEEPERS COUNT_OF(keepers)

/* Segments or holes come and go in the middle; nothing is held but blocks. */
START_TEST(many_segments_stay_right_after_removals_in_the_middle)
{
    random_state_t random = {7};
    open_arena(keepers[_i]);
    for (uint32_t i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_ok(f, (random_below(&random, 3) + 1) * GRANULARITY);
    for (uint32_t i = 0; i < 4 * BLOCKS; i++) {
        uint64_t at = random_below(&random, BLOCKS);
        if (blocks[at] != NULL) {
            expect_ok(cuarena_free(f->arena, blocks[at]));
            blocks[at] = NULL;
        } else {
            blocks[at] = alloc_ok(f, (random_below(&random, 3) + 1) * GRANULARITY);
        }
        expect_sound(f);
        if (_i < 5)
            expect_u64(stats_of(f).reserved_bytes, stats_of(f).live_bytes);
    }
}
END_TEST

/* A batch of cuts takes the last segments of the list, and others. */
START_TEST(many_segments_stay_right_after_a_trim_of_every_third)
{
    open_arena("preset=grow,memory=none,in_place=0");
    for (uint32_t i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_ok(f, GRANULARITY);
    for (uint32_t i = 0; i < BLOCKS; i += 3)
        expect_ok(cuarena_free(f->arena, blocks[i]));
    expect_ok(cuarena_free(f->arena, blocks[BLOCKS - 1]));
    uint64_t given;
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(given, (BLOCKS / 3 + 1) * GRANULARITY);
    expect_u64(stats_of(f).segments, BLOCKS - BLOCKS / 3 - 1);
    expect_sound(f);
}
END_TEST

/* Blocks of a granularity with holes of a granularity between; one hole is of `page_multiple`. */
static void *open_holes(const char *options, uint32_t wide, uint64_t page_multiple)
{
    void *widest = NULL;
    open_arena(options);
    for (uint32_t i = 0; i < 2 * BLOCKS; i++) {
        blocks[i] = alloc_ok(f, i == wide ? page_multiple * GRANULARITY : GRANULARITY);
        if (i == wide)
            widest = blocks[i];
    }
    for (uint32_t i = 0; i < 2 * BLOCKS; i += 2)
        expect_ok(cuarena_free(f->arena, blocks[i]));
    expect_ok(cuarena_trim(f->arena, 0, NULL));
    expect_sound(f);
    return widest;
}

START_TEST(growth_fills_the_hole_with_room_of_many_without)
{
    void *hole = open_holes("preset=grow,memory=none", BLOCKS, 5);
    uint64_t held = stats_of(f).reserved_bytes;
    ck_assert_ptr_eq(alloc_ok(f, 5 * GRANULARITY), hole);
    expect_u64(stats_of(f).reserved_bytes, held + 5 * GRANULARITY);
    expect_sound(f);
}
END_TEST

START_TEST(growth_fills_the_hole_that_free_bytes_make_cheaper)
{
    void *hole = open_holes("preset=grow,memory=none", BLOCKS, 4);
    expect_ok(cuarena_free(f->arena, blocks[BLOCKS - 1]));
    uint64_t held = stats_of(f).reserved_bytes;
    ck_assert_ptr_eq(alloc_ok(f, 5 * GRANULARITY), (char *)hole - GRANULARITY);
    expect_u64(stats_of(f).reserved_bytes, held + 4 * GRANULARITY);
    expect_sound(f);
}
END_TEST

/* Few holes are looked at, none with room, and the limit leaves 2 pages of 5 that the end would
 * take; but beside one hole 4 are free. */
START_TEST(growth_looks_at_every_hole_before_it_refuses)
{
    open_holes("preset=grow,memory=none", BLOCKS + 1, 4);
    expect_ok(cuarena_free(f->arena, blocks[BLOCKS + 1]));
    expect_u64(stats_of(f).reserved_bytes, (BLOCKS + 3) * GRANULARITY);
    cuarena_amount_t limit = {CUARENA_AMOUNT_BYTES, 0, (BLOCKS + 5) * GRANULARITY};
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, limit, NULL));
    uint64_t trims = stats_of(f).trims;
    ck_assert_ptr_eq(alloc_ok(f, 5 * GRANULARITY), (char *)blocks[BLOCKS + 1] - GRANULARITY);
    expect_u64(stats_of(f).trims, trims); /* which would have helped too */
    expect_u64(stats_of(f).reserved_bytes, (BLOCKS + 4) * GRANULARITY);
    expect_sound(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("many segments");
    suite_add_rows(suite, "list", many_segments_stay_right_after_removals_in_the_middle, KEEPERS);
    suite_add_list(suite, "holes",
                   TEST_LIST(many_segments_stay_right_after_a_trim_of_every_third,
                             growth_fills_the_hole_with_room_of_many_without,
                             growth_fills_the_hole_that_free_bytes_make_cheaper,
                             growth_looks_at_every_hole_before_it_refuses));
    return suite_main(suite);
}
