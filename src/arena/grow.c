/*
 * Growth: taking bytes from the memory, one thread at a time.
 *
 * step.c chooses where, reuse.c whether the arena can do with what it has. If the memory does not
 * have a chunk, smaller ones are tried, down to what is lacking.
 */
#include "arena/grow.h"
#include "arena/alloc.h"
#include "arena/chunks.h"
#include "arena/counts.h"
#include "arena/remap.h"
#include "arena/reuse.h"
#include "arena/segments.h"
#include "arena/unlocked.h"
#include "arena/zero.h"
#include "base/log.h"

/* ---- Acting, without the lock ------------------------------------------ */

static void undo(cuarena_t *arena, const cuai_step_t *step, cuarena_memory_segment_t *segment)
{
    if (step->kind == CUAI_STEP_NEW)
        cuai_mem_give_back(arena, segment);
    else if (step->kind == CUAI_STEP_FILL)
        cuai_mem_punch(arena, segment, step->address, step->bytes);
    else if (arena->memory.ops.shrink != NULL)
        cuai_mem_shrink(arena, segment, segment->bytes - step->bytes);
}

static cuarena_status_t try_step(cuarena_t *arena, const cuai_step_t *step,
                                 cuarena_memory_segment_t *segment, uint64_t *address_out)
{
    cuarena_status_t status;
    *address_out = step->address;
    if (step->kind == CUAI_STEP_FILL) {
        status = cuai_mem_fill(arena, segment, step->address, step->bytes);
    } else if (step->kind == CUAI_STEP_EXTEND) {
        *address_out = segment->address + segment->bytes;
        status = cuai_mem_grow(arena, segment, segment->bytes + step->bytes);
    } else {
        status = cuai_mem_get(arena, step->bytes, step->reserve, segment);
        *address_out = segment->address;
    }
    return status;
}

/* Makes the step take less than the chunk that was refused, but no less than what is lacking;
 * false: it cannot. */
static bool back_off(const cuarena_t *arena, cuai_step_t *step, uint64_t *asked)
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
static cuarena_status_t act(cuarena_t *arena, cuai_step_t *step, cuarena_memory_segment_t *segment,
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
    cuai_lock_assert_not_held(&arena->lock);
    uint64_t more = bytes - segment->bytes;
    cuai_step_t step = {.kind = segment->bytes == 0 ? CUAI_STEP_NEW : CUAI_STEP_EXTEND,
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
    if (!cuai_is_pool(arena))
        return bytes;
    uint64_t end = segment->address + arena->pool_bytes;
    return cuai_min(address + bytes, end) - address;
}

static cuarena_status_t commit(cuarena_t *arena, const cuai_step_t *step,
                               const cuarena_memory_segment_t *segment, uint64_t address)
{
    size_t at = step->kind == CUAI_STEP_NEW ? arena->segments.count : step->segment;
    CUAI_ASSERT(at < arena->segments.room);
    cuarena_memory_segment_t before = {0};
    if (step->kind == CUAI_STEP_NEW)
        arena->segments.count++;
    else
        before = arena->segments.items[at];
    arena->segments.items[at] = *segment;
    uint64_t begin = address;
    if (step->kind == CUAI_STEP_EXTEND) /* a pool's odd end may lie below */
        begin = cuai_max(cuai_dynamic_begin(arena, segment), address);
    uint64_t bytes = published_bytes(arena, segment, begin, address + step->bytes - begin);
    CUAI_ASSERT(bytes <= step->bytes);
    cuarena_status_t status = cuai_publish(arena, at, begin, bytes, 0);
    if (status == CUARENA_OK)
        return status;
    if (step->kind == CUAI_STEP_NEW)
        arena->segments.count--;
    else
        arena->segments.items[at] = before;
    return status;
}

static void count(cuarena_t *arena, const cuai_step_t *step)
{
    CUAI_ASSERT(step->kind != CUAI_STEP_NONE);
    cuai_count_reserved(arena, step->bytes);
    arena->next_chunk = step->next_chunk;
    arena->grows++;
    arena->extensions++;
}

/* Whether the segment has too few addresses to become the whole pool. */
static bool is_short(const cuarena_t *arena, const cuai_step_t *step,
                     const cuarena_memory_segment_t *segment)
{
    return step->kind == CUAI_STEP_NEW && cuai_is_pool(arena) &&
           segment->address_bytes < cuai_page_multiple(arena, arena->pool_bytes);
}

/* Takes the bytes of a step: reserved under the lock, got without it, committed or given back under
 * it. BUSY: the pool must be taken whole. Drops the lock. */
static cuarena_status_t take(cuarena_t *arena, cuai_step_t *step)
{
    CUAI_ASSERT(step->kind != CUAI_STEP_NONE && step->bytes != 0 && step->least <= step->bytes);
    CUAI_ASSERT(!arena->growing);
    cuarena_memory_segment_t segment = {0};
    if (step->kind != CUAI_STEP_NEW)
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

static cuarena_status_t try_choice(cuarena_t *arena, const cuai_request_t *request, bool *at_all,
                                   cuai_step_t *step)
{
    *step = cuai_step_reusing(arena, request, at_all);
    if (step->kind == CUAI_STEP_NONE)
        return CUARENA_UNSUPPORTED;
    if (step->kind == CUAI_STEP_AGAIN)
        return CUARENA_OK;
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
    cuai_aliases_before_growth(arena);
    bool at_all = false;
    cuai_step_t step;
    cuarena_status_t status = try_choice(arena, request, &at_all, &step);
    bool lacks = status == CUARENA_LIMIT || status == CUARENA_OUT_OF_MEMORY;
    if (lacks && !at_all && !cuai_arena_is_taken(arena)) {
        at_all = true; /* a hole that was passed over may take less */
        status = try_choice(arena, request, &at_all, &step);
    }
    if (status == CUARENA_OK)
        *taken_out += step.bytes;
    lacks = status == CUARENA_LIMIT || status == CUARENA_OUT_OF_MEMORY;
    return lacks && cuai_reuse_own(arena, request) ? CUARENA_OK : status;
}

/* ---- All that a pool gave back ----------------------------------------- */

uint64_t cuai_pool_untaken(const cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    return cuai_is_pool(arena) ? arena->pool_bytes - arena->stable_bytes - heap->capacity : 0;
}

cuarena_status_t cuai_fill_pool(cuarena_t *arena, uint64_t *taken_out)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = cuai_check_reserved_limit(arena, cuai_pool_untaken(arena));
    while (status == CUARENA_OK && cuai_pool_untaken(arena) != 0) {
        cuai_step_t step = cuai_step_lowest_hole(arena);
        if (step.kind == CUAI_STEP_NONE)
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

/* The first chunk that comes with the stable region, as far as the limit allows. Where take_first
 * has no use it may be passed over, so it can be set there too. */
static uint64_t first_chunk(const cuarena_t *arena)
{
    bool has_use = !cuai_is_pool(arena) && arena->config.segments == CUARENA_SEGMENTS_SHARED;
    if (!has_use || arena->config.take_first == 0)
        return 0;
    uint64_t left = arena->limits[CUARENA_LIMIT_RESERVED] - arena->stable_bytes;
    return cuai_min(cuai_page_multiple(arena, arena->next_chunk),
                    cuai_align_down(left, cuai_page_bytes(arena)));
}

cuarena_status_t cuai_grow_first(cuarena_t *arena)
{
    CUAI_ASSERT(arena->segments.count == 0 && arena->reserved == 0);
    cuai_chunks_start(arena);
    uint64_t chunk = first_chunk(arena);
    uint64_t bytes = cuai_is_pool(arena) ? arena->pool_bytes : arena->stable_bytes + chunk;
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
