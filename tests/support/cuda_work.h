/*
 * Work on streams of device 0, for fixtures (fixture_streams.h): kernels where a device reaches the
 * bytes, functions of the host where it may not. The same streams for a whole process.
 */
#ifndef CUARENA_TEST_CUDA_WORK_H
#define CUARENA_TEST_CUDA_WORK_H

#include "support/fixture_streams.h"

extern const stream_work_t cuda_work;

#endif
