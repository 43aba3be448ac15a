/* The calls that begin and end a trace, and that read its ring. */
#include "api/call.h"
#include "arena/traced.h"

static cuarena_status_t changing(void)
{
    return cuai_fail(CUARENA_REENTERED, "this thread begins or ends the arena's trace already");
}

/* Lets events go into the open file, behind what lives now. */
static cuarena_status_t begin_lines(cuarena_t *arena)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_trace_set_writes(&arena->trace, true);
    cuai_arena_follow_trace(arena);
    cuai_trace_live(arena);
    return cuai_query_end(arena, CUARENA_OK);
}

/* What begin_lines would fail with, before the file is changed. */
static cuarena_status_t check_begin(cuarena_t *arena)
{
    cuarena_status_t status = cuai_query_begin_beside(arena);
    return status == CUARENA_OK ? cuai_query_end(arena, CUARENA_OK) : status;
}

static cuarena_status_t end_lines(cuarena_t *arena)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_trace_set_writes(&arena->trace, false);
    cuai_arena_follow_trace(arena);
    return cuai_query_end(arena, CUARENA_OK);
}

cuarena_status_t cuarena_trace_begin(cuarena_t *arena, const char *path)
{
    if (arena == NULL || path == NULL)
        return cuai_null(arena == NULL ? "arena" : "path");
    if (!cuai_lock_enter(&arena->trace.change))
        return cuai_told(changing());
    cuarena_status_t status = check_begin(arena);
    if (status == CUARENA_OK)
        status = cuai_trace_open_file(&arena->trace, path);
    if (status == CUARENA_OK) {
        status = begin_lines(arena);
        if (status != CUARENA_OK)
            (void)cuai_trace_close_file(&arena->trace);
    }
    cuai_unlock(&arena->trace.change);
    cuai_trace_catch_up();
    return cuai_told(status);
}

cuarena_status_t cuarena_trace_end(cuarena_t *arena)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_lock_enter(&arena->trace.change))
        return cuai_told(changing());
    cuarena_status_t status = end_lines(arena);
    if (status == CUARENA_OK)
        status = cuai_trace_close_file(&arena->trace);
    cuai_unlock(&arena->trace.change);
    return cuai_told(status);
}

cuarena_status_t cuarena_trace_recent(cuarena_t *arena, cuarena_traced_t *events, size_t capacity,
                                      size_t *count_out)
{
    if (arena == NULL || count_out == NULL || (events == NULL && capacity != 0))
        return cuai_null(arena == NULL ? "arena" : count_out == NULL ? "count_out" : "events");
    return cuai_told(cuai_trace_recent(&arena->trace, events, capacity, count_out));
}
