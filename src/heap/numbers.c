/*
 * Numbers of heaps, which tell the ids of one heap from those of another.
 *
 * No two heaps that live in a process have the same number. A number that was returned is reused
 * after all others that are free, and its next heap begins with the generations that the last one
 * did not reach: an id of a heap that has ended names nothing in a later one until half of the
 * number's ids were used, when its generations begin anew.
 *
 * There is no lock, so that a child that was forked at any moment can go on.
 */
#include <stdatomic.h>

#include "heap/heap.h"

#define NUMBERS (1u << CUAI_HEAP_ID_BITS)
#define WORD_BITS 64u
/* The unit in which used ids are kept: as many as a heap of the most slots has in one generation.
 */
#define UNIT_LOG2 CUAI_MOST_SLOT_BITS
#define HALF_OF_UNITS (UINT32_C(1) << (CUAI_IDS_LOG2 - UNIT_LOG2 - 1))

static _Atomic uint64_t taken[NUMBERS / WORD_BITS];
static _Atomic uint32_t used_units[NUMBERS];
static _Atomic uint32_t turns;

static uint64_t bit_of(uint32_t number)
{
    return UINT64_C(1) << number % WORD_BITS;
}

static bool claim(uint32_t number)
{
    uint64_t bit = bit_of(number);
    CUAI_ASSERT(number != 0 && number < NUMBERS);
    return (atomic_fetch_or(&taken[number / WORD_BITS], bit) & bit) == 0;
}

uint32_t cuai_heap_number_alloc(void)
{
    for (uint32_t i = 1; i < NUMBERS; i++) {
        uint32_t turn = atomic_fetch_add(&turns, 1);
        uint32_t number = turn % (NUMBERS - 1) + 1;
        if (claim(number))
            return number;
    }
    return 0;
}

uint32_t cuai_heap_first_generation(uint32_t number, uint32_t slot_bits)
{
    uint64_t units = atomic_load(&used_units[number]);
    CUAI_ASSERT(slot_bits >= CUAI_LEAST_SLOT_BITS && slot_bits <= UNIT_LOG2);
    return units > HALF_OF_UNITS ? 0 : (uint32_t)(units << (UNIT_LOG2 - slot_bits));
}

void cuai_heap_number_free(uint32_t number, uint32_t slot_bits, uint32_t last_generation)
{
    uint64_t used =
        cuai_align_up(((uint64_t)last_generation + 1) << slot_bits, UINT64_C(1) << UNIT_LOG2);
    CUAI_ASSERT(number != 0 && number < NUMBERS);
    atomic_store(&used_units[number], (uint32_t)(used >> UNIT_LOG2));
    atomic_fetch_and(&taken[number / WORD_BITS], ~bit_of(number));
}
