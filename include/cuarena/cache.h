/*
 * The cache of freed blocks, as MLX's allocators have it: keep=cache, which the presets mlx-cpu and
 * mlx-cuda say.
 *
 * A free then leaves the block whole, in a cache. A request is served by the cached block of the
 * least capacity that has room for it, if that is less than twice as large and exceeds it by less
 * than two pages (`cache_page`); of equal capacities by the one that was cached first. It gets the
 * whole block, whose size cuarena_size_of tells as allocated. If that one does not fit the request
 * is a miss: no other is tried, and it is served as in any other arena.
 *
 * A block is cached where the cache has room for it, as `cache_bound` says, and it is an ordinary
 * one: of the dynamic region, not dedicated, adopted, exported, pinned by calls, used by other
 * streams, or of a capture session. With zero=free none is. What is not cached is free bytes, and
 * whole pages of those go back to the memory at once; what streams freed, when it is idle and a
 * call of this header, a trim or a lower limit looks for it. So where the memory gives segments
 * that keep their length (of a device: backing=async and malloc), held bytes are those of live and
 * cached blocks.
 *
 * Nothing but the arena knows a cached block: its id and its pointer are stale. Its bytes count
 * neither as live nor as free. Before a request is refused all cached blocks end that stand in its
 * way (CUARENA_STEP_CACHE).
 *
 * Streams. A block freed on a stream goes to another one as free bytes do (streams.h): as the
 * option `steal` says, behind a wait of that stream; once its work is known to be done; or never
 * but to its own. A request without a stream, and every one where the CPU touches the memory, gets
 * it once its work is known to be done. Of equals up to 8 are looked at for one that need not wait.
 * Requests of captured streams are not served from the cache.
 *
 * Trims and full compactions end cached blocks too, resets and pools that change their size end
 * all.
 *
 * Cost: constant, no call of the memory but for waits of streams, and no host memory beyond 32
 * bytes for each block of the highest count.
 */
#ifndef CUARENA_CACHE_H
#define CUARENA_CACHE_H

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Ends cached blocks, those that were cached first, until at least `bytes` of them are gone; all of
 * them if `bytes` is nine tenths of the cache or more. Their whole pages go back to the memory;
 * `blocks_out` (may be NULL) gets their number. REENTERED from a function of the arena's memory or
 * its relocation callback; LOST. Any thread. Cost: these blocks, and the memory's; with streams,
 * also the ranges.
 */
CUARENA_API cuarena_status_t cuarena_cache_release(cuarena_t *arena, uint64_t bytes,
                                                   uint64_t *blocks_out);
/*
 * Ends all cached blocks, and gives their pages back. If any was freed on a stream the call waits
 * until what streams freed so far is idle; nothing happens where nothing is cached. DRIVER, BUSY:
 * that cannot be waited for, and the cache is as it was. Otherwise as release.
 */
CUARENA_API cuarena_status_t cuarena_cache_clear(cuarena_t *arena, uint64_t *blocks_out);

/* Figures of the cache; of an arena without one the cached ones are 0. */
typedef struct cuarena_cache_stats {
    size_t struct_size;
    uint64_t active_bytes; /* of live blocks, as taken */
    uint64_t cached_bytes;
    uint64_t cached_blocks;
    uint64_t peak_active_bytes; /* since creation or cuarena_reset_peaks */
    uint64_t peak_cached_bytes; /* likewise */
    uint64_t hits;              /* requests served from the cache, ever */
    uint64_t misses;            /* ... that could have been */
    uint64_t evicted_blocks;    /* cached blocks that ended, ever */
} cuarena_cache_stats_t;
CUARENA_API void cuarena_cache_stats_init(cuarena_cache_stats_t *stats);
/* Of one moment. BAD_ARGUMENT for NULL or a struct without its size. Cost: constant. */
CUARENA_API cuarena_status_t cuarena_cache_stats(cuarena_t *arena, cuarena_cache_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
