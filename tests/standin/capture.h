/*
 * Capture: streams whose work is written into a graph instead of being run,
 * and graphs that run it later. Each stream that takes part is a branch of the graph; what waits
 * between them is kept, so that branches which nothing orders run in any order.
 */
#ifndef CUARENA_STANDIN_CAPTURE_H
#define CUARENA_STANDIN_CAPTURE_H

#include "abi.h"
#include "context.h"
#include "event.h"
#include "stream.h"

#include <stdbool.h>

/* Whether the stream takes part in a capture that goes on. */
bool sd_captures(const sd_target_t *target);
/* Whether it takes part in one that was ended by an error. */
bool sd_capture_is_broken(const sd_target_t *target);
/* Whether the event's latest record is part of a capture that goes on. */
bool sd_capture_holds(const sd_event_t *event);
/* Takes the unit into the stream's capture, if it is in one. An error where work may not be put
 * into the stream because of a capture. */
CUresult sd_capture_take(const sd_target_t *target, sd_work_t *work, bool *taken);
/* The same for a record and for a wait. */
CUresult sd_capture_record(const sd_target_t *target, sd_event_t *event, bool *taken);
CUresult sd_capture_wait(const sd_target_t *target, const sd_event_t *event, bool *taken);
/* For calls that are illegal on a stream that captures: the error, which ends the capture. */
CUresult sd_capture_forbids(const sd_target_t *target);
/* For calls that are illegal while any stream of the context captures. */
CUresult sd_capture_forbids_all(const sd_context_t *context);
/* For calls that are illegal while this or another thread captures so. */
CUresult sd_capture_forbids_unsafe(void);
/* The stream is destroyed. */
void sd_capture_forget(sd_stream_t *stream);

struct sd_keeps;
/* The user objects of a graph. */
struct sd_keeps *sd_graph_keeps(CUgraph graph);

#endif
