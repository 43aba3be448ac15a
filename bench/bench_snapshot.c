/*
 * How long a snapshot keeps other threads waiting, and how long it takes, for arenas of 10^5 and
 * 10^6 live blocks, every other block of which was freed and allocated again. Medians in
 * milliseconds, which are more where the machine runs other programs too:
 *
 *   held     the time under the lock: the copy, and what caches of threads give back before it
 *   waited   the longest call of a thread beside that allocates and frees
 *   whole    a snapshot that is written to a function which only counts
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/call.h"
#include "api/snapshot.h"
#include "bench.h"

#define ROUNDS 21
#define MOST 1000000

static void *blocks[MOST];
static cuarena_t *arena;
static atomic_bool over;
static _Atomic uint64_t longest_ns;

/* ---- The thread beside --------------------------------------------------- */

static void *run_beside(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        void *pointer;
        uint64_t begin = now_ns();
        must(cuarena_alloc(arena, 1000, &pointer));
        must(cuarena_free(arena, pointer));
        uint64_t took = now_ns() - begin;
        if (took > atomic_load(&longest_ns))
            atomic_store(&longest_ns, took);
    }
    return NULL;
}

/* ---- Snapshots ----------------------------------------------------------- */

static int32_t count_bytes(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(uint64_t *)user += size;
    return 0;
}

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

static void fill(size_t count)
{
    random_state_t random = {1};
    for (size_t i = 0; i < count; i++)
        must(cuarena_alloc(arena, mixed_size(&random, 256, 64 * KIB), &blocks[i]));
    for (size_t i = 0; i < count; i += 2)
        must(cuarena_free(arena, blocks[i]));
    for (size_t i = 0; i < count; i += 2)
        must(cuarena_alloc(arena, mixed_size(&random, 256, 64 * KIB), &blocks[i]));
}

/* What cuai_snapshot_copy does under the lock. */
static double hold(cuai_snapshot_t *s)
{
    size_t bytes;
    uint64_t begin = now_ns();
    must(cuai_query_begin(arena));
    bool filled = cuai_snapshot_fill(s, arena, &bytes);
    double held = (double)(now_ns() - begin) / 1e6;
    must(cuai_query_end(arena, CUARENA_OK));
    if (filled)
        return held;
    must(cuai_snapshot_make_room(s, bytes));
    return hold(s);
}

static double held_ms(void)
{
    static double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        cuai_snapshot_t *s = cuai_snapshot_new();
        times[i] = hold(s);
        cuai_snapshot_end(s);
    }
    return median(times);
}

static void measure(size_t count, int32_t format, const char *name)
{
    static double waits[ROUNDS];
    static double times[ROUNDS];
    uint64_t bytes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        bytes = 0;
        atomic_store(&longest_ns, 0);
        uint64_t begin = now_ns();
        must(cuarena_snapshot_to(arena, format, count_bytes, &bytes));
        times[i] = (double)(now_ns() - begin) / 1e6;
        waits[i] = (double)atomic_load(&longest_ns) / 1e6;
    }
    printf("%8zu  %-7s  %6.2f  %6.2f  %6.1f  %6.1f\n", count, name, held_ms(), median(waits),
           median(times), (double)bytes / 1e6);
}

static void measure_both(size_t count)
{
    pthread_t beside;
    arena = new_arena(1024 * GIB, 0);
    fill(count);
    atomic_store(&over, false);
    expect(pthread_create(&beside, NULL, run_beside, NULL) == 0, "a thread");
    measure(count, CUARENA_SNAPSHOT_JSON, "json");
    measure(count, CUARENA_SNAPSHOT_PYTORCH, "pytorch");
    atomic_store(&over, true);
    pthread_join(beside, NULL);
    must(cuarena_destroy_forced(&arena));
}

int main(void)
{
    puts("  blocks  format     held  waited   whole      MB");
    measure_both(MOST / 10);
    measure_both(MOST);
    return EXIT_SUCCESS;
}
