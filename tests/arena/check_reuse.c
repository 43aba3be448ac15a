/*
 * Growth that reuses: idle pages elsewhere go back for the pages that it takes, as long as that is
 * worth it.
 *
 * Rows of blocks of a page each are in address order in one range, because nothing else is there.
 */
#include "support/fixture.h"

#include <stdlib.h>

#define PAGE KIB(64)
#define ROW 64
#define WIDE (24 * PAGE) /* fewer pages than every other block of a row leaves */

static void *row[ROW];

static void alloc_pages(fixture_t *f)
{
    alloc_pointer_row(f, row, ROW, PAGE);
}

/* Frees every other block, from the first on. */
static void leave_holes(fixture_t *f)
{
    for (int i = 0; i < ROW; i += 2) {
        free_ok(f, row[i]);
        row[i] = NULL;
    }
}

static uint64_t memory_calls(const fixture_t *f)
{
    return stats_of(f).memory_calls;
}

static const char *const memories[] = {
    "preset=grow,memory=none,handle=64KiB",
    "preset=grow,memory=pageable",
};
#define MEMORIES ((int)COUNT_OF(memories))

/* Contents of the blocks that stay are looked at when they are freed. */
START_TEST(growth_takes_the_place_of_idle_pages)
{
    fixture_t *f = opened_text(memories[_i]);
    alloc_pages(f);
    leave_holes(f);
    expect_u64(reserved_bytes(f), ROW * PAGE);
    void *wide = alloc_ok(f, WIDE);
    expect_u64(reserved_bytes(f), ROW * PAGE);
    expect_u64(stats_of(f).peak_reserved_bytes, ROW * PAGE);
    free_ok(f, wide);
    free_pointer_row(f, row, ROW, PAGE);
    fixture_close(f);
}
END_TEST

/* What was in use before the owner had all given back does not count. */
START_TEST(growth_after_a_trim_takes_the_place_of_idle_pages)
{
    fixture_t *f = opened_text(memories[_i]);
    free_ok(f, alloc_ok(f, 4 * ROW * PAGE));
    expect_ok(cuarena_trim(f->arena, 0, NULL));
    expect_u64(reserved_bytes(f), 0);
    alloc_pages(f);
    leave_holes(f);
    void *wide = alloc_ok(f, WIDE);
    expect_u64(reserved_bytes(f), ROW * PAGE);
    free_ok(f, wide);
    free_pointer_row(f, row, ROW, PAGE);
    fixture_close(f);
}
END_TEST

/* One page in 64 of what was in use, and three. */
START_TEST(a_little_more_is_taken_without_giving_anything_back)
{
    fixture_t *f = opened_text(memories[0]);
    alloc_pages(f);
    free_ok(f, row[1]);
    row[1] = NULL;
    void *two = alloc_ok(f, 2 * PAGE);
    expect_u64(reserved_bytes(f), (ROW + 2) * PAGE);
    expect_u64(stats_of(f).trims, 0);
    free_ok(f, two);
    free_pointer_row(f, row, ROW, PAGE);
    fixture_close(f);
}
END_TEST

/* A hole of 16 pages with 8 idle ones above it: the request has both, so these stay, and those that
 * go lie below. */
START_TEST(idle_pages_that_the_request_is_to_have_stay)
{
    fixture_t *f = opened_text(memories[0]);
    void *below = alloc_ok(f, 16 * PAGE);
    void *one = alloc_ok(f, PAGE);
    void *low = alloc_ok(f, 16 * PAGE);
    void *middle = alloc_ok(f, 8 * PAGE);
    void *top = alloc_ok(f, PAGE);
    free_ok(f, low);
    void *high = alloc_ok(f, 20 * PAGE); /* takes the 16 pages and 4 more above all */
    expect_u64(reserved_bytes(f), 46 * PAGE);
    free_ok(f, middle);
    free_ok(f, below);
    void *again = alloc_ok(f, 24 * PAGE);
    expect_ptr(again, low);
    expect_u64(reserved_bytes(f), 46 * PAGE);
    free_ok(f, one);
    free_ok(f, top);
    free_ok(f, high);
    free_ok(f, again);
    fixture_close(f);
}
END_TEST

/* Without holes in segments, or by chunks, or in a pool, growth takes what it lacks. */
START_TEST(arenas_that_cannot_reuse_grow)
{
    static const char *const options[] = {
        "preset=bfc,memory=none,handle=64KiB,initial_chunk=64KiB,max_doubling=64KiB",
    };
    fixture_t *f = opened_text(options[0]);
    alloc_pages(f);
    leave_holes(f);
    uint64_t before = reserved_bytes(f);
    void *wide = alloc_ok(f, WIDE);
    ck_assert_uint_ge(reserved_bytes(f), before + WIDE);
    expect_u64(stats_of(f).trims, 0);
    free_ok(f, wide);
    free_pointer_row(f, row, ROW, PAGE);
    fixture_close(f);
}
END_TEST

/* Loops are of thousands of passes: each pass looks at the arena once, not at each call. */
static void *alloc_unseen(fixture_t *f, uint64_t bytes)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc(f->arena, bytes, &pointer));
    return pointer;
}

static void free_unseen(fixture_t *f, void *pointer)
{
    expect_ok(cuarena_free(f->arena, pointer));
}

static int by_address(const void *left, const void *right)
{
    char *const *a = left, *const *b = right;
    return (*a > *b) - (*a < *b);
}

static void play_once(fixture_t *f)
{
    for (int i = 0; i < ROW; i++)
        row[i] = alloc_unseen(f, PAGE);
    qsort(row, ROW, sizeof *row, by_address);
    for (int i = 0; i < ROW; i += 2)
        free_unseen(f, row[i]);
    free_unseen(f, alloc_unseen(f, WIDE));
    for (int i = 1; i < ROW; i += 2)
        free_unseen(f, row[i]);
    expect_sound(f);
}

/* It reuses pages until it has done so often enough, then holds them all. */
START_TEST(a_loop_comes_to_an_end_of_reusing)
{
    fixture_t *f = opened_text(memories[0]);
    play_once(f);
    uint64_t first = reserved_bytes(f);
    uint64_t calls = 0;
    int quiet = 0;
    for (int i = 0; i < 20000 && quiet < 100; i++) {
        play_once(f);
        quiet = memory_calls(f) == calls ? quiet + 1 : 0;
        calls = memory_calls(f);
    }
    ck_assert_msg(quiet == 100, "pages are reused in the 20000th pass as well");
    ck_assert_uint_le(first, (ROW + 2) * PAGE);
    ck_assert_uint_le(reserved_bytes(f), ROW * PAGE + WIDE);
    fixture_close(f);
}
END_TEST

#define LIVE 24
#define CHANGES 300

/* The same sizes and lifetimes each time: where pages are needed goes round in circles. */
static void play_changes(fixture_t *f, uint32_t seed)
{
    void *blocks[LIVE] = {NULL};
    random_state_t random = {seed};
    for (int i = 0; i < CHANGES; i++) {
        void **block = &blocks[random_below(&random, LIVE)];
        free_unseen(f, *block);
        *block = alloc_unseen(f, (1 + random_below(&random, 64)) * PAGE);
    }
    for (int i = 0; i < LIVE; i++)
        free_unseen(f, blocks[i]);
    expect_sound(f);
}

/* Pages that go back join holes, so growth may choose another place, which lacks fewer pages. */
START_TEST(a_loop_of_many_sizes_comes_to_an_end_of_reusing)
{
    fixture_t *f = opened_text(memories[0]);
    uint64_t calls = 0;
    int quiet = 0;
    for (int pass = 0; pass < 4000 && quiet < 20; pass++) {
        play_changes(f, (uint32_t)_i);
        quiet = memory_calls(f) == calls ? quiet + 1 : 0;
        calls = memory_calls(f);
    }
    ck_assert_msg(quiet == 20, "pages are reused in the 4000th pass as well");
    fixture_close(f);
}
END_TEST

/* Beside 50 live pages a limit of 100 has no room for 75, whatever is free: 20 pages beside the
 * place that growth would choose, and 30 elsewhere. */
START_TEST(nothing_goes_back_for_a_request_that_cannot_fit)
{
    void *pointer = NULL;
    fixture_t *f = opened_text("preset=grow,handle=64KiB,memory=none,limit=6553600,addresses=1GiB,"
                               "placement=low");
    void *first = alloc_ok(f, 25 * PAGE);
    void *second = alloc_ok(f, 20 * PAGE);
    void *third = alloc_ok(f, 25 * PAGE);
    void *fourth = alloc_ok(f, 30 * PAGE);
    free_ok(f, second);
    free_ok(f, fourth);
    step(f, cuarena_alloc(f->arena, 75 * PAGE, &pointer), CUARENA_LIMIT);
    expect_u64(reserved_bytes(f), 100 * PAGE);
    expect_u64(stats_of(f).trims, 0);
    step_ok(f, cuarena_alloc(f->arena, 50 * PAGE, &pointer));
    expect_u64(reserved_bytes(f), 100 * PAGE);
    free_ok(f, pointer);
    free_ok(f, first);
    free_ok(f, third);
    fixture_close(f);
}
END_TEST

/* ... and it is no reason to hold more from then on. */
START_TEST(a_request_that_cannot_fit_was_never_in_use)
{
    void *pointer = NULL;
    fixture_t *f = opened_text("preset=grow,memory=none,handle=64KiB,limit=12800KiB");
    alloc_pages(f);
    step(f, cuarena_alloc(f->arena, 180 * PAGE, &pointer), CUARENA_LIMIT);
    leave_holes(f);
    void *wide = alloc_ok(f, WIDE);
    expect_u64(reserved_bytes(f), ROW * PAGE);
    free_ok(f, wide);
    free_pointer_row(f, row, ROW, PAGE);
    fixture_close(f);
}
END_TEST

/* Pages went back for the request, and then the memory has none: all that lived stays sound, and
 * what went back can be taken again. */
START_TEST(a_growth_that_fails_after_pages_went_back_loses_no_block)
{
    fixture_t *f = opened(&arena_kinds[GROW_CUSTOM], MIB(64));
    alloc_pages(f);
    leave_holes(f);
    for (int again = 0; again < 8; again++) {
        void *wide = NULL;
        f->memory.fail_op = -1;
        f->memory.fail_in = 1 + again;
        f->memory.fail_again = 0;
        f->memory.fail_with = CUARENA_OUT_OF_MEMORY;
        cuarena_status_t status = cuarena_alloc(f->arena, WIDE, &wide);
        f->memory.fail_in = 0;
        expect_sound(f);
        ck_assert_msg(status == CUARENA_OK || status == CUARENA_OUT_OF_MEMORY, "%s",
                      cuarena_status_name(status));
        if (wide == NULL)
            wide = alloc_ok(f, WIDE);
        free_ok(f, wide);
    }
    free_pointer_row(f, row, ROW, PAGE);
    fixture_close(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reuse");
    TCase *growth =
        suite_add_list(suite, "growth",
                       TEST_LIST(a_little_more_is_taken_without_giving_anything_back,
                                 idle_pages_that_the_request_is_to_have_stay,
                                 arenas_that_cannot_reuse_grow, a_loop_comes_to_an_end_of_reusing,
                                 nothing_goes_back_for_a_request_that_cannot_fit,
                                 a_request_that_cannot_fit_was_never_in_use,
                                 a_growth_that_fails_after_pages_went_back_loses_no_block));
    tcase_add_loop_test(growth, a_loop_of_many_sizes_comes_to_an_end_of_reusing, 1, 9);
    tcase_add_loop_test(growth, growth_takes_the_place_of_idle_pages, 0, MEMORIES);
    tcase_add_loop_test(growth, growth_after_a_trim_takes_the_place_of_idle_pages, 0, MEMORIES);
    return suite_main(suite);
}
