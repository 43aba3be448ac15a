/*
 * Refusals: what a request that cannot be had says and leaves, and a pool that gave bytes back.
 */
#include "support/configs.h"
#include "support/fixture.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

#define expect_in_error(part)                                                                      \
    ck_assert_msg(strstr(last_error().message, part) != NULL, "expected '%s' in: %s", part,        \
                  last_error().message)

static void expect_same_stats(cuarena_stats_t got, cuarena_stats_t want)
{
    expect_u64(got.peak_live_bytes, want.peak_live_bytes);
    expect_u64(got.peak_requested_bytes, want.peak_requested_bytes);
    expect_u64(got.peak_live_blocks, want.peak_live_blocks);
    expect_u64(got.live_bytes, want.live_bytes);
    expect_u64(got.live_blocks, want.live_blocks);
    expect_u64(got.allocs, want.allocs);
    expect_u64(got.frees, want.frees);
    expect_u64(got.failed, want.failed);
}

/* ---- A trimmed pool ---------------------------------------------------- */

/* Every second block of a pool ended, and its bytes went back. */
static fixture_t *open_trimmed(fixture_t *f, cuarena_block_t *row, int32_t compacts)
{
    uint64_t given = 0;
    fixture_prepare(f, KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = compacts;
    fixture_create(f);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(given, POOL / 2);
    return f;
}

START_TEST(trimmed_pool_whose_holes_serve_together)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = open_trimmed(new_fixture(fixture_close), row, 1);
    void *half = alloc_ok(f, POOL / 2);
    expect_u64(stats_of(f).reserved_bytes, POOL);
    free_ok(f, half);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(trimmed_pool_is_fragmented_and_compaction_serves_it)
{
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    void *pointer = UNTOUCHED;
    fixture_t *f = open_trimmed(new_fixture(fixture_close), row, 0);
    step(f, cuarena_alloc(f->arena, POOL / 2, &pointer), CUARENA_FRAGMENTED);
    expect_u64(last_error().free_bytes, POOL / 2);
    expect_u64(stats_of(f).reserved_bytes, POOL / 2);
    step(f, cuarena_alloc(f->arena, POOL / 2 + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    cuarena_compact_options_init(&options);
    options.goal_bytes = POOL / 2;
    step_ok(f, cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    free_ok(f, alloc_ok(f, POOL / 2));
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* Its segment has gone back, addresses and all. */
START_TEST(trimmed_pool_takes_what_is_lacking)
{
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_text(test_memory_sequence(&f->memory), "get give_back");
    void *first = alloc_ok(f, EACH);
    expect_u64(stats_of(f).reserved_bytes, EACH);
    void *rest = alloc_ok(f, POOL - EACH);
    expect_u64(stats_of(f).reserved_bytes, POOL);
    expect_text(test_memory_sequence(&f->memory), "get give_back get grow");
    free_ok(f, first);
    free_ok(f, rest);
}
END_TEST

START_TEST(trimmed_pool_without_addresses_is_taken_whole)
{
    uint64_t given = 0;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.reserves_none = 1;
    fixture_create(f);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    free_ok(f, alloc_ok(f, EACH));
    expect_u64(stats_of(f).reserved_bytes, POOL);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

START_TEST(trimmed_pool_whose_memory_has_no_more)
{
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = open_trimmed(new_fixture(fixture_close), row, 1);
    f->memory.budget_bytes = POOL - EACH;
    step(f, cuarena_alloc(f->arena, POOL / 2, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_in_error("answered 2; tried: reserved bytes, compaction");
    ck_assert_int_eq(last_error().driver_code, CUARENA_OUT_OF_MEMORY);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* ---- What a refusal says, and leaves ----------------------------------- */

START_TEST(refusal_names_the_memory_and_its_code)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    f->memory.budget_bytes = EACH;
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    ck_assert_int_eq(last_error().driver_code, CUARENA_OUT_OF_MEMORY);
    expect_in_error("; memory 'test' answered 2; tried: reserved bytes, growth");
}
END_TEST

START_TEST(refusal_shows_the_begin_of_a_long_name)
{
    static char name[] =
        "a memory whose name is longer than what is shown of it in a message, by far";
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_GROW, POOL);
    f->memory.ops.name = name;
    fixture_create(f);
    f->memory.budget_bytes = EACH;
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_in_error("; memory 'a memory whose name is longer than what is shown of it in a ...' "
                    "answered 2; tried: reserved bytes, growth");
}
END_TEST

START_TEST(refusal_names_the_code_of_a_callers_memory)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    f->memory.fail_op = OP_GET;
    f->memory.fail_in = 1;
    f->memory.fail_again = 1;
    f->memory.fail_with = 77;
    step(f, cuarena_alloc(f->arena, EACH, &pointer), CUARENA_DRIVER);
    ck_assert_int_eq(last_error().driver_code, 77);
    expect_in_error("answered CUARENA_UNKNOWN (77)");
}
END_TEST

START_TEST(refusal_of_a_dedicated_block_outlives_the_handler)
{
    cuarena_request_t request;
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    cuarena_request_init(&request);
    request.dedicated = 1;
    expect_ok(cuarena_set_oom_handler(f->arena, blunder, NULL));
    f->memory.budget_bytes = EACH;
    step(f, cuarena_alloc_with(f->arena, 2 * EACH, &request, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_in_error("memory 'test': get has no more (it answered 2)");
    ck_assert_int_eq(last_error().driver_code, CUARENA_OUT_OF_MEMORY);
}
END_TEST

/* Where compaction cannot help, as no address of the arena is such a multiple, it is not
 * FRAGMENTED. */
START_TEST(refusal_by_alignment_names_it)
{
    cuarena_request_t request;
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = 1;
    fixture_create(f);
    cuarena_request_init(&request);
    request.alignment = UINT64_C(1) << 47;
    step(f, cuarena_alloc_with(f->arena, 100, &request, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_in_error("no room for 100 bytes aligned to 140737488355328 in the dynamic region: "
                    "524288 free");
    ck_assert_ptr_null(strstr(last_error().message, "compaction"));
    ck_assert_ptr_null(strstr(last_error().message, "record"));
}
END_TEST

/* ... but it is where a block stands in the way. */
START_TEST(refusal_by_alignment_may_be_fragmented)
{
    cuarena_request_t request;
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    cuarena_request_init(&request);
    request.alignment = 4096;
    step(f, cuarena_alloc_with(f->arena, 2 * EACH, &request, &pointer), CUARENA_FRAGMENTED);
    expect_in_error("aligned to 4096");
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(refusal_near_the_largest_size_counts)
{
    void *pointer = UNTOUCHED;
    static const uint64_t sizes[] = {(UINT64_C(1) << 48) - 1, UINT64_C(1) << 48, UINT64_MAX};
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        step(f, cuarena_alloc(f->arena, sizes[i], &pointer), CUARENA_OUT_OF_MEMORY);
        step(f, cuarena_resize(f->arena, kept, sizes[i], &pointer), CUARENA_OUT_OF_MEMORY);
        expect_u64(last_error().asked_bytes, sizes[i]);
        expect_u64(stats_of(f).failed, 2 * (i + 1));
    }
    free_ok(f, kept);
}
END_TEST

/* Of a block in the dynamic region, in the stable one and in a segment of its own. */
static const struct {
    uint64_t stable;
    int32_t dedicated;
} zeroed_rows[] = {{0, 0}, {EACH, 0}, {0, 1}};

/* Of the whole, the region and the tag; and of the largest block. What the memory gave for the
 * block was taken all the same. */
START_TEST(refusal_by_zeroing_leaves_peaks)
{
    cuarena_request_t request;
    cuarena_tag_t tag;
    cuarena_ort_stats_t before, after;
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.stable = amount_of_bytes(zeroed_rows[_i].stable);
    fixture_create(f);
    cuarena_request_init(&request);
    cuarena_ort_stats_init(&before);
    cuarena_ort_stats_init(&after);
    expect_ok(cuarena_tag(f->arena, "peaks", &tag));
    request.tag = tag;
    request.zeroed = 1;
    request.dedicated = zeroed_rows[_i].dedicated;
    step_ok(f, cuarena_alloc_with(f->arena, 256, &request, &pointer));
    cuarena_stats_t all = stats_of(f);
    cuarena_stats_t tags = tag_stats_of(f, tag);
    expect_ok(cuarena_ort_stats(f->arena, &before));
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    f->memory.fail_with = CUARENA_DRIVER;
    void *none = UNTOUCHED;
    step(f, cuarena_alloc_with(f->arena, EACH, &request, &none), CUARENA_DRIVER);
    all.failed++;
    expect_same_stats(stats_of(f), all);
    expect_u64(stats_of(f).peak_reserved_bytes,
               all.peak_reserved_bytes + (request.dedicated ? EACH : 0));
    expect_same_stats(tag_stats_of(f, tag), tags);
    expect_ok(cuarena_ort_stats(f->arena, &after));
    expect_u64((uint64_t)after.max_alloc_size, (uint64_t)before.max_alloc_size);
    expect_u64((uint64_t)after.max_bytes_in_use, (uint64_t)before.max_bytes_in_use);
    free_ok(f, pointer);
}
END_TEST

static void *allocated_beside;

/* Another thread's block, which is the first to have so many live bytes as the one that is refused
 * would have made. */
static void *alloc_beside(void *user)
{
    fixture_t *f = user;
    void *pointer = NULL;
    expect_ok(cuarena_alloc(f->arena, EACH, &pointer));
    return pointer;
}

/* Lets another thread do that while the first segment goes back. */
static void let_take_beside(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                            size_t count)
{
    pthread_t thread;
    fixture_t *f = memory->hook_user;
    (void)list, (void)count;
    if (op != OP_GIVE_BACK)
        return;
    memory->hook = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, alloc_beside, f), 0);
    ck_assert_int_eq(pthread_join(thread, &allocated_beside), 0);
}

/* What is live while the segment goes back is in the peaks. */
START_TEST(refusal_by_zeroing_leaves_peaks_of_others)
{
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *none = UNTOUCHED;
    cuarena_request_init(&request);
    request.zeroed = request.dedicated = 1;
    f->memory.hook = let_take_beside;
    f->memory.hook_user = f;
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    f->memory.fail_with = CUARENA_DRIVER;
    expect_status(cuarena_alloc_with(f->arena, EACH, &request, &none), CUARENA_DRIVER);
    expect_u64(stats_of(f).live_bytes, EACH);
    expect_u64(stats_of(f).peak_live_bytes, EACH);
    expect_u64(stats_of(f).peak_live_blocks, 1);
    expect_ok(cuarena_free(f->arena, allocated_beside));
}
END_TEST

/* A block that is not split takes its rest too. */
START_TEST(limit_of_live_bytes_counts_rests)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.split_threshold = UINT64_MAX;
    fixture_create(f);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, amount_of_bytes(POOL - 1), NULL));
    step(f, cuarena_alloc(f->arena, EACH, &pointer), CUARENA_LIMIT);
    expect_u64(live_bytes(f), 0);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, amount_of_bytes(POOL), NULL));
    free_ok(f, alloc_ok(f, EACH));
}
END_TEST

/* What lives leaves no room below the limit, so nothing is given back. */
START_TEST(refusal_that_nothing_helps_gives_nothing_back)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    void *kept = alloc_ok(f, EACH);
    free_ok(f, alloc_ok(f, EACH));
    uint64_t held = stats_of(f).reserved_bytes;
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_LIMIT);
    expect_u64(stats_of(f).reserved_bytes, held);
    free_ok(f, kept);
}
END_TEST

/* ... nor does the cache end, unless that can help. */
START_TEST(refusal_that_nothing_helps_keeps_the_cache)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_cache_stats_t cache;
    void *kept, *freed, *pointer = UNTOUCHED;
    cuarena_config_init(&config);
    cuarena_cache_stats_init(&cache);
    expect_ok(cuarena_config_parse(&config,
                                   "preset=mlx-cuda,memory=none,limit=1MiB,cache_limit=1MiB,"
                                   "soft_limit_rule=store"));
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_alloc(arena, KIB(512), &kept));
    expect_ok(cuarena_alloc(arena, KIB(256), &freed));
    expect_ok(cuarena_free(arena, freed));
    expect_status(cuarena_alloc(arena, KIB(768), &pointer), CUARENA_LIMIT);
    expect_ok(cuarena_cache_stats(arena, &cache));
    expect_u64(cache.cached_bytes, KIB(256));
    expect_ok(cuarena_alloc(arena, KIB(512), &pointer));
    expect_ok(cuarena_cache_stats(arena, &cache));
    expect_u64(cache.cached_bytes, 0);
    expect_ok(cuarena_free(arena, kept));
    expect_ok(cuarena_free(arena, pointer));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

START_TEST(create_says_what_was_available)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.budget_bytes = EACH;
    f->memory.available_bytes = 3 * EACH;
    f->config.limit = amount_of_bytes(2 * POOL);
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_OUT_OF_MEMORY);
    cuarena_error_info_t error = last_error();
    expect_u64(error.asked_bytes, POOL);
    expect_u64(error.limit_bytes, 2 * POOL);
    expect_u64(error.reserved_bytes, 0);
    expect_u64(error.free_bytes, 3 * EACH);
    ck_assert_int_eq(error.driver_code, CUARENA_OUT_OF_MEMORY);
    expect_in_error("the limit is 1048576; 0 are reserved, 196608 available");
}
END_TEST

START_TEST(create_above_the_limit_says_what_was_available)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.available_bytes = 3 * EACH;
    f->config.limit = amount_of_bytes(EACH);
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_LIMIT);
    expect_u64(last_error().limit_bytes, EACH);
    expect_u64(last_error().free_bytes, 3 * EACH);
}
END_TEST

/* More addresses than there are. */
START_TEST(create_of_host_memory_has_errno)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = config_of("pool=255TiB");
    expect_status(cuarena_create(&config, &arena), CUARENA_OUT_OF_MEMORY);
    ck_assert_int_eq(last_error().driver_code, ENOMEM);
    ck_assert_ptr_null(arena);
}
END_TEST

/* Pointers do not move, so compaction takes what the pool gave back, and makes no room. */
START_TEST(trimmed_pool_of_pointers_is_fragmented_each_time)
{
    void *row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = 1;
    fixture_create(f);
    for (size_t i = 0; i < COUNT; i++)
        row[i] = alloc_ok(f, EACH);
    for (size_t i = 0; i < COUNT; i += 2)
        free_ok(f, row[i]);
    step_ok(f, cuarena_trim(f->arena, 0, NULL));
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_FRAGMENTED);
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_FRAGMENTED);
    expect_u64(last_error().free_bytes, POOL / 2);
    for (size_t i = 1; i < COUNT; i += 2)
        free_ok(f, row[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refusal");
    suite_add_list(suite, "trimmed pool",
                   TEST_LIST(trimmed_pool_whose_holes_serve_together,
                             trimmed_pool_is_fragmented_and_compaction_serves_it,
                             trimmed_pool_of_pointers_is_fragmented_each_time,
                             trimmed_pool_takes_what_is_lacking,
                             trimmed_pool_without_addresses_is_taken_whole,
                             trimmed_pool_whose_memory_has_no_more));
    suite_add_list(
        suite, "what is said and left",
        TEST_LIST(refusal_names_the_memory_and_its_code, refusal_shows_the_begin_of_a_long_name,
                  refusal_names_the_code_of_a_callers_memory,
                  refusal_of_a_dedicated_block_outlives_the_handler, refusal_by_alignment_names_it,
                  refusal_by_alignment_may_be_fragmented, refusal_near_the_largest_size_counts,
                  limit_of_live_bytes_counts_rests, refusal_that_nothing_helps_gives_nothing_back,
                  refusal_that_nothing_helps_keeps_the_cache, create_says_what_was_available,
                  create_above_the_limit_says_what_was_available, create_of_host_memory_has_errno));
    suite_add_list(suite, "peaks beside", TEST_LIST(refusal_by_zeroing_leaves_peaks_of_others));
    suite_add_rows(suite, "peaks", refusal_by_zeroing_leaves_peaks, (int)COUNT_OF(zeroed_rows));
    return suite_main(suite);
}
