/*
 * Powers of two, rounding and bit positions, in 64 bits throughout.
 */
#ifndef CUAI_BASE_BITS_H
#define CUAI_BASE_BITS_H

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Sizes, offsets and host pointers are exchanged freely. */
static_assert(CHAR_BIT == 8, "bytes have 8 bits");
static_assert(sizeof(size_t) == 8, "the library is for 64-bit hosts");
static_assert(sizeof(void *) == 8, "the library is for 64-bit hosts");
static_assert(sizeof(unsigned long long) == 8, "bit counts take 64 bits");

#define CUAI_KIB (UINT64_C(1) << 10)
#define CUAI_MIB (UINT64_C(1) << 20)
#define CUAI_GIB (UINT64_C(1) << 30)
#define CUAI_TIB (UINT64_C(1) << 40)

static inline bool cuai_is_power_of_two(uint64_t v)
{
    return v != 0 && (v & (v - 1)) == 0;
}

static inline bool cuai_is_aligned(uint64_t v, uint64_t pow2)
{
    CUAI_ASSERT(cuai_is_power_of_two(pow2));
    return (v & (pow2 - 1)) == 0;
}

static inline uint64_t cuai_align_down(uint64_t v, uint64_t pow2)
{
    CUAI_ASSERT(cuai_is_power_of_two(pow2));
    return v & ~(pow2 - 1);
}

/* Rounds up; the sum must not overflow. */
static inline uint64_t cuai_align_up(uint64_t v, uint64_t pow2)
{
    CUAI_ASSERT(v <= UINT64_MAX - (pow2 - 1));
    return cuai_align_down(v + (pow2 - 1), pow2);
}

/* false on overflow; nothing is written then. */
static inline bool cuai_align_up_checked(uint64_t v, uint64_t pow2, uint64_t *out)
{
    if (v > UINT64_MAX - (pow2 - 1))
        return false;
    *out = cuai_align_up(v, pow2);
    return true;
}

/* false on overflow; nothing is written then. */
static inline bool cuai_add_checked(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a > UINT64_MAX - b)
        return false;
    *out = a + b;
    return true;
}

/* false on overflow; nothing is written then. */
static inline bool cuai_mul_checked(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

static inline uint64_t cuai_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t cuai_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The position of the lowest bit that is set; v is not 0. */
static inline uint32_t cuai_ctz(uint64_t v)
{
    CUAI_ASSERT(v != 0);
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(v);
#else
    uint32_t n = 0;
    for (; (v & 1) == 0; v >>= 1)
        n++;
    return n;
#endif
}

/* The position of the highest bit that is set; v is not 0. */
static inline uint32_t cuai_log2_floor(uint64_t v)
{
    CUAI_ASSERT(v != 0);
#if defined(__GNUC__)
    return (uint32_t)(63 ^ __builtin_clzll(v));
#else
    uint32_t n = 0;
    while ((v >>= 1) != 0)
        n++;
    return n;
#endif
}

/* One less than the least power of two that is at least v, which is 1 to 2^63. */
static inline uint64_t cuai_power_of_two_mask(uint64_t v)
{
    CUAI_ASSERT(v != 0 && v <= UINT64_C(1) << 63);
    return (UINT64_C(1) << cuai_log2_floor(2 * v - 1)) - 1;
}

#endif
