/* Chunks: how much growth takes beyond what a request lacks (chunks.c). */
#ifndef CUAI_ARENA_CHUNKS_H
#define CUAI_ARENA_CHUNKS_H

#include "cuarena/arena.h"

typedef struct cuai_chunk {
    uint64_t bytes; /* growth takes at least so many; 0 without chunks */
    uint64_t next;  /* the next chunk, if it gets them */
} cuai_chunk_t;

/* The next chunk is the first one; or the first one after a trim. */
void cuai_chunks_start(cuarena_t *arena);
void cuai_chunks_trimmed(cuarena_t *arena);
/* The chunk for a request that needs so many bytes in one piece. Growth by what is lacking takes
 * whole handles. */
cuai_chunk_t cuai_chunk_for(const cuarena_t *arena, uint64_t need, uint64_t lacking);
/* What to ask for when the memory did not have the pages of `*asked`, which goes down; 0: less than
 * `least` is of no use. */
uint64_t cuai_chunk_smaller(const cuarena_t *arena, uint64_t *asked, uint64_t least);

#endif
