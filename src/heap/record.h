/*
 * The record: one cache line of bookkeeping for one block and for the free range right after it.
 *
 *      prev record        this record                     next record
 *   ... | range | BLOCK offset .. offset+size | range | BLOCK ...
 *
 * The records are in one list by address, so a range needs no record of its own: it belongs to the
 * record before it, its owner. A CACHED record is that of a block which was freed and stays whole
 * (see heap/cache.h). A KEPT one is a block that a thread cache has: for the heap it lives. Three
 * kinds of record have no block:
 *
 *   SEGMENT_START  begins a segment; what lies before it is a gap
 *   SEPARATOR      keeps a range of one free list apart from a range of another
 *   SENTINEL       is record 0 and both ends of the list; owns nothing
 *
 * Three kinds are not in the list: FREE slots; EMPTY blocks, which are live ids of 0 bytes; and
 * STANDALONE blocks, each a segment by itself. A STANDALONE block has no neighbours and no range,
 * so its record has room for a note of the caller's.
 *
 * Invariants
 *   end(r) = r.offset + r.size;  the range is [end(r), end(r) + range(r))
 *   end(r) + range(r) = next(r).offset, unless next(r) is a SEGMENT_START or the SENTINEL
 *   a SEPARATOR has a range, and so has the record before it, of another free list
 */
#ifndef CUAI_HEAP_RECORD_H
#define CUAI_HEAP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "cuarena/heap.h"

/* The index of a record; 0, the SENTINEL, also means "none". */
typedef uint32_t cuai_slot_t;

/*
 * An id is, from its highest bits, the heap's number, a generation and the slot. The slot has as
 * many bits as the heap's slots need, the generation has the rest: so every heap has 2^49 ids.
 */
#define CUAI_HEAP_ID_BITS 15
#define CUAI_IDS_LOG2 (64 - CUAI_HEAP_ID_BITS)
#define CUAI_LEAST_SLOT_BITS 17
#define CUAI_MOST_SLOT_BITS 27
#define CUAI_MAX_SLOTS (UINT64_C(1) << CUAI_MOST_SLOT_BITS)
_Static_assert(CUAI_IDS_LOG2 - CUAI_LEAST_SLOT_BITS == 32, "a record has 32 bits for a generation");

#define CUAI_FREELIST_BITS 12
#define CUAI_FREELIST_MASK ((UINT64_C(1) << CUAI_FREELIST_BITS) - 1)
_Static_assert(CUARENA_HEAP_MAX_FREELISTS == 1u << CUAI_FREELIST_BITS, "free list bits");
_Static_assert(CUARENA_HEAP_MAX_SEGMENT <= UINT64_C(1) << (64 - CUAI_FREELIST_BITS),
               "a range's bytes and free list share a word");

/* The free list of planned ranges, those that a plan under way keeps from being allocated. It has
 * no index. */
#define CUAI_FREELIST_PLANNED (CUARENA_HEAP_MAX_FREELISTS - 1u)

/* A SEPARATOR has a bit of its own, so that two records are tested at once; a CACHED record differs
 * from a block in one. */
enum cuai_kind {
    CUAI_FREE, /* an unused slot */
    CUAI_EMPTY,
    CUAI_SEGMENT_START,
    CUAI_SENTINEL,
    CUAI_BLOCK,
    CUAI_STANDALONE,
    CUAI_SEPARATOR = 1 << 3,
    CUAI_CACHED = 1 << 4,
    CUAI_KEPT = 1 << 5
};

#define CUAI_KIND_BITS 6
#define CUAI_KIND_MASK ((1u << CUAI_KIND_BITS) - 1)

/* Of every slot: where it ends, so that the end shows as an overflow. */
#define CUAI_LAST_GENERATION UINT32_MAX

typedef struct cuai_record {
    uint64_t offset;
    uint64_t size;       /* of the block; 0 without one */
    uint64_t key;        /* range: bytes << CUAI_FREELIST_BITS | free list; 0: none */
    cuai_slot_t prev;    /* address order */
    cuai_slot_t up;      /* in the list of the range's index, towards the head */
    cuai_slot_t down;    /* in that list, away from the head */
    cuai_slot_t next;    /* address order; of a FREE slot: the next FREE one */
    uint64_t asked;      /* bytes asked for << CUAI_TAG_BITS | tag */
    cuai_slot_t chain;   /* next block of the same look-up bucket */
    uint32_t generation; /* one more each time the slot is freed, up to CUAI_LAST_GENERATION */
    union {
        uint64_t attributes; /* as one word, with the list */
        struct {
            uint16_t list; /* the range's list, while an index has it */
            uint16_t pins;
            union {
                uint32_t upper; /* the upper half of the attributes */
                struct {
                    uint8_t kind : CUAI_KIND_BITS; /* enum cuai_kind */
                    uint8_t fixed : 1;             /* 1: the block never moves, pinned or not */
                    uint8_t moving : 1;            /* 1: a plan under way moves the block */
                    uint8_t flags;
                    uint8_t align_log2; /* of the block's alignment */
                    uint8_t owner;      /* the caller's number for whose block it is */
                };
            };
        };
    };
} cuai_record_t;
_Static_assert(sizeof(cuai_record_t) == 64, "one cache line");

/*
 * The attributes of a block are the last eight bytes of its record, as one word that is set and
 * compared at once. The list, which is in the same word, is none of them.
 */
#define CUAI_ATTRIBUTES(pins, kind, flags)                                                         \
    ((uint64_t)(pins) << 16 | (uint64_t)(kind) << 32 | (uint64_t)(flags) << 40)
#define CUAI_ALIGN_ATTRIBUTES(align_log2) ((uint64_t)(align_log2) << 48)
#define CUAI_OWNER_ATTRIBUTES(owner) ((uint64_t)(owner) << 56)
#define CUAI_ATTRIBUTES_PINS(attributes) ((uint16_t)((attributes) >> 16))
#define CUAI_ATTRIBUTES_FLAGS(attributes) ((uint8_t)((attributes) >> 40))
#define CUAI_ATTRIBUTES_ALIGN(attributes) ((uint32_t)((attributes) >> 48 & 0xff))
#define CUAI_ATTRIBUTES_OWNER(attributes) ((uint16_t)((attributes) >> 56 & CUARENA_HEAP_MAX_OWNER))
_Static_assert(offsetof(cuai_record_t, list) == 56 && offsetof(cuai_record_t, pins) == 58 &&
                   offsetof(cuai_record_t, flags) == 61,
               "the attributes of a record are its last word");

/* Whether the block has the pins, kind and flags of `attributes`, and is neither fixed nor moving.
 * The list is left out of the load: it is stored by itself, and a load that spans two stores waits
 * for both to reach the cache. */
static inline bool cuai_has_attributes(const cuai_record_t *r, uint64_t attributes)
{
    uint32_t middle;
    memcpy(&middle, &r->pins, sizeof middle);
    return middle == (uint32_t)(attributes >> 16);
}

/*
 * What threads read or write beside the one that has the heap: see KEPT. Such accesses are atomic,
 * and cost what others do.
 */
#define CUAI_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define CUAI_STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

/* The byte that has the kind, which this does not separate from what else is in it. */
static inline uint8_t cuai_kind_byte(const cuai_record_t *r)
{
    return __atomic_load_n((const uint8_t *)&r->flags - 1, __ATOMIC_RELAXED);
}

static inline enum cuai_kind cuai_kind(const cuai_record_t *r)
{
    return (enum cuai_kind)(cuai_kind_byte(r) & CUAI_KIND_MASK);
}

/* Sets the kind of a record that is neither fixed nor moving. */
static inline void cuai_set_kind(cuai_record_t *r, enum cuai_kind kind)
{
    __atomic_store_n(&r->flags - 1, (uint8_t)kind, __ATOMIC_RELAXED);
}

static inline uint64_t cuai_attributes(const cuai_record_t *r)
{
    return r->attributes;
}

/* Overwrites the list too: the caller sets that afterwards if the record is in one. */
static inline void cuai_set_attributes(cuai_record_t *r, uint64_t attributes)
{
    CUAI_STORE(r->attributes, attributes);
}

#define CUAI_TAG_BITS 16
_Static_assert(CUARENA_HEAP_MAX_SEGMENT <= UINT64_C(1) << (64 - CUAI_TAG_BITS),
               "a size and a tag share a word");

static inline uint64_t cuai_requested(const cuai_record_t *r)
{
    return r->asked >> CUAI_TAG_BITS;
}

static inline uint16_t cuai_tag_of(const cuai_record_t *r)
{
    return (uint16_t)r->asked;
}

static inline uint64_t cuai_asked(uint64_t requested, uint16_t tag)
{
    CUAI_ASSERT(requested < UINT64_C(1) << (64 - CUAI_TAG_BITS));
    return requested << CUAI_TAG_BITS | tag;
}

static inline uint64_t cuai_end(const cuai_record_t *r)
{
    return r->offset + r->size;
}

static inline uint64_t cuai_range(const cuai_record_t *r)
{
    return r->key >> CUAI_FREELIST_BITS;
}

static inline uint32_t cuai_range_freelist(const cuai_record_t *r)
{
    return (uint32_t)(r->key & CUAI_FREELIST_MASK);
}

static inline uint64_t cuai_range_key(uint64_t bytes, uint32_t freelist)
{
    CUAI_ASSERT(bytes < CUARENA_HEAP_MAX_SEGMENT && freelist <= CUAI_FREELIST_MASK);
    return bytes << CUAI_FREELIST_BITS | freelist;
}

/* Whether the record has a range of free list 0 or of `freelist`. */
static inline bool cuai_range_is_open(const cuai_record_t *r, uint32_t freelist)
{
    return r->key != 0 && (cuai_range_freelist(r) == 0 || cuai_range_freelist(r) == freelist);
}

/* Whether bytes of `freelist` beside the record's range would become one range with it: it is
 * absent, or of that free list. */
static inline bool cuai_range_joins(const cuai_record_t *r, uint32_t freelist)
{
    return r->key == 0 || cuai_range_freelist(r) == freelist;
}

/* Whether the record has a block, live or not, in the address list and so in the look-up. */
static inline bool cuai_is_listed(const cuai_record_t *r)
{
    enum cuai_kind kind = cuai_kind(r);
    return kind == CUAI_BLOCK || kind == CUAI_CACHED || kind == CUAI_KEPT;
}

static inline bool cuai_is_live(const cuai_record_t *r)
{
    return r->kind == CUAI_BLOCK || r->kind == CUAI_EMPTY || r->kind == CUAI_STANDALONE;
}

/* Whether the block has bytes. */
static inline bool cuai_has_bytes(const cuai_record_t *r)
{
    return r->kind == CUAI_BLOCK || r->kind == CUAI_STANDALONE;
}

/* What the caller keeps with a STANDALONE block. */
typedef struct cuai_note {
    uint64_t words[2];
} cuai_note_t;

/* A note is where other records have the four links. */
_Static_assert(offsetof(cuai_record_t, prev) % sizeof(uint64_t) == 0 &&
                   offsetof(cuai_record_t, next) + sizeof(cuai_slot_t) -
                           offsetof(cuai_record_t, prev) ==
                       sizeof(cuai_note_t),
               "a note has the size of the links");

static inline void cuai_set_note(cuai_record_t *r, cuai_note_t note)
{
    CUAI_ASSERT(r->kind == CUAI_STANDALONE);
    memcpy((char *)r + offsetof(cuai_record_t, prev), &note, sizeof note);
}

static inline cuai_note_t cuai_note_of(const cuai_record_t *r)
{
    cuai_note_t note;
    memcpy(&note, (const char *)r + offsetof(cuai_record_t, prev), sizeof note);
    return note;
}

/* Whether compaction may move a block with these attributes. */
static inline bool cuai_attributes_moves(uint64_t attributes)
{
    const uint64_t mask = CUAI_ATTRIBUTES(UINT16_MAX, UINT8_MAX, 0);
    return (attributes & mask) == CUAI_ATTRIBUTES(0, CUAI_BLOCK, 0);
}

static inline bool cuai_is_movable(const cuai_record_t *r)
{
    return cuai_attributes_moves(cuai_attributes(r));
}

#endif
