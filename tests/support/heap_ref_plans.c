/* The reference's plans: what a plan may do, every window, under way. */
#include "heap_ref_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Plans -------------------------------------------------------------- */

static uint64_t align_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* Bytes that the block leaves would have to be kept apart from a range of another free list behind
 * it, so it stays. */
static bool is_movable(const ref_t *ref, size_t i)
{
    const ref_entry_t *entry = &ref->entries[i];
    const ref_entry_t *next = entry + 1;
    bool last = i + 1 == ref->count || next->opens;
    return ref_is_block(entry) && entry->is.pins == 0 && !entry->is.moving &&
           (last || ref_is_block(next) || next->is.freelist == 0);
}

/* One block slides down in the range of `freelist` before it; what it leaves is of that free list.
 * False if it cannot. */
static bool slide(ref_t *ref, size_t i, uint64_t to, uint32_t freelist)
{
    ref_entry_t *entry = &ref->entries[i];
    if (i == 0 || entry->opens || !ref_is_range_of(entry - 1, freelist) ||
        to < entry[-1].is.offset || to >= entry->is.offset)
        return false;
    uint64_t distance = entry->is.offset - to;
    entry->is.offset = to;
    ref_set_range(ref_insert(ref, i + 1), to + ref->entries[i].is.size, distance, freelist);
    ref_merge_with_next(ref, i + 1);
    ref->entries[i - 1].is.size -= distance;
    if (ref->entries[i - 1].is.size != 0)
        return true;
    ref->entries[i].opens = ref->entries[i - 1].opens;
    ref_erase(ref, i - 1);
    return true;
}

static void copy(ref_t *to, const ref_t *from)
{
    *to = *from;
    to->entries = NULL;
    to->capacity = 0;
    ref_reserve(to, from->count + 1);
    memcpy(to->entries, from->entries, from->count * sizeof(from->entries[0]));
}

static const char *check_move(ref_t *ref, const cuarena_heap_move_t *move)
{
    size_t i = ref_at(ref, move->from);
    if (i == REF_NONE)
        return "a move from where nothing is";
    const cuarena_heap_entry_t *is = &ref->entries[i].is;
    if (!ref_is_block(&ref->entries[i]) || is->block != move->block || is->offset != move->from ||
        is->size != move->bytes)
        return "a move that does not describe its block";
    if (!is_movable(ref, i))
        return "a move of a block that must stay";
    if (move->to % is->alignment != 0)
        return "a move that does not keep the alignment";
    if (!slide(ref, i, move->to, 0))
        return "a move to where no idle bytes are, or not down";
    return NULL;
}

static bool is_goal_met(const ref_t *ref, const cuarena_heap_plan_options_t *options)
{
    uint64_t size = ref_round(ref, options->goal_bytes);
    return ref_any_fits(ref, 0, size, options->goal_alignment);
}

/* Nothing that may move has room below it. */
static bool is_compact(const ref_t *ref)
{
    for (size_t i = 1; i < ref->count; i++) {
        const ref_entry_t *entry = &ref->entries[i];
        if (!entry->opens && is_movable(ref, i) && ref_is_range_of(entry - 1, 0) &&
            align_up(entry[-1].is.offset, entry->is.alignment) < entry->is.offset)
            return false;
    }
    return true;
}

static const char *check_result(const ref_t *after, const ref_cost_t *cost,
                                const cuarena_heap_plan_options_t *options)
{
    if (cost->bytes > options->max_bytes || cost->moves > options->max_moves)
        return "a plan beyond its limits";
    if (options->goal_bytes != 0)
        return is_goal_met(after, options) ? NULL : "a plan misses its goal";
    bool limited = options->max_bytes != UINT64_MAX || options->max_moves != UINT64_MAX;
    return limited || is_compact(after) ? NULL : "a plan is not all the way";
}

const char *ref_check_plan(const ref_t *ref, const cuarena_heap_plan_options_t *options,
                           const cuarena_heap_move_t *moves, size_t count)
{
    ref_t after;
    ref_cost_t cost = {.moves = count};
    const char *reason = NULL;
    copy(&after, ref);
    for (size_t i = 0; i < count && reason == NULL; i++) {
        reason = check_move(&after, &moves[i]);
        cost.bytes += moves[i].bytes;
    }
    if (reason == NULL)
        reason = check_result(&after, &cost, options);
    ref_end(&after);
    return reason;
}

/* ---- Plans: every window ------------------------------------------------ */

bool ref_has_alignments(const ref_t *ref, const cuarena_heap_plan_options_t *options)
{
    if (options->goal_alignment > ref->granule)
        return true;
    for (size_t i = 0; i < ref->count; i++) {
        if (ref->entries[i].is.alignment > ref->granule)
            return true;
    }
    return false;
}

/* Adds entry `i` to a window whose blocks end at `top`; false if it ends
 * there. */
static bool widen(const ref_t *ref, size_t i, uint64_t *top, ref_cost_t *cost)
{
    const ref_entry_t *entry = &ref->entries[i];
    if (ref_is_range_of(entry, 0))
        return true;
    if (!is_movable(ref, i))
        return false;
    uint64_t to = align_up(*top, entry->is.alignment);
    *top = to + entry->is.size;
    cost->bytes += to != entry->is.offset ? entry->is.size : 0;
    cost->moves += to != entry->is.offset ? 1 : 0;
    return true;
}

/* The cheapest window that begins with the range `from`. */
static bool cheapest_from(const ref_t *ref, size_t from, const cuarena_heap_plan_options_t *options,
                          ref_cost_t *cost)
{
    uint64_t size = ref_round(ref, options->goal_bytes);
    uint64_t top = ref->entries[from].is.offset;
    size_t end = ref_segment_end(ref, from);
    for (size_t i = from; i < end && widen(ref, i, &top, cost); i++) {
        uint64_t length = ref_end_of(&ref->entries[i]) - top;
        if (ref_fits(top, length, size, options->goal_alignment))
            return cost->bytes <= options->max_bytes && cost->moves <= options->max_moves;
    }
    return false;
}

bool ref_cheapest(const ref_t *ref, const cuarena_heap_plan_options_t *options,
                  ref_cost_t *cost_out)
{
    bool found = false;
    for (size_t i = 0; i < ref->count; i++) {
        ref_cost_t cost = {0};
        if (ref_is_range_of(&ref->entries[i], 0) && cheapest_from(ref, i, options, &cost) &&
            (!found || cost.bytes < cost_out->bytes)) {
            *cost_out = cost;
            found = true;
        }
    }
    return found;
}

/* ---- Plans: under way --------------------------------------------------- */

static void hold(ref_t *ref, size_t i)
{
    ref_entry_t *entry = &ref->entries[i];
    if (ref_is_range_of(entry, 0))
        ref_set_range(entry, entry->is.offset, entry->is.size, REF_FREELIST_PLANNED);
}

void ref_do_begin(ref_t *ref, const cuarena_heap_move_t *moves, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        size_t i = ref_at(ref, moves[n].from);
        ref->entries[i].is.moving = 1;
        hold(ref, i - 1);
        if (i + 1 < ref->count && !ref->entries[i + 1].opens)
            hold(ref, i + 1);
    }
    ref->changes++;
}

static void let_go(ref_t *ref, uint32_t freelist)
{
    for (size_t i = 0; i < ref->count; i++) {
        if (ref_is_block(&ref->entries[i]))
            ref->entries[i].is.moving = 0;
    }
    ref_refile(ref, REF_FREELIST_PLANNED, freelist);
    ref->changes++;
}

void ref_do_commit(ref_t *ref, const cuarena_heap_move_t *moves, size_t count, uint32_t freelist)
{
    for (size_t n = 0; n < count; n++) {
        size_t i = ref_at(ref, moves[n].from);
        if (!slide(ref, i, moves[n].to, REF_FREELIST_PLANNED))
            abort();
    }
    let_go(ref, freelist);
}

void ref_do_abort(ref_t *ref)
{
    let_go(ref, 0);
}
