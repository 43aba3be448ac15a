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

/* Where the arena's bytes are: the first segment's base and length. */
CUARENA_API cuarena_status_t cuarena_base(cuarena_t *arena, void **base_out, uint64_t *bytes_out);

#ifdef __cplusplus
}
#endif

#endif
