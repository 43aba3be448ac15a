/* Peaks in scopes: of the whole, a region, a tag, a stream. */
#include "api/call.h"
#include "arena/counts.h"
#include "arena/streams.h"
#include "base/sized.h"

void cuarena_peaks_init(cuarena_peaks_t *peaks)
{
    *peaks = (cuarena_peaks_t){.struct_size = sizeof *peaks};
}

/* What a call is about. */
typedef struct about {
    enum {
        ABOUT_REGION,
        ABOUT_TAG,
        ABOUT_STREAM
    } kind;
    int32_t region;
    cuarena_tag_t tag;
    cuarena_stream_t stream;
} about_t;

static cuarena_status_t peaks_of_tag(cuarena_t *arena, cuarena_tag_t tag, cuai_peak_set_t *set)
{
    if (tag == 0 || !cuai_tag_known(arena, tag))
        return cuai_no_tag(tag);
    cuai_tag_t *known = &arena->tags[tag];
    *set = cuai_peaks_of_counter(&known->counter, &known->scopes);
    return CUARENA_OK;
}

static cuarena_status_t peaks_of_stream(cuarena_t *arena, cuarena_stream_t stream,
                                        cuai_peak_set_t *set)
{
    uint32_t number = cuai_stream_known(arena, stream);
    if (number == 0)
        return cuai_no_stream(stream);
    cuai_stream_t *s = cuai_stream(arena, number);
    *set = cuai_peaks_of_counter(&s->counter, &s->scopes);
    return CUARENA_OK;
}

static cuarena_status_t peaks_of_region(cuarena_t *arena, int32_t region, cuai_peak_set_t *set)
{
    cuarena_status_t status = cuai_check_region(region);
    if (status != CUARENA_OK)
        return status;
    cuai_keep_most(arena);
    *set = region == CUARENA_REGION_ALL ? cuai_peaks_of_whole(arena)
                                        : cuai_peaks_of_region(arena, region);
    return CUARENA_OK;
}

static cuarena_status_t find(cuarena_t *arena, const about_t *about, cuai_peak_set_t *set)
{
    cuai_assert_locked(arena);
    switch (about->kind) {
    case ABOUT_TAG:
        return peaks_of_tag(arena, about->tag, set);
    case ABOUT_STREAM:
        return peaks_of_stream(arena, about->stream, set);
    case ABOUT_REGION:
        break;
    }
    return peaks_of_region(arena, about->region, set);
}

static cuarena_status_t push(cuarena_t *arena, about_t about)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_peak_set_t set;
    status = find(arena, &about, &set);
    if (status == CUARENA_OK)
        status = cuai_peaks_push(&set);
    cuai_end_whole(arena);
    return cuai_query_end(arena, status);
}

static cuarena_status_t pop(cuarena_t *arena, about_t about, cuarena_peaks_t *peaks)
{
    cuarena_status_t status = cuai_query_begin_into(arena, "peaks", peaks, sizeof *peaks);
    if (status != CUARENA_OK)
        return status;
    cuarena_peaks_t since;
    cuai_peak_set_t set;
    status = find(arena, &about, &set);
    if (status == CUARENA_OK)
        status = cuai_peaks_pop(&set, &since);
    if (status == CUARENA_OK)
        cuai_sized_write(peaks, &since);
    cuai_end_whole(arena);
    return cuai_query_end(arena, status);
}

cuarena_status_t cuarena_peaks_push(cuarena_t *arena, int32_t region)
{
    return push(arena, (about_t){.kind = ABOUT_REGION, .region = region});
}

cuarena_status_t cuarena_peaks_pop(cuarena_t *arena, int32_t region, cuarena_peaks_t *peaks)
{
    return pop(arena, (about_t){.kind = ABOUT_REGION, .region = region}, peaks);
}

cuarena_status_t cuarena_tag_peaks_push(cuarena_t *arena, cuarena_tag_t tag)
{
    return push(arena, (about_t){.kind = ABOUT_TAG, .tag = tag});
}

cuarena_status_t cuarena_tag_peaks_pop(cuarena_t *arena, cuarena_tag_t tag, cuarena_peaks_t *peaks)
{
    return pop(arena, (about_t){.kind = ABOUT_TAG, .tag = tag}, peaks);
}

cuarena_status_t cuarena_stream_peaks_push(cuarena_t *arena, cuarena_stream_t stream)
{
    return push(arena, (about_t){.kind = ABOUT_STREAM, .stream = stream});
}

cuarena_status_t cuarena_stream_peaks_pop(cuarena_t *arena, cuarena_stream_t stream,
                                          cuarena_peaks_t *peaks)
{
    return pop(arena, (about_t){.kind = ABOUT_STREAM, .stream = stream}, peaks);
}
