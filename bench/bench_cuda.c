/*
 * What an allocation costs a program on a device: the rounds that cuArena's
 * own benchmark makes, from the driver and from an arena, pointers and blocks,
 * with and without a stream. The host's clock around calls; nobody touches the
 * memory.
 *
 *   large       8 MiB allocated and freed
 *   batch       512 blocks of 1 KiB allocated, then freed in that order
 *   ping-pong   4 live blocks of 1 MiB, one of them freed and allocated
 *   resize      1 MiB resized to 2, 4, ... 128 MiB, then freed; the driver's
 *               memory is freed and allocated instead, and contents are lost
 *   compact     every other one of 8 blocks of 32 MiB freed, the other four
 *               packed, waited for; then 64 MiB allocated
 *   stable      a pair of calls in the stable region
 *   dynamic     ... and in the rest of the same pool
 *   pair        by size
 *
 * A sample is 100 rounds where the clock would count, else one; the stream is
 * waited for before each, outside of it, which is when the driver's pool gives
 * back what is over its threshold. A way that takes very long gets fewer
 * samples.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "runtime.h"

#define SAMPLES 500
#define WARM_UP 50
#define MOST_SECONDS 4 /* for one row, but not below LEAST_SAMPLES */
#define LEAST_SAMPLES 50
#define ROUNDS 100
#define BATCH 512
#define POOL_BYTES (4 * GIB)
#define STABLE_BYTES (512 * MIB)

typedef union slot {
    void *pointer;
    cuarena_block_t block;
} slot_t;

typedef struct stage {
    cuarena_t *arena;
    uint64_t bytes; /* of a pair */
    unsigned rounds;
    unsigned turn;
    slot_t live[BATCH];
} stage_t;

static gpu_t gpu;
static runtime_t runtime;
static const cuarena_request_t *request; /* of the way `requested` */

static inline void must_rt(int result)
{
    expect(result == 0, "an allocation or free of the driver");
}

/* ---- Ways to allocate ---------------------------------------------------- */

/* Each is a pair of calls with a slot between them. */
#define PLAIN_TAKE(bytes, slot) must_rt(runtime.malloc(&(slot)->pointer, bytes))
#define PLAIN_GIVE(slot) must_rt(runtime.free((slot)->pointer))

#define MANAGED_TAKE(bytes, slot)                                              \
    must_rt(runtime.malloc_managed(&(slot)->pointer, bytes,                    \
                                   CUAI_CU_MEM_ATTACH_GLOBAL))
#define MANAGED_GIVE(slot) PLAIN_GIVE(slot)

#define ASYNC_TAKE(bytes, slot)                                                \
    must_rt(runtime.malloc_async(&(slot)->pointer, bytes, gpu.stream))
#define ASYNC_GIVE(slot)                                                       \
    must_rt(runtime.free_async((slot)->pointer, gpu.stream))

#define POINTERS_TAKE(bytes, slot)                                             \
    must(cuarena_alloc(stage->arena, bytes, &(slot)->pointer))
#define POINTERS_GIVE(slot) must(cuarena_free(stage->arena, (slot)->pointer))

#define REQUESTED_TAKE(bytes, slot)                                            \
    must(cuarena_alloc_with(stage->arena, bytes, request, &(slot)->pointer))
#define REQUESTED_GIVE(slot) POINTERS_GIVE(slot)

#define BLOCKS_TAKE(bytes, slot)                                               \
    must(cuarena_block_alloc(stage->arena, bytes, &(slot)->block))
#define BLOCKS_GIVE(slot) must(cuarena_block_free(stage->arena, (slot)->block))

#define POINTERS_ON_TAKE(bytes, slot)                                          \
    must(cuarena_alloc_on(stage->arena, bytes, gpu.stream, NULL,               \
                          &(slot)->pointer))
#define POINTERS_ON_GIVE(slot)                                                 \
    must(cuarena_free_on(stage->arena, (slot)->pointer, gpu.stream))

#define BLOCKS_ON_TAKE(bytes, slot)                                            \
    must(cuarena_block_alloc_on(stage->arena, bytes, gpu.stream, NULL,         \
                                &(slot)->block))
#define BLOCKS_ON_GIVE(slot)                                                   \
    must(cuarena_block_free_on(stage->arena, (slot)->block, gpu.stream))

/* What a slot changes its size by; NAME_RESIZE(bytes, slot). */
#define POINTERS_RESIZE(bytes, slot)                                           \
    must(cuarena_resize(stage->arena, (slot)->pointer, bytes, &(slot)->pointer))
#define REQUESTED_RESIZE POINTERS_RESIZE
#define BLOCKS_RESIZE(bytes, slot)                                             \
    must(cuarena_block_resize(stage->arena, (slot)->block, bytes))
#define POINTERS_ON_RESIZE(bytes, slot)                                        \
    must(cuarena_resize_on(stage->arena, (slot)->pointer, bytes, gpu.stream,   \
                           &(slot)->pointer))
#define BLOCKS_ON_RESIZE(bytes, slot)                                          \
    must(cuarena_block_resize_on(stage->arena, (slot)->block, bytes,           \
                                 gpu.stream))
#define PLAIN_RESIZE(bytes, slot) (PLAIN_GIVE(slot), PLAIN_TAKE(bytes, slot))
#define MANAGED_RESIZE(bytes, slot)                                            \
    (MANAGED_GIVE(slot), MANAGED_TAKE(bytes, slot))
#define ASYNC_RESIZE(bytes, slot) (ASYNC_GIVE(slot), ASYNC_TAKE(bytes, slot))

/* ---- Rounds -------------------------------------------------------------- */

typedef void (*round_fn)(stage_t *stage);

typedef struct way {
    round_fn pair;
    round_fn batch;
    round_fn ping_pong;
    round_fn ping_pong_begin; /* makes the four blocks, not timed */
    round_fn ping_pong_end;
    round_fn resize;
} way_t;

/* The rounds by one way, so that nothing but the calls is in the loop. */
#define DEFINE_WAY(name, NAME)                                                 \
    static void name##_pair(stage_t *stage)                                    \
    {                                                                          \
        for (unsigned i = 0; i < stage->rounds; i++) {                         \
            NAME##_TAKE(stage->bytes, &stage->live[0]);                        \
            NAME##_GIVE(&stage->live[0]);                                      \
        }                                                                      \
    }                                                                          \
    static void name##_batch(stage_t *stage)                                   \
    {                                                                          \
        for (int i = 0; i < BATCH; i++)                                        \
            NAME##_TAKE(KIB, &stage->live[i]);                                 \
        for (int i = 0; i < BATCH; i++)                                        \
            NAME##_GIVE(&stage->live[i]);                                      \
    }                                                                          \
    static void name##_ping_pong(stage_t *stage)                               \
    {                                                                          \
        for (unsigned i = 0; i < stage->rounds; i++) {                         \
            slot_t *slot = &stage->live[stage->turn++ % 4];                    \
            NAME##_GIVE(slot);                                                 \
            NAME##_TAKE(MIB, slot);                                            \
        }                                                                      \
    }                                                                          \
    static void name##_ping_pong_begin(stage_t *stage)                         \
    {                                                                          \
        for (int i = 0; i < 4; i++)                                            \
            NAME##_TAKE(MIB, &stage->live[i]);                                 \
    }                                                                          \
    static void name##_ping_pong_end(stage_t *stage)                           \
    {                                                                          \
        for (int i = 0; i < 4; i++)                                            \
            NAME##_GIVE(&stage->live[i]);                                      \
    }                                                                          \
    static void name##_resize(stage_t *stage)                                  \
    {                                                                          \
        for (unsigned i = 0; i < stage->rounds; i++) {                         \
            NAME##_TAKE(MIB, &stage->live[0]);                                 \
            for (uint64_t bytes = 2 * MIB; bytes <= 128 * MIB; bytes *= 2)     \
                NAME##_RESIZE(bytes, &stage->live[0]);                         \
            NAME##_GIVE(&stage->live[0]);                                      \
        }                                                                      \
    }                                                                          \
    static const way_t name = {name##_pair,          name##_batch,             \
                               name##_ping_pong,     name##_ping_pong_begin,   \
                               name##_ping_pong_end, name##_resize};

DEFINE_WAY(plain, PLAIN)
DEFINE_WAY(managed, MANAGED)
DEFINE_WAY(async, ASYNC)
DEFINE_WAY(pointers, POINTERS)
DEFINE_WAY(requested, REQUESTED)
DEFINE_WAY(blocks, BLOCKS)
DEFINE_WAY(pointers_on, POINTERS_ON)
DEFINE_WAY(blocks_on, BLOCKS_ON)

/* ---- Who is measured ----------------------------------------------------- */

typedef struct contender {
    const char *name;
    const way_t *way;
    cuarena_t *arena; /* NULL: the driver */
    bool single;      /* one round a sample */
    bool sweeps;      /* takes part in the rows by size */
    uint64_t keep;    /* the threshold of the driver's pool */
} contender_t;

static void print_head(const char *title, const char *unit)
{
    printf("\n%s\n%-46s %10s %10s %10s %10s %10s %7s %6s\n", title, unit,
           "median", "mean", "p99", "least", "most", "samples", "rounds");
}

static void tell_row(const char *name, const char *who, uint64_t bytes,
                     unsigned rounds, double *times, size_t count)
{
    figures_t f = figures_of(times, count);
    printf("  %-44s %10.3f %10.3f %10.3f %10.3f %10.3f %7zu %6u\n", who,
           f.median, f.mean, f.p99, f.least, f.most, f.samples, rounds);
    (void)fflush(stdout);
    record_begin("round");
    record_text("case", name);
    record_text("who", who);
    record_text("unit", "us");
    if (bytes > 0)
        record_count("bytes", bytes);
    record_count("rounds_per_sample", rounds);
    record_figures(&f);
    record_end();
}

/* Samples of a round on its stage, into times; how many there were. */
static size_t sample(stage_t *stage, round_fn round, double *times)
{
    int warm_up = gpu.quick ? 2 : WARM_UP;
    int samples = gpu.quick ? 10 : SAMPLES;
    uint64_t most_ns = gpu.quick ? 200000000 : MOST_SECONDS * 1000000000ULL;
    uint64_t started = now_ns();
    size_t count = 0;
    for (int i = -warm_up; i < samples; i++) {
        gpu_wait(&gpu);
        uint64_t begin = now_ns();
        round(stage);
        uint64_t end = now_ns();
        bool late = end - started > most_ns;
        if (i < 0 && late) /* the rest of the warm-up is left out */
            i = -1;
        else if (i >= 0)
            times[count++] = (double)(end - begin) / 1e3 / stage->rounds;
        if (late && count >= (gpu.quick ? 2 : LEAST_SAMPLES))
            break;
    }
    return count;
}

/* Rows are named by their case; `bytes` is of a pair. */
static void measure(const char *name, const contender_t *contender,
                    uint64_t bytes, round_fn begin, round_fn round,
                    round_fn end)
{
    static double times[SAMPLES];
    static stage_t stage;
    bool one = contender->single || round == contender->way->batch;
    memset(&stage, 0, sizeof stage);
    stage.arena = contender->arena;
    stage.bytes = bytes;
    stage.rounds = one ? 1 : ROUNDS;
    if (contender->way == &async)
        runtime_keep(&gpu, contender->keep);
    if (begin != NULL)
        begin(&stage);
    size_t count = sample(&stage, round, times);
    if (end != NULL)
        end(&stage);
    tell_row(name, contender->name, bytes, stage.rounds, times, count);
    if (contender->way == &async)
        runtime_trim(&gpu);
    if (contender->arena != NULL)
        must(cuarena_settle(contender->arena, 1, NULL));
}

static void measure_rounds(const contender_t *list, size_t count)
{
    print_head("large: 8 MiB allocated and freed", "us");
    for (size_t i = 0; i < count; i++)
        measure("large", &list[i], 8 * MIB, NULL, list[i].way->pair, NULL);
    print_head("batch: 512 of 1 KiB allocated, then freed", "us");
    for (size_t i = 0; i < count; i++)
        measure("batch", &list[i], 0, NULL, list[i].way->batch, NULL);
    print_head("ping-pong: one of 4 live blocks of 1 MiB replaced", "us");
    for (size_t i = 0; i < count; i++)
        measure("ping-pong", &list[i], 0, list[i].way->ping_pong_begin,
                list[i].way->ping_pong, list[i].way->ping_pong_end);
    print_head("resize: 1 MiB to 2, 4, ... 128 MiB, then freed", "us");
    for (size_t i = 0; i < count; i++)
        measure("resize", &list[i], 0, NULL, list[i].way->resize, NULL);
}

static void measure_sizes(const contender_t *list, size_t count)
{
    static const uint64_t sizes[] = {256,       4 * KIB, 64 * KIB, 256 * KIB,
                                     MIB,       2 * MIB, 16 * MIB, 64 * MIB,
                                     512 * MIB, 2 * GIB};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        char title[64];
        (void)snprintf(title, sizeof title, "pair of %s", size_name(sizes[s]));
        print_head(title, "us");
        for (size_t i = 0; i < count; i++)
            if (list[i].sweeps)
                measure("pair", &list[i], sizes[s], NULL, list[i].way->pair,
                        NULL);
    }
}

/* ---- Regions ------------------------------------------------------------- */

static cuarena_t *open_pool(int32_t memory, uint64_t stable_bytes)
{
    cuarena_config_t config = gpu_config(&gpu, memory);
    config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, POOL_BYTES};
    config.stable = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, stable_bytes};
    return gpu_arena(&config);
}

static void measure_regions(void)
{
    static const uint64_t sizes[] = {256, 256 * KIB, 2 * MIB};
    cuarena_t *arena = open_pool(CUARENA_MEMORY_DEVICE, STABLE_BYTES);
    cuarena_request_t wanted;
    cuarena_request_init(&wanted);
    request = &wanted;
    for (int i = 0; i < 3; i++) {
        char title[64];
        (void)snprintf(title, sizeof title, "stable and dynamic: pair of %s",
                       size_name(sizes[i]));
        print_head(title, "us");
        contender_t contender = {
            "cuarena device, stable", &requested, arena, false, false, 0};
        wanted.region = CUARENA_REGION_STABLE;
        measure("stable", &contender, sizes[i], NULL, requested.pair, NULL);
        contender.name = "cuarena device, dynamic";
        wanted.region = CUARENA_REGION_DYNAMIC;
        measure("dynamic", &contender, sizes[i], NULL, requested.pair, NULL);
    }
    must(cuarena_destroy(&arena));
}

/* ---- Compaction ---------------------------------------------------------- */

static void compact_and_wait(cuarena_t *arena)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = gpu.stream;
    must(cuarena_compact(arena, &options, NULL, NULL, NULL));
    gpu_wait(&gpu);
}

/* Every other one of 8 blocks is freed. */
static void make_holes(cuarena_t *arena)
{
    cuarena_block_t eight[8];
    for (int i = 0; i < 8; i++)
        must(cuarena_block_alloc(arena, 32 * MIB, &eight[i]));
    for (int i = 0; i < 8; i += 2)
        must(cuarena_block_free(arena, eight[i]));
}

static void measure_compaction(void)
{
    static double packs[SAMPLES];
    static double allocs[SAMPLES];
    cuarena_t *arena = gpu_packed_pool(&gpu, POOL_BYTES);
    int warm_up = gpu.quick ? 1 : WARM_UP;
    int samples = gpu.quick ? 5 : SAMPLES;
    for (int i = -warm_up; i < samples; i++) {
        cuarena_block_t block;
        int at = i < 0 ? 0 : i;
        make_holes(arena);
        uint64_t begin = now_ns();
        compact_and_wait(arena);
        uint64_t packed = now_ns();
        must(cuarena_block_alloc(arena, 64 * MIB, &block));
        allocs[at] = (double)(now_ns() - packed) / 1e3;
        packs[at] = (double)(packed - begin) / 1e3;
        must(cuarena_reset(arena));
    }
    print_head("compact: 128 MiB of 256 MiB packed, then 64 MiB allocated",
               "us");
    tell_row("compact", "cuarena device, compact and wait", 0, 1, packs,
             (size_t)samples);
    tell_row("compact-alloc", "cuarena device, blocks", 64 * MIB, 1, allocs,
             (size_t)samples);
    must(cuarena_destroy(&arena));
}

/* ---- The clock ----------------------------------------------------------- */

static void measure_clock(void)
{
    double times[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begin = now_ns();
        for (int j = 0; j < ROUNDS; j++)
            (void)now_ns();
        times[i] = (double)(now_ns() - begin) / 1e3 / (ROUNDS + 1);
    }
    figures_t f = figures_of(times, SAMPLES);
    printf("# the clock: %.0f ns of every sample\n", f.median * 1e3);
    record_begin("clock");
    record_text("unit", "us");
    record_figures(&f);
    record_end();
}

/* ---- All of it ----------------------------------------------------------- */

#define MOST_CONTENDERS 16

typedef struct contenders {
    contender_t list[MOST_CONTENDERS];
    size_t count;
    char names[2][64];
} contenders_t;

static void add(contenders_t *all, contender_t contender)
{
    expect(all->count < MOST_CONTENDERS, "room for all contenders");
    all->list[all->count++] = contender;
}

static void add_driver(contenders_t *all)
{
    add(all, (contender_t){runtime.malloc_name, &plain, NULL, true, true, 0});
    if (runtime.malloc_async != NULL) {
        (void)snprintf(all->names[0], sizeof all->names[0], "%s, keep 0",
                       runtime.async_name);
        (void)snprintf(all->names[1], sizeof all->names[1], "%s, keep all",
                       runtime.async_name);
        add(all, (contender_t){all->names[0], &async, NULL, true, false, 0});
        add(all, (contender_t){all->names[1], &async, NULL, false, true,
                               UINT64_MAX});
    }
    if (runtime.malloc_managed != NULL)
        add(all, (contender_t){runtime.managed_name, &managed, NULL, true,
                               false, 0});
}

/* What knows no stream has an arena of its own. */
static void add_device(contenders_t *all, cuarena_t *idle, cuarena_t *streamed,
                       cuarena_t *low)
{
    add(all, (contender_t){"cuarena device, pointers", &pointers, idle, false,
                           true, 0});
    add(all,
        (contender_t){"cuarena device, blocks", &blocks, idle, false, true, 0});
    add(all, (contender_t){"cuarena device, pointers on a stream", &pointers_on,
                           streamed, false, true, 0});
    add(all, (contender_t){"cuarena device, blocks on a stream", &blocks_on,
                           streamed, false, true, 0});
    add(all, (contender_t){"cuarena device, pointers, placement=low", &pointers,
                           low, false, false, 0});
}

static void add_managed(contenders_t *all, cuarena_t *arena)
{
    add(all, (contender_t){"cuarena managed, pointers", &pointers, arena, false,
                           false, 0});
    add(all, (contender_t){"cuarena managed, blocks", &blocks, arena, false,
                           false, 0});
}

int main(int argc, char **argv)
{
    static contenders_t all;
    cuarena_t *shared = NULL;
    (void)gpu_open(&gpu, "cuda", argc, argv);
    runtime_open(&runtime, &gpu);
    measure_clock();
    cuarena_t *idle = open_pool(CUARENA_MEMORY_DEVICE, 0);
    cuarena_t *streamed = open_pool(CUARENA_MEMORY_DEVICE, 0);
    cuarena_t *low = gpu_packed_pool(&gpu, POOL_BYTES);
    add_driver(&all);
    add_device(&all, idle, streamed, low);
    if (runtime.malloc_managed != NULL) {
        shared = open_pool(CUARENA_MEMORY_MANAGED, 0);
        add_managed(&all, shared);
    }
    measure_rounds(all.list, all.count);
    measure_sizes(all.list, all.count);
    must(cuarena_destroy(&shared));
    must(cuarena_destroy(&low));
    must(cuarena_destroy(&streamed));
    must(cuarena_destroy(&idle));
    measure_compaction();
    measure_regions();
    gpu_close(&gpu);
    return EXIT_SUCCESS;
}
