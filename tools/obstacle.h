/*
 * An obstacle: the fewest bytes of live blocks that keep a request from being served.
 *
 * The request would fit between two blocks, or a block and an end of the arena's bytes, if those
 * between them were not there; of all such places it is the one that the fewest bytes are in.
 */
#ifndef TOOLS_OBSTACLE_H
#define TOOLS_OBSTACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct obstacle_block {
    uint64_t begin; /* addresses */
    uint64_t end;
    size_t stay; /* the caller's number of it */
} obstacle_block_t;

typedef struct obstacle {
    bool found;     /* false: the arena's bytes are fewer than the request */
    uint64_t begin; /* addresses of the place */
    uint64_t end;
    uint64_t bytes; /* of the blocks in it */
    size_t *stays;  /* of these blocks, by address */
    size_t count;
} obstacle_t;

/* `blocks` are those that live between the addresses `low` and `high`; they are sorted. Cost: the
 * sort. */
obstacle_t obstacle_find(obstacle_block_t *blocks, size_t count, uint64_t low, uint64_t high,
                         uint64_t bytes);
void obstacle_free(obstacle_t *obstacle);

#endif
