/*
 * Streams: memory that a device may still be using when it is freed.
 *
 * Vocabulary
 *   free list      the free bytes that one stream may reuse at once; bytes of the
 *             idle free list are idle, and everybody's.
 *   event    an event recorded on a stream. When it is complete, everything
 *             that was freed on that stream before it is idle.
 *
 * Streams are arguments, never a mode. A call without one means bytes that are idle. NULL is the
 * legacy default stream, an ordinary one; where the program is compiled with
 * CUDA_API_PER_THREAD_DEFAULT_STREAM, NULL means the calling thread's, as it does for the runtime.
 * What a free means:
 *
 *   block          free            free_on(A)              free_on(B)
 *   no stream      idle         to A's free list             to B's free list
 *   on A           idle         to A's free list             to B's free list: the
 *                                                          caller has ordered B
 *                                                          after all its uses
 *   on A, used     idle         to A's free list when C's    to B's free list likewise
 *   on C as well                   event is complete
 *
 * To be allocated on A is a use of the block on A.
 *
 * A request on A is served from A's free list, else from the idle free list, else from where both
 * touch. If that has no room, it steals: A waits, on the device, for the stream whose free list has
 * bytes, or for several whose ranges touch, and gets as many as it needs; the rest stays. What A
 * has waited for once it need not wait for again. That is one event recorded, one wait queued, and
 * no wait of the host, and comes before the arena grows.
 * Bytes of other free lists come to the idle free list when an event behind their free is complete.
 * The option steal says how far all this goes:
 *
 *   wait      as told here
 *   idle   no stream is made to wait: a request gets what is idle, and
 *             what its stream has waited for (cuarena_stream_waited), and
 *             before it fails the caller waits for more to be idle
 *   never     a free list serves its stream only, until a call reclaims it:
 *             cuarena_reclaim, cuarena_release_stream, cuarena_trim,
 *             cuarena_compact, cuarena_stream_waited
 *
 * A request without a stream, and on memory that the CPU touches, goes no farther than `idle`.
 * Before a request fails where a limit or the memory stands in the way of growth, the caller waits
 * for its own stream's free list too: only idle bytes can be given back, or joined to what is taken
 * beside them. With `never` it waits for all streams, and what can be given back of their free
 * lists goes; the rest stays theirs.
 *
 * An event is recorded when a request finds no room, before trim, by cuarena_reclaim,
 * cuarena_stream_mark and cuarena_release_stream; with the option events=eager at each free, for
 * programs whose streams wait for each other through memory: a late event covers later work too.
 * With events=late such a program can come to a halt when bytes cross.
 *
 * Ranges of different streams that touch stay apart, with 72 B of bookkeeping for each. When there
 * are more of them than 1024 and one for each eight blocks, an allocation records events and
 * reclaims what is complete, as cuarena_reclaim without a wait, and again whenever there are an
 * eighth more. So they stay bounded, but for bytes behind which work is still under way and, with
 * steal=never, for what the streams keep.
 *
 * On memory that the CPU touches (pageable, pinned, managed) even A gets bytes back only when they
 * are idle, since stream order does not order the CPU;
 * the option device_only says that the CPU does not touch such blocks.
 *
 * A stream is known from its first use until cuarena_release_stream, which
 * must come before the stream is destroyed: in between any call may record on it or let it wait.
 * One arena knows at most CUARENA_MAX_STREAMS at a time.
 *
 * A stream that is captured into a graph: see capture.h.
 *
 * Errors besides those of the call without a stream: BAD_ARGUMENT for a stream whose work cannot
 * use the arena's bytes, UNSUPPORTED for a memory without streams and for one that is being
 * captured and was not known, NO_DEVICE, DRIVER, OUT_OF_MEMORY if the host has none for a stream
 * that was not known, LIMIT for too many streams. Every call takes CUARENA_NO_STREAM too, and is
 * then the call without a stream.
 *
 * Cost: as without a stream, and no driver call, once the stream is known. A request that neither
 * its stream's free list nor the idle one serves at once looks at a bounded number of ranges for
 * each stream that it waits for, and only before the arena grows, or the request is refused, at all
 * of them. Where nothing steals it looks at those of its own stream's free list instead. An event
 * costs the ranges that were freed on its stream since the last one, if that one is not complete.
 */
#ifndef CUARENA_STREAMS_H
#define CUARENA_STREAMS_H

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUARENA_MAX_STREAMS 126

/* As cuarena_alloc_with; `request` may be NULL. Zeroing is queued on the stream. */
CUARENA_API cuarena_status_t cuarena_alloc_on(cuarena_t *arena, uint64_t bytes,
                                              cuarena_stream_t stream,
                                              const cuarena_request_t *request, void **pointer_out);
/* See the table above. On an error the block is as it was. Neither OUT_OF_MEMORY nor LIMIT: a
 * stream that was not known and cannot be made so is waited for by the caller (host_waits counts
 * that, and the log says so at level info), and the bytes are idle then. BUSY if it is being
 * captured. */
CUARENA_API cuarena_status_t cuarena_free_on(cuarena_t *arena, void *pointer,
                                             cuarena_stream_t stream);
/* As cuarena_resize: where the contents must move, the copy is queued on the stream, and the old
 * bytes are freed on it. */
CUARENA_API cuarena_status_t cuarena_resize_on(cuarena_t *arena, void *pointer, uint64_t bytes,
                                               cuarena_stream_t stream, void **pointer_out);
CUARENA_API cuarena_status_t cuarena_block_alloc_on(cuarena_t *arena, uint64_t bytes,
                                                    cuarena_stream_t stream,
                                                    const cuarena_request_t *request,
                                                    cuarena_block_t *block_out);
CUARENA_API cuarena_status_t cuarena_block_free_on(cuarena_t *arena, cuarena_block_t block,
                                                   cuarena_stream_t stream);
CUARENA_API cuarena_status_t cuarena_block_resize_on(cuarena_t *arena, cuarena_block_t block,
                                                     uint64_t bytes, cuarena_stream_t stream);
/* As cuarena_block_pin; the stream then waits for the block's last move. */
CUARENA_API cuarena_status_t cuarena_block_pin_on(cuarena_t *arena, cuarena_block_t block,
                                                  cuarena_stream_t stream, void **pointer_out);
/* The pin ends at this point of the stream: as cuarena_block_unpin and cuarena_block_record_use. */
CUARENA_API cuarena_status_t cuarena_block_unpin_on(cuarena_t *arena, cuarena_block_t block,
                                                    cuarena_stream_t stream);

/* The block is used on that stream too: when it is freed on a stream, its
 * bytes go to nobody before everything queued there until the free is done. Once per block and
 * stream is enough. Takes host memory: OUT_OF_MEMORY if there is none. STALE if no such block
 * lives. */
CUARENA_API cuarena_status_t cuarena_record_use(cuarena_t *arena, const void *pointer,
                                                cuarena_stream_t stream);
CUARENA_API cuarena_status_t cuarena_block_record_use(cuarena_t *arena, cuarena_block_t block,
                                                      cuarena_stream_t stream);
/*
 * The stream is about to be destroyed: records an event behind all its work. Once this has returned
 * OK no call touches the handle: calls of other threads that use it now, a compaction that lets it
 * wait for instance, are waited for until they have handed it to the driver; the stream's work is
 * not. Blocks allocated on it live on; free them without a stream, or on another. OK for a stream
 * that the arena does not know; BUSY for one of an open capture session, or one that is being
 * captured; DRIVER if the event cannot be recorded: the stream is still known then. Steps: the free
 * list's ranges.
 */
CUARENA_API cuarena_status_t cuarena_release_stream(cuarena_t *arena, cuarena_stream_t stream);
/*
 * Reclaims all that can be: records events on streams whose free lists have bytes without one, and
 * takes what is complete; with `wait` = 1 waits until everything freed so far is idle.
 * `reclaimed_out` (may be NULL) gets the
 * bytes that came to the idle free list. Steps: streams, and the ranges idle.
 */
CUARENA_API cuarena_status_t cuarena_reclaim(cuarena_t *arena, int32_t wait,
                                             uint64_t *reclaimed_out);
/*
 * Gives bytes that were freed on the stream back to the memory, whole pages
 * or, where segments keep their length, whole segments, until no more than `keep_bytes` are held or
 * no more of them are free; nothing of other
 * streams, and nothing that is idle. CUARENA_NO_STREAM: of all streams, and what is idle. Waits for
 * the stream, or for each of them, as far as it
 * freed something (host_waits counts one for each), and for blocks that other streams use besides.
 * What stays is idle or, with steal=never, the
 * stream's as before.
 *
 * OK for a stream that the arena does not know; BUSY for one of an open capture session; DRIVER if
 * a wait fails; REENTERED as reset. A caller's own bytes stay. Cost: ranges, and the memory's.
 *
 * Where blocks are pieces of a driver's pool, it is the pool that keeps `keep_bytes`, once what the
 * stream was given so far is done; with CUARENA_NO_STREAM, all work of the device.
 */
CUARENA_API cuarena_status_t cuarena_trim_on(cuarena_t *arena, cuarena_stream_t stream,
                                             uint64_t keep_bytes, uint64_t *given_back_out);
/*
 * Waits of the program's own. A program that lets one stream wait for another, or waits for one
 * itself, can tell the arena, which then need not do so again:
 *
 *   cuarena_stream_mark(arena, producer, &mark);
 *   cudaEventRecord(event, producer);
 *   cudaStreamWaitEvent(waiter, event);
 *   cuarena_stream_waited(arena, waiter, producer, mark);
 *
 * What was freed on the producer before the mark may then serve the waiter at once and, with
 * CUARENA_NO_STREAM as the waiter, which stands for the caller, everybody. A mark is a number that
 * needs no end. Waits pass on: who waits for the waiter later has waited for the producer too.
 */
typedef uint64_t cuarena_mark_t;
/* This moment of the stream. BAD_ARGUMENT for CUARENA_NO_STREAM. Records a event, if something was
 * freed on it since the last one. Steps: the free list's ranges. */
CUARENA_API cuarena_status_t cuarena_stream_mark(cuarena_t *arena, cuarena_stream_t stream,
                                                 cuarena_mark_t *mark_out);
/* `waiter` was given a wait for work of `producer` up to `mark` at least. BAD_ARGUMENT for what is
 * no mark of that stream; OK for one that was
 * released since. No driver call. Steps: streams and, with
 * CUARENA_NO_STREAM, the ranges idle. */
CUARENA_API cuarena_status_t cuarena_stream_waited(cuarena_t *arena, cuarena_stream_t waiter,
                                                   cuarena_stream_t producer, cuarena_mark_t mark);
/* Live, requested, counts and peaks of blocks allocated on that stream, and free_bytes: of its free
 * list. STALE if the arena does not know the stream. */
CUARENA_API cuarena_status_t cuarena_stream_stats(cuarena_t *arena, cuarena_stream_t stream,
                                                  cuarena_stats_t *stats);

/* NULL as a stream is what NULL means in this program. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cuarena_alloc_on(arena, bytes, stream, request, out)                                       \
    (cuarena_alloc_on)(arena, bytes, cuarena_stream_meant(stream), request, out)
#define cuarena_free_on(arena, pointer, stream)                                                    \
    (cuarena_free_on)(arena, pointer, cuarena_stream_meant(stream))
#define cuarena_resize_on(arena, pointer, bytes, stream, out)                                      \
    (cuarena_resize_on)(arena, pointer, bytes, cuarena_stream_meant(stream), out)
#define cuarena_block_alloc_on(arena, bytes, stream, request, out)                                 \
    (cuarena_block_alloc_on)(arena, bytes, cuarena_stream_meant(stream), request, out)
#define cuarena_block_free_on(arena, block, stream)                                                \
    (cuarena_block_free_on)(arena, block, cuarena_stream_meant(stream))
#define cuarena_block_resize_on(arena, block, bytes, stream)                                       \
    (cuarena_block_resize_on)(arena, block, bytes, cuarena_stream_meant(stream))
#define cuarena_block_pin_on(arena, block, stream, out)                                            \
    (cuarena_block_pin_on)(arena, block, cuarena_stream_meant(stream), out)
#define cuarena_block_unpin_on(arena, block, stream)                                               \
    (cuarena_block_unpin_on)(arena, block, cuarena_stream_meant(stream))
#define cuarena_record_use(arena, pointer, stream)                                                 \
    (cuarena_record_use)(arena, pointer, cuarena_stream_meant(stream))
#define cuarena_block_record_use(arena, block, stream)                                             \
    (cuarena_block_record_use)(arena, block, cuarena_stream_meant(stream))
#define cuarena_release_stream(arena, stream)                                                      \
    (cuarena_release_stream)(arena, cuarena_stream_meant(stream))
#define cuarena_trim_on(arena, stream, keep, given)                                                \
    (cuarena_trim_on)(arena, cuarena_stream_meant(stream), keep, given)
#define cuarena_stream_mark(arena, stream, mark)                                                   \
    (cuarena_stream_mark)(arena, cuarena_stream_meant(stream), mark)
#define cuarena_stream_waited(arena, waiter, producer, mark)                                       \
    (cuarena_stream_waited)(arena, cuarena_stream_meant(waiter), cuarena_stream_meant(producer),   \
                            mark)
#define cuarena_stream_stats(arena, stream, stats)                                                 \
    (cuarena_stream_stats)(arena, cuarena_stream_meant(stream), stats)
#endif

#ifdef __cplusplus
}
#endif

#endif
