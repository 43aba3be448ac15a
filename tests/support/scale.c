#include "scale.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED UINT64_C(20261120)

/* valgrind is as slow as a sanitizer and cannot be seen by the compiler. */
static bool is_slow(void)
{
    return SCALE_SANITIZED || getenv("CUARENA_TEST_SLOW") != NULL;
}

static bool is_long(void)
{
    const char *scale = getenv("CUARENA_TEST_SCALE");
    return scale != NULL && strcmp(scale, "long") == 0;
}

uint64_t scale_pick(uint64_t sanitized, uint64_t short_run, uint64_t long_run)
{
    if (is_slow())
        return sanitized;
    return is_long() ? long_run : short_run;
}

bool scale_may_fork(void)
{
    return !is_slow();
}

bool scale_is_emulated(void)
{
    return getenv("CUARENA_TEST_EMULATED") != NULL;
}

double scale_timeout(double seconds)
{
    return is_long() ? 3600 : seconds;
}

uint64_t scale_seed(const char *what)
{
    const char *text = getenv("CUARENA_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : DEFAULT_SEED;
    printf("%s: CUARENA_TEST_SEED=%" PRIu64 "\n", what, seed);
    fflush(stdout);
    return seed;
}
