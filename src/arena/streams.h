/*
 * Streams that an arena knows, and blocks that wait for them.
 *
 * A stream has a number from 1 on, which is the owner of the blocks allocated on it; 0 is "no
 * stream". In every heap of a region it has two free lists that take turns:
 *
 *   open    what was freed on it last; behind it there is no event yet
 *   closed  what was freed before `event` was recorded; when that is
 *           complete, the closed free list is idle
 *
 * To close the open free list is to let them change places, which costs nothing, and to record an
 * event. The closed free list is empty then: one event at a time is on its way.
 *
 * On an eager stream `latest` is recorded at each free, and is the event when the free list is
 * closed, unless it could not be recorded once. The default stream of a thread is eager: no other
 * thread can record on it. While it is the only stream there is nobody to record for: its open free
 * list is uncovered.
 *
 * Events have serials, in the order in which they were recorded in the arena.
 * A stream that waited for one of another stream, or for a later one, may use what is in that one's
 * closed free list as if it were its own.
 *
 * A number is given anew when its stream was released and neither an event, a block, a wait nor a
 * call under way needs it.
 */
#ifndef CUAI_ARENA_STREAMS_H
#define CUAI_ARENA_STREAMS_H

#include <stdbool.h>

#include "arena/meter.h"
#include "cuarena/streams.h"
#include "heap/heap.h"

/* Heaps with free lists: dynamic and stable. */
#define CUAI_LISTED 2
/* Numbers are 1 .. CUARENA_MAX_STREAMS. */
#define CUAI_STREAM_NUMBERS (CUARENA_MAX_STREAMS + 1)
/* Streams whose handles are found without a search. */
#define CUAI_RECENT 16u
_Static_assert(CUARENA_MAX_STREAMS < CUARENA_HEAP_MAX_OWNER, "owners");

typedef struct cuai_stream {
    cuarena_stream_t handle; /* never NULL */
    cuarena_stream_info_t info;
    uint32_t number;
    uint64_t thread;                    /* whose default stream it is, or 0 */
    uint32_t freelists[CUAI_LISTED][2]; /* of each heap; [turn] is the open one */
    uint32_t turn;
    uint32_t open;            /* the open one of the dynamic region's heap */
    cuai_index_t *open_index; /* ... and its index */
    uint64_t attributes[2];   /* of its ordinary blocks there, and of those
                               * that are pointers */
    uint32_t upper[2];        /* ... without pins */
    bool released;            /* the handle must not be used; all is in the closed free list */
    bool eager;               /* `latest` is recorded at each free */
    bool marking;             /* a thread records an event of its, without the lock */
    bool uncovered;           /* the open free list has bytes behind which `latest` is not */
    void *event;              /* behind the closed free list; NULL: that is empty */
    void *latest;             /* behind the open free list, if eager; NULL: that is empty */
    uint32_t holders;         /* calls that work with its number */
    uint64_t waits;           /* of blocks for it, freed or not */
    uint64_t saw_move;        /* the last compaction it is ordered behind */
    cuai_meter_t meter;
    uint64_t serial; /* of the last `event`, counted in the arena: what is in
                      * the closed free list was freed before */
    uint64_t takes;  /* blocks that it has of free lists together */
    uint64_t born;   /* the arena's last one when the stream became known */
    /* By the numbers of other streams: which of their events it waited for last, and had waited for
     * when `event` was recorded. */
    uint64_t waited[CUAI_STREAM_NUMBERS];
    uint64_t told[CUAI_STREAM_NUMBERS];
    struct cuai_scopes *scopes;      /* of its peaks; NULL before the first */
    uint32_t touching;               /* threads that use the handle without the lock */
    bool parked;                     /* cached blocks may wait for an event still to come */
    uint64_t cached;                 /* blocks that were freed on it and are cached */
    uint64_t done;                   /* of its events that are complete, the last serial */
    uint32_t member;                 /* of this open session: nothing is given to it */
    struct cuarena_capture *capture; /* NULL: none */
} cuai_stream_t;

/* A handle that the memory is being asked about, by a thread that has it on its stack. */
typedef struct cuai_introduction {
    cuarena_stream_t handle;
    struct cuai_introduction *next;
} cuai_introduction_t;

/* A handle, as callers pass it, and the stream that it stands for. */
typedef struct cuai_recent {
    cuarena_stream_t handle;
    cuai_stream_t *stream; /* none: the handle is what nobody passes */
} cuai_recent_t;

static inline uint32_t cuai_recent_place(cuarena_stream_t handle)
{
    uint64_t address = (uint64_t)(uintptr_t)handle;
    return (uint32_t)((address ^ address >> 5) >> 4) % CUAI_RECENT;
}

/* A block's use of a stream; once it is freed, with the event to wait for:
 * NULL if that is the stream's own, of a released one. */
typedef struct cuai_wait {
    uint32_t number;
    bool later; /* its event is to be recorded yet: it was being captured */
    void *event;
} cuai_wait_t;

/* What is kept of a block that other streams use, or that is dedicated: enough for its free to take
 * no memory. */
typedef struct cuai_use {
    cuarena_block_t block;
    struct cuai_use *chain; /* of its bucket */
    struct cuai_use *next;  /* of those that were freed, in that order */
    uint32_t target;        /* freed on this stream */
    uint32_t count;         /* of waits */
    uint32_t room;          /* ... one more is kept free for the target */
    cuai_wait_t *waits;
} cuai_use_t;

/* All of them: a hash table by block id, and a queue of those freed. */
typedef struct cuai_uses {
    cuai_use_t **buckets;
    size_t bucket_count; /* power of two, or 0 */
    size_t count;
    cuai_use_t *first; /* freed, and waiting */
    cuai_use_t **last;
} cuai_uses_t;

/* Copies of a compaction that may be under way. */
typedef struct cuai_moved {
    void *event;       /* behind the last one; NULL: all are done */
    uint32_t stream;   /* on which it ran */
    uint64_t behind;   /* an event of that stream that was recorded before */
    uint32_t users;    /* threads that use the event without the lock */
    uint64_t serial;   /* counts compactions on streams */
    uint64_t host_saw; /* the last one that the caller waited for */
} cuai_moved_t;

/* What reclaiming brought. */
typedef struct cuai_gain {
    uint64_t idle;  /* bytes that are everybody's now */
    uint64_t freed; /* of blocks that ended: of a stream, or given back */
} cuai_gain_t;

#endif
