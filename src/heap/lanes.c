/* Lanes: sets of ranges with an index of their own. */
#include "heap/heap.h"

cuarena_status_t cuarena_heap_lane_create(cuarena_heap_t *heap,
                                          uint32_t *lane_out)
{
    if (heap == NULL || lane_out == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "an argument is NULL");
    uint32_t lane = 1;
    while (lane < CUAI_LANE_HELD && heap->lanes[lane] != NULL)
        lane++;
    if (lane == CUAI_LANE_HELD)
        return cuai_fail(CUARENA_LIMIT, "%u lanes are in use, the most",
                         (unsigned)CUAI_LANE_HELD);
    /* From now on a free may need a SPACER, which it must not have to get. */
    cuarena_status_t status = cuai_slots_reserve(heap, heap->live_blocks + 1);
    cuai_index_t *index = NULL;
    if (status == CUARENA_OK)
        index = cuai_host_alloc(sizeof *index);
    if (index == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a lane");
    heap->lanes[lane] = index;
    heap->lane_count++;
    heap->plain = false;
    *lane_out = lane;
    return CUARENA_OK;
}

static cuarena_status_t check_own_lane(const cuarena_heap_t *heap,
                                       uint32_t lane)
{
    if (heap == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "heap is NULL");
    if (lane != 0 && lane < CUAI_LANE_HELD && heap->lanes[lane] != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "lane %u is not one that lane_create gave",
                     (unsigned)lane);
}

static void settle_zone(cuarena_heap_t *heap, const cuai_index_t *index,
                        uint32_t zone)
{
    uint32_t class = cuai_zone_first(index, zone, 0);
    while (class != CUAI_NO_CLASS) {
        cuai_range_relane(heap, index->heads[cuai_list_of(zone, class)], 0);
        class = cuai_zone_first(index, zone, class);
    }
}

cuarena_status_t cuarena_heap_lane_settle(cuarena_heap_t *heap, uint32_t lane)
{
    cuarena_status_t status = check_own_lane(heap, lane);
    if (status != CUARENA_OK)
        return status;
    const cuai_index_t *index = heap->lanes[lane];
    for (uint32_t zone = 0; zone < CUAI_ZONES; zone++)
        settle_zone(heap, index, zone);
    cuai_note_change(heap);
    return CUARENA_OK;
}

cuarena_status_t cuarena_heap_lane_destroy(cuarena_heap_t *heap, uint32_t lane)
{
    cuarena_status_t status = cuarena_heap_lane_settle(heap, lane);
    if (status != CUARENA_OK)
        return status;
    cuai_host_free(heap->lanes[lane]);
    heap->lanes[lane] = NULL;
    heap->lane_count--;
    cuai_note_plain(heap);
    return CUARENA_OK;
}
