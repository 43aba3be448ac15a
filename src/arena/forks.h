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

#include "arena/arena.h"

/* From now on forks heed it. OUT_OF_MEMORY: there is no room for a handler. */
cuarena_status_t cuai_forks_heed(cuarena_t *arena);
/* Its end; one that was never heeded is fine. */
void cuai_forks_forget(cuarena_t *arena);

#endif
