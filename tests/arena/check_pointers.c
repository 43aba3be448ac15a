/*
 * The calls with pointers, each at its edges, on a memory that records what is asked of it. What
 * holds on every memory is in check_conformance.c.
 */
#include "support/fixture.h"

#define POOL MIB(4)
/* A pool of four blocks of this size is full. */
#define QUARTER (POOL / 4)

/* ---- Alloc ------------------------------------------------------------- */

START_TEST(alloc_null_arguments)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step(f, cuarena_alloc(f->arena, 256, NULL), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_alloc(NULL, 256, &pointer), CUARENA_BAD_ARGUMENT);
    expect_ptr(pointer, UNTOUCHED);
}
END_TEST

START_TEST(alloc_from_held_bytes_calls_no_memory)
{
    void *a, *b;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    test_memory_forget_calls(&f->memory);
    a = alloc_ok(f, KIB(64));
    b = alloc_ok(f, KIB(64));
    free_ok(f, a);
    step_ok(f, cuarena_resize(f->arena, b, KIB(32), &b));
    expect_ok(cuarena_unpin(f->arena, b));
    expect_ok(cuarena_pin(f->arena, b));
    expect_recount(f);
    free_ok(f, b);
    expect_text(test_memory_sequence(&f->memory), "");
}
END_TEST

static const uint64_t granules[] = {8, 16, 128, 256, 512, 4096, KIB(64)};

START_TEST(alloc_sizes_are_multiples_of_the_granule)
{
    uint64_t granule = granules[_i], requested = 0, allocated = 0;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.alignment = granule;
    f->memory.ops.granularity = f->memory.ops.alignment = KIB(64);
    fixture_create(f);
    for (uint64_t bytes = 1; bytes <= 2 * granule + 1; bytes += granule / 2) {
        void *pointer = alloc_ok(f, bytes);
        expect_u64((uint64_t)(uintptr_t)pointer % granule, 0);
        expect_ok(cuarena_size_of(f->arena, pointer, &requested, &allocated));
        expect_u64(requested, bytes);
        expect_u64(allocated, (bytes + granule - 1) / granule * granule);
        free_ok(f, pointer);
    }
}
END_TEST

START_TEST(alloc_with_an_alignment_of_its_own)
{
    void *pointers[12];
    size_t count = 0;
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    for (request.alignment = 1; count < COUNT_OF(pointers); request.alignment *= 2, count++) {
        void **out = &pointers[count];
        step_ok(f, cuarena_alloc_with(f->arena, 300, &request, out));
        expect_u64((uint64_t)(uintptr_t)*out % request.alignment, 0);
        expect_u64((uint64_t)(uintptr_t)*out % 256, 0);
    }
    while (count-- > 0)
        free_ok(f, pointers[count]);
}
END_TEST

static void bad_struct_size(cuarena_request_t *request)
{
    request->struct_size = 3;
}

static void bad_region(cuarena_request_t *request)
{
    request->region = CUARENA_REGION_COUNT;
}

static void bad_region_all(cuarena_request_t *request)
{
    request->region = CUARENA_REGION_ALL;
}

static void bad_zeroed(cuarena_request_t *request)
{
    request->zeroed = 2;
}

static void bad_dedicated(cuarena_request_t *request)
{
    request->dedicated = -1;
}

static void bad_tag(cuarena_request_t *request)
{
    request->tag = 9;
}

static void bad_alignment(cuarena_request_t *request)
{
    request->alignment = 768;
}

static const struct {
    const char *what;
    void (*break_it)(cuarena_request_t *request);
} bad_requests[] = {
    {"a struct_size of no version", bad_struct_size},
    {"an unknown region", bad_region},
    {"all regions", bad_region_all},
    {"zeroed 2", bad_zeroed},
    {"dedicated -1", bad_dedicated},
    {"a tag that was not registered", bad_tag},
    {"an alignment that is no power of two", bad_alignment},
};

START_TEST(alloc_with_refuses_a_bad_request)
{
    void *pointer = UNTOUCHED;
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    bad_requests[_i].break_it(&request);
    cuarena_status_t status = cuarena_alloc_with(f->arena, 256, &request, &pointer);
    ck_assert_msg(status == CUARENA_BAD_ARGUMENT, "%s: got %s (%s)", bad_requests[_i].what,
                  cuarena_status_name(status), last_error().message);
    expect_ptr(pointer, UNTOUCHED);
}
END_TEST

START_TEST(alloc_array_is_the_product)
{
    void *pointer = NULL;
    uint64_t requested = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step_ok(f, cuarena_alloc_array(f->arena, 100, 12, NULL, &pointer));
    expect_ok(cuarena_size_of(f->arena, pointer, &requested, NULL));
    expect_u64(requested, 1200);
    free_ok(f, pointer);
}
END_TEST

START_TEST(alloc_array_of_nothing_is_null)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step_ok(f, cuarena_alloc_array(f->arena, 0, 12, NULL, &pointer));
    ck_assert_ptr_null(pointer);
    pointer = UNTOUCHED;
    step_ok(f, cuarena_alloc_array(f->arena, 12, 0, NULL, &pointer));
    ck_assert_ptr_null(pointer);
}
END_TEST

/* ---- Resize ------------------------------------------------------------ */

START_TEST(resize_null_allocates_and_zero_frees)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step_ok(f, cuarena_resize(f->arena, NULL, 1000, &pointer));
    ck_assert_ptr_nonnull(pointer);
    expect_u64(live_blocks(f), 1);
    step_ok(f, cuarena_resize(f->arena, pointer, 0, &pointer));
    ck_assert_ptr_null(pointer);
    step_ok(f, cuarena_resize(f->arena, NULL, 0, &pointer));
    ck_assert_ptr_null(pointer);
}
END_TEST

START_TEST(resize_grows_and_shrinks_in_place)
{
    void *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(f, POOL);
    paint(f, pointer, KIB(1), 1);
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_resize(f->arena, pointer, KIB(1), &now));
    expect_ptr(now, pointer);
    expect_u64(live_bytes(f), KIB(1));
    expect_painted(f, now, KIB(1), 1);
    step_ok(f, cuarena_resize(f->arena, pointer, KIB(1), &now));
    expect_ptr(now, pointer);
    expect_text(test_memory_sequence(&f->memory), "");
    free_ok(f, now);
}
END_TEST

START_TEST(resize_grows_into_the_range_behind)
{
    void *quarters[4], *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, quarters, 4, QUARTER);
    free_ok(f, quarters[1]);
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_resize(f->arena, quarters[0], 2 * QUARTER, &now));
    expect_ptr(now, quarters[0]);
    expect_text(test_memory_sequence(&f->memory), "");
    quarters[1] = NULL;
    free_pointer_row(f, quarters, 4, QUARTER);
}
END_TEST

START_TEST(resize_moves_the_contents_when_it_must)
{
    void *quarters[4], *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, 2 * POOL);
    alloc_pointer_row(f, quarters, 4, QUARTER);
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_resize(f->arena, quarters[1], QUARTER + 1, &now));
    ck_assert_ptr_ne(now, quarters[1]);
    expect_painted(f, now, QUARTER, 1);
    expect_text(test_memory_sequence(&f->memory), "relocate");
    expect_u64(f->memory.calls[0].bytes, QUARTER);
    step(f, cuarena_free(f->arena, quarters[1]), CUARENA_STALE);
    quarters[1] = now;
    free_pointer_row(f, quarters, 4, QUARTER);
}
END_TEST

START_TEST(resize_failure_keeps_block_and_contents)
{
    void *quarters[4], *now = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, quarters, 4, QUARTER);
    step(f, cuarena_resize(f->arena, quarters[1], POOL, &now), CUARENA_OUT_OF_MEMORY);
    step(f, cuarena_resize(f->arena, quarters[1], UINT64_MAX, &now), CUARENA_OUT_OF_MEMORY);
    expect_ptr(now, UNTOUCHED);
    expect_u64(live_bytes(f), POOL);
    free_pointer_row(f, quarters, 4, QUARTER);
}
END_TEST

START_TEST(resize_fragmented_when_the_bytes_are_apart)
{
    void *quarters[4], *now = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, quarters, 4, QUARTER);
    free_ok(f, quarters[0]);
    free_ok(f, quarters[2]);
    quarters[0] = quarters[2] = NULL;
    step(f, cuarena_resize(f->arena, quarters[3], 2 * QUARTER, &now), CUARENA_FRAGMENTED);
    expect_ptr(now, UNTOUCHED);
    free_pointer_row(f, quarters, 4, QUARTER);
}
END_TEST

/* No compaction brings free bytes of the stable region together. */
START_TEST(resize_of_a_stable_block_is_never_fragmented)
{
    void *row[4], *now = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.stable = amount_of_bytes(QUARTER);
    fixture_create(f);
    for (int i = 0; i < 4; i++)
        row[i] = alloc_in(f, QUARTER / 4, CUARENA_REGION_STABLE);
    free_ok(f, row[0]);
    free_ok(f, row[2]);
    step(f, cuarena_resize(f->arena, row[3], QUARTER / 2, &now), CUARENA_OUT_OF_MEMORY);
    expect_ptr(now, UNTOUCHED);
    free_ok(f, row[1]);
    free_ok(f, row[3]);
}
END_TEST

START_TEST(resize_stale_pointer)
{
    void *now = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(f, 256);
    free_ok(f, pointer);
    step(f, cuarena_resize(f->arena, pointer, 512, &now), CUARENA_STALE);
    step(f, cuarena_resize(f->arena, f, 512, &now), CUARENA_STALE);
    step(f, cuarena_resize(f->arena, NULL, 512, NULL), CUARENA_BAD_ARGUMENT);
    expect_ptr(now, UNTOUCHED);
}
END_TEST

START_TEST(resize_busy_if_a_pinned_block_would_move)
{
    void *quarters[4], *now = UNTOUCHED, *held = NULL;
    cuarena_block_t block = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, 2 * POOL);
    alloc_pointer_row(f, quarters, 4, QUARTER);
    expect_ok(cuarena_block_of(f->arena, quarters[1], &block));
    step_ok(f, cuarena_block_pin(f->arena, block, &held));
    expect_ptr(held, quarters[1]);
    step(f, cuarena_resize(f->arena, quarters[1], 2 * QUARTER, &now), CUARENA_BUSY);
    expect_ptr(now, UNTOUCHED);
    step_ok(f, cuarena_block_unpin(f->arena, block));
    step_ok(f, cuarena_resize(f->arena, quarters[1], 2 * QUARTER, &now));
    quarters[1] = now;
    free_pointer_row(f, quarters, 4, QUARTER);
}
END_TEST

START_TEST(resize_when_the_copy_fails_changes_nothing)
{
    void *quarters[4], *now = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, 2 * POOL);
    alloc_pointer_row(f, quarters, 4, QUARTER);
    f->memory.fail_in = 1;
    f->memory.fail_op = OP_RELOCATE;
    step(f, cuarena_resize(f->arena, quarters[0], 2 * QUARTER, &now), CUARENA_DRIVER);
    expect_ptr(now, UNTOUCHED);
    expect_u64(live_bytes(f), POOL);
    free_pointer_row(f, quarters, 4, QUARTER);
}
END_TEST

/* ---- Sizes and pins ---------------------------------------------------- */

START_TEST(size_of_takes_null_outputs)
{
    uint64_t allocated = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(f, 257);
    expect_ok(cuarena_size_of(f->arena, pointer, NULL, NULL));
    expect_ok(cuarena_size_of(f->arena, pointer, NULL, &allocated));
    expect_u64(allocated, 512);
    free_ok(f, pointer);
}
END_TEST

START_TEST(size_of_stale_and_interior)
{
    uint64_t requested = 5, allocated = 6;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    char *pointer = alloc_ok(f, KIB(1));
    expect_status(cuarena_size_of(f->arena, pointer + 256, &requested, &allocated), CUARENA_STALE);
    free_ok(f, pointer);
    expect_status(cuarena_size_of(f->arena, pointer, &requested, &allocated), CUARENA_STALE);
    expect_u64(requested, 5);
    expect_u64(allocated, 6);
}
END_TEST

START_TEST(unpin_ends_the_pin_of_birth_once)
{
    cuarena_block_t block = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(f, 256);
    expect_ok(cuarena_block_of(f->arena, pointer, &block));
    expect_u64(info_of(f, block).pins, 1);
    step_ok(f, cuarena_unpin(f->arena, pointer));
    expect_u64(info_of(f, block).pins, 0);
    step(f, cuarena_unpin(f->arena, pointer), CUARENA_BAD_ARGUMENT);
    step_ok(f, cuarena_pin(f->arena, pointer));
    expect_u64(info_of(f, block).pins, 1);
    free_ok(f, pointer);
    step(f, cuarena_unpin(f->arena, pointer), CUARENA_STALE);
    step(f, cuarena_pin(f->arena, pointer), CUARENA_STALE);
}
END_TEST

static void add_loops(Suite *suite)
{
    TCase *tcase = new_case(suite, "tables");
    tcase_add_loop_test(tcase, alloc_sizes_are_multiples_of_the_granule, 0, COUNT_OF(granules));
    tcase_add_loop_test(tcase, alloc_with_refuses_a_bad_request, 0, COUNT_OF(bad_requests));
}

int main(void)
{
    Suite *suite = suite_create("pointers");
    add_loops(suite);
    suite_add_list(suite, "alloc",
                   TEST_LIST(alloc_null_arguments, alloc_from_held_bytes_calls_no_memory,
                             alloc_with_an_alignment_of_its_own, alloc_array_is_the_product,
                             alloc_array_of_nothing_is_null));
    suite_add_list(
        suite, "resize",
        TEST_LIST(
            resize_null_allocates_and_zero_frees, resize_grows_and_shrinks_in_place,
            resize_grows_into_the_range_behind, resize_moves_the_contents_when_it_must,
            resize_failure_keeps_block_and_contents, resize_fragmented_when_the_bytes_are_apart,
            resize_stale_pointer, resize_of_a_stable_block_is_never_fragmented,
            resize_busy_if_a_pinned_block_would_move, resize_when_the_copy_fails_changes_nothing));
    suite_add_list(suite, "sizes and pins",
                   TEST_LIST(size_of_takes_null_outputs, size_of_stale_and_interior,
                             unpin_ends_the_pin_of_birth_once));
    return suite_main(suite);
}
