#define _GNU_SOURCE
#include "arena/forks.h"

#include <pthread.h>

#include "arena/arena.h"
#include "base/frame.h"

static cuai_lock_t lock = CUAI_LOCK_INIT;
static bool locked;       /* by the fork under way */
static bool heeds_forks;  /* guarded by `lock`, like what follows */
static cuarena_t *arenas; /* all that there are */

/* ---- The handlers ------------------------------------------------------ */

/* What a signal handler interrupted on this thread stays as it is: the thread
 * goes on with it in both processes. */
static void before_fork(void)
{
    locked = cuai_lock_enter(&lock);
    for (cuarena_t *arena = arenas; arena != NULL; arena = arena->fork.next)
        arena->fork.locked = cuai_lock_enter(&arena->lock);
}

static void let_go(cuarena_t *arena)
{
    if (arena->fork.locked)
        cuai_unlock(&arena->lock);
}

static void after_fork(void)
{
    for (cuarena_t *arena = arenas; arena != NULL; arena = arena->fork.next)
        let_go(arena);
    if (locked)
        cuai_unlock(&lock);
}

static void after_fork_in_child(void)
{
    for (cuarena_t *arena = arenas; arena != NULL; arena = arena->fork.next) {
        uint64_t own = cuai_frame_count(CUAI_FRAME_CALL, arena);
        if (arena->inside > own)
            cuai_slow_set(arena, CUAI_SLOW_LEFT, true);
        arena->inside = own;
        let_go(arena);
    }
    if (locked)
        cuai_unlock(&lock);
}

/* ---- The list ---------------------------------------------------------- */

cuarena_status_t cuai_forks_heed(cuarena_t *arena)
{
    cuai_lock(&lock);
    if (!heeds_forks)
        heeds_forks =
            pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
    bool done = heeds_forks;
    if (done) {
        arena->fork.next = arenas;
        arena->fork.link = &arenas;
        if (arenas != NULL)
            arenas->fork.link = &arena->fork.next;
        arenas = arena;
    }
    cuai_unlock(&lock);
    return done ? CUARENA_OK
                : cuai_fail(CUARENA_OUT_OF_MEMORY,
                            "the host has no memory for a fork handler");
}

void cuai_forks_forget(cuarena_t *arena)
{
    if (arena->fork.link == NULL)
        return;
    cuai_lock(&lock);
    *arena->fork.link = arena->fork.next;
    if (arena->fork.next != NULL)
        arena->fork.next->fork.link = arena->fork.link;
    cuai_unlock(&lock);
}
