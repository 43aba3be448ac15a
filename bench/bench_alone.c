/*
 * What a pair of calls takes a thread that nobody contends with, a free of one of 64 random blocks
 * of 256 B to 4 MiB and the allocation of the next:
 *
 *   never   the process never had another thread
 *   idle    other threads sleep, or use other arenas
 *   after   threads met in the arena, so that they have caches, and all but one have ended
 *
 *   bench_alone               nanoseconds, in turns, with quartiles
 *   bench_alone WAY PAIRS     so many pairs in a process of its own, for a tool that counts the
 *                             instructions of steady()
 *
 * In turns the process has a second thread, which sleeps, and says by the C library's own variable
 * that it has one thread while `never` has its turn: the library reads nothing else.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "arena/thread_cache.h"
#include "bench.h"

#define POOL (4 * GIB)
#define LIVE 64
#define SIZES 4096
#define BATCH 2000
#define TURNS 1001

typedef enum way {
    NEVER,
    IDLE,
    AFTER
} way_t;
#define WAYS 3

static const char *const way_names[WAYS] = {"never", "idle", "after"};

typedef struct scene {
    cuarena_t *arena;
    random_state_t random;
    uint64_t sizes[SIZES];
    void *live[LIVE];
} scene_t;

/* The pairs that are measured, and nothing else. */
void steady(scene_t *scene, uint64_t pairs);
__attribute__((noinline)) void steady(scene_t *scene, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        uint64_t bits = random_next(&scene->random);
        void **pointer = &scene->live[bits % LIVE];
        must(cuarena_free(scene->arena, *pointer));
        must(cuarena_alloc(scene->arena, scene->sizes[bits / LIVE % SIZES], pointer));
    }
}

static void *use(void *arena)
{
    void *pointer;
    for (int i = 0; i < 1000; i++) {
        must(cuarena_alloc(arena, 4 * KIB, &pointer));
        must(cuarena_free(arena, pointer));
    }
    return NULL;
}

static void *sleep_on(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* As when threads met at the lock often enough. */
static void begin_caches(cuarena_t *arena)
{
    pthread_t other;
    cuai_lock(&arena->lock);
    cuai_tcaches_begin(arena);
    cuai_unlock(&arena->lock);
    expect(!pthread_create(&other, NULL, use, arena), "a thread");
    (void)use(arena);
    pthread_join(other, NULL);
}

static void begin(scene_t *scene, way_t way)
{
    scene->arena = new_arena(POOL, 0);
    scene->random = (random_state_t){1};
    if (way == AFTER)
        begin_caches(scene->arena);
    for (int i = 0; i < SIZES; i++)
        scene->sizes[i] = mixed_size(&scene->random, 256, 4 * MIB);
    for (int i = 0; i < LIVE; i++)
        must(cuarena_alloc(scene->arena, scene->sizes[i], &scene->live[i]));
    steady(scene, BATCH);
}

static void end(scene_t *scene)
{
    must(cuarena_destroy_forced(&scene->arena));
}

/* ---- In turns ------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static void tell(const char *name, double *values, const char *unit)
{
    qsort(values, TURNS, sizeof *values, by_value);
    printf("%-22s %6.3f %s (%.3f to %.3f)\n", name, values[TURNS / 2], unit, values[TURNS / 4],
           values[TURNS * 3 / 4]);
}

static double time_batch(scene_t *scene, way_t way)
{
    __libc_single_threaded = way == NEVER;
    uint64_t from = now_ns();
    steady(scene, BATCH);
    uint64_t to = now_ns();
    __libc_single_threaded = 0;
    return (double)(to - from) / BATCH;
}

/* The order of a turn changes from one to the next. */
static void take_turns(scene_t *scenes)
{
    static double ns[WAYS][TURNS];
    static double times[WAYS][TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < WAYS; i++) {
            way_t way = (way_t)((turn + i) % WAYS);
            ns[way][turn] = time_batch(&scenes[way], way);
        }
        for (int way = 0; way < WAYS; way++)
            times[way][turn] = ns[way][turn] / ns[NEVER][turn];
    }
    for (int way = 0; way < WAYS; way++)
        tell(way_names[way], ns[way], "ns");
    tell("idle over never", times[IDLE], "times");
    tell("after over never", times[AFTER], "times");
}

static void measure(void)
{
    static scene_t scenes[WAYS];
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t idle;
    pthread_mutex_lock(&mutex);
    expect(!pthread_create(&idle, NULL, sleep_on, &mutex), "a thread");
    for (int way = 0; way < WAYS; way++)
        begin(&scenes[way], (way_t)way);
    take_turns(scenes);
    for (int way = 0; way < WAYS; way++)
        end(&scenes[way]);
    pthread_mutex_unlock(&mutex);
    pthread_join(idle, NULL);
}

/* ---- Counted ------------------------------------------------------------- */

static void run(const char *name, uint64_t pairs)
{
    static scene_t scene;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t idle;
    int way = 0;
    while (way < WAYS && strcmp(name, way_names[way]) != 0)
        way++;
    expect(way < WAYS, "never, idle or after");
    pthread_mutex_lock(&mutex);
    if (way == IDLE)
        expect(!pthread_create(&idle, NULL, sleep_on, &mutex), "a thread");
    begin(&scene, (way_t)way);
    steady(&scene, pairs);
    end(&scene);
    pthread_mutex_unlock(&mutex);
    if (way == IDLE)
        pthread_join(idle, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 3)
        run(argv[1], strtoull(argv[2], NULL, 10));
    else
        measure();
    return EXIT_SUCCESS;
}
