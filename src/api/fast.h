/*
 * What the fast paths of pointers.c, blocks.c and streams.c share: which arenas have one, and how a
 * block is allocated, freed and resized in heaps with one free list and with several.
 *
 * A fast path never waits, calls the memory or drops the lock. Where that is needed it does nothing
 * and says so, and the slow path begins anew. heap/fast_path.h does the work, but for ranges at
 * which a SEPARATOR comes or goes, which the heap's own functions do.
 *
 * All functions here are called with the lock held.
 */
#ifndef CUAI_API_FAST_H
#define CUAI_API_FAST_H

#include "api/call.h"
#include "arena/counts.h"
#include "arena/streams.h"
#include "heap/fast_path.h"

/* A fast path takes sizes for which size - 1 is below this, so not 0, which wraps. */
#define CUAI_FAST_MOST (CUARENA_HEAP_MAX_SEGMENT / 2)

/* Whether allocations may take a fast path. Copies of compactions may be under way: they do not
 * touch free bytes. */
static inline bool cuai_fast_allocs(const cuarena_t *arena)
{
    return (arena->slow &
            ~(CUAI_SLOW_WHOLE | CUAI_SLOW_MOVED | CUAI_SLOW_FREELISTS | CUAI_SLOW_RESIZES)) == 0;
}

/* Whether allocations on a stream may. */
static inline bool cuai_fast_allocs_on(const cuarena_t *arena)
{
    return (arena->slow & ~(CUAI_SLOW_WHOLE | CUAI_SLOW_MOVED | CUAI_SLOW_FREELISTS |
                            CUAI_SLOW_ONLY_STREAM | CUAI_SLOW_RESIZES)) == 0;
}

/* Whether frees on a stream may: it must be behind the copies of compactions. */
static inline bool cuai_fast_frees_on(const cuarena_t *arena, const cuai_stream_t *s)
{
    return CUAI_LIKELY(cuai_fast_frees(arena)) ||
           (cuai_fast_allocs_on(arena) && s->saw_move == arena->moved.serial);
}

static inline uint64_t cuai_fast_size(const cuarena_t *arena, uint64_t bytes)
{
    CUAI_ASSERT(bytes != 0);
    return ((bytes - 1) | arena->granule_mask) + 1;
}

/* Allocates from a free list of a smooth heap, whose index this is; 0: it has no room. The
 * attributes are those of the whole record, its alignment and owner included. */
static CUAI_INLINE cuai_slot_t cuai_fast_alloc_in(cuarena_t *arena, int32_t region,
                                                  uint32_t freelist, cuai_index_t *index,
                                                  uint64_t size, uint64_t bytes,
                                                  uint64_t attributes, cuai_separators_t way,
                                                  uint64_t *offset_out)
{
    CUAI_ASSERT(bytes != 0 && size >= bytes);
    cuarena_heap_t *heap = arena->heaps[region];
    if (CUAI_UNLIKELY(!cuai_heap_fast_is_ready(heap)))
        return 0;
    return cuai_heap_fast_alloc_in(heap, index, freelist, size, bytes, attributes, way, offset_out);
}

/* Allocates from free list 0, with the granule's alignment; 0: it has no room. */
cuai_slot_t cuai_fast_alloc_idle(cuarena_t *arena, int32_t region, uint64_t bytes,
                                 uint64_t attributes) CUAI_NOINLINE;
/* Allocates for a stream from the free lists of the dynamic region that it may use, but its open
 * one, which was tried; 0: none has room. */
cuai_slot_t cuai_fast_alloc_other(cuarena_t *arena, const cuai_stream_t *s, uint64_t bytes,
                                  uint64_t attributes) CUAI_NOINLINE;

/* Allocates from the cache or, without a stream, from the spare bytes beside it (fast_cache.c);
 * `attributes` are without owner and alignment. The stream is one that cuai_stream_recent gave, or
 * NULL. 0: nothing was done. */
cuai_slot_t cuai_fast_cache_get(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes,
                                uint64_t attributes, void **pointer_out) CUAI_OUTLINE;
/* Puts a block that has these attributes, with whatever owner, into the cache, freed on such a
 * stream or, with NULL, on none; false: nothing was done. */
bool cuai_fast_cache_put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes,
                         cuai_stream_t *s) CUAI_OUTLINE;

/* Whether an address is in the stable region, the front of the first segment. Only arenas with
 * CUAI_SLOW_WHOLE have one. */
static inline bool cuai_is_stable(const cuarena_t *arena, const void *pointer)
{
    return arena->stable_bytes != 0 &&
           cuai_address(pointer) - arena->segments.items[0].address < arena->stable_bytes;
}

/* Frees an ordinary block in any heap, whose bytes join a free list; `owner` is the stream that
 * counted it, or NULL. */
void cuai_fast_free_apart(cuarena_t *arena, int32_t region, cuai_slot_t slot, uint32_t freelist,
                          cuai_stream_t *owner) CUAI_OUTLINE;

/* The same for a block that a link of the look-up names; `index` is the free list's. */
static CUAI_INLINE void cuai_fast_free(cuarena_t *arena, int32_t region, cuai_slot_t slot,
                                       cuai_slot_t *link, uint32_t freelist, cuai_index_t *index,
                                       cuai_stream_t *owner)
{
    CUAI_ASSERT(slot != 0);
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (CUAI_UNLIKELY(cuai_tag_of(r) != 0 || !heap->smooth ||
                      !cuai_heap_fast_joins(heap, r, freelist))) {
        cuai_fast_free_apart(arena, region, slot, freelist, owner);
        return;
    }
    if (owner != NULL)
        cuai_counter_end_block(&owner->counter, r);
    cuai_heap_fast_free_to(heap, index, freelist, slot, link);
}

/* The stream that counted the block, or NULL. */
static inline cuai_stream_t *cuai_fast_owner(const cuarena_t *arena, const cuai_record_t *r)
{
    return r->owner != 0 ? cuai_counting_stream(arena, r) : NULL;
}

/* Frees an ordinary block, whose bytes join free list 0. */
static CUAI_INLINE void cuai_fast_free_idle(cuarena_t *arena, int32_t region, cuai_slot_t slot,
                                            cuai_slot_t *link)
{
    const cuarena_heap_t *heap = arena->heaps[region];
    cuai_fast_free(arena, region, slot, link, 0, heap->idle,
                   cuai_fast_owner(arena, cuai_record(heap, slot)));
}

/* Resizes an ordinary block of the dynamic region in place: a free list gives the bytes that it
 * lacks or gets those that it leaves. False: nothing was done. */
static CUAI_INLINE bool cuai_fast_resize(cuarena_t *arena, cuai_slot_t slot, uint32_t freelist,
                                         uint64_t bytes)
{
    CUAI_ASSERT(slot != 0 && bytes != 0);
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (CUAI_UNLIKELY(!heap->smooth || !cuai_range_joins(r, freelist)))
        return false;
    uint64_t size = r->size;
    uint64_t requested = cuai_requested(r);
    if (CUAI_UNLIKELY(!cuai_heap_fast_resize(heap, heap->freelists[freelist], freelist, slot,
                                             cuai_fast_size(arena, bytes), bytes)))
        return false;
    if (CUAI_UNLIKELY(((arena->slow & CUAI_SLOW_WHOLE) | cuai_tag_of(r) | r->owner) != 0))
        cuai_count_resize(arena, r, r->size - size, bytes - requested);
    return true;
}

#endif
