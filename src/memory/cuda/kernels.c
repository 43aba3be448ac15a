#include "memory/cuda/kernels.h"

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"

#define LOG_BYTES 512

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

static cuai_cu_result_t allow_shared(const cuai_place_t *place, const cuai_kernels_t *kernels,
                                     uint32_t k)
{
    CUAI_ASSERT(kernels->functions[k] != NULL);
    uint32_t bytes = cuai_slide_shared_bytes(&kernels->device);
    if (k != CUAI_SLIDE_BULK || bytes == 0)
        return CUAI_CUDA_SUCCESS;
    return cuai_cu(place->cuda)
        ->cuFuncSetAttribute(kernels->functions[k],
                             CUAI_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
}

static cuai_cu_result_t load_kernel(const cuai_place_t *place, cuai_kernels_t *kernels, uint32_t k)
{
    CUAI_ASSERT(k < CUAI_SLIDE_KERNELS);
    CUAI_ASSERT(kernels->modules[k] == NULL && kernels->functions[k] == NULL);
    const cuai_slide_text_t *text = &cuai_slide_texts[k];
    cuai_cu_result_t result = load_text(place, text->ptx, &kernels->modules[k]);
    if (result == CUAI_CUDA_SUCCESS)
        result =
            cuai_cu(place->cuda)
                ->cuModuleGetFunction(&kernels->functions[k], kernels->modules[k], text->entry);
    if (result == CUAI_CUDA_SUCCESS)
        result = allow_shared(place, kernels, k);
    if (result != CUAI_CUDA_SUCCESS)
        kernels->functions[k] = NULL;
    return result;
}

/* Whether a failure is the caller's to know rather than just a missing kernel. */
static bool is_grave(cuai_cu_result_t result)
{
    return result == CUAI_CUDA_ERROR_OUT_OF_MEMORY || cuai_cuda_is_sticky(result);
}

/* Plans choose a kernel by the device's capability: without the second kernel it counts as older.
 */
static void limit_to_loaded(cuai_kernels_t *kernels)
{
    const uint32_t newer = cuai_slide_texts[CUAI_SLIDE_BULK].capability;
    if (kernels->functions[CUAI_SLIDE_BULK] == NULL && kernels->device.capability >= newer)
        kernels->device.capability = newer - 1;
}

/* Frees the record of kernels and, unless it is to forget them, unloads their modules: that is
 * called within a visit of the place. */
static void drop(cuai_place_t *place, cuai_kernels_t *kernels, bool forget)
{
    for (uint32_t k = 0; k < CUAI_SLIDE_KERNELS; k++)
        if (kernels->modules[k] != NULL && !forget)
            cuai_place_note(place, cuai_cu(place->cuda)->cuModuleUnload(kernels->modules[k]),
                            "cuModuleUnload");
    cuai_host_free(kernels);
}

/* Loads the kernels that the device runs; keeps them if the first is among them. Called within a
 * visit of the place. */
static cuai_cu_result_t load_all(cuai_place_t *place, cuai_kernels_t *kernels)
{
    CUAI_ASSERT(place->kernels == NULL);
    kernels->device = describe(place);
    cuai_cu_result_t result = CUAI_CUDA_SUCCESS;
    for (uint32_t k = 0; k < CUAI_SLIDE_KERNELS && !is_grave(result); k++)
        if (cuai_slide_kernel_runs(&kernels->device, k))
            result = load_kernel(place, kernels, k);
    limit_to_loaded(kernels);
    if (!is_grave(result) && kernels->functions[CUAI_SLIDE_ANY] != NULL)
        place->kernels = kernels;
    else
        drop(place, kernels, cuai_cuda_is_sticky(result));
    return result;
}

static cuarena_status_t load(cuai_place_t *place)
{
    cuai_visit_t visit;
    cuarena_status_t status = cuai_place_enter(place, &visit);
    if (status != CUARENA_OK)
        return status;
    cuai_kernels_t *kernels = cuai_host_alloc(sizeof *kernels);
    cuai_cu_result_t result = CUAI_CUDA_SUCCESS;
    if (kernels != NULL)
        result = load_all(place, kernels);
    cuai_place_leave(&visit);
    if (kernels == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for the relocation kernels");
    if (!is_grave(result))
        return CUARENA_OK;
    return cuai_place_fail(place, result, "cuModuleLoadDataEx",
                           "the relocation kernels of device %d", place->device);
}

/* ---- One per place ----------------------------------------------------- */

cuarena_status_t cuai_kernels_open(cuai_place_t *place, cuai_kernels_t **kernels_out)
{
    cuai_lock(&place->loading);
    cuarena_status_t status = place->kernels == NULL ? load(place) : CUARENA_OK;
    *kernels_out = place->kernels;
    cuai_unlock(&place->loading);
    return status;
}

void cuai_kernels_end(cuai_place_t *place, bool forget)
{
    if (place->kernels != NULL)
        drop(place, place->kernels, forget);
}
