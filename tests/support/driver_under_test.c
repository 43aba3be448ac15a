#include "driver_under_test.h"

#include "test_kernels_ptx.h"

#include "checks.h"

driver_t driver;

void driver_open(void)
{
#define FIND(name, symbol) (void)driver_symbol(#symbol, &driver.name);
    DRIVER_CALLS(FIND)
#undef FIND
    ck_assert_msg(driver.cuInit != NULL, "no driver");
}

void driver_start(void)
{
    driver_open();
    driver_ok(driver.cuInit(0));
}

/* ---- Help -------------------------------------------------------------- */

const char *driver_error_name(CUresult result)
{
    const char *name = NULL;
    if (driver.cuGetErrorName == NULL || driver.cuGetErrorName(result, &name) != CUDA_SUCCESS ||
        name == NULL)
        return "an unknown error";
    return name;
}

void expect_driver_at(CUresult got, CUresult want, const char *what, const char *file, int line)
{
    if (got != want) {
        ck_abort_msg("%s:%d: %s: expected %s, got %s", file, line, what, driver_error_name(want),
                     driver_error_name(got));
    }
}

CUcontext driver_take_context(CUdevice device)
{
    CUcontext context = NULL;
    driver_ok(driver.cuDevicePrimaryCtxRetain(&context, device));
    driver_ok(driver.cuCtxPushCurrent(context));
    return context;
}

void driver_drop_context(CUdevice device)
{
    CUcontext context;
    driver_ok(driver.cuCtxPopCurrent(&context));
    driver_ok(driver.cuDevicePrimaryCtxRelease(device));
}

CUstream driver_new_stream(unsigned flags)
{
    CUstream stream = NULL;
    driver_ok(driver.cuStreamCreate(&stream, flags));
    return stream;
}

CUevent driver_new_event(void)
{
    CUevent event = NULL;
    driver_ok(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

void driver_order(CUstream earlier, CUstream later)
{
    CUevent event = driver_new_event();
    driver_ok(driver.cuEventRecord(event, earlier));
    driver_ok(driver.cuStreamWaitEvent(later, event, 0));
    driver_ok(driver.cuEventDestroy(event));
}

void driver_launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream,
                   void **params)
{
    driver_ok(
        driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL));
}

CUfunction driver_test_kernel(CUmodule *module, const char *name)
{
    CUfunction function = NULL;
    if (*module == NULL)
        driver_ok(driver.cuModuleLoadData(module, test_kernels_ptx));
    driver_ok(driver.cuModuleGetFunction(&function, *module, name));
    return function;
}
