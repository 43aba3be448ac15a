/* Order among streams: who waits for whom around copies that the arena queues (stream_order.c). */
#ifndef CUAI_ARENA_STREAM_ORDER_H
#define CUAI_ARENA_STREAM_ORDER_H

#include "arena/streams.h"

/* Adds the streams that a block names: its owner and those that use it. */
void cuai_set_add_block(const cuarena_t *arena, cuai_stream_set_t *set, const cuarena_heap_t *heap,
                        cuai_slot_t slot);
/* Lets `number` (0: the caller) wait for the work that the streams of the set have so far. Drops
 * the lock. */
cuarena_status_t cuai_order_before(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number);
/* Copies were queued on `number`: lets the streams of the set wait for them; all others will when
 * they next name a block. Drops the lock. */
cuarena_status_t cuai_order_after(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number);

/* Whether `number`, or with 0 the caller, may be ahead of copies. A stream of an open session waits
 * for them when that ends. */
static inline bool cuai_has_unseen_moves(const cuarena_t *arena, uint32_t number)
{
    return arena->moved.serial != 0 && !cuai_is_captured(arena, number) &&
           !cuai_has_seen(arena, number, arena->moved);
}

/* Orders `number`, or with 0 the caller, behind all copies of compactions, unless it is in an open
 * session by then. Drops the lock if any may be under way. */
cuarena_status_t cuai_see_moves(cuarena_t *arena, uint32_t number);
/* The stream whose free list bytes join that are idle but for such copies; 0: none are under way.
 * Drops the lock if any may be. */
uint32_t cuai_moving_stream(cuarena_t *arena);
/* Orders a free. Without a stream the bytes are idle; while copies of compactions are under way
 * they are for the stream of these. With a stream it waits for such copies and, with events=eager,
 * an event is recorded behind the free. Drops the lock. */
cuarena_status_t cuai_order_free(cuarena_t *arena, uint32_t *number);
/* Waits for all work that could use the memory's bytes. Where one event can stand for all streams
 * no handle is used, else those of streams that were not released. Drops the lock. */
cuarena_status_t cuai_wait_for_work(cuarena_t *arena);
/* Waits, and counts the wait, for the work so far of a stream that the caller has just passed; with
 * 0 for all work. Drops the lock. */
cuarena_status_t cuai_wait_for_stream(cuarena_t *arena, uint32_t number);

#endif
