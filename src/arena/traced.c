#include "arena/traced.h"

#include <string.h>

#include "arena/dedicated.h"
#include "arena/streams.h"
#include "arena/watch.h"

/* The numbers of heaps recur among many arenas, and would make ids too long for a spreadsheet. */
static uint64_t file_id(cuarena_block_t block, int32_t region)
{
    return (block & ((UINT64_C(1) << CUAI_IDS_LOG2) - 1)) | (uint64_t)region << CUAI_IDS_LOG2;
}

static const char *tag_name(const cuarena_t *arena, cuarena_tag_t tag)
{
    return tag == 0 || tag >= arena->tag_count ? NULL : arena->tags[tag].name;
}

static cuai_trace_entry_t event_of(int32_t kind, uint64_t bytes, cuarena_stream_t stream)
{
    return (cuai_trace_entry_t){
        .seen = {.time_ns = cuai_trace_now(), .kind = kind, .bytes = bytes, .stream = stream}};
}

void cuai_arena_follow_trace(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_slow_set(arena, CUAI_SLOW_TRACE, cuai_is_traced(arena));
}

/* ---- Blocks ------------------------------------------------------------ */

void cuai_see_untagged(cuai_block_ref_t ref, int32_t kind, cuarena_stream_t stream,
                       cuai_trace_entry_t *event)
{
    const cuai_record_t *r = cuai_block_record(ref);
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    memset(event, 0, sizeof *event);
    event->seen.time_ns = cuai_trace_now();
    event->seen.kind = kind;
    event->seen.bytes = cuai_requested(r);
    event->seen.stream = stream;
    event->seen.block = block;
    event->seen.address = cuai_pointer(r->offset);
    event->id = file_id(block, ref.region);
}

void cuai_see_block(const cuarena_t *arena, cuai_block_ref_t ref, int32_t kind,
                    cuarena_stream_t stream, cuai_trace_entry_t *event)
{
    const cuai_record_t *r = cuai_block_record(ref);
    cuai_see_untagged(ref, kind, stream, event);
    if (CUAI_UNLIKELY(arena->slow & CUAI_SLOW_WATCH))
        event->seen.address = cuai_pointer(cuai_user_address(arena, r));
    event->seen.tag = cuai_tag_of(r);
    event->tag = tag_name(arena, event->seen.tag);
}

void cuai_trace_call(cuarena_t *arena, cuai_block_ref_t ref, int32_t kind, cuarena_stream_t stream)
{
    cuai_assert_locked(arena);
    cuai_trace_entry_t event;
    if (CUAI_LIKELY(!cuai_is_traced(arena)))
        return;
    cuai_see_block(arena, ref, kind, stream, &event);
    cuai_trace_add(&arena->trace, &event);
}

void cuai_trace_block(cuarena_t *arena, cuai_block_ref_t ref, int32_t kind, uint32_t stream)
{
    cuai_assert_locked(arena);
    if (cuai_is_annotated(arena))
        cuai_annotate_block(arena, ref, kind);
    if (CUAI_UNLIKELY(cuai_is_traced(arena)))
        cuai_trace_call(arena, ref, kind, cuai_stream_handle(arena, stream));
}

static void add_live(cuarena_t *arena, int32_t region)
{
    cuarena_heap_t *heap = arena->heaps[region];
    for (cuai_slot_t slot = 1; heap != NULL && slot < heap->unused; slot++) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (cuai_is_live(r) && cuai_is_named(r))
            cuai_trace_call(arena, (cuai_block_ref_t){heap, slot, region}, CUARENA_EVENT_ALLOC,
                            cuai_stream_handle(arena, r->owner));
    }
}

static void add_segment(cuarena_t *arena, const cuarena_memory_segment_t *segment)
{
    cuai_trace_entry_t event = event_of(CUARENA_EVENT_GROW, segment->bytes, CUARENA_NO_STREAM);
    event.seen.address = cuai_pointer(segment->address);
    cuai_trace_add(&arena->trace, &event);
}

static void add_dedicated(cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    for (cuai_slot_t slot = 0;
         heap != NULL && (slot = cuai_heap_next_standalone(heap, slot)) != 0;) {
        cuarena_memory_segment_t segment = cuai_dedicated_segment(cuai_record(heap, slot));
        add_segment(arena, &segment);
    }
}

void cuai_trace_live(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    for (size_t i = 0; i < arena->segments.count; i++)
        add_segment(arena, &arena->segments.items[i]);
    add_dedicated(arena);
    for (int32_t region = 0; region < CUAI_HEAPS; region++)
        add_live(arena, region);
}

/* ---- The rest ---------------------------------------------------------- */

void cuai_trace_bytes(cuarena_t *arena, int32_t kind, uint64_t bytes)
{
    cuai_assert_locked(arena);
    if (CUAI_LIKELY(!cuai_is_traced(arena)))
        return;
    cuai_trace_entry_t event = event_of(kind, bytes, CUARENA_NO_STREAM);
    cuai_trace_add(&arena->trace, &event);
}

void cuai_trace_idle(cuarena_t *arena, uint32_t stream, uint64_t bytes, uint64_t before_ns)
{
    cuai_assert_locked(arena);
    if (CUAI_LIKELY(!cuai_is_traced(arena)) || bytes == 0)
        return;
    cuai_trace_entry_t event =
        event_of(CUARENA_EVENT_IDLE, bytes, cuai_stream_handle(arena, stream));
    event.seen.before_ns = before_ns;
    cuai_trace_add(&arena->trace, &event);
}

void cuai_trace_failure(cuarena_t *arena, cuarena_status_t status, uint64_t bytes,
                        cuarena_tag_t tag, uint32_t stream)
{
    cuai_assert_locked(arena);
    if (CUAI_LIKELY(!cuai_is_traced(arena)))
        return;
    cuai_trace_entry_t event =
        event_of(CUARENA_EVENT_FAIL, bytes, cuai_stream_handle(arena, stream));
    event.seen.status = status;
    event.seen.tag = tag;
    event.tag = tag_name(arena, tag);
    event.note = cuarena_status_name(status);
    cuai_trace_add(&arena->trace, &event);
}

void cuai_trace_step(cuarena_t *arena, int32_t step, const char *name, cuarena_status_t status,
                     uint64_t bytes, uint32_t stream)
{
    cuai_assert_locked(arena);
    if (CUAI_LIKELY(!cuai_is_traced(arena)))
        return;
    cuai_trace_entry_t event =
        event_of(CUARENA_EVENT_STEP, bytes, cuai_stream_handle(arena, stream));
    event.seen.step = step;
    event.seen.status = status;
    event.note = name;
    cuai_trace_add(&arena->trace, &event);
}

void cuai_trace_batch(cuarena_t *arena, const cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    if (CUAI_LIKELY(!cuai_is_traced(arena)) || batch->count == 0)
        return;
    cuarena_stream_t stream = cuai_stream_handle(arena, batch->stream);
    cuai_trace_entry_t event = event_of(CUARENA_EVENT_COMPACT, batch->bytes, stream);
    cuai_trace_add(&arena->trace, &event);
    event.seen.kind = CUARENA_EVENT_MOVE;
    for (size_t i = 0; i < batch->count; i++) {
        const cuarena_relocation_t *move = &batch->list[i];
        const cuai_record_t *r = cuai_block_record(cuai_find_any(arena, move->block));
        bool watched = (arena->slow & CUAI_SLOW_WATCH) != 0;
        event.seen.block = move->block;
        event.seen.address = watched ? cuai_pointer(cuai_user_address(arena, r)) : move->to;
        event.seen.bytes = watched ? cuai_user_bytes(arena, r) : move->bytes;
        event.id = file_id(event.seen.block, CUAI_DYNAMIC);
        cuai_trace_add(&arena->trace, &event);
    }
}
