/*
 * The rules of rounding and keeping: which sizes blocks have, and what a free leaves behind.
 */
#ifndef CUAI_ARENA_CACHE_H
#define CUAI_ARENA_CACHE_H

#include "arena/alloc.h"
#include "arena/find.h"

/* ---- Sizes ------------------------------------------------------------- */

/* The sizes that blocks have: `bytes` is not 0, and below 2^47. */
static inline uint64_t cuai_rounded(const cuarena_t *arena, uint64_t bytes)
{
    uint64_t mask = arena->round_mask;
    if (bytes < arena->round_powers)
        mask = cuai_power_of_two_mask(bytes);
    return ((bytes - 1) | mask | arena->granule_mask) + 1;
}

/* The alignment of such a size, 0 for the granule. */
static inline uint64_t cuai_natural_alignment(const cuarena_t *arena, uint64_t size)
{
    if (arena->natural == 0)
        return 0;
    return cuai_min(cuai_power_of_two_mask(size) + 1, arena->natural);
}

/* ---- Cached blocks ----------------------------------------------------- */

/* What an arena's rules want kept of a block: see cuarena/cache.h. The heap of the dynamic region
 * has the cached blocks. Each says as its owner on which stream it was freed, 0 on none, and as its
 * stamp the last event that was recorded before. */

/* Whether a block that is freed on a stream may be parked. */
bool cuai_may_cache(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Parks it. It has not been counted out. */
void cuai_arena_cache_put(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Serves a request from the cache, if one fits that its stream may have or can wait for; false:
 * there is none. Steps out. */
bool cuai_arena_cache_get(cuarena_t *arena, const cuai_request_t *request,
                          cuai_block_ref_t *block_out);
/* Whether the cache is for requests of this kind. */
bool cuai_cache_is_for(const cuarena_t *arena, const cuai_request_t *request);
/* Ends cached blocks, the first parked first, until `bytes` are gone; all, if that is nine tenths
 * or more. Their whole pages go back. How many blocks and, if `given` is not NULL, what more the
 * memory got back. Steps out. */
uint64_t cuai_cache_release(cuarena_t *arena, uint64_t bytes, uint64_t *given);
/* The same without that rule. */
uint64_t cuai_cache_evict(cuarena_t *arena, uint64_t bytes, uint64_t *given);
/* Ends all of them; nothing goes back now. */
void cuai_cache_drop(cuarena_t *arena);
/* A request of this size had no hit: cached blocks go where the soft limit is enforced. Then it was
 * served: again, and what the cache has too much. Steps out. */
void cuai_cache_before_miss(cuarena_t *arena, uint64_t size, uint64_t *given);
void cuai_cache_after(cuarena_t *arena, bool missed, uint64_t *given);
/* Ends a block as cuai_end_block, and gives its whole pages back if nothing is kept. Steps out. */
void cuai_end_unkept(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Gives back what should have gone before, if any; the spare bytes stay if they are no more than
 * may. Steps out. */
void cuai_return_rest(cuarena_t *arena, uint64_t *given);

/* What streams freed is idle if it can be, and what should go goes. */
void cuai_cache_reclaim(cuarena_t *arena, uint64_t *given);

static inline bool cuai_caches(const cuarena_t *arena)
{
    return arena->config.keep == CUARENA_KEEP_CACHE;
}

/* What a cached block's last use may be: over, or ahead of a stream. */
static inline bool cuai_cached_is_ready(const cuarena_t *arena, const cuai_record_t *r,
                                        uint32_t stream)
{
    if (r->owner == 0)
        return true;
    const cuai_stream_t *s = arena->streams[r->owner];
    uint64_t stamp = cuai_requested(r);
    if (s->done > stamp)
        return true;
    if (stream == 0 || arena->cpu_touches)
        return false;
    return stream == r->owner || arena->streams[stream]->seen[r->owner] > stamp;
}

/* Whether a cached block of such a capacity serves such a request: it is less than twice as large,
 * and exceeds it by less than two pages. */
static inline bool cuai_cached_fits(const cuarena_t *arena, uint64_t capacity, uint64_t size)
{
    return capacity - size < cuai_min(size, arena->cache_window);
}

/*
 * Whether idle bytes with so many more may stay free, though only cached
 * blocks are kept: small blocks that the cache does not have are cut from them and freed to them,
 * without a call of the memory. Where segments keep their length there are none.
 */
static inline bool cuai_cache_spares(const cuarena_t *arena, uint64_t more)
{
    uint64_t idle = arena->heaps[CUAI_DYNAMIC]->freelists[0]->free_bytes;
    return idle + more <= arena->cache_spare;
}

/* Whether the cache may have so many bytes more. */
static inline bool cuai_cache_has_room(const cuarena_t *arena, uint64_t bytes)
{
    uint64_t cached = arena->heaps[CUAI_DYNAMIC]->cached_bytes;
    uint64_t limit = arena->limits[CUARENA_LIMIT_CACHED];
    if (arena->config.cache_bound == CUARENA_CACHE_LATE)
        return cached < limit;
    return cached <= limit && bytes <= limit - cached;
}

#endif
