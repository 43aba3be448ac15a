/*
 * The short path: what an allocation and a free cost when nothing is out of
 * the ordinary. Everything else is in blocks.c, which can do all of this too.
 *
 * Ordinary is a plain heap (one lane, no plan under way, no SPACER, every rest
 * split off), a free slot at hand, the granule as alignment, and a range found
 * in the first few zones that may have one. An allocation then touches the
 * range's owner, the record after it and the new record, one list head or two,
 * and one look-up bucket; a free touches the block, both neighbours and the
 * same. About 250 instructions for an allocation and 210 for a free, with the
 * lock, in real programs.
 */
#ifndef CUAI_HEAP_HOT_H
#define CUAI_HEAP_HOT_H

#include "heap/heap.h"
#include "heap/placement.h"

/* ---- Allocation -------------------------------------------------------------
 */

/* The block gets the upper end of the owner's range, the owner keeps the rest,
 * which has class 0 if it is nothing. */
static CUAI_INLINE void cuai_hot_cut_high(cuarena_heap_t *heap,
                                          cuai_slot_t owner, cuai_slot_t slot,
                                          uint64_t size)
{
    cuai_index_t *index = heap->settled;
    cuai_record_t *o = cuai_record(heap, owner);
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t rest = cuai_range(o) - size;
    uint32_t zone = o->list / CUAI_CLASSES;
    uint32_t list = cuai_list_of(zone, cuai_plain_class(heap, rest));
    r->offset = cuai_end(o) + rest;
    r->key = 0;
    o->key = cuai_range_key(rest, 0);
    index->ranges -= rest == 0;
    if (list != o->list)
        cuai_index_move(index, heap->records, owner, list);
}

/* The block gets the lower end of the owner's range, and owns the rest. */
static CUAI_INLINE void cuai_hot_cut_low(cuarena_heap_t *heap,
                                         cuai_slot_t owner, cuai_slot_t slot,
                                         uint64_t size)
{
    cuai_index_t *index = heap->settled;
    cuai_record_t *o = cuai_record(heap, owner);
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t rest = cuai_range(o) - size;
    r->offset = cuai_end(o);
    r->key = cuai_range_key(rest, 0);
    o->key = 0;
    index->ranges -= rest == 0;
    cuai_index_remove(index, heap->records, owner);
    if (rest != 0)
        cuai_index_insert(index, heap->records, slot,
                          cuai_list_of(cuai_zone_of(heap, cuai_end(r)),
                                       cuai_plain_class(heap, rest)));
}

/* Both ends have their own copy of the code, in which `high` is a constant. */
static CUAI_INLINE cuai_slot_t cuai_hot_take_from(cuarena_heap_t *heap,
                                                  cuai_slot_t slot,
                                                  uint64_t size,
                                                  uint64_t nature, bool high)
{
    cuai_slot_t owner = cuai_plain_place(heap, size, high);
    if (CUAI_UNLIKELY(owner == 0))
        return 0;
    cuai_record_t *r = cuai_record(heap, slot);
    heap->spare = r->next;
    r->size = size;
    cuai_set_nature(r, nature | heap->align_nature); /* before it has a list */
    if (high)
        cuai_hot_cut_high(heap, owner, slot, size);
    else
        cuai_hot_cut_low(heap, owner, slot, size);
    return owner;
}

/* `nature` says what the block is: see CUAI_NATURE. 0: nothing was done, take
 * the long path. */
static CUAI_INLINE cuai_slot_t cuai_hot_take(cuarena_heap_t *heap,
                                             uint64_t size, uint64_t requested,
                                             uint64_t nature)
{
    cuai_slot_t slot = heap->spare;
    if (CUAI_UNLIKELY(slot == 0 || !heap->plain ||
                      heap->live_blocks >= heap->max_blocks))
        return 0;
    bool high = cuai_goes_high(heap, heap->settled->free_bytes, size);
    cuai_slot_t owner =
        high ? cuai_hot_take_from(heap, slot, size, nature, true)
             : cuai_hot_take_from(heap, slot, size, nature, false);
    if (CUAI_UNLIKELY(owner == 0))
        return 0;
    cuai_record_t *r = cuai_record(heap, slot);
    r->asked = cuai_asked(requested, 0);
    cuai_link_after(heap, owner, slot);
    cuai_table_insert(&heap->table, heap->records, slot);
    heap->settled->free_bytes -= size;
    cuai_count_alloc(heap, size, requested);
    return slot;
}

/* ---- Free -------------------------------------------------------------- */

/* The range of `prev` becomes `bytes`: its own, the block's, and that of
 * `slot`, the block's, which goes. */
static CUAI_INLINE void cuai_hot_merge(cuarena_heap_t *heap, cuai_slot_t prev,
                                       cuai_slot_t slot, uint64_t bytes)
{
    cuai_index_t *index = heap->settled;
    cuai_record_t *p = cuai_record(heap, prev);
    uint32_t list = cuai_list_of(cuai_zone_of(heap, cuai_end(p)),
                                 cuai_plain_class(heap, bytes));
    if (cuai_record(heap, slot)->key != 0) {
        index->ranges--;
        cuai_index_remove(index, heap->records, slot);
    }
    index->ranges += p->key == 0;
    p->key = cuai_range_key(bytes, 0);
    if (list != p->list)
        cuai_index_move(index, heap->records, prev, list);
}

/* Ends the block that `link` of the look-up names. The heap is plain. */
static CUAI_INLINE void cuai_hot_give(cuarena_heap_t *heap, cuai_slot_t *link)
{
    cuai_slot_t slot = *link;
    cuai_record_t *r = cuai_record(heap, slot);
    cuai_record_t *p = cuai_record(heap, r->prev);
    *link = r->chain;
    cuai_count_free(heap, r);
    heap->settled->free_bytes += r->size;
    uint64_t bytes = cuai_range(p) + r->size + cuai_range(r);
    cuai_hot_merge(heap, r->prev, slot, bytes);
    cuai_unlink(heap, slot);
    cuai_slot_end(heap, slot);
}

#endif
