/*
 * Chunks: how much growth takes beyond what a request lacks.
 *
 *   next      the size of the next chunk; it begins at initial_chunk, but never above the limit,
 *             and after a trim at growth_after_trim
 *   raised    a request above `next` doubles it until it fits, whatever max_doubling says, and it
 *             stays there
 *   advanced  otherwise a chunk that was taken doubles `next`, to max_doubling at most: from above
 *             that it falls back to max_doubling
 *
 * Chunks are multiples of the granule, as in ONNX Runtime's arena. What is taken is rounded up to
 * the memory's granularity and cut to what the limit leaves, so it is the same as there, byte by
 * byte, where granularity and granule are.
 */
#include "arena/chunks.h"
#include "arena/counts.h"

/* A smaller chunk is not worth another try. */
#define LEAST_RETRY 8192

static uint64_t granules(const cuarena_t *arena, uint64_t bytes)
{
    return cuai_align_up(bytes, cuai_granule(arena));
}

static uint64_t twice(uint64_t bytes)
{
    return bytes > UINT64_MAX / 2 ? UINT64_MAX : bytes * 2;
}

static uint64_t raised(uint64_t bytes, uint64_t need)
{
    while (bytes < need)
        bytes = twice(bytes);
    return bytes;
}

static uint64_t advanced(const cuarena_t *arena, uint64_t bytes)
{
    return cuai_min(twice(bytes), arena->config.max_doubling);
}

void cuai_chunks_start(cuarena_t *arena)
{
    CUAI_ASSERT(arena->reserved == 0);
    uint64_t limit = arena->limits[CUARENA_LIMIT_RESERVED];
    uint64_t bytes = cuai_min(limit, arena->config.initial_chunk);
    arena->next_chunk = granules(arena, bytes);
}

void cuai_chunks_trimmed(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    arena->next_chunk = granules(arena, arena->config.growth_after_trim);
}

/* The whole pages that the limit leaves and that a segment can have. */
static uint64_t affordable(const cuarena_t *arena)
{
    return cuai_align_down(cuai_min(cuai_affordable(arena), CUARENA_HEAP_MAX_SEGMENT - 1),
                           cuai_page_bytes(arena));
}

cuai_chunk_t cuai_chunk_for(const cuarena_t *arena, uint64_t need, uint64_t lacking)
{
    uint64_t most = affordable(arena);
    cuai_chunk_t chunk = {.bytes = most, .next = arena->next_chunk};
    if (arena->config.grow != CUARENA_GROW_DOUBLING) {
        chunk.bytes = cuai_min(cuai_align_up(lacking, cuai_handle_now(arena)), most);
        return chunk;
    }
    uint64_t bytes = raised(arena->next_chunk, need);
    if (bytes < most)
        chunk.bytes = cuai_page_multiple(arena, bytes);
    chunk.bytes = cuai_min(chunk.bytes, most);
    chunk.next = bytes > arena->next_chunk ? bytes : advanced(arena, bytes);
    return chunk;
}

/* Nine tenths, in single precision as ONNX Runtime computes them; at least a granule less. */
static uint64_t tenth_less(const cuarena_t *arena, uint64_t bytes)
{
    CUAI_ASSERT(bytes >= cuai_granule(arena));
    float less = (float)((float)bytes * 0.9f);
    return cuai_min(granules(arena, (uint64_t)less), bytes - cuai_granule(arena));
}

uint64_t cuai_chunk_smaller(const cuarena_t *arena, uint64_t *asked, uint64_t least)
{
    uint64_t granularity = cuai_page_bytes(arena);
    uint64_t before = cuai_align_up(*asked, granularity);
    uint64_t bytes = before;
    CUAI_ASSERT(least <= before);
    while (bytes >= before) {
        uint64_t less = tenth_less(arena, *asked);
        if (less < LEAST_RETRY)
            return 0;
        *asked = less;
        bytes = cuai_align_up(*asked, granularity);
    }
    return bytes < least ? 0 : bytes; /* the pages count, which may be more than was asked for */
}
