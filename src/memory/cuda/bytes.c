/*
 * Memory of bytes that the caller owns and that the driver knows: of a device, managed, or pinned.
 * The driver is asked what they are, and has to agree with the configuration.
 */
#include <inttypes.h>

#include "base/error.h"
#include "memory/cuda/store.h"
#include "memory/host/move.h"
#include "memory/host/owned.h"
#include "memory/kinds.h"

typedef struct bytes {
    cuai_store_t store; /* first: it is the table's user */
    cuai_owned_t owned;
} bytes_t;

/* ---- What they are ----------------------------------------------------- */

static const char *kind_name(int32_t kind)
{
    static const char *const names[] = {
        [CUARENA_BYTES_HOST] = "host bytes unknown to the driver",
        [CUARENA_BYTES_DEVICE] = "device",
        [CUARENA_BYTES_MANAGED] = "managed",
        [CUARENA_BYTES_PINNED] = "pinned",
    };
    return names[kind];
}

/* Within a visit. Bytes that the driver does not know are bytes of the host. */
static cuai_cu_result_t ask(const cuai_place_t *place, uint64_t address, int32_t *kind_out,
                            int *device_out)
{
    const cuai_cuda_t *cuda = place->cuda;
    unsigned type = 0;
    unsigned managed = 0;
    CUAI_ASSERT(address != 0);
    *kind_out = CUARENA_BYTES_HOST;
    cuai_cu_result_t result =
        cuai_cu(cuda)->cuPointerGetAttribute(&type, CUAI_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (result == CUAI_CUDA_ERROR_INVALID_VALUE)
        return CUAI_CUDA_SUCCESS;
    if (result == CUAI_CUDA_SUCCESS)
        result = cuai_cu(cuda)->cuPointerGetAttribute(
            &managed, CUAI_CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    if (result == CUAI_CUDA_SUCCESS)
        result = cuai_cu(cuda)->cuPointerGetAttribute(
            device_out, CUAI_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    if (managed)
        *kind_out = CUARENA_BYTES_MANAGED;
    else if (type == CUAI_CU_MEMORYTYPE_DEVICE)
        *kind_out = CUARENA_BYTES_DEVICE;
    else if (type == CUAI_CU_MEMORYTYPE_HOST)
        *kind_out = CUARENA_BYTES_PINNED;
    return result;
}

static cuarena_status_t compare(const cuai_place_t *place, const cuarena_config_t *config,
                                uint64_t address, int32_t kind, int device)
{
    CUAI_ASSERT(kind >= CUARENA_BYTES_HOST && kind <= CUARENA_BYTES_PINNED);
    if (kind != config->bytes_kind)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "bytes_kind: %s, but at 0x%" PRIx64 " there is: %s",
                         kind_name(config->bytes_kind), address, kind_name(kind));
    if (kind == CUARENA_BYTES_DEVICE && device != place->device)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes: of device %d at 0x%" PRIx64 ", but the arena is of device %d",
                         device, address, place->device);
    return CUARENA_OK;
}

static cuarena_status_t check_at(cuai_place_t *place, const cuarena_config_t *config,
                                 uint64_t address)
{
    int32_t kind;
    int device = -1;
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = ask(place, address, &kind, &device);
    cuai_place_leave(&visit);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuPointerGetAttribute",
                               "the caller's bytes at 0x%" PRIx64, address);
    return compare(place, config, address, kind, device);
}

/* Checks the first byte and the last: if the size is too large, the last is of another kind. */
static cuarena_status_t check(const bytes_t *bytes, const cuarena_config_t *config)
{
    cuai_place_t *place = bytes->store.place;
    const cuai_owned_t *owned = &bytes->owned;
    CUAI_ASSERT(owned->address != 0 && owned->bytes != 0);
    cuarena_status_t status = check_at(place, config, owned->address);
    if (status != CUARENA_OK)
        return status;
    return check_at(place, config, owned->address + owned->bytes - 1);
}

/* ---- The table --------------------------------------------------------- */

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    const bytes_t *bytes = user;
    *bytes_out = cuai_owned_left(&bytes->owned);
    return CUARENA_OK;
}

static cuarena_status_t total(void *user, uint64_t *bytes_out)
{
    const bytes_t *bytes = user;
    *bytes_out = bytes->owned.bytes;
    return CUARENA_OK;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    (void)address_bytes;
    bytes_t *self = user;
    return cuai_owned_get(&self->owned, bytes, segment_out);
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    (void)segment;
    bytes_t *bytes = user;
    cuai_owned_give_back(&bytes->owned);
}

static void fill_table(const bytes_t *bytes, const cuarena_config_t *config, cuai_memory_t *out)
{
    const bool pinned = config->bytes_kind == CUARENA_BYTES_PINNED;
    cuarena_memory_ops_t *ops = &out->ops;
    cuai_store_fill(&bytes->store, out);
    if (config->bytes_kind != CUARENA_BYTES_DEVICE)
        ops->properties |= CUARENA_MEMORY_HOST_READABLE;
    ops->granularity = config->alignment;
    ops->alignment = config->alignment;
    ops->available = available;
    ops->total = total;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = cuai_owned_grow;
    ops->shrink = cuai_owned_shrink;
    if (pinned)
        ops->zero_bytes = cuai_move_zero;
    if (pinned && !bytes->store.place->facts.host_same)
        ops->zero_captured = NULL;
    out->user = (void *)(uintptr_t)bytes;
}

cuarena_status_t cuai_device_bytes_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuai_owned_t owned;
    cuarena_status_t status = cuai_owned_find(config, &owned);
    if (status != CUARENA_OK)
        return status;
    bytes_t *bytes = cuai_store_open(sizeof *bytes, "bytes", config, &status);
    if (bytes == NULL)
        return status;
    bytes->owned = owned;
    status = check(bytes, config);
    if (config->bytes_kind != CUARENA_BYTES_DEVICE)
        bytes->store.streams.reach = CUAI_REACH_ALL;
    if (status == CUARENA_OK && config->bytes_kind != CUARENA_BYTES_PINNED)
        status = cuai_store_add_mover(&bytes->store);
    if (status == CUARENA_OK)
        fill_table(bytes, config, out);
    else
        cuai_store_end(bytes);
    return status;
}
