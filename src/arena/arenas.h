/*
 * All arenas of the process: what is done to them at once.
 *
 * A fork takes the locks of all arenas first and lets go of them afterwards, in both processes, so
 * no bookkeeping is copied half changed. It does not wait for calls that have dropped the lock:
 * they may take long, or be what forks. Where another thread was in such a call the child's copy is
 * LEFT: what that thread began, a growth, a trim, a compaction, never ends there. Calls that could
 * meet it are refused; calls that only read work.
 *
 * The log tells of single blocks and of resizes where its level asks for them. Arenas are slow
 * then, so that fast paths need not look at the level.
 *
 * O(arenas) at a fork and where the level is set; other calls pay nothing.
 */
#ifndef CUAI_ARENA_ARENAS_H
#define CUAI_ARENA_ARENAS_H

#include <stdbool.h>

#include "base/lock.h"
#include "cuarena/arena.h"

/* The place of an arena among all, and whether the fork under way has its lock. */
typedef struct cuai_arenas_link {
    cuarena_t *next;
    cuarena_t **link; /* what points to this one; NULL: it is not among them */
    bool locked;
    uint64_t number; /* no other arena of the process ever has it */
} cuai_arenas_link_t;

/* Adds a new arena, which no other thread knows: from now on forks take its lock, and it follows
 * the level of the log. OUT_OF_MEMORY: the host has no room for a fork handler. */
cuarena_status_t cuai_arenas_add(cuarena_t *arena);
/* Takes it out when it ends, and away from the caches of threads; one that was never added is fine.
 */
void cuai_arenas_remove(cuarena_t *arena);
/* Keeps arenas from ending, so that a thread that ends can leave those that it has caches of. Locks
 * of arenas are taken inside it. */
extern cuai_lock_t cuai_arenas_lock;
/* The least number above that one which an arena has; 0: none has. O(arenas). */
uint64_t cuai_arenas_next(uint64_t number);
/* Takes the lock of the arena with that number, whose caches of threads keep nothing then, and
 * keeps arenas from ending; NULL, with nothing done, if there is none any more. O(arenas). */
cuarena_t *cuai_arenas_enter(uint64_t number);
/* Lets go of the locks that cuai_arenas_enter took. */
void cuai_arenas_leave(cuarena_t *arena);
/* The log's level changed: every arena follows it. The caller has no arena's lock. */
void cuai_arenas_set_log(void);

#endif
