/* Compaction: batches planned and begun under the lock, moved without it, committed under it, and
 * reported without it. */
#include "api/call.h"
#include "arena/cache.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/grow.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "arena/watch.h"
#include "base/frame.h"
#include "base/sized.h"

void cuarena_compact_options_init(cuarena_compact_options_t *options)
{
    *options = (cuarena_compact_options_t){
        .struct_size = sizeof *options,
        .max_bytes = UINT64_MAX,
        .max_moves = UINT64_MAX,
        .batch_moves = UINT64_MAX,
        .stream = CUARENA_NO_STREAM,
    };
}

void cuarena_compact_report_init(cuarena_compact_report_t *report)
{
    *report = (cuarena_compact_report_t){.struct_size = sizeof *report};
}

/* ---- One at a time ----------------------------------------------------- */

void cuai_begin_exclusive(cuarena_t *arena)
{
    CUAI_ASSERT(arena->inside != 0);
    while (arena->compacting || arena->growing || arena->moving_blocks != 0)
        cuai_arena_wait(arena);
    arena->compacting = true;
    cuai_tcaches_flush(arena);
}

void cuai_end_exclusive(cuarena_t *arena)
{
    CUAI_ASSERT(arena->compacting);
    arena->compacting = false;
    cuai_cond_wake(&arena->changed);
}

/* Callers know of the bytes between guards alone. */
static void leave_guards_out(const cuarena_t *arena, cuarena_relocation_t *list, size_t count)
{
    for (size_t i = 0; arena->config.guard_bytes != 0 && i < count; i++) {
        cuai_block_ref_t ref = cuai_find_any(arena, list[i].block);
        CUAI_ASSERT(ref.heap != NULL);
        uint64_t front = cuai_front_of(arena, cuai_block_record(ref));
        list[i].from = cuai_pointer(cuai_address(list[i].from) + front);
        list[i].to = cuai_pointer(cuai_address(list[i].to) + front);
        list[i].bytes = cuai_user_bytes(arena, cuai_block_record(ref));
    }
}

int32_t cuai_deliver(cuarena_t *arena, cuarena_relocation_fn callback, void *user,
                     cuarena_relocation_t *list, size_t count)
{
    CUAI_ASSERT(arena->inside != 0);
    if (callback == NULL || count == 0)
        return 0;
    leave_guards_out(arena, list, count);
    cuai_frame_t frame;
    cuai_unlock(&arena->lock);
    cuai_frame_push(&frame, CUAI_FRAME_RELOCATION, arena);
    int32_t stop = callback(user, list, count);
    cuai_frame_pop();
    cuai_arena_lock(arena);
    return stop;
}

/* ---- Batches ----------------------------------------------------------- */

/* A compaction, from batch to batch. */
typedef struct progress {
    cuai_call_t *call;
    const cuarena_compact_options_t *options;
    cuarena_relocation_fn callback;
    void *user;
    uint32_t stream;           /* number */
    cuai_stream_set_t streams; /* those that the caller named */
    bool reports;              /* the caller wants the report */
    bool keeps_pointers;       /* pointers stay: only blocks move */
    cuarena_compact_report_t report;
} progress_t;

static uint64_t rest_of(uint64_t most, uint64_t spent)
{
    CUAI_ASSERT(spent <= most);
    return most == UINT64_MAX ? most : most - spent;
}

static cuarena_heap_plan_options_t plan_options(const progress_t *progress)
{
    const cuarena_compact_options_t *options = progress->options;
    cuarena_heap_plan_options_t plan;
    cuarena_heap_plan_options_init(&plan);
    plan.goal_bytes = options->goal_bytes;
    plan.goal_alignment = options->goal_alignment;
    plan.max_bytes = rest_of(options->max_bytes, progress->report.bytes_moved);
    plan.max_moves = rest_of(options->max_moves, progress->report.moves);
    if (options->goal_bytes == 0)
        plan.max_moves = cuai_min(plan.max_moves, options->batch_moves);
    return plan;
}

/* The listener may not compact either, which would wait for the compaction that it is told of. So
 * it is called as a relocation callback is. Drops the lock. */
static void tell_listener(cuai_call_t *call)
{
    CUAI_ASSERT(call->arena->inside != 0);
    cuai_frame_t frame;
    cuai_frame_push(&frame, CUAI_FRAME_RELOCATION, call->arena);
    cuai_call_flush(call);
    cuai_frame_pop();
}

static void count_batch(progress_t *progress, const cuai_batch_t *batch)
{
    CUAI_ASSERT(progress->call->arena->compacting);
    cuarena_compact_report_t *report = &progress->report;
    report->batches++;
    report->moves += batch->count;
    report->runs += batch->runs_count;
    report->bytes_moved += batch->bytes;
    cuai_call_note(progress->call, CUARENA_EVENT_COMPACT, batch->bytes);
    cuai_trace_batch(progress->call->arena, batch);
    tell_listener(progress->call); /* one event a batch */
}

/* Pins pointers that have no pin while a plan is made, and undoes it: what is fixed and not private
 * to a capture was fixed here. O(blocks). */
static void hold_pointers(const cuarena_t *arena, bool held)
{
    CUAI_ASSERT(arena->compacting);
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        cuai_record_t *r = cuai_record(heap, slot);
        if (r->kind != CUAI_BLOCK || r->pins != 0 || !(r->flags & CUAI_BLOCK_POINTER))
            continue;
        if (held)
            r->fixed = 1;
        else if (cuai_capture_around(arena, r->offset) == NULL)
            r->fixed = 0;
    }
}

static cuarena_status_t begin_batch(progress_t *progress,
                                    const cuarena_heap_plan_options_t *options, cuai_batch_t *batch)
{
    CUAI_ASSERT(progress->call->arena->compacting);
    cuarena_t *arena = progress->call->arena;
    bool first = progress->report.batches == 0;
    if (progress->keeps_pointers)
        hold_pointers(arena, true);
    cuarena_status_t status = cuai_batch_begin(
        arena, options, progress->stream,
        progress->reports && first ? &progress->report.largest_before : NULL, batch);
    if (progress->keeps_pointers)
        hold_pointers(arena, false);
    return status;
}

/* Whether a stream that the batch must wait for has come into a capture session since the plan was
 * made, or has gone again since. Another plan leaves its blocks alone. */
static bool is_overtaken(const progress_t *progress, const cuai_batch_t *batch)
{
    cuai_assert_locked(progress->call->arena);
    const cuarena_t *arena = progress->call->arena;
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++)
        if (cuai_set_has(&batch->streams, n) && !cuai_set_has(&progress->streams, n) &&
            n != progress->stream && (cuai_stream(arena, n) == NULL || cuai_is_captured(arena, n)))
            return true;
    return false;
}

/* Moves one batch; *more_out says whether another may find something to move. Drops the lock. */
static cuarena_status_t run_batch(progress_t *progress, bool *more_out)
{
    CUAI_ASSERT(progress->call->arena->compacting);
    cuarena_t *arena = progress->call->arena;
    cuarena_heap_plan_options_t options = plan_options(progress);
    cuai_batch_t batch;
    *more_out = false;
    cuarena_status_t status = begin_batch(progress, &options, &batch);
    if (status != CUARENA_OK)
        return status;
    uint64_t planned = batch.count;
    for (int i = 0; i < 2; i++)
        batch.streams.bits[i] |= progress->streams.bits[i];
    if (planned != 0)
        status = cuai_batch_execute(arena, &batch);
    if (status == CUARENA_OK && planned != 0) {
        count_batch(progress, &batch);
        progress->report.stopped =
            cuai_deliver(arena, progress->callback, progress->user, batch.list, batch.count) != 0;
    }
    *more_out = status == CUARENA_OK && planned == options.max_moves && options.goal_bytes == 0 &&
                !progress->report.stopped && progress->report.moves < progress->options->max_moves;
    if (status == CUARENA_BUSY && is_overtaken(progress, &batch)) {
        status = CUARENA_OK;
        *more_out = true;
    }
    cuai_batch_end(arena, &batch);
    return status;
}

static cuarena_status_t run_batches(progress_t *progress)
{
    bool more = true;
    cuarena_status_t status = CUARENA_OK;
    while (status == CUARENA_OK && more)
        status = run_batch(progress, &more);
    return status;
}

static bool may_steal(const progress_t *progress)
{
    return cuai_may_steal_all(progress->call->arena, progress->stream);
}

/* Whether taking again what a pool gave back would reach the goal. */
static bool lacks_given_back(const progress_t *progress)
{
    const cuarena_t *arena = progress->call->arena;
    uint64_t goal = progress->options->goal_bytes;
    uint64_t untaken = cuai_pool_untaken(arena);
    uint64_t free_bytes = cuai_free_bytes(arena->heaps[CUAI_DYNAMIC]);
    return arena->segments.count != 0 && untaken != 0 && goal <= free_bytes + untaken;
}

/* Takes again what a pool gave back: blocks cannot move into bytes that are not there. Drops the
 * lock. */
static cuarena_status_t fill_pool(const progress_t *progress)
{
    CUAI_ASSERT(progress->call->arena->compacting);
    uint64_t taken = 0;
    cuarena_status_t status = cuai_fill_pool(progress->call->arena, &taken);
    cuai_call_note(progress->call, CUARENA_EVENT_GROW, taken);
    return status;
}

/* Runs batches until the goal is reached. If free bytes that need no wait are not enough, it is
 * tried again with all that streams freed, then with what a pool gave back. Drops the lock. */
static cuarena_status_t reach_goal(progress_t *progress)
{
    CUAI_ASSERT(progress->call->arena->compacting);
    cuarena_status_t status = run_batches(progress);
    if (status == CUARENA_FRAGMENTED && may_steal(progress)) {
        status = cuai_steal_all(progress->call->arena, progress->stream);
        if (status == CUARENA_OK)
            status = run_batches(progress);
    }
    if (status != CUARENA_FRAGMENTED || !lacks_given_back(progress))
        return status;
    cuarena_status_t filled = fill_pool(progress);
    if (filled == CUARENA_OK)
        return run_batches(progress);
    return filled == CUARENA_UNSUPPORTED ? status : filled;
}

/* ---- What stayed ------------------------------------------------------- */

static size_t list_unmoved(const cuarena_heap_t *heap, cuarena_relocation_t *list)
{
    size_t count = 0;
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (!cuai_is_movable(r))
            continue;
        void *address = cuai_pointer(r->offset);
        list[count++] = (cuarena_relocation_t){cuai_id(heap, slot), address, address, r->size};
    }
    return count;
}

/* Blocks and where they stood before the first move; those that still stand there are reported
 * after the last. */
typedef struct places {
    cuarena_relocation_t *list;
    size_t count;
} places_t;

static cuarena_status_t note_places(const cuarena_t *arena, places_t *places)
{
    CUAI_ASSERT(arena->compacting);
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    places->list = cuai_host_alloc((cuai_heap_blocks(heap) + 1) * sizeof *places->list);
    if (places->list == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory to report unmoved blocks");
    places->count = list_unmoved(heap, places->list);
    return CUARENA_OK;
}

static void keep_unmoved(const cuarena_t *arena, places_t *places)
{
    CUAI_ASSERT(arena->compacting);
    size_t kept = 0;
    for (size_t i = 0; i < places->count; i++) {
        cuai_block_ref_t ref = cuai_find_block(arena, places->list[i].block);
        if (ref.heap != NULL &&
            cuai_block_record(ref)->offset == cuai_address(places->list[i].from))
            places->list[kept++] = places->list[i];
    }
    places->count = kept;
}

static cuarena_status_t run_and_report(progress_t *progress)
{
    CUAI_ASSERT(progress->call->arena->compacting);
    cuarena_t *arena = progress->call->arena;
    places_t places = {0};
    cuarena_status_t status = CUARENA_OK;
    if (progress->options->report_unmoved)
        status = note_places(arena, &places);
    if (status == CUARENA_OK)
        status = reach_goal(progress);
    if (status == CUARENA_OK && !progress->report.stopped) {
        keep_unmoved(arena, &places);
        cuai_deliver(arena, progress->callback, progress->user, places.list, places.count);
    }
    cuai_host_free(places.list);
    return status;
}

/* ---- Streams ----------------------------------------------------------- */

/* Adds a stream to the set, which holds each once until leave_streams. */
static void add_stream(progress_t *progress, uint32_t number)
{
    CUAI_ASSERT(number < CUAI_STREAM_NUMBERS);
    if (number != 0 && cuai_set_has(&progress->streams, number))
        cuai_stream_leave(progress->call->arena, number);
    else if (number != 0)
        cuai_set_add(&progress->streams, number);
}

/* BUSY for a stream that is being captured: the copies would become part of its graph. Drops the
 * lock. */
static cuarena_status_t check_stream(cuarena_t *arena, uint32_t number)
{
    CUAI_ASSERT(arena->inside != 0);
    bool captured = false;
    cuarena_status_t status = cuai_check_captured(arena, number);
    if (status == CUARENA_OK && number != 0)
        status = cuai_stream_ask_captured(arena, number, &captured);
    if (status != CUARENA_OK || !captured)
        return status;
    return cuai_fail(CUARENA_BUSY,
                     "stream %p is being captured into a graph, and is given "
                     "nothing to do until that ends",
                     (void *)cuai_stream_handle(arena, number));
}

static cuarena_status_t find_streams(progress_t *progress)
{
    cuarena_t *arena = progress->call->arena;
    const cuarena_compact_options_t *options = progress->options;
    cuarena_status_t status = cuai_call_on(progress->call, options->stream);
    progress->stream = progress->call->stream;
    if (status == CUARENA_OK)
        status = check_stream(arena, progress->stream);
    for (size_t i = 0; i < options->stream_count && status == CUARENA_OK; i++) {
        uint32_t number = 0;
        status = cuai_stream_find(arena, options->streams[i], false, &number);
        add_stream(progress, number);
        if (status == CUARENA_OK)
            status = cuai_check_captured(arena, number);
    }
    return status;
}

static void leave_streams(const progress_t *progress)
{
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++)
        if (cuai_set_has(&progress->streams, n))
            cuai_stream_leave(progress->call->arena, n);
}

/* Makes what streams freed usable for moves. A compaction without a stream waits for all of it. One
 * on a stream takes what is ready and its own and, if it has no goal, what it may wait for. Drops
 * the lock. */
static cuarena_status_t reclaim_first(const progress_t *progress)
{
    cuarena_t *arena = progress->call->arena;
    if (arena->stream_count == 0)
        return CUARENA_OK;
    if (progress->stream == 0 || arena->cpu_touches)
        return cuai_reclaim_all(arena, progress->stream == 0, NULL);
    cuai_streams_forget_lag(arena);
    cuai_reclaim_ready(arena, progress->stream);
    cuai_reclaim_own(arena, progress->stream);
    return progress->options->goal_bytes == 0 && may_steal(progress)
               ? cuai_steal_all(arena, progress->stream)
               : CUARENA_OK;
}

/* ---- The call ---------------------------------------------------------- */

static cuarena_status_t check_goal(const cuarena_compact_options_t *options)
{
    uint64_t alignment = options->goal_alignment;
    if (options->goal_bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "goal_bytes %llu; accepted: below 2^48",
                         (unsigned long long)options->goal_bytes);
    if (alignment == 0 || (cuai_is_power_of_two(alignment) && alignment < CUARENA_HEAP_MAX_SEGMENT))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "goal_alignment %llu; accepted: 0, or a power of two below 2^48",
                     (unsigned long long)alignment);
}

static cuarena_status_t check_options(const cuarena_compact_options_t *options)
{
    if (!cuai_sized_ok(options, sizeof *options, sizeof *options))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "options: struct_size %zu; accepted: what "
                         "cuarena_compact_options_init sets",
                         cuai_sized_of(options));
    if (options->report_unmoved != 0 && options->report_unmoved != 1)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "report_unmoved %d; accepted: 0, 1",
                         (int)options->report_unmoved);
    if (options->zero != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "zero %d; accepted: 0", (int)options->zero);
    if (options->stream_count != 0 && options->streams == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "streams NULL with stream_count %zu; accepted: as "
                         "many streams",
                         options->stream_count);
    if (options->batch_moves == 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "batch_moves 0; accepted: 1 and more");
    return check_goal(options);
}

static cuarena_status_t check_relocates(const cuarena_t *arena)
{
    cuarena_status_t status = cuai_call_check(arena);
    if (status != CUARENA_OK || arena->memory.ops.relocate != NULL)
        return status;
    return cuai_fail(CUARENA_UNSUPPORTED, "memory '%s' cannot move bytes", arena->memory.ops.name);
}

/* Drops the lock, if the log is at level info. */
static void log_moves(const progress_t *progress)
{
    cuai_call_log(progress->call, "compact: %llu blocks, %llu bytes moved",
                  (unsigned long long)progress->report.moves,
                  (unsigned long long)progress->report.bytes_moved);
}

/* The largest range of bytes that the compaction's stream may have at once. */
static uint64_t largest_range(const cuai_call_t *call)
{
    CUAI_ASSERT(call->arena->compacting);
    uint64_t largest = 0;
    (void)cuai_usable_bytes(call->arena, CUAI_DYNAMIC, call->stream, &largest);
    return largest;
}

cuarena_status_t cuarena_compact(cuarena_t *arena, const cuarena_compact_options_t *options,
                                 cuarena_relocation_fn callback, void *user,
                                 cuarena_compact_report_t *report)
{
    cuarena_compact_options_t all;
    cuarena_compact_options_init(&all);
    if (arena == NULL)
        return cuai_null("arena");
    cuarena_status_t status = options == NULL ? CUARENA_OK : check_options(options);
    if (status == CUARENA_OK && report != NULL &&
        !cuai_sized_ok(report, sizeof(size_t), sizeof *report))
        status = cuai_fail_struct("report", report);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_call_t call;
    status = cuai_call_begin(&call, arena, "compact", CUAI_CALL_WHOLE | CUAI_CALL_OUTSIDE);
    if (status != CUARENA_OK)
        return status;
    progress_t progress = {
        .call = &call,
        .options = options == NULL ? &all : options,
        .callback = callback,
        .user = user,
        .reports = report != NULL,
    };
    status = check_relocates(arena);
    if (status == CUARENA_OK)
        status = find_streams(&progress);
    if (status == CUARENA_OK && progress.options->goal_bytes == 0)
        cuai_cache_drop(arena);
    if (status == CUARENA_OK)
        status = reclaim_first(&progress);
    if (status == CUARENA_OK) {
        cuai_begin_exclusive(arena);
        cuai_range_begin(arena, "compact", cuai_live_bytes(arena));
        status = run_and_report(&progress);
        cuai_range_end(arena);
        if (progress.reports)
            progress.report.largest_after = largest_range(&call);
        cuai_end_exclusive(arena);
    }
    leave_streams(&progress);
    if (status == CUARENA_OK && report != NULL)
        cuai_sized_write(report, &progress.report);
    if (status == CUARENA_OK)
        log_moves(&progress);
    return cuai_call_end(&call, status);
}

/* ---- Running out ------------------------------------------------------- */

/* Nobody can be told where a pointer has gone to. */
static bool keeps_pointers(const cuarena_t *arena)
{
    return arena->relocation_fn == NULL;
}

static const char *why_not(const cuarena_t *arena, cuarena_status_t status)
{
    CUAI_ASSERT(status != CUARENA_OK);
    if (status != CUARENA_FRAGMENTED)
        return cuarena_status_name(status);
    return keeps_pointers(arena)
               ? "pins, captures, and pointers without a relocation callback, are "
                 "in the way"
               : "pins and captures are in the way";
}

cuarena_status_t cuai_compact_for(cuai_call_t *call, const cuai_request_t *request,
                                  const char **why_out)
{
    cuarena_t *arena = call->arena;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.goal_bytes = request->size;
    options.goal_alignment = request->heap.alignment;
    progress_t progress = {
        .call = call,
        .options = &options,
        .callback = arena->relocation_fn,
        .user = arena->relocation_user,
        .stream = cuai_is_captured(arena, request->stream) ? 0 : request->stream,
        .keeps_pointers = keeps_pointers(arena),
    };
    cuarena_status_t status = CUARENA_REENTERED;
    if (cuai_frame_within(CUAI_FRAME_RELOCATION, arena)) {
        *why_out = "not from a relocation callback";
        return status;
    }
    status = check_relocates(arena);
    if (status != CUARENA_OK) {
        *why_out = "the memory cannot move bytes";
        return status;
    }
    cuai_begin_exclusive(arena);
    cuai_range_begin(arena, "compact", request->size);
    status = reach_goal(&progress);
    cuai_range_end(arena);
    cuai_end_exclusive(arena);
    if (status == CUARENA_OK)
        log_moves(&progress);
    else
        *why_out = why_not(arena, status);
    return status;
}
