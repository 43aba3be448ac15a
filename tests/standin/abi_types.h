/*
 * The types of the driver's binary interface that the stand-in knows (abi.h), and how they are laid
 * out. Where the real cuda.h was included before, they are its own and are compared with this.
 */
#ifndef CUARENA_STANDIN_ABI_TYPES_H
#define CUARENA_STANDIN_ABI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "abi_constants.h"

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

#endif
