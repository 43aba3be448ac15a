/* Dedicated blocks, each with a segment of its own, and adopted ones, whose bytes are the caller's
 * (dedicated.c). */
#ifndef CUAI_ARENA_DEDICATED_H
#define CUAI_ARENA_DEDICATED_H

#include "arena/alloc.h"

/* Takes a segment for one block. Drops the lock. */
cuarena_status_t cuai_alloc_dedicated(cuarena_t *arena, const cuai_request_t *request,
                                      cuai_block_ref_t *block_out);
/* The segment of a dedicated block: its record says all of it. */
cuarena_memory_segment_t cuai_dedicated_segment(const cuai_record_t *r);
/* Gives the segment of a dedicated block that has ended back: behind the work of a stream where the
 * memory can order that, else (or with stream 0) at once. Drops the lock. */
void cuai_return_segment(cuarena_t *arena, cuarena_memory_segment_t segment, uint32_t number);
/* Gives a segment back in the order of `stream`, behind a wait that the caller made and whose
 * result is `waited`; does not count it. If the wait failed the segment stays, since work may still
 * use it, and the log is told. Drops the lock. */
void cuai_return_waited(cuarena_t *arena, cuarena_memory_segment_t segment, cuarena_stream_t stream,
                        cuarena_status_t waited);
/* A session begins: takes the host memory with which blocks can be freed on its streams. On an
 * error some have theirs, which is no harm. O(slots of dedicated and adopted blocks). */
cuarena_status_t cuai_dedicated_ready_for_capture(cuarena_t *arena);
/* Whether a block's free on a stream gives its segment back in the order of that stream. Not if the
 * stream is in an open session. */
bool cuai_goes_back_on(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number);
/* Counts the caller's bytes as a block. */
cuarena_status_t cuai_adopt(cuarena_t *arena, const cuai_request_t *request, uint64_t address,
                            cuai_block_ref_t *block_out);

#endif
