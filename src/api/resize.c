/* Resizing a block: in place where there is room, else by a copy to a new place, which the block's
 * id then names. */
#include "api/call.h"
#include "arena/annotate.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/guard.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/unlocked.h"
#include "arena/uses.h"
#include "arena/zero.h"
#include "heap/placement.h"

static cuarena_status_t cannot_move(cuarena_status_t status, const char *why, uint64_t bytes)
{
    CUAI_ASSERT(status != CUARENA_OK);
    return cuai_fail(status,
                     "no room for %llu bytes where the block stands, "
                     "and %s",
                     (unsigned long long)bytes, why);
}

/* Whether the block may get another address. */
static cuarena_status_t check_may_move(const cuarena_t *arena, cuai_block_ref_t ref, uint64_t bytes)
{
    CUAI_ASSERT(ref.heap != NULL && ref.slot != 0);
    const cuai_record_t *r = cuai_block_record(ref);
    if (r->fixed)
        return cannot_move(CUARENA_BUSY, "it is private to a capture session", bytes);
    if (ref.region == CUAI_STABLE || (r->flags & CUAI_BLOCK_STABLE))
        return cannot_move(CUARENA_OUT_OF_MEMORY, "a stable block never moves", bytes);
    if (cuai_block_pins(r) != 0)
        return cannot_move(CUARENA_BUSY, "it is pinned", bytes);
    if (r->size != 0 && bytes != 0 && arena->memory.ops.relocate == NULL)
        return cannot_move(CUARENA_UNSUPPORTED, "its memory cannot move bytes", bytes);
    return CUARENA_OK;
}

static bool into(cuai_block_ref_t ref, uint64_t size, const cuai_request_t *request,
                 uint32_t freelist)
{
    return cuai_heap_resize(ref.heap, ref.slot, size, request->heap.size, freelist);
}

/* Lengthens a block into a range of one of the stream's two free lists. What used these bytes
 * before is over for this stream only, so whoever moves the block must wait for it: it counts as a
 * use if the block is another stream's. */
static bool lengthen_on(cuarena_t *arena, cuai_block_ref_t ref, const cuai_request_t *request)
{
    if (request->stream == 0 || arena->cpu_touches || cuai_is_captured(arena, request->stream))
        return false;
    const cuai_record_t *r = cuai_block_record(ref);
    uint32_t freelist = cuai_range_freelist(r);
    bool own = cuai_is_freelist_of(cuai_stream(arena, request->stream), ref.region, freelist);
    if (r->key == 0 || !own || cuai_range(r) < request->size - r->size)
        return false;
    if (r->owner != request->stream && cuai_use_add(arena, ref, request->stream) != CUARENA_OK)
        return false;
    return into(ref, request->size, request, freelist);
}

/* Lengthens a block into the range behind it, if a request on the stream could have that. */
static bool lengthen(cuarena_t *arena, cuai_block_ref_t ref, const cuai_request_t *request)
{
    CUAI_ASSERT(request->size > cuai_block_record(ref)->size);
    if (arena->owners_mix)
        return false;
    if (cuai_block_record(ref)->fixed) {
        uint32_t freelist = cuai_capture_grows_into(arena, ref, request->stream);
        return freelist != 0 && into(ref, request->size, request, freelist);
    }
    if (into(ref, request->size, request, 0) || lengthen_on(arena, ref, request))
        return true;
    cuai_placement_note_cramped(ref.heap, ref.slot);
    return false;
}

/* Shortens a block. It keeps bytes that other streams may still use, and bytes for which a
 * SEPARATOR would be needed that the host has no memory for. */
static bool shorten(cuarena_t *arena, cuai_block_ref_t ref, const cuai_request_t *request,
                    uint32_t heir)
{
    CUAI_ASSERT(request->size <= cuai_block_record(ref)->size);
    const cuai_record_t *r = cuai_block_record(ref);
    if (r->fixed)
        return into(ref, request->size, request, cuai_capture_heir(arena, ref, request->stream));
    bool used = cuai_use_matters(arena, ref, request->stream);
    uint32_t freelist = cuai_freelist_for_free(arena, ref.region, heir);
    return (!used && into(ref, request->size, request, freelist)) ||
           into(ref, r->size, request, freelist);
}

/* Resizes in place, and counts that where the heap does not. What the block gives up is for the
 * stream `heir`. False: nothing was done. */
static bool resize_in_place(cuarena_t *arena, cuai_block_ref_t ref, const cuai_request_t *request,
                            uint32_t heir)
{
    const cuai_record_t *r = cuai_block_record(ref);
    if (r->kind != CUAI_BLOCK || ref.region == CUAI_APART || request->size == 0)
        return false;
    uint64_t size = r->size;
    uint64_t requested = cuai_requested(r);
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    if (request->size > size && cuai_live_bytes(arena) + request->size - size > limit)
        return false;
    if (request->size > size ? !lengthen(arena, ref, request) : !shorten(arena, ref, request, heir))
        return false;
    cuai_count_resize(arena, r, r->size - size, cuai_requested(r) - requested);
    if (cuai_is_annotated(arena))
        cuai_annotate_size(arena, ref);
    arena->unreturned = arena->unreturned || r->size < size;
    return true;
}

/* The request for a new place. With zero=alloc the place of an empty block is zeroed, as for a new
 * block. With zero=owner it all is, where owners mix. A block that grows is placed low: it may grow
 * again. */
static cuai_request_t request_like(const cuarena_t *arena, cuai_block_ref_t ref,
                                   const cuai_request_t *request)
{
    CUAI_ASSERT(ref.heap != NULL && ref.slot != 0);
    const cuai_record_t *r = cuai_block_record(ref);
    cuai_request_t like = *request;
    like.zeroed = (request->zeroed && r->size == 0) || arena->owners_mix;
    like.helps = true;
    like.credit = r->size;
    like.heap.pins = 1;                    /* it stays there until the exchange */
    like.heap.flags = CUAI_BLOCK_BORN_PIN; /* a pin that nobody took */
    like.heap.owner = 0;
    like.heap.low = request->size > r->size;
    like.heap.alignment = UINT64_C(1) << r->align_log2;
    return like;
}

/* Makes the stream wait for all that used the block, so that it may use the old place at once, and
 * notes the copy as a use by the stream. Drops the lock. */
static cuarena_status_t order_copy(cuarena_t *arena, cuai_block_ref_t from, uint32_t stream)
{
    CUAI_ASSERT(arena->inside != 0);
    const cuai_record_t *r = cuai_block_record(from);
    if (stream == 0)
        return CUARENA_OK;
    cuai_stream_set_t set = {{0, 0}};
    bool used = r->flags & CUAI_BLOCK_USED;
    if (used)
        cuai_set_add_block(arena, &set, from.heap, from.slot);
    cuarena_status_t status = CUARENA_OK;
    if (r->owner != stream)
        status = cuai_use_add(arena, from, stream);
    if (status == CUARENA_OK && used)
        status = cuai_order_before(arena, &set, stream);
    return status;
}

static cuarena_status_t copy(cuarena_t *arena, cuai_block_ref_t from, cuai_block_ref_t to,
                             uint32_t stream)
{
    CUAI_ASSERT(arena->inside != 0);
    const cuai_record_t *source = cuai_block_record(from);
    const cuai_record_t *target = cuai_block_record(to);
    uint64_t bytes = cuai_min(source->size, target->size);
    if (bytes == 0)
        return cuai_see_moves(arena, stream);
    return cuai_copy(arena, target->offset, source->offset, bytes, stream);
}

/* With zero=free sets the old place to 0 before another block has it. If that fails the block stays
 * there, and the copy must be set to 0. Drops the lock. */
static cuarena_status_t zero_left(cuarena_t *arena, cuai_block_ref_t from, cuai_block_ref_t to,
                                  uint32_t stream)
{
    cuai_assert_locked(arena);
    if (!cuai_zeroes_freed(arena, from) || cuai_is_lost(arena))
        return CUARENA_OK;
    cuarena_status_t status = cuai_zero_block(arena, from, 0, stream);
    if (status == CUARENA_OK || cuai_block_record(to)->size == 0)
        return status;
    cuai_kept_error_t words = cuai_error_kept();
    bool stays = cuai_zero_block(arena, to, 0, stream) != CUARENA_OK;
    cuai_error_restore(&words);
    if (stays)
        cuai_lose(arena);
    cuai_await_queued(arena, stream);
    return status;
}

/* Copies the block, so that its old place may join the stream's free list; on an error, so that the
 * new one may. Drops the lock. */
static cuarena_status_t copy_contents(cuarena_t *arena, cuai_block_ref_t from, cuai_block_ref_t to,
                                      uint32_t stream)
{
    cuai_assert_locked(arena);
    cuai_mark_moving(arena, from);
    cuai_mark_moving(arena, to);
    cuarena_status_t status = order_copy(arena, from, stream);
    if (status == CUARENA_OK)
        status = copy(arena, from, to, stream);
    if (status == CUARENA_OK) {
        status = zero_left(arena, from, to, stream);
        (void)cuai_stream_note_free(arena, stream);
    }
    cuai_end_moving(arena, to, stream);
    return status;
}

/* Ends the helper block without counting that; after the exchange it has the old place. */
static void end_helper(cuarena_t *arena, cuai_block_ref_t helper, uint32_t stream)
{
    cuai_assert_locked(arena);
    cuai_uncount_block(arena, helper);
    cuai_end_block(arena, helper, stream);
}

static void exchange(cuarena_t *arena, cuai_block_ref_t block, cuai_block_ref_t helper)
{
    CUAI_ASSERT(block.heap == helper.heap);
    const cuai_record_t *r = cuai_block_record(block);
    uint64_t more = cuai_block_record(helper)->size - r->size;
    uint64_t more_requested = cuai_requested(cuai_block_record(helper)) - cuai_requested(r);
    if (cuai_is_annotated(arena))
        cuai_annotate_block(arena, block, CUARENA_EVENT_FREE);
    cuai_heap_exchange(block.heap, block.slot, helper.slot);
    if (cuai_is_annotated(arena))
        cuai_annotate_block(arena, block, CUARENA_EVENT_ALLOC);
    cuai_count_resize(arena, cuai_block_record(helper), 0 - more, 0 - more_requested);
    cuai_count_resize(arena, r, more, more_requested);
}

/* Gives the block the helper's place. False: the block was freed meanwhile, and ends now. */
static bool take_over(cuarena_t *arena, cuai_block_ref_t block, cuai_block_ref_t helper,
                      uint32_t stream)
{
    CUAI_ASSERT(cuai_block_record(block)->moving);
    bool ending = cuai_block_record(block)->flags & CUAI_BLOCK_ENDING;
    if (!ending) {
        cuai_clear_moving(arena, block);
        cuai_use_only(arena, block, stream);
        exchange(arena, block, helper);
    }
    end_helper(arena, helper, stream);
    if (ending)
        cuai_end_moving(arena, block, stream);
    return !ending;
}

static cuarena_status_t resize_by_moving(cuai_call_t *call, cuarena_block_t block,
                                         const cuai_request_t *request)
{
    cuarena_t *arena = call->arena;
    cuai_block_ref_t ref = cuai_find_block(arena, block);
    cuai_request_t like = request_like(arena, ref, request);
    cuai_block_ref_t helper;
    cuarena_status_t status = cuai_alloc_slow(call, &like, &helper);
    if (status != CUARENA_OK)
        return status;
    cuai_call_forget(call, CUARENA_EVENT_ALLOC); /* it is nobody's business */
    if (!cuai_reclaim_block(arena, block, &ref)) {
        end_helper(arena, helper, request->stream);
        return cuai_no_block(block);
    }
    status = check_may_move(arena, ref, request->size); /* pinned meanwhile */
    if (status == CUARENA_OK)
        status = copy_contents(arena, ref, helper, request->stream);
    if (status != CUARENA_OK) {
        if (cuai_block_record(ref)->moving)
            cuai_end_moving(arena, ref, request->stream);
        end_helper(arena, helper, request->stream);
        return status;
    }
    return take_over(arena, ref, helper, request->stream) ? CUARENA_OK : cuai_no_block(block);
}

/* Orders what the block gives up as a free, so that it may join a free list of *heir. Drops the
 * lock. */
static cuarena_status_t order_shortening(cuarena_t *arena, cuarena_block_t block, uint32_t *heir,
                                         cuai_block_ref_t *ref)
{
    CUAI_ASSERT(arena->inside != 0);
    uint32_t stream = *heir;
    while (cuai_reclaim_block(arena, block, ref)) {
        *heir = stream;
        cuarena_status_t status = cuai_order_free(arena, heir);
        if (status != CUARENA_OK)
            return status;
        *ref = cuai_find_block(arena, block);
        if (ref->heap != NULL && !cuai_block_record(*ref)->moving)
            return CUARENA_OK;
    }
    return cuai_no_block(block);
}

/* Whether what a block gives up in place is to be set to 0. */
static bool zeroes_tail(const cuarena_t *arena, cuai_block_ref_t ref, const cuai_request_t *request)
{
    return request->size != 0 && ref.region != CUAI_APART &&
           cuai_block_record(ref)->kind == CUAI_BLOCK && cuai_zeroes_freed(arena, ref) &&
           !cuai_use_matters(arena, ref, request->stream);
}

/* Sets what the block gives up to 0, behind moves of the block and the stream's work so far. Drops
 * the lock. */
static cuarena_status_t zero_tail(cuarena_t *arena, cuarena_block_t block,
                                  const cuai_request_t *request, cuai_block_ref_t *ref)
{
    CUAI_ASSERT(arena->inside != 0);
    uint32_t stream = request->stream;
    cuarena_status_t status = cuai_reclaim_behind(arena, block, stream, ref);
    if (status != CUARENA_OK || !zeroes_tail(arena, *ref, request) ||
        cuai_block_record(*ref)->size <= request->size)
        return status;
    cuai_mark_moving(arena, *ref);
    status = cuai_zero_block(arena, *ref, request->size, stream);
    if (status == CUARENA_OK)
        (void)cuai_stream_note_free(arena, stream);
    if (cuai_end_moving(arena, *ref, stream) && status == CUARENA_OK)
        status = cuai_no_block(block);
    return status;
}

/* Makes a block ready to get shorter: what it gives up may then join a free list of *heir. Drops
 * the lock. */
static cuarena_status_t begin_shortening(cuarena_t *arena, cuarena_block_t block,
                                         const cuai_request_t *request, uint32_t *heir,
                                         cuai_block_ref_t *ref)
{
    CUAI_ASSERT(request->size < cuai_block_record(*ref)->size);
    return zeroes_tail(arena, *ref, request) ? zero_tail(arena, block, request, ref)
                                             : order_shortening(arena, block, heir, ref);
}

/* Whether an empty block stays as it is: where each block is a segment, it has none. */
static bool stays_empty(cuai_block_ref_t ref, const cuai_request_t *request)
{
    return request->dedicated && request->size == 0 && cuai_block_record(ref)->size == 0;
}

static cuarena_status_t resize(cuai_call_t *call, cuai_block_ref_t ref, uint64_t bytes,
                               uint32_t stream)
{
    CUAI_ASSERT(call->stream == stream && call->arena->inside != 0);
    cuarena_t *arena = call->arena;
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    cuai_request_t request;
    cuarena_status_t status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = cuai_request_make(arena, bytes, NULL, &request);
    if (status == CUARENA_OK && (cuai_block_record(ref)->flags & CUAI_BLOCK_EXPORTED))
        status = cuai_fail(CUARENA_BUSY, "block %#llx is exported: it keeps its size",
                           (unsigned long long)block);
    if (status != CUARENA_OK)
        return status;
    request.stream = stream;
    request.size =
        cuai_request_size(arena, bytes, UINT64_C(1) << cuai_block_record(ref)->align_log2);
    uint32_t heir = stream;
    if (request.size < cuai_block_record(ref)->size)
        status = begin_shortening(arena, block, &request, &heir, &ref);
    if (status != CUARENA_OK)
        return status;
    if (!stays_empty(ref, &request) && !resize_in_place(arena, ref, &request, heir)) {
        status = cuai_check_captured(arena, stream);
        if (status != CUARENA_OK)
            return status;
        if (ref.region == CUAI_APART || request.dedicated)
            return cannot_move(CUARENA_UNSUPPORTED, "dedicated and adopted blocks keep their size",
                               bytes);
        status = check_may_move(arena, ref, bytes);
        if (status == CUARENA_OK)
            status = resize_by_moving(call, block, &request);
    }
    if (status != CUARENA_OK)
        return status;
    ref = cuai_find_block(arena, block);
    cuai_call_note_block(call, CUARENA_EVENT_RESIZE, ref);
    cuai_trace_block(arena, ref, CUARENA_EVENT_RESIZE, stream);
    return CUARENA_OK;
}

/* ---- Watched blocks ---------------------------------------------------- */

/* Writes guards where the block ends now, and the pattern into bytes that are new, once the host
 * has waited for the resize: so no stream is at work on the block that it does not name. The resize
 * is done: a block whose guards cannot be written has none. Drops the lock. */
static void guard_again(cuarena_t *arena, cuarena_block_t block, uint64_t kept, uint32_t stream)
{
    CUAI_ASSERT(arena->watch != NULL);
    cuai_block_ref_t ref;
    if (!cuai_reclaim_block(arena, block, &ref) || cuai_block_record(ref)->size == 0)
        return;
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = CUARENA_OK;
    cuai_mark_moving(arena, ref);
    if (cuai_watch_find(arena, block) == NULL)
        status = cuai_watch_add(arena, ref);
    if (status == CUARENA_OK)
        status = cuai_guard_await(arena, ref, stream);
    if (status == CUARENA_OK)
        (void)cuai_guard_write(arena, ref, kept, 0);
    if (cuai_end_moving(arena, ref, stream))
        cuai_watch_drop(arena, block);
    cuai_error_restore(&before);
}

/* The guards are looked at, and are not there until they are written anew. Drops the lock. */
static cuarena_status_t resize_watched(cuai_call_t *call, cuai_block_ref_t ref, uint64_t bytes,
                                       uint32_t stream)
{
    cuarena_t *arena = call->arena;
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    uint32_t found;
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = cuai_look_at_block(arena, block, stream, &ref, &found);
    if (ref.heap == NULL)
        return cuai_no_block(block);
    if (status != CUARENA_OK)
        cuai_error_restore(&before); /* it is resized all the same */
    uint64_t old = cuai_requested(cuai_block_record(ref));
    cuai_watched_t *one = cuai_watch_find(arena, block);
    bool guarded = one != NULL && one->guarded;
    if (guarded)
        one->guarded = false;
    status = resize(call, ref, bytes, stream);
    one = cuai_watch_find(arena, block);
    if (status == CUARENA_OK)
        guard_again(arena, block, cuai_min(old, bytes), stream);
    else if (one != NULL)
        one->guarded = guarded;
    return status;
}

cuarena_status_t cuai_resize_block(cuai_call_t *call, cuai_block_ref_t ref, uint64_t bytes,
                                   uint32_t stream)
{
    if (CUAI_UNLIKELY(call->arena->watch != NULL) && !cuai_is_lost(call->arena))
        return resize_watched(call, ref, bytes, stream);
    return resize(call, ref, bytes, stream);
}
