/*
 * A source: the whole text of a file, read plain or from gzip. Which of the
 * two it is, its first bytes say; a name that ends in .gz must be gzip.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include "fault.h"

typedef struct source {
    char *text; /* not terminated */
    size_t length;
} source_t;

/* Faults: cannot be opened, a folder, empty, not gzip, cut or damaged gzip. */
bool source_read(const char *path, source_t *source_out, fault_t *fault);
void source_free(source_t *source);

#endif
