/*
 * Streams of the driver: the identify, record_event, query_event, wait_event and end_event of every
 * memory that they use.
 *
 * All contexts of a device share its addresses, so whether a stream reaches bytes depends on its
 * device alone.
 *
 * `user` of those functions begins with a cuai_streams_t, so it is the first member of a memory's
 * state. It says which devices reach the bytes, and keeps the places of the streams that were seen
 * open until the memory ends.
 *
 * The legacy stream and the default stream of a thread belong to a context. For memory of a device
 * that is the memory's own, whatever is current. Host memory has none, so it takes the context that
 * is current when one of the two is first passed, and refuses them in any other.
 */
#ifndef CUAI_MEMORY_CUDA_STREAMS_H
#define CUAI_MEMORY_CUDA_STREAMS_H

#include "cuarena/memory.h"
#include "memory/cuda/place.h"

struct cuai_seen_place;

typedef struct cuai_streams {
    const char *name;    /* of the memory, for messages */
    cuai_place_t *place; /* of the default streams; NULL: none yet */
    uint64_t reach;      /* a bit per ordinal: the devices that reach the bytes */
    bool host;           /* host memory: no context of its own, streams of any */
    cuai_lock_t lock;    /* guards what follows, and `place` of host memory */
    struct cuai_seen_place *seen;
} cuai_streams_t;

#define CUAI_REACH_ALL UINT64_MAX

/* For memory of a device: owns `place` from now on, and closes it at the end. */
void cuai_streams_open(cuai_streams_t *streams, const char *name, cuai_place_t *place,
                       uint64_t reach);
/* For host memory: opens nothing before a stream is passed. */
void cuai_streams_open_host(cuai_streams_t *streams, const char *name);
/* Closes all places; every event was ended. */
void cuai_streams_end(cuai_streams_t *streams);

/* The five functions of the table. */
cuarena_status_t cuai_streams_identify(void *user, cuarena_stream_t stream,
                                       cuarena_stream_info_t *info_out);
cuarena_status_t cuai_streams_record_event(void *user, cuarena_stream_t stream, void **event);
cuarena_status_t cuai_streams_query_event(void *user, void *event);
cuarena_status_t cuai_streams_wait_event(void *user, void *event, cuarena_stream_t stream,
                                         int32_t host);
void cuai_streams_end_event(void *user, void *event);

/* Puts the five into a table. */
void cuai_streams_fill(cuarena_memory_ops_t *ops);

/* The place whose context an identified stream belongs to, which is open until the memory ends; the
 * driver is called with the handle in a visit of it. */
cuarena_status_t cuai_streams_place(cuai_streams_t *streams, cuarena_stream_t stream,
                                    cuai_place_t **place_out);
/* BUSY, with the last error set: the stream's capture has failed. */
cuarena_status_t cuai_streams_fail_capture(cuarena_stream_t stream);
/* Blocks the caller until the work of a stream is done that it has just passed and that may not
 * have been identified. Needs no host memory. BUSY: the stream is being captured. */
cuarena_status_t cuai_streams_synchronize(void *user, cuarena_stream_t stream);
/* Blocks the caller until the work so far of a stream is done, before the CPU touches the bytes; OK
 * at once for CUARENA_NO_STREAM. */
cuarena_status_t cuai_streams_drain(cuai_streams_t *streams, cuarena_stream_t stream);

#endif
