/*
 * Arenas on the driver's own pools by ONNX Runtime's keys (arena.use_cuda_mempool): what it tests
 * of its allocators for such pools, under the names that they have there.
 */
#include <stdio.h>
#include <string.h>

#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/driver_pools.h"
#include "support/fixture_streams.h"

/* ---- ONNX Runtime's ---------------------------------------------------- */

/* As a host sets it: the keys and their values. */
static fixture_t *opened_mempool(const char *threshold)
{
    fixture_t *f = new_fixture(close_pool);
    fixture_prepare_text(f, "arena.use_cuda_mempool=1");
    if (threshold != NULL)
        expect_ok(
            cuarena_config_set(&f->config, "arena.cuda_mempool_release_threshold", threshold));
    fixture_create(f);
    ck_assert_int_eq(pool_of(f->arena).own, 1);
    return f;
}

START_TEST(mempool_basic_alloc_free)
{
    fixture_t *f = opened_mempool(NULL);
    void *pointer = alloc_ok(f, 1024);
    use(pointer, 1024, NULL);
    expect_cu(cuda_test()->cuCtxSynchronize());
    free_ok(f, pointer);
}
END_TEST

START_TEST(mempool_multiple_allocations)
{
    enum {
        COUNT = 32
    };
    fixture_t *f = opened_mempool(NULL);
    void *pointers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        pointers[i] = alloc_ok(f, 1024 * (i + 1));
        for (size_t j = 0; j < i; j++)
            ck_assert_ptr_ne(pointers[i], pointers[j]);
    }
    expect_u64((uint64_t)ort_stats_of(f->arena).num_allocs, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        free_ok(f, pointers[i]);
}
END_TEST

START_TEST(mempool_stats_are_reported)
{
    fixture_t *f = opened_mempool("18446744073709551615");
    void *small = alloc_ok(f, 1000);
    void *large = alloc_ok(f, 5000);
    cuarena_ort_stats_t now = ort_stats_of(f->arena);
    expect_u64((uint64_t)now.num_allocs, 2);
    expect_u64((uint64_t)now.bytes_in_use, 6000);
    expect_u64((uint64_t)now.bytes_requested_in_use, 6000);
    expect_u64((uint64_t)now.max_bytes_in_use, 6000);
    expect_u64((uint64_t)now.max_alloc_size, 5000);
    expect_u64((uint64_t)now.num_reserves, 0);
    expect_u64((uint64_t)now.reserved_bytes, 0);
    expect_u64((uint64_t)now.num_arena_extensions, 0);
    expect_u64((uint64_t)now.total_allocated_bytes, pool_of(f->arena).total_bytes);
    free_ok(f, large);
    cuarena_reset_peaks(f->arena);
    now = ort_stats_of(f->arena);
    expect_u64((uint64_t)now.bytes_in_use, 1000);
    expect_u64((uint64_t)now.max_bytes_in_use, 6000);
    free_ok(f, small);
}
END_TEST

START_TEST(mempool_zero_size_alloc_returns_null)
{
    fixture_t *f = opened_mempool(NULL);
    ck_assert_ptr_null(alloc_ok(f, 0));
    expect_u64((uint64_t)ort_stats_of(f->arena).num_allocs, 0);
}
END_TEST

START_TEST(mempool_large_allocation)
{
    fixture_t *f = opened_mempool(NULL);
    free_ok(f, alloc_ok(f, MIB(64)));
}
END_TEST

START_TEST(mempool_custom_release_threshold)
{
    fixture_t *f = opened_mempool("1048576");
    expect_u64(pool_of(f->arena).release_threshold, 1048576);
    close_pool(f);
    f = opened_mempool("0"); /* leaves it as the driver made it */
    expect_u64(pool_of(f->arena).release_threshold, 0);
    close_pool(f);
}
END_TEST

START_TEST(mempool_free_nullptr_is_safe)
{
    fixture_t *f = opened_mempool(NULL);
    free_ok(f, NULL);
}
END_TEST

static void count_pair(void *user, const char *key, const char *value)
{
    (void)key;
    ck_assert_int_ne(value[0], '\0');
    ++*(int *)user;
}

START_TEST(mempool_all_stats_keys_present)
{
    fixture_t *f = opened_mempool(NULL);
    int count = 0;
    expect_ok(cuarena_stats_pairs(f->arena, CUARENA_TEXT_ORT, count_pair, &count));
    ck_assert_int_eq(count, 11);
}
END_TEST

START_TEST(mempool_shrink_trims_pool)
{
    fixture_t *f = opened_mempool("18446744073709551615");
    uint64_t given = 0;
    free_ok(f, alloc_ok(f, MIB(64)));
    ck_assert_uint_ge(pool_of(f->arena).total_bytes, MIB(64));
    expect_cu(cuda_test()->cuCtxSynchronize());
    expect_ok(cuarena_trim(f->arena, 0, &given));
    ck_assert_uint_ge(given, MIB(64));
    expect_u64(pool_of(f->arena).total_bytes, 0);
    expect_u64((uint64_t)ort_stats_of(f->arena).num_arena_shrinkages, 1);
}
END_TEST

/* Through the call that a host's run option makes. */
START_TEST(mempool_bytes_to_keep_on_shrink_config)
{
    cuarena_config_t config =
        config_of("use_cuda_mempool=1,cuda_mempool_release_threshold=1099511627776,"
                  "cuda_mempool_bytes_to_keep_on_shrink=67108864");
    cuarena_t *arena = NULL;
    void *blocks[2];
    expect_ok(cuarena_shared_acquire(&config, &arena, NULL));
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        expect_ok(cuarena_alloc(arena, MIB(64), &blocks[i]));
    for (size_t i = COUNT_OF(blocks); i-- > 0;)
        expect_ok(cuarena_free(arena, blocks[i]));
    expect_valid_arena(arena);
    expect_cu(cuda_test()->cuCtxSynchronize());
    expect_ok(cuarena_shared_shrink("gpu:0", NULL));
    expect_u64(pool_of(arena).total_bytes, MIB(64));
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_u64(pool_of(arena).total_bytes, 0);
    expect_cu(cuda_test()->cuCtxSynchronize());
    expect_ok(cuarena_shared_release(&arena));
}
END_TEST

START_TEST(in_tree_two_streams)
{
    fixture_t *f = opened_mempool("18446744073709551615");
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *first = alloc_on(f, 4096, a);
    void *second = alloc_on(f, 8192, b);
    use(first, 4096, a);
    use(second, 8192, b);
    ck_assert_ptr_ne(first, second);
    expect_ok(cuarena_free_on(f->arena, first, a));
    expect_ok(cuarena_free_on(f->arena, second, b));
    expect_u64(pool_of(f->arena).used_bytes, 0);
    expect_ok(cuarena_release_stream(f->arena, a));
    expect_ok(cuarena_release_stream(f->arena, b));
    expect_cu(cuda_test()->cuStreamDestroy(a));
    expect_cu(cuda_test()->cuStreamDestroy(b));
}
END_TEST

START_TEST(in_tree_reserve)
{
    fixture_t *f = opened_mempool(NULL);
    cuarena_request_t request;
    void *pointer = NULL;
    cuarena_request_init(&request);
    request.dedicated = 1;
    expect_ok(cuarena_alloc_with(f->arena, 1 << 20, &request, &pointer));
    expect_u64((uint64_t)ort_stats_of(f->arena).num_reserves, 0);
    expect_u64((uint64_t)ort_stats_of(f->arena).bytes_in_use, 1 << 20);
    free_ok(f, pointer);
}
END_TEST

/* The stream was released, as it must be, and its block was left. */
START_TEST(in_tree_end_after_its_stream)
{
    fixture_t *f = opened_mempool(NULL);
    cuai_cu_stream_t stream = cuda_test_stream();
    void *block = alloc_on(f, MIB(1), stream);
    use(block, MIB(1), stream);
    end_stream(f->arena, stream);
    cuarena_t *kept = f->arena;
    expect_status(cuarena_destroy(&f->arena), CUARENA_BUSY);
    ck_assert_ptr_eq(f->arena, kept);
    expect_ok(cuarena_destroy_forced(&f->arena));
    expect_no_report();
}
END_TEST

/* ---- Keys -------------------------------------------------------------- */

static const struct bad_pair {
    const char *key;
    const char *value;
} bad_pairs[] = {
    {"use_cuda_mempool", "-1"},
    {"use_cuda_mempool", "2"},
    {"use_cuda_mempool", "true"},
    {"use_cuda_mempool", ""},
    {"use_cuda_mempool", "01"},
    {"cuda_mempool_release_threshold", "-1"},
    {"cuda_mempool_release_threshold", "many"},
    {"cuda_mempool_release_threshold", "1 "},
    {"cuda_mempool_release_threshold", "1MiB"},
    {"cuda_mempool_release_threshold", "18446744073709551616"},
    {"cuda_mempool_bytes_to_keep_on_shrink", "-4096"},
    {"cuda_mempool_bytes_to_keep_on_shrink", "12ab"},
};

START_TEST(a_bad_value_names_key_and_value)
{
    const struct bad_pair *bad = &bad_pairs[_i];
    cuarena_config_t config;
    cuarena_config_t before;
    cuarena_config_init(&config);
    before = config;
    expect_status(cuarena_config_set(&config, bad->key, bad->value), CUARENA_BAD_ARGUMENT);
    expect_message(bad->key, bad->value);
    ck_assert_int_eq(memcmp(&config, &before, sizeof config), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mempool");
    cuda_kinds_ready();
    TCase *tcase = suite_add_list(
        suite, "ONNX Runtime's",
        TEST_LIST(mempool_basic_alloc_free, mempool_multiple_allocations,
                  mempool_stats_are_reported, mempool_zero_size_alloc_returns_null,
                  mempool_large_allocation, mempool_custom_release_threshold,
                  mempool_free_nullptr_is_safe, mempool_all_stats_keys_present,
                  mempool_shrink_trims_pool, mempool_bytes_to_keep_on_shrink_config,
                  in_tree_two_streams, in_tree_reserve, in_tree_end_after_its_stream));
    tcase_add_checked_fixture(tcase, on_device, off_device);
    suite_add_rows(suite, "bad values", a_bad_value_names_key_and_value, COUNT_OF(bad_pairs));
    return cuda_kinds_main(suite);
}
