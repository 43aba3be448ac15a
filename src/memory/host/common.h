/*
 * What memories of the host's bytes have in common. Their functions relocate, zero_bytes and
 * set_bytes wait for the work of `stream` so far, because the order of a stream does not bind the
 * CPU; everything is done when they return.
 *
 * `user` begins with a cuai_streams_t (memory/cuda/streams.h).
 */
#ifndef CUAI_MEMORY_HOST_COMMON_H
#define CUAI_MEMORY_HOST_COMMON_H

#include "memory/cuda/streams.h"

/* Allocates a memory's record of `size` bytes, which begins with its streams, and opens these. The
 * rest is 0. NULL, with *status set: the host has no memory. */
void *cuai_host_memory_open(size_t size, const char *name, cuarena_status_t *status);
/* Fills the part of the table that all have: name, properties, streams, available, total, relocate,
 * zero_bytes, set_bytes, read_bytes, and `end`, which frees the record. */
void cuai_host_memory_fill(const cuai_streams_t *streams, cuarena_memory_ops_t *ops);

cuarena_status_t cuai_host_available(void *user, uint64_t *bytes_out);
cuarena_status_t cuai_host_total(void *user, uint64_t *bytes_out);
cuarena_status_t cuai_move_relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                    cuarena_stream_t stream, size_t *done_out);
cuarena_status_t cuai_move_zero(void *user, void *address, uint64_t bytes, cuarena_stream_t stream);
cuarena_status_t cuai_move_set(void *user, void *address, int32_t value, uint64_t bytes,
                               cuarena_stream_t stream);
cuarena_status_t cuai_move_read(void *user, void *to, const void *address, uint64_t bytes);

#endif
