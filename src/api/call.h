/*
 * What the calls of the API share: entering and leaving an arena, the events of a call, checks.
 *
 * "Drops the lock" below: the function is called with the lock held, lets go of it and takes it
 * again, so the caller must look up again what it knew. Events are noted while the lock is held and
 * delivered after it is let go of, so that the listener may call the arena.
 */
#ifndef CUAI_API_CALL_H
#define CUAI_API_CALL_H

#include "arena/alloc.h"
#include "arena/find.h"
#include "base/frame.h"
#include "base/log.h"
#include "cuarena/debug.h"

/* The most events of a call: those of a kind that are of the arena as a whole are added up. */
#define CUAI_CALL_EVENTS 6

typedef struct cuai_call {
    cuai_frame_t frame;
    cuarena_t *arena;
    int count;
    bool waited;               /* for the stream, which the arena does not know */
    bool refused;              /* a request, and snapshot_on_oom is set */
    uint32_t stream;           /* its number, held until the end; 0: none */
    cuarena_event_fn event_fn; /* NULL: nobody listens */
    void *event_user;
    cuarena_event_t events[CUAI_CALL_EVENTS];
} cuai_call_t;

/* What a call needs. */
enum {
    CUAI_CALL_WHOLE = 1, /* an arena that is not lost; else it is LOST */
    CUAI_CALL_OUTSIDE =
        2,               /* to be made outside of the arena's relocation callback; else REENTERED */
    CUAI_CALL_BESIDE = 4 /* no cache of a thread empty: for calls that threads make often, and to
                          * which it does not matter what caches keep */
};

/*
 * Begins a call that may drop the lock or wait: it takes the lock, and is counted as inside and
 * known to its thread until it ends. BAD_ARGUMENT for a NULL arena; REENTERED for a call from a
 * function of the arena's memory, which names `what`, and in a signal handler that interrupted this
 * thread in a call; LOST in a forked child where the arena was left behind (arena/arenas.c). The
 * log is told of an error, and the call has ended.
 */
cuarena_status_t cuai_call_begin(cuai_call_t *call, cuarena_t *arena, const char *what, int needs);
/* The call is on a stream: sets call->stream. Drops the lock if the arena sees the stream for the
 * first time. */
cuarena_status_t cuai_call_on(cuai_call_t *call, cuarena_stream_t stream);
/* As cuai_call_on, for a free, which never fails for lack of host memory: a stream that is new and
 * that cannot be made known, for lack of memory or of a number, is waited for on the host, and
 * call->waited is set. The block's bytes are then idle but for the work of other streams. */
cuarena_status_t cuai_call_on_free(cuai_call_t *call, cuarena_stream_t stream);
/* Leaves, once the log is told of an error and the events are delivered; returns `status`. The
 * arena may have ended then. */
cuarena_status_t cuai_call_end(cuai_call_t *call, cuarena_status_t status);
/* Notes an event with bytes; 0 bytes: none happened. */
void cuai_call_note(cuai_call_t *call, int32_t kind, uint64_t bytes);
/* Notes an event of a block. */
void cuai_call_note_block(cuai_call_t *call, int32_t kind, cuai_block_ref_t ref);
/* Takes the last event of a kind back. */
void cuai_call_forget(cuai_call_t *call, int32_t kind);
/* Delivers the events that were noted so far. Drops the lock. */
void cuai_call_flush(cuai_call_t *call);
/* Tells the log at level info what the call did. Drops the lock, if the log is at that level. */
void cuai_call_log(cuai_call_t *call, const char *format, ...) CUAI_NOINLINE CUAI_PRINTF(2, 3);
/* Writes the log's line of an event of a block (log.c). No lock. */
void cuai_log_event(cuarena_t *arena, const cuarena_event_t *event);
/* Whether the log wants events of a kind. */
bool cuai_logs_event(int32_t kind);
/* Notes a request that was refused, and counts it. */
void cuai_call_note_failure(cuai_call_t *call, cuarena_status_t status, uint64_t bytes,
                            cuarena_tag_t tag);

/* The `done` of a retired arena, once no block lives and no call is inside, to be called once and
 * without the lock; NULL where there is none or it is too early. Lock held. */
cuai_retired_t cuai_take_retired(cuarena_t *arena); /* retire.c */

/* What a signal handler gets that interrupted a call of its thread. */
cuarena_status_t cuai_reentered(void);
/* LOST if the arena is lost. Lock held. */
cuarena_status_t cuai_call_check(const cuarena_t *arena);
/* REENTERED if this thread is in a function of the arena's memory or, with `outside`, in a
 * relocation callback of it. */
cuarena_status_t cuai_check_entry(const cuarena_t *arena, const char *what, bool outside);

/* Begins a call that neither drops the lock nor waits: takes the lock, and the call lets go of it.
 * REENTERED only where its own thread has it. The log is told of an error. */
cuarena_status_t cuai_query_begin(cuarena_t *arena);
/* As cuai_query_begin, but caches of threads keep what they have. */
cuarena_status_t cuai_query_begin_beside(cuarena_t *arena);
/* Begins a query as cuai_query_begin does, for a call that fills a struct of the caller's, `sized`,
 * which begins with struct_size. BAD_ARGUMENT also where that is of no release. */
cuarena_status_t cuai_query_begin_into(cuarena_t *arena, const char *name, const void *sized,
                                       size_t size);
/* Lets go of the lock and tells the log of an error; returns `status`. */
cuarena_status_t cuai_query_end(cuarena_t *arena, cuarena_status_t status);

cuarena_status_t cuai_no_pointer(const void *pointer);
cuarena_status_t cuai_no_block(cuarena_block_t block);
cuarena_status_t cuai_no_tag(cuarena_tag_t tag);
cuarena_status_t cuai_no_stream(cuarena_stream_t stream);
/* A stream as messages have it, in `room` if it has no name. */
#define CUAI_STREAM_SHOWN 24
const char *cuai_stream_shown(cuarena_stream_t stream, char room[CUAI_STREAM_SHOWN]);
/* BAD_ARGUMENT unless it is a region or CUARENA_REGION_ALL. */
cuarena_status_t cuai_check_region(int32_t region);

/* ---- Allocation (request.c, alloc_slow.c) ------------------------------ */

/* Checks what is asked for and rounds its size. `request` may be NULL. */
cuarena_status_t cuai_request_make(const cuarena_t *arena, uint64_t bytes,
                                   const cuarena_request_t *request, cuai_request_t *request_out);
/* The bytes that a block with so many of its own takes, guards included. */
uint64_t cuai_request_size(const cuarena_t *arena, uint64_t bytes, uint64_t alignment);
/* OUT_OF_MEMORY if it is for more than any arena can hold. */
cuarena_status_t cuai_request_check(const cuarena_t *arena, const cuai_request_t *request);
/* The request is on a stream, and so is the call: as cuai_call_on. */
cuarena_status_t cuai_request_on(cuai_call_t *call, cuarena_stream_t stream,
                                 cuai_request_t *request);
/* Allocates, trying all that there is before it refuses (alloc_slow.c). On an error the last error
 * is set and the failure noted. Drops the lock. */
cuarena_status_t cuai_alloc_slow(cuai_call_t *call, const cuai_request_t *request,
                                 cuai_block_ref_t *block_out);
/* ---- Releasing (release.c) --------------------------------------------- */

/* Frees a block on a stream, zeroed first where the arena's `zero` says so. One that moves ends
 * when its move does, one that other streams use when their work is done. On an error the block is
 * as it was. Drops the lock. */
cuarena_status_t cuai_release(cuai_call_t *call, cuai_block_ref_t ref, uint32_t stream);
/* Ends a block now, on a stream, whatever its flags; it is not cached. Drops the lock. */
void cuai_end_now(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* Makes a new block ready, of which nobody knows yet: sets it to 0 if the request says so, and
 * watches it if the arena does. On an error it ends, uncounted. Drops the lock. */
cuarena_status_t cuai_ready_new(cuarena_t *arena, const cuai_request_t *request,
                                cuai_block_ref_t ref);
/* Ends a block that was freed, when nothing needs its bytes any more. Drops the lock. */
void cuai_end_released(cuarena_t *arena, cuai_block_ref_t ref);
/* Changes the size of a live block, on a stream; contents and id stay. LOST if the arena is. Drops
 * the lock. */
cuarena_status_t cuai_resize_block(cuai_call_t *call, cuai_block_ref_t ref, uint64_t bytes,
                                   uint32_t stream);
/* Waits until nothing moves the block; false: it has ended. Drops the lock. */
bool cuai_reclaim_block(cuarena_t *arena, cuarena_block_t block, cuai_block_ref_t *block_out);
/* Waits until nothing moves the block, and makes the stream, or with 0 the caller, wait for copies
 * of compactions that moved it. STALE: it has ended. Drops the lock. */
cuarena_status_t cuai_reclaim_behind(cuarena_t *arena, cuarena_block_t block, uint32_t stream,
                                     cuai_block_ref_t *block_out);

/* ---- Watched blocks (quarantine.c) ------------------------------------- */

/* Looks at the guards of a live block, once the host has waited for `stream` and for all streams
 * that the block names; tells what is wrong with them. OK: nothing is at work on its bytes. BUSY:
 * a capture is in the way. STALE: it has ended. `block_out` has it as it is now, whatever the
 * status. Drops the lock. */
cuarena_status_t cuai_look_at_block(cuarena_t *arena, cuarena_block_t block, uint32_t stream,
                                    cuai_block_ref_t *block_out, uint32_t *found_out);
/* Whether a free sets the block's bytes to the pattern of freed ones. */
bool cuai_has_freed_pattern(const cuarena_t *arena, cuai_block_ref_t ref);
/* Frees a live block, whose bytes are still: they get the pattern, and it ends, or waits in the
 * quarantine. On an error it lives, its contents perhaps gone. Drops the lock. */
cuarena_status_t cuai_end_with_pattern(cuarena_t *arena, cuai_block_ref_t ref);
/* Lets blocks out of the quarantine, the first freed first, until no more than `most_bytes` are in
 * it; false: there were not more. `found` counts the findings, and may be NULL. Drops the lock. */
bool cuai_quarantine_keep(cuarena_t *arena, uint64_t most_bytes, uint64_t *found);
/* Reports the live blocks: see cuarena_report_leaks (leaks.c). Drops the lock. */
cuarena_status_t cuai_report_leaks(cuarena_t *arena, cuarena_line_fn line, void *user);

/* "growth" and the like: the name of a step (ladder.c). */
const char *cuai_step_name(int32_t step);

/* ---- Slow paths of calls with and without a stream (pointers.c, blocks.c) ---- */

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

/* ---- Compaction (compact.c) -------------------------------------------- */

/* Moves as much as it takes to make room for a request, and reports to the relocation callback; if
 * there is none, pointers stay and only blocks move. On an error *why_out says why there is no
 * room: static text. Drops the lock. */
cuarena_status_t cuai_compact_for(cuai_call_t *call, const cuai_request_t *request,
                                  const char **why_out);
/* Hands a batch to a callback; its answer. The list is as callers see blocks then. Drops the
 * lock. */
int32_t cuai_deliver(cuarena_t *arena, cuarena_relocation_fn callback, void *user,
                     cuarena_relocation_t *list, size_t count);
/* From now on no other thread compacts or grows, and no block moves. Drops the lock. */
void cuai_begin_exclusive(cuarena_t *arena);
void cuai_end_exclusive(cuarena_t *arena);

#endif
