/*
 * Streams and events where a call of the driver fails, or the host has no memory: an error, and no
 * event is left. See check_cuda_streams.c.
 *
 * Looks inside, as that does, and since only there host memory can be refused (base/host_test.h).
 */
#include "support/base_support.h"
#include "support/cuda_test.h"
#include "support/each_failure.h"
#include "support/expect.h"

#include "base/host_test.h"
#include "memory/cuda/events.h"
#include "memory/cuda/streams.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) ((int)COUNT_OF(array))

static cuarena_stream_t failing_stream;

/* Opens host memory for the streams of a context, as if for the first time. */
static cuarena_status_t use_a_stream(void)
{
    cuai_streams_t streams;
    cuarena_stream_info_t info;
    void *event = NULL;
    cuai_streams_open_host(&streams, "host");
    cuarena_status_t status = cuai_streams_identify(&streams, failing_stream, &info);
    if (status == CUARENA_OK)
        status = cuai_streams_identify(&streams, NULL, &info);
    if (status == CUARENA_OK)
        status = cuai_streams_record_event(&streams, failing_stream, &event);
    if (status == CUARENA_OK)
        status = cuai_streams_wait_event(&streams, event, NULL, 0);
    if (status == CUARENA_OK)
        status = cuai_streams_wait_event(&streams, event, CUARENA_NO_STREAM, 1);
    if (status == CUARENA_OK)
        status = cuai_streams_query_event(&streams, event);
    if (status == CUARENA_OK)
        status = cuai_streams_drain(&streams, failing_stream);
    if (event != NULL)
        cuai_streams_end_event(&streams, event);
    cuai_streams_end(&streams);
    return status;
}

static bool is_of_the_driver(cuarena_status_t status, cuai_cu_result_t result)
{
    (void)result;
    return status == CUARENA_DRIVER;
}

START_TEST(every_call_fails)
{
    (void)cuda_test_use_device(0);
    failing_stream = cuda_test_stream();
    ck_assert_int_ge(each_call_fails(use_a_stream, CUAI_CUDA_ERROR_UNKNOWN, is_of_the_driver), 20);
    cuda_test_end_stream(failing_stream);
}
END_TEST

START_TEST(every_refusal_of_the_host)
{
    (void)cuda_test_use_device(0);
    failing_stream = cuda_test_stream();
    each_allocation_fails(use_a_stream);
    cuda_test_end_stream(failing_stream);
}
END_TEST

/* ---- Two memories ------------------------------------------------------- */

static cuai_streams_t device; /* of device 0 */
static cuai_streams_t host;
static cuarena_stream_t used; /* of the primary context, which is current */

static bool open;

static void end_both(void)
{
    open = false;
    cuai_streams_end(&device);
    cuai_streams_end(&host);
}

static void end_all(void)
{
    if (!open)
        return;
    end_both();
    cuda_test_end_stream(used);
}

/* They end after the test, and the stream too; or by end_both, and the stream by hand. */
static void open_both(void)
{
    cuai_place_t *place = NULL;
    (void)cuda_test_use_device(0);
    used = cuda_test_stream();
    expect_ok(cuai_place_open_ordinal(0, &place));
    cuai_streams_open(&device, "device", place, 1);
    cuai_streams_open_host(&host, "host");
    open = true;
    after_test(end_all);
}

static void fail_next(const char *entry, cuai_cu_result_t result)
{
    ck_assert_int_eq(driver_standin()->standin_fail(entry, 1, result, 0), 0);
}

static void see(cuai_streams_t *streams, cuarena_stream_t stream)
{
    cuarena_stream_info_t info;
    expect_ok(cuai_streams_identify(streams, stream, &info));
}

static cuai_cu_context_t push_context(void)
{
    cuai_cu_context_t context = NULL;
    expect_cu(cuda_test()->cuCtxCreate(&context, 0, 0));
    return context;
}

static void destroy_context(cuai_cu_context_t context)
{
    expect_cu(cuda_test()->cuCtxDestroy(context));
}

/* ---- Streams that the driver does not know ------------------------------ */

static const struct {
    cuai_cu_result_t result;
    cuarena_status_t status;
    const char *word;
} unknown_cases[] = {
    {CUAI_CUDA_ERROR_INVALID_HANDLE, CUARENA_BAD_ARGUMENT, "a living stream is accepted"},
    {CUAI_CUDA_ERROR_INVALID_VALUE, CUARENA_BAD_ARGUMENT, "a living stream is accepted"},
    {CUAI_CUDA_ERROR_INVALID_CONTEXT, CUARENA_BAD_ARGUMENT, "while a context is current"},
    {CUAI_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUARENA_BUSY, "cuStreamEndCapture"},
    {CUAI_CUDA_ERROR_UNKNOWN, CUARENA_DRIVER, "CUDA_ERROR_UNKNOWN"},
};

static void expect_refused(cuai_streams_t *streams, int row)
{
    cuarena_stream_info_t info = {.id = 7};
    void *event = NULL;
    const char *word = unknown_cases[row].word;
    const cuarena_status_t want = unknown_cases[row].status;
    const cuai_cu_result_t result = unknown_cases[row].result;
    fail_next("cuStreamGetCtx", result);
    expect_status(cuai_streams_identify(streams, used, &info), want);
    expect_message(word);
    expect_u64(info.id, 7);
    fail_next("cuStreamGetCtx", result);
    expect_status(cuai_streams_record_event(streams, used, &event), want);
    expect_message(word);
    ck_assert_ptr_null(event);
    expect_ok(cuai_streams_record_event(streams, used, &event));
    fail_next("cuStreamGetCtx", result);
    expect_status(cuai_streams_wait_event(streams, event, used, 0), want);
    expect_message(word);
    cuai_streams_end_event(streams, event);
    fail_next("cuStreamGetCtx", result);
    expect_status(cuai_streams_drain(streams, used), want);
}

START_TEST(stream_that_the_driver_does_not_know)
{
    open_both();
    expect_refused(&device, _i);
    expect_refused(&host, _i);
}
END_TEST

/* ---- Default streams ----------------------------------------------------- */

START_TEST(default_stream_that_is_recorded_before_it_was_seen)
{
    void *event = NULL;
    open_both();
    expect_ok(cuai_streams_record_event(&host, NULL, &event));
    ck_assert_ptr_eq(((cuai_event_t *)event)->place, device.place);
    cuai_streams_end_event(&host, event);
}
END_TEST

/* Host memory is the default stream's of another context from then on. */
START_TEST(default_stream_after_its_context_was_lost)
{
    cuarena_stream_info_t info;
    open_both();
    cuai_cu_context_t first = push_context();
    see(&host, NULL);
    cuai_place_lose(host.place, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS);
    destroy_context(first);
    expect_ok(cuai_streams_identify(&host, NULL, &info));
    ck_assert_ptr_eq(info.context, device.place->context);
}
END_TEST

/* ---- All work ------------------------------------------------------------ */

START_TEST(all_work_of_host_memory)
{
    void *event = NULL;
    open_both();
    expect_status(cuai_streams_record_event(&host, CUARENA_NO_STREAM, &event), CUARENA_UNSUPPORTED);
    see(&host, used);
    expect_ok(cuai_streams_record_event(&host, CUARENA_NO_STREAM, &event));
    expect_ok(cuai_streams_wait_event(&host, event, CUARENA_NO_STREAM, 1));
    expect_ok(cuai_streams_query_event(&host, event));
    cuai_streams_end_event(&host, event);
}
END_TEST

/* No event is behind the work of two contexts. */
START_TEST(all_work_of_two_contexts)
{
    void *event = NULL;
    open_both();
    see(&host, used);
    cuai_cu_context_t context = push_context();
    cuarena_stream_t other = cuda_test_stream();
    see(&host, other);
    see(&device, other);
    expect_status(cuai_streams_record_event(&host, CUARENA_NO_STREAM, &event), CUARENA_UNSUPPORTED);
    expect_status(cuai_streams_record_event(&device, CUARENA_NO_STREAM, &event),
                  CUARENA_UNSUPPORTED);
    ck_assert_ptr_null(event);
    cuda_test_end_stream(other);
    end_both();
    destroy_context(context);
    cuda_test_end_stream(used);
}
END_TEST

START_TEST(all_work_with_a_driver_before_12_5)
{
    void *event = NULL;
    ck_assert_int_eq(setenv("CUARENA_STANDIN_LACK", "cuCtxRecordEvent", 1), 0);
    open_both();
    expect_status(cuai_streams_record_event(&device, CUARENA_NO_STREAM, &event),
                  CUARENA_UNSUPPORTED);
    ck_assert_ptr_null(event);
}
END_TEST

static const char *const all_work_calls[] = {"cuCtxRecordEvent", "cuEventCreate",
                                             "cuCtxGetCurrent"};

START_TEST(all_work_that_could_not_be_recorded)
{
    void *event = NULL;
    open_both();
    fail_next(all_work_calls[_i], CUAI_CUDA_ERROR_UNKNOWN);
    expect_status(cuai_streams_record_event(&device, CUARENA_NO_STREAM, &event), CUARENA_DRIVER);
    expect_message("device 0", "CUDA_ERROR_UNKNOWN");
    ck_assert_ptr_null(event);
}
END_TEST

/* It is over. */
START_TEST(all_work_of_a_lost_device)
{
    void *event = NULL;
    open_both();
    see(&host, used);
    fail_next("cuCtxRecordEvent", CUAI_CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_ok(cuai_streams_record_event(&host, CUARENA_NO_STREAM, &event));
    expect_ok(cuai_streams_query_event(&host, event));
    expect_ok(cuai_streams_wait_event(&host, event, CUARENA_NO_STREAM, 1));
    cuai_streams_end_event(&host, event);
    event = NULL;
    expect_status(cuai_streams_record_event(&device, CUARENA_NO_STREAM, &event), CUARENA_LOST);
    ck_assert_ptr_null(event);
    end_both();
}
END_TEST

/* ---- Loss ---------------------------------------------------------------- */

/* Of host memory the work is over; of the device's own it is an error. */
START_TEST(device_lost_while_it_is_waited_for)
{
    void *event = NULL;
    open_both();
    expect_ok(cuai_streams_record_event(_i == 0 ? &host : &device, used, &event));
    fail_next("cuEventSynchronize", CUAI_CUDA_ERROR_LAUNCH_FAILED);
    expect_status(cuai_streams_wait_event(_i == 0 ? &host : &device, event, CUARENA_NO_STREAM, 1),
                  _i == 0 ? CUARENA_OK : CUARENA_LOST);
    cuai_streams_end_event(&host, event);
    end_both();
}
END_TEST

START_TEST(device_lost_while_its_stream_is_asked_for)
{
    void *event = NULL;
    open_both();
    fail_next("cuStreamGetCtx", CUAI_CUDA_ERROR_LAUNCH_FAILED);
    expect_status(cuai_streams_record_event(&host, used, &event), CUARENA_LOST);
    ck_assert_ptr_null(event);
    cuai_streams_end(&host);
    cuai_streams_open_host(&host, "host");
    end_both();
}
END_TEST

/* ---- Captures ------------------------------------------------------------ */

START_TEST(captured_stream_is_given_nothing)
{
    cuai_cu_graph_t graph = NULL;
    void *event = NULL;
    void *more = NULL;
    open_both();
    cuarena_stream_t captured = cuda_test_stream();
    expect_ok(cuai_streams_record_event(&device, used, &event));
    expect_cu(cuda_test()->cuStreamBeginCapture(captured, CUAI_CU_STREAM_CAPTURE_MODE_RELAXED));
    expect_status(cuai_streams_wait_event(&device, event, captured, 0), CUARENA_BUSY);
    expect_message("is being captured");
    expect_status(cuai_streams_record_event(&device, captured, &more), CUARENA_BUSY);
    expect_status(cuai_streams_synchronize(&device, captured), CUARENA_BUSY);
    expect_message("is being captured");
    ck_assert_ptr_null(more);
    expect_cu(cuda_test()->cuStreamEndCapture(captured, &graph));
    ck_assert_ptr_nonnull(graph);
    expect_ok(cuai_streams_wait_event(&device, event, captured, 0));
    cuai_streams_end_event(&device, event);
    expect_cu(cuda_test()->cuGraphDestroy(graph));
    end_both();
    cuda_test_end_stream(captured);
    cuda_test_end_stream(used);
}
END_TEST

/* ---- Waiting without an event -------------------------------------------- */

/* By handle, as the default stream of the memory's context, and as that of the current one; of host
 * memory before it has seen any. */
START_TEST(synchronize_waits_for_the_stream)
{
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_pointer_t bytes = 0;
    ck_assert_int_eq(setenv("CUARENA_STANDIN_PACE", "0", 1), 0);
    open_both();
    const struct {
        cuai_streams_t *streams;
        cuarena_stream_t stream;
    } rows[] = {{&host, used}, {&host, NULL}, {&device, used}, {&device, NULL}};
    expect_cu(cuda->cuMemAlloc(&bytes, 4096));
    for (int i = 0; i < COUNT(rows); i++) {
        expect_cu(cuda->cuMemsetD8Async(bytes, 1, 4096, rows[i].stream));
        ck_assert_uint_gt(driver_standin()->standin_pending(), 0);
        uint64_t before = cuai_host_calls();
        expect_ok(cuai_streams_synchronize(rows[i].streams, rows[i].stream));
        expect_u64(cuai_host_calls(), before);
        expect_u64(driver_standin()->standin_pending(), 0);
    }
    expect_cu(cuda->cuMemFree(bytes));
}
END_TEST

static const char *const synchronize_calls[] = {"cuStreamSynchronize", "cuCtxGetCurrent"};

START_TEST(synchronize_that_fails)
{
    open_both();
    fail_next(synchronize_calls[_i], CUAI_CUDA_ERROR_UNKNOWN);
    expect_status(cuai_streams_synchronize(&device, used), CUARENA_DRIVER);
    expect_message("CUDA_ERROR_UNKNOWN");
    expect_ok(cuai_streams_synchronize(&device, used));
}
END_TEST

/* ---- Forks --------------------------------------------------------------- */

/* The number of the first thing that was otherwise. */
static int live_on_in_child(void *of_host, void *of_device)
{
    cuarena_stream_info_t info;
    void *event = NULL;
    uint64_t calls = driver_standin()->standin_calls(NULL);
    if (cuai_streams_query_event(&host, of_host) != CUARENA_OK ||
        cuai_streams_wait_event(&host, of_host, CUARENA_NO_STREAM, 1) != CUARENA_OK)
        return 1;
    if (cuai_streams_record_event(&host, used, &event) != CUARENA_OK ||
        cuai_streams_query_event(&host, event) != CUARENA_OK)
        return 2;
    if (cuai_streams_identify(&host, used, &info) != CUARENA_NO_DEVICE ||
        cuai_streams_identify(&device, used, &info) != CUARENA_NO_DEVICE)
        return 3;
    if (cuai_streams_query_event(&device, of_device) != CUARENA_OK ||
        cuai_streams_wait_event(&device, of_device, CUARENA_NO_STREAM, 1) != CUARENA_OK ||
        cuai_streams_record_event(&device, used, &of_device) != CUARENA_OK)
        return 4;
    if (cuai_streams_synchronize(&host, used) != CUARENA_NO_DEVICE)
        return 6;
    cuai_streams_end_event(&host, event);
    cuai_streams_end_event(&host, of_host);
    cuai_streams_end_event(&device, of_device);
    end_both();
    return driver_standin()->standin_calls(NULL) == calls ? 0 : 5;
}

START_TEST(work_of_the_process_that_forked_is_over)
{
    void *of_host = NULL;
    void *of_device = NULL;
    int status = 0;
    open_both();
    expect_ok(cuai_streams_record_event(&host, used, &of_host));
    expect_ok(cuai_streams_record_event(&device, used, &of_device));
    pid_t child = fork();
    if (child == 0)
        exit(live_on_in_child(of_host, of_device));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    cuai_streams_end_event(&host, of_host);
    cuai_streams_end_event(&device, of_device);
}
END_TEST

/* ---- After each test ----------------------------------------------------- */

/* What records all work of a context came with 12.5: tests of it choose the driver themselves, also
 * where all others run on an old one. */
static void choose_no_old_driver(void)
{
    ck_assert_int_eq(unsetenv("CUARENA_STANDIN_VERSION"), 0);
}

static void add_standin(Suite *suite)
{
    (void)suite_add_list(suite, "stand-in", TEST_LIST(every_call_fails));
    TCase *sound = suite_add_list(
        suite, "sound",
        TEST_LIST(default_stream_that_is_recorded_before_it_was_seen, all_work_of_host_memory,
                  all_work_of_two_contexts, all_work_with_a_driver_before_12_5,
                  captured_stream_is_given_nothing, synchronize_waits_for_the_stream,
                  work_of_the_process_that_forked_is_over));
    tcase_add_loop_test(sound, stream_that_the_driver_does_not_know, 0, COUNT(unknown_cases));
    tcase_add_loop_test(sound, all_work_that_could_not_be_recorded, 0, COUNT(all_work_calls));
    tcase_add_loop_test(sound, synchronize_that_fails, 0, COUNT(synchronize_calls));
    tcase_add_checked_fixture(sound, choose_no_old_driver, cuda_test_look_after);
    TCase *lost = suite_add_list(suite, "lost", /* its events stay the driver's */
                                 TEST_LIST(default_stream_after_its_context_was_lost,
                                           all_work_of_a_lost_device,
                                           device_lost_while_its_stream_is_asked_for));
    tcase_add_loop_test(lost, device_lost_while_it_is_waited_for, 0, 2);
    tcase_add_checked_fixture(lost, choose_no_old_driver, NULL);
}

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("streams_failures");
    if (kind != DRIVER_NONE)
        tcase_add_checked_fixture(
            suite_add_list(suite, "any", TEST_LIST(every_refusal_of_the_host)), NULL,
            cuda_test_look_after);
    if (driver_is_standin_for("failures of the driver"))
        add_standin(suite);
    return driver_result(kind, suite_main(suite));
}
