#include "recording_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

typedef struct writer {
    gzFile file;
    const recording_t *recording;
    names_t streams; /* `slot` is the number in the trace */
    uint32_t stream_count;
    bool failed;
} writer_t;

static void put(writer_t *w, const char *text)
{
    w->failed = w->failed || gzputs(w->file, text) < 0;
}

/* Streams are numbered as they first appear. */
static uint32_t number_of(writer_t *w, uint64_t stream)
{
    name_t *name = names_at(&w->streams, stream);
    if (name->state == NAME_NEW)
        *name = (name_t){stream, 0, 0, w->stream_count++, NAME_LIVE};
    return name->slot;
}

static void write_event(writer_t *w, const recording_event_t *event)
{
    char line[192], reserved[32] = "";
    if (w->recording->allocator != NULL)
        (void)snprintf(reserved, sizeof reserved, ",%" PRIu64, event->reserved);
    (void)snprintf(line, sizeof line,
                   "%c,%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",0x%" PRIx64 "%s\n",
                   event->frees ? 'f' : 'a', event->id, event->size, number_of(w, event->stream),
                   event->time_ns, event->address, reserved);
    put(w, line);
}

static void write_header(writer_t *w)
{
    const char *allocator = w->recording->allocator;
    put(w, "op,id,size,stream,time,address");
    if (allocator != NULL) {
        put(w, ",");
        put(w, allocator);
        put(w, "_reserved");
    }
    put(w, "\n");
}

/* As if they were made right before the first event. */
static void write_older(writer_t *w)
{
    const recording_t *r = w->recording;
    for (size_t i = 0; i < r->older.count; i++) {
        recording_event_t event = r->older.list[i];
        event.reserved = r->reserved_before;
        event.time_ns = r->events.count > 0 ? r->events.list[0].time_ns : 0;
        write_event(w, &event);
    }
}

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* NULL with errno set. Mode T writes the text as it is. */
static gzFile open_file(const char *path)
{
    size_t length = strlen(path);
    bool packed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    errno = 0;
    if (!is_stdout(path))
        return gzopen(path, packed ? "wb" : "wbT");
    int descriptor = dup(STDOUT_FILENO);
    return descriptor >= 0 ? gzdopen(descriptor, "wbT") : NULL;
}

static bool wrong_file(const char *path, fault_t *fault)
{
    return fault_set(fault, "%s: %s, expected a file that can be written",
                     is_stdout(path) ? "standard output" : path,
                     errno != 0 ? strerror(errno) : "not written");
}

/* What was written of a file; a device stays. */
static void remove_file(const char *path)
{
    struct stat about;
    if (!is_stdout(path) && lstat(path, &about) == 0 && S_ISREG(about.st_mode))
        (void)unlink(path);
}

bool recording_write(const recording_t *recording, const char *path, uint32_t *streams_out,
                     fault_t *fault)
{
    writer_t w = {.file = open_file(path), .recording = recording};
    if (w.file == NULL)
        return wrong_file(path, fault);
    write_header(&w);
    write_older(&w);
    for (size_t i = 0; i < recording->events.count; i++)
        write_event(&w, &recording->events.list[i]);
    w.failed = gzclose(w.file) != Z_OK || w.failed;
    names_free(&w.streams);
    *streams_out = w.stream_count;
    if (!w.failed)
        return true;
    int code = errno;
    remove_file(path);
    errno = code;
    return wrong_file(path, fault);
}
