/* An arena's begin and end (life.c). No lock. */
#ifndef CUAI_ARENA_LIFE_H
#define CUAI_ARENA_LIFE_H

#include "cuarena/arena.h"

/* Makes the arena of a checked configuration. */
cuarena_status_t cuai_arena_new(const cuarena_config_t *config, cuarena_t **arena_out);
/* Ends it, whatever lives in it. */
void cuai_arena_end(cuarena_t *arena);
/* A heap with the arena's rules for at most so many bytes. */
cuarena_status_t cuai_heap_for(const cuarena_t *arena, uint64_t most_bytes,
                               cuarena_heap_t **heap_out);

#endif
