#include "api/short.h"

/* What is tried, without the first of a stream's lanes. */
static uint32_t lanes_for(const cuarena_t *arena, int32_t region,
                          uint32_t number, uint32_t lanes[2])
{
    uint32_t count = 0;
    if (number != 0 && !arena->cpu_touches) {
        const cuai_stream_t *s = cuai_stream(arena, number);
        lanes[count++] = s->lanes[region][!s->turn];
    }
    lanes[count++] = 0;
    return count;
}

cuai_slot_t cuai_short_take(cuarena_t *arena, int32_t region, uint32_t number,
                            uint64_t bytes, uint64_t nature)
{
    uint32_t lanes[2];
    uint32_t count = lanes_for(arena, region, number, lanes);
    cuai_slot_t slot = 0;
    for (uint32_t i = 0; i < count && slot == 0; i++)
        slot = cuai_short_take_in(arena, region, lanes[i], bytes,
                                  nature | CUAI_OWNER_NATURE(number));
    if (slot == 0 || slot == CUAI_HOT_DISTURBS)
        return 0;
    const cuai_record_t *r = cuai_record(arena->heaps[region], slot);
    if (number != 0)
        cuai_count_in(&cuai_stream(arena, number)->counts, r);
    if (arena->slow & CUAI_SLOW_WHOLE)
        cuai_note_whole(arena);
    return slot;
}
