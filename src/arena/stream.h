/*
 * A stream that an arena knows (streams.h has what is done with it).
 *
 * A stream has a number from 1 on, which is the owner of the blocks allocated on it; 0 is "no
 * stream". In every heap of a region it has two free lists that take turns:
 *
 *   open    has what was freed on the stream last; no event is behind it yet
 *   closed  has what was freed before an event was recorded; when that is complete, the bytes of
 *           the closed free list are idle
 *
 * To close the open free list, the two change places, which costs nothing, and an event is
 * recorded. The closed free list is empty then, so it needs one event at a time.
 *
 * An eager stream records an event behind its open free list at each free, and it stays that of the
 * free list when that is closed. Where it could not be recorded it is to come, as for any other
 * stream: closing records it. The default stream of a thread is eager, because no other thread can
 * record on it, from the first time that another thread needs an event of it: then one behind all
 * work stands in. Until then its events are to come like those of other streams.
 *
 * A stream that has seen the event of another one (timeline.h) may use what is in that one's closed
 * free list as if it were its own.
 *
 * A stream lags while its work is mostly not done one look at the events after the other: the host
 * is far ahead of it. What it frees then stays its own as long as the arena can grow (reclaim.h).
 *
 * A number is given to another stream when its stream was released and neither an event, a block, a
 * wait nor a call under way needs it.
 */
#ifndef CUAI_ARENA_STREAM_H
#define CUAI_ARENA_STREAM_H

#include <stdbool.h>

#include "arena/timeline.h"
#include "cuarena/streams.h"
#include "heap/heap.h"

/* Heaps with free lists: dynamic and stable. */
#define CUAI_LISTED 2
/* The free lists of a stream in an open capture session, beside the two that take turns. */
#define CUAI_PRIVATE 2
/* Streams whose handles are found without a search. */
#define CUAI_RECENT 16u
_Static_assert(CUARENA_MAX_STREAMS < CUARENA_HEAP_MAX_OWNER, "owners");

/* How a call names a block: an index of cuai_fast_t's attributes. */
enum {
    CUAI_BY_ID,
    CUAI_BY_POINTER
};

/* What the fast path knows of a stream, or of the calls without one: the free list that it tries
 * first and that gets what is freed, and what its ordinary blocks are. */
typedef struct cuai_fast {
    cuai_index_t *index; /* of the free list */
    uint32_t freelist;
    uint32_t upper[2];      /* the upper halves of the attributes, which pins do not change */
    uint64_t attributes[2]; /* by CUAI_BY_... */
} cuai_fast_t;

/* Sets what is known of the blocks; the attributes come with the owner and the alignment. */
static inline void cuai_fast_set(cuai_fast_t *fast, uint64_t by_id, uint64_t by_pointer)
{
    fast->attributes[CUAI_BY_ID] = by_id;
    fast->attributes[CUAI_BY_POINTER] = by_pointer;
    for (int i = 0; i < 2; i++)
        fast->upper[i] = (uint32_t)(fast->attributes[i] >> 32);
}

/* A block that a look across all free lists placed, and the version of the heap behind that. */
typedef struct cuai_placed {
    uint64_t offset;
    uint64_t version;
} cuai_placed_t;

typedef struct cuai_stream {
    cuarena_stream_t handle; /* never NULL */
    cuarena_stream_info_t info;
    uint32_t number;
    uint64_t thread;                    /* whose default stream it is, or 0 */
    uint32_t freelists[3][CUAI_LISTED]; /* by heap: [turn] are open, [CUAI_PRIVATE] its session's */
    uint32_t turn;
    cuai_fast_t fast;     /* with the open free list of the dynamic region's heap */
    cuai_placed_t placed; /* its last large block: see cuai_gets_again */
    bool released; /* the handle must not be used any more; all bytes are in the closed free list */
    bool eager;    /* an event is recorded at each free */
    bool asked;    /* another thread than its own has needed an event of it */
    bool recording; /* a thread records an event on it without the lock */
    bool releasing; /* the last one: calls that come now wait, and find the stream released */
    /* The serials of the events behind its free lists. 0: the free list is empty, and nothing joins
     * it. CUAI_TO_COME of the open one: the event is recorded when it is closed; of the closed one:
     * it is being recorded. */
    uint64_t behind_closed;
    uint64_t behind_open;
    uint64_t probe; /* the serial of the event that says how far its work is; 0: none */
    uint32_t lag; /* looks that found that event not done, less some for each that found it done */
    uint64_t closed_ns; /* when the closed free list was closed, if that is traced */
    uint32_t callers;   /* calls under way that keep its number */
    uint64_t waits;     /* blocks, freed or not, and sessions that wait for it */
    cuai_counter_t counter;
    uint64_t events_wanted;          /* counts calls of cuai_stream_want_event */
    uint64_t born_serial;            /* the last serial of the arena when the stream became known */
    struct cuai_scopes *scopes;      /* of its peaks; NULL before the first */
    uint32_t touching;               /* threads that use the handle without the lock */
    uint64_t cached;                 /* blocks that were freed on it and are cached */
    uint64_t cached_last;            /* the largest stamp that one had */
    struct cuarena_capture *capture; /* the open session that it is in; NULL: none */
    uint64_t private_bytes;          /* that it got in that session */
    cuai_timeline_t timeline;
} cuai_stream_t;

/* The event behind the closed free list. */
static inline cuai_point_t cuai_closed(const cuai_stream_t *s)
{
    return (cuai_point_t){s->number, s->behind_closed};
}

/* Above this a stream lags. */
#define CUAI_LAG 8u

static inline bool cuai_stream_lags(const cuai_stream_t *s)
{
    return s->lag > CUAI_LAG;
}

/* A handle, as callers pass it, and the stream that it stands for. Without a stream the handle is
 * one that nobody passes. */
typedef struct cuai_recent {
    cuarena_stream_t handle;
    cuai_stream_t *stream;
} cuai_recent_t;

static inline uint32_t cuai_recent_place(cuarena_stream_t handle)
{
    uint64_t address = (uint64_t)(uintptr_t)handle;
    return (uint32_t)((address ^ address >> 5) >> 4) % CUAI_RECENT;
}

/* Numbers of streams. */
typedef struct cuai_stream_set {
    uint64_t bits[2];
} cuai_stream_set_t;

static inline void cuai_set_add(cuai_stream_set_t *set, uint32_t number)
{
    CUAI_ASSERT(number < CUAI_STREAM_NUMBERS);
    set->bits[number / 64] |= UINT64_C(1) << number % 64;
}

static inline bool cuai_set_has(const cuai_stream_set_t *set, uint32_t number)
{
    CUAI_ASSERT(number < CUAI_STREAM_NUMBERS);
    return set->bits[number / 64] >> number % 64 & 1;
}

/* Makes a number the next one in the set; false: there is none. 0 comes before all. */
static inline bool cuai_set_next(const cuai_stream_set_t *set, uint32_t *number)
{
    while (++*number < CUAI_STREAM_NUMBERS)
        if (cuai_set_has(set, *number))
            return true;
    return false;
}

#endif
