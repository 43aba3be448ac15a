/*
 * Device memory, with the driver's interface: blocks of a GPU that streams
 * use, freed while the work on them may still run, and packed by a compaction that is queued like
 * any other work.
 *
 * Exit status 77: there is no device.
 */
#include <cuarena.h>
#include <cuda.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define BLOCKS 8

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(status == CUARENA_NO_DEVICE ? 77 : EXIT_FAILURE);
}

static void must_cu(CUresult result)
{
    const char *name = "unknown";
    if (result == CUDA_SUCCESS)
        return;
    (void)cuGetErrorName(result, &name);
    fprintf(stderr, "the driver says %s\n", name);
    exit(EXIT_FAILURE);
}

/* The program uses the same context as the arena: the device's primary one. */
static CUcontext use_device(int ordinal)
{
    CUdevice device;
    CUcontext context;
    must_cu(cuInit(0));
    must_cu(cuDeviceGet(&device, ordinal));
    must_cu(cuDevicePrimaryCtxRetain(&context, device));
    must_cu(cuCtxSetCurrent(context));
    return context;
}

/* Queues it and returns. What moves the block later waits for the stream that it was allocated on;
 * uses on others would have to be told to the arena. */
static void fill(cuarena_t *arena, cuarena_block_t block, unsigned char value, CUstream stream)
{
    void *bytes;
    must(cuarena_block_pin(arena, block, &bytes));
    must_cu(cuMemsetD8Async((CUdeviceptr)(uintptr_t)bytes, value, MIB, stream));
    must(cuarena_block_unpin(arena, block));
}

/* What is queued on `second` from now on comes after what is on `first`. */
static void follow(CUstream first, CUstream second)
{
    CUevent event;
    must_cu(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must_cu(cuEventRecord(event, first));
    must_cu(cuStreamWaitEvent(second, event, 0));
    must_cu(cuEventDestroy(event));
}

static unsigned last_byte(cuarena_t *arena, cuarena_block_t block, CUstream stream)
{
    void *bytes;
    unsigned char byte;
    must(cuarena_block_pin(arena, block, &bytes));
    must_cu(cuMemcpyDtoHAsync(&byte, (CUdeviceptr)(uintptr_t)bytes + MIB - 1, 1, stream));
    must_cu(cuStreamSynchronize(stream));
    must(cuarena_block_unpin(arena, block));
    return byte;
}

/* Told of the moves once they are queued. The bytes arrive in the order of the stream, so work that
 * is queued now finds them at their new addresses. */
static int32_t moved(void *user, const cuarena_relocation_t *list, size_t count)
{
    *(size_t *)user += count;
    for (size_t i = 0; i < count; i++)
        printf("  %" PRIu64 " MiB slide down by %td MiB\n", list[i].bytes / MIB,
               ((char *)list[i].from - (char *)list[i].to) / (ptrdiff_t)MIB);
    return 0;
}

static void pack(cuarena_t *arena, CUstream stream)
{
    size_t moves = 0;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = stream;
    must(cuarena_compact(arena, &options, moved, &moves, NULL));
    printf("%zu blocks moved\n", moves);
}

int main(void)
{
    cuarena_t *arena;
    must(cuarena_open("memory=device, pool=64MiB, device=0", &arena));
    (void)use_device(0);

    CUstream writing, reading;
    must_cu(cuStreamCreate(&writing, CU_STREAM_NON_BLOCKING));
    must_cu(cuStreamCreate(&reading, CU_STREAM_NON_BLOCKING));

    cuarena_block_t blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        must(cuarena_block_alloc_on(arena, MIB, writing, NULL, &blocks[i]));
        fill(arena, blocks[i], (unsigned char)('a' + i), writing);
    }
    /* Nothing was waited for: these bytes are the stream's until it is done, but what is queued
     * there may have them at once, as the moves are. */
    for (int i = 0; i < BLOCKS; i += 2)
        must(cuarena_block_free_on(arena, blocks[i], writing));

    pack(arena, writing);
    follow(writing, reading);
    for (int i = 1; i < BLOCKS; i += 2)
        printf("block %d still ends with '%c'\n", i, last_byte(arena, blocks[i], reading));

    must(cuarena_release_stream(arena, reading));
    must(cuarena_release_stream(arena, writing));
    must(cuarena_destroy_forced(&arena));
    must_cu(cuStreamDestroy(reading));
    must_cu(cuStreamDestroy(writing));
    must_cu(cuDevicePrimaryCtxRelease(0));
    return EXIT_SUCCESS;
}
