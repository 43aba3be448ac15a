#include "api/owner.h"

#include "api/call.h"
#include "arena/find.h"
#include "arena/watch.h"

static bool in_segment(const cuarena_t *arena, uint64_t address)
{
    for (size_t i = 0; i < arena->segments.count; i++) {
        const cuarena_memory_segment_t *segment = &arena->segments.items[i];
        if (address - segment->address < segment->address_bytes)
            return true;
    }
    return false;
}

static bool is_around(const cuarena_t *arena, cuai_block_ref_t ref, uint64_t address)
{
    const cuai_record_t *r = cuai_block_record(ref);
    return address - cuai_user_address(arena, r) < cuai_user_bytes(arena, r);
}

static cuai_block_ref_t find_around(const cuarena_t *arena, uint64_t address)
{
    uint64_t cursor = 0;
    cuai_block_ref_t ref;
    while (cuai_find_next(arena, &cursor, &ref))
        if (is_around(arena, ref, address))
            return ref;
    return (cuai_block_ref_t){.heap = NULL};
}

static void describe(const cuarena_t *arena, cuai_block_ref_t ref, cuai_owned_t *owned)
{
    const cuai_record_t *r = cuai_block_record(ref);
    owned->live = true;
    owned->inside = true;
    owned->address = cuai_user_address(arena, r);
    owned->requested = cuai_requested(r);
    owned->block = cuai_id(ref.heap, ref.slot);
    owned->tag = cuai_tag_of(r);
}

cuai_owned_t cuai_owner_look(cuarena_t *arena, uint64_t address, bool around)
{
    cuai_owned_t owned = {.inside = false};
    if (cuai_query_begin_beside(arena) != CUARENA_OK)
        return owned;
    cuai_block_ref_t ref = cuai_find_address(arena, address);
    owned.begins = ref.heap != NULL;
    owned.inside = owned.begins || in_segment(arena, address);
    if (ref.heap == NULL && around)
        ref = find_around(arena, address);
    if (ref.heap != NULL)
        describe(arena, ref, &owned);
    (void)cuai_query_end(arena, CUARENA_OK);
    return owned;
}
