/*
 * The fast paths of arenas with a cache: a request for which a cached block fits that needs no
 * wait, and a free into the cache. The search is short as long as few capacities share a power of
 * two. Without streams, the plain fast path cuts a request that misses from the spare bytes beside
 * the cache, and adds a block to these for which the cache has no room.
 */
#include "api/fast.h"
#include "arena/cache.h"
#include "heap/cached.h"

/* Whether nothing but the cache and streams keeps calls from the fast path. */
static inline bool is_clear(const cuarena_t *arena)
{
    return (arena->slow & ~(CUAI_SLOW_CACHE | CUAI_SLOW_FREELISTS | CUAI_SLOW_RESIZES)) == 0 &&
           arena->heaps[CUAI_DYNAMIC]->cache != NULL;
}

/* Whether the request may use the block at once: it waits for no work but that of its own stream.
 */
static inline bool is_free_for(const cuarena_t *arena, const cuai_record_t *r,
                               const cuai_stream_t *s)
{
    return r->owner == 0 || (s != NULL && r->owner == s->number && !arena->cpu_touches);
}

/* Whether the block is aligned as a request of that size asks. */
static inline bool is_natural(const cuarena_t *arena, const cuai_record_t *r, uint64_t size)
{
    return cuai_natural_alignment(arena, size) >> r->align_log2 <= 1;
}

/* ---- Allocation -------------------------------------------------------- */

/* Leaves a request that misses to the plain fast path, or to the slow one, which lowers a cache
 * above its limit. */
static inline cuai_slot_t miss(cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (heap->cached_bytes > arena->limits[CUARENA_LIMIT_CACHED] || !cuai_fast_has_spare(arena))
        return 0;
    arena->cache.misses++;
    return CUAI_SLOT_PLAIN;
}

/* Whether the best cached block is none, or too large for the request. */
static inline bool is_miss(const cuarena_t *arena, const cuarena_heap_t *heap, cuai_slot_t slot,
                           uint64_t size)
{
    return slot == 0 || !cuai_cached_fits(arena, cuai_record(heap, slot)->size, size);
}

/* Does what cuai_fast_cache_get does where there are cached blocks. */
static CUAI_OUTLINE cuai_slot_t get(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes,
                                    uint64_t attributes)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t size = cuai_rounded(arena, bytes);
    cuai_slot_t above;
    cuai_slot_t *link = cuai_cache_descend(heap->cache, heap->records, size, &above);
    cuai_slot_t slot = *link;
    if (CUAI_UNLIKELY(slot == 0)) { /* no block has exactly that capacity */
        slot = cuai_cache_find(heap->cache, heap->records, size);
        link = NULL;
    }
    if (CUAI_UNLIKELY(is_miss(arena, heap, slot, size)))
        return s == NULL ? miss(arena) : 0;
    const cuai_record_t *r = cuai_record(heap, slot);
    if (!is_free_for(arena, r, s) || !is_natural(arena, r, size) ||
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
    return slot;
}

cuai_slot_t cuai_fast_cache_get(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes,
                                uint64_t attributes)
{
    CUAI_ASSERT(bytes != 0);
    return is_clear(arena) && arena->heaps[CUAI_DYNAMIC]->cached_blocks != 0
               ? get(arena, s, bytes, attributes)
               : 0;
}

/* ---- Free -------------------------------------------------------------- */

/* Does what cuai_fast_cache_put does where the cache has room. */
static CUAI_OUTLINE bool put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes,
                             cuai_stream_t *s)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (!cuai_has_attributes(r, attributes) || cuai_tag_of(r) != 0 || !cuai_can_cache(r) ||
        (s != NULL && s->recording))
        return false;
    if (r->owner != 0)
        cuai_counter_end_block(&cuai_stream(arena, r->owner)->counter, r);
    cuai_heap_cache_put(heap, slot, s == NULL ? 0 : s->number, arena->event_serial);
    cuai_raise(&arena->cache.peak_bytes, heap->cached_bytes);
    if (s != NULL) {
        s->cached++;
        s->cached_last = arena->event_serial;
    }
    return true;
}

bool cuai_fast_cache_put(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes, cuai_stream_t *s)
{
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    return is_clear(arena) && cuai_cache_has_room(arena, r->size) &&
           put(arena, slot, attributes, s);
}
