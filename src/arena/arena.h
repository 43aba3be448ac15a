/*
 * The arena's state, and the verbs on it that its files and the API share.
 *
 * Heap offsets are addresses: a block's offset is where its bytes are.
 *
 * The lock. Functions are called with the lock held unless their comment says otherwise. Those that
 * call the memory let go of it meanwhile ("steps out"): they reserve what they need under the lock,
 * act without it, and commit or give back under it. What was known before such a call must be
 * looked up
 * again after it.
 */
#ifndef CUAI_ARENA_ARENA_H
#define CUAI_ARENA_ARENA_H

#include "arena/all.h"
#include "arena/peaks.h"
#include "arena/slow.h"
#include "arena/streams.h"
#include "base/frame.h"
#include "base/lock.h"
#include "cuarena/arena.h"
#include "cuarena/stats.h"
#include "heap/heap.h"
#include "memory/counted.h"
#include "memory/memory.h"

/* Regions that have a heap of their own. APART holds dedicated blocks, which are STANDALONE there,
 * and adopted ones, each a segment; its heap is made when the first of them is. */
#define CUAI_DYNAMIC CUARENA_REGION_DYNAMIC
#define CUAI_STABLE CUARENA_REGION_STABLE
#define CUAI_APART 2
#define CUAI_HEAPS 3
_Static_assert(CUARENA_REGION_COUNT == CUAI_APART, "APART follows the regions");

/* The arena's bits among a block's flags. */
#define CUAI_BLOCK_POINTER 0x01u   /* made by the pointer calls */
#define CUAI_BLOCK_BORN_PIN 0x02u  /* has the pin it was born with */
#define CUAI_BLOCK_STABLE 0x04u    /* asked for as stable: that pin stays */
#define CUAI_BLOCK_DEDICATED 0x08u /* its segment goes when it is freed */
#define CUAI_BLOCK_ADOPTED 0x10u   /* its bytes are the caller's */
#define CUAI_BLOCK_ENDING 0x20u    /* freed, but for work that is under way */
#define CUAI_BLOCK_USED                                                                            \
    0x40u                         /* there is a cuai_use_t for it; ENDING                          \
                                   * too: it ends when its waits do */
#define CUAI_BLOCK_EXPORTED 0x80u /* has exports, each with a pin */

/* What ordinary blocks are like. */
#define CUAI_POINTER_FLAGS (CUAI_BLOCK_POINTER | CUAI_BLOCK_BORN_PIN)
#define CUAI_POINTER_ATTRIBUTES CUAI_ATTRIBUTES(1, CUAI_BLOCK, CUAI_POINTER_FLAGS)
#define CUAI_STABLE_ATTRIBUTES                                                                     \
    CUAI_ATTRIBUTES(1, CUAI_BLOCK, CUAI_POINTER_FLAGS | CUAI_BLOCK_STABLE)
#define CUAI_BLOCK_ATTRIBUTES CUAI_ATTRIBUTES(0, CUAI_BLOCK, 0)

/* The segments that the memory gave, in no order. The stretches of one that the heap knows have its
 * place here as their source. The stable region is of the one at place 0, which stays there. */
typedef struct cuai_segments {
    cuarena_memory_segment_t *items;
    size_t count;
    size_t room;
} cuai_segments_t;

/* Makes room for one more. */
bool cuai_segments_room(cuai_segments_t *segments);

typedef struct cuai_tag {
    char *name;
    cuai_meter_t meter;
    cuai_scopes_t *scopes;
} cuai_tag_t;

/* How often a step of running out was tried, and was the one that helped. */
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

/* Who is told that no block lives; NULL: nobody. */
typedef struct cuai_retired {
    cuarena_retired_fn done;
    void *user;
} cuai_retired_t;

/* "arena 'weights'", or "arena 0x7ff8..." of one without a name. */
#define CUAI_LABEL_SIZE (sizeof "arena ''" + sizeof((cuarena_config_t *)0)->name)

struct cuarena_arena {
    /* What every allocation and free touches. */
    cuai_lock_t lock;
    uint32_t slow;         /* CUAI_SLOW_... bits: see cuai_slow_set */
    cuai_recent_t at_hand; /* the sole stream, while nothing is slow */
    uint64_t granule_mask;
    cuarena_heap_t *heaps[CUAI_HEAPS]; /* NULL where there is none */
    uint64_t block_pins;               /* pins that block_pin took and nobody ended */
    uint64_t cache_window;             /* by how much less than this a hit exceeds */
    uint64_t cache_spare;              /* see cuai_cache_spares */
    uint64_t round_powers;             /* the options of these names */
    uint64_t round_mask;               /* round_to - 1, or 0 */
    uint64_t natural;
    cuai_cache_counts_t cache;

    /* The rest. */
    cuarena_config_t config;
    cuai_memory_t memory;
    cuai_counted_t counted;   /* stands before the memory's own functions */
    cuai_segments_t segments; /* what the regions are made of */
    uint64_t stable_bytes;
    uint64_t pool_bytes; /* of a fixed pool; UINT64_MAX if it grows */
    uint64_t address_bytes;
    uint64_t next_chunk; /* see chunks.c */
    uint64_t held;
    uint64_t promised;     /* asked of the memory by threads without the lock:
                            * the limit's rest is not theirs and others' too */
    uint64_t limits[4];    /* CUARENA_LIMIT_... */
    uint64_t memory_bytes; /* what the memory had when the arena was made */
    bool unreturned;       /* free bytes may be held that KEEP would have given back
                            */
    bool growing;          /* one thread is, without the lock */
    bool compacting;       /* likewise; excludes growing */
    uint64_t in_flight;    /* blocks marked as moving by single copies */
    cuai_cond_t changed;   /* growing, compacting or a block's move ended */

    uint64_t peak_reserved;
    cuai_counts_t whole; /* kept while SLOW_WHOLE, else derived */
    uint64_t failed;
    uint64_t grows;
    uint64_t trims;
    uint64_t compactions;
    uint64_t moves;
    uint64_t bytes_moved;
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
    uint64_t most_requested; /* likewise, as asked for */

    cuai_scopes_t *whole_scopes;
    cuai_scopes_t *region_scopes[CUARENA_REGION_COUNT];
    bool shared; /* its life is the registry's */

    cuarena_export_t *exports; /* those that were not closed */

    cuai_tag_t *tags; /* index: cuarena_tag_t; [0] is unused */
    size_t tag_count;
    size_t tag_room;

    cuai_stream_t **streams;            /* by number; NULL before the first stream */
    cuai_recent_t recent[CUAI_RECENT];  /* found last, by handle */
    uint32_t stream_count;              /* numbers in use */
    struct cuai_captures *captures;     /* NULL before the first session */
    uint32_t capturing;                 /* sessions that are open */
    cuai_recent_t beside;               /* the only stream, likewise, that is not sole */
    cuai_stream_t *sole;                /* all blocks that there ever were are its: what the
                                         * dynamic heap counts is what its meter would, which
                                         * stands still; NULL: none */
    bool cpu_touches;                   /* stream order is not enough to reuse bytes */
    bool reclaiming;                    /* one thread is, without the lock */
    cuai_introduction_t *introductions; /* under way */
    cuai_uses_t uses;
    cuai_moved_t moved;
    uint64_t mark_serial;   /* events behind free lists so far */
    uint64_t ended_later;   /* blocks freed on their way elsewhere, ever */
    uint64_t ending;        /* blocks that are ENDING */
    uint64_t inside;        /* long calls that have not come to their end */
    cuai_retired_t retired; /* while SLOW_RETIRED */
    cuai_all_link_t all;

    cuarena_relocation_fn relocation_fn;
    void *relocation_user;
    cuarena_oom_fn oom_fn;
    void *oom_user;
    cuarena_event_fn event_fn;
    void *event_user;

    char label[CUAI_LABEL_SIZE]; /* what messages call it */
};

/* Sets bits of `slow`, or clears them; no stream is at hand any more. */
void cuai_slow_set(cuarena_t *arena, uint32_t bits, bool on);

static inline uint64_t cuai_granule(const cuarena_t *arena)
{
    return arena->granule_mask + 1;
}

static inline uint64_t cuai_address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static inline void *cuai_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT: offsets are addresses */
}

/* Waits until something that other threads do without the lock has ended. */
static inline void cuai_arena_wait(cuarena_t *arena)
{
    cuai_cond_wait(&arena->changed, &arena->lock);
}

/* Whether growth and trim wait for a thread that grows, trims or compacts. One whose relocations
 * are being heard by this thread's function is not at work meanwhile, and would wait for that. */
static inline bool cuai_arena_is_taken(const cuarena_t *arena)
{
    return arena->growing ||
           (arena->compacting && !cuai_frame_within(CUAI_FRAME_RELOCATION, arena));
}

/* ---- Finding blocks (find.c) ------------------------------------------- */

/* A live block: its heap and its slot there; heap NULL: none. */
typedef struct cuai_block_ref {
    cuarena_heap_t *heap;
    cuai_slot_t slot;
    int32_t region; /* CUAI_DYNAMIC, CUAI_STABLE or CUAI_APART */
} cuai_block_ref_t;

cuai_block_ref_t cuai_find_address(const cuarena_t *arena, uint64_t address);
cuai_block_ref_t cuai_find_block(const cuarena_t *arena, cuarena_block_t block);

static inline cuai_record_t *cuai_block_record(cuai_block_ref_t ref)
{
    return cuai_record(ref.heap, ref.slot);
}

/* The region as the caller knows it. */
int32_t cuai_block_region(cuai_block_ref_t ref);
/* Pins that block_pin took, without the one it was born with. */
uint32_t cuai_block_pins(const cuai_record_t *r);

/* ---- Serving (serve.c) -----------------------------------------------------
 */

/* Which free bytes beside a hole count for a request. */
typedef enum cuai_reach {
    CUAI_REACH_IDLE,
    CUAI_REACH_FREELISTS /* of all free lists: its stream can cross */
} cuai_reach_t;

/* A request that was checked, its size rounded. */
typedef struct cuai_request {
    cuarena_heap_request_t heap;
    uint64_t size;
    uint64_t credit; /* live bytes that it takes the place of */
    int32_t region;
    uint32_t stream; /* number; 0: none */
    cuai_reach_t reach;
    cuai_peaks_kept_t *before; /* gets the peaks before it is served; NULL:
                                * they do not matter */
    bool zeroed;
    bool dedicated;
    bool soon; /* bytes that are found in a bounded number of steps: others are
                * looked for by stealing */
} cuai_request_t;

/* Where a stable request goes without a stable region: low, and pinned. */
static inline int32_t cuai_region_for(const cuarena_t *arena, int32_t region)
{
    bool stable = region == CUAI_STABLE && arena->heaps[CUAI_STABLE] != NULL;
    return stable ? CUAI_STABLE : CUAI_DYNAMIC;
}

/* What the limit of live bytes leaves when `credit` of them go. */
uint64_t cuai_live_left(const cuarena_t *arena, uint64_t credit);
/* LIMIT, put into words, if so many bytes more may not live. */
cuarena_status_t cuai_check_live_limit(const cuarena_t *arena, const cuai_request_t *request);
/* From bytes that are held: the heap's answer, or LIMIT. */
cuarena_status_t cuai_try_alloc(cuarena_t *arena, const cuai_request_t *request,
                                cuai_block_ref_t *block_out);
/* The same at an address in the owner's range. */
cuarena_status_t cuai_try_alloc_at(cuarena_t *arena, const cuai_request_t *request,
                                   cuai_slot_t owner, uint64_t address,
                                   cuai_block_ref_t *block_out);
/* Ends a block that nothing moves and counts it; its bytes join the free list of a stream. The
 * caller gives a dedicated block's segment back, but for a private one, which its session keeps. */
void cuai_end_block(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Counts a block of a tag, which is not 0: it began, it ends. */
void cuai_tag_alloc(cuarena_t *arena, const cuai_record_t *r);
void cuai_tag_free(cuarena_t *arena, const cuai_record_t *r);
/* The block's size in its tag's counts and the whole's changed. */
void cuai_count_resize(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                       uint64_t more_requested);
/* Leaves a block out of the counts of allocations and frees: one without a tag that a call made and
 * ended for its own use. */
void cuai_uncount(cuarena_heap_t *heap);
/* The same for one that was never given out, just before it ends. */
void cuai_uncount_block(cuarena_t *arena, cuai_block_ref_t ref);
/* Sums of all heaps. */
uint64_t cuai_live_bytes(const cuarena_t *arena);
cuai_counts_t cuai_whole_now(const cuarena_t *arena);
/* Makes `whole` true, from now on kept at every change. */
void cuai_begin_whole(cuarena_t *arena);
/* Something began to live: raises the peaks of the whole, if they are kept. */
void cuai_note_whole(cuarena_t *arena);

/* A segment for one block alone. Steps out. */
cuarena_status_t cuai_alloc_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                      cuai_block_ref_t *block_out);
/* The segment of a dedicated block, which is all in the block's record. */
cuarena_memory_segment_t cuai_dedicated_segment(const cuai_record_t *r);
/* That segment goes back, now that the block has ended: behind the work of a stream where the
 * memory has an order, else at once (0). Steps out. */
void cuai_return_segment(cuarena_t *arena, cuarena_memory_segment_t segment, uint32_t number);
/* Whether a block's free on a stream gives its segment back on that. */
bool cuai_goes_back_on(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* Counts the caller's bytes as a block. */
cuarena_status_t cuai_adopt(cuarena_t *arena, const cuai_request_t *request, uint64_t address,
                            cuai_block_ref_t *block_out);

/* What is counted of a block besides by its heap: it begins to live, it ends.
 */
void cuai_count_in(cuarena_t *arena, const cuai_record_t *r);
void cuai_count_out(cuarena_t *arena, const cuai_record_t *r);

/* ---- Streams (streams.c) ----------------------------------------------- */

/* The number of a stream that the caller has just passed, which is made known if it is not, and
 * held until cuai_stream_leave. Steps out at first sight. */
cuarena_status_t cuai_stream_find(cuarena_t *arena, cuarena_stream_t stream, uint32_t *number_out);
/* The same of one that may be captured already. */
cuarena_status_t cuai_stream_find_captured(cuarena_t *arena, cuarena_stream_t stream,
                                           uint32_t *number_out);
void cuai_stream_leave(cuarena_t *arena, uint32_t number);
/* No call asks what the handle stands for: it may go. Steps out. */
void cuai_stream_await_introductions(cuarena_t *arena, cuarena_stream_t stream);
/* The number of one that is known, else 0. */
uint32_t cuai_stream_known(const cuarena_t *arena, cuarena_stream_t stream);
/* Numbers of released streams that nothing needs are free again. */
void cuai_streams_recycle(cuarena_t *arena);
/* The number of another thread's default stream on which nothing is left: the thread may have
 * ended. 0: there is none. */
uint32_t cuai_stream_left_idle(const cuarena_t *arena);
/* Its handle does not lead to it any more. */
void cuai_stream_unlearn(cuarena_t *arena, cuai_stream_t *s);
/* Nothing is found lately. No lock. */
void cuai_streams_begin(cuarena_t *arena);
/* A stream was found lately by a handle: it is at hand, or beside, if it may be. */
void cuai_stream_put_at_hand(cuarena_t *arena, cuarena_stream_t handle, cuai_stream_t *s);
/* What is counted of a stream's blocks. */
cuai_counts_t cuai_stream_counts(const cuarena_t *arena, const cuai_stream_t *s);
/* Its meter counts from now on: something else than its ordinary calls comes
 * to the dynamic heap's counts, or is to be told apart from them. */
void cuai_end_sole(cuarena_t *arena);
/* Whose meter counts a block, which has an owner; NULL: nobody's. */
static inline cuai_stream_t *cuai_metered(const cuarena_t *arena, const cuai_record_t *r)
{
    cuai_stream_t *s = arena->streams[r->owner];
    return s != arena->sole ? s : NULL;
}
/* Ends a stream and its free lists, which are empty. */
void cuai_stream_forget(cuarena_t *arena, uint32_t number);
/* The largest range that is idle or, if `streams`, in a stream's free list. */
uint64_t cuai_freelists_largest(const cuarena_t *arena, int region, bool streams);
/* What contradicts the blocks and ranges in what is kept of streams and uses; NULL: nothing. Steps:
 * records, and uses. */
const char *cuai_streams_wrong(const cuarena_t *arena);
/* Forgets all streams; events go back to the memory. No lock. */
void cuai_streams_forget(cuarena_t *arena);

static inline cuai_stream_t *cuai_stream(const cuarena_t *arena, uint32_t number)
{
    CUAI_ASSERT(arena->streams != NULL && number < CUAI_STREAM_NUMBERS);
    return arena->streams[number];
}

/* NULL is the legacy stream's other name. */
static inline cuarena_stream_t cuai_stream_normal(cuarena_stream_t stream)
{
    return stream == NULL ? CUARENA_STREAM_LEGACY : stream;
}

/* Where a stream would be that was found lately by this handle, neither released nor eager: what is
 * freed on it needs no call. It is if the handle is the same. */
static inline const cuai_recent_t *cuai_recent_for(const cuarena_t *arena, cuarena_stream_t stream)
{
    return &arena->recent[cuai_recent_place(stream)];
}

/* That stream. NULL: look for it. */
static inline cuai_stream_t *cuai_stream_recent(const cuarena_t *arena, cuarena_stream_t stream)
{
    const cuai_recent_t *recent = cuai_recent_for(arena, stream);
    return CUAI_LIKELY(recent->handle == stream) ? recent->stream : NULL;
}

/* The free list that is open has changed. */
void cuai_stream_note_open(const cuarena_t *arena, cuai_stream_t *s);

/* The handle that stands for a number; of a released one, no stream. */
static inline cuarena_stream_t cuai_stream_handle(const cuarena_t *arena, uint32_t number)
{
    if (number == 0 || cuai_stream(arena, number)->released)
        return CUARENA_NO_STREAM;
    return cuai_stream(arena, number)->handle;
}

/* Whether this thread may record on it: not on another thread's default
 * stream. */
bool cuai_stream_is_mine(const cuai_stream_t *s);

/* The stream is in an open session: it is given nothing. */
static inline bool cuai_is_captured(const cuarena_t *arena, uint32_t number)
{
    return number != 0 && cuai_stream(arena, number)->capture != NULL;
}

/* BUSY, put into words, if it is. */
cuarena_status_t cuai_check_captured(const cuarena_t *arena, uint32_t number);
/* Asks the memory whether a stream of this thread or of none is captured now. BUSY: its capture has
 * failed. Steps out. */
cuarena_status_t cuai_stream_ask_captured(cuarena_t *arena, uint32_t number, bool *captured_out);
/* The handle for a call of the memory, without the lock; 0 and a stream that was released: no
 * stream. From here to the end neither a session begins on it nor a release returns. Every call
 * that is given a handle is between the two, and what it depends on besides is looked up after the
 * first: that waits
 * while another thread records an event of the stream. Who touches may wait to reclaim, and not the
 * other way round: a release waits first. Steps out. */
cuarena_stream_t cuai_stream_touch(cuarena_t *arena, uint32_t number);
void cuai_stream_untouch(cuarena_t *arena, uint32_t number);

/* The free list that bytes join which are idle but for what a stream was given so far; of an eager
 * one, before its last event. */
uint32_t cuai_freelist_for_free(const cuarena_t *arena, int32_t region, uint32_t number);

/* ---- Reclaiming (reclaim.c) ----------------------------------------------- */

/*
 * One thread at a time reclaims; others wait until it is done, and then look again at what there
 * is.
 */

/* What a request on `except` could use (0: one without a stream): takes what
 * is complete; if that is nothing, closes the open free lists but its own, and looks again. Whether
 * anything came. Steps out. */
bool cuai_reclaim_ready(cuarena_t *arena, uint32_t except);
/* Waits for the event behind most bytes, and reclaims those; if there is none for blocks that
 * streams use, or what else another stream than `except` freed. Whether anything came. Steps
 * out. */
bool cuai_reclaim_one(cuarena_t *arena, uint32_t except);
/* Where free lists serve nobody but their streams: blocks that streams use end if they can, and
 * what was freed on one stream is idle (0: on none); with
 * `wait` both are waited for. Whether anything came. Steps out. */
bool cuai_reclaim_mine(cuarena_t *arena, uint32_t number, bool wait);
/* Closes every open free list; with `wait`, until all is idle. Steps out. */
cuarena_status_t cuai_reclaim_all(cuarena_t *arena, bool wait, uint64_t *reclaimed_out);
/* Sets the heap's limit of SEPARATORs anew; if it has many, free lists reclaim first. */
void cuai_reclaim_split_up(cuarena_t *arena, cuarena_heap_t *heap);
/* The stream's closed free list opens again, so that its ranges and those of the open one are
 * together; false: it was empty. Steps out. */
bool cuai_reclaim_own(cuarena_t *arena, uint32_t number);
/* BUSY, put into words, if work behind freed bytes is under way. Handles are touched as by
 * cuai_wait_for_work: streams may be gone. Steps out. */
cuarena_status_t cuai_check_idle(cuarena_t *arena);
/* Numbers that nothing needs are free again, also those of other threads' default streams. Steps
 * out. */
void cuai_streams_make_room(cuarena_t *arena);
/* The stream is about to go. Steps out. */
cuarena_status_t cuai_stream_release(cuarena_t *arena, uint32_t number);
/* All that was freed on it gets an event, if one can be recorded. Steps out. */
void cuai_stream_close(cuarena_t *arena, uint32_t number);
/* Records, if the stream is eager, the moment of a free that comes next. Steps out. */
cuarena_status_t cuai_stream_note_free(cuarena_t *arena, uint32_t number);
/* The same where it is too late to give up: work on bytes that the stream
 * frees next was queued. Steps out. */
void cuai_stream_note_work(cuarena_t *arena, uint32_t number);
/* Bytes that a plan gave back to a free list of the stream, which it may have left since, are where
 * their event is. */
void cuai_stream_tidy(cuarena_t *arena, uint32_t number);
/* The memory refused: the arena is lost if its device is. */
cuarena_status_t cuai_note_loss(cuarena_t *arena, cuarena_status_t status);

static inline bool cuai_is_lost(const cuarena_t *arena)
{
    return (arena->slow & CUAI_SLOW_LOST) != 0;
}

/* From here to the end nobody else reclaims, so that no event of a stream
 * goes. Steps out. */
void cuai_reclaim_begin(cuarena_t *arena);
void cuai_reclaim_end(cuarena_t *arena);
/* Takes what is complete, of all streams. The caller reclaims. Whether anything came. Steps out. */
bool cuai_reclaim_complete(cuarena_t *arena);
/* All that was freed on the stream so far is in its closed free list, with an event behind it: what
 * was open joins what was closed. The caller reclaims. Steps out. */
cuarena_status_t cuai_stream_cover(cuarena_t *arena, cuai_stream_t *s);
/* Reclaims the closed free list, without asking: its work is known to be done. The caller reclaims.
 * Steps out. */
void cuai_stream_reclaim_closed(cuarena_t *arena, cuai_stream_t *s);
/* The same if its event is complete, else BUSY. */
cuarena_status_t cuai_stream_poll(cuarena_t *arena, cuai_stream_t *s);
/* Waits for what was freed so far on a stream, or with 0 on each, and for blocks that streams use;
 * the bytes stay in their free lists, closed. A stream that is captured is passed over. Steps
 * out. */
cuarena_status_t cuai_await_freed(cuarena_t *arena, uint32_t number);
/* Whether the bytes of its closed free list are known to be idle. The caller reclaims. Steps
 * out. */
bool cuai_stream_is_idle(cuarena_t *arena, const cuai_stream_t *s);
/* What is left of a closed free list that may be idle is idle if it is; or, where free lists serve
 * nobody but their streams, its stream's as before. The caller reclaims. Steps out. */
void cuai_stream_return_idle(cuarena_t *arena, cuai_stream_t *s);
/* An event of the stream's work so far: of another thread's default stream, which cannot be asked,
 * of more (cuai_memory_mark_thread). BUSY: it is being captured, or that would end a capture. OK
 * with `*event` as it was: it was released, and has its last one. Steps out. */
cuarena_status_t cuai_stream_mark(cuarena_t *arena, const cuai_stream_t *s, void **event);
/* All that was freed on streams is idle, and nothing that they use is left: their free lists and
 * uses are to be forgotten. Steps out. */
void cuai_streams_reset(cuarena_t *arena);

/* ---- Uses (uses.c) ----------------------------------------------------- */

/* Keeps what the block's free will need. `number` 0: no stream uses it yet. */
cuarena_status_t cuai_use_add(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
cuai_use_t *cuai_use_find(const cuarena_t *arena, cuarena_block_t block);
/* Forgets it: the block ends now. */
void cuai_use_drop(cuarena_t *arena, cuai_block_ref_t ref);
/* Nobody uses it any more but, perhaps, a stream (0: none). */
void cuai_use_only(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* The block, which has a cuai_use_t and which nothing moves, was freed on a stream: it ends when
 * its uses do. Steps out. On an error it is as it was. */
cuarena_status_t cuai_end_after_uses(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* The block, which has a cuai_use_t, ends when all that the stream was given so far is done; no
 * stream needs to be asked for before. Calls nothing. */
void cuai_end_behind(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* Whether bytes that the stream frees must wait for others. */
bool cuai_use_matters(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* How uses are known to be done. */
typedef enum cuai_uses_how {
    CUAI_USES_ASK,
    CUAI_USES_WAIT,
    CUAI_USES_DONE /* the caller knows; nothing is queued on a stream */
} cuai_uses_how_t;
/* Ends blocks whose uses are done. The caller is the one that reclaims. Steps out. */
cuarena_status_t cuai_uses_reclaim(cuarena_t *arena, cuai_uses_how_t how, cuai_gain_t *gain);
/* Forgets all, without ending blocks; events go back to the memory. Steps
 * out. */
void cuai_uses_clear(cuarena_t *arena);

/* Makes a stream wait for what another one has done of the work behind cached blocks with a stamp,
 * or, with number 0 or where the CPU touches bytes, only asks. BUSY: it is not done, or cannot be
 * waited for. Steps out. */
cuarena_status_t cuai_stream_await(cuarena_t *arena, uint32_t number, uint32_t holder,
                                   uint64_t stamp);

/* ---- Growing and trimming (chunks.c, grow.c, holes.c, trim.c) ----------- */

/* What growth by chunks takes at least, 0 without chunks, and the next chunk
 * if it gets that. */
typedef struct cuai_chunk {
    uint64_t bytes;
    uint64_t next;
} cuai_chunk_t;

/* The first chunk is next; the first after a trim is. */
void cuai_chunks_start(cuarena_t *arena);
void cuai_chunks_trimmed(cuarena_t *arena);
/* For a request that needs so many bytes together. */
cuai_chunk_t cuai_chunk_for(const cuarena_t *arena, uint64_t need);
/* What to ask for when the memory did not have the pages of `*asked`, which goes down; 0: less than
 * `least` is of no use. */
uint64_t cuai_chunk_smaller(const cuarena_t *arena, uint64_t *asked, uint64_t least);

/* Takes the first segment: of a pool all, else the stable region's bytes and perhaps the first
 * chunk. The arena is not shared yet; no lock. */
cuarena_status_t cuai_take_first(cuarena_t *arena);
/*
 * Takes from the memory what a dynamic request lacks, or waits for another thread that does. OK:
 * try again. Otherwise nothing more can be had: LIMIT, OUT_OF_MEMORY or DRIVER, with the last error
 * set, or UNSUPPORTED without:
 * the arena is as large as it may be. Steps out.
 */
cuarena_status_t cuai_grow(cuarena_t *arena, const cuai_request_t *request, uint64_t *taken_out);
/* What a pool gave back of its dynamic region. */
uint64_t cuai_pool_untaken(const cuarena_t *arena);
/* Takes all of that again, so that blocks can be moved across it. Nobody else grows: see
 * cuai_begin_exclusive. As cuai_grow, UNSUPPORTED where the memory cannot. Steps out. */
cuarena_status_t cuai_fill_pool(cuarena_t *arena, uint64_t *taken_out);
/* Gives free bytes back until `keep_bytes` are held; how many. Steps out. */
uint64_t cuai_trim(cuarena_t *arena, uint64_t keep_bytes);
/* The same of what was freed on a stream, or with 0 on each and what is
 * idle, after waiting for it: nothing that does not go changes its stream
 * where free lists serve nobody else. Steps out. */
cuarena_status_t cuai_trim_freelists(cuarena_t *arena, uint32_t number, uint64_t keep_bytes,
                                     uint64_t *given_out);
/* Gives back all that is free and idle; where free lists serve nobody but their streams, what these
 * freed, after waiting for it; how much. Steps out. */
uint64_t cuai_trim_all(cuarena_t *arena);
/* The pool's new size, where no block has to move. Steps out. */
cuarena_status_t cuai_lengthen_pool(cuarena_t *arena, uint64_t bytes);
cuarena_status_t cuai_shorten_pool(cuarena_t *arena, uint64_t bytes);
/* LIMIT, put into words, if so many bytes more may not be held. */
cuarena_status_t cuai_check_reserved_limit(const cuarena_t *arena, uint64_t bytes);

/* What the limit of held bytes leaves. */
static inline uint64_t cuai_affordable(const cuarena_t *arena)
{
    uint64_t limit = arena->limits[CUARENA_LIMIT_RESERVED];
    uint64_t spent = arena->held + arena->promised;
    return limit > spent ? limit - spent : 0;
}

static inline void cuai_count_reserved(cuarena_t *arena, uint64_t more)
{
    arena->held += more;
    arena->peak_reserved = cuai_max(arena->peak_reserved, arena->held);
}

/* A growth, and one piece or segment that was given back: for the counts of extensions and
 * shrinkages. */
void cuai_count_extension(cuarena_t *arena);
void cuai_count_shrinkage(cuarena_t *arena);

/* A stretch of addresses in the dynamic region that has no bytes, between blocks or at the
 * segment's end. */
typedef struct cuai_hole {
    uint64_t begin;
    uint64_t bytes;
    uint64_t below; /* free bytes within reach that end where it begins */
    uint64_t above; /* ... that begin where it ends */
    bool at_end;    /* above the segment's usable bytes: only by growing */
} cuai_hole_t;

/* The next hole of a segment at or above `from`; false: no more. */
bool cuai_next_hole(const cuarena_t *arena, const cuarena_memory_segment_t *segment, uint64_t from,
                    cuai_reach_t reach, cuai_hole_t *hole_out);
/* Puts bytes that the memory gave to use, joined to what they touch, in the segment at that
 * place. */
cuarena_status_t cuai_publish(cuarena_t *arena, size_t at, uint64_t address, uint64_t bytes);
/* Another segment is at that place now. Steps: its stretches. */
void cuai_segments_number(cuarena_t *arena, size_t at);
/* Where the dynamic region begins in a segment. */
static inline uint64_t cuai_dynamic_begin(const cuarena_t *arena,
                                          const cuarena_memory_segment_t *segment)
{
    bool first = segment == &arena->segments.items[0];
    return segment->address + (first ? arena->stable_bytes : 0);
}

/* ---- Exports (exports.c) ----------------------------------------------- */

/* Pins the block and counts the export. Nothing moves it now. OUT_OF_MEMORY: the host has none.
 * BUSY: it has the most pins. */
cuarena_status_t cuai_export_begin(cuarena_t *arena, cuai_block_ref_t ref,
                                   cuarena_export_t **export_out);
/* Whether it is one of this arena's. Steps: the exports. */
bool cuai_export_known(const cuarena_t *arena, const cuarena_export_t *one);
/* Ends it; the block, which may have been freed meanwhile: ENDING, and no longer EXPORTED. */
cuai_block_ref_t cuai_export_end(cuarena_t *arena, cuarena_export_t *one);
/* How many exports the block has. Steps: the exports. */
uint32_t cuai_exports_of(const cuarena_t *arena, cuai_block_ref_t ref);
/* Without the lock: the arena ends. */
void cuai_exports_forget(cuarena_t *arena);

/* The segment around a block of any heap. */
cuarena_memory_segment_t cuai_segment_of(const cuarena_t *arena, cuai_block_ref_t ref);

/* ---- Peaks (peaks.c) --------------------------------------------------- */

/* Peaks of the whole, kept or derived. */
cuai_counts_t cuai_whole_peaks(const cuarena_t *arena);
/* Keeps the most live bytes ever, before the whole's peaks begin anew. */
void cuai_keep_most(cuarena_t *arena);
/* No scope needs the peaks of the whole kept apart from the only heap's. */
void cuai_end_whole(cuarena_t *arena);

/* ---- Tags (tags.c) ----------------------------------------------------- */

cuarena_status_t cuai_tag_register(cuarena_t *arena, const char *name, cuarena_tag_t *tag_out);
void cuai_tags_end(cuarena_t *arena);

static inline bool cuai_tag_known(const cuarena_t *arena, cuarena_tag_t tag)
{
    return tag < arena->tag_count || tag == 0;
}

/* ---- Life (life.c) ----------------------------------------------------- */

/* Makes the arena of a checked configuration. No lock. */
cuarena_status_t cuai_arena_new(const cuarena_config_t *config, cuarena_t **arena_out);
/* Ends it, whatever lives in it. No lock. */
void cuai_arena_end(cuarena_t *arena);
cuarena_status_t cuai_heap_for(const cuarena_t *arena, uint64_t most_bytes,
                               cuarena_heap_t **heap_out);

#include "arena/steal.h" /* the verbs that need all of the above */
#include "arena/stream_order.h"
#include "arena/zero.h"

#endif
