/* Creation, destruction, reset, size and limits of an arena. */
#include <stdio.h>

#include "api/call.h"
#include "api/config.h"
#include "api/driver_pool.h"
#include "api/life.h"
#include "arena/cache.h"
#include "arena/capture.h"
#include "arena/chunks.h"
#include "arena/counts.h"
#include "arena/dedicated.h"
#include "arena/life.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/reuse.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/trim.h"
#include "arena/unlocked.h"
#include "arena/watch.h"
#include "arena/zero.h"
#include "base/amount.h"
#include "base/frame.h"
#include "base/log.h"
#include "heap/plan.h"
#include "heap/segments.h"

/* ---- Creation ---------------------------------------------------------- */

cuarena_status_t cuarena_create(const cuarena_config_t *config, cuarena_t **arena_out)
{
    if (arena_out == NULL)
        return cuai_null("arena_out");
    cuarena_config_t full;
    cuarena_status_t status = cuai_config_check(config, &full);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_arena_new(&full, arena_out);
    if (status == CUARENA_OK)
        cuai_log(CUARENA_LOG_INFO, "%s: created, %llu bytes reserved", (*arena_out)->label,
                 (unsigned long long)(*arena_out)->reserved);
    return cuai_told(status);
}

cuarena_status_t cuarena_open(const char *options, cuarena_t **arena_out)
{
    if (arena_out == NULL)
        return cuai_null("arena_out");
    cuarena_config_t config;
    cuarena_config_init(&config);
    cuarena_status_t status = cuarena_config_parse(&config, options == NULL ? "" : options);
    if (status == CUARENA_OK)
        status = cuarena_create(&config, arena_out);
    return cuai_told(status);
}

/* ---- Destruction ------------------------------------------------------- */

/* "3 blocks of 768 bytes live; 'weights': 2 of 512 bytes; ...", as far as there is room. */
static void describe_leaks(const cuarena_t *arena, char *text, size_t room)
{
    CUAI_ASSERT(room != 0);
    cuai_counts_t all = cuai_whole_counts(arena);
    size_t used = (size_t)snprintf(text, room, "%llu blocks of %llu bytes live",
                                   (unsigned long long)all.live_blocks,
                                   (unsigned long long)all.requested_bytes);
    for (size_t tag = 1; tag < arena->tag_count && used < room; tag++) {
        cuai_counts_t counts = cuai_counter_read(&arena->tags[tag].counter);
        if (counts.live_blocks == 0)
            continue;
        char name[CUAI_SHOWN + sizeof("...")];
        used += (size_t)snprintf(text + used, room - used, "; '%s': %llu of %llu bytes",
                                 cuai_shown(arena->tags[tag].name, 32, name),
                                 (unsigned long long)counts.live_blocks,
                                 (unsigned long long)counts.requested_bytes);
    }
}

static cuarena_status_t check_no_leaks(const cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_counts_t all = cuai_whole_counts(arena);
    if (all.live_blocks == 0)
        return CUARENA_OK;
    char leaks[200];
    describe_leaks(arena, leaks, sizeof leaks);
    return cuai_fail_bytes(CUARENA_BUSY, 0, 0, arena->reserved, 0, 0, "%s", leaks);
}

/* Refuses to end an arena that is in use. Blocks that wait for streams come first: they would be
 * counted as leaks. */
static cuarena_status_t check_unused(cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting);
    cuarena_status_t status = cuai_captures_check_none(arena, "destroy");
    if (status == CUARENA_OK)
        status = cuai_check_idle(arena);
    return status == CUARENA_OK ? check_no_leaks(arena) : status;
}

static cuarena_status_t check_destroy(const cuarena_t *arena, const char *what)
{
    cuarena_status_t status = cuai_check_entry(arena, what, true);
    bool within =
        cuai_frame_within(CUAI_FRAME_OOM, arena) || cuai_frame_within(CUAI_FRAME_EVENT, arena);
    if (status == CUARENA_OK && within)
        status = cuai_fail(CUARENA_REENTERED,
                           "%s was called from the arena's own handler or "
                           "listener",
                           what);
    return status;
}

cuarena_status_t cuai_set_shared(cuarena_t *arena, bool shared)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    arena->shared = shared;
    return cuai_query_end(arena, CUARENA_OK);
}

/* BUSY for a shared arena, which ends with its holders. Lock held. */
static cuarena_status_t check_ours(const cuarena_t *arena)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->compacting);
    return arena->shared ? cuai_fail(CUARENA_BUSY,
                                     "%s is shared; accepted: "
                                     "cuarena_shared_release",
                                     arena->label)
                         : CUARENA_OK;
}

/* Blocks that live are reported as leaks. Drops the lock. */
static cuarena_status_t end_refused(cuai_call_t *call, cuarena_status_t status)
{
    CUAI_ASSERT(status != CUARENA_OK);
    bool leaks = cuai_whole_counts(call->arena).live_blocks != 0 && !call->arena->shared;
    cuai_kept_error_t words = cuai_error_kept();
    if (leaks && cuai_log_wants(CUARENA_LOG_WARN))
        (void)cuai_report_leaks(call->arena, NULL, NULL);
    cuai_error_restore(&words);
    return cuai_call_end(call, status);
}

static cuarena_status_t destroy(cuarena_t **handle, bool forced)
{
    if (handle == NULL || *handle == NULL)
        return CUARENA_OK;
    cuarena_t *arena = *handle;
    cuarena_status_t status = check_destroy(arena, forced ? "destroy_forced" : "destroy");
    if (status != CUARENA_OK)
        return status;
    cuai_call_t call;
    status = cuai_call_begin(&call, arena, "it", 0);
    if (status != CUARENA_OK)
        return status;
    if (!forced)
        (void)cuai_quarantine_keep(arena, 0, NULL);
    cuai_begin_exclusive(arena);
    status = check_ours(arena);
    forced = forced && status == CUARENA_OK;
    if (forced)
        status = cuai_wait_for_work(arena);
    else if (status == CUARENA_OK)
        status = check_unused(arena);
    cuai_end_exclusive(arena);
    if (status != CUARENA_OK && !forced)
        return end_refused(&call, status);
    (void)cuai_call_end(&call, CUARENA_OK);
    if (status != CUARENA_OK)
        cuai_log(CUARENA_LOG_WARN, "%s: destroyed with work under way: %s", arena->label,
                 cuarena_last_error());
    *handle = NULL;
    cuai_log(CUARENA_LOG_INFO, "%s: destroyed", arena->label);
    cuai_arena_end(arena);
    return CUARENA_OK;
}

cuarena_status_t cuarena_destroy(cuarena_t **arena)
{
    return cuai_told(destroy(arena, false));
}

cuarena_status_t cuarena_destroy_forced(cuarena_t **arena)
{
    return cuai_told(destroy(arena, true));
}

/* ---- Reset ------------------------------------------------------------- */

static void clear_counts(cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting);
    for (size_t tag = 1; tag < arena->tag_count; tag++)
        cuai_counter_clear(&arena->tags[tag].counter);
    cuai_counter_clear(&arena->whole);
    arena->block_pins = 0;
    arena->ending = 0;
}

/* Forgets adopted bytes, and dedicated blocks, whose segments the caller gives back. */
static void clear_apart(cuarena_t *arena, cuarena_memory_segment_t *segments)
{
    CUAI_ASSERT(arena->compacting);
    cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    if (heap == NULL)
        return;
    CUAI_ASSERT(segments != NULL || heap->standalone_blocks == 0);
    for (cuai_slot_t slot = 0; (slot = cuai_heap_next_standalone(heap, slot)) != 0;) {
        *segments++ = cuai_dedicated_segment(cuai_record(heap, slot));
        cuai_heap_free(heap, slot, 0);
    }
    cuai_heap_clear(heap);
    const cuai_segment_t *top;
    while ((top = cuai_segment_top(heap)) != NULL)
        cuai_segment_cut_range(heap, top->head, top->begin, top->end - top->begin);
    arena->adopted_bytes = 0;
}

/* Sets the bytes of the heap's segments to 0, which nobody else changes meanwhile. Called without
 * the lock. */
static cuarena_status_t zero_segments(cuarena_t *arena, const cuarena_heap_t *heap)
{
    CUAI_ASSERT(arena->compacting);
    cuarena_status_t status = CUARENA_OK;
    const cuai_segment_t *s = cuai_segment_first(heap);
    for (; s != NULL && status == CUARENA_OK; s = cuai_segment_next(heap, s))
        status = cuai_mem_zero(arena, s->begin, s->end - s->begin, CUARENA_NO_STREAM);
    return status;
}

/* Sets the bytes of dedicated blocks to 0 before they go back to the memory. Drops the lock. */
static cuarena_status_t zero_apart(cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting);
    cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    cuarena_status_t status = CUARENA_OK;
    for (cuai_slot_t slot = 0; (slot = cuai_heap_next_standalone(heap, slot)) != 0;) {
        cuai_block_ref_t ref = {heap, slot, CUAI_APART};
        if (status != CUARENA_OK || !cuai_zeroes_freed(arena, ref) ||
            cuai_block_record(ref)->moving)
            continue; /* whoever frees it does that */
        cuai_mark_moving(arena, ref);
        status = cuai_zero_block(arena, ref, 0, 0);
        cuai_clear_moving(arena, ref);
    }
    return status;
}

/* With zero=free the bytes of all blocks must read as 0 from now on. Requests wait meanwhile, so
 * that nobody writes to what was set to 0. Drops the lock. */
static cuarena_status_t zero_all(cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting);
    cuarena_status_t status = CUARENA_OK;
    if (arena->config.zero != CUARENA_ZERO_FREE)
        return status;
    for (int region = CUAI_DYNAMIC; region <= CUAI_STABLE; region++) {
        cuarena_heap_t *heap = arena->heaps[region];
        if (heap == NULL || status != CUARENA_OK)
            continue;
        status = cuai_heap_freeze(heap);
        if (status != CUARENA_OK)
            continue;
        cuai_unlock(&arena->lock);
        status = zero_segments(arena, heap);
        cuai_arena_lock(arena);
        cuai_heap_thaw(heap);
    }
    return status == CUARENA_OK ? zero_apart(arena) : status;
}

static cuarena_status_t check_reset(const cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = cuai_captures_check_none(arena, "reset");
    if (status != CUARENA_OK || arena->block_pins == 0)
        return status;
    return cuai_fail(CUARENA_BUSY, "%llu pins that block_pin took exist",
                     (unsigned long long)arena->block_pins);
}

/* A reset takes the caller's word that no work uses live blocks. So what is left to wait for is
 * what was freed on streams, copies of compactions and, where allocations are work of a stream,
 * these. Drops the lock. */
static cuarena_status_t finish_freed(cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting);
    if (arena->stream_count == 0)
        return CUARENA_OK;
    if (arena->memory.ops.get_on != NULL) {
        cuarena_status_t status = cuai_wait_for_work(arena);
        if (status != CUARENA_OK)
            return status;
    }
    cuarena_status_t status = cuai_reclaim_all(arena, true, NULL);
    return status == CUARENA_OK ? cuai_see_moves(arena, 0) : status;
}

/* What a reset has to give back once all blocks have ended. */
typedef struct ended {
    cuarena_memory_segment_t *segments;
    uint64_t room;
    uint64_t bytes;
} ended_t;

static uint64_t dedicated_count(const cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    return heap == NULL ? 0 : heap->standalone_blocks;
}

static cuarena_status_t ready_ended(const cuarena_t *arena, ended_t *ended)
{
    cuai_assert_locked(arena);
    uint64_t count = dedicated_count(arena);
    if (count <= ended->room)
        return CUARENA_OK;
    cuai_host_free(ended->segments);
    *ended = (ended_t){.segments = cuai_host_alloc(count * sizeof *ended->segments)};
    if (ended->segments == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory to end %llu dedicated blocks",
                         (unsigned long long)count);
    ended->room = count;
    return CUARENA_OK;
}

/* Whether all blocks can end at once: no other call has one in its hands. */
static bool is_idle(const cuarena_t *arena, const ended_t *ended)
{
    return arena->moving_blocks == 0 && !arena->reclaiming &&
           arena->heaps[CUAI_DYNAMIC]->cached_blocks == 0 && arena->block_pins == 0 &&
           arena->captures.count == 0 && dedicated_count(arena) <= ended->room;
}

/* Waits for what the reset must come after, again if other calls began meanwhile. Drops the lock.
 */
static cuarena_status_t wait_until_idle(cuarena_t *arena, ended_t *ended)
{
    CUAI_ASSERT(arena->compacting);
    cuarena_status_t status;
    do {
        while (arena->moving_blocks != 0 || arena->reclaiming)
            cuai_arena_wait(arena);
        status = check_reset(arena);
        if (status == CUARENA_OK)
            status = ready_ended(arena, ended);
        if (status == CUARENA_OK) {
            cuai_cache_drop(arena);
            status = finish_freed(arena);
        }
        if (status == CUARENA_OK)
            status = zero_all(arena);
    } while (status == CUARENA_OK && !is_idle(arena, ended));
    return status;
}

/* Does not drop the lock, so nobody sees a part of it done. */
static void clear(cuarena_t *arena, const ended_t *ended)
{
    CUAI_ASSERT(is_idle(arena, ended));
    cuai_streams_reset(arena);
    cuai_heap_clear(arena->heaps[CUAI_DYNAMIC]);
    if (arena->heaps[CUAI_STABLE] != NULL)
        cuai_heap_clear(arena->heaps[CUAI_STABLE]);
    clear_apart(arena, ended->segments);
    cuai_regions_clear(&arena->regions);
    if (arena->watch != NULL)
        cuai_watch_clear(arena);
    clear_counts(arena);
}

/* Where allocations are work of a stream, blocks that were allocated since the reset waited end
 * behind that; it is too late to refuse the reset if the wait fails. Drops the lock. */
static void give_back_ended(cuarena_t *arena, const ended_t *ended, uint64_t count)
{
    cuai_assert_locked(arena);
    cuarena_status_t waited = CUARENA_OK;
    if (count != 0 && arena->memory.ops.get_on != NULL)
        waited = cuai_wait_for_work(arena);
    for (uint64_t i = 0; i < count; i++) {
        cuai_count_reserved(arena, 0 - ended->segments[i].bytes);
        cuai_return_waited(arena, ended->segments[i], CUARENA_NO_STREAM, waited);
    }
}

/* Ends all blocks once their work is done; `ended` gets how many bytes and segments that were.
 * Drops the lock. */
static cuarena_status_t reset(cuarena_t *arena, ended_t *ended)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = wait_until_idle(arena, ended);
    if (status != CUARENA_OK)
        return status;
    uint64_t count = dedicated_count(arena);
    ended->bytes = cuai_live_bytes(arena);
    clear(arena, ended);
    cuai_trace_bytes(arena, CUARENA_EVENT_RESET, ended->bytes);
    give_back_ended(arena, ended, count);
    cuai_timelines_sweep(arena);
    return status;
}

cuarena_status_t cuarena_reset(cuarena_t *arena)
{
    cuai_call_t call;
    ended_t ended = {0};
    cuarena_status_t status = cuai_call_begin(&call, arena, "reset", CUAI_CALL_OUTSIDE);
    if (status != CUARENA_OK)
        return status;
    (void)cuai_quarantine_keep(arena, 0, NULL);
    cuai_begin_exclusive(arena);
    status = reset(arena, &ended);
    if (status == CUARENA_OK)
        cuai_call_note(&call, CUARENA_EVENT_RESET, ended.bytes);
    cuai_host_free(ended.segments);
    cuai_end_exclusive(arena);
    if (status == CUARENA_OK)
        cuai_call_log(&call, "reset: %llu bytes of blocks ended", (unsigned long long)ended.bytes);
    return cuai_call_end(&call, status);
}

/* ---- Size -------------------------------------------------------------- */

/* Notes and logs what a trim gave back, and leaves the arena. */
static cuarena_status_t end_trim(cuai_call_t *call, cuarena_status_t status, uint64_t given,
                                 uint64_t *given_back_out)
{
    CUAI_ASSERT(call->arena->inside != 0);
    if (status == CUARENA_OK) {
        cuai_chunks_trimmed(call->arena);
        cuai_reuse_trimmed(call->arena);
    }
    cuai_call_note(call, CUARENA_EVENT_TRIM, given);
    if (status == CUARENA_OK && given_back_out != NULL)
        *given_back_out = given;
    if (status == CUARENA_OK)
        cuai_call_log(call, "trim: %llu bytes given back, %llu reserved", (unsigned long long)given,
                      (unsigned long long)call->arena->reserved);
    return cuai_call_end(call, status);
}

/* Segments of blocks that ended go back meanwhile; a driver's pool gets these, which is asked later
 * what it gave back. Drops the lock. */
static cuarena_status_t reclaim_to_trim(cuarena_t *arena, uint64_t *given)
{
    CUAI_ASSERT(arena->inside != 0);
    if (arena->stream_count == 0)
        return CUARENA_OK;
    cuarena_status_t status = cuai_reclaim_all(arena, false, NULL);
    *given += cuai_pool_has_the_rest(arena) ? 0 : arena->gained_back;
    return status;
}

/* Trims what cached blocks left behind when they ended. */
static uint64_t trim_rest(cuarena_t *arena, uint64_t keep_bytes)
{
    uint64_t given = 0;
    (void)reclaim_to_trim(arena, &given);
    if (arena->reserved > keep_bytes)
        given += cuai_trim(arena, keep_bytes);
    return given;
}

cuarena_status_t cuarena_trim(cuarena_t *arena, uint64_t keep_bytes, uint64_t *given_back_out)
{
    cuai_call_t call;
    cuarena_status_t status =
        cuai_call_begin(&call, arena, "trim", CUAI_CALL_WHOLE | CUAI_CALL_OUTSIDE);
    if (status != CUARENA_OK)
        return status;
    uint64_t given = 0;
    status = reclaim_to_trim(arena, &given);
    if (status == CUARENA_OK)
        given += cuai_trim(arena, keep_bytes);
    while (status == CUARENA_OK && arena->config.memory != CUARENA_MEMORY_BYTES &&
           arena->reserved > keep_bytes &&
           cuai_cache_evict(arena, arena->reserved - keep_bytes, &given) != 0)
        given += trim_rest(arena, keep_bytes);
    if (status == CUARENA_OK && cuai_pool_has_the_rest(arena))
        status = cuai_driver_pool_trim(arena, keep_bytes, &given);
    return end_trim(&call, status, given, given_back_out);
}

/* A stream that the arena does not know has freed nothing, so nothing is done. Drops the lock. */
static cuarena_status_t trim_on(cuai_call_t *call, cuarena_stream_t stream, uint64_t keep_bytes,
                                uint64_t *given_out)
{
    CUAI_ASSERT(call->arena->inside != 0);
    cuarena_t *arena = call->arena;
    if (cuai_pool_has_the_rest(arena))
        return cuai_driver_pool_trim_on(call, stream, keep_bytes, given_out);
    bool all = stream == CUARENA_NO_STREAM;
    if (!all)
        call->stream = cuai_stream_find_known(arena, stream);
    cuarena_status_t status = cuai_check_captured(arena, call->stream);
    if (status != CUARENA_OK || (!all && call->stream == 0))
        return status;
    return cuai_trim_freelists(arena, call->stream, keep_bytes, given_out);
}

cuarena_status_t cuarena_trim_on(cuarena_t *arena, cuarena_stream_t stream, uint64_t keep_bytes,
                                 uint64_t *given_back_out)
{
    cuai_call_t call;
    cuarena_status_t status =
        cuai_call_begin(&call, arena, "trim_on", CUAI_CALL_WHOLE | CUAI_CALL_OUTSIDE);
    if (status != CUARENA_OK)
        return status;
    uint64_t given = 0;
    status = trim_on(&call, stream, keep_bytes, &given);
    return end_trim(&call, status, given, given_back_out);
}

/* ---- Limits ------------------------------------------------------------ */

static cuarena_status_t check_limit_kind(int32_t kind)
{
    if (kind >= CUARENA_LIMIT_RESERVED && kind <= CUARENA_LIMIT_SOFT)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "limit kind %d; accepted: 0 (reserved), 1 (live), 2 (cached), "
                     "3 (soft), 4 (the driver's pool's threshold)",
                     (int)kind);
}

/* Ends what the cache has above its limit, unless cache_bound=late leaves that to the next
 * allocation. Drops the lock. */
static void keep_cache_limit(cuai_call_t *call)
{
    CUAI_ASSERT(call->arena->inside != 0);
    cuarena_t *arena = call->arena;
    uint64_t cached = arena->heaps[CUAI_DYNAMIC]->cached_bytes;
    uint64_t limit = arena->limits[CUARENA_LIMIT_CACHED];
    uint64_t given = 0;
    if (cached <= limit || arena->config.cache_bound == CUARENA_CACHE_LATE)
        return;
    cuai_cache_release(arena, cached - limit, &given);
    cuai_cache_reclaim(arena, &given);
    cuai_call_note(call, CUARENA_EVENT_TRIM, given);
}

cuarena_status_t cuarena_set_limit(cuarena_t *arena, int32_t kind, cuarena_amount_t limit,
                                   uint64_t *old_bytes_out)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (kind == CUARENA_LIMIT_THRESHOLD)
        return cuai_told(cuai_threshold_set(arena, limit, old_bytes_out));
    uint64_t bytes;
    cuarena_status_t status = check_limit_kind(kind);
    if (status == CUARENA_OK)
        status = cuai_amount_resolve(limit, &arena->memory.ops, arena->memory.user, &bytes);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_call_t call;
    status = cuai_call_begin(&call, arena, "set_limit",
                             kind == CUARENA_LIMIT_CACHED ? CUAI_CALL_OUTSIDE : 0);
    if (status != CUARENA_OK)
        return status;
    uint64_t old = arena->limits[kind];
    arena->limits[kind] = bytes;
    cuai_slow_set(arena, CUAI_SLOW_LIMIT, arena->limits[CUARENA_LIMIT_LIVE] != UINT64_MAX);
    if (kind == CUARENA_LIMIT_CACHED)
        keep_cache_limit(&call);
    if (old_bytes_out != NULL)
        *old_bytes_out = old;
    return cuai_call_end(&call, CUARENA_OK);
}

cuarena_status_t cuarena_get_limit(cuarena_t *arena, int32_t kind, uint64_t *bytes_out)
{
    if (arena == NULL || bytes_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "bytes_out");
    if (kind == CUARENA_LIMIT_THRESHOLD)
        return cuai_told(cuai_threshold_get(arena, bytes_out));
    cuarena_status_t status = check_limit_kind(kind);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    *bytes_out = arena->limits[kind];
    return cuai_query_end(arena, CUARENA_OK);
}
