/*
 * The smallest size that serves a trace: of a pool, or the smallest limit of an arena that grows.
 * Serving is not monotone in the size, so it means the smallest of the sizes
 * peak * (1 + k / 1000), k whole, rounded down to 256 bytes (or the alignment, if that is larger),
 * such that it and every larger one up to 1.5 times the peak, and to PLAYER_MOST_BYTES, serve the
 * trace.
 */
#ifndef TOOLS_SMALLEST_H
#define TOOLS_SMALLEST_H

#include "player.h"

typedef struct smallest {
    bool found; /* false: 1.5 times the peak is too small already */
    uint64_t bytes;
    double ratio; /* 1 + k / 1000 */
} smallest_t;

/*
 * Goes down from there and stops at the first size that refuses a request. The sizes of `setup` are
 * ignored. Blocks are placed alike on every memory, so pageable memory is left out of it. A fault
 * if an arena cannot be made. Cost: a replay for each size.
 */
bool smallest_find(const player_setup_t *setup, const trace_t *trace, smallest_t *smallest_out,
                   fault_t *fault);

#endif
