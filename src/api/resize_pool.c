/* Another size for a pool: in place, after a compaction, or by moving. */
#include "api/call.h"
#include "arena/cache.h"
#include "arena/capture.h"
#include "arena/move.h"
#include "arena/pool.h"
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/traced.h"

static cuarena_status_t check_pool(const cuarena_t *arena, uint64_t bytes)
{
    CUAI_ASSERT(arena->compacting);
    cuarena_status_t status = cuai_call_check(arena);
    if (status != CUARENA_OK)
        return status;
    if (!cuai_is_pool(arena))
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "an arena that grows has no fixed size: set_limit and "
                         "trim bound it");
    if (arena->config.memory == CUARENA_MEMORY_BYTES)
        return cuai_fail(CUARENA_UNSUPPORTED, "the caller's own bytes stay as they are");
    if (arena->segments.count == 0)
        return CUARENA_OK;
    if (bytes > arena->stable_bytes && bytes < CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "a pool of %llu bytes; accepted: more than the stable "
                     "region's %llu, less than 2^48",
                     (unsigned long long)bytes, (unsigned long long)arena->stable_bytes);
}

/* ---- Making room at the end -------------------------------------------- */

static uint64_t last_end(const cuarena_heap_t *heap)
{
    cuai_slot_t slot = cuai_record(heap, 0)->prev;
    while (slot != 0 && cuai_record(heap, slot)->kind != CUAI_BLOCK)
        slot = cuai_record(heap, slot)->prev;
    return slot == 0 ? 0 : cuai_end(cuai_record(heap, slot));
}

/* Where the last block would end after the batch, which keeps the order of blocks. */
static uint64_t last_end_after(const cuarena_heap_t *heap, const cuai_batch_t *batch)
{
    uint64_t end = last_end(heap);
    if (batch->count == 0)
        return end;
    const cuarena_relocation_t *last = &batch->list[batch->count - 1];
    bool moves = cuai_address(last->from) + last->bytes == end;
    return moves ? cuai_address(last->to) + last->bytes : end;
}

/* Makes what was freed idle: other ranges cannot be cut off or moved into. Drops the lock. */
static cuarena_status_t reclaim_freed(cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting);
    if (arena->stream_count == 0)
        return CUARENA_OK;
    cuarena_status_t status = cuai_reclaim_all(arena, true, NULL);
    return status == CUARENA_OK ? cuai_see_moves(arena, 0) : status;
}

static cuarena_status_t blocks_in_the_way(uint64_t bytes)
{
    return cuai_fail(CUARENA_BUSY,
                     "the blocks do not fit below the pool's new size of %llu "
                     "without moving pinned ones",
                     (unsigned long long)bytes);
}

/* Moves blocks below `end`, if all fit there; else BUSY and nothing moved. Drops the lock. */
static cuarena_status_t clear_above(cuai_call_t *call, uint64_t bytes, uint64_t end)
{
    CUAI_ASSERT(call->arena->compacting);
    cuarena_t *arena = call->arena;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (last_end(heap) <= end)
        return CUARENA_OK;
    if (arena->memory.ops.relocate == NULL)
        return blocks_in_the_way(bytes);
    cuarena_heap_plan_options_t options;
    cuarena_heap_plan_options_init(&options);
    cuai_batch_t batch;
    cuarena_status_t status = cuai_batch_begin(arena, &options, 0, NULL, &batch);
    if (status != CUARENA_OK)
        return status;
    if (last_end_after(heap, &batch) > end) {
        cuai_batch_end(arena, &batch);
        return blocks_in_the_way(bytes);
    }
    status = cuai_batch_execute(arena, &batch);
    if (status == CUARENA_OK) {
        cuai_call_note(call, CUARENA_EVENT_COMPACT, batch.bytes);
        cuai_trace_batch(arena, &batch);
        cuai_deliver(arena, arena->relocation_fn, arena->relocation_user, batch.list, batch.count);
    }
    cuai_batch_end(arena, &batch);
    return status;
}

/* ---- Moving it all ----------------------------------------------------- */

static bool has_pins(const cuarena_heap_t *heap)
{
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next)
        if (cuai_record(heap, slot)->kind == CUAI_BLOCK && cuai_record(heap, slot)->pins != 0)
            return true;
    return false;
}

static cuarena_status_t check_movable(const cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting && arena->segments.count != 0);
    const cuarena_heap_t *stable = arena->heaps[CUAI_STABLE];
    bool fixed =
        has_pins(arena->heaps[CUAI_DYNAMIC]) || (stable != NULL && cuai_heap_bytes(stable) != 0);
    if (fixed)
        return cuai_fail(CUARENA_BUSY,
                         "pinned or stable blocks live, and the pool cannot be "
                         "resized in place: memory '%s' set addresses for %llu "
                         "bytes aside, which the option addresses says",
                         arena->memory.ops.name,
                         (unsigned long long)arena->segments.items[0].address_bytes);
    if (arena->memory.ops.relocate == NULL && cuai_heap_bytes(arena->heaps[CUAI_DYNAMIC]) != 0)
        return cuai_fail(CUARENA_UNSUPPORTED, "memory '%s' cannot move bytes",
                         arena->memory.ops.name);
    return cuai_captures_check_none(arena, "resize_pool, by moving");
}

static cuarena_status_t move_pool(cuai_call_t *call, uint64_t bytes)
{
    CUAI_ASSERT(call->arena->compacting);
    cuarena_t *arena = call->arena;
    cuarena_status_t status = check_movable(arena);
    if (status == CUARENA_OK)
        status = cuai_ready_to_move_pool(arena);
    if (status == CUARENA_OK)
        status = check_movable(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_batch_t batch = {0};
    status = cuai_move_pool(arena, bytes, &batch);
    if (status == CUARENA_OK) {
        cuai_call_note(call, CUARENA_EVENT_COMPACT, batch.bytes);
        cuai_trace_batch(arena, &batch);
        cuai_deliver(arena, arena->relocation_fn, arena->relocation_user, batch.list, batch.count);
    }
    cuai_batch_end(arena, &batch);
    return status;
}

/* ---- The call ---------------------------------------------------------- */

static cuarena_status_t resize(cuai_call_t *call, uint64_t bytes)
{
    CUAI_ASSERT(call->arena->compacting);
    cuarena_t *arena = call->arena;
    uint64_t held = arena->reserved;
    cuarena_status_t status = CUARENA_OK;
    if (arena->segments.count == 0) {
        arena->pool_bytes = bytes; /* all was trimmed: taken when needed */
    } else if (bytes > arena->pool_bytes) {
        status = cuai_lengthen_pool(arena, bytes);
    } else {
        uint64_t end = arena->segments.items[0].address + bytes;
        status = reclaim_freed(arena);
        if (status == CUARENA_OK)
            status = clear_above(call, bytes, end);
        if (status == CUARENA_OK)
            status = cuai_shorten_pool(arena, bytes);
    }
    if (status == CUARENA_UNSUPPORTED)
        status = move_pool(call, bytes);
    if (arena->reserved > held)
        cuai_call_note(call, CUARENA_EVENT_GROW, arena->reserved - held);
    else
        cuai_call_note(call, CUARENA_EVENT_TRIM, held - arena->reserved);
    return status;
}

cuarena_status_t cuarena_resize_pool(cuarena_t *arena, uint64_t bytes)
{
    if (arena == NULL)
        return cuai_null("arena");
    uint64_t rounded;
    if (!cuai_align_up_checked(bytes, cuai_granule(arena), &rounded))
        rounded = UINT64_MAX;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "resize_pool", CUAI_CALL_OUTSIDE);
    if (status != CUARENA_OK)
        return status;
    cuai_begin_exclusive(arena);
    status = check_pool(arena, rounded);
    if (status == CUARENA_OK) {
        cuai_cache_drop(arena);
        status = resize(&call, rounded);
    }
    cuai_end_exclusive(arena);
    if (status == CUARENA_OK)
        cuai_call_log(&call, "resize_pool: %llu bytes, %llu reserved", (unsigned long long)rounded,
                      (unsigned long long)arena->reserved);
    return cuai_call_end(&call, status);
}
