/* The calls of the cache. */
#include "cuarena/cache.h"

#include "api/call.h"
#include "arena/cache.h"
#include "arena/counts.h"
#include "arena/reclaim.h"
#include "base/sized.h"

/* ---- Ending ------------------------------------------------------------ */

/* Ends cached blocks, and the call. */
static cuarena_status_t release(cuai_call_t *call, uint64_t bytes, uint64_t *blocks_out)
{
    CUAI_ASSERT(call->arena->inside != 0);
    cuarena_t *arena = call->arena;
    uint64_t given = 0;
    uint64_t blocks = cuai_cache_release(arena, bytes, &given);
    if (blocks != 0)
        cuai_cache_reclaim(arena, &given);
    cuai_call_note(call, CUARENA_EVENT_TRIM, given);
    if (blocks_out != NULL)
        *blocks_out = blocks;
    cuai_call_log(call, "cache: %llu blocks ended, %llu bytes reserved", (unsigned long long)blocks,
                  (unsigned long long)arena->reserved);
    return cuai_call_end(call, CUARENA_OK);
}

cuarena_status_t cuarena_cache_release(cuarena_t *arena, uint64_t bytes, uint64_t *blocks_out)
{
    cuai_call_t call;
    cuarena_status_t status =
        cuai_call_begin(&call, arena, "cache_release", CUAI_CALL_WHOLE | CUAI_CALL_OUTSIDE);
    return status == CUARENA_OK ? release(&call, bytes, blocks_out) : status;
}

cuarena_status_t cuarena_cache_clear(cuarena_t *arena, uint64_t *blocks_out)
{
    cuai_call_t call;
    cuarena_status_t status =
        cuai_call_begin(&call, arena, "cache_clear", CUAI_CALL_WHOLE | CUAI_CALL_OUTSIDE);
    if (status != CUARENA_OK)
        return status;
    if (arena->heaps[CUAI_DYNAMIC]->cached_blocks != 0 && arena->stream_count != 0)
        status = cuai_reclaim_all(arena, true, NULL);
    if (status != CUARENA_OK)
        return cuai_call_end(&call, status);
    return release(&call, UINT64_MAX, blocks_out);
}

/* ---- Figures ----------------------------------------------------------- */

void cuarena_cache_stats_init(cuarena_cache_stats_t *stats)
{
    *stats = (cuarena_cache_stats_t){.struct_size = sizeof *stats};
}

cuarena_status_t cuarena_cache_stats(cuarena_t *arena, cuarena_cache_stats_t *stats)
{
    cuarena_status_t status = cuai_query_begin_into(arena, "stats", stats, sizeof *stats);
    if (status != CUARENA_OK)
        return status;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuarena_cache_stats_t now = {
        .active_bytes = cuai_live_bytes(arena),
        .cached_bytes = heap->cached_bytes,
        .cached_blocks = heap->cached_blocks,
        .peak_active_bytes = cuai_whole_counts(arena).peak_live_bytes,
        .peak_cached_bytes = arena->cache.peak_bytes,
        .hits = arena->cache.hits,
        .misses = arena->cache.misses,
        .evicted_blocks = arena->cache.evicted,
    };
    cuai_sized_write(stats, &now);
    return cuai_query_end(arena, CUARENA_OK);
}
