/*
 * Arenas on the driver's own pools: options that do not go together, running out, and a driver that
 * lacks something or fails. Arenas that may fail to be made, or are lost, are opened by hand.
 */
#include <stdio.h>
#include <string.h>

#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/driver_pools.h"
#include "support/fixture_streams.h"

/* ---- Options ----------------------------------------------------------- */

START_TEST(a_threshold_needs_a_pool)
{
    static const char *const texts[] = {
        "preset=grow,release_threshold=1MiB",
        "preset=grow,memory=device,driver_pool=own",
        "preset=grow,memory=device,backing=vmm,threshold_limits=1",
        "preset=driver-pool,memory=managed,make_current=1",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        cuarena_config_t config = config_of(texts[i]);
        cuarena_t *arena = NULL;
        expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
        expect_message("backing=async");
    }
}
END_TEST

START_TEST(options_that_do_not_go_together)
{
    static const char *const texts[][2] = {
        {"preset=driver-pool,driver_pool=external", "driver_pool_handle"},
        {"preset=driver-pool,driver_pool_handle=7", "driver_pool_handle"},
        {"preset=driver-pool,driver_pool_max=1MiB", "driver_pool_max"},
        {"preset=driver-pool,stable=1MiB", "segments"},
        {"preset=driver-pool,take_first=1", "segments"},
        {"preset=pool,segments=each", "segments"},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        cuarena_config_t config = config_of(texts[i][0]);
        cuarena_t *arena = NULL;
        expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
        expect_message(texts[i][1]);
    }
}
END_TEST

START_TEST(an_arena_without_such_a_pool)
{
    cuarena_driver_pool_stats_t stats;
    fixture_t *f = opened_text("preset=grow,memory=none,limit=64MiB");
    cuarena_amount_t amount = {CUARENA_AMOUNT_BYTES, 0, 0};
    uint64_t bytes = 0;
    cuarena_driver_pool_stats_init(&stats);
    expect_status(cuarena_driver_pool_stats(f->arena, &stats), CUARENA_UNSUPPORTED);
    expect_status(cuarena_driver_pool_reset_peaks(f->arena), CUARENA_UNSUPPORTED);
    expect_status(cuarena_set_limit(f->arena, CUARENA_LIMIT_THRESHOLD, amount, NULL),
                  CUARENA_UNSUPPORTED);
    expect_status(cuarena_get_limit(f->arena, CUARENA_LIMIT_THRESHOLD, &bytes),
                  CUARENA_UNSUPPORTED);
}
END_TEST

/* ---- Running out ------------------------------------------------------- */

static uint64_t waits_of(const fixture_t *f)
{
    return stats_of(f).host_waits;
}

/* The bytes are there when the stream is idle: it is waited for. */
START_TEST(out_of_memory_waits_for_the_stream)
{
    fixture_t *f = opened_pool(OWN KEEPS);
    cuai_cu_stream_t stream = cuda_test_stream();
    size_t free_bytes = 0;
    size_t total = 0;
    expect_cu(cuda_test()->cuMemGetInfo(&free_bytes, &total));
    uint64_t most = free_bytes / 100 * 70 / MIB(32) * MIB(32);
    void *block = alloc_on(f, most, stream);
    use(block, MIB(1), stream);
    expect_ok(cuarena_free_on(f->arena, block, stream));
    block = alloc_on(f, most / 3, stream);
    expect_ok(cuarena_free_on(f->arena, block, stream));
    end_stream(f->arena, stream);
}
END_TEST

START_TEST(out_of_memory_waits_twice_and_tells)
{
    fixture_t *f = opened_pool(OWN);
    cuai_cu_stream_t stream = cuda_test_stream();
    void *pointer = NULL;
    expect_ok(cuarena_free_on(f->arena, alloc_on(f, 512, stream), stream));
    uint64_t before = waits_of(f);
    expect_status(cuarena_alloc_on(f->arena, UINT64_C(1) << 46, stream, NULL, &pointer),
                  CUARENA_OUT_OF_MEMORY);
    expect_message("tried:", "waiting");
    expect_u64(waits_of(f), before + 2);
    before = waits_of(f);
    expect_status(cuarena_alloc(f->arena, UINT64_C(1) << 46, &pointer), CUARENA_OUT_OF_MEMORY);
    ck_assert_uint_ge(waits_of(f), before + 2);
    expect_sound(f);
    end_stream(f->arena, stream);
}
END_TEST

START_TEST(other_failures_are_told_at_once)
{
    fixture_t *f = opened_pool(OWN);
    void *pointer = NULL;
    ck_assert(standin_is_here());
    uint64_t before = waits_of(f);
    (void)standin->standin_fail("cuMemAllocFromPoolAsync", 1, CUAI_CUDA_ERROR_INVALID_VALUE, 0);
    expect_status(cuarena_alloc(f->arena, 512, &pointer), CUARENA_DRIVER);
    expect_u64(waits_of(f), before);
    expect_message("cuMemAllocFromPoolAsync");
    standin->standin_fail_clear();
    (void)standin->standin_fail("cuMemAllocFromPoolAsync", 1, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0);
    expect_ok(cuarena_alloc(f->arena, 512, &pointer));
    standin->standin_fail_clear();
    free_ok(f, pointer);
}
END_TEST

START_TEST(a_block_that_is_not_zeroed_leaves_peaks)
{
    fixture_t *f = opened_pool(OWN);
    void *pointer = alloc_ok(f, 1000);
    void *none = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    cuarena_ort_stats_t before = ort_stats_of(f->arena);
    ck_assert(standin_is_here());
    (void)standin->standin_fail("cuMemsetD32Async", 1, CUAI_CUDA_ERROR_INVALID_VALUE, 0);
    expect_status(cuarena_alloc_with(f->arena, 1000000, &request, &none), CUARENA_DRIVER);
    standin->standin_fail_clear();
    cuarena_ort_stats_t after = ort_stats_of(f->arena);
    expect_u64((uint64_t)after.max_alloc_size, (uint64_t)before.max_alloc_size);
    expect_u64((uint64_t)after.max_bytes_in_use, (uint64_t)before.max_bytes_in_use);
    expect_u64(stats_of(f).peak_live_bytes, stats_of(f).live_bytes);
    ck_assert_uint_ge(stats_of(f).peak_reserved_bytes, 1000000);
    free_ok(f, pointer);
}
END_TEST

/* ---- A driver that lacks something, or fails --------------------------- */

/* In a process whose driver is set up before it is opened. */
static void set_up(const char *key, const char *value)
{
    ck_assert(standin_is_here());
    ck_assert_int_eq(standin->standin_configure(key, value), 0);
}

START_TEST(a_device_without_pools)
{
    set_up("LACK", "pools");
    cuarena_config_t config = config_of("preset=driver-pool");
    cuarena_t *arena = NULL;
    expect_status(cuarena_create(&config, &arena), CUARENA_UNSUPPORTED);
    expect_message("11.3", "11.3");
    config = config_of("use_cuda_mempool=1");
    expect_status(cuarena_create(&config, &arena), CUARENA_UNSUPPORTED);
    expect_nothing_left();
}
END_TEST

START_TEST(a_driver_before_largest_sizes)
{
    set_up("VERSION", "12010");
    cuarena_config_t config = config_of(OWN ",driver_pool_max=64MiB");
    cuarena_t *arena = NULL;
    expect_status(cuarena_create(&config, &arena), CUARENA_UNSUPPORTED);
    expect_message("12.2", "12.1");
    expect_nothing_left();
}
END_TEST

static const char *const entries[] = {
    "cuDeviceGetMemPool",      "cuDeviceGetDefaultMemPool",
    "cuMemPoolCreate",         "cuMemPoolSetAttribute",
    "cuMemPoolGetAttribute",   "cuMemPoolTrimTo",
    "cuMemAllocFromPoolAsync", "cuStreamCreate",
    "cuEventCreate",           "cuEventRecord",
    "cuEventSynchronize",      "cuStreamIsCapturing",
    "cuStreamGetCtx",          "cuStreamGetId",
    "cuDeviceSetMemPool",      "cuMemPoolSetAccess",
};

static const char *const lives[] = {
    "preset=driver-pool,release_threshold=1MiB",
    "preset=driver-pool,driver_pool=default,threshold_limits=1,"
    "release_threshold=never",
    OWN ",make_current=1,zero=alloc,peers=try",
};

static bool survived(cuarena_t *arena, cuarena_status_t status)
{
    if (arena != NULL)
        expect_valid_arena(arena);
    ck_assert_msg(status == CUARENA_OK || status == CUARENA_DRIVER ||
                      status == CUARENA_OUT_OF_MEMORY || status == CUARENA_BAD_ARGUMENT,
                  "an unexpected %s: %s", cuarena_status_name(status), last_error_message());
    return status == CUARENA_OK;
}

/* A block that could not be freed is freed when it is idle. */
static void free_somehow(cuarena_t *arena, void *block, cuarena_stream_t stream)
{
    if (block == NULL)
        return;
    if (survived(arena, cuarena_free_on(arena, block, stream)))
        return;
    expect_cu(cuda_test()->cuStreamSynchronize(stream));
    (void)survived(arena, cuarena_free(arena, block));
}

static void live(const char *options, cuarena_stream_t stream)
{
    cuarena_config_t config = config_of(options);
    cuarena_t *arena = NULL;
    void *a = NULL;
    void *b = NULL;
    cuarena_driver_pool_stats_t stats;
    if (!survived(NULL, cuarena_create(&config, &arena)))
        return;
    (void)survived(arena, cuarena_alloc(arena, 4096, &a));
    (void)survived(arena, cuarena_alloc_on(arena, 8192, stream, NULL, &b));
    cuarena_driver_pool_stats_init(&stats);
    (void)survived(arena, cuarena_driver_pool_stats(arena, &stats));
    free_somehow(arena, b, stream);
    if (a != NULL)
        (void)survived(arena, cuarena_free(arena, a));
    (void)survived(arena, cuarena_trim(arena, 0, NULL));
    expect_ok(cuarena_destroy_forced(&arena));
}

/* Each call of the entry point fails once, and nothing is lost. */
START_TEST(each_call_fails)
{
    const char *entry = entries[_i];
    ck_assert(standin_is_here());
    cuai_cu_stream_t stream = cuda_test_stream();
    for (size_t i = 0; i < COUNT_OF(lives); i++) {
        bool failed = true;
        for (uint64_t nth = 1; failed && nth < 200; nth++) {
            ck_assert_int_eq(standin->standin_fail(entry, nth, CUAI_CUDA_ERROR_INVALID_VALUE, 0),
                             0);
            live(lives[i], stream);
            failed = standin->standin_failed() != 0;
            standin->standin_fail_clear();
            expect_no_report();
        }
        ck_assert(!failed);
    }
    expect_cu(cuda_test()->cuCtxSynchronize());
    expect_cu(cuda_test()->cuStreamDestroy(stream));
    expect_u64(standin->standin_live("allocation"), 0);
    expect_u64(standin->standin_live("pool"), 0);
    expect_u64(standin->standin_live("stream"), 0);
}
END_TEST

/* Another arena saw the loss. What reads or sets something of the pool says so; the end is the end
 * all the same. */
START_TEST(a_pool_of_a_lost_device)
{
    cuarena_config_t config =
        config_of(OWN ",threshold_limits=1,release_threshold=64MiB,limit=1GiB");
    cuarena_t *arena = NULL;
    cuarena_driver_pool_stats_t stats;
    cuarena_amount_t amount = {CUARENA_AMOUNT_BYTES, 0, MIB(32)};
    uint64_t bytes = 0;
    void *block = NULL;
    ck_assert(standin_is_here());
    cuarena_driver_pool_stats_init(&stats);
    expect_ok(cuarena_create(&config, &arena));
    cuarena_t *other = arena_of(OWN);
    expect_ok(cuarena_alloc(arena, MIB(1), &block));
    standin->standin_lose_device(0, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_status(cuarena_alloc(other, MIB(1), &block), CUARENA_LOST);
    expect_status(cuarena_driver_pool_stats(arena, &stats), CUARENA_LOST);
    expect_message("CUDA_ERROR_ILLEGAL_ADDRESS");
    expect_u64(stats.total_bytes, 0);
    expect_status(cuarena_driver_pool_reset_peaks(arena), CUARENA_LOST);
    expect_status(cuarena_set_limit(arena, CUARENA_LIMIT_THRESHOLD, amount, NULL), CUARENA_LOST);
    expect_status(cuarena_get_limit(arena, CUARENA_LIMIT_THRESHOLD, &bytes), CUARENA_LOST);
    expect_status(cuarena_trim(arena, 0, NULL), CUARENA_LOST);
    expect_status(cuarena_alloc(arena, MIB(2), &block), CUARENA_LOST);
    expect_valid_arena(arena);
    standin->standin_counts_clear();
    expect_ok(cuarena_destroy_forced(&arena));
    expect_ok(cuarena_destroy_forced(&other));
    expect_u64(standin->standin_calls("cuMemPoolDestroy"), 0);
}
END_TEST

static const int attributes_set[] = {1, 2}; /* which call fails */

START_TEST(peaks_that_cannot_be_reset)
{
    ck_assert(standin_is_here());
    fixture_t *f = opened_pool(OWN);
    standin->standin_fail("cuMemPoolSetAttribute", (uint64_t)attributes_set[_i],
                          CUAI_CUDA_ERROR_INVALID_VALUE, 0);
    expect_status(cuarena_driver_pool_reset_peaks(f->arena), CUARENA_DRIVER);
    expect_message("cuMemPoolSetAttribute", "device 0");
    expect_ok(cuarena_driver_pool_reset_peaks(f->arena));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("driver pool failures");
    cuda_kinds_ready();
    TCase *running = suite_add_list(
        suite, "running out",
        TEST_LIST(out_of_memory_waits_for_the_stream, out_of_memory_waits_twice_and_tells));
    tcase_add_checked_fixture(running, on_device, off_device);
    add_standin_test(running, other_failures_are_told_at_once, 1);
    add_standin_test(running, a_block_that_is_not_zeroed_leaves_peaks, 1);
    suite_add_list(suite, "options",
                   TEST_LIST(a_threshold_needs_a_pool, options_that_do_not_go_together,
                             an_arena_without_such_a_pool));
    TCase *lacks = suite_add_case(suite, "lacks");
    add_standin_test(lacks, a_device_without_pools, 1);
    add_standin_test(lacks, a_driver_before_largest_sizes, 1);
    TCase *failing = suite_add_case(suite, "failures");
    tcase_add_checked_fixture(failing, on_device, off_device);
    add_standin_test(failing, each_call_fails, COUNT_OF(entries));
    add_standin_test(failing, peaks_that_cannot_be_reset, COUNT_OF(attributes_set));
    add_standin_test(suite_add_case(suite, "lost"), a_pool_of_a_lost_device, 1);
    return cuda_kinds_main(suite);
}
