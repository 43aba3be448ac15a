/* The size of a pool, where no block has to move (pool.c; move.h has cuai_move_pool). */
#ifndef CUAI_ARENA_POOL_H
#define CUAI_ARENA_POOL_H

#include "cuarena/arena.h"

/* LIMIT, put into words: a pool of so many bytes exceeds the limit. */
cuarena_status_t cuai_pool_over_limit(const cuarena_t *arena, uint64_t bytes);
/* UNSUPPORTED, without words, where the memory or the addresses set aside do not allow it. Both
 * drop the lock. */
cuarena_status_t cuai_lengthen_pool(cuarena_t *arena, uint64_t bytes);
cuarena_status_t cuai_shorten_pool(cuarena_t *arena, uint64_t bytes);

#endif
