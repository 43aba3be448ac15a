/* The look-up from offset to block: what is not on the fast path. */
#include "heap/table.h"

#define BUCKETS_PER_BLOCK 2
/* A page of the smallest size: chains of few blocks are short, at no cost. */
#define FIRST_BUCKETS 1024

static cuarena_status_t commit(cuai_table_t *table, uint64_t buckets)
{
    if (buckets <= table->committed)
        return CUARENA_OK;
    if (!cuai_host_commit(&table->region, buckets * sizeof(cuai_slot_t)))
        return CUARENA_OUT_OF_MEMORY;
    table->heads = (cuai_slot_t *)(void *)table->region.base;
    table->committed = table->region.committed / sizeof(cuai_slot_t);
    return CUARENA_OK;
}

cuarena_status_t cuai_table_init(cuai_table_t *table, uint64_t max_blocks)
{
    uint64_t most = max_blocks * BUCKETS_PER_BLOCK + FIRST_BUCKETS;
    if (!cuai_host_region_begin(&table->region, most * sizeof(cuai_slot_t)))
        return CUARENA_OUT_OF_MEMORY;
    table->buckets = FIRST_BUCKETS;
    table->mask = FIRST_BUCKETS - 1;
    table->wide = FIRST_BUCKETS * 2 - 1;
    if (commit(table, FIRST_BUCKETS) == CUARENA_OK)
        return CUARENA_OK;
    cuai_table_end(table);
    return CUARENA_OUT_OF_MEMORY;
}

void cuai_table_end(cuai_table_t *table)
{
    cuai_host_release(&table->region);
    table->heads = NULL;
}

/* Divides the next bucket between itself and a new one at the end. */
static void split_bucket(cuai_table_t *table, cuai_record_t *records)
{
    uint64_t from = table->buckets - (table->mask + 1);
    cuai_slot_t slot = table->heads[from];
    CUAI_ASSERT(from <= table->mask && table->heads[table->buckets] == 0);
    table->heads[from] = 0;
    table->buckets++;
    uint32_t probe = 0;
    while (slot != 0) {
        cuai_slot_t next = records[slot].chain;
        cuai_table_insert(table, records, slot);
        slot = next;
        probe++;
    }
    if (probe > table->longest_probe)
        table->longest_probe = probe;
    if (table->buckets <= table->wide)
        return;
    table->mask = table->wide;
    table->wide = table->mask << 1 | 1;
}

cuarena_status_t cuai_table_grow(cuai_table_t *table, cuai_record_t *records, uint64_t blocks)
{
    uint64_t wanted = blocks * BUCKETS_PER_BLOCK;
    if (wanted <= table->buckets)
        return CUARENA_OK;
    cuarena_status_t status = commit(table, wanted);
    if (status != CUARENA_OK)
        return status;
    CUAI_ASSERT(wanted <= table->committed);
    while (table->buckets < wanted)
        split_bucket(table, records);
    return CUARENA_OK;
}
