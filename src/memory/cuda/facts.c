#include <string.h>

#include "base/error.h"
#include "memory/cuda/place.h"

/* Questions to the driver about one device; the first failure is kept. */
typedef struct inquiry {
    const cuai_cuda_t *cuda;
    cuai_cu_device_t device;
    cuai_cu_result_t result;
    const char *call;
} inquiry_t;

static void note(inquiry_t *inquiry, cuai_cu_result_t result, const char *call)
{
    CUAI_ASSERT(call != NULL);
    if (inquiry->result == CUAI_CUDA_SUCCESS) {
        inquiry->result = result;
        inquiry->call = call;
    }
}

/* The value of an attribute; 0 for one that the driver is too old to know. */
static int attribute(inquiry_t *inquiry, cuai_cu_device_attribute_t which)
{
    int value = 0;
    cuai_cu_result_t result =
        cuai_cu(inquiry->cuda)->cuDeviceGetAttribute(&value, which, inquiry->device);
    if (result == CUAI_CUDA_ERROR_INVALID_VALUE)
        return 0;
    note(inquiry, result, "cuDeviceGetAttribute");
    return result == CUAI_CUDA_SUCCESS ? value : 0;
}

static bool has(inquiry_t *inquiry, cuai_cu_device_attribute_t which)
{
    return attribute(inquiry, which) != 0;
}

/* ---- Calls that a facility needs --------------------------------------- */

static bool maps_handles(const cuai_cuda_t *cuda)
{
    return cuda->cuMemAddressReserve != NULL && cuda->cuMemAddressFree != NULL &&
           cuda->cuMemCreate != NULL && cuda->cuMemRelease != NULL && cuda->cuMemMap != NULL &&
           cuda->cuMemUnmap != NULL && cuda->cuMemSetAccess != NULL &&
           cuda->cuMemGetAllocationGranularity != NULL;
}

static bool orders_by_stream(const cuai_cuda_t *cuda)
{
    return cuda->cuDeviceGetDefaultMemPool != NULL && cuda->cuDeviceGetMemPool != NULL &&
           cuda->cuDeviceSetMemPool != NULL && cuda->cuMemPoolSetAccess != NULL &&
           cuda->cuMemFreeAsync != NULL && cuda->cuMemAllocFromPoolAsync != NULL &&
           cuda->cuMemPoolCreate != NULL && cuda->cuMemPoolDestroy != NULL &&
           cuda->cuMemPoolSetAttribute != NULL && cuda->cuMemPoolGetAttribute != NULL &&
           cuda->cuMemPoolTrimTo != NULL;
}

/* ---- The facts --------------------------------------------------------- */

static void ask_identity(inquiry_t *inquiry, cuai_facts_t *facts)
{
    const cuai_cuda_t *cuda = inquiry->cuda;
    size_t total = 0;
    CUAI_ASSERT(facts->name[sizeof facts->name - 1] == 0);
    note(inquiry,
         cuai_cu(cuda)->cuDeviceGetName(facts->name, (int)sizeof facts->name - 1, inquiry->device),
         "cuDeviceGetName");
    note(inquiry, cuai_cu(cuda)->cuDeviceTotalMem(&total, inquiry->device), "cuDeviceTotalMem");
    facts->total_bytes = total;
    facts->major = attribute(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    facts->minor = attribute(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    facts->multiprocessors = attribute(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

static void ask_device_memory(inquiry_t *inquiry, cuai_facts_t *facts)
{
    const cuai_cuda_t *cuda = inquiry->cuda;
    facts->vmm = has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) &&
                 maps_handles(cuda);
    bool exports = facts->vmm && cuda->cuMemExportToShareableHandle != NULL;
    const cuai_cu_device_attribute_t descriptors =
        CUAI_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    facts->fd = exports && has(inquiry, descriptors);
    facts->fabric = exports && has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
    facts->rdma = facts->vmm &&
                  has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
    facts->pools =
        has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) && orders_by_stream(cuda);
}

static void ask_host_memory(inquiry_t *inquiry, cuai_facts_t *facts)
{
    facts->managed = has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) &&
                     inquiry->cuda->cuMemAllocManaged != NULL;
    facts->concurrent =
        facts->managed && has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    facts->pageable = has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    facts->maps_host = has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    facts->host_same =
        facts->maps_host && has(inquiry, CUAI_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
}

cuarena_status_t cuai_facts_of(const cuai_cuda_t *cuda, cuai_cu_device_t device,
                               cuai_facts_t *facts_out)
{
    inquiry_t inquiry = {.cuda = cuda, .device = device};
    cuai_facts_t facts;
    CUAI_ASSERT(device >= 0 && device < cuda->device_count);
    memset(&facts, 0, sizeof facts);
    ask_identity(&inquiry, &facts);
    ask_device_memory(&inquiry, &facts);
    ask_host_memory(&inquiry, &facts);
    if (inquiry.result != CUAI_CUDA_SUCCESS)
        return cuai_cuda_fail(inquiry.result, inquiry.call, "asking what device %d can do", device);
    *facts_out = facts;
    return CUARENA_OK;
}
