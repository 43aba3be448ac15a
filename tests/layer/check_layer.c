/*
 * The layer: what the driver's own calls get from it, and what goes on to the driver. On the
 * stand-in every access that nothing orders is reported, and calls of the driver are counted.
 */
#include "support/expect.h"
#include "through_layer.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static uint64_t calls(const char *entry)
{
    return driver_standin() != NULL ? driver_standin()->standin_calls(entry) : 0;
}

/* ---- Streams ------------------------------------------------------------- */

START_TEST(blocks_come_from_an_arena)
{
    free_on(alloc_on(BYTES, stream), stream);
    uint64_t calls_before = calls("cuMemAllocAsync") + calls("cuMemFreeAsync");
    uint64_t creates = calls("cuMemCreate");
    for (uint32_t i = 0; i < 500; i++) {
        CUdeviceptr at = alloc_on(BYTES, stream);
        expect_u64(at % 512, 0);
        fill(at, i, stream);
        if (i % 50 == 0)
            expect_u64(last_word(at, stream), i);
        free_on(at, stream);
    }
    expect_u64(calls("cuMemAllocAsync") + calls("cuMemFreeAsync"), calls_before);
    expect_u64(calls("cuMemCreate"), creates);
    expect_u64(layer_stats().allocs - before.allocs, 501);
    expect_u64(layer_stats().frees - before.frees, 501);
    expect_u64(layer_stats().driver_allocs, before.driver_allocs);
}
END_TEST

START_TEST(freed_on_another_stream_behind_an_event)
{
    for (uint32_t i = 0; i < 100; i++) {
        CUdeviceptr at = alloc_on(BYTES, stream);
        fill(at, i, stream);
        driver_order(stream, other);
        fill(at, i + 1, other);
        free_on(at, other);
        CUdeviceptr next = alloc_on(BYTES, stream);
        fill(next, i, stream);
        free_on(next, stream);
    }
}
END_TEST

START_TEST(legacy_stream_and_that_of_the_thread)
{
    for (uint32_t i = 0; i < 50; i++) {
        CUdeviceptr at = alloc_on(BYTES, NULL);
        unsigned long long own = 0;
        fill(at, i, NULL);
        driver_ok(layer->cuMemAllocAsync_ptsz(&own, BYTES, NULL));
        fill(own, i, CU_STREAM_PER_THREAD);
        driver_ok(layer->cuMemFreeAsync_ptsz(own, NULL));
        free_on(at, NULL);
    }
    expect_u64(layer_stats().driver_allocs, before.driver_allocs);
}
END_TEST

START_TEST(a_stream_that_is_destroyed_is_forgotten)
{
    for (uint32_t i = 0; i < 200; i++) {
        CUstream brief = driver_new_stream(CU_STREAM_NON_BLOCKING);
        CUdeviceptr at = alloc_on(BYTES, brief);
        fill(at, i, brief);
        free_on(at, brief);
        driver_ok(layer->cuStreamDestroy_v2(brief));
        CUdeviceptr next = alloc_on(BYTES, stream);
        fill(next, i, stream);
        free_on(next, stream);
    }
    expect_u64(layer_stats().driver_allocs, before.driver_allocs);
}
END_TEST

/* An arena knows 126 streams at a time. */
START_TEST(more_streams_than_an_arena_knows)
{
    enum {
        STREAMS = CUARENA_MAX_STREAMS + 10
    };
    CUstream many[STREAMS];
    CUdeviceptr at[STREAMS];
    for (uint32_t i = 0; i < STREAMS; i++) {
        many[i] = driver_new_stream(CU_STREAM_NON_BLOCKING);
        at[i] = alloc_on(BYTES, many[i]);
        fill(at[i], i, many[i]);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        free_on(at[i], many[i]);
        driver_ok(layer->cuStreamDestroy_v2(many[i]));
    }
    ck_assert(layer_stats().refused_allocs > before.refused_allocs);
}
END_TEST

/* ---- Without a stream ---------------------------------------------------- */

START_TEST(free_waits_for_the_work_of_the_context)
{
    for (uint32_t i = 0; i < 50; i++) {
        unsigned long long at = 0;
        driver_ok(layer->cuMemAlloc_v2(&at, BYTES));
        expect_u64(at % 512, 0);
        fill(at, i, stream);
        driver_ok(layer->cuMemFree_v2(at)); /* nobody waited */
        CUdeviceptr next = alloc_on(BYTES, other);
        fill(next, i, other);
        free_on(next, other);
    }
    expect_u64(layer_stats().driver_allocs, before.driver_allocs);
    expect_u64(layer_stats().frees - before.frees, 100);
}
END_TEST

START_TEST(either_kind_is_freed_by_either_call)
{
    unsigned long long at = 0;
    driver_ok(layer->cuMemAlloc_v2(&at, BYTES));
    fill(at, 1, stream);
    free_on(at, stream);
    at = alloc_on(BYTES, stream);
    fill(at, 1, stream);
    driver_ok(layer->cuMemFree_v2(at));
}
END_TEST

/* ---- Errors -------------------------------------------------------------- */

START_TEST(what_is_no_block_is_refused)
{
    CUdeviceptr at = alloc_on(BYTES, stream);
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFreeAsync(at + 512, stream));
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFree_v2(at + 512));
    free_on(at, stream);
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFreeAsync(at, stream));
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFree_v2(at));
    driver_ok(layer->cuMemFree_v2(0));
}
END_TEST

START_TEST(the_driver_answers_what_is_not_served)
{
    unsigned long long at = 0;
    expect_driver(driver.cuMemAllocAsync(&at, 0, stream), layer->cuMemAllocAsync(&at, 0, stream));
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemAlloc_v2(&at, 0));
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemAlloc_v2(NULL, BYTES));
    expect_driver(CUDA_ERROR_OUT_OF_MEMORY, layer->cuMemAlloc_v2(&at, (size_t)1 << 46));
    expect_driver(CUDA_ERROR_OUT_OF_MEMORY, layer->cuMemAllocAsync(&at, (size_t)1 << 46, stream));
    ck_assert(layer_stats().refused_allocs >= before.refused_allocs + 2);
}
END_TEST

START_TEST(what_the_driver_gave_is_freed_by_it)
{
    CUdeviceptr at = 0;
    driver_ok(driver.cuMemAlloc(&at, BYTES));
    driver_ok(layer->cuMemFree_v2(at));
    driver_ok(driver.cuMemAllocAsync(&at, BYTES, stream));
    free_on(at, stream);
    expect_u64(layer_stats().driver_frees - before.driver_frees, 2);
}
END_TEST

START_TEST(without_a_context_the_driver_says_so)
{
    unsigned long long at = 0;
    CUcontext popped = NULL;
    driver_ok(driver.cuCtxPopCurrent(&popped));
    expect_driver(CUDA_ERROR_INVALID_CONTEXT, layer->cuMemAlloc_v2(&at, BYTES));
    expect_driver(CUDA_ERROR_INVALID_CONTEXT, layer->cuMemAllocAsync(&at, BYTES, NULL));
    driver_ok(driver.cuCtxPushCurrent(popped));
}
END_TEST

/* ---- Contexts and pools -------------------------------------------------- */

START_TEST(a_context_of_the_programs_own_is_the_drivers)
{
    CUcontext own = NULL;
    unsigned long long at = 0;
    driver_ok(driver.cuCtxCreate(&own, 0, 0));
    driver_ok(layer->cuMemAlloc_v2(&at, BYTES));
    driver_ok(layer->cuMemFree_v2(at));
    CUstream its = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_ok(driver.cuCtxSetCurrent(context));
    at = alloc_on(BYTES, its); /* of a stream of that context */
    free_on(at, its);
    expect_u64(layer_stats().allocs, before.allocs);
    driver_ok(driver.cuCtxSetCurrent(own));
    driver_ok(layer->cuStreamDestroy_v2(its));
    driver_ok(layer->cuCtxDestroy_v2(own));
    driver_ok(driver.cuCtxSetCurrent(context));
}
END_TEST

static CUmemoryPool new_pool(void)
{
    CUmemoryPool pool = NULL;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    driver_ok(driver.cuMemPoolCreate(&pool, &props));
    return pool;
}

START_TEST(only_the_default_pool_is_served)
{
    CUmemoryPool own = NULL;
    CUmemoryPool pool = NULL;
    unsigned long long at = 0;
    own = new_pool();
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    free_on(alloc_on(BYTES, stream), stream);
    cuarena_layer_stats_t first = layer_stats();
    driver_ok(layer->cuMemAllocFromPoolAsync(&at, BYTES, (void *)pool, stream));
    free_on(at, stream);
    expect_u64(layer_stats().allocs - first.allocs, 1);
    driver_ok(layer->cuMemAllocFromPoolAsync(&at, BYTES, (void *)own, stream));
    free_on(at, stream);
    driver_ok(layer->cuDeviceSetMemPool(0, (void *)own));
    free_on(alloc_on(BYTES, stream), stream);
    driver_ok(layer->cuDeviceSetMemPool(0, (void *)pool));
    expect_u64(layer_stats().allocs - first.allocs, 1);
    expect_u64(layer_stats().driver_allocs - first.driver_allocs, 2);
    free_on(alloc_on(BYTES, stream), stream);
    expect_u64(layer_stats().allocs - first.allocs, 2);
    driver_ok(driver.cuStreamSynchronize(stream));
    driver_ok(driver.cuMemPoolDestroy(own));
}
END_TEST

static uint64_t pool_has(CUmemoryPool pool, CUmemPool_attribute which)
{
    uint64_t bytes = 0;
    driver_ok(layer->cuMemPoolGetAttribute((void *)pool, (int)which, &bytes));
    return bytes;
}

START_TEST(figures_of_the_pool_count_the_arena)
{
    CUmemoryPool pool = NULL;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    CUdeviceptr at = alloc_on(BYTES, stream);
    uint64_t used = pool_has(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    ck_assert(used >= BYTES);
    ck_assert(pool_has(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= used);
    free_on(at, stream);
    expect_u64(used - pool_has(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), BYTES);
}
END_TEST

/* The driver counts what it could not have. */
START_TEST(what_nobody_could_have_was_never_reserved)
{
    CUmemoryPool pool = NULL;
    unsigned long long at = 0;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    free_on(alloc_on(BYTES, stream), stream);
    uint64_t highest = pool_has(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
    expect_driver(CUDA_ERROR_OUT_OF_MEMORY, layer->cuMemAllocAsync(&at, (size_t)1 << 46, stream));
    expect_u64(pool_has(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), highest);
}
END_TEST

START_TEST(other_attributes_of_the_pool)
{
    CUmemoryPool pool = NULL;
    uint64_t none = 0;
    int reuse = 0;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    driver_ok(layer->cuMemFreeAsync(alloc_on(MIB(4), stream), stream));
    ck_assert(pool_has(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= MIB(4));
    ck_assert(pool_has(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) >= MIB(4));
    driver_ok(layer->cuMemPoolSetAttribute((void *)pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
    ck_assert(pool_has(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) < MIB(4));
    driver_ok(layer->cuMemPoolGetAttribute((void *)pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                           &reuse));
    expect_u64((uint64_t)reuse, 1);
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemPoolGetAttribute((void *)pool, 99, &reuse));
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemPoolSetAttribute((void *)pool, 99, &reuse));
    ck_assert(layer->cuDeviceSetMemPool(99, (void *)pool) != CUDA_SUCCESS);
    ck_assert(layer->cuDeviceSetMemPool(-1, (void *)pool) != CUDA_SUCCESS);
    ck_assert(layer->cuDevicePrimaryCtxReset_v2(-1) != CUDA_SUCCESS);
    ck_assert(layer->cuDevicePrimaryCtxReset_v2(99) != CUDA_SUCCESS);
}
END_TEST

/* The driver says what it thinks of each, and its own figures are all that there is. */
START_TEST(a_pool_of_the_programs_own_has_figures_of_its_own)
{
    CUmemoryPool pool = NULL, own = NULL;
    uint64_t bytes = 1;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    own = new_pool();
    CUdeviceptr at = alloc_on(MIB(4), stream);
    expect_u64(pool_has(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    bytes = 0;
    driver_ok(layer->cuMemPoolSetAttribute((void *)own, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &bytes));
    driver_ok(layer->cuMemPoolTrimTo((void *)own, 0));
    ck_assert(pool_has(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= MIB(4));
    free_on(at, stream);
    driver_ok(driver.cuMemPoolDestroy(own));
}
END_TEST

START_TEST(trim_and_threshold_give_back_what_is_free)
{
    CUmemoryPool pool = NULL;
    uint64_t none = 0;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    free_on(alloc_on(MIB(8), stream), stream);
    driver_ok(driver.cuStreamSynchronize(stream));
    ck_assert(layer_arena_stats().reserved_bytes >= MIB(8));
    driver_ok(layer->cuMemPoolTrimTo((void *)pool, 0));
    expect_u64(layer_arena_stats().reserved_bytes, 0);
    free_on(alloc_on(MIB(8), stream), stream);
    driver_ok(driver.cuStreamSynchronize(stream));
    driver_ok(layer->cuMemPoolSetAttribute((void *)pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
    expect_u64(layer_arena_stats().reserved_bytes, 0);
}
END_TEST

START_TEST(free_bytes_of_the_arena_are_free_memory)
{
    size_t free_before = 0, free_now = 0, total = 0;
    free_on(alloc_on(MIB(16), stream), stream);
    driver_ok(driver.cuStreamSynchronize(stream));
    driver_ok(layer->cuMemGetInfo_v2(&free_before, &total));
    CUdeviceptr at = alloc_on(MIB(16), stream);
    driver_ok(layer->cuMemGetInfo_v2(&free_now, &total));
    expect_u64(free_before - free_now, MIB(16));
    free_on(at, stream);
}
END_TEST

/* ---- Pointers ------------------------------------------------------------ */

START_TEST(pointers_are_those_of_blocks)
{
    CUdeviceptr at = alloc_on(3000, stream);
    CUdeviceptr next = alloc_on(3000, stream);
    unsigned long long base = 0;
    size_t bytes = 0;
    uint64_t start = 0, size = 0, id = 0, its = 0;
    CUcontext owner = NULL;
    int which[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&start, &size};
    driver_ok(layer->cuMemGetAddressRange_v2(&base, &bytes, at + 100));
    expect_u64(base, at);
    expect_u64(bytes, 3000);
    driver_ok(layer->cuPointerGetAttributes(2, which, values, at + 2999));
    expect_u64(start, at);
    expect_u64(size, 3000);
    driver_ok(layer->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
    driver_ok(layer->cuPointerGetAttribute(&its, CU_POINTER_ATTRIBUTE_BUFFER_ID, next));
    ck_assert(id != its);
    driver_ok(layer->cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    ck_assert_ptr_eq(owner, context);
    CUmemoryPool pool = NULL, its_pool = NULL;
    driver_ok(driver.cuDeviceGetDefaultMemPool(&pool, 0));
    driver_ok(layer->cuPointerGetAttribute(&its_pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
    ck_assert_ptr_eq((void *)its_pool, (void *)pool);
    unsigned type = 0;
    driver_ok(layer->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    expect_u64(type, CU_MEMORYTYPE_DEVICE);
    free_on(at, stream);
    free_on(next, stream);
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  layer->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
}
END_TEST

/* The driver, asked for several attributes, answers for what is no memory too, as address 1 is;
 * real ones leave some of the answers as they were. */
START_TEST(a_free_address_has_no_attributes)
{
    CUdeviceptr at = alloc_on(3000, stream);
    uint64_t freed[] = {77, 77, 77}, nowhere[] = {77, 77, 77};
    int which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&freed[0], &freed[1], &freed[2]};
    free_on(at, stream);
    driver_ok(layer->cuPointerGetAttributes(3, which, values, at));
    for (int i = 0; i < 3; i++)
        values[i] = &nowhere[i];
    driver_ok(layer->cuPointerGetAttributes(3, which, values, 1));
    for (int i = 0; i < 3; i++)
        expect_u64(freed[i], nowhere[i]);
    expect_u64((uint32_t)freed[0], 0);
}
END_TEST

START_TEST(a_pointer_into_one_of_many_blocks)
{
    enum {
        MANY = 2000
    };
    static CUdeviceptr at[MANY];
    unsigned long long base = 0;
    for (size_t i = 0; i < MANY; i++)
        at[i] = alloc_on(BYTES, stream);
    for (size_t i = 0; i < MANY; i += 100) {
        driver_ok(layer->cuMemGetAddressRange_v2(&base, NULL, at[i] + BYTES - 1));
        expect_u64(base, at[i]);
    }
    for (size_t i = 0; i < MANY; i++)
        free_on(at[i], stream);
    expect_driver(CUDA_ERROR_NOT_FOUND, layer->cuMemGetAddressRange_v2(&base, NULL, at[0] + 1));
}
END_TEST

START_TEST(blocks_have_no_handle_for_other_processes)
{
    unsigned long long at = 0;
    char handle[64];
    driver_ok(layer->cuMemAlloc_v2(&at, BYTES));
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuIpcGetMemHandle(handle, at));
    unsigned long long whole = 0;
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  layer->cuMemRetainAllocationHandle(&whole, (void *)(uintptr_t)at));
    driver_ok(layer->cuMemFree_v2(at));
}
END_TEST

/* ---- Finding ------------------------------------------------------------- */

static void *found(const char *name, int version, uint64_t flags)
{
    void *function = NULL;
    int outcome = -1;
    driver_ok(layer->cuGetProcAddress_v2(name, &function, version, flags, &outcome));
    return function;
}

#define expect_found(name, version, flags, member)                                                 \
    do {                                                                                           \
        void *want;                                                                                \
        memcpy(&want, &layer->member, sizeof want);                                                \
        ck_assert_ptr_eq(found(name, version, flags), want);                                       \
    } while (0)

START_TEST(programs_that_ask_for_addresses_get_the_layers)
{
    expect_found("cuMemAlloc", 12000, 0, cuMemAlloc_v2);
    expect_found("cuMemAllocAsync", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, cuMemAllocAsync);
    expect_found("cuMemFreeAsync", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                 cuMemFreeAsync_ptsz);
    expect_found("cuGetProcAddress", 11030, 0, cuGetProcAddress);
    expect_found("cuGetProcAddress", 12000, 0, cuGetProcAddress_v2);
    ck_assert(found("cuMemcpyAsync", 12000, 0) != NULL);
    ck_assert_ptr_null(found("cuMemFalloc", 12000, 0));
}
END_TEST

/* What such calls are to a real driver nobody says. */
START_TEST(addresses_that_cannot_be_asked_for)
{
    void *function = NULL;
    int outcome = -1;
    if (!driver_is_standin_for("calls without a name or a place"))
        return;
    ck_assert(layer->cuGetProcAddress_v2(NULL, &function, 12000, 0, &outcome) != CUDA_SUCCESS);
    ck_assert(layer->cuGetProcAddress_v2("cuMemAlloc", NULL, 12000, 0, &outcome) != CUDA_SUCCESS);
    ck_assert(layer->cuGetProcAddress(NULL, &function, 12000, 0) != CUDA_SUCCESS);
    ck_assert_ptr_null(function);
}
END_TEST

/* ---- Memory runs out ----------------------------------------------------- */

START_TEST(the_driver_gets_what_the_arena_has_free)
{
    size_t free_bytes = 0, total = 0;
    unsigned long long at = 0;
    CUcontext own = NULL;
    driver_ok(layer->cuMemGetInfo_v2(&free_bytes, &total));
    size_t most = free_bytes / 4 * 3;
    free_on(alloc_on(most, stream), stream);
    ck_assert(layer_arena_stats().reserved_bytes >= most);
    driver_ok(driver.cuCtxCreate(&own, 0, 0));
    driver_ok(layer->cuMemAlloc_v2(&at, free_bytes / 2)); /* the driver's, and it is not free yet */
    driver_ok(layer->cuMemFree_v2(at));
    driver_ok(layer->cuCtxDestroy_v2(own));
    driver_ok(driver.cuCtxSetCurrent(context));
}
END_TEST

START_TEST(pitched_memory_gets_what_the_arena_has_free)
{
    size_t free_bytes = 0, total = 0, pitch = 0;
    unsigned long long at = 0;
    uint64_t driver_allocs = layer_stats().driver_allocs;
    driver_ok(layer->cuMemGetInfo_v2(&free_bytes, &total));
    free_on(alloc_on(free_bytes / 4 * 3, stream), stream);
    driver_ok(layer->cuMemAllocPitch_v2(&at, &pitch, KIB(64), free_bytes / 2 / KIB(64), 4));
    expect_u64(pitch, KIB(64));
    driver_ok(layer->cuMemFree_v2(at));
    driver_ok(layer->cuMemAllocManaged(&at, BYTES, CU_MEM_ATTACH_GLOBAL));
    driver_ok(layer->cuMemFree_v2(at));
    expect_u64(layer_stats().driver_allocs, driver_allocs + 2);
}
END_TEST

/* ---- Threads ------------------------------------------------------------- */

static void *run_thread(void *unused)
{
    (void)unused;
    driver_ok(driver.cuCtxPushCurrent(context));
    CUstream own = driver_new_stream(CU_STREAM_NON_BLOCKING);
    for (uint32_t i = 0; i < 200; i++) {
        CUdeviceptr at = alloc_on(BYTES, own);
        CUdeviceptr second = alloc_on(KIB(4) * (i % 7 + 1), own);
        fill(at, i, own);
        free_on(second, own);
        if (i % 10 == 0)
            expect_u64(last_word(at, own), i);
        free_on(at, own);
    }
    driver_ok(layer->cuStreamDestroy_v2(own));
    driver_ok(driver.cuCtxPopCurrent(&(CUcontext){NULL}));
    return NULL;
}

START_TEST(threads_with_streams_of_their_own)
{
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_thread, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    expect_u64(layer_stats().driver_allocs, before.driver_allocs);
}
END_TEST

/* ---- Devices and their ends ---------------------------------------------- */

static uint64_t allocs_of(int device)
{
    cuarena_layer_stats_t now;
    cuarena_layer_stats_init(&now);
    expect_ok(cuarena_layer_stats(device, &now));
    return now.allocs;
}

/* Each device has an arena, and the other device reaches its blocks. */
START_TEST(two_devices)
{
    CUdeviceptr here = alloc_on(BYTES, stream);
    uint64_t served = allocs_of(1);
    fill(here, 5, stream);
    CUcontext second = driver_take_context(1);
    CUstream its = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr there = alloc_on(BYTES, its);
    driver_ok(driver.cuStreamSynchronize(stream));
    driver_ok(driver.cuMemcpyPeerAsync(there, second, here, context, BYTES, its));
    expect_u64(last_word(there, its), 5);
    free_on(here, its); /* on a stream of the other device */
    free_on(there, its);
    there = alloc_on(BYTES, NULL);
    fill(there, 6, NULL);
    driver_ok(driver.cuCtxSetCurrent(context));
    free_on(there, NULL); /* that is the other device's legacy stream */
    driver_ok(driver.cuCtxSetCurrent(second));
    driver_ok(driver.cuCtxSynchronize());
    expect_u64(allocs_of(1) - served, 2);
    driver_ok(layer->cuStreamDestroy_v2(its));
    driver_drop_context(1);
}
END_TEST

/* What lived in the context is gone, and the next allocation has a new arena. */
START_TEST(a_primary_context_that_is_reset)
{
    (void)alloc_on(BYTES, stream);
    begin_capture(stream);
    (void)alloc_on(BYTES, stream);
    CUgraphExec exec = end_capture(stream); /* it outlives the arena of its block */
    driver_ok(driver.cuCtxSynchronize());
    driver_ok(layer->cuDevicePrimaryCtxReset_v2(0));
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_ok(driver.cuDevicePrimaryCtxRetain(&context, 0));
    driver_ok(driver.cuCtxSetCurrent(context));
    stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    other = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr at = alloc_on(BYTES, stream);
    fill(at, 8, stream);
    expect_u64(last_word(at, stream), 8);
    free_on(at, stream);
}
END_TEST

static void set_up_two(void)
{
    if (driver_is_standin_for("two devices"))
        (void)driver_standin()->standin_configure("DEVICES", "2");
    layer_begin();
}

static TCase *add(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = suite_add_list(suite, name, tests);
    tcase_add_checked_fixture(tcase, layer_begin, layer_end);
    return tcase;
}

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("layer");
    if (kind == DRIVER_NONE)
        return driver_result(kind, 0);
    /* First, since the stand-in is told before it begins. */
    if (driver_has_two_devices_for("two devices")) {
        TCase *two = suite_add_list(suite, "two devices", TEST_LIST(two_devices));
        tcase_add_checked_fixture(two, set_up_two, layer_end);
    }
    add(suite, "streams",
        TEST_LIST(blocks_come_from_an_arena, freed_on_another_stream_behind_an_event,
                  legacy_stream_and_that_of_the_thread, a_stream_that_is_destroyed_is_forgotten,
                  more_streams_than_an_arena_knows, threads_with_streams_of_their_own));
    add(suite, "no stream",
        TEST_LIST(free_waits_for_the_work_of_the_context, either_kind_is_freed_by_either_call));
    add(suite, "errors",
        TEST_LIST(what_is_no_block_is_refused, the_driver_answers_what_is_not_served,
                  what_the_driver_gave_is_freed_by_it, without_a_context_the_driver_says_so));
    add(suite, "contexts and pools",
        TEST_LIST(a_context_of_the_programs_own_is_the_drivers, only_the_default_pool_is_served,
                  figures_of_the_pool_count_the_arena, what_nobody_could_have_was_never_reserved,
                  other_attributes_of_the_pool, a_pool_of_the_programs_own_has_figures_of_its_own,
                  trim_and_threshold_give_back_what_is_free));
    add(suite, "pointers",
        TEST_LIST(pointers_are_those_of_blocks, a_free_address_has_no_attributes,
                  a_pointer_into_one_of_many_blocks, blocks_have_no_handle_for_other_processes));
    add(suite, "others",
        TEST_LIST(programs_that_ask_for_addresses_get_the_layers,
                  addresses_that_cannot_be_asked_for));
    tcase_set_tags(add(suite, "free memory of the device",
                       TEST_LIST(free_bytes_of_the_arena_are_free_memory,
                                 the_driver_gets_what_the_arena_has_free,
                                 pitched_memory_gets_what_the_arena_has_free)),
                   "alone");
    if (driver_is_standin_for("a reset"))
        add(suite, "reset", TEST_LIST(a_primary_context_that_is_reset));
    return driver_result(kind, suite_main(suite));
}
