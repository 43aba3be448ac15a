/*
 * The lock of an arena, and the condition that waits under it until something has changed.
 *
 * On Linux a lock is one word that threads sleep for by futex: 0 while it is free, else the number
 * of the thread that holds it, with the lowest bit set when others may sleep. Elsewhere, and with
 * CUARENA_NO_FUTEX, it is a pthread mutex.
 *
 * A signal handler that asks for a lock that its own thread holds would wait for itself, so it is
 * refused. The word names the thread exactly while it holds the lock, so what a handler interrupts
 * is either wholly outside that time, or the handler is told.
 *
 * Letting go is the last that a thread does with a lock: what it wakes after that is an address. So
 * whoever takes the lock next may end it at once, which an arena that was retired does
 * (api/retire.c).
 *
 * Cost: one compare-exchange to take it. Letting go is a store and a look whether anybody has ever
 * slept for this lock, or for one that shares its bucket; from then on it is an exchange. While the
 * process has one thread, as the C library says, taking it is a load and a store, and the thread
 * needs no number.
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

/* Whether the process is known to have one thread only. */
#if CUAI_LOCK_FUTEX && defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define CUAI_SINGLE_THREADED (__libc_single_threaded != 0)
#endif
#endif
#if !defined(CUAI_SINGLE_THREADED)
#define CUAI_SINGLE_THREADED false
#endif

#if CUAI_LOCK_FUTEX

#define CUAI_LOCK_FREE 0u
#define CUAI_LOCK_WAITED 1u /* held, and somebody may be asleep */
#define CUAI_LOCK_STEP 2u   /* between the numbers of two threads */
#define CUAI_LOCK_UNNUMBERED 2u

typedef struct cuai_lock {
    _Atomic uint32_t word;
} cuai_lock_t;

/* `sleepers` is guarded by the lock that waiters pass. */
typedef struct cuai_cond {
    _Atomic uint32_t sequence; /* one more at every wake */
    uint32_t sleepers;
} cuai_cond_t;

/* For locks with static storage. A condition there is zero. */
#define CUAI_LOCK_INIT                                                                             \
    {                                                                                              \
        0                                                                                          \
    }

#else

typedef struct cuai_lock {
    pthread_mutex_t mutex;
} cuai_lock_t;

typedef struct cuai_cond {
    pthread_cond_t condition;
} cuai_cond_t;

#define CUAI_LOCK_INIT                                                                             \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }

#endif

void cuai_lock_init(cuai_lock_t *lock);
/* Ends a lock that nobody holds or waits for. */
void cuai_lock_cleanup(cuai_lock_t *lock);
/* Makes the lock free in a forked child, where only the thread that forked goes on. */
void cuai_lock_reset(cuai_lock_t *lock);

#if CUAI_LOCK_FUTEX

/* This thread's number, which no other thread of the process has, but after 2^31 of them;
 * UNNUMBERED before its first lock beside other threads. The model is found without a call, also in
 * a library that was loaded late. */
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
extern _Thread_local uint32_t cuai_lock_self;

/* Takes the lock, waiting if another thread has it, and gives this thread its number; false, at
 * once, where this thread holds it. `met_out` says whether it waited. */
bool cuai_lock_contended(cuai_lock_t *lock, bool *met_out) CUAI_NOINLINE;
void cuai_lock_wake(cuai_lock_t *lock) CUAI_NOINLINE;

/* Writes `held`, of this thread, where the lock is free. The fence keeps the compiler from moving
 * what the lock guards before the store, where a signal handler would see it. */
static CUAI_INLINE bool cuai_lock_take(cuai_lock_t *lock, uint32_t held, bool alone)
{
    uint32_t free = CUAI_LOCK_FREE;
    if (!alone)
        return held != CUAI_LOCK_UNNUMBERED &&
               atomic_compare_exchange_strong_explicit(&lock->word, &free, held,
                                                       memory_order_acquire, memory_order_relaxed);
    if (CUAI_UNLIKELY(atomic_load_explicit(&lock->word, memory_order_relaxed) != free))
        return false;
    atomic_store_explicit(&lock->word, held, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

/* Takes the lock if that is possible at once. `alone` is CUAI_SINGLE_THREADED. */
static CUAI_INLINE bool cuai_lock_try(cuai_lock_t *lock, bool alone)
{
    return cuai_lock_take(lock, cuai_lock_self, alone);
}

/* Takes the lock; false, at once, where this thread holds it. */
static CUAI_INLINE bool cuai_lock_enter(cuai_lock_t *lock)
{
    bool met;
    return CUAI_LIKELY(cuai_lock_try(lock, CUAI_SINGLE_THREADED)) ||
           cuai_lock_contended(lock, &met);
}

/* As cuai_lock_try beside other threads, but does not write to the lock while somebody has it: for
 * a thread that tries again and again. */
static inline bool cuai_lock_try_seen_free(cuai_lock_t *lock)
{
    return atomic_load_explicit(&lock->word, memory_order_relaxed) == CUAI_LOCK_FREE &&
           cuai_lock_try(lock, false);
}

/* Whether this thread holds it. */
static inline bool cuai_lock_is_held(const cuai_lock_t *lock)
{
    return (atomic_load_explicit(&lock->word, memory_order_relaxed) & ~CUAI_LOCK_WAITED) ==
           cuai_lock_self;
}

/* This thread does not hold it, or the library has a bug. Costs nothing without CUARENA_DEBUG. */
static inline void cuai_lock_assert_not_held(const cuai_lock_t *lock)
{
    CUAI_ASSERT(!cuai_lock_is_held(lock));
}

/* Whether anybody has slept for a lock of a bucket, which locks meet in by their addresses. Never
 * ends, so that a thread that lets go may look there when the lock is no longer its own. */
#define CUAI_LOCK_BUCKETS 64
extern _Atomic bool cuai_lock_slept[CUAI_LOCK_BUCKETS];

static CUAI_INLINE _Atomic bool *cuai_lock_bucket(const cuai_lock_t *lock)
{
    return &cuai_lock_slept[((uintptr_t)lock >> 6) % CUAI_LOCK_BUCKETS];
}

static CUAI_INLINE bool cuai_lock_may_be_waited(const _Atomic bool *bucket)
{
    return atomic_load_explicit(bucket, memory_order_relaxed);
}

/* Lets go in a process of several threads; whether anybody may sleep for the lock.
 *
 * A store is enough as long as nobody sleeps. Whoever begins to between the two looks is woken. On
 * the processor, the second look may come before others see the store: then nobody wakes who falls
 * asleep in that moment, and looks again after 10 ms. It happens once in a bucket at most. */
static CUAI_INLINE bool cuai_lock_let_go(cuai_lock_t *lock)
{
    const _Atomic bool *bucket = cuai_lock_bucket(lock);
    if (CUAI_UNLIKELY(cuai_lock_may_be_waited(bucket)))
        return (atomic_exchange_explicit(&lock->word, CUAI_LOCK_FREE, memory_order_release) &
                CUAI_LOCK_WAITED) != 0;
    atomic_store_explicit(&lock->word, CUAI_LOCK_FREE, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    return cuai_lock_may_be_waited(bucket);
}

/* Lets go of a lock that was entered `alone`, or not. No thread starts in between: who holds a lock
 * starts none, nor may a signal handler. */
static CUAI_INLINE void cuai_unlock_as(cuai_lock_t *lock, bool alone)
{
    CUAI_ASSERT(cuai_lock_is_held(lock));
    if (alone)
        atomic_store_explicit(&lock->word, CUAI_LOCK_FREE, memory_order_release);
    else if (CUAI_UNLIKELY(cuai_lock_let_go(lock)))
        cuai_lock_wake(lock);
}

static CUAI_INLINE void cuai_unlock(cuai_lock_t *lock)
{
    cuai_unlock_as(lock, CUAI_SINGLE_THREADED);
}

#else

bool cuai_lock_enter(cuai_lock_t *lock);
bool cuai_lock_contended(cuai_lock_t *lock, bool *met_out);
bool cuai_lock_is_held(const cuai_lock_t *lock);
void cuai_unlock(cuai_lock_t *lock);
bool cuai_lock_try(cuai_lock_t *lock, bool alone);

/* A mutex does not tell without a wait. */
static inline void cuai_lock_assert_not_held(const cuai_lock_t *lock)
{
    (void)lock;
}

static inline bool cuai_lock_try_seen_free(cuai_lock_t *lock)
{
    return cuai_lock_try(lock, false);
}

static inline void cuai_unlock_as(cuai_lock_t *lock, bool alone)
{
    (void)alone;
    cuai_unlock(lock);
}

#endif

/* Lets the processor's other threads run for a moment, in a loop that waits. */
static inline void cuai_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Takes the lock. This thread does not hold it: else the process aborts. */
void cuai_lock(cuai_lock_t *lock);

/* This thread holds it, or the library has a bug. Costs nothing without CUARENA_DEBUG. */
static inline void cuai_lock_assert_held(const cuai_lock_t *lock)
{
    CUAI_ASSERT(cuai_lock_is_held(lock));
}

/* This thread holds a lock that began as CUAI_LOCK_INIT, or the library has a bug. Nothing is
 * asserted without futexes: such a mutex would wait for itself. */
static inline void cuai_lock_assert_static_held(const cuai_lock_t *lock)
{
#if CUAI_LOCK_FUTEX
    cuai_lock_assert_held(lock);
#else
    (void)lock;
#endif
}

void cuai_cond_init(cuai_cond_t *cond);
/* Ends a condition for which nobody waits. */
void cuai_cond_cleanup(cuai_cond_t *cond);
/* Forgets who waits, in a forked child, where these threads do not exist. */
void cuai_cond_reset(cuai_cond_t *cond);

/*
 * Called with `lock` held: lets go of it until somebody wakes the condition, then takes it again.
 * May come back early, so wait in a loop on something that the same lock guards.
 */
void cuai_cond_wait(cuai_cond_t *cond, cuai_lock_t *lock);
/* Wakes everybody. Called with the waiters' lock held. */
void cuai_cond_wake(cuai_cond_t *cond);

#endif
