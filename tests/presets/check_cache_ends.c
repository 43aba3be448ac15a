/*
 * What the cache of freed blocks does not take, what ends it, and a memory that has no more or
 * refuses.
 */
#include "support/cache_rig.h"

#include <stdbool.h>
#include <string.h>

/* ---- What is not cached, and what ends it ------------------------------ */

START_TEST(test_what_is_cached_is_nothing_to_callers)
{
    open_cache(CPU);
    cuarena_block_t block;
    expect_ok(cuarena_block_alloc(cached.arena, 4096, &block));
    expect_ok(cuarena_block_free(cached.arena, block));
    expect_status(cuarena_block_free(cached.arena, block), CUARENA_STALE);
    void *at = get(1024);
    give(at);
    expect_status(cuarena_free(cached.arena, at), CUARENA_STALE);
    expect_status(cuarena_pin(cached.arena, at), CUARENA_STALE);
    void *resized;
    expect_status(cuarena_resize(cached.arena, at, 2048, &resized), CUARENA_STALE);
    uint64_t size;
    expect_status(cuarena_size_of(cached.arena, at, &size, NULL), CUARENA_STALE);
    expect_bytes(0, 4096 + 1024);
    cuarena_block_t again;
    expect_ok(cuarena_block_alloc(cached.arena, 4096, &again));
    ck_assert(again != block);
    expect_status(cuarena_block_free(cached.arena, block), CUARENA_STALE);
    expect_ok(cuarena_block_free(cached.arena, again));
    close_cache();
}
END_TEST

START_TEST(test_pinned_dedicated_and_adopted_blocks_are_not_cached)
{
    static char bytes[4096] __attribute__((aligned(4096)));
    open_cache(CPU);
    cuarena_block_t block;
    void *at;
    expect_ok(cuarena_block_alloc(cached.arena, 4096, &block));
    expect_ok(cuarena_block_pin(cached.arena, block, &at));
    expect_ok(cuarena_block_free(cached.arena, block));
    expect_bytes(0, 0);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    expect_ok(cuarena_alloc_with(cached.arena, 4096, &request, &at));
    give(at);
    expect_bytes(0, 0);
    expect_ok(cuarena_adopt(cached.arena, bytes, sizeof bytes, 0, &block));
    expect_bytes(4096, 0);
    expect_ok(cuarena_block_free(cached.arena, block));
    expect_bytes(0, 0);
    request.dedicated = 0;
    request.region = CUARENA_REGION_STABLE;
    expect_ok(cuarena_alloc_with(cached.arena, 4096, &request, &at));
    give(at);
    expect_bytes(0, 0);
    expect_u64(reserved_bytes(&cached), 0);
    close_cache();
}
END_TEST

/* Whole pages at a page, which is all that MLX's make_buffer takes, where it takes any; and what
 * adopt takes and refuses besides. */
START_TEST(test_adopted_bytes_are_whole_granules_once)
{
    static char bytes[3 * 16384] __attribute__((aligned(16384)));
    static const char *const presets[] = {CPU, CUDA};
    static const uint64_t granules[] = {16, 8};
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        cuarena_block_t page;
        cuarena_block_t rest;
        cuarena_block_t none = 0;
        uint64_t granule = granules[i];
        open_cache(presets[i]);
        expect_ok(cuarena_adopt(cached.arena, bytes, 16384, 0, &page));
        expect_ok(cuarena_adopt(cached.arena, bytes + 16384 + granule, granule, 0, &rest));
        expect_bytes(16384 + granule, 0);
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
            expect_status(
                cuarena_adopt(cached.arena, refused[j].address, refused[j].size, 0, &none),
                CUARENA_BAD_ARGUMENT);
        expect_bytes(16384 + granule, 0);
        expect_ok(cuarena_block_free(cached.arena, page));
        expect_ok(cuarena_block_free(cached.arena, rest));
        close_cache();
    }
}
END_TEST

/* At an address that is no multiple of it the block does not serve. */
START_TEST(test_an_alignment_above_the_block_is_a_miss)
{
    open_cache(CPU);
    void *front = get(16);
    void *at = get(4096);
    give(at);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.alignment = 65536;
    void *aligned;
    expect_ok(cuarena_alloc_with(cached.arena, 4096, &request, &aligned));
    expect_u64((uintptr_t)aligned % 65536, 0);
    expect_sound(&cached);
    expect_u64(figures().hits, (uintptr_t)at % 65536 == 0);
    give(front);
    give(aligned);
    close_cache();
}
END_TEST

START_TEST(test_a_zeroed_request_gets_zeros_of_a_cached_block)
{
    open_cache("preset=mlx-cpu,memory=pageable");
    char *at = get(4096);
    memset(at, 0x5a, 4096);
    give(at);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    void *again;
    expect_ok(cuarena_alloc_with(cached.arena, 4000, &request, &again));
    expect_ptr(again, at);
    for (int i = 0; i < 4000; i++)
        ck_assert_int_eq(at[i], 0);
    give(again);
    close_cache();
}
END_TEST

START_TEST(test_nothing_is_cached_where_free_bytes_are_zeroed)
{
    open_cache("preset=mlx-cpu,memory=pageable,zero=free");
    give(get(4096));
    expect_bytes(0, 0);
    close_cache();
}
END_TEST

START_TEST(test_tags_follow_their_blocks)
{
    open_cache(CPU);
    cuarena_tag_t tag;
    expect_ok(cuarena_tag(cached.arena, "kept", &tag));
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.tag = tag;
    void *at;
    expect_ok(cuarena_alloc_with(cached.arena, 4096, &request, &at));
    give(at);
    void *plain = get(4096);
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_tag_stats(cached.arena, tag, &stats));
    expect_u64(stats.live_bytes, 0);
    give(plain);
    expect_ok(cuarena_alloc_with(cached.arena, 4000, &request, &at));
    expect_u64(figures().hits, 2);
    expect_ok(cuarena_tag_stats(cached.arena, tag, &stats));
    expect_u64(stats.live_bytes, 4096);
    expect_u64(stats.requested_bytes, 4000);
    give(at);
    close_cache();
}
END_TEST

START_TEST(test_a_trim_ends_the_first_recycled)
{
    static const uint64_t sizes[] = {4096, 1024, 2048};
    void *at[3];
    open_cache(CPU);
    fill_cache(sizes, 3, at);
    uint64_t given = 0;
    expect_ok(cuarena_trim(cached.arena, 4000, &given));
    expect_u64(given, 4096);
    expect_bytes(0, 3072);
    expect_ok(cuarena_trim(cached.arena, 0, &given));
    expect_u64(given, 3072);
    expect_bytes(0, 0);
    expect_u64(reserved_bytes(&cached), 0);
    close_cache();
}
END_TEST

START_TEST(test_a_reset_empties_the_cache)
{
    open_cache(CPU);
    void *live = get(4096);
    give(get(1024));
    expect_ok(cuarena_reset(cached.arena));
    expect_bytes(0, 0);
    expect_status(cuarena_free(cached.arena, live), CUARENA_STALE);
    close_cache();
}
END_TEST

START_TEST(test_a_compaction_drops_the_cache_first)
{
    open_cache("preset=mlx-cpu,memory=pageable");
    cuarena_block_t blocks[3];
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_block_alloc(cached.arena, 4096, &blocks[i]));
    expect_ok(cuarena_block_free(cached.arena, blocks[1]));
    expect_bytes(8192, 4096);
    expect_ok(cuarena_compact(cached.arena, NULL, NULL, NULL, NULL));
    expect_bytes(8192, 0);
    expect_u64(figures().evicted_blocks, 1);
    expect_ok(cuarena_block_free(cached.arena, blocks[0]));
    expect_ok(cuarena_block_free(cached.arena, blocks[2]));
    close_cache();
}
END_TEST

/* Blocks move up to a cached one, and not across it. */
START_TEST(test_a_goal_is_reached_around_cached_blocks)
{
    open_cache("preset=pool,pool=64KiB,memory=pageable,alignment=4KiB,"
               "keep=cache,placement=low");
    cuarena_block_t blocks[16];
    for (int i = 0; i < 16; i++)
        expect_ok(cuarena_block_alloc(cached.arena, 4096, &blocks[i]));
    expect_ok(cuarena_block_free(cached.arena, blocks[8]));
    set_limit(CUARENA_LIMIT_CACHED, 4096);
    for (int i = 1; i < 6; i += 2)
        expect_ok(cuarena_block_free(cached.arena, blocks[i]));
    expect_bytes(12 * 4096, 4096);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.goal_bytes = 12288;
    expect_ok(cuarena_compact(cached.arena, &options, NULL, NULL, NULL));
    expect_bytes(12 * 4096, 4096);
    expect_ok(cuarena_destroy_forced(&cached.arena));
}
END_TEST

START_TEST(test_a_pool_that_changes_its_size_drops_the_cache)
{
    open_cache("preset=pool,pool=64KiB,memory=pageable,keep=cache");
    give(get(4096));
    expect_bytes(0, 4096);
    expect_ok(cuarena_resize_pool(cached.arena, KIB(128)));
    expect_bytes(0, 0);
    close_cache();
}
END_TEST

/* ---- Running out ------------------------------------------------------- */

static uint64_t served_by_cache(void)
{
    cuarena_step_stats_t steps[CUARENA_STEP_COUNT];
    size_t count;
    expect_ok(cuarena_step_stats(cached.arena, steps, CUARENA_STEP_COUNT, &count));
    expect_text(steps[CUARENA_STEP_CACHE].name, "cache");
    return steps[CUARENA_STEP_CACHE].tried;
}

static const char *const full[] = {
    "preset=pool,pool=64KiB,memory=none,handle=256,keep=cache",
    "preset=grow,limit=64KiB,memory=none,handle=256,keep=cache",
    "preset=mlx-cpu,limit=64KiB,memory=none,handle=16",
    "preset=mlx-cuda,limit=64KiB,memory=none,handle=256",
};

START_TEST(test_no_request_fails_while_cached_bytes_could_serve_it)
{
    static void *at[4];
    open_cache(full[_i]);
    for (int i = 0; i < 4; i++)
        at[i] = get(16384);
    for (int i = 0; i < 4; i++)
        give(at[i]);
    expect_bytes(0, KIB(64));
    void *pointer = get(KIB(64));
    expect_bytes(KIB(64), 0);
    expect_u64(served_by_cache() != 0, 1);
    give(pointer);
    close_cache();
}
END_TEST

START_TEST(test_a_limit_of_live_bytes_leaves_the_cache_alone)
{
    open_cache(CPU);
    set_limit(CUARENA_LIMIT_LIVE, 8192);
    void *live = get(8192);
    set_limit(CUARENA_LIMIT_LIVE, 16384);
    give(get(4096));
    set_limit(CUARENA_LIMIT_LIVE, 10000);
    void *pointer;
    expect_status(cuarena_alloc(cached.arena, 4096, &pointer), CUARENA_LIMIT);
    expect_bytes(8192, 4096);
    give(live);
    close_cache();
}
END_TEST

/* ---- A memory that refuses --------------------------------------------- */

static fixture_t fixture;

static void open_fixture(const char *keep)
{
    fixture_prepare(&fixture, KIND_CUSTOM_GROW, MIB(4));
    set("keep", keep, &fixture.config);
    set("alignment", "4KiB", &fixture.config);
    fixture_create(&fixture);
    cached.arena = fixture.arena;
}

/* Theirs counts what it did not get. */
START_TEST(test_a_refused_request_changes_no_figure)
{
    open_fixture("cache");
    give(get(KIB(64)));
    cuarena_cache_stats_t before = figures();
    fixture.memory.budget_bytes = fixture.memory.reserved_bytes;
    void *pointer;
    expect_status(cuarena_alloc(cached.arena, MIB(1), &pointer), CUARENA_OUT_OF_MEMORY);
    expect_sound(&fixture);
    expect_u64(figures().active_bytes, before.active_bytes);
    expect_u64(figures().peak_active_bytes, before.peak_active_bytes);
    fixture_close(&fixture);
}
END_TEST

/* Whole segments: what is evicted goes back as the segment that it was. */
START_TEST(test_held_is_live_and_cached_where_segments_keep_their_length)
{
    void *at[8];
    fixture_prepare(&fixture, KIND_CUSTOM_GROW, MIB(64));
    test_memory_make_plain(&fixture.memory);
    set("keep", "cache", &fixture.config);
    set("alignment", "4KiB", &fixture.config);
    set("cache_limit", "256KiB", &fixture.config);
    fixture_create(&fixture);
    cached.arena = fixture.arena;
    for (int i = 0; i < 8; i++) {
        at[i] = get(KIB(64));
        expect_u64(fixture.memory.reserved_bytes, KIB(64) * (uint64_t)(i + 1));
    }
    for (int i = 0; i < 8; i++) {
        give(at[i]);
        uint64_t most = KIB(64) * (uint64_t)(i < 4 ? i + 1 : 4);
        expect_u64(figures().cached_bytes, most);
        expect_u64(fixture.memory.reserved_bytes, figures().active_bytes + figures().cached_bytes);
    }
    expect_u64(release(KIB(128)), 2);
    expect_u64(fixture.memory.reserved_bytes, KIB(128));
    fixture_close(&fixture);
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

static uint64_t calls_of_memory(void)
{
    return stats_of(&cached, CUARENA_REGION_ALL).memory_calls;
}

/* As malloc, which is what MLX asks where its cache has none: the next one is cut from what the
 * last one left. */
START_TEST(test_small_blocks_outside_the_cache_take_no_call)
{
    const struct outside *row = &outside[_i];
    open_cache("preset=mlx-cpu,memory=pageable");
    expect_ok(
        cuarena_set_limit(cached.arena, CUARENA_LIMIT_CACHED, amount_of_bytes(row->beside), NULL));
    if (row->beside != 0)
        give(get(row->beside));
    give(get(row->bytes)); /* what is free from now on */
    uint64_t calls = calls_of_memory();
    for (int i = 0; i < 100; i++) {
        void *pointer = get(row->bytes);
        uint64_t active = allocated_bytes(&cached, pointer);
        expect_bytes(active, row->beside);
        give(pointer);
        expect_bytes(0, row->beside);
    }
    expect_u64(calls_of_memory(), calls);
    ck_assert_uint_le(stats_of(&cached, CUARENA_REGION_ALL).free_bytes, MIB(1));
    expect_ok(cuarena_trim(cached.arena, 0, NULL));
    expect_u64(reserved_bytes(&cached), 0);
    expect_ok(cuarena_destroy(&cached.arena));
}
END_TEST

/* What stays free is bounded: more goes back with the free. */
START_TEST(test_large_blocks_outside_the_cache_go_back_at_once)
{
    open_cache("preset=mlx-cpu,memory=pageable,cache_limit=1");
    void *blocks[64];
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = get(KIB(256));
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        give(blocks[i]);
        ck_assert_uint_le(stats_of(&cached, CUARENA_REGION_ALL).free_bytes, MIB(1) + KIB(256));
    }
    give(get(MIB(8)));
    ck_assert_uint_le(reserved_bytes(&cached), MIB(1) + KIB(64));
    expect_ok(cuarena_destroy(&cached.arena));
}
END_TEST

START_TEST(test_keep_none_gives_bytes_back_at_once)
{
    open_fixture("none");
    void *a = get(KIB(64));
    void *b = get(KIB(64));
    give(a);
    expect_u64(fixture.memory.reserved_bytes, KIB(64));
    give(b);
    expect_u64(fixture.memory.reserved_bytes, 0);
    fixture_close(&fixture);
}
END_TEST

START_TEST(test_keep_all_keeps_free_bytes)
{
    open_fixture("all");
    give(get(KIB(64)));
    expect_u64(fixture.memory.reserved_bytes, KIB(64));
    expect_bytes(0, 0);
    expect_u64(clear_cache(), 0);
    fixture_close(&fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache ends");
    suite_add_list(
        suite, "ends",
        TEST_LIST(
            test_what_is_cached_is_nothing_to_callers,
            test_pinned_dedicated_and_adopted_blocks_are_not_cached,
            test_adopted_bytes_are_whole_granules_once, test_an_alignment_above_the_block_is_a_miss,
            test_a_zeroed_request_gets_zeros_of_a_cached_block,
            test_nothing_is_cached_where_free_bytes_are_zeroed, test_tags_follow_their_blocks,
            test_a_trim_ends_the_first_recycled, test_a_reset_empties_the_cache,
            test_a_compaction_drops_the_cache_first, test_a_goal_is_reached_around_cached_blocks,
            test_a_pool_that_changes_its_size_drops_the_cache));
    suite_add_rows(suite, "running out", test_no_request_fails_while_cached_bytes_could_serve_it,
                   COUNT_OF(full));
    suite_add_list(suite, "memory",
                   TEST_LIST(test_a_limit_of_live_bytes_leaves_the_cache_alone,
                             test_a_refused_request_changes_no_figure,
                             test_held_is_live_and_cached_where_segments_keep_their_length,
                             test_large_blocks_outside_the_cache_go_back_at_once,
                             test_keep_none_gives_bytes_back_at_once,
                             test_keep_all_keeps_free_bytes));
    suite_add_rows(suite, "outside", test_small_blocks_outside_the_cache_take_no_call,
                   COUNT_OF(outside));
    return suite_main(suite);
}
