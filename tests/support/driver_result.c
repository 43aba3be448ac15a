/* In a file of its own: scripts/gpu-bundle knows by it which programs want a device. */
#include "support/driver_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77

int driver_result(driver_kind_t kind, int result)
{
    const char *wanted = getenv("CUARENA_REQUIRE_GPU");
    if (kind != DRIVER_NONE || result != EXIT_SUCCESS)
        return result;
    bool require = wanted != NULL && strcmp(wanted, "1") == 0;
    puts(require ? "CUARENA_REQUIRE_GPU=1 and no device" : "skipped: no device");
    return require ? EXIT_FAILURE : SKIPPED;
}
