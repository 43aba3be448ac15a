/*
 * Compaction plans.
 *
 * Vocabulary
 *   open range  a range of free list 0, or of the plan's free list
 *   window      consecutive records of one segment: an open range, then blocks
 *               that may move and open ranges between and after them. All of
 *               it slides towards the window's begin, so that its free bytes end
 *               up as one range at its end.
 *   barrier     what ends a window: a block that may not move, a SEGMENT_START,
 *               a SEPARATOR, or a block with a range of another free list after
 *               it (what the block left would need a SEPARATOR).
 *
 * Blocks keep their order and their records keep their places in the address list, so a move
 * changes offsets only: where a block moves down by d bytes, the range before it shrinks by d and
 * the range after it grows by d.
 *
 * While a plan is under way its ranges are planned: in the free list PLANNED, which has no index.
 * Every other call treats them as it treats ranges of a free list that it does not allocate from.
 */
#include <string.h>

#include "base/sized.h"
#include "heap/plan.h"

void cuarena_heap_plan_options_init(cuarena_heap_plan_options_t *options)
{
    *options = (cuarena_heap_plan_options_t){
        .struct_size = sizeof *options,
        .max_bytes = UINT64_MAX,
        .max_moves = UINT64_MAX,
    };
}

/* ---- Planning: all the way --------------------------------------------- */

/* How much may still be moved. */
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

/* A pass over the list. It is a local variable whose address is passed to inline functions only, so
 * that it can be in registers. */
typedef struct pass {
    cuai_record_t *records;
    uint64_t id_base;
    uint64_t id_step;
    uint32_t granule_log2;
    uint32_t freelist;
    bool begins; /* begins the plan: marks blocks and ranges, and joins runs */
    budget_t budget;

    cuai_move_t *move;     /* where the next move is written */
    uint64_t top;          /* where the next block of the window may go */
    uint64_t join_at;      /* a block that goes here makes one run with the last move */
    cuai_record_t *opener; /* the first record of a window in which nothing moves yet */
    bool open;             /* in a window */
    bool joined;           /* some run has several blocks, so runs are written apart */
    bool stays;            /* some open range is not planned */
    cuai_move_t *moves;
    cuai_move_t *runs;
    cuai_move_t *run;      /* where the next run is written */
    cuai_slot_t *rest_end; /* the end of the list of records of the second half */
    uint64_t some;         /* bits that some attributes have */
    uint64_t every;        /* bits that all attributes have */
    uint64_t bytes;
    uint64_t largest; /* the key of the largest idle range */
} pass_t;

/* Copies moves, which were runs so far, to the list of runs. */
static CUAI_NOINLINE cuai_move_t *copy_runs(cuai_move_t *runs, const cuai_move_t *moves,
                                            const cuai_move_t *end)
{
    for (; moves != end; moves++) {
        *runs = *moves;
        runs++->block = 0;
    }
    return runs;
}

/* Adds the move before `pass->move` to the last run, or makes it a run of its own. */
static CUAI_INLINE void pass_run(pass_t *pass, bool joins)
{
    const cuai_move_t *move = pass->move - 1;
    if (CUAI_LIKELY(!joins && !pass->joined))
        return;
    if (!pass->joined)
        pass->run = copy_runs(pass->runs, pass->moves, move);
    pass->joined = true;
    if (joins)
        pass->run[-1].bytes += move->bytes;
    else
        *pass->run++ = (cuai_move_t){0, move->from, move->to, move->bytes};
}

/* Makes the record's range, if it has one, a planned one. */
static CUAI_INLINE void plan_range(cuai_record_t *r, uint64_t key)
{
    _Static_assert(CUAI_FREELIST_PLANNED == CUAI_FREELIST_MASK, "it has all bits of a free list");
    if (key != 0)
        r->key = key | CUAI_FREELIST_PLANNED;
}

static CUAI_INLINE void pass_mark(pass_t *pass, cuai_record_t *r, uint64_t key, uint64_t attributes)
{
    CUAI_ASSERT(!r->moving);
    r->moving = 1;
    plan_range(r, key);
    pass->some |= attributes;
    pass->every &= attributes;
    if (CUAI_UNLIKELY(pass->opener != NULL))
        plan_range(pass->opener, pass->opener->key);
    pass->opener = NULL;
}

/* Writes down that the block of `slot` moves to `to`. */
static CUAI_INLINE void pass_move(pass_t *pass, cuai_slot_t slot, uint64_t key, uint64_t attributes,
                                  uint64_t to)
{
    cuai_record_t *r = &pass->records[slot];
    uint64_t id = pass->id_base + r->generation * pass->id_step + slot;
    uint64_t size = r->size;
    bool joins = to == pass->join_at;
    CUAI_ASSERT(to < r->offset && to >= pass->top);
    *pass->move++ = (cuai_move_t){id, r->offset, to, size};
    pass->top = to + size;
    if (!pass->begins)
        return;
    pass->join_at = key == 0 ? to + size : UINT64_MAX;
    pass->bytes += size;
    pass_run(pass, joins);
    pass_mark(pass, r, key, attributes);
}

/* Goes on behind a record whose block stays; a window begins there if it `opens` one. */
static CUAI_INLINE void pass_leave(pass_t *pass, cuai_record_t *r, bool opens)
{
    pass->top = cuai_end(r);
    pass->open = opens;
    if (!pass->begins)
        return;
    pass->stays = pass->stays || pass->opener != NULL;
    pass->opener = opens ? r : NULL;
}

/* Where a block with these attributes may go. `top` is a multiple of the granule. */
static CUAI_INLINE uint64_t place_of(const pass_t *pass, uint64_t attributes)
{
    uint32_t log2 = CUAI_ATTRIBUTES_ALIGN(attributes);
    return CUAI_LIKELY(log2 <= pass->granule_log2) ? pass->top
                                                   : cuai_align_up(pass->top, UINT64_C(1) << log2);
}

/* Looks at one record. A block that would go beyond the budget stays, as if it were pinned. */
static CUAI_INLINE void pass_look(pass_t *pass, cuai_slot_t slot)
{
    cuai_record_t *r = &pass->records[slot];
    uint64_t key = r->key;
    uint64_t attributes = cuai_attributes(r);
    uint32_t freelist = (uint32_t)(key & CUAI_FREELIST_MASK);
    bool is_open = freelist == 0 || freelist == pass->freelist; /* or absent */
    uint64_t to = place_of(pass, attributes);
    if (pass->begins && freelist == 0 && key > pass->largest)
        pass->largest = key;
    if (pass->open && is_open && cuai_attributes_moves(attributes) && to < r->offset &&
        (pass->begins || spend(&pass->budget, r->size)))
        pass_move(pass, slot, key, attributes, to);
    else
        pass_leave(pass, r, key != 0 && is_open);
}

/* Walks the list from both ends until they meet, looks at the first half as it comes, and at the
 * second half from a list made meanwhile: finding the next record is what takes the time, so two
 * are looked for at once. */
static CUAI_INLINE void pass_all(pass_t *pass)
{
    cuai_record_t *records = pass->records;
    cuai_slot_t *rest = pass->rest_end;
    cuai_slot_t slot = records[0].next;
    cuai_slot_t back = records[0].prev;
    while (slot != back) {
        cuai_slot_t next = records[slot].next;
        cuai_slot_t before = records[back].prev;
        *--rest = back;
        pass_look(pass, slot);
        if (next == back)
            break;
        slot = next;
        back = before;
    }
    if (slot == back && slot != 0)
        *--rest = slot;
    for (; rest != pass->rest_end; rest++)
        pass_look(pass, *rest);
    pass_leave(pass, &records[0], false);
}

/* The bytes of the list of records of the second half, which is at the end of the room for moves.
 */
static size_t rest_bytes(const cuarena_heap_t *heap)
{
    uint64_t records = cuai_block_records(heap) + heap->segment_count + heap->separators;
    return (records / 2 + 1) * sizeof(cuai_slot_t);
}

static cuai_slot_t *rest_end(const cuarena_heap_plan_t *plan)
{
    size_t bytes = cuai_align_down(plan->room, sizeof(cuai_slot_t));
    return (cuai_slot_t *)(void *)((char *)plan->moves + bytes);
}

static CUAI_INLINE pass_t new_pass(const cuarena_heap_t *heap, const cuarena_heap_plan_t *plan,
                                   bool begins)
{
    return (pass_t){
        .records = heap->records,
        .id_base = heap->id_base,
        .id_step = heap->id_step,
        .granule_log2 = heap->granule_log2,
        .freelist = plan->freelist,
        .begins = begins,
        .moves = plan->moves,
        .move = plan->moves,
        .runs = plan->runs,
        .run = plan->runs,
        .join_at = UINT64_MAX,
        .rest_end = rest_end(plan),
        .every = UINT64_MAX,
    };
}

static void plan_all(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan,
                     const cuarena_heap_plan_options_t *options)
{
    pass_t pass = new_pass(heap, plan, false);
    pass.budget = (budget_t){options->max_bytes, options->max_moves};
    pass_all(&pass);
    plan->count = (size_t)(pass.move - plan->moves);
    CUAI_ASSERT(plan->count * sizeof(cuai_move_t) <= plan->room);
}

/* Makes and begins a plan that compacts all the way. */
static void start_all(cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    pass_t pass = new_pass(heap, plan, true);
    CUAI_ASSERT(heap->separators == 0 && heap->plans == 0);
    pass.joined = plan->runs_apart;
    pass_all(&pass);
    plan->count = (size_t)(pass.move - plan->moves);
    plan->runs_apart = pass.joined;
    plan->run_count = pass.joined ? (size_t)(pass.run - plan->runs) : plan->count;
    plan->bytes = pass.bytes;
    plan->some = pass.some;
    plan->every = pass.every;
    plan->largest = pass.largest >> CUAI_FREELIST_BITS;
    if (plan->count == 0)
        return;
    cuai_planned_unlist(heap, 0, pass.stays);
    if (plan->freelist != 0)
        cuai_planned_unlist(heap, plan->freelist, pass.stays);
    cuai_plan_begun(heap, plan);
}

/* ---- Planning: the cheapest window for a goal -------------------------- */

/* A window from the range of `first` to the range of `last`. */
typedef struct window {
    cuai_slot_t first;
    cuai_slot_t last;
    uint64_t free;  /* bytes of its ranges */
    uint64_t loss;  /* how many of these alignments above the granule may waste */
    uint64_t bytes; /* of its blocks, which move */
    uint64_t moves;
} window_t;

static uint64_t alignment_loss(const cuarena_heap_t *heap, const cuai_record_t *r)
{
    return (UINT64_C(1) << r->align_log2) - 1 - heap->granule_mask;
}

static window_t window_at(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    return (window_t){.first = slot, .last = slot, .free = cuai_range(cuai_record(heap, slot))};
}

static void window_extend(const cuarena_heap_t *heap, window_t *w, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(cuai_is_movable(r) && r->prev == w->last);
    w->last = slot;
    w->free += cuai_range(r);
    w->loss += alignment_loss(heap, r);
    w->bytes += r->size;
    w->moves++;
}

/* The window without its first range and block. */
static window_t window_shrunk(const cuarena_heap_t *heap, const window_t *w)
{
    window_t less = *w;
    CUAI_ASSERT(w->moves != 0 && w->first != w->last);
    const cuai_record_t *first = cuai_record(heap, w->first);
    less.first = first->next;
    const cuai_record_t *block = cuai_record(heap, less.first);
    less.free -= cuai_range(first);
    less.loss -= alignment_loss(heap, block);
    less.bytes -= block->size;
    less.moves--;
    return less;
}

/* Whether compacting the window makes room for the goal. The range that its ranges become ends
 * where the last of them ends. */
static bool window_serves(const cuarena_heap_t *heap, const window_t *w, uint64_t goal,
                          uint64_t alignment)
{
    if (w->free < w->loss)
        return false;
    const cuai_record_t *last = cuai_record(heap, w->last);
    uint64_t end = cuai_end(last) + cuai_range(last);
    uint64_t begin = cuai_align_up(end - (w->free - w->loss), alignment);
    return begin <= end && end - begin >= goal;
}

static bool window_allowed(const window_t *w, const cuarena_heap_plan_options_t *options)
{
    return w->bytes <= options->max_bytes && w->moves <= options->max_moves;
}

/* Both ends of the window move forward only, so each block enters and leaves it once. Of the
 * windows with the same end the smallest that makes room moves the fewest bytes. O(records). */
static bool cheapest_window(const cuarena_heap_t *heap, uint64_t goal,
                            const cuarena_heap_plan_options_t *options, window_t *best)
{
    uint64_t alignment = cuai_max(options->goal_alignment, heap->granule_mask + 1);
    bool found = false;
    bool open = false;
    window_t w = {0};
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (r->key != 0 && !cuai_range_is_open(r, options->freelist)) {
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
        if (window_serves(heap, &w, goal, alignment) && window_allowed(&w, options) &&
            (!found || w.bytes < best->bytes)) {
            *best = w;
            found = true;
        }
    }
    return found;
}

static void plan_window(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan, const window_t *w)
{
    uint64_t top = cuai_end(cuai_record(heap, w->first));
    cuai_slot_t slot = w->first;
    while (slot != w->last) {
        slot = cuai_record(heap, slot)->next;
        const cuai_record_t *r = cuai_record(heap, slot);
        uint64_t to = cuai_align_up(top, UINT64_C(1) << r->align_log2);
        if (to < r->offset)
            plan->moves[plan->count++] = (cuai_move_t){cuai_id(heap, slot), r->offset, to, r->size};
        top = to < r->offset ? to + r->size : cuai_end(r);
    }
}

static cuarena_status_t plan_goal(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan,
                                  const cuarena_heap_plan_options_t *options)
{
    uint64_t granule = heap->granule_mask + 1;
    uint64_t goal = cuai_align_up(options->goal_bytes, granule);
    window_t best = {0};
    if (!cheapest_window(heap, goal, options, &best))
        return cuai_fail_bytes(CUARENA_FRAGMENTED, options->goal_bytes, options->max_bytes,
                               heap->capacity, heap->freelists[0]->free_bytes, 0,
                               "no window within the limits makes room for %llu bytes",
                               (unsigned long long)options->goal_bytes);
    plan_window(heap, plan, &best);
    return CUARENA_OK;
}

/* ---- Life -------------------------------------------------------------- */

static cuarena_status_t check_options(const cuarena_heap_t *heap,
                                      const cuarena_heap_plan_options_t *options)
{
    if (!cuai_sized_ok(options, sizeof *options, sizeof *options))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "options is NULL or was not made by "
                                               "cuarena_heap_plan_options_init");
    if (options->goal_bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "goal_bytes %llu; accepted: below 2^48",
                         (unsigned long long)options->goal_bytes);
    if (options->freelist >= CUAI_FREELIST_PLANNED || heap->freelists[options->freelist] == NULL ||
        options->zero != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "free list %u is not in use, or zero is not 0",
                         (unsigned)options->freelist);
    uint64_t alignment = options->goal_alignment;
    if (alignment == 0 || (cuai_is_power_of_two(alignment) && alignment < CUARENA_HEAP_MAX_SEGMENT))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "goal_alignment %llu is not a power of two below 2^48",
                     (unsigned long long)alignment);
}

/* Puts the plan into the heap's list of plans. */
static void enlist(cuai_planning_t *planning, cuarena_heap_plan_t *plan)
{
    cuarena_heap_plan_t **first = &planning->plans;
    CUAI_ASSERT(plan->planning == NULL);
    plan->planning = planning;
    plan->link = first;
    plan->next = *first;
    if (plan->next != NULL)
        plan->next->link = &plan->next;
    *first = plan;
}

static void delist(cuarena_heap_plan_t *plan)
{
    CUAI_ASSERT(*plan->link == plan);
    *plan->link = plan->next;
    if (plan->next != NULL)
        plan->next->link = plan->link;
    plan->planning = NULL;
}

static void end_plan(cuarena_heap_plan_t *plan)
{
    if (plan->planning != NULL) {
        cuai_host_kept_free(&plan->planning->kept[0], plan->moves, plan->room);
        cuai_host_kept_free(&plan->planning->kept[1], plan->runs, plan->runs_room);
        delist(plan);
    } else {
        cuai_host_free(plan->moves);
        cuai_host_free(plan->runs);
    }
    cuai_host_free(plan);
}

void cuai_planning_end(cuai_planning_t *planning)
{
    if (planning == NULL)
        return;
    while (planning->plans != NULL)
        delist(planning->plans);
    for (int i = 0; i < 2; i++)
        cuai_host_free(planning->kept[i].bytes);
    cuai_host_free(planning);
}

static cuarena_heap_plan_t *new_plan(const cuarena_heap_t *heap,
                                     const cuarena_heap_plan_options_t *options, bool runs)
{
    cuarena_heap_plan_t *plan = cuai_host_alloc(sizeof *plan);
    if (plan == NULL)
        return NULL;
    size_t most = cuai_min(cuai_heap_blocks(heap), options->max_moves);
    size_t bytes = most * sizeof(cuai_move_t);
    cuai_host_kept_t *kept = heap->planning->kept;
    plan->version = cuai_version(heap);
    plan->freelist = options->freelist;
    plan->moves = cuai_host_kept_alloc(&kept[0], bytes + rest_bytes(heap), &plan->room);
    if (runs)
        plan->runs = cuai_host_kept_alloc(&kept[1], bytes + 1, &plan->runs_room);
    enlist(heap->planning, plan);
    if (plan->moves != NULL && (plan->runs != NULL || !runs))
        return plan;
    end_plan(plan);
    return NULL;
}

static cuarena_status_t open_plan(const cuarena_heap_t *heap,
                                  const cuarena_heap_plan_options_t *options, bool runs,
                                  cuarena_heap_plan_t **plan_out)
{
    cuarena_status_t status = check_options(heap, options);
    if (status != CUARENA_OK)
        return status;
    *plan_out = new_plan(heap, options, runs);
    if (*plan_out == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a plan");
    return CUARENA_OK;
}

static cuarena_status_t fill_plan(const cuarena_heap_t *heap,
                                  const cuarena_heap_plan_options_t *options,
                                  cuarena_heap_plan_t *plan)
{
    if (options->goal_bytes != 0)
        return plan_goal(heap, plan, options);
    plan_all(heap, plan, options);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_plan_create(const cuarena_heap_t *heap,
                                          const cuarena_heap_plan_options_t *options,
                                          cuarena_heap_plan_t **plan_out)
{
    if (heap == NULL || plan_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    cuarena_heap_plan_t *plan;
    cuarena_status_t status = open_plan(heap, options, false, &plan);
    if (status != CUARENA_OK)
        return status;
    status = fill_plan(heap, options, plan);
    if (status != CUARENA_OK)
        end_plan(plan);
    else
        *plan_out = plan;
    return status;
}

const cuarena_heap_move_t *cuarena_heap_plan_moves(const cuarena_heap_plan_t *plan,
                                                   size_t *count_out)
{
    if (plan == NULL || count_out == NULL)
        return NULL;
    *count_out = plan->count;
    return (const cuarena_heap_move_t *)(const void *)plan->moves;
}

/* A wrong heap harms nothing, because the plan knows its own. */
void cuarena_heap_plan_destroy(cuarena_heap_t *heap, cuarena_heap_plan_t **plan)
{
    (void)heap;
    if (plan == NULL || *plan == NULL)
        return;
    const cuai_planning_t *planning = (*plan)->planning;
    if (planning != NULL && (*plan)->begun && !(*plan)->done)
        cuarena_heap_plan_abort(planning->heap, *plan);
    end_plan(*plan);
    *plan = NULL;
}

/* ---- Planning and beginning at once ------------------------------------ */

bool cuai_plan_is_one_pass(const cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options)
{
    return options->goal_bytes == 0 && heap->separators == 0 &&
           options->max_moves >= cuai_heap_blocks(heap) &&
           options->max_bytes >= cuai_heap_bytes(heap);
}

/* Finds the runs and the attributes, as the one pass does on its way. */
static void look_again(const cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    const cuai_move_t *last = NULL;
    plan->runs_apart = true;
    plan->every = UINT64_MAX;
    for (size_t i = 0; i < plan->count; i++) {
        const cuai_move_t *move = &plan->moves[i];
        uint64_t attributes = cuai_attributes(cuai_record(heap, cuai_moved_slot(heap, plan, i)));
        bool joins = last != NULL && last->from + last->bytes == move->from &&
                     last->to + last->bytes == move->to;
        if (joins)
            plan->runs[plan->run_count - 1].bytes += move->bytes;
        else
            plan->runs[plan->run_count++] = (cuai_move_t){0, move->from, move->to, move->bytes};
        plan->some |= attributes;
        plan->every &= attributes;
        plan->bytes += move->bytes;
        last = move;
    }
}

static cuarena_status_t start_in_steps(cuarena_heap_t *heap,
                                       const cuarena_heap_plan_options_t *options,
                                       cuarena_heap_plan_t *plan)
{
    cuarena_status_t status = fill_plan(heap, options, plan);
    if (status != CUARENA_OK || plan->count == 0)
        return status;
    look_again(heap, plan);
    return cuarena_heap_plan_begin(heap, plan);
}

static cuarena_status_t start_in_one_pass(cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    cuarena_status_t status = cuai_plan_can_begin(heap);
    if (status == CUARENA_OK)
        start_all(heap, plan);
    return status;
}

cuarena_status_t cuai_plan_start(cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options,
                                 bool runs_apart, cuarena_heap_plan_t **plan_out)
{
    cuarena_heap_plan_t *plan;
    cuarena_status_t status = open_plan(heap, options, true, &plan);
    if (status != CUARENA_OK)
        return status;
    plan->runs_apart = runs_apart;
    status = cuai_plan_is_one_pass(heap, options) ? start_in_one_pass(heap, plan)
                                                  : start_in_steps(heap, options, plan);
    if (status != CUARENA_OK)
        end_plan(plan);
    else
        *plan_out = plan;
    return status;
}
