/* The slow path of frees: a block ends at once, or when its zeroing, its move, its uses and its
 * exports are over. */
#include "api/call.h"
#include "arena/cache.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/dedicated.h"
#include "arena/guard.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/uses.h"
#include "arena/zero.h"

/* ---- The end of a block ------------------------------------------------ */

/* Whether the block has a segment of its own that goes back with it, not to a capture session. */
static bool has_segment(cuai_block_ref_t ref)
{
    const cuai_record_t *r = cuai_block_record(ref);
    return (r->flags & CUAI_BLOCK_DEDICATED) && !r->fixed;
}

/* Ends the block but for its segment: whether it has one, which then is to go back. The lock is
 * held throughout. */
static bool end_but_segment(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number,
                            cuarena_memory_segment_t *segment_out)
{
    CUAI_ASSERT(arena->inside != 0);
    const cuai_record_t *r = cuai_block_record(ref);
    bool apart = has_segment(ref);
    *segment_out = cuai_dedicated_segment(r);
    if ((r->flags & CUAI_BLOCK_USED) && !r->fixed)
        cuai_use_drop(arena, ref);
    cuai_end_unkept(arena, ref, number);
    return apart;
}

void cuai_end_now(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    cuai_assert_locked(arena);
    cuarena_memory_segment_t segment;
    if (end_but_segment(arena, ref, number, &segment))
        cuai_return_segment(arena, segment, number);
}

/* Sets a new block to 0, watches it and writes its guards, as request and arena want. The block is
 * marked as moving. Drops the lock. */
static cuarena_status_t prepare(cuarena_t *arena, const cuai_request_t *request,
                                cuai_block_ref_t ref)
{
    CUAI_ASSERT(cuai_block_record(ref)->moving);
    cuarena_status_t status = CUARENA_OK;
    if (request->zeroed)
        status = cuai_zero_block(arena, ref, 0, request->stream);
    if (status != CUARENA_OK || arena->watch == NULL || request->helps)
        return status;
    status = cuai_watch_add(arena, ref);
    if (status != CUARENA_OK)
        return status;
    uint64_t kept = request->zeroed ? request->heap.size : 0;
    status = cuai_guard_write(arena, ref, kept, request->stream);
    if (status != CUARENA_OK)
        cuai_watch_drop(arena, cuai_id(ref.heap, ref.slot));
    return status;
}

cuarena_status_t cuai_ready_new(cuarena_t *arena, const cuai_request_t *request,
                                cuai_block_ref_t ref)
{
    CUAI_ASSERT(ref.heap != NULL && ref.slot != 0);
    if ((!request->zeroed && arena->watch == NULL) || request->size == 0)
        return CUARENA_OK;
    cuai_counted_in_t where = {ref.region, request->heap.owner, request->heap.tag};
    cuai_peaks_kept_t with;
    cuai_peaks_keep(arena, &where, &with);
    cuai_mark_moving(arena, ref);
    cuarena_status_t status = prepare(arena, request, ref);
    bool ended = cuai_end_moving(arena, ref, request->stream);
    if (status == CUARENA_OK || ended)
        return status;
    if (!request->helps)
        cuai_trace_block(arena, ref, CUARENA_EVENT_FREE, request->stream);
    cuai_uncount_block(arena, ref);
    cuarena_memory_segment_t segment;
    bool apart = end_but_segment(arena, ref, request->stream, &segment);
    cuai_peaks_restore(arena, &where, request->before, &with); /* before others allocate */
    if (apart)
        cuai_return_segment(arena, segment, request->stream);
    return status;
}

/* ---- Frees ------------------------------------------------------------- */

/* Sets a block to 0 and then ends it, so that no other block has its bytes before that. Ends it too
 * where the arena is lost by that, with the last error as it was: nobody gets the bytes any more.
 * Drops the lock. */
static cuarena_status_t zero_then_end(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_record_t *r = cuai_block_record(ref);
    cuai_mark_ending(arena, r);
    cuai_mark_moving(arena, ref);
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = cuai_zero_block(arena, ref, 0, number);
    if (status != CUARENA_OK && !cuai_zeroes_nothing(status)) {
        cuai_clear_ending(arena, r);
        cuai_clear_moving(arena, ref);
        return status;
    }
    cuai_error_restore(&before);
    (void)cuai_stream_note_free(arena, number);
    cuai_clear_moving(arena, ref);
    cuai_end_now(arena, ref, number);
    return CUARENA_OK;
}

/* Leaves the end of a block to the end of its move, whose free list then gets the bytes, or to the
 * close of its last export. Until then it is a block of the stream of the free. */
static cuarena_status_t end_later(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->moving || (r->flags & CUAI_BLOCK_EXPORTED));
    cuai_mark_ending(arena, r);
    if (r->fixed) /* its session knows who used it */
        cuai_capture_note(arena, cuai_capture_around(arena, r->offset), stream);
    else
        cuai_use_drop(arena, ref);
    if (!r->fixed)
        cuai_change_owner(arena, r, stream);
    arena->freed_while_moving++;
    return CUARENA_OK;
}

/* The free that was traced has failed, and the block is its owner's as before. */
static void trace_kept(cuarena_t *arena, cuai_block_ref_t ref)
{
    CUAI_ASSERT((cuai_block_record(ref)->flags & CUAI_BLOCK_ENDING) == 0);
    cuai_trace_block(arena, ref, CUARENA_EVENT_ALLOC, cuai_block_record(ref)->owner);
}

/* Frees a block that is zeroed first or that other streams use. Either begins when a move of the
 * block has ended, and behind its copies. Drops the lock. */
static cuarena_status_t end_slowly(cuarena_t *arena, cuarena_block_t block, uint32_t stream,
                                   bool used)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_block_ref_t ref;
    cuarena_status_t status = cuai_reclaim_behind(arena, block, stream, &ref);
    if (status != CUARENA_OK)
        return status;
    cuai_trace_block(arena, ref, CUARENA_EVENT_FREE, stream);
    status = used || cuai_use_matters(arena, ref, stream) ? cuai_end_after_uses(arena, ref, stream)
                                                          : zero_then_end(arena, ref, stream);
    if (status != CUARENA_OK)
        trace_kept(arena, ref);
    return status;
}

/* A block that other streams use ends when they are done. The free was answered long ago, so if the
 * bytes must be 0 and cannot be made so the arena is lost. The last error stays, for this is none
 * of the call that ends the block. */
void cuai_end_released(cuarena_t *arena, cuai_block_ref_t ref)
{
    CUAI_ASSERT((cuai_block_record(ref)->flags & CUAI_BLOCK_ENDING) != 0);
    const cuai_record_t *r = cuai_block_record(ref);
    if ((r->flags & CUAI_BLOCK_USED) && !r->fixed)
        return;
    if (cuai_zeroes_freed(arena, ref) && !cuai_is_lost(arena)) {
        cuai_kept_error_t before = cuai_error_kept();
        if (zero_then_end(arena, ref, 0) == CUARENA_OK)
            return;
        cuai_lose(arena);
        cuai_error_restore(&before);
    }
    cuai_end_now(arena, ref, 0);
}

/* BUSY for a block that goes back to the memory on a stream that is being captured: the return
 * would become part of the graph. Drops the lock. */
static cuarena_status_t order_return(cuarena_t *arena, uint32_t stream)
{
    cuai_assert_locked(arena);
    bool captured = false;
    cuarena_status_t status = cuai_stream_ask_captured(arena, stream, &captured);
    if (status != CUARENA_OK || !captured)
        return status;
    return cuai_fail(CUARENA_BUSY,
                     "stream %p is being captured: a block that is the "
                     "memory's own piece cannot be freed on it; accepted: "
                     "without a stream, when it is idle",
                     (void *)cuai_stream_handle(arena, stream));
}

/* Frees a block that needs no zeroing and that no other stream uses: into the cache, or now, or
 * when its move or exports are over. It is not cached if the free had no stream and copies of
 * compactions are under way. Drops the lock. */
static cuarena_status_t end_quickly(cuarena_t *arena, cuarena_block_t block, uint32_t stream)
{
    CUAI_ASSERT(arena->inside != 0);
    const uint32_t passed = stream;
    cuarena_status_t status = CUARENA_OK;
    cuai_block_ref_t ref = cuai_find_block(arena, block);
    if (cuai_goes_back_on(arena, ref, stream))
        status = order_return(arena, stream);
    else if (!cuai_is_lost(arena) && !has_segment(ref) && !cuai_block_record(ref)->fixed)
        status = cuai_order_free(arena, &stream);
    if (status != CUARENA_OK)
        return status;
    ref = cuai_find_block(arena, block);
    if (ref.heap == NULL)
        return cuai_no_block(block);
    cuai_trace_block(arena, ref, CUARENA_EVENT_FREE, passed);
    const cuai_record_t *r = cuai_block_record(ref);
    if (r->moving || (r->flags & CUAI_BLOCK_EXPORTED))
        return end_later(arena, ref, stream);
    if (stream == passed && cuai_may_cache(arena, ref, stream))
        cuai_arena_cache_put(arena, ref, stream);
    else
        cuai_end_now(arena, ref, stream);
    return CUARENA_OK;
}

/* The stream of the free was waited for on the host and has no number. One of the streams that also
 * use the block stands for it, so that the bytes wait for the other ones. */
static void choose_stream(cuai_call_t *call, cuai_block_ref_t ref)
{
    CUAI_ASSERT(call->waited && call->stream == 0);
    cuarena_t *arena = call->arena;
    const cuai_record_t *r = cuai_block_record(ref);
    const cuai_use_t *use = NULL;
    if ((r->flags & CUAI_BLOCK_USED) && !r->fixed)
        use = cuai_use_find(arena, cuai_id(ref.heap, ref.slot));
    if (use == NULL || use->count == 0)
        return;
    call->stream = use->waits[0].stream;
    cuai_stream(arena, call->stream)->callers++;
}

static cuarena_status_t release(cuai_call_t *call, cuai_block_ref_t ref, uint32_t stream)
{
    cuarena_t *arena = call->arena;
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    uint8_t flags = cuai_block_record(ref)->flags;
    bool fixed = cuai_block_record(ref)->fixed;
    bool used = !fixed && cuai_use_matters(arena, ref, stream);
    bool zeroed = cuai_zeroes_freed(arena, ref) && !(flags & CUAI_BLOCK_EXPORTED);
    bool slowly = !cuai_is_lost(arena) && (used || zeroed);
    cuai_call_note_block(call, CUARENA_EVENT_FREE, ref);
    cuarena_status_t status =
        slowly ? end_slowly(arena, block, stream, used) : end_quickly(arena, block, stream);
    if (status != CUARENA_OK)
        cuai_call_forget(call, CUARENA_EVENT_FREE);
    return status;
}

/* Frees a block whose bytes get the pattern of freed ones. On an error it lives. Drops the lock. */
static cuarena_status_t end_with_pattern(cuai_call_t *call, cuai_block_ref_t ref, uint32_t stream)
{
    CUAI_ASSERT(cuai_has_freed_pattern(call->arena, ref));
    cuarena_t *arena = call->arena;
    cuai_trace_block(arena, ref, CUARENA_EVENT_FREE, stream);
    cuai_call_note_block(call, CUARENA_EVENT_FREE, ref);
    cuarena_status_t status = cuai_end_with_pattern(arena, ref);
    if (status == CUARENA_OK)
        return status;
    cuai_call_forget(call, CUARENA_EVENT_FREE);
    trace_kept(arena, ref);
    return status;
}

/* Frees a watched block once its guards were looked at. Drops the lock. */
static cuarena_status_t release_watched(cuai_call_t *call, cuarena_block_t block, uint32_t stream)
{
    CUAI_ASSERT(call->arena->watch != NULL);
    cuarena_t *arena = call->arena;
    cuai_block_ref_t ref;
    uint32_t found;
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = cuai_look_at_block(arena, block, stream, &ref, &found);
    if (ref.heap == NULL)
        return cuai_no_block(block);
    if (status != CUARENA_OK)
        cuai_error_restore(&before); /* it is freed all the same */
    if (status != CUARENA_OK || !cuai_has_freed_pattern(arena, ref)) {
        status = release(call, ref, stream);
        if (status == CUARENA_OK)
            cuai_watch_drop(arena, block);
        return status;
    }
    return end_with_pattern(call, ref, stream);
}

cuarena_status_t cuai_release(cuai_call_t *call, cuai_block_ref_t ref, uint32_t stream)
{
    CUAI_ASSERT(ref.heap != NULL && call->arena->inside != 0);
    if (call->waited) {
        choose_stream(call, ref);
        stream = call->stream;
    }
    if (CUAI_UNLIKELY(call->arena->watch != NULL))
        return release_watched(call, cuai_id(ref.heap, ref.slot), stream);
    return release(call, ref, stream);
}

bool cuai_reclaim_block(cuarena_t *arena, cuarena_block_t block, cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    *block_out = cuai_find_block(arena, block);
    while (block_out->heap != NULL && cuai_block_record(*block_out)->moving) {
        cuai_arena_wait(arena);
        *block_out = cuai_find_block(arena, block);
    }
    return block_out->heap != NULL;
}

cuarena_status_t cuai_reclaim_behind(cuarena_t *arena, cuarena_block_t block, uint32_t stream,
                                     cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    while (cuai_reclaim_block(arena, block, block_out)) {
        if (!cuai_has_unseen_moves(arena, stream))
            return CUARENA_OK;
        cuarena_status_t status = cuai_see_moves(arena, stream);
        if (status != CUARENA_OK)
            return status;
    }
    return cuai_no_block(block);
}
