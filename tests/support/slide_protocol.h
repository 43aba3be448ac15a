/*
 * The relocation kernel in C, in steps, so that a scheduler can run what the device runs at the
 * same time in any order. slide_rules.h has the protocol and the arithmetic that this shares with
 * the kernel; here is what the kernel does with them.
 *
 * A block of `stages` stages is that many actors and one: the first draws and begins to read, each
 * of the others gets the bytes of a stage's tile, publishes, waits and writes. Actor a is of block
 * a / (1 + stages).
 *
 * It can be broken on purpose, to see that what runs it notices.
 */
#ifndef CUARENA_TEST_SLIDE_PROTOCOL_H
#define CUARENA_TEST_SLIDE_PROTOCOL_H

#include <stdint.h>

#include "memory/cuda/slide_rules.h"

/* Where the bytes of the device's addresses are; NULL refuses the access, and then the step is a
 * FAULT. `update` is for the words that blocks share. */
typedef struct slide_access {
    const void *(*read)(void *user, uint64_t address, uint64_t bytes);
    void *(*write)(void *user, uint64_t address, uint64_t bytes);
    void *(*update)(void *user, uint64_t address, uint64_t bytes);
    void *user;
} slide_access_t;

typedef enum slide_step {
    SLIDE_DONE,     /* the actor has ended */
    SLIDE_PROGRESS, /* it did something */
    SLIDE_BLOCKED,  /* it waits for another actor */
    SLIDE_FAULT
} slide_step_t;

typedef enum slide_defect {
    SLIDE_SOUND,
    SLIDE_NO_WAIT,       /* writes without waiting for readers */
    SLIDE_EARLY_PUBLISH, /* publishes before the bytes have arrived */
    SLIDE_BACKWARDS,     /* tickets stand for tiles from the last on */
    SLIDE_NO_TABLE_WAIT, /* reads the table before it has been fetched */
    SLIDE_OVERRUN,       /* publishes over a word of the ring still in use */
    SLIDE_OVER_SEAMS     /* copies on from one piece of memory to the next */
} slide_defect_t;

typedef struct slide_blocks slide_blocks_t;

/* NULL: no memory. Makes no access. */
slide_blocks_t *slide_blocks_begin(const cuai_slide_params_t *params, uint32_t count,
                                   uint32_t stages, slide_defect_t defect);
uint32_t slide_blocks_actors(const slide_blocks_t *blocks);
/* One small step of one actor; DONE again and again once it has ended. */
slide_step_t slide_blocks_step(slide_blocks_t *blocks, uint32_t actor,
                               const slide_access_t *access);
void slide_blocks_end(slide_blocks_t *blocks);

#endif
