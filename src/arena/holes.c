/*
 * Holes: addresses of a segment that have no bytes, because they were given back, or not taken yet.
 *
 *   segment.address                            + bytes           + reserved
 *    | stable | blocks and ranges | hole | ... | not taken yet: a hole at_end |
 *
 * The heap knows the stretches between holes as its segments.
 */
#include "arena/arena.h"

bool cuai_segments_room(cuai_segments_t *segments)
{
    if (segments->count < segments->room)
        return true;
    size_t room = segments->room == 0 ? 4 : segments->room * 2;
    cuarena_memory_segment_t *grown = cuai_host_alloc(room * sizeof *grown);
    if (grown == NULL)
        return false;
    if (segments->count != 0)
        memcpy(grown, segments->items, segments->count * sizeof *grown);
    cuai_host_free(segments->items);
    segments->items = grown;
    segments->room = room;
    return true;
}

/* Whether a record's range is free for a request. */
static bool counts(const cuai_record_t *r, cuai_reach_t reach)
{
    uint32_t freelist = cuai_range_freelist(r);
    return r->key != 0 &&
           (freelist == 0 || (reach == CUAI_REACH_FREELISTS && freelist != CUAI_FREELIST_PLANNED));
}

/* The free bytes at the upper end of a stretch. */
static uint64_t free_at_end(const cuarena_heap_t *heap, const cuai_segment_t *stretch,
                            cuai_reach_t reach)
{
    const cuai_record_t *r = cuai_record(heap, cuai_segment_last(heap, stretch));
    uint64_t bytes = 0;
    for (; counts(r, reach); r = cuai_record(heap, r->prev)) {
        bytes += cuai_range(r);
        if (r->kind != CUAI_SEPARATOR)
            break;
    }
    return bytes;
}

static uint64_t free_at_begin(const cuarena_heap_t *heap, const cuai_segment_t *stretch,
                              cuai_reach_t reach)
{
    const cuai_record_t *r = cuai_record(heap, stretch->head);
    uint64_t bytes = 0;
    do {
        if (counts(r, reach))
            bytes += cuai_range(r);
        else
            break;
        r = cuai_record(heap, r->next);
    } while (r->kind == CUAI_SEPARATOR);
    return bytes;
}

/* Where the usable addresses of a segment end: a pool's do at its size. */
static uint64_t usable_end(const cuarena_t *arena, const cuarena_memory_segment_t *segment)
{
    uint64_t bytes = segment->address_bytes;
    if (arena->config.grow == CUARENA_GROW_NONE)
        bytes = cuai_min(bytes, arena->pool_bytes);
    return segment->address + bytes;
}

/* The first stretch that ends above `from`, and begins below `end`. */
static const cuai_segment_t *next_stretch(const cuarena_heap_t *heap, uint64_t from, uint64_t end)
{
    const cuai_segment_t *stretch = cuai_segment_from(heap, from);
    return stretch != NULL && stretch->begin < end ? stretch : NULL;
}

bool cuai_next_hole(const cuarena_t *arena, const cuarena_memory_segment_t *segment, uint64_t from,
                    cuai_reach_t reach, cuai_hole_t *hole_out)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t end = usable_end(arena, segment);
    uint64_t begin = cuai_max(from, cuai_dynamic_begin(arena, segment));
    uint64_t below = 0;
    const cuai_segment_t *stretch = next_stretch(heap, begin, end);
    while (stretch != NULL && stretch->begin <= begin) {
        begin = stretch->end;
        below = free_at_end(heap, stretch, reach);
        stretch = cuai_segment_next(heap, stretch);
        if (stretch != NULL && stretch->begin >= end)
            stretch = NULL;
    }
    if (begin >= end)
        return false;
    uint64_t taken_end = segment->address + segment->bytes;
    uint64_t stop = stretch != NULL ? stretch->begin : end;
    bool at_end = begin >= taken_end;
    if (!at_end && stop > taken_end)
        stop = taken_end;
    *hole_out = (cuai_hole_t){
        .begin = begin,
        .bytes = stop - begin,
        .below = below,
        .above =
            stretch != NULL && stop == stretch->begin ? free_at_begin(heap, stretch, reach) : 0,
        .at_end = at_end,
    };
    return true;
}

void cuai_segments_number(cuarena_t *arena, size_t at)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t end = segment->address + segment->address_bytes;
    cuai_segment_t *s = cuai_segment_from(heap, segment->address);
    for (; s != NULL && s->begin < end; s = cuai_segment_next(heap, s))
        s->source = (uint32_t)at;
}

/* Makes one stretch of two that meet at an address within the segment. */
static void join_at(cuarena_heap_t *heap, uint64_t address)
{
    const cuai_segment_t *upper = cuai_segment_around(heap, address);
    const cuai_segment_t *lower = cuai_segment_around(heap, address - 1);
    if (upper != NULL && lower != NULL && upper != lower)
        cuarena_heap_segment_join(heap, address);
}

cuarena_status_t cuai_publish(cuarena_t *arena, size_t at, uint64_t address, uint64_t bytes)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuarena_status_t status = cuarena_heap_segment_add(heap, address, bytes);
    if (status != CUARENA_OK)
        return status;
    cuai_segment_set_source(heap, cuai_segment_around(heap, address), (uint32_t)at);
    if (address > cuai_dynamic_begin(arena, segment))
        join_at(heap, address);
    if (address + bytes < segment->address + segment->bytes)
        join_at(heap, address + bytes);
    return CUARENA_OK;
}
