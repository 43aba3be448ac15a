/* The list of all arenas of the process. No lock of an arena is held by who
 * calls these. */
#ifndef CUAI_ARENA_ALL_H
#define CUAI_ARENA_ALL_H

#include "arena/arena.h"

/* A new arena that no other thread knows: it follows the log's level from now
 * on. False: no host memory. */
bool cuai_all_add(cuarena_t *arena);
/* It may not be in the list. */
void cuai_all_remove(cuarena_t *arena);
/* The log's level changed: every arena follows it. */
void cuai_all_set_log(void);

#endif
