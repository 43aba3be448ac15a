/* Free lists: sets of ranges, each with an index of its own. */
#include "heap/freelists.h"
#include "heap/blocks.h"
#include "heap/ranges.h"
#include "heap/slots.h"

cuarena_status_t cuarena_heap_freelist_create(cuarena_heap_t *heap, uint32_t *freelist_out)
{
    if (heap == NULL || freelist_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    uint32_t freelist = 1;
    while (freelist < CUAI_FREELIST_PLANNED && heap->freelists[freelist] != NULL)
        freelist++;
    if (freelist == CUAI_FREELIST_PLANNED)
        return cuai_fail(CUARENA_LIMIT, "%u free lists are in use, the most",
                         (unsigned)CUAI_FREELIST_PLANNED);
    /* From now on a free may need a SEPARATOR, and must not have to allocate one. */
    cuarena_status_t status = cuai_slots_reserve(heap, cuai_block_records(heap) + 1);
    cuai_index_t *index = NULL;
    if (status == CUARENA_OK)
        index = cuai_host_alloc(sizeof *index);
    if (index == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a free list");
    heap->freelists[freelist] = index;
    heap->freelist_count++;
    cuai_refresh_fast(heap);
    *freelist_out = freelist;
    return CUARENA_OK;
}

static cuarena_status_t check_own_freelist(const cuarena_heap_t *heap, uint32_t freelist)
{
    if (heap == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
    if (freelist != 0 && freelist < CUAI_FREELIST_PLANNED && heap->freelists[freelist] != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "free list %u is not one that freelist_create gave",
                     (unsigned)freelist);
}

static void transfer_all(cuarena_heap_t *heap, uint32_t from, uint32_t to)
{
    const cuai_index_t *index = heap->freelists[from];
    CUAI_ASSERT(from != to);
    uint32_t list = cuai_index_next(index, 0, 1);
    for (; list < CUAI_LISTS; list = cuai_index_next(index, list, 1))
        cuai_range_transfer(heap, index->heads[list], to);
    CUAI_ASSERT(index->ranges == 0 && index->free_bytes == 0);
    cuai_note_change(heap);
}

cuarena_status_t cuarena_heap_freelist_reclaim(cuarena_heap_t *heap, uint32_t freelist)
{
    cuarena_status_t status = check_own_freelist(heap, freelist);
    if (status != CUARENA_OK)
        return status;
    transfer_all(heap, freelist, 0);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_freelist_merge(cuarena_heap_t *heap, uint32_t from, uint32_t to)
{
    cuarena_status_t status = check_own_freelist(heap, from);
    if (status == CUARENA_OK)
        status = check_own_freelist(heap, to);
    if (status == CUARENA_OK && from != to)
        transfer_all(heap, from, to);
    return status;
}

cuarena_status_t cuarena_heap_freelist_destroy(cuarena_heap_t *heap, uint32_t freelist)
{
    cuarena_status_t status = cuarena_heap_freelist_reclaim(heap, freelist);
    if (status != CUARENA_OK)
        return status;
    CUAI_ASSERT(freelist != 0 && heap->freelist_count > 1);
    cuai_host_free(heap->freelists[freelist]);
    heap->freelists[freelist] = NULL;
    heap->freelist_count--;
    cuai_refresh_fast(heap);
    return CUARENA_OK;
}

/* ---- Absorbing --------------------------------------------------------- */

/* The owners of idle ranges that touch a range on either side; 0: none. */
typedef struct sides {
    cuai_slot_t before;
    cuai_slot_t after;
} sides_t;

static bool is_idle(const cuai_record_t *r)
{
    return r->key != 0 && cuai_range_freelist(r) == 0;
}

/* Two ranges touch where the upper one is a SEPARATOR's. */
static sides_t sides_of(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    const cuai_record_t *next = cuai_record(heap, r->next);
    sides_t sides = {0, 0};
    if (r->kind == CUAI_SEPARATOR && is_idle(cuai_record(heap, r->prev)))
        sides.before = r->prev;
    if (next->kind == CUAI_SEPARATOR && is_idle(next))
        sides.after = r->next;
    return sides;
}

/* The bytes of a range and of its sides. */
static uint64_t together(const cuarena_heap_t *heap, cuai_slot_t slot, sides_t sides)
{
    uint64_t bytes = cuai_range(cuai_record(heap, slot));
    if (sides.before != 0)
        bytes += cuai_range(cuai_record(heap, sides.before));
    if (sides.after != 0)
        bytes += cuai_range(cuai_record(heap, sides.after));
    return bytes;
}

/* Transfers the side before last: that removes the range's own record. */
static void absorb_sides(cuarena_heap_t *heap, sides_t sides, uint32_t freelist)
{
    if (sides.after != 0)
        cuai_range_transfer(heap, sides.after, freelist);
    if (sides.before != 0)
        cuai_range_transfer(heap, sides.before, freelist);
}

/* The first range that has `bytes` with its sides; 0: none. O(ranges of the free list). */
static cuai_slot_t find_wide(const cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes)
{
    const cuai_index_t *index = heap->freelists[freelist];
    cuai_slot_t slot = cuai_index_after(index, heap->records, 0);
    while (slot != 0 && together(heap, slot, sides_of(heap, slot)) < bytes)
        slot = cuai_index_after(index, heap->records, slot);
    return slot;
}

/* Absorbs the sides of every range, a record at a time in address order because ranges merge.
 * O(records). */
static void absorb_all(cuarena_heap_t *heap, uint32_t freelist)
{
    if (heap->separators == 0) /* no range touches another */
        return;
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (r->key == 0 || cuai_range_freelist(r) != freelist)
            continue;
        sides_t sides = sides_of(heap, slot);
        absorb_sides(heap, sides, freelist);
        if (sides.before != 0)
            slot = sides.before;
    }
}

bool cuai_freelist_absorb(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes)
{
    cuai_slot_t slot = 0;
    CUAI_ASSERT(freelist != 0 && freelist != CUAI_FREELIST_PLANNED);
    if (bytes == UINT64_MAX)
        absorb_all(heap, freelist);
    else
        slot = find_wide(heap, freelist, bytes);
    if (slot != 0)
        absorb_sides(heap, sides_of(heap, slot), freelist);
    cuai_note_change(heap);
    return slot != 0 || bytes == UINT64_MAX;
}

cuarena_status_t cuarena_heap_freelist_absorb(cuarena_heap_t *heap, uint32_t freelist,
                                              uint64_t bytes)
{
    cuarena_status_t status = check_own_freelist(heap, freelist);
    if (status != CUARENA_OK || cuai_freelist_absorb(heap, freelist, bytes))
        return status;
    return cuai_fail(CUARENA_FRAGMENTED, "no range of free list %u would have %llu bytes",
                     (unsigned)freelist, (unsigned long long)bytes);
}

/* ---- Gathering --------------------------------------------------------- */

/* Transfers the part of the record's range that is in [begin, end); returns the record whose range
 * has it then. */
static cuai_slot_t gather_part(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t begin, uint64_t end,
                               uint32_t freelist)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    uint64_t start = cuai_end(r);
    uint64_t from = cuai_max(start, begin);
    uint64_t to = cuai_min(start + cuai_range(r), end);
    CUAI_ASSERT(r->key == 0 || cuai_range_freelist(r) != CUAI_FREELIST_PLANNED);
    if (cuai_range_freelist(r) == freelist || to <= from)
        return slot;
    return cuai_range_transfer_part(heap, slot, from - start, to - from, freelist);
}

/* The record whose range has the byte before `end`. */
static cuai_slot_t range_below(const cuarena_heap_t *heap, cuai_slot_t slot, uint64_t end)
{
    while (cuai_end(cuai_record(heap, slot)) >= end)
        slot = cuai_record(heap, slot)->prev;
    CUAI_ASSERT(cuai_record(heap, slot)->key != 0);
    return slot;
}

static bool is_in(const cuai_record_t *r, uint32_t freelist)
{
    return r->key != 0 && cuai_range_freelist(r) == freelist;
}

cuai_free_part_t cuai_freelist_gathered(const cuarena_heap_t *heap, const cuai_free_part_t *part,
                                        uint32_t freelist)
{
    cuai_free_part_t all = *part;
    CUAI_ASSERT(part->begin < part->end);
    all.last = range_below(heap, part->last, part->end);
    const cuai_record_t *upper = cuai_record(heap, all.last);
    const cuai_record_t *next = cuai_record(heap, upper->next);
    if (cuai_end(upper) + cuai_range(upper) == part->end && next->kind == CUAI_SEPARATOR)
        upper = next;
    if (is_in(upper, freelist))
        all.end = cuai_max(part->end, cuai_end(upper) + cuai_range(upper));
    const cuai_record_t *lower = cuai_record(heap, range_below(heap, all.last, part->begin + 1));
    if (cuai_end(lower) == part->begin && lower->kind == CUAI_SEPARATOR)
        lower = cuai_record(heap, lower->prev);
    if (is_in(lower, freelist))
        all.begin = cuai_end(lower);
    return all;
}

/* Goes from the last range down, because a part merges with what follows it. */
cuai_slot_t cuai_freelist_gather(cuarena_heap_t *heap, const cuai_free_part_t *part,
                                 uint32_t freelist)
{
    bool more = true;
    cuai_slot_t owner = 0;
    CUAI_ASSERT(freelist != 0 && part->begin < part->end);
    for (cuai_slot_t slot = part->last, before; more; slot = before) {
        before = cuai_record(heap, slot)->prev;
        more = cuai_end(cuai_record(heap, slot)) > part->begin;
        owner = gather_part(heap, slot, part->begin, part->end, freelist);
    }
    cuai_note_change(heap);
    return owner;
}
