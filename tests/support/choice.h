/*
 * Where a random test gets its choices from: a generator, or the bytes of a fuzzer's input.
 */
#ifndef CUARENA_TEST_CHOICE_H
#define CUARENA_TEST_CHOICE_H

#include "random.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct choice {
    random_state_t random;
    const uint8_t *bytes; /* NULL: the generator chooses */
    size_t left;          /* of bytes */
} choice_t;

/* How many bytes a choice among `bound` takes. */
static inline unsigned choice_width(uint64_t bound)
{
    return bound <= 0x100 ? 1 : bound <= 0x10000 ? 2 : 8;
}

static inline uint64_t choice_read(choice_t *choice, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width && choice->left != 0; i++) {
        value = value << 8 | *choice->bytes++;
        choice->left--;
    }
    return value;
}

/* 0 to bound - 1; 0 for a bound of 0. */
static inline uint64_t choose(choice_t *choice, uint64_t bound)
{
    if (bound <= 1)
        return 0;
    if (choice->bytes != NULL)
        return choice_read(choice, choice_width(bound)) % bound;
    return random_below(&choice->random, bound);
}

/* True once in `bound` times. */
static inline bool choose_one_in(choice_t *choice, uint64_t bound)
{
    return choose(choice, bound) == bound - 1;
}

/* Whether the bytes are used up. */
static inline bool choice_done(const choice_t *choice)
{
    return choice->bytes != NULL && choice->left == 0;
}

#endif
