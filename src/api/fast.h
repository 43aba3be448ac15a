/*
 * What the fast paths share (fast.c, fast_cache.c). Functions here are called with the lock held,
 * never wait, never call the memory, and never let go of the lock.
 */
#ifndef CUAI_API_FAST_H
#define CUAI_API_FAST_H

#include "api/call.h"
#include "arena/cache.h"
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

/* Puts a block that has these attributes, with whatever owner, into the cache, freed on such a
 * stream or, with NULL, on none. False: nothing was done. */
bool cuai_fast_cache_put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes,
                         cuai_stream_t *s) CUAI_OUTLINE;

/* Whether the cache is all that keeps verbs, to which the `harmless` bits of `slow` do not matter,
 * from the plain fast path. */
static CUAI_INLINE bool cuai_fast_only_caches(const cuarena_t *arena, uint32_t harmless)
{
    return (arena->slow & ~harmless) == CUAI_SLOW_CACHE;
}

/* Whether a request that no cached block fits may take spare bytes at once: no limit is near, and
 * the records that the block's end may take are there. */
static CUAI_INLINE bool cuai_fast_has_spare(const cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    return heap->simple && heap->idle->free_bytes - 1 < arena->plain_spare &&
           heap->segment_count + cuai_block_records(heap) + 1 < heap->segment_room;
}

/* Leaves a request without a stream to the plain fast path, and counts the miss, if nothing is
 * cached and there are spare bytes: so small blocks beside a cache cost what others do. */
static CUAI_INLINE bool cuai_fast_misses(cuarena_t *arena, uint32_t harmless)
{
    if (!cuai_fast_only_caches(arena, harmless) || arena->heaps[CUAI_DYNAMIC]->cached_blocks != 0 ||
        !cuai_fast_has_spare(arena))
        return false;
    arena->cache.misses++;
    return true;
}

/* Leaves a block that is freed without a stream to the plain fast path if the cache has no room for
 * it and it may join the spare bytes; whether the record has a block at all is not looked at. If
 * that path refuses it, `unreturned` is set for nothing, which costs the next look at it, and no
 * call of the memory. */
static CUAI_INLINE bool cuai_fast_spares(cuarena_t *arena, const cuai_record_t *r,
                                         uint32_t harmless)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (!cuai_fast_only_caches(arena, harmless) || heap->cache == NULL || !heap->simple ||
        cuai_cache_has_room(arena, r->size) || !cuai_cache_spares(arena, r->size))
        return false;
    arena->unreturned = true;
    return true;
}

/* Allocates an ordinary block by the cache that this thread has in an arena that threads share, for
 * calls on a stream or, with CUARENA_NO_STREAM, without. `what` is a CUAI_BY_...; the name is the
 * block's address or id. False: nothing was done, and the slow path is to do it. No lock. */
bool cuai_tcache_alloc(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream, int what,
                       uint64_t *name_out) CUAI_OUTLINE;
/* Frees a block by the cache of this thread, on a stream or, with CUARENA_NO_STREAM, without;
 * `what` and the name are those of cuai_tcache_alloc. False: nothing was done, and the slow path is
 * to do it. No lock. */
bool cuai_tcache_free(cuarena_t *arena, uint64_t name, cuarena_stream_t stream,
                      int what) CUAI_OUTLINE;

#endif
