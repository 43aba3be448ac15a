#include "api/call.h"
#include "api/snapshot.h"
#include "arena/reclaim.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/unlocked.h"
#include "arena/watch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/frame.h"
#include "base/log.h"
#include "base/sized.h"

/* ---- The lock and the events ------------------------------------------- */

cuarena_status_t cuai_reentered(void)
{
    return cuai_fail(CUARENA_REENTERED, "this thread is in a call already: a signal handler "
                                        "interrupted it");
}

static cuarena_status_t left_behind(void)
{
    return cuai_fail(CUARENA_LOST, "another thread was in a call of the arena when this "
                                   "process was forked: here nobody ends what it began");
}

cuarena_status_t cuai_check_entry(const cuarena_t *arena, const char *what, bool outside)
{
    if (cuai_frame_within(CUAI_FRAME_MEMORY, arena->memory.counted))
        return cuai_fail(CUARENA_REENTERED, "%s was called from a function of the arena's memory",
                         what);
    if (outside && cuai_frame_within(CUAI_FRAME_RELOCATION, arena))
        return cuai_fail(CUARENA_REENTERED,
                         "%s was called from a relocation callback of the "
                         "same arena",
                         what);
    return CUARENA_OK;
}

/* The call is known to its thread from before it has the lock until after it let go of it, so that
 * a signal handler at any point is refused. */
static cuarena_status_t enter(cuai_call_t *call, const char *what, bool outside)
{
    cuarena_t *arena = call->arena;
    if (cuai_frame_in_call())
        return cuai_reentered();
    cuarena_status_t status = cuai_check_entry(arena, what, outside);
    if (status != CUARENA_OK)
        return status;
    cuai_frame_push(&call->frame, CUAI_FRAME_CALL, arena);
    if (!cuai_arena_enter_beside(arena)) {
        status = cuai_reentered();
    } else if (CUAI_UNLIKELY(arena->slow & CUAI_SLOW_LEFT)) {
        cuai_unlock(&arena->lock);
        status = left_behind();
    }
    if (CUAI_UNLIKELY(status != CUARENA_OK))
        cuai_frame_pop();
    else
        arena->inside++;
    return status;
}

static void leave(cuarena_t *arena)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_retired_t retired = {NULL, NULL};
    arena->inside--;
    if (CUAI_UNLIKELY(arena->slow & CUAI_SLOW_RETIRED))
        retired = cuai_take_retired(arena);
    cuai_unlock(&arena->lock);
    cuai_frame_pop();
    if (retired.done != NULL)
        retired.done(retired.user, arena);
}

cuarena_status_t cuai_call_begin(cuai_call_t *call, cuarena_t *arena, const char *what, int needs)
{
    if (arena == NULL)
        return cuai_null("arena");
    call->arena = arena;
    call->count = 0;
    call->waited = false;
    call->refused = false;
    call->stream = 0;
    cuarena_status_t status = enter(call, what, (needs & CUAI_CALL_OUTSIDE) != 0);
    if (status != CUARENA_OK)
        return cuai_told(status);
    if ((needs & CUAI_CALL_BESIDE) == 0)
        cuai_tcaches_flush(arena);
    call->event_fn = arena->event_fn;
    call->event_user = arena->event_user;
    if (needs & CUAI_CALL_WHOLE)
        status = cuai_call_check(arena);
    return status == CUARENA_OK ? status : cuai_call_end(call, status);
}

cuarena_status_t cuai_call_on(cuai_call_t *call, cuarena_stream_t stream)
{
    CUAI_ASSERT(call->arena->inside != 0 && call->stream == 0);
    return cuai_stream_find(call->arena, stream, false, &call->stream);
}

/* The words are copied first: the new error takes their place. */
static cuarena_status_t cannot_wait(cuarena_stream_t stream)
{
    cuai_kept_error_t why = cuai_error_kept();
    CUAI_ASSERT(why.error.status != CUARENA_OK);
    return cuai_fail(CUARENA_DRIVER, "stream: %p can be neither remembered nor waited for: %s",
                     (void *)stream, why.error.message);
}

cuarena_status_t cuai_call_on_free(cuai_call_t *call, cuarena_stream_t stream)
{
    cuarena_t *arena = call->arena;
    cuarena_status_t status = cuai_call_on(call, stream);
    if (status != CUARENA_OUT_OF_MEMORY && status != CUARENA_LIMIT)
        return status;
    arena->host_waits++;
    cuai_unlock(&arena->lock);
    cuai_log(CUARENA_LOG_INFO, "%s: a free waits for stream %p: %s", arena->label, (void *)stream,
             cuarena_last_error());
    status = cuai_mem_await(arena, stream);
    if (status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LIMIT)
        status = cannot_wait(stream);
    cuai_arena_lock(arena);
    call->waited = status == CUARENA_OK;
    return cuai_note_loss(arena, status);
}

static void deliver(cuai_call_t *call)
{
    CUAI_ASSERT(call->count <= CUAI_CALL_EVENTS);
    cuai_frame_t frame;
    cuai_frame_push(&frame, CUAI_FRAME_EVENT, call->arena);
    for (int i = 0; i < call->count; i++) {
        cuai_log_event(call->arena, &call->events[i]);
        if (call->event_fn != NULL)
            call->event_fn(call->event_user, &call->events[i]);
    }
    cuai_frame_pop();
    call->count = 0;
}

/* The error that lost the arena, unless the log has it or gets it as the error of this call, which
 * may have begun for another reason; NULL: there is nothing to tell. */
static const char *untold_loss(cuarena_t *arena, cuarena_status_t status)
{
    cuai_assert_locked(arena);
    if (!cuai_is_lost(arena) || arena->lost_told)
        return NULL;
    arena->lost_told = true;
    bool is_error = status != CUARENA_OK && strstr(cuarena_last_error(), arena->lost_by) != NULL;
    return is_error ? NULL : arena->lost_by;
}

/* Tells the log and the listener what is left to tell. Drops the lock. */
static void tell(cuai_call_t *call, cuarena_status_t status)
{
    CUAI_ASSERT(call->arena->inside != 0);
    const char *loss = untold_loss(call->arena, status);
    cuai_unlock(&call->arena->lock);
    if (loss != NULL)
        cuai_log(CUARENA_LOG_ERROR, "%s is lost: %s", call->arena->label, loss);
    (void)cuai_log_error(call->arena->label, status);
    cuai_kept_error_t words = cuai_error_kept(); /* what the listener calls may fail */
    deliver(call);
    if (status != CUARENA_OK)
        cuai_error_restore(&words);
    cuai_arena_lock(call->arena);
}

cuarena_status_t cuai_call_end(cuai_call_t *call, cuarena_status_t status)
{
    CUAI_ASSERT(call->arena->inside != 0);
    (void)cuai_note_loss(call->arena, status);
    cuai_stream_leave(call->arena, call->stream);
    CUAI_ASSERT(status == CUARENA_OK || cuai_error_is(status));
    if (CUAI_UNLIKELY(call->refused))
        cuai_snapshot_refusal(call->arena, status);
    bool lost = cuai_is_lost(call->arena) && !call->arena->lost_told;
    bool error = (status != CUARENA_OK || lost) && cuai_log_wants(CUARENA_LOG_ERROR);
    if (error || call->count != 0)
        tell(call, status);
    leave(call->arena);
    cuai_trace_catch_up();
    return status;
}

void cuai_call_log(cuai_call_t *call, const char *format, ...)
{
    CUAI_ASSERT(call->arena->inside != 0);
    char text[160];
    va_list arguments;
    if (!cuai_log_wants(CUARENA_LOG_INFO))
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cuai_unlock(&call->arena->lock);
    cuai_log(CUARENA_LOG_INFO, "%s: %s", call->arena->label, text);
    cuai_arena_lock(call->arena);
}

void cuai_call_flush(cuai_call_t *call)
{
    CUAI_ASSERT(call->arena->inside != 0);
    if (call->count == 0)
        return;
    cuai_unlock(&call->arena->lock);
    deliver(call);
    cuai_arena_lock(call->arena);
}

void cuai_call_forget(cuai_call_t *call, int32_t kind)
{
    CUAI_ASSERT(call->count <= CUAI_CALL_EVENTS);
    int at = call->count;
    while (at > 0 && call->events[at - 1].kind != kind)
        at--;
    if (at == 0)
        return;
    for (; at < call->count; at++)
        call->events[at - 1] = call->events[at];
    call->count--;
}

static cuarena_event_t *next_event(cuai_call_t *call, int32_t kind)
{
    cuai_assert_locked(call->arena);
    bool heard = call->event_fn != NULL || cuai_logs_event(kind);
    if (!heard || call->count == CUAI_CALL_EVENTS)
        return NULL;
    cuarena_event_t *event = &call->events[call->count++];
    *event = (cuarena_event_t){.struct_size = sizeof *event, .kind = kind};
    return event;
}

void cuai_call_note(cuai_call_t *call, int32_t kind, uint64_t bytes)
{
    for (int i = 0; i < call->count; i++) {
        if (call->events[i].kind != kind)
            continue;
        call->events[i].bytes += bytes;
        return;
    }
    cuarena_event_t *event = bytes == 0 ? NULL : next_event(call, kind);
    if (event != NULL)
        event->bytes = bytes;
}

void cuai_call_note_block(cuai_call_t *call, int32_t kind, cuai_block_ref_t ref)
{
    CUAI_ASSERT(ref.heap != NULL && ref.slot != 0);
    cuarena_event_t *event = next_event(call, kind);
    if (event == NULL)
        return;
    const cuai_record_t *r = cuai_block_record(ref);
    event->block = cuai_id(ref.heap, ref.slot);
    event->address = cuai_pointer(cuai_user_address(call->arena, r));
    event->bytes = cuai_requested(r);
    event->tag = cuai_tag_of(r);
}

void cuai_call_note_failure(cuai_call_t *call, cuarena_status_t status, uint64_t bytes,
                            cuarena_tag_t tag)
{
    CUAI_ASSERT(status != CUARENA_OK);
    call->arena->failed++;
    call->arena->refused = cuai_error_kept().error;
    call->refused = call->arena->config.snapshot_on_oom[0] != '\0';
    cuai_trace_failure(call->arena, status, bytes, tag, call->stream);
    cuarena_event_t *event = next_event(call, CUARENA_EVENT_FAIL);
    if (event == NULL)
        return;
    event->status = status;
    event->bytes = bytes;
    event->tag = tag;
}

/* ---- Queries ----------------------------------------------------------- */

cuarena_status_t cuai_query_begin_beside(cuarena_t *arena)
{
    if (arena == NULL)
        return cuai_null("arena");
    return cuai_arena_enter_beside(arena) ? CUARENA_OK : cuai_told(cuai_reentered());
}

cuarena_status_t cuai_query_begin(cuarena_t *arena)
{
    cuarena_status_t status = cuai_query_begin_beside(arena);
    if (status == CUARENA_OK)
        cuai_tcaches_flush(arena);
    return status;
}

cuarena_status_t cuai_query_begin_into(cuarena_t *arena, const char *name, const void *sized,
                                       size_t size)
{
    if (arena != NULL && !cuai_sized_ok(sized, sizeof(size_t), size))
        return cuai_told(cuai_fail_struct(name, sized));
    return cuai_query_begin(arena);
}

cuarena_status_t cuai_query_end(cuarena_t *arena, cuarena_status_t status)
{
    cuai_assert_locked(arena);
    cuai_unlock(&arena->lock);
    return cuai_told(status);
}

/* ---- What makes a call illegal ----------------------------------------- */

cuarena_status_t cuai_call_check(const cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (!(arena->slow & CUAI_SLOW_LOST))
        return CUARENA_OK;
    return cuai_fail(CUARENA_LOST,
                     "%s is lost after an earlier failure: it can be "
                     "freed from, asked and destroyed; what lost it: %s",
                     arena->label, arena->lost_by);
}

cuarena_status_t cuai_no_pointer(const void *pointer)
{
    return cuai_fail(CUARENA_STALE, "no live block of this arena begins at %p", pointer);
}

cuarena_status_t cuai_no_block(cuarena_block_t block)
{
    return cuai_fail(CUARENA_STALE, "block id %#llx names nothing live in this arena",
                     (unsigned long long)block);
}

cuarena_status_t cuai_no_tag(cuarena_tag_t tag)
{
    return cuai_fail(CUARENA_BAD_ARGUMENT, "tag %u; accepted: what cuarena_tag gave",
                     (unsigned)tag);
}

const char *cuai_stream_shown(cuarena_stream_t stream, char room[CUAI_STREAM_SHOWN])
{
    (void)snprintf(room, CUAI_STREAM_SHOWN, "%p", (void *)stream);
    return stream == CUARENA_NO_STREAM ? "CUARENA_NO_STREAM" : room;
}

cuarena_status_t cuai_no_stream(cuarena_stream_t stream)
{
    char room[CUAI_STREAM_SHOWN];
    return cuai_fail(CUARENA_STALE, "stream %s is none that this arena knows",
                     cuai_stream_shown(stream, room));
}
