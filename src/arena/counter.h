/*
 * Meters: what is counted of the blocks of one tag, one stream, one session.
 *
 *   level   a quantity that goes up and down: its peak, and how far below that
 *           it is now
 *   counts  what a meter says, for reading
 *
 * A level keeps no sum. An allocation lowers one number, and only where that becomes negative is
 * there a new peak to store; a free adds to it. So each level costs an allocation two instructions
 * and a free one.
 */
#ifndef CUAI_ARENA_METER_H
#define CUAI_ARENA_METER_H

#include "arena/peaks.h"
#include "base/compiler.h"
#include "heap/record.h"

/* Of a meter, or of the whole. */
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

/* It is below 0 below its peak: that is a new peak. A call, so that compilers do not keep in a
 * register what the ordinary case only has to subtract. */
void cuai_peak_counter_raise(cuai_peak_counter_t *level) CUAI_OUTLINE;

/* By `more`, modulo 2^64. */
static CUAI_INLINE void cuai_peak_counter_add(cuai_peak_counter_t *level, uint64_t more)
{
    level->below -= (int64_t)more;
    if (CUAI_UNLIKELY(level->below < 0))
        cuai_peak_counter_raise(level);
}

static inline uint64_t cuai_peak_counter_now(const cuai_peak_counter_t *level)
{
    return level->peak - (uint64_t)level->below;
}

/* More, modulo 2^64, without an allocation or a free: by a resize, or because
 * a block came or went otherwise. */
static CUAI_INLINE void cuai_counter_add(cuai_counter_t *counter, uint64_t blocks, uint64_t size,
                                         uint64_t requested)
{
    cuai_peak_counter_add(&counter->peaks[CUAI_PEAK_BLOCKS], blocks);
    cuai_peak_counter_add(&counter->peaks[CUAI_PEAK_LIVE], size);
    cuai_peak_counter_add(&counter->peaks[CUAI_PEAK_REQUESTED], requested);
}

/* A block begins. */
static CUAI_INLINE void cuai_counter_begin(cuai_counter_t *counter, uint64_t size,
                                           uint64_t requested)
{
    counter->allocs++;
    cuai_counter_add(counter, 1, size, requested);
}

/* A block ends. */
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

/* A block was never given out: neither it nor its end, which is to come, are counted. */
static inline void cuai_counter_uncount(cuai_counter_t *counter)
{
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

/* From now on it says so. */
static inline void cuai_counter_set(cuai_counter_t *counter, cuai_counts_t counts)
{
    *counter = (cuai_counter_t){.allocs = counts.allocs, .frees = counts.frees};
    counter->peaks[CUAI_PEAK_LIVE] = (cuai_peak_counter_t){
        counts.peak_live_bytes, (int64_t)(counts.peak_live_bytes - counts.live_bytes)};
    counter->peaks[CUAI_PEAK_REQUESTED] =
        (cuai_peak_counter_t){counts.peak_requested_bytes,
                              (int64_t)(counts.peak_requested_bytes - counts.requested_bytes)};
    counter->peaks[CUAI_PEAK_BLOCKS] = (cuai_peak_counter_t){
        counts.peak_live_blocks, (int64_t)(counts.peak_live_blocks - counts.live_blocks)};
}

/* All of its blocks have ended. */
static inline void cuai_counter_clear(cuai_counter_t *counter)
{
    counter->frees += cuai_counter_blocks(counter);
    for (int i = 0; i < CUAI_PEAK_RESERVED; i++)
        counter->peaks[i].below = (int64_t)counter->peaks[i].peak;
}

#endif
