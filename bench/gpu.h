/*
 * The device that benchmarks measure on: its driver, a stream, a clock.
 *
 * Nothing is linked: the driver is opened when the program runs, from the file that the library
 * would open. The library's own list of entry points says
 * what they look like, and that of the tests the others.
 *
 *   plug   work in front of what is timed on the device, long enough for the
 *          host to queue all of it: so what the host takes does not count.
 */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include <stdbool.h>

#include "bench.h"
#include "cuarena/streams.h"
#include "record.h"
#include "support/cuda_test_abi.h"

#define GPU_MEMBER(name, since, parameters) cuai_cu_result_t(*name) parameters;

typedef struct gpu {
    CUAI_CUDA_ENTRIES(GPU_MEMBER)
    CUAI_CUDA_TEST_ENTRIES(GPU_MEMBER)
    int ordinal;
    bool quick; /* fewer samples of smaller things: to see that all runs */
    cuai_cu_context_t context;
    cuai_cu_stream_t stream; /* waits for no other, and no other for it */
    cuai_cu_event_t begin;   /* of what is timed on it */
    cuai_cu_event_t end;
    cuai_cu_pointer_t plug; /* bytes that are set again and again */
} gpu_t;

/*
 * Opens the device that the arguments name and starts the report: what runs here, on standard
 * output and as the first record.
 *
 *   [--device N] [--quick] [--json FILE] [ARGUMENT...]
 *
 * Without a device the program ends: with 77, or, with CUARENA_REQUIRE_GPU=1, with a failure.
 * Returns the index of the first further argument.
 */
int gpu_open(gpu_t *gpu, const char *bench, int argc, char **argv);
void gpu_close(gpu_t *gpu);

/* Ends the program unless the driver's call succeeded. */
#define must_cu(gpu, call) must_cu_at((gpu), (call), #call)
void must_cu_at(const gpu_t *gpu, cuai_cu_result_t result, const char *what);

/* The current device's context, for calls of the driver and the runtime. */
void gpu_wait(const gpu_t *gpu);

/* Microseconds that the device takes for what `work` queues on the stream; -1: the plug was too
 * short, so do it again, from the start. Past some length it is not made longer, and what the host
 * takes counts. */
double gpu_time(const gpu_t *gpu, void (*work)(void *user), void *user);
/* As seen by the caller, from the call until the stream has done it. */
double gpu_wall(const gpu_t *gpu, void (*work)(void *user), void *user);

/* All members 0 or default, on this device. */
cuarena_config_t gpu_config(const gpu_t *gpu, int32_t memory);
cuarena_t *gpu_arena(const cuarena_config_t *config);
/* A pool of device memory where blocks fill up from the bottom. */
cuarena_t *gpu_packed_pool(const gpu_t *gpu, uint64_t bytes);

/* What a size is called: 256 B, 4 KiB, 2 GiB. Good until the eighth next. */
const char *size_name(uint64_t bytes);

#endif
