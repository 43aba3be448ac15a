/* Ranges: what happens where the free bytes of two lanes meet. */
#include "heap/heap.h"

/* Makes `slot` a SPACER after `prev` that owns `bytes` of `lane`. */
static void place_spacer(cuarena_heap_t *heap, cuai_slot_t slot,
                         cuai_slot_t prev, uint64_t offset, uint64_t bytes,
                         uint32_t lane)
{
    cuai_record_t *r = cuai_record(heap, slot);
    r->kind = CUAI_SPACER;
    r->offset = offset;
    r->size = 0;
    r->pins = 0;
    r->moving = 0;
    cuai_link_after(heap, prev, slot);
    cuai_range_set(heap, slot, bytes, lane);
    heap->spacers++;
    cuai_note_plain(heap);
}

static void remove_spacer(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_range_drop(heap, slot);
    cuai_unlink(heap, slot);
    cuai_slot_end(heap, slot);
    heap->spacers--;
    cuai_note_plain(heap);
}

void cuai_range_absorb(cuarena_heap_t *heap, cuai_slot_t slot)
{
    if (CUAI_LIKELY(heap->spacers == 0))
        return;
    const cuai_record_t *r = cuai_record(heap, slot);
    const cuai_record_t *next = cuai_record(heap, r->next);
    if (next->kind != CUAI_SPACER ||
        !cuai_range_joins(r, cuai_range_lane(next)))
        return;
    uint64_t bytes = cuai_range(r) + cuai_range(next);
    uint32_t lane = cuai_range_lane(next);
    remove_spacer(heap, r->next);
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, bytes, lane);
}

void cuai_range_release(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                        uint32_t lane)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    if (cuai_range_joins(r, lane)) {
        bytes += cuai_range(r);
        cuai_range_drop(heap, slot);
        cuai_range_set(heap, slot, bytes, lane);
        if (CUAI_UNLIKELY(heap->spacers != 0))
            cuai_range_absorb(heap, slot);
        return;
    }
    uint64_t rest = cuai_range(r);
    uint32_t rest_lane = cuai_range_lane(r);
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, bytes, lane);
    place_spacer(heap, cuai_slot_take(heap), slot, cuai_end(r) + bytes, rest,
                 rest_lane);
}

void cuai_range_append(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                       uint32_t lane)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    place_spacer(heap, cuai_slot_take(heap), slot, cuai_end(r) + cuai_range(r),
                 bytes, lane);
}

void cuai_range_spent(cuarena_heap_t *heap, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    cuai_slot_t owner = slot;
    if (r->kind == CUAI_SPACER) {
        owner = r->prev;
        remove_spacer(heap, slot);
    }
    cuai_range_absorb(heap, owner);
}

void cuai_range_relane(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t lane)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t bytes = cuai_range(r);
    cuai_lane_count(heap, cuai_range_lane(r), 0 - bytes);
    cuai_lane_count(heap, lane, bytes);
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, bytes, lane);
    if (CUAI_LIKELY(heap->spacers == 0))
        return;
    cuai_range_absorb(heap, slot);
    if (r->kind == CUAI_SPACER)
        cuai_range_absorb(heap, r->prev);
}

cuai_slot_t cuai_range_relane_part(cuarena_heap_t *heap, cuai_slot_t slot,
                                   uint64_t front, uint64_t bytes,
                                   uint32_t lane)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t tail = cuai_range(r) - front - bytes;
    uint32_t from = cuai_range_lane(r);
    cuai_slot_t part = slot;
    cuai_lane_count(heap, from, 0 - bytes);
    cuai_lane_count(heap, lane, bytes);
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, front != 0 ? front : bytes,
                   front != 0 ? from : lane);
    if (front != 0) {
        cuai_range_append(heap, slot, bytes, lane);
        part = r->next;
    }
    if (tail != 0)
        cuai_range_append(heap, part, tail, from);
    else
        cuai_range_absorb(heap, part);
    if (front != 0 || r->kind != CUAI_SPACER)
        return part;
    cuai_slot_t before = r->prev;
    bool joins = cuai_range_joins(cuai_record(heap, before), lane);
    cuai_range_absorb(heap, before);
    return joins ? before : part;
}

/* ---- Blocks in the place of SPACERs ------------------------------------ */

cuai_slot_t cuai_spacer_beside(const cuarena_heap_t *heap, cuai_slot_t owner,
                               uint64_t size, bool high)
{
    const cuai_record_t *o = cuai_record(heap, owner);
    bool whole = cuai_range(o) == size;
    bool before = o->kind == CUAI_SPACER && (whole || !high);
    bool after =
        cuai_record(heap, o->next)->kind == CUAI_SPACER && (whole || high);
    if (!before && !after)
        return 0;
    cuai_slot_t spacer = before ? owner : o->next;
    bool used_up =
        cuai_record(heap, spacer)->generation == heap->last_generation;
    return (before && after) || used_up ? CUAI_SPACERS_DISTURB : spacer;
}

/* Before its own range, of which it keeps the rest. */
static void take_before(cuarena_heap_t *heap, cuai_slot_t spacer, uint64_t size,
                        uint64_t nature)
{
    cuai_record_t *r = cuai_record(heap, spacer);
    uint64_t rest = cuai_range(r) - size;
    uint32_t lane = cuai_range_lane(r);
    cuai_range_drop(heap, spacer);
    r->size = size;
    cuai_set_nature(r, nature);
    cuai_range_set(heap, spacer, rest, lane);
}

/* At the end of the range before it. Its own stays in its list. */
static void take_after(cuarena_heap_t *heap, cuai_slot_t spacer,
                       cuai_slot_t owner, uint64_t size, uint64_t nature)
{
    cuai_record_t *r = cuai_record(heap, spacer);
    const cuai_record_t *o = cuai_record(heap, owner);
    uint16_t list = r->list;
    r->offset -= size;
    r->size = size;
    cuai_set_nature(r, nature);
    r->list = list;
    cuai_range_change(heap, owner, cuai_range(o) - size, cuai_range_lane(o));
}

cuai_slot_t cuai_spacer_take(cuarena_heap_t *heap, cuai_slot_t spacer,
                             cuai_slot_t owner, uint64_t size, uint64_t nature)
{
    if (spacer == owner)
        take_before(heap, spacer, size, nature);
    else
        take_after(heap, spacer, owner, size, nature);
    heap->spacers--;
    cuai_note_plain(heap);
    return spacer;
}
