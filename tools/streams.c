#include "streams.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cuarena/driver.h"

/* A label is a multiple of this, which no special handle is. */
#define LABEL_STEP 4096u

#define NON_BLOCKING 1u /* as the driver calls it */

/* The few functions of the driver that streams take. */
typedef struct streams_driver {
    void *library;
    int device;
    void *context; /* NULL until it is retained */
    bool entered;  /* the context is current */
    int (*device_get)(int *device_out, int ordinal);
    int (*retain)(void **context_out, int device);
    int (*release)(int device);
    int (*push)(void *context);
    int (*pop)(void **context_out);
    int (*create)(cuarena_stream_t *stream_out, unsigned flags);
    int (*destroy)(cuarena_stream_t stream);
} streams_driver_t;

/* ---- The driver ---------------------------------------------------------- */

/* `function` is a pointer to one, which POSIX wants to have the form of an object's address. */
static bool find(const streams_driver_t *driver, const char *name, void *function, fault_t *fault)
{
    void *found = dlsym(driver->library, name);
    if (found == NULL)
        return fault_set(fault, "--streams: the driver has no %s", name);
    memcpy(function, &found, sizeof found);
    return true;
}

static bool find_all(streams_driver_t *d, fault_t *fault)
{
    return find(d, "cuDeviceGet", &d->device_get, fault) &&
           find(d, "cuDevicePrimaryCtxRetain", &d->retain, fault) &&
           find(d, "cuDevicePrimaryCtxRelease_v2", &d->release, fault) &&
           find(d, "cuCtxPushCurrent_v2", &d->push, fault) &&
           find(d, "cuCtxPopCurrent_v2", &d->pop, fault) &&
           find(d, "cuStreamCreate", &d->create, fault) &&
           find(d, "cuStreamDestroy_v2", &d->destroy, fault);
}

static bool succeeded(int result, const char *function, fault_t *fault)
{
    return result == 0 || fault_set(fault, "--streams: %s answered error %d", function, result);
}

/* The file that the library opened, once more. */
static bool open_driver(streams_driver_t *driver, fault_t *fault)
{
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    if (cuarena_driver_info(&info) != CUARENA_OK)
        return fault_library(fault, "--streams: memory none does without a "
                                    "driver, the others take streams of one");
    driver->library = dlopen(info.library, RTLD_NOW | RTLD_LOCAL);
    if (driver->library == NULL)
        return fault_set(fault, "--streams: %s does not open", info.library);
    return find_all(driver, fault);
}

static bool enter(streams_driver_t *driver, int32_t ordinal, fault_t *fault)
{
    if (!succeeded(driver->device_get(&driver->device, ordinal), "cuDeviceGet", fault) ||
        !succeeded(driver->retain(&driver->context, driver->device), "cuDevicePrimaryCtxRetain",
                   fault))
        return false;
    driver->entered = driver->push(driver->context) == 0;
    return driver->entered || fault_set(fault, "--streams: cuCtxPushCurrent failed");
}

static void leave(const streams_driver_t *driver)
{
    void *popped = NULL;
    if (driver->entered)
        (void)driver->pop(&popped);
    if (driver->context != NULL)
        (void)driver->release(driver->device);
    if (driver->library != NULL)
        (void)dlclose(driver->library);
}

/* ---- Streams ------------------------------------------------------------- */

static bool create_all(streams_t *streams, size_t count, fault_t *fault)
{
    while (streams->count < count) {
        cuarena_stream_t *handle = &streams->handles[streams->count];
        if (!succeeded(streams->driver->create(handle, NON_BLOCKING), "cuStreamCreate", fault))
            return false;
        streams->count++;
    }
    return true;
}

static bool make_real(streams_t *streams, int32_t device, size_t count, fault_t *fault)
{
    streams->driver = must_have(NULL, 1, sizeof *streams->driver);
    *streams->driver = (streams_driver_t){.library = NULL};
    return open_driver(streams->driver, fault) && enter(streams->driver, device, fault) &&
           create_all(streams, count, fault);
}

static void make_labels(streams_t *streams, size_t count)
{
    for (size_t i = 0; i < count; i++)
        streams->handles[i] = (cuarena_stream_t)(uintptr_t)((i + 1) * LABEL_STEP);
    streams->count = count;
}

bool streams_open(streams_t *streams, const cuarena_config_t *config, size_t count, fault_t *fault)
{
    *streams = (streams_t){.handles = NULL};
    if (count > CUARENA_MAX_STREAMS)
        return fault_set(fault,
                         "--streams: the trace has %zu streams, an arena "
                         "knows at most %d",
                         count, CUARENA_MAX_STREAMS);
    streams->handles = must_have(NULL, count, sizeof *streams->handles);
    if (config->memory == CUARENA_MEMORY_NONE)
        make_labels(streams, count);
    else if (!make_real(streams, config->device, count, fault)) {
        streams_close(streams);
        return false;
    }
    return true;
}

void streams_close(streams_t *streams)
{
    const streams_driver_t *driver = streams->driver;
    if (driver != NULL) {
        for (size_t i = 0; i < streams->count; i++)
            (void)driver->destroy(streams->handles[i]);
        leave(driver);
    }
    free(streams->driver);
    free(streams->handles);
    *streams = (streams_t){.handles = NULL};
}
