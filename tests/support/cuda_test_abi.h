/*
 * What tests use of the driver's interface beyond the library's own list: in the same form, and
 * checked with it (see memory/cuda/abi.h).
 */
#ifndef CUARENA_TEST_CUDA_TEST_ABI_H
#define CUARENA_TEST_CUDA_TEST_ABI_H

#include "memory/cuda/abi.h"

typedef struct CUgraph_st *cuai_cu_graph_t;
typedef struct CUgraphExec_st *cuai_cu_graph_exec_t;
typedef void (*cuai_cu_host_fn_t)(void *);

/* All drivers that are accepted have these. */
#define CUAI_CUDA_TEST_ENTRIES(E)                                                                  \
    E(cuCtxCreate, 3020, (cuai_cu_context_t *, unsigned, cuai_cu_device_t))                        \
    E(cuCtxDestroy, 4000, (cuai_cu_context_t))                                                     \
    E(cuCtxSetCurrent, 4000, (cuai_cu_context_t))                                                  \
    E(cuCtxSynchronize, 2000, (void))                                                              \
    E(cuDevicePrimaryCtxReset, 11000, (cuai_cu_device_t))                                          \
    E(cuStreamCreateWithPriority, 5050, (cuai_cu_stream_t *, unsigned, int))                       \
    E(cuStreamQuery, 2000, (cuai_cu_stream_t))                                                     \
    E(cuStreamBeginCapture, 10010, (cuai_cu_stream_t, cuai_cu_capture_mode_t))                     \
    E(cuStreamEndCapture, 10000, (cuai_cu_stream_t, cuai_cu_graph_t *))                            \
    E(cuGraphInstantiateWithFlags, 11040,                                                          \
      (cuai_cu_graph_exec_t *, cuai_cu_graph_t, unsigned long long))                               \
    E(cuGraphLaunch, 10000, (cuai_cu_graph_exec_t, cuai_cu_stream_t))                              \
    E(cuGraphExecDestroy, 10000, (cuai_cu_graph_exec_t))                                           \
    E(cuGraphDestroy, 10000, (cuai_cu_graph_t))                                                    \
    E(cuLaunchHostFunc, 10000, (cuai_cu_stream_t, cuai_cu_host_fn_t, void *))                      \
    E(cuMemcpyDtoH, 3020, (void *, cuai_cu_pointer_t, size_t))                                     \
    E(cuMemcpyHtoD, 3020, (cuai_cu_pointer_t, const void *, size_t))                               \
    E(cuMemcpyAsync, 4000, (cuai_cu_pointer_t, cuai_cu_pointer_t, size_t, cuai_cu_stream_t))       \
    E(cuMemsetD8, 3020, (cuai_cu_pointer_t, unsigned char, size_t))                                \
    E(cuEventElapsedTime, 2000, (float *, cuai_cu_event_t, cuai_cu_event_t))                       \
    E(cuMemGetAccess, 10020, (unsigned long long *, const cuai_cu_location_t *, cuai_cu_pointer_t))

#endif
