/*
 * The kinds of arenas that tests know, as rows of one table: a preset on a memory, and what holds
 * of such an arena. A list of tests is a range of them.
 */
#ifndef CUARENA_TEST_KINDS_H
#define CUARENA_TEST_KINDS_H

#include <stdint.h>

#define KIND_READABLE 1u     /* blocks have contents */
#define KIND_GIVES_BACK 2u   /* trim gives bytes back */
#define KIND_GROWS 4u        /* holds nothing until it must */
#define KIND_RESIZES 8u      /* resize_pool is offered */
#define KIND_DEDICATES 16u   /* blocks with a segment of their own */
#define KIND_GIVES_WHOLE 32u /* trim gives whole segments back, no less */
#define KIND_DEVICE 64u      /* the CPU reaches contents by arena_reach only */
#define KIND_EXACT 128u      /* a preset of chunks, without them */
#define KIND_CACHES 256u     /* a free leaves the block, in a cache */
#define KIND_EACH 512u       /* each block is a segment */
#define KIND_SIMULATED 1024u /* streams are simulated: sim_streams.h */
#define KIND_PLAIN 2048u     /* the test memory has no growth in place, holes or moves */

typedef struct arena_kind {
    const char *name;
    int32_t preset;
    int32_t memory;
    uint32_t traits;
    int32_t backing;    /* of device memory */
    int32_t bytes_kind; /* of the caller's bytes */
} arena_kind_t;

/* On memories of the host, of the caller's functions, and on addresses that nothing stands behind:
 * every preset that may be there. */
extern const arena_kind_t arena_kinds[];
enum {
    POOL_PAGEABLE,
    POOL_NONE,
    POOL_BYTES,
    POOL_CUSTOM,
    ARENA_MEMORY_COUNT, /* the pool on each memory */
    GROW_PAGEABLE = ARENA_MEMORY_COUNT,
    GROW_NONE,
    GROW_BYTES,
    GROW_CUSTOM,
    ARENA_KIND_COUNT, /* the presets pool and grow on each */
    BFC_PAGEABLE = ARENA_KIND_COUNT,
    BFC_NONE,
    BFC_BYTES,
    BFC_CUSTOM,
    BFC_EXACT_PAGEABLE,
    BFC_EXACT_NONE,
    BFC_EXACT_BYTES,
    BFC_EXACT_CUSTOM,
    CUPY_PAGEABLE,
    CUPY_NONE,
    CUPY_CUSTOM,
    MLX_CPU_PAGEABLE, /* from here on a free may leave the block in a cache */
    MLX_CPU_NONE,
    MLX_CPU_CUSTOM,
    MLX_CUDA_PAGEABLE,
    MLX_CUDA_NONE,
    MLX_CUDA_CUSTOM,
    HOST_KIND_COUNT
};
/* The kind that tells most: pool on the test memory. */
#define KIND_CUSTOM_POOL (&arena_kinds[POOL_CUSTOM])
#define KIND_NONE_POOL (&arena_kinds[POOL_NONE])
#define KIND_CUSTOM_GROW (&arena_kinds[GROW_CUSTOM])

/* On memories that a driver gives, for programs that run on the stand-in driver and on a real one
 * alike: support/cuda_kinds.h. */
#define cuda_kinds (arena_kinds + HOST_KIND_COUNT)
enum {
    CUDA_POOL_VMM,
    CUDA_POOL_MALLOC,
    CUDA_POOL_ASYNC,
    CUDA_POOL_MANAGED,
    CUDA_POOL_PINNED,
    CUDA_POOL_BYTES,
    CUDA_POOL_MANAGED_BYTES,
    CUDA_POOL_PINNED_BYTES,
    CUDA_GROW_VMM,
    CUDA_GROW_MALLOC,
    CUDA_GROW_ASYNC,
    CUDA_GROW_MANAGED,
    CUDA_GROW_PINNED,
    CUDA_BFC_VMM,
    CUDA_BFC_MALLOC,
    CUDA_BFC_ASYNC,
    CUDA_BFC_MANAGED,
    CUDA_BFC_PINNED,
    CUDA_BFC_EXACT_VMM,
    CUDA_BFC_EXACT_MALLOC,
    CUDA_BFC_EXACT_ASYNC,
    CUDA_BFC_EXACT_MANAGED,
    CUDA_BFC_EXACT_PINNED,
    CUDA_KIND_COUNT, /* from here on the presets of MLX and CuPy, and the driver's own pool */
    CUDA_MLX_CPU_VMM = CUDA_KIND_COUNT,
    CUDA_MLX_CPU_MALLOC,
    CUDA_MLX_CPU_ASYNC,
    CUDA_MLX_CPU_MANAGED,
    CUDA_MLX_CPU_PINNED,
    CUDA_MLX_CUDA_VMM,
    CUDA_MLX_CUDA_MALLOC,
    CUDA_MLX_CUDA_ASYNC,
    CUDA_MLX_CUDA_MANAGED,
    CUDA_MLX_CUDA_PINNED,
    CUDA_CUPY_VMM,
    CUDA_CUPY_MALLOC,
    CUDA_CUPY_ASYNC,
    CUDA_CUPY_MANAGED,
    CUDA_CUPY_PINNED,
    CUDA_DRIVER_POOL,
    DEVICE_KIND_COUNT
};

/* For programs that name them. A pool on simulated streams A, B and C (fixture_streams.h), of
 * memory of a device, or such that the host can read too; CuPy's pool on such, and on what the
 * preset chooses; and arenas on a test memory that is plain. */
#define named_kinds (cuda_kinds + DEVICE_KIND_COUNT)
#define SIMULATED (&named_kinds[0])
#define SIMULATED_HOST (&named_kinds[1])
#define KIND_CUPY_SIMULATED (&named_kinds[2])
#define KIND_CUPY_DEFAULT (&named_kinds[3])
#define KIND_BFC_PLAIN (&named_kinds[4])
#define KIND_GROW_PLAIN (&named_kinds[5])

#endif
