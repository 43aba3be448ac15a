/*
 * A program on the CUDA runtime that knows nothing of arenas, for `cuarena run`: allocations in the
 * order of streams and without, and in a graph. Prints "right" if every number is.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                                                   \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static const int count = 1 << 18;

__global__ void add(int *to, const int *from, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = (from != nullptr ? from[i] : 0) + value;
}

static void launch(int *to, const int *from, int value, cudaStream_t stream)
{
    add<<<count / 256, 256, 0, stream>>>(to, from, value);
    OK(cudaGetLastError());
}

static void expect(const int *at, int value, cudaStream_t stream)
{
    std::vector<int> got(count);
    OK(cudaMemcpyAsync(got.data(), at, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++) {
        if (got[i] != value) {
            std::fprintf(stderr, "[%d] is %d, expected %d\n", i, got[i], value);
            std::exit(1);
        }
    }
}

static int *allocate(cudaStream_t stream)
{
    int *at = nullptr;
    OK(cudaMallocAsync(&at, count * sizeof(int), stream));
    return at;
}

static void run_streams(cudaStream_t a, cudaStream_t b)
{
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int round = 0; round < 200; round++) {
        int *first = allocate(a);
        launch(first, nullptr, round, a);
        OK(cudaEventRecord(event, a));
        OK(cudaStreamWaitEvent(b, event, 0));
        int *second = allocate(b);
        launch(second, first, 1, b);
        OK(cudaFreeAsync(first, b));
        if (round % 20 == 0)
            expect(second, round + 1, b);
        OK(cudaFreeAsync(second, b));
    }
    OK(cudaEventDestroy(event));
}

static void run_without_streams(cudaStream_t stream)
{
    for (int round = 0; round < 50; round++) {
        int *at = nullptr;
        OK(cudaMalloc(&at, count * sizeof(int)));
        launch(at, nullptr, round, stream);
        if (round % 10 == 0)
            expect(at, round, stream);
        OK(cudaFree(at));
    }
}

/* What is allocated and freed in a capture is the graph's, at each launch. */
static void run_graph(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *result = allocate(stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    int *middle = allocate(stream);
    launch(middle, nullptr, 20, stream);
    launch(result, middle, 1, stream);
    OK(cudaFreeAsync(middle, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int round = 0; round < 20; round++) {
        int *noise = allocate(stream);
        launch(noise, nullptr, 99, stream);
        launch(result, nullptr, 0, stream);
        OK(cudaGraphLaunch(exec, stream));
        expect(result, 21, stream);
        OK(cudaFreeAsync(noise, stream));
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaFreeAsync(result, stream));
    OK(cudaStreamSynchronize(stream));
}

int main()
{
    cudaStream_t a, b;
    size_t free_bytes, total_bytes;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    run_streams(a, b);
    run_without_streams(a);
    run_graph(a);
    run_streams(a, b);
    OK(cudaMemGetInfo(&free_bytes, &total_bytes));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    std::puts("right");
    return 0;
}
