/*
 * The lock of an arena, and the event that waits until something is over.
 *
 * On Linux a lock is a word that sleepers wait for by futex: free, or which thread has it, perhaps
 * with sleepers. Elsewhere, and with CUARENA_NO_FUTEX, it is a pthread mutex, and nothing of the
 * rest applies.
 *
 * A signal handler that asks for the lock while its own thread has it would wait for itself. It is
 * refused: the word names the thread, or the thread's own flag is up, from before it is in until
 * after it is out. So what a handler interrupts is either wholly before or after a turn, or it is
 * told.
 *
 * A lock that was made for it can have an owner: a thread that takes it time and again, and need
 * not touch the word.
 *
 *   flag    of a thread: 1 while it is in by right of being the owner. A lock
 *           has a few; each is one thread's for good. One more is nobody's: who
 *           has the word lowers it, so that all go by the same steps
 *   bias    the thread that is the owner, and the number of its flag; 0: nobody
 *   owner   the bias, but 0 while another thread has the word
 *   visit   another thread takes the lock although there is an owner
 *
 *   the owner comes            a visitor comes
 *     reads owner: itself        takes the word
 *     flag = 1                   owner = 0
 *     reads owner again:         fence of all threads
 *       itself: in               waits until flag = 0: in
 *       else flag = 0, and
 *       comes by the word
 *   the owner goes             it goes
 *     looks at the word          owner = bias
 *     flag = 0                   lets go of the word
 *     wakes who has the word
 *
 * The two are never in at once. Whatever the owner does, the fence falls before or after its second
 * look. If before, that look sees 0. If after, its flag was up before the fence, so the visitor
 * sees it.
 *
 * To let go is the last that a holder does with a lock: the owner lowers its flag, any other
 * exchanges the word, and what is woken then is an address. So who comes next may end the lock at
 * once, which an arena that was retired does (api/retire.c). The price is a wake: one that looks at
 * the word just before it is taken, and lowers its flag just after the visitor looked, wakes
 * nobody. So a visitor sleeps a millisecond at a time.
 *
 * A thread that read `owner` long ago may raise and lower its flag at any time since. That is why
 * flags are never handed on: it disturbs nobody, and its second look tells it that it is late. A
 * thread is known by its thread pointer, which one that is made later may have again; the first has
 * ended then, so its flag and its lock are the later one's by right.
 *
 * Who becomes the owner, and until when, is in bias.c.
 *
 * Cost: no atomic instruction for an owner, fifteen others for coming and going. By the word: a
 * compare-exchange to take it, an exchange to let go.
 * A visit is a fence more (fence.h). Only C11 atomics order memory, so thread checkers follow all
 * of it.
 */
#ifndef CUAI_BASE_LOCK_H
#define CUAI_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#if defined(__linux__) && !defined(CUARENA_NO_FUTEX)
#define CUAI_LOCK_FUTEX 1
#else
#define CUAI_LOCK_FUTEX 0
#include <pthread.h>
#endif

/* Whether a thread's pointer can be had in an instruction. */
#if CUAI_LOCK_FUTEX && defined(__GNUC__) && defined(__LP64__) &&                                   \
    (defined(__x86_64__) || defined(__aarch64__))
#define CUAI_LOCK_BIAS 1
#else
#define CUAI_LOCK_BIAS 0
#endif

#if CUAI_LOCK_FUTEX

#define CUAI_LOCK_FREE 0u
#define CUAI_LOCK_WAITED 1u /* held, and somebody may be asleep */
#define CUAI_LOCK_STEP 2u   /* between what two threads write there */

/* How many threads can come to own a lock in its life. */
#define CUAI_LOCK_FLAGS 4u

/* What comes after `owner` is guarded by the lock. */
typedef struct cuai_lock {
    _Atomic uint32_t flags[CUAI_LOCK_FLAGS + 1]; /* the first: nobody's */
    _Atomic uint32_t word;                       /* whose it is, or 0 */
    _Atomic uint64_t owner;
    uint32_t patience; /* turns in a row that make an owner; 0: never */
    uint32_t raised;   /* which flag is the holder's; 0: it has the word */
    uint64_t bias;
    uint64_t last; /* the thread that had the word last */
    uint32_t left; /* turns that it lacks */
    uint64_t visit_ns;
    _Atomic uint64_t threads[CUAI_LOCK_FLAGS]; /* whose flags they are */
} cuai_lock_t;

/* `sleepers` is guarded by the lock that waiters pass. */
typedef struct cuai_cond {
    _Atomic uint32_t sequence; /* one more at every wake */
    uint32_t sleepers;
} cuai_cond_t;

/* For locks and events with static storage. */
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
/* The same for a lock that may come to have an owner. */
void cuai_lock_init_owned(cuai_lock_t *lock);
/* Nobody holds it or waits for it. */
void cuai_lock_cleanup(cuai_lock_t *lock);
/* In a forked child: whoever held it does not exist here. It has no owner any more, and gets
 * none. */
void cuai_lock_reset(cuai_lock_t *lock);

#if CUAI_LOCK_FUTEX

/* The number of this thread, a multiple of CUAI_LOCK_FLAGS, not 0. */
static inline uint64_t cuai_lock_thread(void)
{
    uint64_t thread = 0;
#if CUAI_LOCK_BIAS && defined(__x86_64__)
    __asm__("movq %%fs:0, %0" : "=r"(thread));
#elif CUAI_LOCK_BIAS
    __asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
    return thread;
}

/* By the word, whoever the owner is; false: this thread is in. */
bool cuai_lock_by_word(cuai_lock_t *lock);
/* The owner came too late: another thread has the word. */
void cuai_lock_retreat(_Atomic uint32_t *flag) CUAI_NOINLINE;
/* Somebody has the word: the holder itself if it raised no flag, which is 0; else a visitor who may
 * wait for the flag. The lock may have ended then. */
void cuai_unlock_taken(cuai_lock_t *lock, uint32_t raised);

/* Takes the lock; false, at once, where this thread has it. The first look at
 * a flag is also for a thread that has the pointer of one that ended: it comes after what that one
 * did last. */
static CUAI_INLINE bool cuai_lock_enter(cuai_lock_t *lock)
{
    uint64_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
    uint64_t number = owner ^ cuai_lock_thread();
    if (!CUAI_LOCK_BIAS || CUAI_UNLIKELY(number >= CUAI_LOCK_FLAGS))
        return cuai_lock_by_word(lock);
    _Atomic uint32_t *flag = &lock->flags[number + 1];
    if (CUAI_UNLIKELY(atomic_load_explicit(flag, memory_order_acquire) != 0))
        return false;
    atomic_store_explicit(flag, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* see fence.h */
    if (CUAI_LIKELY(atomic_load_explicit(&lock->owner, memory_order_acquire) == owner))
        return true;
    cuai_lock_retreat(flag);
    return cuai_lock_by_word(lock);
}

static CUAI_INLINE void cuai_unlock(cuai_lock_t *lock)
{
    uint32_t raised = lock->raised;
    uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
    atomic_store_explicit(&lock->flags[raised], 0, memory_order_release);
    if (CUAI_UNLIKELY(word != CUAI_LOCK_FREE))
        cuai_unlock_taken(lock, raised);
}

/* ---- The owner (bias.c). With the word. -------------------------------- */

/* After taking it: another thread that is the owner is out, or this one may become the owner. */
void cuai_bias_arrive(cuai_lock_t *lock);
/* Before letting go of it: the owner may come from here on. */
void cuai_bias_leave(cuai_lock_t *lock);
/* Nobody may use the lock. */
void cuai_bias_init(cuai_lock_t *lock, bool owned);

/* ---- For both ---------------------------------------------------------- */

/* Waits while the word says `expected`, or less long. */
void cuai_futex_wait(_Atomic uint32_t *word, uint32_t expected);
/* The same for a millisecond at most. */
void cuai_futex_nap(_Atomic uint32_t *word, uint32_t expected);
/* The word itself need not be there any more. */
void cuai_futex_wake(_Atomic uint32_t *word, int count);

/* A taker looks so often before it sleeps: about as long as a holder needs for a few bookkeeping
 * calls, far less than a switch of threads costs. */
#define CUAI_LOCK_SPINS 100

static inline void cuai_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#else

bool cuai_lock_enter(cuai_lock_t *lock);
void cuai_unlock(cuai_lock_t *lock);

#endif

/* Says that a thread waits for itself, and aborts. */
void cuai_lock_is_ours(void) CUAI_NORETURN CUAI_NOINLINE;

/* Where this thread cannot have it. */
static CUAI_INLINE void cuai_lock(cuai_lock_t *lock)
{
    if (CUAI_UNLIKELY(!cuai_lock_enter(lock)))
        cuai_lock_is_ours();
}

/* The same as cuai_lock and cuai_unlock, out of line, for a lock that cannot come to have an owner:
 * one that cuai_lock_init or CUAI_LOCK_INIT made. */
void cuai_lock_unowned(cuai_lock_t *lock);
void cuai_unlock_unowned(cuai_lock_t *lock);

/* In a forked child, of a lock that the thread that forked had. */
void cuai_unlock_in_child(cuai_lock_t *lock);

void cuai_cond_init(cuai_cond_t *event);
/* Nobody waits. */
void cuai_cond_cleanup(cuai_cond_t *event);
/* In a forked child: whoever waited does not exist here. */
void cuai_cond_reset(cuai_cond_t *event);

/*
 * Called with `lock` held: lets go of it until somebody wakes the event, then takes it again. May
 * come back early, so wait in a loop on a condition that the same lock guards.
 */
void cuai_cond_wait(cuai_cond_t *event, cuai_lock_t *lock);
/* Wakes everybody. Called with the waiters' lock held. */
void cuai_cond_wake(cuai_cond_t *event);

#endif
