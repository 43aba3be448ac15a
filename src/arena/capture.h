/*
 * Capture sessions: private ranges of streams that are captured into graphs.
 *
 *   member    a stream of a session, with a free list of the session's in each heap;
 *             that serves what is asked for on the stream while it is open
 *   kept      the session's free list that serves nobody
 *   stretch   bytes that came to a session at once; above `touched` nothing of
 *             it was ever handed out
 *
 * Private blocks are those whose record says `fixed`: no plan moves them, the fast paths leave them
 * alone, and which session is theirs is told by their address. So a program without sessions, or
 * one whose calls have to do with none, pays nothing.
 *
 * A stream that is a member of an open session is given nothing but what a request on it asks its
 * graph to do: whoever wants an event of it, or lets it wait, hears BUSY, and does without until
 * the end.
 *
 * A dedicated block's segment is a stretch as well. When the block is freed the graph goes on using
 * it, so the segment goes back behind the release: until then the block is ENDING, and the stretch
 * says that it is over.
 *
 * Invariants: stretches lie in address order and apart; what is in them is a private block of their
 * session or free in one of its free lists, and nothing else is either; a session that is not open
 * has no members' free lists.
 */
#ifndef CUAI_ARENA_CAPTURE_H
#define CUAI_ARENA_CAPTURE_H

#include "arena/alloc.h"
#include "arena/find.h"
#include "cuarena/capture.h"

typedef struct cuai_member {
    uint32_t number;
    uint32_t freelists[CUAI_LISTED];
    uint64_t bytes; /* of its stretches */
} cuai_member_t;

struct cuarena_capture {
    struct cuarena_capture *next;
    bool open;
    bool busy; /* a thread works on it without the lock */
    cuai_member_t *members;
    uint32_t member_count;
    uint32_t member_room;
    uint32_t kept[CUAI_LISTED];
    cuai_stream_set_t streams; /* whose work private bytes may be in; each has
                                * a wait for it */
    uint64_t bytes;            /* of its stretches */
    cuai_counter_t counter;
};

typedef struct cuai_stretch {
    uint64_t begin;
    uint64_t end;
    uint64_t touched;
    cuarena_capture_t *capture;
    uint32_t member; /* that took it */
    int32_t region;  /* APART: of a dedicated block */
    bool over;       /* that was freed */
} cuai_stretch_t;

typedef struct cuai_captures {
    cuarena_capture_t *first;
    uint32_t count;
    uint64_t bytes;            /* of all stretches */
    cuai_stretch_t *stretches; /* in address order */
    size_t stretch_count;
    size_t stretch_room;
} cuai_captures_t;

/* ---- Private bytes (capture.c) ----------------------------------------- */

/* From the free list of a stream that is captured, else from a stretch more. */
cuarena_status_t cuai_capture_try_alloc(cuarena_t *arena, int32_t region,
                                        const cuai_request_t *request, cuai_slot_t *slot_out);
/* Host memory for a dedicated block of a stream, which may be in an open session; and makes the
 * block, whose segment was kept, private if it is. */
bool cuai_capture_ready(cuarena_t *arena, uint32_t number);
void cuai_capture_adopt(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* It was freed on a stream: nobody's but the session's from now on. */
void cuai_capture_keep(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Gives the segment of one that is over back; false: there is none. Steps
 * out. */
bool cuai_capture_give_back(cuarena_t *arena, const cuarena_capture_t *capture);
/* A private block that nobody was given ends next: it is left out of the session's counts and, if
 * it is dedicated, of the session. */
void cuai_capture_uncount(cuarena_t *arena, cuai_block_ref_t ref);
/* A private block ends, freed on a stream: counts that, and forgets its uses. The free list that
 * its bytes join. Steps: log of the stretches. */
uint32_t cuai_capture_free(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* The free list into which a private block may grow, asked for on a stream; 0: none. And the one
 * that what it gives up joins. */
uint32_t cuai_capture_grows_into(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
uint32_t cuai_capture_heir(cuarena_t *arena, cuai_block_ref_t ref, uint32_t stream);
/* Its size has changed by so much. */
void cuai_capture_resized(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                          uint64_t more_requested);
/* Untouched ends of stretches of open sessions are idle: how many bytes. */
uint64_t cuai_captures_reclaim(cuarena_t *arena);
/* The same of one session. */
uint64_t cuai_capture_reclaim(cuarena_t *arena, cuarena_capture_t *capture);
/* What is untouched, and leaves it there. */
uint64_t cuai_capture_untouched(const cuarena_t *arena, const cuarena_capture_t *capture);
/* Blocks that name streams of open sessions cannot be moved: they are fixed while a plan is made.
 * Steps: the slots, if a session is open. */
void cuai_captures_hold(cuarena_t *arena, bool held);
/* The session of private bytes; NULL: they are not private. */
cuarena_capture_t *cuai_capture_around(const cuarena_t *arena, uint64_t address);
/* Bytes of the session may be in the stream's work. */
void cuai_capture_note(cuarena_t *arena, cuarena_capture_t *capture, uint32_t number);
/* Its stretches are the arena's again. */
void cuai_capture_drop_stretches(cuarena_t *arena, const cuarena_capture_t *capture);

/* ---- Life (sessions.c) --------------------------------------------- */

/* Each as the public call; with the lock held, which they let go of. */
cuarena_status_t cuai_capture_begin(cuarena_t *arena, cuarena_stream_t stream,
                                    cuarena_capture_t **capture_out);
cuarena_status_t cuai_capture_join(cuarena_t *arena, cuarena_capture_t *capture,
                                   cuarena_stream_t stream);
cuarena_status_t cuai_capture_end(cuarena_t *arena, cuarena_capture_t *capture);
cuarena_status_t cuai_capture_release(cuarena_t *arena, cuarena_capture_t *capture,
                                      cuarena_stream_t stream);
/* STALE, put into words, for one that is none of the arena's. */
cuarena_status_t cuai_capture_check(const cuarena_t *arena, const cuarena_capture_t *capture);
/* BUSY, put into words, if there is one: `what` cannot be done. */
cuarena_status_t cuai_captures_check_none(const cuarena_t *arena, const char *what);
/* Adds the sessions' waits to those of the streams. */
void cuai_captures_count_waits(const cuarena_t *arena, uint64_t *waits);
/* What contradicts the heaps in what is kept of sessions; NULL: nothing. Steps: records,
 * stretches. */
const char *cuai_captures_wrong(const cuarena_t *arena);
/* The arena ends. No lock. */
void cuai_captures_forget(cuarena_t *arena);

static inline uint32_t cuai_captures_count(const cuarena_t *arena)
{
    return arena->captures == NULL ? 0 : arena->captures->count;
}

/* What is private, of all sessions. */
static inline uint64_t cuai_captures_bytes(const cuarena_t *arena)
{
    return arena->captures == NULL ? 0 : arena->captures->bytes;
}

#endif
