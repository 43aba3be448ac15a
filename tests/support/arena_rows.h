/*
 * Tests of arenas as rows of a table: options, and calls as text, as heaps have them (heap_rows.h).
 *
 *   {"a chunk is split from its head", "", "alloc a 4u; free a; alloc b 2u at a; figures 2u 4u 1"}
 *
 * Steps are parted by "; ". A step is a call and what it must come to, or figures that must hold.
 * The arena must be sound after each. A request that fails must leave its output alone, and the
 * error tells what was asked for. What lives at the end of a row is freed.
 *
 *   alloc T SIZE [on S] [dedicated] [is STATUS]   and where OK: [at U] or [at U+SIZE], the address;
 *                                                 [not U], as often as wanted;
 *                                                 [takes SIZE]
 *                                                 and where not: [limit SIZE] [reserved SIZE], as
 *                                                 the error has them
 *   free T [is STATUS]     on the stream that it was allocated on
 *   resize T SIZE [is STATUS]
 *   trim [SIZE] [on S] [gives SIZE]
 *   limit KIND SIZE [was SIZE]     live, reserved, soft or cached
 *   release SIZE gives COUNT       blocks of a cache
 *   clear gives COUNT
 *   reset   reset_peaks   finish   (all work of streams is done)
 *   budget SIZE                    what the test memory has
 *   calls OP OP ...                of the test memory since the last such step
 *   holds SIZE                     reserved and usable, as the test memory has it too
 *   figures LIVE RESERVED COUNT    bytes, free ones being the difference, and free ranges
 *   cache ACTIVE CACHED            bytes
 *   KEY NUMBER [KEY NUMBER ...]    of cuarena_stats_pairs: its own keys or ONNX Runtime's; or
 *                                  members of cuarena_cache_stats_t: hits, misses, evicted_blocks,
 *                                  peak_active_bytes, peak_cached_bytes
 *
 * T and U are letters, S is the number of a stream.
 */
#ifndef CUARENA_TEST_ARENA_ROWS_H
#define CUARENA_TEST_ARENA_ROWS_H

#include "support/fixture.h"

typedef struct arena_row {
    const char *name; /* the edge; failures begin with it */
    const char *options;
    const char *steps;
} arena_row_t;

/* What the steps run on. */
typedef struct arena_ground {
    fixture_t *f;
    uint64_t unit;                                          /* of sizes that end with u */
    cuarena_stream_t (*stream)(uint32_t);                   /* NULL: calls without a stream */
    void (*use)(uint32_t stream, void *at, uint64_t bytes); /* what was allocated; NULL: nothing */
    void (*finish)(void);
} arena_ground_t;

void arena_run(const arena_ground_t *ground, const char *name, const char *steps);
/* On an arena of the row's options alone. */
void arena_run_row(const arena_row_t *row);

#endif
