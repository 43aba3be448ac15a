#include "memory/cuda/vmm.h"

#include <inttypes.h>

#include "base/addresses.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "base/log.h"

/* ---- Which pages are mapped -------------------------------------------- */

/* The cookie of a segment: bits for its pages. */
typedef struct mapped {
    uint64_t page_bytes;
    uint64_t pages;
    size_t words;    /* of each of the two rows of bits */
    uint64_t bits[]; /* [0 to words): the page is mapped; from there on: a handle begins with it */
} mapped_t;

static mapped_t *make_mapped(uint64_t page_bytes, uint64_t pages)
{
    CUAI_ASSERT(pages != 0);
    size_t words = (size_t)((pages + 63) / 64);
    mapped_t *mapped = cuai_host_alloc(sizeof *mapped + 2 * words * sizeof mapped->bits[0]);
    if (mapped == NULL)
        return NULL;
    mapped->page_bytes = page_bytes;
    mapped->pages = pages;
    mapped->words = words; /* the rest comes zeroed */
    return mapped;
}

static void set_bit(uint64_t *bits, uint64_t at, bool on)
{
    uint64_t bit = UINT64_C(1) << (at % 64);
    if (on)
        bits[at / 64] |= bit;
    else
        bits[at / 64] &= ~bit;
}

/* The pages in [begin, end) are unmapped, or mapped in handles of `handle` pages from the first on;
 * 0: unmapped. */
static void set_mapped(mapped_t *mapped, uint64_t begin, uint64_t end, uint64_t handle)
{
    CUAI_ASSERT(begin <= end && end <= mapped->pages);
    for (uint64_t page = begin; page < end; page++) {
        set_bit(mapped->bits, page, handle != 0);
        set_bit(mapped->bits + mapped->words, page, handle != 0 && (page - begin) % handle == 0);
    }
}

static bool is_mapped(const mapped_t *mapped, uint64_t page)
{
    CUAI_ASSERT(page < mapped->pages);
    return mapped->bits[page / 64] >> (page % 64) & 1;
}

/* Whether no handle has both this page and the one below it. */
static bool is_edge(const mapped_t *mapped, uint64_t page)
{
    return page >= mapped->pages || !is_mapped(mapped, page) ||
           (mapped->bits[mapped->words + page / 64] >> (page % 64) & 1);
}

/* The first page from `at` on that is mapped, or is not; `end`: none. */
static uint64_t next_with(const mapped_t *mapped, uint64_t at, uint64_t end, bool on)
{
    CUAI_ASSERT(end <= mapped->pages);
    while (at < end && is_mapped(mapped, at) != on)
        at++;
    return at;
}

/* Narrows [*begin, *end) to whole handles, for the memory's `whole_handles`. */
static void whole_handles(const cuarena_memory_segment_t *segment, uint64_t *begin, uint64_t *end)
{
    const mapped_t *mapped = segment->cookie;
    uint64_t first = *begin / mapped->page_bytes;
    uint64_t last = cuai_align_up(*end, mapped->page_bytes) / mapped->page_bytes;
    CUAI_ASSERT(cuai_is_aligned(*begin, mapped->page_bytes));
    while (first < last && !is_edge(mapped, first))
        first++;
    while (last > first && !is_edge(mapped, last))
        last--;
    *begin = first * mapped->page_bytes;
    *end = cuai_min(*end, last * mapped->page_bytes);
}

uint64_t cuai_vmm_handle_end(const cuarena_memory_segment_t *segment, uint64_t offset)
{
    CUAI_ASSERT(offset < segment->bytes);
    const mapped_t *mapped = segment->cookie;
    uint64_t page = offset / mapped->page_bytes + 1;
    while (!is_edge(mapped, page))
        page++;
    return cuai_min(page * mapped->page_bytes, segment->bytes);
}

uint64_t cuai_vmm_handle_begin(const cuarena_memory_segment_t *segment, uint64_t offset)
{
    CUAI_ASSERT(offset < segment->bytes);
    const mapped_t *mapped = segment->cookie;
    uint64_t page = offset / mapped->page_bytes;
    while (!is_edge(mapped, page))
        page--;
    return page * mapped->page_bytes;
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
        asked = cuai_max(bytes, cuai_align_down(asked / 2, vmm->page_bytes));
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

/* Maps a handle, which the caller has; afterwards only the mapping keeps it. */
static cuarena_status_t map_handle(const cuai_vmm_t *vmm, uint64_t address, uint64_t bytes,
                                   cuai_cu_handle_t handle)
{
    cuai_place_t *place = vmm->store.place;
    const cuai_cuda_t *cuda = place->cuda;
    cuai_cu_result_t result = cuai_cu(cuda)->cuMemMap(address, bytes, 0, handle, 0);
    cuai_place_note(place, cuai_cu(cuda)->cuMemRelease(handle), "cuMemRelease");
    return CUAI_PLACE_STATUS(place, result, "cuMemMap",
                             "a handle of %" PRIu64 " bytes at 0x%" PRIx64, bytes, address);
}

static cuarena_status_t map_one(const cuai_vmm_t *vmm, uint64_t address, uint64_t bytes)
{
    cuai_place_t *place = vmm->store.place;
    const cuai_cuda_t *cuda = place->cuda;
    CUAI_ASSERT(bytes != 0 && bytes <= vmm->most_bytes);
    cuai_cu_handle_t handle;
    cuai_cu_result_t result = cuai_cu(cuda)->cuMemCreate(&handle, bytes, &vmm->wanted, 0);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemCreate",
                               "a handle of %" PRIu64 " bytes on device %d", bytes, place->device);
    return map_handle(vmm, address, bytes, handle);
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
                            uint64_t handle_bytes, uint64_t *done_out)
{
    CUAI_ASSERT(handle_bytes != 0 && cuai_is_aligned(handle_bytes, vmm->page_bytes));
    cuarena_status_t status = CUARENA_OK;
    uint64_t done = 0;
    while (done < bytes && status == CUARENA_OK) {
        uint64_t now = cuai_min(handle_bytes, bytes - done);
        status = map_one(vmm, address + done, now);
        done += status == CUARENA_OK ? now : 0;
    }
    if (status == CUARENA_OK && bytes != 0)
        status = allow_access(vmm, address, bytes);
    *done_out = done;
    return status;
}

/* ---- Stretches of a segment -------------------------------------------- */

/* How many pages begin below an offset. */
static uint64_t pages_to(const cuai_vmm_t *vmm, uint64_t offset)
{
    return cuai_align_up(offset, vmm->page_bytes) / vmm->page_bytes;
}

/* Unmaps the handles that have pages in [begin, end), with one call of the driver for each row of
 * them. A row that the driver does not unmap stays mapped until it is tried again: before something
 * is mapped where it is, or when the segment ends. Only such a row reaches beyond the range. */
static void unmap_rows(const cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment,
                       uint64_t begin, uint64_t end)
{
    mapped_t *mapped = segment->cookie;
    const uint64_t page_bytes = vmm->page_bytes;
    CUAI_ASSERT(begin <= end && end <= mapped->pages);
    while (begin < end && !is_edge(mapped, begin))
        begin--;
    while (begin < end && !is_edge(mapped, end))
        end++;
    uint64_t first = next_with(mapped, begin, end, true);
    while (first < end) {
        uint64_t behind = next_with(mapped, first, end, false);
        /* the last page of a segment that keeps its length may be shorter */
        uint64_t stop =
            behind == pages_to(vmm, segment->bytes) ? segment->bytes : behind * page_bytes;
        if (unmap(vmm, segment->address + first * page_bytes, stop - first * page_bytes))
            set_mapped(mapped, first, behind, 0);
        first = next_with(mapped, behind, end, true);
    }
}

static void unmap_stretch(cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment, uint64_t offset,
                          uint64_t bytes)
{
    uint64_t begin = pages_to(vmm, offset);
    uint64_t end = pages_to(vmm, offset + bytes);
    cuai_visit_t visit;
    if (next_with(segment->cookie, begin, end, true) == end ||
        !cuai_store_enter_to_end(&vmm->store, &visit))
        return;
    unmap_rows(vmm, segment, begin, end);
    cuai_place_leave(&visit);
}

/* How large the handles of a stretch are that makes the segment so long. One that keeps its length
 * goes as a whole. */
static uint64_t handle_bytes_for(const cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment,
                                 uint64_t length)
{
    if (segment->address_bytes == length)
        return vmm->most_bytes;
    return cuai_handle_bytes(vmm->page_bytes, vmm->most_bytes, length);
}

/* Maps all of a stretch, or nothing. */
static cuarena_status_t map_stretch(cuai_vmm_t *vmm, const cuarena_memory_segment_t *segment,
                                    uint64_t offset, uint64_t bytes)
{
    uint64_t begin = pages_to(vmm, offset);
    uint64_t length = cuai_max(segment->bytes, offset + bytes);
    uint64_t handle_bytes = handle_bytes_for(vmm, segment, length);
    uint64_t done = 0;
    cuai_visit_t visit;
    CUAI_ASSERT(cuai_is_aligned(offset, vmm->page_bytes));
    unmap_stretch(vmm, segment, offset, bytes);
    cuarena_status_t status = cuai_place_enter(vmm->store.place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = map(vmm, segment->address + offset, bytes, handle_bytes, &done);
    uint64_t end = pages_to(vmm, offset + done);
    set_mapped(segment->cookie, begin, end, handle_bytes / vmm->page_bytes);
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
    uint64_t wanted = cuai_align_up(cuai_max(address_bytes, vmm->least_reserve), vmm->page_bytes);
    return cuai_addresses_between(bytes, wanted, vmm->page_bytes);
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
    segment.cookie = make_mapped(vmm->page_bytes, pages_to(vmm, segment.address_bytes));
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
    CUAI_ASSERT(segment->cookie != NULL);
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

cuarena_status_t cuai_vmm_retain(cuai_place_t *place, uint64_t address,
                                 cuai_cu_handle_t *handle_out)
{
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuMemRetainAllocationHandle(handle_out, cuai_store_pointer(address));
    return CUAI_PLACE_STATUS(place, result, "cuMemRetainAllocationHandle",
                             "the handle at 0x%" PRIx64, address);
}

/* Maps the handle behind an address at another one as well. */
static cuarena_status_t map_one_again(const cuai_vmm_t *vmm, uint64_t address, uint64_t bytes,
                                      uint64_t to_address)
{
    cuai_cu_handle_t handle;
    cuarena_status_t status = cuai_vmm_retain(vmm->store.place, address, &handle);
    return status == CUARENA_OK ? map_handle(vmm, to_address, bytes, handle) : status;
}

/* Maps handle by handle, as map() does. */
static cuarena_status_t map_handles_again(const cuai_vmm_t *vmm,
                                          const cuarena_memory_segment_t *from, uint64_t offset,
                                          uint64_t bytes, const cuarena_memory_segment_t *to,
                                          uint64_t to_offset)
{
    cuarena_status_t status = CUARENA_OK;
    const uint64_t end = offset + bytes;
    for (uint64_t at = offset, to_at = to_offset; at < end && status == CUARENA_OK;) {
        uint64_t next = cuai_vmm_handle_end(from, at);
        CUAI_ASSERT(next <= end);
        status = map_one_again(vmm, from->address + at, next - at, to->address + to_at);
        if (status == CUARENA_OK)
            set_mapped(to->cookie, pages_to(vmm, to_at), pages_to(vmm, to_at + next - at),
                       pages_to(vmm, next - at));
        to_at += next - at;
        at = next;
    }
    return status == CUARENA_OK ? allow_access(vmm, to->address + to_offset, bytes) : status;
}

/* Maps handles a second time; for the memory's `map_again`. */
static cuarena_status_t map_again(void *user, const cuarena_memory_segment_t *from, uint64_t offset,
                                  uint64_t bytes, const cuarena_memory_segment_t *to,
                                  uint64_t to_offset)
{
    cuai_vmm_t *vmm = user;
    cuai_visit_t visit;
    CUAI_ASSERT(cuai_is_aligned(offset | bytes | to_offset, vmm->page_bytes));
    CUAI_ASSERT(cuai_vmm_handle_begin(from, offset) == offset);
    unmap_stretch(vmm, to, to_offset, bytes);
    cuarena_status_t status = cuai_place_enter(vmm->store.place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = map_handles_again(vmm, from, offset, bytes, to, to_offset);
    if (status != CUARENA_OK)
        unmap_rows(vmm, to, pages_to(vmm, to_offset), pages_to(vmm, to_offset + bytes));
    cuai_place_leave(&visit);
    return status;
}

/* Unmaps what map_again mapped; for the memory's `unmap`. */
static void unmap_again(void *user, const cuarena_memory_segment_t *segment, uint64_t offset,
                        uint64_t bytes)
{
    unmap_stretch(user, segment, offset, bytes);
}

/* ---- Opening ----------------------------------------------------------- */

static void fill_table(const cuai_vmm_t *vmm, cuai_memory_t *out)
{
    cuarena_memory_ops_t *ops = &out->ops;
    CUAI_ASSERT(vmm->least_bytes <= vmm->page_bytes && vmm->page_bytes <= vmm->most_bytes);
    cuai_store_fill(&vmm->store, out);
    ops->granularity = vmm->page_bytes;
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
    out->facts.handle_bytes = vmm->page_bytes;
    out->most_handle_bytes = vmm->most_bytes;
    out->whole_handles = whole_handles;
    if (cuai_cu(vmm->store.place->cuda)->cuMemRetainAllocationHandle != NULL) {
        out->map_again = map_again;
        out->unmap = unmap_again;
    }
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
