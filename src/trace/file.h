/*
 * The file of a trace: whole lines, or whole gzip members of them, one behind the other. It is
 * written at its end (O_APPEND), so lines of several threads never mix, and locked (flock), so that
 * no other trace empties it.
 *
 * A piece that does not fit on the disk is cut back to its last whole line, and the file takes no
 * more: `failed` says why. Pieces are written under a lock of the file, which nobody takes for
 * anything else.
 */
#ifndef CUAI_TRACE_FILE_H
#define CUAI_TRACE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"
#include "base/pattern.h"
#include "cuarena/base.h"

typedef struct cuai_trace_file {
    cuai_lock_t lock;
    int descriptor;    /* -1: there is no file */
    bool gzip;         /* pieces become gzip members */
    atomic_int failed; /* the errno that ended it; 0: none did */
    char path[CUAI_PATTERN_PATH];
} cuai_trace_file_t;

void cuai_trace_file_init(cuai_trace_file_t *file);
/* Opens the file that the path stands for, and writes the names of the columns. Errors are those of
 * cuarena_trace_begin; the file is as before then. No lock. */
cuarena_status_t cuai_trace_file_open(cuai_trace_file_t *file, const char *path);
/* Writes a piece of whole lines; `packed` has room for cuai_gzip_most of it, or is NULL without
 * gzip. False: this piece made the file fail. */
bool cuai_trace_file_append(cuai_trace_file_t *file, const char *text, size_t count,
                            unsigned char *packed);
/* Writes one line: as cuai_trace_file_append, with room of its own where the file is packed. */
bool cuai_trace_file_line(cuai_trace_file_t *file, const char *text, size_t count);
/* DRIVER, put into words, if the file has failed. */
cuarena_status_t cuai_trace_file_close(cuai_trace_file_t *file);

#endif
