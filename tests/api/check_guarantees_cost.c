/*
 * The rows of README.md's table "What it guarantees" that are about costs, a test for each, named
 * after it; the others are in check_guarantees.c. Costs are counted, never timed: instructions,
 * calls of the system, of the C library's heap and of the driver, bytes.
 */
#include "support/checks.h"
#include "support/configs.h"
#include "support/counted.h"
#include "support/driver_library.h"
#include "support/expect.h"
#include "support/fixture_streams.h"
#include "support/random.h"
#include "support/scale.h"

#include <cuarena.h>
#include <cuarena/heap.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps and calls ----------------------------------------------------- */

#define SIZE KIB(4)
#define TURNS 16

/* An arena in which blocks live. */
typedef struct load {
    const char *options;
    size_t count;
    cuarena_t *arena;
    void **blocks;
} load_t;

static void fill(void *user)
{
    load_t *load = user;
    for (size_t i = 0; i < load->count; i++)
        expect_ok(cuarena_alloc(load->arena, SIZE, &load->blocks[i]));
}

/* Each kind of call, of blocks at random. */
static void work(void *user)
{
    load_t *load = user;
    random_state_t random = {5};
    for (int n = 0; n < TURNS; n++) {
        void **p = &load->blocks[random_below(&random, load->count)];
        expect_ok(cuarena_resize(load->arena, *p, SIZE / 2, p));
        expect_ok(cuarena_resize(load->arena, *p, SIZE, p));
        expect_ok(cuarena_unpin(load->arena, *p));
        expect_ok(cuarena_pin(load->arena, *p));
        expect_ok(cuarena_free(load->arena, *p));
        expect_ok(cuarena_alloc(load->arena, SIZE, p));
    }
}

static void open_load(void *user)
{
    load_t *load = user;
    load->arena = arena_of(load->options);
    load->blocks = calloc(load->count, sizeof(*load->blocks));
}

/* Every third block was freed and taken again; nothing that `work` does is
 * done for the first time. */
static void open_loaded(void *user)
{
    load_t *load = user;
    open_load(load);
    fill(load);
    for (size_t i = 0; i < load->count; i += 3)
        expect_ok(cuarena_free(load->arena, load->blocks[i]));
    for (size_t i = 0; i < load->count; i += 3)
        expect_ok(cuarena_alloc(load->arena, SIZE, &load->blocks[i]));
    for (int n = 0; n < 4; n++)
        work(load);
}

static void close_load(load_t *load)
{
    for (size_t i = 0; i < load->count; i++)
        expect_ok(cuarena_free(load->arena, load->blocks[i]));
    free(load->blocks);
    arena_close(load->arena);
}

/* Of all calls of `work` together. */
static uint64_t instructions_with(size_t live)
{
    load_t load = {.options = "memory=none,pool=1GiB", .count = live};
    uint64_t count = counted_instructions(open_loaded, work, &load);
    printf("%zu live blocks: %" PRIu64 " instructions a call\n", live, count / (6 * TURNS));
    return count;
}

START_TEST(steps_to_allocate_free_resize_in_place_pin)
{
    uint64_t few = instructions_with(256);
    uint64_t many = instructions_with((size_t)scale_pick(1 << 14, 1 << 17, 1 << 17));
    expect_between(many, 1, few + few / 2);
}
END_TEST

/* Offsets as regular as they can be, and blocks at random. */
START_TEST(look_up_by_pointer)
{
    cuarena_heap_t *heap = NULL;
    cuarena_heap_config_t config;
    cuarena_heap_stats_t stats;
    random_state_t random = {3};
    cuarena_heap_config_init(&config);
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_create(&config, &heap));
    expect_ok(cuarena_heap_segment_add(heap, 0, GIB(4)));
    for (int i = 0; i < 1 << 16; i++) {
        cuarena_heap_request_t request = {.size = SIZE};
        cuarena_block_t block;
        uint64_t offset;
        if (_i != 0)
            request.size = 256 * (1 + random_below(&random, 64));
        expect_ok(cuarena_heap_alloc(heap, &request, &block, &offset));
    }
    expect_ok(cuarena_heap_stats(heap, &stats));
    expect_between(stats.longest_probe, 1, 32);
    cuarena_heap_destroy(&heap);
}
END_TEST

/* Of the arena's memory and the driver. */
static void expect_no_calls_with(const char *options)
{
    load_t load = {.options = options, .count = 1000};
    open_loaded(&load);
    cuarena_stats_t before = arena_stats(load.arena);
    work(&load);
    expect_u64(arena_stats(load.arena).memory_calls, before.memory_calls);
    expect_u64(arena_stats(load.arena).driver_calls, before.driver_calls);
    close_load(&load);
}

static const char *const host_memories[] = {
    "memory=pageable,pool=16MiB",
    "memory=pageable,preset=grow,limit=16MiB",
    "memory=pageable,preset=bfc,limit=16MiB",
    "memory=none,preset=mlx-cpu",
    "memory=none,preset=cupy-pool",
};

START_TEST(calls_of_the_memory_while_an_arena_has_room)
{
    expect_no_calls_with(host_memories[_i]);
}
END_TEST

START_TEST(calls_of_the_system_while_an_arena_has_room)
{
    load_t load = {.options = host_memories[_i], .count = 1000};
    expect_u64(counted_system_calls(open_loaded, work, &load), 0);
}
END_TEST

static void expect_counting_works(void)
{
    static void *volatile pointer;
    uint64_t before = counted_mallocs();
    pointer = malloc(1);
    free(pointer);
    expect_u64(counted_mallocs() - before, 1);
}

START_TEST(calls_of_malloc_while_an_arena_has_room)
{
    load_t load = {.options = host_memories[_i], .count = 1000};
    expect_counting_works();
    open_loaded(&load);
    uint64_t mallocs = counted_mallocs();
    work(&load);
    expect_u64(counted_mallocs(), mallocs);
    close_load(&load);
}
END_TEST

static const char *const memories[] = {
    "memory=device,pool=16MiB",
    "memory=device,backing=malloc,preset=grow,limit=16MiB",
    "memory=managed,pool=16MiB",
    "memory=pinned,pool=16MiB",
};

START_TEST(calls_of_the_driver_while_an_arena_has_room)
{
    expect_no_calls_with(memories[_i]);
}
END_TEST

/* What remains: tables for more blocks than ever lived before. Each of the 7 times takes addresses
 * and moves a table to them; where assertions are on it comes at each step. */
#if defined(CUARENA_DEBUG)
#define MOST_CALLS 500
#else
#define MOST_CALLS (7 * 2)
#endif

START_TEST(calls_of_the_system_for_the_first_100000_blocks)
{
    load_t load = {.options = "memory=none,pool=1GiB", .count = 100000};
    uint64_t calls = counted_system_calls(open_load, fill, &load);
    printf("%" PRIu64 " calls of the system\n", calls);
    expect_between(calls, 1, MOST_CALLS);
}
END_TEST

/* ---- bookkeeping -------------------------------------------------------- */

#define BLOCKS 20000

static uint64_t bookkeeping_of(cuarena_t *arena)
{
    return arena_stats(arena).bookkeeping_bytes;
}

static void *alloc_any(cuarena_t *arena, random_state_t *random, bool streams)
{
    void *p = NULL;
    uint64_t bytes = streams ? 1 + random_below(random, 2 * SIZE) : SIZE;
    cuarena_stream_t stream = streams ? sim_handle(1 + random_below(random, 8)) : CUARENA_NO_STREAM;
    expect_ok(cuarena_alloc_on(arena, bytes, stream, NULL, &p));
    return p;
}

/* Bytes of the host for each block, when BLOCKS of them live at most: on streams each is freed on
 * another than it was taken on. */
static double bytes_for_each(const char *options, bool streams)
{
    static void *blocks[BLOCKS];
    random_state_t random = {4};
    cuarena_t *arena = arena_of(options);
    uint64_t empty = bookkeeping_of(arena);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = alloc_any(arena, &random, streams);
    for (int n = 0; n < 8 * BLOCKS; n++) {
        size_t i = random_below(&random, BLOCKS);
        cuarena_stream_t stream =
            streams ? sim_handle(1 + random_below(&random, 8)) : CUARENA_NO_STREAM;
        expect_ok(cuarena_free_on(arena, blocks[i], stream));
        blocks[i] = alloc_any(arena, &random, streams);
    }
    uint64_t bytes = bookkeeping_of(arena) - empty;
    for (int i = 0; i < BLOCKS; i++)
        expect_ok(cuarena_free(arena, blocks[i]));
    expect_ok(cuarena_destroy(&arena));
    return (double)bytes / BLOCKS;
}

/* What tables have at their ends, and what a stream has, is shared by all. */
START_TEST(bookkeeping)
{
    static const struct {
        const char *options;
        bool streams;
        double least, most;
    } rows[] = {{"memory=none,pool=1GiB", false, 71.5, 72.5},
                {"memory=none,preset=grow,limit=1GiB", false, 71.5, 72.5},
                {"memory=none,preset=mlx-cpu", false, 103.5, 104.5},
                {"memory=none,pool=4GiB", true, 82, 93},
                {"memory=none,pool=4GiB,steal=never", true, 82, 93},
                {"memory=none,preset=cupy-pool", true, 82, 128}};
    double bytes = bytes_for_each(rows[_i].options, rows[_i].streams);
    printf("%s: %.1f B for each block\n", rows[_i].options, bytes);
    ck_assert_msg(bytes >= rows[_i].least && bytes <= rows[_i].most,
                  "%s: %.1f B for each block, expected %.1f to %.1f", rows[_i].options, bytes,
                  rows[_i].least, rows[_i].most);
}
END_TEST

/* Records come by steps of the host's memory. */
#define STEPS_OF_TABLES KIB(128)

static void expect_bookkeeping(uint64_t bytes, uint64_t blocks, uint64_t more, const char *what)
{
    printf("%" PRIu64 " blocks and %s: %" PRIu64 " B\n", blocks, what, bytes);
    expect_between(bytes, 72 * blocks + more - more / 16, 72 * blocks + more + STEPS_OF_TABLES);
}

/* Pages that blocks left went back, and larger blocks came besides. */
START_TEST(bookkeeping_of_holes)
{
    enum {
        COUNT = 20000
    };
    static void *small[2 * COUNT], *large[COUNT];
    cuarena_t *arena = arena_of("memory=none,preset=grow,keep=none,handle=4KiB,limit=1GiB");
    uint64_t empty = bookkeeping_of(arena);
    for (int i = 0; i < 2 * COUNT; i++)
        expect_ok(cuarena_alloc(arena, KIB(4), &small[i]));
    for (int i = 0; i < 2 * COUNT; i += 2)
        expect_ok(cuarena_free(arena, small[i]));
    for (int i = 0; i < COUNT; i++)
        expect_ok(cuarena_alloc(arena, KIB(8), &large[i]));
    expect_bookkeeping(bookkeeping_of(arena) - empty, 2 * COUNT, COUNT * 128, "half as many holes");
    expect_ok(cuarena_reset(arena));
    arena_close(arena);
}
END_TEST

/* Every second block is freed on another stream while the work of both is queued, and as many live
 * elsewhere then. */
START_TEST(bookkeeping_of_places_where_streams_touch)
{
    enum {
        COUNT = 4000
    };
    static void *blocks[COUNT];
    fixture_t *f = opened(SIMULATED, 2 * COUNT * KIB(1));
    for (int i = 0; i < 3; i++)
        (void)use_anew(f, KIB(1), sim_handle(1 + i));
    sim_sync_all(&f->sim);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    uint64_t empty = bookkeeping_of(f->arena);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = alloc_on(f, KIB(1), A);
    for (int i = 0; i < COUNT; i++) {
        sim_write(&f->sim, A, blocks[i], KIB(1), 1);
        sim_order(&f->sim, B, A);
        free_on(f, blocks[i], i % 2 == 0 ? A : B);
    }
    uint64_t places = arena_stats(f->arena).free_ranges - 2; /* the last is idle */
    expect_between(places, COUNT - 2, COUNT);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = alloc_on(f, KIB(1), C);
    expect_u64(f->sim.counts[SIM_WAIT], 0);
    expect_bookkeeping(bookkeeping_of(f->arena) - empty, COUNT, places * 72, "as many places");
    for (int i = 0; i < COUNT; i++)
        free_on(f, blocks[i], C);
}
END_TEST

/* The caller's bytes are as they were after any number of calls. */
START_TEST(bookkeeping_is_elsewhere)
{
    static unsigned char bytes[1 << 20];
    load_t load = {.count = 100};
    cuarena_config_t config;
    memset(bytes, 0x5a, sizeof bytes);
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes = bytes;
    config.bytes_size = sizeof bytes;
    load.blocks = calloc(load.count, sizeof(*load.blocks));
    expect_ok(cuarena_create(&config, &load.arena));
    fill(&load);
    work(&load);
    close_load(&load);
    for (size_t i = 0; i < sizeof bytes; i++)
        expect_u64(bytes[i], 0x5a);
}
END_TEST

static void add_counted(TCase *rows)
{
    const char *why = counted_possible() ? NULL : "no process may trace its child here";
    add_test_unless(rows, steps_to_allocate_free_resize_in_place_pin, 1, why);
    add_test_unless(rows, calls_of_the_system_for_the_first_100000_blocks, 1, why);
    add_test_unless(rows, calls_of_the_system_while_an_arena_has_room, COUNT_OF(host_memories),
                    why);
    why = counted_mallocs_possible() ? NULL : "malloc is not counted here";
    add_test_unless(rows, calls_of_malloc_while_an_arena_has_room, COUNT_OF(host_memories), why);
    why = driver_kind() != DRIVER_NONE ? NULL : "no device";
    add_test_unless(rows, calls_of_the_driver_while_an_arena_has_room, COUNT_OF(memories), why);
}

int main(void)
{
    Suite *suite = suite_create("guarantees of costs");
    TCase *rows =
        suite_add_list(suite, "rows",
                       TEST_LIST(bookkeeping_of_holes, bookkeeping_of_places_where_streams_touch,
                                 bookkeeping_is_elsewhere));
    tcase_set_timeout(rows, scale_timeout(120));
    add_counted(rows);
    tcase_add_loop_test(rows, look_up_by_pointer, 0, 2);
    tcase_add_loop_test(rows, calls_of_the_memory_while_an_arena_has_room, 0,
                        COUNT_OF(host_memories));
    tcase_add_loop_test(rows, bookkeeping, 0, 6);
    return suite_main(suite);
}
