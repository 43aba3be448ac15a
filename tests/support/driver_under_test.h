/*
 * The driver that a test program runs on, as the driver's own header declares it: for tests of the
 * stand-in. See driver_library.h.
 *
 * A test, or its fixture, begins with driver_start().
 */
#ifndef CUARENA_TEST_DRIVER_UNDER_TEST_H
#define CUARENA_TEST_DRIVER_UNDER_TEST_H

#include "standin/abi.h"
#include "support/driver_library.h"

/* Entry points by the name that programs use, and their symbols. One that the driver lacks is
 * NULL. */
#define DRIVER_CALLS(X)                                                                            \
    X(cuInit, cuInit)                                                                              \
    X(cuDriverGetVersion, cuDriverGetVersion)                                                      \
    X(cuGetProcAddress, cuGetProcAddress_v2)                                                       \
    X(cuGetErrorName, cuGetErrorName)                                                              \
    X(cuGetErrorString, cuGetErrorString)                                                          \
    X(cuDeviceGetCount, cuDeviceGetCount)                                                          \
    X(cuDeviceGet, cuDeviceGet)                                                                    \
    X(cuDeviceGetName, cuDeviceGetName)                                                            \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute)                                                  \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2)                                                       \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2)                                                         \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer)                                                \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                          \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                     \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState)                                      \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2)                                         \
    X(cuCtxCreate, cuCtxCreate_v2)                                                                 \
    X(cuCtxDestroy, cuCtxDestroy_v2)                                                               \
    X(cuCtxGetCurrent, cuCtxGetCurrent)                                                            \
    X(cuCtxSetCurrent, cuCtxSetCurrent)                                                            \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2)                                                       \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2)                                                         \
    X(cuCtxGetDevice, cuCtxGetDevice)                                                              \
    X(cuCtxGetId, cuCtxGetId)                                                                      \
    X(cuCtxSynchronize, cuCtxSynchronize)                                                          \
    X(cuCtxRecordEvent, cuCtxRecordEvent)                                                          \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess)                                                \
    X(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess)                                              \
    X(cuMemGetInfo, cuMemGetInfo_v2)                                                               \
    X(cuMemAlloc, cuMemAlloc_v2)                                                                   \
    X(cuMemFree, cuMemFree_v2)                                                                     \
    X(cuMemAllocManaged, cuMemAllocManaged)                                                        \
    X(cuMemHostAlloc, cuMemHostAlloc)                                                              \
    X(cuMemFreeHost, cuMemFreeHost)                                                                \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2)                                     \
    X(cuMemHostGetFlags, cuMemHostGetFlags)                                                        \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2)                                               \
    X(cuPointerGetAttribute, cuPointerGetAttribute)                                                \
    X(cuPointerGetAttributes, cuPointerGetAttributes)                                              \
    X(cuPointerSetAttribute, cuPointerSetAttribute)                                                \
    X(cuMemAllocAsync, cuMemAllocAsync)                                                            \
    X(cuMemFreeAsync, cuMemFreeAsync)                                                              \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync)                                            \
    X(cuMemPoolCreate, cuMemPoolCreate)                                                            \
    X(cuMemPoolDestroy, cuMemPoolDestroy)                                                          \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute)                                                \
    X(cuMemPoolGetAttribute, cuMemPoolGetAttribute)                                                \
    X(cuMemPoolTrimTo, cuMemPoolTrimTo)                                                            \
    X(cuMemPoolSetAccess, cuMemPoolSetAccess)                                                      \
    X(cuMemPoolGetAccess, cuMemPoolGetAccess)                                                      \
    X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool)                                        \
    X(cuDeviceGetMemPool, cuDeviceGetMemPool)                                                      \
    X(cuDeviceSetMemPool, cuDeviceSetMemPool)                                                      \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                     \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2)                                                               \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                                                     \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2)                                                               \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                     \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2)                                                               \
    X(cuMemcpyAsync, cuMemcpyAsync)                                                                \
    X(cuMemcpy, cuMemcpy)                                                                          \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync)                                                        \
    X(cuMemsetD8Async, cuMemsetD8Async)                                                            \
    X(cuMemsetD32Async, cuMemsetD32Async)                                                          \
    X(cuMemsetD8, cuMemsetD8_v2)                                                                   \
    X(cuMemsetD32, cuMemsetD32_v2)                                                                 \
    X(cuMemAddressReserve, cuMemAddressReserve)                                                    \
    X(cuMemAddressFree, cuMemAddressFree)                                                          \
    X(cuMemCreate, cuMemCreate)                                                                    \
    X(cuMemRelease, cuMemRelease)                                                                  \
    X(cuMemMap, cuMemMap)                                                                          \
    X(cuMemUnmap, cuMemUnmap)                                                                      \
    X(cuMemSetAccess, cuMemSetAccess)                                                              \
    X(cuMemGetAccess, cuMemGetAccess)                                                              \
    X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity)                                \
    X(cuMemExportToShareableHandle, cuMemExportToShareableHandle)                                  \
    X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle)                              \
    X(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle)              \
    X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle)                                    \
    X(cuStreamCreate, cuStreamCreate)                                                              \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority)                                      \
    X(cuStreamDestroy, cuStreamDestroy_v2)                                                         \
    X(cuStreamSynchronize, cuStreamSynchronize)                                                    \
    X(cuStreamQuery, cuStreamQuery)                                                                \
    X(cuStreamGetCtx, cuStreamGetCtx)                                                              \
    X(cuStreamGetId, cuStreamGetId)                                                                \
    X(cuStreamGetDevice, cuStreamGetDevice)                                                        \
    X(cuStreamGetFlags, cuStreamGetFlags)                                                          \
    X(cuStreamWaitEvent, cuStreamWaitEvent)                                                        \
    X(cuLaunchHostFunc, cuLaunchHostFunc)                                                          \
    X(cuEventCreate, cuEventCreate)                                                                \
    X(cuEventRecord, cuEventRecord)                                                                \
    X(cuEventQuery, cuEventQuery)                                                                  \
    X(cuEventSynchronize, cuEventSynchronize)                                                      \
    X(cuEventDestroy, cuEventDestroy_v2)                                                           \
    X(cuEventElapsedTime, cuEventElapsedTime)                                                      \
    X(cuModuleLoad, cuModuleLoad)                                                                  \
    X(cuModuleLoadData, cuModuleLoadData)                                                          \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx)                                                      \
    X(cuModuleUnload, cuModuleUnload)                                                              \
    X(cuModuleGetFunction, cuModuleGetFunction)                                                    \
    X(cuFuncGetAttribute, cuFuncGetAttribute)                                                      \
    X(cuFuncSetAttribute, cuFuncSetAttribute)                                                      \
    X(cuLaunchKernel, cuLaunchKernel)                                                              \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor)    \
    X(cuStreamIsCapturing, cuStreamIsCapturing)                                                    \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2)                                           \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2)                                               \
    X(cuStreamEndCapture, cuStreamEndCapture)                                                      \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)                        \
    X(cuGraphInstantiate, cuGraphInstantiateWithFlags)                                             \
    X(cuGraphLaunch, cuGraphLaunch)                                                                \
    X(cuGraphExecDestroy, cuGraphExecDestroy)                                                      \
    X(cuGraphDestroy, cuGraphDestroy)                                                              \
    X(cuUserObjectCreate, cuUserObjectCreate)                                                      \
    X(cuUserObjectRetain, cuUserObjectRetain)                                                      \
    X(cuUserObjectRelease, cuUserObjectRelease)                                                    \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject)

typedef struct driver {
#define DRIVER_MEMBER(name, symbol) __typeof__(&symbol) name;
    DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} driver_t;

/* Good after driver_open. */
extern driver_t driver;

/* Finds the entry points; calls none. */
void driver_open(void);
/* The same, and cuInit. */
void driver_start(void);

/* The device's primary context, retained and made current; ends the process where that fails. And
 * the reverse. */
CUcontext driver_take_context(CUdevice device);
void driver_drop_context(CUdevice device);
/* An entry of test_kernels.cu, from a module of the current context. */
CUfunction driver_test_kernel(CUmodule *module, const char *name);
/* A stream or an event of the current context, with these flags. */
CUstream driver_new_stream(unsigned flags);
CUevent driver_new_event(void);
/* Makes stream `later` wait for what is in `earlier`. */
void driver_order(CUstream earlier, CUstream later);
/* Launches a kernel of one dimension, its parameters given by address. */
void driver_launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream,
                   void **params);
/* "CUDA_ERROR_OUT_OF_MEMORY" */
const char *driver_error_name(CUresult result);

/* Ends the process with a message unless the call gives `want`. */
#define expect_driver(want, call)                                                                  \
    expect_driver_at((CUresult)(call), (want), #call, __FILE__, __LINE__)
#define driver_ok(call) expect_driver(CUDA_SUCCESS, call)
void expect_driver_at(CUresult got, CUresult want, const char *what, const char *file, int line);

#endif
