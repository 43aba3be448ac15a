/* A file that an arena recorded (cuarena/trace.h), read back and sorted by time. */
#ifndef CUARENA_TEST_TRACE_FILE_H
#define CUARENA_TEST_TRACE_FILE_H

#include <cuarena.h>
#include <stdbool.h>

typedef struct trace_line {
    char op[12];
    uint64_t id;
    uint64_t size;
    char stream[24];
    uint64_t time;
    uint64_t thread;
    char tag[64];
    uint64_t address;
    char note[64];
    uint64_t number; /* in the file */
} trace_line_t;

typedef struct trace_file {
    trace_line_t *lines;
    size_t count;
} trace_file_t;

/* The name of a file that is not there, in a folder that is removed after the test with all in it.
 * Good until then. */
const char *trace_path(const char *name);

/* Reads a file whose lines must all be whole. */
trace_file_t trace_file_read(const char *path);
void trace_file_free(trace_file_t *file);

size_t trace_file_count(const trace_file_t *file, const char *op);
/* The nth line of an op, from 0 on; it must be there. */
const trace_line_t *trace_file_line(const trace_file_t *file, const char *op, size_t nth);

/* The lines are a sequence that an arena can have served: no two live blocks share a byte or an id,
 * and each free ends a block that lives. Returns how many live at its end. */
size_t trace_file_check(const trace_file_t *file);

#endif
