/*
 * The stand-in's stream capture: what may be captured, what may not, with the errors of a real
 * driver, and graphs that run what was captured.
 */
#include "support/expect.h"
#include "support/standin_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static CUstream stream;
static CUstream other;
static CUdeviceptr at;

static void open_streams(void)
{
    one_device();
    stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    other = driver_new_stream(CU_STREAM_NON_BLOCKING);
    at = new_memory(4096);
}

static void close_streams(void)
{
    driver_ok(driver.cuStreamDestroy(stream));
    driver_ok(driver.cuStreamDestroy(other));
    driver_ok(driver.cuMemFree(at));
    nothing_left();
}

static void begin(CUstreamCaptureMode mode)
{
    driver_ok(driver.cuStreamBeginCapture(stream, mode));
}

static uint64_t status_of(CUstream which)
{
    CUstreamCaptureStatus status;
    driver_ok(driver.cuStreamIsCapturing(which, &status));
    return status;
}

/* Ends the capture, which gives no graph but this error. */
static void expect_no_graph(CUresult want)
{
    CUgraph graph = (CUgraph)(void *)&graph;
    expect_driver(want, driver.cuStreamEndCapture(stream, &graph));
    ck_assert_ptr_null((void *)graph);
    expect_u64(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    expect_u64(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
}

static CUgraphExec end_and_instantiate(void)
{
    CUgraph graph;
    CUgraphExec exec;
    driver_ok(driver.cuStreamEndCapture(stream, &graph));
    driver_ok(driver.cuGraphInstantiate(&exec, graph, 0));
    driver_ok(driver.cuGraphDestroy(graph));
    return exec;
}

static uint32_t word_at(CUdeviceptr address)
{
    uint32_t word = 0;
    driver_ok(driver.cuMemcpyDtoH(&word, address, sizeof(word)));
    return word;
}

/* ---- Graphs ------------------------------------------------------------ */

START_TEST(captured_work_runs_when_the_graph_does)
{
    driver_ok(driver.cuMemsetD32(at, 1, 4));
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    expect_u64(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    driver_ok(driver.cuMemsetD32Async(at, 2, 1, stream));
    driver_ok(driver.cuMemcpyDtoDAsync(at + 4, at, 4, stream));
    CUgraphExec exec = end_and_instantiate();
    expect_u64(word_at(at), 1);
    for (unsigned i = 0; i < 3; i++) {
        driver_ok(driver.cuMemsetD32(at, 1, 4));
        driver_ok(driver.cuGraphLaunch(exec, NULL));
        expect_u64(word_at(at + 4), 2);
    }
    driver_ok(driver.cuGraphExecDestroy(exec));
}
END_TEST

START_TEST(captured_kernels_keep_their_parameters)
{
    CUmodule module = NULL;
    CUfunction touch = driver_test_kernel(&module, "touch");
    uint64_t bytes = 4096;
    driver_ok(driver.cuMemsetD32(at, 0, 1024));
    driver_ok(driver.cuCtxSynchronize()); /* the host did not wait for it */
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    driver_launch(touch, 2, 32, stream, (void *[]){&at, &bytes});
    bytes = 0;
    CUgraphExec exec = end_and_instantiate();
    for (int i = 0; i < 5; i++)
        driver_ok(driver.cuGraphLaunch(exec, stream));
    driver_ok(driver.cuStreamSynchronize(stream));
    expect_u64(word_at(at + 4092), 5);
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_ok(driver.cuModuleUnload(module));
}
END_TEST

/* A second stream joins through events; `joined` says that it waits. */
static CUgraphExec capture_two(bool ordered)
{
    CUevent fork = driver_new_event();
    CUevent join = driver_new_event();
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (ordered)
        driver_ok(driver.cuMemsetD32Async(at, 5, 1, stream));
    driver_ok(driver.cuEventRecord(fork, stream));
    driver_ok(driver.cuStreamWaitEvent(other, fork, 0));
    expect_u64(status_of(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    if (!ordered)
        driver_ok(driver.cuMemsetD32Async(at, 5, 1, stream));
    driver_ok(driver.cuMemcpyDtoDAsync(at + 4, at, 4, other));
    driver_ok(driver.cuEventRecord(join, other));
    driver_ok(driver.cuStreamWaitEvent(stream, join, 0));
    CUgraphExec exec = end_and_instantiate();
    expect_u64(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
    driver_ok(driver.cuEventDestroy(fork));
    driver_ok(driver.cuEventDestroy(join));
    return exec;
}

START_TEST(branches_of_a_graph_wait_as_captured)
{
    CUgraphExec exec = capture_two(true);
    for (int i = 0; i < 20; i++) {
        driver_ok(driver.cuMemsetD32(at, 1, 2));
        driver_ok(driver.cuCtxSynchronize());
        driver_ok(driver.cuGraphLaunch(exec, stream));
        driver_ok(driver.cuStreamSynchronize(stream));
        expect_u64(word_at(at + 4), 5);
    }
    driver_ok(driver.cuGraphExecDestroy(exec));
}
END_TEST

START_TEST(branches_of_a_graph_that_miss_a_wait)
{
    CUgraphExec exec = capture_two(false);
    driver_ok(driver.cuGraphLaunch(exec, stream));
    driver_ok(driver.cuStreamSynchronize(stream));
    expect_report(STANDIN_MISSING_WAIT);
    driver_ok(driver.cuGraphExecDestroy(exec));
}
END_TEST

START_TEST(graph_is_ordered_by_the_stream_it_is_launched_in)
{
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    driver_ok(driver.cuMemsetD32Async(at, 5, 1, stream));
    CUgraphExec exec = end_and_instantiate();
    driver_ok(driver.cuMemsetD32Async(at, 1, 1, stream));
    driver_ok(driver.cuGraphLaunch(exec, stream));
    driver_ok(driver.cuMemsetD32Async(at, 2, 1, stream));
    driver_ok(driver.cuStreamSynchronize(stream));
    expect_clean();
    driver_ok(driver.cuGraphLaunch(exec, stream));
    driver_ok(driver.cuMemsetD32Async(at, 2, 1, other));
    driver_ok(driver.cuCtxSynchronize());
    expect_report(STANDIN_MISSING_WAIT);
    driver_ok(driver.cuGraphExecDestroy(exec));
}
END_TEST

START_TEST(leaks_of_graphs)
{
    CUgraph graph;
    CUgraphExec exec;
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    driver_ok(driver.cuMemsetD32Async(at, 5, 1, stream));
    driver_ok(driver.cuStreamEndCapture(stream, &graph));
    driver_ok(driver.cuGraphInstantiate(&exec, graph, 0));
    expect_u64(standin->standin_live("graph"), 1);
    expect_u64(standin->standin_live("exec"), 1);
    driver_ok(driver.cuGraphDestroy(graph));
    driver_ok(driver.cuGraphExecDestroy(exec));
    expect_u64(standin->standin_live("graph"), 0);
    expect_u64(standin->standin_live("exec"), 0);
}
END_TEST

/* ---- User objects ------------------------------------------------------ */

static void count_end(void *count)
{
    ++*(int *)count;
}

static CUuserObject new_object(int *ends)
{
    CUuserObject object = NULL;
    driver_ok(driver.cuUserObjectCreate(&object, ends, count_end, 1, 1));
    return object;
}

/* It ends with the last of what has it, and not before the work of that is done. */
START_TEST(object_of_a_graph_ends_with_all_that_was_made_of_it)
{
    int ends = 0;
    CUgraph graph;
    CUgraphExec first, second;
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    driver_ok(driver.cuMemsetD32Async(at, 2, 1, stream));
    driver_ok(driver.cuStreamEndCapture(stream, &graph));
    driver_ok(driver.cuGraphRetainUserObject(graph, new_object(&ends), 1, 1));
    driver_ok(driver.cuGraphInstantiate(&first, graph, 0));
    driver_ok(driver.cuGraphInstantiate(&second, graph, 0));
    driver_ok(driver.cuGraphDestroy(graph));
    driver_ok(driver.cuGraphExecDestroy(first));
    expect_u64((uint64_t)ends, 0);
    standin->standin_configure("PACE", "0");
    driver_ok(driver.cuGraphLaunch(second, stream));
    driver_ok(driver.cuGraphExecDestroy(second));
    expect_u64((uint64_t)ends, 0);
    driver_ok(driver.cuStreamSynchronize(stream));
    expect_u64((uint64_t)ends, 1);
}
END_TEST

START_TEST(object_that_the_program_keeps)
{
    int ends = 0;
    CUgraph graph;
    CUuserObject object = new_object(&ends);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    driver_ok(driver.cuMemsetD32Async(at, 2, 1, stream));
    driver_ok(driver.cuStreamEndCapture(stream, &graph));
    driver_ok(driver.cuUserObjectRetain(object, 2));
    driver_ok(driver.cuGraphRetainUserObject(graph, object, 2, 0));
    driver_ok(driver.cuUserObjectRelease(object, 2));
    driver_ok(driver.cuGraphDestroy(graph));
    expect_u64((uint64_t)ends, 0);
    expect_driver(CUDA_ERROR_INVALID_VALUE, driver.cuUserObjectRelease(object, 2));
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  driver.cuUserObjectCreate(&object, &ends, count_end, 1, 0));
    driver_ok(driver.cuUserObjectRelease(object, 1));
    expect_u64((uint64_t)ends, 1);
}
END_TEST

/* ---- What ends a capture ----------------------------------------------- */

START_TEST(query_of_a_capturing_stream)
{
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver.cuStreamQuery(stream));
    expect_u64(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver.cuMemsetD32Async(at, 5, 1, stream));
    expect_no_graph(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(wait_for_a_capturing_stream)
{
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver.cuStreamSynchronize(stream));
    expect_no_graph(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(event_of_a_capture_is_not_asked)
{
    CUevent event = driver_new_event();
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    driver_ok(driver.cuEventRecord(event, stream));
    expect_driver(CUDA_ERROR_CAPTURED_EVENT, driver.cuEventQuery(event));
    expect_driver(CUDA_ERROR_CAPTURED_EVENT, driver.cuEventSynchronize(event));
    driver_ok(driver.cuEventDestroy(event));
    driver_ok(driver.cuGraphExecDestroy(end_and_instantiate()));
}
END_TEST

START_TEST(wait_for_what_is_not_captured)
{
    CUevent event = driver_new_event();
    driver_ok(driver.cuEventRecord(event, other));
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, driver.cuStreamWaitEvent(stream, event, 0));
    expect_no_graph(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    driver_ok(driver.cuEventDestroy(event));
}
END_TEST

START_TEST(stream_that_never_came_back)
{
    CUevent event = driver_new_event();
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    driver_ok(driver.cuEventRecord(event, stream));
    driver_ok(driver.cuStreamWaitEvent(other, event, 0));
    driver_ok(driver.cuMemsetD32Async(at, 5, 1, other));
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, driver.cuStreamEndCapture(other, NULL));
    expect_no_graph(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    driver_ok(driver.cuEventDestroy(event));
}
END_TEST

START_TEST(legacy_stream_beside_a_blocking_capture)
{
    CUstream blocking = driver_new_stream(CU_STREAM_DEFAULT);
    CUgraph graph;
    driver_ok(driver.cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, driver.cuMemsetD32Async(at, 5, 1, NULL));
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                  driver.cuStreamEndCapture(blocking, &graph));
    expect_driver(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver.cuStreamBeginCapture(NULL, 0));
    begin(CU_STREAM_CAPTURE_MODE_RELAXED); /* of a stream that does not block */
    driver_ok(driver.cuMemsetD32Async(at, 5, 1, NULL));
    driver_ok(driver.cuGraphExecDestroy(end_and_instantiate()));
    driver_ok(driver.cuStreamDestroy(blocking));
    driver_ok(driver.cuCtxSynchronize());
}
END_TEST

/* It may be asked whether it can be used; what is captured goes on. */
START_TEST(asking_the_legacy_stream_breaks_nothing)
{
    CUstream blocking = driver_new_stream(CU_STREAM_DEFAULT);
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    driver_ok(driver.cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 2; i++)
        expect_driver(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                      driver.cuStreamIsCapturing(NULL, &status));
    expect_u64(status_of(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    driver_ok(driver.cuStreamEndCapture(blocking, &graph));
    driver_ok(driver.cuGraphDestroy(graph));
    expect_u64(status_of(NULL), CU_STREAM_CAPTURE_STATUS_NONE);
    driver_ok(driver.cuStreamDestroy(blocking));
}
END_TEST

/* Drivers from 12.5 on have it. */
START_TEST(an_event_behind_all_work_ends_captures)
{
    CUevent event = driver_new_event();
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    if (driver.cuCtxRecordEvent != NULL) {
        expect_driver(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                      driver.cuCtxRecordEvent(context, event));
        expect_no_graph(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    } else {
        driver_ok(driver.cuGraphExecDestroy(end_and_instantiate()));
    }
    driver_ok(driver.cuEventDestroy(event));
}
END_TEST

START_TEST(end_without_begin)
{
    expect_driver(CUDA_ERROR_ILLEGAL_STATE, driver.cuStreamEndCapture(stream, NULL));
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    expect_driver(CUDA_ERROR_ILLEGAL_STATE, driver.cuStreamBeginCapture(stream, 0));
    driver_ok(driver.cuGraphExecDestroy(end_and_instantiate()));
}
END_TEST

/* ---- Modes ------------------------------------------------------------- */

/* Whether a call that may be unsafe is legal in this thread now. */
static CUresult allocate(void)
{
    CUdeviceptr more;
    CUresult result = driver.cuMemAlloc(&more, 16);
    if (result == CUDA_SUCCESS)
        driver_ok(driver.cuMemFree(more));
    return result;
}

/* What a graph names may be freed: only a launch uses it. */
START_TEST(memory_of_a_graph_that_is_freed)
{
    CUdeviceptr bytes = new_memory(4096);
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    driver_ok(driver.cuMemsetD32Async(bytes, 0, 1024, stream));
    CUgraphExec exec = end_and_instantiate();
    driver_ok(driver.cuGraphLaunch(exec, stream));
    driver_ok(driver.cuStreamSynchronize(stream));
    driver_ok(driver.cuMemFree(bytes));
    expect_u64(driver_reports(STANDIN_ANY), 0);
    driver_ok(driver.cuGraphExecDestroy(exec));
}
END_TEST

static CUresult allocate_relaxed(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver_ok(driver.cuThreadExchangeStreamCaptureMode(&mode));
    CUresult result = allocate();
    driver_ok(driver.cuThreadExchangeStreamCaptureMode(&mode));
    expect_u64(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    return result;
}

static void *allocate_there(void *user)
{
    driver_ok(driver.cuCtxSetCurrent(context));
    *(CUresult *)user = allocate();
    return NULL;
}

static CUresult allocate_in_another_thread(void)
{
    CUresult result = CUDA_ERROR_UNKNOWN;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_there, &result), 0);
    pthread_join(thread, NULL);
    return result;
}

START_TEST(unsafe_calls_by_mode_of_the_capture)
{
    static const struct {
        CUstreamCaptureMode mode;
        CUresult here;
        CUresult elsewhere;
    } cases[] = {
        {CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
        {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_SUCCESS},
        {CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, CUDA_SUCCESS},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        begin(cases[i].mode);
        expect_driver(CUDA_SUCCESS, allocate_relaxed());
        expect_driver(cases[i].elsewhere, allocate_in_another_thread());
        expect_driver(cases[i].here, allocate());
        if (cases[i].here == CUDA_SUCCESS)
            driver_ok(driver.cuGraphExecDestroy(end_and_instantiate()));
        else
            expect_no_graph(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}
END_TEST

static void *end_there(void *user)
{
    driver_ok(driver.cuCtxSetCurrent(context));
    *(CUresult *)user = driver.cuStreamEndCapture(stream, NULL);
    return NULL;
}

START_TEST(end_in_another_thread)
{
    pthread_t thread;
    CUresult result = CUDA_SUCCESS;
    begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_there, &result), 0);
    pthread_join(thread, NULL);
    expect_u64(result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    driver_ok(driver.cuGraphExecDestroy(end_and_instantiate()));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standin_capture");
    TCase *tcase = suite_add_list(
        suite, "capture",
        TEST_LIST(captured_work_runs_when_the_graph_does, captured_kernels_keep_their_parameters,
                  branches_of_a_graph_wait_as_captured, branches_of_a_graph_that_miss_a_wait,
                  graph_is_ordered_by_the_stream_it_is_launched_in, memory_of_a_graph_that_is_freed,
                  leaks_of_graphs, query_of_a_capturing_stream, wait_for_a_capturing_stream,
                  event_of_a_capture_is_not_asked, wait_for_what_is_not_captured,
                  stream_that_never_came_back, legacy_stream_beside_a_blocking_capture,
                  asking_the_legacy_stream_breaks_nothing, an_event_behind_all_work_ends_captures,
                  end_without_begin, unsafe_calls_by_mode_of_the_capture, end_in_another_thread,
                  object_of_a_graph_ends_with_all_that_was_made_of_it,
                  object_that_the_program_keeps));
    tcase_add_checked_fixture(tcase, open_streams, close_streams);
    return standin_main(suite);
}
