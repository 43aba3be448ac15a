/*
 * The kernels of the tests, for a real device; tests/standin/test_kernels.c
 * has them for the stand-in. test_kernels_ptx.h holds what clang 14 makes of
 * this file, with no CUDA Toolkit:
 *
 *   clang-14 -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc \
 *     -nocudalib -Xclang -target-feature -Xclang +ptx70 -O2 -S -Itests \
 *     -o - tests/support/test_kernels.cu
 *
 * Addresses and counts are 64-bit; any grid and block of one dimension.
 */
#include "support/pattern.h"

#define GLOBAL extern "C" __attribute__((global))
#define DEVICE static inline __attribute__((device))

typedef unsigned long long u64;

DEVICE u64 thread_index(void)
{
    return (u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
           __nvvm_read_ptx_sreg_tid_x();
}

DEVICE u64 thread_count(void)
{
    return (u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

/* Fills with the pattern of a seed, from its word `first` on. */
GLOBAL void fill(unsigned char *to, u64 bytes, u64 seed, u64 first)
{
    u64 words = bytes / 8;
    u64 step = thread_count();
    for (u64 i = thread_index(); i < words; i += step) {
        if ((u64)to % 8 == 0) {
            ((u64 *)to)[i] = pattern_word(seed, first + i);
        } else {
            for (u64 j = i * 8; j < i * 8 + 8; j++)
                to[j] = pattern_byte(seed, first * 8 + j);
        }
    }
    for (u64 j = words * 8 + thread_index(); j < bytes; j += step)
        to[j] = pattern_byte(seed, first * 8 + j);
}

/* Adds to *bad how many bytes are not the pattern's. */
GLOBAL void check(const unsigned char *from, u64 bytes, u64 seed, u64 first,
                  u64 *bad)
{
    u64 step = thread_count();
    u64 count = 0;
    u64 words = (u64)from % 8 == 0 ? bytes / 8 : 0;
    for (u64 i = thread_index(); i < words; i += step) {
        u64 wrong = ((const u64 *)from)[i] ^ pattern_word(seed, first + i);
        for (; wrong != 0; wrong >>= 8)
            count += (wrong & 255) != 0;
    }
    for (u64 j = words * 8 + thread_index(); j < bytes; j += step)
        count += from[j] != pattern_byte(seed, first * 8 + j);
    if (count != 0)
        __nvvm_atom_add_gen_ll((long long *)bad, (long long)count);
}

/* Adds to *set how many bytes are not 0. */
GLOBAL void count_set(const unsigned char *from, u64 bytes, u64 *set)
{
    u64 step = thread_count();
    u64 count = 0;
    for (u64 i = thread_index(); i < bytes; i += step)
        count += from[i] != 0;
    if (count != 0)
        __nvvm_atom_add_gen_ll((long long *)set, (long long)count);
}

/* Adds one to each word of 32 bits. */
GLOBAL void touch(unsigned *to, u64 bytes)
{
    u64 step = thread_count();
    for (u64 i = thread_index(); i < bytes / 4; i += step)
        to[i]++;
}

/* Runs until *flag is not 0, or for so many cycles: 0 is for ever. */
GLOBAL void spin(volatile unsigned *flag, u64 cycles)
{
    u64 begin = (u64)__nvvm_read_ptx_sreg_clock64();
    for (;;) {
        if (flag != 0 && *flag != 0)
            return;
        if (cycles != 0 &&
            (u64)__nvvm_read_ptx_sreg_clock64() - begin >= cycles)
            return;
    }
}
