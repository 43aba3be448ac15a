#include "arena/unlocked.h"

#include "arena/arena.h"

void cuai_set_lost(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (cuai_is_lost(arena))
        return;
    (void)cuai_text_plain(arena->lost_by, sizeof arena->lost_by, cuarena_last_error());
    cuai_slow_set(arena, CUAI_SLOW_LOST, true);
}

cuarena_status_t cuai_note_loss(cuarena_t *arena, cuarena_status_t status)
{
    if (status == CUARENA_LOST)
        cuai_set_lost(arena);
    return status;
}

cuarena_status_t cuai_unlocked_identify(cuarena_t *arena, cuarena_stream_t handle,
                                        cuarena_stream_info_t *info)
{
    cuai_unlock(&arena->lock);
    cuarena_status_t status = arena->memory.ops.identify(arena->memory.user, handle, info);
    cuai_arena_lock(arena);
    return cuai_note_loss(arena, status);
}

/* To record all work of a context ends the captures in it. */
static cuarena_status_t check_may_record(const cuarena_t *arena, const cuai_stream_t *s)
{
    if (arena->capturing == 0 || cuai_stream_is_mine(s))
        return cuai_check_captured(arena, s->number);
    return cuai_fail(CUARENA_BUSY, "work of another thread's default stream cannot be "
                                   "waited for before open capture sessions end");
}

/* No session begins meanwhile. */
static void begin_marking_all(cuarena_t *arena)
{
    CUAI_ASSERT(arena->capturing == 0);
    arena->marking_all++;
    cuai_unlock(&arena->lock);
}

static void end_marking_all(cuarena_t *arena)
{
    cuai_arena_lock(arena);
    arena->marking_all--;
    cuai_cond_wake(&arena->changed);
}

static cuarena_status_t mark(cuarena_t *arena, cuarena_stream_t handle, void **event)
{
    cuai_unlock(&arena->lock);
    cuarena_status_t status = arena->memory.ops.mark(arena->memory.user, handle, event);
    cuai_arena_lock(arena);
    return status;
}

/* Records the default stream of another thread. */
static cuarena_status_t mark_thread(cuarena_t *arena, cuarena_stream_t handle, void **event)
{
    begin_marking_all(arena);
    cuarena_status_t status = cuai_memory_mark_thread(&arena->memory, handle, event);
    end_marking_all(arena);
    return status;
}

cuarena_status_t cuai_unlocked_record(cuarena_t *arena, const cuai_stream_t *s, void **event)
{
    cuarena_stream_t handle = s->handle;
    bool mine = cuai_stream_is_mine(s);
    void *made = *event;
    CUAI_ASSERT(s->touching != 0 && !s->released);
    cuarena_status_t status = check_may_record(arena, s);
    if (status != CUARENA_OK)
        return status;
    status = mine ? mark(arena, handle, &made) : mark_thread(arena, handle, &made);
    if (status == CUARENA_OK)
        *event = made;
    return cuai_note_loss(arena, status);
}

cuarena_status_t cuai_unlocked_see(cuarena_t *arena, void *event, uint32_t number, bool wait)
{
    CUAI_ASSERT(event != NULL && (wait || number == 0));
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    cuarena_stream_t handle = cuai_stream_touch(arena, number);
    bool host = handle == CUARENA_NO_STREAM;
    cuarena_status_t status = cuai_check_captured(arena, number);
    if (status == CUARENA_OK) {
        *(host ? &arena->host_waits : &arena->stream_waits) += wait;
        cuai_unlock(&arena->lock);
        status = wait ? ops->wait(arena->memory.user, event, handle, host)
                      : ops->query(arena->memory.user, event);
        cuai_arena_lock(arena);
    }
    cuai_stream_untouch(arena, number);
    return cuai_note_loss(arena, status);
}

void cuai_unlocked_discard(cuarena_t *arena, void *event)
{
    if (event == NULL)
        return;
    cuai_unlock(&arena->lock);
    arena->memory.ops.unmark(arena->memory.user, event);
    cuai_arena_lock(arena);
}

cuarena_status_t cuai_unlocked_synchronize(cuarena_t *arena, uint32_t number)
{
    cuarena_stream_t handle;
    cuarena_status_t status = cuai_stream_touch_for_work(arena, number, &handle);
    if (status == CUARENA_OK && handle != CUARENA_NO_STREAM) {
        arena->host_waits++;
        cuai_unlock(&arena->lock);
        status = cuai_memory_synchronize(&arena->memory, handle);
        cuai_arena_lock(arena);
    }
    cuai_stream_untouch(arena, number);
    return cuai_note_loss(arena, status);
}

void cuai_await_queued(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_kept_error_t words = cuai_error_kept();
    cuarena_status_t status = cuai_unlocked_synchronize(arena, number);
    cuai_error_restore(&words);
    if (status == CUARENA_OK || cuai_is_lost(arena))
        return;
    cuai_error_add("; %s is lost: nobody can tell when the copy that was queued is done",
                   arena->label);
    cuai_set_lost(arena);
}

cuarena_status_t cuai_unlocked_see_all(cuarena_t *arena, bool wait, bool *captured_out)
{
    void *event = NULL;
    if (captured_out != NULL)
        *captured_out = false;
    if (arena->capturing != 0)
        return CUARENA_UNSUPPORTED;
    begin_marking_all(arena);
    cuarena_status_t status = arena->memory.ops.mark(arena->memory.user, CUARENA_NO_STREAM, &event);
    end_marking_all(arena);
    if (captured_out != NULL)
        *captured_out = status == CUARENA_BUSY;
    if (status == CUARENA_OK)
        status = cuai_unlocked_see(arena, event, 0, wait);
    cuai_unlocked_discard(arena, event);
    return cuai_note_loss(arena, status);
}
