#define _GNU_SOURCE
#include "arena/thread_cache.h"

#include <pthread.h>
#include <string.h>

#include "arena/counts.h"
#include "arena/reclaim.h"
#include "arena/streams.h"
#include "arena/traced.h"
#include "base/host.h"

/* Caches of this thread whose arena and stream are found without a search. */
#define PLACES 8u
/* The most caches of a thread. */
#define MOST 32u

/* What a thread has. The model is found without a call, also in a library that was loaded late. */
typedef struct thread {
    cuai_tcache_t *places[PLACES];
    cuai_tcache_t *all;
    uint32_t count;
    bool ended; /* the thread's caches ended with it */
} thread_t;

#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local thread_t thread;

_Thread_local volatile bool cuai_tcache_entered;

/* ---- Counting ---------------------------------------------------------- */

/* Adds what the cache did to a counter, and leaves it out of none. */
static void add(cuai_counter_t *counter, const cuai_tcache_t *t)
{
    counter->allocs += t->allocs;
    cuai_counter_resize(counter, 0, t->requested);
}

void cuai_tcache_count(cuarena_t *arena, cuai_tcache_t *t)
{
    cuai_lock_assert_held(&arena->lock);
    cuai_lock_assert_held(&t->lock);
    if (t->allocs == 0 && t->requested == 0)
        return;
    add(&t->heap->counter, t);
    if (arena->slow & CUAI_SLOW_WHOLE)
        add(&arena->whole, t);
    if (t->number != 0)
        add(&cuai_stream(arena, t->number)->counter, t);
    cuai_note_change(t->heap);
    t->allocs = 0;
    t->requested = 0;
}

void cuai_tcache_trace(const cuai_tcache_t *t, cuai_slot_t slot, int32_t kind, uint64_t bytes)
{
    cuai_trace_entry_t event;
    cuai_lock_assert_held(&t->lock);
    cuai_see_untagged((cuai_block_ref_t){t->heap, slot, CUAI_DYNAMIC}, kind, t->handle, &event);
    event.seen.bytes = bytes;
    event.seen.thread = t->thread;
    cuai_trace_add(t->trace, &event);
}

/* ---- Stopping ---------------------------------------------------------- */

/* Does nothing where this thread is in a call of the cache. */
static void stop(cuarena_t *arena, cuai_tcache_t *t)
{
    if (!t->running || !cuai_lock_enter(&t->lock))
        return;
    t->running = false;
    arena->running--;
    cuai_tcache_count(arena, t);
    cuai_unlock(&t->lock);
}

bool cuai_tcaches_stop(cuarena_t *arena)
{
    cuai_lock_assert_held(&arena->lock);
    for (cuai_tcache_t *t = arena->tcaches; t != NULL; t = t->next)
        stop(arena, t);
    return arena->running == 0;
}

bool cuai_tcaches_enter(cuarena_t *arena)
{
    if (cuai_tcache_entered)
        return false;
    cuai_thread_enter(true);
    bool entered = cuai_lock_enter(&arena->lock);
    if (entered)
        (void)cuai_tcaches_stop(arena);
    cuai_thread_enter(false);
    return entered;
}

/* The free list for a block that is KEPT. Its free recorded no event, so the one that an eager
 * stream has behind its open free list may be older than the free: another one is to come. */
static uint32_t freelist_for(const cuarena_t *arena, uint32_t number)
{
    cuai_stream_t *s = number == 0 ? NULL : cuai_stream(arena, number);
    if (s != NULL && s->eager)
        cuai_stream_want_event(arena, s);
    return cuai_freelist_for_free(arena, CUAI_DYNAMIC, number);
}

void cuai_kept_free(cuarena_t *arena, cuai_slot_t slot)
{
    cuai_lock_assert_held(&arena->lock);
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(r->kind == CUAI_KEPT && cuai_tag_of(r) == 0);
    uint32_t freelist = freelist_for(arena, r->owner);
    cuai_count_out(arena, r);
    arena->unreturned = arena->unreturned || freelist == 0;
    cuai_heap_free(heap, slot, freelist);
}

static bool flush(cuarena_t *arena, cuai_tcache_t *t)
{
    bool any = t->bytes != 0;
    for (uint32_t i = 0; any && i < CUAI_BINS; i++) {
        cuai_bin_t *bin = &t->bins[i];
        while (bin->count != 0)
            cuai_kept_free(arena, bin->slots[--bin->count]);
    }
    t->bytes = 0;
    return any;
}

static bool flush_depot(cuarena_t *arena)
{
    cuai_depot_t *depot = arena->depot;
    bool any = depot != NULL && depot->bytes != 0;
    for (uint32_t i = 0; any && i < CUAI_BINS * CUAI_MAGAZINES; i++) {
        cuai_magazine_t *magazine = &depot->magazines[i / CUAI_MAGAZINES][i % CUAI_MAGAZINES];
        while (magazine->count != 0)
            cuai_kept_free(arena, magazine->slots[--magazine->count]);
    }
    if (any)
        depot->bytes = 0;
    return any;
}

bool cuai_tcaches_flush(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    bool any = flush_depot(arena);
    for (cuai_tcache_t *t = arena->tcaches; t != NULL; t = t->next)
        any = flush(arena, t) || any;
    return any;
}

void cuai_tcaches_begin(cuarena_t *arena)
{
    cuai_lock_assert_held(&arena->lock);
    if (arena->depot == NULL)
        arena->depot = cuai_host_alloc(sizeof *arena->depot);
    arena->heaps[CUAI_DYNAMIC]->slots_at_once = CUAI_SLOTS_AT_ONCE;
    cuai_slow_set(arena, CUAI_SLOW_THREADS, true);
    atomic_store_explicit(&arena->tcached, true, memory_order_relaxed);
}

void cuai_tcaches_end(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_tcaches_flush(arena);
    arena->meetings = 0;
    arena->heaps[CUAI_DYNAMIC]->slots_at_once = 1;
    cuai_slow_set(arena, CUAI_SLOW_THREADS, false);
    atomic_store_explicit(&arena->tcached, false, memory_order_relaxed);
}

/* ---- The end of a thread ----------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its value is not NULL in threads that have caches */
static bool has_key;

/* Takes the cache out of its arena, which gets back what it keeps. */
static void leave_arena(cuarena_t *arena, cuai_tcache_t *t)
{
    cuai_lock(&arena->lock);
    stop(arena, t);
    flush(arena, t);
    cuai_tcache_t **link = &arena->tcaches;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    arena->tcache_count--;
    if (arena->tcache_count == 0)
        cuai_tcaches_end(arena);
    cuai_unlock(&arena->lock);
}

static void forget_places(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        thread.places[i] = NULL;
}

static void end_thread(void *unused)
{
    (void)unused;
    thread.ended = true;
    cuai_lock(&cuai_arenas_lock);
    for (cuai_tcache_t *t = thread.all; t != NULL;) {
        cuai_tcache_t *next = t->of_thread;
        cuarena_t *arena = atomic_load_explicit(&t->arena, memory_order_relaxed);
        if (arena != NULL)
            leave_arena(arena, t);
        cuai_lock_cleanup(&t->lock);
        cuai_host_free(t);
        t = next;
    }
    cuai_unlock(&cuai_arenas_lock);
    thread.all = NULL;
    forget_places();
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end_thread) == 0;
}

/* Whether the cache is of no arena, because its arena has ended. Another thread may have ended it
 * just now: what that wrote to the cache is before what this thread will. */
static bool is_unused(const cuai_tcache_t *t)
{
    return atomic_load_explicit(&t->arena, memory_order_acquire) == NULL;
}

/* Frees the caches of this thread whose arenas have ended. */
static void free_unused(void)
{
    forget_places();
    for (cuai_tcache_t **link = &thread.all; *link != NULL;) {
        cuai_tcache_t *t = *link;
        if (!is_unused(t)) {
            link = &t->of_thread;
            continue;
        }
        *link = t->of_thread;
        thread.count--;
        cuai_lock_cleanup(&t->lock);
        cuai_host_free(t);
    }
}

/* Without this the key of a library that was unloaded would call what is not there any more, and
 * the caches of the thread that ends the process, of which no key tells, would look lost. */
__attribute__((destructor)) static void end_key(void)
{
    if (!has_key)
        return;
    (void)pthread_key_delete(key);
    free_unused();
}

/* Makes sure that the thread's caches end with it; false: they would not. */
static bool heed_end(void)
{
    (void)pthread_once(&once, make_key);
    return has_key && !thread.ended &&
           (thread.all != NULL || pthread_setspecific(key, &thread) == 0);
}

/* ---- Starting ---------------------------------------------------------- */

bool cuai_tcaches_may_run(const cuarena_t *arena)
{
    cuai_lock_assert_held(&arena->lock);
    const uint32_t harmless = CUAI_SLOW_WHOLE | CUAI_SLOW_FREELISTS | CUAI_SLOW_RESIZES |
                              CUAI_SLOW_THREADS | CUAI_SLOW_TRACE;
    return (arena->slow & ~harmless) == 0 && arena->heaps[CUAI_DYNAMIC]->smooth &&
           !arena->compacting;
}

void cuai_tcache_fit(const cuarena_t *arena, cuai_tcache_t *t)
{
    cuai_lock_assert_held(&arena->lock);
    cuai_lock_assert_held(&t->lock);
    uint64_t free_bytes = cuai_free_bytes(arena->heaps[CUAI_DYNAMIC]) + t->bytes;
    CUAI_ASSERT(arena->tcache_count != 0);
    t->room = free_bytes / CUAI_KEPT_SHARE / arena->tcache_count;
    t->bin_room = t->room / CUAI_BIN_SHARE;
}

/* What its blocks are, by those that the fast path makes for the same calls. */
static void set_stream(const cuarena_t *arena, cuai_tcache_t *t, const cuai_stream_t *s)
{
    const cuai_fast_t *fast = s == NULL ? &arena->none[CUAI_DYNAMIC] : &s->fast;
    CUAI_ASSERT(t->bytes == 0 || t->number == (s == NULL ? 0 : s->number));
    t->number = s == NULL ? 0 : s->number;
    t->heap = arena->heaps[CUAI_DYNAMIC];
    for (int what = 0; what < 2; what++)
        t->upper[what] = fast->upper[what];
}

/* Whether a cache may keep blocks of the stream: their frees need no call of the memory. */
static bool may_keep_for(const cuarena_t *arena, const cuai_stream_t *s)
{
    return !arena->cpu_touches && !s->released && !s->releasing && s->capture == NULL &&
           (!s->eager || cuai_stream_is_unasked(arena, s));
}

bool cuai_tcache_start(cuarena_t *arena, cuai_tcache_t *t)
{
    cuai_lock_assert_held(&arena->lock);
    cuai_lock_assert_held(&t->lock);
    if (t->running)
        return true;
    bool on = t->handle != CUARENA_NO_STREAM;
    uint32_t number = on ? cuai_stream_known(arena, t->handle) : 0;
    const cuai_stream_t *s = number == 0 ? NULL : cuai_stream(arena, number);
    if (!cuai_arena_is_tcached(arena) || !cuai_tcaches_may_run(arena) ||
        (on && (s == NULL || !may_keep_for(arena, s))))
        return false;
    set_stream(arena, t, s);
    cuai_tcache_fit(arena, t);
    t->trace = cuai_is_traced(arena) ? &arena->trace : NULL;
    t->running = true;
    arena->running++;
    return true;
}

/* ---- Finding ----------------------------------------------------------- */

static uint32_t place_of(const cuarena_t *arena, cuarena_stream_t handle)
{
    uint64_t bits = cuai_address(arena) ^ (uint64_t)(uintptr_t)handle;
    return (uint32_t)(bits >> 4 ^ bits >> 9) % PLACES;
}

static bool is_for(const cuai_tcache_t *t, const cuarena_t *arena, cuarena_stream_t handle)
{
    return atomic_load_explicit(&t->arena, memory_order_relaxed) == arena && t->handle == handle;
}

/* A cache of an arena that has ended, or a new one; NULL: the thread has enough, or the host has no
 * memory. */
static cuai_tcache_t *get_unused(void)
{
    cuai_tcache_t *t = thread.all;
    while (t != NULL && !is_unused(t))
        t = t->of_thread;
    if (t != NULL || thread.count == MOST || !heed_end())
        return t;
    t = cuai_host_alloc(sizeof *t);
    if (t == NULL)
        return NULL;
    cuai_lock_init(&t->lock);
    t->of_thread = thread.all;
    thread.all = t;
    thread.count++;
    return t;
}

/* The cache has no blocks, whatever it had of an arena that ended. */
static void join_arena(cuarena_t *arena, cuai_tcache_t *t, cuarena_stream_t handle)
{
    memset(t->bins, 0, sizeof t->bins);
    t->bytes = 0;
    t->allocs = 0;
    t->requested = 0;
    t->handle = handle;
    t->thread = cuai_trace_thread();
    t->next = arena->tcaches;
    atomic_store_explicit(&t->arena, arena, memory_order_relaxed);
    arena->tcaches = t;
    arena->tcache_count++;
}

static cuai_tcache_t *make_locked(cuarena_t *arena, cuarena_stream_t handle)
{
    if (thread.ended || !cuai_lock_enter(&arena->lock))
        return NULL;
    cuai_tcache_t *t = NULL;
    if (arena->slow & CUAI_SLOW_THREADS)
        t = get_unused();
    if (t != NULL)
        join_arena(arena, t, handle);
    cuai_unlock(&arena->lock);
    return t;
}

/* A signal handler does not see the thread's caches change. */
static cuai_tcache_t *make(cuarena_t *arena, cuarena_stream_t handle)
{
    cuai_thread_enter(true);
    cuai_tcache_t *t = make_locked(arena, handle);
    cuai_thread_enter(false);
    return t;
}

cuai_tcache_t *cuai_tcache_find(cuarena_t *arena, cuarena_stream_t handle)
{
    cuai_tcache_t **place = &thread.places[place_of(arena, handle)];
    cuai_tcache_t *t = *place;
    if (CUAI_LIKELY(t != NULL && is_for(t, arena, handle)))
        return t;
    t = thread.all;
    while (t != NULL && !is_for(t, arena, handle))
        t = t->of_thread;
    if (t == NULL)
        t = make(arena, handle);
    if (t != NULL)
        *place = t;
    return t;
}

/* ---- The arena --------------------------------------------------------- */

uint64_t cuai_tcaches_bookkeeping(const cuarena_t *arena)
{
    return arena->tcache_count * sizeof(cuai_tcache_t) +
           (arena->depot == NULL ? 0 : sizeof *arena->depot);
}

void cuai_tcaches_leave(cuarena_t *arena)
{
    cuai_lock_assert_static_held(&cuai_arenas_lock);
    for (cuai_tcache_t *t = arena->tcaches; t != NULL;) {
        cuai_tcache_t *next = t->next;
        t->running = false;
        atomic_store_explicit(&t->arena, NULL, memory_order_release); /* see get_unused */
        t = next;
    }
    cuai_host_free(arena->depot);
    arena->depot = NULL;
    arena->tcaches = NULL;
    arena->tcache_count = 0;
    arena->running = 0;
}

void cuai_tcaches_after_fork(cuarena_t *arena)
{
    cuai_tcache_t **link = &arena->tcaches;
    while (*link != NULL) {
        cuai_tcache_t *t = *link;
        const cuai_tcache_t *own = thread.all;
        while (own != NULL && own != t)
            own = own->of_thread;
        if (own != NULL || t->bytes != 0) {
            link = &t->next;
            continue;
        }
        *link = t->next;
        arena->tcache_count--;
        cuai_host_free(t);
    }
}

const char *cuai_tcaches_wrong(const cuarena_t *arena)
{
    uint32_t count = 0;
    for (const cuai_tcache_t *t = arena->tcaches; t != NULL; t = t->next) {
        count++;
        if (t->bytes != 0 || t->allocs != 0 || t->requested != 0)
            return "a cache of a thread has blocks, or counts, that were to be given back";
    }
    bool empty = arena->depot == NULL || arena->depot->bytes == 0;
    return count == arena->tcache_count && arena->running == 0 && empty
               ? NULL
               : "the caches of threads are not those that were counted";
}
