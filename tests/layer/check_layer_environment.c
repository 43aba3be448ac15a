/*
 * The layer as its environment says: turned off or half off, with options, a report, recording, and
 * without a driver. What the environment says is read once, so each program runs in a process.
 */
#define _GNU_SOURCE
#include "support/driver_under_test.h"
#include "support/expect.h"

#include <cuarena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES KIB(64)

static const cuarena_layer_t *layer;
static CUstream stream;
static uint64_t failing; /* which call of the driver, for some programs */
static char folder[] = "/tmp/layer-XXXXXX";
static char record[64];
static char output[64];
static char text[1 << 16];

/* ---- Programs, each in a process of its own ------------------------------ */

static void start(void)
{
    driver_start();
    layer = cuarena_layer();
    (void)driver_take_context(0);
    stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
}

static cuarena_layer_stats_t stats_of(int device)
{
    cuarena_layer_stats_t now;
    cuarena_layer_stats_init(&now);
    expect_ok(cuarena_layer_stats(device, &now));
    return now;
}

static CUdeviceptr alloc_on(size_t bytes)
{
    unsigned long long at = 0;
    driver_ok(layer->cuMemAllocAsync(&at, bytes, stream));
    return at;
}

static void allocate_both_ways(void)
{
    unsigned long long at = 0;
    driver_ok(layer->cuMemFreeAsync(alloc_on(BYTES), stream));
    driver_ok(layer->cuMemAlloc_v2(&at, BYTES));
    driver_ok(layer->cuMemFree_v2(at));
}

/* Runs the program; what it wrote to stderr is in `text`. */
static void run(void (*program)(void))
{
    int status = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        ck_assert(freopen(output, "w", stderr) != NULL);
        program();
        exit(0);
    }
    ck_assert(waitpid(child, &status, 0) == child);
    FILE *file = fopen(output, "r");
    ck_assert(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d at %d: %s", status,
                  (int)failing, text);
}

static void expect_said(const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "expected '%s', got '%s'", words, text);
}

static void set_up(void)
{
    ck_assert(mkdtemp(folder) != NULL);
    snprintf(record, sizeof record, "%s/record.csv", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    unsetenv("CUARENA_CONF");
}

static void tear_down(void)
{
    unlink(record);
    unlink(output);
    rmdir(folder);
}

/* ---- On and off ---------------------------------------------------------- */

static void use_async(void)
{
    start();
    allocate_both_ways();
    expect_u64(stats_of(0).allocs, 1);
    expect_u64(stats_of(0).driver_allocs, 1);
    expect_u64(stats_of(0).driver_frees, 1);
}

static void use_nothing(void)
{
    start();
    allocate_both_ways();
    expect_u64(stats_of(0).allocs, 0);
}

static void use_both(void)
{
    start();
    allocate_both_ways();
    expect_u64(stats_of(0).allocs, 2);
    expect_u64(stats_of(0).frees, 2);
}

START_TEST(what_is_served)
{
    run(use_both);
    setenv("CUARENA_ALLOCATOR", "on", 1);
    run(use_both);
    setenv("CUARENA_ALLOCATOR", "async", 1);
    run(use_async);
    setenv("CUARENA_ALLOCATOR", "off", 1);
    run(use_nothing);
    setenv("CUARENA_ALLOCATOR", "o\nf", 1);
    run(use_both);
    expect_said("CUARENA_ALLOCATOR: 'o\\x0af' is taken as on; accepted: on, async, off\n");
}
END_TEST

/* Turned off each call is the driver's. */
static void use_memory_off(void)
{
    unsigned long long at = 0, base = 0, handle = 0;
    size_t bytes = 0, total = 0;
    uint64_t id = 0;
    int attribute = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    void *out = &id;
    driver_ok(layer->cuMemAlloc_v2(&at, BYTES));
    driver_ok(layer->cuMemGetInfo_v2(&bytes, &total));
    ck_assert(bytes <= total - BYTES);
    driver_ok(layer->cuMemGetAddressRange_v2(&base, &bytes, at));
    expect_u64(base, at);
    expect_u64(bytes, BYTES);
    driver_ok(layer->cuPointerGetAttribute(&id, attribute, at));
    driver_ok(layer->cuPointerGetAttributes(1, &attribute, &out, at));
    ck_assert(layer->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)at) != 0);
    driver_ok(layer->cuMemFree_v2(at));
    driver_ok(layer->cuMemAllocAsync_ptsz(&at, BYTES, stream));
    driver_ok(layer->cuMemFreeAsync_ptsz(at, stream));
}

static void use_pools_off(void)
{
    unsigned long long at = 0, kept = 0;
    CUmemoryPool pool = NULL;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    driver_ok(layer->cuMemAllocFromPoolAsync(&at, BYTES, (void *)pool, stream));
    driver_ok(layer->cuMemFreeAsync(at, stream));
    driver_ok(layer->cuMemPoolSetAttribute((void *)pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
    driver_ok(layer->cuMemPoolGetAttribute((void *)pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
    expect_u64(kept, 0);
    driver_ok(layer->cuMemPoolTrimTo((void *)pool, 0));
    driver_ok(layer->cuDeviceSetMemPool(0, (void *)pool));
}

static void use_each_off(void)
{
    struct CUgraph_st *graph = NULL;
    start();
    use_memory_off();
    use_pools_off();
    CUstream brief = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_ok(layer->cuStreamBeginCapture_v2(brief, CU_STREAM_CAPTURE_MODE_RELAXED));
    driver_ok(layer->cuStreamEndCapture(brief, &graph));
    driver_ok(driver.cuGraphDestroy(graph));
    driver_ok(layer->cuStreamDestroy_v2(brief));
    ck_assert(layer->cuCtxDestroy_v2(NULL) != 0);
    driver_ok(layer->cuDevicePrimaryCtxReset_v2(0));
    expect_u64(stats_of(0).allocs, 0);
}

START_TEST(each_call_is_the_drivers_when_it_is_off)
{
    setenv("CUARENA_ALLOCATOR", "off", 1);
    run(use_each_off);
}
END_TEST

START_TEST(report)
{
    setenv("CUARENA_REPORT", "1", 1);
    run(use_both);
    expect_said("device 0: 2 allocations (0 of graphs), 2 frees, peak 0.1 MiB live, 2.0 MiB");
    setenv("CUARENA_ALLOCATOR", "off", 1);
    run(use_nothing);
    expect_said("nothing was served: it is off");
    setenv("CUARENA_REPORT", "0", 1);
    run(use_nothing);
    expect_text(text, "");
}
END_TEST

/* Without a context no device is meant. */
static void allocate_nowhere(void)
{
    unsigned long long at = 0;
    start();
    driver_drop_context(0);
    expect_driver(CUDA_ERROR_INVALID_CONTEXT, layer->cuMemAlloc_v2(&at, BYTES));
    expect_u64(stats_of(-1).driver_allocs, 1);
}

START_TEST(report_of_no_device)
{
    setenv("CUARENA_REPORT", "1", 1);
    run(allocate_nowhere);
    expect_said("no device: 0 allocations");
}
END_TEST

/* ---- Options ------------------------------------------------------------- */

static void configure_a_pool(void)
{
    cuarena_config_t config;
    uint64_t reserved = 0;
    cuarena_stats_t now;
    cuarena_config_init(&config);
    config.pool = (cuarena_amount_t){.unit = CUARENA_AMOUNT_BYTES, .value = MIB(16)};
    expect_ok(cuarena_layer_configure(&config));
    use_both();
    cuarena_stats_init(&now);
    expect_ok(cuarena_stats(stats_of(0).arena, CUARENA_REGION_ALL, &now));
    reserved = now.reserved_bytes;
    expect_u64(reserved, MIB(16));
}

/* It is configured before the first allocation, and asked for devices that there may be. */
static void configure_wrongly(void)
{
    start();
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_status(cuarena_layer_configure(NULL), CUARENA_BAD_ARGUMENT);
    config.memory = CUARENA_MEMORY_PAGEABLE;
    expect_status(cuarena_layer_configure(&config), CUARENA_BAD_ARGUMENT);
    expect_text(cuarena_last_error(),
                "memory: pageable, device and what the preset says are accepted");
    config.memory = CUARENA_MEMORY_PRESET;
    config.preset = CUARENA_PRESET_GROW;
    config.pool = (cuarena_amount_t){.unit = CUARENA_AMOUNT_BYTES, .value = MIB(1)};
    expect_status(cuarena_layer_configure(&config), CUARENA_BAD_ARGUMENT);
    cuarena_config_init(&config);
    allocate_both_ways();
    expect_status(cuarena_layer_configure(&config), CUARENA_BUSY);
    cuarena_layer_stats_t some = {.struct_size = 1};
    expect_status(cuarena_layer_stats(0, &some), CUARENA_BAD_ARGUMENT);
    cuarena_layer_stats_init(&some);
    expect_status(cuarena_layer_stats(64, &some), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_layer_stats(-1, &some));
}

static uint64_t figure(CUmemoryPool pool, int attribute)
{
    uint64_t bytes = 0;
    driver_ok(layer->cuMemPoolGetAttribute((void *)pool, attribute, &bytes));
    return bytes;
}

static uint64_t free_memory(void)
{
    size_t bytes = 0, total = 0;
    driver_ok(layer->cuMemGetInfo_v2(&bytes, &total));
    return bytes;
}

/* The arena's bytes are the default pool's. */
static void look_at_the_pool(void)
{
    CUmemoryPool pool = NULL;
    uint64_t zero = 0;
    start();
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    CUdeviceptr at = alloc_on(MIB(3));
    uint64_t reserved = 0; /* once, and not a second time as the arena's */
    driver_ok(driver.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    ck_assert_uint_ge(reserved, MIB(3));
    expect_u64(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), reserved);
    expect_u64(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB(3));
    expect_u64(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), MIB(3));
    expect_u64(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), reserved);
    driver_ok(layer->cuMemFreeAsync(at, stream));
    expect_u64(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    driver_ok(layer->cuMemPoolSetAttribute((void *)pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    expect_u64(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    driver_ok(driver.cuStreamSynchronize(stream));
    uint64_t before = free_memory();
    driver_ok(layer->cuMemPoolTrimTo((void *)pool, 0));
    expect_u64(free_memory(), before);
    driver_ok(driver.cuCtxSynchronize());
    expect_u64(free_memory(), before);
}

START_TEST(figures_where_the_arena_draws_on_the_pool)
{
    setenv("CUARENA_CONF", "backing=async", 1);
    run(look_at_the_pool);
    setenv("CUARENA_CONF", "preset=driver-pool", 1);
    run(look_at_the_pool);
    setenv("CUARENA_CONF", "preset=mlx-cuda", 1);
    run(look_at_the_pool);
}
END_TEST

static void expect_the_drivers_alignment(void)
{
    start();
    for (int i = 0; i < 8; i++)
        expect_u64(alloc_on(100) % 512, 0);
    expect_u64(stats_of(0).allocs, 8);
}

START_TEST(a_smaller_alignment_is_raised)
{
    setenv("CUARENA_CONF", "alignment=64", 1);
    run(expect_the_drivers_alignment);
}
END_TEST

static void reset_twice(void)
{
    CUcontext primary = NULL;
    unsigned long long at = 0;
    start();
    for (int i = 2; i > 0; i--) {
        driver_ok(layer->cuMemAlloc_v2(&at, MIB(8) * (size_t)i));
        driver_ok(layer->cuMemFree_v2(at));
        driver_ok(layer->cuDevicePrimaryCtxReset_v2(0));
        driver_ok(driver.cuDevicePrimaryCtxRetain(&primary, 0));
        driver_ok(driver.cuCtxSetCurrent(primary));
    }
}

START_TEST(peaks_of_arenas_that_ended_are_reported)
{
    if (!driver_is_standin_for("a reset"))
        return;
    setenv("CUARENA_REPORT", "1", 1);
    run(reset_twice);
    expect_said("2 allocations (0 of graphs), 2 frees, peak 16.0 MiB live, 16.0 MiB reserved");
}
END_TEST

START_TEST(options)
{
    run(configure_a_pool);
    run(configure_wrongly);
    setenv("CUARENA_CONF", "name=mine", 1);
    run(configure_a_pool);
    setenv("CUARENA_CONF", "memory=pageable", 1);
    run(use_nothing);
    expect_said("device 0 is left to the driver: memory: ");
    setenv("CUARENA_CONF", "nonsense=1", 1);
    run(use_nothing);
    expect_said("device 0 is left to the driver: 'nonsense' is no option");
}
END_TEST

/* ---- Recording ----------------------------------------------------------- */

/* How many lines begin so, and which of all is the last of these. */
static size_t lines_at(const char *begin, size_t *last)
{
    char line[512];
    size_t count = 0, number = 0;
    FILE *file = fopen(record, "r");
    ck_assert(file != NULL);
    for (; fgets(line, sizeof line, file) != NULL; number++) {
        if (strncmp(line, begin, strlen(begin)) != 0)
            continue;
        *last = number;
        count++;
    }
    fclose(file);
    return count;
}

static size_t lines(const char *begin)
{
    size_t last;
    return lines_at(begin, &last);
}

/* More than the first table has room for, freed in another order. */
static void allocate_many(void)
{
    enum {
        MANY = 3000
    };
    static CUdeviceptr at[MANY];
    unsigned long long managed = 0;
    size_t pitch = 0;
    start();
    for (int i = 0; i < MANY; i++)
        at[i] = alloc_on(512);
    for (int i = 0; i < MANY; i++)
        driver_ok(layer->cuMemFreeAsync(at[(i * 7) % MANY], stream));
    driver_ok(layer->cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    driver_ok(layer->cuMemFree_v2(managed));
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFree_v2(managed));
    driver_ok(layer->cuMemAllocPitch_v2(&managed, &pitch, 100, 100, 4));
    driver_ok(layer->cuMemFree_v2(managed));
    driver_ok(layer->cuMemFree_v2(0));
    expect_u64(stats_of(0).allocs, 0);
}

static void fork_while_recording(void)
{
    int status = 0;
    start();
    CUdeviceptr at = alloc_on(BYTES);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    ck_assert(waitpid(child, &status, 0) == child);
    driver_ok(layer->cuMemFreeAsync(at, stream));
}

/* A refused free is none, and the block's own comes later: no graph frees what none allocated. */
static void free_wrongly_then_rightly(void)
{
    struct CUgraph_st *graph = NULL;
    start();
    CUdeviceptr at = alloc_on(1000);
    driver_ok(layer->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ck_assert(layer->cuMemFreeAsync(at, stream) != 0);
    (void)layer->cuStreamEndCapture(stream, &graph);
    CUdeviceptr later = alloc_on(2000);
    driver_ok(layer->cuMemFreeAsync(at, stream));
    driver_ok(layer->cuMemFreeAsync(later, stream));
}

/* Contexts end with what was allocated in them: the program's, then the primary one. */
static void end_contexts(void)
{
    unsigned long long at = 0;
    CUcontext own = NULL, primary = NULL;
    start();
    for (int i = 0; i < 3; i++) {
        driver_ok(driver.cuCtxCreate(&own, 0, 0));
        driver_ok(layer->cuMemAlloc_v2(&at, 3000));
        driver_ok(layer->cuMemAlloc_v2(&at, 3000));
        driver_ok(layer->cuCtxDestroy_v2(own));
    }
    driver_ok(driver.cuDevicePrimaryCtxRetain(&primary, 0));
    driver_ok(driver.cuCtxSetCurrent(primary));
    driver_ok(layer->cuMemAlloc_v2(&at, 4000));
    driver_ok(layer->cuMemAllocAsync(&at, 5000, NULL)); /* a pool's, which the driver keeps */
    ck_assert(layer->cuDevicePrimaryCtxReset_v2(-1) != CUDA_SUCCESS);
    ck_assert(layer->cuDevicePrimaryCtxReset_v2(99) != CUDA_SUCCESS);
    ck_assert(layer->cuCtxDestroy_v2(NULL) != CUDA_SUCCESS);
    driver_ok(layer->cuDevicePrimaryCtxReset_v2(0));
}

START_TEST(recorded_frees_are_those_that_happened)
{
    setenv("CUARENA_RECORD", record, 1);
    run(free_wrongly_then_rightly);
    size_t allocated = 0, freed = 0;
    expect_u64(lines_at("a,2,2000,", &allocated), 1);
    expect_u64(lines_at("f,1,1000,", &freed), 1);
    ck_assert_msg(freed > allocated, "a free that the driver refused is in line %zu", freed);
    expect_u64(lines("f,"), 2);
    if (driver_is_standin_for("ends of contexts")) {
        run(end_contexts);
        expect_u64(lines("a,"), 8);
        expect_u64(lines("f,"), 7);
    }
}
END_TEST

START_TEST(recorded)
{
    setenv("CUARENA_RECORD", record, 1);
    setenv("CUARENA_REPORT", "1", 1);
    run(allocate_many);
    expect_said("nothing was served: calls are recorded");
    expect_u64(lines("a,"), 3002);
    expect_u64(lines("f,"), 3002);
    run(fork_while_recording);
    expect_u64(lines("a,"), 1);
    expect_u64(lines("f,"), 1);
    setenv("CUARENA_RECORD", "/nonesuch/record.csv", 1);
    run(use_nothing);
    expect_said("nothing is recorded: trace '/nonesuch/record.csv' cannot be opened");
}
END_TEST

/* ---- The driver ---------------------------------------------------------- */

static void expect_no_memory_without_a_driver(void)
{
    unsigned long long at = 0;
    size_t bytes = 0;
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemAllocPitch_v2(&at, &bytes, 100, 100, 4));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemAllocManaged(&at, BYTES, 1));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemAllocAsync(&at, BYTES, NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemAllocAsync_ptsz(&at, BYTES, NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemAllocFromPoolAsync(&at, BYTES, NULL, NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE,
                  layer->cuMemAllocFromPoolAsync_ptsz(&at, BYTES, NULL, NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemFreeAsync(1, NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemFreeAsync_ptsz(1, NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemGetInfo_v2(&bytes, &bytes));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemGetAddressRange_v2(&at, &bytes, 1));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuIpcGetMemHandle(&at, 1));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemRetainAllocationHandle(&at, NULL));
}

static void expect_nothing_else_without_a_driver(void)
{
    int value = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    void *out = &value;
    struct CUgraph_st *graph = NULL;
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuPointerGetAttribute(&value, value, 1));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuPointerGetAttributes(1, &value, &out, 1));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuStreamDestroy_v2(NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuStreamBeginCapture_v2(NULL, 0));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuStreamBeginCapture_v2_ptsz(NULL, 0));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuStreamEndCapture(NULL, &graph));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuStreamEndCapture_ptsz(NULL, &graph));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemPoolTrimTo(NULL, 0));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemPoolSetAttribute(NULL, 1, &value));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemPoolGetAttribute(NULL, 1, &value));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuDeviceSetMemPool(0, NULL));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuDevicePrimaryCtxReset_v2(0));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuCtxDestroy_v2(NULL));
}

static void call_without_a_driver(void)
{
    unsigned long long at = 0;
    void *function = NULL;
    layer = cuarena_layer();
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemAlloc_v2(&at, BYTES));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuMemFree_v2(0));
    expect_driver(CUDA_ERROR_NO_DEVICE, layer->cuGetProcAddress("cuMemAlloc", &function, 12000, 0));
    expect_driver(CUDA_ERROR_NO_DEVICE,
                  layer->cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, NULL));
    expect_no_memory_without_a_driver();
    expect_nothing_else_without_a_driver();
}

START_TEST(without_a_driver)
{
    setenv("CUARENA_CUDA_LIBRARY", "/nonesuch/libcuda.so.1", 1);
    run(call_without_a_driver);
}
END_TEST

/* ---- Failures ------------------------------------------------------------ */

static void end_capture(void)
{
    struct CUgraph_st *graph = NULL;
    if (layer->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph != NULL)
        (void)driver.cuGraphDestroy(graph);
}

/* A graph that allocates and frees, as far as the driver does. */
static void capture(unsigned long long *left)
{
    if (layer->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS)
        return;
    if (layer->cuMemAllocAsync(left, BYTES, stream) == CUDA_SUCCESS &&
        layer->cuMemFreeAsync(*left, stream) == CUDA_SUCCESS)
        *left = 0;
    end_capture();
}

/* Asks about a pointer, and below about the pool; whatever the answers are. */
static void ask(unsigned long long pointer)
{
    unsigned long long base = 0, id = 0, handle[8] = {0};
    size_t bytes = 0;
    int attribute = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    void *out = &id;
    (void)layer->cuMemGetInfo_v2(&bytes, &bytes);
    (void)layer->cuMemGetAddressRange_v2(&base, NULL, pointer);
    (void)layer->cuPointerGetAttribute(&id, attribute, pointer);
    (void)layer->cuPointerGetAttributes(1, &attribute, &out, pointer);
    (void)layer->cuIpcGetMemHandle(handle, pointer);
    (void)layer->cuMemRetainAllocationHandle(handle, NULL);
}

static void ask_the_pool(void)
{
    uint64_t value = 0;
    CUmemoryPool pool = NULL;
    if (driver.cuDeviceGetDefaultMemPool(&pool, 0) != CUDA_SUCCESS)
        return;
    (void)layer->cuMemPoolTrimTo((void *)pool, 0);
    (void)layer->cuMemPoolGetAttribute((void *)pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
    (void)layer->cuMemPoolSetAttribute((void *)pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
    (void)layer->cuMemPoolSetAttribute((void *)pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value);
    (void)layer->cuDeviceSetMemPool(0, (void *)pool);
    (void)layer->cuDeviceSetMemPool(-1, (void *)pool);
    (void)layer->cuDeviceSetMemPool(64, (void *)pool);
}

static void end(unsigned long long pointer)
{
    if (pointer != 0)
        (void)layer->cuMemFreeAsync(pointer, stream);
}

static void use_while_a_call_fails(void)
{
    unsigned long long first = 0, second = 0, third = 0, brief_one = 0;
    start();
    if (failing % 2 == 0) /* there is an arena */
        allocate_both_ways();
    CUstream brief = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_standin()->standin_fail_any(failing / 2 + 1, CUDA_ERROR_INVALID_VALUE, 0);
    (void)layer->cuMemAllocAsync(&first, BYTES, stream);
    (void)layer->cuMemAlloc_v2(&second, BYTES);
    ask(second);
    ask_the_pool();
    (void)layer->cuMemFreeAsync(first, stream);
    if (layer->cuMemAllocAsync(&brief_one, BYTES, brief) == CUDA_SUCCESS)
        (void)layer->cuMemFreeAsync(brief_one, brief);
    (void)layer->cuMemFree_v2(second);
    capture(&third);
    (void)layer->cuStreamDestroy_v2(brief);
    driver_standin()->standin_fail_clear();
    end_capture(); /* whose end has failed */
    end(third);
    driver_ok(driver.cuStreamSynchronize(stream));
    ck_assert_msg(driver_reports(STANDIN_ANY) == 0, "call %d: %s", (int)failing,
                  driver_standin()->standin_report_text(0));
}

START_TEST(no_call_that_fails_breaks_an_order)
{
    for (failing = 0; failing < 300; failing++)
        run(use_while_a_call_fails);
}
END_TEST

/* What the driver has beside the arena's blocks is the driver's to tell of. */
static void ask_of_the_drivers_own(void)
{
    unsigned long long base = 0;
    size_t bytes = 0;
    uint64_t id = 0;
    CUdeviceptr at = 0;
    start();
    allocate_both_ways();
    driver_ok(driver.cuMemAlloc(&at, 1000));
    driver_ok(layer->cuMemGetAddressRange_v2(&base, &bytes, at));
    expect_u64(base, at);
    driver_ok(layer->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
    driver_ok(layer->cuPointerGetAttributes(1, (int[]){CU_POINTER_ATTRIBUTE_BUFFER_ID},
                                            (void *[]){&id}, at));
    unsigned long long handle = 0;
    ck_assert(layer->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)at) != 0);
    if (driver_standin() != NULL) /* which has none */
        expect_driver(CUDA_ERROR_NOT_FOUND, layer->cuIpcGetMemHandle(&handle, at));
    driver_ok(layer->cuMemFree_v2(at));
    void *function = NULL;
    driver_ok(layer->cuGetProcAddress("cuMemAlloc", &function, 12000, 0));
    ck_assert(memcmp(&function, &layer->cuMemAlloc_v2, sizeof function) == 0);
}

/* The default stream of a thread, which a driver captures and the stand-in does not. */
static void use_the_threads_stream(void)
{
    struct CUgraph_st *graph = NULL;
    unsigned long long at = 0;
    CUmemoryPool pool = NULL;
    start();
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    int begun = layer->cuStreamBeginCapture_v2_ptsz(NULL, CU_STREAM_CAPTURE_MODE_RELAXED);
    driver_ok(layer->cuMemAllocFromPoolAsync_ptsz(&at, BYTES, (void *)pool, NULL));
    driver_ok(layer->cuMemFreeAsync_ptsz(at, NULL));
    int ended = layer->cuStreamEndCapture_ptsz(NULL, &graph);
    expect_u64(begun == 0, ended == 0);
    if (ended == 0)
        driver_ok(driver.cuGraphDestroy(graph));
    expect_u64(stats_of(0).allocs, 1);
}

/* In a child the driver works no more, and it answers. */
static void fork_after_the_first_call(void)
{
    int status = 0;
    start();
    allocate_both_ways();
    pid_t child = fork();
    if (child == 0) {
        unsigned long long at = 0;
        if (driver_standin() != NULL)
            driver_standin()->standin_report_enable(STANDIN_MISUSE, 0);
        exit(layer->cuMemAlloc_v2(&at, BYTES) == 0);
    }
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

START_TEST(the_drivers_own)
{
    run(ask_of_the_drivers_own);
    run(use_the_threads_stream);
}
END_TEST

START_TEST(a_forked_child)
{
    run(fork_after_the_first_call);
}
END_TEST

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("layer_environment");
    if (kind == DRIVER_NONE)
        return driver_result(kind, 0);
    TCase *tcase = suite_add_list(
        suite, "environment",
        TEST_LIST(what_is_served, each_call_is_the_drivers_when_it_is_off, report,
                  report_of_no_device, options, a_smaller_alignment_is_raised,
                  figures_where_the_arena_draws_on_the_pool, recorded,
                  recorded_frees_are_those_that_happened, peaks_of_arenas_that_ended_are_reported,
                  without_a_driver, the_drivers_own));
    if (driver_is_standin_for("no_call_that_fails_breaks_an_order"))
        tcase_add_test(tcase, no_call_that_fails_breaks_an_order);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    /* With compute-sanitizer in the child the device faults. */
    TCase *forks = suite_add_list(suite, "process", TEST_LIST(a_forked_child));
    tcase_set_tags(forks, "process");
    tcase_add_checked_fixture(forks, set_up, tear_down);
    return driver_result(kind, suite_main(suite));
}
