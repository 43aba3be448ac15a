/*
 * Setting bytes to 0 (zero.c). A part of arena.h, which includes it.
 */
#ifndef CUAI_ARENA_ZERO_H
#define CUAI_ARENA_ZERO_H

#include "arena/arena.h"

/* Sets a block's bytes to 0, on a stream; the block is marked as moving. In an open session the
 * stream's graph does it. Steps out. */
cuarena_status_t cuai_zero_block(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* The same of its bytes but the first `kept`. */
cuarena_status_t cuai_zero_tail(cuarena_t *arena, cuai_block_ref_t ref, uint64_t kept,
                                uint32_t number);
/* Whether a block's bytes are set to 0 before they leave it: with ZERO_FREE, but not the caller's
 * own. */
bool cuai_zeroes_freed(const cuarena_t *arena, cuai_block_ref_t ref);
/* The same of bytes that go back to the memory. */
bool cuai_zeroes_returned(const cuarena_t *arena);
/* Contents that must be 0 are not, and it is too late to refuse: nobody may be served again. Steps
 * out. */
void cuai_lose(cuarena_t *arena);
/* UNSUPPORTED, put into words, if no graph can: `what` is refused. */
cuarena_status_t cuai_check_zero_captured(const cuarena_t *arena, const char *what);

#endif
