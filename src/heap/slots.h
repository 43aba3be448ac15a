/*
 * Slots, and the list of records by address: which slot a new record gets, when its ids end, and
 * what the fast path may do without a look at how many slots there are.
 */
#ifndef CUAI_HEAP_SLOTS_H
#define CUAI_HEAP_SLOTS_H

#include "heap/heap.h"

/* Works out anew what the fast path may do: `smooth`, `simple`, `ready_blocks` and `fast_blocks`.
 * Called after a change of what they are made of. */
void cuai_refresh_fast(cuarena_heap_t *heap);

/* Counts one SEPARATOR more or, with UINT64_MAX, less. */
static inline void cuai_count_separators(cuarena_heap_t *heap, uint64_t more)
{
    CUAI_ASSERT(more == 1 || heap->separators != 0);
    heap->separators += more;
    cuai_refresh_fast(heap);
}

/*
 * The heap is split up while it has more SEPARATORs than the limit: then it has no fast path. Its
 * owner reclaims free lists if the SEPARATORs are many for its blocks, merges them if there are
 * more than blocks ever lived, and sets the limit anew: to at least an eighth more than what is
 * left, so that this is not tried again at once.
 */
static inline bool cuai_heap_is_split_up(const cuarena_heap_t *heap)
{
    return heap->separators > heap->separator_limit;
}
bool cuai_heap_has_many_separators(const cuarena_heap_t *heap);
bool cuai_heap_has_most_separators(const cuarena_heap_t *heap);
void cuai_heap_allow_separators(cuarena_heap_t *heap);

/* Makes sure that `count` more slots can be allocated; moves the records. OUT_OF_MEMORY, LIMIT. */
cuarena_status_t cuai_slots_reserve(cuarena_heap_t *heap, uint64_t count);
/* Makes the next `count` slots FREE; memory for them is there. O(count). */
void cuai_slots_use(cuarena_heap_t *heap, uint64_t count);

/* Whether a slot can be allocated without host memory. */
static inline bool cuai_slots_ready(const cuarena_heap_t *heap)
{
    return heap->free_slot != 0 || heap->unused < heap->committed;
}

/* Allocates a slot; one is ready. Its generation is the one that its last end left, or the heap's
 * first. */
static inline cuai_slot_t cuai_slot_alloc(cuarena_heap_t *heap)
{
    cuai_slot_t slot = heap->free_slot;
    CUAI_ASSERT(cuai_slots_ready(heap));
    if (CUAI_LIKELY(slot != 0)) {
        CUAI_ASSERT(heap->records[slot].kind == CUAI_FREE);
        heap->free_slot = heap->records[slot].next;
        return slot;
    }
    slot = heap->unused++;
    heap->records[slot].generation = heap->first_generation;
    return slot;
}

/* Ends every id of the slot and puts it into the list of FREE slots, or retires it. The record has
 * left, or the caller makes it leave, the list of its index. */
static inline void cuai_slot_free(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(slot != 0 && r->kind != CUAI_FREE && !r->moving);
    uint32_t generation = r->generation + 1;
    cuai_set_kind(r, CUAI_FREE);
    if (CUAI_UNLIKELY(generation == 0)) {
        heap->retired++;
        cuai_refresh_fast(heap);
        return;
    }
    CUAI_STORE(r->generation, generation);
    r->next = heap->free_slot;
    heap->free_slot = slot;
}

/* As cuai_slot_free, for a record whose index links mean nothing any more. */
static inline void cuai_slot_end(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_index_forget(cuai_record(heap, slot));
    cuai_slot_free(heap, slot);
}

/* ---- The address list ---------------------------------------------------- */

static inline void cuai_join(cuai_record_t *records, cuai_slot_t prev, cuai_slot_t slot)
{
    cuai_slot_t next = records[prev].next;
    CUAI_ASSERT(records[next].prev == prev && slot != prev);
    records[slot].prev = prev;
    records[slot].next = next;
    records[prev].next = slot;
    records[next].prev = slot;
}

/* A new record after `prev`, with neither bytes nor a range; a slot is ready. */
static inline cuai_slot_t cuai_record_put(cuarena_heap_t *heap, cuai_slot_t prev,
                                          enum cuai_kind kind, uint64_t offset)
{
    cuai_slot_t slot = cuai_slot_alloc(heap);
    cuai_record_t *r = cuai_record(heap, slot);
    cuai_set_kind(r, kind);
    CUAI_STORE(r->offset, offset);
    r->size = 0;
    r->key = 0;
    r->pins = 0;
    cuai_join(heap->records, prev, slot);
    return slot;
}

static inline void cuai_unlink(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_slot_t prev = heap->records[slot].prev;
    cuai_slot_t next = heap->records[slot].next;
    CUAI_ASSERT(heap->records[prev].next == slot && heap->records[next].prev == slot);
    heap->records[prev].next = next;
    heap->records[next].prev = prev;
}

#endif
