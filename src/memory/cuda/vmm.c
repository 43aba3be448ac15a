#include "memory/cuda/vmm.h"

#include <inttypes.h>

#include "base/addresses.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "base/log.h"

/* ---- Which handles are mapped ------------------------------------------ */

/* The cookie of a segment. */
typedef struct mapped {
    size_t words;
    uint64_t bits[]; /* a bit for the place of each handle, set while one is mapped there */
} mapped_t;

static mapped_t *make_mapped(uint64_t handles)
{
    CUAI_ASSERT(handles != 0);
    size_t words = (size_t)((handles + 63) / 64);
    mapped_t *mapped = cuai_host_alloc(sizeof *mapped + words * sizeof mapped->bits[0]);
    if (mapped != NULL)
        mapped->words = words; /* the rest comes zeroed */
    return mapped;
}

static void set_mapped(mapped_t *mapped, uint64_t begin, uint64_t end, bool on)
{
    CUAI_ASSERT(begin <= end && end <= mapped->words * 64);
    for (uint64_t handle = begin; handle < end; handle++) {
        uint64_t bit = UINT64_C(1) << (handle % 64);
        if (on)
            mapped->bits[handle / 64] |= bit;
        else
            mapped->bits[handle / 64] &= ~bit;
    }
}

/* The first handle from `at` on that is mapped, or is not; `end`: none. */
static uint64_t next_with(const mapped_t *mapped, uint64_t at, uint64_t end, bool on)
{
    CUAI_ASSERT(end <= mapped->words * 64);
    while (at < end && (mapped->bits[at / 64] >> (at % 64) & 1) != on)
        at++;
    return at;
}

/* ---- Addresses --------------------------------------------------------- */

/* Sets addresses aside: half as many until the driver has them; 0: it has not even `bytes`. */
static uint64_t reserve(const cuai_vmm_t *vmm, uint64_t bytes, uint64_t address_bytes,
                        cuai_cu_pointer_t *address_out, cuai_cu_result_t *result_out)
{
    const cuai_cuda_t *cuda = vmm->store.place->cuda;
    uint64_t asked = address_bytes;
    CUAI_ASSERT(bytes != 0 && address_bytes >= bytes);
    for (;;) {
        *result_out =
            cuai_cu(cuda)->cuMemAddressReserve(address_out, asked, vmm->least_bytes, 0, 0);
        if (*result_out == CUAI_CUDA_SUCCESS)
            return asked;
        if (asked == bytes || cuai_cuda_is_sticky(*result_out))
            return 0;
        asked = cuai_max(bytes, cuai_align_down(asked / 2, vmm->handle_bytes));
    }
}

/* ---- Handles; within a visit ------------------------------------------- */

static bool unmap(const cuai_vmm_t *vmm, uint64_t address, uint64_t bytes)
{
    CUAI_ASSERT(bytes != 0);
    cuai_place_t *place = vmm->store.place;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuMemUnmap(address, bytes);
    cuai_place_note(place, result, "cuMemUnmap");
    return result == CUAI_CUDA_SUCCESS;
}

static cuarena_status_t map_one(const cuai_vmm_t *vmm, uint64_t address, uint64_t bytes)
{
    cuai_place_t *place = vmm->store.place;
    const cuai_cuda_t *cuda = place->cuda;
    CUAI_ASSERT(bytes != 0 && bytes <= vmm->handle_bytes);
    cuai_cu_handle_t handle;
    cuai_cu_result_t result = cuai_cu(cuda)->cuMemCreate(&handle, bytes, &vmm->wanted, 0);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemCreate",
                               "a handle of %" PRIu64 " bytes on device %d", bytes, place->device);
    result = cuai_cu(cuda)->cuMemMap(address, bytes, 0, handle, 0);
    /* the mapping keeps the handle alive */
    cuai_place_note(place, cuai_cu(cuda)->cuMemRelease(handle), "cuMemRelease");
    return CUAI_PLACE_STATUS(place, result, "cuMemMap",
                             "a handle of %" PRIu64 " bytes at 0x%" PRIx64, bytes, address);
}

static cuarena_status_t allow_access(const cuai_vmm_t *vmm, uint64_t address, uint64_t bytes)
{
    CUAI_ASSERT(vmm->access_count != 0);
    cuai_place_t *place = vmm->store.place;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuMemSetAccess(address, bytes, vmm->access, vmm->access_count);
    return CUAI_PLACE_STATUS(place, result, "cuMemSetAccess", "%" PRIu64 " bytes for %zu devices",
                             bytes, vmm->access_count);
}

/* Maps handle by handle, then allows access to all at once. `done_out` is how many bytes are
 * mapped, also when it fails. */
static cuarena_status_t map(const cuai_vmm_t *vmm, uint64_t address, uint64_t bytes,
                            uint64_t *done_out)
{
    cuarena_status_t status = CUARENA_OK;
    uint64_t done = 0;
    while (done < bytes && status == CUARENA_OK) {
        uint64_t now = cuai_min(vmm->handle_bytes, bytes - done);
        status = map_one(vmm, address + done, now);
        done += status == CUARENA_OK ? now : 0;
    }
    if (status == CUARENA_OK && bytes != 0)
        status = allow_access(vmm, address, bytes);
    *done_out = done;
    return status;
}

/* ---- Stretches of a segment -------------------------------------------- */

/* How many handles begin below an offset. */
static uint64_t handles_to(const cuai_vmm_t *vmm, uint64_t offset)
{
    return cuai_align_up(offset, vmm->handle_bytes) / vmm->handle_bytes;
}

/* Unmaps the handles in [begin, end), with one call of the driver for each row of them. A row that
 * the driver does not unmap stays mapped until it is tried again: before something is mapped there,
 * or when the segment ends. */
static void unmap_rows(const cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment,
                       uint64_t begin, uint64_t end)
{
    mapped_t *mapped = segment->cookie;
    const uint64_t granularity = vmm->handle_bytes;
    uint64_t first = next_with(mapped, begin, end, true);
    while (first < end) {
        uint64_t behind = next_with(mapped, first, end, false);
        /* the last handle of a segment that keeps its length may be shorter */
        uint64_t stop =
            behind == handles_to(vmm, segment->bytes) ? segment->bytes : behind * granularity;
        if (unmap(vmm, segment->address + first * granularity, stop - first * granularity))
            set_mapped(mapped, first, behind, false);
        first = next_with(mapped, behind, end, true);
    }
}

static void unmap_stretch(cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment, uint64_t offset,
                          uint64_t bytes)
{
    uint64_t begin = handles_to(vmm, offset);
    uint64_t end = handles_to(vmm, offset + bytes);
    cuai_visit_t visit;
    if (next_with(segment->cookie, begin, end, true) == end ||
        !cuai_store_enter_to_end(&vmm->store, &visit))
        return;
    unmap_rows(vmm, segment, begin, end);
    cuai_place_leave(&visit);
}

/* Maps all of a stretch, or nothing. */
static cuarena_status_t map_stretch(cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment,
                                    uint64_t offset, uint64_t bytes)
{
    uint64_t begin = handles_to(vmm, offset);
    uint64_t done = 0;
    cuai_visit_t visit;
    CUAI_ASSERT(cuai_is_aligned(offset, vmm->handle_bytes));
    unmap_stretch(vmm, segment, offset, bytes);
    cuarena_status_t status = cuai_place_enter(vmm->store.place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = map(vmm, segment->address + offset, bytes, &done);
    uint64_t end = handles_to(vmm, offset + done);
    set_mapped(segment->cookie, begin, end, true);
    if (status != CUARENA_OK) {
        unmap_rows(vmm, segment, begin, end);
        cuai_error_asked(bytes);
    }
    cuai_place_leave(&visit);
    return status;
}

/* ---- The table --------------------------------------------------------- */

/* How many addresses to set aside: no more than `bytes` for a segment that keeps its length. */
static uint64_t reserve_for(const cuai_vmm_t *vmm, uint64_t bytes, uint64_t address_bytes)
{
    if (address_bytes <= bytes)
        return bytes;
    uint64_t wanted = cuai_align_up(cuai_max(address_bytes, vmm->least_reserve), vmm->handle_bytes);
    return cuai_addresses_between(bytes, wanted, vmm->handle_bytes);
}

static cuarena_status_t get_addresses(cuai_vmm_t *vmm, uint64_t bytes, uint64_t address_bytes,
                                      cuarena_memory_segment_t *segment)
{
    cuai_place_t *place = vmm->store.place;
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_pointer_t address = 0;
    cuai_cu_result_t result;
    uint64_t asked = reserve_for(vmm, bytes, address_bytes);
    uint64_t got = reserve(vmm, bytes, asked, &address, &result);
    cuai_place_leave(&visit);
    if (got == 0) {
        status = cuai_place_fail(place, result, "cuMemAddressReserve",
                                 "%" PRIu64 " bytes of addresses", bytes);
        cuai_error_asked(bytes);
        return status;
    }
    if (got < asked)
        cuai_log(CUARENA_LOG_INFO,
                 "device %d: %" PRIu64 " of %" PRIu64 " bytes of addresses could be set aside",
                 place->device, got, asked);
    *segment = (cuarena_memory_segment_t){.address = address, .bytes = bytes, .address_bytes = got};
    return CUARENA_OK;
}

/* Returns a segment's addresses; not if handles that may be in use are still mapped there. */
static void return_addresses(cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment)
{
    cuai_place_t *place = vmm->store.place;
    cuai_visit_t visit;
    if (!cuai_store_enter_to_end(&vmm->store, &visit))
        return;
    cuai_place_note(
        place, cuai_cu(place->cuda)->cuMemAddressFree(segment->address, segment->address_bytes),
        "cuMemAddressFree");
    cuai_place_leave(&visit);
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    cuai_vmm_t *vmm = user;
    cuarena_memory_segment_t segment = {0};
    cuarena_status_t status = get_addresses(vmm, bytes, address_bytes, &segment);
    if (status != CUARENA_OK)
        return status;
    segment.cookie = make_mapped(handles_to(vmm, segment.address_bytes));
    if (segment.cookie == NULL)
        status = cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a segment's record");
    else
        status = map_stretch(vmm, &segment, 0, bytes);
    if (status != CUARENA_OK) {
        return_addresses(vmm, &segment);
        cuai_host_free(segment.cookie);
        return status;
    }
    *segment_out = segment;
    return CUARENA_OK;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    cuai_vmm_t *vmm = user;
    unmap_stretch(vmm, segment, 0, segment->address_bytes);
    return_addresses(vmm, segment);
    cuai_host_free(segment->cookie);
}

static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    CUAI_ASSERT(new_bytes >= segment->bytes);
    CUAI_ASSERT(new_bytes <= segment->address_bytes);
    return map_stretch(user, segment, segment->bytes, new_bytes - segment->bytes);
}

static void shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    CUAI_ASSERT(new_bytes <= segment->bytes);
    unmap_stretch(user, segment, new_bytes, segment->bytes - new_bytes);
}

static void punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset, uint64_t bytes)
{
    CUAI_ASSERT(offset + bytes <= segment->bytes);
    unmap_stretch(user, segment, offset, bytes);
}

static cuarena_status_t fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                             uint64_t bytes)
{
    CUAI_ASSERT(offset + bytes <= segment->bytes);
    return map_stretch(user, segment, offset, bytes);
}

/* ---- Opening ----------------------------------------------------------- */

static void fill_table(const cuai_vmm_t *vmm, cuai_memory_t *out)
{
    cuarena_memory_ops_t *ops = &out->ops;
    CUAI_ASSERT(vmm->least_bytes <= vmm->handle_bytes);
    cuai_store_fill(&vmm->store, out);
    ops->granularity = vmm->handle_bytes;
    ops->alignment = vmm->least_bytes;
    ops->least_bytes = vmm->least_bytes;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = grow;
    ops->shrink = shrink;
    ops->punch = punch;
    ops->fill = fill;
    if (out->facts.fd)
        ops->export_range = cuai_vmm_export;
    out->facts.backing = CUARENA_BACKING_VMM;
    out->facts.handle_bytes = vmm->handle_bytes;
    out->user = (void *)(uintptr_t)vmm;
}

cuarena_status_t cuai_vmm_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_status_t status;
    cuai_vmm_t *vmm = cuai_store_open(sizeof *vmm, "device (vmm)", config, &status);
    if (vmm == NULL)
        return status;
    status = cuai_vmm_choose(vmm, config, &out->facts);
    if (status == CUARENA_OK)
        status = cuai_store_add_mover(&vmm->store);
    if (status == CUARENA_OK)
        fill_table(vmm, out);
    else
        cuai_store_end(vmm);
    return status;
}
