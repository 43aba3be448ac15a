#include "api/owner.h"

#include "api/call.h"
#include "arena/find.h"
#include "arena/watch.h"
#include "memory/cuda/pools.h"

struct CUmemPoolHandle_st *cuai_owner_pool(const cuarena_t *arena)
{
    return arena->memory.pool != NULL ? arena->memory.pool->handle : NULL;
}

static bool in_segment(const cuarena_t *arena, uint64_t address)
{
    cuai_assert_locked(arena);
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

static void describe(const cuarena_t *arena, cuai_block_ref_t ref, cuai_owned_t *owned)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(ref.heap != NULL && ref.slot != 0);
    const cuai_record_t *r = cuai_block_record(ref);
    owned->live = true;
    owned->inside = true;
    owned->address = cuai_user_address(arena, r);
    owned->requested = cuai_requested(r);
    owned->block = cuai_id(ref.heap, ref.slot);
    owned->tag = cuai_tag_of(r);
}

static void look_at_begin(cuarena_t *arena, uint64_t address, cuai_owned_t *owned)
{
    if (cuai_query_begin_beside(arena) != CUARENA_OK)
        return;
    cuai_block_ref_t ref = cuai_find_address(arena, address);
    owned->begins = ref.heap != NULL;
    owned->inside = owned->begins || in_segment(arena, address);
    if (owned->begins)
        describe(arena, ref, owned);
    (void)cuai_query_end(arena, CUARENA_OK);
}

#define LOOKS 256 /* at blocks, while the lock is held */

/* Looks for the block around the address, from the cursor on; false: there is no more to see. The
 * block that a caller asks about stays while it asks, so the lock may be let go of on the way. */
static bool look_around(cuarena_t *arena, uint64_t address, uint64_t *cursor, cuai_owned_t *owned)
{
    cuai_block_ref_t ref;
    bool more = true;
    if (cuai_query_begin_beside(arena) != CUARENA_OK)
        return false;
    for (int looks = 0; looks < LOOKS && more && !owned->live; looks++) {
        more = cuai_find_next(arena, cursor, &ref);
        if (more && is_around(arena, ref, address))
            describe(arena, ref, owned);
    }
    (void)cuai_query_end(arena, CUARENA_OK);
    return more && !owned->live;
}

cuai_owned_t cuai_owner_look(cuarena_t *arena, uint64_t address, bool around)
{
    cuai_owned_t owned = {.inside = false};
    uint64_t cursor = 0;
    look_at_begin(arena, address, &owned);
    if (around && owned.inside && !owned.live)
        while (look_around(arena, address, &cursor, &owned))
            continue;
    return owned;
}
