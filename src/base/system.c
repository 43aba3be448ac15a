#define _GNU_SOURCE
#include "base/system.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/error.h"

/* The files read here are a few KiB; what is longer is cut. */
#define TEXT_SIZE 16384

/* Where a version of the control groups keeps what is asked here. */
typedef struct group_layout {
    const char *mount;     /* folder of the hierarchy's root */
    const char *limit;     /* file: bytes, or a word for "no limit" */
    const char *usage;     /* file: bytes */
    const char *droppable; /* key in memory.stat */
} group_layout_t;

static const group_layout_t unified = {"/sys/fs/cgroup", "/memory.max", "/memory.current",
                                       "inactive_file"};
static const group_layout_t hybrid = {"/sys/fs/cgroup/unified", "/memory.max", "/memory.current",
                                      "inactive_file"};
static const group_layout_t legacy = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
                                      "/memory.usage_in_bytes", "total_inactive_file"};

size_t cuai_system_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t cuai_system_ms(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- Small text files -------------------------------------------------- */

/* Reads the file of that folder. false: errno says why. */
static bool read_text(const char *folder, const char *name, char text[TEXT_SIZE])
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", folder, name);
    FILE *file = NULL;
    CUAI_ASSERT(name[0] == '/');
    if (length > 0 && (size_t)length < sizeof path)
        file = fopen(path, "re");
    else
        errno = ENAMETOOLONG;
    if (file == NULL)
        return false;
    text[fread(text, 1, TEXT_SIZE - 1, file)] = '\0';
    bool whole = !ferror(file);
    int error = errno;
    (void)fclose(file);
    errno = error;
    return whole;
}

/* The rest of the first line that begins with `key`, or NULL. */
static const char *after_key(const char *text, const char *key)
{
    CUAI_ASSERT(key[0] != '\0');
    size_t length = strlen(key);
    for (const char *line = text; line != NULL;) {
        if (strncmp(line, key, length) == 0)
            return line + length;
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return NULL;
}

static bool parse_u64(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    if (end == text || errno != 0)
        return false;
    *value = parsed;
    return true;
}

static bool read_u64(const char *folder, const char *name, uint64_t *value)
{
    CUAI_ASSERT(name[0] == '/');
    char text[TEXT_SIZE];
    return read_text(folder, name, text) && parse_u64(text, value);
}

/* ---- Control groups ---------------------------------------------------- */

/* What a group could drop from its file cache; 0 if it does not say. */
static uint64_t droppable_bytes(const group_layout_t *layout, const char *folder)
{
    char text[TEXT_SIZE];
    uint64_t bytes = 0;
    const char *rest =
        read_text(folder, "/memory.stat", text) ? after_key(text, layout->droppable) : NULL;
    return rest != NULL && parse_u64(rest, &bytes) ? bytes : 0;
}

/* How many bytes one group leaves; UINT64_MAX where it sets no limit. */
static uint64_t left_in(const group_layout_t *layout, const char *folder)
{
    uint64_t limit;
    uint64_t usage;
    if (!read_u64(folder, layout->limit, &limit) || !read_u64(folder, layout->usage, &usage))
        return UINT64_MAX;
    uint64_t stuck = usage - cuai_min(usage, droppable_bytes(layout, folder));
    return limit - cuai_min(limit, stuck);
}

/* How many bytes one group has in all; UINT64_MAX where it sets no limit. */
static uint64_t limit_of(const group_layout_t *layout, const char *folder)
{
    uint64_t limit;
    return read_u64(folder, layout->limit, &limit) ? limit : UINT64_MAX;
}

/* A measure of one group is left_in or limit_of. */
typedef uint64_t (*measure_fn)(const group_layout_t *layout, const char *folder);

/*
 * The least of a measure from the group `name` up to the root. A container may see its name as the
 * outside knows it and only its own part of the hierarchy: folders that are not there set no limit.
 */
static uint64_t least_from(const char *root, const group_layout_t *layout, const char *name,
                           measure_fn measure)
{
    CUAI_ASSERT(name[0] == '\0' || name[0] == '/');
    char folder[PATH_MAX];
    size_t top = strlen(root) + strlen(layout->mount);
    int length = snprintf(folder, sizeof folder, "%s%s%s", root, layout->mount, name);
    if (length < 0 || (size_t)length >= sizeof folder)
        return UINT64_MAX;
    uint64_t least = measure(layout, folder);
    for (size_t end = (size_t)length; end > top;) {
        end--;
        if (folder[end] != '/')
            continue;
        folder[end] = '\0';
        least = cuai_min(least, measure(layout, folder));
    }
    return least;
}

/* Whether "a,b,c" has the word "memory"; cuts it up. */
static bool controls_memory(char *controllers)
{
    const char *word;
    while ((word = strsep(&controllers, ",")) != NULL)
        if (strcmp(word, "memory") == 0)
            return true;
    return false;
}

static uint64_t least_for(const char *root, char *controllers, const char *name, measure_fn measure)
{
    if (*controllers == '\0')
        return cuai_min(least_from(root, &unified, name, measure),
                        least_from(root, &hybrid, name, measure));
    return controls_memory(controllers) ? least_from(root, &legacy, name, measure) : UINT64_MAX;
}

/* The least measure of all groups of the process, which are lines "number:controllers:name";
 * UINT64_MAX where there are none. */
static uint64_t least_of_groups(const char *root, measure_fn measure)
{
    char text[TEXT_SIZE];
    uint64_t least = UINT64_MAX;
    char *lines = read_text(root, "/proc/self/cgroup", text) ? text : NULL;
    for (char *line; (line = strsep(&lines, "\n")) != NULL;) {
        (void)strsep(&line, ":");
        char *controllers = strsep(&line, ":");
        if (line != NULL)
            least = cuai_min(least, least_for(root, controllers, line, measure));
    }
    return least;
}

/* ---- The whole --------------------------------------------------------- */

/* The bytes in a line of the kernel's, such as "MemTotal:", or fewer where a group has fewer. */
static cuarena_status_t least(const char *root, const char *key, measure_fn measure,
                              uint64_t *bytes_out)
{
    CUAI_ASSERT(strchr(key, ':') != NULL);
    char text[TEXT_SIZE];
    if (!read_text(root, "/proc/meminfo", text))
        return cuai_fail_driver(errno, "the host's memory is not known: %s/proc/meminfo: %s", root,
                                strerror(errno));
    const char *rest = after_key(text, key);
    uint64_t bytes;
    if (rest == NULL || !parse_u64(rest, &bytes) || !cuai_mul_checked(bytes, CUAI_KIB, &bytes))
        return cuai_fail_driver(ENODATA,
                                "the host's memory is not known: %s/proc/meminfo has no %.*s", root,
                                (int)strcspn(key, ":"), key);
    *bytes_out = cuai_min(bytes, least_of_groups(root, measure));
    return CUARENA_OK;
}

cuarena_status_t cuai_system_available(const char *root, uint64_t *bytes_out)
{
    return least(root, "MemAvailable:", left_in, bytes_out);
}

cuarena_status_t cuai_system_total(const char *root, uint64_t *bytes_out)
{
    return least(root, "MemTotal:", limit_of, bytes_out);
}
