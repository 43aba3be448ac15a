/*
 * The stand-in's virtual memory and pools: the rules of a real driver, and what is seen of those
 * who break them.
 */
#include "support/expect.h"
#include "support/standin_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRANULARITY MIB(2)

/* ---- Help -------------------------------------------------------------- */

static CUmemAllocationProp device_props(CUmemAllocationHandleType type)
{
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = type};
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return props;
}

static CUmemGenericAllocationHandle new_handle(size_t bytes)
{
    CUmemAllocationProp props = device_props(CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle handle = 0;
    driver_ok(driver.cuMemCreate(&handle, bytes, &props, 0));
    return handle;
}

static CUdeviceptr new_addresses(size_t bytes)
{
    CUdeviceptr at = 0;
    driver_ok(driver.cuMemAddressReserve(&at, bytes, 0, 0, 0));
    return at;
}

static CUresult give_access(CUdeviceptr at, size_t bytes, int device, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
    return driver.cuMemSetAccess(at, bytes, &access, 1);
}

/* A new handle at the address, which its mapping alone keeps. */
static void map_new(CUdeviceptr at, size_t bytes)
{
    CUmemGenericAllocationHandle handle = new_handle(bytes);
    driver_ok(driver.cuMemMap(at, bytes, 0, handle, 0));
    driver_ok(driver.cuMemRelease(handle));
}

static void unmap_and_free(CUdeviceptr at, size_t mapped, size_t reserved)
{
    driver_ok(driver.cuMemUnmap(at, mapped));
    driver_ok(driver.cuMemAddressFree(at, reserved));
}

/* ---- Virtual memory ---------------------------------------------------- */

START_TEST(mappings_hold_bytes)
{
    CUdeviceptr at = new_addresses(3 * GRANULARITY);
    char back[8] = "";
    expect_u64(at % GRANULARITY, 0);
    map_new(at, GRANULARITY);
    map_new(at + GRANULARITY, 2 * GRANULARITY);
    driver_ok(give_access(at, 3 * GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_ok(driver.cuMemcpyHtoD(at + GRANULARITY - 4, "across", 7));
    driver_ok(driver.cuMemcpyDtoH(back, at + GRANULARITY - 4, 7));
    expect_text(back, "across");
    expect_u64(standin->standin_device_used(0), 3 * GRANULARITY);
    unmap_and_free(at, 3 * GRANULARITY, 3 * GRANULARITY);
    expect_u64(standin->standin_device_used(0), 0);
}
END_TEST

START_TEST(new_memory_is_not_zero)
{
    CUdeviceptr at = new_addresses(GRANULARITY);
    unsigned char back[4];
    map_new(at, GRANULARITY);
    driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_ok(driver.cuMemcpyDtoH(back, at, sizeof(back)));
    ck_assert(back[0] != 0);
    unmap_and_free(at, GRANULARITY, GRANULARITY);
}
END_TEST

START_TEST(handle_moves_with_its_bytes)
{
    CUdeviceptr at = new_addresses(2 * GRANULARITY);
    CUmemGenericAllocationHandle handle = new_handle(GRANULARITY);
    CUmemGenericAllocationHandle again = 0;
    char back[8] = "";
    driver_ok(driver.cuMemMap(at, GRANULARITY, 0, handle, 0));
    driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_ok(driver.cuMemcpyHtoD(at, "carried", 8));
    driver_ok(driver.cuMemUnmap(at, GRANULARITY));
    driver_ok(driver.cuMemMap(at + GRANULARITY, GRANULARITY, 0, handle, 0));
    driver_ok(give_access(at + GRANULARITY, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READ));
    driver_ok(driver.cuMemcpyDtoH(back, at + GRANULARITY, 8));
    expect_text(back, "carried");
    driver_ok(
        driver.cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(at + GRANULARITY + 100)));
    expect_u64(again, handle);
    driver_ok(driver.cuMemRelease(again));
    driver_ok(driver.cuMemRelease(handle));
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemRelease(handle));
    driver_ok(driver.cuMemUnmap(at + GRANULARITY, GRANULARITY));
    driver_ok(driver.cuMemAddressFree(at, 2 * GRANULARITY));
}
END_TEST

START_TEST(rules_of_mapping)
{
    CUdeviceptr at = new_addresses(4 * GRANULARITY);
    CUmemGenericAllocationHandle handle = new_handle(2 * GRANULARITY);
    const CUresult bad = CUDA_ERROR_INVALID_VALUE;
    expect_driver(bad, driver.cuMemMap(at, GRANULARITY, 0, handle, 0));
    expect_driver(bad, driver.cuMemMap(at, GRANULARITY, GRANULARITY, handle, 0));
    expect_driver(bad, driver.cuMemMap(at + 4096, 2 * GRANULARITY, 0, handle, 0));
    expect_driver(bad, driver.cuMemMap(at + 3 * GRANULARITY, 2 * GRANULARITY, 0, handle,
                                       0)); /* beyond the end */
    expect_driver(bad, driver.cuMemMap(at, 2 * GRANULARITY, 0, handle + 99, 0));
    driver_ok(driver.cuMemMap(at + GRANULARITY, 2 * GRANULARITY, 0, handle, 0));
    /* Twice: */
    expect_driver(bad, driver.cuMemMap(at, 2 * GRANULARITY, 0, handle, 0));
    expect_driver(bad, driver.cuMemUnmap(at + GRANULARITY, GRANULARITY)); /* half of it */
    expect_driver(bad, driver.cuMemUnmap(at, 3 * GRANULARITY));           /* and a gap */
    expect_driver(bad, give_access(at, 4 * GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    expect_driver(bad, driver.cuMemAddressFree(at, 4 * GRANULARITY)); /* mapped */
    driver_ok(driver.cuMemRelease(handle));
    driver_ok(driver.cuMemUnmap(at + GRANULARITY, 2 * GRANULARITY));
    expect_driver(bad, driver.cuMemAddressFree(at, 2 * GRANULARITY)); /* a part */
    driver_ok(driver.cuMemAddressFree(at, 4 * GRANULARITY));
}
END_TEST

START_TEST(rules_of_handles)
{
    CUmemAllocationProp props = device_props(CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle handle;
    size_t granularity = 0;
    driver_ok(driver.cuMemGetAllocationGranularity(&granularity, &props,
                                                   CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    expect_u64(granularity, GRANULARITY);
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  driver.cuMemCreate(&handle, GRANULARITY + 4096, &props, 0));
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemCreate(&handle, 0, &props, 0));
    props.location.id = 1;
    expect_driver(CUDA_ERROR_INVALID_DEVICE, driver.cuMemCreate(&handle, GRANULARITY, &props, 0));
    props = device_props(CU_MEM_HANDLE_TYPE_FABRIC);
    expect_driver(CUDA_ERROR_NOT_PERMITTED, driver.cuMemCreate(&handle, GRANULARITY, &props, 0));
    props = device_props(CU_MEM_HANDLE_TYPE_NONE);
    expect_driver(CUDA_ERROR_OUT_OF_MEMORY,
                  driver.cuMemCreate(&handle, (size_t)1 << 40, &props, 0));
}
END_TEST

START_TEST(no_access_before_it_is_given)
{
    CUdeviceptr at = new_addresses(GRANULARITY);
    unsigned long long flags = 9;
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(at, 1, 16, NULL));
    expect_report(STANDIN_FOREIGN); /* reserved alone is nothing */
    map_new(at, GRANULARITY);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(at, 1, 16, NULL));
    expect_report(STANDIN_NO_ACCESS);
    driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READ));
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(at, 1, 16, NULL));
    expect_report(STANDIN_NO_ACCESS);
    driver_ok(driver.cuMemGetAccess(&flags, &here, at));
    expect_u64(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
    driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_ok(driver.cuMemsetD8Async(at, 1, 16, NULL));
    driver_ok(driver.cuCtxSynchronize());
    unmap_and_free(at, GRANULARITY, GRANULARITY);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(at, 1, 16, NULL));
    expect_report(STANDIN_FREED);
}
END_TEST

START_TEST(unmapped_in_use)
{
    CUdeviceptr at = new_addresses(GRANULARITY);
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    for (int seed = 0; seed < 8; seed++) {
        char text[8] = {(char)('0' + seed), '\0'};
        standin->standin_configure("SEED", text);
        map_new(at, GRANULARITY);
        driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
        driver_ok(driver.cuMemsetD8Async(at, 1, 16, stream));
        standin->standin_run(1);
        driver_ok(driver.cuMemUnmap(at, GRANULARITY));
        expect_report(STANDIN_FREED_IN_USE);
    }
    driver_ok(driver.cuMemAddressFree(at, GRANULARITY));
    driver_ok(driver.cuStreamDestroy(stream));
}
END_TEST

START_TEST(two_mappings_of_a_handle_are_the_same_bytes)
{
    CUdeviceptr at = new_addresses(2 * GRANULARITY);
    CUmemGenericAllocationHandle handle = new_handle(GRANULARITY);
    char back[8] = "";
    driver_ok(driver.cuMemMap(at, GRANULARITY, 0, handle, 0));
    driver_ok(driver.cuMemMap(at + GRANULARITY, GRANULARITY, 0, handle, 0));
    driver_ok(driver.cuMemRelease(handle));
    driver_ok(give_access(at, 2 * GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_ok(driver.cuMemcpyHtoD(at + 64, "shared", 7));
    driver_ok(driver.cuMemcpyDtoH(back, at + GRANULARITY + 64, 7));
    expect_text(back, "shared");
    driver_ok(driver.cuMemcpyDtoDAsync(at, at + GRANULARITY + 16, 32, NULL));
    expect_report(STANDIN_OVERLAP);
    driver_ok(driver.cuCtxSynchronize());
    unmap_and_free(at, 2 * GRANULARITY, 2 * GRANULARITY);
}
END_TEST

/* 100 GiB, of which nothing but what is touched costs the host anything. */
START_TEST(a_pool_of_100_gib)
{
    const size_t handle_bytes = (size_t)1 << 30;
    CUdeviceptr at = new_addresses(100 * handle_bytes);
    uint32_t back = 0;
    for (size_t i = 0; i < 100; i++)
        map_new(at + i * handle_bytes, handle_bytes);
    driver_ok(give_access(at, 100 * handle_bytes, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    for (size_t i = 0; i < 100; i++)
        driver_ok(driver.cuMemsetD32Async(at + i * handle_bytes + 12345 * 4, (unsigned)i, 1, NULL));
    driver_ok(driver.cuMemcpyDtoH(&back, at + 57 * handle_bytes + 12345 * 4, 4));
    expect_u64(back, 57);
    unmap_and_free(at, 100 * handle_bytes, 100 * handle_bytes);
}
END_TEST

/* ---- Sharing between processes ----------------------------------------- */

static void send_descriptor(int socket, int file)
{
    char byte = 'x';
    char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &file, sizeof(file));
    ck_assert_int_eq((int)sendmsg(socket, &message, 0), 1);
}

static int receive_descriptor(int socket)
{
    char byte;
    char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    int file = -1;
    if (recvmsg(socket, &message, 0) == 1)
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
    return file;
}

/* The other process: maps what it is sent and adds to what stands there. */
static void import_and_write(int socket)
{
    CUmemGenericAllocationHandle handle;
    int file = receive_descriptor(socket);
    one_device();
    driver_ok(driver.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    CUdeviceptr at = new_addresses(GRANULARITY);
    driver_ok(driver.cuMemMap(at, GRANULARITY, 0, handle, 0));
    driver_ok(driver.cuMemRelease(handle));
    driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    char text[16] = "";
    driver_ok(driver.cuMemcpyDtoH(text, at, 6));
    expect_text(text, "hello");
    driver_ok(driver.cuMemcpyHtoD(at + 5, " there", 7));
    unmap_and_free(at, GRANULARITY, GRANULARITY);
    nothing_left();
}

START_TEST(exported_memory_is_shared_by_processes)
{
    CUmemAllocationProp props = device_props(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle handle;
    int ends[2];
    int file;
    int status;
    char text[16] = "";
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t child = fork(); /* before the driver is touched */
    if (child == 0) {
        import_and_write(ends[1]);
        _exit(0);
    }
    one_device();
    driver_ok(driver.cuMemCreate(&handle, GRANULARITY, &props, 0));
    CUdeviceptr at = new_addresses(GRANULARITY);
    driver_ok(driver.cuMemMap(at, GRANULARITY, 0, handle, 0));
    driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_ok(driver.cuMemcpyHtoD(at, "hello", 6));
    driver_ok(driver.cuMemExportToShareableHandle(&file, handle,
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_descriptor(ends[0], file);
    close(file);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    driver_ok(driver.cuMemcpyDtoH(text, at, sizeof(text)));
    expect_text(text, "hello there");
    driver_ok(driver.cuMemRelease(handle));
    unmap_and_free(at, GRANULARITY, GRANULARITY);
    nothing_left();
}
END_TEST

START_TEST(only_what_was_made_for_it_is_exported)
{
    CUmemGenericAllocationHandle handle = new_handle(GRANULARITY);
    CUmemGenericAllocationHandle imported;
    int file = -1;
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  driver.cuMemExportToShareableHandle(&file, handle,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  driver.cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)1,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    driver_ok(driver.cuMemRelease(handle));
}
END_TEST

/* ---- Peers ------------------------------------------------------------- */

START_TEST(access_is_given_to_each_device)
{
    CUdeviceptr at = new_addresses(GRANULARITY);
    map_new(at, GRANULARITY);
    driver_ok(give_access(at, GRANULARITY, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_take_context(1);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(at, 1, 16, NULL));
    expect_report(STANDIN_NO_ACCESS);
    driver_ok(give_access(at, GRANULARITY, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    driver_ok(driver.cuMemsetD8Async(at, 1, 16, NULL));
    driver_ok(driver.cuCtxSynchronize());
    driver_drop_context(1);
    unmap_and_free(at, GRANULARITY, GRANULARITY);
}
END_TEST

/* ---- Pools ------------------------------------------------------------- */

static CUdeviceptr pool_memory(size_t bytes, CUstream stream)
{
    CUdeviceptr at = 0;
    driver_ok(driver.cuMemAllocAsync(&at, bytes, stream));
    return at;
}

static uint64_t pool_number(CUmemPool_attribute which)
{
    CUmemoryPool pool;
    uint64_t number = 0;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    driver_ok(driver.cuMemPoolGetAttribute(pool, which, &number));
    return number;
}

START_TEST(pool_memory_is_reused_in_order)
{
    CUstream a = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr first = pool_memory(1000, a);
    driver_ok(driver.cuMemsetD8Async(first, 1, 1000, a));
    driver_ok(driver.cuMemFreeAsync(first, a));
    CUdeviceptr second = pool_memory(1000, a);
    expect_u64(second, first);
    expect_u64(pool_number(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
    driver_ok(driver.cuMemsetD8Async(second, 2, 1000, a));
    driver_ok(driver.cuMemFreeAsync(second, a));
    driver_ok(driver.cuStreamSynchronize(a));
    expect_u64(pool_number(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    expect_u64(pool_number(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024);
    driver_ok(driver.cuStreamDestroy(a));
}
END_TEST

START_TEST(pool_memory_goes_to_another_stream_with_a_wait)
{
    for (int seed = 0; seed < 9; seed++) {
        char text[8] = {(char)('0' + seed), '\0'};
        CUstream a = driver_new_stream(CU_STREAM_NON_BLOCKING);
        CUstream b = driver_new_stream(CU_STREAM_NON_BLOCKING);
        standin->standin_configure("SEED", text);
        CUdeviceptr first = pool_memory(1000, a);
        driver_ok(driver.cuMemsetD8Async(first, 1, 1000, a));
        driver_ok(driver.cuMemFreeAsync(first, a));
        CUdeviceptr second = pool_memory(1000, b);
        driver_ok(driver.cuMemsetD8Async(second, 2, 1000, b));
        driver_ok(driver.cuMemFreeAsync(second, b));
        driver_ok(driver.cuCtxSynchronize());
        expect_clean();
        driver_ok(driver.cuStreamDestroy(a));
        driver_ok(driver.cuStreamDestroy(b));
    }
}
END_TEST

START_TEST(pool_memory_used_without_a_wait_for_its_allocation)
{
    CUstream a = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUstream b = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr at = pool_memory(64, a);
    standin->standin_run(10); /* else it may not even be there */
    driver_ok(driver.cuMemsetD8Async(at, 1, 64, b));
    driver_ok(driver.cuCtxSynchronize());
    expect_report(STANDIN_MISSING_WAIT);
    driver_ok(driver.cuMemFreeAsync(at, a));
    driver_ok(driver.cuStreamSynchronize(a));
    driver_ok(driver.cuStreamDestroy(a));
    driver_ok(driver.cuStreamDestroy(b));
}
END_TEST

START_TEST(pool_memory_freed_without_a_wait_for_its_use)
{
    CUstream a = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUstream b = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr at = pool_memory(64, a);
    driver_order(a, b);
    driver_ok(driver.cuMemsetD8Async(at, 1, 64, b));
    standin->standin_run(10);
    driver_ok(driver.cuMemFreeAsync(at, a));
    driver_ok(driver.cuCtxSynchronize());
    expect_report(STANDIN_MISSING_WAIT);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemsetD8Async(at, 1, 64, b));
    expect_report(STANDIN_FREED);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuMemFreeAsync(at, a));
    driver_ok(driver.cuStreamDestroy(a));
    driver_ok(driver.cuStreamDestroy(b));
}
END_TEST

START_TEST(pool_keeps_to_its_threshold)
{
    CUmemoryPool pool;
    uint64_t keep = UINT64_MAX;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    driver_ok(driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CUdeviceptr at = pool_memory(4096, NULL);
    driver_ok(driver.cuMemFreeAsync(at, NULL));
    driver_ok(driver.cuStreamSynchronize(NULL));
    expect_u64(pool_number(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4096);
    driver_ok(driver.cuMemPoolTrimTo(pool, 0));
    expect_u64(pool_number(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    expect_u64(standin->standin_device_used(0), 0);
}
END_TEST

START_TEST(own_pool_with_a_limit)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                            .maxSize = 8192};
    CUmemoryPool pool;
    CUmemoryPool current;
    CUdeviceptr at;
    CUdeviceptr more;
    driver_ok(driver.cuMemPoolCreate(&pool, &props));
    driver_ok(driver.cuMemAllocFromPoolAsync(&at, 8192, pool, NULL));
    expect_driver(CUDA_ERROR_OUT_OF_MEMORY, driver.cuMemAllocFromPoolAsync(&more, 512, pool, NULL));
    driver_ok(driver.cuDeviceSetMemPool(0, pool));
    driver_ok(driver.cuDeviceGetMemPool(&current, 0));
    ck_assert(current == pool);
    driver_ok(driver.cuMemFree(at)); /* waits, as it does for all memory */
    driver_ok(driver.cuMemPoolDestroy(pool));
    driver_ok(driver.cuDeviceGetMemPool(&current, 0));
    ck_assert(current != pool);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standin_memory");
    TCase *vmm = suite_add_list(
        suite, "virtual memory",
        TEST_LIST(mappings_hold_bytes, new_memory_is_not_zero, handle_moves_with_its_bytes,
                  rules_of_mapping, rules_of_handles, no_access_before_it_is_given, unmapped_in_use,
                  two_mappings_of_a_handle_are_the_same_bytes, a_pool_of_100_gib,
                  only_what_was_made_for_it_is_exported));
    tcase_add_checked_fixture(vmm, one_device, nothing_left);
    suite_add_list(suite, "two processes", TEST_LIST(exported_memory_is_shared_by_processes));
    TCase *two = suite_add_list(suite, "two devices", TEST_LIST(access_is_given_to_each_device));
    tcase_add_checked_fixture(two, two_devices, nothing_left);
    TCase *pools = suite_add_list(suite, "pools",
                                  TEST_LIST(pool_memory_is_reused_in_order,
                                            pool_memory_goes_to_another_stream_with_a_wait,
                                            pool_memory_used_without_a_wait_for_its_allocation,
                                            pool_memory_freed_without_a_wait_for_its_use,
                                            pool_keeps_to_its_threshold, own_pool_with_a_limit));
    tcase_add_checked_fixture(pools, one_device, nothing_left);
    return standin_main(suite);
}
