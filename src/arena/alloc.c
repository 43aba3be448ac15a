/* Blocks from bytes that are reserved. */
#include "arena/alloc.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/find.h"
#include "arena/streams.h"
#include "heap/freelists.h"
#include "heap/segments.h"

/* What lives when `credit` bytes of it go. These may have gone already: a handler of running out
 * can reset the arena. */
static uint64_t live_without(const cuarena_t *arena, uint64_t credit)
{
    uint64_t live = cuai_live_bytes(arena);
    return live - cuai_min(credit, live);
}

uint64_t cuai_live_left(const cuarena_t *arena, uint64_t credit)
{
    if (!(arena->slow & CUAI_SLOW_LIMIT))
        return UINT64_MAX;
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    uint64_t live = live_without(arena, credit);
    return limit > live ? limit - live : 0;
}

cuarena_status_t cuai_check_live(const cuarena_t *arena, uint64_t size, uint64_t credit)
{
    if (size <= cuai_live_left(arena, credit))
        return CUARENA_OK;
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    uint64_t live = live_without(arena, credit);
    return cuai_fail_bytes(CUARENA_LIMIT, size, limit, arena->reserved, 0, 0,
                           "%llu more bytes would exceed the limit of %llu: "
                           "%llu are live",
                           (unsigned long long)size, (unsigned long long)limit,
                           (unsigned long long)live);
}

/* Allocates from one free list. */
static cuarena_status_t alloc_from(const cuarena_t *arena, cuarena_heap_t *heap,
                                   const cuai_request_t *request, uint32_t freelist,
                                   cuai_slot_t *slot_out)
{
    cuarena_heap_request_t asked = request->heap;
    uint64_t most = cuai_live_left(arena, request->credit);
    asked.freelist = freelist;
    return cuai_heap_try_alloc(heap, &asked, request->size, most, request->soon, slot_out);
}

/* Joins ranges of the free list and idle ranges that touch them where they have room together, and
 * allocates there. */
static cuarena_status_t alloc_where_both_touch(const cuarena_t *arena, cuarena_heap_t *heap,
                                               const cuai_request_t *request, uint32_t freelist,
                                               cuai_slot_t *slot_out)
{
    uint64_t granule = heap->granule_mask + 1;
    uint64_t slack = cuai_max(request->heap.alignment, granule) - granule + request->size;
    if (!cuai_freelist_absorb(heap, freelist, slack))
        return CUARENA_FRAGMENTED;
    return alloc_from(arena, heap, request, freelist, slot_out);
}

/* Looks into the stream's own free lists, the open one first, then among idle bytes, then, unless
 * stealing looks there, where both touch. */
static cuarena_status_t alloc_on(const cuarena_t *arena, int32_t region,
                                 const cuai_request_t *request, cuai_slot_t *slot_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_stream_t *s = cuai_stream(arena, request->stream);
    bool own = !arena->cpu_touches;
    for (uint32_t i = 0; own && i < 2; i++) {
        uint32_t freelist = s->freelists[i == 0 ? s->turn : !s->turn][region];
        if (heap->freelists[freelist]->free_bytes >= request->size &&
            alloc_from(arena, heap, request, freelist, slot_out) == CUARENA_OK)
            return CUARENA_OK;
    }
    cuarena_status_t status = alloc_from(arena, heap, request, 0, slot_out);
    uint32_t open = s->freelists[s->turn][region];
    bool both = own && !request->soon && heap->freelists[open]->free_bytes != 0 &&
                heap->freelists[open]->free_bytes + heap->freelists[0]->free_bytes >= request->size;
    if (both && (status == CUARENA_FRAGMENTED || status == CUARENA_OUT_OF_MEMORY))
        status = alloc_where_both_touch(arena, heap, request, open, slot_out);
    return status;
}

cuarena_status_t cuai_try_alloc_gathered(cuarena_t *arena, const cuai_request_t *request,
                                         const cuai_free_part_t *part, uint32_t freelist,
                                         cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    int32_t region = cuai_region_for(arena, request->region);
    CUAI_ASSERT(arena->heaps[region] != NULL);
    cuarena_status_t status = cuai_check_live(arena, request->size, request->credit);
    if (status != CUARENA_OK)
        return status;
    cuarena_heap_request_t asked = request->heap;
    uint64_t most = cuai_live_left(arena, request->credit);
    cuai_slot_t slot = 0;
    asked.freelist = freelist;
    cuai_prepare_counts(arena, request, region);
    status = cuai_heap_try_alloc_gathered(arena->heaps[region], &asked, request->size, most, part,
                                          &slot);
    if (status != CUARENA_OK)
        return status;
    *block_out = (cuai_block_ref_t){arena->heaps[region], slot, region};
    cuai_count_in(arena, cuai_block_record(*block_out));
    return CUARENA_OK;
}

static cuarena_status_t alloc_any(cuarena_t *arena, int32_t region, const cuai_request_t *request,
                                  cuai_slot_t *slot_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    if (request->size == 0)
        return cuai_heap_add_empty(heap, &request->heap, slot_out);
    if (request->stream == 0)
        return alloc_from(arena, heap, request, request->heap.freelist, slot_out);
    if (cuai_is_captured(arena, request->stream))
        return cuai_capture_try_alloc(arena, region, request, slot_out);
    return alloc_on(arena, region, request, slot_out);
}

cuarena_status_t cuai_try_alloc(cuarena_t *arena, const cuai_request_t *request,
                                cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = cuai_check_live(arena, request->size, request->credit);
    if (status != CUARENA_OK)
        return status;
    int32_t region = cuai_region_for(arena, request->region);
    cuai_slot_t slot;
    cuai_prepare_counts(arena, request, region);
    status = alloc_any(arena, region, request, &slot);
    if (status != CUARENA_OK)
        return status;
    *block_out = (cuai_block_ref_t){arena->heaps[region], slot, region};
    cuai_count_in(arena, cuai_block_record(*block_out));
    return CUARENA_OK;
}

/* The segment of an adopted block leaves its heap with the block. */
static void forget_segment(cuai_block_ref_t ref, uint64_t address)
{
    const cuai_segment_t *segment = cuai_segment_around(ref.heap, address);
    CUAI_ASSERT(segment != NULL && segment->end > address);
    cuai_segment_t gone = *segment;
    cuai_segment_cut_range(ref.heap, gone.head, gone.begin, gone.end - gone.begin);
}

void cuai_end_block(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(!r->moving && cuai_is_live(r));
    uint64_t address = r->offset;
    bool adopted = r->flags & CUAI_BLOCK_ADOPTED;
    bool has_bytes = r->size != 0;
    if (r->fixed && ref.region == CUAI_APART) {
        cuai_capture_keep(arena, ref, stream);
        return;
    }
    uint32_t freelist = r->fixed ? cuai_capture_free(arena, ref, stream)
                                 : cuai_freelist_for_free(arena, ref.region, stream);
    arena->block_pins -= cuai_block_pins(r);
    arena->ending -= (r->flags & CUAI_BLOCK_ENDING) != 0;
    if (adopted)
        arena->adopted_bytes -= r->size;
    cuai_count_out(arena, r);
    cuai_heap_free(ref.heap, ref.slot, freelist);
    arena->unreturned =
        arena->unreturned || (freelist == 0 && ref.region == CUAI_DYNAMIC && has_bytes);
    if (adopted)
        forget_segment(ref, address);
}
