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
 *   top     of a zone: its highest class with a range; 0, a class that no
 *           size has, if there is none.
 *
 * A bit per list tells whether it has a range, so the first class from some
 * class up is found by two words. The tops are bytes of four words, which are
 * compared with a class at once. Every insertion, removal and look is a bounded
 * number of steps, and has no branch where none could be foretold.
 *
 * 17 KiB, touched as far as it is used.
 */
#ifndef CUAI_HEAP_INDEX_H
#define CUAI_HEAP_INDEX_H

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "heap/record.h"

#define CUAI_CLASS_BITS 2 /* log2 of the classes per power of two */
#define CUAI_CLASSES_LOG2 7
#define CUAI_CLASSES (1u << CUAI_CLASSES_LOG2)
/* One below the most, so that the class after it is one too. */
#define CUAI_LAST_CLASS (CUAI_CLASSES - 2)
#define CUAI_NO_CLASS CUAI_CLASSES

#define CUAI_ZONES_LOG2 5
#define CUAI_ZONES (1u << CUAI_ZONES_LOG2)
#define CUAI_LISTS (CUAI_ZONES * CUAI_CLASSES)
_Static_assert(CUAI_LISTS <= UINT16_MAX, "a list number has 16 bits");
_Static_assert(CUAI_CLASSES == 2 * 64, "two words of bits per zone");

typedef struct cuai_index {
    uint64_t free_bytes;
    uint64_t ranges;               /* counted by the callers */
    uint64_t tops[CUAI_ZONES / 8]; /* zone z: byte z % 8 of word z / 8 */
    uint64_t bits[CUAI_LISTS / 64];
    cuai_slot_t heads[CUAI_LISTS];
} cuai_index_t;

/* ---- Classes ----------------------------------------------------------------
 */

/* The class of a size of `granules` >= 1 if there were no last class: for
 * ranges below CUAI_SMALL_GRANULES. */
static inline uint32_t cuai_class_small(uint64_t granules)
{
    uint32_t top = cuai_log2_floor(granules | 1u << CUAI_CLASS_BITS);
    uint32_t shift = top - CUAI_CLASS_BITS;
    return (shift << CUAI_CLASS_BITS) + (uint32_t)(granules >> shift);
}

/* The class of any size. But for the last class, a range of class c is smaller
 * than any of class c + 1. */
static inline uint32_t cuai_class_of(uint64_t granules)
{
    uint32_t class = cuai_class_small(granules);
    return class < CUAI_LAST_CLASS ? class : CUAI_LAST_CLASS;
}

/* A power of two of class CUAI_LAST_CLASS - 2. */
#define CUAI_SMALL_GRANULES (UINT64_C(1) << 32)

/* ---- Zones ------------------------------------------------------------- */

/* The first class >= `class` of a zone that has a range of one. Masks instead
 * of branches: which word it is in cannot be foretold. */
static inline uint32_t cuai_zone_first_sure(const cuai_index_t *index,
                                            uint32_t zone, uint32_t class)
{
    const uint64_t *words = &index->bits[zone * 2];
    uint64_t bits = ~UINT64_C(0) << class % 64;
    uint64_t above = -(uint64_t)(class / 64);
    uint64_t low = words[0] & bits & ~above;
    uint64_t high = words[1] & (bits | ~above);
    uint64_t none = -(uint64_t)(low == 0);
    return cuai_ctz(low | (high & none)) + ((uint32_t)none & 64);
}

/* The top that the index keeps. Words, not bytes, are stored: a load of more
 * than the last store wrote waits for that to reach the cache. */
static inline uint32_t cuai_index_top(const cuai_index_t *index, uint32_t zone)
{
    return (uint8_t)(index->tops[zone / 8] >> zone % 8 * 8);
}

/* The first class >= `class` of a zone that has a range, or NO_CLASS. */
static inline uint32_t cuai_zone_first(const cuai_index_t *index, uint32_t zone,
                                       uint32_t class)
{
    uint32_t top = cuai_index_top(index, zone);
    return top == 0 || top < class ? CUAI_NO_CLASS
                                   : cuai_zone_first_sure(index, zone, class);
}

/* The top that its lists give a zone. */
static inline uint32_t cuai_zone_top(const cuai_index_t *index, uint32_t zone)
{
    const uint64_t *words = &index->bits[zone * 2];
    uint64_t none = -(uint64_t)(words[1] == 0);
    uint64_t word = words[1] | (words[0] & none) | 1;
    return cuai_log2_floor(word) + (~(uint32_t)none & 64);
}

/* After a list of the zone became empty, or the first of its class. */
static inline void cuai_index_retop(cuai_index_t *index, uint32_t zone)
{
    uint64_t top = cuai_zone_top(index, zone);
    uint32_t shift = zone % 8 * 8;
    uint64_t *word = &index->tops[zone / 8];
    *word = (*word & ~(UINT64_C(0xff) << shift)) | top << shift;
}

/* A set of zones: a bit for each. */
typedef uint32_t cuai_zones_t;
_Static_assert(CUAI_ZONES == 32, "a set of zones has a bit for each");

/* The zones whose top is at least `class`, from 1 on. In each byte, top + 128 -
 * class has the highest bit exactly where this is so, and none overflows; a
 * product gathers those bits. */
static inline cuai_zones_t cuai_zones_from_words(const cuai_index_t *index,
                                                 uint32_t class)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t gather = UINT64_C(0x0102040810204080);
    cuai_zones_t zones = 0;
    for (int i = CUAI_ZONES / 8; i-- > 0;) {
        uint64_t from = index->tops[i] + (128 - class) * ones;
        zones = zones << 8 | (uint32_t)((from >> 7 & ones) * gather >> 56);
    }
    return zones;
}

#if defined(__SSE2__)

/* Of 16 zones, by two words: those whose top is more than a byte of `less`. */
static inline cuai_zones_t cuai_zones_above(const uint64_t *tops, __m128i less)
{
    __m128i all = _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64(
                         (const __m128i *)(const void *)tops)),
                     (const __m64 *)(const void *)(tops + 1)));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(all, less));
}

/* The same with the vectors that every x86-64 has. */
static inline cuai_zones_t cuai_zones_from(const cuai_index_t *index,
                                           uint32_t class)
{
    uint64_t each = (class - 1) * UINT64_C(0x0101010101010101);
    __m128i less = _mm_set1_epi64x((int64_t)each);
    return cuai_zones_above(index->tops, less) |
           cuai_zones_above(index->tops + 2, less) << 16;
}

#else

static inline cuai_zones_t cuai_zones_from(const cuai_index_t *index,
                                           uint32_t class)
{
    return cuai_zones_from_words(index, class);
}

#endif

/* The zone that is next to an end of a set, which is not empty. */
static inline uint32_t cuai_zones_end(cuai_zones_t zones, bool high)
{
    return high ? cuai_log2_floor(zones) : cuai_ctz(zones);
}

static inline cuai_zones_t cuai_zones_without(cuai_zones_t zones, uint32_t zone)
{
    return zones & ~(UINT32_C(1) << zone);
}

/* ---- Insertion and removal --------------------------------------------- */

static inline uint32_t cuai_list_of(uint32_t zone, uint32_t class)
{
    return zone << CUAI_CLASSES_LOG2 | class;
}

/*
 * Both without a branch, since none could be foretold: the ROOT's links take
 * what is written to no record. The zone's top is brought up to date by
 * cuai_index_retop, once for all changes in the zone.
 */
static inline void cuai_index_link(cuai_index_t *index, cuai_record_t *records,
                                   cuai_slot_t slot, uint32_t list)
{
    cuai_slot_t head = index->heads[list];
    cuai_record_t *r = &records[slot];
    r->list = (uint16_t)list;
    r->up = 0;
    r->down = head;
    index->heads[list] = slot;
    records[head].up = slot;
    index->bits[list / 64] |= UINT64_C(1) << list % 64;
}

static inline void cuai_index_unlink(cuai_index_t *index,
                                     cuai_record_t *records, cuai_slot_t slot)
{
    const cuai_record_t *r = &records[slot];
    cuai_slot_t up = r->up;
    cuai_slot_t down = r->down;
    uint32_t list = r->list;
    cuai_slot_t *link = up != 0 ? &records[up].down : &index->heads[list];
    uint64_t empty = (up | down) == 0;
    records[down].up = up;
    *link = down;
    index->bits[list / 64] &= ~(empty << list % 64);
}

static inline void cuai_index_insert(cuai_index_t *index,
                                     cuai_record_t *records, cuai_slot_t slot,
                                     uint32_t list)
{
    cuai_index_link(index, records, slot, list);
    cuai_index_retop(index, list / CUAI_CLASSES);
}

static inline void cuai_index_remove(cuai_index_t *index,
                                     cuai_record_t *records, cuai_slot_t slot)
{
    uint32_t zone = records[slot].list / CUAI_CLASSES;
    cuai_index_unlink(index, records, slot);
    cuai_index_retop(index, zone);
}

#endif
