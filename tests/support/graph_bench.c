/* See graph_bench.h. */
#include "support/graph_bench.h"

#include "support/cuda_expect.h"
#include "support/test_kernels_ptx.h"

#include <string.h>

graph_bench_t bench;

void wait_for(cuarena_stream_t stream)
{
    expect_cu(bench.cuda->cuStreamSynchronize(stream));
}

static void launch(cuai_cu_function_t kernel, void **params, cuarena_stream_t stream)
{
    expect_cu(bench.cuda->cuLaunchKernel(kernel, 4, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

void fill(const void *at, uint64_t bytes, uint64_t seed, cuarena_stream_t stream)
{
    uint64_t first = 0;
    launch(bench.fill, (void *[]){&at, &bytes, &seed, &first}, stream);
}

static const void *bad_of(cuarena_stream_t stream)
{
    return bench.bad[stream == bench.s ? 0 : stream == bench.t ? 1 : 2];
}

void check(const void *at, uint64_t bytes, uint64_t seed, cuarena_stream_t stream)
{
    uint64_t first = 0;
    const void *bad = bad_of(stream);
    launch(bench.check, (void *[]){&at, &bytes, &seed, &first, &bad}, stream);
}

void check_zero(const void *at, uint64_t bytes, cuarena_stream_t stream)
{
    const void *bad = bad_of(stream);
    launch(bench.count_set, (void *[]){&at, &bytes, &bad}, stream);
}

void copy(void *to, const void *from, cuarena_stream_t stream)
{
    expect_cu(bench.cuda->cuMemcpyDtoDAsync(
        (cuai_cu_pointer_t)(uintptr_t)to, (cuai_cu_pointer_t)(uintptr_t)from, BENCH_BYTES, stream));
}

static void open_kernels(void)
{
    expect_cu(bench.cuda->cuModuleLoadDataEx(&bench.module, test_kernels_ptx, 0, NULL, NULL));
    expect_cu(bench.cuda->cuModuleGetFunction(&bench.fill, bench.module, "fill"));
    expect_cu(bench.cuda->cuModuleGetFunction(&bench.check, bench.module, "check"));
    expect_cu(bench.cuda->cuModuleGetFunction(&bench.count_set, bench.module, "count_set"));
}

/* Kernels load at their first launch, which must not come in a capture. */
void open_graphs_with(fixture_t *f, const char *options)
{
    static const arena_kind_t kind = {"graphs", 0, CUARENA_MEMORY_DEVICE, KIND_DEVICE, 0, 0};
    bench = (graph_bench_t){.cuda = cuda_test()};
    (void)cuda_test_use_device(0);
    fixture_prepare(f, &kind, BENCH_POOL);
    f->config = config_of(options);
    f->config.unknown_keys = CUARENA_UNKNOWN_WARN; /* or the limit counts */
    f->config.pool = amount_of_bytes(BENCH_POOL);
    f->config.limit = amount_of_bytes(2 * BENCH_POOL);
    f->config.stable = amount_of_bytes(0);
    if (f->config.zero == CUARENA_ZERO_NEVER)
        f->config.zero = zero_for_checkers();
    fixture_create(f);
    open_kernels();
    bench.s = cuda_test_stream();
    bench.t = cuda_test_stream();
    bench.e = cuda_test_stream();
    for (int i = 0; i < 3; i++) {
        bench.bad[i] = alloc_ok(f, 256);
        expect_cu(bench.cuda->cuMemsetD8(cu_pointer(bench.bad[i]), 0, 256));
    }
    expect_cu(bench.cuda->cuCtxSynchronize());
    void *p = alloc_on(f, BENCH_BYTES, bench.e);
    fill(p, BENCH_BYTES, 1, bench.e);
    check(p, BENCH_BYTES, 1, bench.e);
    expect_cu(bench.cuda->cuMemsetD8Async(cu_pointer(p), 0, BENCH_BYTES, bench.e));
    check_zero(p, BENCH_BYTES, bench.e);
    free_on(f, p, bench.e);
    wait_for(bench.e);
}

void open_graphs(fixture_t *f, int32_t preset)
{
    open_graphs_with(f, preset == CUARENA_PRESET_GROW ? "preset=grow,memory=device"
                                                      : "preset=pool,memory=device");
}

void expect_no_bad_bytes(void)
{
    expect_cu(bench.cuda->cuCtxSynchronize());
    for (int i = 0; i < 3; i++) {
        uint64_t wrong = 77;
        expect_cu(bench.cuda->cuMemcpyDtoH(&wrong, (cuai_cu_pointer_t)(uintptr_t)bench.bad[i], 8));
        expect_u64(wrong, 0);
    }
    expect_no_report();
}

/* Nothing but what open_graphs took lives. */
void close_graphs(fixture_t *f)
{
    expect_no_bad_bytes();
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_free(f->arena, bench.bad[i]));
    expect_sound(f);
    expect_ok(cuarena_destroy(&f->arena)); /* what a quarantine has still counts as living */
    cuarena_stream_t streams[] = {bench.s, bench.t, bench.e};
    for (int i = 0; i < 3; i++)
        expect_cu(bench.cuda->cuStreamDestroy(streams[i]));
    expect_cu(bench.cuda->cuModuleUnload(bench.module));
    expect_nothing_left();
}

fixture_t *opened_graphs_with(const char *options)
{
    fixture_t *f = new_fixture(close_graphs);
    open_graphs_with(f, options);
    return f;
}

fixture_t *opened_graphs(int32_t preset)
{
    fixture_t *f = new_fixture(close_graphs);
    open_graphs(f, preset);
    return f;
}

void begin_capture(cuarena_stream_t stream, int mode)
{
    expect_cu(bench.cuda->cuStreamBeginCapture(stream, (cuai_cu_capture_mode_t)mode));
}

/* The capture is as it should be: a graph came out of it. */
cuai_cu_graph_exec_t end_capture(cuarena_stream_t stream)
{
    cuai_cu_graph_t graph = NULL;
    cuai_cu_graph_exec_t exec = NULL;
    expect_cu(bench.cuda->cuStreamEndCapture(stream, &graph));
    ck_assert_ptr_nonnull(graph);
    expect_cu(bench.cuda->cuGraphInstantiateWithFlags(&exec, graph, 0));
    expect_cu(bench.cuda->cuGraphDestroy(graph));
    return exec;
}

/* What a program does beside a capture, on this thread: every kind of call that the arena needs the
 * driver for. */
void work_beside(fixture_t *f)
{
    cuarena_t *arena = f->arena;
    void *big = alloc_on(f, MIB(40), bench.e); /* an arena that grows, grows */
    fill(big, MIB(1), 9, bench.e);
    check(big, MIB(1), 9, bench.e);
    cuarena_block_t row[4];
    for (int i = 0; i < 4; i++)
        expect_ok(cuarena_block_alloc_on(arena, BENCH_BYTES, bench.e, NULL, &row[i]));
    expect_ok(cuarena_block_free_on(arena, row[0], bench.e));
    expect_ok(cuarena_block_free_on(arena, row[2], bench.e));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = bench.e;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, NULL));
    options.stream = CUARENA_NO_STREAM;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, NULL));
    expect_ok(cuarena_block_free_on(arena, row[1], bench.e));
    expect_ok(cuarena_block_free_on(arena, row[3], bench.e));
    free_on(f, big, bench.e);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_sound(f);
}

static void *pin_on(fixture_t *f, cuarena_block_t block)
{
    void *at = NULL;
    expect_ok(cuarena_block_pin_on(f->arena, block, bench.e, &at));
    return at;
}

void eager_step(fixture_t *f, eager_t *eager, int round)
{
    uint64_t i = random_below(&eager->random, 8);
    if (eager->blocks[i] != 0) {
        const void *at = pin_on(f, eager->blocks[i]);
        check(at, BENCH_BYTES, eager->seeds[i], bench.e);
        expect_ok(cuarena_block_unpin_on(f->arena, eager->blocks[i], bench.e));
        expect_ok(cuarena_block_free_on(f->arena, eager->blocks[i], bench.e));
        eager->blocks[i] = 0;
    } else {
        expect_ok(cuarena_block_alloc_on(f->arena, BENCH_BYTES, bench.e, NULL, &eager->blocks[i]));
        eager->seeds[i] = random_next(&eager->random);
        const void *at = pin_on(f, eager->blocks[i]);
        fill(at, BENCH_BYTES, eager->seeds[i], bench.e);
        expect_ok(cuarena_block_unpin_on(f->arena, eager->blocks[i], bench.e));
    }
    if (round % 4 != 3)
        return;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = bench.e;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_sound(f);
}

void eager_end(fixture_t *f, const eager_t *eager)
{
    for (int i = 0; i < 8; i++)
        if (eager->blocks[i] != 0)
            expect_ok(cuarena_block_free_on(f->arena, eager->blocks[i], bench.e));
}
