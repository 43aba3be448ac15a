/*
 * The allocator that ONNX Runtime gets, beside a table of its functions that stands for it:
 * streams, reserves and failures. tests/onnxruntime runs a model on it.
 */
#include "support/base_support.h"
#include "support/fixture.h"
#include "support/ort_table.h"

#define STREAM CUARENA_STREAM_NUMBER(0x5000)

static struct OrtAllocator *allocator;

static void close_ort(fixture_t *f)
{
    expect_ok(cuarena_ort_allocator_destroy(&allocator));
    ck_assert_ptr_null(allocator);
    fixture_close(f);
}

/* The arena of a test, with the allocator. */
static cuarena_t *opened_ort(const char *options, uint64_t keep_bytes)
{
    fixture_t *f = new_fixture(close_ort);
    fixture_open_text(f, options);
    allocator = ort_allocator_of(f->arena, keep_bytes);
    return f->arena;
}

START_TEST(what_a_stream_frees_stays_its_own)
{
    cuarena_t *arena = opened_ort("preset=grow, memory=none", 0);
    cuarena_stats_t stats;
    void *p = allocator->alloc_on_stream(allocator, 4096, (void *)STREAM);
    void *q = allocator->alloc_on_stream(allocator, 4096, NULL);
    cuarena_stream_t stream;
    expect_ok(cuarena_stream_of(arena, p, &stream));
    ck_assert_ptr_eq(stream, STREAM);
    expect_ok(cuarena_stream_of(arena, q, &stream));
    ck_assert_ptr_eq(stream, CUARENA_NO_STREAM);
    allocator->free(allocator, p);
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stream_stats(arena, STREAM, &stats));
    expect_u64(stats.frees, 1);
    expect_u64(stats.free_bytes, 4096);
    allocator->free(allocator, q);
    expect_u64(arena_stats(arena).live_blocks, 0);
}
END_TEST

START_TEST(a_block_of_a_released_stream_is_of_none)
{
    cuarena_t *arena = opened_ort("preset=grow, memory=none", 0);
    cuarena_stream_t stream;
    void *p = allocator->alloc_on_stream(allocator, 4096, (void *)STREAM);
    expect_ok(cuarena_release_stream(arena, STREAM));
    expect_ok(cuarena_stream_of(arena, p, &stream));
    ck_assert_ptr_eq(stream, CUARENA_NO_STREAM);
    allocator->free(allocator, p);
    expect_u64(arena_stats(arena).live_blocks, 0);
    expect_status(cuarena_stream_of(arena, p, &stream), CUARENA_STALE);
}
END_TEST

START_TEST(a_reserve_has_a_segment_of_its_own)
{
    cuarena_t *arena = opened_ort("preset=bfc, memory=none", 0);
    void *p = allocator->reserve(allocator, 32768);
    ck_assert_ptr_nonnull(p);
    ck_assert(arena_stats(arena).dedicated_bytes >= 32768);
    allocator->free(allocator, p);
    allocator->free(allocator, NULL);
    ck_assert_ptr_null(allocator->alloc(allocator, 0));
    ck_assert_ptr_eq(allocator->info(allocator), ORT_INFO);
    expect_u64(arena_stats(arena).reserved_bytes, 0);
}
END_TEST

/* Each would take a page of 64 KiB. */
START_TEST(thousands_of_small_reserves_share_pages)
{
    enum {
        WEIGHTS = 3000
    };
    static void *weights[WEIGHTS];
    cuarena_t *arena = opened_ort("preset=bfc, memory=none, limit=4MiB", 0);
    for (int i = 0; i < WEIGHTS; i++) {
        weights[i] = allocator->reserve(allocator, 32 + (size_t)i % 1000);
        ck_assert_msg(weights[i] != NULL, "weight %d: %s", i, cuarena_last_error());
    }
    expect_u64(arena_stats(arena).dedicated_bytes, 0);
    for (int i = 0; i < WEIGHTS; i++)
        allocator->free(allocator, weights[i]);
    expect_u64(arena_stats(arena).live_blocks, 0);
}
END_TEST

/* Where blocks of other calls lie closer. */
START_TEST(small_reserves_are_aligned_as_kernels_count_on)
{
    void *weights[8];
    (void)opened_ort("preset=mlx-cpu, memory=pageable", 0);
    for (int i = 0; i < 8; i++) {
        weights[i] = allocator->reserve(allocator, 40 + (size_t)i);
        ck_assert_msg(weights[i] != NULL, "weight %d: %s", i, cuarena_last_error());
        expect_u64((uintptr_t)weights[i] % 256, 0);
    }
    for (int i = 0; i < 8; i++)
        allocator->free(allocator, weights[i]);
}
END_TEST

START_TEST(figures_want_a_place)
{
    (void)opened_ort("preset=grow, memory=none", 0);
    ck_assert_ptr_nonnull(allocator->get_stats(allocator, NULL));
}
END_TEST

START_TEST(a_shrink_leaves_what_the_creation_said)
{
    cuarena_t *arena = opened_ort("preset=grow, memory=none, handle=64K", 1 << 20);
    allocator->free(allocator, allocator->alloc(allocator, 4 << 20));
    ck_assert_ptr_null(allocator->shrink(allocator));
    expect_u64(arena_stats(arena).reserved_bytes, 1 << 20);
}
END_TEST

/* This program has no C++ library, so nothing can be thrown. */
START_TEST(without_exceptions_a_refused_request_is_null)
{
    cuarena_t *arena = opened_ort("preset=grow, memory=none, limit=64KiB", 0);
    ck_assert_ptr_null(allocator->alloc(allocator, 1 << 20));
    ck_assert_ptr_null(allocator->reserve(allocator, 1 << 20));
    ck_assert_ptr_null(allocator->alloc_on_stream(allocator, 1 << 20, (void *)STREAM));
    expect_u64(arena_stats(arena).failed, 3);
}
END_TEST

START_TEST(bad_arguments_are_named)
{
    cuarena_t *arena = opened_text("preset=grow, memory=none")->arena;
    allocator = UNTOUCHED;
    expect_status(cuarena_ort_allocator_create(NULL, &ort_api, ORT_INFO, 0, &allocator),
                  CUARENA_BAD_ARGUMENT);
    expect_message("arena");
    expect_status(cuarena_ort_allocator_create(arena, NULL, ORT_INFO, 0, &allocator),
                  CUARENA_BAD_ARGUMENT);
    expect_message("api");
    expect_status(cuarena_ort_allocator_create(arena, &ort_api, NULL, 0, &allocator),
                  CUARENA_BAD_ARGUMENT);
    expect_message("info");
    expect_status(cuarena_ort_allocator_create(arena, &ort_api, ORT_INFO, 0, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_message("allocator_out");
    ck_assert_ptr_eq(allocator, UNTOUCHED);
    struct OrtAllocator foreign = {0};
    allocator = &foreign;
    expect_status(cuarena_ort_allocator_destroy(&allocator), CUARENA_BAD_ARGUMENT);
    expect_message("cuarena_ort_allocator_create");
    allocator = NULL;
    expect_ok(cuarena_ort_allocator_destroy(&allocator));
    expect_ok(cuarena_ort_allocator_destroy(NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ort allocator");
    suite_add_list(
        suite, "ort allocator",
        TEST_LIST(what_a_stream_frees_stays_its_own, a_block_of_a_released_stream_is_of_none,
                  a_reserve_has_a_segment_of_its_own, thousands_of_small_reserves_share_pages,
                  small_reserves_are_aligned_as_kernels_count_on, figures_want_a_place,
                  a_shrink_leaves_what_the_creation_said,
                  without_exceptions_a_refused_request_is_null, bad_arguments_are_named));
    return suite_main(suite);
}
