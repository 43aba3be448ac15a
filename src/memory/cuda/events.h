/*
 * Events: moments of a stream that can be asked about and waited for.
 *
 * An event is an event of the driver, without timing, made in the context of the stream that it
 * marks. Those that nobody needs are kept with their place for the next one, pending or not:
 * recording an event anew does not disturb who waits for its old meaning. They end with the place.
 */
#ifndef CUAI_MEMORY_CUDA_EVENTS_H
#define CUAI_MEMORY_CUDA_EVENTS_H

#include "memory/cuda/place.h"

typedef struct cuai_event {
    cuai_place_t *place;
    cuai_cu_event_t event;
    struct cuai_event *next; /* while it is idle */
} cuai_event_t;

/* Whether the stream is being captured into a graph, so that nothing may be recorded on it, nor may
 * it be made to wait. While a stream of the context is, the legacy stream can be used for nothing:
 * as good as capturing itself. In a visit. */
cuai_cu_result_t cuai_event_ask_capture(const cuai_cuda_t *cuda, cuai_cu_stream_t stream,
                                        int32_t *capturing_out);
/* BUSY, put into words, if it is; no error otherwise. In a visit. */
cuarena_status_t cuai_event_check_capture(const cuai_cuda_t *cuda, cuai_cu_stream_t stream);
/* Marks the work of `stream`, one of the place's context, so far: in *event
 * if that is one of this place, else in another that takes its place. NULL: a new one. On an error
 * *event is as it was; BUSY: the stream is captured. */
cuarena_status_t cuai_event_record(cuai_place_t *place, cuai_cu_stream_t stream,
                                   cuai_event_t **event);
/* A new event behind the work of all streams of the context so far. UNSUPPORTED, with no error put
 * into words, by drivers before 12.5. */
cuarena_status_t cuai_event_record_all(cuai_place_t *place, cuai_event_t **event);
/* OK or BUSY, or what the driver says. */
cuarena_status_t cuai_event_query(cuai_event_t *event);
/* The work that `stream` gets from now on, of the context of `place`, begins after the marked work.
 * Devices may differ. BUSY: it is captured. */
cuarena_status_t cuai_event_wait(cuai_event_t *event, cuai_place_t *place, cuai_cu_stream_t stream);
/* The caller waits for it. */
cuarena_status_t cuai_event_wait_host(cuai_event_t *event);
/* Ends an event, done or not. NULL is fine. */
void cuai_event_release(cuai_event_t *event);

/* For places: ends all idle ones. With `forget` no driver is called. */
void cuai_events_end(cuai_place_t *place, bool forget);

#endif
