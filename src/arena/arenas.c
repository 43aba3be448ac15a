#define _GNU_SOURCE
#include "arena/arenas.h"

#include <pthread.h>

#include "arena/arena.h"
#include "arena/thread_cache.h"
#include "arena/traced.h"
#include "base/frame.h"
#include "base/log.h"

/* Locks of arenas are taken inside this one, never the other way. */
cuai_lock_t cuai_arenas_lock = CUAI_LOCK_INIT;
static bool locked;       /* by the fork under way */
static bool heeds_forks;  /* guarded by that lock, like what follows */
static cuarena_t *arenas; /* all that there are */
static uint64_t numbers;  /* the last that an arena got */

/* ---- Forks ------------------------------------------------------------- */

/* The caches of threads keep nothing then, unless a signal handler that interrupted a call of one
 * forks. */
static void lock_for_fork(cuarena_t *arena)
{
    arena->listed.locked = cuai_lock_enter(&arena->lock);
    if (arena->listed.locked && cuai_tcaches_stop(arena))
        cuai_tcaches_flush(arena);
}

/* A lock that this thread has already, because a signal handler forks, is not taken again: the
 * thread goes on with what was interrupted, in both processes. */
static void before_fork(void)
{
    locked = cuai_lock_enter(&cuai_arenas_lock);
    for (cuarena_t *arena = arenas; arena != NULL; arena = arena->listed.next)
        lock_for_fork(arena);
    cuai_traces_before_fork();
    cuai_log_before_fork();
}

static void after_fork(void)
{
    cuai_log_after_fork(false);
    cuai_traces_after_fork(false);
    for (cuarena_t *arena = arenas; arena != NULL; arena = arena->listed.next)
        if (arena->listed.locked)
            cuai_unlock(&arena->lock);
    if (locked)
        cuai_unlock(&cuai_arenas_lock);
}

static void after_fork_in_child(void)
{
    cuai_log_after_fork(true);
    cuai_traces_after_fork(true);
    for (cuarena_t *arena = arenas; arena != NULL; arena = arena->listed.next) {
        uint64_t own = cuai_frame_count(CUAI_FRAME_CALL, arena);
        if (arena->inside > own)
            cuai_slow_set(arena, CUAI_SLOW_LEFT, true);
        arena->inside = own;
        cuai_tcaches_after_fork(arena);
        cuai_slow_set(arena, CUAI_SLOW_TRACE, cuai_is_traced(arena));
        cuai_annotate_forget(arena);
        if (arena->listed.locked)
            cuai_lock_reset(&arena->lock);
    }
    if (locked)
        cuai_lock_reset(&cuai_arenas_lock);
}

/* ---- The list ---------------------------------------------------------- */

static void follow_log(cuarena_t *arena)
{
    int32_t level = cuarena_log_level();
    cuai_slow_set(arena, CUAI_SLOW_LOG, level >= CUARENA_LOG_DEBUG);
    cuai_slow_set(arena, CUAI_SLOW_RESIZES, level >= CUARENA_LOG_INFO);
}

static void add(cuarena_t *arena)
{
    CUAI_ASSERT(arena->listed.link == NULL);
    arena->listed.next = arenas;
    arena->listed.link = &arenas;
    arena->listed.number = ++numbers;
    if (arenas != NULL)
        arenas->listed.link = &arena->listed.next;
    arenas = arena;
    follow_log(arena);
}

cuarena_status_t cuai_arenas_add(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    cuai_lock(&cuai_arenas_lock);
    if (!heeds_forks)
        heeds_forks = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
    bool done = heeds_forks;
    if (done)
        add(arena);
    cuai_unlock(&cuai_arenas_lock);
    return done ? CUARENA_OK
                : cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a fork handler");
}

void cuai_arenas_remove(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    cuai_lock(&cuai_arenas_lock);
    if (arena->listed.link != NULL)
        *arena->listed.link = arena->listed.next;
    if (arena->listed.link != NULL && arena->listed.next != NULL)
        arena->listed.next->listed.link = arena->listed.link;
    cuai_tcaches_leave(arena);
    cuai_unlock(&cuai_arenas_lock);
}

/* The level is read under the list's lock: of two threads that set it, the last one here sees what
 * the other set. */
void cuai_arenas_set_log(void)
{
    cuai_lock(&cuai_arenas_lock);
    for (cuarena_t *arena = arenas; arena != NULL; arena = arena->listed.next) {
        cuai_arena_lock(arena);
        follow_log(arena);
        cuai_unlock(&arena->lock);
    }
    cuai_unlock(&cuai_arenas_lock);
}

/* ---- By number --------------------------------------------------------- */

uint64_t cuai_arenas_next(uint64_t number)
{
    uint64_t next = 0;
    cuai_lock(&cuai_arenas_lock);
    for (const cuarena_t *arena = arenas; arena != NULL; arena = arena->listed.next)
        if (arena->listed.number > number && (next == 0 || arena->listed.number < next))
            next = arena->listed.number;
    cuai_unlock(&cuai_arenas_lock);
    return next;
}

cuarena_t *cuai_arenas_enter(uint64_t number)
{
    cuai_lock(&cuai_arenas_lock);
    cuarena_t *arena = arenas;
    while (arena != NULL && arena->listed.number != number)
        arena = arena->listed.next;
    if (arena != NULL && cuai_arena_enter(arena))
        return arena;
    cuai_unlock(&cuai_arenas_lock);
    return NULL;
}

void cuai_arenas_leave(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_unlock(&arena->lock);
    cuai_unlock(&cuai_arenas_lock);
}
