/*
 * The smallest pool: serving a trace is not monotone in the size, so it means the smallest of the
 * sizes peak * (1 + k / 1000), k whole, rounded down to
 * 256 bytes (or the alignment, if that is larger), such that it and every larger one up to 1.5
 * times the peak serve the trace.
 */
#ifndef TOOLS_MINPOOL_H
#define TOOLS_MINPOOL_H

#include "player.h"

typedef struct minpool {
    bool found; /* false: 1.5 times the peak is too small already */
    uint64_t bytes;
    double ratio; /* 1 + k / 1000 */
} minpool_t;

/*
 * Goes down from 1.5 and stops at the first size that refuses a request. The sizes of `setup` are
 * ignored. Blocks are placed alike on every memory, so pageable memory is left out of it. A fault
 * if an arena cannot be made. Cost: a replay for each size.
 */
bool minpool_search(const player_setup_t *setup, const trace_t *trace, minpool_t *minpool_out,
                    fault_t *fault);

#endif
