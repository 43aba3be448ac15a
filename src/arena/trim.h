/*
 * Cuts: whole pages of idle ranges that go back to the memory.
 *
 * A cut leaves the heap under the lock, so nobody is handed its bytes; the memory takes them
 * without it. In between the segments are this thread's.
 */
#ifndef CUAI_ARENA_TRIM_H
#define CUAI_ARENA_TRIM_H

#include "arena/arena.h"

/* How many are made before the lock is let go of. */
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

/* From here to the end nobody else grows, trims or compacts. Who begins has seen that nobody
 * does. */
void cuai_cuts_begin(cuarena_t *arena, cuai_cuts_t *cuts);
/* Cuts what can go, at most about `most` bytes, out of the record's range, if that is idle; the
 * bytes cut. There is room for one more. */
uint64_t cuai_cuts_take(cuarena_t *arena, cuai_cuts_t *cuts, cuai_slot_t slot, uint64_t most);
/* Hands them to the memory; the bytes. Steps out. */
uint64_t cuai_cuts_give(cuarena_t *arena, cuai_cuts_t *cuts);
void cuai_cuts_end(cuarena_t *arena);

#endif
