/*
 * The CUDA runtime, for tools: compute-sanitizer takes no regions of memory before it has begun,
 * and the suites use the driver alone. Programs whose tests are in one process begin it. run.sh
 * --nvtx of the GPU bundle runs the suites so, and says in a table what the checker found in each.
 *
 * Environment:
 *   CUARENA_TEST_RUNTIME   the file of its library (libcudart.so); unset: nothing is done
 */
#ifndef CUARENA_TEST_RUNTIME_H
#define CUARENA_TEST_RUNTIME_H

#include <stdbool.h>

/* Begins it on device 0, by cudaFree(NULL), and leaves no context current. For a process that will
 * not fork: a child could not use the device. False: it was asked for and cannot be had, which is
 * told on stderr. */
bool runtime_begin(void);

#endif
