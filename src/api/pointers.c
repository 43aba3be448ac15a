/*
 * The pointer calls.
 *
 * The fast path of a call checks its arguments, takes the lock, allocates or frees in the heap, and
 * lets go of the lock. Where anything out of the ordinary is met (a bit of `slow`, no room, a block
 * with special attributes), the call begins again on the slow path, cuai_pointer_..., which does
 * everything.
 */
#include "api/fast.h"

/* ---- Allocation -------------------------------------------------------- */

CUAI_NOINLINE cuarena_status_t cuai_pointer_alloc(cuarena_t *arena, uint64_t bytes,
                                                  cuarena_stream_t stream,
                                                  const cuarena_request_t *asked,
                                                  void **pointer_out)
{
    if (arena == NULL || pointer_out == NULL)
        return cuai_null("arena or pointer_out");
    cuai_request_t request;
    cuarena_status_t status = cuai_request_make(arena, bytes, asked, &request);
    if (status != CUARENA_OK)
        return cuai_told(status);
    if (bytes == 0) {
        *pointer_out = NULL;
        return CUARENA_OK;
    }
    request.heap.pins = 1;
    request.heap.flags |= CUAI_POINTER_FLAGS;
    if (request.dedicated)
        request.heap.flags |= CUAI_BLOCK_DEDICATED;
    cuai_call_t call;
    cuai_block_ref_t ref;
    status = cuai_call_begin(&call, arena);
    if (status != CUARENA_OK)
        return status;
    status = cuai_request_on(&call, stream, &request);
    if (status == CUARENA_OK)
        status = cuai_alloc_slow(&call, &request, &ref);
    if (status == CUARENA_OK)
        *pointer_out = cuai_pointer(cuai_block_record(ref)->offset);
    return cuai_call_end(&call, status);
}

static CUAI_NOINLINE cuarena_status_t alloc_slow(cuarena_t *arena, uint64_t bytes,
                                                 void **pointer_out)
{
    return cuai_pointer_alloc(arena, bytes, CUARENA_NO_STREAM, NULL, pointer_out);
}

/* From the idle free list of a heap, plain or not; 0: it has no room. */
static CUAI_INLINE cuai_slot_t alloc_idle(cuarena_t *arena, int32_t region, uint64_t bytes,
                                          uint64_t attributes, uint64_t *offset_out)
{
    CUAI_ASSERT(bytes != 0);
    cuarena_heap_t *heap = arena->heaps[region];
    cuai_slot_t slot =
        cuai_heap_fast_alloc(heap, cuai_fast_size(arena, bytes), bytes, attributes, offset_out);
    if (CUAI_LIKELY(slot != 0) || heap->plain)
        return slot;
    slot = cuai_fast_alloc_idle(arena, region, bytes, attributes);
    *offset_out = cuai_record(heap, slot)->offset;
    return slot;
}

/* From the free bytes that one heap has now; false: nothing was done. Lock held. */
static CUAI_INLINE bool try_alloc(cuarena_t *arena, int32_t region, uint64_t bytes,
                                  cuarena_tag_t tag, uint64_t attributes, void **pointer_out)
{
    CUAI_ASSERT(bytes != 0 && arena->heaps[region] != NULL);
    uint64_t offset;
    if (CUAI_UNLIKELY(!cuai_fast_allocs(arena) || !cuai_tag_known(arena, tag)))
        return false;
    cuai_slot_t slot = alloc_idle(arena, region, bytes, attributes, &offset);
    if (CUAI_UNLIKELY(slot == 0))
        return false;
    *pointer_out = cuai_pointer(offset);
    if (tag != 0) {
        cuai_record_t *r = cuai_record(arena->heaps[region], slot);
        r->asked = cuai_asked(bytes, tag);
        cuai_tag_alloc(arena, r);
    }
    if (CUAI_UNLIKELY(arena->slow & CUAI_SLOW_WHOLE))
        cuai_note_whole(arena);
    return true;
}

/* A pointer of the dynamic region without a tag, in an arena with bits of `slow`. A copy of the
 * code of its own keeps try_alloc_plain free of these checks. */
static CUAI_OUTLINE bool try_alloc_checked(cuarena_t *arena, uint64_t bytes, void **pointer_out)
{
    CUAI_ASSERT((arena->slow & CUAI_SLOW_CACHE) == 0);
    return try_alloc(arena, CUAI_DYNAMIC, bytes, 0, CUAI_POINTER_ATTRIBUTES, pointer_out);
}

static CUAI_INLINE bool try_alloc_plain(cuarena_t *arena, uint64_t bytes, void **pointer_out)
{
    CUAI_ASSERT(arena->slow == 0);
    uint64_t offset;
    if (CUAI_UNLIKELY(alloc_idle(arena, CUAI_DYNAMIC, bytes, CUAI_POINTER_ATTRIBUTES, &offset) ==
                      0))
        return false;
    *pointer_out = cuai_pointer(offset);
    return true;
}

cuarena_status_t cuarena_alloc(cuarena_t *arena, uint64_t bytes, void **pointer_out)
{
    if (CUAI_UNLIKELY(arena == NULL || pointer_out == NULL || bytes - 1 >= CUAI_FAST_MOST))
        return alloc_slow(arena, bytes, pointer_out);
    bool done;
    if (CUAI_UNLIKELY(!cuai_lock_enter(&arena->lock)))
        return alloc_slow(arena, bytes, pointer_out);
    if (CUAI_LIKELY(arena->slow == 0))
        done = try_alloc_plain(arena, bytes, pointer_out);
    else if (arena->slow & CUAI_SLOW_CACHE)
        done = cuai_fast_cache_get(arena, NULL, bytes, CUAI_POINTER_ATTRIBUTES, pointer_out) != 0;
    else
        done = try_alloc_checked(arena, bytes, pointer_out);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(done) ? CUARENA_OK : alloc_slow(arena, bytes, pointer_out);
}

void cuarena_request_init(cuarena_request_t *request)
{
    *request = (cuarena_request_t){.struct_size = sizeof *request};
}

/* Whether a request names a region and perhaps a tag, and nothing else. */
static bool is_ordinary(const cuarena_request_t *request)
{
    return request->struct_size == sizeof *request && request->alignment == 0 &&
           request->zeroed == 0 && request->dedicated == 0;
}

static bool try_alloc_region(cuarena_t *arena, uint64_t bytes, const cuarena_request_t *request,
                             void **pointer_out)
{
    int32_t region = request->region;
    uint64_t attributes = CUAI_POINTER_ATTRIBUTES;
    if (region == CUARENA_REGION_STABLE)
        attributes = CUAI_STABLE_ATTRIBUTES;
    else if (region != CUARENA_REGION_DYNAMIC)
        return false;
    if (arena->heaps[region] == NULL || !cuai_lock_enter(&arena->lock))
        return false;
    bool done = try_alloc(arena, region, bytes, request->tag, attributes, pointer_out);
    cuai_unlock(&arena->lock);
    return done;
}

cuarena_status_t cuarena_alloc_with(cuarena_t *arena, uint64_t bytes,
                                    const cuarena_request_t *request, void **pointer_out)
{
    if (request == NULL)
        return cuarena_alloc(arena, bytes, pointer_out);
    bool ordinary =
        arena != NULL && pointer_out != NULL && bytes - 1 < CUAI_FAST_MOST && is_ordinary(request);
    if (ordinary && try_alloc_region(arena, bytes, request, pointer_out))
        return CUARENA_OK;
    return cuai_pointer_alloc(arena, bytes, CUARENA_NO_STREAM, request, pointer_out);
}

cuarena_status_t cuarena_alloc_array(cuarena_t *arena, uint64_t count, uint64_t size,
                                     const cuarena_request_t *request, void **pointer_out)
{
    uint64_t bytes;
    if (!cuai_mul_checked(count, size, &bytes))
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT,
                                   "%llu elements of %llu bytes exceed 2^64 bytes",
                                   (unsigned long long)count, (unsigned long long)size));
    return cuarena_alloc_with(arena, bytes, request, pointer_out);
}

/* ---- Free -------------------------------------------------------------- */

CUAI_NOINLINE cuarena_status_t cuai_pointer_free(cuarena_t *arena, void *pointer,
                                                 cuarena_stream_t stream)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (pointer == NULL)
        return CUARENA_OK;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on_free(&call, stream);
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (status == CUARENA_OK)
        status =
            ref.heap == NULL ? cuai_no_pointer(pointer) : cuai_release(&call, ref, call.stream);
    return cuai_call_end(&call, status);
}

/* Frees an ordinary block of a region; false: nothing was done. Lock held. */
static CUAI_INLINE bool try_free(cuarena_t *arena, int32_t region, const void *pointer,
                                 uint64_t attributes)
{
    CUAI_ASSERT(arena->heaps[region] != NULL);
    cuarena_heap_t *heap = arena->heaps[region];
    cuai_slot_t *link = cuai_table_link(&heap->table, heap->records, cuai_address(pointer));
    cuai_slot_t slot = *link;
    const cuai_record_t *r = cuai_record(heap, slot);
    if (CUAI_UNLIKELY(!cuai_has_attributes(r, attributes)))
        return false;
    if (CUAI_UNLIKELY(!heap->plain)) {
        cuai_fast_free_idle(arena, region, slot, link);
        return true;
    }
    if (CUAI_UNLIKELY(cuai_tag_of(r) != 0))
        cuai_tag_free(arena, r);
    cuai_heap_fast_free(heap, slot, link);
    return true;
}

/* The same in an arena with several regions or a cache. A copy of the code of its own: a processor
 * predicts well which of the two runs, but would have to wait for an address that says in which
 * heap to look. */
static CUAI_OUTLINE bool try_free_checked(cuarena_t *arena, const void *pointer)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (arena->slow & CUAI_SLOW_CACHE)
        return cuai_fast_cache_put(
            arena, cuai_table_find(&heap->table, heap->records, cuai_address(pointer)),
            CUAI_POINTER_ATTRIBUTES, NULL);
    if (!cuai_fast_frees(arena))
        return false;
    if (cuai_is_stable(arena, pointer))
        return try_free(arena, CUAI_STABLE, pointer, CUAI_STABLE_ATTRIBUTES);
    return try_free(arena, CUAI_DYNAMIC, pointer, CUAI_POINTER_ATTRIBUTES);
}

cuarena_status_t cuarena_free(cuarena_t *arena, void *pointer)
{
    if (CUAI_UNLIKELY(arena == NULL || pointer == NULL))
        return cuai_pointer_free(arena, pointer, CUARENA_NO_STREAM);
    bool done;
    if (CUAI_UNLIKELY(!cuai_lock_enter(&arena->lock)))
        return cuai_pointer_free(arena, pointer, CUARENA_NO_STREAM);
    if (CUAI_LIKELY((arena->slow &
                     ~(CUAI_SLOW_FREELISTS | CUAI_SLOW_ONLY_STREAM | CUAI_SLOW_RESIZES)) == 0))
        done = try_free(arena, CUAI_DYNAMIC, pointer, CUAI_POINTER_ATTRIBUTES);
    else
        done = try_free_checked(arena, pointer);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(done) ? CUARENA_OK : cuai_pointer_free(arena, pointer, CUARENA_NO_STREAM);
}

/* ---- The rest ---------------------------------------------------------- */

/* The block at a pointer, once nothing moves it; its heap is NULL if there is none. Drops the
 * lock. */
static cuai_block_ref_t reclaim_pointer(cuarena_t *arena, const void *pointer)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (ref.heap != NULL)
        cuai_reclaim_block(arena, cuai_id(ref.heap, ref.slot), &ref);
    return ref;
}

static cuarena_status_t resize_found(cuai_call_t *call, cuai_block_ref_t ref, uint64_t bytes,
                                     uint32_t stream, void **pointer_out)
{
    CUAI_ASSERT(ref.heap != NULL && call->arena->inside != 0);
    cuarena_t *arena = call->arena;
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    if (bytes == 0) {
        cuarena_status_t freed = cuai_release(call, ref, stream);
        if (freed == CUARENA_OK)
            *pointer_out = NULL;
        return freed;
    }
    cuarena_status_t status = cuai_call_check(arena);
    if (status == CUARENA_OK)
        status = cuai_resize_block(call, ref, bytes, stream);
    if (status == CUARENA_OK)
        *pointer_out = cuai_pointer(cuai_block_record(cuai_find_block(arena, block))->offset);
    return status;
}

CUAI_NOINLINE cuarena_status_t cuai_pointer_resize(cuarena_t *arena, void *pointer, uint64_t bytes,
                                                   cuarena_stream_t stream, void **pointer_out)
{
    if (arena == NULL || pointer_out == NULL)
        return cuai_null("arena or pointer_out");
    if (pointer == NULL)
        return cuai_pointer_alloc(arena, bytes, stream, NULL, pointer_out);
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    cuai_block_ref_t ref = reclaim_pointer(arena, pointer);
    if (status == CUARENA_OK)
        status = ref.heap == NULL ? cuai_no_pointer(pointer)
                                  : resize_found(&call, ref, bytes, call.stream, pointer_out);
    return cuai_call_end(&call, status);
}

static CUAI_INLINE bool try_resize(cuarena_t *arena, const void *pointer, uint64_t bytes)
{
    CUAI_ASSERT(bytes != 0);
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (CUAI_UNLIKELY(!cuai_fast_resizes(arena)))
        return false;
    cuai_slot_t slot = cuai_table_find(&heap->table, heap->records, cuai_address(pointer));
    return CUAI_LIKELY(cuai_has_attributes(cuai_record(heap, slot), CUAI_POINTER_ATTRIBUTES)) &&
           cuai_fast_resize(arena, slot, 0, bytes);
}

cuarena_status_t cuarena_resize(cuarena_t *arena, void *pointer, uint64_t bytes, void **pointer_out)
{
    if (arena != NULL && pointer_out != NULL && pointer == NULL)
        return cuarena_alloc(arena, bytes, pointer_out);
    if (CUAI_LIKELY(arena != NULL && pointer_out != NULL && bytes - 1 < CUAI_FAST_MOST &&
                    cuai_lock_enter(&arena->lock))) {
        bool done = try_resize(arena, pointer, bytes);
        cuai_unlock(&arena->lock);
        if (CUAI_LIKELY(done)) {
            *pointer_out = pointer;
            return CUARENA_OK;
        }
    }
    return cuai_pointer_resize(arena, pointer, bytes, CUARENA_NO_STREAM, pointer_out);
}

cuarena_status_t cuarena_size_of(cuarena_t *arena, const void *pointer, uint64_t *requested_out,
                                 uint64_t *allocated_out)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (ref.heap != NULL && requested_out != NULL)
        *requested_out = cuai_requested(cuai_block_record(ref));
    if (ref.heap != NULL && allocated_out != NULL)
        *allocated_out = cuai_block_record(ref)->size;
    cuai_unlock(&arena->lock);
    return cuai_told(ref.heap != NULL ? CUARENA_OK : cuai_no_pointer(pointer));
}

/* Ends the pin that a pointer is born with, or takes it again. */
static cuarena_status_t set_born_pin(cuai_record_t *r, const void *pointer, bool pinned)
{
    if (!pinned && (r->flags & CUAI_BLOCK_STABLE))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "%p is stable: it stays pinned", pointer);
    if (pinned == ((r->flags & CUAI_BLOCK_BORN_PIN) != 0))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "%p is %s already", pointer,
                         pinned ? "pinned" : "unpinned");
    if (pinned && r->pins == CUARENA_HEAP_MAX_PINS)
        return cuai_fail(CUARENA_BUSY, "%p has %u pins, the most", pointer, CUARENA_HEAP_MAX_PINS);
    r->flags ^= CUAI_BLOCK_BORN_PIN;
    CUAI_ASSERT(pinned || r->pins != 0);
    if (pinned)
        r->pins++;
    else
        r->pins--;
    return CUARENA_OK;
}

/* Drops the lock: a block that moves is pinned when its move is over. */
static cuarena_status_t change_pin_of(cuarena_t *arena, cuai_block_ref_t ref, const void *pointer,
                                      bool pinned)
{
    CUAI_ASSERT(ref.heap != NULL && arena->inside != 0);
    if (pinned) {
        cuarena_status_t status = cuai_reclaim_behind(arena, cuai_id(ref.heap, ref.slot), 0, &ref);
        if (status != CUARENA_OK)
            return status;
    }
    if (ref.region == CUAI_STABLE && !pinned)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "%p is in the stable region: it never moves",
                         pointer);
    cuarena_status_t status = set_born_pin(cuai_block_record(ref), pointer, pinned);
    if (status == CUARENA_OK)
        cuai_note_change(ref.heap);
    return status;
}

static cuarena_status_t change_pin(cuarena_t *arena, void *pointer, bool pinned)
{
    if (arena == NULL)
        return cuai_null("arena");
    cuai_frame_t frame;
    cuarena_status_t status = cuai_enter(arena, &frame);
    if (status != CUARENA_OK)
        return status;
    cuai_block_ref_t ref = reclaim_pointer(arena, pointer);
    status =
        ref.heap != NULL ? change_pin_of(arena, ref, pointer, pinned) : cuai_no_pointer(pointer);
    cuai_leave(arena);
    return status;
}

cuarena_status_t cuarena_unpin(cuarena_t *arena, void *pointer)
{
    return cuai_told(change_pin(arena, pointer, false));
}

cuarena_status_t cuarena_pin(cuarena_t *arena, void *pointer)
{
    return cuai_told(change_pin(arena, pointer, true));
}
