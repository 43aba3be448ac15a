/*
 * The heap: bookkeeping of segments, blocks and free ranges by offset alone. It knows no pointer,
 * no lock and no device, so it can sub-allocate anything that is addressed by number: device
 * memory, a file, a descriptor table.
 *
 *   cuarena_heap_create(&config, &heap);
 *   cuarena_heap_segment_add(heap, 0, 1 << 20);
 *   cuarena_heap_alloc(heap, &request, &block, &offset);
 *   cuarena_heap_free(heap, block, 0);
 *
 * Words
 *   segment    one contiguous stretch [offset, offset + size) given to the
 *              heap. Two segments never merge, even if they touch.
 *   block      one live allocation, named by an id that survives moves.
 *   range      one free stretch. Two that touch and are in the same free list
 *              are always merged.
 *   granule    the number of which offsets and sizes are multiples.
 *   free list  a set of ranges with an index of its own. Free list 0 has the
 *              idle ones, which everybody may get; other free lists are for
 *              bytes that somebody may still be using (streams).
 *
 * Threads: only one may be in a heap at a time; the caller locks. Cost: every call takes a bounded
 * number of steps unless its comment says otherwise. Offsets and sizes are in bytes, or whatever
 * the caller counts.
 *
 * Memory of the bookkeeping, kept once it is used:
 *    72 B   for each block of the highest count so far: 64 B for a record of it
 *           and of the range behind it, 8 B for the look-up by offset
 *   128 B   for each segment of the highest count so far
 *    72 B   for each place where ranges of two free lists touch, unless the
 *           record of a block that ended is used for it
 *   8.5 kB  for each free list, touched as far as it is used
 *    46 kB  for the heap itself, with free list 0
 * The statistics have it as `bookkeeping_bytes`. Addresses for at most four times as much are set
 * aside, so a heap of few blocks takes few whatever max_blocks is. A table that outgrows its
 * addresses gets others, by pages and without a copy: some ten calls of the system in the life of a
 * heap, each O(pages of the table). While there are several free lists, or a plan is under way, a
 * record for each live block is made ready besides, not touched: so a free never takes memory. A
 * plan takes 32 B for each live block, or each of `max_moves` if these are fewer, and 2 B for each
 * record, of which up to 1 MiB are kept for the next one.
 */
#ifndef CUARENA_HEAP_H
#define CUARENA_HEAP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuarena_heap cuarena_heap_t;
typedef struct cuarena_heap_plan cuarena_heap_plan_t;

/*
 * Names a block for as long as it lives; 0 names none. It consists of the heap's number, a slot and
 * how often the slot was used, so an id of a block that has ended, and one of another heap that
 * lives, are always told from a live one. So are ids of heaps that have ended, until 2^48 ids of
 * heaps with the same number were used; there are 32767 numbers, which are given in turn.
 */
typedef uint64_t cuarena_block_t;

/* Offsets end below 2^52 and a segment is smaller than 2^48 bytes. */
#define CUARENA_HEAP_MAX_OFFSET (UINT64_C(1) << 52)
#define CUARENA_HEAP_MAX_SEGMENT (UINT64_C(1) << 48)
/* The most blocks that can live in one heap at once, and the default. */
#define CUARENA_HEAP_MAX_BLOCKS (UINT64_C(1) << 26)
/* The most heaps that can live in one process at once; an arena has one, one more for a stable
 * region, and one more for dedicated and adopted blocks. */
#define CUARENA_HEAP_MAX_HEAPS 32767u
/* The most free lists of a heap, tags of an arena, pins of a block, and the largest owner. */
#define CUARENA_HEAP_MAX_FREELISTS 4096u
#define CUARENA_HEAP_MAX_TAGS 4096u
#define CUARENA_HEAP_MAX_PINS 65535u
#define CUARENA_HEAP_MAX_OWNER 127u

/* How a range is chosen for a request; docs/DESIGN.md, "Placement", says why. */
/* Small and giant blocks from the top end, others from the bottom end. */
#define CUARENA_PLACEMENT_DEFAULT 0
/* The smallest size class in which a bounded search finds room, wherever it is. */
#define CUARENA_PLACEMENT_BEST 1
/* The lowest part of the heap that has room: for what grows and shrinks. */
#define CUARENA_PLACEMENT_LOW 2

typedef struct cuarena_heap_config {
    size_t struct_size;
    uint64_t granule;         /* power of two from 8; default 256 */
    uint64_t max_blocks;      /* 1 to CUARENA_HEAP_MAX_BLOCKS, the default */
    uint64_t split_threshold; /* when what a range has more than the request is split
                               * off: 0 (default): always; N: if that has N bytes or
                               * is as large as the request; UINT64_MAX: never */
    int32_t placement;        /* CUARENA_PLACEMENT_... */
} cuarena_heap_config_t;

CUARENA_API void cuarena_heap_config_init(cuarena_heap_config_t *config);

/* BAD_ARGUMENT; OUT_OF_MEMORY if the bookkeeping cannot be had; LIMIT if CUARENA_HEAP_MAX_HEAPS
 * live. */
CUARENA_API cuarena_status_t cuarena_heap_create(const cuarena_heap_config_t *config,
                                                 cuarena_heap_t **heap_out);
/* Ends the heap whatever lives in it and clears the handle. Plans made of it are good for
 * cuarena_heap_plan_destroy only. NULL is fine. */
CUARENA_API void cuarena_heap_destroy(cuarena_heap_t **heap);

/* ---- Segments: O(log segments), but for a cut --------------------------- */

/*
 * Gives [offset, offset + size) to the heap as one idle range. Both are multiples of the granule.
 * BAD_ARGUMENT if it overlaps a segment.
 */
CUARENA_API cuarena_status_t cuarena_heap_segment_add(cuarena_heap_t *heap, uint64_t offset,
                                                      uint64_t size);
/*
 * As cuarena_heap_segment_add, but the segment is one live block, for dedicated and adopted bytes.
 * The block has the pins and tag of `request`, whose size says how many bytes were asked for.
 */
struct cuarena_heap_request;
CUARENA_API cuarena_status_t cuarena_heap_segment_add_block(
    cuarena_heap_t *heap, uint64_t offset, uint64_t size,
    const struct cuarena_heap_request *request, cuarena_block_t *block_out);
/* Lengthens the segment that begins at `offset` by `bytes` at its end. */
CUARENA_API cuarena_status_t cuarena_heap_segment_extend(cuarena_heap_t *heap, uint64_t offset,
                                                         uint64_t bytes);
/*
 * Takes [offset, offset + bytes) out of the segment around it: the whole segment, an end of it, or
 * its middle, which leaves two segments. BUSY unless all of it lies in one range of free list 0.
 * O(records of the segment above it).
 */
CUARENA_API cuarena_status_t cuarena_heap_segment_cut(cuarena_heap_t *heap, uint64_t offset,
                                                      uint64_t bytes);
/* Makes one segment of two that touch at `offset`. */
CUARENA_API cuarena_status_t cuarena_heap_segment_join(cuarena_heap_t *heap, uint64_t offset);

/* ---- Blocks ------------------------------------------------------------ */

/* The bits of `flags` that a caller may use. */
#define CUARENA_HEAP_FLAGS 0xffu

/* What a request asks. Frozen: set all members, or begin with {0}. */
typedef struct cuarena_heap_request {
    uint64_t size;      /* rounded up to the granule; not 0 */
    uint64_t alignment; /* a power of two; 0: the granule */
    uint32_t freelist;  /* the free list that the bytes come from */
    uint16_t tag;       /* kept with the block */
    uint16_t pins;      /* how many pins the block has from the start */
    uint16_t flags;     /* bits of the caller's own, kept with the block:
                         * CUARENA_HEAP_FLAGS of them */
    uint16_t low;       /* 1: as low as a bounded search finds room */
    uint16_t owner;     /* a number of the caller's, kept with the block; at most
                         * CUARENA_HEAP_MAX_OWNER */
    uint16_t zero;      /* 0 */
} cuarena_heap_request_t;

/*
 * Allocates a block. OUT_OF_MEMORY: the free list has fewer bytes than asked for. FRAGMENTED: it
 * has enough, but no range fits; only then does the call search all ranges of the request's own
 * size class. LIMIT: max_blocks live already; or blocks, segments, places where ranges of two free
 * lists touch, and slots whose ids are used up need more records than a heap has (four times
 * max_blocks and some thousands, at least 2^17 and at most 2^27).
 */
CUARENA_API cuarena_status_t cuarena_heap_alloc(cuarena_heap_t *heap,
                                                const cuarena_heap_request_t *request,
                                                cuarena_block_t *block_out, uint64_t *offset_out);
/* Frees a block, pinned or not; its bytes join `freelist`. STALE for an id that names nothing live;
 * BUSY while a plan under way moves the block. */
CUARENA_API cuarena_status_t cuarena_heap_free(cuarena_heap_t *heap, cuarena_block_t block,
                                               uint32_t freelist);
/*
 * Grows or shrinks the block where it stands, into or out of the range after
 * it (of `freelist`). FRAGMENTED if it cannot: nothing changed.
 */
CUARENA_API cuarena_status_t cuarena_heap_resize(cuarena_heap_t *heap, cuarena_block_t block,
                                                 uint64_t size, uint32_t freelist);
/* Lets two blocks change places: ids, pins and tags stay, offsets and sizes are exchanged. So a
 * resize that has to move can keep the id. */
CUARENA_API cuarena_status_t cuarena_heap_exchange(cuarena_heap_t *heap, cuarena_block_t a,
                                                   cuarena_block_t b);
/* The block that begins at `offset`; STALE if none does. Expected constant. */
CUARENA_API cuarena_status_t cuarena_heap_find(const cuarena_heap_t *heap, uint64_t offset,
                                               cuarena_block_t *block_out);
/* A block with pins does not move. BUSY if it has CUARENA_HEAP_MAX_PINS; BAD_ARGUMENT if there is
 * no pin to end. */
CUARENA_API cuarena_status_t cuarena_heap_pin(cuarena_heap_t *heap, cuarena_block_t block);
CUARENA_API cuarena_status_t cuarena_heap_unpin(cuarena_heap_t *heap, cuarena_block_t block);

/* One entry of a walk, or what is known of one block. Frozen. */
#define CUARENA_ENTRY_BLOCK 1
#define CUARENA_ENTRY_RANGE 2
#define CUARENA_ENTRY_GAP 3    /* between segments: belongs to nobody */
#define CUARENA_ENTRY_CACHED 4 /* a freed block that an arena's cache keeps */
typedef struct cuarena_heap_entry {
    int32_t kind;          /* CUARENA_ENTRY_... */
    uint32_t freelist;     /* the range's; of a block its owner */
    uint64_t offset;       /* first byte */
    uint64_t size;         /* bytes, after rounding up */
    cuarena_block_t block; /* its id, 0 for ranges and gaps */
    uint64_t requested;    /* bytes asked for, 0 for ranges and gaps */
    uint64_t alignment;    /* the block's, 0 for ranges and gaps */
    uint16_t tag;          /* the block's */
    uint16_t pins;         /* the block's */
    uint16_t flags;        /* the caller's bits of the block */
    uint16_t moving;       /* 1: a plan under way moves it */
} cuarena_heap_entry_t;

CUARENA_API cuarena_status_t cuarena_heap_block_info(const cuarena_heap_t *heap,
                                                     cuarena_block_t block,
                                                     cuarena_heap_entry_t *entry_out);
/*
 * Enumerates everything in address order: copies up to `capacity` entries and moves `cursor` on,
 * which begins at 0. The walk has ended when fewer than `capacity` come. A cursor is good until the
 * heap changes. O(entries copied).
 */
CUARENA_API cuarena_status_t cuarena_heap_walk(const cuarena_heap_t *heap, uint64_t *cursor,
                                               cuarena_heap_entry_t *entries, size_t capacity,
                                               size_t *count_out);

/* ---- Free lists ------------------------------------------------------------- */

/* OUT_OF_MEMORY, or LIMIT with CUARENA_HEAP_MAX_FREELISTS in use. */
CUARENA_API cuarena_status_t cuarena_heap_freelist_create(cuarena_heap_t *heap,
                                                          uint32_t *freelist_out);
/* Moves every range of the free list to free list 0. O(its ranges). */
CUARENA_API cuarena_status_t cuarena_heap_freelist_reclaim(cuarena_heap_t *heap, uint32_t freelist);
/* Moves every range of `from` to `to`, neither of which is free list 0. O(ranges of `from`). */
CUARENA_API cuarena_status_t cuarena_heap_freelist_merge(cuarena_heap_t *heap, uint32_t from,
                                                         uint32_t to);
/*
 * Moves ranges of free list 0 that touch ranges of `freelist` to `freelist`, until one of its
 * ranges has `bytes`; with UINT64_MAX all that touch. FRAGMENTED, with nothing changed, if none
 * gets so many. O(ranges of `freelist`).
 */
CUARENA_API cuarena_status_t cuarena_heap_freelist_absorb(cuarena_heap_t *heap, uint32_t freelist,
                                                          uint64_t bytes);
/* Moves every range of the free list to free list 0 and ends it; free list 0 cannot be ended. O(its
 * ranges). */
CUARENA_API cuarena_status_t cuarena_heap_freelist_destroy(cuarena_heap_t *heap, uint32_t freelist);

/* ---- Statistics -------------------------------------------------------- */

typedef struct cuarena_heap_stats {
    size_t struct_size;
    uint64_t capacity_bytes;  /* all segments */
    uint64_t live_bytes;      /* of live blocks, after rounding up */
    uint64_t requested_bytes; /* of live blocks, as asked for */
    uint64_t free_bytes;      /* ranges of every free list */
    uint64_t largest_bytes;   /* the largest range of free list 0; where many are of
                               * about its size, two thirds of it at least */
    uint64_t live_blocks;
    uint64_t ranges;
    uint64_t segments;
    uint64_t peak_live_bytes; /* since creation or the last reset */
    uint64_t peak_requested_bytes;
    uint64_t peak_live_blocks;
    uint64_t allocs;
    uint64_t frees;
    uint64_t full_searches;     /* refusals that searched a class to its end */
    uint64_t search_steps;      /* ranges looked at for all requests so far */
    uint64_t longest_probe;     /* the longest chain of the look-up by offset, ever */
    uint64_t bookkeeping_bytes; /* of the host: what records, look-up and indexes
                                 * use or have used */
} cuarena_heap_stats_t;

CUARENA_API void cuarena_heap_stats_init(cuarena_heap_stats_t *stats);
CUARENA_API cuarena_status_t cuarena_heap_stats(const cuarena_heap_t *heap,
                                                cuarena_heap_stats_t *stats);
/* Sets the peaks to what is now. */
CUARENA_API void cuarena_heap_reset_peaks(cuarena_heap_t *heap);
/* The largest range of a free list, exact. O(ranges of its size class). */
CUARENA_API cuarena_status_t cuarena_heap_largest(const cuarena_heap_t *heap, uint32_t freelist,
                                                  uint64_t *bytes_out);
/*
 * Recomputes every counter and link from scratch. CORRUPT if anything disagrees; `text` (may be
 * NULL) then says what, in at most `text_size` bytes. O(everything there is).
 */
CUARENA_API cuarena_status_t cuarena_heap_validate(const cuarena_heap_t *heap, char *text,
                                                   size_t text_size);

/* ---- Compaction plans -------------------------------------------------- */

/* One move of one block, of `bytes`. In a list of moves none writes over the source of a later one;
 * each may overlap itself. Frozen. */
typedef struct cuarena_heap_move {
    cuarena_block_t block;
    uint64_t from;
    uint64_t to;
    uint64_t bytes;
} cuarena_heap_move_t;

typedef struct cuarena_heap_plan_options {
    size_t struct_size;
    uint64_t goal_bytes;     /* 0 (default): all blocks slide together; N: until a
                              * block of N bytes fits */
    uint64_t goal_alignment; /* of that block; 0 (default): the granule */
    uint64_t max_bytes;      /* most bytes to move; default UINT64_MAX */
    uint64_t max_moves;      /* most blocks to move; default UINT64_MAX */
    uint32_t freelist;       /* blocks may move into its ranges as into those of
                              * free list 0; commit to it; default 0 */
    uint32_t zero;           /* 0 */
} cuarena_heap_plan_options_t;

CUARENA_API void cuarena_heap_plan_options_init(cuarena_heap_plan_options_t *options);
/*
 * Works out which blocks without pins would slide down, and where to. The heap does not change.
 * With a goal it finds the neighbouring blocks that make room for it by the fewest bytes moved;
 * FRAGMENTED if none within the limits do. A plan may be empty. The caller destroys it. O(blocks +
 * ranges).
 */
CUARENA_API cuarena_status_t cuarena_heap_plan_create(const cuarena_heap_t *heap,
                                                      const cuarena_heap_plan_options_t *options,
                                                      cuarena_heap_plan_t **plan_out);
/* The moves, in the order in which they must be done. They stay until the plan is destroyed. */
CUARENA_API const cuarena_heap_move_t *cuarena_heap_plan_moves(const cuarena_heap_plan_t *plan,
                                                               size_t *count_out);
/*
 * Begins to carry out a plan: until commit or abort its blocks can be neither freed, pinned nor
 * resized (BUSY), and nobody gets its ranges. The rest of the heap works as ever. BUSY if the heap
 * changed since the plan was made, or while another plan is under way. BAD_ARGUMENT, also of commit
 * and abort, with nothing changed, if the plan was made of another heap or of one that has ended,
 * or if it is not its turn: a plan is begun once, and then committed or aborted once.
 */
CUARENA_API cuarena_status_t cuarena_heap_plan_begin(cuarena_heap_t *heap,
                                                     cuarena_heap_plan_t *plan);
/* To be called when the bytes were moved: blocks get their new offsets, and what they left joins
 * `freelist`. After a successful begin it fails only for a free list that is not in use:
 * BAD_ARGUMENT, and the plan is still under way. */
CUARENA_API cuarena_status_t cuarena_heap_plan_commit(cuarena_heap_t *heap,
                                                      cuarena_heap_plan_t *plan, uint32_t freelist);
/* To be called when nothing was moved: blocks and ranges are as before begin, but that the plan's
 * ranges are in the free list of its options. */
CUARENA_API cuarena_status_t cuarena_heap_plan_abort(cuarena_heap_t *heap,
                                                     cuarena_heap_plan_t *plan);
/* Ends the plan and clears the handle; a plan that is under way is aborted first, on the heap that
 * it was made of, whatever `heap` is: NULL will do. The heap may have ended before. A NULL plan, or
 * a cleared handle, is fine. */
CUARENA_API void cuarena_heap_plan_destroy(cuarena_heap_t *heap, cuarena_heap_plan_t **plan);

#ifdef __cplusplus
}
#endif

#endif
