#include "support/cuda_kinds.h"

#include "support/cuda_test.h"

#define WHOLE (KIND_READABLE | KIND_DEDICATES | KIND_GIVES_WHOLE)
#define DEVICE CUARENA_MEMORY_DEVICE
#define POOL CUARENA_PRESET_POOL
#define GROW CUARENA_PRESET_GROW
#define BFC CUARENA_PRESET_BFC

const arena_kind_t cuda_kinds[CUDA_KIND_COUNT] = {
    [CUDA_POOL_VMM] = {"pool-vmm", POOL, DEVICE,
                       KIND_READABLE | KIND_DEVICE | KIND_GIVES_BACK | KIND_RESIZES |
                           KIND_DEDICATES,
                       CUARENA_BACKING_VMM, 0},
    [CUDA_POOL_MALLOC] = {"pool-malloc", POOL, DEVICE, WHOLE | KIND_DEVICE, CUARENA_BACKING_MALLOC,
                          0},
    [CUDA_POOL_ASYNC] = {"pool-async", POOL, DEVICE, WHOLE | KIND_DEVICE, CUARENA_BACKING_ASYNC, 0},
    [CUDA_POOL_MANAGED] = {"pool-managed", POOL, CUARENA_MEMORY_MANAGED, WHOLE, 0, 0},
    [CUDA_POOL_PINNED] = {"pool-pinned", POOL, CUARENA_MEMORY_PINNED, WHOLE, 0, 0},
    [CUDA_POOL_BYTES] = {"pool-bytes", POOL, CUARENA_MEMORY_BYTES, KIND_READABLE | KIND_DEVICE, 0,
                         CUARENA_BYTES_DEVICE},
    [CUDA_POOL_MANAGED_BYTES] = {"pool-managed-bytes", POOL, CUARENA_MEMORY_BYTES, KIND_READABLE, 0,
                                 CUARENA_BYTES_MANAGED},
    [CUDA_POOL_PINNED_BYTES] = {"pool-pinned-bytes", POOL, CUARENA_MEMORY_BYTES, KIND_READABLE, 0,
                                CUARENA_BYTES_PINNED},
    [CUDA_GROW_VMM] = {"grow-vmm", GROW, DEVICE,
                       KIND_READABLE | KIND_DEVICE | KIND_GIVES_BACK | KIND_GROWS | KIND_DEDICATES,
                       CUARENA_BACKING_VMM, 0},
    [CUDA_GROW_MALLOC] = {"grow-malloc", GROW, DEVICE, WHOLE | KIND_DEVICE | KIND_GROWS,
                          CUARENA_BACKING_MALLOC, 0},
    [CUDA_GROW_ASYNC] = {"grow-async", GROW, DEVICE, WHOLE | KIND_DEVICE | KIND_GROWS,
                         CUARENA_BACKING_ASYNC, 0},
    [CUDA_GROW_MANAGED] = {"grow-managed", GROW, CUARENA_MEMORY_MANAGED, WHOLE | KIND_GROWS, 0, 0},
    [CUDA_GROW_PINNED] = {"grow-pinned", GROW, CUARENA_MEMORY_PINNED, WHOLE | KIND_GROWS, 0, 0},
    [CUDA_BFC_VMM] = {"bfc-vmm", BFC, DEVICE,
                      KIND_READABLE | KIND_DEVICE | KIND_GIVES_BACK | KIND_GROWS | KIND_DEDICATES,
                      CUARENA_BACKING_VMM, 0},
    [CUDA_BFC_MALLOC] = {"bfc-malloc", BFC, DEVICE, WHOLE | KIND_DEVICE | KIND_GROWS,
                         CUARENA_BACKING_MALLOC, 0},
    [CUDA_BFC_ASYNC] = {"bfc-async", BFC, DEVICE, WHOLE | KIND_DEVICE | KIND_GROWS,
                        CUARENA_BACKING_ASYNC, 0},
    [CUDA_BFC_MANAGED] = {"bfc-managed", BFC, CUARENA_MEMORY_MANAGED, WHOLE | KIND_GROWS, 0, 0},
    [CUDA_BFC_PINNED] = {"bfc-pinned", BFC, CUARENA_MEMORY_PINNED, WHOLE | KIND_GROWS, 0, 0},
    [CUDA_BFC_EXACT_VMM] = {"bfc-exact-vmm", BFC, DEVICE,
                            KIND_READABLE | KIND_DEVICE | KIND_GIVES_BACK | KIND_GROWS |
                                KIND_DEDICATES | KIND_EXACT,
                            CUARENA_BACKING_VMM, 0},
    [CUDA_BFC_EXACT_MALLOC] = {"bfc-exact-malloc", BFC, DEVICE,
                               WHOLE | KIND_DEVICE | KIND_GROWS | KIND_EXACT,
                               CUARENA_BACKING_MALLOC, 0},
    [CUDA_BFC_EXACT_ASYNC] = {"bfc-exact-async", BFC, DEVICE,
                              WHOLE | KIND_DEVICE | KIND_GROWS | KIND_EXACT, CUARENA_BACKING_ASYNC,
                              0},
    [CUDA_BFC_EXACT_MANAGED] = {"bfc-exact-managed", BFC, CUARENA_MEMORY_MANAGED,
                                WHOLE | KIND_GROWS | KIND_EXACT, 0, 0},
    [CUDA_BFC_EXACT_PINNED] = {"bfc-exact-pinned", BFC, CUARENA_MEMORY_PINNED,
                               WHOLE | KIND_GROWS | KIND_EXACT, 0, 0},
};

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

static void *take_bytes(int32_t bytes_kind, uint64_t bytes)
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

static void give_bytes(int32_t bytes_kind, void *bytes)
{
    if (bytes_kind == CUARENA_BYTES_PINNED)
        expect_cu(driver()->cuMemFreeHost(bytes));
    else
        expect_cu(driver()->cuMemFree(cu_pointer(bytes)));
}

void cuda_kinds_ready(void)
{
    static const arena_reach_t reach = {write_device, read_device, take_bytes, give_bytes};
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
