#include "api/short.h"

cuai_slot_t cuai_short_take_settled(cuarena_t *arena, int32_t region,
                                    uint64_t bytes, uint64_t nature)
{
    uint64_t offset;
    const cuarena_heap_t *heap = arena->heaps[region];
    return cuai_short_take_in(
        arena, region, 0, heap->settled, cuai_short_size(arena, bytes), bytes,
        nature | heap->align_nature, CUAI_HOT_LANED, &offset);
}

/* The closed lane, unless the CPU touches memory. */
static CUAI_INLINE cuai_slot_t take_closed(cuarena_t *arena,
                                           const cuai_stream_t *s,
                                           uint64_t bytes, uint64_t nature)
{
    uint32_t lane = s->lanes[CUAI_DYNAMIC][!s->turn];
    if (arena->cpu_touches)
        return 0;
    uint64_t offset;
    return cuai_short_take_in(
        arena, CUAI_DYNAMIC, lane, arena->heaps[CUAI_DYNAMIC]->lanes[lane],
        cuai_short_size(arena, bytes), bytes, nature, CUAI_HOT_LANED, &offset);
}

cuai_slot_t cuai_short_take_other(cuarena_t *arena, const cuai_stream_t *s,
                                  uint64_t bytes, uint64_t nature)
{
    cuai_slot_t slot = take_closed(arena, s, bytes, nature);
    return slot != 0
               ? slot
               : cuai_short_take_settled(arena, CUAI_DYNAMIC, bytes, nature);
}

void cuai_short_give_apart(cuarena_t *arena, int32_t region, cuai_slot_t slot,
                           uint32_t lane, cuai_stream_t *owner)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (cuai_tag_of(r) != 0)
        cuai_tag_free(arena, r);
    if (owner != NULL)
        cuai_meter_out(&owner->meter, r);
    cuai_heap_give(heap, slot, lane);
}
