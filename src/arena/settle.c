/*
 * Settling: bytes that were freed on a stream become everybody's when the work
 * before the free is done.
 *
 * One thread at a time settles (`settling`), so that no marker is asked about,
 * waited for and ended at once. It lets go of the lock for each call of the
 * memory.
 */
#include "arena/arena.h"

void cuai_settle_begin(cuarena_t *arena)
{
    while (arena->settling)
        cuai_arena_wait(arena);
    arena->settling = true;
}

void cuai_settle_end(cuarena_t *arena)
{
    arena->settling = false;
    cuai_streams_recycle(arena);
    cuai_event_wake(&arena->changed);
}

cuarena_status_t cuai_note_loss(cuarena_t *arena, cuarena_status_t status)
{
    if (status == CUARENA_LOST)
        arena->slow |= CUAI_SLOW_LOST;
    return status;
}

/* ---- One stream -------------------------------------------------------- */

/* Free bytes of one of the stream's two lanes, in all regions. */
static uint64_t lane_bytes(const cuarena_t *arena, const cuai_stream_t *s,
                           uint32_t which)
{
    uint64_t bytes = 0;
    for (int region = 0; region < CUAI_LANED; region++)
        if (arena->heaps[region] != NULL)
            bytes += arena->heaps[region]
                         ->lanes[s->lanes[region][which]]
                         ->free_bytes;
    return bytes;
}

cuarena_status_t cuai_stream_mark(cuarena_t *arena, const cuai_stream_t *s,
                                  void **marker)
{
    cuarena_stream_t handle = s->handle;
    void *made = *marker;
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        arena->memory.ops.mark(arena->memory.user, handle, &made);
    cuai_lock(&arena->lock);
    if (status == CUARENA_OK)
        *marker = made;
    return cuai_note_loss(arena, status);
}

/* The closed lane's ranges join the open one. */
static void reopen(cuarena_t *arena, const cuai_stream_t *s)
{
    for (int region = 0; region < CUAI_LANED; region++)
        if (arena->heaps[region] != NULL)
            cuarena_heap_lane_merge(arena->heaps[region],
                                    s->lanes[region][!s->turn],
                                    s->lanes[region][s->turn]);
}

static bool can_close(const cuarena_t *arena, const cuai_stream_t *s)
{
    return s->marker == NULL && !s->released && !s->marking &&
           lane_bytes(arena, s, s->turn) != 0;
}

/* An eager stream's frees have recorded the marker: nobody else could on a
 * thread's default stream. */
static cuarena_status_t close_lane(cuarena_t *arena, cuai_stream_t *s)
{
    if (!can_close(arena, s))
        return CUARENA_OK;
    s->turn = !s->turn;
    if (s->eager) {
        s->marker = s->latest;
        s->latest = NULL;
        return CUARENA_OK;
    }
    void *marker = NULL;
    cuarena_status_t status = cuai_stream_mark(arena, s, &marker);
    if (status == CUARENA_OK)
        s->marker = marker;
    else
        reopen(arena, s);
    return status;
}

/* Its marker is complete. Steps out. */
static uint64_t settle_closed(cuarena_t *arena, cuai_stream_t *s)
{
    uint64_t bytes = lane_bytes(arena, s, !s->turn);
    for (int region = 0; region < CUAI_LANED; region++)
        if (arena->heaps[region] != NULL)
            cuarena_heap_lane_settle(arena->heaps[region],
                                     s->lanes[region][!s->turn]);
    void *marker = s->marker;
    s->marker = NULL;
    cuai_unlock(&arena->lock);
    arena->memory.ops.unmark(arena->memory.user, marker);
    cuai_lock(&arena->lock);
    return bytes;
}

static cuarena_status_t ask(cuarena_t *arena, void *marker)
{
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        arena->memory.ops.query(arena->memory.user, marker);
    cuai_lock(&arena->lock);
    return cuai_note_loss(arena, status);
}

static cuarena_status_t await(cuarena_t *arena, void *marker)
{
    cuai_unlock(&arena->lock);
    cuarena_status_t status = arena->memory.ops.wait(arena->memory.user, marker,
                                                     CUARENA_NO_STREAM, 1);
    cuai_lock(&arena->lock);
    return cuai_note_loss(arena, status);
}

static uint64_t poll(cuarena_t *arena, cuai_stream_t *s)
{
    bool done = s->marker != NULL && ask(arena, s->marker) == CUARENA_OK;
    return done ? settle_closed(arena, s) : 0;
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

static uint64_t poll_all(cuarena_t *arena)
{
    uint64_t bytes = cuai_uses_settle(arena, false);
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;)
        bytes += poll(arena, s);
    return bytes;
}

static cuarena_status_t close_all(cuarena_t *arena, uint32_t except)
{
    cuarena_status_t status = CUARENA_OK;
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;) {
        cuarena_status_t one = n == except ? CUARENA_OK : close_lane(arena, s);
        if (status == CUARENA_OK)
            status = one;
    }
    return status;
}

uint64_t cuai_settle_ready(cuarena_t *arena, uint32_t except)
{
    if (arena->stream_count == 0)
        return 0;
    cuai_settle_begin(arena);
    uint64_t bytes = poll_all(arena);
    if (bytes == 0 && close_all(arena, except) == CUARENA_OK)
        bytes = poll_all(arena);
    cuai_settle_end(arena);
    return bytes;
}

/* The stream whose closed lane has most; NULL: none has any. */
static cuai_stream_t *fullest(const cuarena_t *arena)
{
    cuai_stream_t *best = NULL;
    uint64_t most = 0;
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;) {
        uint64_t bytes = s->marker == NULL ? 0 : lane_bytes(arena, s, !s->turn);
        if (bytes > most) {
            most = bytes;
            best = s;
        }
    }
    return best;
}

uint64_t cuai_settle_one(cuarena_t *arena)
{
    if (arena->stream_count == 0)
        return 0;
    cuai_settle_begin(arena);
    cuai_stream_t *s = fullest(arena);
    uint64_t bytes = 0;
    if (s != NULL && await(arena, s->marker) == CUARENA_OK)
        bytes = settle_closed(arena, s);
    if (s == NULL)
        bytes = cuai_uses_settle(arena, true);
    cuai_settle_end(arena);
    return bytes;
}

/* What is closed now, and what is open. */
static cuarena_status_t drain(cuarena_t *arena, uint64_t *bytes)
{
    cuai_stream_t *s;
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;) {
        while (status == CUARENA_OK && s->marker != NULL) {
            status = await(arena, s->marker);
            if (status == CUARENA_OK)
                *bytes += settle_closed(arena, s);
            if (status == CUARENA_OK)
                status = close_lane(arena, s);
        }
    }
    return status;
}

cuarena_status_t cuai_settle_all(cuarena_t *arena, bool wait,
                                 uint64_t *settled_out)
{
    uint64_t bytes = 0;
    cuai_settle_begin(arena);
    bytes += poll_all(arena);
    cuarena_status_t status = close_all(arena, 0);
    if (status == CUARENA_OK && wait)
        status = drain(arena, &bytes);
    if (status == CUARENA_OK && wait)
        bytes += cuai_uses_settle(arena, true);
    bytes += poll_all(arena);
    cuai_settle_end(arena);
    if (settled_out != NULL)
        *settled_out = bytes;
    return status;
}

/* ---- Idle? ------------------------------------------------------------- */

/* A stream behind whose freed bytes work may be under way. */
static const cuai_stream_t *unsettled(const cuarena_t *arena)
{
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;)
        if (s->marker != NULL || lane_bytes(arena, s, s->turn) != 0)
            return s;
    return NULL;
}

/* Handles may be dead by now: asks about all work of the context instead. */
static cuarena_status_t ask_all_work(cuarena_t *arena)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    void *marker = NULL;
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        ops->mark(arena->memory.user, CUARENA_NO_STREAM, &marker);
    if (status == CUARENA_OK)
        status = ops->query(arena->memory.user, marker);
    if (marker != NULL)
        ops->unmark(arena->memory.user, marker);
    cuai_lock(&arena->lock);
    return cuai_note_loss(arena, status);
}

static cuarena_status_t still_busy(const cuarena_t *arena)
{
    const cuai_stream_t *s = unsettled(arena);
    if (s == NULL)
        return cuai_fail(CUARENA_BUSY,
                         "work that uses blocks or moves them is under way; "
                         "wait for it, or destroy by force");
    return cuai_fail(CUARENA_BUSY,
                     "work behind bytes freed on stream %p may be under way; "
                     "wait for it, or destroy by force",
                     (void *)s->handle);
}

cuarena_status_t cuai_check_idle(cuarena_t *arena)
{
    if (arena->stream_count == 0 || (arena->slow & CUAI_SLOW_LOST))
        return CUARENA_OK;
    cuai_settle_begin(arena);
    poll_all(arena);
    cuai_settle_end(arena);
    bool moving = cuai_moving_stream(arena) != 0;
    if (unsettled(arena) == NULL && arena->uses.first == NULL && !moving)
        return CUARENA_OK;
    cuarena_status_t status = ask_all_work(arena);
    if (status != CUARENA_BUSY)
        return status == CUARENA_LOST ? CUARENA_OK : status;
    return still_busy(arena);
}

/* ---- Forgetting -------------------------------------------------------- */

/* Without the lock. */
static void unmark_both(const cuarena_t *arena, void *const old[2])
{
    for (int i = 0; i < 2; i++)
        if (old[i] != NULL)
            arena->memory.ops.unmark(arena->memory.user, old[i]);
}

static void reset_stream(cuarena_t *arena, cuai_stream_t *s)
{
    for (int region = 0; region < CUAI_LANED; region++)
        for (int i = 0; arena->heaps[region] != NULL && i < 2; i++)
            cuarena_heap_lane_settle(arena->heaps[region], s->lanes[region][i]);
    void *old[2] = {s->marker, s->latest};
    s->marker = NULL;
    s->latest = NULL;
    cuai_unlock(&arena->lock);
    unmark_both(arena, old);
    cuai_lock(&arena->lock);
}

void cuai_streams_reset(cuarena_t *arena)
{
    cuai_settle_begin(arena);
    cuai_uses_clear(arena);
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = next(arena, &n)) != NULL;) {
        s->counts.frees += s->counts.live_blocks;
        s->counts.live_blocks = 0;
        s->counts.live_bytes = 0;
        s->counts.requested_bytes = 0;
        reset_stream(arena, s);
    }
    cuai_settle_end(arena);
}

/* ---- One stream's frees and end ---------------------------------------- */

cuarena_status_t cuai_stream_note_free(cuarena_t *arena, uint32_t number)
{
    if (number == 0 || !cuai_stream(arena, number)->eager)
        return CUARENA_OK;
    cuai_stream_t *s = cuai_stream(arena, number);
    while (s->marking)
        cuai_arena_wait(arena);
    s->marking = true;
    cuarena_status_t status = cuai_stream_mark(arena, s, &s->latest);
    s->marking = false;
    cuai_event_wake(&arena->changed);
    return status;
}

/* The marker covers what an earlier one covered. */
static cuarena_status_t close_for_good(cuarena_t *arena, cuai_stream_t *s)
{
    while (s->marking)
        cuai_arena_wait(arena);
    void *marker = NULL;
    cuarena_status_t status = cuai_stream_mark(arena, s, &marker);
    if (status != CUARENA_OK)
        return status;
    void *old[2] = {s->marker, s->latest};
    reopen(arena, s);
    s->turn = !s->turn;
    s->marker = marker;
    s->latest = NULL;
    s->released = true;
    cuai_unlock(&arena->lock);
    unmark_both(arena, old);
    cuai_lock(&arena->lock);
    return CUARENA_OK;
}

cuarena_status_t cuai_stream_release(cuarena_t *arena, uint32_t number)
{
    cuai_settle_begin(arena);
    cuarena_status_t status = CUARENA_OK;
    if (!cuai_stream(arena, number)->released)
        status = close_for_good(arena, cuai_stream(arena, number));
    cuai_settle_end(arena);
    return status;
}
