/*
 * STANDALONE blocks: each has bytes of its own, in no segment. Nothing is beside one, so it takes
 * one record, is in no list, and begins and ends in O(1).
 */
#include "heap/heap.h"

static cuarena_status_t no_bookkeeping(cuarena_status_t status)
{
    return cuai_fail(status, status == CUARENA_LIMIT ? "the heap has as many blocks as max_blocks"
                                                     : "no host memory for the bookkeeping");
}

cuarena_status_t cuai_heap_add_standalone(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                          const cuarena_heap_request_t *request, cuai_note_t note,
                                          cuai_slot_t *slot_out)
{
    cuai_slot_t slot;
    cuarena_status_t status = cuai_heap_add_empty(heap, request, &slot);
    if (status != CUARENA_OK)
        return no_bookkeeping(status);
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(size != 0 && request->size <= size);
    r->kind = CUAI_STANDALONE;
    r->offset = offset;
    r->size = size;
    r->asked = cuai_asked(request->size, request->tag);
    cuai_set_note(r, note);
    cuai_table_insert(&heap->table, heap->records, slot);
    cuai_counter_resize(&heap->counter, size, request->size);
    cuai_raise(&heap->most_block_bytes, size);
    cuai_raise(&heap->standalone_most_asked, request->size);
    heap->standalone_blocks++;
    heap->standalone_bytes += size;
    *slot_out = slot;
    return CUARENA_OK;
}

void cuai_standalone_end(cuarena_heap_t *heap, cuai_slot_t slot)
{
    CUAI_ASSERT(cuai_record(heap, slot)->kind == CUAI_STANDALONE);
    CUAI_ASSERT(heap->standalone_blocks != 0);
    cuai_table_remove(&heap->table, heap->records, slot);
    heap->standalone_blocks--;
    heap->standalone_bytes -= cuai_record(heap, slot)->size;
    cuai_slot_end(heap, slot);
}

cuai_slot_t cuai_heap_next_standalone(const cuarena_heap_t *heap, cuai_slot_t from)
{
    for (cuai_slot_t slot = from; slot < heap->unused; slot++)
        if (cuai_record(heap, slot)->kind == CUAI_STANDALONE)
            return slot;
    return 0;
}
