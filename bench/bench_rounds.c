/*
 * Rounds of calls that other arenas are measured with: the clock is read
 * around each, so a reading is part of every figure. Addresses only, but for the compaction, which
 * moves bytes. Microseconds.
 *
 *   large        8 MiB allocated and freed
 *   batch        512 blocks of 1 KiB allocated, then freed in that order
 *   ping-pong    4 live blocks of 1 MiB, one of them freed and allocated
 *   resize       1 MiB resized to 2, 4, ... 128 MiB, then freed
 *   compaction   8 blocks of 32 MiB in 256 MiB, every other one freed, packed
 *   stable ...   allocated and freed in the stable region, and in the rest
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define ROUNDS 500
#define WARM_UP 50
#define BATCH 512

typedef struct stage {
    cuarena_t *arena;
    uint64_t bytes; /* of stable and dynamic rounds */
    cuarena_request_t request;
    void *live[BATCH];
    int round;
} stage_t;

/* ---- The rounds ---------------------------------------------------------- */

static void round_large(stage_t *stage)
{
    must(cuarena_alloc(stage->arena, 8 * MIB, &stage->live[0]));
    must(cuarena_free(stage->arena, stage->live[0]));
}

static void round_batch(stage_t *stage)
{
    for (int i = 0; i < BATCH; i++)
        must(cuarena_alloc(stage->arena, KIB, &stage->live[i]));
    for (int i = 0; i < BATCH; i++)
        must(cuarena_free(stage->arena, stage->live[i]));
}

static void round_ping_pong(stage_t *stage)
{
    void **pointer = &stage->live[stage->round % 4];
    must(cuarena_free(stage->arena, *pointer)); /* NULL at first */
    must(cuarena_alloc(stage->arena, MIB, pointer));
}

static void round_resize(stage_t *stage)
{
    void *pointer = NULL;
    for (uint64_t bytes = MIB; bytes <= 128 * MIB; bytes *= 2)
        must(cuarena_resize(stage->arena, pointer, bytes, &pointer));
    must(cuarena_free(stage->arena, pointer));
}

static void round_request(stage_t *stage)
{
    must(cuarena_alloc_with(stage->arena, stage->bytes, &stage->request, &stage->live[0]));
    must(cuarena_free(stage->arena, stage->live[0]));
}

/* ---- Figures ------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static void print_row(const char *name, double *times, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += times[i];
    qsort(times, count, sizeof *times, by_value);
    printf("%-18s %10.2f %10.2f %10.2f %10.2f\n", name, times[count / 2], sum / (double)count,
           times[0], times[count - 1]);
}

static void measure(const char *name, stage_t *stage, void (*round)(stage_t *))
{
    double times[ROUNDS];
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        stage->round = i + WARM_UP;
        uint64_t begin = now_ns();
        round(stage);
        if (i >= 0)
            times[i] = (double)(now_ns() - begin) / 1e3;
    }
    print_row(name, times, ROUNDS);
    must(cuarena_reset(stage->arena));
    memset(stage->live, 0, sizeof stage->live);
}

static void measure_requests(stage_t *stage, const char *name, int32_t region)
{
    static const uint64_t sizes[] = {256, 256 * KIB, 2 * MIB};
    cuarena_request_init(&stage->request);
    stage->request.region = region;
    for (int i = 0; i < 3; i++) {
        char label[32];
        stage->bytes = sizes[i];
        (void)snprintf(label, sizeof label, "%s %llu B", name, (unsigned long long)sizes[i]);
        measure(label, stage, round_request);
    }
}

/* ---- Compaction ---------------------------------------------------------- */

static void measure_compaction(void)
{
    enum {
        BLOCKS = 8,
        TIMES = 20
    };
    double times[TIMES];
    cuarena_config_t config;
    cuarena_config_init(&config);
    must(cuarena_config_set(&config, "pool", "256MiB"));
    cuarena_t *arena;
    must(cuarena_create(&config, &arena));
    for (int t = 0; t < TIMES; t++) {
        cuarena_block_t blocks[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            void *bytes;
            must(cuarena_block_alloc(arena, 32 * MIB, &blocks[i]));
            must(cuarena_block_pin(arena, blocks[i], &bytes));
            memset(bytes, i, 32 * MIB);
            must(cuarena_block_unpin(arena, blocks[i]));
        }
        for (int i = 0; i < BLOCKS; i += 2)
            must(cuarena_block_free(arena, blocks[i]));
        uint64_t begin = now_ns();
        must(cuarena_compact(arena, NULL, NULL, NULL, NULL));
        times[t] = (double)(now_ns() - begin) / 1e3;
        must(cuarena_reset(arena));
    }
    print_row("compact 128 MiB", times, TIMES);
    must(cuarena_destroy(&arena));
}

int main(void)
{
    static stage_t stage;
    stage.arena = new_arena(4 * GIB, 0);
    printf("%-18s %10s %10s %10s %10s\n", "us per round", "median", "mean", "least", "most");
    measure("large", &stage, round_large);
    measure("batch", &stage, round_batch);
    measure("ping-pong", &stage, round_ping_pong);
    measure("resize", &stage, round_resize);
    measure_compaction();
    must(cuarena_destroy(&stage.arena));
    stage.arena = new_arena(4 * GIB, 512 * MIB);
    measure_requests(&stage, "stable", CUARENA_REGION_STABLE);
    measure_requests(&stage, "dynamic", CUARENA_REGION_DYNAMIC);
    must(cuarena_destroy(&stage.arena));
    return EXIT_SUCCESS;
}
