/*
 * Recording: an arena that tells what was asked of it, in a file and in memory.
 *
 *   cuarena_trace_begin(arena, "program.csv.gz");
 *   ...
 *   cuarena_trace_end(arena);          then: cuarena replay program.csv.gz
 *
 * The options trace=FILE and trace_ring=N do the same from creation on, also by CUARENA_CONF
 * where the program reads it (cuarena_config_environment). Where the file cannot be had no arena is
 * made, with the errors of cuarena_trace_begin; of arenas with the same options the second is BUSY
 * unless %n is in the name.
 *
 * The file is CSV, gzip if its name ends in .gz, and replaces what it finds. A line is an event:
 *
 *   op       a allocation, f free, resize, fail; grow, trim: bytes taken from the memory and given
 *            back; idle: bytes became idle; step: a step before a request is refused (oom.h);
 *            compact: a batch of moves, and move; reset; end: the last line
 *   id       of a: the block. Lines of the same block have the same id, and no other block of the
 *            arena ever has it: the lowest 49 bits of its cuarena_block_t, and its heap above these
 *   size     bytes asked for; of move those of the block, rounded up; of grow, trim, idle, compact:
 *            those it is about; of end: how many events are missing, 0 in a whole file
 *   stream   its handle; empty: none
 *   time     nanoseconds of CLOCK_MONOTONIC
 *   thread   the system's number of the thread
 *   tag      its name
 *   address  of the block, or of the bytes taken or given back; of move, where it is now
 *   note     of fail: the status; of step: its name, and ": nothing" if it brought nothing; of
 *            idle: the time when the arena last looked at what was freed on the stream: frees
 *            before that are idle now, but for blocks that caches of threads keep
 *
 * Blocks and segments that live when a trace begins come first. A free has the time before it, an
 * allocation the time after, so lines sorted by their times are in an order that happened. Each
 * thread writes its own lines, some hundreds at once, so those of several threads are not sorted in
 * the file; `cuarena replay` sorts them. Lines are written when a thread has 64 KiB, with its first
 * event a tenth of a second after the last write, when it ends, and at the end of the trace, of the
 * arena and of the process. A process that is killed leaves whole lines, but perhaps for a part of
 * one more, and lacks what its threads had not written yet. A trace that cannot be written any
 * more, for a full disk, ends where it is, with whole lines and a line of the log; the arena goes
 * on. Events for which the host has no memory, or that a signal handler has while its thread adds
 * one, are left out; the log says how many. Where a file lacks lines, a free may be there without
 * its allocation: `cuarena replay` leaves it out, and says how many. The line `end` comes with the
 * end of the trace and of the arena, not with that of the process, whose threads may go on.
 *
 * In a forked child nobody writes to the file; it may begin a trace of its own.
 *
 * Cost: an arena that traces nothing pays nothing. One that does pays up to 173 ns of a processor
 * for an event where it was measured (bench/results/trace.txt), and more with gzip; resizes take
 * the slow path. Each thread that has used the arena has 64 KiB, or twice that with gzip, and
 * trace_ring events of 72 bytes.
 */
#ifndef CUARENA_TRACE_H
#define CUARENA_TRACE_H

#include "base.h"
#include "heap.h"
#include "listener.h"
#include "memory.h"
#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins to record in a file: "%p" in the path becomes the number of the process, "%n" that of the
 * trace in it, from 1 on, and "%%" a percent sign. BAD_ARGUMENT for another percent sign, "", or
 * more than 255 bytes; BUSY where the arena records in a file already, or another arena or process
 * in this one; DRIVER with errno where the file cannot be made or written; UNSUPPORTED for .gz
 * where there is no libz.so.1; REENTERED from a function of the arena's memory, and where this
 * thread begins or ends the arena's trace already. Nothing has changed then: a file that was there
 * is as before, and none is made. The file has the mode that umask leaves. O(live blocks) under the
 * arena's lock, with host memory for a line of each.
 */
CUARENA_API cuarena_status_t cuarena_trace_begin(cuarena_t *arena, const char *path);

/*
 * Ends the recording, when all lines are in the file. OK if there was none. DRIVER with errno where
 * the file could not be written to its end: it has whole lines up to there; REENTERED as
 * cuarena_trace_begin. O(threads).
 */
CUARENA_API cuarena_status_t cuarena_trace_end(cuarena_t *arena);

/* Kinds of events beside those of listener.h, which no listener is told of. */
#define CUARENA_EVENT_IDLE 9  /* bytes that were freed on a stream became idle */
#define CUARENA_EVENT_MOVE 10 /* a block was moved */
#define CUARENA_EVENT_STEP 11 /* of running out */

/* An event as the ring has it. Members that do not apply are 0. Frozen. */
typedef struct cuarena_traced {
    uint64_t time_ns;        /* of CLOCK_MONOTONIC */
    int32_t kind;            /* CUARENA_EVENT_... */
    cuarena_status_t status; /* of FAIL: why; of STEP: OK if it brought something */
    cuarena_block_t block;
    void *address;
    uint64_t bytes;
    cuarena_stream_t stream; /* CUARENA_NO_STREAM: none */
    uint64_t thread;         /* the system's number of it */
    uint64_t before_ns;      /* of IDLE: see `note` above */
    cuarena_tag_t tag;
    int32_t step; /* of STEP: CUARENA_STEP_... */
} cuarena_traced_t;

/*
 * Copies the last events that the arena keeps in memory (option trace_ring), the oldest first, at
 * most `capacity` and trace_ring of them; `count_out` gets how many. `events` NULL with capacity 0
 * only asks for the count. After a refusal the last ones say how it came to that. UNSUPPORTED with
 * trace_ring=0; OUT_OF_MEMORY where the host has no memory for a copy. O(n log n) in threads times
 * trace_ring; no allocation or free waits for it for longer than a copy of its own thread's events.
 */
CUARENA_API cuarena_status_t cuarena_trace_recent(cuarena_t *arena, cuarena_traced_t *events,
                                                  size_t capacity, size_t *count_out);

#ifdef __cplusplus
}
#endif

#endif
