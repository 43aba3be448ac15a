/*
 * What tests ask of the host's memory. Always compiled in, on cold paths.
 */
#ifndef CUAI_BASE_HOST_TEST_H
#define CUAI_BASE_HOST_TEST_H

#include <stdint.h>

/* The nth call from now that may be refused (1: the next) is; those after it are not. 0: none
 * is. */
void cuai_host_fail_at(uint64_t nth);
/* How many such calls there were, refused ones too, since the last cuai_host_fail_at. */
uint64_t cuai_host_calls(void);
/* Bytes in use now: allocated, as asked for, and committed. */
uint64_t cuai_host_live(void);

#endif
