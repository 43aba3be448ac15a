/*
 * What the fast paths share (fast.c, fast_cache.c). Functions here are called with the lock held,
 * never wait, never call the memory, and never let go of the lock.
 */
#ifndef CUAI_API_FAST_H
#define CUAI_API_FAST_H

#include "api/call.h"
#include "arena/counts.h"
#include "arena/streams.h"
#include "heap/fast_path.h"

/* What stands for a slot where the allocation is the plain fast path's. No slot is that high. */
#define CUAI_SLOT_PLAIN UINT32_MAX

/* The block that an address or id names; none: its heap is NULL. `what` is a CUAI_BY_... */
static inline cuai_block_ref_t cuai_block_named(const cuarena_t *arena, uint64_t name, int what)
{
    return what == CUAI_BY_POINTER ? cuai_find_address(arena, name) : cuai_find_block(arena, name);
}

/* Allocates from the cache; `attributes` are without owner and alignment. The stream is one that
 * cuai_stream_recent gave, or NULL. 0: nothing was done. CUAI_SLOT_PLAIN, only without a stream: no
 * cached block fits, a miss was counted, and the plain fast path may cut the block from the spare
 * bytes beside the cache; if it cannot, the caller takes the miss back. */
cuai_slot_t cuai_fast_cache_get(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes,
                                uint64_t attributes) CUAI_OUTLINE;

typedef enum cuai_freed {
    CUAI_NOT_FREED, /* nothing was done */
    CUAI_FREED,
    CUAI_FREED_PLAIN /* nothing was done yet: the free is the plain fast path's */
} cuai_freed_t;

/* Puts a block that has these attributes, with whatever owner, into the cache, freed on such a
 * stream or, with NULL, on none. PLAIN, only without a stream: the cache has no room, and the block
 * may join the spare bytes beside it; whether the slot has a block at all was not looked at. */
cuai_freed_t cuai_fast_cache_put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes,
                                 cuai_stream_t *s) CUAI_OUTLINE;

/* Allocates an ordinary block by the cache that this thread has in an arena that threads share, for
 * calls on a stream or, with CUARENA_NO_STREAM, without. `what` is a CUAI_BY_...; the name is the
 * block's address or id. False: nothing was done, and the slow path is to do it. No lock. */
bool cuai_tcache_alloc(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream, int what,
                       uint64_t *name_out) CUAI_OUTLINE;
/* Frees the block of a name likewise. */
bool cuai_tcache_free(cuarena_t *arena, uint64_t name, cuarena_stream_t stream,
                      int what) CUAI_OUTLINE;

#endif
