/*
 * The available, total, relocate and zero_bytes of memories whose bytes are the host's. The last
 * two wait for the work of `stream` so far, because the order of a stream does not bind the CPU;
 * everything is done when it returns.
 *
 * `user` begins with a cuai_streams_t (memory/cuda/streams.h).
 */
#ifndef CUAI_MEMORY_HOST_MOVE_H
#define CUAI_MEMORY_HOST_MOVE_H

#include "cuarena/memory.h"

cuarena_status_t cuai_host_available(void *user, uint64_t *bytes_out);
cuarena_status_t cuai_host_total(void *user, uint64_t *bytes_out);
cuarena_status_t cuai_move_relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                    cuarena_stream_t stream, size_t *done_out);
cuarena_status_t cuai_move_zero(void *user, void *address, uint64_t bytes, cuarena_stream_t stream);

#endif
