/*
 * The heap: bookkeeping of segments, blocks and free ranges by offset alone.
 * It knows no pointer, no lock and no device, so it can sub-allocate anything that is addressed by
 * number: device memory, a file, a descriptor table.
 *
 * Vocabulary
 *   segment  one contiguous stretch [offset, offset + size) given to the heap.
 *            Two segments never merge, even if they touch.
 *   block    one live allocation, named by an id that survives moves.
 *   range    one free stretch. Neighbouring ranges of a free list never stay apart.
 *   granule  what offsets and sizes are multiples of.
 *   free list     a set of ranges with an index of its own. Free list 0 is the idle
 *            free list, everybody's; other free lists are for bytes whose last use is
 *            still on its way (streams).
 *
 * Threads: none may be in a heap twice; the caller locks. Cost: every call is
 * a bounded number of steps unless its comment says otherwise.
 *
 * Memory of the bookkeeping, kept once it is used:
 *   72 B  for each block of the highest count so far: 64 B for a record of it
 *         and of the range behind it, 8 B for the look-up by offset
 *  128 B  for each segment of the highest count so far
 *   72 B  for each place where ranges of two free lists touch, unless the record of
 *         a block that ended serves
 *  8.5 kB for each free list, touched as far as it is used
 *   50 kB for the heap itself
 * which is `bookkeeping_bytes` of the statistics. Addresses for at most four times as much are set
 * aside, so a heap of few blocks takes few whatever max_blocks is. A table that outgrows its
 * addresses gets others, by pages and without a copy: some ten calls of the system in the life of a
 * heap, each up to 20 us per MiB of tables. While there are several free lists, or a plan is under
 * way, a record for each live block is made ready besides, not touched: so a free never takes
 * memory. A plan takes 32 B for each live block, or each of `max_moves` if these are fewer, and 2 B
 * for each record, of which up to 1 MiB are kept for the next one.
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
 * Names a block for as long as it lives; 0 names none. It tells a heap, a slot and how often the
 * slot was used, so a stale id and one of another heap are told from a live one: for certain if
 * both heaps live, whatever their number. Of a heap that has ended too, until its bits are used up:
 * 2^48 ids of heaps that had the same one of 32767 numbers, which are given in turn.
 */
typedef uint64_t cuarena_block_t;

/* Offsets end below 2^52 and a segment is smaller than 2^48 bytes. */
#define CUARENA_HEAP_MAX_OFFSET (UINT64_C(1) << 52)
#define CUARENA_HEAP_MAX_SEGMENT (UINT64_C(1) << 48)
/* The most blocks that can live in one heap at once, and the default. */
#define CUARENA_HEAP_MAX_BLOCKS (UINT64_C(1) << 26)
/* The most heaps that live in one process; an arena has one, one more for a stable region and one
 * more for dedicated and adopted blocks. */
#define CUARENA_HEAP_MAX_HEAPS 32767u
#define CUARENA_HEAP_MAX_FREELISTS 4096u
#define CUARENA_HEAP_MAX_TAGS 4096u
#define CUARENA_HEAP_MAX_PINS 65535u
#define CUARENA_HEAP_MAX_OWNER 127u

/* How a range is chosen for a request; see docs/DESIGN.md "Placement". */
/* Small and giant blocks from the top end, others from the bottom end. */
#define CUARENA_PLACEMENT_DEFAULT 0
/* The smallest size class that a bounded look finds room in, wherever it
 * lies. */
#define CUARENA_PLACEMENT_BEST 1
/* The lowest part of the heap that has room: for what grows and shrinks. */
#define CUARENA_PLACEMENT_LOW 2

typedef struct cuarena_heap_config {
    size_t struct_size;
    uint64_t granule;         /* power of two from 8; default 256 */
    uint64_t max_blocks;      /* 1 to CUARENA_HEAP_MAX_BLOCKS, the default */
    uint64_t split_threshold; /* 0 (default): a rest is always split off;
                               * N: if it has N bytes or is as large as the
                               * request; UINT64_MAX: never */
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

/* ---- Segments: steps as the logarithm of their count, but for a cut ----- */

/*
 * Gives [offset, offset + size) to the heap as one idle range. Both are multiples of the granule.
 * BAD_ARGUMENT if it overlaps a segment.
 */
CUARENA_API cuarena_status_t cuarena_heap_segment_add(cuarena_heap_t *heap, uint64_t offset,
                                                      uint64_t size);
/*
 * Gives the same stretch to the heap as one live block that fills it: for dedicated and adopted
 * bytes. The block has the pins and tag of `request`, whose size says how much of it was asked for.
 */
struct cuarena_heap_request;
CUARENA_API cuarena_status_t cuarena_heap_segment_add_block(
    cuarena_heap_t *heap, uint64_t offset, uint64_t size,
    const struct cuarena_heap_request *request, cuarena_block_t *block_out);
/* Lengthens the segment that begins at `offset` by `bytes` at its end. */
CUARENA_API cuarena_status_t cuarena_heap_segment_extend(cuarena_heap_t *heap, uint64_t offset,
                                                         uint64_t bytes);
/*
 * Takes [offset, offset + bytes) out of the segment around it: the whole, an end, or the middle,
 * which leaves two segments. BUSY unless all of it is one idle range.
 * Steps: the records of the segment above it.
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
    uint64_t alignment; /* 0: the granule; else a power of two */
    uint32_t freelist;  /* served from this free list's ranges */
    uint16_t tag;       /* kept with the block */
    uint16_t pins;      /* the pins that it is born with */
    uint16_t flags;     /* bits of the caller's own, kept with the block:
                         * CUARENA_HEAP_FLAGS of them */
    uint16_t low;       /* 1: as low as a bounded look finds */
    uint16_t owner;     /* whose it is: a number of the caller's, kept with the
                         * block; at most CUARENA_HEAP_MAX_OWNER */
    uint16_t zero;      /* 0 */
} cuarena_heap_request_t;

/*
 * OUT_OF_MEMORY: fewer bytes are free in the free list than asked for. FRAGMENTED: enough are free,
 * but no range fits; only then is the request's own size
 * class searched to its end. LIMIT: max_blocks live already; or blocks, segments, places where
 * ranges of two free lists meet, and slots whose ids are used up are more than the records that a
 * heap has (four times max_blocks and some thousands, at least 2^17 and at most 2^27).
 */
CUARENA_API cuarena_status_t cuarena_heap_alloc(cuarena_heap_t *heap,
                                                const cuarena_heap_request_t *request,
                                                cuarena_block_t *block_out, uint64_t *offset_out);
/* The bytes join `freelist`. STALE for an id that names nothing live; BUSY while the block belongs
 * to a plan under way. Pins do not keep a block alive. */
CUARENA_API cuarena_status_t cuarena_heap_free(cuarena_heap_t *heap, cuarena_block_t block,
                                               uint32_t freelist);
/*
 * Grows or shrinks the block where it stands, into or out of the range after
 * it (of `freelist`). FRAGMENTED if it cannot: nothing changed.
 */
CUARENA_API cuarena_status_t cuarena_heap_resize(cuarena_heap_t *heap, cuarena_block_t block,
                                                 uint64_t size, uint32_t freelist);
/* Lets two blocks change places: ids, pins and tags stay, offsets and sizes swap. With it a moving
 * resize keeps its id. */
CUARENA_API cuarena_status_t cuarena_heap_exchange(cuarena_heap_t *heap, cuarena_block_t a,
                                                   cuarena_block_t b);
/* The block that begins at `offset`; STALE if none does. Expected constant. */
CUARENA_API cuarena_status_t cuarena_heap_find(const cuarena_heap_t *heap, uint64_t offset,
                                               cuarena_block_t *block_out);
/* Only a block without pins moves. BUSY if its count would overflow; or BAD_ARGUMENT if there is no
 * pin to end. */
CUARENA_API cuarena_status_t cuarena_heap_pin(cuarena_heap_t *heap, cuarena_block_t block);
CUARENA_API cuarena_status_t cuarena_heap_unpin(cuarena_heap_t *heap, cuarena_block_t block);

/* One entry of a walk, or what is known of one block. Frozen. */
#define CUARENA_ENTRY_BLOCK 1
#define CUARENA_ENTRY_RANGE 2
#define CUARENA_ENTRY_GAP 3    /* between segments: belongs to nobody */
#define CUARENA_ENTRY_CACHED 4 /* a freed block that an arena's cache keeps */
typedef struct cuarena_heap_entry {
    int32_t kind;          /* CUARENA_ENTRY_... */
    uint32_t freelist;     /* of a range; of a block its owner */
    uint64_t offset;       /* first byte */
    uint64_t size;         /* bytes taken */
    cuarena_block_t block; /* its id, 0 for ranges and gaps */
    uint64_t requested;    /* bytes asked for, 0 for ranges and gaps */
    uint64_t alignment;    /* the block's, 0 for ranges and gaps */
    uint16_t tag;          /* the block's */
    uint16_t pins;         /* the block's */
    uint16_t flags;        /* the caller's bits of the block */
    uint16_t moving;       /* 1 while a plan under way holds it */
} cuarena_heap_entry_t;

CUARENA_API cuarena_status_t cuarena_heap_block_info(const cuarena_heap_t *heap,
                                                     cuarena_block_t block,
                                                     cuarena_heap_entry_t *entry_out);
/*
 * Copies up to `capacity` entries in address order and moves `cursor` on; a cursor begins at 0 and
 * the walk ended when fewer than `capacity` came. A cursor is good until the heap changes.
 */
CUARENA_API cuarena_status_t cuarena_heap_walk(const cuarena_heap_t *heap, uint64_t *cursor,
                                               cuarena_heap_entry_t *entries, size_t capacity,
                                               size_t *count_out);

/* ---- Free lists ------------------------------------------------------------- */

/* OUT_OF_MEMORY, or LIMIT with CUARENA_HEAP_MAX_FREELISTS in use. */
CUARENA_API cuarena_status_t cuarena_heap_freelist_create(cuarena_heap_t *heap,
                                                          uint32_t *freelist_out);
/* Gives every range of the free list to free list 0. Steps: its ranges. */
CUARENA_API cuarena_status_t cuarena_heap_freelist_reclaim(cuarena_heap_t *heap, uint32_t freelist);
/* Gives every range of `from` to `to`, of which neither is free list 0. Steps: the ranges of
 * `from`. */
CUARENA_API cuarena_status_t cuarena_heap_freelist_merge(cuarena_heap_t *heap, uint32_t from,
                                                         uint32_t to);
/*
 * Gives ranges of free list 0 that touch ranges of `freelist` to that free list, until one of its
 * ranges has `bytes`; with UINT64_MAX all of them. FRAGMENTED if none gets so many: nothing changed
 * then. Steps: the ranges of `freelist`.
 */
CUARENA_API cuarena_status_t cuarena_heap_freelist_absorb(cuarena_heap_t *heap, uint32_t freelist,
                                                          uint64_t bytes);
/* Reclaims the free list and ends it. Free list 0 stays. */
CUARENA_API cuarena_status_t cuarena_heap_freelist_destroy(cuarena_heap_t *heap, uint32_t freelist);

/* ---- Knowing ----------------------------------------------------------- */

typedef struct cuarena_heap_stats {
    size_t struct_size;
    uint64_t capacity_bytes;  /* all segments */
    uint64_t live_bytes;      /* blocks, as taken */
    uint64_t requested_bytes; /* blocks, as asked for */
    uint64_t free_bytes;      /* ranges of every free list */
    uint64_t largest_bytes;   /* at least this much is in one idle range;
                               * the largest is less than 1/32 above it */
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
    uint64_t longest_probe;     /* of the look-up by offset, ever */
    uint64_t bookkeeping_bytes; /* of the host, that records, look-up and
                                 * indexes use or have used */
} cuarena_heap_stats_t;

CUARENA_API void cuarena_heap_stats_init(cuarena_heap_stats_t *stats);
CUARENA_API cuarena_status_t cuarena_heap_stats(const cuarena_heap_t *heap,
                                                cuarena_heap_stats_t *stats);
/* Sets the peaks to what is now. */
CUARENA_API void cuarena_heap_reset_peaks(cuarena_heap_t *heap);
/* The largest range of a free list, exact. Steps: the ranges of its class. */
CUARENA_API cuarena_status_t cuarena_heap_largest(const cuarena_heap_t *heap, uint32_t freelist,
                                                  uint64_t *bytes_out);
/*
 * Recomputes every counter and link from scratch. CORRUPT if anything disagrees; `text` (may be
 * NULL) then says what, in `text_size` bytes.
 * Steps: everything there is.
 */
CUARENA_API cuarena_status_t cuarena_heap_validate(const cuarena_heap_t *heap, char *text,
                                                   size_t text_size);

/* ---- Compaction plans -------------------------------------------------- */

/* One move of one block, of `bytes`. Moves are listed so that none writes
 * over the source of a later one; each may overlap itself. Frozen. */
typedef struct cuarena_heap_move {
    cuarena_block_t block;
    uint64_t from;
    uint64_t to;
    uint64_t bytes;
} cuarena_heap_move_t;

typedef struct cuarena_heap_plan_options {
    size_t struct_size;
    uint64_t goal_bytes;     /* 0: all the way; N: until N bytes fit */
    uint64_t goal_alignment; /* of those N bytes; 0: the granule */
    uint64_t max_bytes;      /* most bytes to move; UINT64_MAX by default */
    uint64_t max_moves;      /* most blocks to move; UINT64_MAX by default */
    uint32_t freelist;       /* its ranges count as free, like those of free list
                              * 0: commit to it; 0 by default */
    uint32_t zero;           /* 0 */
} cuarena_heap_plan_options_t;

CUARENA_API void cuarena_heap_plan_options_init(cuarena_heap_plan_options_t *options);
/*
 * Works out which blocks without pins would slide down, and where to. The heap does not change.
 * With a goal it finds the cheapest window (fewest bytes moved) in one pass over the address list;
 * FRAGMENTED if no window within
 * the limits makes room. A plan may be empty. Steps: blocks and ranges.
 */
CUARENA_API cuarena_status_t cuarena_heap_plan_create(const cuarena_heap_t *heap,
                                                      const cuarena_heap_plan_options_t *options,
                                                      cuarena_heap_plan_t **plan_out);
/* The moves, in the order in which they must be done. They stay until the plan is destroyed. */
CUARENA_API const cuarena_heap_move_t *cuarena_heap_plan_moves(const cuarena_heap_plan_t *plan,
                                                               size_t *count_out);
/*
 * Holds the plan's bytes: until commit or abort its blocks can be neither freed, pinned nor resized
 * (BUSY), and its ranges serve nobody. The rest of the heap works on. BUSY if the heap changed
 * since the plan was made, or
 * while another plan is under way. BAD_ARGUMENT, here and for commit and abort, if the plan was
 * made of another heap or of one that has ended, or is not at that point of its life: nothing
 * changed.
 */
CUARENA_API cuarena_status_t cuarena_heap_plan_begin(cuarena_heap_t *heap,
                                                     cuarena_heap_plan_t *plan);
/* The bytes were moved: blocks get their new offsets, what they left joins `freelist`. After a
 * successful begin nothing can fail but a free list that is not in use: BAD_ARGUMENT, and the plan
 * is still under way. */
CUARENA_API cuarena_status_t cuarena_heap_plan_commit(cuarena_heap_t *heap,
                                                      cuarena_heap_plan_t *plan, uint32_t freelist);
/* Nothing was moved: blocks are as before begin, and so are ranges, but that those of the plan
 * belong to the free list of its options. */
CUARENA_API cuarena_status_t cuarena_heap_plan_abort(cuarena_heap_t *heap,
                                                     cuarena_heap_plan_t *plan);
/* Ends the plan and clears the handle; aborts it on the heap that it was made of if it is under way
 * there, whichever heap is named: NULL will do. The heap may have ended before. NULL is fine. */
CUARENA_API void cuarena_heap_plan_destroy(cuarena_heap_t *heap, cuarena_heap_plan_t **plan);

#ifdef __cplusplus
}
#endif

#endif
