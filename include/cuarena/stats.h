/*
 * Statistics besides cuarena_stats: ONNX Runtime's, as numbers and as text;
 * how often each step of running out was tried and helped; peaks in scopes.
 *
 * Everything here takes a bounded number of steps, whatever lives, calls no memory, works for every
 * preset and memory, and may be called by any thread, also from the caller's own functions.
 */
#ifndef CUARENA_STATS_H
#define CUARENA_STATS_H

#include "arena.h"
#include "streams.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* ---- Running out ------------------------------------------------------- */

/* What is done for a request that nothing held has room for, in this order. After a step that
 * brought something the request is tried again, and the
 * steps begin anew. */
#define CUARENA_STEP_JOIN 0    /* both free lists of its own stream together */
#define CUARENA_STEP_STEAL 1   /* all free lists: its stream waits for others */
#define CUARENA_STEP_RECLAIM 2 /* bytes of streams whose last use is over */
#define CUARENA_STEP_GROW 3    /* more from the memory */
#define CUARENA_STEP_CACHE 4   /* ending cached blocks: see cache.h */
#define CUARENA_STEP_WAIT 5    /* bytes whose last use is still under way */
#define CUARENA_STEP_TRIM 6    /* giving back what is free, to grow again */
#define CUARENA_STEP_HANDLER 7 /* the caller's handler */
#define CUARENA_STEP_COMPACT 8 /* compaction, with compact_on_oom */
#define CUARENA_STEP_COUNT 9

/* One step, since the arena was made. Frozen. */
typedef struct cuarena_step_stats {
    const char *name; /* as errors and the log call it; static text */
    uint64_t tried;   /* it had something to do */
    uint64_t served;  /* requests that had room then, and went no further */
} cuarena_step_stats_t;
/* Copies up to `capacity` of them, by their numbers; `count_out` gets how many there are. `steps`
 * NULL with capacity 0 only asks. */
CUARENA_API cuarena_status_t cuarena_step_stats(cuarena_t *arena, cuarena_step_stats_t *steps,
                                                size_t capacity, size_t *count_out);

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
