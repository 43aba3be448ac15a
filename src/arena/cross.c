/*
 * Crossing: a stream takes bytes that another one freed, by waiting for it.
 *
 *   holder   of a range: the stream that a taker must wait for first; 0 if it
 *            need not: the range is settled, its own, or in the closed lane of
 *            a stream whose marker it has waited for.
 *   window   free bytes without a gap, in ranges of whatever lanes, that the
 *            request fits in. One range, if there is one that is large enough;
 *            else several that touch.
 *
 * The taker waits for one holder of the window after the other, and looks again
 * after each: the lock was let go of. When no holder is left, exactly the bytes
 * of the request join its open lane, and what else the window had stays whose
 * it was: a holder that got its rest back later would have to wait in turn, and
 * the streams would run one after the other.
 *
 * Which holder: one for which nothing has to be waited; then, after those whose
 * markers are complete were settled, the one whose marker is oldest, since it
 * is likely to be complete first; then those without one, by how long they have
 * been without. Among windows of several ranges, the fewest waits and then the
 * fewest bytes.
 */
#include "arena/arena.h"
#include "heap/placement.h"

/* Waits for one request: each ends one holder, or bars it. */
#define MOST_WAITS 16
/* The holder of ranges that nobody may take. */
#define NOBODY UINT8_MAX
/* Lanes of the streams and lane 0; above them there is HELD. */
#define LANES (2 * CUAI_STREAM_NUMBERS + 1)
_Static_assert(CUAI_STREAM_NUMBERS < NOBODY, "holders");

typedef struct window {
    cuai_slot_t last; /* the range that it ends in; 0: there is no window */
    uint64_t begin;
    uint64_t end;
    uint32_t waits;  /* holders */
    uint32_t holder; /* one of them, or 0 */
    bool open;       /* ... in whose open lane some of it is */
    uint64_t age;    /* of its only range: less is older */
} window_t;

typedef struct search {
    cuarena_t *arena;
    cuarena_heap_t *heap;
    const cuai_want_t *want;
    int32_t region;
    uint64_t alignment;
    uint64_t need; /* bytes in which it fits wherever they begin */
    uint8_t holders[LANES];
    cuai_stream_set_t barred; /* streams that could not be waited for */
    window_t best;
} search_t;

/* ---- Holders ----------------------------------------------------------- */

static bool has_waited(const cuai_stream_t *taker, const cuai_stream_t *s)
{
    return taker->waited[s->number] >= s->serial;
}

static void note_holder(search_t *search, const cuai_stream_t *s)
{
    const cuai_stream_t *taker =
        cuai_stream(search->arena, search->want->stream);
    const uint32_t *lanes = s->lanes[search->region];
    bool barred = cuai_set_has(&search->barred, s->number);
    uint8_t must = barred ? NOBODY : (uint8_t)s->number;
    search->holders[lanes[s->turn]] = must;
    search->holders[lanes[!s->turn]] = has_waited(taker, s) ? 0 : must;
}

static void note_holders(search_t *search)
{
    const cuarena_t *arena = search->arena;
    memset(search->holders, 0, sizeof search->holders);
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++)
        if (arena->streams[n] != NULL && n != search->want->stream)
            note_holder(search, arena->streams[n]);
}

static uint32_t holder_of(const search_t *search, const cuai_record_t *r)
{
    uint32_t lane = cuai_range_lane(r);
    return r->key == 0 || lane >= LANES ? NOBODY : search->holders[lane];
}

static bool is_open(const search_t *search, const cuai_record_t *r)
{
    uint32_t holder = holder_of(search, r);
    const cuai_stream_t *s = cuai_stream(search->arena, holder);
    return cuai_range_lane(r) == s->lanes[search->region][s->turn];
}

/* ---- One range --------------------------------------------------------- */

/* Open lanes come after all closed ones. */
static uint64_t age_of(const cuai_stream_t *s, bool open)
{
    return s->serial | (uint64_t)open << 63;
}

static void try_lane(search_t *search, const cuai_stream_t *s, bool open)
{
    uint32_t lane = s->lanes[search->region][open ? s->turn : !s->turn];
    uint32_t holder = search->holders[lane];
    uint64_t age = holder == 0 ? 0 : age_of(s, open);
    bool tried = holder != NOBODY &&
                 search->heap->lanes[lane]->free_bytes >= search->want->size &&
                 (search->best.last == 0 || age < search->best.age);
    cuai_place_t place = {search->want->size, search->alignment, lane,
                          search->want->request.low != 0, false};
    cuai_slot_t slot = tried ? cuai_place(search->heap, &place) : CUAI_NO_PLACE;
    if (slot == CUAI_NO_PLACE)
        return;
    const cuai_record_t *r = cuai_record(search->heap, slot);
    search->best = (window_t){
        .last = slot,
        .begin = cuai_end(r),
        .end = cuai_end(r) + cuai_range(r),
        .waits = holder != 0,
        .holder = holder,
        .open = open,
        .age = age,
    };
}

static void find_range(search_t *search)
{
    const cuarena_t *arena = search->arena;
    for (uint32_t n = 1; n < CUAI_STREAM_NUMBERS; n++) {
        const cuai_stream_t *s = arena->streams[n];
        if (s == NULL || n == search->want->stream)
            continue;
        try_lane(search, s, false);
        try_lane(search, s, true);
    }
}

/* ---- Ranges that touch ------------------------------------------------- */

/* Ranges without a gap between them, and the window of them looked at. */
typedef struct row {
    uint8_t held[NOBODY + 1]; /* ranges of each holder in the window */
    uint32_t waits;
    cuai_slot_t first;
    uint64_t bytes;
} row_t;

static void put_in(const search_t *search, row_t *row, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(search->heap, slot);
    uint32_t holder = holder_of(search, r);
    row->bytes += cuai_range(r);
    if (holder != 0)
        row->waits += row->held[holder]++ == 0;
}

static void leave_out(const search_t *search, row_t *row, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(search->heap, slot);
    uint32_t holder = holder_of(search, r);
    row->bytes -= cuai_range(r);
    if (holder != 0)
        row->waits -= --row->held[holder] == 0;
    row->first = r->next;
}

/* The ranges of a window, from its last one down, say whom to wait for. */
static void name_holder(const search_t *search, window_t *window)
{
    for (cuai_slot_t slot = window->last;;) {
        const cuai_record_t *r = cuai_record(search->heap, slot);
        uint32_t holder = holder_of(search, r);
        if (holder != 0 && window->holder == 0)
            window->holder = holder;
        if (holder != 0 && holder == window->holder)
            window->open = window->open || is_open(search, r);
        if (cuai_end(r) <= window->begin)
            return;
        slot = r->prev;
    }
}

static void consider(search_t *search, const row_t *row, cuai_slot_t last)
{
    const cuai_record_t *r = cuai_record(search->heap, last);
    uint64_t end = cuai_end(r) + cuai_range(r);
    const window_t *best = &search->best;
    bool better =
        best->last == 0 || row->waits < best->waits ||
        (row->waits == best->waits && row->bytes < best->end - best->begin);
    if (row->bytes < search->need || !better)
        return;
    search->best = (window_t){.last = last,
                              .begin = end - row->bytes,
                              .end = end,
                              .waits = row->waits};
}

static bool is_usable(const search_t *search, cuai_slot_t slot)
{
    return holder_of(search, cuai_record(search->heap, slot)) != NOBODY;
}

static bool goes_on(const search_t *search, cuai_slot_t slot)
{
    return cuai_record(search->heap, slot)->kind == CUAI_SPACER &&
           is_usable(search, slot);
}

/* The window ends in one range after the other, and is as short as can be. */
static void find_in_row(search_t *search, cuai_slot_t first)
{
    row_t row = {.first = first};
    cuai_slot_t slot = first;
    do {
        if (row.held[holder_of(search, cuai_record(search->heap, slot))] ==
            UINT8_MAX)
            return;
        put_in(search, &row, slot);
        while (row.bytes - cuai_range(cuai_record(search->heap, row.first)) >=
               search->need)
            leave_out(search, &row, row.first);
        consider(search, &row, slot);
        slot = cuai_record(search->heap, slot)->next;
    } while (goes_on(search, slot));
}

/* The row's first range; 0 if one before has a holder too: then the row is
 * found from there. */
static cuai_slot_t row_of(const search_t *search, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(search->heap, slot);
    while (r->kind == CUAI_SPACER && is_usable(search, r->prev)) {
        slot = r->prev;
        r = cuai_record(search->heap, slot);
        if (holder_of(search, r) != 0)
            return 0;
    }
    return slot;
}

static void find_from(search_t *search, cuai_slot_t slot)
{
    for (; slot != 0; slot = cuai_record(search->heap, slot)->down) {
        cuai_slot_t first = row_of(search, slot);
        if (first != 0)
            find_in_row(search, first);
    }
}

static void find_beside(search_t *search, uint32_t lane)
{
    const cuai_index_t *index = search->heap->lanes[lane];
    for (uint32_t zone = 0; index->ranges != 0 && zone < CUAI_ZONES; zone++) {
        uint32_t class = cuai_zone_first(index, zone, 0);
        while (class != CUAI_NO_CLASS) {
            find_from(search, index->heads[cuai_list_of(zone, class)]);
            class = cuai_zone_first(index, zone, class + 1);
        }
    }
}

static void find_row(search_t *search)
{
    if (search->heap->spacers == 0)
        return;
    for (uint32_t lane = 1; lane < LANES; lane++)
        if (search->holders[lane] != 0 && search->holders[lane] != NOBODY)
            find_beside(search, lane);
    if (search->best.last != 0)
        name_holder(search, &search->best);
}

/* ---- Waiting and taking ------------------------------------------------ */

void cuai_stream_saw(cuarena_t *arena, uint32_t waiter, uint32_t producer,
                     uint64_t serial)
{
    cuai_stream_t *taker = cuai_stream(arena, waiter);
    const cuai_stream_t *s = cuai_stream(arena, producer);
    bool last = serial == s->serial;
    for (uint32_t n = 1; last && n < CUAI_STREAM_NUMBERS; n++)
        cuai_raise(&taker->waited[n], s->told[n]);
    cuai_raise(&taker->waited[producer], serial);
}

/* Makes the taker wait for what `s` freed so far, or less if that is known to
 * be enough. *settled_out: it was complete. Steps out. */
static cuarena_status_t wait_for(const search_t *search, cuai_stream_t *s,
                                 bool open, bool *settled_out)
{
    cuarena_t *arena = search->arena;
    cuarena_status_t status = CUARENA_OK;
    if (open) {
        status = cuai_stream_cover(arena, s);
        if (status != CUARENA_OK || s->marker == NULL)
            return status;
        *settled_out = cuai_stream_poll(arena, s) == CUARENA_OK;
    }
    if (s->marker == NULL)
        return status;
    cuarena_stream_t handle = cuai_stream_handle(arena, search->want->stream);
    void *marker = s->marker;
    uint64_t serial = s->serial;
    arena->stream_waits++;
    cuai_unlock(&arena->lock);
    status = arena->memory.ops.wait(arena->memory.user, marker, handle, 0);
    cuai_lock(&arena->lock);
    if (status == CUARENA_OK)
        cuai_stream_saw(arena, search->want->stream, s->number, serial);
    return cuai_note_loss(arena, status);
}

/* From the end that placement would cut such a block from. A marker that an
 * eager stream has may be older than its wait. */
static bool take(search_t *search)
{
    cuai_stream_t *s = cuai_stream(search->arena, search->want->stream);
    const window_t *window = &search->best;
    cuarena_heap_t *heap = search->heap;
    uint64_t size = search->want->size;
    uint64_t begin = cuai_align_up(window->begin, search->alignment);
    bool high = search->want->request.low == 0 &&
                cuai_goes_high(heap, heap->capacity - heap->live_bytes, size);
    if (high)
        begin = (window->end - size) & ~(search->alignment - 1);
    if (cuai_lane_gather(heap, window->last, begin, begin + size,
                         s->lanes[search->region][s->turn]) != CUARENA_OK)
        return false;
    s->uncovered = s->uncovered || s->eager;
    search->arena->crossings++;
    return true;
}

static void look(search_t *search)
{
    search->best = (window_t){0};
    note_holders(search);
    find_range(search);
    if (search->best.last == 0)
        find_row(search);
}

/* Whether bytes came: crossed, or settled on the way. Steps out. */
static bool cross(search_t *search)
{
    bool settled = false;
    look(search);
    if (search->best.last != 0 && search->best.waits == 0)
        return take(search);
    if (cuai_settle_complete(search->arena))
        return true;
    for (int waits = 0; waits <= MOST_WAITS && !settled; waits++) {
        look(search);
        const window_t *best = &search->best;
        if (best->last == 0 || cuai_is_lost(search->arena))
            return false;
        if (best->waits == 0)
            return take(search);
        uint32_t holder = best->holder;
        if (wait_for(search, cuai_stream(search->arena, holder), best->open,
                     &settled) != CUARENA_OK)
            cuai_set_add(&search->barred, holder);
    }
    return settled;
}

static bool is_worth_looking(const search_t *search)
{
    const cuarena_t *arena = search->arena;
    const cuai_stream_t *taker = cuai_stream(arena, search->want->stream);
    const cuarena_heap_t *heap = search->heap;
    return arena->stream_count > 1 && !taker->released &&
           heap->capacity - heap->live_bytes >= search->want->size;
}

bool cuai_cross(cuarena_t *arena, const cuai_want_t *want)
{
    int32_t region = cuai_region_for(arena, want->region);
    cuarena_heap_t *heap = arena->heaps[region];
    uint64_t granule = cuai_granule(arena);
    search_t search = {
        .arena = arena,
        .heap = heap,
        .want = want,
        .region = region,
        .alignment = cuai_max(want->request.alignment, granule),
    };
    search.need = want->size + search.alignment - granule;
    cuai_settle_begin(arena);
    bool came = is_worth_looking(&search) && cross(&search);
    cuai_settle_end(arena);
    return came;
}

/* ---- Waits of the program's own ---------------------------------------- */

cuarena_status_t cuai_moment(cuarena_t *arena, uint32_t number,
                             uint64_t *serial_out)
{
    cuai_stream_t *s = cuai_stream(arena, number);
    cuai_settle_begin(arena);
    cuarena_status_t status = cuai_stream_cover(arena, s);
    if (s->marker == NULL) /* nothing of it is free */
        s->serial = ++arena->mark_serial;
    *serial_out = s->serial;
    cuai_settle_end(arena);
    return status;
}

void cuai_note_wait(cuarena_t *arena, uint32_t waiter, uint32_t producer,
                    uint64_t serial)
{
    cuai_settle_begin(arena);
    cuai_stream_t *s = cuai_stream(arena, producer);
    bool known = s != NULL && serial > s->born; /* else it is over */
    if (known && waiter != 0 && waiter != producer)
        cuai_stream_saw(arena, waiter, producer, serial);
    if (known && waiter == 0 && s->marker != NULL && serial >= s->serial)
        cuai_stream_settle_closed(arena, s);
    cuai_settle_end(arena);
}
