/* The calls of the monitor, and its thread. */
#define _GNU_SOURCE
#include "monitor/monitor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"

static cuai_lock_t lock = CUAI_LOCK_INIT; /* guards what follows, but for the thread's reading */
static bool is_open;
static bool is_closing; /* by a thread that waits for the monitor's own */
static bool heeds_forks;
static pthread_t thread;
static cuai_listener_t listener = {.fd = -1};

/* How long the thread rests where it cannot take the next peer. */
#define REST_MS 100

/* ---- The thread -------------------------------------------------------- */

static void *run(void *wake_from)
{
    struct pollfd fds[] = {{.fd = *(const int *)wake_from, .events = POLLIN},
                           {.fd = listener.fd, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, -1) < 0)
            continue; /* interrupted */
        cuai_woken_t woken = {false, false};
        if (fds[0].revents != 0)
            woken = cuai_wake_read();
        if (woken.signal)
            cuai_signal_serve();
        if (woken.end)
            return NULL;
        int peer = fds[1].revents != 0 ? cuai_listener_accept(&listener) : -1;
        if (peer >= 0)
            cuai_serve(peer);
        else if (fds[1].revents != 0)
            (void)poll(fds, 1,
                       REST_MS); /* it may lack descriptors: the peer waits, not this loop */
    }
}

/* The thread gets no signals: those of the program are for its own threads, and a peer that went is
 * an error of the write. */
static cuarena_status_t begin_thread(void)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(!is_open);
    static int wake_from;
    sigset_t all;
    sigset_t before;
    wake_from = cuai_wake_begin();
    if (wake_from < 0)
        return CUARENA_DRIVER;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, &wake_from);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? CUARENA_OK
                      : cuai_fail_driver(error, "monitor: no thread: %s", strerror(error));
}

/* ---- Forks ------------------------------------------------------------- */

static void before_fork(void)
{
    cuai_lock(&lock);
}

static void after_fork(void)
{
    cuai_unlock(&lock);
}

/* The thread, the pipe and the path are the parent's. */
static void after_fork_in_child(void)
{
    cuai_signal_end();
    cuai_wake_forget();
    listener.facts = (struct stat){0};
    cuai_listener_close(&listener);
    is_open = false;
    is_closing = false;
    cuai_lock_reset(&lock);
}

static cuarena_status_t heed_forks(void)
{
    cuai_lock_assert_static_held(&lock);
    if (!heeds_forks)
        heeds_forks = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
    return heeds_forks
               ? CUARENA_OK
               : cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a fork handler");
}

/* ---- Calls ------------------------------------------------------------- */

static cuarena_status_t set_path(const char *path)
{
    cuai_lock_assert_static_held(&lock);
    char room[CUAI_SHOWN + sizeof("...")];
    bool fits = strlen(path) < CUAI_PATTERN_SIZE;
    if (!fits || !cuai_pattern_ok(path) || cuai_pattern_is_numbered(path))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "path: '%s'; accepted: up to 255 bytes, behind a %% a p (process) or %%",
                         cuai_shown(path, CUAI_SHOWN, room));
    cuai_pattern_print(path, 0, listener.path);
    return CUARENA_OK;
}

/* Opens the monitor; path NULL: it does not listen. On an error nothing is open. Lock held. */
static cuarena_status_t open_monitor(const char *path)
{
    cuai_lock_assert_static_held(&lock);
    if (is_open)
        return cuai_fail(CUARENA_BUSY, "this process has a monitor; accepted: close it first");
    cuarena_status_t status = heed_forks();
    if (status == CUARENA_OK && path != NULL)
        status = set_path(path);
    if (status == CUARENA_OK && path != NULL)
        status = cuai_listener_open(&listener);
    if (status == CUARENA_OK)
        status = begin_thread();
    is_open = status == CUARENA_OK;
    if (!is_open)
        cuai_listener_close(&listener);
    return status;
}

cuarena_status_t cuarena_monitor_open(const char *path)
{
    cuai_lock(&lock);
    cuarena_status_t status = open_monitor(path);
    cuai_unlock(&lock);
    return cuai_told(status);
}

cuarena_status_t cuarena_monitor_environment(void)
{
    const char *path = getenv("CUARENA_MONITOR");
    return path == NULL || path[0] == '\0' ? CUARENA_OK : cuarena_monitor_open(path);
}

cuarena_status_t cuarena_monitor_signal(int signal, const char *pattern)
{
    if (pattern == NULL)
        return cuai_null("pattern");
    cuai_lock(&lock);
    cuarena_status_t status = is_open && !is_closing
                                  ? cuai_signal_begin(signal, pattern)
                                  : cuai_fail(CUARENA_STALE, "this process has no monitor");
    cuai_unlock(&lock);
    return cuai_told(status);
}

/* Whether this call is to end it; then no other does. */
static cuarena_status_t begin_close(bool *ends_out)
{
    cuai_lock(&lock);
    CUAI_ASSERT(is_open || !is_closing);
    bool busy = is_closing;
    *ends_out = is_open && !is_closing;
    is_closing = is_open;
    if (*ends_out)
        cuai_signal_end();
    cuai_unlock(&lock);
    return busy ? cuai_fail(CUARENA_BUSY, "another thread closes the monitor") : CUARENA_OK;
}

/* The thread is waited for without the lock, since it may wait for a fork, which takes the lock. */
cuarena_status_t cuarena_monitor_close(void)
{
    bool ends = false;
    cuarena_status_t status = begin_close(&ends);
    if (!ends)
        return cuai_told(status);
    cuai_wake(CUAI_WAKE_END);
    (void)pthread_join(thread, NULL);
    cuai_lock(&lock);
    CUAI_ASSERT(is_open && is_closing);
    cuai_listener_close(&listener);
    is_open = false;
    is_closing = false;
    cuai_unlock(&lock);
    return CUARENA_OK;
}
