/*
 * Placement: from which range a request is allocated, and from which end of it the block is cut.
 * Everything that decides about fragmentation is here.
 */
#ifndef CUAI_HEAP_PLACEMENT_H
#define CUAI_HEAP_PLACEMENT_H

#include "heap/heap.h"

/* The slot of the SENTINEL, which owns no range, says that none was found. */
#define CUAI_NO_PLACE 0u

/* How many zones whose ranges may be too small are looked at. */
#define CUAI_ZONE_TRIES 4

#define CUAI_SMALL_NUMERATOR 7
#define CUAI_SMALL_DIVISOR 1024
#define CUAI_GIANT_NUMERATOR 7
#define CUAI_GIANT_DIVISOR 32

/* As cuai_class_small of a size in granules, with class 0 for 0 bytes. It counts in bytes, so that
 * nothing is shifted twice. */
static inline uint32_t cuai_plain_class(const cuarena_heap_t *heap, uint64_t size)
{
    uint32_t top = cuai_log2_floor(size | heap->class_floor);
    uint32_t shift = top - CUAI_CLASS_BITS;
    return (shift << CUAI_CLASS_BITS) + (uint32_t)(size >> shift) - heap->class_base;
}

/* The bit of a small request's class in `cramped`. */
static inline uint64_t cuai_class_bit(const cuarena_heap_t *heap, uint64_t size)
{
    uint32_t class = cuai_plain_class(heap, size);
    return UINT64_C(1) << (class & CUAI_LAST_CLASS);
}

/* Whether a block is looked for from the top end of the heap, and cut from the upper end of its
 * range: see placement.c. */
static inline bool cuai_is_small_or_giant(const cuarena_heap_t *heap, uint64_t free_bytes,
                                          uint64_t size)
{
    return size < heap->small_bytes || size * heap->giant_share > free_bytes * CUAI_GIANT_NUMERATOR;
}

/* Whether a block goes to the top end as cuai_is_small_or_giant says, but not for being small where
 * blocks of its class had no room to grow. */
static inline bool cuai_goes_high(const cuarena_heap_t *heap, uint64_t free_bytes, uint64_t size)
{
    return (size < heap->small_bytes && (CUAI_LIKELY(heap->cramped == 0) ||
                                         (heap->cramped & cuai_class_bit(heap, size)) == 0)) ||
           size * heap->giant_share > free_bytes * CUAI_GIANT_NUMERATOR;
}

/* ---- For the fast path ------------------------------------------------ */

/* These take the decisions of placement.c where the heap is smooth and the alignment is the
 * granule; they are small enough to be inlined. */

/* Looks into a zone that has a range of the class or above. The free list is in the lowest bits of
 * a key, which do not count against a whole granule. */
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

/* Goes on in `zones`, those after the first, which had no room. */
cuai_slot_t cuai_plain_search(const cuarena_heap_t *heap, const cuai_index_t *index, uint64_t size,
                              uint32_t class, cuai_zones_t zones, bool high);

/* The owner of the range that serves a request, by the same steps as cuai_placement_find; false:
 * only a search of all may still find one. */
static CUAI_INLINE bool cuai_plain_place(const cuarena_heap_t *heap, const cuai_index_t *index,
                                         uint64_t size, bool high, cuai_slot_t *owner_out)
{
    uint32_t class = cuai_plain_class(heap, size);
    CUAI_ASSERT(class != 0);
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

/* A request as placement sees it, and the end that was chosen. */
typedef struct cuai_placement {
    uint64_t size;
    uint64_t alignment;
    uint32_t freelist;
    bool low;  /* as low as possible, whatever the policy */
    bool high; /* out: the block is cut from the range's upper end */
} cuai_placement_t;

/* The record in whose range the block fits, or CUAI_NO_PLACE. O(ranges) before it says that. */
cuai_slot_t cuai_placement_find(cuarena_heap_t *heap, cuai_placement_t *place);
/* The record in whose range the block fits, found in O(1): CUAI_NO_PLACE also where only a look at
 * every range of the free list would find one. */
cuai_slot_t cuai_placement_find_bounded(cuarena_heap_t *heap, cuai_placement_t *place);

/* Whether the heap's policy uses zones; else all of the heap is one zone. */
bool cuai_placement_zones(const cuarena_heap_t *heap);
/* Works out the policy's limits anew after a change of the heap's capacity. */
void cuai_placement_fit(cuarena_heap_t *heap);
/* Notes that a live block had no room to grow where it is. */
void cuai_placement_note_cramped(cuarena_heap_t *heap, cuai_slot_t slot);

#endif
