#include "context.h"

#include "call.h"
#include "event.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sd_device_t sd_device_table[SD_DEVICES_MAX];

/* ---- Devices ----------------------------------------------------------- */

bool sd_device_valid(CUdevice device)
{
    return device >= 0 && device < sd_options.device_count;
}

bool sd_device_take(int device, uint64_t bytes)
{
    sd_device_t *entry = &sd_device_table[device];
    if (bytes > sd_options.memory_bytes - entry->used_bytes)
        return false;
    entry->used_bytes += bytes;
    return true;
}

void sd_device_give_back(int device, uint64_t bytes)
{
    sd_device_table[device].used_bytes -= bytes;
}

void sd_device_lose(int device, CUresult code)
{
    for (sd_object_t *object = sd_objects(SD_CONTEXT_OBJECT); object != NULL;
         object = object->next) {
        sd_context_t *context = (sd_context_t *)object;
        if (context->device == device)
            sd_context_lose(context, code);
    }
}

uint64_t standin_device_used(int device)
{
    sd_lock();
    uint64_t bytes = sd_device_valid(device) ? sd_device_table[device].used_bytes : 0;
    sd_unlock();
    return bytes;
}

/* ---- Contexts ---------------------------------------------------------- */

CUcontext sd_context_handle(sd_context_t *context)
{
    return (CUcontext)(void *)context;
}

sd_context_t *sd_context_get(CUcontext handle)
{
    return sd_object_get(handle, SD_CONTEXT_OBJECT);
}

sd_context_t *sd_context_current(void)
{
    return sd_thread.depth != 0 ? sd_thread.contexts[sd_thread.depth - 1] : NULL;
}

void sd_context_lose(sd_context_t *context, CUresult code)
{
    if (context->lost == CUDA_SUCCESS)
        context->lost = code;
}

bool sd_context_reaches(const sd_context_t *context, int device)
{
    return context->device == device || (context->peers >> device & 1u) != 0;
}

sd_line_t *sd_context_thread_line(sd_context_t *context)
{
    sd_thread_line_t *entry = context->thread_lines;
    while (entry != NULL && entry->thread != sd_thread.id)
        entry = entry->next;
    if (entry != NULL)
        return entry->line;
    entry = malloc(sizeof(*entry));
    if (entry == NULL)
        sd_die("the host is out of memory");
    entry->thread = sd_thread.id;
    entry->line = sd_line_new(context, 2, true);
    entry->next = context->thread_lines;
    context->thread_lines = entry;
    return entry->line;
}

static sd_context_t *new_context(CUdevice device, unsigned flags)
{
    sd_context_t *context = sd_object_new(SD_CONTEXT_OBJECT, sizeof(*context), NULL);
    context->object.context = context;
    context->device = device;
    context->flags = flags;
    context->legacy = sd_line_new(context, 1, true);
    return context;
}

static void kill_of(sd_object_kind_t kind, const sd_context_t *context)
{
    for (sd_object_t *object = sd_objects(kind); object != NULL; object = object->next) {
        if (object->context == context && kind != SD_CONTEXT_OBJECT)
            sd_object_kill(object);
    }
}

/* All that was made in the context goes with it, its memory too. */
static void end_context(sd_context_t *context)
{
    sd_clock_t all = {NULL, 0, 0};
    sd_submitted(context, &all);
    sd_wait(&all);
    sd_clock_free(&all);
    for (unsigned kind = 0; kind < SD_OBJECT_KINDS; kind++) {
        if (kind != SD_POOL_OBJECT)
            kill_of((sd_object_kind_t)kind, context);
    }
    sd_memory_end(context);
    context->lost = CUDA_SUCCESS;
    context->peers = 0;
    sd_object_kill(&context->object);
}

size_t sd_contexts_held(void)
{
    size_t count = 0;
    for (sd_object_t *object = sd_objects(SD_CONTEXT_OBJECT); object != NULL; object = object->next)
        count += object->alive && !((sd_context_t *)object)->primary;
    for (int i = 0; i < SD_DEVICES_MAX; i++)
        count += sd_device_table[i].retained;
    return count;
}

/* ---- Primary contexts -------------------------------------------------- */

static CUresult primary_retain(CUcontext *context, CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    sd_device_t *entry = &sd_device_table[device];
    if (entry->primary == NULL) {
        entry->primary = new_context(device, 0);
        entry->primary->primary = true;
    }
    entry->primary->object.alive = true;
    entry->retained++;
    *context = sd_context_handle(entry->primary);
    return CUDA_SUCCESS;
}

static CUresult primary_release(CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    sd_device_t *entry = &sd_device_table[device];
    if (entry->retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--entry->retained == 0)
        end_context(entry->primary);
    return CUDA_SUCCESS;
}

/* The retained keep their count; they find the context new. */
static CUresult primary_reset(CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    sd_device_t *entry = &sd_device_table[device];
    if (entry->primary != NULL && entry->primary->object.alive)
        end_context(entry->primary);
    if (entry->primary != NULL)
        entry->primary->object.alive = entry->retained != 0;
    return CUDA_SUCCESS;
}

static CUresult primary_state(CUdevice device, unsigned *flags, int *active)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = sd_device_table[device].retained != 0;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device),
         primary_retain(context, device))
SD_ENTRY(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease_v2, (CUdevice device),
         primary_release(device))
SD_ENTRY(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset_v2, (CUdevice device),
         primary_reset(device))
SD_ENTRY(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState,
         (CUdevice device, unsigned *flags, int *active), primary_state(device, flags, active))

/* ---- The stack of a thread --------------------------------------------- */

static CUresult push(CUcontext handle)
{
    if (handle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    sd_context_t *context = sd_context_get(handle);
    if (sd_thread.depth == SD_STACK_MAX)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sd_thread.contexts[sd_thread.depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *handle)
{
    if (sd_thread.depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (handle != NULL)
        *handle = sd_context_handle(sd_context_current());
    sd_thread.depth--;
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext handle)
{
    if (handle == NULL) {
        sd_thread.depth -= sd_thread.depth != 0;
        return CUDA_SUCCESS;
    }
    sd_context_t *context = sd_context_get(handle);
    sd_thread.depth += sd_thread.depth == 0;
    sd_thread.contexts[sd_thread.depth - 1] = context;
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *handle)
{
    sd_context_t *context = sd_context_current();
    *handle = context != NULL ? sd_context_handle(context) : NULL;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *handle, unsigned flags, CUdevice device)
{
    if (!sd_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *handle = sd_context_handle(new_context(device, flags));
    return push(*handle);
}

static CUresult destroy(CUcontext handle)
{
    if (handle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    sd_context_t *context = sd_context_get(handle);
    if (context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    end_context(context);
    if (sd_context_current() == context)
        sd_thread.depth--;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device, const sd_context_t *context)
{
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = context->device;
    return CUDA_SUCCESS;
}

static CUresult get_id(CUcontext handle, unsigned long long *id)
{
    sd_context_t *context = handle != NULL ? sd_context_get(handle) : sd_context_current();
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *id = context->object.id;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuCtxCreate_v2, cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device),
         create(context, flags, device))
SD_ENTRY(cuCtxCreate_v3, cuCtxCreate_v3,
         (CUcontext * context, CUexecAffinityParam *affinity, int count, unsigned flags,
          CUdevice device),
         (affinity != NULL || count != 0) ? CUDA_ERROR_NOT_SUPPORTED
                                          : create(context, flags, device))
SD_ENTRY(cuCtxCreate_v4, cuCtxCreate_v4,
         (CUcontext * context, CUctxCreateParams *params, unsigned flags, CUdevice device),
         params != NULL ? CUDA_ERROR_NOT_SUPPORTED : create(context, flags, device))
SD_ENTRY(cuCtxDestroy_v2, cuCtxDestroy_v2, (CUcontext context), destroy(context))
SD_ENTRY(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext * context), get_current(context))
SD_ENTRY(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext context), set_current(context))
SD_ENTRY(cuCtxPushCurrent_v2, cuCtxPushCurrent_v2, (CUcontext context), push(context))
SD_ENTRY(cuCtxPopCurrent_v2, cuCtxPopCurrent_v2, (CUcontext * context), pop(context))
SD_ENTRY(cuCtxGetDevice, cuCtxGetDevice, (CUdevice * device),
         get_device(device, sd_context_current()))
SD_ENTRY(cuCtxGetDevice_v2, cuCtxGetDevice_v2, (CUdevice * device, CUcontext context),
         get_device(device, sd_context_get(context)))
SD_ENTRY(cuCtxGetId, cuCtxGetId, (CUcontext context, unsigned long long *id), get_id(context, id))

/* ---- Waiting and peers ------------------------------------------------- */

static CUresult synchronize(sd_context_t *context)
{
    sd_clock_t all = {NULL, 0, 0};
    sd_sync_count();
    sd_submitted(context, &all);
    sd_wait(&all);
    sd_clock_free(&all);
    sd_pools_idle();
    return context->lost;
}

static CUresult enable_peer(CUcontext handle, unsigned flags)
{
    sd_context_t *context = sd_context_current();
    sd_context_t *peer = sd_context_get(handle);
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (peer->device == context->device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!sd_options.peers)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if ((context->peers >> peer->device & 1u) != 0)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    context->peers |= 1u << peer->device;
    return CUDA_SUCCESS;
}

static CUresult disable_peer(CUcontext handle)
{
    sd_context_t *context = sd_context_current();
    sd_context_t *peer = sd_context_get(handle);
    if ((context->peers >> peer->device & 1u) == 0)
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    context->peers &= ~(1u << peer->device);
    return CUDA_SUCCESS;
}

SD_ENTRY(cuCtxSynchronize, cuCtxSynchronize, (void), synchronize(sd_context_current()))
SD_ENTRY(cuCtxSynchronize_v2, cuCtxSynchronize_v2, (CUcontext context),
         synchronize(sd_context_get(context)))
SD_ENTRY(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags),
         enable_peer(peer, flags))
SD_ENTRY(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, (CUcontext peer), disable_peer(peer))
