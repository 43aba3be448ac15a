#include "arena/peaks.h"
#include "arena/counts.h"

/* ---- Peak sets --------------------------------------------------------- */

cuai_peak_set_t cuai_peaks_of_counter(cuai_counter_t *counter, cuai_scopes_t **scopes)
{
    return (cuai_peak_set_t){.counter = counter, .scopes = scopes};
}

/* From now on the peaks of the whole are kept apart from those of its only heap, since a scope
 * belongs to one of the two. */
cuai_peak_set_t cuai_peaks_of_whole(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_begin_whole(arena);
    return (cuai_peak_set_t){&arena->whole, &arena->peak_reserved, arena->reserved,
                             &arena->whole_scopes};
}

cuai_peak_set_t cuai_peaks_of_region(cuarena_t *arena, int32_t region)
{
    cuai_assert_locked(arena);
    cuarena_heap_t *heap = arena->heaps[region];
    cuai_begin_whole(arena);
    return cuai_peaks_of_counter(heap == NULL ? NULL : &heap->counter,
                                 &arena->region_scopes[region]);
}

static cuai_peak_counter_t *peak_counter(const cuai_peak_set_t *set, int which)
{
    cuai_counter_t *counter = set->counter;
    if (counter == NULL)
        return NULL;
    cuai_peak_counter_t *counters[] = {&counter->bytes, &counter->requested, &counter->blocks};
    return which < CUAI_PEAK_RESERVED ? counters[which] : NULL;
}

/* The peak, UINT64_MAX if the set has none. */
static uint64_t peak(const cuai_peak_set_t *set, int which)
{
    const cuai_peak_counter_t *counter = peak_counter(set, which);
    if (counter != NULL)
        return counter->peak;
    return which == CUAI_PEAK_RESERVED && set->reserved != NULL ? *set->reserved : UINT64_MAX;
}

static uint64_t now(const cuai_peak_set_t *set, int which)
{
    const cuai_peak_counter_t *counter = peak_counter(set, which);
    if (counter != NULL)
        return cuai_peak_counter_now(counter);
    return which == CUAI_PEAK_RESERVED ? set->reserved_now : 0;
}

static void set_peak(const cuai_peak_set_t *set, int which, uint64_t peak)
{
    cuai_peak_counter_t *counter = peak_counter(set, which);
    if (counter != NULL)
        cuai_peak_counter_set_peak(counter, peak);
    else if (which == CUAI_PEAK_RESERVED && set->reserved != NULL)
        *set->reserved = peak;
}

/* ---- Scopes ------------------------------------------------------------ */

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
        set_peak(set, i, now(set, i));
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
    uint64_t values[CUAI_PEAKS];
    for (int i = 0; i < CUAI_PEAKS; i++)
        values[i] = peak(set, i) == UINT64_MAX ? 0 : peak(set, i);
    *peaks = (cuarena_peaks_t){
        .live_bytes = values[CUAI_PEAK_LIVE],
        .requested_bytes = values[CUAI_PEAK_REQUESTED],
        .live_blocks = values[CUAI_PEAK_BLOCKS],
        .reserved_bytes = values[CUAI_PEAK_RESERVED],
    };
    const uint64_t *outer = scopes->outer[--scopes->depth];
    for (int i = 0; i < CUAI_PEAKS; i++)
        set_peak(set, i, cuai_max(peak(set, i), outer[i]));
    return CUARENA_OK;
}

void cuai_peaks_reset(cuai_peak_set_t *set)
{
    for (int i = 0; i < CUAI_PEAKS; i++) {
        set_peak(set, i, now(set, i));
        for (uint32_t depth = cuai_scopes_depth(*set->scopes); depth != 0; depth--)
            (*set->scopes)->outer[depth - 1][i] = now(set, i);
    }
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
        sets[CUAI_PEAKS_OF_HEAP] =
            (cuai_peak_set_t){&heap->counter, &heap->most_block_bytes, 0, NULL};
        sets[CUAI_PEAKS_OF_ASKED].reserved = &heap->standalone_most_asked;
    }
    if (arena->slow & CUAI_SLOW_WHOLE)
        sets[CUAI_PEAKS_OF_WHOLE].counter = &arena->whole;
    if (where->tag != 0)
        sets[CUAI_PEAKS_OF_TAG].counter = &arena->tags[where->tag].counter;
    if (s != NULL)
        sets[CUAI_PEAKS_OF_STREAM].counter = &s->counter;
}

void cuai_peaks_keep(cuarena_t *arena, const cuai_counted_in_t *where, cuai_peaks_kept_t *kept)
{
    cuai_assert_locked(arena);
    cuai_peak_set_t sets[CUAI_PEAKS_COUNT];
    peaks_of_block(arena, where, sets);
    for (int g = 0; g < CUAI_PEAKS_COUNT; g++)
        for (int i = 0; i < CUAI_PEAKS; i++)
            kept->peaks[g][i] = peak(&sets[g], i);
}

void cuai_peaks_restore(cuarena_t *arena, const cuai_counted_in_t *where,
                        const cuai_peaks_kept_t *before, const cuai_peaks_kept_t *with)
{
    cuai_assert_locked(arena);
    cuai_peak_set_t sets[CUAI_PEAKS_COUNT];
    peaks_of_block(arena, where, sets);
    for (int g = 0; g < CUAI_PEAKS_COUNT; g++)
        for (int i = 0; i < CUAI_PEAKS; i++)
            if (before->peaks[g][i] < with->peaks[g][i] && peak(&sets[g], i) == with->peaks[g][i])
                set_peak(&sets[g], i, before->peaks[g][i]);
}
