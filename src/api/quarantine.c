/*
 * What watched blocks (arena/watch.h) go through at their free: a look at their guards, a pattern
 * into their bytes, and the quarantine, where freed blocks wait until their bytes may be used
 * again.
 *
 * Blocks in the quarantine are ENDING, like those that streams still use: they count in statistics
 * and limits, and no caller can name them. They are pinned.
 */
#include "api/call.h"
#include "arena/guard.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "arena/uses.h"
#include "arena/zero.h"

/* ---- A look at a block ------------------------------------------------- */

/* Waits for the block's streams and looks at its guards. Drops the lock. */
static cuarena_status_t await_and_check(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream,
                                        cuai_findings_t *findings)
{
    CUAI_ASSERT(cuai_block_record(ref)->moving);
    cuarena_status_t status = cuai_call_check(arena);
    if (status == CUARENA_OK && cuai_block_record(ref)->fixed)
        status = cuai_fail(CUARENA_BUSY, "the block is private to a capture session");
    if (status == CUARENA_OK)
        status = cuai_check_captured(arena, stream);
    if (status == CUARENA_OK)
        status = cuai_guard_await(arena, ref, stream);
    return status == CUARENA_OK ? cuai_guard_check(arena, ref, findings) : status;
}

cuarena_status_t cuai_look_at_block(cuarena_t *arena, cuarena_block_t block, uint32_t stream,
                                    cuai_block_ref_t *block_out, uint32_t *found_out)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_findings_t findings;
    findings.count = *found_out = 0;
    if (!cuai_reclaim_block(arena, block, block_out))
        return cuai_no_block(block);
    if (cuai_block_record(*block_out)->size == 0)
        return CUARENA_OK;
    cuai_mark_moving(arena, *block_out);
    cuarena_status_t status = await_and_check(arena, *block_out, stream, &findings);
    cuai_clear_moving(arena, *block_out);
    *found_out = findings.count;
    cuai_findings_tell(arena, &findings);
    return cuai_reclaim_block(arena, block, block_out) ? status : cuai_no_block(block);
}

/* ---- The quarantine ---------------------------------------------------- */

static void enqueue(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_watch_t *watch = arena->watch;
    cuai_watched_t *one = cuai_watch_find(arena, cuai_id(ref.heap, ref.slot));
    CUAI_ASSERT(one != NULL);
    CUAI_ASSERT((cuai_block_record(ref)->flags & CUAI_BLOCK_ENDING) != 0);
    one->next = NULL;
    *watch->last = one;
    watch->last = &one->next;
    watch->quarantined_bytes += cuai_block_record(ref)->size;
}

static cuai_block_ref_t dequeue(cuarena_t *arena)
{
    cuai_watch_t *watch = arena->watch;
    cuai_watched_t *one = watch->first;
    cuai_block_ref_t ref = cuai_find_any(arena, one->block);
    CUAI_ASSERT(ref.heap != NULL && (cuai_block_record(ref)->flags & CUAI_BLOCK_ENDING));
    CUAI_ASSERT(watch->quarantined_bytes >= cuai_block_record(ref)->size);
    watch->first = one->next;
    if (watch->first == NULL)
        watch->last = &watch->first;
    watch->quarantined_bytes -= cuai_block_record(ref)->size;
    return ref;
}

/* Lets the block that was freed first go, and tells what was written to it meanwhile. How many
 * findings that are. Drops the lock. */
static uint32_t let_go(cuarena_t *arena)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_block_ref_t ref = dequeue(arena);
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    cuai_findings_t findings;
    findings.count = 0;
    cuai_mark_moving(arena, ref);
    if (!cuai_is_lost(arena)) {
        cuai_kept_error_t before = cuai_error_kept();
        (void)cuai_freed_check(arena, ref, &findings);
        cuai_error_restore(&before);
    }
    cuai_clear_moving(arena, ref);
    cuai_watch_drop(arena, block);
    cuai_end_released(arena, ref);
    cuai_findings_tell(arena, &findings);
    return findings.count;
}

bool cuai_quarantine_keep(cuarena_t *arena, uint64_t most_bytes, uint64_t *found)
{
    cuai_assert_locked(arena);
    bool any = false;
    while (arena->watch != NULL && arena->watch->quarantined_bytes > most_bytes) {
        uint32_t count = let_go(arena);
        if (found != NULL)
            *found += count;
        any = true;
    }
    return any;
}

/* ---- Frees ------------------------------------------------------------- */

bool cuai_has_freed_pattern(const cuarena_t *arena, cuai_block_ref_t ref)
{
    const cuarena_config_t *config = &arena->config;
    const cuai_record_t *r = cuai_block_record(ref);
    bool wanted = config->quarantine_bytes != 0 || (config->fill & CUARENA_FILL_FREE);
    return wanted && r->size != 0 && !r->fixed &&
           (r->flags & (CUAI_BLOCK_ADOPTED | CUAI_BLOCK_EXPORTED)) == 0;
}

cuarena_status_t cuai_end_with_pattern(cuarena_t *arena, cuai_block_ref_t ref)
{
    CUAI_ASSERT(arena->inside != 0);
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    cuai_record_t *r = cuai_block_record(ref);
    cuai_mark_ending(arena, r);
    cuai_mark_moving(arena, ref);
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = cuai_freed_fill(arena, ref);
    cuai_clear_moving(arena, ref);
    if (status != CUARENA_OK && !cuai_zeroes_nothing(status)) {
        cuai_clear_ending(arena, r);
        return status;
    }
    cuai_error_restore(&before);
    cuai_use_drop(arena, ref);
    bool waits = arena->config.quarantine_bytes != 0 && cuai_watch_find(arena, block) != NULL;
    if (status == CUARENA_OK && waits) {
        cuai_end_pins(arena, ref);
        enqueue(arena, ref);
        (void)cuai_quarantine_keep(arena, arena->config.quarantine_bytes, NULL);
        return CUARENA_OK;
    }
    cuai_watch_drop(arena, block);
    cuai_end_now(arena, ref, 0);
    return CUARENA_OK;
}
