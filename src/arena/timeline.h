/*
 * The timelines of streams: which events of a stream are under way, and what it has seen of other
 * streams (timeline.c).
 *
 * A point of a stream is the work that it had when an event was recorded, and is named by the
 * serial of that event. Serials are in the order of recording, and belong to one arena. So who has
 * seen a point of a stream, because he waited for it or asked about it, has seen all earlier ones.
 * The host is one of those who see: what it has seen of a stream is done, and needs no event.
 */
#ifndef CUAI_ARENA_TIMELINE_H
#define CUAI_ARENA_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuarena/arena.h"
#include "cuarena/streams.h"

/* Numbers are 1 .. CUARENA_MAX_STREAMS. */
#define CUAI_STREAM_NUMBERS (CUARENA_MAX_STREAMS + 1)
/* The serial of an event that is still to be recorded, so that nobody has seen it. */
#define CUAI_TO_COME UINT64_MAX

/* Serial 0: before all events, seen by everybody. */
typedef struct cuai_point {
    uint32_t stream;
    uint64_t serial;
} cuai_point_t;

typedef struct cuai_entry {
    struct cuai_entry *next;
    struct cuai_entry *previous;
    uint64_t serial;
    void *event;
    uint32_t needs; /* how many were given the serial and have not dropped it */
    uint32_t users; /* threads that use the event without the lock */
} cuai_entry_t;

typedef struct cuai_timeline {
    cuai_entry_t head;                  /* of a ring of entries by serial; its serial is 0 */
    uint64_t done;                      /* the host has seen this serial */
    uint32_t unneeded;                  /* entries that nobody needs */
    uint64_t seen[CUAI_STREAM_NUMBERS]; /* by number: the serial of that stream that it has seen */
    /* what `seen` was when the event of its closed free list was recorded, or an earlier one */
    uint64_t then[CUAI_STREAM_NUMBERS];
    uint64_t then_serial; /* of that event */
} cuai_timeline_t;

struct cuai_stream;

static inline bool cuai_timeline_is_empty(const cuai_timeline_t *t)
{
    return t->head.next == &t->head;
}

/* Whether a stream, or with 0 the host, has seen a point; a stream has seen all its own ones, and
 * what the host has. */
bool cuai_has_seen(const cuarena_t *arena, uint32_t number, cuai_point_t point);
/* What the stream had seen of another one at a point of its own, as far as is known. */
uint64_t cuai_had_seen(const cuai_timeline_t *t, uint64_t serial, uint32_t number);
/* Notes that a stream, or with 0 the host, has seen a point. With 0 drops the lock. */
void cuai_note_seen(cuarena_t *arena, uint32_t number, cuai_point_t point);

/* Records the work of point->stream so far, and takes the serial; of a stream that was released it
 * is the last one. Another thread's default stream cannot be asked, so its event stands for more
 * (cuai_memory_record_thread). With `closes` notes what it has seen. On an error the serial is
 * CUAI_TO_COME. BUSY: the stream is being captured, or that would end a capture. Drops the lock
 * before the event is recorded, and after it only on an error. */
cuarena_status_t cuai_timeline_record(cuarena_t *arena, cuai_point_t *point, bool closes);
/* Makes sure that a stream, or with 0 the host, has seen a point, unless it has: asks whether the
 * work before it is done, else BUSY; or with `wait` lets the stream wait on the device. With 0, or
 * for a stream that was released, the caller waits. BUSY also: the stream is in an open capture
 * session. Drops the lock. */
cuarena_status_t cuai_timeline_see(cuarena_t *arena, uint32_t number, cuai_point_t point,
                                   bool wait);
/* One more needs the event of a point, which somebody needs. If its work is done, the serial is 0.
 */
cuai_point_t cuai_timeline_share(const cuarena_t *arena, cuai_point_t point);
/* The caller does not need the serial any more; drops the lock. cuai_timeline_forgo keeps it, and
 * the event goes later. */
void cuai_timeline_drop(cuarena_t *arena, cuai_point_t point);
/* Ends events of all streams that nobody needs any more. Drops the lock. */
void cuai_timelines_sweep(cuarena_t *arena);
void cuai_timeline_forgo(const cuarena_t *arena, cuai_point_t point);
/* The arena ends: gives all events back. No lock. */
void cuai_timeline_end(const cuarena_t *arena, cuai_timeline_t *t);
/* What contradicts the rules of timelines; NULL: nothing. */
const char *cuai_timeline_wrong(const cuarena_t *arena, const struct cuai_stream *s);

#endif
