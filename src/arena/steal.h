/* Stealing: requests that are served from other streams' free lists (steal.c). */
#ifndef CUAI_ARENA_STEAL_H
#define CUAI_ARENA_STEAL_H

#include "arena/alloc.h"
#include "arena/streams.h"
#include "heap/ranges.h"

/* What became of an attempt. */
typedef enum cuai_stolen {
    CUAI_STOLEN_NOWHERE, /* the stream has waited for no other, and must not wait now */
    CUAI_STOLEN_NOTHING,
    CUAI_STOLEN_IDLE, /* bytes became idle: look for them there */
    CUAI_STOLEN       /* the request has its block */
} cuai_stolen_t;

/* Whether streams may be made to wait for others. */
static inline bool cuai_steal_waits(const cuarena_t *arena)
{
    return arena->config.steal <= CUARENA_STEAL_WAIT;
}

/* Whether they are as soon as they need bytes: the arena has no others, or is not to take any. */
static inline bool cuai_steal_waits_first(const cuarena_t *arena)
{
    return arena->config.steal == CUARENA_STEAL_FIRST ||
           (cuai_steal_waits(arena) && cuai_is_pool(arena));
}

/* Whether a request is a large one. */
static inline bool cuai_is_large(const cuarena_heap_t *heap, uint64_t size)
{
    return size >= heap->capacity >> 10;
}

/* Whether requests of this size on a stream are placed across all free lists that it may use: large
 * ones where streams wait before the arena takes more, since what does not fit then makes one wait,
 * or fails. Where it takes more first the look would save little, and takes longer than the
 * allocation. */
static inline bool cuai_steals_for(const cuarena_t *arena, const cuarena_heap_t *heap,
                                   uint64_t size)
{
    return arena->stream_count > 1 && cuai_steal_waits_first(arena) && cuai_is_large(heap, size) &&
           !arena->cpu_touches;
}

/* Whether a large request is for the very bytes that its stream got last, and freed, where nothing
 * else in the heap has changed since: then a look across the free lists would place it there again,
 * and asks nothing of other streams. The bytes are in the stream's open free list. Counts on the
 * caller to allocate them. */
static inline bool cuai_gets_again(const cuarena_t *arena, cuai_stream_t *s, uint64_t size)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (cuai_version(heap) != s->placed.version + 1)
        return false;
    uint32_t zone = cuai_zone_of(heap, s->placed.offset);
    if (zone >= CUAI_ZONES) /* a heap that was emptied counts anew, and has other segments */
        return false;
    cuai_slot_t owner = s->fast.index->heads[cuai_list_of(zone, cuai_class(heap, size))];
    const cuai_record_t *r = cuai_record(heap, owner);
    if (owner == 0 || cuai_end(r) != s->placed.offset || cuai_range(r) != size)
        return false;
    s->placed.version += 2; /* by the free and by the allocation */
    return true;
}

/* Places a request across the free lists that its stream may use without a wait. On failure returns
 * the heap's answer: LIMIT, FRAGMENTED, OUT_OF_MEMORY. */
cuarena_status_t cuai_try_alloc_stealing(cuarena_t *arena, const cuai_request_t *request,
                                         cuai_block_ref_t *block_out);
/* Allocates on a stream from free lists of all streams together, and lets the stream wait for the
 * others; or reclaims what is complete now. O(ranges). Drops the lock. */
cuai_stolen_t cuai_steal(cuarena_t *arena, const cuai_request_t *request,
                         cuai_block_ref_t *block_out);
/* Whether a stream may be given all that the others freed: not one that is captured, nor where
 * these are never waited for, nor where the CPU touches bytes, which no stream's wait makes safe.
 */
static inline bool cuai_may_steal_all(const cuarena_t *arena, uint32_t number)
{
    return number != 0 && !arena->cpu_touches && cuai_steal_waits(arena) &&
           !cuai_is_captured(arena, number);
}

/* Lets the stream wait for all others and gives it what their free lists have, so that a compaction
 * on it can move blocks there, or their SEPARATORs go. O(ranges taken). Drops the lock. */
cuarena_status_t cuai_steal_all(cuarena_t *arena, uint32_t number);
/* Makes a stream wait for the work of stream `owner` behind cached blocks with a stamp; with number
 * 0, or where the CPU touches bytes, only asks. BUSY: the work is not done, or cannot be waited
 * for. Drops the lock. */
cuarena_status_t cuai_stream_await(cuarena_t *arena, uint32_t number, uint32_t owner,
                                   uint64_t stamp);

/* ---- Waits that the program makes by itself ---------------------------- */

/* Begins a new serial of the stream: what it frees until now can be told from what it frees later.
 * Drops the lock. */
cuarena_status_t cuai_moment(cuarena_t *arena, uint32_t number, uint64_t *serial_out);
/* The caller made `waiter` wait for such a moment of `producer`, or with 0 waited itself. Drops the
 * lock. */
void cuai_note_wait(cuarena_t *arena, uint32_t waiter, uint32_t producer, uint64_t serial);

#endif
