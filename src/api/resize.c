/* Resizing a block: in place if it can be, else into a new place that the
 * block's id then takes over. */
#include "api/call.h"
#include "arena/capture.h"
#include "arena/move.h"
#include "heap/placement.h"

static cuarena_status_t cannot_move(cuarena_status_t status, const char *why,
                                    uint64_t bytes)
{
    return cuai_fail(status,
                     "no room for %llu bytes where the block stands, "
                     "and %s",
                     (unsigned long long)bytes, why);
}

/* Whether the block may get another address. */
static cuarena_status_t check_may_move(const cuarena_t *arena,
                                       cuai_found_t found, uint64_t bytes)
{
    const cuai_record_t *r = cuai_found_record(found);
    if (r->fixed)
        return cannot_move(CUARENA_BUSY, "it is private to a capture session",
                           bytes);
    if (found.region == CUAI_STABLE || (r->flags & CUAI_BLOCK_STABLE))
        return cannot_move(found.heap->lanes[0]->free_bytes < bytes
                               ? CUARENA_OUT_OF_MEMORY
                               : CUARENA_FRAGMENTED,
                           "a stable block never moves", bytes);
    if (cuai_block_pins(r) != 0)
        return cannot_move(CUARENA_BUSY, "it is pinned", bytes);
    if (r->size != 0 && bytes != 0 && arena->memory.ops.relocate == NULL)
        return cannot_move(CUARENA_UNSUPPORTED, "its memory cannot move bytes",
                           bytes);
    return CUARENA_OK;
}

static bool into(cuai_found_t found, uint64_t size, const cuai_want_t *want,
                 uint32_t lane)
{
    return cuai_heap_resize(found.heap, found.slot, size, want->request.size,
                            lane);
}

/* Into a range of a lane of the stream. */
static bool lengthen_on(const cuarena_t *arena, cuai_found_t found,
                        const cuai_want_t *want)
{
    if (want->stream == 0 || arena->cpu_touches ||
        cuai_is_captured(arena, want->stream))
        return false;
    const uint32_t *lanes =
        cuai_stream(arena, want->stream)->lanes[found.region];
    return into(found, want->size, want, lanes[0]) ||
           into(found, want->size, want, lanes[1]);
}

static bool lengthen_private(const cuarena_t *arena, cuai_found_t found,
                             const cuai_want_t *want)
{
    uint32_t lane = cuai_capture_grows_into(arena, found, want->stream);
    return lane != 0 && into(found, want->size, want, lane);
}

/* Into a range after it that a request on the stream could have. */
static bool lengthen(const cuarena_t *arena, cuai_found_t found,
                     const cuai_want_t *want)
{
    if (cuai_found_record(found)->fixed)
        return lengthen_private(arena, found, want);
    if (into(found, want->size, want, 0) || lengthen_on(arena, found, want))
        return true;
    cuai_placement_note_cramped(found.heap, found.slot);
    return false;
}

/* What others may still use stays with the block, and so does what a SPACER,
 * for which the host has no memory, would have to keep apart. */
static bool shorten(cuarena_t *arena, cuai_found_t found,
                    const cuai_want_t *want, uint32_t heir)
{
    const cuai_record_t *r = cuai_found_record(found);
    if (r->fixed)
        return into(found, want->size, want,
                    cuai_capture_heir(arena, found, want->stream));
    bool used = cuai_use_matters(arena, found, want->stream);
    uint32_t lane = cuai_lane_for_free(arena, found.region, heir);
    return (!used && into(found, want->size, want, lane)) ||
           into(found, r->size, want, lane);
}

/* In place, with the counts that are not the heap's. What it gives up is for
 * the stream `heir`. */
static bool resize_in_place(cuarena_t *arena, cuai_found_t found,
                            const cuai_want_t *want, uint32_t heir)
{
    const cuai_record_t *r = cuai_found_record(found);
    if (r->kind != CUAI_BLOCK || found.region == CUAI_APART || want->size == 0)
        return false;
    uint64_t size = r->size;
    uint64_t requested = cuai_requested(r);
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    if (want->size > size && cuai_live_bytes(arena) + want->size - size > limit)
        return false;
    if (want->size > size ? !lengthen(arena, found, want)
                          : !shorten(arena, found, want, heir))
        return false;
    cuai_count_resize(arena, r, r->size - size, cuai_requested(r) - requested);
    arena->unreturned = arena->unreturned || r->size < size;
    return true;
}

/* What a new place for the block must be like; one that grows may do so again.
 * With ZERO_ALLOC that of an empty block comes zeroed, as any block does. */
static cuai_want_t want_like(cuai_found_t found, const cuai_want_t *want)
{
    const cuai_record_t *r = cuai_found_record(found);
    cuai_want_t like = *want;
    like.zeroed = want->zeroed && r->size == 0;
    like.credit = r->size;
    like.request.pins = 1; /* stays where it is until the exchange */
    like.request.flags = CUAI_BLOCK_BORN_PIN; /* and nobody took that pin */
    like.request.owner = 0;
    like.request.low = want->size > r->size;
    like.request.alignment = UINT64_C(1) << r->align_log2;
    return like;
}

/* Whoever used the block used its old place: the stream waits for them, so
 * that it may have that place at once. The copy is a use by the stream. */
static cuarena_status_t order_copy(cuarena_t *arena, cuai_found_t from,
                                   uint32_t stream)
{
    const cuai_record_t *r = cuai_found_record(from);
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

static cuarena_status_t copy(cuarena_t *arena, cuai_found_t from,
                             cuai_found_t to, uint32_t stream)
{
    const cuai_record_t *source = cuai_found_record(from);
    const cuai_record_t *target = cuai_found_record(to);
    uint64_t bytes = cuai_min(source->size, target->size);
    if (bytes == 0)
        return cuai_see_moves(arena, stream);
    return cuai_copy(arena, target->offset, source->offset, bytes, stream);
}

/* With ZERO_FREE the old place is set to 0 before anybody else has it. Where
 * that fails the block stays there, and the copy must go. */
static cuarena_status_t zero_left(cuarena_t *arena, cuai_found_t from,
                                  cuai_found_t to, uint32_t stream)
{
    if (!cuai_zeroes_freed(arena, from) || cuai_is_lost(arena))
        return CUARENA_OK;
    cuarena_status_t status = cuai_zero_block(arena, from, stream);
    if (status != CUARENA_OK && cuai_found_record(to)->size != 0 &&
        cuai_zero_block(arena, to, stream) != CUARENA_OK)
        cuai_lose(arena);
    return status;
}

/* The old place may join the stream's lane then. */
static cuarena_status_t copy_contents(cuarena_t *arena, cuai_found_t from,
                                      cuai_found_t to, uint32_t stream)
{
    cuai_mark_moving(arena, from);
    cuai_mark_moving(arena, to);
    cuarena_status_t status = order_copy(arena, from, stream);
    if (status == CUARENA_OK)
        status = copy(arena, from, to, stream);
    if (status == CUARENA_OK)
        status = zero_left(arena, from, to, stream);
    if (status == CUARENA_OK)
        cuai_stream_note_work(arena, stream);
    cuai_end_moving(arena, to, stream);
    return status;
}

/* The helper block, which now has the old place, ends uncounted. */
static void end_helper(cuarena_t *arena, cuai_found_t helper, uint32_t stream)
{
    cuarena_heap_t *heap = helper.heap;
    cuai_end_block(arena, helper, stream);
    cuai_uncount(heap);
}

static void exchange(cuarena_t *arena, cuai_found_t block, cuai_found_t helper)
{
    const cuai_record_t *r = cuai_found_record(block);
    uint64_t size = r->size;
    uint64_t requested = cuai_requested(r);
    cuai_heap_exchange(block.heap, block.slot, helper.slot);
    cuai_count_resize(arena, r, r->size - size, cuai_requested(r) - requested);
}

/* The block takes over the helper's place. False: it was freed meanwhile, and
 * ends now. */
static bool take_over(cuarena_t *arena, cuai_found_t block, cuai_found_t helper,
                      uint32_t stream)
{
    bool ending = cuai_found_record(block)->flags & CUAI_BLOCK_ENDING;
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

static cuarena_status_t resize_by_moving(cuai_call_t *call,
                                         cuarena_block_t block,
                                         const cuai_want_t *want)
{
    cuarena_t *arena = call->arena;
    cuai_found_t found = cuai_find_block(arena, block);
    cuai_want_t like = want_like(found, want);
    cuai_found_t helper;
    cuarena_status_t status = cuai_obtain(call, &like, &helper);
    if (status != CUARENA_OK)
        return status;
    cuai_call_forget(call, CUARENA_EVENT_ALLOC); /* it is nobody's business */
    if (!cuai_settle_block(arena, block, &found)) {
        end_helper(arena, helper, want->stream);
        return cuai_no_block(block);
    }
    status = check_may_move(arena, found, want->size); /* pinned meanwhile */
    if (status == CUARENA_OK)
        status = copy_contents(arena, found, helper, want->stream);
    if (status != CUARENA_OK) {
        if (cuai_found_record(found)->moving)
            cuai_end_moving(arena, found, want->stream);
        end_helper(arena, helper, want->stream);
        return status;
    }
    return take_over(arena, found, helper, want->stream) ? CUARENA_OK
                                                         : cuai_no_block(block);
}

/* What the block gives up may join a lane of *heir: as with a free, see
 * order_free. Steps out. */
static cuarena_status_t order_shortening(cuarena_t *arena,
                                         cuarena_block_t block, uint32_t *heir,
                                         cuai_found_t *found)
{
    uint32_t stream = *heir;
    while (cuai_settle_block(arena, block, found)) {
        cuarena_status_t status = CUARENA_OK;
        if (stream == 0)
            *heir = cuai_moving_stream(arena);
        else
            status = cuai_see_moves(arena, stream);
        if (status == CUARENA_OK)
            status = cuai_stream_note_free(arena, stream);
        if (status != CUARENA_OK)
            return status;
        *found = cuai_find_block(arena, block);
        bool unseen = stream != 0 && cuai_has_unseen_moves(arena, stream);
        if (found->heap != NULL && !cuai_found_record(*found)->moving &&
            !unseen)
            return CUARENA_OK;
    }
    return cuai_no_block(block);
}

/* Whether what a block gives up in place is to be set to 0. */
static bool zeroes_tail(const cuarena_t *arena, cuai_found_t found,
                        const cuai_want_t *want)
{
    return want->size != 0 && found.region != CUAI_APART &&
           cuai_found_record(found)->kind == CUAI_BLOCK &&
           cuai_zeroes_freed(arena, found) &&
           !cuai_use_matters(arena, found, want->stream);
}

/* It is set to 0 behind the moves of the block and the stream's work so far.
 * Steps out. */
static cuarena_status_t zero_tail(cuarena_t *arena, cuarena_block_t block,
                                  const cuai_want_t *want, cuai_found_t *found)
{
    uint32_t stream = want->stream;
    cuarena_status_t status = cuai_settle_behind(arena, block, stream, found);
    if (status != CUARENA_OK || !zeroes_tail(arena, *found, want) ||
        cuai_found_record(*found)->size <= want->size)
        return status;
    cuai_mark_moving(arena, *found);
    status = cuai_zero_tail(arena, *found, want->size, stream);
    if (status == CUARENA_OK)
        cuai_stream_note_work(arena, stream);
    if (cuai_end_moving(arena, *found, stream) && status == CUARENA_OK)
        status = cuai_no_block(block);
    return status;
}

/* The block gets shorter: what it gives up may join a lane of *heir. Steps
 * out. */
static cuarena_status_t begin_shortening(cuarena_t *arena,
                                         cuarena_block_t block,
                                         const cuai_want_t *want,
                                         uint32_t *heir, cuai_found_t *found)
{
    return zeroes_tail(arena, *found, want)
               ? zero_tail(arena, block, want, found)
               : order_shortening(arena, block, heir, found);
}

/* Where each block is a segment one without bytes has no other place. */
static bool stays_empty(cuai_found_t found, const cuai_want_t *want)
{
    return want->dedicated && want->size == 0 &&
           cuai_found_record(found)->size == 0;
}

cuarena_status_t cuai_resize_block(cuai_call_t *call, cuai_found_t found,
                                   uint64_t bytes, uint32_t stream)
{
    cuarena_t *arena = call->arena;
    cuarena_block_t block = cuai_id(found.heap, found.slot);
    cuai_want_t want;
    cuarena_status_t status = cuai_want(arena, bytes, NULL, &want);
    if (status == CUARENA_OK &&
        (cuai_found_record(found)->flags & CUAI_BLOCK_EXPORTED))
        status = cuai_fail(CUARENA_BUSY,
                           "block %#llx is exported: it keeps its size",
                           (unsigned long long)block);
    if (status != CUARENA_OK)
        return status;
    want.stream = stream;
    uint32_t heir = stream;
    if (want.size < cuai_found_record(found)->size)
        status = begin_shortening(arena, block, &want, &heir, &found);
    if (status != CUARENA_OK)
        return status;
    if (!stays_empty(found, &want) &&
        !resize_in_place(arena, found, &want, heir)) {
        status = cuai_check_captured(arena, stream);
        if (status != CUARENA_OK)
            return status;
        if (found.region == CUAI_APART || want.dedicated)
            return cannot_move(CUARENA_UNSUPPORTED,
                               "dedicated and adopted blocks keep their size",
                               bytes);
        status = check_may_move(arena, found, bytes);
        if (status == CUARENA_OK)
            status = resize_by_moving(call, block, &want);
    }
    if (status != CUARENA_OK)
        return status;
    cuai_call_note_block(call, CUARENA_EVENT_RESIZE,
                         cuai_find_block(arena, block));
    return CUARENA_OK;
}
