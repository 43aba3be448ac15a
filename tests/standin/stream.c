#include "stream.h"

#include "call.h"
#include "capture.h"
#include "context.h"
#include "pool.h"

sd_target_t sd_target(CUstream handle)
{
    sd_context_t *current = sd_context_current();
    if (handle == NULL || handle == CU_STREAM_LEGACY)
        return (sd_target_t){current, current->legacy, NULL};
    if (handle == CU_STREAM_PER_THREAD)
        return (sd_target_t){current, sd_context_thread_line(current), NULL};
    sd_stream_t *stream = sd_object_get(handle, SD_STREAM_OBJECT);
    return (sd_target_t){stream->object.context, stream->line, stream};
}

CUresult sd_submit(const sd_target_t *target, sd_work_t *work, const sd_clock_t *after)
{
    bool taken = false;
    CUresult result = sd_capture_take(target, work, &taken);
    if (result == CUDA_SUCCESS && target->context->lost != CUDA_SUCCESS)
        result = target->context->lost;
    if (result != CUDA_SUCCESS) {
        if (!taken)
            sd_work_free(work);
        return result;
    }
    if (!taken)
        sd_line_submit(target->line, work, after);
    return CUDA_SUCCESS;
}

void sd_target_submitted(const sd_target_t *target, sd_clock_t *clock)
{
    sd_clock_join(clock, &target->line->clock);
    if (target->line == target->context->legacy)
        sd_barriers_submitted(target->context, clock);
}

void sd_target_wait(const sd_target_t *target)
{
    sd_clock_t clock = {NULL, 0, 0};
    sd_target_submitted(target, &clock);
    sd_wait(&clock);
    sd_clock_free(&clock);
}

standin_moment_t standin_moment(struct CUstream_st *stream)
{
    sd_lock();
    const sd_line_t *line = sd_target(stream).line;
    standin_moment_t moment = {line->id, line->submitted};
    sd_unlock();
    return moment;
}

int standin_is_after(struct CUstream_st *stream, standin_moment_t moment)
{
    sd_tick_t tick = {moment.line, moment.at};
    sd_lock();
    const sd_target_t target = sd_target(stream);
    sd_clock_t clock = {NULL, 0, 0};
    sd_target_submitted(&target, &clock);
    bool after = sd_observed(tick) || sd_clock_covers(&clock, tick);
    sd_clock_free(&clock);
    sd_unlock();
    return after;
}

static standin_step_t do_nothing(sd_work_t *work)
{
    (void)work;
    return STANDIN_DONE;
}

sd_work_t *sd_work_nothing(struct sd_context *context)
{
    static const sd_work_class_t class = {
        .name = "wait", .bytes = sizeof(sd_work_t), .step = do_nothing};
    return sd_work_new(&class, context);
}

/* ---- Life -------------------------------------------------------------- */

static CUresult create(CUstream *handle, unsigned flags, int priority)
{
    if ((flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sd_context_t *context = sd_context_current();
    sd_stream_t *stream = sd_object_new(SD_STREAM_OBJECT, sizeof(*stream), context);
    stream->flags = flags;
    stream->priority = priority < -5 ? -5 : priority > 0 ? 0 : priority;
    stream->line = sd_line_new(context, stream->object.id, (flags & CU_STREAM_NON_BLOCKING) == 0);
    *handle = (CUstream)(void *)stream;
    return CUDA_SUCCESS;
}

/* What is queued goes on; only the handle dies. */
static CUresult destroy(CUstream handle)
{
    sd_target_t target = sd_target(handle);
    if (target.stream == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    sd_capture_forget(target.stream);
    sd_object_kill(&target.stream->object);
    return CUDA_SUCCESS;
}

SD_ENTRY(cuStreamCreate, cuStreamCreate, (CUstream * stream, unsigned flags),
         create(stream, flags, 0))
SD_ENTRY(cuStreamCreateWithPriority, cuStreamCreateWithPriority,
         (CUstream * stream, unsigned flags, int priority), create(stream, flags, priority))
SD_ENTRY(cuStreamDestroy_v2, cuStreamDestroy_v2, (CUstream stream), destroy(stream))

/* ---- Waiting ----------------------------------------------------------- */

static CUresult synchronize(CUstream handle)
{
    sd_target_t target = sd_target(handle);
    CUresult result = sd_capture_forbids(&target);
    if (result != CUDA_SUCCESS)
        return result;
    sd_sync_count();
    sd_target_wait(&target);
    sd_pools_idle();
    return target.context->lost;
}

static CUresult query(CUstream handle)
{
    sd_target_t target = sd_target(handle);
    CUresult result = sd_capture_forbids(&target);
    sd_clock_t clock = {NULL, 0, 0};
    if (result != CUDA_SUCCESS)
        return result;
    sd_work_nudge();
    sd_target_submitted(&target, &clock);
    result = target.context->lost;
    if (result == CUDA_SUCCESS && !sd_complete(&clock))
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS)
        sd_observe(&clock);
    sd_clock_free(&clock);
    return result;
}

SD_ENTRY_BOTH(cuStreamSynchronize, (CUstream stream), synchronize(stream))
SD_ENTRY_BOTH(cuStreamQuery, (CUstream stream), query(stream))

/* ---- Host functions ---------------------------------------------------- */

typedef struct call_work {
    sd_work_t work;
    CUhostFn function;
    void *user;
} call_work_t;

static standin_step_t call_host(sd_work_t *work)
{
    call_work_t *call = (call_work_t *)work;
    const char *outer = sd_thread.call;
    work->running = true;
    sd_thread.in_host_function = true;
    sd_unlock();
    call->function(call->user);
    sd_lock();
    sd_thread.in_host_function = false;
    sd_thread.call = outer;
    work->running = false;
    return STANDIN_DONE;
}

static CUresult launch_host(CUstream handle, CUhostFn function, void *user)
{
    static const sd_work_class_t class = {
        .name = "host function", .bytes = sizeof(call_work_t), .step = call_host};
    if (function == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    sd_target_t target = sd_target(handle);
    call_work_t *call = sd_work_new(&class, target.context);
    call->function = function;
    call->user = user;
    return sd_submit(&target, &call->work, NULL);
}

SD_ENTRY_BOTH(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *user),
              launch_host(stream, function, user))

/* ---- Properties -------------------------------------------------------- */

static CUresult get_context(CUstream handle, CUcontext *context)
{
    sd_target_t target = sd_target(handle);
    if (sd_capture_is_broken(&target))
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *context = sd_context_handle(target.context);
    return CUDA_SUCCESS;
}

/* There are no green contexts. */
static CUresult get_contexts(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    if (green != NULL)
        *green = NULL;
    return context != NULL ? get_context(handle, context) : CUDA_SUCCESS;
}

static CUresult get_id(CUstream handle, unsigned long long *id)
{
    sd_target_t target = sd_target(handle);
    if (target.stream != NULL && target.stream->capture != NULL)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (target.stream != NULL) {
        *id = target.stream->object.id;
        return CUDA_SUCCESS;
    }
    /* One for each context, and for each thread of it. */
    *id = (UINT64_C(1) << 32) | target.line->id;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUstream handle, CUdevice *device)
{
    *device = sd_target(handle).context->device;
    return CUDA_SUCCESS;
}

static CUresult get_flags(CUstream handle, unsigned *flags)
{
    sd_target_t target = sd_target(handle);
    *flags = target.stream != NULL ? target.stream->flags : CU_STREAM_DEFAULT;
    return CUDA_SUCCESS;
}

static CUresult get_priority(CUstream handle, int *priority)
{
    sd_target_t target = sd_target(handle);
    *priority = target.stream != NULL ? target.stream->priority : 0;
    return CUDA_SUCCESS;
}

SD_ENTRY_BOTH(cuStreamGetCtx, (CUstream stream, CUcontext *context), get_context(stream, context))
SD_ENTRY_BOTH(cuStreamGetCtx_v2, (CUstream stream, CUcontext *context, CUgreenCtx *green),
              get_contexts(stream, context, green))
SD_ENTRY_BOTH(cuStreamGetId, (CUstream stream, unsigned long long *id), get_id(stream, id))
SD_ENTRY_BOTH(cuStreamGetDevice, (CUstream stream, CUdevice *device), get_device(stream, device))
SD_ENTRY_BOTH(cuStreamGetFlags, (CUstream stream, unsigned *flags), get_flags(stream, flags))
SD_ENTRY_BOTH(cuStreamGetPriority, (CUstream stream, int *priority), get_priority(stream, priority))
