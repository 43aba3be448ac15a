/* Copies of the driver, which execute lists of relocations where no kernel runs. */
#ifndef CUAI_MEMORY_CUDA_COPIES_H
#define CUAI_MEMORY_CUDA_COPIES_H

#include <stdbool.h>

#include "cuarena/memory.h"
#include "memory/cuda/place.h"

/* The size of the bounce buffer. */
#define CUAI_COPIES_BOUNCE (UINT64_C(4) << 20)

/*
 * Queues one entry on a stream of the place's context, as copies of which none overlaps itself.
 * `bounce` is the bounce buffer; the stream comes after its last use. An entry that fails may be
 * half copied: *touched_out tells whether anything was queued.
 */
cuarena_status_t cuai_copies_queue(cuai_place_t *place, const cuarena_relocation_t *one,
                                   cuai_cu_pointer_t bounce, cuai_cu_stream_t stream,
                                   bool *touched_out);

#endif
