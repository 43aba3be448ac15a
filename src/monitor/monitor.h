/*
 * The monitor's parts.
 *
 *   monitor.c  the calls, and the thread
 *   signal.c   the pipe that wakes the thread, and the handler that writes to it
 *   socket.c   where it listens, and who may connect
 *   serve.c    a request and its answer
 */
#ifndef CUAI_MONITOR_MONITOR_H
#define CUAI_MONITOR_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/pattern.h"
#include "cuarena/monitor.h"

/* ---- Sockets ----------------------------------------------------------- */

#define CUAI_PATIENCE_S 1 /* for a peer's request, and for one that takes nothing */

typedef struct cuai_listener {
    int fd; /* -1: none */
    char path[CUAI_PATTERN_PATH];
    struct stat facts; /* of the path, to tell whether it is still this one */
} cuai_listener_t;

/* Listens at the path of the listener. Errors are put into words. */
cuarena_status_t cuai_listener_open(cuai_listener_t *listener);
/* Ends it, and takes its path away if that is still its own. */
void cuai_listener_close(cuai_listener_t *listener);
/* The next peer; -1: there is none now, or it is another user's. */
int cuai_listener_accept(const cuai_listener_t *listener);

/* ---- Requests ---------------------------------------------------------- */

/* Reads a peer's request, and answers. */
void cuai_serve(int peer);

/* ---- Signals ----------------------------------------------------------- */

/* What wakes the thread. */
typedef enum cuai_wake {
    CUAI_WAKE_SIGNAL = 's',
    CUAI_WAKE_END = 'e'
} cuai_wake_t;

/* Makes the pipe, if there is none; the end to read from, or -1, put into words. */
int cuai_wake_begin(void);
void cuai_wake(cuai_wake_t why);
/* Reads what has come; whether it said so. */
typedef struct cuai_woken {
    bool signal;
    bool end;
} cuai_woken_t;
cuai_woken_t cuai_wake_read(void);
/* In a forked child: the pipe is the parent's, so it is let go of here. */
void cuai_wake_forget(void);

/* Handles a signal. Errors are put into words. */
cuarena_status_t cuai_signal_begin(int signal, const char *pattern);
/* Lets the handled signal do again what it did before cuai_signal_begin. */
void cuai_signal_end(void);
/* Writes a snapshot of each arena. */
void cuai_signal_serve(void);

#endif
