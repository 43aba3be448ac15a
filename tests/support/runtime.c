#include "support/runtime.h"

#include "support/driver_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool failed(const char *name, const char *why)
{
    fprintf(stderr, "CUARENA_TEST_RUNTIME=%s: %s\n", name, why);
    return false;
}

/* The tests make current what they want to be. */
static bool leave_context(void)
{
    int (*set_current)(void *) = NULL;
    return driver_symbol("cuCtxSetCurrent", &set_current) && set_current(NULL) == 0;
}

bool runtime_begin(void)
{
    const char *name = getenv("CUARENA_TEST_RUNTIME");
    int (*free_device)(void *) = NULL;
    if (name == NULL || name[0] == '\0')
        return true;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return failed(name, dlerror());
    void *found = dlsym(library, "cudaFree");
    memcpy(&free_device, &found, sizeof free_device);
    if (free_device == NULL || free_device(NULL) != 0)
        return failed(name, "cudaFree(NULL) fails");
    return leave_context() || failed(name, "its context stays current");
}
