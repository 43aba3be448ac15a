/*
 * The driver of the GPU, opened at run time.
 *
 * The library does not link to it. The first call of cuai_cuda opens libcuda.so.1 (or the file that
 * CUARENA_CUDA_LIBRARY names), gets the entry points that abi.h declares from cuGetProcAddress, and
 * initialises it. The outcome is final: a driver that was not found is not looked for again, and
 * the library is never closed.
 *
 * No call of the driver is made
 *   - before somebody asks for a device or passes a stream;
 *   - in a process that was forked after that, where the driver does not work:
 *     cuai_cuda says NO_DEVICE there, and functions that end things ask
 *     cuai_cuda_if_open and forget them;
 *   - when the process ends: the system takes back what the library still has.
 */
#ifndef CUAI_MEMORY_CUDA_DRIVER_H
#define CUAI_MEMORY_CUDA_DRIVER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "cuarena/base.h"
#include "memory/cuda/abi.h"

/* The oldest driver that is accepted: 12.0. */
#define CUAI_CUDA_OLDEST 12000

#define CUAI_CUDA_MEMBER(name, since, parameters) cuai_cu_result_t(*name) parameters;

/* Filled once, and constant after that. */
typedef struct cuai_cuda {
    int version;       /* of the driver: 12040 is 12.4 */
    int device_count;  /* at least 1 */
    char library[256]; /* as it was named to the system */
    CUAI_CUDA_ENTRIES(CUAI_CUDA_MEMBER)
} cuai_cuda_t;

/* The driver, which the first call opens; NULL with the last error NO_DEVICE, which says why. Any
 * thread. Cost: the first call waits until the driver has started; then two loads. */
const cuai_cuda_t *cuai_cuda(void);
/* The driver, or NULL if it is not open or must not be called any more. Opens nothing and leaves
 * the last error as it is. */
const cuai_cuda_t *cuai_cuda_if_open(void);

/* The name of the library that is opened, which the environment may say. */
const char *cuai_cuda_library_name(void);

/* How many calls of the driver this thread has made so far. */
extern _Thread_local uint64_t cuai_cuda_calls;

/* Counts one call of the driver, which the caller makes with the result. Calls that open the driver
 * or put errors into words are not counted. */
static inline const cuai_cuda_t *cuai_cu(const cuai_cuda_t *cuda)
{
    cuai_cuda_calls++;
    return cuda;
}

/*
 * The status of a result that is no success: OUT_OF_MEMORY of a call that takes memory or creates
 * an event, LOST for a sticky one, else DRIVER. The last error gets the driver's code, and a
 * message of what was tried (the format), the call and the driver's own words. Where there is a
 * place use cuai_place_fail, which also notes that it is lost.
 */
cuarena_status_t cuai_cuda_fail(cuai_cu_result_t result, const char *call, const char *format,
                                ...) CUAI_NOINLINE CUAI_PRINTF(3, 4);
cuarena_status_t cuai_cuda_fail_with(cuai_cu_result_t result, const char *call, const char *format,
                                     va_list arguments) CUAI_NOINLINE CUAI_PRINTF(3, 0);

/* Whether no later call in the same context can succeed. */
bool cuai_cuda_is_sticky(cuai_cu_result_t result);
/* The name of a result, as "CUDA_ERROR_INVALID_VALUE": static text, of the driver's for codes that
 * the library does not know. */
const char *cuai_cuda_name(cuai_cu_result_t result);

#endif
