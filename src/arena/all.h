/*
 * All arenas of the process: what is done to them at once.
 *
 * A fork takes the locks of all arenas first and lets go of them after, in both processes, so no
 * bookkeeping is copied half changed. It does not wait for calls that stepped out, which may take
 * long, or be what forks. Where another thread was in such a call the child's copy is LEFT: what
 * that thread began, a growth, a trim, a compaction, ends never there. Calls that could meet it are
 * refused; what only looks on works.
 *
 * The log tells of single blocks and of resizes where its level asks for them: arenas are slow
 * then, so that fast paths need not ask for the level.
 *
 * Cost: the arenas, at a fork and where the level is set; nothing to any other call.
 */
#ifndef CUAI_ARENA_ALL_H
#define CUAI_ARENA_ALL_H

#include <stdbool.h>

#include "cuarena/arena.h"

/* Where it is among all arenas, and whether the fork under way has its lock. */
typedef struct cuai_all_link {
    cuarena_t *next;
    cuarena_t **link; /* to this one; NULL: it is not among them */
    bool locked;
} cuai_all_link_t;

/* A new arena that no other thread knows: from now on forks heed it, and it follows the log's
 * level. OUT_OF_MEMORY: there is no room for a handler. */
cuarena_status_t cuai_all_add(cuarena_t *arena);
/* Its end; one that was never added is fine. */
void cuai_all_remove(cuarena_t *arena);
/* The log's level changed: every arena follows it. No lock of an arena is held by who calls. */
void cuai_all_set_log(void);

#endif
