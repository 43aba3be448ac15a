/*
 * Threads that share an arena, beside the heap alone behind one mutex: calls per second of all of
 * them together, and how long a pair of calls takes, with as many threads as the machine runs at
 * once, or 4 if that is more.
 *
 *   bench_threads [ALLOCATOR|SHAPE...]: only those
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shapes.h"

#define MOST (4 * MIB)

/* ---- Rounds ------------------------------------------------------------ */

static void measure(const shapes_allocator_t *allocator, shape_t shape, int threads)
{
    shapes_result_t median = shapes_median(allocator, shape, threads, MOST);
    printf("%-8s %-8s %2d thread%s %7.2f million calls per second, a pair %7.2f us, p99.9 %8.2f\n",
           shape_names[shape], allocator->name, threads,
           threads == 1 ? ": " : "s:", median.calls_per_second / 1e6, median.p50_ns / 1e3,
           median.p999_ns / 1e3);
}

static int wanted(int argc, char **argv, const char *name, const char *other)
{
    int asked = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return 1;
        asked |= strcmp(argv[i], other) == 0;
    }
    return !asked;
}

int main(int argc, char **argv)
{
    cuarena_t *arena = new_arena(4 * GIB, 0);
    shapes_allocator_t allocators[] = {shapes_arena(arena, "arena"), shapes_mutex(4 * GIB)};
    long most = sysconf(_SC_NPROCESSORS_ONLN);
    for (shape_t shape = SHAPE_REPLACE; shape <= SHAPE_HANDOFF; shape++)
        for (int a = 0; a < 2; a++)
            for (int threads = shape == SHAPE_REPLACE ? 1 : 2;
                 threads <= SHAPES_THREADS && (threads <= 4 || threads <= most); threads *= 2)
                if (wanted(argc, argv, allocators[a].name, allocators[!a].name) &&
                    wanted(argc, argv, shape_names[shape], shape_names[!shape]))
                    measure(&allocators[a], shape, threads);
    must(cuarena_destroy(&arena));
    shapes_mutex_end(&allocators[1]);
    return EXIT_SUCCESS;
}
