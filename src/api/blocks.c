/* The block calls: ids that survive moves. Their fast paths are in fast.c. */
#include "api/call.h"
#include "arena/dedicated.h"
#include "arena/exports.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/uses.h"
#include "arena/watch.h"

/* ---- Allocation and free ----------------------------------------------- */

CUAI_NOINLINE cuarena_status_t cuai_block_alloc(cuarena_t *arena, uint64_t bytes,
                                                cuarena_stream_t stream,
                                                const cuarena_request_t *asked,
                                                cuarena_block_t *block_out)
{
    if (arena == NULL || block_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "block_out");
    cuai_request_t request;
    cuarena_status_t status = cuai_request_make(arena, bytes, asked, &request);
    if (status != CUARENA_OK)
        return cuai_told(status);
    request.dedicated = request.dedicated && bytes != 0;
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
        *block_out = cuai_id(ref.heap, ref.slot);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_block_alloc_with(cuarena_t *arena, uint64_t bytes,
                                          const cuarena_request_t *request,
                                          cuarena_block_t *block_out)
{
    if (request == NULL)
        return cuarena_block_alloc(arena, bytes, block_out);
    return cuai_block_alloc(arena, bytes, CUARENA_NO_STREAM, request, block_out);
}

CUAI_NOINLINE cuarena_status_t cuai_block_free(cuarena_t *arena, cuarena_block_t block,
                                               cuarena_stream_t stream)
{
    if (arena != NULL && block == 0)
        return CUARENA_OK;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on_free(&call, stream);
    cuai_block_ref_t ref = cuai_find_block(arena, block);
    if (status == CUARENA_OK)
        status = ref.heap == NULL ? cuai_no_block(block) : cuai_release(&call, ref, call.stream);
    return cuai_call_end(&call, status);
}

/* ---- Resize ------------------------------------------------------------ */

CUAI_NOINLINE cuarena_status_t cuai_block_resize(cuarena_t *arena, cuarena_block_t block,
                                                 uint64_t bytes, cuarena_stream_t stream)
{
    cuai_call_t call;
    cuai_block_ref_t ref;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    if (status == CUARENA_OK)
        status = cuai_reclaim_block(arena, block, &ref)
                     ? cuai_resize_block(&call, ref, bytes, call.stream)
                     : cuai_no_block(block);
    return cuai_call_end(&call, status);
}

/* ---- Pins -------------------------------------------------------------- */

/* Pins a block, once nothing moves it and the stream, or the caller, is behind copies that did.
 * Drops the lock. */
static cuarena_status_t take_pin(cuarena_t *arena, cuarena_block_t block, uint32_t stream,
                                 void **pointer_out)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_block_ref_t ref;
    cuarena_status_t status = cuai_reclaim_behind(arena, block, stream, &ref);
    if (status != CUARENA_OK)
        return status;
    cuai_record_t *r = cuai_block_record(ref);
    if (r->pins == CUARENA_HEAP_MAX_PINS)
        return cuai_fail(CUARENA_BUSY, "block %#llx has %u pins, the most",
                         (unsigned long long)block, CUARENA_HEAP_MAX_PINS);
    r->pins++;
    arena->block_pins++;
    cuai_note_change(ref.heap);
    *pointer_out = cuai_pointer(cuai_user_address(arena, r));
    return CUARENA_OK;
}

cuarena_status_t cuarena_block_pin_on(cuarena_t *arena, cuarena_block_t block,
                                      cuarena_stream_t stream, void **pointer_out)
{
    if (arena == NULL || pointer_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "pointer_out");
    cuai_call_t call;
    cuarena_status_t status =
        cuai_call_begin(&call, arena, "it", CUAI_CALL_WHOLE | CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    if (status == CUARENA_OK)
        status = take_pin(arena, block, cuai_is_captured(arena, call.stream) ? 0 : call.stream,
                          pointer_out);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_block_pin(cuarena_t *arena, cuarena_block_t block, void **pointer_out)
{
    return cuarena_block_pin_on(arena, block, CUARENA_NO_STREAM, pointer_out);
}

static cuarena_status_t end_pin(cuarena_t *arena, cuarena_block_t block, uint32_t stream)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_block_ref_t ref = cuai_find_block(arena, block);
    if (ref.heap == NULL)
        return cuai_no_block(block);
    if (cuai_block_pins(cuai_block_record(ref)) == cuai_exports_of(arena, ref))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "block %#llx has no pin that block_pin took",
                         (unsigned long long)block);
    cuarena_status_t status = CUARENA_OK;
    if (stream != 0)
        status = cuai_use_add(arena, ref, stream);
    if (status != CUARENA_OK)
        return status;
    cuai_block_record(ref)->pins--;
    CUAI_ASSERT(arena->block_pins != 0);
    arena->block_pins--;
    cuai_note_change(ref.heap);
    return CUARENA_OK;
}

cuarena_status_t cuarena_block_unpin_on(cuarena_t *arena, cuarena_block_t block,
                                        cuarena_stream_t stream)
{
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    if (status == CUARENA_OK)
        status = end_pin(arena, block, call.stream);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_block_unpin(cuarena_t *arena, cuarena_block_t block)
{
    return cuarena_block_unpin_on(arena, block, CUARENA_NO_STREAM);
}

/* ---- Knowing ----------------------------------------------------------- */

cuarena_status_t cuarena_block_of(cuarena_t *arena, const void *pointer, cuarena_block_t *block_out)
{
    if (arena == NULL || block_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "block_out");
    cuarena_status_t status = cuai_query_begin_beside(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (ref.heap != NULL)
        *block_out = cuai_id(ref.heap, ref.slot);
    return cuai_query_end(arena, ref.heap != NULL ? CUARENA_OK : cuai_no_pointer(pointer));
}

static void describe(const cuarena_t *arena, cuai_block_ref_t ref, cuarena_block_info_t *info)
{
    CUAI_ASSERT(ref.heap != NULL && ref.slot != 0);
    const cuai_record_t *r = cuai_block_record(ref);
    *info = (cuarena_block_info_t){
        .block = cuai_id(ref.heap, ref.slot),
        .address = cuai_pointer(cuai_user_address(arena, r)),
        .requested = cuai_requested(r),
        .allocated = cuai_user_bytes(arena, r),
        .alignment = UINT64_C(1) << r->align_log2,
        .region = cuai_block_region(ref),
        .tag = cuai_tag_of(r),
        .pins = r->pins,
        .pointer = (r->flags & CUAI_BLOCK_POINTER) != 0,
        .dedicated = (r->flags & CUAI_BLOCK_DEDICATED) != 0,
        .adopted = (r->flags & CUAI_BLOCK_ADOPTED) != 0,
        .moving = r->moving,
    };
}

cuarena_status_t cuarena_block_info(cuarena_t *arena, cuarena_block_t block,
                                    cuarena_block_info_t *info_out)
{
    if (arena == NULL || info_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "info_out");
    cuarena_status_t status = cuai_query_begin_beside(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_block_ref_t ref = cuai_find_block(arena, block);
    if (ref.heap != NULL)
        describe(arena, ref, info_out);
    return cuai_query_end(arena, ref.heap != NULL ? CUARENA_OK : cuai_no_block(block));
}

cuarena_status_t cuarena_blocks(cuarena_t *arena, uint64_t *cursor, cuarena_block_info_t *infos,
                                size_t capacity, size_t *count_out)
{
    if (arena == NULL || cursor == NULL || infos == NULL || count_out == NULL)
        return cuai_null("arena, cursor, infos or count_out");
    cuai_block_ref_t ref;
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    size_t count = 0;
    while (count < capacity && cuai_find_next(arena, cursor, &ref))
        describe(arena, ref, &infos[count++]);
    *count_out = count;
    return cuai_query_end(arena, CUARENA_OK);
}

static cuarena_status_t check_adopted(const cuarena_t *arena, const void *bytes, uint64_t size)
{
    uint64_t address = cuai_address(bytes);
    uint64_t end;
    if (size == 0 || ((address | size) & arena->granule_mask) != 0 ||
        size >= CUARENA_HEAP_MAX_SEGMENT)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "%llu bytes at %p; accepted: multiples of %llu, more than 0 and less than "
                         "2^48 bytes",
                         (unsigned long long)size, bytes, (unsigned long long)cuai_granule(arena));
    if (!cuai_add_checked(address, size, &end))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "%llu bytes at %p reach the end of the address space; accepted: ranges "
                         "that end below 2^64",
                         (unsigned long long)size, bytes);
    return CUARENA_OK;
}

cuarena_status_t cuarena_adopt(cuarena_t *arena, void *bytes, uint64_t size, cuarena_tag_t tag,
                               cuarena_block_t *block_out)
{
    if (arena == NULL || bytes == NULL || block_out == NULL)
        return cuai_null("arena, bytes or block_out");
    uint64_t address = cuai_address(bytes);
    cuarena_status_t status = check_adopted(arena, bytes, size);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_request_t request = {.heap = {.size = size,
                                       .tag = tag,
                                       .pins = 1,
                                       .flags = CUAI_BLOCK_ADOPTED | CUAI_BLOCK_BORN_PIN},
                              .size = size};
    cuai_call_t call;
    cuai_block_ref_t ref;
    status = cuai_call_begin(&call, arena, "it", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_tag_known(arena, tag) ? CUARENA_OK : cuai_no_tag(tag);
    if (status == CUARENA_OK)
        status = cuai_adopt(arena, &request, address, &ref);
    if (status == CUARENA_OK) {
        cuai_call_note_block(&call, CUARENA_EVENT_ALLOC, ref);
        cuai_trace_block(arena, ref, CUARENA_EVENT_ALLOC, 0);
        *block_out = cuai_id(ref.heap, ref.slot);
    }
    return cuai_call_end(&call, status);
}
