/*
 * Bytes that a caller owns, whatever they are: one segment, given once, that can be lengthened up
 * to all of them. It begins at the first multiple of the arena's alignment and has as many whole
 * granules as fit.
 */
#ifndef CUAI_MEMORY_HOST_OWNED_H
#define CUAI_MEMORY_HOST_OWNED_H

#include <stdatomic.h>

#include "cuarena/arena.h"

/* `given` is read by whoever asks what is available, beside a get. */
typedef struct cuai_owned {
    uint64_t address;
    uint64_t bytes;    /* from there, a multiple of the granule */
    atomic_bool given; /* true while the segment is out */
} cuai_owned_t;

/* The whole granules in what the configuration brought. */
cuarena_status_t cuai_owned_find(const cuarena_config_t *config, cuai_owned_t *owned);
uint64_t cuai_owned_left(const cuai_owned_t *owned);
cuarena_status_t cuai_owned_get(cuai_owned_t *owned, uint64_t bytes,
                                cuarena_memory_segment_t *segment_out);
void cuai_owned_give_back(cuai_owned_t *owned);

/* Functions of the table; `user` is not looked at. */
cuarena_status_t cuai_owned_grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes);
void cuai_owned_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes);

#endif
