/*
 * Calls of a memory: counted, and made. Where the functions are the caller's own (a guest), their
 * answers are checked too.
 *
 * Counted are calls that allocate, give back, move, set, read and export bytes, and those that
 * identify, record_event, query_event and wait_event for streams; on memory without a driver as if
 * there were one. Not counted are `available`, `total`, `end_event`, which keeps the event for the
 * next record_event, and `end`.
 *
 * Calls of the driver in any function of the table are counted besides: one call of the memory may
 * make none of them, or some thousands.
 *
 * The table of an open memory has the functions that the memory's own table has, and its `user` is
 * the record below. Cost: two atomic additions a call, one for calls that are not counted.
 */
#ifndef CUAI_MEMORY_COUNTED_H
#define CUAI_MEMORY_COUNTED_H

#include <stdatomic.h>

#include "base/lock.h"
#include "memory/memory.h"
#include "nvtx/regions.h"
#include "trace/trace.h"

typedef struct cuai_counted {
    cuarena_memory_ops_t ops; /* the memory's own */
    void *user;
    bool guest;               /* the functions are the caller's own */
    cuai_lock_t lock;         /* guards `given` */
    void *given;              /* tsearch's tree of the segments that a guest gave */
    cuai_trace_t *trace;      /* is told of bytes that come and go; NULL: nobody is */
    struct cuai_place *place; /* of the memory, as is the next one */
    uint64_t (*piece_of)(const cuarena_memory_segment_t *segment);
    cuarena_status_t (*map_again)(void *user, const cuarena_memory_segment_t *from, uint64_t offset,
                                  uint64_t bytes, const cuarena_memory_segment_t *to,
                                  uint64_t to_offset);
    void (*unmap)(void *user, const cuarena_memory_segment_t *segment, uint64_t offset,
                  uint64_t bytes);
    cuai_regions_t *regions; /* is told of bytes that come and go, and of bytes that the library
                                uses; NULL: nobody is */
    bool ranges;             /* a tool is told of growth */
    _Atomic uint64_t calls;
    _Atomic uint64_t driver_calls;
} cuai_counted_t;

/* Puts `counted`, which comes from cuai_host_alloc, in front of a memory, whose `end` frees it. */
void cuai_count_calls(cuai_memory_t *memory, cuai_counted_t *counted, bool guest);

/* Counts a call of cuai_streams_synchronize, for a memory whose streams are the driver's. */
cuarena_status_t cuai_counted_synchronize(cuai_counted_t *counted, cuarena_stream_t stream);

#endif
