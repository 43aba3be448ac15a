/*
 * A memory whose calls are counted: those that a memory with a driver cannot answer by itself.
 *
 * Counted are calls that allocate, give back, move, zero and export bytes, and those that identify,
 * mark, query and wait for streams; on memory without a driver as if there were one. Not counted
 * are `available`, `total`, `unmark`, which keeps the event for the next mark, and `end`.
 *
 * Calls of the driver in any function of the table are counted besides: one call of the memory may
 * make none of them, or some thousands.
 *
 * The table of a counted memory has the functions that the memory's own table has, and its `user`
 * is the counter. Cost: two atomic additions a call, one for calls that are not counted.
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

/* Puts `counted`, which outlives the memory and does not move, in front of an open memory. */
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
