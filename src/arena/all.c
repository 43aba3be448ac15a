/* The list of all arenas of the process, for what is set for all at once. The
 * lock of an arena is taken inside that of the list, never the other way. */
#include "arena/all.h"

#include "base/log.h"

static cuai_lock_t list_lock = CUAI_LOCK_INIT;
static cuarena_t *first;

static void follow_log(cuarena_t *arena)
{
    int32_t level = cuarena_log_level();
    cuai_slow_set(arena, CUAI_SLOW_LOG, level >= CUARENA_LOG_DEBUG);
    cuai_slow_set(arena, CUAI_SLOW_RESIZES, level >= CUARENA_LOG_INFO);
}

void cuai_all_add(cuarena_t *arena)
{
    cuai_lock(&list_lock);
    arena->next = first;
    if (first != NULL)
        first->previous = arena;
    first = arena;
    follow_log(arena);
    cuai_unlock(&list_lock);
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
