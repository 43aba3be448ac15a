/*
 * Remapping: pages that a stream freed move to addresses where the stream needs them, without a
 * wait for its work (remap.c).
 *
 * Work that was queued before the move uses the pages at the addresses that they had, work that
 * comes later uses them at the new ones, and the order of the stream lies between. So the pages are
 * mapped at both; the old addresses are an alias until the work before the move is done, and then
 * they are unmapped.
 */
#ifndef CUAI_ARENA_REMAP_H
#define CUAI_ARENA_REMAP_H

#include <stdbool.h>

#include "arena/timeline.h"
#include "cuarena/arena.h"

/* How many aliases there are at most. */
#define CUAI_ALIASES 32

/* Addresses of the dynamic region that nobody gets, and that no stretch of its heap has: work may
 * be under way that uses the pages there. */
typedef struct cuai_alias {
    uint64_t begin;
    uint64_t bytes;
    cuai_point_t behind; /* that work */
} cuai_alias_t;

typedef struct cuai_aliases {
    uint32_t count;
    cuai_alias_t items[CUAI_ALIASES]; /* in no order */
} cuai_aliases_t;

/* Where pages are wanted. */
typedef struct cuai_remap_to {
    size_t segment;
    uint64_t begin; /* addresses without pages; above the segment's bytes it grows in place */
    uint64_t end;
    bool high;           /* they are to end at `end`, not to begin at `begin` */
    uint64_t bytes;      /* that are wanted */
    uint64_t kept_begin; /* pages of these addresses stay where they are */
    uint64_t kept_end;
} cuai_remap_to_t;

/* Whether pages that the stream freed may move: the memory can, and the stream has some. */
bool cuai_may_remap(const cuarena_t *arena, uint32_t number);
/* From here to the end the caller reclaims (reclaim.h). False: nothing of the stream can move now,
 * and that is the end. Drops the lock. */
bool cuai_remap_begin(cuarena_t *arena, uint32_t number);
/* Moves pages, about as many as are wanted, as one range of the stream's free list; returns the
 * bytes. Nobody grows, trims or compacts. Drops the lock. */
uint64_t cuai_remap(cuarena_t *arena, uint32_t number, const cuai_remap_to_t *to);
/* What is left in the closed free list is open again. Drops the lock. */
void cuai_remap_end(cuarena_t *arena, uint32_t number);

/* Leaves out of [*begin, *end), addresses that have no pages, what is an alias: what remains is the
 * lowest part. False: nothing remains. */
bool cuai_beside_aliases(const cuarena_t *arena, uint64_t *begin, uint64_t *end);
/* Unmaps aliases behind which the work is done; with `ask` asks about it. Nobody else grows, trims
 * or compacts. Drops the lock. */
void cuai_aliases_end(cuarena_t *arena, bool ask);
/* Before growth: unmaps aliases as far as nobody needs to ask, unless there are many. Nobody grows,
 * trims or compacts. Drops the lock. */
void cuai_aliases_before_growth(cuarena_t *arena);
/* Notes that the work behind all aliases is done. */
void cuai_aliases_forget_waits(cuarena_t *arena);
/* Counts the waits of aliases, by stream. */
void cuai_aliases_count_waits(const cuarena_t *arena, uint64_t *waits);

#endif
