#include "memory.h"

#include "call.h"
#include "context.h"
#include "pool.h"
#include "space.h"
#include "work.h"

#include <string.h>
#include <sys/mman.h>

#define ALL_DEVICES ((1u << SD_DEVICES_MAX) - 1)
#define DEVICE_UNIT 512 /* what a size is rounded up to */

static uint64_t rounded(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ---- Device ------------------------------------------------------------ */

static CUresult allocate(CUdeviceptr *address, size_t asked)
{
    sd_context_t *context = sd_context_current();
    uint64_t size = rounded(asked, DEVICE_UNIT);
    if (address == NULL || asked == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (size < asked)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sd_bytes_t *bytes = sd_bytes_new(size, context->device, true);
    if (bytes == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *at = sd_addresses_new(size, 4096, NULL);
    if (at == NULL) {
        sd_bytes_release(bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sd_area_t area = {.address = (uint64_t)(uintptr_t)at,
                      .size = size,
                      .kind = SD_AREA_DEVICE,
                      .bytes = bytes,
                      .alias = bytes->data,
                      .context = context,
                      .device = context->device,
                      .asked = asked,
                      .granted = true,
                      .live = true};
    area.readers = area.writers = 1u << context->device;
    sd_area_add(&area);
    sd_bytes_release(bytes);
    *address = area.address;
    return CUDA_SUCCESS;
}

/* ---- Host -------------------------------------------------------------- */

/* Memory at addresses of its own, which the CPU may use. */
static sd_area_t *allocate_shared(sd_area_kind_t kind, size_t asked, int device, unsigned flags)
{
    sd_bytes_t *bytes = sd_bytes_new(rounded(asked, 4096), device, true);
    if (bytes == NULL)
        return NULL;
    sd_area_t area = {.address = (uint64_t)(uintptr_t)bytes->data,
                      .size = bytes->size,
                      .kind = kind,
                      .bytes = bytes,
                      .alias = bytes->data,
                      .context = sd_context_current(),
                      .device = device,
                      .readers = ALL_DEVICES,
                      .writers = ALL_DEVICES,
                      .flags = flags,
                      .asked = asked,
                      .granted = true,
                      .live = true};
    sd_area_t *added = sd_area_add(&area);
    sd_bytes_release(bytes);
    return added;
}

#define PITCH 512

static CUresult allocate_pitched(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                 unsigned element)
{
    if (pitch == NULL || width == 0 || width > SIZE_MAX / 2 || height == 0 ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (height > SIZE_MAX / *pitch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return allocate(address, *pitch * height);
}

static CUresult allocate_managed(CUdeviceptr *address, size_t asked, unsigned flags)
{
    if (address == NULL || asked == 0 || asked > SIZE_MAX / 2 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    sd_area_t *area = allocate_shared(SD_AREA_MANAGED, asked, sd_context_current()->device, flags);
    if (area == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = area->address;
    return CUDA_SUCCESS;
}

static CUresult allocate_host(void **address, size_t asked, unsigned flags)
{
    if (address == NULL || asked == 0 || flags > 7)
        return CUDA_ERROR_INVALID_VALUE;
    if (asked > UINT64_C(1) << 46)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sd_area_t *area = allocate_shared(SD_AREA_PINNED, asked, -1, flags);
    if (area == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = (void *)(uintptr_t)area->address;
    return CUDA_SUCCESS;
}

/* ---- Freeing ----------------------------------------------------------- */

static void remove_area(sd_area_t *area)
{
    if (area->kind == SD_AREA_DEVICE)
        sd_addresses_free((void *)(uintptr_t)area->address, area->size);
    sd_area_remove(area);
}

/* What a real driver does before it frees: it waits for the context, and so saves who did not. */
static void wait_first(sd_area_t *area)
{
    sd_clock_t all = {NULL, 0, 0};
    sd_context_t *context = area->context;
    bool busy =
        sd_bytes_freed(area->bytes, 0, area->bytes->size, STANDIN_FREED_WAITED, area->address);
    sd_submitted(context, &all);
    if (busy || !sd_complete(&all))
        sd_sync_count();
    sd_wait(&all);
    sd_clock_free(&all);
}

static sd_area_t *starting_at(uint64_t address)
{
    sd_area_t *area = sd_area_at(address);
    return area != NULL && area->address == address && area->granted ? area : NULL;
}

static CUresult free_device(CUdeviceptr address)
{
    sd_area_t *area = starting_at(address);
    if (address == 0)
        return CUDA_SUCCESS;
    if (area == NULL || area->kind == SD_AREA_PINNED || area->kind == SD_AREA_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    wait_first(area);
    area = starting_at(address); /* another thread may have been here */
    if (area == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (area->kind == SD_AREA_POOLED)
        sd_pool_free_now(area);
    else
        remove_area(area);
    return CUDA_SUCCESS;
}

static CUresult free_host(void *address)
{
    sd_area_t *area = starting_at((uint64_t)(uintptr_t)address);
    if (area == NULL || area->kind != SD_AREA_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    sd_bytes_freed(area->bytes, 0, area->bytes->size, STANDIN_FREED_IN_USE, area->address);
    remove_area(area);
    return CUDA_SUCCESS;
}

static void end_area(sd_area_t *area, void *context)
{
    if (area->context == context && area->kind != SD_AREA_MAPPED && area->kind != SD_AREA_POOLED)
        remove_area(area);
}

void sd_memory_end(sd_context_t *context)
{
    sd_areas_each(end_area, context);
}

static CUresult get_info(size_t *free_bytes, size_t *total_bytes)
{
    int device = sd_context_current()->device;
    *total_bytes = sd_options.memory_bytes;
    *free_bytes = sd_options.memory_bytes - sd_device_table[device].used_bytes;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuMemGetInfo_v2, cuMemGetInfo_v2, (size_t * free_bytes, size_t *total_bytes),
         get_info(free_bytes, total_bytes))
SD_ENTRY(cuMemAlloc_v2, cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes),
         allocate(address, bytes))
SD_ENTRY(cuMemAllocPitch_v2, cuMemAllocPitch_v2,
         (CUdeviceptr * address, size_t *pitch, size_t width, size_t height, unsigned element),
         allocate_pitched(address, pitch, width, height, element))
SD_ENTRY(cuMemFree_v2, cuMemFree_v2, (CUdeviceptr address), free_device(address))
SD_ENTRY(cuMemAllocManaged, cuMemAllocManaged,
         (CUdeviceptr * address, size_t bytes, unsigned flags),
         allocate_managed(address, bytes, flags))
SD_ENTRY(cuMemHostAlloc, cuMemHostAlloc, (void **address, size_t bytes, unsigned flags),
         allocate_host(address, bytes, flags))
SD_ENTRY(cuMemFreeHost, cuMemFreeHost, (void *address), free_host(address))

/* ---- Questions --------------------------------------------------------- */

static CUresult host_device_pointer(CUdeviceptr *device, void *host, unsigned flags)
{
    sd_area_t *area = sd_area_at((uint64_t)(uintptr_t)host);
    if (flags != 0 || area == NULL || area->kind != SD_AREA_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    *device = (uint64_t)(uintptr_t)host;
    return CUDA_SUCCESS;
}

static CUresult host_flags(unsigned *flags, void *host)
{
    sd_area_t *area = sd_area_at((uint64_t)(uintptr_t)host);
    if (area == NULL || area->kind != SD_AREA_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = area->flags | 2; /* with unified addresses all is mapped */
    return CUDA_SUCCESS;
}

static sd_area_t *granted_at(uint64_t address)
{
    sd_area_t *area = sd_area_at(address);
    return area != NULL && area->granted ? area : NULL;
}

static CUresult address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    sd_area_t *area = granted_at(address);
    if (area == NULL)
        return CUDA_ERROR_NOT_FOUND;
    if (base != NULL)
        *base = area->address;
    if (bytes != NULL)
        *bytes = area->asked;
    return CUDA_SUCCESS;
}

static unsigned long long host_pointer(const sd_area_t *area, uint64_t address)
{
    bool shared = area->kind == SD_AREA_PINNED || area->kind == SD_AREA_MANAGED;
    return shared ? address : 0;
}

/* Whether the answer has 8 bytes; the others have 4. */
static bool is_wide(CUpointer_attribute which)
{
    switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return false;
    default:
        return true;
    }
}

static unsigned access_flags(const sd_area_t *area)
{
    if (area->writers != 0)
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return area->readers != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

static bool is_exportable(const sd_area_t *area)
{
    return area->kind == SD_AREA_MAPPED && sd_bytes_whole(area->bytes)->owns_file;
}

static bool is_rdma_capable(const sd_area_t *area)
{
    return area->kind == SD_AREA_DEVICE || area->kind == SD_AREA_MAPPED;
}

static CUresult answer(uint64_t *value, CUpointer_attribute which, const sd_area_t *area,
                       uint64_t address)
{
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *value = (uint64_t)(uintptr_t)area->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *value = area->kind == SD_AREA_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *value = address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *value = host_pointer(area, address);
        return *value != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *value = area->sync_memops;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *value = area->bytes->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *value = area->kind == SD_AREA_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *value = (uint64_t)(area->device >= 0 ? area->device : area->context->device);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *value = area->address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *value = area->asked;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *value = 1;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *value = is_exportable(area);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        *value = is_rdma_capable(area);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *value = access_flags(area);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *value = sd_pool_handle(area->pool);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static void put(void *data, CUpointer_attribute which, uint64_t value)
{
    unsigned narrow = (unsigned)value;
    if (is_wide(which))
        memcpy(data, &value, sizeof(value));
    else
        memcpy(data, &narrow, sizeof(narrow));
}

static CUresult get_attribute(void *data, CUpointer_attribute which, CUdeviceptr address)
{
    sd_area_t *area = granted_at(address);
    uint64_t value;
    if (data == NULL || area == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = answer(&value, which, area, address);
    if (result == CUDA_SUCCESS)
        put(data, which, value);
    return result;
}

/* Of many: what the address does not have is left zero. */
static CUresult get_attributes(unsigned count, CUpointer_attribute *which, void **data,
                               CUdeviceptr address)
{
    sd_area_t *area = granted_at(address);
    if (count == 0 || which == NULL || data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        uint64_t value;
        if (area == NULL || answer(&value, which[i], area, address) != CUDA_SUCCESS)
            value = 0;
        put(data[i], which[i], value);
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(const void *value, CUpointer_attribute which, CUdeviceptr address)
{
    sd_area_t *area = granted_at(address);
    if (value == NULL || area == NULL || which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    area->sync_memops = *(const unsigned *)value != 0;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer_v2,
         (CUdeviceptr * device, void *host, unsigned flags),
         host_device_pointer(device, host, flags))
SD_ENTRY(cuMemHostGetFlags, cuMemHostGetFlags, (unsigned *flags, void *host),
         host_flags(flags, host))
SD_ENTRY(cuMemGetAddressRange_v2, cuMemGetAddressRange_v2,
         (CUdeviceptr * base, size_t *bytes, CUdeviceptr address),
         address_range(base, bytes, address))
SD_ENTRY(cuPointerGetAttribute, cuPointerGetAttribute,
         (void *data, CUpointer_attribute which, CUdeviceptr address),
         get_attribute(data, which, address))
SD_ENTRY(cuPointerGetAttributes, cuPointerGetAttributes,
         (unsigned count, CUpointer_attribute *which, void **data, CUdeviceptr address),
         get_attributes(count, which, data, address))
SD_ENTRY(cuPointerSetAttribute, cuPointerSetAttribute,
         (const void *value, CUpointer_attribute which, CUdeviceptr address),
         set_attribute(value, which, address))
