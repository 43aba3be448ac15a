/*
 * The cache of a heap: blocks that were freed and stay whole, by capacity.
 *
 * A cached block keeps its record, of the kind CACHED, and its place in the look-up, but nothing
 * finds it: its id ended when it was parked. No plan moves it and nothing merges with it. Each has
 * a node beside its record:
 *
 *   bins    one for each power of two, with a bit for each that has any
 *   tree    in a bin: a digital tree over the capacity. A node's children have
 *           the next lower bit clear and set; a node may have any capacity that
 *           agrees with the bits on the way to it
 *   chain   equal capacities are a ring behind the one in the tree, which was
 *           parked first of them
 *   ages    all of them in the order in which they were parked
 *
 * A capacity below 2^48 granules has at most 47 bits below its highest, so a look takes at most
 * twice as many steps: down the tree, and down to the least of a branch.
 *
 * Nodes stand in an array as records do, and get memory with them: to park and to take a block
 * takes none.
 */
#ifndef CUAI_HEAP_CACHE_H
#define CUAI_HEAP_CACHE_H

#include "base/host.h"
#include "heap/record.h"

#define CUAI_CACHE_BINS 64

typedef struct cuai_cache_node {
    cuai_slot_t parent;   /* in the tree; 0: its bin's root, or in a ring */
    cuai_slot_t child[2]; /* by the next lower bit of the capacity */
    cuai_slot_t before;   /* its ring of equals: that parked before it */
    cuai_slot_t after;    /* ... and after it; in a ring of one itself */
    cuai_slot_t older;    /* of the ages; 0's node ends both sides */
    cuai_slot_t newer;
    uint32_t in_tree; /* 1: it is its ring's first */
} cuai_cache_node_t;
_Static_assert(sizeof(cuai_cache_node_t) == 32, "half a cache line");

typedef struct cuai_cache {
    cuai_cache_node_t *nodes;
    uint64_t bins; /* bits: those with a root */
    cuai_slot_t roots[CUAI_CACHE_BINS];
    cuai_host_region_t region;
    uint64_t steps; /* of all looks, for tests */
} cuai_cache_t;

/* For as many slots as there may be; NULL: the host has no memory. */
cuai_cache_t *cuai_cache_create(uint64_t max_slots);
void cuai_cache_destroy(cuai_cache_t *cache);
/* Makes nodes for so many slots; false: the host has no memory. */
bool cuai_cache_commit(cuai_cache_t *cache, uint64_t slots);

/* Of the host, that it uses for so many slots. */
static inline uint64_t cuai_cache_host_bytes(const cuai_cache_t *cache, uint64_t slots)
{
    return sizeof *cache + slots * sizeof(cuai_cache_node_t);
}

void cuai_cache_remove(cuai_cache_t *cache, const cuai_record_t *records, cuai_slot_t slot);
/* The one of least capacity that has at least `size`, which is not 0; of equals that which was
 * parked first. 0: there is none. */
cuai_slot_t cuai_cache_find(cuai_cache_t *cache, const cuai_record_t *records, uint64_t size);
/* What is wrong with the links of `count` blocks; NULL: nothing. */
const char *cuai_cache_wrong(const cuai_cache_t *cache, const cuai_record_t *records,
                             uint64_t count);

/* The one that was parked first; 0: there is none. */
static inline cuai_slot_t cuai_cache_oldest(const cuai_cache_t *cache)
{
    return cache->nodes[0].newer;
}

/* The next of the same capacity; the first again behind the last. */
static inline cuai_slot_t cuai_cache_equal(const cuai_cache_t *cache, cuai_slot_t slot)
{
    return cache->nodes[slot].after;
}

#endif
