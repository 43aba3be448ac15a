/*
 * The stand-in driver can be made to fail, to lack things and to be lost, as real drivers are, and
 * to end a process that leaves a fault behind.
 */
#include "support/expect.h"
#include "support/standin_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Faults that a test asks for --------------------------------------- */

START_TEST(the_nth_call_fails)
{
    CUdeviceptr at[5];
    ck_assert_int_eq(standin->standin_fail("cuNothing", 1, 2, 0), -1);
    ck_assert_int_eq(standin->standin_fail("cuMemAlloc", 2, CUDA_ERROR_UNKNOWN, 0), 0);
    at[0] = new_memory(16);
    expect_driver(CUDA_ERROR_UNKNOWN, driver.cuMemAlloc(&at[1], 16));
    at[1] = new_memory(16);
    expect_u64(standin->standin_failed(), 1);
    standin->standin_fail("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY, 1);
    for (int i = 0; i < 3; i++)
        expect_driver(CUDA_ERROR_OUT_OF_MEMORY, driver.cuMemAlloc(&at[2], 16));
    standin->standin_fail_clear();
    driver_ok(driver.cuMemFree(at[0]));
    driver_ok(driver.cuMemFree(at[1]));
}
END_TEST

START_TEST(any_call_fails)
{
    size_t a;
    size_t b;
    CUstream stream;
    standin->standin_fail_any(2, CUDA_ERROR_UNKNOWN, 0);
    driver_ok(driver.cuMemGetInfo(&a, &b));
    expect_driver(CUDA_ERROR_UNKNOWN, driver.cuStreamCreate(&stream, 0));
    driver_ok(driver.cuMemGetInfo(&a, &b));
}
END_TEST

START_TEST(sticky_errors_stay)
{
    CUdeviceptr at = new_memory(16);
    CUcontext current;
    CUcontext other;
    CUcontext popped;
    standin->standin_fail("cuMemsetD8Async", 1, CUDA_ERROR_ILLEGAL_ADDRESS, 0);
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuMemsetD8Async(at, 0, 16, NULL));
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuMemFree(at));
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuStreamQuery(NULL));
    driver_ok(driver.cuCtxGetCurrent(&current));
    ck_assert(current == context);
    /* Another context of the device goes on. */
    driver_ok(driver.cuCtxCreate(&other, 0, 0));
    CUdeviceptr here = new_memory(16);
    driver_ok(driver.cuMemFree(here));
    driver_ok(driver.cuCtxPopCurrent(&popped));
    driver_ok(driver.cuCtxDestroy(other));
}
END_TEST

START_TEST(a_device_is_lost)
{
    CUdeviceptr at = new_memory(16);
    standin->standin_lose_device(0, CUDA_ERROR_ECC_UNCORRECTABLE);
    expect_driver(CUDA_ERROR_ECC_UNCORRECTABLE, driver.cuMemFree(at));
    expect_driver(CUDA_ERROR_ECC_UNCORRECTABLE, driver.cuCtxSynchronize());
}
END_TEST

START_TEST(work_fails_late)
{
    CUdeviceptr at = new_memory(16);
    standin->standin_configure("PACE", "0");
    driver_ok(driver.cuMemsetD8Async(at, 0, 16, NULL));
    standin->standin_lose_device(0, CUDA_ERROR_LAUNCH_FAILED);
    expect_driver(CUDA_ERROR_LAUNCH_FAILED, driver.cuStreamSynchronize(NULL));
}
END_TEST

static void *allocate_beside(void *user)
{
    driver_ok(driver.cuCtxSetCurrent(context));
    *(CUdeviceptr *)user = new_memory(16);
    return NULL;
}

START_TEST(a_held_call_lets_others_go_on)
{
    pthread_t thread;
    CUdeviceptr at = 0;
    size_t a;
    size_t b;
    ck_assert_int_eq(standin->standin_hold("cuNothing", 1), -1);
    ck_assert_int_eq(standin->standin_hold("cuMemAlloc", 1), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_beside, &at), 0);
    while (standin->standin_held("cuMemAlloc") == 0)
        sched_yield();
    driver_ok(driver.cuMemGetInfo(&a, &b)); /* returns, or the test ends here */
    ck_assert_uint_eq(standin->standin_held("cuMemAlloc"), 1);
    ck_assert_uint_eq(at, 0);
    ck_assert_int_eq(standin->standin_hold("cuMemAlloc", 0), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_ne(at, 0);
    driver_ok(driver.cuMemFree(at));
}
END_TEST

START_TEST(a_delayed_call_does_its_work)
{
    ck_assert_int_eq(standin->standin_delay("cuNothing", 1), -1);
    ck_assert_int_eq(standin->standin_delay("cuMemAlloc", 10), 0);
    CUdeviceptr at = new_memory(16);
    ck_assert_uint_ne(at, 0);
    ck_assert_int_eq(standin->standin_delay("cuMemAlloc", 0), 0);
    driver_ok(driver.cuMemFree(at));
}
END_TEST

/* ---- Drivers that lack something --------------------------------------- */

static uint64_t attribute(CUdevice_attribute which)
{
    int value = -1;
    driver_ok(driver.cuDeviceGetAttribute(&value, which, 0));
    return (uint64_t)value;
}

START_TEST(driver_without_virtual_memory_pools_and_so_on)
{
    CUdeviceptr at;
    void *function;
    CUdriverProcAddressQueryResult found;
    standin = driver_standin();
    standin->standin_configure("LACK", "vmm,pools,managed,cuStreamGetId");
    one_device();
    expect_u64(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 0);
    expect_u64(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), 0);
    expect_u64(attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 0);
    expect_driver(CUDA_ERROR_NOT_SUPPORTED, driver.cuMemAddressReserve(&at, MIB(2), 0, 0, 0));
    expect_driver(CUDA_ERROR_NOT_SUPPORTED, driver.cuMemAllocAsync(&at, 16, NULL));
    expect_driver(CUDA_ERROR_NOT_SUPPORTED,
                  driver.cuMemAllocManaged(&at, 16, CU_MEM_ATTACH_GLOBAL));
    driver_ok(driver.cuGetProcAddress("cuStreamGetId", &function, 12000, 0, &found));
    expect_u64(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    nothing_left();
}
END_TEST

START_TEST(driver_without_descriptors)
{
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;
    standin = driver_standin();
    standin->standin_configure("LACK", "fd");
    one_device();
    expect_u64(attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED), 0);
    expect_driver(CUDA_ERROR_NOT_SUPPORTED, driver.cuMemCreate(&handle, MIB(2), &props, 0));
    nothing_left();
}
END_TEST

START_TEST(old_driver)
{
    int version;
    setenv("CUARENA_STANDIN_VERSION", "11080", 1);
    one_device();
    driver_ok(driver.cuDriverGetVersion(&version));
    expect_u64((uint64_t)version, 11080);
    ck_assert(driver.cuGetProcAddress == NULL);
    nothing_left();
}
END_TEST

START_TEST(no_device)
{
    int count;
    standin = driver_standin();
    driver_open();
    standin->standin_configure("DEVICES", "0");
    expect_driver(CUDA_ERROR_NO_DEVICE, driver.cuInit(0));
    expect_driver(CUDA_ERROR_NOT_INITIALIZED, driver.cuDeviceGetCount(&count));
}
END_TEST

START_TEST(device_with_little_memory)
{
    CUdeviceptr at;
    CUdeviceptr more;
    size_t free_bytes;
    size_t total;
    standin = driver_standin();
    standin->standin_configure("MEMORY", "1M");
    one_device();
    at = new_memory(MIB(1) - 4096);
    expect_driver(CUDA_ERROR_OUT_OF_MEMORY, driver.cuMemAlloc(&more, 8192));
    driver_ok(driver.cuMemGetInfo(&free_bytes, &total));
    expect_u64(free_bytes, 4096);
    expect_u64(total, MIB(1));
    driver_ok(driver.cuMemFree(at));
    nothing_left();
}
END_TEST

/* ---- Two devices ------------------------------------------------------- */

START_TEST(memory_of_another_device_needs_peers)
{
    CUmodule module = NULL;
    CUcontext second;
    CUcontext popped;
    int can;
    CUdeviceptr here = new_memory(64);
    uint64_t bytes = 64;
    driver_ok(driver.cuDeviceCanAccessPeer(&can, 0, 1));
    expect_u64((uint64_t)can, 1);
    second = driver_take_context(1);
    CUdeviceptr there = new_memory(64);
    driver_ok(driver.cuMemcpyPeerAsync(there, second, here, context, 64, NULL));
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(here, 1, 64, NULL));
    expect_report(STANDIN_NO_PEER);
    driver_ok(driver.cuCtxEnablePeerAccess(context, 0));
    expect_driver(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, driver.cuCtxEnablePeerAccess(context, 0));
    CUfunction touch = driver_test_kernel(&module, "touch");
    driver_launch(touch, 1, 32, NULL, (void *[]){&here, &bytes});
    driver_ok(driver.cuCtxSynchronize());
    expect_clean();
    driver_ok(driver.cuCtxDisablePeerAccess(context));
    driver_launch(touch, 1, 32, NULL, (void *[]){&here, &bytes});
    expect_driver(CUDA_ERROR_ILLEGAL_ADDRESS, driver.cuCtxSynchronize());
    expect_report(STANDIN_NO_PEER);
    driver_ok(driver.cuCtxPopCurrent(&popped));
    driver_ok(driver.cuMemFree(here));
}
END_TEST

START_TEST(waits_cross_devices)
{
    for (int ordered = 0; ordered < 2; ordered++) {
        void *pinned;
        driver_ok(driver.cuMemHostAlloc(&pinned, 64, 0));
        CUdeviceptr at = (CUdeviceptr)(uintptr_t)pinned;
        CUstream first = driver_new_stream(CU_STREAM_NON_BLOCKING);
        CUevent event = driver_new_event();
        driver_ok(driver.cuMemsetD8Async(at, 1, 64, first));
        driver_ok(driver.cuEventRecord(event, first));
        driver_take_context(1);
        CUstream second = driver_new_stream(CU_STREAM_NON_BLOCKING);
        if (ordered)
            driver_ok(driver.cuStreamWaitEvent(second, event, 0));
        driver_ok(driver.cuMemsetD8Async(at, 2, 64, second));
        driver_ok(driver.cuStreamSynchronize(second));
        driver_ok(driver.cuStreamDestroy(second));
        driver_drop_context(1);
        driver_ok(driver.cuCtxSynchronize());
        if (!ordered)
            expect_report(STANDIN_MISSING_WAIT);
        expect_clean();
        driver_ok(driver.cuEventDestroy(event));
        driver_ok(driver.cuStreamDestroy(first));
        driver_ok(driver.cuMemFreeHost(pinned));
    }
}
END_TEST

START_TEST(event_of_another_context_is_not_recorded)
{
    CUevent event = driver_new_event();
    driver_take_context(1);
    expect_driver(CUDA_ERROR_INVALID_HANDLE, driver.cuEventRecord(event, NULL));
    driver_drop_context(1);
    driver_ok(driver.cuEventDestroy(event));
}
END_TEST

/* ---- Strict processes -------------------------------------------------- */

static int exit_of_strict_child(bool faulty)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        standin = driver_standin();
        standin->standin_configure("STRICT", "1");
        one_device();
        CUdeviceptr at = new_memory(4096);
        driver_ok(driver.cuMemcpyDtoDAsync(at, at + (faulty ? 8 : 2048), 64, NULL));
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(strict_process_with_reports_fails)
{
    ck_assert_int_eq(exit_of_strict_child(false), 0);
    ck_assert_int_eq(exit_of_strict_child(true), STANDIN_EXIT);
}
END_TEST

static void add_faults(Suite *suite)
{
    TCase *tcase =
        suite_add_list(suite, "reported",
                       TEST_LIST(the_nth_call_fails, any_call_fails, a_held_call_lets_others_go_on,
                                 a_delayed_call_does_its_work));
    tcase_add_checked_fixture(tcase, one_device, nothing_left);
}

int main(void)
{
    Suite *suite = suite_create("standin lacks");
    add_faults(suite);
    TCase *lost = suite_add_list(suite, "lost",
                                 TEST_LIST(sticky_errors_stay, a_device_is_lost, work_fails_late));
    tcase_add_checked_fixture(lost, lost_device, NULL);
    suite_add_list(suite, "lacking",
                   TEST_LIST(driver_without_virtual_memory_pools_and_so_on,
                             driver_without_descriptors, old_driver, no_device,
                             device_with_little_memory, strict_process_with_reports_fails));
    TCase *two =
        suite_add_list(suite, "two devices",
                       TEST_LIST(waits_cross_devices, event_of_another_context_is_not_recorded));
    tcase_add_checked_fixture(two, two_devices, nothing_left);
    TCase *peers = suite_add_list(suite, "peers", TEST_LIST(memory_of_another_device_needs_peers));
    tcase_add_checked_fixture(peers, two_devices, NULL);
    return standin_main(suite);
}
