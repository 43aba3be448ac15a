/* The driver's own pools: figures, trim, threshold, and an arena for each device. */
#include "api/driver_pool.h"
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/streams.h"

#include "api/call.h"
#include "arena/unlocked.h"
#include "base/amount.h"
#include "base/sized.h"
#include "cuarena/device.h"
#include "memory/cuda/pools.h"

/* ---- Which arenas have one --------------------------------------------- */

/* Whether there is one, and the arena is not lost. The lock is free for the calls of the driver. */
static cuarena_status_t check_pool(cuarena_t *arena)
{
    if (arena->memory.pool == NULL)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "%s takes nothing from a pool of the driver's: "
                         "memory '%s'; accepted: memory=device with backing=async",
                         arena->label, arena->memory.ops.name);
    if (!cuai_arena_enter_beside(arena))
        return cuai_reentered();
    cuarena_status_t status = cuai_call_check(arena);
    cuai_unlock(&arena->lock);
    return status;
}

/* ---- Figures ----------------------------------------------------------- */

void cuarena_driver_pool_stats_init(cuarena_driver_pool_stats_t *stats)
{
    *stats = (cuarena_driver_pool_stats_t){.struct_size = sizeof *stats};
}

cuarena_status_t cuarena_driver_pool_stats(cuarena_t *arena, cuarena_driver_pool_stats_t *stats)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_sized_ok(stats, sizeof(size_t), sizeof *stats))
        return cuai_told(cuai_fail_struct("stats", stats));
    cuarena_driver_pool_stats_t now = {0};
    cuarena_status_t status = check_pool(arena);
    if (status == CUARENA_OK)
        status = cuai_mem_pool_stats(arena, &now);
    if (status == CUARENA_OK)
        cuai_sized_write(stats, &now);
    return cuai_told(status);
}

cuarena_status_t cuarena_driver_pool_reset_peaks(cuarena_t *arena)
{
    if (arena == NULL)
        return cuai_null("arena");
    cuarena_status_t status = check_pool(arena);
    return cuai_told(status == CUARENA_OK ? cuai_mem_pool_reset_peaks(arena) : status);
}

cuarena_status_t cuai_driver_pool_total(cuarena_t *arena, uint64_t *bytes_out)
{
    CUAI_ASSERT(arena->memory.pool != NULL);
    cuarena_driver_pool_stats_t now = {0};
    cuarena_status_t status = cuai_mem_pool_stats(arena, &now);
    bool gone = status == CUARENA_LOST || status == CUARENA_NO_DEVICE;
    if (status == CUARENA_OK || gone)
        *bytes_out = now.total_bytes;
    return gone ? CUARENA_OK : status;
}

/* ---- Trim -------------------------------------------------------------- */

cuarena_status_t cuai_driver_pool_trim(cuarena_t *arena, uint64_t keep_bytes, uint64_t *given)
{
    CUAI_ASSERT(arena->memory.pool != NULL && arena->inside != 0);
    uint64_t bytes = 0;
    cuai_unlock(&arena->lock);
    cuarena_status_t status = cuai_mem_pool_trim(arena, keep_bytes, &bytes);
    cuai_arena_lock(arena);
    if (status != CUARENA_OK)
        return cuai_note_loss(arena, status);
    arena->trims += bytes != 0;
    arena->shrinkages++;
    *given += bytes;
    return CUARENA_OK;
}

/* A stream that the arena does not know freed none of its blocks, so it is not waited for. Blocks
 * that other streams use go back if these are done. Drops the lock. */
static cuarena_status_t wait_to_trim(cuai_call_t *call, cuarena_stream_t stream)
{
    CUAI_ASSERT(call->arena->inside != 0);
    cuarena_t *arena = call->arena;
    bool all = stream == CUARENA_NO_STREAM;
    if (!all)
        call->stream = cuai_stream_find_known(arena, stream);
    cuarena_status_t status = cuai_check_captured(arena, call->stream);
    if (status == CUARENA_OK && (all || call->stream != 0))
        status = cuai_wait_for_stream(arena, call->stream);
    if (status == CUARENA_OK && arena->stream_count != 0)
        status = cuai_reclaim_all(arena, false, NULL);
    return status;
}

cuarena_status_t cuai_driver_pool_trim_on(cuai_call_t *call, cuarena_stream_t stream,
                                          uint64_t keep_bytes, uint64_t *given)
{
    cuarena_status_t status = wait_to_trim(call, stream);
    return status == CUARENA_OK ? cuai_driver_pool_trim(call->arena, keep_bytes, given) : status;
}

/* ---- Threshold --------------------------------------------------------- */

static cuarena_status_t whole_device(void *user, uint64_t *bytes_out)
{
    CUAI_ASSERT(user != NULL);
    const struct cuai_pool *pool = user;
    *bytes_out = pool->place->facts.total_bytes;
    return CUARENA_OK;
}

cuarena_status_t cuai_threshold_get(cuarena_t *arena, uint64_t *bytes_out)
{
    cuai_lock_assert_not_held(&arena->lock);
    cuarena_status_t status = check_pool(arena);
    return status == CUARENA_OK ? cuai_mem_pool_get_threshold(arena, bytes_out) : status;
}

cuarena_status_t cuai_threshold_set(cuarena_t *arena, cuarena_amount_t limit,
                                    uint64_t *old_bytes_out)
{
    const cuarena_memory_ops_t device = {
        .name = arena->memory.ops.name, .available = whole_device, .total = whole_device};
    uint64_t old = 0;
    uint64_t bytes = 0;
    cuarena_status_t status = cuai_threshold_get(arena, &old);
    if (status == CUARENA_OK)
        status = cuai_amount_resolve(limit, &device, arena->memory.pool, &bytes);
    if (status == CUARENA_OK)
        status = cuai_mem_pool_set_threshold(arena, bytes);
    if (status == CUARENA_OK && old_bytes_out != NULL)
        *old_bytes_out = old;
    return status;
}

/* ---- An arena for each device ------------------------------------------ */

static cuarena_status_t check_list(const cuarena_config_t *config, size_t count)
{
    const cuai_cuda_t *cuda = cuai_cuda();
    if (cuda == NULL)
        return CUARENA_NO_DEVICE;
    if (count != (size_t)cuda->device_count)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "count: %zu pools for %d devices; accepted: one for "
                         "each",
                         count, cuda->device_count);
    if (config->device != 0 || config->context != NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "device: %d, context: %p of a configuration for all "
                         "devices; accepted: 0, NULL",
                         (int)config->device, config->context);
    return CUARENA_OK;
}

static cuarena_status_t create_on(const cuarena_config_t *config,
                                  const cuarena_driver_pool_choice_t *choice, size_t device,
                                  cuarena_t **arena_out)
{
    CUAI_ASSERT(device <= INT32_MAX);
    cuarena_config_t one = *config;
    one.device = (int32_t)device;
    one.driver_pool = choice->kind;
    one.driver_pool_handle = choice->handle;
    return cuarena_create(&one, arena_out);
}

cuarena_status_t cuarena_create_per_device(const cuarena_config_t *config,
                                           const cuarena_driver_pool_choice_t *pools, size_t count,
                                           cuarena_t **arenas_out)
{
    if (pools == NULL || arenas_out == NULL)
        return cuai_null("pools or arenas_out");
    if (!cuai_sized_ok(config, sizeof(size_t), sizeof *config))
        return cuai_told(cuai_fail_struct("config", config));
    cuarena_config_t full;
    cuarena_config_init(&full);
    cuai_sized_read(&full, config);
    cuarena_status_t status = check_list(&full, count);
    if (status != CUARENA_OK)
        return cuai_told(status);
    size_t made = 0;
    while (made < count && status == CUARENA_OK) {
        status = create_on(&full, &pools[made], made, &arenas_out[made]);
        made += status == CUARENA_OK;
    }
    if (status == CUARENA_OK)
        return cuai_told(status);
    cuai_kept_error_t words = cuai_error_kept();
    while (made != 0)
        (void)cuarena_destroy_forced(&arenas_out[--made]);
    cuai_error_restore(&words);
    return cuai_told(status);
}
