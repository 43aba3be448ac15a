/*
 * The functions of a cache (heap/cache.h has the vocabulary) that are inlined into the fast paths:
 * put and get.
 */
#ifndef CUAI_HEAP_CACHE_INLINE_H
#define CUAI_HEAP_CACHE_INLINE_H

#include "base/bits.h"
#include "base/compiler.h"
#include "heap/cache.h"

/* ---- The tree ---------------------------------------------------------- */

static CUAI_INLINE uint32_t cuai_cache_bin(uint64_t size)
{
    return cuai_log2_floor(size);
}

/* The link that leads to a node of the tree. */
static CUAI_INLINE cuai_slot_t *cuai_cache_link(cuai_cache_t *cache, cuai_slot_t slot,
                                                uint64_t size)
{
    cuai_slot_t parent = cache->nodes[slot].parent;
    CUAI_ASSERT(cache->nodes[slot].in_tree);
    if (parent == 0)
        return &cache->roots[cuai_cache_bin(size)];
    cuai_slot_t *child = cache->nodes[parent].child;
    return &child[child[1] == slot];
}

/* Where a capacity is in its bin's tree, or would be: the link, which is 0 in the latter case, and
 * the node that has it. */
static CUAI_INLINE cuai_slot_t *cuai_cache_descend(cuai_cache_t *cache,
                                                   const cuai_record_t *records, uint64_t size,
                                                   cuai_slot_t *parent_out)
{
    uint32_t bin = cuai_cache_bin(size);
    uint64_t digits = size << (63 - bin) << 1; /* those below the highest */
    cuai_slot_t *link = &cache->roots[bin];
    cuai_slot_t parent = 0;
    while (*link != 0 && records[*link].size != size) {
        parent = *link;
        link = &cache->nodes[parent].child[digits >> 63];
        digits <<= 1;
    }
    *parent_out = parent;
    return link;
}

static CUAI_INLINE void cuai_cache_plant(cuai_cache_t *cache, uint64_t size, cuai_slot_t *link,
                                         cuai_slot_t parent, cuai_slot_t slot)
{
    cuai_cache_node_t *node = &cache->nodes[slot];
    CUAI_ASSERT(*link == 0);
    *link = slot;
    node->parent = parent;
    node->child[0] = 0;
    node->child[1] = 0;
    node->before = slot;
    node->after = slot;
    node->in_tree = 1;
    cache->bins |= UINT64_C(1) << cuai_cache_bin(size);
}

/* Makes the node the last of the ring of `first`. */
static CUAI_INLINE void cuai_cache_join_ring(cuai_cache_t *cache, cuai_slot_t first,
                                             cuai_slot_t slot)
{
    cuai_cache_node_t *node = &cache->nodes[slot];
    cuai_slot_t last = cache->nodes[first].before;
    CUAI_ASSERT(first != slot && cache->nodes[first].in_tree);
    node->in_tree = 0;
    node->before = last;
    node->after = first;
    cache->nodes[last].after = slot;
    cache->nodes[first].before = slot;
}

/* Cuts off a leaf below the node and returns it; 0: the node is a leaf. */
static CUAI_INLINE cuai_slot_t cuai_cache_leaf(cuai_cache_t *cache, cuai_slot_t slot)
{
    cuai_cache_node_t *nodes = cache->nodes;
    cuai_slot_t leaf = 0;
    cuai_slot_t *link = NULL;
    if ((nodes[slot].child[0] | nodes[slot].child[1]) == 0)
        return 0;
    for (;;) {
        cuai_slot_t *child = nodes[leaf != 0 ? leaf : slot].child;
        cuai_slot_t *down = &child[child[1] != 0];
        if (*down == 0)
            break;
        link = down;
        leaf = *down;
    }
    if (leaf != 0)
        *link = 0;
    return leaf;
}

/* Puts `heir` (0: nobody) where `slot` stands in the tree; `link` leads there. */
static CUAI_INLINE void cuai_cache_replace(cuai_cache_t *cache, cuai_slot_t slot, cuai_slot_t *link,
                                           uint64_t size, cuai_slot_t heir)
{
    cuai_cache_node_t *nodes = cache->nodes;
    const cuai_cache_node_t *node = &nodes[slot];
    CUAI_ASSERT(*link == slot && node->in_tree);
    *link = heir;
    if (heir == 0) {
        if (node->parent == 0)
            cache->bins &= ~(UINT64_C(1) << cuai_cache_bin(size));
        return;
    }
    cuai_cache_node_t *h = &nodes[heir];
    h->in_tree = 1;
    h->parent = node->parent;
    for (int i = 0; i < 2; i++) {
        h->child[i] = node->child[i];
        if (h->child[i] != 0)
            nodes[h->child[i]].parent = heir;
    }
}

/* ---- Put and get ------------------------------------------------------- */

/* Puts the block of a slot, of capacity `size`, into the cache. */
static CUAI_INLINE void cuai_cache_put(cuai_cache_t *cache, const cuai_record_t *records,
                                       cuai_slot_t slot, uint64_t size)
{
    cuai_cache_node_t *nodes = cache->nodes;
    cuai_slot_t parent;
    CUAI_ASSERT(records[slot].size == size);
    cuai_slot_t *link = cuai_cache_descend(cache, records, size, &parent);
    if (*link == 0)
        cuai_cache_plant(cache, size, link, parent, slot);
    else
        cuai_cache_join_ring(cache, *link, slot);
    cuai_slot_t newest = nodes[0].older;
    nodes[slot].older = newest;
    nodes[slot].newer = 0;
    nodes[newest].newer = slot;
    nodes[0].older = slot;
}

/* Takes a node of the tree, to which `link` leads, out of the cache. */
static CUAI_INLINE void cuai_cache_get_at(cuai_cache_t *cache, cuai_slot_t slot, cuai_slot_t *link,
                                          uint64_t size)
{
    cuai_cache_node_t *nodes = cache->nodes;
    const cuai_cache_node_t *node = &nodes[slot];
    cuai_slot_t next = node->after;
    nodes[node->older].newer = node->newer;
    nodes[node->newer].older = node->older;
    if (next != slot) {
        nodes[node->before].after = next;
        nodes[next].before = node->before;
    } else {
        next = cuai_cache_leaf(cache, slot);
    }
    cuai_cache_replace(cache, slot, link, size, next);
}

/* Takes any node out of the cache. */
static CUAI_INLINE void cuai_cache_get(cuai_cache_t *cache, cuai_slot_t slot, uint64_t size)
{
    cuai_cache_node_t *nodes = cache->nodes;
    const cuai_cache_node_t *node = &nodes[slot];
    if (node->in_tree) {
        cuai_cache_get_at(cache, slot, cuai_cache_link(cache, slot, size), size);
        return;
    }
    nodes[node->older].newer = node->newer;
    nodes[node->newer].older = node->older;
    nodes[node->before].after = node->after;
    nodes[node->after].before = node->before;
}

#endif
