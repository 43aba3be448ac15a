/*
 * How much of its records an arena looks at: pages of the records and look-up tables of its heaps,
 * counted by taking the right to touch them away. Each comes back when it is touched for the first
 * time.
 *
 * For programs that look inside, one arena at a time, and calls that neither need more records nor
 * destroy the arena.
 */
#ifndef CUARENA_TEST_TOUCHED_H
#define CUARENA_TEST_TOUCHED_H

#include <cuarena.h>

/* From now on it is counted. */
void touched_begin(const cuarena_t *arena);
/* Pages that were touched since; how many there are goes to `pages_out`, which may be NULL. */
uint64_t touched_end(uint64_t *pages_out);

#endif
