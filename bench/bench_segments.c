/*
 * Constant time where bytes come and go: what a request costs that the memory is asked for, and a
 * free that gives bytes back, as there are more segments, or more holes in one. Prints nanoseconds;
 * with a case, a memory and a number it runs that case alone, for bench/report to count the
 * instructions of steady(), or of the calls of take_all() and free_all().
 *
 * - hole MEMORY N: keep=none, N holes of 64 KiB between N blocks; one of these
 *   is freed, which makes a hole, and allocated, which fills one
 * - over MEMORY N: the same with requests that no hole has room for
 * - each MEMORY N: keep=none, in_place=0; N blocks, each in its own segment
 * - evict MEMORY N: mlx-cpu, N holes; each request misses the cache, and what
 *   was cached before is evicted
 * - whole MEMORY N: the same with in_place=0 and N segments
 * - cpu, cuda MEMORY N: a cache hit, and a free into the cache, of N capacities
 *   with the rules of mlx-cpu or mlx-cuda
 *
 * Holes and blocks count as instructions of the library; what the system does for a memory does
 * not.
 *
 *   bench_segments
 *   bench_segments CASE MEMORY N OPERATIONS
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define GRANULARITY (64 * KIB)

typedef struct scene {
    cuarena_t *arena;
    void **pointers;
    uint64_t *sizes;
    size_t count;
    uint64_t wanted[2]; /* by turns; the second may be 0 */
    random_state_t random;
} scene_t;

/* ---- What is measured: callgrind finds these by their names ------------ */

/* Some block is freed, and another allocated. */
void steady(scene_t *scene, size_t operations);
__attribute__((noinline)) void steady(scene_t *scene, size_t operations)
{
    for (size_t i = 0; i < operations; i++) {
        void **pointer = &scene->pointers[random_below(&scene->random, scene->count)];
        must(cuarena_free(scene->arena, *pointer));
        must(cuarena_alloc(scene->arena, scene->wanted[i % 2], pointer));
    }
}

void take_all(const scene_t *scene);
__attribute__((noinline)) void take_all(const scene_t *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        must(cuarena_alloc(scene->arena, scene->sizes[i], &scene->pointers[i]));
}

void free_all(const scene_t *scene);
__attribute__((noinline)) void free_all(const scene_t *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        must(cuarena_free(scene->arena, scene->pointers[i]));
}

/* ---- Cases -------------------------------------------------------------- */

static void set(cuarena_config_t *config, const char *options)
{
    must(cuarena_config_parse(config, options));
}

static void new_scene(scene_t *scene, const char *options, const char *memory, size_t count)
{
    cuarena_config_t config;
    char text[64];
    cuarena_config_init(&config);
    set(&config, options);
    snprintf(text, sizeof text, "memory=%s", memory);
    set(&config, text);
    *scene = (scene_t){.count = count, .random = {1}};
    must(cuarena_create(&config, &scene->arena));
    scene->pointers = calloc(count, sizeof *scene->pointers);
    scene->sizes = calloc(count, sizeof *scene->sizes);
    expect(scene->pointers != NULL && scene->sizes != NULL, "memory");
}

static void end_scene(scene_t *scene)
{
    must(cuarena_destroy_forced(&scene->arena));
    free(scene->pointers);
    free(scene->sizes);
}

/* As many holes of a granularity as blocks of one. */
static void punch(scene_t *scene)
{
    void **gone = calloc(scene->count, sizeof *gone);
    expect(gone != NULL, "memory");
    for (size_t i = 0; i < scene->count; i++) {
        must(cuarena_alloc(scene->arena, GRANULARITY, &gone[i]));
        must(cuarena_alloc(scene->arena, GRANULARITY, &scene->pointers[i]));
    }
    for (size_t i = 0; i < scene->count; i++)
        must(cuarena_free(scene->arena, gone[i]));
    free(gone);
    must(cuarena_cache_clear(scene->arena, NULL));
}

static void fill(scene_t *scene, uint64_t bytes)
{
    for (size_t i = 0; i < scene->count; i++)
        must(cuarena_alloc(scene->arena, bytes, &scene->pointers[i]));
}

static void set_up(scene_t *scene, const char *name, const char *memory, size_t count)
{
    bool whole = strcmp(name, "each") == 0 || strcmp(name, "whole") == 0;
    bool evicts = strcmp(name, "evict") == 0 || strcmp(name, "whole") == 0;
    char options[160];
    snprintf(options, sizeof options, "preset=%s,in_place=%d,limit=100%%,%s",
             evicts ? "mlx-cpu" : "grow", !whole,
             evicts ? "cache_bound=late,cache_limit=1" : "keep=none");
    new_scene(scene, options, memory, count);
    scene->wanted[0] = GRANULARITY;
    scene->wanted[1] = GRANULARITY;
    if (strcmp(name, "over") == 0)
        scene->wanted[0] = scene->wanted[1] = 2 * GRANULARITY;
    if (evicts)
        scene->wanted[1] = 3 * GRANULARITY;
    if (whole)
        fill(scene, GRANULARITY);
    else
        punch(scene);
}

/* Spread over 14 powers of two, like the sizes of programs. */
static void set_up_cache(scene_t *scene, const char *name, const char *memory, size_t count)
{
    char options[64];
    snprintf(options, sizeof options, "preset=mlx-%s,cache_limit=100%%", name);
    new_scene(scene, options, memory, count);
    for (size_t i = 0; i < count; i++)
        scene->sizes[i] = (uint64_t)((double)(KIB / 4) * (double)(UINT64_C(1) << i * 14 / count) *
                                     (1 + (double)(i * 14 % count) / (double)count));
    take_all(scene);
    free_all(scene);
}

static bool is_cached(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "cuda") == 0;
}

static void run(const char *name, const char *memory, size_t count, size_t operations)
{
    scene_t scene;
    if (is_cached(name)) {
        set_up_cache(&scene, name, memory, count);
        for (size_t i = 0; i < operations; i += count) {
            take_all(&scene);
            free_all(&scene);
        }
    } else {
        set_up(&scene, name, memory, count);
        steady(&scene, operations);
    }
    must(cuarena_validate(scene.arena, NULL, 0));
    end_scene(&scene);
}

/* ---- Times -------------------------------------------------------------- */

static void print_time(const char *name, const char *memory, size_t count)
{
    const size_t operations = 1000;
    scene_t scene;
    double best = 0;
    set_up(&scene, name, memory, count);
    for (size_t i = 0; i < 5; i++) {
        uint64_t begin = now_ns();
        steady(&scene, operations);
        keep_best(&best, (double)(now_ns() - begin));
    }
    end_scene(&scene);
    printf("%-6s %-9s %7zu %9.0f ns for a free and a request\n", name, memory, count,
           best / (double)operations);
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        run(argv[1], argv[2], (size_t)strtoull(argv[3], NULL, 10),
            (size_t)strtoull(argv[4], NULL, 10));
        return EXIT_SUCCESS;
    }
    expect(argc == 1, "usage: bench_segments [CASE MEMORY N OPERATIONS]");
    static const char *const names[] = {"hole", "over", "each", "evict", "whole"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t count = 10; count <= 10000; count *= 10) {
            print_time(names[i], "none", count);
            print_time(names[i], "pageable", count);
        }
    return EXIT_SUCCESS;
}
