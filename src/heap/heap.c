/* The heap's life, and its public calls on blocks: arguments are checked here and errors put into
 * words; the work is in blocks.c. */
#include "heap/heap.h"
#include "heap/blocks.h"
#include "heap/cached.h"
#include "heap/placement.h"
#include "heap/plan.h"
#include "heap/slots.h"

#include "base/sized.h"

#define MAX_GRANULE (UINT64_C(1) << 30)
/* A heap with fewer slots would not have more ids, and address space for slots costs nothing. */
#define FEWEST_SLOTS (UINT64_C(1) << CUAI_LEAST_SLOT_BITS)

/* ---- Life ------------------------------------------------------------------
 */

void cuarena_heap_config_init(cuarena_heap_config_t *config)
{
    *config = (cuarena_heap_config_t){
        .struct_size = sizeof *config,
        .granule = 256,
        .max_blocks = CUARENA_HEAP_MAX_BLOCKS,
        .placement = CUARENA_PLACEMENT_DEFAULT,
    };
}

static cuarena_status_t check_config(const cuarena_heap_config_t *config)
{
    if (!cuai_is_power_of_two(config->granule) || config->granule < 8 ||
        config->granule > MAX_GRANULE)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "granule %llu is not a power of two in 8 .. 2^30",
                         (unsigned long long)config->granule);
    if (config->max_blocks == 0 || config->max_blocks > CUARENA_HEAP_MAX_BLOCKS)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "max_blocks %llu is not in 1 .. 2^26",
                         (unsigned long long)config->max_blocks);
    if (config->placement < CUARENA_PLACEMENT_DEFAULT || config->placement > CUARENA_PLACEMENT_LOW)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "placement %d is not a CUARENA_PLACEMENT_... (0 .. 2)",
                         (int)config->placement);
    return CUARENA_OK;
}

static void set_up(cuarena_heap_t *heap, const cuarena_heap_config_t *config)
{
    heap->granule_mask = config->granule - 1;
    heap->granule_log2 = cuai_ctz(config->granule);
    heap->class_floor = config->granule << CUAI_CLASS_BITS;
    heap->class_base = heap->granule_log2 << CUAI_CLASS_BITS;
    heap->split_threshold = config->split_threshold;
    heap->align_attributes = CUAI_ALIGN_ATTRIBUTES(heap->granule_log2);
    heap->placement = config->placement;
    heap->max_blocks = config->max_blocks;
    heap->freelist_count = 1;
    cuai_heap_allow_separators(heap);
}

/* ---- Ids -------------------------------------------------------------------
 */

/* Gives the heap, whose number of slots is known, a number for its ids; false: all are in use. */
static bool name_heap(cuarena_heap_t *heap)
{
    uint32_t bits = CUAI_LEAST_SLOT_BITS;
    while (heap->max_slots > UINT64_C(1) << bits)
        bits++;
    CUAI_ASSERT(bits <= CUAI_MOST_SLOT_BITS);
    heap->number = cuai_heap_number_alloc();
    heap->id_base = (uint64_t)heap->number << CUAI_IDS_LOG2;
    heap->id_step = UINT64_C(1) << bits;
    heap->slot_mask = heap->id_step - 1;
    heap->slot_bits = bits;
    uint32_t generations = (uint32_t)((UINT64_C(1) << (CUAI_IDS_LOG2 - bits)) - 1);
    heap->zero_generation = CUAI_LAST_GENERATION - generations;
    heap->first_generation = heap->zero_generation + cuai_heap_first_generation(heap->number, bits);
    heap->id_base -= heap->zero_generation * heap->id_step;
    return heap->number != 0;
}

static uint32_t highest_generation(const cuarena_heap_t *heap)
{
    uint32_t highest = heap->first_generation;
    for (cuai_slot_t slot = 1; slot < heap->unused; slot++)
        if (cuai_record(heap, slot)->generation > highest)
            highest = cuai_record(heap, slot)->generation;
    return highest;
}

static void unname_heap(const cuarena_heap_t *heap)
{
    if (heap->number != 0)
        cuai_heap_number_free(heap->number, heap->slot_bits,
                              highest_generation(heap) - heap->zero_generation);
}

/* ---- Making a heap ---------------------------------------------------------
 */

/* Slots beyond those of blocks are for SEGMENT_STARTs, SEPARATORs and slots whose ids are used
 * up. */
static bool begin_records(cuarena_heap_t *heap)
{
    uint64_t slots = cuai_min(heap->max_blocks * 4 + 4096, CUAI_MAX_SLOTS);
    heap->max_slots = cuai_max(slots, FEWEST_SLOTS);
    return cuai_host_region_begin(&heap->record_region, heap->max_slots * sizeof(cuai_record_t));
}

static bool make_sentinel(cuarena_heap_t *heap)
{
    CUAI_ASSERT(heap->unused == 0);
    if (cuai_slots_reserve(heap, 1) != CUARENA_OK)
        return false;
    heap->unused = 1;
    heap->slots_at_once = 1;
    heap->records[0].kind = CUAI_SENTINEL;
    heap->records[0].offset = UINT64_MAX;
    return true;
}

static bool make_idle_freelist(cuarena_heap_t *heap)
{
    heap->freelists = cuai_host_alloc(CUARENA_HEAP_MAX_FREELISTS * sizeof(*heap->freelists));
    if (heap->freelists == NULL)
        return false;
    heap->freelists[0] = cuai_host_alloc(sizeof(cuai_index_t));
    heap->idle = heap->freelists[0];
    heap->planning = cuai_host_alloc(sizeof *heap->planning);
    if (heap->planning != NULL)
        heap->planning->heap = heap;
    return heap->idle != NULL && heap->planning != NULL;
}

cuarena_status_t cuarena_heap_create(const cuarena_heap_config_t *config, cuarena_heap_t **heap_out)
{
    if (heap_out == NULL || !cuai_sized_ok(config, sizeof *config, sizeof *config))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "config or heap_out is NULL, or config was not made "
                                               "by cuarena_heap_config_init");
    cuarena_status_t status = check_config(config);
    if (status != CUARENA_OK)
        return status;
    cuarena_heap_t *heap = cuai_host_alloc(sizeof *heap);
    if (heap == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a heap");
    set_up(heap, config);
    if (!begin_records(heap) || !make_sentinel(heap) ||
        cuai_table_init(&heap->table, heap->max_slots) != CUARENA_OK || !make_idle_freelist(heap)) {
        cuarena_heap_destroy(&heap);
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a heap");
    }
    if (!name_heap(heap)) {
        cuarena_heap_destroy(&heap);
        return cuai_fail(CUARENA_LIMIT,
                         "%u heaps live in this process, the most: an arena "
                         "has up to three",
                         CUARENA_HEAP_MAX_HEAPS);
    }
    *heap_out = heap;
    return CUARENA_OK;
}

void cuarena_heap_destroy(cuarena_heap_t **heap)
{
    if (heap == NULL || *heap == NULL)
        return;
    cuarena_heap_t *h = *heap;
    *heap = NULL;
    unname_heap(h);
    for (uint32_t freelist = 0; h->freelists != NULL && freelist < CUAI_FREELIST_PLANNED;
         freelist++)
        cuai_host_free(h->freelists[freelist]);
    cuai_host_free(h->freelists);
    cuai_host_free(h->segments);
    cuai_table_end(&h->table);
    cuai_host_release(&h->record_region);
    cuai_cache_destroy(h->cache);
    cuai_planning_end(h->planning);
    cuai_host_free(h);
}

/* ---- Arguments --------------------------------------------------------------
 */

cuai_slot_t cuai_check_block(const cuarena_heap_t *heap, cuarena_block_t block,
                             cuarena_status_t *status)
{
    *status = CUARENA_OK;
    if (heap == NULL) {
        *status = cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
        return 0;
    }
    cuai_slot_t slot = cuai_slot_of(heap, block);
    if (slot == 0)
        *status = cuai_fail(CUARENA_STALE, "block id %#llx names nothing live in this heap",
                            (unsigned long long)block);
    return slot;
}

/* As cuai_check_block, with BUSY for a block that a plan moves. */
static cuai_slot_t check_still(const cuarena_heap_t *heap, cuarena_block_t block,
                               cuarena_status_t *status)
{
    cuai_slot_t slot = cuai_check_block(heap, block, status);
    if (slot == 0 || !cuai_record(heap, slot)->moving)
        return slot;
    *status =
        cuai_fail(CUARENA_BUSY, "block %#llx is being moved by a plan", (unsigned long long)block);
    return 0;
}

cuarena_status_t cuai_check_freelist(const cuarena_heap_t *heap, uint32_t freelist)
{
    if (freelist < CUAI_FREELIST_PLANNED && heap->freelists[freelist] != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "free list %u is not in use", (unsigned)freelist);
}

static cuarena_status_t check_size(const cuarena_heap_t *heap, uint64_t size, uint64_t *rounded)
{
    if (size == 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "size is 0");
    if (cuai_align_up_checked(size, heap->granule_mask + 1, rounded) &&
        *rounded < CUARENA_HEAP_MAX_SEGMENT)
        return CUARENA_OK;
    return cuai_fail_bytes(
        CUARENA_OUT_OF_MEMORY, size, heap->capacity, heap->capacity, heap->freelists[0]->free_bytes,
        0, "%llu bytes are more than any segment can have", (unsigned long long)size);
}

static cuarena_status_t check_request(const cuarena_heap_t *heap,
                                      const cuarena_heap_request_t *request, uint64_t *rounded)
{
    uint64_t alignment = request->alignment;
    if (alignment != 0 &&
        (!cuai_is_power_of_two(alignment) || alignment >= CUARENA_HEAP_MAX_SEGMENT))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "alignment %llu is not a power of two below 2^48",
                         (unsigned long long)alignment);
    if (request->flags & ~CUARENA_HEAP_FLAGS)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "flags %#x exceed 0xff", (unsigned)request->flags);
    if (request->low > 1 || request->zero != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "low %u is neither 0 nor 1, or zero is not 0",
                         (unsigned)request->low);
    if (request->owner > CUARENA_HEAP_MAX_OWNER)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "owner %u exceeds %u", (unsigned)request->owner,
                         CUARENA_HEAP_MAX_OWNER);
    cuarena_status_t status = cuai_check_freelist(heap, request->freelist);
    return status == CUARENA_OK ? check_size(heap, request->size, rounded) : status;
}

static cuarena_status_t refused(cuarena_status_t status, const cuarena_heap_t *heap,
                                const cuarena_heap_request_t *request)
{
    uint64_t largest = 0;
    cuarena_heap_largest(heap, request->freelist, &largest);
    uint64_t free_bytes = heap->freelists[request->freelist]->free_bytes;
    if (status == CUARENA_LIMIT)
        return cuai_fail_bytes(status, request->size, heap->max_blocks, 0, free_bytes, largest,
                               "%llu blocks live, as many as max_blocks allows",
                               (unsigned long long)cuai_heap_blocks(heap));
    return cuai_fail_bytes(status, request->size, heap->capacity, heap->capacity, free_bytes,
                           largest, "no room for %llu bytes: %llu free, the largest range has %llu",
                           (unsigned long long)request->size, (unsigned long long)free_bytes,
                           (unsigned long long)largest);
}

/* ---- Calls ------------------------------------------------------------- */

cuarena_status_t cuarena_heap_alloc(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                                    cuarena_block_t *block_out, uint64_t *offset_out)
{
    if (heap == NULL || request == NULL || block_out == NULL || offset_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    uint64_t size;
    cuarena_status_t status = check_request(heap, request, &size);
    if (status != CUARENA_OK)
        return status;
    cuai_slot_t slot;
    status = cuai_heap_try_alloc(heap, request, size, UINT64_MAX, false, &slot);
    if (status != CUARENA_OK)
        return refused(status, heap, request);
    *block_out = cuai_id(heap, slot);
    *offset_out = cuai_record(heap, slot)->offset;
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_free(cuarena_heap_t *heap, cuarena_block_t block, uint32_t freelist)
{
    cuarena_status_t status;
    cuai_slot_t slot = check_still(heap, block, &status);
    if (slot == 0)
        return status;
    status = cuai_check_freelist(heap, freelist);
    if (status == CUARENA_OK)
        cuai_heap_free(heap, slot, freelist);
    return status;
}

cuarena_status_t cuarena_heap_resize(cuarena_heap_t *heap, cuarena_block_t block, uint64_t size,
                                     uint32_t freelist)
{
    cuarena_status_t status;
    cuai_slot_t slot = check_still(heap, block, &status);
    if (slot == 0)
        return status;
    uint64_t rounded;
    status = cuai_check_freelist(heap, freelist);
    if (status == CUARENA_OK)
        status = check_size(heap, size, &rounded);
    if (status != CUARENA_OK)
        return status;
    bool listed = cuai_record(heap, slot)->kind == CUAI_BLOCK;
    if (listed && cuai_heap_resize(heap, slot, rounded, size, freelist))
        return CUARENA_OK;
    cuai_placement_note_cramped(heap, slot);
    return cuai_fail(CUARENA_FRAGMENTED, "block %#llx cannot have %llu bytes where it stands",
                     (unsigned long long)block, (unsigned long long)size);
}

cuarena_status_t cuarena_heap_exchange(cuarena_heap_t *heap, cuarena_block_t a, cuarena_block_t b)
{
    cuarena_status_t status;
    cuai_slot_t slot_a = check_still(heap, a, &status);
    if (slot_a == 0)
        return status;
    cuai_slot_t slot_b = check_still(heap, b, &status);
    if (slot_b == 0)
        return status;
    cuai_heap_exchange(heap, slot_a, slot_b);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_find(const cuarena_heap_t *heap, uint64_t offset,
                                   cuarena_block_t *block_out)
{
    if (heap == NULL || block_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    cuai_slot_t slot = cuai_table_find(&heap->table, heap->records, offset);
    if (slot == 0)
        return cuai_fail(CUARENA_STALE, "no block begins at offset %llu",
                         (unsigned long long)offset);
    *block_out = cuai_id(heap, slot);
    return CUARENA_OK;
}

/* Begins a pin, or ends one. */
static cuarena_status_t change_pins(cuarena_heap_t *heap, cuarena_block_t block, bool more)
{
    cuarena_status_t status;
    cuai_slot_t slot = check_still(heap, block, &status);
    if (slot == 0)
        return status;
    cuai_record_t *r = cuai_record(heap, slot);
    if (more && r->pins == CUARENA_HEAP_MAX_PINS)
        return cuai_fail(CUARENA_BUSY, "block %#llx has %u pins, the most",
                         (unsigned long long)block, CUARENA_HEAP_MAX_PINS);
    if (!more && r->pins == 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "block %#llx has no pin to end",
                         (unsigned long long)block);
    r->pins = (uint16_t)(more ? r->pins + 1 : r->pins - 1);
    cuai_note_change(heap);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_pin(cuarena_heap_t *heap, cuarena_block_t block)
{
    return change_pins(heap, block, true);
}

cuarena_status_t cuarena_heap_unpin(cuarena_heap_t *heap, cuarena_block_t block)
{
    return change_pins(heap, block, false);
}

cuarena_status_t cuai_heap_begin_cache(cuarena_heap_t *heap)
{
    CUAI_ASSERT(heap->cache == NULL);
    cuai_cache_t *cache = cuai_cache_create(heap->max_slots);
    if (cache == NULL || !cuai_cache_commit(cache, heap->committed)) {
        cuai_cache_destroy(cache);
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory, or no addresses, for a cache");
    }
    heap->cache = cache;
    return CUARENA_OK;
}
