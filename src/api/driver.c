/* What is known of the driver and its devices. */
#include "cuarena/driver.h"

#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/sized.h"
#include "memory/cuda/place.h"

/* The sizes that the structs had in the first release. */
#define DRIVER_INFO_FIRST sizeof(cuarena_driver_info_t)
#define DEVICE_INFO_FIRST sizeof(cuarena_device_info_t)

void cuarena_driver_info_init(cuarena_driver_info_t *info)
{
    if (info != NULL)
        *info = (cuarena_driver_info_t){.struct_size = sizeof *info};
}

void cuarena_device_info_init(cuarena_device_info_t *info)
{
    if (info != NULL)
        *info = (cuarena_device_info_t){.struct_size = sizeof *info};
}

cuarena_status_t cuarena_driver_info(cuarena_driver_info_t *info)
{
    if (!cuai_sized_ok(info, DRIVER_INFO_FIRST, sizeof *info))
        return cuai_told(cuai_fail_struct("info", info));
    const cuai_cuda_t *cuda = cuai_cuda();
    if (cuda == NULL)
        return cuai_told(CUARENA_NO_DEVICE);
    cuarena_driver_info_t whole = {
        .version = cuda->version,
        .device_count = cuda->device_count,
    };
    (void)snprintf(whole.library, sizeof whole.library, "%s", cuda->library);
    cuai_sized_write(info, &whole);
    return CUARENA_OK;
}

static cuarena_device_info_t from_facts(const cuai_facts_t *facts)
{
    CUAI_ASSERT(facts != NULL);
    cuarena_device_info_t whole = {
        .compute_major = facts->major,
        .compute_minor = facts->minor,
        .multiprocessors = facts->multiprocessors,
        .vmm = facts->vmm,
        .fd = facts->fd,
        .rdma = facts->rdma,
        .fabric = facts->fabric,
        .pools = facts->pools,
        .managed = facts->managed,
        .concurrent = facts->concurrent,
        .total_bytes = facts->total_bytes,
    };
    (void)snprintf(whole.name, sizeof whole.name, "%s", facts->name);
    return whole;
}

static cuarena_status_t ask_free(cuai_place_t *place, uint64_t *free_out)
{
    CUAI_ASSERT(place->cuda != NULL);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = place->cuda->cuMemGetInfo(&free_bytes, &total_bytes);
    cuai_place_leave(&visit);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemGetInfo", "device %d", place->device);
    *free_out = free_bytes;
    return CUARENA_OK;
}

cuarena_status_t cuarena_device_info(int32_t device, cuarena_device_info_t *info)
{
    if (!cuai_sized_ok(info, DEVICE_INFO_FIRST, sizeof *info))
        return cuai_told(cuai_fail_struct("info", info));
    cuai_place_t *place;
    cuarena_status_t status = cuai_place_open_ordinal(device, &place);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuarena_device_info_t whole = from_facts(&place->facts);
    status = ask_free(place, &whole.free_bytes);
    cuai_place_close(place);
    if (status == CUARENA_OK)
        cuai_sized_write(info, &whole);
    return cuai_told(status);
}
