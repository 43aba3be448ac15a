/* What an arena says of itself: statistics, which cost O(1), and inspection and validation, which
 * walk all blocks. */
#include <stdio.h>

#include "api/call.h"
#include "api/stats.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/streams.h"
#include "arena/thread_cache.h"
#include "arena/watch.h"
#include "base/sized.h"
#include "heap/segments.h"

/* ---- Statistics -------------------------------------------------------- */

void cuarena_stats_init(cuarena_stats_t *stats)
{
    *stats = (cuarena_stats_t){.struct_size = sizeof *stats};
}

static void from_counts(cuai_counts_t counts, cuarena_stats_t *stats)
{
    stats->live_bytes = counts.live_bytes;
    stats->requested_bytes = counts.requested_bytes;
    stats->live_blocks = counts.live_blocks;
    stats->peak_live_bytes = counts.peak_live_bytes;
    stats->peak_requested_bytes = counts.peak_requested_bytes;
    stats->peak_live_blocks = counts.peak_live_blocks;
    stats->allocs = counts.allocs;
    stats->frees = counts.frees;
}

/* The figures of one region; its peaks are of its own time. */
static void from_heap(const cuarena_heap_t *heap, cuarena_stats_t *stats)
{
    cuarena_heap_stats_t now;
    cuarena_heap_stats_init(&now);
    if (heap == NULL || cuarena_heap_stats(heap, &now) != CUARENA_OK)
        return;
    from_counts(cuai_counter_read(&heap->counter), stats);
    stats->capacity_bytes = now.capacity_bytes;
    stats->free_bytes = now.free_bytes;
    stats->largest_bytes = now.largest_bytes;
    stats->segments = now.segments;
    stats->free_ranges = now.ranges;
    stats->bookkeeping_bytes = now.bookkeeping_bytes;
}

static void add_region(const cuarena_t *arena, int region, cuarena_stats_t *stats)
{
    CUAI_ASSERT(region >= 0 && region < CUAI_HEAPS);
    cuarena_stats_t one = {0};
    from_heap(arena->heaps[region], &one);
    stats->capacity_bytes += one.capacity_bytes;
    stats->free_bytes += one.free_bytes;
    stats->largest_bytes = cuai_max(stats->largest_bytes, one.largest_bytes);
    stats->segments += one.segments;
    stats->free_ranges += one.free_ranges;
    stats->bookkeeping_bytes += one.bookkeeping_bytes;
}

void cuai_stats_of(const cuarena_t *arena, cuarena_stats_t *stats)
{
    CUAI_ASSERT(arena->peak_reserved >= arena->reserved);
    for (int region = 0; region < CUAI_HEAPS; region++)
        add_region(arena, region, stats);
    from_counts(cuai_whole_counts(arena), stats);
    const cuarena_heap_t *apart = arena->heaps[CUAI_APART];
    stats->dedicated_bytes = apart == NULL ? 0 : cuai_heap_bytes(apart);
    stats->bookkeeping_bytes += sizeof *arena + arena->stream_count * sizeof(cuai_stream_t) +
                                cuai_tcaches_bookkeeping(arena) + cuai_watch_host_bytes(arena) +
                                cuai_trace_host_bytes(&arena->trace);
    stats->reserved_bytes = arena->reserved;
    stats->peak_reserved_bytes = arena->peak_reserved;
    stats->failed = arena->failed;
    stats->grows = arena->grows;
    stats->trims = arena->trims;
    stats->compactions = arena->compactions;
    stats->moves = arena->moves;
    stats->bytes_moved = arena->bytes_moved;
    stats->oom_handler_calls = arena->oom_handler_calls;
    stats->steals = arena->steals;
    stats->stream_waits = arena->stream_waits;
    stats->host_waits = arena->host_waits;
    stats->memory_calls = arena->memory.counted->calls;
    stats->driver_calls = arena->memory.counted->driver_calls;
    stats->captures = arena->captures.count;
    stats->captured_bytes = arena->captures.bytes;
}

static cuarena_status_t begin(cuarena_t *arena, const cuarena_stats_t *stats)
{
    return cuai_query_begin_into(arena, "stats", stats, sizeof *stats);
}

cuarena_status_t cuai_check_region(int32_t region)
{
    if (region == CUARENA_REGION_ALL || region == CUARENA_REGION_DYNAMIC ||
        region == CUARENA_REGION_STABLE)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "region %d; accepted: -1 (all), 0 (dynamic), 1 (stable)",
                     (int)region);
}

cuarena_status_t cuarena_stats(cuarena_t *arena, int32_t region, cuarena_stats_t *stats)
{
    cuarena_status_t status = begin(arena, stats);
    if (status != CUARENA_OK)
        return status;
    cuarena_stats_t now = {0};
    status = cuai_check_region(region);
    if (region == CUARENA_REGION_ALL)
        cuai_stats_of(arena, &now);
    else if (status == CUARENA_OK)
        from_heap(arena->heaps[region], &now);
    if (status == CUARENA_OK)
        cuai_sized_write(stats, &now);
    return cuai_query_end(arena, status);
}

cuarena_status_t cuarena_tag_stats(cuarena_t *arena, cuarena_tag_t tag, cuarena_stats_t *stats)
{
    cuarena_status_t status = begin(arena, stats);
    if (status != CUARENA_OK)
        return status;
    cuarena_stats_t now = {0};
    if (tag == 0 || !cuai_tag_known(arena, tag))
        return cuai_query_end(arena, cuai_no_tag(tag));
    from_counts(cuai_counter_read(&arena->tags[tag].counter), &now);
    cuai_sized_write(stats, &now);
    return cuai_query_end(arena, CUARENA_OK);
}

cuarena_status_t cuarena_stream_stats(cuarena_t *arena, cuarena_stream_t stream,
                                      cuarena_stats_t *stats)
{
    cuarena_status_t status = begin(arena, stats);
    if (status != CUARENA_OK)
        return status;
    cuarena_stats_t now = {0};
    uint32_t number = cuai_stream_known(arena, stream);
    if (number == 0)
        return cuai_query_end(arena, cuai_no_stream(stream));
    const cuai_stream_t *s = cuai_stream(arena, number);
    from_counts(cuai_counter_read(&s->counter), &now);
    now.free_bytes = cuai_stream_bytes(arena, s, 0) + cuai_stream_bytes(arena, s, 1);
    cuai_sized_write(stats, &now);
    return cuai_query_end(arena, CUARENA_OK);
}

cuarena_status_t cuarena_capture_stats(cuarena_t *arena, cuarena_capture_t *capture,
                                       cuarena_stats_t *stats)
{
    if (arena == NULL || capture == NULL)
        return cuai_null(arena == NULL ? "arena" : "capture");
    cuarena_status_t status = begin(arena, stats);
    if (status != CUARENA_OK)
        return status;
    cuarena_stats_t now = {0};
    status = cuai_capture_check(arena, capture);
    if (status != CUARENA_OK)
        return cuai_query_end(arena, status);
    from_counts(cuai_counter_read(&capture->counter), &now);
    CUAI_ASSERT(now.live_bytes <= capture->bytes);
    now.capacity_bytes = capture->bytes;
    now.free_bytes = capture->bytes - now.live_bytes;
    now.largest_bytes = cuai_capture_untouched(arena, capture);
    cuai_sized_write(stats, &now);
    return cuai_query_end(arena, CUARENA_OK);
}

/* ---- Peaks ------------------------------------------------------------- */

static void reset_peaks(cuai_peak_set_t set)
{
    cuai_peaks_reset(&set);
}

cuarena_status_t cuarena_reset_peaks(cuarena_t *arena)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_keep_most(arena);
    reset_peaks(cuai_peaks_of_whole(arena));
    for (int region = 0; region < CUARENA_REGION_COUNT; region++)
        reset_peaks(cuai_peaks_of_region(arena, region));
    cuai_end_whole(arena);
    arena->cache.peak_bytes = arena->heaps[CUAI_DYNAMIC]->cached_bytes;
    for (size_t tag = 1; tag < arena->tag_count; tag++)
        reset_peaks(cuai_peaks_of_counter(&arena->tags[tag].counter, &arena->tags[tag].scopes));
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS && arena->streams != NULL; n++)
        if (arena->streams[n] != NULL)
            reset_peaks(
                cuai_peaks_of_counter(&arena->streams[n]->counter, &arena->streams[n]->scopes));
    return cuai_query_end(arena, CUARENA_OK);
}

/* ---- Inspection -------------------------------------------------------- */

void cuarena_inspection_init(cuarena_inspection_t *inspection)
{
    *inspection = (cuarena_inspection_t){.struct_size = sizeof *inspection};
}

static void inspect_range(const cuai_record_t *r, cuarena_inspection_t *ref)
{
    uint64_t bytes = cuai_range(r);
    if (bytes == 0)
        return;
    uint32_t bin = cuai_log2_floor(bytes);
    ref->ranges++;
    ref->free_bytes += bytes;
    ref->largest_bytes = cuai_max(ref->largest_bytes, bytes);
    ref->range_counts[bin]++;
    ref->range_bytes[bin] += bytes;
}

static void inspect_block(const cuai_record_t *r, bool fixed, cuarena_inspection_t *ref)
{
    if (!cuai_has_bytes(r))
        return;
    uint32_t bin = cuai_log2_floor(r->size);
    bool pinned = fixed || r->fixed || r->pins != 0;
    ref->block_counts[bin]++;
    ref->block_bytes[bin] += r->size;
    *(pinned ? &ref->pinned_blocks : &ref->movable_blocks) += 1;
    *(pinned ? &ref->pinned_bytes : &ref->movable_bytes) += r->size;
}

static void inspect_heap(const cuarena_t *arena, int region, cuarena_inspection_t *ref)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(region >= 0 && region < CUAI_HEAPS);
    const cuarena_heap_t *heap = arena->heaps[region];
    if (heap == NULL)
        return;
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        inspect_range(cuai_record(heap, slot), ref);
        inspect_block(cuai_record(heap, slot), region != CUAI_DYNAMIC, ref);
    }
    while ((slot = cuai_heap_next_standalone(heap, slot)) != 0)
        inspect_block(cuai_record(heap, slot), true, ref);
}

cuarena_status_t cuarena_inspect(cuarena_t *arena, int32_t region, cuarena_inspection_t *inspection)
{
    cuarena_status_t status =
        cuai_query_begin_into(arena, "inspection", inspection, sizeof *inspection);
    if (status != CUARENA_OK)
        return status;
    cuarena_inspection_t ref = {0};
    status = cuai_check_region(region);
    if (status != CUARENA_OK)
        return cuai_query_end(arena, status);
    for (int i = 0; i < CUAI_HEAPS; i++)
        if (region == CUARENA_REGION_ALL || region == i)
            inspect_heap(arena, i, &ref);
    if (ref.free_bytes != 0)
        ref.fragmentation = 1.0 - (double)ref.largest_bytes / (double)ref.free_bytes;
    cuai_sized_write(inspection, &ref);
    return cuai_query_end(arena, CUARENA_OK);
}

cuarena_status_t cuarena_base(cuarena_t *arena, void **base_out, uint64_t *bytes_out)
{
    if (arena == NULL || base_out == NULL || bytes_out == NULL)
        return cuai_null("arena, base_out or bytes_out");
    cuarena_memory_segment_t first = {0};
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    if (arena->segments.count != 0)
        first = arena->segments.items[0];
    *base_out = cuai_pointer(first.address);
    *bytes_out = first.bytes;
    return cuai_query_end(arena, CUARENA_OK);
}

/* ---- Validation -------------------------------------------------------- */

/* Whether all stretches that the heap has of the segment at that place of the list lie within it,
 * and there is one unless the segment may have none. */
static bool is_known(const cuarena_t *arena, size_t at)
{
    CUAI_ASSERT(at < arena->segments.count);
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t begin = cuai_dynamic_begin(arena, segment);
    uint64_t end = segment->address + segment->bytes;
    uint64_t room_end = segment->address + segment->address_bytes;
    bool may_lack = arena->memory.ops.shrink != NULL || arena->memory.ops.punch != NULL ||
                    arena->stable_bytes != 0;
    const cuai_segment_t *s = cuai_segment_from(heap, segment->address);
    bool ok = may_lack || (s != NULL && s->begin < room_end);
    for (; s != NULL && s->begin < room_end; s = cuai_segment_next(heap, s))
        ok = ok && s->source == at && s->begin >= begin && s->end <= end;
    return ok;
}

/* What is wrong between the heap and the list of segments; nobody grows or trims meanwhile. */
static const char *wrong_segments(const cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    for (size_t at = 0; at < arena->segments.count; at++)
        if (!is_known(arena, at))
            return "the heap and the list of segments differ";
    for (const cuai_segment_t *s = cuai_segment_first(heap); s != NULL;
         s = cuai_segment_next(heap, s)) {
        const cuarena_memory_segment_t *of = &arena->segments.items[s->source];
        if (s->source >= arena->segments.count || s->begin < of->address ||
            s->begin - of->address >= of->address_bytes)
            return "the heap has a segment that the memory did not give";
    }
    return NULL;
}

/* What is wrong with what the arena keeps besides its heaps. */
static const char *wrong_with(const cuarena_t *arena)
{
    uint64_t most = 0;
    for (size_t i = 0; i < arena->segments.count; i++)
        most += arena->segments.items[i].bytes;
    if (arena->heaps[CUAI_APART] != NULL)
        most += arena->heaps[CUAI_APART]->standalone_bytes;
    bool idle = !arena->growing && !arena->compacting;
    if (idle && arena->reserved > most)
        return "more is reserved than the segments have";
    const char *wrong = idle ? wrong_segments(arena) : NULL;
    if (wrong != NULL)
        return wrong;
    if (arena->peak_reserved < arena->reserved)
        return "the peak of reserved bytes is below what is reserved";
    cuai_counts_t tagged = {0};
    for (size_t tag = 1; tag < arena->tag_count; tag++) {
        cuai_counts_t counts = cuai_counter_read(&arena->tags[tag].counter);
        tagged.live_bytes += counts.live_bytes;
        tagged.live_blocks += counts.live_blocks;
    }
    cuai_counts_t all = cuai_whole_counts(arena);
    if (tagged.live_bytes > all.live_bytes || tagged.live_blocks > all.live_blocks)
        return "more is live under tags than altogether";
    return NULL;
}

/* What is wrong with the counts of tags, adopted bytes and pins, counted again from the blocks. */
static const char *recount(const cuarena_t *arena)
{
    uint64_t pins = 0;
    uint64_t tagged = 0;
    uint64_t adopted = 0;
    for (int region = 0; region < CUAI_HEAPS; region++) {
        const cuarena_heap_t *heap = arena->heaps[region];
        for (cuai_slot_t s = 1; heap != NULL && s < heap->unused; s++) {
            const cuai_record_t *r = cuai_record(heap, s);
            if (!cuai_is_live(r))
                continue;
            pins += cuai_block_pins(r);
            tagged += cuai_tag_of(r) != 0 ? r->size : 0;
            adopted += r->flags & CUAI_BLOCK_ADOPTED ? r->size : 0;
        }
    }
    uint64_t counted = 0;
    for (size_t tag = 1; tag < arena->tag_count; tag++)
        counted += cuai_counter_read(&arena->tags[tag].counter).live_bytes;
    if (tagged != counted)
        return "the tags' live bytes are not those of the blocks";
    if (adopted != arena->adopted_bytes)
        return "the adopted bytes are not those of the blocks";
    return arena->moving_blocks == 0 && pins != arena->block_pins
               ? "the count of pins is not that of the blocks"
               : NULL;
}

static cuarena_status_t validate_all(const cuarena_t *arena, char *text, size_t text_size)
{
    cuai_assert_locked(arena);
    for (int region = 0; region < CUAI_HEAPS; region++) {
        cuarena_status_t status =
            arena->heaps[region] == NULL
                ? CUARENA_OK
                : cuarena_heap_validate(arena->heaps[region], text, text_size);
        if (status != CUARENA_OK)
            return status;
    }
    const char *wrong = wrong_with(arena);
    if (wrong == NULL)
        wrong = recount(arena);
    if (wrong == NULL)
        wrong = cuai_streams_wrong(arena);
    if (wrong == NULL)
        wrong = cuai_tcaches_wrong(arena);
    if (wrong == NULL)
        return CUARENA_OK;
    if (text != NULL && text_size != 0)
        snprintf(text, text_size, "%s", wrong);
    return cuai_fail(CUARENA_CORRUPT, "the arena is damaged: %s", wrong);
}

cuarena_status_t cuarena_validate(cuarena_t *arena, char *text, size_t text_size)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    return cuai_query_end(arena, validate_all(arena, text, text_size));
}
