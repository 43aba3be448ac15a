#include "api/fast.h"

cuai_slot_t cuai_fast_alloc_idle(cuarena_t *arena, int32_t region, uint64_t bytes,
                                 uint64_t attributes)
{
    CUAI_ASSERT(bytes != 0);
    uint64_t offset;
    const cuarena_heap_t *heap = arena->heaps[region];
    return cuai_fast_alloc_in(arena, region, 0, heap->idle, cuai_fast_size(arena, bytes), bytes,
                              attributes | heap->align_attributes, CUAI_SEPARATORS_REUSED, &offset);
}

/* Allocates from the stream's closed free list, whose bytes are its own in order, unless the CPU
 * may touch them at once. */
static CUAI_INLINE cuai_slot_t alloc_closed(cuarena_t *arena, const cuai_stream_t *s,
                                            uint64_t bytes, uint64_t attributes)
{
    uint32_t freelist = s->freelists[CUAI_DYNAMIC][!s->turn];
    if (arena->cpu_touches)
        return 0;
    uint64_t offset;
    return cuai_fast_alloc_in(
        arena, CUAI_DYNAMIC, freelist, arena->heaps[CUAI_DYNAMIC]->freelists[freelist],
        cuai_fast_size(arena, bytes), bytes, attributes, CUAI_SEPARATORS_REUSED, &offset);
}

cuai_slot_t cuai_fast_alloc_other(cuarena_t *arena, const cuai_stream_t *s, uint64_t bytes,
                                  uint64_t attributes)
{
    cuai_slot_t slot = alloc_closed(arena, s, bytes, attributes);
    return slot != 0 ? slot : cuai_fast_alloc_idle(arena, CUAI_DYNAMIC, bytes, attributes);
}

void cuai_fast_free_apart(cuarena_t *arena, int32_t region, cuai_slot_t slot, uint32_t freelist,
                          cuai_stream_t *owner)
{
    CUAI_ASSERT(slot != 0);
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (cuai_tag_of(r) != 0)
        cuai_tag_free(arena, r);
    if (owner != NULL)
        cuai_counter_end_block(&owner->counter, r);
    cuai_heap_free(heap, slot, freelist);
}
