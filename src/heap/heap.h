/*
 * The heap's state, and the functions on it that its files share.
 *
 * One noun per file: slots (records without a use), ranges (free bytes and where they are indexed),
 * segments, blocks, free lists, plans, walks, and the validator. Nothing here locks, and nothing
 * knows what an offset means. Functions without a cost in their comment are O(1).
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
    bool simple;            /* the same, with one free list and no SEPARATOR: no block needs a
                             * second slot */
    uint64_t ready_blocks;  /* while fewer live and a FREE slot exists, the heap has slots for one
                             * more block and for all SEPARATORs that frees may need; 0 if it is not
                             * smooth, or has cached blocks and is not simple */
    uint64_t fast_blocks;   /* the same, but 0 unless every rest is split off and `cramped` is 0 */
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

/* ---- Counts ----------------------------------------------------------------
 */

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

/* ---- Numbers (numbers.c) ----------------------------------------------- */

/* Reserves a number that no living heap has; 0: all are in use. Usually O(1). */
uint32_t cuai_heap_number_alloc(void);
/* The first generation that no earlier heap of that number has reached; 0 where too few are left,
 * so that they begin anew. */
uint32_t cuai_heap_first_generation(uint32_t number, uint32_t slot_bits);
/* Returns the number of a heap that ends; no slot of it went beyond `last_generation`. */
void cuai_heap_number_free(uint32_t number, uint32_t slot_bits, uint32_t last_generation);

/* ---- Arguments (heap.c) --------------------------------------------------- */

/* The live block's slot; 0, with *status and the last error set, if there is none. */
cuai_slot_t cuai_check_block(const cuarena_heap_t *heap, cuarena_block_t block,
                             cuarena_status_t *status);
/* BAD_ARGUMENT unless the free list is in use. */
cuarena_status_t cuai_check_freelist(const cuarena_heap_t *heap, uint32_t freelist);

/* ---- Slots (slots.c) --------------------------------------------------- */

/* Works out anew what the fast path may do: `smooth`, `simple`, `ready_blocks` and `fast_blocks`.
 * Called after a change of what they are made of. */
void cuai_refresh_fast(cuarena_heap_t *heap);

/* Counts one SEPARATOR more or, with UINT64_MAX, less. */
static inline void cuai_count_separators(cuarena_heap_t *heap, uint64_t more)
{
    CUAI_ASSERT(more == 1 || heap->separators != 0);
    heap->separators += more;
    cuai_refresh_fast(heap);
}

/*
 * The heap is split up while it has more SEPARATORs than the limit: then it has no fast path. Its
 * owner reclaims free lists if the SEPARATORs are many for its blocks, and sets the limit anew: to
 * at least an eighth more than what is left, so that this is not tried again at once.
 */
static inline bool cuai_heap_is_split_up(const cuarena_heap_t *heap)
{
    return heap->separators > heap->separator_limit;
}
bool cuai_heap_has_many_separators(const cuarena_heap_t *heap);
void cuai_heap_allow_separators(cuarena_heap_t *heap);

/* Makes sure that `count` more slots can be allocated; moves the records. OUT_OF_MEMORY, LIMIT. */
cuarena_status_t cuai_slots_reserve(cuarena_heap_t *heap, uint64_t count);
/* Makes the next `count` slots FREE; memory for them is there. O(count). */
void cuai_slots_use(cuarena_heap_t *heap, uint64_t count);

/* Whether a slot can be allocated without host memory. */
static inline bool cuai_slots_ready(const cuarena_heap_t *heap)
{
    return heap->free_slot != 0 || heap->unused < heap->committed;
}

/* Allocates a slot; one is ready. Its generation is the one that its last end left, or the heap's
 * first. */
static inline cuai_slot_t cuai_slot_alloc(cuarena_heap_t *heap)
{
    cuai_slot_t slot = heap->free_slot;
    CUAI_ASSERT(cuai_slots_ready(heap));
    if (CUAI_LIKELY(slot != 0)) {
        CUAI_ASSERT(heap->records[slot].kind == CUAI_FREE);
        heap->free_slot = heap->records[slot].next;
        return slot;
    }
    slot = heap->unused++;
    heap->records[slot].generation = heap->first_generation;
    return slot;
}

/* Ends every id of the slot and puts it into the list of FREE slots, or retires it. The record has
 * left, or the caller makes it leave, the list of its index. */
static inline void cuai_slot_free(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(slot != 0 && r->kind != CUAI_FREE && !r->moving);
    uint32_t generation = r->generation + 1;
    cuai_set_kind(r, CUAI_FREE);
    if (CUAI_UNLIKELY(generation == 0)) {
        heap->retired++;
        cuai_refresh_fast(heap);
        return;
    }
    CUAI_STORE(r->generation, generation);
    r->next = heap->free_slot;
    heap->free_slot = slot;
}

/* As cuai_slot_free, for a record whose index links mean nothing any more. */
static inline void cuai_slot_end(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_index_forget(cuai_record(heap, slot));
    cuai_slot_free(heap, slot);
}

/* ---- The address list -------------------------------------------------- */

static inline void cuai_join(cuai_record_t *records, cuai_slot_t prev, cuai_slot_t slot)
{
    cuai_slot_t next = records[prev].next;
    CUAI_ASSERT(records[next].prev == prev && slot != prev);
    records[slot].prev = prev;
    records[slot].next = next;
    records[prev].next = slot;
    records[next].prev = slot;
}

/* A new record after `prev`, with neither bytes nor a range; a slot is ready. */
static inline cuai_slot_t cuai_record_put(cuarena_heap_t *heap, cuai_slot_t prev,
                                          enum cuai_kind kind, uint64_t offset)
{
    cuai_slot_t slot = cuai_slot_alloc(heap);
    cuai_record_t *r = cuai_record(heap, slot);
    cuai_set_kind(r, kind);
    CUAI_STORE(r->offset, offset);
    r->size = 0;
    r->key = 0;
    r->pins = 0;
    cuai_join(heap->records, prev, slot);
    return slot;
}

static inline void cuai_unlink(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_slot_t prev = heap->records[slot].prev;
    cuai_slot_t next = heap->records[slot].next;
    CUAI_ASSERT(heap->records[prev].next == slot && heap->records[next].prev == slot);
    heap->records[prev].next = next;
    heap->records[next].prev = prev;
}

/* ---- Zones (zones.c) ------------------------------------------------------
 */

static inline uint32_t cuai_zone_of(const cuarena_heap_t *heap, uint64_t offset)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t granules = (offset - heap->zone_base) >> heap->granule_log2;
    return (uint32_t)((wide)granules * heap->zone_factor >> 64);
}

/* Works out anew what depends on the span and the bytes of the segments. O(ranges) when the span
 * has outgrown the zones, which become larger by a quarter at least; else O(1). */
void cuai_zones_fit(cuarena_heap_t *heap);

/* The list that a range belongs into. */
static inline uint32_t cuai_list_for(const cuarena_heap_t *heap, uint64_t offset, uint64_t bytes)
{
    return cuai_list_of(cuai_zone_of(heap, offset), cuai_class(heap, bytes));
}

/* The size of a block that is cut from a range of so many bytes: all of it where the rest is too
 * small to be split off. */
static inline uint64_t cuai_heap_taken(const cuarena_heap_t *heap, uint64_t range, uint64_t size)
{
    uint64_t rest = range - size;
    CUAI_ASSERT(range >= size);
    bool whole = rest < size || heap->split_threshold == UINT64_MAX;
    return whole && rest < heap->split_threshold ? range : size;
}

/* ---- Ranges ------------------------------------------------------------ */

/* Gives the record, which has no range in an index, a range of `bytes` (0: none) of `freelist`.
 * Does not look at neighbours. */
static inline void cuai_range_set(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                                  uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT((bytes & heap->granule_mask) == 0);
    r->key = bytes == 0 ? 0 : cuai_range_key(bytes, freelist);
    if (bytes == 0 || CUAI_UNLIKELY(freelist == CUAI_FREELIST_PLANNED))
        return;
    CUAI_ASSERT(heap->freelists[freelist] != NULL);
    heap->freelists[freelist]->ranges++;
    cuai_index_insert(heap->freelists[freelist], heap->records, slot,
                      cuai_list_for(heap, cuai_end(r), bytes));
}

/* Takes the record's range, if it has one, out of its index; its key stays. A planned range is in
 * no index, and its links mean nothing. */
static inline void cuai_range_drop(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint32_t freelist = cuai_range_freelist(r);
    if (r->key == 0)
        return;
    if (CUAI_UNLIKELY(freelist == CUAI_FREELIST_PLANNED)) {
        cuai_index_forget(r);
        return;
    }
    CUAI_ASSERT(heap->freelists[freelist]->ranges != 0);
    heap->freelists[freelist]->ranges--;
    cuai_index_remove(heap->freelists[freelist], heap->records, slot);
}

/* As cuai_range_drop and cuai_range_set, for a record that has a range and keeps its end: the range
 * stays where it is in its list if class and free list stay the same. */
static inline void cuai_range_change(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                                     uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(r->key != 0);
    bool stays = bytes != 0 && cuai_range_freelist(r) == freelist &&
                 freelist != CUAI_FREELIST_PLANNED &&
                 cuai_class(heap, bytes) == r->list % CUAI_CLASSES;
    if (stays) {
        r->key = cuai_range_key(bytes, freelist);
        return;
    }
    cuai_range_drop(heap, slot);
    cuai_range_set(heap, slot, bytes, freelist);
}

/* Adds `bytes` (modulo 2^64) to the free bytes of a free list; those of plans are not counted. */
static inline void cuai_freelist_count(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes)
{
    if (CUAI_UNLIKELY(freelist == CUAI_FREELIST_PLANNED))
        return;
    heap->freelists[freelist]->free_bytes += bytes;
    CUAI_ASSERT(heap->freelists[freelist]->free_bytes <= heap->capacity);
}

/* Adds `bytes` between the end of the record's block, which no longer has them, and its range to
 * `freelist`. Needs one ready slot if the range is of another free list. */
void cuai_range_release(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist);
/* Removes the SEPARATOR that follows the range of `slot`, which has changed, if it keeps nothing
 * apart any more. */
void cuai_range_absorb(cuarena_heap_t *heap, cuai_slot_t slot);
/* Puts `bytes` of `freelist` after the record's range, which is of another free list, behind a new
 * SEPARATOR. One slot is ready. */
void cuai_range_append(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist);
/* The record's range was used up: if the record is a SEPARATOR it is removed, and the range of a
 * SEPARATOR that follows becomes that of the record before it. */
void cuai_range_spent(cuarena_heap_t *heap, cuai_slot_t slot);
/* Moves the whole range to another free list, and merges what then may merge. */
void cuai_range_transfer(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* As cuai_range_transfer, for `bytes` of the range, behind its first `front`; returns the record
 * whose range has them then. Two slots are ready. */
cuai_slot_t cuai_range_transfer_part(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t front,
                                     uint64_t bytes, uint32_t freelist);

/* The SEPARATOR that would keep nothing apart once a block of `size` is cut from the upper or lower
 * end of the owner's range; 0: none. CUAI_SEPARATORS_DISTURB: there is one on both sides, or its
 * ids are used up. */
#define CUAI_SEPARATORS_DISTURB UINT32_MAX
cuai_slot_t cuai_separator_beside(const cuarena_heap_t *heap, cuai_slot_t owner, uint64_t size,
                                  bool high);
/* Makes that SEPARATOR's record the block, with these attributes and with `size` bytes of the
 * owner's range; returns its slot. The caller fills in what else a fresh block has. */
cuai_slot_t cuai_separator_to_block(cuarena_heap_t *heap, cuai_slot_t separator, cuai_slot_t owner,
                                    uint64_t size, uint64_t attributes);

/* ---- Blocks (blocks.c): what the public calls and the arena share ------ */

/* As cuarena_heap_alloc, for checked arguments: `size` is not 0 and a multiple of the granule, the
 * alignment a power of two, the free list in use. `bounded`: in O(1), see
 * cuai_placement_find_bounded. LIMIT also if the block would have more than `most` bytes with a
 * rest that is not split off. Sets no last error. */
cuarena_status_t cuai_heap_try_alloc(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     uint64_t size, uint64_t most, bool bounded,
                                     cuai_slot_t *slot_out);
/* Free bytes [begin, end) of whatever free lists, without a gap, but not planned ones. They end in
 * the range of `last` or before. */
typedef struct cuai_free_part {
    cuai_slot_t last;
    uint64_t begin;
    uint64_t end;
} cuai_free_part_t;

/* As cuai_heap_try_alloc, at the first aligned offset of such bytes, where the block fits. They
 * join the request's free list, which is not 0, for that. LIMIT or OUT_OF_MEMORY, with nothing
 * changed, so that no request gathers bytes again and again. O(ranges in the part). */
cuarena_status_t cuai_heap_try_alloc_gathered(cuarena_heap_t *heap,
                                              const cuarena_heap_request_t *request, uint64_t size,
                                              uint64_t most, const cuai_free_part_t *part,
                                              cuai_slot_t *slot_out);
/* As cuai_heap_try_alloc, for a block of these attributes with the granule as alignment and without
 * a tag; returns its slot, or 0. */
cuai_slot_t cuai_heap_try_alloc_attributes(cuarena_heap_t *heap, uint32_t freelist, uint64_t size,
                                           uint64_t requested, uint64_t attributes);
/* Ends a live block that no plan moves; its bytes join `freelist`. */
void cuai_heap_free(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* Ends a cached block; its bytes join `freelist`. */
void cuai_heap_evict(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* The record whose range has a block's bytes once they have joined `freelist`. */
static inline cuai_slot_t cuai_heap_heir(const cuarena_heap_t *heap, cuai_slot_t slot,
                                         uint32_t freelist)
{
    cuai_slot_t prev = cuai_record(heap, slot)->prev;
    return cuai_range_joins(cuai_record(heap, prev), freelist) ? prev : slot;
}
/* A new EMPTY block: a live id of 0 bytes. LIMIT, OUT_OF_MEMORY. */
cuarena_status_t cuai_heap_add_empty(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     cuai_slot_t *slot_out);
/* Resizes a block in place; false, with nothing changed, if that cannot be. */
bool cuai_heap_resize(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t size, uint64_t requested,
                      uint32_t freelist);
void cuai_heap_exchange(cuarena_heap_t *heap, cuai_slot_t a, cuai_slot_t b);
/* A new block of `size` that fills the segment of `prev`, a SEGMENT_START without a range. */
cuarena_status_t cuai_heap_add_block(cuarena_heap_t *heap, cuai_slot_t prev, uint64_t size,
                                     const cuarena_heap_request_t *request,
                                     cuarena_block_t *block_out);
/* A new STANDALONE block at `offset`, of `size` bytes that are in no segment; the caller makes sure
 * that no other block has any of them. LIMIT or OUT_OF_MEMORY, with the last error set.
 * cuai_heap_free ends it. */
cuarena_status_t cuai_heap_add_standalone(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                          const cuarena_heap_request_t *request, cuai_note_t note,
                                          cuai_slot_t *slot_out);
/* Up to `room` ranges of a free list that have so many bytes, a granule or more: of the highest
 * zones first, and there of the largest classes. Returns how many. Looks at a bounded number. */
size_t cuai_heap_large_ranges(const cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes,
                              cuai_slot_t *slots, size_t room);
/* The first STANDALONE block of a heap, which may be NULL, after a slot; 0: there is none.
 * O(slots). */
cuai_slot_t cuai_heap_next_standalone(const cuarena_heap_t *heap, cuai_slot_t slot);
/* Says that a block or a segment has no record: LIMIT or OUT_OF_MEMORY. */
cuarena_status_t cuai_no_bookkeeping(cuarena_status_t status);
/* Ends every block, STANDALONE ones too; segments stay, each one idle range. Nothing is cached now.
 * O(slots). */
void cuai_heap_clear(cuarena_heap_t *heap);

/* ---- Cached blocks (cached.h) ------------------------------------------ */

/* Gives the heap a cache for blocks. OUT_OF_MEMORY. */
cuarena_status_t cuai_heap_begin_cache(cuarena_heap_t *heap);

/* ---- Free lists (freelists.c) ------------------------------------------ */

/* As cuarena_heap_freelist_absorb, of a free list in use that is not 0; sets no last error. */
bool cuai_freelist_absorb(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes);
/* The range that a part would be in once it is gathered: with what touches it in that free list. */
cuai_free_part_t cuai_freelist_gathered(const cuarena_heap_t *heap, const cuai_free_part_t *part,
                                        uint32_t freelist);
/* Transfers a part to a free list in use that is not 0; returns the record whose range has it then.
 * Two slots are ready, besides those that frees may need. O(ranges in it). */
cuai_slot_t cuai_freelist_gather(cuarena_heap_t *heap, const cuai_free_part_t *part,
                                 uint32_t freelist);

/* ---- Stretches: free bytes that change free lists (stretches.c) ------------- */

/* Transfers `bytes` of one idle range, aligned and as low as a bounded look finds, to a free list
 * in use that is not 0. OUT_OF_MEMORY, FRAGMENTED or LIMIT, with nothing changed and no last error
 * set. */
cuarena_status_t cuai_stretch_assign(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes,
                                     uint64_t alignment, uint64_t *begin_out);
/* Reclaims [begin, end), which is part of one range of that free list. OUT_OF_MEMORY or LIMIT, with
 * nothing changed and no last error set. O(ranges of the free list). */
cuarena_status_t cuai_stretch_reclaim(cuarena_heap_t *heap, uint32_t freelist, uint64_t begin,
                                      uint64_t end);

/* ---- Shifting all of it (plan_commit.c) -------------------------------- */

/* Until cuai_heap_thaw no idle range is allocated from. OUT_OF_MEMORY, BUSY. O(records). */
cuarena_status_t cuai_heap_freeze(cuarena_heap_t *heap);
void cuai_heap_thaw(cuarena_heap_t *heap);
/* Adds `distance` (modulo 2^64) to every offset. O(records). */
void cuai_heap_rebase(cuarena_heap_t *heap, uint64_t distance);

/* ---- Plans (plan.c) ---------------------------------------------------- */

/* The heap ends: plans that the caller still has are of no heap from now on. NULL is fine. */
void cuai_planning_end(cuai_planning_t *planning);

/* ---- Segments (segments.c) --------------------------------------------- */

/* The last record of a segment. */
cuai_slot_t cuai_segment_last(const cuarena_heap_t *heap, const cuai_segment_t *segment);
/* Allocates host memory, if there is any, so that each block that ends can leave a gap, which makes
 * one segment two. */
void cuai_segments_ready_cuts(cuarena_heap_t *heap);
/* Whether a segment can be added without host memory. */
static inline bool cuai_segment_is_ready(const cuarena_heap_t *heap)
{
    return heap->segment_count + 1 < heap->segment_room && cuai_slots_ready(heap);
}
/* As cuarena_heap_segment_add, for a range of any free list. */
cuarena_status_t cuai_segment_add_to(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                     uint32_t freelist);
/* As cuarena_heap_segment_cut, for bytes that the range of `slot` contains. */
cuarena_status_t cuai_segment_cut_range(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t offset,
                                        uint64_t bytes);
/* Sets what the segment is a part of, which is 0 at first. What is cut off it keeps the source. */
void cuai_segment_set_source(cuarena_heap_t *heap, cuai_segment_t *segment, uint32_t source);

/* ---- The table of segments (tree.c) ------------------------------------ */

/* NULL for 0. Pointers are good until a segment is added. */
static inline cuai_segment_t *cuai_segment_numbered(const cuarena_heap_t *heap, uint32_t n)
{
    CUAI_ASSERT(n == 0 || n < heap->segment_unused);
    return n == 0 ? NULL : &heap->segments[n];
}

/* The lowest segment, the highest one, and the one above another; NULL: there is none. */
static inline cuai_segment_t *cuai_segment_first(const cuarena_heap_t *heap)
{
    return heap->segment_count == 0 ? NULL : &heap->segments[heap->segments[0].above];
}

static inline cuai_segment_t *cuai_segment_top(const cuarena_heap_t *heap)
{
    return heap->segment_count == 0 ? NULL : &heap->segments[heap->segments[0].below];
}

static inline cuai_segment_t *cuai_segment_next(const cuarena_heap_t *heap,
                                                const cuai_segment_t *segment)
{
    return cuai_segment_numbered(heap, segment->above);
}

/* The functions that follow are O(log n) in the segments. */

/* The segment around an offset, or NULL. */
cuai_segment_t *cuai_segment_around(const cuarena_heap_t *heap, uint64_t offset);
/* The lowest segment that ends above an offset, or NULL. */
cuai_segment_t *cuai_segment_from(const cuarena_heap_t *heap, uint64_t offset);
/* The lowest segment that begins at `from` or above and has a gap of that many bytes below it, or
 * NULL. */
cuai_segment_t *cuai_segment_above_gap(const cuarena_heap_t *heap, uint64_t from, uint64_t bytes);
/* Makes room for that many segments; false: the host has no memory. O(n) now and then. */
bool cuai_segments_make_room(cuarena_heap_t *heap, uint64_t count);
/* Adds a segment; there is room for it, and it overlaps none. */
cuai_segment_t *cuai_segment_put(cuarena_heap_t *heap, cuai_segment_t segment);
void cuai_segment_drop(cuarena_heap_t *heap, cuai_segment_t *segment);
/* Works out the gaps around a segment whose begin, end or source has changed. */
void cuai_segment_fit(cuarena_heap_t *heap, const cuai_segment_t *segment);
/* Whether tree, list and gaps fit each other. O(n). */
bool cuai_segments_agree(const cuarena_heap_t *heap);

#endif
