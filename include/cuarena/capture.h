/*
 * Graph capture: blocks whose addresses a graph keeps.
 *
 * A graph holds the addresses of the blocks that its kernels were captured with, and uses them at
 * each launch, whatever was freed meanwhile. So the bytes of what is allocated during a capture are
 * private to a capture session: nobody else gets them until the program says that the graph is
 * launched no more.
 *
 *   cuarena_capture_begin(arena, stream, &session);
 *   cudaStreamBeginCapture(stream, mode);              may also come first
 *     cuarena_alloc_on(arena, bytes, stream, NULL, &pointer);
 *     kernel<<<grid, block, 0, stream>>>(pointer);
 *     cuarena_free_on(arena, pointer, stream);
 *   cudaStreamEndCapture(stream, &graph);              always before the next call
 *   cuarena_capture_end(arena, session);
 *
 *   cudaGraphLaunch(instance, stream);                 as often as wanted; the arena
 *   ...                                                is used as ever meanwhile
 *   cuarena_capture_release(arena, &session, stream);
 *
 * This is what PyTorch does with the private pool of a graph.
 *
 * Words
 *   session   lasts from cuarena_capture_begin to cuarena_capture_release.
 *   open      so is a session until cuarena_capture_end: its streams are
 *             being captured.
 *   private   bytes of a session: its blocks, and what those left when they
 *             were freed.
 *
 * While a session is open
 *   What is allocated on one of its streams is private, whichever thread allocates. The bytes come
 *   from idle ones, or from growth, in stretches: the first as long as the request, each further
 *   one of a stream as long as all before it together, but at most an eighth of what is idle unless
 *   the request is larger, and never longer than can be had. What was never handed out of a stretch
 *   goes back at the end, or earlier if another request would find no room.
 *
 *   A private block that is freed on one of the streams leaves its bytes to later requests on that
 *   stream; one that is freed without a stream, to the stream that it was allocated on. If
 *   cuarena_record_use named other streams, and on memory that the CPU touches, nobody gets the
 *   bytes before the release.
 *
 *   The arena queues nothing on the streams but what sets bytes to 0, and does not ask them whether
 *   they are done or wait for them. So nobody else gets the bytes of ordinary blocks that are freed
 *   on them, or that they use, before the end of the session. A compaction leaves blocks alone that
 *   name these streams; with one of them as its stream it is BUSY. cuarena_release_stream is BUSY
 *   too, and so is a resize on them that would have to move a block. cuarena_block_pin_on waits on
 *   the host.
 *
 *   Zeroed bytes: a `zeroed` request, and each request with the option zero=alloc, makes the graph
 *   set the block's bytes to 0, at that point of the stream and at each launch, by one memset.
 *   Before the capture begins, and after it ends, they are set to 0 on the stream, once. On memory
 *   that the CPU touches they are 0 when the call returns, and the graph does not set them, so what
 *   the CPU writes before a launch is there then. BUSY if the capture has failed. UNSUPPORTED on
 *   memory that a graph cannot set to 0: with device_only pageable bytes, the host's, and pinned
 *   ones that are not mapped; else a custom memory without zero_captured.
 *
 *   A `dedicated` request gets a segment of its own, private like other bytes. When the block is
 *   freed, nobody gets the segment, and it still counts toward the limits and in live_bytes of the
 *   arena. It goes back to the memory after the release: at once where the release says that all
 *   work is done, else when bytes are reclaimed and the stream of the release is done with what was
 *   queued on it.
 *
 * After the end the streams are ordinary. A private block that is freed then, on whatever stream,
 * leaves its bytes to the session. Until the release private blocks stay where they are, pinned or
 * not: they are not moved, their bytes are not trimmed, and they are resized in place or not at
 * all. Ordinary blocks that the graph uses must live as long as the graph, and be pinned.
 *
 * As long as there is a session, cuarena_reset and cuarena_destroy are BUSY, and so is
 * cuarena_resize_pool where the pool would have to move. cuarena_trim, cuarena_compact and
 * cuarena_reclaim work beside it. cuarena_destroy_forced ends the arena's sessions. An arena may
 * have many sessions; a stream is in at most one open one.
 *
 * A capture without a session: on a stream that the arena does not know calls are UNSUPPORTED, or
 * BUSY where the capture has failed. On one that it knows, calls work as ever if they need nothing
 * from the device; others get those bytes again when the stream's work before the capture is done,
 * so a graph must not keep their addresses. A call that would have to record an event on the
 * stream, let it wait or queue something on it is BUSY, so with zero=free a free is too; other
 * frees do without, and cuarena_reclaim and trims leave what was freed on the stream as it is.
 *
 * What asks about all work of a context must not be called during such a capture, on any thread:
 * the driver ends captures over it. The call is BUSY then, or DRIVER for the default stream of
 * another thread, unless it can do without; cuarena_destroy_forced ends the arena all the same.
 * These calls may ask:
 *   - cuarena_destroy, cuarena_destroy_forced, and cuarena_resize_pool where the pool moves;
 *   - with backing=async cuarena_reset, dedicated requests without a stream for which the driver's
 *     pool has no room and, with preset=driver-pool, cuarena_trim_on with CUARENA_NO_STREAM;
 *   - what needs an event behind work on the default stream of another thread
 *     (CUARENA_STREAM_PER_THREAD): frees of blocks that it uses (cuarena_record_use); and, where
 *     that thread freed bytes on it, requests that find no room, cuarena_capture_begin,
 *     cuarena_reclaim, trims, compactions (also for blocks that were allocated or are used on it),
 *     cuarena_resize_pool, cuarena_reset and calls that end cached blocks.
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

/* A capture session, until it is released. Any thread may pass it. */
typedef struct cuarena_capture cuarena_capture_t;

/*
 * Begins a session: what is allocated on the stream is private from now on. It may come before or
 * after the begin of the capture; before is better, since the arena can then record an event behind
 * what was freed on the stream, and the session can get those bytes.
 *
 * BAD_ARGUMENT for CUARENA_NO_STREAM and for the legacy default stream, which cannot be captured.
 * BUSY if the stream is in an open session, or if its capture has failed. UNSUPPORTED on a memory
 * without streams, with zero=free, and with zero=alloc on memory that a graph cannot set to 0.
 * OUT_OF_MEMORY, LIMIT. Waits for calls of other threads that are queuing something on the stream,
 * or recording an event of all work of the device, which would end the capture.
 * Driver calls: to ask whether the stream is captured and, if it is not, to record that event.
 * O(ranges of the stream's free list + dedicated blocks); some 150 B of host memory for each of
 * these that nothing was taken for yet, so that its free in the session takes none.
 */
CUARENA_API cuarena_status_t cuarena_capture_begin(cuarena_t *arena, cuarena_stream_t stream,
                                                   cuarena_capture_t **capture_out);
/*
 * Adds one more stream to an open session, a stream which joined or will join the capture by
 * waiting for an event of it. OK if it is in the session already. BAD_ARGUMENT for a session that
 * has ended; otherwise as cuarena_capture_begin.
 */
CUARENA_API cuarena_status_t cuarena_capture_join(cuarena_t *arena, cuarena_capture_t *capture,
                                                  cuarena_stream_t stream);
/*
 * Ends the open part of a session: its streams are ordinary again. Must come after
 * cudaStreamEndCapture, also where the capture failed, else it is BUSY; the streams must not be
 * destroyed before. OK if it was called before. Waits for calls of other threads that are queuing
 * something on the streams. Driver calls: to ask whether the streams are captured, and to let them
 * wait for compactions that went on meanwhile. O(private ranges).
 */
CUARENA_API cuarena_status_t cuarena_capture_end(cuarena_t *arena, cuarena_capture_t *capture);
/*
 * Releases the session and clears the handle; NULL and a cleared handle are OK. A session that is
 * open ends first. You must ensure that the graph is not launched again, and that all its launches
 * were queued on `stream`, or come before what is queued there. The private bytes that are free
 * join the stream's free list, and the blocks that live become ordinary blocks of that stream;
 * those that the block calls made may move. cuarena_stream_stats counts such a block as freed on
 * the stream that it had and allocated on the new one. The stream is made to wait for the session's
 * streams, and for those on which private blocks were freed or, as recorded, used.
 *
 * With CUARENA_NO_STREAM you must ensure that all work with private blocks is done: the bytes are
 * idle, and the blocks that live become blocks of no stream.
 *
 * BUSY if one of the streams is in another open session, or is being captured; LIMIT if the arena
 * has no room for `stream`, which it did not know. On an error the session and its handle remain,
 * but one that was open may have ended. Waits for nothing but calls of other threads that are
 * queuing something on the session's streams. Driver calls: one event and one wait for each stream
 * besides the one given; with CUARENA_NO_STREAM, those that give the segments of freed dedicated
 * blocks back. O(blocks of the arena + private ranges).
 */
CUARENA_API cuarena_status_t cuarena_capture_release(cuarena_t *arena, cuarena_capture_t **capture,
                                                     cuarena_stream_t stream);
/* Live and requested bytes, counts and peaks of private blocks; as capacity_bytes all private
 * bytes, those of dedicated blocks too; as free_bytes those of them that are free; as largest_bytes
 * what is free and was never handed out. The other members are 0. O(stretches). */
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
