"""A block as an array of NumPy and, on a GPU, of CuPy and PyTorch, without a copy."""

import sys

import cuarena

try:
    import numpy
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

with cuarena.Arena(pool="1MiB") as arena:
    block = arena.alloc(8 * 1000)
    array = numpy.frombuffer(block)
    array[:] = numpy.arange(1000)
    print(f"sum {array.sum():.0f}, at {block.address:#x}")
    del array, block

try:
    import torch

    cuarena.device_info(0)
except (ImportError, cuarena.ArenaError) as error:
    print(f"no GPU part: {error}")
else:
    with cuarena.Arena(memory="device", pool="64MiB") as arena:
        block = arena.alloc(4 * 1000, stream=torch.cuda.current_stream())
        tensor = torch.from_dlpack(block).view(torch.float32)
        tensor.fill_(2)
        print(f"sum {tensor.sum().item():.0f}, at {block.address:#x}")
        del tensor, block
