/* Reuse: what an arena that grows has already, in place of bytes of the memory (reuse.c). */
#ifndef CUAI_ARENA_REUSE_H
#define CUAI_ARENA_REUSE_H

#include "arena/step.h"

/* Chooses a step as cuai_step_choose does, and gives idle pages back for what it will take; where
 * these are too few, pages of the request's stream move instead, and the step is AGAIN. Drops the
 * lock. */
cuai_step_t cuai_step_reusing(cuarena_t *arena, const cuai_request_t *request, bool *at_all);
/* Growth was refused: moves pages that the request's stream freed to where a step would take some.
 * False: there is nothing to move. Drops the lock. */
bool cuai_reuse_own(cuarena_t *arena, const cuai_request_t *request);
/* The owner had pages given back: what was in use before says nothing of what will be. */
void cuai_reuse_trimmed(cuarena_t *arena);

#endif
