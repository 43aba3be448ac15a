#include "driver_under_test.h"

#include "test_kernels_ptx.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER_FILE "libcuda.so.1"
#define DRIVER_VARIABLE "CUARENA_CUDA_LIBRARY" /* as the library has it */
#define SKIPPED 77

driver_t driver;
static standin_control_t control;
static void *library;

/* dlsym() gives an object's pointer where a function's is wanted. */
static void find(const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof(address));
}

static bool open_driver(void)
{
    const char *name = getenv(DRIVER_VARIABLE);
    if (library == NULL)
        library = dlopen(name != NULL && name[0] != '\0' ? name : DRIVER_FILE,
                         RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
#define FIND_CALL(name, symbol) find(#symbol, &driver.name);
    DRIVER_CALLS(FIND_CALL)
#define FIND_CONTROL(name) find(#name, &control.name);
    STANDIN_CALLS(FIND_CONTROL)
    return true;
}

void driver_open(void)
{
    if (!open_driver()) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_FAILURE);
    }
}

void driver_start(void)
{
    driver_open();
    driver_ok(driver.cuInit(0));
}

const standin_control_t *driver_standin(void)
{
    driver_open();
    return control.standin_version != NULL ? &control : NULL;
}

/* ---- Whether there is one ---------------------------------------------- */

/* Runs in a child, so that the parent has not touched the driver. */
static int count_devices(void)
{
    int count = 0;
    if (!open_driver()) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        return 0;
    }
    CUresult result = driver.cuInit(0);
    if (result == CUDA_SUCCESS)
        result = driver.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS)
        fprintf(stderr, "no device: the driver says %d\n", (int)result);
    return result == CUDA_SUCCESS ? count : 0;
}

static int probe(void)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(count_devices());
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int driver_missing_devices(int count)
{
    int found = probe();
    const char *required = getenv("CUARENA_REQUIRE_GPU");
    if (found >= count)
        return 0;
    printf("%d devices found, %d needed\n", found, count);
    return required != NULL && strcmp(required, "1") == 0 ? EXIT_FAILURE
                                                          : SKIPPED;
}

int driver_missing(void)
{
    return driver_missing_devices(1);
}

/* ---- What only the stand-in does --------------------------------------- */

void driver_bracket_begin(unsigned rules, const char *what)
{
    if (driver_standin() != NULL)
        control.standin_bracket_begin(rules, what);
}

size_t driver_bracket_end(void)
{
    return driver_standin() != NULL ? control.standin_bracket_end() : 0;
}

size_t driver_reports(standin_kind_t kind)
{
    return driver_standin() != NULL ? control.standin_report_count(kind) : 0;
}

void driver_reports_clear(void)
{
    if (driver_standin() != NULL)
        control.standin_reports_clear();
}

/* ---- Help -------------------------------------------------------------- */

const char *driver_error_name(CUresult result)
{
    const char *name = NULL;
    if (driver.cuGetErrorName == NULL ||
        driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        return "an unknown error";
    return name;
}

void expect_driver_at(CUresult got, CUresult want, const char *what,
                      const char *file, int line)
{
    if (got != want) {
        ck_abort_msg("%s:%d: %s: expected %s, got %s", file, line, what,
                     driver_error_name(want), driver_error_name(got));
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

void driver_launch(CUfunction function, unsigned blocks, unsigned threads,
                   CUstream stream, void **params)
{
    driver_ok(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0,
                                    stream, params, NULL));
}

CUfunction driver_test_kernel(CUmodule *module, const char *name)
{
    CUfunction function = NULL;
    if (*module == NULL)
        driver_ok(driver.cuModuleLoadData(module, test_kernels_ptx));
    driver_ok(driver.cuModuleGetFunction(&function, *module, name));
    return function;
}
