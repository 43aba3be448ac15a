/*
 * The monitor: lets other processes of the same user see the arenas of this one while it runs, and
 * writes snapshots on a signal. There is none unless the program asks for it.
 *
 *   cuarena_monitor_open("/run/user/1000/cuarena-%p.sock");
 *   ...                                          cuarena top /run/user/1000/cuarena-*.sock
 *   cuarena_monitor_close();
 *
 * It is one thread, which sleeps until somebody asks. An answer takes the lock of the arena that is
 * asked about for as long as cuarena_stats or a snapshot does (snapshot.h). While an arena is asked
 * about, arenas cannot begin or end, nor threads end that have caches, nor the process fork; so
 * that is for as long as a snapshot's copy takes, and as long as it takes to copy and sort the
 * events that it keeps (trace_ring).
 *
 * Any thread may make these calls, but not a signal handler. A forked child has no monitor, and may
 * open its own. Close it before the library is unloaded.
 */
#ifndef CUARENA_MONITOR_H
#define CUARENA_MONITOR_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins the thread, which listens at a Unix socket of that path. Only the owner can reach it
 * (0600), and peers of other users are refused. In the path %p stands for the process and %% for a
 * percent sign. NULL: it does not listen, and is for cuarena_monitor_signal alone.
 *
 * BUSY if there is a monitor, or another process listens there; BAD_ARGUMENT for a path that is too
 * long (107 bytes on Linux), has another percent sign, or names something else than the socket of a
 * process that has ended, which is replaced; OUT_OF_MEMORY if the host has none; DRIVER with the
 * errno if the system refuses.
 *
 * Whoever connects sends one line: "list", "stats", "snapshot NUMBER json" or "snapshot NUMBER
 * pytorch". The answer is "ok LENGTH" in a line and so many bytes, or "error TEXT" in a line; then
 * the connection ends. The first two answer with JSON in one line: version, pid and the list
 * "arenas", of each of which they tell number and name and, for "stats", how many streams it knows
 * and its "statistics". A peer that has sent no line within a second, or takes nothing for
 * one, is let go.
 */
CUARENA_API cuarena_status_t cuarena_monitor_open(const char *path);
/* Opens the monitor, as cuarena_monitor_open does, at the path that CUARENA_MONITOR in the
 * environment says; OK, with nothing done, if there is none. No other call reads that. No thread
 * may change the environment meanwhile. */
CUARENA_API cuarena_status_t cuarena_monitor_environment(void);
/*
 * From now on a signal makes the monitor write a snapshot of each arena: into files whose names the
 * pattern says: %n stands for the number of the file, from 1 on, %p for that of the process and %%
 * for a percent sign. They are in PyTorch's format if it ends in .pickle, else in JSON. The
 * signal's handler only wakes the monitor.
 *
 * BAD_ARGUMENT for a signal that has a handler already, that cannot have one, or that tells of a
 * fault; for a pattern without %n or with another percent sign, or one of more than 255 bytes.
 * STALE if there is no monitor; BUSY if it has a signal. What goes wrong with a file is told to the
 * log.
 */
CUARENA_API cuarena_status_t cuarena_monitor_signal(int signal, const char *pattern);
/* Ends the monitor, once it has answered whom it is answering and written what signals asked for;
 * its socket goes, and its signal does what it did before. OK if there is none; BUSY if another
 * thread is in this call. */
CUARENA_API cuarena_status_t cuarena_monitor_close(void);

#ifdef __cplusplus
}
#endif

#endif
