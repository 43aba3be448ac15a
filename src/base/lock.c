#define _GNU_SOURCE
#include "base/lock.h"

#if CUAI_LOCK_FUTEX

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void cuai_futex_wait(_Atomic uint32_t *word, uint32_t expected)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void cuai_futex_nap(_Atomic uint32_t *word, uint32_t expected)
{
    const struct timespec moment = {0, 1000000};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &moment, NULL,
                  0);
}

void cuai_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static uint32_t look(cuai_lock_t *lock)
{
    return atomic_load_explicit(&lock->word, memory_order_relaxed);
}

static bool take_word(cuai_lock_t *lock)
{
    uint32_t expected = CUAI_LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(
        &lock->word, &expected, CUAI_LOCK_HELD, memory_order_acquire,
        memory_order_relaxed);
}

/* Stops early where others sleep already: they come first. */
static bool take_by_spinning(cuai_lock_t *lock)
{
    for (int i = 0; i < CUAI_LOCK_SPINS; i++) {
        uint32_t word = look(lock);
        if (word == CUAI_LOCK_WAITED)
            return false;
        if (word == CUAI_LOCK_FREE && take_word(lock))
            return true;
        cuai_relax();
    }
    return false;
}

/* A taker that slept cannot know whether others still do, so it holds the lock
 * as WAITED: at worst one wake for nobody. */
static CUAI_NOINLINE void take_contended(cuai_lock_t *lock)
{
    if (take_by_spinning(lock))
        return;
    while (atomic_exchange_explicit(&lock->word, CUAI_LOCK_WAITED,
                                    memory_order_acquire) != CUAI_LOCK_FREE)
        cuai_futex_wait(&lock->word, CUAI_LOCK_WAITED);
}

/* Most turns only count. */
void cuai_lock_by_word(cuai_lock_t *lock)
{
    if (CUAI_UNLIKELY(!take_word(lock)))
        take_contended(lock);
    if (lock->left > 1 && lock->last == cuai_lock_thread())
        lock->left--;
    else if (lock->patience != 0)
        cuai_bias_arrive(lock);
}

static void let_go(cuai_lock_t *lock)
{
    if (lock->bias != 0)
        cuai_bias_leave(lock);
    else if (CUAI_UNLIKELY(look(lock) == CUAI_LOCK_WAITED))
        lock->left = lock->patience;
    uint32_t was = atomic_exchange_explicit(&lock->word, CUAI_LOCK_FREE,
                                            memory_order_release);
    CUAI_ASSERT(was != CUAI_LOCK_FREE);
    if (CUAI_UNLIKELY(was == CUAI_LOCK_WAITED))
        cuai_futex_wake(&lock->word, 1);
}

void cuai_unlock_taken(cuai_lock_t *lock, uint32_t raised)
{
    if (raised == 0)
        let_go(lock);
    else
        cuai_futex_wake(&lock->flags[raised], 1);
}

void cuai_lock_retreat(_Atomic uint32_t *flag)
{
    atomic_store_explicit(flag, 0, memory_order_release);
    cuai_futex_wake(flag, 1);
}

void cuai_lock_init(cuai_lock_t *lock)
{
    atomic_init(&lock->word, CUAI_LOCK_FREE);
    cuai_bias_init(lock, false);
}

void cuai_lock_init_owned(cuai_lock_t *lock)
{
    atomic_init(&lock->word, CUAI_LOCK_FREE);
    cuai_bias_init(lock, true);
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
    cuai_futex_wait(&event->sequence, seen);
    cuai_lock(lock);
    event->sleepers--;
}

void cuai_event_wake(cuai_event_t *event)
{
    atomic_fetch_add_explicit(&event->sequence, 1, memory_order_relaxed);
    if (event->sleepers != 0)
        cuai_futex_wake(&event->sequence, INT_MAX);
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

void cuai_lock_init_owned(cuai_lock_t *lock)
{
    cuai_lock_init(lock);
}

void cuai_lock_cleanup(cuai_lock_t *lock)
{
    must(pthread_mutex_destroy(&lock->mutex));
}

void cuai_lock_reset(cuai_lock_t *lock)
{
    cuai_lock_init(lock);
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
