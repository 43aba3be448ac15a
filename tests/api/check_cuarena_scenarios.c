/*
 * Of the 53 scenarios that cuArena tests itself with those that cannot be told as text
 * (tests/scenarios/cuarena.txt, which check_script.c plays), each found by its number, on every
 * memory. docs/from-cuarena.md lists them all.
 *
 * With CUARENA_TEST_CUDA it is another program, with memories of a device.
 */
#include "support/fixture.h"
#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#endif

static const arena_kind_t *const memories[] = {
#if defined(CUARENA_TEST_CUDA)
    &cuda_kinds[CUDA_POOL_VMM],     &cuda_kinds[CUDA_POOL_MALLOC], &cuda_kinds[CUDA_POOL_ASYNC],
    &cuda_kinds[CUDA_POOL_MANAGED], &cuda_kinds[CUDA_POOL_PINNED], &arena_kinds[POOL_PAGEABLE]};
#else
    &arena_kinds[POOL_PAGEABLE], &arena_kinds[POOL_NONE], &arena_kinds[POOL_BYTES],
    &arena_kinds[POOL_CUSTOM]};
#endif
#define MEMORY_COUNT ((int)COUNT_OF(memories))

static fixture_t *open_with_stable(fixture_t *f, int memory, uint64_t bytes, uint64_t stable)
{
    fixture_prepare(f, memories[memory], bytes);
    f->config.stable = amount_of_bytes(stable);
    fixture_create(f);
    return f;
}

/* 17, 24 and 32 are the same on its other memories. */
START_TEST(scenario_09_reset)
{
    fixture_t *f = opened(memories[_i], MIB(256));
    alloc_ok(f, KIB(4));
    alloc_block(f, KIB(16));
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(live_bytes(f), 0);
    expect_u64(region_stats_of(f, CUARENA_REGION_DYNAMIC).free_bytes, capacity_bytes(f));
    free_ok(f, alloc_ok(f, capacity_bytes(f)));
}
END_TEST

/* Two pools at once, of any two memories; 34, 35 and 36 are the same. */
START_TEST(scenario_33_two_pools)
{
    fixture_t first, second;
    const arena_kind_t *kinds[] = {memories[_i / MEMORY_COUNT], memories[_i % MEMORY_COUNT]};
    fixture_open(&second, kinds[1], MIB(32));
    fixture_open(&first, kinds[0], MIB(64));
    ck_assert_int_eq(first.config.memory, kinds[0]->memory);
    ck_assert_int_eq(second.config.memory, kinds[1]->memory);
    expect_u64(capacity_bytes(&first), MIB(64));
    expect_u64(capacity_bytes(&second), MIB(32));
    fixture_close(&first);
    fixture_close(&second);
}
END_TEST

static uint64_t offset_of(fixture_t *f, const void *pointer)
{
    void *base = NULL;
    uint64_t bytes = 0;
    expect_ok(cuarena_base(f->arena, &base, &bytes));
    return (uint64_t)((const char *)pointer - (const char *)base);
}

START_TEST(scenario_37_stable_lies_in_front)
{
    fixture_t *f = open_with_stable(new_fixture(fixture_close), _i, MIB(256), MIB(64));
    void *stable = alloc_in(f, MIB(1), CUARENA_REGION_STABLE);
    void *dynamic = alloc_ok(f, MIB(1));
    ck_assert_uint_le(offset_of(f, stable) + MIB(1), MIB(64));
    ck_assert_uint_ge(offset_of(f, dynamic), MIB(64));
    free_ok(f, stable);
    free_ok(f, dynamic);
}
END_TEST

START_TEST(scenario_53_reset_of_both_regions)
{
    fixture_t *f = open_with_stable(new_fixture(fixture_close), _i, MIB(64), MIB(16));
    alloc_in(f, MIB(2), CUARENA_REGION_STABLE);
    alloc_ok(f, MIB(3));
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(live_bytes(f), 0);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), 0);
    cuarena_stats_t dynamic = region_stats_of(f, CUARENA_REGION_DYNAMIC);
    expect_u64(dynamic.free_bytes, dynamic.capacity_bytes);
    expect_u64(dynamic.capacity_bytes, MIB(48));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuArena's scenarios");
    TCase *tcase = new_case(suite, "per memory");
    tcase_add_loop_test(tcase, scenario_09_reset, 0, MEMORY_COUNT);
    tcase_add_loop_test(tcase, scenario_37_stable_lies_in_front, 0, MEMORY_COUNT);
    tcase_add_loop_test(tcase, scenario_53_reset_of_both_regions, 0, MEMORY_COUNT);
    tcase = new_case(suite, "two memories");
    tcase_add_loop_test(tcase, scenario_33_two_pools, 0, MEMORY_COUNT * MEMORY_COUNT);
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    return suite_main(suite);
#endif
}
