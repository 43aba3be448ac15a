/*
 * The cache of a heap: an index by capacity of the blocks that were freed and stay whole. How a
 * block becomes one of them is in cached.h, the inlined bodies are in cache_inline.h.
 *
 * A cached block keeps its record, of the kind CACHED, and its place in the look-up, but nothing
 * finds it: its id ended when it was put here. No plan moves it and nothing merges with it. Each
 * has a node beside its record:
 *
 *   bins    one for each power of two, with a bit for each that has any
 *   tree    in a bin: a digital tree over the capacity. A node's children have
 *           the next lower bit clear and set; a node may have any capacity that
 *           agrees with the bits on the way to it
 *   ring    equal capacities are a ring behind the one in the tree, which is the
 *           oldest of them
 *   ages    all of them in the order in which they were put here
 *
 * A capacity below 2^48 granules has at most 47 bits below its highest, so a look takes at most
 * twice as many steps: down the tree, and down to the least of a branch.
 *
 * Nodes are in an array as records are, and get memory with them: put and get allocate none.
 */
#ifndef CUAI_HEAP_CACHE_H
#define CUAI_HEAP_CACHE_H

#include "base/host.h"
#include "heap/record.h"

#define CUAI_CACHE_BINS 64

typedef struct cuai_cache_node {
    cuai_slot_t parent;   /* in the tree; 0: the node is its bin's root */
    cuai_slot_t child[2]; /* by the next lower bit of the capacity */
    cuai_slot_t before;   /* neighbours in its ring; in a ring of one the node itself */
    cuai_slot_t after;
    cuai_slot_t older; /* neighbours in the ages, of which node 0 is both ends */
    cuai_slot_t newer;
    uint32_t in_tree; /* 1: it is the first of its ring, and in the tree */
} cuai_cache_node_t;
_Static_assert(sizeof(cuai_cache_node_t) == 32, "half a cache line");

typedef struct cuai_cache {
    cuai_cache_node_t *nodes;
    uint64_t bins; /* bit i: bin i has a root */
    cuai_slot_t roots[CUAI_CACHE_BINS];
    cuai_host_region_t region;
    uint64_t steps; /* of all looks, for tests */
} cuai_cache_t;

/* Makes a cache for at most `max_slots` slots; NULL: the host has no memory. */
cuai_cache_t *cuai_cache_create(uint64_t max_slots);
void cuai_cache_destroy(cuai_cache_t *cache);
/* Makes nodes for the first `slots` slots; false: the host has no memory. */
bool cuai_cache_commit(cuai_cache_t *cache, uint64_t slots);

/* Bytes of the host that it uses for so many slots. */
static inline uint64_t cuai_cache_host_bytes(const cuai_cache_t *cache, uint64_t slots)
{
    return sizeof *cache + slots * sizeof(cuai_cache_node_t);
}

/* Takes a cached block out of the cache. */
void cuai_cache_remove(cuai_cache_t *cache, const cuai_record_t *records, cuai_slot_t slot);
/* The smallest cached block of at least `size`, which is not 0; of equals the oldest. 0: there is
 * none. */
cuai_slot_t cuai_cache_find(cuai_cache_t *cache, const cuai_record_t *records, uint64_t size);
/* What is wrong with the links of the cache, which has `count` blocks; NULL: nothing. */
const char *cuai_cache_wrong(const cuai_cache_t *cache, const cuai_record_t *records,
                             uint64_t count);

/* The block that is here longest; 0: there is none. */
static inline cuai_slot_t cuai_cache_oldest(const cuai_cache_t *cache)
{
    return cache->nodes[0].newer;
}

/* The next block of equal capacity: behind the last comes the first again. */
static inline cuai_slot_t cuai_cache_equal(const cuai_cache_t *cache, cuai_slot_t slot)
{
    return cache->nodes[slot].after;
}

#endif
