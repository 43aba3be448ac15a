/*
 * The heap's state, and what every file of it needs: ids, counts, checked arguments.
 *
 * One noun per file, with a header where others need it: slots (records without a use), ranges
 * (free bytes and where they are indexed), segments, blocks, free lists, plans, walks, and the
 * validator. Nothing in this folder locks, and nothing knows what an offset means. Functions
 * without a cost in their comment are O(1).
 */
#ifndef CUAI_HEAP_HEAP_H
#define CUAI_HEAP_HEAP_H

#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "heap/cache.h"
#include "heap/counter.h"
#include "heap/index.h"
#include "heap/record.h"
#include "heap/table.h"

/* A segment's number is its index in the heap's array; 0 means none. The list is by address, and
 * item 0 is on both ends of it. */
typedef struct cuai_segment {
    uint64_t begin;
    uint64_t end;
    uint64_t gap;      /* addresses between it and the segment below, if both have one source */
    uint64_t most_gap; /* the largest gap of its subtree */
    cuai_slot_t head;  /* its SEGMENT_START record */
    uint32_t source;   /* the caller's number for what it is a part of */
    uint32_t low;      /* children in the tree */
    uint32_t high;
    uint32_t below; /* neighbours in the list */
    uint32_t above; /* of an unused number: the next unused one */
} cuai_segment_t;

/* What making a plan changes although the heap stays const. */
typedef struct cuai_planning {
    cuarena_heap_t *heap;
    cuai_host_kept_t kept[2];        /* buffers for moves and for runs, from the last plan */
    struct cuarena_heap_plan *plans; /* all that were made of the heap */
} cuai_planning_t;

struct cuarena_heap {
    /* What every allocation and free touches. */
    cuai_record_t *records;
    cuai_table_t table;
    cuai_index_t *idle;       /* free lists[0] */
    cuai_index_t **freelists; /* NULL where unused */
    uint64_t granule_mask;    /* granule - 1 */
    uint32_t granule_log2;
    uint32_t class_base;   /* log2 of the granule, counted in classes */
    uint64_t class_floor;  /* two granules: the least that cuai_plain_class counts */
    uint64_t id_base;      /* the id of slot 0 in generation 0, modulo 2^64 */
    uint64_t id_step;      /* from a slot's id to that of its next generation */
    uint64_t slot_mask;    /* the bits of an id that are its slot */
    cuai_slot_t free_slot; /* the first of the list of FREE slots, last freed first */
    cuai_slot_t unused;    /* slots from here on were never used */
    uint64_t committed;    /* slots that have memory */
    cuai_counter_t counter;
    uint64_t most_block_bytes; /* of the largest block ever */
    uint64_t search_steps;
    bool smooth;            /* no plan is under way, no range is of the last class: the fast path
                             * requires this */
    bool simple;            /* smooth, with one free list and no SEPARATOR: no block needs a
                             * second slot */
    uint64_t ready_blocks;  /* while fewer live and a FREE slot exists, the heap has slots for one
                             * more block and for all SEPARATORs that frees may need; 0 if it is not
                             * smooth, or has cached blocks and is not simple */
    uint64_t fast_blocks;   /* ready_blocks if every rest is split off and `cramped` is 0, else 0 */
    uint32_t slots_at_once; /* so many slots become FREE when none is */
    uint64_t split_threshold;
    uint64_t align_attributes; /* the granule's alignment, as block attributes */
    uint64_t zone_base;        /* where zone 0 begins */
    uint64_t zone_factor;      /* zones per granule, times 2^64 */
    uint64_t small_bytes;      /* a smaller request counts as small */
    uint64_t giant_share;      /* see cuai_goes_high; 0: no request is a giant */
    uint64_t cramped;          /* a bit for each class of which a block had no room to grow */
    int32_t placement;

    /* The rest. */
    uint32_t freelist_count;  /* in use, the idle one included */
    uint64_t most_blocks;     /* that lived at once before their peak was reset */
    uint64_t separators;      /* SEPARATOR records */
    uint64_t separator_limit; /* with more the heap is split up: see cuai_heap_is_split_up */
    uint64_t cached_blocks;
    uint64_t cached_bytes; /* neither live nor in a free list */
    cuai_cache_t *cache;   /* NULL: the heap caches nothing */
    uint64_t plans;        /* under way */
    uint64_t changes;      /* other than allocations and frees */
    uint64_t zone_end;     /* the last zone ends here or above */
    uint64_t full_searches;
    uint64_t capacity;
    uint64_t max_blocks;
    uint64_t max_slots;
    uint64_t retired; /* slots whose generations are used up */
    uint32_t number;  /* unique among the heaps that live; 0: none yet */
    uint32_t slot_bits;
    uint32_t first_generation; /* of slots that were never used */
    uint32_t zero_generation;  /* so many short of the last one are the generations of a slot */
    uint64_t standalone_blocks;
    uint64_t standalone_bytes;      /* not in `capacity` */
    uint64_t standalone_most_asked; /* the largest request for one, ever */
    cuai_segment_t *segments;       /* by number; see tree.c */
    size_t segment_count;
    size_t segment_room;     /* items of the array, item 0 included */
    uint32_t segment_root;   /* of the tree */
    uint32_t segment_free;   /* the first of the list of unused numbers, last dropped first */
    uint32_t segment_unused; /* numbers from here on were never used */
    cuai_host_region_t record_region;
    cuai_planning_t *planning;
};

static inline cuai_record_t *cuai_record(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    CUAI_ASSERT(slot < heap->unused);
    return &heap->records[slot];
}

static inline uint32_t cuai_class(const cuarena_heap_t *heap, uint64_t bytes)
{
    return cuai_class_of(bytes >> heap->granule_log2);
}

static CUAI_INLINE cuarena_block_t cuai_id(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    return heap->id_base + CUAI_LOAD(heap->records[slot].generation) * heap->id_step + slot;
}

/* The slot that an id of the heap names. */
static inline cuai_slot_t cuai_slot_in(const cuarena_heap_t *heap, cuarena_block_t block)
{
    return (cuai_slot_t)(block & heap->slot_mask);
}

/* The slot of the record that has the id now, whatever its kind; 0, the SENTINEL's, if none has. */
static inline cuai_slot_t cuai_slot_named(const cuarena_heap_t *heap, cuarena_block_t block)
{
    cuai_slot_t slot = cuai_slot_in(heap, block);
    if (CUAI_UNLIKELY(slot >= heap->unused))
        return 0;
    return CUAI_LIKELY(cuai_id(heap, slot) == block) ? slot : 0;
}

/* The slot of a live block, or 0 for any other id. */
static inline cuai_slot_t cuai_slot_of(const cuarena_heap_t *heap, cuarena_block_t block)
{
    cuai_slot_t slot = cuai_slot_named(heap, block);
    return cuai_is_live(cuai_record(heap, slot)) ? slot : 0;
}

static inline uint64_t cuai_heap_blocks(const cuarena_heap_t *heap)
{
    return cuai_counter_blocks(&heap->counter);
}

static inline uint64_t cuai_heap_bytes(const cuarena_heap_t *heap)
{
    return cuai_peak_counter_now(&heap->counter.bytes);
}

/* Counts a change that neither the allocations nor the live blocks show, for cuai_version. */
static inline void cuai_note_change(cuarena_heap_t *heap)
{
    heap->changes++;
}

/* A number that differs after every change of the heap. */
static inline uint64_t cuai_version(const cuarena_heap_t *heap)
{
    return heap->counter.allocs * 2 - cuai_heap_blocks(heap) + heap->changes;
}

/* The bytes of all free lists and of planned ranges. */
static inline uint64_t cuai_free_bytes(const cuarena_heap_t *heap)
{
    return heap->capacity + heap->standalone_bytes - cuai_heap_bytes(heap) - heap->cached_bytes;
}

/* How many records may need a SEPARATOR when they end. */
static inline uint64_t cuai_block_records(const cuarena_heap_t *heap)
{
    return cuai_heap_blocks(heap) + heap->cached_blocks;
}

/* ---- Counts -------------------------------------------------------------- */

static inline void cuai_raise(uint64_t *peak, uint64_t now)
{
    if (CUAI_UNLIKELY(now > *peak))
        *peak = now;
}

static CUAI_INLINE void cuai_count_alloc(cuarena_heap_t *heap, uint64_t size, uint64_t requested)
{
    CUAI_ASSERT(cuai_heap_blocks(heap) < heap->max_blocks);
    CUAI_ASSERT(requested <= size && (size & heap->granule_mask) == 0);
    cuai_raise(&heap->most_block_bytes, size);
    cuai_counter_begin(&heap->counter, size, requested);
}

/* Counts a block that was resized: by `more` bytes (modulo 2^64), for a request of `requested`. */
static inline void cuai_count_anew(cuarena_heap_t *heap, cuai_record_t *r, uint64_t more,
                                   uint64_t requested)
{
    CUAI_ASSERT(requested <= r->size && (r->size & heap->granule_mask) == 0);
    cuai_counter_resize(&heap->counter, more, requested - cuai_requested(r));
    cuai_raise(&heap->most_block_bytes, r->size);
    r->asked = cuai_asked(requested, cuai_tag_of(r));
    cuai_note_change(heap);
}

static inline void cuai_count_free(cuarena_heap_t *heap, const cuai_record_t *r)
{
    CUAI_ASSERT(cuai_heap_blocks(heap) != 0 && cuai_heap_bytes(heap) >= r->size);
    cuai_counter_end_block(&heap->counter, r);
}

/* ---- Numbers (numbers.c) ------------------------------------------------- */

/* Reserves a number that no living heap has; 0: all are in use. Usually O(1). */
uint32_t cuai_heap_number_alloc(void);
/* The first generation that no earlier heap of that number has reached; 0 where too few are left,
 * so that they begin anew. */
uint32_t cuai_heap_first_generation(uint32_t number, uint32_t slot_bits);
/* Returns the number of a heap that ends; no slot of it went beyond `last_generation`. */
void cuai_heap_number_free(uint32_t number, uint32_t slot_bits, uint32_t last_generation);

/* ---- Arguments (heap.c) -------------------------------------------------- */

/* The live block's slot; 0, with *status and the last error set, if there is none. */
cuai_slot_t cuai_check_block(const cuarena_heap_t *heap, cuarena_block_t block,
                             cuarena_status_t *status);
/* BAD_ARGUMENT unless the free list is in use. */
cuarena_status_t cuai_check_freelist(const cuarena_heap_t *heap, uint32_t freelist);

#endif
