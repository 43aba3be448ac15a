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
    const cuarena_capture_t *at = arena->captures == NULL ? NULL : arena->captures->first;
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
    uint32_t count = cuai_captures_count(arena);
    if (count == 0)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BUSY,
                     "%s: %u capture sessions have private bytes; "
                     "cuarena_capture_release ends them",
                     what, (unsigned)count);
}

/* ---- Free lists ------------------------------------------------------------- */

static void end_freelists(const cuarena_t *arena, const uint32_t *freelists)
{
    for (int region = 0; region < CUAI_LISTED; region++)
        if (freelists[region] != 0)
            cuarena_heap_freelist_destroy(arena->heaps[region], freelists[region]);
}

/* On an error no free list was made. */
static cuarena_status_t make_freelists(const cuarena_t *arena, uint32_t *freelists)
{
    cuarena_status_t status = CUARENA_OK;
    for (int region = 0; region < CUAI_LISTED; region++) {
        freelists[region] = 0;
        if (arena->heaps[region] != NULL && status == CUARENA_OK)
            status = cuarena_heap_freelist_create(arena->heaps[region], &freelists[region]);
    }
    if (status != CUARENA_OK)
        end_freelists(arena, freelists);
    return status;
}

/* Moves the ranges of the members' free lists into the kept ones. */
static void keep_freelists(const cuarena_t *arena, const cuarena_capture_t *capture)
{
    for (uint32_t i = 0; i < capture->member_count; i++) {
        const uint32_t *freelists = capture->members[i].freelists;
        for (int region = 0; region < CUAI_LISTED; region++)
            if (freelists[region] != 0)
                cuarena_heap_freelist_merge(arena->heaps[region], freelists[region],
                                            capture->kept[region]);
        end_freelists(arena, freelists);
    }
}

/* ---- Members ----------------------------------------------------------- */

static bool ready_member(cuarena_capture_t *capture)
{
    void *items = cuai_host_make_room(capture->members, capture->member_count,
                                      &capture->member_room, sizeof *capture->members);
    if (items != NULL)
        capture->members = items;
    return items != NULL;
}

static cuarena_status_t add_member(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    cuai_stream_t *s = cuai_stream(arena, number);
    CUAI_ASSERT(s->capture == NULL);
    if (!ready_member(capture))
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a session's stream");
    cuai_member_t *member = &capture->members[capture->member_count];
    *member = (cuai_member_t){.number = number};
    cuarena_status_t status = make_freelists(arena, member->freelists);
    if (status != CUARENA_OK)
        return status;
    cuai_capture_note(arena, capture, number);
    s->capture = capture;
    s->member = capture->member_count++;
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
    *number_out = 0;
    cuarena_status_t status = check_stream(stream);
    if (status == CUARENA_OK)
        status = cuai_stream_find_captured(arena, stream, number_out);
    if (status == CUARENA_OK)
        status = close_freelist(arena, *number_out);
    while (status == CUARENA_OK && *number_out != 0 &&
           (arena->marking_all != 0 || cuai_stream(arena, *number_out)->touching != 0))
        cuai_arena_wait(arena);
    return status;
}

/* ---- Begin and join ---------------------------------------------------- */

static cuarena_status_t check_zero(const cuarena_t *arena)
{
    if (arena->config.zero == CUARENA_ZERO_ALLOC)
        return cuai_check_zero_captured(arena, "zero=alloc");
    if (arena->config.zero != CUARENA_ZERO_FREE)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED, "zero=free is work on the stream of a free, which must "
                                          "not be given any while it is captured; accepted: never, "
                                          "create, alloc");
}

static cuarena_status_t ready_captures(cuarena_t *arena)
{
    if (arena->captures == NULL)
        arena->captures = cuai_host_alloc(sizeof *arena->captures);
    if (arena->captures != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for sessions");
}

static cuarena_status_t make(cuarena_t *arena, uint32_t number, cuarena_capture_t **capture_out)
{
    cuarena_capture_t *capture = cuai_host_alloc(sizeof *capture);
    if (capture == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a session");
    cuarena_status_t status = cuai_dedicated_ready_for_capture(arena);
    if (status == CUARENA_OK)
        status = make_freelists(arena, capture->kept);
    if (status == CUARENA_OK) {
        status = add_member(arena, capture, number);
        if (status != CUARENA_OK)
            end_freelists(arena, capture->kept);
    }
    if (status != CUARENA_OK) {
        cuai_host_free(capture->members);
        cuai_host_free(capture);
        return status;
    }
    capture->open = true;
    capture->next = arena->captures->first;
    arena->captures->first = capture;
    arena->captures->count++;
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
        status = ready_captures(arena);
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
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t i = 0; i < capture->member_count; i++)
        if (status == CUARENA_OK)
            status = check_over(arena, capture->members[i].number);
    for (uint32_t i = 0; status == CUARENA_OK && i < capture->member_count;) {
        cuai_stream_t *s = cuai_stream(arena, capture->members[i].number);
        bool behind = !cuai_is_lost(arena) && cuai_stream_is_mine(s) &&
                      !cuai_has_seen(arena, s->number, arena->moved);
        i = behind || s->touching != 0 ? 0 : i + 1;
        if (behind)
            status = see_moves(arena, s);
        else if (i == 0)
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
    keep_freelists(arena, capture);
    for (uint32_t i = 0; i < capture->member_count; i++)
        cuai_stream(arena, capture->members[i].number)->capture = NULL;
    capture->member_count = 0;
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

static void unlink_capture(cuai_captures_t *all, cuarena_capture_t *capture)
{
    CUAI_ASSERT(all->count != 0);
    cuarena_capture_t **link = &all->first;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    all->count--;
}

static void free_capture(cuarena_capture_t *capture)
{
    cuai_host_free(capture->members);
    cuai_host_free(capture);
}

/* Ends the session. Does not drop the lock, so nobody sees a part of it done. */
static void finish(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    CUAI_ASSERT(capture->busy && !capture->open && capture->member_count == 0);
    for (int32_t region = 0; region < CUAI_HEAPS; region++) {
        if (arena->heaps[region] == NULL)
            continue;
        free_blocks(arena, capture, region, number);
        if (region < CUAI_LISTED)
            free_ranges(arena, capture, region, number);
    }
    end_freelists(arena, capture->kept);
    cuai_capture_drop_stretches(arena, capture);
    CUAI_ASSERT(arena->captures->bytes >= capture->bytes);
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++)
        if (cuai_set_has(&capture->streams, n))
            cuai_stream(arena, n)->waits--;
    arena->captures->bytes -= capture->bytes;
    unlink_capture(arena->captures, capture);
    free_capture(capture);
    cuai_cond_wake(&arena->changed);
}

/* Gives the segments of dedicated blocks that were freed back at once where no stream is waited
 * for. Drops the lock. */
static void give_back_over(cuarena_t *arena, const cuarena_capture_t *capture, uint32_t number)
{
    while ((number == 0 || cuai_is_lost(arena)) && cuai_capture_give_back(arena, capture))
        ;
}

static cuarena_status_t release(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    cuarena_status_t status = cuai_check_captured(arena, number);
    if (status == CUARENA_OK && capture->open)
        status = end(arena, capture);
    if (status == CUARENA_OK)
        status = order(arena, capture, number);
    return status;
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
        status = cuai_stream_find(arena, stream, &number);
    if (is_moot(arena, status))
        status = CUARENA_OK;
    if (status == CUARENA_OK)
        status = release(arena, capture, number);
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
    cuai_captures_t *all = arena->captures;
    while (all != NULL && all->first != NULL) {
        cuarena_capture_t *capture = all->first;
        all->first = capture->next;
        free_capture(capture);
    }
    if (all != NULL)
        cuai_host_free(all->stretches);
    cuai_host_free(all);
    arena->captures = NULL;
}

/* ---- Validation -------------------------------------------------------- */

void cuai_captures_count_waits(const cuarena_t *arena, uint64_t *waits)
{
    const cuarena_capture_t *c = arena->captures == NULL ? NULL : arena->captures->first;
    for (; c != NULL; c = c->next)
        for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++)
            waits[n] += cuai_set_has(&c->streams, n);
}

static bool has_freelist(const cuarena_capture_t *capture, int32_t region, uint32_t freelist)
{
    if (capture->kept[region] == freelist)
        return true;
    for (uint32_t i = 0; i < capture->member_count; i++)
        if (capture->members[i].freelists[region] == freelist)
            return true;
    return false;
}

/* The session that has a free list; NULL: none has. */
static const cuarena_capture_t *freelist_owner(const cuai_captures_t *all, int32_t region,
                                               uint32_t freelist)
{
    const cuarena_capture_t *c = all->first;
    while (c != NULL && (freelist == 0 || !has_freelist(c, region, freelist)))
        c = c->next;
    return c;
}

/* What the records say of a session. */
typedef struct tally {
    const cuarena_capture_t *capture;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t free_bytes;
} tally_t;

static bool is_all_of(const cuarena_t *arena, const cuarena_capture_t *capture, uint64_t begin,
                      uint64_t end)
{
    return cuai_capture_around(arena, begin) == capture &&
           cuai_capture_around(arena, end - 1) == capture;
}

/* Whether the stretch that begins there is of a dedicated block that was freed. */
static bool is_over(const cuarena_t *arena, uint64_t address)
{
    const cuai_captures_t *all = arena->captures;
    size_t at = 0;
    while (at < all->stretch_count && all->stretches[at].begin != address)
        at++;
    return at < all->stretch_count && all->stretches[at].over;
}

static const char *tally_record(const cuarena_t *arena, int32_t region, const cuai_record_t *r,
                                tally_t *tally)
{
    bool block = cuai_has_bytes(r);
    const cuarena_capture_t *around = block ? cuai_capture_around(arena, r->offset) : NULL;
    if (block && r->fixed != (around != NULL))
        return "a block is fixed and not private, or private and not fixed";
    if (around != NULL && around == tally->capture) {
        bool over = is_over(arena, r->offset);
        tally->live_blocks += !over;
        *(over ? &tally->free_bytes : &tally->live_bytes) += r->size;
        if (over && !(r->flags & CUAI_BLOCK_ENDING))
            return "a session keeps a dedicated block that was not freed";
        if (!is_all_of(arena, around, r->offset, cuai_end(r)))
            return "a private block has bytes that are not its session's";
    }
    uint64_t begin = cuai_end(r);
    uint64_t bytes = cuai_range(r);
    if (bytes == 0 || region == CUAI_APART)
        return NULL;
    const cuarena_capture_t *owner =
        freelist_owner(arena->captures, region, cuai_range_freelist(r));
    if (owner == tally->capture && owner != NULL) {
        tally->free_bytes += bytes;
        if (!is_all_of(arena, owner, begin, begin + bytes))
            return "a session's free list has bytes that are not private";
    }
    return owner == NULL && cuai_capture_around(arena, begin) != NULL
               ? "private bytes are in a free list that is not their session's"
               : NULL;
}

static const char *tally_heap(const cuarena_t *arena, int32_t region, tally_t *tally)
{
    const cuarena_heap_t *heap = arena->heaps[region];
    cuai_slot_t slot = heap == NULL ? 0 : cuai_record(heap, 0)->next;
    const char *wrong = NULL;
    for (; slot != 0 && wrong == NULL; slot = cuai_record(heap, slot)->next)
        wrong = tally_record(arena, region, cuai_record(heap, slot), tally);
    slot = heap == NULL ? 0 : cuai_heap_next_standalone(heap, 1);
    for (; slot != 0 && wrong == NULL; slot = cuai_heap_next_standalone(heap, slot + 1))
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
    if (tally.live_blocks != counts.live_blocks || tally.live_bytes != counts.live_bytes)
        return "a session's counts are not those of its blocks";
    if (tally.live_bytes + tally.free_bytes != capture->bytes)
        return "a session has another number of bytes than it says";
    for (uint32_t i = 0; i < capture->member_count; i++) {
        const cuai_stream_t *s = cuai_stream(arena, capture->members[i].number);
        if (!capture->busy && (s->capture != capture || s->member != i))
            return "a stream of a session does not know it";
    }
    return capture->open || capture->member_count == 0 ? NULL
                                                       : "a session that has ended has streams";
}

static const char *stretches_wrong(const cuai_captures_t *all)
{
    uint64_t end = 0;
    for (size_t i = 0; i < all->stretch_count; i++) {
        const cuai_stretch_t *s = &all->stretches[i];
        if (s->begin < end || s->begin >= s->end || s->touched < s->begin || s->touched > s->end)
            return "private stretches are not in order";
        end = s->end;
    }
    return NULL;
}

const char *cuai_captures_wrong(const cuarena_t *arena)
{
    const cuai_captures_t *all = arena->captures;
    if (all == NULL)
        return NULL;
    uint32_t open = 0;
    uint32_t count = 0;
    uint64_t bytes = 0;
    const char *wrong = stretches_wrong(all);
    for (const cuarena_capture_t *c = all->first; c != NULL; c = c->next) {
        open += c->open;
        count++;
        bytes += c->bytes;
        if (wrong == NULL)
            wrong = capture_wrong(arena, c);
    }
    bool same = open == arena->capturing && count == all->count && bytes == all->bytes;
    if (wrong == NULL && !same)
        wrong = "the counts of sessions are wrong";
    return wrong;
}
