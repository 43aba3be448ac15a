/*
 * Threads that share an arena of addresses alone, in the shapes of shapes.h, beside the heap alone
 * behind one mutex: with as many threads as the machine runs at once, or 4 if that is more. For
 * serving and training the arena grows (preset=grow); else it is a pool.
 *
 *   bench_threads [TRACE [ALLOCATOR|SHAPE...]]: only those; without a TRACE there is no training
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shapes.h"

#define POOL (4 * GIB)
#define HEAP (96 * GIB) /* eight times what is trained */

static cuarena_t *new_growing(void)
{
    cuarena_config_t config;
    cuarena_t *arena;
    cuarena_config_init(&config);
    must(cuarena_config_parse(&config, "memory=none,preset=grow"));
    must(cuarena_create(&config, &arena));
    return arena;
}

/* Whether one of the names is asked for, or none of its kind is. */
static bool wanted(char **asked, const char *const *names, size_t count, size_t which)
{
    bool others = false;
    for (; *asked != NULL; asked++)
        for (size_t i = 0; i < count; i++)
            if (strcmp(*asked, names[i]) == 0) {
                if (i == which)
                    return true;
                others = true;
            }
    return !others;
}

static void measure(const shapes_allocator_t *allocator, shape_t shape, const shapes_steps_t *steps)
{
    long most = sysconf(_SC_NPROCESSORS_ONLN);
    for (int threads = shape_least(shape);
         threads <= SHAPES_THREADS && (threads <= 4 || threads <= most); threads *= 2) {
        shapes_result_t median = shapes_median(allocator, shape, threads, steps);
        shapes_tell(allocator, shape, threads, &median);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"none", "mutex"};
    shapes_steps_t *steps = argc > 1 ? shapes_steps_open(argv[1]) : NULL;
    char **asked = argc > 1 ? argv + 2 : argv + 1;
    cuarena_t *pool = new_arena(POOL, 0);
    cuarena_t *growing = new_growing();
    shapes_allocator_t mutex = shapes_mutex(HEAP);
    for (shape_t shape = 0; shape < (steps != NULL ? SHAPES : SHAPE_TRAINING); shape++) {
        shapes_allocator_t arena = shapes_arena(shape_grows(shape) ? growing : pool, names[0]);
        const shapes_allocator_t *allocators[] = {&arena, &mutex};
        for (size_t a = 0; a < 2; a++)
            if (wanted(asked, names, 2, a) && wanted(asked, shape_names, SHAPES, shape))
                measure(allocators[a], shape, steps);
    }
    shapes_mutex_end(&mutex);
    must(cuarena_destroy(&growing));
    must(cuarena_destroy(&pool));
    if (steps != NULL)
        shapes_steps_close(steps);
    return EXIT_SUCCESS;
}
