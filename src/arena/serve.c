/* Serving: blocks from bytes that are held, dedicated and adopted blocks, and
 * what is counted of them beyond the heap's own counts. */
#include "arena/capture.h"

/* ---- Counting ---------------------------------------------------------- */

uint64_t cuai_live_bytes(const cuarena_t *arena)
{
    uint64_t bytes = 0;
    for (int i = 0; i < CUAI_HEAPS; i++)
        bytes += arena->heaps[i] == NULL ? 0 : arena->heaps[i]->live_bytes;
    return bytes;
}

/* The sums, without peaks. */
cuai_counts_t cuai_whole_now(const cuarena_t *arena)
{
    cuai_counts_t now = {0};
    for (int i = 0; i < CUAI_HEAPS; i++) {
        const cuarena_heap_t *heap = arena->heaps[i];
        if (heap == NULL)
            continue;
        now.live_bytes += heap->live_bytes;
        now.requested_bytes += heap->requested_bytes;
        now.live_blocks += heap->live_blocks;
        now.allocs += heap->allocs;
        now.frees += cuai_frees(heap);
    }
    return now;
}

/* Up to now one heap was the whole, so its peaks are the whole's. */
void cuai_begin_whole(cuarena_t *arena)
{
    if (arena->slow & CUAI_SLOW_WHOLE)
        return;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    arena->whole.peak_live_bytes = heap->peak_live_bytes;
    arena->whole.peak_requested_bytes = heap->peak_requested_bytes;
    arena->whole.peak_live_blocks = heap->peak_live_blocks;
    cuai_slow_set(arena, CUAI_SLOW_WHOLE, true);
}

void cuai_note_whole(cuarena_t *arena)
{
    if (!(arena->slow & CUAI_SLOW_WHOLE))
        return;
    uint64_t live = 0;
    uint64_t requested = 0;
    uint64_t blocks = 0;
    for (int i = 0; i < CUAI_HEAPS; i++) {
        const cuarena_heap_t *heap = arena->heaps[i];
        if (heap == NULL)
            continue;
        live += heap->live_bytes;
        requested += heap->requested_bytes;
        blocks += heap->live_blocks;
    }
    cuai_raise(&arena->whole.peak_live_bytes, live);
    cuai_raise(&arena->whole.peak_requested_bytes, requested);
    cuai_raise(&arena->whole.peak_live_blocks, blocks);
}

void cuai_tag_alloc(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_meter_in(&arena->tags[cuai_tag_of(r)].meter, r);
}

void cuai_tag_free(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_meter_out(&arena->tags[cuai_tag_of(r)].meter, r);
}

static void count_alloc(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_note_whole(arena);
    if (cuai_tag_of(r) != 0)
        cuai_tag_alloc(arena, r);
    if (r->owner != 0)
        cuai_meter_in(&cuai_stream(arena, r->owner)->meter, r);
}

static void count_free(cuarena_t *arena, const cuai_record_t *r)
{
    if (cuai_tag_of(r) != 0)
        cuai_tag_free(arena, r);
    if (r->owner != 0)
        cuai_meter_out(&cuai_stream(arena, r->owner)->meter, r);
}

void cuai_count_resize(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                       uint64_t more_requested)
{
    cuai_note_whole(arena);
    if (r->fixed)
        cuai_capture_resized(arena, r, more, more_requested);
    if (cuai_tag_of(r) != 0)
        cuai_meter_add(&arena->tags[cuai_tag_of(r)].meter, 0, more,
                       more_requested);
    if (r->owner != 0)
        cuai_meter_add(&cuai_stream(arena, r->owner)->meter, 0, more,
                       more_requested);
}

void cuai_uncount(cuarena_heap_t *heap)
{
    heap->allocs--;
    heap->changes += 3; /* the version must not return to an earlier one */
}

void cuai_uncount_block(cuarena_t *arena, cuai_found_t found)
{
    const cuai_record_t *r = cuai_found_record(found);
    cuai_uncount(found.heap);
    if (r->fixed)
        cuai_capture_uncount(arena, found);
    if (cuai_tag_of(r) != 0)
        cuai_meter_uncount(&arena->tags[cuai_tag_of(r)].meter);
    if (r->owner != 0)
        cuai_meter_uncount(&cuai_stream(arena, r->owner)->meter);
}

void cuai_count_extension(cuarena_t *arena)
{
    arena->extensions++;
}

/* Growths of one segment may go together: as long as bytes are left there was
 * at least one more, and when none are, all have gone. */
void cuai_count_shrinkage(cuarena_t *arena)
{
    bool none_left =
        arena->heaps[CUAI_DYNAMIC]->capacity == 0 && arena->stable_bytes == 0;
    uint64_t gone = none_left ? arena->extensions : 1;
    arena->shrinkages += cuai_max(gone, 1);
    if (none_left)
        arena->extensions = 0;
    else if (arena->extensions > 1)
        arena->extensions--;
}

/* ---- From bytes that are held ------------------------------------------ */

static cuarena_status_t check_live(const cuarena_t *arena, uint64_t size,
                                   uint64_t credit)
{
    if (!(arena->slow & CUAI_SLOW_LIMIT))
        return CUARENA_OK;
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    uint64_t live = cuai_live_bytes(arena) - credit;
    if (live <= limit && size <= limit - live)
        return CUARENA_OK;
    return cuai_fail_bytes(CUARENA_LIMIT, size, limit, arena->held, 0, 0,
                           "%llu more bytes would exceed the limit of %llu: "
                           "%llu are live",
                           (unsigned long long)size, (unsigned long long)limit,
                           (unsigned long long)live);
}

cuarena_status_t cuai_check_live_limit(const cuarena_t *arena,
                                       const cuai_want_t *want)
{
    return check_live(arena, want->size, want->credit);
}

static cuarena_status_t take(cuarena_heap_t *heap, const cuai_want_t *want,
                             uint32_t lane, cuai_slot_t *slot_out)
{
    cuarena_heap_request_t request = want->request;
    request.lane = lane;
    return want->soon
               ? cuai_heap_take_soon(heap, &request, want->size, slot_out)
               : cuai_heap_take(heap, &request, want->size, slot_out);
}

/* What a range of the lane and settled ranges beside it have together. */
static cuarena_status_t take_where_both_touch(cuarena_heap_t *heap,
                                              const cuai_want_t *want,
                                              uint32_t lane,
                                              cuai_slot_t *slot_out)
{
    uint64_t granule = heap->granule_mask + 1;
    uint64_t slack =
        cuai_max(want->request.alignment, granule) - granule + want->size;
    if (!cuai_lane_absorb(heap, lane, slack))
        return CUARENA_FRAGMENTED;
    return take(heap, want, lane, slot_out);
}

/* From the stream's own lanes, the open one first, then from what is settled,
 * then, unless others look there, from where they touch. */
static cuarena_status_t take_on(const cuarena_t *arena, int32_t region,
                                const cuai_want_t *want, cuai_slot_t *slot_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_stream_t *s = cuai_stream(arena, want->stream);
    bool own = !arena->cpu_touches;
    for (uint32_t i = 0; own && i < 2; i++) {
        uint32_t lane = s->lanes[region][i == 0 ? s->turn : !s->turn];
        if (heap->lanes[lane]->free_bytes >= want->size &&
            take(heap, want, lane, slot_out) == CUARENA_OK)
            return CUARENA_OK;
    }
    cuarena_status_t status = take(heap, want, 0, slot_out);
    uint32_t open = s->lanes[region][s->turn];
    bool both = own && !want->soon && heap->lanes[open]->free_bytes != 0 &&
                heap->lanes[open]->free_bytes + heap->lanes[0]->free_bytes >=
                    want->size;
    if (both &&
        (status == CUARENA_FRAGMENTED || status == CUARENA_OUT_OF_MEMORY))
        status = take_where_both_touch(heap, want, open, slot_out);
    return status;
}

/* Where a block is to be, the heap has room. */
cuarena_status_t cuai_serve_at(cuarena_t *arena, const cuai_want_t *want,
                               cuai_slot_t owner, uint64_t address,
                               cuai_found_t *found_out)
{
    int32_t region = cuai_region_for(arena, want->region);
    cuarena_status_t status = check_live(arena, want->size, want->credit);
    cuai_slot_t slot = 0;
    if (status == CUARENA_OK)
        status = cuai_heap_take_at(arena->heaps[region], &want->request,
                                   want->size, owner, address, &slot);
    if (status != CUARENA_OK)
        return status;
    *found_out = (cuai_found_t){arena->heaps[region], slot, region};
    count_alloc(arena, cuai_found_record(*found_out));
    return CUARENA_OK;
}

static cuarena_status_t take_any(cuarena_t *arena, int32_t region,
                                 const cuai_want_t *want, cuai_slot_t *slot_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    if (want->size == 0)
        return cuai_heap_take_empty(heap, &want->request, slot_out);
    if (want->stream == 0)
        return cuai_heap_take(heap, &want->request, want->size, slot_out);
    if (cuai_is_captured(arena, want->stream))
        return cuai_capture_take(arena, region, want, slot_out);
    return take_on(arena, region, want, slot_out);
}

cuarena_status_t cuai_serve(cuarena_t *arena, const cuai_want_t *want,
                            cuai_found_t *found_out)
{
    cuarena_status_t status = check_live(arena, want->size, want->credit);
    if (status != CUARENA_OK)
        return status;
    int32_t region = cuai_region_for(arena, want->region);
    cuai_slot_t slot;
    status = take_any(arena, region, want, &slot);
    if (status != CUARENA_OK)
        return status;
    *found_out = (cuai_found_t){arena->heaps[region], slot, region};
    count_alloc(arena, cuai_found_record(*found_out));
    return CUARENA_OK;
}

/* The segment of an APART block leaves its heap with the block. */
static void forget_segment(cuai_found_t found, uint64_t address)
{
    const cuai_segment_t *segment = cuai_segment_around(found.heap, address);
    cuai_segment_t gone = *segment;
    cuai_segment_cut_range(found.heap, gone.head, gone.begin,
                           gone.end - gone.begin);
}

void cuai_end_block(cuarena_t *arena, cuai_found_t found, uint32_t stream)
{
    const cuai_record_t *r = cuai_found_record(found);
    uint64_t address = r->offset;
    if (r->fixed && found.region == CUAI_APART) {
        cuai_capture_keep(arena, found, stream);
        return;
    }
    uint32_t lane = r->fixed ? cuai_capture_free(arena, found, stream)
                             : cuai_lane_for_free(arena, found.region, stream);
    arena->block_pins -= cuai_block_pins(r);
    if (r->flags & CUAI_BLOCK_ADOPTED)
        arena->adopted_bytes -= r->size;
    count_free(arena, r);
    cuai_heap_give(found.heap, found.slot, lane);
    if (found.region == CUAI_APART)
        forget_segment(found, address);
}

/* ---- Dedicated and adopted --------------------------------------------- */

/* The heap of blocks apart, made at the first one. */
static cuarena_status_t ready_apart(cuarena_t *arena)
{
    if (arena->heaps[CUAI_APART] != NULL)
        return CUARENA_OK;
    cuarena_status_t status =
        cuai_heap_for(arena, UINT64_MAX, &arena->heaps[CUAI_APART]);
    if (status == CUARENA_OK)
        cuai_begin_whole(arena);
    return status;
}

static cuarena_status_t add_apart(cuarena_t *arena, const cuai_want_t *want,
                                  uint64_t address, uint64_t bytes,
                                  cuai_found_t *found_out)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    cuarena_block_t block;
    cuarena_status_t status = cuarena_heap_segment_add_block(
        heap, address, bytes, &want->request, &block);
    if (status != CUARENA_OK)
        return status;
    *found_out = (cuai_found_t){heap, cuai_slot_of(heap, block), CUAI_APART};
    count_alloc(arena, cuai_found_record(*found_out));
    return CUARENA_OK;
}

static cuarena_status_t check_dedicated(const cuarena_t *arena,
                                        const cuai_want_t *want)
{
    uint64_t alignment = want->request.alignment;
    if (alignment <= arena->memory.ops.alignment)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "alignment %llu of a dedicated block: memory '%s' gives "
                     "segments aligned to %llu",
                     (unsigned long long)alignment, arena->memory.ops.name,
                     (unsigned long long)arena->memory.ops.alignment);
}

/* Without the lock. */
static cuarena_status_t get_segment(cuarena_t *arena, uint64_t bytes,
                                    bool zeroed,
                                    cuarena_memory_segment_t *segment)
{
    cuarena_status_t status =
        arena->memory.ops.get(arena->memory.user, bytes, bytes, segment);
    if (status != CUARENA_OK || !zeroed)
        return status;
    status = cuai_memory_zero_fresh(&arena->memory, segment->address, bytes);
    if (status != CUARENA_OK)
        arena->memory.ops.give_back(arena->memory.user, segment);
    return status;
}

static cuarena_status_t keep_dedicated(cuarena_t *arena,
                                       const cuai_want_t *want,
                                       const cuarena_memory_segment_t *segment,
                                       cuai_found_t *found_out)
{
    if (!cuai_segments_room(&arena->dedicated) ||
        !cuai_capture_ready(arena, want->stream))
        return cuai_fail(CUARENA_OUT_OF_MEMORY,
                         "no host memory for a dedicated segment");
    cuarena_status_t status =
        add_apart(arena, want, segment->address, segment->bytes, found_out);
    if (status != CUARENA_OK)
        return status;
    if (arena->memory.ops.identify != NULL) /* may be freed on a stream */
        status = cuai_use_add(arena, *found_out, 0);
    if (status != CUARENA_OK) {
        cuai_uncount_block(arena, *found_out);
        cuai_end_block(arena, *found_out, 0);
        return status;
    }
    arena->dedicated.items[arena->dedicated.count++] = *segment;
    cuai_capture_adopt(arena, *found_out, want->stream);
    return status;
}

cuarena_status_t cuai_serve_dedicated(cuarena_t *arena, const cuai_want_t *want,
                                      cuai_found_t *found_out)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    uint64_t bytes =
        cuai_align_up(want->size, ops->least_bytes != 0 ? ops->least_bytes
                                                        : ops->grain_bytes);
    cuarena_status_t status = check_dedicated(arena, want);
    if (status == CUARENA_OK)
        status = cuai_check_held_limit(arena, bytes);
    if (status == CUARENA_OK)
        status = check_live(arena, bytes, 0);
    if (status == CUARENA_OK)
        status = ready_apart(arena);
    if (status != CUARENA_OK)
        return status;
    bool zeroed = arena->config.zero == CUARENA_ZERO_CREATE;
    cuarena_memory_segment_t segment = {0};
    arena->promised += bytes;
    cuai_unlock(&arena->lock);
    status = get_segment(arena, bytes, zeroed, &segment);
    cuai_lock(&arena->lock);
    if (status == CUARENA_OK)
        status = keep_dedicated(arena, want, &segment, found_out);
    if (status == CUARENA_OK) {
        cuai_count_held(arena, bytes);
    } else if (segment.address != 0) {
        cuai_unlock(&arena->lock);
        arena->memory.ops.give_back(arena->memory.user, &segment);
        cuai_lock(&arena->lock);
    }
    arena->promised -= bytes;
    return status;
}

void cuai_return_dedicated(cuarena_t *arena, uint64_t address)
{
    cuai_segments_t *dedicated = &arena->dedicated;
    size_t at = dedicated->count;
    while (at != 0 && dedicated->items[at - 1].address != address)
        at--;
    CUAI_ASSERT(at != 0);
    cuarena_memory_segment_t segment = dedicated->items[at - 1];
    dedicated->items[at - 1] = dedicated->items[--dedicated->count];
    cuai_count_held(arena, 0 - segment.bytes);
    cuai_unlock(&arena->lock);
    arena->memory.ops.give_back(arena->memory.user, &segment);
    cuai_lock(&arena->lock);
}

static bool overlaps(const cuai_segments_t *segments, uint64_t begin,
                     uint64_t end)
{
    for (size_t i = 0; i < segments->count; i++) {
        const cuarena_memory_segment_t *s = &segments->items[i];
        if (begin < s->address + s->reserved_bytes && s->address < end)
            return true;
    }
    return false;
}

cuarena_status_t cuai_adopt(cuarena_t *arena, const cuai_want_t *want,
                            uint64_t address, cuai_found_t *found_out)
{
    uint64_t end = address + want->size;
    if (overlaps(&arena->segments, address, end) ||
        overlaps(&arena->dedicated, address, end))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "[%#llx, %#llx) overlaps the arena's own bytes",
                         (unsigned long long)address, (unsigned long long)end);
    cuarena_status_t status = check_live(arena, want->size, 0);
    if (status != CUARENA_OK)
        return cuai_fail(status,
                         "%llu adopted bytes exceed the limit of live "
                         "bytes",
                         (unsigned long long)want->size);
    status = ready_apart(arena);
    if (status == CUARENA_OK)
        status = add_apart(arena, want, address, want->size, found_out);
    if (status == CUARENA_OK)
        arena->adopted_bytes += want->size;
    return status;
}
