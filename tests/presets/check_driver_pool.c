/*
 * Arenas on the driver's own pools: what CuPy tests of its MemoryAsyncPool, and which pool it is.
 * Sizes come from the device, so that the program runs on the stand-in driver and on a real one
 * alike.
 */
#include <stdio.h>
#include <string.h>

#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/driver_pools.h"

#define UNIT 512

/* ---- An arena ---------------------------------------------------------- */

static void free_on(cuarena_t *arena, void *pointer, cuarena_stream_t stream)
{
    expect_ok(cuarena_free_on(arena, pointer, stream));
    expect_valid_arena(arena);
}

static uint64_t used(cuarena_t *arena)
{
    return pool_of(arena).used_bytes;
}

/* ---- The driver beside it ---------------------------------------------- */

static void wait_for(cuai_cu_stream_t stream)
{
    expect_cu(cuda_test()->cuStreamSynchronize(stream));
}

/* A share of what the device has free, in whole pages. */
static uint64_t share(unsigned percent)
{
    size_t free_bytes = 0;
    size_t total = 0;
    expect_cu(cuda_test()->cuMemGetInfo(&free_bytes, &total));
    return free_bytes / 100 * percent / MIB(32) * MIB(32);
}

static bool driver_has(uint64_t bytes)
{
    cuai_cu_pointer_t pointer = 0;
    cuai_cu_result_t result = cuda_test()->cuMemAlloc(&pointer, bytes);
    if (result == CUAI_CUDA_SUCCESS)
        expect_cu(cuda_test()->cuMemFree(pointer));
    else
        ck_assert_int_eq(result, CUAI_CUDA_ERROR_OUT_OF_MEMORY);
    return result == CUAI_CUDA_SUCCESS;
}

/* ---- CuPy's tests ------------------------------------------------------ */

START_TEST(zero_bytes_are_no_block)
{
    cuarena_t *arena = pool_arena(OWN);
    ck_assert_ptr_null(alloc_from(arena, 0));
    ck_assert_ptr_null(alloc_from_on(arena, 0, NULL));
    expect_u64(used(arena), 0);
    expect_u64(arena_stats(arena).allocs, 0);
}
END_TEST

START_TEST(blocks_are_rounded_to_512)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    static const uint64_t sizes[][2] = {{1, UNIT}, {511, UNIT}, {512, UNIT}, {513, 2 * UNIT}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *pointer = alloc_from(arena, sizes[i][0]);
        expect_u64(arena_stats(arena).live_bytes, sizes[i][1]);
        expect_u64(arena_stats(arena).reserved_bytes, sizes[i][1]);
        expect_u64(arena_stats(arena).requested_bytes, sizes[i][0]);
        expect_u64(used(arena), sizes[i][1]);
        free_to(arena, pointer);
    }
}
END_TEST

START_TEST(most_of_the_device_then_less)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    uint64_t most = share(70);
    uint64_t less = share(30);
    free_to(arena, alloc_from(arena, most));
    free_to(arena, alloc_from(arena, less));
    expect_u64(used(arena), 0);
}
END_TEST

START_TEST(what_the_pool_keeps_the_driver_lacks_until_trim)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    uint64_t given = 0;
    uint64_t most = share(70);
    free_to(arena, alloc_from(arena, most));
    ck_assert(!driver_has(most));
    ck_assert_uint_ge(pool_of(arena).total_bytes, most);
    expect_cu(cuda_test()->cuCtxSynchronize());
    expect_ok(cuarena_trim(arena, 0, &given));
    ck_assert_uint_ge(given, most);
    expect_u64(pool_of(arena).total_bytes, 0);
    ck_assert(driver_has(most));
}
END_TEST

START_TEST(what_the_driver_gave_the_pool_lacks)
{
    cuarena_t *arena = pool_arena(OWN);
    cuai_cu_pointer_t other = 0;
    void *pointer = NULL;
    uint64_t most = share(70);
    expect_cu(cuda_test()->cuMemAlloc(&other, most));
    expect_status(cuarena_alloc(arena, most, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_valid_arena(arena);
    expect_u64(arena_stats(arena).reserved_bytes, 0);
    expect_cu(cuda_test()->cuMemFree(other));
    free_to(arena, alloc_from(arena, most));
}
END_TEST

START_TEST(used_bytes_of_2_4_and_1_units)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    void *a = alloc_from(arena, 2 * UNIT);
    expect_u64(used(arena), 2 * UNIT);
    void *b = alloc_from(arena, 4 * UNIT);
    expect_u64(used(arena), 6 * UNIT);
    free_to(arena, b);
    expect_u64(used(arena), 2 * UNIT);
    free_to(arena, a);
    expect_u64(used(arena), 0);
    void *c = alloc_from(arena, UNIT);
    expect_u64(used(arena), UNIT);
    free_to(arena, c);
    expect_u64(used(arena), 0);
}
END_TEST

START_TEST(used_bytes_with_another_stream)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *first = alloc_from_on(arena, 2 * UNIT, a);
    void *second = alloc_from_on(arena, 4 * UNIT, b);
    use(first, 2 * UNIT, a);
    use(second, 4 * UNIT, b);
    expect_u64(used(arena), 6 * UNIT);
    free_on(arena, second, b);
    expect_u64(used(arena), 2 * UNIT);
    free_on(arena, first, a);
    expect_u64(used(arena), 0);
    end_stream(arena, a);
    end_stream(arena, b);
}
END_TEST

/* CuPy's pools keep what they have, whoever waits, without being told so. */
START_TEST(total_stays_until_trim)
{
    cuarena_t *arena = pool_arena(OWN);
    cuai_cu_stream_t stream = cuda_test_stream();
    uint64_t given = 0;
    void *a = alloc_from_on(arena, 2 * UNIT, stream);
    void *b = alloc_from_on(arena, 4 * UNIT, stream);
    uint64_t total = pool_of(arena).total_bytes;
    free_on(arena, a, stream);
    expect_u64(pool_of(arena).total_bytes, total);
    free_on(arena, b, stream);
    wait_for(stream);
    expect_u64(pool_of(arena).total_bytes, total);
    expect_u64(pool_of(arena).free_bytes, total);
    expect_u64(arena_stats(arena).free_ranges, 0); /* nobody knows how many */
    expect_ok(cuarena_trim(arena, 0, &given));
    expect_u64(given, total);
    expect_u64(pool_of(arena).total_bytes, 0);
    end_stream(arena, stream);
}
END_TEST

/* CuPy's free_all_blocks. */
START_TEST(trim_on_a_stream_waits_for_it)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    cuai_cu_stream_t stream = cuda_test_stream();
    uint64_t given = 0;
    const cuarena_stream_t waited[] = {stream, CUARENA_NO_STREAM};
    for (size_t i = 0; i < COUNT_OF(waited); i++) {
        void *block = alloc_from_on(arena, MIB(64), stream);
        use(block, MIB(64), stream);
        free_on(arena, block, stream);
        uint64_t waits = arena_stats(arena).host_waits;
        uint64_t before = pool_of(arena).total_bytes;
        expect_ok(cuarena_trim_on(arena, waited[i], 0, &given));
        uint64_t after = pool_of(arena).total_bytes;
        ck_assert_msg(
            given == before - after && after == 0, "wait %zu: %llu before, %llu given, %llu after",
            i, (unsigned long long)before, (unsigned long long)given, (unsigned long long)after);
        ck_assert_uint_gt(arena_stats(arena).host_waits, waits);
    }
    expect_ok(cuarena_trim_on(arena, CUARENA_STREAM_PER_THREAD, 0, &given));
    expect_u64(given, 0);
    end_stream(arena, stream);
}
END_TEST

START_TEST(threshold_by_bytes)
{
    static const uint64_t limits[] = {1024, UINT64_C(1) << 33, 0, UINT64_MAX};
    cuarena_t *arena = pool_arena(OWN KEEPS);
    uint64_t before = UINT64_MAX;
    uint64_t now = 0;
    expect_ok(cuarena_get_limit(arena, CUARENA_LIMIT_THRESHOLD, &now));
    expect_u64(now, UINT64_MAX);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        uint64_t old = 0;
        cuarena_amount_t amount = {CUARENA_AMOUNT_BYTES, 0, limits[i]};
        expect_ok(cuarena_set_limit(arena, CUARENA_LIMIT_THRESHOLD, amount, &old));
        expect_u64(old, before);
        expect_ok(cuarena_get_limit(arena, CUARENA_LIMIT_THRESHOLD, &now));
        expect_u64(now, limits[i]);
        expect_u64(pool_of(arena).release_threshold, limits[i]);
        before = limits[i];
    }
}
END_TEST

START_TEST(threshold_by_share)
{
    cuarena_t *arena = pool_arena(OWN);
    size_t total = 0;
    uint64_t now = 0;
    expect_cu(cuda_test()->cuDeviceTotalMem(&total, 0));
    static const unsigned percents[] = {0, 50, 100};
    for (size_t i = 0; i < COUNT_OF(percents); i++) {
        cuarena_amount_t amount = {CUARENA_AMOUNT_PERCENT, 0, percents[i] * 1000};
        expect_ok(cuarena_set_limit(arena, CUARENA_LIMIT_THRESHOLD, amount, NULL));
        expect_ok(cuarena_get_limit(arena, CUARENA_LIMIT_THRESHOLD, &now));
        expect_u64(now, total / 100 * percents[i] + total % 100 * percents[i] / 100);
    }
    cuarena_amount_t above = {CUARENA_AMOUNT_PERCENT, 0, 110000};
    expect_status(cuarena_set_limit(arena, CUARENA_LIMIT_THRESHOLD, above, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_message("110000");
    expect_ok(cuarena_get_limit(arena, CUARENA_LIMIT_THRESHOLD, &now));
    expect_u64(now, total);
}
END_TEST

START_TEST(negative_amounts_do_not_parse)
{
    cuarena_amount_t amount;
    expect_status(cuarena_amount_parse("-1", &amount), CUARENA_BAD_ARGUMENT);
    expect_message("-1");
    expect_status(cuarena_amount_parse("-1%", &amount), CUARENA_BAD_ARGUMENT);
    expect_message("-1%");
}
END_TEST

START_TEST(a_pool_with_a_threshold_limits_refuses_to_grow_above_it)
{
    cuarena_t *arena = pool_arena(OWN ",threshold_limits=1,release_threshold=64MiB");
    void *pointer = NULL;
    void *first = alloc_from(arena, MIB(32));
    expect_status(cuarena_alloc(arena, MIB(96), &pointer), CUARENA_LIMIT);
    expect_message("soft limit", "67108864");
    expect_valid_arena(arena);
    free_to(arena, first);
    cuarena_amount_t more = {CUARENA_AMOUNT_BYTES, 0, MIB(256)};
    expect_ok(cuarena_set_limit(arena, CUARENA_LIMIT_THRESHOLD, more, NULL));
    free_to(arena, alloc_from(arena, MIB(96)));
}
END_TEST

START_TEST(the_hard_limit_is_of_the_blocks)
{
    cuarena_t *arena = pool_arena(OWN KEEPS ",limit=6K");
    void *pointer = NULL;
    void *five = alloc_from(arena, 5 * 1024);
    void *one = alloc_from(arena, 1024);
    expect_status(cuarena_alloc(arena, 1, &pointer), CUARENA_LIMIT);
    free_to(arena, five);
    free_to(arena, one);
    free_to(arena, alloc_from(arena, 6 * 1024));
    expect_status(cuarena_alloc(arena, 7 * 1024, &pointer), CUARENA_LIMIT);
}
END_TEST

START_TEST(peaks_of_the_pool_can_be_reset)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    free_to(arena, alloc_from(arena, 4 * UNIT));
    expect_u64(pool_of(arena).peak_used_bytes, 4 * UNIT);
    ck_assert_uint_ge(pool_of(arena).peak_total_bytes, 4 * UNIT);
    void *one = alloc_from(arena, UNIT);
    expect_ok(cuarena_driver_pool_reset_peaks(arena));
    expect_u64(pool_of(arena).peak_used_bytes, UNIT);
    expect_u64(pool_of(arena).peak_total_bytes, pool_of(arena).total_bytes);
    free_to(arena, one);
}
END_TEST

/* ---- Streams ----------------------------------------------------------- */

START_TEST(a_free_is_behind_the_work_of_its_stream)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    for (int round = 0; round < 20; round++) {
        void *first = alloc_from_on(arena, MIB(1), a);
        use(first, MIB(1), a);
        free_on(arena, first, a);
        void *second = alloc_from_on(arena, MIB(1), b);
        use(second, MIB(1), b);
        free_on(arena, second, b);
    }
    expect_no_report();
    end_stream(arena, a);
    end_stream(arena, b);
}
END_TEST

START_TEST(without_a_stream_a_block_is_everybodys)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *first = alloc_from_on(arena, MIB(1), a);
    use(first, MIB(1), a);
    free_on(arena, first, a);
    void *second = alloc_from(arena, MIB(1));
    use(second, MIB(1), b);
    wait_for(b);
    free_to(arena, second);
    expect_no_report();
    end_stream(arena, a);
    end_stream(arena, b);
}
END_TEST

START_TEST(a_block_used_elsewhere_is_freed_when_that_is_done)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *block = alloc_from(arena, MIB(1));
    use(block, MIB(1), a);
    wait_for(a);
    use(block, MIB(1), b);
    expect_ok(cuarena_record_use(arena, block, b));
    free_on(arena, block, a);
    void *other = alloc_from_on(arena, MIB(1), a);
    use(other, MIB(1), a);
    free_on(arena, other, a);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_u64(used(arena), 0);
    expect_no_report();
    end_stream(arena, a);
    end_stream(arena, b);
}
END_TEST

START_TEST(a_block_is_freed_on_another_stream_after_a_release)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *block = alloc_from_on(arena, MIB(1), a);
    use(block, MIB(1), a);
    wait_for(a);
    end_stream(arena, a);
    use(block, MIB(1), b);
    free_on(arena, block, b);
    expect_u64(used(arena), 0);
    end_stream(arena, b);
}
END_TEST

START_TEST(default_streams)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    const cuarena_stream_t streams[] = {NULL, CUARENA_STREAM_LEGACY, CUARENA_STREAM_PER_THREAD};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        void *block = alloc_from_on(arena, MIB(1), streams[i]);
        use(block, MIB(1), streams[i]);
        free_on(arena, block, streams[i]);
    }
    expect_u64(used(arena), 0);
}
END_TEST

START_TEST(no_call_on_a_stream_waits)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    cuai_cu_stream_t stream = cuda_test_stream();
    free_on(arena, alloc_from_on(arena, UNIT, stream), stream); /* it is known */
    ck_assert(standin_is_here());
    standin->standin_bracket_begin(STANDIN_NO_SYNC | STANDIN_SAME_CONTEXT, "on a stream");
    void *block = NULL;
    for (int i = 0; i < 10; i++) {
        expect_ok(cuarena_alloc_on(arena, MIB(1), stream, NULL, &block));
        use(block, MIB(1), stream);
        expect_ok(cuarena_free_on(arena, block, stream));
    }
    expect_u64(standin->standin_bracket_end(), 0);
    end_stream(arena, stream);
}
END_TEST

START_TEST(a_free_on_a_captured_stream_is_refused)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_stream_t stream = cuda_test_stream();
    cuai_cu_graph_t graph = NULL;
    void *block = alloc_from_on(arena, MIB(1), stream);
    expect_cu(cuda->cuStreamBeginCapture(stream, CUAI_CU_STREAM_CAPTURE_MODE_RELAXED));
    expect_status(cuarena_free_on(arena, block, stream), CUARENA_BUSY);
    expect_message("captured");
    void *other = alloc_from_on(arena, MIB(1), stream); /* everybody's, then */
    expect_cu(cuda->cuStreamEndCapture(stream, &graph));
    expect_cu(cuda->cuGraphDestroy(graph));
    free_on(arena, block, stream);
    free_on(arena, other, stream);
    expect_u64(used(arena), 0);
    end_stream(arena, stream);
}
END_TEST

/* In a session the free is accepted, and the driver frees after it: a block from before, and one
 * that was allocated beside it. Afterwards frees are work of the stream again. */
START_TEST(a_free_on_the_stream_of_a_session_is_behind_it)
{
    cuarena_t *arena = pool_arena(OWN KEEPS);
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_stream_t stream = cuda_test_stream();
    cuai_cu_graph_t graph = NULL;
    cuarena_capture_t *session = NULL;
    void *before = alloc_from_on(arena, MIB(1), stream);
    void *later = alloc_from_on(arena, MIB(1), stream);
    use(before, MIB(1), stream);
    expect_ok(cuarena_capture_begin(arena, stream, &session));
    void *beside = alloc_from(arena, MIB(1));
    free_on(arena, beside, stream); /* before the capture */
    expect_cu(cuda->cuStreamBeginCapture(stream, CUAI_CU_STREAM_CAPTURE_MODE_RELAXED));
    free_on(arena, before, stream);
    expect_u64(used(arena), 3 * MIB(1));
    expect_cu(cuda->cuStreamEndCapture(stream, &graph));
    expect_cu(cuda->cuGraphDestroy(graph));
    expect_ok(cuarena_capture_end(arena, session));
    free_on(arena, later, stream);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_u64(used(arena), 0);
    expect_ok(cuarena_capture_release(arena, &session, stream));
    end_stream(arena, stream);
}
END_TEST

/* ---- Which pool -------------------------------------------------------- */

static uint64_t current_pool(void)
{
    cuai_cu_pool_t pool = NULL;
    expect_cu(cuda_test()->cuDeviceGetMemPool(&pool, 0));
    return (uintptr_t)pool;
}

static uint64_t default_pool(void)
{
    cuai_cu_pool_t pool = NULL;
    expect_cu(cuda_test()->cuDeviceGetDefaultMemPool(&pool, 0));
    return (uintptr_t)pool;
}

static cuai_cu_pool_t new_pool(void)
{
    const cuai_cu_pool_props_t props = {.type = CUAI_CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .location = {CUAI_CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    cuai_cu_pool_t pool = NULL;
    expect_cu(cuda_test()->cuMemPoolCreate(&pool, &props));
    return pool;
}

static cuarena_t *new_external(cuai_cu_pool_t pool, const char *options)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = config_of(options);
    config.driver_pool = CUARENA_DRIVER_POOL_EXTERNAL;
    config.driver_pool_handle = (uintptr_t)pool;
    expect_ok(cuarena_create(&config, &arena));
    return arena;
}

START_TEST(current_is_the_default)
{
    uint64_t current = current_pool();
    cuarena_t *arena = pool_arena("preset=driver-pool");
    expect_u64(pool_of(arena).handle, current);
    ck_assert_int_eq(pool_of(arena).own, 0);
    ck_assert_int_eq(pool_of(arena).device, 0);
    free_to(arena, alloc_from(arena, UNIT));
    expect_u64(current_pool(), current);
}
END_TEST

START_TEST(each_kind_of_pool_and_none_made_current)
{
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_pool_t pool = new_pool();
    cuai_cu_pool_t current = new_pool();
    expect_cu(cuda->cuDeviceSetMemPool(0, current));
    cuarena_t *arenas[] = {
        arena_of("preset=driver-pool,driver_pool=current"),
        arena_of("preset=driver-pool,driver_pool=default"),
        arena_of(OWN),
        new_external(pool, "preset=driver-pool"),
    };
    expect_u64(pool_of(arenas[0]).handle, (uintptr_t)current);
    expect_u64(pool_of(arenas[1]).handle, default_pool());
    expect_u64(pool_of(arenas[3]).handle, (uintptr_t)pool);
    ck_assert_int_eq(pool_of(arenas[2]).own, 1);
    expect_u64(current_pool(), (uintptr_t)current);
    for (size_t i = 0; i < COUNT_OF(arenas); i++) {
        void *block = alloc_from(arenas[i], 3 * UNIT);
        for (size_t j = 0; j < COUNT_OF(arenas); j++)
            expect_u64(used(arenas[j]), i == j ? 3 * UNIT : 0);
        free_to(arenas[i], block);
    }
    for (size_t i = 0; i < COUNT_OF(arenas); i++)
        end_arena(arenas[i]);
    expect_cu(cuda->cuMemPoolDestroy(current));
    expect_cu(cuda->cuMemPoolDestroy(pool));
}
END_TEST

START_TEST(the_pool_stays_when_another_becomes_current)
{
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_pool_t other = new_pool();
    uint64_t before = current_pool();
    cuarena_t *arena = arena_of("preset=driver-pool");
    expect_cu(cuda->cuDeviceSetMemPool(0, other));
    uint64_t was = used(arena);
    void *block = alloc_from(arena, 2 * UNIT);
    expect_u64(pool_of(arena).handle, before);
    expect_u64(used(arena), was + 2 * UNIT);
    free_to(arena, block);
    end_arena(arena);
    expect_cu(cuda->cuMemPoolDestroy(other));
}
END_TEST

START_TEST(made_current_if_asked)
{
    uint64_t before = current_pool();
    cuarena_t *arena = arena_of(OWN ",make_current=1");
    ck_assert(current_pool() != before);
    expect_u64(current_pool(), pool_of(arena).handle);
    end_arena(arena);
    expect_u64(current_pool(), default_pool());
}
END_TEST

START_TEST(a_pool_keeps_everything_unless_something_else_is_said)
{
    static const struct {
        const char *options;
        uint64_t threshold;
    } rows[] = {
        {"preset=driver-pool,release_threshold=unchanged", 0},
        {"preset=grow,memory=device,backing=async", 0},
        {"preset=driver-pool,release_threshold=1MiB", MIB(1)},
        {"preset=driver-pool,release_threshold=unchanged", MIB(1)},
        {"preset=driver-pool", UINT64_MAX},
    };
    cuai_cu_pool_t pool = new_pool();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        cuarena_t *arena = new_external(pool, rows[i].options);
        expect_u64(pool_of(arena).release_threshold, rows[i].threshold);
        end_arena(arena);
    }
    expect_cu(cuda_test()->cuMemPoolDestroy(pool));
}
END_TEST

/* Older drivers know no such size; check_driver_pool_ways has their answer. */
START_TEST(an_own_pool_has_a_largest_size)
{
    cuarena_driver_info_t driver;
    cuarena_driver_info_init(&driver);
    expect_ok(cuarena_driver_info(&driver));
    if (driver.version < 12020) {
        printf("skipped: %s: a driver before 12.2\n", __func__);
        return;
    }
    cuarena_t *arena = pool_arena(OWN ",driver_pool_max=64MiB");
    void *pointer = NULL;
    void *first = alloc_from(arena, MIB(32));
    expect_status(cuarena_alloc(arena, MIB(1024), &pointer), CUARENA_OUT_OF_MEMORY);
    free_to(arena, first);
}
END_TEST

START_TEST(segments_of_a_shared_arena_come_from_the_pool_too)
{
    cuarena_t *arena =
        pool_arena("preset=grow,memory=device,backing=async,driver_pool=own,limit=64MiB");
    void *block = alloc_from(arena, 1000);
    expect_u64(used(arena), MIB(2));
    expect_u64(arena_stats(arena).reserved_bytes, MIB(2));
    free_to(arena, block);
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_u64(used(arena), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("driver pool");
    cuda_kinds_ready();
    TCase *cupy = suite_add_list(
        suite, "CuPy's",
        TEST_LIST(zero_bytes_are_no_block, blocks_are_rounded_to_512, used_bytes_of_2_4_and_1_units,
                  used_bytes_with_another_stream, total_stays_until_trim,
                  trim_on_a_stream_waits_for_it, threshold_by_bytes, threshold_by_share,
                  negative_amounts_do_not_parse,
                  a_pool_with_a_threshold_limits_refuses_to_grow_above_it,
                  the_hard_limit_is_of_the_blocks, peaks_of_the_pool_can_be_reset));
    TCase *most = suite_add_list(suite, "CuPy's, with most of the device",
                                 TEST_LIST(most_of_the_device_then_less,
                                           what_the_pool_keeps_the_driver_lacks_until_trim,
                                           what_the_driver_gave_the_pool_lacks));
    TCase *streams = suite_add_list(
        suite, "streams",
        TEST_LIST(a_free_is_behind_the_work_of_its_stream, without_a_stream_a_block_is_everybodys,
                  a_block_used_elsewhere_is_freed_when_that_is_done,
                  a_block_is_freed_on_another_stream_after_a_release, default_streams,
                  a_free_on_a_captured_stream_is_refused,
                  a_free_on_the_stream_of_a_session_is_behind_it));
    TCase *which =
        suite_add_list(suite, "which pool",
                       TEST_LIST(current_is_the_default, each_kind_of_pool_and_none_made_current,
                                 the_pool_stays_when_another_becomes_current, made_current_if_asked,
                                 a_pool_keeps_everything_unless_something_else_is_said,
                                 an_own_pool_has_a_largest_size,
                                 segments_of_a_shared_arena_come_from_the_pool_too));
    add_standin_test(streams, no_call_on_a_stream_waits, 1);
    tcase_set_tags(most, "alone");
    tcase_add_checked_fixture(cupy, on_device, off_device);
    tcase_add_checked_fixture(most, on_device, off_device);
    tcase_add_checked_fixture(streams, on_device, off_device);
    tcase_add_checked_fixture(which, on_device, off_device);
    return cuda_kinds_main(suite);
}
