/*
 * Graphs of PyTorch: what is allocated while a stream is captured is private to the graph's pool.
 *
 *   begin    before the capture: the pool is open, and its filter tells its streams
 *   an allocation on a captured stream that the filter accepts joins the session of the pool
 *   end      after the capture: the session ends
 *   release  of each graph of the pool; the last one releases the pool's sessions
 *
 * A capture that fails has no end: its pool stays open until the next begin on the device finds
 * that none of its streams is captured any more.
 */
#include "torch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* std::pair of two numbers, and std::function of the C++ library: what it holds, and two functions
 * that manage and call it. */
typedef struct pool_id {
    uint64_t first, second;
} pool_id_t;
typedef struct filter {
    void *held[2];
    int (*manage)(void *to, const void *from, int operation);
    bool (*call)(const void *filter, cuarena_stream_t *stream);
} filter_t;
#define FILTER_CLONE 2
#define FILTER_DESTROY 3

typedef struct session {
    struct session *next;
    cuarena_capture_t *capture;
} session_t;

typedef struct graph_pool {
    struct graph_pool *next;
    int device;
    pool_id_t id;
    unsigned graphs; /* begun and not released */
    bool open;
    filter_t filter;            /* while it is open */
    cuarena_capture_t *capture; /* of the open session; NULL: nothing was allocated yet */
    cuarena_stream_t stream;    /* its first one */
    session_t *ended;
} graph_pool_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static graph_pool_t *pools;   /* guarded by `lock` */
static atomic_int open_pools; /* how many are open */

CUARENA_API void cuarena_torch_begin_pool(int device, pool_id_t id, const filter_t *filter);
CUARENA_API void cuarena_torch_end_pool(int device, pool_id_t id);
CUARENA_API void cuarena_torch_release_pool(int device, pool_id_t id);

static graph_pool_t **place_of(int device, pool_id_t id)
{
    graph_pool_t **place = &pools;
    while (*place && ((*place)->device != device || (*place)->id.first != id.first ||
                      (*place)->id.second != id.second))
        place = &(*place)->next;
    return place;
}

/* ---- Begin and end -------------------------------------------------------- */

static void close_pool(graph_pool_t *pool)
{
    session_t *session = pool->capture ? calloc(1, sizeof *session) : NULL;
    cuarena_t *arena = torch_arena_found(pool->device);
    if (pool->filter.manage)
        pool->filter.manage(&pool->filter, &pool->filter, FILTER_DESTROY);
    if (session && cuarena_capture_end(arena, pool->capture) == CUARENA_OK) {
        *session = (session_t){pool->ended, pool->capture};
        pool->ended = session;
    }
    pool->capture = NULL;
    pool->open = false;
    atomic_fetch_sub(&open_pools, 1);
}

/* Captures of this device that failed. */
static void close_failed(int device)
{
    for (graph_pool_t *pool = pools; pool; pool = pool->next)
        if (pool->open && pool->device == device && pool->capture &&
            !torch_driver_captures(pool->stream))
            close_pool(pool);
}

void cuarena_torch_begin_pool(int device, pool_id_t id, const filter_t *filter)
{
    pthread_mutex_lock(&lock);
    close_failed(device);
    graph_pool_t **place = place_of(device, id);
    graph_pool_t *pool = *place;
    if (!pool && (pool = calloc(1, sizeof *pool)) != NULL) {
        pool->device = device;
        pool->id = id;
        *place = pool;
    }
    if (pool) {
        if (pool->open)
            close_pool(pool);
        memset(&pool->filter, 0, sizeof pool->filter);
        filter->manage(&pool->filter, filter, FILTER_CLONE);
        pool->filter.manage = filter->manage;
        pool->filter.call = filter->call;
        pool->graphs++;
        pool->open = true;
        atomic_fetch_add(&open_pools, 1);
    }
    pthread_mutex_unlock(&lock);
}

void cuarena_torch_end_pool(int device, pool_id_t id)
{
    pthread_mutex_lock(&lock);
    graph_pool_t *pool = *place_of(device, id);
    if (pool && pool->open)
        close_pool(pool);
    pthread_mutex_unlock(&lock);
}

/* ---- Release -------------------------------------------------------------- */

/* Launches of the graphs may be under way on any stream, so the device is waited for; while another
 * capture is under way nothing can be waited for, and the sessions stay until the next release. */
static void release_sessions(graph_pool_t *pool)
{
    cuarena_t *arena = torch_arena_found(pool->device);
    if (!pool->ended || atomic_load(&open_pools) || !torch_driver_wait(pool->device))
        return;
    while (pool->ended) {
        session_t *session = pool->ended;
        if (cuarena_capture_release(arena, &session->capture, CUARENA_NO_STREAM) != CUARENA_OK)
            return;
        pool->ended = session->next;
        free(session);
    }
}

static void release_unused(void)
{
    graph_pool_t **place = &pools;
    while (*place) {
        graph_pool_t *pool = *place;
        if (!pool->graphs && !pool->open)
            release_sessions(pool);
        if (pool->graphs || pool->open || pool->ended) {
            place = &pool->next;
        } else {
            *place = pool->next;
            free(pool);
        }
    }
}

void cuarena_torch_release_pool(int device, pool_id_t id)
{
    pthread_mutex_lock(&lock);
    graph_pool_t *pool = *place_of(device, id);
    if (pool && pool->graphs)
        pool->graphs--;
    release_unused();
    pthread_mutex_unlock(&lock);
}

/* ---- Allocations ---------------------------------------------------------- */

static graph_pool_t *find_for(int device, cuarena_stream_t stream)
{
    for (graph_pool_t *pool = pools; pool; pool = pool->next)
        if (pool->open && pool->device == device && pool->filter.call(&pool->filter, &stream))
            return pool;
    return NULL;
}

cuarena_status_t torch_capture_see(int device, cuarena_t *arena, cuarena_stream_t stream)
{
    if (!atomic_load_explicit(&open_pools, memory_order_relaxed) || !torch_driver_captures(stream))
        return CUARENA_OK;
    pthread_mutex_lock(&lock);
    cuarena_status_t status = CUARENA_OK;
    graph_pool_t *pool = find_for(device, stream);
    if (pool && pool->capture) {
        status = cuarena_capture_join(arena, pool->capture, stream);
    } else if (pool) {
        status = cuarena_capture_begin(arena, stream, &pool->capture);
        pool->stream = stream;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
