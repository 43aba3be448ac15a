/*
 * The preset cupy-pool on each memory that has streams, for tests that follow those of CuPy's
 * MemoryPool. Sizes are in units: 512 bytes, or what the memory gives at least where that is more.
 * Streams are numbers below FIXTURE_STREAMS.
 */
#ifndef CUARENA_TEST_CUPY_KINDS_H
#define CUARENA_TEST_CUPY_KINDS_H

#include "arena_rows.h"

#include <stdbool.h>

#if defined(CUARENA_TEST_CUDA)
#define CUPY_KINDS 6
#else
#define CUPY_KINDS 2
#endif

/* A fixture, and the unit of its sizes. */
typedef struct cupy_pool {
    fixture_t f;
    uint64_t unit;
} cupy_pool_t;

/* An empty pool without a limit. After the test nothing must live in it, and it is closed. */
cupy_pool_t *cupy_opened(int kind, const char *options);
/* Whether its streams are simulated: only handles that the simulation made are known then. */
bool cupy_is_simulated(const cupy_pool_t *p);
cuarena_stream_t cupy_stream(const cupy_pool_t *p, uint32_t number);
/* All work is done, as far as it does not take the arena to know. */
void cupy_finish(cupy_pool_t *p);

/* malloc of so many units on a stream, which then writes them; what it comes to. NULL pointer_out:
 * it is refused. */
cuarena_status_t cupy_try(cupy_pool_t *p, uint64_t units, uint32_t number, void **pointer_out);
void *cupy_malloc(cupy_pool_t *p, uint64_t units, uint32_t number);
void cupy_free(cupy_pool_t *p, void *pointer, uint32_t number);
/* free_all_blocks. */
uint64_t cupy_free_all(cupy_pool_t *p);
void cupy_set_limit(cupy_pool_t *p, uint64_t units);

/* Steps as text; each block is written by the stream that it is allocated on. */
void cupy_run(cupy_pool_t *p, const char *name, const char *steps);

/* used_bytes, total_bytes and n_free_blocks; free_bytes is the difference. */
#define expect_figures(p, used, total, blocks)                                                     \
    expect_figures_at(p, used, total, blocks, __FILE__, __LINE__)
void expect_figures_at(const cupy_pool_t *p, uint64_t used, uint64_t total, uint64_t blocks,
                       const char *file, int line);

/* From now on the memory has so many units in all; false: it always has more.
 */
bool cupy_has(cupy_pool_t *p, uint64_t units);

/* A case with each of the tests on each kind. */
void add_per_cupy_kind(Suite *suite, const char *name, const TTest *const *tests);
/* What main returns. */
int cupy_main(Suite *suite);

#endif
