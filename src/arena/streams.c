/* The streams that an arena knows: numbers, free lists, and the way from a handle to them. */
#include "arena/streams.h"

#include <stdatomic.h>

#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/unlocked.h"

/* ---- Handles ----------------------------------------------------------- */

/* A number that no other thread has or had. */
static uint64_t this_thread(void)
{
    static _Atomic uint64_t made;
    static _Thread_local uint64_t mine;
    if (mine == 0)
        mine = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
    return mine;
}

bool cuai_stream_is_mine(const cuai_stream_t *s)
{
    return s->thread == 0 || s->thread == this_thread();
}

cuai_stream_t *cuai_stream_next(const cuarena_t *arena, uint32_t *number)
{
    while (++*number <= arena->last_stream)
        if (arena->streams[*number] != NULL)
            return arena->streams[*number];
    return NULL;
}

static bool is_for(const cuai_stream_t *s, cuarena_stream_t handle)
{
    return s->handle == handle && !s->released && cuai_stream_is_mine(s);
}

static uint32_t find_known(const cuarena_t *arena, cuarena_stream_t handle)
{
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (is_for(s, handle))
            return n;
    return 0;
}

uint32_t cuai_stream_known(const cuarena_t *arena, cuarena_stream_t stream)
{
    return find_known(arena, cuai_stream_normal(stream));
}

/* ---- Free lists ------------------------------------------------------------- */

uint32_t cuai_freelist_for_free(const cuarena_t *arena, int32_t region, uint32_t number)
{
    if (number == 0 || region == CUAI_APART)
        return 0;
    const cuai_stream_t *s = cuai_stream(arena, number);
    if (s->behind_open != 0)
        return s->freelists[s->turn][region];
    return s->behind_closed != 0 ? s->freelists[!s->turn][region] : 0;
}

void cuai_stream_note_open(const cuarena_t *arena, cuai_stream_t *s)
{
    s->fast.freelist = s->freelists[s->turn][CUAI_DYNAMIC];
    s->fast.index = arena->heaps[CUAI_DYNAMIC]->freelists[s->fast.freelist];
}

uint64_t cuai_stream_ranges(const cuarena_t *arena, const cuai_stream_t *s, uint32_t which)
{
    uint64_t ranges = 0;
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            ranges += arena->heaps[region]->freelists[s->freelists[which][region]]->ranges;
    return ranges;
}

uint64_t cuai_stream_bytes(const cuarena_t *arena, const cuai_stream_t *s, uint32_t which)
{
    uint64_t bytes = 0;
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            bytes += arena->heaps[region]->freelists[s->freelists[which][region]]->free_bytes;
    return bytes;
}

void cuai_freelists_end(const cuarena_t *arena, uint32_t *freelists)
{
    for (int region = 0; region < CUAI_LISTED; region++) {
        if (freelists[region] != 0)
            cuarena_heap_freelist_destroy(arena->heaps[region], freelists[region]);
        freelists[region] = 0;
    }
}

cuarena_status_t cuai_freelists_make(const cuarena_t *arena, uint32_t *freelists)
{
    cuarena_status_t status = CUARENA_OK;
    for (int region = 0; region < CUAI_LISTED && status == CUARENA_OK; region++)
        if (arena->heaps[region] != NULL)
            status = cuarena_heap_freelist_create(arena->heaps[region], &freelists[region]);
    if (status != CUARENA_OK)
        cuai_freelists_end(arena, freelists);
    return status;
}

void cuai_freelists_merge(const cuarena_t *arena, const uint32_t *from, const uint32_t *to)
{
    for (int region = 0; region < CUAI_LISTED; region++)
        if (arena->heaps[region] != NULL)
            cuarena_heap_freelist_merge(arena->heaps[region], from[region], to[region]);
}

/* ---- Recently found ---------------------------------------------------- */

/* An address in the arena cannot be the handle of a stream. */
static cuarena_stream_t nobodys(void *memory)
{
    return (cuarena_stream_t)memory;
}

static void forget_recent(cuai_recent_t *recent)
{
    *recent = (cuai_recent_t){nobodys(recent), NULL};
}

void cuai_slow_set(cuarena_t *arena, uint32_t bits, bool on)
{
    CUAI_ASSERT(bits != 0);
    arena->slow = on ? arena->slow | bits : arena->slow & ~bits;
    forget_recent(&arena->last);
}

static void note_freelists(cuarena_t *arena)
{
    cuai_slow_set(arena, CUAI_SLOW_FREELISTS, arena->stream_count > 1 || arena->cpu_touches);
}

void cuai_stream_note_used(cuarena_t *arena, cuarena_stream_t handle, cuai_stream_t *s)
{
    cuai_assert_locked(arena);
    if ((arena->slow & ~CUAI_SLOW_RESIZES) == 0)
        arena->last = (cuai_recent_t){handle, s};
}

void cuai_streams_begin(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    for (uint32_t i = 0; i < CUAI_RECENT; i++)
        forget_recent(&arena->recent[i]);
    note_freelists(arena);
}

static void learn(cuarena_t *arena, cuarena_stream_t handle, cuai_stream_t *s)
{
    if (s->eager || s->released || s->capture != NULL)
        return;
    arena->recent[cuai_recent_place(handle)] = (cuai_recent_t){handle, s};
}

void cuai_stream_unlearn(cuarena_t *arena, cuai_stream_t *s)
{
    cuai_assert_locked(arena);
    cuai_tcaches_flush(arena); /* what they keep of the stream was freed on it */
    forget_recent(&arena->last);
    for (uint32_t i = 0; i < CUAI_RECENT; i++)
        if (arena->recent[i].stream == s)
            forget_recent(&arena->recent[i]);
}

/* ---- Numbers ----------------------------------------------------------- */

/* Ends a stream whose free lists are empty. */
static void forget(cuarena_t *arena, uint32_t number)
{
    cuai_stream_t *s = arena->streams[number];
    CUAI_ASSERT(s != NULL && s->capture == NULL && arena->stream_count != 0);
    cuai_stream_unlearn(arena, s);
    cuai_freelists_end(arena, s->freelists[0]);
    cuai_freelists_end(arena, s->freelists[1]);
    cuai_host_free(s->scopes);
    cuai_host_free(s);
    arena->streams[number] = NULL;
    arena->stream_count--;
    while (arena->last_stream != 0 && arena->streams[arena->last_stream] == NULL)
        arena->last_stream--;
    note_freelists(arena);
}

/* Whether no block, wait, free list or call needs the number. */
static bool is_unneeded(const cuai_stream_t *s)
{
    return s->behind_closed == 0 && s->waits == 0 && s->callers == 0 && s->touching == 0 &&
           s->cached == 0 && cuai_counter_blocks(&s->counter) == 0;
}

void cuai_streams_recycle(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s;
    for (uint32_t n = 0; !arena->reclaiming && (s = cuai_stream_next(arena, &n)) != NULL;)
        if (s->released && cuai_timeline_is_empty(&s->timeline) && is_unneeded(s))
            forget(arena, n);
}

cuai_stream_t *cuai_stream_left_idle(const cuarena_t *arena)
{
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (s->thread != 0 && !s->released && !cuai_stream_is_mine(s) && is_unneeded(s) &&
            cuai_stream_ranges(arena, s, 0) == 0 && cuai_stream_ranges(arena, s, 1) == 0)
            break;
    return s;
}

/* The lowest free number; 0: there is none. */
static uint32_t free_number(const cuarena_t *arena)
{
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++)
        if (arena->streams[n] == NULL)
            return n;
    return 0;
}

static cuarena_status_t ready_table(cuarena_t *arena)
{
    if (arena->streams == NULL)
        arena->streams = cuai_host_alloc(CUAI_STREAM_NUMBERS * sizeof(*arena->streams));
    if (arena->streams != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for streams");
}

static cuarena_status_t add(cuarena_t *arena, cuarena_stream_t handle,
                            const cuarena_stream_info_t *info, uint32_t *number_out)
{
    cuarena_status_t status = ready_table(arena);
    uint32_t number = status == CUARENA_OK ? free_number(arena) : 0;
    if (status == CUARENA_OK && number == 0)
        status = cuai_fail(CUARENA_LIMIT,
                           "stream %p: %u streams are known, the most, with those that were "
                           "released and have blocks; cuarena_release_stream ends one that has "
                           "none",
                           (void *)handle, CUARENA_MAX_STREAMS);
    if (status != CUARENA_OK)
        return status;
    cuai_stream_t *s = cuai_host_alloc(sizeof *s);
    if (s == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a stream");
    s->handle = handle;
    s->born_serial = arena->event_serial;
    s->info = *info;
    s->thread = info->per_thread ? this_thread() : 0;
    s->eager = info->per_thread || arena->config.events == CUARENA_EVENTS_EAGER;
    s->behind_open = s->eager ? 0 : CUAI_TO_COME;
    s->timeline.head.next = s->timeline.head.previous = &s->timeline.head;
    status = cuai_freelists_make(arena, s->freelists[0]);
    if (status == CUARENA_OK)
        status = cuai_freelists_make(arena, s->freelists[1]);
    if (status != CUARENA_OK) {
        cuai_freelists_end(arena, s->freelists[0]);
        cuai_host_free(s);
        return status;
    }
    s->number = number;
    uint64_t own = CUAI_OWNER_ATTRIBUTES(number) | arena->heaps[CUAI_DYNAMIC]->align_attributes;
    cuai_fast_set(&s->fast, CUAI_BLOCK_ATTRIBUTES | own, CUAI_POINTER_ATTRIBUTES | own);
    cuai_stream_note_open(arena, s);
    arena->streams[number] = s;
    arena->stream_count++;
    arena->last_stream = (uint32_t)cuai_max(arena->last_stream, number);
    note_freelists(arena);
    *number_out = number;
    return CUARENA_OK;
}

/* ---- First sight ------------------------------------------------------- */

static cuarena_status_t check_identity(cuarena_stream_t handle, const cuarena_stream_info_t *info,
                                       bool captured)
{
    if (info->capturing && !captured)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "stream %p is being captured into a graph; accepted: "
                         "streams that are not, or cuarena_capture_begin",
                         (void *)handle);
    return CUARENA_OK;
}

/* The number of the stream, if another thread has introduced it meanwhile; else 0, and a number is
 * free if one can be. Drops the lock to make room, so it looks for the stream again. */
static uint32_t find_or_make_room(cuarena_t *arena, cuarena_stream_t handle)
{
    cuai_assert_locked(arena);
    uint32_t number = find_known(arena, handle);
    if (number != 0 || arena->stream_count != CUARENA_MAX_STREAMS)
        return number;
    cuai_streams_make_room(arena);
    return find_known(arena, handle);
}

/* The number of a stream that is known and is not being released; 0: there is none. What the
 * caller queued on a stream that is released meanwhile may come after its last event. Drops the
 * lock. */
static uint32_t find_staying(cuarena_t *arena, cuarena_stream_t handle)
{
    uint32_t number = find_known(arena, handle);
    while (number != 0 && cuai_stream(arena, number)->releasing) {
        cuai_arena_wait(arena);
        number = find_known(arena, handle);
    }
    return number;
}

uint32_t cuai_stream_find_known(cuarena_t *arena, cuarena_stream_t stream)
{
    cuarena_stream_t handle = cuai_stream_normal(stream);
    cuai_assert_locked(arena);
    while (arena->introducing != 0)
        cuai_arena_wait(arena);
    uint32_t number = find_staying(arena, handle);
    if (number != 0)
        cuai_stream(arena, number)->callers++;
    return number;
}

/* Asks the memory about a handle. Releases wait meanwhile. Drops the lock. */
static cuarena_status_t identify(cuarena_t *arena, cuarena_stream_t handle,
                                 cuarena_stream_info_t *info)
{
    cuai_assert_locked(arena);
    arena->introducing++;
    cuarena_status_t status = cuai_unlocked_identify(arena, handle, info);
    arena->introducing--;
    cuai_cond_wake(&arena->changed);
    return status;
}

static cuarena_status_t introduce(cuarena_t *arena, cuarena_stream_t handle, bool captured,
                                  uint32_t *number_out)
{
    if (arena->memory.ops.identify == NULL)
        return cuai_fail(CUARENA_UNSUPPORTED, "stream %p: memory '%s' knows no streams",
                         (void *)handle, arena->memory.ops.name);
    cuarena_stream_info_t info = {0};
    cuarena_status_t status = identify(arena, handle, &info);
    if (status == CUARENA_OK)
        status = check_identity(handle, &info, captured);
    if (status != CUARENA_OK)
        return status;
    *number_out = find_or_make_room(arena, handle);
    return *number_out != 0 ? CUARENA_OK : add(arena, handle, &info, number_out);
}

cuarena_status_t cuai_stream_find(cuarena_t *arena, cuarena_stream_t stream, bool may_be_captured,
                                  uint32_t *number_out)
{
    cuai_assert_locked(arena);
    *number_out = 0;
    if (stream == CUARENA_NO_STREAM)
        return CUARENA_OK;
    cuarena_stream_t handle = cuai_stream_normal(stream);
    const cuai_stream_t *recent = cuai_stream_recent(arena, stream);
    uint32_t number = recent != NULL ? recent->number : find_staying(arena, handle);
    cuarena_status_t status = CUARENA_OK;
    if (number == 0 && !cuai_is_lost(arena))
        status = introduce(arena, handle, may_be_captured, &number);
    if (status != CUARENA_OK || number == 0)
        return status;
    cuai_stream(arena, number)->callers++;
    learn(arena, stream, cuai_stream(arena, number));
    *number_out = number;
    return CUARENA_OK;
}

cuarena_status_t cuai_check_captured(const cuarena_t *arena, uint32_t number)
{
    if (!cuai_is_captured(arena, number))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BUSY,
                     "stream %p is in an open capture session, and is given "
                     "nothing to do before cuarena_capture_end",
                     (void *)cuai_stream(arena, number)->handle);
}

cuarena_status_t cuai_stream_ask_captured(cuarena_t *arena, uint32_t number, bool *captured_out)
{
    cuai_assert_locked(arena);
    cuarena_stream_info_t info = {0};
    cuarena_status_t status = CUARENA_OK;
    cuarena_stream_t handle = cuai_stream_touch(arena, number);
    bool asks = handle != CUARENA_NO_STREAM && !cuai_is_lost(arena) &&
                cuai_stream_is_mine(cuai_stream(arena, number));
    if (asks)
        status = cuai_unlocked_identify(arena, handle, &info);
    cuai_stream_untouch(arena, number);
    *captured_out = info.capturing;
    return status;
}

cuarena_stream_t cuai_stream_touch(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    if (number == 0)
        return CUARENA_NO_STREAM;
    CUAI_ASSERT(cuai_stream(arena, number) != NULL);
    cuai_stream_t *s = cuai_stream(arena, number);
    s->callers++; /* keeps its number meanwhile */
    while (s->recording)
        cuai_arena_wait(arena);
    s->callers--;
    s->touching++;
    return cuai_stream_handle(arena, number);
}

cuarena_status_t cuai_stream_touch_for_work(cuarena_t *arena, uint32_t number,
                                            cuarena_stream_t *handle_out)
{
    cuai_assert_locked(arena);
    *handle_out = cuai_stream_touch(arena, number);
    if (number == 0 || *handle_out != CUARENA_NO_STREAM || cuai_is_lost(arena))
        return CUARENA_OK;
    return cuai_timeline_see(arena, 0, cuai_closed(cuai_stream(arena, number)), true);
}

void cuai_stream_untouch(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    if (number == 0)
        return;
    CUAI_ASSERT(cuai_stream(arena, number)->touching != 0);
    cuai_stream(arena, number)->touching--;
    cuai_cond_wake(&arena->changed);
}

void cuai_stream_leave(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    if (number == 0)
        return;
    cuai_stream_t *s = cuai_stream(arena, number);
    CUAI_ASSERT(s->callers != 0);
    s->callers--;
    if (s->released && s->callers == 0)
        cuai_streams_recycle(arena);
}

/* ---- What they have ---------------------------------------------------- */

static uint64_t freelist_largest(const cuarena_heap_t *heap, uint32_t freelist)
{
    uint64_t largest = 0;
    cuarena_heap_largest(heap, freelist, &largest);
    return largest;
}

uint64_t cuai_freelists_largest(const cuarena_t *arena, int region)
{
    const cuarena_heap_t *heap = arena->heaps[region];
    uint64_t largest = freelist_largest(heap, 0);
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        for (int i = 0; s->capture == NULL && i < 2; i++)
            largest = cuai_max(largest, freelist_largest(heap, s->freelists[i][region]));
    return largest;
}

uint64_t cuai_usable_bytes(const cuarena_t *arena, int region, uint32_t number,
                           uint64_t *largest_out)
{
    const cuarena_heap_t *heap = arena->heaps[region];
    uint64_t bytes = heap->freelists[0]->free_bytes;
    *largest_out = freelist_largest(heap, 0);
    for (int i = 0; number != 0 && i < 2; i++) {
        uint32_t own = cuai_stream(arena, number)->freelists[i][region];
        if (own == 0) /* the stream was released */
            continue;
        bytes += heap->freelists[own]->free_bytes;
        *largest_out = cuai_max(*largest_out, freelist_largest(heap, own));
    }
    return bytes;
}

/* ---- The end ----------------------------------------------------------- */

void cuai_streams_forget(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;) {
        cuai_timeline_end(arena, &s->timeline);
        cuai_host_free(s->scopes);
        cuai_host_free(s);
    }
    cuai_host_free(arena->streams);
    arena->streams = NULL;
    arena->stream_count = arena->last_stream = 0;
    note_freelists(arena);
}
