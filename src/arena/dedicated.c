/* Dedicated blocks, each with a segment of its own, and adopted ones. */
#include "arena/dedicated.h"
#include "arena/alloc.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/find.h"
#include "arena/grow.h"
#include "arena/life.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "arena/uses.h"
#include "arena/zero.h"
#include "base/log.h"

/* Makes the heap of the APART region at the first block there. */
static cuarena_status_t ready_apart(cuarena_t *arena)
{
    if (arena->heaps[CUAI_APART] != NULL)
        return CUARENA_OK;
    cuarena_status_t status = cuai_heap_for(arena, UINT64_MAX, &arena->heaps[CUAI_APART]);
    if (status == CUARENA_OK)
        cuai_begin_whole(arena);
    return status;
}

static cuai_block_ref_t block_apart(const cuarena_t *arena, cuai_slot_t slot)
{
    return (cuai_block_ref_t){arena->heaps[CUAI_APART], slot, CUAI_APART};
}

/* What a dedicated block's record keeps of its segment besides place and size. */
static cuai_note_t note_of(const cuarena_memory_segment_t *segment)
{
    return (cuai_note_t){{segment->address_bytes, cuai_address(segment->cookie)}};
}

cuarena_memory_segment_t cuai_dedicated_segment(const cuai_record_t *r)
{
    cuai_note_t note = cuai_note_of(r);
    return (cuarena_memory_segment_t){
        .address = r->offset,
        .bytes = r->size,
        .address_bytes = note.words[0],
        .cookie = cuai_pointer(note.words[1]),
    };
}

static cuarena_status_t check_dedicated(const cuarena_t *arena, const cuai_request_t *request)
{
    uint64_t alignment = request->heap.alignment;
    if (alignment <= arena->memory.ops.alignment)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "alignment %llu of a dedicated block: memory '%s' gives "
                     "segments aligned to %llu",
                     (unsigned long long)alignment, arena->memory.ops.name,
                     (unsigned long long)arena->memory.ops.alignment);
}

/* The stream in whose order a request's segment is got: its own, `handle`, where the memory can do
 * that; CUARENA_NO_STREAM: none, and everybody may use the segment at once. */
static cuarena_stream_t stream_for(const cuarena_t *arena, uint32_t number, cuarena_stream_t handle)
{
    bool ordered =
        arena->memory.ops.get_on != NULL && number != 0 && !cuai_is_captured(arena, number);
    return ordered ? handle : CUARENA_NO_STREAM;
}

/* Gets bytes in the order of *stream, which becomes CUARENA_NO_STREAM if it turns out to be
 * captured. No lock. */
static cuarena_status_t get_bytes(const cuarena_t *arena, uint64_t bytes, cuarena_stream_t *stream,
                                  cuarena_memory_segment_t *segment)
{
    cuarena_status_t status = CUARENA_BUSY;
    if (*stream != CUARENA_NO_STREAM)
        status = cuai_mem_get_on(arena, bytes, *stream, segment);
    if (status != CUARENA_BUSY)
        return status;
    *stream = CUARENA_NO_STREAM;
    return cuai_mem_get(arena, bytes, bytes, segment);
}

/* Gets a segment and sets it to 0 if it must be; *stream becomes CUARENA_NO_STREAM if it turns out
 * to be captured. Called without the lock. */
static cuarena_status_t get_segment(const cuarena_t *arena, uint64_t bytes,
                                    cuarena_stream_t *stream, cuarena_memory_segment_t *segment)
{
    cuarena_status_t status = get_bytes(arena, bytes, stream, segment);
    if (status != CUARENA_OK)
        return status;
    status = cuai_zero_fresh(arena, segment->address, bytes, *stream);
    if (status != CUARENA_OK)
        cuai_mem_give_on(arena, segment, *stream);
    return status;
}

/* Takes the host memory for a free on a stream, where the segment cannot go back at once then: in
 * no stream's order, or because a session that is open has the stream. */
static cuarena_status_t ready_for_free(cuarena_t *arena, cuai_block_ref_t ref)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    bool waits = ops->identify != NULL && (ops->give_on == NULL || arena->capturing != 0);
    return waits ? cuai_use_add(arena, ref, 0) : CUARENA_OK;
}

cuarena_status_t cuai_dedicated_ready_for_capture(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    const cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    cuarena_status_t status = CUARENA_OK;
    for (cuai_slot_t slot = 0; (slot = cuai_heap_next_standalone(heap, slot)) != 0;)
        if (status == CUARENA_OK &&
            !(cuai_record(heap, slot)->flags & (CUAI_BLOCK_USED | CUAI_BLOCK_ENDING)))
            status = cuai_use_add(arena, block_apart(arena, slot), 0);
    return status;
}

static cuarena_status_t keep_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                       const cuarena_memory_segment_t *segment,
                                       cuai_block_ref_t *block_out)
{
    CUAI_ASSERT(arena->heaps[CUAI_APART] != NULL && segment->bytes != 0);
    if (!cuai_capture_ready(arena, request->stream))
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a dedicated segment");
    cuai_slot_t slot;
    cuai_prepare_counts(arena, request, CUAI_APART);
    cuarena_status_t status =
        cuai_heap_add_standalone(arena->heaps[CUAI_APART], segment->address, segment->bytes,
                                 &request->heap, note_of(segment), &slot);
    if (status != CUARENA_OK)
        return status;
    *block_out = block_apart(arena, slot);
    cuai_count_in(arena, cuai_block_record(*block_out));
    status = ready_for_free(arena, *block_out);
    if (status != CUARENA_OK) {
        cuai_uncount_block(arena, *block_out);
        cuai_end_block(arena, *block_out, 0);
        return status;
    }
    cuai_capture_adopt(arena, *block_out, request->stream);
    return status;
}

/* How many bytes the segment takes of the memory. */
static uint64_t dedicated_bytes(const cuarena_t *arena, uint64_t size)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    return cuai_align_up(size, ops->least_bytes != 0 ? ops->least_bytes : ops->granularity);
}

static cuarena_status_t may_alloc(cuarena_t *arena, const cuai_request_t *request, uint64_t bytes)
{
    cuarena_status_t status = check_dedicated(arena, request);
    if (status == CUARENA_OK)
        status = cuai_check_reserved_limit(arena, bytes);
    if (status == CUARENA_OK)
        status = cuai_check_live(arena, bytes, 0);
    return status == CUARENA_OK ? ready_apart(arena) : status;
}

/* Allocates a dedicated block; the caller touches the request's stream, whose handle this is. Drops
 * the lock. */
static cuarena_status_t alloc_on(cuarena_t *arena, const cuai_request_t *request,
                                 cuarena_stream_t handle, cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    uint64_t bytes = dedicated_bytes(arena, request->size);
    cuarena_status_t status = may_alloc(arena, request, bytes);
    if (status != CUARENA_OK)
        return status;
    cuarena_memory_segment_t segment = {0};
    cuarena_stream_t stream = stream_for(arena, request->stream, handle);
    arena->reserving += bytes;
    cuai_unlock(&arena->lock);
    status = get_segment(arena, bytes, &stream, &segment);
    cuai_arena_lock(arena);
    bool got = status == CUARENA_OK;
    if (got)
        status = keep_dedicated(arena, request, &segment, block_out);
    if (status == CUARENA_OK) {
        cuai_count_reserved(arena, bytes);
    } else if (got) {
        cuai_unlock(&arena->lock);
        cuai_mem_give_on(arena, &segment, stream);
        cuai_arena_lock(arena);
    }
    arena->reserving -= bytes;
    return status;
}

cuarena_status_t cuai_alloc_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                      cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    cuarena_stream_t handle = cuai_stream_touch(arena, request->stream);
    cuarena_status_t status = alloc_on(arena, request, handle, block_out);
    cuai_stream_untouch(arena, request->stream);
    return status;
}

void cuai_return_waited(cuarena_t *arena, cuarena_memory_segment_t segment, cuarena_stream_t stream,
                        cuarena_status_t waited)
{
    cuai_assert_locked(arena);
    cuai_unlock(&arena->lock);
    if (waited == CUARENA_OK || waited == CUARENA_LOST)
        cuai_mem_give_on(arena, &segment, stream);
    else
        cuai_log(CUARENA_LOG_WARN, "%s: %llu bytes that a stream may be using are not given back",
                 arena->label, (unsigned long long)segment.bytes);
    cuai_arena_lock(arena);
}

void cuai_return_segment(cuarena_t *arena, cuarena_memory_segment_t segment, uint32_t number)
{
    cuai_assert_locked(arena);
    bool ordered = arena->memory.ops.give_on != NULL && !cuai_is_lost(arena);
    uint32_t touched = ordered ? number : 0;
    CUAI_ASSERT(!cuai_is_captured(arena, touched));
    cuai_count_reserved(arena, 0 - segment.bytes);
    cuarena_stream_t stream;
    cuarena_status_t status = cuai_stream_touch_for_work(arena, touched, &stream);
    cuai_return_waited(arena, segment, stream, status);
    cuai_stream_untouch(arena, touched);
}

bool cuai_goes_back_on(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    const cuai_record_t *r = cuai_block_record(ref);
    return number != 0 && (r->flags & CUAI_BLOCK_DEDICATED) && !r->fixed &&
           !cuai_is_captured(arena, number) && arena->memory.ops.give_on != NULL &&
           !cuai_is_lost(arena);
}

static bool overlaps(const cuarena_memory_segment_t *segment, uint64_t begin, uint64_t end)
{
    return begin < segment->address + segment->address_bytes && segment->address < end;
}

/* Whether some of these bytes are of a segment of the arena. O(segments + dedicated blocks). */
static bool is_ours(const cuarena_t *arena, uint64_t begin, uint64_t end)
{
    for (size_t i = 0; i < arena->segments.count; i++)
        if (overlaps(&arena->segments.items[i], begin, end))
            return true;
    const cuarena_heap_t *apart = arena->heaps[CUAI_APART];
    for (cuai_slot_t slot = 0; (slot = cuai_heap_next_standalone(apart, slot)) != 0;) {
        cuarena_memory_segment_t segment = cuai_dedicated_segment(cuai_record(apart, slot));
        if (overlaps(&segment, begin, end))
            return true;
    }
    return false;
}

/* Adds a segment that the block fills. */
static cuarena_status_t add_adopted(cuarena_t *arena, const cuai_request_t *request,
                                    uint64_t address, cuai_block_ref_t *block_out)
{
    CUAI_ASSERT(arena->heaps[CUAI_APART] != NULL);
    cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    cuarena_block_t block;
    cuai_prepare_counts(arena, request, CUAI_APART);
    cuarena_status_t status =
        cuarena_heap_segment_add_block(heap, address, request->size, &request->heap, &block);
    if (status != CUARENA_OK)
        return status;
    *block_out = block_apart(arena, cuai_slot_of(heap, block));
    cuai_count_in(arena, cuai_block_record(*block_out));
    arena->adopted_bytes += request->size;
    return CUARENA_OK;
}

cuarena_status_t cuai_adopt(cuarena_t *arena, const cuai_request_t *request, uint64_t address,
                            cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    uint64_t end = address + request->size;
    if (is_ours(arena, address, end))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "[%#llx, %#llx) overlaps the arena's own bytes",
                         (unsigned long long)address, (unsigned long long)end);
    cuarena_status_t status = cuai_check_live(arena, request->size, 0);
    if (status != CUARENA_OK)
        return cuai_fail(status,
                         "%llu adopted bytes exceed the limit of live "
                         "bytes",
                         (unsigned long long)request->size);
    status = ready_apart(arena);
    if (status == CUARENA_OK)
        status = add_adopted(arena, request, address, block_out);
    return status;
}
