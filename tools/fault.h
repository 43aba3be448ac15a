/*
 * A fault: why something could not be done, as one line for a person. What returns bool and takes a
 * fault fills it exactly when it returns false.
 */
#ifndef TOOLS_FAULT_H
#define TOOLS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fault {
    char text[1024];
} fault_t;

/* Always false, so that a caller can return it. */
__attribute__((format(printf, 2, 3))) bool fault_set(fault_t *fault, const char *format, ...);

/* As fault_set, with what the library says of its last error behind it. */
__attribute__((format(printf, 2, 3))) bool fault_library(fault_t *fault, const char *format, ...);

/* `length` bytes of foreign text, fit to stand in a line: what cannot be printed becomes '?', and
 * what is long is cut. Good until the next call. */
const char *fault_quote(const char *text, size_t length);

/* realloc for `count` elements; ends the process with status 2 and a line on stderr if there is no
 * memory. Never NULL. */
void *must_have(void *old, size_t count, size_t element_bytes);

#endif
