/*
 * Arenas: memory of a GPU or of the host that is taken once and handed out in blocks.
 *
 * 1. A pool of a fixed size. Every call that can fail returns a status, and the last error of the
 *    thread says in a sentence what was wrong.
 *
 *   cuarena_t *arena;
 *   void *pointer;
 *   if (cuarena_open("memory=device, pool=80%", &arena) != CUARENA_OK)
 *       fail(cuarena_last_error());
 *   cuarena_alloc(arena, 1000000, &pointer);
 *   cuarena_free(arena, pointer);
 *   cuarena_destroy(&arena);
 *
 * 2. An arena that takes memory as it needs it, up to a limit, and gives back what is unused when
 *    it is told to.
 *
 *   cuarena_open("memory=device, preset=grow, limit=20GiB", &arena);
 *   cuarena_alloc(arena, bytes, &pointer);
 *   cuarena_free(arena, pointer);
 *   cuarena_trim(arena, 0, &given_back);
 *
 * 3. A request that finds no room. FRAGMENTED means that enough is free, but not together. Blocks
 *    that are named by ids may be moved to make room, unless they are pinned.
 *
 *   status = cuarena_block_alloc(arena, bytes, &block);
 *   if (status == CUARENA_FRAGMENTED) {
 *       cuarena_compact(arena, NULL, NULL, NULL, NULL);
 *       status = cuarena_block_alloc(arena, bytes, &block);
 *   }
 *   if (status != CUARENA_OK)
 *       puts(cuarena_last_error());
 *
 * An arena takes large stretches of addresses, its segments, from one memory, and cuts blocks from
 * them on the host, without a call of the driver or the system. options.h says which memory, how
 * much of it, and how an arena grows. This header has the calls for the arena as a whole; blocks
 * are allocated by pointer (pointer.h), by an id that survives moves (block.h), and on streams,
 * where the GPU may use a block after the host has freed it (streams.h).
 *
 * What follows holds for every call on an arena.
 *
 * Threads. Any thread may call anything at any time; destroy must be the last call. An arena has
 * one lock, which is held for a bounded time, and never across a call of the memory or of the
 * caller's functions. Once threads have met at it 16 times, each gets a cache of blocks of its own,
 * for its calls without a stream and for each stream that it names; a thread has at most 32, those
 * of other arenas included. Allocations and frees of blocks of at most 61440 granules, which are 15
 * MiB with an alignment of 256, then take the lock once for several. Such a block may have up to
 * half as many bytes again as it has otherwise. What caches keep is free: each at most an equal
 * part of half of what is free when it takes some, given back before a request is refused or the
 * arena grows, and to whatever looks at the whole arena, such as statistics, trim, compaction and
 * reset. A cache ends with its thread. Arenas that keep or round in their own way (keep, round_to,
 * round_powers, natural), with zero=alloc, free or owner, an option of debug.h, a listener, a limit
 * of live bytes or the log at level debug have none, nor has a stream with events=eager or where
 * the CPU touches the bytes. Programs of one thread never have any.
 *
 * Errors that any call may return: BAD_ARGUMENT (a NULL arena or output, a value out of range: the
 * message of cuarena_last_error names it) and LOST. Calls that take a pointer or a block also
 * return STALE if nothing live of this arena begins at that address or has that id. Calls that say
 * that they wait for streams also return DRIVER if a wait fails.
 *
 * Cost. Allocating, freeing, resizing in place, pinning and every statistic take a bounded number
 * of steps, and call no memory as long as the arena has room; a call that costs more says so. The
 * system is called for the arena's own records when more blocks live than ever before: 7 times for
 * the first 10^5 blocks, by two calls each; see heap.h.
 *
 * Bookkeeping on the host: 72 B for each block of the highest count, 104 B with a cache, where
 * cached blocks count too. Where blocks of several streams lie beside each other it is about 92 B,
 * and 132 B if all blocks are then freed at once; see streams.h. Each segment that the memory gave
 * takes 128 B more and, with keep=none, each hole. The cache of a thread takes 8 kB, and what
 * threads hand to each other 16 kB. A free never fails for want of host memory. It takes some only
 * for the cache of its thread, for a stream that the arena did not know, and for events.
 *
 * Signal handlers. A call in a handler is REENTERED where it would have to wait for a call of this
 * thread that the handler interrupted; otherwise it works, and may change errno. It may wait for
 * other threads: so handlers that interrupt calls of one arena must not call another one, for those
 * of two threads could wait for each other, and so could one of them and a fork. Calls take host
 * memory when they need some, which a handler that interrupted malloc must not do.
 *
 * Forks. The child has every arena as it was, and its own copy of host memory. Where another thread
 * was in a long call at the fork (an allocation that finds no room at once, so that it asks streams
 * or the memory, is one), or in a callback of one, calls on the child's copy are LOST, those that
 * free and destroy too, but for queries: what that thread began would never end. A child that was
 * forked in a callback must not return from it.
 */
#ifndef CUARENA_ARENA_H
#define CUARENA_ARENA_H

#include "base.h"
#include "block.h"
#include "compact.h"
#include "listener.h"
#include "memory.h"
#include "oom.h"
#include "options.h"
#include "pointer.h"
#include "request.h"
#include "stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes an arena of a text of options, such as "memory=device, pool=80%", as cuarena_config_parse
 * takes them; docs/options.md has them all. NULL and "" mean the defaults. The environment is not
 * read. Any thread may call it. The arena is the caller's, to be ended by cuarena_destroy; where
 * the call fails *arena_out is as it was, and cuarena_last_error says why.
 *
 * Errors: BAD_ARGUMENT for an unknown key, a value that is not accepted, options that do not go
 * together (the message names key, value and what would be accepted) and a NULL output; otherwise
 * as cuarena_create.
 */
CUARENA_API cuarena_status_t cuarena_open(const char *options, cuarena_t **arena_out);
/*
 * Makes an arena of a config that the program filled in, for what has no text: functions and bytes
 * of the program's own, and a context. The preset `pool` takes its bytes now; an arena that grows
 * takes only its stable region, unless the option take_first says that it takes its first chunk
 * too.
 *
 * Errors: BAD_ARGUMENT; OUT_OF_MEMORY, or LIMIT where the pool is larger than the limit or
 * CUARENA_HEAP_MAX_HEAPS heaps live (the last error then has the bytes asked for, the limit if
 * there is one, the bytes reserved, and as free_bytes what the memory had available); NO_DEVICE;
 * DRIVER; UNSUPPORTED if the memory cannot do what the options ask; BUSY, DRIVER or UNSUPPORTED as
 * cuarena_trace_begin with the option trace. Cost: the memory's, plus O(1).
 */
CUARENA_API cuarena_status_t cuarena_create(const cuarena_config_t *config, cuarena_t **arena_out);
/*
 * Ends the arena and clears the handle; NULL and a cleared handle are OK. BUSY, with nothing
 * changed, while blocks live (the last error tells the leaks by tag, and the log as
 * cuarena_report_leaks does), while streams may still use blocks that were freed on them or are
 * being captured, while a capture session has bytes (capture.h), and for an arena that the process
 * shares (shared.h). REENTERED from a function of its memory, its relocation callback, its out-of-
 * memory handler or its event listener.
 */
CUARENA_API cuarena_status_t cuarena_destroy(cuarena_t **arena);
/* Destroys the arena with every block that lives in it. Waits for the work of its streams; the log
 * tells what could not be waited for. BUSY for a shared arena; REENTERED as cuarena_destroy. */
CUARENA_API cuarena_status_t cuarena_destroy_forced(cuarena_t **arena);

/* Called when the last block of a retired arena, `arena`, has ended. It may destroy the arena. It
 * must return, rather than leave by longjmp or an exception. */
typedef void (*cuarena_retired_fn)(void *user, cuarena_t *arena);
/*
 * Lets the arena end with its last block: `done` is called once, when no block lives any more. This
 * is for owners whose blocks outlive them, and who would otherwise count these a second time.
 *
 *   if (cuarena_retire(arena, end_arena, NULL) == CUARENA_STALE)
 *       cuarena_destroy(&arena);         no block lives: end it at once
 *
 * `done` is called at the end of the call that frees the last block or resets the arena, with no
 * lock held, and when no other such call is inside the arena. If that call was made in a listener
 * or a handler, `done` is called at the end of the call that the listener or handler belongs to.
 * Whoever retires an arena anew replaces `done`; NULL takes it back.
 *
 * A block that was freed does not live, though its bytes may still wait for a stream, a move or an
 * export: cuarena_destroy in `done` is BUSY then, and `done` has to keep the arena for later.
 * Cached blocks do not live. Calls that end no block must have returned before the last block is
 * freed, as before cuarena_destroy.
 *
 * STALE: no block lives and no call is inside, so `done` will not be called, and the caller may do
 * at once what `done` would. For a NULL `done`, STALE says that the call of `done` is on its way,
 * or that the arena is not retired. BUSY: the arena is shared. cuarena_retire never calls `done`
 * itself, so it may be called under a lock that `done` takes. Cost: O(1); while an arena is retired
 * its calls take the slow path.
 */
CUARENA_API cuarena_status_t cuarena_retire(cuarena_t *arena, cuarena_retired_fn done, void *user);
/*
 * Frees every block, pointer and id at once, in both regions. Memory, sizes, tags, limits and peaks
 * stay (cuarena_reset_peaks). You must ensure that nothing uses the blocks any more; the call
 * itself waits for what was freed on streams, and for all work where the memory allocates in the
 * order of streams (backing=async). A call of another thread comes before it or after it: a block
 * that it allocated before has ended, and bytes that it freed on a stream while the reset was under
 * way are idle.
 *
 * BUSY while pins taken by cuarena_block_pin exist, exports are open, a capture session has bytes
 * or, where it waits for all work, a stream is being captured. DRIVER if free bytes are to read as
 * 0 (zero=free) and cannot be set to 0: blocks live on, but their contents may be gone.
 * OUT_OF_MEMORY if the host has none for a list of the dedicated blocks. REENTERED from a function
 * of its memory or its relocation callback. Cost: O(live blocks).
 */
CUARENA_API cuarena_status_t cuarena_reset(cuarena_t *arena);
/*
 * Makes a pool `bytes` large, rounded up to the arena's alignment as at creation. capacity_bytes of
 * cuarena_stats tells the size, and reserved_bytes what the memory gave for it in its own
 * multiples. The stable region keeps its size, and blocks keep their contents.
 *
 * In place: where the memory can lengthen and shorten a segment (pageable, none, device with
 * backing=vmm, a caller's own that has `grow`), up to the addresses that were set aside by the
 * option `addresses` or for the limit. A pool that gets smaller moves what stands in the part that
 * goes, and is BUSY if that is pinned.
 *
 * By moving: otherwise the memory gives a pool of the new size, to which all blocks move, and the
 * relocation callback is told. It is BUSY while a pointer that is pinned, a pinned block or a
 * stable block lives. So a program that is to work alike on all memories has only blocks and
 * unpinned pointers.
 *
 * Waits for what was freed on streams if the pool gets smaller, and for all work on its bytes if
 * they move. BAD_ARGUMENT below the stable region's size; UNSUPPORTED for a caller's own bytes,
 * for an arena that grows, and where blocks would have to move on a memory that cannot move bytes;
 * REENTERED as cuarena_reset. A failed call leaves the size as it was; cached blocks have ended,
 * and blocks may have moved, which was reported. Cost: the bytes moved.
 */
CUARENA_API cuarena_status_t cuarena_resize_pool(cuarena_t *arena, uint64_t bytes);
/*
 * Gives unused bytes back to the memory, in whole pages, from the end and from the middle of
 * segments, until no more than `keep_bytes` are reserved or nothing more is free. What a pool gave
 * back it takes again when it needs it. A caller's own bytes stay. Bytes that were freed on streams
 * are given back if they are idle: the call records events and asks whether they are complete, but
 * waits for none; DRIVER if that fails, or OUT_OF_MEMORY if there is none for an event. REENTERED
 * as cuarena_reset. Cost: O(free ranges), and the memory's.
 *
 * given_back_out gets how many bytes went back: those of dedicated blocks too that were freed on a
 * stream and end in this call because it is done with them. It may be NULL.
 */
CUARENA_API cuarena_status_t cuarena_trim(cuarena_t *arena, uint64_t keep_bytes,
                                          uint64_t *given_back_out);

#define CUARENA_LIMIT_RESERVED 0 /* bytes taken from the memory */
#define CUARENA_LIMIT_LIVE 1     /* bytes of live blocks, as allocated: rounded up */
#define CUARENA_LIMIT_CACHED 2   /* bytes of cached blocks: see cache.h */
#define CUARENA_LIMIT_SOFT 3     /* bytes of live and cached blocks together */
/* The release threshold of the driver's pool that an arena uses: how many free bytes the pool keeps
 * when somebody waits for the device. It holds for everybody who uses the pool; 0, the driver's own
 * default, keeps nothing. With the option threshold_limits=1 the pool also refuses to grow above
 * it, as LIMIT. As an amount, auto means all that the device has, as 100 percent do. UNSUPPORTED
 * for an arena without such a pool; DRIVER. Asks the driver. */
#define CUARENA_LIMIT_THRESHOLD 4
/*
 * Sets a limit: `limit` is bytes, a percentage of all that the memory has, this arena's bytes among
 * them (BAD_ARGUMENT above 100 %), or auto, what is available now. A limit below what is reserved
 * or live now is legal: it bounds what comes. `old_bytes_out` (may be NULL) gets the limit before;
 * UINT64_MAX is "none". A lower limit of cached bytes ends cached blocks at once, the least
 * recently recycled first, unless cache_bound=late (cost: those blocks, and the memory's; REENTERED
 * as cuarena_trim).
 */
CUARENA_API cuarena_status_t cuarena_set_limit(cuarena_t *arena, int32_t kind,
                                               cuarena_amount_t limit, uint64_t *old_bytes_out);
CUARENA_API cuarena_status_t cuarena_get_limit(cuarena_t *arena, int32_t kind, uint64_t *bytes_out);

/* Where the arena's bytes are: address and length, in bytes, of its first segment. */
CUARENA_API cuarena_status_t cuarena_base(cuarena_t *arena, void **base_out, uint64_t *bytes_out);

#ifdef __cplusplus
}
#endif

#endif
