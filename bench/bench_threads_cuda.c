/*
 * Threads that share an allocator of device memory, in the shapes of shapes.h: an arena without
 * streams and with a stream for each thread, beside the driver's stream-ordered allocation with a
 * stream each; and, of the same run, an arena of addresses alone and the heap behind a mutex.
 *
 * bench_threads_cuda [--device N] [--quick] [--json FILE]
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"
#include "shapes.h"

#define MOST (4 * MIB)
#define POOL (4 * GIB)

/* What threads with a stream each share. */
typedef struct streams {
    gpu_t *gpu;
    cuarena_t *arena;
    cuai_cu_stream_t streams[SHAPES_THREADS];
    bool pairs; /* two threads share a stream, on which one allocates and the other frees */
} streams_t;

static cuai_cu_stream_t stream_of(const streams_t *s, int thread)
{
    return s->streams[s->pairs ? thread / 2 * 2 : thread];
}

/* The driver wants its context on each thread. */
static void use_context(const streams_t *s)
{
    static _Thread_local bool has;
    if (!has)
        must_cu(s->gpu, s->gpu->cuCtxSetCurrent(s->gpu->context));
    has = true;
}

static void *alloc_on(void *user, int thread, uint64_t bytes)
{
    streams_t *s = user;
    void *pointer;
    must(cuarena_alloc_on(s->arena, bytes, stream_of(s, thread), NULL, &pointer));
    return pointer;
}

static void free_on(void *user, int thread, void *pointer)
{
    streams_t *s = user;
    must(cuarena_free_on(s->arena, pointer, stream_of(s, thread)));
}

static void *driver_alloc(void *user, int thread, uint64_t bytes)
{
    streams_t *s = user;
    cuai_cu_pointer_t pointer;
    use_context(s);
    must_cu(s->gpu, s->gpu->cuMemAllocAsync(&pointer, bytes, stream_of(s, thread)));
    return (void *)(uintptr_t)pointer; /* NOLINT: an address of the device */
}

static void driver_free(void *user, int thread, void *pointer)
{
    streams_t *s = user;
    use_context(s);
    must_cu(s->gpu,
            s->gpu->cuMemFreeAsync((cuai_cu_pointer_t)(uintptr_t)pointer, stream_of(s, thread)));
}

static cuarena_t *device_pool(const gpu_t *gpu)
{
    cuarena_config_t config = gpu_config(gpu, CUARENA_MEMORY_DEVICE);
    config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, POOL};
    return gpu_arena(&config);
}

static void measure(const shapes_allocator_t *allocator, shape_t shape, int threads)
{
    shapes_result_t median = shapes_median(allocator, shape, threads, MOST);
    printf("%-8s %-14s %2d thread%s %7.2f million calls per second, a pair %8.2f us, p99.9 %9.2f\n",
           shape_names[shape], allocator->name, threads,
           threads == 1 ? ": " : "s:", median.calls_per_second / 1e6, median.p50_ns / 1e3,
           median.p999_ns / 1e3);
    record_begin("threads");
    record_text("shape", shape_names[shape]);
    record_text("allocator", allocator->name);
    record_count("threads", (uint64_t)threads);
    record_number("calls_per_second", median.calls_per_second);
    record_number("p50_ns", median.p50_ns);
    record_number("p999_ns", median.p999_ns);
    record_end();
}

static void measure_all(const gpu_t *gpu, shape_t shape, const shapes_allocator_t *allocators,
                        size_t count)
{
    int most = gpu->quick ? 2 : SHAPES_THREADS;
    for (size_t a = 0; a < count; a++)
        for (int threads = shape == SHAPE_REPLACE ? 1 : 2; threads <= most; threads *= 2)
            measure(&allocators[a], shape, threads);
}

int main(int argc, char **argv)
{
    gpu_t gpu;
    gpu_open(&gpu, "threads_cuda", argc, argv);
    streams_t with_streams = {.gpu = &gpu, .arena = device_pool(&gpu)};
    for (int i = 0; i < SHAPES_THREADS; i++)
        must_cu(&gpu, gpu.cuStreamCreate(&with_streams.streams[i], CUAI_CU_STREAM_NON_BLOCKING));
    cuarena_t *device = device_pool(&gpu);
    cuarena_t *none = new_arena(POOL, 0);
    shapes_allocator_t mutex = shapes_mutex(POOL);
    const shapes_allocator_t allocators[] = {
        shapes_arena(none, "none"),
        mutex,
        shapes_arena(device, "device"),
        {"device streams", &with_streams, alloc_on, free_on, false},
        {"driver streams", &with_streams, driver_alloc, driver_free, true},
    };
    const size_t count = sizeof allocators / sizeof *allocators;
    measure_all(&gpu, SHAPE_REPLACE, allocators, count);
    with_streams.pairs = true;
    measure_all(&gpu, SHAPE_HANDOFF, allocators, count);
    shapes_mutex_end(&mutex);
    for (int i = 0; i < SHAPES_THREADS; i++)
        must(cuarena_release_stream(with_streams.arena, with_streams.streams[i]));
    must(cuarena_reclaim(with_streams.arena, 1, NULL));
    must(cuarena_destroy(&with_streams.arena));
    must(cuarena_destroy(&device));
    must(cuarena_destroy(&none));
    gpu_close(&gpu);
    return EXIT_SUCCESS;
}
