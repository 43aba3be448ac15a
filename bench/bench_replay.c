/*
 * The cost of a call on what real programs did: each trace is replayed with
 * the pointer calls and with the block calls, in turns with pairs of lock and
 * unlock of an uncontended pthread mutex.
 *
 * The C library may leave the atomic operations out of a mutex while a process
 * has one thread only, so the pairs are measured twice: before and after this
 * one has a second thread, which sleeps. The arena's lock has no such mode.
 *
 *   bench_replay TRACE...
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "player.h"

#define ROUNDS 9
#define PAIRS 2000000
#define EVENTS_PER_ROUND 2000000

/* Best nanoseconds of one call, or of one pair. */
typedef struct times {
    double pair;
    double pointers;
    double blocks;
} times_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double time_pair(void)
{
    uint64_t begin = now_ns();
    for (int i = 0; i < PAIRS; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return (double)(now_ns() - begin) / PAIRS;
}

static void open_player(player_t *player, const trace_t *trace, bool blocks)
{
    fault_t fault = {""};
    player_setup_t setup = {.blocks = blocks};
    cuarena_config_init(&setup.config);
    setup.config.memory = CUARENA_MEMORY_NONE;
    uint64_t peak = trace_peak(trace, setup.config.alignment).bytes;
    player_set_pool_bytes(&setup, peak * 2);
    must_have(player_open(player, &setup, trace, NULL, &fault), fault.text);
}

static double time_replay(player_t *player)
{
    uint64_t passes = EVENTS_PER_ROUND / (player->trace->event_count + 1) + 1;
    double ns;
    must_have(player_time(player, passes, &ns), player->first_refusal.text);
    return ns;
}

static times_t measure(const trace_t *trace)
{
    times_t best = {0, 0, 0};
    player_t pointers;
    player_t blocks;
    open_player(&pointers, trace, false);
    open_player(&blocks, trace, true);
    for (int i = 0; i < ROUNDS; i++) {
        keep_best(&best.pair, time_pair());
        keep_best(&best.pointers, time_replay(&pointers));
        keep_best(&best.blocks, time_replay(&blocks));
    }
    must_have(pointers.refused + blocks.refused == 0, "requests were refused");
    player_close(&pointers);
    player_close(&blocks);
    return best;
}

/* The tables' columns, summed up for the geometric mean. */
static void print_table(const trace_t *traces, size_t count)
{
    double logs[2] = {0, 0};
    printf("%-18s %8s %9s %7s %14s %13s\n", "trace", "pair ns", "pointers",
           "blocks", "pointers/pair", "blocks/pair");
    for (size_t i = 0; i < count; i++) {
        times_t t = measure(&traces[i]);
        logs[0] += log(t.pointers / t.pair);
        logs[1] += log(t.blocks / t.pair);
        printf("%-18s %8.1f %9.1f %7.1f %14.2f %13.2f\n",
               trace_title(&traces[i]), t.pair, t.pointers, t.blocks,
               t.pointers / t.pair, t.blocks / t.pair);
    }
    printf("%-18s %8s %9s %7s %14.2f %13.2f\n", "geometric mean", "", "", "",
           exp(logs[0] / (double)count), exp(logs[1] / (double)count));
}

static void *sleep_until_told(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(int argc, char **argv)
{
    must_have(argc > 1, "usage: bench_replay TRACE...");
    size_t count = (size_t)argc - 1;
    trace_t *traces = calloc(count, sizeof *traces);
    must_have(traces != NULL, "no memory");
    fault_t fault = {""};
    for (size_t i = 0; i < count; i++)
        must_have(trace_load(argv[i + 1], &traces[i], &fault), fault.text);

    puts("nanoseconds per call, best of several; the process has one thread");
    print_table(traces, count);

    /* The thread waits for a mutex of its own, not for the measured one. */
    static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    (void)gate;
    pthread_t thread;
    (void)sleep_until_told;
    must_have(pthread_create(&thread, NULL, sleep_until_told, NULL) == 0, "");
    return EXIT_SUCCESS;
}
