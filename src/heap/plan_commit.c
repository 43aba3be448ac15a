/*
 * Plans under way: begin, commit and abort.
 *
 * Between begin and end the ranges of a plan are planned: in the free list PLANNED, which has no
 * index. A pass that plans and begins at once does not take them out of their index one by one: it
 * marks them, and then goes once through the lists of the index, or clears it if nothing else is in
 * it. So the links of a planned range mean nothing.
 *
 * Without SEPARATORs a commit is one pass over the moves. When it comes to a block, the range
 * before that is complete; the block takes its bytes from it, and what is left is freed. As soon as
 * bytes of another free list follow a block, the rest goes the long way, with SEPARATORs: first all
 * blocks move, then all ranges are freed.
 *
 * The look-up is made anew if most blocks move: inserting all of them costs less than finding and
 * removing those that move.
 */
#include <string.h>

#include "heap/plan.h"
#include "heap/ranges.h"
#include "heap/segments.h"
#include "heap/slots.h"

/* ---- Planned ranges ---------------------------------------------------- */

/* Makes the record's range, if it is open, a planned one. */
static void plan_range(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    if (!cuai_range_is_open(r, freelist))
        return;
    if (CUAI_UNLIKELY(heap->separators != 0)) {
        cuai_range_transfer(heap, slot, CUAI_FREELIST_PLANNED);
        return;
    }
    uint64_t bytes = cuai_range(r);
    cuai_freelist_count(heap, cuai_range_freelist(r), 0 - bytes);
    cuai_range_drop(heap, slot);
    r->key = cuai_range_key(bytes, CUAI_FREELIST_PLANNED);
}

/* Takes the planned ranges out of a list; the others keep their order. */
static void unlist_from(cuarena_heap_t *heap, cuai_index_t *index, cuai_slot_t *link)
{
    cuai_slot_t up = 0;
    for (cuai_slot_t slot = *link; slot != 0;) {
        cuai_record_t *r = cuai_record(heap, slot);
        cuai_slot_t down = r->down;
        if (cuai_range_freelist(r) == CUAI_FREELIST_PLANNED) {
            CUAI_ASSERT(index->ranges != 0 && index->free_bytes >= cuai_range(r));
            index->ranges--;
            index->free_bytes -= cuai_range(r);
        } else {
            *link = slot;
            link = &r->down;
            r->up = up;
            up = slot;
        }
        slot = down;
    }
    *link = 0;
}

void cuai_planned_unlist(cuarena_heap_t *heap, uint32_t freelist, bool some_stay)
{
    cuai_index_t *index = heap->freelists[freelist];
    if (!some_stay)
        memset(index, 0, sizeof *index);
    uint32_t list = cuai_index_next(index, 0, 1);
    for (; list < CUAI_LISTS; list = cuai_index_next(index, list + 1, 1)) {
        unlist_from(heap, index, &index->heads[list]);
        if (index->heads[list] == 0)
            cuai_index_flip(index, list);
    }
}

/* ---- Begin ------------------------------------------------------------- */

static cuarena_status_t check_state(const cuarena_heap_t *heap, const cuarena_heap_plan_t *plan,
                                    bool begun)
{
    if (heap == NULL || plan == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    if (plan->planning != heap->planning)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         plan->planning == NULL ? "the plan's heap was destroyed; accepted: "
                                                  "cuarena_heap_plan_destroy"
                                                : "the plan is of another heap; accepted: plans "
                                                  "that cuarena_heap_plan_create made of this one");
    if (plan->begun == begun && !plan->done)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     begun ? "the plan is not under way" : "the plan was begun before");
}

cuarena_status_t cuai_plan_can_begin(cuarena_heap_t *heap)
{
    if (heap->plans != 0)
        return cuai_fail(CUARENA_BUSY, "another plan is under way");
    if (cuai_slots_reserve(heap, cuai_block_records(heap) + 1) != CUARENA_OK)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a plan");
    return CUARENA_OK;
}

/* Notes how many plans are under way. */
static void note_plans(cuarena_heap_t *heap, uint64_t plans)
{
    CUAI_ASSERT(heap->plans + plans == 1);
    heap->plans = plans;
    cuai_refresh_fast(heap);
    cuai_note_change(heap);
}

void cuai_plan_begun(cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    CUAI_ASSERT(!plan->begun);
    plan->begun = true;
    note_plans(heap, 1);
}

cuarena_status_t cuarena_heap_plan_begin(cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    cuarena_status_t status = check_state(heap, plan, false);
    if (status != CUARENA_OK)
        return status;
    if (heap->plans == 0 && plan->version != cuai_version(heap))
        return cuai_fail(CUARENA_BUSY, "the heap changed since the plan was made");
    status = cuai_plan_can_begin(heap);
    if (status != CUARENA_OK)
        return status;
    cuai_plan_begun(heap, plan);
    cuai_slot_t planned = 0; /* the last record whose range was planned */
    for (size_t i = 0; i < plan->count; i++) {
        cuai_slot_t slot = cuai_moved_slot(heap, plan, i);
        cuai_record_t *r = cuai_record(heap, slot);
        r->moving = 1;
        if (heap->separators != 0 || r->prev != planned)
            plan_range(heap, r->prev, plan->freelist);
        plan_range(heap, slot, plan->freelist);
        planned = slot;
    }
    return CUARENA_OK;
}

/* ---- The look-up ------------------------------------------------------- */

/* Whether making the look-up anew is cheaper, roughly: a block that stays costs an insertion, which
 * is half of a removal, and emptying a bucket costs a fiftieth. */
static bool is_made_anew(const cuarena_heap_t *heap, size_t moves)
{
    CUAI_ASSERT(moves <= cuai_heap_blocks(heap));
    uint64_t stay = cuai_block_records(heap) - moves;
    return stay / 2 + heap->table.buckets / 50 < moves;
}

/* Inserts the blocks that do not move, from the last one that did up to `end`. */
static void insert_between(cuarena_heap_t *heap, cuai_slot_t last, cuai_slot_t end)
{
    cuai_slot_t slot = cuai_record(heap, last)->next;
    for (; slot != end; slot = cuai_record(heap, slot)->next)
        if (cuai_is_listed(cuai_record(heap, slot)))
            cuai_table_insert(&heap->table, heap->records, slot);
}

/* A commit on its way. */
typedef struct commit {
    cuarena_heap_t *heap;
    cuai_record_t *records;
    cuai_table_t table;
    uint32_t freelist; /* gets the bytes that are left */
    bool anew;         /* the look-up is made anew; it is complete as far as `last` */
    cuai_slot_t last;  /* the last block that has moved, or the SENTINEL */
    uint64_t rest;     /* on the short way: planned bytes after `last` */
} commit_t;

static CUAI_INLINE void shift_block(commit_t *commit, cuai_slot_t slot, uint64_t to)
{
    cuai_record_t *r = &commit->records[slot];
    CUAI_ASSERT(r->kind == CUAI_BLOCK && to < r->offset);
    if (!commit->anew)
        cuai_table_remove(&commit->heap->table, commit->records, slot);
    else if (r->prev != commit->last)
        insert_between(commit->heap, commit->last, slot);
    r->offset = to;
    cuai_table_insert(&commit->table, commit->records, slot);
    commit->last = slot;
}

/* ---- The long way ------------------------------------------------------ */

/* Sets the size of a planned range, which may become 0. */
static CUAI_INLINE void keep_rest(cuai_record_t *r, uint64_t rest)
{
    r->key = rest == 0 ? 0 : cuai_range_key(rest, CUAI_FREELIST_PLANNED);
    if (CUAI_LIKELY(rest == 0))
        cuai_index_forget(r);
}

/* Moves a block. Since begin its neighbours may have been freed, but the planned range before it
 * cannot have changed. Where none was after it, bytes of a neighbour may be now: what the block
 * leaves goes between, with the neighbour's slot as a SEPARATOR. */
static void move_block(commit_t *commit, const cuai_move_t *move)
{
    cuarena_heap_t *heap = commit->heap;
    cuai_slot_t slot = cuai_slot_in(heap, move->block);
    cuai_record_t *before = cuai_record(heap, cuai_record(heap, slot)->prev);
    uint64_t distance = move->from - move->to;
    CUAI_ASSERT(cuai_range_freelist(before) == CUAI_FREELIST_PLANNED);
    CUAI_ASSERT(distance <= cuai_range(before));
    shift_block(commit, slot, move->to);
    keep_rest(before, cuai_range(before) - distance);
    cuai_range_release(heap, slot, distance, CUAI_FREELIST_PLANNED);
}

/* Frees a planned range to `freelist`; if nothing is left of it, minds SEPARATORs beside it. */
static void free_planned(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    if (r->key != 0 && cuai_range_freelist(r) == CUAI_FREELIST_PLANNED)
        cuai_range_transfer(heap, slot, freelist);
    else if (r->key == 0 && CUAI_UNLIKELY(heap->separators != 0))
        cuai_range_spent(heap, slot);
}

/* Ends the moves from `from` on: frees the ranges around each block. */
static void end_blocks(cuarena_heap_t *heap, const cuarena_heap_plan_t *plan, size_t from,
                       uint32_t freelist)
{
    cuai_slot_t last = 0; /* the last record whose range was freed */
    for (size_t i = from; i < plan->count; i++) {
        cuai_slot_t slot = cuai_moved_slot(heap, plan, i);
        cuai_record_t *r = cuai_record(heap, slot);
        CUAI_ASSERT(r->moving);
        r->moving = 0;
        if (heap->separators != 0 || r->prev != last)
            free_planned(heap, r->prev, freelist);
        free_planned(heap, slot, freelist);
        last = slot;
    }
}

/* ---- The short way ----------------------------------------------------- */

/* Frees `bytes` that are left of the planned range of `slot` to `freelist`. */
static void free_rest(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist)
{
    keep_rest(cuai_record(heap, slot), bytes);
    free_planned(heap, slot, freelist);
}

/* Whether bytes of another free list have come to follow the block. */
static CUAI_INLINE bool has_stranger(const cuai_record_t *r)
{
    return !cuai_range_joins(r, CUAI_FREELIST_PLANNED);
}

/* Moves a block on the short way, and frees what is left of the range before it. */
static CUAI_INLINE void land_block(commit_t *commit, cuai_slot_t slot, uint64_t from, uint64_t to)
{
    cuai_record_t *r = &commit->records[slot];
    cuai_slot_t prev = r->prev;
    if (CUAI_UNLIKELY(prev != commit->last)) {
        free_rest(commit->heap, commit->last, commit->rest, commit->freelist);
        commit->rest = cuai_range(&commit->records[prev]);
    }
    CUAI_ASSERT(commit->rest >= from - to);
    uint64_t rest = commit->rest - (from - to);
    if (CUAI_LIKELY(rest == 0))
        keep_rest(&commit->records[prev], 0);
    else
        free_rest(commit->heap, prev, rest, commit->freelist);
    shift_block(commit, slot, to);
    r->moving = 0;
    commit->rest = cuai_range(r) + (from - to);
}

/* Moves blocks up to the first that a range of another free list follows; returns how many. The
 * range after the last one is not freed yet, because the next block may take bytes of it. */
static size_t land_blocks(commit_t *commit, const cuai_move_t *moves, size_t count)
{
    commit_t now = *commit;
    uint64_t mask = now.heap->slot_mask;
    size_t i = 0;
    for (; i < count; i++) {
        cuai_slot_t slot = (cuai_slot_t)(moves[i].block & mask);
        if (CUAI_UNLIKELY(has_stranger(&now.records[slot])))
            break;
        land_block(&now, slot, moves[i].from, moves[i].to);
    }
    *commit = now;
    return i;
}

/* Goes the short way as far as possible, which is nowhere while there are SEPARATORs; returns how
 * many blocks were moved. */
static size_t go_short_way(commit_t *commit, const cuarena_heap_plan_t *plan)
{
    cuarena_heap_t *heap = commit->heap;
    if (heap->separators != 0)
        return 0;
    size_t landed = land_blocks(commit, plan->moves, plan->count);
    keep_rest(cuai_record(heap, commit->last), commit->rest);
    if (landed == plan->count ||
        cuai_record(heap, cuai_moved_slot(heap, plan, landed))->prev != commit->last)
        free_planned(heap, commit->last, commit->freelist);
    return landed;
}

/* ---- Ends -------------------------------------------------------------- */

static void end_plan(cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    plan->done = true;
    note_plans(heap, 0);
}

static void commit_all(cuarena_heap_t *heap, const cuarena_heap_plan_t *plan, uint32_t freelist)
{
    commit_t commit = {
        .heap = heap,
        .records = heap->records,
        .table = heap->table,
        .freelist = freelist,
        .anew = is_made_anew(heap, plan->count),
    };
    if (commit.anew)
        cuai_table_clear(&heap->table);
    size_t landed = go_short_way(&commit, plan);
    for (size_t i = landed; i < plan->count; i++)
        move_block(&commit, &plan->moves[i]);
    if (commit.anew)
        insert_between(heap, commit.last, 0);
    end_blocks(heap, plan, landed, freelist);
}

cuarena_status_t cuarena_heap_plan_commit(cuarena_heap_t *heap, cuarena_heap_plan_t *plan,
                                          uint32_t freelist)
{
    cuarena_status_t status = check_state(heap, plan, true);
    if (status != CUARENA_OK)
        return status;
    status = cuai_check_freelist(heap, freelist);
    if (status != CUARENA_OK)
        return status;
    commit_all(heap, plan, freelist);
    end_plan(heap, plan);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_plan_abort(cuarena_heap_t *heap, cuarena_heap_plan_t *plan)
{
    cuarena_status_t status = check_state(heap, plan, true);
    if (status != CUARENA_OK)
        return status;
    end_blocks(heap, plan, 0, plan->freelist);
    end_plan(heap, plan);
    return CUARENA_OK;
}

/* ---- Shifting all of it ------------------------------------------------ */

static void transfer_all(cuarena_heap_t *heap, uint32_t from, uint32_t to)
{
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (r->key != 0 && cuai_range_freelist(r) == from)
            cuai_range_transfer(heap, slot, to);
    }
}

cuarena_status_t cuai_heap_freeze(cuarena_heap_t *heap)
{
    cuarena_status_t status = cuai_plan_can_begin(heap);
    if (status != CUARENA_OK)
        return status;
    note_plans(heap, 1);
    transfer_all(heap, 0, CUAI_FREELIST_PLANNED);
    return CUARENA_OK;
}

void cuai_heap_thaw(cuarena_heap_t *heap)
{
    transfer_all(heap, CUAI_FREELIST_PLANNED, 0);
    note_plans(heap, 0);
}

void cuai_heap_rebase(cuarena_heap_t *heap, uint64_t distance)
{
    CUAI_ASSERT((distance & heap->granule_mask) == 0);
    cuai_table_clear(&heap->table);
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next) {
        cuai_record_t *r = cuai_record(heap, slot);
        r->offset += distance;
        if (cuai_is_listed(r))
            cuai_table_insert(&heap->table, heap->records, slot);
    }
    for (cuai_segment_t *s = cuai_segment_first(heap); s != NULL; s = cuai_segment_next(heap, s)) {
        s->begin += distance;
        s->end += distance;
    }
    heap->zone_base += distance;
    heap->zone_end += distance;
    cuai_note_change(heap);
}
