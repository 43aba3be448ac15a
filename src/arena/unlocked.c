/* Every call that an arena makes of its memory. */
#include "arena/unlocked.h"

#include "arena/arena.h"
#include "memory/cuda/pools.h"

/* The memory's functions: a call may take milliseconds, or wait for a device, so this thread does
 * not have the lock, or the library has a bug. */
static const cuarena_memory_ops_t *ops_of(const cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    return &arena->memory.ops;
}

/* ---- Streams and their work ---------------------------------------------- */

void cuai_set_lost(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (cuai_is_lost(arena))
        return;
    (void)cuai_text_plain(arena->lost_by, sizeof arena->lost_by, cuarena_last_error());
    cuai_slow_set(arena, CUAI_SLOW_LOST, true);
}

cuarena_status_t cuai_note_loss(cuarena_t *arena, cuarena_status_t status)
{
    cuai_assert_locked(arena);
    if (status == CUARENA_LOST)
        cuai_set_lost(arena);
    return status;
}

cuarena_status_t cuai_unlocked_identify(cuarena_t *arena, cuarena_stream_t handle,
                                        cuarena_stream_info_t *info)
{
    cuai_assert_locked(arena);
    cuai_unlock(&arena->lock);
    cuarena_status_t status = ops_of(arena)->identify(arena->memory.user, handle, info);
    cuai_arena_lock(arena);
    return cuai_note_loss(arena, status);
}

/* To record all work of a context ends the captures in it. */
static cuarena_status_t check_may_record(const cuarena_t *arena, const cuai_stream_t *s)
{
    if (arena->capturing == 0 || cuai_stream_is_mine(s))
        return cuai_check_captured(arena, s->number);
    return cuai_fail(CUARENA_BUSY, "work of another thread's default stream cannot be "
                                   "waited for before open capture sessions end");
}

/* Lets go of the lock so that all work of a context may be recorded; no session begins meanwhile.
 */
static void begin_recording_all(cuarena_t *arena)
{
    CUAI_ASSERT(arena->capturing == 0);
    arena->recording_all++;
    cuai_unlock(&arena->lock);
}

static void end_recording_all(cuarena_t *arena)
{
    cuai_arena_lock(arena);
    arena->recording_all--;
    cuai_cond_wake(&arena->changed);
}

static cuarena_status_t record(cuarena_t *arena, cuarena_stream_t handle, void **event)
{
    cuai_unlock(&arena->lock);
    cuarena_status_t status = ops_of(arena)->record_event(arena->memory.user, handle, event);
    cuai_arena_lock(arena);
    return status;
}

/* Records the default stream of another thread. */
static cuarena_status_t record_thread(cuarena_t *arena, cuarena_stream_t handle, void **event)
{
    begin_recording_all(arena);
    cuarena_status_t status = cuai_memory_record_thread(&arena->memory, handle, event);
    end_recording_all(arena);
    return status;
}

cuarena_status_t cuai_unlocked_record(cuarena_t *arena, const cuai_stream_t *s, void **event)
{
    cuarena_stream_t handle = s->handle;
    bool mine = cuai_stream_is_mine(s);
    void *made = *event;
    CUAI_ASSERT(s->touching != 0 && !s->released);
    cuarena_status_t status = check_may_record(arena, s);
    if (status != CUARENA_OK)
        return status;
    status = mine ? record(arena, handle, &made) : record_thread(arena, handle, &made);
    if (status == CUARENA_OK)
        *event = made;
    return cuai_note_loss(arena, status);
}

cuarena_status_t cuai_unlocked_see(cuarena_t *arena, void *event, uint32_t number, bool wait)
{
    CUAI_ASSERT(event != NULL && (wait || number == 0));
    cuarena_stream_t handle = cuai_stream_touch(arena, number);
    bool host = handle == CUARENA_NO_STREAM;
    cuarena_status_t status = cuai_check_captured(arena, number);
    if (status == CUARENA_OK) {
        *(host ? &arena->host_waits : &arena->stream_waits) += wait;
        cuai_unlock(&arena->lock);
        const cuarena_memory_ops_t *ops = ops_of(arena);
        status = wait ? ops->wait_event(arena->memory.user, event, handle, host)
                      : ops->query_event(arena->memory.user, event);
        cuai_arena_lock(arena);
    }
    cuai_stream_untouch(arena, number);
    return cuai_note_loss(arena, status);
}

void cuai_unlocked_discard(cuarena_t *arena, void *event)
{
    cuai_assert_locked(arena);
    if (event == NULL)
        return;
    cuai_unlock(&arena->lock);
    ops_of(arena)->end_event(arena->memory.user, event);
    cuai_arena_lock(arena);
}

cuarena_status_t cuai_unlocked_synchronize(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuarena_stream_t handle;
    cuarena_status_t status = cuai_stream_touch_for_work(arena, number, &handle);
    if (status == CUARENA_OK && handle != CUARENA_NO_STREAM) {
        arena->host_waits++;
        cuai_unlock(&arena->lock);
        status = cuai_mem_await(arena, handle);
        cuai_arena_lock(arena);
    }
    cuai_stream_untouch(arena, number);
    return cuai_note_loss(arena, status);
}

void cuai_await_queued(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_kept_error_t words = cuai_error_kept();
    cuarena_status_t status = cuai_unlocked_synchronize(arena, number);
    cuai_error_restore(&words);
    if (status == CUARENA_OK || cuai_is_lost(arena))
        return;
    cuai_error_add("; %s is lost: nobody can tell when the copy that was queued is done",
                   arena->label);
    cuai_set_lost(arena);
}

cuarena_status_t cuai_unlocked_see_all(cuarena_t *arena, bool wait, bool *captured_out)
{
    cuai_assert_locked(arena);
    void *event = NULL;
    if (captured_out != NULL)
        *captured_out = false;
    if (arena->capturing != 0)
        return CUARENA_UNSUPPORTED;
    begin_recording_all(arena);
    cuarena_status_t status =
        ops_of(arena)->record_event(arena->memory.user, CUARENA_NO_STREAM, &event);
    end_recording_all(arena);
    if (captured_out != NULL)
        *captured_out = status == CUARENA_BUSY;
    if (status == CUARENA_OK)
        status = cuai_unlocked_see(arena, event, 0, wait);
    cuai_unlocked_discard(arena, event);
    return cuai_note_loss(arena, status);
}

/* ---- Bytes --------------------------------------------------------------- */

bool cuai_mem_available(const cuarena_t *arena, uint64_t *bytes_out)
{
    const cuarena_memory_ops_t *ops = ops_of(arena);
    return ops->available != NULL && ops->available(arena->memory.user, bytes_out) == CUARENA_OK;
}

cuarena_status_t cuai_mem_get(const cuarena_t *arena, uint64_t bytes, uint64_t address_bytes,
                              cuarena_memory_segment_t *segment_out)
{
    CUAI_ASSERT(bytes <= address_bytes);
    return ops_of(arena)->get(arena->memory.user, bytes, address_bytes, segment_out);
}

cuarena_status_t cuai_mem_get_on(const cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                 cuarena_memory_segment_t *segment_out)
{
    if (stream == CUARENA_NO_STREAM)
        return cuai_mem_get(arena, bytes, bytes, segment_out);
    return ops_of(arena)->get_on(arena->memory.user, bytes, stream, segment_out);
}

void cuai_mem_give_back(const cuarena_t *arena, cuarena_memory_segment_t *segment)
{
    ops_of(arena)->give_back(arena->memory.user, segment);
}

void cuai_mem_give_on(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                      cuarena_stream_t stream)
{
    if (stream == CUARENA_NO_STREAM)
        cuai_mem_give_back(arena, segment);
    else
        ops_of(arena)->give_on(arena->memory.user, segment, stream);
}

cuarena_status_t cuai_mem_grow(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                               uint64_t new_bytes)
{
    CUAI_ASSERT(new_bytes <= segment->address_bytes);
    return ops_of(arena)->grow(arena->memory.user, segment, new_bytes);
}

void cuai_mem_shrink(const cuarena_t *arena, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    CUAI_ASSERT(new_bytes < segment->bytes);
    ops_of(arena)->shrink(arena->memory.user, segment, new_bytes);
}

cuarena_status_t cuai_mem_fill(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                               uint64_t address, uint64_t bytes)
{
    CUAI_ASSERT(address >= segment->address);
    return ops_of(arena)->fill(arena->memory.user, segment, address - segment->address, bytes);
}

void cuai_mem_punch(const cuarena_t *arena, cuarena_memory_segment_t *segment, uint64_t address,
                    uint64_t bytes)
{
    CUAI_ASSERT(address >= segment->address);
    ops_of(arena)->punch(arena->memory.user, segment, address - segment->address, bytes);
}

cuarena_status_t cuai_mem_map_again(const cuarena_t *arena, const cuarena_memory_segment_t *from,
                                    uint64_t address, uint64_t bytes,
                                    const cuarena_memory_segment_t *to, uint64_t to_address)
{
    (void)ops_of(arena);
    return arena->memory.map_again(arena->memory.user, from, address - from->address, bytes, to,
                                   to_address - to->address);
}

void cuai_mem_unmap(const cuarena_t *arena, const cuarena_memory_segment_t *segment,
                    uint64_t address, uint64_t bytes)
{
    (void)ops_of(arena);
    arena->memory.unmap(arena->memory.user, segment, address - segment->address, bytes);
}

cuarena_status_t cuai_mem_relocate(const cuarena_t *arena, const cuarena_relocation_t *list,
                                   size_t count, cuarena_stream_t stream, size_t *done_out)
{
    CUAI_ASSERT(count != 0);
    return ops_of(arena)->relocate(arena->memory.user, list, count, stream, done_out);
}

cuarena_status_t cuai_mem_zero(const cuarena_t *arena, uint64_t address, uint64_t bytes,
                               cuarena_stream_t stream)
{
    return ops_of(arena)->zero_bytes(arena->memory.user, cuai_pointer(address), bytes, stream);
}

cuarena_status_t cuai_mem_zero_captured(const cuarena_t *arena, uint64_t address, uint64_t bytes,
                                        cuarena_stream_t stream)
{
    return ops_of(arena)->zero_captured(arena->memory.user, cuai_pointer(address), bytes, stream);
}

cuarena_status_t cuai_mem_set(const cuarena_t *arena, uint64_t address, int32_t value,
                              uint64_t bytes, cuarena_stream_t stream)
{
    CUAI_ASSERT(bytes != 0);
    return ops_of(arena)->set_bytes(arena->memory.user, cuai_pointer(address), value, bytes,
                                    stream);
}

cuarena_status_t cuai_mem_read(const cuarena_t *arena, void *to, uint64_t address, uint64_t bytes)
{
    return ops_of(arena)->read_bytes(arena->memory.user, to, cuai_pointer(address), bytes);
}

cuarena_status_t cuai_mem_export(const cuarena_t *arena, const cuarena_memory_segment_t *segment,
                                 uint64_t offset, uint64_t bytes, cuarena_export_piece_t *pieces,
                                 size_t capacity, size_t *count_out)
{
    CUAI_ASSERT(bytes != 0);
    return ops_of(arena)->export_range(arena->memory.user, segment, offset, bytes, pieces, capacity,
                                       count_out);
}

cuarena_status_t cuai_mem_await(const cuarena_t *arena, cuarena_stream_t stream)
{
    (void)ops_of(arena);
    return cuai_memory_synchronize(&arena->memory, stream);
}

void cuai_mem_end_event(const cuarena_t *arena, void *event)
{
    ops_of(arena)->end_event(arena->memory.user, event);
}

/* ---- A pool of the driver's ---------------------------------------------- */

static cuai_pool_t *pool_of(const cuarena_t *arena)
{
    CUAI_ASSERT(arena->memory.pool != NULL);
    cuai_lock_assert_not_held(&arena->lock);
    return arena->memory.pool;
}

cuarena_status_t cuai_mem_pool_stats(const cuarena_t *arena, cuarena_driver_pool_stats_t *stats)
{
    return cuai_pool_stats(pool_of(arena), stats);
}

cuarena_status_t cuai_mem_pool_reset_peaks(const cuarena_t *arena)
{
    return cuai_pool_reset_peaks(pool_of(arena));
}

cuarena_status_t cuai_mem_pool_trim(const cuarena_t *arena, uint64_t keep_bytes,
                                    uint64_t *given_out)
{
    return cuai_pool_trim(pool_of(arena), keep_bytes, given_out);
}

cuarena_status_t cuai_mem_pool_get_threshold(const cuarena_t *arena, uint64_t *bytes_out)
{
    return cuai_pool_get_threshold(pool_of(arena), bytes_out);
}

cuarena_status_t cuai_mem_pool_set_threshold(const cuarena_t *arena, uint64_t bytes)
{
    return cuai_pool_set_threshold(pool_of(arena), bytes);
}
