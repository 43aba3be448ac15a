/*
 * Order among streams: who waits for whom around copies that the arena queues (stream_order.c). A
 * part of arena.h, which includes it.
 */
#ifndef CUAI_ARENA_ORDER_H
#define CUAI_ARENA_ORDER_H

#include "arena/arena.h"

/* Numbers of streams. */
typedef struct cuai_stream_set {
    uint64_t bits[2];
} cuai_stream_set_t;

static inline void cuai_set_add(cuai_stream_set_t *set, uint32_t number)
{
    CUAI_ASSERT(number < CUAI_STREAM_NUMBERS);
    set->bits[number / 64] |= UINT64_C(1) << number % 64;
}

static inline bool cuai_set_has(const cuai_stream_set_t *set, uint32_t number)
{
    CUAI_ASSERT(number < CUAI_STREAM_NUMBERS);
    return set->bits[number / 64] >> number % 64 & 1;
}

/* The streams that a block names: its own and those that use it. */
void cuai_set_add_block(const cuarena_t *arena, cuai_stream_set_t *set, const cuarena_heap_t *heap,
                        cuai_slot_t slot);
/* `number` (0: the caller) waits for what the streams of the set have been given so far. Steps
 * out. */
cuarena_status_t cuai_order_before(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number);
/* Copies were queued on `number`: the streams of the set wait for them, and whoever else comes
 * will. Steps out. */
cuarena_status_t cuai_order_after(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number);
/* Whether `number`, or with 0 the caller, may be ahead of copies. A stream of an open session waits
 * for them when that ends. */
static inline bool cuai_has_unseen_moves(const cuarena_t *arena, uint32_t number)
{
    if (arena->moved.event == NULL || cuai_is_captured(arena, number))
        return false;
    uint64_t saw = number == 0 ? arena->moved.host_saw : cuai_stream(arena, number)->saw_move;
    return saw != arena->moved.serial;
}

/* `number` is, or with 0 the caller is, ordered behind all copies of compactions. Steps out if any
 * may be under way. */
cuarena_status_t cuai_see_moves(cuarena_t *arena, uint32_t number);
/* Whose free list bytes join that are idle but for such copies: 0 if there are none. Steps out
 * likewise. */
uint32_t cuai_moving_stream(cuarena_t *arena);
/* The caller waits for all work that could use the memory's bytes. No handle
 * is touched where an event can stand for all streams; else those of streams that were not
 * released. Steps out. */
cuarena_status_t cuai_wait_for_work(cuarena_t *arena);
/* The caller waits for what a stream that it has just passed was given so far; with 0 for all work.
 * Counted. Steps out. */
cuarena_status_t cuai_wait_for_stream(cuarena_t *arena, uint32_t number);

/* ---- Ending later ------------------------------------------------------ */

/* The block is freed for its owner, and ends later; or lives on after all. */
static inline void cuai_mark_ending(cuarena_t *arena, cuai_record_t *r)
{
    arena->ending += (r->flags & CUAI_BLOCK_ENDING) == 0;
    r->flags |= CUAI_BLOCK_ENDING;
}

static inline void cuai_clear_ending(cuarena_t *arena, cuai_record_t *r)
{
    arena->ending--;
    r->flags &= (uint8_t)~CUAI_BLOCK_ENDING;
}

#endif
