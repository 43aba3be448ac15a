#include "memory/cuda/mover.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/log.h"
#include "memory/cuda/copies.h"

/* How many runs one launch can take. */
#define RUN_ROOM 16384u

/* ---- Calls of the driver ----------------------------------------------- */

static cuarena_status_t alloc_device(cuai_place_t *place, size_t bytes,
                                     cuai_cu_pointer_t *pointer_out)
{
    CUAI_ASSERT(bytes != 0);
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuMemAlloc(pointer_out, bytes);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    *pointer_out = 0;
    return cuai_place_fail(place, result, "cuMemAlloc", "%zu bytes of scratch to move blocks with",
                           bytes);
}

/* Allocates staging, which the kernel reads where it is. */
static cuarena_status_t alloc_staging(cuai_place_t *place, size_t bytes, void **pointer_out,
                                      cuai_cu_pointer_t *address_out)
{
    const cuai_cuda_t *cuda = place->cuda;
    CUAI_ASSERT(bytes != 0);
    cuai_cu_result_t result =
        cuai_cu(cuda)->cuMemHostAlloc(pointer_out, bytes, CUAI_CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUAI_CUDA_SUCCESS) {
        *pointer_out = NULL;
        return cuai_place_fail(place, result, "cuMemHostAlloc",
                               "%zu bytes of staging to move blocks with", bytes);
    }
    result = cuai_cu(cuda)->cuMemHostGetDevicePointer(address_out, *pointer_out, 0);
    return CUAI_PLACE_STATUS(place, result, "cuMemHostGetDevicePointer",
                             "the staging to move blocks with");
}

/* NOT_SUPPORTED at the first launch: the kernel does not run on this device. */
static cuai_cu_result_t launch_once(cuai_mover_t *mover, cuai_slide_launch_t *launch,
                                    cuai_cu_stream_t stream)
{
    CUAI_ASSERT(mover->kernels->functions[launch->kernel] != NULL && launch->grid != 0);
    void *parameters[] = {&launch->params};
    return cuai_cu(mover->place->cuda)
        ->cuLaunchKernel(mover->kernels->functions[launch->kernel], launch->grid, 1, 1,
                         launch->block, 1, 1, launch->shared_bytes, stream, parameters, NULL);
}

static cuarena_status_t launch_fail(const cuai_mover_t *mover, const cuai_slide_launch_t *launch,
                                    cuai_cu_result_t result)
{
    return cuai_place_fail(mover->place, result, "cuLaunchKernel",
                           "%" PRIu32 " thread blocks of the relocation kernel", launch->grid);
}

/* ---- Life -------------------------------------------------------------- */

/* Sets the words of the scratch to 0 that a kernel expects so. Called within a visit of the place.
 */
static cuarena_status_t clear_scratch(const cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    CUAI_ASSERT(mover->scratch != 0);
    cuai_cu_result_t result =
        cuai_cu(mover->place->cuda)
            ->cuMemsetD32Async(mover->scratch, 0, CUAI_SLIDE_SCRATCH_ZEROED / 4, stream);
    return CUAI_PLACE_STATUS(mover->place, result, "cuMemsetD32Async",
                             "the scratch of the relocation kernel");
}

/* Launches that move nothing make the driver get the kernels ready. UNSUPPORTED, without a last
 * error: one does not run on this device. Called within a visit of the place. */
static cuarena_status_t launch_empty(cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    for (uint32_t k = 0; k < CUAI_SLIDE_KERNELS; k++) {
        if (mover->kernels->functions[k] == NULL)
            continue;
        cuai_slide_launch_t launch;
        cuai_slide_empty(&mover->slide, k, &launch);
        cuai_cu_result_t result = launch_once(mover, &launch, stream);
        if (result == CUAI_CUDA_ERROR_NOT_SUPPORTED)
            return CUARENA_UNSUPPORTED;
        if (result != CUAI_CUDA_SUCCESS)
            return launch_fail(mover, &launch, result);
        cuai_slide_queued(&mover->slide, &launch);
    }
    return CUARENA_OK;
}

/* Allocates what the kernels need and makes the driver load them. Called within a visit of the
 * place; cuai_mover_end frees it, also after an error. */
static cuarena_status_t ready_kernels(cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    CUAI_ASSERT(mover->scratch == 0 && mover->staging == NULL);
    cuai_cu_pointer_t staging_address = 0;
    cuarena_status_t status =
        alloc_device(mover->place, cuai_slide_scratch_bytes(RUN_ROOM), &mover->scratch);
    if (status == CUARENA_OK)
        status = alloc_staging(mover->place, cuai_slide_staging_bytes(RUN_ROOM), &mover->staging,
                               &staging_address);
    if (status == CUARENA_OK)
        status = clear_scratch(mover, stream);
    if (status != CUARENA_OK)
        return status;
    cuai_slide_init(&mover->slide, &mover->kernels->device, mover->scratch, mover->staging,
                    staging_address, RUN_ROOM);
    return launch_empty(mover, stream);
}

/* Records the event of the last list; tries twice, and then waits for the stream, so that none is
 * needed. */
static cuarena_status_t record_last(cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    CUAI_ASSERT(mover->busy);
    cuarena_status_t status = cuai_event_record(mover->place, stream, &mover->last);
    if (status != CUARENA_OK)
        status = cuai_event_record(mover->place, stream, &mover->last);
    if (status != CUARENA_OK)
        status = cuai_event_synchronize(mover->place, stream);
    mover->unrecorded = status != CUARENA_OK;
    return status;
}

/* Frees scratch and staging, as far as there are any. Called within a visit of the place. */
static void free_scratch(cuai_mover_t *mover)
{
    cuai_place_t *place = mover->place;
    if (mover->scratch != 0)
        cuai_place_note(place, cuai_cu(place->cuda)->cuMemFree(mover->scratch), "cuMemFree");
    if (mover->staging != NULL)
        cuai_place_note(place, cuai_cu(place->cuda)->cuMemFreeHost(mover->staging),
                        "cuMemFreeHost");
    mover->scratch = 0;
    mover->staging = NULL;
}

/* Switches to copies for good. Called within a visit of the place. */
static void do_without_kernels(cuai_mover_t *mover)
{
    CUAI_ASSERT(mover->kernels != NULL);
    cuai_log(CUARENA_LOG_INFO, "device %d: the relocation kernel does not run",
             mover->place->device);
    free_scratch(mover);
    mover->kernels = NULL;
}

static cuarena_status_t ready(cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(mover->place, &visit);
    if (status != CUARENA_OK)
        return status;
    if (mover->kernels != NULL)
        status = ready_kernels(mover, stream);
    if (status == CUARENA_UNSUPPORTED) {
        do_without_kernels(mover);
        status = CUARENA_OK;
    }
    if (mover->kernels == NULL && status == CUARENA_OK)
        status = alloc_device(mover->place, CUAI_COPIES_BOUNCE, &mover->bounce);
    cuai_place_leave(&visit);
    if (status == CUARENA_OK)
        status = cuai_event_record(mover->place, stream, &mover->last);
    return status == CUARENA_OK ? cuai_event_wait_host(mover->last) : status;
}

cuarena_status_t cuai_mover_open(cuai_mover_t *mover, cuai_place_t *place, cuai_cu_stream_t stream)
{
    CUAI_ASSERT(mover->place == NULL && stream != NULL);
    mover->place = place;
    cuai_lock_init(&mover->lock);
    cuai_cond_init(&mover->free_again);
    cuarena_status_t status = cuai_kernels_open(place, &mover->kernels);
    if (status == CUARENA_OK)
        status = ready(mover, stream);
    if (status != CUARENA_OK)
        cuai_mover_end(mover);
    return status;
}

void cuai_mover_end(cuai_mover_t *mover)
{
    cuai_place_t *place = mover->place;
    const cuai_cuda_t *cuda = place->cuda;
    cuai_visit_t visit;
    cuai_event_release(mover->last);
    if (cuai_place_enter_to_end(place, &visit)) {
        free_scratch(mover);
        if (mover->bounce != 0)
            cuai_place_note(place, cuai_cu(cuda)->cuMemFree(mover->bounce), "cuMemFree");
        cuai_place_leave(&visit);
    }
    cuai_cond_cleanup(&mover->free_again);
    cuai_lock_cleanup(&mover->lock);
    *mover = (cuai_mover_t){0};
}

/* ---- One thread at a time ---------------------------------------------- */

static void claim(cuai_mover_t *mover)
{
    cuai_lock(&mover->lock);
    while (mover->busy)
        cuai_cond_wait(&mover->free_again, &mover->lock);
    CUAI_ASSERT(!mover->busy);
    mover->busy = true;
    cuai_unlock(&mover->lock);
}

static void unclaim(cuai_mover_t *mover)
{
    cuai_lock(&mover->lock);
    CUAI_ASSERT(mover->busy);
    mover->busy = false;
    cuai_cond_wake(&mover->free_again);
    cuai_unlock(&mover->lock);
}

/* ---- Launches ---------------------------------------------------------- */

/* Makes the stream wait for the last list, because scratch, staging and bounce buffer are shared.
 * Also if it seems to be the same stream: equal handles may be different streams. */
static cuarena_status_t follow_last(cuai_mover_t *mover, cuai_cu_stream_t stream)
{
    CUAI_ASSERT(mover->busy && mover->last != NULL);
    if (mover->unrecorded)
        return cuai_fail(CUARENA_LOST,
                         "device %d: nobody can tell when the relocations that "
                         "were queued last are done",
                         mover->place->device);
    return cuai_event_wait(mover->last, mover->place, stream);
}

/* Waits until the last launch has read its table from the staging. `recorded`: the last launch came
 * before the last event. */
static cuarena_status_t await_staging(cuai_mover_t *mover, cuai_cu_stream_t stream, bool recorded)
{
    CUAI_ASSERT(mover->busy);
    if (!mover->staged)
        return CUARENA_OK;
    cuarena_status_t status = recorded ? CUARENA_OK : record_last(mover, stream);
    if (status == CUARENA_OK)
        status = cuai_event_wait_host(mover->last);
    if (status != CUARENA_OK) /* the stream is behind the last list */
        status = cuai_event_synchronize(mover->place, stream);
    mover->staged = status != CUARENA_OK;
    return status;
}

static cuarena_status_t queue_launch(cuai_mover_t *mover, cuai_slide_launch_t *launch,
                                     cuai_cu_stream_t stream)
{
    CUAI_ASSERT(launch->params.fetch_count == 0 || !mover->staged);
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(mover->place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = launch_once(mover, launch, stream);
    cuai_place_leave(&visit);
    if (result != CUAI_CUDA_SUCCESS)
        return launch_fail(mover, launch, result);
    cuai_slide_queued(&mover->slide, launch);
    mover->staged = mover->staged || launch->params.fetch_count != 0;
    return CUARENA_OK;
}

static cuarena_status_t queue_kernels(cuai_mover_t *mover, const cuarena_relocation_t *list,
                                      size_t count, cuai_cu_stream_t stream, size_t *done_out)
{
    CUAI_ASSERT(mover->kernels != NULL);
    cuarena_status_t status = CUARENA_OK;
    size_t done = 0;
    while (done < count && status == CUARENA_OK) {
        cuai_slide_launch_t launch;
        status = await_staging(mover, stream, done == 0);
        if (status != CUARENA_OK)
            break;
        size_t taken = cuai_slide_plan(&mover->slide, list + done, count - done, NULL, &launch);
        CUAI_ASSERT(taken != 0 && taken <= count - done);
        status = queue_launch(mover, &launch, stream);
        done += status == CUARENA_OK ? taken : 0;
    }
    *done_out = done;
    return status;
}

/* ---- Copies ------------------------------------------------------------ */

/* Queues copies; an entry of which a part was queued counts as queued. */
static cuarena_status_t queue_copies(cuai_mover_t *mover, const cuarena_relocation_t *list,
                                     size_t count, cuai_cu_stream_t stream, size_t *done_out)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(mover->place, &visit);
    if (status != CUARENA_OK)
        return status;
    bool touched = false;
    size_t done = 0;
    for (; done < count && status == CUARENA_OK; done += touched || status == CUARENA_OK)
        status = cuai_copies_queue(mover->place, &list[done], mover->bounce, stream, &touched);
    cuai_place_leave(&visit);
    *done_out = done;
    return status;
}

/* ---- Queueing ---------------------------------------------------------- */

static cuarena_status_t queue_in_turn(cuai_mover_t *mover, const cuarena_relocation_t *list,
                                      size_t count, cuai_cu_stream_t stream, size_t *done_out)
{
    cuarena_status_t status = follow_last(mover, stream);
    if (status != CUARENA_OK)
        return status;
    if (mover->kernels != NULL)
        status = queue_kernels(mover, list, count, stream, done_out);
    else
        status = queue_copies(mover, list, count, stream, done_out);
    cuai_kept_error_t words = cuai_error_kept();
    cuarena_status_t recorded = record_last(mover, stream);
    if (status == CUARENA_OK)
        return recorded;
    cuai_error_restore(&words);
    return status;
}

cuarena_status_t cuai_mover_queue(cuai_mover_t *mover, const cuarena_relocation_t *list,
                                  size_t count, cuai_cu_stream_t stream, size_t *done_out)
{
    *done_out = 0;
    if (cuai_slide_prefers_copy(list, count)) /* needs nothing that other lists use too */
        return queue_copies(mover, list, count, stream, done_out);
    claim(mover);
    cuarena_status_t status = queue_in_turn(mover, list, count, stream, done_out);
    unclaim(mover);
    return status;
}
