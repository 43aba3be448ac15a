/*
 * The fast paths of allocations and frees in heaps with several free lists, that of resizes in
 * place, and what all fast paths share.
 *
 * As heap/fast_path.h, which does the work, they take no step that could wait or call the memory:
 * where one is needed nothing was done, and the slow path begins anew. Where a SEPARATOR comes or
 * goes the heap's own functions do the work.
 */
#ifndef CUAI_API_FAST_H
#define CUAI_API_FAST_H

#include "api/call.h"
#include "arena/counts.h"
#include "arena/streams.h"
#include "heap/fast_path.h"

/* One less than the sizes that a fast path takes: 0 wraps and is out. */
#define CUAI_FAST_MOST (CUARENA_HEAP_MAX_SEGMENT / 2)

/* Whether allocations may take a fast path: copies of compactions are no matter to bytes that are
 * free. */
static inline bool cuai_fast_serves(const cuarena_t *arena)
{
    return (arena->slow &
            ~(CUAI_SLOW_WHOLE | CUAI_SLOW_MOVED | CUAI_SLOW_FREELISTS | CUAI_SLOW_RESIZES)) == 0;
}

/* The same of those on a stream. */
static inline bool cuai_fast_serves_on(const cuarena_t *arena)
{
    return (arena->slow & ~(CUAI_SLOW_WHOLE | CUAI_SLOW_MOVED | CUAI_SLOW_FREELISTS |
                            CUAI_SLOW_ONLY_STREAM | CUAI_SLOW_RESIZES)) == 0;
}

/* Whether frees on a stream may: it is behind such copies. */
static inline bool cuai_fast_frees_on(const cuarena_t *arena, const cuai_stream_t *s)
{
    return CUAI_LIKELY(cuai_fast_path(arena)) ||
           (cuai_fast_serves_on(arena) && s->saw_move == arena->moved.serial);
}

static inline uint64_t cuai_fast_size(const cuarena_t *arena, uint64_t bytes)
{
    return ((bytes - 1) | arena->granule_mask) + 1;
}

/* From a free list of a smooth heap, whose index this is, a block of a whole attributes; 0: it has
 * no room. */
static CUAI_INLINE cuai_slot_t cuai_fast_take_in(cuarena_t *arena, int32_t region,
                                                 uint32_t freelist, cuai_index_t *index,
                                                 uint64_t size, uint64_t bytes, uint64_t attributes,
                                                 cuai_separators_t way, uint64_t *offset_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    if (CUAI_UNLIKELY(!cuai_heap_fast_is_ready(heap)))
        return 0;
    return cuai_heap_fast_alloc_in(heap, index, freelist, size, bytes, attributes, way, offset_out);
}

/* The same from free list 0, of these attributes and the granule's alignment; and, for a stream,
 * from all that serves it in the dynamic region but its open free list. */
cuai_slot_t cuai_fast_take_idle(cuarena_t *arena, int32_t region, uint64_t bytes,
                                uint64_t attributes) CUAI_NOINLINE;
cuai_slot_t cuai_fast_take_other(cuarena_t *arena, const cuai_stream_t *s, uint64_t bytes,
                                 uint64_t attributes) CUAI_NOINLINE;

/* From the cache (fast_cache.c), for a stream that was found lately or NULL, a block of attributes
 * without owner and alignment, and where it is; 0: nothing was done. */
cuai_slot_t cuai_fast_hit(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes, uint64_t attributes,
                          void **pointer_out) CUAI_OUTLINE;
/* Parks a block of these attributes, whosever it is, that is freed on such a stream or, NULL, on
 * none; false: nothing was done. */
bool cuai_fast_cache_put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes,
                         cuai_stream_t *s) CUAI_OUTLINE;

/* Whether an address is of the stable region: the front of the first segment. Only arenas with
 * SLOW_WHOLE have one. */
static inline bool cuai_is_stable(const cuarena_t *arena, const void *pointer)
{
    return arena->stable_bytes != 0 &&
           cuai_address(pointer) - arena->segments.items[0].address < arena->stable_bytes;
}

/* Ends an ordinary block in any heap; its bytes join a free list. Its owner has not counted it out,
 * or is NULL. */
void cuai_fast_give_apart(cuarena_t *arena, int32_t region, cuai_slot_t slot, uint32_t freelist,
                          cuai_stream_t *owner) CUAI_OUTLINE;

/* The same of one which a link of the look-up names; `index` is the free list's. */
static CUAI_INLINE void cuai_fast_give(cuarena_t *arena, int32_t region, cuai_slot_t slot,
                                       cuai_slot_t *link, uint32_t freelist, cuai_index_t *index,
                                       cuai_stream_t *owner)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (CUAI_UNLIKELY(cuai_tag_of(r) != 0 || !heap->smooth ||
                      !cuai_heap_fast_joins(heap, r, freelist))) {
        cuai_fast_give_apart(arena, region, slot, freelist, owner);
        return;
    }
    if (owner != NULL) /* which mostly is known here */
        cuai_counter_end_block(&owner->counter, r);
    cuai_heap_fast_free_to(heap, index, freelist, slot, link);
}

/* The stream whose meter has counted it, or NULL. */
static inline cuai_stream_t *cuai_fast_owner(const cuarena_t *arena, const cuai_record_t *r)
{
    return r->owner != 0 ? cuai_counting_stream(arena, r) : NULL;
}

/* The same to free list 0. */
static CUAI_INLINE void cuai_fast_give_idle(cuarena_t *arena, int32_t region, cuai_slot_t slot,
                                            cuai_slot_t *link)
{
    const cuarena_heap_t *heap = arena->heaps[region];
    cuai_fast_give(arena, region, slot, link, 0, heap->idle,
                   cuai_fast_owner(arena, cuai_record(heap, slot)));
}

/* Resizes an ordinary block of the dynamic region in place, with bytes of a free list; false:
 * nothing was done. The arena is not slow but for SLOW_WHOLE. */
static CUAI_INLINE bool cuai_fast_resize(cuarena_t *arena, cuai_slot_t slot, uint32_t freelist,
                                         uint64_t bytes)
{
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
