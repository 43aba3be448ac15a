/*
 * Arenas: one memory, one policy, one lock, its statistics.
 *
 * Threads: any thread may call anything at any time; destroy must be the last call. An arena has
 * one lock, held for a bounded time, never across a call of the memory or of the caller's
 * functions.
 *
 * Signal handlers: a call is REENTERED where the handler interrupted this thread in a call that it
 * would have to wait for, and does its work otherwise. Calls take host memory when they need some,
 * which a handler that interrupted malloc must not do.
 *
 * Forks: the child has every arena as it was, and its own copy of host memory. Where another thread
 * was in a long call at the fork (not a short allocation or free), or in a callback of one, calls
 * on the child's copy are LOST but for queries: what that thread began would never end. A child
 * that was forked in a callback must not return from it.
 *
 * Cost: alloc, free, resize in place, pin, and every statistic take a bounded number of steps and
 * call no memory while the arena holds room. What costs more says so. The system is called for the
 * arena's own records when more blocks live than ever before, 7 times for the first 10^5, by two
 * calls each; see heap.h.
 *
 * Bookkeeping on the host: 72 B for each block of the highest count, 104 B with a cache, where
 * cached blocks count too. Where streams free beside each other about 92 B, and 132 B if all blocks
 * are then freed at once; see streams.h. With keep=none 128 B more for each hole.
 *
 * A free never allocates.
 *
 * Errors that any call may return: BAD_ARGUMENT (NULL arena or output, a value out of range: the
 * message of cuarena_last_error_info names it), LOST. Calls that take a pointer or a block: STALE
 * if nothing live of this arena begins at it or has that id. Calls that wait for streams, which are
 * those that say so: DRIVER if a wait fails.
 */
#ifndef CUARENA_ARENA_H
#define CUARENA_ARENA_H

#include "base.h"
#include "heap.h"
#include "memory.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuarena_arena cuarena_t;

/* Names the purpose of blocks; 0: none. Registered once per arena. */
typedef uint16_t cuarena_tag_t;

#define CUARENA_REGION_DYNAMIC 0
#define CUARENA_REGION_STABLE 1
#define CUARENA_REGION_COUNT 2
/* For statistics: both regions, dedicated and adopted blocks. */
#define CUARENA_REGION_ALL (-1)

/* ---- Life -------------------------------------------------------------- */

/*
 * Makes an arena. The preset `pool` takes its bytes now; one that grows takes none but its stable
 * region, unless take_first says so.
 * BAD_ARGUMENT, OUT_OF_MEMORY, LIMIT (the pool is larger than the limit, or CUARENA_HEAP_MAX_HEAPS
 * heaps live; of both the last error has what was asked, the limit if there is one, what was held,
 * and as free_bytes what the memory had available), DRIVER, UNSUPPORTED (the memory cannot do what
 * the options ask). Cost: the memory's, plus under 1 ms.
 */
CUARENA_API cuarena_status_t cuarena_create(const cuarena_config_t *config, cuarena_t **arena_out);
/*
 * Ends the arena and clears the handle. BUSY while blocks live: nothing changes, and the log and
 * the last error tell the leaks by tag. BUSY too while work on what was freed on streams is under
 * way, while a capture session has bytes (capture.h), and for one of the process's shared arenas
 * (shared.h). REENTERED from a function of its memory, its relocation callback, its handler of
 * running out or its event listener. NULL and a cleared handle are OK.
 */
CUARENA_API cuarena_status_t cuarena_destroy(cuarena_t **arena);
/* As destroy, ending every block. Waits for the work of its streams; the log tells what could not
 * be waited for. BUSY for a shared arena; REENTERED as destroy. */
CUARENA_API cuarena_status_t cuarena_destroy_forced(cuarena_t **arena);

/* The arena may be destroyed in it. `arena` is that which was retired. It must return: not by
 * longjmp, nor by an exception. */
typedef void (*cuarena_retired_fn)(void *user, cuarena_t *arena);
/*
 * The arena is to end with its last block: calls `done` once, at the end of the call that frees it
 * or resets the arena, with no lock held and when no other such call is inside the arena. That of a
 * listener's or a handler's own comes at the end of the call that it is heard in. For owners that
 * the blocks outlive, and that would count these a second time. Retired anew: the last `done`
 * counts. NULL takes it back.
 *
 * What was freed does not live, though its bytes may wait for a stream, a move or an export: then
 * the destruction in `done` is BUSY, and `done` has to keep the arena for later. Cached blocks do
 * not live. Calls that end no block must have returned before the last one is freed, as before a
 * destruction.
 *
 * STALE: no block lives and nothing is inside, so `done` is not called, and the caller may do at
 * once what it would; for NULL, `done` is on its way, or the arena is not retired. BUSY: it is
 * shared. `done` is never called by this
 * call itself, which may be made under a lock that `done` takes. Cost: constant time; while an
 * arena is retired no call has a fast path.
 */
CUARENA_API cuarena_status_t cuarena_retire(cuarena_t *arena, cuarena_retired_fn done, void *user);
/*
 * Ends every block, pointer and id at once, in both regions; keeps memory, sizes, tags, limits.
 * BUSY while pins taken by cuarena_block_pin exist, exports are open or a capture session has
 * bytes; DRIVER if free bytes are to read as 0 and cannot be made so: blocks live on, but their
 * contents may be gone. Peaks stay (cuarena_reset_peaks). Nothing
 * may use the blocks any more; what was freed on streams is waited for, and all work where
 * allocations are such (segments=each).
 * REENTERED from a function of its memory or its relocation callback. Cost: the live blocks.
 */
CUARENA_API cuarena_status_t cuarena_reset(cuarena_t *arena);
/*
 * Makes the pool `bytes` large, rounded up to the arena's alignment as at creation (capacity_bytes
 * of cuarena_stats tells; reserved_bytes, what the memory gave for it in its own multiples), its
 * stable region as it is. Contents stay, in place where the memory lengthens and shortens what it
 * gave (pageable, none, device with backing=vmm, a caller's own that has `grow`), up to what the
 * option `addresses`, or a limit, set addresses aside for. Otherwise the memory gives a pool of the
 * new size, to which all blocks move: those without pins, reported to the relocation callback;
 * while a pointer, a pinned block or a stable one lives it is BUSY. In place a pool that gets
 * smaller moves what stands in the part that goes, and is BUSY if that is pinned. So a program that
 * is to work alike on all memories has blocks, or unpinned pointers, alone. BAD_ARGUMENT below the
 * stable region's size; UNSUPPORTED for a caller's own bytes. A failed call leaves the size; cached
 * blocks have ended, and blocks may have moved, which was reported. Waits for what was freed on
 * streams if the pool gets smaller, and for all work on its bytes if they move. REENTERED as reset.
 * Cost: the bytes moved.
 */
CUARENA_API cuarena_status_t cuarena_resize_pool(cuarena_t *arena, uint64_t bytes);
/*
 * Gives unused bytes back to the memory, whole pages from the end and from
 * the middle, until no more than `keep_bytes` are held or nothing more is
 * free. What a pool gave back it takes again when it needs it. A caller's own bytes stay. What was
 * freed on streams counts once it is idle: events are recorded and asked for, none is waited for;
 * DRIVER if that fails. REENTERED as reset. Cost: ranges, and the memory's.
 */
CUARENA_API cuarena_status_t cuarena_trim(cuarena_t *arena, uint64_t keep_bytes,
                                          uint64_t *given_back_out);

#define CUARENA_LIMIT_RESERVED 0 /* bytes held from the memory */
#define CUARENA_LIMIT_LIVE 1     /* of live blocks, as taken: with their rests */
#define CUARENA_LIMIT_CACHED 2   /* bytes of cached blocks: see cache.h */
#define CUARENA_LIMIT_SOFT 3     /* bytes of live and cached blocks, likewise */
/* What the driver's pool of an arena keeps of what it has free when somebody waits for the device:
 * its release threshold, for everybody who uses it. 0 is nothing, as the driver has it. With the
 * option threshold_limits=1 the pool refuses, as LIMIT, to grow above it. Auto is all that the
 * device has here,
 * as 100 percent are. UNSUPPORTED for an arena without such a pool; DRIVER. Asks the driver. */
#define CUARENA_LIMIT_THRESHOLD 4
/*
 * Bytes, percent of all that the memory has, this arena's bytes among them, or auto, what is
 * available now: one of them, by the type, and BAD_ARGUMENT above 100 %. Below what is held or live
 * now is legal:
 * it bounds what comes. `old_bytes_out` may be NULL; UINT64_MAX is "none". A lower limit of cached
 * bytes ends cached blocks at once, the least recently recycled first, unless the cache is bounded
 * late (cost: those blocks, and the memory's; REENTERED as trim).
 */
CUARENA_API cuarena_status_t cuarena_set_limit(cuarena_t *arena, int32_t kind,
                                               cuarena_amount_t limit, uint64_t *old_bytes_out);
CUARENA_API cuarena_status_t cuarena_get_limit(cuarena_t *arena, int32_t kind, uint64_t *bytes_out);

/* ---- Requests ---------------------------------------------------------- */

typedef struct cuarena_request {
    size_t struct_size;
    int32_t region;    /* CUARENA_REGION_DYNAMIC or _STABLE; an arena without a
                        * stable region has stable blocks in its dynamic one,
                        * low and pinned for good: cuarena_block_info tells
                        * STABLE of them, statistics count them as dynamic */
    int32_t zeroed;    /* 1: the block's bytes read as 0 */
    int32_t dedicated; /* 1: a segment of its own, outside growth, given back
                        * when it is freed, in a capture session after its
                        * release; counts toward the limits. All blocks are
                        * with segments=each */
    cuarena_tag_t tag;
    uint64_t alignment; /* 0: the arena's; else a power of two */
} cuarena_request_t;
CUARENA_API void cuarena_request_init(cuarena_request_t *request);

/*
 * What allocating calls may return besides: OUT_OF_MEMORY (fewer bytes are
 * free than asked and no more can be had), FRAGMENTED (compaction would serve it), LIMIT (a limit
 * stands in the way, which cuarena_get_limit tells: one that the caller set, or for preset=grow,
 * mlx-cpu and mlx-cuda what limit=auto came to), UNSUPPORTED (zeroed on a memory that cannot),
 * DRIVER. The last error has asked, limit, held, free and largest.
 */

/* ---- Pointers: blocks that stay where they are ------------------------- */

/* `bytes` of the dynamic region, pinned. 0 bytes: OK, NULL, not counted. */
CUARENA_API cuarena_status_t cuarena_alloc(cuarena_t *arena, uint64_t bytes, void **pointer_out);
/* NULL request: as cuarena_alloc. */
CUARENA_API cuarena_status_t cuarena_alloc_with(cuarena_t *arena, uint64_t bytes,
                                                const cuarena_request_t *request,
                                                void **pointer_out);
/* count * size bytes; BAD_ARGUMENT if that overflows. */
CUARENA_API cuarena_status_t cuarena_alloc_array(cuarena_t *arena, uint64_t count, uint64_t size,
                                                 const cuarena_request_t *request,
                                                 void **pointer_out);
/* The caller says that nothing uses the bytes any more. NULL is OK. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_free(cuarena_t *arena, void *pointer);
/*
 * Grows or shrinks, in place if it can, else by moving the contents (the
 * caller says that nothing uses them now). 0 bytes frees and gives NULL; a
 * NULL pointer allocates. BUSY if it would have to move and was pinned by cuarena_block_pin; a
 * stable block never moves: FRAGMENTED or OUT_OF_MEMORY. Dedicated and adopted blocks keep their
 * size: UNSUPPORTED.
 * On failure block and contents are as they were. Cost: the bytes moved.
 */
CUARENA_API cuarena_status_t cuarena_resize(cuarena_t *arena, void *pointer, uint64_t bytes,
                                            void **pointer_out);
/* Bytes asked for and bytes taken. Either output may be NULL. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_size_of(cuarena_t *arena, const void *pointer,
                                             uint64_t *requested_out, uint64_t *allocated_out);
/* Ends the pin that a pointer is born with: compaction may move it, and the relocation callback
 * tells the new address. BAD_ARGUMENT if it was ended already, or the block is stable. */
CUARENA_API cuarena_status_t cuarena_unpin(cuarena_t *arena, void *pointer);
/* Takes it again. Waits for a move under way. BAD_ARGUMENT if it is there;
 * BUSY at CUARENA_HEAP_MAX_PINS. */
CUARENA_API cuarena_status_t cuarena_pin(cuarena_t *arena, void *pointer);

/* ---- Blocks: named by ids that survive moves --------------------------- */

/* Born without a pin. 0 bytes: a live, empty block. */
CUARENA_API cuarena_status_t cuarena_block_alloc(cuarena_t *arena, uint64_t bytes,
                                                 cuarena_block_t *block_out);
CUARENA_API cuarena_status_t cuarena_block_alloc_with(cuarena_t *arena, uint64_t bytes,
                                                      const cuarena_request_t *request,
                                                      cuarena_block_t *block_out);
/* Pinned or not. 0 is OK. A block that is being moved is freed when its move
 * is done. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_block_free(cuarena_t *arena, cuarena_block_t block);
/* Keeps the id; as cuarena_resize otherwise. 0 bytes: the block is empty. */
CUARENA_API cuarena_status_t cuarena_block_resize(cuarena_t *arena, cuarena_block_t block,
                                                  uint64_t bytes);
/* Holds the block where it is and tells where. An address is good only while the block is pinned.
 * Pins count: BUSY at CUARENA_HEAP_MAX_PINS. Waits for a move under way. NULL for an empty
 * block. */
CUARENA_API cuarena_status_t cuarena_block_pin(cuarena_t *arena, cuarena_block_t block,
                                               void **pointer_out);
/* Ends one pin. BAD_ARGUMENT if block_pin took none that is left. */
CUARENA_API cuarena_status_t cuarena_block_unpin(cuarena_t *arena, cuarena_block_t block);
/* The id of the block that begins at `pointer`. */
CUARENA_API cuarena_status_t cuarena_block_of(cuarena_t *arena, const void *pointer,
                                              cuarena_block_t *block_out);

/* What is known of a block. Frozen. */
typedef struct cuarena_block_info {
    cuarena_block_t block;
    void *address;      /* NULL if empty; good while pinned */
    uint64_t requested; /* bytes asked for */
    uint64_t allocated; /* bytes taken */
    uint64_t alignment;
    int32_t region;
    cuarena_tag_t tag;
    uint16_t pins;
    uint8_t pointer; /* 1: made by the pointer calls */
    uint8_t dedicated;
    uint8_t adopted;
    uint8_t moving;
    uint32_t zero;
} cuarena_block_info_t;
CUARENA_API cuarena_status_t cuarena_block_info(cuarena_t *arena, cuarena_block_t block,
                                                cuarena_block_info_t *info_out);
/*
 * Copies up to `capacity` live blocks, in no particular order. `cursor`
 * begins at 0; the enumeration ended when fewer than `capacity` came. Blocks made or freed
 * meanwhile may or may not be seen; no other is missed or seen twice. Cost: the slots passed over.
 */
CUARENA_API cuarena_status_t cuarena_blocks(cuarena_t *arena, uint64_t *cursor,
                                            cuarena_block_info_t *infos, size_t capacity,
                                            size_t *count_out);
/*
 * Counts foreign bytes as a block of this arena: it appears in statistics, limits and enumeration,
 * is pinned, and is forgotten, not returned, when it
 * is freed. BAD_ARGUMENT if there are none, address or size is no multiple of the granule, or they
 * overlap the arena's own or what is adopted already.
 */
CUARENA_API cuarena_status_t cuarena_adopt(cuarena_t *arena, void *bytes, uint64_t size,
                                           cuarena_tag_t tag, cuarena_block_t *block_out);

/* ---- Tags -------------------------------------------------------------- */

/* The tag of that name, registered at first use; the name is copied. LIMIT
 * past CUARENA_HEAP_MAX_TAGS - 1 of them. Cost: the tags. */
CUARENA_API cuarena_status_t cuarena_tag(cuarena_t *arena, const char *name,
                                         cuarena_tag_t *tag_out);
/* Valid until the arena is destroyed. */
CUARENA_API cuarena_status_t cuarena_tag_name(cuarena_t *arena, cuarena_tag_t tag,
                                              const char **name_out);

/* ---- Compaction -------------------------------------------------------- */

/*
 * Gets a batch of relocations once, after their copies were queued (on host memory: done) and the
 * blocks have their new addresses. Ordered so that no
 * new range overlaps the old range of a later one. Legal in it: everything
 * but compact, reset, resize_pool, trim and destroy of the same arena (REENTERED). Non-zero: no
 * further batch; the one reported is done. It must return: not by longjmp, nor by an exception,
 * after which the arena would be compacting for ever.
 */
typedef int32_t (*cuarena_relocation_fn)(void *user, const cuarena_relocation_t *list,
                                         size_t count);

typedef struct cuarena_compact_options {
    size_t struct_size;
    uint64_t goal_bytes;             /* 0: all the way; N: until N bytes fit */
    uint64_t goal_alignment;         /* of those; 0: the arena's */
    uint64_t max_bytes;              /* most bytes moved; UINT64_MAX */
    uint64_t max_moves;              /* most blocks moved; UINT64_MAX */
    uint64_t batch_moves;            /* most blocks per batch, of those without a
                                      * goal; UINT64_MAX */
    int32_t report_unmoved;          /* 1: the callback also gets, in a last batch,
                                      * every block without pins that stayed, with
                                      * from = to */
    int32_t zero;                    /* 0 */
    cuarena_stream_t stream;         /* the copies are queued on it; NO_STREAM: they
                                      * are done on return */
    const cuarena_stream_t *streams; /* others that use blocks which were */
    size_t stream_count;             /* allocated without a stream */
} cuarena_compact_options_t;
CUARENA_API void cuarena_compact_options_init(cuarena_compact_options_t *options);

typedef struct cuarena_compact_report {
    size_t struct_size;
    uint64_t moves; /* blocks moved */
    uint64_t runs;  /* copies made of them */
    uint64_t bytes_moved;
    uint64_t batches;
    uint64_t largest_before; /* free range, exact */
    uint64_t largest_after;
    int32_t stopped; /* 1: the callback stopped it */
} cuarena_compact_report_t;
CUARENA_API void cuarena_compact_report_init(cuarena_compact_report_t *report);

/*
 * Slides blocks without pins of the dynamic region together. NULL options: all the way; callback
 * and report may be NULL. One compaction runs at a time: another thread's waits. FRAGMENTED: a goal
 * that no window within the limits reaches; nothing moved. What a trimmed pool gave back it takes
 * again if a goal needs that (LIMIT, OUT_OF_MEMORY or DRIVER if that cannot be had); else blocks do
 * not move across it. UNSUPPORTED: the memory
 * cannot relocate. Cost: blocks and ranges to plan, under the lock; then the bytes moved, without
 * it.
 *
 * With a stream the call does not wait, but on memory that the CPU touches:
 * the stream waits for every stream that a moved block was allocated on or is used by
 * (cuarena_record_use), moves the bytes, and those streams wait for
 * it. Bytes that it vacates are the stream's. For blocks allocated without a stream the caller
 * vouches, or names the streams that use them. Without one the call waits for all of these, and for
 * what was freed on streams.
 */
CUARENA_API cuarena_status_t cuarena_compact(cuarena_t *arena,
                                             const cuarena_compact_options_t *options,
                                             cuarena_relocation_fn callback, void *user,
                                             cuarena_compact_report_t *report);
/* Who hears of moves that no compact call reports: resize_pool, and the compaction step of running
 * out (compact_on_oom). NULL: nobody, and then
 * that step moves no pointers, pinned or not: only blocks, whose ids stay
 * good. */
CUARENA_API cuarena_status_t cuarena_set_relocation_callback(cuarena_t *arena,
                                                             cuarena_relocation_fn callback,
                                                             void *user);

/* ---- Running out ------------------------------------------------------- */

/*
 * What was tried for a request that is refused stays done: free bytes given back to the memory,
 * cached blocks ended, waits of streams, what the handler did, and moves, which were reported.
 * Nothing is given back or ended for one that would not fit beside the blocks that live. The steps
 * are in stats.h; the error lists those that were tried, names the memory that had no more with its
 * code (errno, the driver's, or what a caller's own function answered), and says why compaction
 * brought nothing.
 *
 * The handler: asked when nothing else helps, before compact_on_oom, but not for more bytes than
 * the limit of held ones and all that is held: 1 says that something was freed and the request is
 * tried again, 0 that nothing was, and then it is not asked again for this request. It is given up
 * on when it says 1 sixteen times for one request without enough room appearing.
 *
 * Called with no lock held, so others go on meanwhile, and several threads may be in it at once; on
 * one thread it is not entered twice: a request that is made in it and finds no room fails without
 * it. Any call of the arena is legal in it but to destroy it (REENTERED). It must return: not by
 * longjmp, nor by an exception. cuarena_step_stats counts every step of running out, and the log
 * tells them (debug).
 */
typedef int32_t (*cuarena_oom_fn)(void *user, cuarena_t *arena, uint64_t asked_bytes,
                                  int32_t attempt);
CUARENA_API cuarena_status_t cuarena_set_oom_handler(cuarena_t *arena, cuarena_oom_fn handler,
                                                     void *user);

/* ---- Listening --------------------------------------------------------- */

#define CUARENA_EVENT_ALLOC 1
#define CUARENA_EVENT_FREE 2
#define CUARENA_EVENT_RESIZE 3
#define CUARENA_EVENT_GROW 4    /* bytes taken from the memory */
#define CUARENA_EVENT_TRIM 5    /* bytes given back */
#define CUARENA_EVENT_COMPACT 6 /* a batch; bytes = bytes moved */
#define CUARENA_EVENT_FAIL 7    /* a request that was refused */
#define CUARENA_EVENT_RESET 8
typedef struct cuarena_event {
    size_t struct_size;
    int32_t kind;
    cuarena_status_t status; /* of FAIL */
    cuarena_block_t block;   /* 0 where none */
    void *address;           /* NULL where none */
    uint64_t bytes;          /* requested; or taken, given back, moved */
    cuarena_tag_t tag;
} cuarena_event_t;
/* Called after the fact with no lock held; everything is legal in it but to destroy the arena
 * (REENTERED), and the events of its own calls reach it too. In that of a compaction's batch what
 * is not legal in a relocation callback is not either. Events of different threads may come in
 * another order than they happened. It must return: not by longjmp, nor by an exception. */
typedef void (*cuarena_event_fn)(void *user, const cuarena_event_t *event);
CUARENA_API cuarena_status_t cuarena_set_event_listener(cuarena_t *arena, cuarena_event_fn listener,
                                                        void *user);

/* ---- Knowing ----------------------------------------------------------- */

typedef struct cuarena_stats {
    size_t struct_size;
    uint64_t reserved_bytes;  /* from the memory; only for REGION_ALL */
    uint64_t capacity_bytes;  /* blocks and ranges together */
    uint64_t live_bytes;      /* blocks, as taken */
    uint64_t requested_bytes; /* blocks, as asked for */
    uint64_t free_bytes;
    uint64_t largest_bytes; /* free range, to within 1/32 below; of what was
                             * freed on streams, what is idle */
    uint64_t live_blocks;
    uint64_t peak_reserved_bytes; /* peaks: since creation or reset_peaks */
    uint64_t peak_live_bytes;
    uint64_t peak_requested_bytes;
    uint64_t peak_live_blocks;
    uint64_t allocs;
    uint64_t frees;
    uint64_t failed; /* requests refused; only for REGION_ALL, and the */
    uint64_t grows;  /* counts below too */
    uint64_t trims;
    uint64_t compactions;
    uint64_t moves;
    uint64_t bytes_moved;
    uint64_t oom_handler_calls;
    uint64_t segments;
    uint64_t dedicated_bytes;   /* dedicated and adopted, part of live_bytes */
    uint64_t bookkeeping_bytes; /* of the host: see heap.h; ALL also counts
                                 * the arena and its streams */
    /* Of streams; only for REGION_ALL. */
    uint64_t steals;         /* requests served from another stream's free list */
    uint64_t stream_waits;   /* waits of one stream for another, queued */
    uint64_t host_waits;     /* waits of a calling thread for a stream */
    uint64_t captures;       /* capture sessions; only for REGION_ALL */
    uint64_t captured_bytes; /* private to them, live or free */
    uint64_t memory_calls;   /* of its functions that reach the driver, or
                              * would where there is none: to take, give back,
                              * move, zero and export bytes, to identify and
                              * mark streams, to ask and to wait for marks */
    uint64_t driver_calls;   /* what the driver was called for by the memory
                              * since it was opened; 0 without a driver. None
                              * to allocate from bytes that are held or to free,
                              * but: some 10 at the first sight of a stream, at
                              * most 20 for a zeroed request, at most 30 for
                              * bytes of another stream (record, ask, wait),
                              * some 10 for a free with events=eager, or on the
                              * default stream of a thread if other streams are
                              * known, for each stream that was recorded to use
                              * the block, and for the first free after a
                              * compaction */
    uint64_t free_ranges;    /* free stretches, of all free lists: two that touch
                              * are one if they are of the same free list; also of a
                              * region; 0 with segments=each, whose free bytes
                              * are the memory's, which does not tell */
} cuarena_stats_t;
CUARENA_API void cuarena_stats_init(cuarena_stats_t *stats);
/* Constant time. For REGION_ALL the peaks are of the whole. A stable request that was served
 * without a stable region counts as dynamic. */
CUARENA_API cuarena_status_t cuarena_stats(cuarena_t *arena, int32_t region,
                                           cuarena_stats_t *stats);
/* Live, requested, counts and peaks of one tag; the rest is 0. */
CUARENA_API cuarena_status_t cuarena_tag_stats(cuarena_t *arena, cuarena_tag_t tag,
                                               cuarena_stats_t *stats);
/* Sets every peak, of regions, tags and streams, to what is now. Scopes of peaks are in stats.h.
 * Cost: the tags and streams. */
CUARENA_API cuarena_status_t cuarena_reset_peaks(cuarena_t *arena);

/* What a walk finds. Cost: blocks and ranges of the region, under the lock. */
typedef struct cuarena_inspection {
    size_t struct_size;
    uint64_t free_bytes;
    uint64_t largest_bytes; /* free range, exact */
    uint64_t ranges;
    uint64_t pinned_blocks;
    uint64_t pinned_bytes;
    uint64_t movable_blocks;
    uint64_t movable_bytes;
    double fragmentation;      /* 1 - largest / free; 0 if nothing is free */
    uint64_t range_counts[64]; /* ranges of [2^i, 2^(i+1)) bytes */
    uint64_t range_bytes[64];
    uint64_t block_counts[64]; /* blocks likewise, by bytes taken */
    uint64_t block_bytes[64];
} cuarena_inspection_t;
CUARENA_API void cuarena_inspection_init(cuarena_inspection_t *inspection);
CUARENA_API cuarena_status_t cuarena_inspect(cuarena_t *arena, int32_t region,
                                             cuarena_inspection_t *inspection);
/* Recomputes everything; CORRUPT with the reason in `text` (may be NULL). */
CUARENA_API cuarena_status_t cuarena_validate(cuarena_t *arena, char *text, size_t text_size);

/* Where the arena's bytes are: the first segment's base and length. */
CUARENA_API cuarena_status_t cuarena_base(cuarena_t *arena, void **base_out, uint64_t *bytes_out);

#ifdef __cplusplus
}
#endif

#endif
