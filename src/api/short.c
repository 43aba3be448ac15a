#include "api/short.h"

/* The lanes that serve a stream, in order; how many. */
static CUAI_INLINE uint32_t lanes_for(const cuarena_t *arena, int32_t region,
                                      uint32_t number, uint32_t lanes[3])
{
    uint32_t count = 0;
    if (number != 0 && !arena->cpu_touches) {
        const cuai_stream_t *s = cuai_stream(arena, number);
        lanes[count++] = s->lanes[region][s->turn];
        lanes[count++] = s->lanes[region][!s->turn];
    }
    lanes[count++] = 0;
    return count;
}

/* What neither tags nor the heap count. */
static CUAI_INLINE void count_alloc(cuarena_t *arena, uint32_t number,
                                    const cuai_record_t *r)
{
    if (number != 0)
        cuai_count_in(&cuai_stream(arena, number)->counts, r);
    if (CUAI_UNLIKELY(arena->slow & CUAI_SLOW_WHOLE))
        cuai_note_whole(arena);
}

cuai_slot_t cuai_short_take(cuarena_t *arena, int32_t region, uint32_t number,
                            uint64_t bytes, uint64_t nature)
{
    cuarena_heap_t *heap = arena->heaps[region];
    uint64_t size = (bytes + arena->granule_mask) & ~arena->granule_mask;
    if (CUAI_UNLIKELY(!heap->smooth || !cuai_hot_has_slots(heap)))
        return 0;
    uint32_t lanes[3];
    uint32_t count = lanes_for(arena, region, number, lanes);
    nature |= CUAI_OWNER_NATURE(number);
    for (uint32_t i = 0; i < count; i++) {
        cuai_index_t *index = heap->lanes[lanes[i]];
        if (index->free_bytes < size)
            continue;
        cuai_slot_t slot =
            cuai_hot_take_at(heap, index, lanes[i], size, bytes, nature, true);
        if (CUAI_UNLIKELY(slot == CUAI_HOT_DISTURBS))
            return 0;
        if (slot == 0)
            continue;
        count_alloc(arena, number, cuai_record(heap, slot));
        return slot;
    }
    return 0;
}

bool cuai_short_give(cuarena_t *arena, int32_t region, cuai_slot_t *link,
                     uint32_t number)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_record_t *r = cuai_record(heap, *link);
    uint32_t lane = cuai_lane_for_free(arena, region, number);
    if (CUAI_UNLIKELY(!heap->smooth || !cuai_hot_joins(heap, r, lane)))
        return false;
    if (CUAI_UNLIKELY(cuai_tag_of(r) != 0))
        cuai_tag_free(arena, r);
    if (r->owner != 0)
        cuai_count_out(&cuai_stream(arena, r->owner)->counts, r);
    cuai_hot_give_to(heap, heap->lanes[lane], lane, link);
    return true;
}
