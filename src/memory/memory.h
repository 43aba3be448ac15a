/*
 * Which memory an arena has, opened from its configuration.
 *
 * A memory in use is a whole table of functions and the `user` that belongs to it: members that a
 * caller's table was too old to have are NULL or 0 here. Every function sets the last error when it
 * fails, also for a caller's table, whose answers are checked on the way (memory/custom.c). BUSY of
 * a query, and UNSUPPORTED of a mark of all streams, are answers and leave it.
 */
#ifndef CUAI_MEMORY_MEMORY_H
#define CUAI_MEMORY_MEMORY_H

#include <stdbool.h>

#include "base/error.h"
#include "cuarena/arena.h"
#include "cuarena/device.h"
#include "cuarena/memory.h"

typedef struct cuai_memory {
    cuarena_memory_ops_t ops;
    void *user;          /* the first argument of every function of `ops` */
    bool driver_streams; /* those of `ops` are the driver's own */
    /* The caller waits for a stream that it has just passed: see cuai_streams_synchronize. NULL: by
     * an event. */
    cuarena_status_t (*synchronize)(void *user, cuarena_stream_t stream);
    /* What was got; filled by whoever opens a memory of a device. */
    cuarena_properties_t facts;
    struct cuai_pool *pool; /* of the driver, that it takes from; NULL: none */
} cuai_memory_t;

/*
 * Opens the memory that a checked configuration names. BAD_ARGUMENT for bytes or a table that
 * cannot serve, OUT_OF_MEMORY if the host has none for the bookkeeping. Takes no bytes yet.
 */
cuarena_status_t cuai_memory_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Every segment was given back. All 0 is fine, and is what it is then. */
void cuai_memory_close(cuai_memory_t *memory);

/* Marks the work of another thread's default stream, which is `stream`: no thread can record on
 * that of another. UNSUPPORTED where the memory knows no event that stands for it. */
cuarena_status_t cuai_memory_mark_thread(const cuai_memory_t *memory, cuarena_stream_t stream,
                                         void **event);

/* The caller waits for what a stream that it has just passed was given so far; of the driver's
 * streams without host memory. */
cuarena_status_t cuai_memory_synchronize(const cuai_memory_t *memory, cuarena_stream_t stream);

/* Sets bytes that the memory has just given to 0, unless they come so; on the stream that they are
 * good for, if only that. UNSUPPORTED where the memory cannot. */
static inline cuarena_status_t cuai_memory_zero_fresh(const cuai_memory_t *memory, uint64_t address,
                                                      uint64_t bytes, cuarena_stream_t stream)
{
    if (memory->ops.properties & CUARENA_MEMORY_COMES_ZEROED)
        return CUARENA_OK;
    if (memory->ops.zero_bytes == NULL)
        return cuai_fail(CUARENA_UNSUPPORTED, "zero: memory '%s' cannot set bytes to 0",
                         memory->ops.name);
    return memory->ops.zero_bytes(memory->user, (void *)(uintptr_t)address, bytes, stream);
}

#endif
