/*
 * The cost of a call on what real programs did: each trace is replayed with
 * the pointer calls and with the block calls, in turns with pairs of lock and unlock of a pthread
 * mutex that nobody else wants.
 *
 * Atomic instructions may be left out of a mutex, and of the arena's lock, while a process has a
 * single thread. So there are two tables: before and after this one has a second thread, which
 * sleeps.
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

#define GRANULE 256 /* of the default preset */
#define ROUNDS 100  /* short ones: some go by undisturbed */
#define PAIRS 200000
#define EVENTS_PER_ROUND 200000

/* Best nanoseconds of one pair, or of one call. */
typedef struct times {
    double pair;
    double pointers;
    double blocks;
} times_t;

static double time_pair(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint64_t begin = now_ns();
    for (int i = 0; i < PAIRS; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return (double)(now_ns() - begin) / PAIRS;
}

/* A pool of twice the peak. */
static void open_player(player_t *player, const trace_t *trace, bool blocks)
{
    fault_t fault = {""};
    player_setup_t setup = {.blocks = blocks};
    cuarena_config_init(&setup.config);
    setup.config.memory = CUARENA_MEMORY_NONE;
    uint64_t peak = trace_peak(trace, GRANULE).bytes;
    player_set_pool_bytes(&setup, peak * 2);
    expect(player_open(player, &setup, trace, NULL, &fault), fault.text);
}

static double time_replay(player_t *player)
{
    uint64_t passes = EVENTS_PER_ROUND / (player->trace->event_count + 1) + 1;
    double ns;
    expect(player_time(player, passes, &ns), player->first_refusal.text);
    expect(player->refused == 0, player->first_refusal.text);
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
    player_close(&pointers);
    player_close(&blocks);
    return best;
}

static void print_row(const char *title, times_t t)
{
    printf("%-18s %8.1f %9.1f %7.1f %14.2f %12.2f\n", title, t.pair, t.pointers, t.blocks,
           t.pointers / t.pair, t.blocks / t.pair);
}

/* One row for each file; the geometric means. */
static times_t measure_all(char **paths, int count)
{
    times_t logs = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        trace_t trace;
        fault_t fault = {""};
        expect(trace_load(paths[i], &trace, &fault), fault.text);
        times_t t = measure(&trace);
        print_row(trace_title(&trace), t);
        logs.pair += log(t.pair);
        logs.pointers += log(t.pointers);
        logs.blocks += log(t.blocks);
        trace_free(&trace);
    }
    return (times_t){exp(logs.pair / count), exp(logs.pointers / count), exp(logs.blocks / count)};
}

static void print_table(const char *threads, char **paths, int count)
{
    printf("%-18s %8s %9s %7s %14s %12s\n", threads, "pair", "pointers", "blocks", "pointers/pair",
           "blocks/pair");
    print_row("geometric mean", measure_all(paths, count));
}

static void *pass_gate(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    expect(argc > 1, "usage: bench_replay TRACE...");
    print_table("one thread", argv + 1, argc - 1);
    pthread_mutex_lock(&gate);
    expect(!pthread_create(&thread, NULL, pass_gate, &gate), "a thread");
    print_table("two threads", argv + 1, argc - 1);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    return EXIT_SUCCESS;
}
