/* Tags: callers' names for what blocks are for, and what is counted of each (tags.c). */
#ifndef CUAI_ARENA_TAGS_H
#define CUAI_ARENA_TAGS_H

#include "arena/peaks.h"
#include "cuarena/arena.h"

typedef struct cuai_tag {
    char *name;
    cuai_counter_t counter;
    cuai_scopes_t *scopes;
} cuai_tag_t;

/* The tag of a name, which is made if it is new. */
cuarena_status_t cuai_tag_register(cuarena_t *arena, const char *name, cuarena_tag_t *tag_out);
/* Frees them when the arena ends. No lock. */
void cuai_tags_end(cuarena_t *arena);

#endif
