#include "runtime.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const gpu_t *the_gpu; /* for the functions below, which have no other */

/* ---- The driver's -------------------------------------------------------- */

static int driver_malloc(void **pointer, size_t bytes)
{
    cuai_cu_pointer_t address;
    int result = the_gpu->cuMemAlloc(&address, bytes);
    *pointer = (void *)(uintptr_t)address;
    return result;
}

static int driver_free(void *pointer)
{
    return the_gpu->cuMemFree((uintptr_t)pointer);
}

static int driver_malloc_async(void **pointer, size_t bytes, cuarena_stream_t stream)
{
    cuai_cu_pointer_t address;
    int result = the_gpu->cuMemAllocAsync(&address, bytes, stream);
    *pointer = (void *)(uintptr_t)address;
    return result;
}

static int driver_free_async(void *pointer, cuarena_stream_t stream)
{
    return the_gpu->cuMemFreeAsync((uintptr_t)pointer, stream);
}

static int driver_malloc_managed(void **pointer, size_t bytes, unsigned flags)
{
    cuai_cu_pointer_t address;
    int result = the_gpu->cuMemAllocManaged(&address, bytes, flags);
    *pointer = (void *)(uintptr_t)address;
    return result;
}

static runtime_t of_driver(const gpu_t *gpu)
{
    runtime_t runtime = {.malloc_name = "cuMemAlloc + cuMemFree",
                         .async_name = "cuMemAllocAsync + cuMemFreeAsync",
                         .managed_name = "cuMemAllocManaged + cuMemFree",
                         .malloc = driver_malloc,
                         .free = driver_free};
    if (gpu->cuMemAllocAsync != NULL && gpu->cuDeviceGetMemPool != NULL) {
        runtime.malloc_async = driver_malloc_async;
        runtime.free_async = driver_free_async;
    }
    if (gpu->cuMemAllocManaged != NULL)
        runtime.malloc_managed = driver_malloc_managed;
    return runtime;
}

/* ---- The runtime's ------------------------------------------------------- */

static void *open_library(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
    const char *name = getenv("CUARENA_CUDART_LIBRARY");
    void *library = NULL;
    if (name != NULL)
        return dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find(void *library, const char *name, void *member)
{
    void *found = dlsym(library, name);
    memcpy(member, &found, sizeof found);
    return found != NULL;
}

/* True only if it works in the context that is current. */
static bool of_library(runtime_t *runtime, void *library)
{
    int (*get_version)(int *) = NULL;
    void *pointer = NULL;
    *runtime = (runtime_t){.found = true,
                           .malloc_name = "cudaMalloc + cudaFree",
                           .async_name = "cudaMallocAsync + cudaFreeAsync",
                           .managed_name = "cudaMallocManaged + cudaFree"};
    return find(library, "cudaRuntimeGetVersion", &get_version) &&
           find(library, "cudaMalloc", &runtime->malloc) &&
           find(library, "cudaFree", &runtime->free) &&
           find(library, "cudaMallocAsync", &runtime->malloc_async) &&
           find(library, "cudaFreeAsync", &runtime->free_async) &&
           find(library, "cudaMallocManaged", &runtime->malloc_managed) &&
           get_version(&runtime->version) == 0 && runtime->malloc(&pointer, 256) == 0 &&
           runtime->free(pointer) == 0;
}

void runtime_open(runtime_t *runtime, const gpu_t *gpu)
{
    void *library = open_library();
    the_gpu = gpu;
    if (library == NULL || !of_library(runtime, library))
        *runtime = of_driver(gpu);
}

/* ---- The pool ------------------------------------------------------------ */

static cuai_cu_pool_t pool_of(const gpu_t *gpu)
{
    cuai_cu_pool_t pool = NULL;
    must_cu(gpu, gpu->cuDeviceGetMemPool(&pool, gpu->ordinal));
    return pool;
}

void runtime_keep(const gpu_t *gpu, uint64_t bytes)
{
    must_cu(gpu, gpu->cuMemPoolSetAttribute(pool_of(gpu), CUAI_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                            &bytes));
}

void runtime_trim(const gpu_t *gpu)
{
    uint64_t zero = 0;
    gpu_wait(gpu);
    must_cu(gpu, gpu->cuMemPoolTrimTo(pool_of(gpu), 0));
    must_cu(gpu, gpu->cuMemPoolSetAttribute(pool_of(gpu), CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                            &zero));
}

uint64_t runtime_held(const gpu_t *gpu)
{
    uint64_t bytes = 0;
    must_cu(gpu, gpu->cuMemPoolGetAttribute(pool_of(gpu), CUAI_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                            &bytes));
    return bytes;
}
