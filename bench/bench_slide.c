/*
 * The relocation kernel on a GPU, by the driver found at run time: payload per second of lists of
 * moves, next to the driver's own copy of the same bytes in the same run; and what a list takes
 * from the plan to its end, seen from the host. Medians. It needs no Toolkit; without a device it
 * exits with 77.
 *
 *   bench_slide        with the kernel that a plan chooses
 *   bench_slide any    with the one for any device
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "memory/cuda/slide.h"

#define ROUNDS 15
#define ROOM (6 * GIB)      /* that moves happen in */
#define COPY_ROOM (7 * GIB) /* of the copy to compare with, both sides */
#define CACHED (256 * MIB)  /* read between rounds, so that no cache helps */
#define MOST_MOVES 50000u

/* ---- The driver -------------------------------------------------------- */

typedef unsigned long long pointer_t;
typedef void *handle_t;

static int (*init)(unsigned flags);
static int (*device_get)(int *device, int ordinal);
static int (*device_attribute)(int *value, int attribute, int device);
static int (*device_name)(char *name, int bytes, int device);
static int (*context_retain)(handle_t *context, int device);
static int (*context_set)(handle_t context);
static int (*memory_alloc)(pointer_t *pointer, size_t bytes);
static int (*memory_host_alloc)(void **pointer, size_t bytes, unsigned flags);
static int (*memory_set)(pointer_t pointer, unsigned char value, size_t bytes);
static int (*copy_async)(pointer_t to, pointer_t from, size_t bytes, handle_t stream);
static int (*stream_create)(handle_t *stream, unsigned flags);
static int (*stream_wait)(handle_t stream);
static int (*event_create)(handle_t *event, unsigned flags);
static int (*event_record)(handle_t event, handle_t stream);
static int (*event_time)(float *ms, handle_t from, handle_t to);
static int (*module_load)(handle_t *module, const void *text);
static int (*module_function)(handle_t *function, handle_t module, const char *name);
static int (*function_set)(handle_t function, int attribute, int value);
static int (*launch_kernel)(handle_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, handle_t stream, void **params, void **extra);

static const struct {
    void *function;
    const char *name;
} entries[] = {
    {&init, "cuInit"},
    {&device_get, "cuDeviceGet"},
    {&device_attribute, "cuDeviceGetAttribute"},
    {&device_name, "cuDeviceGetName"},
    {&context_retain, "cuDevicePrimaryCtxRetain"},
    {&context_set, "cuCtxSetCurrent"},
    {&memory_alloc, "cuMemAlloc_v2"},
    {&memory_host_alloc, "cuMemHostAlloc"},
    {&memory_set, "cuMemsetD8_v2"},
    {&copy_async, "cuMemcpyDtoDAsync_v2"},
    {&stream_create, "cuStreamCreate"},
    {&stream_wait, "cuStreamSynchronize"},
    {&event_create, "cuEventCreate"},
    {&event_record, "cuEventRecord"},
    {&event_time, "cuEventElapsedTime"},
    {&module_load, "cuModuleLoadData"},
    {&module_function, "cuModuleGetFunction"},
    {&function_set, "cuFuncSetAttribute"},
    {&launch_kernel, "cuLaunchKernel"},
};

static void ok(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "bench_slide: %s gave CUresult %d, expected 0\n", what, result);
    exit(1);
}

static void skip(const char *why)
{
    printf("skipped: %s\n", why);
    exit(77);
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        skip("no CUDA driver");
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *symbol = dlsym(library, entries[i].name);
        expect(symbol != NULL, entries[i].name);
        memcpy(entries[i].function, &symbol, sizeof symbol);
    }
    if (init(0) != 0)
        skip("no CUDA device");
}

/* Reads `words` words of 8 bytes; stores only what is never read. */
static const char reading_text[] = ".version 6.3\n"
                                   ".target sm_70\n"
                                   ".address_size 64\n"
                                   ".visible .entry reading(.param .u64 from,"
                                   " .param .u64 words)\n"
                                   "{\n"
                                   "  .reg .pred %p;\n"
                                   "  .reg .b32 %r<4>;\n"
                                   "  .reg .b64 %d<8>;\n"
                                   "  ld.param.u64 %d0, [from];\n"
                                   "  ld.param.u64 %d1, [words];\n"
                                   "  mov.u32 %r0, %ctaid.x;\n"
                                   "  mov.u32 %r1, %ntid.x;\n"
                                   "  mov.u32 %r2, %tid.x;\n"
                                   "  mov.u32 %r3, %nctaid.x;\n"
                                   "  mad.lo.u32 %r2, %r0, %r1, %r2;\n"
                                   "  mul.lo.u32 %r3, %r3, %r1;\n"
                                   "  cvt.u64.u32 %d2, %r2;\n"
                                   "  cvt.u64.u32 %d3, %r3;\n"
                                   "  mov.u64 %d6, 0;\n"
                                   "again:\n"
                                   "  setp.ge.u64 %p, %d2, %d1;\n"
                                   "  @%p bra done;\n"
                                   "  shl.b64 %d4, %d2, 3;\n"
                                   "  add.u64 %d4, %d4, %d0;\n"
                                   "  ld.global.u64 %d5, [%d4];\n"
                                   "  xor.b64 %d6, %d6, %d5;\n"
                                   "  add.u64 %d2, %d2, %d3;\n"
                                   "  bra again;\n"
                                   "done:\n"
                                   "  setp.ne.u64 %p, %d6, 0x123456789;\n"
                                   "  @%p bra out;\n"
                                   "  st.global.u64 [%d0], %d6;\n"
                                   "out:\n"
                                   "  ret;\n"
                                   "}\n";

/* ---- The device -------------------------------------------------------- */

#define ATTRIBUTE_MULTIPROCESSORS 16
#define ATTRIBUTE_THREADS 39
#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76
#define ATTRIBUTE_SHARED 81
#define ATTRIBUTE_SHARED_OPTIN 97
#define FUNCTION_SHARED 8

static int device;
static cuai_slide_device_t facts;
static cuai_slide_t slide;
static handle_t functions[CUAI_SLIDE_KERNELS];
static handle_t stream, begun, ended, reading;
static pointer_t room, copy_room, cached;

static uint32_t attribute(int which)
{
    int value;
    ok(device_attribute(&value, which, device), "cuDeviceGetAttribute");
    return (uint32_t)value;
}

static pointer_t device_bytes(size_t bytes)
{
    pointer_t pointer;
    ok(memory_alloc(&pointer, bytes), "cuMemAlloc");
    return pointer;
}

static void open_device(void)
{
    handle_t context;
    char name[128];
    ok(device_get(&device, 0), "cuDeviceGet");
    ok(context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    ok(context_set(context), "cuCtxSetCurrent");
    ok(device_name(name, sizeof name, device), "cuDeviceGetName");
    facts = (cuai_slide_device_t){
        .capability = attribute(ATTRIBUTE_MAJOR) * 10 + attribute(ATTRIBUTE_MINOR),
        .multiprocessors = attribute(ATTRIBUTE_MULTIPROCESSORS),
        .threads_per_multiprocessor = attribute(ATTRIBUTE_THREADS),
        .shared_bytes_per_multiprocessor = attribute(ATTRIBUTE_SHARED),
        .shared_bytes_per_block = attribute(ATTRIBUTE_SHARED_OPTIN),
    };
    printf("%s, capability %u, %u multiprocessors\n", name, facts.capability,
           facts.multiprocessors);
    ok(stream_create(&stream, 1), "cuStreamCreate");
    ok(event_create(&begun, 0), "cuEventCreate");
    ok(event_create(&ended, 0), "cuEventCreate");
    room = device_bytes(ROOM);
    copy_room = device_bytes(COPY_ROOM);
    cached = device_bytes(CACHED);
    ok(memory_set(copy_room, 1, COPY_ROOM), "cuMemsetD8");
    ok(memory_set(cached, 1, CACHED), "cuMemsetD8");
}

static void load_kernels(void)
{
    handle_t helper;
    ok(module_load(&helper, reading_text), "cuModuleLoadData");
    ok(module_function(&reading, helper, "reading"), "cuModuleGetFunction");
    for (uint32_t k = 0; k < CUAI_SLIDE_KERNELS; k++) {
        handle_t module;
        if (!cuai_slide_kernel_runs(&facts, k))
            continue;
        ok(module_load(&module, cuai_slide_texts[k].ptx), "cuModuleLoadData");
        ok(module_function(&functions[k], module, cuai_slide_texts[k].entry),
           "cuModuleGetFunction");
        if (k == CUAI_SLIDE_BULK)
            ok(function_set(functions[k], FUNCTION_SHARED, (int)cuai_slide_shared_bytes(&facts)),
               "cuFuncSetAttribute");
    }
}

static void open_slide(void)
{
    void *staging;
    pointer_t scratch = device_bytes(cuai_slide_scratch_bytes(MOST_MOVES));
    ok(memory_set(scratch, 0, CUAI_SLIDE_SCRATCH_ZEROED), "cuMemsetD8");
    ok(memory_host_alloc(&staging, cuai_slide_staging_bytes(MOST_MOVES), 0), "cuMemHostAlloc");
    load_kernels();
    cuai_slide_init(&slide, &facts, scratch, staging, (uint64_t)(uintptr_t)staging, MOST_MOVES);
}

/* ---- Times ------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof *times, by_value);
    return times[ROUNDS / 2];
}

/* In us, from what was recorded in `begun` to here. */
static double device_time(void)
{
    float ms;
    ok(event_record(ended, stream), "cuEventRecord");
    ok(stream_wait(stream), "cuStreamSynchronize");
    ok(event_time(&ms, begun, ended), "cuEventElapsedTime");
    return 1000.0 * (double)ms;
}

/* Reads as much as no cache holds, so that what caches hold afterwards is clean and nobody's. It
 * keeps the device busy while what is timed is queued. */
static void forget(void)
{
    uint64_t words = CACHED / sizeof(uint64_t);
    void *params[] = {&cached, &words};
    ok(launch_kernel(reading, 1024, 1, 1, 256, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
}

static double copy_time(uint64_t bytes)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        forget();
        ok(event_record(begun, stream), "cuEventRecord");
        ok(copy_async(copy_room, copy_room + COPY_ROOM / 2, bytes, stream), "cuMemcpyDtoDAsync");
        times[i] = device_time();
    }
    return median(times);
}

/* ---- Lists ------------------------------------------------------------- */

static cuarena_relocation_t list[MOST_MOVES];
static size_t list_count;
static bool any_device;

static void move(uint64_t from, uint64_t to, uint64_t bytes)
{
    expect(list_count < MOST_MOVES && from + bytes <= ROOM && to + bytes <= ROOM,
           "a move within the room");
    list[list_count++] = (cuarena_relocation_t){0, (void *)(uintptr_t)(room + from),
                                                (void *)(uintptr_t)(room + to), bytes};
}

static void plan(cuai_slide_launch_t *launch)
{
    if (any_device)
        slide.device.capability = 70;
    size_t taken = cuai_slide_plan(&slide, list, list_count, NULL, launch);
    expect(taken == list_count, "the list in one launch");
}

static void queue(cuai_slide_launch_t *launch)
{
    void *params[] = {&launch->params};
    ok(launch_kernel(functions[launch->kernel], launch->grid, 1, 1, launch->block, 1, 1,
                     launch->shared_bytes, stream, params, NULL),
       "cuLaunchKernel");
    cuai_slide_queued(&slide, launch);
}

/* Runs the list, prints a line, and starts the next list. */
static void report(const char *name)
{
    static cuai_slide_launch_t launch;
    double device_us[ROUNDS];
    double host_us[ROUNDS];
    uint64_t bytes = 0;
    for (size_t i = 0; i < list_count; i++)
        bytes += list[i].bytes;
    double copy_us = copy_time(bytes);
    for (int i = 0; i < ROUNDS; i++) {
        plan(&launch);
        forget();
        ok(event_record(begun, stream), "cuEventRecord");
        queue(&launch);
        device_us[i] = device_time();
        forget();
        ok(stream_wait(stream), "cuStreamSynchronize");
        uint64_t start = now_ns();
        plan(&launch);
        queue(&launch);
        ok(stream_wait(stream), "cuStreamSynchronize");
        host_us[i] = (double)(now_ns() - start) / 1000;
    }
    double us = median(device_us);
    printf("%-26s %6zu %8.1f %9.1f %7.0f %6.3f %9.1f\n", name, list_count, (double)bytes / 1e6, us,
           (double)bytes / us / 1e3, copy_us / us, median(host_us));
    list_count = 0;
}

/* Blocks of random sizes with random holes between them. */
static void holes(size_t count, uint64_t most_bytes, uint64_t most_hole)
{
    random_state_t random = {1};
    uint64_t from = 0;
    uint64_t to = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 256 * (1 + random_below(&random, most_bytes / 256));
        from += 256 * (1 + random_below(&random, most_hole / 256));
        move(from, to, bytes);
        from += bytes;
        to += bytes;
    }
}

static void slide_by(uint64_t distance, uint64_t bytes, const char *name)
{
    move(distance, 0, bytes);
    report(name);
}

int main(int argc, char **argv)
{
    any_device = argc > 1 && strcmp(argv[1], "any") == 0;
    open_driver();
    open_device();
    open_slide();
    printf("%-26s %6s %8s %9s %7s %6s %9s\n", "", "moves", "MB", "us", "GB/s", "/ copy", "host us");
    slide_by(256, 2 * GIB, "2 GiB by 256 B");
    slide_by(4 * KIB, 2 * GIB, "2 GiB by 4 KiB");
    slide_by(64 * KIB, 2 * GIB, "2 GiB by 64 KiB");
    slide_by(MIB, 2 * GIB, "2 GiB by 1 MiB");
    slide_by(16 * MIB, 2 * GIB, "2 GiB by 16 MiB");
    slide_by(512 * MIB, 2 * GIB, "2 GiB by 512 MiB");
    slide_by(256, 256 * MIB, "256 MiB by 256 B");
    slide_by(64 * KIB, 256 * MIB, "256 MiB by 64 KiB");
    slide_by(16 * MIB, 256 * MIB, "256 MiB by 16 MiB");
    for (uint64_t i = 0; i < 4; i++)
        move((2 * i + 1) * 32 * MIB, i * 32 * MIB, 32 * MIB);
    report("every other 32 MiB of 8");
    for (uint64_t i = 0; i < 10000; i++)
        move((2 * i + 1) * 4 * KIB, i * 4 * KIB, 4 * KIB);
    report("10000 x 4 KiB with holes");
    holes(401, 16 * MIB, 2 * MIB);
    report("401 up to 16 MiB");
    holes(MOST_MOVES, 16 * KIB, 2 * KIB);
    report("50000 up to 16 KiB");
    return 0;
}
