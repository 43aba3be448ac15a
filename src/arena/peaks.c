#include "arena/peaks.h"
#include "arena/counts.h"

/* ---- Peak counters ----------------------------------------------------- */

void cuai_peak_counter_raise(cuai_peak_counter_t *counter)
{
    CUAI_ASSERT(counter->below < 0);
    counter->peak -= (uint64_t)counter->below;
    counter->below = 0;
}

/* ---- Peak sets --------------------------------------------------------- */

cuai_peak_set_t cuai_peaks_of_counter(cuai_counter_t *counter, cuai_scopes_t **scopes)
{
    cuai_peak_set_t set = {.scopes = scopes};
    for (int i = 0; i < CUAI_PEAK_RESERVED; i++) {
        set.peaks[i] = &counter->peaks[i].peak;
        set.below[i] = &counter->peaks[i].below;
        set.now[i] = cuai_peak_counter_now(&counter->peaks[i]);
    }
    return set;
}

static cuai_peak_set_t peaks_of_whole(cuarena_t *arena)
{
    cuai_counts_t now = cuai_whole_now(arena);
    cuai_counts_t *kept = &arena->whole;
    return (cuai_peak_set_t){
        .peaks = {&kept->peak_live_bytes, &kept->peak_requested_bytes, &kept->peak_live_blocks,
                  &arena->peak_reserved},
        .now = {now.live_bytes, now.requested_bytes, now.live_blocks, arena->reserved},
        .scopes = &arena->whole_scopes,
    };
}

/* From now on the peaks of the whole are kept apart from those of its only heap, since a scope
 * belongs to one of the two. */
cuai_peak_set_t cuai_peaks_of_whole(cuarena_t *arena)
{
    cuai_begin_whole(arena);
    return peaks_of_whole(arena);
}

static cuai_peak_set_t peaks_of_heap(cuarena_heap_t *heap)
{
    return (cuai_peak_set_t){
        .peaks = {&heap->peak_live_bytes, &heap->peak_requested_bytes, &heap->peak_live_blocks},
        .now = {heap->live_bytes, heap->requested_bytes, heap->live_blocks},
    };
}

cuai_peak_set_t cuai_peaks_of_region(cuarena_t *arena, int32_t region)
{
    cuarena_heap_t *heap = arena->heaps[region];
    cuai_peak_set_t set = {0};
    cuai_begin_whole(arena);
    if (heap != NULL)
        set = peaks_of_heap(heap);
    set.scopes = &arena->region_scopes[region];
    return set;
}

/* ---- Scopes ------------------------------------------------------------ */

static uint64_t peak(const cuai_peak_set_t *set, int which)
{
    return set->peaks[which] == NULL ? 0 : *set->peaks[which];
}

static void set_peak(const cuai_peak_set_t *set, int which, uint64_t peak)
{
    CUAI_ASSERT(set->below[which] == NULL || peak >= set->now[which]);
    if (set->peaks[which] != NULL)
        *set->peaks[which] = peak;
    if (set->below[which] != NULL)
        *set->below[which] = (int64_t)(peak - set->now[which]);
}

cuarena_status_t cuai_peaks_push(cuai_peak_set_t *set)
{
    if (*set->scopes == NULL)
        *set->scopes = cuai_host_alloc(sizeof **set->scopes);
    cuai_scopes_t *scopes = *set->scopes;
    if (scopes == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for scopes of peaks");
    if (scopes->depth == CUARENA_MAX_PEAK_SCOPES)
        return cuai_fail(CUARENA_LIMIT, "peaks: %d scopes are open; at most so many can be",
                         CUARENA_MAX_PEAK_SCOPES);
    uint64_t *outer = scopes->outer[scopes->depth++];
    for (int i = 0; i < CUAI_PEAKS; i++) {
        outer[i] = peak(set, i);
        set_peak(set, i, set->now[i]);
    }
    return CUARENA_OK;
}

cuarena_status_t cuai_peaks_pop(cuai_peak_set_t *set, cuarena_peaks_t *peaks)
{
    cuai_scopes_t *scopes = *set->scopes;
    if (cuai_scopes_depth(scopes) == 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "peaks: no scope is open here; accepted: one pop for "
                         "each push");
    *peaks = (cuarena_peaks_t){
        .live_bytes = peak(set, CUAI_PEAK_LIVE),
        .requested_bytes = peak(set, CUAI_PEAK_REQUESTED),
        .live_blocks = peak(set, CUAI_PEAK_BLOCKS),
        .reserved_bytes = peak(set, CUAI_PEAK_RESERVED),
    };
    const uint64_t *outer = scopes->outer[--scopes->depth];
    for (int i = 0; i < CUAI_PEAKS; i++)
        set_peak(set, i, cuai_max(peak(set, i), outer[i]));
    return CUARENA_OK;
}

void cuai_peaks_reset(cuai_peak_set_t *set)
{
    for (int i = 0; i < CUAI_PEAKS; i++)
        set_peak(set, i, set->now[i]);
    for (uint32_t depth = cuai_scopes_depth(*set->scopes); depth != 0; depth--)
        memcpy((*set->scopes)->outer[depth - 1], set->now, sizeof set->now);
}

/* ---- Of one block ------------------------------------------------------ */

/* The peak sets of everything that counts a block. */
static void peaks_of_block(cuarena_t *arena, const cuai_counted_in_t *where,
                           cuai_peak_set_t sets[CUAI_PEAKS_COUNT])
{
    CUAI_ASSERT(where->region < CUAI_HEAPS && where->stream < CUAI_STREAM_NUMBERS);
    cuarena_heap_t *heap = arena->heaps[where->region];
    cuai_stream_t *s = where->stream == 0 ? NULL : arena->streams[where->stream];
    memset(sets, 0, CUAI_PEAKS_COUNT * sizeof *sets);
    if (heap != NULL) {
        sets[CUAI_PEAKS_OF_HEAP] = peaks_of_heap(heap);
        sets[CUAI_PEAKS_OF_HEAP].peaks[CUAI_PEAK_RESERVED] = &heap->most_block_bytes;
    }
    if (arena->slow & CUAI_SLOW_WHOLE)
        sets[CUAI_PEAKS_OF_WHOLE] = peaks_of_whole(arena);
    sets[CUAI_PEAKS_OF_WHOLE].peaks[CUAI_PEAK_RESERVED] = NULL;
    if (where->tag != 0)
        sets[CUAI_PEAKS_OF_TAG] = cuai_peaks_of_counter(&arena->tags[where->tag].counter, NULL);
    if (s != NULL && s != arena->only_stream)
        sets[CUAI_PEAKS_OF_STREAM] = cuai_peaks_of_counter(&s->counter, NULL);
}

void cuai_peaks_keep(cuarena_t *arena, const cuai_counted_in_t *where, cuai_peaks_kept_t *kept)
{
    cuai_peak_set_t sets[CUAI_PEAKS_COUNT];
    peaks_of_block(arena, where, sets);
    for (int g = 0; g < CUAI_PEAKS_COUNT; g++)
        for (int i = 0; i < CUAI_PEAKS; i++)
            kept->peaks[g][i] = sets[g].peaks[i] == NULL ? UINT64_MAX : *sets[g].peaks[i];
}

void cuai_peaks_restore(cuarena_t *arena, const cuai_counted_in_t *where,
                        const cuai_peaks_kept_t *before, const cuai_peaks_kept_t *with)
{
    cuai_peak_set_t sets[CUAI_PEAKS_COUNT];
    peaks_of_block(arena, where, sets);
    for (int g = 0; g < CUAI_PEAKS_COUNT; g++)
        for (int i = 0; i < CUAI_PEAKS; i++)
            if (before->peaks[g][i] < with->peaks[g][i] && peak(&sets[g], i) == with->peaks[g][i])
                set_peak(&sets[g], i, before->peaks[g][i]);
}
