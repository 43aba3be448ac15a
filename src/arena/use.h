/*
 * Uses: which streams use a block besides its own, and what its free waits for (uses.h has what is
 * done with them).
 */
#ifndef CUAI_ARENA_USE_H
#define CUAI_ARENA_USE_H

#include <stdbool.h>
#include <stddef.h>

#include "cuarena/heap.h"

/* A block's use of a stream; once it is freed, with the event to wait for:
 * NULL if that is the stream's own, of a released one. */
typedef struct cuai_wait {
    uint32_t number;
    bool unrecorded; /* its event is to be recorded yet: it was being captured */
    void *event;
} cuai_wait_t;

/* What is kept of a block that other streams use, or that is dedicated: enough for its free to take
 * no memory. */
typedef struct cuai_use {
    cuarena_block_t block;
    struct cuai_use *chain; /* of its bucket */
    struct cuai_use *next;  /* of those that were freed, in that order */
    uint32_t target;        /* freed on this stream */
    uint32_t count;         /* of waits */
    uint32_t room;          /* ... one more is kept free for the target */
    cuai_wait_t *waits;
} cuai_use_t;

/* All of them: a hash table by block id, and a queue of those freed. */
typedef struct cuai_uses {
    cuai_use_t **buckets;
    size_t bucket_count; /* power of two, or 0 */
    size_t count;
    cuai_use_t *first; /* freed, and waiting */
    cuai_use_t **last;
} cuai_uses_t;

#endif
