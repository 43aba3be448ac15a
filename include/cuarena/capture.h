/*
 * Graph capture: blocks whose addresses a graph keeps.
 *
 * A graph holds the addresses of the blocks that its kernels were captured with, and uses them at
 * each launch, whatever was freed meanwhile. So what is allocated during a capture comes from
 * private ranges, which nobody else gets until the program says that the graph is launched no more.
 *
 *   session   from cuarena_capture_begin to cuarena_capture_release
 *   open      ... to cuarena_capture_end: its streams are being captured
 *   private   bytes of a session: its blocks, and what they left
 *
 *   cuarena_capture_begin(arena, stream, &session);
 *   cuStreamBeginCapture(stream, mode);          before or after
 *     ... cuarena_alloc_on(arena, bytes, stream, ...), launches, frees ...
 *   cuStreamEndCapture(stream, &graph);          before the end, always
 *   cuarena_capture_end(arena, session);
 *     ... the graph is launched; the arena is used as ever ...
 *   cuarena_capture_release(arena, &session, stream);
 *
 * While it is open
 *   What is allocated on one of its streams is private, whoever allocates. The
 *   bytes are taken from idle ones, or by growth, in stretches: the first
 *   as long as the request, each further one of a stream as long as all before
 *   it, but for at most an eighth of what is idle, and never longer than
 *   can be had. What was never handed out of a stretch goes back at the end,
 *   or earlier when another request would find no room.
 *   A private block that is freed on one of the streams serves later requests
 *   on that stream; freed without a stream it serves the one that it was
 *   allocated on. Where cuarena_record_use named others, and on memory that
 *   the CPU touches, its bytes serve nobody before the release.
 *   The arena gives the streams nothing to do but zeros, and does not ask or
 *   wait for them. So ordinary blocks that are freed on them, or that they use,
 *   have bytes for nobody else before the end; a compaction leaves blocks alone
 *   that name them, and with one of them as its stream it is refused: BUSY. So
 *   are cuarena_release_stream, and a resize on them that would have to move a
 *   block. cuarena_block_pin_on waits on the host.
 *   A `zeroed` request, and each with the option zero=alloc, makes the graph
 *   set the block's bytes to 0, at that point of the stream and at each launch:
 *   one memset. Before the capture begins, and after it ends, they are set to 0
 *   on the stream, once. On memory that the CPU touches they are 0 when the
 *   call returns, and the graph does nothing: what the CPU writes before a
 *   launch is there then. BUSY: the capture has failed. UNSUPPORTED
 *   on memory that a graph cannot set to 0: with device_only pageable bytes,
 *   the host's, and pinned ones that are not mapped; else a custom memory
 *   without zero_captured.
 *   A `dedicated` request gets a segment of its own, private as other bytes
 *   are. When the block is freed, the segment serves nobody, counts toward the
 *   limits and in live_bytes of the arena, and goes back after the release: at
 *   once where that is told that all is done, else when something reclaims and
 *   the stream of the release is done with what it was given.
 *
 * After the end the streams are ordinary. A private block that is freed, on whatever stream, leaves
 * its bytes to the session. Until the release private blocks stay where they are, pinned or not:
 * they are neither moved nor trimmed, and resized in place or not at all.
 *
 * Ordinary blocks that the graph uses must live as long as it does, and be pinned.
 *
 * With a session cuarena_reset and cuarena_destroy say BUSY, and so does cuarena_resize_pool where
 * the pool would have to move; cuarena_trim, cuarena_compact and cuarena_reclaim go on beside it. A
 * forced destroy ends its sessions. An arena may have many; a stream is in one open one at most.
 *
 * A capture that no session covers: a stream that the arena does not know is refused, UNSUPPORTED,
 * or BUSY where the capture has failed. One that it knows is served as ever, by calls that have
 * nothing to do for it on the device, from bytes that others get again when its earlier work is
 * done: a graph must not keep their addresses. A call that would have to record on it, or let it
 * wait, says BUSY instead, and a free does without. What asks about all work of a context,
 * cuarena_destroy and frees on another thread's default stream, must not come then: the driver ends
 * captures over it.
 *
 * Errors besides those named: BAD_ARGUMENT for an argument that is NULL, STALE for a session that
 * is none of this arena's, LOST, REENTERED from a function of the arena's memory. A session of an
 * arena that is lost, or was inherited at a fork, ends and is released without the driver.
 */
#ifndef CUARENA_CAPTURE_H
#define CUARENA_CAPTURE_H

#include "arena.h"
#include "streams.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A session that was not released. Any thread may pass it. */
typedef struct cuarena_capture cuarena_capture_t;

/*
 * What is allocated on the stream is private from now on. BAD_ARGUMENT for CUARENA_NO_STREAM and
 * for the legacy default stream, which cannot be captured. BUSY: the stream is in an open session,
 * or its capture has failed. UNSUPPORTED: the memory knows no streams; the arena zeroes what it
 * gets
 * back, or what it hands out where no graph can. OUT_OF_MEMORY, LIMIT.
 * Waits for what other threads' calls give the stream just now. Driver calls: to ask whether the
 * stream is captured and, if it is not, to record an event behind what was freed on it. So before
 * the capture is the better moment: those bytes can serve the session then. Steps: the free list's
 * ranges.
 */
CUARENA_API cuarena_status_t cuarena_capture_begin(cuarena_t *arena, cuarena_stream_t stream,
                                                   cuarena_capture_t **capture_out);
/*
 * The same for one more stream, which was or will be forked into the capture by an event; OK if it
 * is in the session. BAD_ARGUMENT for a session that has ended, and as cuarena_capture_begin.
 */
CUARENA_API cuarena_status_t cuarena_capture_join(cuarena_t *arena, cuarena_capture_t *capture,
                                                  cuarena_stream_t stream);
/*
 * The streams are ordinary again. Must come after cuStreamEndCapture, also where the capture
 * failed: else BUSY. The streams must not be destroyed before. OK if it has ended. Waits for what
 * other threads' calls give the streams just now. Steps: private ranges. Driver calls: to ask
 * whether the streams are captured, and a wait of those that blocks were moved beside.
 */
CUARENA_API cuarena_status_t cuarena_capture_end(cuarena_t *arena, cuarena_capture_t *capture);
/*
 * The caller's word that the graph is not launched again, and that all its launches were queued on
 * the stream or come before what is queued there. The private bytes that are free join the stream's
 * free list, and the blocks that live become ordinary blocks of that stream: those that the block
 * calls made may move. The stream waits for the session's streams and for those on which private
 * blocks were freed or, as recorded, used. With CUARENA_NO_STREAM it is the caller's word that all
 * work with private blocks is done: the bytes are idle, and the blocks that live are those of no
 * stream.
 *
 * Ends a session that is open, and clears the handle; NULL and a cleared handle are OK. On an error
 * the session is as it was. BUSY: one of the streams is in an open session, or being captured. Does
 * not block, but for calls that give the session's streams something to do just now. Steps: the
 * blocks of the arena, private ranges. Driver calls: one event and one wait for each stream besides
 * the one given; with CUARENA_NO_STREAM, to give the segments of dedicated blocks back that were
 * freed.
 */
CUARENA_API cuarena_status_t cuarena_capture_release(cuarena_t *arena, cuarena_capture_t **capture,
                                                     cuarena_stream_t stream);
/* Live, requested, counts and peaks of private blocks; capacity_bytes: what is private, dedicated
 * blocks too; free_bytes: of that; largest_bytes: what is free and was never handed out. The rest
 * is 0. Steps: stretches. */
CUARENA_API cuarena_status_t cuarena_capture_stats(cuarena_t *arena, cuarena_capture_t *capture,
                                                   cuarena_stats_t *stats);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cuarena_capture_begin(arena, stream, out)                                                  \
    (cuarena_capture_begin)(arena, cuarena_stream_meant(stream), out)
#define cuarena_capture_join(arena, capture, stream)                                               \
    (cuarena_capture_join)(arena, capture, cuarena_stream_meant(stream))
#define cuarena_capture_release(arena, capture, stream)                                            \
    (cuarena_capture_release)(arena, capture, cuarena_stream_meant(stream))
#endif

#ifdef __cplusplus
}
#endif

#endif
