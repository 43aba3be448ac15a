/*
 * What an allocation costs a program on a device: the rounds that cuArena's
 * own benchmark makes, from the driver and from an arena, pointers and blocks, with and without a
 * stream. The host's clock around calls; nobody touches the memory.
 *
 *   large       8 MiB allocated and freed
 *   batch       512 blocks of 1 KiB allocated, then freed in that order
 *   ping-pong   4 live blocks of 1 MiB, one of them freed and allocated
 *   resize      1 MiB resized to 2, 4, ... 128 MiB, then freed; the driver's
 *               memory is freed and allocated instead, and contents are lost
 *   compact     every other one of 8 blocks of 32 MiB freed, the other four
 *               packed, waited for; then 64 MiB allocated, without a stream
 *               and on that of the compaction
 *   region      a pair of calls in the stable region, and in the rest
 *   pair        by size
 *
 * A sample is 100 rounds where the clock would count, else one; the stream is waited for before
 * each, outside of it, which is when the driver's pool gives back what is over its threshold.
 * Contenders take turns, so that all of them meet the same machine. One that takes very long gets
 * fewer samples.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "runtime.h"

#define SAMPLES 500
#define WARM_UP 50
#define TURNS 10
#define MOST_MS 400 /* of one turn, but not below LEAST_SAMPLES */
#define LEAST_SAMPLES 5
#define ROUNDS 100
#define BATCH 512
#define MOST_CONTENDERS 16
#define POOL_BYTES (4 * GIB)
#define STABLE_BYTES (POOL_BYTES / 2) /* so that both regions are alike */

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
static cuarena_request_t stable_request;
static cuarena_request_t dynamic_request;

static inline void must_rt(int result)
{
    expect(result == 0, "an allocation or free of the driver");
}

/* ---- Ways to allocate ---------------------------------------------------- */

/* Each is a pair of calls with a slot between them. */
#define PLAIN_TAKE(bytes, slot) must_rt(runtime.malloc(&(slot)->pointer, bytes))
#define PLAIN_GIVE(slot) must_rt(runtime.free((slot)->pointer))

#define MANAGED_TAKE(bytes, slot)                                                                  \
    must_rt(runtime.malloc_managed(&(slot)->pointer, bytes, CUAI_CU_MEM_ATTACH_GLOBAL))
#define MANAGED_GIVE(slot) PLAIN_GIVE(slot)

#define ASYNC_TAKE(bytes, slot) must_rt(runtime.malloc_async(&(slot)->pointer, bytes, gpu.stream))
#define ASYNC_GIVE(slot) must_rt(runtime.free_async((slot)->pointer, gpu.stream))

#define POINTERS_TAKE(bytes, slot) must(cuarena_alloc(stage->arena, bytes, &(slot)->pointer))
#define POINTERS_GIVE(slot) must(cuarena_free(stage->arena, (slot)->pointer))

#define IN_STABLE_TAKE(bytes, slot)                                                                \
    must(cuarena_alloc_with(stage->arena, bytes, &stable_request, &(slot)->pointer))
#define IN_STABLE_GIVE(slot) POINTERS_GIVE(slot)
#define IN_DYNAMIC_TAKE(bytes, slot)                                                               \
    must(cuarena_alloc_with(stage->arena, bytes, &dynamic_request, &(slot)->pointer))
#define IN_DYNAMIC_GIVE(slot) POINTERS_GIVE(slot)

#define BLOCKS_TAKE(bytes, slot) must(cuarena_block_alloc(stage->arena, bytes, &(slot)->block))
#define BLOCKS_GIVE(slot) must(cuarena_block_free(stage->arena, (slot)->block))

#define POINTERS_ON_TAKE(bytes, slot)                                                              \
    must(cuarena_alloc_on(stage->arena, bytes, gpu.stream, NULL, &(slot)->pointer))
#define POINTERS_ON_GIVE(slot) must(cuarena_free_on(stage->arena, (slot)->pointer, gpu.stream))

#define BLOCKS_ON_TAKE(bytes, slot)                                                                \
    must(cuarena_block_alloc_on(stage->arena, bytes, gpu.stream, NULL, &(slot)->block))
#define BLOCKS_ON_GIVE(slot) must(cuarena_block_free_on(stage->arena, (slot)->block, gpu.stream))

/* What a slot changes its size by; NAME_RESIZE(bytes, slot). */
#define POINTERS_RESIZE(bytes, slot)                                                               \
    must(cuarena_resize(stage->arena, (slot)->pointer, bytes, &(slot)->pointer))
#define IN_STABLE_RESIZE POINTERS_RESIZE
#define IN_DYNAMIC_RESIZE POINTERS_RESIZE
#define BLOCKS_RESIZE(bytes, slot) must(cuarena_block_resize(stage->arena, (slot)->block, bytes))
#define POINTERS_ON_RESIZE(bytes, slot)                                                            \
    must(cuarena_resize_on(stage->arena, (slot)->pointer, bytes, gpu.stream, &(slot)->pointer))
#define BLOCKS_ON_RESIZE(bytes, slot)                                                              \
    must(cuarena_block_resize_on(stage->arena, (slot)->block, bytes, gpu.stream))
#define PLAIN_RESIZE(bytes, slot) (PLAIN_GIVE(slot), PLAIN_TAKE(bytes, slot))
#define MANAGED_RESIZE(bytes, slot) (MANAGED_GIVE(slot), MANAGED_TAKE(bytes, slot))
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
#define DEFINE_WAY(name, NAME)                                                                     \
    static void name##_pair(stage_t *stage)                                                        \
    {                                                                                              \
        for (unsigned i = 0; i < stage->rounds; i++) {                                             \
            NAME##_TAKE(stage->bytes, &stage->live[0]);                                            \
            NAME##_GIVE(&stage->live[0]);                                                          \
        }                                                                                          \
    }                                                                                              \
    static void name##_batch(stage_t *stage)                                                       \
    {                                                                                              \
        for (int i = 0; i < BATCH; i++)                                                            \
            NAME##_TAKE(KIB, &stage->live[i]);                                                     \
        for (int i = 0; i < BATCH; i++)                                                            \
            NAME##_GIVE(&stage->live[i]);                                                          \
    }                                                                                              \
    static void name##_ping_pong(stage_t *stage)                                                   \
    {                                                                                              \
        for (unsigned i = 0; i < stage->rounds; i++) {                                             \
            slot_t *slot = &stage->live[stage->turn++ % 4];                                        \
            NAME##_GIVE(slot);                                                                     \
            NAME##_TAKE(MIB, slot);                                                                \
        }                                                                                          \
    }                                                                                              \
    static void name##_ping_pong_begin(stage_t *stage)                                             \
    {                                                                                              \
        for (int i = 0; i < 4; i++)                                                                \
            NAME##_TAKE(MIB, &stage->live[i]);                                                     \
    }                                                                                              \
    static void name##_ping_pong_end(stage_t *stage)                                               \
    {                                                                                              \
        for (int i = 0; i < 4; i++)                                                                \
            NAME##_GIVE(&stage->live[i]);                                                          \
    }                                                                                              \
    static void name##_resize(stage_t *stage)                                                      \
    {                                                                                              \
        for (unsigned i = 0; i < stage->rounds; i++) {                                             \
            NAME##_TAKE(MIB, &stage->live[0]);                                                     \
            for (uint64_t bytes = 2 * MIB; bytes <= 128 * MIB; bytes *= 2)                         \
                NAME##_RESIZE(bytes, &stage->live[0]);                                             \
            NAME##_GIVE(&stage->live[0]);                                                          \
        }                                                                                          \
    }                                                                                              \
    static const way_t name = {name##_pair,          name##_batch,                                 \
                               name##_ping_pong,     name##_ping_pong_begin,                       \
                               name##_ping_pong_end, name##_resize};

DEFINE_WAY(plain, PLAIN)
DEFINE_WAY(managed, MANAGED)
DEFINE_WAY(async, ASYNC)
DEFINE_WAY(pointers, POINTERS)
DEFINE_WAY(in_stable, IN_STABLE)
DEFINE_WAY(in_dynamic, IN_DYNAMIC)
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
    printf("\n%s\n%-46s %10s %10s %10s %10s %10s %7s %6s\n", title, unit, "median", "mean", "p99",
           "least", "most", "samples", "rounds");
}

static void tell_row(const char *name, const char *who, uint64_t bytes, unsigned rounds,
                     double *times, size_t count)
{
    figures_t f = figures_of(times, count);
    printf("  %-44s %10.3f %10.3f %10.3f %10.3f %10.3f %7zu %6u\n", who, f.median, f.mean, f.p99,
           f.least, f.most, f.samples, rounds);
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

/* ---- Courses ------------------------------------------------------------- */

typedef enum course_kind {
    PAIR,
    BATCH_OF_SMALL,
    PING_PONG,
    RESIZE
} course_kind_t;

/* The same round for every contender. */
typedef struct course {
    const char *name;
    const char *title;
    course_kind_t kind;
    uint64_t bytes; /* of a pair */
} course_t;

typedef struct row {
    double times[SAMPLES];
    size_t count;
    unsigned rounds;
} row_t;

static round_fn round_of(const way_t *way, course_kind_t kind)
{
    switch (kind) {
    case BATCH_OF_SMALL:
        return way->batch;
    case PING_PONG:
        return way->ping_pong;
    case RESIZE:
        return way->resize;
    case PAIR:
        break;
    }
    return way->pair;
}

static double time_round(stage_t *stage, round_fn round)
{
    gpu_wait(&gpu);
    uint64_t begin = now_ns();
    round(stage);
    return (double)(now_ns() - begin) / 1e3 / stage->rounds;
}

/* As many more samples as one turn has. */
static void sample(stage_t *stage, round_fn round, row_t *row)
{
    size_t warm_up = (gpu.quick ? 10 : WARM_UP) / TURNS;
    size_t most = (gpu.quick ? 20 : SAMPLES) / TURNS;
    uint64_t until = now_ns() + MOST_MS * 1000000ULL;
    for (size_t i = 0; i < warm_up; i++)
        (void)time_round(stage, round);
    for (size_t i = 0; i < most; i++) {
        row->times[row->count++] = time_round(stage, round);
        if (i + 1 >= LEAST_SAMPLES && now_ns() > until)
            break;
    }
}

static void take_turn(const contender_t *contender, const course_t *course, row_t *row)
{
    static stage_t stage;
    const way_t *way = contender->way;
    bool one = contender->single || course->kind == BATCH_OF_SMALL;
    memset(&stage, 0, sizeof stage);
    stage.arena = contender->arena;
    stage.bytes = course->bytes;
    stage.rounds = row->rounds = one ? 1 : ROUNDS;
    if (way == &async)
        runtime_keep(&gpu, contender->keep);
    if (course->kind == PING_PONG)
        way->ping_pong_begin(&stage);
    sample(&stage, round_of(way, course->kind), row);
    if (course->kind == PING_PONG)
        way->ping_pong_end(&stage);
    if (way == &async)
        runtime_trim(&gpu);
}

/* Of those that take part in the rows by size, or of all. */
static void run_course(const course_t *course, const contender_t *list, size_t count, bool sweep)
{
    static row_t rows[MOST_CONTENDERS];
    memset(rows, 0, sizeof rows);
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < count; i++)
            if (list[i].sweeps || !sweep)
                take_turn(&list[i], course, &rows[i]);
    print_head(course->title, "us");
    for (size_t i = 0; i < count; i++)
        if (rows[i].count > 0)
            tell_row(course->name, list[i].name, course->bytes, rows[i].rounds, rows[i].times,
                     rows[i].count);
}

static void measure_rounds(const contender_t *list, size_t count)
{
    static const course_t courses[] = {
        {"large", "large: 8 MiB allocated and freed", PAIR, 8 * MIB},
        {"batch", "batch: 512 of 1 KiB allocated, then freed", BATCH_OF_SMALL, 0},
        {"ping-pong", "ping-pong: one of 4 live blocks of 1 MiB replaced", PING_PONG, 0},
        {"resize", "resize: 1 MiB to 2, 4, ... 128 MiB, then freed", RESIZE, 0}};
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++)
        run_course(&courses[i], list, count, false);
}

static void measure_sizes(const contender_t *list, size_t count)
{
    static const uint64_t sizes[] = {256,     4 * KIB,  64 * KIB, 256 * KIB, MIB,
                                     2 * MIB, 16 * MIB, 64 * MIB, 512 * MIB, 2 * GIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char title[64];
        (void)snprintf(title, sizeof title, "pair of %s", size_name(sizes[i]));
        course_t course = {"pair", title, PAIR, sizes[i]};
        run_course(&course, list, count, true);
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
    cuarena_request_init(&dynamic_request);
    cuarena_request_init(&stable_request);
    stable_request.region = CUARENA_REGION_STABLE;
    const contender_t list[] = {{"cuarena device, stable", &in_stable, arena, false, true, 0},
                                {"cuarena device, dynamic", &in_dynamic, arena, false, true, 0}};
    for (int i = 0; i < 3; i++) {
        char title[64];
        (void)snprintf(title, sizeof title, "regions: pair of %s", size_name(sizes[i]));
        course_t course = {"region", title, PAIR, sizes[i]};
        run_course(&course, list, 2, true);
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

/* Microseconds of a compaction and of an allocation after it. */
static void pack_and_take(cuarena_t *arena, cuarena_stream_t stream, double *pack, double *take)
{
    cuarena_block_t block;
    make_holes(arena);
    uint64_t begin = now_ns();
    compact_and_wait(arena);
    uint64_t packed = now_ns();
    must(cuarena_block_alloc_on(arena, 64 * MIB, stream, NULL, &block));
    *take = (double)(now_ns() - packed) / 1e3;
    *pack = (double)(packed - begin) / 1e3;
    must(cuarena_reset(arena));
}

static void measure_compaction(void)
{
    static double packs[SAMPLES];
    static double takes[2][SAMPLES];
    cuarena_t *arena = gpu_packed_pool(&gpu, POOL_BYTES);
    int warm_up = gpu.quick ? 1 : WARM_UP;
    int samples = gpu.quick ? 5 : SAMPLES;
    for (int i = -warm_up; i < samples; i++) {
        int at = i < 0 ? 0 : i;
        pack_and_take(arena, gpu.stream, &packs[at], &takes[1][at]);
        pack_and_take(arena, CUARENA_NO_STREAM, &packs[at], &takes[0][at]);
    }
    print_head("compact: 128 MiB of 256 MiB packed, then 64 MiB allocated", "us");
    tell_row("compact", "cuarena device, compact and wait", 0, 1, packs, (size_t)samples);
    tell_row("compact-alloc", "cuarena device, blocks", 64 * MIB, 1, takes[0], (size_t)samples);
    tell_row("compact-alloc", "cuarena device, blocks on a stream", 64 * MIB, 1, takes[1],
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
        (void)snprintf(all->names[0], sizeof all->names[0], "%s, keep 0", runtime.async_name);
        (void)snprintf(all->names[1], sizeof all->names[1], "%s, keep all", runtime.async_name);
        add(all, (contender_t){all->names[0], &async, NULL, true, false, 0});
        add(all, (contender_t){all->names[1], &async, NULL, false, true, UINT64_MAX});
    }
    if (runtime.malloc_managed != NULL)
        add(all, (contender_t){runtime.managed_name, &managed, NULL, true, false, 0});
}

/* What knows no stream has an arena of its own. */
static void add_device(contenders_t *all, cuarena_t *idle, cuarena_t *streamed, cuarena_t *low)
{
    add(all, (contender_t){"cuarena device, pointers", &pointers, idle, false, true, 0});
    add(all, (contender_t){"cuarena device, blocks", &blocks, idle, false, true, 0});
    add(all, (contender_t){"cuarena device, pointers on a stream", &pointers_on, streamed, false,
                           true, 0});
    add(all,
        (contender_t){"cuarena device, blocks on a stream", &blocks_on, streamed, false, true, 0});
    add(all,
        (contender_t){"cuarena device, pointers, placement=low", &pointers, low, false, false, 0});
}

static void add_managed(contenders_t *all, cuarena_t *arena)
{
    add(all, (contender_t){"cuarena managed, pointers", &pointers, arena, false, false, 0});
    add(all, (contender_t){"cuarena managed, blocks", &blocks, arena, false, false, 0});
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
