/*
 * Reclaiming: bytes that were freed on a stream become idle when the work before the free is done.
 *
 * One thread at a time reclaims (`reclaiming`), so that no event is asked about, waited for and
 * ended at once. It drops the lock for each call of the memory. Streams keep their numbers
 * meanwhile.
 *
 * Invariant: nothing is in a free list behind which there is no event, nor one to come.
 */
#include "arena/reclaim.h"
#include "arena/remap.h"
#include "arena/steal.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/unlocked.h"
#include "arena/uses.h"
#include "base/frame.h"
#include "heap/slots.h"

void cuai_reclaim_begin(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    while (arena->reclaiming)
        cuai_arena_wait(arena);
    arena->reclaiming = true;
    arena->gained = arena->gained_idle = arena->gained_back = 0;
}

bool cuai_reclaim_end(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->reclaiming);
    arena->reclaiming = false;
    arena->reclaims += arena->gained != 0;
    cuai_streams_recycle(arena);
    cuai_cond_wake(&arena->changed);
    return arena->gained != 0;
}

/* ---- One stream -------------------------------------------------------- */

static void reclaim_freelist(cuarena_t *arena, const cuai_stream_t *s, uint32_t which)
{
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            cuarena_heap_freelist_reclaim(arena->heaps[region], s->freelists[which][region]);
}

/* Whether anything was freed since the last event, so that another one is wanted. */
static bool has_open(const cuarena_t *arena, const cuai_stream_t *s)
{
    uint64_t behind = cuai_max(s->behind_closed, s->timeline.done);
    return (s->cached != 0 && s->cached_last >= behind) ||
           cuai_stream_bytes(arena, s, s->turn) != 0;
}

static void set_open(const cuarena_t *arena, cuai_stream_t *s, uint64_t serial)
{
    cuai_timeline_forgo(arena, (cuai_point_t){s->number, s->behind_open});
    s->behind_open = serial;
}

void cuai_stream_want_event(const cuarena_t *arena, cuai_stream_t *s)
{
    s->events_wanted++;
    set_open(arena, s, s->released ? 0 : CUAI_TO_COME);
}

static void take_turns(cuarena_t *arena, cuai_stream_t *s)
{
    s->turn = !s->turn;
    cuai_stream_note_open(arena, s);
}

/* Opens the closed free list again: the free list with fewer ranges joins the other. */
static void reopen(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(!s->released);
    if (cuai_stream_ranges(arena, s, !s->turn) > cuai_stream_ranges(arena, s, s->turn))
        take_turns(arena, s);
    cuai_freelists_merge(arena, s->freelists[!s->turn], s->freelists[s->turn]);
}

/* Opens the closed free list again before its event is complete, so cached blocks need another one.
 * It stands for the open one too where that has none, for it is empty then. Drops the lock. */
static void open_again(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_assert_locked(arena);
    cuai_point_t closed = cuai_closed(s);
    reopen(arena, s);
    s->behind_closed = 0;
    if (s->behind_open == 0)
        s->behind_open = closed.serial;
    else
        cuai_timeline_drop(arena, closed);
}

static bool can_close(const cuarena_t *arena, const cuai_stream_t *s)
{
    bool records = s->behind_open == CUAI_TO_COME;
    return s->behind_closed == 0 && !cuai_is_lost(arena) &&
           (records ? s->capture == NULL : s->behind_open != 0) && has_open(arena, s);
}

/* Closes the open free list, if it can be. Frees that come while the event is recorded join the
 * other free list. BUSY: the stream is being captured, and its free list stays open. Drops the
 * lock. */
static cuarena_status_t close_freelist(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    if (!can_close(arena, s))
        return CUARENA_OK;
    cuarena_status_t status = CUARENA_OK;
    cuai_point_t open = {s->number, s->behind_open};
    s->closed_ns = cuai_is_traced(arena) ? cuai_trace_now() : 0;
    take_turns(arena, s);
    s->behind_closed = open.serial;
    if (open.serial == CUAI_TO_COME)
        status = cuai_timeline_record(arena, &open, true);
    else
        s->behind_open = 0;
    if (status != CUARENA_OK) {
        reopen(arena, s);
        s->behind_closed = 0;
        return status;
    }
    s->behind_closed = open.serial;
    if (s->eager && s->behind_open == CUAI_TO_COME && cuai_stream_bytes(arena, s, s->turn) == 0)
        s->behind_open = 0;
    return status;
}

cuarena_status_t cuai_stream_cover(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    if (s->released || !has_open(arena, s))
        return CUARENA_OK;
    if (s->behind_closed != 0)
        open_again(arena, s);
    return close_freelist(arena, s);
}

void cuai_stream_close(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    (void)cuai_stream_cover(arena, cuai_stream(arena, number));
    cuai_reclaim_end(arena);
}

cuarena_status_t cuai_stream_reclaim(cuarena_t *arena, cuai_stream_t *s, bool wait)
{
    CUAI_ASSERT(arena->reclaiming);
    if (s->behind_closed == 0 || cuai_is_lost(arena))
        return CUARENA_OK;
    cuarena_status_t status = cuai_timeline_see(arena, 0, cuai_closed(s), wait);
    if (status != CUARENA_OK)
        return status;
    uint64_t bytes = cuai_stream_bytes(arena, s, !s->turn);
    arena->gained += bytes;
    arena->gained_idle += bytes;
    reclaim_freelist(arena, s, !s->turn);
    s->behind_closed = 0;
    cuai_trace_idle(arena, s->number, bytes, s->closed_ns);
    return CUARENA_OK;
}

/* Waits for what is closed, closes what is open, and waits for that; OK, with the last error as it
 * was, also for a stream that is being captured. Drops the lock. */
static cuarena_status_t drain(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_assert_locked(arena);
    cuai_first_error_t first = cuai_first_begin();
    cuarena_status_t status = cuai_stream_reclaim(arena, s, true);
    if (status == CUARENA_OK)
        status = close_freelist(arena, s);
    if (status == CUARENA_OK)
        status = cuai_stream_reclaim(arena, s, true);
    cuai_first_note(&first, status);
    return cuai_first_end(&first);
}

void cuai_stream_tidy(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = cuai_stream(arena, number);
    if (s->behind_open == 0)
        cuai_freelists_merge(arena, s->freelists[s->turn], s->freelists[!s->turn]);
    if (s->behind_closed == 0)
        reclaim_freelist(arena, s, !s->turn);
}

/* ---- All streams ------------------------------------------------------- */

/* Asks about copies of compactions as well, for calls are slow until these are done. Drops the
 * lock. */
static void poll_streams(cuarena_t *arena, bool lagging_too)
{
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (lagging_too || !cuai_stream_lags(s))
            cuai_stream_reclaim(arena, s, false);
    if (!cuai_is_lost(arena))
        cuai_moving_stream(arena);
}

/* What fails is tried again by whoever needs it, so the last error stays. Drops the lock. */
static void poll_all(cuarena_t *arena, bool lagging_too)
{
    cuai_assert_locked(arena);
    cuai_kept_error_t before = cuai_error_kept();
    cuai_uses_reclaim(arena, CUAI_USES_ASK);
    poll_streams(arena, lagging_too);
    cuai_error_restore(&before);
}

bool cuai_reclaim_complete(cuarena_t *arena)
{
    CUAI_ASSERT(arena->reclaiming);
    poll_all(arena, true);
    return arena->gained != 0;
}

static cuarena_status_t close_all(cuarena_t *arena, uint32_t except, bool lagging_too)
{
    cuai_stream_t *s;
    cuai_first_error_t first = cuai_first_begin();
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (n != except && (lagging_too || !cuai_stream_lags(s)))
            cuai_first_note(&first, close_freelist(arena, s));
    return cuai_first_end(&first);
}

bool cuai_reclaim_ready(cuarena_t *arena, uint32_t except)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    poll_all(arena, false);
    if (arena->gained == 0) {
        close_all(arena, except, false);
        poll_all(arena, false);
    }
    return cuai_reclaim_end(arena);
}

/* The stream whose closed free list has most; NULL: none has any. */
static cuai_stream_t *fullest(const cuarena_t *arena)
{
    cuai_stream_t *best = NULL;
    uint64_t most = 0;
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;) {
        uint64_t bytes = s->behind_closed == 0 ? 0 : cuai_stream_bytes(arena, s, !s->turn);
        if (bytes > most) {
            most = bytes;
            best = s;
        }
    }
    return best;
}

/* Looks for an event with nothing behind it, which is left where the bytes were stolen or were
 * cached blocks only, and which keeps the open free list from being closed. Drops the lock. */
static void await_open(cuarena_t *arena, uint32_t except)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s;
    for (uint32_t n = 0; arena->gained == 0 && (s = cuai_stream_next(arena, &n)) != NULL;)
        if (n != except && cuai_stream_bytes(arena, s, s->turn) != 0 &&
            cuai_stream_reclaim(arena, s, true) == CUARENA_OK && arena->gained == 0 &&
            close_freelist(arena, s) == CUARENA_OK)
            cuai_stream_reclaim(arena, s, true);
}

bool cuai_reclaim_one(cuarena_t *arena, uint32_t except)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    cuai_stream_t *s = fullest(arena);
    if (s != NULL) {
        cuai_stream_reclaim(arena, s, true);
    } else {
        cuai_uses_reclaim(arena, CUAI_USES_WAIT);
        await_open(arena, except);
    }
    return cuai_reclaim_end(arena);
}

bool cuai_reclaim_mine(cuarena_t *arena, uint32_t number, bool wait)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    cuai_uses_reclaim(arena, wait ? CUAI_USES_WAIT : CUAI_USES_ASK);
    cuai_stream_t *s = number == 0 ? NULL : cuai_stream(arena, number);
    if (s != NULL && arena->gained == 0) {
        close_freelist(arena, s);
        if (wait)
            drain(arena, s);
        else
            cuai_stream_reclaim(arena, s, false);
    }
    return cuai_reclaim_end(arena);
}

/* Ends blocks that streams use first, so that their bytes are in a free list then. Drops the lock.
 * */
static cuarena_status_t reclaim_all(cuarena_t *arena, bool wait)
{
    CUAI_ASSERT(arena->reclaiming);
    cuarena_status_t status = CUARENA_OK;
    poll_all(arena, true);
    if (wait)
        status = cuai_uses_reclaim(arena, CUAI_USES_WAIT);
    if (status == CUARENA_OK)
        status = close_all(arena, 0, true);
    cuai_stream_t *s;
    for (uint32_t n = 0; wait && (s = cuai_stream_next(arena, &n)) != NULL;)
        if (status == CUARENA_OK)
            status = drain(arena, s);
    if (status == CUARENA_OK)
        poll_all(arena, true);
    return status;
}

cuarena_status_t cuai_reclaim_all(cuarena_t *arena, bool wait, uint64_t *reclaimed_out)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    cuarena_status_t status = reclaim_all(arena, wait);
    cuai_reclaim_end(arena);
    if (reclaimed_out != NULL)
        *reclaimed_out = arena->gained_idle;
    return status;
}

static bool reclaim_own(cuarena_t *arena, cuai_stream_t *s)
{
    bool any = !s->released && cuai_stream_bytes(arena, s, !s->turn) != 0;
    if (any)
        open_again(arena, s);
    return any;
}

bool cuai_reclaim_own(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    bool any = reclaim_own(arena, cuai_stream(arena, number));
    cuai_reclaim_end(arena);
    return any;
}

/* ---- Streams that lag, and looks ---------------------------------------- */

static void forget_probe(const cuarena_t *arena, cuai_stream_t *s)
{
    cuai_timeline_forgo(arena, (cuai_point_t){s->number, s->probe});
    s->probe = 0;
}

static void forget_lag(const cuarena_t *arena, cuai_stream_t *s)
{
    forget_probe(arena, s);
    s->lag = 0;
}

bool cuai_streams_forget_lag(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    bool any = false;
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL; s->lag = 0)
        any = any || cuai_stream_lags(s);
    return any;
}

/* Whether the work is done that the stream had when a look recorded it; BUSY: it is not. The event
 * behind the closed free list was asked about before, unless the stream lags. Drops the lock. */
static cuarena_status_t ask_probe(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming && s->probe != 0);
    if (s->probe == s->behind_closed && !cuai_stream_lags(s))
        return CUARENA_BUSY;
    return cuai_timeline_see(arena, 0, (cuai_point_t){s->number, s->probe}, false);
}

/* Raises the lag of a stream that has not reached its probe yet, and lowers it where it has. Drops
 * the lock. */
static void count_lag(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = s->probe == 0 ? CUARENA_UNSUPPORTED : ask_probe(arena, s);
    if (status == CUARENA_BUSY && s->lag < CUAI_LAG_MOST)
        s->lag++;
    if (status != CUARENA_OK)
        return;
    s->lag -= (uint32_t)cuai_min(s->lag, CUAI_LAG_FALLS);
    forget_probe(arena, s);
}

/* Records the work that a stream has, unless the last such event is still asked about: the event
 * behind its closed free list does as well. Drops the lock. */
static void renew_probe(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    cuai_point_t point = {s->number, 0};
    if (s->probe != 0 || s->released || cuai_steal_waits_first(arena))
        return;
    if (!cuai_stream_lags(s))
        s->probe = cuai_timeline_share(arena, cuai_closed(s)).serial;
    else if (cuai_timeline_record(arena, &point, false) == CUARENA_OK)
        s->probe = point.serial;
}

/* Default streams of other threads stay as they are, for frees on them cost more from then on.
 * Drops the lock. */
static void look(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s;
    cuai_reclaim_begin(arena);
    poll_all(arena, false);
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;) {
        count_lag(arena, s);
        if (!cuai_stream_is_mine(s))
            continue;
        if (!cuai_stream_lags(s))
            (void)close_freelist(arena, s);
        renew_probe(arena, s);
    }
    cuai_reclaim_end(arena);
}

/* Pieces behind work that is not done stay apart, until there are more than blocks ever lived: then
 * the stream of the request waits for all others, and has what they had. Drops the lock. */
static void join_pieces(cuarena_t *arena, cuarena_heap_t *heap, uint32_t number)
{
    if (cuai_heap_has_many_separators(heap))
        (void)cuai_reclaim_all(arena, false, NULL);
    if (cuai_heap_has_most_separators(heap) && cuai_may_steal_all(arena, number))
        (void)cuai_steal_all(arena, number);
    cuai_heap_allow_separators(heap);
}

void cuai_reclaim_before(cuarena_t *arena, const cuai_request_t *request)
{
    cuai_assert_locked(arena);
    cuarena_heap_t *heap = arena->heaps[cuai_region_for(arena, request->region)];
    bool due = request->stream != 0 && cuai_look_is_due(arena, request->size);
    bool split = cuai_heap_is_split_up(heap);
    if (CUAI_LIKELY(!due && !split) || cuai_frame_within(CUAI_FRAME_MEMORY, arena->memory.counted))
        return;
    cuai_kept_error_t before = cuai_error_kept();
    if (due)
        arena->unlooked = arena->unlooked_bytes = 0;
    if (due && cuai_gains_by_looks(arena))
        look(arena);
    if (split)
        join_pieces(arena, heap, request->stream);
    cuai_error_restore(&before);
}

/* ---- Idle bytes that stay where they are ------------------------------- */

static cuarena_status_t await_freed(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_first_error_t first = cuai_first_begin();
    cuarena_status_t status = cuai_stream_cover(arena, s);
    bool any = s->behind_closed != 0 && cuai_stream_bytes(arena, s, !s->turn) != 0;
    if (status == CUARENA_OK && any)
        status = cuai_timeline_see(arena, 0, cuai_closed(s), true);
    cuai_first_note(&first, status);
    return cuai_first_end(&first);
}

cuarena_status_t cuai_await_freed(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s;
    cuai_reclaim_begin(arena);
    cuarena_status_t status = cuai_uses_reclaim(arena, CUAI_USES_WAIT);
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (status == CUARENA_OK && (number == 0 || n == number))
            status = await_freed(arena, s);
    cuai_reclaim_end(arena);
    return status;
}

void cuai_stream_return_idle(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    bool stays = arena->config.steal == CUARENA_STEAL_NEVER && !s->released;
    if (!stays || !reclaim_own(arena, s))
        cuai_stream_reclaim(arena, s, false);
}

/* From now on no call uses the handle. The open free list is empty. */
static void end_handle(cuarena_t *arena, cuai_stream_t *s)
{
    s->released = true;
    forget_lag(arena, s);
    cuai_stream_want_event(arena, s);
    cuai_stream_unlearn(arena, s);
}

void cuai_streams_make_room(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    (void)cuai_reclaim_all(arena, false, NULL);
    cuai_reclaim_begin(arena);
    for (cuai_stream_t *s; (s = cuai_stream_left_idle(arena)) != NULL;) {
        end_handle(arena, s);
        cuai_timeline_drop(arena, cuai_closed(s));
    }
    cuai_reclaim_end(arena);
}

/* ---- Idle? ------------------------------------------------------------- */

/* Whether the last event of a released stream is only there for blocks that were allocated on it.
 */
static bool has_nothing_behind(const cuarena_t *arena, const cuai_stream_t *s)
{
    return s->released && s->cached == 0 && cuai_stream_bytes(arena, s, !s->turn) == 0;
}

/* A stream on which work behind freed bytes may be under way; NULL: there is none. */
static const cuai_stream_t *unreclaimed(const cuarena_t *arena)
{
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if ((s->behind_closed != 0 && !has_nothing_behind(arena, s)) || has_open(arena, s))
            return s;
    return NULL;
}

static cuarena_status_t still_busy(const cuarena_t *arena)
{
    const cuai_stream_t *s = unreclaimed(arena);
    if (s == NULL)
        return cuai_fail(CUARENA_BUSY, "work that uses blocks or moves them is under way; "
                                       "wait for it, or destroy by force");
    return cuai_fail(CUARENA_BUSY,
                     "work behind bytes freed on stream %p may be under way; "
                     "wait for it, or destroy by force",
                     (void *)s->handle);
}

static bool is_idle(cuarena_t *arena)
{
    cuai_reclaim_begin(arena);
    poll_streams(arena, true);
    cuai_reclaim_end(arena);
    return unreclaimed(arena) == NULL && arena->uses.first == NULL && arena->moved.serial == 0;
}

/* A device takes some microseconds to pass an event, also on an idle stream. */
#define ASKED_OFTEN 32

/* Asks each stream, for a memory that cannot ask about all work at once. Streams that were not
 * released must still exist. */
static cuarena_status_t ask_each_stream(cuarena_t *arena)
{
    for (int i = 0; i < ASKED_OFTEN; i++) {
        cuarena_status_t status = cuai_reclaim_all(arena, false, NULL);
        if (status != CUARENA_OK || is_idle(arena))
            return status;
    }
    return CUARENA_BUSY;
}

/* If all work is done, the blocks that wait for uses end. */
cuarena_status_t cuai_check_idle(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    bool captured = false;
    if (arena->stream_count == 0)
        return CUARENA_OK;
    if (!cuai_is_lost(arena) && !is_idle(arena)) /* the handles of streams may be dead */
        status = cuai_unlocked_see_all(arena, false, &captured);
    if (status == CUARENA_UNSUPPORTED)
        status = ask_each_stream(arena);
    if (status == CUARENA_BUSY && !captured)
        return still_busy(arena);
    if (status != CUARENA_OK && status != CUARENA_LOST)
        return status;
    cuai_reclaim_begin(arena);
    status = cuai_uses_reclaim(arena, CUAI_USES_DONE);
    cuai_reclaim_end(arena);
    return status;
}

/* ---- Forgetting -------------------------------------------------------- */

static void reset_stream(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_counter_clear(&s->counter);
    reclaim_freelist(arena, s, 0);
    reclaim_freelist(arena, s, 1);
    cuai_timeline_forgo(arena, cuai_closed(s));
    forget_lag(arena, s);
    s->behind_closed = 0;
    set_open(arena, s, s->eager || s->released ? 0 : CUAI_TO_COME);
}

void cuai_streams_reset(cuarena_t *arena)
{
    CUAI_ASSERT(!arena->reclaiming);
    cuai_uses_clear(arena);
    cuai_aliases_forget_waits(arena);
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        reset_stream(arena, s);
}

/* ---- One stream's frees and end ---------------------------------------- */

bool cuai_stream_is_unasked(const cuarena_t *arena, const cuai_stream_t *s)
{
    return s->thread != 0 && !s->asked && arena->memory.driver_streams &&
           arena->config.events != CUARENA_EVENTS_EAGER;
}

cuarena_status_t cuai_stream_note_free(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = number == 0 ? NULL : cuai_stream(arena, number);
    while (s != NULL && s->recording)
        cuai_arena_wait(arena);
    if (s == NULL || !s->eager || s->released)
        return CUARENA_OK;
    if (cuai_stream_is_unasked(arena, s)) {
        cuai_stream_want_event(arena, s);
        return CUARENA_OK;
    }
    uint64_t before = s->events_wanted;
    cuai_point_t now = {number, 0};
    cuarena_status_t status = cuai_timeline_record(arena, &now, false);
    if (status == CUARENA_OK && s->events_wanted == before) {
        set_open(arena, s, now.serial);
        return status;
    }
    cuai_timeline_forgo(arena, now);
    cuai_stream_want_event(arena, s);
    return status == CUARENA_BUSY || status == CUARENA_OUT_OF_MEMORY ? CUARENA_OK : status;
}

/* Records the last event of the stream, which stands for all earlier ones. No call uses the handle.
 * Drops the lock. */
static cuarena_status_t close_for_good(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    CUAI_ASSERT(!s->released && s->touching == 0);
    cuai_point_t last = {s->number, 0};
    s->releasing = true;
    cuai_stream_unlearn(arena, s);
    cuarena_status_t status = cuai_timeline_record(arena, &last, true);
    s->releasing = false;
    if (status != CUARENA_OK)
        return status;
    cuai_point_t old = cuai_closed(s);
    reopen(arena, s);
    take_turns(arena, s);
    end_handle(arena, s);
    s->behind_closed = last.serial;
    cuai_timeline_drop(arena, old);
    return CUARENA_OK;
}

/* Waits until no call uses the handle, and then the caller reclaims. Calls that come later wait for
 * the event, and find the stream released. Drops the lock. */
static void reclaim_untouched(cuarena_t *arena, const cuai_stream_t *s)
{
    cuai_assert_locked(arena);
    while (arena->reclaiming || s->touching != 0)
        cuai_arena_wait(arena);
    arena->reclaiming = true;
}

cuarena_status_t cuai_stream_release(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = cuai_stream(arena, number);
    reclaim_untouched(arena, s);
    cuarena_status_t status = CUARENA_OK;
    if (!s->released)
        status = close_for_good(arena, s);
    cuai_reclaim_end(arena);
    return status;
}
