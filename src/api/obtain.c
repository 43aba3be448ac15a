/*
 * Obtaining: from a request to a block, the long way.
 *
 * The ladder, when what is held has no room:
 *   1  bytes of several lanes together: of the request's own stream, of
 *      settled ones, and of other streams for which its stream waits
 *   2  bytes of other streams' lanes that can be settled now
 *   3  growth, or waiting for another thread's
 *   4  waiting for bytes of streams' lanes
 *   5  where a limit or the memory stands in the way of growth: give back what
 *      is free elsewhere, and grow again
 *   6  the caller's handler, as long as it says that it freed something
 *   7  compaction, if compact_on_oom is set and somebody hears of moves
 *   8  an error that says what was tried
 * How much of 1, 2 and 4 there is, the option `steal` says.
 */
#include <stdio.h>

#include "api/call.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/sized.h"

#define MOST_HANDLER_CALLS 16

/* ---- What is asked ----------------------------------------------------- */

static const cuarena_request_t *plain_request(void)
{
    static const cuarena_request_t plain = {.struct_size = sizeof plain};
    return &plain;
}

static cuarena_status_t check_request(const cuarena_t *arena,
                                      const cuarena_request_t *request)
{
    if (!cuai_sized_ok(request, sizeof *request, sizeof *request))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "request: struct_size %zu; accepted: what "
                         "cuarena_request_init sets",
                         cuai_sized_of(request));
    if (request->region != CUARENA_REGION_DYNAMIC &&
        request->region != CUARENA_REGION_STABLE)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "region %d; accepted: 0 (dynamic), 1 (stable)",
                         (int)request->region);
    if (request->zeroed != 0 && request->zeroed != 1)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "zeroed %d; accepted: 0, 1",
                         (int)request->zeroed);
    if (request->dedicated != 0 && request->dedicated != 1)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "dedicated %d; accepted: 0, 1",
                         (int)request->dedicated);
    if (request->alignment != 0 &&
        (!cuai_is_power_of_two(request->alignment) ||
         request->alignment >= CUARENA_HEAP_MAX_SEGMENT))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "alignment %llu; accepted: powers of two below 2^48",
                         (unsigned long long)request->alignment);
    if (request->zeroed && arena->memory.ops.zero_bytes == NULL)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "zeroed: memory '%s' cannot set bytes to 0",
                         arena->memory.ops.name);
    return CUARENA_OK;
}

static cuarena_status_t round_size(const cuarena_t *arena, uint64_t bytes,
                                   uint64_t *size_out)
{
    if (cuai_align_up_checked(bytes, cuai_granule(arena), size_out) &&
        *size_out < CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_OK;
    return cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, bytes, arena->pool_bytes,
                           arena->held, 0, 0,
                           "%llu bytes are more than any arena can hold",
                           (unsigned long long)bytes);
}

cuarena_status_t cuai_want(const cuarena_t *arena, uint64_t bytes,
                           const cuarena_request_t *request,
                           cuai_want_t *want_out)
{
    if (request == NULL)
        request = plain_request();
    cuarena_status_t status = check_request(arena, request);
    if (status != CUARENA_OK)
        return status;
    *want_out = (cuai_want_t){
        .request = {.size = bytes,
                    .alignment = request->alignment,
                    .tag = request->tag},
        .region = request->region,
        .zeroed =
            request->zeroed != 0 || arena->config.zero == CUARENA_ZERO_ALLOC,
        .dedicated = request->dedicated != 0,
    };
    status = round_size(arena, bytes, &want_out->size);
    if (status != CUARENA_OK || request->region != CUARENA_REGION_STABLE)
        return status;
    want_out->request.low = 1;
    want_out->request.pins = 1;
    want_out->request.flags = CUAI_BLOCK_STABLE | CUAI_BLOCK_BORN_PIN;
    return CUARENA_OK;
}

cuarena_status_t cuai_want_on(cuai_call_t *call, cuarena_stream_t stream,
                              cuai_want_t *want)
{
    cuarena_status_t status = cuai_call_on(call, stream);
    want->stream = call->stream;
    want->request.owner = (uint16_t)call->stream;
    return status;
}

static cuarena_status_t check_tag(const cuarena_t *arena, cuarena_tag_t tag)
{
    if (cuai_tag_known(arena, tag))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "tag %u; accepted: what cuarena_tag gave", (unsigned)tag);
}

/* ---- The ladder -------------------------------------------------------- */

/* One request on its way down. */
typedef struct ladder {
    cuai_call_t *call;
    cuai_want_t *want;
    cuai_found_t *found;
    cuarena_status_t refusal; /* what the heap says */
    cuarena_status_t growth;  /* why there is no more */
    int32_t handler_calls;
    bool joined;
    bool crossed;
    bool served; /* by crossing: `found` */
    bool settled;
    bool waited;
    bool trimmed;
    bool compacted;
} ladder_t;

/* The stream whose lanes the request can use at once; 0: none. */
static uint32_t own_stream(const ladder_t *ladder)
{
    bool own = !ladder->call->arena->cpu_touches && !ladder->want->dedicated;
    return own ? ladder->want->stream : 0;
}

/* The stream's own two lanes may have together what neither has. */
static bool try_joining(ladder_t *ladder)
{
    uint32_t own = own_stream(ladder);
    if (ladder->joined || own == 0 || ladder->refusal == CUARENA_LIMIT ||
        ladder->call->arena->config.steal == CUARENA_STEAL_WAIT)
        return false;
    ladder->joined = true;
    return cuai_settle_own(ladder->call->arena, own);
}

/* In all lanes of the request's region. */
static uint64_t all_free(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    const cuarena_heap_t *heap =
        arena->heaps[cuai_region_for(arena, ladder->want->region)];
    return heap->capacity - heap->live_bytes;
}

/* Bytes of all lanes together, behind whatever use of them is under way. Where
 * that cannot be had the stream's own lanes may still do, and growth that
 * counted on others does not do so again. */
static bool try_crossing(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    cuai_want_t *want = ladder->want;
    if (arena->config.steal != CUARENA_STEAL_WAIT || own_stream(ladder) == 0 ||
        ladder->refusal == CUARENA_LIMIT)
        return false;
    cuai_crossed_t came = cuai_cross(arena, want, ladder->found);
    bool vain = came == CUAI_CROSSED_NOTHING && ladder->growth == CUARENA_OK;
    want->reach = vain ? CUAI_REACH_SETTLED : CUAI_REACH_LANES;
    ladder->crossed = true;
    if (ladder->refusal == CUARENA_OUT_OF_MEMORY &&
        all_free(ladder) >= want->size)
        ladder->refusal = CUARENA_FRAGMENTED;
    ladder->served = came == CUAI_CROSSED ||
                     (came == CUAI_CROSSED_NOTHING &&
                      cuai_serve(arena, want, ladder->found) == CUARENA_OK);
    return ladder->served || came == CUAI_CROSSED_SETTLED;
}

/* The stream whose lanes the request may use when they are settled, though
 * those of others stay theirs; 0: none. */
static uint32_t only_stream(const ladder_t *ladder)
{
    return ladder->call->arena->cpu_touches ? ladder->want->stream : 0;
}

/* Bytes of other lanes whose last use is over. */
static bool try_settling(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    if (arena->stream_count == 0)
        return false;
    ladder->settled = true;
    return arena->config.steal == CUARENA_STEAL_NEVER
               ? cuai_settle_mine(arena, only_stream(ladder), false)
               : cuai_settle_ready(arena, own_stream(ladder));
}

/* Bytes whose last use is still under way. */
static bool try_waiting(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    if (arena->stream_count == 0)
        return false;
    ladder->waited = true;
    return arena->config.steal == CUARENA_STEAL_NEVER
               ? cuai_settle_mine(arena, only_stream(ladder), true)
               : cuai_settle_one(arena);
}

/* The regions' own bytes; dedicated blocks have nothing to grow. */
static bool may_grow(const ladder_t *ladder)
{
    const cuai_want_t *want = ladder->want;
    bool stable = want->region == CUARENA_REGION_STABLE &&
                  ladder->call->arena->heaps[CUAI_STABLE] != NULL;
    return !want->dedicated && !stable && ladder->refusal != CUARENA_LIMIT;
}

static bool try_growth(ladder_t *ladder)
{
    if (!may_grow(ladder))
        return false;
    uint64_t taken = 0;
    ladder->growth = cuai_grow(ladder->call->arena, ladder->want, &taken);
    cuai_call_note(ladder->call, CUARENA_EVENT_GROW, taken);
    return ladder->growth == CUARENA_OK;
}

/* A pool has nothing to give back that it would not need again. */
static bool try_trim(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    bool refused = ladder->growth == CUARENA_LIMIT ||
                   ladder->growth == CUARENA_OUT_OF_MEMORY;
    if (ladder->trimmed || !refused || !may_grow(ladder) ||
        arena->config.grow == CUARENA_GROW_NONE)
        return false;
    ladder->trimmed = true;
    uint64_t given = cuai_trim(arena, 0);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
    return given != 0;
}

static bool try_handler(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    if (arena->oom_fn == NULL || ladder->handler_calls == MOST_HANDLER_CALLS ||
        cuai_frame_within(CUAI_FRAME_OOM, arena))
        return false;
    cuarena_oom_fn handler = arena->oom_fn;
    void *user = arena->oom_user;
    uint64_t bytes = ladder->want->request.size;
    cuai_frame_t frame;
    arena->oom_handler_calls++;
    cuai_unlock(&arena->lock);
    cuai_frame_push(&frame, CUAI_FRAME_OOM, arena);
    int32_t freed = handler(user, arena, bytes, ladder->handler_calls++);
    cuai_frame_pop();
    cuai_lock(&arena->lock);
    return freed != 0;
}

static bool try_compaction(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    if (ladder->compacted || ladder->refusal != CUARENA_FRAGMENTED ||
        !may_grow(ladder) || !cuai_may_compact(arena))
        return false;
    ladder->compacted = true;
    return cuai_compact_for(ladder->call, ladder->want) == CUARENA_OK;
}

static bool try_more(ladder_t *ladder)
{
    return try_joining(ladder) || try_crossing(ladder) ||
           try_settling(ladder) || try_growth(ladder) || try_waiting(ladder) ||
           try_trim(ladder) || try_handler(ladder) || try_compaction(ladder);
}

/* ---- The error --------------------------------------------------------- */

/* Compaction never serves the stable region. A limit or the memory is named
 * where it, and not the blocks' places, stands in the way. */
static cuarena_status_t final_status(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    bool stable = ladder->want->region == CUARENA_REGION_STABLE &&
                  arena->heaps[CUAI_STABLE] != NULL;
    if (ladder->want->dedicated || ladder->refusal == CUARENA_LIMIT)
        return ladder->refusal;
    if (stable)
        return CUARENA_OUT_OF_MEMORY;
    if (ladder->refusal == CUARENA_FRAGMENTED && ladder->growth != CUARENA_LOST)
        return ladder->refusal;
    bool named = ladder->growth == CUARENA_LIMIT ||
                 ladder->growth == CUARENA_DRIVER ||
                 ladder->growth == CUARENA_LOST;
    return named ? ladder->growth : ladder->refusal;
}

static uint64_t met_limit(const cuarena_t *arena, cuarena_status_t status)
{
    if (status != CUARENA_LIMIT)
        return cuai_min(arena->pool_bytes, arena->limits[CUARENA_LIMIT_HELD]);
    return cuai_min(arena->limits[CUARENA_LIMIT_HELD],
                    arena->limits[CUARENA_LIMIT_LIVE]);
}

/* " while ... is the limit", where a limit stands in the way. */
static void name_limit(const ladder_t *ladder, cuarena_status_t status,
                       char *text, size_t room)
{
    const cuarena_t *arena = ladder->call->arena;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    text[0] = '\0';
    if (status != CUARENA_LIMIT)
        return;
    if (ladder->refusal != CUARENA_LIMIT)
        snprintf(text, room, " while %llu held bytes are the limit",
                 (unsigned long long)arena->limits[CUARENA_LIMIT_HELD]);
    else if (heap->live_blocks >= heap->max_blocks)
        snprintf(text, room, " while %llu live blocks are the limit",
                 (unsigned long long)heap->max_blocks);
    else
        snprintf(text, room, " while %llu live bytes are the limit",
                 (unsigned long long)arena->limits[CUARENA_LIMIT_LIVE]);
}

static cuarena_status_t explain(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    cuarena_status_t status = final_status(ladder);
    if (ladder->want->dedicated || status == CUARENA_DRIVER ||
        status == CUARENA_LOST)
        return status; /* was put into words where it was met */
    bool stable = ladder->want->region == CUARENA_REGION_STABLE &&
                  arena->heaps[CUAI_STABLE] != NULL;
    const cuarena_heap_t *heap =
        arena->heaps[stable ? CUAI_STABLE : CUAI_DYNAMIC];
    char limit[64];
    name_limit(ladder, status, limit, sizeof limit);
    uint64_t largest = 0;
    cuarena_heap_largest(heap, 0, &largest);
    uint64_t asked = ladder->want->request.size;
    uint64_t free_bytes =
        ladder->crossed ? all_free(ladder) : heap->lanes[0]->free_bytes;
    return cuai_fail_bytes(
        status, asked, met_limit(arena, status), arena->held, free_bytes,
        largest,
        "no room for %llu bytes in the %s region%s: %llu free, the largest "
        "range has %llu, %llu held; tried: held bytes%s%s%s%s%s%s%s",
        (unsigned long long)asked, stable ? "stable" : "dynamic", limit,
        (unsigned long long)free_bytes, (unsigned long long)largest,
        (unsigned long long)arena->held, ladder->crossed ? ", crossing" : "",
        ladder->settled ? ", settling" : "",
        ladder->growth != CUARENA_UNSUPPORTED ? ", growth" : "",
        ladder->waited ? ", waiting" : "", ladder->trimmed ? ", trim" : "",
        ladder->handler_calls != 0 ? ", the handler" : "",
        ladder->compacted ? ", compaction" : "");
}

/* ---- Obtaining --------------------------------------------------------- */

static bool goes_across(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    const cuai_want_t *want = ladder->want;
    const cuarena_heap_t *heap =
        arena->heaps[cuai_region_for(arena, want->region)];
    return own_stream(ladder) != 0 && want->size != 0 &&
           cuai_goes_across(arena, heap, want->size);
}

static cuarena_status_t serve_once(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    if (ladder->served)
        ladder->refusal = CUARENA_OK;
    else if (ladder->want->dedicated)
        ladder->refusal =
            cuai_serve_dedicated(arena, ladder->want, ladder->found);
    else if (goes_across(ladder))
        ladder->refusal = cuai_serve_across(arena, ladder->want, ladder->found);
    else
        ladder->refusal = cuai_serve(arena, ladder->want, ladder->found);
    return ladder->refusal;
}

static bool is_refusal(cuarena_status_t status)
{
    return status == CUARENA_OUT_OF_MEMORY || status == CUARENA_FRAGMENTED ||
           status == CUARENA_LIMIT;
}

/* Sets the block's bytes to 0, which must not move meanwhile. */
static cuarena_status_t zero_block(cuarena_t *arena, cuai_found_t found,
                                   uint32_t number)
{
    const cuai_record_t *r = cuai_found_record(found);
    void *address = cuai_pointer(r->offset);
    uint64_t size = r->size;
    cuarena_stream_t stream = cuai_stream_handle(arena, number);
    cuai_mark_moving(arena, found);
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        arena->memory.ops.zero_bytes(arena->memory.user, address, size, stream);
    cuai_lock(&arena->lock);
    return cuai_note_loss(arena, status);
}

static void end_now(cuarena_t *arena, cuai_found_t found, uint32_t number)
{
    const cuai_record_t *r = cuai_found_record(found);
    bool dedicated = r->flags & CUAI_BLOCK_DEDICATED;
    uint64_t address = r->offset;
    if (r->flags & CUAI_BLOCK_USED)
        cuai_use_drop(arena, found);
    cuai_end_block(arena, found, number);
    if (dedicated)
        cuai_return_dedicated(arena, address);
}

/* A block that nobody has been given yet. */
static cuarena_status_t zero_new(cuarena_t *arena, const cuai_want_t *want,
                                 cuai_found_t found)
{
    if (!want->zeroed || want->size == 0)
        return CUARENA_OK;
    cuarena_status_t status = zero_block(arena, found, want->stream);
    bool ended = cuai_end_moving(arena, found, want->stream);
    if (status != CUARENA_OK && !ended)
        end_now(arena, found, want->stream);
    return status;
}

cuarena_status_t cuai_obtain(cuai_call_t *call, const cuai_want_t *want,
                             cuai_found_t *found_out)
{
    cuarena_t *arena = call->arena;
    cuai_want_t own = *want;
    ladder_t ladder = {.call = call,
                       .want = &own,
                       .found = found_out,
                       .growth = CUARENA_UNSUPPORTED};
    cuarena_status_t status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = check_tag(arena, want->request.tag);
    if (status != CUARENA_OK)
        return status;
    status = serve_once(&ladder);
    if (is_refusal(status)) {
        cuarena_status_t entry = cuai_check_entry(arena, "alloc", false);
        if (entry != CUARENA_OK)
            return entry;
    }
    while (is_refusal(status) && try_more(&ladder))
        status = serve_once(&ladder);
    if (is_refusal(status))
        status = explain(&ladder);
    if (status == CUARENA_OK)
        status = zero_new(arena, want, *found_out);
    if (status != CUARENA_OK)
        cuai_call_note_failure(call, status, want->request.size,
                               want->request.tag);
    else
        cuai_call_note_block(call, CUARENA_EVENT_ALLOC, *found_out);
    return status;
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
    r->flags |= CUAI_BLOCK_ENDING;
    cuarena_status_t status = zero_block(arena, found, number);
    if (status != CUARENA_OK && !is_moot(status)) {
        r->flags &= (uint8_t)~CUAI_BLOCK_ENDING;
        cuai_clear_moving(arena, found);
        return status;
    }
    cuai_stream_note_work(arena, number);
    cuai_clear_moving(arena, found);
    end_now(arena, found, number);
    return CUARENA_OK;
}

/* It ends when its move does, into the lane of the compaction, or when its
 * last export is closed. */
static cuarena_status_t end_later(cuarena_t *arena, cuai_found_t found)
{
    cuai_found_record(found)->flags |= CUAI_BLOCK_ENDING;
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

static bool zeroes(const cuarena_t *arena, cuai_found_t found)
{
    return arena->config.zero == CUARENA_ZERO_FREE &&
           cuai_found_record(found)->size != 0 && found.region != CUAI_APART;
}

/* A block that waits for streams as well ends with them. */
void cuai_end_released(cuarena_t *arena, cuai_found_t found)
{
    if (cuai_found_record(found)->flags & CUAI_BLOCK_USED)
        return;
    if (!zeroes(arena, found) || cuai_is_lost(arena) ||
        zero_then_end(arena, found, 0) != CUARENA_OK)
        end_now(arena, found, 0);
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

static cuarena_status_t end_quickly(cuarena_t *arena, cuarena_block_t block,
                                    uint32_t stream)
{
    cuarena_status_t status = CUARENA_OK;
    if (!cuai_is_lost(arena))
        status = order_free(arena, &stream);
    if (status != CUARENA_OK)
        return status;
    cuai_found_t found = cuai_find_block(arena, block);
    if (found.heap == NULL)
        return cuai_no_block(block);
    const cuai_record_t *r = cuai_found_record(found);
    if (r->moving || (r->flags & CUAI_BLOCK_EXPORTED))
        return end_later(arena, found);
    end_now(arena, found, stream);
    return CUARENA_OK;
}

cuarena_status_t cuai_release(cuai_call_t *call, cuai_found_t found,
                              uint32_t stream)
{
    cuarena_t *arena = call->arena;
    cuarena_block_t block = cuai_id(found.heap, found.slot);
    uint8_t flags = cuai_found_record(found)->flags;
    bool used = cuai_use_matters(arena, found, stream);
    bool zeroed = zeroes(arena, found) && !(flags & CUAI_BLOCK_EXPORTED);
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
