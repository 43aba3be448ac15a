/*
 * Arenas in a process that is forked.
 *
 * A fork takes the locks of all arenas first and lets go of them after, in both
 * processes, so no bookkeeping is copied half changed. It does not wait for
 * calls that stepped out, which may take long, or be what forks. Where another
 * thread was in such a call the child's copy is LEFT: what that thread began, a
 * growth, a trim, a compaction, ends never there. Calls that could meet it are
 * refused; what only looks on works.
 *
 * Cost: the arenas, at a fork; nothing to any other call.
 */
#ifndef CUAI_ARENA_FORKS_H
#define CUAI_ARENA_FORKS_H

#include <stdbool.h>

#include "cuarena/arena.h"

/* Where it is among all arenas, and whether the fork under way has its lock. */
typedef struct cuai_fork_link {
    cuarena_t *next;
    cuarena_t **link; /* to this one; NULL: it is not among them */
    bool locked;
} cuai_fork_link_t;

/* From now on forks heed it. OUT_OF_MEMORY: there is no room for a handler. */
cuarena_status_t cuai_forks_heed(cuarena_t *arena);
/* Its end; one that was never heeded is fine. */
void cuai_forks_forget(cuarena_t *arena);

#endif
