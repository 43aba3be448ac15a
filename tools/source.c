#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define EXPECTED "expected a file, plain or gzip"

/* What one read asks for. */
#define STEP_BYTES ((size_t)1 << 20)

/* Text beyond the first is no trace's if gzip made it this many times smaller: recorded programs
 * shrink to a tenth. */
#define SURE_BYTES ((size_t)64 << 20)
#define MOST_TIMES 500

/* 15 bits of window, and a gzip header. */
#define GZIP_WINDOW (15 + 16)

/* A file that is being read. */
typedef struct reading {
    int descriptor;
    const char *name;
    unsigned char *bytes; /* STEP_BYTES, of which `count` were read last */
    size_t count;
    uint64_t read; /* bytes of the file so far */
    source_t source;
    size_t capacity;   /* of its text */
    size_t line;       /* the last one begun, from 1 */
    size_t line_begin; /* in the text */
    source_whole_t *is_whole;
    bool whole; /* it said so */
    fault_t *fault;
} reading_t;

/* ---- Faults ------------------------------------------------------------ */

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

static bool damaged(const reading_t *r, const char *why)
{
    return fault_set(r->fault,
                     "%s:%zu: the gzip data is damaged after %zu bytes "
                     "of text (%s), expected a whole gzip file",
                     r->name, line_at_end(&r->source), r->source.length, why);
}

static bool trailing(const reading_t *r, size_t count)
{
    return fault_set(r->fault,
                     "%s:%zu: '%s' follows the gzip data, expected the end of "
                     "the file or more gzip data",
                     r->name, line_at_end(&r->source),
                     fault_quote((const char *)r->bytes + r->count - count, count < 8 ? count : 8));
}

static bool check_growth(const reading_t *r)
{
    if (r->source.length < SURE_BYTES || r->source.length / MOST_TIMES < r->read)
        return true;
    return fault_set(r->fault,
                     "%s: %llu bytes of gzip data become more than %zu bytes "
                     "of text, expected text, which is less than %d times "
                     "its gzip data",
                     r->name, (unsigned long long)r->read, r->source.length, MOST_TIMES);
}

/* Of the line under way, which goes on to `end` at least. */
static bool check_length(reading_t *r, size_t end)
{
    const char *line = r->source.text + r->line_begin;
    if (r->whole || end - r->line_begin <= SOURCE_MOST_LINE)
        return true;
    r->whole = r->is_whole != NULL && r->is_whole(r->source.text, r->source.length);
    return r->whole || fault_set(r->fault,
                                 "%s:%zu: the line that begins with '%s' has more than %zu "
                                 "bytes, expected lines of at most so many",
                                 r->name, r->line, fault_quote(line, 16), SOURCE_MOST_LINE);
}

/* Goes over the lines of the text from `at` on, which it got last. */
static bool check_lines(reading_t *r, size_t at)
{
    const char *text = r->source.text;
    for (;;) {
        const char *newline = memchr(text + at, '\n', r->source.length - at);
        size_t end = newline != NULL ? (size_t)(newline - text) : r->source.length;
        if (!check_length(r, end))
            return false;
        if (newline == NULL)
            return true;
        r->line++;
        r->line_begin = at = end + 1;
    }
}

/* ---- Reading ----------------------------------------------------------- */

/* The next bytes of the file; 0 at its end. */
static bool read_step(reading_t *r)
{
    ssize_t got;
    do
        got = read(r->descriptor, r->bytes, STEP_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fault_set(r->fault, "%s: %s; " EXPECTED, r->name, strerror(errno));
    r->count = (size_t)got;
    r->read += r->count;
    return true;
}

static bool reserve(reading_t *r, size_t more)
{
    if (r->capacity - r->source.length >= more)
        return true;
    size_t capacity = 2 * r->capacity + more;
    char *text = realloc(r->source.text, capacity);
    if (text == NULL)
        return fault_set(r->fault,
                         "%s:%zu: no memory for the %zu bytes that text of more than %zu bytes "
                         "takes here, expected less of it",
                         r->name, r->line, capacity, r->source.length);
    r->source.text = text;
    r->capacity = capacity;
    return true;
}

static bool read_plain(reading_t *r)
{
    while (r->count != 0) {
        size_t before = r->source.length;
        if (!reserve(r, r->count))
            return false;
        memcpy(r->source.text + before, r->bytes, r->count);
        r->source.length += r->count;
        if (!check_lines(r, before) || !read_step(r))
            return false;
    }
    return true;
}

static bool is_gzip(const unsigned char *bytes, size_t count)
{
    return count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* What the stream's input comes to, until that is used up or its gzip data
 * end, which `code` tells. */
static bool inflate_step(reading_t *r, z_stream *z, int *code)
{
    *code = Z_OK;
    while (*code == Z_OK && z->avail_in != 0) {
        size_t before = r->source.length;
        if (!reserve(r, STEP_BYTES))
            return false;
        z->next_out = (unsigned char *)r->source.text + before;
        z->avail_out = STEP_BYTES;
        *code = inflate(z, Z_NO_FLUSH);
        r->source.length += STEP_BYTES - z->avail_out;
        if (!check_growth(r) || !check_lines(r, before))
            return false;
    }
    return *code == Z_OK || *code == Z_STREAM_END ||
           damaged(r, z->msg != NULL ? z->msg : zError(*code));
}

/* Behind the end of gzip data: more of them, or nothing. */
static bool begin_next(reading_t *r, z_stream *z, bool *more_out)
{
    if (z->avail_in == 0) {
        if (!read_step(r))
            return false;
        z->next_in = r->bytes;
        z->avail_in = (unsigned)r->count;
    }
    *more_out = z->avail_in != 0;
    if (*more_out && *z->next_in != 0x1f)
        return trailing(r, z->avail_in);
    return inflateReset(z) == Z_OK || damaged(r, zError(Z_STREAM_ERROR));
}

static bool inflate_all(reading_t *r, z_stream *z)
{
    bool more = true;
    z->next_in = r->bytes;
    z->avail_in = (unsigned)r->count;
    while (more) {
        int code = Z_OK;
        if (!inflate_step(r, z, &code))
            return false;
        if (code == Z_STREAM_END) {
            if (!begin_next(r, z, &more))
                return false;
            continue;
        }
        if (!read_step(r))
            return false;
        r->source.cut = r->count == 0;
        if (r->source.cut)
            return r->source.length != 0 || damaged(r, "they end before any text");
        z->next_in = r->bytes;
        z->avail_in = (unsigned)r->count;
    }
    return true;
}

static bool read_gzip(reading_t *r)
{
    z_stream z = {.zalloc = Z_NULL};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return fault_set(r->fault, "%s: no memory to read gzip data", r->name);
    bool good = inflate_all(r, &z);
    (void)inflateEnd(&z);
    return good;
}

/* ---- The whole --------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

static bool read_all(reading_t *r)
{
    if (!read_step(r))
        return false;
    bool gzip = is_gzip(r->bytes, r->count);
    size_t shown = r->count < 8 ? r->count : 8;
    if (!gzip && r->count != 0 && ends_with(r->name, ".gz"))
        return fault_set(r->fault,
                         "%s:1: the file begins with '%s' and is named .gz, "
                         "expected gzip data",
                         r->name, fault_quote((const char *)r->bytes, shown));
    if (!(gzip ? read_gzip(r) : read_plain(r)))
        return false;
    return r->source.length != 0 ||
           fault_set(r->fault, "%s:1: the file is empty, " EXPECTED, r->name);
}

/* A descriptor, or -1 with errno set. */
static int open_file(const char *path)
{
    struct stat status;
    int descriptor = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISDIR(status.st_mode))
        return descriptor;
    (void)close(descriptor);
    errno = EISDIR;
    return -1;
}

const char *source_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

bool source_read(const char *path, source_whole_t *is_whole, source_t *source_out, fault_t *fault)
{
    reading_t r = {.name = source_name(path), .line = 1, .is_whole = is_whole, .fault = fault};
    r.descriptor = open_file(path);
    if (r.descriptor < 0)
        return fault_set(fault, "%s: %s, " EXPECTED, r.name, strerror(errno));
    r.bytes = must_have(NULL, STEP_BYTES, 1);
    bool good = read_all(&r);
    free(r.bytes);
    (void)close(r.descriptor);
    if (good)
        *source_out = r.source;
    else
        source_free(&r.source);
    return good;
}

/* Of a regular file; "-" is a standard stream. */
static bool look_at(const char *path, int standard, struct stat *status)
{
    bool is_standard = strcmp(path, "-") == 0;
    return (is_standard ? fstat(standard, status) : stat(path, status)) == 0 &&
           S_ISREG(status->st_mode);
}

bool source_check_output(const char *path, const char *option, const char *output, fault_t *fault)
{
    struct stat in, out;
    bool same = output != NULL && look_at(path, STDIN_FILENO, &in) &&
                look_at(output, STDOUT_FILENO, &out) && in.st_dev == out.st_dev &&
                in.st_ino == out.st_ino;
    return !same || fault_set(fault, "%s is '%s', expected another file than the one that is read",
                              option, fault_quote(output, strlen(output)));
}

/* Of the line that begins at `at`. */
static size_t commas_in(const source_t *source, size_t at)
{
    size_t count = 0;
    for (; at < source->length && source->text[at] != '\n'; at++)
        count += source->text[at] == ',';
    return count;
}

void source_keep_whole_lines(source_t *source)
{
    size_t last = source->length;
    while (last > 0 && source->text[last - 1] != '\n')
        last--;
    bool torn =
        last < source->length && (source->cut || commas_in(source, last) < commas_in(source, 0));
    if (!torn && !source->cut)
        return;
    source->cut_line = line_at_end(source);
    source->length = torn ? last : source->length;
}

void source_tell_cut(const source_t *source, const char *path)
{
    if (source->cut_line > 0)
        fprintf(stderr,
                "cuarena: %s:%zu: note: the file is cut here: only what is before it is read\n",
                source_name(path), source->cut_line);
}

void source_free(source_t *source)
{
    free(source->text);
    *source = (source_t){.text = NULL};
}
