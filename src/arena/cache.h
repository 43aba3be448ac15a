/*
 * The rules of rounding and keeping: which sizes blocks have, and what a free leaves behind.
 */
#ifndef CUAI_ARENA_CACHE_H
#define CUAI_ARENA_CACHE_H

#include "arena/alloc.h"
#include "arena/find.h"

/* ---- Sizes ------------------------------------------------------------- */

/* The size of a block for `bytes`, which are not 0 and below 2^47. */
static inline uint64_t cuai_rounded(const cuarena_t *arena, uint64_t bytes)
{
    uint64_t mask = arena->round_mask;
    if (bytes < arena->round_powers)
        mask = cuai_power_of_two_mask(bytes);
    return ((bytes - 1) | mask | arena->granule_mask) + 1;
}

/* The alignment of a block of such a size; 0: the granule is enough. */
static inline uint64_t cuai_natural_alignment(const cuarena_t *arena, uint64_t size)
{
    if (arena->natural == 0)
        return 0;
    return cuai_min(cuai_power_of_two_mask(size) + 1, arena->natural);
}

/* ---- Cached blocks ----------------------------------------------------- */

/* Which freed blocks an arena keeps whole: see cuarena/cache.h. The heap of the dynamic region has
 * the cached blocks. The owner of each is the stream on which it was freed, 0 if on none, and its
 * stamp is the last serial that an event had then. */

/* Whether a block that is freed on a stream may be cached. */
bool cuai_may_cache(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Puts a block into the cache and counts its end. */
void cuai_arena_cache_put(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Allocates from the cache, if a cached block fits that the stream of the request may have or can
 * wait for; false: there is none. Drops the lock. */
bool cuai_arena_cache_get(cuarena_t *arena, const cuai_request_t *request,
                          cuai_block_ref_t *block_out);
/* Whether requests of this kind look into the cache. */
bool cuai_cache_is_for(const cuarena_t *arena, const cuai_request_t *request);
/* Ends cached blocks, the oldest first, until `bytes` are gone; all of them if that is nine tenths
 * of them or more. Their whole pages go back to the memory. Returns how many blocks ended; adds to
 * *given, unless that is NULL, what the memory got back. Drops the lock. */
uint64_t cuai_cache_release(cuarena_t *arena, uint64_t bytes, uint64_t *given);
/* Ends cached blocks as cuai_cache_release does, but no more than `bytes` takes, even where that is
 * nearly all. Drops the lock. */
uint64_t cuai_cache_evict(cuarena_t *arena, uint64_t bytes, uint64_t *given);
/* Ends all cached blocks; nothing goes back to the memory yet. */
void cuai_cache_drop(cuarena_t *arena);
/* The limits of the cache around a request. Before, for a request of this size that had no hit:
 * ends cached blocks as far as an enforced soft limit asks. After it: ends what exceeds the limits
 * then. Both drop the lock. */
void cuai_cache_before_miss(cuarena_t *arena, uint64_t size, uint64_t *given);
void cuai_cache_after(cuarena_t *arena, bool missed, uint64_t *given);
/* Ends a block as cuai_end_block does, and gives its whole pages back if the arena keeps nothing.
 * Drops the lock. */
void cuai_end_unkept(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Gives back what a free could not; not while the spare bytes are no more than may stay. Drops the
 * lock. */
void cuai_return_rest(cuarena_t *arena, uint64_t *given);

/* Reclaims what can be without a wait, and gives back what the arena does not keep. Drops the lock.
 * */
void cuai_cache_reclaim(cuarena_t *arena, uint64_t *given);

static inline bool cuai_caches(const cuarena_t *arena)
{
    return arena->config.keep == CUARENA_KEEP_CACHE;
}

/* Whether a stream may use a cached block at once: its last use is over, or ahead of the work of
 * that stream. */
static inline bool cuai_cached_is_ready(const cuarena_t *arena, const cuai_record_t *r,
                                        uint32_t stream)
{
    CUAI_ASSERT(r->kind == CUAI_CACHED);
    if (r->owner == 0)
        return true;
    const cuai_stream_t *s = arena->streams[r->owner];
    uint64_t stamp = cuai_requested(r);
    if (s->timeline.done > stamp)
        return true;
    if (stream == 0 || arena->cpu_touches)
        return false;
    return stream == r->owner || arena->streams[stream]->timeline.seen[r->owner] > stamp;
}

/* Whether a cached block of such a capacity fits a request of such a size: it is less than twice as
 * large, and exceeds it by less than two pages. */
static inline bool cuai_cached_fits(const cuarena_t *arena, uint64_t capacity, uint64_t size)
{
    CUAI_ASSERT(capacity >= size);
    return capacity - size < cuai_min(size, arena->cache_window);
}

/* Whether so many bytes more may stay idle although the arena keeps only cached blocks. Small
 * blocks that do not go through the cache are cut from these and freed to them without a call of
 * the memory. There are none where segments keep their length. */
static inline bool cuai_cache_spares(const cuarena_t *arena, uint64_t more)
{
    uint64_t idle = arena->heaps[CUAI_DYNAMIC]->freelists[0]->free_bytes;
    return idle + more <= arena->cache_spare;
}

static inline bool cuai_cache_has_room(const cuarena_t *arena, uint64_t bytes)
{
    uint64_t cached = arena->heaps[CUAI_DYNAMIC]->cached_bytes;
    uint64_t limit = arena->limits[CUARENA_LIMIT_CACHED];
    if (arena->config.cache_bound == CUARENA_CACHE_LATE)
        return cached < limit;
    return cached <= limit && bytes <= limit - cached;
}

#endif
