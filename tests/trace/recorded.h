/* Arenas that record in a file, which is read back. */
#ifndef CUARENA_TEST_RECORDED_H
#define CUARENA_TEST_RECORDED_H

#include "support/fixture_streams.h"
#include "support/trace_file.h"

#define POOL KIB(64)

extern trace_file_t file; /* of the test: what was read last */

void read_back(const char *path);
/* Ends the fixture's trace and reads it. */
void end_trace(const fixture_t *f, const char *path);
/* Opens an arena that records from its beginning. */
fixture_t *traced(const arena_kind_t *kind, const char *path);

#endif
