/*
 * Peaks, and the scopes in which they are counted.
 *
 *   peak set   the peaks of one thing, of the whole arena, a region, a tag or a stream: its
 *              counter, and a fourth peak that only the whole has
 *   scopes     what the peaks were when each open scope of that thing began
 *
 * The peaks that are kept are those of the innermost scope. To begin a scope is to set the peaks
 * aside and to begin anew; to end it is to raise those set aside to what came since. So no
 * allocation knows of scopes, and both are O(1).
 */
#ifndef CUAI_ARENA_PEAKS_H
#define CUAI_ARENA_PEAKS_H

#include <stddef.h>

#include "cuarena/stats.h"
#include "heap/counter.h"

enum {
    CUAI_PEAK_LIVE,
    CUAI_PEAK_REQUESTED,
    CUAI_PEAK_BLOCKS,
    CUAI_PEAK_RESERVED, /* of the whole only */
    CUAI_PEAKS
};

typedef struct cuai_scopes {
    uint32_t depth;
    uint64_t outer[CUARENA_MAX_PEAK_SCOPES][CUAI_PEAKS];
} cuai_scopes_t;

static inline uint32_t cuai_scopes_depth(const cuai_scopes_t *scopes)
{
    return scopes == NULL ? 0 : scopes->depth;
}

/* It is good as long as the lock is held. */
typedef struct cuai_peak_set {
    cuai_counter_t *counter; /* NULL: it has none of these peaks */
    uint64_t *reserved;      /* the peak of reserved bytes; NULL: it has none */
    uint64_t reserved_now;
    cuai_scopes_t **scopes; /* *scopes is NULL before the first scope */
} cuai_peak_set_t;

/* The peaks of everything that counts one block: its heap, the whole, its tag and its stream; and
 * as if they were reserved bytes, the largest block of its heap and, of standalone blocks, the most
 * that was asked for. UINT64_MAX: there is no such peak. */
enum {
    CUAI_PEAKS_OF_HEAP,
    CUAI_PEAKS_OF_WHOLE,
    CUAI_PEAKS_OF_TAG,
    CUAI_PEAKS_OF_STREAM,
    CUAI_PEAKS_OF_ASKED,
    CUAI_PEAKS_COUNT
};

typedef struct cuai_peaks_kept {
    uint64_t peaks[CUAI_PEAKS_COUNT][CUAI_PEAKS];
} cuai_peaks_kept_t;

cuai_peak_set_t cuai_peaks_of_whole(cuarena_t *arena);
cuai_peak_set_t cuai_peaks_of_region(cuarena_t *arena, int32_t region);
cuai_peak_set_t cuai_peaks_of_counter(cuai_counter_t *counter, cuai_scopes_t **scopes);
/* Begin a scope, and end the last one. Push returns LIMIT, or OUT_OF_MEMORY where the host has
 * none; pop returns BAD_ARGUMENT where no scope is open. */
cuarena_status_t cuai_peaks_push(cuai_peak_set_t *set);
cuarena_status_t cuai_peaks_pop(cuai_peak_set_t *set, cuarena_peaks_t *peaks);
/* Sets its peaks to what is now, in all scopes. */
void cuai_peaks_reset(cuai_peak_set_t *set);

/* What counts a block. */
typedef struct cuai_counted_in {
    int32_t region;
    uint32_t stream; /* that owns it; 0: none */
    cuarena_tag_t tag;
} cuai_counted_in_t;

/* Keeps the peaks of everything that counts such a block, as they are now. */
void cuai_peaks_keep(cuarena_t *arena, const cuai_counted_in_t *where, cuai_peaks_kept_t *kept);
/* The block was given to no caller and has ended: peaks that it raised, and nothing has raised
 * since, are again as they were before it. */
void cuai_peaks_restore(cuarena_t *arena, const cuai_counted_in_t *where,
                        const cuai_peaks_kept_t *before, const cuai_peaks_kept_t *with);

#endif
