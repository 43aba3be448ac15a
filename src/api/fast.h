/*
 * What the fast paths share (fast.c, fast_cache.c). Functions here are called with the lock held,
 * never wait, never call the memory, and never let go of the lock.
 */
#ifndef CUAI_API_FAST_H
#define CUAI_API_FAST_H

#include "api/call.h"
#include "arena/counts.h"
#include "arena/streams.h"
#include "heap/fast_path.h"

/* Allocates from the cache or, without a stream, from the spare bytes beside it; `attributes` are
 * without owner and alignment. The stream is one that cuai_stream_recent gave, or NULL. 0: nothing
 * was done. */
cuai_slot_t cuai_fast_cache_get(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes,
                                uint64_t attributes) CUAI_OUTLINE;
/* Puts a block that has these attributes, with whatever owner, into the cache, freed on such a
 * stream or, with NULL, on none; false: nothing was done. */
bool cuai_fast_cache_put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes,
                         cuai_stream_t *s) CUAI_OUTLINE;

#endif
