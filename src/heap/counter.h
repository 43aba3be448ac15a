/*
 * Counters: what is counted of the blocks of a heap, a tag, a stream, a session.
 *
 *   peak counter   a quantity that goes up and down: its peak, and how far below that it is now
 *   counter        the peak counters of bytes and blocks, and how often blocks began
 *   counts         what a counter says, for reading
 *
 * A peak counter keeps no sum. An allocation lowers one number, and only where that becomes
 * negative is there a new peak to store; a free adds to it. So each costs an allocation two
 * instructions and a free one. How often blocks ended follows from the rest.
 */
#ifndef CUAI_HEAP_COUNTER_H
#define CUAI_HEAP_COUNTER_H

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
    cuai_peak_counter_t bytes; /* of live blocks */
    cuai_peak_counter_t requested;
    cuai_peak_counter_t blocks;
    uint64_t allocs;
} cuai_counter_t;

/* `below` is negative, so there is a new peak: stores it. A call, so that compilers do not keep in
 * a register what the ordinary case only subtracts. */
void cuai_peak_counter_raise(cuai_peak_counter_t *counter) CUAI_OUTLINE;

/* Adds `more`, modulo 2^64, to what is now, and raises the peak. */
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

/* Sets the peak, which is no less than what is now. */
static inline void cuai_peak_counter_set_peak(cuai_peak_counter_t *counter, uint64_t peak)
{
    uint64_t now = cuai_peak_counter_now(counter);
    CUAI_ASSERT(peak >= now);
    *counter = (cuai_peak_counter_t){peak, (int64_t)(peak - now)};
}

/* Adds bytes, modulo 2^64, for a resize. */
static CUAI_INLINE void cuai_counter_resize(cuai_counter_t *counter, uint64_t size,
                                            uint64_t requested)
{
    cuai_peak_counter_add(&counter->bytes, size);
    cuai_peak_counter_add(&counter->requested, requested);
}

static CUAI_INLINE void cuai_counter_begin(cuai_counter_t *counter, uint64_t size,
                                           uint64_t requested)
{
    counter->allocs++;
    cuai_peak_counter_add(&counter->blocks, 1);
    cuai_counter_resize(counter, size, requested);
}

static CUAI_INLINE void cuai_counter_end(cuai_counter_t *counter, uint64_t size, uint64_t requested)
{
    counter->blocks.below++;
    counter->bytes.below += (int64_t)size;
    counter->requested.below += (int64_t)requested;
}

static inline void cuai_counter_begin_block(cuai_counter_t *counter, const cuai_record_t *r)
{
    cuai_counter_begin(counter, r->size, cuai_requested(r));
}

static CUAI_INLINE void cuai_counter_end_block(cuai_counter_t *counter, const cuai_record_t *r)
{
    cuai_counter_end(counter, r->size, cuai_requested(r));
}

/* Leaves out of the allocations, and so of the frees, a block that is live, or was a moment ago. */
static inline void cuai_counter_uncount(cuai_counter_t *counter)
{
    CUAI_ASSERT(counter->allocs != 0);
    counter->allocs--;
}

static inline uint64_t cuai_counter_blocks(const cuai_counter_t *counter)
{
    return cuai_peak_counter_now(&counter->blocks);
}

static inline cuai_counts_t cuai_counter_read(const cuai_counter_t *counter)
{
    return (cuai_counts_t){
        .live_bytes = cuai_peak_counter_now(&counter->bytes),
        .peak_live_bytes = counter->bytes.peak,
        .requested_bytes = cuai_peak_counter_now(&counter->requested),
        .peak_requested_bytes = counter->requested.peak,
        .live_blocks = cuai_counter_blocks(counter),
        .peak_live_blocks = counter->blocks.peak,
        .allocs = counter->allocs,
        .frees = counter->allocs - cuai_counter_blocks(counter),
    };
}

static inline void cuai_counter_reset_peaks(cuai_counter_t *counter)
{
    cuai_peak_counter_set_peak(&counter->bytes, cuai_peak_counter_now(&counter->bytes));
    cuai_peak_counter_set_peak(&counter->requested, cuai_peak_counter_now(&counter->requested));
    cuai_peak_counter_set_peak(&counter->blocks, cuai_peak_counter_now(&counter->blocks));
}

/* All of its blocks have ended at once. */
static inline void cuai_counter_clear(cuai_counter_t *counter)
{
    counter->bytes.below = (int64_t)counter->bytes.peak;
    counter->requested.below = (int64_t)counter->requested.peak;
    counter->blocks.below = (int64_t)counter->blocks.peak;
}

#endif
