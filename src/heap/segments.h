/*
 * Segments (segments.c), and the table that finds them by address (tree.c).
 */
#ifndef CUAI_HEAP_SEGMENTS_H
#define CUAI_HEAP_SEGMENTS_H

#include "heap/slots.h"

/* The last record of a segment. */
cuai_slot_t cuai_segment_last(const cuarena_heap_t *heap, const cuai_segment_t *segment);
/* Allocates host memory, if there is any, so that each block that ends can leave a gap, which makes
 * one segment two. */
void cuai_segments_ready_cuts(cuarena_heap_t *heap);
/* Whether a segment can be added without host memory. */
static inline bool cuai_segment_is_ready(const cuarena_heap_t *heap)
{
    return heap->segment_count + 1 < heap->segment_room && cuai_slots_ready(heap);
}
/* As cuarena_heap_segment_add, for a range of any free list. */
cuarena_status_t cuai_segment_add_to(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                     uint32_t freelist);
/* As cuarena_heap_segment_cut, for bytes that the range of `slot` contains. */
cuarena_status_t cuai_segment_cut_range(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t offset,
                                        uint64_t bytes);
/* Sets what the segment is a part of, which is 0 at first. What is cut off it keeps the source. */
void cuai_segment_set_source(cuarena_heap_t *heap, cuai_segment_t *segment, uint32_t source);

/* ---- The table of segments (tree.c) -------------------------------------- */

/* NULL for 0. Pointers are good until a segment is added. */
static inline cuai_segment_t *cuai_segment_numbered(const cuarena_heap_t *heap, uint32_t n)
{
    CUAI_ASSERT(n == 0 || n < heap->segment_unused);
    return n == 0 ? NULL : &heap->segments[n];
}

/* The lowest segment, the highest one, and the one above another; NULL: there is none. */
static inline cuai_segment_t *cuai_segment_first(const cuarena_heap_t *heap)
{
    return heap->segment_count == 0 ? NULL : &heap->segments[heap->segments[0].above];
}

static inline cuai_segment_t *cuai_segment_top(const cuarena_heap_t *heap)
{
    return heap->segment_count == 0 ? NULL : &heap->segments[heap->segments[0].below];
}

static inline cuai_segment_t *cuai_segment_next(const cuarena_heap_t *heap,
                                                const cuai_segment_t *segment)
{
    return cuai_segment_numbered(heap, segment->above);
}

/* The functions that follow are O(log n) in the segments. */

/* The segment around an offset, or NULL. */
cuai_segment_t *cuai_segment_around(const cuarena_heap_t *heap, uint64_t offset);
/* The lowest segment that ends above an offset, or NULL. */
cuai_segment_t *cuai_segment_from(const cuarena_heap_t *heap, uint64_t offset);
/* The lowest segment that begins at `from` or above and has a gap of that many bytes below it, or
 * NULL. */
cuai_segment_t *cuai_segment_above_gap(const cuarena_heap_t *heap, uint64_t from, uint64_t bytes);
/* Makes room for that many segments; false: the host has no memory. O(n) now and then. */
bool cuai_segments_make_room(cuarena_heap_t *heap, uint64_t count);
/* Adds a segment; there is room for it, and it overlaps none. */
cuai_segment_t *cuai_segment_put(cuarena_heap_t *heap, cuai_segment_t segment);
void cuai_segment_drop(cuarena_heap_t *heap, cuai_segment_t *segment);
/* Works out the gaps around a segment whose begin, end or source has changed. */
void cuai_segment_fit(cuarena_heap_t *heap, const cuai_segment_t *segment);
/* Whether tree, list and gaps fit each other. O(n). */
bool cuai_segments_agree(const cuarena_heap_t *heap);

#endif
