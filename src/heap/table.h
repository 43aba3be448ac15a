/*
 * The look-up from an offset to the block that begins there: linear hashing with chains through the
 * records.
 *
 * There are at least two buckets, of 4 bytes, for each block of the highest count so far. The table
 * grows by one bucket at a time: one is divided between itself and a new bucket at the end, so no
 * call ever rehashes everything.
 */
#ifndef CUAI_HEAP_TABLE_H
#define CUAI_HEAP_TABLE_H

#include "base/host.h"
#include "heap/record.h"

typedef struct cuai_table {
    cuai_slot_t *heads;
    uint64_t buckets;
    uint64_t mask;      /* 2^k - 1 with 2^k <= buckets < 2^(k+1): the buckets from 2^k on were
                         * split off from those before */
    uint64_t wide;      /* mask << 1 | 1 */
    uint64_t committed; /* buckets that have memory */
    cuai_host_region_t region;
    uint32_t longest_probe; /* ever */
} cuai_table_t;

/* How many links of a chain cuai_table_glimpse follows. */
#define CUAI_GLIMPSES 16

/* The upper half of a product: its lowest bit depends on the offset's lowest 33 bits, each bit
 * above on one more, and the offsets of many blocks differ in these. */
static inline uint64_t cuai_hash(uint64_t offset)
{
    return offset * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static inline uint64_t cuai_table_bucket(const cuai_table_t *table, uint64_t offset)
{
    CUAI_ASSERT(table->mask < table->buckets && table->buckets - 1 <= table->wide);
    uint64_t bucket = cuai_hash(offset) & table->wide;
    uint64_t there = -(uint64_t)(bucket < table->buckets);
    return bucket & (table->mask | there);
}

/* The block that begins at `offset`, or 0. */
static inline cuai_slot_t cuai_table_find(const cuai_table_t *table, const cuai_record_t *records,
                                          uint64_t offset)
{
    cuai_slot_t slot = table->heads[cuai_table_bucket(table, offset)];
    while (records[slot].offset != offset && slot != 0)
        slot = records[slot].chain;
    return slot;
}

/* As cuai_table_find, for a thread that does not have the heap while it has no new buckets: 0 also
 * where others' changes, or a long chain, hide the block. What is found may have changed since. */
static inline cuai_slot_t cuai_table_glimpse(const cuai_table_t *table,
                                             const cuai_record_t *records, uint64_t offset)
{
    cuai_slot_t slot = CUAI_LOAD(table->heads[cuai_table_bucket(table, offset)]);
    for (int look = 0; slot != 0 && look < CUAI_GLIMPSES; look++) {
        if (CUAI_LIKELY(CUAI_LOAD(records[slot].offset) == offset))
            return slot;
        slot = CUAI_LOAD(records[slot].chain);
    }
    return 0;
}

/* The link that names the block which begins at `offset`, or that ends its bucket's chain. */
static inline cuai_slot_t *cuai_table_link(const cuai_table_t *table, cuai_record_t *records,
                                           uint64_t offset)
{
    cuai_slot_t *link = &table->heads[cuai_table_bucket(table, offset)];
    while (CUAI_UNLIKELY(records[*link].offset != offset) && *link != 0)
        link = &records[*link].chain;
    return link;
}

/* The link that names a block of the table, found without a look at the offsets of its chain. */
static inline cuai_slot_t *cuai_table_link_to(const cuai_table_t *table, cuai_record_t *records,
                                              cuai_slot_t slot)
{
    cuai_slot_t *link = &table->heads[cuai_table_bucket(table, records[slot].offset)];
    while (*link != slot) {
        CUAI_ASSERT(*link != 0);
        link = &records[*link].chain;
    }
    return link;
}

/* Inserts a block that begins at `offset`, which the caller need not load after storing it. */
static inline void cuai_table_insert_at(cuai_table_t *table, cuai_record_t *records,
                                        cuai_slot_t slot, uint64_t offset)
{
    cuai_slot_t *head = &table->heads[cuai_table_bucket(table, offset)];
    CUAI_ASSERT(slot != 0 && slot != *head && records[slot].offset == offset);
    CUAI_STORE(records[slot].chain, *head);
    CUAI_STORE(*head, slot);
}

static inline void cuai_table_insert(cuai_table_t *table, cuai_record_t *records, cuai_slot_t slot)
{
    cuai_table_insert_at(table, records, slot, records[slot].offset);
}

/* Removes a block of the table. */
static inline void cuai_table_remove(cuai_table_t *table, cuai_record_t *records, cuai_slot_t slot)
{
    cuai_slot_t *link = &table->heads[cuai_table_bucket(table, records[slot].offset)];
    uint32_t probe = 1;
    while (*link != slot) {
        CUAI_ASSERT(*link != 0);
        link = &records[*link].chain;
        probe++;
    }
    CUAI_STORE(*link, records[slot].chain);
    if (CUAI_UNLIKELY(probe > table->longest_probe))
        table->longest_probe = probe;
}

/* Removes all blocks. O(buckets). */
static inline void cuai_table_clear(cuai_table_t *table)
{
    memset(table->heads, 0, table->buckets * sizeof *table->heads);
}

cuarena_status_t cuai_table_init(cuai_table_t *table, uint64_t max_blocks);
void cuai_table_end(cuai_table_t *table);
/* Makes the table large enough for `blocks` blocks: two new buckets for each more. OUT_OF_MEMORY.
 */
cuarena_status_t cuai_table_grow(cuai_table_t *table, cuai_record_t *records, uint64_t blocks);

#endif
