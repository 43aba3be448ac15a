/* The list of all arenas of the process, for what is set for all at once. The
 * lock of an arena is taken inside that of the list, never the other way. */
#include "arena/all.h"

#include <pthread.h>

#include "base/log.h"

static cuai_lock_t list_lock = CUAI_LOCK_INIT;
static cuarena_t *first; /* guarded by `list_lock` */
static bool heeds_forks; /* guarded by `list_lock` */

/* ---- Forks ------------------------------------------------------------- */

/* A fork waits until the list is whole and no line is under way to its
 * function. */
static void before_fork(void)
{
    cuai_lock(&list_lock);
    cuai_log_before_fork();
}

static void after_fork(void)
{
    cuai_log_after_fork();
    cuai_unlock(&list_lock);
}

/* In the child: threads that are not here may have the locks of arenas, which
 * therefore keep the level that they had. */
static void forget_all(void)
{
    cuai_log_after_fork_in_child();
    cuai_lock_reset(&list_lock);
    first = NULL;
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
    arena->next = first;
    if (first != NULL)
        first->previous = arena;
    first = arena;
    follow_log(arena);
}

bool cuai_all_add(cuarena_t *arena)
{
    cuai_lock(&list_lock);
    if (!heeds_forks)
        heeds_forks = pthread_atfork(before_fork, after_fork, forget_all) == 0;
    bool heeds = heeds_forks;
    if (heeds)
        add(arena);
    cuai_unlock(&list_lock);
    return heeds;
}

void cuai_all_remove(cuarena_t *arena)
{
    cuai_lock(&list_lock);
    if (arena->next != NULL)
        arena->next->previous = arena->previous;
    if (arena->previous != NULL)
        arena->previous->next = arena->next;
    else if (first == arena)
        first = arena->next;
    cuai_unlock(&list_lock);
}

/* The level is read under the list's lock: of two threads that set it the last
 * one here sees what the other set. */
void cuai_all_set_log(void)
{
    cuai_lock(&list_lock);
    for (cuarena_t *arena = first; arena != NULL; arena = arena->next) {
        cuai_lock(&arena->lock);
        follow_log(arena);
        cuai_unlock(&arena->lock);
    }
    cuai_unlock(&list_lock);
}
