/* Setting bytes to 0 (zero.c). */
#ifndef CUAI_ARENA_ZERO_H
#define CUAI_ARENA_ZERO_H

#include "arena/find.h"

/* Sets the bytes of a block, which is marked as moving, but the first `kept` to 0 on a stream. In
 * an open session the stream's graph does it. Drops the lock. */
cuarena_status_t cuai_zero_block(cuarena_t *arena, cuai_block_ref_t ref, uint64_t kept,
                                 uint32_t number);
/* With ZERO_CREATE sets bytes that the memory has just given to 0, unless they come zeroed; on a
 * stream if they are ordered by one. No lock. */
cuarena_status_t cuai_zero_fresh(const cuarena_t *arena, uint64_t address, uint64_t bytes,
                                 cuarena_stream_t stream);
/* Whether a block's bytes are set to 0 before they leave it: with ZERO_FREE, but not the caller's
 * own. */
bool cuai_zeroes_freed(const cuarena_t *arena, cuai_block_ref_t ref);
/* Whether bytes that go back to the memory are set to 0 before. */
bool cuai_zeroes_returned(const cuarena_t *arena);
/* With ZERO_OWNER notes a request of a tag, or of a capture session, and says whether the block's
 * bytes may have been another owner's. */
bool cuai_zeroes_owner(cuarena_t *arena, cuarena_tag_t tag, bool captured);
/* Whether zeroing failed because nobody can read the bytes again: the device is lost, or stayed
 * with the process that this one was forked from. */
static inline bool cuai_zeroes_nothing(cuarena_status_t status)
{
    return status == CUARENA_LOST || status == CUARENA_NO_DEVICE;
}
/* Loses the arena: contents that must be 0 are not, and it is too late to refuse the call. Adds
 * that to the last error, which says why. Keeps the lock. */
void cuai_lose(cuarena_t *arena);
/* UNSUPPORTED, put into words, if `what` needs a graph to set bytes to 0 and none can. */
cuarena_status_t cuai_check_zero_captured(const cuarena_t *arena, const char *what);

#endif
