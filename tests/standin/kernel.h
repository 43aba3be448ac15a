/*
 * Kernels: C that stands for the entries of modules, by name. A launch runs in steps of its
 * workers, chosen at random among those that are resident; how many are is chosen for each launch,
 * from one upwards, as on a device that is busy with other work. A kernel that needs more of them
 * at a time than there are stands still for ever, and that is reported.
 */
#ifndef CUARENA_STANDIN_KERNEL_H
#define CUARENA_STANDIN_KERNEL_H

#include "standin.h"
#include "work.h"

#define SD_PARAMS_MAX 32

/* The kernel of this name, a registered one first; NULL if there is none. */
const standin_kernel_t *sd_kernel_find(const char *name);
/* A unit of work that runs it. The values are copied: `sizes` says how large each is. */
sd_work_t *sd_kernel_work(const standin_kernel_t *kernel, struct sd_context *context,
                          const standin_launch_t *launch, const size_t *sizes);

/* The kernels of tests/support/test_kernels.cu. */
extern const standin_kernel_t sd_test_kernels[];
extern const size_t sd_test_kernel_count;
/* The relocation kernels of the library. */
extern const standin_kernel_t sd_slide_kernels[];
extern const size_t sd_slide_kernel_count;
/* Those of the examples in Rust. */
extern const standin_kernel_t sd_example_kernels[];
extern const size_t sd_example_kernel_count;

#endif
