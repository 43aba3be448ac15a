/*
 * Blocks: what the public calls and the arena share (blocks.c).
 */
#ifndef CUAI_HEAP_BLOCKS_H
#define CUAI_HEAP_BLOCKS_H

#include "heap/heap.h"

/* As cuarena_heap_alloc, for checked arguments: `size` is not 0 and a multiple of the granule, the
 * alignment a power of two, the free list in use. `bounded`: in O(1), see
 * cuai_placement_find_bounded. LIMIT also if the block would have more than `most` bytes with a
 * rest that is not split off. Sets no last error. */
cuarena_status_t cuai_heap_try_alloc(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     uint64_t size, uint64_t most, bool bounded,
                                     cuai_slot_t *slot_out);
/* Free bytes [begin, end) of whatever free lists, without a gap, but not planned ones. They end in
 * the range of `last` or before. */
typedef struct cuai_free_part {
    cuai_slot_t last;
    uint64_t begin;
    uint64_t end;
} cuai_free_part_t;

/* As cuai_heap_try_alloc, at the first aligned offset of such bytes, where the block fits. They
 * join the request's free list, which is not 0, for that. LIMIT or OUT_OF_MEMORY, with nothing
 * changed, so that no request gathers bytes again and again. O(ranges in the part). */
cuarena_status_t cuai_heap_try_alloc_gathered(cuarena_heap_t *heap,
                                              const cuarena_heap_request_t *request, uint64_t size,
                                              uint64_t most, const cuai_free_part_t *part,
                                              cuai_slot_t *slot_out);
/* As cuai_heap_try_alloc, for a block of these attributes with the granule as alignment and without
 * a tag; returns its slot, or 0. */
cuai_slot_t cuai_heap_try_alloc_attributes(cuarena_heap_t *heap, uint32_t freelist, uint64_t size,
                                           uint64_t requested, uint64_t attributes);
/* Ends a live block that no plan moves; its bytes join `freelist`. */
void cuai_heap_free(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* Ends a cached block; its bytes join `freelist`. */
void cuai_heap_evict(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* The record whose range has a block's bytes once they have joined `freelist`. */
static inline cuai_slot_t cuai_heap_heir(const cuarena_heap_t *heap, cuai_slot_t slot,
                                         uint32_t freelist)
{
    cuai_slot_t prev = cuai_record(heap, slot)->prev;
    return cuai_range_joins(cuai_record(heap, prev), freelist) ? prev : slot;
}
/* A new EMPTY block: a live id of 0 bytes. LIMIT, OUT_OF_MEMORY. */
cuarena_status_t cuai_heap_add_empty(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     cuai_slot_t *slot_out);
/* Resizes a block in place; false, with nothing changed, if that cannot be. */
bool cuai_heap_resize(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t size, uint64_t requested,
                      uint32_t freelist);
void cuai_heap_exchange(cuarena_heap_t *heap, cuai_slot_t a, cuai_slot_t b);
/* A new block of `size` that fills the segment of `prev`, a SEGMENT_START without a range. */
cuarena_status_t cuai_heap_add_block(cuarena_heap_t *heap, cuai_slot_t prev, uint64_t size,
                                     const cuarena_heap_request_t *request,
                                     cuarena_block_t *block_out);
/* A new STANDALONE block at `offset`, of `size` bytes that are in no segment; the caller makes sure
 * that no other block has any of them. LIMIT or OUT_OF_MEMORY, with the last error set.
 * cuai_heap_free ends it. */
cuarena_status_t cuai_heap_add_standalone(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                          const cuarena_heap_request_t *request, cuai_note_t note,
                                          cuai_slot_t *slot_out);
/* Up to `room` ranges of a free list that have so many bytes, a granule or more: of the highest
 * zones first, and there of the largest classes. Returns how many. Looks at a bounded number. */
size_t cuai_heap_large_ranges(const cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes,
                              cuai_slot_t *slots, size_t room);
/* The first STANDALONE block of a heap, which may be NULL, after a slot; 0: there is none.
 * O(slots). */
cuai_slot_t cuai_heap_next_standalone(const cuarena_heap_t *heap, cuai_slot_t slot);
/* Says that a block or a segment has no record: LIMIT or OUT_OF_MEMORY. */
cuarena_status_t cuai_no_bookkeeping(cuarena_status_t status);
/* Ends every block, STANDALONE ones too; segments stay, each one idle range. Nothing is cached now.
 * O(slots). */
void cuai_heap_clear(cuarena_heap_t *heap);

#endif
