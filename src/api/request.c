/* Makes an internal request of what a caller asks for: checks it and rounds its size. */
#include "api/call.h"
#include "arena/cache.h"
#include "arena/streams.h"
#include "arena/watch.h"
#include "arena/zero.h"
#include "base/sized.h"

static cuarena_status_t check_request(const cuarena_t *arena, const cuarena_request_t *request)
{
    if (!cuai_sized_ok(request, sizeof *request, sizeof *request))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "request: struct_size %zu; accepted: what "
                         "cuarena_request_init sets",
                         cuai_sized_of(request));
    if (request->region != CUARENA_REGION_DYNAMIC && request->region != CUARENA_REGION_STABLE)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "region %d; accepted: 0 (dynamic), 1 (stable)",
                         (int)request->region);
    if (request->zeroed != 0 && request->zeroed != 1)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "zeroed %d; accepted: 0, 1", (int)request->zeroed);
    if (request->dedicated != 0 && request->dedicated != 1)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "dedicated %d; accepted: 0, 1",
                         (int)request->dedicated);
    if (request->alignment != 0 && (!cuai_is_power_of_two(request->alignment) ||
                                    request->alignment >= CUARENA_HEAP_MAX_SEGMENT))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "alignment %llu; accepted: powers of two below 2^48",
                         (unsigned long long)request->alignment);
    if (request->zeroed && arena->memory.ops.zero_bytes == NULL)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "zeroed 1: memory '%s' cannot set bytes to 0; accepted: 0",
                         arena->memory.ops.name);
    return CUARENA_OK;
}

/* A size that no arena can have is not rounded: the allocation refuses it. */
static uint64_t round_size(const cuarena_t *arena, uint64_t bytes)
{
    return bytes != 0 && bytes < CUARENA_HEAP_MAX_SEGMENT ? cuai_rounded(arena, bytes) : bytes;
}

uint64_t cuai_request_size(const cuarena_t *arena, uint64_t bytes, uint64_t alignment)
{
    uint64_t guard = arena->config.guard_bytes;
    if (CUAI_LIKELY(guard == 0) || bytes == 0 || bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return round_size(arena, bytes);
    return round_size(arena, cuai_front_bytes(arena, alignment) + bytes + guard);
}

cuarena_status_t cuai_request_make(const cuarena_t *arena, uint64_t bytes,
                                   const cuarena_request_t *request, cuai_request_t *request_out)
{
    static const cuarena_request_t plain = {.struct_size = sizeof plain};
    if (request == NULL)
        request = &plain;
    cuarena_status_t status = check_request(arena, request);
    if (status != CUARENA_OK)
        return status;
    *request_out = (cuai_request_t){
        .heap = {.size = bytes, .alignment = request->alignment, .tag = request->tag},
        .region = request->region,
        .zeroed = request->zeroed != 0 || arena->config.zero == CUARENA_ZERO_ALLOC,
        .dedicated = request->dedicated != 0 || arena->config.segments == CUARENA_SEGMENTS_EACH,
    };
    request_out->size = round_size(arena, bytes);
    CUAI_ASSERT(request_out->size >= bytes);
    if (bytes != 0 && request_out->size < CUARENA_HEAP_MAX_SEGMENT && !request_out->dedicated)
        request_out->heap.alignment =
            cuai_max(request->alignment, cuai_natural_alignment(arena, request_out->size));
    request_out->size = cuai_request_size(arena, bytes, request_out->heap.alignment);
    if (request->region != CUARENA_REGION_STABLE)
        return CUARENA_OK;
    request_out->heap.low = 1;
    request_out->heap.pins = 1;
    request_out->heap.flags = CUAI_BLOCK_STABLE | CUAI_BLOCK_BORN_PIN;
    return CUARENA_OK;
}

cuarena_status_t cuai_request_check(const cuarena_t *arena, const cuai_request_t *request)
{
    if (request->size < CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_OK;
    return cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, request->heap.size, arena->pool_bytes,
                           arena->reserved, 0, 0, "%llu bytes are more than any arena can hold",
                           (unsigned long long)request->heap.size);
}

cuarena_status_t cuai_request_on(cuai_call_t *call, cuarena_stream_t stream,
                                 cuai_request_t *request)
{
    CUAI_ASSERT(call->arena->inside != 0);
    cuarena_status_t status = cuai_call_on(call, stream);
    request->stream = call->stream;
    request->heap.owner = (uint16_t)call->stream;
    if (status == CUARENA_OK && cuai_zeroes_owner(call->arena, request->heap.tag,
                                                  cuai_is_captured(call->arena, call->stream)))
        request->zeroed = true;
    if (status == CUARENA_OK && request->zeroed && cuai_is_captured(call->arena, call->stream))
        status = cuai_check_zero_captured(call->arena, "zeroed 1");
    if (status != CUARENA_OK)
        cuai_call_note_failure(call, status, request->heap.size, request->heap.tag);
    return status;
}
