/* Seeded random numbers (splitmix64): the same sequence everywhere. */
#ifndef CUARENA_TEST_RANDOM_H
#define CUARENA_TEST_RANDOM_H

#include <stdint.h>

typedef struct random_state {
    uint64_t state;
} random_state_t;

static inline uint64_t random_next(random_state_t *random)
{
    uint64_t bits = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

/* 0 to bound - 1; 0 for a bound of 0. */
static inline uint64_t random_below(random_state_t *random, uint64_t bound)
{
    return bound != 0 ? random_next(random) % bound : 0;
}

#endif
