/* The entry points, and how programs find them by the driver's own cuGetProcAddress. */
#include "layer/layer.h"

#include <string.h>

#include "cuarena/memory.h"

#define NEXT CUAI_LAYER_NEXT

_Thread_local bool cuai_layer_inside;

/* An entry point: what is served, and what is done instead where the call is for the driver. */
#define ENTRY(name, parameters, served, passed)                                                    \
    static int enter_##name parameters                                                             \
    {                                                                                              \
        return cuai_layer_enter() ? cuai_layer_leave(served) : (passed);                           \
    }
/* An entry point whose call for the driver goes on with the arguments that it has. */
#define PLAIN(name, parameters, arguments, served)                                                 \
    ENTRY(name, parameters, served, NEXT(name, arguments))

/* ---- Allocations and frees ----------------------------------------------- */

static bool records(void)
{
    return cuai_layer_mode == CUAI_LAYER_RECORD && !cuai_layer_inside;
}

/* The result of an allocation, which is recorded if it is to be. */
static int noted(int result, const unsigned long long *pointer, size_t bytes,
                 cuai_cu_stream_t stream)
{
    if (records() && result == CUAI_CUDA_SUCCESS)
        cuai_layer_record_alloc(*pointer, bytes, stream);
    return result;
}

static cuai_layer_recorded_t freeing(unsigned long long pointer)
{
    return records() ? cuai_layer_record_freeing(pointer) : (cuai_layer_recorded_t){.pointer = 0};
}

/* The driver's frees, recorded if it does not refuse them. */
static int pass_free(unsigned long long pointer)
{
    cuai_layer_recorded_t block = freeing(pointer);
    int result = NEXT(cuMemFree_v2, (pointer));
    cuai_layer_record_free(&block, result == CUAI_CUDA_SUCCESS, CUARENA_NO_STREAM);
    return result;
}

static int pass_free_on(unsigned long long pointer, cuai_cu_stream_t stream)
{
    cuai_layer_recorded_t block = freeing(pointer);
    int result = NEXT(cuMemFreeAsync, (pointer, stream));
    cuai_layer_record_free(&block, result == CUAI_CUDA_SUCCESS, stream);
    return result;
}

ENTRY(cuMemAlloc_v2, (unsigned long long *out, size_t bytes), cuai_layer_alloc(out, bytes),
      noted(NEXT(cuMemAlloc_v2, (out, bytes)), out, bytes, CUARENA_NO_STREAM))
ENTRY(cuMemFree_v2, (unsigned long long pointer), cuai_layer_free(pointer), pass_free(pointer))
ENTRY(cuMemAllocAsync, (unsigned long long *out, size_t bytes, cuai_cu_stream_t stream),
      cuai_layer_alloc_on(out, bytes, NULL, stream),
      noted(NEXT(cuMemAllocAsync, (out, bytes, stream)), out, bytes, stream))
ENTRY(cuMemAllocFromPoolAsync,
      (unsigned long long *out, size_t bytes, cuai_cu_pool_t pool, cuai_cu_stream_t stream),
      pool != NULL ? cuai_layer_alloc_on(out, bytes, pool, stream)
                   : NEXT(cuMemAllocFromPoolAsync, (out, bytes, pool, stream)),
      noted(NEXT(cuMemAllocFromPoolAsync, (out, bytes, pool, stream)), out, bytes, stream))
ENTRY(cuMemFreeAsync, (unsigned long long pointer, cuai_cu_stream_t stream),
      cuai_layer_free_on(pointer, stream), pass_free_on(pointer, stream))

static int noted_pitched(int result, const unsigned long long *pointer, const size_t *pitch,
                         size_t height)
{
    size_t bytes = result == CUAI_CUDA_SUCCESS ? *pitch * height : 0;
    return noted(result, pointer, bytes, CUARENA_NO_STREAM);
}

/* No arena serves these: the driver does, once arenas made room for it if they must. */
ENTRY(cuMemAllocPitch_v2,
      (unsigned long long *out, size_t *pitch, size_t width, size_t height, unsigned element),
      cuai_layer_alloc_pitched(out, pitch, width, height, element),
      noted_pitched(NEXT(cuMemAllocPitch_v2, (out, pitch, width, height, element)), out, pitch,
                    height))
ENTRY(cuMemAllocManaged, (unsigned long long *out, size_t bytes, unsigned flags),
      cuai_layer_alloc_managed(out, bytes, flags),
      noted(NEXT(cuMemAllocManaged, (out, bytes, flags)), out, bytes, CUARENA_NO_STREAM))

/* ---- The others ---------------------------------------------------------- */

PLAIN(cuMemGetInfo_v2, (size_t * free_out, size_t *total_out), (free_out, total_out),
      cuai_layer_get_info(free_out, total_out))
PLAIN(cuMemGetAddressRange_v2,
      (unsigned long long *base, size_t *bytes, unsigned long long pointer), (base, bytes, pointer),
      cuai_layer_address_range(base, bytes, pointer))
PLAIN(cuPointerGetAttribute, (void *value, int attribute, unsigned long long pointer),
      (value, attribute, pointer), cuai_layer_attribute(value, attribute, pointer))
PLAIN(cuPointerGetAttributes,
      (unsigned count, int *attributes, void **values, unsigned long long pointer),
      (count, attributes, values, pointer),
      cuai_layer_attributes(count, attributes, values, pointer))
PLAIN(cuIpcGetMemHandle, (void *handle, unsigned long long pointer), (handle, pointer),
      cuai_layer_ipc_handle(handle, pointer))
PLAIN(cuMemRetainAllocationHandle, (unsigned long long *handle, void *pointer), (handle, pointer),
      cuai_layer_retain_handle(handle, pointer))
PLAIN(cuStreamDestroy_v2, (cuai_cu_stream_t stream), (stream), cuai_layer_destroy_stream(stream))
PLAIN(cuStreamBeginCapture_v2, (cuai_cu_stream_t stream, int mode), (stream, mode),
      cuai_layer_begin_capture(stream, mode))
PLAIN(cuStreamEndCapture, (cuai_cu_stream_t stream, struct CUgraph_st **graph), (stream, graph),
      cuai_layer_end_capture(stream, graph))
PLAIN(cuMemPoolTrimTo, (cuai_cu_pool_t pool, size_t keep), (pool, keep),
      cuai_layer_pool_trim(pool, keep))
PLAIN(cuMemPoolSetAttribute, (cuai_cu_pool_t pool, int attribute, void *value),
      (pool, attribute, value), cuai_layer_pool_set(pool, attribute, value))
PLAIN(cuMemPoolGetAttribute, (cuai_cu_pool_t pool, int attribute, void *value),
      (pool, attribute, value), cuai_layer_pool_get(pool, attribute, value))
PLAIN(cuDeviceSetMemPool, (int device, cuai_cu_pool_t pool), (device, pool),
      cuai_layer_set_pool(device, pool))

static int reset_context(int device)
{
    CUAI_ASSERT(cuai_layer_inside);
    if (device >= 0 && device < CUAI_LAYER_DEVICES)
        cuai_layer_end_arena(&cuai_layer_devices[device]);
    cuai_layer_forget();
    return NEXT(cuDevicePrimaryCtxReset_v2, (device));
}

static int destroy_context(cuai_cu_context_t context)
{
    CUAI_ASSERT(cuai_layer_inside);
    cuai_layer_forget();
    return NEXT(cuCtxDestroy_v2, (context));
}

static int pass_reset(int device)
{
    bool known = records() && device >= 0 && device < CUAI_LAYER_DEVICES;
    int result = NEXT(cuDevicePrimaryCtxReset_v2, (device));
    if (known && result == CUAI_CUDA_SUCCESS) {
        cuai_layer_record_end_of(atomic_exchange(&cuai_layer_devices[device].context, NULL));
        cuai_layer_forget();
    }
    return result;
}

static int pass_destroy(cuai_cu_context_t context)
{
    bool recorded = records();
    int result = NEXT(cuCtxDestroy_v2, (context));
    if (recorded && result == CUAI_CUDA_SUCCESS) {
        cuai_layer_record_end_of(context);
        cuai_layer_forget();
    }
    return result;
}

ENTRY(cuDevicePrimaryCtxReset_v2, (int device), reset_context(device), pass_reset(device))
ENTRY(cuCtxDestroy_v2, (cuai_cu_context_t context), destroy_context(context), pass_destroy(context))

/* ---- Default streams of threads ------------------------------------------ */

static cuai_cu_stream_t meant(cuai_cu_stream_t stream)
{
    return stream == NULL ? CUARENA_STREAM_PER_THREAD : stream;
}

static int enter_cuMemAllocAsync_ptsz(unsigned long long *out, size_t bytes,
                                      cuai_cu_stream_t stream)
{
    return enter_cuMemAllocAsync(out, bytes, meant(stream));
}

static int enter_cuMemAllocFromPoolAsync_ptsz(unsigned long long *out, size_t bytes,
                                              cuai_cu_pool_t pool, cuai_cu_stream_t stream)
{
    return enter_cuMemAllocFromPoolAsync(out, bytes, pool, meant(stream));
}

static int enter_cuMemFreeAsync_ptsz(unsigned long long pointer, cuai_cu_stream_t stream)
{
    return enter_cuMemFreeAsync(pointer, meant(stream));
}

static int enter_cuStreamBeginCapture_v2_ptsz(cuai_cu_stream_t stream, int mode)
{
    return enter_cuStreamBeginCapture_v2(meant(stream), mode);
}

static int enter_cuStreamEndCapture_ptsz(cuai_cu_stream_t stream, struct CUgraph_st **graph)
{
    return enter_cuStreamEndCapture(meant(stream), graph);
}

/* ---- Finding ------------------------------------------------------------- */

static int enter_cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags);
static int enter_cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                                     int *found_out);

#define MEMBER(name, asked, since) .name = enter_##name,
#define STREAM_MEMBER(name, asked, since) .name = enter_##name, .name##_ptsz = enter_##name##_ptsz,

static const cuarena_layer_t layer = {.struct_size = sizeof(cuarena_layer_t),
                                      CUAI_LAYER_ENTRIES(MEMBER)
                                          CUAI_LAYER_STREAM_ENTRIES(STREAM_MEMBER)};

const cuarena_layer_t *cuarena_layer(void)
{
    return &layer;
}

/* An entry point as cuGetProcAddress knows it: where its function is in the table. */
typedef struct row {
    const char *asked;
    int since;
    size_t ordinary;
    size_t per_thread;
} row_t;

#define ROW(name, asked, since)                                                                    \
    {#asked, since, offsetof(cuarena_layer_t, name), offsetof(cuarena_layer_t, name)},
#define STREAM_ROW(name, asked, since)                                                             \
    {#asked, since, offsetof(cuarena_layer_t, name), offsetof(cuarena_layer_t, name##_ptsz)},

/* Of the rows of one name the last whose release is not above the one asked for is meant. */
static const row_t rows[] = {CUAI_LAYER_ENTRIES(ROW) CUAI_LAYER_STREAM_ENTRIES(STREAM_ROW)};

static const row_t *find_row(const char *symbol, int version)
{
    const row_t *found = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].asked, symbol) == 0 && rows[i].since <= version)
            found = &rows[i];
    return found;
}

/* Puts the layer's function in the place of the driver's, which has one. */
static void replace(const char *symbol, void **out, int version, uint64_t flags)
{
    CUAI_ASSERT(cuai_layer_mode != CUAI_LAYER_OFF && !cuai_layer_inside);
    const row_t *row = symbol != NULL ? find_row(symbol, version) : NULL;
    if (row == NULL || out == NULL || *out == NULL)
        return;
    bool per_thread = (flags & CUAI_CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    memcpy(out, (const char *)&layer + (per_thread ? row->per_thread : row->ordinary), sizeof *out);
}

static int enter_cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    cuai_layer_open();
    int result = NEXT(cuGetProcAddress, (symbol, out, version, flags));
    if (result == CUAI_CUDA_SUCCESS && cuai_layer_mode != CUAI_LAYER_OFF && !cuai_layer_inside)
        replace(symbol, out, version, flags);
    return result;
}

static int enter_cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                                     int *found_out)
{
    cuai_layer_open();
    int result = NEXT(cuGetProcAddress_v2, (symbol, out, version, flags, found_out));
    if (result == CUAI_CUDA_SUCCESS && cuai_layer_mode != CUAI_LAYER_OFF && !cuai_layer_inside)
        replace(symbol, out, version, flags);
    return result;
}
