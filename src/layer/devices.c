/*
 * Which device a call is about, and the arenas.
 *
 * A thread remembers the last context that was current and the last streams that it named, with
 * the device of each, so that it need not ask the driver again. What it remembers is good as long
 * as `generation` stays: a stream or a context that ends raises it.
 */
#include "layer/layer.h"

#include <stdio.h>

#include "api/config.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "cuarena/capture.h"
#include "cuarena/stats.h"

#define CALL cuai_layer_calls

cuai_layer_device_t cuai_layer_devices[CUAI_LAYER_DEVICES + 1];

static _Atomic uint64_t generation = 1;
static cuai_lock_t making = CUAI_LOCK_INIT; /* guards the config, and the making of arenas */
static cuarena_config_t config;
static bool configured;

/* ---- Remembering --------------------------------------------------------- */

#define STREAMS 8 /* a power of two */

typedef struct memory {
    uint64_t generation;
    cuai_cu_context_t context; /* NULL: none */
    cuai_layer_device_t *device;
    struct {
        cuai_cu_stream_t stream; /* NULL: none */
        cuai_layer_device_t *device;
    } streams[STREAMS];
} memory_t;

static _Thread_local memory_t remembered;

void cuai_layer_forget(void)
{
    atomic_fetch_add(&generation, 1);
}

static memory_t *recall(void)
{
    uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    if (CUAI_UNLIKELY(remembered.generation != now))
        remembered = (memory_t){.generation = now};
    return &remembered;
}

void cuai_layer_devices_after_fork(void)
{
    cuai_lock_reset(&making);
}

/* ---- Contexts ------------------------------------------------------------ */

/* Whether the context is the primary one of the device, which is kept if it is. */
static bool is_primary(cuai_cu_device_t device, cuai_cu_context_t context)
{
    CUAI_ASSERT(context != NULL);
    cuai_cu_context_t primary = NULL;
    unsigned flags = 0;
    int active = 0;
    if (CALL.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUAI_CUDA_SUCCESS || !active)
        return false;
    if (CALL.cuDevicePrimaryCtxRetain(&primary, device) != CUAI_CUDA_SUCCESS)
        return false;
    (void)CALL.cuDevicePrimaryCtxRelease_v2(device);
    return primary == context;
}

/* The device of the context, which is current. */
static cuai_layer_device_t *find_device(cuai_cu_context_t context)
{
    CUAI_ASSERT(context != NULL);
    cuai_cu_device_t ordinal = -1;
    if (CALL.cuCtxGetDevice(&ordinal) != CUAI_CUDA_SUCCESS || ordinal < 0 ||
        ordinal >= CUAI_LAYER_DEVICES)
        return NULL;
    cuai_layer_device_t *device = &cuai_layer_devices[ordinal];
    if (atomic_load(&device->context) == context)
        return device;
    if (!is_primary(ordinal, context))
        return NULL;
    atomic_store(&device->context, context);
    return device;
}

static cuai_layer_device_t *device_of_current(cuai_cu_context_t context)
{
    CUAI_ASSERT(context != NULL);
    memory_t *memory = recall();
    if (CUAI_LIKELY(memory->context == context))
        return memory->device;
    memory->device = find_device(context);
    memory->context = context;
    return memory->device;
}

cuai_layer_device_t *cuai_layer_current(void)
{
    cuai_cu_context_t context = NULL;
    if (CALL.cuCtxGetCurrent(&context) != CUAI_CUDA_SUCCESS || context == NULL)
        return NULL;
    return device_of_current(context);
}

/* The device of a context that need not be current; NULL: it is no primary one, or the driver
 * refuses it. */
static cuai_layer_device_t *device_of(cuai_cu_context_t context)
{
    CUAI_ASSERT(context != NULL);
    cuai_cu_context_t current = NULL;
    if (CALL.cuCtxGetCurrent(&current) == CUAI_CUDA_SUCCESS && current == context)
        return device_of_current(context);
    if (CALL.cuCtxPushCurrent_v2(context) != CUAI_CUDA_SUCCESS)
        return NULL;
    cuai_layer_device_t *device = find_device(context);
    (void)CALL.cuCtxPopCurrent_v2(&current);
    return device;
}

static bool is_default(cuai_cu_stream_t stream)
{
    return stream == NULL || stream == CUARENA_STREAM_LEGACY || stream == CUARENA_STREAM_PER_THREAD;
}

static size_t place_of(cuai_cu_stream_t stream)
{
    return ((uintptr_t)stream >> 4 ^ (uintptr_t)stream >> 9) % STREAMS;
}

static cuai_layer_device_t *device_of_created(cuai_cu_stream_t stream)
{
    CUAI_ASSERT(!is_default(stream));
    cuai_cu_context_t context = NULL;
    memory_t *memory = recall();
    size_t place = place_of(stream);
    if (CUAI_LIKELY(memory->streams[place].stream == stream))
        return memory->streams[place].device;
    if (CALL.cuStreamGetCtx(stream, &context) != CUAI_CUDA_SUCCESS || context == NULL)
        return NULL;
    memory->streams[place].device = device_of(context);
    memory->streams[place].stream = stream;
    return memory->streams[place].device;
}

/* A context must be current, as the driver wants it. */
cuai_layer_device_t *cuai_layer_of_stream(cuai_cu_stream_t stream)
{
    cuai_cu_context_t context = NULL;
    if (CALL.cuCtxGetCurrent(&context) != CUAI_CUDA_SUCCESS || context == NULL)
        return NULL;
    return is_default(stream) ? device_of_current(context) : device_of_created(stream);
}

cuai_layer_device_t *cuai_layer_counter(void)
{
    cuai_layer_device_t *device = cuai_layer_current();
    return device != NULL ? device : &cuai_layer_devices[CUAI_LAYER_DEVICES];
}

/* ---- Arenas -------------------------------------------------------------- */

/* Refuses a memory by its word, or by its number where it has none. */
static cuarena_status_t fail_memory(const cuarena_config_t *given)
{
    char word[32];
    if (cuarena_config_get(given, "memory", word, sizeof word) != CUARENA_OK)
        (void)snprintf(word, sizeof word, "%d", (int)given->memory);
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "memory: %s, device and what the preset says are accepted", word);
}

static cuarena_status_t check_config(const cuarena_config_t *given)
{
    if (given->memory != CUARENA_MEMORY_PRESET && given->memory != CUARENA_MEMORY_DEVICE)
        return fail_memory(given);
    if (given->context != NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "context: %p, NULL is accepted: arenas are those of primary contexts",
                         given->context);
    return CUARENA_OK;
}

/* Raises the alignment to the driver's, which programs rely on. */
static void align(cuarena_config_t *options)
{
    if (options->alignment == CUARENA_BYTES_PRESET || options->alignment < 512)
        options->alignment = 512;
}

/* What the driver's memory is like, where the program leaves it open. */
static void add_promises(cuarena_config_t *options)
{
    options->memory = CUARENA_MEMORY_DEVICE;
    align(options);
    if (options->peers == CUARENA_PROPERTY_OFF)
        options->peers = CUARENA_PROPERTY_TRY;
    if (options->rdma == CUARENA_PROPERTY_OFF)
        options->rdma = CUARENA_PROPERTY_TRY;
}

/* Whether an arena may be made of it, as far as that shows without a device. */
static cuarena_status_t check_promised(const cuarena_config_t *given)
{
    cuarena_config_t promised = *given;
    cuarena_config_t full;
    cuarena_status_t status = check_config(given);
    if (status != CUARENA_OK)
        return status;
    add_promises(&promised);
    return cuai_config_check(&promised, &full);
}

static bool has_arena(void)
{
    cuai_lock_assert_static_held(&making);
    bool found = false;
    for (size_t i = 0; i < CUAI_LAYER_DEVICES; i++)
        found |= atomic_load(&cuai_layer_devices[i].arena) != NULL;
    return found;
}

cuarena_status_t cuarena_layer_configure(const cuarena_config_t *given)
{
    cuarena_config_t copy;
    cuarena_status_t status = cuai_config_copy(given, &copy);
    if (status == CUARENA_OK)
        status = check_promised(&copy);
    cuai_lock(&making);
    if (status == CUARENA_OK && has_arena())
        status = cuai_fail(CUARENA_BUSY, "the layer has an arena: it is configured before that");
    if (status == CUARENA_OK) {
        config = copy;
        configured = true;
    }
    cuai_unlock(&making);
    return cuai_told(status);
}

static cuarena_status_t make_options(int32_t ordinal, cuarena_config_t *options)
{
    cuai_lock_assert_static_held(&making);
    if (configured) {
        *options = config;
    } else {
        cuarena_config_init(options);
        options->preset = CUARENA_PRESET_GROW;
    }
    add_promises(options);
    cuarena_status_t status = cuarena_config_environment(options);
    if (status == CUARENA_OK)
        status = check_config(options);
    align(options);
    options->device = ordinal;
    return status;
}

static bool uses_other_pool(int32_t ordinal, cuai_cu_pool_t own)
{
    cuai_cu_pool_t current = NULL;
    return CALL.cuDeviceGetMemPool != NULL &&
           CALL.cuDeviceGetMemPool(&current, ordinal) == CUAI_CUDA_SUCCESS && current != own;
}

static cuarena_status_t create(cuai_layer_device_t *device, cuarena_t **out)
{
    CUAI_ASSERT(*out == NULL);
    cuarena_config_t options;
    cuarena_status_t status = make_options(cuai_layer_ordinal(device), &options);
    if (status == CUARENA_OK)
        status = cuarena_create(&options, out);
    if (status == CUARENA_OK)
        (void)cuarena_tag(*out, "graph", &device->captured_tag);
    return status;
}

/* Makes the arena of a device, once; a device whose arena cannot be had is left to the driver. */
static cuarena_t *make_arena(cuai_layer_device_t *device)
{
    cuai_lock_assert_static_held(&making);
    CUAI_ASSERT(atomic_load(&device->arena) == NULL);
    cuarena_t *arena = NULL;
    cuarena_status_t status = create(device, &arena);
    if (status != CUARENA_OK) {
        (void)fprintf(stderr, "cuarena: device %d is left to the driver: %s\n",
                      cuai_layer_ordinal(device), cuarena_last_error());
        atomic_store(&device->refused, true);
        return NULL;
    }
    if (CALL.cuDeviceGetDefaultMemPool != NULL)
        (void)CALL.cuDeviceGetDefaultMemPool(&device->pool, cuai_layer_ordinal(device));
    if (uses_other_pool(cuai_layer_ordinal(device), device->pool))
        atomic_store(&device->other_pool, true);
    atomic_store(&device->arena, arena);
    return arena;
}

cuarena_t *cuai_layer_arena(cuai_layer_device_t *device)
{
    cuarena_t *arena = atomic_load_explicit(&device->arena, memory_order_acquire);
    if (CUAI_LIKELY(arena != NULL) || atomic_load(&device->refused))
        return arena;
    cuai_lock(&making);
    arena = atomic_load(&device->arena);
    if (arena == NULL && !atomic_load(&device->refused))
        arena = make_arena(device);
    cuai_unlock(&making);
    return arena;
}

/* What the report tells of an arena that ends. */
static void keep_peaks(cuai_layer_device_t *device, cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    if (cuarena_stats(arena, CUARENA_REGION_ALL, &stats) != CUARENA_OK)
        return;
    if (stats.peak_live_bytes > atomic_load(&device->peak_live))
        atomic_store(&device->peak_live, stats.peak_live_bytes);
    if (stats.peak_reserved_bytes > atomic_load(&device->peak_reserved))
        atomic_store(&device->peak_reserved, stats.peak_reserved_bytes);
}

void cuai_layer_end_arena(cuai_layer_device_t *device)
{
    cuai_lock(&making);
    cuarena_t *arena = atomic_exchange(&device->arena, NULL);
    atomic_store(&device->context, NULL);
    atomic_store(&device->aside, NULL);
    atomic_store(&device->refused, false);
    cuai_unlock(&making);
    if (arena == NULL)
        return;
    keep_peaks(device, arena);
    cuai_layer_drop_sessions(arena);
    (void)cuarena_destroy_forced(&arena);
}

cuai_layer_device_t *cuai_layer_of_pool(cuai_cu_pool_t pool)
{
    for (size_t i = 0; pool != NULL && i < CUAI_LAYER_DEVICES; i++) {
        cuai_layer_device_t *device = &cuai_layer_devices[i];
        if (atomic_load(&device->arena) != NULL && device->pool == pool)
            return device;
    }
    return NULL;
}

/* ---- Owners -------------------------------------------------------------- */

cuai_layer_owner_t cuai_layer_owner(unsigned long long pointer, bool around)
{
    cuai_layer_owner_t owner = {.device = NULL};
    for (size_t i = 0; owner.device == NULL && i < CUAI_LAYER_DEVICES; i++) {
        cuarena_t *arena = atomic_load(&cuai_layer_devices[i].arena);
        if (arena == NULL)
            continue;
        owner.owned = cuai_owner_look(arena, pointer, around);
        owner.arena = arena;
        if (owner.owned.inside)
            owner.device = &cuai_layer_devices[i];
    }
    return owner;
}
