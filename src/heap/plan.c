/*
 * Compaction plans.
 *
 * Vocabulary
 *   open range  one of lane 0, or of the lane that the plan was given
 *   window   consecutive records of one segment: an open range, then blocks
 *            that may move and open ranges between and after them. All of
 *            it slides towards the window's begin, so that its free bytes end
 *            up as one range at its end.
 *   barrier  what ends a window: a block that may not move, a HEAD, a SPACER,
 *            a block with a range of another lane after it (what the block
 *            left would need a SPACER).
 *
 * Blocks keep their order and their records keep their places in the address
 * list, so a move changes offsets only: where a block moves down by d bytes,
 * the range before it shrinks by d and the range after it grows by d.
 *
 * Under way, the ranges of a plan are in the lane HELD, which has no index.
 * For every other call they are bytes of a foreign lane, which it knows how to
 * live beside.
 */
#include <string.h>

#include "base/sized.h"
#include "heap/heap.h"

struct cuarena_heap_plan {
    cuarena_heap_move_t *moves;
    size_t count;
    size_t room;      /* of the moves, in bytes */
    uint64_t version; /* of the heap that it was made for */
    uint32_t lane;    /* counts as free, besides lane 0 */
    bool begun;
    bool done; /* committed or aborted */
};

void cuarena_heap_plan_options_init(cuarena_heap_plan_options_t *options)
{
    *options = (cuarena_heap_plan_options_t){
        .struct_size = sizeof *options,
        .max_bytes = UINT64_MAX,
        .max_moves = UINT64_MAX,
    };
}

/* ---- Planning: all the way --------------------------------------------- */

static bool is_open_lane(const cuai_record_t *r, uint32_t lane)
{
    return cuai_range_lane(r) == 0 || cuai_range_lane(r) == lane;
}

static bool has_open_range(const cuai_record_t *r, uint32_t lane)
{
    return r->key != 0 && is_open_lane(r, lane);
}

static void add_move(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan,
                     cuai_slot_t slot, uint64_t to)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    plan->moves[plan->count++] =
        (cuarena_heap_move_t){cuai_id(heap, slot), r->offset, to, r->size};
}

static uint64_t aligned_for(const cuai_record_t *r, uint64_t offset)
{
    return cuai_align_up(offset, UINT64_C(1) << r->align_log2);
}

/* What may still be moved. */
typedef struct budget {
    uint64_t bytes;
    uint64_t moves;
} budget_t;

static bool spend(budget_t *budget, uint64_t bytes)
{
    if (bytes > budget->bytes || budget->moves == 0)
        return false;
    budget->bytes -= bytes;
    budget->moves--;
    return true;
}

/* A block that would go beyond the budget stays, as if it were pinned. */
static void plan_all(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan,
                     budget_t budget)
{
    bool open = false; /* in a window */
    uint64_t top = 0;  /* where the next block of the window may go */
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        bool movable = open && cuai_is_movable(r) &&
                       (r->key == 0 || is_open_lane(r, plan->lane));
        uint64_t to = movable ? aligned_for(r, top) : r->offset;
        if (movable && to < r->offset && spend(&budget, r->size)) {
            add_move(heap, plan, slot, to);
            top = to + r->size;
        } else {
            open = false;
            top = cuai_end(r);
        }
        if (has_open_range(r, plan->lane))
            open = true;
        else if (r->key != 0)
            open = false;
    }
}

/* ---- Planning: the cheapest window for a goal -------------------------- */

/* A window from the range of `first` to the range of `last`. */
typedef struct window {
    cuai_slot_t first;
    cuai_slot_t last;
    uint64_t free;  /* bytes of its ranges */
    uint64_t loss;  /* of those, what alignments above the granule may take */
    uint64_t bytes; /* of its blocks: what moves */
    uint64_t moves;
} window_t;

static uint64_t alignment_loss(const cuarena_heap_t *heap,
                               const cuai_record_t *r)
{
    return (UINT64_C(1) << r->align_log2) - 1 - heap->granule_mask;
}

static window_t window_at(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    return (window_t){.first = slot,
                      .last = slot,
                      .free = cuai_range(cuai_record(heap, slot))};
}

static void window_extend(const cuarena_heap_t *heap, window_t *w,
                          cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    w->last = slot;
    w->free += cuai_range(r);
    w->loss += alignment_loss(heap, r);
    w->bytes += r->size;
    w->moves++;
}

/* Without its first range and block. */
static window_t window_shrunk(const cuarena_heap_t *heap, const window_t *w)
{
    window_t less = *w;
    const cuai_record_t *first = cuai_record(heap, w->first);
    less.first = first->next;
    const cuai_record_t *block = cuai_record(heap, less.first);
    less.free -= cuai_range(first);
    less.loss -= alignment_loss(heap, block);
    less.bytes -= block->size;
    less.moves--;
    return less;
}

/* What the window's ranges become together ends where its last one ends. */
static bool window_serves(const cuarena_heap_t *heap, const window_t *w,
                          uint64_t goal, uint64_t alignment)
{
    if (w->free < w->loss)
        return false;
    const cuai_record_t *last = cuai_record(heap, w->last);
    uint64_t end = cuai_end(last) + cuai_range(last);
    uint64_t begin = cuai_align_up(end - (w->free - w->loss), alignment);
    return begin <= end && end - begin >= goal;
}

static bool window_allowed(const window_t *w,
                           const cuarena_heap_plan_options_t *options)
{
    return w->bytes <= options->max_bytes && w->moves <= options->max_moves;
}

/* Both ends move forward only, so each block enters and leaves once. The
 * smallest window that serves and ends at `last` costs least of those. */
static bool cheapest_window(const cuarena_heap_t *heap, uint64_t goal,
                            const cuarena_heap_plan_options_t *options,
                            window_t *best)
{
    uint64_t alignment =
        cuai_max(options->goal_alignment, heap->granule_mask + 1);
    bool found = false;
    bool open = false;
    window_t w = {0};
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (r->key != 0 && !is_open_lane(r, options->lane)) {
            open = false;
            continue;
        }
        if (open && cuai_is_movable(r))
            window_extend(heap, &w, slot);
        else
            w = window_at(heap, slot);
        open = true;
        while (w.moves > 0) {
            window_t less = window_shrunk(heap, &w);
            if (!window_serves(heap, &less, goal, alignment))
                break;
            w = less;
        }
        if (window_serves(heap, &w, goal, alignment) &&
            window_allowed(&w, options) && (!found || w.bytes < best->bytes)) {
            *best = w;
            found = true;
        }
    }
    return found;
}

static void plan_window(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan,
                        const window_t *w)
{
    uint64_t top = cuai_end(cuai_record(heap, w->first));
    cuai_slot_t slot = w->first;
    while (slot != w->last) {
        slot = cuai_record(heap, slot)->next;
        const cuai_record_t *r = cuai_record(heap, slot);
        uint64_t to = aligned_for(r, top);
        if (to < r->offset)
            add_move(heap, plan, slot, to);
        top = to < r->offset ? to + r->size : cuai_end(r);
    }
}

static cuarena_status_t plan_goal(const cuarena_heap_t *heap,
                                  cuarena_heap_plan_t *plan,
                                  const cuarena_heap_plan_options_t *options)
{
    uint64_t granule = heap->granule_mask + 1;
    uint64_t goal = cuai_align_up(options->goal_bytes, granule);
    window_t best = {0};
    if (!cheapest_window(heap, goal, options, &best))
        return cuai_fail_bytes(
            CUARENA_FRAGMENTED, options->goal_bytes, options->max_bytes,
            heap->capacity, heap->lanes[0]->free_bytes, 0,
            "no window within the limits makes room for %llu bytes",
            (unsigned long long)options->goal_bytes);
    plan_window(heap, plan, &best);
    return CUARENA_OK;
}

/* ---- Life -------------------------------------------------------------- */

static cuarena_status_t check_options(
    const cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options)
{
    if (!cuai_sized_ok(options, sizeof *options, sizeof *options))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "options is NULL or was not made by "
                         "cuarena_heap_plan_options_init");
    if (options->goal_bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "goal of %llu bytes is more than any segment has",
                         (unsigned long long)options->goal_bytes);
    if (options->lane >= CUAI_LANE_HELD || heap->lanes[options->lane] == NULL ||
        options->zero != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "lane %u is not in use, or zero is not 0",
                         (unsigned)options->lane);
    uint64_t alignment = options->goal_alignment;
    if (alignment == 0 || (cuai_is_power_of_two(alignment) &&
                           alignment < CUARENA_HEAP_MAX_SEGMENT))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "alignment %llu is not a power of two below 2^48",
                     (unsigned long long)alignment);
}

static cuarena_heap_plan_t *new_plan(const cuarena_heap_t *heap,
                                     uint64_t max_moves, uint32_t lane)
{
    cuarena_heap_plan_t *plan = cuai_host_alloc(sizeof *plan);
    if (plan == NULL)
        return NULL;
    size_t room = cuai_min(heap->live_blocks, max_moves);
    plan->version = cuai_version(heap);
    plan->lane = lane;
    plan->moves = cuai_host_kept_take(
        heap->kept_moves, room * sizeof(*plan->moves) + 1, &plan->room);
    if (plan->moves != NULL)
        return plan;
    cuai_host_free(plan);
    return NULL;
}

static void end_plan(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    cuai_host_kept_give(heap->kept_moves, plan->moves, plan->room);
    cuai_host_free(plan);
}

cuarena_status_t cuarena_heap_plan_create(
    const cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options,
    cuarena_heap_plan_t **plan_out)
{
    if (heap == NULL || plan_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    cuarena_status_t status = check_options(heap, options);
    if (status != CUARENA_OK)
        return status;
    cuarena_heap_plan_t *plan =
        new_plan(heap, options->max_moves, options->lane);
    if (plan == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a plan");
    if (options->goal_bytes == 0)
        plan_all(heap, plan,
                 (budget_t){options->max_bytes, options->max_moves});
    else
        status = plan_goal(heap, plan, options);
    if (status != CUARENA_OK)
        end_plan(heap, plan);
    else
        *plan_out = plan;
    return status;
}

const cuarena_heap_move_t *cuarena_heap_plan_moves(
    const cuarena_heap_plan_t *plan, size_t *count_out)
{
    if (plan == NULL || count_out == NULL)
        return NULL;
    *count_out = plan->count;
    return plan->moves;
}

void cuarena_heap_plan_destroy(cuarena_heap_t *heap, cuarena_heap_plan_t **plan)
{
    if (plan == NULL || *plan == NULL)
        return;
    if ((*plan)->begun && !(*plan)->done)
        cuarena_heap_plan_abort(heap, *plan);
    end_plan(heap, *plan);
    *plan = NULL;
}

/* ---- Begin, commit, abort ---------------------------------------------- */

static cuai_slot_t moved_slot(const cuarena_heap_move_t *move)
{
    return (cuai_slot_t)(move->block & CUAI_SLOT_MASK);
}

/* The range goes to the lane HELD; its key stays but for the lane. */
static void hold_range(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t lane)
{
    cuai_record_t *r = cuai_record(heap, slot);
    if (!has_open_range(r, lane))
        return;
    if (CUAI_UNLIKELY(heap->spacers != 0)) {
        cuai_range_relane(heap, slot, CUAI_LANE_HELD);
        return;
    }
    uint64_t bytes = cuai_range(r);
    cuai_lane_count(heap, cuai_range_lane(r), 0 - bytes);
    cuai_range_drop(heap, slot);
    r->key = cuai_range_key(bytes, CUAI_LANE_HELD);
}

static cuarena_status_t check_state(const cuarena_heap_t *heap,
                                    const cuarena_heap_plan_t *plan, bool begun)
{
    if (heap == NULL || plan == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    if (plan->begun == begun && !plan->done)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, begun ? "the plan is not under way"
                                                 : "the plan was begun before");
}

cuarena_status_t cuarena_heap_plan_begin(cuarena_heap_t *heap,
                                         cuarena_heap_plan_t *plan)
{
    cuarena_status_t status = check_state(heap, plan, false);
    if (status != CUARENA_OK)
        return status;
    if (heap->plans != 0)
        return cuai_fail(CUARENA_BUSY, "another plan is under way");
    if (plan->version != cuai_version(heap))
        return cuai_fail(CUARENA_BUSY,
                         "the heap changed since the plan was made");
    if (cuai_slots_reserve(heap, heap->live_blocks + 1) != CUARENA_OK)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a plan");
    plan->begun = true;
    heap->plans++;
    cuai_note_plain(heap);
    cuai_note_change(heap);
    cuai_slot_t held = 0; /* whose range was seen to last */
    for (size_t i = 0; i < plan->count; i++) {
        cuai_slot_t slot = moved_slot(&plan->moves[i]);
        cuai_record_t *r = cuai_record(heap, slot);
        r->moving = 1;
        if (heap->spacers != 0 || r->prev != held)
            hold_range(heap, r->prev, plan->lane);
        hold_range(heap, slot, plan->lane);
        held = slot;
    }
    return CUARENA_OK;
}

/* The block's new place. Since begin its neighbours may have been freed, but
 * the held range before it cannot have changed. Where none was after it, a
 * neighbour's bytes may be now: what the block leaves goes between, with the
 * neighbour's slot as a SPACER. */
static void move_block(cuarena_heap_t *heap, const cuarena_heap_move_t *move)
{
    cuai_slot_t slot = moved_slot(move);
    cuai_record_t *r = cuai_record(heap, slot);
    cuai_record_t *before = cuai_record(heap, r->prev);
    uint64_t distance = move->from - move->to;
    cuai_table_remove(&heap->table, heap->records, slot);
    r->offset = move->to;
    cuai_table_insert(&heap->table, heap->records, slot);
    uint64_t rest = cuai_range(before) - distance;
    before->key = rest == 0 ? 0 : cuai_range_key(rest, CUAI_LANE_HELD);
    if (CUAI_LIKELY(heap->spacers == 0 && cuai_range_joins(r, CUAI_LANE_HELD)))
        r->key = cuai_range_key(cuai_range(r) + distance, CUAI_LANE_HELD);
    else
        cuai_range_release(heap, slot, distance, CUAI_LANE_HELD);
}

/* A range that the plan held, or what is left of it, goes to `lane`. */
static void let_go(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t lane)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    if (r->key != 0 && cuai_range_lane(r) == CUAI_LANE_HELD)
        cuai_range_relane(heap, slot, lane);
    else if (r->key == 0 && CUAI_UNLIKELY(heap->spacers != 0))
        cuai_range_spent(heap, slot);
}

static void finish(cuarena_heap_t *heap, cuarena_heap_plan_t *plan,
                   uint32_t lane)
{
    cuai_slot_t last = 0; /* whose range was seen to */
    for (size_t i = 0; i < plan->count; i++) {
        cuai_slot_t slot = moved_slot(&plan->moves[i]);
        cuai_record(heap, slot)->moving = 0;
        if (heap->spacers != 0 || cuai_record(heap, slot)->prev != last)
            let_go(heap, cuai_record(heap, slot)->prev, lane);
        let_go(heap, slot, lane);
        last = slot;
    }
    plan->done = true;
    heap->plans--;
    cuai_note_plain(heap);
    cuai_note_change(heap);
}

cuarena_status_t cuarena_heap_plan_commit(cuarena_heap_t *heap,
                                          cuarena_heap_plan_t *plan,
                                          uint32_t lane)
{
    cuarena_status_t status = check_state(heap, plan, true);
    if (status != CUARENA_OK)
        return status;
    if (lane >= CUAI_LANE_HELD || heap->lanes[lane] == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "lane %u is not in use",
                         (unsigned)lane);
    for (size_t i = 0; i < plan->count; i++)
        move_block(heap, &plan->moves[i]);
    finish(heap, plan, lane);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_plan_abort(cuarena_heap_t *heap,
                                         cuarena_heap_plan_t *plan)
{
    cuarena_status_t status = check_state(heap, plan, true);
    if (status == CUARENA_OK)
        finish(heap, plan, plan->lane);
    return status;
}

/* ---- Shifting all of it ------------------------------------------------ */

static void relane_all(cuarena_heap_t *heap, uint32_t from, uint32_t to)
{
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (r->key != 0 && cuai_range_lane(r) == from)
            cuai_range_relane(heap, slot, to);
    }
}

cuarena_status_t cuai_heap_hold(cuarena_heap_t *heap)
{
    if (heap->plans != 0)
        return cuai_fail(CUARENA_BUSY, "another plan is under way");
    if (cuai_slots_reserve(heap, heap->live_blocks + 1) != CUARENA_OK)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a plan");
    heap->plans++;
    cuai_note_plain(heap);
    cuai_note_change(heap);
    relane_all(heap, 0, CUAI_LANE_HELD);
    return CUARENA_OK;
}

void cuai_heap_release(cuarena_heap_t *heap)
{
    relane_all(heap, CUAI_LANE_HELD, 0);
    heap->plans--;
    cuai_note_plain(heap);
    cuai_note_change(heap);
}

void cuai_heap_rebase(cuarena_heap_t *heap, uint64_t distance)
{
    memset(heap->table.heads, 0, heap->table.buckets * sizeof(cuai_slot_t));
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        cuai_record_t *r = cuai_record(heap, slot);
        r->offset += distance;
        if (r->kind == CUAI_BLOCK)
            cuai_table_insert(&heap->table, heap->records, slot);
    }
    for (size_t i = 0; i < heap->segment_count; i++) {
        heap->segments[i].begin += distance;
        heap->segments[i].end += distance;
    }
    heap->zone_base += distance;
    heap->zone_end += distance;
    cuai_note_change(heap);
}
