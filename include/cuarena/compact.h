/*
 * Compaction: moves blocks together, so that free bytes come to lie in one piece.
 *
 *   cuarena_compact_options_t options;
 *   cuarena_compact_options_init(&options);
 *   options.goal_bytes = 256 << 20;           until a block of 256 MiB fits
 *   options.stream = stream;                  the copies are queued there
 *   cuarena_compact(arena, &options, told_of_moves, user, NULL);
 *
 * What is pinned never moves: pointers, until cuarena_unpin; blocks, while cuarena_block_pin holds
 * them. The stable region never moves either. Threads, errors and cost are those of every call on
 * an arena (arena.h).
 */
#ifndef CUARENA_COMPACT_H
#define CUARENA_COMPACT_H

#include "heap.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The relocation callback is told of a batch of moves, once, after their copies were queued (on
 * host memory: done) and the blocks have their new addresses. In the order of the list no new range
 * overlaps the old range of a later entry. It returns 0 to go on, anything else to end the
 * compaction with this batch, which is done.
 *
 * Every call is legal in it but to compact, reset, resize the pool of, trim or destroy the same
 * arena (REENTERED). It must return, rather than leave by longjmp or an exception: otherwise the
 * arena would be compacting for ever.
 */
typedef int32_t (*cuarena_relocation_fn)(void *user, const cuarena_relocation_t *list,
                                         size_t count);

typedef struct cuarena_compact_options {
    size_t struct_size;
    uint64_t goal_bytes;             /* 0 (default): all blocks slide together;
                                      * N: until a block of N bytes fits */
    uint64_t goal_alignment;         /* of that block; 0 (default): the arena's */
    uint64_t max_bytes;              /* most bytes moved; default UINT64_MAX */
    uint64_t max_moves;              /* most blocks moved; default UINT64_MAX */
    uint64_t batch_moves;            /* without a goal: most blocks in one call of
                                      * the callback; default UINT64_MAX */
    int32_t report_unmoved;          /* 1: the callback also gets, in a last batch,
                                      * every block without pins that stayed, with
                                      * from = to; default 0 */
    int32_t zero;                    /* 0 */
    cuarena_stream_t stream;         /* the copies are queued on it; by default
                                      * CUARENA_NO_STREAM: they are done when the
                                      * call returns */
    const cuarena_stream_t *streams; /* streams that use blocks which were allocated
                                      * without a stream; the caller's, read during
                                      * the call; default NULL */
    size_t stream_count;             /* how many these are */
} cuarena_compact_options_t;
CUARENA_API void cuarena_compact_options_init(cuarena_compact_options_t *options);

typedef struct cuarena_compact_report {
    size_t struct_size;
    uint64_t moves;       /* blocks moved */
    uint64_t runs;        /* copies made: neighbours are copied together */
    uint64_t bytes_moved; /* of these blocks */
    uint64_t batches;
    uint64_t largest_before; /* bytes of the largest free range, exact: of idle bytes or, where
                              * the compaction has a stream, of the stream's own too */
    uint64_t largest_after;
    int32_t stopped; /* 1: the callback stopped it */
} cuarena_compact_report_t;
CUARENA_API void cuarena_compact_report_init(cuarena_compact_report_t *report);

/*
 * Slides the blocks of the dynamic region that are not pinned together. NULL options mean the
 * defaults; callback and report may be NULL. One compaction runs at a time: one in another thread
 * waits.
 *
 * With `options->stream`, the call does not wait (but on memory that the CPU touches). Instead that
 * stream waits on the device for every stream that a moved block was allocated on or is used by
 * (cuarena_record_use), then copies the bytes, and those streams wait for the copies. The bytes
 * that become free are the stream's. With steal=first and wait it also waits for the streams that
 * freed bytes, which become its own; with a goal only if that cannot be reached otherwise. Of
 * blocks that were allocated without a stream the arena knows no stream: you must name those that
 * use them in `options->streams`, or ensure yourself that their work is done. Without a stream the
 * call waits for all of these streams, and for what was freed on streams.
 *
 * FRAGMENTED: no blocks within the limits of the options can make room for the goal; nothing moved.
 * UNSUPPORTED: the memory cannot move bytes. What a trimmed pool gave back it takes again if the
 * goal needs that; LIMIT, OUT_OF_MEMORY or DRIVER if it cannot be had. Otherwise blocks do not move
 * across it. BUSY: one of the streams is being captured. If that begins while the copies are on
 * their way, or the driver makes no event for them then, the call waits for the stream on the host.
 *
 * On an error the batch under way moved nothing, and earlier ones stay. But if a copy failed after
 * others were made, if what they left could not be set to 0, or if nothing can wait for them, since
 * `options->stream` began to be captured meanwhile, for instance, then contents may be gone: the
 * arena is lost, as the message says, and later calls are LOST.
 *
 * Cost: O(blocks and free ranges) to plan, under the lock; then the bytes moved, without
 * it.
 */
CUARENA_API cuarena_status_t cuarena_compact(cuarena_t *arena,
                                             const cuarena_compact_options_t *options,
                                             cuarena_relocation_fn callback, void *user,
                                             cuarena_compact_report_t *report);
/* Sets the callback for moves that no call of cuarena_compact reports: those of cuarena_resize_pool
 * and of the compaction before a request is refused (the option compact_on_oom). NULL: nobody is
 * told, and that compaction then moves only blocks, whose ids stay good, but no pointers, even if
 * they are unpinned. */
CUARENA_API cuarena_status_t cuarena_set_relocation_callback(cuarena_t *arena,
                                                             cuarena_relocation_fn callback,
                                                             void *user);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
/* Where the stream NULL is the calling thread's: see cuarena_stream_meant. */
static inline cuarena_status_t cuarena_compact_meant(cuarena_t *arena,
                                                     const cuarena_compact_options_t *options,
                                                     cuarena_relocation_fn callback, void *user,
                                                     cuarena_compact_report_t *report)
{
    cuarena_compact_options_t meant;
    if (options) {
        meant = *options;
        meant.stream = cuarena_stream_meant(options->stream);
    }
    return cuarena_compact(arena, options ? &meant : options, callback, user, report);
}

#define cuarena_compact(arena, options, callback, user, report)                                    \
    cuarena_compact_meant(arena, options, callback, user, report)
#endif

#ifdef __cplusplus
}
#endif

#endif
