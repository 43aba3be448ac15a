/*
 * The fast path of the arena's calls, heap/fast_path.h: the random calls of check_heap_model, but
 * allocations, frees and resizes take the fast path wherever it may be taken, as they do below an
 * arena.
 *
 * Workload: 4 * 10^5 calls (CUARENA_TEST_SCALE=long: 5 * 10^6; under a sanitizer 10^5) in episodes
 * of 2000.
 *
 * Looks inside, since only arenas take the fast path.
 */
#include "heap/plan.h"
#include "support/expect.h"
#include "support/heap_model.h"
#include "support/heap_rig.h"
#include "support/scale.h"

#include "heap/fast_path.h"

#include <inttypes.h>
#include <stdio.h>

#define EPISODE 2000u

static uint64_t short_allocs;
static uint64_t short_frees;
static uint64_t listed_allocs;
static uint64_t listed_frees;
static uint64_t short_resizes;
static uint64_t listed_resizes;

/* ---- Standing in for the public calls ----------------------------------- */

static bool is_ordinary(const cuarena_heap_t *heap, const cuarena_heap_request_t *request)
{
    return request->freelist < CUAI_FREELIST_PLANNED &&
           heap->freelists[request->freelist] != NULL && request->low == 0 && request->size != 0 &&
           request->size < CUARENA_HEAP_MAX_SEGMENT / 2 &&
           request->alignment <= heap->granule_mask + 1 &&
           (request->alignment & (request->alignment - 1)) == 0;
}

/* 0: the slow path. */
static cuai_slot_t alloc_short(cuarena_heap_t *heap, uint64_t requested, uint32_t freelist,
                               uint64_t attributes, uint64_t *offset_out)
{
    uint64_t mask = heap->granule_mask;
    uint64_t size = (requested + mask) & ~mask;
    cuai_index_t *index = heap->freelists[freelist];
    attributes |= heap->align_attributes;
    if (cuai_heap_fast_is_ready(heap, false)) {
        cuai_slot_t slot = cuai_heap_fast_alloc_in(heap, index, NULL, freelist, size, requested,
                                                   attributes, false, offset_out);
        if (slot != 0)
            return slot;
    }
    return !cuai_heap_fast_is_ready(heap, true)
               ? 0
               : cuai_heap_fast_alloc_in(heap, index, NULL, freelist, size, requested, attributes,
                                         true, offset_out);
}

static cuarena_status_t short_alloc(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                    cuarena_block_t *block_out, uint64_t *offset_out)
{
    bool listed = !heap->simple;
    cuai_slot_t slot = 0;
    if (is_ordinary(heap, request))
        slot = alloc_short(heap, request->size, request->freelist,
                           CUAI_ATTRIBUTES(request->pins, CUAI_BLOCK, request->flags), offset_out);
    if (slot == 0)
        return cuarena_heap_alloc(heap, request, block_out, offset_out);
    expect_u64(*offset_out, heap->records[slot].offset);
    ++*(listed ? &listed_allocs : &short_allocs);
    heap->records[slot].asked = cuai_asked(request->size, request->tag);
    *block_out = cuai_id(heap, slot);
    return CUARENA_OK;
}

static cuarena_status_t short_free(cuarena_heap_t *heap, cuarena_block_t block, uint32_t freelist)
{
    cuai_slot_t slot = cuai_slot_of(heap, block);
    const cuai_record_t *r = &heap->records[slot];
    if (slot == 0 || !heap->smooth || r->kind != CUAI_BLOCK || r->moving ||
        freelist >= CUAI_FREELIST_PLANNED || heap->freelists[freelist] == NULL ||
        !cuai_heap_fast_joins(heap, r, freelist))
        return cuarena_heap_free(heap, block, freelist);
    ++*(heap->simple ? &short_frees : &listed_frees);
    cuai_heap_fast_free_to(heap, heap->freelists[freelist], freelist, slot,
                           cuai_table_link(&heap->table, heap->records, r->offset));
    return CUARENA_OK;
}

/* Whether the fast path may look at the block at all. */
static bool is_resizable(const cuarena_heap_t *heap, cuai_slot_t slot, uint64_t size,
                         uint32_t freelist)
{
    const cuai_record_t *r = &heap->records[slot];
    return heap->smooth && heap->split_threshold == 0 && r->kind == CUAI_BLOCK && !r->moving &&
           size != 0 && size < CUARENA_HEAP_MAX_SEGMENT / 2 && freelist < CUAI_FREELIST_PLANNED &&
           heap->freelists[freelist] != NULL && cuai_range_joins(r, freelist);
}

static cuarena_status_t short_resize(cuarena_heap_t *heap, cuarena_block_t block, uint64_t size,
                                     uint32_t freelist)
{
    uint64_t mask = heap->granule_mask;
    cuai_slot_t slot = cuai_slot_named(heap, block);
    if (!is_resizable(heap, slot, size, freelist) ||
        !cuai_heap_fast_resize(heap, heap->freelists[freelist], freelist, slot,
                               (size + mask) & ~mask, size))
        return cuarena_heap_resize(heap, block, size, freelist);
    ++*(heap->simple ? &short_resizes : &listed_resizes);
    return CUARENA_OK;
}

/* ---- The model ---------------------------------------------------------- */

/* Every other heap never has a second free list. */
static void run_episode(choice_t *choice, uint64_t steps, bool plain)
{
    model_t model;
    model_open(&model, choice);
    model.freelist_most = plain ? 1 : model.freelist_most;
    model.alloc = short_alloc;
    model.free = short_free;
    model.resize = short_resize;
    while (steps-- != 0)
        model_step(&model);
    model_close(&model);
}

START_TEST(hot_heap_is_what_the_reference_says)
{
    uint64_t steps = scale_pick(100000, 400000, 5000000);
    random_state_t seeds = {scale_seed("check_heap_hot")};
    for (uint64_t i = 0; i < steps / EPISODE; i++) {
        choice_t choice = {.random = {random_next(&seeds)}};
        run_episode(&choice, EPISODE, i % 2 == 0);
    }
    printf("check_heap_hot: %" PRIu64 " calls, short: %" PRIu64 " and %" PRIu64
           " allocations, %" PRIu64 " and %" PRIu64 " frees, %" PRIu64 " and %" PRIu64 " resizes\n",
           steps, short_allocs, listed_allocs, short_frees, listed_frees, short_resizes,
           listed_resizes);
    expect_between(short_allocs, steps / 50, steps);
    expect_between(short_frees, steps / 50, steps);
    expect_between(listed_allocs, steps / 200, steps);
    expect_between(listed_frees, steps / 200, steps);
    expect_between(short_resizes, steps / 200, steps);
    expect_between(listed_resizes, steps / 1000, steps);
}
END_TEST

/* ---- Its limits --------------------------------------------------------- */

static cuai_slot_t alloc_with(uint64_t granules, bool all)
{
    uint64_t bytes = map_bytes(&map, granules);
    uint64_t offset;
    uint64_t attributes = CUAI_ATTRIBUTES(0, CUAI_BLOCK, 0) | map.heap->align_attributes;
    cuai_slot_t slot = 0;
    if (cuai_heap_fast_is_ready(map.heap, all))
        slot = cuai_heap_fast_alloc_in(map.heap, map.heap->idle, NULL, 0, bytes, bytes, attributes,
                                       all, &offset);
    expect_valid(map.heap);
    return slot;
}

static cuai_slot_t alloc_granules(uint64_t granules)
{
    return alloc_with(granules, false);
}

/* One slot lies ready. */
static void open_ready(uint64_t max_blocks, const char *picture)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = max_blocks;
    map_open_with(&map, &config, picture);
    expect_ok(map_segment(&map, 1000, 1));
    expect_ok(map_cut(&map, 1000, 1));
}

START_TEST(hot_take_serves_a_plain_heap)
{
    open_ready(4096, "-4");
    ck_assert_uint_ne(alloc_granules(4), 0);
    expect_map(&map, "?4");
}
END_TEST

START_TEST(hot_take_leaves_max_blocks_to_the_long_path)
{
    open_ready(2, "a1 b1");
    expect_ok(map_extend(&map, 0, 4));
    ck_assert_uint_ne(map.heap->free_slot, 0);
    expect_u64(alloc_granules(1), 0);
    expect_map(&map, "a1 b1 -4");
}
END_TEST

START_TEST(hot_take_leaves_a_refusal_to_the_long_path)
{
    open_ready(4096, "a1 -3 b1 -3");
    expect_u64(alloc_granules(4), 0);
    expect_map(&map, "a1 -3 b1 -3");
}
END_TEST

START_TEST(hot_take_serves_idle_bytes_beside_a_freelist)
{
    open_ready(4096, "a1 -3");
    map_freelist(&map, 1);
    ck_assert_uint_ne(alloc_granules(3), 0);
    expect_map(&map, "a1 ?3");
}
END_TEST

START_TEST(hot_take_leaves_plans_to_the_long_path)
{
    open_ready(4096, "a1 -3");
    expect_ok(cuai_heap_freeze(map.heap));
    expect_u64(alloc_granules(1), 0);
    cuai_heap_thaw(map.heap);
    ck_assert_uint_ne(alloc_granules(1), 0);
}
END_TEST

/* Only where all is looked at is the rule of splitting. */
START_TEST(hot_take_keeps_a_rest_that_is_not_split_off)
{
    cuarena_heap_config_t config = map_config();
    config.split_threshold = UINT64_MAX;
    map_open_with(&map, &config, "a1 -3");
    ck_assert_uint_ne(map.heap->free_slot, 0);
    expect_u64(alloc_granules(1), 0);
    expect_map(&map, "a1 -3");
    ck_assert_uint_ne(alloc_with(1, true), 0);
    expect_map(&map, "a1 ?3");
}
END_TEST

/* ---- Beside SEPARATORs ----------------------------------------------------- */

typedef struct separator_case {
    const char *before;
    uint64_t granules; /* of free list 1 */
    bool high;         /* from the upper end */
    const char *after;
    bool both; /* a SEPARATOR on both sides */
} separator_case_t;

/* What is cut has a SEPARATOR before it, after it, or on both sides. */
static const separator_case_t separator_cases[] = {
    {"a1 1:4 -40", 4, false, "a1 ?4 -40", false},
    {"a1 1:4 -40", 4, true, "a1 ?4 -40", false},
    {"a1 1:8 -40", 3, true, "a1 1:5 ?3 -40", false},
    {"a1 -40 1:4 b1", 4, false, "a1 -40 ?4 b1", false},
    {"a1 -40 1:4 b1", 4, true, "a1 -40 ?4 b1", false},
    {"a1 -40 1:8 b1", 3, false, "a1 -40 ?3 1:5 b1", false},
    {"a1 -40 1:8 2:3 b1", 3, false, "a1 -40 ?3 1:5 2:3 b1", false},
    {"a1 -40 1:8 2:3 b1", 3, true, "a1 -40 1:5 ?3 2:3 b1", false},
    {"a1 -40 1:8 2:3 b1", 8, false, "a1 -40 ?8 2:3 b1", true},
    {"a1 -40 1:8 2:3 b1", 8, true, "a1 -40 ?8 2:3 b1", true},
};

/* A heap as a picture shows it, with one free slot ready, which is returned. */
static cuai_slot_t open_listed(const char *picture, bool high)
{
    cuarena_heap_config_t config = map_config();
    cuarena_heap_request_t nothing = {.size = 0};
    cuai_slot_t ready;
    if (high)
        config.placement = CUARENA_PLACEMENT_DEFAULT; /* a giant goes there */
    map_open_with(&map, &config, picture);
    expect_ok(cuai_slots_reserve(map.heap, 64));
    expect_ok(cuai_heap_add_empty(map.heap, &nothing, &ready));
    cuai_heap_free(map.heap, ready, 0);
    ck_assert(cuai_heap_fast_is_ready(map.heap, true));
    return ready;
}

static cuai_slot_t alloc_listed(uint64_t granules, bool all)
{
    uint64_t bytes = map_bytes(&map, granules);
    uint32_t freelist = map_freelist(&map, 1);
    uint64_t attributes = CUAI_ATTRIBUTES(0, CUAI_BLOCK, 0) | map.heap->align_attributes;
    uint64_t offset = 0;
    cuai_slot_t slot = cuai_heap_fast_alloc_in(map.heap, map.heap->freelists[freelist], NULL,
                                               freelist, bytes, bytes, attributes, all, &offset);
    expect_valid(map.heap);
    if (slot != 0)
        expect_u64(offset, map.heap->records[slot].offset);
    return slot;
}

/* The SEPARATOR's record is the block's then: none is taken or freed. With one on both sides it
 * goes the long way. Where none may be in the way nothing is done. */
START_TEST(hot_take_in_the_place_of_a_separator)
{
    const separator_case_t *row = &separator_cases[_i];
    cuai_slot_t ready = open_listed(row->before, row->high);
    uint64_t separators = map.heap->separators;
    expect_u64(alloc_listed(row->granules, false), 0);
    expect_map(&map, row->before);
    cuai_slot_t slot = alloc_listed(row->granules, true);
    expect_map(&map, row->after);
    expect_u64(map.heap->separators, separators - (row->both ? 2 : 1));
    if (!row->both)
        expect_u64(map.heap->free_slot, ready);
    cuarena_block_t id = cuai_id(map.heap, slot);
    uint32_t freelist = map_freelist(&map, 1);
    expect_ok(cuarena_heap_free(map.heap, id, freelist));
    expect_valid(map.heap);
    expect_map(&map, row->before);
    expect_status(cuarena_heap_free(map.heap, id, freelist), CUARENA_STALE);
}
END_TEST

/* At the other end of a range that is not used up a SEPARATOR is in nobody's way. */
static const separator_case_t passed_cases[] = {
    {"a1 1:8 -40", 3, false, "a1 ?3 1:5 -40", false},
    {"a1 -40 1:8 b1", 3, true, "a1 -40 1:5 ?3 b1", false},
    {"a1 1:8 b1 -40", 8, false, "a1 ?8 b1 -40", false},
    {"a1 1:8 b1 -40", 3, true, "a1 1:5 ?3 b1 -40", false},
};

START_TEST(hot_take_passes_a_separator_at_the_other_end)
{
    const separator_case_t *row = &passed_cases[_i % 4];
    bool all = _i >= 4;
    cuai_slot_t ready = open_listed(row->before, row->high);
    uint64_t separators = map.heap->separators;
    expect_u64(alloc_listed(row->granules, all), ready);
    expect_map(&map, row->after);
    expect_u64(map.heap->separators, separators);
}
END_TEST

/* An id that was used up must not come back with the SEPARATOR's record. */
START_TEST(hot_take_leaves_spent_records_to_the_long_path)
{
    map_open(&map, "a1 1:4 -40");
    uint32_t freelist = map_freelist(&map, 1);
    cuai_slot_t separator = map.heap->records[0].prev;
    ck_assert_int_eq(map.heap->records[separator].kind, CUAI_SEPARATOR);
    expect_u64(cuai_separator_beside(map.heap, map.heap->records[separator].prev,
                                     map_bytes(&map, 4), false),
               separator);
    map.heap->records[separator].generation = CUAI_LAST_GENERATION;
    expect_u64(cuai_separator_beside(map.heap, map.heap->records[separator].prev,
                                     map_bytes(&map, 4), false),
               CUAI_SEPARATORS_DISTURB);
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, freelist));
    expect_map(&map, "a1 -44");
}
END_TEST

/* ---- Resizes ------------------------------------------------------------ */

typedef struct resize_case {
    const char *before; /* `a` is resized */
    uint64_t granules;
    uint32_t freelist; /* as the picture numbers it */
    const char *after;
    bool done; /* else the slow path is to */
} resize_case_t;

static const resize_case_t resize_cases[] = {
    {"a4 -8 b1", 8, 0, "a8 -4 b1", true},
    {"a4 -8 b1", 12, 0, "a12 b1", true},
    {"a4 -8 b1", 13, 0, "a4 -8 b1", false},
    {"a4 -8 b1", 4, 0, "a4 -8 b1", true},
    {"a4 -8 b1", 1, 0, "a1 -11 b1", true},
    {"a12 b1", 12, 0, "a12 b1", true},
    {"a12 b1", 5, 0, "a5 -7 b1", true},
    {"a12 b1", 13, 0, "a12 b1", false},
    {"a4 -508 b1", 132, 0, "a132 -380 b1", true}, /* another zone */
    {"a4 -508 b1", 5, 0, "a5 -507 b1", true},     /* the same class */
    {"a132 -380 b1", 1, 0, "a1 -511 b1", true},
    {"a512", 300, 0, "a300 -212", true},
    {"a4 -508", 512, 0, "a512", true}, /* to where the last zone ends */
    {"a4 1:8 b1", 8, 1, "a8 1:4 b1", true},
    {"a4 1:8 b1", 2, 1, "a2 1:10 b1", true},
    {"a4 1:8 2:3 b1", 8, 1, "a8 1:4 2:3 b1", true},
    {"a4 1:8 2:3 b1", 1, 1, "a1 1:11 2:3 b1", true},
    {"a4 1:8 2:3 b1", 12, 1, "a4 1:8 2:3 b1", false},
};

START_TEST(hot_resize_in_place)
{
    const resize_case_t *row = &resize_cases[_i];
    cuarena_heap_config_t config = map_config();
    config.placement = CUARENA_PLACEMENT_DEFAULT; /* which has zones */
    map_open_with(&map, &config, row->before);
    uint64_t bytes = map_bytes(&map, row->granules);
    uint32_t freelist = row->freelist == 0 ? 0 : map_freelist(&map, row->freelist);
    cuai_slot_t slot = cuai_slot_of(map.heap, map_id(&map, 'a'));
    ck_assert(cuai_range_joins(&map.heap->records[slot], freelist));
    bool done = cuai_heap_fast_resize(map.heap, map.heap->freelists[freelist], freelist, slot,
                                      bytes, bytes - 1);
    expect_valid(map.heap);
    expect_map(&map, row->after);
    ck_assert_int_eq(done, row->done);
    if (done)
        expect_u64(cuai_requested(&map.heap->records[slot]), bytes - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap fast path");
    TCase *tcase = suite_add_list(suite, "model", TEST_LIST(hot_heap_is_what_the_reference_says));
    tcase_set_timeout(tcase, scale_timeout(1800));
    tcase = suite_add_list(suite, "limits",
                           TEST_LIST(hot_take_serves_a_plain_heap,
                                     hot_take_leaves_max_blocks_to_the_long_path,
                                     hot_take_leaves_a_refusal_to_the_long_path,
                                     hot_take_serves_idle_bytes_beside_a_freelist,
                                     hot_take_leaves_plans_to_the_long_path,
                                     hot_take_keeps_a_rest_that_is_not_split_off,
                                     hot_take_leaves_spent_records_to_the_long_path));
    tcase_add_checked_fixture(tcase, NULL, close_map);
    tcase = tcase_create("separators");
    tcase_add_loop_test(tcase, hot_take_in_the_place_of_a_separator, 0,
                        (int)COUNT_OF(separator_cases));
    tcase_add_loop_test(tcase, hot_take_passes_a_separator_at_the_other_end, 0, 8);
    tcase_add_checked_fixture(tcase, NULL, close_map);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("resizes");
    tcase_add_loop_test(tcase, hot_resize_in_place, 0, (int)COUNT_OF(resize_cases));
    tcase_add_checked_fixture(tcase, NULL, close_map);
    suite_add_tcase(suite, tcase);
    return suite_main(suite);
}
