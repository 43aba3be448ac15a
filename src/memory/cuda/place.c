#include "memory/cuda/place.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "memory/cuda/events.h"
#include "memory/cuda/kernels.h"

/* All open places. The lock is held for walks of the list only, never across
 * a call of the driver. */
static cuai_lock_t places_lock = CUAI_LOCK_INIT;
static cuai_place_t *places;

/* ---- Loss -------------------------------------------------------------- */

/* Makes the place lost if the result is sticky; whether it was not before. */
static bool lose(cuai_place_t *place, cuai_cu_result_t result)
{
    cuai_cu_result_t none = CUAI_CUDA_SUCCESS;
    return cuai_cuda_is_sticky(result) &&
           atomic_compare_exchange_strong(&place->lost, &none, result);
}

void cuai_place_lose(cuai_place_t *place, cuai_cu_result_t result)
{
    if (lose(place, result))
        cuai_error_add("; the context of device %d is lost, with all its memory", place->device);
}

cuarena_status_t cuai_place_fail(cuai_place_t *place, cuai_cu_result_t result, const char *call,
                                 const char *format, ...)
{
    va_list arguments;
    CUAI_ASSERT(result != CUAI_CUDA_SUCCESS);
    va_start(arguments, format);
    cuarena_status_t status = cuai_cuda_fail_with(result, call, format, arguments);
    va_end(arguments);
    cuai_place_lose(place, result);
    return status;
}

void cuai_place_note(cuai_place_t *place, cuai_cu_result_t result, const char *call)
{
    CUAI_ASSERT(call != NULL);
    if (result == CUAI_CUDA_SUCCESS)
        return;
    if (lose(place, result))
        cuai_log(CUARENA_LOG_ERROR,
                 "device %d: %s answered %s; its context is lost, with all its memory",
                 place->device, call, cuai_cuda_name(result));
    else if (!cuai_cuda_is_sticky(result))
        cuai_log(CUARENA_LOG_WARN, "device %d: %s answered %s", place->device, call,
                 cuai_cuda_name(result));
}

/* In a forked process cuai_cuda sets the last error. */
cuarena_status_t cuai_place_check(cuai_place_t *place)
{
    if (CUAI_UNLIKELY(cuai_cuda() == NULL))
        return CUARENA_NO_DEVICE;
    cuai_cu_result_t lost = atomic_load_explicit(&place->lost, memory_order_relaxed);
    if (CUAI_LIKELY(lost == CUAI_CUDA_SUCCESS))
        return CUARENA_OK;
    cuarena_status_t status = cuai_fail(CUARENA_LOST, "device %d is lost to this context after %s",
                                        place->device, cuai_cuda_name(lost));
    cuai_error_code(lost);
    return status;
}

/* ---- Visits ------------------------------------------------------------ */

static cuai_cu_result_t make_current(cuai_place_t *place, bool *pushed_out)
{
    cuai_cu_context_t current = NULL;
    CUAI_ASSERT(place->context != NULL);
    *pushed_out = false;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuCtxGetCurrent(&current);
    if (result != CUAI_CUDA_SUCCESS || current == place->context)
        return result;
    result = cuai_cu(place->cuda)->cuCtxPushCurrent(place->context);
    *pushed_out = result == CUAI_CUDA_SUCCESS;
    return result;
}

cuarena_status_t cuai_place_enter(cuai_place_t *place, cuai_visit_t *visit)
{
    cuarena_status_t status = cuai_place_check(place);
    if (status != CUARENA_OK)
        return status;
    visit->place = place;
    visit->mode = CUAI_CU_STREAM_CAPTURE_MODE_RELAXED;
    cuai_cu_result_t result = make_current(place, &visit->pushed);
    if (result == CUAI_CUDA_ERROR_INVALID_CONTEXT) /* it was one before */
        result = CUAI_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuCtxPushCurrent",
                               "making the context of device %d current", place->device);
    result = cuai_cu(place->cuda)->cuThreadExchangeStreamCaptureMode(&visit->mode);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    cuai_cu_context_t popped;
    if (visit->pushed)
        cuai_place_note(place, cuai_cu(place->cuda)->cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
    return cuai_place_fail(place, result, "cuThreadExchangeStreamCaptureMode", "entering device %d",
                           place->device);
}

bool cuai_place_enter_to_end(cuai_place_t *place, cuai_visit_t *visit)
{
    return cuai_cuda_if_open() != NULL && atomic_load(&place->lost) == CUAI_CUDA_SUCCESS &&
           cuai_place_enter(place, visit) == CUARENA_OK;
}

void cuai_place_leave(cuai_visit_t *visit)
{
    cuai_place_t *place = visit->place;
    const cuai_cuda_t *cuda = place->cuda;
    cuai_place_note(place, cuai_cu(cuda)->cuThreadExchangeStreamCaptureMode(&visit->mode),
                    "cuThreadExchangeStreamCaptureMode");
    cuai_cu_context_t popped;
    if (visit->pushed)
        cuai_place_note(place, cuai_cu(cuda)->cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
}

/* ---- The list of places ------------------------------------------------ */

/* The place of that context, with one more user; NULL: there is none. */
static cuai_place_t *find_place(cuai_cu_context_t context, unsigned long long context_id)
{
    CUAI_ASSERT(context != NULL);
    cuai_lock(&places_lock);
    cuai_place_t *place = places;
    while (place != NULL && (place->context != context || place->context_id != context_id))
        place = place->next;
    if (place != NULL)
        place->users++;
    cuai_unlock(&places_lock);
    return place;
}

static void insert_place(cuai_place_t *place)
{
    CUAI_ASSERT(place->users == 1);
    cuai_lock(&places_lock);
    place->next = places;
    places = place;
    cuai_unlock(&places_lock);
}

/* Counts a user less; whether that was the last one, after which the place is not in the list. */
static bool remove_user(cuai_place_t *place)
{
    cuai_lock(&places_lock);
    CUAI_ASSERT(place->users != 0);
    bool last = --place->users == 0;
    cuai_place_t **link = &places;
    while (last && *link != place)
        link = &(*link)->next;
    if (last)
        *link = place->next;
    cuai_unlock(&places_lock);
    return last;
}

/* ---- Opening ----------------------------------------------------------- */

static void release_primary(const cuai_cuda_t *cuda, cuai_cu_device_t device)
{
    cuai_cu_result_t result = cuai_cu(cuda)->cuDevicePrimaryCtxRelease(device);
    if (result != CUAI_CUDA_SUCCESS)
        cuai_log(CUARENA_LOG_WARN, "cuDevicePrimaryCtxRelease answered %s", cuai_cuda_name(result));
}

static cuarena_status_t make_place(const cuai_place_t *found, cuai_place_t **out)
{
    cuai_facts_t facts;
    CUAI_ASSERT(found->context != NULL);
    cuarena_status_t status = cuai_facts_of(found->cuda, found->device, &facts);
    if (status != CUARENA_OK)
        return status;
    cuai_place_t *place = cuai_host_alloc(sizeof *place);
    if (place == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a device's record");
    place->cuda = found->cuda;
    place->context = found->context;
    place->context_id = found->context_id;
    place->device = found->device;
    place->primary = found->primary;
    place->facts = facts;
    place->users = 1;
    atomic_init(&place->lost, CUAI_CUDA_SUCCESS);
    cuai_lock_init(&place->lock);
    cuai_lock_init(&place->loading);
    insert_place(place);
    *out = place;
    return CUARENA_OK;
}

/* The place of a context, made if there is none; a new one keeps the retained context. `found` has
 * what is known of it: `primary` says that the library has retained it. Two threads that open at
 * once may make two places of one context, which does no harm. */
static cuarena_status_t find_or_make(const cuai_place_t *found, cuai_place_t **out)
{
    cuarena_status_t status = CUARENA_OK;
    cuai_place_t *place = find_place(found->context, found->context_id);
    bool kept = false;
    if (place == NULL) {
        status = make_place(found, &place);
        kept = status == CUARENA_OK;
    }
    if (found->primary && !kept)
        release_primary(found->cuda, found->device);
    if (status == CUARENA_OK)
        *out = place;
    return status;
}

static cuarena_status_t open_ordinal(const cuai_cuda_t *cuda, int32_t ordinal, cuai_place_t **out)
{
    cuai_place_t found = {.cuda = cuda, .primary = true};
    if (ordinal < 0 || ordinal >= cuda->device_count)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "device: %d, 0 to %d are accepted", (int)ordinal,
                         cuda->device_count - 1);
    cuai_cu_result_t result = cuai_cu(cuda)->cuDeviceGet(&found.device, ordinal);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_cuda_fail(result, "cuDeviceGet", "device %d", (int)ordinal);
    result = cuai_cu(cuda)->cuDevicePrimaryCtxRetain(&found.context, found.device);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_cuda_fail(result, "cuDevicePrimaryCtxRetain", "the context of device %d",
                              (int)ordinal);
    result = cuai_cu(cuda)->cuCtxGetId(found.context, &found.context_id);
    if (result == CUAI_CUDA_SUCCESS)
        return find_or_make(&found, out);
    release_primary(cuda, found.device);
    return cuai_cuda_fail(result, "cuCtxGetId", "the context of device %d", (int)ordinal);
}

/* A context has to be current for the driver to tell its device. */
static cuai_cu_result_t device_of(const cuai_cuda_t *cuda, cuai_cu_context_t context,
                                  cuai_cu_device_t *device_out)
{
    cuai_cu_context_t popped;
    cuai_cu_result_t result = cuai_cu(cuda)->cuCtxPushCurrent(context);
    if (result != CUAI_CUDA_SUCCESS)
        return result;
    result = cuai_cu(cuda)->cuCtxGetDevice(device_out);
    cuai_cu_result_t after = cuai_cu(cuda)->cuCtxPopCurrent(&popped);
    return result != CUAI_CUDA_SUCCESS ? result : after;
}

/* Retains the context if it is the primary one of its device. If the primary one is inactive it is
 * another, and retaining it would create it. */
static cuai_cu_result_t retain_if_primary(cuai_place_t *found)
{
    const cuai_cuda_t *cuda = found->cuda;
    CUAI_ASSERT(!found->primary);
    cuai_cu_context_t primary = NULL;
    unsigned flags = 0;
    int active = 0;
    cuai_cu_result_t result =
        cuai_cu(cuda)->cuDevicePrimaryCtxGetState(found->device, &flags, &active);
    if (result != CUAI_CUDA_SUCCESS || !active)
        return result;
    result = cuai_cu(cuda)->cuDevicePrimaryCtxRetain(&primary, found->device);
    if (result != CUAI_CUDA_SUCCESS)
        return result;
    found->primary = primary == found->context;
    if (!found->primary)
        release_primary(cuda, found->device);
    return CUAI_CUDA_SUCCESS;
}

static cuarena_status_t open_context(const cuai_cuda_t *cuda, cuai_cu_context_t context,
                                     cuai_place_t **out)
{
    cuai_place_t found = {.cuda = cuda, .context = context};
    cuai_cu_result_t result = device_of(cuda, context, &found.device);
    if (result == CUAI_CUDA_ERROR_INVALID_CONTEXT || result == CUAI_CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "context: the driver knows none at %p, a living "
                         "CUcontext is accepted",
                         (void *)context);
    if (result == CUAI_CUDA_SUCCESS)
        result = cuai_cu(cuda)->cuCtxGetId(context, &found.context_id);
    if (result == CUAI_CUDA_SUCCESS)
        result = retain_if_primary(&found);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_cuda_fail(result, "cuCtxGetDevice", "the context at %p", (void *)context);
    return find_or_make(&found, out);
}

/* Opens in relaxed capture mode, so that a capture of this thread is not disturbed. */
static cuarena_status_t open_relaxed(int32_t ordinal, cuai_cu_context_t context, cuai_place_t **out)
{
    const cuai_cuda_t *cuda = cuai_cuda();
    if (cuda == NULL)
        return CUARENA_NO_DEVICE;
    cuai_cu_capture_mode_t mode = CUAI_CU_STREAM_CAPTURE_MODE_RELAXED;
    cuai_cu_result_t result = cuai_cu(cuda)->cuThreadExchangeStreamCaptureMode(&mode);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_cuda_fail(result, "cuThreadExchangeStreamCaptureMode", "opening a device");
    cuarena_status_t status =
        context != NULL ? open_context(cuda, context, out) : open_ordinal(cuda, ordinal, out);
    result = cuai_cu(cuda)->cuThreadExchangeStreamCaptureMode(&mode);
    if (result != CUAI_CUDA_SUCCESS)
        cuai_log(CUARENA_LOG_WARN, "cuThreadExchangeStreamCaptureMode answered %s",
                 cuai_cuda_name(result));
    return status;
}

cuarena_status_t cuai_place_open_ordinal(int32_t ordinal, cuai_place_t **out)
{
    return open_relaxed(ordinal, NULL, out);
}

cuarena_status_t cuai_place_open_context(cuai_cu_context_t context, cuai_place_t **out)
{
    CUAI_ASSERT(context != NULL);
    return open_relaxed(0, context, out);
}

/* An ordinal beside a context has to be that of its device, unless it is 0, the default. */
cuarena_status_t cuai_place_open(const cuarena_config_t *config, cuai_place_t **out)
{
    cuai_place_t *place = NULL;
    cuarena_status_t status = open_relaxed(config->device, config->context, &place);
    if (status != CUARENA_OK)
        return status;
    if (config->device != 0 && config->device != place->device) {
        int own = place->device;
        cuai_place_close(place);
        return cuai_fail(CUARENA_BAD_ARGUMENT, "device: %d, the context at %p is one of device %d",
                         (int)config->device, config->context, own);
    }
    *out = place;
    return CUARENA_OK;
}

/* ---- Closing ----------------------------------------------------------- */

/* Without the driver, events and context stay as they are; the system takes them back. */
static void end_place(cuai_place_t *place)
{
    cuai_visit_t visit;
    CUAI_ASSERT(place->users == 0);
    bool entered = cuai_place_enter_to_end(place, &visit);
    cuai_events_end(place, !entered);
    cuai_kernels_end(place, !entered);
    if (entered)
        cuai_place_leave(&visit);
    if (entered && place->primary)
        release_primary(place->cuda, place->device);
    cuai_lock_cleanup(&place->lock);
    cuai_lock_cleanup(&place->loading);
    cuai_host_free(place);
}

/* In a forked process a thread that does not exist there may have left the list inconsistent, so
 * nothing is touched. */
void cuai_place_close(cuai_place_t *place)
{
    if (place == NULL || cuai_cuda_if_open() == NULL)
        return;
    if (remove_user(place))
        end_place(place);
}
