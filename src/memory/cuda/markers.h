/*
 * Markers: moments of a stream that can be asked about and waited for.
 *
 * A marker is an event of the driver, without timing, made in the context of
 * the stream that it marks. Those that nobody needs are kept with their place
 * for the next one, pending or not: recording an event anew does not disturb
 * who waits for its old meaning. They end with the place.
 */
#ifndef CUAI_MEMORY_CUDA_MARKERS_H
#define CUAI_MEMORY_CUDA_MARKERS_H

#include "memory/cuda/place.h"

typedef struct cuai_marker {
    cuai_place_t *place;
    cuai_cu_event_t event;
    struct cuai_marker *next; /* while it is idle */
} cuai_marker_t;

/* Whether the stream is being captured into a graph, so that nothing may be
 * recorded on it, nor may it be made to wait. While a stream of the context is,
 * the legacy stream can be used for nothing: as good as capturing itself. In a
 * visit. */
cuai_cu_result_t cuai_marker_ask_capture(const cuai_cuda_t *cuda,
                                         cuai_cu_stream_t stream,
                                         int32_t *capturing_out);
/* BUSY, put into words, if it is; no error otherwise. In a visit. */
cuarena_status_t cuai_marker_check_capture(const cuai_cuda_t *cuda,
                                           cuai_cu_stream_t stream);
/* Marks the work of `stream`, one of the place's context, so far: in *marker
 * if that is one of this place, else in another that takes its place. NULL: a
 * new one. On an error *marker is as it was; BUSY: the stream is captured. */
cuarena_status_t cuai_marker_record(cuai_place_t *place,
                                    cuai_cu_stream_t stream,
                                    cuai_marker_t **marker);
/* A new marker behind the work of all streams of the context so far.
 * UNSUPPORTED, with no error put into words, by drivers before 12.5. */
cuarena_status_t cuai_marker_record_all(cuai_place_t *place,
                                        cuai_marker_t **marker);
/* OK or BUSY, or what the driver says. */
cuarena_status_t cuai_marker_query(cuai_marker_t *marker);
/* The work that `stream` gets from now on, of the context of `place`, begins
 * after the marked work. Devices may differ. BUSY: it is captured. */
cuarena_status_t cuai_marker_wait(cuai_marker_t *marker, cuai_place_t *place,
                                  cuai_cu_stream_t stream);
/* The caller waits for it. */
cuarena_status_t cuai_marker_wait_host(cuai_marker_t *marker);
/* Ends a marker, done or not. NULL is fine. */
void cuai_marker_release(cuai_marker_t *marker);

/* For places: ends all idle ones. With `forget` no driver is called. */
void cuai_markers_end(cuai_place_t *place, bool forget);

#endif
