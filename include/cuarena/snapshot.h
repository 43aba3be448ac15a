/*
 * Snapshots: what an arena consists of at one moment, block by block, for people and programs that
 * look at it later.
 *
 *   cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_JSON, "arena.json");
 *
 * It has the segments with their holes, every block and every free range, tags, streams, options,
 * limits, statistics, the last request that was refused, and the events that trace_ring keeps. The
 * option snapshot_on_oom names a file for a request that is refused (OUT_OF_MEMORY, FRAGMENTED or
 * LIMIT): for the first, or for the first 16 if the name has %n, which becomes their number; %p is
 * the process, %% a percent sign. It is PyTorch's format if the name ends in .pickle, else JSON.
 * What goes wrong with it is told to the log. monitor.h gives snapshots to other processes.
 *
 * A snapshot first copies the bookkeeping under the arena's lock, into host memory that it got
 * before, and is written after that, without the lock. So other threads wait for the copy only, and
 * for what it takes caches of threads to give back what they keep: at most 1 millisecond for each
 * 10^5 blocks of the highest count so far where it was measured (bench/results/snapshot.txt). From
 * 131072 blocks on, up to three more threads copy, if the process has several anyway; they end with
 * the copy and get no signals.
 * The copy has 64 bytes of the host for each of these blocks, as long as the call lasts.
 *
 * Bytes that another thread is taking from the memory, or giving back, just then are in no segment,
 * yet those on their way back still count as reserved: the statistics may tell more than the
 * segments have.
 */
#ifndef CUARENA_SNAPSHOT_H
#define CUARENA_SNAPSHOT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* JSON, of which docs/snapshot.schema.json says what each member is. Its member "version" is
 * CUARENA_SNAPSHOT_VERSION; within one version members are only added. */
#define CUARENA_SNAPSHOT_JSON 0
/* A pickle as torch.cuda.memory._dump_snapshot writes it, for PyTorch's memory viewer: the segments
 * and blocks, without the events before. */
#define CUARENA_SNAPSHOT_PYTORCH 1

#define CUARENA_SNAPSHOT_VERSION 1

/* Gets the next bytes of something that is written, which are valid during the call only. Returns 0
 * to go on; anything else ends the writing. No lock is held: any call is legal in it. It must
 * return, rather than leave by longjmp or an exception. */
typedef int32_t (*cuarena_write_fn)(void *user, const void *bytes, size_t size);

/*
 * Writes a snapshot into a file that only its owner can read and write (0600). It is written under
 * another name beside `path`, and has this name when it is whole: a file that was there before is
 * replaced then, and stays as it was on an error. DRIVER with the errno if the system refuses, as
 * it does for a folder; OUT_OF_MEMORY if the host has no memory for the copy; BAD_ARGUMENT for
 * another format, and for a path that names a link, a device or what else is no regular file. Any
 * thread may call it, also in the arena's handlers and listeners; REENTERED from a function of its
 * memory. O(blocks + free ranges).
 */
CUARENA_API cuarena_status_t cuarena_snapshot_write(cuarena_t *arena, int32_t format,
                                                    const char *path);
/* Hands a snapshot to a function of the caller's, a few KiB at a time: the bytes that
 * cuarena_snapshot_write would write. UNSUPPORTED if the function did not take all; it has had a
 * part of the snapshot then. */
CUARENA_API cuarena_status_t cuarena_snapshot_to(cuarena_t *arena, int32_t format,
                                                 cuarena_write_fn write, void *user);

#ifdef __cplusplus
}
#endif

#endif
