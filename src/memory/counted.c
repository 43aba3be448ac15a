#include "memory/counted.h"

/* The memory behind the first argument of a function, one call later. */
static const cuai_counted_t *count(void *user)
{
    cuai_counted_t *counted = user;
    (void)atomic_fetch_add_explicit(&counted->calls, 1, memory_order_relaxed);
    return counted;
}

/* ---- Bytes ------------------------------------------------------------- */

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    const cuai_counted_t *own = user;
    return own->ops.available(own->user, bytes_out);
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t reserve_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    const cuai_counted_t *own = count(user);
    return own->ops.get(own->user, bytes, reserve_bytes, segment_out);
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    const cuai_counted_t *own = count(user);
    own->ops.give_back(own->user, segment);
}

static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment,
                             uint64_t new_bytes)
{
    const cuai_counted_t *own = count(user);
    return own->ops.grow(own->user, segment, new_bytes);
}

static void shrink(void *user, cuarena_memory_segment_t *segment,
                   uint64_t new_bytes)
{
    const cuai_counted_t *own = count(user);
    own->ops.shrink(own->user, segment, new_bytes);
}

static void punch(void *user, cuarena_memory_segment_t *segment,
                  uint64_t offset, uint64_t bytes)
{
    const cuai_counted_t *own = count(user);
    own->ops.punch(own->user, segment, offset, bytes);
}

static cuarena_status_t fill(void *user, cuarena_memory_segment_t *segment,
                             uint64_t offset, uint64_t bytes)
{
    const cuai_counted_t *own = count(user);
    return own->ops.fill(own->user, segment, offset, bytes);
}

static cuarena_status_t relocate(void *user, const cuarena_relocation_t *list,
                                 size_t list_count, cuarena_stream_t stream,
                                 size_t *done_out)
{
    const cuai_counted_t *own = count(user);
    return own->ops.relocate(own->user, list, list_count, stream, done_out);
}

static cuarena_status_t zero_bytes(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    const cuai_counted_t *own = count(user);
    return own->ops.zero_bytes(own->user, address, bytes, stream);
}

static cuarena_status_t zero_captured(void *user, void *address, uint64_t bytes,
                                      cuarena_stream_t stream)
{
    const cuai_counted_t *own = count(user);
    return own->ops.zero_captured(own->user, address, bytes, stream);
}

static cuarena_status_t export_range(void *user,
                                     const cuarena_memory_segment_t *segment,
                                     uint64_t offset, uint64_t bytes,
                                     cuarena_export_piece_t *pieces,
                                     size_t capacity, size_t *count_out)
{
    const cuai_counted_t *own = count(user);
    return own->ops.export_range(own->user, segment, offset, bytes, pieces,
                                 capacity, count_out);
}

/* ---- Streams ----------------------------------------------------------- */

static cuarena_status_t identify(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out)
{
    const cuai_counted_t *own = count(user);
    return own->ops.identify(own->user, stream, info_out);
}

static cuarena_status_t mark(void *user, cuarena_stream_t stream, void **marker)
{
    const cuai_counted_t *own = count(user);
    return own->ops.mark(own->user, stream, marker);
}

static cuarena_status_t query(void *user, void *marker)
{
    const cuai_counted_t *own = count(user);
    return own->ops.query(own->user, marker);
}

static cuarena_status_t wait_for(void *user, void *marker,
                                 cuarena_stream_t stream, int32_t host)
{
    const cuai_counted_t *own = count(user);
    return own->ops.wait(own->user, marker, stream, host);
}

static void unmark(void *user, void *marker)
{
    const cuai_counted_t *own = user;
    own->ops.unmark(own->user, marker);
}

static void end(void *user)
{
    const cuai_counted_t *own = user;
    own->ops.end(own->user);
}

/* ---- The table --------------------------------------------------------- */

void cuai_count_calls(cuai_memory_t *memory, cuai_counted_t *counted)
{
    cuarena_memory_ops_t *ops = &memory->ops;
    counted->ops = memory->ops;
    counted->user = memory->user;
    atomic_init(&counted->calls, 0);
    memory->user = counted;
#define COUNT(member, function)                                                \
    ops->member = ops->member != NULL ? (function) : NULL
    COUNT(available, available);
    COUNT(get, get);
    COUNT(give_back, give_back);
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
