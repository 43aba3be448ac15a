/* The size of a pool: in place where that can be, else in a new segment. */
#include "arena/pool.h"
#include "arena/alloc.h"
#include "arena/annotate.h"
#include "arena/cache.h"
#include "arena/counts.h"
#include "arena/grow.h"
#include "arena/holes.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/segments.h"
#include "arena/stream_order.h"
#include "arena/unlocked.h"
#include "arena/zero.h"
#include "heap/plan.h"
#include "heap/segments.h"

cuarena_status_t cuai_pool_over_limit(const cuarena_t *arena, uint64_t bytes)
{
    uint64_t limit = arena->limits[CUARENA_LIMIT_RESERVED];
    return cuai_fail_bytes(CUARENA_LIMIT, bytes, limit, arena->reserved, 0, 0,
                           "a pool of %llu bytes exceeds the limit of %llu",
                           (unsigned long long)bytes, (unsigned long long)limit);
}

/* Whether a hole reaches up to the pool's end. */
static bool ends_in_hole(const cuarena_t *arena, const cuarena_memory_segment_t *segment)
{
    uint64_t end = segment->address + arena->pool_bytes;
    cuai_hole_t hole;
    uint64_t from = 0;
    while (cuai_next_hole(arena, segment, from, NULL, &hole)) {
        from = hole.begin + hole.bytes;
        if (from == end)
            return true;
    }
    return false;
}

/* Publishes what the pool did not have of the first segment before. A hole reaches to the end of
 * its page. */
static cuarena_status_t publish_more(cuarena_t *arena, uint64_t bytes, bool from_hole)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[0];
    uint64_t first = from_hole ? cuai_page_multiple(arena, arena->pool_bytes) : arena->pool_bytes;
    uint64_t begin = segment->address + first;
    uint64_t end = segment->address + cuai_min(bytes, segment->bytes);
    return end > begin ? cuai_publish(arena, 0, begin, end - begin, 0) : CUARENA_OK;
}

cuarena_status_t cuai_lengthen_pool(cuarena_t *arena, uint64_t bytes)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->segments.count == 1 && bytes >= arena->pool_bytes);
    cuarena_memory_segment_t segment = arena->segments.items[0];
    uint64_t wanted = cuai_page_multiple(arena, bytes);
    if (wanted > segment.address_bytes || arena->memory.ops.grow == NULL)
        return CUARENA_UNSUPPORTED;
    uint64_t more = wanted > segment.bytes ? wanted - segment.bytes : 0;
    if (more > cuai_affordable(arena))
        return cuai_pool_over_limit(arena, bytes);
    /* What was trimmed from the end stays so until a request needs it. */
    bool trimmed = segment.address + segment.bytes < segment.address + arena->pool_bytes;
    bool from_hole = ends_in_hole(arena, &segment);
    cuarena_status_t status = CUARENA_OK;
    if (!trimmed && more != 0) {
        cuai_unlock(&arena->lock);
        status = cuai_take_segment(arena, wanted, &segment);
        cuai_arena_lock(arena);
    }
    if (status != CUARENA_OK)
        return status;
    if (!trimmed) {
        arena->segments.items[0] = segment;
        cuai_count_reserved(arena, more);
        status = publish_more(arena, bytes, from_hole);
    }
    if (status == CUARENA_OK)
        arena->pool_bytes = bytes;
    return status;
}

/* Takes [begin, end) of the pool, idle ranges and holes between them, out of the heap. */
static cuarena_status_t cut_end(cuarena_t *arena, uint64_t begin, uint64_t end)
{
    CUAI_ASSERT(begin <= end);
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    uint32_t below;
    for (const cuai_segment_t *stretch = cuai_segment_top(heap); stretch != NULL;
         stretch = cuai_segment_numbered(heap, below)) {
        below = stretch->below;
        if (stretch->begin >= end || stretch->end <= begin)
            continue;
        uint64_t from = cuai_max(stretch->begin, begin);
        cuarena_status_t status =
            cuarena_heap_segment_cut(heap, from, cuai_min(stretch->end, end) - from);
        if (status != CUARENA_OK)
            return status;
    }
    return CUARENA_OK;
}

/* Whether nothing but idle ranges is above `address` in the region. */
static bool is_free_above(const cuarena_heap_t *heap, uint64_t address)
{
    cuai_slot_t slot = cuai_record(heap, 0)->prev;
    const cuai_record_t *r = cuai_record(heap, slot);
    while (slot != 0 && r->kind == CUAI_SEGMENT_START && cuai_end(r) > address) {
        slot = r->prev;
        r = cuai_record(heap, slot);
    }
    return slot == 0 || r->kind == CUAI_SENTINEL || cuai_end(r) <= address;
}

/* How many bytes above the first `kept` of the segment are in no hole. A hole that ends at the
 * pool's odd end reaches to the end of the page there. */
static uint64_t backed_above(const cuarena_t *arena, const cuarena_memory_segment_t *segment,
                             uint64_t kept)
{
    if (kept >= segment->bytes)
        return 0;
    uint64_t bytes = segment->bytes - kept;
    CUAI_ASSERT(segment->bytes >= kept);
    uint64_t floor = segment->address + kept;
    cuai_hole_t hole;
    uint64_t from = 0;
    while (cuai_next_hole(arena, segment, from, NULL, &hole) && !hole.at_end) {
        from = hole.begin + hole.bytes;
        uint64_t end = segment->address + cuai_page_multiple(arena, from - segment->address);
        if (end > floor)
            bytes -= end - cuai_max(hole.begin, floor);
    }
    return bytes;
}

cuarena_status_t cuai_shorten_pool(cuarena_t *arena, uint64_t bytes)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->segments.count == 1 && bytes <= arena->pool_bytes);
    cuarena_memory_segment_t segment = arena->segments.items[0];
    uint64_t begin = segment.address + bytes;
    uint64_t end = segment.address + arena->pool_bytes;
    if (!is_free_above(arena->heaps[CUAI_DYNAMIC], begin))
        return cuai_fail(CUARENA_BUSY, "blocks stand above the pool's new size of %llu",
                         (unsigned long long)bytes);
    uint64_t kept = cuai_page_multiple(arena, bytes);
    if (arena->memory.ops.shrink == NULL && kept < segment.bytes)
        return CUARENA_UNSUPPORTED;
    uint64_t backed = backed_above(arena, &segment, kept);
    cuarena_status_t status = cut_end(arena, begin, end);
    if (status != CUARENA_OK)
        return status;
    arena->pool_bytes = bytes;
    if (kept >= segment.bytes)
        return CUARENA_OK;
    cuai_unlock(&arena->lock);
    cuai_mem_shrink(arena, &segment, kept);
    cuai_arena_lock(arena);
    arena->segments.items[0] = segment;
    arena->reserved -= backed;
    return CUARENA_OK;
}

/* ---- Moving all of it -------------------------------------------------- */

/* Publishes the bytes of the new segment where the old one had holes. */
static cuarena_status_t publish_holes(cuarena_t *arena)
{
    const cuarena_memory_segment_t *segment = &arena->segments.items[0];
    cuarena_status_t status = CUARENA_OK;
    cuai_hole_t hole;
    uint64_t from = 0;
    while (status == CUARENA_OK && cuai_next_hole(arena, segment, from, NULL, &hole) &&
           !hole.at_end) {
        status = cuai_publish(arena, 0, hole.begin, hole.bytes, 0);
        from = hole.begin + hole.bytes;
    }
    return status;
}

/* With ZERO_FREE sets the old bytes of what moved to 0 before they go back. No lock. */
static cuarena_status_t zero_old(const cuarena_t *arena, const cuai_batch_t *batch)
{
    cuarena_status_t status = CUARENA_OK;
    if (!cuai_zeroes_returned(arena))
        return status;
    for (size_t i = 0; i < batch->runs_count && status == CUARENA_OK; i++)
        status = cuai_mem_zero(arena, cuai_address(batch->runs[i].from), batch->runs[i].bytes,
                               CUARENA_NO_STREAM);
    return status;
}

/* Gets the new segment and moves everything there. *gone_out: it failed when some of the old
 * contents were gone. No lock. */
static cuarena_status_t fill_other(cuarena_t *arena, uint64_t bytes, cuai_batch_t *batch,
                                   cuarena_memory_segment_t *segment, bool *gone_out)
{
    cuarena_status_t status = cuai_take_segment(arena, bytes, segment);
    if (status != CUARENA_OK)
        return status;
    cuai_batch_shift(batch, segment->address - arena->segments.items[0].address);
    size_t done = 0;
    if (batch->runs_count != 0)
        status = cuai_mem_relocate(arena, batch->runs, batch->runs_count, CUARENA_NO_STREAM, &done);
    bool copied = status == CUARENA_OK;
    if (copied)
        status = zero_old(arena, batch);
    *gone_out = copied && status != CUARENA_OK;
    if (status != CUARENA_OK)
        cuai_mem_give_back(arena, segment);
    return status;
}

static cuarena_status_t reclaim_in(cuarena_t *arena, uint64_t bytes,
                                   const cuarena_memory_segment_t *segment)
{
    uint64_t delta = segment->address - arena->segments.items[0].address;
    cuai_heap_rebase(arena->heaps[CUAI_DYNAMIC], delta);
    if (arena->heaps[CUAI_STABLE] != NULL)
        cuai_heap_rebase(arena->heaps[CUAI_STABLE], delta);
    arena->segments.items[0] = *segment;
    uint64_t old_bytes = arena->pool_bytes;
    arena->pool_bytes = bytes;
    if (bytes < old_bytes) /* nothing lives there; ends need no memory */
        (void)cut_end(arena, segment->address + bytes, segment->address + old_bytes);
    return publish_holes(arena); /* the pool's new end is one of them */
}

static bool is_idle(const cuarena_heap_t *heap)
{
    return heap == NULL || cuai_free_bytes(heap) == heap->freelists[0]->free_bytes;
}

/* Only idle ranges can be held back from a move, and only blocks that nobody else has marked. */
cuarena_status_t cuai_ready_to_move_pool(cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuarena_status_t status = CUARENA_OK;
    cuai_assert_locked(arena);
    do {
        while (arena->moving_blocks != 0)
            cuai_arena_wait(arena);
        cuai_cache_drop(arena);
        if (arena->stream_count != 0)
            status = cuai_reclaim_all(arena, true, NULL);
    } while (status == CUARENA_OK && (arena->moving_blocks != 0 || heap->cached_blocks != 0));
    if (status != CUARENA_OK || (is_idle(heap) && is_idle(arena->heaps[CUAI_STABLE])))
        return status;
    return cuai_fail(CUARENA_BUSY, "bytes were freed on a stream while the pool was to move");
}

static void thaw(const cuarena_t *arena)
{
    cuai_heap_thaw(arena->heaps[CUAI_DYNAMIC]);
    if (arena->heaps[CUAI_STABLE] != NULL)
        cuai_heap_thaw(arena->heaps[CUAI_STABLE]);
}

static cuarena_status_t freeze(const cuarena_t *arena)
{
    cuarena_heap_t *stable = arena->heaps[CUAI_STABLE];
    cuarena_status_t status = cuai_heap_freeze(arena->heaps[CUAI_DYNAMIC]);
    if (status != CUARENA_OK || stable == NULL)
        return status;
    status = cuai_heap_freeze(stable);
    if (status != CUARENA_OK)
        cuai_heap_thaw(arena->heaps[CUAI_DYNAMIC]);
    return status;
}

/* The reserved bytes without those of dedicated blocks. */
static uint64_t reserved_by_pool(const cuarena_t *arena)
{
    const cuarena_heap_t *apart = arena->heaps[CUAI_APART];
    return arena->reserved - (apart == NULL ? 0 : apart->standalone_bytes);
}

cuarena_status_t cuai_move_pool(cuarena_t *arena, uint64_t bytes, cuai_batch_t *batch)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->segments.count == 1);
    uint64_t wanted = cuai_page_multiple(arena, bytes);
    if (wanted > cuai_affordable(arena))
        return cuai_pool_over_limit(arena, bytes + arena->reserved);
    cuarena_status_t status = cuai_batch_all(arena, batch);
    if (status != CUARENA_OK)
        return status;
    status = freeze(arena);
    if (status != CUARENA_OK) {
        cuai_batch_reclaim(arena, batch, CUAI_ITS_OWN);
        return status;
    }
    cuarena_memory_segment_t old = arena->segments.items[0];
    cuarena_memory_segment_t segment = {0};
    uint64_t old_reserved = reserved_by_pool(arena);
    bool gone = false;
    arena->reserving += wanted;
    status = cuai_wait_for_work(arena); /* nobody can queue more that uses the blocks */
    if (status == CUARENA_OK) {
        cuai_unlock(&arena->lock);
        status = fill_other(arena, wanted, batch, &segment, &gone);
        cuai_arena_lock(arena);
    }
    arena->reserving -= wanted;
    thaw(arena);
    if (gone)
        cuai_lose(arena);
    if (status != CUARENA_OK) {
        cuai_batch_reclaim(arena, batch, CUAI_ITS_OWN);
        return status;
    }
    cuai_count_reserved(arena, wanted);
    cuai_batch_count(arena, batch);
    status = reclaim_in(arena, bytes, &segment);
    if (cuai_is_annotated(arena))
        cuai_annotate_moves(arena, batch);
    cuai_batch_reclaim(arena, batch, 0);
    cuai_unlock(&arena->lock);
    cuai_mem_give_back(arena, &old);
    cuai_arena_lock(arena);
    arena->reserved -= old_reserved;
    return status;
}
