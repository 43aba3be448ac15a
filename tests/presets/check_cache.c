/*
 * The cache of freed blocks: the rules of MLX's allocators, each with its edges, and what is as it
 * is not there.
 */
#include "support/cache_rig.h"

#include <stdbool.h>
#include <string.h>

/* ---- MLX's own tests of its CPU allocator ------------------------------ */

static const uint64_t basic_sizes[] = {4, 512, 0};

START_TEST(test_basic_sizes_come_and_go)
{
    open_cache(CPU);
    void *pointer = get(basic_sizes[_i]);
    ck_assert_int_eq(pointer == NULL, basic_sizes[_i] == 0);
    give(pointer);
    close_cache();
}
END_TEST

START_TEST(test_a_hundred_buffers_of_a_gib_one_after_the_other)
{
    open_cache(CPU);
    for (int i = 0; i < 100; i++)
        give(get(GIB(1)));
    expect_bytes(0, 0); /* the limit is 32 MiB */
    expect_u64(reserved_bytes(&cached), 0);
    close_cache();
}
END_TEST

START_TEST(test_a_reused_buffer_keeps_its_capacity)
{
    open_cache(CPU);
    set_limit(CUARENA_LIMIT_CACHED, MIB(1));
    give(get(8192));
    uint64_t before = figures().cached_bytes;
    void *pointer = get(6000);
    expect_u64(allocated_bytes(&cached, pointer), 8192);
    give(pointer);
    expect_u64(figures().cached_bytes, before);
    close_cache();
}
END_TEST

START_TEST(test_limits_return_what_they_were)
{
    open_cache(CPU);
    expect_u64(set_limit(CUARENA_LIMIT_CACHED, 10), MIB(32));
    expect_u64(set_limit(CUARENA_LIMIT_CACHED, 20), 10);
    uint64_t soft = set_limit(CUARENA_LIMIT_SOFT, 30);
    expect_u64(soft, (UINT64_C(1) << 46) * 4 / 5); /* of what `none` has */
    expect_u64(set_limit(CUARENA_LIMIT_SOFT, 40), 30);
    uint64_t now = 0;
    expect_ok(cuarena_get_limit(cached.arena, CUARENA_LIMIT_SOFT, &now));
    expect_u64(now, 40);
    close_cache();
}
END_TEST

START_TEST(test_nothing_is_cached_with_a_limit_of_0)
{
    open_cache(CPU);
    give(get(4096));
    expect_bytes(0, 4096);
    set_limit(CUARENA_LIMIT_CACHED, 0);
    expect_bytes(0, 0);
    give(get(4096));
    expect_bytes(0, 0);
    expect_u64(reserved_bytes(&cached), 0);
    close_cache();
}
END_TEST

START_TEST(test_active_and_cached_bytes_of_one_buffer)
{
    open_cache(CPU);
    void *pointer = get(4096);
    expect_bytes(4096, 0);
    expect_u64(figures().peak_active_bytes, 4096);
    give(pointer);
    expect_bytes(0, 4096);
    expect_u64(figures().peak_active_bytes, 4096);
    expect_u64(figures().peak_cached_bytes, 4096);
    expect_u64(clear_cache(), 1);
    expect_bytes(0, 0);
    expect_ok(cuarena_reset_peaks(cached.arena));
    expect_u64(figures().peak_active_bytes, 0);
    expect_u64(figures().peak_cached_bytes, 0);
    close_cache();
}
END_TEST

/* Theirs is 0 until the next malloc. */
START_TEST(test_a_reset_peak_is_what_is_live)
{
    open_cache(CPU);
    void *kept = get(4096);
    give(get(64));
    expect_ok(cuarena_reset_peaks(cached.arena));
    expect_u64(figures().peak_active_bytes, 4096);
    give(kept);
    close_cache();
}
END_TEST

START_TEST(test_clearing_an_empty_cache_does_nothing)
{
    open_cache(CPU);
    uint64_t calls = stats_of(&cached, CUARENA_REGION_ALL).memory_calls;
    expect_u64(clear_cache(), 0);
    expect_u64(stats_of(&cached, CUARENA_REGION_ALL).memory_calls, calls);
    close_cache();
}
END_TEST

/* ---- Which block is reused --------------------------------------------- */

/* A request of `asked` beside one cached block. */
static const struct window {
    const char *config;
    uint64_t capacity;
    uint64_t asked;
    bool hits;
} windows[] = {
    {CPU8, 4096, 4096, true},
    {CPU8, 4096, 4104, false},
    /* below two pages: less than twice */
    {CPU8, 4096 * 2 - 8, 4096, true},
    {CPU8, 4096 * 2, 4096, false},
    {CPU8, 16, 8, false},
    {CPU8, 8, 8, true},
    /* at two pages both are the same */
    {CPU8, 8192 * 2 - 8, 8192, true},
    {CPU8, 8192 * 2, 8192, false},
    /* above: by less than two pages */
    {CPU8, 65536 + 8192 - 8, 65536, true},
    {CPU8, 65536 + 8192, 65536, false},
    {CPU8, MIB(1) + 8192 - 8, MIB(1), true},
    {CPU8, MIB(1) + 8192, MIB(1), false},
    /* pages of 16 KiB; sizes in classes */
    {CUDA, 16384 * 3, 16384 * 2, true},
    {CUDA, 16384 * 4, 16384 * 2, false},
    {CUDA, 16384 * 11, 16384 * 10, true},
    {CUDA, 16384 * 12, 16384 * 10, false},
    {CUDA, 16384 * 10, 16384 * 9 + 1, true},
    {CUDA, 8192, 4097, true},
    {CUDA, 8192, 4096, false},
};

START_TEST(test_a_cached_block_serves_what_it_exceeds_by_little)
{
    const struct window *w = &windows[_i];
    open_cache(w->config);
    void *at = get(w->capacity);
    give(at);
    void *pointer = get(w->asked);
    expect_u64(figures().hits, w->hits);
    expect_u64(figures().misses, w->hits ? 1 : 2);
    expect_u64(figures().cached_bytes, w->hits ? 0 : w->capacity);
    if (w->hits)
        expect_ptr(pointer, at);
    give(pointer);
    close_cache();
}
END_TEST

START_TEST(test_the_least_capacity_that_fits_is_reused)
{
    static const uint64_t sizes[] = {6400, 4800, 5600, 4000};
    void *at[4];
    open_cache(CPU);
    fill_cache(sizes, 4, at);
    void *first = get(4480);
    expect_ptr(first, at[1]);
    void *second = get(4480);
    expect_ptr(second, at[2]);
    void *third = get(4480);
    expect_ptr(third, at[0]);
    give(first);
    give(second);
    give(third);
    close_cache();
}
END_TEST

/* The least is too large; one that is larger still is not tried, nor one that would do if it were
 * asked. */
START_TEST(test_a_miss_leaves_the_cache_alone)
{
    static const uint64_t sizes[] = {2048, 4096, 8192};
    void *at[3];
    open_cache(CPU);
    fill_cache(sizes, 3, at);
    void *pointer = get(1024);
    expect_bytes(1024, 2048 + 4096 + 8192);
    expect_u64(figures().hits, 0);
    give(pointer);
    close_cache();
}
END_TEST

START_TEST(test_of_equals_the_first_recycled_is_reused_first)
{
    static const uint64_t sizes[] = {4096, 4096, 4096, 4096, 4096};
    void *at[5];
    void *again[5];
    open_cache(CPU);
    fill_cache(sizes, 5, at);
    for (int i = 0; i < 5; i++) {
        again[i] = get(4000);
        expect_ptr(again[i], at[i]);
    }
    give(again[3]);
    give(again[1]);
    expect_ptr(get(4096), at[3]);
    expect_ptr(get(4096), at[1]);
    expect_ok(cuarena_destroy_forced(&cached.arena));
}
END_TEST

START_TEST(test_zero_bytes_never_hit)
{
    open_cache(CPU);
    give(get(16));
    expect_ptr(get(0), NULL);
    cuarena_block_t empty;
    expect_ok(cuarena_block_alloc(cached.arena, 0, &empty));
    expect_bytes(0, 16);
    expect_u64(figures().hits, 0);
    expect_ok(cuarena_block_free(cached.arena, empty));
    expect_bytes(0, 16);
    close_cache();
}
END_TEST

/* ---- Sizes ------------------------------------------------------------- */

static const struct size_class {
    const char *config;
    uint64_t asked;
    uint64_t taken;
} size_classes[] = {
    {CPU, 1, 16},           {CPU, 17, 32},        {CPU, 6000, 6000},    {CPU8, 1, 8},
    {CPU8, 6001, 6008},     {CUDA, 1, 8},         {CUDA, 8, 8},         {CUDA, 9, 16},
    {CUDA, 100, 128},       {CUDA, 128, 128},     {CUDA, 8193, 16384},  {CUDA, 16383, 16384},
    {CUDA, 16384, 16384},   {CUDA, 16385, 32768}, {CUDA, 49153, 65536}, {CUDA, 65537, 81920},
    {CUDA, MIB(1), MIB(1)},
};

START_TEST(test_sizes_are_those_of_the_preset)
{
    const struct size_class *row = &size_classes[_i];
    open_cache(row->config);
    void *pointer = get(row->asked);
    expect_u64(allocated_bytes(&cached, pointer), row->taken);
    expect_bytes(row->taken, 0);
    give(pointer);
    expect_bytes(0, row->taken);
    close_cache();
}
END_TEST

/* Scalars pack, and what is large is as cudaMalloc's. */
START_TEST(test_blocks_are_aligned_to_the_least_power_of_two_they_fit_in)
{
    static const uint64_t sizes[] = {8, 64, 8, 300, 8, 20000, 24, 4096};
    void *at[8];
    open_cache(CUDA);
    for (int i = 0; i < 8; i++) {
        at[i] = get(sizes[i]);
        uint64_t alignment = 8;
        while (alignment < sizes[i] && alignment < 256)
            alignment *= 2;
        expect_u64((uintptr_t)at[i] % alignment, 0);
    }
    for (int i = 0; i < 8; i++)
        give(at[i]);
    close_cache();
}
END_TEST

START_TEST(test_8192_scalars_share_64_kib)
{
    static void *at[8192];
    open_cache("preset=mlx-cuda,memory=none,handle=64KiB,limit=1TiB");
    for (int i = 0; i < 8192; i++)
        expect_ok(cuarena_alloc(cached.arena, 4, &at[i]));
    expect_u64(reserved_bytes(&cached), KIB(64));
    expect_bytes(KIB(64), 0);
    for (int i = 0; i < 8192; i++)
        expect_ok(cuarena_free(cached.arena, at[i]));
    expect_bytes(0, KIB(64));
    close_cache();
}
END_TEST

/* ---- Limits ------------------------------------------------------------ */

START_TEST(test_a_strict_cache_takes_nothing_above_its_limit)
{
    open_cache(CPU);
    set_limit(CUARENA_LIMIT_CACHED, 9984);
    void *a = get(6000);
    void *b = get(4000);
    void *c = get(3984);
    give(a);
    expect_bytes(7984, 6000);
    give(b); /* 16 more than the limit; older ones stay */
    expect_bytes(3984, 6000);
    give(c);
    expect_bytes(0, 9984);
    expect_u64(reserved_bytes(&cached), 9984);
    expect_u64(figures().evicted_blocks, 0);
    close_cache();
}
END_TEST

START_TEST(test_a_strict_cache_may_be_full_to_the_byte)
{
    open_cache(CPU);
    set_limit(CUARENA_LIMIT_CACHED, 8192);
    void *a = get(4096);
    void *b = get(4096);
    void *c = get(16);
    give(a);
    give(b);
    expect_bytes(16, 8192);
    give(c);
    expect_bytes(0, 8192);
    close_cache();
}
END_TEST

START_TEST(test_a_late_cache_overshoots_by_one_block)
{
    open_cache(CUDA ",cache_limit=40000");
    void *a = get(16384 * 2);
    void *b = get(16384);
    void *c = get(16384);
    give(a);
    give(b); /* 32768 is below the limit */
    expect_bytes(16384, 49152);
    give(c); /* 49152 is not */
    expect_bytes(0, 49152);
    void *d = get(8); /* a miss; then the first recycled goes */
    expect_bytes(8, 16384);
    give(d);
    close_cache();
}
END_TEST

START_TEST(test_a_late_cache_is_trimmed_after_a_hit_too)
{
    open_cache(CUDA ",cache_limit=40000");
    void *a = get(16384 * 2);
    void *b = get(16384 * 2);
    void *c = get(64);
    give(c);
    give(a);
    give(b);
    expect_bytes(0, 65536 + 64);
    void *d = get(64);
    expect_u64(figures().hits, 1);
    expect_bytes(64, 32768);
    give(d);
    close_cache();
}
END_TEST

START_TEST(test_a_late_limit_is_only_swapped)
{
    open_cache(CUDA ",cache_limit=1MiB");
    void *a = get(16384);
    give(a);
    expect_u64(set_limit(CUARENA_LIMIT_CACHED, 0), MIB(1));
    expect_bytes(0, 16384);
    void *b = get(8);
    expect_bytes(8, 0);
    give(b);
    expect_bytes(0, 0);
    close_cache();
}
END_TEST

START_TEST(test_a_lower_strict_limit_evicts_the_first_recycled)
{
    static const uint64_t sizes[] = {4096, 1024, 2048};
    void *at[3];
    open_cache(CPU);
    fill_cache(sizes, 3, at);
    set_limit(CUARENA_LIMIT_CACHED, 4000);
    expect_bytes(0, 3072);
    expect_u64(reserved_bytes(&cached), 3072);
    expect_ptr(get(2048), at[2]);
    expect_ok(cuarena_destroy_forced(&cached.arena));
}
END_TEST

/* 10 blocks of 1000 bytes; 0.9 of them are 9000. */
static const struct nine_tenths {
    uint64_t bytes;
    uint64_t blocks;
} nine_tenths[] = {
    {0, 0},    {1, 1},     {1000, 1},  {1001, 2},   {8000, 8},
    {8999, 9}, {9000, 10}, {9001, 10}, {10000, 10}, {UINT64_MAX, 10},
};

START_TEST(test_releasing_nine_tenths_drops_everything)
{
    void *at[10];
    open_cache(CPU8);
    for (int i = 0; i < 10; i++)
        at[i] = get(1000);
    for (int i = 0; i < 10; i++)
        give(at[i]);
    uint64_t blocks = release(nine_tenths[_i].bytes);
    expect_u64(blocks, nine_tenths[_i].blocks);
    expect_bytes(0, 10000 - 1000 * blocks);
    expect_u64(reserved_bytes(&cached), figures().cached_bytes);
    expect_u64(figures().evicted_blocks, blocks);
    if (blocks < 10)
        expect_ptr(get(1000), at[blocks]);
    expect_ok(cuarena_destroy_forced(&cached.arena));
}
END_TEST

START_TEST(test_releasing_from_an_empty_cache)
{
    open_cache(CPU);
    expect_u64(release(0), 0);
    expect_u64(release(1), 0);
    close_cache();
}
END_TEST

/* live 32 KiB, cached 64 KiB, asked 32 KiB: 28 KiB above a limit of 100. */
START_TEST(test_an_enforced_limit_evicts_the_excess_before_a_miss)
{
    open_cache(CUDA ",soft_limit=102400,cache_limit=1MiB");
    void *live = get(32768);
    void *at[4];
    static const uint64_t sizes[] = {16384, 16384, 16384, 16384};
    fill_cache(sizes, 4, at);
    expect_bytes(32768, 65536);
    void *more = get(32768);
    expect_bytes(65536, 32768);
    expect_u64(reserved_bytes(&cached), 65536 + 32768);
    give(live);
    give(more);
    close_cache();
}
END_TEST

START_TEST(test_a_stored_limit_is_not_enforced)
{
    open_cache(CPU ",soft_limit=100");
    void *a = get(4096);
    give(a);
    void *b = get(65536);
    expect_bytes(65536, 4096);
    give(b);
    close_cache();
}
END_TEST

/* Live bytes alone are above it: nothing is refused, and after the miss what the memory has beyond
 * the limit goes from the cache. */
START_TEST(test_a_soft_limit_refuses_nothing)
{
    open_cache(CUDA ",soft_limit=40000,cache_limit=1MiB");
    void *a = get(65536);
    give(get(16384));
    expect_bytes(65536, 16384);
    void *b = get(65536);
    expect_bytes(131072, 0);
    give(a);
    give(b);
    close_cache();
}
END_TEST

/* ---- Arguments --------------------------------------------------------- */

START_TEST(test_arguments_of_the_cache_are_checked)
{
    open_cache(CPU);
    cuarena_cache_stats_t stats = {0};
    expect_status(cuarena_cache_release(NULL, 1, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_cache_clear(NULL, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_cache_stats(cached.arena, &stats), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(cached.arena, 5, amount_of_bytes(1), NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_cache_release(cached.arena, 1, NULL));
    close_cache();
}
END_TEST

static const char *const refused[] = {"preset=grow,cache_limit=1MiB", "preset=pool,keep=none",
                                      "preset=pool,keep=all,cache_limit=0"};

START_TEST(test_options_that_need_others_are_refused)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, refused[_i]));
    expect_status(cuarena_create(&config, &cached.arena), CUARENA_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    suite_add_rows(suite, "basic", test_basic_sizes_come_and_go, COUNT_OF(basic_sizes));
    suite_add_list(
        suite, "MLX's own",
        TEST_LIST(test_a_hundred_buffers_of_a_gib_one_after_the_other,
                  test_a_reused_buffer_keeps_its_capacity, test_limits_return_what_they_were,
                  test_nothing_is_cached_with_a_limit_of_0,
                  test_active_and_cached_bytes_of_one_buffer, test_a_reset_peak_is_what_is_live,
                  test_clearing_an_empty_cache_does_nothing));
    suite_add_rows(suite, "window", test_a_cached_block_serves_what_it_exceeds_by_little,
                   COUNT_OF(windows));
    suite_add_list(
        suite, "reuse",
        TEST_LIST(test_the_least_capacity_that_fits_is_reused, test_a_miss_leaves_the_cache_alone,
                  test_of_equals_the_first_recycled_is_reused_first, test_zero_bytes_never_hit));
    suite_add_rows(suite, "sizes", test_sizes_are_those_of_the_preset, COUNT_OF(size_classes));
    suite_add_list(suite, "places",
                   TEST_LIST(test_blocks_are_aligned_to_the_least_power_of_two_they_fit_in,
                             test_8192_scalars_share_64_kib));
    suite_add_list(
        suite, "limits",
        TEST_LIST(
            test_a_strict_cache_takes_nothing_above_its_limit,
            test_a_strict_cache_may_be_full_to_the_byte, test_a_late_cache_overshoots_by_one_block,
            test_a_late_cache_is_trimmed_after_a_hit_too, test_a_late_limit_is_only_swapped,
            test_a_lower_strict_limit_evicts_the_first_recycled, test_releasing_from_an_empty_cache,
            test_an_enforced_limit_evicts_the_excess_before_a_miss,
            test_a_stored_limit_is_not_enforced, test_a_soft_limit_refuses_nothing));
    suite_add_rows(suite, "nine tenths", test_releasing_nine_tenths_drops_everything,
                   COUNT_OF(nine_tenths));
    suite_add_list(suite, "memory", TEST_LIST(test_arguments_of_the_cache_are_checked));
    suite_add_rows(suite, "options", test_options_that_need_others_are_refused, COUNT_OF(refused));
    return suite_main(suite);
}
