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

typedef struct cuai_level {
    uint64_t peak;
    int64_t below; /* >= 0 */
} cuai_level_t;

typedef struct cuai_meter {
    cuai_level_t levels[CUAI_PEAK_RESERVED]; /* by CUAI_PEAK_... */
    uint64_t allocs;
    uint64_t frees;
} cuai_meter_t;

/* It is below 0 below its peak: that is a new peak. A call, so that compilers do not keep in a
 * register what the ordinary case only has to subtract. */
void cuai_level_note_peak(cuai_level_t *level) CUAI_OUTLINE;

/* By `more`, modulo 2^64. */
static CUAI_INLINE void cuai_level_rise(cuai_level_t *level, uint64_t more)
{
    level->below -= (int64_t)more;
    if (CUAI_UNLIKELY(level->below < 0))
        cuai_level_note_peak(level);
}

static inline uint64_t cuai_level_now(const cuai_level_t *level)
{
    return level->peak - (uint64_t)level->below;
}

/* More, modulo 2^64, without an allocation or a free: by a resize, or because
 * a block came or went otherwise. */
static CUAI_INLINE void cuai_meter_add(cuai_meter_t *meter, uint64_t blocks, uint64_t size,
                                       uint64_t requested)
{
    cuai_level_rise(&meter->levels[CUAI_PEAK_BLOCKS], blocks);
    cuai_level_rise(&meter->levels[CUAI_PEAK_LIVE], size);
    cuai_level_rise(&meter->levels[CUAI_PEAK_REQUESTED], requested);
}

/* A block begins. */
static CUAI_INLINE void cuai_meter_begin(cuai_meter_t *meter, uint64_t size, uint64_t requested)
{
    meter->allocs++;
    cuai_meter_add(meter, 1, size, requested);
}

/* A block ends. */
static CUAI_INLINE void cuai_meter_end(cuai_meter_t *meter, uint64_t size, uint64_t requested)
{
    meter->frees++;
    meter->levels[CUAI_PEAK_BLOCKS].below++;
    meter->levels[CUAI_PEAK_LIVE].below += (int64_t)size;
    meter->levels[CUAI_PEAK_REQUESTED].below += (int64_t)requested;
}

static inline void cuai_meter_in(cuai_meter_t *meter, const cuai_record_t *r)
{
    cuai_meter_begin(meter, r->size, cuai_requested(r));
}

static CUAI_INLINE void cuai_meter_out(cuai_meter_t *meter, const cuai_record_t *r)
{
    cuai_meter_end(meter, r->size, cuai_requested(r));
}

/* A block was never given out: neither it nor its end, which is to come, are counted. */
static inline void cuai_meter_uncount(cuai_meter_t *meter)
{
    meter->allocs--;
    meter->frees--;
}

static inline uint64_t cuai_meter_blocks(const cuai_meter_t *meter)
{
    return cuai_level_now(&meter->levels[CUAI_PEAK_BLOCKS]);
}

static inline cuai_counts_t cuai_meter_read(const cuai_meter_t *meter)
{
    const cuai_level_t *live = &meter->levels[CUAI_PEAK_LIVE];
    const cuai_level_t *requested = &meter->levels[CUAI_PEAK_REQUESTED];
    return (cuai_counts_t){
        .live_bytes = cuai_level_now(live),
        .peak_live_bytes = live->peak,
        .requested_bytes = cuai_level_now(requested),
        .peak_requested_bytes = requested->peak,
        .live_blocks = cuai_meter_blocks(meter),
        .peak_live_blocks = meter->levels[CUAI_PEAK_BLOCKS].peak,
        .allocs = meter->allocs,
        .frees = meter->frees,
    };
}

/* From now on it says so. */
static inline void cuai_meter_set(cuai_meter_t *meter, cuai_counts_t counts)
{
    *meter = (cuai_meter_t){.allocs = counts.allocs, .frees = counts.frees};
    meter->levels[CUAI_PEAK_LIVE] = (cuai_level_t){
        counts.peak_live_bytes, (int64_t)(counts.peak_live_bytes - counts.live_bytes)};
    meter->levels[CUAI_PEAK_REQUESTED] =
        (cuai_level_t){counts.peak_requested_bytes,
                       (int64_t)(counts.peak_requested_bytes - counts.requested_bytes)};
    meter->levels[CUAI_PEAK_BLOCKS] = (cuai_level_t){
        counts.peak_live_blocks, (int64_t)(counts.peak_live_blocks - counts.live_blocks)};
}

/* All of its blocks have ended. */
static inline void cuai_meter_clear(cuai_meter_t *meter)
{
    meter->frees += cuai_meter_blocks(meter);
    for (int i = 0; i < CUAI_PEAK_RESERVED; i++)
        meter->levels[i].below = (int64_t)meter->levels[i].peak;
}

#endif
