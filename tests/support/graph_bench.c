/* See graph_bench.h. */
#include "support/graph_bench.h"

#include "support/cuda_expect.h"
#include "support/test_kernels_ptx.h"

#include <string.h>

static cuarena_stream_t new_stream(const graph_bench_t *b)
{
    cuarena_stream_t stream = NULL;
    expect_cu(b->cuda->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

void wait_for(const graph_bench_t *b, cuarena_stream_t stream)
{
    expect_cu(b->cuda->cuStreamSynchronize(stream));
}

cuarena_stats_t stats_now(const graph_bench_t *b)
{
    return arena_stats(b->arena);
}

void *bench_take(const graph_bench_t *b, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc_on(b->arena, bytes, stream, NULL, &pointer));
    expect_sound_arena(b);
    return pointer;
}

void bench_free(const graph_bench_t *b, void *pointer, cuarena_stream_t stream)
{
    expect_ok(cuarena_free_on(b->arena, pointer, stream));
    expect_sound_arena(b);
}

static void launch(const graph_bench_t *b, cuai_cu_function_t kernel, void **params,
                   cuarena_stream_t stream)
{
    expect_cu(b->cuda->cuLaunchKernel(kernel, 4, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

void fill(const graph_bench_t *b, const void *at, uint64_t bytes, uint64_t seed,
          cuarena_stream_t stream)
{
    uint64_t first = 0;
    launch(b, b->fill, (void *[]){&at, &bytes, &seed, &first}, stream);
}

void check(const graph_bench_t *b, const void *at, uint64_t bytes, uint64_t seed,
           cuarena_stream_t stream)
{
    uint64_t first = 0;
    int which = stream == b->s ? 0 : stream == b->t ? 1 : 2;
    const void *bad = b->bad[which];
    launch(b, b->check, (void *[]){&at, &bytes, &seed, &first, &bad}, stream);
}

void copy(const graph_bench_t *b, void *to, const void *from, cuarena_stream_t stream)
{
    expect_cu(b->cuda->cuMemcpyDtoDAsync((cuai_cu_pointer_t)(uintptr_t)to,
                                         (cuai_cu_pointer_t)(uintptr_t)from, BENCH_BYTES, stream));
}

static void open_kernels(graph_bench_t *b)
{
    expect_cu(b->cuda->cuModuleLoadDataEx(&b->module, test_kernels_ptx, 0, NULL, NULL));
    expect_cu(b->cuda->cuModuleGetFunction(&b->fill, b->module, "fill"));
    expect_cu(b->cuda->cuModuleGetFunction(&b->check, b->module, "check"));
}

/* Kernels load at their first launch, which must not come in a capture. */
static void open_on(graph_bench_t *b, cuarena_config_t *config)
{
    memset(b, 0, sizeof *b);
    b->cuda = cuda_test();
    (void)cuda_test_use_device(0);
    config->unknown_keys = CUARENA_UNKNOWN_WARN; /* or the limit counts */
    config->pool = amount_of_bytes(BENCH_POOL);
    config->limit = amount_of_bytes(2 * BENCH_POOL);
    config->stable = amount_of_bytes(0);
    config->zero = zero_for_checkers();
    expect_ok(cuarena_create(config, &b->arena));
    open_kernels(b);
    b->s = new_stream(b);
    b->t = new_stream(b);
    b->e = new_stream(b);
    for (int i = 0; i < 3; i++) {
        expect_ok(cuarena_alloc(b->arena, 256, &b->bad[i]));
        expect_cu(b->cuda->cuMemsetD8((cuai_cu_pointer_t)(uintptr_t)b->bad[i], 0, 256));
    }
    expect_cu(b->cuda->cuCtxSynchronize());
    void *p = bench_take(b, BENCH_BYTES, b->e);
    fill(b, p, BENCH_BYTES, 1, b->e);
    check(b, p, BENCH_BYTES, 1, b->e);
    bench_free(b, p, b->e);
    wait_for(b, b->e);
}

void open_bench(graph_bench_t *b, int32_t preset)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    config.preset = preset;
    config.memory = CUARENA_MEMORY_DEVICE;
    open_on(b, &config);
}

void open_bench_with(graph_bench_t *b, const char *options)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, options));
    open_on(b, &config);
}

void expect_no_bad_bytes(const graph_bench_t *b)
{
    expect_cu(b->cuda->cuCtxSynchronize());
    for (int i = 0; i < 3; i++) {
        uint64_t wrong = 77;
        expect_cu(b->cuda->cuMemcpyDtoH(&wrong, (cuai_cu_pointer_t)(uintptr_t)b->bad[i], 8));
        expect_u64(wrong, 0);
    }
    expect_no_report();
}

/* Nothing but what open_bench took lives. */
void close_bench(graph_bench_t *b)
{
    expect_no_bad_bytes(b);
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_free(b->arena, b->bad[i]));
    expect_sound_arena(b);
    expect_ok(cuarena_destroy(&b->arena));
    cuarena_stream_t streams[] = {b->s, b->t, b->e};
    for (int i = 0; i < 3; i++)
        expect_cu(b->cuda->cuStreamDestroy(streams[i]));
    expect_cu(b->cuda->cuModuleUnload(b->module));
    expect_nothing_left();
}

static graph_bench_t bench;

static void end_bench(void)
{
    close_bench(&bench);
}

graph_bench_t *opened_bench(int32_t preset)
{
    open_bench(&bench, preset);
    after_test(end_bench);
    return &bench;
}

graph_bench_t *opened_bench_with(const char *options)
{
    open_bench_with(&bench, options);
    after_test(end_bench);
    return &bench;
}

void begin_capture(const graph_bench_t *b, cuarena_stream_t stream, int mode)
{
    expect_cu(b->cuda->cuStreamBeginCapture(stream, (cuai_cu_capture_mode_t)mode));
}

/* The capture is as it should be: a graph came out of it. */
cuai_cu_graph_exec_t end_capture(const graph_bench_t *b, cuarena_stream_t stream)
{
    cuai_cu_graph_t graph = NULL;
    cuai_cu_graph_exec_t exec = NULL;
    expect_cu(b->cuda->cuStreamEndCapture(stream, &graph));
    ck_assert_ptr_nonnull(graph);
    expect_cu(b->cuda->cuGraphInstantiateWithFlags(&exec, graph, 0));
    expect_cu(b->cuda->cuGraphDestroy(graph));
    return exec;
}

/* What a program does beside a capture, on this thread: every kind of call that the arena needs the
 * driver for. */
void work_beside(const graph_bench_t *b)
{
    cuarena_t *arena = b->arena;
    void *big = bench_take(b, MIB(40), b->e); /* an arena that grows, grows */
    fill(b, big, MIB(1), 9, b->e);
    check(b, big, MIB(1), 9, b->e);
    cuarena_block_t row[4];
    for (int i = 0; i < 4; i++)
        expect_ok(cuarena_block_alloc_on(arena, BENCH_BYTES, b->e, NULL, &row[i]));
    expect_ok(cuarena_block_free_on(arena, row[0], b->e));
    expect_ok(cuarena_block_free_on(arena, row[2], b->e));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = b->e;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, NULL));
    options.stream = CUARENA_NO_STREAM;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, NULL));
    expect_ok(cuarena_block_free_on(arena, row[1], b->e));
    expect_ok(cuarena_block_free_on(arena, row[3], b->e));
    bench_free(b, big, b->e);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_sound_arena(b);
}

static void *pin_on(const graph_bench_t *b, cuarena_block_t block)
{
    void *at = NULL;
    expect_ok(cuarena_block_pin_on(b->arena, block, b->e, &at));
    return at;
}

void eager_step(const graph_bench_t *b, eager_t *eager, int round)
{
    uint64_t i = random_below(&eager->random, 8);
    if (eager->blocks[i] != 0) {
        const void *at = pin_on(b, eager->blocks[i]);
        check(b, at, BENCH_BYTES, eager->seeds[i], b->e);
        expect_ok(cuarena_block_unpin_on(b->arena, eager->blocks[i], b->e));
        expect_ok(cuarena_block_free_on(b->arena, eager->blocks[i], b->e));
        eager->blocks[i] = 0;
    } else {
        expect_ok(cuarena_block_alloc_on(b->arena, BENCH_BYTES, b->e, NULL, &eager->blocks[i]));
        eager->seeds[i] = random_next(&eager->random);
        const void *at = pin_on(b, eager->blocks[i]);
        fill(b, at, BENCH_BYTES, eager->seeds[i], b->e);
        expect_ok(cuarena_block_unpin_on(b->arena, eager->blocks[i], b->e));
    }
    if (round % 4 != 3)
        return;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = b->e;
    expect_ok(cuarena_compact(b->arena, &options, NULL, NULL, NULL));
    expect_sound_arena(b);
}

void eager_end(const graph_bench_t *b, const eager_t *eager)
{
    for (int i = 0; i < 8; i++)
        if (eager->blocks[i] != 0)
            expect_ok(cuarena_block_free_on(b->arena, eager->blocks[i], b->e));
}
