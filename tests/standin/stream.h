/*
 * Streams: handles of lines. Three handles are no objects: NULL and 1 are the legacy stream of the
 * current context, 2 is the calling thread's own.
 */
#ifndef CUARENA_STANDIN_STREAM_H
#define CUARENA_STANDIN_STREAM_H

#include "abi.h"
#include "object.h"
#include "work.h"

struct sd_capture;
struct sd_context;

typedef struct sd_stream {
    sd_object_t object;
    sd_line_t *line;
    unsigned flags;
    int priority;
    struct sd_capture *capture; /* NULL: it does not take part in one */
    unsigned capture_branch;    /* which of its sequences it is */
} sd_stream_t;

/* Where a handle leads. */
typedef struct sd_target {
    struct sd_context *context;
    sd_line_t *line;
    sd_stream_t *stream; /* NULL: one of the three */
} sd_target_t;

/* Aborts on a dead handle. */
sd_target_t sd_target(CUstream handle);
/* Puts the unit into the stream, or into what it captures; frees it if it cannot be had. `after`:
 * what it waits for too; NULL: nothing. */
CUresult sd_submit(const sd_target_t *target, sd_work_t *work, const sd_clock_t *after);
/* All that is in the stream, and what it would wait for. */
void sd_target_submitted(const sd_target_t *target, sd_clock_t *clock);
/* Waits for that. */
void sd_target_wait(const sd_target_t *target);
/* A unit that does nothing but stand in its place. */
sd_work_t *sd_work_nothing(struct sd_context *context);

#endif
