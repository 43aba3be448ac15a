/*
 * Placement: the policies.
 *
 *   ends   Small requests and giants are served from the top end of the heap,
 *          all others from its bottom end: first fit by zone from that end,
 *          and within a zone the best fit that a bounded look finds. Small is
 *          less than 7/1024 of the heap; a giant takes 7/32 of all that is
 *          free. So the many short-lived small blocks do not split what the
 *          middle ones need, and a giant leaves the middle ones together.
 *   low    First fit by zone from the bottom end for all.
 *   best   One zone: the best fit that a bounded look finds.
 *
 * The numbers are shares, not sizes, and none sits on an edge: docs/DESIGN.md
 * has the figures for their neighbours and for programs that they were not
 * chosen on.
 */
#include "heap/placement.h"

/* How many ranges of one list are looked at. */
#define CANDIDATES 4
/* How many zones whose top may be too small are looked at. */
#define ZONE_TRIES 4

#define SMALL_NUMERATOR 7
#define SMALL_DIVISOR 1024
#define GIANT_NUMERATOR 7
#define GIANT_DIVISOR 32

bool cuai_placement_zones(const cuarena_heap_t *heap)
{
    return heap->placement != CUARENA_PLACEMENT_BEST;
}

uint64_t cuai_placement_small(uint64_t capacity)
{
    return capacity / SMALL_DIVISOR * SMALL_NUMERATOR;
}

static inline bool goes_high(const cuarena_heap_t *heap,
                             const cuai_index_t *index,
                             const cuai_place_t *place)
{
    if (heap->placement >= CUARENA_PLACEMENT_BEST || place->low)
        return false;
    return place->size < heap->small_bytes ||
           place->size * GIANT_DIVISOR >= index->free_bytes * GIANT_NUMERATOR;
}

/* Whether a block as asked fits into the record's range. */
static inline bool fits(const cuai_record_t *r, const cuai_place_t *place)
{
    uint64_t start = cuai_end(r);
    uint64_t front = cuai_align_up(start, place->alignment) - start;
    uint64_t range = cuai_range(r);
    return range >= front && range - front >= place->size;
}

/* The smallest range that fits among the first `most` of a list. */
static inline cuai_slot_t best_of(cuarena_heap_t *heap, cuai_slot_t slot,
                                  const cuai_place_t *place, uint64_t most)
{
    cuai_slot_t best = CUAI_NO_PLACE;
    uint64_t best_key = UINT64_MAX;
    for (; slot != 0 && most != 0; most--) {
        const cuai_record_t *r = cuai_record(heap, slot);
        heap->search_steps++;
        if (r->key < best_key && fits(r, place)) {
            best = slot;
            best_key = r->key;
        }
        slot = r->down;
    }
    return best;
}

/* A look into one zone, from `class`, which may be too small, upwards. */
static inline cuai_slot_t look(cuarena_heap_t *heap, const cuai_zone_t *zone,
                               uint32_t class, const cuai_place_t *place)
{
    cuai_slot_t slot = zone->heads[class];
    if (slot != 0)
        slot = best_of(heap, slot, place, CANDIDATES);
    if (slot != CUAI_NO_PLACE)
        return slot;
    class = cuai_zone_first(zone, class + 1);
    if (class == CUAI_NO_CLASS)
        return CUAI_NO_PLACE;
    return best_of(heap, zone->heads[class], place, CANDIDATES);
}

/* Before a refusal: every range of the lane that might fit. */
static CUAI_NOINLINE cuai_slot_t search_all(cuarena_heap_t *heap,
                                            const cuai_index_t *index,
                                            const cuai_place_t *place)
{
    heap->full_searches++;
    for (uint32_t zone = 0; zone < CUAI_ZONES; zone++) {
        const cuai_zone_t *z = &index->zones[zone];
        uint32_t class = cuai_zone_first(z, cuai_class(heap, place->size));
        while (class != CUAI_NO_CLASS) {
            cuai_slot_t slot =
                best_of(heap, z->heads[class], place, UINT64_MAX);
            if (slot != CUAI_NO_PLACE)
                return slot;
            class = cuai_zone_first(z, class + 1);
        }
    }
    return CUAI_NO_PLACE;
}

/*
 * Zones from one end whose top says that they may have room; after a few that
 * had none, only zones whose top says that they have. At most ZONE_TRIES + 1
 * zones and twice CANDIDATES ranges in each.
 */
cuai_slot_t cuai_place(cuarena_heap_t *heap, cuai_place_t *place)
{
    const cuai_index_t *index = heap->lanes[place->lane];
    uint64_t sure = place->size + place->alignment - 1 - heap->granule_mask;
    uint32_t class = cuai_class(heap, sure);
    uint32_t step = cuai_step_of(class);
    place->high = goes_high(heap, index, place);
    cuai_zones_t zones = cuai_zones_from(index, step);
    for (int tries = 0; zones != 0; tries++) {
        uint32_t zone =
            place->high ? cuai_zones_highest(zones) : cuai_zones_lowest(zones);
        cuai_slot_t slot = look(heap, &index->zones[zone], class, place);
        if (CUAI_LIKELY(slot != CUAI_NO_PLACE))
            return slot;
        zones = cuai_zones_without(zones, zone);
        if (tries + 1 == ZONE_TRIES)
            zones &= cuai_zones_from(index, step + 1);
    }
    return search_all(heap, index, place);
}
