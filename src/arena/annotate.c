#include "arena/annotate.h"

#include "arena/capture.h"
#include "arena/tags.h"
#include "arena/watch.h"

/* ---- Life -------------------------------------------------------------- */

/* Host memory is told of only if it is asked for: a tool that looks at devices may want them to be
 * initialized first. */
static bool is_wanted(const cuarena_config_t *config)
{
    bool device = config->memory == CUARENA_MEMORY_DEVICE ||
                  config->memory == CUARENA_MEMORY_MANAGED ||
                  config->memory == CUARENA_MEMORY_PINNED;
    return config->nvtx == CUARENA_NVTX_ON || (config->nvtx == CUARENA_NVTX_AUTO && device);
}

/* compute-sanitizer refuses to hear of memory that consists of handles, or that comes from a
 * driver's pool, of which it knows each piece. */
static bool may_have_regions(const cuarena_t *arena)
{
    int32_t backing = arena->memory.facts.backing;
    return arena->config.nvtx == CUARENA_NVTX_ON || arena->config.memory != CUARENA_MEMORY_DEVICE ||
           backing == CUARENA_BACKING_MALLOC;
}

void cuai_annotate_begin(cuarena_t *arena)
{
    CUAI_ASSERT(arena->reserved == 0 && arena->memory.counted != NULL);
    if (!is_wanted(&arena->config))
        return;
    cuai_tool_load();
    arena->ranges = cuai_tool_takes_ranges();
    arena->memory.counted->ranges = arena->ranges;
    if (!cuai_tool_takes_regions() || !may_have_regions(arena))
        return;
    cuai_regions_begin(&arena->regions, arena->label, true);
    arena->memory.counted->regions = &arena->regions;
    cuai_slow_set(arena, CUAI_SLOW_NVTX, true);
}

void cuai_annotate_forget(cuarena_t *arena)
{
    arena->ranges = false;
    arena->memory.counted->ranges = false;
    if (!cuai_is_annotated(arena))
        return;
    cuai_slow_set(arena, CUAI_SLOW_NVTX, false);
    cuai_regions_forget(&arena->regions);
}

/* ---- Blocks ------------------------------------------------------------ */

static bool is_private(const cuarena_t *arena, const cuai_record_t *r)
{
    return arena->captures.count != 0 && cuai_capture_around(arena, r->offset) != NULL;
}

static void begin(cuarena_t *arena, const cuai_record_t *r, bool private)
{
    uint64_t address = cuai_user_address(arena, r);
    cuarena_tag_t tag = cuai_tag_of(r);
    const char *name = tag != 0 && tag < arena->tag_count ? arena->tags[tag].name : NULL;
    if (r->size == 0 || (r->flags & CUAI_BLOCK_ADOPTED))
        return;
    if (private)
        cuai_regions_join(&arena->regions, address, cuai_requested(r), name);
    else
        cuai_regions_add(&arena->regions, address, cuai_requested(r), name);
}

/* Each launch of a graph uses what its session freed, until the session is released. */
void cuai_annotate_block(cuarena_t *arena, cuai_block_ref_t ref, int32_t kind)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    if (kind == CUARENA_EVENT_ALLOC)
        begin(arena, r, is_private(arena, r));
    else if (kind == CUARENA_EVENT_FREE && r->size != 0 && !is_private(arena, r))
        cuai_regions_drop(&arena->regions, cuai_user_address(arena, r));
}

/* A private block may share its region with others. */
void cuai_annotate_size(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->size != 0);
    if (is_private(arena, r))
        begin(arena, r, true);
    else
        cuai_regions_resize(&arena->regions, cuai_user_address(arena, r), cuai_requested(r));
}

/* A block that was freed on its way has no region any more, and the new place of a resize none yet.
 */
void cuai_annotate_moves(cuarena_t *arena, const cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    for (size_t i = 0; i < batch->count; i++) {
        const cuai_record_t *r = cuai_block_record(cuai_find_any(arena, batch->list[i].block));
        cuai_regions_drop(&arena->regions,
                          cuai_address(batch->list[i].from) + cuai_front_of(arena, r));
    }
    for (size_t i = 0; i < batch->count; i++) {
        const cuai_record_t *r = cuai_block_record(cuai_find_any(arena, batch->list[i].block));
        if (cuai_is_named(r))
            begin(arena, r, false);
    }
}

/* ---- Capture sessions -------------------------------------------------- */

/* A block may lie in several stretches of its session. */
void cuai_annotate_released(cuarena_t *arena, uint64_t begin_address, uint64_t end)
{
    cuai_assert_locked(arena);
    uint64_t cursor = 0;
    cuai_block_ref_t ref;
    cuai_regions_drop_within(&arena->regions, begin_address, end - begin_address);
    while (cuai_find_next(arena, &cursor, &ref)) {
        const cuai_record_t *r = cuai_block_record(ref);
        if (r->offset < end && r->offset + r->size > begin_address)
            begin(arena, r, false);
    }
}
