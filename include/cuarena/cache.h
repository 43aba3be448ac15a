/*
 * The cache of freed blocks, as MLX's allocators have it: the option keep=cache, which the presets
 * mlx-cpu and mlx-cuda set.
 *
 * A free then keeps the block whole, in a cache. A request is rounded up as for a new block (the
 * options `alignment`, `round_powers` and `round_to`) and gets a cached block: the smallest one
 * that has room, if it is less than twice as large as that, and larger by less than two pages (the
 * option `cache_page`); among blocks of one size the one that was cached first. It gets the whole
 * block, whose size cuarena_size_of tells as allocated. If that block does not qualify, the request
 * is a miss: no other is tried, and the arena allocates as without a cache.
 *
 * A freed block is cached if the cache has room for it, as `cache_bound` says, and if it is an
 * ordinary one: in the dynamic region, and not dedicated, adopted, exported, pinned by calls, used
 * by other streams, or of a capture session. With zero=free no block is cached. A block that is not
 * cached becomes free bytes, of which whole pages go back to the memory at once; up to 16 pages, of
 * 1 MiB at most, stay for the next small blocks where the memory takes pages out anywhere, until
 * a trim. What streams freed goes back when it is idle and a call of this header, a trim or a lower
 * limit looks for it. So where the memory gives segments that keep their length (of a device:
 * backing=async and malloc), reserved bytes are those of live and cached blocks.
 *
 * To the program a cached block does not exist: its id and its pointer are stale, and its bytes
 * count neither as live nor as free. Before a request is refused, all cached blocks end that stand
 * in its way (CUARENA_STEP_CACHE). Trims and full compactions end cached blocks too; resets, and
 * changes of the size of a pool, end all of them.
 *
 * Streams. A cached block that was freed on one stream goes to another as free bytes do, by the
 * option `steal` (streams.h): behind a wait of that other stream, or once the work of the first is
 * known to be done, or never. A request without a stream, and every request where the CPU touches
 * the memory, gets it once that work is known to be done. Among blocks of one size up to 8 are
 * looked at for one that need not be waited for. Requests on captured streams get no cached blocks.
 *
 * Cost: O(1), no call of the memory but to let streams wait, and no host memory beyond 32 bytes for
 * each block of the highest count.
 */
#ifndef CUARENA_CACHE_H
#define CUARENA_CACHE_H

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Ends cached blocks, those that were cached first, until at least `bytes` of them are gone, or all
 * of them if `bytes` is nine tenths of the cache or more. Their whole pages go back to the memory;
 * `blocks_out` (may be NULL) gets the number of blocks. REENTERED from a function of the arena's
 * memory or its relocation callback; LOST. Cost: O(these blocks) and, with streams, O(free ranges),
 * and the memory's.
 */
CUARENA_API cuarena_status_t cuarena_cache_release(cuarena_t *arena, uint64_t bytes,
                                                   uint64_t *blocks_out);
/*
 * Ends all cached blocks and gives their pages back. If any of them was freed on a stream, the call
 * waits until what streams freed so far is idle; if nothing is cached, it does nothing. DRIVER or
 * BUSY if that cannot be waited for: the cache is as it was then. Otherwise as
 * cuarena_cache_release.
 */
CUARENA_API cuarena_status_t cuarena_cache_clear(cuarena_t *arena, uint64_t *blocks_out);

/* Figures of the cache; in an arena without one those of cached blocks are 0. */
typedef struct cuarena_cache_stats {
    size_t struct_size;
    uint64_t active_bytes; /* of live blocks, as allocated */
    uint64_t cached_bytes;
    uint64_t cached_blocks;
    uint64_t peak_active_bytes; /* since creation or cuarena_reset_peaks */
    uint64_t peak_cached_bytes; /* since creation or cuarena_reset_peaks */
    uint64_t hits;              /* requests that got a cached block, ever */
    uint64_t misses;            /* requests that it had no block for, ever */
    uint64_t evicted_blocks;    /* cached blocks that ended, ever */
} cuarena_cache_stats_t;
CUARENA_API void cuarena_cache_stats_init(cuarena_cache_stats_t *stats);
/* All figures are of one moment. BAD_ARGUMENT for NULL or a struct without its size. O(1). */
CUARENA_API cuarena_status_t cuarena_cache_stats(cuarena_t *arena, cuarena_cache_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
