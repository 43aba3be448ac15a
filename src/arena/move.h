/*
 * Moving live blocks: a batch is a plan of the heap together with the lists of the callback and of
 * the memory; begun with the lock, executed without it.
 */
#ifndef CUAI_ARENA_MOVE_H
#define CUAI_ARENA_MOVE_H

#include "arena/find.h"
#include "arena/stream.h"

/* A compaction of the dynamic region that was planned and begun. */
typedef struct cuai_batch {
    cuarena_heap_plan_t *plan;  /* owns the lists; NULL: the batch does */
    cuarena_relocation_t *list; /* for the callback */
    cuarena_relocation_t *runs; /* for the memory: neighbours joined */
    size_t count;
    size_t runs_count;
    uint64_t bytes;
    uint64_t freed_while_moving; /* the arena's, when it began */
    uint32_t stream;             /* number: on which it moves */
    cuai_stream_set_t streams;   /* of its blocks */
} cuai_batch_t;

/* Plans and begins, to be moved on a stream (0: done when executed); an empty batch is OK.
 * `largest_out`, unless NULL, gets the largest idle range that there was before. */
cuarena_status_t cuai_batch_begin(cuarena_t *arena, const cuarena_heap_plan_options_t *options,
                                  uint32_t stream, uint64_t *largest_out, cuai_batch_t *batch);
/* Moves the bytes and commits. Blocks freed meanwhile end, and leave the list. On an error nothing
 * moved, or the arena is lost. Steps out. */
cuarena_status_t cuai_batch_execute(cuarena_t *arena, cuai_batch_t *batch);
void cuai_batch_end(cuarena_t *arena, cuai_batch_t *batch);

/* A batch of every block of the dynamic region, all marked as moving; where to is said by
 * cuai_batch_shift, in bytes. */
cuarena_status_t cuai_batch_all(cuarena_t *arena, cuai_batch_t *batch);
void cuai_batch_shift(cuai_batch_t *batch, uint64_t distance);
/* The blocks' moves have ended. Blocks freed meanwhile end, and leave the
 * list. */
void cuai_batch_reclaim(cuarena_t *arena, cuai_batch_t *batch);
/* A pool of another size in a new segment, to which everything moves: no
 * block of it has a pin, none is stable. The batch is for the callback, and
 * to be ended. Steps out. */
cuarena_status_t cuai_move_pool(cuarena_t *arena, uint64_t bytes, cuai_batch_t *batch);

/* Copies `bytes` from one address to another, on a stream. Steps out; nothing may move or free
 * either meanwhile: mark their blocks. */
cuarena_status_t cuai_copy(cuarena_t *arena, uint64_t to, uint64_t from, uint64_t bytes,
                           uint32_t stream);
/* Marks a block as being moved, and ends that: one that was freed meanwhile then ends too (true),
 * into the free list of a stream. */
void cuai_mark_moving(cuarena_t *arena, cuai_block_ref_t ref);
void cuai_clear_moving(cuarena_t *arena, cuai_block_ref_t ref);
bool cuai_end_moving(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);

#endif
