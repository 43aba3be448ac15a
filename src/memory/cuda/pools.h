/*
 * A driver pool: device memory that the driver gives and takes back at points of streams, and keeps
 * in between as far as its threshold says.
 *
 * Opening chooses the driver's pool: allocations, statistics and trims concern that one, whatever
 * becomes the device's current pool later. An own pool is destroyed with it; any other stays as it
 * is, but for what the configuration asks to be set.
 */
#ifndef CUAI_MEMORY_CUDA_POOLS_H
#define CUAI_MEMORY_CUDA_POOLS_H

#include "cuarena/device.h"
#include "memory/cuda/place.h"

typedef struct cuai_pool {
    cuai_place_t *place; /* open for longer than the pool */
    cuai_cu_pool_t handle;
    uint64_t reach; /* bit per ordinal: the devices that reach its bytes */
    int32_t peers;  /* of them, others than its own */
    bool own;
    bool soft; /* above its threshold it refuses */
} cuai_pool_t;

/* UNSUPPORTED where the device or the driver has no such pools, or not what is asked of them. On an
 * error nothing is left to end. */
cuarena_status_t cuai_pool_open(cuai_pool_t *pool, cuai_place_t *place,
                                const cuarena_config_t *config);
/* All of it was given back. */
void cuai_pool_end(cuai_pool_t *pool);

/* LIMIT, put into words, if a soft pool would have to grow for so many bytes above its threshold.
 * Others may take bytes in between. */
cuarena_status_t cuai_pool_check_soft(cuai_pool_t *pool, uint64_t bytes);

/* Each attribute is asked by itself: others may change the pool meanwhile. */
cuarena_status_t cuai_pool_stats(cuai_pool_t *pool, cuarena_driver_pool_stats_t *stats);
/* The peaks begin anew from what is now. */
cuarena_status_t cuai_pool_reset_peaks(cuai_pool_t *pool);
cuarena_status_t cuai_pool_get_threshold(cuai_pool_t *pool, uint64_t *bytes_out);
cuarena_status_t cuai_pool_set_threshold(cuai_pool_t *pool, uint64_t bytes);
/* Gives back what is free now until `keep_bytes` are left; how many, as far as others leave the
 * pool alone. Waits for nothing. */
cuarena_status_t cuai_pool_trim(cuai_pool_t *pool, uint64_t keep_bytes, uint64_t *given_out);

#endif
