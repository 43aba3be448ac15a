/*
 * Threads in one arena: each has 64 live blocks, of random sizes from 256 B to 4 MiB, and replaces
 * one at a time. Calls per second of all of them together, with as many threads as the machine runs
 * at once, or 4 if that is more.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

#define LIVE 64
#define SIZES 4096 /* drawn beforehand, then taken in turns */
#define MOST_THREADS 16
#define CALLS 200000 /* of each thread, in a round */
#define ROUNDS 48    /* of one thread; of more fewer */

typedef struct worker {
    cuarena_t *arena;
    _Atomic int *ready; /* threads that are still to come */
    uint64_t seed;
    uint64_t begin_ns;
    uint64_t end_ns;
} worker_t;

static void replace_blocks(cuarena_t *arena, void **live, const uint64_t *sizes,
                           random_state_t *random)
{
    for (int i = 0; i < CALLS / 2; i++) {
        uint64_t bits = random_next(random);
        void **pointer = &live[bits % LIVE];
        must(cuarena_free(arena, *pointer));
        must(cuarena_alloc(arena, sizes[bits / LIVE % SIZES], pointer));
    }
}

static void *work(void *argument)
{
    worker_t *worker = argument;
    random_state_t random = {worker->seed};
    uint64_t sizes[SIZES];
    void *live[LIVE];
    for (int i = 0; i < SIZES; i++)
        sizes[i] = mixed_size(&random, 256, 4 * MIB);
    for (int i = 0; i < LIVE; i++)
        must(cuarena_alloc(worker->arena, sizes[i], &live[i]));
    atomic_fetch_sub(worker->ready, 1);
    while (atomic_load(worker->ready) > 0) {
    }
    worker->begin_ns = now_ns();
    replace_blocks(worker->arena, live, sizes, &random);
    worker->end_ns = now_ns();
    for (int i = 0; i < LIVE; i++)
        must(cuarena_free(worker->arena, live[i]));
    return NULL;
}

/* Nanoseconds from the first thread's begin to the last one's end. */
static double time_round(cuarena_t *arena, int threads)
{
    pthread_t ids[MOST_THREADS];
    worker_t workers[MOST_THREADS];
    _Atomic int ready = threads;
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker_t){arena, &ready, (uint64_t)i + 1, 0, 0};
        expect(!pthread_create(&ids[i], NULL, work, &workers[i]), "a thread");
    }
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        begin = workers[i].begin_ns < begin ? workers[i].begin_ns : begin;
        end = workers[i].end_ns > end ? workers[i].end_ns : end;
    }
    return (double)(end - begin);
}

int main(void)
{
    cuarena_t *arena = new_arena(4 * GIB, 0);
    long most = sysconf(_SC_NPROCESSORS_ONLN);
    for (int threads = 1; threads <= MOST_THREADS && (threads <= 4 || threads <= most);
         threads *= 2) {
        double best = 0;
        for (int i = 0; i < ROUNDS / threads; i++)
            keep_best(&best, time_round(arena, threads));
        printf("%d thread%s %.2f million calls per second\n", threads,
               threads == 1 ? ": " : "s:", (double)threads * CALLS / best * 1e3);
    }
    must(cuarena_destroy(&arena));
    return EXIT_SUCCESS;
}
