#include "shapes.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LIVE 64
#define SIZES 4096             /* drawn beforehand, then taken in turns */
#define SAMPLED 16u            /* of so many pairs one is timed */
#define RING 256u              /* blocks on their way from one thread to another */
#define CALLS UINT64_C(400000) /* of each thread, in a round */
#define ROUNDS 5

const char *const shape_names[] = {"replace", "handoff"};

typedef struct ring {
    _Alignas(64) _Atomic uint64_t put;
    _Alignas(64) _Atomic uint64_t got;
    void *items[RING];
} ring_t;

typedef struct worker {
    const shapes_allocator_t *allocator;
    int number;
    shape_t shape;
    uint64_t pairs;
    uint64_t most;
    _Atomic int *ready; /* threads that are still to come */
    ring_t *ring;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t *samples; /* nanoseconds of a pair */
    size_t sample_count;
    uint64_t sizes[SIZES];
    void *live[LIVE];
} worker_t;

static void *take(const worker_t *w, uint64_t bytes)
{
    return w->allocator->alloc(w->allocator->user, w->number, bytes);
}

static void give(const worker_t *w, void *pointer)
{
    w->allocator->free(w->allocator->user, w->number, pointer);
}

static void sample(worker_t *w, uint64_t pair, uint64_t begin)
{
    if (pair % SAMPLED == 0)
        w->samples[w->sample_count++] = (uint32_t)(now_ns() - begin);
}

/* ---- Shapes ------------------------------------------------------------ */

static void replace(worker_t *w)
{
    random_state_t random = {(uint64_t)w->number + 1};
    for (uint64_t i = 0; i < w->pairs; i++) {
        uint64_t bits = random_next(&random);
        void **pointer = &w->live[bits % LIVE];
        uint64_t begin = i % SAMPLED == 0 ? now_ns() : 0;
        give(w, *pointer);
        *pointer = take(w, w->sizes[bits / LIVE % SIZES]);
        sample(w, i, begin);
    }
}

/* Waits without calls of the system at first: the other thread is a moment away. */
static void pause_at(int *spins)
{
    if (++*spins % 1024 == 0)
        (void)sched_yield();
}

static void hand(worker_t *w)
{
    for (uint64_t i = 0; i < w->pairs; i++) {
        uint64_t begin = i % SAMPLED == 0 ? now_ns() : 0;
        void *pointer = take(w, w->sizes[i % SIZES]);
        sample(w, i, begin);
        int spins = 0;
        while (i - atomic_load_explicit(&w->ring->got, memory_order_acquire) >= RING)
            pause_at(&spins);
        w->ring->items[i % RING] = pointer;
        atomic_store_explicit(&w->ring->put, i + 1, memory_order_release);
    }
}

static void get(worker_t *w)
{
    for (uint64_t i = 0; i < w->pairs; i++) {
        int spins = 0;
        while (atomic_load_explicit(&w->ring->put, memory_order_acquire) == i)
            pause_at(&spins);
        void *pointer = w->ring->items[i % RING];
        atomic_store_explicit(&w->ring->got, i + 1, memory_order_release);
        give(w, pointer);
    }
}

static void *work(void *argument)
{
    worker_t *w = argument;
    random_state_t random = {(uint64_t)w->number + 101};
    for (int i = 0; i < SIZES; i++)
        w->sizes[i] = mixed_size(&random, 256, w->most);
    for (int i = 0; w->shape == SHAPE_REPLACE && i < LIVE; i++)
        w->live[i] = take(w, w->sizes[i]);
    atomic_fetch_sub(w->ready, 1);
    for (int spins = 0; atomic_load(w->ready) > 0;)
        pause_at(&spins);
    w->begin_ns = now_ns();
    if (w->shape == SHAPE_REPLACE)
        replace(w);
    else if (w->number % 2 == 0)
        hand(w);
    else
        get(w);
    w->end_ns = now_ns();
    for (int i = 0; w->shape == SHAPE_REPLACE && i < LIVE; i++)
        give(w, w->live[i]);
    return NULL;
}

/* ---- A round ----------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void find_quantiles(worker_t *workers, int threads, shapes_result_t *result)
{
    size_t count = 0;
    for (int i = 0; i < threads; i++)
        count += workers[i].sample_count;
    uint32_t *all = malloc(count * sizeof *all);
    expect(all != NULL, "memory");
    count = 0;
    for (int i = 0; i < threads; i++) {
        memcpy(&all[count], workers[i].samples, workers[i].sample_count * sizeof *all);
        count += workers[i].sample_count;
    }
    qsort(all, count, sizeof *all, by_value);
    result->p50_ns = all[count / 2];
    result->p999_ns = all[count - 1 - count / 1000];
    free(all);
}

static shapes_result_t run(const shapes_allocator_t *allocator, shape_t shape, int threads,
                           uint64_t most, uint64_t calls)
{
    pthread_t ids[SHAPES_THREADS];
    worker_t *workers = calloc(SHAPES_THREADS, sizeof *workers);
    ring_t *rings = aligned_alloc(64, SHAPES_THREADS * sizeof *rings);
    _Atomic int ready = threads;
    expect(workers != NULL && rings != NULL && threads <= SHAPES_THREADS, "memory");
    memset(rings, 0, SHAPES_THREADS * sizeof *rings);
    uint64_t pairs = shape == SHAPE_REPLACE ? calls / 2 : calls;
    for (int i = 0; i < threads; i++) {
        worker_t *w = &workers[i];
        *w = (worker_t){.allocator = allocator, .number = i, .shape = shape, .pairs = pairs};
        w->most = most;
        w->ready = &ready;
        w->ring = &rings[i / 2];
        w->samples = malloc((pairs / SAMPLED + 1) * sizeof *w->samples);
        expect(w->samples != NULL, "memory");
        expect(!pthread_create(&ids[i], NULL, work, w), "a thread");
    }
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        begin = workers[i].begin_ns < begin ? workers[i].begin_ns : begin;
        end = workers[i].end_ns > end ? workers[i].end_ns : end;
    }
    shapes_result_t result = {(double)calls * threads / (double)(end - begin) * 1e9, 0, 0};
    find_quantiles(workers, threads, &result);
    for (int i = 0; i < threads; i++)
        free(workers[i].samples);
    free(workers);
    free(rings);
    return result;
}

static int by_calls(const void *a, const void *b)
{
    const shapes_result_t *x = a;
    const shapes_result_t *y = b;
    return x->calls_per_second < y->calls_per_second ? -1
                                                     : x->calls_per_second > y->calls_per_second;
}

shapes_result_t shapes_median(const shapes_allocator_t *allocator, shape_t shape, int threads,
                              uint64_t most)
{
    shapes_result_t rounds[ROUNDS];
    uint64_t calls = allocator->slow ? CALLS / 2 / (uint64_t)threads : CALLS;
    for (int i = 0; i < ROUNDS; i++)
        rounds[i] = run(allocator, shape, threads, most, calls);
    qsort(rounds, ROUNDS, sizeof *rounds, by_calls);
    return rounds[ROUNDS / 2];
}

/* ---- Arenas ------------------------------------------------------------ */

static void *arena_alloc(void *user, int thread, uint64_t bytes)
{
    void *pointer;
    (void)thread;
    must(cuarena_alloc(user, bytes, &pointer));
    return pointer;
}

static void arena_free(void *user, int thread, void *pointer)
{
    (void)thread;
    must(cuarena_free(user, pointer));
}

shapes_allocator_t shapes_arena(cuarena_t *arena, const char *name)
{
    return (shapes_allocator_t){name, arena, arena_alloc, arena_free, false};
}

/* ---- The heap behind a mutex ---------------------------------------------- */

typedef struct locked_heap {
    pthread_mutex_t mutex;
    cuarena_heap_t *heap;
} locked_heap_t;

static void *locked_alloc(void *user, int thread, uint64_t bytes)
{
    locked_heap_t *locked = user;
    cuarena_heap_request_t request = {.size = bytes};
    cuarena_block_t block;
    uint64_t offset;
    (void)thread;
    pthread_mutex_lock(&locked->mutex);
    must(cuarena_heap_alloc(locked->heap, &request, &block, &offset));
    pthread_mutex_unlock(&locked->mutex);
    return (void *)(uintptr_t)block; /* NOLINT: the block's name */
}

static void locked_free(void *user, int thread, void *pointer)
{
    locked_heap_t *locked = user;
    (void)thread;
    pthread_mutex_lock(&locked->mutex);
    must(cuarena_heap_free(locked->heap, (cuarena_block_t)(uintptr_t)pointer, 0));
    pthread_mutex_unlock(&locked->mutex);
}

shapes_allocator_t shapes_mutex(uint64_t bytes)
{
    cuarena_heap_config_t config;
    locked_heap_t *locked = malloc(sizeof *locked);
    expect(locked != NULL, "memory");
    cuarena_heap_config_init(&config);
    pthread_mutex_init(&locked->mutex, NULL);
    must(cuarena_heap_create(&config, &locked->heap));
    must(cuarena_heap_segment_add(locked->heap, 0, bytes));
    return (shapes_allocator_t){"mutex", locked, locked_alloc, locked_free, true};
}

void shapes_mutex_end(shapes_allocator_t *allocator)
{
    locked_heap_t *locked = allocator->user;
    cuarena_heap_destroy(&locked->heap);
    pthread_mutex_destroy(&locked->mutex);
    free(locked);
}
