/* The private bytes of capture sessions: stretches, blocks, and what becomes of them. See
 * capture.h. */
#include "arena/capture.h"
#include "heap/freelists.h"

#include <string.h>

#include "arena/alloc.h"
#include "arena/annotate.h"
#include "arena/dedicated.h"
#include "arena/find.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/uses.h"

/* A stretch may exceed its request by so small a share of the idle bytes. */
#define SHARE 8

/* ---- Stretches --------------------------------------------------------- */

/* The first stretch that ends above an address. O(log stretches). */
static size_t stretch_above(const cuai_captures_t *captures, uint64_t address)
{
    size_t low = 0;
    size_t high = captures->stretch_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (captures->stretches[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

cuarena_capture_t *cuai_capture_around(const cuarena_t *arena, uint64_t address)
{
    const cuai_captures_t *captures = &arena->captures;
    size_t at = stretch_above(captures, address);
    bool inside = at < captures->stretch_count && captures->stretches[at].begin <= address;
    return inside ? captures->stretches[at].capture : NULL;
}

static bool ready_stretch(cuai_captures_t *captures)
{
    void *items = cuai_host_make_room(captures->stretches, captures->stretch_count,
                                      &captures->stretch_room, sizeof *captures->stretches);
    if (items != NULL)
        captures->stretches = items;
    return items != NULL;
}

/* The caller has made room (ready_stretch). */
static void add_stretch(cuai_captures_t *captures, const cuai_stretch_t *stretch)
{
    CUAI_ASSERT(captures->stretch_count < captures->stretch_room);
    CUAI_ASSERT(stretch->begin < stretch->end);
    size_t at = stretch_above(captures, stretch->begin);
    memmove(&captures->stretches[at + 1], &captures->stretches[at],
            (captures->stretch_count - at) * sizeof *stretch);
    captures->stretches[at] = *stretch;
    captures->stretch_count++;
}

/* Notes that the bytes were handed out. A block may lie in several stretches that touch. */
static void touch(cuai_captures_t *captures, uint64_t begin, uint64_t end)
{
    size_t at = stretch_above(captures, begin);
    for (; at < captures->stretch_count && captures->stretches[at].begin < end; at++) {
        cuai_stretch_t *stretch = &captures->stretches[at];
        uint64_t top = cuai_min(end, stretch->end);
        stretch->touched = cuai_max(stretch->touched, top);
    }
}

void cuai_capture_drop_stretches(cuarena_t *arena, const cuarena_capture_t *capture)
{
    cuai_assert_locked(arena);
    cuai_captures_t *captures = &arena->captures;
    size_t kept = 0;
    for (size_t i = 0; i < captures->stretch_count; i++) {
        const cuai_stretch_t *stretch = &captures->stretches[i];
        if (stretch->capture != capture)
            captures->stretches[kept++] = *stretch;
        else if (cuai_is_annotated(arena))
            cuai_annotate_released(arena, stretch->begin, stretch->end);
    }
    captures->stretch_count = kept;
}

/* ---- Allocating -------------------------------------------------------- */

/* A stretch is as long as all that the stream has, within bounds, so that at most half of it is
 * more than the stream needs, and stretches are few. */
static uint64_t stretch_bytes(const cuarena_heap_t *heap, const cuai_stream_t *s, uint64_t size)
{
    uint64_t share =
        cuai_align_down(heap->freelists[0]->free_bytes / SHARE, heap->granule_mask + 1);
    return cuai_max(size, cuai_min(s->private_bytes, share));
}

static cuarena_status_t assign_stretch(cuarena_t *arena, int32_t region,
                                       const cuai_request_t *request)
{
    cuarena_heap_t *heap = arena->heaps[region];
    cuai_stream_t *s = cuai_stream(arena, request->stream);
    CUAI_ASSERT(s->capture->open);
    uint32_t freelist = s->freelists[CUAI_PRIVATE][region];
    uint64_t bytes = stretch_bytes(heap, s, request->size);
    uint64_t begin;
    if (!ready_stretch(&arena->captures))
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a session's private bytes");
    cuarena_status_t status =
        cuai_stretch_assign(heap, freelist, bytes, request->heap.alignment, &begin);
    if (status != CUARENA_OK && bytes > request->size) {
        bytes = request->size;
        status = cuai_stretch_assign(heap, freelist, bytes, request->heap.alignment, &begin);
    }
    if (status != CUARENA_OK)
        return status;
    cuai_stretch_t stretch = {begin, begin + bytes, begin, s->capture, s->number, region, false};
    add_stretch(&arena->captures, &stretch);
    s->private_bytes += bytes;
    s->capture->bytes += bytes;
    arena->captures.bytes += bytes;
    return CUARENA_OK;
}

/* Allocates from the lower end, so that what was never handed out stays together above. */
static cuarena_status_t alloc_from(const cuarena_t *arena, cuarena_heap_t *heap, uint32_t freelist,
                                   const cuai_request_t *request, cuai_slot_t *slot_out)
{
    cuarena_heap_request_t asked = request->heap;
    asked.freelist = freelist;
    asked.low = 1;
    if (heap->freelists[freelist]->free_bytes < request->size)
        return CUARENA_OUT_OF_MEMORY;
    return cuai_heap_try_alloc(heap, &asked, request->size, cuai_live_left(arena, request->credit),
                               false, slot_out);
}

cuarena_status_t cuai_capture_try_alloc(cuarena_t *arena, int32_t region,
                                        const cuai_request_t *request, cuai_slot_t *slot_out)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(cuai_is_captured(arena, request->stream));
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_stream_t *s = cuai_stream(arena, request->stream);
    uint32_t freelist = s->freelists[CUAI_PRIVATE][region];
    cuarena_status_t status = alloc_from(arena, heap, freelist, request, slot_out);
    if (status == CUARENA_OUT_OF_MEMORY || status == CUARENA_FRAGMENTED) {
        status = assign_stretch(arena, region, request);
        if (status == CUARENA_OK)
            status = alloc_from(arena, heap, freelist, request, slot_out);
    }
    if (status != CUARENA_OK)
        return status;
    cuai_record_t *r = cuai_record(heap, *slot_out);
    r->fixed = 1;
    touch(&arena->captures, r->offset, cuai_end(r));
    cuai_counter_begin_block(&s->capture->counter, r);
    return CUARENA_OK;
}

/* ---- What a free leaves ------------------------------------------------ */

void cuai_capture_note(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number)
{
    cuai_assert_locked(arena);
    if (number == 0 || cuai_set_has(&capture->streams, number))
        return;
    cuai_set_add(&capture->streams, number);
    cuai_stream(arena, number)->waits++;
}

bool cuai_capture_note_uses(cuarena_t *arena, cuarena_capture_t *capture, cuai_block_ref_t ref,
                            uint32_t number)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    if (!(r->flags & CUAI_BLOCK_USED))
        return false;
    const cuai_use_t *use = cuai_use_find(arena, cuai_id(ref.heap, ref.slot));
    bool others = false;
    for (uint32_t i = 0; i < use->count; i++) {
        cuai_capture_note(arena, capture, use->waits[i].stream);
        others = others || use->waits[i].stream != number;
    }
    return others;
}

/* The free list of a stream that is a member and may reuse the bytes at once; 0: it is not, or must
 * not. */
static uint32_t member_freelist(const cuarena_t *arena, cuai_block_ref_t ref,
                                const cuarena_capture_t *capture, uint32_t number)
{
    CUAI_ASSERT(ref.region < CUAI_LISTED);
    const cuai_stream_t *s = number == 0 ? NULL : cuai_stream(arena, number);
    if (s == NULL || s->capture != capture || arena->cpu_touches)
        return 0;
    return s->freelists[CUAI_PRIVATE][ref.region];
}

/* Without a stream the one decides on which the block was allocated. A block that an export kept
 * beyond its free is in the order of no stream. */
uint32_t cuai_capture_heir(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->fixed && cuai_capture_around(arena, r->offset) != NULL);
    cuarena_capture_t *capture = cuai_capture_around(arena, r->offset);
    uint32_t number = stream != 0 ? stream : r->owner;
    cuai_capture_note(arena, capture, stream);
    bool shared =
        cuai_capture_note_uses(arena, capture, ref, number) || (r->flags & CUAI_BLOCK_ENDING);
    uint32_t freelist = shared ? 0 : member_freelist(arena, ref, capture, number);
    return freelist != 0 ? freelist : capture->kept[ref.region];
}

uint32_t cuai_capture_free(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    uint32_t freelist = cuai_capture_heir(arena, ref, stream);
    cuai_counter_end_block(&cuai_capture_around(arena, r->offset)->counter, r);
    cuai_use_drop(arena, ref);
    return freelist;
}

/* ---- Dedicated blocks --------------------------------------------------- */

bool cuai_capture_ready(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    return !cuai_is_captured(arena, number) || ready_stretch(&arena->captures);
}

void cuai_capture_adopt(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(ref.region == CUAI_APART && !r->fixed);
    if (!cuai_is_captured(arena, number))
        return;
    const cuai_stream_t *s = cuai_stream(arena, number);
    cuai_stretch_t stretch = {.begin = r->offset,
                              .end = cuai_end(r),
                              .touched = cuai_end(r),
                              .capture = s->capture,
                              .stream = number,
                              .region = CUAI_APART};
    add_stretch(&arena->captures, &stretch);
    s->capture->bytes += r->size;
    arena->captures.bytes += r->size;
    r->fixed = 1;
    cuai_counter_begin_block(&s->capture->counter, r);
}

/* The block's segment is no longer the session's. */
static void disown(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_captures_t *captures = &arena->captures;
    cuai_record_t *r = cuai_block_record(ref);
    size_t at = stretch_above(captures, r->offset);
    CUAI_ASSERT(at < captures->stretch_count && captures->stretches[at].begin == r->offset);
    captures->stretches[at].capture->bytes -= r->size;
    captures->bytes -= r->size;
    captures->stretch_count--;
    memmove(&captures->stretches[at], &captures->stretches[at + 1],
            (captures->stretch_count - at) * sizeof *captures->stretches);
    r->fixed = 0;
}

void cuai_capture_keep(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    cuai_assert_locked(arena);
    cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->fixed && ref.region == CUAI_APART);
    cuai_captures_t *captures = &arena->captures;
    cuai_stretch_t *stretch = &captures->stretches[stretch_above(captures, r->offset)];
    cuai_capture_note(arena, stretch->capture, stream);
    cuai_capture_note_uses(arena, stretch->capture, ref, 0);
    cuai_counter_end_block(&stretch->capture->counter, r);
    cuai_mark_ending(arena, r);
    stretch->over = true;
}

/* The block of a stretch that is over; heap NULL: there is none. */
static cuai_block_ref_t find_over(const cuarena_t *arena, const cuarena_capture_t *capture)
{
    const cuai_captures_t *captures = &arena->captures;
    cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    for (size_t i = 0; i < captures->stretch_count; i++) {
        const cuai_stretch_t *s = &captures->stretches[i];
        if (s->capture == capture && s->over)
            return (cuai_block_ref_t){heap, cuai_table_find(&heap->table, heap->records, s->begin),
                                      CUAI_APART};
    }
    return (cuai_block_ref_t){0};
}

bool cuai_capture_give_back(cuarena_t *arena, const cuarena_capture_t *capture)
{
    cuai_assert_locked(arena);
    cuai_block_ref_t ref = find_over(arena, capture);
    if (ref.heap == NULL)
        return false;
    cuarena_memory_segment_t segment = cuai_dedicated_segment(cuai_block_record(ref));
    disown(arena, ref);
    cuai_use_drop(arena, ref);
    cuai_end_block(arena, ref, 0);
    cuai_return_segment(arena, segment, 0);
    return true;
}

void cuai_capture_uncount(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->fixed);
    cuai_counter_t *counter = &cuai_capture_around(arena, r->offset)->counter;
    cuai_counter_uncount(counter);
    if (ref.region != CUAI_APART)
        return;
    cuai_counter_end_block(counter, r);
    disown(arena, ref);
}

/* ---- Resizing in place ------------------------------------------------- */

uint32_t cuai_capture_grows_into(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    const cuai_record_t *r = cuai_block_record(ref);
    const cuarena_capture_t *capture = cuai_capture_around(arena, r->offset);
    return member_freelist(arena, ref, capture, stream != 0 ? stream : r->owner);
}

void cuai_capture_resized(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                          uint64_t more_requested)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(r->fixed);
    cuarena_capture_t *capture = cuai_capture_around(arena, r->offset);
    cuai_counter_resize(&capture->counter, more, more_requested);
    touch(&arena->captures, r->offset, cuai_end(r));
}

/* ---- What was never handed out ----------------------------------------- */

/* Where the host has no memory for that, the session keeps the bytes. */
static uint64_t reclaim_untouched(cuarena_t *arena, cuai_stretch_t *stretch)
{
    CUAI_ASSERT(stretch->begin <= stretch->touched && stretch->touched <= stretch->end);
    cuai_stream_t *s = cuai_stream(arena, stretch->stream);
    uint64_t bytes = stretch->end - stretch->touched;
    if (bytes == 0 || cuai_stretch_reclaim(arena->heaps[stretch->region],
                                           s->freelists[CUAI_PRIVATE][stretch->region],
                                           stretch->touched, stretch->end) != CUARENA_OK)
        return 0;
    stretch->end = stretch->touched;
    s->private_bytes -= bytes;
    stretch->capture->bytes -= bytes;
    arena->captures.bytes -= bytes;
    return bytes;
}

uint64_t cuai_capture_reclaim(cuarena_t *arena, cuarena_capture_t *capture)
{
    cuai_assert_locked(arena);
    cuai_captures_t *captures = &arena->captures;
    uint64_t bytes = 0;
    size_t kept = 0;
    for (size_t i = 0; i < captures->stretch_count; i++) {
        cuai_stretch_t *stretch = &captures->stretches[i];
        if (stretch->capture == capture)
            bytes += reclaim_untouched(arena, stretch);
        if (stretch->begin != stretch->end)
            captures->stretches[kept++] = *stretch;
    }
    captures->stretch_count = kept;
    return bytes;
}

uint64_t cuai_captures_reclaim(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    uint64_t bytes = 0;
    if (arena->capturing == 0)
        return 0;
    for (cuarena_capture_t *c = arena->captures.first; c != NULL; c = c->next)
        if (c->open)
            bytes += cuai_capture_reclaim(arena, c);
    return bytes;
}

uint64_t cuai_capture_untouched(const cuarena_t *arena, const cuarena_capture_t *capture)
{
    const cuai_captures_t *captures = &arena->captures;
    uint64_t most = 0;
    for (size_t i = 0; i < captures->stretch_count; i++) {
        const cuai_stretch_t *stretch = &captures->stretches[i];
        if (stretch->capture == capture)
            most = cuai_max(most, stretch->end - stretch->touched);
    }
    return most;
}

/* ---- Blocks of captured streams ---------------------------------------- */

static bool names_captured(const cuarena_t *arena, const cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_stream_set_t set = {{0, 0}};
    cuai_set_add_block(arena, &set, heap, slot);
    for (uint32_t n = 0; cuai_set_next(&set, &n);)
        if (cuai_is_captured(arena, n))
            return true;
    return false;
}

/* Private blocks stay as they are: a block that is fixed and not private was fixed here. */
void cuai_captures_hold(cuarena_t *arena, bool held)
{
    cuai_assert_locked(arena);
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (arena->capturing == 0)
        return;
    for (cuai_slot_t slot = 1; slot < heap->unused; slot++) {
        cuai_record_t *r = cuai_record(heap, slot);
        if (r->kind != CUAI_BLOCK)
            continue;
        if (held && !r->fixed)
            r->fixed = names_captured(arena, heap, slot);
        else if (!held && cuai_capture_around(arena, r->offset) == NULL)
            r->fixed = 0;
    }
}
