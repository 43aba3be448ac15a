/*
 * Kernels on arena memory, with the runtime's interface: a cudaStream_t is passed as it is, and
 * blocks are freed on the stream that used them last, so nothing waits between one step and the
 * next.
 *
 * Exit status 77: there is no device.
 */
#include <cuarena.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static const size_t COUNT = 1 << 20;
static const int STEPS = 100;

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    std::fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    std::exit(status == CUARENA_NO_DEVICE ? 77 : EXIT_FAILURE);
}

static void must_rt(cudaError_t result)
{
    if (result == cudaSuccess)
        return;
    std::fprintf(stderr, "the runtime says %s\n", cudaGetErrorString(result));
    std::exit(EXIT_FAILURE);
}

__global__ void start(float *to, size_t count)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = (float)(i % 7);
}

__global__ void add_one(const float *from, float *to, size_t count)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = from[i] + 1;
}

static unsigned grid()
{
    return (unsigned)((COUNT + 255) / 256);
}

static float *new_floats(cuarena_t *arena, cudaStream_t stream)
{
    void *bytes;
    must(cuarena_alloc_on(arena, COUNT * sizeof(float), stream, nullptr,
                          &bytes));
    return static_cast<float *>(bytes);
}

int main()
{
    cuarena_t *arena;
    must(cuarena_open("memory=device, preset=grow, device=0", &arena));

    cudaStream_t stream;
    must_rt(cudaSetDevice(0));
    must_rt(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    /* Each step takes a block for its result and gives its input back. The kernel that reads the
     * input is only queued by then: the next block on this stream may have the same bytes, one on
     * another may not. */
    float *values = new_floats(arena, stream);
    start<<<grid(), 256, 0, stream>>>(values, COUNT);
    for (int step = 0; step < STEPS; step++) {
        float *next = new_floats(arena, stream);
        add_one<<<grid(), 256, 0, stream>>>(values, next, COUNT);
        must(cuarena_free_on(arena, values, stream));
        values = next;
    }
    must_rt(cudaGetLastError());

    std::vector<float> result(COUNT);
    must_rt(cudaMemcpyAsync(result.data(), values, COUNT * sizeof(float),
                            cudaMemcpyDeviceToHost, stream));
    must_rt(cudaStreamSynchronize(stream));
    must(cuarena_free(arena, values));

    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++)
        wrong += result[i] != (float)(i % 7) + STEPS;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    std::printf("%d steps, %zu wrong values, at most %.1f MiB reserved\n", STEPS,
                wrong, (double)stats.peak_reserved_bytes / (1 << 20));

    must(cuarena_release_stream(arena, stream));
    must(cuarena_destroy(&arena));
    must_rt(cudaStreamDestroy(stream));
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
