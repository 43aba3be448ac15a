/*
 * The calls on streams: those of pointers and blocks, uses, release, reclaim, counts.
 *
 * The fast paths find their stream by one comparison while an arena has a single stream and nothing
 * is out of the ordinary: it is `last_used` if all blocks that there ever were are its own, so that
 * the heap counts for it, and else `last_used_counted`, with counts of its own. Any other stream
 * that was seen recently (cuai_stream_recent) takes a little longer.
 */
#include "api/fast.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/stream_order.h"
#include "arena/uses.h"
#include "base/sized.h"

/* ---- Pointers and blocks ----------------------------------------------- */

/* What an ordinary block of a stream is: indexes of cuai_stream_t.attributes and .upper. */
#define BLOCK 0
#define POINTER 1

/* Attributes without owner and alignment, by the same indexes. */
static const uint64_t plain_attributes[] = {CUAI_BLOCK_ATTRIBUTES, CUAI_POINTER_ATTRIBUTES};

static CUAI_INLINE cuai_slot_t alloc_open(cuarena_t *arena, const cuai_stream_t *s, uint64_t size,
                                          uint64_t bytes, int what, cuai_separators_t way,
                                          uint64_t *offset_out)
{
    CUAI_ASSERT(what == BLOCK || what == POINTER);
    return cuai_fast_alloc_in(arena, CUAI_DYNAMIC, s->open, s->open_index, size, bytes,
                              s->attributes[what], way, offset_out);
}

/* Counts a new block of the stream; what the only stream of an arena has is counted by the arena.
 */
static CUAI_INLINE void count_alloc(const cuarena_t *arena, cuai_stream_t *s, uint64_t size,
                                    uint64_t bytes)
{
    CUAI_ASSERT(size >= bytes);
    if (s != arena->only_stream)
        cuai_counter_begin(&s->counter, size, bytes);
}

/* From free bytes or cached blocks that a stream may have, if it was seen recently; 0: nothing was
 * done. Lock held. */
static CUAI_OUTLINE cuai_slot_t alloc_recent(cuarena_t *arena, cuarena_stream_t stream,
                                             uint64_t bytes, int what)
{
    CUAI_ASSERT(bytes != 0);
    cuai_stream_t *s = cuai_stream_recent(arena, stream);
    void *pointer;
    if (s != NULL && (arena->slow & CUAI_SLOW_CACHE))
        return cuai_fast_cache_get(arena, s, bytes, plain_attributes[what], &pointer);
    if (s == NULL || !cuai_fast_allocs_on(arena) ||
        cuai_steals_for(arena, arena->heaps[CUAI_DYNAMIC], bytes))
        return 0;
    cuai_stream_note_used(arena, stream, s);
    uint64_t size = cuai_fast_size(arena, bytes);
    cuai_slot_t slot = 0;
    uint64_t offset;
    if (!arena->cpu_touches)
        slot = alloc_open(arena, s, size, bytes, what, CUAI_SEPARATORS_REUSED, &offset);
    if (slot == 0)
        slot = cuai_fast_alloc_other(arena, s, bytes, s->attributes[what]);
    if (slot == 0)
        return 0;
    count_alloc(arena, s, size, bytes);
    if (CUAI_UNLIKELY(arena->slow & CUAI_SLOW_WHOLE))
        cuai_note_whole(arena);
    return slot;
}

/* From the open free list of the stream, if it is last_used and no SEPARATOR is in the way;
 * 0: nothing was done. Lock held. */
static CUAI_INLINE cuai_slot_t alloc_last_used(cuarena_t *arena, cuarena_stream_t stream,
                                               uint64_t bytes, int what, uint64_t *offset_out)
{
    if (CUAI_UNLIKELY(arena->last_used.handle != stream))
        return 0;
    return alloc_open(arena, arena->last_used.stream, cuai_fast_size(arena, bytes), bytes, what,
                      CUAI_SEPARATORS_REFUSED, offset_out);
}

/* The same for last_used_counted, and else for any stream that was seen recently. A copy of the
 * code of its own keeps the path of last_used short. */
static CUAI_INLINE cuai_slot_t alloc_last_counted(cuarena_t *arena, cuarena_stream_t stream,
                                                  uint64_t bytes, int what, uint64_t *offset_out)
{
    cuai_stream_t *s = arena->last_used_counted.stream;
    uint64_t size = cuai_fast_size(arena, bytes);
    cuai_slot_t slot = 0;
    if (CUAI_LIKELY(arena->last_used_counted.handle == stream))
        slot = alloc_open(arena, s, size, bytes, what, CUAI_SEPARATORS_REFUSED, offset_out);
    if (CUAI_LIKELY(slot != 0)) {
        cuai_counter_begin(&s->counter, size, bytes);
        return slot;
    }
    slot = alloc_recent(arena, stream, bytes, what);
    *offset_out = cuai_record(arena->heaps[CUAI_DYNAMIC], slot)->offset;
    return slot;
}

/* Allocates a pointer for a stream that is not last_used. Lets go of the lock. */
static CUAI_OUTLINE cuarena_status_t alloc_other(cuarena_t *arena, uint64_t bytes,
                                                 cuarena_stream_t stream, void **pointer_out)
{
    uint64_t offset;
    cuai_slot_t slot = alloc_last_counted(arena, stream, bytes, POINTER, &offset);
    if (CUAI_LIKELY(slot != 0))
        *pointer_out = cuai_pointer(offset);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(slot != 0) ? CUARENA_OK
                                  : cuai_pointer_alloc(arena, bytes, stream, NULL, pointer_out);
}

cuarena_status_t cuarena_alloc_on(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                  const cuarena_request_t *request, void **pointer_out)
{
    uint64_t special = (bytes - 1) / CUAI_FAST_MOST | cuai_address(request);
    if (CUAI_UNLIKELY(arena == NULL || pointer_out == NULL || special != 0))
        return cuai_pointer_alloc(arena, bytes, stream, request, pointer_out);
    uint64_t offset;
    if (CUAI_UNLIKELY(!cuai_lock_enter(&arena->lock)))
        return cuai_pointer_alloc(arena, bytes, stream, request, pointer_out);
    cuai_slot_t slot = alloc_last_used(arena, stream, bytes, POINTER, &offset);
    if (CUAI_UNLIKELY(slot == 0))
        return alloc_other(arena, bytes, stream, pointer_out);
    *pointer_out = cuai_pointer(offset);
    cuai_unlock(&arena->lock);
    return CUARENA_OK;
}

/* Frees an ordinary block, which a link of the look-up names, on another stream than it was
 * allocated on; false: nothing was done. */
static CUAI_OUTLINE bool free_elsewhere(cuarena_t *arena, cuai_slot_t slot, cuai_slot_t *link,
                                        const cuai_stream_t *s, int what)
{
    CUAI_ASSERT(what == BLOCK || what == POINTER);
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    if (!cuai_has_attributes(r, s->attributes[what]))
        return false;
    cuai_fast_free(arena, CUAI_DYNAMIC, slot, link, s->open, s->open_index,
                   cuai_fast_owner(arena, r));
    return true;
}

/* Frees an ordinary block, which a link of the look-up names, on a stream; false: nothing was done.
 * `counter` is the stream that counts its blocks, or NULL. */
static CUAI_INLINE bool free_at_once(cuarena_t *arena, cuai_slot_t slot, cuai_slot_t *link,
                                     const cuai_stream_t *s, cuai_stream_t *counter, int what)
{
    CUAI_ASSERT(what == BLOCK || what == POINTER);
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    if (CUAI_UNLIKELY(cuai_upper_attributes(r) != s->upper[what] || r->pins != (what == POINTER)))
        return free_elsewhere(arena, slot, link, s, what);
    cuai_fast_free(arena, CUAI_DYNAMIC, slot, link, s->open, s->open_index, counter);
    return true;
}

/* The stream, if it was seen recently and frees on it may take the fast path; else NULL. */
static CUAI_OUTLINE cuai_stream_t *recent_for_free(cuarena_t *arena, cuarena_stream_t stream)
{
    cuai_stream_t *s = cuai_stream_recent(arena, stream);
    return s != NULL && cuai_fast_frees_on(arena, s) ? s : NULL;
}

/* The same for a stream that is not last_used. */
static CUAI_INLINE cuai_stream_t *stream_for_free(cuarena_t *arena, cuarena_stream_t stream)
{
    return CUAI_LIKELY(arena->last_used_counted.handle == stream) ? arena->last_used_counted.stream
                                                                  : recent_for_free(arena, stream);
}

/* The stream, if it counts what it frees of its own, or NULL. */
static CUAI_INLINE cuai_stream_t *counting_stream(const cuarena_t *arena, cuai_stream_t *s)
{
    return s != arena->only_stream ? s : NULL;
}

/* Puts a block into the cache, if the stream was seen recently; false: nothing was done. */
static CUAI_OUTLINE bool try_cache_put(cuarena_t *arena, cuai_slot_t slot, cuarena_stream_t stream,
                                       int what)
{
    cuai_stream_t *s = cuai_stream_recent(arena, stream);
    return s != NULL && (arena->slow & CUAI_SLOW_CACHE) &&
           cuai_fast_cache_put(arena, slot, plain_attributes[what], s);
}

static CUAI_INLINE bool try_free(cuarena_t *arena, const void *pointer, cuarena_stream_t stream)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuai_slot_t *link = cuai_table_link(&heap->table, heap->records, cuai_address(pointer));
    if (CUAI_LIKELY(arena->last_used.handle == stream))
        return free_at_once(arena, *link, link, arena->last_used.stream, NULL, POINTER);
    cuai_stream_t *s = stream_for_free(arena, stream);
    return s == NULL ? try_cache_put(arena, *link, stream, POINTER)
                     : free_at_once(arena, *link, link, s, counting_stream(arena, s), POINTER);
}

cuarena_status_t cuarena_free_on(cuarena_t *arena, void *pointer, cuarena_stream_t stream)
{
    if (CUAI_LIKELY(arena != NULL && pointer != NULL && cuai_lock_enter(&arena->lock))) {
        bool done = try_free(arena, pointer, stream);
        cuai_unlock(&arena->lock);
        if (CUAI_LIKELY(done))
            return CUARENA_OK;
    }
    return cuai_pointer_free(arena, pointer, stream);
}

/* Resizes in place on a stream that was seen recently: into bytes that a request on it could have,
 * if these are idle or the block is its own, or out of bytes that join its open free list. False:
 * nothing was done. Lock held. */
static CUAI_NOINLINE bool try_resize(cuarena_t *arena, cuai_slot_t slot, uint64_t attributes,
                                     uint64_t bytes, cuarena_stream_t stream)
{
    CUAI_ASSERT(bytes != 0);
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    const cuai_stream_t *s = cuai_stream_recent(arena, stream);
    if (CUAI_UNLIKELY(s == NULL || !cuai_fast_frees_on(arena, s) ||
                      (arena->slow & CUAI_SLOW_RESIZES) || !cuai_has_attributes(r, attributes)))
        return false;
    const uint32_t *freelists = s->freelists[CUAI_DYNAMIC];
    uint32_t freelist = cuai_range_freelist(r);
    if (cuai_fast_size(arena, bytes) <= r->size)
        freelist = freelists[s->turn];
    else if (freelist != 0 && (arena->cpu_touches || r->owner != s->number ||
                               (freelist != freelists[0] && freelist != freelists[1])))
        return false;
    return cuai_fast_resize(arena, slot, freelist, bytes);
}

static bool try_resize_pointer(cuarena_t *arena, const void *pointer, uint64_t bytes,
                               cuarena_stream_t stream)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (!cuai_lock_enter(&arena->lock))
        return false;
    cuai_slot_t slot = cuai_table_find(&heap->table, heap->records, cuai_address(pointer));
    bool done = try_resize(arena, slot, CUAI_POINTER_ATTRIBUTES, bytes, stream);
    cuai_unlock(&arena->lock);
    return done;
}

cuarena_status_t cuarena_resize_on(cuarena_t *arena, void *pointer, uint64_t bytes,
                                   cuarena_stream_t stream, void **pointer_out)
{
    if (CUAI_LIKELY(arena != NULL && pointer_out != NULL && bytes - 1 < CUAI_FAST_MOST) &&
        try_resize_pointer(arena, pointer, bytes, stream)) {
        *pointer_out = pointer;
        return CUARENA_OK;
    }
    return cuai_pointer_resize(arena, pointer, bytes, stream, pointer_out);
}

cuarena_status_t cuarena_block_alloc_on(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                        const cuarena_request_t *request,
                                        cuarena_block_t *block_out)
{
    if (CUAI_UNLIKELY(arena == NULL || block_out == NULL || request != NULL ||
                      bytes - 1 >= CUAI_FAST_MOST))
        return cuai_block_alloc(arena, bytes, stream, request, block_out);
    uint64_t offset;
    if (CUAI_UNLIKELY(!cuai_lock_enter(&arena->lock)))
        return cuai_block_alloc(arena, bytes, stream, request, block_out);
    cuai_slot_t slot = alloc_last_used(arena, stream, bytes, BLOCK, &offset);
    if (CUAI_UNLIKELY(slot == 0))
        slot = alloc_last_counted(arena, stream, bytes, BLOCK, &offset);
    if (CUAI_LIKELY(slot != 0))
        *block_out = cuai_id(arena->heaps[CUAI_DYNAMIC], slot);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(slot != 0) ? CUARENA_OK
                                  : cuai_block_alloc(arena, bytes, stream, NULL, block_out);
}

static CUAI_INLINE bool try_free_block(cuarena_t *arena, cuarena_block_t block,
                                       cuarena_stream_t stream)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuai_slot_t slot = cuai_slot_named(heap, block);
    const cuai_record_t *r = cuai_record(heap, slot);
    if (CUAI_UNLIKELY(!cuai_has_attributes(r, CUAI_BLOCK_ATTRIBUTES)))
        return false;
    cuai_slot_t *link = cuai_table_link_to(&heap->table, heap->records, slot);
    if (CUAI_LIKELY(arena->last_used.handle == stream))
        return free_at_once(arena, slot, link, arena->last_used.stream, NULL, BLOCK);
    cuai_stream_t *s = stream_for_free(arena, stream);
    return s == NULL ? try_cache_put(arena, slot, stream, BLOCK)
                     : free_at_once(arena, slot, link, s, counting_stream(arena, s), BLOCK);
}

cuarena_status_t cuarena_block_free_on(cuarena_t *arena, cuarena_block_t block,
                                       cuarena_stream_t stream)
{
    if (CUAI_LIKELY(arena != NULL && block != 0 && cuai_lock_enter(&arena->lock))) {
        bool done = try_free_block(arena, block, stream);
        cuai_unlock(&arena->lock);
        if (CUAI_LIKELY(done))
            return CUARENA_OK;
    }
    return cuai_block_free(arena, block, stream);
}

static bool try_resize_block(cuarena_t *arena, cuarena_block_t block, uint64_t bytes,
                             cuarena_stream_t stream)
{
    if (!cuai_lock_enter(&arena->lock))
        return false;
    cuai_slot_t slot = cuai_slot_named(arena->heaps[CUAI_DYNAMIC], block);
    bool done = try_resize(arena, slot, CUAI_BLOCK_ATTRIBUTES, bytes, stream);
    cuai_unlock(&arena->lock);
    return done;
}

cuarena_status_t cuarena_block_resize_on(cuarena_t *arena, cuarena_block_t block, uint64_t bytes,
                                         cuarena_stream_t stream)
{
    if (CUAI_LIKELY(arena != NULL && bytes - 1 < CUAI_FAST_MOST) &&
        try_resize_block(arena, block, bytes, stream))
        return CUARENA_OK;
    return cuai_block_resize(arena, block, bytes, stream);
}

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
    cuai_stream_await_introductions(arena, stream);
    if (cuai_stream_known(arena, stream) != 0 && !cuai_is_lost(arena))
        status = cuai_stream_find(arena, stream, &number);
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
    cuai_counts_t counts = cuai_stream_counts(arena, s);
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
        return cuai_null("stats, or its struct_size");
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
