/* Serving: blocks from bytes that are held, dedicated and adopted blocks, and what is counted of
 * them beyond the heap's own counts. */
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

/* The stream whose meter counts the block, or NULL. */
static cuai_stream_t *meter_of(const cuarena_t *arena, const cuai_record_t *r)
{
    return r->owner != 0 ? cuai_metered(arena, r) : NULL;
}

/* Before a request is served: the sole stream's own, in the dynamic heap, are what it stays sole
 * with. */
static void mind_sole(cuarena_t *arena, const cuai_request_t *request, int32_t region)
{
    if (arena->sole != NULL &&
        (request->heap.owner != arena->sole->number || region != CUAI_DYNAMIC))
        cuai_end_sole(arena);
}

/* Before a block comes to any count. */
static void prepare_counts(cuarena_t *arena, const cuai_request_t *request, int32_t region)
{
    cuai_counted_in_t where = {region, request->heap.owner, request->heap.tag};
    mind_sole(arena, request, region);
    if (request->before != NULL)
        cuai_peaks_keep(arena, &where, request->before);
}

void cuai_count_in(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_note_whole(arena);
    if (cuai_tag_of(r) != 0)
        cuai_tag_alloc(arena, r);
    cuai_stream_t *s = meter_of(arena, r);
    if (s != NULL)
        cuai_meter_in(&s->meter, r);
}

void cuai_count_out(cuarena_t *arena, const cuai_record_t *r)
{
    if (cuai_tag_of(r) != 0)
        cuai_tag_free(arena, r);
    cuai_stream_t *s = meter_of(arena, r);
    if (s != NULL)
        cuai_meter_out(&s->meter, r);
}

void cuai_count_resize(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                       uint64_t more_requested)
{
    cuai_note_whole(arena);
    if (r->fixed)
        cuai_capture_resized(arena, r, more, more_requested);
    if (cuai_tag_of(r) != 0)
        cuai_meter_add(&arena->tags[cuai_tag_of(r)].meter, 0, more, more_requested);
    cuai_stream_t *s = meter_of(arena, r);
    if (s != NULL)
        cuai_meter_add(&s->meter, 0, more, more_requested);
}

void cuai_uncount(cuarena_heap_t *heap)
{
    heap->allocs--;
    heap->changes += 3; /* the version must not return to an earlier one */
}

void cuai_uncount_block(cuarena_t *arena, cuai_block_ref_t ref)
{
    const cuai_record_t *r = cuai_block_record(ref);
    cuai_uncount(ref.heap);
    if (r->fixed)
        cuai_capture_uncount(arena, ref);
    if (cuai_tag_of(r) != 0)
        cuai_meter_uncount(&arena->tags[cuai_tag_of(r)].meter);
    cuai_stream_t *s = meter_of(arena, r);
    if (s != NULL)
        cuai_meter_uncount(&s->meter);
}

void cuai_count_extension(cuarena_t *arena)
{
    arena->extensions++;
}

/* Growths of one segment may go together: as long as bytes are left there was at least one more,
 * and when none are, all have gone. */
void cuai_count_shrinkage(cuarena_t *arena)
{
    bool none_left = arena->heaps[CUAI_DYNAMIC]->capacity == 0 && arena->stable_bytes == 0;
    uint64_t gone = none_left ? arena->extensions : 1;
    arena->shrinkages += cuai_max(gone, 1);
    if (none_left)
        arena->extensions = 0;
    else if (arena->extensions > 1)
        arena->extensions--;
}

/* ---- From bytes that are held ------------------------------------------ */

uint64_t cuai_live_left(const cuarena_t *arena, uint64_t credit)
{
    if (!(arena->slow & CUAI_SLOW_LIMIT))
        return UINT64_MAX;
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    uint64_t live = cuai_live_bytes(arena) - credit;
    return limit > live ? limit - live : 0;
}

static cuarena_status_t check_live(const cuarena_t *arena, uint64_t size, uint64_t credit)
{
    if (size <= cuai_live_left(arena, credit))
        return CUARENA_OK;
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    uint64_t live = cuai_live_bytes(arena) - credit;
    return cuai_fail_bytes(CUARENA_LIMIT, size, limit, arena->held, 0, 0,
                           "%llu more bytes would exceed the limit of %llu: "
                           "%llu are live",
                           (unsigned long long)size, (unsigned long long)limit,
                           (unsigned long long)live);
}

cuarena_status_t cuai_check_live_limit(const cuarena_t *arena, const cuai_request_t *request)
{
    return check_live(arena, request->size, request->credit);
}

static cuarena_status_t take(const cuarena_t *arena, cuarena_heap_t *heap,
                             const cuai_request_t *request, uint32_t freelist,
                             cuai_slot_t *slot_out)
{
    cuarena_heap_request_t asked = request->heap;
    uint64_t most = cuai_live_left(arena, request->credit);
    asked.freelist = freelist;
    return request->soon ? cuai_heap_take_soon(heap, &asked, request->size, most, slot_out)
                         : cuai_heap_take(heap, &asked, request->size, most, slot_out);
}

/* What a range of the free list and idle ranges beside it have together. */
static cuarena_status_t take_where_both_touch(const cuarena_t *arena, cuarena_heap_t *heap,
                                              const cuai_request_t *request, uint32_t freelist,
                                              cuai_slot_t *slot_out)
{
    uint64_t granule = heap->granule_mask + 1;
    uint64_t slack = cuai_max(request->heap.alignment, granule) - granule + request->size;
    if (!cuai_freelist_absorb(heap, freelist, slack))
        return CUARENA_FRAGMENTED;
    return take(arena, heap, request, freelist, slot_out);
}

/* From the stream's own free lists, the open one first, then from what is idle, then, unless others
 * look there, from where they touch. */
static cuarena_status_t take_on(const cuarena_t *arena, int32_t region,
                                const cuai_request_t *request, cuai_slot_t *slot_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_stream_t *s = cuai_stream(arena, request->stream);
    bool own = !arena->cpu_touches;
    for (uint32_t i = 0; own && i < 2; i++) {
        uint32_t freelist = s->freelists[region][i == 0 ? s->turn : !s->turn];
        if (heap->freelists[freelist]->free_bytes >= request->size &&
            take(arena, heap, request, freelist, slot_out) == CUARENA_OK)
            return CUARENA_OK;
    }
    cuarena_status_t status = take(arena, heap, request, 0, slot_out);
    uint32_t open = s->freelists[region][s->turn];
    bool both = own && !request->soon && heap->freelists[open]->free_bytes != 0 &&
                heap->freelists[open]->free_bytes + heap->freelists[0]->free_bytes >= request->size;
    if (both && (status == CUARENA_FRAGMENTED || status == CUARENA_OUT_OF_MEMORY))
        status = take_where_both_touch(arena, heap, request, open, slot_out);
    return status;
}

/* Where a block is to be, the heap has room. */
cuarena_status_t cuai_try_alloc_at(cuarena_t *arena, const cuai_request_t *request,
                                   cuai_slot_t owner, uint64_t address, cuai_block_ref_t *block_out)
{
    int32_t region = cuai_region_for(arena, request->region);
    cuarena_status_t status = check_live(arena, request->size, request->credit);
    cuai_slot_t slot = 0;
    prepare_counts(arena, request, region);
    if (status == CUARENA_OK)
        status = cuai_heap_take_at(arena->heaps[region], &request->heap, request->size,
                                   cuai_live_left(arena, request->credit), owner, address, &slot);
    if (status != CUARENA_OK)
        return status;
    *block_out = (cuai_block_ref_t){arena->heaps[region], slot, region};
    cuai_count_in(arena, cuai_block_record(*block_out));
    return CUARENA_OK;
}

static cuarena_status_t take_any(cuarena_t *arena, int32_t region, const cuai_request_t *request,
                                 cuai_slot_t *slot_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    if (request->size == 0)
        return cuai_heap_take_empty(heap, &request->heap, slot_out);
    if (request->stream == 0)
        return take(arena, heap, request, request->heap.freelist, slot_out);
    if (cuai_is_captured(arena, request->stream))
        return cuai_capture_take(arena, region, request, slot_out);
    return take_on(arena, region, request, slot_out);
}

cuarena_status_t cuai_try_alloc(cuarena_t *arena, const cuai_request_t *request,
                                cuai_block_ref_t *block_out)
{
    cuarena_status_t status = check_live(arena, request->size, request->credit);
    if (status != CUARENA_OK)
        return status;
    int32_t region = cuai_region_for(arena, request->region);
    cuai_slot_t slot;
    prepare_counts(arena, request, region);
    status = take_any(arena, region, request, &slot);
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
    cuai_segment_t gone = *segment;
    cuai_segment_cut_range(ref.heap, gone.head, gone.begin, gone.end - gone.begin);
}

void cuai_end_block(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    const cuai_record_t *r = cuai_block_record(ref);
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
    cuai_heap_give(ref.heap, ref.slot, freelist);
    arena->unreturned =
        arena->unreturned || (freelist == 0 && ref.region == CUAI_DYNAMIC && has_bytes);
    if (adopted)
        forget_segment(ref, address);
}

/* ---- Dedicated and adopted --------------------------------------------- */

/* The heap of blocks apart, made at the first one. */
static cuarena_status_t ready_apart(cuarena_t *arena)
{
    if (arena->heaps[CUAI_APART] != NULL)
        return CUARENA_OK;
    cuarena_status_t status = cuai_heap_for(arena, UINT64_MAX, &arena->heaps[CUAI_APART]);
    if (status == CUARENA_OK)
        cuai_begin_whole(arena);
    return status;
}

static cuai_block_ref_t block_apart(const cuarena_t *arena, cuai_slot_t slot)
{
    return (cuai_block_ref_t){arena->heaps[CUAI_APART], slot, CUAI_APART};
}

/* What a dedicated block's record keeps of its segment beside place and size.
 */
static cuai_note_t note_of(const cuarena_memory_segment_t *segment)
{
    return (cuai_note_t){{segment->address_bytes, cuai_address(segment->cookie)}};
}

cuarena_memory_segment_t cuai_dedicated_segment(const cuai_record_t *r)
{
    cuai_note_t note = cuai_note_of(r);
    return (cuarena_memory_segment_t){
        .address = r->offset,
        .bytes = r->size,
        .address_bytes = note.words[0],
        .cookie = cuai_pointer(note.words[1]),
    };
}

static cuarena_status_t check_dedicated(const cuarena_t *arena, const cuai_request_t *request)
{
    uint64_t alignment = request->heap.alignment;
    if (alignment <= arena->memory.ops.alignment)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "alignment %llu of a dedicated block: memory '%s' gives "
                     "segments aligned to %llu",
                     (unsigned long long)alignment, arena->memory.ops.name,
                     (unsigned long long)arena->memory.ops.alignment);
}

/* Where a request's segment comes from: a point of its stream, which is `handle`, or, with
 * CUARENA_NO_STREAM, anywhere, and is good for everybody then. */
static cuarena_stream_t stream_for(const cuarena_t *arena, uint32_t number, cuarena_stream_t handle)
{
    bool ordered =
        arena->memory.ops.get_on != NULL && number != 0 && !cuai_is_captured(arena, number);
    return ordered ? handle : CUARENA_NO_STREAM;
}

/* *stream is NO_STREAM then if it turned out to be captured. */
static cuarena_status_t get_bytes(const cuarena_t *arena, uint64_t bytes, cuarena_stream_t *stream,
                                  cuarena_memory_segment_t *segment)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    void *user = arena->memory.user;
    cuarena_status_t status = CUARENA_BUSY;
    if (*stream != CUARENA_NO_STREAM)
        status = ops->get_on(user, bytes, *stream, segment);
    if (status != CUARENA_BUSY)
        return status;
    *stream = CUARENA_NO_STREAM;
    return ops->get(user, bytes, bytes, segment);
}

static void give_bytes(const cuarena_t *arena, cuarena_stream_t stream,
                       cuarena_memory_segment_t *segment)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    if (stream == CUARENA_NO_STREAM)
        ops->give_back(arena->memory.user, segment);
    else
        ops->give_on(arena->memory.user, segment, stream);
}

/* Without the lock. */
static cuarena_status_t get_segment(const cuarena_t *arena, uint64_t bytes,
                                    cuarena_stream_t *stream, cuarena_memory_segment_t *segment)
{
    cuarena_status_t status = get_bytes(arena, bytes, stream, segment);
    if (status != CUARENA_OK || arena->config.zero != CUARENA_ZERO_CREATE)
        return status;
    status = cuai_memory_zero_fresh(&arena->memory, segment->address, bytes, *stream);
    if (status != CUARENA_OK)
        give_bytes(arena, *stream, segment);
    return status;
}

/* Room for its free on a stream, where its segment cannot go back at once. */
static cuarena_status_t ready_for_free(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    bool waits = ops->identify != NULL && (ops->give_on == NULL || cuai_is_captured(arena, number));
    return waits ? cuai_use_add(arena, ref, 0) : CUARENA_OK;
}

static cuarena_status_t keep_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                       const cuarena_memory_segment_t *segment,
                                       cuai_block_ref_t *block_out)
{
    if (!cuai_capture_ready(arena, request->stream))
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a dedicated segment");
    cuai_slot_t slot;
    prepare_counts(arena, request, CUAI_APART);
    cuarena_status_t status =
        cuai_heap_add_standalone(arena->heaps[CUAI_APART], segment->address, segment->bytes,
                                 &request->heap, note_of(segment), &slot);
    if (status != CUARENA_OK)
        return status;
    *block_out = block_apart(arena, slot);
    cuai_count_in(arena, cuai_block_record(*block_out));
    status = ready_for_free(arena, *block_out, request->stream);
    if (status != CUARENA_OK) {
        cuai_uncount_block(arena, *block_out);
        cuai_end_block(arena, *block_out, 0);
        return status;
    }
    cuai_capture_adopt(arena, *block_out, request->stream);
    return status;
}

/* What it takes of the memory. */
static uint64_t dedicated_bytes(const cuarena_t *arena, uint64_t size)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    return cuai_align_up(size, ops->least_bytes != 0 ? ops->least_bytes : ops->granularity);
}

static cuarena_status_t may_serve_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                            uint64_t bytes)
{
    cuarena_status_t status = check_dedicated(arena, request);
    if (status == CUARENA_OK)
        status = cuai_check_reserved_limit(arena, bytes);
    if (status == CUARENA_OK)
        status = check_live(arena, bytes, 0);
    return status == CUARENA_OK ? ready_apart(arena) : status;
}

/* On the request's stream, which the caller touches. */
static cuarena_status_t serve_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                        cuarena_stream_t handle, cuai_block_ref_t *block_out)
{
    uint64_t bytes = dedicated_bytes(arena, request->size);
    cuarena_status_t status = may_serve_dedicated(arena, request, bytes);
    if (status != CUARENA_OK)
        return status;
    cuarena_memory_segment_t segment = {0};
    cuarena_stream_t stream = stream_for(arena, request->stream, handle);
    arena->promised += bytes;
    cuai_unlock(&arena->lock);
    status = get_segment(arena, bytes, &stream, &segment);
    cuai_lock(&arena->lock);
    bool got = status == CUARENA_OK;
    if (got)
        status = keep_dedicated(arena, request, &segment, block_out);
    if (status == CUARENA_OK) {
        cuai_count_reserved(arena, bytes);
    } else if (got) {
        cuai_unlock(&arena->lock);
        give_bytes(arena, stream, &segment);
        cuai_lock(&arena->lock);
    }
    arena->promised -= bytes;
    return status;
}

cuarena_status_t cuai_alloc_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                      cuai_block_ref_t *block_out)
{
    cuarena_stream_t handle = cuai_stream_touch(arena, request->stream);
    cuarena_status_t status = serve_dedicated(arena, request, handle, block_out);
    cuai_stream_untouch(arena, request->stream);
    return status;
}

void cuai_return_segment(cuarena_t *arena, cuarena_memory_segment_t segment, uint32_t number)
{
    bool ordered = arena->memory.ops.give_on != NULL && !cuai_is_lost(arena);
    uint32_t touched = ordered ? number : 0;
    cuai_count_reserved(arena, 0 - segment.bytes);
    cuarena_stream_t stream = cuai_stream_touch(arena, touched);
    cuai_unlock(&arena->lock);
    give_bytes(arena, stream, &segment);
    cuai_lock(&arena->lock);
    cuai_stream_untouch(arena, touched);
}

bool cuai_goes_back_on(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    const cuai_record_t *r = cuai_block_record(ref);
    return number != 0 && (r->flags & CUAI_BLOCK_DEDICATED) && !r->fixed &&
           arena->memory.ops.give_on != NULL && !cuai_is_lost(arena);
}

static bool overlaps(const cuarena_memory_segment_t *segment, uint64_t begin, uint64_t end)
{
    return begin < segment->address + segment->address_bytes && segment->address < end;
}

/* Whether the arena got some of these bytes from its memory. Steps: segments, and dedicated
 * blocks. */
static bool is_ours(const cuarena_t *arena, uint64_t begin, uint64_t end)
{
    for (size_t i = 0; i < arena->segments.count; i++)
        if (overlaps(&arena->segments.items[i], begin, end))
            return true;
    const cuarena_heap_t *apart = arena->heaps[CUAI_APART];
    cuai_slot_t slot = apart == NULL ? 0 : cuai_heap_next_standalone(apart, 1);
    for (; slot != 0; slot = cuai_heap_next_standalone(apart, slot + 1)) {
        cuarena_memory_segment_t segment = cuai_dedicated_segment(cuai_record(apart, slot));
        if (overlaps(&segment, begin, end))
            return true;
    }
    return false;
}

/* A segment of its own, which the block fills. */
static cuarena_status_t add_adopted(cuarena_t *arena, const cuai_request_t *request,
                                    uint64_t address, cuai_block_ref_t *block_out)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    cuarena_block_t block;
    prepare_counts(arena, request, CUAI_APART);
    cuarena_status_t status =
        cuarena_heap_segment_add_block(heap, address, request->size, &request->heap, &block);
    if (status != CUARENA_OK)
        return status;
    *block_out = block_apart(arena, cuai_slot_of(heap, block));
    cuai_count_in(arena, cuai_block_record(*block_out));
    arena->adopted_bytes += request->size;
    return CUARENA_OK;
}

cuarena_status_t cuai_adopt(cuarena_t *arena, const cuai_request_t *request, uint64_t address,
                            cuai_block_ref_t *block_out)
{
    uint64_t end = address + request->size;
    if (is_ours(arena, address, end))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "[%#llx, %#llx) overlaps the arena's own bytes",
                         (unsigned long long)address, (unsigned long long)end);
    cuarena_status_t status = check_live(arena, request->size, 0);
    if (status != CUARENA_OK)
        return cuai_fail(status,
                         "%llu adopted bytes exceed the limit of live "
                         "bytes",
                         (unsigned long long)request->size);
    status = ready_apart(arena);
    if (status == CUARENA_OK)
        status = add_adopted(arena, request, address, block_out);
    return status;
}
