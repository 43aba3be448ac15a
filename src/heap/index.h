/*
 * The index of one lane: its free ranges by place and size.
 *
 *   zone    one of 32 equal parts of the heap's span; a range is in the zone
 *           of its first byte.
 *   class   1/32 of a power of two of sizes, counted in granules; below 64
 *           granules every size has a class of its own.
 *   top     of a zone: the step of its highest class with a range, a step
 *           being eight classes (a quarter of a power of two).
 *
 * Every zone has a list per class, and bitmaps that tell which lists have a
 * range. The tops of all zones are bytes of four words, so that one pass over
 * four words tells which zones have a range of some step or above. Insertion,
 * removal and every look are a bounded number of steps.
 *
 * About 180 KiB of addresses, touched as far as they are used.
 */
#ifndef CUAI_HEAP_INDEX_H
#define CUAI_HEAP_INDEX_H

#include <string.h>

#include "heap/record.h"

#define CUAI_CLASS_BITS 5 /* log2 of the classes per power of two */
#define CUAI_CLASSES_PER_OCTAVE (1u << CUAI_CLASS_BITS)
/* The largest size is 2^48 bytes in granules of 8. */
#define CUAI_MAX_GRANULES_LOG2 45
#define CUAI_CLASSES                                                           \
    ((CUAI_MAX_GRANULES_LOG2 - CUAI_CLASS_BITS + 2) * CUAI_CLASSES_PER_OCTAVE)
#define CUAI_CLASS_WORDS (CUAI_CLASSES / 64)
#define CUAI_NO_CLASS CUAI_CLASSES
_Static_assert(CUAI_CLASSES % 64 == 0, "whole words of bits");
_Static_assert(CUAI_CLASS_WORDS <= 64, "one summary word");

#define CUAI_ZONES_LOG2 5
#define CUAI_ZONES (1u << CUAI_ZONES_LOG2)

/* Steps are 1 .. LAST_STEP; the last one has all classes above too. 0 is the
 * top of a zone without ranges. */
#define CUAI_STEP_BITS 3 /* log2 of the classes per step */
#define CUAI_LAST_STEP 127u

typedef struct cuai_zone {
    uint64_t summary; /* bit w: words[w] is not 0 */
    uint64_t words[CUAI_CLASS_WORDS];
    cuai_slot_t heads[CUAI_CLASSES];
} cuai_zone_t;

typedef struct cuai_index {
    uint8_t tops[CUAI_ZONES]; /* zone z: byte z / 4 of word z % 4 */
    uint64_t free_bytes;
    uint64_t ranges;
    cuai_zone_t zones[CUAI_ZONES];
} cuai_index_t;

/* ---- Classes and steps ----------------------------------------------------
 */

/* The class of a size of `granules` >= 1. A range of class c is at least
 * cuai_class_floor(c) and less than cuai_class_floor(c + 1) granules. */
static inline uint32_t cuai_class_of(uint64_t granules)
{
    uint32_t top = cuai_log2_floor(granules | CUAI_CLASSES_PER_OCTAVE);
    uint32_t shift = top - CUAI_CLASS_BITS;
    return (shift << CUAI_CLASS_BITS) + (uint32_t)(granules >> shift);
}

static inline uint64_t cuai_class_floor(uint32_t class)
{
    uint32_t shift = class >> CUAI_CLASS_BITS;
    if (shift < 2)
        return class;
    uint64_t mantissa = class & (CUAI_CLASSES_PER_OCTAVE - 1);
    return (mantissa | CUAI_CLASSES_PER_OCTAVE) << (shift - 1);
}

static inline uint32_t cuai_step_of(uint32_t class)
{
    uint32_t step = (class >> CUAI_STEP_BITS) + 1;
    return step < CUAI_LAST_STEP ? step : CUAI_LAST_STEP;
}

/* ---- Zones ------------------------------------------------------------------
 */

/* The first class >= `class` of the zone that has a range, or NO_CLASS. */
static inline uint32_t cuai_zone_first(const cuai_zone_t *zone, uint32_t class)
{
    if (class >= CUAI_CLASSES)
        return CUAI_NO_CLASS;
    uint32_t word = class / 64;
    uint64_t bits = zone->words[word] & (~UINT64_C(0) << class % 64);
    if (bits == 0) {
        uint64_t above = zone->summary & (~UINT64_C(1) << word);
        if (above == 0)
            return CUAI_NO_CLASS;
        word = cuai_ctz(above);
        bits = zone->words[word];
    }
    return word * 64 + cuai_ctz(bits);
}

/* The last class of the zone that has a range, or NO_CLASS. */
static inline uint32_t cuai_zone_last(const cuai_zone_t *zone)
{
    if (zone->summary == 0)
        return CUAI_NO_CLASS;
    uint32_t word = cuai_log2_floor(zone->summary);
    return word * 64 + cuai_log2_floor(zone->words[word]);
}

/* ---- Sets of zones
 * ------------------------------------------------------------ */

/* A set of zones: zone z is bit 8 * (z / 4) + z % 4. Higher zones have higher
 * bits. */
typedef uint64_t cuai_zones_t;

static inline uint8_t *cuai_index_top(cuai_index_t *index, uint32_t zone)
{
    return &index->tops[zone % 4 * 8 + zone / 4];
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "byte i of a word is its bits 8i and up");

/*
 * The zones whose top is at least `step`. In each byte, top + 128 - step keeps
 * its highest bit exactly where that is so; no byte borrows from another.
 */
static inline cuai_zones_t cuai_zones_from(const cuai_index_t *index,
                                           uint32_t step)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t high = ones << 7;
    uint64_t tops[4];
    memcpy(tops, index->tops, sizeof tops);
    cuai_zones_t zones = 0;
    for (int i = 0; i < 4; i++)
        zones |= (((tops[i] | high) - step * ones) & high) >> (7 - i);
    return zones;
}

static inline uint32_t cuai_zones_lowest(cuai_zones_t zones)
{
    uint32_t bit = cuai_ctz(zones);
    return bit / 8 * 4 + bit % 8;
}

static inline uint32_t cuai_zones_highest(cuai_zones_t zones)
{
    uint32_t bit = cuai_log2_floor(zones);
    return bit / 8 * 4 + bit % 8;
}

static inline cuai_zones_t cuai_zones_without(cuai_zones_t zones, uint32_t zone)
{
    return zones & ~(UINT64_C(1) << (zone / 4 * 8 + zone % 4));
}

/* ---- Insertion and removal
 * ------------------------------------------------------ */

static inline void cuai_index_insert(cuai_index_t *index,
                                     cuai_record_t *records, cuai_slot_t slot,
                                     uint32_t zone_number, uint32_t class)
{
    cuai_zone_t *zone = &index->zones[zone_number];
    cuai_slot_t head = zone->heads[class];
    records[slot].zone = (uint8_t)zone_number;
    records[slot].up = 0;
    records[slot].down = head;
    zone->heads[class] = slot;
    index->ranges++;
    if (head != 0) {
        records[head].up = slot;
        return;
    }
    zone->words[class / 64] |= UINT64_C(1) << class % 64;
    zone->summary |= UINT64_C(1) << class / 64;
    uint8_t *top = cuai_index_top(index, zone_number);
    uint32_t step = cuai_step_of(class);
    if (step > *top)
        *top = (uint8_t)step;
}

/* A list of the zone became empty. */
static inline void cuai_zone_vacate(cuai_index_t *index, uint32_t zone_number,
                                    uint32_t class)
{
    cuai_zone_t *zone = &index->zones[zone_number];
    zone->words[class / 64] &= ~(UINT64_C(1) << class % 64);
    if (zone->words[class / 64] == 0)
        zone->summary &= ~(UINT64_C(1) << class / 64);
    uint8_t *top = cuai_index_top(index, zone_number);
    if (cuai_step_of(class) != *top)
        return;
    uint32_t last = cuai_zone_last(zone);
    *top = last == CUAI_NO_CLASS ? 0 : (uint8_t)cuai_step_of(last);
}

static inline void cuai_index_remove(cuai_index_t *index,
                                     cuai_record_t *records, cuai_slot_t slot,
                                     uint32_t class)
{
    cuai_slot_t up = records[slot].up;
    cuai_slot_t down = records[slot].down;
    uint32_t zone = records[slot].zone;
    index->ranges--;
    if (down != 0)
        records[down].up = up;
    if (up != 0) {
        records[up].down = down;
        return;
    }
    index->zones[zone].heads[class] = down;
    if (down == 0)
        cuai_zone_vacate(index, zone, class);
}

#endif
