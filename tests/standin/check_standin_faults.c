/*
 * The stand-in driver sees each fault that a program can plant.
 */
#include "support/expect.h"
#include "support/standin_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers would turn the crash that a test waits for into an exit. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "handle_segv=0";
}

/* ---- Bad addresses ----------------------------------------------------- */

START_TEST(overlapping_copy)
{
    CUdeviceptr at = new_memory(4096);
    driver_ok(driver.cuMemcpyDtoDAsync(at, at + 1024, 1024, NULL));
    expect_clean(); /* one after the other */
    driver_ok(driver.cuMemcpyDtoDAsync(at, at + 1024, 1025, NULL));
    expect_report(STANDIN_OVERLAP);
    driver_ok(driver.cuMemcpyDtoDAsync(at + 8, at, 4000, NULL));
    expect_report(STANDIN_OVERLAP);
    driver_ok(driver.cuCtxSynchronize());
    driver_ok(driver.cuMemFree(at));
}
END_TEST

START_TEST(copy_of_foreign_memory)
{
    char here[16] = "";
    CUdeviceptr at = new_memory(16);
    CUdeviceptr foreign = (CUdeviceptr)(uintptr_t)here;
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemcpyDtoDAsync(at, foreign, 16, NULL));
    expect_report(STANDIN_FOREIGN);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemcpyDtoDAsync(foreign, at, 16, NULL));
    expect_report(STANDIN_FOREIGN);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(foreign, 0, 16, NULL));
    expect_report(STANDIN_FOREIGN);
    driver_ok(driver.cuMemFree(at));
}
END_TEST

START_TEST(copy_of_freed_memory)
{
    CUdeviceptr at = new_memory(16);
    CUdeviceptr gone = new_memory(16);
    driver_ok(driver.cuMemFree(gone));
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemcpyDtoDAsync(at, gone, 16, NULL));
    expect_report(STANDIN_FREED);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemFree(gone));
    driver_ok(driver.cuMemFree(at));
}
END_TEST

START_TEST(copy_beyond_the_end)
{
    CUdeviceptr at = new_memory(512);
    CUdeviceptr other = new_memory(4096);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemcpyDtoDAsync(other, at + 256, 257, NULL));
    expect_report(STANDIN_OUT_OF_BOUNDS);
    driver_ok(driver.cuMemFree(at));
    driver_ok(driver.cuMemFree(other));
}
END_TEST

/* Ends the test's process: the context is lost. */
START_TEST(kernel_touches_freed_memory)
{
    CUmodule module = NULL;
    CUfunction touch = driver_test_kernel(&module, "touch");
    CUdeviceptr at = new_memory(64);
    uint64_t bytes = 64;
    driver_ok(driver.cuMemFree(at));
    driver_launch(touch, 1, 32, NULL, (void *[]){&at, &bytes});
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuCtxSynchronize());
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuMemAlloc(&at, 16));
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuModuleUnload(module));
    expect_report(STANDIN_FREED);
}
END_TEST

START_TEST(cpu_that_follows_a_device_pointer_crashes)
{
    CUdeviceptr at = new_memory(64);
    *(volatile char *)(uintptr_t)at = 1;
}
END_TEST

/* ---- Missing waits ----------------------------------------------------- */

typedef struct pair {
    CUstream a;
    CUstream b;
    CUdeviceptr at;
    CUdeviceptr other;
} pair_t;

static pair_t new_pair(unsigned flags)
{
    pair_t p = {driver_new_stream(flags), driver_new_stream(flags), new_memory(4096),
                new_memory(4096)};
    return p;
}

static void end_pair(const pair_t *p)
{
    driver_ok(driver.cuCtxSynchronize());
    driver_ok(driver.cuStreamDestroy(p->a));
    driver_ok(driver.cuStreamDestroy(p->b));
    driver_ok(driver.cuMemFree(p->at));
    driver_ok(driver.cuMemFree(p->other));
}

static void write_to(const pair_t *p, CUstream stream)
{
    driver_ok(driver.cuMemsetD8Async(p->at, 1, 64, stream));
}

static void read_from(const pair_t *p, CUstream stream)
{
    driver_ok(driver.cuMemcpyDtoDAsync(p->other, p->at + 32, 64, stream));
}

static void set_seed(int seed)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", seed);
    standin->standin_configure("SEED", text);
}

static const struct {
    const char *name;
    void (*earlier)(const pair_t *p, CUstream stream);
    void (*later)(const pair_t *p, CUstream stream);
} unordered[] = {
    {"two writers", write_to, write_to},
    {"a reader that does not wait for the writer", write_to, read_from},
    {"a writer that does not wait for the reader", read_from, write_to},
};

/* Whatever the seed: what is not ordered is told, however it ran. */
START_TEST(what_is_not_ordered)
{
    for (int seed = 0; seed < 20; seed++) {
        set_seed(seed);
        pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
        unordered[_i].earlier(&p, p.a);
        unordered[_i].later(&p, p.b);
        driver_ok(driver.cuCtxSynchronize());
        ck_assert_msg(standin->standin_report_count(STANDIN_MISSING_WAIT) != 0,
                      "%s, seed %d: nothing was told", unordered[_i].name, seed);
        expect_report(STANDIN_MISSING_WAIT);
        end_pair(&p);
    }
}
END_TEST

START_TEST(readers_need_no_wait)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    CUdeviceptr third = new_memory(64);
    read_from(&p, p.a);
    driver_ok(driver.cuMemcpyDtoDAsync(third, p.at + 32, 64, p.b));
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    driver_ok(driver.cuMemFree(third));
    end_pair(&p);
}
END_TEST

START_TEST(neighbouring_bytes_need_no_wait)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    driver_ok(driver.cuMemsetD8Async(p.at, 1, 64, p.a));
    driver_ok(driver.cuMemsetD8Async(p.at + 64, 1, 64, p.b));
    driver_ok(driver.cuMemsetD8Async(p.at + 128, 1, 64, p.a));
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    end_pair(&p);
}
END_TEST

/* The event was recorded before the write that it is meant to cover. */
START_TEST(event_recorded_too_early)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    CUevent event = driver_new_event();
    driver_ok(driver.cuEventRecord(event, p.a));
    write_to(&p, p.a);
    driver_ok(driver.cuStreamWaitEvent(p.b, event, 0));
    write_to(&p, p.b);
    driver_ok(driver.cuCtxSynchronize());
    expect_report(STANDIN_MISSING_WAIT);
    driver_ok(driver.cuEventDestroy(event));
    end_pair(&p);
}
END_TEST

START_TEST(wait_through_a_third_stream)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    CUstream between = driver_new_stream(CU_STREAM_NON_BLOCKING);
    write_to(&p, p.a);
    driver_order(p.a, between);
    driver_order(between, p.b);
    write_to(&p, p.b);
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    driver_ok(driver.cuStreamDestroy(between));
    end_pair(&p);
}
END_TEST

START_TEST(a_query_that_succeeds_orders_what_comes_later)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    write_to(&p, p.a);
    while (driver.cuStreamQuery(p.a) != CUDA_SUCCESS)
        ;
    write_to(&p, p.b);
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    end_pair(&p);
}
END_TEST

START_TEST(an_older_event_takes_nothing_back)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    CUevent older = driver_new_event();
    driver_ok(driver.cuEventRecord(older, p.a));
    write_to(&p, p.a);
    driver_ok(driver.cuStreamSynchronize(p.a));
    driver_ok(driver.cuEventQuery(older));
    write_to(&p, p.b);
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    driver_ok(driver.cuEventDestroy(older));
    end_pair(&p);
}
END_TEST

/* Completion that nobody asked for is luck. */
START_TEST(luck_is_no_order)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    write_to(&p, p.a);
    standin->standin_run(100);
    expect_u64(standin->standin_pending(), 0);
    write_to(&p, p.b);
    driver_ok(driver.cuCtxSynchronize());
    expect_report(STANDIN_MISSING_WAIT);
    end_pair(&p);
}
END_TEST

START_TEST(legacy_stream_orders_blocking_streams_only)
{
    pair_t p = new_pair(CU_STREAM_DEFAULT);
    pair_t q = new_pair(CU_STREAM_NON_BLOCKING);
    write_to(&p, p.a);
    write_to(&p, NULL);
    write_to(&p, p.b);
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    write_to(&q, q.a);
    write_to(&q, NULL);
    driver_ok(driver.cuCtxSynchronize());
    expect_report(STANDIN_MISSING_WAIT);
    end_pair(&p);
    end_pair(&q);
}
END_TEST

START_TEST(kernels_without_a_wait)
{
    pair_t p = new_pair(CU_STREAM_NON_BLOCKING);
    CUmodule module = NULL;
    CUfunction touch = driver_test_kernel(&module, "touch");
    uint64_t bytes = 4096;
    driver_launch(touch, 2, 32, p.a, (void *[]){&p.at, &bytes});
    driver_launch(touch, 2, 32, p.b, (void *[]){&p.at, &bytes});
    driver_ok(driver.cuCtxSynchronize());
    expect_report(STANDIN_MISSING_WAIT);
    end_pair(&p);
    driver_ok(driver.cuModuleUnload(module));
}
END_TEST

START_TEST(cpu_touches_pinned_memory_without_a_wait)
{
    unsigned char *pinned;
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr at = new_memory(64);
    driver_ok(driver.cuMemHostAlloc((void **)&pinned, 64, 0));
    driver_ok(driver.cuMemcpyHtoDAsync(at, pinned, 64, stream));
    standin->standin_run(10);
    standin->standin_host_access(pinned, 64, 0);
    expect_clean(); /* both only read */
    standin->standin_host_access(pinned, 64, 1);
    expect_report(STANDIN_MISSING_WAIT);
    driver_ok(driver.cuStreamSynchronize(stream));
    standin->standin_host_access(pinned, 64, 1);
    expect_clean();
    standin->standin_host_access(&at, sizeof(at), 0);
    expect_report(STANDIN_FOREIGN);
    driver_ok(driver.cuMemFreeHost(pinned));
    driver_ok(driver.cuMemFree(at));
    driver_ok(driver.cuStreamDestroy(stream));
}
END_TEST

/* ---- Freeing ----------------------------------------------------------- */

START_TEST(pinned_memory_freed_in_use)
{
    void *pinned;
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_ok(driver.cuMemHostAlloc(&pinned, 64, 0));
    standin->standin_configure("PACE", "0");
    driver_ok(driver.cuMemsetD8Async((CUdeviceptr)(uintptr_t)pinned, 1, 64, stream));
    driver_ok(driver.cuMemFreeHost(pinned)); /* it is queued */
    expect_report(STANDIN_FREED_IN_USE);
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuStreamSynchronize(stream));
    expect_report(STANDIN_FREED);
}
END_TEST

START_TEST(pinned_memory_freed_before_the_host_has_seen_the_end)
{
    void *pinned;
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_ok(driver.cuMemHostAlloc(&pinned, 64, 0));
    driver_ok(driver.cuMemsetD8Async((CUdeviceptr)(uintptr_t)pinned, 1, 64, stream));
    standin->standin_run(100); /* it ran, and nobody asked */
    driver_ok(driver.cuMemFreeHost(pinned));
    expect_report(STANDIN_FREED_IN_USE);
    driver_ok(driver.cuStreamDestroy(stream));
}
END_TEST

START_TEST(device_memory_freed_in_use_is_a_wait)
{
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    for (int enabled = 0; enabled < 2; enabled++) {
        CUdeviceptr at = new_memory(64);
        standin->standin_configure("PACE", "0");
        standin->standin_counts_clear();
        standin->standin_report_enable(STANDIN_FREED_WAITED, enabled);
        driver_ok(driver.cuMemsetD8Async(at, 1, 64, stream));
        driver_ok(driver.cuMemFree(at));
        expect_u64(standin->standin_syncs(), 1);
        if (enabled)
            expect_report(STANDIN_FREED_WAITED);
        expect_clean();
    }
    driver_ok(driver.cuStreamDestroy(stream));
}
END_TEST

START_TEST(kernels_parameter_freed_in_use)
{
    CUmodule module = NULL;
    CUfunction touch = driver_test_kernel(&module, "touch");
    uint64_t bytes = 64;
    void *pinned;
    driver_ok(driver.cuMemHostAlloc(&pinned, 64, 0));
    standin->standin_configure("PACE", "0");
    driver_launch(touch, 1, 32, NULL, (void *[]){&pinned, &bytes});
    driver_ok(driver.cuMemFreeHost(pinned));
    expect_report(STANDIN_FREED_IN_USE);
}
END_TEST

/* ---- Leaks ------------------------------------------------------------- */

static void expect_leak(const char *kind, size_t count)
{
    expect_u64(standin->standin_live(kind), count);
    standin->standin_check_leaks();
    for (size_t i = 0;; i++) {
        const char *text = standin->standin_report_text(i);
        if (strstr(text, kind) != NULL)
            break;
        if (text[0] == '\0')
            ck_abort_msg("expected a leak of kind %s, got none", kind);
    }
    expect_report(STANDIN_LEAK);
}

START_TEST(leaks_of_memory_and_contexts)
{
    CUdeviceptr managed;
    void *pinned;
    CUcontext other;
    expect_leak("context", 1); /* the fixture's */
    CUdeviceptr at = new_memory(16);
    expect_leak("allocation", 1);
    driver_ok(driver.cuMemAllocManaged(&managed, 16, CU_MEM_ATTACH_GLOBAL));
    driver_ok(driver.cuMemHostAlloc(&pinned, 16, 0));
    expect_leak("allocation", 3);
    driver_ok(driver.cuCtxCreate(&other, 0, 0));
    expect_leak("context", 2);
    driver_ok(driver.cuCtxDestroy(other));
    driver_ok(driver.cuMemFreeHost(pinned));
    driver_ok(driver.cuMemFree(managed));
    driver_ok(driver.cuMemFree(at));
    expect_u64(standin->standin_live("allocation"), 0);
    expect_u64(standin->standin_live("nonsense"), SIZE_MAX);
}
END_TEST

START_TEST(leaks_of_handles)
{
    CUmodule module = NULL;
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUstream stream = driver_new_stream(0);
    CUevent event = driver_new_event();
    driver_test_kernel(&module, "fill");
    driver_ok(driver.cuMemPoolCreate(&pool, &props));
    expect_leak("stream", 1);
    expect_leak("event", 1);
    expect_leak("module", 1);
    expect_leak("pool", 1);
    driver_ok(driver.cuStreamDestroy(stream));
    driver_ok(driver.cuEventDestroy(event));
    driver_ok(driver.cuModuleUnload(module));
    driver_ok(driver.cuMemPoolDestroy(pool));
}
END_TEST

START_TEST(leaks_of_virtual_memory)
{
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    int file;
    driver_ok(driver.cuMemAddressReserve(&at, MIB(4), 0, 0, 0));
    expect_leak("reservation", 1);
    driver_ok(driver.cuMemCreate(&handle, MIB(2), &props, 0));
    expect_leak("handle", 1);
    driver_ok(driver.cuMemExportToShareableHandle(&file, handle,
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    expect_leak("descriptor", 1);
    driver_ok(driver.cuMemMap(at, MIB(2), 0, handle, 0));
    driver_ok(driver.cuMemRelease(handle));
    expect_leak("mapping", 1);
    expect_u64(standin->standin_device_used(0), MIB(2));
    driver_ok(driver.cuMemUnmap(at, MIB(2)));
    expect_u64(standin->standin_device_used(0), 0);
    close(file);
    driver_ok(driver.cuMemAddressFree(at, MIB(4)));
}
END_TEST

/* ---- Brackets ---------------------------------------------------------- */

START_TEST(context_left_changed)
{
    CUcontext other;
    CUcontext popped;
    driver_ok(driver.cuCtxCreate(&other, 0, 0));
    driver_ok(driver.cuCtxPopCurrent(&popped));
    driver_bracket_begin(STANDIN_SAME_CONTEXT, "a good call");
    driver_ok(driver.cuCtxPushCurrent(other));
    driver_ok(driver.cuCtxPopCurrent(&popped));
    expect_u64(driver_bracket_end(), 0);
    driver_bracket_begin(STANDIN_SAME_CONTEXT, "a bad call");
    driver_ok(driver.cuCtxSetCurrent(other));
    expect_u64(driver_bracket_end(), 1);
    expect_report(STANDIN_CONTEXT_CHANGED);
    driver_ok(driver.cuCtxSetCurrent(context));
    driver_bracket_begin(STANDIN_SAME_CONTEXT, "a call that pushes");
    driver_ok(driver.cuCtxPushCurrent(context));
    expect_u64(driver_bracket_end(), 1);
    expect_report(STANDIN_CONTEXT_CHANGED);
    driver_ok(driver.cuCtxPopCurrent(&popped));
    driver_ok(driver.cuCtxDestroy(other));
}
END_TEST

START_TEST(unasked_waits)
{
    char here[16];
    CUdeviceptr at = new_memory(16);
    CUevent event = driver_new_event();
    driver_bracket_begin(STANDIN_NO_SYNC, "nothing that waits");
    driver_ok(driver.cuMemsetD8Async(at, 0, 16, NULL));
    driver_ok(driver.cuEventRecord(event, NULL));
    expect_clean();
    driver_ok(driver.cuCtxSynchronize());
    driver_ok(driver.cuStreamSynchronize(NULL));
    driver_ok(driver.cuEventSynchronize(event));
    driver_ok(driver.cuMemcpyDtoH(here, at, 16));
    driver_ok(driver.cuMemcpyDtoHAsync(here, at, 16, NULL)); /* pageable */
    driver_ok(driver.cuMemsetD8(at, 0, 16));
    expect_u64(driver_bracket_end(), 6);
    expect_u64(standin->standin_report_count(STANDIN_SYNC), 6);
    expect_report(STANDIN_SYNC);
    driver_ok(driver.cuEventDestroy(event));
    driver_ok(driver.cuMemFree(at));
}
END_TEST

START_TEST(unasked_calls)
{
    CUdeviceptr at = new_memory(16);
    size_t a;
    size_t b;
    standin->standin_counts_clear();
    driver_bracket_begin(STANDIN_NO_DEVICE_CALLS, "questions only");
    driver_ok(driver.cuMemGetInfo(&a, &b));
    expect_u64(driver_bracket_end(), 0);
    driver_bracket_begin(STANDIN_NO_CALLS, "no call at all");
    driver_ok(driver.cuMemGetInfo(&a, &b));
    driver_ok(driver.cuMemFree(at));
    expect_u64(driver_bracket_end(), 2);
    expect_report(STANDIN_CALL);
    expect_u64(standin->standin_calls("cuMemGetInfo"), 2);
    expect_u64(standin->standin_calls("cuMemFree"), 1);
    expect_u64(standin->standin_calls(NULL), 3);
}
END_TEST

/* ---- Crashes ----------------------------------------------------------- */

START_TEST(dead_stream_crashes)
{
    CUstream stream = driver_new_stream(0);
    driver_ok(driver.cuStreamDestroy(stream));
    driver.cuStreamQuery(stream);
}
END_TEST

START_TEST(dead_event_crashes)
{
    CUevent event = driver_new_event();
    driver_ok(driver.cuEventDestroy(event));
    driver.cuEventRecord(event, NULL);
}
END_TEST

START_TEST(dead_context_crashes)
{
    CUcontext other;
    driver_ok(driver.cuCtxCreate(&other, 0, 0));
    driver_ok(driver.cuCtxDestroy(other));
    driver.cuCtxPushCurrent(other);
}
END_TEST

START_TEST(stream_of_a_dead_context_crashes)
{
    CUcontext other;
    driver_ok(driver.cuCtxCreate(&other, 0, 0));
    CUstream stream = driver_new_stream(0);
    driver_ok(driver.cuCtxDestroy(other));
    driver.cuStreamQuery(stream);
}
END_TEST

START_TEST(handle_of_another_kind_crashes)
{
    CUevent event = driver_new_event();
    driver.cuStreamQuery((CUstream)(void *)event);
}
END_TEST

START_TEST(wait_that_cannot_end_crashes)
{
    CUmodule module = NULL;
    CUfunction spin = driver_test_kernel(&module, "spin");
    CUdeviceptr flag = new_memory(4);
    uint64_t cycles = 0;
    standin->standin_configure("PATIENCE", "1");
    driver_ok(driver.cuMemsetD8(flag, 0, 4));
    driver_launch(spin, 1, 1, NULL, (void *[]){&flag, &cycles});
    driver.cuCtxSynchronize();
}
END_TEST

/* ---- Misuse ------------------------------------------------------------ */

START_TEST(calls_after_fork)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr at;
        bool ok = driver.cuMemAlloc(&at, 16) == CUDA_ERROR_NOT_INITIALIZED &&
                  driver.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                  standin->standin_report_count(STANDIN_MISUSE) == 2;
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

static void call_the_driver(void *user)
{
    size_t a;
    size_t b;
    *(CUresult *)user = driver.cuMemGetInfo(&a, &b);
}

START_TEST(calls_from_host_functions)
{
    CUresult result = CUDA_SUCCESS;
    driver_ok(driver.cuLaunchHostFunc(NULL, call_the_driver, &result));
    driver_ok(driver.cuCtxSynchronize());
    expect_u64(result, CUDA_ERROR_NOT_PERMITTED);
    expect_report(STANDIN_MISUSE);
}
END_TEST

static void add_crashes(Suite *suite)
{
    const TTest *const *crashes =
        TEST_LIST(dead_stream_crashes, dead_event_crashes, dead_context_crashes,
                  stream_of_a_dead_context_crashes, handle_of_another_kind_crashes,
                  wait_that_cannot_end_crashes);
    TCase *tcase = tcase_create("crashes");
    tcase_add_checked_fixture(tcase, lost_device, NULL);
    for (; *crashes != NULL; crashes++)
        tcase_add_test_raise_signal(tcase, *crashes, SIGABRT);
    tcase_add_test_raise_signal(tcase, cpu_that_follows_a_device_pointer_crashes, SIGSEGV);
    suite_add_tcase(suite, tcase);
}

static void add_faults(Suite *suite)
{
    TCase *tcase = suite_add_list(
        suite, "reported",
        TEST_LIST(overlapping_copy, copy_of_foreign_memory, copy_of_freed_memory,
                  copy_beyond_the_end, readers_need_no_wait, neighbouring_bytes_need_no_wait,
                  event_recorded_too_early, an_older_event_takes_nothing_back,
                  wait_through_a_third_stream, a_query_that_succeeds_orders_what_comes_later,
                  luck_is_no_order, legacy_stream_orders_blocking_streams_only,
                  kernels_without_a_wait, cpu_touches_pinned_memory_without_a_wait,
                  pinned_memory_freed_before_the_host_has_seen_the_end,
                  device_memory_freed_in_use_is_a_wait, leaks_of_memory_and_contexts,
                  leaks_of_handles, leaks_of_virtual_memory, context_left_changed, unasked_waits,
                  unasked_calls, calls_after_fork, calls_from_host_functions));
    tcase_add_loop_test(tcase, what_is_not_ordered, 0, (int)COUNT_OF(unordered));
    tcase_add_checked_fixture(tcase, one_device, nothing_left);
}

int main(void)
{
    Suite *suite = suite_create("standin_faults");
    add_faults(suite);
    TCase *lost = suite_add_list(suite, "lost",
                                 TEST_LIST(kernel_touches_freed_memory, pinned_memory_freed_in_use,
                                           kernels_parameter_freed_in_use));
    tcase_add_checked_fixture(lost, lost_device, NULL);
    add_crashes(suite);
    return standin_main(suite);
}
