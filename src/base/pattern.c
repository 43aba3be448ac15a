#define _GNU_SOURCE
#include "base/pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

bool cuai_pattern_ok(const char *pattern)
{
    CUAI_ASSERT(pattern != NULL);
    while ((pattern = strchr(pattern, '%')) != NULL) {
        if (pattern[1] == '\0' || strchr("np%", pattern[1]) == NULL)
            return false;
        pattern += 2;
    }
    return true;
}

bool cuai_pattern_is_numbered(const char *pattern)
{
    CUAI_ASSERT(cuai_pattern_ok(pattern));
    while ((pattern = strchr(pattern, '%')) != NULL && pattern[1] != 'n')
        pattern += 2;
    return pattern != NULL;
}

void cuai_pattern_print(const char *pattern, uint64_t number, char path[CUAI_PATTERN_PATH])
{
    CUAI_ASSERT(cuai_pattern_ok(pattern) && strlen(pattern) < CUAI_PATTERN_SIZE);
    size_t used = 0;
    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '%' || *++pattern == '%')
            path[used++] = *pattern;
        else
            used += (size_t)snprintf(path + used, CUAI_PATTERN_PATH - used, "%" PRIu64,
                                     *pattern == 'n' ? number : (uint64_t)getpid());
    }
    CUAI_ASSERT(used < CUAI_PATTERN_PATH);
    path[used] = '\0';
}
