/*
 * Stealing: requests that are served from other streams' free lists (steal.c). A part of arena.h,
 * which includes it.
 */
#ifndef CUAI_ARENA_STEAL_H
#define CUAI_ARENA_STEAL_H

#include "arena/arena.h"

/* What came of it. */
typedef enum cuai_stolen {
    CUAI_STOLEN_NOWHERE, /* it is behind nobody, and may not wait */
    CUAI_STOLEN_NOTHING,
    CUAI_STOLEN_IDLE, /* bytes were idle: look for them there */
    CUAI_STOLEN       /* the request is served */
} cuai_stolen_t;

/* Requests of this share of their heap are large: they are placed across all free lists that their
 * stream may use. The figure is a power of two. */
#define CUAI_LARGE_SHIFT 10

/* Whether requests of this size on a stream are placed across the free lists. */
static inline bool cuai_steals_for(const cuarena_t *arena, const cuarena_heap_t *heap,
                                   uint64_t size)
{
    return arena->stream_count > 1 && size >= heap->capacity >> CUAI_LARGE_SHIFT &&
           arena->config.steal == CUARENA_STEAL_WAIT && !arena->cpu_touches;
}

/* Serves it if it can be placed so without a wait, else as the heap's answer: LIMIT, FRAGMENTED,
 * OUT_OF_MEMORY. */
cuarena_status_t cuai_try_alloc_stealing(cuarena_t *arena, const cuai_request_t *request,
                                         cuai_block_ref_t *block_out);
/* Serves a request on a stream from free lists together, and lets the stream wait for others; or
 * reclaims what is complete now. Steps: ranges. Steps out. */
cuai_stolen_t cuai_steal(cuarena_t *arena, const cuai_request_t *request,
                         cuai_block_ref_t *block_out);
/* The stream waits for all others, and gets what their free lists have in the dynamic region: a
 * compaction on it moves blocks into that too. Steps: these ranges. Steps out. */
cuarena_status_t cuai_steal_all(cuarena_t *arena, uint32_t number);
/* `waiter` is behind an event of `producer` that has this serial. */
void cuai_stream_saw(cuarena_t *arena, uint32_t waiter, uint32_t producer, uint64_t serial);
/* A moment of the stream: what it frees until then can be told from what it frees later. Steps
 * out. */
cuarena_status_t cuai_moment(cuarena_t *arena, uint32_t number, uint64_t *serial_out);
/* The caller made `waiter` wait for such a moment of `producer`, or with 0 waited itself. Steps
 * out. */
void cuai_note_wait(cuarena_t *arena, uint32_t waiter, uint32_t producer, uint64_t serial);

#endif
