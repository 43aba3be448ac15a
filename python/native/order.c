/* Order between streams, for consumers of a block that name another one than its own. The arena
 * orders its bytes; what a program wrote to them is ordered here, by an event of the driver's. */
#include "native.h"

#include <dlfcn.h>

/* What is called of the driver: CUevent and CUcontext are pointers. */
typedef struct driver {
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*create)(void **event, unsigned flags);
    int (*record)(void *event, cuarena_stream_t stream);
    int (*wait)(cuarena_stream_t stream, void *event, unsigned flags);
    int (*destroy)(void *event);
} driver_t;

/* An entry point; a pointer to a function is not one to data, so it is copied as bytes. */
static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* The library that the arena itself has opened. */
static bool open_driver(driver_t *driver)
{
    cuarena_driver_info_t info;
    void *library;

    cuarena_driver_info_init(&info);
    if (cuarena_driver_info(&info) != CUARENA_OK)
        return false;
    library = dlopen(info.library, RTLD_NOW | RTLD_LOCAL);
    return library && find(library, "cuCtxPushCurrent_v2", &driver->push) &&
           find(library, "cuCtxPopCurrent_v2", &driver->pop) &&
           find(library, "cuEventCreate", &driver->create) &&
           find(library, "cuEventRecord", &driver->record) &&
           find(library, "cuStreamWaitEvent", &driver->wait) &&
           find(library, "cuEventDestroy_v2", &driver->destroy);
}

static bool wait_by_event(const driver_t *driver, cuarena_stream_t from, cuarena_stream_t to)
{
    enum {
        WITHOUT_TIME = 2
    };
    void *event;
    bool done;

    if (driver->create(&event, WITHOUT_TIME) != 0)
        return false;
    done = driver->record(event, from) == 0 && driver->wait(to, event, 0) == 0;
    driver->destroy(event);
    return done;
}

static bool order(const driver_t *driver, void *context, cuarena_stream_t from, cuarena_stream_t to)
{
    void *popped;
    bool done;

    if (driver->push(context) != 0)
        return false;
    done = wait_by_event(driver, from, to);
    driver->pop(&popped);
    return done;
}

/* The legacy default stream has two names. */
static bool is_same(cuarena_stream_t one, cuarena_stream_t other)
{
    return (one ? one : CUARENA_STREAM_LEGACY) == (other ? other : CUARENA_STREAM_LEGACY);
}

cuarena_status_t native_order(owned_arena_t *home, cuarena_stream_t from, cuarena_stream_t to)
{
    cuarena_properties_t properties;
    driver_t driver;

    if (from == CUARENA_NO_STREAM || to == CUARENA_NO_STREAM || is_same(from, to))
        return CUARENA_OK;
    cuarena_properties_init(&properties);
    cuarena_properties(home->arena, &properties);
    if (!properties.context)
        return CUARENA_OK;
    if (!open_driver(&driver) || !order(&driver, properties.context, from, to))
        return CUARENA_DRIVER;
    return CUARENA_OK;
}
