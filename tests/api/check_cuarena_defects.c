/*
 * The defects and false claims found in cuArena, each found by its number:
 * what ours does instead. Not here are those that a test of another program shows;
 * docs/from-cuarena.md lists all 28.
 * Steps are counted, never time. What concerns streams, devices or the driver is tested as far as
 * host memory allows; a comment says what device memory adds.
 */
#include "support/fixture.h"
#include "support/scale.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

/* Every second block of a full row is freed, from the first on. */
static fixture_t *open_with_holes(fixture_t *f, const arena_kind_t *kind, cuarena_block_t *row)
{
    fixture_open(f, kind, POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    return f;
}

/* ---- D1: compaction keeps data ------------------------------------------ */

static const uint64_t shifts[] = {128, KIB(4), KIB(64), MIB(1)};
#define SHIFT_COUNT ((int)COUNT_OF(shifts))

START_TEST(defect_d01_overlapping_moves_keep_the_data)
{
    heard_t heard = {.count = 0};
    uint64_t shift = shifts[_i % SHIFT_COUNT];
    uint64_t pool = scale_pick(MIB(4), MIB(8), MIB(256));
    fixture_t *f = prepared(&arena_kinds[_i / SHIFT_COUNT], pool);
    f->config.alignment = 128;
    fixture_create(f);
    cuarena_block_t block = alloc_above_a_hole(f, shift, pool - shift);
    char *before = address_of(f, block);
    paint(f, before, pool - shift, 9);
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 1);
    expect_ptr(heard.list[0].from, before);
    expect_ptr(heard.list[0].to, before - shift);
    expect_ptr(address_of(f, block), before - shift);
    expect_painted(f, address_of(f, block), pool - shift, 9);
    free_block(f, block);
}
END_TEST

/* ---- D7: stable means that it does not move ------------------------------ */

START_TEST(defect_d07_stable_without_a_region_does_not_move)
{
    heard_t heard = {.count = 0};
    void *now = UNTOUCHED, *row[4];
    fixture_t *f = opened(&arena_kinds[_i], POOL);
    for (size_t i = 0; i < 4; i++)
        row[i] = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    free_ok(f, row[0]);
    free_ok(f, row[2]);
    step(f, cuarena_unpin(f->arena, row[1]), CUARENA_BAD_ARGUMENT);
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 0);
    cuarena_status_t status = cuarena_resize(f->arena, row[1], 4 * EACH, &now);
    ck_assert_msg(status != CUARENA_OK || now == row[1], "a stable block moved");
    expect_sound(f);
    free_ok(f, row[1]);
    free_ok(f, row[3]);
}
END_TEST

/* ---- D8: sizes are checked ----------------------------------------------- */

static const uint64_t huge_sizes[] = {
    UINT64_MAX,        UINT64_MAX - 255,        UINT64_MAX - 4095,
    UINT64_C(1) << 63, CUARENA_HEAP_MAX_OFFSET, CUARENA_HEAP_MAX_SEGMENT};

START_TEST(defect_d08_sums_do_not_wrap)
{
    void *pointer = UNTOUCHED;
    cuarena_block_t block = 77;
    fixture_t *f = opened(&arena_kinds[_i], POOL);
    for (size_t i = 0; i < COUNT_OF(huge_sizes); i++) {
        step(f, cuarena_alloc(f->arena, huge_sizes[i], &pointer), CUARENA_OUT_OF_MEMORY);
        expect_u64(last_error().asked_bytes, huge_sizes[i]);
        step(f, cuarena_block_alloc(f->arena, huge_sizes[i], &block), CUARENA_OUT_OF_MEMORY);
        expect_u64(last_error().asked_bytes, huge_sizes[i]);
    }
    for (uint64_t less = 1; less <= 4096; less *= 2)
        step(f, cuarena_alloc(f->arena, UINT64_MAX - less + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_ptr(pointer, UNTOUCHED);
    expect_u64(block, 77);
}
END_TEST

static const struct {
    uint64_t count, each;
    cuarena_status_t status;
} products[] = {
    {UINT64_C(1) << 61, sizeof(double), CUARENA_BAD_ARGUMENT},
    {UINT64_C(1) << 32, UINT64_C(1) << 32, CUARENA_BAD_ARGUMENT},
    {UINT64_MAX, 2, CUARENA_BAD_ARGUMENT},
    {UINT64_MAX, 1, CUARENA_OUT_OF_MEMORY},
};

START_TEST(defect_d08_products_do_not_wrap)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(&arena_kinds[_i], POOL);
    for (size_t i = 0; i < COUNT_OF(products); i++)
        step(f, cuarena_alloc_array(f->arena, products[i].count, products[i].each, NULL, &pointer),
             products[i].status);
    expect_ptr(pointer, UNTOUCHED);
}
END_TEST

/* ---- D9, D10: bytes are not reused while they are still read ------------- */

/* With device memory: a free on a stream is reusable there at once, elsewhere when its event is
 * complete. On host memory: a resize gives the old bytes to nobody before the copy was made. */
typedef struct thief {
    fixture_t *f;
    void *taken[COUNT];
    size_t count, most;
    pthread_t thread;
} thief_t;

static void *alloc_all(void *user)
{
    thief_t *thief = user;
    while (thief->count < thief->most &&
           cuarena_alloc(thief->f->arena, EACH, &thief->taken[thief->count]) == CUARENA_OK)
        thief->count++;
    return NULL;
}

/* Another thread takes what it can get while the bytes are being moved. No
 * more than there is: for more it would wait until the move has ended. */
static void steal_meanwhile(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                            size_t count)
{
    thief_t *thief = memory->hook_user;
    (void)list;
    (void)count;
    if (op != OP_RELOCATE)
        return;
    ck_assert_int_eq(pthread_create(&thief->thread, NULL, alloc_all, thief), 0);
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
        free_ok(thief->f, thief->taken[i]);
    }
}

START_TEST(defect_d09_resize_frees_after_the_copy)
{
    thief_t thief;
    void *row[2], *now = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, row, 2, EACH);
    start_thief(&thief, f, COUNT - 4);
    step_ok(f, cuarena_resize(f->arena, row[0], EACH + 1, &now));
    ck_assert_ptr_ne(now, row[0]);
    ck_assert_uint_ge(thief.count, 1);
    row[0] = now;
    free_pointer_row(f, row, 2, EACH);
    end_thief(&thief);
}
END_TEST

typedef struct witness {
    fixture_t *f;
    char *base;
} witness_t;

/* With device memory the compaction's stream waits for the streams of the blocks, and they for it.
 * Host memory has no streams: everything is done when the callback hears of it. */
static int32_t expect_done(void *user, const cuarena_relocation_t *list, size_t count)
{
    witness_t *witness = user;
    for (size_t i = 0; i < count; i++) {
        uint64_t was = (uint64_t)((char *)list[i].from - witness->base) / EACH;
        expect_painted(witness->f, list[i].to, list[i].bytes, was);
        expect_ptr(address_of(witness->f, list[i].block), list[i].to);
    }
    return 0;
}

START_TEST(defect_d10_copies_are_done_when_they_are_told)
{
    cuarena_block_t row[COUNT];
    void *base = NULL;
    uint64_t bytes = 0;
    fixture_t *f = open_with_holes(new_fixture(fixture_close), KIND_CUSTOM_POOL, row);
    expect_ok(cuarena_base(f->arena, &base, &bytes));
    witness_t witness = {f, base};
    step_ok(f, cuarena_compact(f->arena, NULL, expect_done, &witness, NULL));
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* ---- D11: nobody is given what a move still reads or writes -------------- */

START_TEST(defect_d11_threads_get_nothing_of_a_move)
{
    thief_t thief;
    cuarena_block_t row[COUNT];
    cuarena_compact_options_t options;
    fixture_t *f = open_with_holes(new_fixture(fixture_close), KIND_CUSTOM_POOL, row);
    start_thief(&thief, f, 2);
    cuarena_compact_options_init(&options);
    options.goal_bytes = 2 * EACH;
    step_ok(f, cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_u64(thief.count, 2);
    free_row(f, row, COUNT, EACH);
    end_thief(&thief);
}
END_TEST

/* ---- D13: the callback hears of what moved ------------------------------- */

START_TEST(defect_d13_unmoved_blocks_are_not_reported)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(&arena_kinds[_i], POOL);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[5]);
    row[5] = 0;
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    expect_u64(heard.count, 2);
    for (size_t i = 0; i < heard.count; i++)
        ck_assert_ptr_ne(heard.list[i].from, heard.list[i].to);
    free_row(f, row, COUNT, EACH);
}
END_TEST

static uint64_t capacity_in(const fixture_t *f, int32_t region)
{
    return region_stats_of(f, region).capacity_bytes;
}

static void expect_short(cuarena_status_t status)
{
    ck_assert_msg(status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LIMIT,
                  "expected a lack of memory, got %s", cuarena_status_name(status));
}

/* ---- D17: a pool has the size that was asked for, or there is none ------- */

/* All at once: each create makes an arena (D26). */
START_TEST(defect_d17_pool_is_as_large_as_asked)
{
    fixture_t pools[3];
    static const uint64_t sizes[] = {MIB(1), MIB(3), MIB(16)};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        fixture_open(&pools[i], &arena_kinds[_i], sizes[i]);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        expect_u64(capacity_in(&pools[i], CUARENA_REGION_ALL), sizes[i]);
        fixture_close(&pools[i]);
    }
}
END_TEST

START_TEST(defect_d17_pool_larger_than_there_is_is_refused)
{
    uint64_t asked = UINT64_C(1) << 47;
    fixture_t *f = prepared(&arena_kinds[_i], POOL);
    f->config.pool = amount_of_bytes(asked);
    f->memory.budget_bytes = GIB(1);
    f->arena = UNTOUCHED;
    expect_short(cuarena_create(&f->config, &f->arena));
    expect_u64(last_error().asked_bytes, asked);
    expect_ptr(f->arena, UNTOUCHED);
}
END_TEST

/* ---- D20: what one function gave, its counterpart gets back -------------- */

/* The test memory compares every segment with those it gave and keeps a fault of any other;
 * fixture_close looks at it. */
START_TEST(defect_d20_segments_return_to_who_gave_them)
{
    fixture_t a, b;
    fixture_open(&a, KIND_CUSTOM_POOL, POOL);
    fixture_open(&b, KIND_CUSTOM_GROW, POOL);
    void *pointer = alloc_dedicated(&a, EACH);
    uint64_t given = a.memory.calls[a.memory.call_count - 1].bytes;
    free_ok(&b, alloc_ok(&b, EACH));
    test_memory_forget_calls(&a.memory);
    free_ok(&a, pointer);
    expect_text(test_memory_sequence(&a.memory), "give_back");
    expect_u64(a.memory.calls[0].address, (uint64_t)(uintptr_t)pointer);
    expect_u64(a.memory.calls[0].bytes, given);
    fixture_close(&a);
    fixture_close(&b);
}
END_TEST

/* ---- D21: a create that fails halfway leaks nothing ---------------------- */

START_TEST(defect_d21_a_second_arena_that_fails_leaves_the_first)
{
    fixture_t a, b;
    fixture_open(&a, &arena_kinds[_i], POOL);
    void *pointer = alloc_ok(&a, EACH);
    paint(&a, pointer, EACH, 1);
    fixture_prepare(&b, KIND_CUSTOM_POOL, POOL);
    b.memory.budget_bytes = 0;
    expect_status(cuarena_create(&b.config, &b.arena), CUARENA_OUT_OF_MEMORY);
    fixture_release(&b);
    expect_painted(&a, pointer, EACH, 1);
    free_ok(&a, pointer);
    fixture_close(&a);
}
END_TEST

/* ---- D22: threads may call anything -------------------------------------- */

typedef struct watcher {
    cuarena_t *arena;
    uint64_t wrong;
    uint64_t rounds;
    int32_t level;
} watcher_t;

/* The capacity is one of the two sizes, whoever looks and whenever. */
static void *watch(void *user)
{
    watcher_t *watcher = user;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    for (uint64_t i = 0; i < watcher->rounds; i++) {
        watcher->wrong += cuarena_stats(watcher->arena, CUARENA_REGION_ALL, &stats) != CUARENA_OK ||
                          (stats.capacity_bytes != POOL && stats.capacity_bytes != 2 * POOL);
        watcher->wrong += cuarena_log_set_level(CUARENA_LOG_OFF) != CUARENA_OK;
        watcher->wrong += cuarena_log_level() != CUARENA_LOG_OFF;
    }
    return NULL;
}

START_TEST(defect_d22_pools_change_under_other_threads)
{
    pthread_t threads[2];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    watcher_t watchers[2] = {{f->arena, 0, scale_pick(2000, 20000, 200000), 0},
                             {f->arena, 0, scale_pick(2000, 20000, 200000), 0}};
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, watch, &watchers[i]);
    for (uint64_t i = 0; i < scale_pick(50, 500, 5000); i++) {
        step_ok(f, cuarena_resize_pool(f->arena, 2 * POOL));
        step_ok(f, cuarena_resize_pool(f->arena, POOL));
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        expect_u64(watchers[i].wrong, 0);
    }
}
END_TEST

/* ---- D23: an arena knows whose bytes it has ------------------------------ */

/* With device memory the arena keeps its device and the current one does not matter. On host
 * memory: each arena calls its own memory and no other. */
START_TEST(defect_d23_each_arena_calls_its_own_memory)
{
    fixture_t a, b;
    fixture_open(&a, KIND_CUSTOM_GROW, POOL);
    fixture_open(&b, KIND_CUSTOM_GROW, POOL);
    void *of_a = alloc_ok(&a, EACH);
    expect_u64(b.memory.call_count, 0);
    void *of_b = alloc_ok(&b, EACH);
    expect_u64(a.memory.reserved_bytes, EACH);
    expect_u64(b.memory.reserved_bytes, EACH);
    free_ok(&a, of_a);
    fixture_close(&a);
    free_ok(&b, of_b);
    fixture_close(&b);
}
END_TEST

/* ---- D27: bytes are zeroed when that was asked for ----------------------- */

START_TEST(defect_d27_nothing_is_zeroed_unasked)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, POOL));
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(f->memory.counts[OP_ZERO], 0);
}
END_TEST

static void soil(fixture_t *f)
{
    void *pointer = alloc_ok(f, POOL);
    paint(f, pointer, POOL, 3);
    free_ok(f, pointer);
}

START_TEST(defect_d27_a_block_is_zeroed_on_request)
{
    if (!(arena_kinds[_i].traits & KIND_READABLE))
        return;
    fixture_t *f = opened(&arena_kinds[_i], POOL);
    soil(f);
    void *pointer = alloc_zeroed(f, 3 * EACH);
    expect_zero(f, pointer, 3 * EACH);
    free_ok(f, pointer);
}
END_TEST

static const int32_t zero_modes[] = {CUARENA_ZERO_ALLOC, CUARENA_ZERO_FREE};

START_TEST(defect_d27_reused_bytes_are_zero_in_these_modes)
{
    const arena_kind_t *kind = &arena_kinds[_i / 2];
    if (!(kind->traits & KIND_READABLE))
        return;
    fixture_t *f = prepared(kind, POOL);
    f->config.zero = zero_modes[_i % 2];
    fixture_create(f);
    soil(f);
    void *pointer = alloc_ok(f, POOL);
    expect_zero(f, pointer, POOL);
    paint(f, pointer, POOL, 4);
    step_ok(f, cuarena_reset(f->arena));
    pointer = alloc_ok(f, POOL);
    expect_zero(f, pointer, POOL);
    free_ok(f, pointer);
}
END_TEST

/* ---- D28: a benchmark does what its name says ---------------------------- */

/* The six workloads of cuArena under the names of what they really are, which docs/from-cuarena.md
 * lists, each with the figures that show it. */
static void play_single_8_mib(fixture_t *f)
{
    free_ok(f, alloc_ok(f, MIB(8)));
}

static void play_batch_512_of_1_kib(fixture_t *f)
{
    void *pointers[512];
    for (size_t i = 0; i < 512; i++)
        pointers[i] = alloc_ok(f, KIB(1));
    for (size_t i = 0; i < 512; i++)
        free_ok(f, pointers[i]);
}

static void play_ping_pong_4_of_1_mib(fixture_t *f)
{
    void *slots[4] = {NULL};
    for (size_t i = 0; i < 32; i++) {
        free_ok(f, slots[i % 4]);
        slots[i % 4] = alloc_ok(f, MIB(1));
    }
    for (size_t i = 0; i < 4; i++)
        free_ok(f, slots[i]);
}

static void play_doubling_1_to_128_mib(fixture_t *f)
{
    void *pointer = NULL;
    for (uint64_t bytes = MIB(1); bytes <= MIB(128); bytes *= 2)
        step_ok(f, cuarena_resize(f->arena, pointer, bytes, &pointer));
    free_ok(f, pointer);
}

/* The pool is full, so that compaction is what makes the room. */
static void play_compact_8_of_32_mib(fixture_t *f)
{
    cuarena_block_t blocks[8];
    void *pointer = NULL;
    for (size_t i = 0; i < 8; i++)
        blocks[i] = alloc_block(f, MIB(32));
    for (size_t i = 0; i < 8; i += 2)
        free_block(f, blocks[i]);
    step(f, cuarena_alloc(f->arena, MIB(64), &pointer), CUARENA_FRAGMENTED);
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    free_ok(f, alloc_ok(f, MIB(64)));
    for (size_t i = 1; i < 8; i += 2)
        free_block(f, blocks[i]);
}

static void play_stable_256_b_to_2_mib(fixture_t *f)
{
    const uint64_t sizes[] = {256, KIB(256), MIB(2)};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        free_ok(f, alloc_in(f, sizes[i], CUARENA_REGION_STABLE));
        free_ok(f, alloc_ok(f, sizes[i]));
    }
}

static const struct {
    const char *name;
    void (*play)(fixture_t *f);
    uint64_t pool, peak, allocs;
} workloads[] = {
    {"single 8 MiB", play_single_8_mib, MIB(256), MIB(8), 1},
    {"batch 512 x 1 KiB", play_batch_512_of_1_kib, MIB(256), KIB(512), 512},
    {"ping-pong 4 x 1 MiB", play_ping_pong_4_of_1_mib, MIB(256), MIB(4), 32},
    {"doubling 1 to 128 MiB", play_doubling_1_to_128_mib, MIB(256), MIB(128), 1},
    {"compact 8 x 32 MiB", play_compact_8_of_32_mib, MIB(256), MIB(256), 9},
    {"stable and dynamic 256 B to 2 MiB", play_stable_256_b_to_2_mib, MIB(256), MIB(2), 6},
};

START_TEST(defect_d28_workloads_are_what_their_names_say)
{
    fixture_t *f = prepared(KIND_NONE_POOL, workloads[_i].pool);
    if (workloads[_i].play == play_stable_256_b_to_2_mib)
        f->config.stable = amount_of_bytes(MIB(32));
    fixture_create(f);
    workloads[_i].play(f);
    cuarena_stats_t stats = stats_of(f);
    ck_assert_msg(stats.peak_live_bytes == workloads[_i].peak &&
                      stats.allocs == workloads[_i].allocs,
                  "%s: %llu bytes at once, %llu allocations", workloads[_i].name,
                  (unsigned long long)stats.peak_live_bytes, (unsigned long long)stats.allocs);
    expect_u64(stats.frees, stats.allocs);
}
END_TEST

static void add_per_memory(Suite *suite)
{
    TCase *tcase = new_case(suite, "per memory");
    tcase_add_loop_test(tcase, defect_d01_overlapping_moves_keep_the_data, 0,
                        ARENA_MEMORY_COUNT * SHIFT_COUNT);
    add_test_per_memory(tcase, defect_d07_stable_without_a_region_does_not_move);
    add_test_per_memory(tcase, defect_d08_sums_do_not_wrap);
    add_test_per_memory(tcase, defect_d08_products_do_not_wrap);
    add_test_per_memory(tcase, defect_d13_unmoved_blocks_are_not_reported);
    add_test_per_memory(tcase, defect_d17_pool_is_as_large_as_asked);
    add_test_per_memory(tcase, defect_d17_pool_larger_than_there_is_is_refused);
    add_test_per_memory(tcase, defect_d21_a_second_arena_that_fails_leaves_the_first);
    add_test_per_memory(tcase, defect_d27_a_block_is_zeroed_on_request);
    tcase_add_loop_test(tcase, defect_d27_reused_bytes_are_zero_in_these_modes, 0,
                        2 * ARENA_MEMORY_COUNT);
}

int main(void)
{
    Suite *suite = suite_create("cuArena's defects");
    add_per_memory(suite);
    suite_add_rows(suite, "workloads", defect_d28_workloads_are_what_their_names_say,
                   COUNT_OF(workloads));
    TCase *tcase = suite_add_list(
        suite, "others",
        TEST_LIST(
            defect_d09_resize_frees_after_the_copy, defect_d10_copies_are_done_when_they_are_told,
            defect_d11_threads_get_nothing_of_a_move, defect_d20_segments_return_to_who_gave_them,
            defect_d22_pools_change_under_other_threads, defect_d23_each_arena_calls_its_own_memory,
            defect_d27_nothing_is_zeroed_unasked));
    tcase_set_timeout(tcase, scale_timeout(60));
    return suite_main(suite);
}
