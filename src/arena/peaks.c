#include "arena/peaks.h"
#include "arena/counts.h"

/* ---- Levels ------------------------------------------------------------ */

void cuai_level_note_peak(cuai_level_t *level)
{
    level->peak -= (uint64_t)level->below;
    level->below = 0;
}

/* ---- Gauges ------------------------------------------------------------ */

cuai_gauge_t cuai_gauge_meter(cuai_meter_t *meter, cuai_scopes_t **scopes)
{
    cuai_gauge_t gauge = {.scopes = scopes};
    for (int i = 0; i < CUAI_PEAK_RESERVED; i++) {
        gauge.peaks[i] = &meter->levels[i].peak;
        gauge.below[i] = &meter->levels[i].below;
        gauge.now[i] = cuai_level_now(&meter->levels[i]);
    }
    return gauge;
}

static cuai_gauge_t gauge_whole(cuarena_t *arena)
{
    cuai_counts_t now = cuai_whole_now(arena);
    cuai_counts_t *kept = &arena->whole;
    return (cuai_gauge_t){
        .peaks = {&kept->peak_live_bytes, &kept->peak_requested_bytes, &kept->peak_live_blocks,
                  &arena->peak_reserved},
        .now = {now.live_bytes, now.requested_bytes, now.live_blocks, arena->held},
        .scopes = &arena->whole_scopes,
    };
}

/* The peaks of the whole are kept apart from those of its only heap from now on: a scope is of the
 * one or of the other. */
cuai_gauge_t cuai_gauge_whole(cuarena_t *arena)
{
    cuai_begin_whole(arena);
    return gauge_whole(arena);
}

static cuai_gauge_t gauge_heap(cuarena_heap_t *heap)
{
    return (cuai_gauge_t){
        .peaks = {&heap->peak_live_bytes, &heap->peak_requested_bytes, &heap->peak_live_blocks},
        .now = {heap->live_bytes, heap->requested_bytes, heap->live_blocks},
    };
}

cuai_gauge_t cuai_gauge_region(cuarena_t *arena, int32_t region)
{
    cuarena_heap_t *heap = arena->heaps[region];
    cuai_gauge_t gauge = {0};
    cuai_begin_whole(arena);
    if (heap != NULL)
        gauge = gauge_heap(heap);
    gauge.scopes = &arena->region_scopes[region];
    return gauge;
}

/* ---- Scopes ------------------------------------------------------------ */

static uint64_t peak(const cuai_gauge_t *gauge, int which)
{
    return gauge->peaks[which] == NULL ? 0 : *gauge->peaks[which];
}

static void set_peak(const cuai_gauge_t *gauge, int which, uint64_t peak)
{
    if (gauge->peaks[which] != NULL)
        *gauge->peaks[which] = peak;
    if (gauge->below[which] != NULL)
        *gauge->below[which] = (int64_t)(peak - gauge->now[which]);
}

cuarena_status_t cuai_peaks_push(cuai_gauge_t *gauge)
{
    if (*gauge->scopes == NULL)
        *gauge->scopes = cuai_host_alloc(sizeof **gauge->scopes);
    cuai_scopes_t *scopes = *gauge->scopes;
    if (scopes == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for scopes of peaks");
    if (scopes->depth == CUARENA_MAX_PEAK_SCOPES)
        return cuai_fail(CUARENA_LIMIT, "peaks: %d scopes are open; at most so many can be",
                         CUARENA_MAX_PEAK_SCOPES);
    uint64_t *outer = scopes->outer[scopes->depth++];
    for (int i = 0; i < CUAI_PEAKS; i++) {
        outer[i] = peak(gauge, i);
        set_peak(gauge, i, gauge->now[i]);
    }
    return CUARENA_OK;
}

cuarena_status_t cuai_peaks_pop(cuai_gauge_t *gauge, cuarena_peaks_t *peaks)
{
    cuai_scopes_t *scopes = *gauge->scopes;
    if (cuai_scopes_depth(scopes) == 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "peaks: no scope is open here; accepted: one pop for "
                         "each push");
    *peaks = (cuarena_peaks_t){
        .live_bytes = peak(gauge, CUAI_PEAK_LIVE),
        .requested_bytes = peak(gauge, CUAI_PEAK_REQUESTED),
        .live_blocks = peak(gauge, CUAI_PEAK_BLOCKS),
        .reserved_bytes = peak(gauge, CUAI_PEAK_RESERVED),
    };
    const uint64_t *outer = scopes->outer[--scopes->depth];
    for (int i = 0; i < CUAI_PEAKS; i++)
        set_peak(gauge, i, cuai_max(peak(gauge, i), outer[i]));
    return CUARENA_OK;
}

void cuai_peaks_reset(cuai_gauge_t *gauge)
{
    for (int i = 0; i < CUAI_PEAKS; i++)
        set_peak(gauge, i, gauge->now[i]);
    for (uint32_t depth = cuai_scopes_depth(*gauge->scopes); depth != 0; depth--)
        memcpy((*gauge->scopes)->outer[depth - 1], gauge->now, sizeof gauge->now);
}

/* ---- Of one block ------------------------------------------------------ */

/* Everything that counts a block. */
static void gauge_block(cuarena_t *arena, const cuai_counted_in_t *where,
                        cuai_gauge_t gauges[CUAI_PEAKS_COUNT])
{
    cuarena_heap_t *heap = arena->heaps[where->region];
    cuai_stream_t *s = where->stream == 0 ? NULL : arena->streams[where->stream];
    memset(gauges, 0, CUAI_PEAKS_COUNT * sizeof *gauges);
    if (heap != NULL) {
        gauges[CUAI_PEAKS_OF_HEAP] = gauge_heap(heap);
        gauges[CUAI_PEAKS_OF_HEAP].peaks[CUAI_PEAK_RESERVED] = &heap->most_block_bytes;
    }
    if (arena->slow & CUAI_SLOW_WHOLE)
        gauges[CUAI_PEAKS_OF_WHOLE] = gauge_whole(arena);
    gauges[CUAI_PEAKS_OF_WHOLE].peaks[CUAI_PEAK_RESERVED] = NULL;
    if (where->tag != 0)
        gauges[CUAI_PEAKS_OF_TAG] = cuai_gauge_meter(&arena->tags[where->tag].meter, NULL);
    if (s != NULL && s != arena->sole)
        gauges[CUAI_PEAKS_OF_STREAM] = cuai_gauge_meter(&s->meter, NULL);
}

void cuai_peaks_keep(cuarena_t *arena, const cuai_counted_in_t *where, cuai_peaks_kept_t *kept)
{
    cuai_gauge_t gauges[CUAI_PEAKS_COUNT];
    gauge_block(arena, where, gauges);
    for (int g = 0; g < CUAI_PEAKS_COUNT; g++)
        for (int i = 0; i < CUAI_PEAKS; i++)
            kept->peaks[g][i] = gauges[g].peaks[i] == NULL ? UINT64_MAX : *gauges[g].peaks[i];
}

void cuai_peaks_restore(cuarena_t *arena, const cuai_counted_in_t *where,
                        const cuai_peaks_kept_t *before, const cuai_peaks_kept_t *with)
{
    cuai_gauge_t gauges[CUAI_PEAKS_COUNT];
    gauge_block(arena, where, gauges);
    for (int g = 0; g < CUAI_PEAKS_COUNT; g++)
        for (int i = 0; i < CUAI_PEAKS; i++)
            if (before->peaks[g][i] < with->peaks[g][i] && peak(&gauges[g], i) == with->peaks[g][i])
                set_peak(&gauges[g], i, before->peaks[g][i]);
}
