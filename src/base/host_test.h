/*
 * Functions by which tests make host memory fail and count it. Always compiled in, on cold paths.
 */
#ifndef CUAI_BASE_HOST_TEST_H
#define CUAI_BASE_HOST_TEST_H

#include <stdint.h>

/* Refuses the nth call from now that may be refused (1: the next) and no later one. 0: none. */
void cuai_host_fail_at(uint64_t nth);
/* How many calls that may be refused there were since the last cuai_host_fail_at. */
uint64_t cuai_host_calls(void);
/* Bytes in use now: those allocated, as asked for, and those committed. */
uint64_t cuai_host_live(void);

#endif
