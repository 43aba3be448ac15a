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
        cuai_set_add(set, use->waits[i].number);
}

/* ---- Waiting ----------------------------------------------------------- */

/* Lets `number`, or with 0 the caller, wait for the work of stream `of`. A released stream has its
 * last event, or all its work is done. Drops the lock. */
static cuarena_status_t wait_for_stream(cuarena_t *arena, uint32_t of, uint32_t number)
{
    CUAI_ASSERT(arena->reclaiming && of != number);
    const cuai_stream_t *s = cuai_stream(arena, of);
    if (s == NULL || (s->released && s->event == NULL))
        return CUARENA_OK;
    uint64_t serial = s->serial;
    void *event = s->released ? s->event : NULL;
    cuarena_status_t status = CUARENA_OK;
    if (!s->released)
        status = cuai_stream_mark(arena, s, &event);
    if (status != CUARENA_OK)
        return status;
    status = cuai_unlocked_wait(arena, event, number);
    if (status == CUARENA_OK && number != 0)
        cuai_stream_saw(arena, number, of, serial);
    if (event != s->event)
        cuai_unlocked_discard(arena, event);
    return status;
}

cuarena_status_t cuai_order_before(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS && status == CUARENA_OK; n++)
        if (n != number && cuai_set_has(set, n))
            status = wait_for_stream(arena, n, number);
    cuai_reclaim_end(arena);
    return status == CUARENA_OK ? cuai_see_moves(arena, number) : status;
}

/* Waits for one stream after the other, also for the rest if a wait fails. Drops the lock. */
static cuarena_status_t wait_for_each(cuarena_t *arena)
{
    cuarena_status_t status = CUARENA_OK;
    cuai_reclaim_begin(arena);
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++) {
        cuarena_status_t one = wait_for_stream(arena, n, 0);
        if (one != CUARENA_OK)
            status = one;
    }
    cuai_reclaim_end(arena);
    return status;
}

/* Waits for all streams at once. UNSUPPORTED as cuai_unlocked_record_all. */
static cuarena_status_t wait_for_all(cuarena_t *arena)
{
    void *event = NULL;
    cuarena_status_t status = cuai_unlocked_record_all(arena, &event);
    if (status == CUARENA_OK)
        status = cuai_unlocked_wait(arena, event, 0);
    cuai_unlocked_discard(arena, event);
    return status;
}

cuarena_status_t cuai_wait_for_work(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (arena->stream_count == 0 || cuai_is_lost(arena))
        return CUARENA_OK;
    cuarena_status_t status = wait_for_all(arena);
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
        cuarena_status_t status = wait_for_all(arena);
        bool waited = status == CUARENA_OK || status == CUARENA_UNSUPPORTED;
        return waited && arena->stream_count != 0 ? wait_for_each(arena) : status;
    }
    cuai_reclaim_begin(arena);
    cuarena_status_t status = wait_for_stream(arena, number, 0);
    cuai_reclaim_end(arena);
    return status;
}

/* ---- Copies under way -------------------------------------------------- */

static void all_moved(cuarena_t *arena)
{
    CUAI_ASSERT(arena->moved.users == 0);
    void *event = arena->moved.event;
    arena->moved.event = NULL;
    cuai_slow_set(arena, CUAI_SLOW_MOVED, false);
    cuai_unlocked_discard(arena, event);
}

/* Notes copies with the event `done` of `number`, which is behind all earlier copies. There is
 * never a moment without an event. Drops the lock. */
static void note_moved(cuarena_t *arena, void *done, uint32_t number)
{
    CUAI_ASSERT(done != NULL && number != 0);
    while (arena->moved.users != 0)
        cuai_arena_wait(arena);
    void *old = arena->moved.event;
    arena->moved.event = done;
    arena->moved.stream = number;
    arena->moved.behind = cuai_stream(arena, number)->serial;
    arena->moved.serial++;
    cuai_slow_set(arena, CUAI_SLOW_MOVED, true);
    cuai_stream(arena, number)->saw_move = arena->moved.serial;
    cuai_unlocked_discard(arena, old);
}

/* The event stays while threads use it. Drops the lock. */
static cuarena_status_t wait_for_moves(cuarena_t *arena, uint32_t number)
{
    CUAI_ASSERT(arena->moved.event != NULL);
    const cuai_moved_t moved = arena->moved;
    arena->moved.users++;
    cuarena_status_t status = cuai_unlocked_wait(arena, moved.event, number);
    arena->moved.users--;
    if (status == CUARENA_OK && number != 0) {
        cuai_stream(arena, number)->saw_move = arena->moved.serial;
        cuai_stream_saw(arena, number, moved.stream, moved.behind);
    }
    if (status == CUARENA_OK && number == 0) {
        arena->moved.host_saw = arena->moved.serial;
        if (arena->moved.users == 0)
            all_moved(arena);
    }
    cuai_cond_wake(&arena->changed);
    return status;
}

cuarena_status_t cuai_see_moves(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    return cuai_has_unseen_moves(arena, number) ? wait_for_moves(arena, number) : CUARENA_OK;
}

uint32_t cuai_moving_stream(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (arena->moved.event == NULL)
        return 0;
    arena->moved.users++;
    void *event = arena->moved.event;
    cuarena_status_t status = cuai_unlocked_query(arena, event);
    arena->moved.users--;
    uint32_t number = arena->moved.stream;
    if (status == CUARENA_OK && arena->moved.users == 0)
        all_moved(arena);
    cuai_cond_wake(&arena->changed);
    return status == CUARENA_OK ? 0 : number;
}

/* Whether this thread can make the stream wait. The others wait when they next name a block of the
 * arena. */
static bool can_wait(const cuai_stream_t *s)
{
    return s != NULL && !s->released && cuai_stream_is_mine(s);
}

cuarena_status_t cuai_order_after(cuarena_t *arena, const cuai_stream_set_t *set, uint32_t number)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(number != 0);
    void *done = NULL;
    cuarena_status_t status = cuai_stream_mark(arena, cuai_stream(arena, number), &done);
    if (status != CUARENA_OK)
        return status;
    note_moved(arena, done, number);
    cuai_stream_note_work(arena, number); /* the bytes that they vacate are freed on it */
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS && status == CUARENA_OK; n++)
        if (cuai_set_has(set, n) && can_wait(cuai_stream(arena, n)))
            status = cuai_see_moves(arena, n);
    if (status == CUARENA_OK && arena->cpu_touches)
        status = cuai_see_moves(arena, 0);
    return status;
}
