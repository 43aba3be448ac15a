#include "pool.h"

#include "call.h"
#include "capture.h"
#include "context.h"
#include "object.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_UNIT 512

typedef struct chunk {
    sd_area_t *area;
    bool free;
    uint64_t used;    /* what was given of it, while it is not free */
    sd_clock_t freed; /* of the unit that frees it */
    struct chunk *next;
} chunk_t;

/* Outlives its handle while it has chunks. */
typedef struct sd_pool {
    struct sd_pool *next;
    struct handle *handle;
    int device;
    unsigned masks; /* devices that may touch it */
    uint64_t threshold;
    uint64_t max_bytes; /* 0: none */
    uint64_t reserved;
    uint64_t reserved_high;
    uint64_t used;
    uint64_t used_high;
    int reuse[3]; /* the first three attributes */
    chunk_t *chunks;
} sd_pool_t;

typedef struct handle {
    sd_object_t object;
    sd_pool_t *pool;
} handle_t;

static sd_pool_t *pools;

static sd_pool_t *new_pool(int device, uint64_t max_bytes, bool hidden)
{
    sd_pool_t *pool = calloc(1, sizeof(*pool));
    handle_t *handle = sd_object_new(SD_POOL_OBJECT, sizeof(*handle), NULL);
    if (pool == NULL)
        sd_die("the host is out of memory");
    pool->device = device;
    pool->masks = 1u << device;
    pool->max_bytes = max_bytes;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    pool->handle = handle;
    pool->next = pools;
    pools = pool;
    handle->pool = pool;
    handle->object.hidden = hidden;
    return pool;
}

static sd_pool_t *get_pool(CUmemoryPool handle)
{
    handle_t *found = sd_object_get(handle, SD_POOL_OBJECT);
    return found->pool;
}

static CUmemoryPool handle_of(const sd_pool_t *pool)
{
    return (CUmemoryPool)(void *)pool->handle;
}

uint64_t sd_pool_handle(const struct sd_pool *pool)
{
    return pool != NULL ? (uint64_t)(uintptr_t)pool->handle : 0;
}

static sd_pool_t *device_pool(int device)
{
    sd_device_t *entry = &sd_device_table[device];
    if (entry->default_pool == NULL) {
        entry->default_pool = new_pool(device, 0, true);
        entry->pool = entry->default_pool;
    }
    return entry->pool;
}

/* ---- Chunks ------------------------------------------------------------ */

static void raise(uint64_t *current, uint64_t *high, uint64_t bytes)
{
    *current += bytes;
    if (*current > *high)
        *high = *current;
}

static void drop_chunk(sd_pool_t *pool, chunk_t **link)
{
    chunk_t *chunk = *link;
    *link = chunk->next;
    pool->reserved -= chunk->area->size;
    sd_addresses_free((void *)(uintptr_t)chunk->area->address, chunk->area->size);
    sd_area_remove(chunk->area);
    sd_clock_free(&chunk->freed);
    free(chunk);
}

/* Gives back free chunks while more than `keep` bytes are reserved. */
static void trim(sd_pool_t *pool, uint64_t keep)
{
    for (chunk_t **link = &pool->chunks; *link != NULL && pool->reserved > keep;) {
        if ((*link)->free && sd_complete(&(*link)->freed))
            drop_chunk(pool, link);
        else
            link = &(*link)->next;
    }
}

void sd_pools_idle(void)
{
    for (sd_pool_t *pool = pools; pool != NULL; pool = pool->next)
        trim(pool, pool->threshold);
}

static chunk_t *new_chunk(sd_pool_t *pool, uint64_t size)
{
    if (pool->max_bytes != 0 && pool->reserved + size > pool->max_bytes)
        return NULL;
    sd_bytes_t *bytes = sd_bytes_new(size, pool->device, true);
    void *at = bytes != NULL ? sd_addresses_new(size, 4096, NULL) : NULL;
    chunk_t *chunk = at != NULL ? calloc(1, sizeof(*chunk)) : NULL;
    if (chunk == NULL) {
        if (bytes != NULL)
            sd_bytes_release(bytes);
        /* As a driver does, of release 580 at least. */
        if (pool->reserved + size > pool->reserved_high)
            pool->reserved_high = pool->reserved + size;
        return NULL;
    }
    sd_area_t area = {.address = (uint64_t)(uintptr_t)at,
                      .size = size,
                      .kind = SD_AREA_POOLED,
                      .bytes = bytes,
                      .alias = bytes->data,
                      .device = pool->device,
                      .pool = pool};
    chunk->area = sd_area_add(&area);
    sd_bytes_release(bytes);
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    raise(&pool->reserved, &pool->reserved_high, size);
    return chunk;
}

/* Whether the stream may have it, waiting for the free if it must. */
static bool may_reuse(const sd_pool_t *pool, const chunk_t *chunk, const sd_target_t *target)
{
    bool ordered = true;
    for (size_t i = 0; i < chunk->freed.count; i++) {
        sd_tick_t tick = chunk->freed.ticks[i];
        if (!sd_idle(tick) && !sd_clock_covers(&target->line->clock, tick))
            ordered = false;
    }
    if (ordered)
        return true;
    if (sd_complete(&chunk->freed) && pool->reuse[1] != 0)
        return true;
    return pool->reuse[2] != 0;
}

static chunk_t *find_free(const sd_pool_t *pool, uint64_t size, const sd_target_t *target)
{
    for (chunk_t *chunk = pool->chunks; chunk != NULL; chunk = chunk->next) {
        uint64_t has = chunk->area->size;
        if (chunk->free && has >= size && has <= size * 2 && may_reuse(pool, chunk, target))
            return chunk;
    }
    return NULL;
}

/* Before it refuses, a pool makes room of what it has free and idle. */
static chunk_t *find_or_make(sd_pool_t *pool, uint64_t size, const sd_target_t *target)
{
    chunk_t *chunk = find_free(pool, size, target);
    if (chunk == NULL)
        chunk = new_chunk(pool, size);
    if (chunk != NULL)
        return chunk;
    trim(pool, 0);
    return new_chunk(pool, size);
}

/* ---- At points of streams ---------------------------------------------- */

typedef struct chunk_work {
    sd_work_t work;
    sd_area_t *area;
} chunk_work_t;

static standin_step_t run_grant(sd_work_t *work)
{
    sd_area_t *area = ((chunk_work_t *)work)->area;
    area->live = true;
    return sd_reach(work, area->address, area->size, true, true) != NULL ? STANDIN_DONE
                                                                         : STANDIN_FAULT;
}

static standin_step_t run_free(sd_work_t *work)
{
    sd_area_t *area = ((chunk_work_t *)work)->area;
    sd_reach(work, area->address, area->size, true, true);
    area->live = false;
    return STANDIN_DONE;
}

static const sd_work_class_t grant_class = {
    .name = "allocate", .bytes = sizeof(chunk_work_t), .step = run_grant};
static const sd_work_class_t free_class = {
    .name = "free", .bytes = sizeof(chunk_work_t), .step = run_free};

static CUresult submit_chunk(const sd_work_class_t *class, sd_area_t *area,
                             const sd_target_t *target, const sd_clock_t *after)
{
    chunk_work_t *work = sd_work_new(class, target->context);
    work->area = area;
    sd_work_uses(&work->work, area->bytes);
    return sd_submit(target, &work->work, after);
}

static CUresult allocate(CUdeviceptr *address, size_t asked, sd_pool_t *pool, CUstream stream)
{
    sd_target_t target = sd_target(stream);
    uint64_t size = (asked + CHUNK_UNIT - 1) / CHUNK_UNIT * CHUNK_UNIT;
    CUresult result = sd_capture_forbids(&target);
    if (result != CUDA_SUCCESS)
        return result;
    if (address == NULL || asked == 0)
        return CUDA_ERROR_INVALID_VALUE;
    chunk_t *chunk = size >= asked ? find_or_make(pool, size, &target) : NULL;
    if (chunk == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sd_area_t *area = chunk->area;
    result = submit_chunk(&grant_class, area, &target, &chunk->freed);
    if (result != CUDA_SUCCESS) {
        chunk->free = true;
        return result;
    }
    chunk->free = false;
    area->granted = true;
    area->context = target.context;
    area->asked = asked;
    area->readers = area->writers = pool->masks;
    chunk->used = size;
    raise(&pool->used, &pool->used_high, size);
    *address = area->address;
    return CUDA_SUCCESS;
}

static chunk_t *chunk_of(const sd_area_t *area)
{
    chunk_t *chunk = area->pool->chunks;
    while (chunk->area != area)
        chunk = chunk->next;
    return chunk;
}

static void mark_free(sd_area_t *area, const sd_clock_t *freed)
{
    chunk_t *chunk = chunk_of(area);
    area->granted = false;
    area->pool->used -= chunk->used;
    chunk->free = true;
    sd_clock_set(&chunk->freed, freed);
}

void sd_pool_free_now(sd_area_t *area)
{
    const sd_clock_t nothing = {NULL, 0, 0};
    area->live = false;
    mark_free(area, &nothing);
}

static CUresult free_at(CUdeviceptr address, CUstream stream)
{
    sd_target_t target = sd_target(stream);
    sd_area_t *area = sd_area_at(address);
    CUresult result = sd_capture_forbids(&target);
    if (result != CUDA_SUCCESS)
        return result;
    if (area == NULL || area->address != address || !area->granted || area->kind != SD_AREA_POOLED)
        return CUDA_ERROR_INVALID_VALUE;
    result = submit_chunk(&free_class, area, &target, NULL);
    if (result == CUDA_SUCCESS)
        mark_free(area, &target.line->clock);
    return result;
}

SD_ENTRY_BOTH(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream),
              allocate(address, bytes, device_pool(sd_target(stream).context->device), stream))
SD_ENTRY_BOTH(cuMemAllocFromPoolAsync,
              (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream),
              allocate(address, bytes, get_pool(pool), stream))
SD_ENTRY_BOTH(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), free_at(address, stream))

/* ---- Life and properties ----------------------------------------------- */

static CUresult create(CUmemoryPool *handle, const CUmemPoolProps *props)
{
    uint64_t max_bytes;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !sd_device_valid(props->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        (props->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || sd_lacks("fd")))
        return CUDA_ERROR_NOT_SUPPORTED;
    memcpy(&max_bytes, (const char *)props + 24, sizeof(max_bytes));
    *handle = handle_of(new_pool(props->location.id, max_bytes, false));
    return CUDA_SUCCESS;
}

static CUresult destroy(CUmemoryPool handle)
{
    sd_pool_t *pool = get_pool(handle);
    sd_device_t *entry = &sd_device_table[pool->device];
    if (pool == entry->default_pool)
        return CUDA_ERROR_INVALID_VALUE;
    if (pool == entry->pool)
        entry->pool = entry->default_pool;
    pool->threshold = 0;
    trim(pool, 0);
    sd_object_kill(&pool->handle->object);
    return CUDA_SUCCESS;
}

static CUresult get_attribute(sd_pool_t *pool, CUmemPool_attribute which, void *value)
{
    uint64_t number;
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(value, &pool->reuse[which - 1], sizeof(int));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        number = pool->threshold;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        number = pool->reserved;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        number = pool->reserved_high;
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        number = pool->used;
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        number = pool->used_high;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &number, sizeof(number));
    return CUDA_SUCCESS;
}

static CUresult set_attribute(sd_pool_t *pool, CUmemPool_attribute which, const void *value)
{
    uint64_t number = 0;
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(&pool->reuse[which - 1], value, sizeof(int));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        memcpy(&pool->threshold, value, sizeof(pool->threshold));
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        memcpy(&number, value, sizeof(number));
        if (number != 0)
            return CUDA_ERROR_INVALID_VALUE;
        if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            pool->used_high = pool->used;
        else
            pool->reserved_high = pool->reserved;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult trim_to(sd_pool_t *pool, size_t keep)
{
    trim(pool, keep);
    return CUDA_SUCCESS;
}

static void apply_masks(sd_pool_t *pool)
{
    for (chunk_t *chunk = pool->chunks; chunk != NULL; chunk = chunk->next)
        chunk->area->readers = chunk->area->writers = pool->masks;
}

static CUresult set_access(sd_pool_t *pool, const CUmemAccessDesc *access, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int device = access[i].location.id;
        unsigned bit;
        if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !sd_device_valid(device))
            return CUDA_ERROR_INVALID_DEVICE;
        bit = 1u << device;
        if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
            if (device != pool->device && !sd_options.peers)
                return CUDA_ERROR_INVALID_DEVICE;
            pool->masks |= bit;
        } else if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE && device != pool->device) {
            pool->masks &= ~bit;
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    apply_masks(pool);
    return CUDA_SUCCESS;
}

static CUresult get_access(CUmemAccess_flags *flags, const sd_pool_t *pool,
                           const CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !sd_device_valid(location->id))
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = (pool->masks >> location->id & 1u) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                     : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

static CUresult pool_of_device(CUmemoryPool *handle, CUdevice device, bool current)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    sd_pool_t *pool = device_pool(device);
    *handle = handle_of(current ? pool : sd_device_table[device].default_pool);
    return CUDA_SUCCESS;
}

static CUresult make_current(CUdevice device, CUmemoryPool handle)
{
    sd_pool_t *pool = get_pool(handle);
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (pool->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    device_pool(device);
    sd_device_table[device].pool = pool;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuMemPoolCreate, cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *props),
         create(pool, props))
SD_ENTRY(cuMemPoolDestroy, cuMemPoolDestroy, (CUmemoryPool pool), destroy(pool))
SD_ENTRY(cuMemPoolSetAttribute, cuMemPoolSetAttribute,
         (CUmemoryPool pool, CUmemPool_attribute which, void *value),
         set_attribute(get_pool(pool), which, value))
SD_ENTRY(cuMemPoolGetAttribute, cuMemPoolGetAttribute,
         (CUmemoryPool pool, CUmemPool_attribute which, void *value),
         get_attribute(get_pool(pool), which, value))
SD_ENTRY(cuMemPoolTrimTo, cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep),
         trim_to(get_pool(pool), keep))
SD_ENTRY(cuMemPoolSetAccess, cuMemPoolSetAccess,
         (CUmemoryPool pool, const CUmemAccessDesc *access, size_t count),
         set_access(get_pool(pool), access, count))
SD_ENTRY(cuMemPoolGetAccess, cuMemPoolGetAccess,
         (CUmemAccess_flags * flags, CUmemoryPool pool, CUmemLocation *location),
         get_access(flags, get_pool(pool), location))
SD_ENTRY(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool,
         (CUmemoryPool * pool, CUdevice device), pool_of_device(pool, device, false))
SD_ENTRY(cuDeviceGetMemPool, cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device),
         pool_of_device(pool, device, true))
SD_ENTRY(cuDeviceSetMemPool, cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool),
         make_current(device, pool))
