/*
 * The preset bfc on each memory: what the tests in ONNX Runtime's tree show of its arena
 * (support/bfc_kinds.h), with what we add where theirs leave something out, and without what
 * check_bfc.c and check_conformance.c show.
 */
#include "support/bfc_kinds.h"
#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_work.h"
#else
#include "support/fixture_streams.h"
#endif

#include <stdio.h>
#include <string.h>

/* ---- Names of the tests in the tree -------------------------------------- */

static const arena_row_t rows[] = {
    {"AllocateZeroBufSize", "", "alloc a 0 dedicated; alloc a 0; reserved_bytes 0"},
    /* The first chunk has 32 MiB. */
    {"TestCustomMemoryLimitWithGrowth", "arena.max_mem=67108864",
     "alloc a 30M; alloc b 32M; reserved_bytes 64M; alloc c 10M is LIMIT"},
    {"BytesRequestedInUse", "",
     "alloc a 100; alloc b 1000; requested_bytes 1100 live_bytes 1280; free a; "
     "requested_bytes 1000; free b; requested_bytes 0 peak_live_bytes 1280"},
};

START_TEST(Rows)
{
    bfc_run(_i % BFC_KINDS, &rows[_i / BFC_KINDS]);
}
END_TEST

/* Sizes 1 to 1023 once each. */
START_TEST(NoDups)
{
    enum {
        COUNT = 1023
    };
    static void *p[COUNT];
    fixture_t *f = bfc_opened(_i, "");
    uint64_t largest = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        expect_ok(cuarena_alloc(f->arena, i + 1, &p[i]));
        largest = allocated_bytes(f, p[i]) > largest ? allocated_bytes(f, p[i]) : largest;
        paint(f, p[i], i + 1, i);
    }
    expect_u64(live_bytes(f), 654336);
    expect_u64((uint64_t)figures(f).bytes_in_use, 654336);
    expect_u64((uint64_t)figures(f).max_alloc_size, 1024);
    expect_u64(largest, 1024);
    expect_u64(reserved_bytes(f), up(f, MIB(1)));
    for (uint64_t i = 0; i < COUNT; i++)
        expect_painted(f, p[i], i + 1, i);
    for (uint64_t i = 0; i < COUNT; i++)
        expect_ok(cuarena_free(f->arena, p[i]));
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
    fixture_t *f = bfc_opened(_i, "");
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
}
END_TEST

/* After any freeing the free ranges are as few as the segments. */
START_TEST(ExerciseCoalescing)
{
    enum {
        COUNT = 128
    };
    static void *p[COUNT];
    fixture_t *f = bfc_opened(_i, "");
    for (uint64_t stride = 1; stride < 8; stride++) {
        for (uint64_t i = 0; i < COUNT; i++)
            expect_ok(cuarena_alloc(f->arena, 4096 + i * 997, &p[i]));
        for (uint64_t start = 0; start < stride; start++)
            for (uint64_t i = start; i < COUNT; i += stride)
                expect_ok(cuarena_free(f->arena, p[i]));
        expect_sound(f);
        cuarena_stats_t stats = stats_of(f);
        ck_assert_uint_le(inspection_of(f, CUARENA_REGION_DYNAMIC).ranges, stats.segments);
        expect_u64(stats.free_bytes, stats.reserved_bytes);
    }
}
END_TEST

START_TEST(TestReserve)
{
    fixture_t *f = bfc_opened(_i, "");
    void *p = alloc_ok(f, 100);
    uint64_t chunk = reserved_bytes(f);
    expect_u64(chunk, up(f, 1048576));
    void *q = alloc_dedicated(f, MIB(2));
    expect_u64(reserved_bytes(f), chunk + MIB(2));
    expect_u64((uint64_t)figures(f).reserved_bytes, MIB(2));
    expect_u64((uint64_t)figures(f).num_reserves, 1);
    expect_u64(growths(f), 1);
    expect_u64(stats_of(f).requested_bytes, MIB(2) + 100);
    expect_u64(live_bytes(f), MIB(2) + 256);
    free_ok(f, q);
    expect_u64(reserved_bytes(f), chunk);
    expect_u64(stats_of(f).requested_bytes, 100);
    free_ok(f, p);
}
END_TEST

/* 1 KiB and 10 MiB, of which the first is freed: its segment goes. Where segments lengthen both are
 * in one, and whole pages of the free part go. */
START_TEST(TestShrink)
{
    fixture_t *f = bfc_opened(_i, "arena.extend_strategy=1");
    bool segments = (bfc_kinds[_i]->traits & KIND_GIVES_WHOLE) != 0;
    void *p = alloc_ok(f, KIB(1));
    void *q = alloc_ok(f, MIB(10));
    if (segments)
        expect_u64(stats_of(f).segments, 2);
    free_ok(f, p);
    uint64_t before = reserved_bytes(f);
    uint64_t given = 0;
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(reserved_bytes(f), before - given);
    if (segments)
        expect_u64(reserved_bytes(f), up(f, MIB(10)));
    expect_u64(stats_of(f).segments, 1);
    if (segments) {
        expect_u64((uint64_t)figures(f).num_arena_extensions, 1);
        expect_u64((uint64_t)figures(f).num_arena_shrinkages, 1);
    }
    free_ok(f, q);
    shrink(f);
    expect_u64(reserved_bytes(f), 0);
    expect_u64((uint64_t)figures(f).num_arena_extensions, 0);
    expect_u64((uint64_t)figures(f).num_arena_shrinkages, 2);
}
END_TEST

/* More than there can be: an error, soon, and the arena is as it was. */
START_TEST(TestBackoffDoesntHang)
{
    fixture_t *f = bfc_opened(_i, "arena.initial_chunk_size_bytes=2147483647,"
                                  "max_doubling=never");
    void *p = NULL;
    if (bfc_kinds[_i]->memory == CUARENA_MEMORY_CUSTOM)
        f->memory.budget_bytes = MIB(64);
    step(f, cuarena_alloc(f->arena, UINT64_C(200) << 40, &p), CUARENA_OUT_OF_MEMORY);
    ck_assert_ptr_null(p);
    expect_u64(reserved_bytes(f), 0);
    p = alloc_ok(f, KIB(1));
    free_ok(f, p);
}
END_TEST

START_TEST(TestExtendStrategy)
{
    static const uint64_t chunks[] = {1, 2, 4, 8, 8, 8};
    fixture_t *f = bfc_opened(_i, "arena.max_power_of_two_extend_bytes=8388608,"
                                  "arena.max_dead_bytes_per_chunk=1");
    uint64_t want = 0;
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        uint64_t before = growths(f);
        void *p;
        while (growths(f) == before)
            expect_ok(cuarena_alloc(f->arena, MIB(1), &p));
        want += up(f, MIB(chunks[i]));
        expect_u64(reserved_bytes(f), want);
    }
    fixture_close_forced(f);
}
END_TEST

#if defined(CUARENA_TEST_CUDA)
#define WORK cuda_work
#define FIRST_KIND 0
#define LAST_KIND BFC_KINDS
#else /* addresses, that nothing stands behind */
#define WORK no_work
#define FIRST_KIND 1
#define LAST_KIND 2
#endif
#define S1 (WORK.stream(0))
#define S2 (WORK.stream(1))

/* The CPU does not touch what streams use. */
static fixture_t *opened_for_streams(int kind, const char *options)
{
    char text[160];
    bool asks = FIRST_KIND == 0 && !(bfc_kinds[kind]->traits & KIND_DEVICE);
    snprintf(text, sizeof text, "%s%s", options, asks ? ",device_only=1" : "");
    return bfc_opened(kind, text);
}

/* What a stream freed it has again, and as long as there is other room nobody else; what a released
 * stream held is everybody's and coalesces. */
START_TEST(TwoStreamAllocation)
{
    fixture_t *f = opened_for_streams(_i, "arena.initial_chunk_size_bytes=65536");
    void *one = alloc_on(f, 4096, S1);
    void *first = alloc_on(f, 4096, S2);
    void *second = alloc_on(f, 4096, S2);
    step_ok(f, cuarena_free_on(f->arena, one, S1));
    ck_assert_ptr_ne(alloc_on(f, 4096, S2), one);
    expect_ptr(alloc_on(f, 4096, S1), one);
    expect_u64(stats_of(f).steals, 0);
    step_ok(f, cuarena_free_on(f->arena, first, S2));
    step_ok(f, cuarena_free_on(f->arena, second, S2));
    step_ok(f, cuarena_release_stream(f->arena, S2));
    step_ok(f, cuarena_reclaim(f->arena, 1, NULL));
    expect_ptr(alloc_on(f, 8192, S1), first);
    fixture_close_forced(f);
}
END_TEST

#if defined(CUARENA_TEST_CUDA)

#define FULL "arena.max_mem=4194304,initial_chunk=4194304,"

/* Where there is no other room, what one stream freed behind work is the other's behind one wait,
 * or not at all. */
START_TEST(TwoStreamAllocationWithoutOtherRoom)
{
    for (int steals = 0; steals < 2; steals++) {
        void *taken = NULL;
        fixture_t *f = opened_for_streams(_i, steals ? FULL "steal=wait" : FULL "steal=never");
        void *one = alloc_on(f, 4096, S1);
        void *rest = alloc_on(f, MIB(4) - 4096, S2);
        WORK.hold(0);
        step_ok(f, cuarena_free_on(f->arena, one, S1));
        cuarena_status_t status = cuarena_alloc_on(f->arena, 4096, S2, NULL, &taken);
        cuarena_stats_t stats = stats_of(f);
        WORK.let_go();
        ck_assert_int_eq(status == CUARENA_OK, steals);
        expect_ptr(taken, steals ? one : NULL);
        expect_u64(stats.steals, (uint64_t)steals);
        expect_u64(stats.stream_waits, (uint64_t)steals);
        expect_u64(stats.host_waits, 0);
        step_ok(f, cuarena_free_on(f->arena, rest, S2));
        if (steals)
            step_ok(f, cuarena_free_on(f->arena, taken, S2));
        step_ok(f, cuarena_reclaim(f->arena, 1, NULL));
        fixture_close(f);
    }
}
END_TEST

#endif

/* ---- The list ------------------------------------------------------------ */

int main(void)
{
    Suite *suite = suite_create("bfc_tree");
    add_bfc_rows(suite, "in the tree: rows", Rows, COUNT_OF(rows));
    add_per_bfc_kind(suite, "in the tree: serving",
                     TEST_LIST(NoDups, AllocationsAndDeallocations, ExerciseCoalescing));
    add_per_bfc_kind(suite, "in the tree: growth",
                     TEST_LIST(TestReserve, TestShrink, TestBackoffDoesntHang, TestExtendStrategy));
    TCase *streams = new_case(suite, "in the tree: streams");
    tcase_add_loop_test(streams, TwoStreamAllocation, FIRST_KIND, LAST_KIND);
#if defined(CUARENA_TEST_CUDA)
    tcase_add_loop_test(streams, TwoStreamAllocationWithoutOtherRoom, FIRST_KIND, LAST_KIND);
    return cuda_kinds_main(suite);
#else
    return suite_main(suite);
#endif
}
