#include "memory/cuda/mover.h"

#include <inttypes.h>

#include "base/error.h"
#include "memory/cuda/copies.h"

/* Entries that do not overlap themselves go as copies of the driver if they
 * are so few. */
#define FEW 4

/* ---- Calls of the driver ----------------------------------------------- */

static cuarena_status_t take_device(cuai_place_t *place, size_t bytes,
                                    cuai_cu_pointer_t *pointer_out)
{
    cuai_cu_result_t result = place->cuda->cuMemAlloc(pointer_out, bytes);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    *pointer_out = 0;
    return cuai_place_fail(place, result, "cuMemAlloc",
                           "%zu bytes of scratch to move blocks with", bytes);
}

/* ---- Life -------------------------------------------------------------- */

static cuarena_status_t mark_last(cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    return cuai_marker_record(mover->place, stream, &mover->last);
}

static cuarena_status_t ready(cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(mover->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = take_device(mover->place, CUAI_COPIES_BOUNCE, &mover->bounce);
    cuai_place_leave(&visit);
    if (status == CUARENA_OK)
        status = mark_last(mover, stream);
    return status == CUARENA_OK ? cuai_marker_wait_host(mover->last) : status;
}

cuarena_status_t cuai_mover_open(cuai_mover_t *mover, cuai_place_t *place,
                                 cuai_cu_stream_t stream)
{
    mover->place = place;
    cuai_lock_init(&mover->lock);
    cuai_event_init(&mover->free_again);
    cuarena_status_t status = ready(mover, stream);
    if (status != CUARENA_OK)
        cuai_mover_end(mover);
    return status;
}

void cuai_mover_end(cuai_mover_t *mover)
{
    cuai_place_t *place = mover->place;
    const cuai_cuda_t *cuda = place->cuda;
    cuai_visit_t visit;
    cuai_marker_release(mover->last);
    if (cuai_place_enter(place, &visit) == CUARENA_OK) {
        if (mover->bounce != 0)
            cuai_place_note(place, cuda->cuMemFree(mover->bounce), "cuMemFree");
        cuai_place_leave(&visit);
    }
    cuai_event_cleanup(&mover->free_again);
    cuai_lock_cleanup(&mover->lock);
    *mover = (cuai_mover_t){0};
}

/* ---- One thread at a time ---------------------------------------------- */

static void claim(cuai_mover_t *mover)
{
    cuai_lock(&mover->lock);
    while (mover->busy)
        cuai_event_wait(&mover->free_again, &mover->lock);
    mover->busy = true;
    cuai_unlock(&mover->lock);
}

static void unclaim(cuai_mover_t *mover)
{
    cuai_lock(&mover->lock);
    mover->busy = false;
    cuai_event_wake(&mover->free_again);
    cuai_unlock(&mover->lock);
}

/* ---- Launches ---------------------------------------------------------- */

/* Scratch, staging and bounce buffer are used in the order of the queueing,
 * whatever the streams. Equal handles may be different streams. */
static cuarena_status_t follow_last(cuai_mover_t *mover,
                                    cuai_cu_stream_t stream)
{
    if (mover->last == NULL)
        return CUARENA_OK;
    return cuai_marker_wait(mover->last, mover->place, stream);
}

/* ---- Copies ------------------------------------------------------------ */

/* An entry of which a part was queued counts as queued. */
static cuarena_status_t queue_copies(cuai_mover_t *mover,
                                     const cuarena_relocation_t *list,
                                     size_t count, cuai_cu_stream_t stream,
                                     size_t *done_out)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(mover->place, &visit);
    if (status != CUARENA_OK)
        return status;
    bool touched = false;
    size_t done = 0;
    for (; done < count && status == CUARENA_OK;
         done += touched || status == CUARENA_OK)
        status = cuai_copies_queue(mover->place, &list[done], mover->bounce,
                                   stream, &touched);
    cuai_place_leave(&visit);
    *done_out = done;
    return status;
}

static bool none_overlaps(const cuarena_relocation_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cuai_copies_overlap(&list[i]))
            return false;
    return true;
}

/* ---- Queueing ---------------------------------------------------------- */

static cuarena_status_t queue_in_turn(cuai_mover_t *mover,
                                      const cuarena_relocation_t *list,
                                      size_t count, cuai_cu_stream_t stream,
                                      size_t *done_out)
{
    cuarena_status_t status = follow_last(mover, stream);
    if (status != CUARENA_OK)
        return status;
    status = queue_copies(mover, list, count, stream, done_out);
    cuarena_status_t marked = mark_last(mover, stream);
    return status == CUARENA_OK ? marked : status;
}

cuarena_status_t cuai_mover_queue(cuai_mover_t *mover,
                                  const cuarena_relocation_t *list,
                                  size_t count, cuai_cu_stream_t stream,
                                  size_t *done_out)
{
    *done_out = 0;
    if (count <= FEW && none_overlaps(list, count))
        return queue_copies(mover, list, count, stream, done_out);
    claim(mover);
    cuarena_status_t status =
        queue_in_turn(mover, list, count, stream, done_out);
    unclaim(mover);
    return status;
}
