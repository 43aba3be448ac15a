/*
 * A store: what every memory of a device keeps, whatever its bytes come from; `user` of its table.
 *
 * A store has a stream of its own for what must be done when a call returns, and for streams of
 * other contexts: the work is done on the own stream then, between events of theirs.
 */
#ifndef CUAI_MEMORY_CUDA_STORE_H
#define CUAI_MEMORY_CUDA_STORE_H

#include "cuarena/device.h"
#include "memory/cuda/mover.h"
#include "memory/cuda/streams.h"
#include "memory/memory.h"

typedef struct cuai_store {
    cuai_streams_t streams; /* first: streams.h wants it there */
    cuai_place_t *place;    /* `streams` closes it */
    cuai_cu_stream_t own;   /* waits for no other stream by itself */
    cuai_mover_t mover;
    bool has_mover;         /* else the CPU moves the bytes */
    atomic_bool unfinished; /* the own stream could not be waited for */
} cuai_store_t;

/* Where the device does what was asked for on a stream. */
typedef struct cuai_work {
    cuai_store_t *store;
    cuai_cu_stream_t stream; /* of the store's context */
    cuarena_stream_t asked;
    cuai_place_t *elsewhere; /* of the stream that asked; NULL: it is ours */
} cuai_work_t;

/* Opens the configuration's place and what comes with it; `store` is all 0. On an error nothing is
 * left to end. */
cuarena_status_t cuai_store_open(cuai_store_t *store, const char *name,
                                 const cuarena_config_t *config);
/* Makes what relocations by the device take. */
cuarena_status_t cuai_store_add_mover(cuai_store_t *store);
/* Nothing of it is in use. Frees the store too, which the host allocated. */
void cuai_store_end(void *user);

/* The part of the table that all have: name, streams, available, total, relocate, zero_bytes and
 * end; and what a place tells of itself. */
void cuai_store_fill(const cuai_store_t *store, cuai_memory_t *out);

/* The functions for tables. Without a mover, and for bytes that the CPU reaches, those of
 * memory/host/move.h serve as well. */
cuarena_status_t cuai_store_available(void *user, uint64_t *bytes_out);
cuarena_status_t cuai_store_total(void *user, uint64_t *bytes_out);
cuarena_status_t cuai_store_relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                     cuarena_stream_t stream, size_t *done_out);
cuarena_status_t cuai_store_zero(void *user, void *address, uint64_t bytes,
                                 cuarena_stream_t stream);
cuarena_status_t cuai_store_zero_captured(void *user, void *address, uint64_t bytes,
                                          cuarena_stream_t stream);
/* The caller waits for what the own stream was given. */
cuarena_status_t cuai_store_wait(cuai_store_t *store);
/* Enters the place to end bytes: not before the own stream has done with them. Where that cannot be
 * known, the bytes stay the driver's for good. */
bool cuai_store_enter_to_end(cuai_store_t *store, cuai_visit_t *visit);

/* Finds the stream for some work, which comes behind what `stream` was given so far; with
 * CUARENA_NO_STREAM the own one. BUSY: it is being captured. */
cuarena_status_t cuai_store_begin(cuai_store_t *store, cuarena_stream_t stream, cuai_work_t *work);
/* The work was queued: what the asking stream is given next comes behind it. */
cuarena_status_t cuai_store_pass_on(const cuai_work_t *work);

/* Free and whole bytes of the device, as the driver counts them. */
cuarena_status_t cuai_store_info(cuai_store_t *store, uint64_t *free_out, uint64_t *total_out);

static inline void *cuai_store_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

#endif
