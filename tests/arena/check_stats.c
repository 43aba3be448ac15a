/*
 * What an arena tells of itself: statistics by region and tag, peaks, inspection, the validator,
 * the last error and the events.
 */
#include "support/fixture.h"
#include "support/random.h"
#include "support/scale.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

static fixture_t *open_with_stable(fixture_t *f)
{
    fixture_prepare(f, KIND_CUSTOM_POOL, POOL);
    f->config.stable = amount_of_bytes(2 * EACH);
    fixture_create(f);
    return f;
}

/* ---- Statistics -------------------------------------------------------- */

START_TEST(stats_count_as_asked_and_as_taken)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(f, 300);
    cuarena_stats_t stats = region_stats_of(f, CUARENA_REGION_DYNAMIC);
    expect_u64(stats.requested_bytes, 300);
    expect_u64(stats.live_bytes, 512);
    expect_u64(stats.free_bytes, POOL - 512);
    expect_u64(stats.capacity_bytes, POOL);
    expect_u64(stats.live_blocks, 1);
    expect_u64(stats.allocs, 1);
    expect_u64(stats.frees, 0);
    free_ok(f, pointer);
    expect_u64(region_stats_of(f, CUARENA_REGION_DYNAMIC).frees, 1);
}
END_TEST

START_TEST(stats_of_a_region_are_its_own)
{
    fixture_t *f = open_with_stable(new_fixture(fixture_close));
    void *stable = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    void *dynamic = alloc_ok(f, 2 * EACH);
    expect_u64(live_in(f, CUARENA_REGION_STABLE), EACH);
    expect_u64(live_in(f, CUARENA_REGION_DYNAMIC), 2 * EACH);
    expect_u64(live_bytes(f), 3 * EACH);
    expect_u64(region_stats_of(f, CUARENA_REGION_STABLE).capacity_bytes, 2 * EACH);
    expect_u64(region_stats_of(f, CUARENA_REGION_DYNAMIC).capacity_bytes, POOL - 2 * EACH);
    expect_u64(region_stats_of(f, CUARENA_REGION_STABLE).reserved_bytes, 0);
    expect_recount(f);
    free_ok(f, stable);
    free_ok(f, dynamic);
}
END_TEST

START_TEST(stats_bad_arguments)
{
    cuarena_stats_t stats;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_stats_init(&stats);
    expect_status(cuarena_stats(f->arena, CUARENA_REGION_COUNT, &stats), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_stats(f->arena, -2, &stats), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_stats(f->arena, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_tag_stats(f->arena, 9, &stats), CUARENA_BAD_ARGUMENT);
    stats.struct_size = 0;
    expect_status(cuarena_stats(f->arena, 0, &stats), CUARENA_BAD_ARGUMENT);
    expect_text(last_error().message, "stats: struct_size 0; accepted: what its _init sets");
}
END_TEST

START_TEST(stats_struct_size_of_no_version)
{
    cuarena_stats_t stats;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_stats_init(&stats);
    stats.struct_size += 8;
    stats.live_bytes = 77;
    expect_status(cuarena_stats(f->arena, 0, &stats), CUARENA_BAD_ARGUMENT);
    expect_u64(stats.live_bytes, 77);
}
END_TEST

START_TEST(stats_of_resizes_are_no_allocs)
{
    void *row[4], *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, row, 4, EACH);
    step_ok(f, cuarena_resize(f->arena, row[1], EACH + 1, &now));
    row[1] = now;
    cuarena_stats_t stats = stats_of(f);
    expect_u64(stats.allocs - stats.frees, 4);
    expect_u64(stats.requested_bytes, 4 * EACH + 1);
    free_pointer_row(f, row, 4, EACH);
}
END_TEST

/* ---- Resizes with and without a fast path ------------------------------ */

#define TWIN_BLOCKS 12
#define TWIN_STEPS 3000

static void hear_nothing(void *user, const cuarena_event_t *event)
{
    (void)user;
    (void)event;
}

typedef struct twin {
    cuarena_t *arena;
    cuarena_tag_t tag;
    void *pointers[TWIN_BLOCKS];
    cuarena_block_t blocks[TWIN_BLOCKS];
} twin_t;

/* Half of the blocks have a tag. A listener keeps calls off the fast path. */
static void open_twin(twin_t *t, uint64_t stable_bytes, bool listened)
{
    cuarena_config_t config;
    cuarena_request_t request;
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_PAGEABLE;
    config.pool = amount_of_bytes(POOL * 8);
    config.stable = amount_of_bytes(stable_bytes);
    expect_ok(cuarena_create(&config, &t->arena));
    expect_ok(cuarena_tag(t->arena, "resized", &t->tag));
    if (listened)
        expect_ok(cuarena_set_event_listener(t->arena, hear_nothing, NULL));
    for (int i = 0; i < TWIN_BLOCKS; i++) {
        cuarena_request_init(&request);
        request.tag = i % 2 == 0 ? t->tag : 0;
        expect_ok(cuarena_alloc_with(t->arena, EACH / 2, &request, &t->pointers[i]));
        expect_ok(cuarena_block_alloc_with(t->arena, EACH / 2, &request, &t->blocks[i]));
    }
}

static cuarena_status_t resize_twin(twin_t *t, bool block, uint64_t which, uint64_t bytes)
{
    return block ? cuarena_block_resize(t->arena, t->blocks[which], bytes)
                 : cuarena_resize(t->arena, t->pointers[which], bytes, &t->pointers[which]);
}

static void expect_stats_alike(const cuarena_stats_t *a, const cuarena_stats_t *b)
{
    expect_u64(a->live_bytes, b->live_bytes);
    expect_u64(a->requested_bytes, b->requested_bytes);
    expect_u64(a->free_bytes, b->free_bytes);
    expect_u64(a->peak_live_bytes, b->peak_live_bytes);
    expect_u64(a->peak_requested_bytes, b->peak_requested_bytes);
    expect_u64(a->allocs, b->allocs);
    expect_u64(a->frees, b->frees);
}

static void expect_twins(const twin_t *a, const twin_t *b)
{
    cuarena_stats_t of_a, of_b;
    cuarena_stats_init(&of_a);
    cuarena_stats_init(&of_b);
    expect_ok(cuarena_stats(a->arena, CUARENA_REGION_ALL, &of_a));
    expect_ok(cuarena_stats(b->arena, CUARENA_REGION_ALL, &of_b));
    expect_stats_alike(&of_a, &of_b);
    expect_ok(cuarena_stats(a->arena, CUARENA_REGION_DYNAMIC, &of_a));
    expect_ok(cuarena_stats(b->arena, CUARENA_REGION_DYNAMIC, &of_b));
    expect_stats_alike(&of_a, &of_b);
    expect_ok(cuarena_tag_stats(a->arena, a->tag, &of_a));
    expect_ok(cuarena_tag_stats(b->arena, b->tag, &of_b));
    expect_stats_alike(&of_a, &of_b);
}

/* In place: what a block gave up is there when it grows. With one region, and with two: then the
 * peaks of the whole are kept apart. */
START_TEST(stats_of_resizes_are_the_same_on_both_paths)
{
    static twin_t brief, lengthy;
    random_state_t random = {scale_seed("resizes on both paths")};
    open_twin(&brief, _i == 0 ? 0 : POOL / 2, false);
    open_twin(&lengthy, _i == 0 ? 0 : POOL / 2, true);
    for (int i = 0; i < TWIN_STEPS; i++) {
        bool block = random_below(&random, 2) == 0;
        if (i % 20 == 0) { /* else the first are the highest */
            expect_ok(cuarena_reset_peaks(brief.arena));
            expect_ok(cuarena_reset_peaks(lengthy.arena));
        }
        uint64_t which = random_below(&random, TWIN_BLOCKS);
        uint64_t bytes = 1 + random_below(&random, EACH / 2);
        expect_ok(resize_twin(&brief, block, which, bytes));
        expect_ok(resize_twin(&lengthy, block, which, bytes));
        expect_twins(&brief, &lengthy);
    }
    expect_ok(cuarena_destroy_forced(&brief.arena));
    expect_ok(cuarena_destroy_forced(&lengthy.arena));
}
END_TEST

START_TEST(stats_largest_is_close_and_inspect_exact)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 1; i <= 3; i++)
        free_block(f, row[i]);
    free_block(f, row[6]);
    row[1] = row[2] = row[3] = row[6] = 0;
    uint64_t close = region_stats_of(f, CUARENA_REGION_DYNAMIC).largest_bytes;
    cuarena_inspection_t exact = inspection_of(f, CUARENA_REGION_DYNAMIC);
    expect_u64(exact.largest_bytes, 3 * EACH);
    expect_between(close, 3 * EACH - 3 * EACH / 32, 3 * EACH);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(stats_bookkeeping_stays_within_its_bound)
{
    enum {
        MANY = 4096
    };
    static void *pointers[MANY];
    fixture_t *f = opened(KIND_NONE_POOL, MIB(64));
    for (size_t i = 0; i < MANY; i++)
        expect_ok(cuarena_alloc(f->arena, 256, &pointers[i]));
    cuarena_stats_t stats = stats_of(f);
    ck_assert_uint_gt(stats.bookkeeping_bytes, 0);
    ck_assert_uint_lt(stats.bookkeeping_bytes, MIB(2));
    for (size_t i = 0; i < MANY; i++)
        expect_ok(cuarena_free(f->arena, pointers[i]));
}
END_TEST

/* ---- Calls of the memory ------------------------------------------------- */

/* What the memory itself was called for, but for what is not counted. */
static uint64_t calls_seen(const fixture_t *f)
{
    uint64_t calls = 0;
    for (int op = 0; op < OP_COUNT; op++)
        if (op > OP_TOTAL && op != OP_END)
            calls += f->memory.counts[op];
    return calls;
}

static uint64_t calls_counted(const fixture_t *f)
{
    return stats_of(f).memory_calls;
}

static void expect_calls_as_seen(const fixture_t *f)
{
    expect_u64(calls_counted(f), calls_seen(f));
}

START_TEST(memory_calls_are_what_the_memory_saw)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    expect_u64(calls_counted(f), 0);
    void *zeroed = NULL;
    step_ok(f, cuarena_alloc_with(f->arena, EACH, &request, &zeroed));
    expect_calls_as_seen(f);
    cuarena_block_t moves = alloc_above_a_hole(f, EACH, EACH);
    expect_calls_as_seen(f);
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_calls_as_seen(f);
    ck_assert_uint_ge(f->memory.counts[OP_GET], 1);
    ck_assert_uint_ge(f->memory.counts[OP_ZERO], 1);
    ck_assert_uint_ge(f->memory.counts[OP_RELOCATE], 1);
    free_block(f, moves);
    free_ok(f, zeroed);
    step_ok(f, cuarena_trim(f->arena, 0, NULL));
    expect_calls_as_seen(f);
}
END_TEST

START_TEST(memory_calls_that_fail_count)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    f->memory.budget_bytes = 0;
    expect_status(cuarena_alloc(f->arena, EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    ck_assert_uint_ge(calls_counted(f), 1);
    expect_calls_as_seen(f);
}
END_TEST

START_TEST(memory_calls_of_a_warm_arena_are_none)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, EACH));
    uint64_t before = calls_counted(f);
    for (int i = 0; i < 100; i++)
        free_ok(f, alloc_ok(f, EACH));
    expect_u64(calls_counted(f), before);
    expect_u64(region_stats_of(f, CUARENA_REGION_DYNAMIC).memory_calls, 0);
}
END_TEST

/* On memory without a driver too: it is as if there were one. */
START_TEST(memory_calls_of_streams_are_those_of_events)
{
    void *pointer = NULL;
    cuarena_stream_t one = (cuarena_stream_t)(uintptr_t)4096;
    cuarena_stream_t other = (cuarena_stream_t)(uintptr_t)8192;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    uint64_t before = calls_counted(f);
    step_ok(f, cuarena_alloc_on(f->arena, POOL, one, NULL, &pointer));
    expect_u64(calls_counted(f), before + 1); /* who it is */
    step_ok(f, cuarena_free_on(f->arena, pointer, one));
    step_ok(f, cuarena_alloc_on(f->arena, POOL, one, NULL, &pointer));
    step_ok(f, cuarena_free_on(f->arena, pointer, one));
    expect_u64(calls_counted(f), before + 1);
    step_ok(f, cuarena_alloc_on(f->arena, POOL, other, NULL, &pointer));
    ck_assert_uint_ge(calls_counted(f), before + 4); /* and record_event, query_event */
    step_ok(f, cuarena_free(f->arena, pointer));
}
END_TEST

/* ---- Peaks ------------------------------------------------------------- */

START_TEST(peaks_are_of_the_same_moment_or_higher)
{
    fixture_t *f = open_with_stable(new_fixture(fixture_close));
    void *stable = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    free_ok(f, stable);
    void *dynamic = alloc_ok(f, 2 * EACH + 1);
    free_ok(f, dynamic);
    cuarena_stats_t all = stats_of(f);
    expect_u64(all.peak_live_bytes, 2 * EACH + 256);
    expect_u64(all.peak_requested_bytes, 2 * EACH + 1);
    expect_u64(all.peak_live_blocks, 1);
    expect_u64(all.peak_reserved_bytes, POOL);
    expect_u64(region_stats_of(f, CUARENA_REGION_STABLE).peak_live_bytes, EACH);
}
END_TEST

START_TEST(reset_peaks_sets_them_to_now)
{
    cuarena_tag_t tag = 0;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    expect_ok(cuarena_tag(f->arena, "t", &tag));
    free_ok(f, alloc_tagged(f, 4 * EACH, tag));
    void *pointer = alloc_tagged(f, 1000, tag);
    step_ok(f, cuarena_reset_peaks(f->arena));
    cuarena_stats_t all = stats_of(f);
    expect_u64(all.peak_live_bytes, 1024);
    expect_u64(all.peak_requested_bytes, 1000);
    expect_u64(all.peak_live_blocks, 1);
    expect_u64(all.peak_reserved_bytes, all.reserved_bytes);
    expect_u64(region_stats_of(f, CUARENA_REGION_DYNAMIC).peak_live_bytes, 1024);
    expect_u64(tag_stats_of(f, tag).peak_live_bytes, 1024);
    free_ok(f, pointer);
    expect_u64(stats_of(f).peak_live_bytes, 1024);
}
END_TEST

START_TEST(peak_held_survives_a_trim)
{
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(stats_of(f).reserved_bytes, 0);
    expect_u64(stats_of(f).peak_reserved_bytes, POOL);
    step_ok(f, cuarena_reset_peaks(f->arena));
    expect_u64(stats_of(f).peak_reserved_bytes, 0);
}
END_TEST

/* A refused request is no peak, and a moving resize is not twice the block. */
START_TEST(peaks_do_not_count_what_never_was)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, EACH));
    expect_status(cuarena_alloc(f->arena, POOL + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(stats_of(f).peak_live_bytes, EACH);
    expect_u64(stats_of(f).peak_requested_bytes, EACH);
}
END_TEST

/* ---- Tags -------------------------------------------------------------- */

START_TEST(tag_stats_are_of_the_tag)
{
    cuarena_tag_t a = 0, b = 0;
    void *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_tag(f->arena, "a", &a));
    expect_ok(cuarena_tag(f->arena, "b", &b));
    void *first = alloc_tagged(f, 300, a);
    void *second = alloc_tagged(f, 600, b);
    void *third = alloc_ok(f, 900);
    expect_u64(tag_stats_of(f, a).live_bytes, 512);
    expect_u64(tag_stats_of(f, b).requested_bytes, 600);
    step_ok(f, cuarena_resize(f->arena, first, 1000, &now));
    expect_u64(tag_stats_of(f, a).requested_bytes, 1000);
    expect_u64(tag_stats_of(f, a).live_blocks, 1);
    free_ok(f, now);
    expect_u64(tag_stats_of(f, a).live_bytes, 0);
    expect_u64(tag_stats_of(f, a).peak_live_bytes, 1024);
    expect_u64(tag_stats_of(f, a).reserved_bytes, 0);
    free_ok(f, second);
    free_ok(f, third);
}
END_TEST

/* ---- Inspection and validation ----------------------------------------- */

START_TEST(inspect_tells_ranges_and_blocks)
{
    void *held = NULL;
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[1]);
    free_block(f, row[4]);
    free_block(f, row[5]);
    row[1] = row[4] = row[5] = 0;
    step_ok(f, cuarena_block_pin(f->arena, row[0], &held));
    cuarena_inspection_t seen = inspection_of(f, CUARENA_REGION_DYNAMIC);
    expect_u64(seen.ranges, 2);
    expect_u64(seen.free_bytes, 3 * EACH);
    expect_u64(seen.largest_bytes, 2 * EACH);
    expect_u64(seen.pinned_blocks, 1);
    expect_u64(seen.pinned_bytes, EACH);
    expect_u64(seen.movable_blocks, 4);
    expect_u64(seen.movable_bytes, 4 * EACH);
    ck_assert(seen.fragmentation > 0.333 && seen.fragmentation < 0.334);
    expect_u64(seen.range_counts[16], 1);
    expect_u64(seen.range_bytes[17], 2 * EACH);
    expect_u64(seen.block_counts[16], 5);
    expect_u64(seen.block_bytes[16], 5 * EACH);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(inspect_full_and_empty)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    ck_assert(inspection_of(f, CUARENA_REGION_ALL).fragmentation <= 0);
    void *all = alloc_ok(f, POOL);
    cuarena_inspection_t full = inspection_of(f, CUARENA_REGION_DYNAMIC);
    ck_assert(full.fragmentation <= 0);
    expect_u64(full.ranges, 0);
    expect_u64(full.largest_bytes, 0);
    free_ok(f, all);
}
END_TEST

START_TEST(inspect_bad_arguments)
{
    cuarena_inspection_t inspection;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_inspection_init(&inspection);
    expect_status(cuarena_inspect(f->arena, 7, &inspection), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_inspect(f->arena, 0, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(validate_takes_no_text)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_validate(f->arena, NULL, 0));
    expect_status(cuarena_validate(NULL, NULL, 0), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- The last error ---------------------------------------------------- */

START_TEST(last_error_names_the_value)
{
    void *pointer = UNTOUCHED;
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    request.alignment = 768;
    expect_status(cuarena_alloc_with(f->arena, 256, &request, &pointer), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "768"));
    ck_assert_int_eq(last_error().status, CUARENA_BAD_ARGUMENT);
    expect_u64(last_error().reserved_bytes, 0);
}
END_TEST

static void *ask_in_thread(void *user)
{
    void *pointer = NULL;
    (void)cuarena_alloc(user, 3 * POOL, &pointer);
    return NULL;
}

START_TEST(last_error_is_of_the_thread)
{
    pthread_t thread;
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_status(cuarena_alloc(f->arena, 2 * POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_in_thread, f->arena), 0);
    pthread_join(thread, NULL);
    expect_u64(last_error().asked_bytes, 2 * POOL);
    expect_u64(stats_of(f).failed, 2);
}
END_TEST

/* ---- Events ------------------------------------------------------------ */

typedef struct diary {
    cuarena_event_t events[64];
    size_t count;
} diary_t;

static void write_down(void *user, const cuarena_event_t *event)
{
    diary_t *diary = user;
    if (diary->count < COUNT_OF(diary->events))
        diary->events[diary->count] = *event;
    diary->count++;
}

/* The nth event of a kind, from 0; it must be there. */
static const cuarena_event_t *event_of(const diary_t *diary, int32_t kind, size_t nth)
{
    for (size_t i = 0; i < diary->count; i++)
        if (diary->events[i].kind == kind && nth-- == 0)
            return &diary->events[i];
    ck_abort_msg("no event of kind %d", kind);
    return NULL;
}

static void listen(fixture_t *f, diary_t *diary)
{
    diary->count = 0;
    expect_ok(cuarena_set_event_listener(f->arena, write_down, diary));
}

START_TEST(event_of_alloc_resize_and_free)
{
    diary_t diary;
    cuarena_tag_t tag = 0;
    cuarena_block_t block = 0;
    void *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_tag(f->arena, "t", &tag));
    listen(f, &diary);
    void *pointer = alloc_tagged(f, 300, tag);
    expect_ok(cuarena_block_of(f->arena, pointer, &block));
    step_ok(f, cuarena_resize(f->arena, pointer, 200, &now));
    free_ok(f, now);
    expect_u64(diary.count, 3);
    const cuarena_event_t *event = event_of(&diary, CUARENA_EVENT_ALLOC, 0);
    expect_u64(event->block, block);
    expect_ptr(event->address, pointer);
    expect_u64(event->bytes, 300);
    expect_u64(event->tag, tag);
    event = event_of(&diary, CUARENA_EVENT_RESIZE, 0);
    expect_u64(event->block, block);
    expect_u64(event->bytes, 200);
    event = event_of(&diary, CUARENA_EVENT_FREE, 0);
    expect_u64(event->block, block);
    expect_ptr(event->address, now);
    expect_u64(event->bytes, 200);
}
END_TEST

START_TEST(event_of_growth_and_trim)
{
    diary_t diary;
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    listen(f, &diary);
    free_ok(f, alloc_ok(f, EACH));
    expect_u64(event_of(&diary, CUARENA_EVENT_GROW, 0)->bytes, EACH);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(event_of(&diary, CUARENA_EVENT_TRIM, 0)->bytes, EACH);
}
END_TEST

START_TEST(event_of_a_refusal)
{
    diary_t diary;
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    listen(f, &diary);
    expect_status(cuarena_alloc(f->arena, POOL + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(diary.count, 1);
    const cuarena_event_t *event = event_of(&diary, CUARENA_EVENT_FAIL, 0);
    ck_assert_int_eq(event->status, CUARENA_OUT_OF_MEMORY);
    expect_u64(event->bytes, POOL + 1);
    expect_u64(event->block, 0);
}
END_TEST

START_TEST(event_of_each_compaction_batch)
{
    diary_t diary;
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    listen(f, &diary);
    cuarena_compact_options_init(&options);
    options.batch_moves = 2;
    step_ok(f, cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_u64(diary.count, 2);
    expect_u64(event_of(&diary, CUARENA_EVENT_COMPACT, 0)->bytes, 2 * EACH);
    expect_u64(event_of(&diary, CUARENA_EVENT_COMPACT, 1)->bytes, 2 * EACH);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(event_of_reset_and_none_for_nothing)
{
    diary_t diary;
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_ok(f, 256);
    listen(f, &diary);
    expect_ok(cuarena_alloc(f->arena, 0, &pointer));
    expect_ok(cuarena_free(f->arena, NULL));
    expect_u64(diary.count, 0);
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(event_of(&diary, CUARENA_EVENT_RESET, 0)->block, 0);
    expect_ok(cuarena_set_event_listener(f->arena, NULL, NULL));
    size_t count = diary.count;
    free_ok(f, alloc_ok(f, 256));
    expect_u64(diary.count, count);
}
END_TEST

typedef struct echo {
    fixture_t *f;
    int32_t depth;
    size_t events;
} echo_t;

static void allocate_once(void *user, const cuarena_event_t *event)
{
    echo_t *echo = user;
    void *pointer = NULL;
    echo->events++;
    if (event->kind != CUARENA_EVENT_ALLOC || echo->depth > 0)
        return;
    echo->depth++;
    step_ok(echo->f, cuarena_alloc(echo->f->arena, 256, &pointer));
    step_ok(echo->f, cuarena_free(echo->f->arena, pointer));
    step_ok(echo->f, cuarena_compact(echo->f->arena, NULL, NULL, NULL, NULL));
    echo->depth--;
}

START_TEST(event_listener_may_call_the_arena)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    echo_t echo = {f, 0, 0};
    expect_ok(cuarena_set_event_listener(f->arena, allocate_once, &echo));
    void *pointer = alloc_ok(f, 256);
    expect_u64(echo.events, 3);
    expect_ok(cuarena_set_event_listener(f->arena, NULL, NULL));
    free_ok(f, pointer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stats");
    suite_add_list(suite, "statistics",
                   TEST_LIST(stats_count_as_asked_and_as_taken, stats_of_a_region_are_its_own,
                             stats_bad_arguments, stats_struct_size_of_no_version,
                             stats_of_resizes_are_no_allocs,
                             stats_largest_is_close_and_inspect_exact,
                             stats_bookkeeping_stays_within_its_bound));
    TCase *both = tcase_create("resizes on both paths");
    tcase_add_loop_test(both, stats_of_resizes_are_the_same_on_both_paths, 0, 2);
    suite_add_tcase(suite, both);
    suite_add_list(suite, "calls of the memory",
                   TEST_LIST(memory_calls_are_what_the_memory_saw, memory_calls_that_fail_count,
                             memory_calls_of_a_warm_arena_are_none,
                             memory_calls_of_streams_are_those_of_events));
    suite_add_list(suite, "peaks and tags",
                   TEST_LIST(peaks_are_of_the_same_moment_or_higher, reset_peaks_sets_them_to_now,
                             peak_held_survives_a_trim, peaks_do_not_count_what_never_was,
                             tag_stats_are_of_the_tag));
    suite_add_list(suite, "inspection",
                   TEST_LIST(inspect_tells_ranges_and_blocks, inspect_full_and_empty,
                             inspect_bad_arguments, validate_takes_no_text,
                             last_error_names_the_value, last_error_is_of_the_thread));
    suite_add_list(suite, "events",
                   TEST_LIST(event_of_alloc_resize_and_free, event_of_growth_and_trim,
                             event_of_a_refusal, event_of_each_compaction_batch,
                             event_of_reset_and_none_for_nothing,
                             event_listener_may_call_the_arena));
    return suite_main(suite);
}
