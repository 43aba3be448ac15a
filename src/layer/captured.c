/*
 * Allocations of graphs.
 *
 * What is allocated on a stream that is being captured is private to a session (cuarena/capture.h),
 * one for each capture and arena, which begins with the first allocation. The session lasts as long
 * as the graph and all that was made of it: a user object of the driver's, which these keep, tells
 * when the last of them has ended and its work is done. That is told on a thread that must not call
 * the driver, so the next allocation or free releases the session.
 *
 * A session lists its blocks that no capture freed. One that is freed outside, after a launch, is
 * allocated again by the next launch, at the same address; so it stays a block, marked, until the
 * graph has ended. Blocks of a capture that came to nothing end with their session, which nobody
 * may have used.
 *
 * A driver that cannot keep the object leaves a session that lasts for ever.
 */
#include "layer/layer.h"

#include "base/host.h"
#include "base/lock.h"
#include "cuarena/capture.h"

#define NEXT CUAI_LAYER_NEXT
#define CALL cuai_layer_calls
/* Of user objects; their ends may not be waited for in the destructor. */
#define USER_OBJECT_NO_SYNC 1u
#define GRAPH_USER_OBJECT_MOVE 1u

/* A block that a capture allocated and none freed. */
typedef struct kept {
    struct kept *next;
    void *pointer;
    bool freed; /* outside, after a launch */
} kept_t;

/* Guarded by the lock, like the list of all, but for what is atomic. */
typedef struct session {
    struct session *next;
    cuai_layer_device_t *device;
    cuarena_t *arena; /* NULL: it has ended */
    cuarena_capture_t *capture;
    kept_t *blocks;
    unsigned long long id; /* of the capture */
    bool open;
    bool vain;         /* nothing came of the capture */
    atomic_bool stays; /* nobody will know when the graph ends */
    atomic_bool over;  /* the graph has ended */
} session_t;

static cuai_lock_t lock = CUAI_LOCK_INIT;
static session_t *sessions;
static _Atomic uint64_t session_count;
_Atomic uint64_t cuai_layer_captures;
atomic_bool cuai_layer_graphs_ended;

void cuai_layer_captures_after_fork(void)
{
    cuai_lock_reset(&lock);
}

/* ---- Asking -------------------------------------------------------------- */

static bool is_legacy(cuai_cu_stream_t stream)
{
    return stream == NULL || stream == CUARENA_STREAM_LEGACY;
}

cuai_layer_capture_t cuai_layer_ask_capture(cuai_cu_stream_t stream)
{
    cuai_cu_capture_status_t status = CUAI_CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_legacy(stream))
        return CUAI_LAYER_NOT_CAPTURED;
    if (CALL.cuStreamIsCapturing(stream, &status) != CUAI_CUDA_SUCCESS)
        return CUAI_LAYER_BROKEN;
    if (status == CUAI_CU_STREAM_CAPTURE_STATUS_NONE)
        return CUAI_LAYER_NOT_CAPTURED;
    return status == CUAI_CU_STREAM_CAPTURE_STATUS_ACTIVE ? CUAI_LAYER_CAPTURED : CUAI_LAYER_BROKEN;
}

/* Whether the driver has all that a session wants. */
static bool can_serve(void)
{
    return (CALL.cuStreamGetCaptureInfo_v3 != NULL || CALL.cuStreamGetCaptureInfo_v2 != NULL) &&
           CALL.cuUserObjectCreate != NULL && CALL.cuGraphRetainUserObject != NULL &&
           CALL.cuGraphDestroy != NULL;
}

static cuai_cu_result_t ask_id(cuai_cu_stream_t stream, cuai_cu_capture_status_t *status,
                               unsigned long long *id)
{
    if (CALL.cuStreamGetCaptureInfo_v3 != NULL)
        return CALL.cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
    return CALL.cuStreamGetCaptureInfo_v2(stream, status, id, NULL, NULL, NULL);
}

/* The number of the stream's capture, which no other has; 0: there is none, or it has failed. */
static unsigned long long capture_id(cuai_cu_stream_t stream)
{
    CUAI_ASSERT(!is_legacy(stream));
    cuai_cu_capture_status_t status = CUAI_CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    if (!can_serve() || ask_id(stream, &status, &id) != CUAI_CUDA_SUCCESS ||
        status != CUAI_CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return 0;
    return id;
}

/* ---- Sessions ------------------------------------------------------------ */

/* Finds the open session of an arena for the capture with that number; NULL: there is none. Lock
 * held. */
static session_t *find(cuarena_t *arena, unsigned long long id)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(arena != NULL && id != 0);
    session_t *session = sessions;
    while (session != NULL && !(session->open && session->id == id && session->arena == arena))
        session = session->next;
    return session;
}

/* Begins a session of the stream's capture, which has none. Lock held. */
static cuarena_status_t begin(cuai_layer_device_t *device, cuarena_t *arena, unsigned long long id,
                              cuai_cu_stream_t stream)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(find(arena, id) == NULL);
    session_t *session = cuai_host_alloc(sizeof *session);
    if (session == NULL)
        return CUARENA_OUT_OF_MEMORY;
    cuarena_status_t status = cuarena_capture_begin(arena, stream, &session->capture);
    if (status != CUARENA_OK) {
        cuai_host_free(session);
        return status;
    }
    session->device = device;
    session->arena = arena;
    session->id = id;
    session->open = true;
    session->next = sessions;
    sessions = session;
    atomic_fetch_add(&session_count, 1);
    return CUARENA_OK;
}

/* Sees to it that the stream is in the session of its capture, which is found by its number. Lock
 * held. */
static cuarena_status_t join(cuai_layer_device_t *device, cuarena_t *arena, unsigned long long id,
                             cuai_cu_stream_t stream)
{
    cuai_lock_assert_static_held(&lock);
    const session_t *session = find(arena, id);
    return session != NULL ? cuarena_capture_join(arena, session->capture, stream)
                           : begin(device, arena, id, stream);
}

/* ---- Blocks -------------------------------------------------------------- */

bool cuai_layer_has_graphs(void)
{
    return atomic_load_explicit(&session_count, memory_order_relaxed) > 0;
}

/* Finds the link to the list's entry of a pointer; it is the list's end if there is none. Lock
 * held. */
static kept_t **find_kept(session_t *session, const void *pointer)
{
    cuai_lock_assert_static_held(&lock);
    kept_t **link = &session->blocks;
    while (*link != NULL && (*link)->pointer != pointer)
        link = &(*link)->next;
    return link;
}

/* Takes the entry of a pointer out of the list that has it; NULL: none has. Lock held. */
static kept_t *take_kept(const cuarena_t *arena, const void *pointer)
{
    cuai_lock_assert_static_held(&lock);
    for (session_t *session = sessions; session != NULL; session = session->next) {
        kept_t **link = find_kept(session, pointer);
        kept_t *kept = *link;
        if (session->arena != arena || kept == NULL)
            continue;
        *link = kept->next;
        return kept;
    }
    return NULL;
}

static void add_kept(session_t *session, kept_t *kept)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(session != NULL && kept->pointer != NULL);
    kept->next = session->blocks;
    session->blocks = kept;
}

/* Allocates in the session of the stream's capture, which begins with this if there is none, and
 * lists the block there as `kept`. Lock held. */
static cuarena_status_t alloc_in(cuai_layer_device_t *device, cuarena_t *arena, size_t bytes,
                                 cuai_cu_stream_t stream, kept_t *kept)
{
    cuai_lock_assert_static_held(&lock);
    cuarena_request_t request;
    unsigned long long id = capture_id(stream);
    cuarena_status_t status = id != 0 ? join(device, arena, id, stream) : CUARENA_UNSUPPORTED;
    cuarena_request_init(&request);
    request.tag = device->captured_tag;
    if (status == CUARENA_OK)
        status = cuarena_alloc_on(arena, bytes, stream, &request, &kept->pointer);
    if (status == CUARENA_OK)
        add_kept(find(arena, id), kept);
    return status;
}

cuarena_status_t cuai_layer_capture_alloc(cuai_layer_device_t *device, cuarena_t *arena,
                                          size_t bytes, cuai_cu_stream_t stream, void **out)
{
    kept_t *kept = cuai_host_alloc(sizeof *kept);
    if (kept == NULL)
        return CUARENA_OUT_OF_MEMORY;
    *kept = (kept_t){.next = NULL};
    cuai_lock(&lock);
    cuarena_status_t status = alloc_in(device, arena, bytes, stream, kept);
    if (status == CUARENA_OK)
        *out = kept->pointer;
    cuai_unlock(&lock);
    if (status == CUARENA_OK)
        cuai_layer_count(&device->captured);
    else
        cuai_host_free(kept);
    return status;
}

/* Frees for the capture with that number. What another capture allocated is from now on among the
 * blocks of this one: either graph may be launched again. Lock held. */
static cuarena_status_t free_in(const cuai_layer_owner_t *owner, unsigned long long id,
                                void *pointer, cuai_cu_stream_t stream)
{
    cuai_lock_assert_static_held(&lock);
    session_t *session = find(owner->arena, id);
    CUAI_ASSERT(session != NULL);
    bool own = *find_kept(session, pointer) != NULL;
    kept_t *kept = take_kept(owner->arena, pointer);
    if (kept == NULL || own) {
        cuai_host_free(kept);
        return cuarena_free_on(owner->arena, pointer, stream);
    }
    kept->freed = true;
    add_kept(session, kept);
    return CUARENA_OK;
}

cuarena_status_t cuai_layer_capture_free(const cuai_layer_owner_t *owner, void *pointer,
                                         cuai_cu_stream_t stream)
{
    CUAI_ASSERT(owner->device != NULL && pointer != NULL);
    unsigned long long id = capture_id(stream);
    if (id == 0)
        return CUARENA_UNSUPPORTED;
    cuai_lock(&lock);
    cuarena_status_t status = join(owner->device, owner->arena, id, stream);
    if (status == CUARENA_OK)
        status = free_in(owner, id, pointer, stream);
    cuai_unlock(&lock);
    return status;
}

/* Finds the entry of a block whose graph lives; NULL: it is as other blocks are. Lock held. */
static kept_t *find_living(const cuarena_t *arena, const void *pointer)
{
    cuai_lock_assert_static_held(&lock);
    for (session_t *session = sessions; session != NULL; session = session->next) {
        kept_t *kept = session->arena == arena && !atomic_load(&session->over)
                           ? *find_kept(session, pointer)
                           : NULL;
        if (kept != NULL)
            return kept;
    }
    return NULL;
}

bool cuai_layer_free_outside(const cuai_layer_owner_t *owner, void *pointer,
                             cuarena_stream_t stream)
{
    if (!cuai_layer_has_graphs() || owner->owned.tag == 0 ||
        owner->owned.tag != owner->device->captured_tag)
        return false;
    cuai_lock(&lock);
    kept_t *kept = find_living(owner->arena, pointer);
    bool marked = kept != NULL && (stream == CUARENA_NO_STREAM ||
                                   cuarena_record_use(owner->arena, pointer, stream) == CUARENA_OK);
    if (marked)
        kept->freed = true;
    cuai_unlock(&lock);
    return marked;
}

/* ---- The end of a capture ------------------------------------------------ */

/* Called when the graph and all that was made of it have ended. No call of the driver is legal. */
static void tell_over(void *user)
{
    session_t *session = user;
    if (atomic_load(&session->stays))
        return;
    CUAI_ASSERT(!atomic_load(&session->over));
    atomic_store(&session->over, true);
    atomic_store(&cuai_layer_graphs_ended, true);
}

/* Lets the graph keep the session. Where the driver refuses, the session stays for good: the graph
 * may use its bytes at any time. */
static void bind(session_t *session, struct CUgraph_st *graph)
{
    CUAI_ASSERT(!session->open && can_serve());
    struct CUuserObject_st *object = NULL;
    if (CALL.cuUserObjectCreate(&object, session, tell_over, 1, USER_OBJECT_NO_SYNC) !=
        CUAI_CUDA_SUCCESS)
        return;
    if (CALL.cuGraphRetainUserObject(graph, object, 1, GRAPH_USER_OBJECT_MOVE) == CUAI_CUDA_SUCCESS)
        return;
    atomic_store(&session->stays, true);
    if (CALL.cuUserObjectRelease != NULL)
        (void)CALL.cuUserObjectRelease(object, 1);
}

/* Ends what is not captured any more; `graph`, unless it is NULL, is what became of the capture
 * with that number. Lock held. */
static void end_sessions(unsigned long long id, struct CUgraph_st *graph)
{
    cuai_lock_assert_static_held(&lock);
    for (session_t *session = sessions; session != NULL; session = session->next) {
        CUAI_ASSERT(!session->open || session->arena != NULL);
        if (!session->open || cuarena_capture_end(session->arena, session->capture) != CUARENA_OK)
            continue;
        session->open = false;
        session->vain = graph == NULL || session->id != id;
        if (session->vain)
            tell_over(session);
        else
            bind(session, graph);
    }
}

cuai_cu_result_t cuai_layer_begin_capture(cuai_cu_stream_t stream, int mode)
{
    CUAI_ASSERT(cuai_layer_inside);
    cuai_cu_result_t result = NEXT(cuStreamBeginCapture_v2, (stream, mode));
    if (result == CUAI_CUDA_SUCCESS)
        atomic_fetch_add(&cuai_layer_captures, 1);
    return result;
}

static void count_end(void)
{
    uint64_t now = atomic_load(&cuai_layer_captures);
    while (now > 0 && !atomic_compare_exchange_weak(&cuai_layer_captures, &now, now - 1)) {
    }
}

/* A capture that could not end goes on. What it allocated ends at once where nobody will have its
 * graph. */
static cuai_cu_result_t end(cuai_cu_stream_t stream, struct CUgraph_st **graph, bool wanted)
{
    bool captured = cuai_layer_ask_capture(stream) != CUAI_LAYER_NOT_CAPTURED;
    unsigned long long id = captured ? capture_id(stream) : 0;
    cuai_cu_result_t result = NEXT(cuStreamEndCapture, (stream, graph));
    if (!captured || cuai_layer_ask_capture(stream) != CUAI_LAYER_NOT_CAPTURED)
        return result;
    wanted = wanted && result == CUAI_CUDA_SUCCESS && graph != NULL;
    count_end();
    cuai_lock(&lock);
    end_sessions(id, wanted ? *graph : NULL);
    cuai_unlock(&lock);
    return result;
}

cuai_cu_result_t cuai_layer_end_capture(cuai_cu_stream_t stream, struct CUgraph_st **graph)
{
    return end(stream, graph, true);
}

void cuai_layer_drop_capture(cuai_cu_stream_t stream)
{
    struct CUgraph_st *graph = NULL;
    if (end(stream, &graph, false) == CUAI_CUDA_SUCCESS && graph != NULL)
        (void)CALL.cuGraphDestroy(graph);
}

/* ---- The end of a graph -------------------------------------------------- */

/* A stream on which nothing else is queued, for what graphs leave: it waits for the streams on
 * which blocks were freed. NULL: there is none. In the device's context. */
static cuai_cu_stream_t stream_aside(cuai_layer_device_t *device)
{
    cuai_lock_assert_static_held(&lock);
    cuai_cu_context_t before = NULL;
    cuai_cu_stream_t stream = atomic_load(&device->aside);
    if (stream != NULL ||
        CALL.cuCtxPushCurrent_v2(atomic_load(&device->context)) != CUAI_CUDA_SUCCESS)
        return stream;
    if (CALL.cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING) != CUAI_CUDA_SUCCESS)
        stream = NULL;
    (void)CALL.cuCtxPopCurrent_v2(&before);
    atomic_store(&device->aside, stream);
    return stream;
}

/* The record stays until its graph tells that it has ended. */
void cuai_layer_drop_sessions(const cuarena_t *arena)
{
    CUAI_ASSERT(arena != NULL);
    cuai_lock(&lock);
    for (session_t *session = sessions; session != NULL; session = session->next) {
        if (session->arena == arena) {
            session->arena = NULL;
            session->open = false;
        }
    }
    cuai_unlock(&lock);
}

/* Ends the blocks that were freed, or that nobody may have used, behind the uses that were
 * recorded. A stream of NULL: the arena has ended them. Lock held. */
static void end_blocks(session_t *session, cuai_cu_stream_t stream)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(!session->open);
    while (session->blocks != NULL) {
        kept_t *kept = session->blocks;
        session->blocks = kept->next;
        if (stream != NULL && (kept->freed || session->vain))
            (void)cuarena_free_on(session->arena, kept->pointer, stream);
        cuai_host_free(kept);
    }
}

/* Ends the session's blocks and releases it; false: it is tried again later. Lock held. */
static bool release(session_t *session)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(!session->open);
    cuai_cu_stream_t stream = session->arena != NULL ? stream_aside(session->device) : NULL;
    if (session->arena != NULL && stream == NULL)
        return false;
    end_blocks(session, stream);
    return session->arena == NULL ||
           cuarena_capture_release(session->arena, &session->capture, stream) == CUARENA_OK;
}

void cuai_layer_reap(void)
{
    cuai_lock(&lock);
    atomic_store(&cuai_layer_graphs_ended, false);
    session_t **link = &sessions;
    while (*link != NULL) {
        session_t *session = *link;
        if (atomic_load(&session->over) && release(session)) {
            *link = session->next;
            cuai_host_free(session);
            atomic_fetch_sub(&session_count, 1);
        } else {
            link = &session->next;
        }
    }
    cuai_unlock(&lock);
}
