/*
 * The memory of an arena, opened from its configuration.
 *
 * An open memory is a complete table of functions and the `user` that belongs to it: members that a
 * caller's table was too old to have are NULL or 0 here. Calls are counted. Every function that
 * fails sets the last error, also for a caller's table, whose answers are checked on the way
 * (memory/counted.c). BUSY of a query and UNSUPPORTED of a mark of all streams are no failures and
 * leave the last error.
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
    void *user;                   /* the first argument of every function of `ops` */
    bool driver_streams;          /* the streams of `ops` are the driver's own */
    struct cuai_counted *counted; /* `user`: see memory/counted.h */
    cuarena_properties_t facts;   /* filled by whoever opens a memory of a device */
    struct cuai_pool *pool;       /* the driver's pool that it allocates from; NULL: none */
} cuai_memory_t;

/*
 * Opens the memory that a checked configuration names. BAD_ARGUMENT for bytes or a table that
 * cannot be used, OUT_OF_MEMORY if the host has none for the bookkeeping. Allocates no bytes yet.
 */
cuarena_status_t cuai_memory_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Closes a memory to which every segment was given back, and sets it to all 0; all 0 is fine. */
void cuai_memory_close(cuai_memory_t *memory);

/* Marks the work of `stream`, the default stream of another thread, on which this one cannot record
 * an event. UNSUPPORTED where the memory has no event that covers it. */
cuarena_status_t cuai_memory_mark_thread(const cuai_memory_t *memory, cuarena_stream_t stream,
                                         void **event);

/* Waits for the work so far of a stream that the caller has just passed. Needs no host memory if
 * the stream is one of the driver's. */
cuarena_status_t cuai_memory_synchronize(const cuai_memory_t *memory, cuarena_stream_t stream);

#endif
