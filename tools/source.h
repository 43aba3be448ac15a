/*
 * A source: the whole text of a file, read plain or from gzip. Which of the
 * two it is, its first bytes say; a name that ends in .gz must be gzip.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <stdint.h>

#include "fault.h"

typedef struct source {
    char *text; /* not terminated */
    size_t length;
} source_t;

/* "-" is standard input. Faults: cannot be opened, a folder, empty, not gzip, cut or damaged gzip,
 * what follows it, text that no trace has. */
bool source_read(const char *path, source_t *source_out, fault_t *fault);
/* What messages call it. */
const char *source_name(const char *path);
void source_free(source_t *source);

#endif
