/* Ranges: what happens where the free bytes of two free lists meet. */
#include "heap/ranges.h"
#include "heap/slots.h"

/* Makes a SEPARATOR after `prev` that owns `bytes` of `freelist`. One slot is ready. */
static void place_separator(cuarena_heap_t *heap, cuai_slot_t prev, uint64_t offset, uint64_t bytes,
                            uint32_t freelist)
{
    CUAI_ASSERT(bytes != 0 && !cuai_range_joins(cuai_record(heap, prev), freelist));
    cuai_slot_t slot = cuai_record_put(heap, prev, CUAI_SEPARATOR, offset);
    cuai_range_set(heap, slot, bytes, freelist);
    cuai_count_separators(heap, 1);
}

static void remove_separator(cuarena_heap_t *heap, cuai_slot_t slot)
{
    CUAI_ASSERT(cuai_record(heap, slot)->kind == CUAI_SEPARATOR);
    cuai_range_drop(heap, slot);
    cuai_unlink(heap, slot);
    cuai_slot_end(heap, slot);
    cuai_count_separators(heap, UINT64_MAX);
}

void cuai_range_absorb(cuarena_heap_t *heap, cuai_slot_t slot)
{
    if (CUAI_LIKELY(heap->separators == 0))
        return;
    const cuai_record_t *r = cuai_record(heap, slot);
    const cuai_record_t *next = cuai_record(heap, r->next);
    if (cuai_kind(next) != CUAI_SEPARATOR || !cuai_range_joins(r, cuai_range_freelist(next)))
        return;
    uint64_t bytes = cuai_range(r) + cuai_range(next);
    uint32_t freelist = cuai_range_freelist(next);
    remove_separator(heap, r->next);
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, bytes, freelist);
}

void cuai_range_release(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(bytes != 0);
    if (cuai_range_joins(r, freelist)) {
        bytes += cuai_range(r);
        cuai_range_drop(heap, slot);
        cuai_range_set(heap, slot, bytes, freelist);
        if (CUAI_UNLIKELY(heap->separators != 0))
            cuai_range_absorb(heap, slot);
        return;
    }
    uint64_t rest = cuai_range(r);
    uint32_t rest_freelist = cuai_range_freelist(r);
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, bytes, freelist);
    place_separator(heap, slot, cuai_end(r) + bytes, rest, rest_freelist);
}

void cuai_range_append(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    place_separator(heap, slot, cuai_end(r) + cuai_range(r), bytes, freelist);
}

void cuai_range_spent(cuarena_heap_t *heap, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    cuai_slot_t owner = slot;
    CUAI_ASSERT(r->key == 0);
    if (cuai_kind(r) == CUAI_SEPARATOR) {
        owner = r->prev;
        remove_separator(heap, slot);
    }
    cuai_range_absorb(heap, owner);
}

void cuai_range_transfer(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    (void)cuai_range_transfer_part(heap, slot, 0, cuai_range(cuai_record(heap, slot)), freelist);
}

cuai_slot_t cuai_range_transfer_part(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t front,
                                     uint64_t bytes, uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t tail = cuai_range(r) - front - bytes;
    uint32_t from = cuai_range_freelist(r);
    cuai_slot_t part = slot;
    CUAI_ASSERT(bytes != 0 && front + bytes <= cuai_range(r) && from != freelist);
    cuai_freelist_count(heap, from, 0 - bytes);
    cuai_freelist_count(heap, freelist, bytes);
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, front != 0 ? front : bytes, front != 0 ? from : freelist);
    if (front != 0) {
        cuai_range_append(heap, slot, bytes, freelist);
        part = r->next;
    }
    if (tail != 0)
        cuai_range_append(heap, part, tail, from);
    else
        cuai_range_absorb(heap, part);
    if (front != 0 || cuai_kind(r) != CUAI_SEPARATOR)
        return part;
    cuai_slot_t before = r->prev;
    bool joins = cuai_range_joins(cuai_record(heap, before), freelist);
    cuai_range_absorb(heap, before);
    return joins ? before : part;
}

/* ---- Blocks in the place of SEPARATORs ------------------------------------ */

cuai_slot_t cuai_separator_beside(const cuarena_heap_t *heap, cuai_slot_t owner, uint64_t size,
                                  bool high)
{
    const cuai_record_t *o = cuai_record(heap, owner);
    bool whole = cuai_range(o) == size;
    CUAI_ASSERT(size <= cuai_range(o));
    bool before = cuai_kind(o) == CUAI_SEPARATOR && (whole || !high);
    bool after = cuai_kind(cuai_record(heap, o->next)) == CUAI_SEPARATOR && (whole || high);
    if (!before && !after)
        return 0;
    cuai_slot_t separator = before ? owner : o->next;
    bool used_up = cuai_record(heap, separator)->generation == CUAI_LAST_GENERATION;
    return (before && after) || used_up ? CUAI_SEPARATORS_DISTURB : separator;
}

/* The SEPARATOR's record becomes a block at the lower end of its own range, and keeps the rest. */
static void to_block_before(cuarena_heap_t *heap, cuai_slot_t separator, uint64_t size,
                            uint64_t attributes)
{
    cuai_record_t *r = cuai_record(heap, separator);
    uint64_t rest = cuai_range(r) - size;
    uint32_t freelist = cuai_range_freelist(r);
    cuai_range_drop(heap, separator);
    r->size = size;
    cuai_set_attributes(r, attributes);
    cuai_range_set(heap, separator, rest, freelist);
}

/* The SEPARATOR's record becomes a block at the upper end of the range before it. Its own range
 * stays in its list. */
static void to_block_after(cuarena_heap_t *heap, cuai_slot_t separator, cuai_slot_t owner,
                           uint64_t size, uint64_t attributes)
{
    cuai_record_t *r = cuai_record(heap, separator);
    const cuai_record_t *o = cuai_record(heap, owner);
    uint16_t list = r->list;
    CUAI_ASSERT(o->next == separator);
    CUAI_STORE(r->offset, r->offset - size);
    r->size = size;
    cuai_set_attributes(r, attributes);
    r->list = list;
    cuai_range_change(heap, owner, cuai_range(o) - size, cuai_range_freelist(o));
}

cuai_slot_t cuai_separator_to_block(cuarena_heap_t *heap, cuai_slot_t separator, cuai_slot_t owner,
                                    uint64_t size, uint64_t attributes)
{
    CUAI_ASSERT(cuai_record(heap, separator)->kind == CUAI_SEPARATOR);
    if (separator == owner)
        to_block_before(heap, separator, size, attributes);
    else
        to_block_after(heap, separator, owner, size, attributes);
    cuai_count_separators(heap, UINT64_MAX);
    return separator;
}
