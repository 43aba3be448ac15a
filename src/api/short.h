/*
 * The short paths of allocations and frees in heaps with several lanes, and
 * what all short paths share.
 *
 * As heap/hot.h, which does the work, they take no step that could fail, wait
 * or call the memory: where one is needed nothing was done, and the long path
 * begins anew. With one stream in a steady state they cost a quarter more than
 * the short path of a plain heap.
 */
#ifndef CUAI_API_SHORT_H
#define CUAI_API_SHORT_H

#include "api/call.h"
#include "heap/hot.h"

/* One less than the sizes that a short path takes: 0 wraps and is out. */
#define CUAI_SHORT_MOST (CUARENA_HEAP_MAX_SEGMENT / 2)

/* What ordinary blocks are like. */
#define CUAI_POINTER_FLAGS (CUAI_BLOCK_POINTER | CUAI_BLOCK_BORN_PIN)
#define CUAI_POINTER_NATURE CUAI_NATURE(1, CUAI_BLOCK, CUAI_POINTER_FLAGS)
#define CUAI_STABLE_NATURE                                                     \
    CUAI_NATURE(1, CUAI_BLOCK, CUAI_POINTER_FLAGS | CUAI_BLOCK_STABLE)
#define CUAI_BLOCK_NATURE CUAI_NATURE(0, CUAI_BLOCK, 0)

/* Whether allocations may take a short path: copies of compactions are no
 * matter to bytes that are free. */
static inline bool cuai_short_serves(const cuarena_t *arena)
{
    return (arena->slow & ~(CUAI_SLOW_WHOLE | CUAI_SLOW_MOVED)) == 0;
}

/* Whether frees on a stream may: it is behind such copies. */
static inline bool cuai_short_frees_on(const cuarena_t *arena,
                                       const cuai_stream_t *s)
{
    return cuai_short_serves(arena) && (!(arena->slow & CUAI_SLOW_MOVED) ||
                                        s->saw_move == arena->moved.serial);
}

/* From a lane of a smooth heap; 0: it has no room, or CUAI_HOT_DISTURBS. */
static CUAI_INLINE cuai_slot_t cuai_short_take_in(cuarena_t *arena,
                                                  int32_t region, uint32_t lane,
                                                  uint64_t bytes,
                                                  uint64_t nature)
{
    cuarena_heap_t *heap = arena->heaps[region];
    uint64_t size = (bytes + arena->granule_mask) & ~arena->granule_mask;
    cuai_index_t *index = heap->lanes[lane];
    if (CUAI_UNLIKELY(!cuai_hot_is_ready(heap) || index->free_bytes < size))
        return 0;
    return cuai_hot_take_at(heap, index, lane, size, bytes, nature, true);
}

/* The same from lane 0; and, for a stream, from all that serves it in the
 * dynamic region but its open lane. */
cuai_slot_t cuai_short_take_settled(cuarena_t *arena, int32_t region,
                                    uint64_t bytes,
                                    uint64_t nature) CUAI_NOINLINE;
cuai_slot_t cuai_short_take_other(cuarena_t *arena, const cuai_stream_t *s,
                                  uint64_t bytes,
                                  uint64_t nature) CUAI_NOINLINE;

static inline bool cuai_short_took(cuai_slot_t slot)
{
    return slot != 0 && slot != CUAI_HOT_DISTURBS;
}

/* Ends the ordinary block that a link of the look-up names; its bytes join a
 * lane. False: take the long path. */
static CUAI_INLINE bool cuai_short_give(cuarena_t *arena, int32_t region,
                                        cuai_slot_t *link, uint32_t lane)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_record_t *r = cuai_record(heap, *link);
    if (CUAI_UNLIKELY(!heap->smooth))
        return false;
    if (CUAI_UNLIKELY(cuai_tag_of(r) != 0))
        cuai_tag_free(arena, r);
    if (r->owner != 0)
        cuai_count_out(&cuai_stream(arena, r->owner)->counts, r);
    if (CUAI_LIKELY(cuai_hot_joins(heap, r, lane)))
        cuai_hot_give_to(heap, heap->lanes[lane], lane, link);
    else
        cuai_heap_give(heap, *link, lane);
    return true;
}

#endif
