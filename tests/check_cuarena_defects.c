/*
 * The defects and false claims found in cuArena, each found by its number:
 * what ours does instead. Here: serving, moving and resizing blocks; those of
 * pools are in check_cuarena_pools.c, and docs/from-cuarena.md lists all 28.
 * Steps are counted, never time. What concerns streams, devices or the driver
 * is tested as far as host memory allows; a comment says what device memory
 * adds.
 */
#include "arena_support.h"
#include "base/host_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

static char untouched_byte;
#define UNTOUCHED ((void *)&untouched_byte)

/* Every second block of a full row is freed, from the first on. */
static void open_with_holes(fixture_t *f, const arena_kind_t *kind,
                            cuarena_block_t *row)
{
    fixture_open(f, kind, POOL);
    take_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        drop_block(f, row[i]);
        row[i] = 0;
    }
}

/* ---- D1: compaction keeps data ------------------------------------------ */

static const uint64_t shifts[] = {128, KIB(4), KIB(64), MIB(1)};
#define SHIFT_COUNT ((int)COUNT_OF(shifts))

START_TEST(test_defect_d01_overlapping_moves_keep_the_data)
{
    fixture_t f;
    uint64_t shift = shifts[_i % SHIFT_COUNT];
    uint64_t pool = scale_pick(MIB(4), MIB(8), MIB(256));
    fixture_prepare(&f, &arena_kinds[_i / SHIFT_COUNT], pool);
    f.config.alignment = 128;
    fixture_create(&f);
    cuarena_block_t block = take_above_a_hole(&f, shift, pool - shift);
    char *before = address_of(&f, block);
    paint(&f, before, pool - shift, 9);
    step_ok(&f, cuarena_compact(f.arena, NULL, NULL, NULL, NULL));
    expect_ptr(address_of(&f, block), before - shift);
    expect_painted(&f, address_of(&f, block), pool - shift, 9);
    drop_block(&f, block);
    fixture_close(&f);
}
END_TEST

/* ---- D2, D4: allocation does not scan ----------------------------------- */

typedef struct holes {
    cuarena_heap_t *heap;
    uint64_t steps; /* ranges looked at for one request, at most */
} holes_t;

static uint64_t search_steps(const cuarena_heap_t *heap)
{
    cuarena_heap_stats_t stats;
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_stats(heap, &stats));
    return stats.search_steps;
}

static cuarena_block_t heap_take(cuarena_heap_t *heap, uint64_t size)
{
    cuarena_heap_request_t request = {.size = size};
    cuarena_block_t block = 0;
    uint64_t offset = 0;
    expect_ok(cuarena_heap_alloc(heap, &request, &block, &offset));
    return block;
}

/* `count` holes of `hole` bytes or some granules more, each behind a block,
 * and a range behind them that is large enough for anything. */
static cuarena_heap_t *heap_with_holes(size_t count, uint64_t hole,
                                       uint64_t spread)
{
    cuarena_heap_t *heap = NULL;
    cuarena_heap_config_t config;
    cuarena_block_t *blocks = calloc(count, sizeof *blocks);
    cuarena_heap_config_init(&config);
    expect_ok(cuarena_heap_create(&config, &heap));
    expect_ok(cuarena_heap_segment_add(heap, 0, GIB(1) * 128));
    for (size_t i = 0; i < count; i++) {
        blocks[i] = heap_take(heap, hole + i % spread * config.granule);
        heap_take(heap, config.granule);
    }
    for (size_t i = 0; i < count; i++)
        expect_ok(cuarena_heap_free(heap, blocks[i], 0));
    free(blocks);
    return heap;
}

/* Most ranges looked at for one of a few requests of `size`. */
static uint64_t most_steps(cuarena_heap_t *heap, uint64_t size)
{
    uint64_t most = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t before = search_steps(heap);
        expect_ok(cuarena_heap_free(heap, heap_take(heap, size), 0));
        uint64_t steps = search_steps(heap) - before;
        most = steps > most ? steps : most;
    }
    return most;
}

static uint64_t steps_past(size_t count, uint64_t hole, uint64_t spread,
                           uint64_t size)
{
    cuarena_heap_t *heap = heap_with_holes(count, hole, spread);
    uint64_t steps = most_steps(heap, size);
    expect_valid(heap);
    cuarena_heap_destroy(&heap);
    return steps;
}

#define STEPS_BOUND 64

/* Holes of the request's own size class, all of them too small. */
START_TEST(test_defect_d02_holes_too_small_are_not_scanned)
{
    uint64_t hole = MIB(1), size = MIB(1) + MIB(1) / 32 - 256;
    size_t many = (size_t)scale_pick(4096, 32768, 65536);
    uint64_t few_steps = steps_past(1024, hole, 1, size);
    uint64_t many_steps = steps_past(many, hole, 1, size);
    ck_assert_uint_le(few_steps, STEPS_BOUND);
    ck_assert_uint_le(many_steps, STEPS_BOUND);
}
END_TEST

/* Holes of every size below the request's, as in a stable region that was in
 * use for long; regions are served by the same heap. */
START_TEST(test_defect_d04_holes_of_many_sizes_are_not_scanned)
{
    uint64_t hole = 256, size = MIB(1);
    size_t many = (size_t)scale_pick(4096, 16384, 65536);
    uint64_t few_steps = steps_past(1024, hole, 1024, size);
    uint64_t many_steps = steps_past(many, hole, 1024, size);
    ck_assert_uint_le(few_steps, STEPS_BOUND);
    ck_assert_uint_le(many_steps, STEPS_BOUND);
}
END_TEST

/* ---- D3: no host allocation to serve or to free -------------------------- */

static void churn(fixture_t *f, void **pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_ok(cuarena_alloc(f->arena, 256 * (1 + i % 7), &pointers[i]));
    for (size_t i = 0; i < count; i += 2)
        expect_ok(cuarena_free(f->arena, pointers[i]));
    for (size_t i = 1; i < count; i += 2)
        expect_ok(cuarena_free(f->arena, pointers[i]));
    expect_sound(f);
}

START_TEST(test_defect_d03_no_node_per_block)
{
    fixture_t f;
    void *pointers[1000];
    fixture_open(&f, &arena_kinds[_i], MIB(4));
    churn(&f, pointers, COUNT_OF(pointers));
    uint64_t bookkeeping = stats_of(&f, CUARENA_REGION_ALL).bookkeeping_bytes;
    cuai_host_fail_at(0);
    churn(&f, pointers, COUNT_OF(pointers));
    expect_u64(cuai_host_calls(), 0);
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).bookkeeping_bytes, bookkeeping);
    fixture_close(&f);
}
END_TEST

START_TEST(test_defect_d03_a_free_needs_no_memory)
{
    fixture_t f;
    enum {
        MANY = 20000
    };
    void **pointers = calloc(MANY, sizeof *pointers);
    fixture_open(&f, KIND_NONE_POOL, MIB(16));
    for (size_t i = 0; i < MANY; i++)
        expect_ok(cuarena_alloc(f.arena, 256, &pointers[i]));
    cuai_host_fail_at(1);
    for (size_t i = 0; i < MANY; i++)
        expect_ok(cuarena_free(f.arena, pointers[i * 7919 % MANY]));
    expect_u64(cuai_host_calls(), 0);
    cuai_host_fail_at(0);
    fixture_close(&f);
    free(pointers);
}
END_TEST

/* ---- D5: statistics do not walk ------------------------------------------ */

START_TEST(test_defect_d05_statistics_look_at_no_range)
{
    size_t many = (size_t)scale_pick(4096, 32768, 65536);
    cuarena_heap_t *heap = heap_with_holes(many, KIB(1), 512);
    cuarena_heap_stats_t before, after;
    uint64_t exact = 0;
    cuarena_heap_stats_init(&before);
    cuarena_heap_stats_init(&after);
    expect_ok(cuarena_heap_stats(heap, &before));
    expect_ok(cuarena_heap_stats(heap, &after));
    expect_u64(after.search_steps, before.search_steps);
    expect_u64(after.full_searches, before.full_searches);
    ck_assert_uint_ge(after.ranges, many);
    expect_ok(cuarena_heap_largest(heap, 0, &exact));
    expect_between(after.largest_bytes, exact - exact / 32, exact);
    cuarena_heap_destroy(&heap);
}
END_TEST

/* ---- D6: what was freed is one range again ------------------------------- */

START_TEST(test_defect_d06_the_tail_comes_back)
{
    fixture_t f;
    fixture_open(&f, &arena_kinds[_i], MIB(32));
    drop(&f, take(&f, MIB(20)));
    expect_u64(inspection_of(&f, CUARENA_REGION_DYNAMIC).largest_bytes,
               MIB(32));
    drop(&f, take(&f, MIB(24)));
    drop(&f, take(&f, MIB(32)));
    fixture_close(&f);
}
END_TEST

/* ---- D7: stable means that it does not move ------------------------------ */

START_TEST(test_defect_d07_stable_without_a_region_does_not_move)
{
    fixture_t f;
    heard_t heard = {.count = 0};
    void *now = UNTOUCHED, *row[4];
    fixture_open(&f, &arena_kinds[_i], POOL);
    for (size_t i = 0; i < 4; i++)
        row[i] = take_in(&f, EACH, CUARENA_REGION_STABLE);
    drop(&f, row[0]);
    drop(&f, row[2]);
    step(&f, cuarena_unpin(f.arena, row[1]), CUARENA_BAD_ARGUMENT);
    step_ok(&f, cuarena_compact(f.arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 0);
    cuarena_status_t status = cuarena_resize(f.arena, row[1], 4 * EACH, &now);
    ck_assert_msg(status != CUARENA_OK || now == row[1],
                  "a stable block moved");
    expect_sound(&f);
    drop(&f, row[1]);
    drop(&f, row[3]);
    fixture_close(&f);
}
END_TEST

/* ---- D8: sizes are checked ----------------------------------------------- */

START_TEST(test_defect_d08_products_and_sums_do_not_wrap)
{
    fixture_t f;
    void *pointer = UNTOUCHED;
    fixture_open(&f, &arena_kinds[_i], POOL);
    step(&f,
         cuarena_alloc_array(f.arena, UINT64_C(1) << 61, sizeof(double), NULL,
                             &pointer),
         CUARENA_BAD_ARGUMENT);
    for (uint64_t less = 1; less <= 4096; less *= 2) {
        cuarena_status_t status =
            cuarena_alloc(f.arena, UINT64_MAX - less + 1, &pointer);
        ck_assert_int_ne(status, CUARENA_OK);
        expect_sound(&f);
    }
    expect_ptr(pointer, UNTOUCHED);
    expect_u64(live_blocks(&f), 0);
    fixture_close(&f);
}
END_TEST

/* ---- D9, D10: bytes are not reused while they are still read --------------
 */

/* With device memory: a free on a stream is reusable there at once, elsewhere
 * when its marker is complete. On host memory: a resize gives the old bytes to
 * nobody before the copy was made. */
typedef struct thief {
    fixture_t *f;
    void *taken[COUNT];
    size_t count, most;
    pthread_t thread;
} thief_t;

static void *take_all(void *user)
{
    thief_t *thief = user;
    while (thief->count < thief->most &&
           cuarena_alloc(thief->f->arena, EACH, &thief->taken[thief->count]) ==
               CUARENA_OK)
        thief->count++;
    return NULL;
}

/* Another thread takes what it can get while the bytes are being moved. No
 * more than there is: for more it would wait until the move has ended. */
static void steal_meanwhile(test_memory_t *memory, memory_op_t op,
                            const cuarena_relocation_t *list, size_t count)
{
    thief_t *thief = memory->hook_user;
    (void)list;
    (void)count;
    if (op != OP_RELOCATE)
        return;
    ck_assert_int_eq(pthread_create(&thief->thread, NULL, take_all, thief), 0);
    pthread_join(thief->thread, NULL);
    for (size_t i = 0; i < thief->count; i++)
        paint_bytes(thief->taken[i], EACH, 1000 + i);
}

static void start_thief(thief_t *thief, fixture_t *f, size_t most)
{
    memset(thief, 0, sizeof *thief);
    thief->f = f;
    thief->most = most;
    f->memory.hook_user = thief;
    f->memory.hook = steal_meanwhile;
}

/* What it took was overwritten by nobody. */
static void end_thief(thief_t *thief)
{
    thief->f->memory.hook = NULL;
    for (size_t i = 0; i < thief->count; i++) {
        expect_painted(thief->f, thief->taken[i], EACH, 1000 + i);
        drop(thief->f, thief->taken[i]);
    }
}

START_TEST(test_defect_d09_resize_frees_after_the_copy)
{
    fixture_t f;
    thief_t thief;
    void *row[2], *now = NULL;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    take_pointer_row(&f, row, 2, EACH);
    start_thief(&thief, &f, COUNT - 4);
    step_ok(&f, cuarena_resize(f.arena, row[0], EACH + 1, &now));
    ck_assert_ptr_ne(now, row[0]);
    ck_assert_uint_ge(thief.count, 1);
    row[0] = now;
    drop_pointer_row(&f, row, 2, EACH);
    end_thief(&thief);
    fixture_close(&f);
}
END_TEST

typedef struct witness {
    fixture_t *f;
    char *base;
} witness_t;

/* With device memory the compaction's stream waits for the streams of the
 * blocks, and they for it. Host memory has no streams: everything is done when
 * the callback hears of it. */
static int32_t expect_done(void *user, const cuarena_relocation_t *list,
                           size_t count)
{
    witness_t *witness = user;
    for (size_t i = 0; i < count; i++) {
        uint64_t was = (uint64_t)((char *)list[i].from - witness->base) / EACH;
        expect_painted(witness->f, list[i].to, list[i].bytes, was);
        expect_ptr(address_of(witness->f, list[i].block), list[i].to);
    }
    return 0;
}

START_TEST(test_defect_d10_copies_are_done_when_they_are_told)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    void *base = NULL;
    uint64_t bytes = 0;
    open_with_holes(&f, KIND_CUSTOM_POOL, row);
    expect_ok(cuarena_base(f.arena, &base, &bytes));
    witness_t witness = {&f, base};
    step_ok(&f, cuarena_compact(f.arena, NULL, expect_done, &witness, NULL));
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

/* ---- D11: nobody is given what a move still reads or writes ---------------
 */

START_TEST(test_defect_d11_threads_get_nothing_of_a_move)
{
    fixture_t f;
    thief_t thief;
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    open_with_holes(&f, KIND_CUSTOM_POOL, row);
    start_thief(&thief, &f, 2);
    cuarena_compact_options_init(&options);
    options.goal_bytes = 2 * EACH;
    step_ok(&f, cuarena_compact(f.arena, &options, NULL, NULL, NULL));
    expect_u64(thief.count, 2);
    drop_row(&f, row, COUNT, EACH);
    end_thief(&thief);
    fixture_close(&f);
}
END_TEST

/* ---- D12: a copy that fails -----------------------------------------------
 */

START_TEST(test_defect_d12_a_failing_copy_leaves_every_block)
{
    fixture_t f;
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    void *before[COUNT] = {NULL};
    open_with_holes(&f, KIND_CUSTOM_POOL, row);
    for (size_t i = 1; i < COUNT; i += 2)
        before[i] = address_of(&f, row[i]);
    f.memory.fail_in = 1;
    f.memory.fail_op = OP_RELOCATE;
    step(&f, cuarena_compact(f.arena, NULL, hear_relocations, &heard, NULL),
         CUARENA_DRIVER);
    expect_u64(heard.batches, 0);
    for (size_t i = 1; i < COUNT; i += 2)
        expect_ptr(address_of(&f, row[i]), before[i]);
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

/* ---- D13: the callback hears of what moved --------------------------------
 */

START_TEST(test_defect_d13_unmoved_blocks_are_not_reported)
{
    fixture_t f;
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_open(&f, &arena_kinds[_i], POOL);
    take_row(&f, row, COUNT, EACH);
    drop_block(&f, row[5]);
    row[5] = 0;
    step_ok(&f, cuarena_compact(f.arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 2);
    for (size_t i = 0; i < heard.count; i++)
        ck_assert_ptr_ne(heard.list[i].from, heard.list[i].to);
    drop_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

/* ---- D16: resize keeps contents, and the block when it fails --------------
 */

START_TEST(test_defect_d16_resize_keeps_contents_or_everything)
{
    fixture_t f;
    void *row[4], *now = UNTOUCHED;
    fixture_open(&f, &arena_kinds[_i], POOL);
    take_pointer_row(&f, row, 4, EACH);
    cuarena_status_t status = cuarena_resize(f.arena, row[1], 2 * POOL, &now);
    ck_assert_int_ne(status, CUARENA_OK);
    expect_ptr(now, UNTOUCHED);
    expect_sound(&f);
    expect_painted(&f, row[1], EACH, 1);
    step_ok(&f, cuarena_resize(f.arena, row[1], 2 * EACH, &now));
    row[1] = now;
    drop_pointer_row(&f, row, 4, EACH);
    fixture_close(&f);
}
END_TEST

static void add_per_memory(Suite *suite)
{
    TCase *tcase = new_case(suite, "per memory");
    tcase_add_loop_test(tcase, test_defect_d01_overlapping_moves_keep_the_data,
                        0, ARENA_MEMORY_COUNT * SHIFT_COUNT);
    add_test_per_memory(tcase, test_defect_d03_no_node_per_block);
    add_test_per_memory(tcase, test_defect_d06_the_tail_comes_back);
    add_test_per_memory(tcase,
                        test_defect_d07_stable_without_a_region_does_not_move);
    add_test_per_memory(tcase, test_defect_d08_products_and_sums_do_not_wrap);
    add_test_per_memory(tcase, test_defect_d13_unmoved_blocks_are_not_reported);
    add_test_per_memory(tcase,
                        test_defect_d16_resize_keeps_contents_or_everything);
}

int main(void)
{
    Suite *suite = suite_create("cuArena's defects");
    add_per_memory(suite);
    TCase *tcase = suite_add_list(
        suite, "steps",
        TEST_LIST(test_defect_d02_holes_too_small_are_not_scanned,
                  test_defect_d04_holes_of_many_sizes_are_not_scanned,
                  test_defect_d03_a_free_needs_no_memory,
                  test_defect_d05_statistics_look_at_no_range));
    tcase_set_timeout(tcase, 60);
    suite_add_list(
        suite, "moves",
        TEST_LIST(test_defect_d09_resize_frees_after_the_copy,
                  test_defect_d10_copies_are_done_when_they_are_told,
                  test_defect_d11_threads_get_nothing_of_a_move,
                  test_defect_d12_a_failing_copy_leaves_every_block));
    return suite_main(suite);
}
