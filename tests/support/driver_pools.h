/* Arenas on the driver's own pools, and work of the driver beside them. */
#ifndef CUARENA_TEST_DRIVER_POOLS_H
#define CUARENA_TEST_DRIVER_POOLS_H

#include <cuarena.h>

#include "support/configs.h"
#include "support/cuda_test.h"

#define OWN "preset=driver-pool,driver_pool=own"
#define KEEPS ",release_threshold=never"

/* Before and after a test: the device is retained and current. */
void on_device(void);
void off_device(void);
/* All work is done, as it must be. */
void end_arena(cuarena_t *arena);
/* An arena of a test, which ends so after the test; and one that is there. */
cuarena_t *pool_arena(const char *options);
cuarena_t *ended_later(cuarena_t *arena);

/* Each with the validator after it. */
void *alloc_from(cuarena_t *arena, uint64_t bytes);
void *alloc_from_on(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream);
void free_to(cuarena_t *arena, void *pointer);

/* Free is what is not used. */
cuarena_driver_pool_stats_t pool_of(cuarena_t *arena);

/* The arena is told, and the stream destroyed. */
void end_stream(cuarena_t *arena, cuai_cu_stream_t stream);
/* Work of the stream on the bytes. */
void use(void *pointer, uint64_t bytes, cuai_cu_stream_t stream);

#endif
