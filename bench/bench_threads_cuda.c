/*
 * Threads that share an allocator of device memory, in the shapes of shapes.h: an arena without
 * streams and with a stream for each thread, beside the driver's stream-ordered allocation, which
 * keeps all, and PyTorch's allocator with a stream each; and, of the same run, an arena of
 * addresses alone and the heap behind a mutex. For serving and training arenas grow (preset=grow);
 * else they are pools.
 *
 *   bench_threads_cuda [--device N] [--quick] [--json FILE] [TRACE [LIBRARY]]
 *
 * Without a TRACE there is no training. LIBRARY is what bench/torch_library makes of PyTorch.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "runtime.h"
#include "shapes.h"

#define POOL (4 * GIB)
#define HEAP (96 * GIB) /* eight times what is trained */

/* PyTorch's allocator: the functions of bench/torch_allocator.cc. */
typedef struct torch {
    void (*open)(int device);
    void *(*alloc)(size_t bytes, void *stream);
    void (*free)(void *pointer);
    uint64_t (*held)(int device);
    void (*forget)(int device);
} torch_t;

/* What threads with a stream each share. */
typedef struct streams {
    gpu_t *gpu;
    cuarena_t *arena;
    torch_t torch;
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

static uint64_t driver_held(void *user)
{
    streams_t *s = user;
    return runtime_held(s->gpu);
}

static void driver_forget(void *user)
{
    streams_t *s = user;
    runtime_trim(s->gpu);
}

static uint64_t held_on(void *user)
{
    streams_t *s = user;
    return shapes_arena_held(s->arena);
}

static void forget_on(void *user)
{
    streams_t *s = user;
    shapes_arena_forget(s->arena);
}

/* ---- PyTorch's allocator ------------------------------------------------- */

static void *torch_alloc(void *user, int thread, uint64_t bytes)
{
    streams_t *s = user;
    use_context(s);
    return s->torch.alloc(bytes, stream_of(s, thread));
}

static void torch_free(void *user, int thread, void *pointer)
{
    streams_t *s = user;
    (void)thread;
    use_context(s);
    s->torch.free(pointer);
}

static uint64_t torch_held(void *user)
{
    streams_t *s = user;
    return s->torch.held(s->gpu->ordinal);
}

static void torch_forget(void *user)
{
    streams_t *s = user;
    s->torch.forget(s->gpu->ordinal);
}

static void find(void *library, const char *name, void *member)
{
    void *found = dlsym(library, name);
    expect(found != NULL, name);
    memcpy(member, &found, sizeof found);
}

static void open_torch(streams_t *s, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    expect(library != NULL, dlerror());
    find(library, "torch_allocator_open", &s->torch.open);
    find(library, "torch_allocator_alloc", &s->torch.alloc);
    find(library, "torch_allocator_free", &s->torch.free);
    find(library, "torch_allocator_held", &s->torch.held);
    find(library, "torch_allocator_forget", &s->torch.forget);
    s->torch.open(s->gpu->ordinal);
}

/* ---- Shapes -------------------------------------------------------------- */

static cuarena_t *device_arena(const gpu_t *gpu, bool grows)
{
    cuarena_config_t config = gpu_config(gpu, CUARENA_MEMORY_DEVICE);
    if (grows)
        must(cuarena_config_parse(&config, "preset=grow"));
    else
        config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, POOL};
    return gpu_arena(&config);
}

static cuarena_t *address_arena(bool grows)
{
    cuarena_t *arena;
    if (!grows)
        return new_arena(POOL, 0);
    must(cuarena_open("memory=none,preset=grow", &arena));
    return arena;
}

static void measure(const streams_t *s, shape_t shape, const shapes_allocator_t *allocator,
                    const shapes_steps_t *steps)
{
    int most = s->gpu->quick ? 2 : SHAPES_THREADS;
    for (int threads = shape_least(shape); threads <= most; threads *= 2) {
        shapes_result_t median = shapes_median(allocator, shape, threads, steps);
        shapes_tell(allocator, shape, threads, &median);
    }
}

/* By all allocators, with arenas that are made for it. */
static void measure_all(streams_t *s, shape_t shape, const shapes_allocator_t *mutex,
                        const shapes_steps_t *steps)
{
    bool grows = shape_grows(shape);
    cuarena_t *none = address_arena(grows);
    cuarena_t *device = device_arena(s->gpu, grows);
    s->arena = device_arena(s->gpu, grows);
    s->pairs = shape_least(shape) == 2;
    const shapes_allocator_t allocators[] = {
        shapes_arena(none, "none"),
        *mutex,
        shapes_arena(device, "device"),
        {"device streams", s, alloc_on, free_on, held_on, forget_on, false},
        {"driver streams", s, driver_alloc, driver_free, driver_held, driver_forget, true},
        {"pytorch", s, torch_alloc, torch_free, torch_held, torch_forget, true},
    };
    size_t count = sizeof allocators / sizeof *allocators - (s->torch.open == NULL);
    for (size_t a = 0; a < count; a++) {
        measure(s, shape, &allocators[a], steps);
        if (grows && allocators[a].forget != NULL)
            allocators[a].forget(allocators[a].user);
    }
    for (int i = 0; i < SHAPES_THREADS; i++)
        must(cuarena_release_stream(s->arena, s->streams[i]));
    must(cuarena_reclaim(s->arena, 1, NULL));
    must(cuarena_destroy(&s->arena));
    must(cuarena_destroy(&device));
    must(cuarena_destroy(&none));
}

int main(int argc, char **argv)
{
    gpu_t gpu;
    int further = gpu_open(&gpu, "threads_cuda", argc, argv);
    streams_t s = {.gpu = &gpu};
    shapes_steps_t *steps = further < argc ? shapes_steps_open(argv[further]) : NULL;
    if (further + 1 < argc)
        open_torch(&s, argv[further + 1]);
    for (int i = 0; i < SHAPES_THREADS; i++)
        must_cu(&gpu, gpu.cuStreamCreate(&s.streams[i], CUAI_CU_STREAM_NON_BLOCKING));
    shapes_allocator_t mutex = shapes_mutex(HEAP);
    runtime_keep(&gpu, UINT64_MAX);
    for (shape_t shape = 0; shape < (steps != NULL ? SHAPES : SHAPE_TRAINING); shape++)
        measure_all(&s, shape, &mutex, steps);
    runtime_keep(&gpu, 0);
    shapes_mutex_end(&mutex);
    if (steps != NULL)
        shapes_steps_close(steps);
    gpu_close(&gpu);
    return EXIT_SUCCESS;
}
