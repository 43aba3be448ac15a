/* The validator: recomputes every counter and link from scratch. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "heap/ranges.h"
#include "heap/segments.h"
#include "heap/slots.h"

/* What one pass finds, and where it says what is wrong. */
typedef struct audit {
    const cuarena_heap_t *heap;
    char *text;
    size_t text_size;
    bool corrupt;
    uint64_t blocks;  /* live, with bytes */
    uint64_t chained; /* in the look-up */
    uint64_t live_bytes;
    uint64_t requested_bytes;
    uint64_t separators;
    uint64_t cached;
    uint64_t cached_bytes;
    uint64_t heads;
    uint32_t segment; /* the one that was seen last */
    uint64_t capacity;
    uint64_t free_bytes[2]; /* of free list 0; of all others */
    uint64_t ranges;        /* in some index */
    uint64_t standalone_blocks;
    uint64_t standalone_bytes;
} audit_t;

/* Notes that the heap is corrupt, and keeps the first finding as text. */
CUAI_PRINTF(2, 3)
static void found(audit_t *audit, const char *format, ...)
{
    if (!audit->corrupt && audit->text != NULL && audit->text_size != 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(audit->text, audit->text_size, format, arguments);
        va_end(arguments);
    }
    audit->corrupt = true;
}

#define EXPECT(audit, condition, ...)                                                              \
    do {                                                                                           \
        if (!(condition))                                                                          \
            found(audit, __VA_ARGS__);                                                             \
    } while (0)

static void expect_equal(audit_t *audit, const char *what, uint64_t counted, uint64_t kept)
{
    EXPECT(audit, counted == kept, "%s: counted %llu, kept %llu", what, (unsigned long long)counted,
           (unsigned long long)kept);
}

/* ---- The address list -------------------------------------------------- */

/* The fast path takes a record out of its list without asking whether it is in one. */
static void audit_unlisted(audit_t *audit, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(audit->heap, slot);
    EXPECT(audit, r->up == 0 && r->down == 0 && r->list % CUAI_CLASSES == 0,
           "slot %u: links of a list (%u), but no range in an index", slot, r->list);
}

static void audit_range(audit_t *audit, cuai_slot_t slot)
{
    const cuarena_heap_t *heap = audit->heap;
    const cuai_record_t *r = cuai_record(heap, slot);
    if (r->key == 0) {
        audit_unlisted(audit, slot);
        return;
    }
    uint32_t freelist = cuai_range_freelist(r);
    EXPECT(audit, cuai_range(r) != 0, "slot %u: a range of 0 bytes", slot);
    EXPECT(audit, (cuai_range(r) & heap->granule_mask) == 0,
           "slot %u: a range of %llu bytes is no multiple of the granule", slot,
           (unsigned long long)cuai_range(r));
    if (freelist == CUAI_FREELIST_PLANNED) {
        EXPECT(audit, heap->plans != 0, "slot %u: a planned range, with no plan", slot);
        return;
    }
    EXPECT(audit, heap->freelists[freelist] != NULL, "slot %u: range of dead free list %u", slot,
           freelist);
    audit->free_bytes[freelist != 0] += cuai_range(r);
    audit->ranges++;
}

static void audit_place(audit_t *audit, cuai_slot_t slot)
{
    const cuarena_heap_t *heap = audit->heap;
    const cuai_record_t *r = cuai_record(heap, slot);
    EXPECT(audit, ((r->offset | r->size) & heap->granule_mask) == 0,
           "slot %u: offset or size is no multiple of the granule", slot);
    EXPECT(audit,
           r->align_log2 >= heap->granule_log2 &&
               (r->offset & ((UINT64_C(1) << r->align_log2) - 1)) == 0,
           "slot %u: not aligned to 2^%u", slot, r->align_log2);
    EXPECT(audit, cuai_table_find(&heap->table, heap->records, r->offset) == slot,
           "slot %u: the look-up does not find it", slot);
}

static void audit_block(audit_t *audit, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(audit->heap, slot);
    audit->blocks++;
    audit->live_bytes += r->size;
    audit->requested_bytes += cuai_requested(r);
    EXPECT(audit, r->size != 0 && cuai_requested(r) <= r->size,
           "slot %u: %llu bytes asked for, %llu taken", slot, (unsigned long long)cuai_requested(r),
           (unsigned long long)r->size);
    audit_place(audit, slot);
}

static void audit_cached(audit_t *audit, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(audit->heap, slot);
    audit->cached++;
    audit->cached_bytes += r->size;
    EXPECT(audit, r->size != 0 && r->pins == 0 && !r->fixed && !r->moving,
           "slot %u: a cached block is pinned, moves, or has no bytes", slot);
    audit_place(audit, slot);
}

static void audit_separator(audit_t *audit, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(audit->heap, slot);
    const cuai_record_t *prev = cuai_record(audit->heap, r->prev);
    audit->separators++;
    EXPECT(audit, r->size == 0 && r->key != 0, "separator %u keeps nothing apart", slot);
    EXPECT(audit, prev->key != 0 && cuai_range_freelist(prev) != cuai_range_freelist(r),
           "separator %u: the range before it is not of another free list", slot);
}

static void audit_segment_start(audit_t *audit, cuai_slot_t slot)
{
    const cuarena_heap_t *heap = audit->heap;
    const cuai_record_t *r = cuai_record(heap, slot);
    audit->heads++;
    EXPECT(audit, r->size == 0, "head %u has a size", slot);
    uint32_t n = heap->segment_count == 0 ? 0 : heap->segments[audit->segment].above;
    EXPECT(audit, n != 0 && heap->segments[n].head == slot,
           "head %u is not in the table of segments", slot);
    EXPECT(audit, n == 0 || heap->segments[n].begin == r->offset,
           "head %u is not where its segment begins", slot);
    audit->segment = n;
}

/* The record ends where the next one begins, or where its segment ends. */
static void audit_end(audit_t *audit, cuai_slot_t slot)
{
    const cuarena_heap_t *heap = audit->heap;
    const cuai_record_t *r = cuai_record(heap, slot);
    if (r->next >= heap->unused) {
        found(audit, "slot %u: next is %u, which is no record", slot, r->next);
        return;
    }
    const cuai_record_t *next = cuai_record(heap, r->next);
    uint64_t end = cuai_end(r) + cuai_range(r);
    EXPECT(audit, next->prev == slot, "slot %u: next does not point back", slot);
    bool last = next->kind == CUAI_SEGMENT_START || next->kind == CUAI_SENTINEL;
    if (!last)
        EXPECT(audit, end == next->offset, "slot %u ends at %llu, the next begins at %llu", slot,
               (unsigned long long)end, (unsigned long long)next->offset);
    else if (audit->segment != 0)
        EXPECT(audit, end == heap->segments[audit->segment].end,
               "slot %u, the last of its segment, ends at %llu", slot, (unsigned long long)end);
}

static void audit_record(audit_t *audit, cuai_slot_t slot)
{
    switch (cuai_record(audit->heap, slot)->kind) {
    case CUAI_BLOCK:
        audit_block(audit, slot);
        break;
    case CUAI_CACHED:
        audit_cached(audit, slot);
        break;
    case CUAI_SEGMENT_START:
        audit_segment_start(audit, slot);
        break;
    case CUAI_SEPARATOR:
        audit_separator(audit, slot);
        break;
    default:
        found(audit, "slot %u in the list is of kind %u", slot,
              cuai_record(audit->heap, slot)->kind);
    }
    audit_range(audit, slot);
    audit_end(audit, slot);
}

static void audit_list(audit_t *audit)
{
    const cuarena_heap_t *heap = audit->heap;
    uint64_t steps = 0;
    audit_end(audit, 0);
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0 && !audit->corrupt; slot = cuai_record(heap, slot)->next) {
        EXPECT(audit, steps++ < heap->unused, "slot %u: the list is a ring", slot);
        audit_record(audit, slot);
    }
}

/* ---- The indexes ------------------------------------------------------- */

static void audit_member(audit_t *audit, uint32_t freelist, uint32_t list, cuai_slot_t slot)
{
    const cuarena_heap_t *heap = audit->heap;
    const cuai_record_t *r = cuai_record(heap, slot);
    EXPECT(audit,
           r->key != 0 && cuai_range_freelist(r) == freelist && r->list == list &&
               cuai_list_for(heap, cuai_end(r), cuai_range(r)) == list,
           "slot %u is in the wrong list (free list %u list %u)", slot, freelist, list);
}

static void audit_members(audit_t *audit, uint32_t freelist, uint32_t list, uint64_t *ranges)
{
    const cuarena_heap_t *heap = audit->heap;
    cuai_slot_t up = 0;
    cuai_slot_t slot = heap->freelists[freelist]->heads[list];
    while (slot != 0 && !audit->corrupt) {
        if (slot >= heap->unused || ++*ranges > heap->unused) {
            found(audit, "free list %u list %u: slot %u is no record, or in a ring", freelist, list,
                  slot);
            return;
        }
        EXPECT(audit, cuai_record(heap, slot)->up == up, "slot %u: up link", slot);
        audit_member(audit, freelist, list, slot);
        up = slot;
        slot = cuai_record(heap, slot)->down;
    }
}

/* A list has a range if and only if its class has a bit. The heads of empty lists are compared at
 * once, because nearly all are empty and tests validate after every step. */
static void audit_zone(audit_t *audit, uint32_t freelist, uint32_t zone, uint64_t *ranges)
{
    static const cuai_slot_t none[CUAI_CLASSES];
    const cuai_index_t *index = audit->heap->freelists[freelist];
    cuai_slot_t heads[CUAI_CLASSES];
    memcpy(heads, &index->heads[cuai_list_of(zone, 0)], sizeof(heads));
    EXPECT(audit, cuai_index_top(index, zone) == cuai_zone_top(index, zone),
           "free list %u zone %u: the top is wrong", freelist, zone);
    uint64_t bits = index->bits[zone] & ~UINT64_C(1);
    for (; bits != 0 && !audit->corrupt; bits &= bits - 1) {
        uint32_t class = cuai_ctz(bits);
        EXPECT(audit, heads[class] != 0, "free list %u zone %u: bit %u is wrong", freelist, zone,
               class);
        audit_members(audit, freelist, cuai_list_of(zone, class), ranges);
        heads[class] = 0;
    }
    EXPECT(audit, audit->corrupt || memcmp(heads, none, sizeof(none)) == 0,
           "free list %u zone %u: a list without a bit has a range", freelist, zone);
}

static void audit_freelist(audit_t *audit, uint32_t freelist, uint64_t *free_bytes)
{
    const cuai_index_t *index = audit->heap->freelists[freelist];
    uint64_t ranges = 0;
    for (uint32_t zone = 0; zone < CUAI_ZONES && !audit->corrupt; zone++)
        audit_zone(audit, freelist, zone, &ranges);
    expect_equal(audit, "ranges of a free list", ranges, index->ranges);
    audit->ranges -= ranges;
    *free_bytes += index->free_bytes;
}

/* Whether no number of a part stands for a free list: the first does not, and each is like the one
 * below it. There are thousands, and tests validate after every step. */
static bool are_unused(cuai_index_t *const *freelists, size_t count)
{
    return count == 0 || (freelists[0] == NULL &&
                          memcmp(freelists, freelists + 1, (count - 1) * sizeof(*freelists)) == 0);
}

static void audit_freelists(audit_t *audit)
{
    const cuarena_heap_t *heap = audit->heap;
    uint64_t free_bytes[2] = {0, 0};
    uint32_t count = 0;
    uint32_t freelist = 0;
    for (; freelist < CUAI_FREELIST_PLANNED && count < heap->freelist_count; freelist++) {
        if (heap->freelists[freelist] == NULL)
            continue;
        audit_freelist(audit, freelist, &free_bytes[freelist != 0]);
        count++;
    }
    EXPECT(audit, are_unused(heap->freelists + freelist, CUAI_FREELIST_PLANNED - freelist),
           "free lists: more than %u from %u on", heap->freelist_count, freelist);
    expect_equal(audit, "free lists", count, audit->heap->freelist_count);
    expect_equal(audit, "ranges outside every index", audit->ranges, 0);
    for (int i = 0; i < 2; i++)
        expect_equal(audit, "free bytes", audit->free_bytes[i], free_bytes[i]);
}

/* ---- The slots --------------------------------------------------------- */

static void audit_standalone(audit_t *audit, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(audit->heap, slot);
    audit_block(audit, slot);
    audit->standalone_blocks++;
    audit->standalone_bytes += r->size;
    EXPECT(audit, r->key == 0 && r->list == 0, "standalone block %u has a range", slot);
}

static void audit_slots(audit_t *audit)
{
    const cuarena_heap_t *heap = audit->heap;
    uint64_t free_slots = 0;
    uint64_t empty = 0;
    for (cuai_slot_t slot = 1; slot < heap->unused; slot++) {
        uint8_t kind = cuai_record(heap, slot)->kind;
        free_slots += kind == CUAI_FREE;
        empty += kind == CUAI_EMPTY;
        if (kind == CUAI_STANDALONE)
            audit_standalone(audit, slot);
        if (kind == CUAI_FREE || kind == CUAI_EMPTY)
            audit_unlisted(audit, slot);
    }
    uint64_t listed = 0;
    cuai_slot_t slot = heap->free_slot;
    while (slot != 0 && slot < heap->unused && listed <= free_slots) {
        slot = cuai_record(heap, slot)->next;
        listed++;
    }
    EXPECT(audit, slot == 0, "free slots: %u is no record, or in a ring", slot);
    expect_equal(audit, "free slots", free_slots, listed + heap->retired);
    expect_equal(audit, "live blocks", audit->blocks + empty, cuai_heap_blocks(heap));
    expect_equal(audit, "records in use",
                 audit->blocks + audit->cached + empty + audit->heads + audit->separators +
                     free_slots + 1,
                 heap->unused);
}

/* This comes first, because the audit of a block looks it up. */
static void audit_look_up(audit_t *audit)
{
    const cuarena_heap_t *heap = audit->heap;
    for (uint64_t i = 0; i < heap->table.buckets; i++) {
        cuai_slot_t slot = heap->table.heads[i];
        while (slot != 0) {
            if (slot >= heap->unused || ++audit->chained > heap->unused) {
                found(audit, "bucket %llu: slot %u is no record, or in a ring",
                      (unsigned long long)i, slot);
                return;
            }
            slot = cuai_record(heap, slot)->chain;
        }
    }
}

static void audit_counts(audit_t *audit)
{
    const cuarena_heap_t *heap = audit->heap;
    expect_equal(audit, "blocks in the look-up", audit->chained, audit->blocks + audit->cached);
    expect_equal(audit, "cached blocks", audit->cached, heap->cached_blocks);
    expect_equal(audit, "cached bytes", audit->cached_bytes, heap->cached_bytes);
    expect_equal(audit, "segments", audit->heads, heap->segment_count);
    expect_equal(audit, "standalone blocks", audit->standalone_blocks, heap->standalone_blocks);
    expect_equal(audit, "standalone bytes", audit->standalone_bytes, heap->standalone_bytes);
    expect_equal(audit, "separators", audit->separators, heap->separators);
    expect_equal(audit, "live bytes", audit->live_bytes, cuai_heap_bytes(heap));
    expect_equal(audit, "requested bytes", audit->requested_bytes,
                 cuai_peak_counter_now(&heap->counter.requested));
    EXPECT(audit,
           heap->counter.bytes.below >= 0 && heap->counter.requested.below >= 0 &&
               heap->counter.blocks.below >= 0,
           "a peak is below what is live");
    uint64_t capacity = 0;
    for (const cuai_segment_t *s = cuai_segment_first(heap); s != NULL;
         s = cuai_segment_next(heap, s))
        capacity += s->end - s->begin;
    expect_equal(audit, "capacity", capacity, heap->capacity);
    bool calm = heap->plans == 0 && heap->capacity >> heap->granule_log2 < CUAI_SMALL_GRANULES;
    EXPECT(audit, heap->smooth == calm, "the heap is wrong about being smooth");
    EXPECT(audit, heap->simple == (calm && heap->freelist_count == 1 && audit->separators == 0),
           "the heap is wrong about being simple");
    cuarena_heap_t again = *heap;
    cuai_refresh_fast(&again);
    expect_equal(audit, "blocks that are ready", again.ready_blocks, heap->ready_blocks);
    expect_equal(audit, "blocks of the fast path", again.fast_blocks, heap->fast_blocks);
}

static void audit_cache(audit_t *audit)
{
    const cuarena_heap_t *heap = audit->heap;
    if (heap->cache == NULL) {
        expect_equal(audit, "blocks of no cache", heap->cached_blocks, 0);
        return;
    }
    const char *wrong = cuai_cache_wrong(heap->cache, heap->records, heap->cached_blocks);
    EXPECT(audit, wrong == NULL, "%s", wrong);
}

cuarena_status_t cuarena_heap_validate(const cuarena_heap_t *heap, char *text, size_t text_size)
{
    if (heap == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
    char own[200] = "";
    bool given = text != NULL && text_size != 0;
    audit_t audit = {
        .heap = heap, .text = given ? text : own, .text_size = given ? text_size : sizeof own};
    EXPECT(&audit, cuai_segments_agree(heap),
           "the table of segments is wrong about their order or gaps");
    if (!audit.corrupt)
        audit_look_up(&audit);
    if (!audit.corrupt)
        audit_list(&audit);
    if (!audit.corrupt)
        audit_freelists(&audit);
    if (!audit.corrupt)
        audit_slots(&audit);
    if (!audit.corrupt)
        audit_counts(&audit);
    if (!audit.corrupt)
        audit_cache(&audit);
    if (!audit.corrupt)
        return CUARENA_OK;
    return cuai_fail(CUARENA_CORRUPT, "the heap is damaged: %s", audit.text);
}
