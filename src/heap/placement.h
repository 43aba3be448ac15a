/*
 * Placement: which range serves a request, and from which end the block is
 * cut. One function; everything that decides about fragmentation is here.
 */
#ifndef CUAI_HEAP_PLACEMENT_H
#define CUAI_HEAP_PLACEMENT_H

#include "heap/heap.h"

/* The ROOT owns no range, so its slot says that none was found. */
#define CUAI_NO_PLACE 0u

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
/* Below how many bytes a request counts as small in a heap of that size. */
uint64_t cuai_placement_small(uint64_t capacity);

#endif
