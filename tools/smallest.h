/*
 * The smallest size that serves a trace: of a pool, and the smallest limit of an arena that grows.
 * Serving is not monotone in the size, so each search says what it found. Both look at the sizes
 * peak * (1 + k / 1000), k whole, rounded down to 256 bytes (or the alignment, if that is larger),
 * up to 1.5 times the peak.
 *
 *   pool   the smallest such that it and every larger one serve the trace: the search goes down
 *          and stops at the first that refuses a request.
 *   limit  the smallest that serves the trace: the search goes up from the peak, and every smaller
 *          one was replayed and refused a request. A larger one may refuse again.
 */
#ifndef TOOLS_SMALLEST_H
#define TOOLS_SMALLEST_H

#include "player.h"

typedef struct smallest {
    bool found; /* false: 1.5 times the peak is too small */
    uint64_t bytes;
    double ratio; /* 1 + k / 1000 */
} smallest_t;

/*
 * `setup` is of an arena that grows for a limit; its sizes are ignored. Blocks are placed alike on
 * every memory, so pageable memory is left out of it. A fault if an arena cannot be made. Cost: a
 * replay for each size that is looked at, 501 at most.
 */
bool smallest_pool(const player_setup_t *setup, const trace_t *trace, smallest_t *smallest_out,
                   fault_t *fault);
bool smallest_limit(const player_setup_t *setup, const trace_t *trace, smallest_t *smallest_out,
                    fault_t *fault);

/* Whether one pass over the trace is served in an arena of `setup`; it ends at the first request
 * that is not. A fault if the arena cannot be made. */
bool smallest_serves(const player_setup_t *setup, const trace_t *trace, bool *served_out,
                     fault_t *fault);

#endif
