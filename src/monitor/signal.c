/*
 * Signals, and the pipe that wakes the monitor's thread.
 *
 * The pipe is never closed but in a forked child: a handler that was interrupted before its write
 * finds the same pipe when it goes on, whatever was opened and closed meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "api/numbered.h"
#include "base/error.h"
#include "base/log.h"
#include "monitor/monitor.h"

static int wake_from = -1;
static _Atomic int wake_to = -1;

/* ---- The pipe ---------------------------------------------------------- */

static void prepare(int fd)
{
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

int cuai_wake_begin(void)
{
    int ends[2];
    if (wake_from >= 0)
        return wake_from;
    if (pipe(ends) != 0) {
        (void)cuai_fail_driver(errno, "monitor: no pipe: %s", strerror(errno));
        return -1;
    }
    prepare(ends[0]);
    prepare(ends[1]);
    wake_from = ends[0];
    atomic_store(&wake_to, ends[1]);
    return wake_from;
}

/* Safe in a signal handler. A full pipe wakes the thread as well. */
void cuai_wake(cuai_wake_t why)
{
    int error = errno;
    char byte = (char)why;
    int to = atomic_load(&wake_to);
    if (to >= 0 && write(to, &byte, 1) < 0)
        errno = error;
    errno = error;
}

cuai_woken_t cuai_wake_read(void)
{
    CUAI_ASSERT(wake_from >= 0);
    cuai_woken_t woken = {false, false};
    char bytes[64];
    ssize_t count;
    while ((count = read(wake_from, bytes, sizeof bytes)) > 0) {
        woken.signal = woken.signal || memchr(bytes, CUAI_WAKE_SIGNAL, (size_t)count) != NULL;
        woken.end = woken.end || memchr(bytes, CUAI_WAKE_END, (size_t)count) != NULL;
    }
    return woken;
}

void cuai_wake_forget(void)
{
    int to = atomic_exchange(&wake_to, -1);
    if (wake_from < 0)
        return;
    CUAI_ASSERT(to >= 0);
    (void)close(wake_from);
    (void)close(to);
    wake_from = -1;
}

/* ---- The signal -------------------------------------------------------- */

static int handled;             /* 0: none */
static struct sigaction before; /* what it did */
static char pattern[CUAI_PATTERN_SIZE];
static uint64_t written; /* files */

static void handle(int signal)
{
    (void)signal;
    cuai_wake(CUAI_WAKE_SIGNAL);
}

/* Faults would be raised again and again. */
static bool is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP || signal == SIGABRT || signal == SIGSYS;
}

static cuarena_status_t check_pattern(const char *wanted)
{
    char room[CUAI_SHOWN + sizeof("...")];
    const char *shown = cuai_shown(wanted, CUAI_SHOWN, room);
    if (strlen(wanted) >= sizeof pattern)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "pattern: '%s' is too long; accepted: up to 255 bytes", shown);
    if (!cuai_pattern_ok(wanted) || !cuai_pattern_is_numbered(wanted))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "pattern: '%s'; accepted: with %%n for the number, and %%p "
                         "and %%%% besides",
                         shown);
    return CUARENA_OK;
}

static cuarena_status_t check_signal(int signal)
{
    struct sigaction now;
    if (handled != 0)
        return cuai_fail(CUARENA_BUSY, "monitor: it has signal %d", handled);
    if (is_fault(signal) || sigaction(signal, NULL, &now) != 0)
        return cuai_fail(
            CUARENA_BAD_ARGUMENT,
            "signal: %d; accepted: one that can be handled and tells of no fault, such "
            "as SIGUSR1",
            signal);
    if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "signal: %d has a handler; accepted: one without",
                         signal);
    return CUARENA_OK;
}

cuarena_status_t cuai_signal_begin(int signal, const char *wanted)
{
    cuarena_status_t status = check_pattern(wanted);
    if (status == CUARENA_OK)
        status = check_signal(signal);
    if (status != CUARENA_OK)
        return status;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    strcpy(pattern, wanted);
    if (sigaction(signal, &action, &before) != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "signal: %d cannot be handled: %s", signal,
                         strerror(errno));
    handled = signal;
    return CUARENA_OK;
}

void cuai_signal_end(void)
{
    if (handled != 0)
        (void)sigaction(handled, &before, NULL);
    handled = 0;
}

static void write_one(uint64_t number)
{
    CUAI_ASSERT(pattern[0] != '\0');
    char path[CUAI_PATTERN_PATH];
    cuai_snapshot_t *s;
    cuai_pattern_print(pattern, ++written, path);
    cuarena_status_t status = cuai_numbered_snapshot(number, &s);
    if (status == CUARENA_STALE)
        return; /* it has ended meanwhile */
    if (status == CUARENA_OK) {
        status = cuai_snapshot_save(s, cuai_snapshot_format_of(path), path);
        cuai_snapshot_end(s);
    }
    if (status == CUARENA_OK)
        cuai_log(CUARENA_LOG_INFO, "monitor: snapshot of arena %llu: %s",
                 (unsigned long long)number, path);
    else
        cuai_log(CUARENA_LOG_WARN, "monitor: no snapshot of arena %llu: %s",
                 (unsigned long long)number, cuarena_last_error());
}

void cuai_signal_serve(void)
{
    for (uint64_t number = 0; (number = cuai_numbered_next(number)) != 0;)
        write_one(number);
}
