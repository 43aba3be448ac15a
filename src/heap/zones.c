/*
 * Zones: 32 equal parts of the span from the first segment to the last.
 *
 * When the span outgrows the zones, they grow too and every range is sorted into its new zone. They
 * grow by a quarter of the span at least to that side, so that a heap that grows in small steps
 * does not sort at each. A pool of one segment has zones of exactly its span.
 */
#include "heap/placement.h"
#include "heap/ranges.h"
#include "heap/segments.h"
#include "heap/slots.h"

#define SPARE_DIVISOR 4
/* A smaller heap has no use for zones, and its factor would not fit a word. */
#define FEWEST_GRANULES (UINT64_C(2) << CUAI_ZONES_LOG2)

static void empty_indexes(cuarena_heap_t *heap)
{
    uint32_t seen = 0;
    for (uint32_t freelist = 0; seen < heap->freelist_count; freelist++) {
        cuai_index_t *index = heap->freelists[freelist];
        if (index == NULL)
            continue;
        seen++;
        if (index->ranges == 0)
            continue;
        uint64_t free_bytes = index->free_bytes;
        memset(index, 0, sizeof *index); /* sorting counts the ranges */
        index->free_bytes = free_bytes;
    }
}

static void sort_again(cuarena_heap_t *heap)
{
    empty_indexes(heap);
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        cuai_range_set(heap, slot, cuai_range(r), cuai_range_freelist(r));
    }
}

/* floor(2^64 * zones / granules), by long division. */
static uint64_t factor_for(uint64_t granules)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)CUAI_ZONES << 64) / granules);
}

static void set_zones(cuarena_heap_t *heap, uint64_t base, uint64_t end)
{
    uint64_t granules = (end - base) >> heap->granule_log2;
    CUAI_ASSERT(base < end);
    heap->zone_base = base;
    heap->zone_end = end;
    heap->zone_factor =
        granules < FEWEST_GRANULES || !cuai_placement_zones(heap) ? 0 : factor_for(granules);
    sort_again(heap);
}

/* Where the zones begin. There are `spare` addresses below a span that has grown downwards; they
 * stay while it grows upwards, as long as they are not more than `spare`. */
static uint64_t lower_bound(const cuarena_heap_t *heap, uint64_t base, uint64_t spare)
{
    uint64_t least = base - cuai_min(base, spare & ~heap->granule_mask);
    return base < heap->zone_base ? least : cuai_max(least, heap->zone_base);
}

void cuai_zones_fit(cuarena_heap_t *heap)
{
    cuai_placement_fit(heap);
    cuai_refresh_fast(heap);
    if (heap->segment_count == 0)
        return;
    uint64_t base = cuai_segment_first(heap)->begin;
    uint64_t end = cuai_segment_top(heap)->end;
    bool none_yet = heap->zone_end == heap->zone_base;
    if (!none_yet && base >= heap->zone_base && end <= heap->zone_end)
        return;
    uint64_t spare = none_yet ? 0 : (end - base) / SPARE_DIVISOR;
    set_zones(heap, none_yet ? base : lower_bound(heap, base, spare), end + spare);
}
