#include "support/cuda_work.h"

#include "support/cuda_test.h"
#include "support/test_kernels_ptx.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Not ordered by the legacy stream, which would hide a missing wait. */
#define NON_BLOCKING 1u
#define NO_TIMING 2u

typedef struct work {
    cuai_cu_stream_t streams[FIXTURE_STREAMS];
    cuai_cu_module_t module;
    cuai_cu_function_t fill;
    cuai_cu_function_t check;
    cuai_cu_function_t spin;
    unsigned *flag;          /* what held streams wait for */
    cuai_cu_pointer_t wrong; /* a count of each stream's kernels */
} work_t;

static _Atomic uint64_t wrong_on_host;

/* ---- The process's streams --------------------------------------------- */

static void open_work(work_t *work)
{
    const cuda_test_t *cuda = cuda_test();
    for (int i = 0; i < FIXTURE_STREAMS; i++)
        expect_cu(cuda->cuStreamCreate(&work->streams[i], NON_BLOCKING));
    expect_cu(cuda->cuModuleLoadDataEx(&work->module, test_kernels_ptx, 0, NULL, NULL));
    expect_cu(cuda->cuModuleGetFunction(&work->fill, work->module, "fill"));
    expect_cu(cuda->cuModuleGetFunction(&work->check, work->module, "check"));
    expect_cu(cuda->cuModuleGetFunction(&work->spin, work->module, "spin"));
    expect_cu(cuda->cuMemHostAlloc((void **)&work->flag, sizeof *work->flag,
                                   CUAI_CU_MEMHOSTALLOC_DEVICEMAP));
    expect_cu(cuda->cuMemAlloc(&work->wrong, FIXTURE_STREAMS * sizeof(uint64_t)));
    expect_cu(cuda->cuMemsetD8(work->wrong, 0, FIXTURE_STREAMS * sizeof(uint64_t)));
    expect_cu(cuda->cuCtxSynchronize());
}

static const work_t *the_work(void)
{
    static work_t work;
    if (cuda_test_current() == NULL)
        (void)cuda_test_use_device(0);
    if (work.module == NULL)
        open_work(&work);
    return &work;
}

static cuarena_stream_t stream(uint32_t number)
{
    return (cuarena_stream_t)the_work()->streams[number];
}

static void order(uint32_t earlier, uint32_t later)
{
    const cuda_test_t *cuda = cuda_test();
    const work_t *work = the_work();
    cuai_cu_event_t event;
    expect_cu(cuda->cuEventCreate(&event, NO_TIMING));
    expect_cu(cuda->cuEventRecord(event, work->streams[earlier]));
    expect_cu(cuda->cuStreamWaitEvent(work->streams[later], event, 0));
    expect_cu(cuda->cuEventDestroy(event));
}

/* ---- By the device ----------------------------------------------------- */

static void launch(cuai_cu_function_t function, uint32_t number, const void *address,
                   uint64_t bytes, uint64_t seed)
{
    const work_t *work = the_work();
    uint64_t at = (uint64_t)(uintptr_t)address;
    uint64_t first = 0;
    uint64_t wrong = work->wrong + number * sizeof(uint64_t);
    void *params[] = {&at, &bytes, &seed, &first, &wrong};
    expect_cu(cuda_test()->cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, work->streams[number],
                                          params, NULL));
}

static void set_flag(unsigned value)
{
    __atomic_store_n(the_work()->flag, value, __ATOMIC_RELEASE);
}

static void hold(uint32_t number)
{
    const work_t *work = the_work();
    uint64_t flag = (uint64_t)(uintptr_t)work->flag;
    uint64_t cycles = 0;
    void *params[] = {&flag, &cycles};
    set_flag(0);
    expect_cu(cuda_test()->cuLaunchKernel(work->spin, 1, 1, 1, 1, 1, 1, 0, work->streams[number],
                                          params, NULL));
}

static void let_go(void)
{
    set_flag(1);
}

static uint64_t wrong_on_device(void)
{
    uint64_t wrong[FIXTURE_STREAMS];
    uint64_t sum = 0;
    const work_t *work = the_work();
    expect_cu(cuda_test()->cuMemcpyDtoH(wrong, work->wrong, sizeof wrong));
    for (int i = 0; i < FIXTURE_STREAMS; i++)
        sum += wrong[i];
    if (sum != 0)
        expect_cu(cuda_test()->cuMemsetD8(work->wrong, 0, sizeof wrong));
    return sum;
}

/* ---- By the host, in the order of a stream ----------------------------- */

typedef struct host_work {
    unsigned char *at;
    uint64_t bytes;
    uint64_t seed;
    bool writes;
} host_work_t;

static void do_on_host(void *user)
{
    host_work_t *work = user;
    if (work->writes)
        paint_bytes(work->at, work->bytes, work->seed);
    else
        atomic_fetch_add(&wrong_on_host,
                         work->bytes - painted_until(work->at, work->bytes, work->seed));
    free(work);
}

static void queue_on_host(uint32_t number, const void *address, uint64_t bytes, uint64_t seed,
                          bool writes)
{
    host_work_t *work = malloc(sizeof *work);
    ck_assert_ptr_nonnull(work);
    *work = (host_work_t){(unsigned char *)(uintptr_t)address, bytes, seed, writes};
    expect_cu(cuda_test()->cuLaunchHostFunc(the_work()->streams[number], do_on_host, work));
}

/* ---- Both -------------------------------------------------------------- */

static bool is_hosts(const fixture_t *f)
{
    return f->kind->memory == CUARENA_MEMORY_PAGEABLE ||
           (f->kind->memory == CUARENA_MEMORY_BYTES && f->kind->bytes_kind == CUARENA_BYTES_HOST);
}

static void fill(const fixture_t *f, uint32_t number, void *address, uint64_t bytes, uint64_t seed)
{
    if (is_hosts(f))
        queue_on_host(number, address, bytes, seed, true);
    else
        launch(the_work()->fill, number, address, bytes, seed);
}

static void check(const fixture_t *f, uint32_t number, const void *address, uint64_t bytes,
                  uint64_t seed)
{
    if (is_hosts(f))
        queue_on_host(number, address, bytes, seed, false);
    else
        launch(the_work()->check, number, address, bytes, seed);
}

static uint64_t finish(void)
{
    (void)the_work(); /* which makes its context current */
    expect_cu(cuda_test()->cuCtxSynchronize());
    return wrong_on_device() + atomic_exchange(&wrong_on_host, 0);
}

const stream_work_t cuda_work = {stream, fill, check, order, hold, let_go, finish};
