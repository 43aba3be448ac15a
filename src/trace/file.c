#define _GNU_SOURCE
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "trace/event.h"
#include "trace/gzip.h"

/* Room for any line as a gzip member. */
#define MOST_PACKED_LINE (2 * CUAI_TRACE_LINE)

/* The number of traces that the process has begun. */
static _Atomic uint64_t begun;

/* ---- The path ---------------------------------------------------------- */

static cuarena_status_t fail_path(const char *path, const char *why)
{
    char room[CUAI_SHOWN + sizeof("...")];
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "trace: '%s' %s; accepted: a path of 1 to 255 bytes, with %%p, %%n and %%%% "
                     "for the process, the trace and a percent sign",
                     cuai_shown(path, CUAI_SHOWN, room), why);
}

static cuarena_status_t make_path(cuai_trace_file_t *file, const char *path)
{
    size_t length = strlen(path);
    if (length == 0 || length >= CUAI_PATTERN_SIZE)
        return fail_path(path, length == 0 ? "is empty" : "is too long");
    if (!cuai_pattern_ok(path))
        return fail_path(path, "has a percent sign that stands for nothing");
    uint64_t number = atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed) + 1;
    cuai_pattern_print(path, number, file->path);
    length = strlen(file->path);
    file->gzip = length > 3 && strcmp(file->path + length - 3, ".gz") == 0;
    return CUARENA_OK;
}

/* ---- Writing ----------------------------------------------------------- */

/* Writes all, or as much as there is room for; the errno that ended it, or 0. */
static int write_all(int descriptor, const void *bytes, size_t count, size_t *written_out)
{
    *written_out = 0;
    while (*written_out < count) {
        ssize_t written =
            write(descriptor, (const char *)bytes + *written_out, count - *written_out);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        *written_out += (size_t)written;
    }
    return 0;
}

/* How much of what was written stays: whole lines, or nothing of a gzip member. */
static size_t whole_part(const char *bytes, size_t written, bool gzip)
{
    while (!gzip && written != 0 && bytes[written - 1] != '\n')
        written--;
    return gzip ? 0 : written;
}

static int append(cuai_trace_file_t *file, const void *bytes, size_t count)
{
    CUAI_ASSERT(file->descriptor >= 0 && count != 0);
    size_t written;
    int error = write_all(file->descriptor, bytes, count, &written);
    off_t end = error == 0 || written == 0 ? -1 : lseek(file->descriptor, 0, SEEK_END);
    if (end >= (off_t)written) {
        off_t whole = end - (off_t)written + (off_t)whole_part(bytes, written, file->gzip);
        (void)!ftruncate(file->descriptor, whole);
    }
    return error;
}

bool cuai_trace_file_append(cuai_trace_file_t *file, const char *text, size_t count,
                            unsigned char *packed)
{
    CUAI_ASSERT(file->descriptor >= 0 && file->gzip == (packed != NULL));
    CUAI_ASSERT(count != 0 && text[count - 1] == '\n');
    const void *bytes = text;
    if (atomic_load_explicit(&file->failed, memory_order_relaxed) != 0)
        return true;
    if (file->gzip) {
        count = cuai_gzip(text, count, packed);
        bytes = packed;
    }
    cuai_lock(&file->lock);
    int error = atomic_load_explicit(&file->failed, memory_order_relaxed);
    bool first = error == 0;
    if (first) {
        error = count == 0 ? ENOMEM : append(file, bytes, count);
        atomic_store_explicit(&file->failed, error, memory_order_relaxed);
    }
    cuai_unlock(&file->lock);
    return !first || error == 0;
}

bool cuai_trace_file_line(cuai_trace_file_t *file, const char *text, size_t count)
{
    unsigned char packed[MOST_PACKED_LINE] = {0};
    CUAI_ASSERT(!file->gzip || cuai_gzip_most(count) <= sizeof packed);
    return cuai_trace_file_append(file, text, count, file->gzip ? packed : NULL);
}

/* ---- The file ---------------------------------------------------------- */

void cuai_trace_file_init(cuai_trace_file_t *file)
{
    cuai_lock_init(&file->lock);
    file->descriptor = -1;
}

static cuarena_status_t fail_file(const cuai_trace_file_t *file, const char *what, int error)
{
    return cuai_fail_driver(error, "trace '%s' %s: %s", file->path, what, strerror(error));
}

/* Opens the file that the path stands for, and says whether there was none; -1 with errno. A pipe
 * that nobody reads is an error rather than a wait; writes wait as usual. */
static int open_path(const char *path, bool *made_out)
{
    const int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK;
    int descriptor = open(path, how | O_EXCL, 0666);
    *made_out = descriptor >= 0;
    if (descriptor < 0 && errno == EEXIST)
        descriptor = open(path, how, 0666);
    if (descriptor >= 0)
        (void)fcntl(descriptor, F_SETFL, 0);
    return descriptor;
}

/* Writes the names of the columns over what is there, cuts off the rest and goes on behind them; an
 * errno, or 0. A file that was there stays as it is where its disk takes nothing. */
static int replace_contents(const cuai_trace_file_t *file)
{
    unsigned char packed[MOST_PACKED_LINE];
    struct stat is;
    size_t written, count = strlen(cuai_trace_header);
    const void *bytes = cuai_trace_header;
    if (file->gzip) {
        CUAI_ASSERT(cuai_gzip_most(count) <= sizeof packed);
        count = cuai_gzip(cuai_trace_header, count, packed);
        bytes = packed;
    }
    int error = count == 0 ? ENOMEM : write_all(file->descriptor, bytes, count, &written);
    if (error != 0)
        return error;
    bool regular = fstat(file->descriptor, &is) == 0 && S_ISREG(is.st_mode);
    if (regular && ftruncate(file->descriptor, (off_t)count) != 0)
        return errno;
    return fcntl(file->descriptor, F_SETFL, O_APPEND) == 0 ? 0 : errno;
}

static cuarena_status_t begin_file(const cuai_trace_file_t *file, bool made)
{
    CUAI_ASSERT(file->descriptor >= 0);
    if (flock(file->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return cuai_fail(CUARENA_BUSY,
                         "trace '%s' is being written by another trace; accepted: another path, "
                         "such as one with %%p or %%n",
                         file->path);
    int error = replace_contents(file);
    if (error != 0 && made)
        (void)unlink(file->path);
    return error == 0 ? CUARENA_OK : fail_file(file, "cannot be written", error);
}

cuarena_status_t cuai_trace_file_open(cuai_trace_file_t *file, const char *path)
{
    bool made;
    CUAI_ASSERT(file->descriptor < 0);
    cuarena_status_t status = make_path(file, path);
    if (status != CUARENA_OK)
        return status;
    if (file->gzip && !cuai_gzip_is_there())
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "trace '%s' would be gzip, but there is no libz.so.1; accepted: a name "
                         "that does not end in .gz",
                         file->path);
    atomic_store(&file->failed, 0);
    file->descriptor = open_path(file->path, &made);
    if (file->descriptor < 0)
        return fail_file(file, "cannot be opened", errno);
    status = begin_file(file, made);
    if (status != CUARENA_OK) {
        (void)close(file->descriptor);
        file->descriptor = -1;
    }
    return status;
}

cuarena_status_t cuai_trace_file_close(cuai_trace_file_t *file)
{
    int error = atomic_load(&file->failed);
    int descriptor = file->descriptor;
    CUAI_ASSERT(descriptor >= 0);
    file->descriptor = -1;
    (void)flock(descriptor, LOCK_UN); /* also where a forked child has the descriptor */
    if (close(descriptor) != 0 && error == 0)
        error = errno;
    return error == 0 ? CUARENA_OK
                      : fail_file(file, "ended early, with whole lines up to there", error);
}
