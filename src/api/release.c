/* Releasing: the end of a block, at once or when its zeroing, its move, its
 * uses and its exports let it. */
#include "api/call.h"
#include "arena/capture.h"
#include "arena/move.h"

/* ---- The end of a block ------------------------------------------------ */

/* Whether its segment goes with it: else its session has it, or it has none. */
static bool has_segment(cuai_found_t found)
{
    const cuai_record_t *r = cuai_found_record(found);
    return (r->flags & CUAI_BLOCK_DEDICATED) && !r->fixed;
}

void cuai_end_now(cuarena_t *arena, cuai_found_t found, uint32_t number)
{
    const cuai_record_t *r = cuai_found_record(found);
    bool apart = has_segment(found);
    cuarena_memory_segment_t segment = cuai_dedicated_segment(r);
    if ((r->flags & CUAI_BLOCK_USED) && !r->fixed)
        cuai_use_drop(arena, found);
    cuai_end_unkept(arena, found, number);
    if (apart)
        cuai_return_segment(arena, segment, number);
}

/* ---- Releasing --------------------------------------------------------- */

/* Nobody will read the bytes again: the device is gone, or stayed with the
 * process that this one was forked from. */
static bool is_moot(cuarena_status_t status)
{
    return status == CUARENA_LOST || status == CUARENA_NO_DEVICE;
}

/* The block must not be handed out again before its bytes are 0. */
static cuarena_status_t zero_then_end(cuarena_t *arena, cuai_found_t found,
                                      uint32_t number)
{
    cuai_record_t *r = cuai_found_record(found);
    cuai_mark_ending(arena, r);
    cuai_mark_moving(arena, found);
    cuarena_status_t status = cuai_zero_block(arena, found, number);
    if (status != CUARENA_OK && !is_moot(status)) {
        cuai_clear_ending(arena, r);
        cuai_clear_moving(arena, found);
        return status;
    }
    cuai_stream_note_work(arena, number);
    cuai_clear_moving(arena, found);
    cuai_end_now(arena, found, number);
    return CUARENA_OK;
}

/* It ends when its move does, into the lane of the compaction, or when its
 * last export is closed. */
static cuarena_status_t end_later(cuarena_t *arena, cuai_found_t found,
                                  uint32_t stream)
{
    cuai_record_t *r = cuai_found_record(found);
    cuai_mark_ending(arena, r);
    if (r->fixed) /* its session minds who used it */
        cuai_capture_note(arena, cuai_capture_around(arena, r->offset), stream);
    else
        cuai_use_drop(arena, found);
    arena->ended_later++;
    return CUARENA_OK;
}

/* Zeroing, and waiting for uses, begin when the block's move has ended, and
 * are behind it. */
static cuarena_status_t end_slowly(cuarena_t *arena, cuarena_block_t block,
                                   uint32_t stream)
{
    cuai_found_t found;
    cuarena_status_t status = cuai_settle_behind(arena, block, stream, &found);
    if (status != CUARENA_OK)
        return status;
    if (cuai_use_matters(arena, found, stream))
        return cuai_end_after_uses(arena, found, stream);
    return zero_then_end(arena, found, stream);
}

/* A block that waits for streams as well ends with them. It is too late to
 * refuse its end: with contents that must be 0 and are not the arena is lost.
 */
void cuai_end_released(cuarena_t *arena, cuai_found_t found)
{
    const cuai_record_t *r = cuai_found_record(found);
    if ((r->flags & CUAI_BLOCK_USED) && !r->fixed)
        return;
    if (cuai_zeroes_freed(arena, found) && !cuai_is_lost(arena)) {
        if (zero_then_end(arena, found, 0) == CUARENA_OK)
            return;
        cuai_lose(arena);
    }
    cuai_end_now(arena, found, 0);
}

/* Without a stream the bytes are idle, but for copies of compactions that may
 * be under way: then they are for the stream of these. On a stream they come
 * behind such copies and, if it is eager, before a marker. */
static cuarena_status_t order_free(cuarena_t *arena, uint32_t *stream)
{
    if (*stream == 0) {
        *stream = cuai_moving_stream(arena);
        return CUARENA_OK;
    }
    cuarena_status_t status;
    do {
        status = cuai_see_moves(arena, *stream);
        if (status == CUARENA_OK)
            status = cuai_stream_note_free(arena, *stream);
    } while (status == CUARENA_OK && cuai_has_unseen_moves(arena, *stream));
    return status;
}

/* What goes back on a stream would go into a graph. */
static cuarena_status_t order_return(cuarena_t *arena, uint32_t stream)
{
    bool captured = false;
    cuarena_status_t status =
        cuai_stream_ask_captured(arena, stream, &captured);
    if (status != CUARENA_OK || !captured)
        return status;
    return cuai_fail(CUARENA_BUSY,
                     "stream %p is being captured: a block that is the "
                     "memory's own piece cannot be freed on it; accepted: "
                     "without a stream, when it is idle",
                     (void *)cuai_stream_handle(arena, stream));
}

/* Of a block without a stream that copies may be under way beside is not
 * cached. */
static cuarena_status_t end_quickly(cuarena_t *arena, cuarena_block_t block,
                                    uint32_t stream)
{
    const uint32_t passed = stream;
    cuarena_status_t status = CUARENA_OK;
    cuai_found_t found = cuai_find_block(arena, block);
    if (cuai_goes_back_on(arena, found, stream))
        status = order_return(arena, stream);
    else if (!cuai_is_lost(arena) && !has_segment(found) &&
             !cuai_found_record(found)->fixed)
        status = order_free(arena, &stream);
    if (status != CUARENA_OK)
        return status;
    found = cuai_find_block(arena, block);
    if (found.heap == NULL)
        return cuai_no_block(block);
    const cuai_record_t *r = cuai_found_record(found);
    if (r->moving || (r->flags & CUAI_BLOCK_EXPORTED))
        return end_later(arena, found, stream);
    if (stream == passed && cuai_cache_takes(arena, found, stream))
        cuai_cache_park(arena, found, stream);
    else
        cuai_end_now(arena, found, stream);
    return CUARENA_OK;
}

/* The stream of the free was waited for and has no number: one of those that
 * use the block besides stands for it, so that the bytes wait for the others,
 * and are that one's then. */
static void choose_stream(cuai_call_t *call, cuai_found_t found)
{
    cuarena_t *arena = call->arena;
    const cuai_record_t *r = cuai_found_record(found);
    const cuai_use_t *use = NULL;
    if ((r->flags & CUAI_BLOCK_USED) && !r->fixed)
        use = cuai_use_find(arena, cuai_id(found.heap, found.slot));
    if (use == NULL || use->count == 0)
        return;
    call->stream = use->waits[0].number;
    cuai_stream(arena, call->stream)->holders++;
}

cuarena_status_t cuai_release(cuai_call_t *call, cuai_found_t found,
                              uint32_t stream)
{
    cuarena_t *arena = call->arena;
    if (call->waited) {
        choose_stream(call, found);
        stream = call->stream;
    }
    cuarena_block_t block = cuai_id(found.heap, found.slot);
    uint8_t flags = cuai_found_record(found)->flags;
    bool fixed = cuai_found_record(found)->fixed;
    bool used = !fixed && cuai_use_matters(arena, found, stream);
    bool zeroed =
        cuai_zeroes_freed(arena, found) && !(flags & CUAI_BLOCK_EXPORTED);
    bool slowly = !cuai_is_lost(arena) && (used || zeroed);
    cuai_call_note_block(call, CUARENA_EVENT_FREE, found);
    cuarena_status_t status = slowly ? end_slowly(arena, block, stream)
                                     : end_quickly(arena, block, stream);
    if (status != CUARENA_OK)
        cuai_call_forget(call, CUARENA_EVENT_FREE);
    return status;
}

bool cuai_settle_block(cuarena_t *arena, cuarena_block_t block,
                       cuai_found_t *found_out)
{
    *found_out = cuai_find_block(arena, block);
    while (found_out->heap != NULL && cuai_found_record(*found_out)->moving) {
        cuai_arena_wait(arena);
        *found_out = cuai_find_block(arena, block);
    }
    return found_out->heap != NULL;
}

cuarena_status_t cuai_settle_behind(cuarena_t *arena, cuarena_block_t block,
                                    uint32_t stream, cuai_found_t *found_out)
{
    while (cuai_settle_block(arena, block, found_out)) {
        if (!cuai_has_unseen_moves(arena, stream))
            return CUARENA_OK;
        cuarena_status_t status = cuai_see_moves(arena, stream);
        if (status != CUARENA_OK)
            return status;
    }
    return cuai_no_block(block);
}
