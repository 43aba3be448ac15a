#include "through_layer.h"

#include "support/expect.h"

const cuarena_layer_t *layer;
CUcontext context;
CUstream stream;
CUstream other;
cuarena_layer_stats_t before;

cuarena_layer_stats_t layer_stats(void)
{
    cuarena_layer_stats_t now;
    cuarena_layer_stats_init(&now);
    expect_ok(cuarena_layer_stats(0, &now));
    return now;
}

cuarena_stats_t layer_arena_stats(void)
{
    cuarena_stats_t now;
    cuarena_stats_init(&now);
    if (layer_stats().arena != NULL)
        expect_ok(cuarena_stats(layer_stats().arena, CUARENA_REGION_ALL, &now));
    return now;
}

void layer_begin(void)
{
    driver_start();
    layer = cuarena_layer();
    context = driver_take_context(0);
    stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    other = driver_new_stream(CU_STREAM_NON_BLOCKING);
    before = layer_stats();
    driver_reports_clear();
}

void layer_end(void)
{
    driver_ok(driver.cuCtxSynchronize());
    driver_ok(layer->cuStreamDestroy_v2(stream));
    driver_ok(layer->cuStreamDestroy_v2(other));
    expect_u64(driver_reports(STANDIN_ANY), 0);
    expect_u64(layer_arena_stats().live_blocks, 0);
    driver_drop_context(0);
}

CUdeviceptr alloc_on(size_t bytes, CUstream on)
{
    unsigned long long pointer = 0;
    driver_ok(layer->cuMemAllocAsync(&pointer, bytes, on));
    return pointer;
}

void free_on(CUdeviceptr pointer, CUstream on)
{
    driver_ok(layer->cuMemFreeAsync(pointer, on));
}

void fill(CUdeviceptr at, uint32_t value, CUstream on)
{
    driver_ok(driver.cuMemsetD32Async(at, value, BYTES / 4, on));
}

uint32_t last_word(CUdeviceptr at, CUstream on)
{
    uint32_t word = 0;
    driver_ok(driver.cuMemcpyDtoHAsync(&word, at + BYTES - 4, sizeof word, on));
    driver_ok(driver.cuStreamSynchronize(on));
    return word;
}

CUgraphExec end_capture(CUstream of)
{
    struct CUgraph_st *graph = NULL;
    CUgraphExec exec = NULL;
    driver_ok(layer->cuStreamEndCapture(of, &graph));
    driver_ok(driver.cuGraphInstantiate(&exec, graph, 0));
    driver_ok(driver.cuGraphDestroy(graph));
    return exec;
}

void begin_capture(CUstream of)
{
    driver_ok(layer->cuStreamBeginCapture_v2(of, CU_STREAM_CAPTURE_MODE_GLOBAL));
}
