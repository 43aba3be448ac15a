/*
 * The layer: programs that allocate by the driver's own calls get blocks of arenas instead.
 *
 * A program, or a library in it, that calls cuMemAllocAsync, cuMemAlloc, cuMemFree and the like
 * needs no change: where these names lead to the functions of this header, one arena for each
 * device serves them. There are three ways to get there, of which a program takes one:
 *
 *   Rust             cuarena::device_allocator!(...) in the program's crate
 *   linked programs  libcuarena_driver.a before the driver in the link
 *   any program      `cuarena run PROGRAM`, which puts a libcuda.so before the driver's
 *
 * What is served: allocations in the primary context of a device, on any of its streams, and of
 * streams that are being captured, in capture sessions that last as long as the graph and all that
 * was made of it. Frees of these, from any thread and on any stream.
 *
 * What goes to the driver, which answers as ever: allocations of 0 bytes, in contexts that a
 * program created, of a pool that is not the device's default one, and what the arena refuses;
 * pitched and managed ones; frees of what is not the arena's. Before such an allocation fails for
 * want of memory the arena gives back what it has free, and the driver is asked again. So the
 * option `limit` is no limit of the program: what is above it goes to the driver.
 *
 * What callers may rely on, as with the driver:
 *   order      the bytes of a block are used at or behind the point of its stream at which it was
 *              allocated, and nobody gets them before the point at which it was freed. cuMemFree
 *              waits for the work of the context.
 *   alignment  512 bytes at least.
 *   errors     a free of what is no block is CUDA_ERROR_INVALID_VALUE; out of memory is the
 *              driver's.
 *   pointers   cuPointerGetAttribute(s) and cuMemGetAddressRange tell range, size, id and pool of
 *              the block; the other devices reach it where they can reach each other at all.
 *              cuMemRetainAllocationHandle is refused, as of all that cuMemAlloc gives.
 *   figures    cuMemGetInfo counts what the arena has free as free. Of the device's default pool,
 *              cuMemPoolGetAttribute counts what the arena has, cuMemPoolTrimTo and a lower release
 *              threshold make it give back what is free. A peak is the arena's and the pool's
 *              together, as if they had been at the same time. Where the arena takes its bytes from
 *              that pool (preset=mlx-cuda, preset=driver-pool, backing=async) they count once, and
 *              cuMemGetInfo counts what the pool has unused as free too.
 *   graphs     what a graph allocates and does not free may be freed behind a launch, and is
 *              allocated again by the next one. It counts as in use until the graph and all that
 *              was made of it have ended, so a second free between two launches is not refused.
 *              What a capture allocated that came to nothing ends with it.
 * Not kept: cuIpcGetMemHandle of a block of cuMemAlloc is refused, as the driver refuses it of
 * cuMemAllocAsync, and a line on stderr says so; CUARENA_ALLOCATOR=async is for programs that need
 * it. A free on a stream of what cuMemAlloc gave is served, unless the arena had refused it, for a
 * limit for instance, and the driver gave it: then the driver answers. cuMemAlloc during a capture
 * is served in every mode. An arena keeps its device's primary context, which releases do not end
 * then. What a graph allocated that is destroyed without a launch stays in use until it is freed or
 * the arena ends. cuPointerSetAttribute of a block reaches all of the arena's segment.
 *
 * Where no arena can be had of a device, for a wrong option for instance, a line on stderr says
 * why, once, and the device is left to the driver.
 *
 * Environment, read at the first call
 *   CUARENA_ALLOCATOR  on, the default; async: what cuMemAlloc allocates is
 *                      left to the driver; off: everything is. Any other word is
 *                      on, and a line on stderr says so
 *   CUARENA_CONF       options of the arenas (options.h), added to those of the
 *                      program
 *   CUARENA_REPORT     1: at exit a line for each device on stderr, with
 *                      allocations, frees, peaks of live and reserved bytes of
 *                      its arenas, and how many calls went to the driver
 *   CUARENA_RECORD     a file: nothing is served, and what the functions below
 *                      allocate and free is recorded there, in the format of
 *                      trace.h; a context ends with what was allocated in it,
 *                      but for what is a pool's. Arrays, host memory and
 *                      physical handles are not recorded
 *
 * Cost: a call asks the driver which context is current and, on a stream that is no legacy one,
 * whether it is being captured. The rest is what the same call on an arena costs. A question about
 * a pointer costs as much as a look-up where a block begins there, O(segments) where it is nothing
 * of the arena, and O(blocks) where it points into a block.
 *
 * An arena ends with its device's primary context, by cuDevicePrimaryCtxReset, or with the process.
 * In a forked child every call goes to the driver, which does not work there either. Any thread may
 * call anything.
 */
#ifndef CUARENA_LAYER_H
#define CUARENA_LAYER_H

#include "base.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;
struct CUgraph_st;
struct CUmemPoolHandle_st;
struct CUstream_st;

/*
 * The functions of the layer: each takes and gives what the function of the driver does that has
 * its name; enumerations are int. Where a name has a variant for default streams of threads, whose
 * symbol ends in _ptsz, its member for that ends so too.
 */
typedef struct cuarena_layer {
    size_t struct_size;
    int (*cuMemAlloc_v2)(unsigned long long *pointer_out, size_t bytes);
    int (*cuMemAllocPitch_v2)(unsigned long long *pointer_out, size_t *pitch_out, size_t width,
                              size_t height, unsigned element);
    int (*cuMemAllocManaged)(unsigned long long *pointer_out, size_t bytes, unsigned flags);
    int (*cuMemFree_v2)(unsigned long long pointer);
    int (*cuMemAllocAsync)(unsigned long long *pointer_out, size_t bytes,
                           struct CUstream_st *stream);
    int (*cuMemAllocAsync_ptsz)(unsigned long long *pointer_out, size_t bytes,
                                struct CUstream_st *stream);
    int (*cuMemAllocFromPoolAsync)(unsigned long long *pointer_out, size_t bytes,
                                   struct CUmemPoolHandle_st *pool, struct CUstream_st *stream);
    int (*cuMemAllocFromPoolAsync_ptsz)(unsigned long long *pointer_out, size_t bytes,
                                        struct CUmemPoolHandle_st *pool,
                                        struct CUstream_st *stream);
    int (*cuMemFreeAsync)(unsigned long long pointer, struct CUstream_st *stream);
    int (*cuMemFreeAsync_ptsz)(unsigned long long pointer, struct CUstream_st *stream);
    int (*cuMemGetInfo_v2)(size_t *free_out, size_t *total_out);
    int (*cuMemGetAddressRange_v2)(unsigned long long *base_out, size_t *bytes_out,
                                   unsigned long long pointer);
    int (*cuPointerGetAttribute)(void *value_out, int attribute, unsigned long long pointer);
    int (*cuPointerGetAttributes)(unsigned count, int *attributes, void **values,
                                  unsigned long long pointer);
    int (*cuIpcGetMemHandle)(void *handle_out, unsigned long long pointer);
    int (*cuMemRetainAllocationHandle)(unsigned long long *handle_out, void *pointer);
    int (*cuStreamDestroy_v2)(struct CUstream_st *stream);
    int (*cuStreamBeginCapture_v2)(struct CUstream_st *stream, int mode);
    int (*cuStreamBeginCapture_v2_ptsz)(struct CUstream_st *stream, int mode);
    int (*cuStreamEndCapture)(struct CUstream_st *stream, struct CUgraph_st **graph_out);
    int (*cuStreamEndCapture_ptsz)(struct CUstream_st *stream, struct CUgraph_st **graph_out);
    int (*cuMemPoolTrimTo)(struct CUmemPoolHandle_st *pool, size_t keep_bytes);
    int (*cuMemPoolSetAttribute)(struct CUmemPoolHandle_st *pool, int attribute, void *value);
    int (*cuMemPoolGetAttribute)(struct CUmemPoolHandle_st *pool, int attribute, void *value_out);
    int (*cuDeviceSetMemPool)(int device, struct CUmemPoolHandle_st *pool);
    int (*cuDevicePrimaryCtxReset_v2)(int device);
    int (*cuCtxDestroy_v2)(struct CUctx_st *context);
    int (*cuGetProcAddress)(const char *symbol, void **function_out, int version, uint64_t flags);
    int (*cuGetProcAddress_v2)(const char *symbol, void **function_out, int version, uint64_t flags,
                               int *found_out);
} cuarena_layer_t;

/* The functions, for code that gives them the driver's names. Never NULL, and the same for the
 * whole process. Opens nothing: the first call of one of them does. */
CUARENA_API const cuarena_layer_t *cuarena_layer(void);

/*
 * Says what the arenas are to be like, before the first allocation; the config is copied. Without
 * it they are those of "preset=grow". The device's number is that of each device, and memory is
 * device memory. The layer adds peers=try and rdma=try where the config has the defaults, and then
 * CUARENA_CONF; an alignment below 512 is raised to that.
 *
 * BAD_ARGUMENT for NULL, a memory other than device or what the preset says, a context, and options
 * that do not go together where that shows without a device; BUSY once there is an arena.
 */
CUARENA_API cuarena_status_t cuarena_layer_configure(const cuarena_config_t *config);

typedef struct cuarena_layer_stats {
    size_t struct_size;
    cuarena_t *arena;        /* of the device, for queries, trims and snapshots; it must not be
                              * destroyed or reset. NULL: there is none */
    uint64_t allocs;         /* that the arena served */
    uint64_t frees;          /* of these; of a graph's block once behind each launch */
    uint64_t captured;       /* allocations of `allocs` on streams that were being captured */
    uint64_t driver_allocs;  /* that went to the driver, by a function of the table */
    uint64_t driver_frees;   /* that went to the driver, by a function of the table */
    uint64_t refused_allocs; /* of driver_allocs: since the arena refused them */
} cuarena_layer_stats_t;
CUARENA_API void cuarena_layer_stats_init(cuarena_layer_stats_t *stats);
/* What the layer did for a device, by its ordinal from 0 to 63; -1: for calls without one, such as
 * those without a context. BAD_ARGUMENT for another ordinal. Calls no driver. O(1). */
CUARENA_API cuarena_status_t cuarena_layer_stats(int32_t device, cuarena_layer_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
