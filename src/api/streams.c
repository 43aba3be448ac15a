/* The calls on streams: pins, uses, release, reclaim, marks, counts. Those that allocate, free and
 * resize are in fast.c. */
#include "api/call.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/stream_order.h"
#include "arena/uses.h"
#include "base/sized.h"

/* ---- Pins -------------------------------------------------------------- */

cuarena_status_t cuarena_block_pin_on(cuarena_t *arena, cuarena_block_t block,
                                      cuarena_stream_t stream, void **pointer_out)
{
    return cuai_told(cuai_block_pin(arena, block, stream, pointer_out));
}

cuarena_status_t cuarena_block_unpin_on(cuarena_t *arena, cuarena_block_t block,
                                        cuarena_stream_t stream)
{
    return cuai_told(cuai_block_unpin(arena, block, stream));
}

/* ---- Uses -------------------------------------------------------------- */

/* Notes that a stream uses a block, and makes it wait for moves of the block. Adopted bytes need no
 * note: the arena does not allocate them again. Drops the lock. */
static cuarena_status_t note_use(cuarena_t *arena, cuarena_block_t block, uint32_t stream)
{
    CUAI_ASSERT(arena->inside != 0);
    cuarena_status_t status = CUARENA_OK;
    if (!cuai_is_lost(arena))
        status = cuai_see_moves(arena, stream);
    cuai_block_ref_t ref = cuai_find_block(arena, block);
    if (status != CUARENA_OK)
        return status;
    if (ref.heap == NULL)
        return cuai_no_block(block);
    const cuai_record_t *r = cuai_block_record(ref);
    if (stream == 0 || r->size == 0 || (r->flags & CUAI_BLOCK_ADOPTED))
        return CUARENA_OK;
    return cuai_use_add(arena, ref, stream);
}

cuarena_status_t cuarena_record_use(cuarena_t *arena, const void *pointer, cuarena_stream_t stream)
{
    if (arena == NULL || pointer == NULL)
        return cuai_null("arena or pointer");
    uint32_t number = 0;
    cuai_frame_t frame;
    cuarena_status_t status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_stream_find(arena, stream, &number);
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (status == CUARENA_OK)
        status = ref.heap == NULL ? cuai_no_pointer(pointer)
                                  : note_use(arena, cuai_id(ref.heap, ref.slot), number);
    cuai_stream_leave(arena, number);
    cuai_leave(arena);
    return cuai_told(status);
}

cuarena_status_t cuarena_block_record_use(cuarena_t *arena, cuarena_block_t block,
                                          cuarena_stream_t stream)
{
    if (arena == NULL)
        return cuai_null("arena");
    uint32_t number = 0;
    cuai_frame_t frame;
    cuarena_status_t status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_stream_find(arena, stream, &number);
    if (status == CUARENA_OK)
        status = note_use(arena, block, number);
    cuai_stream_leave(arena, number);
    cuai_leave(arena);
    return cuai_told(status);
}

/* ---- Streams ----------------------------------------------------------- */

cuarena_status_t cuarena_release_stream(cuarena_t *arena, cuarena_stream_t stream)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (stream == CUARENA_NO_STREAM)
        return cuai_told(
            cuai_fail(CUARENA_BAD_ARGUMENT, "stream CUARENA_NO_STREAM; accepted: a stream"));
    cuarena_status_t status = cuai_check_entry(arena, "release_stream", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    uint32_t number = 0;
    if (!cuai_is_lost(arena))
        number = cuai_stream_find_known(arena, stream);
    if (number != 0)
        status = cuai_check_captured(arena, number);
    if (number != 0 && status == CUARENA_OK)
        status = cuai_stream_release(arena, number);
    cuai_stream_leave(arena, number);
    cuai_leave(arena);
    return cuai_told(status);
}

cuarena_status_t cuarena_reclaim(cuarena_t *arena, int32_t wait, uint64_t *reclaimed_out)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (wait != 0 && wait != 1)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "wait %d; accepted: 0, 1", (int)wait));
    cuarena_status_t status = cuai_check_entry(arena, "reclaim", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    uint64_t bytes = 0;
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_call_check(arena);
    if (status == CUARENA_OK && arena->stream_count != 0)
        status = cuai_reclaim_all(arena, wait, &bytes);
    cuai_leave(arena);
    if (status == CUARENA_OK && reclaimed_out != NULL)
        *reclaimed_out = bytes;
    return cuai_told(status);
}

/* ---- Waits of the program's own ---------------------------------------- */

/* A mark is a serial above the number of its stream. */
#define MARK_BITS 7
#define MARK_NUMBERS (1u << MARK_BITS)
_Static_assert(CUAI_STREAM_NUMBERS <= MARK_NUMBERS, "marks");

static uint32_t marked_number(cuarena_mark_t mark)
{
    return (uint32_t)(mark % MARK_NUMBERS);
}

cuarena_status_t cuarena_stream_mark(cuarena_t *arena, cuarena_stream_t stream,
                                     cuarena_mark_t *mark_out)
{
    if (arena == NULL || mark_out == NULL)
        return cuai_null("arena or mark_out");
    if (stream == CUARENA_NO_STREAM)
        return cuai_told(
            cuai_fail(CUARENA_BAD_ARGUMENT, "stream CUARENA_NO_STREAM; accepted: a stream"));
    cuarena_status_t status = cuai_check_entry(arena, "stream_mark", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    uint32_t number = 0;
    uint64_t serial = 0;
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = cuai_stream_find(arena, stream, &number);
    if (status == CUARENA_OK)
        status = cuai_moment(arena, number, &serial);
    cuai_stream_leave(arena, number);
    cuai_leave(arena);
    if (status == CUARENA_OK)
        *mark_out = serial << MARK_BITS | number;
    return cuai_told(status);
}

static cuarena_status_t check_mark(const cuarena_t *arena, cuarena_stream_t stream,
                                   cuarena_mark_t mark)
{
    CUAI_ASSERT(arena->inside != 0);
    uint64_t serial = mark >> MARK_BITS;
    uint32_t number = marked_number(mark);
    bool given = serial != 0 && serial <= arena->event_serial && number != 0 &&
                 number < CUAI_STREAM_NUMBERS && arena->streams != NULL;
    const cuai_stream_t *s = given ? cuai_stream(arena, number) : NULL;
    bool over = given && (s == NULL || serial <= s->born_serial);
    if (over || (given && s->handle == cuai_stream_normal(stream)))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "mark %llu; accepted: what cuarena_stream_mark gave for "
                     "stream %p",
                     (unsigned long long)mark, (void *)stream);
}

cuarena_status_t cuarena_stream_waited(cuarena_t *arena, cuarena_stream_t waiter,
                                       cuarena_stream_t producer, cuarena_mark_t mark)
{
    if (arena == NULL)
        return cuai_null("arena");
    cuarena_status_t status = cuai_check_entry(arena, "stream_waited", false);
    if (status != CUARENA_OK)
        return cuai_told(status);
    uint32_t number = 0;
    cuai_frame_t frame;
    status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = check_mark(arena, producer, mark);
    if (status == CUARENA_OK)
        status = cuai_stream_find(arena, waiter, &number);
    if (status == CUARENA_OK)
        cuai_note_wait(arena, number, marked_number(mark), mark >> MARK_BITS);
    cuai_stream_leave(arena, number);
    cuai_leave(arena);
    return cuai_told(status);
}

/* ---- Counts ------------------------------------------------------------ */

static uint64_t free_bytes(const cuarena_t *arena, const cuai_stream_t *s)
{
    CUAI_ASSERT(s != NULL);
    uint64_t bytes = 0;
    for (int region = 0; region < CUAI_LISTED; region++)
        for (int i = 0; arena->heaps[region] != NULL && i < 2; i++)
            bytes += arena->heaps[region]->freelists[s->freelists[region][i]]->free_bytes;
    return bytes;
}

static void describe(const cuarena_t *arena, const cuai_stream_t *s, cuarena_stats_t *stats)
{
    cuai_counts_t counts = cuai_counter_read(&s->counter);
    stats->live_bytes = counts.live_bytes;
    stats->requested_bytes = counts.requested_bytes;
    stats->live_blocks = counts.live_blocks;
    stats->peak_live_bytes = counts.peak_live_bytes;
    stats->peak_requested_bytes = counts.peak_requested_bytes;
    stats->peak_live_blocks = counts.peak_live_blocks;
    stats->allocs = counts.allocs;
    stats->frees = counts.frees;
    stats->free_bytes = free_bytes(arena, s);
}

cuarena_status_t cuarena_stream_stats(cuarena_t *arena, cuarena_stream_t stream,
                                      cuarena_stats_t *stats)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_sized_ok(stats, sizeof(size_t), sizeof *stats))
        return cuai_told(cuai_fail_struct("stats", stats));
    cuarena_stats_t full = {0};
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    uint32_t number = cuai_stream_known(arena, stream);
    if (number != 0)
        describe(arena, cuai_stream(arena, number), &full);
    cuai_unlock(&arena->lock);
    if (number == 0)
        return cuai_told(cuai_no_stream(stream));
    cuai_sized_write(stats, &full);
    return CUARENA_OK;
}
