/*
 * The heap's cached blocks: putting, finding by capacity, getting and evicting, against a list; and
 * how many steps a look takes, up to 2^20 of them.
 *
 * Looks inside, since only arenas cache_put blocks (heap/cached.h).
 */
#include "heap/blocks.h"
#include "heap/cached.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/scale.h"

#include <stdio.h>

#define BASE UINT64_C(0x7f0000000000)
#define GRANULE UINT64_C(8)

static cuarena_heap_t *heap;
static random_state_t rng;

static void open_heap(uint64_t bytes, uint64_t max_blocks)
{
    cuarena_heap_config_t config;
    cuarena_heap_config_init(&config);
    config.granule = GRANULE;
    config.max_blocks = max_blocks;
    config.placement = CUARENA_PLACEMENT_LOW;
    expect_ok(cuarena_heap_create(&config, &heap));
    expect_ok(cuai_heap_begin_cache(heap));
    expect_ok(cuarena_heap_segment_add(heap, BASE, bytes));
}

static void close_heap(void)
{
    expect_valid(heap);
    cuarena_heap_destroy(&heap);
}

static cuai_slot_t make(uint64_t bytes)
{
    cuarena_heap_request_t request = {.size = bytes};
    cuai_slot_t slot = 0;
    expect_ok(cuai_heap_try_alloc(heap, &request, bytes, UINT64_MAX, false, &slot));
    return slot;
}

static cuai_slot_t find(uint64_t size)
{
    return cuai_cache_find(heap->cache, heap->records, size);
}

static void cache_put(cuai_slot_t slot)
{
    cuai_heap_cache_put(heap, slot, 0, 0);
}

static void cache_get(cuai_slot_t slot)
{
    cuai_heap_cache_get(heap, slot, cuai_record(heap, slot)->size, 0,
                        CUAI_ATTRIBUTES(0, CUAI_BLOCK, 0));
}

/* ---- One block --------------------------------------------------------- */

START_TEST(a_cached_block_is_neither_live_nor_free)
{
    open_heap(1024, 100);
    cuai_slot_t slot = make(256);
    cuarena_block_t id = cuai_id(heap, slot);
    cache_put(slot);
    expect_valid(heap);
    expect_u64(cuai_heap_bytes(heap), 0);
    expect_u64(cuai_heap_blocks(heap), 0);
    expect_u64(heap->cached_bytes, 256);
    expect_u64(cuai_free_bytes(heap), 768);
    expect_status(cuarena_heap_free(heap, id, 0), CUARENA_STALE);
    cuarena_heap_entry_t entry;
    expect_status(cuarena_heap_block_info(heap, id, &entry), CUARENA_STALE);
    uint64_t cursor = 0;
    size_t count;
    expect_ok(cuarena_heap_walk(heap, &cursor, &entry, 1, &count));
    ck_assert_int_eq(entry.kind, CUARENA_ENTRY_CACHED);
    expect_u64(entry.size, 256);
    cache_get(slot);
    expect_valid(heap);
    expect_u64(cuai_heap_bytes(heap), 256);
    expect_u64(heap->cached_bytes, 0);
    ck_assert(cuai_id(heap, slot) != id);
    cuai_heap_free(heap, slot, 0);
    close_heap();
}
END_TEST

START_TEST(neighbours_do_not_merge_with_a_cached_block)
{
    open_heap(768, 100);
    cuai_slot_t slots[3] = {make(256), make(256), make(256)};
    cache_put(slots[1]);
    cuai_heap_free(heap, slots[0], 0);
    cuai_heap_free(heap, slots[2], 0);
    expect_valid(heap);
    expect_u64(heap->idle->ranges, 2);
    cuai_heap_evict(heap, slots[1], 0);
    expect_valid(heap);
    expect_u64(heap->idle->ranges, 1);
    expect_u64(heap->cached_blocks, 0);
    close_heap();
}
END_TEST

/* Between ranges of another free list: each may take a slot. */
START_TEST(evicting_into_a_freelist_needs_no_host_memory)
{
    open_heap(64 * 600, 1000);
    uint32_t freelist;
    expect_ok(cuarena_heap_freelist_create(heap, &freelist));
    static cuai_slot_t slots[600];
    for (int i = 0; i < 600; i++)
        slots[i] = make(64);
    uint64_t committed = heap->committed;
    for (int i = 0; i < 600; i += 2)
        cuai_heap_free(heap, slots[i], 0);
    for (int i = 1; i < 600; i += 2)
        cache_put(slots[i]);
    expect_valid(heap);
    for (int i = 1; i < 600; i += 2)
        cuai_heap_evict(heap, slots[i], freelist);
    expect_valid(heap);
    expect_u64(heap->committed, committed);
    close_heap();
}
END_TEST

START_TEST(a_plan_goes_up_to_a_cached_block)
{
    open_heap(64 * 8, 100);
    cuai_slot_t slots[8];
    for (int i = 0; i < 8; i++)
        slots[i] = make(64);
    cache_put(slots[4]);
    cuai_heap_free(heap, slots[0], 0);
    cuai_heap_free(heap, slots[5], 0);
    cuarena_heap_plan_options_t options;
    cuarena_heap_plan_options_init(&options);
    cuarena_heap_plan_t *plan;
    expect_ok(cuarena_heap_plan_create(heap, &options, &plan));
    expect_ok(cuarena_heap_plan_begin(heap, plan));
    expect_valid(heap);
    expect_ok(cuarena_heap_plan_commit(heap, plan, 0));
    cuarena_heap_plan_destroy(heap, &plan);
    expect_valid(heap);
    expect_u64(cuai_record(heap, slots[1])->offset, BASE);
    expect_u64(cuai_record(heap, slots[4])->offset, BASE + 256);
    expect_u64(cuai_record(heap, slots[6])->offset, BASE + 320);
    close_heap();
}
END_TEST

START_TEST(a_slot_whose_ids_are_used_up_is_not_cached)
{
    open_heap(1024, 100);
    cuai_slot_t slot = make(64);
    ck_assert(cuai_can_cache(cuai_record(heap, slot)));
    cuai_record(heap, slot)->generation = CUAI_LAST_GENERATION;
    ck_assert(!cuai_can_cache(cuai_record(heap, slot)));
    cuai_record(heap, slot)->generation = 0;
    close_heap();
}
END_TEST

/* ---- Many, against a list ---------------------------------------------- */

#define MANY 300

typedef struct listed {
    cuai_slot_t slot;
    bool cached;
    uint64_t turn; /* of its last put or get */
} listed_t;

static listed_t listed[MANY];
static uint64_t turns;

static uint64_t size_of(const listed_t *l)
{
    return cuai_record(heap, l->slot)->size;
}

static cuai_slot_t naive_find(uint64_t size)
{
    const listed_t *best = NULL;
    for (int i = 0; i < MANY; i++) {
        const listed_t *l = &listed[i];
        if (!l->cached || size_of(l) < size)
            continue;
        if (best == NULL || size_of(l) < size_of(best) ||
            (size_of(l) == size_of(best) && l->turn < best->turn))
            best = l;
    }
    return best == NULL ? 0 : best->slot;
}

static cuai_slot_t naive_oldest(void)
{
    const listed_t *best = NULL;
    for (int i = 0; i < MANY; i++)
        if (listed[i].cached && (best == NULL || listed[i].turn < best->turn))
            best = &listed[i];
    return best == NULL ? 0 : best->slot;
}

/* Few sizes, so that many are equal, or many. */
static uint64_t any_bytes(int variety)
{
    uint64_t range = UINT64_C(1) << (3 + random_below(&rng, 12));
    uint64_t step = variety == 0 ? 512 : GRANULE;
    return step * (1 + random_below(&rng, range) / step);
}

START_TEST(the_least_capacity_and_the_oldest_are_those_of_a_list)
{
    open_heap(UINT64_C(1) << 26, 4096);
    rng = (random_state_t){(uint64_t)_i + 1};
    for (int i = 0; i < MANY; i++)
        listed[i] = (listed_t){.slot = make(any_bytes(_i % 2))};
    for (int step = 0; step < 4000; step++) {
        listed_t *l = &listed[random_below(&rng, MANY)];
        if (l->cached)
            cache_get(l->slot);
        else
            cache_put(l->slot);
        l->cached = !l->cached;
        l->turn = ++turns;
        uint64_t size = any_bytes(1);
        expect_u64(find(size), naive_find(size));
        expect_u64(cuai_cache_oldest(heap->cache), naive_oldest());
        if (step % 16 == 0)
            expect_valid(heap);
    }
    close_heap();
}
END_TEST

/* ---- Steps ------------------------------------------------------------- */

/* All capacities from the least on; such as share a long way down a tree; and one. */
static uint64_t bytes_of(uint64_t i, int row)
{
    if (row == 0)
        return GRANULE * (1 + i);
    return row == 1 ? (UINT64_C(1) << 26) + GRANULE * i : 64;
}

static uint64_t steps_of_look(uint64_t bytes)
{
    uint64_t before = heap->cache->steps;
    cuai_slot_t slot = find(bytes);
    uint64_t steps = heap->cache->steps - before;
    ck_assert_uint_ne(slot, 0);
    cache_get(slot);
    cache_put(slot);
    return steps;
}

START_TEST(a_look_takes_a_bounded_number_of_steps)
{
    uint64_t most = UINT64_C(1) << scale_pick(14, 20, 20);
    uint64_t worst = 0;
    open_heap(UINT64_C(1) << 47, most + 16);
    rng = (random_state_t){1};
    for (uint64_t i = 0; i < most; i++)
        cache_put(make(bytes_of(i, _i)));
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bytes = bytes_of(random_below(&rng, most), _i);
        uint64_t steps = steps_of_look(bytes - i % 2 * GRANULE / 2);
        worst = steps > worst ? steps : worst;
    }
    printf("%llu cached: %llu steps at most\n", (unsigned long long)most,
           (unsigned long long)worst);
    ck_assert_uint_le(worst, 50);
    cuarena_heap_destroy(&heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap_cache");
    suite_add_list(suite, "one",
                   TEST_LIST(a_cached_block_is_neither_live_nor_free,
                             neighbours_do_not_merge_with_a_cached_block,
                             evicting_into_a_freelist_needs_no_host_memory,
                             a_plan_goes_up_to_a_cached_block,
                             a_slot_whose_ids_are_used_up_is_not_cached));
    suite_add_rows(suite, "many", the_least_capacity_and_the_oldest_are_those_of_a_list, 8);
    TCase *steps = tcase_create("steps");
    tcase_add_loop_test(steps, a_look_takes_a_bounded_number_of_steps, 0, 3);
    tcase_set_timeout(steps, scale_timeout(300));
    suite_add_tcase(suite, steps);
    return suite_main(suite);
}
