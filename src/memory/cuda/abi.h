/*
 * The part of the driver's binary interface that the library uses, declared anew: no header of CUDA
 * is needed to build, and none is included.
 *
 * Names follow the driver's: a constant CU_X or CUDA_X is CUAI_CU_X or CUAI_CUDA_X here. Handles
 * point to the driver's own incomplete structs, so they are the same types as in its header.
 * Enumerations are int.
 *
 * Everything is in lists, so that tests/scripts/check_cuda_abi can compare all of it with the
 * real header: constants with their values, entry points with their types. A list is named by the
 * release that brought its items.
 */
#ifndef CUAI_MEMORY_CUDA_ABI_H
#define CUAI_MEMORY_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- Types ------------------------------------------------------------- */

typedef struct CUctx_st *cuai_cu_context_t;
typedef struct CUstream_st *cuai_cu_stream_t;
typedef struct CUevent_st *cuai_cu_event_t;
typedef struct CUmod_st *cuai_cu_module_t;
typedef struct CUfunc_st *cuai_cu_function_t;
typedef struct CUmemPoolHandle_st *cuai_cu_pool_t;

/* The check defines these types itself, as those of the driver. */
#if !defined(CUAI_CUDA_REAL_TYPES)

typedef int cuai_cu_result_t;
typedef int cuai_cu_device_t; /* a device's handle, which is its ordinal */
typedef unsigned long long cuai_cu_pointer_t;
typedef unsigned long long cuai_cu_handle_t; /* of physical memory */

typedef int cuai_cu_query_result_t;
typedef int cuai_cu_device_attribute_t;
typedef int cuai_cu_pointer_attribute_t;
typedef int cuai_cu_function_attribute_t;
typedef int cuai_cu_pool_attribute_t;
typedef int cuai_cu_handle_type_t;
typedef int cuai_cu_granularity_t;
typedef int cuai_cu_jit_option_t;
typedef int cuai_cu_capture_mode_t;
typedef int cuai_cu_capture_status_t;

typedef struct cuai_cu_location {
    int type; /* CUAI_CU_MEM_LOCATION_TYPE_... */
    int id;   /* a device's ordinal */
} cuai_cu_location_t;

/* What physical memory is asked for. */
typedef struct cuai_cu_allocation {
    int type;         /* CUAI_CU_MEM_ALLOCATION_TYPE_... */
    int handle_types; /* CUAI_CU_MEM_HANDLE_TYPE_... bits */
    cuai_cu_location_t location;
    void *win32;
    unsigned char compression;
    unsigned char rdma;
    unsigned short usage;
    unsigned char zero[4];
} cuai_cu_allocation_t;

typedef struct cuai_cu_access {
    cuai_cu_location_t location;
    int flags; /* CUAI_CU_MEM_ACCESS_FLAGS_... */
} cuai_cu_access_t;

/* `max_bytes` counts from 12.2 on; it was reserved before, and 0. */
typedef struct cuai_cu_pool_props {
    int type;         /* CUAI_CU_MEM_ALLOCATION_TYPE_... */
    int handle_types; /* CUAI_CU_MEM_HANDLE_TYPE_... bits */
    cuai_cu_location_t location;
    void *win32;
    size_t max_bytes;
    unsigned char zero[56];
} cuai_cu_pool_props_t;

#endif

/* What cuMemExportToShareableHandle writes for FABRIC; an int for a file descriptor. */
typedef struct cuai_cu_fabric_handle {
    unsigned char data[64];
} cuai_cu_fabric_handle_t;

/* ---- Constants: V(name, value) ----------------------------------------- */

#define CUAI_CUDA_RESULTS(V)                                                                       \
    V(CUDA_SUCCESS, 0)                                                                             \
    V(CUDA_ERROR_INVALID_VALUE, 1)                                                                 \
    V(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                 \
    V(CUDA_ERROR_NOT_INITIALIZED, 3)                                                               \
    V(CUDA_ERROR_DEINITIALIZED, 4)                                                                 \
    V(CUDA_ERROR_STUB_LIBRARY, 34)                                                                 \
    V(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                                           \
    V(CUDA_ERROR_NO_DEVICE, 100)                                                                   \
    V(CUDA_ERROR_INVALID_DEVICE, 101)                                                              \
    V(CUDA_ERROR_INVALID_IMAGE, 200)                                                               \
    V(CUDA_ERROR_INVALID_CONTEXT, 201)                                                             \
    V(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                           \
    V(CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                           \
    V(CUDA_ERROR_INVALID_PTX, 218)                                                                 \
    V(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220)                                                        \
    V(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)                                                      \
    V(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                     \
    V(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223)                                                    \
    V(CUDA_ERROR_OPERATING_SYSTEM, 304)                                                            \
    V(CUDA_ERROR_INVALID_HANDLE, 400)                                                              \
    V(CUDA_ERROR_ILLEGAL_STATE, 401)                                                               \
    V(CUDA_ERROR_NOT_FOUND, 500)                                                                   \
    V(CUDA_ERROR_NOT_READY, 600)                                                                   \
    V(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                             \
    V(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                     \
    V(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                              \
    V(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)                                                 \
    V(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705)                                                     \
    V(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                                        \
    V(CUDA_ERROR_ASSERT, 710)                                                                      \
    V(CUDA_ERROR_TOO_MANY_PEERS, 711)                                                              \
    V(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                        \
    V(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                         \
    V(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                          \
    V(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                       \
    V(CUDA_ERROR_INVALID_PC, 718)                                                                  \
    V(CUDA_ERROR_LAUNCH_FAILED, 719)                                                               \
    V(CUDA_ERROR_NOT_PERMITTED, 800)                                                               \
    V(CUDA_ERROR_NOT_SUPPORTED, 801)                                                               \
    V(CUDA_ERROR_SYSTEM_NOT_READY, 802)                                                            \
    V(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                      \
    V(CUDA_ERROR_MPS_RPC_FAILURE, 806)                                                             \
    V(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810)                                                       \
    V(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                                                  \
    V(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                                                  \
    V(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)                                                    \
    V(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                                                     \
    V(CUDA_ERROR_CAPTURED_EVENT, 907)                                                              \
    V(CUDA_ERROR_EXTERNAL_DEVICE, 911)                                                             \
    V(CUDA_ERROR_UNKNOWN, 999)

#define CUAI_CUDA_RESULTS_12080(V)                                                                 \
    V(CUDA_ERROR_CONTAINED, 226)                                                                   \
    V(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721)

#define CUAI_CUDA_DEVICE_ATTRIBUTES(V)                                                             \
    V(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                \
    V(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19)                                                 \
    V(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                                      \
    V(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                                                  \
    V(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                            \
    V(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                            \
    V(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                \
    V(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83)                                                      \
    V(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 88)                                              \
    V(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89)                                           \
    V(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                   \
    V(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102)                                \
    V(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103)                        \
    V(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 110)                            \
    V(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115)

#define CUAI_CUDA_DEVICE_ATTRIBUTES_12030(V)                                                       \
    V(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 128)

#define CUAI_CUDA_POINTER_ATTRIBUTES(V)                                                            \
    V(CU_POINTER_ATTRIBUTE_CONTEXT, 1)                                                             \
    V(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                                         \
    V(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7)                                                           \
    V(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                                                          \
    V(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                                      \
    V(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11)                                                   \
    V(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12)                                                         \
    V(CU_POINTER_ATTRIBUTE_MAPPED, 13)                                                             \
    V(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 17)                                                     \
    V(CU_MEMORYTYPE_HOST, 1)                                                                       \
    V(CU_MEMORYTYPE_DEVICE, 2)

#define CUAI_CUDA_MEMORY_CONSTANTS(V)                                                              \
    V(CU_MEM_LOCATION_TYPE_DEVICE, 1)                                                              \
    V(CU_MEM_ALLOCATION_TYPE_PINNED, 1)                                                            \
    V(CU_MEM_HANDLE_TYPE_NONE, 0)                                                                  \
    V(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1)                                                 \
    V(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)                                                       \
    V(CU_MEM_ALLOC_GRANULARITY_MINIMUM, 0)                                                         \
    V(CU_MEM_ATTACH_GLOBAL, 1)                                                                     \
    V(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4)                                                        \
    V(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 5)                                                     \
    V(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 6)                                                        \
    V(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 7)                                                         \
    V(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 8)                                                            \
    V(CU_MEMHOSTALLOC_PORTABLE, 1)                                                                 \
    V(CU_MEMHOSTALLOC_DEVICEMAP, 2)                                                                \
    V(CU_MEMHOSTALLOC_WRITECOMBINED, 4)

#define CUAI_CUDA_MEMORY_CONSTANTS_12030(V) V(CU_MEM_HANDLE_TYPE_FABRIC, 8)

#define CUAI_CUDA_STREAM_CONSTANTS(V)                                                              \
    V(CU_STREAM_NON_BLOCKING, 1)                                                                   \
    V(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                            \
    V(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                                          \
    V(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)                                                     \
    V(CU_STREAM_CAPTURE_MODE_RELAXED, 2)                                                           \
    V(CU_EVENT_DEFAULT, 0)                                                                         \
    V(CU_EVENT_DISABLE_TIMING, 2)                                                                  \
    V(CU_EVENT_WAIT_DEFAULT, 0)

#define CUAI_CUDA_FUNCTION_CONSTANTS(V)                                                            \
    V(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                          \
    V(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                  \
    V(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                                                       \
    V(CU_GET_PROC_ADDRESS_LEGACY_STREAM, 1)                                                        \
    V(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, 2)

#define CUAI_CUDA_CONSTANTS(V)                                                                     \
    CUAI_CUDA_RESULTS(V)                                                                           \
    CUAI_CUDA_RESULTS_12080(V)                                                                     \
    CUAI_CUDA_DEVICE_ATTRIBUTES(V)                                                                 \
    CUAI_CUDA_DEVICE_ATTRIBUTES_12030(V)                                                           \
    CUAI_CUDA_POINTER_ATTRIBUTES(V)                                                                \
    CUAI_CUDA_MEMORY_CONSTANTS(V)                                                                  \
    CUAI_CUDA_MEMORY_CONSTANTS_12030(V)                                                            \
    CUAI_CUDA_STREAM_CONSTANTS(V)                                                                  \
    CUAI_CUDA_FUNCTION_CONSTANTS(V)

#define CUAI_CUDA_CONSTANT(name, value) CUAI_##name = (value),
enum {
    CUAI_CUDA_CONSTANTS(CUAI_CUDA_CONSTANT)
};

/* ---- Entry points: E(name, version, parameters) ------------------------ */

/*
 * `version` is the release that brought this form of the entry point, and the one that
 * cuGetProcAddress is asked for: 3020 is CUDA 3.2. All of them give a cuai_cu_result_t.
 */

/* Without these there is no device. */
#define CUAI_CUDA_REQUIRED(E)                                                                      \
    E(cuInit, 2000, (unsigned))                                                                    \
    E(cuDriverGetVersion, 2020, (int *))                                                           \
    E(cuGetErrorName, 6000, (cuai_cu_result_t, const char **))                                     \
    E(cuGetErrorString, 6000, (cuai_cu_result_t, const char **))                                   \
    E(cuDeviceGetCount, 2000, (int *))                                                             \
    E(cuDeviceGet, 2000, (cuai_cu_device_t *, int))                                                \
    E(cuDeviceGetName, 2000, (char *, int, cuai_cu_device_t))                                      \
    E(cuDeviceGetAttribute, 2000, (int *, cuai_cu_device_attribute_t, cuai_cu_device_t))           \
    E(cuDeviceTotalMem, 3020, (size_t *, cuai_cu_device_t))                                        \
    E(cuDeviceCanAccessPeer, 4000, (int *, cuai_cu_device_t, cuai_cu_device_t))                    \
    E(cuDevicePrimaryCtxRetain, 7000, (cuai_cu_context_t *, cuai_cu_device_t))                     \
    E(cuDevicePrimaryCtxRelease, 11000, (cuai_cu_device_t))                                        \
    E(cuDevicePrimaryCtxGetState, 7000, (cuai_cu_device_t, unsigned *, int *))                     \
    E(cuCtxGetCurrent, 4000, (cuai_cu_context_t *))                                                \
    E(cuCtxPushCurrent, 4000, (cuai_cu_context_t))                                                 \
    E(cuCtxPopCurrent, 4000, (cuai_cu_context_t *))                                                \
    E(cuCtxGetDevice, 2000, (cuai_cu_device_t *))                                                  \
    E(cuCtxGetId, 12000, (cuai_cu_context_t, unsigned long long *))                                \
    E(cuMemGetInfo, 3020, (size_t *, size_t *))                                                    \
    E(cuMemAlloc, 3020, (cuai_cu_pointer_t *, size_t))                                             \
    E(cuMemFree, 3020, (cuai_cu_pointer_t))                                                        \
    E(cuMemHostAlloc, 2020, (void **, size_t, unsigned))                                           \
    E(cuMemFreeHost, 2000, (void *))                                                               \
    E(cuMemHostGetDevicePointer, 3020, (cuai_cu_pointer_t *, void *, unsigned))                    \
    E(cuMemcpyDtoDAsync, 3020, (cuai_cu_pointer_t, cuai_cu_pointer_t, size_t, cuai_cu_stream_t))   \
    E(cuMemcpyHtoDAsync, 3020, (cuai_cu_pointer_t, const void *, size_t, cuai_cu_stream_t))        \
    E(cuMemcpyDtoHAsync, 3020, (void *, cuai_cu_pointer_t, size_t, cuai_cu_stream_t))              \
    E(cuMemsetD8Async, 3020, (cuai_cu_pointer_t, unsigned char, size_t, cuai_cu_stream_t))         \
    E(cuMemsetD32Async, 3020, (cuai_cu_pointer_t, unsigned, size_t, cuai_cu_stream_t))             \
    E(cuPointerGetAttribute, 4000, (void *, cuai_cu_pointer_attribute_t, cuai_cu_pointer_t))       \
    E(cuPointerGetAttributes, 7000,                                                                \
      (unsigned, cuai_cu_pointer_attribute_t *, void **, cuai_cu_pointer_t))                       \
    E(cuMemGetAddressRange, 3020, (cuai_cu_pointer_t *, size_t *, cuai_cu_pointer_t))              \
    E(cuStreamCreate, 2000, (cuai_cu_stream_t *, unsigned))                                        \
    E(cuStreamDestroy, 4000, (cuai_cu_stream_t))                                                   \
    E(cuStreamGetCtx, 9020, (cuai_cu_stream_t, cuai_cu_context_t *))                               \
    E(cuStreamGetId, 12000, (cuai_cu_stream_t, unsigned long long *))                              \
    E(cuStreamIsCapturing, 10000, (cuai_cu_stream_t, cuai_cu_capture_status_t *))                  \
    E(cuStreamSynchronize, 2000, (cuai_cu_stream_t))                                               \
    E(cuStreamWaitEvent, 3020, (cuai_cu_stream_t, cuai_cu_event_t, unsigned))                      \
    E(cuThreadExchangeStreamCaptureMode, 10010, (cuai_cu_capture_mode_t *))                        \
    E(cuEventCreate, 2000, (cuai_cu_event_t *, unsigned))                                          \
    E(cuEventRecord, 2000, (cuai_cu_event_t, cuai_cu_stream_t))                                    \
    E(cuEventQuery, 2000, (cuai_cu_event_t))                                                       \
    E(cuEventSynchronize, 2000, (cuai_cu_event_t))                                                 \
    E(cuEventDestroy, 4000, (cuai_cu_event_t))                                                     \
    E(cuModuleLoadDataEx, 2010,                                                                    \
      (cuai_cu_module_t *, const void *, unsigned, cuai_cu_jit_option_t *, void **))               \
    E(cuModuleUnload, 2000, (cuai_cu_module_t))                                                    \
    E(cuModuleGetFunction, 2000, (cuai_cu_function_t *, cuai_cu_module_t, const char *))           \
    E(cuFuncSetAttribute, 9000, (cuai_cu_function_t, cuai_cu_function_attribute_t, int))           \
    E(cuLaunchKernel, 4000,                                                                        \
      (cuai_cu_function_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
       cuai_cu_stream_t, void **, void **))

/* NULL where the driver lacks one. A backing or a property that needs it is then not there
 * (cuai_place_t). */
#define CUAI_CUDA_OPTIONAL(E)                                                                      \
    E(cuCtxEnablePeerAccess, 4000, (cuai_cu_context_t, unsigned))                                  \
    E(cuMemcpyPeerAsync, 4000,                                                                     \
      (cuai_cu_pointer_t, cuai_cu_context_t, cuai_cu_pointer_t, cuai_cu_context_t, size_t,         \
       cuai_cu_stream_t))                                                                          \
    E(cuMemAllocManaged, 6000, (cuai_cu_pointer_t *, size_t, unsigned))                            \
    E(cuMemAddressReserve, 10020,                                                                  \
      (cuai_cu_pointer_t *, size_t, size_t, cuai_cu_pointer_t, unsigned long long))                \
    E(cuMemAddressFree, 10020, (cuai_cu_pointer_t, size_t))                                        \
    E(cuMemCreate, 10020,                                                                          \
      (cuai_cu_handle_t *, size_t, const cuai_cu_allocation_t *, unsigned long long))              \
    E(cuMemRelease, 10020, (cuai_cu_handle_t))                                                     \
    E(cuMemMap, 10020, (cuai_cu_pointer_t, size_t, size_t, cuai_cu_handle_t, unsigned long long))  \
    E(cuMemUnmap, 10020, (cuai_cu_pointer_t, size_t))                                              \
    E(cuMemSetAccess, 10020, (cuai_cu_pointer_t, size_t, const cuai_cu_access_t *, size_t))        \
    E(cuMemGetAllocationGranularity, 10020,                                                        \
      (size_t *, const cuai_cu_allocation_t *, cuai_cu_granularity_t))                             \
    E(cuMemRetainAllocationHandle, 11000, (cuai_cu_handle_t *, void *))                            \
    E(cuMemExportToShareableHandle, 10020,                                                         \
      (void *, cuai_cu_handle_t, cuai_cu_handle_type_t, unsigned long long))                       \
    E(cuMemImportFromShareableHandle, 10020, (cuai_cu_handle_t *, void *, cuai_cu_handle_type_t))  \
    E(cuMemAllocAsync, 11020, (cuai_cu_pointer_t *, size_t, cuai_cu_stream_t))                     \
    E(cuMemFreeAsync, 11020, (cuai_cu_pointer_t, cuai_cu_stream_t))                                \
    E(cuMemAllocFromPoolAsync, 11020,                                                              \
      (cuai_cu_pointer_t *, size_t, cuai_cu_pool_t, cuai_cu_stream_t))                             \
    E(cuMemPoolCreate, 11020, (cuai_cu_pool_t *, const cuai_cu_pool_props_t *))                    \
    E(cuMemPoolDestroy, 11020, (cuai_cu_pool_t))                                                   \
    E(cuMemPoolSetAttribute, 11020, (cuai_cu_pool_t, cuai_cu_pool_attribute_t, void *))            \
    E(cuMemPoolGetAttribute, 11020, (cuai_cu_pool_t, cuai_cu_pool_attribute_t, void *))            \
    E(cuMemPoolTrimTo, 11020, (cuai_cu_pool_t, size_t))                                            \
    E(cuMemPoolSetAccess, 11020, (cuai_cu_pool_t, const cuai_cu_access_t *, size_t))               \
    E(cuDeviceGetDefaultMemPool, 11020, (cuai_cu_pool_t *, cuai_cu_device_t))                      \
    E(cuDeviceGetMemPool, 11020, (cuai_cu_pool_t *, cuai_cu_device_t))                             \
    E(cuDeviceSetMemPool, 11020, (cuai_cu_device_t, cuai_cu_pool_t))

/* Entry points that came after the oldest driver that is accepted: no driver
 * of 12.0 has them. */
#define CUAI_CUDA_OPTIONAL_12040(E) E(cuFuncLoad, 12040, (cuai_cu_function_t))

#define CUAI_CUDA_OPTIONAL_12080(E)                                                                \
    E(cuCtxRecordEvent, 12050, (cuai_cu_context_t, cuai_cu_event_t))                               \
    E(cuStreamGetDevice, 12080, (cuai_cu_stream_t, cuai_cu_device_t *))

#define CUAI_CUDA_ENTRIES(E)                                                                       \
    CUAI_CUDA_REQUIRED(E)                                                                          \
    CUAI_CUDA_OPTIONAL(E)                                                                          \
    CUAI_CUDA_OPTIONAL_12040(E)                                                                    \
    CUAI_CUDA_OPTIONAL_12080(E)

/* cuGetProcAddress_v2 itself. */
typedef cuai_cu_result_t (*cuai_cu_get_proc_address_v2_t)(const char *, void **, int, uint64_t,
                                                          cuai_cu_query_result_t *);

#endif
