#include "base/frame.h"

#include <stddef.h>

static _Thread_local const cuai_frame_t *top;

void cuai_frame_push(cuai_frame_t *frame, cuai_frame_kind_t kind,
                     const void *owner)
{
    frame->below = top;
    frame->owner = owner;
    frame->kind = kind;
    top = frame;
}

void cuai_frame_pop(void)
{
    top = top->below;
}

bool cuai_frame_within(cuai_frame_kind_t kind, const void *owner)
{
    for (const cuai_frame_t *frame = top; frame != NULL; frame = frame->below)
        if (frame->kind == kind && frame->owner == owner)
            return true;
    return false;
}
