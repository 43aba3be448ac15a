/* Slots: places for records. They are in an array that gets memory a slab at a time, and moves now
 * and then: whoever reserves slots looks records up again. */
#include "heap/slots.h"

/* This many SEPARATORs, and one for each eight blocks, are no reason to reclaim free lists; this
 * many, and one for each block of the highest count, none to let a stream wait for others. */
#define FEW_SEPARATORS 1024
#define BLOCKS_PER_SEPARATOR 8

/* How many slots are in the list of FREE ones: all but those of blocks, SEGMENT_STARTs, SEPARATORs,
 * the SENTINEL and the retired ones. */
static uint64_t free_slots(const cuarena_heap_t *heap)
{
    uint64_t count = heap->unused - 1 - cuai_block_records(heap) - heap->segment_count -
                     heap->separators - heap->retired;
    CUAI_ASSERT(count < heap->unused && (count == 0) == (heap->free_slot == 0));
    return count;
}

/* See `ready_blocks` of the heap. Unless it is simple a block needs two slots, its own and that of
 * a SEPARATOR; `others` are in use besides. */
static uint64_t ready_blocks(const cuarena_heap_t *heap)
{
    if (heap->simple)
        return heap->max_blocks;
    uint64_t others = heap->segment_count + heap->separators + heap->retired + 3;
    if (!heap->smooth || heap->cached_blocks != 0 || cuai_heap_is_split_up(heap) ||
        heap->committed < others)
        return 0;
    return cuai_min((heap->committed - others) / 2 + 1, heap->max_blocks);
}

void cuai_refresh_fast(cuarena_heap_t *heap)
{
    bool calm = heap->plans == 0 && heap->capacity >> heap->granule_log2 < CUAI_SMALL_GRANULES;
    heap->simple = calm && heap->freelist_count == 1 && heap->separators == 0;
    heap->smooth = calm;
    heap->ready_blocks = ready_blocks(heap);
    bool ordinary = heap->split_threshold == 0 && heap->cramped == 0;
    heap->fast_blocks = ordinary ? heap->ready_blocks : 0;
}

cuarena_status_t cuai_slots_reserve(cuarena_heap_t *heap, uint64_t count)
{
    if (heap->unused != 0)
        count -= cuai_min(count, free_slots(heap));
    uint64_t wanted = heap->unused + count;
    if (wanted <= heap->committed)
        return CUARENA_OK;
    if (wanted > heap->max_slots)
        return CUARENA_LIMIT;
    if (!cuai_host_commit(&heap->record_region, wanted * sizeof(cuai_record_t)))
        return CUARENA_OUT_OF_MEMORY;
    heap->records = (cuai_record_t *)(void *)heap->record_region.base;
    uint64_t slots =
        cuai_min(heap->record_region.committed / sizeof(cuai_record_t), heap->max_slots);
    if (heap->cache != NULL && !cuai_cache_commit(heap->cache, slots))
        return CUARENA_OUT_OF_MEMORY;
    heap->committed = slots;
    CUAI_ASSERT(wanted <= slots);
    cuai_refresh_fast(heap);
    return CUARENA_OK;
}

void cuai_slots_use(cuarena_heap_t *heap, uint64_t count)
{
    CUAI_ASSERT(count <= heap->committed - heap->unused);
    cuai_slot_t first = heap->unused;
    heap->unused += (cuai_slot_t)count;
    for (cuai_slot_t slot = heap->unused; slot-- != first;) {
        cuai_record_t *r = &heap->records[slot];
        r->generation = heap->first_generation;
        cuai_set_kind(r, CUAI_FREE);
        r->next = heap->free_slot;
        heap->free_slot = slot;
    }
}

/* The most SEPARATORs that are not many. */
static uint64_t separators_due(const cuarena_heap_t *heap)
{
    return FEW_SEPARATORS + cuai_block_records(heap) / BLOCKS_PER_SEPARATOR;
}

bool cuai_heap_has_many_separators(const cuarena_heap_t *heap)
{
    return heap->separators > separators_due(heap);
}

bool cuai_heap_has_most_separators(const cuarena_heap_t *heap)
{
    return heap->separators >
           FEW_SEPARATORS + cuai_max(heap->most_blocks, heap->counter.blocks.peak);
}

void cuai_heap_allow_separators(cuarena_heap_t *heap)
{
    heap->separator_limit = cuai_max(separators_due(heap), heap->separators + heap->separators / 8);
    cuai_refresh_fast(heap);
}
