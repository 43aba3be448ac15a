/*
 * Work: what is put into streams. A line is a sequence of work, one per stream; a unit of work may
 * run when it is the first of its line and everything that its clock covers is complete. Which of
 * those that may run comes next is chance, so that every order which the program allows comes up
 * for some seed.
 *
 * A unit's clock is fixed when it is submitted: what its line covered, what the host had seen
 * complete, and what it waits for. So whether two units are ordered does not depend on how they
 * happen to run.
 */
#ifndef CUARENA_STANDIN_WORK_H
#define CUARENA_STANDIN_WORK_H

#include "abi.h"
#include "clock.h"
#include "standin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_context;
struct sd_bytes;
typedef struct sd_work sd_work_t;

typedef struct sd_line {
    uint32_t id;
    struct sd_context *context;
    uint64_t stream_id; /* what reports call it */
    bool barrier;       /* the legacy stream, or one that waits for it */
    uint64_t submitted;
    uint64_t completed;
    uint64_t idle;    /* all that is queued or comes is ordered after this */
    sd_clock_t clock; /* of all that was submitted */
    sd_work_t *first;
    sd_work_t *last;
} sd_line_t;

typedef struct sd_work_class {
    const char *name;
    size_t bytes; /* of the struct that begins with sd_work_t */
    /* One step; STANDIN_FAULT loses the context. Under the lock, which it may give up and take
     * again. */
    standin_step_t (*step)(sd_work_t *work);
    /* Makes what a copy of the struct shares its own; may be NULL. */
    void (*copied)(sd_work_t *work);
    /* Frees what hangs on it, not the struct; may be NULL. */
    void (*drop)(sd_work_t *work);
} sd_work_class_t;

#define SD_USES_MAX 16

struct sd_work {
    const sd_work_class_t *class;
    sd_work_t *next;
    struct sd_context *context;
    const char *call;
    sd_line_t *line;
    uint64_t at;
    sd_clock_t clock;                   /* what comes before it; itself included */
    bool running;                       /* its step has given up the lock */
    struct sd_bytes *uses[SD_USES_MAX]; /* what it is known to touch */
    unsigned use_count;
    bool pattern; /* of a graph, not queued: its bytes are not in use */
};

/* A zeroed unit of the class, of the call and context that are running. */
void *sd_work_new(const sd_work_class_t *class, struct sd_context *context);
/* A copy that can be submitted again. */
sd_work_t *sd_work_copy(const sd_work_t *work);
/* From now on it is what copies are made of: bytes may be freed that no copy
 * is using. */
void sd_work_make_pattern(sd_work_t *work);
/* Frees one that was not submitted. */
void sd_work_free(sd_work_t *work);
/* Says that it touches these bytes: they are in use until it is done. */
void sd_work_uses(sd_work_t *work, struct sd_bytes *bytes);

sd_line_t *sd_line_new(struct sd_context *context, uint64_t stream_id, bool barrier);
/* Puts the unit at the end of a line, after what `after` covers too (NULL: nothing more). */
void sd_line_submit(sd_line_t *line, sd_work_t *work, const sd_clock_t *after);

/* Whether all that the clock covers is complete. */
bool sd_complete(const sd_clock_t *clock);
/* Runs work until it is; then the host has seen it. Gives up the lock while there is nothing to
 * run. */
void sd_wait(const sd_clock_t *clock);
/* The host has seen that all of it is complete. */
void sd_observe(const sd_clock_t *clock);
/* Whether the host has seen this complete, or it is idle. */
bool sd_observed(sd_tick_t tick);
/* Whether the unit comes after the tick. */
bool sd_work_after(const sd_work_t *work, sd_tick_t tick);
/* Whether every unit, queued or to come, comes after the tick. */
bool sd_idle(sd_tick_t tick);
/* Joins to the clock what the legacy stream of the context waits for. */
void sd_barriers_submitted(const struct sd_context *context, sd_clock_t *clock);
/* Joins to the clock all that was submitted for a context (NULL: for all). */
void sd_submitted(const struct sd_context *context, sd_clock_t *clock);

/* One step of something; false if nothing can move. */
bool sd_work_step(void);
/* A few steps, at the pace of the options. */
void sd_work_amble(void);
/* A few steps for one who asks whether work is done. */
void sd_work_nudge(void);
size_t sd_work_pending(void);
/* "cuMemcpyAsync on stream 17" */
const char *sd_work_text(const sd_work_t *work, char *text, size_t room);
sd_line_t *sd_line_of(uint32_t id);

#endif
