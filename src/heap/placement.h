/*
 * Placement: which range serves a request, and from which end the block is
 * cut. One function; everything that decides about fragmentation is here.
 */
#ifndef CUAI_HEAP_PLACEMENT_H
#define CUAI_HEAP_PLACEMENT_H

#include "heap/heap.h"

/* The SENTINEL owns no range, so its slot says that none was found. */
#define CUAI_NO_PLACE 0u

/* How many zones whose ranges may be too small are looked at. */
#define CUAI_ZONE_TRIES 4

#define CUAI_SMALL_NUMERATOR 7
#define CUAI_SMALL_DIVISOR 1024
#define CUAI_GIANT_NUMERATOR 7
#define CUAI_GIANT_DIVISOR 32

/* As cuai_class_small of its granules, of which there may be none. Counted in bytes, so that
 * nothing is shifted twice. */
static inline uint32_t cuai_plain_class(const cuarena_heap_t *heap, uint64_t size)
{
    uint32_t top = cuai_log2_floor(size | heap->class_floor);
    uint32_t shift = top - CUAI_CLASS_BITS;
    return (shift << CUAI_CLASS_BITS) + (uint32_t)(size >> shift) - heap->class_base;
}

/* The bit of a small request's class. */
static inline uint64_t cuai_class_bit(const cuarena_heap_t *heap, uint64_t size)
{
    uint32_t class = cuai_plain_class(heap, size);
    return UINT64_C(1) << (class & CUAI_LAST_CLASS);
}

/* Whether a request is served from the top end, and cut from the upper end of its range: see
 * placement.c. */
static inline bool cuai_goes_high(const cuarena_heap_t *heap, uint64_t free_bytes, uint64_t size)
{
    return (size < heap->small_bytes && (CUAI_LIKELY(heap->cramped == 0) ||
                                         (heap->cramped & cuai_class_bit(heap, size)) == 0)) ||
           size * heap->giant_share > free_bytes * CUAI_GIANT_NUMERATOR;
}

/* ---- For the fast path ------------------------------------------------ */

/* The same decisions where the heap is smooth and the alignment is the granule: small enough to be
 * inlined. */

/* A look into a zone that has a range of the class or above. Free list bits are the lowest of a
 * key: they do not count against a whole granule. */
static inline cuai_slot_t cuai_plain_look(const cuarena_heap_t *heap, const cuai_index_t *index,
                                          uint32_t zone, uint32_t class, uint64_t size)
{
    uint64_t classes = cuai_zone_classes(index, zone, class);
    cuai_slot_t slot = index->heads[cuai_list_of(zone, cuai_ctz(classes))];
    if (CUAI_LIKELY(cuai_record(heap, slot)->key >= cuai_range_key(size, 0)))
        return slot;
    classes &= classes - 1;
    return classes != 0 ? index->heads[cuai_list_of(zone, cuai_ctz(classes))] : CUAI_NO_PLACE;
}

/* Goes on in `zones`, those after the first, where that had no room. */
cuai_slot_t cuai_plain_search(const cuarena_heap_t *heap, const cuai_index_t *index, uint64_t size,
                              uint32_t class, cuai_zones_t zones, bool high);

/* The owner of the range that serves a request, by the same steps as cuai_placement_find; false:
 * only a search of all may still find one. */
static CUAI_INLINE bool cuai_plain_place(const cuarena_heap_t *heap, const cuai_index_t *index,
                                         uint64_t size, bool high, cuai_slot_t *owner_out)
{
    uint32_t class = cuai_plain_class(heap, size);
    cuai_zones_t zones = cuai_zones_from(index, class);
    if (CUAI_UNLIKELY(zones == 0))
        return false;
    uint32_t zone = cuai_zones_end(zones, high);
    uint64_t classes = cuai_zone_classes(index, zone, class);
    *owner_out = index->heads[cuai_list_of(zone, cuai_ctz(classes))];
    if (CUAI_LIKELY(cuai_range(cuai_record(heap, *owner_out)) >= size))
        return true;
    classes &= classes - 1;
    if (classes != 0) {
        *owner_out = index->heads[cuai_list_of(zone, cuai_ctz(classes))];
        return true;
    }
    zones = cuai_zones_without(zones, zone);
    *owner_out = cuai_plain_search(heap, index, size, class, zones, high);
    return *owner_out != CUAI_NO_PLACE;
}

/* ---- For all --------------------------------------------------------------
 */

/* A request as placement sees it, and its second answer. */
typedef struct cuai_placement {
    uint64_t size;
    uint64_t alignment;
    uint32_t freelist;
    bool low;  /* asks for the lowest place, whatever the policy */
    bool high; /* out: cut from the range's upper end */
} cuai_placement_t;

/* The record whose range serves the request, or CUAI_NO_PLACE if none fits. */
cuai_slot_t cuai_placement_find(cuarena_heap_t *heap, cuai_placement_t *place);
/* The same in a bounded number of steps: one that is found only if every range of the free list is
 * looked at counts as none. */
cuai_slot_t cuai_placement_find_bounded(cuarena_heap_t *heap, cuai_placement_t *place);

/* Whether the heap's policy looks at zones; else all is one zone. */
bool cuai_placement_zones(const cuarena_heap_t *heap);
/* The heap's capacity changed: so do the policy's limits. */
void cuai_placement_fit(cuarena_heap_t *heap);
/* A live block had no room to grow where it stands. */
void cuai_placement_note_cramped(cuarena_heap_t *heap, cuai_slot_t slot);

#endif
