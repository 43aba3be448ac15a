/*
 * The 53 scenarios that cuArena tests itself with, on arenas of ours, each
 * found by its number. docs/from-cuarena.md lists them.
 *
 * cuArena's four sorts of memory are played by the memories that there are: a
 * row of the table below says which sorts a memory can stand for. A memory
 * that comes later needs a row and no more.
 *
 * With CUARENA_TEST_CUDA it is another program, in which each sort is played by
 * the memory that it stands for.
 */
#include "arena_support.h"
#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#endif

#define DEVICE 1u   /* its bytes need not be readable here */
#define MANAGED 2u  /* readable by the host too */
#define PINNED 4u   /* the host's, for copies to the device */
#define PAGEABLE 8u /* the host's */

static const struct {
    const arena_kind_t *kind;
    unsigned stands_for;
} memories[] = {
#if defined(CUARENA_TEST_CUDA)
    {&cuda_kinds[CUDA_POOL_VMM], DEVICE},
    {&cuda_kinds[CUDA_POOL_MALLOC], DEVICE},
    {&cuda_kinds[CUDA_POOL_ASYNC], DEVICE},
    {&cuda_kinds[CUDA_POOL_MANAGED], MANAGED},
    {&cuda_kinds[CUDA_POOL_PINNED], PINNED},
    {&arena_kinds[0], PAGEABLE},
#else
    {&arena_kinds[0], DEVICE | MANAGED | PINNED | PAGEABLE},
    {&arena_kinds[1], DEVICE},
    {&arena_kinds[2], DEVICE | MANAGED | PINNED},
    {&arena_kinds[3], DEVICE | MANAGED | PINNED},
#endif
};
#define MEMORY_COUNT ((int)COUNT_OF(memories))

#define FLOATS(n) ((uint64_t)(n) * sizeof(float))
#define SMALL_POOL MIB(16)

static int stands_for(int row, unsigned sort)
{
    return (memories[row].stands_for & sort) != 0;
}

/* A scenario on every memory that stands for `sort`: `play` gets a pool of
 * `bytes` and leaves it empty. */
#define SCENARIO(name, sort, bytes, play)                                      \
    START_TEST(name)                                                           \
    {                                                                          \
        fixture_t f;                                                           \
        if (!stands_for(_i, sort))                                             \
            return;                                                            \
        fixture_open(&f, memories[_i].kind, bytes);                            \
        play(&f);                                                              \
        fixture_close(&f);                                                     \
    }                                                                          \
    END_TEST

static uint64_t available(const fixture_t *f)
{
    return stats_of(f, CUARENA_REGION_DYNAMIC).free_bytes;
}

static uint64_t capacity(const fixture_t *f)
{
    return stats_of(f, CUARENA_REGION_ALL).capacity_bytes;
}

/* ---- One pool: what cuArena tests for each sort of memory --------------- */

/* The capacity is what was asked for and there is no pool afterwards, which
 * fixture_close looks at. */
static void play_create(fixture_t *f)
{
    expect_u64(capacity(f), f->config.pool.value);
    expect_u64(live_bytes(f), 0);
}

static void play_alloc_and_free(fixture_t *f)
{
    void *pointer = take(f, FLOATS(1024));
    ck_assert_ptr_nonnull(pointer);
    expect_u64(live_bytes(f), FLOATS(1024));
    drop(f, pointer);
    expect_u64(live_bytes(f), 0);
}

static void play_available(fixture_t *f)
{
    uint64_t before = available(f);
    void *pointer = take(f, FLOATS(1024));
    expect_u64(available(f), before - FLOATS(1024));
    drop(f, pointer);
    expect_u64(available(f), before);
}

static void grow_floats(fixture_t *f, uint64_t from, uint64_t to)
{
    void *pointer = take(f, FLOATS(from)), *now = NULL;
    paint(f, pointer, FLOATS(from), 1);
    step_ok(f, cuarena_resize(f->arena, pointer, FLOATS(to), &now));
    expect_painted(f, now, FLOATS(from), 1);
    expect_u64(live_bytes(f), FLOATS(to));
    drop(f, now);
    expect_u64(live_bytes(f), 0);
}

static void play_resize_4096(fixture_t *f)
{
    grow_floats(f, 1024, 4096);
}

static void play_resize_8192(fixture_t *f)
{
    grow_floats(f, 1024, 8192);
}

static void play_resize_to_zero(fixture_t *f)
{
    void *pointer = take(f, FLOATS(1024));
    step_ok(f, cuarena_resize(f->arena, pointer, 0, &pointer));
    ck_assert_ptr_null(pointer);
    expect_u64(live_bytes(f), 0);
}

static void play_shrink(fixture_t *f)
{
    void *pointer = take(f, FLOATS(4096)), *now = NULL;
    paint(f, pointer, FLOATS(1024), 1);
    step_ok(f, cuarena_resize(f->arena, pointer, FLOATS(1024), &now));
    expect_ptr(now, pointer);
    expect_painted(f, now, FLOATS(1024), 1);
    drop(f, now);
}

/* The pool is exactly two blocks large, so that only one range serves. */
static void play_neighbours(fixture_t *f)
{
    uint64_t half = f->config.pool.value / 2;
    void *pair[2];
    take_pointer_row(f, pair, 2, half);
    uint64_t before = live_bytes(f);
    drop_pointer_row(f, pair, 2, half);
    void *both = take(f, 2 * half);
    ck_assert_uint_le(live_bytes(f), before);
    drop(f, both);
}

static void play_exhaustion(fixture_t *f)
{
    void *pointer = NULL;
    step(f, cuarena_alloc(f->arena, FLOATS(MIB(8)), &pointer),
         CUARENA_OUT_OF_MEMORY);
    ck_assert_ptr_null(pointer);
    expect_u64(live_bytes(f), 0);
}

static void play_reset(fixture_t *f)
{
    take(f, FLOATS(1024));
    take_block(f, FLOATS(4096));
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(live_bytes(f), 0);
    expect_u64(available(f), capacity(f));
    drop(f, take(f, capacity(f)));
}

static void play_nothing(fixture_t *f)
{
    void *pointer = f;
    step_ok(f, cuarena_alloc(f->arena, 0, &pointer));
    ck_assert_ptr_null(pointer);
    step_ok(f, cuarena_free(f->arena, NULL));
}

static void play_four_ints(fixture_t *f)
{
    int *ints = take(f, 4 * sizeof(int));
    for (int i = 0; i < 4; i++)
        ints[i] = i * 11;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(ints[i], i * 11);
    drop(f, ints);
}

SCENARIO(test_scenario_01_device_create, DEVICE, MIB(256), play_create)
SCENARIO(test_scenario_02_device_alloc_and_free, DEVICE, MIB(256),
         play_alloc_and_free)
SCENARIO(test_scenario_03_device_available, DEVICE, MIB(256), play_available)
SCENARIO(test_scenario_04_device_resize, DEVICE, MIB(256), play_resize_4096)
SCENARIO(test_scenario_05_device_resize_to_zero, DEVICE, MIB(256),
         play_resize_to_zero)
SCENARIO(test_scenario_06_device_shrink_keeps_the_pointer, DEVICE, MIB(256),
         play_shrink)
SCENARIO(test_scenario_07_device_neighbours_coalesce, DEVICE, FLOATS(2048),
         play_neighbours)
SCENARIO(test_scenario_08_device_exhaustion, DEVICE, MIB(4), play_exhaustion)
SCENARIO(test_scenario_09_device_reset, DEVICE, MIB(256), play_reset)
SCENARIO(test_scenario_10_device_nothing, DEVICE, MIB(256), play_nothing)

SCENARIO(test_scenario_11_managed_create, MANAGED, MIB(256), play_create)
SCENARIO(test_scenario_12_managed_alloc_and_free, MANAGED, SMALL_POOL,
         play_alloc_and_free)
SCENARIO(test_scenario_13_managed_read_and_write, MANAGED, SMALL_POOL,
         play_four_ints)
SCENARIO(test_scenario_14_managed_resize, MANAGED, SMALL_POOL, play_resize_8192)
SCENARIO(test_scenario_15_managed_neighbours_coalesce, MANAGED, FLOATS(2048),
         play_neighbours)
SCENARIO(test_scenario_16_managed_exhaustion, MANAGED, MIB(4), play_exhaustion)
SCENARIO(test_scenario_17_managed_reset, MANAGED, SMALL_POOL, play_reset)

SCENARIO(test_scenario_18_pinned_create, PINNED, MIB(128), play_create)
SCENARIO(test_scenario_19_pinned_alloc_and_free, PINNED, SMALL_POOL,
         play_alloc_and_free)
SCENARIO(test_scenario_20_pinned_read_and_write, PINNED, SMALL_POOL,
         play_four_ints)
SCENARIO(test_scenario_21_pinned_resize, PINNED, SMALL_POOL, play_resize_8192)
SCENARIO(test_scenario_22_pinned_neighbours_coalesce, PINNED, FLOATS(2048),
         play_neighbours)
SCENARIO(test_scenario_23_pinned_exhaustion, PINNED, MIB(4), play_exhaustion)
SCENARIO(test_scenario_24_pinned_reset, PINNED, SMALL_POOL, play_reset)
SCENARIO(test_scenario_25_pinned_nothing, PINNED, SMALL_POOL, play_nothing)

SCENARIO(test_scenario_26_pageable_create, PAGEABLE, MIB(128), play_create)
SCENARIO(test_scenario_27_pageable_alloc_and_free, PAGEABLE, SMALL_POOL,
         play_alloc_and_free)
SCENARIO(test_scenario_28_pageable_read_and_write, PAGEABLE, SMALL_POOL,
         play_four_ints)
SCENARIO(test_scenario_29_pageable_resize, PAGEABLE, SMALL_POOL,
         play_resize_8192)
SCENARIO(test_scenario_30_pageable_neighbours_coalesce, PAGEABLE, FLOATS(2048),
         play_neighbours)
SCENARIO(test_scenario_31_pageable_exhaustion, PAGEABLE, MIB(4),
         play_exhaustion)
SCENARIO(test_scenario_32_pageable_reset, PAGEABLE, SMALL_POOL, play_reset)

/* ---- Constructors: two pools at once ------------------------------------ */

static void play_two_pools(int pair, unsigned gpu_sort, unsigned cpu_sort)
{
    fixture_t gpu, cpu;
    int first = pair / MEMORY_COUNT, second = pair % MEMORY_COUNT;
    if (!stands_for(first, gpu_sort) || !stands_for(second, cpu_sort))
        return;
    fixture_open(&cpu, memories[second].kind, MIB(32));
    fixture_open(&gpu, memories[first].kind, MIB(64));
    ck_assert_int_eq(gpu.config.memory, memories[first].kind->memory);
    ck_assert_int_eq(cpu.config.memory, memories[second].kind->memory);
    expect_u64(capacity(&gpu), MIB(64));
    expect_u64(capacity(&cpu), MIB(32));
    fixture_close(&gpu);
    fixture_close(&cpu);
}

#define CONSTRUCTOR(name, gpu_sort, cpu_sort)                                  \
    START_TEST(name)                                                           \
    {                                                                          \
        play_two_pools(_i, gpu_sort, cpu_sort);                                \
    }                                                                          \
    END_TEST

CONSTRUCTOR(test_scenario_33_device_and_pinned, DEVICE, PINNED)
CONSTRUCTOR(test_scenario_34_device_and_pageable, DEVICE, PAGEABLE)
CONSTRUCTOR(test_scenario_35_managed_and_pinned, MANAGED, PINNED)
CONSTRUCTOR(test_scenario_36_managed_and_pageable, MANAGED, PAGEABLE)

/* ---- The stable region -------------------------------------------------- */

#define STABLE MIB(64)

/* As SCENARIO, with a stable region of `stable` bytes. */
#define STABLE_SCENARIO(name, bytes, stable_bytes, play)                       \
    START_TEST(name)                                                           \
    {                                                                          \
        fixture_t f;                                                           \
        fixture_prepare(&f, memories[_i].kind, bytes);                         \
        f.config.stable = amount_of_bytes(stable_bytes);                       \
        fixture_create(&f);                                                    \
        play(&f);                                                              \
        fixture_close(&f);                                                     \
    }                                                                          \
    END_TEST

static uint64_t offset_of(fixture_t *f, const void *pointer)
{
    void *base = NULL;
    uint64_t bytes = 0;
    expect_ok(cuarena_base(f->arena, &base, &bytes));
    return (uint64_t)((const char *)pointer - (const char *)base);
}

static void play_stable_is_in_front(fixture_t *f)
{
    void *pointer = take_in(f, KIB(4), CUARENA_REGION_STABLE);
    ck_assert_uint_lt(offset_of(f, pointer), STABLE);
    drop(f, pointer);
}

static void play_regions_apart(fixture_t *f)
{
    void *stable = take_in(f, MIB(1), CUARENA_REGION_STABLE);
    void *dynamic = take(f, MIB(1));
    ck_assert_uint_le(offset_of(f, stable) + MIB(1), STABLE);
    ck_assert_uint_ge(offset_of(f, dynamic), STABLE);
    drop(f, stable);
    drop(f, dynamic);
}

static void play_stable_coalesces(fixture_t *f)
{
    void *first = take_in(f, STABLE / 2, CUARENA_REGION_STABLE);
    void *second = take_in(f, STABLE / 2, CUARENA_REGION_STABLE);
    drop(f, first);
    drop(f, second);
    void *both = take_in(f, STABLE, CUARENA_REGION_STABLE);
    drop(f, both);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), 0);
}

static void play_stable_exhaustion(fixture_t *f)
{
    void *pointer = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.region = CUARENA_REGION_STABLE;
    step(f, cuarena_alloc_with(f->arena, MIB(32), &request, &pointer),
         CUARENA_OUT_OF_MEMORY);
    step(f, cuarena_alloc_with(f->arena, MIB(8), &request, &pointer),
         CUARENA_OUT_OF_MEMORY);
    ck_assert_ptr_null(pointer);
    drop(f, take(f, MIB(8)));
}

static void expect_no_room_there(fixture_t *f, void *pointer, uint64_t bytes)
{
    void *now = NULL;
    cuarena_status_t status = cuarena_resize(f->arena, pointer, bytes, &now);
    ck_assert_msg(
        status == CUARENA_FRAGMENTED || status == CUARENA_OUT_OF_MEMORY,
        "resize of a stable block: got %s", cuarena_status_name(status));
    ck_assert_ptr_null(now);
    expect_sound(f);
}

/* Where cuArena refuses any resize, ours refuses what would have to move. */
static void play_stable_resize(fixture_t *f)
{
    void *now = NULL;
    void *a = take_in(f, STABLE / 2, CUARENA_REGION_STABLE);
    void *b = take_in(f, STABLE / 2, CUARENA_REGION_STABLE);
    void *lower = (char *)a < (char *)b ? a : b;
    void *upper = lower == a ? b : a;
    expect_no_room_there(f, lower, STABLE / 2 + 1);
    step_ok(f, cuarena_resize(f->arena, upper, STABLE / 4, &now));
    expect_ptr(now, upper);
    expect_no_room_there(f, lower, STABLE / 2 + 1);
    step_ok(f, cuarena_resize(f->arena, upper, STABLE / 2, &now));
    expect_ptr(now, upper);
    drop(f, lower);
    drop(f, upper);
}

static void play_stable_without_a_region(fixture_t *f)
{
    void *pointer = take_in(f, KIB(4), CUARENA_REGION_STABLE);
    ck_assert_ptr_nonnull(pointer);
    expect_u64(live_in(f, CUARENA_REGION_DYNAMIC), KIB(4));
    drop(f, pointer);
}

STABLE_SCENARIO(test_scenario_37_stable_lies_in_front, MIB(256), STABLE,
                play_stable_is_in_front)
STABLE_SCENARIO(test_scenario_38_stable_below_dynamic, MIB(256), STABLE,
                play_regions_apart)
STABLE_SCENARIO(test_scenario_39_stable_coalesces, MIB(256), STABLE,
                play_stable_coalesces)
STABLE_SCENARIO(test_scenario_40_stable_exhaustion, MIB(16), MIB(4),
                play_stable_exhaustion)
STABLE_SCENARIO(test_scenario_41_stable_resize, MIB(256), STABLE,
                play_stable_resize)
SCENARIO(test_scenario_42_stable_without_a_region, DEVICE, MIB(256),
         play_stable_without_a_region)

/* ---- Bins ---------------------------------------------------------------- */

static void drop_every_second(fixture_t *f, void **row, size_t from,
                              size_t count)
{
    for (size_t i = from; i < count; i += 2) {
        drop(f, row[i]);
        row[i] = NULL;
    }
}

static void play_evens_then_odds(fixture_t *f)
{
    void *row[8];
    take_pointer_row(f, row, 8, MIB(8));
    expect_u64(available(f), 0);
    drop_every_second(f, row, 0, 8);
    drop_every_second(f, row, 1, 8);
    expect_u64(available(f), MIB(64));
    expect_u64(inspection_of(f, CUARENA_REGION_DYNAMIC).largest_bytes, MIB(64));
}

static void play_two_eights(fixture_t *f)
{
    void *row[2];
    take_pointer_row(f, row, 2, MIB(8));
    drop_pointer_row(f, row, 2, MIB(8));
    drop(f, take(f, MIB(16)));
}

static void play_holes_apart(fixture_t *f)
{
    void *row[4], *pointer = NULL;
    take_pointer_row(f, row, 4, MIB(8));
    drop_every_second(f, row, 0, 4);
    step(f, cuarena_alloc(f->arena, MIB(16), &pointer), CUARENA_FRAGMENTED);
    ck_assert_ptr_null(pointer);
    drop_pointer_row(f, row, 4, MIB(8));
}

static void play_three_sizes(fixture_t *f)
{
    void *small = take(f, 128);
    void *middle = take(f, KIB(256));
    void *large = take(f, MIB(4));
    drop(f, small);
    drop(f, middle);
    drop(f, large);
    expect_u64(live_bytes(f), 0);
}

SCENARIO(test_scenario_43_bins_evens_then_odds, DEVICE, MIB(64),
         play_evens_then_odds)
SCENARIO(test_scenario_44_bins_two_become_one, DEVICE, MIB(16), play_two_eights)
SCENARIO(test_scenario_45_bins_holes_apart, DEVICE, MIB(32), play_holes_apart)
SCENARIO(test_scenario_46_bins_three_sizes, DEVICE, MIB(64), play_three_sizes)

/* ---- Compaction ---------------------------------------------------------- */

typedef struct follower {
    void **pointers;
    size_t count;
    size_t reports;
    size_t moved;
} follower_t;

/* Keeps pointers up to date. No new address is the old one of a later entry,
 * so one pass does. */
static int32_t follow(void *user, const cuarena_relocation_t *list,
                      size_t count)
{
    follower_t *follower = user;
    for (size_t i = 0; i < count; i++) {
        follower->reports++;
        follower->moved += list[i].from != list[i].to;
        for (size_t j = 0; j < follower->count; j++)
            if (follower->pointers[j] == list[i].from)
                follower->pointers[j] = list[i].to;
    }
    return 0;
}

static void compact_following(fixture_t *f, follower_t *follower)
{
    for (size_t i = 0; i < follower->count; i++)
        if (follower->pointers[i] != NULL)
            step_ok(f, cuarena_unpin(f->arena, follower->pointers[i]));
    step_ok(f, cuarena_compact(f->arena, NULL, follow, follower, NULL));
}

static void play_compact_nothing(fixture_t *f)
{
    follower_t follower = {NULL, 0, 0, 0};
    compact_following(f, &follower);
    expect_u64(follower.reports, 0);
    expect_u64(available(f), capacity(f));
}

static void play_compact_makes_room(fixture_t *f)
{
    void *row[8], *pointer = NULL;
    follower_t follower = {row, 8, 0, 0};
    take_pointer_row(f, row, 8, MIB(8));
    drop_every_second(f, row, 0, 8);
    step(f, cuarena_alloc(f->arena, MIB(16), &pointer), CUARENA_FRAGMENTED);
    compact_following(f, &follower);
    expect_u64(follower.moved, 4);
    drop(f, take(f, MIB(16)));
    drop_pointer_row(f, row, 8, MIB(8));
}

static void play_compact_front_block(fixture_t *f)
{
    void *row[2];
    follower_t follower = {row, 2, 0, 0};
    take_pointer_row(f, row, 2, MIB(8));
    drop(f, row[1]);
    row[1] = NULL;
    compact_following(f, &follower);
    expect_u64(follower.reports, 0);
    drop_pointer_row(f, row, 2, MIB(8));
}

static void play_compact_keeps_values(fixture_t *f)
{
    void *row[3];
    follower_t follower = {row, 3, 0, 0};
    take_pointer_row(f, row, 3, 16);
    drop(f, row[1]);
    row[1] = NULL;
    compact_following(f, &follower);
    drop_pointer_row(f, row, 3, 16);
}

SCENARIO(test_scenario_47_compact_nothing, DEVICE, MIB(64),
         play_compact_nothing)
SCENARIO(test_scenario_48_compact_makes_room, DEVICE, MIB(64),
         play_compact_makes_room)
SCENARIO(test_scenario_49_compact_front_block, DEVICE, MIB(16),
         play_compact_front_block)
SCENARIO(test_scenario_50_compact_keeps_values, MANAGED, SMALL_POOL,
         play_compact_keeps_values)

/* ---- Both regions -------------------------------------------------------- */

static void play_compact_leaves_stable(fixture_t *f)
{
    void *row[8];
    heard_t heard = {.count = 0};
    void *stable = take_in(f, MIB(1), CUARENA_REGION_STABLE);
    take_pointer_row(f, row, 8, MIB(6));
    drop_every_second(f, row, 0, 8);
    for (size_t i = 1; i < 8; i += 2)
        expect_ok(cuarena_unpin(f->arena, row[i]));
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 4);
    for (size_t i = 0; i < heard.count; i++)
        ck_assert_ptr_ne(heard.list[i].from, stable);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), MIB(1));
    drop(f, stable);
    for (size_t i = 0; i < heard.count; i++)
        drop_block(f, heard.list[i].block);
}

static void play_used_of_both(fixture_t *f)
{
    void *stable = take_in(f, MIB(2), CUARENA_REGION_STABLE);
    void *dynamic = take(f, MIB(3));
    expect_u64(live_bytes(f), MIB(5));
    ck_assert_uint_ge(live_bytes(f), live_in(f, CUARENA_REGION_STABLE));
    drop(f, stable);
    drop(f, dynamic);
    expect_u64(live_bytes(f), 0);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), 0);
}

static void play_reset_of_both(fixture_t *f)
{
    take_in(f, MIB(2), CUARENA_REGION_STABLE);
    take(f, MIB(3));
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(live_bytes(f), 0);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), 0);
    cuarena_stats_t dynamic = stats_of(f, CUARENA_REGION_DYNAMIC);
    expect_u64(dynamic.free_bytes, dynamic.capacity_bytes);
    expect_u64(dynamic.capacity_bytes, MIB(48));
}

STABLE_SCENARIO(test_scenario_51_mixed_compact_leaves_stable, MIB(64), MIB(16),
                play_compact_leaves_stable)
STABLE_SCENARIO(test_scenario_52_mixed_used, MIB(64), MIB(16),
                play_used_of_both)
STABLE_SCENARIO(test_scenario_53_mixed_reset, MIB(64), MIB(16),
                play_reset_of_both)

/* A test per memory that there is. */
static void add_scenarios(Suite *suite, const char *name,
                          const TTest *const *tests, int count)
{
    TCase *tcase = new_case(suite, name);
    for (; *tests != NULL; tests++)
        tcase_add_loop_test(tcase, *tests, 0, count);
}

static void add_pools(Suite *suite)
{
    add_scenarios(suite, "device",
                  TEST_LIST(test_scenario_01_device_create,
                            test_scenario_02_device_alloc_and_free,
                            test_scenario_03_device_available,
                            test_scenario_04_device_resize,
                            test_scenario_05_device_resize_to_zero,
                            test_scenario_06_device_shrink_keeps_the_pointer,
                            test_scenario_07_device_neighbours_coalesce,
                            test_scenario_08_device_exhaustion,
                            test_scenario_09_device_reset,
                            test_scenario_10_device_nothing),
                  MEMORY_COUNT);
    add_scenarios(suite, "managed",
                  TEST_LIST(test_scenario_11_managed_create,
                            test_scenario_12_managed_alloc_and_free,
                            test_scenario_13_managed_read_and_write,
                            test_scenario_14_managed_resize,
                            test_scenario_15_managed_neighbours_coalesce,
                            test_scenario_16_managed_exhaustion,
                            test_scenario_17_managed_reset),
                  MEMORY_COUNT);
    add_scenarios(suite, "pinned",
                  TEST_LIST(test_scenario_18_pinned_create,
                            test_scenario_19_pinned_alloc_and_free,
                            test_scenario_20_pinned_read_and_write,
                            test_scenario_21_pinned_resize,
                            test_scenario_22_pinned_neighbours_coalesce,
                            test_scenario_23_pinned_exhaustion,
                            test_scenario_24_pinned_reset,
                            test_scenario_25_pinned_nothing),
                  MEMORY_COUNT);
}

static void add_more_pools(Suite *suite)
{
    add_scenarios(suite, "pageable",
                  TEST_LIST(test_scenario_26_pageable_create,
                            test_scenario_27_pageable_alloc_and_free,
                            test_scenario_28_pageable_read_and_write,
                            test_scenario_29_pageable_resize,
                            test_scenario_30_pageable_neighbours_coalesce,
                            test_scenario_31_pageable_exhaustion,
                            test_scenario_32_pageable_reset),
                  MEMORY_COUNT);
    add_scenarios(suite, "constructors",
                  TEST_LIST(test_scenario_33_device_and_pinned,
                            test_scenario_34_device_and_pageable,
                            test_scenario_35_managed_and_pinned,
                            test_scenario_36_managed_and_pageable),
                  MEMORY_COUNT * MEMORY_COUNT);
}

static void add_regions(Suite *suite)
{
    add_scenarios(suite, "stable",
                  TEST_LIST(test_scenario_37_stable_lies_in_front,
                            test_scenario_38_stable_below_dynamic,
                            test_scenario_39_stable_coalesces,
                            test_scenario_40_stable_exhaustion,
                            test_scenario_41_stable_resize,
                            test_scenario_42_stable_without_a_region),
                  MEMORY_COUNT);
    add_scenarios(suite, "bins",
                  TEST_LIST(test_scenario_43_bins_evens_then_odds,
                            test_scenario_44_bins_two_become_one,
                            test_scenario_45_bins_holes_apart,
                            test_scenario_46_bins_three_sizes),
                  MEMORY_COUNT);
    add_scenarios(suite, "compaction",
                  TEST_LIST(test_scenario_47_compact_nothing,
                            test_scenario_48_compact_makes_room,
                            test_scenario_49_compact_front_block,
                            test_scenario_50_compact_keeps_values),
                  MEMORY_COUNT);
    add_scenarios(suite, "both regions",
                  TEST_LIST(test_scenario_51_mixed_compact_leaves_stable,
                            test_scenario_52_mixed_used,
                            test_scenario_53_mixed_reset),
                  MEMORY_COUNT);
}

int main(void)
{
    Suite *suite = suite_create("cuArena's scenarios");
    add_pools(suite);
    add_more_pools(suite);
    add_regions(suite);
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    return suite_main(suite);
#endif
}
