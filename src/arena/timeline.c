#include "arena/timeline.h"

#include "arena/streams.h"
#include "arena/unlocked.h"

static cuai_timeline_t *timeline_of(const cuarena_t *arena, uint32_t number)
{
    return &cuai_stream(arena, number)->timeline;
}

/* The first entry that is not before the serial, or the head. */
static cuai_entry_t *find(cuai_timeline_t *t, uint64_t serial)
{
    cuai_entry_t *entry = t->head.next;
    while (entry != &t->head && entry->serial < serial)
        entry = entry->next;
    return entry;
}

static cuai_entry_t *take_out(cuai_entry_t *entry)
{
    entry->next->previous = entry->previous;
    entry->previous->next = entry->next;
    return entry;
}

static void append(cuai_timeline_t *t, cuai_entry_t *entry)
{
    entry->next = &t->head;
    entry->previous = t->head.previous;
    entry->next->previous = entry->previous->next = entry;
}

/* ---- What needs no event any more -------------------------------------- */

/* Ends entries whose work is done and, if there are any, those that nobody needs. The stream keeps
 * its number meanwhile. Drops the lock. */
static void sweep(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_assert_locked(arena);
    cuai_timeline_t *t = &s->timeline;
    s->callers++;
    for (cuai_entry_t *entry = t->head.next; entry != &t->head;) {
        bool over = entry->serial <= t->done;
        if (entry->users == 0 && (over || entry->needs == 0)) {
            t->unneeded -= entry->needs == 0;
            void *event = take_out(entry)->event;
            cuai_host_free(entry);
            cuai_unlocked_discard(arena, event);
            entry = t->head.next;
        } else {
            entry = over || t->unneeded != 0 ? entry->next : &t->head;
        }
    }
    cuai_stream_leave(arena, s->number);
}

void cuai_timelines_sweep(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        sweep(arena, s);
}

void cuai_timeline_forgo(const cuarena_t *arena, cuai_point_t point)
{
    if (point.serial == 0 || point.serial == CUAI_TO_COME)
        return;
    cuai_timeline_t *t = timeline_of(arena, point.stream);
    cuai_entry_t *entry = find(t, point.serial);
    if (entry->serial != point.serial)
        return; /* its work is done */
    CUAI_ASSERT(entry->needs != 0);
    t->unneeded += --entry->needs == 0;
}

void cuai_timeline_drop(cuarena_t *arena, cuai_point_t point)
{
    cuai_assert_locked(arena);
    cuai_timeline_forgo(arena, point);
    if (point.stream != 0)
        sweep(arena, cuai_stream(arena, point.stream));
}

void cuai_timeline_end(const cuarena_t *arena, cuai_timeline_t *t)
{
    while (!cuai_timeline_is_empty(t)) {
        cuai_entry_t *entry = take_out(t->head.next);
        cuai_mem_end_event(arena, entry->event);
        cuai_host_free(entry);
    }
}

/* ---- The clock --------------------------------------------------------- */

bool cuai_has_seen(const cuarena_t *arena, uint32_t number, cuai_point_t point)
{
    if (point.serial == 0 || timeline_of(arena, point.stream)->done >= point.serial)
        return true;
    return number != 0 && (number == point.stream ||
                           timeline_of(arena, number)->seen[point.stream] >= point.serial);
}

uint64_t cuai_had_seen(const cuai_timeline_t *t, uint64_t serial, uint32_t number)
{
    if (serial == CUAI_TO_COME)
        return t->seen[number];
    return t->then_serial <= serial ? t->then[number] : 0;
}

/* The host has seen a point. Drops the lock. */
static void note_done(cuarena_t *arena, cuai_point_t point)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = cuai_stream(arena, point.stream);
    s->timeline.done = point.serial;
    if (arena->moved.serial != 0 && cuai_has_seen(arena, 0, arena->moved)) {
        arena->moved = (cuai_point_t){0, 0};
        cuai_slow_set(arena, CUAI_SLOW_MOVED, false);
    }
    sweep(arena, s);
}

void cuai_note_seen(cuarena_t *arena, uint32_t number, cuai_point_t point)
{
    cuai_assert_locked(arena);
    if (cuai_has_seen(arena, number, point))
        return;
    if (number == 0) {
        note_done(arena, point);
        return;
    }
    uint64_t *seen = timeline_of(arena, number)->seen;
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++)
        cuai_raise(&seen[n], cuai_had_seen(timeline_of(arena, point.stream), point.serial, n));
    seen[point.stream] = point.serial;
}

/* ---- Recording --------------------------------------------------------- */

/* Notes that one more needs the serial, and returns it; 0 if its work is done, or it is 0. */
static uint64_t need(cuai_timeline_t *t, uint64_t serial)
{
    cuai_entry_t *entry = find(t, serial);
    if (serial == 0 || entry->serial != serial)
        return 0;
    entry->needs++;
    return serial;
}

cuai_point_t cuai_timeline_share(const cuarena_t *arena, cuai_point_t point)
{
    uint64_t serial = need(timeline_of(arena, point.stream), point.serial);
    return (cuai_point_t){point.stream, serial};
}

/* An entry that is in no timeline: one that nobody needs, or a new one. NULL: the host lacks
 * memory. */
static cuai_entry_t *ready_entry(cuai_stream_t *s)
{
    cuai_timeline_t *t = &s->timeline;
    cuai_entry_t *entry = &t->head;
    if (t->unneeded != 0 && cuai_stream_is_mine(s))
        while ((entry = entry->next)->needs != 0)
            ;
    if (entry == &t->head || entry->users != 0)
        return cuai_host_alloc(sizeof *entry);
    t->unneeded--;
    return take_out(entry);
}

/* Records as the only thread that records on the stream: others that touch it came before, or wait.
 * The caller touches the stream, which was not released. */
static cuarena_status_t record(cuarena_t *arena, cuai_stream_t *s, bool closes, uint64_t *serial)
{
    CUAI_ASSERT(!s->recording);
    cuai_timeline_t *t = &s->timeline;
    cuai_entry_t *entry = ready_entry(s);
    if (entry == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for an event");
    if (closes) {
        memcpy(t->then, t->seen, sizeof t->then);
        t->then_serial = CUAI_TO_COME;
    }
    s->recording = true;
    s->asked = s->asked || !cuai_stream_is_mine(s);
    cuarena_status_t status = cuai_unlocked_record(arena, s, &entry->event);
    s->recording = false;
    if (status != CUARENA_OK) {
        void *event = entry->event;
        cuai_host_free(entry);
        cuai_unlocked_discard(arena, event);
        return status;
    }
    *serial = entry->serial = ++arena->event_serial;
    t->then_serial = closes ? *serial : t->then_serial;
    entry->needs = 1;
    append(t, entry);
    return status;
}

cuarena_status_t cuai_timeline_record(cuarena_t *arena, cuai_point_t *point, bool closes)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    point->serial = CUAI_TO_COME;
    cuai_stream_t *s = cuai_stream(arena, point->stream);
    if (cuai_stream_touch(arena, point->stream) != CUARENA_NO_STREAM)
        status = record(arena, s, closes, &point->serial);
    else
        point->serial = need(&s->timeline, s->behind_closed);
    cuai_stream_untouch(arena, point->stream);
    return status;
}

/* ---- Asking and waiting ------------------------------------------------ */

cuarena_status_t cuai_timeline_see(cuarena_t *arena, uint32_t number, cuai_point_t point, bool wait)
{
    cuai_assert_locked(arena);
    if (cuai_has_seen(arena, number, point))
        return CUARENA_OK;
    cuai_stream_t *s = cuai_stream(arena, point.stream);
    cuai_entry_t *entry = find(&s->timeline, point.serial);
    CUAI_ASSERT(entry->serial == point.serial);
    s->callers++;
    entry->users++;
    cuarena_status_t status = cuai_unlocked_see(arena, entry->event, number, wait);
    entry->users--;
    if (status == CUARENA_OK)
        cuai_note_seen(arena, number, point);
    sweep(arena, s);
    cuai_stream_leave(arena, point.stream);
    return status;
}

/* ---- Validation -------------------------------------------------------- */

const char *cuai_timeline_wrong(const cuarena_t *arena, const cuai_stream_t *s)
{
    const cuai_timeline_t *t = &s->timeline;
    bool found = s->behind_closed <= t->done;
    bool probed = s->probe <= t->done;
    uint64_t last = 0;
    for (const cuai_entry_t *e = t->head.next; e != &t->head; last = e->serial, e = e->next) {
        found = found || e->serial == s->behind_closed;
        probed = probed || e->serial == s->probe;
        if (e->serial <= last || e->serial > arena->event_serial)
            return "events of a stream are not in order";
    }
    for (uint32_t n = 0; n < CUAI_STREAM_NUMBERS; n++)
        if (t->seen[n] > arena->event_serial || cuai_had_seen(t, last, n) > t->seen[n])
            return "a stream has seen an event that is not there yet";
    if (!probed)
        return "the event that tells how far a stream's work is is lost";
    return found ? NULL : "the event behind a closed free list is lost";
}
