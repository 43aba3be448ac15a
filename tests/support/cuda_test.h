/*
 * The driver, as a test sees it: its own entry points, to make streams, work
 * and contexts beside the library, and those that control the stand-in.
 *
 * Opened at the first call in a process, from the file that the library would
 * open. Nothing is opened before: tests of the library's own opening run first.
 */
#ifndef CUARENA_TEST_CUDA_TEST_H
#define CUARENA_TEST_CUDA_TEST_H

#include <stdbool.h>

#include "support/cuda_test_abi.h"

#define CUDA_TEST_MEMBER(name, since, parameters)                              \
    cuai_cu_result_t(*name) parameters;

typedef struct cuda_test {
    CUAI_CUDA_ENTRIES(CUDA_TEST_MEMBER)
    CUAI_CUDA_TEST_ENTRIES(CUDA_TEST_MEMBER)
    int device_count;
} cuda_test_t;

/* Which driver there is, found out in a process of its own, so that this one
 * has opened nothing. */
typedef enum cuda_kind {
    CUDA_KIND_NONE, /* or it has no device */
    CUDA_KIND_STANDIN,
    CUDA_KIND_REAL
} cuda_kind_t;
cuda_kind_t cuda_test_kind(void);
/* How many devices that driver had. Call it after. */
int cuda_test_device_count(void);
/* What main returns: `result` of what was run, or, where a driver was wanted
 * and there is none, 77; with CUARENA_REQUIRE_GPU=1 a failure. */
int cuda_test_result(cuda_kind_t kind, int result);

/* Opened and initialised; the test fails if there is none. */
const cuda_test_t *cuda_test(void);
/* A function of the library that was opened, into *member; false and NULL if it
 * has none. Does not initialise the driver. */
bool cuda_test_symbol(const char *name, void *member);

/* The call succeeded. */
#define expect_cu(call) expect_cu_at((call), #call, __FILE__, __LINE__)
void expect_cu_at(cuai_cu_result_t result, const char *what, const char *file,
                  int line);

/* What the tests use of the stand-in's control (tests/standin/standin.h). */
#define CUDA_TEST_CONTROL(E)                                                   \
    E(standin_configure, int, (const char *, const char *))                    \
    E(standin_fail, int, (const char *, uint64_t, int, int))                   \
    E(standin_fail_any, void, (uint64_t, int, int))                            \
    E(standin_fail_clear, void, (void))                                        \
    E(standin_failed, uint64_t, (void))                                        \
    E(standin_delay, int, (const char *, uint64_t))                            \
    E(standin_lose_device, void, (int, int))                                   \
    E(standin_calls, uint64_t, (const char *))                                 \
    E(standin_syncs, uint64_t, (void))                                         \
    E(standin_counts_clear, void, (void))                                      \
    E(standin_live, size_t, (const char *))                                    \
    E(standin_report_count, size_t, (int))                                     \
    E(standin_report_text, const char *, (size_t))                             \
    E(standin_report_print, void, (int))                                       \
    E(standin_reports_clear, void, (void))                                     \
    E(standin_device_used, uint64_t, (int))                                    \
    E(standin_run, size_t, (size_t))                                           \
    E(standin_pending, size_t, (void))

#define CUDA_TEST_CONTROL_MEMBER(name, type, parameters) type(*name) parameters;

typedef struct cuda_control {
    CUDA_TEST_CONTROL(CUDA_TEST_CONTROL_MEMBER)
} cuda_control_t;

/* NULL: the driver is a real one, or there is none. */
const cuda_control_t *cuda_control(void);

/* The context that is current on this thread; NULL if none is. */
cuai_cu_context_t cuda_test_current(void);
/* Retains the primary context and makes it current. */
cuai_cu_context_t cuda_test_use_device(int ordinal);

#endif
