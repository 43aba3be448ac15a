/*
 * Block refs: which block in which heap; the arena's flags of a block; and the look-up by address
 * or id (find.c).
 */
#ifndef CUAI_ARENA_FIND_H
#define CUAI_ARENA_FIND_H

#include "cuarena/arena.h"
#include "heap/heap.h"

/* The arena's bits among a block's flags. */
#define CUAI_BLOCK_POINTER 0x01u   /* made by the calls for pointers */
#define CUAI_BLOCK_BORN_PIN 0x02u  /* has the pin it was born with */
#define CUAI_BLOCK_STABLE 0x04u    /* asked for as stable: that pin stays */
#define CUAI_BLOCK_DEDICATED 0x08u /* its segment goes back when it is freed */
#define CUAI_BLOCK_ADOPTED 0x10u   /* its bytes are the caller's */
#define CUAI_BLOCK_ENDING 0x20u    /* freed, but work that uses it is under way */
#define CUAI_BLOCK_USED 0x40u      /* has a cuai_use_t; ENDING too: it ends when its waits do */
#define CUAI_BLOCK_EXPORTED 0x80u  /* has exports, each with a pin */

/* The attributes of ordinary blocks. */
#define CUAI_POINTER_FLAGS (CUAI_BLOCK_POINTER | CUAI_BLOCK_BORN_PIN)
#define CUAI_POINTER_ATTRIBUTES CUAI_ATTRIBUTES(1, CUAI_BLOCK, CUAI_POINTER_FLAGS)
#define CUAI_STABLE_ATTRIBUTES                                                                     \
    CUAI_ATTRIBUTES(1, CUAI_BLOCK, CUAI_POINTER_FLAGS | CUAI_BLOCK_STABLE)
#define CUAI_BLOCK_ATTRIBUTES CUAI_ATTRIBUTES(0, CUAI_BLOCK, 0)

/* A live block: its heap and its slot there; heap NULL: none. */
typedef struct cuai_block_ref {
    cuarena_heap_t *heap;
    cuai_slot_t slot;
    int32_t region; /* CUAI_DYNAMIC, CUAI_STABLE or CUAI_APART */
} cuai_block_ref_t;

/* These return a ref without a heap where there is no such block that callers may name. */
cuai_block_ref_t cuai_find_address(const cuarena_t *arena, uint64_t address);
cuai_block_ref_t cuai_find_block(const cuarena_t *arena, cuarena_block_t block);
/* As cuai_find_block, but also a block that is ENDING. */
cuai_block_ref_t cuai_find_any(const cuarena_t *arena, cuarena_block_t block);

/* The next live block of an enumeration, which begins with the cursor 0: a region above bit 32, and
 * the first slot of it that was not seen below. False: there is none. */
bool cuai_find_next(const cuarena_t *arena, uint64_t *cursor, cuai_block_ref_t *block_out);

/* Whether callers may name a live block: neither one that is freed, nor the new place of a resize
 * under way, which alone has a pin that nobody took without being a pointer, stable or adopted. */
static inline bool cuai_is_named(const cuai_record_t *r)
{
    const uint8_t born = CUAI_BLOCK_POINTER | CUAI_BLOCK_STABLE | CUAI_BLOCK_ADOPTED;
    return (r->flags & CUAI_BLOCK_ENDING) == 0 &&
           (r->flags & (born | CUAI_BLOCK_BORN_PIN)) != CUAI_BLOCK_BORN_PIN;
}

static inline cuai_record_t *cuai_block_record(cuai_block_ref_t ref)
{
    return cuai_record(ref.heap, ref.slot);
}

/* The region that callers see, which is never APART. */
int32_t cuai_block_region(cuai_block_ref_t ref);
/* How many pins callers took, so without the one that the block was born with. */
uint32_t cuai_block_pins(const cuai_record_t *r);

#endif
