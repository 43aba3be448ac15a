/*
 * Uses: which streams use a block besides its own, and what its free waits for (uses.h has what is
 * done with them).
 */
#ifndef CUAI_ARENA_USE_H
#define CUAI_ARENA_USE_H

#include <stddef.h>

#include "arena/timeline.h"
#include "cuarena/heap.h"

/* The uses of a block that several streams use, that is dedicated or exported. It has room enough
 * for the free to take no memory.
 *
 * Each wait names a stream; once the block is freed, with the serial to wait for. CUAI_TO_COME: the
 * event could not be recorded then, and is when somebody reclaims. 0: the stream needs none before
 * it is released, and then its last event. */
typedef struct cuai_use {
    cuarena_block_t block;
    struct cuai_use *chain; /* of its bucket */
    struct cuai_use *next;  /* the next in the queue */
    uint32_t target;        /* the stream whose free list gets the bytes; 0: they are idle */
    uint32_t count;         /* of waits */
    uint32_t room;          /* of waits; one is kept free for the stream of the free */
    cuai_point_t *waits;
} cuai_use_t;

/* All of them: a hash table by block id, and a queue of freed blocks. */
typedef struct cuai_uses {
    cuai_use_t **buckets;
    size_t bucket_count; /* power of two, or 0 */
    size_t count;
    cuai_use_t *first; /* the queue, in the order of the frees */
    cuai_use_t **last;
} cuai_uses_t;

#endif
