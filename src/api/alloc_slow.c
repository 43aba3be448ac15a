/*
 * The slow path of allocations: every request. An arena with a cache looks there first, then the
 * free lists that the request may use are tried as they are, then the steps of the ladder, as long
 * as they bring something (ladder.c). If nothing brings room, the error says what was tried.
 */
#include "api/ladder.h"
#include "arena/cache.h"
#include "arena/counts.h"
#include "arena/dedicated.h"
#include "arena/grow.h"
#include "arena/reclaim.h"
#include "arena/traced.h"
#include "arena/trim.h"
#include "arena/zero.h"
#include "heap/segments.h"

/* How often all steps are taken again because other threads have changed what is free meanwhile. */
#define MOST_ROUNDS 64

static bool is_refusal(cuarena_status_t status)
{
    return status == CUARENA_OUT_OF_MEMORY || status == CUARENA_FRAGMENTED ||
           status == CUARENA_LIMIT;
}

/* Whether other threads have changed what is free since the last attempt, while a step of this one
 * dropped the lock; what their caches keep is freed for that. Without this look a request is
 * refused whose bytes another thread reclaims. */
static bool has_changed(cuai_ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    (void)cuai_tcaches_flush(arena);
    return cuai_changes(arena, cuai_ladder_heap(ladder)) != ladder->seen &&
           ladder->rounds++ < MOST_ROUNDS;
}

/* Across free lists an aligned request needs room for any beginning; what was taken for it fits. */
static cuarena_status_t try_free_lists(const cuai_ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    const cuai_request_t *request = ladder->request;
    bool steals = cuai_ladder_may_steal(ladder) &&
                  cuai_steals_for(arena, cuai_ladder_heap(ladder), request->size);
    cuarena_status_t status =
        steals ? cuai_try_alloc_stealing(arena, request, ladder->ref) : CUARENA_FRAGMENTED;
    bool alone = !steals || (is_refusal(status) && request->growths != 0);
    return alone ? cuai_try_alloc(arena, request, ladder->ref) : status;
}

/* What caches of threads keep is free, so it is freed before a refusal. */
static cuarena_status_t alloc_once(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->call->arena->inside != 0);
    cuarena_t *arena = ladder->call->arena;
    ladder->request->waits = ladder->request->soon = cuai_ladder_may_wait(ladder);
    if (ladder->stolen)
        ladder->refusal = CUARENA_OK;
    else if (ladder->request->dedicated)
        ladder->refusal = cuai_alloc_dedicated(arena, ladder->request, ladder->ref);
    else
        ladder->refusal = try_free_lists(ladder);
    if (is_refusal(ladder->refusal) && cuai_tcaches_flush(arena))
        return alloc_once(ladder);
    if (ladder->request->dedicated && ladder->refusal != CUARENA_OK)
        *ladder->words = cuai_error_kept();
    ladder->seen = cuai_changes(arena, cuai_ladder_heap(ladder));
    return ladder->refusal;
}

/* Takes the steps for a request that was refused. The errors of steps that failed are not seen if a
 * later one helps. Drops the lock. */
static cuarena_status_t descend(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    cuarena_t *arena = ladder->call->arena;
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = cuai_check_entry(arena, "alloc", false);
    if (status != CUARENA_OK)
        return status;
    status = ladder->refusal;
    if (cuai_ladder_is_hopeless(ladder)) {
        if (cuai_region_may_hold(arena, ladder->request))
            ladder->growth = CUARENA_LIMIT;
        return cuai_ladder_refuse(ladder);
    }
    while (is_refusal(status) && (cuai_ladder_take(ladder) || has_changed(ladder)))
        status = alloc_once(ladder);
    if (is_refusal(status) && cuai_changes(arena, cuai_ladder_heap(ladder)) != ladder->seen)
        status = alloc_once(ladder);
    if (status != CUARENA_OK)
        return is_refusal(status) ? cuai_ladder_refuse(ladder) : status;
    if (ladder->deepest >= 0) {
        arena->steps[ladder->deepest].served++;
        cuai_ladder_log(ladder, cuai_step_name(ladder->deepest), "allocated");
    }
    cuai_error_restore(&before);
    return CUARENA_OK;
}

static cuarena_status_t alloc_uncached(cuai_ladder_t *ladder)
{
    cuarena_t *arena = ladder->call->arena;
    cuai_reclaim_before(arena, ladder->request);
    cuarena_status_t status = alloc_once(ladder);
    if (!is_refusal(status))
        return status;
    cuai_range_begin(arena, "run out", ladder->request->heap.size);
    status = descend(ladder);
    cuai_range_end(arena);
    return status;
}

/* Allocates from the cache, if the arena has one with a block that fits; else from free bytes. */
static cuarena_status_t alloc(cuai_ladder_t *ladder)
{
    CUAI_ASSERT(!ladder->missed);
    cuarena_t *arena = ladder->call->arena;
    const cuai_request_t *request = ladder->request;
    if (!cuai_cache_is_for(arena, request))
        return alloc_uncached(ladder);
    if (cuai_arena_cache_get(arena, request, ladder->ref))
        return CUARENA_OK;
    uint64_t given = 0;
    ladder->missed = true;
    if (cuai_would_fit(arena, request) && cuai_ladder_may_live(ladder))
        cuai_cache_before_miss(arena, request->size, &given);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
    return alloc_uncached(ladder);
}

/* Keeps what the option `keep` promises, once the request has its block. Drops the lock. */
static void keep_limits(const cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal == CUARENA_OK);
    cuarena_t *arena = ladder->call->arena;
    uint64_t given = 0;
    if (arena->config.keep == CUARENA_KEEP_ALL)
        return;
    cuai_segments_ready_cuts(arena->heaps[CUAI_DYNAMIC]);
    cuai_cache_after(arena, ladder->missed, &given);
    cuai_return_rest(arena, &given);
    cuai_call_note(ladder->call, CUARENA_EVENT_TRIM, given);
}

cuarena_status_t cuai_alloc_slow(cuai_call_t *call, const cuai_request_t *request,
                                 cuai_block_ref_t *block_out)
{
    CUAI_ASSERT(call->stream == request->stream);
    cuarena_t *arena = call->arena;
    cuai_request_t own = *request;
    cuai_kept_error_t words;
    cuai_peaks_kept_t before;
    /* cppcheck-suppress uninitvar; what is kept goes there */
    own.before = request->zeroed || arena->watch != NULL ? &before : NULL;
    cuai_ladder_t ladder = {.call = call,
                            .words = &words,
                            .request = &own,
                            .ref = block_out,
                            .growth = CUARENA_UNSUPPORTED,
                            .deepest = -1};
    cuarena_status_t status = cuai_call_check(arena);
    if (status == CUARENA_OK && !cuai_tag_known(arena, request->heap.tag))
        status = cuai_no_tag(request->heap.tag);
    if (status != CUARENA_OK)
        return status;
    status = cuai_request_check(arena, request);
    if (status == CUARENA_OK)
        status = alloc(&ladder);
    if (status == CUARENA_REENTERED)
        return status;
    if (status == CUARENA_OK && !request->helps)
        cuai_trace_block(arena, *block_out, CUARENA_EVENT_ALLOC, call->stream);
    if (status == CUARENA_OK)
        status = cuai_ready_new(arena, &own, *block_out);
    if (status != CUARENA_OK)
        cuai_call_note_failure(call, status, request->heap.size, request->heap.tag);
    else
        cuai_call_note_block(call, CUARENA_EVENT_ALLOC, *block_out);
    if (status == CUARENA_OK)
        keep_limits(&ladder);
    return status;
}
