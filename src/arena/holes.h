/* Holes: stretches of addresses in the dynamic region that have no bytes (holes.c). */
#ifndef CUAI_ARENA_HOLES_H
#define CUAI_ARENA_HOLES_H

#include "arena/alloc.h"

/* Between blocks, or at the segment's end. */
typedef struct cuai_hole {
    uint64_t begin;
    uint64_t bytes;
    uint64_t below; /* free bytes within reach that end where it begins */
    uint64_t above; /* free bytes within reach that begin where it ends */
    bool at_end;    /* above the segment's usable bytes: only growing in place fills it */
} cuai_hole_t;

/* The next hole of a segment at or above `from`, for a request, or NULL: for none in particular;
 * false: no more. */
bool cuai_next_hole(const cuarena_t *arena, const cuarena_memory_segment_t *segment, uint64_t from,
                    const cuai_request_t *request, cuai_hole_t *hole_out);

#endif
