/* Uses: blocks that several streams use, and blocks whose free waits (uses.c). */
#ifndef CUAI_ARENA_USES_H
#define CUAI_ARENA_USES_H

#include "arena/arena.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/use.h"

/* Notes that a stream uses the block (0: none does yet), and takes the memory that the block's free
 * will need. */
cuarena_status_t cuai_use_add(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
cuai_use_t *cuai_use_find(const cuarena_t *arena, cuarena_block_t block);
/* Forgets the block's uses: it ends now. */
void cuai_use_drop(cuarena_t *arena, cuai_block_ref_t ref);
/* Forgets the block's uses but that by one stream (0: all). */
void cuai_use_only(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* Whether bytes that the stream frees must wait: for other streams, because their segment cannot go
 * back in the stream's order, or because the block ends when its exports are closed, and only its
 * use knows the stream then. */
bool cuai_use_matters(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* The block, which has a cuai_use_t and which nothing moves, was freed on a stream: it ends when
 * the work of its uses is done. On an error nothing has changed. Drops the lock. */
cuarena_status_t cuai_end_after_uses(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* The block, which has a cuai_use_t, ends when all work that the stream has so far is done, and no
 * other stream matters. Does not call the memory. */
void cuai_end_behind(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);

/* Ends the pins that block_pin took, with the block's free; those of exports stay, and one that
 * keeps its place until it ends. */
void cuai_end_pins(cuarena_t *arena, cuai_block_ref_t ref);

/* How work is known to be done. */
typedef enum cuai_uses_how {
    CUAI_USES_ASK,
    CUAI_USES_WAIT,
    CUAI_USES_DONE /* the caller knows; nothing is queued on a stream */
} cuai_uses_how_t;
/* Ends freed blocks whose uses are done. The caller reclaims. Drops the lock. */
cuarena_status_t cuai_uses_reclaim(cuarena_t *arena, cuai_uses_how_t how);
/* Forgets all uses without ending blocks. */
void cuai_uses_clear(cuarena_t *arena);

/* ---- Ending later ------------------------------------------------------ */

/* The block is freed for its owner and ends later; or lives on after all. */
static inline void cuai_mark_ending(cuarena_t *arena, cuai_record_t *r)
{
    arena->ending += (r->flags & CUAI_BLOCK_ENDING) == 0;
    r->flags |= CUAI_BLOCK_ENDING;
}

static inline void cuai_clear_ending(cuarena_t *arena, cuai_record_t *r)
{
    CUAI_ASSERT((r->flags & CUAI_BLOCK_ENDING) != 0 && arena->ending != 0);
    arena->ending--;
    r->flags &= (uint8_t)~CUAI_BLOCK_ENDING;
}

#endif
