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
    uint64_t reach; /* a bit per ordinal: the devices that reach its bytes */
    int32_t peers;  /* how many of them are others than its own */
    bool own;       /* made by the library */
    bool soft;      /* refuses to grow above its threshold */
} cuai_pool_t;

/* Opens the pool that a configuration names. UNSUPPORTED where the device or the driver has no such
 * pools, or they lack what is asked. On an error nothing is left to end. */
cuarena_status_t cuai_pool_open(cuai_pool_t *pool, cuai_place_t *place,
                                const cuarena_config_t *config);
/* Ends the pool; all its bytes were freed. */
void cuai_pool_end(cuai_pool_t *pool);

/* LIMIT, with the last error set, if a soft pool would have to grow above its threshold for so many
 * bytes. Others may allocate before the caller does. */
cuarena_status_t cuai_pool_check_soft(cuai_pool_t *pool, uint64_t bytes);

/* The values may not be of one moment: the driver is asked for each, and others use the pool. */
cuarena_status_t cuai_pool_stats(cuai_pool_t *pool, cuarena_driver_pool_stats_t *stats);
/* Sets the peaks to the current values. */
cuarena_status_t cuai_pool_reset_peaks(cuai_pool_t *pool);
cuarena_status_t cuai_pool_get_threshold(cuai_pool_t *pool, uint64_t *bytes_out);
cuarena_status_t cuai_pool_set_threshold(cuai_pool_t *pool, uint64_t bytes);
/* Gives free bytes back to the device until `keep_bytes` are left; `given_out` is how many, if
 * nobody else uses the pool meanwhile. Waits for nothing. */
cuarena_status_t cuai_pool_trim(cuai_pool_t *pool, uint64_t keep_bytes, uint64_t *given_out);

#endif
