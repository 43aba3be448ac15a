/*
 * What the bookkeeping takes of the host: bytes for each block of the highest count, and what the
 * headers say of it. Each bound is that of a sentence in heap.h, arena.h or docs/DESIGN.md.
 */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/fixture_streams.h"
#include "support/heap_map.h"

#include "support/scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 8
#define ROUNDS 8

static size_t count;
static uint64_t highest; /* count of blocks, live and cached */
static void **blocks;
static random_state_t seed;

static void open_blocks(void)
{
    count = (size_t)scale_pick(10000, 20000, 100000);
    blocks = calloc(count, sizeof(*blocks));
    seed = (random_state_t){scale_seed("check_bookkeeping")};
    highest = 0;
}

static void close_blocks(void)
{
    free(blocks);
}

/* ---- Bytes for each block ------------------------------------------------ */

static uint64_t bookkeeping_of(cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    return stats.bookkeeping_bytes;
}

static cuarena_stream_t any_stream(bool streams)
{
    return streams ? sim_handle(1 + random_below(&seed, STREAMS)) : CUARENA_NO_STREAM;
}

static void alloc_anew(cuarena_t *arena, size_t i, uint64_t bytes, bool streams)
{
    cuarena_cache_stats_t cache;
    cuarena_cache_stats_init(&cache);
    expect_ok(cuarena_alloc_on(arena, bytes, any_stream(streams), NULL, &blocks[i]));
    expect_ok(cuarena_cache_stats(arena, &cache));
    uint64_t now = arena_stats(arena).live_blocks + cache.cached_blocks;
    highest = now > highest ? now : highest;
}

static void free_anywhere(cuarena_t *arena, size_t i, bool streams)
{
    expect_ok(cuarena_free_on(arena, blocks[i], any_stream(streams)));
}

/* All, every second one, all again, and then at random: what is freed and the stream that it is
 * freed on, and what is taken instead. */
static void churn(cuarena_t *arena, uint64_t bytes, bool streams)
{
    for (size_t i = 0; i < count; i++)
        alloc_anew(arena, i, bytes, streams);
    for (size_t i = 0; i < count; i += 2)
        free_anywhere(arena, i, streams);
    for (size_t i = 0; i < count; i += 2)
        alloc_anew(arena, i, bytes, streams);
    for (size_t n = 0; n < ROUNDS * count; n++) {
        size_t i = random_below(&seed, count);
        uint64_t most = streams ? 2 * bytes : bytes;
        free_anywhere(arena, i, streams);
        alloc_anew(arena, i, 1 + random_below(&seed, most), streams);
    }
}

static const struct {
    const char *options;
    uint64_t bytes; /* of a block, or twice as much at most */
    bool streams;
    uint64_t most; /* bytes for a block */
} cases[] = {
    {"memory=none, pool=8GiB", 4096, false, 80},
    {"memory=none, preset=grow, keep=none, handle=4KiB", 4096, false, 136},
    {"memory=none, preset=mlx-cpu", 4096, false, 120},
    {"memory=none, pool=8GiB", 4096, true, 128},
    {"memory=none, pool=8GiB, events=eager", 4096, true, 128},
    {"memory=none, pool=8GiB, stable=64MiB", 4096, true, 128},
    {"memory=none, pool=8GiB, steal=never", 4096, true, 128},
    {"memory=none, preset=cupy-pool", 4096, true, 128},
};
#define CASE_COUNT (COUNT_OF(cases))

/* Two free lists for each stream in each of two regions, and its record; and pieces that are few.
 */
static uint64_t fixed_of(bool streams)
{
    uint64_t each = 2 * 2 * UINT64_C(8500) + KIB(1);
    return streams ? STREAMS * each + 1024 * 72 : 0;
}

static void expect_bounded(cuarena_t *arena, uint64_t empty, int row)
{
    uint64_t bytes = bookkeeping_of(arena) - empty;
    printf("%s: %.1f B for each block\n", cases[row].options, (double)bytes / (double)highest);
    expect_between(bytes, 64 * highest, cases[row].most * highest + fixed_of(cases[row].streams));
}

START_TEST(bookkeeping_bytes_for_each_block_are_bounded)
{
    open_blocks();
    cuarena_t *arena = arena_of(cases[_i].options);
    uint64_t empty = bookkeeping_of(arena);
    churn(arena, cases[_i].bytes, cases[_i].streams);
    expect_bounded(arena, empty, _i);
    for (size_t i = 0; i < count; i++)
        free_anywhere(arena, i, cases[_i].streams);
    expect_bounded(arena, empty, _i);
    expect_ok(cuarena_destroy(&arena));
    close_blocks();
}
END_TEST

START_TEST(blocks_that_come_and_go_take_no_more)
{
    open_blocks();
    cuarena_t *arena = arena_of("memory=none, pool=8GiB");
    for (size_t i = 0; i < count; i++)
        alloc_anew(arena, i, 4096, false);
    uint64_t bytes = bookkeeping_of(arena);
    for (size_t i = 0; i < count; i++)
        free_anywhere(arena, i, false);
    for (size_t i = 0; i < count; i++)
        alloc_anew(arena, i, 4096, false);
    expect_u64(bookkeeping_of(arena), bytes);
    for (size_t i = 0; i < count; i++)
        free_anywhere(arena, i, false);
    expect_ok(cuarena_destroy(&arena));
    close_blocks();
}
END_TEST

/* ---- While work is under way --------------------------------------------- */

/* Streams of which no work ever ends, so that what was freed on them never becomes idle. */
static const struct stuck {
    uint32_t streams;
    uint64_t living; /* bytes for a block while as many live */
    uint64_t freed;  /* and once all have been freed */
    uint32_t rounds;
} stuck[] = {{2, 80, 80, 8}, {8, 96, 112, 8}, {32, 112, 144, 8}, {32, 160, 160, 32}};

#define STUCK_BLOCKS 4000
#define STUCK_MOST 1024 /* bytes of a block */
#define STUCK_MOST_STREAMS 32

static cuarena_stream_t stuck_stream(const struct stuck *row)
{
    return sim_handle(1 + random_below(&seed, row->streams));
}

static void *stuck_alloc(const fixture_t *f, const struct stuck *row)
{
    void *pointer;
    uint64_t bytes = 1 + random_below(&seed, STUCK_MOST);
    expect_ok(cuarena_alloc_on(f->arena, bytes, stuck_stream(row), NULL, &pointer));
    return pointer;
}

static void stuck_free(const fixture_t *f, const struct stuck *row, void *pointer)
{
    expect_ok(cuarena_free_on(f->arena, pointer, stuck_stream(row)));
}

/* Puts work on each stream that is done when the test says so. */
static void stick(fixture_t *f, const struct stuck *row, void **busy)
{
    for (uint32_t n = 1; n <= row->streams; n++) {
        if (n >= FIXTURE_STREAMS) /* the simulator begins with those below */
            sim_stream_make(&f->sim, sim_handle(n));
        expect_ok(cuarena_alloc_on(f->arena, 256, sim_handle(n), NULL, &busy[n - 1]));
        sim_write(&f->sim, sim_handle(n), busy[n - 1], 256, n);
    }
}

static void expect_for_each(const fixture_t *f, const struct stuck *row, uint64_t empty,
                            uint64_t most)
{
    uint64_t fixed = row->streams * (2 * UINT64_C(8500) + KIB(4));
    uint64_t bytes = bookkeeping_of(f->arena) - empty;
    bytes -= bytes < fixed ? bytes : fixed;
    printf("%u streams, work under way: %.1f B for each block, at most %u expected\n", row->streams,
           (double)bytes / STUCK_BLOCKS, (unsigned)most);
    expect_between(bytes, 0, most * STUCK_BLOCKS);
}

START_TEST(bookkeeping_stays_bounded_while_no_work_ends)
{
    static void *live[STUCK_BLOCKS];
    void *busy[STUCK_MOST_STREAMS];
    const struct stuck *row = &stuck[_i];
    fixture_t *f = opened(SIMULATED, UINT64_C(4) * STUCK_BLOCKS * STUCK_MOST / 2);
    uint64_t empty = bookkeeping_of(f->arena);
    seed = (random_state_t){scale_seed("check_bookkeeping")};
    stick(f, row, busy);
    for (size_t i = 0; i < STUCK_BLOCKS; i++)
        live[i] = stuck_alloc(f, row);
    for (size_t n = 0; n < row->rounds * (size_t)STUCK_BLOCKS; n++) {
        size_t i = random_below(&seed, STUCK_BLOCKS);
        stuck_free(f, row, live[i]);
        live[i] = stuck_alloc(f, row);
    }
    expect_for_each(f, row, empty, row->living);
    for (size_t i = 0; i < STUCK_BLOCKS; i++)
        stuck_free(f, row, live[i]);
    expect_for_each(f, row, empty, row->freed);
    sim_run_all(&f->sim);
    for (uint32_t n = 1; n <= row->streams; n++)
        expect_ok(cuarena_free_on(f->arena, busy[n - 1], sim_handle(n)));
}
END_TEST

/* A block is written on stream 1, then read and freed on 2 and 3 in turn, so that what these freed
 * lies side by side: each free leaves one piece more. */
static void leave_piece(fixture_t *f, uint32_t n)
{
    void *pointer;
    cuarena_stream_t reader = sim_handle(2 + n % 2);
    expect_ok(cuarena_alloc_on(f->arena, 256, sim_handle(1), NULL, &pointer));
    sim_write(&f->sim, sim_handle(1), pointer, 256, n + 1);
    sim_order(&f->sim, reader, sim_handle(1));
    sim_read(&f->sim, reader, pointer, 256, n + 1);
    expect_ok(cuarena_free_on(f->arena, pointer, reader));
}

/* With `steal` first or wait one wait for each of the two brings the pieces together. */
static const struct few {
    int32_t steal;
    bool waits;
} few[] = {{CUARENA_STEAL_FIRST, true},
           {CUARENA_STEAL_WAIT, true},
           {CUARENA_STEAL_IDLE, false},
           {CUARENA_STEAL_NEVER, false}};

START_TEST(many_pieces_behind_work_under_way_are_brought_together)
{
    static const struct stuck row = {3, 0, 0, 0};
    enum {
        FREES = 3000
    };
    void *busy[STUCK_MOST_STREAMS];
    fixture_t *f = prepared(SIMULATED, MIB(4));
    f->config.steal = few[_i].steal;
    fixture_create(f);
    stick(f, &row, busy);
    uint64_t waits = f->sim.counts[SIM_WAIT];
    for (uint32_t n = 0; n < FREES; n++)
        leave_piece(f, n);
    uint64_t ranges = arena_stats(f->arena).free_ranges;
    expect_between(ranges, few[_i].waits ? 1 : FREES, few[_i].waits ? 1200 : FREES + 2);
    expect_u64(f->sim.counts[SIM_WAIT] - waits, few[_i].waits ? 2 * (FREES / 1152) : 0);
    expect_ok(cuarena_validate(f->arena, NULL, 0));
    sim_run_all(&f->sim);
    for (uint32_t n = 1; n <= row.streams; n++)
        expect_ok(cuarena_free_on(f->arena, busy[n - 1], sim_handle(n)));
}
END_TEST

/* As many pieces as blocks ever lived make no stream wait, whenever peaks were reset. */
START_TEST(peaks_that_are_reset_change_no_wait)
{
    static const struct stuck row = {3, 0, 0, 0};
    static void *freed[STUCK_BLOCKS];
    void *busy[STUCK_MOST_STREAMS], *next;
    fixture_t *f = opened(SIMULATED, MIB(4));
    stick(f, &row, busy);
    for (uint32_t n = 0; n < STUCK_BLOCKS; n++)
        expect_ok(cuarena_alloc_on(f->arena, 256, sim_handle(1), NULL, &freed[n]));
    for (uint32_t n = 0; n < STUCK_BLOCKS; n++)
        expect_ok(cuarena_free_on(f->arena, freed[n], sim_handle(2 + n % 2)));
    expect_ok(cuarena_reset_peaks(f->arena));
    uint64_t waits = f->sim.counts[SIM_WAIT];
    expect_ok(cuarena_alloc_on(f->arena, 256, sim_handle(1), NULL, &next));
    expect_u64(f->sim.counts[SIM_WAIT], waits);
    expect_between(arena_stats(f->arena).free_ranges, STUCK_BLOCKS, STUCK_BLOCKS + 2);
    expect_ok(cuarena_validate(f->arena, NULL, 0));
    sim_run_all(&f->sim);
    expect_ok(cuarena_free_on(f->arena, next, sim_handle(1)));
    for (uint32_t n = 1; n <= row.streams; n++)
        expect_ok(cuarena_free_on(f->arena, busy[n - 1], sim_handle(n)));
}
END_TEST

/* ---- Sentences of heap.h --------------------------------------------------
 */

static uint64_t heap_bytes(const cuarena_heap_t *heap)
{
    cuarena_heap_stats_t stats;
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_stats(heap, &stats));
    return stats.bookkeeping_bytes;
}

START_TEST(an_empty_heap_takes_50_kilobytes_and_a_freelist_8_and_a_half)
{
    map_t map;
    map_open(&map, "");
    uint64_t empty = heap_bytes(map.heap);
    expect_between(empty, 1, 50000);
    map_freelist(&map, 1);
    expect_between(heap_bytes(map.heap) - empty, 8400, 8500);
    map_close(&map);
}
END_TEST

START_TEST(a_segment_takes_56_bytes_and_a_record)
{
    enum {
        MANY = 1000
    };
    map_t map;
    map_open(&map, "");
    uint64_t empty = heap_bytes(map.heap);
    for (uint64_t i = 0; i < MANY; i++)
        expect_ok(map_segment(&map, 2 * i, 1));
    expect_between(heap_bytes(map.heap) - empty, MANY * (56 + 64), MANY * (56 + 64 + 8) + 64);
    map_close(&map);
}
END_TEST

/* ---- The suite ------------------------------------------------------------
 */

int main(void)
{
    Suite *suite = suite_create("bookkeeping");
    TCase *bytes = suite_add_list(suite, "bytes", TEST_LIST(blocks_that_come_and_go_take_no_more));
    tcase_set_timeout(bytes, scale_timeout(300));
    tcase_add_loop_test(bytes, bookkeeping_bytes_for_each_block_are_bounded, 0, CASE_COUNT);
    suite_add_rows(suite, "under way", bookkeeping_stays_bounded_while_no_work_ends,
                   COUNT_OF(stuck));
    suite_add_list(suite, "peaks", TEST_LIST(peaks_that_are_reset_change_no_wait));
    suite_add_rows(suite, "few blocks", many_pieces_behind_work_under_way_are_brought_together,
                   COUNT_OF(few));
    suite_add_list(suite, "sentences",
                   TEST_LIST(an_empty_heap_takes_50_kilobytes_and_a_freelist_8_and_a_half,
                             a_segment_takes_56_bytes_and_a_record));
    return suite_main(suite);
}
