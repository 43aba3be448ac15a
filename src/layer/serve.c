/* Allocations and frees. */
#include "layer/layer.h"

#include "base/addresses.h"
#include "base/log.h"
#include "cuarena/streams.h"

#define NEXT CUAI_LAYER_NEXT
#define CALL cuai_layer_calls

static void *pointer_of(unsigned long long address)
{
    return (void *)(uintptr_t)address;
}

/* ---- Allocating ---------------------------------------------------------- */

/* Gives back what arenas have free, waiting for what streams use if need be; whether that was
 * anything. */
static bool give_back(void)
{
    uint64_t all = 0;
    for (size_t i = 0; i < CUAI_LAYER_DEVICES; i++) {
        uint64_t given = 0;
        cuarena_t *arena = atomic_load(&cuai_layer_devices[i].arena);
        if (arena == NULL)
            continue;
        if (cuarena_trim_on(arena, CUARENA_NO_STREAM, 0, &given) != CUARENA_OK)
            (void)cuarena_trim(arena, 0, &given);
        all += given;
    }
    return all > 0;
}

/* Whether the driver is to be asked again, once, since the arenas made room. */
static bool asks_again(cuai_cu_result_t result, bool *asked)
{
    if (*asked)
        return false;
    *asked = true;
    cuai_layer_count(&cuai_layer_counter()->driver_allocs);
    return result == CUAI_CUDA_ERROR_OUT_OF_MEMORY && give_back();
}

/* Returns what the driver's allocation answers, tried again where an arena could give bytes back.
 */
#define PASS(allocation)                                                                           \
    cuai_cu_result_t result;                                                                       \
    bool asked = false;                                                                            \
    do                                                                                             \
        result = (allocation);                                                                     \
    while (asks_again(result, &asked));                                                            \
    return result

cuai_cu_result_t cuai_layer_alloc_pitched(unsigned long long *out, size_t *pitch, size_t width,
                                          size_t height, unsigned element)
{
    PASS(NEXT(cuMemAllocPitch_v2, (out, pitch, width, height, element)));
}

cuai_cu_result_t cuai_layer_alloc_managed(unsigned long long *out, size_t bytes, unsigned flags)
{
    PASS(NEXT(cuMemAllocManaged, (out, bytes, flags)));
}

static cuai_cu_result_t pass_alloc(unsigned long long *out, size_t bytes)
{
    PASS(NEXT(cuMemAlloc_v2, (out, bytes)));
}

static cuai_cu_result_t pass_alloc_on(unsigned long long *out, size_t bytes, cuai_cu_pool_t pool,
                                      cuai_cu_stream_t stream)
{
    if (pool != NULL) {
        PASS(NEXT(cuMemAllocFromPoolAsync, (out, bytes, pool, stream)));
    }
    PASS(NEXT(cuMemAllocAsync, (out, bytes, stream)));
}

static cuai_cu_result_t served(cuai_layer_device_t *device, unsigned long long *out, void *pointer)
{
    CUAI_ASSERT(pointer != NULL);
    cuai_layer_count(&device->allocs);
    *out = (unsigned long long)(uintptr_t)pointer;
    return CUAI_CUDA_SUCCESS;
}

/* Releases what ended graphs had. Comes first in every call that is served. */
static void reap_if_any(void)
{
    CUAI_ASSERT(cuai_layer_inside);
    if (CUAI_UNLIKELY(atomic_load_explicit(&cuai_layer_graphs_ended, memory_order_relaxed)))
        cuai_layer_reap();
}

cuai_cu_result_t cuai_layer_alloc(unsigned long long *out, size_t bytes)
{
    void *pointer = NULL;
    reap_if_any();
    cuai_layer_device_t *device = cuai_layer_current();
    if (device == NULL || out == NULL || bytes == 0 || cuai_layer_mode == CUAI_LAYER_ASYNC)
        return pass_alloc(out, bytes);
    cuarena_t *arena = cuai_layer_arena(device);
    if (arena == NULL)
        return pass_alloc(out, bytes);
    if (cuarena_alloc(arena, bytes, &pointer) == CUARENA_OK)
        return served(device, out, pointer);
    cuai_layer_count(&device->refused_allocs);
    return pass_alloc(out, bytes);
}

static cuarena_status_t alloc_for(cuai_layer_device_t *device, cuarena_t *arena, size_t bytes,
                                  cuai_cu_stream_t stream, void **out)
{
    CUAI_ASSERT(arena != NULL && bytes != 0);
    switch (cuai_layer_ask_capture(stream)) {
    case CUAI_LAYER_NOT_CAPTURED:
        return cuarena_alloc_on(arena, bytes, stream, NULL, out);
    case CUAI_LAYER_CAPTURED:
        return cuai_layer_capture_alloc(device, arena, bytes, stream, out);
    default:
        return CUARENA_UNSUPPORTED;
    }
}

/* Whether it is memory of the pool that the arena stands for. */
static bool is_default_pool(cuai_layer_device_t *device, cuai_cu_pool_t pool)
{
    return pool != NULL ? pool == device->pool : !atomic_load(&device->other_pool);
}

cuai_cu_result_t cuai_layer_alloc_on(unsigned long long *out, size_t bytes, cuai_cu_pool_t pool,
                                     cuai_cu_stream_t stream)
{
    void *pointer = NULL;
    reap_if_any();
    cuai_layer_device_t *device = cuai_layer_of_stream(stream);
    if (device == NULL || out == NULL || bytes == 0)
        return pass_alloc_on(out, bytes, pool, stream);
    cuarena_t *arena = cuai_layer_arena(device);
    if (arena == NULL || !is_default_pool(device, pool))
        return pass_alloc_on(out, bytes, pool, stream);
    if (alloc_for(device, arena, bytes, stream, &pointer) == CUARENA_OK)
        return served(device, out, pointer);
    cuai_layer_count(&device->refused_allocs);
    uint64_t high = cuai_layer_pool_high(device);
    cuai_cu_result_t result = pass_alloc_on(out, bytes, pool, stream);
    if (result != CUAI_CUDA_SUCCESS)
        cuai_layer_pool_failed(device, high);
    return result;
}

/* ---- Freeing ------------------------------------------------------------- */

static cuai_cu_result_t freed(cuai_layer_device_t *device, cuarena_status_t status)
{
    CUAI_ASSERT(cuai_layer_inside);
    if (status != CUARENA_OK)
        return CUAI_CUDA_ERROR_INVALID_VALUE; /* another thread freed it meanwhile */
    cuai_layer_count(&device->frees);
    return CUAI_CUDA_SUCCESS;
}

/* Waits as the driver's cuMemFree does, by a free of the driver's: during a capture nothing else
 * that waits for a context is allowed, and whether this is depends on the thread's mode. */
static cuai_cu_result_t wait_by_free(void)
{
    unsigned long long pointer = 0;
    cuai_cu_result_t result = NEXT(cuMemAlloc_v2, (&pointer, 1));
    return result == CUAI_CUDA_SUCCESS ? NEXT(cuMemFree_v2, (pointer)) : result;
}

/* Waits for the work of the device's context. */
static cuai_cu_result_t wait_for_all(const cuai_layer_device_t *device)
{
    cuai_cu_context_t before = NULL;
    cuai_cu_context_t context = atomic_load(&device->context);
    cuai_cu_result_t result = CALL.cuCtxPushCurrent_v2(context);
    if (result != CUAI_CUDA_SUCCESS)
        return result;
    result = atomic_load(&cuai_layer_captures) > 0 ? wait_by_free() : CALL.cuCtxSynchronize();
    (void)CALL.cuCtxPopCurrent_v2(&before);
    return result;
}

static cuai_cu_result_t pass_free(unsigned long long pointer)
{
    if (pointer != 0)
        cuai_layer_count(&cuai_layer_counter()->driver_frees);
    return NEXT(cuMemFree_v2, (pointer));
}

cuai_cu_result_t cuai_layer_free(unsigned long long pointer)
{
    reap_if_any();
    cuai_layer_owner_t owner = cuai_layer_owner(pointer, false);
    if (owner.device == NULL)
        return pass_free(pointer);
    if (!owner.owned.begins)
        return CUAI_CUDA_ERROR_INVALID_VALUE;
    cuai_cu_result_t result = wait_for_all(owner.device);
    if (result != CUAI_CUDA_SUCCESS)
        return result;
    if (cuai_layer_free_outside(&owner, pointer_of(pointer), CUARENA_NO_STREAM))
        return freed(owner.device, CUARENA_OK);
    return freed(owner.device, cuarena_free(owner.arena, pointer_of(pointer)));
}

static cuai_cu_result_t pass_free_on(unsigned long long pointer, cuai_cu_stream_t stream)
{
    if (pointer != 0)
        cuai_layer_count(&cuai_layer_counter()->driver_frees);
    return NEXT(cuMemFreeAsync, (pointer, stream));
}

/* Where the arena cannot take the stream: one of a device that does not reach the block, of another
 * context, or one too many. */
static cuai_cu_result_t free_after_wait(const cuai_layer_owner_t *owner, void *pointer,
                                        cuai_cu_stream_t stream)
{
    cuai_cu_result_t result = CALL.cuStreamSynchronize(stream);
    if (result != CUAI_CUDA_SUCCESS)
        return result;
    if (cuai_layer_free_outside(owner, pointer, CUARENA_NO_STREAM))
        return freed(owner->device, CUARENA_OK);
    return freed(owner->device, cuarena_free(owner->arena, pointer));
}

static cuai_cu_result_t free_ordinary(const cuai_layer_owner_t *owner, void *pointer,
                                      cuai_cu_stream_t stream)
{
    CUAI_ASSERT(owner->device != NULL && owner->owned.begins);
    if (cuai_layer_of_stream(stream) != owner->device)
        return free_after_wait(owner, pointer, stream);
    if (cuai_layer_free_outside(owner, pointer, stream))
        return freed(owner->device, CUARENA_OK);
    cuarena_status_t status = cuarena_free_on(owner->arena, pointer, stream);
    if (status == CUARENA_OK || status == CUARENA_STALE)
        return freed(owner->device, status);
    return free_after_wait(owner, pointer, stream);
}

/* The driver refuses to free in a graph what no graph allocated. */
static cuai_cu_result_t free_captured(const cuai_layer_owner_t *owner, void *pointer,
                                      cuai_cu_stream_t stream)
{
    CUAI_ASSERT(owner->device != NULL && owner->owned.begins);
    if (owner->owned.tag == 0 || owner->owned.tag != owner->device->captured_tag)
        return CUAI_CUDA_ERROR_INVALID_VALUE;
    return freed(owner->device, cuai_layer_capture_free(owner, pointer, stream));
}

/* What is mostly so: a block of the stream's device, which the arena frees at once, and no graph
 * can have allocated. */
static bool free_at_once(unsigned long long pointer, cuai_cu_stream_t stream)
{
    cuai_layer_device_t *device = cuai_layer_of_stream(stream);
    cuarena_t *arena = device != NULL ? atomic_load(&device->arena) : NULL;
    if (arena == NULL || pointer == 0 || cuai_layer_has_graphs() ||
        cuarena_free_on(arena, pointer_of(pointer), stream) != CUARENA_OK)
        return false;
    cuai_layer_count(&device->frees);
    return true;
}

static cuai_cu_result_t free_asked(unsigned long long pointer, cuai_cu_stream_t stream,
                                   cuai_layer_capture_t capture)
{
    cuai_layer_owner_t owner = cuai_layer_owner(pointer, false);
    if (owner.device == NULL)
        return pass_free_on(pointer, stream);
    if (!owner.owned.begins)
        return CUAI_CUDA_ERROR_INVALID_VALUE;
    if (capture == CUAI_LAYER_CAPTURED)
        return free_captured(&owner, pointer_of(pointer), stream);
    if (capture == CUAI_LAYER_NOT_CAPTURED)
        return free_ordinary(&owner, pointer_of(pointer), stream);
    return CUAI_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

cuai_cu_result_t cuai_layer_free_on(unsigned long long pointer, cuai_cu_stream_t stream)
{
    reap_if_any();
    cuai_layer_capture_t capture = cuai_layer_ask_capture(stream);
    if (capture == CUAI_LAYER_NOT_CAPTURED && free_at_once(pointer, stream))
        return CUAI_CUDA_SUCCESS;
    return free_asked(pointer, stream, capture);
}

/* ---- Streams ------------------------------------------------------------- */

/* Makes the arenas forget the stream; false: one cannot, since it is being captured. */
static bool release_stream(cuai_cu_stream_t stream)
{
    CUAI_ASSERT(stream != NULL);
    bool released = true;
    for (size_t i = 0; i < CUAI_LAYER_DEVICES; i++) {
        cuarena_t *arena = atomic_load(&cuai_layer_devices[i].arena);
        if (arena != NULL && cuarena_release_stream(arena, stream) == CUARENA_BUSY)
            released = false;
    }
    return released;
}

/* The driver ends the capture of a stream that is destroyed: here that comes first, since an arena
 * that knows the stream must be told of its end. */
cuai_cu_result_t cuai_layer_destroy_stream(cuai_cu_stream_t stream)
{
    CUAI_ASSERT(cuai_layer_inside);
    if (stream != NULL && !release_stream(stream)) {
        cuai_layer_drop_capture(stream);
        if (!release_stream(stream))
            cuai_log(CUARENA_LOG_WARN, "stream %p is destroyed while it is captured",
                     (void *)stream);
    }
    cuai_layer_forget();
    return NEXT(cuStreamDestroy_v2, (stream));
}
