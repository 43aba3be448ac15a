"""Numba on arenas: a smoothing kernel over arrays of changing length."""

import sys

import cuarena

try:
    import numpy

    cuarena.device_info(0)
    import cuarena.numba
except (ImportError, cuarena.ArenaError) as error:
    print(f"skipped: {error}")
    sys.exit(77)

cuarena.numba.enable(limit="1GiB")
from numba import cuda  # noqa: E402  after it is enabled


@cuda.jit
def smooth(source, target):
    """Each value becomes the mean of itself and its neighbours."""
    i = cuda.grid(1)
    if 0 < i < source.size - 1:
        target[i] = (source[i - 1] + source[i] + source[i + 1]) / 3


for rows in range(1000, 200_000, 20_000):
    values = numpy.arange(rows, dtype="float64")
    source, target = cuda.to_device(values), cuda.device_array(rows)
    smooth[(rows + 255) // 256, 256](source, target)
    inside = target.copy_to_host()[1:-1]
    if not numpy.allclose(inside, values[1:-1]):
        sys.exit(f"wrong values of {rows}")

stats = cuarena.numba.arena().stats()
print(f"{stats.allocs} arrays; {stats.peak_reserved_bytes} bytes reserved at most")
