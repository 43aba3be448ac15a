/*
 * Growth: taking bytes from the memory, one thread at a time.
 *
 * What a request lacks is taken in whole pages: by filling a hole, else by lengthening a segment in
 * place, else as a new segment. The free bytes on both sides count, so no more is taken than that;
 * or, where growth is by chunks, at least a chunk, but for holes. If the memory does not have a
 * chunk, smaller ones are tried, down to what is lacking.
 *
 * Growth that is not by chunks reuses: as many idle pages as it takes go back first, wherever they
 * are, so that the arena holds no more than before. It takes more instead
 *
 *   - up to a little above the most that was ever in use, for that costs little memory
 *   - a handle for every few times that it has reused pages, and the more it holds already the
 *     more often. So a program that needs the same pages now here and now there comes to hold both,
 *     and then its calls of the memory end
 */
#include "arena/grow.h"
#include "arena/alloc.h"
#include "arena/chunks.h"
#include "arena/counts.h"
#include "arena/holes.h"
#include "arena/segments.h"
#include "arena/trim.h"
#include "arena/zero.h"
#include "base/log.h"

/* One way to grow, chosen under the lock. */
typedef struct step {
    enum {
        STEP_NONE,
        STEP_FILL,
        STEP_EXTEND,
        STEP_NEW
    } kind;
    size_t segment;   /* FILL, EXTEND: which */
    uint64_t address; /* FILL: from where */
    uint64_t bytes;   /* to take */
    uint64_t least;   /* how many of them are lacking */
    uint64_t reserve; /* NEW: addresses to set aside */
    uint64_t begin;   /* where the request is to be, with free bytes that are there already */
    uint64_t end;
    uint64_t next_chunk;
} step_t;

static uint64_t granularity_of(const cuarena_t *arena)
{
    return arena->memory.ops.granularity;
}

static bool is_pool(const cuarena_t *arena)
{
    return arena->config.grow == CUARENA_GROW_NONE;
}

/* Where there are many stretches, and so many holes, only a few holes of a kind are looked at. */
#define MANY_STRETCHES 32
#define FEW_HOLES 4

/* ---- Choosing ---------------------------------------------------------- */

/* How many bytes a place for the request must have, wherever it begins. */
static uint64_t room_for(const cuarena_t *arena, const cuai_request_t *request)
{
    uint64_t alignment = request->heap.alignment;
    uint64_t granule = cuai_granule(arena);
    return request->size + (alignment > granule ? alignment - granule : 0);
}

/* How many free bytes from an address on the request needs. */
static uint64_t room_at(const cuarena_t *arena, const cuai_request_t *request, uint64_t address)
{
    uint64_t alignment = cuai_max(request->heap.alignment, cuai_granule(arena));
    return cuai_align_up(address, alignment) - address + request->size;
}

/* How many free bytes from some page on the request needs. */
static uint64_t room_at_page(const cuarena_t *arena, const cuai_request_t *request)
{
    uint64_t known = cuai_min(arena->memory.ops.alignment, granularity_of(arena));
    return request->heap.alignment <= known ? request->size : room_for(arena, request);
}

/* The least that has to be filled in for a request: from the hole's lower end, from its upper end,
 * or all of it. STEP_NONE: the hole is of no use. A hole that ends at a pool's odd end is filled to
 * the end of the page there. */
static step_t fill_step(const cuarena_t *arena, const cuai_hole_t *hole,
                        const cuai_request_t *request)
{
    CUAI_ASSERT(hole->bytes != 0 && !hole->at_end);
    step_t step = {.kind = STEP_FILL, .address = hole->begin, .begin = hole->begin - hole->below};
    uint64_t whole = cuai_page_multiple(arena, hole->bytes);
    uint64_t need = room_at(arena, request, hole->begin - hole->below);
    uint64_t top = room_at_page(arena, request);
    uint64_t low = need > hole->below ? cuai_page_multiple(arena, need - hole->below) : 0;
    uint64_t high = top > hole->above ? cuai_page_multiple(arena, top - hole->above) : 0;
    if (low <= hole->bytes && (low <= high || high > hole->bytes)) {
        step.bytes = low;
    } else if (high <= hole->bytes && whole == hole->bytes) {
        step.bytes = high;
        step.address = step.begin = hole->begin + hole->bytes - high;
    } else if (hole->below + hole->bytes + hole->above >= need) {
        step.bytes = whole;
    } else {
        step.kind = STEP_NONE;
    }
    step.end = step.begin + room_at(arena, request, step.begin);
    return step;
}

/* Lengthening a segment. The last page of a pool may end above the pool's size. */
static step_t extend_step(const cuarena_t *arena, size_t at, const cuai_hole_t *hole, uint64_t need)
{
    CUAI_ASSERT(at < arena->segments.count);
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    step_t step = {.kind = STEP_NONE};
    uint64_t lacks = need > hole->below ? need - hole->below : 0;
    if (arena->memory.ops.grow == NULL || lacks > hole->bytes)
        return step;
    uint64_t taken_end = segment->address + segment->bytes;
    uint64_t end =
        cuai_page_multiple(arena, hole->begin + lacks - segment->address) + segment->address;
    if (end <= taken_end || end > segment->address + segment->address_bytes)
        return step;
    step.kind = STEP_EXTEND;
    step.bytes = end - taken_end;
    step.begin = hole->begin - hole->below;
    step.end = end;
    return step;
}

static step_t new_step(const cuarena_t *arena, uint64_t need)
{
    step_t step = {.kind = STEP_NONE};
    bool pool = is_pool(arena);
    if (pool && (arena->segments.count != 0 || need > arena->pool_bytes))
        return step;
    bool whole = pool && arena->memory.ops.grow == NULL;
    step.kind = STEP_NEW;
    step.bytes = cuai_page_multiple(arena, whole ? arena->pool_bytes : need);
    step.reserve = cuai_max(step.bytes, arena->address_bytes);
    if (pool)
        step.reserve = cuai_max(step.reserve, cuai_page_multiple(arena, arena->pool_bytes));
    return step;
}

static void prefer(step_t *best, step_t step, size_t segment)
{
    bool better = step.kind != STEP_NONE && (best->kind == STEP_NONE || step.bytes < best->bytes);
    if (!better)
        return;
    *best = step;
    best->segment = segment;
}

/* Holes with nothing but free bytes between them. */
typedef struct run {
    cuai_hole_t first;
    uint64_t end;   /* of the last hole */
    uint64_t bytes; /* from the free bytes below the first to the last's end */
} run_t;

static void extend_run(run_t *run, const cuai_hole_t *hole)
{
    if (run->end != 0 && hole->begin - hole->below == run->end)
        run->bytes += hole->below + hole->bytes;
    else
        *run = (run_t){.first = *hole, .bytes = hole->below + hole->bytes};
    run->end = hole->begin + hole->bytes;
}

/* Fills the first hole of a run that has room as a whole; the next step fills the next hole. */
static step_t run_step(const cuarena_t *arena, const run_t *run, const cuai_hole_t *last,
                       const cuai_request_t *request)
{
    step_t step = {.kind = STEP_NONE};
    uint64_t need = room_at(arena, request, run->first.begin - run->first.below);
    if (run->bytes + last->above < need || run->first.at_end)
        return step;
    return (step_t){.kind = STEP_FILL,
                    .address = run->first.begin,
                    .bytes = cuai_page_multiple(arena, run->first.bytes),
                    .begin = run->first.begin - run->first.below,
                    .end = run->first.begin - run->first.below + need};
}

/* The best step of each kind so far. */
typedef struct steps {
    step_t fill;
    step_t extend;
    step_t run;
} steps_t;

/* The hole without the free bytes on one side that have room by themselves: the request did not get
 * them, so they are out of its reach. */
static cuai_hole_t within_reach(const cuarena_t *arena, const cuai_hole_t *hole,
                                const cuai_request_t *request)
{
    cuai_hole_t left = *hole;
    if (hole->below >= room_at(arena, request, hole->begin - hole->below))
        left.below = 0;
    if (hole->above >= room_at(arena, request, hole->begin + hole->bytes))
        left.above = 0;
    return left;
}

/* Weighs one hole. */
static void weigh(const cuarena_t *arena, size_t at, const cuai_request_t *request,
                  const cuai_hole_t *hole, steps_t *steps)
{
    const cuai_hole_t reached = within_reach(arena, hole, request);
    if (hole->at_end)
        prefer(&steps->extend,
               extend_step(arena, at, hole, room_at(arena, request, hole->begin - hole->below)),
               at);
    else
        prefer(&steps->fill, fill_step(arena, &reached, request), at);
}

/* Weighs all holes of a segment at or above an address. */
static void consider_from(const cuarena_t *arena, size_t at, const cuai_request_t *request,
                          uint64_t from, steps_t *steps)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    cuai_hole_t hole;
    run_t run = {0};
    while (cuai_next_hole(arena, segment, from, request, &hole)) {
        extend_run(&run, &hole);
        prefer(&steps->run, run_step(arena, &run, &hole, request), at);
        weigh(arena, at, request, &hole, steps);
        from = hole.begin + hole.bytes;
    }
}

/* Whether no other hole would take much less: free bytes beside one save a page at most. */
static bool is_cheap(const cuarena_t *arena, const steps_t *steps, uint64_t need)
{
    uint64_t granularity = granularity_of(arena);
    return steps->fill.kind != STEP_NONE &&
           steps->fill.bytes <=
               cuai_max(cuai_page_multiple(arena, need) - granularity, granularity);
}

/* Weighs the lowest few holes of at least so many bytes, until one is cheap. */
static void consider_wide(const cuarena_t *arena, size_t at, const cuai_request_t *request,
                          uint64_t bytes, steps_t *steps)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t from = segment->address;
    uint64_t need = room_for(arena, request);
    for (int i = 0; i < FEW_HOLES && !is_cheap(arena, steps, need); i++) {
        const cuai_segment_t *s = cuai_segment_above_gap(heap, from, bytes);
        cuai_hole_t hole;
        if (s == NULL || s->source != at)
            break;
        from = s->end;
        const cuai_segment_t *below = cuai_segment_numbered(heap, s->below);
        if (cuai_next_hole(arena, segment, below->begin, request, &hole))
            weigh(arena, at, request, &hole, steps);
    }
}

/* Weighs a few of many holes: those which have room by themselves, or would with a page that the
 * bytes beside them may have; the lowest one; and what is above the last stretch. */
static void consider_few(const cuarena_t *arena, size_t at, const cuai_request_t *request,
                         steps_t *steps)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t need = cuai_page_multiple(arena, room_for(arena, request));
    cuai_hole_t hole;
    if (cuai_next_hole(arena, segment, 0, request, &hole))
        weigh(arena, at, request, &hole, steps);
    if (need > granularity_of(arena))
        consider_wide(arena, at, request, need - granularity_of(arena), steps);
    consider_wide(arena, at, request, need, steps);
    const cuai_segment_t *next = cuai_segment_from(heap, segment->address + segment->address_bytes);
    const cuai_segment_t *last =
        next == NULL ? cuai_segment_top(heap) : cuai_segment_numbered(heap, next->below);
    consider_from(arena, at, request, last == NULL ? 0 : last->begin, steps);
}

static bool has_many_holes(const cuarena_t *arena)
{
    return arena->heaps[CUAI_DYNAMIC]->segment_count > MANY_STRETCHES;
}

static steps_t look_around(const cuarena_t *arena, const cuai_request_t *request, bool at_all)
{
    steps_t steps = {0};
    bool in_place = arena->memory.ops.grow != NULL || arena->memory.ops.fill != NULL;
    for (size_t i = 0; in_place && i < arena->segments.count; i++)
        if (at_all)
            consider_from(arena, i, request, 0, &steps);
        else
            consider_few(arena, i, request, &steps);
    return steps;
}

/* The cheapest hole comes first, then the end of a segment, then several holes, then a new segment.
 * A few holes are looked at and, if neither they nor the ends will do or *at_all says so, all;
 * *at_all then says that they were. */
static step_t least_step(const cuarena_t *arena, const cuai_request_t *request, bool *at_all)
{
    *at_all = *at_all || !has_many_holes(arena);
    steps_t steps = look_around(arena, request, *at_all);
    if (!*at_all && steps.fill.kind == STEP_NONE && steps.extend.kind == STEP_NONE) {
        *at_all = true;
        steps = look_around(arena, request, true);
    }
    if (steps.fill.kind != STEP_NONE)
        return steps.fill;
    if (steps.extend.kind != STEP_NONE)
        return steps.extend;
    if (steps.run.kind != STEP_NONE)
        return steps.run;
    bool aligned = request->heap.alignment <= arena->memory.ops.alignment;
    return new_step(arena, aligned ? request->size : room_for(arena, request));
}

/* Chooses a step. It may take more than is lacking, as far as addresses go; of holes only what is
 * lacking. */
static step_t choose(const cuarena_t *arena, const cuai_request_t *request, bool *at_all)
{
    step_t step = least_step(arena, request, at_all);
    cuai_chunk_t chunk = cuai_chunk_for(arena, room_for(arena, request), step.bytes);
    step.least = step.bytes;
    step.next_chunk = arena->next_chunk;
    if (step.kind != STEP_EXTEND && step.kind != STEP_NEW)
        return step;
    uint64_t most = chunk.bytes;
    if (step.kind == STEP_EXTEND) {
        const cuarena_memory_segment_t *segment = &arena->segments.items[step.segment];
        uint64_t left = segment->address_bytes - segment->bytes;
        most = cuai_min(most, cuai_align_down(left, granularity_of(arena)));
    }
    step.bytes = cuai_max(step.bytes, most);
    step.reserve = cuai_max(step.reserve, step.bytes);
    step.next_chunk = chunk.next;
    return step;
}

/* ---- Acting, without the lock ------------------------------------------ */

static void undo(cuarena_t *arena, const step_t *step, cuarena_memory_segment_t *segment)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    void *user = arena->memory.user;
    if (step->kind == STEP_NEW)
        ops->give_back(user, segment);
    else if (step->kind == STEP_FILL)
        ops->punch(user, segment, step->address - segment->address, step->bytes);
    else if (ops->shrink != NULL)
        ops->shrink(user, segment, segment->bytes - step->bytes);
}

static cuarena_status_t try_step(cuarena_t *arena, const step_t *step,
                                 cuarena_memory_segment_t *segment, uint64_t *address_out)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    void *user = arena->memory.user;
    cuarena_status_t status;
    *address_out = step->address;
    if (step->kind == STEP_FILL) {
        status = ops->fill(user, segment, step->address - segment->address, step->bytes);
    } else if (step->kind == STEP_EXTEND) {
        *address_out = segment->address + segment->bytes;
        status = ops->grow(user, segment, segment->bytes + step->bytes);
    } else {
        status = ops->get(user, step->bytes, step->reserve, segment);
        *address_out = segment->address;
    }
    return status;
}

/* Makes the step take less than the chunk that was refused, but no less than what is lacking;
 * false: it cannot. */
static bool back_off(const cuarena_t *arena, step_t *step, uint64_t *asked)
{
    uint64_t refused = step->bytes;
    uint64_t bytes = 0;
    if (refused > step->least)
        bytes = cuai_chunk_smaller(arena, asked, step->least);
    if (bytes == 0)
        return false;
    step->bytes = bytes;
    cuai_log(CUARENA_LOG_DEBUG, "%s: no chunk of %llu bytes, trying %llu", arena->label,
             (unsigned long long)refused, (unsigned long long)bytes);
    return true;
}

/* Takes the bytes, which may be fewer in the end; *address_out is where they begin. No lock. */
static cuarena_status_t act(cuarena_t *arena, step_t *step, cuarena_memory_segment_t *segment,
                            uint64_t *address_out)
{
    uint64_t asked = step->bytes;
    cuarena_status_t status = try_step(arena, step, segment, address_out);
    while (status == CUARENA_OUT_OF_MEMORY && back_off(arena, step, &asked))
        status = try_step(arena, step, segment, address_out);
    if (status != CUARENA_OK)
        return status;
    status = cuai_zero_fresh(arena, *address_out, step->bytes, CUARENA_NO_STREAM);
    if (status != CUARENA_OK)
        undo(arena, step, segment);
    return status;
}

cuarena_status_t cuai_take_segment(cuarena_t *arena, uint64_t bytes,
                                   cuarena_memory_segment_t *segment)
{
    uint64_t more = bytes - segment->bytes;
    step_t step = {.kind = segment->bytes == 0 ? STEP_NEW : STEP_EXTEND,
                   .bytes = more,
                   .least = more,
                   .reserve = cuai_max(more, arena->address_bytes)};
    uint64_t address;
    return act(arena, &step, segment, &address);
}

/* ---- Committing -------------------------------------------------------- */

/* How many bytes of what was taken are usable: a pool has no use for some. */
static uint64_t published_bytes(const cuarena_t *arena, const cuarena_memory_segment_t *segment,
                                uint64_t address, uint64_t bytes)
{
    if (!is_pool(arena))
        return bytes;
    uint64_t end = segment->address + arena->pool_bytes;
    return cuai_min(address + bytes, end) - address;
}

static cuarena_status_t commit(cuarena_t *arena, const step_t *step,
                               const cuarena_memory_segment_t *segment, uint64_t address)
{
    size_t at = step->kind == STEP_NEW ? arena->segments.count : step->segment;
    CUAI_ASSERT(at < arena->segments.room);
    cuarena_memory_segment_t before = {0};
    if (step->kind == STEP_NEW)
        arena->segments.count++;
    else
        before = arena->segments.items[at];
    arena->segments.items[at] = *segment;
    uint64_t begin = address;
    if (step->kind == STEP_EXTEND) /* a pool's odd end may lie below */
        begin = cuai_max(cuai_dynamic_begin(arena, segment), address);
    uint64_t bytes = published_bytes(arena, segment, begin, address + step->bytes - begin);
    CUAI_ASSERT(bytes <= step->bytes);
    cuarena_status_t status = cuai_publish(arena, at, begin, bytes);
    if (status == CUARENA_OK)
        return status;
    if (step->kind == STEP_NEW)
        arena->segments.count--;
    else
        arena->segments.items[at] = before;
    return status;
}

static void count(cuarena_t *arena, const step_t *step)
{
    CUAI_ASSERT(step->kind != STEP_NONE);
    cuai_count_reserved(arena, step->bytes);
    arena->next_chunk = step->next_chunk;
    arena->grows++;
    arena->extensions++;
}

/* Whether the segment has too few addresses to become the whole pool. */
static bool is_short(const cuarena_t *arena, const step_t *step,
                     const cuarena_memory_segment_t *segment)
{
    return step->kind == STEP_NEW && is_pool(arena) &&
           segment->address_bytes < cuai_page_multiple(arena, arena->pool_bytes);
}

/* Takes the bytes of a step: reserved under the lock, got without it, committed or given back under
 * it. BUSY: the pool must be taken whole. Drops the lock. */
static cuarena_status_t take(cuarena_t *arena, step_t *step)
{
    CUAI_ASSERT(step->kind != STEP_NONE && step->bytes != 0 && step->least <= step->bytes);
    CUAI_ASSERT(!arena->growing);
    cuarena_memory_segment_t segment = {0};
    if (step->kind != STEP_NEW)
        segment = arena->segments.items[step->segment];
    arena->growing = true;
    const uint64_t asked = step->bytes;
    arena->reserving += asked;
    cuai_unlock(&arena->lock);
    uint64_t address;
    cuarena_status_t status = act(arena, step, &segment, &address);
    cuai_log(CUARENA_LOG_DEBUG, "%s: %llu more bytes: %s", arena->label,
             (unsigned long long)step->bytes, cuarena_status_name(status));
    cuai_arena_lock(arena);
    bool taken = status == CUARENA_OK;
    if (taken && is_short(arena, step, &segment))
        status = CUARENA_BUSY;
    else if (taken)
        status = commit(arena, step, &segment, address);
    if (status == CUARENA_OK)
        count(arena, step);
    if (taken && status != CUARENA_OK) {
        cuai_unlock(&arena->lock);
        undo(arena, step, &segment);
        cuai_arena_lock(arena);
    }
    arena->reserving -= asked;
    arena->growing = false;
    cuai_cond_wake(&arena->changed);
    return status;
}

cuarena_status_t cuai_check_reserved_limit(const cuarena_t *arena, uint64_t bytes)
{
    cuai_assert_locked(arena);
    uint64_t limit = arena->limits[CUARENA_LIMIT_RESERVED];
    if (bytes <= cuai_affordable(arena))
        return CUARENA_OK;
    return cuai_fail_bytes(CUARENA_LIMIT, bytes, limit, arena->reserved, 0, 0,
                           "%llu more bytes would exceed the limit of %llu: "
                           "%llu are reserved",
                           (unsigned long long)bytes, (unsigned long long)limit,
                           (unsigned long long)arena->reserved);
}

/* ---- Reusing ----------------------------------------------------------- */

/* An arena reuses no pages while it holds at most this share, and so many pages, more than the most
 * that was in use; so many handles where these follow what is reserved, for they are a device's,
 * whose calls take long. */
#define SPARE_SHARE 48
#define SPARE_PAGES 3
#define SPARE_HANDLES 6
/* How often pages are reused, one or several at once, before a handle is taken instead; as often
 * again for each such share of the most in use that is held beyond it. */
#define REUSES_OF_A_HANDLE 8
#define PRICE_SHARE 64
/* How often pages are reused for one request, which may fill several holes. */
#define MOST_REUSES 16

/* How many bytes are held with the step beyond the most that was in use. */
static uint64_t excess_with(const cuarena_t *arena, const step_t *step)
{
    uint64_t held = arena->heaps[CUAI_DYNAMIC]->capacity + step->bytes;
    return held > arena->most_used ? held - arena->most_used : 0;
}

/* Whether pages were reused so often that the step takes its own instead, which that pays for. */
static bool pays_for(cuarena_t *arena, const step_t *step)
{
    CUAI_ASSERT(arena->most_used != 0);
    uint64_t price = step->bytes * REUSES_OF_A_HANDLE / cuai_handle_now(arena);
    price *= 1 + excess_with(arena, step) * PRICE_SHARE / arena->most_used;
    if (arena->reuses < price)
        return false;
    arena->reuses -= price;
    return true;
}

/* Whether idle pages may go for those that the step takes: there are some, the limit may be met
 * then, and the memory can do without them anywhere. */
static bool can_reuse(const cuarena_t *arena, const step_t *step)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t idle = heap->freelists[0]->free_bytes;
    cuai_slot_t slot;
    return step->kind != STEP_NONE && arena->config.reuse == 1 &&
           arena->config.grow == CUARENA_GROW_EXACT && ops->punch != NULL && ops->fill != NULL &&
           step->bytes <= cuai_affordable(arena) + idle &&
           cuai_heap_large_ranges(heap, 0, granularity_of(arena), &slot, 1) != 0;
}

static uint64_t spare_bytes(const cuarena_t *arena)
{
    bool follows = arena->memory.most_handle_bytes != 0;
    uint64_t spare = (follows ? SPARE_HANDLES : SPARE_PAGES) * cuai_handle_now(arena);
    return arena->most_used / SPARE_SHARE + spare;
}

static bool reuses(cuarena_t *arena, const cuai_request_t *request, const step_t *step)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (!cuai_would_fit(arena, request))
        return false;
    cuai_raise(&arena->most_used, cuai_heap_bytes(heap) + request->size);
    return excess_with(arena, step) > spare_bytes(arena) && can_reuse(arena, step) &&
           !pays_for(arena, step);
}

/* Chooses a step, and gives idle pages back for what it will take, but for those that the request
 * is to have with it. Only MOST_REUSES times for a request: else it might take and give for ever,
 * since other threads and what was given back may change the choice. Drops the lock. */
static step_t choose_reusing(cuarena_t *arena, const cuai_request_t *request, bool *at_all)
{
    cuai_assert_locked(arena);
    step_t step = choose(arena, request, at_all);
    uint64_t given = 0;
    uint64_t more = request->growths < MOST_REUSES && reuses(arena, request, &step);
    while (more != 0 && step.kind != STEP_NONE && given < step.least) {
        more = cuai_trim_beside(arena, step.least - given, step.begin, step.end);
        given += more;
        if (more != 0)
            step = choose(arena, request, at_all);
    }
    if (given != 0) {
        step.bytes = step.least;
        arena->reuses++;
    }
    if (given > step.bytes) /* else what is held shrinks again, and the loop goes on for ever */
        arena->reuses += (given - step.bytes) * REUSES_OF_A_HANDLE / cuai_handle_now(arena);
    return step;
}

static cuarena_status_t try_choice(cuarena_t *arena, const cuai_request_t *request, bool *at_all,
                                   step_t *step)
{
    *step = choose_reusing(arena, request, at_all);
    if (step->kind == STEP_NONE)
        return CUARENA_UNSUPPORTED;
    cuarena_status_t status = cuai_check_reserved_limit(arena, step->bytes);
    if (status == CUARENA_OK && !cuai_segments_room(&arena->segments))
        status = cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a segment's record");
    if (status == CUARENA_OK)
        status = take(arena, step);
    if (status != CUARENA_BUSY)
        return status;
    step->bytes = step->least = cuai_page_multiple(arena, arena->pool_bytes);
    status = cuai_check_reserved_limit(arena, step->bytes);
    return status == CUARENA_OK ? take(arena, step) : status;
}

cuarena_status_t cuai_grow(cuarena_t *arena, const cuai_request_t *request, uint64_t *taken_out)
{
    cuai_assert_locked(arena);
    if (cuai_arena_is_taken(arena)) {
        cuai_arena_wait(arena);
        return CUARENA_OK;
    }
    bool at_all = false;
    step_t step;
    cuarena_status_t status = try_choice(arena, request, &at_all, &step);
    bool lacks = status == CUARENA_LIMIT || status == CUARENA_OUT_OF_MEMORY;
    if (lacks && !at_all && !cuai_arena_is_taken(arena)) {
        at_all = true; /* a hole that was passed over may take less */
        status = try_choice(arena, request, &at_all, &step);
    }
    if (status == CUARENA_OK)
        *taken_out += step.bytes;
    return status;
}

/* ---- All that a pool gave back ----------------------------------------- */

uint64_t cuai_pool_untaken(const cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    return is_pool(arena) ? arena->pool_bytes - arena->stable_bytes - heap->capacity : 0;
}

/* Fills the lowest hole of the pool. STEP_NONE: it has none, or the memory cannot. */
static step_t lowest_hole(const cuarena_t *arena)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[0];
    step_t step = {.kind = STEP_NONE, .next_chunk = arena->next_chunk};
    cuai_hole_t hole;
    if (arena->segments.count == 0 || !cuai_next_hole(arena, segment, 0, NULL, &hole))
        return step;
    step.address = hole.begin;
    if (!hole.at_end) {
        step.kind = STEP_FILL;
        step.bytes = cuai_page_multiple(arena, hole.bytes);
    } else if (arena->memory.ops.grow != NULL) {
        step.kind = STEP_EXTEND;
        step.bytes = cuai_page_multiple(arena, arena->pool_bytes) - segment->bytes;
    }
    step.least = step.bytes;
    return step;
}

cuarena_status_t cuai_fill_pool(cuarena_t *arena, uint64_t *taken_out)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = cuai_check_reserved_limit(arena, cuai_pool_untaken(arena));
    while (status == CUARENA_OK && cuai_pool_untaken(arena) != 0) {
        step_t step = lowest_hole(arena);
        if (step.kind == STEP_NONE)
            return CUARENA_UNSUPPORTED;
        status = cuai_check_reserved_limit(arena, step.bytes);
        if (status == CUARENA_OK)
            status = take(arena, &step);
        if (status == CUARENA_OK)
            *taken_out += step.bytes;
    }
    return status;
}

/* ---- The first segment ------------------------------------------------- */

static cuarena_status_t publish_first(cuarena_t *arena)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[0];
    cuarena_status_t status = CUARENA_OK;
    if (arena->stable_bytes != 0)
        status = cuarena_heap_segment_add(arena->heaps[CUAI_STABLE], segment->address,
                                          arena->stable_bytes);
    uint64_t begin = cuai_dynamic_begin(arena, segment);
    uint64_t end = segment->address + cuai_min(segment->bytes, arena->pool_bytes);
    if (status == CUARENA_OK && end > begin)
        status = cuarena_heap_segment_add(arena->heaps[CUAI_DYNAMIC], begin, end - begin);
    return status;
}

/* The first chunk that comes with the stable region, as far as the limit allows. */
static uint64_t first_chunk(const cuarena_t *arena)
{
    if (is_pool(arena) || arena->config.take_first == 0)
        return 0;
    uint64_t left = arena->limits[CUARENA_LIMIT_RESERVED] - arena->stable_bytes;
    return cuai_min(cuai_page_multiple(arena, arena->next_chunk),
                    cuai_align_down(left, granularity_of(arena)));
}

cuarena_status_t cuai_grow_first(cuarena_t *arena)
{
    CUAI_ASSERT(arena->segments.count == 0 && arena->reserved == 0);
    cuai_chunks_start(arena);
    uint64_t chunk = first_chunk(arena);
    uint64_t bytes = is_pool(arena) ? arena->pool_bytes : arena->stable_bytes + chunk;
    bytes = cuai_page_multiple(arena, bytes);
    if (bytes == 0)
        return CUARENA_OK;
    if (!cuai_segments_room(&arena->segments))
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a segment's record");
    cuarena_status_t status = cuai_take_segment(arena, bytes, &arena->segments.items[0]);
    if (status != CUARENA_OK)
        return status;
    arena->segments.count = 1;
    cuai_count_reserved(arena, bytes);
    arena->extensions++;
    if (chunk != 0)
        arena->next_chunk = cuai_chunk_for(arena, 0, 0).next;
    return publish_first(arena);
}
