/*
 * Frames: which calls of the library, and which of the caller's functions that these call, this
 * thread is in now.
 *
 * A frame stands on the stack of the call, or of the one that entered the function; a thread has a
 * list of them. So a call that is not legal there is told, instead of waiting for itself. Where the
 * last one is a call, it is not the thread that calls the library now but a signal handler that
 * interrupted it.
 */
#ifndef CUAI_BASE_FRAME_H
#define CUAI_BASE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cuai_frame_kind {
    CUAI_FRAME_MEMORY,     /* a function of a memory; owner: its user */
    CUAI_FRAME_RELOCATION, /* a relocation callback; owner: the arena */
    CUAI_FRAME_OOM,        /* an out-of-memory handler; owner: the arena */
    CUAI_FRAME_EVENT,      /* an event listener; owner: the arena */
    CUAI_FRAME_LOG,        /* a log callback; owner: NULL */
    CUAI_FRAME_CALL        /* a call that may step out; owner: the arena */
} cuai_frame_kind_t;

typedef struct cuai_frame {
    const struct cuai_frame *below;
    const void *owner;
    cuai_frame_kind_t kind;
} cuai_frame_t;

void cuai_frame_push(cuai_frame_t *frame, cuai_frame_kind_t kind, const void *owner);
/* Of the thread's last frame. */
void cuai_frame_pop(void);
/* Whether this thread is in such a function of that owner. */
bool cuai_frame_within(cuai_frame_kind_t kind, const void *owner);
/* In how many. */
uint64_t cuai_frame_count(cuai_frame_kind_t kind, const void *owner);
/* Whether this thread is in a call, and in no function that one called. */
bool cuai_frame_in_call(void);

#endif
