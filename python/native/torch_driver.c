/* The calls of the driver that cuarena.torch makes itself: of the library that CUARENA_CUDA_LIBRARY
 * names, else libcuda.so.1, as the library does. */
#include "torch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef uint64_t pointer_t;

/* As much of CUmemAllocationProp and CUmemAccessDesc as is set. */
typedef struct location {
    int type; /* 1: a device */
    int id;
} location_t;
typedef struct allocation {
    int type; /* 1: pinned, of the device */
    int handle_types;
    location_t location;
    void *win32;
    unsigned char flags[8];
} allocation_t;
typedef struct access {
    location_t location;
    int flags; /* 3: read and write */
} access_t;

static struct {
    bool found;
    int (*is_capturing)(cuarena_stream_t, int *);
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*pop)(void **);
    int (*synchronize)(void);
    int (*memory)(size_t *, size_t *);
    int (*create)(uint64_t *, size_t, const allocation_t *, unsigned long long);
    int (*release)(uint64_t);
    int (*map)(pointer_t, size_t, size_t, uint64_t, unsigned long long);
    int (*access)(pointer_t, size_t, const access_t *, size_t);
    int (*unmap)(pointer_t, size_t);
    int (*to_host)(void *, pointer_t, size_t);
    int (*from_host)(pointer_t, const void *, size_t);
} cu;

static void *contexts[TORCH_DEVICES]; /* retained, and kept */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *library, const char *name, void *slot)
{
    void *function = dlsym(library, name);
    *(void **)slot = function;
    return function != NULL;
}

static void open_driver(void)
{
    const char *name = getenv("CUARENA_CUDA_LIBRARY");
    void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    cu.found =
        library && find(library, "cuStreamIsCapturing", &cu.is_capturing) &&
        find(library, "cuDevicePrimaryCtxRetain", &cu.retain) &&
        find(library, "cuCtxPushCurrent_v2", &cu.push) &&
        find(library, "cuCtxPopCurrent_v2", &cu.pop) &&
        find(library, "cuCtxSynchronize", &cu.synchronize) &&
        find(library, "cuMemGetInfo_v2", &cu.memory) && find(library, "cuMemCreate", &cu.create) &&
        find(library, "cuMemRelease", &cu.release) && find(library, "cuMemMap", &cu.map) &&
        find(library, "cuMemSetAccess", &cu.access) && find(library, "cuMemUnmap", &cu.unmap) &&
        find(library, "cuMemcpyDtoH_v2", &cu.to_host) &&
        find(library, "cuMemcpyHtoD_v2", &cu.from_host);
}

static bool opened(void)
{
    pthread_once(&once, open_driver);
    return cu.found;
}

bool torch_driver_captures(cuarena_stream_t stream)
{
    int status = 0;
    return opened() && cu.is_capturing(stream, &status) == 0 && status == 1;
}

bool torch_driver_enter(int device)
{
    if (device < 0 || device >= TORCH_DEVICES || !opened())
        return false;
    if (!contexts[device] && cu.retain(&contexts[device], device) != 0)
        return false;
    return cu.push(contexts[device]) == 0;
}

void torch_driver_leave(void)
{
    void *context;
    cu.pop(&context);
}

bool torch_driver_wait(int device)
{
    if (!torch_driver_enter(device))
        return false;
    bool done = cu.synchronize() == 0;
    torch_driver_leave();
    return done;
}

void torch_driver_memory(int device, uint64_t *free_out, uint64_t *total_out)
{
    size_t free_bytes = 0, total = 0;
    if (torch_driver_enter(device)) {
        cu.memory(&free_bytes, &total);
        torch_driver_leave();
    }
    *free_out = free_bytes;
    *total_out = total;
}

int torch_driver_unmap(void *address, size_t bytes)
{
    return cu.unmap((pointer_t)(uintptr_t)address, bytes);
}

int torch_driver_map(int device, void *address, size_t bytes)
{
    const pointer_t at = (pointer_t)(uintptr_t)address;
    const allocation_t wanted = {.type = 1, .location = {1, device}};
    const access_t access = {.location = {1, device}, .flags = 3};
    uint64_t handle;
    int code = cu.create(&handle, bytes, &wanted, 0);
    if (code != 0)
        return code;
    code = cu.map(at, bytes, 0, handle, 0);
    cu.release(handle); /* the mapping keeps it alive */
    if (code != 0)
        return code;
    code = cu.access(at, bytes, &access, 1);
    if (code != 0)
        cu.unmap(at, bytes);
    return code;
}

int torch_driver_to_host(void *to, const void *from, size_t bytes)
{
    return cu.to_host(to, (pointer_t)(uintptr_t)from, bytes);
}

int torch_driver_from_host(void *to, const void *from, size_t bytes)
{
    return cu.from_host((pointer_t)(uintptr_t)to, from, bytes);
}
