#include "recording.h"

#include <stdio.h>
#include <stdlib.h>

static void add(recording_events_t *events, recording_event_t event)
{
    if (events->count == events->capacity) {
        events->capacity = events->capacity > 0 ? 2 * events->capacity : 1024;
        events->list = must_have(events->list, events->capacity, sizeof event);
    }
    events->list[events->count++] = event;
}

static uint32_t take_id(recording_t *r)
{
    if (r->ids < UINT32_MAX)
        return r->ids++;
    fprintf(stderr, "cuarena: more than %u allocations, expected fewer\n", UINT32_MAX);
    exit(2);
}

static void add_event(recording_t *r, recording_event_t event)
{
    if (event.time_ns > r->time_ns)
        r->time_ns = event.time_ns;
    event.time_ns = r->time_ns;
    add(&r->events, event);
}

/* The event of it, which has an id from then on. */
static recording_event_t begin(recording_t *r, recording_event_t event)
{
    event.frees = false;
    event.id = take_id(r);
    name_t *name = names_at(&r->addresses, event.address);
    *name = (name_t){event.address, event.size, 0, event.id, NAME_LIVE};
    return event;
}

static void add_free(recording_t *r, recording_event_t event)
{
    name_t *name = names_at(&r->addresses, event.address);
    event.frees = true;
    event.id = name->slot;
    event.size = name->size;
    name->state = NAME_FREED;
    add_event(r, event);
}

void recording_alloc(recording_t *r, recording_event_t event)
{
    if (names_at(&r->addresses, event.address)->state == NAME_LIVE) {
        r->lost_frees++;
        add_free(r, event);
    }
    add_event(r, begin(r, event));
}

void recording_free(recording_t *r, recording_event_t event)
{
    uint32_t state = names_at(&r->addresses, event.address)->state;
    if (state == NAME_FREED) {
        r->unknown_frees++;
        return;
    }
    if (state == NAME_NEW)
        add(&r->older, begin(r, event));
    add_free(r, event);
}

void recording_live(recording_t *r, recording_event_t event)
{
    if (names_at(&r->addresses, event.address)->state == NAME_NEW)
        add(&r->older, begin(r, event));
}

void recording_drop(recording_t *r)
{
    free(r->older.list);
    free(r->events.list);
    names_free(&r->addresses);
    *r = (recording_t){.ids = 0};
}
