/*
 * The heap's fast path: allocation, free and resize in place when nothing is out of the ordinary.
 * Everything else is in blocks.c, which can do all of this too.
 *
 * Ordinary is a smooth heap (no plan under way), a FREE slot, the granule as alignment, and a range
 * found in the first few zones that may have one. An allocation then touches the range's owner, the
 * record after it and the new record, one list head or two, and one look-up bucket; a free touches
 * the block, both neighbours and the same. A resize touches the block and the record after it,
 * whose range stays in its list if zone and class stay.
 *
 * Where a SEPARATOR is beside what is cut its record becomes the block's, unless there is one on
 * both sides of a range that is used up. A free or a resize beside one is the slow path's.
 */
#ifndef CUAI_HEAP_FAST_PATH_H
#define CUAI_HEAP_FAST_PATH_H

#include "heap/blocks.h"
#include "heap/placement.h"
#include "heap/ranges.h"
#include "heap/slots.h"

/* ---- Allocation -------------------------------------------------------------
 */

/* Enters the block of `slot`, which is at `offset`, into the look-up and the counters: its heap's
 * and one more, or NULL. */
static CUAI_INLINE void cuai_heap_fast_enter(cuarena_heap_t *heap, cuai_index_t *index,
                                             cuai_counter_t *counter, cuai_record_t *records,
                                             cuai_slot_t slot, uint64_t offset, uint64_t size,
                                             uint64_t requested)
{
    CUAI_ASSERT(index->free_bytes >= size);
    cuai_count_alloc(heap, size, requested);
    if (counter != NULL)
        cuai_counter_begin(counter, size, requested);
    records[slot].asked = cuai_asked(requested, 0);
    cuai_table_insert_at(&heap->table, records, slot, offset);
    index->free_bytes -= size;
}

/* Files the rest of the owner's range, of which the upper end was cut. A rest of 0 bytes has class
 * 0, which is no list. */
static CUAI_INLINE void cuai_heap_fast_keep(const cuarena_heap_t *heap, cuai_index_t *index,
                                            cuai_slot_t owner, uint64_t rest)
{
    uint32_t was = cuai_record(heap, owner)->list;
    CUAI_ASSERT(was % CUAI_CLASSES != 0);
    uint32_t list = (was & ~CUAI_LAST_CLASS) + cuai_plain_class(heap, rest);
    if (list == was)
        return;
    index->ranges -= rest == 0;
    cuai_index_move(index, heap->records, owner, list);
}

/* Files the rest of the owner's range, of which the lower end was cut: the block of `slot` owns it
 * from now on. It begins at `end`. */
static CUAI_INLINE void cuai_heap_fast_hand(const cuarena_heap_t *heap, cuai_index_t *index,
                                            cuai_slot_t owner, cuai_slot_t slot, uint64_t end,
                                            uint64_t rest)
{
    uint32_t list = cuai_list_of(cuai_zone_of(heap, end), cuai_plain_class(heap, rest));
    CUAI_ASSERT(cuai_record(heap, owner)->list % CUAI_CLASSES != 0);
    index->ranges -= rest == 0;
    cuai_index_hand_on(index, heap->records, owner, slot, list);
}

/* Whether a SEPARATOR would keep nothing apart after a cut: the one beside the end that is cut, or,
 * if nothing of the range is left, the one at the other end. */
static CUAI_INLINE bool cuai_heap_fast_meets_separator(const cuarena_heap_t *heap,
                                                       cuai_slot_t owner, uint64_t size, bool high)
{
    if (CUAI_LIKELY(heap->separators == 0))
        return false;
    const cuai_record_t *o = cuai_record(heap, owner);
    const cuai_record_t *next = cuai_record(heap, o->next);
    if (CUAI_UNLIKELY((cuai_kind_byte(o) | cuai_kind_byte(next)) & CUAI_SEPARATOR))
        return cuai_kind(high ? next : o) == CUAI_SEPARATOR || cuai_range(o) == size;
    return false;
}

/* Makes the SEPARATOR that the cut would leave pointless the block, and returns its slot; 0: there
 * is none, or `disturbs_out` says that the slow path must sort it out. */
static CUAI_INLINE cuai_slot_t cuai_heap_fast_reuse_separator(cuarena_heap_t *heap,
                                                              cuai_slot_t owner, uint64_t size,
                                                              uint64_t attributes, bool high,
                                                              bool *disturbs_out,
                                                              uint64_t *offset_out)
{
    cuai_slot_t separator = cuai_separator_beside(heap, owner, size, high);
    *disturbs_out = separator == CUAI_SEPARATORS_DISTURB;
    if (separator == 0 || *disturbs_out)
        return 0;
    (void)cuai_separator_to_block(heap, separator, owner, size, attributes);
    *offset_out = cuai_record(heap, separator)->offset;
    return separator;
}

/* Cuts the block out of the owner's range. The index comes last: it alone needs more registers than
 * there are, and the compiler would have to store the offset meanwhile. */
static CUAI_INLINE void cuai_heap_fast_cut(cuarena_heap_t *heap, cuai_index_t *index,
                                           cuai_counter_t *counter, uint32_t freelist,
                                           cuai_slot_t owner, cuai_slot_t slot, uint64_t size,
                                           uint64_t requested, uint64_t attributes, bool high,
                                           uint64_t *offset_out)
{
    cuai_record_t *records = heap->records;
    cuai_record_t *o = &records[owner];
    cuai_record_t *r = &records[slot];
    CUAI_ASSERT(cuai_range(o) >= size && cuai_range_freelist(o) == freelist);
    CUAI_ASSERT(r->kind == CUAI_FREE && slot == heap->free_slot);
    uint64_t rest = cuai_range(o) - size;
    uint64_t key = cuai_range_key(rest, rest == 0 ? 0 : freelist);
    uint64_t offset = cuai_end(o) + (high ? rest : 0);
    heap->free_slot = r->next;
    cuai_set_attributes(r, attributes); /* before it has a list */
    CUAI_STORE(r->offset, offset);
    r->size = size;
    r->key = high ? 0 : key;
    o->key = high ? key : 0;
    *offset_out = offset;
    cuai_join(records, owner, slot);
    cuai_heap_fast_enter(heap, index, counter, records, slot, offset, size, requested);
    if (high)
        cuai_heap_fast_keep(heap, index, owner, rest);
    else
        cuai_heap_fast_hand(heap, index, owner, slot, offset + size, rest);
}

/* Allocates from the upper or the lower end of a range; returns the block's slot, or 0. `high` and
 * `all` are constants, so that each has its own code. */
static CUAI_INLINE cuai_slot_t cuai_heap_fast_alloc_from(cuarena_heap_t *heap, cuai_index_t *index,
                                                         cuai_counter_t *counter, uint32_t freelist,
                                                         cuai_slot_t slot, uint64_t size,
                                                         uint64_t requested, uint64_t attributes,
                                                         bool high, bool all, bool *disturbs_out,
                                                         uint64_t *offset_out)
{
    cuai_slot_t owner;
    if (CUAI_UNLIKELY(!cuai_plain_place(heap, index, size, high, &owner)))
        return 0;
    if (all && heap->split_threshold != 0)
        size = cuai_heap_taken(heap, cuai_range(cuai_record(heap, owner)), size);
    if (CUAI_UNLIKELY(cuai_heap_fast_meets_separator(heap, owner, size, high))) {
        if (!all)
            return 0;
        cuai_slot_t separator = cuai_heap_fast_reuse_separator(heap, owner, size, attributes, high,
                                                               disturbs_out, offset_out);
        if (separator != 0)
            cuai_heap_fast_enter(heap, index, counter, heap->records, separator, *offset_out, size,
                                 requested);
        if (separator != 0 || *disturbs_out)
            return separator;
    }
    cuai_heap_fast_cut(heap, index, counter, freelist, owner, slot, size, requested, attributes,
                       high, offset_out);
    return slot;
}

/* Allocates a block with these attributes from one free list; 0: it has no room, as far as the fast
 * path looks. Without `all`, which is a constant, it also looks at what is ordinary only: no
 * SEPARATOR is beside the cut, every rest is split off, and all small blocks go high. The offset is
 * an output because a load of it from the record would wait for the store. One more counter than
 * the heap's, or NULL, counts the block. */
static CUAI_INLINE cuai_slot_t cuai_heap_fast_alloc_in(cuarena_heap_t *heap, cuai_index_t *index,
                                                       cuai_counter_t *counter, uint32_t freelist,
                                                       uint64_t size, uint64_t requested,
                                                       uint64_t attributes, bool all,
                                                       uint64_t *offset_out)
{
    cuai_slot_t slot = heap->free_slot;
    bool disturbs = false;
    CUAI_ASSERT(slot != 0 && heap->smooth);
    CUAI_ASSERT(size != 0 && (size & heap->granule_mask) == 0);
    CUAI_ASSERT(all || (heap->cramped == 0 && heap->split_threshold == 0));
    bool high = (all && cuai_goes_high(heap, index->free_bytes, size)) ||
                (!all && cuai_is_small_or_giant(heap, index->free_bytes, size));
    slot = high ? cuai_heap_fast_alloc_from(heap, index, counter, freelist, slot, size, requested,
                                            attributes, true, all, &disturbs, offset_out)
                : cuai_heap_fast_alloc_from(heap, index, counter, freelist, slot, size, requested,
                                            attributes, false, all, &disturbs, offset_out);
    if (all && CUAI_UNLIKELY(slot == 0) && disturbs &&
        (attributes & CUAI_ATTRIBUTES(0, CUAI_KEPT, 0)) == 0) {
        slot = cuai_heap_try_alloc_attributes(heap, freelist, size, requested, attributes);
        *offset_out = cuai_record(heap, slot)->offset;
        if (slot != 0 && counter != NULL)
            cuai_counter_begin_block(counter, cuai_record(heap, slot));
    }
    return slot;
}

/* Whether the heap is smooth and has slots for one more block and for the SEPARATORs that frees may
 * leave; without `all`, whether it is ordinary besides. */
static CUAI_INLINE bool cuai_heap_fast_is_ready(const cuarena_heap_t *heap, bool all)
{
    return cuai_heap_blocks(heap) < (all ? heap->ready_blocks : heap->fast_blocks) &&
           heap->free_slot != 0;
}

/* ---- Free -------------------------------------------------------------- */

/* Makes one range of `prev` of its own, of the block of `slot`, which ends, and of that block's:
 * `bytes` in all. */
static CUAI_INLINE void cuai_heap_fast_merge(cuarena_heap_t *heap, cuai_index_t *index,
                                             uint32_t freelist, cuai_slot_t prev, cuai_slot_t slot,
                                             uint64_t bytes)
{
    cuai_record_t *p = cuai_record(heap, prev);
    uint32_t list = cuai_list_of(cuai_zone_of(heap, cuai_end(p)), cuai_plain_class(heap, bytes));
    const cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(bytes > cuai_range(p) + cuai_range(r));
    if (r->key != 0 && p->key == 0) {
        p->key = cuai_range_key(bytes, freelist);
        cuai_index_hand_on(index, heap->records, slot, prev, list);
        return;
    }
    if (r->key != 0) {
        index->ranges--;
        cuai_index_remove(index, heap->records, slot);
    }
    bool none = p->key == 0;
    p->key = cuai_range_key(bytes, freelist);
    if (list != p->list) {
        index->ranges += none;
        cuai_index_move(index, heap->records, prev, list);
    }
}

/* Ends the block, which `link` of the look-up names; its bytes join the free list, and ranges of
 * that list, if any, are on both sides. The slot is a parameter so that nothing waits for the
 * link. */
static CUAI_INLINE void cuai_heap_fast_free_to(cuarena_heap_t *heap, cuai_index_t *index,
                                               uint32_t freelist, cuai_slot_t slot,
                                               cuai_slot_t *link)
{
    cuai_record_t *r = cuai_record(heap, slot);
    cuai_slot_t prev = r->prev;
    cuai_slot_t next = r->next;
    cuai_record_t *p = cuai_record(heap, prev);
    CUAI_ASSERT(*link == slot && cuai_is_listed(r) && !r->moving);
    CUAI_ASSERT(cuai_range_joins(p, freelist) && cuai_range_joins(r, freelist));
    CUAI_STORE(*link, r->chain);
    cuai_count_free(heap, r);
    index->free_bytes += r->size;
    uint64_t bytes = cuai_range(p) + r->size + cuai_range(r);
    cuai_record(heap, next)->prev = prev;
    p->next = next;
    cuai_slot_free(heap, slot);
    cuai_heap_fast_merge(heap, index, freelist, prev, slot, bytes);
}

/* Whether no range of another free list touches the block. Then no SEPARATOR that follows becomes
 * pointless when it ends: the range before one is of another free list. */
static CUAI_INLINE bool cuai_heap_fast_joins(const cuarena_heap_t *heap, const cuai_record_t *r,
                                             uint32_t freelist)
{
    return cuai_range_joins(r, freelist) && cuai_range_joins(cuai_record(heap, r->prev), freelist);
}

/* ---- Resize ------------------------------------------------------------ */

/* Sets the range behind the block, which has another end now, to `rest` bytes; it was of the same
 * free list before, if there was one. */
static CUAI_INLINE void cuai_heap_fast_set_rest(cuarena_heap_t *heap, cuai_index_t *index,
                                                uint32_t freelist, cuai_slot_t slot, uint64_t rest)
{
    cuai_record_t *r = cuai_record(heap, slot);
    bool none = rest == 0;
    uint32_t zone = none ? r->list / CUAI_CLASSES : cuai_zone_of(heap, cuai_end(r));
    index->ranges += r->key == 0;
    index->ranges -= none;
    r->key = cuai_range_key(rest, none ? 0 : freelist);
    cuai_index_shift(index, heap->records, slot, cuai_list_of(zone, cuai_plain_class(heap, rest)));
}

/* Resizes a block of a smooth heap in place, into or out of the range after it, which is of the
 * free list or absent. False: nothing was done, because there is no room or because a SEPARATOR
 * might become pointless. */
static CUAI_INLINE bool cuai_heap_fast_resize(cuarena_heap_t *heap, cuai_index_t *index,
                                              uint32_t freelist, cuai_slot_t slot, uint64_t size,
                                              uint64_t requested)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t room = r->size + cuai_range(r);
    CUAI_ASSERT(r->kind == CUAI_BLOCK && cuai_range_joins(r, freelist));
    if (CUAI_UNLIKELY(size > room))
        return false;
    if ((size == room || r->key == 0) &&
        CUAI_UNLIKELY(cuai_record(heap, r->next)->kind == CUAI_SEPARATOR))
        return false;
    uint64_t more = size - r->size;
    index->free_bytes -= more;
    r->size = size;
    cuai_heap_fast_set_rest(heap, index, freelist, slot, room - size);
    cuai_count_anew(heap, r, more, requested);
    return true;
}

#endif
