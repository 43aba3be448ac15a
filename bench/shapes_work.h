/*
 * What each thread of a shape does.
 */
#ifndef BENCH_SHAPES_WORK_H
#define BENCH_SHAPES_WORK_H

#include <stdatomic.h>

#include "shapes.h"
#include "trace.h"

#define SHAPES_LIVE 64
#define SHAPES_SIZES 4096 /* drawn beforehand, then taken in turns */
#define SHAPES_RING 256u  /* blocks on their way from one thread to another */
#define SHAPES_LAYERS 8   /* of the model that serves */

/* The events between two turns are one thread's, those before the next one the other's; an even
 * number of turns, the last at the end of the trace. */
struct shapes_steps {
    trace_t trace;
    size_t *turns;
    size_t turn_count;
};

typedef struct block {
    void *pointer;
    uint32_t alloc_ns; /* 0: not timed */
} block_t;

/* What two threads share: a ring of blocks, or a program whose turns they take. */
typedef struct pair {
    _Alignas(64) _Atomic uint64_t put;
    _Alignas(64) _Atomic uint64_t got;
    _Alignas(64) _Atomic uint64_t turn;
    block_t *slots; /* of the program */
    void *items[SHAPES_RING];
} pair_t;

typedef struct worker {
    const shapes_allocator_t *allocator;
    int number;
    shape_t shape;
    uint64_t most_calls; /* to make; of a program the two threads together */
    uint64_t calls;      /* made */
    uint64_t blocks;     /* allocated, where they are timed one by one */
    _Atomic int *ready;  /* threads that are still to come */
    pair_t *pair;
    const shapes_steps_t *steps;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t *samples; /* nanoseconds; most_calls / SHAPES_SAMPLED + 2 of them */
    size_t sample_count;
    uint64_t sizes[SHAPES_SIZES];
    void *live[SHAPES_LIVE];
    block_t layers[SHAPES_LAYERS];
} worker_t;

/* The body of a thread; the argument is its worker. */
void *shapes_work(void *worker);

/* So many whole passes of a program are about so many calls, as calls. */
uint64_t shapes_whole_passes(const shapes_steps_t *steps, uint64_t calls);

#endif
