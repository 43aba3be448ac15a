/*
 * Compiles if the library's own declarations of the driver's interface agree with the real header;
 * see check_cuda_abi, which compiles it against each header that it can get.
 *
 * Two parts, since the library's types and the driver's cannot stand under the same names at once:
 * without CHECK_ENTRIES types and constants, with it the entry points, in the driver's types.
 */
#include <assert.h>
#include <stddef.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#define same_type(a, b) _Generic((a *)0, b * : 1, default : 0)

#ifndef CHECK_ENTRIES

#include "memory/cuda/abi.h"
#include "support/cuda_test_abi.h"

/* ---- Types ------------------------------------------------------------- */

static_assert(same_type(cuai_cu_context_t, CUcontext), "context");
static_assert(same_type(cuai_cu_stream_t, CUstream), "stream");
static_assert(same_type(cuai_cu_event_t, CUevent), "event");
static_assert(same_type(cuai_cu_module_t, CUmodule), "module");
static_assert(same_type(cuai_cu_function_t, CUfunction), "function");
static_assert(same_type(cuai_cu_pool_t, CUmemoryPool), "pool");
static_assert(same_type(cuai_cu_graph_t, CUgraph), "graph");
static_assert(same_type(cuai_cu_graph_exec_t, CUgraphExec), "graph exec");
static_assert(same_type(cuai_cu_host_fn_t, CUhostFn), "host function");
static_assert(same_type(cuai_cu_device_t, CUdevice), "device");
static_assert(same_type(cuai_cu_pointer_t, CUdeviceptr), "pointer");
static_assert(same_type(cuai_cu_handle_t, CUmemGenericAllocationHandle), "handle");

#define same_size(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), "size of " #theirs)
#define same_layout(ours, theirs)                                                                  \
    same_size(ours, theirs);                                                                       \
    static_assert(_Alignof(ours) == _Alignof(theirs), "alignment of " #theirs)
#define same_member(ours, member, theirs, their_member)                                            \
    static_assert(offsetof(ours, member) == offsetof(theirs, their_member),                        \
                  "offset of " #their_member " in " #theirs);                                      \
    same_size(((ours *)0)->member, ((theirs *)0)->their_member)

same_layout(cuai_cu_result_t, CUresult);
same_layout(cuai_cu_query_result_t, CUdriverProcAddressQueryResult);
same_layout(cuai_cu_device_attribute_t, CUdevice_attribute);
same_layout(cuai_cu_pointer_attribute_t, CUpointer_attribute);
same_layout(cuai_cu_function_attribute_t, CUfunction_attribute);
same_layout(cuai_cu_pool_attribute_t, CUmemPool_attribute);
same_layout(cuai_cu_handle_type_t, CUmemAllocationHandleType);
same_layout(cuai_cu_granularity_t, CUmemAllocationGranularity_flags);
same_layout(cuai_cu_jit_option_t, CUjit_option);
same_layout(cuai_cu_capture_mode_t, CUstreamCaptureMode);
same_layout(cuai_cu_capture_status_t, CUstreamCaptureStatus);

same_layout(cuai_cu_location_t, CUmemLocation);
same_member(cuai_cu_location_t, type, CUmemLocation, type);
same_member(cuai_cu_location_t, id, CUmemLocation, id);

same_layout(cuai_cu_allocation_t, CUmemAllocationProp);
same_member(cuai_cu_allocation_t, type, CUmemAllocationProp, type);
same_member(cuai_cu_allocation_t, handle_types, CUmemAllocationProp, requestedHandleTypes);
same_member(cuai_cu_allocation_t, location, CUmemAllocationProp, location);
same_member(cuai_cu_allocation_t, win32, CUmemAllocationProp, win32HandleMetaData);
same_member(cuai_cu_allocation_t, compression, CUmemAllocationProp, allocFlags.compressionType);
same_member(cuai_cu_allocation_t, rdma, CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
same_member(cuai_cu_allocation_t, usage, CUmemAllocationProp, allocFlags.usage);
same_member(cuai_cu_allocation_t, zero, CUmemAllocationProp, allocFlags.reserved);

same_layout(cuai_cu_access_t, CUmemAccessDesc);
same_member(cuai_cu_access_t, location, CUmemAccessDesc, location);
same_member(cuai_cu_access_t, flags, CUmemAccessDesc, flags);

same_layout(cuai_cu_pool_props_t, CUmemPoolProps);
same_member(cuai_cu_pool_props_t, type, CUmemPoolProps, allocType);
same_member(cuai_cu_pool_props_t, handle_types, CUmemPoolProps, handleTypes);
same_member(cuai_cu_pool_props_t, location, CUmemPoolProps, location);
same_member(cuai_cu_pool_props_t, win32, CUmemPoolProps, win32SecurityAttributes);
#if CUDA_VERSION >= 12020
same_member(cuai_cu_pool_props_t, max_bytes, CUmemPoolProps, maxSize);
#else
static_assert(offsetof(cuai_cu_pool_props_t, max_bytes) == offsetof(CUmemPoolProps, reserved),
              "max_bytes is reserved");
#endif

#if CUDA_VERSION >= 12030
same_layout(cuai_cu_fabric_handle_t, CUmemFabricHandle);
#endif

/* ---- Constants --------------------------------------------------------- */

#define same_value(name, value) static_assert((long long)(name) == (value), #name);

CUAI_CUDA_RESULTS(same_value)
CUAI_CUDA_DEVICE_ATTRIBUTES(same_value)
CUAI_CUDA_POINTER_ATTRIBUTES(same_value)
CUAI_CUDA_MEMORY_CONSTANTS(same_value)
CUAI_CUDA_STREAM_CONSTANTS(same_value)
CUAI_CUDA_FUNCTION_CONSTANTS(same_value)
#if CUDA_VERSION >= 12030
CUAI_CUDA_DEVICE_ATTRIBUTES_12030(same_value)
CUAI_CUDA_MEMORY_CONSTANTS_12030(same_value)
#endif
#if CUDA_VERSION >= 12080
CUAI_CUDA_RESULTS_12080(same_value)
#endif

#else

/* ---- Entry points ------------------------------------------------------ */

#define CUAI_CUDA_REAL_TYPES 1

typedef CUresult cuai_cu_result_t;
typedef CUdevice cuai_cu_device_t;
typedef CUdeviceptr cuai_cu_pointer_t;
typedef CUmemGenericAllocationHandle cuai_cu_handle_t;
typedef CUdriverProcAddressQueryResult cuai_cu_query_result_t;
typedef CUdevice_attribute cuai_cu_device_attribute_t;
typedef CUpointer_attribute cuai_cu_pointer_attribute_t;
typedef CUfunction_attribute cuai_cu_function_attribute_t;
typedef CUmemPool_attribute cuai_cu_pool_attribute_t;
typedef CUmemAllocationHandleType cuai_cu_handle_type_t;
typedef CUmemAllocationGranularity_flags cuai_cu_granularity_t;
typedef CUjit_option cuai_cu_jit_option_t;
typedef CUstreamCaptureMode cuai_cu_capture_mode_t;
typedef CUstreamCaptureStatus cuai_cu_capture_status_t;
typedef CUmemLocation cuai_cu_location_t;
typedef CUmemAllocationProp cuai_cu_allocation_t;
typedef CUmemAccessDesc cuai_cu_access_t;
typedef CUmemPoolProps cuai_cu_pool_props_t;

#include "memory/cuda/abi.h"
#include "support/cuda_test_abi.h"

#define same_entry(name, since, parameters)                                                        \
    static_assert(                                                                                 \
        _Generic((PFN_##name##_v##since)0, cuai_cu_result_t(*) parameters : 1, default : 0),       \
        #name);

CUAI_CUDA_REQUIRED(same_entry)
CUAI_CUDA_OPTIONAL(same_entry)
CUAI_CUDA_TEST_ENTRIES(same_entry)
#if CUDA_VERSION >= 12040
CUAI_CUDA_OPTIONAL_12040(same_entry)
#endif
#if CUDA_VERSION >= 12080
CUAI_CUDA_OPTIONAL_12080(same_entry)
#endif

static_assert(same_type(cuai_cu_get_proc_address_v2_t, PFN_cuGetProcAddress_v12000),
              "cuGetProcAddress_v2");

#endif
