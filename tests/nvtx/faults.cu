/*
 * Programs for compute-sanitizer, which is told of an arena's blocks by NVTX:
 *
 *   faults MODE [OPTIONS]
 *
 *   past      a kernel writes the byte behind a block
 *   freed     a kernel reads a block that was freed
 *   moved     a kernel reads where a block was before a compaction
 *   clean     kernels use blocks, and each byte of them, through resizes, compactions and frees
 *   queued    a block is freed, and its bytes are handed out again, while a kernel that was queued
 *             before is still to use it: nothing is wrong
 *
 * The first three are mistakes, each of which the tool must find, and say that the nearest
 * allocation has as many bytes as the blocks; the others have none. All blocks but those of `clean`
 * have 4099 bytes, which no driver rounds to.
 *
 * Exit status: 0 when the kernels were launched, whatever became of them; 77: there is no device,
 * or the arena cannot do this.
 */
#include <cuarena.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef unsigned char byte;

static const uint64_t SIZE = 4099;
static const int COUNT = 6;
static const char *OPTIONS = "memory=device, pool=16MiB";

static cuarena_t *arena;
static cudaStream_t stream;

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    bool missing = status == CUARENA_NO_DEVICE || status == CUARENA_UNSUPPORTED;
    std::fprintf(stderr, "%s%s: %s\n", missing ? "skipped: " : "", cuarena_status_name(status),
                 cuarena_last_error());
    std::exit(missing ? 77 : EXIT_FAILURE);
}

static void must_rt(cudaError_t result)
{
    if (result == cudaSuccess)
        return;
    std::fprintf(stderr, "the runtime says %s\n", cudaGetErrorString(result));
    std::exit(EXIT_FAILURE);
}

__global__ void write_byte(byte *to)
{
    *to = 1;
}

__global__ void read_byte(const byte *from, unsigned *sink)
{
    if (*from == 77)
        atomicAdd(sink, 1u);
}

/* Writes all bytes, after so many ticks of the clock. */
__global__ void write_all(byte *to, uint64_t bytes, long long ticks)
{
    for (long long begin = clock64(); clock64() - begin < ticks;)
        ;
    for (uint64_t i = threadIdx.x; i < bytes; i += blockDim.x)
        to[i] = (byte)i;
}

static byte *new_block(uint64_t bytes)
{
    void *pointer;
    must(cuarena_alloc_on(arena, bytes, stream, nullptr, &pointer));
    return static_cast<byte *>(pointer);
}

static void use(byte *block, uint64_t bytes)
{
    write_all<<<1, 128, 0, stream>>>(block, bytes, 0);
    must_rt(cudaGetLastError());
}

/* The context is lost by what the tool finds, so nothing is ended. */
[[noreturn]] static void leave(const char *what, const void *address)
{
    cudaError_t result = cudaDeviceSynchronize();
    std::printf("%s at %p: %s\n", what, address, cudaGetErrorString(result));
    std::fflush(nullptr);
    std::_Exit(EXIT_SUCCESS);
}

static unsigned *new_sink()
{
    void *sink;
    must_rt(cudaMalloc(&sink, 4096));
    return static_cast<unsigned *>(sink);
}

/* ---- Mistakes ---------------------------------------------------------- */

static void past()
{
    byte *block = new_block(SIZE);
    use(block, SIZE);
    must_rt(cudaDeviceSynchronize());
    write_byte<<<1, 1, 0, stream>>>(block + SIZE);
    leave("wrote behind a block", block);
}

/* A block on either side lives, so the tool knows what is near. */
static void freed()
{
    unsigned *sink = new_sink();
    byte *blocks[3];
    for (byte *&block : blocks)
        block = new_block(SIZE);
    use(blocks[1], SIZE);
    must(cuarena_free_on(arena, blocks[1], stream));
    read_byte<<<1, 1, 0, stream>>>(blocks[1], sink);
    leave("read a freed block", blocks[1]);
}

static bool is_within(const byte *address, const byte *block)
{
    return address >= block && address < block + SIZE;
}

/* Where a block was that has moved, and where nothing is now. */
static const byte *left_by(const byte *const *old, const byte *const *now, int count)
{
    for (int i = 0; i < count; i++) {
        bool taken = old[i] == now[i];
        for (int j = 0; j < count; j++)
            taken = taken || is_within(old[i], now[j]);
        if (!taken)
            return old[i];
    }
    return nullptr;
}

/* The first block stays, so that an allocation is near which has as many bytes. */
static void moved()
{
    void *stays;
    unsigned *sink = new_sink();
    cuarena_block_t blocks[COUNT];
    const byte *old[COUNT / 2], *now[COUNT / 2];
    for (int i = 0; i < COUNT; i++)
        must(cuarena_block_alloc(arena, SIZE, &blocks[i]));
    must(cuarena_block_pin(arena, blocks[0], &stays));
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < COUNT / 2; i++) {
            cuarena_block_info_t info;
            must(cuarena_block_info(arena, blocks[2 * i + 1], &info));
            (pass == 0 ? old : now)[i] = static_cast<byte *>(info.address);
        }
        for (int i = 1; pass == 0 && i < COUNT / 2; i++)
            must(cuarena_block_free(arena, blocks[2 * i]));
        if (pass == 0)
            must(cuarena_compact(arena, nullptr, nullptr, nullptr, nullptr));
    }
    const byte *left = left_by(old, now, COUNT / 2);
    if (left == nullptr) {
        std::fprintf(stderr, "skipped: no block has moved\n");
        std::exit(77);
    }
    read_byte<<<1, 1, 0, stream>>>(left, sink);
    leave("read where a block was", left);
}

/* ---- No mistake -------------------------------------------------------- */

static void end()
{
    must_rt(cudaDeviceSynchronize());
    must_rt(cudaStreamDestroy(stream));
    must(cuarena_destroy(&arena));
}

/* The compaction copies whole granules, and the bytes between blocks with them. */
static void compact_some()
{
    cuarena_block_t blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        void *pointer;
        must(cuarena_block_alloc(arena, SIZE + i, &blocks[i]));
        must(cuarena_block_pin_on(arena, blocks[i], stream, &pointer));
        use(static_cast<byte *>(pointer), SIZE + i);
        must(cuarena_block_unpin_on(arena, blocks[i], stream));
    }
    for (int i = 0; i < COUNT; i += 2)
        must(cuarena_block_free_on(arena, blocks[i], stream));
    cuarena_status_t status = cuarena_compact(arena, nullptr, nullptr, nullptr, nullptr);
    if (status != CUARENA_UNSUPPORTED)
        must(status);
    for (int i = 1; i < COUNT; i += 2) {
        void *pointer;
        must(cuarena_block_pin_on(arena, blocks[i], stream, &pointer));
        use(static_cast<byte *>(pointer), SIZE + i);
        must(cuarena_block_unpin_on(arena, blocks[i], stream));
        must(cuarena_block_free_on(arena, blocks[i], stream));
    }
}

static void clean()
{
    for (uint64_t bytes = 1; bytes < 1 << 20; bytes = 3 * bytes + 1) {
        byte *block = new_block(bytes);
        use(block, bytes);
        void *other = block;
        cuarena_status_t status =
            cuarena_resize_on(arena, block, 2 * bytes, stream, &other);
        if (status != CUARENA_UNSUPPORTED) {
            must(status);
            use(static_cast<byte *>(other), 2 * bytes);
        }
        must(cuarena_free_on(arena, other, stream));
    }
    compact_some();
    end();
    std::printf("nothing was wrong\n");
}

static void queued()
{
    byte *block = new_block(SIZE);
    write_all<<<1, 128, 0, stream>>>(block, SIZE, 500000000);
    must_rt(cudaGetLastError());
    must(cuarena_free_on(arena, block, stream));
    byte *next = new_block(10);
    use(next, 10);
    must(cuarena_free_on(arena, next, stream));
    end();
    std::printf("nothing was wrong\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } modes[] = {{"past", past},
                 {"freed", freed},
                 {"moved", moved},
                 {"clean", clean},
                 {"queued", queued}};
    void (*run)() = nullptr;
    for (const auto &mode : modes)
        if (argc > 1 && std::strcmp(argv[1], mode.name) == 0)
            run = mode.run;
    if (run == nullptr) {
        std::fprintf(stderr, "usage: faults past|freed|moved|clean|queued [OPTIONS]\n");
        return 2;
    }
    must_rt(cudaFree(nullptr));
    must(cuarena_open(argc > 2 ? argv[2] : OPTIONS, &arena));
    must_rt(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    run();
    return 0;
}
