/*
 * The lock of an arena, and the event that waits until something is over.
 *
 * Cost: one compare-exchange to take a free lock, one exchange to let go of a
 * lock that nobody waits for; in a process of one thread a load and two stores.
 * All of that is inline. Everything else is in lock.c.
 *
 * On Linux a lock is one word that sleepers wait for by futex: free, held, or
 * held with sleepers (perhaps). Elsewhere, and with CUARENA_NO_FUTEX, it is a
 * pthread mutex. Only C11 atomics order memory, so thread checkers follow it.
 */
#ifndef CUAI_BASE_LOCK_H
#define CUAI_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#if defined(__linux__) && !defined(CUARENA_NO_FUTEX)
#define CUAI_LOCK_FUTEX 1
#else
#define CUAI_LOCK_FUTEX 0
#include <pthread.h>
#endif

/* Whether the C library knows that the process has this thread only. Then the
 * atomic instructions, most of a free lock's cost, are left out; a thread that
 * is made later sees all that was done before. */
#if defined(__GLIBC__) &&                                                      \
    (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 32))
#include <sys/single_threaded.h>
#define CUAI_ALONE (__libc_single_threaded != 0)
#endif
#ifndef CUAI_ALONE
#define CUAI_ALONE false
#endif

#if CUAI_LOCK_FUTEX

#define CUAI_LOCK_FREE 0u
#define CUAI_LOCK_HELD 1u
#define CUAI_LOCK_WAITED 2u /* held, and somebody may be asleep */

typedef struct cuai_lock {
    _Atomic uint32_t state; /* CUAI_LOCK_... */
} cuai_lock_t;

/* `sleepers` is guarded by the lock that waiters pass. */
typedef struct cuai_event {
    _Atomic uint32_t sequence; /* one more at every wake */
    uint32_t sleepers;
} cuai_event_t;

/* For locks and events with static storage. */
#define CUAI_LOCK_INIT                                                         \
    {                                                                          \
        0                                                                      \
    }

#else

typedef struct cuai_lock {
    pthread_mutex_t mutex;
} cuai_lock_t;

typedef struct cuai_event {
    pthread_cond_t condition;
} cuai_event_t;

#define CUAI_LOCK_INIT                                                         \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER                                              \
    }

#endif

void cuai_lock_init(cuai_lock_t *lock);
/* Nobody holds it or waits for it. */
void cuai_lock_cleanup(cuai_lock_t *lock);
/* In a forked child: whoever held it does not exist here. */
void cuai_lock_reset(cuai_lock_t *lock);

#if CUAI_LOCK_FUTEX

void cuai_lock_contended(cuai_lock_t *lock) CUAI_NOINLINE;
void cuai_lock_wake(cuai_lock_t *lock) CUAI_NOINLINE;

static inline bool cuai_lock_try(cuai_lock_t *lock)
{
    uint32_t expected = CUAI_LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(
        &lock->state, &expected, CUAI_LOCK_HELD, memory_order_acquire,
        memory_order_relaxed);
}

/* Without another thread a lock is only a mark. */
static inline bool cuai_lock_alone(cuai_lock_t *lock)
{
    if (atomic_load_explicit(&lock->state, memory_order_relaxed) !=
        CUAI_LOCK_FREE)
        return false;
    atomic_store_explicit(&lock->state, CUAI_LOCK_HELD, memory_order_relaxed);
    return true;
}

static inline void cuai_lock(cuai_lock_t *lock)
{
    bool taken = CUAI_ALONE ? cuai_lock_alone(lock) : cuai_lock_try(lock);
    if (CUAI_UNLIKELY(!taken))
        cuai_lock_contended(lock);
}

static inline void cuai_unlock(cuai_lock_t *lock)
{
    if (CUAI_ALONE) {
        atomic_store_explicit(&lock->state, CUAI_LOCK_FREE,
                              memory_order_relaxed);
        return;
    }
    uint32_t was = atomic_exchange_explicit(&lock->state, CUAI_LOCK_FREE,
                                            memory_order_release);
    CUAI_ASSERT(was != CUAI_LOCK_FREE);
    if (CUAI_UNLIKELY(was == CUAI_LOCK_WAITED))
        cuai_lock_wake(lock);
}

#else

bool cuai_lock_try(cuai_lock_t *lock);
void cuai_lock(cuai_lock_t *lock);
void cuai_unlock(cuai_lock_t *lock);

#endif

void cuai_event_init(cuai_event_t *event);
/* Nobody waits. */
void cuai_event_cleanup(cuai_event_t *event);
/* In a forked child: whoever waited does not exist here. */
void cuai_event_reset(cuai_event_t *event);

/*
 * Called with `lock` held: lets go of it until somebody wakes the event, then
 * takes it again. May come back early, so wait in a loop on a condition that
 * the same lock guards.
 */
void cuai_event_wait(cuai_event_t *event, cuai_lock_t *lock);
/* Wakes everybody. Called with the waiters' lock held. */
void cuai_event_wake(cuai_event_t *event);

#endif
