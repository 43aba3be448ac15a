/* Export: the handles behind a range are retained through their mappings, and each is given a file
 * descriptor. */
#include <inttypes.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/error.h"
#include "memory/cuda/vmm.h"

/* Makes a descriptor of the handle that is mapped at an address. Called within a visit of the
 * place. */
static cuarena_status_t descriptor_of(cuai_place_t *place, uint64_t address, int *fd_out)
{
    const cuai_cuda_t *cuda = place->cuda;
    cuai_cu_handle_t handle;
    cuarena_status_t status = cuai_vmm_retain(place, address, &handle);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = cuai_cu(cuda)->cuMemExportToShareableHandle(
        fd_out, handle, CUAI_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    cuai_place_note(place, cuai_cu(cuda)->cuMemRelease(handle), "cuMemRelease");
    return CUAI_PLACE_STATUS(place, result, "cuMemExportToShareableHandle",
                             "the handle at 0x%" PRIx64, address);
}

/* Bytes of a segment, as offsets. */
typedef struct stretch {
    const cuarena_memory_segment_t *segment;
    uint64_t begin;
    uint64_t end;
} stretch_t;

/* Describes the part of the stretch that is in the handle at an offset. */
static cuarena_status_t make_piece(const cuai_vmm_t *vmm, uint64_t offset, const stretch_t *stretch,
                                   cuarena_export_piece_t *piece)
{
    int fd = -1;
    uint64_t handle = cuai_vmm_handle_begin(stretch->segment, offset);
    uint64_t behind = cuai_vmm_handle_end(stretch->segment, offset);
    cuarena_status_t status =
        descriptor_of(vmm->store.place, stretch->segment->address + handle, &fd);
    if (status != CUARENA_OK)
        return status;
    uint64_t last = cuai_min(stretch->end, behind);
    CUAI_ASSERT(handle <= offset && offset < last);
    *piece = (cuarena_export_piece_t){.fd = fd,
                                      .handle_bytes = behind - handle,
                                      .offset = offset - handle,
                                      .bytes = last - offset};
    return CUARENA_OK;
}

static void close_pieces(const cuarena_export_piece_t *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(pieces[i].fd);
}

/* How many handles the stretch is in. */
static size_t count_pieces(const stretch_t *stretch)
{
    size_t count = 0;
    for (uint64_t at = stretch->begin; at < stretch->end; count++)
        at = cuai_vmm_handle_end(stretch->segment, at);
    return count;
}

static cuarena_status_t make_pieces(const cuai_vmm_t *vmm, const stretch_t *stretch,
                                    cuarena_export_piece_t *pieces)
{
    size_t made = 0;
    cuarena_status_t status = CUARENA_OK;
    uint64_t at = stretch->begin;
    while (at < stretch->end && status == CUARENA_OK) {
        status = make_piece(vmm, at, stretch, &pieces[made]);
        made += status == CUARENA_OK;
        at = cuai_vmm_handle_end(stretch->segment, at);
    }
    if (status != CUARENA_OK)
        close_pieces(pieces, made);
    return status;
}

cuarena_status_t cuai_vmm_export(void *user, const cuarena_memory_segment_t *segment,
                                 uint64_t offset, uint64_t bytes, cuarena_export_piece_t *pieces,
                                 size_t capacity, size_t *count_out)
{
    const cuai_vmm_t *vmm = user;
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->bytes);
    const stretch_t stretch = {segment, offset, offset + bytes};
    size_t count = count_pieces(&stretch);
    CUAI_ASSERT(count != 0);
    cuai_visit_t visit;
    if (pieces == NULL) {
        *count_out = count;
        return CUARENA_OK;
    }
    if (count > capacity)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "capacity %zu; accepted: from %zu on", capacity,
                         count);
    cuarena_status_t status = cuai_place_enter(vmm->store.place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = make_pieces(vmm, &stretch, pieces);
    cuai_place_leave(&visit);
    if (status == CUARENA_OK)
        *count_out = count;
    return status;
}
