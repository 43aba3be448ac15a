/* The last events of an arena (option trace_ring) in snapshots. */
#include "api/call.h"
#include "api/snapshot.h"

cuarena_status_t cuai_snapshot_take_events(cuai_snapshot_t *s, cuarena_t *arena)
{
    CUAI_ASSERT(s->events == NULL && s->event_count == 0);
    size_t capacity = arena->trace.ring_room;
    if (capacity == 0)
        return CUARENA_OK;
    s->events = cuai_host_alloc_unzeroed(capacity * sizeof *s->events);
    if (s->events == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for the %zu last events",
                         capacity);
    return cuai_trace_recent(&arena->trace, s->events, capacity, &s->event_count);
}

static void put_stream(cuai_json_t *json, cuarena_stream_t stream)
{
    if (stream == CUARENA_NO_STREAM)
        cuai_json_null(json, "stream");
    else
        cuai_json_hex(json, "stream", (uint64_t)(uintptr_t)stream);
}

static void put_event(cuai_json_t *json, const cuarena_traced_t *event)
{
    cuai_json_open(json, NULL, '{');
    cuai_json_text(json, "op", cuai_trace_op(event->kind));
    cuai_json_number(json, "time_ns", event->time_ns);
    cuai_json_number(json, "thread", event->thread);
    if (event->block == 0)
        cuai_json_null(json, "id");
    else
        cuai_json_hex(json, "id", event->block);
    cuai_json_number(json, "address", cuai_address(event->address));
    cuai_json_number(json, "bytes", event->bytes);
    cuai_json_number(json, "tag", event->tag);
    put_stream(json, event->stream);
    if (event->kind == CUARENA_EVENT_FAIL || event->kind == CUARENA_EVENT_STEP)
        cuai_json_text(json, "status", cuarena_status_name(event->status));
    if (event->kind == CUARENA_EVENT_STEP)
        cuai_json_text(json, "step", cuai_step_name(event->step));
    if (event->kind == CUARENA_EVENT_IDLE)
        cuai_json_number(json, "before_ns", event->before_ns);
    cuai_json_close(json, '}');
}

void cuai_snapshot_put_events(cuai_json_t *json, const cuai_snapshot_t *s)
{
    cuai_json_open(json, "events", '[');
    for (size_t i = 0; i < s->event_count; i++) {
        cuai_json_line(json);
        put_event(json, &s->events[i]);
    }
    cuai_json_close(json, ']');
}
