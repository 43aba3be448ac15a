/*
 * A source: the whole text of a file, read plain or from gzip. Which of the
 * two it is, its first bytes say; a name that ends in .gz must be gzip.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <stdint.h>

#include "fault.h"

/* The bytes of a line at most, without its end: those of recordings have up to 512, and what others
 * write has columns of its own. What has no lines ends there, and not where the memory does. */
#define SOURCE_MOST_LINE ((size_t)1 << 20)

/* Whether text that begins so is one whole, of which lines say nothing. */
typedef bool source_whole_t(const char *text, size_t length);

typedef struct source {
    char *text; /* not terminated */
    size_t length;
    bool cut;        /* the gzip data end in their midst: this is what they have up to there */
    size_t cut_line; /* behind the lines that were kept; 0: nothing is missing */
} source_t;

/* "-" is standard input. `is_whole` may be NULL: then anything has lines. Faults: cannot be opened,
 * a folder, empty, not gzip, damaged gzip, what follows it, text that no trace has, a line that is
 * too long, more text than there is memory. */
bool source_read(const char *path, source_whole_t *is_whole, source_t *source_out, fault_t *fault);
/* Leaves out a last line that has no end, if the source is cut or the line has fewer fields than
 * the first: a process that was killed wrote it. */
void source_keep_whole_lines(source_t *source);
/* Tells that lines are missing, if they are, on stderr. */
void source_tell_cut(const source_t *source, const char *path);
/* Whether `output`, the value of an option, is another file than the one that is read, by whatever
 * name. NULL is none, "-" is standard output. */
bool source_check_output(const char *path, const char *option, const char *output, fault_t *fault);
/* What messages call it. */
const char *source_name(const char *path);
void source_free(source_t *source);

#endif
