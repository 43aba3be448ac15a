/*
 * The entry points that ask about devices. The numbers are those of an H200 where no option says
 * otherwise.
 */
#include "call.h"
#include "context.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

static CUresult count_devices(int *count)
{
    *count = sd_options.device_count;
    return CUDA_SUCCESS;
}

static CUresult by_ordinal(CUdevice *device, int ordinal)
{
    if (!sd_device_valid(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult name_of(char *name, int bytes, CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (bytes <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)bytes, "Stand-in device %d", device);
    return CUDA_SUCCESS;
}

static int handle_types(void)
{
    return sd_lacks("fd") ? 0 : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

static int attribute(CUdevice_attribute which)
{
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        return 1980000;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return 8; /* few: there are as many workers to play through */
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        return !sd_lacks("mapping");
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        return !sd_lacks("unified");
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        return 1;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return 60 << 20;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return 2048;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return sd_options.capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return sd_options.capability % 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        return !sd_lacks("managed");
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        return !sd_lacks("managed") && !sd_lacks("concurrent");
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        return !sd_lacks("vmm");
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        return !sd_lacks("vmm") && handle_types() != 0;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        return 32;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
        return !sd_lacks("vmm") && !sd_lacks("rdma");
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
        return !sd_lacks("vmm") && !sd_lacks("fabric");
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        return !sd_lacks("pools");
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
        return sd_lacks("pools") ? 0 : handle_types();
    default:
        return 0;
    }
}

static CUresult get_attribute(int *value, CUdevice_attribute which, CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if ((int)which < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute(which);
    return CUDA_SUCCESS;
}

static CUresult total_memory(size_t *bytes, CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = sd_options.memory_bytes;
    return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "standin-device-", 15);
    uuid->bytes[15] = (char)('0' + device);
    return CUDA_SUCCESS;
}

static CUresult can_access(int *can, CUdevice device, CUdevice peer)
{
    if (!sd_device_valid(device) || !sd_device_valid(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer && sd_options.peers;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuDeviceGetCount, cuDeviceGetCount, (int *count), count_devices(count))
SD_ENTRY(cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal), by_ordinal(device, ordinal))
SD_ENTRY(cuDeviceGetName, cuDeviceGetName, (char *name, int bytes, CUdevice device),
         name_of(name, bytes, device))
SD_ENTRY(cuDeviceGetAttribute, cuDeviceGetAttribute,
         (int *value, CUdevice_attribute which, CUdevice device),
         get_attribute(value, which, device))
SD_ENTRY(cuDeviceTotalMem_v2, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device),
         total_memory(bytes, device))
SD_ENTRY(cuDeviceGetUuid_v2, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device),
         get_uuid(uuid, device))
SD_ENTRY(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer),
         can_access(can, device, peer))
