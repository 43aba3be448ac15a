/*
 * The cache of freed blocks: the rules of MLX's allocators, each with its edges, and what is as it
 * is not there.
 */
#include "support/arena_rows.h"
#include "support/configs.h"

#include <stdbool.h>

/* Addresses without bytes, in pages of a granule, so that what is held is known byte by byte. */
#define CPU "preset=mlx-cpu,memory=none,handle=16,limit=1TiB"
#define CPU8 "preset=mlx-cpu,memory=none,alignment=8,handle=8,limit=1TiB"
#define CUDA "preset=mlx-cuda,memory=none,handle=256,limit=1TiB"

/* ---- Rows -------------------------------------------------------------- */

static const arena_row_t rows[] = {
    {"a reused buffer keeps its capacity", CPU,
     "limit cached 1M; alloc a 8192; free a; cache 0 8192; alloc b 6000 takes 8192; free b; "
     "cache 0 8192"},
    /* The soft limit is 0.8 of what `none` has, 64 TiB. */
    {"limits return what they were", CPU,
     "limit cached 10 was 32M; limit cached 20 was 10; limit soft 30 was 56294995342131; "
     "limit soft 40 was 30"},
    {"nothing is cached with a limit of 0", CPU,
     "alloc a 4096; free a; cache 0 4096; limit cached 0; cache 0 0; alloc b 4096; free b; "
     "cache 0 0; reserved_bytes 0"},
    {"active and cached bytes of one buffer", CPU,
     "alloc a 4096; cache 4096 0; peak_active_bytes 4096; free a; cache 0 4096; "
     "peak_active_bytes 4096 peak_cached_bytes 4096; clear gives 1; cache 0 0; reset_peaks; "
     "peak_active_bytes 0 peak_cached_bytes 0"},
    /* Theirs is 0 until the next malloc. */
    {"a reset peak is what is live", CPU,
     "alloc a 4096; alloc b 64; free b; reset_peaks; peak_active_bytes 4096"},

    {"the least capacity that fits is reused", CPU,
     "alloc a 6400; alloc b 4800; alloc c 5600; alloc d 4000; free a; free b; free c; free d; "
     "alloc x 4480 at b; alloc y 4480 at c; alloc z 4480 at a"},
    /* The least is too large; one that is larger still is not tried, nor one that would do if it
     * were asked. */
    {"a miss leaves the cache alone", CPU,
     "alloc a 2048; alloc b 4096; alloc c 8192; free a; free b; free c; alloc d 1024; "
     "cache 1024 14336; hits 0"},
    {"of equals the first recycled is reused first", CPU,
     "alloc a 4096; alloc b 4096; alloc c 4096; alloc d 4096; alloc e 4096; free a; free b; free "
     "c; "
     "free d; free e; alloc a 4000 at a; alloc b 4000 at b; alloc c 4000 at c; alloc d 4000 at d; "
     "alloc e 4000 at e; free d; free b; alloc x 4096 at d; alloc y 4096 at b"},

    {"a strict cache takes nothing above its limit", CPU,
     "limit cached 9984; alloc a 6000; alloc b 4000; alloc c 3984; free a; cache 7984 6000; "
     "free b; cache 3984 6000; free c; cache 0 9984; reserved_bytes 9984; evicted_blocks 0"},
    {"a strict cache may be full to the byte", CPU,
     "limit cached 8192; alloc a 4096; alloc b 4096; alloc c 16; free a; free b; cache 16 8192; "
     "free c; cache 0 8192"},
    /* 32768 is below the limit, 49152 is not; after a miss the first recycled goes. */
    {"a late cache overshoots by one block", CUDA ",cache_limit=40000",
     "alloc a 32768; alloc b 16384; alloc c 16384; free a; free b; cache 16384 49152; free c; "
     "cache 0 49152; alloc d 8; cache 8 16384"},
    {"a late cache is trimmed after a hit too", CUDA ",cache_limit=40000",
     "alloc a 32768; alloc b 32768; alloc c 64; free c; free a; free b; cache 0 65600; "
     "alloc d 64; hits 1; cache 64 32768"},
    {"a late limit is only swapped", CUDA ",cache_limit=1MiB",
     "alloc a 16384; free a; limit cached 0 was 1M; cache 0 16384; alloc b 8; cache 8 0; free b; "
     "cache 0 0"},
    {"a lower strict limit evicts the first recycled", CPU,
     "alloc a 4096; alloc b 1024; alloc c 2048; free a; free b; free c; limit cached 4000; "
     "cache 0 3072; reserved_bytes 3072; alloc d 2048 at c"},
    {"releasing from an empty cache", CPU, "release 0 gives 0; release 1 gives 0"},
    /* Live 32 KiB, cached 64 KiB, asked 32 KiB: 28 KiB above a limit of 100. */
    {"an enforced limit evicts the excess before a miss",
     CUDA ",soft_limit=102400,cache_limit=1MiB",
     "alloc l 32768; alloc a 16384; alloc b 16384; alloc c 16384; alloc d 16384; free a; free b; "
     "free c; free d; cache 32768 65536; alloc m 32768; cache 65536 32768; reserved_bytes 98304"},
    {"a stored limit is not enforced", CPU ",soft_limit=100",
     "alloc a 4096; free a; alloc b 65536; cache 65536 4096"},
    /* Live bytes alone are above it: nothing is refused, and after the miss what the memory has
     * beyond the limit goes from the cache. */
    {"a soft limit refuses nothing", CUDA ",soft_limit=40000,cache_limit=1MiB",
     "alloc a 65536; alloc b 16384; free b; cache 65536 16384; alloc c 65536; cache 131072 0"},
};

START_TEST(the_cache_is_as_mlxs)
{
    arena_run_row(&rows[_i]);
}
END_TEST

/* ---- MLX's own tests of its CPU allocator ------------------------------ */

static const uint64_t basic_sizes[] = {4, 512, 0};

START_TEST(basic_sizes_come_and_go)
{
    fixture_t *f = opened_text(CPU);
    void *pointer = alloc_ok(f, basic_sizes[_i]);
    ck_assert_int_eq(pointer == NULL, basic_sizes[_i] == 0);
    free_ok(f, pointer);
}
END_TEST

START_TEST(a_hundred_buffers_of_a_gib_one_after_the_other)
{
    fixture_t *f = opened_text(CPU);
    for (int i = 0; i < 100; i++)
        free_ok(f, alloc_ok(f, GIB(1)));
    expect_cache(f, 0, 0); /* the limit is 32 MiB */
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

START_TEST(clearing_an_empty_cache_does_nothing)
{
    fixture_t *f = opened_text(CPU);
    uint64_t calls = stats_of(f).memory_calls;
    expect_u64(clear_cache(f), 0);
    expect_u64(stats_of(f).memory_calls, calls);
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

START_TEST(a_cached_block_serves_what_it_exceeds_by_little)
{
    const struct window *w = &windows[_i];
    fixture_t *f = opened_text(w->config);
    void *at = alloc_ok(f, w->capacity);
    free_ok(f, at);
    void *pointer = alloc_ok(f, w->asked);
    expect_u64(cache_stats_of(f).hits, w->hits);
    expect_u64(cache_stats_of(f).misses, w->hits ? 1 : 2);
    expect_u64(cache_stats_of(f).cached_bytes, w->hits ? 0 : w->capacity);
    if (w->hits)
        expect_ptr(pointer, at);
    free_ok(f, pointer);
}
END_TEST

START_TEST(zero_bytes_never_hit)
{
    fixture_t *f = opened_text(CPU);
    free_ok(f, alloc_ok(f, 16));
    expect_ptr(alloc_ok(f, 0), NULL);
    cuarena_block_t empty;
    expect_ok(cuarena_block_alloc(f->arena, 0, &empty));
    expect_cache(f, 0, 16);
    expect_u64(cache_stats_of(f).hits, 0);
    expect_ok(cuarena_block_free(f->arena, empty));
    expect_cache(f, 0, 16);
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

START_TEST(sizes_are_those_of_the_preset)
{
    const struct size_class *row = &size_classes[_i];
    fixture_t *f = opened_text(row->config);
    void *pointer = alloc_ok(f, row->asked);
    expect_u64(allocated_bytes(f, pointer), row->taken);
    expect_cache(f, row->taken, 0);
    free_ok(f, pointer);
    expect_cache(f, 0, row->taken);
}
END_TEST

/* Scalars pack, and what is large is as cudaMalloc's. */
START_TEST(blocks_are_aligned_to_the_least_power_of_two_they_fit_in)
{
    static const uint64_t sizes[] = {8, 64, 8, 300, 8, 20000, 24, 4096};
    void *at[8];
    fixture_t *f = opened_text(CUDA);
    for (int i = 0; i < 8; i++) {
        at[i] = alloc_ok(f, sizes[i]);
        uint64_t alignment = 8;
        while (alignment < sizes[i] && alignment < 256)
            alignment *= 2;
        expect_u64((uintptr_t)at[i] % alignment, 0);
    }
    for (int i = 0; i < 8; i++)
        free_ok(f, at[i]);
}
END_TEST

START_TEST(scalars_share_64_kib_by_8192)
{
    static void *at[8192];
    fixture_t *f = opened_text("preset=mlx-cuda,memory=none,handle=64KiB,limit=1TiB");
    for (int i = 0; i < 8192; i++)
        expect_ok(cuarena_alloc(f->arena, 4, &at[i]));
    expect_u64(reserved_bytes(f), KIB(64));
    expect_cache(f, KIB(64), 0);
    for (int i = 0; i < 8192; i++)
        expect_ok(cuarena_free(f->arena, at[i]));
    expect_cache(f, 0, KIB(64));
}
END_TEST

/* ---- Limits ------------------------------------------------------------ */

/* 10 blocks of 1000 bytes; 0.9 of them are 9000. */
static const struct nine_tenths {
    uint64_t bytes;
    uint64_t blocks;
} nine_tenths[] = {
    {0, 0},    {1, 1},     {1000, 1},  {1001, 2},   {8000, 8},
    {8999, 9}, {9000, 10}, {9001, 10}, {10000, 10}, {UINT64_MAX, 10},
};

START_TEST(releasing_nine_tenths_drops_everything)
{
    void *at[10];
    fixture_t *f = opened_text(CPU8);
    for (int i = 0; i < 10; i++)
        at[i] = alloc_ok(f, 1000);
    for (int i = 0; i < 10; i++)
        free_ok(f, at[i]);
    uint64_t blocks = UINT64_MAX;
    step_ok(f, cuarena_cache_release(f->arena, nine_tenths[_i].bytes, &blocks));
    expect_u64(blocks, nine_tenths[_i].blocks);
    expect_cache(f, 0, 10000 - 1000 * blocks);
    expect_u64(reserved_bytes(f), cache_stats_of(f).cached_bytes);
    expect_u64(cache_stats_of(f).evicted_blocks, blocks);
    if (blocks < 10)
        expect_ptr(alloc_ok(f, 1000), at[blocks]);
    fixture_close_forced(f);
}
END_TEST

/* ---- Arguments --------------------------------------------------------- */

START_TEST(arguments_of_the_cache_are_checked)
{
    fixture_t *f = opened_text(CPU);
    cuarena_cache_stats_t stats = {0};
    expect_status(cuarena_cache_release(NULL, 1, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_cache_clear(NULL, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_cache_stats(f->arena, &stats), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_set_limit(f->arena, 5, amount_of_bytes(1), NULL), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_cache_release(f->arena, 1, NULL));
}
END_TEST

static const char *const refused[] = {"preset=grow,cache_limit=1MiB", "preset=pool,keep=none",
                                      "preset=pool,keep=all,cache_limit=0"};

START_TEST(options_that_need_others_are_refused)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = config_of(refused[_i]);
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    suite_add_rows(suite, "basic", basic_sizes_come_and_go, COUNT_OF(basic_sizes));
    suite_add_rows(suite, "rows", the_cache_is_as_mlxs, COUNT_OF(rows));
    suite_add_list(suite, "MLX's own",
                   TEST_LIST(a_hundred_buffers_of_a_gib_one_after_the_other,
                             clearing_an_empty_cache_does_nothing, zero_bytes_never_hit));
    suite_add_rows(suite, "window", a_cached_block_serves_what_it_exceeds_by_little,
                   COUNT_OF(windows));
    suite_add_rows(suite, "sizes", sizes_are_those_of_the_preset, COUNT_OF(size_classes));
    suite_add_list(suite, "places",
                   TEST_LIST(blocks_are_aligned_to_the_least_power_of_two_they_fit_in,
                             scalars_share_64_kib_by_8192));
    suite_add_rows(suite, "nine tenths", releasing_nine_tenths_drops_everything,
                   COUNT_OF(nine_tenths));
    suite_add_list(suite, "memory", TEST_LIST(arguments_of_the_cache_are_checked));
    suite_add_rows(suite, "options", options_that_need_others_are_refused, COUNT_OF(refused));
    return suite_main(suite);
}
