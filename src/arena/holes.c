/*
 * Holes: addresses of a segment that have no bytes, because they were given back, or not taken yet.
 *
 *   segment.address                            + bytes           + address_bytes
 *    | stable | blocks and ranges | hole | ... | not taken yet: a hole at_end |
 *
 * The heap knows the stretches between holes as its segments. Aliases (remap.h) are no holes, for
 * nothing can be mapped there yet.
 */
#include "arena/holes.h"
#include "arena/alloc.h"
#include "arena/capture.h"
#include "arena/remap.h"
#include "arena/segments.h"
#include "arena/streams.h"
#include "heap/segments.h"

/* Whether a request may steal from a free list: from that of a stream that is being captured only
 * what its own stream has seen, for no event can be recorded there. */
static bool may_steal_from(const cuarena_t *arena, const cuai_request_t *request, uint32_t freelist)
{
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (s->capture != NULL && cuai_is_freelist_of(s, CUAI_DYNAMIC, freelist))
            return freelist == s->freelists[!s->turn][CUAI_DYNAMIC] &&
                   cuai_has_waited(arena, request->stream, s);
    return true;
}

/* Whether a request, or NULL: any request, can use the range of a record. Those of a session are
 * its own. */
static bool counts(const cuarena_t *arena, const cuai_record_t *r, const cuai_request_t *request)
{
    uint32_t freelist = cuai_range_freelist(r);
    if (r->key == 0 || freelist == 0)
        return r->key != 0;
    if (request == NULL || request->reach == CUAI_REACH_IDLE || freelist == CUAI_FREELIST_PLANNED)
        return false;
    if (request->reach == CUAI_REACH_OWN)
        return cuai_is_freelist_of(cuai_stream(arena, request->stream), CUAI_DYNAMIC, freelist);
    return cuai_capture_around(arena, cuai_end(r)) == NULL &&
           may_steal_from(arena, request, freelist);
}

/* The free bytes at the upper end of a stretch. */
static uint64_t free_at_end(const cuarena_t *arena, const cuai_segment_t *stretch,
                            const cuai_request_t *request)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, cuai_segment_last(heap, stretch));
    uint64_t bytes = 0;
    for (; counts(arena, r, request); r = cuai_record(heap, r->prev)) {
        bytes += cuai_range(r);
        if (r->kind != CUAI_SEPARATOR)
            break;
    }
    return bytes;
}

static uint64_t free_at_begin(const cuarena_t *arena, const cuai_segment_t *stretch,
                              const cuai_request_t *request)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, stretch->head);
    uint64_t bytes = 0;
    do {
        if (counts(arena, r, request))
            bytes += cuai_range(r);
        else
            break;
        r = cuai_record(heap, r->next);
    } while (r->kind == CUAI_SEPARATOR);
    return bytes;
}

/* Where the usable addresses of a segment end: those of a pool at its size. */
static uint64_t usable_end(const cuarena_t *arena, const cuarena_memory_segment_t *segment)
{
    uint64_t bytes = segment->address_bytes;
    if (cuai_is_pool(arena))
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
                    const cuai_request_t *request, cuai_hole_t *hole_out)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t end = usable_end(arena, segment);
    uint64_t begin = cuai_max(from, cuai_dynamic_begin(arena, segment));
    uint64_t below = 0;
    const cuai_segment_t *stretch = next_stretch(heap, begin, end);
    while (stretch != NULL && stretch->begin <= begin) {
        begin = stretch->end;
        below = free_at_end(arena, stretch, request);
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
    uint64_t first = begin;
    uint64_t behind = stop;
    if (!cuai_beside_aliases(arena, &begin, &stop))
        return cuai_next_hole(arena, segment, behind, request, hole_out);
    *hole_out = (cuai_hole_t){
        .begin = begin,
        .bytes = stop - begin,
        .below = begin == first ? below : 0,
        .above =
            stretch != NULL && stop == stretch->begin ? free_at_begin(arena, stretch, request) : 0,
        .at_end = at_end,
    };
    CUAI_ASSERT(hole_out->bytes != 0);
    return true;
}
