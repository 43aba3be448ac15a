#define _GNU_SOURCE
#include "vmm.h"

#include "call.h"
#include "context.h"
#include "space.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULARITY (UINT64_C(2) << 20)
#define FILE_NAME "cuarena-standin-"

typedef struct reservation {
    uint64_t address;
    uint64_t size;
    unsigned char *alias;
    uint64_t id;
    struct reservation *next;
} reservation_t;

typedef struct handle {
    uint64_t id;
    unsigned retained; /* by the program; mappings hold the bytes */
    CUmemAllocationProp props;
    sd_bytes_t *bytes;
    struct handle *next;
} handle_t;

typedef struct exported {
    int file;
    dev_t device;
    ino_t inode;
    struct exported *next;
} exported_t;

static reservation_t *reservations;
static handle_t *handles;
static exported_t *exports;
static uint64_t last_id = 0x1000;

static bool is_whole(uint64_t bytes)
{
    return bytes != 0 && bytes % GRANULARITY == 0;
}

/* ---- Reservations ------------------------------------------------------ */

static reservation_t **link_at(uint64_t address)
{
    reservation_t **link = &reservations;
    while (*link != NULL &&
           (address < (*link)->address || address >= (*link)->address + (*link)->size))
        link = &(*link)->next;
    return link;
}

static CUresult reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted,
                        unsigned long long flags)
{
    uint64_t granularity = alignment > GRANULARITY ? alignment : GRANULARITY;
    if (address == NULL || !is_whole(size) || flags != 0 || (granularity & (granularity - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    void *at = sd_addresses_new(size, granularity, (void *)(uintptr_t)wanted);
    void *alias = at != NULL ? sd_addresses_new(size, 4096, NULL) : NULL;
    reservation_t *made = alias != NULL ? malloc(sizeof(*made)) : NULL;
    if (made == NULL) {
        if (at != NULL)
            sd_addresses_free(at, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (reservation_t){(uint64_t)(uintptr_t)at, size, alias, ++last_id, reservations};
    reservations = made;
    *address = made->address;
    return CUDA_SUCCESS;
}

static bool has_mapping(uint64_t address, uint64_t size)
{
    sd_area_t *area = sd_area_from(address);
    return area != NULL && area->address < address + size;
}

static CUresult free_reservation(CUdeviceptr address, size_t size)
{
    reservation_t **link = link_at(address);
    reservation_t *found = *link;
    if (found == NULL || found->address != address || found->size != size ||
        has_mapping(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    *link = found->next;
    sd_addresses_free((void *)(uintptr_t)address, size);
    sd_addresses_free(found->alias, size);
    free(found);
    return CUDA_SUCCESS;
}

size_t sd_reservations_alive(void)
{
    size_t count = 0;
    for (reservation_t *at = reservations; at != NULL; at = at->next)
        count++;
    return count;
}

SD_ENTRY(cuMemAddressReserve, cuMemAddressReserve,
         (CUdeviceptr * address, size_t size, size_t alignment, CUdeviceptr wanted,
          unsigned long long flags),
         reserve(address, size, alignment, wanted, flags))
SD_ENTRY(cuMemAddressFree, cuMemAddressFree, (CUdeviceptr address, size_t size),
         free_reservation(address, size))

/* ---- Handles ----------------------------------------------------------- */

static handle_t *find_handle(CUmemGenericAllocationHandle id)
{
    handle_t *handle = handles;
    while (handle != NULL && handle->id != id)
        handle = handle->next;
    return handle;
}

static CUmemGenericAllocationHandle add_handle(const CUmemAllocationProp *props, sd_bytes_t *bytes)
{
    handle_t *handle = malloc(sizeof(*handle));
    if (handle == NULL)
        sd_die("the host is out of memory");
    *handle = (handle_t){++last_id, 1, *props, bytes, handles};
    handles = handle;
    return handle->id;
}

/* A piece of the file that all handles share; it only ever grows, and what is released becomes a
 * hole. */
static bool place_in_store(sd_bytes_t *bytes)
{
    static int store = -1;
    static uint64_t end;
    if (store < 0)
        store = memfd_create(FILE_NAME "store", MFD_CLOEXEC);
    if (store < 0 || ftruncate(store, (off_t)(end + bytes->size)) != 0)
        return false;
    bytes->file = store;
    bytes->file_offset = end;
    end += bytes->size;
    return true;
}

static bool place_in_file(sd_bytes_t *bytes)
{
    char name[64];
    snprintf(name, sizeof(name), FILE_NAME "%d", bytes->device);
    bytes->file = memfd_create(name, MFD_CLOEXEC);
    bytes->owns_file = bytes->file >= 0;
    return bytes->file >= 0 && ftruncate(bytes->file, (off_t)bytes->size) == 0;
}

/* New memory is not zero on a device. */
static bool soil(const sd_bytes_t *bytes)
{
    char page[4096];
    memset(page, 0xa5, sizeof(page));
    return pwrite(bytes->file, page, sizeof(page), (off_t)bytes->file_offset) ==
           (ssize_t)sizeof(page);
}

static CUresult check_props(const CUmemAllocationProp *props)
{
    if (props == NULL || props->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sd_device_valid(props->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    const unsigned known =
        (sd_lacks("fd") ? 0u : (unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) |
        (sd_lacks("fabric") ? 0u : (unsigned)CU_MEM_HANDLE_TYPE_FABRIC);
    return (props->requestedHandleTypes & ~known) != 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size,
                       const CUmemAllocationProp *props, unsigned long long flags)
{
    CUresult result = check_props(props);
    if (result != CUDA_SUCCESS)
        return result;
    if (handle == NULL || !is_whole(size) || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((props->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0)
        return CUDA_ERROR_NOT_PERMITTED; /* there is no IMEX channel */
    sd_bytes_t *bytes = sd_bytes_new(size, props->location.id, false);
    if (bytes == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool own = props->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
    if (!(own ? place_in_file(bytes) : place_in_store(bytes)) || !soil(bytes)) {
        sd_bytes_release(bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = add_handle(props, bytes);
    return CUDA_SUCCESS;
}

static CUresult release(CUmemGenericAllocationHandle id)
{
    handle_t *handle = find_handle(id);
    if (handle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (--handle->retained != 0)
        return CUDA_SUCCESS;
    handle_t **link = &handles;
    while (*link != handle)
        link = &(*link)->next;
    *link = handle->next;
    sd_bytes_release(handle->bytes);
    free(handle);
    return CUDA_SUCCESS;
}

static CUresult get_props(CUmemAllocationProp *props, CUmemGenericAllocationHandle id)
{
    handle_t *handle = find_handle(id);
    if (handle == NULL || props == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *props = handle->props;
    return CUDA_SUCCESS;
}

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *props)
{
    CUresult result = check_props(props);
    if (result == CUDA_SUCCESS)
        *bytes = GRANULARITY;
    return result;
}

size_t sd_handles_alive(void)
{
    size_t count = 0;
    for (handle_t *handle = handles; handle != NULL; handle = handle->next)
        count += handle->retained;
    return count;
}

SD_ENTRY(cuMemCreate, cuMemCreate,
         (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *props,
          unsigned long long flags),
         create(handle, size, props, flags))
SD_ENTRY(cuMemRelease, cuMemRelease, (CUmemGenericAllocationHandle handle), release(handle))
SD_ENTRY(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle,
         (CUmemAllocationProp * props, CUmemGenericAllocationHandle handle),
         get_props(props, handle))
SD_ENTRY(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity,
         (size_t * bytes, const CUmemAllocationProp *props,
          CUmemAllocationGranularity_flags option),
         ((void)option, granularity(bytes, props)))

/* ---- Mappings ---------------------------------------------------------- */

static CUresult map(CUdeviceptr address, size_t size, size_t offset,
                    CUmemGenericAllocationHandle id, unsigned long long flags)
{
    handle_t *handle = find_handle(id);
    reservation_t *inside = *link_at(address);
    if (handle == NULL || inside == NULL || offset != 0 || flags != 0 ||
        size != handle->bytes->size || address % GRANULARITY != 0 ||
        address - inside->address + size > inside->size || has_mapping(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    sd_bytes_t *bytes = handle->bytes;
    unsigned char *alias = inside->alias + (address - inside->address);
    if (mmap(alias, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             bytes->file, (off_t)bytes->file_offset) == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sd_bytes_t *view = sd_bytes_view(bytes);
    sd_area_t area = {.address = address,
                      .size = size,
                      .kind = SD_AREA_MAPPED,
                      .bytes = view,
                      .alias = alias,
                      .device = handle->props.location.id,
                      .asked = size,
                      .group = inside->id,
                      .handle = id,
                      .granted = true,
                      .live = true};
    sd_area_add(&area);
    sd_bytes_release(view); /* the area holds it */
    return CUDA_SUCCESS;
}

/* Whether the range is made of whole mappings with no gap. */
static bool is_all_mapped(uint64_t address, uint64_t size)
{
    uint64_t at = address;
    while (at < address + size) {
        sd_area_t *area = sd_area_at(at);
        if (area == NULL || area->kind != SD_AREA_MAPPED || area->address != at)
            return false;
        at += area->size;
    }
    return at == address + size;
}

static void unmap_one(sd_area_t *area)
{
    sd_bytes_freed(area->bytes, 0, area->size, STANDIN_FREED_IN_USE, area->address);
    mmap(area->alias, area->size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    sd_area_remove(area);
}

static CUresult unmap(CUdeviceptr address, size_t size)
{
    if (size == 0 || !is_all_mapped(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = address; at < address + size;) {
        sd_area_t *area = sd_area_at(at);
        at += area->size;
        unmap_one(area);
    }
    return CUDA_SUCCESS;
}

static void allow(sd_area_t *area, unsigned bit, CUmemAccess_flags flags)
{
    area->readers &= ~bit;
    area->writers &= ~bit;
    if ((flags & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0)
        area->readers |= bit;
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        area->writers |= bit;
}

static CUresult check_access(const CUmemAccessDesc *access, uint64_t address)
{
    int device = access->location.id;
    if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !sd_device_valid(device) ||
        (sd_area_at(address)->device != device && !sd_options.peers))
        return CUDA_ERROR_INVALID_DEVICE;
    if (access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
                           size_t count)
{
    if (size == 0 || access == NULL || count == 0 || !is_all_mapped(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult result = check_access(&access[i], address);
        if (result != CUDA_SUCCESS)
            return result;
    }
    for (uint64_t at = address; at < address + size;) {
        sd_area_t *area = sd_area_at(at);
        for (size_t i = 0; i < count; i++)
            allow(area, 1u << access[i].location.id, access[i].flags);
        at += area->size;
    }
    return CUDA_SUCCESS;
}

static CUresult get_access(unsigned long long *flags, const CUmemLocation *location,
                           CUdeviceptr address)
{
    sd_area_t *area = sd_area_at(address);
    if (area == NULL || area->kind != SD_AREA_MAPPED ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE || !sd_device_valid(location->id))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if ((area->writers >> location->id & 1u) != 0)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    else if ((area->readers >> location->id & 1u) != 0)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    return CUDA_SUCCESS;
}

static CUresult retain(CUmemGenericAllocationHandle *id, void *address)
{
    sd_area_t *area = sd_area_at((uint64_t)(uintptr_t)address);
    if (area == NULL || area->kind != SD_AREA_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    handle_t *handle = find_handle(area->handle);
    if (handle != NULL) {
        handle->retained++;
        *id = handle->id;
        return CUDA_SUCCESS;
    }
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = area->device;
    if (sd_bytes_whole(area->bytes)->owns_file)
        props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    sd_bytes_hold(sd_bytes_whole(area->bytes));
    *id = area->handle = add_handle(&props, sd_bytes_whole(area->bytes));
    return CUDA_SUCCESS;
}

SD_ENTRY(cuMemMap, cuMemMap,
         (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
          unsigned long long flags),
         map(address, size, offset, handle, flags))
SD_ENTRY(cuMemUnmap, cuMemUnmap, (CUdeviceptr address, size_t size), unmap(address, size))
SD_ENTRY(cuMemSetAccess, cuMemSetAccess,
         (CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count),
         set_access(address, size, access, count))
SD_ENTRY(cuMemGetAccess, cuMemGetAccess,
         (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address),
         get_access(flags, location, address))
SD_ENTRY(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle,
         (CUmemGenericAllocationHandle * handle, void *address), retain(handle, address))

/* ---- Sharing ----------------------------------------------------------- */

static void remember_export(int file)
{
    struct stat info;
    exported_t *exported = malloc(sizeof(*exported));
    if (exported == NULL || fstat(file, &info) != 0)
        sd_die("an exported descriptor cannot be looked at");
    *exported = (exported_t){file, info.st_dev, info.st_ino, exports};
    exports = exported;
}

static bool still_open(const exported_t *exported)
{
    struct stat info;
    return fstat(exported->file, &info) == 0 && info.st_dev == exported->device &&
           info.st_ino == exported->inode;
}

/* A number that was closed and given out again for the same file counts once.
 */
size_t sd_descriptors_open(void)
{
    size_t count = 0;
    for (exported_t *at = exports; at != NULL; at = at->next) {
        bool again = false;
        for (exported_t *other = exports; other != at; other = other->next)
            again |= other->file == at->file;
        count += !again && still_open(at);
    }
    return count;
}

static CUresult export_handle(void *shareable, CUmemGenericAllocationHandle id,
                              CUmemAllocationHandleType type, unsigned long long flags)
{
    handle_t *handle = find_handle(id);
    if (handle == NULL || flags != 0 || shareable == NULL ||
        handle->props.requestedHandleTypes != type ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    int file = fcntl(handle->bytes->file, F_DUPFD_CLOEXEC, 0);
    if (file < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    remember_export(file);
    memcpy(shareable, &file, sizeof(file));
    return CUDA_SUCCESS;
}

/* The device that a descriptor of ours belongs to; -1: it is none. */
static int exported_device(int file)
{
    char path[64];
    char name[128];
    int device;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    ssize_t length = readlink(path, name, sizeof(name) - 1);
    if (length < 0)
        return -1;
    name[length] = '\0';
    if (sscanf(name, "/memfd:" FILE_NAME "%d", &device) != 1)
        return -1;
    return sd_device_valid(device) ? device : -1;
}

static CUresult import_handle(CUmemGenericAllocationHandle *id, void *shareable,
                              CUmemAllocationHandleType type)
{
    int file = (int)(intptr_t)shareable;
    int device = exported_device(file);
    struct stat info;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (device < 0 || fstat(file, &info) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sd_bytes_t *bytes = sd_bytes_new((uint64_t)info.st_size, -1, false);
    if (bytes == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bytes->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    bytes->owns_file = true;
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = device;
    *id = add_handle(&props, bytes);
    return CUDA_SUCCESS;
}

SD_ENTRY(cuMemExportToShareableHandle, cuMemExportToShareableHandle,
         (void *shareable, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
          unsigned long long flags),
         export_handle(shareable, handle, type, flags))
SD_ENTRY(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle,
         (CUmemGenericAllocationHandle * handle, void *shareable, CUmemAllocationHandleType type),
         import_handle(handle, shareable, type))
