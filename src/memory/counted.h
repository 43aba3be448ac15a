/*
 * A memory whose calls are counted: those that a memory with a driver cannot answer by itself.
 *
 * Counted is what takes, gives back, moves and zeroes bytes, what shows them to other processes,
 * and what identifies, marks, asks and lets wait a stream.
 * On memory without a driver it is counted as if there were one. Not counted: what is available and
 * in all, for amounts; the end of an event, which is kept for the next; the memory's own end.
 *
 * What the driver was called for in any function of the table is counted besides: one call of the
 * memory is none of the driver's, or some thousands.
 *
 * The table of a counted memory has the functions that the memory's own has, and its `user` is the
 * counter. Cost: two atomic additions a call, and none where no memory is reached.
 */
#ifndef CUAI_MEMORY_COUNTED_H
#define CUAI_MEMORY_COUNTED_H

#include <stdatomic.h>

#include "memory/memory.h"

typedef struct cuai_counted {
    cuarena_memory_ops_t ops; /* the memory's own */
    void *user;
    cuarena_status_t (*synchronize)(void *user, cuarena_stream_t stream);
    _Atomic uint64_t calls;
    _Atomic uint64_t driver_calls;
} cuai_counted_t;

/* Puts `counted`, which outlives it and stays where it is, before an open memory. */
void cuai_count_calls(cuai_memory_t *memory, cuai_counted_t *counted);

static inline uint64_t cuai_counted_calls(const cuai_counted_t *counted)
{
    return atomic_load_explicit(&counted->calls, memory_order_relaxed);
}

static inline uint64_t cuai_counted_driver_calls(const cuai_counted_t *counted)
{
    return atomic_load_explicit(&counted->driver_calls, memory_order_relaxed);
}

#endif
