/*
 * Reuse: what an arena that grows has already, in place of bytes of the memory.
 *
 * Growth that is not by chunks gives as many idle pages back as it takes, wherever they are, and
 * moves pages that the request's stream freed, so that the arena holds no more than before. It
 * takes more instead
 *
 *   - up to a little above the most that was ever in use, for that costs little memory
 *   - a handle for every few times that it has reused pages, and the more it holds already the
 *     more often. So a program that needs the same pages now here and now there comes to hold both,
 *     and then its calls of the memory end
 */
#include "arena/reuse.h"
#include "arena/counts.h"
#include "arena/remap.h"
#include "arena/trim.h"

/* An arena reuses no pages while it holds at most this share, and so many pages, more than the most
 * that was in use; so many handles where these follow what is reserved, for they are a device's,
 * whose calls take long. */
#define SPARE_SHARE 48
#define SPARE_PAGES 3
#define SPARE_HANDLES 6
/* The share where pages of the request's stream can move, which costs no more than to take some. */
#define SPARE_OF_STREAM 1
/* How often pages are reused, one or several at once, before a handle is taken instead; as often
 * again for each such share of the most in use that is held beyond it. After so many reuses it is a
 * half of that, after twice as many a third, and so on: whatever a loop lacks, it comes to pay. */
#define REUSES_OF_A_HANDLE 8
#define PRICE_SHARE 128
#define REUSES_OF_A_DISCOUNT 4096
/* How often pages are reused for one request, which may fill several holes. */
#define MOST_REUSES 16

/* What a step can be served with instead of bytes of the memory. */
typedef struct reuse {
    bool idle;
    bool own; /* what the request's stream freed */
} reuse_t;

/* How many bytes are held with the step beyond the most that was in use. */
static uint64_t excess_with(const cuarena_t *arena, const cuai_step_t *step)
{
    uint64_t held = arena->heaps[CUAI_DYNAMIC]->capacity + step->bytes;
    return held > arena->most_used ? held - arena->most_used : 0;
}

/* Whether pages were reused so often that the step takes its own instead, which that pays for. */
static bool pays_for(cuarena_t *arena, const cuai_step_t *step)
{
    CUAI_ASSERT(arena->most_used != 0);
    uint64_t price = step->bytes * REUSES_OF_A_HANDLE / cuai_handle_now(arena);
    price *= 1 + excess_with(arena, step) * PRICE_SHARE / arena->most_used;
    price /= 1 + arena->reuses / REUSES_OF_A_DISCOUNT;
    if (arena->reuse_credit < price)
        return false;
    arena->reuse_credit -= price;
    return true;
}

/* Whether idle pages may go for those that the step takes: there are some, the limit may be met
 * then, and the memory can do without them anywhere. */
static bool can_reuse(const cuarena_t *arena, const cuai_step_t *step)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t idle = heap->freelists[0]->free_bytes;
    cuai_slot_t slot;
    return step->kind != CUAI_STEP_NONE && arena->config.reuse == 1 &&
           arena->config.grow == CUARENA_GROW_EXACT && ops->punch != NULL && ops->fill != NULL &&
           step->bytes <= cuai_affordable(arena) + idle &&
           cuai_heap_large_ranges(heap, 0, cuai_page_bytes(arena), &slot, 1) != 0;
}

/* How much more than the most that was in use may be held, with so many handles in it. */
static uint64_t spare_bytes(const cuarena_t *arena, uint64_t handles)
{
    return arena->most_used / SPARE_SHARE + handles * cuai_handle_now(arena);
}

/* Whether pages that the request's stream freed may move to where the step begins. */
static bool can_move(const cuarena_t *arena, const cuai_request_t *request, const cuai_step_t *step)
{
    return (step->kind == CUAI_STEP_FILL || step->kind == CUAI_STEP_EXTEND) &&
           arena->config.reuse == 1 && request->reach == CUAI_REACH_OWN &&
           arena->config.grow == CUARENA_GROW_EXACT && cuai_may_remap(arena, request->stream);
}

/* Pages were reused for a request, one or several at once. */
static void count_reuse(cuarena_t *arena)
{
    arena->reuses++;
    arena->reuse_credit++;
}

/* Moves pages that the request's stream freed to where the best step begins. Drops the lock. */
static bool moves(cuarena_t *arena, const cuai_request_t *request, bool *at_all)
{
    if (!cuai_remap_begin(arena, request->stream))
        return false;
    cuai_step_t step = cuai_step_choose(arena, request, at_all);
    uint64_t moved = 0;
    if (can_move(arena, request, &step))
        moved = cuai_remap(arena, request->stream,
                           &(cuai_remap_to_t){.segment = step.segment,
                                              .begin = step.room.begin,
                                              .end = step.room.end,
                                              .high = step.kind == CUAI_STEP_FILL &&
                                                      step.address != step.room.begin,
                                              .bytes = step.least,
                                              .kept_begin = step.begin,
                                              .kept_end = step.end});
    cuai_remap_end(arena, request->stream);
    if (moved != 0)
        count_reuse(arena);
    return moved != 0;
}

/* Gives idle pages back for what the step will take, but for those that the request is to have with
 * it, and chooses anew. Returns the bytes. Drops the lock. */
static uint64_t give_idle(cuarena_t *arena, const cuai_request_t *request, bool *at_all,
                          cuai_step_t *step)
{
    uint64_t given = 0;
    uint64_t more = can_reuse(arena, step);
    while (more != 0 && step->kind != CUAI_STEP_NONE && given < step->least) {
        more = cuai_trim_beside(arena, step->least - given, step->begin, step->end);
        given += more;
        if (more != 0)
            *step = cuai_step_choose(arena, request, at_all);
    }
    return given;
}

/* Where what went back has changed the choice, the step may lack less than that: it takes as much,
 * as far as there is room above it and the limit allows. Else what is held would shrink, and a loop
 * would pay for the rest again and again. What is filled from the upper end of a hole stays as it
 * is: its lower end would be filled first if the memory had less than that. */
static void take_as_much(const cuarena_t *arena, cuai_step_t *step, uint64_t given)
{
    if (step->kind == CUAI_STEP_FILL && step->address != step->room.begin)
        return;
    uint64_t most = cuai_min(step->room.end - step->room.begin, cuai_affordable(arena));
    uint64_t bytes = cuai_align_down(cuai_min(given, most), cuai_page_bytes(arena));
    step->bytes = cuai_max(step->bytes, bytes);
}

/* Whether a step would take more than what is spare and pages of the request's stream, or idle ones
 * as far as they are spare, can serve for it. */
static bool reuses(cuarena_t *arena, const cuai_request_t *request, const cuai_step_t *step,
                   reuse_t *how)
{
    if (request->growths >= MOST_REUSES || !cuai_would_fit(arena, request))
        return false;
    cuai_raise(&arena->most_used, cuai_heap_bytes(arena->heaps[CUAI_DYNAMIC]) + request->size);
    bool follows = arena->memory.most_handle_bytes != 0;
    uint64_t excess = excess_with(arena, step);
    how->idle = excess > spare_bytes(arena, follows ? SPARE_HANDLES : SPARE_PAGES) &&
                can_reuse(arena, step);
    how->own = excess > spare_bytes(arena, SPARE_OF_STREAM) && can_move(arena, request, step);
    return (how->idle || how->own) && !pays_for(arena, step);
}

/* Chooses a step, and gives idle pages back for what it will take; where these are too few, pages
 * of the request's stream move instead. Only MOST_REUSES times for a request: else it might take
 * and give for ever, since other threads and what was given back may change the choice. Drops the
 * lock. */
cuai_step_t cuai_step_reusing(cuarena_t *arena, const cuai_request_t *request, bool *at_all)
{
    cuai_assert_locked(arena);
    cuai_step_t step = cuai_step_choose(arena, request, at_all);
    reuse_t how;
    if (!reuses(arena, request, &step, &how))
        return step;
    uint64_t given = how.idle ? give_idle(arena, request, at_all, &step) : 0;
    if (given < step.least && how.own) {
        if (moves(arena, request, at_all) || cuai_arena_is_taken(arena))
            return (cuai_step_t){.kind = CUAI_STEP_AGAIN};
        step = cuai_step_choose(arena, request, at_all);
    }
    if (given != 0 || request->growths != 0)
        step.bytes = step.least;
    if (given != 0) {
        take_as_much(arena, &step, given);
        count_reuse(arena);
    }
    if (given > step.bytes) /* what is held shrinks again: what was paid for the rest comes back */
        arena->reuse_credit += (given - step.bytes) * REUSES_OF_A_HANDLE / cuai_handle_now(arena);
    return step;
}

bool cuai_reuse_own(cuarena_t *arena, const cuai_request_t *request)
{
    cuai_assert_locked(arena);
    bool at_all = true;
    if (request->growths >= MOST_REUSES || cuai_arena_is_taken(arena))
        return false;
    cuai_step_t step = cuai_step_choose(arena, request, &at_all);
    return can_move(arena, request, &step) && moves(arena, request, &at_all);
}

void cuai_reuse_trimmed(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    arena->most_used = 0;
    arena->reuses = arena->reuse_credit = 0;
}
