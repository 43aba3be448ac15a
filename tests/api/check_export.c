/*
 * Exports, on a memory of the test's own that plays with descriptors: what may be exported, how
 * long the bytes stay, and what every failure leaves. Between processes, on memory of a device, is
 * in check_device_export.c.
 */
#include "support/fixture.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define HANDLE KIB(64)
#define POOL MIB(1)

/* The memory's other functions belong to test_memory_t; this one is ours. */
static int export_calls;
static int export_fails_in; /* the call that fails, counted from 1 */

static cuarena_status_t fake_export(void *user, const cuarena_memory_segment_t *segment,
                                    uint64_t offset, uint64_t bytes, cuarena_export_piece_t *pieces,
                                    size_t capacity, size_t *count_out)
{
    (void)user;
    uint64_t first = offset / HANDLE;
    uint64_t last = (offset + bytes - 1) / HANDLE;
    ck_assert_uint_le(offset + bytes, segment->bytes);
    if (++export_calls == export_fails_in)
        return CUARENA_DRIVER;
    *count_out = last - first + 1;
    for (uint64_t i = first; i <= last && i - first < capacity; i++) {
        uint64_t begin = i == first ? offset : i * HANDLE;
        uint64_t end = i == last ? offset + bytes : (i + 1) * HANDLE;
        pieces[i - first] = (cuarena_export_piece_t){.fd = open("/dev/null", O_RDONLY),
                                                     .handle_bytes = HANDLE,
                                                     .offset = begin - i * HANDLE,
                                                     .bytes = end - begin};
    }
    return CUARENA_OK;
}

static void close_pieces(const cuarena_export_piece_t *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(close(pieces[i].fd), 0);
}

static fixture_t *open_exporting(fixture_t *f, const arena_kind_t *kind)
{
    export_calls = 0;
    export_fails_in = 0;
    fixture_prepare(f, kind, POOL);
    f->memory.ops.export_range = fake_export;
    fixture_create(f);
    return f;
}

static cuarena_export_options_t sharing(void)
{
    cuarena_export_options_t options;
    cuarena_export_options_init(&options);
    options.share_handles = 1;
    return options;
}

/* Exports a block that stands in `want` handles. */
static cuarena_export_t *export_of(fixture_t *f, cuarena_block_t block, size_t want)
{
    const cuarena_export_options_t options = sharing();
    cuarena_export_piece_t pieces[32];
    cuarena_export_t *one = NULL;
    size_t count = 0;
    step_ok(f, cuarena_export(f->arena, block, &options, pieces, COUNT_OF(pieces), &count, &one));
    expect_u64(count, want);
    ck_assert_ptr_nonnull(one);
    close_pieces(pieces, count);
    return one;
}

/* ---- What is exported ---------------------------------------------------- */

START_TEST(pieces_cover_the_block)
{
    const cuarena_export_options_t options = sharing();
    cuarena_export_piece_t pieces[4];
    cuarena_export_t *one = NULL;
    size_t count = 0;
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t below = alloc_block(f, POOL - 3 * HANDLE + 512);
    cuarena_block_t block = alloc_block(f, 3 * HANDLE - 512);
    expect_ok(cuarena_export(f->arena, block, &options, pieces, 4, &count, &one));
    expect_u64(count, 3);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        expect_u64(pieces[i].handle_bytes, HANDLE);
        ck_assert_uint_le(pieces[i].offset + pieces[i].bytes, HANDLE);
        bytes += pieces[i].bytes;
    }
    expect_u64(bytes, 3 * HANDLE - 512);
    close_pieces(pieces, count);
    step_ok(f, cuarena_export_close(f->arena, &one));
    ck_assert_ptr_null(one);
    free_block(f, below);
    free_block(f, block);
}
END_TEST

START_TEST(counting_exports_nothing)
{
    size_t count = 0;
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_dedicated_block(f, 2 * HANDLE);
    expect_ok(cuarena_export(f->arena, block, NULL, NULL, 0, &count, NULL));
    expect_u64(count, 2);
    expect_u64(info_of(f, block).pins, 0);
    step_ok(f, cuarena_block_free(f->arena, block));
}
END_TEST

START_TEST(dedicated_needs_no_option)
{
    cuarena_export_piece_t piece;
    cuarena_export_t *one = NULL;
    size_t count = 0;
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_dedicated_block(f, 1000);
    expect_ok(cuarena_export(f->arena, block, NULL, &piece, 1, &count, &one));
    expect_u64(piece.offset, 0);
    close_pieces(&piece, count);
    step_ok(f, cuarena_export_close(f->arena, &one));
    free_block(f, block);
}
END_TEST

/* ---- How long the bytes stay ----------------------------------------------
 */

START_TEST(freed_block_stays_taken_until_the_close)
{
    void *pointer = NULL;
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_block(f, POOL);
    cuarena_export_t *one = export_of(f, block, POOL / HANDLE);
    free_block(f, block);
    step(f, cuarena_block_free(f->arena, block), CUARENA_STALE);
    step(f, cuarena_alloc(f->arena, 256, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(live_bytes(f), POOL);
    step(f, cuarena_destroy(&f->arena), CUARENA_BUSY);
    step(f, cuarena_reset(f->arena), CUARENA_BUSY);
    step_ok(f, cuarena_export_close(f->arena, &one));
    expect_u64(live_bytes(f), 0);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

START_TEST(dedicated_segment_goes_at_the_close)
{
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_dedicated_block(f, HANDLE);
    cuarena_export_t *one = export_of(f, block, 1);
    free_block(f, block);
    expect_u64(test_memory_segments(&f->memory), 2);
    step_ok(f, cuarena_export_close(f->arena, &one));
    expect_u64(test_memory_segments(&f->memory), 1);
}
END_TEST

START_TEST(each_export_counts)
{
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_block(f, HANDLE);
    cuarena_export_t *first = export_of(f, block, 1);
    cuarena_export_t *second = export_of(f, block, 1);
    expect_u64(info_of(f, block).pins, 2);
    step_ok(f, cuarena_export_close(f->arena, &first));
    free_block(f, block);
    expect_u64(live_blocks(f), 1);
    step_ok(f, cuarena_export_close(f->arena, &second));
    expect_u64(live_blocks(f), 0);
}
END_TEST

/* Not compaction, nor trim, nor a resize, nor an unpin too many. */
START_TEST(nothing_moves_or_takes_exported_bytes)
{
    void *pointer = NULL;
    uint64_t given = 0;
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t row[4];
    alloc_row(f, row, 4, POOL / 4);
    free_block(f, row[0]);
    void *before = address_of(f, row[1]);
    cuarena_export_t *one = export_of(f, row[1], POOL / 4 / HANDLE);
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_ptr(address_of(f, row[1]), before);
    step(f, cuarena_block_unpin(f->arena, row[1]), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_block_pin(f->arena, row[1], &pointer));
    step_ok(f, cuarena_block_unpin(f->arena, row[1]));
    step(f, cuarena_block_resize(f->arena, row[1], 256), CUARENA_BUSY);
    step(f, cuarena_block_resize(f->arena, row[1], 0), CUARENA_BUSY);
    free_block(f, row[1]);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(given, POOL / 4);
    step_ok(f, cuarena_export_close(f->arena, &one));
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(given, POOL / 4);
    free_block(f, row[2]);
    free_block(f, row[3]);
}
END_TEST

START_TEST(zero_at_free_waits_for_the_close)
{
    export_fails_in = 0;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.ops.export_range = fake_export;
    f->config.zero = CUARENA_ZERO_FREE;
    fixture_create(f);
    cuarena_block_t block = alloc_block(f, HANDLE);
    unsigned char *bytes = address_of(f, block);
    memset(bytes, 7, HANDLE);
    cuarena_export_t *one = export_of(f, block, 1);
    free_block(f, block);
    ck_assert_int_eq(bytes[0], 7);
    step_ok(f, cuarena_export_close(f->arena, &one));
    ck_assert_int_eq(bytes[0], 0);
}
END_TEST

/* The free was answered long ago, and the close ends the block all the same. */
START_TEST(a_close_that_cannot_zero_loses_the_arena)
{
    export_fails_in = 0;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.ops.export_range = fake_export;
    f->config.zero = CUARENA_ZERO_FREE;
    fixture_create(f);
    cuarena_block_t block = alloc_block(f, HANDLE);
    cuarena_export_t *one = export_of(f, block, 1);
    free_block(f, block);
    expect_status(cuarena_block_free(f->arena, block), CUARENA_STALE);
    cuarena_error_info_t before = last_error();
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    f->memory.fail_with = CUARENA_DRIVER;
    step_ok(f, cuarena_export_close(f->arena, &one));
    expect_text(last_error().message, before.message);
    step(f, cuarena_block_alloc(f->arena, HANDLE, &block), CUARENA_LOST);
    ck_assert_msg(strstr(last_error().message, "could not be set to 0") != NULL,
                  "expected why the arena is lost in: %s", last_error().message);
}
END_TEST

START_TEST(forced_destruction_ends_exports)
{
    fixture_t *f = open_exporting(new_fixture(fixture_close), KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_block(f, HANDLE);
    (void)export_of(f, block, 1);
    (void)export_of(f, block, 1);
    fixture_close_forced(f);
}
END_TEST

/* ---- Refusals ------------------------------------------------------------ */

typedef struct refusal {
    fixture_t f;
    cuarena_export_options_t options;
    cuarena_export_piece_t pieces[2];
    size_t count;
    cuarena_export_t *one;
} refusal_t;

static void expect_refused(refusal_t *r, cuarena_block_t block, size_t capacity,
                           cuarena_status_t want, const char *word)
{
    r->count = 77;
    step(&r->f,
         cuarena_export(r->f.arena, block, &r->options, r->pieces, capacity, &r->count, &r->one),
         want);
    expect_u64(r->count, 77);
    ck_assert_ptr_null(r->one);
    ck_assert_msg(strstr(last_error().message, word) != NULL, "'%s' does not name '%s'",
                  last_error().message, word);
}

START_TEST(refusals_name_the_value)
{
    refusal_t r = {.options = sharing()};
    fixture_t *f = &r.f;
    open_exporting(f, KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_block(f, 3 * HANDLE);
    cuarena_block_t empty = alloc_block(f, 0);
    cuarena_block_t adopted = 0;
    static _Alignas(4096) char foreign[4096];
    expect_ok(cuarena_adopt(f->arena, foreign, 4096, 0, &adopted));
    expect_refused(&r, block, 2, CUARENA_BAD_ARGUMENT, "from 3 on");
    expect_refused(&r, empty, 2, CUARENA_BAD_ARGUMENT, "is empty");
    expect_refused(&r, adopted, 2, CUARENA_UNSUPPORTED, "adopted");
    expect_refused(&r, 12345, 2, CUARENA_STALE, "0x3039");
    expect_refused(&r, block, 0, CUARENA_BAD_ARGUMENT, "capacity 0");
    r.options.share_handles = 2;
    expect_refused(&r, block, 2, CUARENA_BAD_ARGUMENT, "share_handles 2");
    r.options.share_handles = 0;
    expect_refused(&r, block, 2, CUARENA_BAD_ARGUMENT, "share_handles = 1");
    r.options.struct_size = 4;
    expect_refused(&r, block, 2, CUARENA_BAD_ARGUMENT, "struct_size 4");
    expect_status(cuarena_export(NULL, block, NULL, NULL, 0, &r.count, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_export(f->arena, block, NULL, NULL, 0, NULL, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_export(f->arena, block, NULL, r.pieces, 2, &r.count, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_u64(info_of(f, block).pins, 0);
    free_block(f, block);
    free_block(f, empty);
    free_block(f, adopted);
    fixture_close(f);
}
END_TEST

START_TEST(a_memory_without_handles)
{
    refusal_t r = {.options = sharing()};
    fixture_open(&r.f, &arena_kinds[POOL_PAGEABLE], POOL);
    cuarena_block_t block = alloc_block(&r.f, 256);
    expect_refused(&r, block, 2, CUARENA_UNSUPPORTED, "fd=require");
    free_block(&r.f, block);
    fixture_close(&r.f);
}
END_TEST

/* The first call counts the pieces, the second makes them. */
START_TEST(a_memory_that_fails_leaves_no_export)
{
    refusal_t r = {.options = sharing()};
    fixture_t *f = &r.f;
    open_exporting(f, KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_block(f, HANDLE);
    export_fails_in = export_calls + 1 + _i;
    expect_refused(&r, block, 2, CUARENA_DRIVER, "export_range");
    expect_u64(info_of(f, block).pins, 0);
    step_ok(f, cuarena_block_resize(f->arena, block, 256));
    free_block(f, block);
    fixture_close(f);
}
END_TEST

START_TEST(closing_what_is_not_open)
{
    fixture_t f, other;
    cuarena_export_t *none = NULL;
    open_exporting(&f, KIND_CUSTOM_POOL);
    open_exporting(&other, KIND_CUSTOM_POOL);
    cuarena_block_t block = alloc_block(&f, HANDLE);
    cuarena_export_t *one = export_of(&f, block, 1);
    step_ok(&f, cuarena_export_close(f.arena, &none));
    step_ok(&f, cuarena_export_close(f.arena, NULL));
    step(&other, cuarena_export_close(other.arena, &one), CUARENA_STALE);
    expect_status(cuarena_export_close(NULL, &one), CUARENA_BAD_ARGUMENT);
    cuarena_export_t *copy = one;
    step_ok(&f, cuarena_export_close(f.arena, &one));
    step(&f, cuarena_export_close(f.arena, &copy), CUARENA_STALE);
    free_block(&f, block);
    fixture_close(&f);
    fixture_close(&other);
}
END_TEST

/* ---- Properties ------------------------------------------------------------
 */

START_TEST(properties_of_memories_without_a_device)
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    fixture_t *f = opened(&arena_kinds[_i], POOL);
    expect_ok(cuarena_properties(f->arena, &properties));
    ck_assert_int_eq(properties.memory, arena_kinds[_i].memory);
    ck_assert_int_eq(properties.device, -1);
    ck_assert_int_eq(properties.backing, 0);
    ck_assert_int_eq(properties.relocation_kernel, 0);
    ck_assert_ptr_null(properties.context);
    ck_assert_uint_ge(properties.granularity, 256);
    expect_u64(properties.granule_bytes, 256);
    expect_status(cuarena_properties(f->arena, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_properties(NULL, &properties), CUARENA_BAD_ARGUMENT);
    properties.struct_size = 1000;
    expect_status(cuarena_properties(f->arena, &properties), CUARENA_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export");
    suite_add_list(
        suite, "pieces",
        TEST_LIST(pieces_cover_the_block, counting_exports_nothing, dedicated_needs_no_option));
    suite_add_list(
        suite, "life",
        TEST_LIST(freed_block_stays_taken_until_the_close, dedicated_segment_goes_at_the_close,
                  each_export_counts, nothing_moves_or_takes_exported_bytes,
                  zero_at_free_waits_for_the_close, a_close_that_cannot_zero_loses_the_arena,
                  forced_destruction_ends_exports));
    suite_add_list(
        suite, "refusals",
        TEST_LIST(refusals_name_the_value, a_memory_without_handles, closing_what_is_not_open));
    tcase_add_loop_test(new_case(suite, "failures"), a_memory_that_fails_leaves_no_export, 0, 2);
    add_test_per_kind(new_case(suite, "properties"), properties_of_memories_without_a_device);
    return suite_main(suite);
}
