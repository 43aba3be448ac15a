#include "support/cuda_kinds.h"

#include "support/cuda_test.h"

/* ---- Reaching device memory --------------------------------------------- */

/* The driver, with a context that is current. */
static const cuda_test_t *driver(void)
{
    if (cuda_test_current() == NULL)
        (void)cuda_test_use_device(0);
    return cuda_test();
}

/* The copy returns when the driver has taken the bytes over, which may be before they have
 * arrived. */
static void write_device(void *to, const void *from, uint64_t bytes)
{
    if (bytes == 0)
        return;
    expect_cu(driver()->cuMemcpyHtoD(cu_pointer(to), from, bytes));
    expect_cu(cuda_test()->cuStreamSynchronize(NULL));
}

static void read_device(void *to, const void *from, uint64_t bytes)
{
    if (bytes != 0)
        expect_cu(driver()->cuMemcpyDtoH(to, cu_pointer(from), bytes));
}

static bool is_mapped(const void *address)
{
    int mapped = 0;
    cuai_cu_result_t result = driver()->cuPointerGetAttribute(
        &mapped, CUAI_CU_POINTER_ATTRIBUTE_MAPPED, cu_pointer(address));
    return result == CUAI_CUDA_SUCCESS && mapped != 0;
}

static void *alloc_bytes(int32_t bytes_kind, uint64_t bytes)
{
    const cuda_test_t *cuda = driver();
    cuai_cu_pointer_t pointer = 0;
    void *host = NULL;
    switch (bytes_kind) {
    case CUARENA_BYTES_DEVICE:
        expect_cu(cuda->cuMemAlloc(&pointer, bytes));
        break;
    case CUARENA_BYTES_MANAGED:
        expect_cu(cuda->cuMemAllocManaged(&pointer, bytes, CUAI_CU_MEM_ATTACH_GLOBAL));
        break;
    default:
        expect_cu(cuda->cuMemHostAlloc(&host, bytes, CUAI_CU_MEMHOSTALLOC_DEVICEMAP));
        return host;
    }
    return (void *)(uintptr_t)pointer;
}

static void free_bytes(int32_t bytes_kind, void *bytes)
{
    if (bytes_kind == CUARENA_BYTES_PINNED)
        expect_cu(driver()->cuMemFreeHost(bytes));
    else
        expect_cu(driver()->cuMemFree(cu_pointer(bytes)));
}

void cuda_kinds_ready(void)
{
    static const arena_reach_t reach = {write_device, read_device, is_mapped, alloc_bytes,
                                        free_bytes};
    arena_reach = &reach;
}

int cuda_kinds_main(Suite *suite)
{
    driver_kind_t kind = driver_kind();
    cuda_kinds_ready();
    if (kind == DRIVER_NONE)
        return driver_result(kind, 0);
    return driver_result(kind, suite_main(suite));
}
