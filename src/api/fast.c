/*
 * The calls that allocate, free and resize, and their fast paths: one function for each verb, for
 * pointers and blocks, with a stream and without.
 *
 * A fast path checks the arguments, takes the lock, works in the heap (heap/fast_path.h) and lets
 * go of the lock. It does nothing where anything is out of the ordinary: a bit of `slow`, no room,
 * a block with other attributes. Then the call begins again on the slow path, cuai_pointer_... or
 * cuai_block_..., which does everything.
 *
 *   try_...       the ordinary case, inlined into each allocation and free: without a stream, and
 *                 for the stream used last where nothing is out of the ordinary (`last`)
 *   ..._checked   what is a little less ordinary, out of line: several regions, several streams,
 *                 tags, other free lists, SEPARATORs
 *
 *   ..._traced    the same for arenas that record calls, which the others refuse: `slow` says for
 *                 that moment that nothing is recorded, and the event is added behind
 *
 * An arena with a cache tries that first (fast_cache.c); what the cache does not have, or has no
 * room for, goes on as in other arenas.
 *
 * A block is counted by its heap; by its stream, if it has one; by its tag; and by the whole arena,
 * where that is not the same as the heap.
 */
#include "api/fast.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/thread_cache.h"
#include "arena/traced.h"

/* A fast path takes sizes for which size - 1 is below this, so not 0, which wraps. */
#define MOST (CUARENA_HEAP_MAX_SEGMENT / 2)

/* Attributes without owner and alignment, by CUAI_BY_... */
static const uint64_t plain_attributes[] = {CUAI_BLOCK_ATTRIBUTES, CUAI_POINTER_ATTRIBUTES};

/* Bits of `slow` that do not matter to a verb without a stream. Copies of a compaction do not touch
 * free bytes. */
#define FREES (CUAI_SLOW_FREELISTS | CUAI_SLOW_RESIZES)
#define ALLOCS (FREES | CUAI_SLOW_MOVED)

static CUAI_INLINE bool is_slow(const cuarena_t *arena, uint32_t harmless)
{
    return (arena->slow & ~harmless) != 0;
}

static CUAI_INLINE uint64_t rounded(const cuarena_t *arena, uint64_t bytes)
{
    CUAI_ASSERT(bytes != 0);
    return ((bytes - 1) | arena->granule_mask) + 1;
}

/* Whether frees on the stream may take the fast path: it must be behind the copies of
 * compactions. */
static bool may_free_on(const cuarena_t *arena, const cuai_stream_t *s)
{
    if (CUAI_LIKELY(!is_slow(arena, CUAI_SLOW_WHOLE | FREES)))
        return true;
    return !is_slow(arena, CUAI_SLOW_WHOLE | ALLOCS) &&
           cuai_has_seen(arena, s->number, arena->moved);
}

/* The block of the dynamic region that begins at a pointer; 0: there is none. */
static cuai_slot_t slot_at(const cuarena_t *arena, const void *pointer)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    return cuai_table_find(&heap->table, heap->records, cuai_address(pointer));
}

/* The link of the look-up that names such a block, or that ends the chain of its bucket. */
static CUAI_INLINE cuai_slot_t *link_to(const cuarena_t *arena, const void *pointer)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    return cuai_table_link(&heap->table, heap->records, cuai_address(pointer));
}

/* ---- The lock ---------------------------------------------------------- */

/* Notes that threads met at the lock: once they have done so often enough they get caches. Then, as
 * in a signal handler that interrupted this thread in a call, it does not take the lock: false. */
static CUAI_OUTLINE bool enter_contended(cuarena_t *arena)
{
    bool met;
    if (!cuai_lock_contended(&arena->lock, &met))
        return false;
    if (!met || ++arena->meetings < CUAI_MEETINGS || !cuai_tcaches_may_run(arena))
        return true;
    cuai_tcaches_begin(arena);
    cuai_unlock_as(&arena->lock, false);
    return false;
}

/* Takes the lock in a process with other threads; false: threads have caches, or a signal handler
 * interrupted this thread in a call. */
static bool enter_heap(cuarena_t *arena)
{
    return !cuai_arena_is_tcached(arena) &&
           (CUAI_LIKELY(cuai_lock_try(&arena->lock, false)) || enter_contended(arena));
}

/* Takes the lock with other threads in the process or without, for what is called less often.
 * False: threads have caches, or a signal handler interrupted this thread in a call. */
static bool enter(cuarena_t *arena)
{
    return CUAI_SINGLE_THREADED ? cuai_lock_try(&arena->lock, true) : enter_heap(arena);
}

/* Takes the lock if that is possible at once, in the cases that are inlined: the process has one
 * thread, or no thread has a cache. */
static CUAI_INLINE bool enter_at_once(cuarena_t *arena)
{
    bool alone = CUAI_SINGLE_THREADED;
    return CUAI_LIKELY(alone || !cuai_arena_is_tcached(arena)) &&
           CUAI_LIKELY(cuai_lock_try(&arena->lock, alone));
}

/* Takes the lock if that is possible at once and the process has one thread: calls on a stream
 * inline no other case, since they have more to do. */
static CUAI_INLINE bool enter_alone(cuarena_t *arena)
{
    return CUAI_LIKELY(CUAI_SINGLE_THREADED) && CUAI_LIKELY(cuai_lock_try(&arena->lock, true));
}

/* Lets go of the lock that enter_alone took: no thread starts meanwhile. */
static CUAI_INLINE void leave_alone(cuarena_t *arena)
{
    cuai_unlock_as(&arena->lock, true);
}

/* ---- Allocation -------------------------------------------------------- */

/* Allocates from one free list, whose index this is; 0: it has no room, as far as the fast path
 * looks, which is less far without `all`, a constant. The heap counts the block, and one more
 * counter, or NULL. */
static CUAI_INLINE cuai_slot_t try_alloc(cuarena_t *arena, int32_t region, cuai_index_t *index,
                                         uint32_t freelist, cuai_counter_t *counter, uint64_t bytes,
                                         uint64_t attributes, bool all, uint64_t *offset_out)
{
    cuarena_heap_t *heap = arena->heaps[region];
    if (CUAI_UNLIKELY(!cuai_heap_fast_is_ready(heap, all)))
        return 0;
    return cuai_heap_fast_alloc_in(heap, index, counter, freelist, rounded(arena, bytes), bytes,
                                   attributes, all, offset_out);
}

/* Allocates without a stream, in any region, with any tag. */
static CUAI_OUTLINE cuai_slot_t alloc_checked(cuarena_t *arena, int32_t region, uint64_t bytes,
                                              cuarena_tag_t tag, int what)
{
    uint64_t offset;
    const cuai_fast_t *fast = &arena->none[region];
    if (is_slow(arena, ALLOCS | CUAI_SLOW_WHOLE) || !cuai_tag_known(arena, tag))
        return 0;
    cuai_counter_t *whole = (arena->slow & CUAI_SLOW_WHOLE) ? &arena->whole : NULL;
    cuai_slot_t slot = try_alloc(arena, region, fast->index, 0, whole, bytes,
                                 fast->attributes[what], true, &offset);
    if (slot == 0 || tag == 0)
        return slot;
    cuai_record_t *r = cuai_record(arena->heaps[region], slot);
    r->asked = cuai_asked(bytes, tag);
    cuai_counter_begin_block(&arena->tags[tag].counter, r);
    return slot;
}

/* Allocates without a stream after try_alloc, which found no room. In an arena with a cache the
 * slow path does it, which counts the miss that the cache has counted already. */
static CUAI_OUTLINE cuai_slot_t alloc_again(cuarena_t *arena, uint64_t bytes, int what)
{
    if ((arena->slow & CUAI_SLOW_CACHE) == 0)
        return alloc_checked(arena, CUAI_DYNAMIC, bytes, 0, what);
    CUAI_ASSERT(arena->cache.misses != 0);
    arena->cache.misses--;
    return 0;
}

static CUAI_INLINE cuai_slot_t alloc(cuarena_t *arena, uint64_t bytes, int what,
                                     uint64_t *offset_out)
{
    const cuai_fast_t *fast = &arena->none[CUAI_DYNAMIC];
    cuai_slot_t slot = CUAI_SLOT_PLAIN;
    if (CUAI_UNLIKELY(is_slow(arena, ALLOCS)) && !cuai_fast_misses(arena, ALLOCS))
        slot = arena->slow & CUAI_SLOW_CACHE
                   ? cuai_fast_cache_get(arena, NULL, bytes, plain_attributes[what])
                   : alloc_checked(arena, CUAI_DYNAMIC, bytes, 0, what);
    if (CUAI_LIKELY(slot == CUAI_SLOT_PLAIN)) {
        slot = try_alloc(arena, CUAI_DYNAMIC, fast->index, 0, NULL, bytes, fast->attributes[what],
                         false, offset_out);
        if (CUAI_LIKELY(slot != 0))
            return slot;
        slot = alloc_again(arena, bytes, what);
    }
    *offset_out = cuai_record(arena->heaps[CUAI_DYNAMIC], slot)->offset;
    return slot;
}

/* Allocates for a stream from the free lists that it may use: its open one, its closed one, whose
 * bytes are its own in order unless the CPU touches them, and that of idle bytes. */
static cuai_slot_t alloc_from_any(cuarena_t *arena, cuai_stream_t *s, uint64_t bytes, int what)
{
    uint64_t offset;
    uint32_t freelists[] = {s->fast.freelist, s->freelists[!s->turn][CUAI_DYNAMIC], 0};
    cuai_slot_t slot = 0;
    for (int i = arena->cpu_touches ? 2 : 0; slot == 0 && i < 3; i++)
        slot = try_alloc(arena, CUAI_DYNAMIC, arena->heaps[CUAI_DYNAMIC]->freelists[freelists[i]],
                         freelists[i], &s->counter, bytes, s->fast.attributes[what], true, &offset);
    return slot;
}

/* Allocates on any stream that was seen recently, also from the cache. */
static CUAI_OUTLINE cuai_slot_t alloc_on_checked(cuarena_t *arena, cuarena_stream_t stream,
                                                 uint64_t bytes, int what)
{
    cuai_stream_t *s = cuai_stream_recent(arena, stream);
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (s != NULL && (arena->slow & CUAI_SLOW_CACHE))
        return cuai_fast_cache_get(arena, s, bytes, plain_attributes[what]);
    if (s == NULL || is_slow(arena, ALLOCS | CUAI_SLOW_WHOLE))
        return 0;
    if (cuai_steals_for(arena, heap, bytes) ? !cuai_gets_again(arena, s, rounded(arena, bytes))
                                            : cuai_look_is_due(arena, bytes))
        return 0;
    cuai_stream_note_used(arena, stream, s);
    cuai_slot_t slot = alloc_from_any(arena, s, bytes, what);
    if (slot != 0 && CUAI_UNLIKELY(arena->slow & CUAI_SLOW_WHOLE))
        cuai_counter_begin(&arena->whole, cuai_record(heap, slot)->size, bytes);
    return slot;
}

static CUAI_INLINE cuai_slot_t alloc_on(cuarena_t *arena, cuarena_stream_t stream, uint64_t bytes,
                                        int what, uint64_t *offset_out)
{
    cuai_slot_t slot = 0;
    cuai_stream_t *s = arena->last.stream;
    if (CUAI_LIKELY(arena->last.handle == stream))
        slot = try_alloc(arena, CUAI_DYNAMIC, s->fast.index, s->fast.freelist, &s->counter, bytes,
                         s->fast.attributes[what], false, offset_out);
    if (CUAI_UNLIKELY(slot == 0)) {
        slot = alloc_on_checked(arena, stream, bytes, what);
        *offset_out = cuai_record(arena->heaps[CUAI_DYNAMIC], slot)->offset;
    }
    return slot;
}

/* Allocates with the lock held, on a stream or on none; false: nothing was done. */
static CUAI_OUTLINE bool alloc_any(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                   int what, uint64_t *name_out)
{
    uint64_t offset;
    cuai_slot_t slot = stream == CUARENA_NO_STREAM ? alloc(arena, bytes, what, &offset)
                                                   : alloc_on(arena, stream, bytes, what, &offset);
    if (CUAI_LIKELY(slot != 0))
        *name_out = what == CUAI_BY_POINTER ? offset : cuai_id(arena->heaps[CUAI_DYNAMIC], slot);
    return slot != 0;
}

/* Allocates where the lock could not be had at once: by this thread's cache or, where there are no
 * caches, or none any more, as soon as the lock is free. False: nothing was done. */
static CUAI_OUTLINE bool alloc_beside(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                      int what, uint64_t *name_out)
{
    if (!enter_heap(arena)) {
        if (cuai_tcache_alloc(arena, bytes, stream, what, name_out))
            return true;
        if (!enter_heap(arena))
            return false;
    }
    bool done = alloc_any(arena, bytes, stream, what, name_out);
    cuai_unlock_as(&arena->lock, false);
    return done;
}

/* Allocates in an arena that records calls, unless threads have caches, which do that themselves;
 * false: nothing was done. */
static CUAI_NOINLINE bool alloc_traced(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                       int what, uint64_t *name_out)
{
    if (!cuai_is_traced(arena) || !enter(arena))
        return false;
    cuai_slow_set(arena, CUAI_SLOW_TRACE, false);
    bool done = alloc_any(arena, bytes, stream, what, name_out);
    cuai_arena_follow_trace(arena);
    if (done)
        cuai_trace_call(arena, cuai_block_named(arena, *name_out, what), CUARENA_EVENT_ALLOC,
                        stream);
    cuai_unlock(&arena->lock);
    cuai_trace_catch_up();
    return done;
}

/* The rest of an allocation that the fast path has left. */
static CUAI_OUTLINE cuarena_status_t pointer_alloc_again(cuarena_t *arena, uint64_t bytes,
                                                         cuarena_stream_t stream,
                                                         void **pointer_out)
{
    uint64_t address;
    if (CUAI_LIKELY(!alloc_traced(arena, bytes, stream, CUAI_BY_POINTER, &address)))
        return cuai_pointer_alloc(arena, bytes, stream, NULL, pointer_out);
    *pointer_out = cuai_pointer(address);
    return CUARENA_OK;
}

static CUAI_OUTLINE cuarena_status_t block_alloc_again(cuarena_t *arena, uint64_t bytes,
                                                       cuarena_stream_t stream,
                                                       cuarena_block_t *block_out)
{
    return alloc_traced(arena, bytes, stream, CUAI_BY_ID, block_out)
               ? CUARENA_OK
               : cuai_block_alloc(arena, bytes, stream, NULL, block_out);
}

static CUAI_OUTLINE cuarena_status_t pointer_alloc_beside(cuarena_t *arena, uint64_t bytes,
                                                          cuarena_stream_t stream,
                                                          void **pointer_out)
{
    uint64_t address;
    if (!alloc_beside(arena, bytes, stream, CUAI_BY_POINTER, &address))
        return pointer_alloc_again(arena, bytes, stream, pointer_out);
    *pointer_out = cuai_pointer(address);
    return CUARENA_OK;
}

static CUAI_OUTLINE cuarena_status_t block_alloc_beside(cuarena_t *arena, uint64_t bytes,
                                                        cuarena_stream_t stream,
                                                        cuarena_block_t *block_out)
{
    return alloc_beside(arena, bytes, stream, CUAI_BY_ID, block_out)
               ? CUARENA_OK
               : block_alloc_again(arena, bytes, stream, block_out);
}

cuarena_status_t cuarena_alloc(cuarena_t *arena, uint64_t bytes, void **pointer_out)
{
    if (CUAI_UNLIKELY(arena == NULL || pointer_out == NULL || bytes - 1 >= MOST))
        return cuai_pointer_alloc(arena, bytes, CUARENA_NO_STREAM, NULL, pointer_out);
    if (CUAI_UNLIKELY(!enter_at_once(arena)))
        return pointer_alloc_beside(arena, bytes, CUARENA_NO_STREAM, pointer_out);
    uint64_t offset;
    cuai_slot_t slot = alloc(arena, bytes, CUAI_BY_POINTER, &offset);
    if (CUAI_LIKELY(slot != 0))
        *pointer_out = cuai_pointer(offset);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(slot != 0)
               ? CUARENA_OK
               : pointer_alloc_again(arena, bytes, CUARENA_NO_STREAM, pointer_out);
}

cuarena_status_t cuarena_alloc_on(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                  const cuarena_request_t *request, void **pointer_out)
{
    if (CUAI_UNLIKELY(arena == NULL || request != NULL) ||
        CUAI_UNLIKELY(pointer_out == NULL || bytes - 1 >= MOST))
        return cuai_pointer_alloc(arena, bytes, stream, request, pointer_out);
    if (CUAI_UNLIKELY(!enter_alone(arena)))
        return pointer_alloc_beside(arena, bytes, stream, pointer_out);
    uint64_t offset;
    cuai_slot_t slot = alloc_on(arena, stream, bytes, CUAI_BY_POINTER, &offset);
    if (CUAI_LIKELY(slot != 0))
        *pointer_out = cuai_pointer(offset);
    leave_alone(arena);
    return CUAI_LIKELY(slot != 0) ? CUARENA_OK
                                  : pointer_alloc_again(arena, bytes, stream, pointer_out);
}

cuarena_status_t cuarena_block_alloc(cuarena_t *arena, uint64_t bytes, cuarena_block_t *block_out)
{
    if (CUAI_UNLIKELY(arena == NULL || block_out == NULL || bytes - 1 >= MOST))
        return cuai_block_alloc(arena, bytes, CUARENA_NO_STREAM, NULL, block_out);
    if (CUAI_UNLIKELY(!enter_at_once(arena)))
        return block_alloc_beside(arena, bytes, CUARENA_NO_STREAM, block_out);
    uint64_t offset;
    cuai_slot_t slot = alloc(arena, bytes, CUAI_BY_ID, &offset);
    if (CUAI_LIKELY(slot != 0))
        *block_out = cuai_id(arena->heaps[CUAI_DYNAMIC], slot);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(slot != 0) ? CUARENA_OK
                                  : block_alloc_again(arena, bytes, CUARENA_NO_STREAM, block_out);
}

cuarena_status_t cuarena_block_alloc_on(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                        const cuarena_request_t *request,
                                        cuarena_block_t *block_out)
{
    if (CUAI_UNLIKELY(arena == NULL || block_out == NULL || request != NULL || bytes - 1 >= MOST))
        return cuai_block_alloc(arena, bytes, stream, request, block_out);
    if (CUAI_UNLIKELY(!enter_alone(arena)))
        return block_alloc_beside(arena, bytes, stream, block_out);
    uint64_t offset;
    cuai_slot_t slot = alloc_on(arena, stream, bytes, CUAI_BY_ID, &offset);
    if (CUAI_LIKELY(slot != 0))
        *block_out = cuai_id(arena->heaps[CUAI_DYNAMIC], slot);
    leave_alone(arena);
    return CUAI_LIKELY(slot != 0) ? CUARENA_OK : block_alloc_again(arena, bytes, stream, block_out);
}

/* Whether a request names a region and perhaps a tag, and nothing else. */
static bool is_ordinary(const cuarena_request_t *request)
{
    bool known =
        request->region == CUARENA_REGION_DYNAMIC || request->region == CUARENA_REGION_STABLE;
    return request->struct_size == sizeof *request && known && request->alignment == 0 &&
           request->zeroed == 0 && request->dedicated == 0;
}

/* Whether the request asks for nothing beyond what a call without one gives. */
static bool is_plain(const cuarena_request_t *request)
{
    return is_ordinary(request) && request->region == CUARENA_REGION_DYNAMIC && request->tag == 0;
}

cuarena_status_t cuarena_alloc_with(cuarena_t *arena, uint64_t bytes,
                                    const cuarena_request_t *request, void **pointer_out)
{
    if (request == NULL || is_plain(request))
        return cuarena_alloc(arena, bytes, pointer_out);
    cuai_slot_t slot = 0;
    if (arena != NULL && pointer_out != NULL && bytes - 1 < MOST && is_ordinary(request) &&
        arena->heaps[request->region] != NULL && enter(arena)) {
        slot = alloc_checked(arena, request->region, bytes, request->tag, CUAI_BY_POINTER);
        if (slot != 0)
            *pointer_out = cuai_pointer(cuai_record(arena->heaps[request->region], slot)->offset);
        cuai_unlock(&arena->lock);
    }
    return slot != 0 ? CUARENA_OK
                     : cuai_pointer_alloc(arena, bytes, CUARENA_NO_STREAM, request, pointer_out);
}

/* ---- Free -------------------------------------------------------------- */

/* Frees an ordinary block of the owner whose calls these are; its bytes join their free list. The
 * look-up's link names it, or is NULL for an id. False: nothing was done. `counter` is one more
 * than its heap's, or NULL. */
static CUAI_INLINE bool try_free(cuarena_heap_t *heap, cuai_slot_t slot, cuai_slot_t *link,
                                 const cuai_fast_t *fast, cuai_counter_t *counter, int what)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    if (CUAI_UNLIKELY(r->upper != fast->upper[what] || r->pins != (what == CUAI_BY_POINTER) ||
                      cuai_tag_of(r) != 0 || !heap->smooth ||
                      !cuai_heap_fast_joins(heap, r, fast->freelist)))
        return false;
    if (what == CUAI_BY_ID)
        link = cuai_table_link_to(&heap->table, heap->records, slot);
    if (counter != NULL)
        cuai_counter_end_block(counter, r);
    cuai_heap_fast_free_to(heap, fast->index, fast->freelist, slot, link);
    return true;
}

/* Frees a block of any owner, alignment and tag, beside any SEPARATORs; false: nothing was done. */
static CUAI_OUTLINE bool free_checked(cuarena_t *arena, int32_t region, cuai_slot_t slot,
                                      const cuai_fast_t *fast, int what)
{
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_record_t *r = cuai_record(heap, slot);
    if (!cuai_has_attributes(r, fast->attributes[what]))
        return false;
    cuai_count_out(arena, r);
    cuai_heap_free(heap, slot, fast->freelist);
    return true;
}

/* Frees an ordinary block of the dynamic region without a stream. */
static CUAI_INLINE bool free_at_once(cuarena_t *arena, cuai_slot_t slot, cuai_slot_t *link,
                                     int what)
{
    const cuai_fast_t *fast = &arena->none[CUAI_DYNAMIC];
    return CUAI_LIKELY(try_free(arena->heaps[CUAI_DYNAMIC], slot, link, fast, NULL, what)) ||
           free_checked(arena, CUAI_DYNAMIC, slot, fast, what);
}

/* Whether an address is in the stable region, the front of the first segment. */
static bool is_stable(const cuarena_t *arena, const void *pointer)
{
    return arena->stable_bytes != 0 &&
           cuai_address(pointer) - arena->segments.items[0].address < arena->stable_bytes;
}

/* Frees a pointer without a stream in any region. A copy of the code of its own: a processor
 * predicts well which of the two runs, but would have to wait for an address that says in which
 * heap to look. */
static CUAI_OUTLINE bool free_in_any(cuarena_t *arena, const void *pointer)
{
    int32_t region = is_stable(arena, pointer) ? CUAI_STABLE : CUAI_DYNAMIC;
    cuarena_heap_t *heap = arena->heaps[region];
    const cuai_fast_t *fast = &arena->none[region];
    cuai_slot_t *link = cuai_table_link(&heap->table, heap->records, cuai_address(pointer));
    return !is_slow(arena, FREES | CUAI_SLOW_WHOLE) &&
           (try_free(heap, *link, link, fast, &arena->whole, CUAI_BY_POINTER) ||
            free_checked(arena, region, *link, fast, CUAI_BY_POINTER));
}

/* Frees as free_in_any does, for an id, which names a block of the dynamic region. */
static CUAI_OUTLINE bool free_block_checked(cuarena_t *arena, cuai_slot_t slot)
{
    return !is_slow(arena, FREES | CUAI_SLOW_WHOLE) &&
           free_checked(arena, CUAI_DYNAMIC, slot, &arena->none[CUAI_DYNAMIC], CUAI_BY_ID);
}

/* Frees the block of an id in an arena that something keeps from the plain fast path. */
static CUAI_OUTLINE bool free_block_slowly(cuarena_t *arena, cuai_slot_t slot)
{
    return arena->slow & CUAI_SLOW_CACHE
               ? cuai_fast_cache_put(arena, slot, CUAI_BLOCK_ATTRIBUTES, NULL)
               : free_block_checked(arena, slot);
}

/* Whether the plain fast path frees a block without a stream, by its slot in the dynamic region. */
static CUAI_INLINE bool frees_plainly(cuarena_t *arena, cuai_slot_t slot)
{
    return CUAI_LIKELY(!is_slow(arena, FREES)) ||
           cuai_fast_spares(arena, cuai_record(arena->heaps[CUAI_DYNAMIC], slot), FREES);
}

/* Frees a block on any stream that was seen recently. */
static CUAI_OUTLINE bool free_on_checked(cuarena_t *arena, cuai_slot_t slot, cuai_slot_t *link,
                                         cuarena_stream_t stream, int what)
{
    cuai_stream_t *s = cuai_stream_recent(arena, stream);
    if (s != NULL && (arena->slow & CUAI_SLOW_CACHE))
        return cuai_fast_cache_put(arena, slot, plain_attributes[what], s);
    if (s == NULL || !may_free_on(arena, s))
        return false;
    bool alone = (arena->slow & CUAI_SLOW_WHOLE) == 0;
    return (alone &&
            try_free(arena->heaps[CUAI_DYNAMIC], slot, link, &s->fast, &s->counter, what)) ||
           free_checked(arena, CUAI_DYNAMIC, slot, &s->fast, what);
}

static CUAI_INLINE bool free_on(cuarena_t *arena, cuai_slot_t slot, cuai_slot_t *link,
                                cuarena_stream_t stream, int what)
{
    cuai_stream_t *s = arena->last.stream;
    return (CUAI_LIKELY(arena->last.handle == stream) &&
            CUAI_LIKELY(
                try_free(arena->heaps[CUAI_DYNAMIC], slot, link, &s->fast, &s->counter, what))) ||
           free_on_checked(arena, slot, link, stream, what);
}

/* Frees the block at a pointer on a stream or, with CUARENA_NO_STREAM, without. */
static CUAI_INLINE bool free_pointer(cuarena_t *arena, const void *pointer, cuarena_stream_t stream)
{
    if (stream == CUARENA_NO_STREAM && CUAI_UNLIKELY(is_slow(arena, FREES | CUAI_SLOW_CACHE)))
        return free_in_any(arena, pointer);
    cuai_slot_t *link = link_to(arena, pointer);
    if (stream != CUARENA_NO_STREAM)
        return free_on(arena, *link, link, stream, CUAI_BY_POINTER);
    return frees_plainly(arena, *link)
               ? free_at_once(arena, *link, link, CUAI_BY_POINTER)
               : cuai_fast_cache_put(arena, *link, CUAI_POINTER_ATTRIBUTES, NULL);
}

/* Frees the block of an id on a stream or, with CUARENA_NO_STREAM, without. */
static CUAI_INLINE bool free_block(cuarena_t *arena, cuarena_block_t block, cuarena_stream_t stream)
{
    cuai_slot_t slot = cuai_slot_named(arena->heaps[CUAI_DYNAMIC], block);
    if (stream != CUARENA_NO_STREAM)
        return free_on(arena, slot, NULL, stream, CUAI_BY_ID);
    return frees_plainly(arena, slot) ? free_at_once(arena, slot, NULL, CUAI_BY_ID)
                                      : free_block_slowly(arena, slot);
}

/* Frees with the lock held, on a stream or on none; false: nothing was done. */
static CUAI_OUTLINE bool free_any(cuarena_t *arena, uint64_t name, cuarena_stream_t stream,
                                  int what)
{
    return what == CUAI_BY_POINTER ? free_pointer(arena, cuai_pointer(name), stream)
                                   : free_block(arena, name, stream);
}

/* Frees a block in a process with other threads: by the cache of this thread where threads have
 * caches, else with the lock. False: nothing was done. */
static CUAI_OUTLINE bool free_beside(cuarena_t *arena, uint64_t name, cuarena_stream_t stream,
                                     int what)
{
    if (!enter_heap(arena)) {
        if (cuai_tcache_free(arena, name, stream, what))
            return true;
        if (!enter_heap(arena))
            return false;
    }
    bool done = free_any(arena, name, stream, what);
    cuai_unlock_as(&arena->lock, false);
    return done;
}

/* Frees in an arena that records calls, unless threads have caches, which do that themselves;
 * false: nothing was done. */
static CUAI_NOINLINE bool free_traced(cuarena_t *arena, uint64_t name, cuarena_stream_t stream,
                                      int what)
{
    if (!cuai_is_traced(arena) || !enter(arena))
        return false;
    cuai_trace_entry_t event;
    cuai_block_ref_t ref = cuai_block_named(arena, name, what);
    bool done = false;
    if (ref.heap != NULL) {
        cuai_see_block(arena, ref, CUARENA_EVENT_FREE, stream, &event);
        cuai_slow_set(arena, CUAI_SLOW_TRACE, false);
        done = free_any(arena, name, stream, what);
        cuai_arena_follow_trace(arena);
    }
    if (done && cuai_is_traced(arena))
        cuai_trace_add(&arena->trace, &event);
    cuai_unlock(&arena->lock);
    cuai_trace_catch_up();
    return done;
}

/* The rest of a free that the fast path has left. */
static CUAI_OUTLINE cuarena_status_t pointer_free_again(cuarena_t *arena, void *pointer,
                                                        cuarena_stream_t stream)
{
    return free_traced(arena, cuai_address(pointer), stream, CUAI_BY_POINTER)
               ? CUARENA_OK
               : cuai_pointer_free(arena, pointer, stream);
}

static CUAI_OUTLINE cuarena_status_t block_free_again(cuarena_t *arena, cuarena_block_t block,
                                                      cuarena_stream_t stream)
{
    return free_traced(arena, block, stream, CUAI_BY_ID) ? CUARENA_OK
                                                         : cuai_block_free(arena, block, stream);
}

static CUAI_OUTLINE cuarena_status_t pointer_free_beside(cuarena_t *arena, void *pointer,
                                                         cuarena_stream_t stream)
{
    return free_beside(arena, cuai_address(pointer), stream, CUAI_BY_POINTER)
               ? CUARENA_OK
               : pointer_free_again(arena, pointer, stream);
}

static CUAI_OUTLINE cuarena_status_t block_free_beside(cuarena_t *arena, cuarena_block_t block,
                                                       cuarena_stream_t stream)
{
    return free_beside(arena, block, stream, CUAI_BY_ID) ? CUARENA_OK
                                                         : block_free_again(arena, block, stream);
}

cuarena_status_t cuarena_free(cuarena_t *arena, void *pointer)
{
    if (CUAI_UNLIKELY(arena == NULL || pointer == NULL))
        return cuai_pointer_free(arena, pointer, CUARENA_NO_STREAM);
    if (CUAI_UNLIKELY(!enter_at_once(arena)))
        return pointer_free_beside(arena, pointer, CUARENA_NO_STREAM);
    bool done = free_pointer(arena, pointer, CUARENA_NO_STREAM);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(done) ? CUARENA_OK : pointer_free_again(arena, pointer, CUARENA_NO_STREAM);
}

/* A stream that is CUARENA_NO_STREAM is looked up like others, and found by nobody. */
cuarena_status_t cuarena_free_on(cuarena_t *arena, void *pointer, cuarena_stream_t stream)
{
    if (CUAI_UNLIKELY(arena == NULL || pointer == NULL))
        return cuai_pointer_free(arena, pointer, stream);
    if (CUAI_UNLIKELY(!enter_alone(arena)))
        return pointer_free_beside(arena, pointer, stream);
    cuai_slot_t *link = link_to(arena, pointer);
    bool done = free_on(arena, *link, link, stream, CUAI_BY_POINTER);
    leave_alone(arena);
    return CUAI_LIKELY(done) ? CUARENA_OK : pointer_free_again(arena, pointer, stream);
}

cuarena_status_t cuarena_block_free(cuarena_t *arena, cuarena_block_t block)
{
    if (CUAI_UNLIKELY(arena == NULL || block == 0))
        return cuai_block_free(arena, block, CUARENA_NO_STREAM);
    if (CUAI_UNLIKELY(!enter_at_once(arena)))
        return block_free_beside(arena, block, CUARENA_NO_STREAM);
    bool done = free_block(arena, block, CUARENA_NO_STREAM);
    cuai_unlock(&arena->lock);
    return CUAI_LIKELY(done) ? CUARENA_OK : block_free_again(arena, block, CUARENA_NO_STREAM);
}

cuarena_status_t cuarena_block_free_on(cuarena_t *arena, cuarena_block_t block,
                                       cuarena_stream_t stream)
{
    if (CUAI_UNLIKELY(arena == NULL || block == 0))
        return cuai_block_free(arena, block, stream);
    if (CUAI_UNLIKELY(!enter_alone(arena)))
        return block_free_beside(arena, block, stream);
    cuai_slot_t slot = cuai_slot_named(arena->heaps[CUAI_DYNAMIC], block);
    bool done = free_on(arena, slot, NULL, stream, CUAI_BY_ID);
    leave_alone(arena);
    return CUAI_LIKELY(done) ? CUARENA_OK : block_free_again(arena, block, stream);
}

/* ---- Resize ------------------------------------------------------------ */

/* The free list that gives the bytes that the block lacks, or gets those that it leaves, in a call
 * on this stream (NULL: none); false: that is more than the fast path knows, such as bytes of the
 * stream's for a block of another one. */
static bool find_freelist(const cuarena_t *arena, const cuai_stream_t *s, const cuai_record_t *r,
                          uint64_t size, uint32_t *freelist_out)
{
    uint32_t after = cuai_range_freelist(r);
    bool shrinks = size <= r->size;
    *freelist_out = shrinks && s != NULL ? s->fast.freelist : shrinks ? 0 : after;
    if (shrinks || after == 0)
        return true;
    return s != NULL && !arena->cpu_touches && r->owner == s->number &&
           cuai_is_freelist_of(s, CUAI_DYNAMIC, after);
}

/* Resizes an ordinary block of the dynamic region in place; false: nothing was done. */
static CUAI_OUTLINE bool try_resize(cuarena_t *arena, cuai_slot_t slot, uint64_t bytes,
                                    const cuai_stream_t *s, int what)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, slot);
    uint64_t size = rounded(arena, bytes);
    uint32_t freelist;
    if (!cuai_has_attributes(r, plain_attributes[what]) || !heap->smooth ||
        heap->split_threshold != 0 || !find_freelist(arena, s, r, size, &freelist) ||
        !cuai_range_joins(r, freelist))
        return false;
    uint64_t more = size - r->size;
    uint64_t more_requested = bytes - cuai_requested(r);
    if (!cuai_heap_fast_resize(heap, heap->freelists[freelist], freelist, slot, size, bytes))
        return false;
    if (((arena->slow & CUAI_SLOW_WHOLE) | cuai_tag_of(r) | r->owner) != 0)
        cuai_count_resize(arena, r, more, more_requested);
    return true;
}

static bool try_resize_on(cuarena_t *arena, cuai_slot_t slot, uint64_t bytes,
                          cuarena_stream_t stream, int what)
{
    const cuai_stream_t *s = cuai_stream_recent(arena, stream);
    return s != NULL && may_free_on(arena, s) && (arena->slow & CUAI_SLOW_RESIZES) == 0 &&
           try_resize(arena, slot, bytes, s, what);
}

static bool try_resize_off(cuarena_t *arena, cuai_slot_t slot, uint64_t bytes, int what)
{
    return !is_slow(arena, CUAI_SLOW_WHOLE | CUAI_SLOW_FREELISTS) &&
           try_resize(arena, slot, bytes, NULL, what);
}

cuarena_status_t cuarena_resize(cuarena_t *arena, void *pointer, uint64_t bytes, void **pointer_out)
{
    if (arena != NULL && pointer_out != NULL && pointer == NULL)
        return cuarena_alloc(arena, bytes, pointer_out);
    bool done = false;
    if (CUAI_LIKELY(arena != NULL && pointer_out != NULL && bytes - 1 < MOST && enter(arena))) {
        done = try_resize_off(arena, slot_at(arena, pointer), bytes, CUAI_BY_POINTER);
        cuai_unlock(&arena->lock);
    }
    if (CUAI_UNLIKELY(!done))
        return cuai_pointer_resize(arena, pointer, bytes, CUARENA_NO_STREAM, pointer_out);
    *pointer_out = pointer;
    return CUARENA_OK;
}

cuarena_status_t cuarena_resize_on(cuarena_t *arena, void *pointer, uint64_t bytes,
                                   cuarena_stream_t stream, void **pointer_out)
{
    bool done = false;
    if (CUAI_LIKELY(arena != NULL && pointer_out != NULL && bytes - 1 < MOST && enter(arena))) {
        done = try_resize_on(arena, slot_at(arena, pointer), bytes, stream, CUAI_BY_POINTER);
        cuai_unlock(&arena->lock);
    }
    if (CUAI_UNLIKELY(!done))
        return cuai_pointer_resize(arena, pointer, bytes, stream, pointer_out);
    *pointer_out = pointer;
    return CUARENA_OK;
}

cuarena_status_t cuarena_block_resize(cuarena_t *arena, cuarena_block_t block, uint64_t bytes)
{
    bool done = false;
    if (CUAI_LIKELY(arena != NULL && bytes - 1 < MOST && enter(arena))) {
        cuai_slot_t slot = cuai_slot_named(arena->heaps[CUAI_DYNAMIC], block);
        done = try_resize_off(arena, slot, bytes, CUAI_BY_ID);
        cuai_unlock(&arena->lock);
    }
    return CUAI_LIKELY(done) ? CUARENA_OK
                             : cuai_block_resize(arena, block, bytes, CUARENA_NO_STREAM);
}

cuarena_status_t cuarena_block_resize_on(cuarena_t *arena, cuarena_block_t block, uint64_t bytes,
                                         cuarena_stream_t stream)
{
    bool done = false;
    if (CUAI_LIKELY(arena != NULL && bytes - 1 < MOST && enter(arena))) {
        cuai_slot_t slot = cuai_slot_named(arena->heaps[CUAI_DYNAMIC], block);
        done = try_resize_on(arena, slot, bytes, stream, CUAI_BY_ID);
        cuai_unlock(&arena->lock);
    }
    return CUAI_LIKELY(done) ? CUARENA_OK : cuai_block_resize(arena, block, bytes, stream);
}
