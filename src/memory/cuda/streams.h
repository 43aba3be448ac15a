/*
 * Streams, as memories see them: the identify, mark, query, wait and unmark of every memory that
 * streams can use.
 *
 * All contexts of a device share its addresses, so it is the device that counts for whether a
 * stream reaches bytes.
 *
 * `user` of those functions begins with a cuai_streams_t: make it the first member of what a memory
 * keeps. It says which devices reach the bytes, and holds open the places of the streams that were
 * seen until the memory ends.
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
    uint64_t reach;      /* bit per ordinal: the devices that reach the bytes */
    bool host;           /* of the host: any context, none of its own */
    cuai_lock_t lock;    /* guards what follows, and `place` of host memory */
    struct cuai_seen_place *seen;
} cuai_streams_t;

#define CUAI_REACH_ALL UINT64_MAX

/* Memory of a device: takes `place` over, and closes it at the end. */
void cuai_streams_open(cuai_streams_t *streams, const char *name, cuai_place_t *place,
                       uint64_t reach);
/* Host memory: opens nothing before a stream comes. */
void cuai_streams_open_host(cuai_streams_t *streams, const char *name);
/* Every event was unmarked. */
void cuai_streams_end(cuai_streams_t *streams);

/* The five functions of the table. */
cuarena_status_t cuai_streams_identify(void *user, cuarena_stream_t stream,
                                       cuarena_stream_info_t *info_out);
cuarena_status_t cuai_streams_mark(void *user, cuarena_stream_t stream, void **event);
cuarena_status_t cuai_streams_query(void *user, void *event);
cuarena_status_t cuai_streams_wait(void *user, void *event, cuarena_stream_t stream, int32_t host);
void cuai_streams_unmark(void *user, void *event);

/* Puts the five into a table. */
void cuai_streams_fill(cuarena_memory_ops_t *ops);

/* The place whose context a stream that was identified belongs to; the driver is called with the
 * handle there. Open until the memory ends. */
cuarena_status_t cuai_streams_place(cuai_streams_t *streams, cuarena_stream_t stream,
                                    cuai_place_t **place_out);
/* BUSY, put into words: the stream's capture has failed. */
cuarena_status_t cuai_streams_fail_capture(cuarena_stream_t stream);
/* The caller waits for the work of a stream that it has just passed and that perhaps was not
 * identified. Takes no host memory. BUSY: it is being captured.
 */
cuarena_status_t cuai_streams_synchronize(void *user, cuarena_stream_t stream);
/* The caller waits for the work of the stream so far; nothing to wait for with CUARENA_NO_STREAM.
 * Before the CPU touches the bytes. */
cuarena_status_t cuai_streams_drain(cuai_streams_t *streams, cuarena_stream_t stream);

#endif
