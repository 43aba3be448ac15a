/*
 * Trimming: whole pages of free ranges go back to the memory, from the highest address down. The
 * ranges are idle or, where streams' free lists are known to be idle, in these.
 *
 * The bytes leave the heap under the lock, so nobody is handed them; then the memory takes them
 * without it. Meanwhile the arena counts as growing: the segments are this thread's.
 */
#include "arena/trim.h"
#include "arena/counts.h"
#include "arena/reclaim.h"
#include "arena/remap.h"
#include "arena/segments.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "heap/segments.h"

/* The set of free lists whose ranges may go. */
typedef struct freelists {
    uint64_t bits[CUARENA_HEAP_MAX_FREELISTS / 64];
} freelists_t;

static void add_freelist(freelists_t *freelists, uint32_t freelist)
{
    freelists->bits[freelist / 64] |= UINT64_C(1) << freelist % 64;
}

/* ---- Which bytes ------------------------------------------------------- */

static uint64_t min_pages(const cuarena_t *arena, uint64_t bytes, uint64_t most)
{
    uint64_t wanted = bytes;
    if (most < bytes)
        wanted = cuai_page_multiple(arena, most);
    return cuai_min(bytes, wanted);
}

/* Where the usable bytes of a pool's segment end, which may be within its last page. */
static uint64_t pool_end(const cuarena_t *arena, const cuarena_memory_segment_t *segment)
{
    return cuai_is_pool(arena) ? segment->address + arena->pool_bytes : UINT64_MAX;
}

/* Makes a range of addresses one that can go: of whole handles. The end of the segment is whole. */
static void whole_pages(const cuarena_t *arena, const cuarena_memory_segment_t *s, bool to_end,
                        uint64_t *first, uint64_t *last)
{
    uint64_t granularity = cuai_page_bytes(arena);
    uint64_t begin = cuai_align_up(*first - s->address, granularity);
    uint64_t end = *last - s->address;
    if (!to_end)
        end = cuai_align_down(end, granularity);
    if (arena->memory.whole_handles != NULL && begin < end)
        arena->memory.whole_handles(s, &begin, &end);
    *first = s->address + begin;
    *last = s->address + end;
}

/* Where the handle around an address begins; one begins at `first`. */
static uint64_t lower_edge(const cuarena_t *arena, const cuarena_memory_segment_t *s,
                           uint64_t first, uint64_t address)
{
    CUAI_ASSERT(first <= address);
    whole_pages(arena, s, false, &first, &address);
    return address;
}

/* Chooses what can go of [begin, end), a free range; at most about `most` bytes. The odd end of a
 * pool goes with the page that it is in. */
static bool choose_cut(const cuarena_t *arena, uint64_t begin, uint64_t end, uint64_t most,
                       cuai_cut_t *cut)
{
    CUAI_ASSERT(begin < end);
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    size_t at = cuai_segment_around(arena->heaps[CUAI_DYNAMIC], begin)->source;
    const cuarena_memory_segment_t *s = &arena->segments.items[at];
    uint64_t taken_end = s->address + s->bytes;
    bool to_end = end == cuai_min(taken_end, pool_end(arena, s));
    uint64_t first = begin;
    uint64_t last = to_end ? taken_end : end;
    whole_pages(arena, s, to_end, &first, &last);
    cut->segment = at;
    if (begin == s->address && to_end && ops->shrink == NULL) {
        *cut = (cuai_cut_t){CUAI_CUT_WHOLE, at, begin, s->bytes};
        return true;
    }
    if (first >= last || (to_end ? ops->shrink == NULL : ops->punch == NULL))
        return false;
    cut->kind = to_end ? CUAI_CUT_SHRINK : CUAI_CUT_PUNCH;
    cut->address = last - min_pages(arena, last - first, most);
    cut->address = lower_edge(arena, s, first, cut->address);
    cut->bytes = last - cut->address;
    if (to_end && cut->address == s->address)
        cut->kind = CUAI_CUT_WHOLE; /* no segment is left with 0 bytes */
    return cut->bytes != 0;
}

/* Takes the cut out of the heap, where it ends at `end` at the latest. */
static bool cut_heap(cuarena_t *arena, cuai_slot_t slot, const cuai_cut_t *cut, uint64_t end)
{
    CUAI_ASSERT(cut->address < end);
    uint64_t stop = cuai_min(cut->address + cut->bytes, end);
    return cuai_segment_cut_range(arena->heaps[CUAI_DYNAMIC], slot, cut->address,
                                  stop - cut->address) == CUARENA_OK;
}

static bool may_go(const cuai_record_t *r, const freelists_t *freelists)
{
    uint32_t freelist = cuai_range_freelist(r);
    return r->key != 0 && (freelists->bits[freelist / 64] >> freelist % 64 & 1) != 0;
}

/* Cuts what may go of [begin, end), which is within a record's range, at most about `most` bytes;
 * returns how many. */
static uint64_t take_part(cuarena_t *arena, cuai_cuts_t *cuts, cuai_slot_t slot, uint64_t begin,
                          uint64_t end, uint64_t most)
{
    cuai_cut_t *cut = &cuts->items[cuts->count];
    if (begin >= end || !choose_cut(arena, begin, end, most, cut) ||
        !cut_heap(arena, slot, cut, end))
        return 0;
    cuts->count++;
    return cut->bytes;
}

/* Cuts what may go of a record's range. */
static uint64_t take(cuarena_t *arena, cuai_cuts_t *cuts, cuai_slot_t slot, uint64_t most)
{
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    return take_part(arena, cuts, slot, cuai_end(r), cuai_end(r) + cuai_range(r), most);
}

uint64_t cuai_cuts_take(cuarena_t *arena, cuai_cuts_t *cuts, cuai_slot_t slot, uint64_t most)
{
    CUAI_ASSERT(arena->growing && cuts->count < CUAI_CUTS_PER_BATCH);
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    bool idle = r->key != 0 && cuai_range_freelist(r) == 0;
    return idle ? take(arena, cuts, slot, most) : 0;
}

/* Collects cuts from the top of the heap down, until `most` bytes are cut. */
static void collect(cuarena_t *arena, const freelists_t *freelists, cuai_cuts_t *cuts,
                    uint64_t most)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuai_slot_t slot = cuai_record(heap, 0)->prev;
    while (slot != 0 && cuts->count < CUAI_CUTS_PER_BATCH && most != 0) {
        const cuai_record_t *r = cuai_record(heap, slot);
        cuai_slot_t below = r->prev;
        if (may_go(r, freelists))
            most -= cuai_min(most, take(arena, cuts, slot, most));
        slot = below;
    }
}

/* ---- Giving back ------------------------------------------------------- */

static void execute(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                    const cuai_cut_t *cut)
{
    if (cut->kind == CUAI_CUT_SHRINK)
        cuai_mem_shrink(arena, segment, cut->address - segment->address);
    else if (cut->kind == CUAI_CUT_PUNCH)
        cuai_mem_punch(arena, segment, cut->address, cut->bytes);
    else
        cuai_mem_give_back(arena, segment);
}

/* Takes segments that were given back whole out of the list: the last ones get their places. */
static void drop_given_back(cuarena_t *arena, const cuai_cut_t *cuts, size_t count)
{
    cuai_segments_t *list = &arena->segments;
    cuarena_memory_segment_t *items = list->items;
    for (size_t i = 0; i < count; i++)
        if (cuts[i].kind == CUAI_CUT_WHOLE)
            items[cuts[i].segment].address_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        while (list->count != 0 && items[list->count - 1].address_bytes == 0)
            list->count--;
        size_t at = cuts[i].segment;
        if (cuts[i].kind == CUAI_CUT_WHOLE && at < list->count) {
            items[at] = items[--list->count];
            cuai_segments_number(arena, at);
        }
    }
}

uint64_t cuai_cuts_give(cuarena_t *arena, cuai_cuts_t *cuts)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->growing && cuts->count <= CUAI_CUTS_PER_BATCH);
    uint64_t bytes = 0;
    for (size_t i = 0; i < cuts->count; i++) {
        const cuai_cut_t *cut = &cuts->items[i];
        cuarena_memory_segment_t copy = arena->segments.items[cut->segment];
        cuai_unlock(&arena->lock);
        execute(arena, &copy, cut);
        cuai_arena_lock(arena);
        arena->segments.items[cut->segment] = copy;
        arena->reserved -= cut->bytes;
        cuai_count_shrinkage(arena);
        bytes += cut->bytes;
    }
    drop_given_back(arena, cuts->items, cuts->count);
    cuts->count = 0;
    return bytes;
}

void cuai_cuts_begin(cuarena_t *arena, cuai_cuts_t *cuts)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(!cuai_arena_is_taken(arena));
    cuts->count = 0;
    arena->growing = true;
}

void cuai_cuts_end(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->growing);
    arena->growing = false;
    cuai_cond_wake(&arena->changed);
}

static void begin(cuarena_t *arena, cuai_cuts_t *cuts)
{
    while (cuai_arena_is_taken(arena))
        cuai_arena_wait(arena);
    cuai_cuts_begin(arena, cuts);
    cuai_aliases_end(arena, true);
}

static void end(cuarena_t *arena, uint64_t given)
{
    cuai_cuts_end(arena);
    if (given != 0)
        arena->trims++;
}

static uint64_t trim(cuarena_t *arena, const freelists_t *freelists, cuai_cuts_t *cuts,
                     uint64_t keep_bytes)
{
    uint64_t given = 0;
    size_t count;
    do {
        uint64_t most = arena->reserved > keep_bytes ? arena->reserved - keep_bytes : 0;
        collect(arena, freelists, cuts, most);
        count = cuts->count;
        given += cuai_cuts_give(arena, cuts);
    } while (count == CUAI_CUTS_PER_BATCH);
    return given;
}

/* Cuts of an idle range what is not in [begin, end). */
static uint64_t take_beside(cuarena_t *arena, cuai_cuts_t *cuts, cuai_slot_t slot, uint64_t begin,
                            uint64_t end, uint64_t most)
{
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    uint64_t low = cuai_end(r);
    uint64_t high = low + cuai_range(r);
    CUAI_ASSERT(r->key != 0 && cuai_range_freelist(r) == 0);
    if (begin >= high || end <= low)
        return take_part(arena, cuts, slot, low, high, most);
    uint64_t bytes = take_part(arena, cuts, slot, cuai_max(low, end), high, most);
    return bytes != 0 ? bytes : take_part(arena, cuts, slot, low, begin, most);
}

/* Cuts ranges of at least `least` bytes, until about `bytes` are cut. */
static uint64_t cut_beside(cuarena_t *arena, cuai_cuts_t *cuts, uint64_t least, uint64_t bytes,
                           uint64_t begin, uint64_t end)
{
    cuai_slot_t slots[CUAI_CUTS_PER_BATCH];
    size_t count = cuai_heap_large_ranges(arena->heaps[CUAI_DYNAMIC], 0, least, slots,
                                          CUAI_CUTS_PER_BATCH - cuts->count);
    uint64_t cut = 0;
    for (size_t i = 0; i < count && cut < bytes; i++)
        cut += take_beside(arena, cuts, slots[i], begin, end, bytes - cut);
    return cut;
}

uint64_t cuai_trim_beside(cuarena_t *arena, uint64_t bytes, uint64_t begin, uint64_t end)
{
    cuai_assert_locked(arena);
    uint64_t page = cuai_page_bytes(arena);
    uint64_t sure = 2 * cuai_handle_now(arena); /* has a whole handle */
    cuai_cuts_t cuts;
    cuai_cuts_begin(arena, &cuts);
    uint64_t cut = cut_beside(arena, &cuts, sure, bytes, begin, end);
    if (cut < bytes)
        (void)cut_beside(arena, &cuts, page, bytes - cut, begin, end);
    uint64_t given = cuai_cuts_give(arena, &cuts);
    cuai_cuts_end(arena);
    arena->trims += given != 0;
    return given;
}

/* Chooses what is wanted of [begin, end), a part of a free range. */
static bool choose_row(const cuarena_t *arena, const cuai_cut_request_t *wanted, uint64_t begin,
                       uint64_t end, cuai_cut_t *cut)
{
    if (begin >= end || !choose_cut(arena, begin, end, wanted->bytes, cut))
        return false;
    if (cut->bytes > wanted->most && !choose_cut(arena, begin, end, 1, cut))
        return false;
    return cut->kind == CUAI_CUT_PUNCH && cut->bytes <= wanted->most;
}

/* Cuts what is wanted of a record's range: above what is kept, or below. */
static bool cut_row(cuarena_t *arena, const cuai_cut_request_t *wanted, cuai_slot_t slot,
                    cuai_cut_t *cut)
{
    const cuai_record_t *r = cuai_record(arena->heaps[CUAI_DYNAMIC], slot);
    uint64_t low = cuai_end(r);
    uint64_t high = low + cuai_range(r);
    bool apart = wanted->kept_begin >= high || wanted->kept_end <= low;
    bool found = choose_row(arena, wanted, apart ? low : wanted->kept_end, high, cut) ||
                 (!apart && choose_row(arena, wanted, low, wanted->kept_begin, cut));
    return found && cut_heap(arena, slot, cut, high);
}

static uint64_t range_of(const cuarena_t *arena, cuai_slot_t slot)
{
    return cuai_range(cuai_record(arena->heaps[CUAI_DYNAMIC], slot));
}

/* Out of the least range that has all, so that large ones stay whole; else the largest first. */
bool cuai_cut_handles(cuarena_t *arena, const cuai_cut_request_t *wanted, cuai_cut_t *cut_out)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(wanted->bytes != 0 && wanted->bytes <= wanted->most);
    cuai_slot_t slots[CUAI_CUTS_PER_BATCH];
    size_t count = cuai_heap_large_ranges(arena->heaps[CUAI_DYNAMIC], wanted->freelist,
                                          cuai_page_bytes(arena), slots, CUAI_CUTS_PER_BATCH);
    bool cut = false;
    for (size_t i = count; i-- > 0 && !cut;)
        cut =
            range_of(arena, slots[i]) >= wanted->bytes && cut_row(arena, wanted, slots[i], cut_out);
    for (size_t i = 0; i < count && !cut; i++)
        cut = cut_row(arena, wanted, slots[i], cut_out);
    return cut;
}

static bool is_callers(const cuarena_t *arena)
{
    return arena->config.memory == CUARENA_MEMORY_BYTES;
}

uint64_t cuai_trim(cuarena_t *arena, uint64_t keep_bytes)
{
    cuai_assert_locked(arena);
    freelists_t idle = {{0}};
    add_freelist(&idle, 0);
    if (is_callers(arena))
        return 0; /* the caller's own bytes stay */
    cuai_cuts_t cuts;
    begin(arena, &cuts);
    uint64_t given = trim(arena, &idle, &cuts, keep_bytes);
    end(arena, given);
    return given;
}

/* ---- What streams freed ------------------------------------------------ */

/* The free lists that are known to be idle: a closed one whose event is complete stays so as long
 * as nobody else reclaims. Drops the lock. */
static freelists_t idle_freelists(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    freelists_t freelists = {{0}};
    cuai_stream_t *s;
    if (number == 0)
        add_freelist(&freelists, 0);
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if ((number == 0 || n == number) && s->behind_closed != 0 && !cuai_is_lost(arena) &&
            cuai_timeline_see(arena, 0, cuai_closed(s), false) == CUARENA_OK)
            add_freelist(&freelists, s->freelists[!s->turn][CUAI_DYNAMIC]);
    return freelists;
}

static uint64_t trim_idle(cuarena_t *arena, uint32_t number, cuai_cuts_t *cuts, uint64_t keep_bytes)
{
    cuai_stream_t *s;
    cuai_reclaim_begin(arena);
    freelists_t freelists = idle_freelists(arena, number);
    uint64_t given = trim(arena, &freelists, cuts, keep_bytes);
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (number == 0 || n == number)
            cuai_stream_return_idle(arena, s);
    cuai_reclaim_end(arena);
    return given;
}

cuarena_status_t cuai_trim_freelists(cuarena_t *arena, uint32_t number, uint64_t keep_bytes,
                                     uint64_t *given_out)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    *given_out = 0;
    if (is_callers(arena))
        return status;
    status = cuai_await_freed(arena, number);
    *given_out = arena->gained_back;
    if (status != CUARENA_OK)
        return status;
    cuai_cuts_t cuts;
    begin(arena, &cuts);
    uint64_t given = trim_idle(arena, number, &cuts, keep_bytes);
    end(arena, given);
    *given_out += given;
    return CUARENA_OK;
}

/* Whether something of what streams freed could go once it is idle: otherwise nobody needs to wait
 * for it. */
static bool is_worth_waiting(const cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    cuai_slot_t slot = cuai_record(heap, 0)->prev;
    bool worth = arena->uses.first != NULL;
    cuai_cut_t cut;
    for (; slot != 0 && !worth; slot = cuai_record(heap, slot)->prev) {
        const cuai_record_t *r = cuai_record(heap, slot);
        uint64_t begin = cuai_end(r);
        worth = r->key != 0 && cuai_range_freelist(r) != 0 &&
                choose_cut(arena, begin, begin + cuai_range(r), UINT64_MAX, &cut);
    }
    return worth;
}

uint64_t cuai_trim_all(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    uint64_t given = 0;
    if (arena->config.steal != CUARENA_STEAL_NEVER || arena->stream_count == 0 ||
        is_callers(arena) || !is_worth_waiting(arena))
        given = cuai_trim(arena, 0);
    else
        (void)cuai_trim_freelists(arena, 0, 0, &given);
    return given;
}
