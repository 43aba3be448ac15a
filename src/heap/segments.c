/* Segments: the stretches of offsets that the heap manages. */
#include "heap/segments.h"
#include "heap/blocks.h"
#include "heap/ranges.h"
#include "heap/slots.h"

cuai_slot_t cuai_segment_last(const cuarena_heap_t *heap, const cuai_segment_t *segment)
{
    const cuai_segment_t *next = cuai_segment_next(heap, segment);
    return cuai_record(heap, next == NULL ? 0 : next->head)->prev;
}

/* ---- Arguments ------------------------------------------------------------
 */

static cuarena_status_t check_multiple(const cuarena_heap_t *heap, const char *what, uint64_t value)
{
    if ((value & heap->granule_mask) == 0)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "%s %llu is not a multiple of the granule %llu", what,
                     (unsigned long long)value, (unsigned long long)heap->granule_mask + 1);
}

static cuarena_status_t check_extent(const cuarena_heap_t *heap, uint64_t offset, uint64_t size)
{
    cuarena_status_t status = check_multiple(heap, "offset", offset);
    if (status == CUARENA_OK)
        status = check_multiple(heap, "size", size);
    if (status != CUARENA_OK)
        return status;
    if (size == 0 || size >= CUARENA_HEAP_MAX_SEGMENT)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "size %llu of a segment is not in 1 .. 2^48 - 1",
                         (unsigned long long)size);
    if (offset > CUARENA_HEAP_MAX_OFFSET - size)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "segment at %llu of %llu bytes ends above 2^52",
                         (unsigned long long)offset, (unsigned long long)size);
    return CUARENA_OK;
}

static cuarena_status_t check_free_of_segments(const cuarena_heap_t *heap, uint64_t offset,
                                               uint64_t size)
{
    const cuai_segment_t *next = cuai_segment_from(heap, offset);
    if (next == NULL || next->begin >= offset + size)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "[%llu, %llu) overlaps the segment at %llu",
                     (unsigned long long)offset, (unsigned long long)(offset + size),
                     (unsigned long long)next->begin);
}

/* ---- Room --------------------------------------------------------------- */

void cuai_segments_ready_cuts(cuarena_heap_t *heap)
{
    (void)cuai_segments_make_room(heap, heap->segment_count + cuai_block_records(heap) + 1);
}

/* ---- Adding ----------------------------------------------------------------
 */

static cuarena_status_t ready_for_segment(cuarena_heap_t *heap, uint64_t slots)
{
    if (!cuai_segments_make_room(heap, heap->segment_count + 1))
        return cuai_no_bookkeeping(CUARENA_OUT_OF_MEMORY);
    cuarena_status_t status = cuai_slots_reserve(heap, slots);
    return status == CUARENA_OK ? status : cuai_no_bookkeeping(status);
}

/* Checks a new segment, and makes it and so many slots ready. */
static cuarena_status_t prepare_segment(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                        uint64_t slots)
{
    cuarena_status_t status = check_extent(heap, offset, size);
    if (status == CUARENA_OK)
        status = check_free_of_segments(heap, offset, size);
    return status == CUARENA_OK ? ready_for_segment(heap, slots) : status;
}

/* Adds a segment and its SEGMENT_START, which has no range yet; returns that. Slot and segment are
 * ready. */
static cuai_slot_t add_head(cuarena_heap_t *heap, uint64_t offset, uint64_t size)
{
    const cuai_segment_t *above = cuai_segment_from(heap, offset);
    cuai_slot_t next = above == NULL ? 0 : above->head;
    cuai_slot_t slot =
        cuai_record_put(heap, cuai_record(heap, next)->prev, CUAI_SEGMENT_START, offset);
    cuai_segment_put(heap, (cuai_segment_t){.begin = offset, .end = offset + size, .head = slot});
    heap->capacity += size;
    cuai_zones_fit(heap);
    cuai_note_change(heap);
    return slot;
}

static void remove_segment(cuarena_heap_t *heap, cuai_segment_t *segment)
{
    cuai_range_drop(heap, segment->head);
    cuai_unlink(heap, segment->head);
    cuai_slot_end(heap, segment->head);
    cuai_segment_drop(heap, segment);
}

/* Removes the segment at `offset`, which has neither a block nor a range. */
static void remove_at(cuarena_heap_t *heap, uint64_t offset)
{
    cuai_segment_t *segment = cuai_segment_around(heap, offset);
    CUAI_ASSERT(segment != NULL && segment->begin == offset);
    heap->capacity -= segment->end - segment->begin;
    remove_segment(heap, segment);
    cuai_zones_fit(heap);
    cuai_note_change(heap);
}

cuarena_status_t cuai_segment_add_to(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                     uint32_t freelist)
{
    cuarena_status_t status = prepare_segment(heap, offset, size, 1);
    if (status != CUARENA_OK)
        return status;
    cuai_range_set(heap, add_head(heap, offset, size), size, freelist);
    cuai_freelist_count(heap, freelist, size);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_segment_add(cuarena_heap_t *heap, uint64_t offset, uint64_t size)
{
    if (heap == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
    return cuai_segment_add_to(heap, offset, size, 0);
}

cuarena_status_t cuarena_heap_segment_add_block(cuarena_heap_t *heap, uint64_t offset,
                                                uint64_t size,
                                                const cuarena_heap_request_t *request,
                                                cuarena_block_t *block_out)
{
    if (heap == NULL || request == NULL || block_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    if (request->size == 0 || request->size > size)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "size %llu of the request is not in 1 .. %llu",
                         (unsigned long long)request->size, (unsigned long long)size);
    cuarena_status_t status = prepare_segment(heap, offset, size, 2);
    if (status != CUARENA_OK)
        return status;
    const uint64_t changes = heap->changes;
    status = cuai_heap_add_block(heap, add_head(heap, offset, size), size, request, block_out);
    if (status == CUARENA_OK)
        return status;
    remove_at(heap, offset);
    heap->changes = changes; /* all is as it was, so plans are good */
    return cuai_no_bookkeeping(status);
}

/* The new bytes become part of the last record's range, or get a SEPARATOR of their own if that is
 * of another free list. */
static cuarena_status_t lengthen(cuarena_heap_t *heap, cuai_segment_t *segment, uint64_t bytes)
{
    cuai_slot_t last = cuai_segment_last(heap, segment);
    const cuai_record_t *r = cuai_record(heap, last);
    bool joins = cuai_range_joins(r, 0);
    CUAI_ASSERT(cuai_end(r) + cuai_range(r) == segment->end);
    cuarena_status_t status = cuai_slots_reserve(heap, joins ? 0 : 1);
    if (status != CUARENA_OK)
        return cuai_no_bookkeeping(status);
    segment->end += bytes;
    cuai_segment_fit(heap, segment);
    heap->capacity += bytes;
    cuai_zones_fit(heap);
    cuai_freelist_count(heap, 0, bytes);
    cuai_note_change(heap);
    if (joins) {
        cuai_range_release(heap, last, bytes, 0);
        return CUARENA_OK;
    }
    cuai_range_append(heap, last, bytes, 0);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_segment_extend(cuarena_heap_t *heap, uint64_t offset, uint64_t bytes)
{
    if (heap == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
    cuai_segment_t *segment = cuai_segment_around(heap, offset);
    if (segment == NULL || segment->begin != offset)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "no segment begins at %llu",
                         (unsigned long long)offset);
    cuarena_status_t status = check_extent(heap, segment->end, bytes);
    if (status == CUARENA_OK)
        status = check_free_of_segments(heap, segment->end, bytes);
    if (status != CUARENA_OK)
        return status;
    if (segment->end - segment->begin + bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return check_extent(heap, offset, CUARENA_HEAP_MAX_SEGMENT);
    return lengthen(heap, segment, bytes);
}

/* ---- Cutting ----------------------------------------------------------------
 */

/* Makes what is above the cut a segment of its own, with a new SEGMENT_START. */
static cuarena_status_t split_segment(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t offset,
                                      uint64_t bytes)
{
    cuarena_status_t status = ready_for_segment(heap, 1);
    if (status != CUARENA_OK)
        return status;
    const cuai_record_t *r = cuai_record(heap, slot);
    uint32_t freelist = cuai_range_freelist(r);
    uint64_t range_end = cuai_end(r) + cuai_range(r);
    uint64_t above = range_end - (offset + bytes);
    CUAI_ASSERT(offset + bytes <= range_end);
    cuai_range_change(heap, slot, offset - cuai_end(r), freelist);
    cuai_segment_t *segment = cuai_segment_around(heap, offset);
    cuai_slot_t head = cuai_record_put(heap, slot, CUAI_SEGMENT_START, offset + bytes);
    cuai_range_set(heap, head, above, freelist);
    cuai_segment_t upper = {
        .begin = offset + bytes, .end = segment->end, .head = head, .source = segment->source};
    segment->end = offset;
    cuai_segment_put(heap, upper);
    cuai_range_absorb(heap, head);
    if (cuai_record(heap, slot)->key == 0)
        cuai_range_spent(heap, slot);
    return CUARENA_OK;
}

/* Cuts from the segment's begin into its first range. */
static void raise_begin(cuarena_heap_t *heap, cuai_segment_t *segment, uint64_t bytes)
{
    cuai_record_t *head = cuai_record(heap, segment->head);
    uint64_t rest = cuai_range(head) - bytes;
    uint32_t freelist = cuai_range_freelist(head);
    CUAI_ASSERT(head->kind == CUAI_SEGMENT_START && bytes <= cuai_range(head));
    cuai_range_drop(heap, segment->head);
    head->offset += bytes;
    segment->begin += bytes;
    cuai_segment_fit(heap, segment);
    cuai_range_set(heap, segment->head, rest, freelist);
    cuai_range_absorb(heap, segment->head);
}

/* Cuts from `offset`, in the last range, to the segment's end. */
static void lower_end(cuarena_heap_t *heap, cuai_slot_t slot, cuai_segment_t *segment,
                      uint64_t offset)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(cuai_end(r) + cuai_range(r) == segment->end);
    cuai_range_change(heap, slot, offset - cuai_end(r), cuai_range_freelist(r));
    segment->end = offset;
    cuai_segment_fit(heap, segment);
    if (cuai_record(heap, slot)->key == 0)
        cuai_range_spent(heap, slot);
}

cuarena_status_t cuai_segment_cut_range(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t offset,
                                        uint64_t bytes)
{
    cuai_segment_t *segment = cuai_segment_around(heap, offset);
    uint32_t freelist = cuai_range_freelist(cuai_record(heap, slot));
    cuarena_status_t status = CUARENA_OK;
    CUAI_ASSERT(segment != NULL && cuai_end(cuai_record(heap, slot)) <= offset);
    CUAI_ASSERT(bytes <= cuai_range(cuai_record(heap, slot)));
    if (segment->begin == offset && segment->end == offset + bytes) {
        remove_segment(heap, segment);
    } else if (segment->begin == offset) {
        raise_begin(heap, segment, bytes);
    } else if (segment->end == offset + bytes) {
        lower_end(heap, slot, segment, offset);
    } else {
        status = split_segment(heap, slot, offset, bytes);
    }
    if (status != CUARENA_OK)
        return status;
    heap->capacity -= bytes;
    cuai_zones_fit(heap);
    cuai_freelist_count(heap, freelist, 0 - bytes);
    cuai_note_change(heap);
    return CUARENA_OK;
}

/* The record whose idle range contains the bytes, or 0. It looks from the segment's end down, since
 * cuts are mostly there. */
static cuai_slot_t owner_of(const cuarena_heap_t *heap, const cuai_segment_t *segment,
                            uint64_t offset, uint64_t bytes)
{
    cuai_slot_t slot = cuai_segment_last(heap, segment);
    while (slot != segment->head && cuai_end(cuai_record(heap, slot)) > offset)
        slot = cuai_record(heap, slot)->prev;
    const cuai_record_t *r = cuai_record(heap, slot);
    bool inside = r->key != 0 && cuai_range_freelist(r) == 0 && cuai_end(r) <= offset &&
                  offset + bytes <= cuai_end(r) + cuai_range(r);
    return inside ? slot : 0;
}

cuarena_status_t cuarena_heap_segment_cut(cuarena_heap_t *heap, uint64_t offset, uint64_t bytes)
{
    if (heap == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
    cuarena_status_t status = check_extent(heap, offset, bytes);
    if (status != CUARENA_OK)
        return status;
    const cuai_segment_t *segment = cuai_segment_around(heap, offset);
    if (segment == NULL || offset + bytes > segment->end)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "[%llu, %llu) is not within one segment",
                         (unsigned long long)offset, (unsigned long long)(offset + bytes));
    cuai_slot_t slot = owner_of(heap, segment, offset, bytes);
    if (slot == 0)
        return cuai_fail(CUARENA_BUSY, "[%llu, %llu) is not one idle range",
                         (unsigned long long)offset, (unsigned long long)(offset + bytes));
    return cuai_segment_cut_range(heap, slot, offset, bytes);
}

/* ---- Joining ----------------------------------------------------------- */

/* Removes the upper segment's SEGMENT_START, or makes it a SEPARATOR if it has a range; that goes
 * again if the range before is of the same free list. */
static void dissolve_segment_start(cuarena_heap_t *heap, cuai_slot_t head)
{
    cuai_record_t *h = cuai_record(heap, head);
    cuai_slot_t prev = h->prev;
    CUAI_ASSERT(h->kind == CUAI_SEGMENT_START);
    if (h->key == 0) {
        cuai_unlink(heap, head);
        cuai_slot_end(heap, head);
        return;
    }
    h->kind = CUAI_SEPARATOR;
    cuai_count_separators(heap, 1);
    cuai_range_absorb(heap, prev);
}

cuarena_status_t cuarena_heap_segment_join(cuarena_heap_t *heap, uint64_t offset)
{
    if (heap == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
    cuai_segment_t *upper = cuai_segment_around(heap, offset);
    cuai_segment_t *lower = upper == NULL ? NULL : cuai_segment_numbered(heap, upper->below);
    if (lower == NULL || upper->begin != offset || lower->end != offset)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "no two segments touch at %llu",
                         (unsigned long long)offset);
    if (upper->end - lower->begin >= CUARENA_HEAP_MAX_SEGMENT)
        return check_extent(heap, lower->begin, CUARENA_HEAP_MAX_SEGMENT);
    cuai_slot_t head = upper->head;
    uint64_t end = upper->end;
    cuai_segment_drop(heap, upper);
    lower->end = end;
    cuai_segment_fit(heap, lower);
    dissolve_segment_start(heap, head);
    cuai_note_change(heap);
    return CUARENA_OK;
}

void cuai_segment_set_source(cuarena_heap_t *heap, cuai_segment_t *segment, uint32_t source)
{
    segment->source = source;
    cuai_segment_fit(heap, segment);
}
