/*
 * Arenas on the driver's own pools: what CuPy tests of its MemoryAsyncPool, which pool it is, one
 * for each device, and blocks that are each a segment, on other memory too.
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
#include "support/fixture_streams.h"

#define UNIT 512

static uint64_t used(const fixture_t *f)
{
    return pool_of(f->arena).used_bytes;
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
    fixture_t *f = opened_pool(OWN);
    ck_assert_ptr_null(alloc_ok(f, 0));
    void *none = UNTOUCHED;
    step_ok(f, cuarena_alloc_on(f->arena, 0, NULL, NULL, &none));
    ck_assert_ptr_null(none);
    expect_u64(used(f), 0);
    expect_u64(stats_of(f).allocs, 0);
}
END_TEST

START_TEST(blocks_are_rounded_to_512)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    static const uint64_t sizes[][2] = {{1, UNIT}, {511, UNIT}, {512, UNIT}, {513, 2 * UNIT}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *pointer = alloc_ok(f, sizes[i][0]);
        expect_u64(stats_of(f).live_bytes, sizes[i][1]);
        expect_u64(stats_of(f).reserved_bytes, sizes[i][1]);
        expect_u64(stats_of(f).requested_bytes, sizes[i][0]);
        expect_u64(used(f), sizes[i][1]);
        free_ok(f, pointer);
    }
}
END_TEST

START_TEST(most_of_the_device_then_less)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    uint64_t most = share(70);
    uint64_t less = share(30);
    free_ok(f, alloc_ok(f, most));
    free_ok(f, alloc_ok(f, less));
    expect_u64(used(f), 0);
}
END_TEST

START_TEST(what_the_pool_keeps_the_driver_lacks_until_trim)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    uint64_t given = 0;
    uint64_t most = share(70);
    free_ok(f, alloc_ok(f, most));
    ck_assert(!driver_has(most));
    ck_assert_uint_ge(pool_of(f->arena).total_bytes, most);
    expect_cu(cuda_test()->cuCtxSynchronize());
    expect_ok(cuarena_trim(f->arena, 0, &given));
    ck_assert_uint_ge(given, most);
    expect_u64(pool_of(f->arena).total_bytes, 0);
    ck_assert(driver_has(most));
}
END_TEST

START_TEST(what_the_driver_gave_the_pool_lacks)
{
    fixture_t *f = opened_pool(OWN);
    cuai_cu_pointer_t other = 0;
    void *pointer = NULL;
    uint64_t most = share(70);
    expect_cu(cuda_test()->cuMemAlloc(&other, most));
    expect_status(cuarena_alloc(f->arena, most, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_sound(f);
    expect_u64(stats_of(f).reserved_bytes, 0);
    expect_cu(cuda_test()->cuMemFree(other));
    free_ok(f, alloc_ok(f, most));
}
END_TEST

START_TEST(used_bytes_of_2_4_and_1_units)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    void *a = alloc_ok(f, 2 * UNIT);
    expect_u64(used(f), 2 * UNIT);
    void *b = alloc_ok(f, 4 * UNIT);
    expect_u64(used(f), 6 * UNIT);
    free_ok(f, b);
    expect_u64(used(f), 2 * UNIT);
    free_ok(f, a);
    expect_u64(used(f), 0);
    void *c = alloc_ok(f, UNIT);
    expect_u64(used(f), UNIT);
    free_ok(f, c);
    expect_u64(used(f), 0);
}
END_TEST

START_TEST(used_bytes_with_another_stream)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *first = alloc_on(f, 2 * UNIT, a);
    void *second = alloc_on(f, 4 * UNIT, b);
    use(first, 2 * UNIT, a);
    use(second, 4 * UNIT, b);
    expect_u64(used(f), 6 * UNIT);
    free_on(f, second, b);
    expect_u64(used(f), 2 * UNIT);
    free_on(f, first, a);
    expect_u64(used(f), 0);
    end_stream(f->arena, a);
    end_stream(f->arena, b);
}
END_TEST

/* CuPy's pools keep what they have, whoever waits, without being told so. */
START_TEST(total_stays_until_trim)
{
    fixture_t *f = opened_pool(OWN);
    cuai_cu_stream_t stream = cuda_test_stream();
    uint64_t given = 0;
    void *a = alloc_on(f, 2 * UNIT, stream);
    void *b = alloc_on(f, 4 * UNIT, stream);
    uint64_t total = pool_of(f->arena).total_bytes;
    free_on(f, a, stream);
    expect_u64(pool_of(f->arena).total_bytes, total);
    free_on(f, b, stream);
    wait_for(stream);
    expect_u64(pool_of(f->arena).total_bytes, total);
    expect_u64(pool_of(f->arena).free_bytes, total);
    expect_u64(stats_of(f).free_ranges, 0); /* nobody knows how many */
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(given, total);
    expect_u64(pool_of(f->arena).total_bytes, 0);
    end_stream(f->arena, stream);
}
END_TEST

/* CuPy's free_all_blocks. */
START_TEST(trim_on_a_stream_waits_for_it)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t stream = cuda_test_stream();
    uint64_t given = 0;
    const cuarena_stream_t waited[] = {stream, CUARENA_NO_STREAM};
    for (size_t i = 0; i < COUNT_OF(waited); i++) {
        void *block = alloc_on(f, MIB(64), stream);
        use(block, MIB(64), stream);
        free_on(f, block, stream);
        uint64_t waits = stats_of(f).host_waits;
        uint64_t before = pool_of(f->arena).total_bytes;
        expect_ok(cuarena_trim_on(f->arena, waited[i], 0, &given));
        uint64_t after = pool_of(f->arena).total_bytes;
        ck_assert_msg(
            given == before - after && after == 0, "wait %zu: %llu before, %llu given, %llu after",
            i, (unsigned long long)before, (unsigned long long)given, (unsigned long long)after);
        ck_assert_uint_gt(stats_of(f).host_waits, waits);
    }
    expect_ok(cuarena_trim_on(f->arena, CUARENA_STREAM_PER_THREAD, 0, &given));
    expect_u64(given, 0);
    end_stream(f->arena, stream);
}
END_TEST

START_TEST(threshold_by_bytes)
{
    static const uint64_t limits[] = {1024, UINT64_C(1) << 33, 0, UINT64_MAX};
    fixture_t *f = opened_pool(OWN KEEPS);
    uint64_t before = UINT64_MAX;
    uint64_t now = 0;
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_THRESHOLD, &now));
    expect_u64(now, UINT64_MAX);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        uint64_t old = 0;
        cuarena_amount_t amount = {CUARENA_AMOUNT_BYTES, 0, limits[i]};
        expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_THRESHOLD, amount, &old));
        expect_u64(old, before);
        expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_THRESHOLD, &now));
        expect_u64(now, limits[i]);
        expect_u64(pool_of(f->arena).release_threshold, limits[i]);
        before = limits[i];
    }
}
END_TEST

START_TEST(threshold_by_share)
{
    fixture_t *f = opened_pool(OWN);
    size_t total = 0;
    uint64_t now = 0;
    expect_cu(cuda_test()->cuDeviceTotalMem(&total, 0));
    static const unsigned percents[] = {0, 50, 100};
    for (size_t i = 0; i < COUNT_OF(percents); i++) {
        cuarena_amount_t amount = {CUARENA_AMOUNT_PERCENT, 0, percents[i] * 1000};
        expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_THRESHOLD, amount, NULL));
        expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_THRESHOLD, &now));
        expect_u64(now, total / 100 * percents[i] + total % 100 * percents[i] / 100);
    }
    cuarena_amount_t above = {CUARENA_AMOUNT_PERCENT, 0, 110000};
    expect_status(cuarena_set_limit(f->arena, CUARENA_LIMIT_THRESHOLD, above, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_message("110000");
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_THRESHOLD, &now));
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
    fixture_t *f = opened_pool(OWN ",threshold_limits=1,release_threshold=64MiB");
    void *pointer = NULL;
    void *first = alloc_ok(f, MIB(32));
    expect_status(cuarena_alloc(f->arena, MIB(96), &pointer), CUARENA_LIMIT);
    expect_message("soft limit", "67108864");
    expect_sound(f);
    free_ok(f, first);
    cuarena_amount_t more = {CUARENA_AMOUNT_BYTES, 0, MIB(256)};
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_THRESHOLD, more, NULL));
    free_ok(f, alloc_ok(f, MIB(96)));
}
END_TEST

START_TEST(the_hard_limit_is_of_the_blocks)
{
    fixture_t *f = opened_pool(OWN KEEPS ",limit=6K");
    void *pointer = NULL;
    void *five = alloc_ok(f, 5 * 1024);
    void *one = alloc_ok(f, 1024);
    expect_status(cuarena_alloc(f->arena, 1, &pointer), CUARENA_LIMIT);
    free_ok(f, five);
    free_ok(f, one);
    free_ok(f, alloc_ok(f, 6 * 1024));
    expect_status(cuarena_alloc(f->arena, 7 * 1024, &pointer), CUARENA_LIMIT);
}
END_TEST

START_TEST(peaks_of_the_pool_can_be_reset)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    free_ok(f, alloc_ok(f, 4 * UNIT));
    expect_u64(pool_of(f->arena).peak_used_bytes, 4 * UNIT);
    ck_assert_uint_ge(pool_of(f->arena).peak_total_bytes, 4 * UNIT);
    void *one = alloc_ok(f, UNIT);
    expect_ok(cuarena_driver_pool_reset_peaks(f->arena));
    expect_u64(pool_of(f->arena).peak_used_bytes, UNIT);
    expect_u64(pool_of(f->arena).peak_total_bytes, pool_of(f->arena).total_bytes);
    free_ok(f, one);
}
END_TEST

/* ---- Streams ----------------------------------------------------------- */

START_TEST(a_free_is_behind_the_work_of_its_stream)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    for (int round = 0; round < 20; round++) {
        void *first = alloc_on(f, MIB(1), a);
        use(first, MIB(1), a);
        free_on(f, first, a);
        void *second = alloc_on(f, MIB(1), b);
        use(second, MIB(1), b);
        free_on(f, second, b);
    }
    expect_no_report();
    end_stream(f->arena, a);
    end_stream(f->arena, b);
}
END_TEST

START_TEST(without_a_stream_a_block_is_everybodys)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *first = alloc_on(f, MIB(1), a);
    use(first, MIB(1), a);
    free_on(f, first, a);
    void *second = alloc_ok(f, MIB(1));
    use(second, MIB(1), b);
    wait_for(b);
    free_ok(f, second);
    expect_no_report();
    end_stream(f->arena, a);
    end_stream(f->arena, b);
}
END_TEST

START_TEST(a_block_used_elsewhere_is_freed_when_that_is_done)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *block = alloc_ok(f, MIB(1));
    use(block, MIB(1), a);
    wait_for(a);
    use(block, MIB(1), b);
    expect_ok(cuarena_record_use(f->arena, block, b));
    free_on(f, block, a);
    void *other = alloc_on(f, MIB(1), a);
    use(other, MIB(1), a);
    free_on(f, other, a);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_u64(used(f), 0);
    expect_no_report();
    end_stream(f->arena, a);
    end_stream(f->arena, b);
}
END_TEST

START_TEST(a_block_is_freed_on_another_stream_after_a_release)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t a = cuda_test_stream();
    cuai_cu_stream_t b = cuda_test_stream();
    void *block = alloc_on(f, MIB(1), a);
    use(block, MIB(1), a);
    wait_for(a);
    end_stream(f->arena, a);
    use(block, MIB(1), b);
    free_on(f, block, b);
    expect_u64(used(f), 0);
    end_stream(f->arena, b);
}
END_TEST

START_TEST(default_streams)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    const cuarena_stream_t streams[] = {NULL, CUARENA_STREAM_LEGACY, CUARENA_STREAM_PER_THREAD};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        void *block = alloc_on(f, MIB(1), streams[i]);
        use(block, MIB(1), streams[i]);
        free_on(f, block, streams[i]);
    }
    expect_u64(used(f), 0);
}
END_TEST

START_TEST(no_call_on_a_stream_waits)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t stream = cuda_test_stream();
    free_on(f, alloc_on(f, UNIT, stream), stream); /* it is known */
    ck_assert(standin_is_here());
    standin->standin_bracket_begin(STANDIN_NO_SYNC | STANDIN_SAME_CONTEXT, "on a stream");
    void *block = NULL;
    for (int i = 0; i < 10; i++) {
        expect_ok(cuarena_alloc_on(f->arena, MIB(1), stream, NULL, &block));
        use(block, MIB(1), stream);
        expect_ok(cuarena_free_on(f->arena, block, stream));
    }
    expect_u64(standin->standin_bracket_end(), 0);
    end_stream(f->arena, stream);
}
END_TEST

START_TEST(a_free_on_a_captured_stream_is_refused)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_stream_t stream = cuda_test_stream();
    cuai_cu_graph_t graph = NULL;
    void *block = alloc_on(f, MIB(1), stream);
    expect_cu(cuda->cuStreamBeginCapture(stream, CUAI_CU_STREAM_CAPTURE_MODE_RELAXED));
    expect_status(cuarena_free_on(f->arena, block, stream), CUARENA_BUSY);
    expect_message("captured");
    void *other = alloc_on(f, MIB(1), stream); /* everybody's, then */
    expect_cu(cuda->cuStreamEndCapture(stream, &graph));
    expect_cu(cuda->cuGraphDestroy(graph));
    free_on(f, block, stream);
    free_on(f, other, stream);
    expect_u64(used(f), 0);
    end_stream(f->arena, stream);
}
END_TEST

/* In a session the free is accepted, and the driver frees after it: a block from before, and one
 * that was allocated beside it. Afterwards frees are work of the stream again. */
START_TEST(a_free_on_the_stream_of_a_session_is_behind_it)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_stream_t stream = cuda_test_stream();
    cuai_cu_graph_t graph = NULL;
    cuarena_capture_t *session = NULL;
    void *before = alloc_on(f, MIB(1), stream);
    void *later = alloc_on(f, MIB(1), stream);
    use(before, MIB(1), stream);
    expect_ok(cuarena_capture_begin(f->arena, stream, &session));
    void *beside = alloc_ok(f, MIB(1));
    free_on(f, beside, stream); /* before the capture */
    expect_cu(cuda->cuStreamBeginCapture(stream, CUAI_CU_STREAM_CAPTURE_MODE_RELAXED));
    free_on(f, before, stream);
    expect_u64(used(f), 3 * MIB(1));
    expect_cu(cuda->cuStreamEndCapture(stream, &graph));
    expect_cu(cuda->cuGraphDestroy(graph));
    expect_ok(cuarena_capture_end(f->arena, session));
    free_on(f, later, stream);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_u64(used(f), 0);
    expect_ok(cuarena_capture_release(f->arena, &session, stream));
    end_stream(f->arena, stream);
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

static void open_external(fixture_t *f, cuai_cu_pool_t pool, const char *options)
{
    fixture_prepare_text(f, options);
    f->config.driver_pool = CUARENA_DRIVER_POOL_EXTERNAL;
    f->config.driver_pool_handle = (uintptr_t)pool;
    fixture_create(f);
}

START_TEST(current_is_the_default)
{
    uint64_t current = current_pool();
    fixture_t *f = opened_pool("preset=driver-pool");
    expect_u64(pool_of(f->arena).handle, current);
    ck_assert_int_eq(pool_of(f->arena).own, 0);
    ck_assert_int_eq(pool_of(f->arena).device, 0);
    free_ok(f, alloc_ok(f, UNIT));
    expect_u64(current_pool(), current);
}
END_TEST

START_TEST(each_kind_of_pool_and_none_made_current)
{
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_pool_t pool = new_pool();
    cuai_cu_pool_t current = new_pool();
    expect_cu(cuda->cuDeviceSetMemPool(0, current));
    static fixture_t fs[4];
    fixture_open_text(&fs[0], "preset=driver-pool,driver_pool=current");
    fixture_open_text(&fs[1], "preset=driver-pool,driver_pool=default");
    fixture_open_text(&fs[2], OWN);
    open_external(&fs[3], pool, "preset=driver-pool");
    expect_u64(pool_of(fs[0].arena).handle, (uintptr_t)current);
    expect_u64(pool_of(fs[1].arena).handle, default_pool());
    expect_u64(pool_of(fs[3].arena).handle, (uintptr_t)pool);
    ck_assert_int_eq(pool_of(fs[2].arena).own, 1);
    expect_u64(current_pool(), (uintptr_t)current);
    for (size_t i = 0; i < COUNT_OF(fs); i++) {
        void *block = alloc_ok(&fs[i], 3 * UNIT);
        for (size_t j = 0; j < COUNT_OF(fs); j++)
            expect_u64(used(&fs[j]), i == j ? 3 * UNIT : 0);
        free_ok(&fs[i], block);
    }
    for (size_t i = 0; i < COUNT_OF(fs); i++)
        close_pool(&fs[i]);
    expect_cu(cuda->cuMemPoolDestroy(current));
    expect_cu(cuda->cuMemPoolDestroy(pool));
}
END_TEST

START_TEST(the_pool_stays_when_another_becomes_current)
{
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_pool_t other = new_pool();
    uint64_t before = current_pool();
    fixture_t *f = opened_pool("preset=driver-pool");
    expect_cu(cuda->cuDeviceSetMemPool(0, other));
    uint64_t was = used(f);
    void *block = alloc_ok(f, 2 * UNIT);
    expect_u64(pool_of(f->arena).handle, before);
    expect_u64(used(f), was + 2 * UNIT);
    free_ok(f, block);
    close_pool(f);
    expect_cu(cuda->cuMemPoolDestroy(other));
}
END_TEST

START_TEST(made_current_if_asked)
{
    uint64_t before = current_pool();
    fixture_t *f = opened_pool(OWN ",make_current=1");
    ck_assert(current_pool() != before);
    expect_u64(current_pool(), pool_of(f->arena).handle);
    close_pool(f);
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
    fixture_t *f = new_fixture(close_pool);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        open_external(f, pool, rows[i].options);
        expect_u64(pool_of(f->arena).release_threshold, rows[i].threshold);
        close_pool(f);
    }
    expect_cu(cuda_test()->cuMemPoolDestroy(pool));
}
END_TEST

/* Older drivers know no such size; check_driver_pool_failures has their answer. */
START_TEST(an_own_pool_has_a_largest_size)
{
    cuarena_driver_info_t driver;
    cuarena_driver_info_init(&driver);
    expect_ok(cuarena_driver_info(&driver));
    if (driver.version < 12020) {
        printf("skipped: %s: a driver before 12.2\n", __func__);
        return;
    }
    fixture_t *f = opened_pool(OWN ",driver_pool_max=64MiB");
    void *pointer = NULL;
    void *first = alloc_ok(f, MIB(32));
    expect_status(cuarena_alloc(f->arena, MIB(1024), &pointer), CUARENA_OUT_OF_MEMORY);
    free_ok(f, first);
}
END_TEST

START_TEST(segments_of_a_shared_arena_come_from_the_pool_too)
{
    fixture_t *f =
        opened_pool("preset=grow,memory=device,backing=async,driver_pool=own,limit=64MiB");
    void *block = alloc_ok(f, 1000);
    expect_u64(used(f), MIB(2));
    expect_u64(stats_of(f).reserved_bytes, MIB(2));
    free_ok(f, block);
    expect_ok(cuarena_trim(f->arena, 0, NULL));
    expect_u64(used(f), 0);
}
END_TEST

/* ---- A pool for each device -------------------------------------------- */

START_TEST(a_list_of_pools)
{
    enum {
        MOST = 16
    };
    cuarena_driver_pool_choice_t pools[MOST] = {{0}};
    cuarena_t *arenas[MOST] = {NULL};
    void *block = NULL;
    cuarena_config_t config = config_of("preset=driver-pool");
    size_t count = (size_t)cuda_test()->device_count;
    for (size_t i = 0; i < count; i++)
        pools[i].kind = i == 0 ? CUARENA_DRIVER_POOL_OWN : CUARENA_DRIVER_POOL_DEFAULT;
    expect_ok(cuarena_create_per_device(&config, pools, count, arenas));
    for (size_t i = 0; i < count; i++) {
        expect_u64((uint64_t)pool_of(arenas[i]).device, i);
        ck_assert_int_eq(pool_of(arenas[i]).own, i == 0);
        expect_ok(cuarena_alloc(arenas[i], 512, &block));
        expect_ok(cuarena_free(arenas[i], block));
        expect_cu(cuda_test()->cuCtxSynchronize());
        arena_close(arenas[i]);
        expect_no_report();
    }
    const size_t wrong[] = {0, count - 1, count + 1};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        expect_status(cuarena_create_per_device(&config, pools, wrong[i], arenas),
                      CUARENA_BAD_ARGUMENT);
        expect_message("count", "devices");
    }
    pools[count - 1].kind = CUARENA_DRIVER_POOL_EXTERNAL;
    memset(arenas, 0, sizeof arenas);
    expect_status(cuarena_create_per_device(&config, pools, count, arenas), CUARENA_BAD_ARGUMENT);
    for (size_t i = 0; i < count; i++)
        ck_assert_ptr_null(arenas[i]);
}
END_TEST

/* ---- Blocks apart, on other memory ------------------------------------- */

START_TEST(each_block_a_segment_on_any_memory)
{
    static const char *const memories[] = {"pageable", "none", "device", "managed", "pinned"};
    for (size_t i = 0; i < COUNT_OF(memories); i++) {
        char text[96];
        (void)snprintf(text, sizeof text, "preset=grow,segments=each,limit=64MiB,memory=%s",
                       memories[i]);
        fixture_t *f = opened_pool(text);
        void *a = alloc_ok(f, 1000);
        void *b = alloc_ok(f, 100000);
        expect_u64(stats_of(f).segments, 2);
        expect_u64(stats_of(f).dedicated_bytes, stats_of(f).reserved_bytes);
        free_ok(f, a);
        expect_u64(stats_of(f).segments, 1);
        free_ok(f, b);
        expect_u64(stats_of(f).reserved_bytes, 0);
        close_pool(f);
    }
}
END_TEST

START_TEST(blocks_apart_keep_their_size)
{
    fixture_t *f = opened_pool(OWN);
    void *pointer = alloc_ok(f, 1000);
    expect_status(cuarena_resize(f->arena, pointer, 2000, &pointer), CUARENA_UNSUPPORTED);
    expect_sound(f);
    free_ok(f, pointer);
}
END_TEST

START_TEST(a_reset_gives_all_back)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    for (int i = 0; i < 10; i++)
        (void)alloc_ok(f, 1000);
    expect_ok(cuarena_reset(f->arena));
    expect_u64(stats_of(f).reserved_bytes, 0);
    expect_u64(pool_of(f->arena).used_bytes, 0);
    free_ok(f, alloc_ok(f, 1000));
}
END_TEST

/* That a block was allocated at a point of its stream is work too. */
START_TEST(a_reset_waits_for_allocations)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t streams[] = {cuda_test_stream(), cuda_test_stream()};
    for (int i = 0; i < 10; i++)
        (void)alloc_on(f, 1000, streams[i % 2]);
    expect_ok(cuarena_reset(f->arena));
    expect_u64(stats_of(f).reserved_bytes, 0);
    expect_u64(pool_of(f->arena).used_bytes, 0);
    close_pool(f);
    for (int i = 0; i < 2; i++)
        expect_cu(cuda_test()->cuStreamDestroy(streams[i]));
}
END_TEST

START_TEST(zeroed_blocks_read_as_0)
{
    static const char *const options[] = {OWN KEEPS ",zero=create", OWN KEEPS ",zero=alloc"};
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        fixture_t *f = opened_pool(options[i]);
        cuai_cu_stream_t stream = cuda_test_stream();
        for (int round = 0; round < 4; round++) {
            char bytes[64];
            void *block = alloc_on(f, 4096, stream);
            expect_cu(cuda_test()->cuStreamSynchronize(stream));
            expect_cu(cuda_test()->cuMemcpyDtoH(bytes, (cuai_cu_pointer_t)(uintptr_t)block,
                                                sizeof bytes));
            for (size_t at = 0; at < sizeof bytes; at++)
                ck_assert_int_eq(bytes[at], 0);
            use(block, 4096, stream);
            expect_ok(cuarena_free_on(f->arena, block, stream));
        }
        end_stream(f->arena, stream);
        close_pool(f);
    }
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
    TCase *apart = suite_add_list(
        suite, "apart",
        TEST_LIST(each_block_a_segment_on_any_memory, blocks_apart_keep_their_size,
                  a_reset_gives_all_back, a_reset_waits_for_allocations, zeroed_blocks_read_as_0));
    TCase *lists = suite_add_list(suite, "lists", TEST_LIST(a_list_of_pools));
    add_standin_test(streams, no_call_on_a_stream_waits, 1);
    tcase_set_tags(most, "alone");
    tcase_add_checked_fixture(cupy, on_device, off_device);
    tcase_add_checked_fixture(most, on_device, off_device);
    tcase_add_checked_fixture(streams, on_device, off_device);
    tcase_add_checked_fixture(which, on_device, off_device);
    tcase_add_checked_fixture(apart, on_device, off_device);
    tcase_add_checked_fixture(lists, on_device, off_device);
    return cuda_kinds_main(suite);
}
