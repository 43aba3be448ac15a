/*
 * Reclaiming: bytes that were freed on a stream become idle when the work before the free is done.
 *
 * One thread at a time reclaims (`reclaiming`), so that no event is asked about, waited for and
 * ended at once. It drops the lock for each call of the memory. Streams keep their numbers
 * meanwhile.
 *
 * Invariant: nothing is in a closed free list without an event, and nothing in the open free list
 * of an eager stream without `open_event`, unless `lacks_event` says so.
 */
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "arena/uses.h"

void cuai_reclaim_begin(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    while (arena->reclaiming)
        cuai_arena_wait(arena);
    arena->reclaiming = true;
}

void cuai_reclaim_end(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->reclaiming);
    arena->reclaiming = false;
    cuai_streams_recycle(arena);
    cuai_cond_wake(&arena->changed);
}

/* ---- The memory's calls ------------------------------------------------ */

cuarena_status_t cuai_stream_mark(cuarena_t *arena, const cuai_stream_t *s, void **event)
{
    cuai_assert_locked(arena);
    uint32_t number = s->number;
    cuarena_status_t status = CUARENA_OK;
    if (cuai_stream_touch(arena, number) != CUARENA_NO_STREAM)
        status = cuai_unlocked_record(arena, s, event);
    cuai_stream_untouch(arena, number);
    return status;
}

/* Records an event as the only thread that records on the stream: others that touch it came before,
 * or wait. Drops the lock. */
static cuarena_status_t record_alone(cuarena_t *arena, cuai_stream_t *s, void **event)
{
    CUAI_ASSERT(!s->recording);
    s->recording = true;
    s->touching++;
    CUAI_ASSERT(s->touching != 0);
    cuarena_status_t status = cuai_unlocked_record(arena, s, event);
    s->touching--;
    s->recording = false;
    cuai_cond_wake(&arena->changed);
    return status;
}

/* ---- One stream -------------------------------------------------------- */

/* The free bytes of one of the stream's two free lists, in all regions. */
static uint64_t freelist_bytes(const cuarena_t *arena, const cuai_stream_t *s, uint32_t which)
{
    uint64_t bytes = 0;
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            bytes += arena->heaps[region]->freelists[s->freelists[region][which]]->free_bytes;
    return bytes;
}

static void reclaim_freelist(cuarena_t *arena, const cuai_stream_t *s, uint32_t which)
{
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            cuarena_heap_freelist_reclaim(arena->heaps[region], s->freelists[region][which]);
}

/* The ranges of one free list join the other. */
static void merge_freelist(cuarena_t *arena, const cuai_stream_t *s, uint32_t which)
{
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            cuarena_heap_freelist_merge(arena->heaps[region], s->freelists[region][which],
                                        s->freelists[region][!which]);
}

static uint64_t freelist_ranges(const cuarena_t *arena, const cuai_stream_t *s, uint32_t which)
{
    uint64_t ranges = 0;
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            ranges += arena->heaps[region]->freelists[s->freelists[region][which]]->ranges;
    return ranges;
}

/* Whether anything was freed since the last event, so that another one is wanted. */
static bool has_open(const cuarena_t *arena, const cuai_stream_t *s)
{
    return (s->cache_lacks_event && s->cached != 0) || freelist_bytes(arena, s, s->turn) != 0;
}

/* Takes the event away from the stream before it is complete, so cached blocks need another one. */
static void *forget_event(cuai_stream_t *s)
{
    void *event = s->event;
    s->event = NULL;
    s->cache_lacks_event = s->cache_lacks_event || s->cached != 0;
    return event;
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
    if (freelist_ranges(arena, s, !s->turn) > freelist_ranges(arena, s, s->turn))
        take_turns(arena, s);
    merge_freelist(arena, s, !s->turn);
}

static bool can_close(const cuarena_t *arena, const cuai_stream_t *s)
{
    bool marks = !s->eager || s->lacks_event;
    return s->event == NULL && !s->released && !s->recording && !cuai_is_lost(arena) &&
           (marks ? s->capture == NULL : s->open_event != NULL) && has_open(arena, s);
}

/* Notes which events of others come before the stream's event: if that is recorded `now`, all for
 * which it has waited; nobody knows when the last event of an eager stream was recorded. */
static void note_seen_at_event(cuai_stream_t *s, bool now)
{
    if (now)
        memcpy(s->seen_at_event, s->seen, sizeof s->seen_at_event);
    else
        memset(s->seen_at_event, 0, sizeof s->seen_at_event);
}

/* Closes the open free list, if it can be. Frees that come while the event is recorded join the
 * other free list. BUSY: the stream is being captured, and its free list stays open. Drops the
 * lock. */
static cuarena_status_t close_freelist(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    if (!can_close(arena, s))
        return CUARENA_OK;
    take_turns(arena, s);
    s->cache_lacks_event = false;
    if (s->eager && !s->lacks_event) {
        s->event = s->open_event;
        s->open_event = NULL;
        s->serial = ++arena->event_serial;
        note_seen_at_event(s, false);
        return CUARENA_OK;
    }
    void *event = NULL;
    note_seen_at_event(s, true);
    cuarena_status_t status = record_alone(arena, s, &event);
    if (status != CUARENA_OK) {
        reopen(arena, s);
        s->cache_lacks_event = s->cached != 0;
        return status;
    }
    void *older = s->open_event;
    s->event = event;
    s->serial = ++arena->event_serial;
    s->open_event = NULL;
    s->lacks_event = false;
    cuai_unlocked_discard(arena, older);
    return CUARENA_OK;
}

/* Moves what the closed free list has into the open one and closes that, for one event behind both.
 * Drops the lock. */
static void close_both(cuarena_t *arena, cuai_stream_t *s)
{
    if (s->released || !has_open(arena, s))
        return;
    if (s->event != NULL)
        reopen(arena, s);
    void *older = forget_event(s);
    close_freelist(arena, s);
    cuai_unlocked_discard(arena, older);
}

void cuai_stream_close(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = cuai_stream(arena, number);
    cuai_reclaim_begin(arena);
    while (s->recording)
        cuai_arena_wait(arena);
    close_both(arena, s);
    cuai_reclaim_end(arena);
}

/* The event is complete: makes the bytes of the closed free list idle. Drops the lock. */
static void reclaim_closed(cuarena_t *arena, cuai_stream_t *s, cuai_gain_t *gain)
{
    CUAI_ASSERT(arena->reclaiming);
    CUAI_ASSERT(s->event != NULL);
    void *event = s->event;
    gain->idle += freelist_bytes(arena, s, !s->turn);
    reclaim_freelist(arena, s, !s->turn);
    s->event = NULL;
    s->done = s->serial;
    cuai_unlocked_discard(arena, event);
}

/* Reclaims the closed free list if its event is complete, else BUSY. Drops the lock. */
static cuarena_status_t poll(cuarena_t *arena, cuai_stream_t *s, cuai_gain_t *gain)
{
    if (s->event == NULL || cuai_is_lost(arena))
        return CUARENA_OK;
    cuarena_status_t status = cuai_unlocked_query(arena, s->event);
    if (status == CUARENA_OK)
        reclaim_closed(arena, s, gain);
    return status;
}

cuarena_status_t cuai_stream_poll(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_gain_t gain = {0, 0};
    return poll(arena, s, &gain);
}

void cuai_stream_reclaim_closed(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_gain_t gain = {0, 0};
    reclaim_closed(arena, s, &gain);
}

cuarena_status_t cuai_stream_cover(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    while (s->recording)
        cuai_arena_wait(arena);
    if (s->released || !has_open(arena, s))
        return CUARENA_OK;
    if (s->event != NULL)
        reopen(arena, s);
    void *older = forget_event(s);
    cuarena_status_t status = close_freelist(arena, s);
    cuai_unlocked_discard(arena, older);
    return status;
}

/* Waits for what is closed, if anything is, and reclaims it. Drops the lock. */
static cuarena_status_t await_closed(cuarena_t *arena, cuai_stream_t *s, cuai_gain_t *gain)
{
    CUAI_ASSERT(arena->reclaiming);
    if (s->event == NULL)
        return CUARENA_OK;
    cuarena_status_t status = cuai_unlocked_wait(arena, s->event, 0);
    if (status == CUARENA_OK)
        reclaim_closed(arena, s, gain);
    return status;
}

/* Waits for what is closed, closes what is open, and waits for that. Drops the lock. */
static cuarena_status_t drain(cuarena_t *arena, cuai_stream_t *s, cuai_gain_t *gain)
{
    CUAI_ASSERT(arena->reclaiming);
    if (s->event == NULL)
        return CUARENA_OK;
    cuarena_status_t status = await_closed(arena, s, gain);
    if (status == CUARENA_OK)
        status = close_freelist(arena, s);
    if (status == CUARENA_OK)
        status = await_closed(arena, s, gain);
    return status == CUARENA_BUSY ? CUARENA_OK : status;
}

void cuai_stream_tidy(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = cuai_stream(arena, number);
    if (s->eager && s->open_event == NULL && !s->lacks_event)
        merge_freelist(arena, s, s->turn);
    if (s->event == NULL)
        reclaim_freelist(arena, s, !s->turn);
}

/* ---- All streams ------------------------------------------------------- */

/* The next known stream; NULL: no more. */
static cuai_stream_t *next(const cuarena_t *arena, uint32_t *number)
{
    while (arena->streams != NULL && ++*number < CUAI_STREAM_NUMBERS)
        if (arena->streams[*number] != NULL)
            return arena->streams[*number];
    return NULL;
}

static bool has(const cuai_gain_t *gain)
{
    return gain->idle != 0 || gain->freed != 0;
}

/* Asks about copies of compactions as well, for calls are slow until these are done. Drops the
 * lock. */
static void poll_streams(cuarena_t *arena, cuai_gain_t *gain)
{
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;)
        poll(arena, s, gain);
    if (!cuai_is_lost(arena))
        cuai_moving_stream(arena);
}

static void poll_all(cuarena_t *arena, cuai_gain_t *gain)
{
    cuai_uses_reclaim(arena, CUAI_USES_ASK, gain);
    poll_streams(arena, gain);
}

bool cuai_reclaim_complete(cuarena_t *arena)
{
    CUAI_ASSERT(arena->reclaiming);
    cuai_gain_t gain = {0, 0};
    poll_all(arena, &gain);
    return has(&gain);
}

static cuarena_status_t close_all(cuarena_t *arena, uint32_t except)
{
    cuarena_status_t status = CUARENA_OK;
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;) {
        cuarena_status_t one = n == except ? CUARENA_OK : close_freelist(arena, s);
        if (status == CUARENA_OK && one != CUARENA_BUSY)
            status = one;
    }
    return status;
}

bool cuai_reclaim_ready(cuarena_t *arena, uint32_t except)
{
    cuai_gain_t gain = {0, 0};
    cuai_reclaim_begin(arena);
    poll_all(arena, &gain);
    if (!has(&gain)) {
        close_all(arena, except);
        poll_all(arena, &gain);
    }
    cuai_reclaim_end(arena);
    return has(&gain);
}

/* The stream whose closed free list has most; NULL: none has any. */
static cuai_stream_t *fullest(const cuarena_t *arena)
{
    cuai_stream_t *best = NULL;
    uint64_t most = 0;
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;) {
        uint64_t bytes = s->event == NULL ? 0 : freelist_bytes(arena, s, !s->turn);
        if (bytes > most) {
            most = bytes;
            best = s;
        }
    }
    return best;
}

/* Looks for an event with nothing behind it, which is left where the bytes were stolen or were
 * cached blocks only, and which keeps the open free list from being closed. Drops the lock. */
static void await_open(cuarena_t *arena, uint32_t except, cuai_gain_t *gain)
{
    cuai_stream_t *s;
    for (uint32_t n = 0; !has(gain) && (s = next(arena, &n)) != NULL;)
        if (n != except && freelist_bytes(arena, s, s->turn) != 0 &&
            await_closed(arena, s, gain) == CUARENA_OK && !has(gain) &&
            close_freelist(arena, s) == CUARENA_OK)
            await_closed(arena, s, gain);
}

bool cuai_reclaim_one(cuarena_t *arena, uint32_t except)
{
    cuai_gain_t gain = {0, 0};
    cuai_reclaim_begin(arena);
    cuai_stream_t *s = fullest(arena);
    if (s == NULL)
        cuai_uses_reclaim(arena, CUAI_USES_WAIT, &gain);
    else
        await_closed(arena, s, &gain);
    if (s == NULL)
        await_open(arena, except, &gain);
    cuai_reclaim_end(arena);
    return has(&gain);
}

bool cuai_reclaim_mine(cuarena_t *arena, uint32_t number, bool wait)
{
    cuai_gain_t gain = {0, 0};
    cuai_reclaim_begin(arena);
    cuai_uses_reclaim(arena, wait ? CUAI_USES_WAIT : CUAI_USES_ASK, &gain);
    cuai_stream_t *s = number == 0 ? NULL : cuai_stream(arena, number);
    if (s != NULL && !has(&gain)) {
        close_freelist(arena, s);
        if (wait)
            drain(arena, s, &gain);
        else
            poll(arena, s, &gain);
    }
    cuai_reclaim_end(arena);
    return has(&gain);
}

/* Ends blocks that streams use first, so that their bytes are in a free list then. Drops the lock.
 * */
static cuarena_status_t reclaim_all(cuarena_t *arena, bool wait, cuai_gain_t *gain)
{
    CUAI_ASSERT(arena->reclaiming);
    cuarena_status_t status = CUARENA_OK;
    poll_all(arena, gain);
    if (wait)
        status = cuai_uses_reclaim(arena, CUAI_USES_WAIT, gain);
    if (status == CUARENA_OK)
        status = close_all(arena, 0);
    cuai_stream_t *s;
    for (uint32_t n = 0; wait && (s = next(arena, &n)) != NULL;)
        if (status == CUARENA_OK)
            status = drain(arena, s, gain);
    if (status == CUARENA_OK)
        poll_all(arena, gain);
    return status;
}

cuarena_status_t cuai_reclaim_all(cuarena_t *arena, bool wait, uint64_t *reclaimed_out)
{
    cuai_gain_t gain = {0, 0};
    cuai_reclaim_begin(arena);
    cuarena_status_t status = reclaim_all(arena, wait, &gain);
    cuai_reclaim_end(arena);
    if (reclaimed_out != NULL)
        *reclaimed_out = gain.idle;
    return status;
}

/* Opens the closed free list again. Its event stands for the open one too, if the stream is eager
 * and that has no event, for it is empty then. */
static bool reclaim_own(cuarena_t *arena, cuai_stream_t *s)
{
    if (s->released || freelist_bytes(arena, s, !s->turn) == 0)
        return false;
    reopen(arena, s);
    void *event = forget_event(s);
    if (s->eager && s->open_event == NULL && !s->recording) {
        s->open_event = event;
        event = NULL;
    }
    cuai_unlocked_discard(arena, event);
    return true;
}

bool cuai_reclaim_own(cuarena_t *arena, uint32_t number)
{
    cuai_reclaim_begin(arena);
    while (cuai_stream(arena, number)->recording)
        cuai_arena_wait(arena);
    bool any = reclaim_own(arena, cuai_stream(arena, number));
    cuai_reclaim_end(arena);
    return any;
}

/* With steal=never bytes stay in the free list that they are in. */
void cuai_reclaim_split_up(cuarena_t *arena, cuarena_heap_t *heap)
{
    if (cuai_heap_has_many_separators(heap) && arena->config.steal != CUARENA_STEAL_NEVER)
        (void)cuai_reclaim_all(arena, false, NULL);
    cuai_heap_allow_separators(heap);
}

/* ---- Idle bytes that stay where they are ------------------------------- */

static cuarena_status_t await_freed(cuarena_t *arena, cuai_stream_t *s)
{
    cuarena_status_t status = cuai_stream_cover(arena, s);
    bool any = s->event != NULL && freelist_bytes(arena, s, !s->turn) != 0;
    if (status == CUARENA_OK && any)
        status = cuai_unlocked_wait(arena, s->event, 0);
    return status == CUARENA_BUSY ? CUARENA_OK : status;
}

cuarena_status_t cuai_await_freed(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_gain_t gain = {0, 0};
    cuai_stream_t *s;
    cuai_reclaim_begin(arena);
    cuarena_status_t status = cuai_uses_reclaim(arena, CUAI_USES_WAIT, &gain);
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;)
        if (status == CUARENA_OK && (number == 0 || n == number))
            status = await_freed(arena, s);
    cuai_reclaim_end(arena);
    return status;
}

bool cuai_stream_is_idle(cuarena_t *arena, const cuai_stream_t *s)
{
    return s->event != NULL && !cuai_is_lost(arena) &&
           cuai_unlocked_query(arena, s->event) == CUARENA_OK;
}

void cuai_stream_return_idle(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    while (s->recording)
        cuai_arena_wait(arena);
    bool stays = arena->config.steal == CUARENA_STEAL_NEVER && !s->released;
    if (!stays || !reclaim_own(arena, s))
        cuai_stream_poll(arena, s);
}

void cuai_streams_make_room(cuarena_t *arena)
{
    cuai_gain_t gain = {0, 0};
    cuai_reclaim_begin(arena);
    poll_all(arena, &gain);
    close_all(arena, 0);
    poll_all(arena, &gain);
    uint32_t number;
    while ((number = cuai_stream_left_idle(arena)) != 0) {
        void *latest = cuai_stream(arena, number)->open_event;
        cuai_stream_forget(arena, number);
        cuai_unlocked_discard(arena, latest);
    }
    cuai_reclaim_end(arena);
}

/* ---- Idle? ------------------------------------------------------------- */

/* A stream on which work behind freed bytes may be under way; NULL: there is none. */
static const cuai_stream_t *unreclaimed(const cuarena_t *arena)
{
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;)
        if (s->event != NULL || has_open(arena, s))
            return s;
    return NULL;
}

/* Asks about all work of the context, because the handles of streams may be dead. Drops the lock.
 * */
static cuarena_status_t ask_all_work(cuarena_t *arena)
{
    void *event = NULL;
    cuarena_status_t status = cuai_unlocked_record_all(arena, &event);
    if (status == CUARENA_OK)
        status = cuai_unlocked_query(arena, event);
    cuai_unlocked_discard(arena, event);
    return status;
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
    cuai_gain_t gain = {0, 0};
    cuai_reclaim_begin(arena);
    poll_streams(arena, &gain);
    cuai_reclaim_end(arena);
    return unreclaimed(arena) == NULL && arena->uses.first == NULL && arena->moved.event == NULL;
}

/* A device takes some microseconds to pass an event, also on an idle stream. */
#define ASKED_OFTEN 32

/* For a memory that cannot ask about all work at once. Streams that were not released must still
 * exist. */
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
    if (arena->stream_count == 0)
        return CUARENA_OK;
    if (!cuai_is_lost(arena) && !is_idle(arena))
        status = ask_all_work(arena);
    if (status == CUARENA_UNSUPPORTED)
        status = ask_each_stream(arena);
    if (status == CUARENA_BUSY)
        return still_busy(arena);
    if (status != CUARENA_OK && status != CUARENA_LOST)
        return status;
    cuai_gain_t gain = {0, 0};
    cuai_reclaim_begin(arena);
    status = cuai_uses_reclaim(arena, CUAI_USES_DONE, &gain);
    cuai_reclaim_end(arena);
    return status;
}

/* ---- Forgetting -------------------------------------------------------- */

static void reset_stream(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    while (s->recording)
        cuai_arena_wait(arena);
    cuai_end_only_stream(arena);
    cuai_counter_clear(&s->counter);
    void *old[2] = {s->event, s->open_event};
    reclaim_freelist(arena, s, 0);
    reclaim_freelist(arena, s, 1);
    s->event = NULL;
    s->open_event = NULL;
    s->lacks_event = false;
    s->cache_lacks_event = false;
    cuai_unlocked_discard(arena, old[0]);
    cuai_unlocked_discard(arena, old[1]);
}

void cuai_streams_reset(cuarena_t *arena)
{
    cuai_reclaim_begin(arena);
    cuai_uses_clear(arena);
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;)
        reset_stream(arena, s);
    cuai_reclaim_end(arena);
}

/* ---- One stream's frees and end ---------------------------------------- */

/* Whether the stream is the only one, so that no other needs an event of it, and an event of all
 * work can stand in for its own. */
static bool is_alone(const cuarena_t *arena)
{
    return arena->stream_count == 1 && arena->memory.driver_streams &&
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
    if (is_alone(arena)) {
        s->lacks_event = true;
        return CUARENA_OK;
    }
    uint64_t takes = s->gathers;
    cuarena_status_t status = record_alone(arena, s, &s->open_event);
    bool later = status == CUARENA_BUSY || status == CUARENA_OUT_OF_MEMORY;
    if (status == CUARENA_OK && s->gathers == takes)
        s->lacks_event = false;
    else if (later)
        s->lacks_event = true;
    return later ? CUARENA_OK : status;
}

void cuai_stream_note_work(cuarena_t *arena, uint32_t number)
{
    cuarena_status_t status = cuai_stream_note_free(arena, number);
    if (status != CUARENA_OK)
        cuai_stream(arena, number)->lacks_event = true;
}

/* Records the last event of the stream, which stands for all earlier ones. No call uses the handle.
 * Drops the lock. */
static cuarena_status_t close_for_good(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming);
    CUAI_ASSERT(!s->released && s->touching == 0);
    void *event = NULL;
    note_seen_at_event(s, true);
    cuarena_status_t status = record_alone(arena, s, &event);
    if (status != CUARENA_OK) {
        note_seen_at_event(s, false); /* an older event may be there */
        return status;
    }
    s->serial = ++arena->event_serial;
    void *old[2] = {s->event, s->open_event};
    reopen(arena, s);
    take_turns(arena, s);
    s->event = event;
    s->open_event = NULL;
    s->cache_lacks_event = false;
    s->released = true;
    cuai_stream_unlearn(arena, s);
    cuai_unlocked_discard(arena, old[0]);
    cuai_unlocked_discard(arena, old[1]);
    return CUARENA_OK;
}

/* Waits until no call uses the handle, and then the caller reclaims. Calls that come later wait for
 * the event, and find the stream released. Drops the lock. */
static void reclaim_untouched(cuarena_t *arena, const cuai_stream_t *s)
{
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
