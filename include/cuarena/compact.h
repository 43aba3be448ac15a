/*
 * Compaction: moving blocks together, so that free bytes are in one piece.
 * Threads, errors and cost that all calls on an arena share: see arena.h.
 */
#ifndef CUARENA_COMPACT_H
#define CUARENA_COMPACT_H

#include "heap.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Gets a batch of relocations once, after their copies were queued (on host memory: done) and the
 * blocks have their new addresses. Ordered so that no
 * new range overlaps the old range of a later one. Legal in it: everything
 * but compact, reset, resize_pool, trim and destroy of the same arena (REENTERED). Non-zero: no
 * further batch; the one reported is done. It must return: not by longjmp, nor by an exception,
 * after which the arena would be compacting for ever.
 */
typedef int32_t (*cuarena_relocation_fn)(void *user, const cuarena_relocation_t *list,
                                         size_t count);

typedef struct cuarena_compact_options {
    size_t struct_size;
    uint64_t goal_bytes;             /* 0: all the way; N: until N bytes fit */
    uint64_t goal_alignment;         /* of those; 0: the arena's */
    uint64_t max_bytes;              /* most bytes moved; UINT64_MAX */
    uint64_t max_moves;              /* most blocks moved; UINT64_MAX */
    uint64_t batch_moves;            /* most blocks per batch, of those without a
                                      * goal; UINT64_MAX */
    int32_t report_unmoved;          /* 1: the callback also gets, in a last batch,
                                      * every block without pins that stayed, with
                                      * from = to */
    int32_t zero;                    /* 0 */
    cuarena_stream_t stream;         /* the copies are queued on it; NO_STREAM: they
                                      * are done on return */
    const cuarena_stream_t *streams; /* others that use blocks which were */
    size_t stream_count;             /* allocated without a stream */
} cuarena_compact_options_t;
CUARENA_API void cuarena_compact_options_init(cuarena_compact_options_t *options);

typedef struct cuarena_compact_report {
    size_t struct_size;
    uint64_t moves; /* blocks moved */
    uint64_t runs;  /* copies made of them */
    uint64_t bytes_moved;
    uint64_t batches;
    uint64_t largest_before; /* free range, exact */
    uint64_t largest_after;
    int32_t stopped; /* 1: the callback stopped it */
} cuarena_compact_report_t;
CUARENA_API void cuarena_compact_report_init(cuarena_compact_report_t *report);

/*
 * Slides blocks without pins of the dynamic region together. NULL options: all the way; callback
 * and report may be NULL. One compaction runs at a time: another thread's waits. FRAGMENTED: a goal
 * that no window within the limits reaches; nothing moved. What a trimmed pool gave back it takes
 * again if a goal needs that (LIMIT, OUT_OF_MEMORY or DRIVER if that cannot be had); else blocks do
 * not move across it. UNSUPPORTED: the memory
 * cannot relocate. Cost: blocks and ranges to plan, under the lock; then the bytes moved, without
 * it.
 *
 * With a stream the call does not wait, but on memory that the CPU touches:
 * the stream waits for every stream that a moved block was allocated on or is used by
 * (cuarena_record_use), moves the bytes, and those streams wait for
 * it. Bytes that it vacates are the stream's. For blocks allocated without a stream the caller
 * vouches, or names the streams that use them. Without one the call waits for all of these, and for
 * what was freed on streams.
 */
CUARENA_API cuarena_status_t cuarena_compact(cuarena_t *arena,
                                             const cuarena_compact_options_t *options,
                                             cuarena_relocation_fn callback, void *user,
                                             cuarena_compact_report_t *report);
/* Who hears of moves that no compact call reports: resize_pool, and the compaction step of running
 * out (compact_on_oom). NULL: nobody, and then
 * that step moves no pointers, pinned or not: only blocks, whose ids stay
 * good. */
CUARENA_API cuarena_status_t cuarena_set_relocation_callback(cuarena_t *arena,
                                                             cuarena_relocation_fn callback,
                                                             void *user);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
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
