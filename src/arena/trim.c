/*
 * Trimming: giving whole grains of settled ranges back to the memory, from the
 * highest address down.
 *
 * The bytes leave the heap under the lock, so nobody is handed them; then the
 * memory takes them without it. Meanwhile the arena counts as growing: the
 * segments are this thread's.
 */
#include "arena/arena.h"

/* How many cuts are made before the lock is let go of. */
#define CUTS_PER_BATCH 64

typedef struct cut {
    enum {
        CUT_SHRINK,
        CUT_PUNCH,
        CUT_WHOLE
    } kind;
    size_t segment;
    uint64_t address;
    uint64_t bytes; /* as the memory counts them */
} cut_t;

/* ---- Which bytes ------------------------------------------------------- */

static size_t segment_around(const cuarena_t *arena, uint64_t address)
{
    size_t at = 0;
    while (at < arena->segments.count) {
        const cuarena_memory_segment_t *s = &arena->segments.items[at];
        if (s->address <= address && address - s->address < s->bytes)
            break;
        at++;
    }
    return at;
}

static uint64_t min_grains(const cuarena_t *arena, uint64_t bytes,
                           uint64_t most)
{
    uint64_t wanted = bytes;
    if (most < bytes)
        wanted = cuai_align_up(most, arena->memory.ops.grain_bytes);
    return cuai_min(bytes, wanted);
}

/* Above this a pool has no use for the segment's last grain. */
static uint64_t pool_end(const cuarena_t *arena,
                         const cuarena_memory_segment_t *segment)
{
    return arena->config.grow == CUARENA_GROW_NONE
               ? segment->address + arena->pool_bytes
               : UINT64_MAX;
}

/* What of [begin, end), a settled range, can go; at most about `most` bytes.
 * A pool's odd end goes with the grain that it is in. */
static bool choose_cut(const cuarena_t *arena, uint64_t begin, uint64_t end,
                       uint64_t most, cut_t *cut)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    size_t at = segment_around(arena, begin);
    const cuarena_memory_segment_t *s = &arena->segments.items[at];
    uint64_t taken_end = s->address + s->bytes;
    bool to_end = end == cuai_min(taken_end, pool_end(arena, s));
    uint64_t grain = ops->grain_bytes;
    uint64_t first = s->address + cuai_align_up(begin - s->address, grain);
    uint64_t last = to_end
                        ? taken_end
                        : s->address + cuai_align_down(end - s->address, grain);
    cut->segment = at;
    if (begin == s->address && to_end && ops->shrink == NULL) {
        *cut = (cut_t){CUT_WHOLE, at, begin, s->bytes};
        return true;
    }
    if (first >= last || (to_end ? ops->shrink == NULL : ops->punch == NULL))
        return false;
    cut->kind = to_end ? CUT_SHRINK : CUT_PUNCH;
    cut->bytes = min_grains(arena, last - first, most);
    cut->address = last - cut->bytes;
    return cut->bytes != 0;
}

/* Takes the cut out of the heap, where it ends at `end` at the latest. */
static bool cut_heap(cuarena_t *arena, cuai_slot_t slot, const cut_t *cut,
                     uint64_t end)
{
    uint64_t stop = cuai_min(cut->address + cut->bytes, end);
    return cuai_segment_cut_range(arena->heaps[CUAI_DYNAMIC], slot,
                                  cut->address,
                                  stop - cut->address) == CUARENA_OK;
}

static bool owns_settled(const cuai_record_t *r)
{
    return r->key != 0 && cuai_range_lane(r) == 0;
}

/* Fills `cuts` from the top of the heap down, until `most` bytes are cut. */
static size_t collect(cuarena_t *arena, cut_t *cuts, uint64_t most)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    size_t count = 0;
    cuai_slot_t slot = cuai_record(heap, 0)->prev;
    while (slot != 0 && count < CUTS_PER_BATCH && most != 0) {
        const cuai_record_t *r = cuai_record(heap, slot);
        cuai_slot_t below = r->prev;
        cut_t *cut = &cuts[count];
        uint64_t begin = cuai_end(r);
        uint64_t end = begin + cuai_range(r);
        if (owns_settled(r) && choose_cut(arena, begin, end, most, cut) &&
            cut_heap(arena, slot, cut, end)) {
            most -= cuai_min(most, cut->bytes);
            count++;
        }
        slot = below;
    }
    return count;
}

/* ---- Giving back ------------------------------------------------------- */

static void execute(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                    const cut_t *cut)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    void *user = arena->memory.user;
    if (cut->kind == CUT_SHRINK)
        ops->shrink(user, segment, cut->address - segment->address);
    else if (cut->kind == CUT_PUNCH)
        ops->punch(user, segment, cut->address - segment->address, cut->bytes);
    else
        ops->give_back(user, segment);
}

/* Segments that were given back whole leave the list. */
static void drop_given_back(cuarena_t *arena, const cut_t *cuts, size_t count)
{
    cuai_segments_t *segments = &arena->segments;
    for (size_t i = 0; i < count; i++)
        if (cuts[i].kind == CUT_WHOLE)
            segments->items[cuts[i].segment].bytes = 0;
    size_t kept = 0;
    for (size_t i = 0; i < segments->count; i++)
        if (segments->items[i].bytes != 0 || arena->memory.ops.shrink != NULL)
            segments->items[kept++] = segments->items[i];
    segments->count = kept;
}

static uint64_t give_back(cuarena_t *arena, const cut_t *cuts, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        cuarena_memory_segment_t copy = arena->segments.items[cuts[i].segment];
        cuai_unlock(&arena->lock);
        execute(arena, &copy, &cuts[i]);
        cuai_lock(&arena->lock);
        arena->segments.items[cuts[i].segment] = copy;
        arena->held -= cuts[i].bytes;
        cuai_count_shrinkage(arena);
        bytes += cuts[i].bytes;
    }
    drop_given_back(arena, cuts, count);
    return bytes;
}

uint64_t cuai_trim(cuarena_t *arena, uint64_t keep_bytes)
{
    if (arena->config.memory == CUARENA_MEMORY_BYTES)
        return 0; /* the caller's own stay */
    while (cuai_arena_is_taken(arena))
        cuai_arena_wait(arena);
    arena->growing = true;
    uint64_t given = 0;
    size_t count;
    do {
        cut_t cuts[CUTS_PER_BATCH];
        uint64_t most = arena->held > keep_bytes ? arena->held - keep_bytes : 0;
        count = collect(arena, cuts, most);
        given += give_back(arena, cuts, count);
    } while (count == CUTS_PER_BATCH);
    arena->growing = false;
    cuai_event_wake(&arena->changed);
    if (given != 0)
        arena->trims++;
    return given;
}
