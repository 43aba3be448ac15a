"""CuPy on arenas: a limit, figures, and what happens at the limit."""

import sys

import cuarena

try:
    import cupy

    cupy.cuda.runtime.getDeviceCount()
except Exception as error:
    print(f"skipped: {error}")
    sys.exit(77)

import cuarena.cupy

pool = cuarena.cupy.enable(limit="1GiB")
x = cupy.arange(1_000_000)
print(f"sum {int(x.sum())}: {pool.used_bytes()} bytes used, {pool.total_bytes()} reserved")
try:
    cupy.empty(1 << 31, dtype="uint8")
except cupy.cuda.memory.OutOfMemoryError as error:
    print(f"refused: {error.__cause__}")
