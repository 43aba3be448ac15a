#define _GNU_SOURCE
#include "base/lock.h"

#if CUAI_LOCK_FUTEX

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A thread looks so often before it sleeps: about as long as a few bookkeeping calls hold the lock,
 * far less than a switch of threads costs. */
#define SPINS 100

_Thread_local uint32_t cuai_lock_self = CUAI_LOCK_UNNUMBERED;

_Atomic bool cuai_lock_slept[CUAI_LOCK_BUCKETS];

/* Waits while the word says `expected`, or less long; `most` is NULL for any time. */
static void futex_wait(_Atomic uint32_t *word, uint32_t expected, const struct timespec *most)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, most, NULL, 0);
}

/* Wakes who sleeps for an address: the word itself need not be there any more. */
static void futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* A thread that is alone is known without a number, and holds locks as UNNUMBERED. */
static void number_thread(void)
{
    static _Atomic uint32_t made;
    while (cuai_lock_self <= CUAI_LOCK_UNNUMBERED)
        cuai_lock_self = atomic_fetch_add_explicit(&made, CUAI_LOCK_STEP, memory_order_relaxed);
}

/* Says in the bucket and in the word that this thread is about to sleep, and sleeps. The time is
 * for the one case in which nobody wakes it (cuai_lock_let_go). */
static void wait_for_word(cuai_lock_t *lock, uint32_t word)
{
    static const struct timespec most = {.tv_nsec = 10000000};
    uint32_t waited = word | CUAI_LOCK_WAITED;
    atomic_store_explicit(cuai_lock_bucket(lock), true, memory_order_seq_cst);
    if (word == waited ||
        atomic_compare_exchange_strong_explicit(&lock->word, &word, waited, memory_order_relaxed,
                                                memory_order_relaxed))
        futex_wait(&lock->word, waited, &most);
}

/* Spins no longer where others sleep already: they come first. A thread that slept cannot know
 * whether others still do, so it holds the lock as WAITED: at worst one wake for nobody. */
bool cuai_lock_contended(cuai_lock_t *lock, bool *met_out)
{
    if (!CUAI_SINGLE_THREADED)
        number_thread();
    uint32_t held = cuai_lock_self;
    *met_out = false;
    for (int spins = SPINS;;) {
        uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
        if (word == CUAI_LOCK_FREE) {
            if (cuai_lock_take(lock, held, CUAI_SINGLE_THREADED))
                return true;
        } else if ((word & ~CUAI_LOCK_WAITED) == cuai_lock_self) {
            return false;
        } else if (spins > 0 && !(word & CUAI_LOCK_WAITED)) {
            *met_out = true;
            spins--;
            cuai_relax();
        } else {
            *met_out = true;
            held |= CUAI_LOCK_WAITED;
            wait_for_word(lock, word);
        }
    }
}

void cuai_lock_wake(cuai_lock_t *lock)
{
    futex_wake(&lock->word, 1);
}

void cuai_lock_init(cuai_lock_t *lock)
{
    atomic_init(&lock->word, CUAI_LOCK_FREE);
}

void cuai_lock_cleanup(cuai_lock_t *lock)
{
    CUAI_ASSERT(atomic_load_explicit(&lock->word, memory_order_relaxed) == CUAI_LOCK_FREE);
    (void)lock;
}

void cuai_cond_init(cuai_cond_t *cond)
{
    atomic_init(&cond->sequence, 0);
    cond->sleepers = 0;
}

void cuai_cond_cleanup(cuai_cond_t *cond)
{
    CUAI_ASSERT(cond->sleepers == 0);
    (void)cond;
}

/* The sequence is read before the lock is let go, so a wake in between makes the sleep end at
 * once. */
void cuai_cond_wait(cuai_cond_t *cond, cuai_lock_t *lock)
{
    uint32_t seen = atomic_load_explicit(&cond->sequence, memory_order_relaxed);
    cond->sleepers++;
    cuai_unlock(lock);
    futex_wait(&cond->sequence, seen, NULL);
    cuai_lock(lock);
    cond->sleepers--;
}

void cuai_cond_wake(cuai_cond_t *cond)
{
    atomic_fetch_add_explicit(&cond->sequence, 1, memory_order_relaxed);
    if (cond->sleepers != 0)
        futex_wake(&cond->sequence, INT_MAX);
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

void cuai_lock_cleanup(cuai_lock_t *lock)
{
    must(pthread_mutex_destroy(&lock->mutex));
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

bool cuai_lock_try(cuai_lock_t *lock, bool alone)
{
    (void)alone;
    if (in_mutex)
        return false;
    in_mutex = 1;
    int error = pthread_mutex_trylock(&lock->mutex);
    in_mutex = 0;
    return error == 0;
}

bool cuai_lock_contended(cuai_lock_t *lock, bool *met_out)
{
    *met_out = cuai_lock_enter(lock);
    return *met_out;
}

/* For assertions: where this thread does not hold the lock, it does from now on. */
bool cuai_lock_is_held(const cuai_lock_t *lock)
{
    return !cuai_lock_enter((cuai_lock_t *)lock);
}

void cuai_unlock(cuai_lock_t *lock)
{
    in_mutex = 1;
    must(pthread_mutex_unlock(&lock->mutex));
    in_mutex = 0;
}

void cuai_cond_init(cuai_cond_t *cond)
{
    must(pthread_cond_init(&cond->condition, NULL));
}

void cuai_cond_cleanup(cuai_cond_t *cond)
{
    must(pthread_cond_destroy(&cond->condition));
}

void cuai_cond_wait(cuai_cond_t *cond, cuai_lock_t *lock)
{
    in_mutex = 1;
    must(pthread_cond_wait(&cond->condition, &lock->mutex));
    in_mutex = 0;
}

void cuai_cond_wake(cuai_cond_t *cond)
{
    must(pthread_cond_broadcast(&cond->condition));
}

#endif

void cuai_lock_reset(cuai_lock_t *lock)
{
    cuai_lock_init(lock);
}

void cuai_cond_reset(cuai_cond_t *cond)
{
    cuai_cond_init(cond);
}

void cuai_lock(cuai_lock_t *lock)
{
    if (CUAI_UNLIKELY(!cuai_lock_enter(lock)))
        cuai_assert_failed("this thread does not hold the lock that it takes", __FILE__, __LINE__);
}
