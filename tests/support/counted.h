/*
 * What a piece of work costs, counted without a clock: calls of the system and instructions, of a
 * process that is traced while it does the work, and allocations from the C library's heap.
 */
#ifndef CUARENA_TEST_COUNTED_H
#define CUARENA_TEST_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

/* How often memory was asked of the C library in this process. Not counted under a sanitizer, which
 * has a heap of its own, nor with other C libraries than glibc: 0 then. */
uint64_t counted_mallocs(void);
bool counted_mallocs_possible(void);

/*
 * Each forks, does `prepare` in the child, and counts what `work` takes there; both get `user`.
 * What fails in the child fails the test. counted_possible says whether a process may trace its
 * child here.
 */
typedef void counted_fn(void *user);
bool counted_possible(void);
uint64_t counted_system_calls(counted_fn *prepare, counted_fn *work, void *user);
uint64_t counted_instructions(counted_fn *prepare, counted_fn *work, void *user);

#endif
