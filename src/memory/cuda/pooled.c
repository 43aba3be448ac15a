/*
 * Device memory from one of the driver's pools: async.
 *
 * A piece is allocated at a point of a stream and freed at one. Without a stream it is allocated on
 * the store's own stream, which is then waited for, so that every stream may use the bytes; idle
 * bytes are freed on that stream too.
 *
 * The driver cuts pieces in multiples of less than an arena's granule, so a dedicated block takes
 * no more than its size. Segments for many blocks are multiples of what a pool itself reserves of
 * the device. If an address is less aligned than the arena needs, a piece is allocated instead that
 * is longer by that alignment.
 */
#include <inttypes.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "memory/cuda/pools.h"
#include "memory/cuda/store.h"
#include "memory/kinds.h"

#define GRANULARITY (2 * CUAI_MIB)

/* The alignment of every address that the driver gives. */
#define NATURAL_ALIGNMENT 256

typedef struct pooled {
    cuai_store_t store; /* first: it is the table's user */
    cuai_pool_t pool;
    uint64_t alignment;
} pooled_t;

/* ---- Pieces ------------------------------------------------------------ */

static cuarena_status_t alloc_piece(pooled_t *pooled, uint64_t bytes, cuai_cu_stream_t stream,
                                    uint64_t *address_out)
{
    cuai_place_t *place = pooled->store.place;
    cuai_cu_pointer_t pointer = 0;
    cuai_visit_t visit;
    CUAI_ASSERT(bytes != 0);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuMemAllocFromPoolAsync(&pointer, bytes, pooled->pool.handle, stream);
    cuai_place_leave(&visit);
    *address_out = pointer;
    CUAI_ASSERT(result != CUAI_CUDA_SUCCESS || pointer != 0);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    status = cuai_place_fail(place, result, "cuMemAllocFromPoolAsync",
                             "%" PRIu64 " bytes of device %d", bytes, place->device);
    cuai_error_asked(bytes);
    return status;
}

static void free_piece(pooled_t *pooled, uint64_t address, cuai_cu_stream_t stream)
{
    cuai_place_t *place = pooled->store.place;
    cuai_visit_t visit;
    CUAI_ASSERT(address != 0);
    if (!cuai_store_enter_to_end(&pooled->store, &visit))
        return;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuMemFreeAsync(address, stream);
    cuai_place_leave(&visit);
    cuai_place_note(place, result, "cuMemFreeAsync");
}

/* Allocates a piece in which `bytes` of the arena's alignment fit: a longer one if need be. */
static cuarena_status_t alloc_aligned(pooled_t *pooled, uint64_t bytes, cuai_cu_stream_t stream,
                                      uint64_t *taken_out)
{
    cuarena_status_t status = alloc_piece(pooled, bytes, stream, taken_out);
    if (status != CUARENA_OK || cuai_is_aligned(*taken_out, pooled->alignment))
        return status;
    free_piece(pooled, *taken_out, stream);
    return alloc_piece(pooled, bytes + pooled->alignment, stream, taken_out);
}

/* ---- The table --------------------------------------------------------- */

/* Makes the bytes usable: for all streams by waiting for the own one, else for the one that asked.
 */
static cuarena_status_t hand_over(const cuai_work_t *work)
{
    return work->asked == CUARENA_NO_STREAM ? cuai_store_wait(work->store)
                                            : cuai_store_pass_on(work);
}

static cuarena_status_t get_at(pooled_t *pooled, uint64_t bytes, cuarena_stream_t stream,
                               cuarena_memory_segment_t *segment_out)
{
    cuai_work_t work;
    uint64_t taken = 0;
    cuarena_status_t status = cuai_pool_check_soft(&pooled->pool, bytes);
    if (status == CUARENA_OK)
        status = cuai_store_begin(&pooled->store, stream, &work);
    if (status == CUARENA_OK)
        status = alloc_aligned(pooled, bytes, work.stream, &taken);
    if (status != CUARENA_OK)
        return status;
    status = hand_over(&work);
    if (status != CUARENA_OK) {
        free_piece(pooled, taken, work.stream);
        return status;
    }
    *segment_out = (cuarena_memory_segment_t){
        .address = cuai_align_up(taken, pooled->alignment),
        .bytes = bytes,
        .address_bytes = bytes,
        .cookie = cuai_store_pointer(taken),
    };
    return CUARENA_OK;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    (void)address_bytes;
    return get_at(user, bytes, CUARENA_NO_STREAM, segment_out);
}

static cuarena_status_t get_on(void *user, uint64_t bytes, cuarena_stream_t stream,
                               cuarena_memory_segment_t *segment_out)
{
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    return get_at(user, bytes, stream, segment_out);
}

/* The cookie of a segment is the address of its piece, which may be lower. */
static uint64_t address_of(const cuarena_memory_segment_t *segment)
{
    return (uint64_t)(uintptr_t)segment->cookie;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    pooled_t *pooled = user;
    CUAI_ASSERT(address_of(segment) <= segment->address);
    free_piece(pooled, address_of(segment), pooled->store.own);
}

/* Tries twice to find the point of the stream. If that fails the bytes are never freed, because
 * somebody may be writing to them. */
static void give_on(void *user, cuarena_memory_segment_t *segment, cuarena_stream_t stream)
{
    pooled_t *pooled = user;
    cuai_work_t work;
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    cuarena_status_t status = cuai_store_begin(&pooled->store, stream, &work);
    if (status != CUARENA_OK && status != CUARENA_BUSY)
        status = cuai_store_begin(&pooled->store, stream, &work);
    if (status == CUARENA_BUSY)
        give_back(user, segment);
    else if (status == CUARENA_OK)
        free_piece(pooled, address_of(segment), work.stream);
    else
        cuai_log(CUARENA_LOG_WARN,
                 "device %d: %" PRIu64 " bytes that a stream may be using are "
                 "not given back",
                 pooled->store.place->device, segment->bytes);
}

static void end(void *user)
{
    pooled_t *pooled = user;
    cuai_pool_end(&pooled->pool);
    cuai_store_end(&pooled->store);
}

/* ---- Opening ----------------------------------------------------------- */

static void fill_table(pooled_t *pooled, const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_memory_ops_t *ops = &out->ops;
    cuai_store_fill(&pooled->store, out);
    CUAI_ASSERT(cuai_is_power_of_two(pooled->alignment));
    ops->granularity = cuai_max(GRANULARITY, pooled->alignment);
    ops->alignment = pooled->alignment;
    ops->least_bytes = config->alignment;
    ops->get = get;
    ops->give_back = give_back;
    ops->get_on = get_on;
    ops->give_on = give_on;
    ops->end = end;
    if (!pooled->store.has_mover)
        ops->relocate = NULL;
    out->user = pooled;
    out->pool = &pooled->pool;
    out->facts.backing = CUARENA_BACKING_ASYNC;
    out->facts.peers = pooled->pool.peers;
}

static cuarena_status_t check_rdma(const cuarena_config_t *config, const cuai_place_t *place)
{
    if (config->rdma != CUARENA_PROPERTY_REQUIRE)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "device %d (%s) has no memory that network cards reach in "
                     "its pools: rdma=require; accepted: off, try",
                     place->device, place->facts.name);
}

/* There is no mover where each block is a segment, because such blocks never move. */
static cuarena_status_t prepare(pooled_t *pooled, const cuarena_config_t *config)
{
    cuai_store_t *store = &pooled->store;
    cuarena_status_t status = check_rdma(config, store->place);
    if (status == CUARENA_OK)
        status = cuai_pool_open(&pooled->pool, store->place, config);
    if (status != CUARENA_OK)
        return status;
    store->streams.reach = pooled->pool.reach;
    if (config->segments != CUARENA_SEGMENTS_EACH)
        status = cuai_store_add_mover(store);
    if (status != CUARENA_OK)
        cuai_pool_end(&pooled->pool);
    return status;
}

cuarena_status_t cuai_pooled_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_status_t status;
    pooled_t *pooled = cuai_store_open(sizeof *pooled, "device (async)", config, &status);
    if (pooled == NULL)
        return status;
    pooled->alignment = cuai_max(NATURAL_ALIGNMENT, config->alignment);
    status = prepare(pooled, config);
    if (status == CUARENA_OK)
        fill_table(pooled, config, out);
    else
        cuai_store_end(&pooled->store);
    return status;
}
