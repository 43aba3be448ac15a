/*
 * The cache of an arena: which blocks are kept when they are freed, who gets them, and when they
 * end.
 *
 * A cached block is free bytes that keep their shape. Its owner is the stream on which it was
 * freed, and takes the place of the free list. Its stamp takes the place of the free list's event:
 * an event of that stream with a higher serial was recorded after the free. When the block ends its
 * bytes join a free list of that stream, for they were freed before that event.
 */
#include "arena/cache.h"
#include "arena/alloc.h"
#include "arena/counts.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/streams.h"
#include "arena/trim.h"
#include "base/frame.h"
#include "heap/cached.h"
#include "heap/segments.h"

/* How many of the same capacity are looked at for one that is ready. */
#define MOST_EQUALS 8
/* How many others a request waits for before it goes without. */
#define MOST_WAITS 4

static cuarena_heap_t *heap_of(const cuarena_t *arena)
{
    return arena->heaps[CUAI_DYNAMIC];
}

/* ---- Putting ----------------------------------------------------------- */

/* Whether the block is neither used by other streams, nor stable, exported or the like, nor pinned
 * but for the pin that a pointer is born with. */
static bool is_ordinary(const cuai_record_t *r)
{
    bool born = r->flags & CUAI_BLOCK_BORN_PIN;
    return r->kind == CUAI_BLOCK && !r->fixed && !r->moving &&
           (r->flags & ~CUAI_POINTER_FLAGS) == 0 && r->pins == born;
}

bool cuai_may_cache(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    const cuai_record_t *r = cuai_block_record(ref);
    return cuai_caches(arena) && ref.region == CUAI_DYNAMIC && is_ordinary(r) &&
           cuai_can_cache(r) && !cuai_is_lost(arena) && arena->config.zero != CUARENA_ZERO_FREE &&
           !cuai_is_captured(arena, stream) && cuai_cache_has_room(arena, r->size);
}

void cuai_arena_cache_put(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(ref.region == CUAI_DYNAMIC && is_ordinary(cuai_block_record(ref)));
    cuai_count_out(arena, cuai_block_record(ref));
    cuai_stream_t *s = stream == 0 ? NULL : cuai_stream(arena, stream);
    uint64_t stamp = arena->event_serial;
    if (s != NULL) /* what an eager stream recorded for this free has a higher serial */
        stamp = cuai_min(stamp, s->behind_open - 1);
    cuai_heap_cache_put(ref.heap, ref.slot, stream, stamp);
    cuai_raise(&arena->cache.peak_bytes, ref.heap->cached_bytes);
    if (s == NULL)
        return;
    s->cached++;
    CUAI_ASSERT(s->cached_last <= stamp);
    s->cached_last = stamp;
    if (s->behind_open == 0)
        cuai_stream_want_event(arena, s);
}

/* ---- Getting ----------------------------------------------------------- */

bool cuai_cache_is_for(const cuarena_t *arena, const cuai_request_t *request)
{
    return cuai_caches(arena) && request->size != 0 && !request->dedicated &&
           request->region == CUAI_DYNAMIC && !cuai_is_captured(arena, request->stream);
}

static bool is_aligned(const cuai_record_t *r, const cuai_request_t *request)
{
    uint64_t alignment = cuai_max(request->heap.alignment, 1);
    return (r->offset & (alignment - 1)) == 0;
}

/* The first block of the least capacity that fits, if it is ready; 0: none is. Then *waits_for is
 * one of that capacity which can be waited for, or 0. */
static cuai_slot_t find_ready(const cuarena_t *arena, const cuai_request_t *request,
                              cuai_slot_t *waits_for)
{
    const cuarena_heap_t *heap = heap_of(arena);
    cuai_slot_t first = cuai_cache_find(heap->cache, heap->records, request->size);
    cuai_slot_t slot = first;
    *waits_for = 0;
    if (first == 0 || !cuai_cached_fits(arena, cuai_record(heap, first)->size, request->size))
        return 0;
    for (int i = 0; i < MOST_EQUALS; i++) {
        const cuai_record_t *r = cuai_record(heap, slot);
        bool fits = is_aligned(r, request);
        if (fits && cuai_cached_is_ready(arena, r, request->stream))
            return slot;
        if (fits && *waits_for == 0)
            *waits_for = slot;
        slot = cuai_cache_equal(heap->cache, slot);
        if (slot == first)
            break;
    }
    return 0;
}

/* The block leaves the cache: its stream is not kept for it any more. */
static void forget_owner(const cuarena_t *arena, const cuai_record_t *r)
{
    CUAI_ASSERT(r->kind == CUAI_CACHED);
    CUAI_ASSERT(r->owner == 0 || cuai_stream(arena, r->owner)->cached != 0);
    if (r->owner != 0)
        cuai_stream(arena, r->owner)->cached--;
}

/* Makes a cached block the request's. */
static void alloc_cached(cuarena_t *arena, const cuai_request_t *request, cuai_slot_t slot,
                         cuai_block_ref_t *block_out)
{
    cuarena_heap_t *heap = heap_of(arena);
    cuai_record_t *r = cuai_record(heap, slot);
    const cuarena_heap_request_t *asked = &request->heap;
    cuai_prepare_counts(arena, request, CUAI_DYNAMIC);
    bool stolen = r->owner != 0 && r->owner != request->stream &&
                  cuai_stream(arena, r->owner)->timeline.done <= cuai_stamp(r);
    arena->steals += stolen;
    if (stolen)
        cuai_stream_want_event(arena, cuai_stream(arena, request->stream));
    forget_owner(arena, r);
    uint64_t alignment = cuai_max(asked->alignment, cuai_granule(arena));
    /* The guard in front is as long as the alignment: what the request's size has room for. */
    if (arena->config.guard_bytes != 0 || alignment >> r->align_log2 > 1)
        r->align_log2 = cuai_ctz(alignment) & 0x7f;
    cuai_heap_cache_get(heap, slot, asked->size, asked->tag,
                        CUAI_ATTRIBUTES(asked->pins, CUAI_BLOCK, asked->flags) |
                            CUAI_OWNER_ATTRIBUTES((uint64_t)asked->owner));
    *block_out = (cuai_block_ref_t){heap, slot, CUAI_DYNAMIC};
    cuai_count_in(arena, r);
    arena->cache.hits++;
}

/* As the option `steal` says, the stream waits for the block, or the block's stream is asked. */
static bool await(cuarena_t *arena, const cuai_request_t *request, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(heap_of(arena), slot);
    if (arena->config.steal == CUARENA_STEAL_NEVER || cuai_is_lost(arena))
        return false;
    uint32_t number = cuai_steal_waits_first(arena) ? request->stream : 0;
    return cuai_stream_await(arena, number, r->owner, cuai_stamp(r)) == CUARENA_OK;
}

static bool may_live(const cuarena_t *arena, const cuai_request_t *request, cuai_slot_t slot)
{
    uint64_t size = cuai_record(heap_of(arena), slot)->size;
    return cuai_check_live(arena, size, request->credit) == CUARENA_OK;
}

bool cuai_arena_cache_get(cuarena_t *arena, const cuai_request_t *request,
                          cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(cuai_cache_is_for(arena, request));
    cuai_slot_t slot = 0;
    cuai_slot_t waits_for = 0;
    for (int i = 0; i <= MOST_WAITS && slot == 0; i++) {
        slot = find_ready(arena, request, &waits_for);
        if (slot == 0 && (waits_for == 0 || !await(arena, request, waits_for)))
            break;
    }
    if (slot == 0 || !may_live(arena, request, slot)) {
        arena->cache.misses++;
        return false;
    }
    alloc_cached(arena, request, slot, block_out);
    return true;
}

/* ---- Ending ------------------------------------------------------------ */

/* Whether whole pages can go back now. A free waits for nobody, not even for a thread that asks the
 * memory for bytes. */
static bool may_return(const cuarena_t *arena)
{
    return arena->config.keep != CUARENA_KEEP_ALL && !cuai_is_pool(arena) &&
           arena->config.memory != CUARENA_MEMORY_BYTES && !cuai_is_lost(arena) &&
           !cuai_arena_is_taken(arena) &&
           !cuai_frame_within(CUAI_FRAME_MEMORY, arena->memory.counted);
}

/* The free list for bytes that were freed before the event that comes after their stamp. */
static uint32_t freelist_behind(const cuarena_t *arena, const cuai_record_t *r)
{
    CUAI_ASSERT(r->kind == CUAI_CACHED);
    const cuai_stream_t *s = r->owner == 0 ? NULL : cuai_stream(arena, r->owner);
    if (s == NULL || s->timeline.done > cuai_stamp(r))
        return 0;
    if (s->behind_closed > cuai_stamp(r))
        return s->freelists[!s->turn][CUAI_DYNAMIC];
    return cuai_freelist_for_free(arena, CUAI_DYNAMIC, r->owner);
}

/* Ends a cached block; returns the record whose range has its bytes then. */
static cuai_slot_t evict(cuarena_t *arena, cuai_slot_t slot)
{
    CUAI_ASSERT(slot != 0 && cuai_record(heap_of(arena), slot)->kind == CUAI_CACHED);
    cuarena_heap_t *heap = heap_of(arena);
    const cuai_record_t *r = cuai_record(heap, slot);
    uint32_t freelist = freelist_behind(arena, r);
    cuai_slot_t heir = cuai_heap_heir(heap, slot, freelist);
    forget_owner(arena, r);
    cuai_heap_evict(heap, slot, freelist);
    arena->cache.evicted++;
    return heir;
}

/* Ends cached blocks, one batch at most, until `bytes` are gone; returns how many. Drops the lock.
 * */
static uint64_t evict_batch(cuarena_t *arena, uint64_t bytes, uint64_t *gone_out, uint64_t *given)
{
    cuai_assert_locked(arena);
    cuarena_heap_t *heap = heap_of(arena);
    bool returns = may_return(arena);
    uint64_t before = heap->cached_bytes;
    uint64_t blocks = 0;
    cuai_cuts_t cuts;
    if (returns)
        cuai_cuts_begin(arena, &cuts);
    for (; blocks < CUAI_CUTS_PER_BATCH && heap->cached_blocks != 0 &&
           before - heap->cached_bytes < bytes;
         blocks++) {
        cuai_slot_t heir = evict(arena, cuai_cache_oldest(heap->cache));
        if (returns)
            cuai_cuts_take(arena, &cuts, heir, UINT64_MAX);
    }
    *gone_out = before - heap->cached_bytes;
    arena->unreturned = arena->unreturned || !returns;
    if (!returns)
        return blocks;
    uint64_t back = cuai_cuts_give(arena, &cuts);
    cuai_cuts_end(arena);
    arena->trims += back != 0;
    if (given != NULL)
        *given += back;
    return blocks;
}

uint64_t cuai_cache_evict(cuarena_t *arena, uint64_t bytes, uint64_t *given)
{
    cuai_assert_locked(arena);
    const cuarena_heap_t *heap = heap_of(arena);
    uint64_t blocks = 0;
    uint64_t gone = 0;
    while (bytes != 0 && heap->cached_blocks != 0) {
        blocks += evict_batch(arena, bytes, &gone, given);
        bytes -= cuai_min(bytes, gone);
    }
    return blocks;
}

uint64_t cuai_cache_release(cuarena_t *arena, uint64_t bytes, uint64_t *given)
{
    cuai_assert_locked(arena);
    uint64_t cached = heap_of(arena)->cached_bytes;
    bool all = bytes >= cached - cached / 10; /* of whole granules */
    return cuai_cache_evict(arena, all ? UINT64_MAX : bytes, given);
}

void cuai_cache_drop(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    const cuarena_heap_t *heap = heap_of(arena);
    arena->unreturned = arena->unreturned || heap->cached_blocks != 0;
    while (heap->cached_blocks != 0)
        (void)evict(arena, cuai_cache_oldest(heap->cache));
}

/* ---- Limits ------------------------------------------------------------ */

static bool enforces(const cuarena_t *arena)
{
    return arena->config.soft_limit_rule == CUARENA_SOFT_ENFORCE;
}

void cuai_cache_before_miss(cuarena_t *arena, uint64_t size, uint64_t *given)
{
    cuai_assert_locked(arena);
    const cuarena_heap_t *heap = heap_of(arena);
    uint64_t limit = arena->limits[CUARENA_LIMIT_SOFT];
    uint64_t sum = cuai_live_bytes(arena) + heap->cached_bytes + size;
    if (enforces(arena) && sum > limit)
        cuai_cache_release(arena, sum - limit, given);
}

/* How much goes as a reserve: what the memory has beyond the soft limit. */
static uint64_t reserve_of(const cuarena_t *arena)
{
    uint64_t limit = arena->limits[CUARENA_LIMIT_SOFT];
    CUAI_ASSERT(cuai_max(arena->memory_bytes, arena->reserved) >= limit);
    return cuai_max(arena->memory_bytes, arena->reserved) - limit;
}

void cuai_cache_after(cuarena_t *arena, bool missed, uint64_t *given)
{
    cuai_assert_locked(arena);
    const cuarena_heap_t *heap = heap_of(arena);
    if (missed && enforces(arena) && arena->reserved > arena->limits[CUARENA_LIMIT_SOFT])
        cuai_cache_release(arena, reserve_of(arena), given);
    uint64_t limit = arena->limits[CUARENA_LIMIT_CACHED];
    if (heap->cached_bytes > limit)
        cuai_cache_release(arena, heap->cached_bytes - limit, given);
}

/* ---- What is not kept -------------------------------------------------- */

/* Where the free would have to take host memory, or to wait, its bytes go back with the next
 * request that the cache cannot satisfy. */
void cuai_end_unkept(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(!r->moving);
    bool returns = ref.region == CUAI_DYNAMIC && !r->fixed && !cuai_cache_spares(arena, r->size) &&
                   may_return(arena) && cuai_segment_is_ready(ref.heap);
    uint32_t freelist =
        r->kind == CUAI_BLOCK && returns ? cuai_freelist_for_free(arena, CUAI_DYNAMIC, stream) : 1;
    if (freelist != 0) {
        cuai_end_block(arena, ref, stream);
        return;
    }
    bool was = arena->unreturned;
    cuai_slot_t heir = cuai_heap_heir(ref.heap, ref.slot, freelist);
    cuai_cuts_t cuts;
    cuai_cuts_begin(arena, &cuts);
    cuai_end_block(arena, ref, stream);
    cuai_cuts_take(arena, &cuts, heir, UINT64_MAX);
    arena->unreturned = was;
    arena->trims += cuai_cuts_give(arena, &cuts) != 0;
    cuai_cuts_end(arena);
}

static void return_all(cuarena_t *arena, uint64_t *given)
{
    if (!arena->unreturned || !may_return(arena))
        return;
    arena->unreturned = false;
    *given += cuai_trim(arena, 0);
}

void cuai_return_rest(cuarena_t *arena, uint64_t *given)
{
    cuai_assert_locked(arena);
    if (!cuai_cache_spares(arena, 0))
        return_all(arena, given);
}

void cuai_cache_reclaim(cuarena_t *arena, uint64_t *given)
{
    cuai_assert_locked(arena);
    if (arena->stream_count != 0 && !cuai_is_lost(arena) &&
        cuai_reclaim_all(arena, false, NULL) == CUARENA_OK)
        arena->unreturned = true;
    return_all(arena, given);
}
