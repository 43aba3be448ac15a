/*
 * What an arena counts of its blocks beyond the counts of its heaps, and of the bytes that it
 * reserved (counts.c).
 */
#ifndef CUAI_ARENA_COUNTS_H
#define CUAI_ARENA_COUNTS_H

#include "arena/alloc.h"
#include "arena/arena.h"

/* ---- Blocks ------------------------------------------------------------ */

/* Comes before a block of a request is allocated in a region, while nothing has counted it. */
void cuai_prepare_counts(cuarena_t *arena, const cuai_request_t *request, int32_t region);
/* A block begins to live, or ends: counted by all but its heap, which counts by itself. */
void cuai_count_in(cuarena_t *arena, const cuai_record_t *r);
void cuai_count_out(cuarena_t *arena, const cuai_record_t *r);
/* The block is another stream's from now on, or with 0 nobody's: counts it as freed on the one and
 * allocated on the other. */
void cuai_change_owner(cuarena_t *arena, cuai_record_t *r, uint32_t number);
/* A live block's size changed by `more`, modulo 2^64. */
void cuai_count_resize(cuarena_t *arena, const cuai_record_t *r, uint64_t more,
                       uint64_t more_requested);
/* Leaves a block that no caller got, and which ends next, out of all counts of allocations and
 * frees. */
void cuai_uncount_block(cuarena_t *arena, cuai_block_ref_t ref);

/* ---- The whole arena --------------------------------------------------- */

/* The bytes of the live blocks of all heaps. O(1). */
uint64_t cuai_live_bytes(const cuarena_t *arena);
/* The counts of all blocks of the arena, with their peaks. */
cuai_counts_t cuai_whole_counts(const cuarena_t *arena);
/* From now on `whole` is kept at every change (CUAI_SLOW_WHOLE). */
void cuai_begin_whole(cuarena_t *arena);
/* Stops keeping `whole` if neither a scope nor a second heap needs peaks of the whole beside the
 * heap's. */
void cuai_end_whole(cuarena_t *arena);
/* Keeps the most live bytes ever, and the most blocks of each heap, before peaks begin anew. */
void cuai_keep_most(cuarena_t *arena);

/* ---- Reserved bytes ---------------------------------------------------- */

/* What the limit of reserved bytes leaves. */
static inline uint64_t cuai_affordable(const cuarena_t *arena)
{
    uint64_t limit = arena->limits[CUARENA_LIMIT_RESERVED];
    uint64_t spent = arena->reserved + arena->reserving;
    return limit > spent ? limit - spent : 0;
}

/* Whether the request's region could hold it if it were empty. While another thread may be resizing
 * a pool that is not known. */
bool cuai_region_may_hold(const cuarena_t *arena, const cuai_request_t *request);
/* Whether a request is for no more than the limit, or than all that is reserved already. */
bool cuai_limit_may_allow(const cuarena_t *arena, const cuai_request_t *request);
/* Whether a request would fit beside the live blocks if nothing else were reserved. If not, no
 * cached block ends and nothing goes back for it. */
bool cuai_would_fit(const cuarena_t *arena, const cuai_request_t *request);

/* Changes the reserved bytes by `more`, modulo 2^64, and raises their peak. */
static inline void cuai_count_reserved(cuarena_t *arena, uint64_t more)
{
    CUAI_ASSERT(more <= UINT64_MAX / 2 || 0 - more <= arena->reserved);
    arena->reserved += more;
    arena->peak_reserved = cuai_max(arena->peak_reserved, arena->reserved);
}

/* Counts one piece or segment that was given back, for the figures of extensions and shrinkages. */
void cuai_count_shrinkage(cuarena_t *arena);

#endif
