/*
 * The memory of an arena, opened from its configuration.
 *
 * An open memory is a complete table of functions and the `user` that belongs to it: members that a
 * caller's table was too old to have are NULL or 0 here. Calls are counted. Every function that
 * fails sets the last error, also for a caller's table, whose answers are checked on the way
 * (memory/counted.c). BUSY of a query and UNSUPPORTED of an event of all streams are no failures
 * and leave the last error.
 */
#ifndef CUAI_MEMORY_MEMORY_H
#define CUAI_MEMORY_MEMORY_H

#include <stdbool.h>

#include "base/bits.h"
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
    struct cuai_place *place;     /* the device that has the bytes; NULL: none */
    struct cuai_pool *pool;       /* the driver's pool that it allocates from; NULL: none */
    uint64_t most_handle_bytes;   /* a page may be mapped with others, in a handle of so many bytes
                                   * at most, which goes as a whole; 0: each by itself */
    /* Where the driver's allocation begins that a segment is in. NULL: where it does. */
    uint64_t (*piece_of)(const cuarena_memory_segment_t *segment);
    /* Makes a range of a segment's offsets one of whole handles, which may be none. NULL: pages. */
    void (*whole_handles)(const cuarena_memory_segment_t *segment, uint64_t *begin, uint64_t *end);
    /* `map_again` puts the memory behind [offset, offset + bytes) of a segment, whole handles,
     * behind so many bytes from to_offset on as well, within address_bytes, where none is. The
     * first addresses keep it until `unmap` or the segment ends. Waits for no work. Both or neither
     * are NULL. */
    cuarena_status_t (*map_again)(void *user, const cuarena_memory_segment_t *from, uint64_t offset,
                                  uint64_t bytes, const cuarena_memory_segment_t *to,
                                  uint64_t to_offset);
    void (*unmap)(void *user, const cuarena_memory_segment_t *segment, uint64_t offset,
                  uint64_t bytes);
} cuai_memory_t;

/* A new handle has at most this share of the segment's bytes: it is rounded up by little beside
 * what is there, and an arena that doubles takes some ten of them. */
#define CUAI_HANDLE_SHARE 8

/* How large the handles are, with so many bytes in the segment, between the least and the most. */
static inline uint64_t cuai_handle_bytes(uint64_t least, uint64_t most, uint64_t segment_bytes)
{
    uint64_t share = segment_bytes / CUAI_HANDLE_SHARE;
    uint64_t power = share == 0 ? 0 : UINT64_C(1) << cuai_log2_floor(share);
    return cuai_max(least, cuai_min(power, most));
}

/*
 * Opens the memory that a checked configuration names. BAD_ARGUMENT for bytes or a table that
 * cannot be used, OUT_OF_MEMORY if the host has none for the bookkeeping. Allocates no bytes yet.
 */
cuarena_status_t cuai_memory_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Closes a memory to which every segment was given back, and sets it to all 0; all 0 is fine. */
void cuai_memory_close(cuai_memory_t *memory);

/* Records an event behind the work of `stream`, the default stream of another thread, on which this
 * one cannot record. UNSUPPORTED where the memory has no event that covers it; DRIVER, never BUSY,
 * where a capture was in the way, for that has ended. */
cuarena_status_t cuai_memory_record_thread(const cuai_memory_t *memory, cuarena_stream_t stream,
                                           void **event);

/* Waits for the work so far of a stream that the caller has just passed. Needs no host memory if
 * the stream is one of the driver's. */
cuarena_status_t cuai_memory_synchronize(const cuai_memory_t *memory, cuarena_stream_t stream);

#endif
