/*
 * The index of one lane: its free ranges by place and size.
 *
 *   zone    one of 32 equal parts of the heap's span; a range is in the zone
 *           of its first byte.
 *   class   a quarter of a power of two of sizes, counted in granules; below 8
 *           granules every size has a class of its own. The last class has
 *           all that is larger.
 *   list    the ranges of one zone and class, the last freed first; its number
 *           is zone * CUAI_CLASSES + class.
 *   top     of a zone: its highest class with a range, plus 1; 0: none.
 *
 * A bit per list tells whether it has a range, so the first class from some
 * class up is found by two words. The tops are bytes in zone order, so one
 * word tells which of eight zones have a range of some class or above. Every
 * insertion, removal and look is a bounded number of steps.
 *
 * 17 KiB, touched as far as it is used.
 */
#ifndef CUAI_HEAP_INDEX_H
#define CUAI_HEAP_INDEX_H

#include <string.h>

#include "heap/record.h"

#define CUAI_CLASS_BITS 2 /* log2 of the classes per power of two */
#define CUAI_CLASSES_LOG2 7
#define CUAI_CLASSES (1u << CUAI_CLASSES_LOG2)
/* One below the most, so that tops stay below 128. */
#define CUAI_LAST_CLASS (CUAI_CLASSES - 2)
#define CUAI_NO_CLASS CUAI_CLASSES

#define CUAI_ZONES_LOG2 5
#define CUAI_ZONES (1u << CUAI_ZONES_LOG2)
#define CUAI_NO_ZONE CUAI_ZONES
#define CUAI_LISTS (CUAI_ZONES * CUAI_CLASSES)
_Static_assert(CUAI_LISTS <= UINT16_MAX, "a list number has 16 bits");
_Static_assert(CUAI_CLASSES == 2 * 64, "two words of bits per zone");

typedef struct cuai_index {
    uint64_t free_bytes;
    uint64_t ranges; /* counted by the callers */
    uint8_t tops[CUAI_ZONES];
    uint64_t bits[CUAI_LISTS / 64];
    cuai_slot_t heads[CUAI_LISTS];
} cuai_index_t;

/* ---- Classes ----------------------------------------------------------------
 */

/* The class of a size of `granules` >= 1. But for the last class, a range of
 * class c is smaller than any of class c + 1. */
static inline uint32_t cuai_class_of(uint64_t granules)
{
    uint32_t top = cuai_log2_floor(granules | 1u << CUAI_CLASS_BITS);
    uint32_t shift = top - CUAI_CLASS_BITS;
    uint32_t class = (shift << CUAI_CLASS_BITS) + (uint32_t)(granules >> shift);
    return class < CUAI_LAST_CLASS ? class : CUAI_LAST_CLASS;
}

/* ---- Zones ------------------------------------------------------------- */

/* The first class >= `class` of a zone that has a range, or NO_CLASS. */
static inline uint32_t cuai_zone_first(const cuai_index_t *index, uint32_t zone,
                                       uint32_t class)
{
    const uint64_t *words = &index->bits[zone * 2];
    uint64_t bits = ~UINT64_C(0) << class % 64;
    if (class < 64) {
        if ((words[0] & bits) != 0)
            return cuai_ctz(words[0] & bits);
        bits = ~UINT64_C(0);
    }
    bits &= words[1];
    return bits != 0 ? 64 + cuai_ctz(bits) : CUAI_NO_CLASS;
}

static inline uint8_t cuai_zone_top(const cuai_index_t *index, uint32_t zone)
{
    const uint64_t *words = &index->bits[zone * 2];
    if (words[1] != 0)
        return (uint8_t)(65 + cuai_log2_floor(words[1]));
    return words[0] != 0 ? (uint8_t)(1 + cuai_log2_floor(words[0])) : 0;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "byte i of a word is its bits 8i and up");

/*
 * Of eight zones, those whose top is at least `top`, by the highest bit of
 * their byte. In each byte, the zone's top + 128 - `top` keeps that bit exactly
 * where this is so; no byte borrows from another.
 */
static inline uint64_t cuai_zones_from(const cuai_index_t *index,
                                       uint32_t eighth, uint32_t top)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t high = ones << 7;
    uint64_t tops;
    memcpy(&tops, &index->tops[eighth * 8], sizeof tops);
    return ((tops | high) - top * ones) & high;
}

/* The lowest zone from `from` on whose top is at least `top`, or NO_ZONE. */
static inline uint32_t cuai_zones_up(const cuai_index_t *index, uint32_t from,
                                     uint32_t top)
{
    if (from >= CUAI_ZONES)
        return CUAI_NO_ZONE;
    uint64_t mask = ~UINT64_C(0) << from % 8 * 8;
    for (uint32_t i = from / 8; i < CUAI_ZONES / 8; i++) {
        uint64_t zones = cuai_zones_from(index, i, top) & mask;
        if (zones != 0)
            return i * 8 + cuai_ctz(zones) / 8;
        mask = ~UINT64_C(0);
    }
    return CUAI_NO_ZONE;
}

/* The highest zone from `from` down whose top is at least `top`, or NO_ZONE,
 * which may also be where the search begins: then there is none. */
static inline uint32_t cuai_zones_down(const cuai_index_t *index, uint32_t from,
                                       uint32_t top)
{
    if (from >= CUAI_ZONES)
        return CUAI_NO_ZONE;
    uint64_t mask = ~UINT64_C(0) >> (7 - from % 8) * 8;
    for (uint32_t i = from / 8 + 1; i-- > 0;) {
        uint64_t zones = cuai_zones_from(index, i, top) & mask;
        if (zones != 0)
            return i * 8 + cuai_log2_floor(zones) / 8;
        mask = ~UINT64_C(0);
    }
    return CUAI_NO_ZONE;
}

/* ---- Insertion and removal --------------------------------------------- */

static inline uint32_t cuai_list_of(uint32_t zone, uint32_t class)
{
    return zone << CUAI_CLASSES_LOG2 | class;
}

static inline void cuai_index_insert(cuai_index_t *index,
                                     cuai_record_t *records, cuai_slot_t slot,
                                     uint32_t list)
{
    cuai_slot_t head = index->heads[list];
    cuai_record_t *r = &records[slot];
    r->list = (uint16_t)list;
    r->up = 0;
    r->down = head;
    index->heads[list] = slot;
    if (head != 0) {
        records[head].up = slot;
        return;
    }
    index->bits[list / 64] |= UINT64_C(1) << list % 64;
    uint8_t top = (uint8_t)(list % CUAI_CLASSES + 1);
    uint8_t *zone_top = &index->tops[list / CUAI_CLASSES];
    if (top > *zone_top)
        *zone_top = top;
}

static inline void cuai_index_remove(cuai_index_t *index,
                                     cuai_record_t *records, cuai_slot_t slot)
{
    const cuai_record_t *r = &records[slot];
    cuai_slot_t up = r->up;
    cuai_slot_t down = r->down;
    uint32_t list = r->list;
    if (down != 0)
        records[down].up = up;
    if (up != 0) {
        records[up].down = down;
        return;
    }
    index->heads[list] = down;
    if (down != 0)
        return;
    index->bits[list / 64] &= ~(UINT64_C(1) << list % 64);
    uint32_t zone = list / CUAI_CLASSES;
    if (index->tops[zone] == list % CUAI_CLASSES + 1)
        index->tops[zone] = cuai_zone_top(index, zone);
}

/* `slot` takes the place of `other` in its list. */
static inline void cuai_index_replace(cuai_index_t *index,
                                      cuai_record_t *records, cuai_slot_t other,
                                      cuai_slot_t slot)
{
    const cuai_record_t *o = &records[other];
    cuai_record_t *r = &records[slot];
    r->list = o->list;
    r->up = o->up;
    r->down = o->down;
    if (r->up != 0)
        records[r->up].down = slot;
    else
        index->heads[r->list] = slot;
    if (r->down != 0)
        records[r->down].up = slot;
}

#endif
