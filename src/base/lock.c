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
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &moment, NULL, 0);
}

void cuai_futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static uint32_t look(cuai_lock_t *lock)
{
    return atomic_load_explicit(&lock->word, memory_order_relaxed);
}

/* What the word says while this thread has it: a number that no other thread
 * of the process has, but after 2^31 of them. */
static uint32_t own_word(void)
{
    static _Atomic uint32_t made;
    static _Thread_local uint32_t own;
    while (own == CUAI_LOCK_FREE)
        own =
            atomic_fetch_add_explicit(&made, CUAI_LOCK_STEP, memory_order_relaxed) + CUAI_LOCK_STEP;
    return own;
}

static bool take_word(cuai_lock_t *lock, uint32_t own)
{
    uint32_t expected = CUAI_LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(&lock->word, &expected, own,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Whether this thread raised its flag, whoever the owner is by now. */
static bool is_flagged(cuai_lock_t *lock)
{
    uint64_t thread = cuai_lock_thread();
    for (uint32_t i = 0; i < CUAI_LOCK_FLAGS; i++)
        if (atomic_load_explicit(&lock->threads[i], memory_order_relaxed) == thread &&
            atomic_load_explicit(&lock->flags[i + 1], memory_order_relaxed))
            return true;
    return false;
}

/* Stops early where others sleep already: they come first. */
static bool take_by_spinning(cuai_lock_t *lock, uint32_t own)
{
    for (int i = 0; i < CUAI_LOCK_SPINS; i++) {
        uint32_t word = look(lock);
        if (word & CUAI_LOCK_WAITED)
            return false;
        if (word == CUAI_LOCK_FREE && take_word(lock, own))
            return true;
        cuai_relax();
    }
    return false;
}

/* A taker that slept cannot know whether others still do, so it holds the lock as WAITED: at worst
 * one wake for nobody. */
static void take_by_sleeping(cuai_lock_t *lock, uint32_t own)
{
    while (!take_word(lock, own | CUAI_LOCK_WAITED)) {
        uint32_t word = look(lock);
        if (word == CUAI_LOCK_FREE)
            continue;
        uint32_t waited = word | CUAI_LOCK_WAITED;
        if (word == waited ||
            atomic_compare_exchange_strong_explicit(&lock->word, &word, waited,
                                                    memory_order_relaxed, memory_order_relaxed))
            cuai_futex_wait(&lock->word, waited);
    }
}

/* false: this thread is in. */
static CUAI_NOINLINE bool take_contended(cuai_lock_t *lock, uint32_t own)
{
    if ((look(lock) & ~CUAI_LOCK_WAITED) == own || is_flagged(lock))
        return false;
    if (!take_by_spinning(lock, own))
        take_by_sleeping(lock, own);
    return true;
}

/* Most turns only count. */
bool cuai_lock_by_word(cuai_lock_t *lock)
{
    uint32_t own = own_word();
    if (CUAI_UNLIKELY(!take_word(lock, own)) && !take_contended(lock, own))
        return false;
    if (lock->left > 1 && lock->last == cuai_lock_thread())
        lock->left--;
    else if (lock->patience != 0)
        cuai_bias_arrive(lock);
    return true;
}

void cuai_lock_unowned(cuai_lock_t *lock)
{
    if (CUAI_UNLIKELY(!cuai_lock_by_word(lock)))
        cuai_lock_is_ours();
}

void cuai_unlock_unowned(cuai_lock_t *lock)
{
    if (lock->bias != 0)
        cuai_bias_leave(lock);
    else if (CUAI_UNLIKELY(look(lock) & CUAI_LOCK_WAITED))
        lock->left = lock->patience;
    uint32_t was = atomic_exchange_explicit(&lock->word, CUAI_LOCK_FREE, memory_order_release);
    CUAI_ASSERT(was != CUAI_LOCK_FREE);
    if (CUAI_UNLIKELY(was & CUAI_LOCK_WAITED))
        cuai_futex_wake(&lock->word, 1);
}

void cuai_unlock_taken(cuai_lock_t *lock, uint32_t raised)
{
    if (raised == 0)
        cuai_unlock_unowned(lock);
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

void cuai_cond_init(cuai_cond_t *event)
{
    atomic_init(&event->sequence, 0);
    event->sleepers = 0;
}

void cuai_cond_cleanup(cuai_cond_t *event)
{
    CUAI_ASSERT(event->sleepers == 0);
    (void)event;
}

void cuai_cond_reset(cuai_cond_t *event)
{
    cuai_cond_init(event);
}

/* The sequence is read before the lock is let go, so a wake in between makes the sleep end at
 * once. */
void cuai_unlock_in_child(cuai_lock_t *lock)
{
    cuai_unlock(lock);
}

void cuai_cond_wait(cuai_cond_t *event, cuai_lock_t *lock)
{
    uint32_t seen = atomic_load_explicit(&event->sequence, memory_order_relaxed);
    event->sleepers++;
    cuai_unlock(lock);
    cuai_futex_wait(&event->sequence, seen);
    cuai_lock(lock);
    event->sleepers--;
}

void cuai_cond_wake(cuai_cond_t *event)
{
    atomic_fetch_add_explicit(&event->sequence, 1, memory_order_relaxed);
    if (event->sleepers != 0)
        cuai_futex_wake(&event->sequence, INT_MAX);
}

#else

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* These calls fail only for locks that are misused. */
static void must(int error)
{
    if (error != 0)
        abort();
}

void cuai_lock_init(cuai_lock_t *lock)
{
    pthread_mutexattr_t attributes;
    must(pthread_mutexattr_init(&attributes));
    must(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK));
    must(pthread_mutex_init(&lock->mutex, &attributes));
    must(pthread_mutexattr_destroy(&attributes));
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

/* Whether this thread is in a call of a mutex, of which a signal handler that interrupts it must
 * call none. */
static _Thread_local volatile sig_atomic_t in_mutex;

bool cuai_lock_enter(cuai_lock_t *lock)
{
    if (in_mutex)
        return false;
    in_mutex = 1;
    int error = pthread_mutex_lock(&lock->mutex);
    in_mutex = 0;
    if (error != EDEADLK)
        must(error);
    return error == 0;
}

void cuai_unlock(cuai_lock_t *lock)
{
    in_mutex = 1;
    must(pthread_mutex_unlock(&lock->mutex));
    in_mutex = 0;
}

/* A mutex knows its thread by a number that is another in the child. */
void cuai_unlock_in_child(cuai_lock_t *lock)
{
    cuai_lock_init(lock);
}

void cuai_lock_unowned(cuai_lock_t *lock)
{
    cuai_lock(lock);
}

void cuai_unlock_unowned(cuai_lock_t *lock)
{
    cuai_unlock(lock);
}

void cuai_cond_init(cuai_cond_t *event)
{
    must(pthread_cond_init(&event->condition, NULL));
}

void cuai_cond_cleanup(cuai_cond_t *event)
{
    must(pthread_cond_destroy(&event->condition));
}

void cuai_cond_reset(cuai_cond_t *event)
{
    cuai_cond_init(event);
}

void cuai_cond_wait(cuai_cond_t *event, cuai_lock_t *lock)
{
    in_mutex = 1;
    must(pthread_cond_wait(&event->condition, &lock->mutex));
    in_mutex = 0;
}

void cuai_cond_wake(cuai_cond_t *event)
{
    must(pthread_cond_broadcast(&event->condition));
}

#endif

void cuai_lock_is_ours(void)
{
    cuai_assert_failed("a thread has no lock that it asks for", __FILE__, __LINE__);
}
