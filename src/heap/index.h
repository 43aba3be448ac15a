/*
 * The index of one free list: its free ranges by place and size.
 *
 *   zone    one of 32 equal parts of the heap's span; a range is in the zone
 *           of its first byte.
 *   class   half a power of two of sizes, counted in granules. The last class
 *           has all that is larger. No size has class 0.
 *   list    the ranges of one zone and class, the last freed first; its number
 *           is zone * CUAI_CLASSES + class.
 *   top     of a zone: its highest class with a range; 0 if there is none.
 *
 * A word per zone tells which of its lists have a range, so the first class from some class up is
 * found at once. The tops are bytes of four words, which are all compared with a class at once.
 * Every insertion, removal and look is a bounded number of steps, and has no branch where none
 * could be foretold: a wrong guess costs more than fifty instructions.
 *
 * Invariant: a record that is in no list has links 0 and a list of class 0, unless its range is
 * planned. So it may be taken out of its list like any other, to no effect.
 *
 * An index is 8.5 kB, touched as far as it is used.
 */
#ifndef CUAI_HEAP_INDEX_H
#define CUAI_HEAP_INDEX_H

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "heap/record.h"

#define CUAI_CLASS_BITS 1 /* log2 of the classes per power of two */
#define CUAI_CLASSES_LOG2 6
#define CUAI_CLASSES (1u << CUAI_CLASSES_LOG2)
#define CUAI_LAST_CLASS (CUAI_CLASSES - 1)
#define CUAI_NO_CLASS CUAI_CLASSES

#define CUAI_ZONES_LOG2 5
#define CUAI_ZONES (1u << CUAI_ZONES_LOG2)
#define CUAI_LISTS (CUAI_ZONES * CUAI_CLASSES)
_Static_assert(CUAI_LISTS <= UINT16_MAX, "a list number has 16 bits");
_Static_assert(CUAI_CLASSES == 64, "a word has a bit for each class of a zone");
_Static_assert(CUAI_ZONES == 32, "a set of zones has a bit for each");

typedef struct cuai_index {
    uint64_t free_bytes;
    uint64_t tops[CUAI_ZONES / 8]; /* of zone z: byte z % 8 of word z / 8 */
    uint64_t ranges;               /* counted by the callers; not beside free_bytes, for compilers
                                    * would change both by one vector, which has to wait for what
                                    * stored one of them */
    uint64_t bits[CUAI_ZONES];     /* of a zone: bit c says that its list of class c has a range;
                                    * bit 0 means nothing */
    cuai_slot_t heads[CUAI_LISTS];
} cuai_index_t;

/* ---- Classes ----------------------------------------------------------------
 */

/* The class of a size of 1 <= `granules` < CUAI_SMALL_GRANULES; of larger ones what it would be if
 * there were no last class. */
static inline uint32_t cuai_class_small(uint64_t granules)
{
    uint32_t top = cuai_log2_floor(granules | 1u << CUAI_CLASS_BITS);
    uint32_t shift = top - CUAI_CLASS_BITS;
    return (shift << CUAI_CLASS_BITS) + (uint32_t)(granules >> shift);
}

/* The class of any size. A range of class c is smaller than every range of class c + 1. */
static inline uint32_t cuai_class_of(uint64_t granules)
{
    uint32_t class = cuai_class_small(granules);
    return class < CUAI_LAST_CLASS ? class : CUAI_LAST_CLASS;
}

/* Sizes below this have a class below CUAI_CLASSES even if there were no last class. */
#define CUAI_SMALL_GRANULES (UINT64_C(1) << 32)

/* ---- Zones ------------------------------------------------------------- */

/* The classes from `class`, 1 or above, on that have a range in a zone: bit c for class c. */
static inline uint64_t cuai_zone_classes(const cuai_index_t *index, uint32_t zone, uint32_t class)
{
    CUAI_ASSERT(zone < CUAI_ZONES && class - 1 < CUAI_LAST_CLASS);
    return index->bits[zone] & ~UINT64_C(0) << class;
}

/* The top that the index keeps of a zone. It is stored as part of a word, because a load of more
 * than the last store wrote would wait for the cache. */
static inline uint32_t cuai_index_top(const cuai_index_t *index, uint32_t zone)
{
    return (uint8_t)(index->tops[zone / 8] >> zone % 8 * 8);
}

/* The top of a zone as it follows from its lists. */
static inline uint32_t cuai_zone_top(const cuai_index_t *index, uint32_t zone)
{
    return cuai_log2_floor(index->bits[zone] | 1);
}

/* Sets which of a zone's lists have a range, `was` until now. The top's byte changes by a
 * difference, so that nothing needs to be masked out. */
static CUAI_INLINE void cuai_index_set_bits(cuai_index_t *index, uint32_t zone, uint64_t was,
                                            uint64_t bits)
{
    int32_t more = (int32_t)cuai_log2_floor(bits | 1) - (int32_t)cuai_log2_floor(was | 1);
    CUAI_ASSERT(zone < CUAI_ZONES && index->bits[zone] == was);
    index->bits[zone] = bits;
    index->tops[zone / 8] += (uint64_t)more << zone * 8 % 64;
    CUAI_ASSERT(cuai_index_top(index, zone) == cuai_zone_top(index, zone));
}

/* A set of zones: bit z for zone z. */
typedef uint32_t cuai_zones_t;

/* The zones whose top is at least `class`, which is at least 1. In each byte, top + 128 - class has
 * the highest bit exactly where this is so, and none overflows; a product gathers those bits. */
static inline cuai_zones_t cuai_zones_from_words(const cuai_index_t *index, uint32_t class)
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

/* Of the 16 zones of two words those whose top is more than a byte of `less`. */
static inline cuai_zones_t cuai_zones_above(const uint64_t *tops, __m128i less)
{
    __m128i all = _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)tops)),
                     (const __m64 *)(const void *)(tops + 1)));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(all, less));
}

/* As cuai_zones_from_words, with the vectors that every x86-64 has. */
static inline cuai_zones_t cuai_zones_from(const cuai_index_t *index, uint32_t class)
{
    CUAI_ASSERT(class - 1 < 127);
    uint64_t each = (class - 1) * UINT64_C(0x0101010101010101);
    __m128i less = _mm_set1_epi64x((int64_t)each);
    return cuai_zones_above(index->tops, less) | cuai_zones_above(index->tops + 2, less) << 16;
}

#else

static inline cuai_zones_t cuai_zones_from(const cuai_index_t *index, uint32_t class)
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

/* The first list from `list` on that has a range and is of class `least`, 1 or above, or higher;
 * CUAI_LISTS: none. */
static inline uint32_t cuai_index_next(const cuai_index_t *index, uint32_t list, uint32_t least)
{
    uint32_t class = list % CUAI_CLASSES;
    for (uint32_t zone = list / CUAI_CLASSES; zone < CUAI_ZONES; zone++) {
        uint64_t classes = cuai_zone_classes(index, zone, class < least ? least : class);
        if (classes != 0)
            return cuai_list_of(zone, cuai_ctz(classes));
        class = least;
    }
    return CUAI_LISTS;
}

/* The range that comes after that of `slot` in the index, or with 0 the first; 0: there is none. */
static inline cuai_slot_t cuai_index_after(const cuai_index_t *index, const cuai_record_t *records,
                                           cuai_slot_t slot)
{
    if (slot != 0 && records[slot].down != 0)
        return records[slot].down;
    uint32_t list = cuai_index_next(index, slot == 0 ? 0 : records[slot].list + 1u, 1);
    return list < CUAI_LISTS ? index->heads[list] : 0;
}

/* Makes the record one that is in no list. */
static inline void cuai_index_forget(cuai_record_t *r)
{
    r->up = 0;
    r->down = 0;
    r->list = 0;
}

static inline void cuai_index_insert(cuai_index_t *index, cuai_record_t *records, cuai_slot_t slot,
                                     uint32_t list)
{
    cuai_slot_t head = index->heads[list];
    cuai_record_t *r = &records[slot];
    CUAI_ASSERT(list < CUAI_LISTS && list % CUAI_CLASSES != 0);
    CUAI_ASSERT(head != slot && (head == 0 || records[head].up == 0));
    r->list = (uint16_t)list;
    r->up = 0;
    r->down = head;
    index->heads[list] = slot;
    records[head].up = slot; /* that of the SENTINEL, which means nothing, if the list was empty */
    uint32_t zone = list / CUAI_CLASSES;
    uint64_t bits = index->bits[zone];
    cuai_index_set_bits(index, zone, bits, bits | UINT64_C(1) << list % CUAI_CLASSES);
}

/* Takes the record out of the links of its list; whether that list is empty now. */
static inline bool cuai_index_unlink(cuai_index_t *index, cuai_record_t *records,
                                     const cuai_record_t *r)
{
    cuai_slot_t up = r->up;
    cuai_slot_t down = r->down;
    cuai_slot_t *link = up != 0 ? &records[up].down : &index->heads[r->list];
    CUAI_ASSERT(&records[*link] == r || (r->list % CUAI_CLASSES == 0 && *link == 0));
    CUAI_ASSERT(down == 0 || &records[records[down].up] == r);
    records[down].up = up;
    *link = down;
    return (up | down) == 0;
}

static inline void cuai_index_remove(cuai_index_t *index, cuai_record_t *records, cuai_slot_t slot)
{
    cuai_record_t *r = &records[slot];
    uint32_t zone = r->list / CUAI_CLASSES;
    uint64_t empty = cuai_index_unlink(index, records, r);
    uint64_t bits = index->bits[zone];
    cuai_index_set_bits(index, zone, bits, bits ^ empty << r->list % CUAI_CLASSES);
    cuai_index_forget(r);
}

/*
 * Takes `old` out of its list, if it is in one, and puts `slot`, which is `old` or is in no list,
 * into a list of the same zone. A list of class 0 stands for none: its head stays 0, and nobody
 * looks at its bit. `same` is a constant: the two are certainly one record.
 */
static CUAI_INLINE void cuai_index_pass(cuai_index_t *index, cuai_record_t *records,
                                        cuai_slot_t old, cuai_slot_t slot, uint32_t list, bool same)
{
    cuai_record_t *o = &records[old];
    cuai_record_t *r = &records[slot];
    uint32_t zone = list / CUAI_CLASSES;
    uint64_t was = index->bits[zone];
    CUAI_ASSERT(!same || old == slot);
    CUAI_ASSERT(o->list % CUAI_CLASSES == 0 || o->list / CUAI_CLASSES == zone);
    uint64_t empty = cuai_index_unlink(index, records, o);
    uint64_t bits = was ^ empty << o->list % CUAI_CLASSES;
    cuai_slot_t head = index->heads[list];
    if (!same)
        cuai_index_forget(o);
    r->list = (uint16_t)list;
    r->up = 0;
    r->down = head;
    index->heads[list] = list % CUAI_CLASSES != 0 ? slot : 0;
    records[head].up = slot;
    bits |= UINT64_C(1) << list % CUAI_CLASSES;
    cuai_index_set_bits(index, zone, was, bits);
}

/* Moves a record to a list of the same zone. */
static inline void cuai_index_move(cuai_index_t *index, cuai_record_t *records, cuai_slot_t slot,
                                   uint32_t list)
{
    cuai_index_pass(index, records, slot, slot, list, true);
}

/* As cuai_index_pass, to a list of another zone. Out of line because that is rare. */
static CUAI_OUTLINE void cuai_index_carry_any(cuai_index_t *index, cuai_record_t *records,
                                              cuai_slot_t old, cuai_slot_t slot, uint32_t list)
{
    cuai_index_remove(index, records, old);
    if (list % CUAI_CLASSES != 0)
        cuai_index_insert(index, records, slot, list);
}

/* Turns the bit of a list over: it became empty, or got its first range. */
static inline void cuai_index_flip(cuai_index_t *index, uint32_t list)
{
    uint64_t bits = index->bits[list / CUAI_CLASSES];
    cuai_index_set_bits(index, list / CUAI_CLASSES, bits,
                        bits ^ UINT64_C(1) << list % CUAI_CLASSES);
}

/* As cuai_index_carry_any; quick from a list that has nothing else to an empty one, which is the
 * rule for a large range. */
static CUAI_OUTLINE void cuai_index_carry(cuai_index_t *index, cuai_record_t *records,
                                          cuai_slot_t old, cuai_slot_t slot, uint32_t list)
{
    cuai_record_t *o = &records[old];
    cuai_record_t *r = &records[slot];
    uint32_t from = o->list;
    CUAI_ASSERT(from != list);
    /* Class 0 comes first: the list of 0 bytes at the end of the last zone has no head. */
    if (CUAI_UNLIKELY(list % CUAI_CLASSES == 0 || (o->up | o->down | index->heads[list]) != 0)) {
        cuai_index_carry_any(index, records, old, slot, list);
        return;
    }
    o->list = 0;
    r->list = (uint16_t)list;
    r->up = 0;
    r->down = 0;
    index->heads[from] = 0;
    index->heads[list] = slot;
    cuai_index_flip(index, from);
    cuai_index_flip(index, list);
}

/* As cuai_index_pass, to a list of any zone, for two records. A range that is the first of its list
 * and stays in it, as a large one does, takes few steps. */
static CUAI_INLINE void cuai_index_hand_on(cuai_index_t *index, cuai_record_t *records,
                                           cuai_slot_t old, cuai_slot_t slot, uint32_t list)
{
    if (records[old].list == list && records[old].up == 0) {
        cuai_slot_t down = records[old].down;
        CUAI_ASSERT(old != slot && list % CUAI_CLASSES != 0 && index->heads[list] == old);
        records[slot].list = (uint16_t)list;
        records[slot].up = 0;
        records[slot].down = down;
        records[down].up = slot;
        index->heads[list] = slot;
        cuai_index_forget(&records[old]);
        return;
    }
    if (CUAI_LIKELY((records[old].list ^ list) < CUAI_CLASSES)) { /* the zone stays */
        cuai_index_pass(index, records, old, slot, list, false);
        return;
    }
    cuai_index_carry(index, records, old, slot, list);
}

/* Moves a record to a list of any zone; in its own list it keeps its place. */
static inline void cuai_index_shift(cuai_index_t *index, cuai_record_t *records, cuai_slot_t slot,
                                    uint32_t list)
{
    uint32_t old = records[slot].list;
    if (list == old)
        return;
    if (CUAI_UNLIKELY(old % CUAI_CLASSES == 0))
        cuai_index_move(index, records, slot, list);
    else
        cuai_index_hand_on(index, records, slot, slot, list);
}

#endif
