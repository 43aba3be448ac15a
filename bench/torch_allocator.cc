/*
 * PyTorch's caching allocator for bench_threads_cuda, as a library that it opens. Compiled where
 * PyTorch is, by bench/torch_library.
 */
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <cstddef>
#include <cstdint>

namespace caching = c10::cuda::CUDACachingAllocator;

extern "C" {

void torch_allocator_open(int device)
{
    c10::cuda::set_device(static_cast<c10::DeviceIndex>(device));
    caching::init(c10::cuda::device_count());
}

void *torch_allocator_alloc(std::size_t bytes, void *stream)
{
    return caching::raw_alloc_with_stream(bytes, static_cast<cudaStream_t>(stream));
}

void torch_allocator_free(void *pointer)
{
    caching::raw_delete(pointer);
}

/* The most bytes that were reserved. */
std::uint64_t torch_allocator_held(int device)
{
    auto stats = caching::getDeviceStats(static_cast<c10::DeviceIndex>(device));
    return static_cast<std::uint64_t>(stats.reserved_bytes[0].peak);
}

void torch_allocator_forget(int device)
{
    caching::emptyCache();
    caching::resetPeakStats(static_cast<c10::DeviceIndex>(device));
}
}
