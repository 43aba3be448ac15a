"""cuda.core on arenas: a kernel over buffers that are blocks of an arena."""

import ctypes
import sys

import cuarena

try:
    import numpy
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    import cuarena.cuda_core

    cuarena.device_info(0)
except (ImportError, cuarena.ArenaError) as error:
    print(f"skipped: {error}")
    sys.exit(77)

SOURCE = """
extern "C" __global__ void twice(float *values, unsigned long long count)
{
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < count)
        values[i] *= 2;
}
"""

COUNT = 100_000
device = Device(0)
device.set_current()
stream = device.create_stream()
try:
    program = Program(SOURCE, code_type="c++", options=ProgramOptions(arch=f"sm_{device.arch}"))
    kernel = program.compile("cubin").get_kernel("twice")
except Exception as error:  # no compiler of kernels
    print(f"skipped: {error}")
    sys.exit(77)

arena = cuarena.Arena(memory="device", preset="grow")
resource = cuarena.cuda_core.MemoryResource(arena)
pinned = cuarena.cuda_core.MemoryResource(cuarena.Arena(memory="pinned", preset="grow"))

host = pinned.allocate(4 * COUNT, stream=stream)
values = numpy.arange(COUNT, dtype="float32")
ctypes.memmove(int(host.handle), values.ctypes.data, values.nbytes)
buffer = resource.allocate(4 * COUNT, stream=stream)
host.copy_to(buffer, stream=stream)
config = LaunchConfig(grid=(COUNT + 255) // 256, block=256)
launch(stream, config, kernel, int(buffer.handle), numpy.uint64(COUNT))
buffer.copy_to(host, stream=stream)
stream.sync()
doubled = numpy.frombuffer(ctypes.string_at(int(host.handle), values.nbytes), dtype="float32")
if not (doubled == 2 * values).all():
    sys.exit("wrong values")
print(f"{arena.stats().live_bytes} bytes live, of {arena.stats().reserved_bytes} reserved")

host.close()
buffer.close()
for used in (arena, pinned.arena):
    used.release_stream(stream)
