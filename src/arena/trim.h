/* Trimming: whole pages of idle ranges go back to the memory (trim.c). */
#ifndef CUAI_ARENA_TRIM_H
#define CUAI_ARENA_TRIM_H

#include "arena/arena.h"

/* Gives idle bytes back until `keep_bytes` are reserved; returns how many. Drops the lock. */
uint64_t cuai_trim(cuarena_t *arena, uint64_t keep_bytes);
/* Gives back what was freed on a stream, or with 0 what is idle or was freed on any, after waiting
 * for it, until `keep_bytes` are reserved. What does not go stays its stream's where nobody else
 * may have it. Drops the lock. */
cuarena_status_t cuai_trim_freelists(cuarena_t *arena, uint32_t number, uint64_t keep_bytes,
                                     uint64_t *given_out);
/* Gives about so many idle bytes back, but none of [begin, end); returns how many. Looks at a
 * bounded number of ranges, so there may be more. Nobody grows, trims or compacts. Drops the
 * lock. */
uint64_t cuai_trim_beside(cuarena_t *arena, uint64_t bytes, uint64_t begin, uint64_t end);
/* Gives all idle bytes back; with steal=never also what streams freed, after waiting for it.
 * Returns how many. Drops the lock. */
uint64_t cuai_trim_all(cuarena_t *arena);

/*
 * Cuts: whole pages of idle ranges on their way to the memory.
 *
 * A cut leaves the heap under the lock, so nobody is handed its bytes; the memory takes them
 * without it. In between the segments are this thread's.
 */

/* How many cuts are made before the lock is let go of. */
#define CUAI_CUTS_PER_BATCH 64

typedef struct cuai_cut {
    enum {
        CUAI_CUT_SHRINK,
        CUAI_CUT_PUNCH,
        CUAI_CUT_WHOLE
    } kind;
    size_t segment;
    uint64_t address;
    uint64_t bytes; /* as the memory counts them */
} cuai_cut_t;

typedef struct cuai_cuts {
    size_t count;
    cuai_cut_t items[CUAI_CUTS_PER_BATCH];
} cuai_cuts_t;

/* From here to the end nobody else grows, trims or compacts; nobody does when it begins. */
void cuai_cuts_begin(cuarena_t *arena, cuai_cuts_t *cuts);
void cuai_cuts_end(cuarena_t *arena);
/* What to cut of the ranges of a free list. */
typedef struct cuai_cut_request {
    uint32_t freelist;
    uint64_t bytes;      /* about so many */
    uint64_t most;       /* and no more than that */
    uint64_t kept_begin; /* but none of these addresses */
    uint64_t kept_end;
} cuai_cut_request_t;

/* Cuts one row of whole handles, not one at a segment's end. Looks at a bounded number of ranges;
 * false: none of them has any. */
bool cuai_cut_handles(cuarena_t *arena, const cuai_cut_request_t *wanted, cuai_cut_t *cut_out);
/* Cuts what can go, at most about `most` bytes, out of the record's range if that is idle; returns
 * the bytes cut. There is room for one more cut. */
uint64_t cuai_cuts_take(cuarena_t *arena, cuai_cuts_t *cuts, cuai_slot_t slot, uint64_t most);
/* Hands the cuts to the memory; returns the bytes. Drops the lock. */
uint64_t cuai_cuts_give(cuarena_t *arena, cuai_cuts_t *cuts);

#endif
