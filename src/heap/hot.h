/*
 * The short path: what an allocation and a free cost when nothing is out of
 * the ordinary. Everything else is in blocks.c, which can do all of this too.
 *
 * Ordinary is a plain heap (one lane, no plan under way, no SPACER, every rest
 * split off), a free slot at hand, the granule as alignment, and a range found
 * in the first zone that may have one. An allocation then touches the range's
 * owner, the record after it and the new record, one list head or two, and one
 * look-up bucket; a free touches the block, both neighbours and the same. About
 * 170 instructions either, with the lock.
 */
#ifndef CUAI_HEAP_HOT_H
#define CUAI_HEAP_HOT_H

#include "heap/heap.h"
#include "heap/placement.h"

/* ---- Allocation -------------------------------------------------------------
 */

/* The first of a few ranges of a list that has room; lane 0 has no lane bits
 * in its keys. */
static inline cuai_slot_t cuai_hot_first(const cuarena_heap_t *heap,
                                         cuai_slot_t slot, uint64_t size)
{
    uint64_t need = cuai_range_key(size, 0);
    for (int i = 0; slot != 0 && i < CUAI_CANDIDATES; i++) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (r->key >= need)
            return slot;
        slot = r->down;
    }
    return 0;
}

/* The owner of the range that serves a request; 0: not here. */
static inline cuai_slot_t cuai_hot_place(const cuarena_heap_t *heap,
                                         uint64_t size, bool high)
{
    const cuai_index_t *index = heap->settled;
    uint32_t class = cuai_class(heap, size);
    uint32_t zone = high ? cuai_zones_down(index, CUAI_ZONES - 1, class + 1)
                         : cuai_zones_up(index, 0, class + 1);
    if (CUAI_UNLIKELY(zone == CUAI_NO_ZONE))
        return 0;
    cuai_slot_t slot = index->heads[cuai_list_of(zone, class)];
    if (slot != 0)
        slot = cuai_hot_first(heap, slot, size);
    if (slot != 0)
        return slot;
    class = cuai_zone_first(index, zone, class + 1);
    return class == CUAI_NO_CLASS ? 0 : index->heads[cuai_list_of(zone, class)];
}

/* The block gets the upper end of the owner's range. */
static inline void cuai_hot_cut_high(cuarena_heap_t *heap, cuai_slot_t owner,
                                     cuai_record_t *r, uint64_t size)
{
    cuai_record_t *o = cuai_record(heap, owner);
    uint64_t rest = cuai_range(o) - size;
    r->offset = cuai_end(o) + rest;
    r->key = 0;
    if (rest != 0 && cuai_class(heap, rest) == o->list % CUAI_CLASSES) {
        o->key = cuai_range_key(rest, 0);
        return;
    }
    uint32_t zone = o->list / CUAI_CLASSES;
    cuai_index_remove(heap->settled, heap->records, owner);
    o->key = cuai_range_key(rest, 0);
    if (rest != 0)
        cuai_index_insert(heap->settled, heap->records, owner,
                          cuai_list_of(zone, cuai_class(heap, rest)));
}

/* The block gets the lower end, and what is left of the range. */
static inline void cuai_hot_cut_low(cuarena_heap_t *heap, cuai_slot_t owner,
                                    cuai_slot_t slot, uint64_t size)
{
    cuai_record_t *o = cuai_record(heap, owner);
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t rest = cuai_range(o) - size;
    r->offset = cuai_end(o);
    cuai_index_remove(heap->settled, heap->records, owner);
    o->key = 0;
    r->key = cuai_range_key(rest, 0);
    if (rest != 0)
        cuai_index_insert(heap->settled, heap->records, slot,
                          cuai_list_for(heap, r->offset + size, rest));
}

/* `nature` says what the block is: see cuai_nature. 0: nothing was done, take
 * the long path. */
static inline cuai_slot_t cuai_hot_take(cuarena_heap_t *heap, uint64_t size,
                                        uint64_t requested, uint64_t nature)
{
    cuai_slot_t slot = heap->spare;
    if (CUAI_UNLIKELY(slot == 0 || !heap->plain ||
                      heap->live_blocks >= heap->max_blocks))
        return 0;
    bool high = cuai_goes_high(heap, heap->settled->free_bytes, size);
    cuai_slot_t owner = cuai_hot_place(heap, size, high);
    if (CUAI_UNLIKELY(owner == 0))
        return 0;
    cuai_record_t *r = cuai_record(heap, slot);
    heap->spare = r->next;
    r->size = size;
    r->asked = cuai_asked(requested, 0);
    cuai_set_nature(r, nature | heap->align_nature);
    if (high)
        cuai_hot_cut_high(heap, owner, r, size);
    else
        cuai_hot_cut_low(heap, owner, slot, size);
    cuai_link_after(heap, owner, slot);
    cuai_table_insert(&heap->table, heap->records, slot);
    heap->settled->free_bytes -= size;
    cuai_count_alloc(heap, size, requested);
    return slot;
}

/* ---- Free -------------------------------------------------------------- */

/* Ends the block that `link` of the look-up names. The heap is plain. */
static inline void cuai_hot_give(cuarena_heap_t *heap, cuai_slot_t *link)
{
    cuai_slot_t slot = *link;
    cuai_record_t *r = cuai_record(heap, slot);
    cuai_slot_t prev = r->prev;
    cuai_record_t *p = cuai_record(heap, prev);
    uint64_t bytes = r->size;
    *link = r->chain;
    cuai_count_free(heap, r);
    heap->settled->free_bytes += bytes;
    if (r->key != 0)
        cuai_index_remove(heap->settled, heap->records, slot);
    if (p->key != 0)
        cuai_index_remove(heap->settled, heap->records, prev);
    bytes += cuai_range(r) + cuai_range(p);
    p->key = cuai_range_key(bytes, 0);
    cuai_unlink(heap, slot);
    cuai_index_insert(heap->settled, heap->records, prev,
                      cuai_list_for(heap, cuai_end(p), bytes));
    cuai_slot_end(heap, slot);
}

#endif
