#include "support/driver_pools.h"

#include "checks.h"

#include "support/cuda_expect.h"
#include "support/expect.h"

void off_device(void)
{
    end_test(); /* the arena's end comes first */
    expect_cu(cuda_test()->cuDevicePrimaryCtxRelease(0));
}

void on_device(void)
{
    (void)cuda_test_use_device(0);
}

void end_arena(cuarena_t *arena)
{
    if (cuda_test_current() != NULL)
        expect_cu(cuda_test()->cuCtxSynchronize());
    expect_valid_arena(arena);
    expect_ok(cuarena_destroy(&arena));
    expect_no_report();
}

static cuarena_t *pool;

static void end_pool(void)
{
    end_arena(pool);
}

cuarena_t *ended_later(cuarena_t *arena)
{
    pool = arena;
    after_test(end_pool);
    return arena;
}

cuarena_t *pool_arena(const char *options)
{
    return ended_later(arena_of(options));
}

void *alloc_from(cuarena_t *arena, uint64_t bytes)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc(arena, bytes, &pointer));
    expect_valid_arena(arena);
    return pointer;
}

void *alloc_from_on(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc_on(arena, bytes, stream, NULL, &pointer));
    expect_valid_arena(arena);
    return pointer;
}

void free_to(cuarena_t *arena, void *pointer)
{
    expect_ok(cuarena_free(arena, pointer));
    expect_valid_arena(arena);
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
