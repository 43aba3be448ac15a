/*
 * What it costs to take device memory from the driver and to give it back, by the size of the
 * handles that it is made of: an arena that grows by one large block and is trimmed to nothing; a
 * pool of 100 GiB, made and ended. Next to it one plain allocation of the driver. Milliseconds, the
 * host's clock.
 *
 *   grow     per GiB: handles made, mapped and opened to the device
 *   give     per GiB: unmapped and released
 *   create   the pool, all of it
 *   destroy
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuarena/driver.h"
#include "gpu.h"

#define SAMPLES 10
#define POOL_SAMPLES 5

static gpu_t gpu;

typedef struct times {
    double take[SAMPLES];
    double give[SAMPLES];
} times_t;

static void tell(const char *name, const char *who, uint64_t bytes, uint64_t handle_bytes,
                 const figures_t *figures)
{
    record_begin("vmm");
    record_text("case", name);
    record_text("who", who);
    record_text("unit", "ms");
    record_count("bytes", bytes);
    if (handle_bytes > 0)
        record_count("handle_bytes", handle_bytes);
    record_figures(figures);
    record_end();
}

static void tell_times(const char *const names[2], const char *who, uint64_t bytes,
                       uint64_t handle_bytes, times_t *times, size_t count)
{
    figures_t take = figures_of(times->take, count);
    figures_t give = figures_of(times->give, count);
    tell(names[0], who, bytes, handle_bytes, &take);
    tell(names[1], who, bytes, handle_bytes, &give);
    printf("  %-28s %10.3f %10.3f %10.3f | %10.3f %10.3f %10.3f\n", who, take.median, take.least,
           take.most, give.median, give.least, give.most);
    (void)fflush(stdout);
}

static void print_head(const char *title, const char *take, const char *give)
{
    printf("\n%s\n%-30s %10s %10s %10s | %10s %10s %10s\n", title, "ms", take, "least", "most",
           give, "least", "most");
}

/* ---- Growing ------------------------------------------------------------- */

static cuarena_t *open_growing(uint64_t limit_bytes, uint64_t handle_bytes)
{
    cuarena_config_t config = gpu_config(&gpu, CUARENA_MEMORY_DEVICE);
    config.preset = CUARENA_PRESET_GROW;
    config.backing = CUARENA_BACKING_VMM;
    config.handle_bytes = handle_bytes;
    config.limit = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, limit_bytes};
    return gpu_arena(&config);
}

static void grow_once(cuarena_t *arena, uint64_t bytes, double *take, double *give)
{
    void *pointer;
    uint64_t given;
    double gib = (double)bytes / (double)GIB;
    uint64_t begin = now_ns();
    must(cuarena_alloc(arena, bytes, &pointer));
    uint64_t taken = now_ns();
    must(cuarena_free(arena, pointer));
    uint64_t freed = now_ns();
    must(cuarena_trim(arena, 0, &given));
    *give = (double)(now_ns() - freed) / 1e6 / gib;
    *take = (double)(taken - begin) / 1e6 / gib;
    expect(given == bytes, "all of it is given back");
}

static void measure_growing(uint64_t bytes)
{
    static const uint64_t handles[] = {2, 8, 32, 64, 128, 512};
    static const char *const names[] = {"grow", "give"};
    static times_t times;
    size_t count = gpu.quick ? 2 : SAMPLES;
    char title[64];
    double unused[2];
    (void)snprintf(title, sizeof title, "per GiB, %s at a time, handles of", size_name(bytes));
    print_head(title, "grow", "give back");
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        cuarena_t *arena = open_growing(2 * bytes, handles[i] * MIB);
        grow_once(arena, bytes, &unused[0], &unused[1]);
        for (size_t j = 0; j < count; j++)
            grow_once(arena, bytes, &times.take[j], &times.give[j]);
        tell_times(names, size_name(handles[i] * MIB), bytes, handles[i] * MIB, &times, count);
        must(cuarena_destroy(&arena));
    }
}

/* ---- Pools --------------------------------------------------------------- */

static void make_pool(uint64_t bytes, uint64_t handle_bytes, double *take, double *give)
{
    cuarena_config_t config = gpu_config(&gpu, CUARENA_MEMORY_DEVICE);
    config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, bytes};
    config.backing = CUARENA_BACKING_VMM;
    config.handle_bytes = handle_bytes;
    uint64_t begin = now_ns();
    cuarena_t *arena = gpu_arena(&config);
    uint64_t made = now_ns();
    must(cuarena_destroy(&arena));
    *take = (double)(made - begin) / 1e6;
    *give = (double)(now_ns() - made) / 1e6;
}

/* The driver's own, in place of a handle. */
#define PLAIN UINT64_MAX

static void allocate_plainly(uint64_t bytes, double *take, double *give)
{
    cuai_cu_pointer_t pointer;
    uint64_t begin = now_ns();
    must_cu(&gpu, gpu.cuMemAlloc(&pointer, bytes));
    uint64_t made = now_ns();
    must_cu(&gpu, gpu.cuMemFree(pointer));
    *take = (double)(made - begin) / 1e6;
    *give = (double)(now_ns() - made) / 1e6;
}

static void measure_pool(uint64_t bytes, uint64_t handle_bytes, const char *who)
{
    static const char *const names[] = {"create", "destroy"};
    static times_t times;
    size_t count = gpu.quick ? 1 : POOL_SAMPLES;
    for (size_t i = 0; i < count; i++)
        if (handle_bytes == PLAIN)
            allocate_plainly(bytes, &times.take[i], &times.give[i]);
        else
            make_pool(bytes, handle_bytes, &times.take[i], &times.give[i]);
    tell_times(names, who, bytes, handle_bytes == PLAIN ? 0 : handle_bytes, &times, count);
}

/* Less where the device has less free. */
static uint64_t pool_bytes(void)
{
    cuarena_device_info_t info;
    cuarena_device_info_init(&info);
    must(cuarena_device_info(gpu.ordinal, &info));
    uint64_t bytes = gpu.quick ? 4 * GIB : 100 * GIB;
    while (bytes > info.free_bytes / 10 * 9)
        bytes /= 2;
    return bytes;
}

static void measure_pools(void)
{
    static const uint64_t handles[] = {2, 32, 128, 512};
    uint64_t bytes = pool_bytes();
    char title[64];
    (void)snprintf(title, sizeof title, "a pool of %s, handles of", size_name(bytes));
    print_head(title, "create", "destroy");
    measure_pool(bytes, 0, "as the arena thinks best");
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        measure_pool(bytes, handles[i] * MIB, size_name(handles[i] * MIB));
    measure_pool(bytes, PLAIN, "cuMemAlloc, cuMemFree");
}

int main(int argc, char **argv)
{
    cuarena_device_info_t info;
    (void)gpu_open(&gpu, "vmm", argc, argv);
    cuarena_device_info_init(&info);
    must(cuarena_device_info(gpu.ordinal, &info));
    if (info.vmm) {
        measure_growing(gpu.quick ? GIB : 8 * GIB);
        measure_pools();
    } else {
        puts("skipped: the device maps no handles");
    }
    gpu_close(&gpu);
    return info.vmm ? EXIT_SUCCESS : 77;
}
