/*
 * The slow path of allocations: every request, and what is tried for one that has no room.
 *
 * An arena with a cache looks there first, then every request tries the free lists that it may use
 * as they are. If none has room, these steps are tried in this order, and the request again after
 * each that brought something:
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
 * `steal` says how much of joining, stealing and waiting there is. If nothing brings room, the
 * error says what was tried. Each step uses something up, and an attempt that is refused leaves
 * free bytes where they are, so there is an end to it.
 */
#include "api/call.h"
#include "arena/cache.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/dedicated.h"
#include "arena/grow.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/trim.h"
#include "arena/zero.h"
#include "base/frame.h"
#include "base/log.h"

#define MOST_HANDLER_CALLS 16
#define MOST_MEMORY_WAITS 2
/* How often all steps are taken again because other threads have changed what is free meanwhile. */
#define MOST_ROUNDS 64
/* How often in a row steps bring bytes that are reserved: more often than there are free lists. */
#define MOST_RECLAIMS 1024
#define RECLAIMING (1u << CUARENA_STEP_STEAL | 1u << CUARENA_STEP_RECLAIM | 1u << CUARENA_STEP_WAIT)

/* ---- The ladder -------------------------------------------------------- */

/* One request, and what was tried for it. */
typedef struct ladder {
    cuai_call_t *call;
    cuai_request_t *request;
    cuai_block_ref_t *ref;
    bool stolen;               /* stealing has set *ref */
    bool took_from_sessions;   /* what they had not touched, for now */
    bool outgrown;             /* the last growth brought nothing */
    uint32_t looked;           /* bits, by may_wait: stealing has looked in this round */
    bool missed;               /* the cache had no block that fits */
    cuarena_status_t refusal;  /* of the last attempt */
    cuarena_status_t growth;   /* of the last growth; UNSUPPORTED: none */
    cuai_kept_error_t *words;  /* the memory's, when growth or a block's own
                                * segment failed: later steps have others */
    const char *no_compaction; /* why compaction brought nothing; NULL: it was
                                * not tried */
    uint64_t seen;             /* the changes before the last attempt ended */
    int32_t rounds;
    int32_t handler_calls;
    int32_t memory_waits;
    int32_t reclaims; /* how often in a row these steps brought something */
    uint32_t tried;   /* bits: the steps that had something to do */
    uint32_t spent;   /* bits: steps that are not taken again for now */
    int32_t deepest;  /* the last step that brought something; -1 */
    bool handler_no;  /* the handler said that it freed nothing */
} ladder_t;

typedef enum outcome {
    STEP_SKIPPED, /* it does not apply */
    STEP_NOTHING,
    STEP_BROUGHT /* something: the request is tried again */
} outcome_t;

static outcome_t outcome(bool brought)
{
    return brought ? STEP_BROUGHT : STEP_NOTHING;
}

static uint32_t step_bit(int32_t step)
{
    CUAI_ASSERT(step >= 0 && step < CUARENA_STEP_COUNT);
    return UINT32_C(1) << step;
}

/* Whether the step may be taken; it may not be taken again until `spent` is cleared. */
static bool spend(ladder_t *ladder, int32_t step)
{
    bool first = !(ladder->spent & step_bit(step));
    ladder->spent |= step_bit(step);
    return first;
}

/* The stream whose free lists the request can use at once; 0: none. */
static uint32_t own_stream(const ladder_t *ladder)
{
    CUAI_ASSERT(ladder->request->stream < CUAI_STREAM_NUMBERS);
    const cuarena_t *arena = ladder->call->arena;
    bool own = !arena->cpu_touches && !ladder->request->dedicated &&
               !cuai_is_captured(arena, ladder->request->stream);
    return own ? ladder->request->stream : 0;
}

/* Whether the request may have bytes that other streams freed, ordered behind their work. */
static bool may_steal(const ladder_t *ladder)
{
    return own_stream(ladder) != 0 && ladder->request->size != 0 &&
           ladder->call->arena->config.steal != CUARENA_STEAL_NEVER;
}

/* The stable region has all the bytes that it will ever have. */
static bool is_stable(const ladder_t *ladder)
{
    return ladder->request->region == CUARENA_REGION_STABLE &&
           ladder->call->arena->heaps[CUAI_STABLE] != NULL;
}

/* Whether its stream may also be made to wait for that work: at once, or where growth has nothing
 * more. */
static bool may_wait(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    return may_steal(ladder) && cuai_steal_waits(arena) &&
           (cuai_steal_waits_first(arena) || is_stable(ladder) || ladder->outgrown);
}

/* Joins ranges that touch across the stream's own two free lists. Where the stream may wait,
 * stealing joins them too. */
static outcome_t try_joining(ladder_t *ladder)
{
    uint32_t own = own_stream(ladder);
    if (own == 0 || ladder->refusal == CUARENA_LIMIT || may_wait(ladder) ||
        !spend(ladder, CUARENA_STEP_JOIN))
        return STEP_SKIPPED;
    return outcome(cuai_reclaim_own(ladder->call->arena, own));
}

/* The heap of the request's region. */
static const cuarena_heap_t *heap_of(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    return arena->heaps[cuai_region_for(arena, ladder->request->region)];
}

/* The free bytes of the heap, in all of its free lists. */
static uint64_t all_free(const ladder_t *ladder)
{
    return cuai_free_bytes(heap_of(ladder));
}

/* Stealing brought nothing: tries each free list alone, to the end, and lets later steps know that
 * other streams' bytes are out of reach, so that growth does not count on them and compaction may
 * bring them together. */
static bool alloc_without_stealing(ladder_t *ladder)
{
    CUAI_ASSERT(may_wait(ladder));
    cuai_request_t *request = ladder->request;
    request->reach = ladder->growth == CUARENA_OK ? CUAI_REACH_IDLE : CUAI_REACH_FREELISTS;
    request->soon = false;
    if (cuai_try_alloc(ladder->call->arena, request, ladder->ref) == CUARENA_OK)
        return true;
    if (ladder->refusal == CUARENA_OUT_OF_MEMORY && all_free(ladder) >= request->size)
        ladder->refusal = CUARENA_FRAGMENTED;
    return false;
}

/* Steals bytes of all free lists together; the request's stream waits for the work on them. Where
 * the stream may not be made to wait, only bytes whose work it is behind already. */
static outcome_t try_stealing(ladder_t *ladder)
{
    CUAI_ASSERT(!ladder->stolen);
    cuarena_t *arena = ladder->call->arena;
    bool waits = may_wait(ladder);
    if (!may_steal(ladder) || ladder->refusal == CUARENA_LIMIT || (ladder->looked & 1u << waits))
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
static uint32_t only_stream(const ladder_t *ladder)
{
    return ladder->call->arena->cpu_touches ? ladder->request->stream : 0;
}

/* Takes back what open sessions have not touched. A session that takes it again for this very
 * request, and cannot use it, must not go on for ever: so once. */
static bool takes_from_sessions(ladder_t *ladder)
{
    if (ladder->refusal == CUARENA_LIMIT || ladder->took_from_sessions)
        return false;
    ladder->took_from_sessions = cuai_captures_reclaim(ladder->call->arena) != 0;
    return ladder->took_from_sessions;
}

/* Bytes of other free lists whose work is done become idle. */
static outcome_t try_reclaiming(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (arena->stream_count == 0)
        return STEP_SKIPPED;
    if (takes_from_sessions(ladder))
        return outcome(true);
    if (arena->config.steal == CUARENA_STEAL_NEVER)
        return outcome(cuai_reclaim_mine(arena, only_stream(ladder), false));
    return outcome(cuai_reclaim_ready(arena, own_stream(ladder)));
}

/* Whether growth may help: dedicated blocks and the stable region have nothing that grows. */
static bool may_grow(const ladder_t *ladder)
{
    return !ladder->request->dedicated && !is_stable(ladder) && ladder->refusal != CUARENA_LIMIT;
}

/* Whether the memory or the limit of reserved bytes stands in the way of growth or, for a dedicated
 * block, of its segment. */
static bool lacks_bytes(const ladder_t *ladder)
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
    return arena->config.grow == CUARENA_GROW_NONE && arena->reserved < arena->pool_bytes;
}

/* A memory that takes and gives in stream order has what was freed on streams, and may be able to
 * give it when the request's stream is idle or, without a stream, when all are. It does not say
 * when that is, so it is asked twice. Drivers without an event of all streams are asked again
 * without a wait, if no stream is known. */
static bool wait_for_memory(ladder_t *ladder)
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
static outcome_t try_waiting(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (arena->stream_count == 0)
        return wait_for_memory(ladder) ? STEP_BROUGHT : STEP_SKIPPED;
    if (arena->config.steal == CUARENA_STEAL_NEVER)
        return outcome(cuai_reclaim_mine(arena, only_stream(ladder), true) ||
                       wait_for_memory(ladder));
    bool own = lacks_bytes(ladder) || has_holes(arena) || !may_wait(ladder);
    return outcome(cuai_reclaim_one(arena, own_stream(ladder)) ||
                   (own && cuai_reclaim_mine(arena, own_stream(ladder), true)) ||
                   wait_for_memory(ladder));
}

static bool is_final(cuarena_status_t growth)
{
    return growth == CUARENA_DRIVER || growth == CUARENA_LOST || growth == CUARENA_NO_DEVICE;
}

static outcome_t try_growth(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    if (!may_grow(ladder))
        return STEP_SKIPPED;
    uint64_t taken = 0;
    if (ladder->request->reach != CUAI_REACH_FREELISTS || ladder->call->arena->stream_count == 1)
        ladder->request->reach = own_stream(ladder) != 0 ? CUAI_REACH_OWN : CUAI_REACH_IDLE;
    ladder->growth = cuai_grow(ladder->call->arena, ladder->request, &taken);
    ladder->outgrown = ladder->growth != CUARENA_OK;
    ladder->request->growths++;
    cuai_call_note(ladder->call, CUARENA_EVENT_GROW, taken);
    if (is_final(ladder->growth) || ladder->growth == CUARENA_OUT_OF_MEMORY)
        *ladder->words = cuai_error_kept();
    return ladder->growth == CUARENA_UNSUPPORTED ? STEP_SKIPPED
                                                 : outcome(ladder->growth == CUARENA_OK);
}

/* Whether the limits of live bytes and of blocks allow one more such block. */
static bool may_live(const ladder_t *ladder)
{
    const cuarena_heap_t *heap = heap_of(ladder);
    const cuai_request_t *request = ladder->request;
    return cuai_heap_blocks(heap) < heap->max_blocks &&
           request->size <= cuai_live_left(ladder->call->arena, request->credit);
}

/* Whether fewer cached blocks may change the refusal: they do not change one by the limit of live
 * bytes or of blocks. */
static bool is_for_room(const ladder_t *ladder)
{
    if (ladder->request->dedicated)
        return lacks_bytes(ladder);
    return ladder->refusal != CUARENA_LIMIT || may_live(ladder);
}

static outcome_t try_cache(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (cuai_quarantine_keep(arena, 0, NULL))
        return outcome(true);
    if (arena->heaps[CUAI_DYNAMIC]->cached_blocks == 0 || is_stable(ladder) ||
        !cuai_would_fit(arena, ladder->request) || !is_for_room(ladder))
        return STEP_SKIPPED;
    uint64_t given = 0;
    cuai_cache_evict(arena, cuai_max(ladder->request->size, 1), &given);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
    ladder->spent &= ~(step_bit(CUARENA_STEP_JOIN) | step_bit(CUARENA_STEP_TRIM));
    return outcome(true);
}

/* A pool is left out: it would need again what it gave back. */
static outcome_t try_trim(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (arena->config.grow == CUARENA_GROW_NONE || !cuai_would_fit(arena, ladder->request) ||
        !lacks_bytes(ladder) || !spend(ladder, CUARENA_STEP_TRIM))
        return STEP_SKIPPED;
    uint64_t given = cuai_trim_all(arena);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
    return outcome(given != 0);
}

/* Whether no step can help, whatever is freed. */
static bool is_hopeless(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    return !cuai_region_may_hold(arena, ladder->request) ||
           !cuai_limit_may_allow(arena, ladder->request);
}

/* Drops the lock. What the handler freed may be of use to steps that were spent. */
static outcome_t try_handler(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->handler_calls <= MOST_HANDLER_CALLS);
    cuarena_t *arena = ladder->call->arena;
    if (arena->oom_fn == NULL || ladder->handler_no ||
        ladder->handler_calls == MOST_HANDLER_CALLS || is_hopeless(ladder) ||
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

/* Whether there are enough free bytes that do not lie together, and compaction can bring them
 * together. What a pool gave back counts as long as the memory has not refused it. */
static bool is_apart(const ladder_t *ladder)
{
    const cuai_request_t *request = ladder->request;
    if (!cuai_segments_may_hold(ladder->call->arena, request->size, request->heap.alignment))
        return false;
    if (ladder->refusal == CUARENA_FRAGMENTED)
        return true;
    uint64_t untaken = cuai_pool_untaken(ladder->call->arena);
    return ladder->refusal == CUARENA_OUT_OF_MEMORY && may_grow(ladder) &&
           ladder->growth == CUARENA_UNSUPPORTED && untaken != 0 &&
           ladder->request->size <= all_free(ladder) + untaken;
}

static outcome_t try_compaction(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    if (!arena->config.compact_on_oom || !is_apart(ladder) || !may_grow(ladder) ||
        !spend(ladder, CUARENA_STEP_COMPACT))
        return STEP_SKIPPED;
    cuarena_status_t status =
        cuai_compact_for(ladder->call, ladder->request, &ladder->no_compaction);
    if (status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LIMIT || is_final(status)) {
        ladder->growth = status;
        *ladder->words = cuai_error_kept();
    }
    return outcome(status == CUARENA_OK);
}

/* The steps, in the order in which they are tried. */
static const struct {
    const char *name;
    outcome_t (*take)(ladder_t *ladder);
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

/* Drops the lock, if the log is at level debug. */
static void log_step(const ladder_t *ladder, const char *name, const char *result)
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

static bool take_step(ladder_t *ladder, int32_t step)
{
    bool reclaims = step_bit(step) & RECLAIMING;
    bool enough = reclaims && ladder->reclaims == MOST_RECLAIMS;
    outcome_t came = enough ? STEP_SKIPPED : steps[step].take(ladder);
    if (came == STEP_SKIPPED)
        return false;
    ladder->tried |= step_bit(step);
    ladder->call->arena->steps[step].tried++;
    cuai_trace_step(ladder->call->arena, step, steps[step].name,
                    came == STEP_BROUGHT ? CUARENA_OK : ladder->refusal, ladder->request->heap.size,
                    ladder->request->stream);
    log_step(ladder, steps[step].name, came == STEP_BROUGHT ? "try again" : "nothing");
    if (came != STEP_BROUGHT)
        return false;
    ladder->reclaims = reclaims ? ladder->reclaims + 1 : 0;
    ladder->deepest = step > ladder->deepest ? step : ladder->deepest;
    return true;
}

/* Takes steps until one brings something; behind growth stealing may wait. False: none is left. */
static bool try_more(ladder_t *ladder)
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

/* ---- The error --------------------------------------------------------- */

/* FRAGMENTED only where compaction could make room, which it never does in the stable region. A
 * limit or the memory is named where it, and not the blocks' places, stands in the way. */
static cuarena_status_t final_status(const ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    if (ladder->request->dedicated || ladder->refusal == CUARENA_LIMIT)
        return ladder->refusal;
    if (is_stable(ladder))
        return CUARENA_OUT_OF_MEMORY;
    if (is_apart(ladder) && ladder->growth != CUARENA_LOST)
        return CUARENA_FRAGMENTED;
    if (ladder->growth == CUARENA_LIMIT || is_final(ladder->growth))
        return ladder->growth;
    return ladder->refusal == CUARENA_FRAGMENTED ? CUARENA_OUT_OF_MEMORY : ladder->refusal;
}

static uint64_t met_limit(const cuarena_t *arena, cuarena_status_t status)
{
    CUAI_ASSERT(status != CUARENA_OK);
    if (status != CUARENA_LIMIT)
        return cuai_min(arena->pool_bytes, arena->limits[CUARENA_LIMIT_RESERVED]);
    return cuai_min(arena->limits[CUARENA_LIMIT_RESERVED], arena->limits[CUARENA_LIMIT_LIVE]);
}

/* Whether the range is there by now: host memory was short, or a handler did not tell of it. */
static bool has_range(const ladder_t *ladder, cuarena_status_t status, uint64_t largest)
{
    return status == CUARENA_OUT_OF_MEMORY && ladder->refusal != CUARENA_FRAGMENTED &&
           largest >= ladder->request->size;
}

/* Adds " (68352 with its guards) aligned to 4096", where the arena has guards, and where the
 * request asks for more than the arena's alignment. */
static void add_needs(const ladder_t *ladder)
{
    uint64_t alignment = ladder->request->heap.alignment;
    if (ladder->call->arena->config.guard_bytes != 0)
        cuai_error_add(" (%llu with its guards)", (unsigned long long)ladder->request->size);
    if (alignment > cuai_granule(ladder->call->arena))
        cuai_error_add(" aligned to %llu", (unsigned long long)alignment);
}

/* Adds " while ... is the limit", where a limit stands in the way. */
static void add_limit(const ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    const char *what = "live bytes";
    if (ladder->refusal != CUARENA_LIMIT) {
        limit = arena->limits[CUARENA_LIMIT_RESERVED];
        what = "reserved bytes";
    } else if (cuai_heap_blocks(heap) >= heap->max_blocks) {
        limit = heap->max_blocks;
        what = "live blocks";
    }
    cuai_error_add(" while %llu %s are the limit", (unsigned long long)limit, what);
}

/* Adds ", reclaiming, growth" to the error: the steps that were tried, and why compaction brought
 * nothing. `before` stands before the first. */
static void add_steps(const ladder_t *ladder, const char *before)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    for (int32_t step = 0; step < CUARENA_STEP_COUNT; step++) {
        if (!(ladder->tried & step_bit(step)))
            continue;
        cuai_error_add("%s%s", before, steps[step].name);
        before = ", ";
    }
    if (ladder->no_compaction != NULL)
        cuai_error_add(" (%s)", ladder->no_compaction);
    if (ladder->handler_calls == MOST_HANDLER_CALLS)
        cuai_error_add(" (%d handler calls are the most)", MOST_HANDLER_CALLS);
}

/* Adds "; memory 'device' answered 2" where the memory had no more; its own words where it has no
 * number. */
static void add_cause(const ladder_t *ladder)
{
    const cuarena_error_info_t *words = &ladder->words->error;
    char room[CUAI_SHOWN + sizeof("...")];
    if (ladder->growth != CUARENA_OUT_OF_MEMORY)
        return;
    if (words->driver_code != 0)
        cuai_error_add("; memory '%s' answered %d",
                       cuai_shown(ladder->call->arena->memory.ops.name, 60, room),
                       (int)words->driver_code);
    else
        cuai_error_add("; %s", cuai_shown(words->message, 60, room));
    cuai_error_code(words->driver_code);
}

/* What is free is what the request could use. */
static void explain_figures(const ladder_t *ladder, cuarena_status_t status)
{
    CUAI_ASSERT(status != CUARENA_OK);
    const cuarena_t *arena = ladder->call->arena;
    int region = is_stable(ladder) ? CUAI_STABLE : CUAI_DYNAMIC;
    uint64_t asked = ladder->request->heap.size;
    uint32_t own = own_stream(ladder);
    uint64_t largest;
    uint64_t free_bytes = cuai_usable_bytes(arena, region, own, &largest);
    if (may_wait(ladder)) {
        free_bytes = all_free(ladder);
        largest = cuai_freelists_largest(arena, region);
    }
    if (region == CUAI_DYNAMIC)
        free_bytes += cuai_pool_untaken(arena);
    cuai_fail_bytes(status, asked, met_limit(arena, status), arena->reserved, free_bytes, largest,
                    "no room for %llu bytes", (unsigned long long)asked);
    add_needs(ladder);
    cuai_error_add(" in the %s region", region == CUAI_STABLE ? "stable" : "dynamic");
    if (has_range(ladder, status, largest))
        cuai_error_add(", but its room came too late, or no host memory");
    else if (status == CUARENA_LIMIT)
        add_limit(ladder);
    cuai_error_add(": %llu free, the largest range has %llu, %llu reserved",
                   (unsigned long long)free_bytes, (unsigned long long)largest,
                   (unsigned long long)arena->reserved);
    add_cause(ladder);
    cuai_error_add("; tried: reserved bytes");
    add_steps(ladder, ", ");
}

/* Sets the last error of a request that is refused; its status. Failures of the memory keep the
 * words that they were met with. */
static cuarena_status_t explain(const ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    cuarena_status_t status = final_status(ladder);
    if (!ladder->request->dedicated && !is_final(status)) {
        explain_figures(ladder, status);
        return status;
    }
    cuai_error_restore(ladder->words);
    cuai_error_asked(ladder->request->heap.size);
    add_steps(ladder, "; tried: ");
    return status;
}

/* ---- Allocation -------------------------------------------------------- */

static bool is_refusal(cuarena_status_t status)
{
    return status == CUARENA_OUT_OF_MEMORY || status == CUARENA_FRAGMENTED ||
           status == CUARENA_LIMIT;
}

/* Whether other threads have changed what is free since the last attempt, while a step of this one
 * dropped the lock; what their caches keep is freed for that. Without this look a request is
 * refused whose bytes another thread reclaims. */
static bool has_changed(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    (void)cuai_tcaches_flush(arena);
    return cuai_changes(arena, heap_of(ladder)) != ladder->seen && ladder->rounds++ < MOST_ROUNDS;
}

/* Across free lists an aligned request needs room for any beginning. What was taken for it fits as
 * it is. */
static cuarena_status_t try_free_lists(const ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    const cuai_request_t *request = ladder->request;
    bool steals = may_steal(ladder) && cuai_steals_for(arena, heap_of(ladder), request->size);
    cuarena_status_t status =
        steals ? cuai_try_alloc_stealing(arena, request, ladder->ref) : CUARENA_FRAGMENTED;
    bool alone = !steals || (is_refusal(status) && request->growths != 0);
    return alone ? cuai_try_alloc(arena, request, ladder->ref) : status;
}

/* What caches of threads keep is free, so it is freed before a refusal. */
static cuarena_status_t alloc_once(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    ladder->request->waits = ladder->request->soon = may_wait(ladder);
    if (ladder->stolen)
        ladder->refusal = CUARENA_OK;
    else if (ladder->request->dedicated)
        ladder->refusal = cuai_alloc_dedicated(arena, ladder->request, ladder->ref);
    else
        ladder->refusal = try_free_lists(ladder);
    if (is_refusal(ladder->refusal) && cuai_tcaches_flush(arena))
        return alloc_once(ladder);
    if (ladder->request->dedicated && ladder->refusal != CUARENA_OK)
        *ladder->words = cuai_error_kept();
    ladder->seen = cuai_changes(arena, heap_of(ladder));
    return ladder->refusal;
}

/* Takes the steps for a request that was refused. The errors of steps that failed are not seen if a
 * later one helps. Drops the lock. */
static cuarena_status_t descend(ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    cuarena_t *arena = ladder->call->arena;
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = cuai_check_entry(arena, "alloc", false);
    if (status != CUARENA_OK)
        return status;
    status = ladder->refusal;
    if (is_hopeless(ladder)) {
        if (cuai_region_may_hold(arena, ladder->request))
            ladder->growth = CUARENA_LIMIT;
        return explain(ladder);
    }
    while (is_refusal(status) && (try_more(ladder) || has_changed(ladder)))
        status = alloc_once(ladder);
    if (is_refusal(status) && cuai_changes(arena, heap_of(ladder)) != ladder->seen)
        status = alloc_once(ladder);
    if (status != CUARENA_OK)
        return is_refusal(status) ? explain(ladder) : status;
    if (ladder->deepest >= 0) {
        arena->steps[ladder->deepest].served++;
        log_step(ladder, steps[ladder->deepest].name, "allocated");
    }
    cuai_error_restore(&before);
    return CUARENA_OK;
}

static cuarena_status_t alloc_uncached(ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    cuai_reclaim_before(arena, ladder->request);
    cuarena_status_t status = alloc_once(ladder);
    if (!is_refusal(status))
        return status;
    cuai_range_begin(arena, "run out", ladder->request->heap.size);
    status = descend(ladder);
    cuai_range_end(arena);
    return status;
}

/* From the cache, if the arena has one with a block that fits; else from free bytes. */
static cuarena_status_t alloc(ladder_t *ladder)
{
    CUAI_ASSERT(!ladder->missed);
    cuarena_t *arena = ladder->call->arena;
    const cuai_request_t *request = ladder->request;
    if (!cuai_cache_is_for(arena, request))
        return alloc_uncached(ladder);
    if (cuai_arena_cache_get(arena, request, ladder->ref))
        return CUARENA_OK;
    uint64_t given = 0;
    ladder->missed = true;
    if (cuai_would_fit(arena, request) && may_live(ladder))
        cuai_cache_before_miss(arena, request->size, &given);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
    return alloc_uncached(ladder);
}

/* Keeps what the option `keep` promises, once the request has its block. Drops the lock. */
static void keep_limits(const ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal == CUARENA_OK);
    cuarena_t *arena = ladder->call->arena;
    uint64_t given = 0;
    if (arena->config.keep == CUARENA_KEEP_ALL)
        return;
    cuai_segments_ready_cuts(arena->heaps[CUAI_DYNAMIC]);
    cuai_cache_after(arena, ladder->missed, &given);
    cuai_return_rest(arena, &given);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
}

cuarena_status_t cuai_alloc_slow(cuai_call_t *call, const cuai_request_t *request,
                                 cuai_block_ref_t *block_out)
{
    CUAI_ASSERT(call->stream == request->stream);
    cuarena_t *arena = call->arena;
    cuai_request_t own = *request;
    cuai_kept_error_t words;
    cuai_peaks_kept_t before;
    /* cppcheck-suppress uninitvar; what is kept goes there */
    own.before = request->zeroed || arena->watch != NULL ? &before : NULL;
    ladder_t ladder = {.call = call,
                       .words = &words,
                       .request = &own,
                       .ref = block_out,
                       .growth = CUARENA_UNSUPPORTED,
                       .deepest = -1};
    cuarena_status_t status = cuai_call_check(arena);
    if (status == CUARENA_OK && !cuai_tag_known(arena, request->heap.tag))
        status = cuai_no_tag(request->heap.tag);
    if (status != CUARENA_OK)
        return status;
    status = cuai_request_check(arena, request);
    if (status == CUARENA_OK)
        status = alloc(&ladder);
    if (status == CUARENA_REENTERED)
        return status;
    if (status == CUARENA_OK && !request->helps)
        cuai_trace_block(arena, *block_out, CUARENA_EVENT_ALLOC, call->stream);
    if (status == CUARENA_OK)
        status = cuai_ready_new(arena, &own, *block_out);
    if (status != CUARENA_OK)
        cuai_call_note_failure(call, status, request->heap.size, request->heap.tag);
    else
        cuai_call_note_block(call, CUARENA_EVENT_ALLOC, *block_out);
    if (status == CUARENA_OK)
        keep_limits(&ladder);
    return status;
}
