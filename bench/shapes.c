#include "shapes_work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define CALLS UINT64_C(400000) /* of each thread, in a round */
#define ROUNDS 5

const char *const shape_names[SHAPES] = {"replace", "handoff", "serving", "training"};

int shape_least(shape_t shape)
{
    return shape == SHAPE_HANDOFF || shape == SHAPE_TRAINING ? 2 : 1;
}

bool shape_grows(shape_t shape)
{
    return shape == SHAPE_SERVING || shape == SHAPE_TRAINING;
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

static pair_t *new_pairs(int count, const shapes_steps_t *steps)
{
    pair_t *pairs = aligned_alloc(64, SHAPES_THREADS * sizeof *pairs);
    expect(pairs != NULL, "memory");
    memset(pairs, 0, SHAPES_THREADS * sizeof *pairs);
    for (int i = 0; steps != NULL && i < count; i++) {
        pairs[i].slots = calloc(steps->trace.slot_count, sizeof *pairs[i].slots);
        expect(pairs[i].slots != NULL, "memory");
    }
    return pairs;
}

static void free_pairs(pair_t *pairs)
{
    for (int i = 0; i < SHAPES_THREADS; i++)
        free(pairs[i].slots);
    free(pairs);
}

/* Calls per second from when the first began until the last ended, and what each sampled. */
static shapes_result_t count_up(worker_t *workers, int threads)
{
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    uint64_t calls = 0;
    for (int i = 0; i < threads; i++) {
        begin = workers[i].begin_ns < begin ? workers[i].begin_ns : begin;
        end = workers[i].end_ns > end ? workers[i].end_ns : end;
        calls += workers[i].calls;
    }
    shapes_result_t result = {.calls_per_second = (double)calls / (double)(end - begin) * 1e9};
    find_quantiles(workers, threads, &result);
    return result;
}

static shapes_result_t run(const shapes_allocator_t *allocator, shape_t shape, int threads,
                           const shapes_steps_t *steps, uint64_t calls)
{
    pthread_t ids[SHAPES_THREADS];
    worker_t *workers = calloc(SHAPES_THREADS, sizeof *workers);
    pair_t *pairs = new_pairs(threads / 2, shape == SHAPE_TRAINING ? steps : NULL);
    _Atomic int ready = threads;
    expect(workers != NULL && threads <= SHAPES_THREADS, "memory");
    for (int i = 0; i < threads; i++) {
        worker_t *w = &workers[i];
        *w = (worker_t){.allocator = allocator, .number = i, .shape = shape, .most_calls = calls};
        w->ready = &ready;
        w->pair = &pairs[i / 2];
        w->steps = steps;
        w->samples = malloc((calls / SHAPES_SAMPLED + 2) * sizeof *w->samples);
        expect(w->samples != NULL, "memory");
        expect(!pthread_create(&ids[i], NULL, shapes_work, w), "a thread");
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    shapes_result_t result = count_up(workers, threads);
    for (int i = 0; i < threads; i++)
        free(workers[i].samples);
    free(workers);
    free_pairs(pairs);
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
                              const shapes_steps_t *steps)
{
    shapes_result_t rounds[ROUNDS];
    uint64_t calls = allocator->slow ? CALLS / 2 / (uint64_t)threads : CALLS;
    if (shape == SHAPE_TRAINING)
        calls = shapes_whole_passes(steps, 2 * calls);
    bool holds = shape_grows(shape) && allocator->held != NULL;
    if (holds)
        allocator->forget(allocator->user);
    for (int i = 0; i < ROUNDS; i++)
        rounds[i] = run(allocator, shape, threads, steps, calls);
    qsort(rounds, ROUNDS, sizeof *rounds, by_calls);
    rounds[ROUNDS / 2].held_bytes = holds ? allocator->held(allocator->user) : 0;
    return rounds[ROUNDS / 2];
}

void shapes_tell(const shapes_allocator_t *allocator, shape_t shape, int threads,
                 const shapes_result_t *result)
{
    const char *name = shape_names[shape];
    printf("%-8s %-14s %2d thread%s %7.2f million calls per second, a pair %7.2f us, p99.9 %8.2f\n",
           name, allocator->name, threads,
           threads == 1 ? ": " : "s:", result->calls_per_second / 1e6, result->p50_ns / 1e3,
           result->p999_ns / 1e3);
    (void)fflush(stdout);
    record_begin("threads");
    record_text("shape", name);
    record_text("allocator", allocator->name);
    record_count("threads", (uint64_t)threads);
    record_number("calls_per_second", result->calls_per_second);
    record_number("p50_ns", result->p50_ns);
    record_number("p999_ns", result->p999_ns);
    if (result->held_bytes != 0)
        record_count("held_bytes", result->held_bytes);
    record_end();
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

uint64_t shapes_arena_held(cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    return stats.peak_reserved_bytes;
}

void shapes_arena_forget(cuarena_t *arena)
{
    must(cuarena_trim(arena, 0, NULL));
    must(cuarena_reset_peaks(arena));
}

static uint64_t arena_held(void *user)
{
    return shapes_arena_held(user);
}

static void arena_forget(void *user)
{
    shapes_arena_forget(user);
}

shapes_allocator_t shapes_arena(cuarena_t *arena, const char *name)
{
    return (shapes_allocator_t){.name = name,
                                .user = arena,
                                .alloc = arena_alloc,
                                .free = arena_free,
                                .held = arena_held,
                                .forget = arena_forget};
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
    return (shapes_allocator_t){
        .name = "mutex", .user = locked, .alloc = locked_alloc, .free = locked_free, .slow = true};
}

void shapes_mutex_end(shapes_allocator_t *allocator)
{
    locked_heap_t *locked = allocator->user;
    cuarena_heap_destroy(&locked->heap);
    pthread_mutex_destroy(&locked->mutex);
    free(locked);
}
