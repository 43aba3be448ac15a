#include "base/frame.h"

#include <stddef.h>

#include "base/compiler.h"

/* This TLS model finds the word without a call, also in a library that was loaded late. */
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local const cuai_frame_t *top;

void cuai_frame_push(cuai_frame_t *frame, cuai_frame_kind_t kind, const void *owner)
{
    CUAI_ASSERT((owner == NULL) == (kind == CUAI_FRAME_LOG));
    frame->below = top;
    frame->owner = owner;
    frame->kind = kind;
    top = frame;
}

void cuai_frame_pop(void)
{
    CUAI_ASSERT(top != NULL);
    top = top->below;
}

uint64_t cuai_frame_count(cuai_frame_kind_t kind, const void *owner)
{
    uint64_t count = 0;
    for (const cuai_frame_t *frame = top; frame != NULL; frame = frame->below)
        count += frame->kind == kind && frame->owner == owner;
    return count;
}

bool cuai_frame_within(cuai_frame_kind_t kind, const void *owner)
{
    return cuai_frame_count(kind, owner) != 0;
}

bool cuai_frame_in_call(void)
{
    return top != NULL && top->kind == CUAI_FRAME_CALL;
}
