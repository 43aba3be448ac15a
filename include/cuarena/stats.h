/*
 * Statistics: what an arena, a region or a tag has now and had at most, also in ONNX Runtime's
 * figures, as text, and in scopes; a walk over everything; the validator.
 *
 * Everything here takes a bounded number of steps, whatever lives, but for cuarena_inspect,
 * cuarena_validate and cuarena_reset_peaks. It calls no memory, works for every preset and memory,
 * and may be called by any thread, also from the caller's own functions.
 */
#ifndef CUARENA_STATS_H
#define CUARENA_STATS_H

#include "base.h"
#include "memory.h"
#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What there is now --------------------------------------------------- */

typedef struct cuarena_stats {
    size_t struct_size;
    uint64_t reserved_bytes;  /* from the memory; only for REGION_ALL */
    uint64_t capacity_bytes;  /* blocks and ranges together */
    uint64_t live_bytes;      /* blocks, as taken */
    uint64_t requested_bytes; /* blocks, as asked for */
    uint64_t free_bytes;
    uint64_t largest_bytes; /* free range, to within 1/32 below; of what was
                             * freed on streams, what is idle */
    uint64_t live_blocks;
    uint64_t peak_reserved_bytes; /* peaks: since creation or reset_peaks */
    uint64_t peak_live_bytes;
    uint64_t peak_requested_bytes;
    uint64_t peak_live_blocks;
    uint64_t allocs;
    uint64_t frees;
    uint64_t failed; /* requests refused; only for REGION_ALL, and the */
    uint64_t grows;  /* counts below too */
    uint64_t trims;
    uint64_t compactions;
    uint64_t moves;
    uint64_t bytes_moved;
    uint64_t oom_handler_calls;
    uint64_t segments;
    uint64_t dedicated_bytes;   /* dedicated and adopted, part of live_bytes */
    uint64_t bookkeeping_bytes; /* of the host: see heap.h; ALL also counts
                                 * the arena and its streams */
    /* Of streams; only for REGION_ALL. */
    uint64_t steals;         /* requests served from another stream's free list */
    uint64_t stream_waits;   /* waits of one stream for another, queued */
    uint64_t host_waits;     /* waits of a calling thread for a stream */
    uint64_t captures;       /* capture sessions; only for REGION_ALL */
    uint64_t captured_bytes; /* private to them, live or free */
    uint64_t memory_calls;   /* of its functions that reach the driver, or
                              * would where there is none: to take, give back,
                              * move, zero and export bytes, to identify and
                              * mark streams, to ask and to wait for marks */
    uint64_t driver_calls;   /* what the driver was called for by the memory
                              * since it was opened; 0 without a driver. None
                              * to allocate from bytes that are held or to free,
                              * but: some 10 at the first sight of a stream, at
                              * most 20 for a zeroed request, at most 30 for
                              * bytes of another stream (record, ask, wait),
                              * some 10 for a free with events=eager, or on the
                              * default stream of a thread if other streams are
                              * known, for each stream that was recorded to use
                              * the block, and for the first free after a
                              * compaction */
    uint64_t free_ranges;    /* free stretches, of all free lists: two that touch
                              * are one if they are of the same free list; also of a
                              * region; 0 with segments=each, whose free bytes
                              * are the memory's, which does not tell */
} cuarena_stats_t;
CUARENA_API void cuarena_stats_init(cuarena_stats_t *stats);
/* Constant time. For REGION_ALL the peaks are of the whole. A stable request that was served
 * without a stable region counts as dynamic. */
CUARENA_API cuarena_status_t cuarena_stats(cuarena_t *arena, int32_t region,
                                           cuarena_stats_t *stats);
/* Live, requested, counts and peaks of one tag; the rest is 0. */
CUARENA_API cuarena_status_t cuarena_tag_stats(cuarena_t *arena, cuarena_tag_t tag,
                                               cuarena_stats_t *stats);
/* Sets every peak, of regions, tags and streams, to what is now. Scopes of peaks are below.
 * Cost: the tags and streams. */
CUARENA_API cuarena_status_t cuarena_reset_peaks(cuarena_t *arena);

/* What a walk finds. Cost: blocks and ranges of the region, under the lock. */
typedef struct cuarena_inspection {
    size_t struct_size;
    uint64_t free_bytes;
    uint64_t largest_bytes; /* free range, exact */
    uint64_t ranges;
    uint64_t pinned_blocks;
    uint64_t pinned_bytes;
    uint64_t movable_blocks;
    uint64_t movable_bytes;
    double fragmentation;      /* 1 - largest / free; 0 if nothing is free */
    uint64_t range_counts[64]; /* ranges of [2^i, 2^(i+1)) bytes */
    uint64_t range_bytes[64];
    uint64_t block_counts[64]; /* blocks likewise, by bytes taken */
    uint64_t block_bytes[64];
} cuarena_inspection_t;
CUARENA_API void cuarena_inspection_init(cuarena_inspection_t *inspection);
CUARENA_API cuarena_status_t cuarena_inspect(cuarena_t *arena, int32_t region,
                                             cuarena_inspection_t *inspection);
/* Recomputes everything; CORRUPT with the reason in `text` (may be NULL). */
CUARENA_API cuarena_status_t cuarena_validate(cuarena_t *arena, char *text, size_t text_size);

/* ---- ONNX Runtime's figures -------------------------------------------- */

/*
 * The figures of ONNX Runtime's arenas, each moved by the same things. Reserve is there what
 * `dedicated` is here; bytes that were adopted count as a Reserve too. What is above INT64_MAX is
 * INT64_MAX, such as a limit of none.
 *
 * A region of theirs is what one growth took. Where a memory grows in place, trim may give several
 * growths back as one piece, which counts as one, or as all that there were when nothing is left.
 *
 * Where blocks are pieces of a driver's pool they count as its allocator there does: in use is what
 * was asked for, total_allocated_bytes what the pool has of its device, which the driver is asked
 * for (DRIVER), shrinkages are trims, and there are neither extensions nor Reserves.
 */
typedef struct cuarena_ort_stats {
    size_t struct_size;
    int64_t num_allocs;             /* blocks ever, Reserves too */
    int64_t num_reserves;           /* ... those alone */
    int64_t num_arena_extensions;   /* growths less those given back */
    int64_t num_arena_shrinkages;   /* growths given back */
    int64_t bytes_in_use;           /* of blocks, as taken */
    int64_t bytes_requested_in_use; /* of blocks, as asked for */
    int64_t total_allocated_bytes;  /* held, and adopted */
    int64_t reserved_bytes;         /* of live Reserves, as taken */
    int64_t max_bytes_in_use;       /* ever, whatever scopes and resets */
    int64_t max_alloc_size;         /* the largest block ever, as taken */
    int64_t bytes_limit;            /* most bytes held: the limit or the pool */
} cuarena_ort_stats_t;
CUARENA_API void cuarena_ort_stats_init(cuarena_ort_stats_t *stats);
CUARENA_API cuarena_status_t cuarena_ort_stats(cuarena_t *arena, cuarena_ort_stats_t *stats);

/* ---- As text ----------------------------------------------------------- */

/* Which figures: the members of cuarena_stats_t for REGION_ALL, under their names; or those above
 * under ONNX Runtime's keys, such as "MaxInUse". */
#define CUARENA_TEXT_STATS 0
#define CUARENA_TEXT_ORT 1

/* Gets one figure; both texts are valid during the call only. It may be left by longjmp or an
 * exception: nothing is under way. */
typedef void (*cuarena_pair_fn)(void *user, const char *key, const char *value);
/* Hands every figure of one moment over, in decimal. No lock is held: any call is legal in the
 * function. BAD_ARGUMENT for another `form`. */
CUARENA_API cuarena_status_t cuarena_stats_pairs(cuarena_t *arena, int32_t form,
                                                 cuarena_pair_fn write, void *user);
/*
 * The same as "key=value", each with a newline at its end. `needed_out` (may be NULL) gets the
 * bytes that this takes, with the zero at its end, also when they are too many: BAD_ARGUMENT then,
 * and `text` is as it was. `text` NULL with text_size 0 only asks.
 */
CUARENA_API cuarena_status_t cuarena_stats_text(cuarena_t *arena, int32_t form, char *text,
                                                size_t text_size, size_t *needed_out);

/* ---- Peaks in scopes --------------------------------------------------- */

/*
 * A push begins a scope: peaks count from what is live now. The pop that ends it tells the peaks
 * since, and the peaks of the scope around it are what they would be without it. Scopes nest.
 * Meanwhile cuarena_stats and the others
 * tell the peaks of the innermost scope.
 *
 * The whole arena, each region, each tag and each stream have scopes of their own, which know
 * nothing of each other. They belong to no thread: threads that push on the same thing take turns,
 * or get each other's peaks. While the
 * whole or the dynamic region has a scope, allocations take some instructions more; nothing else
 * costs them anything.
 *
 * cuarena_reset_peaks sets the peaks of all open scopes to what is now.
 *
 * Push: LIMIT when CUARENA_MAX_PEAK_SCOPES are open, OUT_OF_MEMORY if the host has none for the
 * first one, of 1 KiB at most. Pop: BAD_ARGUMENT when none is open.
 */
#define CUARENA_MAX_PEAK_SCOPES 16

typedef struct cuarena_peaks {
    size_t struct_size;
    uint64_t reserved_bytes; /* only of the whole */
    uint64_t live_bytes;
    uint64_t requested_bytes;
    uint64_t live_blocks;
} cuarena_peaks_t;
CUARENA_API void cuarena_peaks_init(cuarena_peaks_t *peaks);

/* Of a region, or with CUARENA_REGION_ALL of the whole arena. */
CUARENA_API cuarena_status_t cuarena_peaks_push(cuarena_t *arena, int32_t region);
CUARENA_API cuarena_status_t cuarena_peaks_pop(cuarena_t *arena, int32_t region,
                                               cuarena_peaks_t *peaks);
CUARENA_API cuarena_status_t cuarena_tag_peaks_push(cuarena_t *arena, cuarena_tag_t tag);
CUARENA_API cuarena_status_t cuarena_tag_peaks_pop(cuarena_t *arena, cuarena_tag_t tag,
                                                   cuarena_peaks_t *peaks);
/* STALE if the arena does not know the stream (any more). */
CUARENA_API cuarena_status_t cuarena_stream_peaks_push(cuarena_t *arena, cuarena_stream_t stream);
CUARENA_API cuarena_status_t cuarena_stream_peaks_pop(cuarena_t *arena, cuarena_stream_t stream,
                                                      cuarena_peaks_t *peaks);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cuarena_stream_peaks_push(arena, stream)                                                   \
    (cuarena_stream_peaks_push)(arena, cuarena_stream_meant(stream))
#define cuarena_stream_peaks_pop(arena, stream, peaks)                                             \
    (cuarena_stream_peaks_pop)(arena, cuarena_stream_meant(stream), peaks)
#endif

#ifdef __cplusplus
}
#endif

#endif
