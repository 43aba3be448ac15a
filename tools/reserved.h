/*
 * Reserved bytes: the ranges of addresses that an arena has from its memory, as it takes more and
 * gives some back. Ranges that touch are one. Cost of each call: the ranges.
 */
#ifndef TOOLS_RESERVED_H
#define TOOLS_RESERVED_H

#include <stddef.h>
#include <stdint.h>

typedef struct reserved_range {
    uint64_t begin; /* addresses */
    uint64_t end;
} reserved_range_t;

/* Zero it to begin. */
typedef struct reserved {
    reserved_range_t *ranges; /* in no order */
    size_t count;
    size_t capacity;
} reserved_t;

/* Adds [begin, end), of which what is reserved already stays so. */
void reserved_add(reserved_t *reserved, uint64_t begin, uint64_t end);
/* Takes [begin, end) out, where it is reserved. */
void reserved_cut(reserved_t *reserved, uint64_t begin, uint64_t end);
void reserved_free(reserved_t *reserved);

#endif
