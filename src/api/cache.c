/* The calls of the cache. */
#include "cuarena/cache.h"

#include "api/call.h"
#include "arena/cache.h"
#include "arena/counts.h"
#include "arena/reclaim.h"
#include "base/sized.h"

/* ---- Ending ------------------------------------------------------------ */

static cuarena_status_t check(cuarena_t *arena, const char *what)
{
    if (arena == NULL)
        return cuai_null("arena");
    return cuai_check_entry(arena, what, true);
}

static cuarena_status_t end_call(cuai_call_t *call, cuarena_status_t status, uint64_t blocks,
                                 uint64_t *blocks_out)
{
    CUAI_ASSERT(call->arena->inside != 0);
    if (status == CUARENA_OK && blocks_out != NULL)
        *blocks_out = blocks;
    if (status == CUARENA_OK)
        cuai_call_log(call, "cache: %llu blocks ended, %llu bytes reserved",
                      (unsigned long long)blocks, (unsigned long long)call->arena->reserved);
    return cuai_call_end(call, status);
}

static uint64_t release(cuai_call_t *call, uint64_t bytes)
{
    CUAI_ASSERT(call->arena->inside != 0);
    cuarena_t *arena = call->arena;
    uint64_t given = 0;
    uint64_t blocks = cuai_cache_release(arena, bytes, &given);
    if (blocks != 0)
        cuai_cache_reclaim(arena, &given);
    cuai_call_note(call, CUARENA_EVENT_TRIM, given);
    return blocks;
}

cuarena_status_t cuarena_cache_release(cuarena_t *arena, uint64_t bytes, uint64_t *blocks_out)
{
    cuarena_status_t status = check(arena, "cache_release");
    if (status != CUARENA_OK)
        return cuai_told(status);
    uint64_t blocks = 0;
    cuai_call_t call;
    status = cuai_call_begin(&call, arena);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        blocks = release(&call, bytes);
    return end_call(&call, status, blocks, blocks_out);
}

static cuarena_status_t reclaim(cuarena_t *arena)
{
    CUAI_ASSERT(arena->inside != 0);
    bool any = arena->heaps[CUAI_DYNAMIC]->cached_blocks != 0;
    return any && arena->stream_count != 0 ? cuai_reclaim_all(arena, true, NULL) : CUARENA_OK;
}

cuarena_status_t cuarena_cache_clear(cuarena_t *arena, uint64_t *blocks_out)
{
    cuarena_status_t status = check(arena, "cache_clear");
    if (status != CUARENA_OK)
        return cuai_told(status);
    uint64_t blocks = 0;
    cuai_call_t call;
    status = cuai_call_begin(&call, arena);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = reclaim(arena);
    if (status == CUARENA_OK)
        blocks = release(&call, UINT64_MAX);
    return end_call(&call, status, blocks, blocks_out);
}

/* ---- Figures ----------------------------------------------------------- */

void cuarena_cache_stats_init(cuarena_cache_stats_t *stats)
{
    *stats = (cuarena_cache_stats_t){.struct_size = sizeof *stats};
}

cuarena_status_t cuarena_cache_stats(cuarena_t *arena, cuarena_cache_stats_t *stats)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_sized_ok(stats, sizeof(size_t), sizeof *stats))
        return cuai_told(cuai_fail_struct("stats", stats));
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
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
    cuai_unlock(&arena->lock);
    cuai_sized_write(stats, &now);
    return CUARENA_OK;
}
