/*
 * Capture sessions: private ranges of streams that are captured into graphs.
 *
 *   member    a stream of a session, which has a private free list in each heap, from which
 *             requests on the stream are allocated while the session is open
 *   kept      the free list of a session from which nothing is allocated
 *   stretch   bytes that came to a session at once; above `touched` nothing of it was ever handed
 *             out
 *
 * The record of a private block says `fixed`: no plan moves it, the fast paths leave it alone, and
 * its address tells its session. So a program without sessions, or a call that has nothing to do
 * with one, pays nothing.
 *
 * The arena queues nothing on a member of an open session but what a request asks its graph to do.
 * Whoever wants an event of it, or lets it wait, gets BUSY, and does without until the end.
 *
 * The segment of a dedicated block is a stretch as well. When the block is freed the graph goes on
 * using it, so the segment goes back behind the release. Until then the block is ENDING, and its
 * stretch is `over`.
 *
 * Invariants: stretches are in address order and do not overlap. The bytes of a stretch, and no
 * others, are in private blocks of its session or in its free lists. A session that is not open has
 * no members.
 */
#ifndef CUAI_ARENA_CAPTURE_H
#define CUAI_ARENA_CAPTURE_H

#include "arena/alloc.h"
#include "arena/find.h"
#include "cuarena/capture.h"

struct cuarena_capture {
    struct cuarena_capture *next;
    bool open;
    bool busy; /* a thread works on it and drops the lock meanwhile */
    cuai_stream_set_t members;
    uint32_t kept[CUAI_LISTED];
    cuai_stream_set_t streams; /* streams whose work may use private bytes; each counts the session
                                  among its waits */
    uint64_t bytes;            /* of its stretches */
    cuai_counter_t counter;
};

typedef struct cuai_stretch {
    uint64_t begin;
    uint64_t end;
    uint64_t touched;
    cuarena_capture_t *capture;
    uint32_t stream; /* the member that got it */
    int32_t region;  /* APART: it is the segment of a dedicated block */
    bool over;       /* the dedicated block was freed */
} cuai_stretch_t;

/* ---- Private bytes (capture.c) ----------------------------------------- */

/* Allocates from the free list of a captured stream, which gets another stretch if it has no room.
 * */
cuarena_status_t cuai_capture_try_alloc(cuarena_t *arena, int32_t region,
                                        const cuai_request_t *request, cuai_slot_t *slot_out);
/* For a dedicated block of a stream, which may be in an open session: takes the host memory for its
 * stretch; false: there is none. Then, once the block exists, makes it private. */
bool cuai_capture_ready(cuarena_t *arena, uint32_t number);
void cuai_capture_adopt(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* A private dedicated block was freed on a stream: it stays with the session until the release. */
void cuai_capture_keep(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Gives the segment of a private dedicated block that was freed back; false: there is none. Drops
 * the lock. */
bool cuai_capture_give_back(cuarena_t *arena, const cuarena_capture_t *capture);
/* A private block that no caller got ends next: leaves it out of the counts of the session and, if
 * it is dedicated, out of the session. */
void cuai_capture_uncount(cuarena_t *arena, cuai_block_ref_t ref);
/* A private block ends, freed on a stream: counts that, forgets its uses, and returns the free list
 * that its bytes join. O(log stretches). */
uint32_t cuai_capture_free(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* The free list into which a private block may grow for a request on a stream; 0: none. And the one
 * that its bytes join when it shrinks. */
uint32_t cuai_capture_grows_into(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
uint32_t cuai_capture_heir(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* The size of a private block changed by `more`, modulo 2^64: counts that. */
void cuai_capture_resized(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                          uint64_t more_requested);
/* Makes the untouched ends of stretches of open sessions idle; returns how many bytes. */
uint64_t cuai_captures_reclaim(cuarena_t *arena);
/* Makes the untouched ends of stretches of one session idle; returns how many bytes. */
uint64_t cuai_capture_reclaim(cuarena_t *arena, cuarena_capture_t *capture);
/* The largest untouched end of a stretch of the session. */
uint64_t cuai_capture_untouched(const cuarena_t *arena, const cuarena_capture_t *capture);
/* Fixes blocks that name streams of open sessions, which cannot be moved, while a plan is made; or
 * ends that. O(slots) if a session is open. */
void cuai_captures_hold(cuarena_t *arena, bool held);
/* The session of private bytes; NULL: they are not private. O(log stretches). */
cuarena_capture_t *cuai_capture_around(const cuarena_t *arena, uint64_t address);
/* Work of the stream may use bytes of the session from now on. */
void cuai_capture_note(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number);
/* Notes the streams that use a private block; returns whether there are any but `number`. */
bool cuai_capture_note_uses(cuarena_t *arena, cuarena_capture_t *capture, cuai_block_ref_t ref,
                            uint32_t number);
/* Forgets the session's stretches: their bytes are the arena's again. */
void cuai_capture_drop_stretches(cuarena_t *arena, const cuarena_capture_t *capture);

/* ---- Life (sessions.c) --------------------------------------------- */

/* Each does what the public call does. Drops the lock. */
cuarena_status_t cuai_capture_begin(cuarena_t *arena, cuarena_stream_t stream,
                                    cuarena_capture_t **capture_out);
cuarena_status_t cuai_capture_join(cuarena_t *arena, cuarena_capture_t *capture,
                                   cuarena_stream_t stream);
cuarena_status_t cuai_capture_end(cuarena_t *arena, cuarena_capture_t *capture);
cuarena_status_t cuai_capture_release(cuarena_t *arena, cuarena_capture_t *capture,
                                      cuarena_stream_t stream);
/* STALE, put into words, if it is no session of this arena. */
cuarena_status_t cuai_capture_check(const cuarena_t *arena, const cuarena_capture_t *capture);
/* BUSY, put into words, if there is a session: `what` cannot be done. */
cuarena_status_t cuai_captures_check_none(const cuarena_t *arena, const char *what);
/* Adds to waits[number] the sessions that wait for that stream. */
void cuai_captures_count_waits(const cuarena_t *arena, uint64_t *waits);
/* What in the state of sessions contradicts the heaps; NULL: nothing. O(records * log stretches).
 * */
const char *cuai_captures_wrong(const cuarena_t *arena);
/* Ends all sessions when the arena ends. No lock. */
void cuai_captures_forget(cuarena_t *arena);

#endif
