/*
 * The heap's state, and the verbs on it that its files share.
 *
 * One noun per file: slots (records without a use), ranges (free bytes and where they are indexed),
 * segments, blocks, free lists, plans, walks, and the validator. Nothing here locks, and nothing
 * knows what an offset means.
 */
#ifndef CUAI_HEAP_HEAP_H
#define CUAI_HEAP_HEAP_H

#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "heap/cache.h"
#include "heap/index.h"
#include "heap/record.h"
#include "heap/table.h"

/* A segment's number is its place in the heap's array, 0: none. The list is by address, and item 0
 * is on both ends of it. */
typedef struct cuai_segment {
    uint64_t begin;
    uint64_t end;
    uint64_t gap;      /* addresses between it and the one below, if both are of
                        * one source */
    uint64_t most_gap; /* of it and all below it in the tree */
    cuai_slot_t head;  /* its SEGMENT_START record */
    uint32_t source;   /* the caller's number for what it is a part of */
    uint32_t low;      /* in the tree */
    uint32_t high;
    uint32_t below; /* in the list */
    uint32_t above; /* ... where a number without a use has the next such */
} cuai_segment_t;

/* What making a plan changes, though it leaves the heap as it is. */
typedef struct cuai_planning {
    cuarena_heap_t *heap;
    cuai_host_kept_t kept[2];        /* moves and runs of the last plan */
    struct cuarena_heap_plan *plans; /* all that were made for the heap */
} cuai_planning_t;

struct cuarena_heap {
    /* What every allocation and free touches. */
    cuai_record_t *records;
    cuai_table_t table;
    cuai_index_t *idle;       /* free lists[0] */
    cuai_index_t **freelists; /* NULL where unused */
    uint64_t granule_mask;    /* granule - 1 */
    uint32_t granule_log2;
    uint32_t class_base;   /* by what a class counted in bytes is more */
    uint64_t class_floor;  /* two granules: see cuai_plain_class */
    uint64_t id_base;      /* the heap's number, where its ids have it */
    uint64_t id_step;      /* from a slot's id to that of its next generation */
    uint64_t slot_mask;    /* where an id has its slot */
    cuai_slot_t free_slot; /* FREE slots, last freed first */
    cuai_slot_t unused;    /* slots from here on were never used */
    uint64_t committed;    /* slots that have memory */
    /* No two that one call changes are side by side: compilers join such stores, and what another
     * call then loads of both, or of half of each, waits until they have reached the cache. */
    uint64_t live_blocks;
    uint64_t peak_live_blocks;
    uint64_t live_bytes;
    uint64_t peak_live_bytes;
    uint64_t requested_bytes;
    uint64_t peak_requested_bytes;
    uint64_t most_block_bytes; /* of the largest block ever */
    uint64_t allocs;
    uint64_t search_steps;
    bool smooth;           /* no plan, every rest split off, no range of the last class,
                            * nothing cached: what the fast path takes for granted */
    bool plain;            /* smooth, one free list, no SEPARATOR: what the shortest does */
    bool nearly_plain;     /* plain but for cached blocks, which are to others as blocks
                            * that live are */
    uint64_t plain_blocks; /* max_blocks, but 0 if it is not plain */
    uint64_t ready_blocks; /* while fewer live and a slot is spare, a smooth
                            * heap has slots for one more and all SEPARATORs that
                            * frees may need; 0 if it is not smooth */
    uint64_t split_threshold;
    uint64_t align_attributes; /* the granule's alignment, in attributes */
    uint64_t zone_base;        /* where zone 0 begins */
    uint64_t zone_factor;      /* zones per granule, times 2^64 */
    uint64_t small_bytes;      /* below this a request counts as small */
    uint64_t giant_share;      /* see cuai_goes_high; 0: no request is a giant */
    uint64_t cramped;          /* classes, a bit each, of blocks that had no room to
                                * grow where they stood */
    int32_t placement;

    /* The rest. */
    uint32_t freelist_count;  /* in use, the idle one included */
    uint64_t separators;      /* SEPARATOR records */
    uint64_t separator_limit; /* more than these are looked into */
    uint64_t cached_blocks;
    uint64_t cached_bytes; /* of what is neither live nor in a free list */
    cuai_cache_t *cache;   /* NULL: the heap parks nothing */
    uint64_t plans;        /* under way */
    uint64_t changes;      /* other than allocations and frees */
    uint64_t zone_end;     /* where the last zone ends, at least */
    uint64_t full_searches;
    uint64_t capacity;
    uint64_t max_blocks;
    uint64_t max_slots;
    uint64_t retired; /* slots whose generations are used up */
    uint32_t number;  /* no other heap that lives has it; 0: none yet */
    uint32_t slot_bits;
    uint32_t first_generation; /* of slots that were never used */
    uint32_t last_generation;
    uint64_t standalone_blocks;
    uint64_t standalone_bytes;      /* of these; not in `capacity` */
    uint64_t standalone_most_asked; /* by the largest request for one, ever */
    cuai_segment_t *segments;       /* by number; see tree.c */
    size_t segment_count;
    size_t segment_room;     /* numbers, with 0 */
    uint32_t segment_root;   /* of the tree */
    uint32_t segment_free;   /* numbers without a use, last dropped first */
    uint32_t segment_unused; /* from here on they were never used */
    cuai_host_region_t record_region;
    cuai_planning_t *planning;
};

static inline cuai_record_t *cuai_record(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    return &heap->records[slot];
}

static inline uint32_t cuai_class(const cuarena_heap_t *heap, uint64_t bytes)
{
    return cuai_class_of(bytes >> heap->granule_log2);
}

static inline cuarena_block_t cuai_id(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    return heap->id_base + heap->records[slot].generation * heap->id_step + slot;
}

/* Where an id of the heap has its slot. */
static inline cuai_slot_t cuai_slot_in(const cuarena_heap_t *heap, cuarena_block_t block)
{
    return (cuai_slot_t)(block & heap->slot_mask);
}

/* The slot of the record that has the id, live or not; 0, the SENTINEL's, if none has. */
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

/* A change that neither count shows: of allocations, of live blocks. */
static inline void cuai_note_change(cuarena_heap_t *heap)
{
    heap->changes++;
}

static inline uint64_t cuai_version(const cuarena_heap_t *heap)
{
    return heap->allocs * 2 - heap->live_blocks + heap->changes;
}

/* In all free lists. */
static inline uint64_t cuai_free_bytes(const cuarena_heap_t *heap)
{
    return heap->capacity + heap->standalone_bytes - heap->live_bytes - heap->cached_bytes;
}

/* Records that may need a SEPARATOR when they end. */
static inline uint64_t cuai_block_records(const cuarena_heap_t *heap)
{
    return heap->live_blocks + heap->cached_blocks;
}

static inline uint64_t cuai_frees(const cuarena_heap_t *heap)
{
    return heap->allocs - heap->live_blocks;
}

/* ---- Counts ----------------------------------------------------------------
 */

static inline void cuai_raise(uint64_t *peak, uint64_t now)
{
    if (CUAI_UNLIKELY(now > *peak))
        *peak = now;
}

static inline void cuai_count_bytes(cuarena_heap_t *heap, uint64_t size, uint64_t requested)
{
    heap->live_bytes += size;
    heap->requested_bytes += requested;
    cuai_raise(&heap->peak_live_bytes, heap->live_bytes);
    cuai_raise(&heap->peak_requested_bytes, heap->requested_bytes);
}

static inline void cuai_count_alloc(cuarena_heap_t *heap, uint64_t size, uint64_t requested)
{
    heap->allocs++;
    heap->live_blocks++;
    cuai_raise(&heap->most_block_bytes, size);
    cuai_raise(&heap->peak_live_blocks, heap->live_blocks);
    cuai_count_bytes(heap, size, requested);
}

/* A block that takes `more` bytes now, and was asked for anew. */
static inline void cuai_count_anew(cuarena_heap_t *heap, cuai_record_t *r, uint64_t more,
                                   uint64_t requested)
{
    cuai_count_bytes(heap, more, requested - cuai_requested(r));
    cuai_raise(&heap->most_block_bytes, r->size);
    r->asked = cuai_asked(requested, cuai_tag_of(r));
    cuai_note_change(heap);
}

static inline void cuai_count_free(cuarena_heap_t *heap, const cuai_record_t *r)
{
    heap->live_blocks--;
    heap->live_bytes -= r->size;
    heap->requested_bytes -= cuai_requested(r);
}

/* ---- Numbers (numbers.c) ----------------------------------------------- */

/* A number that no heap has which lives; 0: all are in use. */
uint32_t cuai_heap_number_alloc(void);
/* The first generation that no earlier heap of that number has reached, or 0 where too few are
 * left. */
uint32_t cuai_heap_first_generation(uint32_t number, uint32_t slot_bits);
/* The heap that has it ends; no slot of it went beyond that generation. */
void cuai_heap_number_free(uint32_t number, uint32_t slot_bits, uint32_t last_generation);

/* ---- Slots (slots.c) --------------------------------------------------- */

/* Something has changed that `smooth`, `plain` or `ready_blocks` depend on. */
void cuai_note_plain(cuarena_heap_t *heap);

/*
 * SEPARATORs are bounded by those who allocate. Where there are more than the limit the heap is
 * split up: it has no fast path, and its owner reclaims free lists if there are many for its
 * blocks, and sets the limit anew. What is left then may grow by an eighth before that is tried
 * again.
 */
static inline bool cuai_heap_is_split_up(const cuarena_heap_t *heap)
{
    return heap->separators > heap->separator_limit;
}
bool cuai_heap_has_many_separators(const cuarena_heap_t *heap);
void cuai_heap_allow_separators(cuarena_heap_t *heap);

/* Makes sure that `count` more slots can be taken. OUT_OF_MEMORY, LIMIT. */
cuarena_status_t cuai_slots_reserve(cuarena_heap_t *heap, uint64_t count);

/* How many slots can be taken without memory. */
static inline bool cuai_slots_ready(const cuarena_heap_t *heap)
{
    return heap->free_slot != 0 || heap->unused < heap->committed;
}

/* Takes a slot that is ready. Its generation is kept, or the first one. */
static inline cuai_slot_t cuai_slot_alloc(cuarena_heap_t *heap)
{
    cuai_slot_t slot = heap->free_slot;
    if (CUAI_LIKELY(slot != 0)) {
        heap->free_slot = heap->records[slot].next;
        return slot;
    }
    slot = heap->unused++;
    heap->records[slot].generation = heap->first_generation;
    return slot;
}

/* Ends every id of the slot, which is in no list, and makes it free, or retires it. */
static inline void cuai_slot_free(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_record_t *r = cuai_record(heap, slot);
    r->kind = CUAI_FREE;
    if (CUAI_UNLIKELY(r->generation == heap->last_generation)) {
        heap->retired++;
        cuai_note_plain(heap);
        return;
    }
    r->generation++;
    r->next = heap->free_slot;
    heap->free_slot = slot;
}

/* The same whatever its links say. */
static inline void cuai_slot_end(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_index_forget(cuai_record(heap, slot));
    cuai_slot_free(heap, slot);
}

/* ---- The address list -------------------------------------------------- */

static inline void cuai_join(cuai_record_t *records, cuai_slot_t prev, cuai_slot_t slot)
{
    cuai_slot_t next = records[prev].next;
    records[slot].prev = prev;
    records[slot].next = next;
    records[prev].next = slot;
    records[next].prev = slot;
}

static inline void cuai_link_after(cuarena_heap_t *heap, cuai_slot_t prev, cuai_slot_t slot)
{
    cuai_join(heap->records, prev, slot);
}

static inline void cuai_unlink(cuarena_heap_t *heap, cuai_slot_t slot)
{
    cuai_slot_t prev = heap->records[slot].prev;
    cuai_slot_t next = heap->records[slot].next;
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

/* Segments came, grew or went: what depends on their span and their bytes is worked out anew.
 * Steps: now and then the ranges, which are sorted into new zones when the span has outgrown the
 * old ones. */
void cuai_zones_fit(cuarena_heap_t *heap);

/* The list that a range belongs to. */
static inline uint32_t cuai_list_for(const cuarena_heap_t *heap, uint64_t offset, uint64_t bytes)
{
    return cuai_list_of(cuai_zone_of(heap, offset), cuai_class(heap, bytes));
}

/* ---- Ranges ------------------------------------------------------------ */

/* The record gets a range of `bytes`, which may be 0, in `freelist`. It has none in an index now.
 * Does not look at neighbours. */
static inline void cuai_range_set(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                                  uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    r->key = bytes == 0 ? 0 : cuai_range_key(bytes, freelist);
    if (bytes == 0 || CUAI_UNLIKELY(freelist == CUAI_FREELIST_PLANNED))
        return;
    heap->freelists[freelist]->ranges++;
    cuai_index_insert(heap->freelists[freelist], heap->records, slot,
                      cuai_list_for(heap, cuai_end(r), bytes));
}

/* Takes the record's range, if it has one, out of its index; the links of one that is HELD mean
 * nothing. */
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
    heap->freelists[freelist]->ranges--;
    cuai_index_remove(heap->freelists[freelist], heap->records, slot);
}

/* As drop and set, for a record that has a range and keeps its end, without leaving the list where
 * class and free list stay the same. */
static inline void cuai_range_change(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                                     uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
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

/* The free bytes of a free list went up or down; HELD has no count. */
static inline void cuai_freelist_count(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes)
{
    if (CUAI_LIKELY(freelist != CUAI_FREELIST_PLANNED))
        heap->freelists[freelist]->free_bytes += bytes;
}

/*
 * Gives `bytes` that end where the record's range begins, or its block ends,
 * to `freelist`. The bytes are already out of the block. May need one slot.
 */
void cuai_range_release(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist);
/* Restores the SEPARATOR invariant around the range of `slot`, after it changed: a SEPARATOR that
 * follows it goes if it has become pointless. */
void cuai_range_absorb(cuarena_heap_t *heap, cuai_slot_t slot);
/* Puts `bytes` of `freelist` after the record's range, which is of another free list. Takes one
 * slot, which is ready. */
void cuai_range_append(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes, uint32_t freelist);
/* The record's range was used up: a SEPARATOR goes, and one that follows becomes the record's. */
void cuai_range_spent(cuarena_heap_t *heap, cuai_slot_t slot);
/* Moves the whole range to another free list, and merges what then may merge. */
void cuai_range_transfer(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* The same for `bytes` of it, behind the first `front`; whose range they are in then. Takes up to
 * two slots, which are ready. */
cuai_slot_t cuai_range_transfer_part(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t front,
                                     uint64_t bytes, uint32_t freelist);

/* Which SEPARATOR beside a range would be in the way of a block of `size` that is cut from its
 * upper end, or its lower: one that would keep nothing apart.
 * 0: none; CUAI_SEPARATORS_DISTURB: one on both sides, or one whose ids are used up. */
#define CUAI_SEPARATORS_DISTURB UINT32_MAX
cuai_slot_t cuai_separator_beside(const cuarena_heap_t *heap, cuai_slot_t owner, uint64_t size,
                                  bool high);
/* That SEPARATOR becomes the block, of these attributes, and takes over its bytes from the owner's
 * range; gives its slot. The rest is the caller's, as of a fresh record that is in the list. */
cuai_slot_t cuai_separator_to_block(cuarena_heap_t *heap, cuai_slot_t separator, cuai_slot_t owner,
                                    uint64_t size, uint64_t attributes);

/* ---- Blocks (blocks.c): what the public calls and the arena share ------ */

/* As cuarena_heap_alloc, for checked arguments: size not 0, a multiple of the granule; alignment a
 * power of two >= granule; free list in use. Gives the slot. LIMIT too if the block would have more
 * than `most` bytes with the rest that is not split off. No error text is set. */
cuarena_status_t cuai_heap_try_alloc(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     uint64_t size, uint64_t most, cuai_slot_t *slot_out);
/* The same in a bounded number of steps, see cuai_placement_find_bounded. */
cuarena_status_t cuai_heap_try_alloc_bounded(cuarena_heap_t *heap,
                                             const cuarena_heap_request_t *request, uint64_t size,
                                             uint64_t most, cuai_slot_t *slot_out);
/* As cuai_heap_try_alloc from the owner's range, of any free list, at an offset from which the
 * block fits. LIMIT, OUT_OF_MEMORY. */
cuarena_status_t cuai_heap_try_alloc_at(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                        uint64_t size, uint64_t most, cuai_slot_t owner,
                                        uint64_t offset, cuai_slot_t *slot_out);
/* The same from a free list for a block of attributes, with the granule as alignment and without a
 * tag; 0: not to be had. */
cuai_slot_t cuai_heap_try_alloc_attributes(cuarena_heap_t *heap, uint32_t freelist, uint64_t size,
                                           uint64_t requested, uint64_t attributes);
/* Ends a live block that no plan moves; its bytes join `freelist`. */
void cuai_heap_free(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* Likewise a block that was parked, from which nobody is served again. */
void cuai_heap_evict(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist);
/* Whose range a block's bytes are in once they have joined `freelist`. */
static inline cuai_slot_t cuai_heap_heir(const cuarena_heap_t *heap, cuai_slot_t slot,
                                         uint32_t freelist)
{
    cuai_slot_t prev = cuai_record(heap, slot)->prev;
    return cuai_range_joins(cuai_record(heap, prev), freelist) ? prev : slot;
}
/* A live id without bytes. */
cuarena_status_t cuai_heap_add_empty(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     cuai_slot_t *slot_out);
/* In place; false, with nothing changed, if it cannot be. */
bool cuai_heap_resize(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t size, uint64_t requested,
                      uint32_t freelist);
void cuai_heap_exchange(cuarena_heap_t *heap, cuai_slot_t a, cuai_slot_t b);
/* A block of `size` right after `prev`, a SEGMENT_START without a range, that fills its segment. */
cuarena_status_t cuai_heap_add_block(cuarena_heap_t *heap, cuai_slot_t prev, uint64_t size,
                                     const cuarena_heap_request_t *request,
                                     cuarena_block_t *block_out);
/* A STANDALONE block at `offset`, of `size` bytes that are in no segment. That no other block has
 * any of them is the caller's to know. LIMIT or OUT_OF_MEMORY, put into words. cuai_heap_free ends
 * it. */
cuarena_status_t cuai_heap_add_standalone(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                          const cuarena_heap_request_t *request, cuai_note_t note,
                                          cuai_slot_t *slot_out);
/* The part of cuai_heap_free for one. */
void cuai_standalone_end(cuarena_heap_t *heap, cuai_slot_t slot);
/* The first STANDALONE block from a slot on, 0: no more. Steps: slots. */
cuai_slot_t cuai_heap_next_standalone(const cuarena_heap_t *heap, cuai_slot_t from);
/* Every block ends, STANDALONE ones too; segments stay, each one idle range. Nothing is cached. */
void cuai_heap_clear(cuarena_heap_t *heap);

/* ---- Cached blocks (cached.h has the verbs) ---------------------------- */

/* The heap may park blocks from now on. OUT_OF_MEMORY. */
cuarena_status_t cuai_heap_begin_cache(cuarena_heap_t *heap);

/* ---- Free lists (free lists.c) --------------------------------------------------- */

/* As cuarena_heap_freelist_absorb, of a free list in use that is not 0; no error text is set. */
bool cuai_freelist_absorb(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes);
/* Gives [begin, end) to a free list in use that is not 0: free bytes of any free lists but HELD,
 * that end in the range of `last` or before. The record whose range has them now comes out.
 * OUT_OF_MEMORY or LIMIT, with nothing changed. Steps: the ranges. */
cuarena_status_t cuai_freelist_gather(cuarena_heap_t *heap, cuai_slot_t last, uint64_t begin,
                                      uint64_t end, uint32_t freelist, cuai_slot_t *owner_out);

/* ---- Stretches: free bytes that change free lists (stretches.c) ------------- */

/* Gives `bytes` of one idle range, aligned and as low as its zone allows, to
 * a free list in use that is not 0. OUT_OF_MEMORY, FRAGMENTED or LIMIT, with nothing changed and no
 * error text. */
cuarena_status_t cuai_stretch_assign(cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes,
                                     uint64_t alignment, uint64_t *begin_out);
/* Reclaims [begin, end), which is free and in that free list. OUT_OF_MEMORY or LIMIT, likewise.
 * Steps: the free list's ranges. */
cuarena_status_t cuai_stretch_reclaim(cuarena_heap_t *heap, uint32_t freelist, uint64_t begin,
                                      uint64_t end);

/* ---- Shifting all of it (plan_commit.c) --------------------------------------------
 */

/* Every idle range serves nobody until release. OUT_OF_MEMORY, BUSY. */
cuarena_status_t cuai_heap_freeze(cuarena_heap_t *heap);
void cuai_heap_thaw(cuarena_heap_t *heap);
/* Everything is `distance` (modulo 2^64) higher than it was. Steps: records. */
void cuai_heap_rebase(cuarena_heap_t *heap, uint64_t distance);

/* ---- Plans (plan.c) ---------------------------------------------------- */

/* The heap ends: its plans, which the caller still has, know no heap any more. NULL is fine. */
void cuai_planning_end(cuai_planning_t *planning);

/* ---- Segments (segments.c) --------------------------------------------- */

/* The last record of a segment. */
cuai_slot_t cuai_segment_last(const cuarena_heap_t *heap, const cuai_segment_t *segment);
/* Adds bytes at its end; the arguments are checked. OUT_OF_MEMORY. */
cuarena_status_t cuai_segment_lengthen(cuarena_heap_t *heap, cuai_segment_t *segment,
                                       uint64_t bytes);
/* Forgets the segment at `offset`, in which nothing lives or is free. */
void cuai_segment_remove_at(cuarena_heap_t *heap, uint64_t offset);
/* Takes host memory, if there is any, so that each block that ends can leave a gap: one segment
 * more. */
void cuai_segments_ready_cuts(cuarena_heap_t *heap);
/* Whether one more can be had without host memory. */
static inline bool cuai_segment_is_ready(const cuarena_heap_t *heap)
{
    return heap->segment_count + 1 < heap->segment_room && cuai_slots_ready(heap);
}
/* Cuts bytes out of the range of `slot`, which contains them. */
cuarena_status_t cuai_segment_cut_range(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t offset,
                                        uint64_t bytes);
/* Says what the segment is a part of: 0 until then. What is cut off it is of the same. */
void cuai_segment_set_source(cuarena_heap_t *heap, cuai_segment_t *segment, uint32_t source);

/* ---- The table of segments (tree.c) ------------------------------------ */

/* NULL for 0. Pointers are good until a segment is added. */
static inline cuai_segment_t *cuai_segment_numbered(const cuarena_heap_t *heap, uint32_t n)
{
    return n == 0 ? NULL : &heap->segments[n];
}

/* The lowest and the highest one, and the one above another; or NULL. */
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

/* Steps of the rest: the logarithm of their count. The segment around an offset, or NULL. */
cuai_segment_t *cuai_segment_around(const cuarena_heap_t *heap, uint64_t offset);
/* The lowest one that ends above an offset, or NULL. */
cuai_segment_t *cuai_segment_from(const cuarena_heap_t *heap, uint64_t offset);
/* The lowest one that begins at `from` or above and has a gap of that many bytes below it, or
 * NULL. */
cuai_segment_t *cuai_segment_above_gap(const cuarena_heap_t *heap, uint64_t from, uint64_t bytes);
/* Room for that many; false: the host has no memory. */
bool cuai_segments_make_room(cuarena_heap_t *heap, uint64_t count);
/* There is room, and it overlaps none. */
cuai_segment_t *cuai_segment_put(cuarena_heap_t *heap, cuai_segment_t segment);
void cuai_segment_drop(cuarena_heap_t *heap, cuai_segment_t *segment);
/* Its begin, end or source has changed, and with it gaps. */
void cuai_segment_fit(cuarena_heap_t *heap, const cuai_segment_t *segment);
/* Whether tree, list and gaps fit each other. Steps: the segments. */
bool cuai_segments_agree(const cuarena_heap_t *heap);

#endif
