/*
 * The preset bfc on each memory: what ONNX Runtime's own tests show of its
 * arena, under the names that they have there, with what we add where theirs
 * leave something out. Amounts are rounded up to the memory's grain, as
 * check_growth.c shows byte by byte.
 *
 * Left out are those of the driver's pool, which no preset has yet. With
 * CUARENA_TEST_CUDA it is another program, of memory that a driver gives.
 */
#include "arena_support.h"

#include <cuarena/device.h>
#include <cuarena/shared.h>
#include <cuarena/stats.h>
#include <cuarena/streams.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#endif

#define BFC CUARENA_PRESET_BFC
#define WHOLE (KIND_READABLE | KIND_GROWS | KIND_DEDICATES | KIND_GIVES_WHOLE)
#define INNER (KIND_READABLE | KIND_GROWS | KIND_DEDICATES | KIND_GIVES_BACK)

static const arena_kind_t kinds[] = {
#if defined(CUARENA_TEST_CUDA)
    {"bfc-vmm", BFC, CUARENA_MEMORY_DEVICE, INNER | KIND_DEVICE,
     CUARENA_BACKING_VMM, 0},
    {"bfc-malloc", BFC, CUARENA_MEMORY_DEVICE, WHOLE | KIND_DEVICE,
     CUARENA_BACKING_MALLOC, 0},
    {"bfc-async", BFC, CUARENA_MEMORY_DEVICE, WHOLE | KIND_DEVICE,
     CUARENA_BACKING_ASYNC, 0},
    {"bfc-managed", BFC, CUARENA_MEMORY_MANAGED, WHOLE, 0, 0},
    {"bfc-pinned", BFC, CUARENA_MEMORY_PINNED, WHOLE, 0, 0},
#else
    {"bfc-pageable", BFC, CUARENA_MEMORY_PAGEABLE, INNER, 0, 0},
    {"bfc-none", BFC, CUARENA_MEMORY_NONE, INNER & ~KIND_READABLE, 0, 0},
    {"bfc-custom", BFC, CUARENA_MEMORY_CUSTOM, INNER, 0, 0},
    {"bfc-custom-plain", BFC, CUARENA_MEMORY_CUSTOM, WHOLE, 0, 0},
#endif
};

#define KIND_COUNT ((int)COUNT_OF(kinds))

/* ---- Fixtures ------------------------------------------------------------ */

static fixture_t *opened(int kind, const char *options)
{
    static fixture_t f;
    fixture_prepare(&f, &kinds[kind], MIB(64));
    f.config.limit = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    if (kinds[kind].backing == CUARENA_BACKING_VMM)
        f.config.handle_bytes = MIB(2);
    if (kinds[kind].memory == CUARENA_MEMORY_CUSTOM &&
        (kinds[kind].traits & KIND_GIVES_WHOLE) != 0)
        test_memory_make_plain(&f.memory);
    expect_ok(cuarena_config_parse(&f.config, options));
    fixture_create(&f);
    return &f;
}

/* In whole grains of the memory. */
static uint64_t up(const fixture_t *f, uint64_t bytes)
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    expect_ok(cuarena_properties(f->arena, &properties));
    return (bytes + properties.grain_bytes - 1) / properties.grain_bytes *
           properties.grain_bytes;
}

static uint64_t held(const fixture_t *f)
{
    return stats_of(f, CUARENA_REGION_ALL).held_bytes;
}

static uint64_t growths(const fixture_t *f)
{
    return stats_of(f, CUARENA_REGION_ALL).grows;
}

static cuarena_ort_stats_t figures(const fixture_t *f)
{
    cuarena_ort_stats_t figures;
    cuarena_ort_stats_init(&figures);
    expect_ok(cuarena_ort_stats(f->arena, &figures));
    return figures;
}

static uint64_t allocated(const fixture_t *f, const void *pointer)
{
    uint64_t bytes = 0;
    expect_ok(cuarena_size_of(f->arena, pointer, NULL, &bytes));
    return bytes;
}

static cuarena_status_t reserve(fixture_t *f, uint64_t bytes, void **pointer)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    return cuarena_alloc_with(f->arena, bytes, &request, pointer);
}

static void shrink(fixture_t *f)
{
    step_ok(f, cuarena_trim(f->arena, 0, NULL));
}

/* Gives `limit` as max_mem and as the first chunk. */
static fixture_t *opened_with_budget(int kind, uint64_t limit)
{
    char options[128];
    snprintf(options, sizeof options,
             "arena.max_mem=%llu,arena.initial_chunk_size_bytes=%llu",
             (unsigned long long)limit, (unsigned long long)limit);
    return opened(kind, options);
}

static void expect_refused_config(const char *key, const char *value,
                                  const char *accepted)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_status(cuarena_config_set(&config, key, value),
                  CUARENA_BAD_ARGUMENT);
    const char *message = last_error().message;
    ck_assert_msg(strstr(message, key) != NULL &&
                      strstr(message, value) != NULL &&
                      strstr(message, accepted) != NULL,
                  "%s=%s: '%s' does not name key, value and '%s'", key, value,
                  message, accepted);
}

/* ---- Names of the plugin's tests ----------------------------------------- */

START_TEST(IsArena)
{
    fixture_t *f = opened(_i, "");
    expect_u64(held(f), 0);
    void *p = take(f, 1);
    expect_u64(held(f), up(f, MIB(1)));
    drop(f, p);
    expect_u64(held(f), up(f, MIB(1)));
    fixture_close(f);
}
END_TEST

START_TEST(CudaMemoryIsValid)
{
    fixture_t *f = opened(_i, "");
    void *p = take(f, 1024);
    paint(f, p, 1024, 7);
    expect_painted(f, p, 1024, 7);
    drop(f, p);
    fixture_close(f);
}
END_TEST

START_TEST(ArenaReusesMemory)
{
    fixture_t *f = opened(_i, "");
    void *first = take(f, 1024);
    drop(f, first);
    void *again = take(f, 1024);
    expect_ptr(again, first);
    expect_u64(growths(f), 1);
    drop(f, again);
    fixture_close(f);
}
END_TEST

START_TEST(MultipleAllocations)
{
    enum {
        COUNT = 64
    };
    fixture_t *f = opened(_i, "");
    void *p[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        p[i] = take(f, KIB(1) * (i + 1));
        paint(f, p[i], KIB(1) * (i + 1), i);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        expect_painted(f, p[i], KIB(1) * (i + 1), i);
        drop(f, p[i]);
    }
    fixture_close(f);
}
END_TEST

START_TEST(ZeroSizeAlloc)
{
    fixture_t *f = opened(_i, "");
    void *p = f;
    step_ok(f, cuarena_alloc(f->arena, 0, &p));
    ck_assert_ptr_null(p);
    expect_u64(stats_of(f, CUARENA_REGION_ALL).allocs, 0);
    expect_u64(held(f), 0);
    fixture_close(f);
}
END_TEST

START_TEST(LargeAllocation)
{
    fixture_t *f = opened(_i, "");
    void *p = take(f, MIB(32));
    expect_u64(held(f), MIB(32));
    paint(f, p, MIB(32), 3);
    expect_painted(f, p, MIB(32), 3);
    drop(f, p);
    fixture_close(f);
}
END_TEST

START_TEST(StatsTrackBytesInUse)
{
    fixture_t *f = opened(_i, "");
    void *p = take(f, 1000);
    void *q = take(f, 4096);
    expect_u64(live_bytes(f), 1024 + 4096);
    drop(f, p);
    expect_u64(live_bytes(f), 4096);
    drop(f, q);
    expect_u64(live_bytes(f), 0);
    expect_u64(stats_of(f, CUARENA_REGION_ALL).peak_live_bytes, 1024 + 4096);
    fixture_close(f);
}
END_TEST

/* Another arena in the place of the shared one has its own configuration;
 * memory that is its owner's is not shared. */
START_TEST(ReplaceWithCustomConfig)
{
    fixture_t *f = opened(_i, "");
    cuarena_config_t config = f->config;
    cuarena_t *first = f->arena;
    bool shared = config.memory != CUARENA_MEMORY_CUSTOM;
    drop(f, take(f, 16));
    expect_u64(held(f), up(f, MIB(1)));
    if (shared)
        expect_ok(cuarena_shared_acquire(&config, &f->arena, NULL));
    expect_ok(
        cuarena_config_set(&config, "arena.initial_chunk_size_bytes", "25600"));
    if (shared) {
        expect_ok(cuarena_shared_replace(&f->arena, &config, NULL));
    } else {
        expect_ok(cuarena_destroy(&first));
        expect_ok(cuarena_create(&config, &f->arena));
    }
    drop(f, take(f, 16));
    expect_u64((uint64_t)figures(f).total_allocated_bytes, up(f, 25600));
    expect_u64((uint64_t)figures(f).num_arena_extensions, 1);
    expect_u64((uint64_t)figures(f).num_allocs, 1);
    if (shared)
        expect_ok(cuarena_shared_release(&f->arena));
    else
        expect_ok(cuarena_destroy(&f->arena));
    expect_ok(cuarena_destroy(&first));
}
END_TEST

START_TEST(AllStatsKeysPresent)
{
    static const char *const keys[] = {"Limit",
                                       "InUse",
                                       "TotalAllocated",
                                       "MaxInUse",
                                       "NumAllocs",
                                       "NumReserves",
                                       "NumArenaExtensions",
                                       "NumArenaShrinkages",
                                       "MaxAllocSize",
                                       "RequestedInUse",
                                       "ReservedBytes"};
    fixture_t *f = opened(_i, "");
    char text[1024];
    expect_ok(cuarena_stats_text(f->arena, CUARENA_TEXT_ORT, text, sizeof text,
                                 NULL));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        char line[64];
        snprintf(line, sizeof line, "%s=", keys[i]);
        const char *found = strstr(text, line);
        ck_assert_msg(found != NULL && (found == text || found[-1] == '\n'),
                      "%s is missing in '%s'", keys[i], text);
    }
    fixture_close(f);
}
END_TEST

START_TEST(FreeNullptrIsSafe)
{
    fixture_t *f = opened(_i, "");
    step_ok(f, cuarena_free(f->arena, NULL));
    expect_u64(stats_of(f, CUARENA_REGION_ALL).frees, 0);
    fixture_close(f);
}
END_TEST

START_TEST(InvalidConfigIsRejected)
{
    expect_refused_config("arena.extend_strategy", "5", "0, 1");
    expect_refused_config("arena.initial_chunk_size_bytes", "abc",
                          "1 to 2147483647");
    expect_refused_config("arena.max_dead_bytes_per_chunk", "123abc",
                          "1 to 2147483647");
    expect_refused_config("arena.max_mem_bytes", "1", "max_mem");
}
END_TEST

START_TEST(NegativeConfigIsRejected)
{
    static const char *const keys[] = {
        "arena.extend_strategy",
        "arena.initial_chunk_size_bytes",
        "arena.max_dead_bytes_per_chunk",
        "arena.initial_growth_chunk_size_bytes",
        "arena.max_power_of_two_extend_bytes",
        "arena.max_mem",
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        expect_refused_config(keys[i], "-1", "accepted:");
}
END_TEST

START_TEST(InvalidMaxMemIsRejected)
{
    expect_refused_config("arena.max_mem", "lots", "from 0 on");
    expect_refused_config("arena.max_mem", "64k", "from 0 on");
    expect_refused_config("arena.max_mem", "18446744073709551616", "from 0 on");
}
END_TEST

START_TEST(MaxMemZeroTreatedAsUnlimited)
{
    fixture_t *f = opened(_i, "arena.max_mem=0");
    uint64_t limit = 0;
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_HELD, &limit));
    expect_u64(limit, UINT64_MAX);
    drop(f, take(f, MIB(2)));
    fixture_close(f);
}
END_TEST

START_TEST(ReserveRespectsBudget)
{
    fixture_t *f = opened_with_budget(_i, KIB(64));
    void *p = NULL;
    step(f, reserve(f, KIB(128), &p), CUARENA_LIMIT);
    ck_assert_ptr_null(p);
    expect_u64(held(f), 0);
    fixture_close(f);
}
END_TEST

START_TEST(ReserveWithinBudget)
{
    fixture_t *f = opened_with_budget(_i, MIB(6));
    void *p = NULL;
    step_ok(f, reserve(f, MIB(2), &p));
    expect_u64(held(f), MIB(2));
    expect_u64(stats_of(f, CUARENA_REGION_ALL).dedicated_bytes, MIB(2));
    void *q = take(f, MIB(4)); /* the chunk is cut to the rest */
    expect_u64(held(f), MIB(6));
    void *r = NULL;
    step(f, reserve(f, MIB(2), &r), CUARENA_LIMIT);
    drop(f, p);
    expect_u64(held(f), MIB(4));
    step_ok(f, reserve(f, MIB(2), &r));
    drop(f, r);
    drop(f, q);
    fixture_close(f);
}
END_TEST

START_TEST(SameAsRequestedStrategy)
{
    fixture_t *f = opened(_i, "arena.extend_strategy=1");
    void *p = take(f, MIB(4));
    expect_u64(held(f), MIB(4));
    void *q = take(f, MIB(10));
    expect_u64(held(f), MIB(14));
    drop(f, p);
    drop(f, q);
    fixture_close(f);
}
END_TEST

/* The rest of half a MiB is split off, or goes with the block. */
START_TEST(MaxDeadBytesConfig)
{
    static const char *const options[] = {
        "arena.initial_chunk_size_bytes=4194304,"
        "arena.max_dead_bytes_per_chunk=524288",
        "arena.initial_chunk_size_bytes=4194304,"
        "arena.max_dead_bytes_per_chunk=524289"};
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        fixture_t *f = opened(_i, options[i]);
        void *p = take(f, MIB(4) - KIB(512));
        expect_u64(allocated(f, p), i == 0 ? MIB(4) - KIB(512) : MIB(4));
        drop(f, p);
        fixture_close(f);
    }
}
END_TEST

START_TEST(InitialGrowthChunkSizeConfig)
{
    fixture_t *f = opened(_i, "arena.initial_growth_chunk_size_bytes=4194304");
    drop(f, take(f, 256));
    expect_u64(held(f), up(f, MIB(1)));
    shrink(f);
    expect_u64(held(f), 0);
    drop(f, take(f, 256));
    expect_u64(held(f), MIB(4));
    fixture_close(f);
}
END_TEST

START_TEST(MaxPowerOfTwoExtendConfig)
{
    static const uint64_t held_then[] = {2, 2, 6, 6, 6, 6, 10, 10, 10, 10, 14};
    fixture_t *f = opened(_i, "arena.initial_chunk_size_bytes=2097152,"
                              "arena.max_power_of_two_extend_bytes=4194304");
    void *p[COUNT_OF(held_then)];
    for (size_t i = 0; i < COUNT_OF(p); i++) {
        p[i] = take(f, MIB(1));
        expect_u64(held(f), MIB(held_then[i]));
    }
    drop_pointer_row(f, p, 0, 0);
    fixture_close_forced(f);
}
END_TEST

START_TEST(CombinedConfig)
{
    static const char *const keys[][2] = {
        {"arena.extend_strategy", "0"},
        {"arena.initial_chunk_size_bytes", "2097152"},
        {"arena.max_dead_bytes_per_chunk", "1048576"},
        {"arena.initial_growth_chunk_size_bytes", "4194304"},
        {"arena.max_power_of_two_extend_bytes", "8388608"},
        {"arena.max_mem", "16777216"},
    };
    fixture_t *f = opened(_i, "arena.extend_strategy=0,"
                              "arena.initial_chunk_size_bytes=2097152,"
                              "arena.max_dead_bytes_per_chunk=1048576,"
                              "arena.initial_growth_chunk_size_bytes=4194304,"
                              "arena.max_power_of_two_extend_bytes=8388608,"
                              "arena.max_mem=16777216");
    char text[32];
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        expect_ok(
            cuarena_config_get(&f->config, keys[i][0], text, sizeof text));
        expect_text(text, keys[i][1]);
    }
    void *p = take(f, MIB(2));
    expect_u64(held(f), MIB(2));
    void *q = take(f, MIB(9)); /* above the cap, cut to the limit */
    expect_u64(held(f), MIB(16));
    void *r = NULL;
    step(f, cuarena_alloc(f->arena, MIB(6), &r), CUARENA_LIMIT);
    drop(f, p);
    drop(f, q);
    shrink(f);
    drop(f, take(f, 1));
    expect_u64(held(f), MIB(4));
    fixture_close(f);
}
END_TEST

START_TEST(ChunkSplitting)
{
    fixture_t *f = opened(_i, "");
    void *p[8];
    for (size_t i = 0; i < COUNT_OF(p); i++)
        p[i] = take(f, KIB(64));
    expect_u64(growths(f), 1);
    expect_u64(live_bytes(f), 8 * KIB(64));
    for (size_t i = 0; i < COUNT_OF(p); i++)
        drop(f, p[i]);
    fixture_close(f);
}
END_TEST

START_TEST(ChunkCoalescing)
{
    fixture_t *f = opened(_i, "arena.initial_chunk_size_bytes=4194304");
    void *p[4];
    for (size_t i = 0; i < COUNT_OF(p); i++)
        p[i] = take(f, MIB(1));
    drop(f, p[0]);
    drop(f, p[2]);
    drop(f, p[1]);
    drop(f, p[3]);
    expect_u64(inspection_of(f, CUARENA_REGION_DYNAMIC).ranges, 1);
    void *all = take(f, MIB(4));
    expect_u64(growths(f), 1);
    drop(f, all);
    fixture_close(f);
}
END_TEST

START_TEST(MaxMemExhaustion)
{
    fixture_t *f = opened_with_budget(_i, MIB(4));
    void *p = take(f, MIB(4));
    void *q = NULL;
    step(f, cuarena_alloc(f->arena, 256, &q), CUARENA_LIMIT);
    ck_assert_ptr_null(q);
    cuarena_error_info_t error = last_error();
    expect_u64(error.asked_bytes, 256);
    expect_u64(error.limit_bytes, MIB(4));
    expect_u64(error.held_bytes, MIB(4));
    drop(f, p);
    drop(f, take(f, 256));
    fixture_close(f);
}
END_TEST

START_TEST(PinnedAllocator_CustomConfig)
{
    fixture_t *f = opened(_i, "arena.initial_chunk_size_bytes=16384");
    void *p = take(f, 4096);
    expect_u64(held(f), up(f, 16384));
    drop(f, p);
    fixture_close(f);
}
END_TEST

START_TEST(ShrinkFreesUnusedRegions)
{
    fixture_t *f = opened(_i, "");
    void *p = take(f, MIB(1));
    void *q = take(f, MIB(16));
    drop(f, p);
    drop(f, q);
    uint64_t given = 0;
    uint64_t before = held(f);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(given, before);
    expect_u64(held(f), 0);
    expect_u64(stats_of(f, CUARENA_REGION_ALL).trims, 1);
    fixture_close(f);
}
END_TEST

START_TEST(ShrinkKeepsLiveRegions)
{
    fixture_t *f = opened(_i, "arena.extend_strategy=1");
    void *p = take(f, MIB(2));
    void *q = take(f, MIB(4));
    paint(f, q, MIB(4), 9);
    drop(f, p);
    shrink(f);
    expect_u64(held(f), MIB(4));
    expect_painted(f, q, MIB(4), 9);
    shrink(f);
    expect_u64(held(f), MIB(4));
    p = take(f, MIB(2)); /* into the hole, or a segment more */
    expect_u64(held(f), MIB(6));
    drop(f, p);
    drop(f, q);
    fixture_close(f);
}
END_TEST

/* Between live blocks: a segment there, handles here. */
START_TEST(ShrinkGivesTheMiddleBack)
{
    fixture_t *f = opened(_i, "arena.extend_strategy=1");
    void *p[3];
    for (uint64_t i = 0; i < COUNT_OF(p); i++) {
        p[i] = take(f, MIB(4));
        paint(f, p[i], MIB(4), i);
    }
    drop(f, p[1]);
    shrink(f);
    expect_u64(held(f), MIB(8));
    expect_painted(f, p[0], MIB(4), 0);
    expect_painted(f, p[2], MIB(4), 2);
    p[1] = take(f, MIB(4));
    expect_u64(held(f), MIB(12));
    paint(f, p[1], MIB(4), 1);
    for (uint64_t i = 0; i < COUNT_OF(p); i++) {
        expect_painted(f, p[i], MIB(4), i);
        drop(f, p[i]);
    }
    fixture_close(f);
}
END_TEST

/* As many as are asked for, or the whole segment that they are part of. */
START_TEST(ShrinkToANumberOfBytes)
{
    fixture_t *f = opened(_i, "arena.extend_strategy=1");
    bool segments = (kinds[_i].traits & KIND_GIVES_WHOLE) != 0;
    void *p = take(f, MIB(4));
    void *q = take(f, MIB(8));
    drop(f, p);
    drop(f, q);
    uint64_t given = 0;
    step_ok(f, cuarena_trim(f->arena, MIB(12), &given));
    expect_u64(given, 0);
    step_ok(f, cuarena_trim(f->arena, MIB(10), &given));
    expect_u64(given, segments ? MIB(12) - held(f) : MIB(2));
    ck_assert_uint_le(held(f), MIB(10));
    ck_assert_uint_ge(held(f), MIB(4));
    fixture_close(f);
}
END_TEST

/* ---- Names of the tests in the tree -------------------------------------- */

/* Sizes 1 to 1023 once each. */
START_TEST(NoDups)
{
    enum {
        COUNT = 1023
    };
    static void *p[COUNT];
    fixture_t *f = opened(_i, "");
    uint64_t largest = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        expect_ok(cuarena_alloc(f->arena, i + 1, &p[i]));
        largest = allocated(f, p[i]) > largest ? allocated(f, p[i]) : largest;
        paint(f, p[i], i + 1, i);
    }
    expect_u64(live_bytes(f), 654336);
    expect_u64((uint64_t)figures(f).bytes_in_use, 654336);
    expect_u64((uint64_t)figures(f).max_alloc_size, 1024);
    expect_u64(largest, 1024);
    expect_u64(held(f), up(f, MIB(1)));
    for (uint64_t i = 0; i < COUNT; i++)
        expect_painted(f, p[i], i + 1, i);
    for (uint64_t i = 0; i < COUNT; i++)
        expect_ok(cuarena_free(f->arena, p[i]));
    fixture_close(f);
}
END_TEST

START_TEST(AllocationsAndDeallocations)
{
    enum {
        COUNT = 256
    };
    static void *p[COUNT];
    static uint64_t bytes[COUNT];
    random_state_t random = {.state = 17 + (uint64_t)_i};
    fixture_t *f = opened(_i, "");
    memset(p, 0, sizeof p);
    for (uint64_t round = 0; round < 4 * COUNT; round++) {
        uint64_t at = random_below(&random, COUNT);
        if (p[at] != NULL) {
            expect_painted(f, p[at], bytes[at], at);
            expect_ok(cuarena_free(f->arena, p[at]));
        }
        bytes[at] = 1 + random_below(&random, KIB(64));
        expect_ok(cuarena_alloc(f->arena, bytes[at], &p[at]));
        paint(f, p[at], bytes[at], at);
        if (round % 64 == 0)
            expect_sound(f);
    }
    for (size_t i = 0; i < COUNT; i++)
        expect_ok(cuarena_free(f->arena, p[i]));
    fixture_close(f);
}
END_TEST

/* After any freeing the free ranges are as few as the segments. */
START_TEST(ExerciseCoalescing)
{
    enum {
        COUNT = 128
    };
    static void *p[COUNT];
    fixture_t *f = opened(_i, "");
    for (uint64_t stride = 1; stride < 8; stride++) {
        for (uint64_t i = 0; i < COUNT; i++)
            expect_ok(cuarena_alloc(f->arena, 4096 + i * 997, &p[i]));
        for (uint64_t start = 0; start < stride; start++)
            for (uint64_t i = start; i < COUNT; i += stride)
                expect_ok(cuarena_free(f->arena, p[i]));
        expect_sound(f);
        cuarena_stats_t stats = stats_of(f, CUARENA_REGION_ALL);
        ck_assert_uint_le(inspection_of(f, CUARENA_REGION_DYNAMIC).ranges,
                          stats.segments);
        expect_u64(stats.free_bytes, stats.held_bytes);
    }
    fixture_close(f);
}
END_TEST

START_TEST(AllocateZeroBufSize)
{
    fixture_t *f = opened(_i, "");
    void *p = f;
    step_ok(f, reserve(f, 0, &p));
    ck_assert_ptr_null(p);
    fixture_close(f);
}
END_TEST

START_TEST(AllocatedVsRequested)
{
    fixture_t *f = opened(_i, "");
    uint64_t requested = 0, taken = 0;
    void *p = take(f, 4);
    expect_ok(cuarena_size_of(f->arena, p, &requested, &taken));
    expect_u64(requested, 4);
    expect_u64(taken, 256);
    drop(f, p);
    fixture_close(f);
}
END_TEST

START_TEST(TestCustomMemoryLimit)
{
    fixture_t *f = opened_with_budget(_i, MIB(64));
    void *p = take(f, MIB(60));
    expect_u64(held(f), MIB(64));
    void *q = NULL;
    step(f, cuarena_alloc(f->arena, MIB(10), &q), CUARENA_LIMIT);
    ck_assert_ptr_null(q);
    drop(f, p);
    fixture_close(f);
}
END_TEST

START_TEST(TestCustomMemoryLimitWithGrowth)
{
    fixture_t *f = opened(_i, "arena.max_mem=67108864");
    void *p = take(f, MIB(30)); /* a chunk of 32 MiB */
    void *q = take(f, MIB(32));
    void *r = NULL;
    expect_u64(held(f), MIB(64));
    step(f, cuarena_alloc(f->arena, MIB(10), &r), CUARENA_LIMIT);
    drop(f, p);
    drop(f, q);
    fixture_close(f);
}
END_TEST

START_TEST(TestReserve)
{
    fixture_t *f = opened(_i, "");
    void *p = take(f, 4096);
    uint64_t chunk = held(f);
    expect_u64(chunk, up(f, 1048576));
    void *q = NULL;
    step_ok(f, reserve(f, MIB(2), &q));
    expect_u64(held(f), chunk + MIB(2));
    expect_u64((uint64_t)figures(f).reserved_bytes, MIB(2));
    expect_u64((uint64_t)figures(f).num_reserves, 1);
    expect_u64(growths(f), 1);
    drop(f, q);
    expect_u64(held(f), chunk);
    drop(f, p);
    fixture_close(f);
}
END_TEST

START_TEST(BytesRequestedInUse)
{
    fixture_t *f = opened(_i, "");
    void *p = take(f, 100);
    void *q = take(f, 1000);
    expect_u64(stats_of(f, CUARENA_REGION_ALL).requested_bytes, 1100);
    expect_u64(live_bytes(f), 256 + 1024);
    drop(f, p);
    expect_u64(stats_of(f, CUARENA_REGION_ALL).requested_bytes, 1000);
    drop(f, q);
    expect_u64(stats_of(f, CUARENA_REGION_ALL).requested_bytes, 0);
    fixture_close(f);
}
END_TEST

START_TEST(BytesRequestedInUseWithReserve)
{
    fixture_t *f = opened(_i, "");
    void *p = take(f, 100);
    void *q = NULL;
    step_ok(f, reserve(f, MIB(2), &q));
    expect_u64(stats_of(f, CUARENA_REGION_ALL).requested_bytes, MIB(2) + 100);
    expect_u64(live_bytes(f), MIB(2) + 256);
    drop(f, q);
    expect_u64(stats_of(f, CUARENA_REGION_ALL).requested_bytes, 100);
    drop(f, p);
    fixture_close(f);
}
END_TEST

/* 1 KiB and 10 MiB, of which the first is freed: its segment goes. Where
 * segments lengthen both are in one, and whole grains of the free part go. */
START_TEST(TestShrink)
{
    fixture_t *f = opened(_i, "arena.extend_strategy=1");
    bool segments = (kinds[_i].traits & KIND_GIVES_WHOLE) != 0;
    void *p = take(f, KIB(1));
    void *q = take(f, MIB(10));
    if (segments)
        expect_u64(stats_of(f, CUARENA_REGION_ALL).segments, 2);
    drop(f, p);
    uint64_t before = held(f);
    uint64_t given = 0;
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(held(f), before - given);
    if (segments)
        expect_u64(held(f), up(f, MIB(10)));
    expect_u64(stats_of(f, CUARENA_REGION_ALL).segments, 1);
    if (segments) {
        expect_u64((uint64_t)figures(f).num_arena_extensions, 1);
        expect_u64((uint64_t)figures(f).num_arena_shrinkages, 1);
    }
    drop(f, q);
    shrink(f);
    expect_u64(held(f), 0);
    expect_u64((uint64_t)figures(f).num_arena_extensions, 0);
    expect_u64((uint64_t)figures(f).num_arena_shrinkages, 2);
    fixture_close(f);
}
END_TEST

/* More than there can be: an error, soon, and the arena is as it was. */
START_TEST(TestBackoffDoesntHang)
{
    fixture_t *f = opened(_i, "arena.initial_chunk_size_bytes=2147483647,"
                              "max_doubling=never");
    void *p = NULL;
    if (kinds[_i].memory == CUARENA_MEMORY_CUSTOM)
        f->memory.budget_bytes = MIB(64);
    step(f, cuarena_alloc(f->arena, UINT64_C(200) << 40, &p),
         CUARENA_OUT_OF_MEMORY);
    ck_assert_ptr_null(p);
    expect_u64(held(f), 0);
    p = take(f, KIB(1));
    drop(f, p);
    fixture_close(f);
}
END_TEST

START_TEST(TestExtendStrategy)
{
    static const uint64_t chunks[] = {1, 2, 4, 8, 8, 8};
    fixture_t *f = opened(_i, "arena.max_power_of_two_extend_bytes=8388608,"
                              "arena.max_dead_bytes_per_chunk=1");
    uint64_t want = 0;
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        uint64_t before = growths(f);
        void *p;
        while (growths(f) == before)
            expect_ok(cuarena_alloc(f->arena, MIB(1), &p));
        want += up(f, MIB(chunks[i]));
        expect_u64(held(f), want);
    }
    fixture_close_forced(f);
}
END_TEST

#if !defined(CUARENA_TEST_CUDA)

#define S1 ((cuarena_stream_t)(uintptr_t)0x1000)
#define S2 ((cuarena_stream_t)(uintptr_t)0x2000)

static void *take_on(fixture_t *f, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = NULL;
    step_ok(f, cuarena_alloc_on(f->arena, bytes, stream, NULL, &pointer));
    return pointer;
}

/* What a stream freed it has again; what a released stream held is everybody's
 * and coalesces. When others get it is for check_arena_streams.c. */
START_TEST(TwoStreamAllocation)
{
    fixture_t *f = opened(1, "arena.initial_chunk_size_bytes=65536");
    void *one = take_on(f, 4096, S1);
    void *first = take_on(f, 4096, S2);
    void *second = take_on(f, 4096, S2);
    step_ok(f, cuarena_free_on(f->arena, one, S1));
    expect_ptr(take_on(f, 4096, S1), one);
    step_ok(f, cuarena_free_on(f->arena, first, S2));
    step_ok(f, cuarena_free_on(f->arena, second, S2));
    step_ok(f, cuarena_release_stream(f->arena, S2));
    step_ok(f, cuarena_settle(f->arena, 1, NULL));
    expect_ptr(take_on(f, 8192, S1), first);
    fixture_close_forced(f);
}
END_TEST

#endif

/* ---- The list ------------------------------------------------------------ */

static void add(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = new_case(suite, name);
    for (; *tests != NULL; tests++)
        tcase_add_loop_test(tcase, *tests, 0, KIND_COUNT);
}

int main(void)
{
    Suite *suite = suite_create("bfc");
    add(suite, "plugin: serving",
        TEST_LIST(IsArena, CudaMemoryIsValid, ArenaReusesMemory,
                  MultipleAllocations, ZeroSizeAlloc, LargeAllocation,
                  StatsTrackBytesInUse, AllStatsKeysPresent, FreeNullptrIsSafe,
                  ChunkSplitting, ChunkCoalescing));
    add(suite, "plugin: configuration",
        TEST_LIST(ReplaceWithCustomConfig, MaxMemZeroTreatedAsUnlimited,
                  SameAsRequestedStrategy, MaxDeadBytesConfig,
                  InitialGrowthChunkSizeConfig, MaxPowerOfTwoExtendConfig,
                  CombinedConfig, PinnedAllocator_CustomConfig));
    suite_add_list(suite, "plugin: refusals",
                   TEST_LIST(InvalidConfigIsRejected, NegativeConfigIsRejected,
                             InvalidMaxMemIsRejected));
    add(suite, "plugin: limits",
        TEST_LIST(ReserveRespectsBudget, ReserveWithinBudget, MaxMemExhaustion,
                  ShrinkFreesUnusedRegions, ShrinkKeepsLiveRegions,
                  ShrinkGivesTheMiddleBack, ShrinkToANumberOfBytes));
    add(suite, "in the tree: serving",
        TEST_LIST(NoDups, AllocationsAndDeallocations, ExerciseCoalescing,
                  AllocateZeroBufSize, AllocatedVsRequested,
                  BytesRequestedInUse, BytesRequestedInUseWithReserve));
    add(suite, "in the tree: growth",
        TEST_LIST(TestCustomMemoryLimit, TestCustomMemoryLimitWithGrowth,
                  TestReserve, TestShrink, TestBackoffDoesntHang,
                  TestExtendStrategy));
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    suite_add_list(suite, "in the tree: streams",
                   TEST_LIST(TwoStreamAllocation));
    return suite_main(suite);
#endif
}
