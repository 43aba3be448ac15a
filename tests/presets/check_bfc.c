/*
 * The preset bfc on each memory: what the tests of ONNX Runtime's plugin show of its arena
 * (support/bfc_kinds.h), with what we add where theirs leave something out. What several of theirs
 * show is here once; what is so with every preset is in check_conformance.c, and chunks row by row
 * in check_growth.c.
 */
#include "support/bfc_kinds.h"

#include <stdio.h>
#include <string.h>

/* ---- Names of the plugin's tests ----------------------------------------- */

static const arena_row_t rows[] = {
    {"ArenaReusesMemory", "", "alloc a 1024; free a; alloc b 1024 at a; grows 1"},
    {"ReserveRespectsBudget", BUDGET("65536"), "alloc a 128K dedicated is LIMIT; reserved_bytes 0"},
    /* The chunk of 4 MiB is cut to the rest. */
    {"ReserveWithinBudget", BUDGET("6291456"),
     "alloc a 2M dedicated; reserved_bytes 2M dedicated_bytes 2M; alloc b 4M; reserved_bytes 6M; "
     "alloc c 2M dedicated is LIMIT; free a; reserved_bytes 4M; alloc c 2M dedicated"},
    {"MaxMemExhaustion", BUDGET("4194304"),
     "alloc a 4M; alloc b 256 is LIMIT limit 4M reserved 4M; free a; alloc b 256"},
};

START_TEST(Rows)
{
    bfc_run(_i % BFC_KINDS, &rows[_i / BFC_KINDS]);
}
END_TEST

START_TEST(IsArena)
{
    fixture_t *f = bfc_opened(_i, "");
    expect_u64(reserved_bytes(f), 0);
    void *p = alloc_ok(f, 1);
    expect_u64(reserved_bytes(f), up(f, MIB(1)));
    free_ok(f, p);
    expect_u64(reserved_bytes(f), up(f, MIB(1)));
}
END_TEST

/* Another arena in the place of the shared one has its own configuration; memory that is its
 * owner's is not shared. */
START_TEST(ReplaceWithCustomConfig)
{
    fixture_t *f = bfc_opened(_i, "");
    cuarena_config_t config = f->config;
    cuarena_t *first = f->arena;
    bool shared = config.memory != CUARENA_MEMORY_CUSTOM;
    free_ok(f, alloc_ok(f, 16));
    expect_u64(reserved_bytes(f), up(f, MIB(1)));
    if (shared)
        expect_ok(cuarena_shared_acquire(&config, &f->arena, NULL));
    expect_ok(cuarena_config_set(&config, "arena.initial_chunk_size_bytes", "25600"));
    if (shared) {
        expect_ok(cuarena_shared_replace(&f->arena, &config, NULL));
    } else {
        expect_ok(cuarena_destroy(&first));
        expect_ok(cuarena_create(&config, &f->arena));
    }
    free_ok(f, alloc_ok(f, 16));
    expect_u64((uint64_t)figures(f).total_allocated_bytes, up(f, 25600));
    expect_u64((uint64_t)figures(f).num_arena_extensions, 1);
    expect_u64((uint64_t)figures(f).num_allocs, 1);
    if (shared) {
        expect_ok(cuarena_shared_release(&f->arena));
    } else {
        expect_ok(cuarena_destroy(&f->arena));
        f->memory.counts[OP_END]--; /* two arenas had it, one after the other */
    }
    expect_ok(cuarena_destroy(&first));
}
END_TEST

START_TEST(AllStatsKeysPresent)
{
    static const char *const keys[] = {
        "Limit",        "InUse",          "TotalAllocated",     "MaxInUse",
        "NumAllocs",    "NumReserves",    "NumArenaExtensions", "NumArenaShrinkages",
        "MaxAllocSize", "RequestedInUse", "ReservedBytes"};
    fixture_t *f = bfc_opened(_i, "");
    char text[1024];
    expect_ok(cuarena_stats_text(f->arena, CUARENA_TEXT_ORT, text, sizeof text, NULL));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        char line[64];
        snprintf(line, sizeof line, "%s=", keys[i]);
        const char *found = strstr(text, line);
        ck_assert_msg(found != NULL && (found == text || found[-1] == '\n'),
                      "%s is missing in '%s'", keys[i], text);
    }
}
END_TEST

START_TEST(InvalidConfigIsRejected)
{
    expect_refused_config("arena.extend_strategy", "5", "0, 1");
    expect_refused_config("arena.initial_chunk_size_bytes", "abc", "1 to 2147483647");
    expect_refused_config("arena.max_dead_bytes_per_chunk", "123abc", "1 to 2147483647");
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
    fixture_t *f = bfc_opened(_i, "arena.max_mem=0");
    uint64_t limit = 0;
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, UINT64_MAX);
    free_ok(f, alloc_ok(f, MIB(2)));
}
END_TEST

/* The rest of half a MiB is split off, or goes with the block. */
START_TEST(MaxDeadBytesConfig)
{
    static const char *const options[] = {"arena.initial_chunk_size_bytes=4194304,"
                                          "arena.max_dead_bytes_per_chunk=524288",
                                          "arena.initial_chunk_size_bytes=4194304,"
                                          "arena.max_dead_bytes_per_chunk=524289"};
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        fixture_t *f = bfc_opened(_i, options[i]);
        void *p = alloc_ok(f, MIB(4) - KIB(512));
        expect_u64(allocated_bytes(f, p), i == 0 ? MIB(4) - KIB(512) : MIB(4));
        free_ok(f, p);
        fixture_close(f);
    }
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
    fixture_t *f = bfc_opened(_i, "arena.extend_strategy=0,"
                                  "arena.initial_chunk_size_bytes=2097152,"
                                  "arena.max_dead_bytes_per_chunk=1048576,"
                                  "arena.initial_growth_chunk_size_bytes=4194304,"
                                  "arena.max_power_of_two_extend_bytes=8388608,"
                                  "arena.max_mem=16777216");
    char text[32];
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        expect_ok(cuarena_config_get(&f->config, keys[i][0], text, sizeof text));
        expect_text(text, keys[i][1]);
    }
    void *p = alloc_ok(f, MIB(2));
    expect_u64(reserved_bytes(f), MIB(2));
    void *q = alloc_ok(f, MIB(9)); /* above the cap, cut to the limit */
    expect_u64(reserved_bytes(f), MIB(16));
    void *r = NULL;
    step(f, cuarena_alloc(f->arena, MIB(6), &r), CUARENA_LIMIT);
    free_ok(f, p);
    free_ok(f, q);
    shrink(f);
    free_ok(f, alloc_ok(f, 1));
    expect_u64(reserved_bytes(f), MIB(4));
}
END_TEST

START_TEST(ChunkCoalescing)
{
    fixture_t *f = bfc_opened(_i, "arena.initial_chunk_size_bytes=4194304");
    void *p[4];
    for (size_t i = 0; i < COUNT_OF(p); i++)
        p[i] = alloc_ok(f, MIB(1));
    free_ok(f, p[0]);
    free_ok(f, p[2]);
    free_ok(f, p[1]);
    free_ok(f, p[3]);
    expect_u64(inspection_of(f, CUARENA_REGION_DYNAMIC).ranges, 1);
    void *all = alloc_ok(f, MIB(4));
    expect_u64(growths(f), 1);
    free_ok(f, all);
}
END_TEST

START_TEST(ShrinkFreesUnusedRegions)
{
    fixture_t *f = bfc_opened(_i, "");
    void *p = alloc_ok(f, MIB(1));
    void *q = alloc_ok(f, MIB(16));
    free_ok(f, p);
    free_ok(f, q);
    uint64_t given = 0;
    uint64_t before = reserved_bytes(f);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(given, before);
    expect_u64(reserved_bytes(f), 0);
    expect_u64(stats_of(f).trims, 1);
}
END_TEST

START_TEST(ShrinkKeepsLiveRegions)
{
    fixture_t *f = bfc_opened(_i, "arena.extend_strategy=1");
    void *p = alloc_ok(f, MIB(2));
    void *q = alloc_ok(f, MIB(4));
    expect_u64(reserved_bytes(f), MIB(6));
    paint(f, q, MIB(4), 9);
    free_ok(f, p);
    shrink(f);
    expect_u64(reserved_bytes(f), MIB(4));
    expect_painted(f, q, MIB(4), 9);
    shrink(f);
    expect_u64(reserved_bytes(f), MIB(4));
    p = alloc_ok(f, MIB(2)); /* into the hole, or a segment more */
    expect_u64(reserved_bytes(f), MIB(6));
    free_ok(f, p);
    free_ok(f, q);
}
END_TEST

/* Between live blocks: a segment there, handles here. */
START_TEST(ShrinkGivesTheMiddleBack)
{
    fixture_t *f = bfc_opened(_i, "arena.extend_strategy=1");
    void *p[3];
    for (uint64_t i = 0; i < COUNT_OF(p); i++) {
        p[i] = alloc_ok(f, MIB(4));
        paint(f, p[i], MIB(4), i);
    }
    free_ok(f, p[1]);
    shrink(f);
    expect_u64(reserved_bytes(f), MIB(8));
    expect_painted(f, p[0], MIB(4), 0);
    expect_painted(f, p[2], MIB(4), 2);
    p[1] = alloc_ok(f, MIB(4));
    expect_u64(reserved_bytes(f), MIB(12));
    paint(f, p[1], MIB(4), 1);
    for (uint64_t i = 0; i < COUNT_OF(p); i++) {
        expect_painted(f, p[i], MIB(4), i);
        free_ok(f, p[i]);
    }
}
END_TEST

/* As many as are asked for, or the whole segment that they are part of. */
START_TEST(ShrinkToANumberOfBytes)
{
    fixture_t *f = bfc_opened(_i, "arena.extend_strategy=1");
    bool segments = (bfc_kinds[_i]->traits & KIND_GIVES_WHOLE) != 0;
    void *p = alloc_ok(f, MIB(4));
    void *q = alloc_ok(f, MIB(8));
    free_ok(f, p);
    free_ok(f, q);
    uint64_t given = 0;
    step_ok(f, cuarena_trim(f->arena, MIB(12), &given));
    expect_u64(given, 0);
    step_ok(f, cuarena_trim(f->arena, MIB(10), &given));
    expect_u64(given, segments ? MIB(12) - reserved_bytes(f) : MIB(2));
    ck_assert_uint_le(reserved_bytes(f), MIB(10));
    ck_assert_uint_ge(reserved_bytes(f), MIB(4));
}
END_TEST

/* ---- The list ------------------------------------------------------------ */

int main(void)
{
    Suite *suite = suite_create("bfc");
    add_bfc_rows(suite, "plugin: rows", Rows, COUNT_OF(rows));
    add_per_bfc_kind(suite, "plugin: serving",
                     TEST_LIST(IsArena, AllStatsKeysPresent, ChunkCoalescing));
    add_per_bfc_kind(suite, "plugin: configuration",
                     TEST_LIST(ReplaceWithCustomConfig, MaxMemZeroTreatedAsUnlimited,
                               MaxDeadBytesConfig, CombinedConfig));
    suite_add_list(
        suite, "plugin: refusals",
        TEST_LIST(InvalidConfigIsRejected, NegativeConfigIsRejected, InvalidMaxMemIsRejected));
    add_per_bfc_kind(suite, "plugin: limits",
                     TEST_LIST(ShrinkFreesUnusedRegions, ShrinkKeepsLiveRegions,
                               ShrinkGivesTheMiddleBack, ShrinkToANumberOfBytes));
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    return suite_main(suite);
#endif
}
