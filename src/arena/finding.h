/* Findings: bytes that somebody wrote who should not have (finding.c). */
#ifndef CUAI_ARENA_FINDING_H
#define CUAI_ARENA_FINDING_H

#include "arena/watch.h"

/* Which bytes of a block were written. */
enum {
    CUAI_FOUND_BEFORE, /* its guard before it */
    CUAI_FOUND_BEHIND, /* its guard behind it */
    CUAI_FOUND_FREED   /* bytes of a block that was freed, in the quarantine */
};

#define CUAI_FOUND_BYTES 16

/* The bytes of a range that do not have the value which the library gave them. */
typedef struct cuai_damage {
    uint64_t first; /* offset of the first such byte */
    uint64_t last;
    unsigned char bytes[CUAI_FOUND_BYTES]; /* from the first on, what is there */
    uint32_t count;                        /* of `bytes` */
} cuai_damage_t;

/* One finding, with all that its message needs, so that the block may end before it is told. */
typedef struct cuai_finding {
    int where; /* CUAI_FOUND_... */
    cuai_damage_t damage;
    uint64_t distance; /* bytes from the block's begin or end to the nearest written byte; 0: they
                        * touch */
    bool below;        /* of a freed block: it lies before the block's own bytes */
    cuarena_block_t block;
    uint64_t address;
    uint64_t requested;
    const char *tag; /* NULL: none */
    uint64_t age;    /* allocations since its own */
    uint64_t age_ms;
    uint32_t frame_count;
    void *frames[CUAI_MOST_FRAMES];
} cuai_finding_t;

/* What is known of a watched block and where damage lies, whose range begins at an address. */
void cuai_finding_make(const cuarena_t *arena, cuai_block_ref_t ref, int where, uint64_t address,
                       const cuai_damage_t *damage, cuai_finding_t *finding_out);
/* Counts the finding, tells the log and sets the last error to CORRUPT. Drops the lock. */
void cuai_finding_tell(cuarena_t *arena, const cuai_finding_t *finding);

#endif
