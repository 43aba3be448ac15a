/* What an arena does otherwise than it was literally asked: each is said in the header and can be
 * asked for afterwards. */
#include "support/fixture.h"

#include <string.h>

#define GRANULE 256

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

START_TEST(pool_of_odd_bytes_tells_its_size)
{
    static const uint64_t sizes[] = {1, 255, 256, 257, 65537, 1000001};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        fixture_t f;
        fixture_prepare(&f, KIND_NONE_POOL, sizes[i]);
        fixture_create(&f);
        cuarena_stats_t stats = stats_of(&f);
        expect_u64(stats.capacity_bytes, rounded(sizes[i]));
        ck_assert_uint_ge(stats.reserved_bytes, stats.capacity_bytes);
        fixture_close(&f);
    }
}
END_TEST

START_TEST(resize_pool_to_odd_bytes_tells_its_size)
{
    static const uint64_t sizes[] = {2000001, 1500001, 900001, 1, 70000};
    fixture_t *f = opened(&arena_kinds[_i], MIB(1));
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (f->kind->memory == CUARENA_MEMORY_BYTES)
            break;
        step_ok(f, cuarena_resize_pool(f->arena, sizes[i]));
        cuarena_stats_t stats = stats_of(f);
        expect_u64(stats.capacity_bytes, rounded(sizes[i]));
        ck_assert_uint_ge(stats.reserved_bytes, stats.capacity_bytes);
    }
}
END_TEST

START_TEST(stable_block_without_a_region_is_told_as_stable)
{
    cuarena_block_t block;
    fixture_t *f = opened(KIND_NONE_POOL, MIB(1));
    void *pointer = alloc_in(f, 300, CUARENA_REGION_STABLE);
    expect_ok(cuarena_block_of(f->arena, pointer, &block));
    ck_assert_int_eq(info_of(f, block).region, CUARENA_REGION_STABLE);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), 0);
    expect_u64(live_in(f, CUARENA_REGION_DYNAMIC), 512);
    step(f, cuarena_unpin(f->arena, pointer), CUARENA_BAD_ARGUMENT);
    free_ok(f, pointer);
}
END_TEST

/* Nobody set a limit: what the memory had at creation is one. */
START_TEST(limit_that_the_preset_sets_can_be_asked_for)
{
    void *pointer;
    uint64_t limit = 0;
    fixture_t *f = prepared(KIND_CUSTOM_GROW, MIB(1));
    cuarena_config_t fresh;
    cuarena_config_init(&fresh);
    f->config.limit = fresh.limit;
    fixture_create(f);
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_RESERVED, &limit));
    ck_assert_uint_lt(limit, UINT64_MAX);
    step(f, cuarena_alloc(f->arena, limit + 1, &pointer), CUARENA_LIMIT);
    expect_u64(last_error().limit_bytes, limit);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rounding");
    TCase *tcase = new_case(suite, "resize");
    suite_add_list(suite, "rounding",
                   TEST_LIST(pool_of_odd_bytes_tells_its_size,
                             stable_block_without_a_region_is_told_as_stable,
                             limit_that_the_preset_sets_can_be_asked_for));
    add_test_per_memory(tcase, resize_pool_to_odd_bytes_tells_its_size);
    return suite_main(suite);
}
