/*
 * The driver's pool behind an arena, for calls that are about arenas in general.
 */
#ifndef CUAI_API_DRIVER_POOL_H
#define CUAI_API_DRIVER_POOL_H

#include "api/call.h"

/* Whether each block is a piece of such a pool. Then the pool has the free bytes; else the arena's
 * segments have them. */
static inline bool cuai_pool_has_the_rest(const cuarena_t *arena)
{
    return arena->memory.pool != NULL && arena->config.segments == CUARENA_SEGMENTS_EACH;
}

/* The pool gives free bytes back until `keep_bytes` are left; adds to *given how many went. Counts
 * as a trim and a shrinkage. Drops the lock. */
cuarena_status_t cuai_driver_pool_trim(cuarena_t *arena, uint64_t keep_bytes, uint64_t *given);
/* Lets the pool give free bytes back until `keep_bytes` are left, once the caller has waited for
 * the stream's work so far or, with CUARENA_NO_STREAM, for all work; adds to *given how many went.
 * Drops the lock. */
cuarena_status_t cuai_driver_pool_trim_on(cuai_call_t *call, cuarena_stream_t stream,
                                          uint64_t keep_bytes, uint64_t *given);
/* What the pool has of its device; 0 where that is lost. No lock. */
cuarena_status_t cuai_driver_pool_total(cuarena_t *arena, uint64_t *bytes_out);
/* Limits of the kind CUARENA_LIMIT_THRESHOLD. No lock. */
cuarena_status_t cuai_threshold_set(cuarena_t *arena, cuarena_amount_t limit,
                                    uint64_t *old_bytes_out);
cuarena_status_t cuai_threshold_get(cuarena_t *arena, uint64_t *bytes_out);

#endif
