/*
 * Order among streams around copies that the arena makes on one of them.
 *
 * Before the copies their stream waits for every stream that the moved blocks name. After them
 * these streams wait for it. What any other stream does with a block from then on is ordered when
 * it next names a block.
 */
#include "arena/stream_order.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "arena/uses.h"

void cuai_set_add_block(const cuarena_t *arena, cuai_stream_set_t *set, const cuarena_heap_t *heap,
                        cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    if (r->owner != 0)
        cuai_set_add(set, r->owner);
    const cuai_use_t *use =
        r->flags & CUAI_BLOCK_USED ? cuai_use_find(arena, cuai_id(heap, slot)) : NULL;
    for (uint32_t i = 0; use != NULL && i < use->count; i++)
        cuai_set_add(set, use->waits[i].stream);
}

/* ---- Waiting ----------------------------------------------------------- */

/* Lets `number`, or with 0 the caller, wait for the work of stream `of`. Drops the lock. */
static cuarena_status_t wait_for_stream(cuarena_t *arena, uint32_t of, uint32_t number)
{
    CUAI_ASSERT(of != number);
    cuai_point_t now = {of, 0};
    cuai_stream_t *s = cuai_stream(arena, of);
    if (s == NULL)
        return CUARENA_OK;
    s->callers++; /* it may be released meanwhile */
    cuarena_status_t status = cuai_timeline_record(arena, &now, false);
    if (status == CUARENA_OK)
        status = cuai_timeline_see(arena, number, now, true);
    cuai_timeline_drop(arena, now);
    cuai_stream_leave(arena, of);
    return status;
}

cuarena_status_t cuai_order_before(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t n = 0; status == CUARENA_OK && cuai_set_next(set, &n);)
        if (n != number)
            status = wait_for_stream(arena, n, number);
    return status == CUARENA_OK ? cuai_see_moves(arena, number) : status;
}

/* Waits for one stream after the other, also for the rest if a wait fails. Drops the lock. */
static cuarena_status_t wait_for_each(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++) {
        cuarena_status_t one = wait_for_stream(arena, n, 0);
        if (one != CUARENA_OK)
            status = one;
    }
    return status;
}

cuarena_status_t cuai_wait_for_work(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (arena->stream_count == 0 || cuai_is_lost(arena))
        return CUARENA_OK;
    cuarena_status_t status = cuai_unlocked_see_all(arena, true, NULL);
    if (status == CUARENA_UNSUPPORTED)
        status = wait_for_each(arena);
    return status == CUARENA_OK ? cuai_see_moves(arena, 0) : status;
}

cuarena_status_t cuai_wait_for_stream(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    if (cuai_is_lost(arena))
        return CUARENA_OK;
    if (number == 0) { /* a pool of the driver sees what a stream freed when that stream is waited
                          for, not by an event of all */
        cuarena_status_t status = cuai_unlocked_see_all(arena, true, NULL);
        bool waited = status == CUARENA_OK || status == CUARENA_UNSUPPORTED;
        return waited && arena->stream_count != 0 ? wait_for_each(arena) : status;
    }
    return wait_for_stream(arena, number, 0);
}

/* ---- Copies under way -------------------------------------------------- */

cuarena_status_t cuai_see_moves(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    if (!cuai_has_unseen_moves(arena, number))
        return status;
    cuai_stream_touch(arena, number); /* may wait; keeps it out of a new session meanwhile */
    if (cuai_has_unseen_moves(arena, number))
        status = cuai_timeline_see(arena, number, arena->moved, true);
    cuai_stream_untouch(arena, number);
    return status;
}

uint32_t cuai_moving_stream(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    (void)cuai_timeline_see(arena, 0, arena->moved, false);
    return arena->moved.stream;
}

cuarena_status_t cuai_order_free(cuarena_t *arena, uint32_t *number)
{
    CUAI_ASSERT(arena->inside != 0);
    if (*number == 0) {
        *number = cuai_moving_stream(arena);
        return CUARENA_OK;
    }
    cuarena_status_t status;
    do {
        status = cuai_see_moves(arena, *number);
        if (status == CUARENA_OK)
            status = cuai_stream_note_free(arena, *number);
    } while (status == CUARENA_OK && cuai_has_unseen_moves(arena, *number));
    return status;
}

/* Whether this thread can make the stream wait. The others wait when they next name a block of the
 * arena. */
static bool can_wait(const cuai_stream_t *s)
{
    return s != NULL && !s->released && cuai_stream_is_mine(s);
}

/* Copies that others wait for are behind the point. */
static void note_moved(cuarena_t *arena, cuai_point_t moved)
{
    cuai_point_t old = arena->moved;
    arena->moved = moved; /* it is behind all earlier copies */
    cuai_slow_set(arena, CUAI_SLOW_MOVED, true);
    cuai_timeline_drop(arena, old);
}

/* Lets the streams wait for copies; false: for one that was not possible. Drops the lock. */
static bool let_wait(cuarena_t *arena, const cuai_stream_set_t *set)
{
    cuai_assert_locked(arena);
    bool all = true;
    for (uint32_t n = 0; cuai_set_next(set, &n);)
        if (can_wait(cuai_stream(arena, n)))
            all = cuai_see_moves(arena, n) == CUARENA_OK && all;
    return all;
}

/* Waits for copies, without their event where that fails. Drops the lock. */
static cuarena_status_t await_copies(cuarena_t *arena, cuai_point_t moved)
{
    cuai_assert_locked(arena);
    if (cuai_see_moves(arena, 0) == CUARENA_OK)
        return CUARENA_OK;
    cuarena_status_t status = cuai_unlocked_synchronize(arena, moved.stream);
    if (status == CUARENA_OK && moved.serial != CUAI_TO_COME)
        cuai_note_seen(arena, 0, moved);
    return status;
}

/* Where an event or a wait fails, because a stream is captured by now or the driver fails, the
 * caller waits: the copies are on their way, and blocks are where these end. */
cuarena_status_t cuai_order_after(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(number != 0);
    cuai_point_t moved = {number, 0};
    cuarena_status_t status = cuai_timeline_record(arena, &moved, false);
    if (status == CUARENA_OK)
        note_moved(arena, moved);
    else
        status = cuai_unlocked_synchronize(arena, number);
    (void)cuai_stream_note_free(arena, number); /* the bytes that they vacate are freed on it */
    if (status == CUARENA_OK && (!let_wait(arena, set) || arena->cpu_touches))
        status = await_copies(arena, moved);
    return status;
}
