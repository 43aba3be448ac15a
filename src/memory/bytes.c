/*
 * Memory of bytes that the caller owns: one segment, given to one arena at a time, that can be
 * lengthened up to all of them. It begins at the first multiple of the arena's alignment and has as
 * many whole granules as fit.
 *
 * They are bytes of the host, or such as the driver knows: of a device, managed, or pinned. Of the
 * latter the driver is asked what they are, and has to agree with the configuration.
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "base/error.h"
#include "memory/cuda/store.h"
#include "memory/host/common.h"
#include "memory/kinds.h"

/* `given` is atomic because `available` may be asked while a `get` is under way. */
typedef struct bytes {
    cuai_store_t store; /* first: it is the table's user; of host bytes only its streams are used */
    uint64_t address;
    uint64_t bytes;    /* a multiple of the granule */
    atomic_bool given; /* the arena has the segment */
} bytes_t;

/* Finds the whole granules in the bytes of a configuration. */
static cuarena_status_t find(const cuarena_config_t *config, uint64_t *address, uint64_t *bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)config->bytes;
    uint64_t end;
    if (begin == 0 || !cuai_add_checked(begin, config->bytes_size, &end))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes: %" PRIu64 " bytes at %p, a pointer and a size "
                         "that the address space has are accepted",
                         config->bytes_size, config->bytes);
    uint64_t last = cuai_align_down(end, config->alignment);
    if (!cuai_align_up_checked(begin, config->alignment, address) || last <= *address)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes_size: %" PRIu64 " at %p, room for one block of "
                         "%" PRIu64 " aligned bytes is accepted",
                         config->bytes_size, config->bytes, config->alignment);
    *bytes = last - *address;
    return CUARENA_OK;
}

/* ---- What they are ----------------------------------------------------- */

static const char *kind_name(int32_t kind)
{
    CUAI_ASSERT(kind >= CUARENA_BYTES_HOST && kind <= CUARENA_BYTES_PINNED);
    static const char *const names[] = {
        [CUARENA_BYTES_HOST] = "host bytes unknown to the driver",
        [CUARENA_BYTES_DEVICE] = "device",
        [CUARENA_BYTES_MANAGED] = "managed",
        [CUARENA_BYTES_PINNED] = "pinned",
    };
    return names[kind];
}

/* Asks the driver what kind of bytes are at an address; those that it does not know are bytes of
 * the host. Called within a visit of the place. */
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
static cuarena_status_t check(const bytes_t *self, const cuarena_config_t *config)
{
    cuai_place_t *place = self->store.place;
    CUAI_ASSERT(self->address != 0 && self->bytes != 0);
    cuarena_status_t status = check_at(place, config, self->address);
    return status == CUARENA_OK ? check_at(place, config, self->address + self->bytes - 1) : status;
}

/* ---- The table --------------------------------------------------------- */

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    const bytes_t *self = user;
    *bytes_out = self->given ? 0 : self->bytes;
    return CUARENA_OK;
}

static cuarena_status_t total(void *user, uint64_t *bytes_out)
{
    const bytes_t *self = user;
    *bytes_out = self->bytes;
    return CUARENA_OK;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    (void)address_bytes;
    bytes_t *self = user;
    uint64_t left = self->given ? 0 : self->bytes;
    if (bytes > left)
        return cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, bytes, self->bytes, self->bytes - left, left,
                               left, "the caller's bytes: %" PRIu64 " asked, %" PRIu64 " are left",
                               bytes, left);
    CUAI_ASSERT(bytes != 0);
    self->given = true;
    *segment_out = (cuarena_memory_segment_t){
        .address = self->address,
        .bytes = bytes,
        .address_bytes = self->bytes,
    };
    return CUARENA_OK;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    (void)segment;
    bytes_t *self = user;
    CUAI_ASSERT(self->given && segment->address == self->address);
    self->given = false;
}

cuarena_status_t cuai_length_grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    (void)user;
    (void)segment;
    (void)new_bytes;
    CUAI_ASSERT(new_bytes <= segment->address_bytes);
    return CUARENA_OK;
}

void cuai_length_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    (void)cuai_length_grow(user, segment, new_bytes);
}

static void fill_table(bytes_t *self, const cuarena_config_t *config, cuai_memory_t *out)
{
    const bool pinned = config->bytes_kind == CUARENA_BYTES_PINNED;
    cuarena_memory_ops_t *ops = &out->ops;
    CUAI_ASSERT(cuai_is_aligned(self->address | self->bytes, config->alignment));
    if (config->bytes_kind == CUARENA_BYTES_HOST)
        cuai_host_memory_fill(&self->store.streams, ops);
    else
        cuai_store_fill(&self->store, out);
    if (config->bytes_kind != CUARENA_BYTES_DEVICE)
        ops->properties |= CUARENA_MEMORY_HOST_READABLE;
    ops->granularity = config->alignment;
    ops->alignment = config->alignment;
    ops->available = available;
    ops->total = total;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = cuai_length_grow;
    ops->shrink = cuai_length_shrink;
    if (pinned) {
        ops->zero_bytes = cuai_move_zero;
        ops->set_bytes = cuai_move_set;
        ops->read_bytes = cuai_move_read;
    }
    if (pinned && !self->store.place->facts.host_same)
        ops->zero_captured = NULL;
    out->user = self;
}

/* Checks bytes that the driver knows; ends the memory if they are others. */
static cuarena_status_t ready(bytes_t *self, const cuarena_config_t *config)
{
    cuarena_status_t status = check(self, config);
    if (config->bytes_kind != CUARENA_BYTES_DEVICE)
        self->store.streams.reach = CUAI_REACH_ALL;
    if (status == CUARENA_OK && config->bytes_kind != CUARENA_BYTES_PINNED)
        status = cuai_store_add_mover(&self->store);
    if (status != CUARENA_OK)
        cuai_store_end(self);
    return status;
}

cuarena_status_t cuai_bytes_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    const bool host = config->bytes_kind == CUARENA_BYTES_HOST;
    uint64_t address = 0;
    uint64_t bytes = 0;
    cuarena_status_t status = find(config, &address, &bytes);
    if (status != CUARENA_OK)
        return status;
    bytes_t *self = host ? cuai_host_memory_open(sizeof *self, "bytes", &status)
                         : cuai_store_open(sizeof *self, "bytes", config, &status);
    if (self == NULL)
        return status;
    self->address = address;
    self->bytes = bytes;
    if (!host)
        status = ready(self, config);
    if (status == CUARENA_OK)
        fill_table(self, config, out);
    return status;
}
