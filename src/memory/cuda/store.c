#include "memory/cuda/store.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "memory/host/common.h"

/* ---- Life -------------------------------------------------------------- */

static cuarena_status_t make_own_stream(cuai_store_t *store)
{
    cuai_place_t *place = store->place;
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuStreamCreate(&store->own, CUAI_CU_STREAM_NON_BLOCKING);
    cuai_place_leave(&visit);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    store->own = NULL;
    return cuai_place_fail(place, result, "cuStreamCreate", "a stream of the arena's own");
}

static cuarena_status_t open_store(cuai_store_t *store, const char *name,
                                   const cuarena_config_t *config)
{
    CUAI_ASSERT(store->place == NULL);
    cuarena_status_t status = cuai_place_open(config, &store->place);
    if (status != CUARENA_OK)
        return status;
    const uint64_t reach = UINT64_C(1) << (store->place->device & 63);
    cuai_streams_open(&store->streams, name, store->place, reach);
    status = make_own_stream(store);
    if (status != CUARENA_OK)
        cuai_streams_end(&store->streams);
    return status;
}

void *cuai_store_open(size_t size, const char *name, const cuarena_config_t *config,
                      cuarena_status_t *status)
{
    CUAI_ASSERT(size >= sizeof(cuai_store_t));
    cuai_store_t *store = cuai_host_alloc(size);
    *status = store == NULL
                  ? cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a memory's record")
                  : open_store(store, name, config);
    if (*status == CUARENA_OK)
        return store;
    cuai_host_free(store);
    return NULL;
}

cuarena_status_t cuai_store_add_mover(cuai_store_t *store)
{
    CUAI_ASSERT(!store->has_mover && store->own != NULL);
    cuarena_status_t status = cuai_mover_open(&store->mover, store->place, store->own);
    store->has_mover = status == CUARENA_OK;
    return status;
}

/* A stream that is destroyed finishes what it was given. */
static void end_own_stream(cuai_store_t *store)
{
    CUAI_ASSERT(store->own != NULL);
    cuai_place_t *place = store->place;
    cuai_visit_t visit;
    if (!cuai_place_enter_to_end(place, &visit))
        return;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuStreamDestroy(store->own);
    cuai_place_leave(&visit);
    cuai_place_note(place, result, "cuStreamDestroy");
}

void cuai_store_end(void *user)
{
    cuai_store_t *store = user;
    if (store->has_mover)
        cuai_mover_end(&store->mover);
    end_own_stream(store);
    cuai_streams_end(&store->streams);
    cuai_host_free(store);
}

/* ---- What is there ----------------------------------------------------- */

cuarena_status_t cuai_store_info(cuai_store_t *store, uint64_t *free_out, uint64_t *total_out)
{
    cuai_place_t *place = store->place;
    cuai_visit_t visit;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = cuai_cu(place->cuda)->cuMemGetInfo(&free_bytes, &total_bytes);
    cuai_place_leave(&visit);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuMemGetInfo", "how much device %d has free",
                               place->device);
    *free_out = free_bytes;
    *total_out = total_bytes;
    return CUARENA_OK;
}

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    uint64_t total;
    return cuai_store_info(user, bytes_out, &total);
}

static cuarena_status_t total(void *user, uint64_t *bytes_out)
{
    const cuai_store_t *store = user;
    *bytes_out = store->place->facts.total_bytes;
    return CUARENA_OK;
}

/* ---- Work on a stream -------------------------------------------------- */

/* Makes what `stream` of `place` was given so far come before what `other` is given from now on. */
static cuarena_status_t order(cuai_place_t *place, cuai_cu_stream_t stream,
                              cuai_place_t *other_place, cuai_cu_stream_t other)
{
    cuai_event_t *event = NULL;
    cuarena_status_t status = cuai_event_record(place, stream, &event);
    if (status == CUARENA_OK)
        status = cuai_event_wait(event, other_place, other);
    cuai_event_release(event);
    return status;
}

/* BUSY if the stream is being captured: the work would be done when the graph is launched, if
 * ever. */
static cuarena_status_t check_capture(cuai_place_t *place, cuarena_stream_t stream)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = cuai_event_check_capture(place->cuda, stream);
    cuai_place_leave(&visit);
    return status;
}

cuarena_status_t cuai_store_begin(cuai_store_t *store, cuarena_stream_t stream, cuai_work_t *work)
{
    CUAI_ASSERT(store->own != NULL);
    *work = (cuai_work_t){.store = store, .stream = store->own, .asked = stream};
    if (stream == CUARENA_NO_STREAM)
        return CUARENA_OK;
    cuai_place_t *place;
    cuarena_status_t status = cuai_streams_place(&store->streams, stream, &place);
    if (status == CUARENA_OK)
        status = check_capture(place, stream);
    if (status != CUARENA_OK)
        return status;
    if (place == store->place) {
        work->stream = stream;
        return CUARENA_OK;
    }
    work->elsewhere = place;
    return order(place, stream, store->place, store->own);
}

cuarena_status_t cuai_store_wait(cuai_store_t *store)
{
    cuai_event_t *event = NULL;
    cuarena_status_t status = cuai_event_record(store->place, store->own, &event);
    if (status == CUARENA_OK)
        status = cuai_event_wait_host(event);
    cuai_event_release(event);
    return status == CUARENA_OK ? status : cuai_event_synchronize(store->place, store->own);
}

/* Waits for queued work after which the bytes are somebody else's. If both ways to wait fail the
 * arena is LOST, because nobody may have the bytes. */
static cuarena_status_t wait_at_last(cuai_store_t *store)
{
    CUAI_ASSERT(store->own != NULL);
    cuarena_status_t status = cuai_store_wait(store);
    if (status == CUARENA_OK)
        return status;
    atomic_store(&store->unfinished, true);
    return status == CUARENA_LOST ? status
                                  : cuai_fail(CUARENA_LOST,
                                              "device %d: nobody can tell when the work that was "
                                              "queued is done",
                                              store->place->device);
}

bool cuai_store_enter_to_end(cuai_store_t *store, cuai_visit_t *visit)
{
    if (atomic_load(&store->unfinished) && cuai_store_wait(store) != CUARENA_OK) {
        cuai_log(CUARENA_LOG_WARN, "device %d: bytes that may be in use are not given back",
                 store->place->device);
        return false;
    }
    atomic_store(&store->unfinished, false);
    return cuai_place_enter_to_end(store->place, visit);
}

cuarena_status_t cuai_store_pass_on(const cuai_work_t *work)
{
    CUAI_ASSERT(work->asked != CUARENA_NO_STREAM);
    if (work->elsewhere == NULL)
        return CUARENA_OK;
    return order(work->store->place, work->stream, work->elsewhere, work->asked);
}

/* Where no event can order the asked stream behind the work, the caller waits for that. */
static cuarena_status_t finish_work(const cuai_work_t *work)
{
    if (work->asked == CUARENA_NO_STREAM)
        return wait_at_last(work->store);
    cuarena_status_t status = cuai_store_pass_on(work);
    bool failed = status != CUARENA_OK && status != CUARENA_BUSY;
    return failed ? cuai_store_wait(work->store) : status;
}

/* A list that was queued in part is finished like a whole one. */
static cuarena_status_t relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                 cuarena_stream_t stream, size_t *done_out)
{
    cuai_store_t *store = user;
    cuai_work_t work;
    *done_out = 0;
    CUAI_ASSERT(store->has_mover);
    cuarena_status_t status = cuai_store_begin(store, stream, &work);
    if (status != CUARENA_OK)
        return status;
    status = cuai_mover_queue(&store->mover, list, count, work.stream, done_out);
    if (status == CUARENA_OK)
        return finish_work(&work);
    cuai_kept_error_t words = cuai_error_kept();
    if (*done_out != 0 && finish_work(&work) == CUARENA_LOST)
        return CUARENA_LOST;
    cuai_error_restore(&words);
    return status;
}

/* Sets whole words to 0: sizes and addresses are multiples of 8. */
static cuarena_status_t set_to_zero(cuai_place_t *place, cuai_cu_stream_t stream,
                                    const void *address, uint64_t bytes)
{
    cuai_visit_t visit;
    CUAI_ASSERT(((uintptr_t)address | bytes) % 8 == 0);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)
            ->cuMemsetD32Async((cuai_cu_pointer_t)(uintptr_t)address, 0, bytes / 4, stream);
    cuai_place_leave(&visit);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    if (result == CUAI_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        return cuai_streams_fail_capture(stream);
    return cuai_place_fail(place, result, "cuMemsetD32Async", "%" PRIu64 " bytes at %p set to 0",
                           bytes, address);
}

static cuarena_status_t zero_bytes(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    cuai_work_t work;
    cuarena_status_t status = cuai_store_begin(user, stream, &work);
    if (status == CUARENA_OK)
        status = set_to_zero(work.store->place, work.stream, address, bytes);
    if (status == CUARENA_OK)
        status = finish_work(&work);
    return status;
}

/* Queues the setting of bytes on the stream. Called within a visit of the place. */
static cuarena_status_t queue_set(cuai_place_t *place, cuai_cu_stream_t stream, const void *address,
                                  int32_t value, uint64_t bytes)
{
    cuai_cu_result_t result = cuai_cu(place->cuda)
                                  ->cuMemsetD8Async((cuai_cu_pointer_t)(uintptr_t)address,
                                                    (unsigned char)value, bytes, stream);
    return CUAI_PLACE_STATUS(place, result, "cuMemsetD8Async", "%" PRIu64 " bytes at %p set to %d",
                             bytes, address, (int)value);
}

static cuarena_status_t set_bytes(void *user, void *address, int32_t value, uint64_t bytes,
                                  cuarena_stream_t stream)
{
    cuai_work_t work;
    cuai_visit_t visit;
    cuarena_status_t status = cuai_store_begin(user, stream, &work);
    if (status == CUARENA_OK)
        status = cuai_place_enter(work.store->place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = queue_set(work.store->place, work.stream, address, value, bytes);
    cuai_place_leave(&visit);
    return status == CUARENA_OK ? finish_work(&work) : status;
}

/* The driver returns from a copy to pageable memory when that is done, so nothing is written to
 * `to` after a wait that fails. */
static cuarena_status_t read_bytes(void *user, void *to, const void *address, uint64_t bytes)
{
    cuai_store_t *store = user;
    cuai_place_t *place = store->place;
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result =
        cuai_cu(place->cuda)
            ->cuMemcpyDtoHAsync(to, (cuai_cu_pointer_t)(uintptr_t)address, bytes, store->own);
    cuai_place_leave(&visit);
    status = CUAI_PLACE_STATUS(place, result, "cuMemcpyDtoHAsync",
                               "%" PRIu64 " bytes at %p copied to the host", bytes, address);
    return status == CUARENA_OK ? cuai_store_wait(store) : status;
}

/* A captured stream of another context sets the bytes itself: events around work of the own stream
 * would become part of the graph. */
static cuarena_status_t zero_captured(void *user, void *address, uint64_t bytes,
                                      cuarena_stream_t stream)
{
    cuai_store_t *store = user;
    cuai_place_t *place = NULL;
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    cuarena_status_t status = cuai_streams_place(&store->streams, stream, &place);
    return status == CUARENA_OK ? set_to_zero(place, stream, address, bytes) : status;
}

/* ---- The table --------------------------------------------------------- */

void cuai_store_fill(const cuai_store_t *store, cuai_memory_t *out)
{
    const cuai_facts_t *facts = &store->place->facts;
    CUAI_ASSERT(store->streams.name != NULL);
    cuarena_memory_ops_t *ops = &out->ops;
    out->place = store->place;
    cuarena_memory_ops_init(ops);
    ops->name = store->streams.name;
    ops->properties = CUARENA_MEMORY_TOUCHES;
    ops->available = available;
    ops->total = total;
    ops->relocate = store->has_mover ? relocate : cuai_move_relocate;
    ops->zero_bytes = zero_bytes;
    ops->zero_captured = zero_captured;
    ops->set_bytes = set_bytes;
    ops->read_bytes = read_bytes;
    ops->end = cuai_store_end;
    cuai_streams_fill(ops);
    out->facts.device = store->place->device;
    out->facts.context = store->place->context;
    out->facts.compute_major = facts->major;
    out->facts.compute_minor = facts->minor;
    out->facts.relocation_kernel = store->mover.kernels != NULL;
}
