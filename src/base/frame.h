/*
 * Frames: the calls of the library, and the caller's functions called by these, that this thread is
 * in now.
 *
 * A frame is on the stack of the call, or of whoever entered the function; a thread has a list of
 * them. So a call that is not legal there is refused instead of waiting for itself. If the last
 * frame is a call, then whoever calls the library now is a signal handler that interrupted it.
 */
#ifndef CUAI_BASE_FRAME_H
#define CUAI_BASE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cuai_frame_kind {
    CUAI_FRAME_MEMORY,     /* a function of a memory; owner: its cuai_counted_t */
    CUAI_FRAME_RELOCATION, /* a relocation callback; owner: the arena */
    CUAI_FRAME_OOM,        /* an out-of-memory handler; owner: the arena */
    CUAI_FRAME_EVENT,      /* an event listener; owner: the arena */
    CUAI_FRAME_LOG,        /* a log callback; owner: NULL */
    CUAI_FRAME_CALL        /* a call that may drop the lock; owner: the arena */
} cuai_frame_kind_t;

typedef struct cuai_frame {
    const struct cuai_frame *below;
    const void *owner;
    cuai_frame_kind_t kind;
} cuai_frame_t;

void cuai_frame_push(cuai_frame_t *frame, cuai_frame_kind_t kind, const void *owner);
/* Removes the frame that this thread pushed last. */
void cuai_frame_pop(void);
/* Whether this thread is in a function of that kind and owner. */
bool cuai_frame_within(cuai_frame_kind_t kind, const void *owner);
/* How many such frames this thread has. */
uint64_t cuai_frame_count(cuai_frame_kind_t kind, const void *owner);
/* Whether this thread is in a call, and in no function that one called. */
bool cuai_frame_in_call(void);

#endif
