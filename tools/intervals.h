/*
 * Intervals: a set of [begin, end) that must not overlap, in a balanced tree
 * (a treap). It shares no code and no idea with the library's own records, so that the two can be
 * compared. Every interval has a number below the set's capacity, and its node is at that number.
 * Cost: the depth, logarithmic.
 */
#ifndef TOOLS_INTERVALS_H
#define TOOLS_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

#define NO_INTERVAL UINT32_MAX

typedef struct interval {
    uint64_t begin;
    uint64_t end;
    uint32_t left; /* NO_INTERVAL: none */
    uint32_t right;
    uint32_t rank; /* at least those of the children; random */
} interval_t;

typedef struct intervals {
    interval_t *nodes;
    uint32_t root;
} intervals_t;

intervals_t intervals_make(uint32_t capacity);
void intervals_free(intervals_t *set);

/* Adds [begin, end) as `number`, which is not in the set; begin < end. Returns NO_INTERVAL or,
 * adding nothing, the number of one that it overlaps. */
uint32_t intervals_add(intervals_t *set, uint32_t number, uint64_t begin, uint64_t end);
/* `number` is in the set. */
void intervals_remove(intervals_t *set, uint32_t number);

#endif
