/*
 * Cached blocks, in the heap: how a block that is freed becomes a cached one, and a cached one a
 * block again. Neither touches the record's neighbours, an index or the look-up.
 */
#ifndef CUAI_HEAP_CACHED_H
#define CUAI_HEAP_CACHED_H

#include "heap/cache_inline.h"
#include "heap/slots.h"

/* Gives the heap a cache for blocks. OUT_OF_MEMORY. */
cuarena_status_t cuai_heap_begin_cache(cuarena_heap_t *heap);

/* Counts a block that enters the cache, or leaves it. */
static inline void cuai_count_cached(cuarena_heap_t *heap, cuai_slot_t slot, bool in)
{
    uint64_t size = cuai_record(heap, slot)->size;
    CUAI_ASSERT(in || (heap->cached_blocks != 0 && heap->cached_bytes >= size));
    heap->cached_bytes += in ? size : 0 - size;
    heap->cached_blocks += in ? 1 : UINT64_MAX;
    if (CUAI_UNLIKELY(heap->cached_blocks == in))
        cuai_refresh_fast(heap);
}

/* Whether the block can be cached: its slot has ids left. */
static inline bool cuai_can_cache(const cuai_record_t *r)
{
    return r->generation != CUAI_LAST_GENERATION;
}

/* Caches a block that can be, and that no plan moves. Its owner, pins and other attributes are
 * forgotten: `owner` is now whose free list its bytes would join, and `stamp`, below 2^48, is kept
 * for the caller. */
static inline void cuai_heap_cache_put(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t owner,
                                       uint64_t stamp)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t keeps = CUAI_ALIGN_ATTRIBUTES(r->align_log2) | r->list;
    CUAI_ASSERT(r->kind == CUAI_BLOCK && !r->moving && cuai_can_cache(r));
    cuai_count_free(heap, r);
    r->generation++;
    r->asked = cuai_asked(stamp, 0);
    cuai_set_attributes(r, CUAI_ATTRIBUTES(0, CUAI_CACHED, 0) |
                               CUAI_OWNER_ATTRIBUTES((uint64_t)owner) | keeps);
    cuai_count_cached(heap, slot, true);
    cuai_cache_put(heap->cache, heap->records, slot, r->size);
}

/* The stamp of a cached block. */
static inline uint64_t cuai_stamp(const cuai_record_t *r)
{
    return cuai_requested(r);
}

/* Makes a cached block that has left the cache a live one, with these attributes, which name
 * neither an alignment nor a list: the record keeps both. */
static inline void cuai_heap_revive(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t requested,
                                    uint16_t tag, uint64_t attributes)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t keeps = CUAI_ALIGN_ATTRIBUTES(r->align_log2) | r->list;
    CUAI_ASSERT(r->kind == CUAI_CACHED && requested <= r->size);
    CUAI_ASSERT((attributes & (CUAI_ALIGN_ATTRIBUTES(UINT64_C(0xff)) | UINT16_MAX)) == 0);
    cuai_count_cached(heap, slot, false);
    r->asked = cuai_asked(requested, tag);
    cuai_set_attributes(r, attributes | keeps);
    cuai_counter_begin(&heap->counter, r->size, requested);
}

/* Takes a cached block out of the cache and makes it a live one: see cuai_heap_revive. */
static inline void cuai_heap_cache_get(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t requested,
                                       uint16_t tag, uint64_t attributes)
{
    cuai_cache_get(heap->cache, slot, cuai_record(heap, slot)->size);
    cuai_heap_revive(heap, slot, requested, tag, attributes);
}

#endif
