/*
 * One list of behaviours that every arena has, whatever its preset and its
 * memory: each test runs once per row of arena_kinds. A kind that comes later
 * needs a row there and no more.
 *
 * With CUARENA_TEST_CUDA it is another program, of the kinds whose memory a
 * driver gives (support/cuda_kinds.h).
 */
#include "arena_support.h"

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#define KINDS cuda_kinds
#define KIND_ROWS CUDA_KIND_COUNT
#define EACH MIB(2)
#else
#define KINDS arena_kinds
#define KIND_ROWS (ARENA_KIND_COUNT + ARENA_CHUNKS_COUNT)
#define EACH KIB(64)
#endif

#include <stdio.h>
#include <string.h>

#define COUNT 8
#define POOL (COUNT * EACH)

static char untouched_byte;
#define UNTOUCHED ((void *)&untouched_byte)

static int has(const fixture_t *f, uint32_t trait)
{
    return (f->kind->traits & trait) != 0;
}

/* An arena that holds all it may in one range, so that rows are sure. */
static void open_kind(fixture_t *f, int row)
{
    fixture_open(f, &KINDS[row], POOL);
    drop(f, take(f, POOL));
    step_ok(f, cuarena_reset_peaks(f->arena));
}

static void open_with_stable(fixture_t *f, int row, uint64_t stable)
{
    fixture_prepare(f, &KINDS[row], POOL);
    f->config.stable = amount_of_bytes(stable);
    fixture_create(f);
}

/* Frees those whose bit is set. */
static void drop_some(fixture_t *f, cuarena_block_t *row, unsigned bits)
{
    for (size_t i = 0; i < COUNT; i++)
        if (bits >> i & 1) {
            drop_block(f, row[i]);
            row[i] = 0;
        }
}

/* ---- Serving ------------------------------------------------------------- */

START_TEST(test_addresses_are_aligned_and_apart)
{
    fixture_t f;
    char *pointers[40];
    fixture_open(&f, &KINDS[_i], POOL);
    for (uint64_t i = 0; i < COUNT_OF(pointers); i++) {
        pointers[i] = take(&f, 1 + i * 97);
        expect_u64((uint64_t)(uintptr_t)pointers[i] % 256, 0);
        paint(&f, pointers[i], 1 + i * 97, i);
    }
    expect_recount(&f);
    for (uint64_t i = 0; i < COUNT_OF(pointers); i++) {
        expect_painted(&f, pointers[i], 1 + i * 97, i);
        drop(&f, pointers[i]);
    }
    fixture_close(&f);
}
END_TEST

START_TEST(test_zero_bytes)
{
    fixture_t f;
    void *pointer = UNTOUCHED;
    fixture_open(&f, &KINDS[_i], POOL);
    step_ok(&f, cuarena_alloc(f.arena, 0, &pointer));
    ck_assert_ptr_null(pointer);
    cuarena_block_t block = take_block(&f, 0);
    step_ok(&f, cuarena_block_pin(f.arena, block, &pointer));
    ck_assert_ptr_null(pointer);
    expect_recount(&f);
    expect_u64(live_bytes(&f), 0);
    drop_block(&f, block);
    fixture_close(&f);
}
END_TEST

START_TEST(test_freed_bytes_are_reused)
{
    fixture_t f;
    open_kind(&f, _i);
    uint64_t held = stats_of(&f, CUARENA_REGION_ALL).held_bytes;
    for (int i = 0; i < 20; i++)
        drop(&f, take(&f, POOL - (uint64_t)i * 256));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).held_bytes, held);
    fixture_close(&f);
}
END_TEST

/* Each order in which two neighbours and the one between them can go. */
static const unsigned char orders[6][3] = {{2, 3, 4}, {2, 4, 3}, {3, 2, 4},
                                           {3, 4, 2}, {4, 2, 3}, {4, 3, 2}};

START_TEST(test_neighbours_coalesce_in_any_order)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    open_kind(&f, _i);
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        take_row(&f, row, COUNT, EACH);
        for (size_t i = 0; i < 3; i++)
            drop_block(&f, row[orders[order][i]]);
        row[2] = row[3] = row[4] = 0;
        expect_u64(inspection_of(&f, CUARENA_REGION_DYNAMIC).ranges, 1);
        cuarena_block_t block = take_block(&f, 3 * EACH);
        drop_block(&f, block);
        drop_row(&f, row, COUNT, EACH);
        expect_u64(inspection_of(&f, CUARENA_REGION_DYNAMIC).ranges, 1);
    }
    fixture_close(&f);
}
END_TEST

/* ---- Refusals -------------------------------------------------------------
 */

START_TEST(test_exhaustion)
{
    fixture_t f;
    void *pointer = UNTOUCHED;
    fixture_open(&f, &KINDS[_i], POOL);
    step(&f, cuarena_alloc(f.arena, POOL + 1, &pointer), exhausted(&f));
    void *all = take(&f, POOL);
    step(&f, cuarena_alloc(f.arena, 1, &pointer), exhausted(&f));
    expect_ptr(pointer, UNTOUCHED);
    expect_u64(last_error().asked_bytes, 1);
    expect_u64(last_error().held_bytes, POOL);
    expect_u64(last_error().free_bytes, 0);
    ck_assert_int_eq(last_error().status, exhausted(&f));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).failed, 2);
    drop(&f, all);
    fixture_close(&f);
}
END_TEST

/* Where holes can go back to the memory, growth elsewhere takes their place. */
START_TEST(test_fragmented_is_told_from_exhausted)
{
    fixture_t f;
    cuarena_block_t row[COUNT], block = 77;
    open_kind(&f, _i);
    take_row(&f, row, COUNT, EACH);
    drop_some(&f, row, 0x55);
    if (has(&f, KIND_GROWS) && has(&f, KIND_GIVES_BACK)) {
        drop_block(&f, take_block(&f, POOL / 2));
        drop_row(&f, row, COUNT, EACH);
        fixture_close(&f);
        return;
    }
    step(&f, cuarena_block_alloc(f.arena, EACH + 1, &block),
         CUARENA_FRAGMENTED);
    expect_u64(last_error().free_bytes, POOL / 2);
    expect_u64(last_error().largest_bytes, EACH);
    step(&f, cuarena_block_alloc(f.arena, POOL / 2, &block),
         CUARENA_FRAGMENTED);
    step(&f, cuarena_block_alloc(f.arena, POOL / 2 + 1, &block), exhausted(&f));
    expect_u64(block, 77);
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

START_TEST(test_limit_of_live_bytes)
{
    fixture_t f;
    void *pointer = UNTOUCHED;
    fixture_open(&f, &KINDS[_i], POOL);
    expect_ok(cuarena_set_limit(f.arena, CUARENA_LIMIT_LIVE,
                                amount_of_bytes(2 * EACH), NULL));
    void *first = take(&f, EACH);
    step(&f, cuarena_alloc(f.arena, EACH + 1, &pointer), CUARENA_LIMIT);
    expect_ptr(pointer, UNTOUCHED);
    drop(&f, take(&f, EACH));
    drop(&f, first);
    fixture_close(&f);
}
END_TEST

START_TEST(test_wrong_pointers_are_stale)
{
    fixture_t f;
    fixture_open(&f, &KINDS[_i], POOL);
    char *pointer = take(&f, KIB(4));
    step(&f, cuarena_free(f.arena, pointer + 1), CUARENA_STALE);
    step(&f, cuarena_free(f.arena, pointer + 256), CUARENA_STALE);
    step(&f, cuarena_free(f.arena, &f), CUARENA_STALE);
    step(&f, cuarena_unpin(f.arena, pointer + 256), CUARENA_STALE);
    drop(&f, pointer);
    step(&f, cuarena_free(f.arena, pointer), CUARENA_STALE);
    step(&f, cuarena_resize(f.arena, pointer, 1, (void **)&pointer),
         CUARENA_STALE);
    fixture_close(&f);
}
END_TEST

START_TEST(test_wrong_ids_are_stale)
{
    fixture_t f, other;
    fixture_open(&f, &KINDS[_i], POOL);
    fixture_open(&other, &KINDS[_i], POOL);
    cuarena_block_t gone = take_block(&f, 256);
    drop_block(&f, gone);
    cuarena_block_t again = take_block(&f, 256);
    cuarena_block_t foreign = take_block(&other, 256);
    step(&f, cuarena_block_free(f.arena, gone), CUARENA_STALE);
    step(&f, cuarena_block_free(f.arena, foreign), CUARENA_STALE);
    step(&f, cuarena_block_free(f.arena, UINT64_MAX), CUARENA_STALE);
    expect_u64(live_blocks(&f), 1);
    drop_block(&f, again);
    drop_block(&other, foreign);
    fixture_close(&f);
    fixture_close(&other);
}
END_TEST

/* ---- Resizing blocks --------------------------------------------------------
 */

START_TEST(test_resize_keeps_contents)
{
    fixture_t f;
    void *now = NULL;
    fixture_open(&f, &KINDS[_i], POOL);
    void *pointer = take(&f, EACH);
    void *fence = take(&f, 256);
    paint(&f, pointer, EACH, 1);
    step_ok(&f, cuarena_resize(f.arena, pointer, 3 * EACH, &now));
    expect_painted(&f, now, EACH, 1);
    step_ok(&f, cuarena_resize(f.arena, now, EACH / 2, &now));
    expect_painted(&f, now, EACH / 2, 1);
    expect_recount(&f);
    drop(&f, fence);
    drop(&f, now);
    fixture_close(&f);
}
END_TEST

START_TEST(test_resize_of_a_block_keeps_its_id)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    open_kind(&f, _i);
    take_row(&f, row, COUNT, EACH);
    drop_some(&f, row, 0xf0);
    step_ok(&f, cuarena_block_resize(f.arena, row[1], EACH + 1));
    expect_u64(info_of(&f, row[1]).requested, EACH + 1);
    expect_recount(&f);
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

START_TEST(test_resize_that_fails_changes_nothing)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    open_kind(&f, _i);
    take_row(&f, row, COUNT, EACH);
    void *before = address_of(&f, row[3]);
    step(&f, cuarena_block_resize(f.arena, row[3], POOL + 1), exhausted(&f));
    expect_ptr(address_of(&f, row[3]), before);
    expect_u64(info_of(&f, row[3]).requested, EACH);
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

/* ---- The stable region
 * -------------------------------------------------------- */

START_TEST(test_stable_region_is_apart)
{
    fixture_t f;
    void *pointer = UNTOUCHED;
    cuarena_request_t request;
    open_with_stable(&f, _i, 2 * EACH);
    cuarena_request_init(&request);
    request.region = CUARENA_REGION_STABLE;
    void *stable = take_in(&f, 2 * EACH, CUARENA_REGION_STABLE);
    step(&f, cuarena_alloc_with(f.arena, 1, &request, &pointer),
         CUARENA_OUT_OF_MEMORY);
    expect_ptr(pointer, UNTOUCHED);
    void *dynamic = take(&f, POOL - 2 * EACH);
    expect_u64(live_in(&f, CUARENA_REGION_STABLE), 2 * EACH);
    expect_u64(live_in(&f, CUARENA_REGION_DYNAMIC), POOL - 2 * EACH);
    expect_recount(&f);
    drop(&f, stable);
    step(&f, cuarena_alloc(f.arena, 1, &pointer), exhausted(&f));
    drop(&f, dynamic);
    fixture_close(&f);
}
END_TEST

START_TEST(test_stable_blocks_do_not_move)
{
    fixture_t f;
    heard_t heard = {.count = 0};
    void *low, *high, *now = UNTOUCHED;
    open_with_stable(&f, _i, 4 * EACH);
    low = take_in(&f, EACH, CUARENA_REGION_STABLE);
    high = take_in(&f, EACH, CUARENA_REGION_STABLE);
    paint(&f, high, EACH, 2);
    drop(&f, low);
    step(&f, cuarena_unpin(f.arena, high), CUARENA_BAD_ARGUMENT);
    step_ok(&f, cuarena_compact(f.arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 0);
    cuarena_status_t status = cuarena_resize(f.arena, high, 4 * EACH + 1, &now);
    ck_assert_int_ne(status, CUARENA_OK);
    expect_painted(&f, high, EACH, 2);
    drop(&f, high);
    fixture_close(&f);
}
END_TEST

START_TEST(test_stable_without_a_region_is_pinned_in_front)
{
    fixture_t f;
    cuarena_block_t block = 0;
    void *base = NULL;
    uint64_t bytes = 0;
    open_kind(&f, _i);
    void *pointer = take_in(&f, EACH, CUARENA_REGION_STABLE);
    expect_ok(cuarena_base(f.arena, &base, &bytes));
    expect_ptr(pointer, base);
    expect_ok(cuarena_block_of(f.arena, pointer, &block));
    ck_assert_uint_ge(info_of(&f, block).pins, 1);
    step(&f, cuarena_unpin(f.arena, pointer), CUARENA_BAD_ARGUMENT);
    drop(&f, pointer);
    fixture_close(&f);
}
END_TEST

/* ---- Dedicated and adopted
 * ------------------------------------------------------ */

START_TEST(test_dedicated_block)
{
    fixture_t f;
    void *pointer = NULL;
    cuarena_request_t request;
    fixture_prepare(&f, &KINDS[_i], POOL);
    if (has(&f, KIND_GROWS) && has(&f, KIND_DEDICATES))
        f.config.limit = amount_of_bytes(2 * POOL);
    fixture_create(&f);
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_status_t status =
        cuarena_alloc_with(f.arena, EACH, &request, &pointer);
    expect_sound(&f);
    if (has(&f, KIND_DEDICATES))
        expect_status(status, CUARENA_OK);
    if (status == CUARENA_OK) {
        paint(&f, pointer, EACH, 1);
        expect_u64(stats_of(&f, CUARENA_REGION_ALL).dedicated_bytes, EACH);
        expect_recount(&f);
        expect_painted(&f, pointer, EACH, 1);
        drop(&f, pointer);
    }
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).dedicated_bytes, 0);
    fixture_close(&f);
}
END_TEST

static _Alignas(4096) char foreign[KIB(16)];

START_TEST(test_adopted_block)
{
    fixture_t f;
    cuarena_block_t block = 0, other = 77;
    fixture_open(&f, &KINDS[_i], POOL);
    step_ok(&f, cuarena_adopt(f.arena, foreign, sizeof foreign, 0, &block));
    step(&f, cuarena_adopt(f.arena, foreign, 256, 0, &other),
         CUARENA_BAD_ARGUMENT);
    step(&f, cuarena_adopt(f.arena, foreign + 8, 256, 0, &other),
         CUARENA_BAD_ARGUMENT);
    expect_u64(live_bytes(&f), sizeof foreign);
    expect_recount(&f);
    drop_block(&f, block);
    fixture_close(&f);
}
END_TEST

/* ---- Trim, reset, resize_pool
 * ------------------------------------------------------ */

START_TEST(test_trim_and_take_again)
{
    fixture_t f;
    uint64_t given = 77;
    open_kind(&f, _i);
    step_ok(&f, cuarena_trim(f.arena, 0, &given));
    expect_u64(given, has(&f, KIND_GIVES_BACK | KIND_GIVES_WHOLE) ? POOL : 0);
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).held_bytes, POOL - given);
    drop(&f, take(&f, POOL));
    fixture_close(&f);
}
END_TEST

/* Blocks so large that every one begins and ends on a grain of any memory. */
START_TEST(test_trim_leaves_live_blocks)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    uint64_t given = 0;
    open_kind(&f, _i);
    take_row(&f, row, COUNT, EACH);
    drop_some(&f, row, 0x9a);
    step_ok(&f, cuarena_trim(f.arena, 0, &given));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).held_bytes, POOL - given);
    if (has(&f, KIND_GIVES_BACK))
        expect_u64(given, 4 * EACH);
    expect_recount(&f);
    row[1] = take_block(&f, EACH);
    paint(&f, address_of(&f, row[1]), EACH, 1);
    drop_row(&f, row, COUNT, EACH);
    drop(&f, take(&f, POOL));
    fixture_close(&f);
}
END_TEST

START_TEST(test_reset_ends_everything)
{
    fixture_t f;
    void *held = NULL;
    fixture_open(&f, &KINDS[_i], POOL);
    void *pointer = take(&f, EACH);
    cuarena_block_t block = take_block(&f, EACH);
    step_ok(&f, cuarena_block_pin(f.arena, block, &held));
    step(&f, cuarena_reset(f.arena), CUARENA_BUSY);
    step_ok(&f, cuarena_block_unpin(f.arena, block));
    step_ok(&f, cuarena_reset(f.arena));
    step(&f, cuarena_free(f.arena, pointer), CUARENA_STALE);
    step(&f, cuarena_block_free(f.arena, block), CUARENA_STALE);
    expect_recount(&f);
    drop(&f, take(&f, POOL));
    fixture_close(&f);
}
END_TEST

START_TEST(test_resize_pool_is_all_or_nothing)
{
    fixture_t f;
    void *row[COUNT];
    open_kind(&f, _i);
    take_pointer_row(&f, row, COUNT, EACH);
    cuarena_status_t status = cuarena_resize_pool(f.arena, 2 * POOL);
    expect_sound(&f);
    uint64_t capacity = stats_of(&f, CUARENA_REGION_ALL).capacity_bytes;
    if (has(&f, KIND_RESIZES))
        expect_status(status, CUARENA_OK);
    expect_u64(capacity, status == CUARENA_OK ? 2 * POOL : POOL);
    if (f.kind->memory == CUARENA_MEMORY_BYTES)
        expect_status(status, CUARENA_UNSUPPORTED);
    cuarena_status_t smaller = cuarena_resize_pool(f.arena, POOL / 2);
    ck_assert_int_ne(smaller, CUARENA_OK);
    expect_sound(&f);
    drop_pointer_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

/* ---- Compaction
 * ------------------------------------------------------------------- */

START_TEST(test_compact_keeps_contents)
{
    fixture_t f;
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    open_kind(&f, _i);
    take_row(&f, row, COUNT, EACH);
    drop_some(&f, row, 0x55);
    step_ok(&f, cuarena_compact(f.arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 4);
    expect_u64(inspection_of(&f, CUARENA_REGION_DYNAMIC).largest_bytes,
               POOL / 2);
    expect_recount(&f);
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

START_TEST(test_compact_to_a_goal)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    open_kind(&f, _i);
    take_row(&f, row, COUNT, EACH);
    drop_some(&f, row, 0x55);
    cuarena_compact_options_init(&options);
    options.goal_bytes = 5 * EACH;
    step(&f, cuarena_compact(f.arena, &options, NULL, NULL, NULL),
         CUARENA_FRAGMENTED);
    options.goal_bytes = 2 * EACH;
    step_ok(&f, cuarena_compact(f.arena, &options, NULL, NULL, NULL));
    drop(&f, take(&f, 2 * EACH));
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

static int32_t try_what_is_refused(void *user, const cuarena_relocation_t *list,
                                   size_t count)
{
    fixture_t *f = user;
    uint64_t given = 0;
    cuarena_t *arena = f->arena;
    (void)count;
    expect_status(cuarena_compact(arena, NULL, NULL, NULL, NULL),
                  CUARENA_REENTERED);
    expect_status(cuarena_reset(arena), CUARENA_REENTERED);
    expect_status(cuarena_resize_pool(arena, POOL), CUARENA_REENTERED);
    expect_status(cuarena_trim(arena, 0, &given), CUARENA_REENTERED);
    expect_status(cuarena_destroy(&arena), CUARENA_REENTERED);
    drop(f, take(f, EACH));
    drop_block(f, list[0].block);
    return 0;
}

START_TEST(test_callback_rules)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    open_kind(&f, _i);
    take_row(&f, row, COUNT, EACH);
    drop_some(&f, row, 0xf7);
    cuarena_status_t status =
        cuarena_compact(f.arena, NULL, try_what_is_refused, &f, NULL);
    step_ok(&f, status);
    row[3] = 0;
    expect_u64(live_blocks(&f), 0);
    fixture_close(&f);
}
END_TEST

/* ---- Knowing
 * ------------------------------------------------------------------------ */

START_TEST(test_tags_count_their_blocks)
{
    fixture_t f;
    void *pointer = NULL;
    cuarena_request_t request;
    const char *name = NULL;
    fixture_open(&f, &KINDS[_i], POOL);
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(f.arena, "kv-cache", &request.tag));
    step_ok(&f, cuarena_alloc_with(f.arena, 1000, &request, &pointer));
    drop(&f, take(&f, EACH));
    expect_u64(tag_stats_of(&f, request.tag).live_bytes, 1024);
    expect_u64(tag_stats_of(&f, request.tag).requested_bytes, 1000);
    expect_ok(cuarena_tag_name(f.arena, request.tag, &name));
    expect_text(name, "kv-cache");
    drop(&f, pointer);
    expect_u64(tag_stats_of(&f, request.tag).peak_live_blocks, 1);
    fixture_close(&f);
}
END_TEST

START_TEST(test_peaks_and_their_reset)
{
    fixture_t f;
    open_kind(&f, _i);
    drop(&f, take(&f, 3 * EACH));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).peak_live_bytes, 3 * EACH);
    step_ok(&f, cuarena_reset_peaks(f.arena));
    drop(&f, take(&f, 300));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).peak_live_bytes, 512);
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).peak_requested_bytes, 300);
    fixture_close(&f);
}
END_TEST

typedef struct counts {
    uint64_t of[CUARENA_EVENT_RESET + 1];
    uint64_t bytes[CUARENA_EVENT_RESET + 1];
} counts_t;

static void count_event(void *user, const cuarena_event_t *event)
{
    counts_t *counts = user;
    ck_assert(event->kind > 0 && event->kind <= CUARENA_EVENT_RESET);
    counts->of[event->kind]++;
    counts->bytes[event->kind] += event->bytes;
}

START_TEST(test_events_agree_with_the_statistics)
{
    fixture_t f;
    counts_t counts = {{0}, {0}};
    void *pointer = NULL;
    fixture_open(&f, &KINDS[_i], POOL);
    expect_ok(cuarena_set_event_listener(f.arena, count_event, &counts));
    pointer = take(&f, 300);
    step_ok(&f, cuarena_resize(f.arena, pointer, 5000, &pointer));
    drop(&f, take(&f, 700));
    drop(&f, pointer);
    expect_status(cuarena_alloc(f.arena, 2 * POOL, &pointer), exhausted(&f));
    cuarena_stats_t stats = stats_of(&f, CUARENA_REGION_ALL);
    expect_u64(counts.of[CUARENA_EVENT_ALLOC], stats.allocs);
    expect_u64(counts.of[CUARENA_EVENT_FREE], stats.frees);
    expect_u64(counts.of[CUARENA_EVENT_RESIZE], 1);
    expect_u64(counts.of[CUARENA_EVENT_FAIL], stats.failed);
    if (has(&f, KIND_GROWS))
        expect_u64(counts.bytes[CUARENA_EVENT_GROW] -
                       counts.bytes[CUARENA_EVENT_TRIM],
                   stats.held_bytes);
    fixture_close(&f);
}
END_TEST

START_TEST(test_destroy_tells_the_leaks)
{
    fixture_t f;
    cuarena_request_t request;
    void *pointer = NULL;
    fixture_open(&f, &KINDS[_i], POOL);
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(f.arena, "leaky", &request.tag));
    step_ok(&f, cuarena_alloc_with(f.arena, 1000, &request, &pointer));
    step(&f, cuarena_destroy(&f.arena), CUARENA_BUSY);
    ck_assert_ptr_nonnull(strstr(last_error().message, "leaky"));
    expect_u64(live_blocks(&f), 1);
    fixture_close_forced(&f);
}
END_TEST

static const int32_t zero_modes[] = {CUARENA_ZERO_NEVER, CUARENA_ZERO_CREATE,
                                     CUARENA_ZERO_ALLOC, CUARENA_ZERO_FREE};

START_TEST(test_zero_modes)
{
    fixture_t f;
    int32_t mode = zero_modes[_i % 4];
    fixture_prepare(&f, &KINDS[_i / 4], POOL);
    f.config.zero = mode;
    if (!has(&f, KIND_READABLE) && mode != CUARENA_ZERO_NEVER) {
        expect_status(cuarena_create(&f.config, &f.arena), CUARENA_UNSUPPORTED);
        return;
    }
    if (f.bytes != NULL)
        fill_with(&f, f.bytes, f.bytes_size, 0xa5);
    fixture_create(&f);
    void *pointer = take(&f, POOL);
    if (mode == CUARENA_ZERO_CREATE || mode == CUARENA_ZERO_ALLOC)
        expect_zero(&f, pointer, POOL);
    paint(&f, pointer, POOL, 8);
    drop(&f, pointer);
    pointer = take(&f, POOL);
    if (mode == CUARENA_ZERO_ALLOC || mode == CUARENA_ZERO_FREE)
        expect_zero(&f, pointer, POOL);
    drop(&f, pointer);
    fixture_close(&f);
}
END_TEST

/* ---- Options as text
 * -------------------------------------------------------------- */

static const char *const preset_names[] = {"pool", "grow", "bfc"};
static const char *const memory_names[] = {"pageable", "none"};

START_TEST(test_options_as_text)
{
    fixture_t f;
    char text[128];
    int32_t memory = KINDS[_i].memory;
    if (memory > CUARENA_MEMORY_NONE)
        return;
    fixture_prepare(&f, &KINDS[_i], POOL);
    cuarena_config_init(&f.config);
    snprintf(text, sizeof text,
             "preset=%s,memory=%s,pool=512KiB,limit=1M,alignment=512,name=x%s",
             preset_names[KINDS[_i].preset],
             memory_names[memory - CUARENA_MEMORY_PAGEABLE],
             (KINDS[_i].traits & KIND_EXACT) != 0 ? ",grow=exact" : "");
    expect_ok(cuarena_config_parse(&f.config, text));
    ck_assert_int_eq(f.config.preset, KINDS[_i].preset);
    ck_assert_int_eq(f.config.memory, memory);
    expect_u64(f.config.alignment, 512);
    fixture_create(&f);
    cuarena_block_t block = take_block(&f, 1);
    expect_u64(info_of(&f, block).allocated, 512);
    drop_block(&f, block);
    fixture_close(&f);
}
END_TEST

/* ONNX Runtime's figures, and the requested and allocated size of a pointer. */
START_TEST(test_figures_of_onnx_runtime)
{
    fixture_t f;
    cuarena_ort_stats_t now;
    cuarena_ort_stats_init(&now);
    fixture_open(&f, &KINDS[_i], POOL);
    void *pointer = take(&f, 1000);
    uint64_t requested = 0, allocated = 0;
    expect_ok(cuarena_size_of(f.arena, pointer, &requested, &allocated));
    expect_u64(requested, 1000);
    expect_u64(allocated, 1024);
    expect_ok(cuarena_ort_stats(f.arena, &now));
    expect_u64((uint64_t)now.num_allocs, 1);
    expect_u64((uint64_t)now.bytes_in_use, allocated);
    expect_u64((uint64_t)now.bytes_requested_in_use, requested);
    expect_u64((uint64_t)now.max_alloc_size, allocated);
    expect_u64((uint64_t)now.max_bytes_in_use, allocated);
    expect_u64((uint64_t)now.num_arena_extensions, 1);
    expect_u64((uint64_t)now.total_allocated_bytes,
               stats_of(&f, CUARENA_REGION_ALL).held_bytes);
    ck_assert_int_ge(now.bytes_limit, now.total_allocated_bytes);
    drop(&f, pointer);
    fixture_close(&f);
}
END_TEST

/* ---- The list
 * ------------------------------------------------------------------------- */

static void add_behaviours(Suite *suite, const char *name,
                           const TTest *const *tests)
{
    TCase *tcase = new_case(suite, name);
    for (; *tests != NULL; tests++)
        tcase_add_loop_test(tcase, *tests, 0, KIND_ROWS);
}

int main(void)
{
    Suite *suite = suite_create("conformance");
    add_behaviours(suite, "serving",
                   TEST_LIST(test_addresses_are_aligned_and_apart,
                             test_zero_bytes, test_freed_bytes_are_reused,
                             test_neighbours_coalesce_in_any_order));
    add_behaviours(
        suite, "refusals",
        TEST_LIST(test_exhaustion, test_fragmented_is_told_from_exhausted,
                  test_limit_of_live_bytes, test_wrong_pointers_are_stale,
                  test_wrong_ids_are_stale));
    add_behaviours(suite, "resize",
                   TEST_LIST(test_resize_keeps_contents,
                             test_resize_of_a_block_keeps_its_id,
                             test_resize_that_fails_changes_nothing));
    add_behaviours(suite, "regions",
                   TEST_LIST(test_stable_region_is_apart,
                             test_stable_blocks_do_not_move,
                             test_stable_without_a_region_is_pinned_in_front,
                             test_dedicated_block, test_adopted_block));
    add_behaviours(suite, "bytes held",
                   TEST_LIST(test_trim_and_take_again,
                             test_trim_leaves_live_blocks,
                             test_reset_ends_everything,
                             test_resize_pool_is_all_or_nothing));
    add_behaviours(suite, "compaction",
                   TEST_LIST(test_compact_keeps_contents,
                             test_compact_to_a_goal, test_callback_rules));
    add_behaviours(suite, "knowing",
                   TEST_LIST(test_tags_count_their_blocks,
                             test_peaks_and_their_reset,
                             test_events_agree_with_the_statistics,
                             test_destroy_tells_the_leaks, test_options_as_text,
                             test_figures_of_onnx_runtime));
    tcase_add_loop_test(new_case(suite, "zero modes"), test_zero_modes, 0,
                        4 * KIND_ROWS);
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    return suite_main(suite);
#endif
}
