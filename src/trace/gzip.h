/* gzip, by the system's libz.so.1, which is looked for when a trace first asks for it. */
#ifndef CUAI_TRACE_GZIP_H
#define CUAI_TRACE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the library is there. Any thread may call this. */
bool cuai_gzip_is_there(void);
/* The most bytes that so much text becomes. */
size_t cuai_gzip_most(size_t count);
/* Makes text a whole gzip member, in room for cuai_gzip_most; its length, or 0 where the host has
 * no memory. */
size_t cuai_gzip(const char *text, size_t count, unsigned char *out);

#endif
