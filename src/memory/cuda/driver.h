/*
 * The driver of the GPU, opened at run time.
 *
 * Nothing links to it. The first call of cuai_cuda opens libcuda.so.1 (or the file that
 * CUARENA_CUDA_LIBRARY names), asks cuGetProcAddress for the forms that abi.h declares, and
 * initialises it. What came of it stays: a process that has no driver is not asked again, and the
 * library is never closed.
 *
 * No call of the driver is made
 *   - before somebody wants a device or passes a stream;
 *   - in a process that was forked after that, where the driver does not work:
 *     cuai_cuda says NO_DEVICE there, and what ends things asks
 *     cuai_cuda_if_open and forgets them;
 *   - when the process ends: what the library holds, the system takes back.
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

/* Made once, and the same for all after that. */
typedef struct cuai_cuda {
    int version;       /* of the driver: 12040 is 12.4 */
    int device_count;  /* at least 1 */
    char library[256]; /* as it was named to the system */
    CUAI_CUDA_ENTRIES(CUAI_CUDA_MEMBER)
} cuai_cuda_t;

/* The driver, opened if it was not; NULL with the last error NO_DEVICE, which says why in words.
 * Any thread. Cost: the first call what the driver takes to start, some 100 ms; then two loads. */
const cuai_cuda_t *cuai_cuda(void);
/* NULL if it is not open, or not to be called any more. Opens nothing and leaves the last error as
 * it is. */
const cuai_cuda_t *cuai_cuda_if_open(void);

/* How many calls of the driver this thread has made so far. */
extern _Thread_local uint64_t cuai_cuda_calls;

/* The driver for one call of a function of it, which is counted: all calls go this way but those
 * that open it and those that put errors into words. */
static inline const cuai_cuda_t *cuai_cu(const cuai_cuda_t *cuda)
{
    cuai_cuda_calls++;
    return cuda;
}

/*
 * What a result that is no success comes to: OUT_OF_MEMORY, LOST for one that is sticky, else
 * DRIVER. The last error gets the driver's code, and a message of what was tried (the format), the
 * call and the driver's own words. The caller puts the place into its lost state: use
 * cuai_place_fail where there
 * is one.
 */
cuarena_status_t cuai_cuda_fail(cuai_cu_result_t result, const char *call, const char *format,
                                ...) CUAI_NOINLINE CUAI_PRINTF(3, 4);
cuarena_status_t cuai_cuda_fail_with(cuai_cu_result_t result, const char *call, const char *format,
                                     va_list arguments) CUAI_NOINLINE CUAI_PRINTF(3, 0);

/* Whether no later call in the same context can succeed. */
bool cuai_cuda_is_sticky(cuai_cu_result_t result);
/* "CUDA_ERROR_INVALID_VALUE"; a static text of the driver's, or of ours for codes that it does not
 * know. */
const char *cuai_cuda_name(cuai_cu_result_t result);

#endif
