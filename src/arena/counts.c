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
        bytes += arena->heaps[i] == NULL ? 0 : cuai_heap_bytes(arena->heaps[i]);
    return bytes;
}

/* Up to now there was one heap, which counted the whole. */
void cuai_begin_whole(cuarena_t *arena)
{
    CUAI_ASSERT(arena->heaps[CUAI_DYNAMIC] != NULL);
    if (arena->slow & CUAI_SLOW_WHOLE)
        return;
    arena->whole = arena->heaps[CUAI_DYNAMIC]->counter;
    cuai_slow_set(arena, CUAI_SLOW_WHOLE, true);
}

cuai_counts_t cuai_whole_counts(const cuarena_t *arena)
{
    bool kept = arena->slow & CUAI_SLOW_WHOLE;
    return cuai_counter_read(kept ? &arena->whole : &arena->heaps[CUAI_DYNAMIC]->counter);
}

void cuai_keep_most(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_counts_t peaks = cuai_whole_counts(arena);
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            cuai_raise(&arena->heaps[region]->most_blocks,
                       arena->heaps[region]->counter.blocks.peak);
    cuai_raise(&arena->most_live, peaks.peak_live_bytes);
    cuai_raise(&arena->most_requested, peaks.peak_requested_bytes);
}

void cuai_end_whole(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    bool several = arena->heaps[CUAI_STABLE] != NULL || arena->heaps[CUAI_APART] != NULL;
    if (!several && cuai_scopes_depth(arena->whole_scopes) == 0 &&
        cuai_scopes_depth(arena->region_scopes[CUAI_DYNAMIC]) == 0)
        cuai_slow_set(arena, CUAI_SLOW_WHOLE, false);
}

/* ---- Blocks ------------------------------------------------------------ */

void cuai_prepare_counts(cuarena_t *arena, const cuai_request_t *request, int32_t region)
{
    cuai_assert_locked(arena);
    cuai_counted_in_t where = {region, request->heap.owner, request->heap.tag};
    if (request->before != NULL)
        cuai_peaks_keep(arena, &where, request->before);
}

/* The counters of a block besides that of its heap. */
typedef struct counters {
    cuai_counter_t *items[3];
    int count;
} counters_t;

static counters_t counters_of(cuarena_t *arena, const cuai_record_t *r)
{
    counters_t counters = {{NULL}, 0};
    if (arena->slow & CUAI_SLOW_WHOLE)
        counters.items[counters.count++] = &arena->whole;
    if (cuai_tag_of(r) != 0)
        counters.items[counters.count++] = &arena->tags[cuai_tag_of(r)].counter;
    uint32_t owner =
        CUAI_LOAD(r->owner); /* a free of a stale id may look at the record meanwhile */
    if (owner != 0)
        counters.items[counters.count++] = &cuai_stream(arena, owner)->counter;
    return counters;
}

void cuai_count_in(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_assert_locked(arena);
    counters_t counters = counters_of(arena, r);
    for (int i = 0; i < counters.count; i++)
        cuai_counter_begin_block(counters.items[i], r);
}

void cuai_count_out(cuarena_t *arena, const cuai_record_t *r)
{
    cuai_assert_locked(arena);
    counters_t counters = counters_of(arena, r);
    for (int i = 0; i < counters.count; i++)
        cuai_counter_end_block(counters.items[i], r);
}

void cuai_count_resize(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                       uint64_t more_requested)
{
    cuai_assert_locked(arena);
    if (r->fixed)
        cuai_capture_resized(arena, r, more, more_requested);
    counters_t counters = counters_of(arena, r);
    for (int i = 0; i < counters.count; i++)
        cuai_counter_resize(counters.items[i], more, more_requested);
}

void cuai_change_owner(cuarena_t *arena, cuai_record_t *r, uint32_t number)
{
    cuai_assert_locked(arena);
    if (r->owner != 0)
        cuai_counter_end_block(&cuai_stream(arena, r->owner)->counter, r);
    if (number != 0)
        cuai_counter_begin_block(&cuai_stream(arena, number)->counter, r);
    r->owner = number & CUARENA_HEAP_MAX_OWNER;
}

void cuai_uncount_block(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    cuai_counter_uncount(&ref.heap->counter);
    ref.heap->changes += 3; /* the version must not return to an earlier one */
    if (r->fixed)
        cuai_capture_uncount(arena, ref);
    counters_t counters = counters_of(arena, r);
    for (int i = 0; i < counters.count; i++)
        cuai_counter_uncount(counters.items[i]);
}

/* ---- Reserved bytes ---------------------------------------------------- */

bool cuai_region_may_hold(const cuarena_t *arena, const cuai_request_t *request)
{
    cuai_assert_locked(arena);
    if (request->dedicated)
        return true;
    if (cuai_region_for(arena, request->region) == CUAI_STABLE)
        return request->size <= arena->stable_bytes;
    return request->size <= arena->pool_bytes - arena->stable_bytes || cuai_arena_is_taken(arena);
}

bool cuai_limit_may_allow(const cuarena_t *arena, const cuai_request_t *request)
{
    cuai_assert_locked(arena);
    bool stable = cuai_region_for(arena, request->region) == CUAI_STABLE;
    bool reserved = stable || request->size <= arena->reserved;
    return request->size <= arena->limits[CUARENA_LIMIT_RESERVED] ||
           (reserved && !request->dedicated);
}

bool cuai_would_fit(const cuarena_t *arena, const cuai_request_t *request)
{
    cuai_assert_locked(arena);
    uint64_t live = cuai_live_bytes(arena) - arena->adopted_bytes;
    uint64_t in_pool = cuai_heap_bytes(arena->heaps[CUAI_DYNAMIC]);
    if (live + request->size > arena->limits[CUARENA_LIMIT_RESERVED])
        return false;
    return request->dedicated || in_pool + request->size <= arena->pool_bytes - arena->stable_bytes;
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
