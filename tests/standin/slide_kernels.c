/*
 * The relocation kernel, in steps, for every program: what the entries of the library's texts
 * (src/memory/cuda/slide_ptx.c) run here is the model of support/slide_protocol.h.
 */
#include "kernel.h"

#include "support/slide_protocol.h"

#include <stdlib.h>

/* One launch. A worker of the stand-in is a thread block, whose actors are on the device
 * together. */
typedef struct slide_launch {
    slide_blocks_t *blocks;
    uint32_t actors;  /* of a block */
    uint32_t turns[]; /* of each block: whose turn it is */
} slide_launch_t;

static void *begin(const standin_launch_t *launch, unsigned *workers)
{
    const cuai_slide_params_t *params = launch->params[0];
    slide_launch_t *self = calloc(1, sizeof *self + *workers * sizeof self->turns[0]);
    if (self == NULL)
        return NULL;
    self->actors = 1 + params->stages;
    self->blocks = slide_blocks_begin(params, *workers, params->stages, SLIDE_SOUND);
    if (self->blocks != NULL)
        return self;
    free(self);
    return NULL;
}

static const void *read_bytes(void *user, uint64_t address, uint64_t bytes)
{
    standin_access_t *access = user;
    return access->read(access, address, bytes);
}

static void *write_bytes(void *user, uint64_t address, uint64_t bytes)
{
    standin_access_t *access = user;
    return access->write(access, address, bytes);
}

static void *update_bytes(void *user, uint64_t address, uint64_t bytes)
{
    standin_access_t *access = user;
    return access->update(access, address, bytes);
}

/* One step of one actor of the block: of the first that can make one. */
static standin_step_t step(void *state, unsigned worker, standin_access_t *access)
{
    slide_launch_t *self = state;
    const slide_access_t ours = {read_bytes, write_bytes, update_bytes, access};
    bool blocked = false;
    for (uint32_t i = 0; i < self->actors; i++) {
        uint32_t turn = self->turns[worker]++ % self->actors;
        uint32_t actor = worker * self->actors + turn;
        slide_step_t made = slide_blocks_step(self->blocks, actor, &ours);
        if (made == SLIDE_FAULT)
            return STANDIN_FAULT;
        if (made == SLIDE_PROGRESS)
            return STANDIN_PROGRESS;
        blocked = blocked || made == SLIDE_BLOCKED;
    }
    return blocked ? STANDIN_BLOCKED : STANDIN_DONE;
}

static void end(void *state)
{
    slide_launch_t *self = state;
    slide_blocks_end(self->blocks);
    free(self);
}

const standin_kernel_t sd_slide_kernels[] = {
    {"cuarena_slide", begin, step, end},
    {"cuarena_slide_bulk", begin, step, end},
};
const size_t sd_slide_kernel_count = sizeof(sd_slide_kernels) / sizeof(sd_slide_kernels[0]);
