/*
 * What is held: the ranges of addresses that an arena has from its memory, as it takes more and
 * gives some back. Ranges that touch are one. Cost of each call: the ranges.
 */
#ifndef TOOLS_HELD_H
#define TOOLS_HELD_H

#include <stddef.h>
#include <stdint.h>

typedef struct held_range {
    uint64_t begin; /* addresses */
    uint64_t end;
} held_range_t;

/* Zero it to begin. */
typedef struct held {
    held_range_t *ranges; /* in no order */
    size_t count;
    size_t capacity;
} held_t;

/* Adds [begin, end), of which what is held already stays held. */
void held_add(held_t *held, uint64_t begin, uint64_t end);
/* Takes [begin, end) out, where it is held. */
void held_cut(held_t *held, uint64_t begin, uint64_t end);
void held_free(held_t *held);

#endif
