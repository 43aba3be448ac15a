/*
 * Constant time: what a call costs as there is more of everything that could make it slow. Prints
 * nanoseconds; with a case and a number it runs that case alone, for bench/report to count the
 * instructions of steady().
 *
 *   live N    N live blocks of mixed size; one of them is replaced at a time
 *   octave N  N free ranges of one power of two, all too small for the request
 *   class N   the same within one class of the size index
 *   stable N  N holes in the stable region, all too small
 *
 *   bench_flat
 *   bench_flat CASE N OPERATIONS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define LEAST_SIZE ((uint64_t)256)
#define MOST_SIZE MIB
#define MEAN_SIZE (MIB / 8) /* of sizes between those */

/* One replacement: which block, and the size of the new one. */
typedef struct step {
    uint32_t slot;
    uint32_t size;
} step_t;

typedef struct scene {
    cuarena_t *arena;
    const cuarena_request_t *request; /* NULL: plain */
    void **pointers;
    step_t *steps;
    size_t step_count;
} scene_t;

/* A free and an allocation for each step. */
static inline void replace(const scene_t *scene, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const step_t *step = &scene->steps[i];
        void **pointer = &scene->pointers[step->slot];
        must(cuarena_free(scene->arena, *pointer));
        must(cuarena_alloc_with(scene->arena, step->size, scene->request, pointer));
    }
}

/* What is measured, and nothing else; callgrind finds it by its name. */
void steady(const scene_t *scene, size_t from, size_t to);
__attribute__((noinline)) void steady(const scene_t *scene, size_t from, size_t to)
{
    replace(scene, from, to);
}

static void new_scene(scene_t *scene, size_t slots, size_t steps)
{
    scene->request = NULL;
    scene->pointers = calloc(slots, sizeof *scene->pointers);
    scene->steps = calloc(steps, sizeof *scene->steps);
    scene->step_count = steps;
    expect(scene->pointers != NULL && scene->steps != NULL, "memory");
}

static void end_scene(scene_t *scene)
{
    must(cuarena_destroy_forced(&scene->arena));
    free(scene->pointers);
    free(scene->steps);
}

/* ---- Cases -------------------------------------------------------------- */

/* Half as much again is managed as lives; each block was replaced once. */
static void set_live(scene_t *scene, size_t count, size_t operations)
{
    random_state_t random = {1};
    size_t steps = operations > count ? operations : count;
    new_scene(scene, count, steps);
    scene->arena = new_arena(count * MEAN_SIZE / 2 * 3 + 64 * MIB, 0);
    for (size_t i = 0; i < count; i++)
        must(cuarena_alloc(scene->arena, mixed_size(&random, LEAST_SIZE, MOST_SIZE),
                           &scene->pointers[i]));
    for (size_t i = 0; i < steps; i++)
        scene->steps[i] = (step_t){(uint32_t)random_below(&random, count),
                                   (uint32_t)mixed_size(&random, LEAST_SIZE, MOST_SIZE)};
    replace(scene, 0, count);
}

/* `count` free ranges of [low, high) bytes between blocks of the least size. One block more is
 * replaced, by itself, with `wanted` bytes. */
static void set_holes(scene_t *scene, size_t count, size_t operations, int32_t region, uint64_t low,
                      uint64_t high, uint64_t wanted)
{
    random_state_t random = {1};
    static cuarena_request_t stable;
    uint64_t bytes = (count + 8) * 2 * MIB;
    new_scene(scene, count * 2 + 1, operations);
    cuarena_request_init(&stable);
    stable.region = CUARENA_REGION_STABLE;
    if (region == CUARENA_REGION_STABLE)
        scene->request = &stable;
    scene->arena = new_arena(bytes + 64 * MIB, region == CUARENA_REGION_STABLE ? bytes : 0);
    for (size_t i = 0; i < count * 2; i++) {
        uint64_t size = i % 2 == 0 ? low + random_below(&random, high - low) : LEAST_SIZE;
        must(cuarena_alloc_with(scene->arena, size, scene->request, &scene->pointers[i]));
    }
    for (size_t i = 0; i < count * 2; i += 2)
        must(cuarena_free(scene->arena, scene->pointers[i]));
    must(cuarena_alloc_with(scene->arena, wanted, scene->request, &scene->pointers[count * 2]));
    for (size_t i = 0; i < operations; i++)
        scene->steps[i] = (step_t){(uint32_t)count * 2, (uint32_t)wanted};
    cuarena_inspection_t inspection;
    cuarena_inspection_init(&inspection);
    must(cuarena_inspect(scene->arena, region, &inspection));
    expect(inspection.ranges >= count, "as many ranges as were meant");
}

static void set_up(scene_t *scene, const char *name, size_t count, size_t operations)
{
    const int32_t dynamic = CUARENA_REGION_DYNAMIC;
    uint64_t half = MIB / 2;
    if (strcmp(name, "live") == 0)
        set_live(scene, count, operations);
    else if (strcmp(name, "octave") == 0)
        set_holes(scene, count, operations, dynamic, half, half / 16 * 31, half / 32 * 63);
    else if (strcmp(name, "class") == 0)
        set_holes(scene, count, operations, dynamic, half, half + 8 * KIB, half + 12 * KIB);
    else if (strcmp(name, "stable") == 0)
        set_holes(scene, count, operations, CUARENA_REGION_STABLE, half, half / 16 * 31,
                  half / 32 * 63);
    else
        expect(0, "usage: bench_flat [live|octave|class|stable N OPS]");
}

/* ---- Times -------------------------------------------------------------- */

static double time_case(const char *name, size_t count)
{
    const size_t rounds = 50;
    const size_t operations = 20000; /* in each: some go by undisturbed */
    scene_t scene;
    double best = 0;
    set_up(&scene, name, count, rounds * operations);
    for (size_t i = 0; i < rounds; i++) {
        uint64_t begin = now_ns();
        steady(&scene, i * operations, (i + 1) * operations);
        keep_best(&best, (double)(now_ns() - begin));
    }
    end_scene(&scene);
    return best / (double)operations / 2;
}

static void print_times(const char *name, const size_t *counts)
{
    for (; *counts != 0; counts++)
        printf("%-7s %8zu %8.1f ns per call\n", name, *counts, time_case(name, *counts));
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        scene_t scene;
        size_t operations = (size_t)strtoull(argv[3], NULL, 10);
        set_up(&scene, argv[1], (size_t)strtoull(argv[2], NULL, 10), operations);
        steady(&scene, 0, operations);
        end_scene(&scene);
        return EXIT_SUCCESS;
    }
    expect(argc == 1, "usage: bench_flat [CASE N OPERATIONS]");
    print_times("live", (size_t[]){1000, 10000, 100000, 1000000, 4000000, 0});
    print_times("octave", (size_t[]){1000, 32768, 0});
    print_times("class", (size_t[]){1000, 32768, 0});
    print_times("stable", (size_t[]){1000, 16384, 0});
    return EXIT_SUCCESS;
}
