#include "memory/cuda/events.h"

#include "base/error.h"
#include "base/host.h"

/* ---- The idle ones of a place ------------------------------------------ */

static cuai_event_t *pop_idle(cuai_place_t *place)
{
    cuai_lock(&place->lock);
    cuai_event_t *event = place->idle;
    if (event != NULL)
        place->idle = event->next;
    if (event != NULL)
        event->next = NULL;
    cuai_unlock(&place->lock);
    return event;
}

static void push_idle(cuai_event_t *event)
{
    cuai_place_t *place = event->place;
    CUAI_ASSERT(event->next == NULL);
    cuai_lock(&place->lock);
    event->next = place->idle;
    place->idle = event;
    cuai_unlock(&place->lock);
}

/* Makes a new event. Called within a visit of the place. */
static cuarena_status_t make(cuai_place_t *place, cuai_event_t **out)
{
    CUAI_ASSERT(place->cuda != NULL);
    cuai_event_t *event = cuai_host_alloc(sizeof *event);
    if (event == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for an event");
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuEventCreate(&event->event, CUAI_CU_EVENT_DISABLE_TIMING);
    if (result != CUAI_CUDA_SUCCESS) {
        cuai_host_free(event);
        return cuai_place_fail(place, result, "cuEventCreate", "an event on device %d",
                               place->device);
    }
    event->place = place;
    cuai_lock(&place->lock);
    place->event_count++;
    cuai_unlock(&place->lock);
    *out = event;
    return CUARENA_OK;
}

static cuarena_status_t get_event(cuai_place_t *place, cuai_event_t **out)
{
    cuai_event_t *event = pop_idle(place);
    if (event == NULL)
        return make(place, out);
    CUAI_ASSERT(event->place == place);
    *out = event;
    return CUARENA_OK;
}

/* ---- Captures ---------------------------------------------------------- */

cuai_cu_result_t cuai_event_ask_capture(const cuai_cuda_t *cuda, cuai_cu_stream_t stream,
                                        int32_t *capturing_out)
{
    cuai_cu_capture_status_t status = CUAI_CU_STREAM_CAPTURE_STATUS_NONE;
    cuai_cu_result_t result = cuai_cu(cuda)->cuStreamIsCapturing(stream, &status);
    *capturing_out = status != CUAI_CU_STREAM_CAPTURE_STATUS_NONE ||
                     result == CUAI_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return *capturing_out ? CUAI_CUDA_SUCCESS : result;
}

/* OK also where the driver does not tell: the call that comes next will fail, and say why. */
cuarena_status_t cuai_event_check_capture(const cuai_cuda_t *cuda, cuai_cu_stream_t stream)
{
    int32_t capturing = 0;
    cuai_event_ask_capture(cuda, stream, &capturing);
    if (!capturing)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BUSY,
                     "stream %p is being captured into a graph, and is given "
                     "nothing to do until that ends",
                     (void *)stream);
}

/* ---- Events ----------------------------------------------------------- */

/* Records the work of a stream. The event that was there before is released only after the new one
 * was recorded. Called within a visit of the place. */
static cuarena_status_t record(cuai_place_t *place, cuai_cu_stream_t stream, cuai_event_t **event)
{
    cuai_event_t *old = *event;
    cuai_event_t *used = old != NULL && old->place == place ? old : NULL;
    cuarena_status_t status = cuai_event_check_capture(place->cuda, stream);
    if (status == CUARENA_OK && used == NULL)
        status = get_event(place, &used);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuEventRecord(used->event, stream);
    if (result != CUAI_CUDA_SUCCESS) {
        if (used != old)
            push_idle(used);
        return cuai_place_fail(place, result, "cuEventRecord",
                               "recording an event on stream %p of device %d", (void *)stream,
                               place->device);
    }
    if (used != old)
        cuai_event_release(old);
    CUAI_ASSERT(used->place == place);
    *event = used;
    return CUARENA_OK;
}

cuarena_status_t cuai_event_record(cuai_place_t *place, cuai_cu_stream_t stream,
                                   cuai_event_t **event)
{
    cuai_visit_t visit;
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = record(place, stream, event);
    cuai_place_leave(&visit);
    return status;
}

/* The driver ends the capture of every stream of the context over this. */
static cuarena_status_t fail_over_capture(const cuai_place_t *place, cuai_cu_result_t result)
{
    cuarena_status_t status =
        cuai_fail(CUARENA_BUSY,
                  "recording an event behind all work of device %d: a stream of it is captured "
                  "into a graph, or its "
                  "capture has failed, and the driver ends such captures; accepted: after "
                  "cuStreamEndCapture",
                  place->device);
    cuai_error_code(result);
    return status;
}

/* Records all work of the context. Called within a visit of the place. */
static cuarena_status_t record_all(cuai_place_t *place, cuai_event_t **event)
{
    cuai_event_t *made = NULL;
    CUAI_ASSERT(place->cuda->cuCtxRecordEvent != NULL);
    cuarena_status_t status = get_event(place, &made);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuCtxRecordEvent(place->context, made->event);
    if (result == CUAI_CUDA_SUCCESS) {
        *event = made;
        return CUARENA_OK;
    }
    push_idle(made);
    if (result == CUAI_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
        result == CUAI_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        return fail_over_capture(place, result);
    return cuai_place_fail(place, result, "cuCtxRecordEvent",
                           "recording an event behind all work of device %d", place->device);
}

cuarena_status_t cuai_event_record_all(cuai_place_t *place, cuai_event_t **event)
{
    cuai_visit_t visit;
    if (place->cuda->cuCtxRecordEvent == NULL)
        return CUARENA_UNSUPPORTED;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = record_all(place, event);
    cuai_place_leave(&visit);
    return status;
}

/* BUSY is an answer and not an error: the last error stays. */
cuarena_status_t cuai_event_query(cuai_event_t *event)
{
    cuai_place_t *place = event->place;
    cuai_visit_t visit;
    CUAI_ASSERT(event->event != NULL);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuEventQuery(event->event);
    cuai_place_leave(&visit);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    if (result == CUAI_CUDA_ERROR_NOT_READY)
        return CUARENA_BUSY;
    return cuai_place_fail(place, result, "cuEventQuery", "asking for an event of device %d",
                           place->device);
}

cuarena_status_t cuai_event_wait(cuai_event_t *event, cuai_place_t *place, cuai_cu_stream_t stream)
{
    cuai_visit_t visit;
    CUAI_ASSERT(event != NULL && event->place != NULL);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = cuai_event_check_capture(place->cuda, stream);
    cuai_cu_result_t result = CUAI_CUDA_SUCCESS;
    if (status == CUARENA_OK)
        result = cuai_cu(place->cuda)
                     ->cuStreamWaitEvent(stream, event->event, CUAI_CU_EVENT_WAIT_DEFAULT);
    cuai_place_leave(&visit);
    if (status != CUARENA_OK)
        return status;
    return CUAI_PLACE_STATUS(place, result, "cuStreamWaitEvent",
                             "stream %p of device %d waiting for device %d", (void *)stream,
                             place->device, event->place->device);
}

cuarena_status_t cuai_event_wait_host(cuai_event_t *event)
{
    cuai_place_t *place = event->place;
    cuai_visit_t visit;
    CUAI_ASSERT(event->event != NULL);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuEventSynchronize(event->event);
    cuai_place_leave(&visit);
    return CUAI_PLACE_STATUS(place, result, "cuEventSynchronize", "waiting for device %d",
                             place->device);
}

cuarena_status_t cuai_event_synchronize(cuai_place_t *place, cuai_cu_stream_t stream)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = CUAI_CUDA_SUCCESS;
    status = cuai_event_check_capture(place->cuda, stream);
    if (status == CUARENA_OK)
        result = cuai_cu(place->cuda)->cuStreamSynchronize(stream);
    cuai_place_leave(&visit);
    if (status != CUARENA_OK)
        return status;
    return CUAI_PLACE_STATUS(place, result, "cuStreamSynchronize", "waiting for device %d",
                             place->device);
}

/* In a forked process the place is not touched (see cuai_place_close) and the driver is not
 * called. */
void cuai_event_release(cuai_event_t *event)
{
    if (event == NULL)
        return;
    if (cuai_cuda_if_open() != NULL)
        push_idle(event);
    else
        cuai_host_free(event);
}

void cuai_events_end(cuai_place_t *place, bool forget)
{
    cuai_event_t *event;
    while ((event = pop_idle(place)) != NULL) {
        if (!forget)
            cuai_place_note(place, cuai_cu(place->cuda)->cuEventDestroy(event->event),
                            "cuEventDestroy");
        cuai_host_free(event);
        place->event_count--;
    }
    CUAI_ASSERT(place->event_count == 0);
}
