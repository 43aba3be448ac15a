/*
 * The driver, as a test of the library sees it: its own entry points, in the library's
 * declarations, to make streams, work and contexts beside the library. See driver_library.h.
 */
#ifndef CUARENA_TEST_CUDA_TEST_H
#define CUARENA_TEST_CUDA_TEST_H

#include "support/cuda_test_abi.h"
#include "support/driver_library.h"

#include <cuarena/streams.h>

#define CUDA_TEST_MEMBER(name, since, parameters) cuai_cu_result_t(*name) parameters;

typedef struct cuda_test {
    CUAI_CUDA_ENTRIES(CUDA_TEST_MEMBER)
    CUAI_CUDA_TEST_ENTRIES(CUDA_TEST_MEMBER)
    int device_count;
} cuda_test_t;

/* Opened and initialised; the test fails if there is none. */
const cuda_test_t *cuda_test(void);
/* The call succeeded. */
#define expect_cu(call) expect_cu_at((call), #call, __FILE__, __LINE__)
void expect_cu_at(cuai_cu_result_t result, const char *what, const char *file, int line);

/* The context that is current on this thread; NULL if none is. */
cuai_cu_context_t cuda_test_current(void);
/* Retains the primary context and makes it current. */
cuai_cu_context_t cuda_test_use_device(int ordinal);
/* A stream of the context that is current, and its end. */
cuarena_stream_t cuda_test_stream(void);
void cuda_test_end_stream(cuarena_stream_t stream);
/* After a test: the stand-in found nothing wrong, and no event is left. */
void cuda_test_look_after(void);

static inline cuai_cu_pointer_t cu_pointer(const void *pointer)
{
    return (cuai_cu_pointer_t)(uintptr_t)pointer;
}

#endif
