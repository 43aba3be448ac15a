#define _GNU_SOURCE
#include "memory/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"

#define LIBRARY "libcuda.so.1"
#define LIBRARY_VARIABLE "CUARENA_CUDA_LIBRARY"

typedef enum driver_state {
    STATE_UNTRIED,
    STATE_OPENING, /* by the holder of the lock */
    STATE_OPEN,
    STATE_ABSENT, /* `reason` says why */
    STATE_FORKED
} driver_state_t;

static cuai_lock_t lock = CUAI_LOCK_INIT;
static _Atomic(driver_state_t) state = STATE_UNTRIED;
static cuai_cuda_t driver; /* read-only once it is open */
static char reason[224];   /* read-only once it is absent */
_Thread_local uint64_t cuai_cuda_calls;

/* ---- Forks ------------------------------------------------------------- */

/* Called in the child, where the driver does not work and the thread that held the lock does not
 * exist. */
static void forget_driver(void)
{
    driver_state_t was = atomic_load(&state);
    if (was == STATE_OPENING || was == STATE_OPEN)
        atomic_store(&state, STATE_FORKED);
    cuai_lock_reset(&lock);
}

/* ---- Opening ----------------------------------------------------------- */

/* Sets `reason`; false, so that callers can return it. */
CUAI_PRINTF(1, 2) static bool because(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return false;
}

/* A program that runs with more rights than its user opens no file that the user names. */
const char *cuai_cuda_library_name(void)
{
#if defined(__GLIBC__)
    const char *name = secure_getenv(LIBRARY_VARIABLE);
#else
    const char *name = getenv(LIBRARY_VARIABLE);
#endif
    return name != NULL && name[0] != '\0' ? name : LIBRARY;
}

/* dlsym gives an object's address for a function's; POSIX wants the two to
 * have one form. */
#define ASSIGN(member, address) memcpy(&(member), &(address), sizeof(void *))

/* How the entry points are found: by cuGetProcAddress_v2, which drivers have from CUDA 12.0 on. */
typedef struct finder {
    const char *library;
    cuai_cu_get_proc_address_v2_t find;
} finder_t;

static bool find_finder(void *library, finder_t *finder)
{
    void *address = dlsym(library, "cuGetProcAddress_v2");
    ASSIGN(finder->find, address);
    return address != NULL || because("%s has no cuGetProcAddress_v2", finder->library);
}

/* An entry point, or NULL. NULL as a stream is the legacy one: programs that want the stream of the
 * thread pass its handle. */
static void *find(const finder_t *finder, const char *name, int since)
{
    const uint64_t flags = CUAI_CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    void *found = NULL;
    cuai_cu_query_result_t query;
    cuai_cu_result_t result = finder->find(name, &found, since, flags, &query);
    return result == CUAI_CUDA_SUCCESS ? found : NULL;
}

/* Comes before anything else is looked up, which an old driver may lack. */
static bool check_version(void *library, const char *name)
{
    void *address = dlsym(library, "cuDriverGetVersion");
    cuai_cu_result_t (*get_version)(int *) = NULL;
    int version = 0;
    CUAI_ASSERT(library != NULL);
    ASSIGN(get_version, address);
    if (get_version == NULL)
        return because("%s has no cuDriverGetVersion", name);
    cuai_cu_result_t result = get_version(&version);
    if (result != CUAI_CUDA_SUCCESS)
        return because("cuDriverGetVersion of %s answered %s", name, cuai_cuda_name(result));
    if (version < CUAI_CUDA_OLDEST)
        return because("the driver is one of CUDA %d.%d, %d.%d and later are "
                       "accepted",
                       version / 1000, version % 1000 / 10, CUAI_CUDA_OLDEST / 1000,
                       CUAI_CUDA_OLDEST % 1000 / 10);
    driver.version = version;
    return true;
}

#define FIND(name, since, parameters)                                                              \
    found = find(finder, #name, since);                                                            \
    ASSIGN(driver.name, found);

#define REQUIRE(name, since, parameters)                                                           \
    FIND(name, since, parameters)                                                                  \
    if (found == NULL)                                                                             \
        return because("%s, a driver of CUDA %d.%d, has no " #name, finder->library,               \
                       driver.version / 1000, driver.version % 1000 / 10);

static bool find_entries(const finder_t *finder)
{
    void *found;
    CUAI_ASSERT(finder->find != NULL);
    CUAI_CUDA_REQUIRED(REQUIRE)
    CUAI_CUDA_OPTIONAL(FIND)
    CUAI_CUDA_OPTIONAL_12040(FIND)
    CUAI_CUDA_OPTIONAL_12080(FIND)
    return true;
}

static bool refused(cuai_cu_result_t result, const char *call)
{
    const char *text = NULL;
    CUAI_ASSERT(result != CUAI_CUDA_SUCCESS && driver.cuGetErrorString != NULL);
    (void)driver.cuGetErrorString(result, &text);
    return because("%s answered %s (%s)", call, cuai_cuda_name(result),
                   text != NULL ? text : "no text");
}

static bool start(void)
{
    CUAI_ASSERT(driver.cuInit != NULL);
    cuai_cu_result_t result = driver.cuInit(0);
    if (result != CUAI_CUDA_SUCCESS)
        return refused(result, "cuInit");
    result = driver.cuDeviceGetCount(&driver.device_count);
    if (result != CUAI_CUDA_SUCCESS)
        return refused(result, "cuDeviceGetCount");
    return driver.device_count > 0 || because("the driver has no device");
}

/* The fork handler comes first, because the driver's start may fork. */
static bool open_driver(void)
{
    finder_t finder = {.library = cuai_cuda_library_name()};
    CUAI_ASSERT(atomic_load(&state) == STATE_OPENING);
    if (pthread_atfork(NULL, NULL, forget_driver) != 0)
        return because("the host has no memory for a fork handler");
    (void)snprintf(driver.library, sizeof driver.library, "%s", finder.library);
    void *library = dlopen(finder.library, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *error = dlerror();
        return because("the driver's library was not opened: %s",
                       error != NULL ? error : finder.library);
    }
    return check_version(library, finder.library) && find_finder(library, &finder) &&
           find_entries(&finder) && start();
}

static void open_once(void)
{
    cuai_lock(&lock);
    bool first = atomic_load(&state) == STATE_UNTRIED;
    if (first) {
        atomic_store(&state, STATE_OPENING);
        atomic_store(&state, open_driver() ? STATE_OPEN : STATE_ABSENT);
    }
    cuai_unlock(&lock);
    if (first && atomic_load(&state) == STATE_OPEN)
        cuai_log(CUARENA_LOG_INFO, "driver of CUDA %d.%d, %d devices", driver.version / 1000,
                 driver.version % 1000 / 10, driver.device_count);
}

static const cuai_cuda_t *open_slowly(void)
{
    driver_state_t now = atomic_load(&state);
    if (now == STATE_UNTRIED || now == STATE_OPENING) {
        open_once();
        now = atomic_load(&state);
    }
    if (now == STATE_OPEN)
        return &driver;
    CUAI_ASSERT(now == STATE_FORKED || (now == STATE_ABSENT && reason[0] != '\0'));
    (void)cuai_fail(CUARENA_NO_DEVICE, "no device: %s",
                    now == STATE_FORKED ? "this process was forked after CUDA was used" : reason);
    return NULL;
}

const cuai_cuda_t *cuai_cuda_if_open(void)
{
    driver_state_t now = atomic_load_explicit(&state, memory_order_acquire);
    return CUAI_LIKELY(now == STATE_OPEN) ? &driver : NULL;
}

const cuai_cuda_t *cuai_cuda(void)
{
    const cuai_cuda_t *open = cuai_cuda_if_open();
    return CUAI_LIKELY(open != NULL) ? open : open_slowly();
}

/* ---- Results ----------------------------------------------------------- */

typedef struct result_name {
    cuai_cu_result_t result;
    const char *name;
} result_name_t;

#define RESULT_NAME(name, value) {(value), #name},

static const result_name_t result_names[] = {CUAI_CUDA_RESULTS(RESULT_NAME)
                                                 CUAI_CUDA_RESULTS_12080(RESULT_NAME)};

static const char *known_name(cuai_cu_result_t result)
{
    for (size_t i = 0; i < sizeof result_names / sizeof result_names[0]; i++)
        if (result_names[i].result == result)
            return result_names[i].name;
    return NULL;
}

const char *cuai_cuda_name(cuai_cu_result_t result)
{
    const cuai_cuda_t *cuda = cuai_cuda_if_open();
    const char *name = known_name(result);
    if (name == NULL && cuda != NULL)
        (void)cuai_cu(cuda)->cuGetErrorName(result, &name);
    return name != NULL ? name : "an unknown error";
}

static const char *text_of(cuai_cu_result_t result)
{
    const cuai_cuda_t *cuda = cuai_cuda_if_open();
    const char *text = NULL;
    if (cuda != NULL)
        (void)cuai_cu(cuda)->cuGetErrorString(result, &text);
    return text != NULL ? text : "no text";
}

bool cuai_cuda_is_sticky(cuai_cu_result_t result)
{
    switch (result) {
    case CUAI_CUDA_ERROR_NOT_INITIALIZED:
    case CUAI_CUDA_ERROR_DEINITIALIZED:
    case CUAI_CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUAI_CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUAI_CUDA_ERROR_CONTAINED:
    case CUAI_CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUAI_CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUAI_CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUAI_CUDA_ERROR_ASSERT:
    case CUAI_CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUAI_CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUAI_CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUAI_CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUAI_CUDA_ERROR_INVALID_PC:
    case CUAI_CUDA_ERROR_LAUNCH_FAILED:
    case CUAI_CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUAI_CUDA_ERROR_MPS_RPC_FAILURE:
    case CUAI_CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUAI_CUDA_ERROR_EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}

/* Whether the call is there to take memory. An event counts: those who lack one do without it for
 * now. */
static bool takes_memory(const char *call)
{
    static const char *const takers[] = {
        "cuDevicePrimaryCtxRetain",
        "cuEventCreate",
        "cuMemAddressReserve",
        "cuMemAlloc",
        "cuMemAllocFromPoolAsync",
        "cuMemAllocManaged",
        "cuMemCreate",
        "cuMemHostAlloc",
        "cuMemMap",
        "cuMemPoolCreate",
        "cuMemSetAccess",
        "cuModuleLoadDataEx",
    };
    size_t i = 0;
    while (i < sizeof takers / sizeof takers[0] && strcmp(takers[i], call) != 0)
        i++;
    return i < sizeof takers / sizeof takers[0];
}

static cuarena_status_t status_of(cuai_cu_result_t result, const char *call)
{
    CUAI_ASSERT(result != CUAI_CUDA_SUCCESS);
    if (result == CUAI_CUDA_ERROR_OUT_OF_MEMORY && takes_memory(call))
        return CUARENA_OUT_OF_MEMORY;
    return cuai_cuda_is_sticky(result) ? CUARENA_LOST : CUARENA_DRIVER;
}

cuarena_status_t cuai_cuda_fail_with(cuai_cu_result_t result, const char *call, const char *format,
                                     va_list arguments)
{
    char what[128];
    (void)vsnprintf(what, sizeof what, format, arguments);
    cuarena_status_t status = cuai_fail(status_of(result, call), "%s: %s answered %s (%s)", what,
                                        call, cuai_cuda_name(result), text_of(result));
    cuai_error_code(result);
    return status;
}

cuarena_status_t cuai_cuda_fail(cuai_cu_result_t result, const char *call, const char *format, ...)
{
    va_list arguments;
    CUAI_ASSERT(result != CUAI_CUDA_SUCCESS);
    va_start(arguments, format);
    cuarena_status_t status = cuai_cuda_fail_with(result, call, format, arguments);
    va_end(arguments);
    return status;
}
