/* Stretches: free bytes that change free lists, though the rest of their range stays in its own. */
#include "heap/freelists.h"
#include "heap/placement.h"
#include "heap/ranges.h"
#include "heap/slots.h"

/* Makes slots ready for what frees may need, and for both ends of a stretch. */
static cuarena_status_t ready_ends(cuarena_heap_t *heap)
{
    return cuai_slots_reserve(heap, cuai_block_records(heap) + 3);
}

cuarena_status_t cuai_stretch_assign(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes,
                                     uint64_t alignment, uint64_t *begin_out)
{
    uint64_t granule = heap->granule_mask + 1;
    cuai_placement_t place = {bytes, cuai_max(alignment, granule), 0, true, false};
    CUAI_ASSERT(freelist != 0 && freelist != CUAI_FREELIST_PLANNED);
    cuarena_status_t status = ready_ends(heap);
    if (status != CUARENA_OK)
        return status;
    cuai_slot_t slot = cuai_placement_find(heap, &place);
    if (slot == CUAI_NO_PLACE)
        return heap->freelists[0]->free_bytes < bytes ? CUARENA_OUT_OF_MEMORY : CUARENA_FRAGMENTED;
    uint64_t start = cuai_end(cuai_record(heap, slot));
    uint64_t begin = cuai_align_up(start, place.alignment);
    cuai_range_transfer_part(heap, slot, begin - start, bytes, freelist);
    cuai_note_change(heap);
    *begin_out = begin;
    return CUARENA_OK;
}

/* ---- Reclaiming ---------------------------------------------------------- */

static bool contains(const cuarena_heap_t *heap, cuai_slot_t slot, uint64_t offset)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    return cuai_end(r) <= offset && offset - cuai_end(r) < cuai_range(r);
}

/* The owner of the free list's range around an offset; 0: none. O(ranges of the free list). */
static cuai_slot_t find_around(const cuarena_heap_t *heap, uint32_t freelist, uint64_t offset)
{
    const cuai_index_t *index = heap->freelists[freelist];
    cuai_slot_t slot = cuai_index_after(index, heap->records, 0);
    while (slot != 0 && !contains(heap, slot, offset))
        slot = cuai_index_after(index, heap->records, slot);
    return slot;
}

cuarena_status_t cuai_stretch_reclaim(cuarena_heap_t *heap, uint32_t freelist, uint64_t begin,
                                      uint64_t end)
{
    CUAI_ASSERT(freelist != 0 && begin < end);
    cuarena_status_t status = ready_ends(heap);
    if (status != CUARENA_OK)
        return status;
    cuai_slot_t slot = find_around(heap, freelist, begin);
    CUAI_ASSERT(slot != 0);
    uint64_t front = begin - cuai_end(cuai_record(heap, slot));
    cuai_range_transfer_part(heap, slot, front, end - begin, 0);
    cuai_note_change(heap);
    return CUARENA_OK;
}
