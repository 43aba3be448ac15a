/*
 * ONNX Runtime's figures, each by what moves it, and figures as text.
 */
#include "support/fixture.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EACH KIB(64)
#define POOL (8 * EACH)

#define expect_i64(got, want) expect_u64((uint64_t)(got), (uint64_t)(want))

/* A memory without growth in place: each growth is a segment. */
/* ---- Each figure ------------------------------------------------------- */

START_TEST(ort_num_allocs_counts_allocs_and_reserves)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_GROW_PLAIN, POOL);
    free_ok(f, alloc_ok(f, 300));
    free_ok(f, alloc_dedicated(f, EACH));
    expect_ok(cuarena_alloc(f->arena, 0, &pointer));
    expect_status(cuarena_alloc(f->arena, POOL + 1, &pointer), CUARENA_LIMIT);
    expect_i64(ort_stats_of(f->arena).num_allocs, 2);
    expect_i64(ort_stats_of(f->arena).num_reserves, 1);
}
END_TEST

START_TEST(ort_num_allocs_leaves_resizes_out)
{
    void *row[3], *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, row, 3, EACH);
    step_ok(f, cuarena_resize(f->arena, row[1], EACH + 1, &now));
    row[1] = now;
    expect_i64(ort_stats_of(f->arena).num_allocs, 3);
    free_pointer_row(f, row, 3, EACH);
}
END_TEST

/* Zeroing fails after the block was cut; nobody was given it. */
START_TEST(ort_num_allocs_leaves_out_what_was_never_given)
{
    void *pointer = NULL;
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    request.zeroed = 1;
    expect_ok(cuarena_tag(f->arena, "t", &request.tag));
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    step(f, cuarena_alloc_with(f->arena, EACH, &request, &pointer), CUARENA_DRIVER);
    expect_i64(ort_stats_of(f->arena).num_allocs, 0);
    expect_u64(tag_stats_of(f, request.tag).allocs, 0);
    expect_u64(tag_stats_of(f, request.tag).frees, 0);
    expect_u64(stats_of(f).frees, 0);
}
END_TEST

/* Regions of theirs are segments here: one more at each growth, one less for each that trim gives
 * back. */
START_TEST(ort_extensions_are_the_regions_that_live)
{
    uint64_t given = 0;
    fixture_t *f = opened(KIND_GROW_PLAIN, POOL);
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 0);
    void *first = alloc_ok(f, EACH);
    void *second = alloc_ok(f, 2 * EACH);
    void *third = alloc_ok(f, EACH);
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 3);
    expect_i64(ort_stats_of(f->arena).num_arena_shrinkages, 0);
    free_ok(f, first);
    free_ok(f, third);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 1);
    expect_i64(ort_stats_of(f->arena).num_arena_shrinkages, 2);
    expect_i64(ort_stats_of(f->arena).total_allocated_bytes, 2 * EACH);
    free_ok(f, second);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 0);
    expect_i64(ort_stats_of(f->arena).num_arena_shrinkages, 3);
    free_ok(f, alloc_ok(f, EACH));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 1);
}
END_TEST

/* Where memory grows in place, what goes together is one, or all of them. */
START_TEST(ort_extensions_of_memory_that_grows_in_place)
{
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    void *first = alloc_ok(f, EACH);
    void *second = alloc_ok(f, 2 * EACH);
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 2);
    free_ok(f, first);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 1);
    expect_i64(ort_stats_of(f->arena).num_arena_shrinkages, 1);
    void *third = alloc_ok(f, 4 * EACH);
    free_ok(f, second);
    free_ok(f, third);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_i64(ort_stats_of(f->arena).total_allocated_bytes, 0);
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 0);
    expect_i64(ort_stats_of(f->arena).num_arena_shrinkages, 3);
}
END_TEST

START_TEST(ort_a_pool_is_one_extension)
{
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 1);
    expect_i64(ort_stats_of(f->arena).total_allocated_bytes, POOL);
    expect_i64(ort_stats_of(f->arena).bytes_limit, POOL);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 0);
    expect_i64(ort_stats_of(f->arena).num_arena_shrinkages, 1);
}
END_TEST

/* Resizing gives and takes bytes without growth. */
START_TEST(ort_a_pool_that_is_resized_is_one_extension)
{
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step_ok(f, cuarena_resize_pool(f->arena, 2 * POOL));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 1);
    expect_i64(ort_stats_of(f->arena).bytes_limit, 2 * POOL);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    step_ok(f, cuarena_resize_pool(f->arena, POOL));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 0);
    expect_i64(ort_stats_of(f->arena).total_allocated_bytes, 0);
    free_ok(f, alloc_ok(f, POOL));
    expect_i64(ort_stats_of(f->arena).num_arena_extensions, 1);
}
END_TEST

START_TEST(ort_bytes_as_taken_and_as_asked)
{
    fixture_t *f = opened(KIND_GROW_PLAIN, POOL);
    void *small = alloc_ok(f, 4);
    expect_i64(ort_stats_of(f->arena).bytes_in_use, 256);
    expect_i64(ort_stats_of(f->arena).bytes_requested_in_use, 4);
    void *apart = alloc_dedicated(f, EACH);
    cuarena_ort_stats_t now = ort_stats_of(f->arena);
    expect_i64(now.bytes_in_use, 256 + EACH);
    expect_i64(now.bytes_requested_in_use, 4 + EACH);
    expect_i64(now.reserved_bytes, EACH);
    expect_i64(now.total_allocated_bytes, stats_of(f).reserved_bytes);
    free_ok(f, apart);
    now = ort_stats_of(f->arena);
    expect_i64(now.bytes_in_use, 256);
    expect_i64(now.reserved_bytes, 0);
    expect_i64(now.total_allocated_bytes,
               region_stats_of(f, CUARENA_REGION_DYNAMIC).capacity_bytes);
    free_ok(f, small);
    expect_i64(ort_stats_of(f->arena).bytes_requested_in_use, 0);
}
END_TEST

/* 1 to 1023 bytes, once each: a known sum. */
START_TEST(ort_bytes_of_sizes_from_1_to_1023)
{
    static void *pointers[1024];
    fixture_t *f = opened(KIND_CUSTOM_GROW, MIB(2));
    for (uint64_t i = 1; i < 1024; i++)
        expect_ok(cuarena_alloc(f->arena, i, &pointers[i]));
    expect_i64(ort_stats_of(f->arena).bytes_in_use, 654336);
    expect_i64(ort_stats_of(f->arena).max_alloc_size, 1024);
    expect_i64(ort_stats_of(f->arena).num_allocs, 1023);
    for (uint64_t i = 1; i < 1024; i++)
        expect_ok(cuarena_free(f->arena, pointers[i]));
    expect_i64(ort_stats_of(f->arena).bytes_in_use, 0);
    expect_i64(ort_stats_of(f->arena).max_bytes_in_use, 654336);
}
END_TEST

/* Peaks begin anew; this one does not. */
START_TEST(ort_max_in_use_is_never_reset)
{
    cuarena_peaks_t peaks;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, 4 * EACH));
    step_ok(f, cuarena_reset_peaks(f->arena));
    expect_u64(stats_of(f).peak_live_bytes, 0);
    expect_i64(ort_stats_of(f->arena).max_bytes_in_use, 4 * EACH);
    step_ok(f, cuarena_peaks_push(f->arena, CUARENA_REGION_ALL));
    free_ok(f, alloc_ok(f, 5 * EACH));
    step_ok(f, cuarena_peaks_push(f->arena, CUARENA_REGION_ALL));
    step_ok(f, cuarena_reset_peaks(f->arena));
    expect_i64(ort_stats_of(f->arena).max_bytes_in_use, 5 * EACH);
    cuarena_peaks_init(&peaks);
    step_ok(f, cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, &peaks));
    step_ok(f, cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, &peaks));
    step_ok(f, cuarena_reset(f->arena));
    expect_i64(ort_stats_of(f->arena).max_bytes_in_use, 5 * EACH);
}
END_TEST

/* On the fast path, the long one, apart, and by a resize in place. */
START_TEST(ort_max_alloc_size_is_the_largest_ever)
{
    fixture_t f;
    void *now = NULL;
    cuarena_request_t request;
    fixture_open(&f, KIND_GROW_PLAIN, POOL);
    free_ok(&f, alloc_ok(&f, EACH));
    expect_i64(ort_stats_of(f.arena).max_alloc_size, EACH);
    free_ok(&f, alloc_ok(&f, 300));
    free_ok(&f, alloc_ok(&f, 600));
    expect_i64(ort_stats_of(f.arena).max_alloc_size, EACH);
    free_ok(&f, alloc_dedicated(&f, 2 * EACH));
    expect_i64(ort_stats_of(f.arena).max_alloc_size, 2 * EACH);
    free_ok(&f, alloc_ok(&f, 3 * EACH));
    expect_i64(ort_stats_of(f.arena).max_alloc_size, 3 * EACH);
    fixture_close(&f);
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    request.alignment = 512;
    step_ok(&f, cuarena_alloc_with(f.arena, EACH + 1, &request, &now));
    expect_i64(ort_stats_of(f.arena).max_alloc_size, EACH + 256);
    step_ok(&f, cuarena_resize(f.arena, now, 2 * EACH, &now));
    expect_i64(ort_stats_of(f.arena).max_alloc_size, 2 * EACH);
    free_ok(&f, now);
    fixture_close(&f);
}
END_TEST

static _Alignas(4096) char foreign[KIB(8)];

/* What is derived of them stays right: regions = total - reserved. */
START_TEST(ort_adopted_bytes_count_as_a_reserve)
{
    cuarena_block_t block = 0;
    fixture_t *f = opened(KIND_GROW_PLAIN, POOL);
    void *pointer = alloc_ok(f, EACH);
    step_ok(f, cuarena_adopt(f->arena, foreign, sizeof foreign, 0, &block));
    cuarena_ort_stats_t now = ort_stats_of(f->arena);
    expect_i64(now.num_reserves, 1);
    expect_i64(now.reserved_bytes, sizeof foreign);
    expect_i64(now.total_allocated_bytes - now.reserved_bytes, EACH);
    expect_i64(now.bytes_in_use - now.reserved_bytes, EACH);
    free_block(f, block);
    expect_i64(ort_stats_of(f->arena).total_allocated_bytes, EACH);
    step_ok(f, cuarena_adopt(f->arena, foreign, sizeof foreign, 0, &block));
    step_ok(f, cuarena_reset(f->arena));
    expect_i64(ort_stats_of(f->arena).total_allocated_bytes, EACH);
    expect_i64(ort_stats_of(f->arena).reserved_bytes, 0);
    (void)pointer;
}
END_TEST

START_TEST(ort_limit_of_none_is_the_most)
{
    cuarena_amount_t none = amount_of_bytes(UINT64_MAX);
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    expect_i64(ort_stats_of(f->arena).bytes_limit, POOL);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, none, NULL));
    expect_i64(ort_stats_of(f->arena).bytes_limit, -1);
}
END_TEST

START_TEST(ort_bad_arguments)
{
    cuarena_ort_stats_t stats;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_ort_stats_init(&stats);
    expect_status(cuarena_ort_stats(NULL, &stats), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_ort_stats(f->arena, NULL), CUARENA_BAD_ARGUMENT);
    stats.struct_size += 8;
    stats.num_allocs = 77;
    expect_status(cuarena_ort_stats(f->arena, &stats), CUARENA_BAD_ARGUMENT);
    expect_i64(stats.num_allocs, 77);
    stats.struct_size = 2 * sizeof(uint64_t);
    stats.num_reserves = 77;
    expect_ok(cuarena_ort_stats(f->arena, &stats));
    expect_i64(stats.num_allocs, 0);
    expect_i64(stats.num_reserves, 77);
}
END_TEST

/* ---- Text -------------------------------------------------------------- */

START_TEST(text_has_every_key_of_onnx_runtime)
{
    char text[512];
    size_t needed = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(f, 300);
    expect_ok(cuarena_stats_text(f->arena, CUARENA_TEXT_ORT, text, sizeof text, &needed));
    expect_text(text, "Limit=524288\n"
                      "InUse=512\n"
                      "TotalAllocated=524288\n"
                      "MaxInUse=512\n"
                      "NumAllocs=1\n"
                      "NumReserves=0\n"
                      "NumArenaExtensions=1\n"
                      "NumArenaShrinkages=0\n"
                      "MaxAllocSize=512\n"
                      "RequestedInUse=300\n"
                      "ReservedBytes=0\n");
    expect_u64(needed, strlen(text) + 1);
    free_ok(f, pointer);
}
END_TEST

START_TEST(text_has_every_member_of_stats)
{
    char text[1024], want[1024];
    size_t needed = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, 300));
    cuarena_stats_t now = stats_of(f);
    expect_ok(cuarena_stats_text(f->arena, CUARENA_TEXT_STATS, text, sizeof text, &needed));
    snprintf(want, sizeof want,
             "reserved_bytes=%" PRIu64 "\ncapacity_bytes=%" PRIu64
             "\nlive_bytes=0\nrequested_bytes=0\nfree_bytes=%" PRIu64 "\nlargest_bytes=%" PRIu64
             "\nlive_blocks=0\npeak_reserved_bytes="
             "%" PRIu64 "\npeak_live_bytes=512\npeak_requested_bytes=300\n"
             "peak_live_blocks=1\nallocs=1\nfrees=1\nfailed=0\n",
             now.reserved_bytes, now.capacity_bytes, now.free_bytes, now.largest_bytes,
             now.peak_reserved_bytes);
    ck_assert_msg(strncmp(text, want, strlen(want)) == 0, "wanted at the beginning:\n%sgot:\n%s",
                  want, text);
    ck_assert_ptr_nonnull(strstr(text, "\nbookkeeping_bytes="));
}
END_TEST

START_TEST(text_that_has_no_room_says_what_it_needs)
{
    char text[512] = "as it was";
    size_t needed = 0, again = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_stats_text(f->arena, CUARENA_TEXT_ORT, NULL, 0, &needed));
    ck_assert_uint_gt(needed, 100);
    expect_status(cuarena_stats_text(f->arena, CUARENA_TEXT_ORT, text, needed - 1, &again),
                  CUARENA_BAD_ARGUMENT);
    expect_u64(again, needed);
    expect_text(text, "as it was");
    expect_ok(cuarena_stats_text(f->arena, CUARENA_TEXT_ORT, text, needed, NULL));
    expect_u64(strlen(text) + 1, needed);
}
END_TEST

typedef struct pairs {
    cuarena_t *arena;
    size_t count;
    uint64_t in_use;
} pairs_t;

/* Any call is legal in it. */
static void keep_pair(void *user, const char *key, const char *value)
{
    pairs_t *pairs = user;
    void *pointer = NULL;
    pairs->count++;
    if (strcmp(key, "InUse") == 0)
        pairs->in_use = strtoull(value, NULL, 10);
    expect_ok(cuarena_alloc(pairs->arena, 256, &pointer));
    expect_ok(cuarena_free(pairs->arena, pointer));
}

START_TEST(pairs_come_one_by_one)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(f, 300);
    pairs_t pairs = {.arena = f->arena};
    expect_ok(cuarena_stats_pairs(f->arena, CUARENA_TEXT_ORT, keep_pair, &pairs));
    expect_u64(pairs.count, 11);
    expect_u64(pairs.in_use, 512);
    free_ok(f, pointer);
}
END_TEST

START_TEST(text_bad_arguments)
{
    char text[512];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_status(cuarena_stats_text(f->arena, 2, text, sizeof text, NULL), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "form 2"));
    expect_status(cuarena_stats_text(NULL, 0, text, sizeof text, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_stats_text(f->arena, 0, text, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_stats_text(f->arena, 0, NULL, 9, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_stats_pairs(f->arena, 0, NULL, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("figures");
    suite_add_list(
        suite, "onnx runtime",
        TEST_LIST(ort_num_allocs_counts_allocs_and_reserves, ort_num_allocs_leaves_resizes_out,
                  ort_num_allocs_leaves_out_what_was_never_given,
                  ort_extensions_are_the_regions_that_live,
                  ort_extensions_of_memory_that_grows_in_place, ort_a_pool_is_one_extension,
                  ort_a_pool_that_is_resized_is_one_extension, ort_bytes_as_taken_and_as_asked,
                  ort_bytes_of_sizes_from_1_to_1023, ort_max_in_use_is_never_reset,
                  ort_max_alloc_size_is_the_largest_ever, ort_adopted_bytes_count_as_a_reserve,
                  ort_limit_of_none_is_the_most, ort_bad_arguments));
    suite_add_list(suite, "text",
                   TEST_LIST(text_has_every_key_of_onnx_runtime, text_has_every_member_of_stats,
                             text_that_has_no_room_says_what_it_needs, pairs_come_one_by_one,
                             text_bad_arguments));
    return suite_main(suite);
}
