/* What an arena is to the layer: whose its bytes are, and what an address is to it, without a word
 * if it is nothing. */
#ifndef CUAI_API_OWNER_H
#define CUAI_API_OWNER_H

#include <stdbool.h>

#include "cuarena/arena.h"

typedef struct cuai_owned {
    bool inside; /* in what the arena has taken */
    bool begins; /* a block that callers may name begins there */
    bool live;   /* one begins there or is around it; the members below tell of it */
    uint64_t address;
    uint64_t requested;
    cuarena_block_t block;
    cuarena_tag_t tag;
} cuai_owned_t;

/* The driver's pool that the arena's bytes come from, a CUmemoryPool; NULL: from none. No lock. */
struct CUmemPoolHandle_st *cuai_owner_pool(const cuarena_t *arena);

/* O(segments) unless a block begins there and, with `around`, O(blocks) where one of these is
 * around it. Takes the arena's lock, and lets go of it on the way. */
cuai_owned_t cuai_owner_look(cuarena_t *arena, uint64_t address, bool around);

#endif
