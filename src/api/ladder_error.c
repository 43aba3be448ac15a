/*
 * The error of a request that is refused: its status, its figures, and what was tried.
 */
#include "api/ladder.h"
#include "arena/counts.h"
#include "arena/grow.h"

/* FRAGMENTED only where compaction could make room, which it never does in the stable region. A
 * limit or the memory is named where it, and not the blocks' places, stands in the way. */
static cuarena_status_t final_status(const cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    if (ladder->request->dedicated || ladder->refusal == CUARENA_LIMIT)
        return ladder->refusal;
    if (cuai_ladder_is_stable(ladder))
        return CUARENA_OUT_OF_MEMORY;
    if (cuai_ladder_is_apart(ladder) && ladder->growth != CUARENA_LOST)
        return CUARENA_FRAGMENTED;
    if (ladder->growth == CUARENA_LIMIT || cuai_ladder_is_final(ladder->growth))
        return ladder->growth;
    return ladder->refusal == CUARENA_FRAGMENTED ? CUARENA_OUT_OF_MEMORY : ladder->refusal;
}

static uint64_t met_limit(const cuarena_t *arena, cuarena_status_t status)
{
    CUAI_ASSERT(status != CUARENA_OK);
    if (status != CUARENA_LIMIT)
        return cuai_min(arena->pool_bytes, arena->limits[CUARENA_LIMIT_RESERVED]);
    return cuai_min(arena->limits[CUARENA_LIMIT_RESERVED], arena->limits[CUARENA_LIMIT_LIVE]);
}

/* Whether the range is there by now: host memory was short, or a handler did not tell of it. */
static bool has_range(const cuai_ladder_t *ladder, cuarena_status_t status, uint64_t largest)
{
    return status == CUARENA_OUT_OF_MEMORY && ladder->refusal != CUARENA_FRAGMENTED &&
           largest >= ladder->request->size;
}

/* Adds " (68352 with its guards) aligned to 4096", where the arena has guards, and where the
 * request asks for more than the arena's alignment. */
static void add_needs(const cuai_ladder_t *ladder)
{
    uint64_t alignment = ladder->request->heap.alignment;
    if (ladder->call->arena->config.guard_bytes != 0)
        cuai_error_add(" (%llu with its guards)", (unsigned long long)ladder->request->size);
    if (alignment > cuai_granule(ladder->call->arena))
        cuai_error_add(" aligned to %llu", (unsigned long long)alignment);
}

/* Adds " while ... is the limit", where a limit stands in the way. */
static void add_limit(const cuai_ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint64_t limit = arena->limits[CUARENA_LIMIT_LIVE];
    const char *what = "live bytes";
    if (ladder->refusal != CUARENA_LIMIT) {
        limit = arena->limits[CUARENA_LIMIT_RESERVED];
        what = "reserved bytes";
    } else if (cuai_heap_blocks(heap) >= heap->max_blocks) {
        limit = heap->max_blocks;
        what = "live blocks";
    }
    cuai_error_add(" while %llu %s are the limit", (unsigned long long)limit, what);
}

/* Adds ", reclaiming, growth" to the error: the steps that were tried, and why compaction brought
 * nothing. `before` stands before the first. */
static void add_steps(const cuai_ladder_t *ladder, const char *before)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    for (int32_t step = 0; step < CUARENA_STEP_COUNT; step++) {
        if (!(ladder->tried & cuai_step_bit(step)))
            continue;
        cuai_error_add("%s%s", before, cuai_step_name(step));
        before = ", ";
    }
    if (ladder->no_compaction != NULL)
        cuai_error_add(" (%s)", ladder->no_compaction);
    if (ladder->handler_calls == CUAI_MOST_HANDLER_CALLS)
        cuai_error_add(" (%d handler calls are the most)", CUAI_MOST_HANDLER_CALLS);
}

/* Adds "; memory 'device' answered 2" where the memory had no more; its own words where it has no
 * number, or where they name a limit, such as that of addresses, which the number does not tell. */
static void add_cause(const cuai_ladder_t *ladder)
{
    const cuarena_error_info_t *words = &ladder->words->error;
    char room[CUAI_SHOWN + sizeof("...")];
    if (ladder->growth != CUARENA_OUT_OF_MEMORY)
        return;
    if (words->driver_code != 0)
        cuai_error_add("; memory '%s' answered %d",
                       cuai_shown(ladder->call->arena->memory.ops.name, 60, room),
                       (int)words->driver_code);
    else
        cuai_error_add("; %s", cuai_shown(words->message, 60, room));
    if (words->driver_code != 0 && words->limit_bytes != 0)
        cuai_error_add(": %s", words->message);
    cuai_error_code(words->driver_code);
}

/* What is free is what the request could use. */
static void explain_figures(const cuai_ladder_t *ladder, cuarena_status_t status)
{
    CUAI_ASSERT(status != CUARENA_OK);
    const cuarena_t *arena = ladder->call->arena;
    int region = cuai_ladder_is_stable(ladder) ? CUAI_STABLE : CUAI_DYNAMIC;
    uint64_t asked = ladder->request->heap.size;
    uint32_t own = cuai_ladder_stream(ladder);
    uint64_t largest;
    uint64_t free_bytes = cuai_usable_bytes(arena, region, own, &largest);
    if (cuai_ladder_may_wait(ladder)) {
        free_bytes = cuai_ladder_free(ladder);
        largest = cuai_freelists_largest(arena, region);
    }
    if (region == CUAI_DYNAMIC)
        free_bytes += cuai_pool_untaken(arena);
    cuai_fail_bytes(status, asked, met_limit(arena, status), arena->reserved, free_bytes, largest,
                    "no room for %llu bytes", (unsigned long long)asked);
    add_needs(ladder);
    cuai_error_add(" in the %s region", region == CUAI_STABLE ? "stable" : "dynamic");
    if (has_range(ladder, status, largest))
        cuai_error_add(", but its room came too late, or no host memory");
    else if (status == CUARENA_LIMIT)
        add_limit(ladder);
    cuai_error_add(": %llu free, the largest range has %llu, %llu reserved",
                   (unsigned long long)free_bytes, (unsigned long long)largest,
                   (unsigned long long)arena->reserved);
    add_cause(ladder);
    cuai_error_add("; tried: reserved bytes");
    add_steps(ladder, ", ");
}

cuarena_status_t cuai_ladder_refuse(const cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->refusal != CUARENA_OK);
    cuarena_status_t status = final_status(ladder);
    if (!ladder->request->dedicated && !cuai_ladder_is_final(status)) {
        explain_figures(ladder, status);
        return status;
    }
    cuai_error_restore(ladder->words);
    cuai_error_asked(ladder->request->heap.size);
    add_steps(ladder, "; tried: ");
    return status;
}
