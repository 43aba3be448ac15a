/*
 * What the machine has that CUDA's headers would tell: threads, lanes and their votes, words that
 * lanes pass to each other, words of memory. CUDA, without a header of CUDA's.
 */
#ifndef CUAI_MEMORY_CUDA_SLIDE_WARP_H
#define CUAI_MEMORY_CUDA_SLIDE_WARP_H

#include <stdint.h>

#define DEVICE static inline __attribute__((device))

/* ---- Threads and lanes ------------------------------------------------- */

DEVICE uint32_t thread_index(void)
{
    return __nvvm_read_ptx_sreg_tid_x();
}

DEVICE uint32_t lane_index(void)
{
    return thread_index() & 31;
}

DEVICE void block_barrier(void)
{
    asm volatile("bar.sync 0;" ::: "memory");
}

DEVICE void warp_barrier(void)
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

DEVICE uint32_t ballot(int condition)
{
    uint32_t lanes;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %1, 0;\n\t"
                 "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t}"
                 : "=r"(lanes)
                 : "r"(condition)
                 : "memory");
    return lanes;
}

/* How many lanes say yes. */
DEVICE uint32_t lanes_where(int condition)
{
    return (uint32_t)__builtin_popcount(ballot(condition));
}

/* How many lanes say yes before the first that says no. */
DEVICE uint32_t lanes_before(int condition)
{
    uint32_t no = ~ballot(condition);
    return no == 0 ? 32 : (uint32_t)__builtin_ctz(no);
}

/* ---- What lanes pass to each other ------------------------------------- */

/* The value of the lane so far below, or 0. */
DEVICE uint32_t from_below(uint32_t value, uint32_t lanes)
{
    uint32_t out;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "shfl.sync.up.b32 %0|p, %1, %2, 0, 0xffffffff;\n\t"
                 "@!p mov.u32 %0, 0;\n\t}"
                 : "=&r"(out)
                 : "r"(value), "r"(lanes));
    return out;
}

DEVICE uint32_t from_lane(uint32_t value, uint32_t lane)
{
    uint32_t out;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
                 : "=r"(out)
                 : "r"(value), "r"(lane));
    return out;
}

/* The sum of this lane's value and of those of the lanes below. */
DEVICE uint32_t sum_up_to_lane(uint32_t value)
{
    for (uint32_t lanes = 1; lanes < 32; lanes *= 2)
        value += from_below(value, lanes);
    return value;
}

/* ---- Words of memory --------------------------------------------------- */

typedef struct vector {
    uint64_t low;
    uint64_t high;
} vector_t;

DEVICE vector_t load_16(uint64_t address)
{
    vector_t v;
    asm volatile("ld.global.cg.v2.u64 {%0, %1}, [%2];" : "=l"(v.low), "=l"(v.high) : "l"(address));
    return v;
}

DEVICE void store_16(uint64_t address, const vector_t &v)
{
    asm volatile("st.global.cg.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(v.low), "l"(v.high)
                 : "memory");
}

#endif
