/* Setting bytes to 0 (zero.c). */
#ifndef CUAI_ARENA_ZERO_H
#define CUAI_ARENA_ZERO_H

#include "arena/find.h"

/* Sets the bytes of a block, which is marked as moving, to 0 on a stream. In an open session the
 * stream's graph does it. Drops the lock. */
cuarena_status_t cuai_zero_block(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* The same of its bytes but the first `kept`. */
cuarena_status_t cuai_zero_tail(cuarena_t *arena, cuai_block_ref_t ref, uint64_t kept,
                                uint32_t number);
/* Whether a block's bytes are set to 0 before they leave it: with ZERO_FREE, but not the caller's
 * own. */
bool cuai_zeroes_freed(const cuarena_t *arena, cuai_block_ref_t ref);
/* The same of bytes that go back to the memory. */
bool cuai_zeroes_returned(const cuarena_t *arena);
/* Loses the arena: contents that must be 0 are not, and it is too late to refuse the call. Drops
 * the lock. */
void cuai_lose(cuarena_t *arena);
/* UNSUPPORTED, put into words, if `what` needs a graph to set bytes to 0 and none can. */
cuarena_status_t cuai_check_zero_captured(const cuarena_t *arena, const char *what);

#endif
