/*
 * The fast paths of arenas that threads share: allocation and free by the calling thread's cache
 * (arena/thread_cache.h).
 *
 * A hit has the cache's lock only. A miss says what it wants and waits for the arena's lock,
 * or until the thread that has that lock has done it. It takes blocks from the heap, or gives some
 * back, without stopping the caches of other threads. What is not ordinary, here as in fast.c, is
 * left to the slow path, which stops them.
 */
#include "api/fast.h"
#include "arena/reclaim.h"
#include "arena/steal.h"
#include "arena/thread_cache.h"

/* How often a thread looks whether it was served before it sleeps: some tens of microseconds. */
#define SPINS 1000

/* How often in a row the number of blocks that a bin gets or gives doubles, and one. */
#define MOST_TREND 5

/* How an ordinary block becomes KEPT, and back. */
#define KEEPS ((uint32_t)(CUAI_BLOCK ^ CUAI_KEPT))

static CUAI_INLINE uint64_t granules_of(const cuai_tcache_t *t, uint64_t bytes)
{
    return ((bytes - 1) >> t->heap->granule_log2) + 1;
}

/* ---- Allocation -------------------------------------------------------- */

/* Makes a KEPT block the caller's: an ordinary one by pointer or id. Returns its name. The kind is
 * last, and whoever frees the block sees all that was written before. */
static CUAI_INLINE uint64_t hand_out(cuai_tcache_t *t, cuai_slot_t slot, uint64_t bytes, int what)
{
    cuai_record_t *r = &t->heap->records[slot];
    uint64_t name = what == CUAI_BY_POINTER ? r->offset : cuai_id(t->heap, slot);
    CUAI_ASSERT(cuai_kind(r) == CUAI_KEPT && bytes <= r->size);
    if (CUAI_UNLIKELY(t->trace != NULL))
        cuai_tcache_trace(t, slot, CUARENA_EVENT_ALLOC, bytes);
    r->asked = cuai_asked(bytes, 0);
    r->pins = what == CUAI_BY_POINTER;
    t->allocs++;
    t->requested += bytes;
    __atomic_store_n(&r->upper, t->upper[what], __ATOMIC_RELEASE);
    return name;
}

/* The first of the next two bins that has a block, which is at most half as large again; CUAI_BINS:
 * neither has. */
static uint32_t larger_bin(const cuai_tcache_t *t, uint32_t number)
{
    uint64_t end = cuai_min(number + 1 + cuai_min(2, number / 2), CUAI_BINS);
    while (++number < end)
        if (t->bins[number].count != 0)
            return number;
    return CUAI_BINS;
}

/* Allocates from the bin of that size, or from one of the next two. */
static CUAI_INLINE bool hit(cuai_tcache_t *t, uint64_t bytes, int what, uint64_t *name_out)
{
    uint32_t number = cuai_bin_above(granules_of(t, bytes));
    if (CUAI_UNLIKELY(number < CUAI_BINS && t->bins[number].count == 0))
        number = larger_bin(t, number);
    if (CUAI_UNLIKELY(number >= CUAI_BINS))
        return false;
    cuai_bin_t *bin = &t->bins[number];
    cuai_slot_t slot = bin->slots[--bin->count];
    t->bytes -= t->heap->records[slot].size;
    *name_out = hand_out(t, slot, bytes, what);
    return true;
}

/* The free lists that the cache's calls may allocate from: those of the stream, then that of idle
 * bytes. */
static uint32_t freelists_for(const cuarena_t *arena, const cuai_tcache_t *t, uint32_t *freelists)
{
    uint32_t count = 0;
    if (t->number != 0) {
        const cuai_stream_t *s = cuai_stream(arena, t->number);
        freelists[count++] = s->fast.freelist;
        freelists[count++] = s->freelists[!s->turn][CUAI_DYNAMIC];
    }
    freelists[count++] = 0;
    return count;
}

/* Allocates a KEPT block; 0: there is no room as far as the fast path looks. */
static cuai_slot_t alloc_kept(cuarena_t *arena, cuai_tcache_t *t, uint64_t size)
{
    uint64_t attributes = (uint64_t)(t->upper[CUAI_BY_ID] ^ KEEPS) << 32;
    uint32_t freelists[3];
    uint32_t count = freelists_for(arena, t, freelists);
    cuarena_heap_t *heap = t->heap;
    cuai_slot_t slot = 0;
    for (uint32_t i = 0; slot == 0 && i < count; i++) {
        uint64_t offset;
        cuai_index_t *index = heap->freelists[freelists[i]];
        if (!cuai_heap_fast_is_ready(heap, true))
            return 0;
        slot = cuai_heap_fast_alloc_in(heap, index, NULL, freelists[i], size, 0, attributes, true,
                                       &offset);
    }
    if (slot == 0)
        return 0;
    cuai_count_in(arena, cuai_record(heap, slot));
    if (t->number != 0)
        cuai_count_unlooked(arena, size);
    t->allocs--;
    return slot;
}

/* Moves blocks that another thread left into an empty bin, if they are of the same stream. */
static void get_magazine(const cuarena_t *arena, cuai_tcache_t *t, uint32_t number)
{
    cuai_bin_t *bin = &t->bins[number];
    CUAI_ASSERT(bin->count == 0);
    for (uint32_t i = 0; arena->depot != NULL && i < CUAI_MAGAZINES; i++) {
        cuai_magazine_t *magazine = &arena->depot->magazines[number][i];
        if (magazine->count == 0 || magazine->number != t->number)
            continue;
        for (; magazine->count != 0; bin->count++) {
            cuai_slot_t slot = magazine->slots[--magazine->count];
            bin->slots[bin->count] = slot;
            t->bytes += cuai_record(t->heap, slot)->size;
            arena->depot->bytes -= cuai_record(t->heap, slot)->size;
        }
        return;
    }
}

/* Leaves the first blocks of a bin to other threads, if there is room for them. */
static bool put_magazine(const cuarena_t *arena, cuai_tcache_t *t, uint32_t number, uint32_t count)
{
    cuai_depot_t *depot = arena->depot;
    for (uint32_t i = 0; depot != NULL && depot->bytes <= t->room && i < CUAI_MAGAZINES; i++) {
        cuai_magazine_t *magazine = &depot->magazines[number][i];
        if (magazine->count != 0)
            continue;
        magazine->number = t->number;
        for (; magazine->count < count; magazine->count++) {
            cuai_slot_t slot = t->bins[number].slots[magazine->count];
            magazine->slots[magazine->count] = slot;
            depot->bytes += cuai_record(t->heap, slot)->size;
        }
        return true;
    }
    return false;
}

/* How many blocks a bin gets (`way` is 1) or gives away (-1): twice as many as the last time, or
 * one if that went the other way. So few go back and forth where a thread frees as much as it
 * allocates, and many go at once where it only does one of both. */
static uint32_t blocks_to_move(cuai_bin_t *bin, int way)
{
    int trend = bin->trend * way;
    trend = trend <= 0 ? 1 : trend + (trend < MOST_TREND);
    bin->trend = (int16_t)(trend * way);
    return 1u << (trend - 1);
}

/* Takes blocks from the heap until the bin has what its trend says, or until no more may be kept.
 */
static void refill(cuarena_t *arena, cuai_tcache_t *t, uint32_t number)
{
    cuai_bin_t *bin = &t->bins[number];
    uint64_t size = cuai_bin_granules(number) << t->heap->granule_log2;
    uint32_t depth = cuai_bin_depth(t, size);
    uint32_t wanted = blocks_to_move(bin, 1);
    wanted = wanted < depth ? wanted : depth;
    get_magazine(arena, t, number);
    while (bin->count < wanted && t->bytes + size <= t->room) {
        cuai_slot_t slot = alloc_kept(arena, t, size);
        if (slot == 0)
            return;
        bin->slots[bin->count++] = slot;
        t->bytes += cuai_record(t->heap, slot)->size;
    }
}

/* Whether the slow path is to do it: it steals for the request, or looks at events before it. */
static bool wants_slow_path(const cuarena_t *arena, const cuai_tcache_t *t, uint64_t bytes)
{
    return t->number != 0 && (cuai_steals_for(arena, t->heap, bytes) ||
                              (cuai_has_unlooked(arena) && cuai_gains_by_looks(arena)));
}

/* Allocates with both locks: by a bin, or without, where the block is too large or may not be
 * kept. */
static bool alloc_both(cuarena_t *arena, cuai_tcache_t *t, uint64_t bytes, int what,
                       uint64_t *name_out)
{
    uint64_t granules = granules_of(t, bytes);
    uint32_t number = cuai_bin_above(granules);
    if (wants_slow_path(arena, t, bytes))
        return false;
    if (number < CUAI_BINS && t->bins[number].count == 0)
        refill(arena, t, number);
    if (hit(t, bytes, what, name_out))
        return true;
    cuai_slot_t slot = alloc_kept(arena, t, granules << t->heap->granule_log2);
    if (slot != 0)
        *name_out = hand_out(t, slot, bytes, what);
    return slot != 0;
}

/* ---- Free -------------------------------------------------------------- */

/* The slot that a name stands for, or stood for a moment ago; 0: for none. */
static CUAI_INLINE cuai_slot_t slot_of(const cuai_tcache_t *t, uint64_t name, int what)
{
    const cuarena_heap_t *heap = t->heap;
    if (what == CUAI_BY_POINTER)
        return cuai_table_glimpse(&heap->table, heap->records, name);
    cuai_slot_t slot = cuai_slot_in(heap, name);
    return slot < heap->committed ? slot : 0;
}

/* Whether the block, which is KEPT now and so cannot change, is the one of that name, and
 * ordinary; its slot has ids left. */
static CUAI_INLINE bool is_named(const cuai_tcache_t *t, cuai_slot_t slot, uint64_t name, int what)
{
    const cuai_record_t *r = &t->heap->records[slot];
    uint64_t own = what == CUAI_BY_POINTER ? r->offset : cuai_id(t->heap, slot);
    return own == name && r->pins == (what == CUAI_BY_POINTER) && cuai_tag_of(r) == 0 &&
           r->generation < CUAI_LAST_GENERATION - 1;
}

/* Makes the block of a slot KEPT if it has that name; false: it is not an ordinary one of this
 * cache's calls, or none. Of several frees of one block one succeeds. A slot that has another block
 * by now gets back what it had: whoever wants that block meanwhile is on the slow path, and waits
 * for this cache. */
static CUAI_INLINE bool claim(cuai_tcache_t *t, cuai_slot_t slot, uint64_t name, int what)
{
    uint32_t ordinary = t->upper[what];
    cuai_record_t *r = &t->heap->records[slot];
    if (CUAI_UNLIKELY(!__atomic_compare_exchange_n(&r->upper, &ordinary, ordinary ^ KEEPS, false,
                                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        return false;
    if (CUAI_LIKELY(is_named(t, slot, name, what)))
        return true;
    __atomic_store_n(&r->upper, t->upper[what], __ATOMIC_RELEASE);
    return false;
}

/* Ends the caller's names of a block that was claimed. */
static CUAI_INLINE void end_names(cuai_tcache_t *t, cuai_slot_t slot)
{
    cuai_record_t *r = &t->heap->records[slot];
    if (CUAI_UNLIKELY(t->trace != NULL))
        cuai_tcache_trace(t, slot, CUARENA_EVENT_FREE, cuai_requested(r));
    t->requested -= cuai_requested(r);
    r->asked = 0;
    r->pins = 0;
    CUAI_STORE(r->generation, r->generation + 1);
}

/* Puts a claimed block into its bin; false, with nothing changed: there is no room. */
static CUAI_INLINE bool keep(cuai_tcache_t *t, cuai_slot_t slot)
{
    uint64_t size = t->heap->records[slot].size;
    uint32_t number = cuai_bin_below(size >> t->heap->granule_log2);
    if (CUAI_UNLIKELY(number >= CUAI_BINS || t->bytes + size > t->room))
        return false;
    cuai_bin_t *bin = &t->bins[number];
    if (CUAI_UNLIKELY(bin->count == CUAI_BIN_DEPTH || (bin->count + 1u) * size > t->bin_room))
        return false;
    end_names(t, slot);
    bin->slots[bin->count++] = slot;
    t->bytes += size;
    return true;
}

/* Takes blocks out of the bin of that size, those which were kept longest: for other threads, or
 * into the heap. */
static void spill(cuarena_t *arena, cuai_tcache_t *t, uint64_t size)
{
    uint32_t number = cuai_bin_below(size >> t->heap->granule_log2);
    if (number >= CUAI_BINS)
        return;
    cuai_bin_t *bin = &t->bins[number];
    uint32_t gone = blocks_to_move(bin, -1);
    gone = gone < bin->count ? gone : bin->count;
    bool left = gone != 0 && put_magazine(arena, t, number, gone);
    for (uint32_t i = 0; i < gone; i++) {
        t->bytes -= cuai_record(t->heap, bin->slots[i])->size;
        if (!left)
            cuai_kept_free(arena, bin->slots[i]);
    }
    bin->count = (uint16_t)(bin->count - gone);
    for (uint32_t i = 0; i < bin->count; i++)
        bin->slots[i] = bin->slots[i + gone];
}

/* Frees the block of a name with both locks: into its bin, of which others leave where it is full,
 * or into the heap. False: nothing was done. */
static bool free_both(cuarena_t *arena, cuai_tcache_t *t, uint64_t name, int what)
{
    cuai_slot_t slot = slot_of(t, name, what);
    if (slot == 0 || !claim(t, slot, name, what))
        return false;
    if (keep(t, slot))
        return true;
    spill(arena, t, cuai_record(t->heap, slot)->size);
    if (keep(t, slot))
        return true;
    end_names(t, slot);
    cuai_kept_free(arena, slot);
    return true;
}

/* As free_both with the cache's lock only, where the bin has room and no change of the look-up
 * hides the block; else with both locks it may succeed. */
static CUAI_INLINE bool free_kept(cuai_tcache_t *t, uint64_t name, int what, bool *may_out)
{
    cuai_slot_t slot = slot_of(t, name, what);
    *may_out = slot == 0 || claim(t, slot, name, what);
    if (CUAI_UNLIKELY(slot == 0 || !*may_out))
        return false;
    if (CUAI_LIKELY(keep(t, slot)))
        return true;
    __atomic_store_n(&t->heap->records[slot].upper, t->upper[what], __ATOMIC_RELEASE);
    return false;
}

/* ---- Calls that want the heap -------------------------------------------- */

/* Does what a cache wants, if it runs or can be started. Both locks held. What the cache did is
 * counted each time, for peaks of requested bytes: its blocks may be as large as the heap. */
static bool run_pending(cuarena_t *arena, cuai_tcache_t *t)
{
    cuai_pending_t *pending = &t->pending;
    if (!cuai_tcache_start(arena, t))
        return false;
    cuai_tcache_fit(arena, t);
    bool done = pending->frees
                    ? free_both(arena, t, pending->name, pending->what)
                    : alloc_both(arena, t, pending->bytes, pending->what, &pending->name);
    cuai_tcache_count(arena, t);
    return done;
}

static bool is_wanting(const cuai_tcache_t *t)
{
    return atomic_load_explicit(&t->pending.state, memory_order_acquire) == CUAI_PENDING;
}

/* Serves a cache that wants something, and tells its thread. One of another thread that was stopped
 * is left to that thread, which may have a default stream of its own. Arena's lock held. */
static void run_pending_of(cuarena_t *arena, cuai_tcache_t *t, bool own)
{
    if (!is_wanting(t) || !(own || t->running) || !cuai_lock_enter(&t->lock))
        return;
    bool done = run_pending(arena, t);
    cuai_unlock(&t->lock);
    atomic_store_explicit(&t->pending.state, done ? CUAI_PENDING_DONE : CUAI_PENDING_REFUSED,
                          memory_order_release);
}

/* With the arena's lock, serves this thread and all that want something, then lets go: so a lock
 * that many threads want changes hands once for all of them. */
static void serve_all(cuarena_t *arena, cuai_tcache_t *own)
{
    run_pending_of(arena, own, true);
    for (cuai_tcache_t *t = arena->tcaches; t != NULL; t = t->next)
        run_pending_of(arena, t, false);
    if (arena->running == 0 && !cuai_tcaches_may_run(arena))
        cuai_tcaches_end(arena);
    cuai_unlock(&arena->lock);
}

/* Takes the arena's lock in the attempt of that number, the last of which sleeps for it. */
static bool try_lock(cuarena_t *arena, int attempt)
{
    return attempt < SPINS ? cuai_lock_try_seen_free(&arena->lock) : cuai_lock_enter(&arena->lock);
}

/* Waits until somebody has served the cache, or does it; *name_out is what was wanted. A signal
 * handler that interrupted this thread while it had the arena's lock is served by nobody, and does
 * not get the lock. Calls of handlers use this cache once `state` is reset, so that is last. */
static bool await(cuarena_t *arena, cuai_tcache_t *t, uint64_t *name_out)
{
    int attempt = 0;
    while (is_wanting(t) && attempt <= SPINS) {
        if (try_lock(arena, attempt))
            serve_all(arena, t);
        cuai_relax();
        attempt++;
    }
    bool done = atomic_load_explicit(&t->pending.state, memory_order_relaxed) == CUAI_PENDING_DONE;
    if (CUAI_LIKELY(done))
        *name_out = t->pending.name;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&t->pending.state, CUAI_NOTHING_PENDING, memory_order_relaxed);
    return done;
}

/* ---- Calls ------------------------------------------------------------- */

static CUAI_INLINE void leave(cuai_tcache_t *t)
{
    cuai_unlock(&t->lock);
    cuai_thread_enter(false);
}

/* The cache for a call of this thread, locked; NULL: the slow path is to do it. A signal handler
 * that interrupted a call of a cache gets none. */
static CUAI_INLINE cuai_tcache_t *enter(cuarena_t *arena, cuarena_stream_t stream)
{
    cuai_tcache_t *t = CUAI_UNLIKELY(cuai_tcache_entered) ? NULL : cuai_tcache_find(arena, stream);
    if (CUAI_UNLIKELY(t == NULL))
        return NULL;
    cuai_thread_enter(true);
    bool entered = cuai_lock_enter(&t->lock);
    if (CUAI_LIKELY(entered && atomic_load_explicit(&t->pending.state, memory_order_relaxed) ==
                                   CUAI_NOTHING_PENDING))
        return t;
    if (entered)
        cuai_unlock(&t->lock);
    cuai_thread_enter(false);
    return NULL;
}

bool cuai_tcache_alloc(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream, int what,
                       uint64_t *name_out)
{
    cuai_tcache_t *t = enter(arena, stream);
    if (CUAI_UNLIKELY(t == NULL))
        return false;
    bool done = CUAI_LIKELY(t->running) && hit(t, bytes, what, name_out);
    if (CUAI_UNLIKELY(!done)) {
        t->pending.frees = false;
        t->pending.what = what;
        t->pending.bytes = bytes;
        atomic_store_explicit(&t->pending.state, CUAI_PENDING, memory_order_relaxed);
    }
    leave(t);
    done = CUAI_LIKELY(done) || await(arena, t, name_out);
    cuai_trace_catch_up();
    return done;
}

bool cuai_tcache_free(cuarena_t *arena, uint64_t name, cuarena_stream_t stream, int what)
{
    bool may = true;
    cuai_tcache_t *t = enter(arena, stream);
    if (CUAI_UNLIKELY(t == NULL))
        return false;
    bool done = CUAI_LIKELY(t->running) && free_kept(t, name, what, &may);
    bool wants = !done && may;
    if (CUAI_UNLIKELY(wants)) {
        t->pending.frees = true;
        t->pending.what = what;
        t->pending.name = name;
        atomic_store_explicit(&t->pending.state, CUAI_PENDING, memory_order_relaxed);
    }
    leave(t);
    done = CUAI_UNLIKELY(wants) ? await(arena, t, &name) : done;
    cuai_trace_catch_up();
    return done;
}
