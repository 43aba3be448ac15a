/* Walks and statistics: what can be learnt of a heap without changing it. */
#include "base/sized.h"
#include "heap/blocks.h"

/* ---- One block --------------------------------------------------------- */

static void describe_block(const cuarena_heap_t *heap, cuai_slot_t slot,
                           cuarena_heap_entry_t *entry)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    *entry = (cuarena_heap_entry_t){
        .kind = CUARENA_ENTRY_BLOCK,
        .freelist = r->owner,
        .offset = r->offset,
        .size = r->size,
        .block = cuai_id(heap, slot),
        .requested = cuai_requested(r),
        .alignment = UINT64_C(1) << r->align_log2,
        .tag = cuai_tag_of(r),
        .pins = r->pins,
        .flags = r->flags,
        .moving = r->moving,
    };
}

cuarena_status_t cuarena_heap_block_info(const cuarena_heap_t *heap, cuarena_block_t block,
                                         cuarena_heap_entry_t *entry_out)
{
    if (heap == NULL || entry_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    cuarena_status_t status;
    cuai_slot_t slot = cuai_check_block(heap, block, &status);
    if (slot == 0)
        return status;
    describe_block(heap, slot, entry_out);
    return CUARENA_OK;
}

static void describe_cached(const cuai_record_t *r, cuarena_heap_entry_t *entry)
{
    *entry = (cuarena_heap_entry_t){
        .kind = CUARENA_ENTRY_CACHED,
        .freelist = r->owner,
        .offset = r->offset,
        .size = r->size,
        .alignment = UINT64_C(1) << r->align_log2,
    };
}

/* ---- Walk -------------------------------------------------------------- */

/*
 * A record may have two entries: the record itself, and the range after it. A cursor is slot * 2
 * for the record, one more for its range, 0 before the first entry and END behind the last.
 */
#define CURSOR_END UINT64_MAX

static bool describe_gap(const cuarena_heap_t *heap, const cuai_record_t *r,
                         cuarena_heap_entry_t *entry)
{
    if (r->kind != CUAI_SEGMENT_START || r->prev == 0)
        return false;
    const cuai_record_t *before = cuai_record(heap, r->prev);
    uint64_t begin = cuai_end(before) + cuai_range(before);
    if (begin == r->offset)
        return false;
    *entry = (cuarena_heap_entry_t){
        .kind = CUARENA_ENTRY_GAP, .offset = begin, .size = r->offset - begin};
    return true;
}

static bool describe_range(const cuai_record_t *r, cuarena_heap_entry_t *entry)
{
    if (r->key == 0)
        return false;
    *entry = (cuarena_heap_entry_t){
        .kind = CUARENA_ENTRY_RANGE,
        .freelist = cuai_range_freelist(r),
        .offset = cuai_end(r),
        .size = cuai_range(r),
        .moving = cuai_range_freelist(r) == CUAI_FREELIST_PLANNED,
    };
    return true;
}

/* Describes one half of a record; false if it has no entry. */
static bool describe(const cuarena_heap_t *heap, uint64_t half, cuarena_heap_entry_t *entry)
{
    cuai_slot_t slot = (cuai_slot_t)(half / 2);
    const cuai_record_t *r = cuai_record(heap, slot);
    if (half % 2 == 1)
        return describe_range(r, entry);
    if (!cuai_is_listed(r))
        return describe_gap(heap, r, entry);
    if (r->kind == CUAI_CACHED)
        describe_cached(r, entry);
    else
        describe_block(heap, slot, entry);
    return true;
}

static uint64_t next_half(const cuarena_heap_t *heap, uint64_t half)
{
    if (half % 2 == 0 && half != 0)
        return half + 1;
    cuai_slot_t next = cuai_record(heap, (cuai_slot_t)(half / 2))->next;
    return next == 0 ? CURSOR_END : (uint64_t)next * 2;
}

cuarena_status_t cuarena_heap_walk(const cuarena_heap_t *heap, uint64_t *cursor,
                                   cuarena_heap_entry_t *entries, size_t capacity,
                                   size_t *count_out)
{
    if (heap == NULL || cursor == NULL || entries == NULL || count_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    if (*cursor != CURSOR_END && *cursor / 2 >= heap->unused)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "cursor %llu is not one that a walk gave",
                         (unsigned long long)*cursor);
    size_t count = 0;
    uint64_t half = *cursor == 0 ? next_half(heap, 0) : *cursor;
    while (half != CURSOR_END && count < capacity) {
        count += describe(heap, half, &entries[count]);
        half = next_half(heap, half);
    }
    *cursor = half;
    *count_out = count;
    return CUARENA_OK;
}

/* ---- Counts ------------------------------------------------------------ */

void cuarena_heap_stats_init(cuarena_heap_stats_t *stats)
{
    *stats = (cuarena_heap_stats_t){.struct_size = sizeof *stats};
}

/* How many ranges of a list the statistics look at for the largest. */
#define CHEAP_LOOK 64

/* The highest class of a free list that has a range, or NO_CLASS. */
static uint32_t last_class(const cuai_index_t *index)
{
    uint32_t top = 0;
    for (uint32_t zone = 0; zone < CUAI_ZONES; zone++)
        top = (uint32_t)cuai_max(top, cuai_index_top(index, zone));
    return top == 0 ? CUAI_NO_CLASS : top;
}

/* The largest of the first `most` ranges of the highest class in each zone. */
static uint64_t largest_of(const cuarena_heap_t *heap, const cuai_index_t *index, uint64_t most)
{
    uint32_t class = last_class(index);
    uint64_t largest = 0;
    for (uint32_t zone = 0; class != CUAI_NO_CLASS && zone < CUAI_ZONES; zone++) {
        cuai_slot_t slot = index->heads[cuai_list_of(zone, class)];
        for (uint64_t i = 0; slot != 0 && i < most; i++) {
            largest = cuai_max(largest, cuai_range(cuai_record(heap, slot)));
            slot = cuai_record(heap, slot)->down;
        }
    }
    return largest;
}

/* Ranges that were found. */
typedef struct cuai_large {
    cuai_slot_t *slots;
    size_t room;
    size_t count;
    uint32_t looks;
} cuai_large_t;

/* How many ranges are looked at for large ones. */
#define MOST_LOOKS 256

/* Notes the ranges of one list that have so many bytes. */
static void add_large(const cuarena_heap_t *heap, cuai_slot_t slot, uint64_t bytes,
                      cuai_large_t *found)
{
    for (; slot != 0 && found->count < found->room && found->looks < MOST_LOOKS;
         slot = cuai_record(heap, slot)->down, found->looks++)
        if (cuai_range(cuai_record(heap, slot)) >= bytes)
            found->slots[found->count++] = slot;
}

size_t cuai_heap_large_ranges(const cuarena_heap_t *heap, uint32_t freelist, uint64_t bytes,
                              cuai_slot_t *slots, size_t room)
{
    const cuai_index_t *index = heap->freelists[freelist];
    cuai_large_t found = {slots, room, 0, 0};
    uint32_t least = cuai_class_of(bytes >> heap->granule_log2);
    for (uint32_t zone = CUAI_ZONES; zone-- > 0;) {
        uint64_t classes = cuai_zone_classes(index, zone, least);
        for (; classes != 0; classes &= ~(UINT64_C(1) << cuai_log2_floor(classes)))
            add_large(heap, index->heads[cuai_list_of(zone, cuai_log2_floor(classes))], bytes,
                      &found);
    }
    return found.count;
}

/* Counts what was ever used of the addresses that are set aside: the rest was not touched. */
static uint64_t bookkeeping(const cuarena_heap_t *heap)
{
    const cuai_planning_t *planning = heap->planning;
    return sizeof *heap + heap->unused * sizeof(cuai_record_t) +
           heap->table.buckets * sizeof(cuai_slot_t) +
           (uint64_t)heap->freelist_count * sizeof(cuai_index_t) +
           heap->segment_unused * sizeof(cuai_segment_t) +
           CUARENA_HEAP_MAX_FREELISTS * sizeof(*heap->freelists) + sizeof *planning +
           planning->kept[0].room + planning->kept[1].room +
           (heap->cache == NULL ? 0 : cuai_cache_host_bytes(heap->cache, heap->unused));
}

static void add_freelists(const cuarena_heap_t *heap, cuarena_heap_stats_t *stats)
{
    uint32_t seen = 0;
    for (uint32_t freelist = 0; seen < heap->freelist_count; freelist++) {
        const cuai_index_t *index = heap->freelists[freelist];
        if (index == NULL)
            continue;
        seen++;
        stats->ranges += index->ranges;
    }
}

cuarena_status_t cuarena_heap_stats(const cuarena_heap_t *heap, cuarena_heap_stats_t *stats)
{
    if (heap == NULL || !cuai_sized_ok(stats, sizeof *stats, sizeof *stats))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL, or stats was not made by "
                                               "cuarena_heap_stats_init");
    cuai_counts_t counts = cuai_counter_read(&heap->counter);
    cuarena_heap_stats_t now = {
        .capacity_bytes = heap->capacity + heap->standalone_bytes,
        .live_bytes = counts.live_bytes,
        .requested_bytes = counts.requested_bytes,
        .free_bytes = cuai_free_bytes(heap),
        .largest_bytes = largest_of(heap, heap->freelists[0], CHEAP_LOOK),
        .live_blocks = counts.live_blocks,
        .segments = heap->segment_count + heap->standalone_blocks,
        .peak_live_bytes = counts.peak_live_bytes,
        .peak_requested_bytes = counts.peak_requested_bytes,
        .peak_live_blocks = counts.peak_live_blocks,
        .allocs = counts.allocs,
        .frees = counts.frees,
        .full_searches = heap->full_searches,
        .search_steps = heap->search_steps,
        .longest_probe = heap->table.longest_probe,
        .bookkeeping_bytes = bookkeeping(heap),
    };
    add_freelists(heap, &now);
    cuai_sized_write(stats, &now);
    return CUARENA_OK;
}

void cuarena_heap_reset_peaks(cuarena_heap_t *heap)
{
    cuai_counter_reset_peaks(&heap->counter);
}

cuarena_status_t cuarena_heap_largest(const cuarena_heap_t *heap, uint32_t freelist,
                                      uint64_t *bytes_out)
{
    if (heap == NULL || bytes_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    cuarena_status_t status = cuai_check_freelist(heap, freelist);
    if (status != CUARENA_OK)
        return status;
    *bytes_out = largest_of(heap, heap->freelists[freelist], UINT64_MAX);
    return CUARENA_OK;
}
