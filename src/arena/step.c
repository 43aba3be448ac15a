/*
 * Steps of growth: where the memory is to give how many bytes, and the choice among such places.
 *
 * What a request lacks is taken in whole pages: by filling a hole, else by lengthening a segment in
 * place, else as a new segment. The free bytes on both sides count, so no more is taken than that;
 * or, where growth is by chunks, at least a chunk, but for holes.
 */
#include "arena/step.h"
#include "arena/chunks.h"
#include "arena/counts.h"
#include "arena/holes.h"
#include "arena/segments.h"
#include "heap/segments.h"

/* Where there are many stretches, and so many holes, only a few holes of a kind are looked at. */
#define MANY_STRETCHES 32
#define FEW_HOLES 4

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
    uint64_t known = cuai_min(arena->memory.ops.alignment, cuai_page_bytes(arena));
    return request->heap.alignment <= known ? request->size : room_for(arena, request);
}

/* The least that has to be filled in for a request: from the hole's lower end, from its upper end,
 * or all of it. CUAI_STEP_NONE: the hole is of no use. A hole that ends at a pool's odd end is
 * filled to the end of the page there. */
static cuai_step_t fill_step(const cuarena_t *arena, const cuai_hole_t *hole,
                             const cuai_request_t *request)
{
    CUAI_ASSERT(hole->bytes != 0 && !hole->at_end);
    cuai_step_t step = {.kind = CUAI_STEP_FILL,
                        .address = hole->begin,
                        .room = {hole->begin, hole->begin + hole->bytes},
                        .begin = hole->begin - hole->below};
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
        step.kind = CUAI_STEP_NONE;
    }
    step.end = step.begin + room_at(arena, request, step.begin);
    return step;
}

/* Lengthening a segment. The last page of a pool may end above the pool's size. */
static cuai_step_t extend_step(const cuarena_t *arena, size_t at, const cuai_hole_t *hole,
                               uint64_t need)
{
    CUAI_ASSERT(at < arena->segments.count);
    const cuarena_memory_segment_t *segment = &arena->segments.items[at];
    cuai_step_t step = {.kind = CUAI_STEP_NONE};
    uint64_t lacks = need > hole->below ? need - hole->below : 0;
    if (arena->memory.ops.grow == NULL || lacks > hole->bytes)
        return step;
    uint64_t taken_end = segment->address + segment->bytes;
    uint64_t end =
        cuai_page_multiple(arena, hole->begin + lacks - segment->address) + segment->address;
    if (end <= taken_end || end > segment->address + segment->address_bytes)
        return step;
    step.kind = CUAI_STEP_EXTEND;
    step.bytes = end - taken_end;
    step.room = (cuai_room_t){taken_end, segment->address + segment->address_bytes};
    step.begin = hole->begin - hole->below;
    step.end = end;
    return step;
}

static cuai_step_t new_step(const cuarena_t *arena, uint64_t need)
{
    cuai_step_t step = {.kind = CUAI_STEP_NONE};
    bool pool = cuai_is_pool(arena);
    if (pool && (arena->segments.count != 0 || need > arena->pool_bytes))
        return step;
    bool whole = pool && arena->memory.ops.grow == NULL;
    step.kind = CUAI_STEP_NEW;
    step.bytes = cuai_page_multiple(arena, whole ? arena->pool_bytes : need);
    step.reserve = cuai_max(step.bytes, arena->address_bytes);
    if (pool)
        step.reserve = cuai_max(step.reserve, cuai_page_multiple(arena, arena->pool_bytes));
    return step;
}

static void prefer(cuai_step_t *best, cuai_step_t step, size_t segment)
{
    bool better =
        step.kind != CUAI_STEP_NONE && (best->kind == CUAI_STEP_NONE || step.bytes < best->bytes);
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
static cuai_step_t run_step(const cuarena_t *arena, const run_t *run, const cuai_hole_t *last,
                            const cuai_request_t *request)
{
    cuai_step_t step = {.kind = CUAI_STEP_NONE};
    uint64_t need = room_at(arena, request, run->first.begin - run->first.below);
    if (run->bytes + last->above < need || run->first.at_end)
        return step;
    return (cuai_step_t){.kind = CUAI_STEP_FILL,
                         .address = run->first.begin,
                         .bytes = cuai_page_multiple(arena, run->first.bytes),
                         .room = {run->first.begin, run->first.begin + run->first.bytes},
                         .begin = run->first.begin - run->first.below,
                         .end = run->first.begin - run->first.below + need};
}

/* The best step of each kind so far. */
typedef struct steps {
    cuai_step_t fill;
    cuai_step_t extend;
    cuai_step_t run;
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

/* Compares the step into one hole with the best step of its kind so far. */
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
    uint64_t granularity = cuai_page_bytes(arena);
    return steps->fill.kind != CUAI_STEP_NONE &&
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
    if (need > cuai_page_bytes(arena))
        consider_wide(arena, at, request, need - cuai_page_bytes(arena), steps);
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

/* Whether pages may move to the request, to whatever end of a segment takes least. */
static bool gets_moved_pages(const cuarena_t *arena, const cuai_request_t *request)
{
    return request->stream != 0 && arena->memory.map_again != NULL;
}

/* The cheapest hole, or the end of a segment: where there is no hole, or it takes less and pages
 * move there, which leave as many holes as they fill. */
static cuai_step_t in_place(const cuarena_t *arena, const cuai_request_t *request,
                            const steps_t *steps)
{
    bool has_end = steps->extend.kind != CUAI_STEP_NONE;
    bool cheaper = steps->extend.bytes < steps->fill.bytes && gets_moved_pages(arena, request);
    bool at_end = has_end && (steps->fill.kind == CUAI_STEP_NONE || cheaper);
    return at_end ? steps->extend : steps->fill;
}

/* The cheapest hole comes first, then the end of a segment, then several holes, then a new segment.
 * A few holes are looked at and,
 * if neither they nor the ends will do or *at_all says so, all; *at_all then says that they were.
 */
static cuai_step_t least_step(const cuarena_t *arena, const cuai_request_t *request, bool *at_all)
{
    *at_all = *at_all || !has_many_holes(arena);
    steps_t steps = look_around(arena, request, *at_all);
    if (!*at_all && in_place(arena, request, &steps).kind == CUAI_STEP_NONE) {
        *at_all = true;
        steps = look_around(arena, request, true);
    }
    cuai_step_t step = in_place(arena, request, &steps);
    if (step.kind != CUAI_STEP_NONE)
        return step;
    if (steps.run.kind != CUAI_STEP_NONE)
        return steps.run;
    bool aligned = request->heap.alignment <= arena->memory.ops.alignment;
    return new_step(arena, aligned ? request->size : room_for(arena, request));
}

/* Chooses a step. It may take more than is lacking, as far as addresses go; of holes only what is
 * lacking. */
cuai_step_t cuai_step_choose(const cuarena_t *arena, const cuai_request_t *request, bool *at_all)
{
    cuai_step_t step = least_step(arena, request, at_all);
    cuai_chunk_t chunk = cuai_chunk_for(arena, room_for(arena, request), step.bytes);
    step.least = step.bytes;
    step.next_chunk = arena->next_chunk;
    if (step.kind != CUAI_STEP_EXTEND && step.kind != CUAI_STEP_NEW)
        return step;
    uint64_t most = chunk.bytes;
    if (step.kind == CUAI_STEP_EXTEND) {
        const cuarena_memory_segment_t *segment = &arena->segments.items[step.segment];
        uint64_t left = segment->address_bytes - segment->bytes;
        most = cuai_min(most, cuai_align_down(left, cuai_page_bytes(arena)));
    }
    step.bytes = cuai_max(step.bytes, most);
    step.reserve = cuai_max(step.reserve, step.bytes);
    step.next_chunk = chunk.next;
    return step;
}

/* Fills the lowest hole of the pool. CUAI_STEP_NONE: it has none, or the memory cannot. */
cuai_step_t cuai_step_lowest_hole(const cuarena_t *arena)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[0];
    cuai_step_t step = {.kind = CUAI_STEP_NONE, .next_chunk = arena->next_chunk};
    cuai_hole_t hole;
    if (arena->segments.count == 0 || !cuai_next_hole(arena, segment, 0, NULL, &hole))
        return step;
    step.address = hole.begin;
    if (!hole.at_end) {
        step.kind = CUAI_STEP_FILL;
        step.bytes = cuai_page_multiple(arena, hole.bytes);
    } else if (arena->memory.ops.grow != NULL) {
        step.kind = CUAI_STEP_EXTEND;
        step.bytes = cuai_page_multiple(arena, arena->pool_bytes) - segment->bytes;
    }
    step.least = step.bytes;
    return step;
}
