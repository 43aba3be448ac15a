/*
 * The driver's copies must not overlap themselves, so an entry that moves by less than its length
 * is cut into pieces. They are copied from the low end up if it moves down, else from the high end
 * down, so that none writes what a later one reads. A piece may be as long as the distance; if that
 * is less than the bounce buffer, pieces of its size go through it, in two copies each.
 */
#include "memory/cuda/copies.h"

#include <inttypes.h>

#include "base/bits.h"

/* An entry that is being copied. */
typedef struct slide {
    cuai_place_t *place;
    cuai_cu_pointer_t from;
    cuai_cu_pointer_t to;
    cuai_cu_pointer_t bounce;
    cuai_cu_stream_t stream;
    bool touched;
} slide_t;

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static uint64_t distance_of(const cuarena_relocation_t *one)
{
    uint64_t from = address_of(one->from);
    uint64_t to = address_of(one->to);
    return from > to ? from - to : to - from;
}

/* Whether source and destination have bytes in common. */
static bool overlaps(const cuarena_relocation_t *one)
{
    return distance_of(one) < one->bytes;
}

static cuarena_status_t copy(slide_t *slide, cuai_cu_pointer_t to, cuai_cu_pointer_t from,
                             uint64_t bytes)
{
    cuai_cu_result_t result =
        cuai_cu(slide->place->cuda)->cuMemcpyDtoDAsync(to, from, bytes, slide->stream);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(slide->place, result, "cuMemcpyDtoDAsync",
                               "%" PRIu64 " bytes from 0x%llx to 0x%llx", bytes, from, to);
    slide->touched = true;
    return CUARENA_OK;
}

static cuarena_status_t copy_piece(slide_t *slide, uint64_t offset, uint64_t bytes, bool bounces)
{
    CUAI_ASSERT(bytes != 0 && (!bounces || bytes <= CUAI_COPIES_BOUNCE));
    cuai_cu_pointer_t from = slide->from + offset;
    cuai_cu_pointer_t to = slide->to + offset;
    if (!bounces)
        return copy(slide, to, from, bytes);
    cuarena_status_t status = copy(slide, slide->bounce, from, bytes);
    return status == CUARENA_OK ? copy(slide, to, slide->bounce, bytes) : status;
}

static cuarena_status_t copy_pieces(slide_t *slide, uint64_t bytes, uint64_t piece, bool bounces)
{
    const bool down = slide->to < slide->from;
    CUAI_ASSERT(piece != 0);
    cuarena_status_t status = CUARENA_OK;
    for (uint64_t done = 0; done < bytes && status == CUARENA_OK;) {
        uint64_t now = cuai_min(piece, bytes - done);
        uint64_t offset = down ? done : bytes - done - now;
        status = copy_piece(slide, offset, now, bounces);
        done += now;
    }
    return status;
}

cuarena_status_t cuai_copies_queue(cuai_place_t *place, const cuarena_relocation_t *one,
                                   cuai_cu_pointer_t bounce, cuai_cu_stream_t stream,
                                   bool *touched_out)
{
    slide_t slide = {.place = place,
                     .from = address_of(one->from),
                     .to = address_of(one->to),
                     .bounce = bounce,
                     .stream = stream};
    uint64_t distance = distance_of(one);
    *touched_out = false;
    if (distance == 0)
        return CUARENA_OK;
    bool bounces = overlaps(one) && distance < CUAI_COPIES_BOUNCE && bounce;
    uint64_t piece = bounces ? CUAI_COPIES_BOUNCE : distance;
    cuarena_status_t status = copy_pieces(&slide, one->bytes, piece, bounces);
    *touched_out = slide.touched;
    return status;
}
