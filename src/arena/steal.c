/*
 * Stealing: a stream takes bytes that another one freed, by waiting for it.
 *
 *   holder   of a range: the stream that a taker must wait for first; 0 if it
 *            need not: the range is idle, its own, or in the closed free list of
 *            a stream whose event it has waited for.
 *   row      ranges of whatever free lists without a gap between them.
 *   window   a row, or a part of one, that a request fits in.
 *
 * Placement's order decides among windows, as if their free lists were one: the zone that is next
 * to the request's end of the heap, and in it the tightest class. Rows for which nothing has to be
 * waited come before all others. What of such others can be had without a wait comes next as long
 * as there is plenty: in an arena that cannot grow while less than half of it lives. Else they are
 * left whole, for pieces are what an arena grows or fails by.
 * Exactly the bytes of the block join the taker's open free list, and what else the window had
 * stays whose it was: a holder that took the rest back would have
 * to wait in turn, and the streams would run one after the other.
 *
 * Large requests look across the free lists before they look into their stream's. Were they served
 * from there first, each stream would spread over the whole heap, and live blocks with it: an arena
 * that grows then holds a third more. Small ones have the fast path, and their own free lists.
 *
 * With steal=idle nobody is waited for here: a stream gets what needs no
 * wait, which is what the program made it wait for, wherever that is.
 *
 * To cross, an event is recorded on the holder, unless there is one behind the range, and the taker
 * waits for it on the device. Meanwhile the lock is let
 * go of; so the taker looks again until a window needs no wait. It waits for the holders of the
 * bytes that it will take, the latest event first, and not for those that the holder had waited
 * for. What was freed before two events
 * it waits for by the second, since free lists keep no more than one.
 *
 * Cost: a bounded number of ranges is seen, those of the request's class and above first, then,
 * together with their neighbours, those of an eighth of its size. All are seen before the request
 * is refused here: only then may it have bytes that this look passed over, and the arena grows if
 * it has not.
 */
#include "arena/steal.h"
#include "arena/alloc.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "heap/placement.h"

/* Waits for one request: each ends one holder, or bars it. */
#define MOST_WAITS 16
/* The holder of ranges that nobody may take. */
#define NOBODY UINT8_MAX
_Static_assert(CUAI_STREAM_NUMBERS < NOBODY, "holders");

/* How far a search goes. */
typedef struct effort {
    uint64_t share; /* ranges of this share of the request start a row; 0: all
                     * do */
    uint32_t tries; /* ranges of one list that do */
    uint32_t reach; /* ranges of a row, on either side of the first */
    uint32_t steps; /* ranges in all, of free lists with a holder and without */
} effort_t;

static const effort_t narrow = {1, 2, 0, 256};
static const effort_t wide = {8, 8, 64, 1024};
static const effort_t whole = {0, UINT32_MAX, UINT32_MAX, UINT32_MAX};

typedef struct window {
    cuai_slot_t last; /* the range that it ends in; 0: there is no window */
    uint64_t begin;
    uint64_t end;
} window_t;

typedef struct search {
    cuarena_t *arena;
    cuarena_heap_t *heap;
    const cuai_request_t *request;
    cuai_stream_t *taker;
    int32_t region;
    uint64_t alignment;
    uint64_t need; /* bytes in which it fits wherever they begin */
    bool is_large;
    bool waits;    /* a stream that has not been waited for can be */
    bool in_parts; /* parts of rows are taken before all is waited for */
    bool high;     /* cut from the upper end, of the topmost zone */
    effort_t effort;
    uint64_t least;                              /* a row has a range of so many bytes */
    uint32_t steps;                              /* that are left */
    bool at_held;                                /* free lists with a holder are looked at */
    cuai_stream_set_t barred;                    /* streams that could not be waited for */
    window_t free;                               /* the best that needs no wait */
    window_t held;                               /* the best that does */
    uint32_t freelists;                          /* the numbers in use are below */
    uint8_t holders[CUARENA_HEAP_MAX_FREELISTS]; /* of those free lists */
} search_t;

/* Whom to wait for before a window can be had. */
typedef struct debt {
    uint32_t holder; /* 0: nobody */
    bool open;       /* some of it is in the holder's open free list */
} debt_t;

/* ---- Holders ----------------------------------------------------------- */

/* Without an event bytes of a closed free list are on their way out of it, or into it, or there are
 * none. */
static bool has_waited(const cuai_stream_t *taker, const cuai_stream_t *s)
{
    return s->event != NULL && taker->seen[s->number] >= s->serial;
}

static void note_holder(search_t *search, const cuai_stream_t *s)
{
    const uint32_t *freelists = s->freelists[search->region];
    bool barred = cuai_set_has(&search->barred, s->number) || s->capture != NULL;
    uint8_t must = barred ? NOBODY : (uint8_t)s->number;
    search->holders[freelists[s->turn]] = must;
    search->holders[freelists[!s->turn]] = has_waited(search->taker, s) ? 0 : must;
}

/* Whether a wait for the holder of a debt, as it is now, is one for what is in the closed free list
 * of `s` too. */
static bool tells(const cuarena_t *arena, debt_t debt, const cuai_stream_t *s)
{
    const cuai_stream_t *holder = cuai_stream(arena, debt.holder);
    bool now = debt.open && (!holder->eager || holder->lacks_event);
    uint64_t serial = now         ? holder->seen[s->number]
                      : debt.open ? 0
                                  : holder->seen_at_event[s->number];
    return s == holder || (s->event != NULL && serial >= s->serial);
}

/* As if the debt's holder had been waited for. What nobody may take stays so, although that wait
 * may tell of it: the window that is found like this is looked at again with the holders as they
 * are, each of whom can be waited for.
 */
static void pretend(search_t *search, debt_t debt)
{
    const cuai_stream_t *holder = cuai_stream(search->arena, debt.holder);
    if (debt.open)
        search->holders[holder->freelists[search->region][holder->turn]] = 0;
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++) {
        const cuai_stream_t *s = search->arena->streams[n];
        if (s == NULL || s->capture != NULL)
            continue;
        uint8_t *closed = &search->holders[s->freelists[search->region][!s->turn]];
        if (*closed != NOBODY && tells(search->arena, debt, s))
            *closed = 0;
    }
}

static void count_freelists(search_t *search)
{
    const cuarena_heap_t *heap = search->heap;
    search->freelists = 0;
    for (uint32_t seen = 0; seen < heap->freelist_count; search->freelists++)
        seen += heap->freelists[search->freelists] != NULL;
}

static void note_holders(search_t *search)
{
    const cuarena_t *arena = search->arena;
    count_freelists(search);
    memset(search->holders, NOBODY, search->freelists);
    const uint32_t *own = search->taker->freelists[search->region];
    search->holders[0] = search->holders[own[0]] = search->holders[own[1]] = 0;
    for (uint32_t n = 1, seen = 0; seen < arena->stream_count; n++) {
        seen += arena->streams[n] != NULL;
        if (arena->streams[n] != NULL && n != search->request->stream)
            note_holder(search, arena->streams[n]);
    }
}

static uint32_t holder_of(const search_t *search, const cuai_record_t *r)
{
    uint32_t freelist = cuai_range_freelist(r);
    return r->key == 0 || freelist >= search->freelists ? NOBODY : search->holders[freelist];
}

static bool is_open(const search_t *search, const cuai_record_t *r)
{
    uint32_t holder = holder_of(search, r);
    const cuai_stream_t *s = cuai_stream(search->arena, holder);
    return cuai_range_freelist(r) == s->freelists[search->region][s->turn];
}

static bool is_own(const search_t *search, const cuai_record_t *r)
{
    const uint32_t *freelists = search->taker->freelists[search->region];
    uint32_t freelist = cuai_range_freelist(r);
    return freelist == 0 || freelist == freelists[0] || freelist == freelists[1];
}

/* ---- Rows -------------------------------------------------------------- */

static uint64_t range_end(const cuai_record_t *r)
{
    return cuai_end(r) + cuai_range(r);
}

/* Placement's order: the zone, then the class. */
static bool is_better(const search_t *search, const window_t *a, const window_t *b)
{
    const cuarena_heap_t *heap = search->heap;
    if (b->last == 0)
        return true;
    uint32_t zone_a = cuai_zone_of(heap, a->begin);
    uint32_t zone_b = cuai_zone_of(heap, b->begin);
    if (zone_a != zone_b)
        return (zone_a > zone_b) == search->high;
    return cuai_class(heap, a->end - a->begin) < cuai_class(heap, b->end - b->begin);
}

static void offer(const search_t *search, window_t window, bool counts, window_t *best)
{
    if (counts && window.end - window.begin >= search->need && is_better(search, &window, best))
        *best = window;
}

/* One more range is looked at; false: these were all. */
static bool step(search_t *search)
{
    if (search->steps == 0)
        return false;
    search->steps--;
    search->heap->search_steps++;
    return true;
}

/* The row, and the parts of it without a holder. */
static void look_at_row(search_t *search, cuai_slot_t first)
{
    const cuai_record_t *r = cuai_record(search->heap, first);
    window_t row = {first, cuai_end(r), 0};
    window_t part = {0, 0, 0};
    bool held = false;
    cuai_slot_t slot = first;
    uint64_t left = 2 * (uint64_t)search->effort.reach + 1;
    do {
        bool holds = holder_of(search, r) != 0;
        if (holds && part.last != 0)
            offer(search, part, search->in_parts, &search->free);
        if (holds || part.last == 0)
            part.begin = cuai_end(r);
        part.last = holds ? 0 : slot;
        part.end = row.end = range_end(r);
        row.last = slot;
        held = held || holds;
        slot = r->next;
        r = cuai_record(search->heap, slot);
    } while (--left != 0 && r->kind == CUAI_SEPARATOR && holder_of(search, r) != NOBODY &&
             step(search));
    offer(search, row, held && search->waits, &search->held);
    offer(search, part, part.last != 0 && (!held || search->in_parts), &search->free);
}

/* The first range of the row around a slot, within reach; 0: an earlier one of them leads to the
 * row in the same look. */
static cuai_slot_t row_of(search_t *search, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(search->heap, slot);
    uint32_t left = search->effort.reach;
    while (r->kind == CUAI_SEPARATOR && left-- != 0) {
        const cuai_record_t *before = cuai_record(search->heap, r->prev);
        if (holder_of(search, before) == NOBODY || !step(search))
            break;
        if (cuai_range(before) >= search->least &&
            (holder_of(search, before) != 0) == search->at_held)
            return 0;
        slot = r->prev;
        r = before;
    }
    return slot;
}

static void look_at_list(search_t *search, cuai_slot_t slot)
{
    uint32_t left = search->effort.tries;
    while (slot != 0 && left-- != 0 && step(search)) {
        const cuai_record_t *r = cuai_record(search->heap, slot);
        bool counts = cuai_range(r) >= search->least;
        cuai_slot_t first = counts ? row_of(search, slot) : 0;
        if (first != 0)
            look_at_row(search, first);
        slot = r->down;
    }
}

/* Whether the window is in a zone that comes before `zone`, or in that. */
static bool is_before(const search_t *search, const window_t *window, uint32_t zone, bool or_in)
{
    if (window->last == 0)
        return false;
    uint32_t its = cuai_zone_of(search->heap, window->begin);
    return its == zone ? or_in : (its > zone) == search->high;
}

/* Windows of the zone that may be better than the best. */
static void look_at_zone(search_t *search, const cuai_index_t *index, uint32_t zone,
                         const window_t *best)
{
    const cuarena_heap_t *heap = search->heap;
    uint32_t class = cuai_zone_first(index, zone, cuai_class(heap, search->least));
    while (class != CUAI_NO_CLASS) {
        if (is_before(search, best, zone, true) &&
            class > cuai_class(heap, best->end - best->begin))
            return;
        look_at_list(search, index->heads[cuai_list_of(zone, class)]);
        class = cuai_zone_first(index, zone, class + 1);
    }
}

/* The index of a free list that is looked at now, if it has ranges; else NULL. */
static const cuai_index_t *freelist_of(const search_t *search, uint32_t freelist)
{
    const cuai_index_t *index = search->heap->freelists[freelist];
    uint32_t holder = search->holders[freelist];
    bool counts =
        index != NULL && index->ranges != 0 && holder != NOBODY && (holder != 0) == search->at_held;
    return counts ? index : NULL;
}

/* From the request's end on to the zone of the best window. */
static void look_at_freelists_of(search_t *search, bool held, const window_t *best)
{
    search->at_held = held;
    cuai_zones_t zones = 0;
    uint32_t least = cuai_class(search->heap, search->least);
    search->steps = search->effort.steps;
    for (uint32_t freelist = 0; freelist < search->freelists; freelist++) {
        const cuai_index_t *index = freelist_of(search, freelist);
        zones |= index != NULL ? cuai_zones_from(index, least) : 0;
    }
    while (zones != 0 && search->steps != 0) {
        uint32_t zone = cuai_zones_end(zones, search->high);
        if (is_before(search, best, zone, false))
            return;
        for (uint32_t freelist = 0; freelist < search->freelists; freelist++) {
            const cuai_index_t *index = freelist_of(search, freelist);
            if (index != NULL)
                look_at_zone(search, index, zone, best);
        }
        zones = cuai_zones_without(zones, zone);
    }
}

/* Every row without a holder has a range in a free list without. */
static void look_at_free(search_t *search)
{
    search->free = (window_t){0};
    search->held = (window_t){0};
    look_at_freelists_of(search, false, &search->free);
}

static void look_at_freelists(search_t *search)
{
    look_at_free(search);
    if (search->free.last == 0 && search->waits)
        look_at_freelists_of(search, true, &search->held);
}

static void set_effort(search_t *search, effort_t effort)
{
    uint64_t granule = search->heap->granule_mask + 1;
    uint64_t least = effort.share == 0 ? 0 : search->request->size / effort.share;
    search->effort = effort;
    search->least = cuai_max(least, granule);
}

static void look(search_t *search, effort_t effort)
{
    set_effort(search, effort);
    look_at_freelists(search);
}

static bool has_window(const search_t *search)
{
    return search->free.last != 0 || search->held.last != 0;
}

/* As far as it takes: what needs no wait first, then what is found soon, then what there is. */
static void look_for(search_t *search)
{
    window_t held = {0};
    if (!search->is_large) {
        look(search, narrow);
        held = search->held;
    }
    if (search->is_large || search->free.last == 0)
        look(search, wide);
    if (!has_window(search))
        search->held = held;
    if (!has_window(search)) {
        search->heap->full_searches++;
        look(search, whole);
    }
}

/* ---- Cutting ----------------------------------------------------------- */

/* The part of a window that the block takes: all of it where the arena would not split the rest
 * off. */
static window_t cut(const search_t *search, const window_t *window)
{
    uint64_t size = search->request->size;
    uint64_t rest = window->end - window->begin - size;
    uint64_t least = search->heap->split_threshold;
    bool splits = rest >= least || (rest >= size && least != UINT64_MAX);
    window_t part = *window;
    if (!splits)
        return part;
    part.begin = search->high ? (window->end - size) & ~(search->alignment - 1)
                              : cuai_align_up(window->begin, search->alignment);
    part.end = part.begin + size;
    return part;
}

/* An event that is still to be recorded comes after all others. */
static uint64_t moment_of(const cuarena_t *arena, debt_t debt)
{
    return debt.open ? UINT64_MAX : cuai_stream(arena, debt.holder)->serial;
}

/* Whose event comes last. The holder may have waited for the others, and then who waits for it need
 * not; the other way round that cannot be. */
static debt_t later_of(const cuarena_t *arena, debt_t a, debt_t b)
{
    if (a.holder == 0 || b.holder == 0)
        return a.holder != 0 ? a : b;
    return moment_of(arena, a) >= moment_of(arena, b) ? a : b;
}

/* Whom the part's ranges have to be waited for first. */
static debt_t look_at_part(const search_t *search, const window_t *part, bool *steals_out)
{
    debt_t debt = {0, false};
    const cuai_record_t *r = cuai_record(search->heap, part->last);
    *steals_out = false;
    for (;; r = cuai_record(search->heap, r->prev)) {
        uint32_t holder = holder_of(search, r);
        bool within = cuai_end(r) < part->end;
        *steals_out = *steals_out || (within && !is_own(search, r));
        if (within && holder != 0)
            debt = later_of(search->arena, debt, (debt_t){holder, is_open(search, r)});
        if (cuai_end(r) <= part->begin)
            return debt;
    }
}

/* An event that an eager stream has may be older than what it waited for. */
static void note_taken(cuai_stream_t *taker)
{
    taker->gathers++;
    taker->lacks_event = taker->lacks_event || taker->eager;
}

/* The best window has holders to be waited for one after the other, and by the way another one may
 * come to need none. Finds the window that it will come to, so that nobody is waited for but its
 * own holders. */
static window_t foresee(search_t *search)
{
    window_t part = cut(search, &search->held);
    bool steals;
    debt_t debt = look_at_part(search, &part, &steals);
    while (debt.holder != 0) {
        pretend(search, debt);
        look_for(search);
        if (search->free.last != 0)
            part = cut(search, &search->free);
        debt = look_at_part(search, &part, &steals);
    }
    note_holders(search);
    return part;
}

static cuarena_status_t take(const search_t *search, const window_t *part, bool steals,
                             cuai_block_ref_t *block_out)
{
    cuai_stream_t *taker = search->taker;
    cuai_slot_t owner;
    cuarena_status_t status =
        cuai_freelist_gather(search->heap, part->last, part->begin, part->end,
                             taker->freelists[search->region][taker->turn], &owner);
    if (status != CUARENA_OK)
        return status;
    note_taken(taker);
    uint64_t begin = cuai_align_up(part->begin, search->alignment);
    status = cuai_try_alloc_at(search->arena, search->request, owner, begin, block_out);
    if (status == CUARENA_OK)
        search->arena->steals += steals;
    return status;
}

/* The best window: served, if nothing has to be waited for; else, BUSY, whom to wait for.
 * OUT_OF_MEMORY: there is none. */
static cuarena_status_t try_best(search_t *search, debt_t *debt_out, cuai_block_ref_t *block_out)
{
    bool free = search->free.last != 0;
    if (!free && search->held.last == 0)
        return CUARENA_OUT_OF_MEMORY;
    window_t part = free ? cut(search, &search->free) : foresee(search);
    bool steals;
    *debt_out = look_at_part(search, &part, &steals);
    return debt_out->holder != 0 ? CUARENA_BUSY : take(search, &part, steals, block_out);
}

/* ---- Waiting ----------------------------------------------------------- */

void cuai_stream_saw(cuarena_t *arena, uint32_t waiter, uint32_t producer, uint64_t serial)
{
    cuai_stream_t *taker = cuai_stream(arena, waiter);
    const cuai_stream_t *s = cuai_stream(arena, producer);
    bool last = serial == s->serial;
    for (uint32_t n = 1; last && n < CUAI_STREAM_NUMBERS; n++)
        cuai_raise(&taker->seen[n], s->seen_at_event[n]);
    cuai_raise(&taker->seen[producer], serial);
}

/* Makes the taker wait for what the holder freed so far. *reclaimed_out: that was complete. Steps
 * out. */
static cuarena_status_t wait_for(cuarena_t *arena, const cuai_stream_t *taker, debt_t debt,
                                 bool *reclaimed_out)
{
    cuai_stream_t *s = cuai_stream(arena, debt.holder);
    cuarena_status_t status = CUARENA_OK;
    if (debt.open)
        status = cuai_stream_cover(arena, s);
    if (status != CUARENA_OK || s->event == NULL)
        return status;
    *reclaimed_out = debt.open && cuai_stream_poll(arena, s) == CUARENA_OK;
    if (s->event == NULL)
        return CUARENA_OK;
    void *event = s->event;
    uint64_t serial = s->serial;
    status = taker->released ? CUARENA_BUSY : cuai_unlocked_wait(arena, event, taker->number);
    if (status == CUARENA_OK)
        cuai_stream_saw(arena, taker->number, s->number, serial);
    return status;
}

/* The holder is asked where nobody can wait on the device. */
static cuarena_status_t ask_holder(cuarena_t *arena, cuai_stream_t *s, uint64_t stamp)
{
    cuarena_status_t status = CUARENA_OK;
    if (s->event == NULL || s->serial <= stamp)
        status = cuai_stream_cover(arena, s);
    return status == CUARENA_OK ? cuai_stream_poll(arena, s) : status;
}

cuarena_status_t cuai_stream_await(cuarena_t *arena, uint32_t number, uint32_t holder,
                                   uint64_t stamp)
{
    cuarena_status_t status = CUARENA_OK;
    cuai_reclaim_begin(arena);
    cuai_stream_t *s = arena->streams[holder]; /* it may have gone meanwhile */
    if (s != NULL && s->done <= stamp && number != 0 && !arena->cpu_touches) {
        bool open = s->event == NULL || s->serial <= stamp;
        bool idle = false;
        status = wait_for(arena, cuai_stream(arena, number), (debt_t){holder, open}, &idle);
    } else if (s != NULL && s->done <= stamp) {
        status = ask_holder(arena, s, stamp);
    }
    cuai_reclaim_end(arena);
    return status;
}

/* ---- Stealing ---------------------------------------------------------- */

static void begin_search(search_t *search, cuarena_t *arena, const cuai_request_t *request)
{
    cuarena_heap_t *heap = arena->heaps[cuai_region_for(arena, request->region)];
    uint64_t free_bytes = cuai_free_bytes(heap);
    uint64_t granule = cuai_granule(arena);
    search->arena = arena;
    search->heap = heap;
    search->request = request;
    search->taker = cuai_stream(arena, request->stream);
    search->region = cuai_region_for(arena, request->region);
    search->alignment = cuai_max(request->heap.alignment, granule);
    search->need = request->size + search->alignment - granule;
    search->is_large = request->size >= heap->capacity >> CUAI_LARGE_SHIFT;
    search->waits = arena->config.steal == CUARENA_STEAL_WAIT;
    search->in_parts = !search->waits || (arena->config.grow == CUARENA_GROW_NONE &&
                                          heap->live_bytes < heap->capacity / 2);
    search->high = request->heap.low == 0 && cuai_goes_high(heap, free_bytes, request->size);
    search->barred = (cuai_stream_set_t){{0, 0}};
}

cuarena_status_t cuai_try_alloc_stealing(cuarena_t *arena, const cuai_request_t *request,
                                         cuai_block_ref_t *block_out)
{
    search_t search;
    cuarena_status_t status = cuai_check_live_limit(arena, request);
    debt_t debt;
    if (status != CUARENA_OK)
        return status;
    begin_search(&search, arena, request);
    note_holders(&search);
    set_effort(&search, wide);
    look_at_free(&search);
    if (search.free.last != 0)
        return try_best(&search, &debt, block_out);
    return cuai_free_bytes(search.heap) < request->size ? CUARENA_OUT_OF_MEMORY
                                                        : CUARENA_FRAGMENTED;
}

/* Steps out. */
static cuai_stolen_t cross(search_t *search, cuai_block_ref_t *block_out)
{
    bool idle = false;
    for (int waits = 0; waits <= MOST_WAITS && !idle; waits++) {
        debt_t debt;
        note_holders(search);
        look_for(search);
        cuarena_status_t status = try_best(search, &debt, block_out);
        if (status == CUARENA_OK)
            return CUAI_STOLEN;
        if (waits == 0 && cuai_reclaim_complete(search->arena))
            return CUAI_STOLEN_IDLE;
        if (status != CUARENA_BUSY || cuai_is_lost(search->arena))
            return CUAI_STOLEN_NOTHING;
        if (wait_for(search->arena, search->taker, debt, &idle) != CUARENA_OK)
            cuai_set_add(&search->barred, debt.holder);
    }
    return idle ? CUAI_STOLEN_IDLE : CUAI_STOLEN_NOTHING;
}

/* Whether it is behind anything that another stream freed. */
static bool is_behind_any(const cuarena_t *arena, const cuai_stream_t *taker)
{
    bool behind = false;
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS && !behind; n++) {
        const cuai_stream_t *s = arena->streams[n];
        behind = s != NULL && s != taker && has_waited(taker, s);
    }
    return behind;
}

cuai_stolen_t cuai_steal(cuarena_t *arena, const cuai_request_t *request,
                         cuai_block_ref_t *block_out)
{
    cuai_stolen_t stolen = CUAI_STOLEN_NOTHING;
    search_t search;
    if (arena->config.steal != CUARENA_STEAL_WAIT &&
        !is_behind_any(arena, cuai_stream(arena, request->stream)))
        return CUAI_STOLEN_NOWHERE;
    cuai_reclaim_begin(arena);
    begin_search(&search, arena, request);
    if (!search.taker->released)
        stolen = cross(&search, block_out);
    cuai_reclaim_end(arena);
    return stolen;
}

/* ---- All of a stream's free lists ------------------------------------------- */

/* The open free list counts if it has bytes; the closed one's event is then recorded anew. */
static cuarena_status_t take_freelists(cuarena_t *arena, cuai_stream_t *taker, cuai_stream_t *s)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    const uint32_t *freelists = s->freelists[CUAI_DYNAMIC];
    bool open = heap->freelists[freelists[s->turn]]->ranges != 0;
    bool idle = false;
    cuarena_status_t status = CUARENA_OK;
    if (!open && heap->freelists[freelists[!s->turn]]->ranges == 0)
        return status;
    if (open || !has_waited(taker, s))
        status = wait_for(arena, taker, (debt_t){s->number, open}, &idle);
    if (status != CUARENA_OK || !has_waited(taker, s))
        return status;
    note_taken(taker);
    return cuarena_heap_freelist_merge(heap, freelists[!s->turn],
                                       taker->freelists[CUAI_DYNAMIC][taker->turn]);
}

cuarena_status_t cuai_steal_all(cuarena_t *arena, uint32_t number)
{
    cuarena_status_t status = CUARENA_OK;
    cuai_reclaim_begin(arena);
    cuai_stream_t *taker = cuai_stream(arena, number);
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS && !taker->released; n++)
        if (arena->streams[n] != NULL && n != number && status == CUARENA_OK &&
            arena->streams[n]->capture == NULL) {
            status = take_freelists(arena, taker, arena->streams[n]);
            if (status == CUARENA_BUSY) /* it is being captured */
                status = CUARENA_OK;
        }
    cuai_reclaim_end(arena);
    return status;
}

/* ---- Waits of the program's own ---------------------------------------- */

cuarena_status_t cuai_moment(cuarena_t *arena, uint32_t number, uint64_t *serial_out)
{
    cuai_stream_t *s = cuai_stream(arena, number);
    cuai_reclaim_begin(arena);
    cuarena_status_t status = cuai_stream_cover(arena, s);
    if (s->event == NULL) /* nothing of it is free */
        s->serial = ++arena->event_serial;
    *serial_out = s->serial;
    cuai_reclaim_end(arena);
    return status;
}

void cuai_note_wait(cuarena_t *arena, uint32_t waiter, uint32_t producer, uint64_t serial)
{
    cuai_reclaim_begin(arena);
    cuai_stream_t *s = cuai_stream(arena, producer);
    bool known = s != NULL && serial > s->born_serial; /* else it is over */
    if (known && waiter != 0 && waiter != producer)
        cuai_stream_saw(arena, waiter, producer, serial);
    if (known && waiter == 0 && s->event != NULL && serial >= s->serial)
        cuai_stream_reclaim_closed(arena, s);
    cuai_reclaim_end(arena);
}
