/*
 * What the bookkeeping takes of the host: bytes for each block of the highest count, calls of the
 * system, and what the headers say of both. Each bound is that of a sentence in heap.h, arena.h or
 * docs/DESIGN.md.
 */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/fixture_streams.h"
#include "support/heap_map.h"

#include "arena/arena.h"
#include "base/host_test.h"
#include "support/scale.h"

#include <inttypes.h>
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

static void take_anew(cuarena_t *arena, size_t i, uint64_t bytes, bool streams)
{
    expect_ok(cuarena_alloc_on(arena, bytes, any_stream(streams), NULL, &blocks[i]));
    highest = cuai_max(highest, cuai_block_records(arena->heaps[CUAI_DYNAMIC]));
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
        take_anew(arena, i, bytes, streams);
    for (size_t i = 0; i < count; i += 2)
        free_anywhere(arena, i, streams);
    for (size_t i = 0; i < count; i += 2)
        take_anew(arena, i, bytes, streams);
    for (size_t n = 0; n < ROUNDS * count; n++) {
        size_t i = random_below(&seed, count);
        uint64_t most = streams ? 2 * bytes : bytes;
        free_anywhere(arena, i, streams);
        take_anew(arena, i, 1 + random_below(&seed, most), streams);
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

/* Two free lists for each stream in each of two regions, and pieces that are few. */
static uint64_t fixed_of(bool streams)
{
    uint64_t each = 2 * 2 * UINT64_C(8500) + sizeof(cuai_stream_t);
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

/* ---- Pieces that streams leave ------------------------------------------- */

#define SIM_BLOCKS 3000
#define SIM_ROUNDS 12
#define SIM_POOL KIB(64 << 10)

/* Work on the streams runs late or not at all: `run` items for each block. */
static uint64_t most_pieces(fixture_t *f, uint64_t run)
{
    static void *held[SIM_BLOCKS];
    const cuarena_stream_t streams[] = {A, B, C};
    const cuarena_heap_t *heap = f->arena->heaps[CUAI_DYNAMIC];
    uint64_t most = 0;
    memset(held, 0, sizeof(held));
    for (size_t n = 0; n < SIM_ROUNDS * SIM_BLOCKS; n++) {
        size_t i = random_below(&seed, SIM_BLOCKS);
        cuarena_stream_t stream = streams[random_below(&seed, 3)];
        if (held[i] != NULL)
            expect_ok(cuarena_free_on(f->arena, held[i], stream));
        uint64_t bytes = 256 * (1 + random_below(&seed, 32));
        stream = streams[random_below(&seed, 3)];
        expect_ok(cuarena_alloc_on(f->arena, bytes, stream, NULL, &held[i]));
        sim_write(&f->sim, stream, held[i], bytes, 1 + n % 200);
        sim_order(&f->sim, A, stream);
        sim_order(&f->sim, B, stream);
        sim_order(&f->sim, C, stream);
        sim_run(&f->sim, run);
        most = cuai_max(most, heap->separators);
        if (n % SIM_BLOCKS == 0)
            expect_sound(f);
    }
    for (size_t i = 0; i < SIM_BLOCKS; i++)
        if (held[i] != NULL)
            expect_ok(cuarena_free_on(f->arena, held[i], A));
    expect_sound(f);
    return most;
}

START_TEST(pieces_of_streams_stay_few_while_work_is_done)
{
    seed = (random_state_t){scale_seed("check_bookkeeping")};
    fixture_t *f = opened(SIMULATED, SIM_POOL);
    uint64_t most = most_pieces(f, 8);
    printf("%" PRIu64 " pieces of %d blocks\n", most, SIM_BLOCKS);
    expect_between(most, 1024, 1024 + SIM_BLOCKS / 2);
}
END_TEST

START_TEST(bytes_that_work_is_under_way_on_are_not_joined_early)
{
    seed = (random_state_t){scale_seed("check_bookkeeping")};
    fixture_t *f = opened(SIMULATED, SIM_POOL);
    expect_between(most_pieces(f, (uint64_t)_i), 1024, UINT64_MAX);
}
END_TEST

/* ---- Calls of the system --------------------------------------------------
 */

/* Records and look-up come to the system when they outgrow their addresses: a few times, and at
 * each step where assertions are on. */
START_TEST(slabs_are_few_however_many_blocks)
{
    map_t map;
    uint64_t most = scale_pick(20000, 100000, 1000000);
    cuarena_heap_config_t config = map_config();
    config.max_blocks = most;
    map_open_with(&map, &config, "");
    expect_ok(cuarena_heap_segment_add(map.heap, 0, most * MAP_GRANULE));
    cuai_host_fail_at(0);
    for (uint64_t i = 0; i < most; i++) {
        cuarena_block_t block;
        uint64_t offset;
        cuarena_heap_request_t request = {.size = MAP_GRANULE};
        expect_ok(cuarena_heap_alloc(map.heap, &request, &block, &offset));
    }
    printf("%" PRIu64 " blocks: %" PRIu64 " slabs\n", most, cuai_host_calls());
    uint64_t steps = most * 80 / CUAI_HOST_STEP + 8;
    expect_between(cuai_host_calls(), 2, CUAI_HOST_GROWTH == 1 ? steps : 16);
    expect_valid(map.heap);
    map_close(&map);
}
END_TEST

START_TEST(slabs_are_not_taken_again_for_blocks_that_come_and_go)
{
    open_blocks();
    cuarena_t *arena = arena_of("memory=none, pool=8GiB");
    for (size_t i = 0; i < count; i++)
        take_anew(arena, i, 4096, false);
    cuai_host_fail_at(0);
    for (size_t i = 0; i < count; i++)
        free_anywhere(arena, i, false);
    for (size_t i = 0; i < count; i++)
        take_anew(arena, i, 4096, false);
    expect_u64(cuai_host_calls(), 0);
    for (size_t i = 0; i < count; i++)
        free_anywhere(arena, i, false);
    expect_ok(cuarena_destroy(&arena));
    close_blocks();
}
END_TEST

/* ---- Sentences of heap.h --------------------------------------------------
 */

START_TEST(addresses_are_at_most_four_times_what_is_used)
{
    static const uint64_t max_blocks[] = {1, 30000, 1 << 20, CUARENA_HEAP_MAX_BLOCKS};
    map_t map;
    cuarena_heap_config_t config = map_config();
    config.max_blocks = max_blocks[_i];
    map_open_with(&map, &config, "");
    const cuarena_heap_t *heap = map.heap;
    uint64_t slots = cuai_min(4 * config.max_blocks + 4096, 1 << 27);
    expect_u64(heap->max_slots, cuai_max(slots, 1 << 17));
    expect_between(heap->record_region.room, 1, 4 * heap->record_region.committed);
    expect_between(heap->table.region.room, 1, 4 * heap->table.region.committed);
    map_close(&map);
}
END_TEST

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

START_TEST(a_plan_takes_32_bytes_for_each_block_and_2_for_each_record)
{
    enum {
        MANY = 10000
    };
    map_t map;
    cuarena_heap_plan_t *plan = NULL;
    cuarena_heap_plan_options_t options;
    cuarena_heap_config_t config = map_config();
    config.max_blocks = MANY;
    cuarena_heap_plan_options_init(&options);
    map_open_with(&map, &config, "");
    expect_ok(cuarena_heap_segment_add(map.heap, 0, MANY * MAP_GRANULE));
    for (uint64_t i = 0; i < MANY; i++) {
        cuarena_block_t block;
        uint64_t offset;
        cuarena_heap_request_t request = {.size = MAP_GRANULE};
        expect_ok(cuarena_heap_alloc(map.heap, &request, &block, &offset));
    }
    uint64_t before = cuai_host_live();
    expect_ok(cuarena_heap_plan_create(map.heap, &options, &plan));
    expect_between(cuai_host_live() - before, MANY * 34, MANY * 34 + 512);
    cuarena_heap_plan_destroy(map.heap, &plan);
    uint64_t kept = heap_bytes(map.heap);
    expect_ok(cuarena_heap_plan_create(map.heap, &options, &plan));
    cuarena_heap_plan_destroy(map.heap, &plan);
    expect_u64(heap_bytes(map.heap), kept);
    map_close(&map);
}
END_TEST

/* ---- The suite ------------------------------------------------------------
 */

int main(void)
{
    Suite *suite = suite_create("bookkeeping");
    TCase *bytes = suite_add_case(suite, "bytes");
    tcase_set_timeout(bytes, scale_timeout(300));
    tcase_add_loop_test(bytes, bookkeeping_bytes_for_each_block_are_bounded, 0, CASE_COUNT);
    tcase_add_test(bytes, pieces_of_streams_stay_few_while_work_is_done);
    tcase_add_loop_test(bytes, bytes_that_work_is_under_way_on_are_not_joined_early, 0, 2);
    TCase *calls = suite_add_list(suite, "calls",
                                  TEST_LIST(slabs_are_few_however_many_blocks,
                                            slabs_are_not_taken_again_for_blocks_that_come_and_go));
    tcase_set_timeout(calls, scale_timeout(120));
    suite_add_list(suite, "sentences",
                   TEST_LIST(an_empty_heap_takes_50_kilobytes_and_a_freelist_8_and_a_half,
                             a_segment_takes_56_bytes_and_a_record,
                             a_plan_takes_32_bytes_for_each_block_and_2_for_each_record));
    suite_add_rows(suite, "addresses", addresses_are_at_most_four_times_what_is_used, 4);
    return suite_main(suite);
}
