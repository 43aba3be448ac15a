/*
 * Measuring: all that a replay of one trace tells. Every run has an arena of its own: one is timed
 * as a whole, one reads the clock after each event, one verifies, and the searches for the smallest
 * pool and limit make one for each size.
 */
#ifndef TOOLS_MEASURE_H
#define TOOLS_MEASURE_H

#include "player.h"
#include "smallest.h"

typedef struct measure_ask {
    player_setup_t setup; /* but for the pool */
    bool pool_auto;       /* twice the peak of the trace, at most PLAYER_MOST_BYTES;
                           * a limit is at least 64 MiB */
    cuarena_amount_t pool;
    uint64_t passes; /* of the timed run and of the verifying run */
    uint64_t runs;   /* timed runs, of which the fastest counts; from 1 */
    bool verify;
    bool min_pool;
    bool min_limit;
    const char *snapshot;   /* file for one at the peak or, if a request was refused, then; NULL:
                             * none */
    player_setup_t growing; /* for min_limit: of an arena that grows */
} measure_ask_t;

typedef struct measure {
    /* Of one pass: calls made, refused ones included. */
    uint64_t events;
    uint64_t allocs;
    uint64_t frees;
    uint64_t peak_live_bytes; /* what a perfect pool has */
    /* Of all passes of the timed run. */
    uint64_t failed;
    player_tally_t tally;
    uint64_t largest_free_bytes_at_peak;
    uint64_t segments_at_peak;
    smallest_t min_pool;  /* none found unless it was asked for */
    smallest_t min_limit; /* likewise */
    /* Nanoseconds per event. */
    double ns_mean;
    uint32_t ns_p50;
    uint32_t ns_p99;
    uint32_t ns_p999;
    uint32_t ns_max;
    fault_t refusal;  /* of the first refused call; empty: all were served */
    fault_t mismatch; /* what verifying found; empty: nothing */
} measure_t;

/* The arena that is asked for, with the pool for this trace. A fault if no arena has so much. */
bool measure_setup(const measure_ask_t *ask, const trace_t *trace, player_setup_t *setup_out,
                   fault_t *fault);

/* A fault if no arena can be made; refused calls are none. */
bool measure_trace(const measure_ask_t *ask, const trace_t *trace, measure_t *measure_out,
                   fault_t *fault);

#endif
