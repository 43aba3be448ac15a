/*
 * The kernels of the examples in Rust, in steps: axpy_f32(a, x, y, count) makes y[i] of a * x[i] +
 * y[i].
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 4096 /* numbers that one step of a worker does */

/* Worker w of n does the pieces w, w + n, ... */
typedef struct axpy {
    float a;
    uint64_t x;
    uint64_t y;
    uint64_t count;
    unsigned workers;
    uint64_t next[]; /* piece of each worker */
} axpy_t;

static void *begin_axpy(const standin_launch_t *launch, unsigned *workers)
{
    axpy_t *axpy = malloc(sizeof *axpy + *workers * sizeof axpy->next[0]);
    if (axpy == NULL)
        return NULL;
    memcpy(&axpy->a, launch->params[0], sizeof axpy->a);
    memcpy(&axpy->x, launch->params[1], sizeof axpy->x);
    memcpy(&axpy->y, launch->params[2], sizeof axpy->y);
    memcpy(&axpy->count, launch->params[3], sizeof axpy->count);
    axpy->workers = *workers;
    for (unsigned i = 0; i < *workers; i++)
        axpy->next[i] = i;
    return axpy;
}

static standin_step_t step_axpy(void *state, unsigned worker, standin_access_t *access)
{
    axpy_t *axpy = state;
    uint64_t at = axpy->next[worker] * PIECE;
    if (at >= axpy->count)
        return STANDIN_DONE;
    axpy->next[worker] += axpy->workers;
    size_t count = axpy->count - at < PIECE ? axpy->count - at : PIECE;
    size_t bytes = count * sizeof(float);
    float x[PIECE];
    const float *from = access->read(access, axpy->x + at * sizeof *from, bytes);
    if (from == NULL)
        return STANDIN_FAULT;
    memcpy(x, from, bytes);
    float *y = access->write(access, axpy->y + at * sizeof *y, bytes);
    if (y == NULL)
        return STANDIN_FAULT;
    for (size_t i = 0; i < count; i++)
        y[i] += axpy->a * x[i];
    return STANDIN_PROGRESS;
}

const standin_kernel_t sd_example_kernels[] = {
    {"axpy_f32", begin_axpy, step_axpy, free},
};
const size_t sd_example_kernel_count = sizeof(sd_example_kernels) / sizeof(sd_example_kernels[0]);
