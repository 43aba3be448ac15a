/*
 * Stealing: a stream takes bytes that another one freed, by waiting for it.
 *
 *   requester   the stream of the request
 *   owner       of a range: the stream that the requester must wait for first; 0 if it need not:
 *               the range is idle, its own, or in the closed free list of a stream whose event it
 *               has waited for
 *   run         ranges of whatever free lists without a gap between them
 *   candidate   a run, or a part of one, that the request fits in
 *
 * Placement's order decides among candidates, as if their free lists were one: the zone that is
 * next to the request's end of the heap, and in it the tightest class. Runs that need no wait come
 * before all others.
 *
 * As long as there is plenty, in an arena that cannot grow while less than half of it lives, parts
 * of the others that need no wait come next, and then what needs the shortest wait: free lists
 * whose events were recorded long ago before those behind newer ones, to a factor of two in the
 * number of events since, and those whose events are still to come last. Else runs are left whole
 * and in placement's order, because an arena whose runs are in pieces grows, or fails.
 *
 * Exactly the bytes of the block join the requester's open free list, and what else the candidate
 * has stays with its owners. An owner that had to take the rest back would have to wait in turn,
 * and the streams would run one after the other.
 *
 * Where streams wait before the arena takes more, large requests look across the free lists before
 * they look into their stream's. If they were allocated from there first, each stream would spread
 * over the whole heap, and live blocks with it, and a pool would have to be larger. The look is
 * left out where it would find what the stream got by the last one, and has freed. Small ones have
 * the fast path, and their own free lists, as all have in an arena that grows first.
 *
 * With steal=idle nobody is waited for here: a stream gets only what needs no wait, which is what
 * the program made it wait for.
 *
 * To steal, an event is recorded on the owner, unless there is one behind the range, and the
 * requester waits for it on the device. Both drop the lock, so the requester looks again until a
 * candidate needs no wait. It waits for the owners of the bytes that it will get, the latest event
 * first, and not for those for which that owner had waited. A free list keeps one event only, so
 * for what was freed before two events the requester waits for the second.
 *
 * A bounded number of ranges is looked at: those of the request's class and above first, then, with
 * their neighbours, those of an eighth of its size. All are looked at before the request is refused
 * here. Only then may it get bytes that the bounded look passed over, and the arena grows if it has
 * not.
 */
#include "arena/steal.h"
#include "arena/alloc.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "heap/placement.h"

/* How many waits one request may queue. Each makes one owner need no wait, or excludes it. */
#define MOST_WAITS 16
/* The owner of ranges that nobody may steal. */
#define NOBODY UINT8_MAX
_Static_assert(CUAI_STREAM_NUMBERS < NOBODY, "owners");
/* How long a wait is: the longer, the fewer events were recorded since its own. */
#define NO_DELAY 0
#define LONGEST_DELAY 64 /* its event is still to come */

/* How far a search goes. */
typedef struct effort {
    uint64_t share; /* ranges of at least this share of the request start a run; 0: all do */
    uint32_t tries; /* how many ranges of one list do */
    uint32_t reach; /* how many ranges a run has on either side of the first */
    uint32_t steps; /* how many ranges are looked at, with an owner and without */
} effort_t;

static const effort_t narrow = {1, 2, 0, 256};
static const effort_t wide = {8, 8, 64, 1024};
static const effort_t whole = {0, UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* `last` 0: there is no candidate. */
typedef cuai_free_part_t candidate_t;

/* A free list that is looked at. */
typedef struct looked {
    uint32_t freelist;
    cuai_zones_t zones; /* that have ranges long enough to start a run */
} looked_t;

typedef struct search {
    cuarena_t *arena;
    cuarena_heap_t *heap;
    const cuai_request_t *request;
    cuai_stream_t *requester;
    int32_t region;
    uint64_t alignment;
    uint64_t need; /* the request fits in so many bytes wherever they begin */
    bool is_large;
    bool waits;    /* owners may be waited for */
    bool plenty;   /* there are so many free bytes that runs need not be left whole */
    bool in_parts; /* parts of runs that need no wait are candidates */
    bool high;     /* cut from the upper end, of the topmost zone */
    effort_t effort;
    uint64_t least;             /* the ranges that start a run have at least so many bytes */
    uint32_t steps;             /* how many ranges may still be looked at */
    bool at_waiting;            /* free lists with an owner are looked at */
    uint32_t patience;          /* what needs a longer wait is nobody's */
    cuai_stream_set_t excluded; /* streams for which no wait could be queued */
    candidate_t ready;          /* the best that needs no wait */
    candidate_t waiting;        /* the best that does */
    uint32_t freelists;         /* the numbers of free lists are below this */
    uint32_t looked_count;
    looked_t looked[1 + 2 * CUAI_STREAM_NUMBERS]; /* the idle one, and two of each stream */
    uint8_t owners[CUARENA_HEAP_MAX_FREELISTS];   /* by free list */
    uint8_t delays[CUARENA_HEAP_MAX_FREELISTS];   /* of the waits for these */
} search_t;

/* ---- Owners ------------------------------------------------------------ */

/* A closed free list is behind an event that is to come while another thread records it. */
static uint8_t delay_of(const cuarena_t *arena, uint64_t serial)
{
    if (serial == CUAI_TO_COME)
        return LONGEST_DELAY;
    CUAI_ASSERT(serial <= arena->event_serial);
    return (uint8_t)(LONGEST_DELAY - 1 - cuai_log2_floor(arena->event_serial - serial + 1));
}

static void note_owner(search_t *search, const cuai_stream_t *s)
{
    bool excluded = cuai_set_has(&search->excluded, s->number) || s->capture != NULL;
    uint8_t must = excluded ? NOBODY : (uint8_t)s->number;
    uint32_t open = s->freelists[s->turn][search->region];
    uint32_t closed = s->freelists[!s->turn][search->region];
    search->owners[open] = must;
    search->delays[open] = LONGEST_DELAY;
    search->owners[closed] =
        cuai_has_waited(search->arena, search->requester->number, s) ? 0 : must;
    search->delays[closed] = delay_of(search->arena, s->behind_closed);
}

/* Sets the owners as if the wait for a point had been queued. What nobody may steal stays so,
 * although the wait may imply it: the candidate that is found like this is looked at again with the
 * owners as they are, and each of these can be waited for. */
static void assume_waited(search_t *search, cuai_point_t wait)
{
    const cuai_stream_t *owner = cuai_stream(search->arena, wait.stream);
    uint64_t at = wait.serial == CUAI_TO_COME ? owner->behind_open : wait.serial;
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(search->arena, &n)) != NULL;) {
        for (int open = 0; s->capture == NULL && open < 2; open++) {
            uint64_t behind = open ? s->behind_open : s->behind_closed;
            uint64_t seen = s == owner ? wait.serial : cuai_had_seen(&owner->timeline, at, n);
            uint8_t *its = &search->owners[s->freelists[s->turn ^ !open][search->region]];
            if (*its != NOBODY && behind != 0 && behind <= seen)
                *its = 0;
        }
    }
}

static void count_freelists(search_t *search)
{
    const cuarena_heap_t *heap = search->heap;
    search->freelists = 0;
    for (uint32_t seen = 0; seen < heap->freelist_count; search->freelists++)
        seen += heap->freelists[search->freelists] != NULL;
}

static void note_owners(search_t *search)
{
    const cuarena_t *arena = search->arena;
    count_freelists(search);
    memset(search->owners, NOBODY, search->freelists);
    memset(search->delays, NO_DELAY, search->freelists);
    search->owners[0] = 0;
    for (int i = 0; i < 2; i++)
        search->owners[search->requester->freelists[i][search->region]] = 0;
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL;)
        if (s != search->requester)
            note_owner(search, s);
}

/* The owner of a free list; NOBODY where the search would have to wait longer for it than it does.
 */
static uint32_t owner_within(const search_t *search, uint32_t freelist)
{
    uint32_t owner = search->owners[freelist];
    return owner != 0 && search->delays[freelist] > search->patience ? NOBODY : owner;
}

static uint32_t owner_of(const search_t *search, const cuai_record_t *r)
{
    uint32_t freelist = cuai_range_freelist(r);
    return r->key == 0 || freelist >= search->freelists ? NOBODY : owner_within(search, freelist);
}

/* The point of its owner that a range needs; of stream 0 if it has no owner. What is in an open
 * free list is behind an event that is to come, if only when the free list is closed. */
static cuai_point_t point_of(const search_t *search, const cuai_record_t *r)
{
    uint32_t owner = owner_of(search, r);
    if (owner == 0)
        return (cuai_point_t){0, 0};
    CUAI_ASSERT(owner != NOBODY);
    const cuai_stream_t *s = cuai_stream(search->arena, owner);
    bool open = cuai_range_freelist(r) == s->freelists[s->turn][search->region];
    return (cuai_point_t){owner, open ? CUAI_TO_COME : s->behind_closed};
}

static bool is_own(const search_t *search, const cuai_record_t *r)
{
    uint32_t freelist = cuai_range_freelist(r);
    return freelist == 0 || cuai_is_freelist_of(search->requester, search->region, freelist);
}

/* ---- Runs -------------------------------------------------------------- */

static uint64_t range_end(const cuai_record_t *r)
{
    return cuai_end(r) + cuai_range(r);
}

/* Whether `a` comes before `b` in placement's order: the zone, then the class. */
static bool is_better(const search_t *search, const candidate_t *a, const candidate_t *b)
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

static void offer(const search_t *search, candidate_t candidate, bool counts, candidate_t *best)
{
    if (counts && candidate.end - candidate.begin >= search->need &&
        is_better(search, &candidate, best))
        *best = candidate;
}

/* Counts one more range that is looked at; false: there were enough. */
static bool step(search_t *search)
{
    if (search->steps == 0)
        return false;
    search->steps--;
    search->heap->search_steps++;
    return true;
}

/* Offers the run, and the parts of it without an owner. */
static void look_at_run(search_t *search, cuai_slot_t first)
{
    CUAI_ASSERT(first != 0);
    const cuai_record_t *r = cuai_record(search->heap, first);
    candidate_t run = {first, cuai_end(r), 0};
    candidate_t part = {0, 0, 0};
    bool waiting = false;
    cuai_slot_t slot = first;
    uint64_t left = 2 * (uint64_t)search->effort.reach + 1;
    do {
        bool waits = owner_of(search, r) != 0;
        if (waits && part.last != 0)
            offer(search, part, search->in_parts, &search->ready);
        if (waits || part.last == 0)
            part.begin = cuai_end(r);
        part.last = waits ? 0 : slot;
        part.end = run.end = range_end(r);
        run.last = slot;
        waiting = waiting || waits;
        slot = r->next;
        r = cuai_record(search->heap, slot);
    } while (--left != 0 && r->kind == CUAI_SEPARATOR && owner_of(search, r) != NOBODY &&
             step(search));
    offer(search, run, waiting && search->waits, &search->waiting);
    offer(search, part, part.last != 0 && (!waiting || search->in_parts), &search->ready);
}

/* The first range of the run around a slot, within reach; 0: an earlier range of it leads to the
 * run in the same search. */
static cuai_slot_t run_of(search_t *search, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(search->heap, slot);
    uint32_t left = search->effort.reach;
    while (r->kind == CUAI_SEPARATOR && left-- != 0) {
        const cuai_record_t *before = cuai_record(search->heap, r->prev);
        if (owner_of(search, before) == NOBODY || !step(search))
            break;
        if (cuai_range(before) >= search->least &&
            (owner_of(search, before) != 0) == search->at_waiting)
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
        cuai_slot_t first = counts ? run_of(search, slot) : 0;
        if (first != 0)
            look_at_run(search, first);
        slot = r->down;
    }
}

/* Whether the candidate is in a zone that comes before `zone` or, with `or_in`, in that. */
static bool is_before(const search_t *search, const candidate_t *candidate, uint32_t zone,
                      bool or_in)
{
    if (candidate->last == 0)
        return false;
    uint32_t its = cuai_zone_of(search->heap, candidate->begin);
    return its == zone ? or_in : (its > zone) == search->high;
}

/* Looks at the candidates of the zone that may be better than the best. */
static void look_at_zone(search_t *search, const cuai_index_t *index, uint32_t zone,
                         const candidate_t *best)
{
    const cuarena_heap_t *heap = search->heap;
    uint64_t classes = cuai_zone_classes(index, zone, cuai_class(heap, search->least));
    for (; classes != 0; classes &= classes - 1) {
        uint32_t class = cuai_ctz(classes);
        if (is_before(search, best, zone, true) &&
            class > cuai_class(heap, best->end - best->begin))
            return;
        look_at_list(search, index->heads[cuai_list_of(zone, class)]);
    }
}

/* The index of a free list that has ranges, and an owner or, with `waits` false, none; else NULL.
 */
static const cuai_index_t *freelist_of(const search_t *search, uint32_t freelist, bool waits)
{
    const cuai_index_t *index = search->heap->freelists[freelist];
    uint32_t owner = owner_within(search, freelist);
    bool counts = index != NULL && index->ranges != 0 && owner != NOBODY && (owner != 0) == waits;
    return counts ? index : NULL;
}

/* Notes the free lists with an owner, or those without, that have ranges that start a run. Returns
 * the zones of these. */
static cuai_zones_t note_looked(search_t *search, bool waiting)
{
    cuai_zones_t all = 0;
    uint32_t least = cuai_class(search->heap, search->least);
    search->looked_count = 0;
    for (uint32_t freelist = 0; freelist < search->freelists; freelist++) {
        const cuai_index_t *index = freelist_of(search, freelist, waiting);
        cuai_zones_t zones = index != NULL ? cuai_zones_from(index, least) : 0;
        if (zones == 0)
            continue;
        CUAI_ASSERT(search->looked_count < sizeof search->looked / sizeof search->looked[0]);
        search->looked[search->looked_count++] = (looked_t){freelist, zones};
        all |= zones;
    }
    return all;
}

/* Looks at all free lists with an owner, or all without, from the request's end of the heap on to
 * the zone of the best candidate. */
static void look_at_side(search_t *search, bool waiting, const candidate_t *best)
{
    search->at_waiting = waiting;
    search->steps = search->effort.steps;
    cuai_zones_t zones = note_looked(search, waiting);
    while (zones != 0 && search->steps != 0) {
        uint32_t zone = cuai_zones_end(zones, search->high);
        if (is_before(search, best, zone, false))
            return;
        for (uint32_t i = 0; i < search->looked_count; i++) {
            const looked_t *looked = &search->looked[i];
            if (looked->zones >> zone & 1)
                look_at_zone(search, search->heap->freelists[looked->freelist], zone, best);
        }
        zones = cuai_zones_without(zones, zone);
    }
}

/* Every run without an owner has a range in a free list without one, so these are enough. */
static void look_at_ready(search_t *search)
{
    search->ready = (candidate_t){0};
    search->waiting = (candidate_t){0};
    look_at_side(search, false, &search->ready);
}

/* The shortest wait that is longer than one, of any free list with ranges; NO_DELAY: there is none.
 */
static uint32_t next_delay(const search_t *search, uint32_t delay)
{
    uint32_t next = NO_DELAY;
    for (uint32_t freelist = 0; freelist < search->freelists; freelist++) {
        uint32_t its = search->delays[freelist];
        bool nearer = its > delay && (next == NO_DELAY || its < next);
        if (nearer && freelist_of(search, freelist, true) != NULL)
            next = its;
    }
    return next;
}

/* Looks at what needs the shortest wait, then also at what needs the next longer one, and so on.
 * Ranges without an owner are looked at again, for the runs that begin there. */
static void look_by_delays(search_t *search)
{
    uint32_t delay = NO_DELAY;
    search->waiting = (candidate_t){0};
    while (search->waiting.last == 0 && (delay = next_delay(search, delay)) != NO_DELAY) {
        search->patience = delay;
        look_at_side(search, false, &search->waiting);
        look_at_side(search, true, &search->waiting);
        search->patience = LONGEST_DELAY;
    }
}

static void look_at_freelists(search_t *search)
{
    look_at_ready(search);
    if (search->ready.last != 0 || !search->waits)
        return;
    if (search->plenty)
        look_by_delays(search);
    else
        look_at_side(search, true, &search->waiting);
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

static bool has_candidate(const search_t *search)
{
    return search->ready.last != 0 || search->waiting.last != 0;
}

/* Searches as far as it takes: first for what needs no wait, then for what is found soon, then
 * everywhere. */
static void look_for(search_t *search)
{
    candidate_t waiting = {0};
    if (!search->is_large) {
        look(search, narrow);
        waiting = search->waiting;
    }
    if (search->is_large || search->ready.last == 0)
        look(search, wide);
    if (!has_candidate(search))
        search->waiting = waiting;
    if (!has_candidate(search)) {
        search->heap->full_searches++;
        look(search, whole);
    }
}

/* ---- Cutting ----------------------------------------------------------- */

/* The part of a candidate that the block gets: all of it where the arena would not split the rest
 * off. */
static candidate_t cut(const search_t *search, const candidate_t *candidate)
{
    CUAI_ASSERT(candidate->end - candidate->begin >= search->request->size);
    uint64_t size = search->request->size;
    uint64_t range = candidate->end - candidate->begin;
    candidate_t part = *candidate;
    if (range != size && cuai_heap_taken(search->heap, range, size) == range)
        return part;
    part.begin = search->high ? (candidate->end - size) & ~(search->alignment - 1)
                              : cuai_align_up(candidate->begin, search->alignment);
    part.end = part.begin + size;
    return part;
}

/* The last point that the ranges of the part need, or none, of stream 0. Its owner may have waited
 * for the other owners, and then the requester need not; the other way round that cannot be.
 * *steals_out: some of the ranges are not the requester's. */
static cuai_point_t look_at_part(const search_t *search, const candidate_t *part, bool *steals_out)
{
    CUAI_ASSERT(part->last != 0 && part->begin < part->end);
    cuai_point_t last = {0, 0};
    const cuai_record_t *r = cuai_record(search->heap, part->last);
    *steals_out = false;
    for (;; r = cuai_record(search->heap, r->prev)) {
        bool within = cuai_end(r) < part->end;
        *steals_out = *steals_out || (within && !is_own(search, r));
        cuai_point_t point = within ? point_of(search, r) : (cuai_point_t){0, 0};
        if (point.stream != 0 && (last.stream == 0 || point.serial > last.serial))
            last = point;
        if (cuai_end(r) <= part->begin)
            return last;
    }
}

/* The best candidate needs several waits, and on the way another one may come to need none. Finds
 * the candidate at which that ends, so that only its own owners are waited for. */
static candidate_t find_last_candidate(search_t *search)
{
    candidate_t part = cut(search, &search->waiting);
    bool steals;
    cuai_point_t wait = look_at_part(search, &part, &steals);
    while (wait.stream != 0) {
        assume_waited(search, wait);
        look_for(search);
        if (search->ready.last != 0)
            part = cut(search, &search->ready);
        wait = look_at_part(search, &part, &steals);
    }
    note_owners(search);
    return part;
}

/* Notes where the block was placed, if a request without an alignment of its own would be placed
 * there too. */
static void note_placed(const search_t *search, cuai_block_ref_t ref)
{
    if (search->region == CUAI_DYNAMIC && search->need == search->request->size)
        search->requester->placed =
            (cuai_placed_t){cuai_block_record(ref)->offset, cuai_version(search->heap)};
}

static cuarena_status_t alloc_part(const search_t *search, const candidate_t *part, bool steals,
                                   cuai_block_ref_t *block_out)
{
    CUAI_ASSERT(part->end - part->begin >= search->request->size);
    cuai_stream_t *requester = search->requester;
    uint32_t open = requester->freelists[requester->turn][search->region];
    cuarena_status_t status =
        cuai_try_alloc_gathered(search->arena, search->request, part, open, block_out);
    if (status != CUARENA_OK)
        return status;
    cuai_stream_want_event(search->arena, requester);
    search->arena->steals += steals;
    note_placed(search, *block_out);
    return CUARENA_OK;
}

/* Allocates from the best candidate if it needs no wait, else returns BUSY and the wait.
 * OUT_OF_MEMORY: there is no candidate. */
static cuarena_status_t try_best(search_t *search, cuai_point_t *wait_out,
                                 cuai_block_ref_t *block_out)
{
    bool free = search->ready.last != 0;
    if (!free && search->waiting.last == 0)
        return CUARENA_OUT_OF_MEMORY;
    candidate_t part = free ? cut(search, &search->ready) : find_last_candidate(search);
    bool steals;
    *wait_out = look_at_part(search, &part, &steals);
    return wait_out->stream != 0 ? CUARENA_BUSY : alloc_part(search, &part, steals, block_out);
}

/* ---- Waiting ----------------------------------------------------------- */

/* Makes the requester wait for what the owner freed so far; `open`: also for what is in its open
 * free list. With NULL only asks: OK or BUSY. *idle_out: it was complete, and is idle. Drops the
 * lock. */
static cuarena_status_t wait_for(cuarena_t *arena, const cuai_stream_t *requester, cuai_stream_t *s,
                                 bool open, bool *idle_out)
{
    CUAI_ASSERT(arena->reclaiming && s != requester);
    cuarena_status_t status = open ? cuai_stream_cover(arena, s) : CUARENA_OK;
    if (status != CUARENA_OK || s->behind_closed == 0)
        return status;
    if (open || requester == NULL)
        status = cuai_stream_reclaim(arena, s, false);
    *idle_out = s->behind_closed == 0;
    if (requester == NULL || *idle_out)
        return status;
    return requester->released ? CUARENA_BUSY
                               : cuai_timeline_see(arena, requester->number, cuai_closed(s), true);
}

cuarena_status_t cuai_stream_await(cuarena_t *arena, uint32_t number, uint32_t owner,
                                   uint64_t stamp)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    bool idle;
    cuai_reclaim_begin(arena);
    cuai_stream_t *s = arena->streams[owner]; /* the stream may have gone meanwhile */
    bool asks = number == 0 || arena->cpu_touches;
    if (s != NULL && s->timeline.done <= stamp)
        status = wait_for(arena, asks ? NULL : cuai_stream(arena, number), s,
                          s->behind_closed <= stamp, &idle);
    cuai_reclaim_end(arena);
    return status;
}

/* ---- Stealing ---------------------------------------------------------- */

/* Asked for a request that waits: an arena that grows has tried to before, but with steal=first. */
static bool cannot_grow(const cuarena_t *arena)
{
    return cuai_is_pool(arena) || arena->config.steal != CUARENA_STEAL_FIRST;
}

static void begin_search(search_t *search, cuarena_t *arena, const cuai_request_t *request)
{
    CUAI_ASSERT(request->stream != 0);
    cuarena_heap_t *heap = arena->heaps[cuai_region_for(arena, request->region)];
    uint64_t free_bytes = cuai_free_bytes(heap);
    uint64_t granule = cuai_granule(arena);
    search->arena = arena;
    search->heap = heap;
    search->request = request;
    search->requester = cuai_stream(arena, request->stream);
    search->region = cuai_region_for(arena, request->region);
    search->alignment = cuai_max(request->heap.alignment, granule);
    search->need = request->size + search->alignment - granule;
    search->is_large = cuai_is_large(heap, request->size);
    search->waits = request->waits;
    search->plenty =
        request->waits && cannot_grow(arena) && cuai_heap_bytes(heap) < heap->capacity / 2;
    search->in_parts = !request->waits || search->plenty;
    search->high = request->heap.low == 0 && cuai_goes_high(heap, free_bytes, request->size);
    search->patience = LONGEST_DELAY;
    search->excluded = (cuai_stream_set_t){{0, 0}};
}

cuarena_status_t cuai_try_alloc_stealing(cuarena_t *arena, const cuai_request_t *request,
                                         cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    search_t search;
    cuarena_status_t status = cuai_check_live(arena, request->size, request->credit);
    cuai_point_t wait;
    if (status != CUARENA_OK)
        return status;
    begin_search(&search, arena, request);
    note_owners(&search);
    set_effort(&search, wide);
    look_at_ready(&search);
    if (search.ready.last != 0)
        return try_best(&search, &wait, block_out);
    return cuai_free_bytes(search.heap) < request->size ? CUARENA_OUT_OF_MEMORY
                                                        : CUARENA_FRAGMENTED;
}

/* Searches, and lets the requester wait for other streams, until the request has its block or
 * nothing more helps. Drops the lock. */
static cuai_stolen_t steal(search_t *search, cuai_block_ref_t *block_out)
{
    bool idle = false;
    for (int waits = 0; waits <= MOST_WAITS && !idle; waits++) {
        cuai_point_t wait;
        note_owners(search);
        look_for(search);
        cuarena_status_t status = try_best(search, &wait, block_out);
        if (status == CUARENA_OK)
            return CUAI_STOLEN;
        if (waits == 0 && cuai_reclaim_complete(search->arena))
            return CUAI_STOLEN_IDLE;
        if (status != CUARENA_BUSY || cuai_is_lost(search->arena))
            return CUAI_STOLEN_NOTHING;
        cuai_stream_t *s = cuai_stream(search->arena, wait.stream);
        bool open = wait.serial == CUAI_TO_COME;
        if (wait_for(search->arena, search->requester, s, open, &idle) != CUARENA_OK)
            cuai_set_add(&search->excluded, wait.stream);
    }
    return idle ? CUAI_STOLEN_IDLE : CUAI_STOLEN_NOTHING;
}

/* Whether the requester has waited for anything that another stream freed. */
static bool is_behind_any(const cuarena_t *arena, const cuai_stream_t *requester)
{
    bool behind = false;
    const cuai_stream_t *s;
    for (uint32_t n = 0; !behind && (s = cuai_stream_next(arena, &n)) != NULL;)
        behind = s != requester && cuai_has_waited(arena, requester->number, s);
    return behind;
}

cuai_stolen_t cuai_steal(cuarena_t *arena, const cuai_request_t *request,
                         cuai_block_ref_t *block_out)
{
    cuai_assert_locked(arena);
    cuai_stolen_t stolen = CUAI_STOLEN_NOTHING;
    search_t search;
    if (!request->waits && !is_behind_any(arena, cuai_stream(arena, request->stream)))
        return CUAI_STOLEN_NOWHERE;
    cuai_reclaim_begin(arena);
    begin_search(&search, arena, request);
    if (!search.requester->released)
        stolen = steal(&search, block_out);
    cuai_reclaim_end(arena);
    return stolen;
}

/* ---- All of a stream's free lists ------------------------------------------- */

/* Lets the requester wait for a stream and gives it the free lists of that. If the open free list
 * has bytes, a new event covers both. Drops the lock. */
static cuarena_status_t steal_freelists(cuarena_t *arena, cuai_stream_t *requester,
                                        cuai_stream_t *s)
{
    CUAI_ASSERT(arena->reclaiming && s != requester);
    bool open = cuai_stream_bytes(arena, s, s->turn) != 0;
    bool idle = false;
    if (!open && cuai_stream_bytes(arena, s, !s->turn) == 0)
        return CUARENA_OK;
    cuarena_status_t status = wait_for(arena, requester, s, open, &idle);
    if (status != CUARENA_OK || !cuai_has_waited(arena, requester->number, s))
        return status;
    cuai_stream_want_event(arena, requester);
    cuai_freelists_merge(arena, s->freelists[!s->turn], requester->freelists[requester->turn]);
    return CUARENA_OK;
}

cuarena_status_t cuai_steal_all(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    cuai_reclaim_begin(arena);
    cuai_stream_t *requester = cuai_stream(arena, number);
    cuai_stream_t *s;
    for (uint32_t n = 0; !requester->released && (s = cuai_stream_next(arena, &n)) != NULL;)
        if (n != number && status == CUARENA_OK && s->capture == NULL) {
            status = steal_freelists(arena, requester, s);
            if (status == CUARENA_BUSY) /* it is being captured */
                status = CUARENA_OK;
        }
    cuai_reclaim_end(arena);
    return status;
}

/* ---- Waits of the program's own ---------------------------------------- */

cuarena_status_t cuai_moment(cuarena_t *arena, uint32_t number, uint64_t *serial_out)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = cuai_stream(arena, number);
    cuai_reclaim_begin(arena);
    cuarena_status_t status = cuai_stream_cover(arena, s);
    *serial_out = s->behind_closed; /* 0: no free bytes are behind an event */
    if (*serial_out == 0)
        *serial_out = ++arena->event_serial;
    cuai_reclaim_end(arena);
    return status;
}

void cuai_note_wait(cuarena_t *arena, uint32_t waiter, uint32_t producer, uint64_t serial)
{
    cuai_assert_locked(arena);
    cuai_reclaim_begin(arena);
    cuai_stream_t *s = cuai_stream(arena, producer);
    bool known = s != NULL && serial > s->born_serial; /* else all of that is over */
    if (known)
        cuai_note_seen(arena, waiter, (cuai_point_t){producer, serial});
    if (known && cuai_has_seen(arena, 0, cuai_closed(s)))
        cuai_stream_reclaim(arena, s, false);
    cuai_reclaim_end(arena);
}
