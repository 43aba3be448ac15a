/* Counting blocks by tag, stream and session, the whole arena, and reserved bytes. */
#include "arena/counts.h"
#include "arena/alloc.h"
#include "arena/capture.h"
#include "arena/find.h"
#include "arena/peaks.h"
#include "arena/streams.h"

/* ---- The whole arena --------------------------------------------------- */

uint64_t cuai_live_bytes(const cuarena_t *arena)
{
    uint64_t bytes = 0;
    for (int i = 0; i < CUAI_HEAPS; i++)
        bytes += arena->heaps[i] == NULL ? 0 : arena->heaps[i]->live_bytes;
    return bytes;
}

cuai_counts_t cuai_whole_now(const cuarena_t *arena)
{
    cuai_counts_t now = {0};
    for (int i = 0; i < CUAI_HEAPS; i++) {
        const cuarena_heap_t *heap = arena->heaps[i];
        if (heap == NULL)
            continue;
        now.live_bytes += heap->live_bytes;
        now.requested_bytes += heap->requested_bytes;
        now.live_blocks += heap->live_blocks;
        now.allocs += heap->allocs;
        now.frees += cuai_frees(heap);
    }
    return now;
}

/* Up to now there was one heap, so its peaks are those of the whole. */
void cuai_begin_whole(cuarena_t *arena)
{
    if (arena->slow & CUAI_SLOW_WHOLE)
        return;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    arena->whole.peak_live_bytes = heap->peak_live_bytes;
    arena->whole.peak_requested_bytes = heap->peak_requested_bytes;
    arena->whole.peak_live_blocks = heap->peak_live_blocks;
    cuai_slow_set(arena, CUAI_SLOW_WHOLE, true);
}

void cuai_note_whole(cuarena_t *arena)
{
    if (!(arena->slow & CUAI_SLOW_WHOLE))
        return;
    uint64_t live = 0;
    uint64_t requested = 0;
    uint64_t blocks = 0;
    for (int i = 0; i < CUAI_HEAPS; i++) {
        const cuarena_heap_t *heap = arena->heaps[i];
        if (heap == NULL)
            continue;
        live += heap->live_bytes;
        requested += heap->requested_bytes;
        blocks += heap->live_blocks;
    }
    cuai_raise(&arena->whole.peak_live_bytes, live);
    cuai_raise(&arena->whole.peak_requested_bytes, requested);
    cuai_raise(&arena->whole.peak_live_blocks, blocks);
}

cuai_counts_t cuai_whole_peaks(const cuarena_t *arena)
{
    cuai_counts_t now = cuai_whole_now(arena);
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    bool kept = arena->slow & CUAI_SLOW_WHOLE;
    now.peak_live_bytes = kept ? arena->whole.peak_live_bytes : heap->peak_live_bytes;
    now.peak_requested_bytes =
        kept ? arena->whole.peak_requested_bytes : heap->peak_requested_bytes;
    now.peak_live_blocks = kept ? arena->whole.peak_live_blocks : heap->peak_live_blocks;
    return now;
}

void cuai_keep_most(cuarena_t *arena)
{
    cuai_counts_t peaks = cuai_whole_peaks(arena);
    cuai_raise(&arena->most_live, peaks.peak_live_bytes);
    cuai_raise(&arena->most_requested, peaks.peak_requested_bytes);
}

void cuai_end_whole(cuarena_t *arena)
{
    bool several = arena->heaps[CUAI_STABLE] != NULL || arena->heaps[CUAI_APART] != NULL;
    if (!several && cuai_scopes_depth(arena->whole_scopes) == 0 &&
        cuai_scopes_depth(arena->region_scopes[CUAI_DYNAMIC]) == 0)
        cuai_slow_set(arena, CUAI_SLOW_WHOLE, false);
}

/* ---- Blocks ------------------------------------------------------------ */

void cuai_tag_alloc(cuarena_t *arena, const cuai_record_t *r)
{
    CUAI_ASSERT(cuai_tag_of(r) != 0 && cuai_tag_of(r) < arena->tag_count);
    cuai_counter_add_block(&arena->tags[cuai_tag_of(r)].counter, r);
}

void cuai_tag_free(cuarena_t *arena, const cuai_record_t *r)
{
    CUAI_ASSERT(cuai_tag_of(r) != 0 && cuai_tag_of(r) < arena->tag_count);
    cuai_counter_end_block(&arena->tags[cuai_tag_of(r)].counter, r);
}

/* The stream whose counter counts the block; NULL: none has to. */
static cuai_stream_t *counting_stream(const cuarena_t *arena, const cuai_record_t *r)
{
    return r->owner != 0 ? cuai_counting_stream(arena, r) : NULL;
}

/* A request that is not the only stream's own, in the dynamic heap, ends that the heap counts for
 * it. */
static void mind_only_stream(cuarena_t *arena, const cuai_request_t *request, int32_t region)
{
    if (arena->only_stream != NULL &&
        (request->heap.owner != arena->only_stream->number || region != CUAI_DYNAMIC))
        cuai_end_only_stream(arena);
}

void cuai_prepare_counts(cuarena_t *arena, const cuai_request_t *request, int32_t region)
{
    cuai_assert_locked(arena);
    cuai_counted_in_t where = {region, request->heap.owner, request->heap.tag};
    mind_only_stream(arena, request, region);
    if (request->before != NULL)
        cuai_peaks_keep(arena, &where, request->before);
}

void cuai_count_in(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_assert_locked(arena);
    cuai_note_whole(arena);
    if (cuai_tag_of(r) != 0)
        cuai_tag_alloc(arena, r);
    cuai_stream_t *s = counting_stream(arena, r);
    if (s != NULL)
        cuai_counter_add_block(&s->counter, r);
}

void cuai_count_out(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_assert_locked(arena);
    if (cuai_tag_of(r) != 0)
        cuai_tag_free(arena, r);
    cuai_stream_t *s = counting_stream(arena, r);
    if (s != NULL)
        cuai_counter_end_block(&s->counter, r);
}

void cuai_count_resize(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                       uint64_t more_requested)
{
    cuai_note_whole(arena);
    if (r->fixed)
        cuai_capture_resized(arena, r, more, more_requested);
    if (cuai_tag_of(r) != 0)
        cuai_counter_add(&arena->tags[cuai_tag_of(r)].counter, 0, more, more_requested);
    cuai_stream_t *s = counting_stream(arena, r);
    if (s != NULL)
        cuai_counter_add(&s->counter, 0, more, more_requested);
}

void cuai_uncount(cuarena_heap_t *heap)
{
    CUAI_ASSERT(heap->allocs != 0);
    heap->allocs--;
    heap->changes += 3; /* the version must not return to an earlier one */
}

void cuai_uncount_block(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    cuai_uncount(ref.heap);
    if (r->fixed)
        cuai_capture_uncount(arena, ref);
    if (cuai_tag_of(r) != 0)
        cuai_counter_uncount(&arena->tags[cuai_tag_of(r)].counter);
    cuai_stream_t *s = counting_stream(arena, r);
    if (s != NULL)
        cuai_counter_uncount(&s->counter);
}

/* ---- Reserved bytes ---------------------------------------------------- */

void cuai_count_extension(cuarena_t *arena)
{
    arena->extensions++;
}

/* Growths of one segment may go back together: as long as bytes are left at least one growth is,
 * and when none are, all have gone. */
void cuai_count_shrinkage(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    bool none_left = arena->heaps[CUAI_DYNAMIC]->capacity == 0 && arena->stable_bytes == 0;
    uint64_t gone = none_left ? arena->extensions : 1;
    arena->shrinkages += cuai_max(gone, 1);
    if (none_left)
        arena->extensions = 0;
    else if (arena->extensions > 1)
        arena->extensions--;
}
