/*
 * Whether another thread waits. To sleep for a while and then see that it has not gone on shows
 * nothing on a machine that is busy; here the system is asked whether the thread sleeps.
 */
#ifndef CUARENA_TEST_WAITS_H
#define CUARENA_TEST_WAITS_H

#include <stdatomic.h>
#include <stdbool.h>

/* A thread that is expected to wait. Zeroed, until it begins. */
typedef struct waiter {
    _Atomic long thread; /* the system's number; 0: it has not begun */
    atomic_bool over;    /* it went on to its end */
} waiter_t;

/* For the thread itself: before and after what it waits in. */
void waiter_begin(waiter_t *waiter);
void waiter_end(waiter_t *waiter);

/* Returns when the thread sleeps, or went on to its end instead: then false. Where the system does
 * not tell, it gives the thread a while to go on. */
bool falls_asleep(waiter_t *waiter);
/* Fails unless it sleeps. */
void expect_asleep(waiter_t *waiter, const char *what);

#endif
