/*
 * A recording: what a program asked of another allocator, as that allocator wrote it down, on the
 * way to a trace. Allocations are named by their addresses, which come back; each gets an id.
 *
 *   older     an allocation that was made before the recording begins: its free is in it, or it
 *             lives at the end, but nothing allocates it. The trace begins with these.
 *   left out  what a trace has no event for; counted, so that it can be told.
 */
#ifndef TOOLS_RECORDING_H
#define TOOLS_RECORDING_H

#include <stdint.h>

#include "fault.h"
#include "names.h"

typedef struct recording_event {
    uint64_t address;
    uint64_t size;     /* bytes asked for; of a free: what its allocation asked */
    uint64_t stream;   /* as the recording names it */
    uint64_t time_ns;  /* of any clock */
    uint64_t reserved; /* what the allocator had from the driver after it, in bytes */
    uint32_t id;
    bool frees;
} recording_event_t;

typedef struct recording_events {
    recording_event_t *list;
    size_t count;
    size_t capacity;
} recording_events_t;

/* Zero it to begin. */
typedef struct recording {
    recording_events_t older; /* all allocate */
    recording_events_t events;
    names_t addresses; /* `slot` is the id */
    uint32_t ids;
    uint64_t time_ns;      /* of the last event: no later one has less, whatever its clock says */
    const char *allocator; /* whose `reserved` is known, for NAME_reserved; NULL: nobody's */
    uint64_t reserved_before; /* the first event */
    uint64_t refused;         /* left out: requests that failed */
    uint64_t unknown_frees;   /* left out: of what was freed before */
    uint64_t others;          /* left out: entries that are no event of a trace */
    uint64_t lost_frees;      /* put in, where the address was allocated again */
} recording_t;

/* Each takes address, size, stream, time and reserved of `event`. No more than 2^32 - 1
 * allocations: more are a fault of the process. */
void recording_alloc(recording_t *recording, recording_event_t event);
void recording_free(recording_t *recording, recording_event_t event);
/* It lives at the end: it is older if nothing of the recording names its address. */
void recording_live(recording_t *recording, recording_event_t event);

void recording_drop(recording_t *recording);

#endif
