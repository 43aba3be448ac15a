/* Finding a block by address or id among the arena's heaps. */
#include "arena/find.h"
#include "arena/arena.h"
#include "arena/watch.h"

/* The look-up has cached blocks too. */
static bool is_live(cuai_block_ref_t ref)
{
    return cuai_has_bytes(cuai_block_record(ref)) && cuai_is_named(cuai_block_record(ref));
}

/* The live block that begins at an address, its front included. */
static cuai_block_ref_t find_offset(const cuarena_t *arena, uint64_t address)
{
    for (int32_t region = 0; region < CUAI_HEAPS; region++) {
        cuarena_heap_t *heap = arena->heaps[region];
        cuai_slot_t slot = heap == NULL ? 0 : cuai_table_find(&heap->table, heap->records, address);
        cuai_block_ref_t ref = {heap, slot, region};
        if (slot != 0 && is_live(ref))
            return ref;
    }
    return (cuai_block_ref_t){0};
}

/* With guards a block begins a front before its address, and that is one for each alignment that
 * the address has. */
static CUAI_NOINLINE cuai_block_ref_t find_behind_front(const cuarena_t *arena, uint64_t address)
{
    uint64_t most = cuai_min(address & (0 - address), CUARENA_HEAP_MAX_SEGMENT);
    for (uint64_t alignment = cuai_granule(arena); alignment <= most; alignment <<= 1) {
        uint64_t front = cuai_front_bytes(arena, alignment);
        cuai_block_ref_t ref = find_offset(arena, address - front);
        if (ref.heap != NULL && cuai_front_of(arena, cuai_block_record(ref)) == front)
            return ref;
    }
    cuai_block_ref_t ref = find_offset(arena, address);
    bool adopted = ref.heap != NULL && cuai_front_of(arena, cuai_block_record(ref)) == 0;
    return adopted ? ref : (cuai_block_ref_t){0};
}

cuai_block_ref_t cuai_find_address(const cuarena_t *arena, uint64_t address)
{
    cuai_assert_locked(arena);
    if (CUAI_UNLIKELY(arena->config.guard_bytes != 0))
        return find_behind_front(arena, address);
    return find_offset(arena, address);
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
    if (ref.heap != NULL && !cuai_is_named(cuai_block_record(ref)))
        return (cuai_block_ref_t){0};
    return ref;
}

bool cuai_find_next(const cuarena_t *arena, uint64_t *cursor, cuai_block_ref_t *block_out)
{
    for (; *cursor >> 32 < CUAI_HEAPS; *cursor = ((*cursor >> 32) + 1) << 32) {
        int32_t region = (int32_t)(*cursor >> 32);
        cuarena_heap_t *heap = arena->heaps[region];
        cuai_slot_t slot = (cuai_slot_t)*cursor;
        for (; heap != NULL && slot < heap->unused; slot++) {
            const cuai_record_t *r = cuai_record(heap, slot);
            if (!cuai_is_live(r) || !cuai_is_named(r))
                continue;
            *cursor = (uint64_t)region << 32 | (slot + 1);
            *block_out = (cuai_block_ref_t){heap, slot, region};
            return true;
        }
    }
    return false;
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
