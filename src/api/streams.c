/* The calls on streams: uses, release, reclaim, marks. Those that allocate, free and resize are in
 * fast.c. */
#include "api/call.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/stream_order.h"
#include "arena/uses.h"

/* ---- Uses -------------------------------------------------------------- */

/* Notes that a stream uses a block, and makes it wait for moves of the block. Adopted bytes need no
 * note: the arena does not allocate them again. Drops the lock. */
static cuarena_status_t note_use(cuarena_t *arena, cuarena_block_t block, uint32_t stream)
{
    CUAI_ASSERT(arena->inside != 0);
    cuarena_status_t status = CUARENA_OK;
    if (!cuai_is_lost(arena))
        status = cuai_see_moves(arena, stream);
    cuai_block_ref_t ref = cuai_find_block(arena, block);
    if (status != CUARENA_OK)
        return status;
    if (ref.heap == NULL)
        return cuai_no_block(block);
    const cuai_record_t *r = cuai_block_record(ref);
    if (stream == 0 || r->size == 0 || (r->flags & CUAI_BLOCK_ADOPTED))
        return CUARENA_OK;
    return cuai_use_add(arena, ref, stream);
}

cuarena_status_t cuarena_record_use(cuarena_t *arena, const void *pointer, cuarena_stream_t stream)
{
    if (arena == NULL || pointer == NULL)
        return cuai_null(arena == NULL ? "arena" : "pointer");
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (status == CUARENA_OK)
        status = ref.heap == NULL ? cuai_no_pointer(pointer)
                                  : note_use(arena, cuai_id(ref.heap, ref.slot), call.stream);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_block_record_use(cuarena_t *arena, cuarena_block_t block,
                                          cuarena_stream_t stream)
{
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    if (status == CUARENA_OK)
        status = note_use(arena, block, call.stream);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_stream_of(cuarena_t *arena, const void *pointer,
                                   cuarena_stream_t *stream_out)
{
    if (arena == NULL || stream_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "stream_out");
    cuarena_status_t status = cuai_query_begin_beside(arena);
    if (status != CUARENA_OK)
        return status;
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    if (ref.heap != NULL)
        *stream_out = cuai_stream_handle(arena, cuai_block_record(ref)->owner);
    return cuai_query_end(arena, ref.heap != NULL ? CUARENA_OK : cuai_no_pointer(pointer));
}

/* ---- Frees on the block's own stream ------------------------------------ */

/* Finds the block again, once its stream is not being released; its heap is NULL where it was freed
 * meanwhile. The stream's number, 0 where it was released. Drops the lock. */
static uint32_t find_own(cuarena_t *arena, cuarena_block_t block, cuai_block_ref_t *block_out)
{
    for (;;) {
        *block_out = cuai_find_block(arena, block);
        uint32_t number = block_out->heap == NULL ? 0 : cuai_block_record(*block_out)->owner;
        if (number == 0 || cuai_stream(arena, number)->released)
            return 0;
        if (!cuai_stream(arena, number)->releasing)
            return number;
        cuai_arena_wait(arena);
    }
}

/* The stream of another thread cannot be named here; the legacy one waits for it. Drops the lock.
 */
static cuarena_status_t free_own(cuai_call_t *call, cuarena_block_t block)
{
    cuai_block_ref_t ref;
    cuarena_t *arena = call->arena;
    uint32_t number = find_own(arena, block, &ref);
    cuarena_status_t status = CUARENA_OK;
    CUAI_ASSERT(call->stream == 0);
    if (number != 0 && cuai_stream_is_mine(cuai_stream(arena, number))) {
        call->stream = number;
        cuai_stream(arena, number)->callers++; /* so that it is not released meanwhile */
    } else if (number != 0) {
        status = cuai_call_on_free(call, CUARENA_STREAM_LEGACY);
        ref = cuai_find_block(arena, block);
    }
    if (status != CUARENA_OK)
        return status;
    return ref.heap == NULL ? cuai_no_block(block) : cuai_release(call, ref, call->stream);
}

cuarena_status_t cuarena_free_own(cuarena_t *arena, void *pointer)
{
    if (arena != NULL && pointer == NULL)
        return CUARENA_OK;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    cuai_block_ref_t ref = cuai_find_address(arena, cuai_address(pointer));
    status =
        ref.heap == NULL ? cuai_no_pointer(pointer) : free_own(&call, cuai_id(ref.heap, ref.slot));
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_block_free_own(cuarena_t *arena, cuarena_block_t block)
{
    if (arena != NULL && block == 0)
        return CUARENA_OK;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", CUAI_CALL_BESIDE);
    if (status != CUARENA_OK)
        return status;
    return cuai_call_end(&call, free_own(&call, block));
}

/* ---- Streams ----------------------------------------------------------- */

static cuarena_status_t begin_on_stream(cuai_call_t *call, cuarena_t *arena,
                                        cuarena_stream_t stream, const char *what, int needs)
{
    if (arena != NULL && stream == CUARENA_NO_STREAM)
        return cuai_told(
            cuai_fail(CUARENA_BAD_ARGUMENT, "stream CUARENA_NO_STREAM; accepted: a stream"));
    return cuai_call_begin(call, arena, what, needs);
}

cuarena_status_t cuarena_release_stream(cuarena_t *arena, cuarena_stream_t stream)
{
    cuai_call_t call;
    cuarena_status_t status = begin_on_stream(&call, arena, stream, "release_stream", 0);
    if (status != CUARENA_OK)
        return status;
    if (!cuai_is_lost(arena))
        call.stream = cuai_stream_find_known(arena, stream);
    status = cuai_check_captured(arena, call.stream);
    if (call.stream != 0 && status == CUARENA_OK)
        status = cuai_stream_release(arena, call.stream);
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_reclaim(cuarena_t *arena, int32_t wait, uint64_t *reclaimed_out)
{
    if (arena != NULL && wait != 0 && wait != 1)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "wait %d; accepted: 0, 1", (int)wait));
    uint64_t bytes = 0;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "reclaim", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    if (arena->stream_count != 0)
        status = cuai_reclaim_all(arena, wait, &bytes);
    if (status == CUARENA_OK && reclaimed_out != NULL)
        *reclaimed_out = bytes;
    return cuai_call_end(&call, status);
}

/* ---- Waits of the program's own ---------------------------------------- */

/* A mark is a serial above the number of its stream. */
#define MARK_BITS 7
#define MARK_NUMBERS (1u << MARK_BITS)
_Static_assert(CUAI_STREAM_NUMBERS <= MARK_NUMBERS, "marks");

static uint32_t marked_number(cuarena_mark_t mark)
{
    return (uint32_t)(mark % MARK_NUMBERS);
}

cuarena_status_t cuarena_stream_mark(cuarena_t *arena, cuarena_stream_t stream,
                                     cuarena_mark_t *mark_out)
{
    if (arena == NULL || mark_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "mark_out");
    uint64_t serial = 0;
    cuai_call_t call;
    cuarena_status_t status = begin_on_stream(&call, arena, stream, "stream_mark", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_call_on(&call, stream);
    if (status == CUARENA_OK)
        status = cuai_moment(arena, call.stream, &serial);
    if (status == CUARENA_OK)
        *mark_out = serial << MARK_BITS | call.stream;
    return cuai_call_end(&call, status);
}

static cuarena_status_t check_mark(const cuarena_t *arena, cuarena_stream_t stream,
                                   cuarena_mark_t mark)
{
    CUAI_ASSERT(arena->inside != 0);
    uint64_t serial = mark >> MARK_BITS;
    uint32_t number = marked_number(mark);
    bool given = serial != 0 && serial <= arena->event_serial && number != 0 &&
                 number < CUAI_STREAM_NUMBERS && arena->streams != NULL;
    const cuai_stream_t *s = given ? cuai_stream(arena, number) : NULL;
    bool over = given && (s == NULL || serial <= s->born_serial);
    if (over || (given && s->handle == cuai_stream_normal(stream)))
        return CUARENA_OK;
    char room[CUAI_STREAM_SHOWN];
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "mark %llu; accepted: what cuarena_stream_mark gave for "
                     "stream %s",
                     (unsigned long long)mark, cuai_stream_shown(stream, room));
}

cuarena_status_t cuarena_stream_waited(cuarena_t *arena, cuarena_stream_t waiter,
                                       cuarena_stream_t producer, cuarena_mark_t mark)
{
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "stream_waited", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    status = check_mark(arena, producer, mark);
    if (status == CUARENA_OK)
        status = cuai_call_on(&call, waiter);
    if (status == CUARENA_OK)
        cuai_note_wait(arena, call.stream, marked_number(mark), mark >> MARK_BITS);
    return cuai_call_end(&call, status);
}
