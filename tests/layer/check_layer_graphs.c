/*
 * The layer in graphs: blocks that a captured stream allocates belong to the graph, and are used
 * again when it has ended.
 */
#include "support/expect.h"
#include "through_layer.h"

#include <unistd.h>

/* The driver tells of a graph's end when it will; the next calls release what it had. */
static void expect_no_captures(void)
{
    for (int i = 0; i < 1000 && layer_arena_stats().captures != 0; i++) {
        free_on(alloc_on(BYTES, other), other);
        (void)usleep(1000);
    }
    expect_u64(layer_arena_stats().captures, 0);
}

/* A block that was freed lives until its graph's end is known. */
static void graphs_end(void)
{
    driver_ok(driver.cuCtxSynchronize());
    expect_no_captures();
    layer_end();
}

/* What is allocated by others while the graph lives never gets its bytes. */
START_TEST(a_graph_keeps_its_blocks_until_it_ends)
{
    CUdeviceptr result = alloc_on(BYTES, stream);
    fill(result, 0, stream);
    begin_capture(stream);
    CUdeviceptr at = alloc_on(BYTES, stream);
    fill(at, 7, stream);
    driver_ok(driver.cuMemcpyDtoDAsync(result, at, BYTES, stream));
    free_on(at, stream);
    CUgraphExec exec = end_capture(stream);
    for (uint32_t i = 0; i < 20; i++) {
        CUdeviceptr noise = alloc_on(BYTES, other);
        ck_assert(noise != at);
        fill(noise, 99, other);
        driver_ok(driver.cuGraphLaunch(exec, stream));
        expect_u64(last_word(result, stream), 7);
        free_on(noise, other);
    }
    expect_u64(layer_arena_stats().captures, 1);
    driver_ok(driver.cuGraphLaunch(exec, stream));
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_ok(driver.cuStreamSynchronize(stream));
    free_on(result, stream);
    expect_no_captures();
    expect_u64(layer_stats().captured - before.captured, 1);
}
END_TEST

START_TEST(blocks_that_outlive_their_graph)
{
    begin_capture(stream);
    CUdeviceptr at = alloc_on(BYTES, stream);
    fill(at, 3, stream);
    CUgraphExec exec = end_capture(stream);
    driver_ok(driver.cuGraphLaunch(exec, stream));
    expect_u64(last_word(at, stream), 3);
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_ok(driver.cuCtxSynchronize());
    free_on(alloc_on(BYTES, other), other);
    fill(at, 4, stream);
    expect_u64(last_word(at, stream), 4);
    free_on(at, stream);
}
END_TEST

/* A driver refuses that, and its capture goes on. */
START_TEST(a_graph_frees_only_what_a_graph_allocated)
{
    CUdeviceptr at = alloc_on(BYTES, stream);
    begin_capture(stream);
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFreeAsync(at, stream));
    fill(at, 5, stream);
    CUgraphExec exec = end_capture(stream);
    driver_ok(driver.cuGraphExecDestroy(exec));
    free_on(at, stream);
}
END_TEST

START_TEST(two_streams_of_one_capture)
{
    CUevent fork = driver_new_event();
    CUevent join = driver_new_event();
    begin_capture(stream);
    CUdeviceptr first = alloc_on(BYTES, stream);
    fill(first, 1, stream);
    driver_ok(driver.cuEventRecord(fork, stream));
    driver_ok(driver.cuStreamWaitEvent(other, fork, 0));
    CUdeviceptr second = alloc_on(BYTES, other);
    driver_ok(driver.cuMemcpyDtoDAsync(second, first, BYTES, other));
    driver_ok(driver.cuEventRecord(join, other));
    driver_ok(driver.cuStreamWaitEvent(stream, join, 0));
    free_on(first, stream);
    CUgraphExec exec = end_capture(stream);
    driver_ok(driver.cuGraphLaunch(exec, stream));
    expect_u64(last_word(second, stream), 1);
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_ok(driver.cuCtxSynchronize());
    free_on(second, stream);
    expect_no_captures();
    driver_ok(driver.cuEventDestroy(fork));
    driver_ok(driver.cuEventDestroy(join));
}
END_TEST

/* No wait for the context is allowed then. */
START_TEST(free_without_a_stream_during_a_capture)
{
    unsigned long long at = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver_ok(layer->cuMemAlloc_v2(&at, BYTES));
    fill(at, 1, other);
    begin_capture(stream);
    driver_ok(driver.cuThreadExchangeStreamCaptureMode(&mode));
    driver_ok(layer->cuMemFree_v2(at));
    driver_ok(driver.cuThreadExchangeStreamCaptureMode(&mode));
    driver_ok(driver.cuGraphExecDestroy(end_capture(stream)));
}
END_TEST

/* ---- Freed outside ------------------------------------------------------- */

/* Each launch allocates the block again, where it was. */
START_TEST(what_a_graph_allocates_is_freed_after_each_launch)
{
    begin_capture(stream);
    CUdeviceptr at = alloc_on(BYTES, stream);
    fill(at, 7, stream);
    CUgraphExec exec = end_capture(stream);
    for (uint32_t i = 0; i < 20; i++) {
        driver_ok(driver.cuGraphLaunch(exec, stream));
        expect_u64(last_word(at, stream), 7);
        if (i % 3 == 0)
            driver_ok(layer->cuMemFree_v2(at));
        else
            free_on(at, stream);
        CUdeviceptr noise = alloc_on(BYTES, other);
        ck_assert(noise != at);
        fill(noise, 99, other);
        free_on(noise, other);
    }
    expect_u64(layer_arena_stats().captures, 1);
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_ok(driver.cuStreamSynchronize(stream));
    expect_no_captures();
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFreeAsync(at, stream));
}
END_TEST

/* What reads a block on another stream, which frees it, is waited for when the graph has ended. */
START_TEST(freed_on_another_stream_than_that_of_the_launch)
{
    CUdeviceptr result = alloc_on(BYTES, other);
    begin_capture(stream);
    CUdeviceptr at = alloc_on(BYTES, stream);
    fill(at, 8, stream);
    CUgraphExec exec = end_capture(stream);
    driver_ok(driver.cuGraphLaunch(exec, stream));
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_order(stream, other);
    for (int i = 0; i < 50; i++)
        driver_ok(driver.cuMemcpyDtoDAsync(result, at, BYTES, other));
    free_on(at, other);
    for (uint32_t i = 0; i < 50; i++) {
        CUdeviceptr next = alloc_on(BYTES, stream);
        fill(next, i, stream);
        free_on(next, stream);
    }
    expect_u64(last_word(result, other), 8);
    free_on(result, other);
    expect_no_captures();
}
END_TEST

/* Either graph may be launched again, and end before the other. */
START_TEST(a_graph_frees_what_another_allocated)
{
    for (int first = 0; first < 2; first++) {
        CUgraphExec execs[2];
        begin_capture(stream);
        CUdeviceptr at = alloc_on(BYTES, stream);
        fill(at, 9, stream);
        execs[0] = end_capture(stream);
        driver_ok(driver.cuGraphLaunch(execs[0], stream));
        begin_capture(stream);
        fill(at, 10, stream);
        free_on(at, stream);
        execs[1] = end_capture(stream);
        driver_ok(driver.cuGraphLaunch(execs[1], stream));
        driver_ok(driver.cuGraphLaunch(execs[0], stream));
        driver_ok(driver.cuGraphLaunch(execs[1], stream));
        driver_ok(driver.cuStreamSynchronize(stream));
        driver_ok(driver.cuGraphExecDestroy(execs[first]));
        free_on(alloc_on(BYTES, other), other);
        driver_ok(driver.cuGraphExecDestroy(execs[!first]));
        expect_no_captures();
        expect_u64(layer_arena_stats().live_blocks, 0);
    }
}
END_TEST

/* ---- Captures that come to nothing --------------------------------------- */

/* What the driver says of such a stream. */
START_TEST(a_capture_that_has_failed)
{
    struct CUgraph_st *graph = NULL;
    unsigned long long none = 0;
    CUdeviceptr at = alloc_on(BYTES, stream);
    begin_capture(stream);
    CUdeviceptr its = alloc_on(BYTES, stream);
    ck_assert(driver.cuStreamSynchronize(stream) != 0);
    ck_assert(layer->cuMemAllocAsync(&none, BYTES, stream) != 0);
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, layer->cuMemFreeAsync(at, stream));
    ck_assert(layer->cuStreamEndCapture(stream, &graph) != 0);
    ck_assert_ptr_null(graph);
    free_on(at, stream);
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFreeAsync(its, stream));
    expect_no_captures();
}
END_TEST

START_TEST(a_capture_that_goes_on)
{
    struct CUgraph_st *graph = NULL;
    expect_driver(CUDA_ERROR_ILLEGAL_STATE, layer->cuStreamEndCapture(stream, &graph));
    begin_capture(stream);
    CUdeviceptr at = alloc_on(BYTES, stream);
    expect_driver(CUDA_ERROR_ILLEGAL_STATE, layer->cuStreamEndCapture(other, &graph));
    begin_capture(other); /* a second one beside it */
    CUdeviceptr its = alloc_on(BYTES, other);
    free_on(its, other);
    driver_ok(layer->cuStreamEndCapture(other, &graph)); /* no other call may come before the end */
    free_on(at, stream);
    driver_ok(driver.cuGraphExecDestroy(end_capture(stream)));
    driver_ok(driver.cuGraphDestroy(graph));
}
END_TEST

START_TEST(a_stream_that_is_destroyed_in_its_capture)
{
    CUstream brief = driver_new_stream(CU_STREAM_NON_BLOCKING);
    begin_capture(brief);
    CUdeviceptr at = alloc_on(BYTES, brief);
    driver_ok(layer->cuStreamDestroy_v2(brief));
    free_on(alloc_on(BYTES, stream), stream);
    expect_driver(CUDA_ERROR_INVALID_VALUE, layer->cuMemFreeAsync(at, stream));
    expect_no_captures();
}
END_TEST

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("layer_graphs");
    if (kind == DRIVER_NONE)
        return driver_result(kind, 0);
    TCase *tcase = suite_add_list(
        suite, "graphs",
        TEST_LIST(a_graph_keeps_its_blocks_until_it_ends, blocks_that_outlive_their_graph,
                  what_a_graph_allocates_is_freed_after_each_launch,
                  freed_on_another_stream_than_that_of_the_launch,
                  a_graph_frees_what_another_allocated, a_graph_frees_only_what_a_graph_allocated,
                  two_streams_of_one_capture, free_without_a_stream_during_a_capture,
                  a_capture_that_has_failed, a_capture_that_goes_on,
                  a_stream_that_is_destroyed_in_its_capture));
    tcase_add_checked_fixture(tcase, layer_begin, graphs_end);
    return driver_result(kind, suite_main(suite));
}
