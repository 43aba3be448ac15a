#include "memory/cuda/kernels.h"

#include "base/error.h"
#include "base/host.h"
#include "base/lock.h"
#include "base/log.h"

#define LOG_BYTES 512

static cuai_lock_t lock = CUAI_LOCK_INIT;
static cuai_cond_t changed; /* kernels were loaded, or could not be */
static cuai_kernels_t *all; /* guarded by `lock` */

/* ---- Loading ----------------------------------------------------------- */

static uint32_t attribute(const cuai_place_t *place, int which)
{
    int value = 0;
    if (cuai_cu(place->cuda)->cuDeviceGetAttribute(&value, which, place->device) !=
        CUAI_CUDA_SUCCESS)
        return 0;
    return value > 0 ? (uint32_t)value : 0;
}

static cuai_slide_device_t describe(const cuai_place_t *place)
{
    const cuai_facts_t *facts = &place->facts;
    return (cuai_slide_device_t){
        .capability = (uint32_t)(10 * facts->major + facts->minor),
        .multiprocessors = (uint32_t)facts->multiprocessors,
        .threads_per_multiprocessor =
            attribute(place, CUAI_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        .shared_bytes_per_multiprocessor =
            attribute(place, CUAI_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .shared_bytes_per_block =
            attribute(place, CUAI_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    };
}

/* The driver's compiler says why it refuses a text, if it has one. */
static cuai_cu_result_t load_text(const cuai_place_t *place, const char *ptx,
                                  cuai_cu_module_t *module_out)
{
    char text[LOG_BYTES] = "";
    cuai_cu_jit_option_t options[] = {CUAI_CU_JIT_ERROR_LOG_BUFFER,
                                      CUAI_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {text, (void *)(uintptr_t)sizeof text};
    cuai_cu_result_t result =
        cuai_cu(place->cuda)->cuModuleLoadDataEx(module_out, ptx, 2, options, values);
    if (result != CUAI_CUDA_SUCCESS) {
        *module_out = NULL;
        cuai_log(CUARENA_LOG_INFO, "device %d: no relocation kernel: %s: %s", place->device,
                 cuai_cuda_name(result), text);
    }
    return result;
}

static cuai_cu_result_t allow_shared(const cuai_kernels_t *kernels, uint32_t k)
{
    CUAI_ASSERT(kernels->functions[k] != NULL);
    uint32_t bytes = cuai_slide_shared_bytes(&kernels->device);
    if (k != CUAI_SLIDE_BULK || bytes == 0)
        return CUAI_CUDA_SUCCESS;
    return cuai_cu(kernels->place->cuda)
        ->cuFuncSetAttribute(kernels->functions[k],
                             CUAI_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
}

static cuai_cu_result_t load_kernel(cuai_kernels_t *kernels, uint32_t k)
{
    CUAI_ASSERT(kernels->modules[k] == NULL && kernels->functions[k] == NULL);
    const cuai_cuda_t *cuda = kernels->place->cuda;
    const cuai_slide_text_t *text = &cuai_slide_texts[k];
    cuai_cu_result_t result = load_text(kernels->place, text->ptx, &kernels->modules[k]);
    if (result == CUAI_CUDA_SUCCESS)
        result = cuai_cu(cuda)->cuModuleGetFunction(&kernels->functions[k], kernels->modules[k],
                                                    text->entry);
    if (result == CUAI_CUDA_SUCCESS)
        result = allow_shared(kernels, k);
    if (result != CUAI_CUDA_SUCCESS)
        kernels->functions[k] = NULL;
    return result;
}

/* Whether a failure is the caller's to know rather than just a missing kernel. */
static bool is_grave(cuai_cu_result_t result)
{
    return result == CUAI_CUDA_ERROR_OUT_OF_MEMORY || cuai_cuda_is_sticky(result);
}

static void unload(cuai_kernels_t *kernels)
{
    cuai_place_t *place = kernels->place;
    cuai_visit_t visit;
    CUAI_ASSERT(kernels->users == 0);
    if (!cuai_place_enter_to_end(place, &visit))
        return;
    for (uint32_t k = 0; k < CUAI_SLIDE_KERNELS; k++)
        if (kernels->modules[k] != NULL)
            cuai_place_note(place, cuai_cu(place->cuda)->cuModuleUnload(kernels->modules[k]),
                            "cuModuleUnload");
    cuai_place_leave(&visit);
}

/* Plans choose a kernel by the device's capability: without the second kernel it counts as older.
 */
static void limit_to_loaded(cuai_kernels_t *kernels)
{
    const uint32_t newer = cuai_slide_texts[CUAI_SLIDE_BULK].capability;
    if (kernels->functions[CUAI_SLIDE_BULK] == NULL && kernels->device.capability >= newer)
        kernels->device.capability = newer - 1;
}

static cuarena_status_t load(cuai_kernels_t *kernels)
{
    cuai_place_t *place = kernels->place;
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    kernels->device = describe(place);
    cuai_cu_result_t result = CUAI_CUDA_SUCCESS;
    for (uint32_t k = 0; k < CUAI_SLIDE_KERNELS && !is_grave(result); k++)
        if (cuai_slide_kernel_runs(&kernels->device, k))
            result = load_kernel(kernels, k);
    cuai_place_leave(&visit);
    limit_to_loaded(kernels);
    if (!is_grave(result))
        return CUARENA_OK;
    unload(kernels);
    return cuai_place_fail(place, result, "cuModuleLoadDataEx",
                           "the relocation kernels of device %d", place->device);
}

/* ---- One per place ----------------------------------------------------- */

/* With the lock held: the loaded kernels of the place, or NULL. Waits while they are loaded. */
static cuai_kernels_t *find(const cuai_place_t *place)
{
    cuai_kernels_t *kernels = all;
    while (kernels != NULL) {
        if (kernels->place != place) {
            kernels = kernels->next;
        } else if (kernels->users == 0) {
            cuai_cond_wait(&changed, &lock);
            kernels = all;
        } else {
            return kernels;
        }
    }
    return NULL;
}

/* With the lock held: takes kernels out of the list. */
static void drop(cuai_kernels_t *kernels)
{
    cuai_kernels_t **link = &all;
    CUAI_ASSERT(all != NULL);
    while (*link != kernels)
        link = &(*link)->next;
    *link = kernels->next;
}

/* With the lock held, which is dropped while the kernels are loaded: they are in the list already,
 * so that nobody else loads them. */
static cuarena_status_t make(cuai_place_t *place, cuai_kernels_t **kernels_out)
{
    cuai_kernels_t *kernels = cuai_host_alloc(sizeof *kernels);
    if (kernels == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for the relocation kernels");
    *kernels = (cuai_kernels_t){.place = place, .next = all};
    all = kernels;
    cuai_unlock(&lock);
    cuarena_status_t status = load(kernels);
    cuai_lock(&lock);
    if (status == CUARENA_OK)
        kernels->users = 1;
    else
        drop(kernels);
    cuai_cond_wake(&changed);
    if (status == CUARENA_OK)
        *kernels_out = kernels;
    else
        cuai_host_free(kernels);
    return status;
}

cuarena_status_t cuai_kernels_open(cuai_place_t *place, cuai_kernels_t **kernels_out)
{
    cuarena_status_t status = CUARENA_OK;
    cuai_lock(&lock);
    cuai_kernels_t *kernels = find(place);
    if (kernels != NULL)
        kernels->users++;
    else
        status = make(place, &kernels);
    cuai_unlock(&lock);
    if (status != CUARENA_OK)
        return status;
    CUAI_ASSERT(kernels->place == place);
    const bool usable = kernels->functions[CUAI_SLIDE_ANY] != NULL;
    *kernels_out = usable ? kernels : NULL;
    if (!usable)
        cuai_kernels_close(kernels);
    return CUARENA_OK;
}

void cuai_kernels_close(cuai_kernels_t *kernels)
{
    if (kernels == NULL || cuai_cuda_if_open() == NULL)
        return; /* a forked child forgets them */
    cuai_lock(&lock);
    CUAI_ASSERT(kernels->users != 0);
    bool last = --kernels->users == 0;
    if (last)
        drop(kernels);
    cuai_unlock(&lock);
    if (!last)
        return;
    unload(kernels);
    cuai_host_free(kernels);
}
