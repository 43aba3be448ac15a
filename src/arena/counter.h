/*
 * Counters: what is counted of the blocks of one tag, one stream, one session.
 *
 *   peak counter   a quantity that goes up and down: its peak, and how far below that it is now
 *   counter        the peak counters of blocks and bytes, and how often blocks began and ended
 *   counts         what a counter says, for reading
 *
 * A peak counter keeps no sum. An allocation lowers one number, and only where that becomes
 * negative is there a new peak to store; a free adds to it. So each costs an allocation two
 * instructions and a free one.
 */
#ifndef CUAI_ARENA_COUNTER_H
#define CUAI_ARENA_COUNTER_H

#include "arena/peaks.h"
#include "base/compiler.h"
#include "heap/record.h"

/* What a counter says, or what is counted of the whole arena. */
typedef struct cuai_counts {
    uint64_t live_bytes;
    uint64_t peak_live_bytes;
    uint64_t requested_bytes;
    uint64_t peak_requested_bytes;
    uint64_t live_blocks;
    uint64_t peak_live_blocks;
    uint64_t allocs;
    uint64_t frees;
} cuai_counts_t;

typedef struct cuai_peak_counter {
    uint64_t peak;
    int64_t below; /* >= 0 */
} cuai_peak_counter_t;

typedef struct cuai_counter {
    cuai_peak_counter_t peaks[CUAI_PEAK_RESERVED]; /* by CUAI_PEAK_... */
    uint64_t allocs;
    uint64_t frees;
} cuai_counter_t;

/* `below` is negative, so there is a new peak: stores it. A call, so that compilers do not keep in
 * a register what the ordinary case only subtracts. */
void cuai_peak_counter_raise(cuai_peak_counter_t *counter) CUAI_OUTLINE;

/* Adds `more`, modulo 2^64. */
static CUAI_INLINE void cuai_peak_counter_add(cuai_peak_counter_t *counter, uint64_t more)
{
    counter->below -= (int64_t)more;
    if (CUAI_UNLIKELY(counter->below < 0))
        cuai_peak_counter_raise(counter);
}

static inline uint64_t cuai_peak_counter_now(const cuai_peak_counter_t *counter)
{
    CUAI_ASSERT(counter->below >= 0 && (uint64_t)counter->below <= counter->peak);
    return counter->peak - (uint64_t)counter->below;
}

/* Adds blocks and bytes, modulo 2^64, that were neither allocated nor freed: for a resize, or for a
 * block that changes its owner. */
static CUAI_INLINE void cuai_counter_add(cuai_counter_t *counter, uint64_t blocks, uint64_t size,
                                         uint64_t requested)
{
    cuai_peak_counter_add(&counter->peaks[CUAI_PEAK_BLOCKS], blocks);
    cuai_peak_counter_add(&counter->peaks[CUAI_PEAK_LIVE], size);
    cuai_peak_counter_add(&counter->peaks[CUAI_PEAK_REQUESTED], requested);
}

static CUAI_INLINE void cuai_counter_begin(cuai_counter_t *counter, uint64_t size,
                                           uint64_t requested)
{
    counter->allocs++;
    cuai_counter_add(counter, 1, size, requested);
}

static CUAI_INLINE void cuai_counter_end(cuai_counter_t *counter, uint64_t size, uint64_t requested)
{
    counter->frees++;
    counter->peaks[CUAI_PEAK_BLOCKS].below++;
    counter->peaks[CUAI_PEAK_LIVE].below += (int64_t)size;
    counter->peaks[CUAI_PEAK_REQUESTED].below += (int64_t)requested;
}

static inline void cuai_counter_add_block(cuai_counter_t *counter, const cuai_record_t *r)
{
    cuai_counter_begin(counter, r->size, cuai_requested(r));
}

static CUAI_INLINE void cuai_counter_end_block(cuai_counter_t *counter, const cuai_record_t *r)
{
    cuai_counter_end(counter, r->size, cuai_requested(r));
}

/* No caller got the block, which ends next: neither its allocation nor its free are counted. */
static inline void cuai_counter_uncount(cuai_counter_t *counter)
{
    CUAI_ASSERT(counter->allocs != 0);
    counter->allocs--;
    counter->frees--;
}

static inline uint64_t cuai_counter_blocks(const cuai_counter_t *counter)
{
    return cuai_peak_counter_now(&counter->peaks[CUAI_PEAK_BLOCKS]);
}

static inline cuai_counts_t cuai_counter_read(const cuai_counter_t *counter)
{
    const cuai_peak_counter_t *live = &counter->peaks[CUAI_PEAK_LIVE];
    const cuai_peak_counter_t *requested = &counter->peaks[CUAI_PEAK_REQUESTED];
    return (cuai_counts_t){
        .live_bytes = cuai_peak_counter_now(live),
        .peak_live_bytes = live->peak,
        .requested_bytes = cuai_peak_counter_now(requested),
        .peak_requested_bytes = requested->peak,
        .live_blocks = cuai_counter_blocks(counter),
        .peak_live_blocks = counter->peaks[CUAI_PEAK_BLOCKS].peak,
        .allocs = counter->allocs,
        .frees = counter->frees,
    };
}

/* From now on the counter says these counts. */
static inline void cuai_counter_set(cuai_counter_t *counter, cuai_counts_t counts)
{
    CUAI_ASSERT(counts.live_bytes <= counts.peak_live_bytes);
    CUAI_ASSERT(counts.live_blocks <= counts.peak_live_blocks);
    *counter = (cuai_counter_t){.allocs = counts.allocs, .frees = counts.frees};
    counter->peaks[CUAI_PEAK_LIVE] = (cuai_peak_counter_t){
        counts.peak_live_bytes, (int64_t)(counts.peak_live_bytes - counts.live_bytes)};
    counter->peaks[CUAI_PEAK_REQUESTED] =
        (cuai_peak_counter_t){counts.peak_requested_bytes,
                              (int64_t)(counts.peak_requested_bytes - counts.requested_bytes)};
    counter->peaks[CUAI_PEAK_BLOCKS] = (cuai_peak_counter_t){
        counts.peak_live_blocks, (int64_t)(counts.peak_live_blocks - counts.live_blocks)};
}

/* All of its blocks have ended at once. */
static inline void cuai_counter_clear(cuai_counter_t *counter)
{
    counter->frees += cuai_counter_blocks(counter);
    for (int i = 0; i < CUAI_PEAK_RESERVED; i++)
        counter->peaks[i].below = (int64_t)counter->peaks[i].peak;
}

#endif
