/*
 * The allocator that ONNX Runtime gets, on memory of a device: it frees where nobody tells it the
 * stream, beside threads that end streams, and during captures.
 */
#include "support/driver_under_test.h"
#include "support/fixture.h"
#include "support/ort_table.h"

#include <pthread.h>
#include <stdatomic.h>

#define BYTES ((size_t)64 << 10)

static cuarena_t *arena; /* of the test's fixture */
static struct OrtAllocator *allocator;

static void set_up(void)
{
    driver_start();
    (void)driver_take_context(0);
    driver_reports_clear();
}

static void close_ort(fixture_t *f)
{
    expect_ok(cuarena_ort_allocator_destroy(&allocator));
    driver_ok(driver.cuCtxSynchronize());
    expect_u64(live_blocks(f), 0);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    fixture_close(f);
}

/* The arena of a test, with the allocator. */
static void open_ort(const char *options)
{
    fixture_t *f = new_fixture(close_ort);
    fixture_open_text(f, options);
    arena = f->arena;
    allocator = ort_allocator_of(arena, 0);
}

static void tear_down(void)
{
    end_test(); /* the arena's end comes first */
    expect_u64(driver_reports(STANDIN_ANY), 0);
    driver_drop_context(0);
}

/* ---- Streams that end --------------------------------------------------- */

static CUstream ending;
static atomic_int turn;

static void *end_stream(void *unused)
{
    (void)unused;
    driver_ok(driver.cuCtxSetCurrent(driver_take_context(0)));
    atomic_fetch_add(&turn, 1);
    while (atomic_load(&turn) < 2)
        continue;
    expect_ok(cuarena_release_stream(arena, ending));
    driver_ok(driver.cuStreamDestroy(ending));
    driver_drop_context(0);
    return NULL;
}

/* Whichever comes first, nobody asks a stream that is gone. */
START_TEST(a_stream_ends_while_its_block_is_freed)
{
    int rounds = (int)scale_pick(50, 100, 2000);
    open_ort("memory=device,preset=grow,limit=64MiB");
    for (int i = 0; i < rounds; i++) {
        pthread_t thread;
        ending = driver_new_stream(CU_STREAM_NON_BLOCKING);
        void *p = allocator->alloc_on_stream(allocator, BYTES, ending);
        atomic_store(&turn, 0);
        ck_assert_int_eq(pthread_create(&thread, NULL, end_stream, NULL), 0);
        atomic_fetch_add(&turn, 1);
        while (atomic_load(&turn) < 2)
            continue;
        allocator->free(allocator, p);
        pthread_join(thread, NULL);
    }
}
END_TEST

START_TEST(a_block_outlives_its_stream)
{
    open_ort("memory=device,preset=grow,limit=64MiB");
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    void *p = allocator->alloc_on_stream(allocator, BYTES, stream);
    expect_ok(cuarena_release_stream(arena, stream));
    driver_ok(driver.cuStreamDestroy(stream));
    allocator->free(allocator, p);
    expect_ok(cuarena_free_own(arena, NULL));
    expect_status(cuarena_free_own(arena, p), CUARENA_STALE);
}
END_TEST

/* ---- Default streams of threads ------------------------------------------ */

static void *shared;

/* Frees what another thread allocated on its default stream, and takes as much on its own. */
static void *free_and_take(void *unused)
{
    (void)unused;
    driver_ok(driver.cuCtxSetCurrent(driver_take_context(0)));
    allocator->free(allocator, shared);
    void *p = allocator->alloc_on_stream(allocator, BYTES, CU_STREAM_PER_THREAD);
    driver_ok(
        driver.cuMemsetD32Async((CUdeviceptr)(uintptr_t)p, 2, BYTES / 4, CU_STREAM_PER_THREAD));
    driver_ok(driver.cuStreamSynchronize(CU_STREAM_PER_THREAD));
    allocator->free(allocator, p);
    expect_ok(cuarena_release_stream(arena, CUARENA_STREAM_PER_THREAD));
    driver_drop_context(0);
    return NULL;
}

START_TEST(another_threads_default_stream_is_waited_for)
{
    open_ort("memory=device,preset=grow,limit=64MiB");
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        shared = allocator->alloc_on_stream(allocator, BYTES, CU_STREAM_PER_THREAD);
        driver_ok(driver.cuMemsetD32Async((CUdeviceptr)(uintptr_t)shared, 1, BYTES / 4,
                                          CU_STREAM_PER_THREAD));
        ck_assert_int_eq(pthread_create(&thread, NULL, free_and_take, NULL), 0);
        pthread_join(thread, NULL);
    }
}
END_TEST

/* ---- Captures ------------------------------------------------------------ */

/* The free is refused, and done when the capture is over. */
START_TEST(a_block_of_a_pool_is_freed_behind_the_capture)
{
    CUgraph graph = NULL;
    open_ort("memory=device,preset=bfc,use_cuda_mempool=1");
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    void *p = allocator->alloc_on_stream(allocator, BYTES, stream);
    void *q = allocator->alloc_on_stream(allocator, BYTES, stream);
    driver_ok(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    allocator->free(allocator, p);
    allocator->free(allocator, q);
    expect_u64(arena_stats(arena).live_blocks, 2);
    driver_ok(driver.cuStreamEndCapture(stream, &graph));
    driver_ok(driver.cuGraphDestroy(graph));
    ck_assert_ptr_null(allocator->alloc(allocator, 0));
    expect_u64(arena_stats(arena).live_blocks, 0);
    expect_ok(cuarena_release_stream(arena, stream));
    driver_ok(driver.cuStreamDestroy(stream));
}
END_TEST

/* ---- Figures ------------------------------------------------------------- */

START_TEST(figures_that_fail_give_no_pairs)
{
    void *pairs = UNTOUCHED;
    if (!driver_is_standin_for("figures that fail"))
        return;
    open_ort("memory=device,preset=driver-pool,driver_pool=own");
    allocator->free(allocator, allocator->alloc(allocator, BYTES));
    driver_standin()->standin_fail("cuMemPoolGetAttribute", 1, CUDA_ERROR_NOT_PERMITTED, 1);
    ck_assert_ptr_nonnull(allocator->get_stats(allocator, &pairs));
    driver_standin()->standin_fail_clear();
    ck_assert_ptr_eq(pairs, UNTOUCHED);
}
END_TEST

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("ort_device");
    if (kind == DRIVER_NONE)
        return driver_result(kind, 0);
    TCase *tcase = suite_add_list(
        suite, "ort device",
        TEST_LIST(a_stream_ends_while_its_block_is_freed, a_block_outlives_its_stream,
                  another_threads_default_stream_is_waited_for,
                  a_block_of_a_pool_is_freed_behind_the_capture, figures_that_fail_give_no_pairs));
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    return driver_result(kind, suite_main(suite));
}
