/*
 * The short paths of allocations and frees in heaps with several lanes, and
 * what all short paths share.
 *
 * As heap/hot.h, which does the work, they take no step that could fail, wait
 * or call the memory: where one is needed nothing was done, and the long path
 * begins anew. With one stream in a steady state they cost a seventh more
 * than the short path of a plain heap at most.
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

/* Whether frees on a stream, which is not 0, may. */
static inline bool cuai_short_frees_on(const cuarena_t *arena, uint32_t number)
{
    return cuai_short_serves(arena) && !cuai_has_unseen_moves(arena, number);
}

/* A block on a stream (0: without one) in a smooth heap, or 0. */
cuai_slot_t cuai_short_take(cuarena_t *arena, int32_t region, uint32_t number,
                            uint64_t bytes, uint64_t nature);
/* Ends the ordinary block that a link of the look-up names, on a stream or
 * without one; false: take the long path. */
bool cuai_short_give(cuarena_t *arena, int32_t region, cuai_slot_t *link,
                     uint32_t number);

#endif
