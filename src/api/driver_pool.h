/*
 * The driver's pool behind an arena, for calls that are about arenas in general.
 */
#ifndef CUAI_API_DRIVER_POOL_H
#define CUAI_API_DRIVER_POOL_H

#include "api/call.h"

/* Whether the arena's blocks are pieces of such a pool, which then has what nobody needs; else it
 * is in the arena's segments. */
static inline bool cuai_pool_has_the_rest(const cuarena_t *arena)
{
    return arena->memory.pool != NULL && arena->config.segments == CUARENA_SEGMENTS_EACH;
}

/* The pool gives back what it has free until `keep_bytes` are left; how many. Counted as a trim and
 * a shrinkage. Steps out. */
cuarena_status_t cuai_driver_pool_trim(cuarena_t *arena, uint64_t keep_bytes, uint64_t *given);
/* The same behind what a stream was given so far, or with CUARENA_NO_STREAM behind all work: the
 * caller waits. */
cuarena_status_t cuai_driver_pool_trim_on(cuai_call_t *call, cuarena_stream_t stream,
                                          uint64_t keep_bytes, uint64_t *given);
/* What the pool has of its device; 0 where that is lost. No lock. */
cuarena_status_t cuai_driver_pool_total(cuarena_t *arena, uint64_t *bytes_out);
/* Limits of the kind CUARENA_LIMIT_THRESHOLD. No lock. */
cuarena_status_t cuai_threshold_set(cuarena_t *arena, cuarena_amount_t limit,
                                    uint64_t *old_bytes_out);
cuarena_status_t cuai_threshold_get(cuarena_t *arena, uint64_t *bytes_out);

#endif
