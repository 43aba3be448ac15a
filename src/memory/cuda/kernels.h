/*
 * Kernels: the relocation kernels, loaded into a context once for all arenas of its place, which
 * keeps them until it ends.
 *
 * The driver compiles their text when it loads them, and may put off making them ready until they
 * are launched; by then memory may have run out, so they are made ready at once.
 */
#ifndef CUAI_MEMORY_CUDA_KERNELS_H
#define CUAI_MEMORY_CUDA_KERNELS_H

#include "memory/cuda/place.h"
#include "memory/cuda/slide.h"

typedef struct cuai_kernels {
    cuai_slide_device_t device;
    cuai_cu_module_t modules[CUAI_SLIDE_KERNELS];
    cuai_cu_function_t functions[CUAI_SLIDE_KERNELS]; /* the first is not NULL */
} cuai_kernels_t;

/* The kernels of a place, which the first call loads. NULL where the device or the driver can run
 * none: that is no failure, and the log says why. */
cuarena_status_t cuai_kernels_open(cuai_place_t *place, cuai_kernels_t **kernels_out);
/* Unloads the kernels of a place, if there are any. Called by places, within a visit; with `forget`
 * the driver is not called. */
void cuai_kernels_end(cuai_place_t *place, bool forget);

#endif
