/*
 * The defects and false claims found in cuArena that concern the life of its
 * pools, each found by its number: what ours does instead. Those of blocks are
 * in check_cuarena_defects.c, and docs/from-cuarena.md lists all 28.
 */
#include "arena_support.h"
#include "base/host_test.h"

#include <pthread.h>
#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

static char untouched_byte;
#define UNTOUCHED ((void *)&untouched_byte)

static uint64_t capacity_in(const fixture_t *f, int32_t region)
{
    return stats_of(f, region).capacity_bytes;
}

static void expect_short(cuarena_status_t status)
{
    ck_assert_msg(status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LIMIT,
                  "expected a lack of memory, got %s",
                  cuarena_status_name(status));
}

/* ---- D14: a failed create leaves nothing behind ---------------------------
 */

START_TEST(test_defect_d14_failed_create_leaves_nothing)
{
    fixture_t f;
    void *pointer = UNTOUCHED;
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    f.config.stable = amount_of_bytes(EACH);
    f.memory.budget_bytes = POOL / 2;
    expect_status(cuarena_create(&f.config, &f.arena), CUARENA_OUT_OF_MEMORY);
    ck_assert_ptr_null(f.arena);
    expect_status(cuarena_alloc(f.arena, 256, &pointer), CUARENA_BAD_ARGUMENT);
    expect_ptr(pointer, UNTOUCHED);
    expect_u64(test_memory_segments(&f.memory), 0);
    fixture_release(&f);
}
END_TEST

/* ---- D15: a failed resize of the pool leaves the pool ---------------------
 */

START_TEST(test_defect_d15_failed_resize_keeps_the_pool)
{
    fixture_t f;
    void *row[COUNT];
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    if (_i == 1)
        f.memory.ops.grow = NULL;
    if (_i == 1)
        f.memory.ops.shrink = NULL;
    fixture_create(&f);
    take_pointer_row(&f, row, COUNT, EACH);
    f.memory.budget_bytes = POOL + EACH;
    cuarena_status_t status = cuarena_resize_pool(f.arena, 4 * POOL);
    ck_assert_int_ne(status, CUARENA_OK);
    expect_sound(&f);
    expect_u64(capacity_in(&f, CUARENA_REGION_ALL), POOL);
    drop_pointer_row(&f, row, COUNT, EACH);
    drop(&f, take(&f, POOL));
    fixture_close(&f);
}
END_TEST

/* ---- D17: a pool has the size that was asked for, or there is none --------
 */

START_TEST(test_defect_d17_pool_is_as_large_as_asked)
{
    fixture_t f;
    uint64_t sizes[] = {MIB(1), MIB(3), MIB(16)};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        fixture_open(&f, &arena_kinds[_i], sizes[i]);
        expect_u64(capacity_in(&f, CUARENA_REGION_ALL), sizes[i]);
        fixture_close(&f);
    }
}
END_TEST

START_TEST(test_defect_d17_pool_larger_than_there_is_is_refused)
{
    fixture_t f;
    uint64_t asked = UINT64_C(1) << 47;
    fixture_prepare(&f, &arena_kinds[_i], POOL);
    f.config.pool = amount_of_bytes(asked);
    f.memory.budget_bytes = GIB(1);
    f.arena = UNTOUCHED;
    expect_short(cuarena_create(&f.config, &f.arena));
    expect_u64(last_error().asked_bytes, asked);
    expect_ptr(f.arena, UNTOUCHED);
    fixture_release(&f);
}
END_TEST

/* ---- D18: what the memory says about itself is checked ---------------------
 */

/* How much the host has, with control groups and reclaimable pages, is tested
 * with the pageable memory itself. */
START_TEST(test_defect_d18_a_failing_query_fails_create)
{
    fixture_t f;
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    f.config.pool = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    f.memory.fail_in = 1;
    f.memory.fail_op = OP_AVAILABLE;
    expect_status(cuarena_create(&f.config, &f.arena), CUARENA_DRIVER);
    fixture_release(&f);
}
END_TEST

START_TEST(test_defect_d18_nothing_available_is_an_error)
{
    fixture_t f;
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    f.config.pool = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    f.memory.available_bytes = 0;
    expect_status(cuarena_create(&f.config, &f.arena), CUARENA_OUT_OF_MEMORY);
    fixture_release(&f);
}
END_TEST

/* ---- D19: destroy reports, and can be called again -------------------------
 */

/* With device memory: no stream is kept, so none can be gone by then. */
START_TEST(test_defect_d19_destroy_reports_and_never_aborts)
{
    fixture_t f;
    fixture_open(&f, &arena_kinds[_i], POOL);
    void *pointer = take(&f, 256);
    step(&f, cuarena_destroy(&f.arena), CUARENA_BUSY);
    ck_assert_ptr_nonnull(f.arena);
    drop(&f, pointer);
    expect_ok(cuarena_destroy(&f.arena));
    ck_assert_ptr_null(f.arena);
    expect_ok(cuarena_destroy(&f.arena));
    expect_ok(cuarena_destroy_forced(&f.arena));
    fixture_release(&f);
}
END_TEST

/* ---- D20: what one function gave, its counterpart gets back ----------------
 */

/* The test memory compares every segment with those it gave and keeps a fault
 * of any other; fixture_close looks at it. */
START_TEST(test_defect_d20_segments_return_to_who_gave_them)
{
    fixture_t a, b;
    void *pointer = NULL;
    cuarena_request_t request;
    fixture_open(&a, KIND_CUSTOM_POOL, POOL);
    fixture_open(&b, KIND_CUSTOM_GROW, POOL);
    cuarena_request_init(&request);
    request.dedicated = 1;
    step_ok(&a, cuarena_alloc_with(a.arena, EACH, &request, &pointer));
    uint64_t given = a.memory.calls[a.memory.call_count - 1].bytes;
    drop(&b, take(&b, EACH));
    test_memory_forget_calls(&a.memory);
    drop(&a, pointer);
    expect_text(test_memory_sequence(&a.memory), "give_back");
    expect_u64(a.memory.calls[0].address, (uint64_t)(uintptr_t)pointer);
    expect_u64(a.memory.calls[0].bytes, given);
    fixture_close(&a);
    fixture_close(&b);
}
END_TEST

/* ---- D21: a create that fails halfway leaks nothing -------------------------
 */

START_TEST(test_defect_d21_create_that_fails_anywhere_leaks_nothing)
{
    uint64_t nth = 0;
    cuarena_status_t status = CUARENA_OUT_OF_MEMORY;
    while (status != CUARENA_OK) {
        fixture_t f;
        fixture_prepare(&f, &arena_kinds[_i], POOL);
        f.config.stable = amount_of_bytes(EACH);
        uint64_t live = cuai_host_live();
        cuai_host_fail_at(++nth);
        status = cuarena_create(&f.config, &f.arena);
        cuai_host_fail_at(0);
        ck_assert_uint_lt(nth, 1000);
        if (status == CUARENA_OK) {
            fixture_close(&f);
            continue;
        }
        ck_assert_int_eq(status, CUARENA_OUT_OF_MEMORY);
        ck_assert_ptr_null(f.arena);
        fixture_release(&f);
        expect_u64(cuai_host_live(), live);
    }
    ck_assert_uint_gt(nth, 1);
}
END_TEST

START_TEST(test_defect_d21_a_second_arena_that_fails_leaves_the_first)
{
    fixture_t a, b;
    fixture_open(&a, &arena_kinds[_i], POOL);
    void *pointer = take(&a, EACH);
    paint(&a, pointer, EACH, 1);
    fixture_prepare(&b, KIND_CUSTOM_POOL, POOL);
    b.memory.budget_bytes = 0;
    expect_status(cuarena_create(&b.config, &b.arena), CUARENA_OUT_OF_MEMORY);
    fixture_release(&b);
    expect_painted(&a, pointer, EACH, 1);
    drop(&a, pointer);
    fixture_close(&a);
}
END_TEST

/* ---- D22: threads may call anything
 * ------------------------------------------ */

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
        watcher->wrong +=
            cuarena_stats(watcher->arena, CUARENA_REGION_ALL, &stats) !=
                CUARENA_OK ||
            (stats.capacity_bytes != POOL && stats.capacity_bytes != 2 * POOL);
        watcher->wrong += cuarena_log_set_level(CUARENA_LOG_OFF) != CUARENA_OK;
        watcher->wrong += cuarena_log_level() != CUARENA_LOG_OFF;
    }
    return NULL;
}

START_TEST(test_defect_d22_pools_change_under_other_threads)
{
    fixture_t f;
    pthread_t threads[2];
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    watcher_t watchers[2] = {{f.arena, 0, scale_pick(2000, 20000, 200000), 0},
                             {f.arena, 0, scale_pick(2000, 20000, 200000), 0}};
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, watch, &watchers[i]);
    for (uint64_t i = 0; i < scale_pick(50, 500, 5000); i++) {
        step_ok(&f, cuarena_resize_pool(f.arena, 2 * POOL));
        step_ok(&f, cuarena_resize_pool(f.arena, POOL));
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        expect_u64(watchers[i].wrong, 0);
    }
    fixture_close(&f);
}
END_TEST

/* ---- D23: an arena knows whose bytes it has
 * ----------------------------------- */

/* With device memory the arena keeps its device and the current one does not
 * matter. On host memory: each arena calls its own memory and no other. */
START_TEST(test_defect_d23_each_arena_calls_its_own_memory)
{
    fixture_t a, b;
    fixture_open(&a, KIND_CUSTOM_GROW, POOL);
    fixture_open(&b, KIND_CUSTOM_GROW, POOL);
    void *of_a = take(&a, EACH);
    expect_u64(b.memory.call_count, 0);
    void *of_b = take(&b, EACH);
    expect_u64(a.memory.held_bytes, EACH);
    expect_u64(b.memory.held_bytes, EACH);
    drop(&a, of_a);
    fixture_close(&a);
    drop(&b, of_b);
    fixture_close(&b);
}
END_TEST

/* ---- D24: peaks can be reset, on every memory, as asked and as taken
 * ---------- */

START_TEST(test_defect_d24_peaks_can_be_reset)
{
    fixture_t f;
    fixture_open(&f, &arena_kinds[_i], POOL);
    drop(&f, take(&f, 4 * EACH - 1));
    cuarena_stats_t stats = stats_of(&f, CUARENA_REGION_ALL);
    expect_u64(stats.peak_live_bytes, 4 * EACH);
    expect_u64(stats.peak_requested_bytes, 4 * EACH - 1);
    step_ok(&f, cuarena_reset_peaks(f.arena));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).peak_live_bytes, 0);
    drop(&f, take(&f, 100));
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).peak_live_bytes, 256);
    expect_u64(stats_of(&f, CUARENA_REGION_ALL).peak_requested_bytes, 100);
    fixture_close(&f);
}
END_TEST

/* ---- D25: resizing the pool keeps the stable region
 * ---------------------------- */

START_TEST(test_defect_d25_stable_region_outlives_resizes)
{
    fixture_t f;
    if (!(arena_kinds[_i].traits & KIND_RESIZES))
        return;
    fixture_prepare(&f, &arena_kinds[_i], MIB(64));
    f.config.stable = amount_of_bytes(MIB(16));
    fixture_create(&f);
    step(&f, cuarena_resize_pool(f.arena, MIB(8)), CUARENA_BAD_ARGUMENT);
    expect_u64(capacity_in(&f, CUARENA_REGION_STABLE), MIB(16));
    expect_u64(capacity_in(&f, CUARENA_REGION_ALL), MIB(64));
    step_ok(&f, cuarena_resize_pool(f.arena, MIB(128)));
    expect_u64(capacity_in(&f, CUARENA_REGION_STABLE), MIB(16));
    expect_u64(capacity_in(&f, CUARENA_REGION_DYNAMIC), MIB(112));
    fixture_close(&f);
}
END_TEST

/* ---- D26: a second create makes a second arena
 * --------------------------------- */

START_TEST(test_defect_d26_second_create_is_as_asked)
{
    fixture_t a, b;
    fixture_open(&a, &arena_kinds[_i], MIB(1));
    fixture_open(&b, &arena_kinds[_i], MIB(2));
    expect_u64(capacity_in(&a, CUARENA_REGION_ALL), MIB(1));
    expect_u64(capacity_in(&b, CUARENA_REGION_ALL), MIB(2));
    fixture_close(&a);
    fixture_close(&b);
}
END_TEST

/* ---- D27: bytes are zeroed when that was asked for
 * ------------------------------ */

START_TEST(test_defect_d27_nothing_is_zeroed_unasked)
{
    fixture_t f;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    drop(&f, take(&f, POOL));
    step_ok(&f, cuarena_reset(f.arena));
    expect_u64(f.memory.counts[OP_ZERO], 0);
    fixture_close(&f);
}
END_TEST

static void soil(fixture_t *f)
{
    void *pointer = take(f, POOL);
    paint(f, pointer, POOL, 3);
    drop(f, pointer);
}

static void *take_zeroed(fixture_t *f, uint64_t bytes)
{
    void *pointer = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    step_ok(f, cuarena_alloc_with(f->arena, bytes, &request, &pointer));
    return pointer;
}

START_TEST(test_defect_d27_a_block_is_zeroed_on_request)
{
    fixture_t f;
    if (!(arena_kinds[_i].traits & KIND_READABLE))
        return;
    fixture_open(&f, &arena_kinds[_i], POOL);
    soil(&f);
    void *pointer = take_zeroed(&f, 3 * EACH);
    expect_zero(&f, pointer, 3 * EACH);
    drop(&f, pointer);
    fixture_close(&f);
}
END_TEST

static const int32_t zero_modes[] = {CUARENA_ZERO_ALLOC, CUARENA_ZERO_FREE};

START_TEST(test_defect_d27_reused_bytes_are_zero_in_these_modes)
{
    fixture_t f;
    const arena_kind_t *kind = &arena_kinds[_i / 2];
    if (!(kind->traits & KIND_READABLE))
        return;
    fixture_prepare(&f, kind, POOL);
    f.config.zero = zero_modes[_i % 2];
    fixture_create(&f);
    soil(&f);
    void *pointer = take(&f, POOL);
    expect_zero(&f, pointer, POOL);
    paint(&f, pointer, POOL, 4);
    step_ok(&f, cuarena_reset(f.arena));
    pointer = take(&f, POOL);
    expect_zero(&f, pointer, POOL);
    drop(&f, pointer);
    fixture_close(&f);
}
END_TEST

START_TEST(test_defect_d27_fresh_bytes_are_zero_in_mode_create)
{
    fixture_t f;
    fixture_prepare(&f, &arena_kinds[_i], POOL);
    f.config.zero = CUARENA_ZERO_CREATE;
    if (!(f.kind->traits & KIND_READABLE))
        return;
    if (f.bytes != NULL)
        memset(f.bytes, 0xa5, f.bytes_size);
    fixture_create(&f);
    void *pointer = take(&f, POOL);
    expect_zero(&f, pointer, POOL);
    drop(&f, pointer);
    fixture_close(&f);
}
END_TEST

/* ---- D28: a benchmark does what its name says
 * ------------------------------------ */

/* The six workloads of cuArena under the names of what they really are, which
 * docs/from-cuarena.md lists, each with the figures that show it. */
static void play_single_8_mib(fixture_t *f)
{
    drop(f, take(f, MIB(8)));
}

static void play_batch_512_of_1_kib(fixture_t *f)
{
    void *pointers[512];
    for (size_t i = 0; i < 512; i++)
        pointers[i] = take(f, KIB(1));
    for (size_t i = 0; i < 512; i++)
        drop(f, pointers[i]);
}

static void play_ping_pong_4_of_1_mib(fixture_t *f)
{
    void *slots[4] = {NULL};
    for (size_t i = 0; i < 32; i++) {
        drop(f, slots[i % 4]);
        slots[i % 4] = take(f, MIB(1));
    }
    for (size_t i = 0; i < 4; i++)
        drop(f, slots[i]);
}

static void play_doubling_1_to_128_mib(fixture_t *f)
{
    void *pointer = NULL;
    for (uint64_t bytes = MIB(1); bytes <= MIB(128); bytes *= 2)
        step_ok(f, cuarena_resize(f->arena, pointer, bytes, &pointer));
    drop(f, pointer);
}

/* The pool is full, so that compaction is what makes the room. */
static void play_compact_8_of_32_mib(fixture_t *f)
{
    cuarena_block_t blocks[8];
    void *pointer = NULL;
    for (size_t i = 0; i < 8; i++)
        blocks[i] = take_block(f, MIB(32));
    for (size_t i = 0; i < 8; i += 2)
        drop_block(f, blocks[i]);
    step(f, cuarena_alloc(f->arena, MIB(64), &pointer), CUARENA_FRAGMENTED);
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    drop(f, take(f, MIB(64)));
    for (size_t i = 1; i < 8; i += 2)
        drop_block(f, blocks[i]);
}

static void play_stable_256_b_to_2_mib(fixture_t *f)
{
    const uint64_t sizes[] = {256, KIB(256), MIB(2)};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        drop(f, take_in(f, sizes[i], CUARENA_REGION_STABLE));
        drop(f, take(f, sizes[i]));
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
    {"doubling 1 to 128 MiB", play_doubling_1_to_128_mib, MIB(256), MIB(128),
     1},
    {"compact 8 x 32 MiB", play_compact_8_of_32_mib, MIB(256), MIB(256), 9},
    {"stable and dynamic 256 B to 2 MiB", play_stable_256_b_to_2_mib, MIB(256),
     MIB(2), 6},
};

START_TEST(test_defect_d28_workloads_are_what_their_names_say)
{
    fixture_t f;
    fixture_prepare(&f, KIND_NONE_POOL, workloads[_i].pool);
    if (workloads[_i].play == play_stable_256_b_to_2_mib)
        f.config.stable = amount_of_bytes(MIB(32));
    fixture_create(&f);
    workloads[_i].play(&f);
    cuarena_stats_t stats = stats_of(&f, CUARENA_REGION_ALL);
    ck_assert_msg(stats.peak_live_bytes == workloads[_i].peak &&
                      stats.allocs == workloads[_i].allocs,
                  "%s: %llu bytes at once, %llu allocations",
                  workloads[_i].name, (unsigned long long)stats.peak_live_bytes,
                  (unsigned long long)stats.allocs);
    expect_u64(stats.frees, stats.allocs);
    fixture_close(&f);
}
END_TEST

static void add_per_memory(Suite *suite)
{
    TCase *tcase = new_case(suite, "per memory");
    add_test_per_memory(tcase, test_defect_d17_pool_is_as_large_as_asked);
    add_test_per_memory(tcase,
                        test_defect_d17_pool_larger_than_there_is_is_refused);
    add_test_per_memory(tcase,
                        test_defect_d19_destroy_reports_and_never_aborts);
    add_test_per_memory(
        tcase, test_defect_d21_create_that_fails_anywhere_leaks_nothing);
    add_test_per_memory(
        tcase, test_defect_d21_a_second_arena_that_fails_leaves_the_first);
    add_test_per_memory(tcase, test_defect_d24_peaks_can_be_reset);
    add_test_per_memory(tcase, test_defect_d25_stable_region_outlives_resizes);
    add_test_per_memory(tcase, test_defect_d26_second_create_is_as_asked);
    add_test_per_memory(tcase, test_defect_d27_a_block_is_zeroed_on_request);
    tcase_add_loop_test(tcase,
                        test_defect_d27_reused_bytes_are_zero_in_these_modes, 0,
                        2 * ARENA_MEMORY_COUNT);
    add_test_per_memory(tcase,
                        test_defect_d27_fresh_bytes_are_zero_in_mode_create);
}

int main(void)
{
    Suite *suite = suite_create("cuArena's defects: pools");
    add_per_memory(suite);
    TCase *tcase = new_case(suite, "tables");
    tcase_add_loop_test(tcase, test_defect_d15_failed_resize_keeps_the_pool, 0,
                        2);
    tcase_add_loop_test(tcase,
                        test_defect_d28_workloads_are_what_their_names_say, 0,
                        COUNT_OF(workloads));
    tcase = suite_add_list(
        suite, "pools",
        TEST_LIST(test_defect_d14_failed_create_leaves_nothing,
                  test_defect_d18_a_failing_query_fails_create,
                  test_defect_d18_nothing_available_is_an_error,
                  test_defect_d20_segments_return_to_who_gave_them,
                  test_defect_d22_pools_change_under_other_threads,
                  test_defect_d23_each_arena_calls_its_own_memory,
                  test_defect_d27_nothing_is_zeroed_unasked));
    tcase_set_timeout(tcase, 60);
    return suite_main(suite);
}
