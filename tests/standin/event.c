#include "event.h"

#include "call.h"
#include "capture.h"
#include "context.h"
#include "options.h"
#include "pool.h"
#include "stream.h"

#include <time.h>

typedef struct record_work {
    sd_work_t work;
    sd_event_t *event;
    uint64_t id; /* of the event: another may have its place by then */
    uint64_t record;
} record_work_t;

sd_event_t *sd_event_get(CUevent handle)
{
    return sd_object_get(handle, SD_EVENT_OBJECT);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Life -------------------------------------------------------------- */

static void end(sd_object_t *object)
{
    sd_clock_free(&((sd_event_t *)(void *)object)->clock);
}

static CUresult create(CUevent *handle, unsigned flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    if ((flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sd_event_t *event = sd_object_new(SD_EVENT_OBJECT, sizeof(*event), sd_context_current());
    event->object.end = end;
    event->flags = flags;
    *handle = (CUevent)(void *)event;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUevent handle)
{
    sd_object_kill(&sd_event_get(handle)->object);
    return CUDA_SUCCESS;
}

SD_ENTRY(cuEventCreate, cuEventCreate, (CUevent * event, unsigned flags), create(event, flags))
SD_ENTRY(cuEventDestroy_v2, cuEventDestroy_v2, (CUevent event), destroy(event))

/* ---- Recording and waiting --------------------------------------------- */

static standin_step_t run_record(sd_work_t *work)
{
    record_work_t *record = (record_work_t *)work;
    sd_event_t *event = record->event;
    if (event->object.id == record->id && event->record == record->record)
        event->seconds = seconds();
    return STANDIN_DONE;
}

static const sd_work_class_t record_class = {
    .name = "record", .bytes = sizeof(record_work_t), .step = run_record};

static CUresult record(CUevent handle, CUstream stream)
{
    sd_event_t *event = sd_event_get(handle);
    sd_target_t target = sd_target(stream);
    if (event->object.context != target.context)
        return CUDA_ERROR_INVALID_HANDLE;
    bool captured = false;
    CUresult result = sd_capture_record(&target, event, &captured);
    if (result != CUDA_SUCCESS || captured)
        return result;
    record_work_t *work = sd_work_new(&record_class, target.context);
    work->event = event;
    work->id = event->object.id;
    work->record = event->record + 1;
    result = sd_submit(&target, &work->work, NULL);
    if (result != CUDA_SUCCESS)
        return result;
    event->capture = NULL;
    event->record++;
    event->seconds = 0;
    sd_clock_set(&event->clock, &target.line->clock);
    return CUDA_SUCCESS;
}

static CUresult wait(CUstream stream, CUevent handle, unsigned flags)
{
    sd_event_t *event = sd_event_get(handle);
    sd_target_t target = sd_target(stream);
    if (flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    bool captured = false;
    CUresult result = sd_capture_wait(&target, event, &captured);
    if (result != CUDA_SUCCESS || captured)
        return result;
    if (sd_options.swallow != 0 && --sd_options.swallow == 0)
        return CUDA_SUCCESS;
    return sd_submit(&target, sd_work_nothing(target.context), &event->clock);
}

/* Behind all that the context's streams have been given. */
static CUresult record_all(CUcontext handle, CUevent event_handle)
{
    sd_context_t *context = sd_context_get(handle);
    sd_event_t *event = sd_event_get(event_handle);
    if (event->object.context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = sd_capture_forbids_all(context);
    if (result != CUDA_SUCCESS)
        return result;
    sd_clock_t all = {NULL, 0, 0};
    sd_submitted(context, &all);
    sd_clock_set(&event->clock, &all);
    sd_clock_free(&all);
    event->capture = NULL;
    event->record++;
    event->seconds = 0;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuCtxRecordEvent, cuCtxRecordEvent, (CUcontext context, CUevent event),
         record_all(context, event))
SD_ENTRY_BOTH(cuEventRecord, (CUevent event, CUstream stream), record(event, stream))
SD_ENTRY_BOTH(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
              wait(stream, event, flags))

/* ---- Asking ------------------------------------------------------------ */

static CUresult query(CUevent handle)
{
    sd_event_t *event = sd_event_get(handle);
    if (sd_capture_holds(event))
        return CUDA_ERROR_CAPTURED_EVENT;
    sd_work_nudge();
    if (event->object.context->lost != CUDA_SUCCESS)
        return event->object.context->lost;
    if (!sd_complete(&event->clock))
        return CUDA_ERROR_NOT_READY;
    sd_observe(&event->clock);
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUevent handle)
{
    sd_event_t *event = sd_event_get(handle);
    if (sd_capture_holds(event))
        return CUDA_ERROR_CAPTURED_EVENT;
    sd_sync_count();
    sd_wait(&event->clock);
    sd_pools_idle();
    return event->object.context->lost;
}

static CUresult elapsed(float *milliseconds, CUevent from, CUevent to)
{
    sd_event_t *first = sd_event_get(from);
    sd_event_t *last = sd_event_get(to);
    if (((first->flags | last->flags) & CU_EVENT_DISABLE_TIMING) != 0 || first->record == 0 ||
        last->record == 0 || first->object.context != last->object.context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!sd_complete(&first->clock) || !sd_complete(&last->clock))
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((last->seconds - first->seconds) * 1e3);
    return CUDA_SUCCESS;
}

SD_ENTRY(cuEventQuery, cuEventQuery, (CUevent event), query(event))
SD_ENTRY(cuEventSynchronize, cuEventSynchronize, (CUevent event), synchronize(event))
SD_ENTRY(cuEventElapsedTime, cuEventElapsedTime, (float *milliseconds, CUevent from, CUevent to),
         elapsed(milliseconds, from, to))
SD_ENTRY(cuEventElapsedTime_v2, cuEventElapsedTime_v2,
         (float *milliseconds, CUevent from, CUevent to), elapsed(milliseconds, from, to))
