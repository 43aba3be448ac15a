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
