#define _GNU_SOURCE
#include "base/lock.h"

#if CUAI_LOCK_FUTEX

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How often a taker looks before it sleeps: about as long as a holder needs
 * for a few bookkeeping calls, far less than a switch of threads costs. */
#define SPIN_LIMIT 100

static void futex_wait(_Atomic uint32_t *word, uint32_t expected)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint32_t look(cuai_lock_t *lock)
{
    return atomic_load_explicit(&lock->state, memory_order_relaxed);
}

/* Stops early where others sleep already: they come first. */
static bool take_by_spinning(cuai_lock_t *lock)
{
    for (int i = 0; i < SPIN_LIMIT; i++) {
        uint32_t state = look(lock);
        if (state == CUAI_LOCK_WAITED)
            return false;
        if (state == CUAI_LOCK_FREE && cuai_lock_try(lock))
            return true;
        relax();
    }
    return false;
}

/* A taker that slept cannot know whether others still do, so it holds the lock
 * as WAITED: at worst one wake for nobody. */
void cuai_lock_contended(cuai_lock_t *lock)
{
    if (take_by_spinning(lock))
        return;
    while (atomic_exchange_explicit(&lock->state, CUAI_LOCK_WAITED,
                                    memory_order_acquire) != CUAI_LOCK_FREE)
        futex_wait(&lock->state, CUAI_LOCK_WAITED);
}

void cuai_lock_wake(cuai_lock_t *lock)
{
    futex_wake(&lock->state, 1);
}

void cuai_lock_init(cuai_lock_t *lock)
{
    atomic_init(&lock->state, CUAI_LOCK_FREE);
}

void cuai_lock_cleanup(cuai_lock_t *lock)
{
    CUAI_ASSERT(look(lock) == CUAI_LOCK_FREE);
    (void)lock;
}

void cuai_lock_reset(cuai_lock_t *lock)
{
    cuai_lock_init(lock);
}

void cuai_event_init(cuai_event_t *event)
{
    atomic_init(&event->sequence, 0);
    event->sleepers = 0;
}

void cuai_event_cleanup(cuai_event_t *event)
{
    CUAI_ASSERT(event->sleepers == 0);
    (void)event;
}

void cuai_event_reset(cuai_event_t *event)
{
    cuai_event_init(event);
}

/* The sequence is read before the lock is let go, so a wake in between makes
 * the sleep end at once. */
void cuai_event_wait(cuai_event_t *event, cuai_lock_t *lock)
{
    uint32_t seen =
        atomic_load_explicit(&event->sequence, memory_order_relaxed);
    event->sleepers++;
    cuai_unlock(lock);
    futex_wait(&event->sequence, seen);
    cuai_lock(lock);
    event->sleepers--;
}

void cuai_event_wake(cuai_event_t *event)
{
    atomic_fetch_add_explicit(&event->sequence, 1, memory_order_relaxed);
    if (event->sleepers != 0)
        futex_wake(&event->sequence, INT_MAX);
}

#else

#include <stdlib.h>

/* These calls fail only for locks that are misused. */
static void must(int error)
{
    if (error != 0)
        abort();
}

void cuai_lock_init(cuai_lock_t *lock)
{
    must(pthread_mutex_init(&lock->mutex, NULL));
}

void cuai_lock_cleanup(cuai_lock_t *lock)
{
    must(pthread_mutex_destroy(&lock->mutex));
}

void cuai_lock_reset(cuai_lock_t *lock)
{
    cuai_lock_init(lock);
}

bool cuai_lock_try(cuai_lock_t *lock)
{
    return pthread_mutex_trylock(&lock->mutex) == 0;
}

void cuai_lock(cuai_lock_t *lock)
{
    must(pthread_mutex_lock(&lock->mutex));
}

void cuai_unlock(cuai_lock_t *lock)
{
    must(pthread_mutex_unlock(&lock->mutex));
}

void cuai_event_init(cuai_event_t *event)
{
    must(pthread_cond_init(&event->condition, NULL));
}

void cuai_event_cleanup(cuai_event_t *event)
{
    must(pthread_cond_destroy(&event->condition));
}

void cuai_event_reset(cuai_event_t *event)
{
    cuai_event_init(event);
}

void cuai_event_wait(cuai_event_t *event, cuai_lock_t *lock)
{
    must(pthread_cond_wait(&event->condition, &lock->mutex));
}

void cuai_event_wake(cuai_event_t *event)
{
    must(pthread_cond_broadcast(&event->condition));
}

#endif
