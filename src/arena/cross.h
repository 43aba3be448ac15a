/*
 * Crossing: requests that are served from other streams' lanes (cross.c). A
 * part of arena.h, which includes it.
 */
#ifndef CUAI_ARENA_CROSS_H
#define CUAI_ARENA_CROSS_H

#include "arena/arena.h"

/* What came of it. */
typedef enum cuai_crossed {
    CUAI_CROSSED_NOWHERE, /* it is behind nobody, and may not wait */
    CUAI_CROSSED_NOTHING,
    CUAI_CROSSED_SETTLED, /* bytes were settled: look for them there */
    CUAI_CROSSED          /* the request is served */
} cuai_crossed_t;

/* Requests of this share of their heap are large: they are placed across all
 * lanes that their stream may use. The figure is a power of two. */
#define CUAI_LARGE_SHIFT 10

/* Whether requests of this size on a stream are placed across the lanes. */
static inline bool cuai_goes_across(const cuarena_t *arena,
                                    const cuarena_heap_t *heap, uint64_t size)
{
    return arena->stream_count > 1 &&
           size >= heap->capacity >> CUAI_LARGE_SHIFT &&
           arena->config.steal == CUARENA_STEAL_WAIT && !arena->cpu_touches;
}

/* Serves it if it can be placed so without a wait, else as the heap's answer:
 * LIMIT, FRAGMENTED, OUT_OF_MEMORY. */
cuarena_status_t cuai_serve_across(cuarena_t *arena, const cuai_want_t *want,
                                   cuai_found_t *found_out);
/* Serves a request on a stream from lanes together, and lets the stream wait
 * for others; or settles what is complete now. Steps: ranges. Steps out. */
cuai_crossed_t cuai_cross(cuarena_t *arena, const cuai_want_t *want,
                          cuai_found_t *found_out);
/* The stream waits for all others, and gets what their lanes have in the
 * dynamic region: a compaction on it moves blocks into that too. Steps: these
 * ranges. Steps out. */
cuarena_status_t cuai_cross_all(cuarena_t *arena, uint32_t number);
/* `waiter` is behind a marker of `producer` that has this serial. */
void cuai_stream_saw(cuarena_t *arena, uint32_t waiter, uint32_t producer,
                     uint64_t serial);
/* A moment of the stream: what it frees until then can be told from what it
 * frees later. Steps out. */
cuarena_status_t cuai_moment(cuarena_t *arena, uint32_t number,
                             uint64_t *serial_out);
/* The caller made `waiter` wait for such a moment of `producer`, or with 0
 * waited itself. Steps out. */
void cuai_note_wait(cuarena_t *arena, uint32_t waiter, uint32_t producer,
                    uint64_t serial);

#endif
