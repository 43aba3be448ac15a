/* Capture sessions: begin, join, end, release; and what the validator says of them. See capture.h.
 * */
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/dedicated.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/uses.h"
#include "arena/zero.h"

/* ---- Finding one ------------------------------------------------------- */

static bool is_known(const cuarena_t *arena, const cuarena_capture_t *capture)
{
    const cuarena_capture_t *at = arena->captures.first;
    while (at != NULL && at != capture)
        at = at->next;
    return at != NULL;
}

cuarena_status_t cuai_capture_check(const cuarena_t *arena, const cuarena_capture_t *capture)
{
    if (is_known(arena, capture))
        return CUARENA_OK;
    return cuai_fail(CUARENA_STALE, "%p is no capture session of this arena",
                     (const void *)capture);
}

/* Waits until nobody else works on the session; then nobody does until let_go. */
static cuarena_status_t hold(cuarena_t *arena, cuarena_capture_t *capture)
{
    while (is_known(arena, capture) && capture->busy)
        cuai_arena_wait(arena);
    cuarena_status_t status = cuai_capture_check(arena, capture);
    if (status == CUARENA_OK)
        capture->busy = true;
    return status;
}

static void let_go(cuarena_t *arena, cuarena_capture_t *capture)
{
    CUAI_ASSERT(capture->busy);
    capture->busy = false;
    cuai_cond_wake(&arena->changed);
}

cuarena_status_t cuai_captures_check_none(const cuarena_t *arena, const char *what)
{
    if (arena->captures.count == 0)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BUSY,
                     "%s: %u capture sessions have private bytes; "
                     "cuarena_capture_release ends them",
                     what, (unsigned)arena->captures.count);
}

/* ---- Members ----------------------------------------------------------- */

static cuarena_status_t add_member(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    cuai_stream_t *s = cuai_stream(arena, number);
    CUAI_ASSERT(s->capture == NULL);
    cuarena_status_t status = cuai_freelists_make(arena, s->freelists[CUAI_PRIVATE]);
    if (status != CUARENA_OK)
        return status;
    cuai_capture_note(arena, capture, number);
    cuai_set_add(&capture->members, number);
    s->capture = capture;
    s->private_bytes = 0;
    cuai_stream_unlearn(arena, s);
    return CUARENA_OK;
}

static cuarena_status_t check_stream(cuarena_stream_t stream)
{
    bool legacy = stream == NULL || stream == CUARENA_STREAM_LEGACY;
    if (!legacy && stream != CUARENA_NO_STREAM)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "stream %s; accepted: one that can be captured",
                     legacy ? "NULL, the legacy default stream" : "CUARENA_NO_STREAM");
}

/* Puts an event behind what was freed on the stream, so that the session can have the bytes when it
 * is complete. This is the last moment for that; a stream that is captured already gets none. Drops
 * the lock. */
static cuarena_status_t close_freelist(cuarena_t *arena, uint32_t number)
{
    bool captured = false;
    cuarena_status_t status = cuai_stream_ask_captured(arena, number, &captured);
    if (status == CUARENA_OK && !captured && !cuai_is_captured(arena, number))
        cuai_stream_close(arena, number);
    return status;
}

/* Finds a stream on which no other call is queuing anything, when none records an event of all
 * work; it is kept until cuai_stream_leave. Drops the lock. */
static cuarena_status_t find_stream(cuarena_t *arena, cuarena_stream_t stream, uint32_t *number_out)
{
    cuai_assert_locked(arena);
    *number_out = 0;
    cuarena_status_t status = check_stream(stream);
    if (status == CUARENA_OK)
        status = cuai_stream_find(arena, stream, true, number_out);
    if (status == CUARENA_OK)
        status = close_freelist(arena, *number_out);
    while (status == CUARENA_OK && *number_out != 0 &&
           (arena->recording_all != 0 || cuai_stream(arena, *number_out)->touching != 0))
        cuai_arena_wait(arena);
    return status;
}

/* ---- Begin and join ---------------------------------------------------- */

static cuarena_status_t check_zero(const cuarena_t *arena)
{
    if (arena->config.zero == CUARENA_ZERO_ALLOC)
        return cuai_check_zero_captured(arena, "zero=alloc");
    if (arena->config.zero == CUARENA_ZERO_OWNER)
        return cuai_check_zero_captured(arena, "zero=owner");
    if (arena->config.zero != CUARENA_ZERO_FREE)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED, "zero=free is work on the stream of a free, which must "
                                          "not be given any while it is captured; accepted: never, "
                                          "create, alloc, owner");
}

static cuarena_status_t make(cuarena_t *arena, uint32_t number, cuarena_capture_t **capture_out)
{
    cuarena_capture_t *capture = cuai_host_alloc(sizeof *capture);
    if (capture == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a session");
    cuarena_status_t status = cuai_dedicated_ready_for_capture(arena);
    if (status == CUARENA_OK)
        status = cuai_freelists_make(arena, capture->kept);
    if (status == CUARENA_OK)
        status = add_member(arena, capture, number);
    if (status != CUARENA_OK) {
        cuai_freelists_end(arena, capture->kept);
        cuai_host_free(capture);
        return status;
    }
    capture->open = true;
    capture->next = arena->captures.first;
    arena->captures.first = capture;
    arena->captures.count++;
    arena->capturing++;
    *capture_out = capture;
    return CUARENA_OK;
}

cuarena_status_t cuai_capture_begin(cuarena_t *arena, cuarena_stream_t stream,
                                    cuarena_capture_t **capture_out)
{
    cuai_assert_locked(arena);
    uint32_t number = 0;
    cuarena_status_t status = check_zero(arena);
    if (status == CUARENA_OK)
        status = find_stream(arena, stream, &number);
    if (status == CUARENA_OK)
        status = cuai_check_captured(arena, number);
    if (status == CUARENA_OK)
        status = make(arena, number, capture_out);
    cuai_stream_leave(arena, number);
    return status;
}

static cuarena_status_t join(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    CUAI_ASSERT(capture->busy && number != 0);
    if (!capture->open)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "the capture session has ended; accepted: one that "
                                               "is open");
    if (cuai_stream(arena, number)->capture == capture)
        return CUARENA_OK;
    cuarena_status_t status = cuai_check_captured(arena, number);
    return status == CUARENA_OK ? add_member(arena, capture, number) : status;
}

cuarena_status_t cuai_capture_join(cuarena_t *arena, cuarena_capture_t *capture,
                                   cuarena_stream_t stream)
{
    cuai_assert_locked(arena);
    uint32_t number = 0;
    cuarena_status_t status = hold(arena, capture);
    if (status != CUARENA_OK)
        return status;
    status = find_stream(arena, stream, &number);
    if (status == CUARENA_OK)
        status = join(arena, capture, number);
    cuai_stream_leave(arena, number);
    let_go(arena, capture);
    return status;
}

/* ---- End --------------------------------------------------------------- */

/* Whether no driver will be asked again: it is gone, or stayed with the process that this one was
 * forked from. */
static bool is_moot(const cuarena_t *arena, cuarena_status_t status)
{
    return cuai_is_lost(arena) || status == CUARENA_LOST || status == CUARENA_NO_DEVICE;
}

/* BUSY, put into words, while the driver still captures the stream. Drops the lock. */
static cuarena_status_t check_over(cuarena_t *arena, uint32_t number)
{
    CUAI_ASSERT(cuai_is_captured(arena, number));
    bool captured = false;
    cuarena_status_t status = cuai_stream_ask_captured(arena, number, &captured);
    if (is_moot(arena, status))
        return CUARENA_OK;
    if (status == CUARENA_OK && captured)
        return cuai_fail(CUARENA_BUSY,
                         "stream %p is being captured still; cuStreamEndCapture "
                         "comes first, also where the capture failed",
                         (void *)cuai_stream(arena, number)->handle);
    return status;
}

/* Lets a member wait for the copies as if it were not captured; being touched keeps it out of a new
 * session meanwhile. Drops the lock. */
static cuarena_status_t see_moves(cuarena_t *arena, cuai_stream_t *s)
{
    CUAI_ASSERT(s->capture != NULL);
    cuarena_capture_t *capture = s->capture;
    cuai_stream_touch(arena, s->number);
    s->capture = NULL;
    cuarena_status_t status = cuai_see_moves(arena, s->number);
    s->capture = capture;
    cuai_stream_untouch(arena, s->number);
    if (!is_moot(arena, status))
        return status;
    cuai_note_seen(arena, s->number, arena->moved); /* no work is under way any more */
    return CUARENA_OK;
}

/* Waits until the members have no copies to wait for, which what they freed while they were
 * captured must come after, and no call queues anything on them. Another thread's default stream
 * waits for copies when that thread next names a block. Drops the lock. */
static cuarena_status_t quiet(cuarena_t *arena, const cuarena_capture_t *capture)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t n = 0; status == CUARENA_OK && cuai_set_next(&capture->members, &n);)
        status = check_over(arena, n);
    for (uint32_t n = 0; status == CUARENA_OK && cuai_set_next(&capture->members, &n);) {
        cuai_stream_t *s = cuai_stream(arena, n);
        bool behind = !cuai_is_lost(arena) && cuai_stream_is_mine(s) &&
                      !cuai_has_seen(arena, n, arena->moved);
        n = behind || s->touching != 0 ? 0 : n;
        if (behind)
            status = see_moves(arena, s);
        else if (n == 0)
            cuai_arena_wait(arena);
    }
    return status;
}

static cuarena_status_t end(cuarena_t *arena, cuarena_capture_t *capture)
{
    CUAI_ASSERT(capture->open && capture->busy && arena->capturing != 0);
    cuarena_status_t status = quiet(arena, capture);
    if (status != CUARENA_OK)
        return status;
    cuai_capture_reclaim(arena, capture);
    for (uint32_t n = 0; cuai_set_next(&capture->members, &n);) {
        cuai_stream_t *s = cuai_stream(arena, n);
        cuai_freelists_merge(arena, s->freelists[CUAI_PRIVATE], capture->kept);
        cuai_freelists_end(arena, s->freelists[CUAI_PRIVATE]);
        s->capture = NULL;
    }
    capture->members = (cuai_stream_set_t){{0, 0}};
    capture->open = false;
    arena->capturing--;
    return CUARENA_OK;
}

cuarena_status_t cuai_capture_end(cuarena_t *arena, cuarena_capture_t *capture)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = hold(arena, capture);
    if (status != CUARENA_OK)
        return status;
    if (capture->open)
        status = end(arena, capture);
    let_go(arena, capture);
    return status;
}

/* ---- Release ----------------------------------------------------------- */

static bool is_its(const cuarena_t *arena, const cuarena_capture_t *capture, const cuai_record_t *r)
{
    return cuai_has_bytes(r) && r->fixed && cuai_capture_around(arena, r->offset) == capture;
}

/* Notes the streams that use private blocks which live; a free notes those of its block. O(slots)
 * if any block has users. */
static void note_live(cuarena_t *arena, cuarena_capture_t *capture)
{
    for (int32_t region = 0; arena->uses.count != 0 && region < CUAI_HEAPS; region++) {
        cuarena_heap_t *heap = arena->heaps[region];
        for (cuai_slot_t slot = 1; heap != NULL && slot < heap->unused; slot++) {
            const cuai_record_t *r = cuai_record(heap, slot);
            if ((r->flags & CUAI_BLOCK_USED) && is_its(arena, capture, r))
                cuai_capture_note_uses(arena, capture, (cuai_block_ref_t){heap, slot, region}, 0);
        }
    }
}

/* Lets the stream wait for all streams whose work may use private bytes. Drops the lock. */
static cuarena_status_t order(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    CUAI_ASSERT(capture->busy && !capture->open);
    cuarena_status_t status = CUARENA_OK;
    cuai_stream_set_t set;
    note_live(arena, capture);
    do {
        set = capture->streams;
        if (number != 0 && !cuai_is_lost(arena))
            status = cuai_order_before(arena, &set, number);
        if (status == CUARENA_OK && number != 0 && !cuai_is_lost(arena))
            status = cuai_stream_note_free(arena, number);
        note_live(arena, capture);
    } while (status == CUARENA_OK &&
             (set.bits[0] != capture->streams.bits[0] || set.bits[1] != capture->streams.bits[1]));
    return is_moot(arena, status) ? CUARENA_OK : status;
}

/* A block that was freed already ends behind what the stream has to do so far or, without a stream,
 * as soon as nothing uses it. */
static void end_freed(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(!r->fixed);
    if (!(r->flags & CUAI_BLOCK_ENDING) || !(r->flags & CUAI_BLOCK_USED))
        return;
    if (number != 0 && !cuai_is_lost(arena))
        cuai_end_behind(arena, ref, number);
    else
        cuai_use_drop(arena, ref);
}

static void free_blocks(cuarena_t *arena, const cuarena_capture_t *capture, int32_t region,
                        uint32_t number)
{
    cuarena_heap_t *heap = arena->heaps[region];
    for (cuai_slot_t slot = 1; slot < heap->unused; slot++) {
        cuai_record_t *r = cuai_record(heap, slot);
        if (!is_its(arena, capture, r))
            continue;
        r->fixed = 0;
        cuai_change_owner(arena, r, number);
        end_freed(arena, (cuai_block_ref_t){heap, slot, region}, number);
    }
    cuai_note_change(heap);
}

static void free_ranges(cuarena_t *arena, const cuarena_capture_t *capture, int32_t region,
                        uint32_t number)
{
    uint32_t heir = cuai_freelist_for_free(arena, region, number);
    if (heir != 0)
        cuarena_heap_freelist_merge(arena->heaps[region], capture->kept[region], heir);
}

static void unlink_capture(cuai_captures_t *captures, cuarena_capture_t *capture)
{
    CUAI_ASSERT(captures->count != 0);
    cuarena_capture_t **link = &captures->first;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    captures->count--;
}

/* Ends the session. Does not drop the lock, so nobody sees a part of it done. */
static void finish(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    CUAI_ASSERT(capture->busy && !capture->open);
    for (int32_t region = 0; region < CUAI_HEAPS; region++) {
        if (arena->heaps[region] == NULL)
            continue;
        free_blocks(arena, capture, region, number);
        if (region < CUAI_LISTED)
            free_ranges(arena, capture, region, number);
    }
    cuai_freelists_end(arena, capture->kept);
    cuai_capture_drop_stretches(arena, capture);
    CUAI_ASSERT(arena->captures.bytes >= capture->bytes);
    for (uint32_t n = 0; cuai_set_next(&capture->streams, &n);)
        cuai_stream(arena, n)->waits--;
    arena->captures.bytes -= capture->bytes;
    unlink_capture(&arena->captures, capture);
    cuai_host_free(capture);
    cuai_cond_wake(&arena->changed);
}

/* Gives the segments of dedicated blocks that were freed back at once where no stream is waited
 * for. Drops the lock. */
static void give_back_over(cuarena_t *arena, const cuarena_capture_t *capture, uint32_t number)
{
    cuai_assert_locked(arena);
    while ((number == 0 || cuai_is_lost(arena)) && cuai_capture_give_back(arena, capture))
        ;
}

/* The stream may be one that was a member. */
cuarena_status_t cuai_capture_release(cuarena_t *arena, cuarena_capture_t *capture,
                                      cuarena_stream_t stream)
{
    cuai_assert_locked(arena);
    uint32_t number = 0;
    cuarena_status_t status = hold(arena, capture);
    if (status != CUARENA_OK)
        return status;
    if (capture->open)
        status = end(arena, capture);
    if (status == CUARENA_OK)
        status = cuai_stream_find(arena, stream, false, &number);
    if (is_moot(arena, status))
        status = CUARENA_OK;
    if (status == CUARENA_OK)
        status = cuai_check_captured(arena, number);
    if (status == CUARENA_OK)
        status = order(arena, capture, number);
    if (status == CUARENA_OK)
        give_back_over(arena, capture, number);
    if (status == CUARENA_OK)
        finish(arena, capture, number);
    else
        let_go(arena, capture);
    cuai_stream_leave(arena, number);
    return status;
}

void cuai_captures_forget(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    while (arena->captures.first != NULL) {
        cuarena_capture_t *capture = arena->captures.first;
        arena->captures.first = capture->next;
        cuai_host_free(capture);
    }
    cuai_host_free(arena->captures.stretches);
}

/* ---- Validation -------------------------------------------------------- */

void cuai_captures_count_waits(const cuarena_t *arena, uint64_t *waits)
{
    for (const cuarena_capture_t *c = arena->captures.first; c != NULL; c = c->next)
        for (uint32_t n = 0; cuai_set_next(&c->streams, &n);)
            waits[n]++;
}

static bool has_freelist(const cuarena_t *arena, const cuarena_capture_t *capture, int32_t region,
                         uint32_t freelist)
{
    bool found = capture->kept[region] == freelist;
    for (uint32_t n = 0; !found && cuai_set_next(&capture->members, &n);)
        found = cuai_stream(arena, n)->freelists[CUAI_PRIVATE][region] == freelist;
    return found;
}

/* The session that has a free list; NULL: none has. */
static const cuarena_capture_t *freelist_owner(const cuarena_t *arena, int32_t region,
                                               uint32_t freelist)
{
    const cuarena_capture_t *c = freelist == 0 ? NULL : arena->captures.first;
    while (c != NULL && !has_freelist(arena, c, region, freelist))
        c = c->next;
    return c;
}

/* What the records say of a session. */
typedef struct tally {
    const cuarena_capture_t *capture;
    uint64_t blocks; /* dedicated ones that were freed are among them */
    uint64_t block_bytes;
    uint64_t free_bytes;
} tally_t;

/* Whether bytes are a session's or, with NULL, not private. */
static bool is_of(const cuarena_t *arena, const cuarena_capture_t *capture, uint64_t begin,
                  uint64_t end)
{
    return cuai_capture_around(arena, begin) == capture &&
           cuai_capture_around(arena, end - 1) == capture;
}

static const char *tally_record(const cuarena_t *arena, int32_t region, const cuai_record_t *r,
                                tally_t *tally)
{
    if (cuai_has_bytes(r)) {
        const cuarena_capture_t *around = cuai_capture_around(arena, r->offset);
        if (r->fixed != (around != NULL) || !is_of(arena, around, r->offset, cuai_end(r)))
            return "a block is fixed and not private, or private and not fixed";
        tally->blocks += around == tally->capture;
        tally->block_bytes += around == tally->capture ? r->size : 0;
    }
    uint64_t bytes = cuai_range(r);
    if (bytes == 0 || region == CUAI_APART)
        return NULL;
    const cuarena_capture_t *owner = freelist_owner(arena, region, cuai_range_freelist(r));
    tally->free_bytes += owner == tally->capture ? bytes : 0;
    return is_of(arena, owner, cuai_end(r), cuai_end(r) + bytes)
               ? NULL
               : "free bytes are private and in no free list of their session, or the reverse";
}

static const char *tally_heap(const cuarena_t *arena, int32_t region, tally_t *tally)
{
    const cuarena_heap_t *heap = arena->heaps[region];
    const char *wrong = NULL;
    for (cuai_slot_t slot = 1; heap != NULL && wrong == NULL && slot < heap->unused; slot++)
        if (cuai_record(heap, slot)->kind != CUAI_FREE)
            wrong = tally_record(arena, region, cuai_record(heap, slot), tally);
    return wrong;
}

static const char *capture_wrong(const cuarena_t *arena, const cuarena_capture_t *capture)
{
    tally_t tally = {.capture = capture};
    const char *wrong = NULL;
    for (int32_t region = 0; region < CUAI_HEAPS && wrong == NULL; region++)
        wrong = tally_heap(arena, region, &tally);
    if (wrong != NULL)
        return wrong;
    cuai_counts_t counts = cuai_counter_read(&capture->counter);
    for (size_t i = 0; i < arena->captures.stretch_count; i++) {
        const cuai_stretch_t *s = &arena->captures.stretches[i];
        counts.live_blocks += s->capture == capture && s->over;
        counts.live_bytes += s->capture == capture && s->over ? s->end - s->begin : 0;
    }
    if (tally.blocks != counts.live_blocks || tally.block_bytes != counts.live_bytes)
        return "a session's counts are not those of its blocks";
    if (tally.block_bytes + tally.free_bytes != capture->bytes)
        return "a session has another number of bytes than it says";
    for (uint32_t n = 0; cuai_set_next(&capture->members, &n);)
        if (!capture->open || (!capture->busy && cuai_stream(arena, n)->capture != capture))
            return "a stream of a session does not know it, or the session has ended";
    return NULL;
}

static const char *stretches_wrong(const cuai_captures_t *captures)
{
    uint64_t end = 0;
    for (size_t i = 0; i < captures->stretch_count; i++) {
        const cuai_stretch_t *s = &captures->stretches[i];
        if (s->begin < end || s->begin >= s->end || s->touched < s->begin || s->touched > s->end)
            return "private stretches are not in order";
        end = s->end;
    }
    return NULL;
}

const char *cuai_captures_wrong(const cuarena_t *arena)
{
    const cuai_captures_t *captures = &arena->captures;
    uint32_t open = 0;
    uint32_t count = 0;
    uint64_t bytes = 0;
    const char *wrong = stretches_wrong(captures);
    for (const cuarena_capture_t *c = captures->first; c != NULL; c = c->next) {
        open += c->open;
        count++;
        bytes += c->bytes;
        if (wrong == NULL)
            wrong = capture_wrong(arena, c);
    }
    bool same = open == arena->capturing && count == captures->count && bytes == captures->bytes;
    if (wrong == NULL && !same)
        wrong = "the counts of sessions are wrong";
    return wrong;
}
