/*
 * What recording costs: threads that each replace blocks of their own in one arena of addresses,
 * without a trace and with one in a file. A call of either is an event.
 *
 *   bench_trace [FILE]: default cuarena-trace.csv in TMPDIR or /tmp, which is removed
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define POOL (1 * GIB)
#define MOST_THREADS 16
#define HELD 64
#define CALLS 1000000 /* of a thread */
#define RUNS 5

static cuarena_t *arena;
static pthread_barrier_t barrier;

/* Replaces one block after the other, of 256 bytes to 4 KiB. */
static void *work(void *user)
{
    void *held[HELD] = {NULL};
    (void)pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < CALLS / 2; i++) {
        void **p = &held[i % HELD];
        must(cuarena_free(arena, *p));
        must(cuarena_alloc(arena, 256 * (1 + i % 16), p));
    }
    for (int i = 0; i < HELD; i++)
        must(cuarena_free(arena, held[i]));
    return user;
}

/* What a run took: of the clock, and of processors, which other programs do not lengthen. */
typedef struct cost {
    double wall_ns;
    double processor_ns;
} cost_t;

static double processor_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static cost_t run_threads(int threads)
{
    pthread_t ids[MOST_THREADS];
    (void)pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, NULL) != 0)
            exit(EXIT_FAILURE);
    cost_t begin = {(double)now_ns(), processor_ns()};
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < threads; i++)
        (void)pthread_join(ids[i], NULL);
    (void)pthread_barrier_destroy(&barrier);
    return (cost_t){(double)now_ns() - begin.wall_ns, processor_ns() - begin.processor_ns};
}

/* In a new arena, and in a new file unless that is NULL. */
static void run(int threads, const char *path, cost_t *best)
{
    arena = new_arena(POOL, 0);
    if (path != NULL)
        must(cuarena_trace_begin(arena, path));
    cost_t cost = run_threads(threads);
    must(cuarena_trace_end(arena));
    must(cuarena_destroy(&arena));
    if (path != NULL)
        (void)unlink(path);
    keep_best(&best->wall_ns, cost.wall_ns);
    keep_best(&best->processor_ns, cost.processor_ns);
}

/* The best of some runs each, in turns. */
static void measure(int threads, const char *path)
{
    double calls = (double)threads * CALLS;
    cost_t alone = {0, 0}, traced = {0, 0};
    for (int i = 0; i < RUNS; i++) {
        run(threads, NULL, &alone);
        run(threads, path, &traced);
    }
    printf("%7d %10.2f %10.2f %9.1f %9.1f %9.1f\n", threads, calls / alone.wall_ns * 1e3,
           calls / traced.wall_ns * 1e3, alone.processor_ns / calls, traced.processor_ns / calls,
           (traced.processor_ns - alone.processor_ns) / calls);
}

int main(int argc, char **argv)
{
    char path[1024];
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/cuarena-trace.csv", folder != NULL ? folder : "/tmp");
    if (argc > 1)
        (void)snprintf(path, sizeof path, "%s", argv[1]);
    printf("Millions of calls a second, and nanoseconds of a processor for each, %ld processors\n"
           "threads    without       with   without      with      more\n",
           sysconf(_SC_NPROCESSORS_ONLN));
    for (int threads = 1; threads <= MOST_THREADS; threads *= 2)
        measure(threads, path);
    return EXIT_SUCCESS;
}
