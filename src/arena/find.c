/* Finding a block by address or id among the arena's heaps. */
#include "arena/find.h"
#include "arena/arena.h"

static bool is_ending(cuai_block_ref_t ref)
{
    return cuai_block_record(ref)->flags & CUAI_BLOCK_ENDING;
}

/* The look-up has cached blocks too. */
static bool is_live(cuai_block_ref_t ref)
{
    return cuai_has_bytes(cuai_block_record(ref)) && !is_ending(ref);
}

cuai_block_ref_t cuai_find_address(const cuarena_t *arena, uint64_t address)
{
    cuai_assert_locked(arena);
    for (int32_t region = 0; region < CUAI_HEAPS; region++) {
        cuarena_heap_t *heap = arena->heaps[region];
        cuai_slot_t slot = heap == NULL ? 0 : cuai_table_find(&heap->table, heap->records, address);
        cuai_block_ref_t ref = {heap, slot, region};
        if (slot != 0 && is_live(ref))
            return ref;
    }
    return (cuai_block_ref_t){0};
}

cuai_block_ref_t cuai_find_any(const cuarena_t *arena, cuarena_block_t block)
{
    cuai_assert_locked(arena);
    for (int32_t region = 0; region < CUAI_HEAPS; region++) {
        cuarena_heap_t *heap = arena->heaps[region];
        cuai_slot_t slot = heap == NULL ? 0 : cuai_slot_of(heap, block);
        if (slot != 0)
            return (cuai_block_ref_t){heap, slot, region};
    }
    return (cuai_block_ref_t){0};
}

cuai_block_ref_t cuai_find_block(const cuarena_t *arena, cuarena_block_t block)
{
    cuai_block_ref_t ref = cuai_find_any(arena, block);
    if (ref.heap != NULL && is_ending(ref))
        return (cuai_block_ref_t){0};
    return ref;
}

int32_t cuai_block_region(cuai_block_ref_t ref)
{
    bool stable = cuai_block_record(ref)->flags & CUAI_BLOCK_STABLE;
    return stable ? CUARENA_REGION_STABLE : CUARENA_REGION_DYNAMIC;
}

uint32_t cuai_block_pins(const cuai_record_t *r)
{
    CUAI_ASSERT(r->pins != 0 || !(r->flags & CUAI_BLOCK_BORN_PIN));
    return r->pins - (uint32_t)((r->flags & CUAI_BLOCK_BORN_PIN) != 0);
}
