/*
 * One list of behaviours that every arena has, whatever its preset, its memory and the streams that
 * its calls go to: each test runs once per row of support/conformance_rows.h. A kind that comes
 * later needs a row there and no more. With CUARENA_TEST_CUDA it is another program, with other
 * rows.
 */
#include "support/conformance_rows.h"

#include <stdio.h>
#include <string.h>

#define COUNT ROW_BLOCKS
#define EACH (row_block_bytes(f->kind))
#define POOL (COUNT * EACH)

/* ---- Serving ------------------------------------------------------------- */

START_TEST(addresses_are_aligned_and_apart)
{
    char *pointers[40];
    fixture_t *f = opened_row(_i);
    for (uint64_t i = 0; i < COUNT_OF(pointers); i++) {
        uint64_t bytes = 1 + i * 97;
        pointers[i] = alloc_ok(f, bytes);
        expect_u64((uintptr_t)pointers[i] % least_alignment(f, bytes), 0);
        paint(f, pointers[i], 1 + i * 97, i);
    }
    expect_recount(f);
    for (uint64_t i = 0; i < COUNT_OF(pointers); i++) {
        expect_painted(f, pointers[i], 1 + i * 97, i);
        free_ok(f, pointers[i]);
    }
}
END_TEST

START_TEST(zero_bytes)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened_row(_i);
    step_ok(f, try_take(f, 0, NULL, &pointer));
    ck_assert_ptr_null(pointer);
    expect_u64(stats_of(f).allocs, 0);
    cuarena_block_t block = alloc_block(f, 0);
    step_ok(f, try_pin_block(f, block, &pointer));
    ck_assert_ptr_null(pointer);
    expect_recount(f);
    expect_u64(live_bytes(f), 0);
    free_block(f, block);
    uint64_t frees = stats_of(f).frees;
    free_ok(f, NULL);
    free_block(f, 0);
    expect_u64(stats_of(f).frees, frees);
}
END_TEST

START_TEST(freed_bytes_are_reused)
{
    fixture_t *f = opened_used(_i);
    uint64_t held = stats_of(f).reserved_bytes;
    for (uint64_t i = 0; i < 20; i++) {
        void *pointer = alloc_ok(f, POOL - i * 256);
        hold_stream(f, pointer);
        free_ok(f, pointer);
    }
    expect_u64(stats_of(f).reserved_bytes, held);
    expect_waits(f);
}
END_TEST

/* Each order in which two neighbours and the one between them can go. */
static const unsigned char orders[6][3] = {{2, 3, 4}, {2, 4, 3}, {3, 2, 4},
                                           {3, 4, 2}, {4, 2, 3}, {4, 3, 2}};

START_TEST(neighbours_coalesce_in_any_order)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = opened_full(_i);
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        alloc_row(f, row, COUNT, EACH);
        for (size_t i = 0; i < 3; i++)
            free_block(f, row[orders[order][i]]);
        row[2] = row[3] = row[4] = 0;
        expect_three_free(f, EACH);
        cuarena_block_t block = alloc_block(f, 3 * EACH);
        expect_u64(cached_blocks(f), 0); /* they ended for it */
        free_block(f, block);
        free_row(f, row, COUNT, EACH);
        reclaim(f);
        expect_u64(inspection_of(f, CUARENA_REGION_DYNAMIC).ranges,
                   has(f, KIND_CACHES | KIND_EACH) ? 0 : 1);
    }
}
END_TEST

/* ---- Refusals ------------------------------------------------------------ */

START_TEST(exhaustion)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened_row(_i);
    step(f, try_take(f, POOL + 1, NULL, &pointer), exhausted(f));
    void *all = alloc_ok(f, POOL);
    step(f, try_take(f, 1, NULL, &pointer), exhausted(f));
    expect_ptr(pointer, UNTOUCHED);
    expect_u64(last_error().asked_bytes, 1);
    expect_u64(last_error().reserved_bytes, POOL);
    expect_u64(last_error().free_bytes, 0);
    ck_assert_int_eq(last_error().status, exhausted(f));
    expect_u64(stats_of(f).failed, 2);
    free_ok(f, all);
}
END_TEST

/* Where holes can go back to the memory, growth elsewhere takes their place. */
START_TEST(fragmented_is_told_from_exhausted)
{
    cuarena_block_t row[COUNT], block = 77;
    fixture_t *f = opened_full(_i);
    alloc_row(f, row, COUNT, EACH);
    free_some(f, row, 0x55);
    if (serves_apart(f)) {
        free_block(f, alloc_block(f, POOL / 2));
        free_row(f, row, COUNT, EACH);
        close_row(f);
        return;
    }
    step(f, try_take_block(f, EACH + 1, &block), CUARENA_FRAGMENTED);
    expect_u64(last_error().free_bytes, POOL / 2);
    expect_u64(last_error().largest_bytes, EACH);
    step(f, try_take_block(f, POOL / 2, &block), CUARENA_FRAGMENTED);
    step(f, try_take_block(f, POOL / 2 + 1, &block), exhausted(f));
    expect_u64(block, 77);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(limit_of_live_bytes)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened_row(_i);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, amount_of_bytes(2 * EACH), NULL));
    void *first = alloc_ok(f, EACH);
    step(f, try_take(f, EACH + 1, NULL, &pointer), CUARENA_LIMIT);
    expect_ptr(pointer, UNTOUCHED);
    free_ok(f, alloc_ok(f, EACH));
    free_ok(f, first);
}
END_TEST

START_TEST(wrong_pointers_are_stale)
{
    fixture_t *f = opened_row(_i);
    char *pointer = alloc_ok(f, KIB(4));
    step(f, try_drop(f, pointer + 1), CUARENA_STALE);
    step(f, try_drop(f, pointer + 256), CUARENA_STALE);
    step(f, try_drop(f, f), CUARENA_STALE);
    step(f, try_drop(f, (void *)UINTPTR_MAX), CUARENA_STALE);
    step(f, cuarena_unpin(f->arena, pointer + 256), CUARENA_STALE);
    free_ok(f, pointer);
    step(f, try_drop(f, pointer), CUARENA_STALE);
    step(f, try_resize(f, pointer, 1, (void **)&pointer), CUARENA_STALE);
}
END_TEST

START_TEST(wrong_ids_are_stale)
{
    fixture_t f, other;
    open_row(&f, _i);
    open_row(&other, _i);
    cuarena_block_t gone = alloc_block(&f, 256);
    free_block(&f, gone);
    cuarena_block_t again = alloc_block(&f, 256);
    cuarena_block_t foreign = alloc_block(&other, 256);
    step(&f, try_drop_block(&f, gone), CUARENA_STALE);
    step(&f, try_drop_block(&f, foreign), CUARENA_STALE);
    step(&f, try_drop_block(&f, UINT64_MAX), CUARENA_STALE);
    expect_u64(live_blocks(&f), 1);
    free_block(&f, again);
    free_block(&other, foreign);
    close_row(&f);
    close_row(&other);
}
END_TEST

/* ---- Resizing blocks ----------------------------------------------------- */

START_TEST(resize_keeps_contents)
{
    void *now = NULL;
    fixture_t *f = opened_row(_i);
    void *pointer = alloc_ok(f, EACH);
    void *fence = alloc_ok(f, 256);
    paint(f, pointer, EACH, 1);
    if (is_offered(f, try_resize(f, pointer, 3 * EACH, &now))) {
        expect_painted(f, now, EACH, 1);
        step_ok(f, try_resize(f, now, EACH / 2, &now));
    } else {
        now = pointer;
    }
    expect_painted(f, now, EACH / 2, 1);
    expect_recount(f);
    free_ok(f, fence);
    free_ok(f, now);
}
END_TEST

START_TEST(resize_of_a_block_keeps_its_id)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = opened_full(_i);
    alloc_row(f, row, COUNT, EACH);
    free_some(f, row, 0xf0);
    bool ok = is_offered(f, try_resize_block(f, row[1], EACH + 1));
    expect_u64(info_of(f, row[1]).requested, EACH + ok);
    expect_recount(f);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(resize_that_fails_changes_nothing)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = opened_full(_i);
    alloc_row(f, row, COUNT, EACH);
    void *before = address_of(f, row[3]);
    step(f, try_resize_block(f, row[3], POOL + 1),
         has(f, KIND_EACH) ? CUARENA_UNSUPPORTED : exhausted(f));
    expect_ptr(address_of(f, row[3]), before);
    expect_u64(info_of(f, row[3]).requested, EACH);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* ---- The stable region --------------------------------------------------- */

START_TEST(stable_region_is_apart)
{
    void *pointer = UNTOUCHED;
    cuarena_request_t request;
    fixture_t *f = new_row();
    if (!open_with_stable(f, _i, 4))
        return;
    cuarena_request_init(&request);
    request.region = CUARENA_REGION_STABLE;
    void *stable = alloc_in(f, 4 * EACH, CUARENA_REGION_STABLE);
    step(f, try_take(f, 1, &request, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_ptr(pointer, UNTOUCHED);
    void *dynamic = alloc_ok(f, POOL - 4 * EACH);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), 4 * EACH);
    expect_u64(live_in(f, CUARENA_REGION_DYNAMIC), POOL - 4 * EACH);
    expect_recount(f);
    free_ok(f, stable);
    step(f, try_take(f, 1, NULL, &pointer), exhausted(f));
    free_ok(f, dynamic);
}
END_TEST

START_TEST(stable_blocks_do_not_move)
{
    heard_t heard = {.count = 0};
    void *low, *high, *now = UNTOUCHED;
    fixture_t *f = new_row();
    if (!open_with_stable(f, _i, 4))
        return;
    low = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    high = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    paint(f, high, EACH, 2);
    free_ok(f, low);
    step(f, cuarena_unpin(f->arena, high), CUARENA_BAD_ARGUMENT);
    step_ok(f, try_compact(f, NULL, hear_relocations, &heard));
    expect_u64(heard.count, 0);
    cuarena_status_t status = try_resize(f, high, 4 * EACH + 1, &now);
    ck_assert_int_ne(status, CUARENA_OK);
    expect_painted(f, high, EACH, 2);
    free_ok(f, high);
}
END_TEST

START_TEST(stable_without_a_region_is_pinned_in_front)
{
    cuarena_block_t block = 0;
    void *base = NULL;
    uint64_t bytes = 0;
    fixture_t *f = opened_full(_i);
    void *pointer = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    expect_ok(cuarena_base(f->arena, &base, &bytes));
    expect_ptr(has(f, KIND_EACH) ? NULL : pointer, base); /* no front */
    expect_ok(cuarena_block_of(f->arena, pointer, &block));
    ck_assert_uint_ge(info_of(f, block).pins, 1);
    step(f, cuarena_unpin(f->arena, pointer), CUARENA_BAD_ARGUMENT);
    free_ok(f, pointer);
}
END_TEST

/* ---- Dedicated and adopted ----------------------------------------------- */

START_TEST(dedicated_block)
{
    void *pointer = NULL;
    cuarena_request_t request;
    fixture_t *f = prepared_row(_i);
    if (has(f, KIND_GROWS) && has(f, KIND_DEDICATES))
        f->config.limit = amount_of_bytes(2 * POOL);
    fixture_create(f);
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_status_t status = try_take(f, 4 * EACH, &request, &pointer);
    expect_sound(f);
    if (has(f, KIND_DEDICATES))
        expect_status(status, CUARENA_OK);
    if (status == CUARENA_OK) {
        paint(f, pointer, 4 * EACH, 1);
        expect_u64(stats_of(f).dedicated_bytes, 4 * EACH);
        expect_recount(f);
        expect_painted(f, pointer, 4 * EACH, 1);
        free_ok(f, pointer);
    }
    reclaim(f); /* its bytes went nowhere before the stream was done */
    expect_u64(stats_of(f).dedicated_bytes, 0);
}
END_TEST

static _Alignas(4096) char foreign[KIB(16)];

START_TEST(adopted_block)
{
    cuarena_block_t block = 0, other = 77;
    fixture_t *f = opened_row(_i);
    step_ok(f, cuarena_adopt(f->arena, foreign, sizeof foreign, 0, &block));
    step(f, cuarena_adopt(f->arena, foreign, 256, 0, &other), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_adopt(f->arena, foreign + 8, 256, 0, &other), CUARENA_BAD_ARGUMENT);
    expect_u64(live_bytes(f), sizeof foreign);
    expect_recount(f);
    free_block(f, block);
}
END_TEST

/* ---- Trim, reset, resize_pool -------------------------------------------- */

START_TEST(trim_and_take_again)
{
    uint64_t given = 77;
    fixture_t *f = opened_used(_i);
    step_ok(f, try_trim_all(f, &given));
    if (!has(f, KIND_EACH)) /* then it is the pool's bytes, not the arena's */
        expect_u64(given, has(f, KIND_GIVES_BACK | KIND_GIVES_WHOLE) ? POOL : 0);
    expect_u64(reserved_bytes(f), has(f, KIND_EACH) ? 0 : POOL - given);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

/* Blocks so large that every one begins and ends on a granularity of any memory. */
START_TEST(trim_leaves_live_blocks)
{
    cuarena_block_t row[COUNT];
    uint64_t given = 0;
    fixture_t *f = opened_full(_i);
    alloc_row(f, row, COUNT, EACH);
    free_some(f, row, 0x9a);
    step_ok(f, try_trim_all(f, &given));
    expect_u64(reserved_bytes(f), has(f, KIND_EACH) ? 4 * EACH : POOL - given);
    if (has(f, KIND_GIVES_BACK))
        expect_u64(given, 4 * EACH);
    expect_recount(f);
    row[1] = alloc_block(f, EACH);
    paint(f, address_of(f, row[1]), EACH, 1);
    free_row(f, row, COUNT, EACH);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

START_TEST(reset_ends_everything)
{
    void *held = NULL;
    fixture_t *f = opened_row(_i);
    void *pointer = alloc_ok(f, EACH);
    cuarena_block_t block = alloc_block(f, EACH);
    step_ok(f, try_pin_block(f, block, &held));
    step(f, cuarena_reset(f->arena), CUARENA_BUSY);
    step_ok(f, try_unpin_block(f, block));
    if (has(f, KIND_EACH)) /* of the driver even an allocation is work */
        finish_work(f);
    step_ok(f, cuarena_reset(f->arena));
    step(f, try_drop(f, pointer), CUARENA_STALE);
    step(f, try_drop_block(f, block), CUARENA_STALE);
    expect_recount(f);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

START_TEST(resize_pool_is_all_or_nothing)
{
    void *row[COUNT];
    fixture_t *f = opened_full(_i);
    alloc_pointer_row(f, row, COUNT, EACH);
    cuarena_status_t status = cuarena_resize_pool(f->arena, 2 * POOL);
    expect_sound(f);
    uint64_t capacity = stats_of(f).capacity_bytes;
    /* A pool that lies elsewhere afterwards cannot have pointers into it. */
    bool never = f->kind->memory == CUARENA_MEMORY_BYTES || has(f, KIND_GROWS);
    cuarena_status_t want = never ? CUARENA_UNSUPPORTED : CUARENA_BUSY;
    expect_status(status, has(f, KIND_RESIZES) ? CUARENA_OK : want);
    expect_u64(capacity, status == CUARENA_OK ? 2 * POOL : POOL);
    cuarena_status_t smaller = cuarena_resize_pool(f->arena, POOL / 2);
    ck_assert_int_ne(smaller, CUARENA_OK);
    expect_sound(f);
    free_pointer_row(f, row, COUNT, EACH);
}
END_TEST

/* ---- Compaction ---------------------------------------------------------- */

/* Whether blocks of a row share a segment: no block leaves its own. */
static bool shares_segments(const fixture_t *f)
{
    return !(has(f, KIND_CACHES) && has(f, KIND_GIVES_WHOLE));
}

START_TEST(compact_keeps_contents)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = opened_full(_i);
    alloc_row(f, row, COUNT, EACH);
    free_some(f, row, 0x55);
    if (is_offered(f, try_compact(f, NULL, hear_relocations, &heard))) {
        bool moves = shares_segments(f);
        expect_u64(heard.count, moves ? 4 : 0);
        expect_u64(cached_blocks(f), 0);
        expect_u64(inspection_of(f, CUARENA_REGION_DYNAMIC).largest_bytes, moves ? POOL / 2 : EACH);
    }
    expect_recount(f);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(compact_to_a_goal)
{
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    fixture_t *f = opened_full(_i);
    alloc_row(f, row, COUNT, EACH);
    free_some(f, row, 0x55);
    cuarena_compact_options_init(&options);
    options.goal_bytes = 5 * EACH;
    step(f, try_compact(f, &options, NULL, NULL),
         has(f, KIND_EACH) ? CUARENA_UNSUPPORTED : CUARENA_FRAGMENTED);
    options.goal_bytes = 2 * EACH;
    if (has(f, KIND_CACHES)) { /* a goal is reached around them */
        step(f, try_compact(f, &options, NULL, NULL), CUARENA_FRAGMENTED);
        expect_u64(cached_blocks(f), 4);
        step_ok(f, try_compact(f, NULL, NULL, NULL));
        expect_u64(cached_blocks(f), 0);
    } else {
        (void)is_offered(f, try_compact(f, &options, NULL, NULL));
    }
    free_ok(f, alloc_ok(f, 2 * EACH));
    free_row(f, row, COUNT, EACH);
}
END_TEST

static int32_t try_what_is_refused(void *user, const cuarena_relocation_t *list, size_t count)
{
    fixture_t *f = user;
    uint64_t given = 0;
    cuarena_t *arena = f->arena;
    const uint64_t each = row_block_bytes(f->kind);
    (void)count;
    expect_status(cuarena_compact(arena, NULL, NULL, NULL, NULL), CUARENA_REENTERED);
    expect_status(cuarena_reset(arena), CUARENA_REENTERED);
    expect_status(cuarena_resize_pool(arena, each), CUARENA_REENTERED);
    expect_status(cuarena_trim(arena, 0, &given), CUARENA_REENTERED);
    expect_status(cuarena_destroy(&arena), CUARENA_REENTERED);
    free_ok(f, alloc_ok(f, each));
    free_block(f, list[0].block);
    return 0;
}

START_TEST(callback_rules)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = opened_full(_i);
    alloc_row(f, row, COUNT, EACH);
    free_some(f, row, 0xf7);
    if (is_offered(f, try_compact(f, NULL, try_what_is_refused, f)))
        row[3] = shares_segments(f) ? 0 : row[3]; /* else it stays */
    free_row(f, row, COUNT, EACH);
    expect_u64(live_blocks(f), 0);
}
END_TEST

/* ---- Knowing ------------------------------------------------------------- */

START_TEST(tags_count_their_blocks)
{
    void *pointer = NULL;
    cuarena_request_t request;
    const char *name = NULL;
    fixture_t *f = opened_row(_i);
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(f->arena, "kv-cache", &request.tag));
    step_ok(f, try_take(f, 1000, &request, &pointer));
    free_ok(f, alloc_ok(f, EACH));
    expect_u64(tag_stats_of(f, request.tag).live_bytes, rounded(f, 1000));
    expect_u64(tag_stats_of(f, request.tag).requested_bytes, 1000);
    expect_ok(cuarena_tag_name(f->arena, request.tag, &name));
    expect_text(name, "kv-cache");
    free_ok(f, pointer);
    expect_u64(tag_stats_of(f, request.tag).peak_live_blocks, 1);
}
END_TEST

START_TEST(peaks_and_their_reset)
{
    fixture_t *f = opened_full(_i);
    free_ok(f, alloc_ok(f, 3 * EACH - 1));
    expect_u64(stats_of(f).peak_live_bytes, 3 * EACH);
    expect_u64(stats_of(f).peak_requested_bytes, 3 * EACH - 1);
    step_ok(f, cuarena_reset_peaks(f->arena));
    expect_u64(stats_of(f).peak_live_bytes, 0);
    free_ok(f, alloc_ok(f, 300));
    expect_u64(stats_of(f).peak_live_bytes, rounded(f, 300));
    expect_u64(stats_of(f).peak_requested_bytes, 300);
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

START_TEST(events_agree_with_the_statistics)
{
    counts_t counts = {{0}, {0}};
    void *pointer = NULL;
    fixture_t *f = opened_row(_i);
    expect_ok(cuarena_set_event_listener(f->arena, count_event, &counts));
    pointer = alloc_ok(f, 300);
    bool resized = is_offered(f, try_resize(f, pointer, 5000, &pointer));
    free_ok(f, alloc_ok(f, 700));
    free_ok(f, pointer);
    expect_status(try_take(f, 2 * POOL, NULL, &pointer), exhausted(f));
    cuarena_stats_t stats = stats_of(f);
    expect_u64(counts.of[CUARENA_EVENT_ALLOC], stats.allocs);
    expect_u64(counts.of[CUARENA_EVENT_FREE], stats.frees);
    expect_u64(counts.of[CUARENA_EVENT_RESIZE], resized);
    expect_u64(counts.of[CUARENA_EVENT_FAIL], stats.failed);
    if (has(f, KIND_GROWS))
        expect_u64(counts.bytes[CUARENA_EVENT_GROW] - counts.bytes[CUARENA_EVENT_TRIM],
                   stats.reserved_bytes);
}
END_TEST

START_TEST(destroy_tells_the_leaks)
{
    cuarena_request_t request;
    void *pointer = NULL;
    fixture_t *f = opened_row(_i);
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(f->arena, "leaky", &request.tag));
    step_ok(f, try_take(f, 1000, &request, &pointer));
    step(f, cuarena_destroy(&f->arena), CUARENA_BUSY);
    ck_assert_ptr_nonnull(strstr(last_error().message, "leaky"));
    expect_u64(live_blocks(f), 1);
    close_row_forced(f);
}
END_TEST

static const int32_t zero_modes[] = {CUARENA_ZERO_NEVER, CUARENA_ZERO_CREATE, CUARENA_ZERO_ALLOC,
                                     CUARENA_ZERO_FREE};

START_TEST(each_zero_mode)
{
    int32_t mode = zero_modes[_i % 4];
    fixture_t *f = prepared_row(_i / 4);
    f->config.zero = mode;
    if (!has(f, KIND_READABLE) && mode != CUARENA_ZERO_NEVER) {
        expect_status(cuarena_create(&f->config, &f->arena), CUARENA_UNSUPPORTED);
        return;
    }
    if (f->bytes != NULL)
        fill_with(f, f->bytes, f->bytes_size, 0xa5);
    fixture_create(f);
    void *pointer = alloc_ok(f, POOL);
    if (mode == CUARENA_ZERO_CREATE || mode == CUARENA_ZERO_ALLOC)
        expect_zero(f, pointer, POOL);
    paint(f, pointer, POOL, 8);
    free_ok(f, pointer);
    bool gone = mode == CUARENA_ZERO_FREE && gives_at_once(f);
    if (gone) /* no bytes are there that would be 0 */
        expect_u64(reserved_bytes(f), 0);
    pointer = alloc_ok(f, POOL);
    if (mode == CUARENA_ZERO_ALLOC || (mode == CUARENA_ZERO_FREE && !gone))
        expect_zero(f, pointer, POOL);
    free_ok(f, pointer);
}
END_TEST

/* ---- Options as text ----------------------------------------------------- */

static const char *const preset_names[] = {
    [CUARENA_PRESET_POOL] = "pool",         [CUARENA_PRESET_GROW] = "grow",
    [CUARENA_PRESET_BFC] = "bfc",           [CUARENA_PRESET_MLX_CPU] = "mlx-cpu",
    [CUARENA_PRESET_MLX_CUDA] = "mlx-cuda", [CUARENA_PRESET_CUPY_POOL] = "cupy-pool"};
static const char *const memory_names[] = {"pageable", "none"};

START_TEST(options_as_text)
{
    char text[160];
    int32_t memory = row_kind(_i)->memory;
    if (memory > CUARENA_MEMORY_NONE)
        return;
    fixture_t *f = prepared_row(_i);
    cuarena_config_init(&f->config);
    snprintf(text, sizeof text,
             "preset=%s,memory=%s,pool=512KiB,limit=1M,alignment=512,name=x%s,"
             "unknown_keys=warn",
             preset_names[f->kind->preset], memory_names[memory - CUARENA_MEMORY_PAGEABLE],
             (f->kind->traits & KIND_EXACT) != 0 ? ",grow=exact" : "");
    expect_ok(cuarena_config_parse(&f->config, text));
    ck_assert_int_eq(f->config.preset, f->kind->preset);
    ck_assert_int_eq(f->config.memory, memory);
    expect_u64(f->config.alignment, 512);
    fixture_create(f);
    cuarena_block_t block = alloc_block(f, 1);
    expect_u64(info_of(f, block).allocated, 512);
    free_block(f, block);
}
END_TEST

/* ONNX Runtime's figures, and the requested and allocated size of a pointer. */
START_TEST(figures_of_onnx_runtime)
{
    cuarena_ort_stats_t now;
    cuarena_ort_stats_init(&now);
    fixture_t *f = opened_row(_i);
    void *pointer = alloc_ok(f, 1000);
    uint64_t requested = 0, allocated = 0;
    expect_ok(cuarena_size_of(f->arena, pointer, &requested, &allocated));
    expect_u64(requested, 1000);
    expect_u64(allocated, rounded(f, 1000));
    if (has(f, KIND_EACH)) /* as its allocator of such pools counts */
        allocated = requested;
    expect_ok(cuarena_ort_stats(f->arena, &now));
    expect_u64((uint64_t)now.num_allocs, 1);
    expect_u64((uint64_t)now.bytes_in_use, allocated);
    expect_u64((uint64_t)now.bytes_requested_in_use, requested);
    expect_u64((uint64_t)now.max_alloc_size, allocated);
    expect_u64((uint64_t)now.max_bytes_in_use, allocated);
    expect_u64((uint64_t)now.num_arena_extensions, !has(f, KIND_EACH));
    uint64_t held = stats_of(f).reserved_bytes;
    if (has(f, KIND_EACH)) /* the driver's pool may have more */
        ck_assert_int_ge(now.total_allocated_bytes, (int64_t)held);
    else
        expect_u64((uint64_t)now.total_allocated_bytes, held);
    ck_assert(now.bytes_limit == -1 || now.bytes_limit >= (int64_t)held);
    free_ok(f, pointer);
}
END_TEST

/* ---- The list ------------------------------------------------------------ */

/* One case per row. */
static void add_row(Suite *suite, int row)
{
    TCase *tcase = new_case(suite, row_name(row));
    const TTest *const *test =
        TEST_LIST(/* serving */
                  addresses_are_aligned_and_apart, zero_bytes, freed_bytes_are_reused,
                  neighbours_coalesce_in_any_order,
                  /* refusals */
                  exhaustion, fragmented_is_told_from_exhausted, limit_of_live_bytes,
                  wrong_pointers_are_stale, wrong_ids_are_stale,
                  /* resizing */
                  resize_keeps_contents, resize_of_a_block_keeps_its_id,
                  resize_that_fails_changes_nothing,
                  /* regions */
                  stable_region_is_apart, stable_blocks_do_not_move,
                  stable_without_a_region_is_pinned_in_front, dedicated_block, adopted_block,
                  /* bytes held */
                  trim_and_take_again, trim_leaves_live_blocks, reset_ends_everything,
                  resize_pool_is_all_or_nothing,
                  /* compaction */
                  compact_keeps_contents, compact_to_a_goal, callback_rules,
                  /* knowing */
                  tags_count_their_blocks, peaks_and_their_reset, events_agree_with_the_statistics,
                  destroy_tells_the_leaks, options_as_text, figures_of_onnx_runtime);
    for (; *test != NULL; test++)
        tcase_add_loop_test(tcase, *test, row, row + 1);
    tcase_add_loop_test(tcase, each_zero_mode, 4 * row, 4 * row + 4);
}

int main(void)
{
    Suite *suite = suite_create("conformance");
    for (int row = 0; row < ROWS; row++)
        if (row_exists(row))
            add_row(suite, row);
    return rows_main(suite);
}
