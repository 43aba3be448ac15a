/* The calls on capture sessions: each checks its arguments and enters the arena; arena/capture.c
 * does the work. */
#include "arena/capture.h"
#include "api/call.h"
#include "base/sized.h"

cuarena_status_t cuarena_capture_begin(cuarena_t *arena, cuarena_stream_t stream,
                                       cuarena_capture_t **capture_out)
{
    if (arena == NULL || capture_out == NULL)
        return cuai_null("arena or capture_out");
    cuarena_status_t status = cuai_check_entry(arena, "capture_begin", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuarena_capture_t *made = NULL;
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = cuai_capture_begin(arena, stream, &made);
    CUAI_ASSERT((status == CUARENA_OK) == (made != NULL));
    cuai_leave(arena);
    if (status == CUARENA_OK)
        *capture_out = made;
    return cuai_told(status);
}

cuarena_status_t cuarena_capture_join(cuarena_t *arena, cuarena_capture_t *capture,
                                      cuarena_stream_t stream)
{
    if (arena == NULL || capture == NULL)
        return cuai_null("arena or capture");
    cuarena_status_t status = cuai_check_entry(arena, "capture_join", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = cuai_capture_join(arena, capture, stream);
    cuai_leave(arena);
    return cuai_told(status);
}

cuarena_status_t cuarena_capture_end(cuarena_t *arena, cuarena_capture_t *capture)
{
    if (arena == NULL || capture == NULL)
        return cuai_null("arena or capture");
    cuarena_status_t status = cuai_check_entry(arena, "capture_end", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_capture_end(arena, capture);
    cuai_leave(arena);
    return cuai_told(status);
}

cuarena_status_t cuarena_capture_release(cuarena_t *arena, cuarena_capture_t **capture,
                                         cuarena_stream_t stream)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (capture == NULL || *capture == NULL)
        return CUARENA_OK;
    cuarena_status_t status = cuai_check_entry(arena, "capture_release", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_capture_release(arena, *capture, stream);
    cuai_leave(arena);
    if (status == CUARENA_OK)
        *capture = NULL;
    return cuai_told(status);
}

static void describe(const cuarena_t *arena, const cuarena_capture_t *capture,
                     cuarena_stats_t *stats)
{
    cuai_counts_t counts = cuai_counter_read(&capture->counter);
    CUAI_ASSERT(counts.live_bytes <= capture->bytes);
    stats->capacity_bytes = capture->bytes;
    stats->live_bytes = counts.live_bytes;
    stats->requested_bytes = counts.requested_bytes;
    stats->free_bytes = capture->bytes - counts.live_bytes;
    stats->largest_bytes = cuai_capture_untouched(arena, capture);
    stats->live_blocks = counts.live_blocks;
    stats->peak_live_bytes = counts.peak_live_bytes;
    stats->peak_requested_bytes = counts.peak_requested_bytes;
    stats->peak_live_blocks = counts.peak_live_blocks;
    stats->allocs = counts.allocs;
    stats->frees = counts.frees;
}

cuarena_status_t cuarena_capture_stats(cuarena_t *arena, cuarena_capture_t *capture,
                                       cuarena_stats_t *stats)
{
    if (arena == NULL || capture == NULL)
        return cuai_null("arena or capture");
    if (!cuai_sized_ok(stats, sizeof(size_t), sizeof *stats))
        return cuai_told(cuai_fail_struct("stats", stats));
    cuarena_stats_t full = {0};
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    cuarena_status_t status = cuai_capture_check(arena, capture);
    if (status == CUARENA_OK)
        describe(arena, capture, &full);
    cuai_unlock(&arena->lock);
    if (status == CUARENA_OK)
        cuai_sized_write(stats, &full);
    return cuai_told(status);
}
