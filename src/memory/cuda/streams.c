#include "memory/cuda/streams.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "memory/cuda/events.h"

/* The place of streams that were seen, kept open until the memory ends. */
struct cuai_seen_place {
    cuai_place_t *place;
    struct cuai_seen_place *next;
};

/* Whether the handle is that of a default stream, which does not tell its context. */
static bool is_default(cuarena_stream_t stream)
{
    return stream == NULL || stream == CUARENA_STREAM_LEGACY || stream == CUARENA_STREAM_PER_THREAD;
}

/* ---- Life -------------------------------------------------------------- */

void cuai_streams_open(cuai_streams_t *streams, const char *name, cuai_place_t *place,
                       uint64_t reach)
{
    CUAI_ASSERT(name != NULL);
    *streams = (cuai_streams_t){
        .name = name,
        .place = place,
        .reach = reach,
    };
    cuai_lock_init(&streams->lock);
}

void cuai_streams_open_host(cuai_streams_t *streams, const char *name)
{
    cuai_streams_open(streams, name, NULL, CUAI_REACH_ALL);
    streams->host = true;
}

void cuai_streams_end(cuai_streams_t *streams)
{
    struct cuai_seen_place *seen;
    while ((seen = streams->seen) != NULL) {
        streams->seen = seen->next;
        cuai_place_close(seen->place);
        cuai_host_free(seen);
    }
    if (!streams->host)
        cuai_place_close(streams->place);
    cuai_lock_reset(&streams->lock); /* in a forked child a thread that is not there may hold it */
    cuai_lock_cleanup(&streams->lock);
}

/* ---- Places ------------------------------------------------------------ */

static cuai_place_t *default_place(cuai_streams_t *streams)
{
    cuai_lock(&streams->lock);
    cuai_place_t *place = streams->place;
    cuai_unlock(&streams->lock);
    return place;
}

/* A context with the handle of the place but another id replaces the place's, which has ended: the
 * place is lost then. */
static bool is_place_of(cuai_place_t *place, cuai_cu_context_t context,
                        unsigned long long context_id)
{
    CUAI_ASSERT(context != NULL);
    if (place->context != context)
        return false;
    if (place->context_id == context_id)
        return true;
    cuai_place_lose(place, CUAI_CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return false;
}

static cuai_place_t *find_seen(cuai_streams_t *streams, cuai_cu_context_t context,
                               unsigned long long context_id)
{
    cuai_lock(&streams->lock);
    cuai_place_t *found = NULL;
    if (!streams->host && is_place_of(streams->place, context, context_id))
        found = streams->place;
    for (struct cuai_seen_place *seen = streams->seen; seen != NULL && found == NULL;
         seen = seen->next)
        if (is_place_of(seen->place, context, context_id))
            found = seen->place;
    cuai_unlock(&streams->lock);
    return found;
}

/* Opens and keeps the place of a context. Two threads may do so at once, which does no harm. */
static cuarena_status_t see(cuai_streams_t *streams, cuai_cu_context_t context, cuai_place_t **out)
{
    struct cuai_seen_place *seen = cuai_host_alloc(sizeof *seen);
    if (seen == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a stream's record");
    cuarena_status_t status = cuai_place_open_context(context, &seen->place);
    if (status != CUARENA_OK) {
        cuai_host_free(seen);
        return status;
    }
    *out = seen->place;
    cuai_lock(&streams->lock);
    seen->next = streams->seen;
    streams->seen = seen;
    cuai_unlock(&streams->lock);
    return CUARENA_OK;
}

static cuarena_status_t place_of_context(cuai_streams_t *streams, const cuai_cuda_t *cuda,
                                         cuai_cu_context_t context, cuai_place_t **out)
{
    unsigned long long id;
    cuai_cu_result_t result = cuai_cu(cuda)->cuCtxGetId(context, &id);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_cuda_fail(result, "cuCtxGetId", "the context of a stream");
    *out = find_seen(streams, context, id);
    return *out != NULL ? CUARENA_OK : see(streams, context, out);
}

static cuarena_status_t unknown(cuarena_stream_t stream, cuai_cu_result_t result)
{
    const char *accepted = result == CUAI_CUDA_ERROR_INVALID_CONTEXT
                               ? "one is accepted while a context is current"
                               : "a living stream is accepted";
    cuarena_status_t status =
        cuai_fail(CUARENA_BAD_ARGUMENT, "stream: the driver says %s of %p, %s",
                  cuai_cuda_name(result), (void *)stream, accepted);
    cuai_error_code(result);
    return status;
}

cuarena_status_t cuai_streams_fail_capture(cuarena_stream_t stream)
{
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    return cuai_fail(CUARENA_BUSY,
                     "stream %p: its capture into a graph has failed, and "
                     "ends with cuStreamEndCapture",
                     (void *)stream);
}

static cuarena_status_t ask_context(cuai_streams_t *streams, const cuai_cuda_t *cuda,
                                    cuarena_stream_t stream, cuai_place_t **out)
{
    cuai_cu_context_t context = NULL;
    cuai_cu_result_t result = cuai_cu(cuda)->cuStreamGetCtx(stream, &context);
    if (result == CUAI_CUDA_SUCCESS)
        return place_of_context(streams, cuda, context, out);
    if (result == CUAI_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        return cuai_streams_fail_capture(stream);
    if (result == CUAI_CUDA_ERROR_INVALID_HANDLE || result == CUAI_CUDA_ERROR_INVALID_VALUE ||
        result == CUAI_CUDA_ERROR_INVALID_CONTEXT)
        return unknown(stream, result);
    return cuai_cuda_fail(result, "cuStreamGetCtx", "stream %p", (void *)stream);
}

/* A place in whose context the driver can be called: the memory's own, or one that is not lost. */
static cuai_place_t *any_place(cuai_streams_t *streams)
{
    cuai_lock(&streams->lock);
    cuai_place_t *found = streams->host ? NULL : streams->place;
    for (struct cuai_seen_place *seen = streams->seen; seen != NULL && found == NULL;
         seen = seen->next)
        if (atomic_load(&seen->place->lost) == CUAI_CUDA_SUCCESS)
            found = seen->place;
    cuai_unlock(&streams->lock);
    return found;
}

/* Drivers need not answer a thread that has no context, so they are asked in one that is known; at
 * the first stream of all, in the caller's. */
static cuarena_status_t place_of_handle(cuai_streams_t *streams, const cuai_cuda_t *cuda,
                                        cuarena_stream_t stream, cuai_place_t **out)
{
    cuai_visit_t visit;
    CUAI_ASSERT(!is_default(stream));
    cuai_place_t *from = any_place(streams);
    if (from == NULL)
        return ask_context(streams, cuda, stream, out);
    cuarena_status_t status = cuai_place_enter(from, &visit);
    if (status != CUARENA_OK)
        return status;
    status = ask_context(streams, cuda, stream, out);
    cuai_place_leave(&visit);
    return status;
}

/* The first default stream that is passed decides which context those of a host memory belong to,
 * until that is lost. */
static cuarena_status_t bind_default(cuai_streams_t *streams, cuai_place_t *place)
{
    CUAI_ASSERT(streams->host);
    cuai_lock(&streams->lock);
    cuai_place_t *bound = streams->place;
    if (bound == NULL || atomic_load(&bound->lost) != CUAI_CUDA_SUCCESS)
        bound = streams->place = place;
    cuai_unlock(&streams->lock);
    if (bound == place)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "stream: the default stream of context %p of device %d; "
                     "memory '%s' is used by that of %p of device %d, other "
                     "streams are accepted",
                     (void *)place->context, place->device, streams->name, (void *)bound->context,
                     bound->device);
}

/* The place of a default stream that the caller passes now to host memory. */
static cuarena_status_t place_of_current(cuai_streams_t *streams, const cuai_cuda_t *cuda,
                                         cuarena_stream_t stream, cuai_place_t **out)
{
    cuai_cu_context_t context = NULL;
    CUAI_ASSERT(is_default(stream));
    cuai_cu_result_t result = cuai_cu(cuda)->cuCtxGetCurrent(&context);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_cuda_fail(result, "cuCtxGetCurrent", "a default stream");
    if (context == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "stream: %p is a default stream, and no context is "
                         "current on this thread",
                         (void *)stream);
    cuai_place_t *place = NULL;
    cuarena_status_t status = place_of_context(streams, cuda, context, &place);
    if (status == CUARENA_OK)
        status = bind_default(streams, place);
    if (status == CUARENA_OK)
        *out = place;
    return status;
}

cuarena_status_t cuai_streams_place(cuai_streams_t *streams, cuarena_stream_t stream,
                                    cuai_place_t **place_out)
{
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    const cuai_cuda_t *cuda = cuai_cuda();
    if (cuda == NULL)
        return CUARENA_NO_DEVICE;
    cuai_place_t *place = default_place(streams);
    if (!is_default(stream))
        return place_of_handle(streams, cuda, stream, place_out);
    if (place == NULL)
        return place_of_current(streams, cuda, stream, place_out);
    *place_out = place;
    return CUARENA_OK;
}

/* ---- Identity ---------------------------------------------------------- */

/* Describes a stream. The driver has an id for the legacy stream of each context, and for the
 * default stream of each thread in it. Called within a visit, so that the default streams are those
 * of the place. */
static cuarena_status_t describe(cuai_place_t *place, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info)
{
    unsigned long long id = 0;
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    cuai_cu_result_t result = cuai_event_ask_capture(place->cuda, stream, &info->capturing);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuStreamIsCapturing", "stream %p", (void *)stream);
    info->context = place->context;
    info->device = place->device;
    info->per_thread = stream == CUARENA_STREAM_PER_THREAD;
    if (info->capturing) /* the driver does not tell the id then */
        return CUARENA_OK;
    result = cuai_cu(place->cuda)->cuStreamGetId(stream, &id);
    if (result != CUAI_CUDA_SUCCESS)
        return cuai_place_fail(place, result, "cuStreamGetId", "stream %p", (void *)stream);
    info->id = id;
    return CUARENA_OK;
}

static cuarena_status_t check_reach(const cuai_streams_t *streams, const cuai_place_t *place,
                                    cuarena_stream_t stream)
{
    CUAI_ASSERT(place != NULL);
    bool reaches = streams->reach == CUAI_REACH_ALL ||
                   (place->device < 64 && streams->reach >> place->device & 1);
    if (!reaches)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "stream: %p is one of device %d, which does not reach "
                         "memory '%s' of device %d",
                         (void *)stream, place->device, streams->name, streams->place->device);
    return CUARENA_OK;
}

/* The place of a stream that the caller passes now. */
static cuarena_status_t place_of_passed(cuai_streams_t *streams, cuarena_stream_t stream,
                                        cuai_place_t **out)
{
    if (stream == CUARENA_NO_STREAM)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "stream: CUARENA_NO_STREAM, a stream is accepted");
    const cuai_cuda_t *cuda = cuai_cuda();
    if (cuda == NULL)
        return CUARENA_NO_DEVICE;
    if (streams->host && is_default(stream))
        return place_of_current(streams, cuda, stream, out);
    return cuai_streams_place(streams, stream, out);
}

cuarena_status_t cuai_streams_identify(void *user, cuarena_stream_t stream,
                                       cuarena_stream_info_t *info_out)
{
    cuai_streams_t *streams = user;
    cuai_place_t *place = NULL;
    cuai_visit_t visit;
    cuarena_stream_info_t info = {0};
    cuarena_status_t status = place_of_passed(streams, stream, &place);
    if (status == CUARENA_OK)
        status = check_reach(streams, place, stream);
    if (status == CUARENA_OK)
        status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = describe(place, stream, &info);
    cuai_place_leave(&visit);
    if (status == CUARENA_OK)
        *info_out = info;
    return status;
}

/* ---- Events ----------------------------------------------------------- */

/* The event of work that is over because its context has ended. */
static cuai_event_t over;

/* Whether work of the place is over because its context has ended: it was lost, which is an error
 * instead if it is the memory's own, or is in the process from which this one was forked. NULL is
 * the place of `over`. */
static bool is_moot(const cuai_streams_t *streams, cuai_place_t *place)
{
    if (place == NULL || cuai_cuda_if_open() == NULL)
        return true;
    bool own = !streams->host && place == streams->place;
    return !own && atomic_load(&place->lost) != CUAI_CUDA_SUCCESS;
}

/* As is_moot, for a stream whose place could not be found although the memory knew it: there was a
 * driver then, and a context. */
static bool is_left_behind(const cuai_streams_t *streams, cuarena_status_t status)
{
    bool knew = streams->seen != NULL || !streams->host;
    return knew && (cuai_cuda_if_open() == NULL || (streams->host && status == CUARENA_LOST));
}

/* The only place whose streams use the memory; NULL: there are several. */
static cuai_place_t *sole_place(cuai_streams_t *streams)
{
    cuai_lock(&streams->lock);
    cuai_place_t *own = streams->host ? NULL : streams->place;
    const struct cuai_seen_place *seen = streams->seen;
    cuai_place_t *sole = own;
    if (seen != NULL)
        sole = own == NULL && seen->next == NULL ? seen->place : NULL;
    cuai_unlock(&streams->lock);
    return sole;
}

/* Records an event behind all work that may use the memory, without any stream's handle. */
static cuarena_status_t record_all_work(cuai_streams_t *streams, void **event)
{
    cuai_place_t *place = sole_place(streams);
    cuai_event_t *made = &over;
    if (place == NULL)
        return CUARENA_UNSUPPORTED;
    cuarena_status_t status = cuai_event_record_all(place, &made);
    if (status != CUARENA_OK && !is_moot(streams, place))
        return status;
    *event = made;
    return CUARENA_OK;
}

cuarena_status_t cuai_streams_record_event(void *user, cuarena_stream_t stream, void **event)
{
    cuai_streams_t *streams = user;
    if (stream == CUARENA_NO_STREAM)
        return record_all_work(streams, event);
    cuai_place_t *place = NULL;
    cuai_event_t *recorded = *event != &over ? *event : NULL;
    cuarena_status_t status = cuai_streams_place(streams, stream, &place);
    if (status == CUARENA_OK)
        status = cuai_event_record(place, stream, &recorded);
    if (status == CUARENA_OK) {
        *event = recorded;
        return status;
    }
    if (place != NULL ? !is_moot(streams, place) : !is_left_behind(streams, status))
        return status;
    cuai_event_release(recorded);
    *event = &over;
    return CUARENA_OK;
}

cuarena_status_t cuai_streams_query_event(void *user, void *event)
{
    CUAI_ASSERT(event != NULL);
    const cuai_streams_t *streams = user;
    cuai_event_t *asked = event;
    if (is_moot(streams, asked->place))
        return CUARENA_OK;
    cuarena_status_t status = cuai_event_query(asked);
    return is_moot(streams, asked->place) ? CUARENA_OK : status;
}

cuarena_status_t cuai_streams_wait_event(void *user, void *event, cuarena_stream_t stream,
                                         int32_t host)
{
    CUAI_ASSERT(event != NULL && (!host || stream == CUARENA_NO_STREAM));
    cuai_streams_t *streams = user;
    cuai_event_t *awaited = event;
    cuai_place_t *place = NULL;
    cuarena_status_t status = CUARENA_OK;
    if (is_moot(streams, awaited->place))
        return CUARENA_OK;
    if (!host)
        status = cuai_streams_place(streams, stream, &place);
    if (status != CUARENA_OK)
        return status;
    status = host ? cuai_event_wait_host(awaited) : cuai_event_wait(awaited, place, stream);
    return is_moot(streams, awaited->place) ? CUARENA_OK : status;
}

void cuai_streams_end_event(void *user, void *event)
{
    (void)user;
    CUAI_ASSERT(event != NULL);
    if (event != &over)
        cuai_event_release(event);
}

void cuai_streams_fill(cuarena_memory_ops_t *ops)
{
    ops->identify = cuai_streams_identify;
    ops->record_event = cuai_streams_record_event;
    ops->query_event = cuai_streams_query_event;
    ops->wait_event = cuai_streams_wait_event;
    ops->end_event = cuai_streams_end_event;
}

cuarena_status_t cuai_streams_drain(cuai_streams_t *streams, cuarena_stream_t stream)
{
    void *event = NULL;
    if (stream == CUARENA_NO_STREAM)
        return CUARENA_OK;
    cuarena_status_t status = cuai_streams_record_event(streams, stream, &event);
    if (status != CUARENA_OK)
        return status;
    status = cuai_streams_wait_event(streams, event, CUARENA_NO_STREAM, 1);
    cuai_streams_end_event(streams, event);
    return status;
}

static cuarena_status_t synchronize(const cuai_cuda_t *cuda, cuarena_stream_t stream)
{
    cuarena_status_t status = cuai_event_check_capture(cuda, stream);
    if (status != CUARENA_OK)
        return status;
    cuai_cu_result_t result = cuai_cu(cuda)->cuStreamSynchronize(stream);
    if (result == CUAI_CUDA_SUCCESS)
        return CUARENA_OK;
    return cuai_cuda_fail(result, "cuStreamSynchronize", "waiting for stream %p", (void *)stream);
}

/* Waits for the work of a stream; default streams are those of the memory's own place, which is
 * visited for them. */
cuarena_status_t cuai_streams_synchronize(void *user, cuarena_stream_t stream)
{
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    cuai_streams_t *streams = user;
    const cuai_cuda_t *cuda = cuai_cuda();
    cuai_visit_t visit;
    if (cuda == NULL)
        return CUARENA_NO_DEVICE;
    cuai_place_t *place = is_default(stream) ? default_place(streams) : any_place(streams);
    if (place == NULL)
        return synchronize(cuda, stream);
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    status = synchronize(cuda, stream);
    cuai_place_leave(&visit);
    return status;
}
