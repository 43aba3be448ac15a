/* Requests, and blocks from bytes that are reserved (alloc.c). */
#ifndef CUAI_ARENA_ALLOC_H
#define CUAI_ARENA_ALLOC_H

#include "arena/arena.h"
#include "arena/find.h"
#include "arena/peaks.h"
#include "heap/blocks.h"

/* Which free bytes beside a hole count for a request. */
typedef enum cuai_reach {
    CUAI_REACH_IDLE,
    CUAI_REACH_OWN,      /* those of its stream's free lists too */
    CUAI_REACH_FREELISTS /* those of all free lists too: the request's stream can steal them */
} cuai_reach_t;

/* A request that was checked, its size rounded. */
typedef struct cuai_request {
    cuarena_heap_request_t heap;
    uint64_t size;
    uint64_t credit; /* live bytes that it takes the place of */
    int32_t region;
    uint32_t growths; /* how often the arena has grown for it, or has tried to */
    uint32_t stream;  /* number; 0: none */
    cuai_reach_t reach;
    cuai_peaks_kept_t *before; /* gets the peaks before the block is counted; NULL: nobody asks */
    bool zeroed;
    bool dedicated;
    bool waits; /* its stream may be made to wait for others */
    bool soon;  /* only bytes that a bounded search finds count: stealing looks for the others */
    bool helps; /* it is for the new place of a block, which nobody watches by itself */
} cuai_request_t;

/* The region that has the heap of a request. Without a stable region a stable block is a pinned one
 * at the low end of the dynamic region. */
static inline int32_t cuai_region_for(const cuarena_t *arena, int32_t region)
{
    bool stable = region == CUAI_STABLE && arena->heaps[CUAI_STABLE] != NULL;
    return stable ? CUAI_STABLE : CUAI_DYNAMIC;
}

/* How many bytes more may live when `credit` of those that live go. */
uint64_t cuai_live_left(const cuarena_t *arena, uint64_t credit);
/* LIMIT, put into words, if `size` bytes more may not live when `credit` of those that live go. */
cuarena_status_t cuai_check_live(const cuarena_t *arena, uint64_t size, uint64_t credit);
/* Allocates a block from reserved bytes and counts it: from the request's free lists, then from
 * idle bytes. Returns the heap's answer, or LIMIT. */
cuarena_status_t cuai_try_alloc(cuarena_t *arena, const cuai_request_t *request,
                                cuai_block_ref_t *block_out);
/* Allocates a block from `part`, free bytes in whatever free lists, which join `freelist` for that,
 * and counts it. A request that is refused leaves the bytes where they are. */
cuarena_status_t cuai_try_alloc_gathered(cuarena_t *arena, const cuai_request_t *request,
                                         const cuai_free_part_t *part, uint32_t freelist,
                                         cuai_block_ref_t *block_out);
/* Ends a block that nothing moves and counts it; its bytes join the free list of a stream. A
 * dedicated block's segment is left to the caller, who gives it back; a private one's is left to
 * its session. */
void cuai_end_block(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);

#endif
