/*
 * Statistics: what an arena, a region or a tag has now and had at most, also in ONNX Runtime's
 * figures, as text, and in scopes; a walk over everything; the validator.
 *
 * Everything here takes a bounded number of steps, whatever lives, but for cuarena_inspect,
 * cuarena_validate and cuarena_reset_peaks. It calls no memory, but for ONNX Runtime's figures of a
 * driver's pool, works for every preset and memory, and may be called by any thread, also from the
 * caller's own functions.
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

/*
 * A block is live as long as nobody else can get its bytes. So one that was freed is live while it
 * waits for streams that use it (cuarena_record_use), for a move or for its exports; and while a
 * resize moves a block, its old and its new place are two, which peaks count. The peak of reserved
 * bytes counts also what was taken for a request that was then refused.
 */
typedef struct cuarena_stats {
    size_t struct_size;
    uint64_t reserved_bytes;  /* taken from the memory; only for REGION_ALL */
    uint64_t capacity_bytes;  /* live, cached and free bytes together */
    uint64_t live_bytes;      /* of live blocks, as allocated: rounded up */
    uint64_t requested_bytes; /* of live blocks, as asked for */
    uint64_t free_bytes;      /* of all free lists */
    uint64_t largest_bytes;   /* the largest idle free range; where many are of
                               * about its size, two thirds of it at least */
    uint64_t live_blocks;
    uint64_t peak_reserved_bytes; /* peaks: since creation or reset_peaks */
    uint64_t peak_live_bytes;
    uint64_t peak_requested_bytes;
    uint64_t peak_live_blocks;
    uint64_t allocs;
    uint64_t frees;
    uint64_t failed; /* requests refused; this and the counts below are only */
    uint64_t grows;  /* for REGION_ALL */
    uint64_t trims;
    uint64_t compactions;
    uint64_t moves;
    uint64_t bytes_moved;
    uint64_t oom_handler_calls;
    uint64_t segments;
    uint64_t dedicated_bytes;   /* of dedicated and adopted blocks, which are part
                                 * of live_bytes */
    uint64_t bookkeeping_bytes; /* of the host: see heap.h; for REGION_ALL with those of
                                 * the arena, its streams, its options of debug.h and
                                 * its trace; without what a tool is told (nvtx=), and
                                 * some 300 B for each thread that records, which are
                                 * the process's */
    /* Of streams; only for REGION_ALL. */
    uint64_t steals;         /* requests that got bytes of another stream */
    uint64_t stream_waits;   /* waits of one stream for another that were queued */
    uint64_t host_waits;     /* waits of a calling thread for a stream */
    uint64_t captures;       /* capture sessions that there are */
    uint64_t captured_bytes; /* private to them, live or free */
    uint64_t memory_calls;   /* calls of the memory's functions that reach the
                              * driver, or would if there were one: to take, give
                              * back, move, zero and export bytes, to identify
                              * streams, and to record, ask and wait for events */
    uint64_t driver_calls;   /* calls of the driver by the memory since it was
                              * opened; 0 without a driver. An allocation from
                              * reserved bytes and a free make none, but: some 10
                              * at the first use of a stream, at most 20 for a
                              * zeroed request, at most 30 for bytes of another
                              * stream (record, ask, wait), some 10 for each stream
                              * when events are looked at (see streams.h), and
                              * some 10 for a free with events=eager, for a free on
                              * the default stream of a thread once another thread
                              * has needed what was freed on it before, for each
                              * stream that was recorded to use the block, and for
                              * the first free after a compaction */
    uint64_t free_ranges;    /* free ranges of all free lists, also for one region;
                              * two that touch are one if they are in the same
                              * free list. 0 with segments=each, whose free bytes
                              * are the memory's, which does not tell */
} cuarena_stats_t;
CUARENA_API void cuarena_stats_init(cuarena_stats_t *stats);
/* For CUARENA_REGION_ALL the peaks are those of the whole arena at one moment. A stable block of an
 * arena without a stable region counts as dynamic. While threads have caches (arena.h) all is exact
 * but the peaks: those of live bytes and blocks are too high by at most what caches kept, and those
 * of requested bytes too low or too high by about that. O(1), and with such caches O(what they
 * keep), since they give that back. */
CUARENA_API cuarena_status_t cuarena_stats(cuarena_t *arena, int32_t region,
                                           cuarena_stats_t *stats);
/* Live and requested bytes, counts and peaks of one tag; the other members are 0. */
CUARENA_API cuarena_status_t cuarena_tag_stats(cuarena_t *arena, cuarena_tag_t tag,
                                               cuarena_stats_t *stats);
/* Sets every peak, of the arena, its regions, tags and streams, to what there is now; for peaks of
 * a part of the program use scopes, below. O(tags + streams). */
CUARENA_API cuarena_status_t cuarena_reset_peaks(cuarena_t *arena);

/* What a walk over all blocks and free ranges finds. */
typedef struct cuarena_inspection {
    size_t struct_size;
    uint64_t free_bytes;
    uint64_t largest_bytes; /* of the largest free range, exact */
    uint64_t ranges;        /* free ranges */
    uint64_t pinned_blocks;
    uint64_t pinned_bytes;
    uint64_t movable_blocks;
    uint64_t movable_bytes;
    double fragmentation;      /* 1 - largest / free; 0 if nothing is free */
    uint64_t range_counts[64]; /* [i]: how many ranges have 2^i to 2^(i+1) - 1 bytes */
    uint64_t range_bytes[64];  /* [i]: bytes of these */
    uint64_t block_counts[64]; /* [i]: how many blocks have so many bytes */
    uint64_t block_bytes[64];  /* [i]: bytes of these */
} cuarena_inspection_t;
CUARENA_API void cuarena_inspection_init(cuarena_inspection_t *inspection);
/* O(blocks + free ranges of the region), under the lock. */
CUARENA_API cuarena_status_t cuarena_inspect(cuarena_t *arena, int32_t region,
                                             cuarena_inspection_t *inspection);
/* Recomputes every counter and link from scratch. CORRUPT, with the reason in `text` (may be NULL),
 * if anything disagrees. O(everything), under the lock. */
CUARENA_API cuarena_status_t cuarena_validate(cuarena_t *arena, char *text, size_t text_size);

/* ---- ONNX Runtime's figures -------------------------------------------- */

/*
 * The figures of ONNX Runtime's arenas, each changed by the same things as there. ONNX Runtime's
 * Reserve is `dedicated` here; adopted bytes count as a Reserve too. A figure above INT64_MAX is
 * INT64_MAX.
 *
 * One of its regions is what one growth took. Where a memory grows in place, trim may give several
 * growths back in one piece, which counts as one, or as all of them when nothing is left.
 *
 * Blocks that are pieces of a driver's pool (preset=driver-pool) count as ONNX Runtime's allocator
 * for such pools does it: in use are the bytes asked for; total_allocated_bytes is what the pool
 * has of its device, for which the driver is asked (DRIVER); shrinkages are trims; there are
 * neither extensions nor Reserves.
 */
typedef struct cuarena_ort_stats {
    size_t struct_size;
    int64_t num_allocs;             /* allocations ever, Reserves too */
    int64_t num_reserves;           /* Reserves ever */
    int64_t num_arena_extensions;   /* growths less those given back */
    int64_t num_arena_shrinkages;   /* growths given back */
    int64_t bytes_in_use;           /* of live blocks, as allocated */
    int64_t bytes_requested_in_use; /* of live blocks, as asked for */
    int64_t total_allocated_bytes;  /* taken from the memory, and adopted */
    int64_t reserved_bytes;         /* of live Reserves, as allocated */
    int64_t max_bytes_in_use;       /* ever: scopes and resets do not change it */
    int64_t max_alloc_size;         /* the largest block ever, as allocated */
    int64_t bytes_limit;            /* most bytes to take: the limit or, with none, the pool, beside
                                     * which dedicated blocks may be; -1: there is none */
} cuarena_ort_stats_t;
CUARENA_API void cuarena_ort_stats_init(cuarena_ort_stats_t *stats);
CUARENA_API cuarena_status_t cuarena_ort_stats(cuarena_t *arena, cuarena_ort_stats_t *stats);

/* ---- As text ----------------------------------------------------------- */

/* Which figures are written: the members of cuarena_stats_t for CUARENA_REGION_ALL, under their
 * names, or those of cuarena_ort_stats_t under ONNX Runtime's keys, such as "MaxInUse". */
#define CUARENA_TEXT_STATS 0
#define CUARENA_TEXT_ORT 1

/* Gets one figure; both texts are valid during the call only. This callback may be left by longjmp
 * or an exception. */
typedef void (*cuarena_pair_fn)(void *user, const char *key, const char *value);
/* Calls `write` for every figure, all of one moment, in decimal. No lock is held then: any call is
 * legal in the callback. `form` is CUARENA_TEXT_...; BAD_ARGUMENT for any other. */
CUARENA_API cuarena_status_t cuarena_stats_pairs(cuarena_t *arena, int32_t form,
                                                 cuarena_pair_fn write, void *user);
/*
 * Writes the same figures into `text`, as lines "key=value". `needed_out` (may be NULL) gets the
 * bytes that this takes with the zero at the end, also when `text_size` is less: BAD_ARGUMENT then,
 * and `text` is as it was. `text` NULL with text_size 0 only asks for the size.
 */
CUARENA_API cuarena_status_t cuarena_stats_text(cuarena_t *arena, int32_t form, char *text,
                                                size_t text_size, size_t *needed_out);

/* ---- Peaks in scopes --------------------------------------------------- */

/*
 * Peaks of a part of a program:
 *
 *   cuarena_peaks_push(arena, CUARENA_REGION_ALL);
 *   run_one_step();
 *   cuarena_peaks_pop(arena, CUARENA_REGION_ALL, &peaks);   the step's peaks
 *
 * A push begins a scope, in which peaks count from what is live now. The pop ends it and gives the
 * peaks since the push; the peaks of the scope around it are as if it had not been. Scopes nest.
 * While one is open, cuarena_stats and the others give the peaks of the innermost one.
 *
 * The whole arena, each region, each tag and each stream have scopes of their own, which do not
 * affect each other. They belong to no thread: threads that push on the same thing must take turns,
 * or they get each other's peaks. While the whole arena or the dynamic region has a scope,
 * allocations take some instructions more; other scopes cost them nothing. cuarena_reset_peaks sets
 * the peaks of all open scopes to what there is now.
 *
 * Push: LIMIT if CUARENA_MAX_PEAK_SCOPES are open; OUT_OF_MEMORY if the host has no memory for the
 * first scope, 1 KiB at most. Pop: BAD_ARGUMENT if none is open.
 */
#define CUARENA_MAX_PEAK_SCOPES 16

typedef struct cuarena_peaks {
    size_t struct_size;
    uint64_t reserved_bytes; /* only of the whole arena */
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
/* STALE if the arena does not know the stream, or does not any more. */
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
