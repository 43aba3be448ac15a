/*
 * What the stand-in declares of the driver's binary interface: names, numbers and layouts as the
 * driver has them, written down for ourselves, so that the tests build where no CUDA header is.
 *
 * abi_check.c includes the real cuda.h first and then this file. Then the
 * types are cuda.h's, the constants and layouts below are compared with them, and the compiler
 * compares every prototype with the one it has seen.
 */
#ifndef CUARENA_STANDIN_ABI_H
#define CUARENA_STANDIN_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- Constants: name, value -------------------------------------------- */

#define SD_RESULTS(X)                                                                              \
    X(CUDA_SUCCESS, 0)                                                                             \
    X(CUDA_ERROR_INVALID_VALUE, 1)                                                                 \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                 \
    X(CUDA_ERROR_NOT_INITIALIZED, 3)                                                               \
    X(CUDA_ERROR_DEINITIALIZED, 4)                                                                 \
    X(CUDA_ERROR_STUB_LIBRARY, 34)                                                                 \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                                           \
    X(CUDA_ERROR_NO_DEVICE, 100)                                                                   \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                                                              \
    X(CUDA_ERROR_INVALID_IMAGE, 200)                                                               \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                             \
    X(CUDA_ERROR_MAP_FAILED, 205)                                                                  \
    X(CUDA_ERROR_UNMAP_FAILED, 206)                                                                \
    X(CUDA_ERROR_ALREADY_MAPPED, 208)                                                              \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                           \
    X(CUDA_ERROR_NOT_MAPPED, 211)                                                                  \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                           \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217)                                                     \
    X(CUDA_ERROR_INVALID_PTX, 218)                                                                 \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)                                                      \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                     \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304)                                                            \
    X(CUDA_ERROR_FILE_NOT_FOUND, 301)                                                              \
    X(CUDA_ERROR_INVALID_HANDLE, 400)                                                              \
    X(CUDA_ERROR_ILLEGAL_STATE, 401)                                                               \
    X(CUDA_ERROR_NOT_FOUND, 500)                                                                   \
    X(CUDA_ERROR_NOT_READY, 600)                                                                   \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                             \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                                                     \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                              \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704)                                                 \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705)                                                     \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708)                                                      \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                                        \
    X(CUDA_ERROR_ASSERT, 710)                                                                      \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                        \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                         \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                          \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                       \
    X(CUDA_ERROR_INVALID_PC, 718)                                                                  \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                               \
    X(CUDA_ERROR_NOT_PERMITTED, 800)                                                               \
    X(CUDA_ERROR_NOT_SUPPORTED, 801)                                                               \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802)                                                            \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                                                      \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                                                  \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                                                  \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902)                                                        \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903)                                                    \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)                                                     \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905)                                                    \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                                                     \
    X(CUDA_ERROR_CAPTURED_EVENT, 907)                                                              \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)                                                 \
    X(CUDA_ERROR_TIMEOUT, 909)                                                                     \
    X(CUDA_ERROR_UNKNOWN, 999)

#define SD_DEVICE_ATTRIBUTES(X)                                                                    \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                                                \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2)                                                      \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5)                                                       \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                                          \
    X(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                                           \
    X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                                          \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                \
    X(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19)                                                 \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31)                                                  \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                       \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                                      \
    X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41)                                                  \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                            \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                            \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                \
    X(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83)                                                      \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89)                                           \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91)                             \
    X(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                                                  \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                   \
    X(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102)                                \
    X(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103)                        \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)                                      \
    X(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 110)                            \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115)                                             \
    X(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 119)                                     \
    X(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 128)

#define SD_POINTER_ATTRIBUTES(X)                                                                   \
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1)                                                             \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                                         \
    X(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3)                                                      \
    X(CU_POINTER_ATTRIBUTE_HOST_POINTER, 4)                                                        \
    X(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 6)                                                         \
    X(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7)                                                           \
    X(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                                                          \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                                      \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11)                                                   \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12)                                                         \
    X(CU_POINTER_ATTRIBUTE_MAPPED, 13)                                                             \
    X(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 14)                                               \
    X(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, 15)                                         \
    X(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 16)                                                       \
    X(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 17)                                                     \
    X(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 18)                                                       \
    X(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, 19)                                                  \
    X(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, 20)

#define SD_POOL_ATTRIBUTES(X)                                                                      \
    X(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1)                                          \
    X(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 2)                                                \
    X(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 3)                                        \
    X(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4)                                                        \
    X(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 5)                                                     \
    X(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 6)                                                        \
    X(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 7)                                                         \
    X(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 8)

#define SD_FUNCTION_ATTRIBUTES(X)                                                                  \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                                                  \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                      \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                               \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)

#define SD_LOCATION_TYPES(X)                                                                       \
    X(CU_MEM_LOCATION_TYPE_INVALID, 0)                                                             \
    X(CU_MEM_LOCATION_TYPE_DEVICE, 1)

#define SD_ALLOCATION_TYPES(X)                                                                     \
    X(CU_MEM_ALLOCATION_TYPE_INVALID, 0)                                                           \
    X(CU_MEM_ALLOCATION_TYPE_PINNED, 1)

#define SD_HANDLE_TYPES(X)                                                                         \
    X(CU_MEM_HANDLE_TYPE_NONE, 0)                                                                  \
    X(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1)                                                 \
    X(CU_MEM_HANDLE_TYPE_FABRIC, 8)

#define SD_ACCESS_FLAGS(X)                                                                         \
    X(CU_MEM_ACCESS_FLAGS_PROT_NONE, 0)                                                            \
    X(CU_MEM_ACCESS_FLAGS_PROT_READ, 1)                                                            \
    X(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)

#define SD_GRANULARITIES(X)                                                                        \
    X(CU_MEM_ALLOC_GRANULARITY_MINIMUM, 0)                                                         \
    X(CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, 1)

#define SD_CAPTURE_MODES(X)                                                                        \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                                            \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                      \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define SD_CAPTURE_STATUSES(X)                                                                     \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                            \
    X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                                          \
    X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)

#define SD_QUERY_RESULTS(X)                                                                        \
    X(CU_GET_PROC_ADDRESS_SUCCESS, 0)                                                              \
    X(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1)                                                     \
    X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)

#define SD_OTHER_CONSTANTS(X)                                                                      \
    X(CU_MEMORYTYPE_HOST, 1)                                                                       \
    X(CU_MEMORYTYPE_DEVICE, 2)                                                                     \
    X(CU_STREAM_DEFAULT, 0)                                                                        \
    X(CU_STREAM_NON_BLOCKING, 1)                                                                   \
    X(CU_EVENT_DEFAULT, 0)                                                                         \
    X(CU_EVENT_BLOCKING_SYNC, 1)                                                                   \
    X(CU_EVENT_DISABLE_TIMING, 2)                                                                  \
    X(CU_MEM_ATTACH_GLOBAL, 1)                                                                     \
    X(CU_MEM_ATTACH_HOST, 2)                                                                       \
    X(CU_GET_PROC_ADDRESS_DEFAULT, 0)                                                              \
    X(CU_GET_PROC_ADDRESS_LEGACY_STREAM, 1)                                                        \
    X(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, 2)

/* ---- Types ------------------------------------------------------------- */

#ifndef CUDA_VERSION
#define SD_ENUMERATOR(name, value) name = value,

typedef enum cudaError_enum {
    SD_RESULTS(SD_ENUMERATOR)
} CUresult;
typedef enum CUdevice_attribute_enum {
    SD_DEVICE_ATTRIBUTES(SD_ENUMERATOR)
} CUdevice_attribute;
typedef enum CUpointer_attribute_enum {
    SD_POINTER_ATTRIBUTES(SD_ENUMERATOR)
} CUpointer_attribute;
typedef enum CUmemPool_attribute_enum {
    SD_POOL_ATTRIBUTES(SD_ENUMERATOR)
} CUmemPool_attribute;
typedef enum CUfunction_attribute_enum {
    SD_FUNCTION_ATTRIBUTES(SD_ENUMERATOR)
} CUfunction_attribute;
typedef enum CUmemLocationType_enum {
    SD_LOCATION_TYPES(SD_ENUMERATOR)
} CUmemLocationType;
typedef enum CUmemAllocationType_enum {
    SD_ALLOCATION_TYPES(SD_ENUMERATOR)
} CUmemAllocationType;
typedef enum CUmemAllocationHandleType_enum {
    SD_HANDLE_TYPES(SD_ENUMERATOR)
} CUmemAllocationHandleType;
typedef enum CUmemAccess_flags_enum {
    SD_ACCESS_FLAGS(SD_ENUMERATOR)
} CUmemAccess_flags;
typedef enum CUmemAllocationGranularity_flags_enum {
    SD_GRANULARITIES(SD_ENUMERATOR)
} CUmemAllocationGranularity_flags;
typedef enum CUstreamCaptureMode_enum {
    SD_CAPTURE_MODES(SD_ENUMERATOR)
} CUstreamCaptureMode;
typedef enum CUstreamCaptureStatus_enum {
    SD_CAPTURE_STATUSES(SD_ENUMERATOR)
} CUstreamCaptureStatus;
typedef enum CUdriverProcAddressQueryResult_enum {
    SD_QUERY_RESULTS(SD_ENUMERATOR)
} CUdriverProcAddressQueryResult;
enum {
    SD_OTHER_CONSTANTS(SD_ENUMERATOR)
};

typedef uint64_t cuuint64_t;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUctx_st *CUcontext;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUuserObject_st *CUuserObject;
typedef void (*CUhostFn)(void *user);
typedef unsigned int CUjit_option;

typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;

typedef struct CUmemLocation_st {
    CUmemLocationType type;
    int id;
} CUmemLocation;

typedef struct CUmemAllocationProp_st {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc_st {
    CUmemLocation location;
    CUmemAccess_flags flags;
} CUmemAccessDesc;

typedef struct CUmemPoolProps_st {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned char reserved[56];
} CUmemPoolProps;

typedef struct CUexecAffinityParam_st CUexecAffinityParam;
typedef struct CUctxCigParam_st CUctxCigParam;
typedef struct CUctxCreateParams_st {
    CUexecAffinityParam *execAffinityParams;
    int numExecAffinityParams;
    CUctxCigParam *cigParams;
} CUctxCreateParams;

typedef struct CUgraphEdgeData_st {
    unsigned char from_port;
    unsigned char to_port;
    unsigned char type;
    unsigned char reserved[5];
} CUgraphEdgeData;

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#else
#define SD_SAME(name, value) _Static_assert((long long)(name) == (value), #name);
SD_RESULTS(SD_SAME)
SD_DEVICE_ATTRIBUTES(SD_SAME)
SD_POINTER_ATTRIBUTES(SD_SAME)
SD_POOL_ATTRIBUTES(SD_SAME)
SD_FUNCTION_ATTRIBUTES(SD_SAME)
SD_LOCATION_TYPES(SD_SAME)
SD_ALLOCATION_TYPES(SD_SAME)
SD_HANDLE_TYPES(SD_SAME)
SD_ACCESS_FLAGS(SD_SAME)
SD_GRANULARITIES(SD_SAME)
SD_CAPTURE_MODES(SD_SAME)
SD_CAPTURE_STATUSES(SD_SAME)
SD_QUERY_RESULTS(SD_SAME)
SD_OTHER_CONSTANTS(SD_SAME)
#endif

/* ---- Layouts ----------------------------------------------------------- */

#define SD_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define SD_FIELD(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field)

SD_SIZE(CUresult, 4);
SD_SIZE(CUdevice_attribute, 4);
SD_SIZE(CUdeviceptr, 8);
SD_SIZE(CUmemGenericAllocationHandle, 8);
SD_SIZE(CUjit_option, 4);
SD_SIZE(CUuuid, 16);
SD_SIZE(CUmemLocation, 8);
SD_FIELD(CUmemLocation, id, 4);
SD_SIZE(CUmemAllocationProp, 32);
SD_FIELD(CUmemAllocationProp, requestedHandleTypes, 4);
SD_FIELD(CUmemAllocationProp, location, 8);
SD_FIELD(CUmemAllocationProp, win32HandleMetaData, 16);
SD_FIELD(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable, 25);
SD_FIELD(CUmemAllocationProp, allocFlags.usage, 26);
SD_SIZE(CUmemAccessDesc, 12);
SD_FIELD(CUmemAccessDesc, flags, 8);
SD_SIZE(CUmemPoolProps, 88);
SD_FIELD(CUmemPoolProps, handleTypes, 4);
SD_FIELD(CUmemPoolProps, location, 8);
#if !defined(CUDA_VERSION) || CUDA_VERSION >= 12020
SD_FIELD(CUmemPoolProps, maxSize, 24);
#endif
#if !defined(CUDA_VERSION) || CUDA_VERSION >= 12050
SD_SIZE(CUctxCreateParams, 24);
SD_FIELD(CUctxCreateParams, cigParams, 16);
#endif
#if !defined(CUDA_VERSION) || CUDA_VERSION >= 12030
SD_SIZE(CUgraphEdgeData, 8);
#endif

/* ---- Entry points ------------------------------------------------------ */

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Start, versions and errors */
CUresult cuInit(unsigned int flags);
CUresult cuDriverGetVersion(int *version);
#ifndef CUDA_VERSION /* its name there is a macro for the later one */
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags);
#endif
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found);
CUresult cuGetErrorName(CUresult error, const char **text);
CUresult cuGetErrorString(CUresult error, const char **text);

/* Devices */
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetName(char *name, int bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);

/* Contexts */
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int affinity_count,
                        unsigned int flags, CUdevice device);
#if !defined(CUDA_VERSION) || CUDA_VERSION >= 12050
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
                        CUdevice device);
#endif
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext context);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);

/* Memory */
CUresult cuMemGetInfo_v2(size_t *free, size_t *total);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                            unsigned int element);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags);
CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned int flags);
CUresult cuMemFreeHost(void *address);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned int flags);
CUresult cuMemHostGetFlags(unsigned int *flags, void *host);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address);
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address);
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address);

/* Pools */
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count);
CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);

/* Copies and fills */
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream);
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count);

/* Virtual memory */
CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *props, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                        size_t count);
CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address);
CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *props,
                                       CUmemAllocationGranularity_flags option);
CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
                                        CUmemAllocationHandleType type);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *props,
                                                CUmemGenericAllocationHandle handle);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address);

/* Streams and events */
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context);
#if !defined(CUDA_VERSION) || CUDA_VERSION >= 12050
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green);
#endif
CUresult cuStreamGetId(CUstream stream, unsigned long long *id);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *device);
CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags);
CUresult cuStreamGetPriority(CUstream stream, int *priority);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user);
CUresult cuEventCreate(CUevent *event, unsigned int flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuCtxRecordEvent(CUcontext context, CUevent event);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to);
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to);

/* Modules and kernels */
CUresult cuModuleLoad(CUmodule *module, const char *path);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                            CUjit_option *options, void **values);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void **params, void **extra);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                     int block_size, size_t shared_bytes);

/* Capture and graphs */
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count);
#if !defined(CUDA_VERSION) || CUDA_VERSION >= 12030
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges, size_t *count);
#endif
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUresult cuGraphExecDestroy(CUgraphExec exec);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuUserObjectCreate(CUuserObject *object, void *user, CUhostFn destroy,
                            unsigned int references, unsigned int flags);
CUresult cuUserObjectRetain(CUuserObject object, unsigned int count);
CUresult cuUserObjectRelease(CUuserObject object, unsigned int count);
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
