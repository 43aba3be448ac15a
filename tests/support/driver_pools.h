/* Arenas on the driver's own pools, and work of the driver beside them. */
#ifndef CUARENA_TEST_DRIVER_POOLS_H
#define CUARENA_TEST_DRIVER_POOLS_H

#include "support/cuda_test.h"
#include "support/fixture.h"

#define OWN "preset=driver-pool,driver_pool=own"
#define KEEPS ",release_threshold=never"

/* Before and after a test: the device is retained and current. */
void on_device(void);
void off_device(void);
/* The fixture of a test, of these options: the driver's pool may be the process's own, which no
 * kind can say. It ends so after the test, or before; all work is done, as it must be. */
fixture_t *opened_pool(const char *options);
void close_pool(fixture_t *f);

/* Free is what is not used. */
cuarena_driver_pool_stats_t pool_of(cuarena_t *arena);

/* The arena is told, and the stream destroyed. */
void end_stream(cuarena_t *arena, cuai_cu_stream_t stream);
/* Work of the stream on the bytes. */
void use(void *pointer, uint64_t bytes, cuai_cu_stream_t stream);

#endif
