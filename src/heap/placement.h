/*
 * Placement: which range serves a request, and from which end the block is
 * cut. One function; everything that decides about fragmentation is here.
 */
#ifndef CUAI_HEAP_PLACEMENT_H
#define CUAI_HEAP_PLACEMENT_H

#include "heap/heap.h"

/* The ROOT owns no range, so its slot says that none was found. */
#define CUAI_NO_PLACE 0u

/* How many ranges of one list are looked at. */
#define CUAI_CANDIDATES 4
/* How many zones whose ranges may be too small are looked at. */
#define CUAI_ZONE_TRIES 4

#define CUAI_SMALL_NUMERATOR 7
#define CUAI_SMALL_DIVISOR 1024
#define CUAI_GIANT_NUMERATOR 7
#define CUAI_GIANT_DIVISOR 32

/* Whether a request is served from the top end, and cut from the upper end of
 * its range: see placement.c. */
static inline bool cuai_goes_high(const cuarena_heap_t *heap,
                                  uint64_t free_bytes, uint64_t size)
{
    return size < heap->small_bytes ||
           size * heap->giant_share > free_bytes * CUAI_GIANT_NUMERATOR;
}

/* The next zone from a request's end whose top is at least `top`. */
static inline uint32_t cuai_next_zone(const cuai_index_t *index, uint32_t from,
                                      uint32_t top, bool high)
{
    return high ? cuai_zones_down(index, from, top)
                : cuai_zones_up(index, from, top);
}

/* ---- For the short path ------------------------------------------------ */

/* The same decisions where the heap is plain, the lane is 0 and the alignment
 * is the granule: small enough to be inlined. */

/* The first of a few ranges of a list that has room; lane 0 has no lane bits
 * in its keys. */
static inline cuai_slot_t cuai_plain_first(const cuarena_heap_t *heap,
                                           cuai_slot_t slot, uint64_t size)
{
    uint64_t need = cuai_range_key(size, 0);
    for (int i = 0; slot != 0 && i < CUAI_CANDIDATES; i++) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (r->key >= need)
            return slot;
        slot = r->down;
    }
    return 0;
}

static inline uint32_t cuai_plain_class(const cuarena_heap_t *heap,
                                        uint64_t size)
{
    return cuai_class_small(size >> heap->granule_log2);
}

/* The owner of a range of the zone that has room; 0: none. */
static inline cuai_slot_t cuai_plain_look(const cuarena_heap_t *heap,
                                          uint32_t zone, uint32_t class,
                                          uint64_t size)
{
    const cuai_index_t *index = heap->settled;
    cuai_slot_t slot = index->heads[cuai_list_of(zone, class)];
    if (slot != 0)
        slot = cuai_plain_first(heap, slot, size);
    if (slot != 0)
        return slot;
    class = cuai_zone_first(index, zone, class + 1);
    return class == CUAI_NO_CLASS ? 0 : index->heads[cuai_list_of(zone, class)];
}

/* The owner of the range that serves a request, by the same steps as
 * cuai_place; 0: only a search of all may still find one. */
static CUAI_INLINE cuai_slot_t cuai_plain_place(const cuarena_heap_t *heap,
                                                uint64_t size, bool high)
{
    const cuai_index_t *index = heap->settled;
    const uint32_t end = high ? CUAI_ZONES - 1 : 0;
    uint32_t class = cuai_plain_class(heap, size);
    uint32_t zone = cuai_next_zone(index, end, class + 1, high);
    for (int tries = 0; zone != CUAI_NO_ZONE && tries < CUAI_ZONE_TRIES;
         tries++) {
        cuai_slot_t slot = cuai_plain_look(heap, zone, class, size);
        if (CUAI_LIKELY(slot != 0))
            return slot;
        zone =
            cuai_next_zone(index, high ? zone - 1 : zone + 1, class + 1, high);
    }
    zone = cuai_next_zone(index, end, class + 2, high);
    if (zone == CUAI_NO_ZONE)
        return 0;
    class = cuai_zone_first(index, zone, class + 1);
    return index->heads[cuai_list_of(zone, class)];
}

/* ---- For all --------------------------------------------------------------
 */

/* A request as placement sees it, and its second answer. */
typedef struct cuai_place {
    uint64_t size;
    uint64_t alignment;
    uint32_t lane;
    bool low;  /* asks for the lowest place, whatever the policy */
    bool high; /* out: cut from the range's upper end */
} cuai_place_t;

/* The record whose range serves the request, or CUAI_NO_PLACE if none fits. */
cuai_slot_t cuai_place(cuarena_heap_t *heap, cuai_place_t *place);

/* Whether the heap's policy looks at zones; else all is one zone. */
bool cuai_placement_zones(const cuarena_heap_t *heap);
/* The heap's capacity changed: so do the policy's limits. */
void cuai_placement_fit(cuarena_heap_t *heap);

#endif
