/*
 * Signals wait while a thread is in a tool or has the lock of an arena's regions, neither of which
 * other threads that hold the arena's lock can do without. A handler that came there and called the
 * arena would wait for these threads, and they for the thread that it interrupts. Signals that
 * tell of a fault come at once: they would end the process if they had to wait.
 *
 * Included by files that ask for POSIX.
 */
#ifndef CUAI_NVTX_SIGNALS_H
#define CUAI_NVTX_SIGNALS_H

#include <pthread.h>
#include <signal.h>

static inline void cuai_signals_hold(sigset_t *was)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t held;
    (void)sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        (void)sigdelset(&held, faults[i]);
    (void)pthread_sigmask(SIG_BLOCK, &held, was);
}

static inline void cuai_signals_release(const sigset_t *was)
{
    (void)pthread_sigmask(SIG_SETMASK, was, NULL);
}

#endif
