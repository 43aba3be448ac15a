/* The fast paths of arenas with a cache: a request that a cached block of the same stream serves,
 * and a free into the cache. 250 instructions at most with the call and its lock, as long as few
 * capacities share a power of two. And, without streams, what the cache does not have or take, from
 * and to the spare bytes beside it. */
#include "api/fast.h"
#include "arena/cache.h"
#include "heap/cached.h"

/* Nothing is in the way but that there is a cache, and streams. */
static inline bool may_serve(const cuarena_t *arena)
{
    return (arena->slow & ~(CUAI_SLOW_CACHE | CUAI_SLOW_FREELISTS | CUAI_SLOW_RESIZES)) == 0 &&
           cuai_caches(arena);
}

/* Whether the request may have it at once: nobody else's work is behind it. */
static inline bool is_at_hand(const cuarena_t *arena, const cuai_record_t *r,
                              const cuai_stream_t *s)
{
    return r->owner == 0 || (s != NULL && r->owner == s->number && !arena->cpu_touches);
}

/* Whether it is aligned as such a request is, and known to be. */
static inline bool is_natural(const cuarena_t *arena, const cuai_record_t *r, uint64_t size)
{
    return cuai_natural_alignment(arena, size) >> r->align_log2 <= 1;
}

/* ---- The spare bytes --------------------------------------------------- */

/* Whether a request that misses has nothing to do but to take a block: no limit is near, and a
 * block that ends has all that it needs. */
static inline bool may_cut(const cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    return arena->config.soft_limit_rule == CUARENA_SOFT_STORE && arena->natural == 0 &&
           heap->free_slot != 0 && heap->live_blocks < heap->max_blocks && heap->nearly_plain &&
           heap->segment_count + cuai_block_records(heap) + 1 < heap->segment_room &&
           heap->cached_bytes <= arena->limits[CUARENA_LIMIT_CACHED] && cuai_cache_spares(arena, 0);
}

/* A miss, without a stream. */
static CUAI_OUTLINE cuai_slot_t cut_spare(cuarena_t *arena, uint64_t size, uint64_t bytes,
                                          uint64_t attributes, void **pointer_out)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t offset;
    if (!may_cut(arena))
        return 0;
    cuai_slot_t slot = cuai_heap_fast_alloc_in(heap, heap->idle, 0, size, bytes, attributes,
                                               CUAI_SEPARATORS_NONE, &offset);
    if (slot == 0)
        return 0;
    arena->cache.misses++;
    *pointer_out = cuai_pointer(offset);
    return slot;
}

/* What the cache has no room for; false: nothing was done. */
static CUAI_OUTLINE bool spare(cuarena_t *arena, cuai_slot_t slot, const cuai_stream_t *s)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (s != NULL || r->owner != 0 || !heap->nearly_plain || !cuai_cache_spares(arena, r->size))
        return false;
    cuai_heap_fast_free(heap, slot, cuai_table_link_to(&heap->table, heap->records, slot));
    arena->unreturned = true;
    return true;
}

/* ---- The calls --------------------------------------------------------- */

/* Nobody waits for any of them, and none of these is a hit. */
static inline bool is_miss(const cuarena_t *arena, const cuarena_heap_t *heap, cuai_slot_t slot,
                           uint64_t size)
{
    return slot == 0 || !cuai_cached_fits(arena, cuai_record(heap, slot)->size, size);
}

cuai_slot_t cuai_fast_hit(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes, uint64_t attributes,
                          void **pointer_out)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (!may_serve(arena))
        return 0;
    uint64_t size = cuai_rounded(arena, bytes);
    cuai_slot_t above;
    cuai_slot_t *link = cuai_cache_descend(heap->cache, heap->records, size, &above);
    cuai_slot_t slot = *link;
    if (CUAI_UNLIKELY(slot == 0)) { /* there is none of that capacity */
        if (heap->cached_blocks != 0)
            slot = cuai_cache_find(heap->cache, heap->records, size);
        link = NULL;
    }
    if (CUAI_UNLIKELY(is_miss(arena, heap, slot, size)))
        return s == NULL ? cut_spare(arena, size, bytes, attributes, pointer_out) : 0;
    const cuai_record_t *r = cuai_record(heap, slot);
    if (!is_at_hand(arena, r, s) || !is_natural(arena, r, size) ||
        heap->cached_bytes - r->size > arena->limits[CUARENA_LIMIT_CACHED])
        return 0;
    if (r->owner != 0)
        s->cached--;
    uint64_t owner = s == NULL ? 0 : CUAI_OWNER_ATTRIBUTES((uint64_t)s->number);
    if (CUAI_UNLIKELY(link == NULL))
        cuai_cache_remove(heap->cache, heap->records, slot);
    else
        cuai_cache_get_at(heap->cache, slot, link, size);
    cuai_heap_revive(heap, slot, bytes, 0, attributes | owner);
    arena->cache.hits++;
    if (s != NULL)
        cuai_counter_begin(&s->counter, r->size, bytes);
    *pointer_out = cuai_pointer(r->offset);
    return slot;
}

bool cuai_fast_cache_put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes, cuai_stream_t *s)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (!may_serve(arena) || !cuai_has_attributes(r, attributes) || cuai_tag_of(r) != 0 ||
        !cuai_can_cache(heap, r) || (s != NULL && s->recording))
        return false;
    if (CUAI_UNLIKELY(!cuai_cache_has_room(arena, r->size)))
        return spare(arena, slot, s);
    if (r->owner != 0)
        cuai_counter_end_block(&cuai_stream(arena, r->owner)->counter, r);
    cuai_heap_cache_put(heap, slot, s == NULL ? 0 : s->number, arena->event_serial);
    cuai_raise(&arena->cache.peak_bytes, heap->cached_bytes);
    if (s != NULL) {
        s->cached++;
        s->cache_lacks_event = true;
    }
    return true;
}
