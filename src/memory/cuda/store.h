/*
 * A store: the part that every memory of a device has in common; `user` of its table.
 *
 * A store has a stream of its own for work that must be done when a call returns, and for work of
 * streams of other contexts, which the own stream does between events of theirs.
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
    cuai_cu_stream_t own;   /* non-blocking: has no order with the legacy stream */
    cuai_mover_t mover;
    bool has_mover;         /* false: the CPU moves the bytes */
    atomic_bool unfinished; /* the last wait for the own stream failed */
} cuai_store_t;

/* Some work of the device, and the stream that does it. */
typedef struct cuai_work {
    cuai_store_t *store;
    cuai_cu_stream_t stream; /* of the store's context */
    cuarena_stream_t asked;
    cuai_place_t *elsewhere; /* the place of `asked`; NULL: the store's own */
} cuai_work_t;

/* Allocates a memory's record of `size` bytes, which begins with a store, and opens the store: the
 * configuration's place and the own stream. The rest is 0. NULL on an error. */
void *cuai_store_open(size_t size, const char *name, const cuarena_config_t *config,
                      cuarena_status_t *status);
/* Opens the mover, for relocations by the device. */
cuarena_status_t cuai_store_add_mover(cuai_store_t *store);
/* Ends a store that nobody uses, and frees the record. */
void cuai_store_end(void *user);

/* Fills the part of the table that all memories of a device have: name, streams, available, total,
 * relocate, zero_bytes, set_bytes, read_bytes and end; and the facts of the place. Without a mover
 * the CPU relocates. */
void cuai_store_fill(const cuai_store_t *store, cuai_memory_t *out);

/* Blocks the caller until the own stream has done its work. */
cuarena_status_t cuai_store_wait(cuai_store_t *store);
/* Enters the place to free bytes, after the own stream has done with them. False also if that
 * cannot be known: then the bytes are never freed. */
bool cuai_store_enter_to_end(cuai_store_t *store, cuai_visit_t *visit);

/* Finds the stream for some work that comes behind what `stream` was given so far: the own one for
 * CUARENA_NO_STREAM. BUSY: `stream` is being captured. */
cuarena_status_t cuai_store_begin(cuai_store_t *store, cuarena_stream_t stream, cuai_work_t *work);
/* Makes what the asking stream is given next come behind the work, which was queued. */
cuarena_status_t cuai_store_pass_on(const cuai_work_t *work);

/* Free bytes and all bytes of the device, as the driver counts them. */
cuarena_status_t cuai_store_info(cuai_store_t *store, uint64_t *free_out, uint64_t *total_out);

static inline void *cuai_store_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

#endif
