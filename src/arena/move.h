/*
 * Moving live blocks.
 *
 * A batch is a plan of the heap together with the lists for the callback and for the memory. It is
 * begun under the lock and executed without it.
 */
#ifndef CUAI_ARENA_MOVE_H
#define CUAI_ARENA_MOVE_H

#include "arena/find.h"
#include "arena/stream.h"

/* A compaction of the dynamic region that was planned and begun. */
typedef struct cuai_batch {
    cuarena_heap_plan_t *plan;  /* it has the lists; NULL: the batch has them */
    cuarena_relocation_t *list; /* for the callback */
    cuarena_relocation_t *runs; /* for the memory, neighbours joined */
    size_t count;
    size_t runs_count;
    uint64_t bytes;
    uint64_t freed_while_moving; /* of the arena when the batch began */
    uint32_t stream;             /* the number of the stream that does the copies */
    cuai_stream_set_t streams;   /* that its blocks name */
} cuai_batch_t;

/* Plans and begins a batch for copies on a stream (0: they are done when it was executed). An empty
 * batch is OK. *largest_out, unless NULL, gets the largest idle range that there was before. */
cuarena_status_t cuai_batch_begin(cuarena_t *arena, const cuarena_heap_plan_options_t *options,
                                  uint32_t stream, uint64_t *largest_out, cuai_batch_t *batch);
/* Moves the bytes and commits. Blocks that were freed meanwhile end, and leave the list. On an
 * error nothing moved, or the arena is lost. Drops the lock. */
cuarena_status_t cuai_batch_execute(cuarena_t *arena, cuai_batch_t *batch);
void cuai_batch_end(cuarena_t *arena, cuai_batch_t *batch);
/* Counts the moves of a batch that were made. */
void cuai_batch_count(cuarena_t *arena, const cuai_batch_t *batch);

/* Makes a batch of all blocks of the dynamic region, and marks them as moving. cuai_batch_shift
 * then says by how many bytes they move. */
cuarena_status_t cuai_batch_all(cuarena_t *arena, cuai_batch_t *batch);
void cuai_batch_shift(cuai_batch_t *batch, uint64_t distance);
/* The moves of all blocks have ended. Blocks that were freed meanwhile end, and leave the list;
 * their bytes join the free list of the heir: where nothing was copied, each that of the stream on
 * which it was freed. */
#define CUAI_ITS_OWN UINT32_MAX
void cuai_batch_reclaim(cuarena_t *arena, cuai_batch_t *batch, uint32_t heir);
/* Waits until the blocks and the free bytes of a pool can move: no thread has marked a block, and
 * all free bytes are idle. Drops the lock, so whether blocks may move is to be looked up again. */
cuarena_status_t cuai_ready_to_move_pool(cuarena_t *arena);
/* Moves a pool, which is ready, to a new segment of another size; no block of it has a pin, and
 * none is stable. The batch is for the callback, and the caller ends it. Drops the lock. */
cuarena_status_t cuai_move_pool(cuarena_t *arena, uint64_t bytes, cuai_batch_t *batch);

/* Copies bytes from one address to another on a stream. The blocks at both are marked as moving, so
 * that nobody moves or frees them meanwhile. Drops the lock. */
cuarena_status_t cuai_copy(cuarena_t *arena, uint64_t to, uint64_t from, uint64_t bytes,
                           uint32_t stream);
/* Marks a block as moving, and ends that. A block that was freed meanwhile is ended by
 * cuai_end_moving, which then returns true; its bytes join the free list of a stream. */
void cuai_mark_moving(cuarena_t *arena, cuai_block_ref_t ref);
void cuai_clear_moving(cuarena_t *arena, cuai_block_ref_t ref);
bool cuai_end_moving(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);

#endif
