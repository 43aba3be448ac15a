/*
 * Reclaiming: bytes that were freed on a stream become idle when the work before the free is done
 * (reclaim.c).
 *
 * One thread at a time reclaims. Others wait until it is done, and then look again at what there
 * is. Below, "the caller reclaims" says that the function is called between cuai_reclaim_begin and
 * cuai_reclaim_end.
 */
#ifndef CUAI_ARENA_RECLAIM_H
#define CUAI_ARENA_RECLAIM_H

#include "arena/alloc.h"

/* How often events are looked at, at most, while streams ask for as many bytes as the arena has,
 * and between how many requests for each stream. */
#define CUAI_LOOKS 16
#define CUAI_UNLOOKED 4

/* From here to the end nobody else reclaims, so no event of a stream goes. The first waits for its
 * turn. The second returns whether bytes became idle, joined a free list or were given back since
 * then. Drops the lock. */
void cuai_reclaim_begin(cuarena_t *arena);
bool cuai_reclaim_end(cuarena_t *arena);

/* ---- Streams that lag -------------------------------------------------- */

/*
 * Where the host is far ahead of a stream's work, what the stream frees is idle only long after. By
 * then the stream needs these bytes itself, and if another stream has them it grows: blocks of all
 * streams come to lie among each other, and little of what is held can serve the next request. So
 * from a stream that lags nothing is taken without its asking, as with steal=never, as long as the
 * arena can grow. With steal=first, which is for holding less, no stream lags. Each look at the
 * events tells how far the work is: a stream lags above CUAI_LAG, counted up where what the look
 * before has recorded is not done, and down by CUAI_LAG_FALLS where it is, so as soon as more than
 * a quarter of its work keeps up it does not; at most CUAI_LAG_MOST, so that the first looks after
 * a wait of the host do not change it.
 */
#define CUAI_LAG_FALLS 3u
#define CUAI_LAG_MOST 128u

/* From now on no stream lags, until looks tell so anew; returns whether one did. */
bool cuai_streams_forget_lag(cuarena_t *arena);

/* ---- For a request ----------------------------------------------------- */

/* Each returns whether bytes became idle or joined a free list. Drops the lock. */

/* Reclaims what is complete for a request on `except` (0: on no stream). If that is nothing, closes
 * all open free lists but its own, and looks again. Streams that lag are passed over. */
bool cuai_reclaim_ready(cuarena_t *arena, uint32_t except);
/* Waits for the event behind most bytes, and reclaims these. If there is no event, waits for blocks
 * that streams use, then for what streams other than `except` freed last. */
bool cuai_reclaim_one(cuarena_t *arena, uint32_t except);
/* Where no free list is for others than its stream (steal=never): ends blocks that streams use, if
 * possible, and reclaims what was freed on one stream (0: on none); with `wait` waits for both. */
bool cuai_reclaim_mine(cuarena_t *arena, uint32_t number, bool wait);
/* Opens the stream's closed free list again, so that its ranges and those of the open one can
 * merge; false: it was empty. */
bool cuai_reclaim_own(cuarena_t *arena, uint32_t number);
/* Reclaims what is complete, of all streams. The caller reclaims. */
bool cuai_reclaim_complete(cuarena_t *arena);

/* Whether bytes that are idle sooner may keep the arena from growing. */
static inline bool cuai_gains_by_looks(const cuarena_t *arena)
{
    return !cuai_is_pool(arena) && arena->config.steal != CUARENA_STEAL_NEVER &&
           (arena->stream_count > 1 || arena->cpu_touches);
}
/* Counts a request on a stream, or a block that the cache of a thread takes for one. */
static inline void cuai_count_unlooked(cuarena_t *arena, uint64_t bytes)
{
    arena->unlooked++;
    arena->unlooked_bytes += bytes;
}
/* Whether a look at the events is due: streams have asked for a share of what the arena has since
 * the last one, so looks cost little beside the work on so many bytes; and for a few blocks each,
 * so they cost little beside the calls. */
static inline bool cuai_has_unlooked(const cuarena_t *arena)
{
    return arena->unlooked_bytes > arena->heaps[CUAI_DYNAMIC]->capacity / CUAI_LOOKS &&
           arena->unlooked > CUAI_UNLOOKED * (uint64_t)arena->stream_count;
}
/* Counts a request on a stream. True: a look is due. */
static inline bool cuai_look_is_due(cuarena_t *arena, uint64_t bytes)
{
    cuai_count_unlooked(arena, bytes);
    return cuai_has_unlooked(arena);
}
/* Before a request: looks, if that is due in an arena that grows and whose streams share bytes:
 * reclaims what is complete, and closes what is open, so that an event is behind it long before
 * somebody needs it, but not of streams that lag. Also joins the pieces where frees on many streams
 * have split the free bytes into more than the bookkeeping should have records for. Drops the lock
 * then. */
void cuai_reclaim_before(cuarena_t *arena, const cuai_request_t *request);

/* ---- All streams ------------------------------------------------------- */

/* Closes every open free list; with `wait`, waits until all bytes are idle. Drops the lock. */
cuarena_status_t cuai_reclaim_all(cuarena_t *arena, bool wait, uint64_t *reclaimed_out);
/* BUSY, put into words, if work behind freed bytes is under way. Handles are used only as
 * cuai_wait_for_work uses them, for streams may be gone. Drops the lock. */
cuarena_status_t cuai_check_idle(cuarena_t *arena);
/* Waits for what was freed so far on a stream, or with 0 on each, and for blocks that streams use;
 * the bytes stay in their free lists, closed. A captured stream is passed over. Drops the lock. */
cuarena_status_t cuai_await_freed(cuarena_t *arena, uint32_t number);
/* Frees numbers that nothing needs, also those of other threads' default streams. Drops the
 * lock. */
void cuai_streams_make_room(cuarena_t *arena);
/* Makes all bytes that were freed on streams idle and forgets all uses. The caller knows that no
 * work is under way, and sweeps the timelines afterwards. Nobody reclaims. */
void cuai_streams_reset(cuarena_t *arena);

/* ---- One stream -------------------------------------------------------- */

/* The stream is about to go: records its last event. Drops the lock. */
cuarena_status_t cuai_stream_release(cuarena_t *arena, uint32_t number);
/* Puts an event behind all that was freed on the stream, if one can be recorded. Drops the lock. */
void cuai_stream_close(cuarena_t *arena, uint32_t number);
/* If the stream is eager, records the moment of a free that comes next. On an error the event is to
 * come, which is enough where it is too late to give up. Drops the lock. */
cuarena_status_t cuai_stream_note_free(cuarena_t *arena, uint32_t number);
/* A plan gave bytes back to a free list of the stream that the stream may have left since: moves
 * them to where their event is. */
void cuai_stream_tidy(cuarena_t *arena, uint32_t number);
/* Puts all that was freed on the stream so far into its closed free list, with an event behind it:
 * what was open joins what was closed. The caller reclaims. Drops the lock. */
cuarena_status_t cuai_stream_cover(cuarena_t *arena, cuai_stream_t *s);
/* Reclaims the closed free list if its event is complete, else BUSY; or waits for it. The caller
 * reclaims. Drops the lock. */
cuarena_status_t cuai_stream_reclaim(cuarena_t *arena, cuai_stream_t *s, bool wait);
/* The open free list needs another event, which is to come: the one that it has, if any, does not
 * stand for what joins it next, for instance what the stream got from others by a wait after it. */
void cuai_stream_want_event(const cuarena_t *arena, cuai_stream_t *s);
/* Whether nobody but its thread has needed an event of this default stream yet, so that frees on it
 * record none. An event of all work stands in for the first. */
bool cuai_stream_is_unasked(const cuarena_t *arena, const cuai_stream_t *s);
/* Reclaims what is left of a closed free list if it is idle; with steal=never it becomes its
 * stream's again instead. The caller reclaims. Drops the lock. */
void cuai_stream_return_idle(cuarena_t *arena, cuai_stream_t *s);

/* A number that changes whenever bytes of a heap are freed, become idle or go back. */
static inline uint64_t cuai_changes(const cuarena_t *arena, const cuarena_heap_t *heap)
{
    uint64_t frees = heap->counter.allocs - cuai_heap_blocks(heap);
    return frees + arena->reclaims + arena->trims;
}

#endif
