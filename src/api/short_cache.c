/* The short paths of arenas with a cache: a request that a cached block of the
 * same stream serves, and a free into the cache. 250 instructions at most with
 * the call and its lock, as long as few capacities share a power of two. */
#include "api/short.h"
#include "heap/cached.h"

/* Nothing is in the way but that there is a cache, and streams. */
static inline bool may_serve(const cuarena_t *arena)
{
    return (arena->slow &
            ~(CUAI_SLOW_CACHE | CUAI_SLOW_LANES | CUAI_SLOW_RESIZES)) == 0 &&
           cuai_caches(arena);
}

/* Whether the request may have it at once: nobody else's work is behind it. */
static inline bool is_at_hand(const cuarena_t *arena, const cuai_record_t *r,
                              const cuai_stream_t *s)
{
    return r->owner == 0 ||
           (s != NULL && r->owner == s->number && !arena->cpu_touches);
}

/* Whether it is aligned as such a request is, and known to be. */
static inline bool is_natural(const cuarena_t *arena, const cuai_record_t *r,
                              uint64_t size)
{
    return cuai_natural_alignment(arena, size) >> r->align_log2 <= 1;
}

cuai_slot_t cuai_short_hit(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes,
                           uint64_t nature, void **pointer_out)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (!may_serve(arena))
        return 0;
    uint64_t size = cuai_rounded(arena, bytes);
    cuai_slot_t above;
    cuai_slot_t *link =
        cuai_cache_descend(heap->cache, heap->records, size, &above);
    cuai_slot_t slot = *link;
    if (CUAI_UNLIKELY(slot == 0)) { /* there is none of that capacity */
        slot = cuai_cache_find(heap->cache, heap->records, size);
        link = NULL;
    }
    const cuai_record_t *r = cuai_record(heap, slot);
    if (slot == 0 || !cuai_cached_fits(arena, r->size, size) ||
        !is_at_hand(arena, r, s) || !is_natural(arena, r, size) ||
        heap->cached_bytes - r->size > arena->limits[CUARENA_LIMIT_CACHED])
        return 0;
    if (r->owner != 0)
        s->cached--;
    uint64_t owner = s == NULL ? 0 : CUAI_OWNER_NATURE((uint64_t)s->number);
    if (CUAI_UNLIKELY(link == NULL))
        cuai_cache_remove(heap->cache, heap->records, slot);
    else
        cuai_cache_take_at(heap->cache, slot, link, size);
    cuai_heap_revive(heap, slot, bytes, 0, nature | owner);
    arena->cache.hits++;
    if (s != NULL)
        cuai_meter_begin(&s->meter, r->size, bytes);
    *pointer_out = cuai_pointer(r->offset);
    return slot;
}

bool cuai_short_park(cuarena_t *arena, cuai_slot_t slot, uint64_t nature,
                     cuai_stream_t *s)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (!may_serve(arena) || !cuai_has_nature(r, nature) ||
        cuai_tag_of(r) != 0 || !cuai_can_park(heap, r) ||
        !cuai_cache_has_room(arena, r->size) || (s != NULL && s->marking))
        return false;
    if (r->owner != 0)
        cuai_meter_out(&cuai_stream(arena, r->owner)->meter, r);
    cuai_heap_park(heap, slot, s == NULL ? 0 : s->number, arena->mark_serial);
    cuai_raise(&arena->cache.peak_bytes, heap->cached_bytes);
    if (s != NULL) {
        s->cached++;
        s->parked = true;
    }
    return true;
}
