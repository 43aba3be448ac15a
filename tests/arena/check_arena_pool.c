/*
 * How much an arena holds: growth, trim and limits, with the calls of the memory that each of them
 * makes.
 */
#include "support/arena_support.h"

#include <stdlib.h>
#include <sys/resource.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)
#define GRANULARITY KIB(4)

static void limit_to(fixture_t *f, int32_t kind, uint64_t bytes)
{
    expect_ok(cuarena_set_limit(f->arena, kind, amount_of_bytes(bytes), NULL));
}

/* ---- Growth ------------------------------------------------------------ */

START_TEST(test_growth_takes_what_a_request_lacks)
{
    fixture_t f;
    fixture_open(&f, KIND_CUSTOM_GROW, POOL);
    void *first = take(&f, 5000);
    expect_reserved(&f, 2 * GRANULARITY);
    void *second = take(&f, 5000);
    expect_reserved(&f, 3 * GRANULARITY);
    expect_text(test_memory_sequence(&f.memory), "get grow");
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).grows, 2);
    drop(&f, first);
    drop(&f, second);
    expect_reserved(&f, 3 * GRANULARITY);
    fixture_close(&f);
}
END_TEST

START_TEST(test_growth_keeps_addresses)
{
    fixture_t f;
    void *pointers[16];
    fixture_open(&f, KIND_CUSTOM_GROW, POOL);
    for (size_t i = 0; i < COUNT_OF(pointers); i++) {
        pointers[i] = take(&f, EACH / 2);
        paint(&f, pointers[i], EACH / 2, i);
    }
    expect_reserved(&f, POOL);
    drop_pointer_row(&f, pointers, COUNT_OF(pointers), EACH / 2);
    fixture_close(&f);
}
END_TEST

START_TEST(test_growth_by_segments_where_none_can_grow)
{
    fixture_t f;
    fixture_prepare(&f, KIND_CUSTOM_GROW, POOL);
    test_memory_make_plain(&f.memory);
    fixture_create(&f);
    void *first = take(&f, GRANULARITY);
    void *second = take(&f, 2 * GRANULARITY);
    expect_text(test_memory_sequence(&f.memory), "get get");
    expect_reserved(&f, 3 * GRANULARITY);
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).segments, 2);
    drop(&f, first);
    drop(&f, second);
    fixture_close(&f);
}
END_TEST

START_TEST(test_growth_past_the_reserved_addresses)
{
    fixture_t f;
    fixture_prepare(&f, KIND_CUSTOM_GROW, POOL);
    f.config.address_bytes = 2 * GRANULARITY;
    fixture_create(&f);
    void *first = take(&f, 2 * GRANULARITY);
    void *second = take(&f, GRANULARITY);
    expect_text(test_memory_sequence(&f.memory), "get get");
    drop(&f, first);
    drop(&f, second);
    fixture_close(&f);
}
END_TEST

/* A limit of the process on its addresses: fewer are set aside, and growth is in place as far as
 * they go. Sanitizers take addresses without number. */
START_TEST(test_growth_where_addresses_are_limited)
{
    fixture_t f;
    struct rlimit before, less;
    if (scale_pick(1, 0, 0) != 0)
        return;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = 8 * UINT64_C(1024) * MIB(1);
    fixture_prepare(&f, &arena_kinds[4], MIB(64));
    expect_ok(cuarena_config_parse(&f.config, "limit=64GiB"));
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &less), 0);
    fixture_create(&f);
    void *p = take(&f, MIB(1));
    void *q = take(&f, MIB(16));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).segments, 1);
    drop(&f, p);
    drop(&f, q);
    fixture_close(&f);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
}
END_TEST

START_TEST(test_growth_stops_at_the_limit)
{
    fixture_t f;
    void *pointer = NULL;
    fixture_open(&f, KIND_CUSTOM_GROW, POOL);
    step(&f, cuarena_alloc(f.arena, POOL + 1, &pointer), CUARENA_LIMIT);
    expect_reserved(&f, 0);
    void *all = take(&f, POOL);
    step(&f, cuarena_alloc(f.arena, 1, &pointer), CUARENA_LIMIT);
    expect_u64(last_error().limit_bytes, POOL);
    expect_u64(last_error().reserved_bytes, POOL);
    drop(&f, all);
    fixture_close(&f);
}
END_TEST

START_TEST(test_growth_refused_by_the_memory_changes_nothing)
{
    fixture_t f;
    void *pointer = NULL;
    fixture_open(&f, KIND_CUSTOM_GROW, POOL);
    void *first = take(&f, GRANULARITY);
    f.memory.budget_bytes = GRANULARITY;
    step(&f, cuarena_alloc(f.arena, GRANULARITY, &pointer), CUARENA_OUT_OF_MEMORY);
    f.memory.budget_bytes = UINT64_MAX;
    f.memory.fail_in = 1;
    step(&f, cuarena_alloc(f.arena, GRANULARITY, &pointer), CUARENA_DRIVER);
    expect_reserved(&f, GRANULARITY);
    ck_assert_ptr_null(pointer);
    drop(&f, take(&f, GRANULARITY));
    drop(&f, first);
    fixture_close(&f);
}
END_TEST

START_TEST(test_growth_of_a_block_in_place)
{
    fixture_t f;
    void *now = NULL;
    fixture_open(&f, KIND_CUSTOM_GROW, POOL);
    void *pointer = take(&f, GRANULARITY);
    paint(&f, pointer, GRANULARITY, 1);
    step_ok(&f, cuarena_resize(f.arena, pointer, 4 * GRANULARITY, &now));
    expect_painted(&f, now, GRANULARITY, 1);
    drop(&f, now);
    fixture_close(&f);
}
END_TEST

/* From 1 KiB to half the pool, then freed; how often bytes were copied. */
static uint64_t copies_of_a_chain(fixture_t *f)
{
    uint64_t before = f->memory.counts[OP_RELOCATE];
    void *pointer = take(f, KIB(1));
    paint(f, pointer, KIB(1), 1);
    for (uint64_t bytes = KIB(2); bytes <= MIB(16); bytes *= 2)
        step_ok(f, cuarena_resize(f->arena, pointer, bytes, &pointer));
    expect_painted(f, pointer, KIB(1), 1);
    drop(f, pointer);
    return f->memory.counts[OP_RELOCATE] - before;
}

START_TEST(test_chain_of_growth_is_in_place_from_its_second_time)
{
    fixture_t f;
    fixture_open(&f, KIND_CUSTOM_POOL, MIB(32));
    expect_u64(copies_of_a_chain(&f), 1);
    expect_u64(copies_of_a_chain(&f), 0);
    expect_u64(copies_of_a_chain(&f), 0);
    step_ok(&f, cuarena_reset(f.arena));
    expect_u64(copies_of_a_chain(&f), 1);
    fixture_close(&f);
}
END_TEST

/* ---- Trim -------------------------------------------------------------- */

START_TEST(test_trim_an_empty_pool_and_take_it_again)
{
    fixture_t f;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    expect_u64(trim_to(&f, 0), POOL);
    expect_reserved(&f, 0);
    drop(&f, take(&f, POOL));
    expect_reserved(&f, POOL);
    fixture_close(&f);
}
END_TEST

START_TEST(test_trim_keeps_what_it_is_told)
{
    fixture_t f;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    expect_u64(trim_to(&f, POOL), 0);
    expect_u64(trim_to(&f, POOL / 2), POOL / 2);
    expect_reserved(&f, POOL / 2);
    expect_u64(trim_to(&f, UINT64_MAX), 0);
    fixture_close(&f);
}
END_TEST

START_TEST(test_trim_takes_from_the_middle)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    take_row(&f, row, COUNT, EACH);
    drop_block(&f, row[3]);
    drop_block(&f, row[4]);
    row[3] = row[4] = 0;
    test_memory_forget_calls(&f.memory);
    expect_u64(trim_to(&f, 0), 2 * EACH);
    expect_text(test_memory_sequence(&f.memory), "punch");
    expect_reserved(&f, POOL - 2 * EACH);
    expect_recount(&f);
    row[3] = take_block(&f, 2 * EACH);
    expect_text(test_memory_sequence(&f.memory), "punch fill");
    drop_block(&f, row[3]);
    row[3] = 0;
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

/* The index of a block that the next one of the row touches. */
static size_t touching(fixture_t *f, const cuarena_block_t *row, uint64_t each)
{
    size_t i = 0;
    while ((char *)address_of(f, row[i]) + each != address_of(f, row[i + 1]))
        i++;
    return i;
}

/* A full pool of blocks a granule short of a granularity: where one was there is no whole
 * granularity, where two were there is one. */
START_TEST(test_trim_takes_whole_pages_only)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    uint64_t each = GRANULARITY - 256;
    fixture_prepare(&f, KIND_CUSTOM_POOL, COUNT * GRANULARITY);
    f.config.placement = CUARENA_PLACEMENT_LOW; /* one after the other */
    fixture_create(&f);
    take_row(&f, row, COUNT, each);
    void *rest = take(&f, COUNT * 256);
    size_t i = touching(&f, row, each);
    drop_block(&f, row[i]);
    expect_u64(trim_to(&f, 0), 0);
    drop_block(&f, row[i + 1]);
    expect_u64(trim_to(&f, 0), GRANULARITY);
    expect_u64(reserved_bytes(&f), (COUNT - 1) * GRANULARITY);
    row[i] = row[i + 1] = 0;
    drop(&f, rest);
    drop_row(&f, row, COUNT, each);
    fixture_close(&f);
}
END_TEST

START_TEST(test_trim_where_the_memory_has_no_holes)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    f.memory.ops.punch = NULL;
    f.memory.ops.fill = NULL;
    fixture_create(&f);
    take_row(&f, row, COUNT, EACH);
    drop_block(&f, row[2]);
    drop_block(&f, row[7]);
    row[2] = row[7] = 0;
    test_memory_forget_calls(&f.memory);
    expect_u64(trim_to(&f, 0), EACH);
    expect_text(test_memory_sequence(&f.memory), "shrink");
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

START_TEST(test_trim_where_segments_keep_their_length)
{
    fixture_t f;
    fixture_prepare(&f, KIND_CUSTOM_GROW, POOL);
    test_memory_make_plain(&f.memory);
    fixture_create(&f);
    void *first = take(&f, EACH);
    void *second = take(&f, EACH);
    drop(&f, first);
    test_memory_forget_calls(&f.memory);
    expect_u64(trim_to(&f, 0), EACH);
    expect_text(test_memory_sequence(&f.memory), "give_back");
    drop(&f, second);
    fixture_close(&f);
}
END_TEST

START_TEST(test_trim_refill_refused_by_the_memory)
{
    fixture_t f;
    void *pointer = NULL;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    trim_to(&f, 0);
    f.memory.budget_bytes = POOL / 2;
    step(&f, cuarena_alloc(f.arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    ck_assert_ptr_null(pointer);
    f.memory.budget_bytes = POOL;
    drop(&f, take(&f, POOL));
    fixture_close(&f);
}
END_TEST

START_TEST(test_trim_leaves_contents)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    take_row(&f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        drop_block(&f, row[i]);
        row[i] = 0;
    }
    expect_u64(trim_to(&f, 0), POOL / 2);
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).trims, 1);
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

START_TEST(test_trim_null_arguments)
{
    fixture_t f;
    uint64_t given = 9;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    step(&f, cuarena_trim(NULL, 0, &given), CUARENA_BAD_ARGUMENT);
    expect_u64(given, 9);
    step_ok(&f, cuarena_trim(f.arena, 0, NULL));
    fixture_close(&f);
}
END_TEST

/* ---- Limits ------------------------------------------------------------ */

START_TEST(test_limit_gives_the_old_one)
{
    fixture_t f;
    uint64_t old = 0;
    fixture_open(&f, KIND_CUSTOM_GROW, POOL);
    expect_ok(cuarena_get_limit(f.arena, CUARENA_LIMIT_LIVE, &old));
    expect_u64(old, UINT64_MAX);
    expect_ok(cuarena_set_limit(f.arena, CUARENA_LIMIT_RESERVED, amount_of_bytes(2 * POOL), &old));
    expect_u64(old, POOL);
    expect_ok(cuarena_get_limit(f.arena, CUARENA_LIMIT_RESERVED, &old));
    expect_u64(old, 2 * POOL);
    fixture_close(&f);
}
END_TEST

START_TEST(test_limit_live_stands_in_the_way)
{
    fixture_t f;
    void *pointer = NULL;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    limit_to(&f, CUARENA_LIMIT_LIVE, 1024);
    void *first = take(&f, 700);
    step(&f, cuarena_alloc(f.arena, 257, &pointer), CUARENA_LIMIT);
    expect_u64(last_error().asked_bytes, 257);
    expect_u64(last_error().limit_bytes, 1024);
    ck_assert_ptr_null(pointer);
    void *second = take(&f, 256);
    drop(&f, second);
    drop(&f, first);
    fixture_close(&f);
}
END_TEST

START_TEST(test_limit_live_bounds_growth_of_a_block)
{
    fixture_t f;
    void *now = NULL;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    limit_to(&f, CUARENA_LIMIT_LIVE, 1024);
    void *pointer = take(&f, 512);
    step(&f, cuarena_resize(f.arena, pointer, 1025, &now), CUARENA_LIMIT);
    ck_assert_ptr_null(now);
    step_ok(&f, cuarena_resize(f.arena, pointer, 1024, &now));
    drop(&f, now);
    fixture_close(&f);
}
END_TEST

START_TEST(test_limit_below_what_lives_bounds_what_comes)
{
    fixture_t f;
    void *pointer = NULL;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    void *first = take(&f, EACH);
    limit_to(&f, CUARENA_LIMIT_LIVE, 256);
    expect_sound(&f);
    step(&f, cuarena_alloc(f.arena, 1, &pointer), CUARENA_LIMIT);
    drop(&f, first);
    drop(&f, take(&f, 1));
    fixture_close(&f);
}
END_TEST

START_TEST(test_limit_held_below_what_is_held_still_serves)
{
    fixture_t f;
    void *pointer = NULL;
    fixture_open(&f, KIND_CUSTOM_GROW, POOL);
    drop(&f, take(&f, 2 * EACH));
    limit_to(&f, CUARENA_LIMIT_RESERVED, EACH);
    void *first = take(&f, 2 * EACH);
    step(&f, cuarena_alloc(f.arena, 1, &pointer), CUARENA_LIMIT);
    limit_to(&f, CUARENA_LIMIT_RESERVED, 3 * EACH);
    drop(&f, take(&f, EACH));
    drop(&f, first);
    fixture_close(&f);
}
END_TEST

static uint64_t limit_now(fixture_t *f, int32_t kind)
{
    uint64_t bytes = 0;
    expect_ok(cuarena_get_limit(f->arena, kind, &bytes));
    return bytes;
}

/* Whatever is held, by this arena and by others. */
START_TEST(test_limit_as_a_share_of_all_that_there_is)
{
    fixture_t f;
    void *pointer = NULL;
    cuarena_amount_t half = {CUARENA_AMOUNT_PERCENT, 0, 50000};
    cuarena_amount_t rest = {CUARENA_AMOUNT_AUTO, 0, MIB(1)};
    fixture_prepare(&f, KIND_CUSTOM_GROW, POOL);
    fixture_create(&f);
    expect_ok(cuarena_alloc(f.arena, EACH, &pointer));
    f.memory.total_bytes = MIB(64);
    f.memory.available_bytes = MIB(8);
    expect_ok(cuarena_set_limit(f.arena, CUARENA_LIMIT_RESERVED, half, NULL));
    expect_u64(limit_now(&f, CUARENA_LIMIT_RESERVED), MIB(32));
    expect_ok(cuarena_set_limit(f.arena, CUARENA_LIMIT_RESERVED, rest, NULL));
    expect_u64(limit_now(&f, CUARENA_LIMIT_RESERVED), MIB(7));
    expect_ok(cuarena_free(f.arena, pointer));
    fixture_close(&f);
}
END_TEST

/* 0.8 and 0.95, as MLX has them, and CuPy's variable. */
START_TEST(test_shares_of_presets_are_of_all_that_there_is)
{
    static const struct {
        int32_t preset;
        const char *variable; /* its text */
        int32_t limit;
        uint64_t thousandths;
    } rows[] = {
        {CUARENA_PRESET_MLX_CPU, NULL, CUARENA_LIMIT_SOFT, 800},
        {CUARENA_PRESET_MLX_CUDA, NULL, CUARENA_LIMIT_SOFT, 950},
        {CUARENA_PRESET_MLX_CUDA, NULL, CUARENA_LIMIT_CACHED, 950},
        {CUARENA_PRESET_CUPY_POOL, "40%", CUARENA_LIMIT_RESERVED, 400},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture_t f;
        fixture_prepare(&f, KIND_CUSTOM_GROW, POOL);
        f.config.preset = rows[i].preset;
        f.config.limit = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
        f.memory.total_bytes = 1000 * MIB(1);
        f.memory.available_bytes = MIB(7);
        if (rows[i].variable != NULL) {
            setenv("CUARENA_TEST_SHARE", rows[i].variable, 1);
            expect_ok(cuarena_config_limit_environment(&f.config, "CUARENA_TEST_SHARE"));
        }
        fixture_create(&f);
        expect_u64(limit_now(&f, rows[i].limit), rows[i].thousandths * MIB(1));
        fixture_close(&f);
    }
}
END_TEST

START_TEST(test_limit_bad_arguments)
{
    fixture_t f;
    uint64_t bytes = 9;
    cuarena_amount_t unit = {7, 0, 1}, zero = {CUARENA_AMOUNT_BYTES, 1, 1};
    cuarena_amount_t percent = {CUARENA_AMOUNT_PERCENT, 0, 100001};
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    expect_status(cuarena_set_limit(f.arena, 5, amount_of_bytes(1), &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(f.arena, 0, unit, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(f.arena, 0, zero, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(f.arena, 0, percent, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_get_limit(f.arena, -1, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_get_limit(f.arena, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_u64(bytes, 9);
    fixture_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    suite_add_list(
        suite, "growth",
        TEST_LIST(test_growth_takes_what_a_request_lacks, test_growth_keeps_addresses,
                  test_growth_by_segments_where_none_can_grow,
                  test_growth_past_the_reserved_addresses, test_growth_where_addresses_are_limited,
                  test_growth_stops_at_the_limit, test_growth_refused_by_the_memory_changes_nothing,
                  test_growth_of_a_block_in_place,
                  test_chain_of_growth_is_in_place_from_its_second_time));
    suite_add_list(suite, "trim",
                   TEST_LIST(test_trim_an_empty_pool_and_take_it_again,
                             test_trim_keeps_what_it_is_told, test_trim_takes_from_the_middle,
                             test_trim_takes_whole_pages_only,
                             test_trim_where_the_memory_has_no_holes,
                             test_trim_where_segments_keep_their_length,
                             test_trim_refill_refused_by_the_memory, test_trim_leaves_contents,
                             test_trim_null_arguments));
    suite_add_list(suite, "limits",
                   TEST_LIST(test_limit_gives_the_old_one, test_limit_live_stands_in_the_way,
                             test_limit_live_bounds_growth_of_a_block,
                             test_limit_below_what_lives_bounds_what_comes,
                             test_limit_held_below_what_is_held_still_serves,
                             test_limit_as_a_share_of_all_that_there_is,
                             test_shares_of_presets_are_of_all_that_there_is,
                             test_limit_bad_arguments));
    return suite_main(suite);
}
