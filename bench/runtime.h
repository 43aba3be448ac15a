/*
 * What programs get device memory with when they bring no allocator: the runtime's functions where
 * libcudart is found (CUARENA_CUDART_LIBRARY names the file), else the driver's, which those call.
 * `name` tells which.
 */
#ifndef BENCH_RUNTIME_H
#define BENCH_RUNTIME_H

#include "gpu.h"

typedef struct runtime {
    bool found; /* the runtime's functions, not the driver's */
    int version;
    const char *malloc_name;
    const char *async_name;
    const char *managed_name;
    int (*malloc)(void **pointer, size_t bytes);
    int (*free)(void *pointer);
    int (*malloc_async)(void **pointer, size_t bytes, cuarena_stream_t stream);
    int (*free_async)(void *pointer, cuarena_stream_t stream);
    int (*malloc_managed)(void **pointer, size_t bytes, unsigned flags);
} runtime_t;

/* Where stream-ordered or managed memory cannot be had the functions are
 * NULL. */
void runtime_open(runtime_t *runtime, const gpu_t *gpu);

/* Of the pool that stream-ordered memory comes from: how much of it the driver keeps when the
 * device is waited for. */
void runtime_keep(const gpu_t *gpu, uint64_t bytes);
/* Gives all that is free back, and forgets the most that was held. */
void runtime_trim(const gpu_t *gpu);
/* The most that the pool held. */
uint64_t runtime_held(const gpu_t *gpu);

#endif
