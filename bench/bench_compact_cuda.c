/*
 * Compaction on a device, next to one plain copy of as many bytes in the same run: device time,
 * which is what the work takes once it begins, and wall
 * time, which the caller waits. In turns, so that both meet the same device.
 *
 *   slide   one block slides down by a distance; the copy does not overlap
 *   small   10000 blocks of 4 KiB with holes between
 *   mixed   400 blocks of 256 B to 32 MiB with holes between
 *   eight   every other one of 8 blocks of 32 MiB freed, the other four packed
 *
 * Payload is bytes moved per second; each is read once and written once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuarena/device.h"
#include "gpu.h"

#define SAMPLES 25
#define WARM_UP 3
#define SMALL_BLOCKS 10000
#define MIXED_BLOCKS 400

static gpu_t gpu;

/* ---- What is measured ---------------------------------------------------- */

/* A pool, and a second one of plain bytes that copies go to. */
typedef struct scene {
    cuarena_t *arena;
    void (*make)(struct scene *scene); /* blocks and holes, in an empty arena */
    uint64_t block_bytes;
    uint64_t hole_bytes;
    uint64_t moved_bytes; /* by the last compaction */
    uint64_t moves;
    cuai_cu_pointer_t from; /* of the copy: as many bytes, in the arena */
    cuai_cu_pointer_t to;
    uint64_t copy_bytes;
} scene_t;

static void compact(void *user)
{
    scene_t *scene = user;
    cuarena_compact_options_t options;
    cuarena_compact_report_t report;
    cuarena_compact_options_init(&options);
    cuarena_compact_report_init(&report);
    options.stream = gpu.stream;
    must(cuarena_compact(scene->arena, &options, NULL, NULL, &report));
    scene->moved_bytes = report.bytes_moved;
    scene->moves = report.moves;
}

static void copy(void *user)
{
    scene_t *scene = user;
    must_cu(&gpu, gpu.cuMemcpyDtoDAsync(scene->to, scene->from, scene->copy_bytes, gpu.stream));
}

typedef double (*timer_fn)(const gpu_t *, void (*)(void *), void *);

static double time_compact(scene_t *scene, timer_fn timer)
{
    double time;
    do {
        gpu_wait(&gpu);
        must(cuarena_reset(scene->arena));
        must(cuarena_reclaim(scene->arena, 1, NULL));
        scene->make(scene);
        time = timer(&gpu, compact, scene);
    } while (time < 0);
    return time;
}

static double time_copy(scene_t *scene, timer_fn timer)
{
    double time;
    do
        time = timer(&gpu, copy, scene);
    while (time < 0);
    return time;
}

typedef struct times {
    double compact[SAMPLES];
    double copy[SAMPLES];
} times_t;

static size_t sample(scene_t *scene, timer_fn timer, times_t *times)
{
    int warm_up = gpu.quick ? 1 : WARM_UP;
    int samples = gpu.quick ? 3 : SAMPLES;
    for (int i = -warm_up; i < samples; i++) {
        int at = i < 0 ? 0 : i;
        times->compact[at] = time_compact(scene, timer);
        times->copy[at] = time_copy(scene, timer);
    }
    return (size_t)samples;
}

/* ---- Rows ---------------------------------------------------------------- */

static void print_head(const char *title)
{
    printf("\n%s\n%-24s %9s %7s | %8s %8s %8s %7s | %9s %9s\n", title, "device us, wall us", "MiB",
           "moves", "compact", "copy", "GB/s", "share", "wall", "copy");
}

static void tell_time(const char *name, const char *clock, const char *who, const scene_t *scene,
                      const figures_t *figures)
{
    record_begin("move");
    record_text("case", name);
    record_text("clock", clock);
    record_text("who", who);
    record_text("unit", "us");
    record_count("bytes", scene->moved_bytes);
    record_count("moves", scene->moves);
    record_count("distance", scene->hole_bytes);
    record_figures(figures);
    record_end();
}

static void tell_times(const char *name, const char *clock, const scene_t *scene, times_t *times,
                       size_t count, double medians_out[2])
{
    figures_t compacts = figures_of(times->compact, count);
    figures_t copies = figures_of(times->copy, count);
    tell_time(name, clock, "compact", scene, &compacts);
    tell_time(name, clock, "copy", scene, &copies);
    medians_out[0] = compacts.median;
    medians_out[1] = copies.median;
}

static void measure(const char *name, const char *label, scene_t *scene)
{
    static times_t times;
    double device[2];
    double wall[2];
    size_t count = sample(scene, gpu_time, &times);
    expect(scene->moved_bytes == scene->copy_bytes, "the compaction moves what the copy copies");
    tell_times(name, "device", scene, &times, count, device);
    count = sample(scene, gpu_wall, &times);
    tell_times(name, "wall", scene, &times, count, wall);
    printf("  %-22s %9.1f %7" PRIu64 " | %8.1f %8.1f %8.1f %7.3f | %9.1f %9.1f\n", label,
           (double)scene->moved_bytes / (double)MIB, scene->moves, device[0], device[1],
           (double)scene->moved_bytes / device[0] / 1e3, device[1] / device[0], wall[0], wall[1]);
    (void)fflush(stdout);
}

/* The address of the arena's first byte: copies read from there on. */
static void set_up(scene_t *scene, uint64_t pool_bytes, uint64_t copy_bytes)
{
    void *base;
    uint64_t bytes;
    scene->arena = gpu_packed_pool(&gpu, pool_bytes);
    must(cuarena_base(scene->arena, &base, &bytes));
    scene->from = (cuai_cu_pointer_t)(uintptr_t)base;
    scene->copy_bytes = copy_bytes;
    must_cu(&gpu, gpu.cuMemAlloc(&scene->to, copy_bytes));
    must_cu(&gpu, gpu.cuMemsetD8Async(scene->from, 1, pool_bytes, gpu.stream));
    gpu_wait(&gpu);
}

static void tear_down(scene_t *scene)
{
    gpu_wait(&gpu);
    must_cu(&gpu, gpu.cuMemFree(scene->to));
    must(cuarena_destroy_forced(&scene->arena));
}

/* ---- Slide --------------------------------------------------------------- */

static void make_slide(scene_t *scene)
{
    cuarena_block_t hole;
    cuarena_block_t block;
    must(cuarena_block_alloc(scene->arena, scene->hole_bytes, &hole));
    must(cuarena_block_alloc(scene->arena, scene->block_bytes, &block));
    must(cuarena_block_free(scene->arena, hole));
}

static void measure_slides(uint64_t bytes)
{
    static const uint64_t distances[] = {256,      4 * KIB,   64 * KIB,  MIB,
                                         16 * MIB, 128 * MIB, 256 * MIB, 512 * MIB};
    char title[64];
    (void)snprintf(title, sizeof title, "%s slide down by", size_name(bytes));
    print_head(title);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        if (gpu.quick && distances[i] > bytes)
            continue;
        scene_t scene = {.make = make_slide, .block_bytes = bytes, .hole_bytes = distances[i]};
        set_up(&scene, bytes + distances[i] + 32 * MIB, bytes);
        measure("slide", size_name(distances[i]), &scene);
        tear_down(&scene);
    }
}

/* ---- Many blocks --------------------------------------------------------- */

static void make_small(scene_t *scene)
{
    static cuarena_block_t holes[SMALL_BLOCKS];
    cuarena_block_t block;
    for (int i = 0; i < SMALL_BLOCKS; i++) {
        must(cuarena_block_alloc(scene->arena, 4 * KIB, &holes[i]));
        must(cuarena_block_alloc(scene->arena, 4 * KIB, &block));
    }
    for (int i = 0; i < SMALL_BLOCKS; i++)
        must(cuarena_block_free(scene->arena, holes[i]));
}

/* Rounded as the arena does, so that as many bytes move. */
static uint64_t random_bytes(random_state_t *random)
{
    return mixed_size(random, 256, 32 * MIB) / 256 * 256;
}

static uint64_t mixed_bytes(void)
{
    random_state_t random = {7};
    uint64_t bytes = 0;
    for (int i = 0; i < MIXED_BLOCKS; i++) {
        (void)random_bytes(&random);
        bytes += random_bytes(&random);
    }
    return bytes;
}

static void make_mixed(scene_t *scene)
{
    cuarena_block_t holes[MIXED_BLOCKS];
    cuarena_block_t block;
    random_state_t random = {7};
    for (int i = 0; i < MIXED_BLOCKS; i++) {
        must(cuarena_block_alloc(scene->arena, random_bytes(&random), &holes[i]));
        must(cuarena_block_alloc(scene->arena, random_bytes(&random), &block));
    }
    for (int i = 0; i < MIXED_BLOCKS; i++)
        must(cuarena_block_free(scene->arena, holes[i]));
}

static void make_eight(scene_t *scene)
{
    cuarena_block_t blocks[8];
    for (int i = 0; i < 8; i++)
        must(cuarena_block_alloc(scene->arena, 32 * MIB, &blocks[i]));
    for (int i = 0; i < 8; i += 2)
        must(cuarena_block_free(scene->arena, blocks[i]));
}

static void measure_many(void)
{
    uint64_t bytes = (uint64_t)SMALL_BLOCKS * 4 * KIB;
    scene_t small = {.make = make_small};
    scene_t mixed = {.make = make_mixed};
    scene_t eight = {.make = make_eight};
    print_head("many blocks");
    set_up(&small, bytes * 2, bytes);
    measure("small", "10000 of 4 KiB", &small);
    tear_down(&small);
    set_up(&mixed, 8 * mixed_bytes(), mixed_bytes());
    measure("mixed", "400 of 256 B to 32 MiB", &mixed);
    tear_down(&mixed);
    set_up(&eight, 256 * MIB, 128 * MIB);
    measure("eight", "4 of 32 MiB", &eight);
    tear_down(&eight);
}

/* ---- All of it ----------------------------------------------------------- */

static void tell_means(void)
{
    cuarena_properties_t properties;
    cuarena_t *arena = gpu_packed_pool(&gpu, 64 * MIB);
    cuarena_properties_init(&properties);
    must(cuarena_properties(arena, &properties));
    printf("# moves by %s\n", properties.relocation_kernel ? "one kernel" : "copies");
    record_begin("mover");
    record_count("kernel", (uint64_t)properties.relocation_kernel);
    record_end();
    must(cuarena_destroy(&arena));
}

int main(int argc, char **argv)
{
    (void)gpu_open(&gpu, "compact", argc, argv);
    tell_means();
    measure_slides(gpu.quick ? 16 * MIB : 256 * MIB);
    if (!gpu.quick) {
        measure_slides(GIB);
        measure_slides(2 * GIB);
    }
    measure_many();
    gpu_close(&gpu);
    return EXIT_SUCCESS;
}
