#include "support/driver_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER_FILE "libcuda.so.1"
#define DRIVER_VARIABLE "CUARENA_CUDA_LIBRARY" /* as the library has it */

/* ---- Its functions ----------------------------------------------------- */

static void *library(void)
{
    static void *opened;
    const char *name = getenv(DRIVER_VARIABLE);
    if (opened == NULL)
        opened =
            dlopen(name != NULL && name[0] != '\0' ? name : DRIVER_FILE, RTLD_NOW | RTLD_LOCAL);
    return opened;
}

/* dlsym() gives an object's pointer where a function's is wanted. */
bool driver_symbol(const char *name, void *member)
{
    void *found = library() != NULL ? dlsym(library(), name) : NULL;
    memcpy(member, &found, sizeof(found));
    return found != NULL;
}

const standin_control_t *standin;

const standin_control_t *driver_standin(void)
{
    static standin_control_t control;
    bool found = true;
#define FIND(name) found = driver_symbol(#name, &control.name) && found;
    STANDIN_CALLS(FIND)
#undef FIND
    return found ? &control : NULL;
}

void driver_bracket_begin(unsigned rules, const char *what)
{
    if (driver_standin() != NULL)
        driver_standin()->standin_bracket_begin(rules, what);
}

size_t driver_bracket_end(void)
{
    return driver_standin() != NULL ? driver_standin()->standin_bracket_end() : 0;
}

size_t driver_reports(standin_kind_t kind)
{
    return driver_standin() != NULL ? driver_standin()->standin_report_count(kind) : 0;
}

void driver_reports_clear(void)
{
    if (driver_standin() != NULL)
        driver_standin()->standin_reports_clear();
}

/* ---- Whether there is one ---------------------------------------------- */

/* What the process that looks tells by its exit status: the kind, and the
 * count of devices above it. */
#define KIND_BITS 2
#define DEVICES_MOST 16

static int devices_seen;

/* The calls are no more than these, whatever the driver's version. */
static int look(void)
{
    int (*init)(unsigned) = NULL;
    int (*get_count)(int *) = NULL;
    int count = 0;
    if (library() == NULL)
        fprintf(stderr, "no driver: %s\n", dlerror());
    if (!driver_symbol("cuInit", &init) || !driver_symbol("cuDeviceGetCount", &get_count))
        return DRIVER_NONE;
    int result = init(0);
    if (result == 0)
        result = get_count(&count);
    if (result != 0 || count == 0) {
        fprintf(stderr, "no device: the driver says %d\n", result);
        return DRIVER_NONE;
    }
    if (count > DEVICES_MOST)
        count = DEVICES_MOST;
    int kind = driver_standin() != NULL ? DRIVER_STANDIN : DRIVER_REAL;
    return count << KIND_BITS | kind;
}

static driver_kind_t look_elsewhere(void)
{
    int status = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(look());
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return DRIVER_NONE;
    int seen = WEXITSTATUS(status);
    devices_seen = seen >> KIND_BITS;
    return (driver_kind_t)(seen & ((1 << KIND_BITS) - 1));
}

driver_kind_t driver_kind(void)
{
    static driver_kind_t kind;
    static bool looked;
    if (!looked)
        kind = look_elsewhere();
    looked = true;
    return kind;
}

int driver_device_count(void)
{
    (void)driver_kind();
    return devices_seen;
}

bool driver_is_standin_for(const char *tests)
{
    bool here = driver_kind() == DRIVER_STANDIN;
    if (!here)
        printf("skipped: %s: about the stand-in\n", tests);
    return here;
}

bool driver_has_two_devices_for(const char *tests)
{
    bool two = driver_kind() == DRIVER_STANDIN || driver_device_count() >= 2;
    if (!two)
        printf("skipped: %s: for two devices\n", tests);
    return two;
}
