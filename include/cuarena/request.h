/*
 * Requests: what an allocation asks for besides its size. Regions and tags.
 */
#ifndef CUARENA_REQUEST_H
#define CUARENA_REQUEST_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names the purpose of blocks; 0: none. Registered once per arena. */
typedef uint16_t cuarena_tag_t;

#define CUARENA_REGION_DYNAMIC 0
#define CUARENA_REGION_STABLE 1
#define CUARENA_REGION_COUNT 2
/* For statistics: both regions, dedicated and adopted blocks. */
#define CUARENA_REGION_ALL (-1)

typedef struct cuarena_request {
    size_t struct_size;
    int32_t region;    /* CUARENA_REGION_DYNAMIC or _STABLE; an arena without a
                        * stable region has stable blocks in its dynamic one,
                        * low and pinned for good: cuarena_block_info tells
                        * STABLE of them, statistics count them as dynamic */
    int32_t zeroed;    /* 1: the block's bytes read as 0 */
    int32_t dedicated; /* 1: a segment of its own, outside growth, given back
                        * when it is freed, in a capture session after its
                        * release; counts toward the limits. All blocks are
                        * with segments=each */
    cuarena_tag_t tag;
    uint64_t alignment; /* 0: the arena's; else a power of two */
} cuarena_request_t;
CUARENA_API void cuarena_request_init(cuarena_request_t *request);

/*
 * What allocating calls may return besides: OUT_OF_MEMORY (fewer bytes are
 * free than asked and no more can be had), FRAGMENTED (compaction would serve it), LIMIT (a limit
 * stands in the way, which cuarena_get_limit tells: one that the caller set, or for preset=grow,
 * mlx-cpu and mlx-cuda what limit=auto came to), UNSUPPORTED (zeroed on a memory that cannot),
 * DRIVER. The last error has asked, limit, held, free and largest.
 */

/* The tag of that name, registered at first use; the name is copied. LIMIT
 * past CUARENA_HEAP_MAX_TAGS - 1 of them. Cost: the tags. */
CUARENA_API cuarena_status_t cuarena_tag(cuarena_t *arena, const char *name,
                                         cuarena_tag_t *tag_out);
/* Valid until the arena is destroyed. */
CUARENA_API cuarena_status_t cuarena_tag_name(cuarena_t *arena, cuarena_tag_t tag,
                                              const char **name_out);

#ifdef __cplusplus
}
#endif

#endif
