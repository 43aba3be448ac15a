/*
 * A pattern: bytes that only one block has, at a few places of it: the first and the last EDGE
 * bytes, and some between that the seed chooses. Cost: the same for any size.
 */
#ifndef TOOLS_PATTERN_H
#define TOOLS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

void pattern_write(void *bytes, uint64_t size, uint64_t seed);
/* True if it is still there; else the first place where it is not. */
bool pattern_check(const void *bytes, uint64_t size, uint64_t seed, uint64_t *offset_out);

#endif
