/*
 * The fast path: what an allocation, a free and a resize in place cost when nothing is out of the
 * ordinary. Everything else is in blocks.c, which can do all of this too.
 *
 * Ordinary is a plain heap (one free list, no plan under way, no SEPARATOR, every rest split off),
 * a free slot at hand, the granule as alignment, and a range found in the first few zones that may
 * have one. An allocation then touches the range's owner, the record after it and the new record,
 * one list head or two, and one look-up bucket; a free touches the block, both neighbours and the
 * same. About 220 instructions for an allocation and 180 for a free, with the lock, in real
 * programs. A resize touches the block and the record after it, and stays in its list where zone
 * and class stay; about 200.
 *
 * A heap that is only smooth, with several free lists, has a fast path too. Where a SEPARATOR is
 * beside what is cut its record becomes the block's, unless there is one on both sides of a range
 * that is used up. What `way` says of this is a constant: the compiler makes a function for each.
 */
#ifndef CUAI_HEAP_FAST_PATH_H
#define CUAI_HEAP_FAST_PATH_H

#include "heap/heap.h"
#include "heap/placement.h"

/* ---- Allocation -------------------------------------------------------------
 */

/* What all allocations end with but the index: the block is at `offset`. */
static CUAI_INLINE void cuai_heap_fast_enter(cuarena_heap_t *heap, cuai_index_t *index,
                                             cuai_record_t *records, cuai_slot_t slot,
                                             uint64_t offset, uint64_t size, uint64_t requested)
{
    records[slot].asked = cuai_asked(requested, 0);
    cuai_table_insert_at(&heap->table, records, slot, offset);
    index->free_bytes -= size;
    cuai_count_alloc(heap, size, requested);
}

/* The block gets the upper end of the owner's range, the owner keeps the rest, which has class 0 if
 * it is nothing. */
static CUAI_INLINE void cuai_heap_fast_keep(const cuarena_heap_t *heap, cuai_index_t *index,
                                            cuai_slot_t owner, uint64_t rest)
{
    uint32_t was = cuai_record(heap, owner)->list;
    uint32_t list = (was & ~CUAI_LAST_CLASS) + cuai_plain_class(heap, rest);
    if (list == was)
        return;
    index->ranges -= rest == 0;
    cuai_index_move(index, heap->records, owner, list);
}

/* The block gets the lower end of the owner's range, and owns the rest, which begins at `end`. */
static CUAI_INLINE void cuai_heap_fast_hand(const cuarena_heap_t *heap, cuai_index_t *index,
                                            cuai_slot_t owner, cuai_slot_t slot, uint64_t end,
                                            uint64_t rest)
{
    uint32_t list = cuai_list_of(cuai_zone_of(heap, end), cuai_plain_class(heap, rest));
    index->ranges -= rest == 0;
    cuai_index_hand_on(index, heap->records, owner, slot, list);
}

/* What is known of SEPARATORs where a block is cut. */
typedef enum cuai_separators {
    CUAI_SEPARATORS_NONE,    /* there are none in the heap */
    CUAI_SEPARATORS_REFUSED, /* where one is in the way nothing is done */
    CUAI_SEPARATORS_REUSED
} cuai_separators_t;

/* Whether a SEPARATOR is in the way of a cut: before the owner's range, or after it; at the other
 * end only if nothing of the range is left. */
static CUAI_INLINE bool cuai_heap_fast_meets_separator(const cuarena_heap_t *heap,
                                                       cuai_slot_t owner, uint64_t size, bool high)
{
    const cuai_record_t *o = cuai_record(heap, owner);
    const cuai_record_t *next = cuai_record(heap, o->next);
    if (CUAI_UNLIKELY((o->kind | next->kind) & CUAI_SEPARATOR))
        return (high ? next : o)->kind == CUAI_SEPARATOR || cuai_range(o) == size;
    return false;
}

/* A SEPARATOR that the cut disturbs becomes the block. 0: there is none, or two are in the way. */
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

/* Takes the block out of the owner's range. The index comes last: it alone needs more registers
 * than there are, and what is kept of the offset would be stored meanwhile. */
static CUAI_INLINE void cuai_heap_fast_cut(cuarena_heap_t *heap, cuai_index_t *index,
                                           uint32_t freelist, cuai_slot_t owner, cuai_slot_t slot,
                                           uint64_t size, uint64_t requested, uint64_t attributes,
                                           bool high, uint64_t *offset_out)
{
    cuai_record_t *records = heap->records;
    cuai_record_t *o = &records[owner];
    cuai_record_t *r = &records[slot];
    uint64_t rest = cuai_range(o) - size;
    uint64_t key = cuai_range_key(rest, rest == 0 ? 0 : freelist);
    uint64_t offset = cuai_end(o) + (high ? rest : 0);
    heap->free_slot = r->next;
    cuai_set_attributes(r, attributes | heap->align_attributes); /* before it has a list */
    r->offset = offset;
    r->size = size;
    r->key = high ? 0 : key;
    o->key = high ? key : 0;
    *offset_out = offset;
    cuai_join(records, owner, slot);
    cuai_heap_fast_enter(heap, index, records, slot, offset, size, requested);
    if (high)
        cuai_heap_fast_keep(heap, index, owner, rest);
    else
        cuai_heap_fast_hand(heap, index, owner, slot, offset + size, rest);
}

/* The block's slot, in the list. Both ends have their own copy of the code, in which `high` is a
 * constant. */
static CUAI_INLINE cuai_slot_t cuai_heap_fast_alloc_from(cuarena_heap_t *heap, cuai_index_t *index,
                                                         uint32_t freelist, cuai_slot_t slot,
                                                         uint64_t size, uint64_t requested,
                                                         uint64_t attributes, bool high,
                                                         cuai_separators_t way, bool *disturbs_out,
                                                         uint64_t *offset_out)
{
    cuai_slot_t owner;
    if (CUAI_UNLIKELY(!cuai_plain_place(heap, index, size, high, &owner)))
        return 0;
    bool meets =
        way != CUAI_SEPARATORS_NONE && cuai_heap_fast_meets_separator(heap, owner, size, high);
    if (way == CUAI_SEPARATORS_REFUSED && CUAI_UNLIKELY(meets))
        return 0;
    if (way == CUAI_SEPARATORS_REUSED && CUAI_UNLIKELY(meets)) {
        cuai_slot_t separator = cuai_heap_fast_reuse_separator(heap, owner, size, attributes, high,
                                                               disturbs_out, offset_out);
        if (separator != 0)
            cuai_heap_fast_enter(heap, index, heap->records, separator, *offset_out, size,
                                 requested);
        if (separator != 0 || *disturbs_out)
            return separator;
    }
    cuai_heap_fast_cut(heap, index, freelist, owner, slot, size, requested, attributes, high,
                       offset_out);
    return slot;
}

/* From one free list. The attributes is whole, but in a plain heap the granule's alignment comes to
 * it. 0: it has no room, as far as the fast path looks. The offset is handed on: whoever loads it
 * from the record waits for it to be stored there. */
static CUAI_INLINE cuai_slot_t cuai_heap_fast_alloc_in(cuarena_heap_t *heap, cuai_index_t *index,
                                                       uint32_t freelist, uint64_t size,
                                                       uint64_t requested, uint64_t attributes,
                                                       cuai_separators_t way, uint64_t *offset_out)
{
    cuai_slot_t slot = heap->free_slot;
    bool disturbs = false;
    bool high = cuai_goes_high(heap, index->free_bytes, size);
    slot = high ? cuai_heap_fast_alloc_from(heap, index, freelist, slot, size, requested,
                                            attributes, true, way, &disturbs, offset_out)
                : cuai_heap_fast_alloc_from(heap, index, freelist, slot, size, requested,
                                            attributes, false, way, &disturbs, offset_out);
    if (CUAI_UNLIKELY(slot == 0) && disturbs) {
        slot = cuai_heap_try_alloc_attributes(heap, freelist, size, requested, attributes);
        *offset_out = cuai_record(heap, slot)->offset;
    }
    return slot;
}

/* `attributes` says what the block is: see CUAI_ATTRIBUTES. 0: nothing was done, take the long
 * path. */
static CUAI_INLINE cuai_slot_t cuai_heap_fast_alloc(cuarena_heap_t *heap, uint64_t size,
                                                    uint64_t requested, uint64_t attributes,
                                                    uint64_t *offset_out)
{
    if (CUAI_UNLIKELY(heap->free_slot == 0 || heap->live_blocks >= heap->plain_blocks))
        return 0;
    return cuai_heap_fast_alloc_in(heap, heap->idle, 0, size, requested, attributes,
                                   CUAI_SEPARATORS_NONE, offset_out);
}

/* Whether the heap is smooth, with a slot for one more block and for the SEPARATORs that frees may
 * leave. */
static CUAI_INLINE bool cuai_heap_fast_is_ready(const cuarena_heap_t *heap)
{
    return heap->live_blocks < heap->ready_blocks && heap->free_slot != 0;
}

/* ---- Free -------------------------------------------------------------- */

/* The range of `prev` becomes `bytes`: its own, the block's, and that of `slot`, the block's, which
 * goes. */
static CUAI_INLINE void cuai_heap_fast_merge(cuarena_heap_t *heap, cuai_index_t *index,
                                             uint32_t freelist, cuai_slot_t prev, cuai_slot_t slot,
                                             uint64_t bytes)
{
    cuai_record_t *p = cuai_record(heap, prev);
    uint32_t list = cuai_list_of(cuai_zone_of(heap, cuai_end(p)), cuai_plain_class(heap, bytes));
    const cuai_record_t *r = cuai_record(heap, slot);
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

/* Ends the block, which `link` of the look-up names; its bytes join a free list with what is around
 * them. Whoever knows the slot need not wait for the link. */
static CUAI_INLINE void cuai_heap_fast_free_to(cuarena_heap_t *heap, cuai_index_t *index,
                                               uint32_t freelist, cuai_slot_t slot,
                                               cuai_slot_t *link)
{
    cuai_record_t *r = cuai_record(heap, slot);
    cuai_slot_t prev = r->prev;
    cuai_slot_t next = r->next;
    cuai_record_t *p = cuai_record(heap, prev);
    *link = r->chain;
    cuai_count_free(heap, r);
    index->free_bytes += r->size;
    uint64_t bytes = cuai_range(p) + r->size + cuai_range(r);
    cuai_record(heap, next)->prev = prev;
    p->next = next;
    cuai_slot_free(heap, slot);
    cuai_heap_fast_merge(heap, index, freelist, prev, slot, bytes);
}

/* The heap is plain. */
static CUAI_INLINE void cuai_heap_fast_free(cuarena_heap_t *heap, cuai_slot_t slot,
                                            cuai_slot_t *link)
{
    cuai_heap_fast_free_to(heap, heap->idle, 0, slot, link);
}

/* Whether a block meets no range of another free list. Then what follows is no SEPARATOR that
 * becomes pointless: the range before one is of another free list. */
static CUAI_INLINE bool cuai_heap_fast_joins(const cuarena_heap_t *heap, const cuai_record_t *r,
                                             uint32_t freelist)
{
    return cuai_range_joins(r, freelist) && cuai_range_joins(cuai_record(heap, r->prev), freelist);
}

/* ---- Resize ------------------------------------------------------------ */

/* Behind the block, which has another end now, are `rest` bytes of a free list, as what was there
 * before was, if anything. */
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

/* In place: into the range after the block, or out of it. That is of the free list, or there is
 * none; the heap is smooth. False: nothing was done, as where there is no room or a SEPARATOR may
 * become pointless. */
static CUAI_INLINE bool cuai_heap_fast_resize(cuarena_heap_t *heap, cuai_index_t *index,
                                              uint32_t freelist, cuai_slot_t slot, uint64_t size,
                                              uint64_t requested)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t room = r->size + cuai_range(r);
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
