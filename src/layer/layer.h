/*
 * The layer's parts. Each entry point is a function of the driver's that programs call; table.c has
 * them all.
 *
 *   next.c      the driver's own entry points, and what the environment says
 *   devices.c   which device a call is about, and its arena
 *   serve.c     allocations and frees
 *   captured.c  ... on streams that are being captured
 *   pools.c     the driver's figures and its default pool
 *   pointers.c  what the driver is asked about pointers
 *   table.c     the entry points, and how programs find them
 *   record.c    the file of a program whose calls are recorded
 *   report.c    figures, and the lines at exit
 *
 * A thread that is inside the layer, or in a call of the library that the layer made, does not
 * enter it again: its calls go to the driver.
 */
#ifndef CUAI_LAYER_LAYER_H
#define CUAI_LAYER_LAYER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/owner.h"
#include "base/compiler.h"
#include "cuarena/arena.h"
#include "cuarena/layer.h"
#include "memory/cuda/driver.h"

struct CUuserObject_st;

/* ---- The driver's own (next.c) ------------------------------------------- */

/* The entry points: E(symbol, name that cuGetProcAddress is asked for, release that brought it),
 * and those that have a variant for default streams of threads. */
#define CUAI_LAYER_ENTRIES(E)                                                                      \
    E(cuMemAlloc_v2, cuMemAlloc, 3020)                                                             \
    E(cuMemAllocPitch_v2, cuMemAllocPitch, 3020)                                                   \
    E(cuMemAllocManaged, cuMemAllocManaged, 6000)                                                  \
    E(cuMemFree_v2, cuMemFree, 3020)                                                               \
    E(cuMemGetInfo_v2, cuMemGetInfo, 3020)                                                         \
    E(cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020)                                         \
    E(cuPointerGetAttribute, cuPointerGetAttribute, 4000)                                          \
    E(cuPointerGetAttributes, cuPointerGetAttributes, 7000)                                        \
    E(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010)                                                  \
    E(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000)                             \
    E(cuStreamDestroy_v2, cuStreamDestroy, 4000)                                                   \
    E(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020)                                                     \
    E(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020)                                         \
    E(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020)                                         \
    E(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020)                                               \
    E(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000)                                  \
    E(cuCtxDestroy_v2, cuCtxDestroy, 4000)                                                         \
    E(cuGetProcAddress, cuGetProcAddress, 11030)                                                   \
    E(cuGetProcAddress_v2, cuGetProcAddress, 12000)

#define CUAI_LAYER_STREAM_ENTRIES(E)                                                               \
    E(cuMemAllocAsync, cuMemAllocAsync, 11020)                                                     \
    E(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020)                                     \
    E(cuMemFreeAsync, cuMemFreeAsync, 11020)                                                       \
    E(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010)                                        \
    E(cuStreamEndCapture, cuStreamEndCapture, 10000)

/* What else the layer calls: N(symbol, parameters). */
#define CUAI_LAYER_CALLS(N)                                                                        \
    N(cuCtxGetCurrent, (cuai_cu_context_t *))                                                      \
    N(cuCtxGetDevice, (cuai_cu_device_t *))                                                        \
    N(cuCtxPushCurrent_v2, (cuai_cu_context_t))                                                    \
    N(cuCtxPopCurrent_v2, (cuai_cu_context_t *))                                                   \
    N(cuCtxSynchronize, (void))                                                                    \
    N(cuDevicePrimaryCtxGetState, (cuai_cu_device_t, unsigned *, int *))                           \
    N(cuDevicePrimaryCtxRetain, (cuai_cu_context_t *, cuai_cu_device_t))                           \
    N(cuDevicePrimaryCtxRelease_v2, (cuai_cu_device_t))                                            \
    N(cuStreamCreate, (cuai_cu_stream_t *, unsigned))                                              \
    N(cuStreamGetCtx, (cuai_cu_stream_t, cuai_cu_context_t *))                                     \
    N(cuStreamSynchronize, (cuai_cu_stream_t))                                                     \
    N(cuStreamIsCapturing, (cuai_cu_stream_t, cuai_cu_capture_status_t *))

/* What the layer calls but can do without where the driver lacks it: it serves no pools, or no
 * graphs that allocate, then. */
#define CUAI_LAYER_OPTIONAL(N)                                                                     \
    N(cuDeviceGetDefaultMemPool, (cuai_cu_pool_t *, cuai_cu_device_t))                             \
    N(cuDeviceGetMemPool, (cuai_cu_pool_t *, cuai_cu_device_t))                                    \
    N(cuStreamGetCaptureInfo_v2,                                                                   \
      (cuai_cu_stream_t, cuai_cu_capture_status_t *, unsigned long long *, struct CUgraph_st **,   \
       const struct CUgraphNode_st *const **, size_t *))                                           \
    N(cuStreamGetCaptureInfo_v3,                                                                   \
      (cuai_cu_stream_t, cuai_cu_capture_status_t *, unsigned long long *, struct CUgraph_st **,   \
       const struct CUgraphNode_st *const **, const void **, size_t *))                            \
    N(cuGraphDestroy, (struct CUgraph_st *))                                                       \
    N(cuUserObjectCreate,                                                                          \
      (struct CUuserObject_st **, void *, void (*)(void *), unsigned, unsigned))                   \
    N(cuGraphRetainUserObject,                                                                     \
      (struct CUgraph_st *, struct CUuserObject_st *, unsigned, unsigned))                         \
    N(cuUserObjectRelease, (struct CUuserObject_st *, unsigned))

struct CUgraphNode_st;

#define CUAI_LAYER_MEMBER(name, parameters) cuai_cu_result_t(*name) parameters;
typedef struct cuai_layer_calls {
    CUAI_LAYER_CALLS(CUAI_LAYER_MEMBER)
    CUAI_LAYER_OPTIONAL(CUAI_LAYER_MEMBER)
} cuai_layer_calls_t;

typedef enum cuai_layer_mode {
    CUAI_LAYER_ON,
    CUAI_LAYER_ASYNC, /* what cuMemAlloc allocates is the driver's */
    CUAI_LAYER_OFF,
    CUAI_LAYER_RECORD
} cuai_layer_mode_t;

/* The driver's own entry points, NULL where it lacks one. Those of default streams of threads are
 * NULL: the others do, with that stream. Where one of CUAI_LAYER_CALLS is missing nothing is
 * served. Constant once the layer has begun. */
extern cuarena_layer_t cuai_layer_next;
extern cuai_layer_calls_t cuai_layer_calls;
extern cuai_layer_mode_t cuai_layer_mode;

/* Calls the driver's own entry point: CUAI_LAYER_NEXT(cuMemFree_v2, (pointer)). */
#define CUAI_LAYER_NEXT(name, arguments)                                                           \
    (cuai_layer_next.name != NULL ? cuai_layer_next.name arguments : cuai_layer_lacks())
/* What a call answers that the driver does not have. */
cuai_cu_result_t cuai_layer_lacks(void);

/* Opens the driver at the first call. */
void cuai_layer_open(void);
/* The address of a symbol of the driver's; NULL: it has none. */
void *cuai_layer_symbol(const char *name);

/* ---- Entering (table.c) -------------------------------------------------- */

extern _Thread_local bool cuai_layer_inside;

/* Whether a call is to be served: true, and the thread is inside until cuai_layer_leave; else it is
 * for the driver. */
static inline bool cuai_layer_enter(void)
{
    cuai_layer_open();
    if (cuai_layer_inside || cuai_layer_mode > CUAI_LAYER_ASYNC)
        return false;
    cuai_layer_inside = true;
    return true;
}

static inline cuai_cu_result_t cuai_layer_leave(cuai_cu_result_t result)
{
    cuai_layer_inside = false;
    return result;
}

/* ---- Devices (devices.c) ------------------------------------------------- */

#define CUAI_LAYER_DEVICES 64

typedef struct cuai_layer_device {
    _Atomic(cuai_cu_context_t) context; /* its primary one; NULL: not known yet */
    _Atomic(cuarena_t *) arena;         /* NULL: none yet, or none any more */
    atomic_bool refused;                /* no arena can be made */
    atomic_bool other_pool;             /* a pool of the program's is the current one */
    cuai_cu_pool_t pool;                /* the default one */
    _Atomic(cuai_cu_stream_t) aside;    /* what ended graphs had is freed on; NULL: not made yet */
    cuarena_tag_t captured_tag;         /* of blocks of captures */
    _Atomic uint64_t allocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t captured;
    _Atomic uint64_t driver_allocs;
    _Atomic uint64_t driver_frees;
    _Atomic uint64_t refused_allocs;
    _Atomic uint64_t peak_live; /* of arenas that have ended */
    _Atomic uint64_t peak_reserved;
    _Atomic uint64_t pool_high; /* of the driver's pool, before an attempt that failed */
} cuai_layer_device_t;

/* The devices by ordinal; the last is for calls without one. */
extern cuai_layer_device_t cuai_layer_devices[CUAI_LAYER_DEVICES + 1];

/* The ordinal of a device that has one. */
static inline int32_t cuai_layer_ordinal(const cuai_layer_device_t *device)
{
    CUAI_ASSERT(device >= cuai_layer_devices && device < cuai_layer_devices + CUAI_LAYER_DEVICES);
    return (int32_t)(device - cuai_layer_devices);
}

static inline void cuai_layer_count(_Atomic uint64_t *count)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* The device whose primary context is current, or that of the stream's; NULL: another context, or
 * none. Asks the driver. */
cuai_layer_device_t *cuai_layer_current(void);
cuai_layer_device_t *cuai_layer_of_stream(cuai_cu_stream_t stream);
/* The device that counts calls which are passed on: the current one, or the one for calls without
 * any. */
cuai_layer_device_t *cuai_layer_counter(void);
/* Frees locks, in a forked child, that a thread had which is not there. */
void cuai_layer_devices_after_fork(void);
/* What threads remember of contexts and streams may be wrong from now on. */
void cuai_layer_forget(void);

/* The arena of a device, which the first call makes; NULL: there is none. */
cuarena_t *cuai_layer_arena(cuai_layer_device_t *device);
/* Ends the arena with all blocks, before the device's primary context goes. */
void cuai_layer_end_arena(cuai_layer_device_t *device);
/* Whether the pool is the default one of a device that has an arena: that device; else NULL. */
cuai_layer_device_t *cuai_layer_of_pool(cuai_cu_pool_t pool);

/* ---- Who has an address (devices.c) -------------------------------------- */

typedef struct cuai_layer_owner {
    cuai_layer_device_t *device; /* NULL: no arena has the address */
    cuarena_t *arena;
    cuai_owned_t owned;
} cuai_layer_owner_t;

/* O(arenas + segments) unless a block begins there and, with `around`, O(blocks). */
cuai_layer_owner_t cuai_layer_owner(unsigned long long pointer, bool around);

/* ---- Serving (serve.c) --------------------------------------------------- */

cuai_cu_result_t cuai_layer_alloc(unsigned long long *out, size_t bytes);
/* Allocates on a stream from the pool or, where that is NULL, from the current one. */
cuai_cu_result_t cuai_layer_alloc_on(unsigned long long *out, size_t bytes, cuai_cu_pool_t pool,
                                     cuai_cu_stream_t stream);
/* The driver's, after the arenas made room for it if it must be. */
cuai_cu_result_t cuai_layer_alloc_pitched(unsigned long long *out, size_t *pitch, size_t width,
                                          size_t height, unsigned element);
cuai_cu_result_t cuai_layer_alloc_managed(unsigned long long *out, size_t bytes, unsigned flags);
cuai_cu_result_t cuai_layer_free(unsigned long long pointer);
cuai_cu_result_t cuai_layer_free_on(unsigned long long pointer, cuai_cu_stream_t stream);
/* Makes the arenas forget a stream, and lets the driver destroy it. */
cuai_cu_result_t cuai_layer_destroy_stream(cuai_cu_stream_t stream);

/* ---- Captures (captured.c) ----------------------------------------------- */

typedef enum cuai_layer_capture {
    CUAI_LAYER_NOT_CAPTURED,
    CUAI_LAYER_CAPTURED,
    CUAI_LAYER_BROKEN /* its capture has failed, or the driver does not tell */
} cuai_layer_capture_t;

/* How many captures the program has begun and not ended. */
extern _Atomic uint64_t cuai_layer_captures;

/* Whether the stream is being captured. A legacy stream never is. */
cuai_layer_capture_t cuai_layer_ask_capture(cuai_cu_stream_t stream);
/* An allocation for a graph, in the session of the stream's capture. */
cuarena_status_t cuai_layer_capture_alloc(cuai_layer_device_t *device, cuarena_t *arena,
                                          size_t bytes, cuai_cu_stream_t stream, void **out);
cuarena_status_t cuai_layer_capture_free(const cuai_layer_owner_t *owner, void *pointer,
                                         cuai_cu_stream_t stream);
/* Frees outside of captures, on a stream or with CUARENA_NO_STREAM behind all work, what a graph
 * allocated that can be launched again: the block stays with the graph until that ends. False: it
 * is no such block, or the arena cannot take the stream. O(blocks of graphs). */
bool cuai_layer_free_outside(const cuai_layer_owner_t *owner, void *pointer,
                             cuarena_stream_t stream);
/* Whether there may be such blocks. */
bool cuai_layer_has_graphs(void);
cuai_cu_result_t cuai_layer_begin_capture(cuai_cu_stream_t stream, int mode);
cuai_cu_result_t cuai_layer_end_capture(cuai_cu_stream_t stream, struct CUgraph_st **graph);
/* Ends the capture of a stream, whose graph nobody wants. */
void cuai_layer_drop_capture(cuai_cu_stream_t stream);
void cuai_layer_captures_after_fork(void);
/* Forgets the sessions of an arena that is about to end. */
void cuai_layer_drop_sessions(const cuarena_t *arena);
/* Releases what graphs had that have ended. */
void cuai_layer_reap(void);
extern atomic_bool cuai_layer_graphs_ended;

/* ---- Figures and pools (pools.c), pointers (pointers.c) ------------------ */

cuai_cu_result_t cuai_layer_get_info(size_t *free_out, size_t *total_out);
cuai_cu_result_t cuai_layer_pool_trim(cuai_cu_pool_t pool, size_t keep_bytes);
cuai_cu_result_t cuai_layer_pool_set(cuai_cu_pool_t pool, int attribute, void *value);
cuai_cu_result_t cuai_layer_pool_get(cuai_cu_pool_t pool, int attribute, void *value_out);
cuai_cu_result_t cuai_layer_set_pool(int device, cuai_cu_pool_t pool);
/* These two go around an allocation that is passed on: the driver counts among the bytes that its
 * pool had at most also those which it could not have. The first says how many were counted before,
 * and the second notes that and counts anew after a failure. */
uint64_t cuai_layer_pool_high(const cuai_layer_device_t *device);
void cuai_layer_pool_failed(cuai_layer_device_t *device, uint64_t high);

cuai_cu_result_t cuai_layer_address_range(unsigned long long *base_out, size_t *bytes_out,
                                          unsigned long long pointer);
cuai_cu_result_t cuai_layer_attribute(void *value_out, int attribute, unsigned long long pointer);
cuai_cu_result_t cuai_layer_ipc_handle(void *handle_out, unsigned long long pointer);
cuai_cu_result_t cuai_layer_retain_handle(unsigned long long *handle_out, void *pointer);
cuai_cu_result_t cuai_layer_attributes(unsigned count, int *attributes, void **values,
                                       unsigned long long pointer);

/* ---- Recording (record.c) and the report (report.c) ---------------------- */

/* Begins to record in a file; false, with a line on stderr, if it cannot be had. */
bool cuai_layer_record_begin(const char *path);
void cuai_layer_record_alloc(unsigned long long pointer, size_t bytes, cuai_cu_stream_t stream);

/* A block that lives, or is about to be freed. */
typedef struct cuai_layer_recorded {
    unsigned long long pointer; /* 0: none is known there */
    uint64_t id;
    uint64_t bytes;
    uint64_t freed_ns;
    cuai_cu_context_t context; /* it ends with this; NULL: with none, as a pool's */
    int32_t device;
} cuai_layer_recorded_t;

/* Take a block out before the driver frees it, since another thread may get the address at once,
 * and record the free behind it, or put the block back where the driver refused. */
cuai_layer_recorded_t cuai_layer_record_freeing(unsigned long long pointer);
void cuai_layer_record_free(const cuai_layer_recorded_t *block, bool freed,
                            cuai_cu_stream_t stream);
/* The context has ended, with all that was allocated in it. */
void cuai_layer_record_end_of(cuai_cu_context_t context);

/* Writes the lines of CUARENA_REPORT=1 at exit. */
void cuai_layer_report_later(void);

#endif
