/*
 * Compiles only where a real cuda.h agrees with abi.h: constants, layouts and every prototype.
 * Nothing here runs.
 */
#include <cuda.h>

#if CUDA_VERSION < 12030
/* CUDA 12.3 brought these. */
#define CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED 128
#define CU_MEM_HANDLE_TYPE_FABRIC 8
#endif

#include "abi.h"

typedef int standin_abi_is_checked;
