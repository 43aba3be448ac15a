#include "memory/counted.h"

#include "memory/cuda/driver.h"

/* A call of a counted memory that is under way. */
typedef struct counting {
    cuai_counted_t *memory;
    uint64_t begun_with; /* calls of the driver by this thread */
} counting_t;

/* Begins a call that is not counted, except for what it calls of the driver. */
static counting_t pass(void *user)
{
    return (counting_t){user, cuai_cuda_calls};
}

static counting_t begin(void *user)
{
    cuai_counted_t *counted = user;
    CUAI_ASSERT(counted->ops.struct_size == sizeof counted->ops);
    (void)atomic_fetch_add_explicit(&counted->calls, 1, memory_order_relaxed);
    return pass(user);
}

static void over(const counting_t *call)
{
    CUAI_ASSERT(cuai_cuda_calls >= call->begun_with);
    (void)atomic_fetch_add_explicit(&call->memory->driver_calls, cuai_cuda_calls - call->begun_with,
                                    memory_order_relaxed);
}

static cuarena_status_t over_with(const counting_t *call, cuarena_status_t status)
{
    over(call);
    return status;
}

/* ---- Bytes ------------------------------------------------------------- */

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    counting_t call = pass(user);
    return over_with(&call, call.memory->ops.available(call.memory->user, bytes_out));
}

static cuarena_status_t total(void *user, uint64_t *bytes_out)
{
    counting_t call = pass(user);
    return over_with(&call, call.memory->ops.total(call.memory->user, bytes_out));
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    counting_t call = begin(user);
    CUAI_ASSERT(bytes != 0 && address_bytes >= bytes);
    return over_with(&call,
                     call.memory->ops.get(call.memory->user, bytes, address_bytes, segment_out));
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    counting_t call = begin(user);
    CUAI_ASSERT(segment->address != 0);
    call.memory->ops.give_back(call.memory->user, segment);
    over(&call);
}

static cuarena_status_t get_on(void *user, uint64_t bytes, cuarena_stream_t stream,
                               cuarena_memory_segment_t *segment_out)
{
    counting_t call = begin(user);
    CUAI_ASSERT(bytes != 0 && stream != CUARENA_NO_STREAM);
    return over_with(&call, call.memory->ops.get_on(call.memory->user, bytes, stream, segment_out));
}

static void give_on(void *user, cuarena_memory_segment_t *segment, cuarena_stream_t stream)
{
    counting_t call = begin(user);
    call.memory->ops.give_on(call.memory->user, segment, stream);
    over(&call);
}

static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    counting_t call = begin(user);
    CUAI_ASSERT(new_bytes >= segment->bytes && new_bytes <= segment->address_bytes);
    return over_with(&call, call.memory->ops.grow(call.memory->user, segment, new_bytes));
}

static void shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    counting_t call = begin(user);
    CUAI_ASSERT(new_bytes <= segment->bytes);
    call.memory->ops.shrink(call.memory->user, segment, new_bytes);
    over(&call);
}

static void punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset, uint64_t bytes)
{
    counting_t call = begin(user);
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->bytes);
    call.memory->ops.punch(call.memory->user, segment, offset, bytes);
    over(&call);
}

static cuarena_status_t fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                             uint64_t bytes)
{
    counting_t call = begin(user);
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->bytes);
    return over_with(&call, call.memory->ops.fill(call.memory->user, segment, offset, bytes));
}

static cuarena_status_t relocate(void *user, const cuarena_relocation_t *list, size_t list_count,
                                 cuarena_stream_t stream, size_t *done_out)
{
    counting_t call = begin(user);
    return over_with(
        &call, call.memory->ops.relocate(call.memory->user, list, list_count, stream, done_out));
}

static cuarena_status_t zero_bytes(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    counting_t call = begin(user);
    CUAI_ASSERT(address != NULL && bytes != 0);
    return over_with(&call, call.memory->ops.zero_bytes(call.memory->user, address, bytes, stream));
}

static cuarena_status_t zero_captured(void *user, void *address, uint64_t bytes,
                                      cuarena_stream_t stream)
{
    counting_t call = begin(user);
    return over_with(&call,
                     call.memory->ops.zero_captured(call.memory->user, address, bytes, stream));
}

static cuarena_status_t export_range(void *user, const cuarena_memory_segment_t *segment,
                                     uint64_t offset, uint64_t bytes,
                                     cuarena_export_piece_t *pieces, size_t capacity,
                                     size_t *count_out)
{
    counting_t call = begin(user);
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->bytes);
    return over_with(&call, call.memory->ops.export_range(call.memory->user, segment, offset, bytes,
                                                          pieces, capacity, count_out));
}

/* ---- Streams ----------------------------------------------------------- */

static cuarena_status_t identify(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out)
{
    counting_t call = begin(user);
    return over_with(&call, call.memory->ops.identify(call.memory->user, stream, info_out));
}

static cuarena_status_t mark(void *user, cuarena_stream_t stream, void **event)
{
    counting_t call = begin(user);
    return over_with(&call, call.memory->ops.mark(call.memory->user, stream, event));
}

static cuarena_status_t query(void *user, void *event)
{
    counting_t call = begin(user);
    return over_with(&call, call.memory->ops.query(call.memory->user, event));
}

static cuarena_status_t wait_for(void *user, void *event, cuarena_stream_t stream, int32_t host)
{
    counting_t call = begin(user);
    return over_with(&call, call.memory->ops.wait(call.memory->user, event, stream, host));
}

static cuarena_status_t synchronize(void *user, cuarena_stream_t stream)
{
    counting_t call = begin(user);
    return over_with(&call, call.memory->synchronize(call.memory->user, stream));
}

static void unmark(void *user, void *event)
{
    counting_t call = pass(user);
    call.memory->ops.unmark(call.memory->user, event);
    over(&call);
}

static void end(void *user)
{
    counting_t call = pass(user);
    call.memory->ops.end(call.memory->user);
    over(&call);
}

/* ---- The table --------------------------------------------------------- */

void cuai_count_calls(cuai_memory_t *memory, cuai_counted_t *counted)
{
    cuarena_memory_ops_t *ops = &memory->ops;
    CUAI_ASSERT(memory->user != counted && ops->get != NULL && ops->give_back != NULL);
    counted->ops = memory->ops;
    counted->user = memory->user;
    atomic_init(&counted->calls, 0);
    atomic_init(&counted->driver_calls, 0);
    memory->user = counted;
    counted->synchronize = memory->synchronize;
    memory->synchronize = memory->synchronize != NULL ? synchronize : NULL;
#define COUNT(member, function) ops->member = ops->member != NULL ? (function) : NULL
    COUNT(available, available);
    COUNT(total, total);
    COUNT(get, get);
    COUNT(give_back, give_back);
    COUNT(get_on, get_on);
    COUNT(give_on, give_on);
    COUNT(grow, grow);
    COUNT(shrink, shrink);
    COUNT(punch, punch);
    COUNT(fill, fill);
    COUNT(relocate, relocate);
    COUNT(zero_bytes, zero_bytes);
    COUNT(zero_captured, zero_captured);
    COUNT(export_range, export_range);
    COUNT(identify, identify);
    COUNT(mark, mark);
    COUNT(query, query);
    COUNT(wait, wait_for);
    COUNT(unmark, unmark);
    COUNT(end, end);
#undef COUNT
}
