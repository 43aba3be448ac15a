/* Steps of growth, and the choice among them (step.c). */
#ifndef CUAI_ARENA_STEP_H
#define CUAI_ARENA_STEP_H

#include "arena/alloc.h"

/* Addresses from one to another. */
typedef struct cuai_room {
    uint64_t begin;
    uint64_t end;
} cuai_room_t;

/* One way to grow, chosen under the lock. */
typedef struct cuai_step {
    enum {
        CUAI_STEP_NONE,
        CUAI_STEP_FILL,
        CUAI_STEP_EXTEND,
        CUAI_STEP_NEW,
        CUAI_STEP_AGAIN /* pages moved: choose anew when the request was tried again */
    } kind;
    size_t segment;   /* FILL, EXTEND: which */
    uint64_t address; /* FILL: from where */
    uint64_t bytes;   /* to take */
    uint64_t least;   /* how many of them are lacking */
    uint64_t reserve; /* NEW: addresses to set aside */
    cuai_room_t room; /* FILL, EXTEND: addresses around it without pages */
    uint64_t begin;   /* where the request is to be, with free bytes that are there already */
    uint64_t end;
    uint64_t next_chunk;
} cuai_step_t;

/* Chooses a step for a request. It may take more than is lacking, as far as addresses go; of holes
 * only what is lacking. Where there are many holes a few are looked at and, if neither they nor the
 * ends of segments will do or *at_all says so, all; *at_all then says that they were. */
cuai_step_t cuai_step_choose(const cuarena_t *arena, const cuai_request_t *request, bool *at_all);
/* Fills the lowest hole of a pool. NONE: it has none, or the memory cannot. */
cuai_step_t cuai_step_lowest_hole(const cuarena_t *arena);

#endif
