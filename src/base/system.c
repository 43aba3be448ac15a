#define _GNU_SOURCE
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const group_layout_t unified = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                       "inactive_file"};
static const group_layout_t hybrid = {"/sys/fs/cgroup/unified", "memory.max", "memory.current",
                                      "inactive_file"};
static const group_layout_t legacy = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                      "memory.usage_in_bytes", "total_inactive_file"};

size_t cuai_system_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- Small text files -------------------------------------------------- */

static ssize_t read_all(int file, char *text, size_t size)
{
    size_t filled = 0;
    while (filled < size) {
        ssize_t got = read(file, text + filled, size - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        filled += (size_t)got;
    }
    return (ssize_t)filled;
}

/* false: errno says why. */
static bool read_text(const char *path, char text[TEXT_SIZE])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read_all(file, text, TEXT_SIZE - 1);
    int error = errno;
    (void)close(file);
    errno = error;
    if (length < 0)
        return false;
    text[length] = '\0';
    return true;
}

/* The rest of the first line that begins with `key`, or NULL. */
static const char *after_key(const char *text, const char *key)
{
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

static bool read_u64(const char *folder, const char *file, uint64_t *value)
{
    char path[PATH_MAX];
    char text[TEXT_SIZE];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    return length > 0 && (size_t)length < sizeof path && read_text(path, text) &&
           parse_u64(text, value);
}

/* ---- Control groups ---------------------------------------------------- */

/* 0 if the group does not say. */
static uint64_t droppable_bytes(const group_layout_t *layout, const char *folder)
{
    char path[PATH_MAX];
    char text[TEXT_SIZE];
    int length = snprintf(path, sizeof path, "%s/memory.stat", folder);
    if (length < 0 || (size_t)length >= sizeof path || !read_text(path, text))
        return 0;
    const char *rest = after_key(text, layout->droppable);
    uint64_t bytes = 0;
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

/* One of the two functions above. */
typedef uint64_t (*measure_fn)(const group_layout_t *layout, const char *folder);

/*
 * The least of a measure from the group `name` up to the root. A container may see its name as the
 * outside knows it and only its own part of the hierarchy: folders that are not there set no limit.
 */
static uint64_t least_from(const char *root, const group_layout_t *layout, const char *name,
                           size_t name_length, measure_fn measure)
{
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s%s", root, layout->mount);
    if (length < 0 || (size_t)length + name_length >= sizeof folder)
        return UINT64_MAX;
    size_t top = (size_t)length;
    memcpy(folder + top, name, name_length);
    folder[top + name_length] = '\0';

    uint64_t least = measure(layout, folder);
    for (size_t end = top + name_length; end > top;) {
        end--;
        if (folder[end] != '/')
            continue;
        folder[end] = '\0';
        least = cuai_min(least, measure(layout, folder));
    }
    return least;
}

/* One line of /proc/self/cgroup: "number:controllers:name". */
typedef struct membership {
    const char *controllers;
    size_t controllers_length;
    const char *name;
    size_t name_length;
} membership_t;

static bool parse_membership(const char *line, membership_t *out)
{
    size_t length = strcspn(line, "\n");
    const char *first = memchr(line, ':', length);
    if (first == NULL)
        return false;
    const char *end = line + length;
    const char *second = memchr(first + 1, ':', (size_t)(end - (first + 1)));
    if (second == NULL)
        return false;
    *out = (membership_t){first + 1, (size_t)(second - (first + 1)), second + 1,
                          (size_t)(end - (second + 1))};
    return true;
}

/* Whether "a,b,c" has the word "memory". */
static bool controls_memory(const membership_t *group)
{
    static const char word[] = "memory";
    const size_t length = sizeof word - 1;
    const char *end = group->controllers + group->controllers_length;
    for (const char *at = group->controllers; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        if ((size_t)(stop - at) == length && memcmp(at, word, length) == 0)
            return true;
        at = stop + 1;
    }
    return false;
}

static uint64_t least_for(const char *root, const membership_t *group, measure_fn measure)
{
    const char *name = group->name;
    size_t length = group->name_length;
    if (controls_memory(group))
        return least_from(root, &legacy, name, length, measure);
    if (group->controllers_length != 0)
        return UINT64_MAX;
    return cuai_min(least_from(root, &unified, name, length, measure),
                    least_from(root, &hybrid, name, length, measure));
}

/* UINT64_MAX where there are no control groups. */
static uint64_t least_of_groups(const char *root, measure_fn measure)
{
    char path[PATH_MAX];
    char text[TEXT_SIZE];
    int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (length < 0 || (size_t)length >= sizeof path || !read_text(path, text))
        return UINT64_MAX;
    uint64_t least = UINT64_MAX;
    for (const char *line = text; *line != '\0';) {
        membership_t group;
        if (parse_membership(line, &group))
            least = cuai_min(least, least_for(root, &group, measure));
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return least;
}

/* ---- The whole --------------------------------------------------------- */

/* The bytes in a line of the kernel's, such as "MemTotal:". */
static cuarena_status_t kernel_has(const char *root, const char *key, uint64_t *bytes_out)
{
    char path[PATH_MAX];
    char text[TEXT_SIZE];
    int length = snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (length < 0 || (size_t)length >= sizeof path)
        return cuai_fail_driver(ENAMETOOLONG, "the path of meminfo is too long");
    if (!read_text(path, text))
        return cuai_fail_driver(errno, "the host's memory is not known: %s: %s", path,
                                strerror(errno));
    const char *rest = after_key(text, key);
    uint64_t kib;
    if (rest == NULL || !parse_u64(rest, &kib) || !cuai_mul_checked(kib, CUAI_KIB, bytes_out))
        return cuai_fail_driver(ENODATA, "the host's memory is not known: %s has no %.*s", path,
                                (int)strcspn(key, ":"), key);
    return CUARENA_OK;
}

static cuarena_status_t least(const char *root, const char *key, measure_fn measure,
                              uint64_t *bytes_out)
{
    uint64_t bytes;
    cuarena_status_t status = kernel_has(root, key, &bytes);
    if (status == CUARENA_OK)
        *bytes_out = cuai_min(bytes, least_of_groups(root, measure));
    return status;
}

cuarena_status_t cuai_system_available_at(const char *root, uint64_t *bytes_out)
{
    return least(root, "MemAvailable:", left_in, bytes_out);
}

cuarena_status_t cuai_system_available(uint64_t *bytes_out)
{
    return cuai_system_available_at("", bytes_out);
}

cuarena_status_t cuai_system_total_at(const char *root, uint64_t *bytes_out)
{
    return least(root, "MemTotal:", limit_of, bytes_out);
}

cuarena_status_t cuai_system_total(uint64_t *bytes_out)
{
    return cuai_system_total_at("", bytes_out);
}
