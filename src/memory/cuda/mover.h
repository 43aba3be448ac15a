/*
 * A mover: executes lists of relocations on the device.
 *
 * One kernel launch takes as much of a list as it can (slide.h). All launches share the mover's
 * scratch and staging: one thread at a time plans and queues, and each launch waits for the last
 * one, whatever its stream. Where no kernel can run, entries become copies that never overlap
 * themselves, through a bounce buffer if they move by little.
 */
#ifndef CUAI_MEMORY_CUDA_MOVER_H
#define CUAI_MEMORY_CUDA_MOVER_H

#include "cuarena/memory.h"
#include "memory/cuda/events.h"
#include "memory/cuda/kernels.h"
#include "memory/cuda/place.h"
#include "memory/cuda/slide.h"

typedef struct cuai_mover {
    cuai_place_t *place;
    cuai_kernels_t *kernels; /* NULL: copies only */
    cuai_cu_pointer_t scratch;
    void *staging;
    cuai_cu_pointer_t bounce;

    cuai_lock_t lock; /* guards `busy` */
    cuai_cond_t free_again;
    bool busy; /* a thread uses what follows, without the lock */
    cuai_slide_t slide;
    cuai_event_t *last; /* the last list is done */
    bool unrecorded;    /* the last list has no event: no other list may follow */
    bool staged;        /* a launch may read the staging until `last` */
} cuai_mover_t;

/* Allocates scratch and staging, loads the kernels and launches each once, on `stream`, for which
 * it waits; where no kernel runs, allocates a bounce buffer instead. `mover` is all 0; on an error
 * nothing is left to end. */
cuarena_status_t cuai_mover_open(cuai_mover_t *mover, cuai_place_t *place, cuai_cu_stream_t stream);
/* Ends the mover; nothing that it queued is under way. */
void cuai_mover_end(cuai_mover_t *mover);

/* Queues the list on a stream of the place's context. `done_out` is how many entries were queued,
 * also when it fails. */
cuarena_status_t cuai_mover_queue(cuai_mover_t *mover, const cuarena_relocation_t *list,
                                  size_t count, cuai_cu_stream_t stream, size_t *done_out);

#endif
