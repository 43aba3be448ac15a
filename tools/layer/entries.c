/*
 * The driver's names, each of which leads to the function of the layer (cuarena/layer.h). Linked
 * programs have them before the driver's library, and `cuarena run` puts a library of them in its
 * place.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuarena/layer.h"

#define ENTRY(name, parameters, arguments)                                                         \
    __attribute__((visibility("default"))) int name parameters;                                    \
    int name parameters                                                                            \
    {                                                                                              \
        return cuarena_layer()->name arguments;                                                    \
    }

typedef unsigned long long pointer_t;
typedef struct CUstream_st *stream_t;
typedef struct CUmemPoolHandle_st *pool_t;
typedef struct CUgraph_st *graph_t;
typedef struct CUctx_st *context_t;

ENTRY(cuMemAlloc_v2, (pointer_t * out, size_t bytes), (out, bytes))
ENTRY(cuMemAllocPitch_v2,
      (pointer_t * out, size_t *pitch, size_t width, size_t height, unsigned element),
      (out, pitch, width, height, element))
ENTRY(cuMemAllocManaged, (pointer_t * out, size_t bytes, unsigned flags), (out, bytes, flags))
ENTRY(cuMemFree_v2, (pointer_t pointer), (pointer))
ENTRY(cuMemAllocAsync, (pointer_t * out, size_t bytes, stream_t stream), (out, bytes, stream))
ENTRY(cuMemAllocAsync_ptsz, (pointer_t * out, size_t bytes, stream_t stream), (out, bytes, stream))
ENTRY(cuMemAllocFromPoolAsync, (pointer_t * out, size_t bytes, pool_t pool, stream_t stream),
      (out, bytes, pool, stream))
ENTRY(cuMemAllocFromPoolAsync_ptsz, (pointer_t * out, size_t bytes, pool_t pool, stream_t stream),
      (out, bytes, pool, stream))
ENTRY(cuMemFreeAsync, (pointer_t pointer, stream_t stream), (pointer, stream))
ENTRY(cuMemFreeAsync_ptsz, (pointer_t pointer, stream_t stream), (pointer, stream))
ENTRY(cuMemGetInfo_v2, (size_t * free_out, size_t *total_out), (free_out, total_out))
ENTRY(cuMemGetAddressRange_v2, (pointer_t * base, size_t *bytes, pointer_t pointer),
      (base, bytes, pointer))
ENTRY(cuPointerGetAttribute, (void *value, int attribute, pointer_t pointer),
      (value, attribute, pointer))
ENTRY(cuPointerGetAttributes, (unsigned count, int *attributes, void **values, pointer_t pointer),
      (count, attributes, values, pointer))
ENTRY(cuIpcGetMemHandle, (void *handle, pointer_t pointer), (handle, pointer))
ENTRY(cuMemRetainAllocationHandle, (pointer_t * handle, void *pointer), (handle, pointer))
ENTRY(cuStreamDestroy_v2, (stream_t stream), (stream))
ENTRY(cuStreamBeginCapture_v2, (stream_t stream, int mode), (stream, mode))
ENTRY(cuStreamBeginCapture_v2_ptsz, (stream_t stream, int mode), (stream, mode))
ENTRY(cuStreamEndCapture, (stream_t stream, graph_t *graph), (stream, graph))
ENTRY(cuStreamEndCapture_ptsz, (stream_t stream, graph_t *graph), (stream, graph))
ENTRY(cuMemPoolTrimTo, (pool_t pool, size_t keep), (pool, keep))
ENTRY(cuMemPoolSetAttribute, (pool_t pool, int attribute, void *value), (pool, attribute, value))
ENTRY(cuMemPoolGetAttribute, (pool_t pool, int attribute, void *value), (pool, attribute, value))
ENTRY(cuDeviceSetMemPool, (int device, pool_t pool), (device, pool))
ENTRY(cuDevicePrimaryCtxReset_v2, (int device), (device))
ENTRY(cuCtxDestroy_v2, (context_t context), (context))
ENTRY(cuGetProcAddress, (const char *symbol, void **out, int version, uint64_t flags),
      (symbol, out, version, flags))
ENTRY(cuGetProcAddress_v2,
      (const char *symbol, void **out, int version, uint64_t flags, int *found),
      (symbol, out, version, flags, found))

/* Tells `cuarena run`, which names a folder, that the program has loaded this. */
__attribute__((constructor)) static void tell_loaded(void)
{
    char path[4096];
    const char *folder = getenv("CUARENA_RUN_FOLDER");
    if (folder == NULL || snprintf(path, sizeof path, "%s/loaded", folder) >= (int)sizeof path)
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0)
        (void)close(file);
}
