/*
 * How much an arena holds: growth, trim and limits, with the calls of the memory that each of them
 * makes.
 */
#include "support/arena_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)
#define GRANULARITY KIB(4)

/* ---- Rows -------------------------------------------------------------- */

#define PAGES "memory gives pages, and they may grow"
#define SEGMENTS "memory gives segments, which keep their length"
#define WHOLE "memory is a pool"

/* In the place of options: what the memory is like. Pages have 4 KiB, and there are 512. */
static const arena_row_t holding_rows[] = {
    {"growth takes what a request lacks", PAGES,
     "alloc a 5000; holds 8K; alloc b 5000; holds 12K; calls get grow; grows 2; free a; free b; "
     "holds 12K"},
    {"growth by segments where none can grow", SEGMENTS,
     "alloc a 4K; alloc b 8K; calls get get; holds 12K; segments 2"},
    {"growth stops at the limit", PAGES,
     "alloc a 524289 is LIMIT; holds 0; alloc a 512K; "
     "alloc b 1 is LIMIT limit 512K reserved 512K"},

    {"an empty pool is trimmed and taken again", WHOLE,
     "trim gives 512K; holds 0; alloc a 512K; holds 512K"},
    {"a trim keeps what it is told", WHOLE,
     "trim 512K gives 0; trim 256K gives 256K; holds 256K; trim 18446744073709551615 gives 0"},
    {"a trim where segments keep their length", SEGMENTS,
     "alloc a 64K; alloc b 64K; free a; calls get get; trim gives 64K; calls give_back"},
    {"what was trimmed cannot be had again", WHOLE,
     "trim gives 512K; budget 256K; alloc a 512K is OUT_OF_MEMORY; budget 512K; alloc a 512K"},

    {"a limit of live bytes stands in the way", WHOLE,
     "limit live 1024; alloc a 700; alloc b 257 is LIMIT limit 1024; alloc b 256"},
    {"a limit of live bytes bounds growth of a block", WHOLE,
     "limit live 1024; alloc a 512; resize a 1025 is LIMIT; resize a 1024"},
    {"a limit below what lives bounds what comes", WHOLE,
     "alloc a 64K; limit live 256; alloc b 1 is LIMIT; free a; alloc b 1"},
    {"below a limit that came later what is held serves", PAGES,
     "alloc a 128K; free a; limit reserved 64K; alloc a 128K; alloc b 1 is LIMIT; "
     "limit reserved 192K; alloc b 64K"},
};

START_TEST(holding)
{
    fixture_t *f = new_fixture(fixture_close);
    arena_ground_t ground = {.f = f};
    const arena_row_t *row = &holding_rows[_i];
    fixture_prepare(f, strcmp(row->options, WHOLE) == 0 ? KIND_CUSTOM_POOL : KIND_CUSTOM_GROW,
                    POOL);
    if (strcmp(row->options, SEGMENTS) == 0)
        test_memory_make_plain(&f->memory);
    fixture_create(f);
    test_memory_forget_calls(&f->memory);
    arena_run(&ground, row->name, row->steps);
}
END_TEST

/* ---- Growth ------------------------------------------------------------ */

START_TEST(growth_keeps_addresses)
{
    void *pointers[16];
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    for (size_t i = 0; i < COUNT_OF(pointers); i++) {
        pointers[i] = alloc_ok(f, EACH / 2);
        paint(f, pointers[i], EACH / 2, i);
    }
    expect_reserved(f, POOL);
    free_pointer_row(f, pointers, COUNT_OF(pointers), EACH / 2);
}
END_TEST

START_TEST(growth_past_the_reserved_addresses)
{
    fixture_t *f = prepared(KIND_CUSTOM_GROW, POOL);
    f->config.address_bytes = 2 * GRANULARITY;
    fixture_create(f);
    void *first = alloc_ok(f, 2 * GRANULARITY);
    void *second = alloc_ok(f, GRANULARITY);
    expect_text(test_memory_sequence(&f->memory), "get get");
    free_ok(f, first);
    free_ok(f, second);
}
END_TEST

/* A limit of the process on its addresses: fewer are set aside, and growth is in place as far as
 * they go. Sanitizers take addresses without number. */
START_TEST(growth_where_addresses_are_limited)
{
    fixture_t f;
    struct rlimit before, less;
    if (scale_pick(1, 0, 0) != 0) {
        printf("skipped: %s: a checker needs more addresses\n", __func__);
        return;
    }
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = 8 * UINT64_C(1024) * MIB(1);
    fixture_prepare(&f, &arena_kinds[GROW_PAGEABLE], MIB(64));
    expect_ok(cuarena_config_parse(&f.config, "limit=64GiB"));
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &less), 0);
    fixture_create(&f);
    void *p = alloc_ok(&f, MIB(1));
    void *q = alloc_ok(&f, MIB(16));
    expect_u64(stats_of(&f).segments, 1);
    free_ok(&f, p);
    free_ok(&f, q);
    fixture_close(&f);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
}
END_TEST

START_TEST(growth_refused_by_the_memory_changes_nothing)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    void *first = alloc_ok(f, GRANULARITY);
    f->memory.budget_bytes = GRANULARITY;
    step(f, cuarena_alloc(f->arena, GRANULARITY, &pointer), CUARENA_OUT_OF_MEMORY);
    f->memory.budget_bytes = UINT64_MAX;
    f->memory.fail_in = 1;
    step(f, cuarena_alloc(f->arena, GRANULARITY, &pointer), CUARENA_DRIVER);
    expect_reserved(f, GRANULARITY);
    ck_assert_ptr_null(pointer);
    free_ok(f, alloc_ok(f, GRANULARITY));
    free_ok(f, first);
}
END_TEST

START_TEST(growth_of_a_block_in_place)
{
    void *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    void *pointer = alloc_ok(f, GRANULARITY);
    paint(f, pointer, GRANULARITY, 1);
    step_ok(f, cuarena_resize(f->arena, pointer, 4 * GRANULARITY, &now));
    expect_painted(f, now, GRANULARITY, 1);
    free_ok(f, now);
}
END_TEST

/* From 1 KiB to half the pool, then freed; how often bytes were copied. */
static uint64_t copies_of_a_chain(fixture_t *f)
{
    uint64_t before = f->memory.counts[OP_RELOCATE];
    void *pointer = alloc_ok(f, KIB(1));
    paint(f, pointer, KIB(1), 1);
    for (uint64_t bytes = KIB(2); bytes <= MIB(16); bytes *= 2)
        step_ok(f, cuarena_resize(f->arena, pointer, bytes, &pointer));
    expect_painted(f, pointer, KIB(1), 1);
    free_ok(f, pointer);
    return f->memory.counts[OP_RELOCATE] - before;
}

START_TEST(chain_of_growth_is_in_place_from_its_second_time)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, MIB(32));
    expect_u64(copies_of_a_chain(f), 1);
    expect_u64(copies_of_a_chain(f), 0);
    expect_u64(copies_of_a_chain(f), 0);
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(copies_of_a_chain(f), 1);
}
END_TEST

/* ---- Trim -------------------------------------------------------------- */

START_TEST(trim_takes_from_the_middle)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[3]);
    free_block(f, row[4]);
    row[3] = row[4] = 0;
    test_memory_forget_calls(&f->memory);
    expect_u64(trim_to(f, 0), 2 * EACH);
    expect_text(test_memory_sequence(&f->memory), "punch");
    expect_reserved(f, POOL - 2 * EACH);
    expect_recount(f);
    row[3] = alloc_block(f, 2 * EACH);
    expect_text(test_memory_sequence(&f->memory), "punch fill");
    free_block(f, row[3]);
    row[3] = 0;
    free_row(f, row, COUNT, EACH);
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
START_TEST(trim_takes_whole_pages_only)
{
    cuarena_block_t row[COUNT];
    uint64_t each = GRANULARITY - 256;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, COUNT * GRANULARITY);
    f->config.placement = CUARENA_PLACEMENT_LOW; /* one after the other */
    fixture_create(f);
    alloc_row(f, row, COUNT, each);
    void *rest = alloc_ok(f, COUNT * 256);
    size_t i = touching(f, row, each);
    free_block(f, row[i]);
    expect_u64(trim_to(f, 0), 0);
    free_block(f, row[i + 1]);
    expect_u64(trim_to(f, 0), GRANULARITY);
    expect_u64(reserved_bytes(f), (COUNT - 1) * GRANULARITY);
    row[i] = row[i + 1] = 0;
    free_ok(f, rest);
    free_row(f, row, COUNT, each);
}
END_TEST

START_TEST(trim_where_the_memory_has_no_holes)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.ops.punch = NULL;
    f->memory.ops.fill = NULL;
    fixture_create(f);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[2]);
    free_block(f, row[7]);
    row[2] = row[7] = 0;
    test_memory_forget_calls(&f->memory);
    expect_u64(trim_to(f, 0), EACH);
    expect_text(test_memory_sequence(&f->memory), "shrink");
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(trim_leaves_contents)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    expect_u64(trim_to(f, 0), POOL / 2);
    expect_u64(stats_of(f).trims, 1);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(trim_null_arguments)
{
    uint64_t given = 9;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step(f, cuarena_trim(NULL, 0, &given), CUARENA_BAD_ARGUMENT);
    expect_u64(given, 9);
    step_ok(f, cuarena_trim(f->arena, 0, NULL));
}
END_TEST

/* ---- Limits ------------------------------------------------------------ */

START_TEST(limit_gives_the_old_one)
{
    uint64_t old = 0;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_LIVE, &old));
    expect_u64(old, UINT64_MAX);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, amount_of_bytes(2 * POOL), &old));
    expect_u64(old, POOL);
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_RESERVED, &old));
    expect_u64(old, 2 * POOL);
}
END_TEST

static uint64_t limit_now(fixture_t *f, int32_t kind)
{
    uint64_t bytes = 0;
    expect_ok(cuarena_get_limit(f->arena, kind, &bytes));
    return bytes;
}

/* Whatever is held, by this arena and by others. */
START_TEST(limit_as_a_share_of_all_that_there_is)
{
    void *pointer = NULL;
    cuarena_amount_t half = {CUARENA_AMOUNT_PERCENT, 0, 50000};
    cuarena_amount_t rest = {CUARENA_AMOUNT_AUTO, 0, MIB(1)};
    fixture_t *f = prepared(KIND_CUSTOM_GROW, POOL);
    fixture_create(f);
    expect_ok(cuarena_alloc(f->arena, EACH, &pointer));
    f->memory.total_bytes = MIB(64);
    f->memory.available_bytes = MIB(8);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, half, NULL));
    expect_u64(limit_now(f, CUARENA_LIMIT_RESERVED), MIB(32));
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, rest, NULL));
    expect_u64(limit_now(f, CUARENA_LIMIT_RESERVED), MIB(7));
    expect_ok(cuarena_free(f->arena, pointer));
}
END_TEST

/* 0.8 and 0.95, as MLX has them, and CuPy's variable. */
START_TEST(shares_of_presets_are_of_all_that_there_is)
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

START_TEST(limit_bad_arguments)
{
    uint64_t bytes = 9;
    cuarena_amount_t unit = {7, 0, 1}, zero = {CUARENA_AMOUNT_BYTES, 1, 1};
    cuarena_amount_t percent = {CUARENA_AMOUNT_PERCENT, 0, 100001};
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_status(cuarena_set_limit(f->arena, 5, amount_of_bytes(1), &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(f->arena, 0, unit, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(f->arena, 0, zero, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(f->arena, 0, percent, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_get_limit(f->arena, -1, &bytes), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_get_limit(f->arena, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_u64(bytes, 9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    suite_add_rows(suite, "rows", holding, COUNT_OF(holding_rows));
    suite_add_list(
        suite, "growth",
        TEST_LIST(growth_keeps_addresses, growth_past_the_reserved_addresses,
                  growth_where_addresses_are_limited, growth_refused_by_the_memory_changes_nothing,
                  growth_of_a_block_in_place, chain_of_growth_is_in_place_from_its_second_time));
    suite_add_list(suite, "trim",
                   TEST_LIST(trim_takes_from_the_middle, trim_takes_whole_pages_only,
                             trim_where_the_memory_has_no_holes, trim_leaves_contents,
                             trim_null_arguments));
    suite_add_list(suite, "limits",
                   TEST_LIST(limit_gives_the_old_one, limit_as_a_share_of_all_that_there_is,
                             shares_of_presets_are_of_all_that_there_is, limit_bad_arguments));
    return suite_main(suite);
}
