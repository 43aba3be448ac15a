/* The pointer calls: their slow paths, which do everything, and those that have no fast one. */
#include "api/call.h"
#include "arena/counts.h"
#include "arena/watch.h"

/* ---- Allocation -------------------------------------------------------- */

CUAI_NOINLINE cuarena_status_t cuai_pointer_alloc(cuarena_t *arena, uint64_t bytes,
                                                  cuarena_stream_t stream,
                                                  const cuarena_request_t *asked,
                                                  void **pointer_out)
{
    if (arena == NULL || pointer_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "pointer_out");
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
    status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_request_on(&call, stream, &request);
    if (status == CUARENA_OK)
        status = cuai_alloc_slow(&call, &request, &ref);
    if (status == CUARENA_OK)
        *pointer_out = cuai_pointer(cuai_user_address(arena, cuai_block_record(ref)));
    return cuai_call_end(&call, status);
}

void cuarena_request_init(cuarena_request_t *request)
{
    *request = (cuarena_request_t){.struct_size = sizeof *request};
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
    if (arena != NULL && pointer == NULL)
        return CUARENA_OK;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on_free(&call, stream);
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (status == CUARENA_OK)
        status =
            ref.heap == NULL ? cuai_no_pointer(pointer) : cuai_release(&call, ref, call.stream);
    return cuai_call_end(&call, status);
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

static cuarena_status_t resize_at(cuai_call_t *call, cuai_block_ref_t ref, uint64_t bytes,
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
    cuarena_status_t status = cuai_resize_block(call, ref, bytes, stream);
    if (status == CUARENA_OK)
        *pointer_out = cuai_pointer(
            cuai_user_address(arena, cuai_block_record(cuai_find_block(arena, block))));
    return status;
}

CUAI_NOINLINE cuarena_status_t cuai_pointer_resize(cuarena_t *arena, void *pointer, uint64_t bytes,
                                                   cuarena_stream_t stream, void **pointer_out)
{
    if (arena == NULL || pointer_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "pointer_out");
    if (pointer == NULL)
        return cuai_pointer_alloc(arena, bytes, stream, NULL, pointer_out);
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    cuai_block_ref_t ref = reclaim_pointer(arena, pointer);
    if (status == CUARENA_OK)
        status = ref.heap == NULL ? cuai_no_pointer(pointer)
                                  : resize_at(&call, ref, bytes, call.stream, pointer_out);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_size_of(cuarena_t *arena, const void *pointer, uint64_t *requested_out,
                                 uint64_t *allocated_out)
{
    cuarena_status_t status = cuai_query_begin_beside(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (ref.heap != NULL && requested_out != NULL)
        *requested_out = cuai_requested(cuai_block_record(ref));
    if (ref.heap != NULL && allocated_out != NULL)
        *allocated_out = cuai_user_bytes(arena, cuai_block_record(ref));
    return cuai_query_end(arena, ref.heap != NULL ? CUARENA_OK : cuai_no_pointer(pointer));
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
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    cuai_block_ref_t ref = reclaim_pointer(arena, pointer);
    status =
        ref.heap != NULL ? change_pin_of(arena, ref, pointer, pinned) : cuai_no_pointer(pointer);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_unpin(cuarena_t *arena, void *pointer)
{
    return change_pin(arena, pointer, false);
}

cuarena_status_t cuarena_pin(cuarena_t *arena, void *pointer)
{
    return change_pin(arena, pointer, true);
}
