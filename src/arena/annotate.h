/*
 * What an arena tells a tool by NVTX (option nvtx): its blocks, as regions of memory, and how long
 * growth, compactions and running out take, as ranges. An arena that tells of blocks takes the slow
 * path for every call; others pay nothing.
 *
 * A region ends when the block is freed, although the stream of the free may still use the bytes.
 * This takes it that a tool looks at memory as it is when work is queued, which that work was
 * before the free. What is queued behind the free, on that stream too, is what it should find.
 */
#ifndef CUAI_ARENA_ANNOTATE_H
#define CUAI_ARENA_ANNOTATE_H

#include "arena/arena.h"
#include "arena/find.h"
#include "arena/move.h"
#include "nvtx/tool.h"

/* Begins to tell a tool, if the option wants that and there is one, before the arena has bytes. No
 * lock. */
void cuai_annotate_begin(cuarena_t *arena);
/* Tells no tool anything any more: this is a forked child, where its threads do not exist. */
void cuai_annotate_forget(cuarena_t *arena);

/* A block begins or ends for its user; CUARENA_EVENT_ALLOC or CUARENA_EVENT_FREE. */
void cuai_annotate_block(cuarena_t *arena, cuai_block_ref_t ref, int32_t kind) CUAI_NOINLINE;
/* Tells a tool that a block has another size where it is. */
void cuai_annotate_size(cuarena_t *arena, cuai_block_ref_t ref) CUAI_NOINLINE;
/* The blocks of a batch are at their new places. */
void cuai_annotate_moves(cuarena_t *arena, const cuai_batch_t *batch) CUAI_NOINLINE;
/* Bytes are no capture session's any more, and no block of it is in use there but those that live.
 */
void cuai_annotate_released(cuarena_t *arena, uint64_t begin, uint64_t end) CUAI_NOINLINE;

static inline bool cuai_is_annotated(const cuarena_t *arena)
{
    return CUAI_UNLIKELY((arena->slow & CUAI_SLOW_NVTX) != 0);
}

/* A range of time of this thread; `bytes` is shown beside its name, which is static. */
static inline void cuai_range_begin(const cuarena_t *arena, const char *name, uint64_t bytes)
{
    if (CUAI_UNLIKELY(arena->ranges))
        cuai_tool_range_begin(name, bytes);
}

static inline void cuai_range_end(const cuarena_t *arena)
{
    if (CUAI_UNLIKELY(arena->ranges))
        cuai_tool_range_end();
}

#endif
