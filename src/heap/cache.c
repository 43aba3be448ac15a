#include "heap/cache_inline.h"

/* ---- Nodes ------------------------------------------------------------- */

cuai_cache_t *cuai_cache_create(uint64_t max_slots)
{
    cuai_cache_t *cache = cuai_host_alloc(sizeof *cache);
    if (cache == NULL)
        return NULL;
    uint64_t bytes = max_slots * sizeof(cuai_cache_node_t);
    if (!cuai_host_region_begin(&cache->region, bytes)) {
        cuai_host_free(cache);
        return NULL;
    }
    return cache;
}

void cuai_cache_destroy(cuai_cache_t *cache)
{
    if (cache == NULL)
        return;
    cuai_host_release(&cache->region);
    cuai_host_free(cache);
}

bool cuai_cache_commit(cuai_cache_t *cache, uint64_t slots)
{
    bool done = cuai_host_commit(&cache->region, slots * sizeof(cuai_cache_node_t));
    cache->nodes = (cuai_cache_node_t *)(void *)cache->region.base;
    return done;
}

/* ---- Out, and finding -------------------------------------------------- */

void cuai_cache_remove(cuai_cache_t *cache, const cuai_record_t *records, cuai_slot_t slot)
{
    cuai_cache_get(cache, slot, records[slot].size);
}

/* The smallest of the blocks at and below a node, and of `best`. */
static CUAI_INLINE cuai_slot_t least_of(cuai_cache_t *cache, const cuai_record_t *records,
                                        cuai_slot_t slot, cuai_slot_t best)
{
    while (slot != 0) {
        const cuai_slot_t *child = cache->nodes[slot].child;
        if (best == 0 || records[slot].size < records[best].size)
            best = slot;
        slot = child[child[0] == 0];
        cache->steps++;
    }
    return best;
}

/* The smallest block of at least `size` in that size's bin; 0: it has none. */
static CUAI_INLINE cuai_slot_t find_in_bin(cuai_cache_t *cache, const cuai_record_t *records,
                                           uint64_t size)
{
    uint32_t bin = cuai_cache_bin(size);
    uint64_t digits = size << (63 - bin) << 1;
    cuai_slot_t best = 0;
    cuai_slot_t above = 0; /* the last branch of larger ones that was passed */
    for (cuai_slot_t slot = cache->roots[bin]; slot != 0; digits <<= 1) {
        uint64_t capacity = records[slot].size;
        const cuai_slot_t *child = cache->nodes[slot].child;
        cache->steps++;
        if (capacity == size)
            return slot;
        if (capacity > size && (best == 0 || capacity < records[best].size))
            best = slot;
        if (digits >> 63 == 0 && child[1] != 0)
            above = child[1];
        slot = child[digits >> 63];
    }
    best = least_of(cache, records, above, best);
    CUAI_ASSERT(best == 0 || records[best].size >= size);
    return best;
}

cuai_slot_t cuai_cache_find(cuai_cache_t *cache, const cuai_record_t *records, uint64_t size)
{
    uint32_t bin = cuai_cache_bin(size);
    cuai_slot_t found = find_in_bin(cache, records, size);
    uint64_t higher = cache->bins >> bin >> 1;
    if (found != 0 || higher == 0)
        return found;
    uint32_t next = bin + 1 + cuai_ctz(higher);
    return least_of(cache, records, cache->roots[next], 0);
}

/* ---- Audit ------------------------------------------------------------- */

/* The highest digits of a capacity that the nodes above it stand for. */
static bool is_on_its_way(const cuai_cache_t *cache, const cuai_record_t *records, cuai_slot_t slot)
{
    uint64_t size = records[slot].size;
    uint32_t bin = cuai_cache_bin(size);
    uint64_t digits = size << (63 - bin) << 1;
    cuai_slot_t at = cache->roots[bin];
    cuai_slot_t parent = 0;
    for (uint32_t steps = 0; at != slot; steps++, digits <<= 1) {
        if (at == 0 || steps > bin || records[at].size == size)
            return false;
        parent = at;
        at = cache->nodes[at].child[digits >> 63];
    }
    return cache->nodes[slot].parent == parent;
}

static const char *wrong_in_ring(const cuai_cache_t *cache, const cuai_record_t *records,
                                 cuai_slot_t slot)
{
    const cuai_cache_node_t *node = &cache->nodes[slot];
    if (cache->nodes[node->after].before != slot || cache->nodes[node->before].after != slot)
        return "cached blocks: a ring of equals is broken";
    if (records[node->after].size != records[slot].size)
        return "cached blocks: a ring has two capacities";
    if (!node->in_tree)
        return NULL;
    return is_on_its_way(cache, records, slot) ? NULL
                                               : "cached blocks: a tree does not lead to its node";
}

/* Every ring has one node in the tree if as many are as there are rings: each other one is reached
 * from it. */
static uint64_t ring_length(const cuai_cache_t *cache, cuai_slot_t first, uint64_t most)
{
    uint64_t length = 1;
    cuai_slot_t slot = cache->nodes[first].after;
    for (; slot != first && length <= most; length++)
        slot = cache->nodes[slot].after;
    return length;
}

const char *cuai_cache_wrong(const cuai_cache_t *cache, const cuai_record_t *records,
                             uint64_t count)
{
    uint64_t seen = 0;
    uint64_t in_rings = 0;
    uint64_t bins = 0;
    cuai_slot_t older = 0;
    const char *wrong = NULL;
    cuai_slot_t slot = cuai_cache_oldest(cache);
    for (; slot != 0 && seen <= count && wrong == NULL; seen++) {
        if (records[slot].kind != CUAI_CACHED)
            return "cached blocks: a slot of another kind is among them";
        if (cache->nodes[slot].older != older)
            return "cached blocks: the order of their ages is broken";
        wrong = wrong_in_ring(cache, records, slot);
        if (cache->nodes[slot].in_tree && wrong == NULL)
            in_rings += ring_length(cache, slot, count);
        bins |= UINT64_C(1) << cuai_cache_bin(records[slot].size);
        older = slot;
        slot = cache->nodes[slot].newer;
    }
    if (wrong != NULL)
        return wrong;
    if (seen != count || in_rings != count || cache->nodes[0].older != older)
        return "cached blocks: another number than is counted";
    return bins == cache->bins ? NULL : "cached blocks: a bin's bit is wrong";
}
