/*
 * The arena's state, and what all of its files need of it. Each noun has a header of its own.
 *
 * Heap offsets are addresses: a block's offset is where its bytes are.
 *
 * The lock. Functions are called with the arena's lock held unless their comment says otherwise.
 * A function that calls the memory, or waits, lets go of the lock meanwhile; its comment says
 * "Drops the lock.". It reserves what it needs under the lock, acts without it, and commits or
 * undoes under it. Whoever calls it looks up again what it knew before.
 *
 * Comments say "puts into words" of a status for which the function sets the error message.
 */
#ifndef CUAI_ARENA_ARENA_H
#define CUAI_ARENA_ARENA_H

#include "arena/arenas.h"
#include "arena/peaks.h"
#include "arena/remap.h"
#include "arena/segments.h"
#include "arena/slow.h"
#include "arena/stream.h"
#include "arena/tags.h"
#include "arena/use.h"
#include "base/frame.h"
#include "base/lock.h"
#include "cuarena/arena.h"
#include "cuarena/stats.h"
#include "heap/heap.h"
#include "memory/counted.h"
#include "memory/memory.h"
#include "nvtx/regions.h"
#include "trace/trace.h"

/* Regions that have a heap of their own. APART holds dedicated blocks, which are STANDALONE there,
 * and adopted ones, each a segment; its heap is made when the first of them is. */
#define CUAI_DYNAMIC CUARENA_REGION_DYNAMIC
#define CUAI_STABLE CUARENA_REGION_STABLE
#define CUAI_APART 2
#define CUAI_HEAPS 3
_Static_assert(CUARENA_REGION_COUNT == CUAI_APART, "APART follows the regions");

/* How often a way of running out was tried, and how often it was the one that helped. */
typedef struct cuai_step_count {
    uint64_t tried;
    uint64_t served;
} cuai_step_count_t;

/* What became of requests and frees that the cache could have had. */
typedef struct cuai_cache_counts {
    uint64_t peak_bytes;
    uint64_t hits;
    uint64_t misses;
    uint64_t evicted; /* blocks */
} cuai_cache_counts_t;

/* All capture sessions (capture.h). */
typedef struct cuai_captures {
    struct cuarena_capture *first;
    uint32_t count;
    uint64_t bytes;                 /* of all stretches */
    struct cuai_stretch *stretches; /* in address order */
    size_t stretch_count;
    size_t stretch_room;
} cuai_captures_t;

/* Who is told that no block lives any more; `done` is NULL if nobody is. */
typedef struct cuai_retired {
    cuarena_retired_fn done;
    void *user;
} cuai_retired_t;

/* "arena 'weights'", or "arena 0x7ff8..." of one without a name. */
#define CUAI_LABEL_SIZE (sizeof "arena ''" + sizeof((cuarena_config_t *)0)->name)

struct cuarena_arena {
    /* What every allocation and free touches. */
    cuai_lock_t lock;
    atomic_bool tcached;           /* threads have caches: see thread_cache.h */
    uint32_t slow;                 /* CUAI_SLOW_... bits: see cuai_slow_set */
    cuai_fast_t none[CUAI_LISTED]; /* of calls without a stream, by region */
    cuai_recent_t last;            /* the stream used last, while nothing makes the arena slow */
    uint64_t granule_mask;
    cuarena_heap_t *heaps[CUAI_HEAPS]; /* NULL where there is none */
    uint64_t block_pins;               /* pins that block_pin took and nobody ended */
    uint64_t cache_window;             /* a cached block exceeds its request by less than this */
    uint64_t cache_spare;              /* see cuai_cache_spares */
    uint64_t plain_spare;              /* as cache_spare, but 0 where a request that misses has
                                        * rules of its own for size, alignment or limit */
    uint64_t round_powers;             /* this and `natural` are the options of these names */
    uint64_t round_mask;               /* round_to - 1, or 0 */
    uint64_t natural;
    cuai_cache_counts_t cache;

    /* The rest. */
    cuarena_config_t config;
    cuai_memory_t memory;
    cuai_segments_t segments; /* what the regions are made of */
    uint64_t stable_bytes;
    uint64_t pool_bytes; /* of a fixed pool; UINT64_MAX if it grows */
    uint64_t address_bytes;
    uint64_t next_chunk; /* see chunks.c */
    uint64_t reserved;
    uint64_t reserving; /* threads without the lock are asking the memory for so many bytes, which
                           nobody else may reserve */
    uint64_t limits[4]; /* CUARENA_LIMIT_... */
    uint64_t memory_bytes; /* what the memory had when the arena was made */
    bool owned;            /* with ZERO_OWNER: a tag, `owner`, has had blocks */
    bool owners_mix;       /* another tag, or a capture session, has had blocks too */
    cuarena_tag_t owner;
    bool unreturned;        /* there may be idle bytes that `keep` would have given back */
    bool growing;           /* a thread takes or gives bytes without the lock */
    bool compacting;        /* a thread moves blocks without the lock; excludes growing */
    uint64_t moving_blocks; /* blocks marked as moving, but for those of batches */
    cuai_cond_t changed;    /* something that threads wait for without the lock has ended */

    uint64_t peak_reserved;
    cuai_counter_t
        whole; /* of all heaps, while SLOW_WHOLE; else the dynamic one counts the whole */
    uint64_t failed;
    uint64_t grows;
    uint64_t trims;
    uint64_t compactions;
    uint64_t moves;
    uint64_t bytes_moved;
    uint64_t most_used;    /* bytes that blocks of the dynamic region had, or asked for, at a growth
                            * since the owner trimmed last */
    uint64_t reuses;       /* how often pages were, since the owner trimmed last */
    uint64_t reuse_credit; /* those that growth was not paid for with yet (reuse.c) */
    uint64_t oom_handler_calls;
    uint64_t steals;
    uint64_t stream_waits;
    uint64_t host_waits;
    cuai_step_count_t steps[CUARENA_STEP_COUNT];

    /* What ONNX Runtime's figures need besides. */
    uint64_t extensions;     /* growths that were not given back */
    uint64_t shrinkages;     /* growths that were */
    uint64_t adopted_bytes;  /* of live blocks */
    uint64_t most_live;      /* live bytes, up to the peaks that are kept */
    uint64_t most_requested; /* most_live of requested bytes */

    cuai_scopes_t *whole_scopes;
    cuai_scopes_t *region_scopes[CUARENA_REGION_COUNT];
    bool shared; /* the registry of shared arenas ends it */

    cuarena_export_t *exports; /* open exports */
    struct cuai_watch *watch;  /* NULL: no option asks for debugging */

    cuai_tag_t *tags; /* index: cuarena_tag_t; [0] is unused */
    size_t tag_count;
    size_t tag_room;
    size_t tag_name_bytes; /* of all names, with their zeros */

    cuai_stream_t **streams;           /* by number; NULL before the first stream */
    cuai_recent_t recent[CUAI_RECENT]; /* streams that were found last, by their handles */
    uint32_t stream_count;             /* numbers in use */
    uint32_t last_stream;              /* the highest of them; 0: there is none */
    cuai_captures_t captures;
    uint32_t capturing;     /* open sessions */
    uint32_t recording_all; /* threads that record an event of all work, which ends captures */
    bool cpu_touches;  /* the CPU uses the bytes as well, so that the order of streams is not enough
                          to reuse them */
    bool reclaiming;   /* a thread reclaims: see reclaim.h */
    uint64_t unlooked; /* requests on streams since the last look at their events */
    uint64_t unlooked_bytes; /* what they asked for */
    uint64_t gained;         /* bytes that it made idle, and of blocks that it ended */
    uint64_t gained_idle;    /* those of them that are idle */
    uint64_t gained_back;    /* those of them that went back to the memory */
    uint64_t reclaims;       /* how often that was something, ever */
    uint32_t introducing;    /* threads that ask the memory about a stream that is new */
    cuai_uses_t uses;
    cuai_aliases_t aliases;
    cuai_point_t moved;    /* behind the last copies of a compaction; serial 0: all are done */
    uint64_t event_serial; /* the last serial that an event got */
    uint64_t freed_while_moving; /* how many blocks were freed while they were moved, ever */
    uint64_t ending;             /* blocks that are ENDING */
    uint64_t inside;             /* calls under way that may drop the lock */
    struct cuai_tcache *tcaches; /* of all threads */
    struct cuai_depot *depot;    /* NULL: there is none */
    uint32_t tcache_count;
    uint32_t running;       /* caches in use: see thread_cache.h */
    uint32_t meetings;      /* how often a thread waited for the lock, while there are no caches */
    cuai_retired_t retired; /* while SLOW_RETIRED */
    cuai_arenas_link_t listed;
    cuai_trace_t trace;
    cuai_regions_t regions; /* while SLOW_NVTX */
    bool ranges;            /* a tool is told how long things take, by NVTX */

    cuarena_relocation_fn relocation_fn;
    void *relocation_user;
    cuarena_oom_fn oom_fn;
    void *oom_user;
    cuarena_event_fn event_fn;
    void *event_user;

    char label[CUAI_LABEL_SIZE];  /* what messages call it */
    char lost_by[256];            /* while SLOW_LOST: the error that lost it, in words */
    bool lost_told;               /* the log has that */
    cuarena_error_info_t refused; /* the error of the last request that was; status 0: none was */
    uint64_t oom_snapshots;       /* that snapshot_on_oom has had */
};

/* Sets bits of `slow`, or clears them. The stream used last is forgotten, for it is used without a
 * look at `slow`. */
void cuai_slow_set(cuarena_t *arena, uint32_t bits, bool on);

static inline uint64_t cuai_granule(const cuarena_t *arena)
{
    return arena->granule_mask + 1;
}

/* Whether it is a pool, whose size is fixed, and not an arena that grows. */
static inline bool cuai_is_pool(const cuarena_t *arena)
{
    return arena->config.grow == CUARENA_GROW_NONE;
}

/* The memory gives and takes bytes in pages of so many. */
static inline uint64_t cuai_page_bytes(const cuarena_t *arena)
{
    return arena->memory.ops.granularity;
}

/* The bytes rounded up to whole pages of the memory. */
static inline uint64_t cuai_page_multiple(const cuarena_t *arena, uint64_t bytes)
{
    return cuai_align_up(bytes, cuai_page_bytes(arena));
}

/* How large the handles are that the memory takes now, at the least a page. Growth takes whole ones
 * where it can, for the next requests, and counts in them what it costs to reuse pages. */
static inline uint64_t cuai_handle_now(const cuarena_t *arena)
{
    const cuai_memory_t *memory = &arena->memory;
    return cuai_handle_bytes(memory->ops.granularity, memory->most_handle_bytes, arena->reserved);
}

static inline uint64_t cuai_address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static inline void *cuai_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT: offsets are addresses */
}

/* Whether threads have caches, which serve their calls. No lock. */
static inline bool cuai_arena_is_tcached(const cuarena_t *arena)
{
    return atomic_load_explicit(&arena->tcached, memory_order_relaxed);
}

/* Whether this thread is in a call of a cache, or about to stop all, so that a signal handler must
 * neither use one nor wait for the arena's lock, whose owner may wait for the cache. The model is
 * found without a call, also in a library that was loaded late. */
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
extern _Thread_local volatile bool cuai_tcache_entered;

static CUAI_INLINE void cuai_thread_enter(bool entered)
{
    atomic_signal_fence(memory_order_seq_cst);
    cuai_tcache_entered = entered;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Stops the caches of threads, and counts what they did. False: this thread is in a call of one,
 * which a signal handler has interrupted. O(caches that run). */
bool cuai_tcaches_stop(cuarena_t *arena);
/* Takes the lock of an arena whose threads have caches, and stops them. False, with nothing done: a
 * signal handler has interrupted this thread in a call of one, or with the lock. */
bool cuai_tcaches_enter(cuarena_t *arena);
/* Frees the blocks that caches of threads keep; whether there were any. O(them). */
bool cuai_tcaches_flush(cuarena_t *arena);

/* Lock held, by a thread that is in no call of a cache. */
static inline void cuai_stop_again(cuarena_t *arena)
{
    cuai_lock_assert_held(&arena->lock);
    if (arena->running != 0 && !cuai_tcaches_stop(arena))
        cuai_assert_failed("this thread is in no call of a cache", __FILE__, __LINE__);
}

/* Takes the lock, and stops the caches of threads; they may keep blocks. False: a signal handler
 * has interrupted this thread in a call. */
static inline bool cuai_arena_enter_beside(cuarena_t *arena)
{
    if (cuai_arena_is_tcached(arena))
        return cuai_tcaches_enter(arena);
    if (!cuai_lock_enter(&arena->lock))
        return false;
    cuai_stop_again(arena); /* they may have begun meanwhile */
    return true;
}

/* Takes the lock, stops the caches of threads and frees the blocks that they keep. False: a signal
 * handler has interrupted this thread in a call. */
static inline bool cuai_arena_enter(cuarena_t *arena)
{
    bool entered = cuai_arena_enter_beside(arena);
    if (entered && arena->tcaches != NULL)
        cuai_tcaches_flush(arena);
    return entered;
}

/* Takes the lock again after it was dropped. */
static inline void cuai_arena_lock(cuarena_t *arena)
{
    cuai_lock(&arena->lock);
    cuai_stop_again(arena);
}

/* Waits until something ends that another thread does without the lock. Drops the lock; the caller
 * looks again at what it waits for. */
static inline void cuai_arena_wait(cuarena_t *arena)
{
    cuai_cond_wait(&arena->changed, &arena->lock);
    cuai_stop_again(arena);
}

/* This thread holds the arena's lock, or the library has a bug. */
static inline void cuai_assert_locked(const cuarena_t *arena)
{
    cuai_lock_assert_held(&arena->lock);
}

/* Whether growth and trim wait for a thread that grows, trims or compacts. A compaction whose
 * relocations this thread is hearing about is no reason: it does no work meanwhile, and waits for
 * this thread. */
static inline bool cuai_arena_is_taken(const cuarena_t *arena)
{
    return arena->growing ||
           (arena->compacting && !cuai_frame_within(CUAI_FRAME_RELOCATION, arena));
}

static inline bool cuai_is_lost(const cuarena_t *arena)
{
    return (arena->slow & CUAI_SLOW_LOST) != 0;
}

/* Whether a caller may name the tag: it is 0 or was registered. */
static inline bool cuai_tag_known(const cuarena_t *arena, cuarena_tag_t tag)
{
    return tag < arena->tag_count || tag == 0;
}

#endif
