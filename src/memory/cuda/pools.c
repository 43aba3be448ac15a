#include "memory/cuda/pools.h"

#include <inttypes.h>

#include "base/bits.h"
#include "base/error.h"

/* The driver that brought a largest size of pools. */
#define MAX_SINCE 12020

/* ---- Attributes -------------------------------------------------------- */

/* Asks the driver for an attribute of the pool. Called within a visit of the place. */
static cuarena_status_t ask(cuai_pool_t *pool, cuai_cu_pool_attribute_t which, uint64_t *value_out)
{
    cuai_place_t *place = pool->place;
    *value_out = 0;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuMemPoolGetAttribute(pool->handle, which, value_out);
    return CUAI_PLACE_STATUS(place, result, "cuMemPoolGetAttribute",
                             "attribute %d of a pool of device %d", which, place->device);
}

static cuarena_status_t set(cuai_pool_t *pool, cuai_cu_pool_attribute_t which, uint64_t value)
{
    cuai_place_t *place = pool->place;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuMemPoolSetAttribute(pool->handle, which, &value);
    return CUAI_PLACE_STATUS(place, result, "cuMemPoolSetAttribute",
                             "attribute %d of a pool of device %d", which, place->device);
}

/* ---- Which pool -------------------------------------------------------- */

static cuarena_status_t no_pools(const cuai_place_t *place)
{
    CUAI_ASSERT(!place->facts.pools);
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "device %d (%s) has no stream-ordered allocation: its "
                     "pools take a driver of 11.3, this one is of %d.%d, and "
                     "a device that has them; accepted: backing=auto, vmm, "
                     "malloc",
                     place->device, place->facts.name, place->cuda->version / 1000,
                     place->cuda->version % 1000 / 10);
}

static cuarena_status_t make(cuai_pool_t *pool, uint64_t max_bytes)
{
    cuai_place_t *place = pool->place;
    int version = place->cuda->version;
    CUAI_ASSERT(!pool->own);
    if (max_bytes != 0 && version < MAX_SINCE)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "driver_pool_max: %" PRIu64
                         " takes a driver of 12.2, and this one is of %d.%d; "
                         "accepted: 0",
                         max_bytes, version / 1000, version % 1000 / 10);
    const cuai_cu_pool_props_t props = {
        .type = CUAI_CU_MEM_ALLOCATION_TYPE_PINNED,
        .handle_types = CUAI_CU_MEM_HANDLE_TYPE_NONE,
        .location = {CUAI_CU_MEM_LOCATION_TYPE_DEVICE, place->device},
        .max_bytes = max_bytes,
    };
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuMemPoolCreate(&pool->handle, &props);
    pool->own = result == CUAI_CUDA_SUCCESS;
    return pool->own ? CUARENA_OK
                     : cuai_place_fail(place, result, "cuMemPoolCreate", "a pool of device %d",
                                       place->device);
}

static cuarena_status_t find(cuai_pool_t *pool, bool current)
{
    cuai_place_t *place = pool->place;
    CUAI_ASSERT(!pool->own);
    const cuai_cuda_t *cuda = place->cuda;
    cuai_cu_result_t result =
        current ? cuai_cu(cuda)->cuDeviceGetMemPool(&pool->handle, place->device)
                : cuai_cu(cuda)->cuDeviceGetDefaultMemPool(&pool->handle, place->device);
    return CUAI_PLACE_STATUS(place, result,
                             current ? "cuDeviceGetMemPool" : "cuDeviceGetDefaultMemPool",
                             "the pool of device %d", place->device);
}

static cuarena_status_t choose(cuai_pool_t *pool, const cuarena_config_t *config)
{
    if (config->driver_pool == CUARENA_DRIVER_POOL_OWN)
        return make(pool, config->driver_pool_max);
    if (config->driver_pool != CUARENA_DRIVER_POOL_EXTERNAL)
        return find(pool, config->driver_pool == CUARENA_DRIVER_POOL_CURRENT);
    pool->handle = (cuai_cu_pool_t)(uintptr_t)config->driver_pool_handle;
    return CUARENA_OK;
}

/* ---- What is set ------------------------------------------------------- */

static cuarena_status_t let_reach(cuai_pool_t *pool, int ordinal, bool required)
{
    cuai_place_t *place = pool->place;
    const cuai_cu_access_t access = {
        .location = {CUAI_CU_MEM_LOCATION_TYPE_DEVICE, ordinal},
        .flags = CUAI_CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    int can = 0;
    const char *call = "cuDeviceCanAccessPeer";
    CUAI_ASSERT(ordinal != place->device && ordinal < place->cuda->device_count);
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuDeviceCanAccessPeer(&can, ordinal, place->device);
    if (result == CUAI_CUDA_SUCCESS && can) {
        call = "cuMemPoolSetAccess";
        result = cuai_cu(place->cuda)->cuMemPoolSetAccess(pool->handle, &access, 1);
    }
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, call, "device %d to device %d", ordinal,
                               place->device);
    if (!can && required)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "peers: 'require', but device %d cannot reach device "
                         "%d; accepted: off, try",
                         ordinal, place->device);
    if (can)
        pool->reach |= UINT64_C(1) << (ordinal & 63);
    pool->peers += can != 0;
    return CUARENA_OK;
}

static cuarena_status_t set_access(cuai_pool_t *pool, int32_t peers)
{
    const cuai_place_t *place = pool->place;
    cuarena_status_t status = CUARENA_OK;
    pool->reach = UINT64_C(1) << (place->device & 63);
    for (int ordinal = 0; peers != CUARENA_PROPERTY_OFF && ordinal < place->cuda->device_count &&
                          status == CUARENA_OK;
         ordinal++)
        if (ordinal != place->device)
            status = let_reach(pool, ordinal, peers == CUARENA_PROPERTY_REQUIRE);
    return status;
}

static cuarena_status_t make_current(cuai_pool_t *pool)
{
    CUAI_ASSERT(pool->handle != NULL);
    cuai_place_t *place = pool->place;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuDeviceSetMemPool(place->device, pool->handle);
    return CUAI_PLACE_STATUS(place, result, "cuDeviceSetMemPool", "the pool of device %d",
                             place->device);
}

/* Sets what the configuration asks for. The first call fails if the handle is no pool. */
static cuarena_status_t set_up(cuai_pool_t *pool, const cuarena_config_t *config)
{
    uint64_t threshold;
    cuarena_status_t status = ask(pool, CUAI_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    if (status == CUARENA_OK && config->release_threshold != CUARENA_BYTES_UNCHANGED)
        status = set(pool, CUAI_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, config->release_threshold);
    if (status == CUARENA_OK)
        status = set_access(pool, config->peers);
    if (status == CUARENA_OK && config->make_current)
        status = make_current(pool);
    return status;
}

/* ---- Life -------------------------------------------------------------- */

/* Ends the pool if it is the library's own. Called within a visit of the place. */
static void destroy(cuai_pool_t *pool)
{
    if (!pool->own)
        return;
    CUAI_ASSERT(pool->handle != NULL);
    cuai_place_note(pool->place, cuai_cu(pool->place->cuda)->cuMemPoolDestroy(pool->handle),
                    "cuMemPoolDestroy");
    pool->own = false;
}

cuarena_status_t cuai_pool_open(cuai_pool_t *pool, cuai_place_t *place,
                                const cuarena_config_t *config)
{
    cuai_visit_t visit;
    *pool = (cuai_pool_t){.place = place, .soft = config->threshold_limits != 0};
    if (!place->facts.pools)
        return no_pools(place);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = choose(pool, config);
    if (status == CUARENA_OK)
        status = set_up(pool, config);
    if (status != CUARENA_OK)
        destroy(pool);
    cuai_place_leave(&visit);
    return status;
}

void cuai_pool_end(cuai_pool_t *pool)
{
    cuai_visit_t visit;
    if (!pool->own || !cuai_place_enter_to_end(pool->place, &visit))
        return;
    destroy(pool);
    cuai_place_leave(&visit);
}

/* ---- Statistics -------------------------------------------------------- */

typedef struct figures {
    uint64_t used;
    uint64_t total;
    uint64_t threshold;
} figures_t;

static cuarena_status_t ask_figures(cuai_pool_t *pool, figures_t *figures)
{
    cuarena_status_t status = ask(pool, CUAI_CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &figures->used);
    if (status == CUARENA_OK)
        status = ask(pool, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &figures->total);
    if (status == CUARENA_OK)
        status = ask(pool, CUAI_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &figures->threshold);
    return status;
}

/* The two values are not of one moment, so `used` may be more. */
static uint64_t free_of(const figures_t *figures)
{
    return figures->total > figures->used ? figures->total - figures->used : 0;
}

cuarena_status_t cuai_pool_check_soft(cuai_pool_t *pool, uint64_t bytes)
{
    figures_t now = {0};
    cuai_visit_t visit;
    CUAI_ASSERT(bytes != 0);
    if (!pool->soft)
        return CUARENA_OK;
    cuarena_status_t status = cuai_place_enter(pool->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = ask_figures(pool, &now);
    cuai_place_leave(&visit);
    if (status != CUARENA_OK || free_of(&now) >= bytes ||
        cuai_max(now.threshold, now.total) - now.total >= bytes)
        return status;
    return cuai_fail_bytes(CUARENA_LIMIT, bytes, now.threshold, now.total, free_of(&now),
                           free_of(&now),
                           "%" PRIu64 " bytes: the pool of device %d has %" PRIu64
                           " in all and %" PRIu64 " free, and %" PRIu64 " are its soft limit",
                           bytes, pool->place->device, now.total, free_of(&now), now.threshold);
}

static cuarena_status_t fill_stats(cuai_pool_t *pool, cuarena_driver_pool_stats_t *stats)
{
    figures_t now = {0};
    CUAI_ASSERT(pool->handle != NULL);
    cuarena_status_t status = ask_figures(pool, &now);
    if (status == CUARENA_OK)
        status = ask(pool, CUAI_CU_MEMPOOL_ATTR_USED_MEM_HIGH, &stats->peak_used_bytes);
    if (status == CUARENA_OK)
        status = ask(pool, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &stats->peak_total_bytes);
    stats->used_bytes = now.used;
    stats->total_bytes = now.total;
    stats->free_bytes = free_of(&now);
    stats->release_threshold = now.threshold;
    stats->device = pool->place->device;
    stats->own = pool->own;
    stats->handle = (uintptr_t)pool->handle;
    return status;
}

cuarena_status_t cuai_pool_stats(cuai_pool_t *pool, cuarena_driver_pool_stats_t *stats)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(pool->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = fill_stats(pool, stats);
    cuai_place_leave(&visit);
    return status;
}

cuarena_status_t cuai_pool_reset_peaks(cuai_pool_t *pool)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(pool->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = set(pool, CUAI_CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
    if (status == CUARENA_OK)
        status = set(pool, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
    cuai_place_leave(&visit);
    return status;
}

cuarena_status_t cuai_pool_get_threshold(cuai_pool_t *pool, uint64_t *bytes_out)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(pool->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = ask(pool, CUAI_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes_out);
    cuai_place_leave(&visit);
    return status;
}

cuarena_status_t cuai_pool_set_threshold(cuai_pool_t *pool, uint64_t bytes)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(pool->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = set(pool, CUAI_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes);
    cuai_place_leave(&visit);
    return status;
}

/* Lets the driver shrink the pool; *given_out is what went, as far as nobody else uses the pool
 * meanwhile. Called within a visit of the place. */
static cuarena_status_t trim(cuai_pool_t *pool, uint64_t keep_bytes, uint64_t *given_out)
{
    cuai_place_t *place = pool->place;
    uint64_t before;
    uint64_t after;
    CUAI_ASSERT(given_out != NULL);
    cuarena_status_t status = ask(pool, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &before);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuMemPoolTrimTo(pool->handle, cuai_min(keep_bytes, SIZE_MAX));
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemPoolTrimTo",
                               "the pool of device %d to %" PRIu64 " bytes", place->device,
                               keep_bytes);
    status = ask(pool, CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &after);
    if (status == CUARENA_OK)
        *given_out = before > after ? before - after : 0;
    return status;
}

cuarena_status_t cuai_pool_trim(cuai_pool_t *pool, uint64_t keep_bytes, uint64_t *given_out)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(pool->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = trim(pool, keep_bytes, given_out);
    cuai_place_leave(&visit);
    return status;
}
