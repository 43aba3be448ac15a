/*
 * Frames: which of the caller's functions this thread is in now.
 *
 * A frame stands on the stack of the call that entered the function; a thread
 * has a list of them. So a call that is not legal there is told, instead of
 * waiting for itself.
 */
#ifndef CUAI_BASE_FRAME_H
#define CUAI_BASE_FRAME_H

#include <stdbool.h>

typedef enum cuai_frame_kind {
    CUAI_FRAME_MEMORY,     /* a function of a memory; owner: its user */
    CUAI_FRAME_RELOCATION, /* a relocation callback; owner: the arena */
    CUAI_FRAME_OOM,        /* an out-of-memory handler; owner: the arena */
    CUAI_FRAME_EVENT       /* an event listener; owner: the arena */
} cuai_frame_kind_t;

typedef struct cuai_frame {
    const struct cuai_frame *below;
    const void *owner;
    cuai_frame_kind_t kind;
} cuai_frame_t;

void cuai_frame_push(cuai_frame_t *frame, cuai_frame_kind_t kind,
                     const void *owner);
/* Of the thread's last frame. */
void cuai_frame_pop(void);
/* Whether this thread is in such a function of that owner. */
bool cuai_frame_within(cuai_frame_kind_t kind, const void *owner);

#endif
