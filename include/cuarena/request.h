/*
 * Requests: what an allocation asks for besides its size, and the errors of allocating calls.
 *
 *   cuarena_request_t request;
 *   cuarena_request_init(&request);
 *   request.alignment = 4096;
 *   request.zeroed = 1;
 *   cuarena_alloc_with(arena, bytes, &request, &pointer);
 *
 * What an allocating call may return besides the errors of every call (arena.h):
 *
 *   OUT_OF_MEMORY  fewer bytes are free than asked for, and no more can be had
 *   FRAGMENTED     enough bytes are free, but not together: compaction would
 *                  make room (compact.h). OUT_OF_MEMORY if it would not, as no
 *                  address of the arena has the alignment and room behind it
 *   LIMIT          a limit stands in the way, which cuarena_get_limit tells:
 *                  one that was set or, with preset=grow, mlx-cpu or mlx-cuda,
 *                  what limit=auto came to
 *   UNSUPPORTED    zeroed bytes of a memory that cannot set bytes to 0; a
 *                  dedicated block with a larger alignment than the memory
 *                  gives its segments
 *   DRIVER         the driver or the system refused
 *
 * cuarena_last_error_info then tells the bytes asked for, the limit, the bytes reserved and free,
 * and the largest free range. oom.h says what was tried before.
 */
#ifndef CUARENA_REQUEST_H
#define CUARENA_REQUEST_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Says what blocks are for, in statistics and leak reports; 0: no tag. It is good in the arena that
 * gave it. */
typedef uint16_t cuarena_tag_t;

/* The parts of an arena: in the dynamic region blocks may move, in the stable one none ever does.
 */
#define CUARENA_REGION_DYNAMIC 0
#define CUARENA_REGION_STABLE 1
#define CUARENA_REGION_COUNT 2
/* For statistics: the whole arena, which is both regions, dedicated and adopted blocks. */
#define CUARENA_REGION_ALL (-1)

typedef struct cuarena_request {
    size_t struct_size;
    int32_t region;     /* CUARENA_REGION_DYNAMIC or _STABLE. An arena without a
                         * stable region puts stable blocks low into its dynamic
                         * one and never moves them: cuarena_block_info says
                         * STABLE, statistics count them as dynamic */
    int32_t zeroed;     /* 1: the block's bytes read as 0 */
    int32_t dedicated;  /* 1: the block gets a segment of its own, which does not
                         * count as growth and is given back when the block is
                         * freed (in a capture session after its release). It
                         * counts toward the limits. With segments=each every
                         * block is dedicated and keeps its size, an empty
                         * one too */
    cuarena_tag_t tag;  /* 0: none */
    uint64_t alignment; /* bytes, a power of two; 0: the arena's */
} cuarena_request_t;
CUARENA_API void cuarena_request_init(cuarena_request_t *request);

/* The tag of that name, which is registered at its first use; the name is copied. LIMIT if
 * CUARENA_HEAP_MAX_TAGS - 1 tags are registered. Cost: O(tags). */
CUARENA_API cuarena_status_t cuarena_tag(cuarena_t *arena, const char *name,
                                         cuarena_tag_t *tag_out);
/* The name of a tag. The text belongs to the arena, and is valid until that is destroyed. */
CUARENA_API cuarena_status_t cuarena_tag_name(cuarena_t *arena, cuarena_tag_t tag,
                                              const char **name_out);

#ifdef __cplusplus
}
#endif

#endif
