/* The check library. An assertion that holds leaves a mark by a call of the system, so that a
 * crash can be told where it was last. Here each line leaves its first mark only: suites that
 * assert in loops spent two fifths of their time in marks. */
#ifndef CUARENA_TEST_CHECKS_H
#define CUARENA_TEST_CHECKS_H

#include <check.h>

/* As _mark_point, the first time that the process passes the line. Any thread. */
void mark_first(const char *file, int line);

#define _mark_point(file, line) mark_first(file, line)

#endif
