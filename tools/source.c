#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define EXPECTED "expected a trace: CSV, plain or gzip"

/* What one read asks for. */
#define STEP_BYTES ((size_t)1 << 20)

/* Lines begun so far: where a damaged file stops making sense. */
static size_t line_at_end(const source_t *source)
{
    size_t line = 1;
    const char *end = source->text + source->length;
    for (const char *at = source->text; at != end; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL)
            break;
        at++;
    }
    return line;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length &&
           memcmp(text + length - end_length, end, end_length) == 0;
}

static bool damaged(gzFile file, const char *path, const source_t *source,
                    fault_t *fault)
{
    int code = Z_OK;
    const char *why = gzerror(file, &code);
    if (code == Z_ERRNO)
        return fault_set(fault, "%s: %s; " EXPECTED, path, strerror(errno));
    return fault_set(fault,
                     "%s:%zu: the gzip data is cut or damaged after %zu bytes "
                     "of text (%s), expected a whole gzip file",
                     path, line_at_end(source), source->length, why);
}

static bool read_all(gzFile file, const char *path, source_t *source,
                     fault_t *fault)
{
    size_t capacity = 0;
    for (;;) {
        if (capacity - source->length < STEP_BYTES) {
            capacity = 2 * capacity + STEP_BYTES;
            source->text = must_have(source->text, capacity, 1);
        }
        int got = gzread(file, source->text + source->length, STEP_BYTES);
        int code = Z_OK;
        (void)gzerror(file, &code);
        source->length += got > 0 ? (size_t)got : 0;
        if (got < 0 || code < Z_OK)
            return damaged(file, path, source, fault);
        if (got == 0)
            return true;
    }
}

static bool check(gzFile file, const char *path, const source_t *source,
                  fault_t *fault)
{
    if (source->length == 0)
        return fault_set(fault, "%s:1: the file is empty, " EXPECTED, path);
    if (ends_with(path, ".gz") && gzdirect(file))
        return fault_set(
            fault,
            "%s:1: the file begins with '%s' and is named .gz, "
            "expected gzip data",
            path,
            fault_quote(source->text, source->length < 8 ? source->length : 8));
    return true;
}

/* A stream that owns the descriptor, or NULL with errno set. */
static gzFile open_file(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0)
        return NULL;
    errno = EISDIR;
    gzFile file = NULL;
    if (fstat(descriptor, &status) == 0 && !S_ISDIR(status.st_mode)) {
        errno = ENOMEM;
        file = gzdopen(descriptor, "rb");
    }
    if (file == NULL) {
        int why = errno;
        (void)close(descriptor);
        errno = why;
    }
    return file;
}

bool source_read(const char *path, source_t *source_out, fault_t *fault)
{
    source_t source = {NULL, 0};
    gzFile file = open_file(path);
    if (file == NULL)
        return fault_set(fault, "%s: %s, " EXPECTED, path, strerror(errno));
    bool good = read_all(file, path, &source, fault) &&
                check(file, path, &source, fault);
    /* A cut file that read without complaint says so when it is closed. */
    if (gzclose_r(file) != Z_OK && good)
        good = fault_set(fault,
                         "%s:%zu: the gzip data ends early, expected a whole "
                         "gzip file",
                         path, line_at_end(&source));
    if (good)
        *source_out = source;
    else
        source_free(&source);
    return good;
}

void source_free(source_t *source)
{
    free(source->text);
    *source = (source_t){NULL, 0};
}
