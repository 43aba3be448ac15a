#include "support/cuda_test.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library(void)
{
    static void *opened;
    const char *name = getenv("CUARENA_CUDA_LIBRARY");
    if (opened == NULL)
        opened =
            dlopen(name != NULL ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return opened;
}

bool cuda_test_symbol(const char *name, void *member)
{
    void *found = library() != NULL ? dlsym(library(), name) : NULL;
    memcpy(member, &found, sizeof(found));
    return found != NULL;
}

static void find_all(cuda_test_t *cuda)
{
    cuai_cu_get_proc_address_v2_t find;
    cuai_cu_query_result_t query;
    void *found;
    ck_assert_msg(cuda_test_symbol("cuGetProcAddress_v2", &find),
                  "no driver of CUDA 12.0 or later");
#define FIND(name, since, parameters)                                          \
    found = NULL;                                                              \
    (void)find(#name, &found, since, CUAI_CU_GET_PROC_ADDRESS_LEGACY_STREAM,   \
               &query);                                                        \
    memcpy(&cuda->name, &found, sizeof(found));
    CUAI_CUDA_ENTRIES(FIND)
    CUAI_CUDA_TEST_ENTRIES(FIND)
#undef FIND
}

const cuda_control_t *cuda_control(void)
{
    static cuda_control_t control;
    bool found =
        cuda_test_symbol("standin_version", &control.standin_fail_clear);
#define FIND(name, type, parameters)                                           \
    found = found && cuda_test_symbol(#name, &control.name);
    CUDA_TEST_CONTROL(FIND)
#undef FIND
    return found ? &control : NULL;
}

/* What the process that looks tells by its exit status: the kind, and the
 * count of devices above it. */
#define KIND_BITS 2
#define DEVICES_MOST 16

static int devices_seen;

static int look(void)
{
    cuai_cu_result_t (*init)(unsigned) = NULL;
    cuai_cu_result_t (*get_count)(int *) = NULL;
    int count = 0;
    if (!cuda_test_symbol("cuInit", &init) ||
        !cuda_test_symbol("cuDeviceGetCount", &get_count) ||
        init(0) != CUAI_CUDA_SUCCESS ||
        get_count(&count) != CUAI_CUDA_SUCCESS || count == 0)
        return CUDA_KIND_NONE;
    if (count > DEVICES_MOST)
        count = DEVICES_MOST;
    int kind = cuda_control() != NULL ? CUDA_KIND_STANDIN : CUDA_KIND_REAL;
    return count << KIND_BITS | kind;
}

cuda_kind_t cuda_test_kind(void)
{
    int status = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(look());
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return CUDA_KIND_NONE;
    int seen = WEXITSTATUS(status);
    devices_seen = seen >> KIND_BITS;
    return (cuda_kind_t)(seen & ((1 << KIND_BITS) - 1));
}

int cuda_test_device_count(void)
{
    return devices_seen;
}

int cuda_test_result(cuda_kind_t kind, int result)
{
    const char *wanted = getenv("CUARENA_REQUIRE_GPU");
    if (kind != CUDA_KIND_NONE || result != EXIT_SUCCESS)
        return result;
    bool require = wanted != NULL && strcmp(wanted, "1") == 0;
    puts(require ? "CUARENA_REQUIRE_GPU=1 and no device"
                 : "skipped: no device");
    return require ? EXIT_FAILURE : 77;
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

void expect_cu_at(cuai_cu_result_t result, const char *what, const char *file,
                  int line)
{
    const char *name = "no name";
    if (result == CUAI_CUDA_SUCCESS)
        return;
    (void)cuda_test()->cuGetErrorName(result, &name);
    ck_abort_msg("%s:%d: %s: expected success, got %s (%d)", file, line, what,
                 name, result);
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
