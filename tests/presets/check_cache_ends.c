/*
 * What the cache of freed blocks does not take, what ends it, and a memory that has no more or
 * refuses.
 */
#include "support/arena_rows.h"
#include "support/counted.h"

#include <string.h>

/* Addresses without bytes, in pages of a granule. */
#define CPU "preset=mlx-cpu,memory=none,handle=16,limit=1TiB"
#define CUDA "preset=mlx-cuda,memory=none,handle=256,limit=1TiB"
#define SOFT "preset=mlx-cuda,memory=none,handle=256,limit=32MiB,soft_limit=16MiB"

static const arena_row_t rows[] = {
    {"nothing is cached where free bytes are zeroed", "preset=mlx-cpu,memory=pageable,zero=free",
     "alloc a 4096; free a; cache 0 0"},
    {"a trim ends the first recycled", CPU,
     "alloc a 4096; alloc b 1024; alloc c 2048; free a; free b; free c; trim 4000 gives 4096; "
     "cache 0 3072; trim gives 3072; cache 0 0; reserved_bytes 0"},
    {"a reset empties the cache", CPU,
     "alloc a 4096; alloc b 1024; free b; reset; cache 0 0; free a is STALE"},
    {"a limit of live bytes leaves the cache alone", CPU,
     "limit live 8192; alloc a 8192; limit live 16384; alloc b 4096; free b; limit live 10000; "
     "alloc c 4096 is LIMIT; cache 8192 4096"},
    {"... where the soft limit is enforced too", SOFT,
     "alloc a 8M; alloc b 8M; free b; limit live 10M; alloc c 9M is LIMIT; "
     "cache 8M 8M; evicted_blocks 0"},
    {"more than the limit ends no cached block", SOFT,
     "alloc a 4M; alloc b 4M; alloc c 4M; alloc d 4M; free a; free b; free c; free d; "
     "cache 0 16M; alloc e 40M is LIMIT; cache 0 16M; evicted_blocks 0; alloc e 32M; "
     "cache 32M 0"},
    {"... nor more than it leaves beside live blocks", SOFT,
     "alloc a 8M; alloc b 8M; free b; alloc c 24592K is LIMIT; cache 8M 8M; "
     "evicted_blocks 0; alloc c 24M; cache 32M 0"},
    {"more than a pool ends no cached block",
     "pool=32MiB,memory=none,handle=256,keep=cache,soft_limit=16MiB,soft_limit_rule=enforce",
     "alloc a 8M; alloc b 8M; free b; alloc c 25M is OUT_OF_MEMORY; cache 8M 8M; "
     "evicted_blocks 0; alloc c 24M; cache 32M 0"},
};

START_TEST(what_ends_cached_blocks)
{
    arena_run_row(&rows[_i]);
}
END_TEST

/* ---- What is not cached, and what ends it ------------------------------ */

START_TEST(what_is_cached_is_nothing_to_callers)
{
    fixture_t *f = opened_text(CPU);
    cuarena_block_t block;
    expect_ok(cuarena_block_alloc(f->arena, 4096, &block));
    expect_ok(cuarena_block_free(f->arena, block));
    expect_status(cuarena_block_free(f->arena, block), CUARENA_STALE);
    void *at = alloc_ok(f, 1024);
    free_ok(f, at);
    expect_status(cuarena_free(f->arena, at), CUARENA_STALE);
    expect_status(cuarena_pin(f->arena, at), CUARENA_STALE);
    void *resized;
    expect_status(cuarena_resize(f->arena, at, 2048, &resized), CUARENA_STALE);
    uint64_t size;
    expect_status(cuarena_size_of(f->arena, at, &size, NULL), CUARENA_STALE);
    expect_cache(f, 0, 4096 + 1024);
    cuarena_block_t again;
    expect_ok(cuarena_block_alloc(f->arena, 4096, &again));
    ck_assert(again != block);
    expect_status(cuarena_block_free(f->arena, block), CUARENA_STALE);
    expect_ok(cuarena_block_free(f->arena, again));
}
END_TEST

START_TEST(pinned_dedicated_and_adopted_blocks_are_not_cached)
{
    static char bytes[4096] __attribute__((aligned(4096)));
    fixture_t *f = opened_text(CPU);
    cuarena_block_t block;
    void *at;
    expect_ok(cuarena_block_alloc(f->arena, 4096, &block));
    expect_ok(cuarena_block_pin(f->arena, block, &at));
    expect_ok(cuarena_block_free(f->arena, block));
    expect_cache(f, 0, 0);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    expect_ok(cuarena_alloc_with(f->arena, 4096, &request, &at));
    free_ok(f, at);
    expect_cache(f, 0, 0);
    expect_ok(cuarena_adopt(f->arena, bytes, sizeof bytes, 0, &block));
    expect_cache(f, 4096, 0);
    expect_ok(cuarena_block_free(f->arena, block));
    expect_cache(f, 0, 0);
    request.dedicated = 0;
    request.region = CUARENA_REGION_STABLE;
    expect_ok(cuarena_alloc_with(f->arena, 4096, &request, &at));
    free_ok(f, at);
    expect_cache(f, 0, 0);
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

/* Whole pages at a page, which is all that MLX's make_buffer takes, where it takes any; and what
 * adopt takes and refuses besides. */
START_TEST(adopted_bytes_are_whole_granules_once)
{
    fixture_t f;
    static char bytes[3 * 16384] __attribute__((aligned(16384)));
    static const char *const presets[] = {CPU, CUDA};
    static const uint64_t granules[] = {16, 8};
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        cuarena_block_t page;
        cuarena_block_t rest;
        cuarena_block_t none = 0;
        uint64_t granule = granules[i];
        fixture_open_text(&f, presets[i]);
        expect_ok(cuarena_adopt(f.arena, bytes, 16384, 0, &page));
        expect_ok(cuarena_adopt(f.arena, bytes + 16384 + granule, granule, 0, &rest));
        expect_cache(&f, 16384 + granule, 0);
        const struct {
            void *address;
            uint64_t size;
        } refused[] = {
            {bytes, 16384},                         /* twice */
            {bytes + 16384 - granule, 2 * granule}, /* the end of it */
            {bytes + 32768 + 1, 16384},
            {bytes + 32768, granule - 1},
            {bytes + 32768, 0},
            {NULL, 4096},
        };
        for (size_t j = 0; j < COUNT_OF(refused); j++)
            expect_status(cuarena_adopt(f.arena, refused[j].address, refused[j].size, 0, &none),
                          CUARENA_BAD_ARGUMENT);
        expect_cache(&f, 16384 + granule, 0);
        expect_ok(cuarena_block_free(f.arena, page));
        expect_ok(cuarena_block_free(f.arena, rest));
        fixture_close(&f);
    }
}
END_TEST

/* At an address that is no multiple of it the block does not serve. */
START_TEST(an_alignment_above_the_block_is_a_miss)
{
    fixture_t *f = opened_text(CPU);
    void *front = alloc_ok(f, 16);
    void *at = alloc_ok(f, 4096);
    free_ok(f, at);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.alignment = 65536;
    void *aligned;
    expect_ok(cuarena_alloc_with(f->arena, 4096, &request, &aligned));
    expect_u64((uintptr_t)aligned % 65536, 0);
    expect_sound(f);
    expect_u64(cache_stats_of(f).hits, (uintptr_t)at % 65536 == 0);
    free_ok(f, front);
    free_ok(f, aligned);
}
END_TEST

START_TEST(a_zeroed_request_gets_zeros_of_a_cached_block)
{
    fixture_t *f = opened_text("preset=mlx-cpu,memory=pageable");
    char *at = alloc_ok(f, 4096);
    memset(at, 0x5a, 4096);
    free_ok(f, at);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    void *again;
    expect_ok(cuarena_alloc_with(f->arena, 4000, &request, &again));
    expect_ptr(again, at);
    for (int i = 0; i < 4000; i++)
        ck_assert_int_eq(at[i], 0);
    free_ok(f, again);
}
END_TEST

START_TEST(tags_follow_their_blocks)
{
    fixture_t *f = opened_text(CPU);
    cuarena_tag_t tag;
    expect_ok(cuarena_tag(f->arena, "kept", &tag));
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.tag = tag;
    void *at;
    expect_ok(cuarena_alloc_with(f->arena, 4096, &request, &at));
    free_ok(f, at);
    void *plain = alloc_ok(f, 4096);
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_tag_stats(f->arena, tag, &stats));
    expect_u64(stats.live_bytes, 0);
    free_ok(f, plain);
    expect_ok(cuarena_alloc_with(f->arena, 4000, &request, &at));
    expect_u64(cache_stats_of(f).hits, 2);
    expect_ok(cuarena_tag_stats(f->arena, tag, &stats));
    expect_u64(stats.live_bytes, 4096);
    expect_u64(stats.requested_bytes, 4000);
    free_ok(f, at);
}
END_TEST

START_TEST(a_compaction_drops_the_cache_first)
{
    fixture_t *f = opened_text("preset=mlx-cpu,memory=pageable");
    cuarena_block_t blocks[3];
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_block_alloc(f->arena, 4096, &blocks[i]));
    expect_ok(cuarena_block_free(f->arena, blocks[1]));
    expect_cache(f, 8192, 4096);
    expect_ok(cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_cache(f, 8192, 0);
    expect_u64(cache_stats_of(f).evicted_blocks, 1);
    expect_ok(cuarena_block_free(f->arena, blocks[0]));
    expect_ok(cuarena_block_free(f->arena, blocks[2]));
}
END_TEST

/* Blocks move up to a cached one, and not across it. */
START_TEST(a_goal_is_reached_around_cached_blocks)
{
    fixture_t *f = opened_text("preset=pool,pool=64KiB,memory=pageable,alignment=4KiB,"
                               "keep=cache,placement=low");
    cuarena_block_t blocks[16];
    for (int i = 0; i < 16; i++)
        expect_ok(cuarena_block_alloc(f->arena, 4096, &blocks[i]));
    expect_ok(cuarena_block_free(f->arena, blocks[8]));
    set_limit(f, CUARENA_LIMIT_CACHED, 4096);
    for (int i = 1; i < 6; i += 2)
        expect_ok(cuarena_block_free(f->arena, blocks[i]));
    expect_cache(f, 12 * 4096, 4096);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.goal_bytes = 12288;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_cache(f, 12 * 4096, 4096);
    fixture_close_forced(f);
}
END_TEST

START_TEST(a_pool_that_changes_its_size_drops_the_cache)
{
    fixture_t *f = opened_text("preset=pool,pool=64KiB,memory=pageable,keep=cache");
    free_ok(f, alloc_ok(f, 4096));
    expect_cache(f, 0, 4096);
    expect_ok(cuarena_resize_pool(f->arena, KIB(128)));
    expect_cache(f, 0, 0);
}
END_TEST

/* ---- Running out ------------------------------------------------------- */

static uint64_t tries_of_cache(const fixture_t *f)
{
    cuarena_step_stats_t steps[CUARENA_STEP_COUNT];
    size_t count;
    expect_ok(cuarena_step_stats(f->arena, steps, CUARENA_STEP_COUNT, &count));
    expect_text(steps[CUARENA_STEP_CACHE].name, "cache");
    return steps[CUARENA_STEP_CACHE].tried;
}

static const char *const full[] = {
    "preset=pool,pool=64KiB,memory=none,handle=256,keep=cache",
    "preset=grow,limit=64KiB,memory=none,handle=256,keep=cache",
    "preset=mlx-cpu,limit=64KiB,memory=none,handle=16",
    "preset=mlx-cuda,limit=64KiB,memory=none,handle=256",
};

START_TEST(no_request_fails_while_cached_bytes_could_serve_it)
{
    static void *at[4];
    fixture_t *f = opened_text(full[_i]);
    for (int i = 0; i < 4; i++)
        at[i] = alloc_ok(f, 16384);
    for (int i = 0; i < 4; i++)
        free_ok(f, at[i]);
    expect_cache(f, 0, KIB(64));
    void *pointer = alloc_ok(f, KIB(64));
    expect_cache(f, KIB(64), 0);
    expect_u64(tries_of_cache(f) != 0, 1);
    free_ok(f, pointer);
}
END_TEST

/* ---- A memory that refuses --------------------------------------------- */

static fixture_t *open_custom(fixture_t *f, const char *options)
{
    fixture_prepare(f, KIND_CUSTOM_GROW, MIB(4));
    expect_ok(cuarena_config_parse(&f->config, options));
    fixture_create(f);
    return f;
}

/* Theirs counts what it did not get. */
START_TEST(a_refused_request_changes_no_figure)
{
    fixture_t *f = open_custom(new_fixture(fixture_close), "keep=cache,alignment=4KiB");
    free_ok(f, alloc_ok(f, KIB(64)));
    cuarena_cache_stats_t before = cache_stats_of(f);
    f->memory.budget_bytes = f->memory.reserved_bytes;
    void *pointer;
    expect_status(cuarena_alloc(f->arena, MIB(1), &pointer), CUARENA_OUT_OF_MEMORY);
    expect_sound(f);
    expect_u64(cache_stats_of(f).active_bytes, before.active_bytes);
    expect_u64(cache_stats_of(f).peak_active_bytes, before.peak_active_bytes);
}
END_TEST

/* Whole segments: what is evicted goes back as the segment that it was. */
START_TEST(held_is_live_and_cached_where_segments_keep_their_length)
{
    void *at[8];
    uint64_t blocks = 0;
    fixture_t *f = prepared(KIND_CUSTOM_GROW, MIB(64));
    test_memory_make_plain(&f->memory);
    expect_ok(cuarena_config_parse(&f->config, "keep=cache,alignment=4KiB,cache_limit=256KiB"));
    fixture_create(f);
    for (int i = 0; i < 8; i++) {
        at[i] = alloc_ok(f, KIB(64));
        expect_u64(f->memory.reserved_bytes, KIB(64) * (uint64_t)(i + 1));
    }
    for (int i = 0; i < 8; i++) {
        free_ok(f, at[i]);
        uint64_t most = KIB(64) * (uint64_t)(i < 4 ? i + 1 : 4);
        expect_u64(cache_stats_of(f).cached_bytes, most);
        expect_u64(f->memory.reserved_bytes,
                   cache_stats_of(f).active_bytes + cache_stats_of(f).cached_bytes);
    }
    step_ok(f, cuarena_cache_release(f->arena, KIB(128), &blocks));
    expect_u64(blocks, 2);
    expect_u64(f->memory.reserved_bytes, KIB(128));
}
END_TEST

/* Sizes of small blocks, and what is cached beside them. */
static const struct outside {
    const char *limit;
    uint64_t beside; /* fills the cache */
    uint64_t bytes;
} outside[] = {
    {"0", 0, 1},     {"0", 0, 16},         {"0", 0, 4096},
    {"0", 0, 32768}, {"1MiB", MIB(1), 64}, {"1MiB", MIB(1), 16384},
};

static uint64_t calls_of_memory(const fixture_t *f)
{
    return stats_of(f).memory_calls;
}

/* An arena whose cache has no room, with free bytes for small blocks. */
static fixture_t *open_outside(const struct outside *row)
{
    fixture_t *f = opened_text("preset=mlx-cpu,memory=pageable");
    expect_ok(
        cuarena_set_limit(f->arena, CUARENA_LIMIT_CACHED, amount_of_bytes(row->beside), NULL));
    if (row->beside != 0)
        free_ok(f, alloc_ok(f, row->beside));
    free_ok(f, alloc_ok(f, row->bytes));
    return f;
}

/* As malloc, which is what MLX asks where its cache has none: the next one is cut from what the
 * last one left. */
START_TEST(small_blocks_outside_the_cache_take_no_call)
{
    const struct outside *row = &outside[_i];
    fixture_t *f = open_outside(row);
    uint64_t calls = calls_of_memory(f);
    for (int i = 0; i < 100; i++) {
        void *pointer = alloc_ok(f, row->bytes);
        uint64_t active = allocated_bytes(f, pointer);
        expect_cache(f, active, row->beside);
        free_ok(f, pointer);
        expect_cache(f, 0, row->beside);
    }
    expect_u64(calls_of_memory(f), calls);
    ck_assert_uint_le(stats_of(f).free_bytes, MIB(1));
    expect_ok(cuarena_trim(f->arena, 0, NULL));
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

typedef struct small_work {
    const struct outside *row;
    fixture_t *f;
} small_work_t;

static void prepare_small(void *user)
{
    small_work_t *work = user;
    work->f = open_outside(work->row);
}

static void work_small(void *user)
{
    const small_work_t *work = user;
    cuarena_t *arena = work->f->arena;
    for (int i = 0; i < 100; i++) {
        void *pointer;
        cuarena_block_t block;
        expect_ok(cuarena_alloc(arena, work->row->bytes, &pointer));
        expect_ok(cuarena_free(arena, pointer));
        expect_ok(cuarena_block_alloc(arena, work->row->bytes, &block));
        expect_ok(cuarena_block_free(arena, block));
    }
}

START_TEST(small_blocks_outside_the_cache_take_no_call_of_the_system)
{
    small_work_t work = {.row = &outside[_i]};
    expect_u64(counted_system_calls(prepare_small, work_small, &work), 0);
}
END_TEST

START_TEST(small_blocks_outside_the_cache_take_no_malloc)
{
    small_work_t work = {.row = &outside[_i]};
    prepare_small(&work);
    uint64_t mallocs = counted_mallocs();
    work_small(&work);
    expect_u64(counted_mallocs(), mallocs);
}
END_TEST

/* The cache has no room for what these name, and finds out last that it is no block. */
START_TEST(a_refused_free_outside_the_cache_changes_nothing)
{
    const struct outside *row = &outside[_i];
    fixture_t *f = open_outside(row);
    cuarena_block_t block;
    void *pointer = alloc_ok(f, row->bytes);
    free_ok(f, pointer);
    expect_ok(cuarena_block_alloc(f->arena, row->bytes, &block));
    expect_ok(cuarena_block_free(f->arena, block));
    cuarena_stats_t before = stats_of(f);
    cuarena_cache_stats_t cache = cache_stats_of(f);
    expect_status(cuarena_free(f->arena, pointer), CUARENA_STALE);
    expect_status(cuarena_block_free(f->arena, block), CUARENA_STALE);
    expect_status(cuarena_free(f->arena, &f), CUARENA_STALE);
    cuarena_stats_t after = stats_of(f);
    expect_u64(after.free_bytes, before.free_bytes);
    expect_u64(after.live_bytes, before.live_bytes);
    expect_u64(after.memory_calls, before.memory_calls);
    free_ok(f, alloc_ok(f, row->bytes));
    expect_u64(calls_of_memory(f), before.memory_calls);
    expect_u64(cache_stats_of(f).misses, cache.misses + 1);
    expect_u64(cache_stats_of(f).hits, cache.hits);
}
END_TEST

/* A miss counts once, whichever path allocates: the spare bytes have no room for all of these. */
START_TEST(each_miss_outside_the_cache_counts_once)
{
    const struct outside *row = &outside[_i];
    fixture_t *f = open_outside(row);
    void *blocks[200];
    cuarena_cache_stats_t before = cache_stats_of(f);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = alloc_ok(f, row->bytes);
        expect_u64(cache_stats_of(f).misses, before.misses + i + 1);
    }
    expect_u64(cache_stats_of(f).hits, before.hits);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free_ok(f, blocks[i]);
}
END_TEST

/* What stays free is bounded: more goes back with the free. */
START_TEST(large_blocks_outside_the_cache_go_back_at_once)
{
    fixture_t *f = opened_text("preset=mlx-cpu,memory=pageable,cache_limit=1");
    void *blocks[64];
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = alloc_ok(f, KIB(256));
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        free_ok(f, blocks[i]);
        ck_assert_uint_le(stats_of(f).free_bytes, MIB(1) + KIB(256));
    }
    free_ok(f, alloc_ok(f, MIB(8)));
    ck_assert_uint_le(reserved_bytes(f), MIB(1) + KIB(64));
}
END_TEST

START_TEST(keep_none_gives_bytes_back_at_once)
{
    fixture_t *f = open_custom(new_fixture(fixture_close), "keep=none,alignment=4KiB");
    void *a = alloc_ok(f, KIB(64));
    void *b = alloc_ok(f, KIB(64));
    free_ok(f, a);
    expect_u64(f->memory.reserved_bytes, KIB(64));
    free_ok(f, b);
    expect_u64(f->memory.reserved_bytes, 0);
}
END_TEST

START_TEST(keep_all_keeps_free_bytes)
{
    fixture_t *f = open_custom(new_fixture(fixture_close), "keep=all,alignment=4KiB");
    free_ok(f, alloc_ok(f, KIB(64)));
    expect_u64(f->memory.reserved_bytes, KIB(64));
    expect_cache(f, 0, 0);
    expect_u64(clear_cache(f), 0);
}
END_TEST

static void add_counted(TCase *calls)
{
    const char *why = counted_possible() ? NULL : "no process may trace its child here";
    add_test_unless(calls, small_blocks_outside_the_cache_take_no_call_of_the_system,
                    COUNT_OF(outside), why);
    why = counted_mallocs_possible() ? NULL : "malloc is not counted here";
    add_test_unless(calls, small_blocks_outside_the_cache_take_no_malloc, COUNT_OF(outside), why);
}

int main(void)
{
    Suite *suite = suite_create("cache ends");
    suite_add_rows(suite, "rows", what_ends_cached_blocks, COUNT_OF(rows));
    suite_add_list(
        suite, "ends",
        TEST_LIST(what_is_cached_is_nothing_to_callers,
                  pinned_dedicated_and_adopted_blocks_are_not_cached,
                  adopted_bytes_are_whole_granules_once, an_alignment_above_the_block_is_a_miss,
                  a_zeroed_request_gets_zeros_of_a_cached_block, tags_follow_their_blocks,
                  a_compaction_drops_the_cache_first, a_goal_is_reached_around_cached_blocks,
                  a_pool_that_changes_its_size_drops_the_cache));
    suite_add_rows(suite, "running out", no_request_fails_while_cached_bytes_could_serve_it,
                   COUNT_OF(full));
    suite_add_list(suite, "memory",
                   TEST_LIST(a_refused_request_changes_no_figure,
                             held_is_live_and_cached_where_segments_keep_their_length,
                             large_blocks_outside_the_cache_go_back_at_once,
                             keep_none_gives_bytes_back_at_once, keep_all_keeps_free_bytes));
    suite_add_rows(suite, "outside", small_blocks_outside_the_cache_take_no_call,
                   COUNT_OF(outside));
    suite_add_rows(suite, "refused", a_refused_free_outside_the_cache_changes_nothing,
                   COUNT_OF(outside));
    suite_add_rows(suite, "misses", each_miss_outside_the_cache_counts_once, COUNT_OF(outside));
    add_counted(suite_add_case(suite, "calls"));
    return suite_main(suite);
}
