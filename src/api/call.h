/*
 * A call of the API on an arena: its lock, and the events that it causes.
 *
 * Events are noted while the lock is held and delivered after it is let go
 * of, so that the listener may call the arena.
 */
#ifndef CUAI_API_CALL_H
#define CUAI_API_CALL_H

#include "arena/alloc.h"
#include "arena/find.h"
#include "base/frame.h"
#include "base/log.h"

/* A call causes a few events; growing twice is one. */
#define CUAI_CALL_EVENTS 6

typedef struct cuai_call {
    cuai_frame_t frame;
    cuarena_t *arena;
    int count;
    bool waited;               /* for the stream, which is not known */
    uint32_t stream;           /* number, held until the end; 0: none */
    cuarena_event_fn event_fn; /* NULL: nobody listens */
    void *event_user;
    cuarena_event_t events[CUAI_CALL_EVENTS];
} cuai_call_t;

/* Whether frees may take the fast path. With the lock. */
static inline bool cuai_fast_path(const cuarena_t *arena)
{
    return (arena->slow & ~(CUAI_SLOW_WHOLE | CUAI_SLOW_FREELISTS | CUAI_SLOW_ONLY_STREAM |
                            CUAI_SLOW_RESIZES)) == 0;
}

/* Whether resizes may. With the lock. */
static inline bool cuai_fast_resizes(const cuarena_t *arena)
{
    return (arena->slow & ~(CUAI_SLOW_WHOLE | CUAI_SLOW_FREELISTS | CUAI_SLOW_ONLY_STREAM)) == 0;
}

/*
 * Who may step out, or wait, enters: the lock is taken, and the call counted in and known to its
 * thread, until it leaves. REENTERED in a signal handler that interrupted this thread in a call;
 * LOST in a forked child where the arena was left behind (arena/all.c). What does neither takes the
 * lock, by cuai_lock_enter, and is REENTERED only where its own thread has it.
 */
cuarena_status_t cuai_enter(cuarena_t *arena, cuai_frame_t *frame);
/* Lets go of the lock; the arena may have ended then. */
void cuai_leave(cuarena_t *arena);
cuarena_status_t cuai_reentered(void);

/* Enters. */
cuarena_status_t cuai_call_begin(cuai_call_t *call, cuarena_t *arena);
/* The call is on a stream: call->stream. Steps out at its first sight. */
cuarena_status_t cuai_call_on(cuai_call_t *call, cuarena_stream_t stream);
/* The same of a free, which takes no host memory: a stream that was not known and cannot be made
 * so, for lack of that or of a number, is waited for here, and the block's bytes are idle but for
 * what others do with it. */
cuarena_status_t cuai_call_on_free(cuai_call_t *call, cuarena_stream_t stream);
/* Lets go of it, tells the log of an error, delivers the events, counts the call out and returns
 * `status`. The arena may have ended then. */
cuarena_status_t cuai_call_end(cuai_call_t *call, cuarena_status_t status);
/* Notes an event with bytes; 0 bytes: none happened. */
void cuai_call_note(cuai_call_t *call, int32_t kind, uint64_t bytes);
/* Notes an event of a block. */
void cuai_call_note_block(cuai_call_t *call, int32_t kind, cuai_block_ref_t ref);
/* Takes the last event of a kind back. */
void cuai_call_forget(cuai_call_t *call, int32_t kind);
/* Delivers what was noted so far. Steps out. */
void cuai_call_flush(cuai_call_t *call);
/* Tells the log at level info what the call did. Steps out, if anybody reads it. */
void cuai_call_log(cuai_call_t *call, const char *format, ...) CUAI_NOINLINE CUAI_PRINTF(2, 3);
/* A line of an event of a block (log.c). */
void cuai_log_event(cuarena_t *arena, const cuarena_event_t *event);
/* Whether it logs events of a kind. */
bool cuai_logs_event(int32_t kind);
/* Notes a request that was refused, and counts it. */
void cuai_call_note_failure(cuai_call_t *call, cuarena_status_t status, uint64_t bytes,
                            cuarena_tag_t tag);

/* Who is to be told now that no block lives and no call is inside: once, and without the lock.
 * NULL: nobody, or it is too early. */
cuai_retired_t cuai_take_retired(cuarena_t *arena); /* retire.c */

/* LOST, or OK. */
cuarena_status_t cuai_call_check(const cuarena_t *arena);
/* REENTERED if this thread is in a function of the arena's memory or, with `relocation`, in a
 * relocation callback of it. */
cuarena_status_t cuai_check_entry(const cuarena_t *arena, const char *what, bool relocation);

cuarena_status_t cuai_no_pointer(const void *pointer);
cuarena_status_t cuai_no_block(cuarena_block_t block);
cuarena_status_t cuai_no_tag(cuarena_tag_t tag);
cuarena_status_t cuai_no_stream(cuarena_stream_t stream);
/* A region, or all. */
cuarena_status_t cuai_check_region(int32_t region);

/* ---- Obtaining (request.c, alloc_slow.c) --------------------------------------- */

/* Checks what is asked for and rounds it. `request` may be NULL. */
cuarena_status_t cuai_request_make(const cuarena_t *arena, uint64_t bytes,
                                   const cuarena_request_t *request, cuai_request_t *request_out);
/* The request is on the call's stream. Steps out at the stream's first
 * sight. */
cuarena_status_t cuai_request_on(cuai_call_t *call, cuarena_stream_t stream,
                                 cuai_request_t *request);
/* Serves it, if need be by the ladder of running out; steps out. On an error the last error is set
 * and the failure noted. */
cuarena_status_t cuai_alloc_slow(cuai_call_t *call, const cuai_request_t *request,
                                 cuai_block_ref_t *block_out);
/* ---- Releasing (release.c) --------------------------------------------- */

/* Ends a block as its memory and the arena's zero rule ask, on a stream; one that moves ends when
 * its move does, one that other streams use when they are done. On an error it is as it was. Steps
 * out. */
cuarena_status_t cuai_release(cuai_call_t *call, cuai_block_ref_t ref, uint32_t stream);
/* Ends a block now, on a stream, whatever its flags; it is not cached. Steps out. */
void cuai_end_now(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* The part of it that comes when nothing needs the block's bytes any more. */
void cuai_end_released(cuarena_t *arena, cuai_block_ref_t ref);
/* Size of a live block changed, contents kept, id kept; on a stream. Steps
 * out. */
cuarena_status_t cuai_resize_block(cuai_call_t *call, cuai_block_ref_t ref, uint64_t bytes,
                                   uint32_t stream);
/* Waits until nothing moves the block; false: it has ended. */
bool cuai_reclaim_block(cuarena_t *arena, cuarena_block_t block, cuai_block_ref_t *block_out);
/* The same, and until the stream, or with 0 the caller, is behind copies that did. STALE: it has
 * ended. Steps out. */
cuarena_status_t cuai_reclaim_behind(cuarena_t *arena, cuarena_block_t block, uint32_t stream,
                                     cuai_block_ref_t *block_out);

/* "growth" and the like: a step of running out. */
const char *cuai_step_name(int32_t step);

/* ---- Calls with and without a stream (pointers.c, blocks.c) ------------ */

cuarena_status_t cuai_pointer_alloc(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                    const cuarena_request_t *request, void **pointer_out);
cuarena_status_t cuai_pointer_free(cuarena_t *arena, void *pointer, cuarena_stream_t stream);
cuarena_status_t cuai_pointer_resize(cuarena_t *arena, void *pointer, uint64_t bytes,
                                     cuarena_stream_t stream, void **pointer_out);
cuarena_status_t cuai_block_alloc(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                  const cuarena_request_t *request, cuarena_block_t *block_out);
cuarena_status_t cuai_block_free(cuarena_t *arena, cuarena_block_t block, cuarena_stream_t stream);
cuarena_status_t cuai_block_resize(cuarena_t *arena, cuarena_block_t block, uint64_t bytes,
                                   cuarena_stream_t stream);
cuarena_status_t cuai_block_pin(cuarena_t *arena, cuarena_block_t block, cuarena_stream_t stream,
                                void **pointer_out);
cuarena_status_t cuai_block_unpin(cuarena_t *arena, cuarena_block_t block, cuarena_stream_t stream);

/* ---- Compaction (compact.c) -------------------------------------------- */

/* Moves what it takes to make room, and reports to the relocation callback; if there is none, only
 * blocks. On an error *why_out says why there is no room: static text. Steps out. */
cuarena_status_t cuai_compact_for(cuai_call_t *call, const cuai_request_t *request,
                                  const char **why_out);
/* Hands a batch to a callback, without the lock; its answer. */
int32_t cuai_deliver(cuarena_t *arena, cuarena_relocation_fn callback, void *user,
                     const cuarena_relocation_t *list, size_t count);
/* Nobody compacts or grows from now on but this thread, and no block is on its way. Steps out. */
void cuai_begin_exclusive(cuarena_t *arena);
void cuai_end_exclusive(cuarena_t *arena);

#endif
