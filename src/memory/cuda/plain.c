/*
 * Memory that the driver allocates and frees whole: of a device (malloc), of one of its pools
 * (async), managed, and pinned. A segment keeps its length.
 *
 * Segments are multiples of the size that the driver itself works in, so what is reserved is what
 * the driver has spent. Smaller pieces, for dedicated blocks and arenas with in_place=0, the driver
 * cuts from such. If an address is less aligned than the arena needs, a piece is allocated instead
 * that is longer by that alignment.
 *
 * A piece of a pool is allocated at a point of a stream and freed at one. Without a stream it is
 * allocated on the store's own stream, which is then waited for, so that every stream may use the
 * bytes; idle bytes are freed on that stream too. The driver cuts such pieces in multiples of less
 * than an arena's granule, so a dedicated block takes no more than its size.
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "memory/cuda/pools.h"
#include "memory/cuda/store.h"
#include "memory/cuda/vmm.h"
#include "memory/host/common.h"
#include "memory/kinds.h"
#include "nvtx/tool.h"

#define GRANULARITY (2 * CUAI_MIB)

/* The smallest piece, since the driver cuts the size that it works in. */
#define LEAST 512

/* The alignment of every address that the driver gives. */
#define NATURAL_ALIGNMENT 256

typedef struct plain plain_t;

/* How a kind allocates and frees; both within a visit. Only pools look at the stream. */
typedef struct plain_kind {
    const char *name;
    const char *call; /* that allocates */
    cuai_cu_result_t (*alloc)(const plain_t *plain, uint64_t bytes, cuai_cu_stream_t stream,
                              cuai_cu_pointer_t *address_out);
    cuai_cu_result_t (*free)(const plain_t *plain, uint64_t address, cuai_cu_stream_t stream);
    const char *free_call;
} plain_kind_t;

struct plain {
    cuai_store_t store; /* first: it is the table's user */
    const plain_kind_t *kind;
    uint64_t alignment;
    unsigned flags;   /* pinned */
    cuai_pool_t pool; /* async */
};

static const cuai_cuda_t *cuda_of(const plain_t *plain)
{
    return plain->store.place->cuda;
}

/* ---- Kinds ------------------------------------------------------------- */

static cuai_cu_result_t alloc_malloc(const plain_t *plain, uint64_t bytes, cuai_cu_stream_t stream,
                                     cuai_cu_pointer_t *address_out)
{
    (void)stream;
    return cuai_cu(cuda_of(plain))->cuMemAlloc(address_out, bytes);
}

static cuai_cu_result_t free_malloc(const plain_t *plain, uint64_t address, cuai_cu_stream_t stream)
{
    (void)stream;
    return cuai_cu(cuda_of(plain))->cuMemFree(address);
}

static cuai_cu_result_t alloc_managed(const plain_t *plain, uint64_t bytes, cuai_cu_stream_t stream,
                                      cuai_cu_pointer_t *address_out)
{
    (void)stream;
    return cuai_cu(cuda_of(plain))
        ->cuMemAllocManaged(address_out, bytes, CUAI_CU_MEM_ATTACH_GLOBAL);
}

static cuai_cu_result_t alloc_pinned(const plain_t *plain, uint64_t bytes, cuai_cu_stream_t stream,
                                     cuai_cu_pointer_t *address_out)
{
    (void)stream;
    void *pointer = NULL;
    cuai_cu_result_t result =
        cuai_cu(cuda_of(plain))->cuMemHostAlloc(&pointer, bytes, plain->flags);
    *address_out = (uint64_t)(uintptr_t)pointer;
    return result;
}

static cuai_cu_result_t free_pinned(const plain_t *plain, uint64_t address, cuai_cu_stream_t stream)
{
    (void)stream;
    return cuai_cu(cuda_of(plain))->cuMemFreeHost(cuai_store_pointer(address));
}

static cuai_cu_result_t alloc_pooled(const plain_t *plain, uint64_t bytes, cuai_cu_stream_t stream,
                                     cuai_cu_pointer_t *address_out)
{
    CUAI_ASSERT(plain->pool.handle != NULL);
    return cuai_cu(cuda_of(plain))
        ->cuMemAllocFromPoolAsync(address_out, bytes, plain->pool.handle, stream);
}

static cuai_cu_result_t free_pooled(const plain_t *plain, uint64_t address, cuai_cu_stream_t stream)
{
    return cuai_cu(cuda_of(plain))->cuMemFreeAsync(address, stream);
}

static const plain_kind_t malloc_kind = {"device (malloc)", "cuMemAlloc", alloc_malloc, free_malloc,
                                         "cuMemFree"};
static const plain_kind_t managed_kind = {"managed", "cuMemAllocManaged", alloc_managed,
                                          free_malloc, "cuMemFree"};
static const plain_kind_t pinned_kind = {"pinned", "cuMemHostAlloc", alloc_pinned, free_pinned,
                                         "cuMemFreeHost"};

static const plain_kind_t pooled_kind = {"device (async)", "cuMemAllocFromPoolAsync", alloc_pooled,
                                         free_pooled, "cuMemFreeAsync"};

/* ---- Pieces ------------------------------------------------------------ */

static cuarena_status_t alloc_piece(plain_t *plain, uint64_t bytes, cuai_cu_stream_t stream,
                                    cuai_cu_pointer_t *address_out)
{
    cuai_place_t *place = plain->store.place;
    cuai_visit_t visit;
    CUAI_ASSERT(bytes != 0);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = plain->kind->alloc(plain, bytes, stream, address_out);
    cuai_place_leave(&visit);
    CUAI_ASSERT(result != CUAI_CUDA_SUCCESS || *address_out != 0);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    status = cuai_place_fail(place, result, plain->kind->call, "%" PRIu64 " bytes of device %d",
                             bytes, place->device);
    cuai_error_asked(bytes);
    return status;
}

static void free_piece(plain_t *plain, uint64_t address, cuai_cu_stream_t stream)
{
    cuai_place_t *place = plain->store.place;
    cuai_visit_t visit;
    CUAI_ASSERT(address != 0);
    if (!cuai_store_enter_to_end(&plain->store, &visit))
        return;
    cuai_cu_result_t result = plain->kind->free(plain, address, stream);
    cuai_place_leave(&visit);
    cuai_place_note(place, result, plain->kind->free_call);
}

/* Allocates a piece in which `bytes` of the arena's alignment fit: a longer one if need be. */
static cuarena_status_t alloc_aligned(plain_t *plain, uint64_t bytes, cuai_cu_stream_t stream,
                                      cuai_cu_pointer_t *taken_out)
{
    cuarena_status_t status = alloc_piece(plain, bytes, stream, taken_out);
    if (status != CUARENA_OK || cuai_is_aligned(*taken_out, plain->alignment))
        return status;
    free_piece(plain, *taken_out, stream);
    return alloc_piece(plain, bytes + plain->alignment, stream, taken_out);
}

/* The cookie of a segment is the address of its piece, which may be lower. */
static cuarena_memory_segment_t segment_in(const plain_t *plain, uint64_t taken, uint64_t bytes)
{
    CUAI_ASSERT(taken != 0);
    return (cuarena_memory_segment_t){
        .address = cuai_align_up(taken, plain->alignment),
        .bytes = bytes,
        .address_bytes = bytes,
        .cookie = cuai_store_pointer(taken),
    };
}

static uint64_t piece_of(const cuarena_memory_segment_t *segment)
{
    CUAI_ASSERT((uint64_t)(uintptr_t)segment->cookie <= segment->address);
    return (uint64_t)(uintptr_t)segment->cookie;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    (void)address_bytes;
    plain_t *plain = user;
    cuai_cu_pointer_t taken = 0;
    cuarena_status_t status = alloc_aligned(plain, bytes, NULL, &taken);
    if (status == CUARENA_OK)
        *segment_out = segment_in(plain, taken, bytes);
    return status;
}

/* Frees in the order of the memory's own stream, which only a pool looks at. */
static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    plain_t *plain = user;
    free_piece(plain, piece_of(segment), plain->store.own);
}

/* ---- Pools: at points of streams ------------------------------------------- */

/* Makes the bytes usable: for all streams by waiting for the own one, else for the one that asked.
 */
static cuarena_status_t hand_over(const cuai_work_t *work)
{
    return work->asked == CUARENA_NO_STREAM ? cuai_store_wait(work->store)
                                            : cuai_store_pass_on(work);
}

static cuarena_status_t get_at(plain_t *plain, uint64_t bytes, cuarena_stream_t stream,
                               cuarena_memory_segment_t *segment_out)
{
    cuai_work_t work;
    cuai_cu_pointer_t taken = 0;
    cuarena_status_t status = cuai_pool_check_soft(&plain->pool, bytes);
    if (status == CUARENA_OK)
        status = cuai_store_begin(&plain->store, stream, &work);
    if (status == CUARENA_OK)
        status = alloc_aligned(plain, bytes, work.stream, &taken);
    if (status != CUARENA_OK)
        return status;
    status = hand_over(&work);
    if (status != CUARENA_OK) {
        free_piece(plain, taken, work.stream);
        return status;
    }
    *segment_out = segment_in(plain, taken, bytes);
    return CUARENA_OK;
}

static cuarena_status_t get_pooled(void *user, uint64_t bytes, uint64_t address_bytes,
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

/* Tries twice to find the point of the stream. If that fails the bytes are never freed, because
 * somebody may be writing to them. */
static void give_on(void *user, cuarena_memory_segment_t *segment, cuarena_stream_t stream)
{
    plain_t *plain = user;
    cuai_work_t work;
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    cuarena_status_t status = cuai_store_begin(&plain->store, stream, &work);
    if (status != CUARENA_OK && status != CUARENA_BUSY)
        status = cuai_store_begin(&plain->store, stream, &work);
    if (status == CUARENA_BUSY)
        give_back(user, segment);
    else if (status == CUARENA_OK)
        free_piece(plain, piece_of(segment), work.stream);
    else
        cuai_log(CUARENA_LOG_WARN,
                 "device %d: %" PRIu64 " bytes that a stream may be using are "
                 "not given back",
                 plain->store.place->device, segment->bytes);
}

static void end_pooled(void *user)
{
    plain_t *plain = user;
    cuai_pool_end(&plain->pool);
    cuai_store_end(plain);
}

/* ---- Managed: never more than the card has ------------------------------ */

/* Managed memory that nobody has touched yet takes nothing of the device, so the driver gives more
 * than fits; a program that touches all of it may bring the device to a halt. So the managed bytes
 * of all arenas of a device stay below what it has, and each piece below what is free. */
static _Atomic uint64_t managed_given[CUAI_VMM_DEVICES];

static _Atomic uint64_t *given_on(const plain_t *plain)
{
    CUAI_ASSERT(plain->store.place->device >= 0);
    return &managed_given[plain->store.place->device % CUAI_VMM_DEVICES];
}

static cuarena_status_t count_managed(plain_t *plain, uint64_t bytes)
{
    uint64_t free_bytes;
    uint64_t total;
    CUAI_ASSERT(bytes != 0);
    cuarena_status_t status = cuai_store_info(&plain->store, &free_bytes, &total);
    if (status != CUARENA_OK)
        return status;
    uint64_t before = atomic_fetch_add(given_on(plain), bytes);
    if (bytes <= free_bytes && before <= total && bytes <= total - before)
        return CUARENA_OK;
    atomic_fetch_sub(given_on(plain), bytes);
    return cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, bytes, total, before, free_bytes, free_bytes,
                           "%" PRIu64 " managed bytes: device %d has %" PRIu64 " of %" PRIu64
                           " free, and arenas have %" PRIu64 " managed ones",
                           bytes, plain->store.place->device, free_bytes, total, before);
}

static cuarena_status_t get_managed(void *user, uint64_t bytes, uint64_t address_bytes,
                                    cuarena_memory_segment_t *segment_out)
{
    plain_t *plain = user;
    cuarena_status_t status = count_managed(plain, bytes);
    if (status != CUARENA_OK)
        return status;
    status = get(user, bytes, address_bytes, segment_out);
    if (status != CUARENA_OK)
        atomic_fetch_sub(given_on(plain), bytes);
    return status;
}

static void give_back_managed(void *user, cuarena_memory_segment_t *segment)
{
    CUAI_ASSERT(atomic_load(given_on(user)) >= segment->bytes);
    atomic_fetch_sub(given_on(user), segment->bytes);
    give_back(user, segment);
}

static cuarena_status_t managed_available(void *user, uint64_t *bytes_out)
{
    plain_t *plain = user;
    uint64_t free_bytes;
    uint64_t total;
    cuarena_status_t status = cuai_store_info(&plain->store, &free_bytes, &total);
    if (status != CUARENA_OK)
        return status;
    uint64_t given = atomic_load(given_on(plain));
    *bytes_out = cuai_min(free_bytes, total > given ? total - given : 0);
    return CUARENA_OK;
}

/* ---- Opening ----------------------------------------------------------- */

static void fill_table(const plain_t *plain, cuai_memory_t *out)
{
    cuarena_memory_ops_t *ops = &out->ops;
    cuai_store_fill(&plain->store, out);
    CUAI_ASSERT(cuai_is_power_of_two(plain->alignment));
    ops->granularity = cuai_max(GRANULARITY, plain->alignment);
    ops->alignment = plain->alignment;
    ops->least_bytes = cuai_max(LEAST, plain->alignment);
    ops->get = get;
    ops->give_back = give_back;
    out->piece_of = piece_of;
    out->user = (void *)(uintptr_t)plain;
}

/* Opens what all kinds have in common; NULL on an error. */
static plain_t *open_kind(const cuarena_config_t *config, const plain_kind_t *kind,
                          cuarena_status_t *status)
{
    plain_t *plain = cuai_store_open(sizeof *plain, kind->name, config, status);
    if (plain == NULL)
        return NULL;
    plain->kind = kind;
    plain->alignment = cuai_max(NATURAL_ALIGNMENT, config->alignment);
    return plain;
}

static cuarena_status_t lacks(const plain_t *plain, const char *what)
{
    const cuai_place_t *place = plain->store.place;
    CUAI_ASSERT(what != NULL);
    return cuai_fail(CUARENA_UNSUPPORTED, "device %d (%s) has no %s", place->device,
                     place->facts.name, what);
}

/* Opens the mover, if the device moves the bytes, and fills the table; ends the memory if `status`,
 * or what becomes of it, is no success. */
static cuarena_status_t finish(plain_t *plain, cuarena_status_t status, bool moves,
                               cuai_memory_t *out)
{
    if (status == CUARENA_OK && moves)
        status = cuai_store_add_mover(&plain->store);
    if (status == CUARENA_OK)
        fill_table(plain, out);
    else
        cuai_store_end(plain);
    return status;
}

static cuarena_status_t open_malloc(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_status_t status;
    plain_t *plain = open_kind(config, &malloc_kind, &status);
    if (plain == NULL)
        return status;
    out->facts.rdma = config->rdma != CUARENA_PROPERTY_OFF && plain->store.place->facts.rdma;
    if (config->rdma == CUARENA_PROPERTY_REQUIRE && !out->facts.rdma)
        status = lacks(plain, "memory that network cards reach: rdma=require; "
                              "accepted: off, try");
    out->facts.backing = CUARENA_BACKING_MALLOC;
    return finish(plain, status, true, out);
}

/* There is no mover where each block is a segment, because such blocks never move. */
static cuarena_status_t open_pool(plain_t *plain, const cuarena_config_t *config)
{
    cuai_store_t *store = &plain->store;
    cuarena_status_t status = CUARENA_OK;
    CUAI_ASSERT(plain->kind == &pooled_kind);
    if (config->rdma == CUARENA_PROPERTY_REQUIRE)
        status = lacks(plain, "memory that network cards reach in its pools: rdma=require; "
                              "accepted: off, try");
    if (status == CUARENA_OK)
        status = cuai_pool_open(&plain->pool, store->place, config);
    if (status != CUARENA_OK)
        return status;
    store->streams.reach = plain->pool.reach;
    if (config->segments != CUARENA_SEGMENTS_EACH)
        status = cuai_store_add_mover(store);
    if (status != CUARENA_OK)
        cuai_pool_end(&plain->pool);
    return status;
}

static cuarena_status_t open_pooled(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_status_t status;
    plain_t *plain = open_kind(config, &pooled_kind, &status);
    if (plain == NULL)
        return status;
    status = open_pool(plain, config);
    if (status != CUARENA_OK) {
        cuai_store_end(plain);
        return status;
    }
    fill_table(plain, out);
    cuarena_memory_ops_t *ops = &out->ops;
    ops->least_bytes = config->alignment;
    ops->get = get_pooled;
    ops->get_on = get_on;
    ops->give_on = give_on;
    ops->end = end_pooled;
    if (!plain->store.has_mover)
        ops->relocate = NULL;
    out->pool = &plain->pool;
    out->facts.backing = CUARENA_BACKING_ASYNC;
    out->facts.peers = plain->pool.peers;
    return CUARENA_OK;
}

/* The key of an option that only handles can fulfil; NULL: none is set. */
static const char *needs_handles(const cuarena_config_t *config)
{
    if (config->fd == CUARENA_PROPERTY_REQUIRE)
        return "fd";
    if (config->fabric == CUARENA_PROPERTY_REQUIRE)
        return "fabric";
    if (config->peers == CUARENA_PROPERTY_REQUIRE)
        return "peers";
    return config->handle_bytes != 0 ? "handle" : NULL;
}

/* Whether blocks are to be told of to a tool, as compute-sanitizer is: that takes them in memory of
 * cuMemAlloc, and not in handles. The driver is initialized, as a tool may want. */
static bool is_told(const cuarena_config_t *config)
{
    if (config->nvtx == CUARENA_NVTX_OFF || config->backing != CUARENA_BACKING_AUTO)
        return false;
    cuai_tool_load();
    return cuai_tool_takes_regions();
}

/* Opens vmm; or malloc, unless something that was asked needs vmm, if the device has none or a tool
 * is told of blocks. */
static cuarena_status_t open_best(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuai_place_t *place;
    CUAI_ASSERT(config->backing != CUARENA_BACKING_MALLOC);
    cuarena_status_t status = cuai_place_open(config, &place);
    if (status != CUARENA_OK)
        return status;
    const char *key = needs_handles(config);
    const bool vmm = place->facts.vmm && (key != NULL || !is_told(config));
    if (!vmm && (config->backing == CUARENA_BACKING_VMM || key != NULL))
        status = cuai_fail(CUARENA_UNSUPPORTED,
                           "%s: device %d (%s) has no virtual memory "
                           "management; accepted: backing=auto, malloc, async "
                           "without it",
                           key != NULL ? key : "backing 'vmm'", place->device, place->facts.name);
    if (status == CUARENA_OK)
        status = vmm ? cuai_vmm_open(config, out) : open_malloc(config, out);
    cuai_place_close(place);
    return status;
}

cuarena_status_t cuai_device_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    if (config->backing == CUARENA_BACKING_MALLOC)
        return open_malloc(config, out);
    if (config->backing == CUARENA_BACKING_ASYNC)
        return open_pooled(config, out);
    return open_best(config, out);
}

static void reach_all(plain_t *plain, cuai_memory_t *out)
{
    CUAI_ASSERT(plain->store.streams.place == plain->store.place);
    plain->store.streams.reach = CUAI_REACH_ALL;
    out->facts.peers = cuda_of(plain)->device_count - 1;
}

cuarena_status_t cuai_managed_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_status_t status;
    plain_t *plain = open_kind(config, &managed_kind, &status);
    if (plain == NULL)
        return status;
    if (!plain->store.place->facts.managed)
        status = lacks(plain, "managed memory; accepted: memory=device, pinned");
    reach_all(plain, out);
    status = finish(plain, status, true, out);
    if (status != CUARENA_OK)
        return status;
    out->ops.properties |= CUARENA_MEMORY_HOST_READABLE;
    out->ops.available = managed_available;
    out->ops.get = get_managed;
    out->ops.give_back = give_back_managed;
    return CUARENA_OK;
}

static unsigned pinned_flags(const cuarena_config_t *config)
{
    return (config->portable ? (unsigned)CUAI_CU_MEMHOSTALLOC_PORTABLE : 0u) |
           (config->mapped ? (unsigned)CUAI_CU_MEMHOSTALLOC_DEVICEMAP : 0u) |
           (config->write_combined ? (unsigned)CUAI_CU_MEMHOSTALLOC_WRITECOMBINED : 0u);
}

/* The CPU moves pinned bytes as it moves pageable ones, unless they are write-combined: reading
 * those is slow for it, so the device moves them. */
cuarena_status_t cuai_pinned_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_status_t status;
    plain_t *plain = open_kind(config, &pinned_kind, &status);
    if (plain == NULL)
        return status;
    const cuai_facts_t *facts = &plain->store.place->facts;
    plain->flags = pinned_flags(config);
    if (config->mapped && !facts->maps_host)
        status = lacks(plain, "way to map pinned memory: mapped=1; accepted: "
                              "mapped=0");
    reach_all(plain, out);
    const bool reached = config->mapped && facts->host_same;
    status = finish(plain, status, config->write_combined && reached, out);
    if (status != CUARENA_OK)
        return status;
    out->ops.properties |= CUARENA_MEMORY_HOST_READABLE;
    out->ops.available = cuai_host_available;
    out->ops.total = cuai_host_total;
    out->ops.zero_bytes = cuai_move_zero;
    out->ops.set_bytes = cuai_move_set;
    out->ops.read_bytes = cuai_move_read;
    if (!reached)
        out->ops.zero_captured = NULL;
    return CUARENA_OK;
}
