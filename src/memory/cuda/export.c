/* Exporting handles: asked for again from their mappings, and turned into
 * descriptors. */
#include <inttypes.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/error.h"
#include "memory/cuda/vmm.h"

/* Within a visit: a descriptor of the handle that is mapped at an address. */
static cuarena_status_t descriptor_of(cuai_place_t *place, uint64_t address,
                                      int *fd_out)
{
    const cuai_cuda_t *cuda = place->cuda;
    cuai_cu_handle_t handle;
    cuai_cu_result_t result =
        cuda->cuMemRetainAllocationHandle(&handle, cuai_store_pointer(address));
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemRetainAllocationHandle",
                               "the handle at 0x%" PRIx64, address);
    result = cuda->cuMemExportToShareableHandle(
        fd_out, handle, CUAI_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    cuai_place_note(place, cuda->cuMemRelease(handle), "cuMemRelease");
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    return cuai_place_fail(place, result, "cuMemExportToShareableHandle",
                           "the handle at 0x%" PRIx64, address);
}

/* What [begin, end) has of the handle at `address`. */
static cuarena_status_t make_piece(const cuai_vmm_t *vmm, uint64_t address,
                                   uint64_t begin, uint64_t end,
                                   cuarena_export_piece_t *piece)
{
    int fd = -1;
    cuarena_status_t status = descriptor_of(vmm->store.place, address, &fd);
    if (status != CUARENA_OK)
        return status;
    uint64_t first = cuai_max(begin, address);
    uint64_t last = cuai_min(end, address + vmm->handle_bytes);
    *piece = (cuarena_export_piece_t){.fd = fd,
                                      .handle_bytes = vmm->handle_bytes,
                                      .offset = first - address,
                                      .bytes = last - first};
    return CUARENA_OK;
}

static void close_pieces(const cuarena_export_piece_t *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(pieces[i].fd);
}

static cuarena_status_t make_pieces(const cuai_vmm_t *vmm, uint64_t begin,
                                    uint64_t end,
                                    cuarena_export_piece_t *pieces)
{
    const uint64_t grain = vmm->handle_bytes;
    size_t made = 0;
    cuarena_status_t status = CUARENA_OK;
    uint64_t address = cuai_align_down(begin, grain);
    for (; address < end && status == CUARENA_OK; address += grain) {
        status = make_piece(vmm, address, begin, end, &pieces[made]);
        made += status == CUARENA_OK;
    }
    if (status != CUARENA_OK)
        close_pieces(pieces, made);
    return status;
}

cuarena_status_t cuai_vmm_export(void *user,
                                 const cuarena_memory_segment_t *segment,
                                 uint64_t offset, uint64_t bytes,
                                 cuarena_export_piece_t *pieces,
                                 size_t capacity, size_t *count_out)
{
    const cuai_vmm_t *vmm = user;
    const uint64_t grain = vmm->handle_bytes;
    uint64_t begin = segment->address + offset;
    uint64_t end = begin + bytes;
    size_t count =
        (size_t)((cuai_align_up(end, grain) - cuai_align_down(begin, grain)) /
                 grain);
    cuai_visit_t visit;
    if (pieces == NULL) {
        *count_out = count;
        return CUARENA_OK;
    }
    if (count > capacity)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "capacity %zu; accepted: from %zu on", capacity,
                         count);
    cuarena_status_t status = cuai_place_enter(vmm->store.place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = make_pieces(vmm, begin, end, pieces);
    cuai_place_leave(&visit);
    if (status == CUARENA_OK)
        *count_out = count;
    return status;
}
