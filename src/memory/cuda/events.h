/*
 * Events: moments of a stream that can be queried and waited for.
 *
 * An event is an event of the driver, without timing, made in the context of the stream that it is
 * recorded on. Released ones are kept idle with their place for the next record, pending or not:
 * recording an event anew does not disturb those who wait for its old moment. They end with the
 * place.
 */
#ifndef CUAI_MEMORY_CUDA_EVENTS_H
#define CUAI_MEMORY_CUDA_EVENTS_H

#include "memory/cuda/place.h"

typedef struct cuai_event {
    cuai_place_t *place;
    cuai_cu_event_t event;
    struct cuai_event *next; /* while it is idle */
} cuai_event_t;

/* Whether the stream is being captured into a graph, so that nothing may be recorded on it and it
 * cannot be made to wait. The legacy stream counts as captured while any stream of the context is:
 * it cannot be used then. In a visit. */
cuai_cu_result_t cuai_event_ask_capture(const cuai_cuda_t *cuda, cuai_cu_stream_t stream,
                                        int32_t *capturing_out);
/* BUSY, with the last error set, if the stream is being captured; else OK. In a visit. */
cuarena_status_t cuai_event_check_capture(const cuai_cuda_t *cuda, cuai_cu_stream_t stream);
/* Records the work so far of `stream`, one of the place's context: in *event if that is an event of
 * this place, else in another one, which replaces it; NULL: in a new one. On an error *event is as
 * it was; BUSY: the stream is being captured. */
cuarena_status_t cuai_event_record(cuai_place_t *place, cuai_cu_stream_t stream,
                                   cuai_event_t **event);
/* A new event behind the work so far of all streams of the context. UNSUPPORTED, without a last
 * error, by drivers before 12.5. */
cuarena_status_t cuai_event_record_all(cuai_place_t *place, cuai_event_t **event);
/* OK if the work is done, else BUSY; or a failure of the driver. */
cuarena_status_t cuai_event_query(cuai_event_t *event);
/* Makes what `stream`, of the context of `place`, is given from now on begin after the event, which
 * may be of another device. BUSY: the stream is being captured. */
cuarena_status_t cuai_event_wait(cuai_event_t *event, cuai_place_t *place, cuai_cu_stream_t stream);
/* Blocks the caller until the event is over. */
cuarena_status_t cuai_event_wait_host(cuai_event_t *event);
/* Blocks the caller until all work on a stream of the place is over, without an event. BUSY: it is
 * being captured. */
cuarena_status_t cuai_event_synchronize(cuai_place_t *place, cuai_cu_stream_t stream);
/* Releases an event, over or not. NULL is fine. */
void cuai_event_release(cuai_event_t *event);

/* For places: ends all idle events. With `forget` the driver is not called. */
void cuai_events_end(cuai_place_t *place, bool forget);

#endif
