/* The streams that an arena knows: numbers, handles, free lists (streams.c). */
#ifndef CUAI_ARENA_STREAMS_H
#define CUAI_ARENA_STREAMS_H

#include "arena/arena.h"
#include "arena/stream.h"

static inline cuai_stream_t *cuai_stream(const cuarena_t *arena, uint32_t number)
{
    CUAI_ASSERT(arena->streams != NULL && number < CUAI_STREAM_NUMBERS);
    return arena->streams[number];
}

/* ---- Handles and numbers ----------------------------------------------- */

/* The number of a stream that the caller of the API has just passed. The stream is made known if it
 * is not, unless it is being captured and may not be, and keeps its number until cuai_stream_leave.
 * Drops the lock if it is new. */
cuarena_status_t cuai_stream_find(cuarena_t *arena, cuarena_stream_t stream, bool may_be_captured,
                                  uint32_t *number_out);
void cuai_stream_leave(cuarena_t *arena, uint32_t number);
/* The number of a stream if it is known, kept until cuai_stream_leave, else 0. Waits until no call
 * asks the memory about a handle, so that its stream may go if it is not known. Drops the lock. */
uint32_t cuai_stream_find_known(cuarena_t *arena, cuarena_stream_t stream);
/* The number of a stream if it is known, else 0. */
uint32_t cuai_stream_known(const cuarena_t *arena, cuarena_stream_t stream);
/* The next known stream after a number, which becomes its own; NULL: there is none. */
cuai_stream_t *cuai_stream_next(const cuarena_t *arena, uint32_t *number);
/* Frees the numbers of released streams that nothing needs. */
void cuai_streams_recycle(cuarena_t *arena);
/* Finds another thread's default stream on which nothing is left, since that thread may have ended;
 * NULL: there is none. */
cuai_stream_t *cuai_stream_left_idle(const cuarena_t *arena);
/* From now on no handle leads to the stream without a search. */
void cuai_stream_unlearn(cuarena_t *arena, cuai_stream_t *s);
/* The arena begins: no handle leads to a stream without a search. No lock. */
void cuai_streams_begin(cuarena_t *arena);
/* Notes a stream that a handle found as the one used last, if nothing makes the arena slow. */
void cuai_stream_note_used(cuarena_t *arena, cuarena_stream_t handle, cuai_stream_t *s);
/* Ends all streams when the arena ends; events go back to the memory. No lock. */
void cuai_streams_forget(cuarena_t *arena);

/* NULL is another name of the legacy stream. */
static inline cuarena_stream_t cuai_stream_normal(cuarena_stream_t stream)
{
    return stream == NULL ? CUARENA_STREAM_LEGACY : stream;
}

/* The place for a stream that this handle found. It has the stream if its handle is the same. Such
 * a stream is neither released nor eager, so what is freed on it needs no call of the memory. */
static inline const cuai_recent_t *cuai_recent_for(const cuarena_t *arena, cuarena_stream_t stream)
{
    return &arena->recent[cuai_recent_place(stream)];
}

/* The stream that has this handle, if a search found it before; NULL: search. */
static inline cuai_stream_t *cuai_stream_recent(const cuarena_t *arena, cuarena_stream_t stream)
{
    const cuai_recent_t *recent = cuai_recent_for(arena, stream);
    return CUAI_LIKELY(recent->handle == stream) ? recent->stream : NULL;
}

/* The handle of a number. A released stream has none any more: CUARENA_NO_STREAM. */
static inline cuarena_stream_t cuai_stream_handle(const cuarena_t *arena, uint32_t number)
{
    if (number == 0 || cuai_stream(arena, number)->released)
        return CUARENA_NO_STREAM;
    return cuai_stream(arena, number)->handle;
}

/* Whether this thread may record on the stream: it is not another thread's default stream. */
bool cuai_stream_is_mine(const cuai_stream_t *s);

/* ---- Captured streams -------------------------------------------------- */

/* Whether the stream is in an open session: then the arena queues nothing on it. */
static inline bool cuai_is_captured(const cuarena_t *arena, uint32_t number)
{
    return number != 0 && cuai_stream(arena, number)->capture != NULL;
}

/* BUSY, put into words, if the stream is in an open session. */
cuarena_status_t cuai_check_captured(const cuarena_t *arena, uint32_t number);
/* Asks the memory whether a stream of this thread, or of none, is being captured now. BUSY: its
 * capture has failed. Drops the lock. */
cuarena_status_t cuai_stream_ask_captured(cuarena_t *arena, uint32_t number, bool *captured_out);

/* ---- Calls of the memory with a handle --------------------------------- */

/*
 * Returns the handle for a call of the memory without the lock; of 0 and of a released stream
 * CUARENA_NO_STREAM. Until cuai_stream_untouch no session begins on the stream and no release of it
 * returns. Every call of the memory with a handle is between the two. What else it depends on is
 * looked up after cuai_stream_touch, which waits while another thread records an event of the
 * stream. Who touches a stream may wait for his turn to reclaim; who reclaims must not wait for
 * those who touch, but for a release, which waits for them first. Drops the lock.
 */
cuarena_stream_t cuai_stream_touch(cuarena_t *arena, uint32_t number);
void cuai_stream_untouch(cuarena_t *arena, uint32_t number);
/* Touches a stream for work with bytes that it may be using: as cuai_stream_touch, but if the
 * stream was released, and has no handle for that work, waits for what it had to do. On an error it
 * is to be untouched too. Drops the lock. */
cuarena_status_t cuai_stream_touch_for_work(cuarena_t *arena, uint32_t number,
                                            cuarena_stream_t *handle_out);

/* ---- Free lists and counts --------------------------------------------- */

/* The free list for bytes that are idle once the stream's work so far is done (of an eager stream:
 * its work before its last event). */
uint32_t cuai_freelist_for_free(const cuarena_t *arena, int32_t region, uint32_t number);
/* Makes a free list in each heap that has some, where there is none yet; on an error none. */
cuarena_status_t cuai_freelists_make(const cuarena_t *arena, uint32_t *freelists);
/* Ends the free lists of a stream, of one for each heap; their bytes are idle. */
void cuai_freelists_end(const cuarena_t *arena, uint32_t *freelists);
/* Moves all ranges of the first into the second. */
void cuai_freelists_merge(const cuarena_t *arena, const uint32_t *from, const uint32_t *to);
/* Whether the free list of a region is one of the two that take turns. */
static inline bool cuai_is_freelist_of(const cuai_stream_t *s, int32_t region, uint32_t freelist)
{
    return freelist == s->freelists[0][region] || freelist == s->freelists[1][region];
}
/* Whether a stream has seen the event behind another one's closed free list. Without an event that
 * free list is empty, or another thread is moving bytes out of it or into it. */
static inline bool cuai_has_waited(const cuarena_t *arena, uint32_t number, const cuai_stream_t *s)
{
    return s->behind_closed != 0 && cuai_has_seen(arena, number, cuai_closed(s));
}
/* How many bytes, or ranges, one of the stream's two free lists has, in all regions. */
uint64_t cuai_stream_bytes(const cuarena_t *arena, const cuai_stream_t *s, uint32_t which);
uint64_t cuai_stream_ranges(const cuarena_t *arena, const cuai_stream_t *s, uint32_t which);
/* Updates what is derived from which free list of the stream is the open one, after that changed.
 */
void cuai_stream_note_open(const cuarena_t *arena, cuai_stream_t *s);
/* The largest range that is idle or in a stream's free list. */
uint64_t cuai_freelists_largest(const cuarena_t *arena, int region);
/* The bytes, and the largest range, that are idle or in the free lists of the stream of that
 * number; 0: of none. */
uint64_t cuai_usable_bytes(const cuarena_t *arena, int region, uint32_t number,
                           uint64_t *largest_out);
/* What in the state of streams and uses contradicts blocks and ranges (recount.c); NULL: nothing.
 * O(records + uses). */
const char *cuai_streams_wrong(const cuarena_t *arena);

#endif
