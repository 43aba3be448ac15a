#include "kernel.h"

#include "call.h"
#include "context.h"
#include "space.h"
#include "told.h"

#include <stdlib.h>
#include <string.h>

#define KERNELS_MAX 64
#define STEPS_AT_ONCE 16

static standin_kernel_t registered[KERNELS_MAX];
static size_t registered_count;

static const standin_kernel_t *find(const standin_kernel_t *kernels, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    }
    return NULL;
}

const standin_kernel_t *sd_kernel_find(const char *name)
{
    const standin_kernel_t *kernel = find(registered, registered_count, name);
    if (kernel == NULL)
        kernel = find(sd_test_kernels, sd_test_kernel_count, name);
    if (kernel == NULL)
        kernel = find(sd_slide_kernels, sd_slide_kernel_count, name);
    if (kernel == NULL)
        kernel = find(sd_example_kernels, sd_example_kernel_count, name);
    return kernel;
}

/* Where one of this name goes; NULL: there is no room. */
static standin_kernel_t *place_for(const char *name)
{
    const standin_kernel_t *old = find(registered, registered_count, name);
    if (old != NULL)
        return &registered[old - registered];
    return registered_count < KERNELS_MAX ? &registered[registered_count++] : NULL;
}

int standin_register_kernel(const standin_kernel_t *kernel)
{
    sd_lock();
    standin_kernel_t *slot = place_for(kernel->name);
    if (slot != NULL)
        *slot = *kernel;
    sd_unlock();
    return slot != NULL ? 0 : -1;
}

/* ---- Launches ---------------------------------------------------------- */

/* The values of the parameters, shared by copies of the unit. */
typedef struct params {
    unsigned references;
    const void *list[SD_PARAMS_MAX];
    unsigned char values[];
} params_t;

typedef struct launch_work {
    sd_work_t work;
    standin_kernel_t kernel;
    standin_launch_t launch;
    params_t *params;
    void *state;       /* NULL: not begun */
    unsigned *workers; /* those that are resident */
    unsigned resident;
    unsigned next; /* the first that was not resident yet */
    unsigned count;
    standin_access_t access;
    void *told; /* what it may use of arenas */
} launch_work_t;

static launch_work_t *launch_of(standin_access_t *access)
{
    return (launch_work_t *)(void *)((char *)access - offsetof(launch_work_t, access));
}

static const void *reach_to_read(standin_access_t *access, uint64_t address, size_t bytes)
{
    sd_told_work(launch_of(access)->told, address, bytes);
    return sd_reach(&launch_of(access)->work, address, bytes, false, false);
}

static void *reach_to_write(standin_access_t *access, uint64_t address, size_t bytes)
{
    sd_told_work(launch_of(access)->told, address, bytes);
    return sd_reach(&launch_of(access)->work, address, bytes, true, false);
}

static unsigned most_resident(const launch_work_t *launch)
{
    unsigned most = 1u << random_below(&sd_random, 8);
    return most < launch->count ? most : launch->count;
}

static bool begin(launch_work_t *launch)
{
    const unsigned *grid = launch->launch.grid;
    launch->count = grid[0] * grid[1] * grid[2];
    launch->launch.params = launch->params->list;
    launch->state = launch->kernel.begin(&launch->launch, &launch->count);
    if (launch->state == NULL)
        return false;
    launch->resident = most_resident(launch);
    launch->workers = malloc((launch->resident + 1) * sizeof(unsigned));
    if (launch->workers == NULL)
        sd_die("the host is out of memory");
    for (; launch->next < launch->resident; launch->next++)
        launch->workers[launch->next] = launch->next;
    launch->access = (standin_access_t){reach_to_read, reach_to_write, reach_to_write};
    return true;
}

/* A worker is done: the next one takes its place. */
static void replace(launch_work_t *launch, unsigned slot)
{
    if (launch->next < launch->count)
        launch->workers[slot] = launch->next++;
    else
        launch->workers[slot] = launch->workers[--launch->resident];
}

/* One step of a worker that can move. */
static standin_step_t step_one(launch_work_t *launch)
{
    unsigned start = (unsigned)random_below(&sd_random, launch->resident);
    for (unsigned i = 0; i < launch->resident; i++) {
        unsigned slot = (start + i) % launch->resident;
        standin_step_t step =
            launch->kernel.step(launch->state, launch->workers[slot], &launch->access);
        if (step == STANDIN_DONE)
            replace(launch, slot);
        if (step != STANDIN_BLOCKED)
            return step == STANDIN_FAULT ? step : STANDIN_PROGRESS;
    }
    return STANDIN_BLOCKED;
}

static standin_step_t run_launch(sd_work_t *work)
{
    launch_work_t *launch = (launch_work_t *)work;
    standin_step_t step = STANDIN_PROGRESS;
    bool moved = false;
    if (launch->state == NULL && !begin(launch))
        return STANDIN_FAULT;
    uint64_t steps = 1 + random_below(&sd_random, STEPS_AT_ONCE);
    while (steps-- != 0 && launch->resident != 0 && step == STANDIN_PROGRESS) {
        step = step_one(launch);
        moved |= step == STANDIN_PROGRESS;
    }
    if (step == STANDIN_FAULT)
        return step;
    if (launch->resident == 0)
        return STANDIN_DONE;
    return moved ? STANDIN_PROGRESS : step;
}

static void share_launch(sd_work_t *work)
{
    launch_work_t *launch = (launch_work_t *)work;
    launch->params->references++;
    launch->told = NULL;
}

static void drop_launch(sd_work_t *work)
{
    launch_work_t *launch = (launch_work_t *)work;
    if (launch->state != NULL)
        launch->kernel.end(launch->state);
    free(launch->workers);
    sd_told_forget(launch->told);
    if (--launch->params->references == 0)
        free(launch->params);
}

static const sd_work_class_t launch_class = {.name = "kernel",
                                             .bytes = sizeof(launch_work_t),
                                             .step = run_launch,
                                             .copied = share_launch,
                                             .drop = drop_launch};

static size_t padded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static params_t *copy_params(const standin_launch_t *launch, const size_t *sizes)
{
    size_t total = 0;
    for (size_t i = 0; i < launch->param_count; i++)
        total += padded(sizes[i]);
    params_t *params = calloc(1, sizeof(*params) + total + 16);
    if (params == NULL)
        sd_die("the host is out of memory");
    unsigned char *at = params->values;
    for (size_t i = 0; i < launch->param_count; i++) {
        memcpy(at, launch->params[i], sizes[i]);
        params->list[i] = at;
        at += padded(sizes[i]);
    }
    params->references = 1;
    return params;
}

/* A value of eight bytes that is an address is taken for a use of it. */
static void use_params(launch_work_t *launch, const size_t *sizes)
{
    for (size_t i = 0; i < launch->launch.param_count; i++) {
        uint64_t value;
        if (sizes[i] != sizeof(value))
            continue;
        memcpy(&value, launch->params->list[i], sizeof(value));
        if (sd_area_at(value) != NULL)
            sd_range_use(&launch->work, value, 1);
    }
}

sd_work_t *sd_kernel_work(const standin_kernel_t *kernel, struct sd_context *context,
                          const standin_launch_t *launch, const size_t *sizes)
{
    launch_work_t *work = sd_work_new(&launch_class, context);
    work->work.call = kernel->name;
    work->kernel = *kernel;
    work->launch = *launch;
    work->params = copy_params(launch, sizes);
    use_params(work, sizes);
    work->told = sd_told();
    return &work->work;
}
