#define _GNU_SOURCE
#include "trace_file.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/expect.h"

#define HEADER "op,id,size,stream,time,thread,tag,address,note"

/* ---- The folder -------------------------------------------------------- */

static char folder[512];

static int remove_one(const char *path, const struct stat *is, int flag, struct FTW *walk)
{
    (void)is, (void)flag, (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    if (folder[0] != '\0')
        (void)nftw(folder, remove_one, 4, FTW_DEPTH | FTW_PHYS);
    folder[0] = '\0';
}

const char *trace_path(const char *name)
{
    static char paths[4][600];
    static unsigned next;
    if (folder[0] == '\0') {
        const char *base = getenv("TMPDIR");
        (void)snprintf(folder, sizeof folder, "%.400s/traceXXXXXX", base != NULL ? base : "/tmp");
        ck_assert_ptr_nonnull(mkdtemp(folder));
        after_test(remove_folder);
    }
    char *path = paths[next++ % COUNT_OF(paths)];
    (void)snprintf(path, sizeof paths[0], "%s/%.80s", folder, name);
    return path;
}

/* ---- Reading ----------------------------------------------------------- */

static char *next_field(char **at)
{
    char *field = *at;
    if (field == NULL)
        ck_abort_msg("a line lacks a field");
    *at = strchr(field, ',');
    if (*at != NULL)
        *(*at)++ = '\0';
    return field;
}

static void copy_field(char **at, char *to, size_t room)
{
    const char *field = next_field(at);
    size_t length = strlen(field);
    if (length >= room)
        ck_abort_msg("field '%s' is longer than %zu", field, room - 1);
    memcpy(to, field, length + 1);
}

static trace_line_t parse(char *text, uint64_t number)
{
    trace_line_t line = {.number = number};
    copy_field(&text, line.op, sizeof line.op);
    line.id = strtoull(next_field(&text), NULL, 10);
    line.size = strtoull(next_field(&text), NULL, 10);
    copy_field(&text, line.stream, sizeof line.stream);
    line.time = strtoull(next_field(&text), NULL, 10);
    line.thread = strtoull(next_field(&text), NULL, 10);
    copy_field(&text, line.tag, sizeof line.tag);
    line.address = strtoull(next_field(&text), NULL, 16);
    copy_field(&text, line.note, sizeof line.note);
    if (text != NULL || line.time == 0 || line.thread == 0)
        ck_abort_msg("line %d has too many fields, or no time or thread", (int)number);
    return line;
}

static int by_time(const void *a, const void *b)
{
    const trace_line_t *one = a, *other = b;
    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

trace_file_t trace_file_read(const char *path)
{
    trace_file_t file = {NULL, 0};
    char text[512];
    FILE *stream = fopen(path, "r");
    ck_assert_msg(stream != NULL, "%s is not there", path);
    for (uint64_t number = 1; fgets(text, sizeof text, stream) != NULL; number++) {
        char *end = strchr(text, '\n');
        if (end == NULL)
            ck_abort_msg("line %d is cut: %s", (int)number, text);
        *end = '\0';
        if (number == 1) {
            expect_text(text, HEADER);
            continue;
        }
        if ((file.count & (file.count + 1)) == 0)
            file.lines = realloc(file.lines, 2 * (file.count + 1) * sizeof *file.lines);
        file.lines[file.count++] = parse(text, number);
    }
    (void)fclose(stream);
    if (file.count != 0)
        qsort(file.lines, file.count, sizeof *file.lines, by_time);
    return file;
}

void trace_file_free(trace_file_t *file)
{
    free(file->lines);
    *file = (trace_file_t){NULL, 0};
}

size_t trace_file_count(const trace_file_t *file, const char *op)
{
    size_t count = 0;
    for (size_t i = 0; i < file->count; i++)
        count += strcmp(file->lines[i].op, op) == 0;
    return count;
}

const trace_line_t *trace_file_line(const trace_file_t *file, const char *op, size_t nth)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->lines[i].op, op) == 0 && nth-- == 0)
            return &file->lines[i];
    ck_abort_msg("there is no such line '%s'", op);
    return NULL;
}

/* ---- Checking ---------------------------------------------------------- */

typedef struct live {
    const trace_line_t *lines[4096];
    size_t count;
} live_t;

static size_t find(const live_t *live, uint64_t id)
{
    size_t i = 0;
    while (i < live->count && live->lines[i]->id != id)
        i++;
    return i;
}

static void begin(live_t *live, const trace_line_t *line)
{
    if (find(live, line->id) != live->count)
        ck_abort_msg("line %d: id %llu lives", (int)line->number, (unsigned long long)line->id);
    for (size_t i = 0; i < live->count; i++) {
        const trace_line_t *other = live->lines[i];
        bool apart = line->address >= other->address + other->size ||
                     other->address >= line->address + line->size;
        if (!apart)
            ck_abort_msg("lines %d and %d share bytes", (int)other->number, (int)line->number);
    }
    if (live->count == COUNT_OF(live->lines))
        ck_abort_msg("more live at once than the check has room for");
    live->lines[live->count++] = line;
}

static void end(live_t *live, const trace_line_t *line)
{
    size_t at = find(live, line->id);
    if (at == live->count)
        ck_abort_msg("line %d: id %llu does not live", (int)line->number,
                     (unsigned long long)line->id);
    live->lines[at] = live->lines[--live->count];
}

size_t trace_file_check(const trace_file_t *file)
{
    static live_t live;
    live.count = 0;
    for (size_t i = 0; i < file->count; i++) {
        const trace_line_t *line = &file->lines[i];
        bool resized = strcmp(line->op, "resize") == 0;
        if (resized || strcmp(line->op, "f") == 0)
            end(&live, line);
        if (resized || strcmp(line->op, "a") == 0)
            begin(&live, line);
        if (strcmp(line->op, "reset") == 0)
            live.count = 0;
    }
    return live.count;
}
