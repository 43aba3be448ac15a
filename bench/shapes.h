/*
 * Programs of several threads on one allocator, in the shapes that they have outside.
 *
 *   replace   each thread has 64 live blocks and replaces one at a time, at random: workers of a
 *             pool of threads, or a serving process with a stream for each thread
 *   handoff   half of the threads allocate and hand the blocks to the other half, which free them:
 *             a backward pass that frees what the forward pass allocated
 */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <stdbool.h>

#include "bench.h"

#define SHAPES_THREADS 16

/* An allocator as threads call it; `thread` is from 0 on. */
typedef struct shapes_allocator {
    const char *name;
    void *user;
    void *(*alloc)(void *user, int thread, uint64_t bytes);
    void (*free)(void *user, int thread, void *pointer);
    bool slow; /* fewer calls */
} shapes_allocator_t;

typedef struct shapes_result {
    double calls_per_second; /* of all threads together */
    double p50_ns;           /* of a pair of calls; in a handoff of an allocation */
    double p999_ns;
} shapes_result_t;

typedef enum shape {
    SHAPE_REPLACE,
    SHAPE_HANDOFF /* an even number of threads */
} shape_t;

extern const char *const shape_names[];

/* The round with the median throughput of several; sizes are from 256 B to `most`. */
shapes_result_t shapes_median(const shapes_allocator_t *allocator, shape_t shape, int threads,
                              uint64_t most);

/* An arena, with calls without a stream. */
shapes_allocator_t shapes_arena(cuarena_t *arena, const char *name);
/* The heap alone, with one segment, behind a mutex. */
shapes_allocator_t shapes_mutex(uint64_t bytes);
void shapes_mutex_end(shapes_allocator_t *allocator);

#endif
