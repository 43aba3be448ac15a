/*
 * Programs of several threads on one allocator, in the shapes that they have outside.
 *
 *   replace    each thread has 64 live blocks and replaces one at a time, at random: workers of a
 *              pool of threads
 *   handoff    half of the threads allocate and hand the blocks to the other half, which free them
 *   serving    each thread answers requests of changing length, one after the other, on a stream
 *              of its own: a cache of keys and values that grows with each token, and temporaries
 *   training   of two threads, which take turns, one makes the calls of a recorded program while
 *              its live bytes rise, the other while they fall, as the forward and the backward
 *              pass of PyTorch: the second frees what the first allocated. A stream for both
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
    /* The most bytes taken from the memory since `forget`, which also gives back what is free. NULL
     * where nobody counts them. */
    uint64_t (*held)(void *user);
    void (*forget)(void *user);
    bool slow; /* fewer calls */
} shapes_allocator_t;

/* Of each thread's blocks one in SHAPES_SAMPLED is timed, two readings of the clock included. */
#define SHAPES_SAMPLED 16u

typedef struct shapes_result {
    double calls_per_second; /* of all threads together */
    double p50_ns;           /* of the allocation and the free of a block; when replaced, of the
                              * free of one and the allocation of the next; in a handoff of the
                              * allocation alone */
    double p999_ns;
    uint64_t held_bytes; /* 0: not known */
} shapes_result_t;

typedef enum shape {
    SHAPE_REPLACE,
    SHAPE_HANDOFF, /* an even number of threads */
    SHAPE_SERVING,
    SHAPE_TRAINING /* an even number of threads */
} shape_t;
#define SHAPES 4

extern const char *const shape_names[SHAPES];

/* The fewest threads that a shape is made of. */
int shape_least(shape_t shape);
/* Whether an arena is to grow (preset=grow), as a program's own would, so that what it holds says
 * something; else it is a pool. */
bool shape_grows(shape_t shape);

/* The steps of a recorded program, for training. */
typedef struct shapes_steps shapes_steps_t;

/* Ends the program if the file is no trace. */
shapes_steps_t *shapes_steps_open(const char *path);
void shapes_steps_close(shapes_steps_t *steps);

/* The round with the median throughput of several; where arenas grow, with the most that was held
 * in any. */
shapes_result_t shapes_median(const shapes_allocator_t *allocator, shape_t shape, int threads,
                              const shapes_steps_t *steps);

/* Prints a result, and records it as one of `allocator`. */
void shapes_tell(const shapes_allocator_t *allocator, shape_t shape, int threads,
                 const shapes_result_t *result);

/* An arena, with calls without a stream. */
shapes_allocator_t shapes_arena(cuarena_t *arena, const char *name);
uint64_t shapes_arena_held(cuarena_t *arena);
void shapes_arena_forget(cuarena_t *arena);
/* The heap alone, with one segment, behind a mutex. */
shapes_allocator_t shapes_mutex(uint64_t bytes);
void shapes_mutex_end(shapes_allocator_t *allocator);

#endif
