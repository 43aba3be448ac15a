/*
 * Ranges: free bytes behind a record, and where they are indexed. A range belongs into a list by
 * its zone (zones.c) and its class.
 */
#ifndef CUAI_HEAP_RANGES_H
#define CUAI_HEAP_RANGES_H

#include "heap/heap.h"

/* ---- Zones (zones.c) ----------------------------------------------------- */

static inline uint32_t cuai_zone_of(const cuarena_heap_t *heap, uint64_t offset)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t granules = (offset - heap->zone_base) >> heap->granule_log2;
    return (uint32_t)((wide)granules * heap->zone_factor >> 64);
}

/* Works out anew what depends on the span and the bytes of the segments. O(ranges) when the span
 * has outgrown the zones, which become larger by a quarter at least; else O(1). */
void cuai_zones_fit(cuarena_heap_t *heap);

/* The list that a range belongs into. */
static inline uint32_t cuai_list_for(const cuarena_heap_t *heap, uint64_t offset, uint64_t bytes)
{
    return cuai_list_of(cuai_zone_of(heap, offset), cuai_class(heap, bytes));
}

/* The size of a block that is cut from a range of so many bytes: all of it where the rest is too
 * small to be split off. */
static inline uint64_t cuai_heap_taken(const cuarena_heap_t *heap, uint64_t range, uint64_t size)
{
    uint64_t rest = range - size;
    CUAI_ASSERT(range >= size);
    bool whole = rest < size || heap->split_threshold == UINT64_MAX;
    return whole && rest < heap->split_threshold ? range : size;
}

/* ---- Ranges (ranges.c) --------------------------------------------------- */

/* Gives the record, which has no range in an index, a range of `bytes` (0: none) of `freelist`.
 * Does not look at neighbours. */
static inline void cuai_range_set(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                                  uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT((bytes & heap->granule_mask) == 0);
    r->key = bytes == 0 ? 0 : cuai_range_key(bytes, freelist);
    if (bytes == 0 || CUAI_UNLIKELY(freelist == CUAI_FREELIST_PLANNED))
        return;
    CUAI_ASSERT(heap->freelists[freelist] != NULL);
    heap->freelists[freelist]->ranges++;
    cuai_index_insert(heap->freelists[freelist], heap->records, slot,
                      cuai_list_for(heap, cuai_end(r), bytes));
}

/* Takes the record's range, if it has one, out of its index; its key stays. A planned range is in
 * no index, and its links mean nothing. */
static inline void cuai_range_drop(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint32_t freelist = cuai_range_freelist(r);
    if (r->key == 0)
        return;
    if (CUAI_UNLIKELY(freelist == CUAI_FREELIST_PLANNED)) {
        cuai_index_forget(r);
        return;
    }
    CUAI_ASSERT(heap->freelists[freelist]->ranges != 0);
    heap->freelists[freelist]->ranges--;
    cuai_index_remove(heap->freelists[freelist], heap->records, slot);
}

/* As cuai_range_drop and cuai_range_set, for a record that has a range and keeps its end: the range
 * stays where it is in its list if class and free list stay the same. */
static inline void cuai_range_change(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                                     uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(r->key != 0);
    bool stays = bytes != 0 && cuai_range_freelist(r) == freelist &&
                 freelist != CUAI_FREELIST_PLANNED &&
                 cuai_class(heap, bytes) == r->list % CUAI_CLASSES;
    if (stays) {
        r->key = cuai_range_key(bytes, freelist);
        return;
    }
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, bytes, freelist);
}

/* Adds `bytes` (modulo 2^64) to the free bytes of a free list; those of plans are not counted. */
static inline void cuai_freelist_count(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes)
{
    if (CUAI_UNLIKELY(freelist == CUAI_FREELIST_PLANNED))
        return;
    heap->freelists[freelist]->free_bytes += bytes;
    CUAI_ASSERT(heap->freelists[freelist]->free_bytes <= heap->capacity);
}

/* Adds `bytes` between the end of the record's block, which no longer has them, and its range to
 * `freelist`. Needs one ready slot if the range is of another free list. */
void cuai_range_release(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist);
/* Removes the SEPARATOR that follows the range of `slot`, which has changed, if it keeps nothing
 * apart any more. */
void cuai_range_absorb(cuarena_heap_t *heap, cuai_slot_t slot);
/* Puts `bytes` of `freelist` after the record's range, which is of another free list, behind a new
 * SEPARATOR. One slot is ready. */
void cuai_range_append(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist);
/* The record's range was used up: if the record is a SEPARATOR it is removed, and the range of a
 * SEPARATOR that follows becomes that of the record before it. */
void cuai_range_spent(cuarena_heap_t *heap, cuai_slot_t slot);
/* Moves the whole range to another free list, and merges what then may merge. */
void cuai_range_transfer(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* As cuai_range_transfer, for `bytes` of the range, behind its first `front`; returns the record
 * whose range has them then. Two slots are ready. */
cuai_slot_t cuai_range_transfer_part(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t front,
                                     uint64_t bytes, uint32_t freelist);

/* The SEPARATOR that would keep nothing apart once a block of `size` is cut from the upper or lower
 * end of the owner's range; 0: none. CUAI_SEPARATORS_DISTURB: there is one on both sides, or its
 * ids are used up. */
#define CUAI_SEPARATORS_DISTURB UINT32_MAX
cuai_slot_t cuai_separator_beside(const cuarena_heap_t *heap, cuai_slot_t owner, uint64_t size,
                                  bool high);
/* Makes that SEPARATOR's record the block, with these attributes and with `size` bytes of the
 * owner's range; returns its slot. The caller fills in what else a fresh block has. */
cuai_slot_t cuai_separator_to_block(cuarena_heap_t *heap, cuai_slot_t separator, cuai_slot_t owner,
                                    uint64_t size, uint64_t attributes);

#endif
