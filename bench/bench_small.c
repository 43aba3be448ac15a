/*
 * Small blocks outside the cache of mlx-cpu beside malloc, in the same process: an allocation and a
 * free of pageable memory, one block at a time, and 8 or 64 that live together, of one size or of
 * mixed ones. Prints medians in nanoseconds, and by what factor the arena's is larger.
 *
 * Rounds of both are taken in turns, so that what else the machine does touches both alike; the
 * factor is the median of the factors of the rounds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define OPTIONS "preset=mlx-cpu,memory=pageable,cache_limit=0"
#define ROUNDS 401
#define PAIRS 3008 /* a multiple of 64 */
#define SIZES 4096
#define MOST_LIVE 64

static cuarena_t *arena;
static size_t sizes[SIZES];
static void *live[MOST_LIVE];

/* ---- Rounds ------------------------------------------------------------- */

/* Lets the compiler leave out no pair. */
static void keep(void *pointer)
{
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

static inline void check(cuarena_status_t status)
{
    if (status != CUARENA_OK)
        must(status);
}

static void *alloc_here(size_t bytes)
{
    void *pointer;
    check(cuarena_alloc(arena, bytes, &pointer));
    return pointer;
}

static void free_here(void *pointer)
{
    check(cuarena_free(arena, pointer));
}

/* Nanoseconds of a pair. Each caller passes constant functions, so that each has its own loop. */
static inline double time_pairs(void *(*get)(size_t), void (*put)(void *), size_t count)
{
    uint64_t begin = now_ns();
    for (size_t i = 0; i < PAIRS; i += count) {
        for (size_t j = 0; j < count; j++) {
            live[j] = get(sizes[(i + j) % SIZES]);
            keep(live[j]);
        }
        for (size_t j = 0; j < count; j++)
            put(live[j]);
    }
    return (double)(now_ns() - begin) / PAIRS;
}

static __attribute__((noinline)) double time_malloc(size_t count)
{
    return time_pairs(malloc, free, count);
}

static __attribute__((noinline)) double time_arena(size_t count)
{
    return time_pairs(alloc_here, free_here, count);
}

/* ---- Medians ------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof *times, compare);
    return times[ROUNDS / 2];
}

/* Size 0 stands for mixed ones, of 16 to 1024 bytes. */
static void set_sizes(size_t bytes)
{
    random_state_t random = {1};
    for (size_t i = 0; i < SIZES; i++)
        sizes[i] = bytes != 0 ? bytes : 16 + random_below(&random, 1009);
}

static void print_factor(size_t count, size_t bytes)
{
    static double theirs[ROUNDS];
    static double ours[ROUNDS];
    static double factors[ROUNDS];
    char name[24] = "mixed";
    set_sizes(bytes);
    if (bytes != 0)
        snprintf(name, sizeof name, "%zu", bytes);
    for (int i = 0; i < ROUNDS; i++) {
        theirs[i] = time_malloc(count);
        ours[i] = time_arena(count);
        factors[i] = ours[i] / theirs[i];
    }
    printf("%4zu %6s %8.1f %8.1f %8.2f\n", count, name, median(theirs), median(ours),
           median(factors));
}

int main(void)
{
    static const size_t counts[] = {1, 8, MOST_LIVE};
    static const size_t bytes[] = {64, 256, 1024, 0};
    cuarena_config_t config;
    cuarena_config_init(&config);
    must(cuarena_config_parse(&config, OPTIONS));
    must(cuarena_create(&config, &arena));
    puts("live  bytes   malloc  cuarena   factor");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t j = 0; j < sizeof bytes / sizeof *bytes; j++)
            print_factor(counts[i], bytes[j]);
    must(cuarena_destroy(&arena));
    return EXIT_SUCCESS;
}
