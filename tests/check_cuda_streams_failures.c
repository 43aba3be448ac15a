/*
 * Streams and markers where a call of the driver fails, or the host has no
 * memory: an error, and no event is left. See check_cuda_streams.c.
 */
#include "support/base_support.h"
#include "support/cuda_test.h"
#include "support/each_failure.h"
#include "support/expect.h"

#include "memory/cuda/streams.h"

/* A stream of the context that is current. */
static cuarena_stream_t new_stream(void)
{
    cuarena_stream_t stream = NULL;
    expect_cu(
        cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

static void end_stream(cuarena_stream_t stream)
{
    expect_cu(cuda_test()->cuStreamDestroy(stream));
}

static cuarena_stream_t failing_stream;

/* Opens host memory for the streams of a context, as if for the first time. */
static cuarena_status_t use_a_stream(void)
{
    cuai_streams_t streams;
    cuarena_stream_info_t info;
    void *marker = NULL;
    cuai_streams_open_host(&streams, "host");
    cuarena_status_t status =
        cuai_streams_identify(&streams, failing_stream, &info);
    if (status == CUARENA_OK)
        status = cuai_streams_identify(&streams, NULL, &info);
    if (status == CUARENA_OK)
        status = cuai_streams_mark(&streams, failing_stream, &marker);
    if (status == CUARENA_OK)
        status = cuai_streams_wait(&streams, marker, NULL, 0);
    if (status == CUARENA_OK)
        status = cuai_streams_wait(&streams, marker, CUARENA_NO_STREAM, 1);
    if (status == CUARENA_OK)
        status = cuai_streams_query(&streams, marker);
    if (status == CUARENA_OK)
        status = cuai_streams_drain(&streams, failing_stream);
    if (marker != NULL)
        cuai_streams_unmark(&streams, marker);
    cuai_streams_end(&streams);
    return status;
}

static bool is_of_the_driver(cuarena_status_t status, cuai_cu_result_t result)
{
    (void)result;
    return status == CUARENA_DRIVER;
}

START_TEST(test_every_call_fails)
{
    (void)cuda_test_use_device(0);
    failing_stream = new_stream();
    ck_assert_int_ge(each_call_fails(use_a_stream, CUAI_CUDA_ERROR_UNKNOWN,
                                     is_of_the_driver),
                     20);
    end_stream(failing_stream);
}
END_TEST

START_TEST(test_every_refusal_of_the_host)
{
    (void)cuda_test_use_device(0);
    failing_stream = new_stream();
    each_allocation_fails(use_a_stream);
    end_stream(failing_stream);
}
END_TEST

/* What the driver found wrong, and events that nobody ended. */
static void look_after(void)
{
    const standin_control_t *control = driver_standin();
    if (control == NULL)
        return;
    ck_assert_msg(control->standin_report_count(0) == 0, "the stand-in: %s",
                  control->standin_report_text(0));
    ck_assert_msg(control->standin_live("event") == 0, "%zu events are left",
                  control->standin_live("event"));
}

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("streams_failures");
    if (kind != DRIVER_NONE)
        tcase_add_checked_fixture(
            suite_add_list(suite, "any",
                           TEST_LIST(test_every_refusal_of_the_host)),
            NULL, look_after);
    if (kind == DRIVER_STANDIN)
        (void)suite_add_list(suite, "stand-in",
                             TEST_LIST(test_every_call_fails));
    return driver_result(kind, suite_main(suite));
}
