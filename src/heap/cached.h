/*
 * Parking: a block that is freed becomes a cached one, a cached one a block again. Neither touches
 * the record's neighbours, an index or the look-up. About 40 instructions each, and what the cache
 * takes to enter and to leave.
 */
#ifndef CUAI_HEAP_CACHED_H
#define CUAI_HEAP_CACHED_H

#include "heap/cache_inline.h"
#include "heap/heap.h"

/* In, or out. A heap with cached blocks is not smooth. */
static inline void cuai_count_cached(cuarena_heap_t *heap, cuai_slot_t slot, bool in)
{
    uint64_t size = cuai_record(heap, slot)->size;
    heap->cached_bytes += in ? size : 0 - size;
    heap->cached_blocks += in ? 1 : UINT64_MAX;
    if (CUAI_UNLIKELY(heap->cached_blocks == in))
        cuai_note_plain(heap);
}

/* Whether the block can be parked: its slot has ids left. */
static inline bool cuai_can_cache(const cuarena_heap_t *heap, const cuai_record_t *r)
{
    return r->generation != heap->last_generation;
}

/* Parks a block that can be, and that nothing pins or moves. Whose it was and its attributes are
 * forgotten: `owner` is whose free list its bytes would join, and `stamp`, below 2^48, whatever the
 * caller wants to know again. */
static inline void cuai_heap_cache_put(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t owner,
                                       uint64_t stamp)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t keeps = CUAI_ALIGN_ATTRIBUTES(r->align_log2) | r->list;
    cuai_count_free(heap, r);
    r->generation++;
    r->asked = cuai_asked(stamp, 0);
    cuai_set_attributes(r, CUAI_ATTRIBUTES(0, CUAI_CACHED, 0) |
                               CUAI_OWNER_ATTRIBUTES((uint64_t)owner) | keeps);
    cuai_count_cached(heap, slot, true);
    cuai_cache_put(heap->cache, heap->records, slot, r->size);
}

static inline uint64_t cuai_stamp(const cuai_record_t *r)
{
    return cuai_requested(r);
}

/* The cached block, which has left the cache, lives again, of attributes in which neither an
 * alignment nor a list is; it is aligned as ever. */
static inline void cuai_heap_revive(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t requested,
                                    uint16_t tag, uint64_t attributes)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t keeps = CUAI_ALIGN_ATTRIBUTES(r->align_log2) | r->list;
    cuai_count_cached(heap, slot, false);
    r->asked = cuai_asked(requested, tag);
    cuai_set_attributes(r, attributes | keeps);
    heap->allocs++;
    heap->live_blocks++;
    cuai_raise(&heap->peak_live_blocks, heap->live_blocks);
    cuai_count_bytes(heap, r->size, requested);
}

static inline void cuai_heap_cache_get(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t requested,
                                       uint16_t tag, uint64_t attributes)
{
    cuai_cache_get(heap->cache, slot, cuai_record(heap, slot)->size);
    cuai_heap_revive(heap, slot, requested, tag, attributes);
}

#endif
