/*
 * Streams: memory that a GPU may still be using when the host frees it.
 *
 * A kernel runs some time after its launch, so what the host frees may still be in use on the
 * device. Each call of this header names a stream, as the runtime's cudaMallocAsync does, and then
 * the host waits for nothing.
 *
 * 1. Free a block on the stream that used it last.
 *
 *   cuarena_alloc_on(arena, bytes, stream, NULL, &pointer);
 *   kernel<<<grid, block, 0, stream>>>(pointer);
 *   cuarena_free_on(arena, pointer, stream);
 *
 *   The bytes are in the free list of the stream now. The stream's next allocation may get them at
 *   once, since its work comes after the kernel. Other streams get them when the kernel is done, or
 *   earlier, with a wait on the device: see "Stealing".
 *
 * 2. If two streams use a block, record the use by the one that does not free it (PyTorch's
 *    record_stream).
 *
 *   cuarena_alloc_on(arena, bytes, a, NULL, &pointer);
 *   fill<<<grid, block, 0, a>>>(pointer);
 *   cudaEventRecord(filled, a);
 *   cudaStreamWaitEvent(b, filled, 0);
 *   read<<<grid, block, 0, b>>>(pointer);
 *   cuarena_record_use(arena, pointer, b);
 *   cuarena_free_on(arena, pointer, a);
 *
 *   Nobody gets the bytes before everything that was queued on b until the free is done.
 *
 * 3. If the program lets one stream wait for another by an event of its own, it can tell the arena,
 *    which then hands memory over from one to the other without a wait of its own.
 *
 *   cuarena_free_on(arena, pointer, producer);
 *   cuarena_stream_mark(arena, producer, &mark);
 *   cudaEventRecord(event, producer);
 *   cudaStreamWaitEvent(consumer, event, 0);
 *   cuarena_stream_waited(arena, consumer, producer, mark);
 *   cuarena_alloc_on(arena, bytes, consumer, NULL, &pointer);
 *
 * Before a stream is destroyed: cuarena_release_stream(arena, stream).
 *
 * Words (docs/glossary.md has all, with those of other allocators)
 *   free list  of a stream: free bytes that this stream may get at once.
 *   idle       of free bytes: no stream uses them any more, so everybody may
 *              get them. The arena has one free list of idle bytes.
 *   event      an event that the arena records on a stream. When it is
 *              complete, what was freed on the stream before it is idle.
 *   reclaim    to ask events whether they are complete, and to move the bytes
 *              behind those that are to the idle free list.
 *   steal      to get bytes from another stream's free list, behind a wait on
 *              the device.
 *
 * What a free means
 *
 *   the block is          freed by cuarena_free   freed on stream A, or on B
 *   of no stream          bytes are idle          go to the free list of A, or B
 *   allocated on A        bytes are idle          go to the free list of A; of B:
 *                                                 you must have made B wait for
 *                                                 all uses of the block on A
 *   ... and used on C     bytes are idle          the same, when an event on C,
 *                                                 recorded at the free, is
 *                                                 complete
 *
 *   A free without a stream says that no stream uses the bytes any more: you must ensure this
 *   yourself. To be allocated on A counts as a use of the block on A.
 *
 * Which stream
 *   NULL is the legacy default stream, which is a stream like others. Where the program is compiled
 *   with CUDA_API_PER_THREAD_DEFAULT_STREAM, NULL is the default stream of the calling thread, as
 *   in the runtime. CUARENA_NO_STREAM makes each call of this header the call without a stream:
 *   such an allocation gets idle bytes only.
 *
 *   An arena knows a stream from its first use until cuarena_release_stream. In between any call
 *   may record an event on it or let it wait, so it must not be destroyed before. One arena knows
 *   at most CUARENA_MAX_STREAMS at a time; one that was released counts until what was freed on it
 *   is idle and the blocks that were allocated on it have ended, also in a cache or a quarantine.
 *   For a stream that is captured into a graph see capture.h.
 *
 * Stealing
 *   An allocation on A looks into A's free list, then into the idle one, then where ranges of both
 *   touch, then into what A has waited for. A large one, of a 1024th of the arena and above, looks
 *   into all of these together where streams wait before the arena takes more: in a pool, unless
 *   `steal` is idle or never, and with steal=first. If none has room, and no more is idle by then,
 *   the arena grows. Where it cannot, because it is a pool, or by a limit or the memory, the
 *   allocation steals: A waits, on the device, for the stream whose free list has the bytes, or for
 *   several whose ranges touch, and gets as many bytes as it needs; the rest stays. While less than
 *   half of the arena lives, these are the bytes of which the work was queued the longest ago. What
 *   A has waited for once it need not wait for again. That takes one event, one queued wait, and no
 *   wait of the host. The option `steal` says how far all this goes:
 *
 *   - first: A waits before the arena grows. It reserves less, and streams that have nothing to do
 *     with each other may run one after the other.
 *   - wait: as told here, so that streams overlap. What most presets set.
 *   - idle: no stream is made to wait. A request gets what is idle, and what its stream has waited
 *     for (cuarena_stream_waited). Before it fails, the caller waits for more to become idle.
 *   - never: only its own stream gets bytes of a free list, until a call reclaims them:
 *     cuarena_reclaim, cuarena_release_stream, cuarena_trim, cuarena_compact,
 *     cuarena_stream_waited, or an allocation for the sake of the bookkeeping (see there).
 *
 *   A request without a stream, and every request on memory that the CPU touches, goes no farther
 *   than `idle`. Where a limit or the memory stands in the way of growth, the caller also waits for
 *   its own stream's free list before the request fails, since only idle bytes can be given back,
 *   or joined to what is taken beside them. With `never` it waits for all streams then, and what
 *   can be given back of their free lists goes back; the rest stays theirs.
 *
 * Events
 *   In an arena that grows and knows several streams, or whose bytes the CPU touches, allocations
 *   look at the events of what was freed, and record those that are to come: once in a while, after
 *   requests on streams for a 16th of what the arena has, and 4 for each stream. Requests that
 *   their stream's free list or the cache of their thread serves in the shortest way do not count.
 *   So bytes whose work is done by then are idle when another stream needs them, and the arena need
 *   not grow for them. Not with steal=never. Default streams of other threads are asked, but
 *   nothing is recorded on them.
 *
 *   A stream lags while the host is far ahead of its work: more than three looks in four, and
 *   several in a row at first, find what it had queued at an earlier one under way still. What it
 *   frees then stays its own, as with steal=never, as long as the arena can grow: once the bytes
 *   are idle it needs them itself, and whichever stream has got them by then, one of the two grows.
 *   Where growth fails, all this is forgotten; what reclaims with steal=never reclaims here too.
 *   With steal=first no stream lags.
 *
 *   With events=late, the default, the event behind what was freed is recorded at such a look, when
 *   a request finds no room, before a trim or a compaction, when a capture session begins, and by
 *   cuarena_reclaim, cuarena_stream_mark and cuarena_release_stream. It covers work that was queued
 *   after the free as well. So a program whose kernels on one stream wait for a kernel on another
 *   by polling memory can deadlock when one stream steals from the other; events=eager, which
 *   records an event at each free, is for such programs.
 *
 * Memory that the CPU touches
 *   The order of a stream does not order the CPU. So on pageable, pinned and managed memory even A
 *   gets bytes that were freed on A only when they are idle. The option device_only says that the
 *   CPU does not touch blocks that streams use.
 *
 * Bookkeeping
 *   Free ranges of different streams that touch stay apart, with 72 B of bookkeeping for each such
 *   place. When there are more than 1024 and one for each eight blocks, an allocation reclaims as
 *   cuarena_reclaim does without a wait, and again whenever there are an eighth more. If more than
 *   1024 and one for each block of the highest count are left then, behind work that is under way,
 *   the allocation's stream waits for the others on the device, and gets what they have free. So
 *   these places stay bounded, but where that wait must not be: with `steal` idle or never, on
 *   memory that the CPU touches, and while all requests are without a stream or on streams that are
 *   being captured.
 *
 * Errors besides those of the call without a stream: BAD_ARGUMENT for a stream whose work cannot
 * use the arena's bytes; UNSUPPORTED for a memory without streams, and for a stream that is being
 * captured and was not known before; LIMIT if as many as CUARENA_MAX_STREAMS count; OUT_OF_MEMORY
 * if there is no memory for a stream that was not known, or for an event that is recorded;
 * NO_DEVICE; DRIVER.
 *
 * Cost: as without a stream, and no driver call but for looks, once the stream is known. A request
 * that neither its stream's free list nor the idle one has room for looks at a bounded number of
 * ranges for each stream that it waits for, and at all of them only before the arena grows or the
 * request is refused. With steal=never it looks at the ranges of its own stream's free list
 * instead. To record an event costs O(ranges freed on the stream since the last event) if that is
 * not complete.
 */
#ifndef CUARENA_STREAMS_H
#define CUARENA_STREAMS_H

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most streams that one arena knows at a time. */
#define CUARENA_MAX_STREAMS 126

/* As cuarena_alloc_with, for use on the stream; `request` may be NULL. Zeroing is queued on the
 * stream. */
CUARENA_API cuarena_status_t cuarena_alloc_on(cuarena_t *arena, uint64_t bytes,
                                              cuarena_stream_t stream,
                                              const cuarena_request_t *request, void **pointer_out);
/* Frees the block at this point of the stream; see "What a free means". On an error the block is as
 * it was. It never says OUT_OF_MEMORY or LIMIT: if the arena has no room for a stream that it did
 * not know, the caller waits for the stream instead (host_waits counts that, and the log says so at
 * level info), and the bytes are idle. BUSY if such a stream is being captured, and DRIVER if it
 * cannot be waited for either. */
CUARENA_API cuarena_status_t cuarena_free_on(cuarena_t *arena, void *pointer,
                                             cuarena_stream_t stream);
/* Frees the block on the stream on which it was allocated, for who was not told: as cuarena_free_on
 * with what cuarena_stream_of says, at one moment, so that no other thread releases the stream in
 * between. As cuarena_free if on none, or if the stream was released since. The default stream of
 * another thread cannot be named; the legacy one, which waits for it, stands for it. */
CUARENA_API cuarena_status_t cuarena_free_own(cuarena_t *arena, void *pointer);
/* As cuarena_resize, for use on the stream: where the contents must move, the copy is queued on the
 * stream, and the old bytes are freed on it. What it does on another stream than the block's own
 * counts as a use by that stream, as cuarena_record_use does, where the contents move or the block
 * gets longer by bytes that this stream freed; where idle bytes make it longer, or it gets shorter,
 * it is none. What uses the block on the stream is for the program to record, as ever. */
CUARENA_API cuarena_status_t cuarena_resize_on(cuarena_t *arena, void *pointer, uint64_t bytes,
                                               cuarena_stream_t stream, void **pointer_out);
/* As cuarena_alloc_on, cuarena_free_on, cuarena_free_own and cuarena_resize_on, for blocks
 * (block.h). */
CUARENA_API cuarena_status_t cuarena_block_alloc_on(cuarena_t *arena, uint64_t bytes,
                                                    cuarena_stream_t stream,
                                                    const cuarena_request_t *request,
                                                    cuarena_block_t *block_out);
CUARENA_API cuarena_status_t cuarena_block_free_on(cuarena_t *arena, cuarena_block_t block,
                                                   cuarena_stream_t stream);
CUARENA_API cuarena_status_t cuarena_block_free_own(cuarena_t *arena, cuarena_block_t block);
CUARENA_API cuarena_status_t cuarena_block_resize_on(cuarena_t *arena, cuarena_block_t block,
                                                     uint64_t bytes, cuarena_stream_t stream);
/* As cuarena_block_pin; the stream waits for compactions that moved the block, so what is queued on
 * it next may use the address. The copy of cuarena_block_resize_on is a use on the stream of that
 * call: you must have made this stream wait for it. */
CUARENA_API cuarena_status_t cuarena_block_pin_on(cuarena_t *arena, cuarena_block_t block,
                                                  cuarena_stream_t stream, void **pointer_out);
/* Ends the pin at this point of the stream: as cuarena_block_record_use and
 * cuarena_block_unpin together. */
CUARENA_API cuarena_status_t cuarena_block_unpin_on(cuarena_t *arena, cuarena_block_t block,
                                                    cuarena_stream_t stream);

/* Says that the block is used on that stream too: when it is freed on a stream, nobody gets its
 * bytes before everything that was queued on that stream until the free is done. Once per block and
 * stream is enough. Takes host memory: OUT_OF_MEMORY if there is none. STALE if no such block
 * lives. */
CUARENA_API cuarena_status_t cuarena_record_use(cuarena_t *arena, const void *pointer,
                                                cuarena_stream_t stream);
CUARENA_API cuarena_status_t cuarena_block_record_use(cuarena_t *arena, cuarena_block_t block,
                                                      cuarena_stream_t stream);
/* The stream on which the block that begins at `pointer` was allocated, for who frees it and was
 * not told; CUARENA_NO_STREAM if on none, or if the stream was released since. The legacy default
 * stream is CUARENA_STREAM_LEGACY, and the default stream of a thread CUARENA_STREAM_PER_THREAD,
 * also on another thread. STALE if no such block lives. Legal on a lost arena. O(1). */
CUARENA_API cuarena_status_t cuarena_stream_of(cuarena_t *arena, const void *pointer,
                                               cuarena_stream_t *stream_out);
/*
 * Makes the arena forget the stream, as the program must before it destroys the stream. Records an
 * event behind the stream's work; what was freed on it is idle when that is complete. Blocks that
 * were allocated on it live on: free them without a stream, or on another one.
 *
 * Once this has returned OK no call touches the handle. It does not wait for the stream's work, but
 * it waits for calls of other threads that are using the handle, such as a compaction that lets the
 * stream wait, until they have handed it to the driver.
 *
 * OK for a stream that the arena does not know. BUSY for a stream of an open capture session, and
 * for one that is being captured. DRIVER, or OUT_OF_MEMORY, if the event cannot be recorded: the
 * stream is still known then. O(ranges of the stream's free list).
 */
CUARENA_API cuarena_status_t cuarena_release_stream(cuarena_t *arena, cuarena_stream_t stream);
/*
 * Moves what streams are done with to the idle free list: records events on streams whose free
 * lists have bytes without one, and takes the bytes behind events that are complete. With `wait` =
 * 1 it waits until everything that was freed so far is idle. `reclaimed_out` (may be NULL) gets the
 * number of bytes that became idle. O(streams + ranges that become idle).
 */
CUARENA_API cuarena_status_t cuarena_reclaim(cuarena_t *arena, int32_t wait,
                                             uint64_t *reclaimed_out);
/*
 * Gives bytes that were freed on the stream back to the memory, in whole pages or, where segments
 * keep their length, whole segments, until no more than `keep_bytes` are reserved or none of them
 * is free any more. It gives back nothing of other streams, and no bytes that are idle. With
 * CUARENA_NO_STREAM it gives back those of all streams, and idle ones. A caller's own bytes stay.
 *
 * The caller waits for the stream, or for each of them, if it freed something (host_waits counts
 * one for each), and for other streams that use the freed blocks. What is not given back is idle
 * or, with steal=never, in the stream's free list as before. given_back_out counts as that of
 * cuarena_trim, and may be NULL.
 *
 * OK for a stream that the arena does not know; BUSY for one of an open capture session, and where
 * a capture is in the way (capture.h); DRIVER if a wait fails; REENTERED as cuarena_reset. Cost:
 * O(free ranges), and the memory's.
 *
 * Where blocks are pieces of a driver's pool (preset=driver-pool), the call waits for the stream
 * or, with CUARENA_NO_STREAM, for all work of the device, and then the pool keeps `keep_bytes`.
 */
CUARENA_API cuarena_status_t cuarena_trim_on(cuarena_t *arena, cuarena_stream_t stream,
                                             uint64_t keep_bytes, uint64_t *given_back_out);
/*
 * Waits of the program's own: example 3 at the top. What was freed on the producer before the mark
 * can be allocated on the waiting stream at once. If the host itself has waited, with
 * cudaEventSynchronize for instance, the waiter is CUARENA_NO_STREAM, and the bytes are
 * everybody's. Waits pass on: a stream that waits for the waiter later has waited for the producer
 * too. A mark is a number: it is never freed.
 */
typedef uint64_t cuarena_mark_t;
/* Gives a mark of this moment of the stream, to be taken before the program records its own event.
 * Records an event of the arena's if something was freed on the stream since the last one.
 * BAD_ARGUMENT for CUARENA_NO_STREAM. O(ranges of the stream's free list). */
CUARENA_API cuarena_status_t cuarena_stream_mark(cuarena_t *arena, cuarena_stream_t stream,
                                                 cuarena_mark_t *mark_out);
/* Says that `waiter` waits for the work of `producer` up to `mark` at least. BAD_ARGUMENT for a
 * number that is no mark yet, and for a mark of another stream that the arena knows. OK, and of no
 * effect, where the mark's stream was released since: what it freed is behind the event of the
 * release then, which comes after the mark. A number that was never a mark cannot always be told
 * from such a one. Calls no driver once the waiter is known. O(streams) and, with
 * CUARENA_NO_STREAM, O(ranges that become idle). */
CUARENA_API cuarena_status_t cuarena_stream_waited(cuarena_t *arena, cuarena_stream_t waiter,
                                                   cuarena_stream_t producer, cuarena_mark_t mark);
/* Live and requested bytes, counts and peaks of blocks that were allocated on the stream, and as
 * free_bytes those of its free list; the other members are 0. STALE if the arena does not know the
 * stream. */
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
