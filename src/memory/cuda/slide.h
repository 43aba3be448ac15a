/*
 * Turns a list of relocations into launches of the kernel that executes them. slide_rules.h has the
 * vocabulary. Nothing here calls the driver or allocates; the caller does this:
 *
 *   When an arena that may compact is created
 *     1. Load cuai_slide_texts[k] for each kernel k that
 *        cuai_slide_kernel_runs() says the device can run, get the function
 *        called `entry`, and set its attribute MAX_DYNAMIC_SHARED_SIZE_BYTES to
 *        cuai_slide_shared_bytes(device) if k is CUAI_SLIDE_BULK.
 *     2. Allocate cuai_slide_scratch_bytes(runs) of device memory, aligned to
 *        256, set its first CUAI_SLIDE_SCRATCH_ZEROED bytes to 0; allocate
 *        cuai_slide_staging_bytes(runs) of pinned host memory that the device
 *        can read.
 *     3. cuai_slide_init(); launch what cuai_slide_empty() says once for each
 *        kernel, as in step 4.
 *   For a list, until all of it is taken
 *     4. cuai_slide_plan(); launch `grid` blocks of `block` threads with
 *        shared_bytes of dynamic shared memory and &launch.params as the only
 *        parameter: cuLaunchKernel(function[launch.kernel], grid, 1, 1, block,
 *        1, 1, shared_bytes, stream, (void *[]){&launch.params}, NULL).
 *     5. cuai_slide_queued(), if the launch was accepted. If it was not,
 *        nothing of this launch happened and the state is as before.
 *
 * The launches of one cuai_slide_t share scratch and staging: each must follow the one before in
 * stream order. The kernel reads the staging: no plan may be made after a launch that has a table
 * (params.fetch_count is not 0) before that launch is done. CUAI_SLIDE_INLINE runs or fewer travel
 * in the parameter and have no table; so a list that takes several launches, and needs to wait
 * between them, is either very long or cannot be done at once.
 *
 * Cost of a plan: O(n) if sources and destinations ascend and all moves go down, else O(n log n); n
 * is the number of runs that one launch takes.
 */
#ifndef CUAI_MEMORY_CUDA_SLIDE_H
#define CUAI_MEMORY_CUDA_SLIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "cuarena/memory.h"
#include "memory/cuda/slide_rules.h"

#define CUAI_SLIDE_ANY 0  /* any device, multiples of 8 bytes */
#define CUAI_SLIDE_BULK 1 /* compute capability 9.0, multiples of 16 */
#define CUAI_SLIDE_KERNELS 2

typedef struct cuai_slide_text {
    const char *ptx; /* with a 0 at its end */
    const char *entry;
    uint32_t capability; /* 10 * major + minor: the least that runs it */
} cuai_slide_text_t;

extern const cuai_slide_text_t cuai_slide_texts[CUAI_SLIDE_KERNELS];

/* What a plan has to know of the device. */
typedef struct cuai_slide_device {
    uint32_t capability; /* 10 * major + minor */
    uint32_t multiprocessors;
    uint32_t threads_per_multiprocessor;
    uint32_t shared_bytes_per_multiprocessor;
    uint32_t shared_bytes_per_block; /* at most, when asked for (opt-in) */
} cuai_slide_device_t;

/* How a launch is divided; a plan chooses it, or a test. */
typedef struct cuai_slide_shape {
    uint32_t kernel;
    uint32_t unit_log2;
    uint32_t tile_bytes; /* multiple of the unit */
    uint32_t stages;     /* of a block */
    uint32_t block;      /* threads */
    uint32_t blocks_per_multiprocessor;
} cuai_slide_shape_t;

typedef struct cuai_slide {
    cuai_slide_device_t device;
    uint64_t scratch; /* address on the device */
    void *staging;
    uint64_t staging_address; /* of the same bytes, for the device */
    uint32_t run_room;        /* runs that one launch can take */
    uint32_t ticket_base;
    uint32_t published_base;
} cuai_slide_t;

typedef struct cuai_slide_launch {
    uint32_t kernel;
    uint32_t grid;
    uint32_t block;
    uint32_t shared_bytes;
    cuai_slide_params_t params;
} cuai_slide_launch_t;

/* Lines of the published ring: how many tickets can overtake a slow one. More than a device has
 * under way at a time, so that nobody waits. */
#define CUAI_SLIDE_RING 4096u
#define CUAI_SLIDE_SCRATCH_ZEROED ((1 + CUAI_SLIDE_RING) * CUAI_SLIDE_LINE)

bool cuai_slide_kernel_runs(const cuai_slide_device_t *device, uint32_t kernel);
/* The most dynamic shared memory that a launch has. */
uint32_t cuai_slide_shared_bytes(const cuai_slide_device_t *device);
size_t cuai_slide_scratch_bytes(uint32_t run_room);
size_t cuai_slide_staging_bytes(uint32_t run_room);

/* Begins to make launches. Scratch and staging have the bytes of cuai_slide_scratch_bytes and
 * cuai_slide_staging_bytes for run_room, which is CUAI_SLIDE_INLINE to CUAI_SLIDE_MAX_RUNS. */
void cuai_slide_init(cuai_slide_t *slide, const cuai_slide_device_t *device, uint64_t scratch,
                     void *staging, uint64_t staging_address, uint32_t run_room);

/* A launch that moves nothing, so that the driver has the kernel loaded. */
void cuai_slide_empty(const cuai_slide_t *slide, uint32_t kernel, cuai_slide_launch_t *launch);

/* Makes a launch for the first relocations of a list; returns how many, which is at least one. The
 * list is executed in order, whatever overlaps: what a launch cannot do in order begins the next
 * one. Addresses and sizes are multiples of 8, no entry has more than 32 TiB. `shape` is NULL, or
 * the caller's choice. */
size_t cuai_slide_plan(const cuai_slide_t *slide, const cuarena_relocation_t *list, size_t count,
                       const cuai_slide_shape_t *shape, cuai_slide_launch_t *launch);

/* Whether the driver's own copy is to be used, as it is for one move that does not overlap itself:
 * on an H200 the kernel takes 2 to 5 % longer from 256 MiB to 2 GiB
 * (bench/results/compact_cuda.json). From two moves on the kernel does them in one launch, all or
 * nothing. */
bool cuai_slide_prefers_copy(const cuarena_relocation_t *list, size_t count);

/* Notes that the launch was queued. */
void cuai_slide_queued(cuai_slide_t *slide, const cuai_slide_launch_t *launch);

#endif
