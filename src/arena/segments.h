/* The segments that an arena's regions are made of (segments.c). */
#ifndef CUAI_ARENA_SEGMENTS_H
#define CUAI_ARENA_SEGMENTS_H

#include "arena/find.h"
#include "cuarena/arena.h"
#include "cuarena/memory.h"

/* The segments that the memory gave, in no order. A stretch that the heap knows as a segment says
 * as its source at which place here its segment is. The segment at place 0 stays there; its lower
 * end is the stable region. */
typedef struct cuai_segments {
    cuarena_memory_segment_t *items;
    size_t count;
    size_t room;
} cuai_segments_t;

/* Makes room for one more; false: the host has no memory. */
bool cuai_segments_room(cuai_segments_t *segments);
/* Lets the dynamic heap use bytes that the memory gave, in the segment at place `at`, as a range of
 * a free list: joined to the stretches that they touch. */
cuarena_status_t cuai_publish(cuarena_t *arena, size_t at, uint64_t address, uint64_t bytes,
                              uint32_t freelist);
/* Tells the stretches of a segment that it is at place `at` now. O(stretches). */
void cuai_segments_number(cuarena_t *arena, size_t at);
/* Where the dynamic region begins in a segment. */
uint64_t cuai_dynamic_begin(const cuarena_t *arena, const cuarena_memory_segment_t *segment);
/* Whether the dynamic region may have an address of that alignment with room behind it, if it were
 * empty. Several segments may touch, so of each of these only the address is looked at.
 * O(segments). */
bool cuai_segments_may_hold(const cuarena_t *arena, uint64_t size, uint64_t alignment);
/* The segment around a block of any heap. */
cuarena_memory_segment_t cuai_segment_of(const cuarena_t *arena, cuai_block_ref_t ref);

#endif
