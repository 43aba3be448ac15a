/*
 * Debugging: what finds writes outside of blocks and to freed ones, and reports what was leaked;
 * and what tools are told of blocks.
 *
 *   cuarena_open("pool=1GiB, guard=64, fill=both, quarantine=16MiB, stacks=8", &arena);
 *   ...
 *   cuarena_check(arena, NULL);            CORRUPT: somebody wrote where no block is
 *   cuarena_report_leaks(arena, print_line, NULL);
 *
 * Four options, which go together as you like; with any of them every call takes the slow path, and
 * without them nothing is paid.
 *
 *   guard=BYTES       Bytes before and behind each block, up to 4 KiB on either side, have the
 *                     value 0xFD. They are looked at when the block is freed or resized, and by
 *                     cuarena_check. Those behind begin right after the bytes that were asked for.
 *   fill=alloc, free  New bytes have the value 0xCD, unless they were asked for as 0; bytes of
 *                     freed blocks 0xDD. `both` does both.
 *   quarantine=BYTES  Freed blocks, filled with 0xDD, wait until so many bytes of them are there;
 *                     then the one that was freed first goes, and is looked at: who wrote to it
 *                     used it after its free. A request that would be refused, cuarena_check,
 *                     cuarena_reset and cuarena_destroy let all of them go.
 *   stacks=N          The N innermost callers of each allocation are kept, for findings and for
 *                     leaks. In a program that has the library linked statically its own functions
 *                     count among them.
 *
 * A finding is told to the log at level error, once, and is the thread's last error, with the
 * status CORRUPT: block, address, bytes and tag, how old the block is, in allocations and
 * milliseconds, how far from it the nearest byte was written, and up to 16 bytes that are there.
 * The stack of its allocation follows in the log. What was written to a guard is mended, so that it
 * is not found again. A free that makes a finding frees the block and is OK.
 *
 * Where what is written comes from a GPU it is seen as well, in every memory: guards and patterns
 * are written on the stream of the call, and before they are looked at the call waits on the host
 * for that stream and for all that the block names, those of cuarena_record_use too. That wait at
 * every free and resize is the price, but with `stacks` alone, which waits for nothing; a
 * quarantine and fill=free also write each freed byte before the free returns, a quarantine reads
 * it again, and such blocks are idle then, so no stream gets them sooner than others, and no cache
 * keeps them.
 *
 * Guards are bytes of the arena. They count in live bytes and in limits; bytes requested are those
 * that were asked for. What the library tells of a block (its address and size, bytes that are
 * exported or move) has no guards in it, so sizes of blocks add up to less than live bytes; but
 * snapshots have blocks as they lie, guards included. Guards move with their block. The front is as
 * long as the block's alignment, if that is more than a guard. Blocks in the quarantine count as
 * live, and are no leaks.
 *
 * Not watched: blocks of 0 bytes, and adopted ones. No guards and no pattern: blocks that were
 * allocated, or resized last, on a stream of an open capture session, for a graph would write to
 * them at each launch. A free on such a stream, or of a block that such a stream uses, looks at
 * nothing. Exported blocks have guards, but no pattern after their free, and are in no quarantine.
 * On a lost arena nothing is looked at.
 *
 * With any of them each live block takes host memory, in some 90 bytes and 8 for each caller; an
 * allocation is OUT_OF_MEMORY where there is none.
 *
 * Tools that listen by NVTX, such as compute-sanitizer, need none of these:
 *
 *   compute-sanitizer --tool memcheck ./program
 *
 *   nvtx=auto   If the environment names a tool (NVTX_INJECTION64_PATH, which compute-sanitizer
 *               sets), it is told of blocks: each is an allocation of its own, of as many bytes as
 *               were asked for, under the name of its tag or else of its arena. So it finds a
 *               kernel that writes 1 byte behind a block, reads one that was freed, also behind a
 *               free on the same stream, or one where it was before a compaction. The default.
 *   nvtx=on     It is told of the blocks of any memory; CUDA must be initialized by then.
 *   nvtx=off    Nothing is told.
 *
 * compute-sanitizer takes blocks of memory=managed, pinned, and device with backing=malloc, which
 * is what backing=auto is with a tool; it takes none in handles (vmm) or in a driver's pool (async,
 * of which the presets mlx-cuda and driver-pool are unless told otherwise), so there auto tells
 * nothing; nor does it where an option needs handles. It wants the CUDA runtime to have begun, as
 * by cudaFree(NULL), before the arena: else it says so in a warning, and sees no blocks. It forgets
 * all blocks when the program creates another context, so contexts are best created before arenas.
 *
 * An arena that tells a tool of blocks takes the slow path for every call, and its threads have no
 * caches; without a tool nothing is paid. What a capture session freed counts as in use until its
 * release, since each launch of the graph uses it, and blocks that had the same bytes are one
 * allocation. Bytes that the library uses, to copy, to set or to look at, count as in use while
 * that is queued. Adopted bytes are their owner's to tell of. To initcheck a block that has moved
 * is new, and its bytes are not written: run that with nvtx=off, or --nvtx no. Where the host has
 * no memory for what is told of a segment, all of its bytes count as in use from then on.
 *
 * A profiler such as Nsight Systems is told how long things take, as ranges of the domain
 * "cuarena": "grow" (bytes asked of the memory), "run out" (bytes of the request that found no
 * room, until it has its block or is refused) and "compact"; the number is the range's payload.
 *
 * memory=none has no bytes to guard; memory of a program's own needs set_bytes and read_bytes
 * (memory.h). `stacks` is UNSUPPORTED where the library was built without execinfo.h.
 */
#ifndef CUARENA_DEBUG_H
#define CUARENA_DEBUG_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Looks at the guards of all live blocks, and at what the quarantine keeps, which ends. CORRUPT if
 * there are findings; the last error has the first and their number. `findings_out`, which may be
 * NULL, gets the number of findings since the arena was made, also of those that frees made and
 * also if the call is CORRUPT; it is 0, and the call OK, where no option asks for anything.
 *
 * Blocks that a call of another thread works on are waited for. Those that open capture sessions
 * use are passed over. REENTERED from a function of the arena's memory; DRIVER if a wait or a copy
 * fails. Cost: O(highest count of blocks so far), a wait for the streams of each and, on a device,
 * two copies of its guards.
 */
CUARENA_API cuarena_status_t cuarena_check(cuarena_t *arena, uint64_t *findings_out);

/* One line of a report, without a line feed; good during the call. No lock is held, but the arena
 * must not be called (REENTERED). It must return, rather than leave by longjmp or an exception. */
typedef void (*cuarena_line_fn)(void *user, const char *line);

/*
 * Reports the live blocks: how many there are, by tag, those with most bytes first, and the oldest
 * block of each. With stacks=N also where most of them were allocated. At most 16 tags and 8 places
 * are listed, and then how many more there are. Only with one of the options above it is known how
 * old a block is. A NULL `line` is the log, at level warn. cuarena_destroy does that by itself when
 * it is BUSY because blocks live. OUT_OF_MEMORY if the host has none for a list of the blocks.
 * Cost: O(highest count of blocks so far), and to sort the live ones, without the lock.
 */
CUARENA_API cuarena_status_t cuarena_report_leaks(cuarena_t *arena, cuarena_line_fn line,
                                                  void *user);

#ifdef __cplusplus
}
#endif

#endif
