/* See heap_ref.h. */
#include "heap_ref_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The array ---------------------------------------------------------- */

void ref_init(ref_t *ref, const cuarena_heap_config_t *config)
{
    *ref = (ref_t){
        .granule = config->granule,
        .split_threshold = config->split_threshold,
        .max_blocks = config->max_blocks,
    };
}

void ref_end(ref_t *ref)
{
    free(ref->entries);
    *ref = (ref_t){0};
}

void ref_reserve(ref_t *ref, size_t count)
{
    if (count <= ref->capacity)
        return;
    ref->capacity = count * 2;
    ref->entries = realloc(ref->entries, ref->capacity * sizeof(ref->entries[0]));
    if (ref->entries == NULL)
        abort();
}

ref_entry_t *ref_insert(ref_t *ref, size_t i)
{
    ref_reserve(ref, ref->count + 1);
    ref_entry_t *entry = &ref->entries[i];
    memmove(entry + 1, entry, (ref->count - i) * sizeof(*entry));
    *entry = (ref_entry_t){0};
    ref->count++;
    return entry;
}

void ref_erase(ref_t *ref, size_t i)
{
    ref_entry_t *entry = &ref->entries[i];
    ref->count--;
    memmove(entry, entry + 1, (ref->count - i) * sizeof(*entry));
}

uint64_t ref_end_of(const ref_entry_t *entry)
{
    return entry->is.offset + entry->is.size;
}

bool ref_is_block(const ref_entry_t *entry)
{
    return entry->is.kind == CUARENA_ENTRY_BLOCK;
}

bool ref_is_range_of(const ref_entry_t *entry, uint32_t freelist)
{
    return !ref_is_block(entry) && entry->is.freelist == freelist;
}

void ref_set_range(ref_entry_t *entry, uint64_t offset, uint64_t size, uint32_t freelist)
{
    entry->is = (cuarena_heap_entry_t){
        .kind = CUARENA_ENTRY_RANGE,
        .freelist = freelist,
        .offset = offset,
        .size = size,
        .moving = freelist == REF_FREELIST_PLANNED,
    };
}

/* The first entry that ends behind `offset`. */
static size_t first_behind(const ref_t *ref, uint64_t offset)
{
    size_t low = 0;
    size_t high = ref->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ref_end_of(&ref->entries[middle]) > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- Looking ------------------------------------------------------------ */

size_t ref_at(const ref_t *ref, uint64_t offset)
{
    size_t i = first_behind(ref, offset);
    bool inside = i < ref->count && ref->entries[i].is.offset <= offset;
    return inside ? i : REF_NONE;
}

size_t ref_block(const ref_t *ref, cuarena_block_t block)
{
    for (size_t i = 0; i < ref->count; i++) {
        const ref_entry_t *entry = &ref->entries[i];
        if (ref_is_block(entry) && entry->is.block == block)
            return i;
    }
    return REF_NONE;
}

size_t ref_next_block(const ref_t *ref, size_t from)
{
    for (size_t n = 0; n < ref->count; n++) {
        size_t i = (from + n) % ref->count;
        if (ref_is_block(&ref->entries[i]))
            return i;
    }
    return REF_NONE;
}

size_t ref_segment_begin(const ref_t *ref, size_t i)
{
    while (!ref->entries[i].opens)
        i--;
    return i;
}

size_t ref_segment_end(const ref_t *ref, size_t i)
{
    do
        i++;
    while (i < ref->count && !ref->entries[i].opens);
    return i;
}

uint64_t ref_round(const ref_t *ref, uint64_t size)
{
    uint64_t mask = ref->granule - 1;
    return size > UINT64_MAX - mask ? UINT64_MAX : (size + mask) & ~mask;
}

uint64_t ref_free_bytes(const ref_t *ref, uint32_t freelist)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < ref->count; i++) {
        if (ref_is_range_of(&ref->entries[i], freelist))
            bytes += ref->entries[i].is.size;
    }
    return bytes;
}

uint64_t ref_largest(const ref_t *ref, uint32_t freelist)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < ref->count; i++) {
        const ref_entry_t *entry = &ref->entries[i];
        if (ref_is_range_of(entry, freelist) && entry->is.size > bytes)
            bytes = entry->is.size;
    }
    return bytes;
}

/* A record for each block, segment and meeting, and one in reserve for each block, of two per block
 * that may live and a few. */
#define FEW_RECORDS 64u
#define RESERVED_RECORDS 8u

bool ref_is_crowded(const ref_t *ref)
{
    uint64_t records = 2 * ref->live_blocks + RESERVED_RECORDS;
    for (size_t i = 0; i < ref->count; i++) {
        const ref_entry_t *entry = &ref->entries[i];
        bool meets = i > 0 && !ref_is_block(entry) && !ref_is_block(entry - 1);
        records += entry->opens || meets ? 1 : 0;
    }
    return records > 2 * ref->max_blocks + FEW_RECORDS;
}

bool ref_fits(uint64_t offset, uint64_t length, uint64_t size, uint64_t alignment)
{
    uint64_t pad = alignment != 0 ? -offset & (alignment - 1) : 0;
    return pad <= length && size <= length - pad;
}

/* ---- Neighbours --------------------------------------------------------- */

static bool may_merge(const ref_entry_t *left, const ref_entry_t *right)
{
    return !ref_is_block(left) && !ref_is_block(right) && !right->opens &&
           left->is.freelist == right->is.freelist;
}

void ref_merge_with_next(ref_t *ref, size_t i)
{
    if (i + 1 < ref->count && may_merge(&ref->entries[i], &ref->entries[i + 1])) {
        ref->entries[i].is.size += ref->entries[i + 1].is.size;
        ref_erase(ref, i + 1);
    }
}

static void merge_around(ref_t *ref, size_t i)
{
    ref_merge_with_next(ref, i);
    if (i > 0)
        ref_merge_with_next(ref, i - 1);
}

/* Cuts entry `i` in two at `offset`; gives the entry that begins there. */
static size_t split_at(ref_t *ref, size_t i, uint64_t offset)
{
    uint64_t keep = offset - ref->entries[i].is.offset;
    if (keep == 0)
        return i;
    if (keep == ref->entries[i].is.size)
        return i + 1;
    ref_entry_t *right = ref_insert(ref, i + 1);
    *right = ref->entries[i];
    right->opens = false;
    right->is.offset = offset;
    right->is.size -= keep;
    ref->entries[i].is.size = keep;
    return i + 1;
}

/* ---- Segments ----------------------------------------------------------- */

static bool is_whole(const ref_t *ref, uint64_t bytes)
{
    return (bytes & (ref->granule - 1)) == 0;
}

/* Whether nothing has a byte of [offset, offset + size). */
static bool is_nobodys(const ref_t *ref, uint64_t offset, uint64_t size)
{
    size_t i = first_behind(ref, offset);
    return i == ref->count || ref->entries[i].is.offset >= offset + size;
}

static bool is_place(const ref_t *ref, uint64_t offset, uint64_t size)
{
    return is_whole(ref, offset) && is_whole(ref, size) && size != 0 &&
           offset < CUARENA_HEAP_MAX_OFFSET && size <= CUARENA_HEAP_MAX_OFFSET - offset;
}

cuarena_status_t ref_can_add(const ref_t *ref, uint64_t offset, uint64_t size)
{
    bool legal = is_place(ref, offset, size) && size < CUARENA_HEAP_MAX_SEGMENT &&
                 is_nobodys(ref, offset, size);
    return legal ? CUARENA_OK : CUARENA_BAD_ARGUMENT;
}

void ref_do_add(ref_t *ref, uint64_t offset, uint64_t size)
{
    ref_entry_t *entry = ref_insert(ref, first_behind(ref, offset));
    ref_set_range(entry, offset, size, 0);
    entry->opens = true;
    ref->changes++;
}

static uint64_t segment_size(const ref_t *ref, size_t i)
{
    size_t last = ref_segment_end(ref, i) - 1;
    size_t first = ref_segment_begin(ref, i);
    return ref_end_of(&ref->entries[last]) - ref->entries[first].is.offset;
}

/* The entry with which the segment that begins at `offset` begins. */
static size_t segment_at(const ref_t *ref, uint64_t offset)
{
    size_t i = ref_at(ref, offset);
    bool begins = i != REF_NONE && ref->entries[i].opens && ref->entries[i].is.offset == offset;
    return begins ? i : REF_NONE;
}

cuarena_status_t ref_can_extend(const ref_t *ref, uint64_t offset, uint64_t bytes)
{
    size_t i = segment_at(ref, offset);
    if (i == REF_NONE || bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_BAD_ARGUMENT;
    uint64_t size = segment_size(ref, i);
    bool legal = is_place(ref, offset + size, bytes) && size + bytes < CUARENA_HEAP_MAX_SEGMENT &&
                 is_nobodys(ref, offset + size, bytes);
    return legal ? CUARENA_OK : CUARENA_BAD_ARGUMENT;
}

void ref_do_extend(ref_t *ref, uint64_t offset, uint64_t bytes)
{
    size_t end = ref_segment_end(ref, ref_at(ref, offset));
    uint64_t at = ref_end_of(&ref->entries[end - 1]);
    ref_set_range(ref_insert(ref, end), at, bytes, 0);
    merge_around(ref, end);
    ref->changes++;
}

cuarena_status_t ref_can_cut(const ref_t *ref, uint64_t offset, uint64_t bytes)
{
    if (!is_place(ref, offset, bytes) || bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_BAD_ARGUMENT;
    size_t i = ref_at(ref, offset);
    if (i == REF_NONE)
        return CUARENA_BAD_ARGUMENT;
    size_t last = ref_segment_end(ref, i) - 1;
    uint64_t left = ref_end_of(&ref->entries[last]) - offset;
    if (bytes > left)
        return CUARENA_BAD_ARGUMENT;
    const ref_entry_t *entry = &ref->entries[i];
    bool free = ref_is_range_of(entry, 0) && ref_end_of(entry) - offset >= bytes;
    return free ? CUARENA_OK : CUARENA_BUSY;
}

void ref_do_cut(ref_t *ref, uint64_t offset, uint64_t bytes)
{
    size_t i = split_at(ref, ref_at(ref, offset), offset);
    size_t next = split_at(ref, i, offset + bytes);
    if (next < ref->count)
        ref->entries[next].opens = true;
    ref_erase(ref, i);
    ref->changes++;
}

cuarena_status_t ref_can_join(const ref_t *ref, uint64_t offset)
{
    size_t i = segment_at(ref, offset);
    if (i == REF_NONE || i == 0 || ref_end_of(&ref->entries[i - 1]) != offset)
        return CUARENA_BAD_ARGUMENT;
    uint64_t size = segment_size(ref, i - 1) + segment_size(ref, i);
    return size < CUARENA_HEAP_MAX_SEGMENT ? CUARENA_OK : CUARENA_BAD_ARGUMENT;
}

void ref_do_join(ref_t *ref, uint64_t offset)
{
    size_t i = segment_at(ref, offset);
    ref->entries[i].opens = false;
    ref_merge_with_next(ref, i - 1);
    ref->changes++;
}

/* ---- Counting ----------------------------------------------------------- */

static void raise(uint64_t *peak, uint64_t value)
{
    *peak = value > *peak ? value : *peak;
}

static void count_peaks(ref_t *ref)
{
    raise(&ref->peak_live_blocks, ref->live_blocks);
    raise(&ref->peak_live_bytes, ref->live_bytes);
    raise(&ref->peak_requested_bytes, ref->requested_bytes);
}

static void count_born(ref_t *ref, const cuarena_heap_entry_t *entry)
{
    ref->allocs++;
    ref->live_blocks++;
    ref->live_bytes += entry->size;
    ref->requested_bytes += entry->requested;
    ref->changes++;
    count_peaks(ref);
}

void ref_reset_peaks(ref_t *ref)
{
    ref->peak_live_blocks = ref->live_blocks;
    ref->peak_live_bytes = ref->live_bytes;
    ref->peak_requested_bytes = ref->requested_bytes;
}

/* ---- Blocks ------------------------------------------------------------- */

static bool is_alignment(uint64_t alignment)
{
    return (alignment & (alignment - 1)) == 0 && alignment < CUARENA_HEAP_MAX_SEGMENT;
}

bool ref_any_fits(const ref_t *ref, uint32_t freelist, uint64_t size, uint64_t alignment)
{
    for (size_t i = 0; i < ref->count; i++) {
        const ref_entry_t *entry = &ref->entries[i];
        if (ref_is_range_of(entry, freelist) &&
            ref_fits(entry->is.offset, entry->is.size, size, alignment))
            return true;
    }
    return false;
}

cuarena_status_t ref_can_alloc(const ref_t *ref, const cuarena_heap_request_t *request)
{
    uint64_t size = ref_round(ref, request->size);
    if (request->size == 0 || !is_alignment(request->alignment))
        return CUARENA_BAD_ARGUMENT;
    if (size >= CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_OUT_OF_MEMORY;
    if (ref->live_blocks == ref->max_blocks)
        return CUARENA_LIMIT;
    if (ref_any_fits(ref, request->freelist, size, request->alignment))
        return CUARENA_OK;
    return ref_free_bytes(ref, request->freelist) < size ? CUARENA_OUT_OF_MEMORY
                                                         : CUARENA_FRAGMENTED;
}

/* How many bytes a request of `size` must take of `available`. */
static uint64_t taken_of(const ref_t *ref, uint64_t size, uint64_t available)
{
    uint64_t rest = available - size;
    bool split = ref->split_threshold == 0 || (ref->split_threshold != UINT64_MAX &&
                                               (rest >= ref->split_threshold || rest >= size));
    return split ? size : available;
}

/* With an alignment the place in the range is the heap's to choose. */
static const char *check_taken(const ref_t *ref, const cuarena_heap_request_t *request,
                               const ref_entry_t *range, const cuarena_heap_entry_t *entry)
{
    uint64_t size = ref_round(ref, request->size);
    uint64_t back = ref_end_of(range) - entry->offset;
    if (request->alignment > ref->granule)
        return entry->size == size || entry->size == taken_of(ref, size, back)
                   ? NULL
                   : "an aligned block takes neither its size nor the rest";
    return entry->size == taken_of(ref, size, range->is.size)
               ? NULL
               : "a block takes more or less than the split rule says";
}

static const char *check_members(const ref_t *ref, const cuarena_heap_request_t *request,
                                 const cuarena_heap_entry_t *entry)
{
    uint64_t alignment = request->alignment > ref->granule ? request->alignment : ref->granule;
    if (entry->kind != CUARENA_ENTRY_BLOCK || entry->freelist != 0)
        return "a block of another kind or free list";
    if (entry->requested != request->size || entry->tag != request->tag ||
        entry->pins != request->pins || entry->flags != request->flags || entry->moving != 0)
        return "a block that is not what the request says";
    if (entry->alignment != alignment || entry->offset % alignment != 0)
        return "a block that is not aligned as asked";
    return NULL;
}

/* Entry `i`, a range, has a block in it. */
static void place(ref_t *ref, size_t i, const cuarena_heap_entry_t *entry)
{
    i = split_at(ref, i, entry->offset);
    split_at(ref, i, entry->offset + entry->size);
    ref->entries[i].is = *entry;
}

const char *ref_do_alloc(ref_t *ref, const cuarena_heap_request_t *request,
                         const cuarena_heap_entry_t *entry)
{
    const char *reason = check_members(ref, request, entry);
    size_t i = ref_at(ref, entry->offset);
    if (reason != NULL)
        return reason;
    if (i == REF_NONE || !ref_is_range_of(&ref->entries[i], request->freelist))
        return "a block where no range of its free list is";
    if (entry->size > ref_end_of(&ref->entries[i]) - entry->offset)
        return "a block that reaches beyond its range";
    reason = check_taken(ref, request, &ref->entries[i], entry);
    if (reason != NULL)
        return reason;
    place(ref, i, entry);
    count_born(ref, entry);
    return NULL;
}

void ref_do_add_block(ref_t *ref, const cuarena_heap_entry_t *entry)
{
    ref_do_add(ref, entry->offset, entry->size);
    place(ref, ref_at(ref, entry->offset), entry);
    count_born(ref, entry);
}

void ref_do_free(ref_t *ref, size_t i, uint32_t freelist)
{
    ref_entry_t *entry = &ref->entries[i];
    ref->frees++;
    ref->live_blocks--;
    ref->live_bytes -= entry->is.size;
    ref->requested_bytes -= entry->is.requested;
    ref_set_range(entry, entry->is.offset, entry->is.size, freelist);
    merge_around(ref, i);
    ref->changes++;
}

/* Bytes that a block can have where it stands. */
static uint64_t reach(const ref_t *ref, size_t i, uint32_t freelist)
{
    uint64_t bytes = ref->entries[i].is.size;
    if (i + 1 < ref->count && !ref->entries[i + 1].opens &&
        ref_is_range_of(&ref->entries[i + 1], freelist))
        bytes += ref->entries[i + 1].is.size;
    return bytes;
}

cuarena_status_t ref_can_resize(const ref_t *ref, size_t i, uint64_t size, uint32_t freelist)
{
    if (ref->entries[i].is.moving)
        return CUARENA_BUSY;
    if (size == 0)
        return CUARENA_BAD_ARGUMENT;
    if (ref_round(ref, size) >= CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_OUT_OF_MEMORY;
    bool fits = ref_round(ref, size) <= reach(ref, i, freelist);
    return fits ? CUARENA_OK : CUARENA_FRAGMENTED;
}

static void take_next(ref_t *ref, size_t i, uint64_t more)
{
    ref->entries[i].is.size += more;
    ref->entries[i + 1].is.offset += more;
    ref->entries[i + 1].is.size -= more;
    if (ref->entries[i + 1].is.size == 0)
        ref_erase(ref, i + 1);
}

static void give_rest(ref_t *ref, size_t i, uint64_t less, uint32_t freelist)
{
    ref_entry_t *rest = ref_insert(ref, i + 1);
    ref_entry_t *entry = &ref->entries[i];
    entry->is.size -= less;
    ref_set_range(rest, ref_end_of(entry), less, freelist);
    ref_merge_with_next(ref, i + 1);
}

const char *ref_do_resize(ref_t *ref, size_t i, uint64_t requested, uint64_t taken,
                          uint32_t freelist)
{
    uint64_t before = ref->entries[i].is.size;
    uint64_t size = ref_round(ref, requested);
    uint64_t most = reach(ref, i, freelist);
    if (taken % ref->granule != 0 || taken < size || taken > most)
        return "a resized block takes too little or too much";
    if (taken != size && taken != taken_of(ref, size, most))
        return "a resized block is not split by the rule";
    ref->live_bytes += taken - before;
    ref->requested_bytes += requested - ref->entries[i].is.requested;
    ref->entries[i].is.requested = requested;
    if (taken > before)
        take_next(ref, i, taken - before);
    else if (taken < before)
        give_rest(ref, i, before - taken, freelist);
    ref->changes++;
    count_peaks(ref);
    return NULL;
}

/* What stays with the id; the rest stays with the place. */
static void give_name(cuarena_heap_entry_t *to, const cuarena_heap_entry_t *from)
{
    to->block = from->block;
    to->tag = from->tag;
    to->pins = from->pins;
    to->flags = from->flags;
}

void ref_do_exchange(ref_t *ref, size_t a, size_t b)
{
    cuarena_heap_entry_t was = ref->entries[a].is;
    give_name(&ref->entries[a].is, &ref->entries[b].is);
    give_name(&ref->entries[b].is, &was);
    ref->changes++;
}

/* ---- Free lists -------------------------------------------------------------- */

/* Every range of the free list goes to another. */
void ref_refile(ref_t *ref, uint32_t from, uint32_t to)
{
    size_t i = 0;
    while (i < ref->count) {
        ref_entry_t *entry = &ref->entries[i];
        size_t count = ref->count;
        if (ref_is_range_of(entry, from)) {
            ref_set_range(entry, entry->is.offset, entry->is.size, to);
            merge_around(ref, i);
        }
        i += ref->count == count ? 1 : 0;
    }
}

void ref_do_reclaim(ref_t *ref, uint32_t freelist)
{
    ref_refile(ref, freelist, 0);
    ref->changes++;
}

/* ---- The whole ---------------------------------------------------------- */

typedef struct comparison {
    const ref_t *ref;
    size_t i;        /* the next entry to be seen */
    uint64_t behind; /* where the last one seen ended */
    char *text;
    size_t text_size;
} comparison_t;

static void describe(const cuarena_heap_entry_t *e, char *text, size_t size)
{
    snprintf(text, size,
             "kind %d free list %u offset %#" PRIx64 " size %#" PRIx64 " block %#" PRIx64
             " requested %#" PRIx64 " alignment %#" PRIx64 " tag %u pins %u flags %u moving %u",
             e->kind, e->freelist, e->offset, e->size, e->block, e->requested, e->alignment, e->tag,
             e->pins, e->flags, e->moving);
}

static bool is_same(const cuarena_heap_entry_t *a, const cuarena_heap_entry_t *b)
{
    return a->kind == b->kind && a->freelist == b->freelist && a->offset == b->offset &&
           a->size == b->size && a->block == b->block && a->requested == b->requested &&
           a->alignment == b->alignment && a->tag == b->tag && a->pins == b->pins &&
           a->flags == b->flags && a->moving == b->moving;
}

static const char *differ(comparison_t *c, const cuarena_heap_entry_t *want,
                          const cuarena_heap_entry_t *got)
{
    char wanted[256];
    char came[256];
    describe(want, wanted, sizeof(wanted));
    describe(got, came, sizeof(came));
    snprintf(c->text, c->text_size, "entry %zu: expected %s, got %s", c->i, wanted, came);
    return c->text;
}

/* What comes after what was seen: a gap, or an entry. */
static cuarena_heap_entry_t wanted_entry(comparison_t *c)
{
    const cuarena_heap_entry_t *is = &c->ref->entries[c->i].is;
    if (c->i == 0 || is->offset == c->behind) {
        c->i++;
        c->behind = is->offset + is->size;
        return *is;
    }
    cuarena_heap_entry_t gap = {
        .kind = CUARENA_ENTRY_GAP,
        .offset = c->behind,
        .size = is->offset - c->behind,
    };
    c->behind = is->offset;
    return gap;
}

static const char *compare_entry(comparison_t *c, const cuarena_heap_entry_t *got)
{
    if (c->i == c->ref->count)
        return "the walk has more entries than there are";
    cuarena_heap_entry_t want = wanted_entry(c);
    return is_same(&want, got) ? NULL : differ(c, &want, got);
}

static const char *compare_walk(comparison_t *c, const cuarena_heap_t *heap)
{
    cuarena_heap_entry_t entries[64];
    uint64_t cursor = 0;
    size_t count = 0;
    const char *reason = NULL;
    do {
        if (cuarena_heap_walk(heap, &cursor, entries, 64, &count) != CUARENA_OK)
            return "the walk failed";
        for (size_t i = 0; i < count && reason == NULL; i++)
            reason = compare_entry(c, &entries[i]);
    } while (count == 64 && reason == NULL);
    if (reason == NULL && c->i != c->ref->count)
        reason = "the walk has fewer entries than there are";
    return reason;
}

typedef struct recount {
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    uint64_t ranges;
    uint64_t segments;
} recount_t;

static recount_t count_again(const ref_t *ref)
{
    recount_t sum = {0};
    for (size_t i = 0; i < ref->count; i++) {
        const ref_entry_t *entry = &ref->entries[i];
        sum.capacity_bytes += entry->is.size;
        sum.segments += entry->opens ? 1 : 0;
        if (!ref_is_block(entry)) {
            sum.free_bytes += entry->is.size;
            sum.ranges += entry->is.moving ? 0 : 1;
        }
    }
    return sum;
}

static const char *compare_sums(const ref_t *ref, const cuarena_heap_stats_t *stats)
{
    recount_t sum = count_again(ref);
    if (stats->capacity_bytes != sum.capacity_bytes)
        return "stats: capacity_bytes";
    if (stats->free_bytes != sum.free_bytes)
        return "stats: free_bytes";
    if (stats->ranges != sum.ranges)
        return "stats: ranges";
    if (stats->segments != sum.segments)
        return "stats: segments";
    uint64_t largest = ref_largest(ref, 0);
    if (stats->largest_bytes > largest ||
        largest - stats->largest_bytes > stats->largest_bytes / 32)
        return "stats: largest_bytes";
    return NULL;
}

static const char *compare_counts(const ref_t *ref, const cuarena_heap_stats_t *stats)
{
    if (stats->live_blocks != ref->live_blocks || stats->live_bytes != ref->live_bytes ||
        stats->requested_bytes != ref->requested_bytes)
        return "stats: live";
    if (stats->peak_live_blocks != ref->peak_live_blocks ||
        stats->peak_live_bytes != ref->peak_live_bytes ||
        stats->peak_requested_bytes != ref->peak_requested_bytes)
        return "stats: peaks";
    if (stats->allocs != ref->allocs || stats->frees != ref->frees)
        return "stats: allocs or frees";
    return NULL;
}

static const char *compare_stats(const ref_t *ref, const cuarena_heap_t *heap)
{
    cuarena_heap_stats_t stats;
    cuarena_heap_stats_init(&stats);
    if (cuarena_heap_stats(heap, &stats) != CUARENA_OK)
        return "stats failed";
    const char *reason = compare_sums(ref, &stats);
    return reason != NULL ? reason : compare_counts(ref, &stats);
}

const char *ref_compare(const ref_t *ref, const cuarena_heap_t *heap, char *text, size_t text_size)
{
    comparison_t c = {.ref = ref, .text = text, .text_size = text_size};
    if (cuarena_heap_validate(heap, text, text_size) != CUARENA_OK)
        return text;
    const char *reason = compare_walk(&c, heap);
    return reason != NULL ? reason : compare_stats(ref, heap);
}
