/*
 * Placement: the policies.
 *
 *   ends   Small requests and giants are placed from the top end of the heap,
 *          all others from its bottom end: first fit by zone from that end,
 *          and within a zone the smallest class that a bounded look finds room
 *          in. Small is less than 7/1024 of the heap; a giant is more than 7/32
 *          of all that is free. So the many short-lived small blocks do not
 *          split what the middle ones need, and a giant leaves the middle ones
 *          together.
 *   low    First fit by zone from the bottom end for all.
 *   best   One zone: the smallest class that a bounded look finds room in.
 *
 * A block grows into the range after it, and one that was cut from the upper end of a range has
 * none. So a class of which a block could not grow where it stood is not small any more, until the
 * heap is cleared.
 *
 * The numbers are shares, not sizes: docs/DESIGN.md has the figures for their neighbours and for
 * programs that they were not chosen on.
 */
#include "heap/placement.h"
#include "heap/slots.h"

bool cuai_placement_zones(const cuarena_heap_t *heap)
{
    return heap->placement != CUARENA_PLACEMENT_BEST;
}

/* Policies without ends have no small requests and no giants. */
void cuai_placement_fit(cuarena_heap_t *heap)
{
    bool ends = heap->placement == CUARENA_PLACEMENT_DEFAULT;
    heap->small_bytes = ends ? heap->capacity / CUAI_SMALL_DIVISOR * CUAI_SMALL_NUMERATOR : 0;
    heap->giant_share = ends ? CUAI_GIANT_DIVISOR : 0;
}

void cuai_placement_note_cramped(cuarena_heap_t *heap, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    if (r->kind == CUAI_BLOCK && r->size < heap->small_bytes)
        heap->cramped |= cuai_class_bit(heap, r->size);
    cuai_refresh_fast(heap);
}

/* Whether the block fits into the record's range. */
static inline bool fits(const cuai_record_t *r, const cuai_placement_t *place)
{
    uint64_t start = cuai_end(r);
    uint64_t front = cuai_align_up(start, place->alignment) - start;
    uint64_t range = cuai_range(r);
    return range >= front && range - front >= place->size;
}

/* The first range that fits among the first `most` of a list. */
static inline cuai_slot_t first_of(cuarena_heap_t *heap, cuai_slot_t slot,
                                   const cuai_placement_t *place, uint64_t most)
{
    for (; slot != 0 && most != 0; most--) {
        const cuai_record_t *r = cuai_record(heap, slot);
        heap->search_steps++;
        if (fits(r, place))
            return slot;
        slot = r->down;
    }
    return CUAI_NO_PLACE;
}

/* Looks at one range of each of the two first classes from `class` on that a zone has. Every range
 * of a class above `class` fits. */
static inline cuai_slot_t look(cuarena_heap_t *heap, const cuai_index_t *index, uint32_t zone,
                               uint32_t class, const cuai_placement_t *place)
{
    uint64_t classes = cuai_zone_classes(index, zone, class);
    for (int i = 0; classes != 0 && i < 2; i++) {
        uint32_t list = cuai_list_of(zone, cuai_ctz(classes));
        cuai_slot_t slot = first_of(heap, index->heads[list], place, 1);
        if (slot != CUAI_NO_PLACE)
            return slot;
        classes &= classes - 1;
    }
    return CUAI_NO_PLACE;
}

/* Looks at every range of the free list that might fit, before a refusal. */
static CUAI_NOINLINE cuai_slot_t search_all(cuarena_heap_t *heap, const cuai_index_t *index,
                                            const cuai_placement_t *place)
{
    heap->full_searches++;
    uint32_t least = cuai_class(heap, place->size);
    uint32_t list = cuai_index_next(index, 0, least);
    for (; list < CUAI_LISTS; list = cuai_index_next(index, list + 1, least)) {
        cuai_slot_t slot = first_of(heap, index->heads[list], place, UINT64_MAX);
        if (slot != CUAI_NO_PLACE)
            return slot;
    }
    return CUAI_NO_PLACE;
}

/*
 * Looks, from one end, into zones that have a range of the request's class or above; after a few
 * whose ranges were all too small, only into zones that have one of a class above, which fits.
 */
cuai_slot_t cuai_placement_find_bounded(cuarena_heap_t *heap, cuai_placement_t *place)
{
    const cuai_index_t *index = heap->freelists[place->freelist];
    uint64_t sure = place->size + place->alignment - 1 - heap->granule_mask;
    uint32_t class = cuai_class(heap, sure);
    CUAI_ASSERT(place->size != 0 && (place->size & heap->granule_mask) == 0);
    CUAI_ASSERT(place->alignment > heap->granule_mask);
    cuai_zones_t zones = cuai_zones_from(index, class);
    bool high = !place->low && cuai_goes_high(heap, index->free_bytes, place->size);
    place->high = high;
    for (int tries = 1; zones != 0 && tries <= CUAI_ZONE_TRIES + 1; tries++) {
        uint32_t zone = cuai_zones_end(zones, high);
        cuai_slot_t slot = look(heap, index, zone, class, place);
        if (CUAI_LIKELY(slot != CUAI_NO_PLACE))
            return slot;
        zones = cuai_zones_without(zones, zone);
        if (tries == CUAI_ZONE_TRIES) /* all that were looked into have none of a class above */
            zones = cuai_zones_from(index, class + 1);
    }
    return CUAI_NO_PLACE;
}

cuai_slot_t cuai_placement_find(cuarena_heap_t *heap, cuai_placement_t *place)
{
    cuai_slot_t slot = cuai_placement_find_bounded(heap, place);
    return CUAI_LIKELY(slot != CUAI_NO_PLACE)
               ? slot
               : search_all(heap, heap->freelists[place->freelist], place);
}

/* ---- The fast path ---------------------------------------------------- */

/* See cuai_placement_find_bounded, which this does for requests of a smooth heap. */
cuai_slot_t cuai_plain_search(const cuarena_heap_t *heap, const cuai_index_t *index, uint64_t size,
                              uint32_t class, cuai_zones_t zones, bool high)
{
    for (int tries = 2; zones != 0 && tries <= CUAI_ZONE_TRIES; tries++) {
        uint32_t zone = cuai_zones_end(zones, high);
        cuai_slot_t slot = cuai_plain_look(heap, index, zone, class, size);
        if (slot != CUAI_NO_PLACE)
            return slot;
        zones = cuai_zones_without(zones, zone);
    }
    zones = cuai_zones_from(index, class + 1);
    if (zones == 0)
        return CUAI_NO_PLACE;
    return cuai_plain_look(heap, index, cuai_zones_end(zones, high), class + 1, size);
}
