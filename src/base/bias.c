/*
 * Who owns a lock, and until when. The protocol is in lock.h.
 *
 *   turn      one taking of the word
 *   patience  how many turns in a row, nobody else asking for the lock
 *             meanwhile, make a thread the owner
 *
 * A visit costs a fence, so one now and then is borne: a thread that looks at statistics a hundred
 * times a second leaves the owner in its right. One that comes soon after another ends the bias,
 * and doubles the patience that the next one takes. So threads that share a lock in earnest take it
 * by the word, and pay for a few dozen fences in all until patience is at its most, from then on
 * for two in a million turns.
 *
 * Flags are never handed on, so a lock that had as many owners as it has flags takes no others,
 * ever; threads that come after one that ended often have its pointer, and so its flag.
 */
#define _GNU_SOURCE
#include "base/lock.h"

#if CUAI_LOCK_FUTEX

#include <time.h>

#include "base/fence.h"

#define LEAST_PATIENCE 64u
#define MOST_PATIENCE (1u << 20)
#define SOON_NS 2000000u /* hundred fences at their slowest */

static uint64_t now_ns(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t flag_of(uint64_t bias)
{
    return (uint32_t)(bias % CUAI_LOCK_FLAGS) + 1;
}

void cuai_bias_init(cuai_lock_t *lock, bool owned)
{
    atomic_init(&lock->owner, 0);
    for (unsigned i = 0; i <= CUAI_LOCK_FLAGS; i++)
        atomic_init(&lock->flags[i], 0);
    for (unsigned i = 0; i < CUAI_LOCK_FLAGS; i++)
        atomic_init(&lock->threads[i], 0);
    owned = owned && CUAI_LOCK_BIAS && cuai_fence_ready();
    lock->patience = owned ? LEAST_PATIENCE : 0;
    lock->raised = 0;
    lock->bias = 0;
    lock->last = 0;
    lock->left = lock->patience;
    lock->visit_ns = 0;
}

/* ---- To become the owner ----------------------------------------------- */

static uint64_t flag_owner(cuai_lock_t *lock, uint64_t flag)
{
    return atomic_load_explicit(&lock->threads[flag], memory_order_relaxed);
}

/* The thread's flag, its own already or nobody's; or CUAI_LOCK_FLAGS. */
static uint64_t find_flag(cuai_lock_t *lock, uint64_t thread)
{
    uint64_t flag = 0;
    while (flag < CUAI_LOCK_FLAGS && flag_owner(lock, flag) != 0 &&
           flag_owner(lock, flag) != thread)
        flag++;
    return flag;
}

static void make_owner(cuai_lock_t *lock, uint64_t thread)
{
    uint64_t flag = find_flag(lock, thread);
    if (flag == CUAI_LOCK_FLAGS) {
        lock->left = lock->patience;
        return;
    }
    atomic_store_explicit(&lock->threads[flag], thread, memory_order_relaxed);
    lock->bias = thread | flag;
    lock->last = 0;
}

/* The first turn of a thread, or its last one to the goal. */
static void count_turn(cuai_lock_t *lock)
{
    uint64_t thread = cuai_lock_thread();
    if (lock->last == thread) {
        make_owner(lock, thread);
        return;
    }
    lock->last = thread;
    lock->left = lock->patience;
}

/* ---- Visits ------------------------------------------------------------ */

static void end_bias(cuai_lock_t *lock)
{
    lock->bias = 0;
    if (lock->patience < MOST_PATIENCE)
        lock->patience *= 2;
}

static void wait_until_down(_Atomic uint32_t *flag)
{
    for (int i = 0; i < CUAI_LOCK_SPINS; i++) {
        if (atomic_load_explicit(flag, memory_order_acquire) == 0)
            return;
        cuai_relax();
    }
    while (atomic_load_explicit(flag, memory_order_acquire) != 0)
        cuai_futex_nap(flag, 1); /* a wake may be lost: see lock.h */
}

/* A fence that was to be had is refused: a filter was set up since. No store
 * of a running processor stays unseen as long as this. */
static void outwait(cuai_lock_t *lock)
{
    const struct timespec moment = {0, 20000000};
    (void)nanosleep(&moment, NULL);
    lock->patience = 0;
}

static void visit(cuai_lock_t *lock)
{
    _Atomic uint32_t *flag = &lock->flags[flag_of(lock->bias)];
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    bool fenced = cuai_fence_all();
    if (!fenced)
        outwait(lock);
    wait_until_down(flag);
    lock->raised = 0;
    uint64_t now = now_ns();
    if (!fenced || now - lock->visit_ns < SOON_NS)
        end_bias(lock);
    lock->visit_ns = now;
}

/* The owner itself comes by the word when a visitor has just been there. */
void cuai_bias_arrive(cuai_lock_t *lock)
{
    if (lock->bias == 0)
        count_turn(lock);
    else if ((lock->bias ^ cuai_lock_thread()) >= CUAI_LOCK_FLAGS)
        visit(lock);
    else
        lock->raised = 0;
}

void cuai_bias_leave(cuai_lock_t *lock)
{
    lock->raised = flag_of(lock->bias);
    atomic_store_explicit(&lock->owner, lock->bias, memory_order_release);
}

#endif
