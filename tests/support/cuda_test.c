#include "support/cuda_test.h"

#include "checks.h"
#include "support/expect.h"

#include <string.h>

static void find_all(cuda_test_t *cuda)
{
    cuai_cu_get_proc_address_v2_t find;
    cuai_cu_query_result_t query;
    void *found;
    ck_assert_msg(driver_symbol("cuGetProcAddress_v2", &find), "no driver of CUDA 12.0 or later");
#define FIND(name, since, parameters)                                                              \
    found = NULL;                                                                                  \
    (void)find(#name, &found, since, CUAI_CU_GET_PROC_ADDRESS_LEGACY_STREAM, &query);              \
    memcpy(&cuda->name, &found, sizeof(found));
    CUAI_CUDA_ENTRIES(FIND)
    CUAI_CUDA_TEST_ENTRIES(FIND)
#undef FIND
}

const cuda_test_t *cuda_test(void)
{
    static cuda_test_t cuda;
    if (cuda.device_count == 0) {
        find_all(&cuda);
        expect_cu(cuda.cuInit(0));
        expect_cu(cuda.cuDeviceGetCount(&cuda.device_count));
        ck_assert_int_gt(cuda.device_count, 0);
    }
    return &cuda;
}

void expect_cu_at(cuai_cu_result_t result, const char *what, const char *file, int line)
{
    const char *name = "no name";
    if (result == CUAI_CUDA_SUCCESS)
        return;
    (void)cuda_test()->cuGetErrorName(result, &name);
    ck_abort_msg("%s:%d: %s: expected success, got %s (%d)", file, line, what, name, result);
}

cuai_cu_context_t cuda_test_current(void)
{
    cuai_cu_context_t current = NULL;
    expect_cu(cuda_test()->cuCtxGetCurrent(&current));
    return current;
}

cuai_cu_context_t cuda_test_use_device(int ordinal)
{
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_context_t context = NULL;
    cuai_cu_device_t device;
    expect_cu(cuda->cuDeviceGet(&device, ordinal));
    expect_cu(cuda->cuDevicePrimaryCtxRetain(&context, device));
    expect_cu(cuda->cuCtxSetCurrent(context));
    return context;
}

cuarena_stream_t cuda_test_stream(void)
{
    cuarena_stream_t stream = NULL;
    expect_cu(cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

void cuda_test_end_stream(cuarena_stream_t stream)
{
    expect_cu(cuda_test()->cuStreamDestroy(stream));
}

void cuda_test_look_after(void)
{
    const standin_control_t *control = driver_standin();
    end_test();
    if (control == NULL)
        return;
    ck_assert_msg(control->standin_report_count(0) == 0, "the stand-in: %s",
                  control->standin_report_text(0));
    ck_assert_msg(control->standin_live("event") == 0, "%zu events are left",
                  control->standin_live("event"));
}
