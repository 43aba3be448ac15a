#include "base/compiler.h"

#include <stdio.h>
#include <stdlib.h>

void cuai_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "cuarena: %s:%d: not so: %s\n", file, line, condition);
    abort();
}
