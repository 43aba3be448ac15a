/*
 * Moving bytes: batches of a compaction, and single copies.
 *
 * A batch is planned and begun under the lock, which marks its blocks and ranges; the bytes are
 * moved without the lock, and the batch is committed under it.
 */
#include "arena/move.h"
#include "arena/alloc.h"
#include "arena/annotate.h"
#include "arena/capture.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "base/log.h"
#include "heap/freelists.h"
#include "heap/plan.h"

/* ---- Blocks on their way ----------------------------------------------- */

void cuai_mark_moving(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(!cuai_block_record(ref)->moving);
    cuai_block_record(ref)->moving = 1;
    arena->moving_blocks++;
}

void cuai_clear_moving(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(cuai_block_record(ref)->moving && arena->moving_blocks != 0);
    cuai_block_record(ref)->moving = 0;
    arena->moving_blocks--;
    cuai_cond_wake(&arena->changed);
}

/* Ends a block that was freed while it moved. One that has uses ends when these do. */
static bool end_if_freed(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(!r->moving);
    if (!(r->flags & CUAI_BLOCK_ENDING))
        return false;
    if ((r->flags & CUAI_BLOCK_USED) && !r->fixed)
        return true;
    cuai_end_block(arena, ref, stream);
    return true;
}

bool cuai_end_moving(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    cuai_assert_locked(arena);
    cuai_clear_moving(arena, ref);
    return end_if_freed(arena, ref, stream);
}

/* ---- A batch ----------------------------------------------------------- */

_Static_assert(sizeof(cuai_move_t) == sizeof(cuarena_relocation_t) &&
                   offsetof(cuai_move_t, block) == offsetof(cuarena_relocation_t, block) &&
                   offsetof(cuai_move_t, from) == offsetof(cuarena_relocation_t, from) &&
                   offsetof(cuai_move_t, to) == offsetof(cuarena_relocation_t, to) &&
                   offsetof(cuai_move_t, bytes) == offsetof(cuarena_relocation_t, bytes) &&
                   sizeof(void *) == sizeof(uint64_t),
               "a move is a relocation: offsets are addresses");

static cuarena_relocation_t *relocations(cuai_move_t *moves)
{
    return (cuarena_relocation_t *)(void *)moves;
}

static void add_each(const cuarena_t *arena, cuai_batch_t *batch)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    for (size_t i = 0; i < batch->count; i++)
        cuai_set_add_block(arena, &batch->streams, heap, cuai_slot_of(heap, batch->list[i].block));
}

/* Notes the streams that the moved blocks name. Blocks are looked at one by one only if they name
 * several. */
static void note_streams(const cuarena_t *arena, cuai_batch_t *batch)
{
    const uint64_t owners = CUAI_OWNER_ATTRIBUTES(CUARENA_HEAP_MAX_OWNER);
    uint64_t some = batch->plan->some;
    uint64_t owner = some & owners;
    if ((some & CUAI_ATTRIBUTES(0, 0, CUAI_BLOCK_USED)) != 0 ||
        (batch->plan->every & owners) != owner)
        add_each(arena, batch);
    else if (owner != 0)
        cuai_set_add(&batch->streams, (uint32_t)(owner >> 56));
}

static void take_plan(const cuarena_t *arena, cuai_batch_t *batch)
{
    const cuarena_heap_plan_t *plan = batch->plan;
    batch->list = relocations(plan->moves);
    batch->runs = relocations(cuai_plan_runs(plan));
    batch->count = plan->count;
    batch->runs_count = plan->run_count;
    batch->bytes = plan->bytes;
    if (batch->count != 0)
        note_streams(arena, batch);
}

/* The stream whose free list gets what the batch vacates. Where the CPU touches the memory the
 * copies were waited for, so the bytes are idle. */
static uint32_t stream_of(const cuarena_t *arena, const cuai_batch_t *batch)
{
    return arena->cpu_touches ? 0 : batch->stream;
}

static uint32_t freelist_of(const cuarena_t *arena, const cuai_batch_t *batch)
{
    return cuai_freelist_for_free(arena, CUAI_DYNAMIC, stream_of(arena, batch));
}

/* Lets blocks move into ranges of the stream's own free lists as well. */
static void open_freelist(cuarena_t *arena, uint32_t freelist)
{
    if (freelist != 0)
        cuai_freelist_absorb(arena->heaps[CUAI_DYNAMIC], freelist, UINT64_MAX);
}

cuarena_status_t cuai_batch_begin(cuarena_t *arena, const cuarena_heap_plan_options_t *options,
                                  uint32_t stream, uint64_t *largest_out, cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    *batch = (cuai_batch_t){.stream = stream, .freed_while_moving = arena->freed_while_moving};
    cuarena_heap_plan_options_t own = *options;
    own.freelist = freelist_of(arena, batch);
    bool one_pass = cuai_plan_is_one_pass(heap, &own);
    if (largest_out != NULL && !one_pass)
        cuarena_heap_largest(heap, 0, largest_out);
    open_freelist(arena, own.freelist);
    bool runs_apart = arena->config.memory == CUARENA_MEMORY_CUSTOM;
    cuai_captures_hold(arena, true);
    cuarena_status_t status = cuai_plan_start(heap, &own, runs_apart, &batch->plan);
    cuai_captures_hold(arena, false);
    if (status != CUARENA_OK)
        return status;
    take_plan(arena, batch);
    if (largest_out != NULL && one_pass)
        *largest_out = batch->plan->largest;
    return CUARENA_OK;
}

void cuai_batch_end(cuarena_t *arena, cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    if (batch->plan == NULL) {
        cuai_host_free(batch->list);
        cuai_host_free(batch->runs);
    }
    cuarena_heap_plan_destroy(arena->heaps[CUAI_DYNAMIC], &batch->plan);
    *batch = (cuai_batch_t){0};
}

void cuai_batch_reclaim(cuarena_t *arena, cuai_batch_t *batch, uint32_t heir)
{
    cuai_assert_locked(arena);
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        cuai_slot_t slot = cuai_slot_of(heap, batch->list[i].block);
        cuai_block_ref_t ref = {heap, slot, CUAI_DYNAMIC};
        CUAI_ASSERT(slot != 0);
        cuai_block_record(ref)->moving = 0;
        if (end_if_freed(arena, ref, heir == CUAI_ITS_OWN ? cuai_block_record(ref)->owner : heir))
            continue;
        if (kept != i)
            batch->list[kept] = batch->list[i];
        kept++;
    }
    batch->count = kept;
    cuai_cond_wake(&arena->changed);
}

/* How far the copies of a batch came. */
typedef struct queued {
    size_t done;        /* how many were queued or made */
    const char *failed; /* what failed then */
} queued_t;

/* What came after copies failed, or one after others: the arena is lost, and the error says what is
 * gone. Waits for the copies, since whoever ends a lost arena waits for nothing. Drops the lock. */
static void lose(cuarena_t *arena, const cuai_batch_t *batch, const queued_t *queued)
{
    CUAI_ASSERT(queued->done != 0);
    if (!cuai_is_lost(arena))
        cuai_await_queued(arena, batch->stream);
    size_t at = queued->done < batch->runs_count ? queued->done : 0;
    cuai_error_add("; %s is lost: %s failed after %zu of %zu copies; contents from %p on may be "
                   "gone",
                   arena->label, queued->failed, queued->done, batch->runs_count,
                   batch->runs[at].from);
    cuai_set_lost(arena);
}

/* Where the bytes end that a run vacates: at the next run's new place if that is within them, else
 * where the run ended. Runs are in address order. */
static uint64_t vacated_end(const cuai_batch_t *batch, size_t i)
{
    CUAI_ASSERT(i < batch->runs_count);
    const cuarena_relocation_t *run = &batch->runs[i];
    uint64_t begin = cuai_address(run->to) + run->bytes;
    uint64_t end = cuai_address(run->from) + run->bytes;
    if (i + 1 == batch->runs_count)
        return end;
    uint64_t next = cuai_address(batch->runs[i + 1].to);
    return next >= begin && next < end ? next : end;
}

/* With ZERO_FREE sets what the batch has vacated to 0. No lock. */
static cuarena_status_t zero_vacated(const cuarena_t *arena, const cuai_batch_t *batch,
                                     cuarena_stream_t stream)
{
    cuarena_status_t status = CUARENA_OK;
    if (arena->config.zero != CUARENA_ZERO_FREE)
        return status;
    for (size_t i = 0; i < batch->runs_count && status == CUARENA_OK; i++) {
        const cuarena_relocation_t *run = &batch->runs[i];
        uint64_t begin = cuai_address(run->to) + run->bytes;
        uint64_t bytes = vacated_end(batch, i) - begin;
        if (bytes != 0)
            status = cuai_mem_zero(arena, begin, bytes, stream);
    }
    return status;
}

/* Lets the memory move the runs of a batch. No lock. */
static cuarena_status_t move_runs(const cuarena_t *arena, const cuai_batch_t *batch,
                                  cuarena_stream_t stream, queued_t *queued)
{
    cuarena_status_t status =
        cuai_mem_relocate(arena, batch->runs, batch->runs_count, stream, &queued->done);
    queued->failed = queued->done < batch->runs_count ? "copying" : "the wait for them";
    if (status != CUARENA_OK)
        return status;
    *queued = (queued_t){batch->runs_count, "setting to 0 what they left"};
    return zero_vacated(arena, batch, stream);
}

/* Queues the moves of a batch on a stream that the caller touches. Drops the lock. */
static cuarena_status_t queue_between(cuarena_t *arena, const cuai_batch_t *batch,
                                      cuarena_stream_t stream, queued_t *queued)
{
    CUAI_ASSERT(batch->stream == 0 || cuai_stream(arena, batch->stream)->touching != 0);
    cuarena_status_t status = cuai_order_before(arena, &batch->streams, batch->stream);
    if (status != CUARENA_OK)
        return status;
    cuai_unlock(&arena->lock);
    status = move_runs(arena, batch, stream, queued);
    cuai_arena_lock(arena);
    if (status != CUARENA_OK || stream == CUARENA_NO_STREAM)
        return cuai_note_loss(arena, status);
    queued->failed = "the wait for them";
    return cuai_order_after(arena, &batch->streams, batch->stream);
}

/* Queues the copies of a batch. On an error after some are done the arena is lost. Drops the lock.
 */
static cuarena_status_t queue_copies(cuarena_t *arena, const cuai_batch_t *batch, queued_t *queued)
{
    cuai_assert_locked(arena);
    cuarena_stream_t stream;
    cuarena_status_t status = cuai_stream_touch_for_work(arena, batch->stream, &stream);
    if (status == CUARENA_OK)
        status = cuai_check_captured(arena, batch->stream);
    if (status == CUARENA_OK)
        status = queue_between(arena, batch, stream, queued);
    cuai_stream_untouch(arena, batch->stream);
    return status;
}

/* Aborts the plan; its ranges go back to the free list that they were in. */
static void abort_batch(cuarena_t *arena, const cuai_batch_t *batch)
{
    cuarena_heap_plan_abort(arena->heaps[CUAI_DYNAMIC], batch->plan);
    if (stream_of(arena, batch) != 0)
        cuai_stream_tidy(arena, batch->stream);
}

static void commit(cuarena_t *arena, const cuai_batch_t *batch)
{
    cuarena_heap_plan_commit(arena->heaps[CUAI_DYNAMIC], batch->plan, freelist_of(arena, batch));
    if (cuai_is_annotated(arena))
        cuai_annotate_moves(arena, batch);
}

void cuai_batch_count(cuarena_t *arena, const cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    arena->compactions++;
    arena->moves += batch->count;
    arena->bytes_moved += batch->bytes;
}

cuarena_status_t cuai_batch_execute(cuarena_t *arena, cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(batch->plan != NULL);
    queued_t queued = {0};
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = queue_copies(arena, batch, &queued);
    if (status == CUARENA_OK)
        cuai_error_restore(&before); /* one of two ways to wait may have failed */
    if (status != CUARENA_OK && queued.done != 0)
        lose(arena, batch, &queued);
    uint32_t heir = status != CUARENA_OK ? CUAI_ITS_OWN : stream_of(arena, batch);
    if (status != CUARENA_OK)
        abort_batch(arena, batch);
    else
        commit(arena, batch);
    if (arena->freed_while_moving != batch->freed_while_moving)
        cuai_batch_reclaim(arena, batch, heir);
    else
        cuai_cond_wake(&arena->changed);
    if (status != CUARENA_OK)
        return status;
    cuai_batch_count(arena, batch);
    return CUARENA_OK;
}

/* ---- Everything -------------------------------------------------------- */

cuarena_status_t cuai_batch_all(cuarena_t *arena, cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    size_t most = cuai_heap_blocks(heap) + 1;
    *batch = (cuai_batch_t){
        .list = cuai_host_alloc_unzeroed(most * sizeof *batch->list),
        .runs = cuai_host_alloc_unzeroed(most * sizeof *batch->runs),
    };
    if (batch->list == NULL || batch->runs == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for %zu relocations", most);
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        cuai_record_t *r = cuai_record(heap, slot);
        if (r->kind != CUAI_BLOCK)
            continue;
        r->moving = 1;
        void *from = cuai_pointer(r->offset);
        batch->list[batch->count++] =
            (cuarena_relocation_t){cuai_id(heap, slot), from, from, r->size};
        batch->bytes += r->size;
    }
    return CUARENA_OK;
}

static bool continues(const cuarena_relocation_t *run, const cuarena_relocation_t *item)
{
    return cuai_address(run->from) + run->bytes == cuai_address(item->from) &&
           cuai_address(run->to) + run->bytes == cuai_address(item->to);
}

static void add_to_runs(cuai_batch_t *batch, const cuarena_relocation_t *item)
{
    cuarena_relocation_t *last =
        batch->runs_count == 0 ? NULL : &batch->runs[batch->runs_count - 1];
    if (last != NULL && continues(last, item))
        last->bytes += item->bytes;
    else
        batch->runs[batch->runs_count++] =
            (cuarena_relocation_t){0, item->from, item->to, item->bytes};
}

void cuai_batch_shift(cuai_batch_t *batch, uint64_t distance)
{
    for (size_t i = 0; i < batch->count; i++) {
        cuarena_relocation_t *item = &batch->list[i];
        item->to = cuai_pointer(cuai_address(item->from) + distance);
        add_to_runs(batch, item);
    }
}

/* ---- One copy ---------------------------------------------------------- */

cuarena_status_t cuai_copy(cuarena_t *arena, uint64_t to, uint64_t from, uint64_t bytes,
                           uint32_t stream)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(bytes != 0);
    cuarena_relocation_t one = {0, cuai_pointer(from), cuai_pointer(to), bytes};
    cuarena_status_t status = cuai_see_moves(arena, stream);
    if (status != CUARENA_OK)
        return status;
    cuarena_stream_t handle;
    size_t done = 0;
    status = cuai_stream_touch_for_work(arena, stream, &handle);
    if (status == CUARENA_OK)
        status = cuai_check_captured(arena, stream);
    if (status == CUARENA_OK) {
        cuai_unlock(&arena->lock);
        status = cuai_mem_relocate(arena, &one, 1, handle, &done);
        cuai_arena_lock(arena);
    }
    cuai_stream_untouch(arena, stream);
    if (status != CUARENA_OK && done != 0)
        cuai_await_queued(arena, stream);
    return cuai_note_loss(arena, status);
}
