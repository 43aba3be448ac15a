/*
 * Thread caches: freed blocks that a thread keeps for its own next requests, so that threads that
 * share an arena meet at its lock now and then instead of at every call.
 *
 * A thread gets a cache for an arena and a stream, or for calls without one, once threads have met
 * at the arena's lock. Until then, so in programs of one thread, there is none of this. A cache has
 * a bin for each size, eight sizes for each power of two; requests that it is for are rounded up to
 * those. What it has no block for it takes from the heap, a few at a time, and so it gives back.
 *
 * What guards what:
 *
 *   the cache's lock   its bins and numbers. Its thread has it during a call.
 *   the arena's lock   the heap; taken before a cache's lock. A thread that takes blocks from the
 *                      heap, or gives some back, has both.
 *   `running`          Only while it is set is a cache used. Whoever enters the arena otherwise
 *                      stops all caches first (cuai_arena_enter), so that slow paths see no block
 *                      change that they do not change. The thread's next call starts its own again,
 *                      if nothing keeps the arena from the fast path.
 *   a record's kind    KEPT while a cache has the block. A free makes a BLOCK KEPT by one
 *                      compare-exchange, whichever thread allocated it, so of several frees of one
 *                      block one succeeds; the others find no live block, on the slow path.
 *
 * While caches run nobody moves the records, the look-up or a block, and what of a record may
 * change meanwhile is read and written atomically (heap/record.h).
 *
 * A KEPT block is live for the heap and its counters. What a cache changed besides is added when it
 * has exchanged blocks with the heap, and when it is stopped. So counts are exact when all are
 * stopped but for kept blocks, and exact after cuai_tcaches_flush, which frees these. Peaks are
 * those of the times in between: of bytes and blocks they are too high by no more than what caches
 * keep, of requested bytes too low or too high by about that, since a cache that exchanges nothing
 * hands out only what it kept, and keeps only what it has room for.
 *
 * Cost: 8 kB for each cache, and 16 kB for the depot of an arena. Each cache keeps at most an equal
 * part of half of the bytes that were free when it last had the arena's lock, and one bin a
 * sixteenth of that.
 */
#ifndef CUAI_ARENA_THREAD_CACHE_H
#define CUAI_ARENA_THREAD_CACHE_H

#include "arena/arena.h"

/* log2 of the sizes for each power of two. */
#define CUAI_BIN_LOG2 3
#define CUAI_BINS 112u
#define CUAI_BIN_DEPTH 16u
/* How many magazines of a bin wait for another thread. */
#define CUAI_MAGAZINES 2u
/* The share of what a cache may keep that one of its bins may have. */
#define CUAI_BIN_SHARE 16
/* The share of the free bytes that caches may keep. */
#define CUAI_KEPT_SHARE 2
/* How many slots become FREE at once while threads have caches. Only the slow path makes them, and
 * it stops all caches for that. */
#define CUAI_SLOTS_AT_ONCE 64u
/* How often threads meet at a lock before they get caches. */
#define CUAI_MEETINGS 16u

typedef struct cuai_bin {
    uint16_t count;
    int16_t trend; /* how often in a row it was refilled; negative: spilled */
    cuai_slot_t slots[CUAI_BIN_DEPTH];
} cuai_bin_t;

/* Blocks of one bin that go from a thread that frees to one that allocates, not through the heap.
 */
typedef struct cuai_magazine {
    uint32_t number; /* of the stream whose blocks they are */
    uint32_t count;  /* 0: there is none */
    cuai_slot_t slots[CUAI_BIN_DEPTH];
} cuai_magazine_t;

/* What threads hand to each other; guarded by the arena's lock. */
typedef struct cuai_depot {
    uint64_t bytes;
    cuai_magazine_t magazines[CUAI_BINS][CUAI_MAGAZINES];
} cuai_depot_t;

/* A call that its cache cannot do alone. The cache's lock orders what it asks for, `state` what it
 * got. */
typedef enum cuai_pending_state {
    CUAI_NOTHING_PENDING,
    CUAI_PENDING, /* whoever has the arena's lock may do it */
    CUAI_PENDING_DONE,
    CUAI_PENDING_REFUSED /* nothing was done: the slow path is to try */
} cuai_pending_state_t;

typedef struct cuai_pending {
    _Atomic uint32_t state;
    bool frees;
    int what;
    uint64_t bytes; /* of an allocation */
    uint64_t name;  /* of a free, or what an allocation got */
} cuai_pending_t;

typedef struct cuai_tcache {
    cuai_lock_t lock;
    bool running;
    _Atomic(cuarena_t *) arena; /* NULL: none any more; guarded by the list of all arenas */
    cuarena_stream_t handle;    /* whose calls these are */
    uint32_t number;
    cuarena_heap_t *heap;
    uint32_t upper[2];   /* of ordinary blocks, by CUAI_BY_... */
    uint64_t room;       /* the most bytes that it may keep */
    uint64_t bin_room;   /* the most bytes that one bin may keep */
    uint64_t bytes;      /* that it keeps */
    uint64_t allocs;     /* served and not counted yet, less those that were counted for KEPT
                          * blocks, modulo 2^64 */
    uint64_t requested;  /* of served blocks, less those of freed ones, not counted yet */
    uint64_t thread;     /* the system's number of its thread */
    cuai_trace_t *trace; /* that its calls are recorded in, while it runs; NULL: none */
    cuai_pending_t pending;
    struct cuai_tcache *next;      /* of the arena */
    struct cuai_tcache *of_thread; /* the next of the thread */
    cuai_bin_t bins[CUAI_BINS];
} cuai_tcache_t;

/* ---- Bins -------------------------------------------------------------- */

/* The bin of a block of so many granules: the largest size that is not above it. */
static inline uint32_t cuai_bin_below(uint64_t granules)
{
    uint32_t top = cuai_log2_floor(granules | 1u << CUAI_BIN_LOG2);
    uint32_t shift = top - CUAI_BIN_LOG2;
    return (shift << CUAI_BIN_LOG2) + (uint32_t)(granules >> shift);
}

/* The bin for a request of so many granules: the least size that is not below it. */
static inline uint32_t cuai_bin_above(uint64_t granules)
{
    return cuai_bin_below(granules - 1) + 1;
}

/* The size of a bin, in granules. */
static inline uint64_t cuai_bin_granules(uint32_t bin)
{
    uint32_t shift = bin < 2u << CUAI_BIN_LOG2 ? 0 : (bin >> CUAI_BIN_LOG2) - 1;
    uint64_t step = bin - (shift << CUAI_BIN_LOG2);
    return step << shift;
}

/* How many blocks of a size a bin may have. */
static inline uint32_t cuai_bin_depth(const cuai_tcache_t *t, uint64_t size)
{
    CUAI_ASSERT(size != 0);
    uint64_t depth = t->bin_room / size;
    return depth < CUAI_BIN_DEPTH ? (uint32_t)depth : CUAI_BIN_DEPTH;
}

/* ---- All caches of an arena -------------------------------------------- */

/* The bytes of the caches themselves. */
uint64_t cuai_tcaches_bookkeeping(const cuarena_t *arena);
/* The arena ends: its caches are of no arena from now on. Called with the list of arenas locked. */
void cuai_tcaches_leave(cuarena_t *arena);
/* In a forked child: only the caches of the thread that forked are left. */
void cuai_tcaches_after_fork(cuarena_t *arena);
/* What in the state of caches contradicts the heap; NULL: nothing. */
const char *cuai_tcaches_wrong(const cuarena_t *arena);

/* ---- One cache --------------------------------------------------------- */

/* Whether caches may run: nothing keeps the arena from the fast path. Lock held. */
bool cuai_tcaches_may_run(const cuarena_t *arena);
/* From now on threads get caches. Lock held. */
void cuai_tcaches_begin(cuarena_t *arena);
/* From now on threads get no caches, and none keeps anything. Called while none runs. Lock held. */
void cuai_tcaches_end(cuarena_t *arena);
/* The cache of this thread for calls on a stream, or without one; NULL: it cannot have one. No
 * lock. */
cuai_tcache_t *cuai_tcache_find(cuarena_t *arena, cuarena_stream_t handle);
/* Lets a stopped cache run again; false: it cannot now. Both locks held. */
bool cuai_tcache_start(cuarena_t *arena, cuai_tcache_t *t);
/* Ends a KEPT block of the arena. Both locks of a running cache held, or the arena's and no cache
 * runs. */
void cuai_kept_free(cuarena_t *arena, cuai_slot_t slot);
/* Adds what the cache's calls did to the counters. Both locks held. */
void cuai_tcache_count(cuarena_t *arena, cuai_tcache_t *t);
/* Adds the event of a block that is its caller's and KEPT: it is about to be allocated, or freed.
 * The cache's lock is held. */
void cuai_tcache_trace(const cuai_tcache_t *t, cuai_slot_t slot, int32_t kind,
                       uint64_t bytes) CUAI_NOINLINE;
/* Works out anew how much the cache may keep. Both locks held. */
void cuai_tcache_fit(const cuarena_t *arena, cuai_tcache_t *t);

#endif
