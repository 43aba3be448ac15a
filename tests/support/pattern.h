/*
 * The pattern that tests fill memory with: eight bytes from a seed and the number of the word, the
 * same on the CPU and in kernels.
 */
#ifndef CUARENA_TEST_PATTERN_H
#define CUARENA_TEST_PATTERN_H

#include <stdint.h>

#ifdef __CUDA__
#define PATTERN_CALL static inline __attribute__((device))
#else
#define PATTERN_CALL static inline
#endif

PATTERN_CALL uint64_t pattern_word(uint64_t seed, uint64_t index)
{
    uint64_t bits = (seed + 1) * 0x9e3779b97f4a7c15u + index;
    bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93u;
    bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93u;
    return bits ^ (bits >> 32);
}

/* The byte at an offset from the first word of the pattern. */
PATTERN_CALL unsigned char pattern_byte(uint64_t seed, uint64_t offset)
{
    return (unsigned char)(pattern_word(seed, offset / 8) >> offset % 8 * 8);
}

#endif
