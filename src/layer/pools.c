/* What the driver is asked about memory as a whole: the arena's share is added. */
#include "layer/layer.h"

#include <string.h>

#include "base/bits.h"
#include "cuarena/stats.h"

#define NEXT CUAI_LAYER_NEXT

static cuarena_stats_t stats_of(cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    if (arena != NULL)
        (void)cuarena_stats(arena, CUARENA_REGION_ALL, &stats);
    return stats;
}

/* Whether the device's arena has its bytes from the pool that it stands for. */
static bool draws_on_pool(const cuai_layer_device_t *device, const cuarena_t *arena)
{
    return arena != NULL && device->pool != NULL && cuai_owner_pool(arena) == device->pool;
}

/* A figure of the driver's pool itself; 0 if it does not tell. */
static uint64_t own_figure(const cuai_layer_device_t *device, int attribute)
{
    uint64_t bytes = 0;
    if (device->pool == NULL ||
        NEXT(cuMemPoolGetAttribute, (device->pool, attribute, &bytes)) != CUAI_CUDA_SUCCESS)
        return 0;
    return bytes;
}

/* What an allocation of the arena's may take and the driver does not count as free. Where the arena
 * draws on the driver's pool, that has what the arena gave back until a stream is waited for. */
static uint64_t free_beside(const cuai_layer_device_t *device, cuarena_t *arena)
{
    cuarena_stats_t stats = stats_of(arena);
    uint64_t bytes = stats.reserved_bytes - cuai_min(stats.live_bytes, stats.reserved_bytes);
    if (!draws_on_pool(device, arena))
        return bytes;
    uint64_t reserved = own_figure(device, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    uint64_t used = own_figure(device, CUAI_CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    return bytes + reserved - cuai_min(used, reserved);
}

cuai_cu_result_t cuai_layer_get_info(size_t *free_out, size_t *total_out)
{
    CUAI_ASSERT(cuai_layer_inside);
    cuai_cu_result_t result = NEXT(cuMemGetInfo_v2, (free_out, total_out));
    cuai_layer_device_t *device = cuai_layer_current();
    if (result == CUAI_CUDA_SUCCESS && device != NULL)
        *free_out += free_beside(device, atomic_load(&device->arena));
    return result;
}

/* ---- The device's pool --------------------------------------------------- */

/* Asked so often at most: the event that a trim records behind work which is done, as after a wait
 * of the program's, takes the device a moment. */
#define TRIMS 64

/* Gives back what no stream uses, and waits for nothing, as the driver's pool does. */
static void trim(cuarena_t *arena, uint64_t keep_bytes)
{
    CUAI_ASSERT(cuai_layer_inside);
    uint64_t given;
    cuarena_stats_t stats = stats_of(arena);
    for (int i = 0; i < TRIMS && stats.reserved_bytes > keep_bytes &&
                    stats.reserved_bytes > stats.live_bytes &&
                    cuarena_trim(arena, keep_bytes, &given) == CUARENA_OK;
         i++)
        stats = stats_of(arena);
}

uint64_t cuai_layer_pool_high(const cuai_layer_device_t *device)
{
    return own_figure(device, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
}

void cuai_layer_pool_failed(cuai_layer_device_t *device, uint64_t high)
{
    CUAI_ASSERT(device->pool != NULL || high == 0);
    uint64_t zero = 0;
    if (high > atomic_load(&device->pool_high))
        atomic_store(&device->pool_high, high);
    if (device->pool != NULL)
        (void)NEXT(cuMemPoolSetAttribute,
                   (device->pool, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
}

cuai_cu_result_t cuai_layer_pool_trim(cuai_cu_pool_t pool, size_t keep_bytes)
{
    cuai_layer_device_t *device = cuai_layer_of_pool(pool);
    if (device != NULL)
        trim(atomic_load(&device->arena), keep_bytes);
    return NEXT(cuMemPoolTrimTo, (pool, keep_bytes));
}

cuai_cu_result_t cuai_layer_pool_set(cuai_cu_pool_t pool, int attribute, void *value)
{
    uint64_t bytes = 0;
    cuai_cu_result_t result = NEXT(cuMemPoolSetAttribute, (pool, attribute, value));
    cuai_layer_device_t *device = cuai_layer_of_pool(pool);
    if (result != CUAI_CUDA_SUCCESS || device == NULL)
        return result;
    cuarena_t *arena = atomic_load(&device->arena);
    if (attribute == CUAI_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        memcpy(&bytes, value, sizeof bytes);
        trim(arena, bytes);
    } else if (attribute == CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
               attribute == CUAI_CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
        atomic_store(&device->pool_high, 0);
        (void)cuarena_reset_peaks(arena);
    }
    return result;
}

/* The other attributes have 4 bytes, or are no figures. */
static bool is_figure(int attribute)
{
    return attribute == CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
           attribute == CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
           attribute == CUAI_CU_MEMPOOL_ATTR_USED_MEM_CURRENT ||
           attribute == CUAI_CU_MEMPOOL_ATTR_USED_MEM_HIGH;
}

/* What the arena adds to a figure, and, of a pool that it draws on, what the driver counts there
 * for the arena: all that it holds, as in use. */
static void shares(const cuarena_stats_t *stats, int attribute, uint64_t *own, uint64_t *counted)
{
    CUAI_ASSERT(is_figure(attribute));
    bool high = attribute == CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
                attribute == CUAI_CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    *counted = high ? stats->peak_reserved_bytes : stats->reserved_bytes;
    *own = *counted;
    if (attribute == CUAI_CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        *own = stats->live_bytes;
    else if (attribute == CUAI_CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        *own = stats->peak_live_bytes;
}

/* The pool's figure with the arena's share in it. */
static uint64_t with_share(cuai_layer_device_t *device, int attribute, uint64_t bytes)
{
    CUAI_ASSERT(cuai_layer_inside);
    uint64_t own;
    uint64_t counted;
    cuarena_t *arena = atomic_load(&device->arena);
    cuarena_stats_t stats = stats_of(arena);
    shares(&stats, attribute, &own, &counted);
    if (!draws_on_pool(device, arena))
        counted = 0;
    if (attribute == CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        bytes = cuai_max(bytes, atomic_load(&device->pool_high));
    return bytes - cuai_min(counted, bytes) + own;
}

cuai_cu_result_t cuai_layer_pool_get(cuai_cu_pool_t pool, int attribute, void *value_out)
{
    uint64_t bytes = 0;
    cuai_cu_result_t result = NEXT(cuMemPoolGetAttribute, (pool, attribute, value_out));
    cuai_layer_device_t *device = cuai_layer_of_pool(pool);
    if (result != CUAI_CUDA_SUCCESS || device == NULL || !is_figure(attribute))
        return result;
    memcpy(&bytes, value_out, sizeof bytes);
    bytes = with_share(device, attribute, bytes);
    memcpy(value_out, &bytes, sizeof bytes);
    return result;
}

cuai_cu_result_t cuai_layer_set_pool(int ordinal, cuai_cu_pool_t pool)
{
    cuai_cu_pool_t own = NULL;
    cuai_cu_result_t result = NEXT(cuDeviceSetMemPool, (ordinal, pool));
    if (result != CUAI_CUDA_SUCCESS || ordinal < 0 || ordinal >= CUAI_LAYER_DEVICES ||
        cuai_layer_calls.cuDeviceGetDefaultMemPool == NULL ||
        cuai_layer_calls.cuDeviceGetDefaultMemPool(&own, ordinal) != CUAI_CUDA_SUCCESS)
        return result;
    atomic_store(&cuai_layer_devices[ordinal].other_pool, pool != own);
    return result;
}
