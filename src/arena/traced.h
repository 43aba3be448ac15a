/*
 * What an arena tells its trace (trace/trace.h): the events, made with the arena's lock held, so
 * their times and what they say are of the moment in which they happened.
 */
#ifndef CUAI_ARENA_TRACED_H
#define CUAI_ARENA_TRACED_H

#include "arena/annotate.h"
#include "arena/arena.h"
#include "arena/find.h"
#include "arena/move.h"

/* Whether events are wanted. No lock. */
static inline bool cuai_is_traced(const cuarena_t *arena)
{
    return cuai_trace_is_on(&arena->trace);
}

/* Sets SLOW_TRACE by whether they are, which has changed. The caches of threads are stopped. */
void cuai_arena_follow_trace(cuarena_t *arena);
/* Adds the segments and live blocks that there are. O(blocks). */
void cuai_trace_live(cuarena_t *arena);

/* Looks at a block, for an event of now; the first one at a block without a tag. */
void cuai_see_untagged(cuai_block_ref_t ref, int32_t kind, cuarena_stream_t stream,
                       cuai_trace_entry_t *event);
void cuai_see_block(const cuarena_t *arena, cuai_block_ref_t ref, int32_t kind,
                    cuarena_stream_t stream, cuai_trace_entry_t *event);
/* Adds an event of a block, if events are wanted, with the stream by its handle; or by its number,
 * which also tells a tool (annotate.h). */
void cuai_trace_call(cuarena_t *arena, cuai_block_ref_t ref, int32_t kind, cuarena_stream_t stream);
void cuai_trace_block(cuarena_t *arena, cuai_block_ref_t ref, int32_t kind, uint32_t stream);
/* Adds an event of bytes of the arena as a whole, if events are wanted. */
void cuai_trace_bytes(cuarena_t *arena, int32_t kind, uint64_t bytes);
/* Adds an event of bytes that were freed on a stream before a time and became idle, if events are
 * wanted. */
void cuai_trace_idle(cuarena_t *arena, uint32_t stream, uint64_t bytes, uint64_t before_ns);
/* Adds an event of a refused request, if events are wanted. */
void cuai_trace_failure(cuarena_t *arena, cuarena_status_t status, uint64_t bytes,
                        cuarena_tag_t tag, uint32_t stream);
/* Adds an event of a step for a request, which brought something or had that status, if events are
 * wanted. `name` is static. */
void cuai_trace_step(cuarena_t *arena, int32_t step, const char *name, cuarena_status_t status,
                     uint64_t bytes, uint32_t stream);
/* Adds an event of a batch of moves and one of each of them, if events are wanted. */
void cuai_trace_batch(cuarena_t *arena, const cuai_batch_t *batch);

#endif
