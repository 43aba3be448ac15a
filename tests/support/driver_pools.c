#include "support/driver_pools.h"

#include "support/cuda_expect.h"

void off_device(void)
{
    end_test(); /* the arena's end comes first */
    expect_cu(cuda_test()->cuDevicePrimaryCtxRelease(0));
}

void on_device(void)
{
    (void)cuda_test_use_device(0);
}

void close_pool(fixture_t *f)
{
    if (cuda_test_current() != NULL)
        expect_cu(cuda_test()->cuCtxSynchronize());
    fixture_close(f);
    expect_no_report();
}

fixture_t *opened_pool(const char *options)
{
    fixture_t *f = new_fixture(close_pool);
    fixture_open_text(f, options);
    return f;
}

cuarena_driver_pool_stats_t pool_of(cuarena_t *arena)
{
    cuarena_driver_pool_stats_t stats;
    cuarena_driver_pool_stats_init(&stats);
    expect_ok(cuarena_driver_pool_stats(arena, &stats));
    expect_u64(stats.free_bytes, stats.total_bytes - stats.used_bytes);
    return stats;
}

void end_stream(cuarena_t *arena, cuai_cu_stream_t stream)
{
    expect_ok(cuarena_release_stream(arena, stream));
    expect_cu(cuda_test()->cuStreamDestroy(stream));
}

void use(void *pointer, uint64_t bytes, cuai_cu_stream_t stream)
{
    cuai_cu_pointer_t address = (cuai_cu_pointer_t)(uintptr_t)pointer;
    expect_cu(cuda_test()->cuMemsetD8Async(address, 0x5a, bytes, stream));
}
