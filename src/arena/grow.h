/* Growth: taking bytes from the memory (grow.c). */
#ifndef CUAI_ARENA_GROW_H
#define CUAI_ARENA_GROW_H

#include "arena/alloc.h"

/* Takes the first segment: all of a pool, else the bytes of the stable region and, where the
 * configuration says so, the first chunk. The arena is not shared yet. No lock. */
cuarena_status_t cuai_grow_first(cuarena_t *arena);
/*
 * Takes from the memory what a dynamic request lacks, or waits for another thread that grows. OK:
 * try again. Otherwise nothing more can be had: LIMIT, OUT_OF_MEMORY or DRIVER, put into words, or
 * UNSUPPORTED without words: the arena is as large as it may be. Drops the lock.
 */
cuarena_status_t cuai_grow(cuarena_t *arena, const cuai_request_t *request, uint64_t *taken_out);
/* Takes so many bytes of the memory for a segment: a new one, if it has none yet, with addresses to
 * grow there, else more in place. They are zeroed as the option `zero` says. On an error nothing
 * was taken. No lock. */
cuarena_status_t cuai_take_segment(cuarena_t *arena, uint64_t bytes,
                                   cuarena_memory_segment_t *segment);
/* How many bytes a pool gave back of its dynamic region. */
uint64_t cuai_pool_untaken(const cuarena_t *arena);
/* Takes all of these again, so that blocks can be moved across them. Nobody else may grow: the
 * caller is exclusive (cuai_begin_exclusive). Returns what cuai_grow returns; UNSUPPORTED where the
 * memory cannot. Drops the lock. */
cuarena_status_t cuai_fill_pool(cuarena_t *arena, uint64_t *taken_out);
/* LIMIT, put into words, if so many bytes more may not be reserved. */
cuarena_status_t cuai_check_reserved_limit(const cuarena_t *arena, uint64_t bytes);

#endif
