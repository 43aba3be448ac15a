/*
 * The steps that are tried for a request that has no room in the free lists that it may use, in
 * this order, and the request again after each that brought something:
 *
 *   join        bytes of the two free lists of its stream together
 *   steal       bytes of all free lists together, behind whose work its stream is already
 *   reclaim     bytes of other streams whose work is done: they become idle
 *   grow        more bytes from the memory, or waiting for another thread's growth
 *   steal       where that brings nothing, bytes for which its stream has to wait
 *   cache       blocks in the quarantine end; cached blocks do, the least recently cached first
 *   wait        the host waits for streams, whose bytes become idle
 *   trim        where a limit or the memory stands in the way of growth: what is free elsewhere
 *               goes back, and growth is tried again
 *   handler     the caller's, as long as it says that it freed something
 *   compact     if compact_on_oom is set
 *
 * In a pool, and with steal=first, its stream may wait at the first of these two. The option
 * `steal` says how much of joining, stealing and waiting there is. Each step uses something up, and
 * an attempt that is refused leaves free bytes where they are, so there is an end to it.
 */
#include "api/ladder.h"
#include "arena/cache.h"
#include "arena/counts.h"
#include "arena/dedicated.h"
#include "arena/grow.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/traced.h"
#include "arena/trim.h"
#include "base/frame.h"
#include "base/log.h"

#define MOST_MEMORY_WAITS 2
/* How often in a row steps bring bytes that are reserved: more often than there are free lists. */
#define MOST_RECLAIMS 1024
#define RECLAIMING (1u << CUARENA_STEP_STEAL | 1u << CUARENA_STEP_RECLAIM | 1u << CUARENA_STEP_WAIT)

typedef enum outcome {
    STEP_SKIPPED, /* it does not apply */
    STEP_NOTHING,
    STEP_BROUGHT /* something: the request is tried again */
} outcome_t;

static outcome_t outcome(bool brought)
{
    return brought ? STEP_BROUGHT : STEP_NOTHING;
}

/* Whether the step may be taken; it may not be taken again until `spent` is cleared. */
static bool spend(cuai_ladder_t *ladder, int32_t step)
{
    bool first = !(ladder->spent & cuai_step_bit(step));
    ladder->spent |= cuai_step_bit(step);
    return first;
}

/* Joins ranges that touch across the stream's own two free lists. Where the stream may wait,
 * stealing joins them too. */
static outcome_t try_joining(cuai_ladder_t *ladder)
{
    uint32_t own = cuai_ladder_stream(ladder);
    if (own == 0 || ladder->refusal == CUARENA_LIMIT || cuai_ladder_may_wait(ladder) ||
        !spend(ladder, CUARENA_STEP_JOIN))
        return STEP_SKIPPED;
    return outcome(cuai_reclaim_own(ladder->call->arena, own));
}

/* Stealing brought nothing: tries each free list alone, to the end, and lets later steps know that
 * other streams' bytes are out of reach, so that growth does not count on them and compaction may
 * bring them together. */
static bool alloc_without_stealing(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(cuai_ladder_may_wait(ladder));
    cuai_request_t *request = ladder->request;
    request->reach = ladder->growth == CUARENA_OK ? CUAI_REACH_IDLE : CUAI_REACH_FREELISTS;
    request->soon = false;
    if (cuai_try_alloc(ladder->call->arena, request, ladder->ref) == CUARENA_OK)
        return true;
    if (ladder->refusal == CUARENA_OUT_OF_MEMORY && cuai_ladder_free(ladder) >= request->size)
        ladder->refusal = CUARENA_FRAGMENTED;
    return false;
}

/* Steals bytes of all free lists together; the request's stream waits for the work on them. Where
 * the stream may not be made to wait, only bytes whose work it is behind already. */
static outcome_t try_stealing(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(!ladder->stolen);
    cuarena_t *arena = ladder->call->arena;
    bool waits = cuai_ladder_may_wait(ladder);
    if (!cuai_ladder_may_steal(ladder) || ladder->refusal == CUARENA_LIMIT ||
        (ladder->looked & 1u << waits))
        return STEP_SKIPPED;
    ladder->looked |= 1u << waits;
    ladder->request->waits = waits;
    ladder->request->reach = waits ? CUAI_REACH_FREELISTS : CUAI_REACH_IDLE;
    cuai_stolen_t came = cuai_steal(arena, ladder->request, ladder->ref);
    if (came == CUAI_STOLEN_NOWHERE)
        return STEP_SKIPPED;
    bool nothing = came == CUAI_STOLEN_NOTHING;
    ladder->stolen = came == CUAI_STOLEN || (waits && nothing && alloc_without_stealing(ladder));
    return outcome(ladder->stolen || came == CUAI_STOLEN_IDLE);
}

/* With steal=never: the only stream whose free lists the request may use once they are idle; 0:
 * none. */
static uint32_t only_stream(const cuai_ladder_t *ladder)
{
    return ladder->call->arena->cpu_touches ? ladder->request->stream : 0;
}

/* Takes back what open sessions have not touched. A session that takes it again for this very
 * request, and cannot use it, must not go on for ever: so once. */
static bool takes_from_sessions(cuai_ladder_t *ladder)
{
    if (ladder->refusal == CUARENA_LIMIT || ladder->took_from_sessions)
        return false;
    ladder->took_from_sessions = cuai_captures_reclaim(ladder->call->arena) != 0;
    return ladder->took_from_sessions;
}

/* Bytes of other free lists whose work is done become idle. */
static outcome_t try_reclaiming(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (arena->stream_count == 0)
        return STEP_SKIPPED;
    if (takes_from_sessions(ladder))
        return outcome(true);
    if (arena->config.steal == CUARENA_STEAL_NEVER)
        return outcome(cuai_reclaim_mine(arena, only_stream(ladder), false));
    return outcome(cuai_reclaim_ready(arena, cuai_ladder_stream(ladder)));
}

/* Whether growth may help: dedicated blocks and the stable region have nothing that grows. */
static bool may_grow(const cuai_ladder_t *ladder)
{
    return !ladder->request->dedicated && !cuai_ladder_is_stable(ladder) &&
           ladder->refusal != CUARENA_LIMIT;
}

/* Whether the memory or the limit of reserved bytes stands in the way of growth or, for a dedicated
 * block, of its segment. */
static bool lacks_bytes(const cuai_ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    bool apart = ladder->request->dedicated;
    cuarena_status_t status = apart ? ladder->refusal : ladder->growth;
    if (apart && status == CUARENA_LIMIT) /* or that of live bytes does */
        return cuai_check_reserved_limit(arena, ladder->request->size) != CUARENA_OK;
    return (apart || may_grow(ladder)) &&
           (status == CUARENA_LIMIT || status == CUARENA_OUT_OF_MEMORY);
}

/* A pool that gave bytes back takes them again. */
static bool has_holes(const cuarena_t *arena)
{
    return cuai_is_pool(arena) && arena->reserved < arena->pool_bytes;
}

/* A memory that takes and gives in stream order has what was freed on streams, and may be able to
 * give it when the request's stream is idle or, without a stream, when all are. It does not say
 * when that is, so it is asked twice. Drivers without an event of all streams are asked again
 * without a wait, if no stream is known. */
static bool wait_for_memory(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->memory_waits <= MOST_MEMORY_WAITS);
    cuarena_t *arena = ladder->call->arena;
    uint32_t stream = ladder->request->stream;
    if (arena->memory.ops.get_on == NULL || !ladder->request->dedicated ||
        ladder->refusal != CUARENA_OUT_OF_MEMORY || ladder->memory_waits == MOST_MEMORY_WAITS)
        return false;
    ladder->memory_waits++;
    cuarena_status_t status = cuai_wait_for_stream(arena, stream);
    return status == CUARENA_OK || status == CUARENA_UNSUPPORTED;
}

/* Waits on the host for work on free bytes. The request's own stream comes last: it can use its
 * bytes as they are, so they need to be idle only for trim, for growth beside them, or to be joined
 * to idle ones where stealing does not do that. */
static outcome_t try_waiting(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (arena->stream_count == 0)
        return wait_for_memory(ladder) ? STEP_BROUGHT : STEP_SKIPPED;
    if (arena->config.steal == CUARENA_STEAL_NEVER)
        return outcome(cuai_reclaim_mine(arena, only_stream(ladder), true) ||
                       wait_for_memory(ladder));
    bool own = lacks_bytes(ladder) || has_holes(arena) || !cuai_ladder_may_wait(ladder);
    return outcome(cuai_reclaim_one(arena, cuai_ladder_stream(ladder)) ||
                   (own && cuai_reclaim_mine(arena, cuai_ladder_stream(ladder), true)) ||
                   wait_for_memory(ladder));
}

/* Where growth brings nothing, what streams that lag have freed is for all again. */
static outcome_t try_growth(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    if (!may_grow(ladder))
        return STEP_SKIPPED;
    uint64_t taken = 0;
    if (ladder->request->reach != CUAI_REACH_FREELISTS || ladder->call->arena->stream_count == 1)
        ladder->request->reach = cuai_ladder_stream(ladder) != 0 ? CUAI_REACH_OWN : CUAI_REACH_IDLE;
    ladder->growth = cuai_grow(ladder->call->arena, ladder->request, &taken);
    ladder->outgrown = ladder->growth != CUARENA_OK;
    ladder->request->growths++;
    cuai_call_note(ladder->call, CUARENA_EVENT_GROW, taken);
    if (cuai_ladder_is_final(ladder->growth) || ladder->growth == CUARENA_OUT_OF_MEMORY)
        *ladder->words = cuai_error_kept();
    bool again = !ladder->outgrown || cuai_streams_forget_lag(ladder->call->arena);
    return !again && ladder->growth == CUARENA_UNSUPPORTED ? STEP_SKIPPED : outcome(again);
}

bool cuai_ladder_may_live(const cuai_ladder_t *ladder)
{
    const cuarena_heap_t *heap = cuai_ladder_heap(ladder);
    const cuai_request_t *request = ladder->request;
    return cuai_heap_blocks(heap) < heap->max_blocks &&
           request->size <= cuai_live_left(ladder->call->arena, request->credit);
}

/* Whether fewer cached blocks may change the refusal: they do not change one by the limit of live
 * bytes or of blocks. */
static bool is_for_room(const cuai_ladder_t *ladder)
{
    if (ladder->request->dedicated)
        return lacks_bytes(ladder);
    return ladder->refusal != CUARENA_LIMIT || cuai_ladder_may_live(ladder);
}

static outcome_t try_cache(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (cuai_quarantine_keep(arena, 0, NULL))
        return outcome(true);
    if (arena->heaps[CUAI_DYNAMIC]->cached_blocks == 0 || cuai_ladder_is_stable(ladder) ||
        !cuai_would_fit(arena, ladder->request) || !is_for_room(ladder))
        return STEP_SKIPPED;
    uint64_t given = 0;
    cuai_cache_evict(arena, cuai_max(ladder->request->size, 1), &given);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
    ladder->spent &= ~(cuai_step_bit(CUARENA_STEP_JOIN) | cuai_step_bit(CUARENA_STEP_TRIM));
    return outcome(true);
}

/* A pool is left out: it would need again what it gave back. */
static outcome_t try_trim(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (cuai_is_pool(arena) || !cuai_would_fit(arena, ladder->request) || !lacks_bytes(ladder) ||
        !spend(ladder, CUARENA_STEP_TRIM))
        return STEP_SKIPPED;
    uint64_t given = cuai_trim_all(arena);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
    return outcome(given != 0);
}

bool cuai_ladder_is_hopeless(const cuai_ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    return !cuai_region_may_hold(arena, ladder->request) ||
           !cuai_limit_may_allow(arena, ladder->request);
}

/* Drops the lock. What the handler freed may be of use to steps that were spent. */
static outcome_t try_handler(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->handler_calls <= CUAI_MOST_HANDLER_CALLS);
    cuarena_t *arena = ladder->call->arena;
    if (arena->oom_fn == NULL || ladder->handler_no ||
        ladder->handler_calls == CUAI_MOST_HANDLER_CALLS || cuai_ladder_is_hopeless(ladder) ||
        cuai_frame_within(CUAI_FRAME_OOM, arena))
        return STEP_SKIPPED;
    cuarena_oom_fn handler = arena->oom_fn;
    void *user = arena->oom_user;
    uint64_t bytes = ladder->request->heap.size;
    cuai_frame_t frame;
    arena->oom_handler_calls++;
    cuai_unlock(&arena->lock);
    cuai_frame_push(&frame, CUAI_FRAME_OOM, arena);
    int32_t freed = handler(user, arena, bytes, ladder->handler_calls++);
    cuai_frame_pop();
    cuai_arena_lock(arena);
    ladder->handler_no = freed == 0;
    if (freed != 0) {
        ladder->spent = 0;
        ladder->took_from_sessions = false;
    }
    return outcome(freed != 0);
}

bool cuai_ladder_is_apart(const cuai_ladder_t *ladder)
{
    const cuai_request_t *request = ladder->request;
    if (!cuai_segments_may_hold(ladder->call->arena, request->size, request->heap.alignment))
        return false;
    if (ladder->refusal == CUARENA_FRAGMENTED)
        return true;
    uint64_t untaken = cuai_pool_untaken(ladder->call->arena);
    return ladder->refusal == CUARENA_OUT_OF_MEMORY && may_grow(ladder) &&
           ladder->growth == CUARENA_UNSUPPORTED && untaken != 0 &&
           ladder->request->size <= cuai_ladder_free(ladder) + untaken;
}

static outcome_t try_compaction(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (!arena->config.compact_on_oom || !cuai_ladder_is_apart(ladder) || !may_grow(ladder) ||
        !spend(ladder, CUARENA_STEP_COMPACT))
        return STEP_SKIPPED;
    cuarena_status_t status =
        cuai_compact_for(ladder->call, ladder->request, &ladder->no_compaction);
    if (status == CUARENA_FRAGMENTED) /* what a pool gave back it may have taken again */
        ladder->refusal = status;
    if (status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LIMIT ||
        cuai_ladder_is_final(status)) {
        ladder->growth = status;
        *ladder->words = cuai_error_kept();
    }
    return outcome(status == CUARENA_OK);
}

/* The steps, in the order in which they are tried. */
static const struct {
    const char *name;
    outcome_t (*take)(cuai_ladder_t *ladder);
} steps[CUARENA_STEP_COUNT] = {
    [CUARENA_STEP_JOIN] = {"joining", try_joining},
    [CUARENA_STEP_STEAL] = {"stealing", try_stealing},
    [CUARENA_STEP_RECLAIM] = {"reclaiming", try_reclaiming},
    [CUARENA_STEP_GROW] = {"growth", try_growth},
    [CUARENA_STEP_CACHE] = {"cache", try_cache},
    [CUARENA_STEP_WAIT] = {"waiting", try_waiting},
    [CUARENA_STEP_TRIM] = {"trim", try_trim},
    [CUARENA_STEP_HANDLER] = {"handler", try_handler},
    [CUARENA_STEP_COMPACT] = {"compaction", try_compaction},
};

const char *cuai_step_name(int32_t step)
{
    CUAI_ASSERT(step >= 0 && step < CUARENA_STEP_COUNT);
    return steps[step].name;
}

void cuai_ladder_log(const cuai_ladder_t *ladder, const char *name, const char *result)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (!cuai_log_wants(CUARENA_LOG_DEBUG))
        return;
    cuai_unlock(&arena->lock);
    cuai_log(CUARENA_LOG_DEBUG, "%s: no room for %llu bytes: %s: %s", arena->label,
             (unsigned long long)ladder->request->heap.size, name, result);
    cuai_arena_lock(arena);
}

static bool take_step(cuai_ladder_t *ladder, int32_t step)
{
    bool reclaims = cuai_step_bit(step) & RECLAIMING;
    bool enough = reclaims && ladder->reclaims == MOST_RECLAIMS;
    outcome_t came = enough ? STEP_SKIPPED : steps[step].take(ladder);
    if (came == STEP_SKIPPED)
        return false;
    ladder->tried |= cuai_step_bit(step);
    ladder->call->arena->steps[step].tried++;
    cuai_trace_step(ladder->call->arena, step, steps[step].name,
                    came == STEP_BROUGHT ? CUARENA_OK : ladder->refusal, ladder->request->heap.size,
                    ladder->request->stream);
    cuai_ladder_log(ladder, steps[step].name, came == STEP_BROUGHT ? "try again" : "nothing");
    if (came != STEP_BROUGHT)
        return false;
    ladder->reclaims = reclaims ? ladder->reclaims + 1 : 0;
    ladder->deepest = step > ladder->deepest ? step : ladder->deepest;
    return true;
}

bool cuai_ladder_take(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    ladder->looked = 0;
    for (int32_t step = 0; step < CUARENA_STEP_COUNT; step++) {
        if (take_step(ladder, step) ||
            (step == CUARENA_STEP_GROW && take_step(ladder, CUARENA_STEP_STEAL)))
            return true;
        if (ladder->growth == CUARENA_LOST)
            return false;
    }
    return false;
}
