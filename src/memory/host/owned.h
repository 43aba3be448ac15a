/*
 * Bytes of any kind that a caller owns: one segment, given to one arena at a time, that can be
 * lengthened up to all of them. It begins at the first multiple of the arena's alignment and has as
 * many whole granules as fit.
 */
#ifndef CUAI_MEMORY_HOST_OWNED_H
#define CUAI_MEMORY_HOST_OWNED_H

#include <stdatomic.h>

#include "cuarena/arena.h"

/* `given` is atomic because `available` may be asked while a `get` is under way. */
typedef struct cuai_owned {
    uint64_t address;
    uint64_t bytes;    /* a multiple of the granule */
    atomic_bool given; /* the arena has the segment */
} cuai_owned_t;

/* Finds the whole granules in the bytes of a configuration. BAD_ARGUMENT. */
cuarena_status_t cuai_owned_find(const cuarena_config_t *config, cuai_owned_t *owned);
/* How many bytes a segment could have now. */
uint64_t cuai_owned_left(const cuai_owned_t *owned);
cuarena_status_t cuai_owned_get(cuai_owned_t *owned, uint64_t bytes,
                                cuarena_memory_segment_t *segment_out);
void cuai_owned_give_back(cuai_owned_t *owned);

/* Functions of the table; `user` is not looked at. */
cuarena_status_t cuai_owned_grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes);
void cuai_owned_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes);

#endif
