/*
 * The functions of an open memory. Each counts the call and makes it; where the functions are the
 * caller's own it checks what they answer, so that an arena never works with an address, a length
 * or a status that the contract does not allow.
 */
#define _XOPEN_SOURCE 700 /* tsearch */
#include "memory/counted.h"

#include <inttypes.h>
#include <search.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/host.h"
#include "memory/cuda/driver.h"
#include "memory/cuda/place.h"
#include "memory/cuda/streams.h"
#include "nvtx/tool.h"

/* ---- Calls ------------------------------------------------------------- */

/* A call that is under way. */
typedef struct call {
    cuai_counted_t *memory;
    uint64_t begun_with; /* calls of the driver by this thread */
    cuai_frame_t frame;  /* while the thread is in one of the caller's functions */
} call_t;

/* Begins a call that is not counted, except for what it calls of the driver. */
static void pass(call_t *call, void *user)
{
    call->memory = user;
    call->begun_with = cuai_cuda_calls;
    if (call->memory->guest)
        cuai_frame_push(&call->frame, CUAI_FRAME_MEMORY, call->memory);
}

static void begin(call_t *call, void *user)
{
    pass(call, user);
    CUAI_ASSERT(call->memory->ops.struct_size == sizeof call->memory->ops);
    (void)atomic_fetch_add_explicit(&call->memory->calls, 1, memory_order_relaxed);
}

static void over(const call_t *call)
{
    CUAI_ASSERT(cuai_cuda_calls >= call->begun_with);
    if (call->memory->guest)
        cuai_frame_pop();
    (void)atomic_fetch_add_explicit(&call->memory->driver_calls, cuai_cuda_calls - call->begun_with,
                                    memory_order_relaxed);
}

/* Puts a failure of the caller's function into words. Statuses other than OUT_OF_MEMORY, LOST and
 * DRIVER become DRIVER. */
static cuarena_status_t blame(const cuai_counted_t *guest, const char *function, uint64_t asked,
                              cuarena_status_t status)
{
    CUAI_ASSERT(guest->guest && status != CUARENA_OK);
    if (status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LOST)
        cuai_fail(status, "memory '%s': %s %s (it answered %d)", guest->ops.name, function,
                  status == CUARENA_LOST ? "has lost all" : "has no more", (int)status);
    else
        status = cuai_fail_driver(status, "memory '%s': %s answered %s (%d)", guest->ops.name,
                                  function, cuarena_status_name(status), (int)status);
    if (status != CUARENA_DRIVER)
        cuai_error_code(status);
    cuai_error_asked(asked);
    return status;
}

/* Ends what begin() began, with the answer of `function`, which was asked for so many bytes. */
static cuarena_status_t over_with(const call_t *call, const char *function, uint64_t asked,
                                  cuarena_status_t status)
{
    over(call);
    return status == CUARENA_OK || !call->memory->guest
               ? status
               : blame(call->memory, function, asked, status);
}

/* As over_with(), for work of a stream: BUSY says that it is being captured and was given nothing.
 */
static cuarena_status_t over_on(const call_t *call, const char *function, uint64_t asked,
                                cuarena_stream_t stream, cuarena_status_t status)
{
    if (!call->memory->guest || status != CUARENA_BUSY || stream == CUARENA_NO_STREAM)
        return over_with(call, function, asked, status);
    over(call);
    return cuai_fail(CUARENA_BUSY, "memory '%s': %s: stream %p is being captured",
                     call->memory->ops.name, function, (void *)stream);
}

/* Calls a function of the memory that a call is counted of. */
#define OF(call, function, ...) (call).memory->ops.function((call).memory->user, __VA_ARGS__)

/* ---- Segments that a caller's function gave -------------------------------- */

/* The addresses of a segment that was not given back yet. */
typedef struct given {
    uint64_t begin;
    uint64_t end;
} given_t;

/* Segments that overlap compare as equal, so that one is found by the other. */
static int compare(const void *a, const void *b)
{
    const given_t *one = a;
    const given_t *other = b;
    if (one->end <= other->begin)
        return -1;
    return other->end <= one->begin;
}

/* The entry of a node of the tree. */
static given_t *entry_of(void *node)
{
    return *(given_t **)node;
}

/* Enters a segment into the tree; false if some of its bytes are the arena's already (*overlaps),
 * or if the host has no memory. O(log n) in the segments. */
static bool note_given(cuai_counted_t *guest, const cuarena_memory_segment_t *segment,
                       bool *overlaps)
{
    given_t *given = cuai_host_alloc(sizeof *given);
    *overlaps = false;
    if (given == NULL)
        return false;
    given->begin = segment->address;
    given->end = segment->address + segment->address_bytes;
    CUAI_ASSERT(given->begin < given->end);
    cuai_lock(&guest->lock);
    void *node = tsearch(given, &guest->given, compare);
    *overlaps = node != NULL && entry_of(node) != given;
    cuai_unlock(&guest->lock);
    if (node != NULL && !*overlaps)
        return true;
    cuai_host_free(given);
    return false;
}

/* Takes a segment that a caller's function gave out of the tree: before the caller gets it back,
 * who may give it anew at once. */
static void forget_given(cuai_counted_t *guest, const cuarena_memory_segment_t *segment)
{
    given_t key = {segment->address, segment->address + 1};
    if (!guest->guest)
        return;
    cuai_lock(&guest->lock);
    void *node = tfind(&key, &guest->given, compare);
    given_t *given = node == NULL ? NULL : entry_of(node);
    CUAI_ASSERT(given == NULL || given->begin == segment->address);
    if (given != NULL)
        (void)tdelete(given, &guest->given, compare);
    cuai_unlock(&guest->lock);
    cuai_host_free(given);
}

static bool is_usable(const cuarena_memory_ops_t *ops, const cuarena_memory_segment_t *segment,
                      uint64_t bytes)
{
    uint64_t end;
    return segment->address != 0 && cuai_is_aligned(segment->address, ops->alignment) &&
           segment->bytes == bytes && segment->address_bytes >= bytes &&
           (cuai_is_aligned(segment->address_bytes, ops->granularity) ||
            segment->address_bytes == bytes) &&
           cuai_add_checked(segment->address, segment->address_bytes, &end);
}

static cuarena_status_t refuse_segment(const cuai_counted_t *guest, const char *function,
                                       uint64_t bytes, cuarena_memory_segment_t *segment)
{
    CUAI_ASSERT(guest->guest);
    guest->ops.give_back(guest->user, segment);
    return cuai_fail_driver(CUARENA_BAD_ARGUMENT,
                            "memory '%s': %s gave %" PRIu64 " of %" PRIu64 " bytes at 0x%" PRIx64
                            ", %" PRIu64 " at a multiple of %" PRIu64 " are accepted",
                            guest->ops.name, function, segment->bytes, segment->address_bytes,
                            segment->address, bytes, guest->ops.alignment);
}

/* The second of two segments with the same bytes does not go back: nobody knows which of them the
 * caller would end. */
static cuarena_status_t refuse_overlap(const cuai_counted_t *guest, const char *function,
                                       const cuarena_memory_segment_t *segment)
{
    return cuai_fail_driver(CUARENA_BAD_ARGUMENT,
                            "memory '%s': %s gave 0x%" PRIx64 " to 0x%" PRIx64
                            ", some of which it had given before; bytes that are nobody's are "
                            "accepted",
                            guest->ops.name, function, segment->address,
                            segment->address + segment->address_bytes);
}

/* Checks and enters a segment that was given, if a caller's function gave it. */
static cuarena_status_t accept_segment(cuai_counted_t *guest, const char *function, uint64_t bytes,
                                       cuarena_memory_segment_t *segment,
                                       cuarena_memory_segment_t *segment_out)
{
    bool overlaps;
    if (!guest->guest) {
        CUAI_ASSERT(is_usable(&guest->ops, segment, bytes));
        *segment_out = *segment;
        return CUARENA_OK;
    }
    if (!is_usable(&guest->ops, segment, bytes))
        return refuse_segment(guest, function, bytes, segment);
    if (note_given(guest, segment, &overlaps)) {
        *segment_out = *segment;
        return CUARENA_OK;
    }
    if (overlaps)
        return refuse_overlap(guest, function, segment);
    guest->ops.give_back(guest->user, segment);
    return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a segment's record");
}

/* Tells the trace of bytes that were taken, or go back: GROW or TRIM. Either is told before others
 * may have the bytes. */
static void trace(const call_t *call, int32_t kind, uint64_t address, uint64_t bytes)
{
    CUAI_ASSERT(kind == CUARENA_EVENT_GROW || kind == CUARENA_EVENT_TRIM);
    cuai_trace_t *trace = call->memory->trace;
    if (trace == NULL || !cuai_trace_is_on(trace) || bytes == 0)
        return;
    cuai_trace_entry_t event = {.seen = {.time_ns = cuai_trace_now(),
                                         .kind = kind,
                                         .address = (void *)(uintptr_t)address, /* NOLINT */
                                         .bytes = bytes,
                                         .stream = CUARENA_NO_STREAM}};
    cuai_trace_add(trace, &event);
}

/* ---- What a tool is told ------------------------------------------------ */

static void begin_growth(const call_t *call, uint64_t bytes)
{
    if (CUAI_UNLIKELY(call->memory->ranges))
        cuai_tool_range_begin("grow", bytes);
}

static void end_growth(const call_t *call)
{
    if (CUAI_UNLIKELY(call->memory->ranges))
        cuai_tool_range_end();
}

/* Told as soon as the segment is there, and before it goes. compute-sanitizer takes heaps only
 * while the context that has the bytes is current. */
static void begin_heap(const call_t *call, const cuarena_memory_segment_t *segment)
{
    cuai_visit_t visit;
    const cuai_counted_t *memory = call->memory;
    if (memory->regions == NULL)
        return;
    bool entered = memory->place != NULL && cuai_place_enter_to_end(memory->place, &visit);
    uint64_t begin = memory->piece_of != NULL ? memory->piece_of(segment) : segment->address;
    uint64_t end = segment->address + segment->address_bytes;
    CUAI_ASSERT(begin != 0 && begin < end);
    cuai_regions_add_heap(memory->regions, begin, end - begin);
    if (entered)
        cuai_place_leave(&visit);
}

static void end_heap(const call_t *call, const cuarena_memory_segment_t *segment)
{
    cuai_visit_t visit;
    const cuai_counted_t *memory = call->memory;
    if (memory->regions == NULL)
        return;
    bool entered = memory->place != NULL && cuai_place_enter_to_end(memory->place, &visit);
    cuai_regions_end_heap(memory->regions, segment->address);
    if (entered)
        cuai_place_leave(&visit);
}

/* Tells of bytes that the call is about to use. */
static void lend(const call_t *call, cuai_lent_t *lent, const void *address, uint64_t bytes)
{
    if (call->memory->regions != NULL)
        cuai_regions_lend(call->memory->regions, lent, (uint64_t)(uintptr_t)address, bytes);
}

static void restore(const call_t *call, cuai_lent_t *lent)
{
    if (call->memory->regions != NULL)
        cuai_regions_restore(call->memory->regions, lent);
}

/* ---- Bytes ------------------------------------------------------------- */

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    uint64_t bytes = 0;
    call_t call;
    pass(&call, user);
    cuarena_status_t status = OF(call, available, &bytes);
    if (status == CUARENA_OK)
        *bytes_out = bytes;
    return over_with(&call, "available", 0, status);
}

static cuarena_status_t total(void *user, uint64_t *bytes_out)
{
    uint64_t bytes = 0;
    call_t call;
    pass(&call, user);
    cuarena_status_t status = OF(call, total, &bytes);
    if (status == CUARENA_OK)
        *bytes_out = bytes;
    return over_with(&call, "total", 0, status);
}

static void tell_got(const call_t *call, const cuarena_memory_segment_t *segment)
{
    trace(call, CUARENA_EVENT_GROW, segment->address, segment->bytes);
    begin_heap(call, segment);
}

static void tell_goes(const call_t *call, const cuarena_memory_segment_t *segment)
{
    trace(call, CUARENA_EVENT_TRIM, segment->address, segment->bytes);
    end_heap(call, segment);
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    cuarena_memory_segment_t segment = {0};
    call_t call;
    CUAI_ASSERT(address_bytes >= bytes);
    begin(&call, user);
    begin_growth(&call, bytes);
    cuarena_status_t status = OF(call, get, bytes, address_bytes, &segment);
    end_growth(&call);
    status = over_with(&call, "get", bytes, status);
    if (status == CUARENA_OK)
        status = accept_segment(user, "get", bytes, &segment, segment_out);
    if (status == CUARENA_OK)
        tell_got(&call, &segment);
    return status;
}

static cuarena_status_t get_on(void *user, uint64_t bytes, cuarena_stream_t stream,
                               cuarena_memory_segment_t *segment_out)
{
    cuarena_memory_segment_t segment = {0};
    call_t call;
    CUAI_ASSERT(bytes != 0 && stream != CUARENA_NO_STREAM);
    begin(&call, user);
    begin_growth(&call, bytes);
    cuarena_status_t status = OF(call, get_on, bytes, stream, &segment);
    end_growth(&call);
    status = over_on(&call, "get_on", bytes, stream, status);
    if (status == CUARENA_OK)
        status = accept_segment(user, "get_on", bytes, &segment, segment_out);
    if (status == CUARENA_OK)
        tell_got(&call, &segment);
    return status;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    call_t call;
    CUAI_ASSERT(segment->address != 0);
    forget_given(user, segment);
    begin(&call, user);
    tell_goes(&call, segment);
    OF(call, give_back, segment);
    over(&call);
}

static void give_on(void *user, cuarena_memory_segment_t *segment, cuarena_stream_t stream)
{
    call_t call;
    CUAI_ASSERT(segment->address != 0 && stream != CUARENA_NO_STREAM);
    forget_given(user, segment);
    begin(&call, user);
    tell_goes(&call, segment);
    OF(call, give_on, segment, stream);
    over(&call);
}

/* The memory's own functions leave `bytes` to this one and to shrink. */
static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    call_t call;
    CUAI_ASSERT(new_bytes >= segment->bytes && new_bytes <= segment->address_bytes);
    begin(&call, user);
    begin_growth(&call, new_bytes - segment->bytes);
    cuarena_status_t status = OF(call, grow, segment, new_bytes);
    end_growth(&call);
    if (status == CUARENA_OK) {
        trace(&call, CUARENA_EVENT_GROW, segment->address + segment->bytes,
              new_bytes - segment->bytes);
        segment->bytes = new_bytes;
    }
    return over_with(&call, "grow", new_bytes, status);
}

static void shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    call_t call;
    CUAI_ASSERT(new_bytes <= segment->bytes);
    begin(&call, user);
    trace(&call, CUARENA_EVENT_TRIM, segment->address + new_bytes, segment->bytes - new_bytes);
    OF(call, shrink, segment, new_bytes);
    over(&call);
    segment->bytes = new_bytes;
}

static void punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset, uint64_t bytes)
{
    call_t call;
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->bytes);
    begin(&call, user);
    trace(&call, CUARENA_EVENT_TRIM, segment->address + offset, bytes);
    OF(call, punch, segment, offset, bytes);
    over(&call);
}

static cuarena_status_t fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                             uint64_t bytes)
{
    call_t call;
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->bytes);
    begin(&call, user);
    begin_growth(&call, bytes);
    cuarena_status_t status = OF(call, fill, segment, offset, bytes);
    end_growth(&call);
    status = over_with(&call, "fill", bytes, status);
    if (status == CUARENA_OK)
        trace(&call, CUARENA_EVENT_GROW, segment->address + offset, bytes);
    return status;
}

static cuarena_status_t map_again(void *user, const cuarena_memory_segment_t *from, uint64_t offset,
                                  uint64_t bytes, const cuarena_memory_segment_t *to,
                                  uint64_t to_offset)
{
    call_t call;
    CUAI_ASSERT(bytes != 0 && offset + bytes <= from->bytes);
    CUAI_ASSERT(to_offset + bytes <= to->address_bytes);
    begin(&call, user);
    begin_growth(&call, bytes);
    cuarena_status_t status =
        call.memory->map_again(call.memory->user, from, offset, bytes, to, to_offset);
    end_growth(&call);
    status = over_with(&call, "", bytes, status);
    if (status == CUARENA_OK) {
        trace(&call, CUARENA_EVENT_TRIM, from->address + offset, bytes);
        trace(&call, CUARENA_EVENT_GROW, to->address + to_offset, bytes);
    }
    return status;
}

static void unmap(void *user, const cuarena_memory_segment_t *segment, uint64_t offset,
                  uint64_t bytes)
{
    call_t call;
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->address_bytes);
    begin(&call, user);
    call.memory->unmap(call.memory->user, segment, offset, bytes);
    over(&call);
}

static void lend_moves(const call_t *call, cuai_lent_t *lent, const cuarena_relocation_t *list,
                       size_t count)
{
    for (size_t i = 0; call->memory->regions != NULL && i < count; i++) {
        lend(call, lent, list[i].from, list[i].bytes);
        lend(call, lent, list[i].to, list[i].bytes);
    }
}

/* A count above the list's would make the arena believe in moves that nobody made, so it becomes
 * the list's. */
static cuarena_status_t relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                 cuarena_stream_t stream, size_t *done_out)
{
    size_t done = 0;
    call_t call;
    cuai_lent_t lent = {NULL};
    begin(&call, user);
    lend_moves(&call, &lent, list, count);
    cuarena_status_t status = OF(call, relocate, list, count, stream, &done);
    restore(&call, &lent);
    *done_out = status == CUARENA_OK || done > count ? count : done;
    return over_on(&call, "relocate", 0, *done_out == 0 ? stream : CUARENA_NO_STREAM, status);
}

static cuarena_status_t zero_bytes(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    call_t call;
    cuai_lent_t lent = {NULL};
    CUAI_ASSERT(address != NULL && bytes != 0);
    begin(&call, user);
    lend(&call, &lent, address, bytes);
    cuarena_status_t status = OF(call, zero_bytes, address, bytes, stream);
    restore(&call, &lent);
    return over_on(&call, "zero_bytes", bytes, stream, status);
}

/* BUSY says that the capture has failed. */
static cuarena_status_t zero_captured(void *user, void *address, uint64_t bytes,
                                      cuarena_stream_t stream)
{
    call_t call;
    cuai_lent_t lent = {NULL};
    CUAI_ASSERT(address != NULL && bytes != 0 && stream != CUARENA_NO_STREAM);
    begin(&call, user);
    lend(&call, &lent, address, bytes);
    cuarena_status_t status = OF(call, zero_captured, address, bytes, stream);
    restore(&call, &lent);
    if (!call.memory->guest || status != CUARENA_BUSY)
        return over_with(&call, "zero_captured", bytes, status);
    over(&call);
    return cuai_fail(CUARENA_BUSY,
                     "memory '%s': zero_captured: the capture of stream %p has "
                     "failed",
                     call.memory->ops.name, (void *)stream);
}

static cuarena_status_t set_bytes(void *user, void *address, int32_t value, uint64_t bytes,
                                  cuarena_stream_t stream)
{
    call_t call;
    cuai_lent_t lent = {NULL};
    CUAI_ASSERT(address != NULL && bytes != 0);
    begin(&call, user);
    lend(&call, &lent, address, bytes);
    cuarena_status_t status = OF(call, set_bytes, address, value, bytes, stream);
    restore(&call, &lent);
    return over_on(&call, "set_bytes", bytes, stream, status);
}

static cuarena_status_t read_bytes(void *user, void *to, const void *address, uint64_t bytes)
{
    call_t call;
    cuai_lent_t lent = {NULL};
    CUAI_ASSERT(address != NULL && bytes != 0);
    begin(&call, user);
    lend(&call, &lent, address, bytes);
    cuarena_status_t status = OF(call, read_bytes, to, address, bytes);
    restore(&call, &lent);
    return over_with(&call, "read_bytes", bytes, status);
}

/* Descriptors that came with an impossible count are not closed: only the caller's function knows
 * which they are. */
static cuarena_status_t export_range(void *user, const cuarena_memory_segment_t *segment,
                                     uint64_t offset, uint64_t bytes,
                                     cuarena_export_piece_t *pieces, size_t capacity,
                                     size_t *count_out)
{
    size_t count = 0;
    call_t call;
    CUAI_ASSERT(bytes != 0 && offset + bytes <= segment->bytes);
    begin(&call, user);
    cuarena_status_t status =
        OF(call, export_range, segment, offset, bytes, pieces, capacity, &count);
    status = over_with(&call, "export_range", bytes, status);
    if (status != CUARENA_OK)
        return status;
    if (count == 0 || (pieces != NULL && count > capacity))
        return cuai_fail_driver(CUARENA_BAD_ARGUMENT,
                                "memory '%s': export_range gave %zu pieces, 1 "
                                "to %zu are accepted",
                                call.memory->ops.name, count, capacity);
    *count_out = count;
    return CUARENA_OK;
}

/* ---- Streams ----------------------------------------------------------- */

static cuarena_status_t identify(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out)
{
    cuarena_stream_info_t info = {0};
    call_t call;
    begin(&call, user);
    cuarena_status_t status = OF(call, identify, stream, &info);
    if (status == CUARENA_OK)
        *info_out = info;
    if (!call.memory->guest || status != CUARENA_BAD_ARGUMENT)
        return over_with(&call, "identify", 0, status);
    over(&call);
    return cuai_fail(CUARENA_BAD_ARGUMENT, "stream: %p is none of memory '%s'", (void *)stream,
                     call.memory->ops.name);
}

/* UNSUPPORTED for the work of all streams is an answer, not a failure. */
static cuarena_status_t record_event(void *user, cuarena_stream_t stream, void **event)
{
    void *made = *event;
    call_t call;
    CUAI_ASSERT(made == NULL || stream != CUARENA_NO_STREAM);
    begin(&call, user);
    cuarena_status_t status = OF(call, record_event, stream, &made);
    if (status == CUARENA_OK)
        *event = made;
    if (stream != CUARENA_NO_STREAM || status != CUARENA_UNSUPPORTED)
        return over_on(&call, "record_event", 0, stream, status);
    over(&call);
    return status;
}

/* BUSY is an answer, not a failure. */
static cuarena_status_t query_event(void *user, void *event)
{
    call_t call;
    begin(&call, user);
    cuarena_status_t status = OF(call, query_event, event);
    if (status != CUARENA_BUSY)
        return over_with(&call, "query_event", 0, status);
    over(&call);
    return status;
}

static cuarena_status_t wait_event(void *user, void *event, cuarena_stream_t stream, int32_t host)
{
    call_t call;
    begin(&call, user);
    return over_on(&call, "wait_event", 0, host ? CUARENA_NO_STREAM : stream,
                   OF(call, wait_event, event, stream, host));
}

cuarena_status_t cuai_counted_synchronize(cuai_counted_t *counted, cuarena_stream_t stream)
{
    call_t call;
    begin(&call, counted);
    CUAI_ASSERT(!counted->guest);
    return over_with(&call, "", 0, cuai_streams_synchronize(counted->user, stream));
}

static void end_event(void *user, void *event)
{
    call_t call;
    pass(&call, user);
    OF(call, end_event, event);
    over(&call);
}

static void end(void *user)
{
    cuai_counted_t *counted = user;
    if (counted->ops.end != NULL)
        counted->ops.end(counted->user);
    CUAI_ASSERT(counted->given == NULL);
    cuai_lock_cleanup(&counted->lock);
    cuai_host_free(counted);
}

/* ---- The table --------------------------------------------------------- */

void cuai_count_calls(cuai_memory_t *memory, cuai_counted_t *counted, bool guest)
{
    cuarena_memory_ops_t *ops = &memory->ops;
    CUAI_ASSERT(memory->user != counted && ops->get != NULL && ops->give_back != NULL);
    counted->ops = memory->ops;
    counted->user = memory->user;
    counted->place = memory->place;
    counted->piece_of = memory->piece_of;
    counted->map_again = memory->map_again;
    counted->unmap = memory->unmap;
    counted->guest = guest;
    cuai_lock_init(&counted->lock);
    memory->counted = counted;
    memory->user = counted;
#define COUNT(function) ops->function = ops->function != NULL ? function : NULL
    COUNT(available);
    COUNT(total);
    COUNT(get);
    COUNT(give_back);
    COUNT(get_on);
    COUNT(give_on);
    COUNT(grow);
    COUNT(shrink);
    COUNT(punch);
    COUNT(fill);
    COUNT(relocate);
    COUNT(zero_bytes);
    COUNT(zero_captured);
    COUNT(set_bytes);
    COUNT(read_bytes);
    COUNT(export_range);
    COUNT(identify);
    COUNT(record_event);
    COUNT(query_event);
    COUNT(wait_event);
    COUNT(end_event);
#undef COUNT
    ops->end = end;
    memory->map_again = memory->map_again != NULL ? map_again : NULL;
    memory->unmap = memory->unmap != NULL ? unmap : NULL;
}
