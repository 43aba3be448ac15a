/* The segments that the memory gave. */
#include "arena/segments.h"
#include "arena/dedicated.h"
#include "arena/find.h"
#include "heap/segments.h"

bool cuai_segments_room(cuai_segments_t *segments)
{
    void *items = cuai_host_make_room(segments->items, segments->count, &segments->room,
                                      sizeof *segments->items);
    if (items != NULL)
        segments->items = items;
    return items != NULL;
}

uint64_t cuai_dynamic_begin(const cuarena_t *arena, const cuarena_memory_segment_t *segment)
{
    bool first = segment == &arena->segments.items[0];
    return segment->address + (first ? arena->stable_bytes : 0);
}

bool cuai_segments_may_hold(const cuarena_t *arena, uint64_t size, uint64_t alignment)
{
    uint64_t granule = cuai_granule(arena);
    uint64_t room = arena->segments.count == 1 ? size : granule;
    bool found = alignment <= granule;
    for (size_t i = 0; i < arena->segments.count && !found; i++) {
        const cuarena_memory_segment_t *segment = &arena->segments.items[i];
        uint64_t begin = cuai_align_up(cuai_dynamic_begin(arena, segment), alignment);
        found = begin + room <= segment->address + segment->bytes;
    }
    return found;
}

cuarena_memory_segment_t cuai_segment_of(const cuarena_t *arena, cuai_block_ref_t ref)
{
    const cuai_record_t *r = cuai_block_record(ref);
    if (ref.region == CUAI_APART)
        return cuai_dedicated_segment(r);
    uint32_t at = cuai_segment_around(ref.heap, r->offset)->source;
    return arena->segments.items[at];
}

void cuai_segments_number(cuarena_t *arena, size_t at)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(at < arena->segments.count);
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

cuarena_status_t cuai_publish(cuarena_t *arena, size_t at, uint64_t address, uint64_t bytes,
                              uint32_t freelist)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(at < arena->segments.count && bytes != 0);
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuarena_status_t status = cuai_segment_add_to(heap, address, bytes, freelist);
    if (status != CUARENA_OK)
        return status;
    cuai_segment_set_source(heap, cuai_segment_around(heap, address), (uint32_t)at);
    if (address > cuai_dynamic_begin(arena, segment))
        join_at(heap, address);
    if (address + bytes < segment->address + segment->bytes)
        join_at(heap, address + bytes);
    return CUARENA_OK;
}
