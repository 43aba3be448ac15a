/*
 * A program that knows nothing of arenas, for tests to run: it allocates, fills, reads and frees by
 * the driver's own calls. Compiled twice:
 *
 *   links  is linked with the driver, behind the layer's names
 *   loads NAME [asked]  opens the driver by that name, and finds its calls as
 *                       programs do or, asked, as the CUDA runtime does, by
 *                       cuGetProcAddress
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 100
#define BYTES ((size_t)1 << 20)

typedef unsigned long long pointer_t;
typedef struct CUstream_st *stream_t;
typedef struct CUctx_st *context_t;

/* C(name, symbol, name that is asked for, release, parameters) */
#define CALLS(C)                                                                                   \
    C(init, cuInit, "cuInit", 2000, (unsigned))                                                    \
    C(retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, (context_t *, int))      \
    C(release, cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, (int))            \
    C(set_current, cuCtxSetCurrent, "cuCtxSetCurrent", 4000, (context_t))                          \
    C(create_stream, cuStreamCreate, "cuStreamCreate", 2000, (stream_t *, unsigned))               \
    C(destroy_stream, cuStreamDestroy_v2, "cuStreamDestroy", 4000, (stream_t))                     \
    C(wait_for, cuStreamSynchronize, "cuStreamSynchronize", 7000, (stream_t))                      \
    C(allocate, cuMemAlloc_v2, "cuMemAlloc", 3020, (pointer_t *, size_t))                          \
    C(free_now, cuMemFree_v2, "cuMemFree", 3020, (pointer_t))                                      \
    C(allocate_on, cuMemAllocAsync, "cuMemAllocAsync", 11020, (pointer_t *, size_t, stream_t))     \
    C(free_on, cuMemFreeAsync, "cuMemFreeAsync", 11020, (pointer_t, stream_t))                     \
    C(fill, cuMemsetD8Async, "cuMemsetD8Async", 3020,                                              \
      (pointer_t, unsigned char, size_t, stream_t))                                                \
    C(read_back, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020,                                  \
      (void *, pointer_t, size_t, stream_t))

#define MEMBER(name, symbol, asked, since, parameters) int(*name) parameters;
static struct {
    CALLS(MEMBER)
} driver;

#if defined(LINKED)

#define DECLARE(name, symbol, asked, since, parameters) int symbol parameters;
CALLS(DECLARE)

static void find(int argc, char **argv)
{
    (void)argc, (void)argv;
#define TAKE(name, symbol, asked, since, parameters) driver.name = symbol;
    CALLS(TAKE)
}

#else

static void *must_find(void *found, const char *name)
{
    if (found != NULL)
        return found;
    fprintf(stderr, "no %s\n", name);
    exit(1);
}

static void *asked_for(void *library, const char *name, int version)
{
    int (*ask)(const char *, void **, int, uint64_t, int *) = NULL;
    void *found = must_find(dlsym(library, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
    int outcome = 0;
    memcpy(&ask, &found, sizeof found);
    found = NULL;
    return ask(name, &found, version, 0, &outcome) == 0 ? found : NULL;
}

static void find(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "libcuda.so.1";
    int asks = argc > 2;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void *found;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define FIND(name, symbol, asked, since, parameters)                                               \
    found = asks ? asked_for(library, asked, since) : dlsym(library, #symbol);                     \
    found = must_find(found, #symbol);                                                             \
    memcpy(&driver.name, &found, sizeof found);
    CALLS(FIND)
}

#endif

static void ok_at(int result, const char *call)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s answered %d\n", call, result);
    exit(1);
}
#define ok(call) ok_at((call), #call)

static void run_round(int round, stream_t stream)
{
    unsigned char got = 0;
    pointer_t at = 0;
    ok(driver.allocate_on(&at, BYTES, stream));
    ok(driver.fill(at, (unsigned char)round, BYTES, stream));
    ok(driver.read_back(&got, at + BYTES - 1, 1, stream));
    ok(driver.free_on(at, stream));
    ok(driver.wait_for(stream));
    if (got != round) {
        fprintf(stderr, "round %d: read %d\n", round, got);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    context_t context = NULL;
    stream_t stream = NULL;
    pointer_t at = 0;
    find(argc, argv);
    ok(driver.init(0));
    ok(driver.retain(&context, 0));
    ok(driver.set_current(context));
    ok(driver.create_stream(&stream, 1));
    for (int round = 0; round < ROUNDS; round++)
        run_round(round, stream);
    ok(driver.allocate(&at, 1000));
    ok(driver.free_now(at));
    ok(driver.destroy_stream(stream));
    ok(driver.release(0));
    puts("right");
    return 0;
}
