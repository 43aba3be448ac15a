/*
 * Free lists other than the idle one: what moves between them, whole ranges or parts (freelists.c,
 * stretches.c).
 */
#ifndef CUAI_HEAP_FREELISTS_H
#define CUAI_HEAP_FREELISTS_H

#include "heap/blocks.h"
#include "heap/heap.h"

/* As cuarena_heap_freelist_absorb, of a free list in use that is not 0; sets no last error. */
bool cuai_freelist_absorb(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes);
/* The range that a part would be in once it is gathered: with what touches it in that free list. */
cuai_free_part_t cuai_freelist_gathered(const cuarena_heap_t *heap, const cuai_free_part_t *part,
                                        uint32_t freelist);
/* Transfers a part to a free list in use that is not 0; returns the record whose range has it then.
 * Two slots are ready, besides those that frees may need. O(ranges in it). */
cuai_slot_t cuai_freelist_gather(cuarena_heap_t *heap, const cuai_free_part_t *part,
                                 uint32_t freelist);

/* ---- Stretches: free bytes that change free lists (stretches.c) ---------- */

/* Transfers `bytes` of one idle range, aligned and as low as a bounded look finds, to a free list
 * in use that is not 0. OUT_OF_MEMORY, FRAGMENTED or LIMIT, with nothing changed and no last error
 * set. */
cuarena_status_t cuai_stretch_assign(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes,
                                     uint64_t alignment, uint64_t *begin_out);
/* Reclaims [begin, end), which is part of one range of that free list. OUT_OF_MEMORY or LIMIT, with
 * nothing changed and no last error set. O(ranges of the free list). */
cuarena_status_t cuai_stretch_reclaim(cuarena_heap_t *heap, uint32_t freelist, uint64_t begin,
                                      uint64_t end);

#endif
