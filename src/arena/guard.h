/*
 * Guards and patterns: the values that debugging gives to bytes around and in blocks (guard.c).
 *
 * A free, a resize and cuarena_check look at guards once the host has waited for every stream that
 * the block names, so what they read is what all work before the call has left.
 */
#ifndef CUAI_ARENA_GUARD_H
#define CUAI_ARENA_GUARD_H

#include "arena/finding.h"

#define CUAI_GUARD_VALUE 0xfd
#define CUAI_NEW_VALUE 0xcd
#define CUAI_FREED_VALUE 0xdd

/* UNSUPPORTED, put into words, if an option asks for bytes that the memory cannot set or read. */
cuarena_status_t cuai_guard_supported(const cuarena_t *arena);

/* Writes the guards of a watched block, which is marked as moving, and with FILL_ALLOC the pattern
 * into the bytes from `kept` on, on a stream. In an open session it writes nothing, and the block
 * has no guards; nor has it where they cannot be written, which the log is told at level warn: that
 * is no error but LOST. Drops the lock. */
cuarena_status_t cuai_guard_write(cuarena_t *arena, cuai_block_ref_t ref, uint64_t kept,
                                  uint32_t number);
/* Waits for the work so far of a stream, and of all streams that the block names, so that its bytes
 * are still. BUSY: one is being captured. Drops the lock. */
cuarena_status_t cuai_guard_await(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);

/* At most one on each side. */
typedef struct cuai_findings {
    uint32_t count;
    cuai_finding_t list[2];
} cuai_findings_t;
/* Looks at the guards of a block, which is marked as moving and whose bytes are still, and makes
 * them whole again. On an error nobody knows how they are. Drops the lock. */
cuarena_status_t cuai_guard_check(cuarena_t *arena, cuai_block_ref_t ref,
                                  cuai_findings_t *findings_out);
/* Sets all bytes of a block that has been freed to the pattern, before the call returns; and looks
 * whether they have it. The block is marked as moving. Drops the lock. */
cuarena_status_t cuai_freed_fill(cuarena_t *arena, cuai_block_ref_t ref);
cuarena_status_t cuai_freed_check(cuarena_t *arena, cuai_block_ref_t ref,
                                  cuai_findings_t *findings_out);
/* Tells all findings, as cuai_finding_tell tells one. Drops the lock. */
void cuai_findings_tell(cuarena_t *arena, const cuai_findings_t *findings);

#endif
