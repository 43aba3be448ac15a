/*
 * Kernels: the relocation kernels, loaded into a context once for all arenas of its place.
 *
 * The driver compiles their text when it loads them, and may put off making them ready until they
 * are launched; by then memory may have run out, so they are made ready at once.
 */
#ifndef CUAI_MEMORY_CUDA_KERNELS_H
#define CUAI_MEMORY_CUDA_KERNELS_H

#include "memory/cuda/place.h"
#include "memory/cuda/slide.h"

typedef struct cuai_kernels {
    cuai_place_t *place;
    cuai_slide_device_t device;
    cuai_cu_module_t modules[CUAI_SLIDE_KERNELS];
    cuai_cu_function_t functions[CUAI_SLIDE_KERNELS]; /* the first is not NULL */
    size_t users;                                     /* 0: being loaded */
    struct cuai_kernels *next;
} cuai_kernels_t;

/* Opens the kernels of a place, which stays open until they are closed. NULL where the device or
 * the driver can run none: that is no failure, and the log says why. */
cuarena_status_t cuai_kernels_open(cuai_place_t *place, cuai_kernels_t **kernels_out);
void cuai_kernels_close(cuai_kernels_t *kernels);

#endif
