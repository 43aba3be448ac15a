/*
 * Blocks: allocation, free, resize in place, exchange.
 *
 * An allocation usually takes a FREE slot, one look into the index, one new record after the
 * range's owner and one look-up entry. On a free the record leaves list and look-up, and its bytes
 * and both neighbouring ranges become one range of the record before it. Each touches three
 * records.
 */
#include <string.h>

#include "heap/blocks.h"
#include "heap/cached.h"
#include "heap/freelists.h"
#include "heap/placement.h"
#include "heap/ranges.h"
#include "heap/segments.h"

/* ---- Allocation -------------------------------------------------------- */

/* With several free lists, or a plan under way, a free may need a SEPARATOR: one slot per live
 * block is kept ready for that. */
static inline bool needs_separators(const cuarena_heap_t *heap)
{
    return heap->freelist_count > 1 || heap->plans != 0;
}

/* Makes a slot ready, and the look-up large enough for it; where none is FREE, as many as the heap
 * says. LIMIT, OUT_OF_MEMORY. */
static CUAI_NOINLINE cuarena_status_t prepare_slot(cuarena_heap_t *heap)
{
    if (cuai_heap_blocks(heap) >= heap->max_blocks)
        return CUARENA_LIMIT;
    uint64_t separators = needs_separators(heap) ? cuai_block_records(heap) + 1 : 0;
    cuarena_status_t status = cuai_slots_reserve(heap, separators + 1);
    if (status != CUARENA_OK || heap->free_slot != 0)
        return status;
    uint64_t fresh = cuai_min(heap->slots_at_once, heap->committed - heap->unused);
    status = cuai_table_grow(&heap->table, heap->records, heap->unused + fresh);
    if (status == CUARENA_OK)
        cuai_slots_use(heap, fresh);
    return status;
}

static inline cuarena_status_t ready_slot(cuarena_heap_t *heap)
{
    if (CUAI_LIKELY(heap->free_slot != 0 && cuai_heap_blocks(heap) < heap->max_blocks &&
                    !needs_separators(heap)))
        return CUARENA_OK;
    return prepare_slot(heap);
}

/* How a range is divided: front | block | tail. */
typedef struct cuai_cut {
    uint64_t front;
    uint64_t size;
    uint64_t tail;
} cuai_cut_t;

static inline cuai_cut_t cut_low(uint64_t start, uint64_t range, uint64_t size, uint64_t alignment)
{
    uint64_t front = cuai_align_up(start, alignment) - start;
    CUAI_ASSERT(front <= range && size <= range - front);
    return (cuai_cut_t){front, size, range - front - size};
}

static inline cuai_cut_t cut_high(uint64_t start, uint64_t range, uint64_t size, uint64_t alignment)
{
    uint64_t at = (start + range - size) & ~(alignment - 1);
    uint64_t front = at - start;
    CUAI_ASSERT(size <= range && at >= start);
    return (cuai_cut_t){front, size, range - front - size};
}

/* The split rule: a rest that is too small to be worth a range of its own becomes part of the
 * block. */
static inline void keep_small_rest(const cuarena_heap_t *heap, cuai_cut_t *cut, uint64_t alignment)
{
    uint64_t rest = cut->front + cut->tail;
    if (CUAI_LIKELY(heap->split_threshold == 0) ||
        cuai_heap_taken(heap, cut->size + rest, cut->size) == cut->size)
        return;
    if (alignment > heap->granule_mask + 1) /* the front stays in place */
        rest = cut->tail;
    else
        cut->front = 0;
    cut->tail = 0;
    cut->size += rest;
}

static inline cuai_cut_t choose_cut(const cuarena_heap_t *heap, const cuai_record_t *owner,
                                    const cuai_placement_t *place)
{
    uint64_t start = cuai_end(owner);
    uint64_t range = cuai_range(owner);
    cuai_cut_t cut = place->high ? cut_high(start, range, place->size, place->alignment)
                                 : cut_low(start, range, place->size, place->alignment);
    keep_small_rest(heap, &cut, place->alignment);
    return cut;
}

/* Removes SEPARATORs that an allocation leaves pointless: the owner, if it has lost its range, and
 * one that follows the block. */
static CUAI_NOINLINE void mind_separators(cuarena_heap_t *heap, cuai_slot_t owner, cuai_slot_t slot)
{
    cuai_range_absorb(heap, slot);
    if (cuai_record(heap, owner)->key == 0)
        cuai_range_spent(heap, owner);
}

/* Divides the owner's range around the new block of `slot`. */
static inline void carve(cuarena_heap_t *heap, cuai_slot_t owner, cuai_slot_t slot,
                         const cuai_cut_t *cut, uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(cut->front + cut->size + cut->tail == cuai_range(cuai_record(heap, owner)));
    r->offset = cuai_end(cuai_record(heap, owner)) + cut->front;
    r->size = cut->size;
    cuai_range_change(heap, owner, cut->front, freelist);
    cuai_range_set(heap, slot, cut->tail, freelist);
    cuai_join(heap->records, owner, slot);
    heap->freelists[freelist]->free_bytes -= cut->size;
    if (CUAI_UNLIKELY(heap->separators != 0))
        mind_separators(heap, owner, slot);
}

static inline void fill_block(cuai_record_t *r, const cuarena_heap_request_t *request,
                              uint64_t alignment)
{
    CUAI_ASSERT(request->owner <= CUARENA_HEAP_MAX_OWNER && cuai_is_power_of_two(alignment));
    r->asked = cuai_asked(request->size, request->tag);
    r->pins = request->pins;
    r->flags = (uint8_t)request->flags;
    r->align_log2 = cuai_ctz(alignment) & 0x7f;
    r->fixed = 0;
    r->owner = request->owner & CUARENA_HEAP_MAX_OWNER;
    r->moving = 0;
}

static inline uint64_t wanted_alignment(const cuarena_heap_t *heap,
                                        const cuarena_heap_request_t *request)
{
    uint64_t granule = heap->granule_mask + 1;
    return request->alignment > granule ? request->alignment : granule;
}

/* Makes the block; a slot is ready. */
static inline cuai_slot_t put_block(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                    cuai_slot_t owner, const cuai_cut_t *cut, uint64_t alignment)
{
    cuai_slot_t slot = cuai_slot_alloc(heap);
    carve(heap, owner, slot, cut, cuai_range_freelist(cuai_record(heap, owner)));
    cuai_record_t *r = cuai_record(heap, slot);
    r->kind = CUAI_BLOCK;
    fill_block(r, request, alignment);
    CUAI_ASSERT(cuai_is_aligned(r->offset, alignment));
    cuai_table_insert(&heap->table, heap->records, slot);
    cuai_count_alloc(heap, r->size, request->size);
    return slot;
}

static cuarena_status_t refuse(const cuarena_heap_t *heap, uint64_t size, uint32_t freelist)
{
    return heap->freelists[freelist]->free_bytes < size ? CUARENA_OUT_OF_MEMORY
                                                        : CUARENA_FRAGMENTED;
}

cuarena_status_t cuai_heap_try_alloc(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     uint64_t size, uint64_t most, bool bounded,
                                     cuai_slot_t *slot_out)
{
    cuarena_status_t status = ready_slot(heap);
    if (CUAI_UNLIKELY(status != CUARENA_OK))
        return status;
    uint64_t alignment = wanted_alignment(heap, request);
    cuai_placement_t place = {size, alignment, request->freelist, request->low != 0, false};
    cuai_slot_t owner =
        bounded ? cuai_placement_find_bounded(heap, &place) : cuai_placement_find(heap, &place);
    if (CUAI_UNLIKELY(owner == CUAI_NO_PLACE))
        return refuse(heap, size, request->freelist);
    cuai_cut_t cut = choose_cut(heap, cuai_record(heap, owner), &place);
    if (CUAI_UNLIKELY(cut.size > most))
        return CUARENA_LIMIT;
    *slot_out = put_block(heap, request, owner, &cut, alignment);
    return CUARENA_OK;
}

/* What may refuse the block comes before anything is gathered. */
cuarena_status_t cuai_heap_try_alloc_gathered(cuarena_heap_t *heap,
                                              const cuarena_heap_request_t *request, uint64_t size,
                                              uint64_t most, const cuai_free_part_t *part,
                                              cuai_slot_t *slot_out)
{
    cuarena_status_t status = ready_slot(heap);
    if (status == CUARENA_OK)
        status = cuai_slots_reserve(heap, cuai_block_records(heap) + 4);
    if (status != CUARENA_OK)
        return status;
    uint64_t alignment = wanted_alignment(heap, request);
    cuai_free_part_t all = cuai_freelist_gathered(heap, part, request->freelist);
    uint64_t front = cuai_align_up(part->begin, alignment) - all.begin;
    CUAI_ASSERT(all.begin + front + size <= part->end);
    cuai_cut_t cut = {front, size, all.end - all.begin - front - size};
    keep_small_rest(heap, &cut, alignment);
    if (cut.size > most)
        return CUARENA_LIMIT;
    cuai_slot_t owner = cuai_freelist_gather(heap, part, request->freelist);
    CUAI_ASSERT(cuai_range(cuai_record(heap, owner)) == all.end - all.begin);
    *slot_out = put_block(heap, request, owner, &cut, alignment);
    return CUARENA_OK;
}

cuai_slot_t cuai_heap_try_alloc_attributes(cuarena_heap_t *heap, uint32_t freelist, uint64_t size,
                                           uint64_t requested, uint64_t attributes)
{
    cuarena_heap_request_t request = {
        .size = requested,
        .freelist = freelist,
        .pins = CUAI_ATTRIBUTES_PINS(attributes),
        .flags = CUAI_ATTRIBUTES_FLAGS(attributes),
        .owner = CUAI_ATTRIBUTES_OWNER(attributes),
    };
    cuai_slot_t slot = 0;
    cuarena_status_t status = cuai_heap_try_alloc(heap, &request, size, UINT64_MAX, false, &slot);
    return status == CUARENA_OK ? slot : 0;
}

cuarena_status_t cuai_heap_add_block(cuarena_heap_t *heap, cuai_slot_t prev, uint64_t size,
                                     const cuarena_heap_request_t *request,
                                     cuarena_block_t *block_out)
{
    cuarena_status_t status = ready_slot(heap);
    if (status != CUARENA_OK)
        return status;
    CUAI_ASSERT(cuai_record(heap, prev)->kind == CUAI_SEGMENT_START);
    CUAI_ASSERT(cuai_record(heap, prev)->key == 0);
    cuai_slot_t slot = cuai_record_put(heap, prev, CUAI_BLOCK, cuai_end(cuai_record(heap, prev)));
    cuai_record_t *r = cuai_record(heap, slot);
    r->size = size;
    fill_block(r, request, heap->granule_mask + 1);
    cuai_table_insert(&heap->table, heap->records, slot);
    cuai_count_alloc(heap, size, request->size);
    *block_out = cuai_id(heap, slot);
    return CUARENA_OK;
}

cuarena_status_t cuai_heap_add_empty(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                     cuai_slot_t *slot_out)
{
    cuarena_status_t status = ready_slot(heap);
    if (status != CUARENA_OK)
        return status;
    cuai_slot_t slot = cuai_slot_alloc(heap);
    cuai_record_t *r = cuai_record(heap, slot);
    r->kind = CUAI_EMPTY;
    r->offset = 0;
    r->size = 0;
    r->key = 0;
    fill_block(r, request, wanted_alignment(heap, request));
    r->asked = cuai_asked(0, request->tag);
    cuai_count_alloc(heap, 0, 0);
    *slot_out = slot;
    return CUARENA_OK;
}

/* ---- Standalone blocks --------------------------------------------------- */

/* Each has bytes of its own, in no segment. Nothing is beside one, so it takes one record, is in no
 * list, and begins and ends in O(1). */

cuarena_status_t cuai_no_bookkeeping(cuarena_status_t status)
{
    return cuai_fail(status, status == CUARENA_LIMIT ? "the heap has as many blocks as max_blocks"
                                                     : "no host memory for the bookkeeping");
}

cuarena_status_t cuai_heap_add_standalone(cuarena_heap_t *heap, uint64_t offset, uint64_t size,
                                          const cuarena_heap_request_t *request, cuai_note_t note,
                                          cuai_slot_t *slot_out)
{
    cuai_slot_t slot;
    cuarena_status_t status = cuai_heap_add_empty(heap, request, &slot);
    if (status != CUARENA_OK)
        return cuai_no_bookkeeping(status);
    cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(size != 0 && request->size <= size);
    r->kind = CUAI_STANDALONE;
    r->offset = offset;
    r->size = size;
    r->asked = cuai_asked(request->size, request->tag);
    cuai_set_note(r, note);
    cuai_table_insert(&heap->table, heap->records, slot);
    cuai_counter_resize(&heap->counter, size, request->size);
    cuai_raise(&heap->most_block_bytes, size);
    cuai_raise(&heap->standalone_most_asked, request->size);
    heap->standalone_blocks++;
    heap->standalone_bytes += size;
    *slot_out = slot;
    return CUARENA_OK;
}

static void end_standalone(cuarena_heap_t *heap, cuai_slot_t slot)
{
    CUAI_ASSERT(cuai_record(heap, slot)->kind == CUAI_STANDALONE);
    CUAI_ASSERT(heap->standalone_blocks != 0);
    cuai_table_remove(&heap->table, heap->records, slot);
    heap->standalone_blocks--;
    heap->standalone_bytes -= cuai_record(heap, slot)->size;
    cuai_slot_end(heap, slot);
}

cuai_slot_t cuai_heap_next_standalone(const cuarena_heap_t *heap, cuai_slot_t slot)
{
    while (heap != NULL && ++slot < heap->unused)
        if (cuai_record(heap, slot)->kind == CUAI_STANDALONE)
            return slot;
    return 0;
}

/* ---- Free -------------------------------------------------------------- */

/* Makes the block's record a SEPARATOR at `offset`, with the range that it has; its id ends. */
static void become_separator(cuarena_heap_t *heap, cuai_record_t *r, uint64_t offset)
{
    CUAI_ASSERT(cuai_is_listed(r) && !r->moving);
    cuai_set_kind(r, CUAI_SEPARATOR);
    CUAI_STORE(r->offset, offset);
    r->size = 0;
    r->pins = 0;
    if (r->generation != CUAI_LAST_GENERATION)
        CUAI_STORE(r->generation, r->generation + 1);
    cuai_count_separators(heap, 1);
}

/* Frees a block's bytes that a range of another free list touches on at least one side. */
static CUAI_NOINLINE void free_apart(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    uint64_t offset = r->offset;
    uint64_t size = r->size;
    if (cuai_range_joins(cuai_record(heap, r->prev), freelist)) {
        CUAI_ASSERT(!cuai_range_joins(r, freelist));
        become_separator(heap, r, offset + size);
        cuai_range_release(heap, r->prev, size, freelist);
        return;
    }
    become_separator(heap, r, offset);
    cuai_range_release(heap, slot, size, freelist);
}

/* Frees a block's bytes that become one range, of the record before it, with both neighbours. */
static inline void free_merged(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    cuai_slot_t prev = r->prev;
    uint64_t bytes = cuai_range(cuai_record(heap, prev)) + r->size + cuai_range(r);
    cuai_range_drop(heap, slot);
    cuai_range_drop(heap, prev);
    cuai_unlink(heap, slot);
    cuai_range_set(heap, prev, bytes, freelist);
    cuai_slot_end(heap, slot);
    if (CUAI_UNLIKELY(heap->separators != 0))
        cuai_range_absorb(heap, prev);
}

/* Frees the bytes of a block that is not counted as live any more. */
static inline void free_bytes(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(freelist != CUAI_FREELIST_PLANNED);
    cuai_table_remove(&heap->table, heap->records, slot);
    heap->freelists[freelist]->free_bytes += r->size;
    if (CUAI_LIKELY(cuai_range_joins(cuai_record(heap, r->prev), freelist) &&
                    cuai_range_joins(r, freelist)))
        free_merged(heap, slot, freelist);
    else
        free_apart(heap, slot, freelist);
}

void cuai_heap_free(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    CUAI_ASSERT(cuai_is_live(r) || r->kind == CUAI_KEPT);
    cuai_count_free(heap, r);
    if (CUAI_UNLIKELY(r->kind == CUAI_EMPTY))
        cuai_slot_end(heap, slot);
    else if (CUAI_UNLIKELY(r->kind == CUAI_STANDALONE))
        end_standalone(heap, slot);
    else
        free_bytes(heap, slot, freelist);
}

void cuai_heap_evict(cuarena_heap_t *heap, cuai_slot_t slot, uint32_t freelist)
{
    CUAI_ASSERT(cuai_record(heap, slot)->kind == CUAI_CACHED);
    cuai_cache_remove(heap->cache, heap->records, slot);
    cuai_count_cached(heap, slot, false);
    cuai_note_change(heap);
    free_bytes(heap, slot, freelist);
}

/* ---- Resize ------------------------------------------------------------ */

static bool grow_in_place(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t more, uint32_t freelist)
{
    cuai_record_t *r = cuai_record(heap, slot);
    if (r->key == 0 || cuai_range_freelist(r) != freelist || cuai_range(r) < more)
        return false;
    uint64_t rest = cuai_range(r) - more;
    cuai_range_drop(heap, slot);
    heap->freelists[freelist]->free_bytes -= more;
    r->size += more;
    cuai_range_set(heap, slot, rest, freelist);
    cuai_range_absorb(heap, slot);
    return true;
}

static bool shrink_in_place(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t less,
                            uint32_t freelist)
{
    bool separator = !cuai_range_joins(cuai_record(heap, slot), freelist);
    CUAI_ASSERT(less < cuai_record(heap, slot)->size);
    if (separator && !cuai_slots_ready(heap) && cuai_slots_reserve(heap, 1) != CUARENA_OK)
        return false;
    cuai_record(heap, slot)->size -= less;
    heap->freelists[freelist]->free_bytes += less;
    cuai_range_release(heap, slot, less, freelist);
    return true;
}

bool cuai_heap_resize(cuarena_heap_t *heap, cuai_slot_t slot, uint64_t size, uint64_t requested,
                      uint32_t freelist)
{
    uint64_t old_size = cuai_record(heap, slot)->size;
    CUAI_ASSERT(cuai_record(heap, slot)->kind == CUAI_BLOCK && size != 0);
    bool done = size == old_size ||
                (size > old_size ? grow_in_place(heap, slot, size - old_size, freelist)
                                 : shrink_in_place(heap, slot, old_size - size, freelist));
    if (!done)
        return false;
    cuai_count_anew(heap, cuai_record(heap, slot), size - old_size, requested);
    return true;
}

/* ---- Exchange -------------------------------------------------------------
 */

/* Takes the block out of look-up, index and address list; returns its record as it was. */
static cuai_record_t lift(cuarena_heap_t *heap, cuai_slot_t slot)
{
    const cuai_record_t was = *cuai_record(heap, slot);
    CUAI_ASSERT(was.kind == CUAI_BLOCK || was.kind == CUAI_EMPTY);
    cuai_range_drop(heap, slot);
    if (was.kind == CUAI_BLOCK) {
        cuai_table_remove(&heap->table, heap->records, slot);
        cuai_unlink(heap, slot);
    }
    return was;
}

/* Puts the block, which was lifted, where another one was. */
static void set_down(cuarena_heap_t *heap, cuai_slot_t slot, const cuai_record_t *place)
{
    cuai_record_t *r = cuai_record(heap, slot);
    r->offset = place->offset;
    r->size = place->size;
    r->asked = cuai_asked(cuai_requested(place), cuai_tag_of(r));
    r->kind = place->kind;
    r->align_log2 = place->align_log2;
    cuai_range_set(heap, slot, cuai_range(place), cuai_range_freelist(place));
    if (r->kind == CUAI_BLOCK) {
        cuai_join(heap->records, place->prev, slot);
        cuai_table_insert(&heap->table, heap->records, slot);
    }
}

/* The lower block is lifted first: so the record before either place stays in the list, also where
 * the two are neighbours. An EMPTY block, which is not in the list, counts as lower. */
void cuai_heap_exchange(cuarena_heap_t *heap, cuai_slot_t a, cuai_slot_t b)
{
    if (a == b)
        return;
    bool ascend = cuai_record(heap, a)->offset < cuai_record(heap, b)->offset;
    cuai_slot_t low = ascend ? a : b;
    cuai_slot_t high = ascend ? b : a;
    const cuai_record_t lower = lift(heap, low);
    const cuai_record_t upper = lift(heap, high);
    set_down(heap, low, &upper);
    set_down(heap, high, &lower);
    cuai_note_change(heap);
}

/* ---- Clear ----------------------------------------------------------------
 */

static void end_all_blocks(cuarena_heap_t *heap)
{
    for (cuai_slot_t slot = 1; slot < heap->unused; slot++) {
        const cuai_record_t *r = cuai_record(heap, slot);
        if (cuai_is_live(r) || r->kind == CUAI_SEPARATOR)
            cuai_slot_end(heap, slot);
    }
    cuai_counter_clear(&heap->counter);
    heap->separators = 0;
    heap->cramped = 0;
    heap->standalone_blocks = 0;
    heap->standalone_bytes = 0;
    cuai_refresh_fast(heap);
}

void cuai_heap_clear(cuarena_heap_t *heap)
{
    CUAI_ASSERT(heap->cached_blocks == 0 && heap->plans == 0);
    end_all_blocks(heap);
    for (uint32_t freelist = 0; freelist < CUAI_FREELIST_PLANNED; freelist++)
        if (heap->freelists[freelist] != NULL)
            memset(heap->freelists[freelist], 0, sizeof(cuai_index_t));
    cuai_table_clear(&heap->table);
    cuai_slot_t last = 0;
    cuai_record(heap, 0)->next = 0;
    cuai_record(heap, 0)->prev = 0;
    for (const cuai_segment_t *segment = cuai_segment_first(heap); segment != NULL;
         segment = cuai_segment_next(heap, segment)) {
        cuai_join(heap->records, last, segment->head);
        last = segment->head;
        cuai_range_set(heap, last, segment->end - segment->begin, 0);
        heap->freelists[0]->free_bytes += segment->end - segment->begin;
    }
    CUAI_ASSERT(heap->freelists[0]->free_bytes == heap->capacity);
    cuai_note_change(heap);
}
